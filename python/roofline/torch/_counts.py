"""Operations and bytes of PyTorch functions, by the equations of the contract `operation-v1`.

All work of a module happens in the functions that it calls. A function is identified by its name, so `relu` counts like
`x.relu_()`. Unknown functions are undefined, never zero.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Optional

import torch

import roofline

_CONTRACT: Optional[roofline.Contract] = None


class Unknown(Exception):
    """The cost is unknown; the message states the reason."""


@dataclass(frozen=True)
class Count:
    """The cost of a call."""

    flops: float
    bytes: float
    dtype: Optional[torch.dtype] = None
    """The type of its arithmetic; None without arithmetic."""


def contract_count(dtype: Optional[torch.dtype] = None, **quantities: float) -> Count:
    """Evaluates the contract: FLOPs, and bytes of weights, inputs and outputs."""
    global _CONTRACT
    if _CONTRACT is None:
        _CONTRACT = roofline.contract("operation-v1")
    try:
        at = _CONTRACT.evaluate(**_ROOFS, **quantities)
    except roofline.Error as reason:
        raise Unknown(str(reason)) from None
    flops = float(at["flops"])
    return Count(flops, float(at["ideal_bytes"]), dtype if flops else None)


# Required by the contract, but FLOPs and bytes do not depend on them.
_ROOFS = {"bandwidth": 1.0, "compute": 1.0}


def tensors(values: Any) -> Iterator[torch.Tensor]:
    """The tensors in a value, including those in lists, tuples and dictionaries."""
    if isinstance(values, torch.Tensor):
        yield values
    elif isinstance(values, (list, tuple)):
        for item in values:
            yield from tensors(item)
    elif isinstance(values, Mapping):
        for item in values.values():
            yield from tensors(item)


def size(tensor: torch.Tensor) -> float:
    """The stored bytes of a tensor; broadcast dimensions count once."""
    if tensor.layout is not torch.strided:
        raise Unknown(f"unsupported tensor layout {tensor.layout}")
    stored = math.prod(length for length, step in zip(tensor.shape, tensor.stride()) if step or not length)
    return float(stored * tensor.element_size())


def sizes(values: Any) -> float:
    """The bytes of all tensors in a value, each once."""
    return sum(size(tensor) for tensor in {id(tensor): tensor for tensor in tensors(values)}.values())


def storage_address(tensor: torch.Tensor) -> Any:
    """The address of a tensor's storage."""
    stored: Any = getattr(tensor, "untyped_storage", None) or tensor.storage
    try:
        return stored().data_ptr()
    except (NotImplementedError, RuntimeError):
        return id(tensor)


def is_view(given: Any, out: Any) -> bool:
    """True if all outputs share the storage of the inputs."""
    stored = {storage_address(tensor) for tensor in tensors(given)}
    return all(storage_address(tensor) in stored for tensor in tensors(out))


def canonical(name: str) -> str:
    """The canonical name of a function: `add` for `add_` and `__radd__`."""
    in_place = name.endswith("_") and not name.endswith("__")
    return _CANONICAL.get(name, name[:-1] if in_place else name)


def count(name: str, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], out: Any) -> Optional[Count]:
    """The cost of a call; None for calls that touch no data, such as views or shapes."""
    known = canonical(name)
    if known == "setitem":
        return _setitem(args)
    if next(tensors(out), None) is None:
        return None
    given = (args, kwargs)
    if known in _COUNTERS:
        return _COUNTERS[known](_Call(function, args, kwargs, out))
    # In-place functions also return their input.
    if known not in _MODIFIES and is_view(given, out):
        return None
    if known in _GATHERS:
        rows = sizes(out)
        indices = sum(size(tensor) for tensor in tensors(given) if not tensor.is_floating_point() and tensor is not args[0])
        return contract_count(extra_bytes=2 * rows + indices)
    moved = sizes(given) + sizes(out)
    if known in _MOVES:
        return contract_count(extra_bytes=moved)
    if known in _CREATES:
        return contract_count(extra_bytes=sizes(out))
    for each, of, names in _ELEMENT_WISE:
        if known in names:
            numbers = next(tensors(given if of == "in" else out)).numel()
            return _element_wise(known, each, numbers, moved, given, out)
    raise Unknown(f"unknown function {name}")


