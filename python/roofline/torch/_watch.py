"""Watches a model run: the time of each layer and of each function between layers, and what they compute and move.

Modules are watched where all their calls pass, in `Module.__call__`, because not every torch shows keyword arguments to
hooks, and none calls them when a module raises. Functions are watched by a mode of torch, which sees each however it is
called, and not what it calls in turn, so that nothing counts twice.
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

from roofline.torch._counts import Count, Unknown, count, counted, is_view, plain, sizes

Did = Union[Count, str]
"""What a call did, or why nobody knows."""


@dataclass
class Pass:
    """What a layer did in one pass through the model."""

    calls: int = 0
    flops: float = 0.0
    bytes: float = 0.0
    seconds: float = 0.0


@dataclass
class Watched:
    """A layer, or a function that is called between layers."""

    name: str
    kind: str
    passes: list[Pass] = field(default_factory=list)
    """The measured passes in which it was called."""
    dtype: Optional[torch.dtype] = None
    """The type that it computes in."""
    undefined: Optional[str] = None
    """Why nobody knows what it did."""


class Watch(TorchFunctionMode):
    """Watches a model inside of `with`."""

    def __init__(self, model: nn.Module, clock: Callable[[], float]) -> None:
        super().__init__()  # type: ignore[no-untyped-call, unused-ignore]
        self.watched: dict[tuple[str, str], Watched] = {}
        """By name and kind, in the order of their first call."""
        self._clock = clock
        self._names = {module: name for name, module in model.named_modules()}
        self._layers = {module for module in self._names if _is_layer(module, model)}
        self._path: list[str] = []
        """The names of the modules that run, the innermost last."""
        self._in_layer = False
        self._functions: list[Did] = []
        """What the functions of the layer that runs did."""
        self._known: dict[Any, Optional[Did]] = {}
        """Calls with the same arguments, but for the numbers in them, do the same."""
        self._pass: dict[tuple[str, str], Pass] = {}
        self._watching = 0.0
        self._counting = 0.0
        """The part of it that is inside the layer that runs."""
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
        """Without the mode, as the model would run by itself; with it where the model has modes of its own."""
        if _modes() != self._depth:
            yield
            return
        super().__exit__(None, None, None)  # type: ignore[no-untyped-call, unused-ignore]
        try:
            yield
        finally:
            super().__enter__()  # type: ignore[no-untyped-call, unused-ignore]

    def end_pass(self, measured: bool) -> float:
        """A pass is over, and counts if it was measured. Watching it took the seconds that come back."""
        if measured:
            for key, did in self._pass.items():
                self.watched[key].passes.append(did)
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
                # A module may keep something, such as a cache that grows.
                key = (module, _signature((args, kwargs, vars(module))))
                did = self._known.get(key)
                if did is not None:
                    start = self._clock()
                    out = called(module, *args, **kwargs)
                    seconds = self._clock() - start
            if did is None:
                start = self._clock()
                out = called(module, *args, **kwargs)
                seconds = self._clock() - start - self._counting
                with self._unwatched():
                    did = self._known[key] = _together(module, self._functions, (args, kwargs), out)
            self._did(name, type(module).__name__, did, seconds)
            return out
        finally:
            self._in_layer = False
            self._watching += self._clock() - entered - seconds

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        name = getattr(function, "__name__", str(function))
        if name in _ASKED or not (self._path or self._in_layer):
            return function(*args, **kwargs)
        start = self._clock()
        out = function(*args, **kwargs)
        done = self._clock()
        # What comes out may depend on the numbers, such as those that a mask selects.
        key = (name, _signature((args, kwargs)), _signature(out))
        if key not in self._known:
            self._known[key] = _counted(name, function, args, kwargs, out)
        did = self._known[key]
        if self._in_layer:
            if did is not None:
                self._functions.append(did)
            self._counting += self._clock() - done
            return out
        if did is not None:
            kind = plain(name)
            self._did(f"{self._path[-1]}.{kind}".lstrip("."), kind, did, done - start)
        self._watching += self._clock() - done
        return out

    def _did(self, name: str, kind: str, did: Did, seconds: float) -> None:
        watched = self.watched.setdefault((name, kind), Watched(name, kind))
        this = self._pass.setdefault((name, kind), Pass())
        this.calls += 1
        this.seconds += seconds
        if isinstance(did, str):
            watched.undefined = watched.undefined or did
        else:
            this.flops += did.flops
            this.bytes += did.bytes
            watched.dtype = watched.dtype or did.dtype


_ASKED = {
    "__get__", "size", "dim", "stride", "numel", "is_floating_point", "is_complex", "is_contiguous", "element_size", "data_ptr",
    "_record_function_enter", "_record_function_enter_new", "_record_function_exit",
}  # fmt: skip
"""Questions to a tensor and marks for a profiler, which take no time worth measuring."""


def _modes() -> int:
    """How many modes are in force."""
    modes: int = torch._C._len_torch_function_stack()  # type: ignore[attr-defined, unused-ignore]
    return modes


def _is_layer(module: nn.Module, model: nn.Module) -> bool:
    """Whether a module is looked at as a whole: it has none inside, or its inside can't be seen."""
    compiled: Any = torch.jit
    if isinstance(module, (nn.MultiheadAttention, compiled.ScriptModule)):
        return True
    # A model of functions alone is told function by function.
    own = module is model and not type(module).__module__.startswith("torch.nn.")
    return not own and next(module.children(), None) is None


def _counted(name: str, function: Any, args: Any, kwargs: Any, out: Any) -> Optional[Did]:
    try:
        return count(name, function, args, kwargs, out)
    except Unknown as reason:
        return str(reason)
    except (AttributeError, IndexError, KeyError, RuntimeError, TypeError, ValueError):
        return f"the function {name} is not known with these arguments"


def _together(module: nn.Module, functions: list[Did], given: Any, out: Any) -> Did:
    """What the functions of a layer do together: all that they compute, with only what goes in and comes out moved."""
    unknown = next((one for one in functions if isinstance(one, str)), None)
    if unknown is not None:
        return unknown
    counts = [one for one in functions if isinstance(one, Count)]
    own = [*module.parameters(), *module.buffers()]
    if not counts:
        return Count(0.0, 0.0) if is_view((given, own), out) else f"{type(module).__name__} calls no function that torch shows"
    if len(counts) == 1:
        return counts[0]
    most = max(counts, key=lambda one: one.flops)
    # Of a table that a layer keeps, its functions may take a part.
    try:
        moved = min(sizes((given, own, out)), sum(one.bytes for one in counts))
        return counted(most.dtype, other_flops=sum(one.flops for one in counts), extra_bytes=moved)
    except Unknown as reason:
        return str(reason)


def _signature(values: Any) -> Any:
    """What the same counts follow from: tensors but for their numbers, and everything else."""
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
