"""Layers of PyTorch: flops and bytes of each kind, worked by hand, and what is measured beside them."""

import json
import warnings

import pytest

torch = pytest.importorskip("torch")

import roofline.torch  # noqa: E402
from roofline.torch import Peaks  # noqa: E402

nn = torch.nn
PEAKS = Peaks(50.0, 100.0)


def one(module, *inputs):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        layers = roofline.torch.profile(module, inputs, warmup=0, steps=1, peaks=PEAKS).layers
    assert len(layers) == 1
    return layers[0]


@pytest.mark.parametrize(
    ("module", "shape", "flops", "bytes"),
    [
        (nn.Conv2d(4, 8, 3, padding=1, bias=False), (1, 4, 8, 8), 36_864, 4_224),
        (nn.Linear(64, 32, bias=False), (8, 64), 32_768, 11_264),
        # Two products for each of 3 * 4 taps, 6 channels in, 5 positions and 2 samples.
        (nn.Conv1d(6, 4, 3, bias=False), (2, 6, 7), 2 * 3 * 6 * 4 * 5 * 2, 4 * (3 * 6 * 4 + 2 * 6 * 7 + 2 * 4 * 5)),
        (nn.Conv3d(2, 3, 2, stride=2, bias=False), (1, 2, 4, 4, 4), 2 * 8 * 2 * 3 * 8, 4 * (48 + 128 + 24)),
        (nn.Conv2d(4, 4, 3, groups=4, padding="same", bias=False), (1, 4, 5, 5), 2 * 9 * 4 * 25, 4 * (36 + 200)),
        # Each input meets every tap.
        (nn.ConvTranspose2d(4, 2, 2, stride=2, bias=False), (1, 4, 3, 3), 2 * 4 * 4 * 2 * 9, 4 * (32 + 36 + 72)),
        (nn.ConvTranspose1d(4, 2, 3, bias=False), (1, 4, 5), 2 * 3 * 4 * 2 * 5, 4 * (24 + 20 + 14)),
        (nn.ConvTranspose3d(2, 2, 2, stride=2, bias=False), (1, 2, 2, 2, 2), 2 * 8 * 4 * 8, 4 * (32 + 16 + 128)),
        # A bias is read too.
        (nn.Linear(64, 32), (8, 64), 32_768, 11_264 + 4 * 32),
        (nn.ReLU(), (3, 7), 21, 4 * 42),
        (nn.LayerNorm(8), (2, 8), 7 * 16, 4 * (32 + 16)),
        (nn.BatchNorm2d(3), (1, 3, 4, 4), 2 * 48, 4 * (96 + 12) + 8),
        (nn.Softmax(dim=-1), (2, 8), 5 * 16, 4 * 32),
        (nn.MaxPool2d(2), (1, 3, 4, 4), 4 * 12, 4 * (48 + 12)),
        (nn.Dropout(), (4,), 0, 0),
    ],
)
def test_flops_and_bytes_of_a_layer(module, shape, flops, bytes):
    layer = one(module, torch.zeros(shape))
    assert (layer.flops, layer.bytes) == (flops, bytes)


def test_a_look_up_moves_its_rows_and_computes_nothing():
    layer = one(nn.Embedding(1000, 16), torch.zeros(2, 5, dtype=torch.long))
    assert (layer.flops, layer.bytes) == (0, 4 * 160 * 2 + 8 * 10)


def test_attention_counts_its_products_and_what_its_tokens_see():
    attention = nn.MultiheadAttention(16, 4, batch_first=True)
    x = torch.zeros(2, 5, 16)
    layer = one(attention, x, x, x)
    # Four matrices for 10 tokens; each of 5 tokens against 5, score and sum over 16 numbers, in 2 sequences.
    assert layer.flops == 2 * 10 * 4 * 16 * 16 + 2 * (5 * 5 * 2 * (16 + 16))


def test_half_precision_takes_half_the_bytes():
    if not hasattr(torch, "bfloat16"):
        pytest.skip("no bfloat16")
    layer = one(nn.Linear(64, 32, bias=False).bfloat16(), torch.zeros(8, 64).bfloat16())
    assert (layer.flops, layer.bytes) == (32_768, 11_264 / 2)


def test_a_layer_is_placed_under_the_roofs():
    # The ridge is at 2 FLOP/byte.
    memory, compute = one(nn.ReLU(), torch.zeros(8)), one(nn.Conv2d(4, 8, 3), torch.zeros(1, 4, 8, 8))
    assert (memory.bound, compute.bound) == ("memory", "compute")
    assert memory.ceiling == pytest.approx(50 * memory.intensity) and compute.ceiling == 100
    assert compute.utilization == pytest.approx(compute.flops / compute.time / 1e9 / 100)


def test_what_is_not_known_is_named_and_never_zero():
    class Odd(nn.Module):
        def forward(self, x):
            return x * 2

    with pytest.warns(UserWarning, match="undefined for layers of the kinds Odd"):
        profiled = roofline.torch.profile(nn.Sequential(nn.Linear(4, 4), Odd()), torch.zeros(1, 4), peaks=PEAKS)
    odd = profiled.layers[1]
    assert (odd.flops, odd.bytes, odd.bound) == (None, None, None) and "Odd" in odd.undefined
    assert "undefined" in profiled.summary()


def test_attention_that_is_called_as_a_function_is_seen():
    if not hasattr(nn.functional, "scaled_dot_product_attention"):
        pytest.skip("this torch has no such function")

    class Mixing(nn.Module):
        def __init__(self):
            super().__init__()
            self.out = nn.Linear(8, 8, bias=False)

        def forward(self, x):
            return self.out(nn.functional.scaled_dot_product_attention(x, x, x, is_causal=True))

    profiled = roofline.torch.profile(Mixing(), torch.zeros(1, 2, 4, 8), peaks=PEAKS)
    mixing = next(layer for layer in profiled.layers if layer.kind == "attention")
    assert mixing.flops == 2 * 2 * (8 + 8) * (4 * 5 / 2)


def test_a_network_keeps_its_order_its_mode_and_its_hooks():
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Sequential(nn.Linear(16, 2)))
    model.train()
    profiled = roofline.torch.profile(model, torch.zeros(3, 8), warmup=1, steps=4, peaks=PEAKS)
    assert [layer.name for layer in profiled.layers] == ["0", "1", "2.0"]
    assert all(len(layer.seconds) == 4 for layer in profiled.layers)
    assert model.training and not any(module._forward_hooks for module in model.modules())
    assert len(profiled.summary(top=1).splitlines()) == 3
    document = json.loads(profiled.to_json())
    assert document["layers"][0]["flops"] == 2 * 3 * 8 * 16
    with pytest.raises(roofline.Error, match="steps"):
        roofline.torch.profile(model, torch.zeros(3, 8), steps=0, peaks=PEAKS)


def test_the_roofs_are_measured_where_none_are_given():
    peaks = Peaks.measured(quick=True, no_cache=True)
    assert peaks.bandwidth > 0 and peaks.compute > 0 and peaks.threads == torch.get_num_threads()
