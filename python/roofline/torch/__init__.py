"""The layers of a PyTorch model under the roofs of this machine: what each computes and moves, how long it takes, and
what share of its roof it reaches.

>>> import torch, roofline.torch
>>> layer = torch.nn.Conv2d(4, 8, 3, padding=1, bias=False)
>>> profiled = roofline.torch.profile(layer, torch.zeros(1, 4, 8, 8), peaks=roofline.torch.Peaks(20.0, 100.0))
>>> profiled.layers[0].flops, profiled.layers[0].bytes
(36864.0, 4224.0)

Flops and bytes come from the equations of the contract `operation-v1`, weights, inputs and outputs counted once each.
Functions that a module calls between its layers, such as products, attention or a sum, have rows of their own.
"""

from __future__ import annotations

import statistics
import time
import warnings
from collections.abc import Callable, Mapping
from typing import Any, Optional

import torch
from torch import nn

import roofline
from roofline.torch._counts import tensors
from roofline.torch._result import Layer, Peaks, Profile
from roofline.torch._watch import Watch, Watched

__all__ = ["Layer", "Peaks", "Profile", "profile"]


def profile(
    model: nn.Module,
    inputs: Any = (),
    *,
    kwargs: Optional[Mapping[str, Any]] = None,
    warmup: int = 2,
    steps: int = 10,
    peaks: Optional[Peaks] = None,
) -> Profile:
    """Runs the model and gives for each of its layers what it computes, moves, takes and reaches.

    `inputs` is what the model is called with: a tensor, a tuple or list of arguments, or a dictionary of named ones;
    `kwargs` are named ones beside them. An argument that is a list itself goes into a tuple: `([a, b],)`. The model is
    evaluated (`eval()`, without gradients), and left as it was. It runs `warmup` times, at least once to be counted,
    then `steps` times to be measured. The roofs are those of this machine unless `peaks` are given. What is not known
    stays undefined, with a warning that names it.

    >>> block = nn.Sequential(nn.Linear(64, 32, bias=False), nn.ReLU())
    >>> profiled = profile(block, torch.zeros(8, 64), peaks=Peaks(50.0, 100.0))
    >>> [(layer.name, layer.kind, layer.flops, layer.bytes) for layer in profiled.layers]
    [('0', 'Linear', 32768.0, 11264.0), ('1', 'ReLU', 256.0, 2048.0)]
    """
    if not isinstance(model, nn.Module):
        raise roofline.Error(f"a model is a torch.nn.Module, not {type(model).__name__}")
    for name, value, least in [("warmup", warmup, 0), ("steps", steps, 1)]:
        if not isinstance(value, int) or value < least:
            raise roofline.Error(f"{name} = {value!r} is not a whole number of at least {least}")
    if peaks is not None and not isinstance(peaks, Peaks):
        raise roofline.Error(f"peaks are Peaks(…), Peaks.of(DEVICE) or Peaks.measured(), not {type(peaks).__name__}")
    if any(map(_is_compiled, model.modules())):
        raise roofline.Error("the model is compiled by torch.compile, which can't be watched; give the one that it was made of")
    if any(map(nn.parameter.is_lazy, (*model.parameters(), *model.buffers()))):
        raise roofline.Error("the model has parameters without a shape yet; call it once before")
    arguments, named = _arguments(inputs)
    named.update(kwargs or {})
    device = _device(model, (arguments, named))
    if peaks is None:
        if device.type != "cpu":
            raise roofline.Error(f"the model is on {device.type}, whose roofs are not measured; give peaks=Peaks.of(DEVICE) or Peaks(…)")
        peaks = Peaks.measured()
    clock = _clock(device)
    watch = Watch(model, clock)
    training = {module: module.training for module in model.modules()}
    whole: list[float] = []
    model.eval()
    try:
        with torch.no_grad(), watch:
            for step in range(-max(warmup, 1), steps):
                start = clock()
                model(*arguments, **named)
                seconds = clock() - start
                watching = watch.end_pass(measured=step >= 0)
                if step >= 0:
                    whole.append(seconds - watching)
    finally:
        for module, mode in training.items():
            module.training = mode
    layers = [_layer(one, peaks) for one in watch.watched.values() if one.passes]
    _warn(layers)
    settings = {
        "warmup": max(warmup, 1),
        "steps": steps,
        "threads": torch.get_num_threads(),
        "device": device.type,
        "torch": str(torch.__version__),
    }
    return Profile(layers, peaks, settings, statistics.median(whole))


def _is_compiled(module: nn.Module) -> bool:
    return type(module).__name__ == "OptimizedModule" or getattr(module, "_compiled_call_impl", None) is not None


def _arguments(inputs: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    if isinstance(inputs, Mapping):
        return (), dict(inputs)
    return (tuple(inputs) if isinstance(inputs, (tuple, list)) else (inputs,)), {}


def _device(model: nn.Module, given: Any) -> torch.device:
    """Where the model runs; it runs in one place."""
    devices = {one.device for one in (*model.parameters(), *model.buffers(), *tensors(given))}
    if len({device.type for device in devices}) > 1:
        raise roofline.Error(f"the model or its inputs are on several devices: {', '.join(sorted(map(str, devices)))}")
    device = devices.pop() if devices else torch.device("cpu")
    if device.type == "meta":
        raise roofline.Error("the model is on the device meta, which computes nothing")
    return device


def _clock(device: torch.device) -> Callable[[], float]:
    """Seconds; on devices that compute behind the program's back, after all is done."""
    synchronize = getattr(getattr(torch, device.type, None), "synchronize", None)
    if device.type == "cpu" or synchronize is None:
        return time.perf_counter

    def clock() -> float:
        synchronize()
        return time.perf_counter()

    return clock


def _layer(watched: Watched, peaks: Peaks) -> Layer:
    passes = watched.passes
    layer = Layer(
        watched.name,
        watched.kind,
        calls=statistics.fmean(one.calls for one in passes),
        seconds=[one.seconds for one in passes],
        dtype=str(watched.dtype).replace("torch.", "") if watched.dtype else None,
        undefined=watched.undefined,
    )
    if not watched.undefined:
        layer.flops = statistics.fmean(one.flops for one in passes)
        layer.bytes = statistics.fmean(one.bytes for one in passes)
    layer.place(peaks, peaks.of_type(watched.dtype))
    return layer


def _warn(layers: list[Layer]) -> None:
    undefined = [layer for layer in layers if layer.undefined]
    if undefined:
        reasons = "; ".join(sorted({layer.undefined for layer in undefined if layer.undefined}))
        names = ", ".join(layer.name or "(itself)" for layer in undefined[:10])
        more = f" and {len(undefined) - 10} more" if len(undefined) > 10 else ""
        warnings.warn(f"flops and bytes are undefined for {names}{more}: {reasons}", stacklevel=3)
    lacking = {layer.dtype for layer in layers if not layer.undefined and layer.flops and layer.bound is None and layer.time}
    for dtype in sorted(filter(None, lacking)):
        warnings.warn(f"no roof is known for {dtype}; give it as Peaks(…, others={{{dtype!r}: GFLOP/s}})", stacklevel=3)