class _Call:
    """A call with access to its arguments by name."""

    def __init__(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], out: Any) -> None:
        self.function, self.args, self.kwargs = function, args, kwargs
        self.out: torch.Tensor = next(tensors(out))

    def named(self, *names: str, **defaults: Any) -> list[Any]:
        """The arguments with these names, followed by those with defaults."""
        found = dict(zip((*names, *defaults), self.args))
        found.update(self.kwargs)
        missing = [name for name in names if name not in found]
        if missing:
            raise Unknown(f"missing argument {missing[0]}")
        return [*(found[name] for name in names), *(found.get(name, value) for name, value in defaults.items())]

    def bound(self) -> dict[str, Any]:
        """The arguments of a function with a Python signature."""
        at = inspect.signature(self.function).bind(*self.args, **self.kwargs)
        at.apply_defaults()
        return at.arguments


def _floating(values: Any) -> Optional[torch.dtype]:
    """The floating-point or complex type among these tensors; None for integers."""
    return next((tensor.dtype for tensor in tensors(values) if tensor.is_floating_point() or tensor.is_complex()), None)


def _element_wise(name: str, each: int, numbers: int, moved: float, given: Any, out: Any) -> Count:
    dtype = _floating(out) or _floating(given)
    if dtype is None:
        # Indices and masks need no floating-point operations.
        return contract_count(extra_bytes=moved)
    if dtype.is_complex:
        if name not in _COMPLEX:
            raise Unknown(f"unknown function {name} of complex numbers")
        each = _COMPLEX[name]
        dtype = torch.float32 if dtype is torch.complex64 else torch.float64
    return contract_count(dtype, other_flops=float(each * numbers), extra_bytes=moved)


def _setitem(args: tuple[Any, ...]) -> Count:
    """`tensor[index] = value`: the bytes written and read."""
    tensor, index, value = args
    written = tensor[index]
    return contract_count(extra_bytes=float(written.numel() * tensor.element_size()) + sizes(value))


def _product(
    rows: int, inner: int, columns: int, matrices: int, of: torch.Tensor, by: torch.Tensor, out: torch.Tensor, more: float = 0.0
) -> Count:
    """The product of `rows` vectors of length `inner` with `matrices` matrices of size `inner` by `columns`."""
    _require_real(of, by)
    each = float(by.element_size())
    return contract_count(
        # With autocast, the output has the type of the computation.
        out.dtype,
        tokens=rows,
        dense_params=inner * columns,
        bits_per_weight=8.0 * each,
        out_features=columns,
        activation_size=out.element_size(),
        # An operand that is multiplied with several matrices is read once.
        extra_bytes=size(of) + (matrices - 1) * inner * columns * each + more,
    )


def _require_real(*operands: torch.Tensor) -> None:
    """Rejects integer and complex operands, whose multiply-adds cost differently."""
    if not all(operand.is_floating_point() for operand in operands):
        raise Unknown(f"unsupported product of {' and '.join(str(operand.dtype) for operand in operands)}")


