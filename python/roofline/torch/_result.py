"""Results: the roofs, the measured layers and their presentation."""

from __future__ import annotations

import html
import json
import statistics
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from itertools import cycle
from typing import Any, Optional, Union

import torch

import roofline

_CONTRACT: Optional[roofline.Contract] = None


@dataclass(frozen=True)
class Peaks:
    """The roofs with which layers are compared.

    >>> Peaks(50.0, 100.0).ridge
    2.0
    """

    bandwidth: float
    """Memory bandwidth in GB/s."""
    compute: float
    """Compute rate in float32, in GFLOP/s."""
    threads: Optional[int] = None
    """Number of threads of the measurement; None if not measured."""
    others: Mapping[str, float] = field(default_factory=dict)
    """Compute rates of other types, by name such as `bfloat16`."""

    @property
    def ridge(self) -> float:
        """The ridge point in FLOP/byte, above which layers are compute-bound."""
        return self.compute / self.bandwidth

    def rate(self, dtype: Optional[torch.dtype]) -> Optional[float]:
        """The compute rate in this type; None if unknown."""
        if dtype in (None, torch.float32):
            return self.compute
        return self.others.get(str(dtype).replace("torch.", ""))

    @staticmethod
    def measured(**options: Any) -> Peaks:
        """Measures this machine with the number of threads of torch; the options are those of `machine`."""
        threads = torch.get_num_threads()
        if threads > 1:
            options.setdefault("threads", threads)
        machine = roofline.machine(**options)
        single = "single_" if threads == 1 else ""
        compute = float(machine[f"{single}f32_gflops"])
        # Without 16-bit instructions, torch computes in float32.
        halves = set(machine.data.get("unused_isa", [])) - {"avx-vnni", "avx512-vnni", "dotprod", "i8mm"}
        others = {} if halves else {"float16": compute, "bfloat16": compute}
        own = {"float64": "f64_gflops", "float16": "f16_gflops", "bfloat16": "bf16_gflops"}
        found = {figure.name: float(figure.quantity) for figure in machine.figures}
        others.update({dtype: found[single + name] for dtype, name in own.items() if single + name in found})
        return Peaks(float(machine[f"{single}read_gb_s"]), compute, threads, others)

    @staticmethod
    def for_device(device: str) -> Peaks:
        """The published peaks of a device, such as `rtx-4090`.

        >>> Peaks.for_device("rtx-4090").bandwidth
        1008.0
        """
        known = roofline._devices(device)
        named = {"fp32": "float32", "fp16": "float16", "bf16": "bfloat16", "fp64": "float64"}
        peaks = {named[name]: rate for name, rate in known["peaks_gflop_s"] if name in named}
        if "float32" not in peaks or known["bandwidth_gb_s"] is None:
            raise roofline.Error(f"{device}: no published float32 peak or bandwidth; pass Peaks(…) instead")
        return Peaks(known["bandwidth_gb_s"], peaks.pop("float32"), None, peaks)


@dataclass
class Layer:
    """A layer, or a function called between layers, with all its calls in one pass through the model."""

    name: str
    """The name in the model; a function is prefixed with the calling module."""
    kind: str
    """The class of the module, or the name of the function."""
    calls: float = 1
    """Mean number of calls per pass."""
    flops: Optional[float] = None
    """FLOPs per pass; a multiply-add counts as two. None if undefined."""
    bytes: Optional[float] = None
    """Bytes of weights, inputs and outputs per pass, each once per call. None if undefined."""
    seconds: list[float] = field(default_factory=list)
    """The time in each measured pass."""
    dtype: Optional[str] = None
    """The type of its arithmetic."""
    undefined: Optional[str] = None
    """The reason that its FLOPs and bytes are undefined."""
    bound: Optional[str] = None
    """The limiting resource if inputs and outputs move through memory: `memory` or `compute`."""
    ideal: Optional[float] = None
    """The roofline rate at its intensity, in GFLOP/s. Data that stays in caches can exceed it."""
    achieved: Optional[float] = None
    """Achieved GFLOP/s."""
    bandwidth: Optional[float] = None
    """Achieved GB/s."""
    utilization: Optional[float] = None
    """Fraction of the binding roof; above 1 if data stays in caches."""
    band: Optional[str] = None
    """The rating of the utilization by `layer-roofline-v1`."""

    @property
    def time(self) -> Optional[float]:
        """Median time per pass, in seconds."""
        return statistics.median(self.seconds) if self.seconds else None

    @property
    def intensity(self) -> Optional[float]:
        """Arithmetic intensity in FLOP/byte."""
        return self.flops / self.bytes if self.flops is not None and self.bytes else None

    def apply_roofs(self, peaks: Peaks, compute: Optional[float]) -> None:
        """Computes its bound and utilization, by the equations of the contract `layer-roofline-v1`."""
        if self.flops is None or self.bytes is None or not self.time:
            return
        global _CONTRACT
        if _CONTRACT is None:
            _CONTRACT = roofline.contract("layer-roofline-v1")
        at = _CONTRACT.evaluate(
            bandwidth=peaks.bandwidth,
            compute=compute or peaks.compute,
            other_flops=self.flops,
            other_bytes=self.bytes,
            time=self.time,
        )
        self.achieved, self.bandwidth = float(at["achieved_compute"]), float(at["achieved_bandwidth"])
        if compute is not None and (self.flops or self.bytes):
            self.bound, self.ideal = at["bound"].lower(), float(at["attainable"])
            self.utilization, self.band = float(at["utilization"]), at["utilization_band"]


