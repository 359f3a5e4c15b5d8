"""What was measured: the roofs, the layers under them, and how they are shown."""

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
    """The roofs that layers are held against.

    >>> Peaks(50.0, 100.0).ridge
    2.0
    """

    bandwidth: float
    """What memory delivers, in GB/s."""
    compute: float
    """What the arithmetic delivers in float32, in GFLOP/s."""
    threads: Optional[int] = None
    """Threads that they were measured with; None where they were given."""
    others: Mapping[str, float] = field(default_factory=dict)
    """The same in other types, by name, such as `bfloat16`."""

    @property
    def ridge(self) -> float:
        """Flops for each byte from which on the arithmetic is the limit."""
        return self.compute / self.bandwidth

    def of_type(self, dtype: Optional[torch.dtype]) -> Optional[float]:
        """What the arithmetic delivers in this type; None where that is not known."""
        if dtype in (None, torch.float32):
            return self.compute
        return self.others.get(str(dtype).replace("torch.", ""))

    @staticmethod
    def measured(**options: Any) -> Peaks:
        """Those of this machine, with as many threads as torch is set to use; the options are those of `machine`."""
        threads = torch.get_num_threads()
        if threads > 1:
            options.setdefault("threads", threads)
        machine = roofline.machine(**options)
        single = "single_" if threads == 1 else ""
        compute = float(machine[f"{single}f32_gflops"])
        # Without instructions for halves they are computed with as singles.
        halves = set(machine.data.get("beyond", [])) - {"avx-vnni", "avx512-vnni", "dotprod", "i8mm"}
        others = {} if halves else {"float16": compute, "bfloat16": compute}
        own = {"float64": "f64_gflops", "float16": "f16_gflops", "bfloat16": "bf16_gflops"}
        found = {figure.name: float(figure.quantity) for figure in machine.figures}
        others.update({dtype: found[single + name] for dtype, name in own.items() if single + name in found})
        return Peaks(float(machine[f"{single}read_gb_s"]), compute, threads, others)

    @staticmethod
    def of(device: str) -> Peaks:
        """Those that the registry has for a device, such as `rtx-4090`.

        >>> Peaks.of("rtx-4090").bandwidth
        1008.0
        """
        known = roofline._devices(device)
        named = {"fp32": "float32", "fp16": "float16", "bf16": "bfloat16", "fp64": "float64"}
        peaks = {named[name]: rate for name, rate in known["peaks_gflop_s"] if name in named}
        if "float32" not in peaks or known["bandwidth_gb_s"] is None:
            raise roofline.Error(f"{device}: no figures for float32 and the memory are published; give Peaks(…) yourself")
        return Peaks(known["bandwidth_gb_s"], peaks.pop("float32"), None, peaks)


@dataclass
class Layer:
    """A layer, or a function that is called between layers: all its calls in one pass through the model."""

    name: str
    """Its name in the model; that of a function follows the module that calls it."""
    kind: str
    """Its class, or the name of the function."""
    calls: float = 1
    """How often it is called in a pass."""
    flops: Optional[float] = None
    """Operations; a multiply-add counts as two. None where they are undefined."""
    bytes: Optional[float] = None
    """Bytes of weights, inputs and outputs, once each a call. None where they are undefined."""
    seconds: list[float] = field(default_factory=list)
    """The time in each pass that was measured."""
    dtype: Optional[str] = None
    """The type that it computes in."""
    undefined: Optional[str] = None
    """Why its flops and bytes are not known."""
    bound: Optional[str] = None
    """Estimate, what holds it back if inputs and outputs move through memory: memory or compute."""
    estimate: Optional[float] = None
    """Estimate, the GFLOP/s at its intensity under the roofs; more is possible where numbers stay in caches."""
    achieved: Optional[float] = None
    """GFLOP/s that it reached."""
    bandwidth: Optional[float] = None
    """GB/s that it reached."""
    utilization: Optional[float] = None
    """Share of the nearer roof that it reached; above 1 where numbers stay in caches."""
    band: Optional[str] = None
    """How good that is, by `layer-roofline-v1`."""

    @property
    def time(self) -> Optional[float]:
        """The median time in a pass, in seconds."""
        return statistics.median(self.seconds) if self.seconds else None

    @property
    def intensity(self) -> Optional[float]:
        """Flops for each byte."""
        return self.flops / self.bytes if self.flops is not None and self.bytes else None

    def place(self, peaks: Peaks, compute: Optional[float]) -> None:
        """Puts it under the roofs, by the equations of the contract `layer-roofline-v1`."""
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
            self.bound, self.estimate = at["bound"].lower(), float(at["attainable"])
            self.utilization, self.band = float(at["utilization"]), at["utilization_band"]


