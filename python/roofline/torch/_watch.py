"""Records the time and cost of each layer, and of each function between layers, while a model runs.

Modules are intercepted in `Module.__call__`, because some versions of torch hide keyword arguments from hooks, and none
calls hooks if a module raises. Functions are intercepted by a torch function mode, which sees every call but no nested
calls, so that nothing counts twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any, Optional, Union
from unittest import mock

import torch
from torch import nn
from torch.overrides import TorchFunctionMode

from roofline.torch._counts import Count, Unknown, count, contract_count, is_view, canonical, sizes

Cost = Union[Count, str]
"""The cost of a call, or the reason that it is unknown."""


@dataclass
class Pass:
    """The totals of a layer in one pass through the model."""

    calls: int = 0
    flops: float = 0.0
    bytes: float = 0.0
    seconds: float = 0.0


@dataclass
class Record:
    """A layer, or a function called between layers."""

    name: str
    kind: str
    passes: list[Pass] = field(default_factory=list)
    """The measured passes that call it."""
    dtype: Optional[torch.dtype] = None
    """The type of its arithmetic."""
    undefined: Optional[str] = None
    """The reason that its cost is unknown."""


class Watch(TorchFunctionMode):
    """Context manager that records the calls of a model."""

    def __init__(self, model: nn.Module, clock: Callable[[], float]) -> None:
        super().__init__()  # type: ignore[no-untyped-call, unused-ignore]
        self.records: dict[tuple[str, str], Record] = {}
        """Layers by name and kind, in the order of their first call."""
        self._clock = clock
        self._names = {module: name for name, module in model.named_modules()}
        self._layers = {module for module in self._names if _is_layer(module, model)}
        self._path: list[str] = []
        """The names of the running modules, innermost last."""
        self._in_layer = False
        self._functions: list[Cost] = []
        """The costs of functions in the running layer."""
        self._known: dict[Any, Optional[Cost]] = {}
        """Cached costs by signature, which ignores the contents of tensors."""
        self._pass: dict[tuple[str, str], Pass] = {}
        self._watching = 0.0
        self._counting = 0.0
        """The part of the overhead inside the running layer."""
        self._patched = ExitStack()
        self._depth = 0

    def __enter__(self) -> Watch:
        called = nn.Module.__call__

        def call(module: nn.Module, *args: Any, **kwargs: Any) -> Any:
            return self._called(called, module, args, kwargs)

        self._patched.enter_context(mock.patch.object(nn.Module, "__call__", call))
        super().__enter__()  # type: ignore[no-untyped-call, unused-ignore]
        self._depth = _modes()
        return self

    def __exit__(self, *raised: Any) -> None:
        super().__exit__(*raised)  # type: ignore[no-untyped-call, unused-ignore]
        self._patched.close()

    @contextmanager
    def _unwatched(self) -> Iterator[None]:
        """Disables the mode, unless the model has its own modes."""
        if _modes() != self._depth:
            yield
            return
        super().__exit__(None, None, None)  # type: ignore[no-untyped-call, unused-ignore]
        try:
            yield
        finally:
            super().__enter__()  # type: ignore[no-untyped-call, unused-ignore]

    def end_pass(self, measured: bool) -> float:
        """Ends a pass, records it if it was measured, and returns the profiling overhead in seconds."""
        if measured:
            for key, cost in self._pass.items():
                self.records[key].passes.append(cost)
        self._pass = {}
        watching, self._watching = self._watching, 0.0
        return watching

    def _called(self, called: Callable[..., Any], module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        name = self._names.get(module)
        if name is None or self._in_layer:
            return called(module, *args, **kwargs)
        if module in self._layers:
            return self._layer(called, module, name, args, kwargs)
        self._path.append(name)
        try:
            return called(module, *args, **kwargs)
        finally:
            self._path.pop()

    def _layer(self, called: Callable[..., Any], module: nn.Module, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        entered = self._clock()
        seconds = 0.0
        self._in_layer, self._functions, self._counting = True, [], 0.0
        try:
            with self._unwatched():
                # A module may have changing state, such as a growing cache.
                key = (module, _signature((args, kwargs, vars(module))))
                cost = self._known.get(key)
                if cost is not None:
                    start = self._clock()
                    out = called(module, *args, **kwargs)
                    seconds = self._clock() - start
            if cost is None:
                start = self._clock()
                out = called(module, *args, **kwargs)
                seconds = self._clock() - start - self._counting
                with self._unwatched():
                    cost = self._known[key] = _layer_cost(module, self._functions, (args, kwargs), out)
            self._record(name, type(module).__name__, cost, seconds)
            return out
        finally:
            self._in_layer = False
            self._watching += self._clock() - entered - seconds

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        name = getattr(function, "__name__", str(function))
        if name in _IGNORED or not (self._path or self._in_layer):
            return function(*args, **kwargs)
        start = self._clock()
        out = function(*args, **kwargs)
        done = self._clock()
        # The shape of the output may depend on the data, for example if a mask selects elements.
        key = (name, _signature((args, kwargs)), _signature(out))
        if key not in self._known:
            self._known[key] = _function_cost(name, function, args, kwargs, out)
        cost = self._known[key]
        if self._in_layer:
            if cost is not None:
                self._functions.append(cost)
            self._counting += self._clock() - done
            return out
        if cost is not None:
            kind = canonical(name)
            self._record(f"{self._path[-1]}.{kind}".lstrip("."), kind, cost, done - start)
        self._watching += self._clock() - done
        return out

    def _record(self, name: str, kind: str, cost: Cost, seconds: float) -> None:
        record = self.records.setdefault((name, kind), Record(name, kind))
        this = self._pass.setdefault((name, kind), Pass())
        this.calls += 1
        this.seconds += seconds
        if isinstance(cost, str):
            record.undefined = record.undefined or cost
        else:
            this.flops += cost.flops
            this.bytes += cost.bytes
            record.dtype = record.dtype or cost.dtype


_IGNORED = {
    "__get__", "size", "dim", "stride", "numel", "is_floating_point", "is_complex", "is_contiguous", "element_size", "data_ptr",
    "_record_function_enter", "_record_function_enter_new", "_record_function_exit",
}  # fmt: skip
"""Attribute queries and profiler marks, whose time is negligible."""


def _modes() -> int:
    """Number of active modes."""
    modes: int = torch._C._len_torch_function_stack()  # type: ignore[attr-defined, unused-ignore]
    return modes


def _is_layer(module: nn.Module, model: nn.Module) -> bool:
    """True if a module is a single layer: it has no submodules, or they cannot be intercepted."""
    compiled: Any = torch.jit
    if isinstance(module, (nn.MultiheadAttention, compiled.ScriptModule)):
        return True
    # A model that consists only of functions is listed function by function.
    own = module is model and not type(module).__module__.startswith("torch.nn.")
    return not own and next(module.children(), None) is None


def _function_cost(name: str, function: Any, args: Any, kwargs: Any, out: Any) -> Optional[Cost]:
    try:
        return count(name, function, args, kwargs, out)
    except Unknown as reason:
        return str(reason)
    except (AttributeError, IndexError, KeyError, RuntimeError, TypeError, ValueError):
        return f"unsupported arguments of function {name}"


def _layer_cost(module: nn.Module, functions: list[Cost], given: Any, out: Any) -> Cost:
    """The cost of a layer: all arithmetic of its functions, and the bytes of its inputs, outputs and parameters."""
    unknown = next((cost for cost in functions if isinstance(cost, str)), None)
    if unknown is not None:
        return unknown
    counts = [cost for cost in functions if isinstance(cost, Count)]
    own = [*module.parameters(), *module.buffers()]
    if not counts:
        return Count(0.0, 0.0) if is_view((given, own), out) else f"{type(module).__name__} calls no function that torch exposes"
    if len(counts) == 1:
        return counts[0]
    largest = max(counts, key=lambda cost: cost.flops)
    # The functions of a layer may read only a part of its parameters.
    try:
        moved = min(sizes((given, own, out)), sum(cost.bytes for cost in counts))
        return contract_count(largest.dtype, other_flops=sum(cost.flops for cost in counts), extra_bytes=moved)
    except Unknown as reason:
        return str(reason)


def _signature(values: Any) -> Any:
    """A key for calls of equal cost: types, shapes and strides of tensors, and all other values."""
    if isinstance(values, torch.Tensor):
        strided = values.layout is torch.strided
        return (values.dtype, tuple(values.shape), values.stride() if strided else values.layout)
    if isinstance(values, (list, tuple)):
        return (type(values), *map(_signature, values))
    if isinstance(values, dict):
        return tuple((name, _signature(value)) for name, value in values.items())
    if isinstance(values, slice):
        return (slice, values.start, values.stop, values.step)
    try:
        hash(values)
    except TypeError:
        return id(values)
    return (type(values), values)