class Profile:
    """The measured layers of a model."""

    def __init__(self, layers: list[Layer], peaks: Peaks, settings: dict[str, Any], time: float) -> None:
        self.layers = layers
        """The layers in the order of their first call."""
        self.peaks = peaks
        """The roofs."""
        self.settings = settings
        """The settings of the measurement."""
        self.time = time
        """Median time of a pass in seconds, including work outside of layers and excluding the profiling overhead."""

    def __getitem__(self, name: str) -> Layer:
        """The layer of this name."""
        for layer in self.layers:
            if layer.name == name:
                return layer
        raise KeyError(f"{name}: unknown layer; expected one of {', '.join(layer.name or '(itself)' for layer in self.layers)}")

    def _share(self, layer: Layer) -> float:
        return sum(layer.seconds) / int(self.settings["steps"]) / self.time

    @property
    def outside(self) -> float:
        """Fraction of the time outside of all listed layers and functions."""
        return max(0.0, 1 - sum(map(self._share, self.layers)))

    def _rows(self, top: Optional[int]) -> list[list[str]]:
        ordered = sorted(self.layers, key=self._share, reverse=True)
        rows = [["layer", "kind", "calls", "ms", "share", "MFLOP", "MB", "FLOP/B", "GFLOP/s", "GB/s", "bound", "utilization"]]
        for layer in ordered[:top]:
            rows.append(
                [
                    layer.name or "(itself)",
                    layer.kind,
                    _format(layer.calls),
                    _format(layer.time, 1e3),
                    _percent(self._share(layer)),
                    _format(layer.flops, 1e-6),
                    _format(layer.bytes, 1e-6),
                    _format(layer.intensity),
                    _format(layer.achieved),
                    _format(layer.bandwidth),
                    "undefined" if layer.undefined else layer.bound or "-",
                    _percent(layer.utilization),
                ]
            )
        return rows

    def _notes(self, top: Optional[int]) -> list[str]:
        left = len(self.layers) - len(self.layers[:top])
        more = f"{left} faster layers not shown; " if left else ""
        return [
            f"{more}{_format(self.time, 1e3)} ms per pass, {_percent(self.outside)} outside of layers",
            "Utilization assumes that weights, inputs and outputs move through memory once per call; data in caches can exceed the roof.",
        ]

    def summary(self, top: Optional[int] = None) -> str:
        """A table of the layers, slowest first, limited to `top` rows."""
        if top is not None and top < 0:
            raise roofline.Error(f"top = {top}: expected a non-negative number of layers")
        rows = self._rows(top)
        widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
        table = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows]
        return "\n".join([*table, *self._notes(top)])

    def __str__(self) -> str:
        return self.summary()

    def __repr__(self) -> str:
        return f"<roofline.torch/1: {len(self.layers)} layers, {_format(self.time, 1e3)} ms per pass>"

    def _repr_html_(self) -> str:
        def line(tag: str, cells: list[str]) -> str:
            return "<tr>" + "".join(f"<{tag}>{html.escape(cell)}</{tag}>" for cell in cells) + "</tr>"

        heading, *rows = self._rows(None)
        body = "".join(line("td", row) for row in rows)
        notes = "<br>".join(map(html.escape, self._notes(None)))
        return f"<table><thead>{line('th', heading)}</thead><tbody>{body}</tbody></table><p>{notes}</p>"

    def to_dict(self) -> dict[str, Any]:
        """The profile as plain values."""
        layers = [{**asdict(layer), "time": layer.time, "intensity": layer.intensity} for layer in self.layers]
        return {
            "schema": "roofline.torch/1",
            "peaks": asdict(self.peaks),
            "settings": dict(self.settings),
            "time": self.time,
            "outside": self.outside,
            "layers": layers,
        }

    def to_json(self) -> str:
        """The profile as JSON."""
        return json.dumps(self.to_dict(), indent=2)

    def to_frame(self) -> Any:
        """A pandas DataFrame with a row per layer."""
        import pandas

        return pandas.DataFrame(self.to_dict()["layers"])

    def plot(self, axes: Optional[Any] = None) -> Any:
        """Draws a log-log roofline plot with matplotlib and returns the axes."""
        import matplotlib.pyplot as pyplot

        axes = axes if axes is not None else pyplot.subplots()[1]
        points = [(layer, layer.intensity, layer.achieved) for layer in self.layers if layer.intensity and layer.achieved]
        types = dict.fromkeys(layer.dtype or "float32" for layer, _, _ in points) or ["float32"]
        rates = {dtype: self.peaks.rate(getattr(torch, dtype)) for dtype in types}
        roofs = {dtype: rate for dtype, rate in rates.items() if rate is not None}
        ridges = [rate / self.peaks.bandwidth for rate in roofs.values()]
        reached = [intensity for _, intensity, _ in points if intensity] + (ridges or [self.peaks.ridge])
        for (dtype, rate), ridge, style in zip(roofs.items(), ridges, cycle(["-", "--", ":", "-."])):
            roof = [min(reached) / 4, ridge, max(reached) * 4]
            drawn = [min(rate, self.peaks.bandwidth * x) for x in roof]
            axes.plot(roof, drawn, color="black", linestyle=style, label=f"roof, {dtype}")
        for layer, intensity, achieved in points:
            axes.plot([intensity], [achieved], "o", label=layer.name or layer.kind)
        axes.set(xscale="log", yscale="log", xlabel="FLOP/byte", ylabel="GFLOP/s")
        axes.legend(fontsize="small")
        return axes


def _format(value: Optional[Union[int, float]], factor: float = 1.0) -> str:
    return "-" if value is None else f"{value * factor:.4g}"


def _percent(share: Optional[float]) -> str:
    return "-" if share is None else f"{100 * share:.1f} %"