class Profile:
    """The layers of a model, measured."""

    def __init__(self, layers: list[Layer], peaks: Peaks, settings: dict[str, Any], time: float) -> None:
        self.layers = layers
        """In the order of their first call."""
        self.peaks = peaks
        """The roofs."""
        self.settings = settings
        """How it was measured."""
        self.time = time
        """The median time of a pass, in seconds: its layers and what is done outside of them, without watching it."""

    def __getitem__(self, name: str) -> Layer:
        """The layer of this name."""
        for layer in self.layers:
            if layer.name == name:
                return layer
        raise KeyError(f"{name}: no such layer; there are {', '.join(layer.name or '(itself)' for layer in self.layers)}")

    def _share(self, layer: Layer) -> float:
        return sum(layer.seconds) / int(self.settings["steps"]) / self.time

    @property
    def outside(self) -> float:
        """Share of the time that is spent outside of all layers and functions that are told."""
        return max(0.0, 1 - sum(map(self._share, self.layers)))

    def _rows(self, top: Optional[int]) -> list[list[str]]:
        ordered = sorted(self.layers, key=self._share, reverse=True)
        rows = [["layer", "kind", "calls", "ms", "share", "MFLOP", "MB", "FLOP/B", "GFLOP/s", "GB/s", "bound", "of roof"]]
        for layer in ordered[:top]:
            rows.append(
                [
                    layer.name or "(itself)",
                    layer.kind,
                    _shown(layer.calls),
                    _shown(layer.time, 1e3),
                    _percent(self._share(layer)),
                    _shown(layer.flops, 1e-6),
                    _shown(layer.bytes, 1e-6),
                    _shown(layer.intensity),
                    _shown(layer.achieved),
                    _shown(layer.bandwidth),
                    "undefined" if layer.undefined else layer.bound or "-",
                    _percent(layer.utilization),
                ]
            )
        return rows

    def _notes(self, top: Optional[int]) -> list[str]:
        left = len(self.layers) - len(self.layers[:top])
        more = f"{left} more take less time; " if left else ""
        return [
            f"{more}{_shown(self.time, 1e3)} ms a pass, {_percent(self.outside)} of it outside of layers",
            "Estimates: weights, inputs and outputs move through memory once a call; what stays in caches exceeds its roof.",
        ]

    def summary(self, top: Optional[int] = None) -> str:
        """A table of the layers that take longest; of all unless `top` says how many."""
        if top is not None and top < 0:
            raise roofline.Error(f"top = {top}: a number of layers is not negative")
        rows = self._rows(top)
        widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
        table = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows]
        return "\n".join([*table, *self._notes(top)])

    def __str__(self) -> str:
        return self.summary()

    def __repr__(self) -> str:
        return f"<roofline.torch/1: {len(self.layers)} layers, {_shown(self.time, 1e3)} ms a pass>"

    def _repr_html_(self) -> str:
        def line(tag: str, cells: list[str]) -> str:
            return "<tr>" + "".join(f"<{tag}>{html.escape(cell)}</{tag}>" for cell in cells) + "</tr>"

        heading, *rows = self._rows(None)
        body = "".join(line("td", row) for row in rows)
        notes = "<br>".join(map(html.escape, self._notes(None)))
        return f"<table><thead>{line('th', heading)}</thead><tbody>{body}</tbody></table><p>{notes}</p>"

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values."""
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
        points = [(layer, layer.intensity, layer.achieved) for layer in self.layers if layer.intensity and layer.achieved]
        types = dict.fromkeys(layer.dtype or "float32" for layer, _, _ in points) or ["float32"]
        rates = {dtype: self.peaks.of_type(getattr(torch, dtype)) for dtype in types}
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


def _shown(value: Optional[Union[int, float]], factor: float = 1.0) -> str:
    return "-" if value is None else f"{value * factor:.4g}"


def _percent(share: Optional[float]) -> str:
    return "-" if share is None else f"{100 * share:.1f} %"
