"""PyTorch layers: FLOPs and bytes of each kind compared with hand calculations, and measurements."""

import doctest
import json
import pathlib
import re
import warnings

import pytest

torch = pytest.importorskip("torch")

import roofline.torch  # noqa: E402
from roofline.torch import Peaks  # noqa: E402

nn = torch.nn
PEAKS = Peaks(50.0, 100.0, others={"bfloat16": 100.0})


def single_layer(module, *inputs):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # torch warns about even kernels.
        warnings.filterwarnings("ignore", "Using padding='same'")
        layers = roofline.torch.profile(module, inputs, warmup=0, steps=1, peaks=PEAKS).layers
    assert len(layers) == 1
    return layers[0]


@pytest.mark.parametrize(
    ("module", "shape", "flops", "bytes"),
    [
        (nn.Conv2d(4, 8, 3, padding=1, bias=False), (1, 4, 8, 8), 36_864, 4_224),
        (nn.Linear(64, 32, bias=False), (8, 64), 32_768, 11_264),
        # A multiply-add per tap (3), output channel (4), input channel (6), position (5) and sample (2).
        (nn.Conv1d(6, 4, 3, bias=False), (2, 6, 7), 2 * 3 * 6 * 4 * 5 * 2, 4 * (3 * 6 * 4 + 2 * 6 * 7 + 2 * 4 * 5)),
        (nn.Conv3d(2, 3, 2, stride=2, bias=False), (1, 2, 4, 4, 4), 2 * 8 * 2 * 3 * 8, 4 * (48 + 128 + 24)),
        (nn.Conv2d(4, 4, 3, groups=4, padding="same", bias=False), (1, 4, 5, 5), 2 * 9 * 4 * 25, 4 * (36 + 200)),
        # An even kernel is padded with one more zero at the end.
        (nn.Conv2d(4, 6, 2, padding="same"), (2, 4, 5, 5), 2 * 4 * 4 * 6 * 50, 4 * (96 + 200 + 300 + 6)),
        # Each input is multiplied with every tap.
        (nn.ConvTranspose2d(4, 2, 2, stride=2, bias=False), (1, 4, 3, 3), 2 * 4 * 4 * 2 * 9, 4 * (32 + 36 + 72)),
        (nn.ConvTranspose1d(4, 2, 3, bias=False), (1, 4, 5), 2 * 3 * 4 * 2 * 5, 4 * (24 + 20 + 14)),
        (nn.ConvTranspose3d(2, 2, 2, stride=2, bias=False), (1, 2, 2, 2, 2), 2 * 8 * 4 * 8, 4 * (32 + 16 + 128)),
        # Includes the bias.
        (nn.Linear(64, 32), (8, 64), 32_768, 11_264 + 4 * 32),
        (nn.ReLU(), (3, 7), 21, 4 * 42),
        (nn.LayerNorm(8), (2, 8), 7 * 16, 4 * (32 + 16)),
        (nn.BatchNorm2d(3), (1, 3, 4, 4), 2 * 48, 4 * (96 + 12)),
        (nn.Softmax(dim=-1), (2, 8), 5 * 16, 4 * 32),
        (nn.MaxPool2d(2), (1, 3, 4, 4), 4 * 12, 4 * (48 + 12)),
        (nn.MaxPool1d(2, return_indices=True), (1, 3, 4), 2 * 6, 4 * (12 + 6)),
        (nn.LogSigmoid(), (3, 7), 21, 4 * 42),
        (nn.Threshold(0.1, 20.0), (3, 7), 21, 4 * 42),
        (nn.AdaptiveAvgPool2d(1), (1, 3, 4, 4), 48, 4 * (48 + 3)),
        (nn.Dropout(), (4,), 0, 0),
        (nn.Flatten(), (2, 3, 4), 0, 0),
        (nn.Identity(), (4,), 0, 0),
        # Circular padding is not counted separately.
        (nn.Conv1d(1, 1, 3, padding=1, padding_mode="circular", bias=False), (1, 1, 8), 2 * 3 * 8, 4 * (3 + 8 + 8)),
    ],
)
def test_flops_and_bytes_of_a_layer(module, shape, flops, bytes):
    layer = single_layer(module, torch.zeros(shape))
    assert (layer.flops, layer.bytes) == (flops, bytes)


