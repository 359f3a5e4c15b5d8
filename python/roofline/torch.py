"""The layers of a PyTorch module under the roofs of this machine: what each computes and moves, how long it takes, and
what share of its roof it reaches.

>>> import torch, roofline.torch
>>> layer = torch.nn.Conv2d(4, 8, 3, padding=1, bias=False)
>>> profiled = roofline.torch.profile(layer, torch.zeros(1, 4, 8, 8), peaks=roofline.torch.Peaks(20.0, 100.0))
>>> profiled.layers[0].flops, profiled.layers[0].bytes
(36864.0, 4224.0)

Flops and bytes come from the equations of the contract `operation-v1`, weights, inputs and outputs counted once each.
"""

from __future__ import annotations

import json
import statistics
import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Optional

import torch
from torch import nn

import roofline

__all__ = ["Layer", "Peaks", "Profile", "profile"]

_CONTRACT: Optional[roofline.Contract] = None


def _operation(**quantities: float) -> roofline.Evaluated:
    global _CONTRACT
    if _CONTRACT is None:
        _CONTRACT = roofline.contract("operation-v1")
    return _CONTRACT.evaluate(**quantities)


@dataclass(frozen=True)
class Peaks:
    """The roofs that layers are held against."""

    bandwidth: float
    """What memory delivers, in GB/s."""
    compute: float
    """What the arithmetic delivers in the type of the layers, in GFLOP/s."""
    threads: Optional[int] = None
    """Threads that they were measured with; None where they were given."""

    @property
    def ridge(self) -> float:
        """Flops for each byte from which on the arithmetic is the limit."""
        return self.compute / self.bandwidth

    @staticmethod
    def measured(**options: Any) -> Peaks:
        """Those of this machine, with one thread or all, as torch is set to use them."""
        machine = roofline.machine(**options)
        threads = torch.get_num_threads()
        single = "single_" if threads == 1 else ""
        return Peaks(machine[f"{single}read_gb_s"], machine[f"{single}f32_gflops"], threads)


@dataclass
class Layer:
    """One layer: a module that has no modules inside, or attention."""

    name: str
    """Its name in the module."""
    kind: str
    """Its class."""
    flops: Optional[float] = None
    """Operations of one call; a multiply-add counts as two. None where they are undefined."""
    bytes: Optional[float] = None
    """Bytes of weights, inputs and outputs of one call. None where they are undefined."""
    seconds: list[float] = field(default_factory=list)
    """The time of each call that was measured."""
    bound: Optional[str] = None
    """What holds it back: memory or compute."""
    undefined: Optional[str] = None
    """Why its flops and bytes are not known."""
    ceiling: Optional[float] = None
    """GFLOP/s that it may reach at its intensity."""

    @property
    def time(self) -> Optional[float]:
        """The median time of a call, in seconds."""
        return statistics.median(self.seconds) if self.seconds else None

    @property
    def intensity(self) -> Optional[float]:
        """Flops for each byte."""
        return self.flops / self.bytes if self.flops is not None and self.bytes else None

    @property
    def achieved(self) -> Optional[float]:
        """GFLOP/s that it reached."""
        return self.flops / self.time / 1e9 if self.flops is not None and self.time else None

    @property
    def utilization(self) -> Optional[float]:
        """Share of its roof that it reached."""
        if self.achieved is not None and self.ceiling:
            return self.achieved / self.ceiling
        return None


