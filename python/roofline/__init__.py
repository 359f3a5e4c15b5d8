"""Ceilings, bottlenecks and measured utilization of machine learning models on this machine and on known devices.

>>> import roofline
>>> p = roofline.predict("llama-3.1-8b", quant="q4_k_m", on="rtx-4090")
>>> p["decode_ceiling"]
195.6 token/s
>>> p["decode_ceiling"].unit
'token/s'

Results are those of the `roofline` program: `data` is its JSON document, `figures` are its numbers with their units, and
`print(p)` shows its text output.
"""

from __future__ import annotations

import json
import os
import tempfile
import warnings
from array import array
from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass
from numbers import Complex, Real
from typing import Any, Optional, Union

from roofline import _roofline
from roofline._roofline import Error

__version__: str = _roofline.version()

__all__ = ["Contract", "Error", "Evaluated", "Figure", "Quantity", "Result", "contract", "machine", "predict", "profile"]


class Quantity(float):
    """A float with a unit. Arithmetic returns plain floats.

    >>> speed = Quantity(189.25, "token/s")
    >>> speed, speed.value, speed.unit, speed / 2
    (189.2 token/s, 189.25, 'token/s', 94.625)
    """

    unit: str

    def __new__(cls, value: float, unit: str) -> Quantity:
        quantity = super().__new__(cls, value)
        quantity.unit = unit
        return quantity

    @property
    def value(self) -> float:
        """The number without its unit."""
        return float(self)

    def __repr__(self) -> str:
        return f"{float(self):.4g} {self.unit}" if self.unit not in ("", "1") else f"{float(self):.4g}"

    __str__ = __repr__

    def __reduce__(self) -> tuple[Any, ...]:
        return Quantity, (float(self), self.unit)

    def to_pint(self, registry: Any = None) -> Any:
        """Converts to a pint quantity. Defines units such as `token` and `flop` in the registry if they are missing."""
        import pint

        registry = registry or pint.application_registry
        return registry.Quantity(float(self), _pint(self.unit, registry))


_COUNTS = ("flop", "op", "token", "param", "element", "block", "layer", "head", "expert", "sequence", "sample", "cycle", "core")
"""Units of counts, which pint usually does not define."""


def _pint(unit: str, registry: Any) -> str:
    """The unit in the syntax of pint. Defines missing units of counts in the registry."""
    for name in _COUNTS:
        if name not in registry:
            registry.define(f"{name} = [{name}]" + (" = FLOP" if name == "flop" else ""))
    return "" if unit == "1" else unit


@dataclass(frozen=True)
class Figure:
    """A number of a result."""

    name: str
    """The name in conditions."""
    of: str
    """The subject, such as a device or an operation; empty for the whole result."""
    label: str
    """The name in tables and charts."""
    quantity: Quantity
    """The value and its unit."""
    noise: Optional[float]
    """The spread of the measured runs as a fraction; None if it was not measured."""