def test_a_lookup_moves_its_rows_and_has_no_flops():
    layer = single_layer(nn.Embedding(1000, 16), torch.zeros(2, 5, dtype=torch.long))
    assert (layer.flops, layer.bytes) == (0, 4 * 160 * 2 + 8 * 10)


def test_attention_counts_its_products_and_its_pairs():
    attention = nn.MultiheadAttention(16, 4, batch_first=True)
    x = torch.zeros(2, 5, 16)
    layer = single_layer(attention, x, x, x)
    # Four projections of 10 tokens; 5 x 5 scores and weighted sums of width 16 in each of 2 sequences.
    assert layer.flops == 2 * 10 * 4 * 16 * 16 + 2 * (5 * 5 * 2 * (16 + 16))


def test_half_precision_takes_half_the_bytes():
    layer = single_layer(nn.Linear(64, 32, bias=False).bfloat16(), torch.zeros(8, 64).bfloat16())
    assert (layer.flops, layer.bytes) == (32_768, 11_264 / 2)


def test_a_layer_is_placed_under_the_roofs():
    # The ridge is at 2 FLOP/byte.
    memory, compute = single_layer(nn.ReLU(), torch.zeros(8)), single_layer(nn.Conv2d(4, 8, 3), torch.zeros(1, 4, 8, 8))
    assert (memory.bound, compute.bound) == ("memory", "compute")
    assert memory.ideal == pytest.approx(50 * memory.intensity) and compute.ideal == 100
    assert compute.utilization == pytest.approx(compute.flops / compute.time / 1e9 / 100)


def run(module, *inputs, **options):
    options = {"peaks": PEAKS, "warmup": 1, "steps": 2, **options}
    return roofline.torch.profile(module, inputs, **options)


class Calls(nn.Module):
    """A model defined by a function."""

    def __init__(self, function, *layers):
        super().__init__()
        self.function = function
        self.layers = nn.ModuleList(layers)

    def forward(self, *args, **kwargs):
        return self.function(*self.layers, *args, **kwargs)


def test_unknown_functions_are_undefined_with_a_warning():
    sort = Calls(lambda linear, x: linear(x).sort(-1)[0], nn.Linear(4, 4))
    with pytest.warns(UserWarning, match="undefined for sort: unknown function sort"):
        profiled = run(sort, torch.zeros(1, 4))
    odd = profiled["sort"]
    assert (odd.flops, odd.bytes, odd.bound) == (None, None, None) and "sort" in odd.undefined
    assert "undefined" in profiled.summary() and profiled["layers.0"].flops == 32
    with pytest.warns(UserWarning, match="lstm"):
        assert run(nn.LSTM(4, 4), torch.zeros(3, 1, 4)).layers[0].undefined
    numbers = torch.zeros(3, 4, dtype=torch.complex64)
    with pytest.warns(UserWarning, match="unsupported product of torch.complex64"):
        assert run(nn.Linear(4, 4, dtype=torch.complex64), numbers).layers[0].undefined
    with pytest.warns(UserWarning, match="max_norm"):
        assert run(nn.Embedding(10, 4, max_norm=1.0), torch.zeros(3, dtype=torch.long)).layers[0].undefined
    scripted = torch.jit.script(nn.Sequential(nn.Linear(4, 4)))
    with pytest.warns(UserWarning, match="calls no function that torch exposes"):
        assert run(nn.Sequential(scripted), torch.zeros(1, 4)).layers[0].undefined