class Profile:
    """The layers of a module, measured."""

    def __init__(self, layers: list[Layer], peaks: Peaks, settings: dict[str, Any], time: float) -> None:
        self.layers = layers
        """In the order of their first call."""
        self.peaks = peaks
        """The roofs."""
        self.settings = settings
        """How it was measured."""
        self.time = time
        """The median time of the whole module, in seconds: its layers, and what is done outside of them."""

    def summary(self, top: Optional[int] = None) -> str:
        """A table of the layers that take longest; of all unless `top` says how many."""
        ordered = sorted(self.layers, key=lambda layer: -(layer.time or 0.0))
        headings = ["layer", "kind", "ms", "share", "MFLOP", "MB", "FLOP/B", "GFLOP/s", "bound", "of roof"]
        rows = [headings]
        for layer in ordered[:top]:
            rows.append(
                [
                    layer.name or "(itself)",
                    layer.kind,
                    _shown(layer.time, 1e3),
                    _percent(sum(layer.seconds) / self.settings["steps"] / self.time),
                    _shown(layer.flops, 1e-6),
                    _shown(layer.bytes, 1e-6),
                    _shown(layer.intensity),
                    _shown(layer.achieved),
                    layer.bound or "undefined",
                    _percent(layer.utilization),
                ]
            )
        widths = [max(len(row[column]) for row in rows) for column in range(len(headings))]
        table = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows]
        inside = sum(sum(layer.seconds) for layer in self.layers) / self.settings["steps"]
        rest = _percent(max(0.0, 1 - inside / self.time))
        return "\n".join([*table, f"{_shown(self.time, 1e3)} ms in all, {rest} of it outside of these layers"])

    def __str__(self) -> str:
        return self.summary()

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values."""
        derived = ("time", "intensity", "achieved", "utilization")
        layers = [{**asdict(layer), **{name: getattr(layer, name) for name in derived}} for layer in self.layers]
        return {"schema": "roofline.torch/1", "peaks": asdict(self.peaks), "settings": self.settings, "time": self.time, "layers": layers}

    def to_json(self) -> str:
        """Everything as JSON."""
        return json.dumps(self.to_dict(), indent=2)

    def to_frame(self) -> Any:
        """A pandas DataFrame with a row for each layer."""
        import pandas

        return pandas.DataFrame(self.to_dict()["layers"])

    def plot(self, axes: Optional[Any] = None) -> Any:
        """A log-log plot of the layers under the roofs, with matplotlib; the axes come back."""
        import matplotlib.pyplot as pyplot

        axes = axes if axes is not None else pyplot.subplots()[1]
        points = [layer for layer in self.layers if layer.intensity and layer.achieved]
        lowest = min([layer.intensity or 1.0 for layer in points] + [self.peaks.ridge]) / 4
        highest = max([layer.intensity or 1.0 for layer in points] + [self.peaks.ridge]) * 4
        roof = [lowest, self.peaks.ridge, highest]
        axes.plot(roof, [min(self.peaks.compute, self.peaks.bandwidth * x) for x in roof], color="black", label="roof")
        for layer in points:
            axes.plot([layer.intensity], [layer.achieved], "o", label=layer.name or layer.kind)
        axes.set(xscale="log", yscale="log", xlabel="FLOP/byte", ylabel="GFLOP/s")
        axes.legend(fontsize="small")
        return axes


def _shown(value: Optional[float], factor: float = 1.0) -> str:
    return "-" if value is None else f"{value * factor:.4g}"


def _percent(share: Optional[float]) -> str:
    return "-" if share is None else f"{100 * share:.1f} %"


def profile(
    model: nn.Module,
    inputs: Any,
    *,
    warmup: int = 2,
    steps: int = 10,
    peaks: Optional[Peaks] = None,
) -> Profile:
    """Runs the module and gives for each of its layers what it computes, moves, takes and reaches.

    `inputs` is what the module is called with: a tensor, a tuple of arguments, or a dictionary of named ones. The roofs
    are those of this machine unless `peaks` are given. A layer of a kind that is not known stays undefined, with a
    warning that names it.
    """
    if steps < 1 or warmup < 0:
        raise roofline.Error("steps must be at least 1, and warmup at least 0")
    peaks = peaks if peaks is not None else Peaks.measured()
    arguments, named = _arguments(inputs)
    layers: dict[str, Layer] = {}
    started: dict[str, float] = {}
    measuring = False

    def before(name: str) -> Callable[..., None]:
        def hook(*_: Any) -> None:
            started[name] = time.perf_counter()

        return hook

    def after(name: str) -> Callable[..., None]:
        def hook(module: nn.Module, given: Any, out: Any) -> None:
            seconds = time.perf_counter() - started[name]
            if name not in layers:
                layers[name] = _layer(name, module, given, out, peaks)
            if measuring:
                layers[name].seconds.append(seconds)

        return hook

    handles = []
    for name, module in _leaves(model):
        handles.append(module.register_forward_pre_hook(before(name)))
        handles.append(module.register_forward_hook(after(name)))
    functional: Any = torch.nn.functional
    mixed: Any = getattr(functional, "scaled_dot_product_attention", None)

    def mix(query: Any, key: Any, value: Any, *rest: Any, **more: Any) -> Any:
        """Attention that is called as a function, which no hook sees."""
        start = time.perf_counter()
        out = mixed(query, key, value, *rest, **more)
        seconds = time.perf_counter() - start
        shape = "x".join(map(str, query.shape))
        name = f"scaled_dot_product_attention {shape}"
        if name not in layers:
            causal = bool(more.get("is_causal", rest[2] if len(rest) > 2 else False))
            layers[name] = _mixing(name, query, key, value, causal, peaks)
        if measuring:
            layers[name].seconds.append(seconds)
        return out

    training = model.training
    model.eval()
    whole: list[float] = []
    try:
        if mixed is not None:
            functional.scaled_dot_product_attention = mix
        with torch.no_grad():
            for step in range(warmup + steps):
                measuring = step >= warmup
                start = time.perf_counter()
                model(*arguments, **named)
                if measuring:
                    whole.append(time.perf_counter() - start)
    finally:
        if mixed is not None:
            functional.scaled_dot_product_attention = mixed
        model.train(training)
        for handle in handles:
            handle.remove()
    kinds = sorted({layer.kind for layer in layers.values() if layer.undefined})
    if kinds:
        warnings.warn(f"flops and bytes are undefined for layers of the kinds {', '.join(kinds)}", stacklevel=2)
    settings = {"warmup": warmup, "steps": steps, "threads": torch.get_num_threads(), "torch": torch.__version__}
    return Profile(list(layers.values()), peaks, settings, statistics.median(whole))


def _arguments(inputs: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    if isinstance(inputs, Mapping):
        return (), dict(inputs)
    return (tuple(inputs) if isinstance(inputs, (tuple, list)) else (inputs,)), {}


def _leaves(module: nn.Module, name: str = "") -> list[tuple[str, nn.Module]]:
    """Modules without modules inside; attention is one, because it calls its parts by functions."""
    children = list(module.named_children())
    if not children or isinstance(module, nn.MultiheadAttention):
        return [(name, module)]
    found: list[tuple[str, nn.Module]] = []
    for child_name, child in children:
        found += _leaves(child, f"{name}.{child_name}" if name else child_name)
    return found


def _mixing(name: str, query: Any, key: Any, value: Any, causal: bool, peaks: Peaks) -> Layer:
    layer = Layer(name, "attention")
    *lead, heads, tokens, wide = query.shape
    if not lead or query.shape[:-2] != key.shape[:-2] or causal and key.shape[-2] != tokens:
        layer.undefined = "queries and keys of these shapes are not known"
        return layer
    batch = 1
    for one in lead:
        batch *= one
    quantities = {
        "batch": batch,
        "tokens": tokens,
        "context": key.shape[-2],
        "prefill": 1,
        "causal": float(causal),
        "heads": heads,
        "kv_heads": heads,
        "key_length": wide,
        "value_length": value.shape[-1],
        "activation_size": query.element_size(),
        "cache_size": key.element_size(),
    }
    return _placed(layer, quantities, peaks)


def _placed(layer: Layer, quantities: Mapping[str, float], peaks: Peaks) -> Layer:
    """The layer with its flops and bytes, under the roofs."""
    at = _operation(bandwidth=peaks.bandwidth, compute=peaks.compute, **quantities)
    layer.flops, layer.bytes = float(at["flops"]), float(at["estimated_bytes"])
    # Below the ridge the memory holds a layer back, from it on the arithmetic.
    layer.bound = "memory" if layer.flops < peaks.ridge * layer.bytes else "compute"
    layer.ceiling = min(peaks.compute, peaks.bandwidth * layer.flops / layer.bytes) if layer.bytes else peaks.compute
    return layer


def _layer(name: str, module: nn.Module, given: Any, out: Any, peaks: Peaks) -> Layer:
    layer = Layer(name, type(module).__name__)
    given = [one for one in given if isinstance(one, torch.Tensor)]
    out = next((one for one in (out if isinstance(out, (tuple, list)) else [out]) if isinstance(one, torch.Tensor)), None)
    if not given or out is None:
        layer.undefined = "it takes or gives no tensor"
        return layer
    try:
        quantities = _quantities(module, given, out)
    except NotImplementedError as reason:
        layer.undefined = str(reason)
        return layer
    return _placed(layer, quantities, peaks)


_ELEMENTWISE = (
    nn.ReLU, nn.ReLU6, nn.GELU, nn.SiLU, nn.Sigmoid, nn.Tanh, nn.LeakyReLU, nn.ELU, nn.Hardswish, nn.Hardsigmoid,
    nn.Hardtanh, nn.Mish, nn.Softplus, nn.PReLU, nn.LogSigmoid,
)  # fmt: skip
_MOVES = (nn.Identity, nn.Flatten, nn.Unflatten, nn.Dropout, nn.Dropout1d, nn.Dropout2d, nn.Dropout3d)
_SCALED = (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)
_CENTERED = (nn.LayerNorm, nn.GroupNorm, nn.InstanceNorm1d, nn.InstanceNorm2d, nn.InstanceNorm3d)
# Newer than the oldest torch that this runs with.
_ROOT_MEAN_SQUARE = tuple(filter(None, [getattr(nn, "RMSNorm", None)]))
_EACH: tuple[tuple[tuple[type[nn.Module], ...], int], ...] = (
    (_ELEMENTWISE, 1),
    (_SCALED, 2),
    (_ROOT_MEAN_SQUARE, 4),
    ((nn.Softmax, nn.LogSoftmax), 5),
    (_CENTERED, 7),
)
"""Operations for each number: one for element-wise work, those of the formula for normalizations."""
_CONVOLUTIONS = (nn.Conv1d, nn.Conv2d, nn.Conv3d)
_TRANSPOSED = (nn.ConvTranspose1d, nn.ConvTranspose2d, nn.ConvTranspose3d)


def _quantities(module: nn.Module, given: list[torch.Tensor], out: torch.Tensor) -> dict[str, float]:
    """The layer as quantities of `operation-v1`. A layer that is not known raises NotImplementedError."""
    x = given[0]
    size = float(x.element_size())
    weight = getattr(module, "weight", None)
    bits = 8.0 * weight.element_size() if isinstance(weight, torch.Tensor) else 8.0 * size
    if isinstance(module, nn.Linear):
        # Every leading dimension is a token to the weights.
        tokens = x.numel() // module.in_features
        bias = 0.0 if module.bias is None else float(module.bias.numel() * module.bias.element_size())
        return {
            "tokens": tokens,
            "dense_params": module.in_features * module.out_features,
            "bits_per_weight": bits,
            "in_features": module.in_features,
            "out_features": module.out_features,
            "activation_size": size,
            "extra_bytes": bias,
        }
    if isinstance(module, _CONVOLUTIONS + _TRANSPOSED):
        return _convolution(module, x, out, bits, size)
    if isinstance(module, nn.Embedding):
        moved = out.numel() * (module.weight.element_size() + out.element_size()) + x.numel() * x.element_size()
        return {"extra_bytes": float(moved)}
    if isinstance(module, nn.MultiheadAttention):
        return _attention(module, given, bits, size)
    moved = float(sum(one.numel() * one.element_size() for one in given) + out.numel() * out.element_size())
    for kinds, each in _EACH:
        if isinstance(module, kinds):
            own = sum(one.numel() * one.element_size() for one in (*module.parameters(), *module.buffers()))
            return {"other_flops": float(each * out.numel()), "extra_bytes": moved + own}
    if isinstance(module, (nn.MaxPool1d, nn.MaxPool2d, nn.MaxPool3d, nn.AvgPool1d, nn.AvgPool2d, nn.AvgPool3d)):
        dimensions = out.dim() - 2
        kernel = module.kernel_size if isinstance(module.kernel_size, tuple) else (module.kernel_size,) * dimensions
        taps = 1
        for one in kernel:
            taps *= one
        return {"other_flops": float(taps * out.numel()), "extra_bytes": moved}
    if isinstance(module, (nn.AdaptiveAvgPool1d, nn.AdaptiveAvgPool2d, nn.AdaptiveAvgPool3d)):
        return {"other_flops": float(x.numel()), "extra_bytes": moved}
    if isinstance(module, _MOVES):
        return {}
    raise NotImplementedError(f"layers of the kind {type(module).__name__} are not known")


def _convolution(module: Any, x: torch.Tensor, out: torch.Tensor, bits: float, size: float) -> dict[str, float]:
    dimensions = len(module.kernel_size)
    batch = x.shape[0] if x.dim() == dimensions + 2 else 1
    if module.padding_mode != "zeros":
        raise NotImplementedError(f"padding of the mode {module.padding_mode} is not known")
    if module.padding == "same" and any(one != 1 for one in module.stride):
        raise NotImplementedError("padding `same` with a stride is not known")
    padding = module.padding
    if padding == "valid":
        padding = (0,) * dimensions
    elif padding == "same":
        spans = [d * (k - 1) for d, k in zip(module.dilation, module.kernel_size)]
        if any(span % 2 for span in spans):
            raise NotImplementedError("padding `same` of an even kernel is not known")
        padding = tuple(span // 2 for span in spans)
    bias = 0.0 if module.bias is None else float(module.bias.numel() * module.bias.element_size())
    quantities: dict[str, float] = {
        "batch": batch,
        "in_channels": module.in_channels,
        "out_channels": module.out_channels,
        "groups": module.groups,
        "transposed": float(isinstance(module, _TRANSPOSED)),
        "bits_per_weight": bits,
        "activation_size": size,
        "extra_bytes": bias,
    }
    sizes: dict[str, tuple[int, ...]] = {
        "input": tuple(x.shape[-dimensions:]),
        "kernel": module.kernel_size,
        "stride": module.stride,
        "padding": padding,
        "dilation": module.dilation,
        "extra": module.output_padding,
    }
    for what, numbers in sizes.items():
        for axis, number in zip(("depth", "height", "width")[-dimensions:], numbers):
            quantities[f"{what}_{axis}"] = number
    return quantities


def _attention(module: nn.MultiheadAttention, given: list[torch.Tensor], bits: float, size: float) -> dict[str, float]:
    query, key = given[0], given[1] if len(given) > 1 else given[0]
    if query.shape != key.shape:
        raise NotImplementedError("attention to another sequence is not known")
    bits = 8.0 * module.out_proj.weight.element_size()
    first, second = (query.shape[0], query.shape[1]) if query.dim() == 3 else (query.shape[0], 1)
    tokens, batch = (second, first) if module.batch_first and query.dim() == 3 else (first, second)
    wide = module.embed_dim
    biases = (module.in_proj_bias, module.out_proj.bias)
    return {
        "batch": batch,
        "tokens": tokens,
        "context": tokens,
        "prefill": 1,
        "causal": 0,
        "dense_params": wide * (wide + (module.kdim or wide) + (module.vdim or wide)) + wide * wide,
        "bits_per_weight": bits,
        "in_features": 2 * wide,
        "out_features": 4 * wide,
        "heads": module.num_heads,
        "kv_heads": module.num_heads,
        "key_length": wide // module.num_heads,
        "value_length": wide // module.num_heads,
        "activation_size": size,
        "cache_size": size,
        "extra_bytes": float(sum(one.numel() * one.element_size() for one in biases if one is not None)),
    }