class Result(Mapping[str, Any]):
    """A result of the program.

    A key is the name of a figure (`p["decode_ceiling"]`), with its subject if there are several
    (`p["decode_ceiling", "rtx-4090"]`), or a field of `data`.
    """

    def __init__(self, command: str, flags: list[str], positional: list[str], code: int, printed: str) -> None:
        self._command, self._flags, self._positional = command, flags, positional
        self._printed = printed
        self.data: dict[str, Any] = json.loads(printed)
        """The JSON document."""
        self.passed: bool = code == 0
        """True if every requirement holds and no measurement exceeds its ceiling."""
        found = _roofline.figures(self.data["schema"], printed)
        self.figures: list[Figure] = [
            Figure(name, of, label, Quantity(value, unit), noise) for name, of, label, unit, value, noise in found
        ]
        """The numbers with their units."""

    def __getitem__(self, key: Union[str, tuple[str, str]]) -> Any:
        name, of = key if isinstance(key, tuple) else (key, None)
        found = [figure for figure in self.figures if figure.name == name and of in (None, figure.of)]
        if len(found) == 1:
            return found[0].quantity
        if found:
            names = ", ".join(figure.of for figure in found[:5])
            raise KeyError(f"{name}: ambiguous, {len(found)} figures ({names}); select one, as in [{name!r}, {found[0].of!r}]")
        if of is None and name in self.data:
            return self.data[name]
        known = sorted({figure.name for figure in self.figures} | set(self.data))
        raise KeyError(f"{key}: unknown figure or field; expected one of {', '.join(known)}")

    def __iter__(self) -> Any:
        return iter(self.data)

    def __len__(self) -> int:
        return len(self.data)

    def __str__(self) -> str:
        if self._measured():
            # Running the command again would repeat the measurement.
            return _roofline.text(self.data["schema"], self._printed)
        return self._rerun(["--format", "text"])

    def __repr__(self) -> str:
        return f"<{self.data['schema']}: {' '.join([self._command, *self._positional, *self._flags])}>"

    def to_dict(self) -> dict[str, Any]:
        """A copy of the JSON document."""
        document: dict[str, Any] = json.loads(self._printed)
        return document

    def to_json(self) -> str:
        """The JSON document as text."""
        return self._printed

    def to_frame(self) -> Any:
        """A pandas DataFrame with a row per prediction or operation, otherwise per figure."""
        import pandas

        for part in ("predictions", "operations"):
            if isinstance(self.data.get(part), list):
                return pandas.json_normalize(self.data[part])
        rows = [(f.name, f.of, f.label, f.quantity.value, f.quantity.unit, f.noise) for f in self.figures]
        return pandas.DataFrame(rows, columns=["name", "of", "label", "value", "unit", "noise"])

    def svg(self) -> str:
        """The chart as SVG."""
        return self._chart("--svg")

    def html(self) -> str:
        """The chart as a self-contained HTML page."""
        return self._chart("--html")

    def _repr_html_(self) -> str:
        return self.svg()

    def _measured(self) -> bool:
        return self._command == "machine" or "--measure" in self._flags or "--on=this" in self._flags

    def _rerun(self, more: list[str]) -> str:
        # Files requested by the first call were already written.
        flags = [flag for flag in self._flags if not flag.startswith(("--svg=", "--html="))]
        return _call(self._command, [*flags, *more], self._positional)[1]

    def _chart(self, flag: str) -> str:
        if not self._measured():
            return self._rerun([flag, "-"])
        with tempfile.TemporaryDirectory() as directory:
            path = os.path.join(directory, "result.json")
            with open(path, "w", encoding="utf-8") as file:
                file.write(self._printed)
            return _call("plot", [flag, "-"], [path])[1]


def _devices(name: str) -> Mapping[str, Any]:
    """The entry of a device in the registry."""
    device: dict[str, Any] = json.loads(_call("devices", ["--format=json"], [name])[1])["devices"][0]
    return device


def _run(command: str, positional: Iterable[Any], options: Mapping[str, Any]) -> Result:
    flags = []
    for name, value in options.items():
        flag = "--" + name.replace("_", "-")
        if name == "format" or name in ("svg", "html") and value == "-":
            raise Error(f"{flag}: not supported in Python; use str(), to_json(), to_frame(), svg() or html() of the result")
        if name == "clear_cache":
            raise Error(f"{flag}: not supported in Python; use machine(refresh=True) to measure again")
        scalar = not isinstance(value, Iterable) or isinstance(value, (str, bytes, Mapping))
        for item in [value] if scalar else value:
            if item is True:
                flags.append(flag)
            elif item is not None and item is not False:
                # A value may begin with a dash.
                flags.append(f"{flag}={item}")
    positional = [os.fsdecode(path) for path in positional]
    code, printed, messages = _roofline.call(["roofline", command, *flags, "--format=json", "--", *positional])
    if not printed.startswith("{"):
        # Such as a --where without matches, or the list of --require=help.
        raise Error("\n".join([*messages, printed.strip()]).strip())
    for line in messages:
        if line.startswith("warning: "):
            warnings.warn(line[len("warning: ") :], stacklevel=3)
    return Result(command, flags, positional, code, printed)


def _call(command: str, flags: list[str], positional: list[str]) -> tuple[int, str]:
    code, printed, _ = _roofline.call(["roofline", command, *flags, "--", *positional])
    return code, printed