@pytest.mark.parametrize(
    ("function", "shapes", "flops", "bytes"),
    [
        (lambda a, b: a @ b, [(2, 3, 4), (2, 4, 5)], 2 * 2 * 3 * 4 * 5, 4 * (24 + 40 + 30)),
        # A shared matrix is read once.
        (torch.matmul, [(2, 3, 4), (4, 5)], 2 * 2 * 3 * 4 * 5, 4 * (24 + 20 + 30)),
        # A shared left operand is read once.
        (torch.matmul, [(3, 4), (2, 4, 5)], 2 * 2 * 3 * 4 * 5, 4 * (12 + 40 + 30)),
        (torch.matmul, [(4, 1, 3, 8), (5, 8, 2)], 2 * 20 * 3 * 8 * 2, 4 * (96 + 80 + 120)),
        (torch.bmm, [(2, 3, 4), (2, 4, 5)], 2 * 2 * 3 * 4 * 5, 4 * (24 + 40 + 30)),
        (torch.mv, [(3, 4), (4,)], 2 * 12, 4 * (12 + 4 + 3)),
        (torch.addmm, [(3, 5), (3, 4), (4, 5)], 2 * 3 * 4 * 5, 4 * (15 + 12 + 20 + 15)),
        (lambda a, b: torch.einsum("bhqd,bhkd->bhqk", a, b), [(2, 3, 4, 5), (2, 3, 6, 5)], 2 * 6 * 4 * 5 * 6, 4 * (120 + 180 + 144)),
        (lambda a, b: torch.einsum("...ij,...jk->...ik", a, b), [(2, 3, 4), (2, 4, 5)], 2 * 2 * 3 * 4 * 5, 4 * (24 + 40 + 30)),
        (lambda a, b: torch.einsum("i,j->ij", a, b), [(3,), (4,)], 12, 4 * (3 + 4 + 12)),
        (nn.functional.linear, [(8, 64), (32, 64)], 32_768, 11_264),
        (lambda x, w: nn.functional.conv2d(x, w, None, 1, 1), [(1, 4, 8, 8), (8, 4, 3, 3)], 36_864, 4_224),
        (lambda x: nn.functional.softmax(x, -1), [(2, 8)], 5 * 16, 4 * 32),
        (lambda x: nn.functional.max_pool2d(x, 2), [(1, 3, 4, 4)], 4 * 12, 4 * (48 + 12)),
        (lambda a, b: a + b, [(3, 4), (4,)], 12, 4 * (12 + 4 + 12)),
        (lambda x: x.add_(1), [(3, 4)], 12, 4 * 24),
        (lambda x: 2 - x, [(3, 4)], 12, 4 * 24),
        (lambda x: x.sum(-1), [(3, 4)], 12, 4 * (12 + 3)),
        # A broadcast tensor is stored once.
        (lambda x: x.expand(5, 4) * 1, [(1, 4)], 20, 4 * (4 + 20)),
        (lambda x: torch.cat([x, x], -1), [(3, 4)], 0, 4 * (12 + 24)),
        (lambda x: x.transpose(0, 1).contiguous(), [(3, 4)], 0, 4 * 24),
        (lambda x: x.index_select(0, torch.tensor([0, 2])), [(3, 4)], 0, 4 * 16 + 8 * 2),
    ],
)
def test_functions_between_layers_are_counted(function, shapes, flops, bytes):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rows = [layer for layer in run(Calls(function), *map(torch.zeros, shapes)).layers if layer.kind != "tensor"]
    assert [(layer.flops, layer.bytes) for layer in rows] == [(flops, bytes)]