def _linear(call: _Call) -> Count:
    x, weight, bias = call.named("input", "weight", bias=None)
    # All leading dimensions count as tokens.
    columns, inner = (1, weight.shape[0]) if weight.dim() == 1 else weight.shape
    return _product(x.numel() // max(inner, 1), inner, columns, 1, x, weight, call.out, sizes(bias))


def _matmul(call: _Call) -> Count:
    a, b = tensors((call.args, call.kwargs))
    return _matrix_product(a, b, call.out)


def _matrix_product(a: torch.Tensor, b: torch.Tensor, out: torch.Tensor, more: float = 0.0) -> Count:
    columns = b.shape[-1] if b.dim() > 1 else 1
    matrices = math.prod(length for length, step in zip(b.shape[:-2], b.stride()) if step)
    return _product(out.numel() // max(columns, 1), a.shape[-1], columns, matrices, a, b, out, more)


def _addmm(call: _Call) -> Count:
    """`addmm`, `baddbmm`: a product plus a tensor."""
    added, a, b = tensors((call.args, call.kwargs))
    return _matrix_product(a, b, call.out, size(added))


def _einsum(call: _Call) -> Count:
    equation, operands = call.args[0], list(tensors(call.args[1:]))
    if not isinstance(equation, str) or len(operands) != 2:
        raise Unknown("unsupported einsum; expected an equation of two operands")
    left, _, right = equation.replace(" ", "").partition("->")
    first, _, second = left.partition(",")
    if "..." in equation:
        lead = {operand.dim() - len(letters.replace("...", "")) for operand, letters in zip(operands, (first, second))}
        if "->" not in equation or len(lead) != 1 or not first.count("...") == second.count("...") == right.count("...") == 1:
            raise Unknown("unsupported einsum; expected `...` in both operands and the output")
        # Letters that do not occur in equations.
        dots = "".join(map(chr, range(0x100, 0x100 + lead.pop())))
        first, second, right = (letters.replace("...", dots) for letters in (first, second, right))
    if "->" not in equation:
        right = "".join(sorted(letter for letter in set(first + second) if (first + second).count(letter) == 1))
    lengths = {**dict(zip(first, operands[0].shape)), **dict(zip(second, operands[1].shape))}
    if any(letter not in right and (letter in first) != (letter in second) for letter in lengths):
        raise Unknown("unsupported einsum; it sums over an index of a single operand")

    def length(letters: set[str]) -> int:
        return math.prod(lengths[letter] for letter in letters)

    inner = set(first) & set(second) - set(right)
    if not inner:
        # Without a sum: one product per output element.
        moved = sizes(operands) + size(call.out)
        return _element_wise("mul", 1, call.out.numel(), moved, operands, call.out)
    shared = set(first) & set(second) & set(right)
    rows, columns = length(set(first) - set(second)), length(set(second) - set(first))
    return _product(length(shared) * rows, length(inner), columns, length(shared), operands[0], operands[1], call.out)


def _convolution(call: _Call) -> Count:
    """`conv1d` to `conv3d`, also transposed."""
    transposed = "transpose" in call.function.__name__
    if transposed:
        x, weight, bias, stride, padding, extra, groups, dilation = call.named(
            "input", "weight", bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1
        )
    else:
        x, weight, bias, stride, padding, dilation, groups = call.named(
            "input", "weight", bias=None, stride=1, padding=0, dilation=1, groups=1
        )
        extra = 0
    kernel = tuple(weight.shape[2:])
    dimensions = len(kernel)

    def each(value: Any) -> tuple[int, ...]:
        values = tuple(value) if isinstance(value, (tuple, list)) else (value,)
        return values * dimensions if len(values) == 1 else values

    _require_real(x, weight)
    if padding == "valid":
        padding = 0
    elif padding == "same":
        spans = [step * (taps - 1) for step, taps in zip(each(dilation), kernel)]
        if any(span % 2 for span in spans):
            # Asymmetric padding, which the convolution equations do not support: count each position as a token instead.
            return contract_count(
                call.out.dtype,
                tokens=call.out.numel() // weight.shape[0],
                dense_params=weight.numel(),
                bits_per_weight=8.0 * weight.element_size(),
                extra_bytes=sizes((x, call.out, bias)),
            )
        padding = tuple(span // 2 for span in spans)
    channels = (weight.shape[0], weight.shape[1] * groups) if transposed else (weight.shape[1] * groups, weight.shape[0])
    quantities: dict[str, float] = {
        "batch": x.shape[0] if x.dim() == dimensions + 2 else 1,
        "in_channels": channels[0],
        "out_channels": channels[1],
        "groups": groups,
        "transposed": float(transposed),
        "bits_per_weight": 8.0 * weight.element_size(),
        "activation_size": x.element_size(),
        "extra_bytes": sizes(bias),
    }
    lengths: dict[str, tuple[int, ...]] = {
        "input": tuple(x.shape[-dimensions:]),
        "kernel": kernel,
        "stride": each(stride),
        "padding": each(padding),
        "dilation": each(dilation),
        "extra": each(extra),
    }
    for what, numbers in lengths.items():
        for axis, number in zip(("depth", "height", "width")[-dimensions:], numbers):
            quantities[f"{what}_{axis}"] = number
    return contract_count(call.out.dtype, **quantities)


def _attention(call: _Call) -> Count:
    # The private function of torch 1.13 has an additional argument.
    more = {"need_attn_weights": False} if call.function.__name__.startswith("_") else {}
    query, key, value, mask, *_, causal = call.named(
        "query", "key", "value", attn_mask=None, dropout_p=0.0, **more, is_causal=False
    )
    return _attention_count(query, key, value, bool(causal), sizes(mask))


def _attention_count(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, causal: bool, more: float = 0.0) -> Count:
    """Attention scores and weighted sums of values."""
    heads, kv_heads = (tensor.shape[-3] if tensor.dim() > 3 else 1 for tensor in (query, key))
    lead = query.shape[: -3 if query.dim() > 3 else -2]
    if query.dim() != key.dim() or lead != key.shape[: len(lead)] or heads % max(kv_heads, 1):
        raise Unknown(f"unsupported attention of queries {tuple(query.shape)} to keys {tuple(key.shape)}")
    tokens, context = query.shape[-2], key.shape[-2]
    return contract_count(
        query.dtype,
        batch=math.prod(lead),
        tokens=tokens,
        # PyTorch aligns a causal mask with the first token, so queries do not attend to surplus keys at the end.
        context=tokens if causal else context,
        window=context,
        causal=float(causal),
        prefill=1,
        heads=heads,
        kv_heads=kv_heads,
        key_length=query.shape[-1],
        value_length=value.shape[-1],
        activation_size=query.element_size(),
        cache_size=key.element_size(),
        extra_bytes=more,
    )


def _multi_head(call: _Call) -> Count:
    """`multi_head_attention_forward`: three products, attention and a product; only inputs and outputs are moved."""
    at = call.bound()
    query, key, value, heads = (at[name] for name in ("query", "key", "value", "num_heads"))
    if any(at[name] is not None for name in ("bias_k", "bias_v", "static_k", "static_v")) or at["add_zero_attn"]:
        raise Unknown("unsupported attention with additional or static keys")
    wide, tokens, context = query.shape[-1], query.shape[0], key.shape[0]
    batch = query.shape[1] if query.dim() == 3 else 1
    mixed = contract_count(
        query.dtype,
        batch=batch,
        tokens=tokens,
        context=context,
        window=context,
        causal=0,
        prefill=1,
        heads=heads,
        kv_heads=heads,
        key_length=wide // heads,
        value_length=wide // heads,
    )
    dense = [(tokens, wide), (context, key.shape[-1]), (context, value.shape[-1]), (tokens, wide)]
    products = [contract_count(tokens=batch * rows, dense_params=inner * wide).flops for rows, inner in dense]
    flops = mixed.flops + sum(products)
    return contract_count(query.dtype, other_flops=flops, extra_bytes=sizes(at) + size(call.out))


def _pool(call: _Call) -> Count:
    x, kernel = call.named("input", "kernel_size")
    dimensions = int(call.function.__name__.partition("_pool")[2][0])
    taps = math.prod(kernel) if isinstance(kernel, (tuple, list)) else kernel**dimensions
    return _reduction(call, taps * call.out.numel())


def _adaptive_pool(call: _Call) -> Count:
    return _reduction(call, call.named("input")[0].numel())


def _reduction(call: _Call, work: int) -> Count:
    x = call.named("input")[0]
    return contract_count(x.dtype, other_flops=float(work), extra_bytes=size(x) + size(call.out))


def _embedding(call: _Call) -> Count:
    indices, weight, _, max_norm = call.named("input", "weight", padding_idx=None, max_norm=None)
    if max_norm is not None:
        raise Unknown("unsupported embedding with max_norm")
    rows = call.out.numel() * weight.element_size()
    return contract_count(extra_bytes=float(rows) + size(call.out) + size(indices))


def _dropout(call: _Call) -> Optional[Count]:
    """Free in eval mode; otherwise the cost of random numbers is unknown."""
    if is_view((call.args, call.kwargs), call.out):
        return None
    raise Unknown("unknown cost of random numbers")


def _batch_norm(call: _Call) -> Count:
    """A multiplication and an addition per element; in training mode, the cost of a layer norm."""
    x, training = call.named("input", running_mean=None, running_var=None, weight=None, bias=None, training=False)[::5]
    moved = sizes((call.args, call.kwargs)) + size(call.out)
    return _element_wise("batch_norm", 7 if training else 2, x.numel(), moved, x, call.out)


_CANONICAL = {
    **{f"__{kind}{name}__": name for name in ("add", "sub", "mul", "pow", "and", "or", "xor") for kind in ("", "r", "i")},
    **{f"__{kind}{name}__": "div" for name in ("div", "truediv", "floordiv", "mod") for kind in ("", "r", "i")},
    **{f"__{name}__": name for name in ("eq", "ne", "lt", "le", "gt", "ge", "neg", "abs", "invert", "getitem", "setitem")},
    "rsub": "sub", "true_divide": "div", "divide": "div", "multiply": "mul", "subtract": "sub", "negative": "neg",
    "concat": "cat", "concatenate": "cat", "relu6": "relu", "__matmul__": "matmul", "_scaled_dot_product_attention": "scaled_dot_product_attention",
    "log_sigmoid": "logsigmoid", "_threshold": "threshold",
}  # fmt: skip
"""Canonical names of functions."""

_GATHERS = {"getitem", "index_select", "gather", "take", "take_along_dim", "masked_select"}
"""Functions that gather elements at given indices."""
_MOVES = {
    "cat", "stack", "hstack", "vstack", "clone", "contiguous", "reshape", "flatten", "to", "float", "double", "half", "bfloat16", "type",
    "type_as", "int", "long", "bool", "pad", "constant_pad_nd", "repeat", "repeat_interleave", "tile", "flip", "roll", "tril", "triu", "copy",
    "permute", "transpose", "expand", "unfold", "pixel_shuffle", "pixel_unshuffle", "channel_shuffle", "split", "chunk", "cpu", "cuda",
    "scatter", "index_copy", "index_fill", "masked_scatter", "where", "masked_fill", "fill", "zero", "diag", "diag_embed", "movedim",
}  # fmt: skip
"""Functions that only move data."""
_CREATES = {"zeros", "ones", "full", "empty", "arange", "linspace", "eye", "zeros_like", "ones_like", "full_like", "empty_like",
         "new_zeros", "new_ones", "new_full", "new_empty", "tensor", "as_tensor", "scalar_tensor"}  # fmt: skip
"""Functions that create tensors."""
_ELEMENT_WISE: tuple[tuple[int, str, set[str]], ...] = (
    (1, "out", {
        "add", "sub", "mul", "div", "neg", "abs", "pow", "square", "sqrt", "rsqrt", "reciprocal", "exp", "exp2", "expm1", "log", "log2",
        "log10", "log1p", "sin", "cos", "tan", "tanh", "atan", "erf", "sigmoid", "relu", "gelu", "silu", "elu", "celu", "selu", "leaky_relu",
        "hardtanh", "hardswish", "hardsigmoid", "mish", "softplus", "softsign", "tanhshrink", "logsigmoid", "prelu", "threshold", "clamp",
        "clamp_min", "clamp_max", "clip", "minimum", "maximum", "floor", "ceil", "round", "trunc", "frac", "sign", "remainder", "fmod",
        "floor_divide", "eq", "ne", "lt", "le", "gt", "ge", "and", "or", "xor", "invert", "logical_and", "logical_or", "logical_not",
        "isnan", "isinf", "isfinite", "outer", "glu", "nan_to_num", "polar", "softshrink", "hardshrink",
    }),
    (2, "out", {"addcmul", "addcdiv", "lerp"}),
    (1, "in", {"sum", "mean", "max", "min", "amax", "amin", "argmax", "argmin", "prod", "cumsum", "cumprod", "any", "all", "count_nonzero",
               "scatter_add", "index_add"}),
    (2, "in", {"norm", "vector_norm", "linalg_vector_norm", "linalg_norm"}),
    (4, "in", {"var", "std", "var_mean", "std_mean", "logsumexp", "rms_norm", "normalize"}),
    (5, "in", {"softmax", "log_softmax", "softmin"}),
    (7, "in", {"layer_norm", "group_norm", "instance_norm"}),
)  # fmt: skip
"""Operations per output or input element: one for element-wise functions, otherwise those of the formula."""
_COMPLEX = {"add": 2, "sub": 2, "mul": 6, "polar": 4}
"""Operations per complex element."""


_MODIFIES = {"copy", "fill", "zero", "masked_fill", "masked_scatter", "scatter", "index_copy", "index_fill"}.union(
    *(names for _, _, names in _ELEMENT_WISE)
)
"""Functions that may modify and return their input."""


def _spread(names: Iterable[str], counter: Callable[[_Call], Optional[Count]]) -> dict[str, Callable[[_Call], Optional[Count]]]:
    return dict.fromkeys(names, counter)


_COUNTERS: dict[str, Callable[[_Call], Optional[Count]]] = {
    **_spread(["linear"], _linear),
    **_spread(["matmul", "mm", "bmm", "mv", "dot"], _matmul),
    **_spread(["addmm", "baddbmm", "addmv"], _addmm),
    **_spread(["einsum"], _einsum),
    **_spread((f"conv{kind}{d}d" for kind in ("", "_transpose") for d in (1, 2, 3)), _convolution),
    **_spread(["scaled_dot_product_attention"], _attention),
    **_spread(["multi_head_attention_forward"], _multi_head),
    **_spread((f"{kind}_pool{d}d" for kind in ("max", "avg") for d in (1, 2, 3)), _pool),
    **_spread((f"{kind}max_pool{d}d{more}" for kind, more in (("_", ""), ("", "_with_indices")) for d in (1, 2, 3)), _pool),
    **_spread((f"adaptive_{kind}_pool{d}d" for kind in ("max", "avg") for d in (1, 2, 3)), _adaptive_pool),
    **_spread((f"_adaptive_max_pool{d}d" for d in (1, 2, 3)), _adaptive_pool),
    **_spread(["embedding"], _embedding),
    **_spread(["dropout", "dropout1d", "dropout2d", "dropout3d", "alpha_dropout", "feature_alpha_dropout"], _dropout),
    **_spread(["batch_norm"], _batch_norm),
}
"""Functions whose cost depends on their arguments."""