def predict(model: Union[str, os.PathLike[str], None] = None, **options: Any) -> Result:
    """Predicts the speed of a model on devices: ceilings, ideal rates and expected ranges.

    `model` is the name of a known model, a config.json or a model file. The options are those of `roofline predict` with
    underscores: `on`, `quant`, `params`, `batch`, `context`, `prompt`, `cache`, `where`, `require` and so on. A list
    repeats an option.

    >>> p = predict("llama-3.1-8b", quant="q8_0", on=["rtx-4090", "rtx-3090"], context="8k")
    >>> [prediction["device"] for prediction in p["predictions"]]
    ['rtx-4090', 'rtx-3090']
    """
    return _run("predict", [] if model is None else [model], options)


def profile(path: Union[str, os.PathLike[str]], **options: Any) -> Result:
    """Profiles a model file: FLOPs, bytes, limiting resource and ceiling of each operation.

    The options are those of `roofline profile` with underscores: `on`, `batch`, `context`, `phase`, `measure` and so on.
    """
    return _run("profile", [path], options)


def machine(**options: Any) -> Result:
    """Measures the bandwidth and compute roofs of this machine, or returns the cached result.

    The options are those of `roofline machine` with underscores: `quick`, `refresh`, `threads` and so on.
    """
    return _run("machine", [], options)


class Evaluated(Mapping[str, Any]):
    """Results of a contract: the value of each equation with its unit, and the variant of each classifier."""

    def __init__(self, values: dict[str, Any], units: dict[str, str]) -> None:
        self._values = values
        self.units = units
        """The unit of each equation."""

    def __getitem__(self, name: str) -> Any:
        return self._values[name]

    def __iter__(self) -> Any:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        return f"Evaluated({self._values!r})"

    def to_dict(self) -> dict[str, Any]:
        """The results as plain numbers, arrays and strings."""
        return {name: float(value) if isinstance(value, Quantity) else value for name, value in self._values.items()}

    def to_frame(self) -> Any:
        """A pandas DataFrame with a row per point."""
        import pandas

        values = self.to_dict()
        scalar = not any(hasattr(value, "__len__") and not isinstance(value, str) for value in values.values())
        return pandas.DataFrame(values, index=[0] if scalar else None)


class Contract:
    """A contract: a performance model with units, domains and proven claims."""

    def __init__(self, path_or_text: Union[str, os.PathLike[str]]) -> None:
        self._source = os.fsdecode(path_or_text)
        try:
            self._contract = _roofline.Contract(self._source)
        except UnicodeEncodeError:
            raise Error(f"{self._source!r}: invalid name of a contract; expected UTF-8") from None
        for line in self._contract.warnings:
            warnings.warn(line, stacklevel=3)
        self.id: str = self._contract.id
        """The name."""
        self.version: str = self._contract.version
        """The version."""
        self._quantities = self._contract.quantities
        self._equations = self._contract.equations
        self._classifiers = self._contract.classifiers

    def __repr__(self) -> str:
        return f"<contract {self.id} {self.version}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return Contract, (self._source,)

    @property
    def quantities(self) -> dict[str, dict[str, Any]]:
        """The unit, domain, documentation, default and cases of each quantity."""
        fields = ("unit", "domain", "doc", "default", "cases")
        return {name: dict(zip(fields, rest)) for name, *rest in self._quantities}

    @property
    def equations(self) -> dict[str, dict[str, str]]:
        """The unit and documentation of each equation."""
        return {name: {"unit": unit, "doc": doc} for name, unit, doc in self._equations}

    @property
    def classifiers(self) -> dict[str, list[str]]:
        """The variants of each classifier."""
        return dict(self._classifiers)

    def evaluate(self, **quantities: Any) -> Evaluated:
        """Evaluates all equations and classifiers, at one point or at each point of arrays of equal length.

        Raises `Error` if a value is missing, has another unit or is outside its domain. An enumeration takes the name of
        a case.

        >>> c = contract("roofline-model-v1")
        >>> at = c.evaluate(total_params=7e9, bits_per_weight=4, bandwidth=200, compute=5000)
        >>> at["throughput_ceiling"], at["bottleneck"]
        (57.14 token/s, 'Bandwidth')
        """
        known = {name for name, *_ in self._quantities}
        for name in quantities:
            if name not in known:
                raise Error(f"{self.id}: unknown quantity {name!r}; expected one of {', '.join(sorted(known))}")
        columns: list[bytes] = []
        rows: Optional[int] = None
        for name, unit, _, _, default, cases in self._quantities:
            value = quantities.get(name, default)
            if value is None:
                raise Error(f"{self.id}: missing value for {name}")
            column, length = _column(name, value, unit, cases)
            if length is not None and rows not in (None, length):
                raise Error(f"{name}: {length} values, but other columns have {rows}")
            rows = length if length is not None else rows
            columns.append(column)
        points = 1 if rows is None else rows
        count = len(self._equations) + len(self._classifiers)
        computed = _columns(self._contract.evaluate(columns, points), count, points)
        values: dict[str, Any] = {}
        for (name, unit, _), column in zip(self._equations, computed):
            values[name] = Quantity(column[0], unit) if rows is None else column
        for (name, variants), column in zip(self._classifiers, computed[len(self._equations) :]):
            values[name] = variants[int(column[0])] if rows is None else _variants(variants, column)
        return Evaluated(values, {name: unit for name, unit, _ in self._equations})