def test_views_and_attribute_queries_cost_nothing():
    def views(x):
        batch, wide = x.shape
        assert x.dim() == 2 and x.size(0) == batch and x.is_contiguous()
        return x.view(batch, 2, wide // 2).transpose(0, 1).unsqueeze(0)[..., :1].to(x.dtype).detach()

    assert run(Calls(views), torch.zeros(3, 4)).layers == []


def test_attention_of_products_and_rotary_positions_is_counted():
    class Attention(nn.Module):
        def __init__(self):
            super().__init__()
            self.qkv = nn.Linear(8, 24, bias=False)

        def forward(self, x):
            q, k, v = self.qkv(x).chunk(3, -1)
            turned = torch.view_as_complex(q.reshape(*q.shape[:-1], -1, 2)) * torch.ones(4, dtype=torch.complex64)
            q = torch.view_as_real(turned).flatten(-2)
            scores = (q @ k.transpose(-1, -2)) * 0.5
            return x + scores.softmax(-1) @ v

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        profiled = run(nn.Sequential(Attention()), torch.zeros(2, 5, 8))
    assert profiled["0.matmul"].calls == 2
    assert profiled["0.matmul"].flops == 2 * (2 * 2 * 5 * 5 * 8)
    # Six operations per complex product, one per score.
    assert profiled["0.mul"].flops == 6 * 2 * 5 * 4 + 2 * 5 * 5
    assert profiled["0.softmax"].flops == 5 * 50 and profiled["0.add"].flops == 80
    assert profiled["0.qkv"].flops == 2 * 10 * 8 * 24


def test_a_layer_of_functions_moves_its_inputs_and_outputs():
    class Norm(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.ones(8))

        def forward(self, x):
            return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * self.weight

    layer = run(nn.Sequential(Norm()), torch.zeros(3, 8)).layers[0]
    # Square, sum and two products per element; epsilon and root per row.
    assert (layer.kind, layer.flops, layer.bytes) == ("Norm", 4 * 24 + 2 * 3, 4 * (24 + 8 + 24))


def test_functional_attention_is_counted():
    # torch 1.13 has a private function that also returns the weights.
    public = getattr(nn.functional, "scaled_dot_product_attention", None)
    mix = public or (lambda *given, **named: nn.functional._scaled_dot_product_attention(*given, **named)[0])
    profiled = run(Calls(lambda out, x: out(mix(x, x, x, is_causal=True)), nn.Linear(8, 8)), torch.zeros(1, 2, 4, 8))
    row = next(layer for layer in profiled.layers if layer.name.endswith("scaled_dot_product_attention"))
    assert row.flops == 2 * 2 * (8 + 8) * (4 * 5 / 2)


@pytest.mark.parametrize(
    ("queries", "keys", "causal", "pairs"),
    [(4, 4, False, 16), (4, 4, True, 10), (3, 5, False, 15), (5, 3, False, 15), (3, 5, True, 6), (5, 3, True, 12)],
)
def test_attention_counts_unmasked_pairs(queries, keys, causal, pairs):
    from roofline.torch._counts import _attention_count

    count = _attention_count(torch.zeros(2, 6, queries, 8), torch.zeros(2, 3, keys, 8), torch.zeros(2, 3, keys, 4), causal)
    assert count.flops == 2 * 6 * (8 + 4) * 2 * pairs
    assert int(torch.ones(queries, keys).tril().sum()) == pairs if causal else queries * keys == pairs


def test_a_layer_called_twice_counts_twice():
    shared = nn.Linear(4, 4, bias=False)
    model = Calls(lambda linear, x: linear(linear(x)[:1]), shared)
    layer = run(model, torch.zeros(3, 4))["layers.0"]
    assert (layer.calls, layer.flops, len(layer.seconds)) == (2, 2 * 16 * (3 + 1), 2)
    # A module with two names is one layer.
    twice = run(nn.Sequential(shared, nn.Sequential(shared)), torch.zeros(3, 4))
    assert [(layer.name, layer.calls) for layer in twice.layers] == [("0", 2)]


def test_a_growing_cache_is_counted_in_each_pass():
    class GrowingCache(nn.Module):
        def __init__(self):
            super().__init__()
            self.kept = []

        def forward(self, x):
            self.kept.append(x)
            return torch.cat(self.kept, 0)

    # After the warm-up, the passes return two and three vectors; the input vectors share one tensor.
    for model in (GrowingCache(), nn.Sequential(GrowingCache())):
        layer = run(model, torch.zeros(1, 4)).layers[0]
        assert (layer.flops, layer.bytes) == (0, (16 * (1 + 2) + 16 * (1 + 3)) / 2)


@pytest.mark.parametrize(
    ("inputs", "kwargs"),
    [
        ((torch.zeros(2, 4), torch.ones(2, 4)), None),
        ([torch.zeros(2, 4), torch.ones(2, 4)], None),
        ({"x": torch.zeros(2, 4), "y": torch.ones(2, 4)}, None),
        (torch.zeros(2, 4), {"y": torch.ones(2, 4)}),
        ((), {"x": torch.zeros(2, 4), "y": torch.ones(2, 4)}),
    ],
)
def test_inputs_are_accepted_in_every_form(inputs, kwargs):
    class Two(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = nn.Linear(4, 4, bias=False)

        def forward(self, x, *, y=None, **more):
            return self.linear(input=x) + y

        def __call__(self, *args, **named):
            if len(args) == 2:
                return super().__call__(args[0], y=args[1])
            return super().__call__(*args, **named)

    profiled = roofline.torch.profile(Two(), inputs, kwargs=kwargs, peaks=PEAKS, steps=1)
    assert [(layer.name, layer.flops) for layer in profiled.layers] == [("linear", 2 * 2 * 16), ("add", 8)]


def test_a_model_that_raises_is_restored():
    def fails(linear, x):
        linear(x)
        raise ZeroDivisionError("by design")

    model = Calls(fails, nn.Linear(4, 4), nn.BatchNorm1d(4))
    model.function = lambda linear, norm, x: fails(linear, x)
    model.train()
    model.layers[1].eval()
    called, functions = nn.Module.__call__, torch._C._len_torch_function_stack()
    with pytest.raises(ZeroDivisionError, match="by design"):
        run(model, torch.zeros(2, 4))
    assert nn.Module.__call__ is called and torch._C._len_torch_function_stack() == functions
    assert model.training and model.layers[0].training and not model.layers[1].training
    with pytest.raises(RuntimeError):
        run(nn.Linear(4, 4), torch.zeros(2, 5))
    assert nn.Module.__call__ is called and torch._C._len_torch_function_stack() == functions


def test_a_model_that_catches_an_exception_is_measured():
    def tries(first, second, x):
        try:
            return first(x)
        except RuntimeError:
            return second(x) + 1

    profiled = run(Calls(tries, nn.Linear(5, 4), nn.Linear(4, 4, bias=False)), torch.zeros(2, 4))
    assert [layer.name for layer in profiled.layers] == ["layers.1", "add"]


def test_layers_inside_containers_are_found():
    inside = nn.Sequential(nn.Linear(4, 4))
    profiled = run(nn.DataParallel(inside), torch.zeros(2, 4))
    assert profiled["module.0"].flops == 2 * 2 * 16
    encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), 2)
    profiled = run(encoder, torch.zeros(2, 3, 8))
    assert {layer.kind for layer in profiled.layers} >= {"MultiheadAttention", "Linear", "LayerNorm", "add"}
    assert [layer.flops for layer in run(nn.Sequential(), torch.zeros(1)).layers] == [0]


