"""Profiles the layers of a PyTorch model: FLOPs, bytes, time and utilization of each layer.

>>> import torch, roofline.torch
>>> layer = torch.nn.Conv2d(4, 8, 3, padding=1, bias=False)
>>> profiled = roofline.torch.profile(layer, torch.zeros(1, 4, 8, 8), peaks=roofline.torch.Peaks(20.0, 100.0))
>>> profiled.layers[0].flops, profiled.layers[0].bytes
(36864.0, 4224.0)

FLOPs and bytes follow the equations of the contract `operation-v1`; weights, inputs and outputs count once each.
Functions that a module calls between its layers, such as matrix products, attention or a sum, have separate rows.
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
from roofline.torch._watch import Watch, Record

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
    """Runs the model and measures its layers.

    `inputs` are the arguments of the model: a tensor, a tuple or list of arguments, or a dictionary of keyword arguments;
    `kwargs` are additional keyword arguments. Wrap an argument that is a list in a tuple: `([a, b],)`. The model runs in
    `eval()` mode without gradients and keeps its mode. It runs `warmup` times, at least once to count operations, and
    then `steps` times to measure. The default roofs are those of this machine. Layers with unknown cost are undefined,
    with a warning.

    Raises `roofline.Error` for invalid arguments, and for models that cannot be profiled.

    >>> block = nn.Sequential(nn.Linear(64, 32, bias=False), nn.ReLU())
    >>> profiled = profile(block, torch.zeros(8, 64), peaks=Peaks(50.0, 100.0))
    >>> [(layer.name, layer.kind, layer.flops, layer.bytes) for layer in profiled.layers]
    [('0', 'Linear', 32768.0, 11264.0), ('1', 'ReLU', 256.0, 2048.0)]
    """
    if not isinstance(model, nn.Module):
        raise roofline.Error(f"model: expected a torch.nn.Module, not {type(model).__name__}")
    for name, value, minimum in [("warmup", warmup, 0), ("steps", steps, 1)]:
        if not isinstance(value, int) or value < minimum:
            raise roofline.Error(f"{name} = {value!r}: expected an integer of at least {minimum}")
    if peaks is not None and not isinstance(peaks, Peaks):
        raise roofline.Error(f"peaks: expected Peaks(…), Peaks.for_device(…) or Peaks.measured(), not {type(peaks).__name__}")
    if any(map(_is_compiled, model.modules())):
        raise roofline.Error("model: cannot profile a model compiled by torch.compile; pass the original model")
    if any(map(nn.parameter.is_lazy, (*model.parameters(), *model.buffers()))):
        raise roofline.Error("model: uninitialized lazy parameters; call the model once before profiling")
    arguments, keywords = _arguments(inputs)
    keywords.update(kwargs or {})
    device = _device(model, (arguments, keywords))
    if peaks is None:
        if device.type != "cpu":
            raise roofline.Error(f"model: cannot measure the roofs of {device.type}; pass peaks=Peaks.for_device(…) or Peaks(…)")
        peaks = Peaks.measured()
    clock = _clock(device)
    watch = Watch(model, clock)
    training = {module: module.training for module in model.modules()}
    times: list[float] = []
    model.eval()
    try:
        with torch.no_grad(), watch:
            for step in range(-max(warmup, 1), steps):
                start = clock()
                model(*arguments, **keywords)
                seconds = clock() - start
                overhead = watch.end_pass(measured=step >= 0)
                if step >= 0:
                    times.append(seconds - overhead)
    finally:
        for module, mode in training.items():
            module.training = mode
    layers = [_layer(record, peaks) for record in watch.records.values() if record.passes]
    _warn(layers)
    settings = {
        "warmup": max(warmup, 1),
        "steps": steps,
        "threads": torch.get_num_threads(),
        "device": device.type,
        "torch": str(torch.__version__),
    }
    return Profile(layers, peaks, settings, statistics.median(times))


def _is_compiled(module: nn.Module) -> bool:
    return type(module).__name__ == "OptimizedModule" or getattr(module, "_compiled_call_impl", None) is not None


def _arguments(inputs: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    if isinstance(inputs, Mapping):
        return (), dict(inputs)
    return (tuple(inputs) if isinstance(inputs, (tuple, list)) else (inputs,)), {}


def _device(model: nn.Module, given: Any) -> torch.device:
    """The device of the model and its inputs, which must be a single one."""
    devices = {tensor.device for tensor in (*model.parameters(), *model.buffers(), *tensors(given))}
    if len({device.type for device in devices}) > 1:
        raise roofline.Error(f"model: expected a single device; the model and its inputs are on {', '.join(sorted(map(str, devices)))}")
    device = devices.pop() if devices else torch.device("cpu")
    if device.type == "meta":
        raise roofline.Error("model: cannot profile a model on the meta device; move it to a real device")
    return device


def _clock(device: torch.device) -> Callable[[], float]:
    """A clock in seconds that waits for asynchronous devices."""
    synchronize = getattr(getattr(torch, device.type, None), "synchronize", None)
    if device.type == "cpu" or synchronize is None:
        return time.perf_counter

    def clock() -> float:
        synchronize()
        return time.perf_counter()

    return clock


def _layer(record: Record, peaks: Peaks) -> Layer:
    passes = record.passes
    layer = Layer(
        record.name,
        record.kind,
        calls=statistics.fmean(step.calls for step in passes),
        seconds=[step.seconds for step in passes],
        dtype=str(record.dtype).replace("torch.", "") if record.dtype else None,
        undefined=record.undefined,
    )
    if not record.undefined:
        layer.flops = statistics.fmean(step.flops for step in passes)
        layer.bytes = statistics.fmean(step.bytes for step in passes)
    layer.apply_roofs(peaks, peaks.rate(record.dtype))
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
        warnings.warn(f"no compute roof for {dtype}, so its layers have no bound; pass Peaks(…, others={{{dtype!r}: GFLOP/s}})", stacklevel=3)