def contract(path_or_text: Union[str, os.PathLike[str]]) -> Contract:
    """Opens a contract: a file, a built-in name such as `roofline-model-v1`, or a text of several lines."""
    return Contract(path_or_text)


def _column(name: str, value: Any, unit: str, cases: list[str]) -> tuple[bytes, Optional[int]]:
    """The bytes of a column of doubles and its length; the length is None for a scalar, which applies to all points."""

    def number(item: Any) -> float:
        if isinstance(item, str) and item in cases:
            return float(cases.index(item))
        if isinstance(item, Quantity) and not _roofline.same_unit(item.unit or "1", unit):
            raise Error(f"{name} = {item!r}: wrong unit; expected {unit}")
        try:
            if isinstance(item, Complex) and not isinstance(item, Real):
                raise TypeError  # numpy would discard the imaginary part.
            return float(item)
        except (TypeError, ValueError, OverflowError):
            allowed = f"one of {', '.join(cases)}" if cases else "a number"
            raise Error(f"{name} = {item!r}: invalid value; expected {allowed}") from None

    if hasattr(value, "to_numpy"):
        value = value.to_numpy()
    if hasattr(value, "magnitude") and hasattr(value, "to"):
        if value.unitless and unit != "1":
            raise Error(f"{name} = {value}: missing unit; expected {unit}")  # pint treats a bit as dimensionless.
        try:
            value = value.to(_pint(unit, value._REGISTRY)).magnitude
        except TypeError as reason:
            raise Error(f"{name}: {reason}") from None
    dimensions = getattr(value, "ndim", 1)
    if dimensions > 1:
        raise Error(f"{name}: {dimensions} dimensions; expected a column with one")
    dtype = getattr(value, "dtype", None)
    # A copy would drop the mask of missing values.
    if dimensions == 1 and getattr(dtype, "kind", "") in tuple("fiub") and not hasattr(value, "mask") and not cases:
        return value.astype("float64").tobytes(), len(value)
    if dimensions == 1 and hasattr(value, "__len__") and not isinstance(value, (str, bytes, bytearray, Mapping, Set)):
        return array("d", (number(item) for item in value)).tobytes(), len(value)
    return array("d", [number(value)]).tobytes(), None


def _columns(computed: bytes, count: int, rows: int) -> list[Any]:
    """Splits the results into columns: numpy arrays, or standard arrays without numpy."""
    try:
        import numpy
    except ImportError:
        numbers = array("d")
        numbers.frombytes(computed)
        return [numbers[place * rows : (place + 1) * rows] for place in range(count)]
    return list(numpy.frombuffer(computed).reshape(count, rows))


def _variants(variants: list[str], column: Any) -> Any:
    """The variant at each position: a numpy array of strings, or a list without numpy."""
    try:
        import numpy
    except ImportError:
        return [variants[int(index)] for index in column]
    return numpy.array(variants, dtype=object)[column.astype(numpy.intp)]