def test_attention_to_another_sequence_is_counted():
    attention = nn.MultiheadAttention(16, 4, batch_first=True)
    layer = single_layer(attention, torch.zeros(2, 5, 16), torch.zeros(2, 7, 16), torch.zeros(2, 7, 16))
    products = 2 * 2 * 16 * 16 * (5 + 7 + 7 + 5)
    assert layer.flops == products + 2 * (5 * 7 * 2 * (16 + 16))


def test_a_type_without_a_roof_has_no_bound():
    model = nn.Linear(4, 4).double()
    with pytest.warns(UserWarning, match="no compute roof for float64"):
        layer = run(model, torch.zeros(2, 4).double()).layers[0]
    assert layer.flops == 64 and layer.bound is None and layer.utilization is None and layer.achieved > 0
    peaks = Peaks(50.0, 100.0, others={"float64": 40.0})
    assert run(model, torch.zeros(2, 4).double(), peaks=peaks).layers[0].bound == "memory"


def test_invalid_arguments_are_errors():
    model = nn.Linear(4, 4)
    for use, message in [
        (lambda: run(model, torch.zeros(3, 4), steps=0), "steps = 0"),
        (lambda: run(model, torch.zeros(3, 4), warmup=-1), "warmup = -1"),
        (lambda: run(model, torch.zeros(3, 4), steps=1.5), "steps = 1.5"),
        (lambda: run(torch.relu, torch.zeros(3, 4)), "expected a torch.nn.Module"),
        (lambda: run(nn.Linear(4, 4, device="meta"), torch.zeros(3, 4, device="meta")), "meta"),
        (lambda: run(model, torch.zeros(3, 4, device="meta")), "expected a single device"),
        (lambda: run(model, torch.zeros(3, 4), peaks=(50.0, 100.0)), "peaks: expected Peaks"),
        (lambda: run(nn.LazyLinear(4), torch.zeros(3, 4)), "uninitialized lazy parameters"),
        (lambda: run(model, torch.zeros(3, 4)).summary(top=-1), "top = -1"),
        (lambda: Peaks.for_device("no-such-device"), "no-such-device"),
    ]:
        with pytest.raises(roofline.Error, match=message):
            use()


def test_compiled_models_are_rejected():
    class OptimizedModule(nn.Linear):
        """The class name of compiled models."""

    models = [OptimizedModule(4, 4)]
    # torch 1.13 has no torch.compile.
    if hasattr(torch, "compile"):
        changed = nn.Linear(4, 4)
        changed.compile()
        models += [torch.compile(nn.Linear(4, 4)), nn.Sequential(changed)]
    for model in models:
        with pytest.raises(roofline.Error, match="compiled by torch.compile"):
            run(model, torch.zeros(3, 4))


def test_the_type_is_that_of_the_computation():
    def cast(linear, convolution, x):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return linear(x), convolution(x)

    linear, convolution = nn.Linear(8, 4, bias=False), nn.Conv1d(3, 2, 1, bias=False)
    layers = run(Calls(cast, linear, convolution), torch.zeros(3, 8)).layers
    assert [layer.dtype for layer in layers] == ["bfloat16", "bfloat16"]
    # float32 inputs, bfloat16 outputs.
    assert layers[0].bytes == 4 * (32 + 24) + 2 * 12


def test_documentation_examples_run():
    for module in (roofline.torch, roofline.torch._result):
        failed, tried = doctest.testmod(module)
        assert tried > 1 and failed == 0


def test_readme_examples_run(monkeypatch):
    text = (pathlib.Path(__file__).parent.parent / "README.md").read_text(encoding="utf-8")
    (block,) = (block for block in re.findall(r"```python\n(.*?)```", text, re.DOTALL) if "torch" in block)
    monkeypatch.setattr(Peaks, "measured", staticmethod(lambda **_: PEAKS))
    names = {}
    exec(block, names)
    assert names["profiled"]["0"].flops == 2 * 8 * 512 * 2048 and names["profiled"].settings["steps"] == 10


def test_a_profile_has_an_html_table_and_a_frame():
    profiled = run(nn.Sequential(nn.Linear(4, 4), nn.ReLU()), torch.zeros(3, 4))
    shown = profiled._repr_html_()
    assert shown.count("<tr>") == 3 and "<td>Linear</td>" in shown
    pandas = pytest.importorskip("pandas")
    assert list(profiled.to_frame()["name"]) == ["0", "1"] and isinstance(profiled.to_frame(), pandas.DataFrame)


def test_a_plot_has_a_point_for_each_layer_under_the_roof():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    axes = run(nn.Sequential(nn.Linear(4, 4), nn.ReLU()), torch.zeros(3, 4)).plot()
    assert [line.get_label() for line in axes.get_lines()] == ["roof, float32", "0", "1"]
    # Each type has its own roof.
    peaks = Peaks(50.0, 100.0, others={"float64": 40.0})
    mixed = Calls(lambda single, double, x: double(single(x).double()), nn.Linear(4, 4), nn.Linear(4, 4).double())
    lines = run(mixed, torch.zeros(3, 4), peaks=peaks).plot().get_lines()
    assert [line.get_label() for line in lines] == ["roof, float32", "roof, float64", "layers.0", "layers.1"]
    assert [max(line.get_ydata()) for line in lines[:2]] == [100.0, 40.0]
    assert len(run(nn.Sequential(), torch.zeros(1)).plot().get_lines()) == 1


def test_a_model_keeps_its_mode_and_its_hooks():
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Sequential(nn.Linear(16, 2)))
    model.train()
    profiled = roofline.torch.profile(model, torch.zeros(3, 8), warmup=1, steps=4, peaks=PEAKS)
    assert [layer.name for layer in profiled.layers] == ["0", "1", "2.0"]
    assert all(len(layer.seconds) == 4 for layer in profiled.layers)
    assert model.training and not any(module._forward_hooks for module in model.modules())
    assert len(profiled.summary(top=1).splitlines()) == 4
    document = json.loads(profiled.to_json())
    assert document["layers"][0]["flops"] == 2 * 3 * 8 * 16


def test_roofs_are_measured_by_default():
    # A small size, because an unoptimized build would take minutes.
    peaks = Peaks.measured(quick=True, no_cache=True, size="64MiB")
    assert peaks.bandwidth > 0 and peaks.compute > 0 and peaks.threads == torch.get_num_threads()


def test_types_have_their_measured_roofs(monkeypatch):
    class Machine(dict):
        data = {"unused_isa": []}
        figures = [
            roofline.Figure(name, "", name, roofline.Quantity(value, "GFLOP/s"), None)
            for name, value in [("f64_gflops", 50.0), ("bf16_gflops", 400.0)]
        ]

    monkeypatch.setattr(torch, "get_num_threads", lambda: 2)
    monkeypatch.setattr(roofline, "machine", lambda **_: Machine(read_gb_s=20.0, f32_gflops=100.0))
    peaks = Peaks.measured()
    rates = [peaks.rate(dtype) for dtype in (torch.float32, torch.float64, torch.float16, torch.bfloat16)]
    # Without 16-bit instructions, torch computes in float32.
    assert rates == [100.0, 50.0, 100.0, 400.0]
