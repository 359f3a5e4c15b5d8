"""What functions of PyTorch compute and move, by the equations of the contract `operation-v1`.

Modules call functions, so these are all there is to count. A function is known by its name: `relu` is the same work as
`x.relu_()`. What is not here is undefined; nothing is taken for zero because nobody knows it.
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
    """Nobody knows what this computes; the text says why."""


@dataclass(frozen=True)
class Count:
    """What one call computes and moves."""

    flops: float
    bytes: float
    dtype: Optional[torch.dtype] = None
    """The type that it computes in; None where it computes nothing."""


def counted(dtype: Optional[torch.dtype] = None, **quantities: float) -> Count:
    """An operation by the equations of the contract: flops, and the bytes of weights, inputs and outputs."""
    global _CONTRACT
    if _CONTRACT is None:
        _CONTRACT = roofline.contract("operation-v1")
    try:
        at = _CONTRACT.evaluate(**_ROOFS, **quantities)
    except roofline.Error as reason:
        raise Unknown(str(reason)) from None
    flops = float(at["flops"])
    return Count(flops, float(at["estimated_bytes"]), dtype if flops else None)


# Amounts do not depend on the roofs, which the contract wants all the same.
_ROOFS = {"bandwidth": 1.0, "compute": 1.0}


def tensors(values: Any) -> Iterator[torch.Tensor]:
    """The tensors among these values, those in lists, tuples and dictionaries too."""
    if isinstance(values, torch.Tensor):
        yield values
    elif isinstance(values, (list, tuple)):
        for one in values:
            yield from tensors(one)
    elif isinstance(values, Mapping):
        for one in values.values():
            yield from tensors(one)


def size(tensor: torch.Tensor) -> float:
    """The bytes of a tensor; what is repeated without being stored counts once."""
    if tensor.layout is not torch.strided:
        raise Unknown(f"tensors of the layout {tensor.layout} are not known")
    stored = math.prod(length for length, step in zip(tensor.shape, tensor.stride()) if step or not length)
    return float(stored * tensor.element_size())


def sizes(values: Any) -> float:
    """The bytes of all tensors among these values, each tensor once."""
    return sum(size(one) for one in {id(one): one for one in tensors(values)}.values())


def place(tensor: torch.Tensor) -> Any:
    """Where the numbers of a tensor are stored."""
    stored: Any = getattr(tensor, "untyped_storage", None) or tensor.storage
    try:
        return stored().data_ptr()
    except (NotImplementedError, RuntimeError):
        return id(tensor)


def is_view(given: Any, out: Any) -> bool:
    """Whether all that comes out is stored in what went in."""
    stored = {place(one) for one in tensors(given)}
    return all(place(one) in stored for one in tensors(out))


def plain(name: str) -> str:
    """The name that stands for all spellings of a function: `add` for `add_` and `__radd__`."""
    in_place = name.endswith("_") and not name.endswith("__")
    return _PLAIN.get(name, name[:-1] if in_place else name)


def count(name: str, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], out: Any) -> Optional[Count]:
    """What this call of a function did; None for one that touches no numbers, such as a view or a shape."""
    known = plain(name)
    if known == "setitem":
        return _written(args)
    if next(tensors(out), None) is None:
        return None
    given = (args, kwargs)
    if known in _COUNTERS:
        return _COUNTERS[known](_Call(function, args, kwargs, out))
    # A change in place gives what it was given, too.
    if known not in _CHANGED and is_view(given, out):
        return None
    if known in _TAKEN:
        rows = sizes(out)
        indices = sum(size(one) for one in tensors(given) if not one.is_floating_point() and one is not args[0])
        return counted(extra_bytes=2 * rows + indices)
    moved = sizes(given) + sizes(out)
    if known in _MOVED:
        return counted(extra_bytes=moved)
    if known in _MADE:
        return counted(extra_bytes=sizes(out))
    for each, of, names in _EACH:
        if known in names:
            numbers = next(tensors(given if of == "in" else out)).numel()
            return _element_wise(known, each, numbers, moved, given, out)
    raise Unknown(f"the function {name} is not known")


class _Call:
    """A call with its arguments by name."""

    def __init__(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], out: Any) -> None:
        self.function, self.args, self.kwargs = function, args, kwargs
        self.out: torch.Tensor = next(tensors(out))

    def named(self, *names: str, **defaults: Any) -> list[Any]:
        """The arguments in the order of their names; those with defaults come last."""
        found = dict(zip((*names, *defaults), self.args))
        found.update(self.kwargs)
        missing = [name for name in names if name not in found]
        if missing:
            raise Unknown(f"{missing[0]} is not given")
        return [*(found[name] for name in names), *(found.get(name, value) for name, value in defaults.items())]

    def bound(self) -> dict[str, Any]:
        """The arguments of a function that is written in Python."""
        at = inspect.signature(self.function).bind(*self.args, **self.kwargs)
        at.apply_defaults()
        return at.arguments


def _floating(values: Any) -> Optional[torch.dtype]:
    """The type of the numbers that are computed with; None where they are whole."""
    return next((one.dtype for one in tensors(values) if one.is_floating_point() or one.is_complex()), None)


def _element_wise(name: str, each: int, numbers: int, moved: float, given: Any, out: Any) -> Count:
    dtype = _floating(out) or _floating(given)
    if dtype is None:
        # Positions and masks: no floating-point operation.
        return counted(extra_bytes=moved)
    if dtype.is_complex:
        if name not in _COMPLEX:
            raise Unknown(f"the function {name} of complex numbers is not known")
        each = _COMPLEX[name]
        dtype = torch.float32 if dtype is torch.complex64 else torch.float64
    return counted(dtype, other_flops=float(each * numbers), extra_bytes=moved)


def _written(args: tuple[Any, ...]) -> Count:
    """`tensor[index] = value`: what is written, and what it is read from."""
    tensor, index, value = args
    written = tensor[index]
    return counted(extra_bytes=float(written.numel() * tensor.element_size()) + sizes(value))


def _product(
    rows: int, inner: int, columns: int, matrices: int, of: torch.Tensor, by: torch.Tensor, out: torch.Tensor, more: float = 0.0
) -> Count:
    """`rows` vectors of `inner` numbers times matrices of `inner` by `columns`, all matrices together."""
    _real(of, by)
    each = float(by.element_size())
    return counted(
        # Where torch chooses the type itself, this is the one that it chose.
        out.dtype,
        tokens=rows,
        dense_params=inner * columns,
        bits_per_weight=8.0 * each,
        out_features=columns,
        activation_size=out.element_size(),
        # What is multiplied with several matrices is read once.
        extra_bytes=size(of) + (matrices - 1) * inner * columns * each + more,
    )


def _real(*operands: torch.Tensor) -> None:
    """Multiply-adds of whole or complex numbers are other work."""
    if not all(one.is_floating_point() for one in operands):
        raise Unknown(f"products of {' and '.join(str(one.dtype) for one in operands)} are not known")


def _linear(call: _Call) -> Count:
    x, weight, bias = call.named("input", "weight", bias=None)
    # Every leading dimension is a token to the weights.
    columns, inner = (1, weight.shape[0]) if weight.dim() == 1 else weight.shape
    return _product(x.numel() // max(inner, 1), inner, columns, 1, x, weight, call.out, sizes(bias))


def _matmul(call: _Call) -> Count:
    a, b = tensors((call.args, call.kwargs))
    return _multiplied(a, b, call.out)


def _multiplied(a: torch.Tensor, b: torch.Tensor, out: torch.Tensor, more: float = 0.0) -> Count:
    columns = b.shape[-1] if b.dim() > 1 else 1
    matrices = math.prod(length for length, step in zip(b.shape[:-2], b.stride()) if step)
    return _product(out.numel() // max(columns, 1), a.shape[-1], columns, matrices, a, b, out, more)


def _added(call: _Call) -> Count:
    """`addmm`, `baddbmm`: a product, and a tensor that is added to it."""
    added, a, b = tensors((call.args, call.kwargs))
    return _multiplied(a, b, call.out, size(added))


def _einsum(call: _Call) -> Count:
    equation, operands = call.args[0], list(tensors(call.args[1:]))
    if not isinstance(equation, str) or len(operands) != 2:
        raise Unknown("einsum of other than two operands with letters is not known")
    left, _, right = equation.replace(" ", "").partition("->")
    first, _, second = left.partition(",")
    if "..." in equation:
        lead = {one.dim() - len(letters.replace("...", "")) for one, letters in zip(operands, (first, second))}
        if "->" not in equation or len(lead) != 1 or not first.count("...") == second.count("...") == right.count("...") == 1:
            raise Unknown("einsum of which only one operand has dots is not known")
        # Letters that nobody writes.
        dots = "".join(map(chr, range(0x100, 0x100 + lead.pop())))
        first, second, right = (letters.replace("...", dots) for letters in (first, second, right))
    if "->" not in equation:
        right = "".join(sorted(letter for letter in set(first + second) if (first + second).count(letter) == 1))
    lengths = {**dict(zip(first, operands[0].shape)), **dict(zip(second, operands[1].shape))}
    if any(letter not in right and (letter in first) != (letter in second) for letter in lengths):
        raise Unknown("einsum that sums one operand alone is not known")

    def of(letters: set[str]) -> int:
        return math.prod(lengths[letter] for letter in letters)

    inner = set(first) & set(second) - set(right)
    if not inner:
        # No sum: one product for each number that comes out.
        moved = sizes(operands) + size(call.out)
        return _element_wise("mul", 1, call.out.numel(), moved, operands, call.out)
    shared = set(first) & set(second) & set(right)
    rows, columns = of(set(first) - set(second)), of(set(second) - set(first))
    return _product(of(shared) * rows, of(inner), columns, of(shared), operands[0], operands[1], call.out)


def _convolution(call: _Call) -> Count:
    """`conv1d` to `conv3d`, and transposed."""
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
        all_of_it = tuple(value) if isinstance(value, (tuple, list)) else (value,)
        return all_of_it * dimensions if len(all_of_it) == 1 else all_of_it

    _real(x, weight)
    if padding == "valid":
        padding = 0
    elif padding == "same":
        spans = [step * (taps - 1) for step, taps in zip(each(dilation), kernel)]
        if any(span % 2 for span in spans):
            # One zero more at an end than at the other, which the equations of convolutions don't have: each position is
            # a token to the kernels.
            return counted(
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
    return counted(call.out.dtype, **quantities)


def _attention(call: _Call) -> Count:
    # The function of torch 1.13, before it was public, has one argument more.
    more = {"need_attn_weights": False} if call.function.__name__.startswith("_") else {}
    query, key, value, mask, *_, causal = call.named(
        "query", "key", "value", attn_mask=None, dropout_p=0.0, **more, is_causal=False
    )
    return _mixed(query, key, value, bool(causal), sizes(mask))


def _mixed(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, causal: bool, more: float = 0.0) -> Count:
    """Scores of queries against keys, and the sums of values that they weigh."""
    heads, kv_heads = (one.shape[-3] if one.dim() > 3 else 1 for one in (query, key))
    lead = query.shape[: -3 if query.dim() > 3 else -2]
    if query.dim() != key.dim() or lead != key.shape[: len(lead)] or heads % max(kv_heads, 1):
        raise Unknown(f"attention of queries {tuple(query.shape)} to keys {tuple(key.shape)} is not known")
    tokens, context = query.shape[-2], key.shape[-2]
    return counted(
        query.dtype,
        batch=math.prod(lead),
        tokens=tokens,
        # PyTorch lines a causal mask up with the first token, so that of more keys than queries the last are not seen.
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
    """`multi_head_attention_forward`: three products, attention, and a product, of which only the ends are moved."""
    at = call.bound()
    query, key, value, heads = (at[name] for name in ("query", "key", "value", "num_heads"))
    if any(at[name] is not None for name in ("bias_k", "bias_v", "static_k", "static_v")) or at["add_zero_attn"]:
        raise Unknown("attention with keys of its own is not known")
    wide, tokens, context = query.shape[-1], query.shape[0], key.shape[0]
    batch = query.shape[1] if query.dim() == 3 else 1
    mixed = counted(
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
    products = [counted(tokens=batch * rows, dense_params=inner * wide).flops for rows, inner in dense]
    flops = mixed.flops + sum(products)
    return counted(query.dtype, other_flops=flops, extra_bytes=sizes(at) + size(call.out))


def _pooled(call: _Call) -> Count:
    x, kernel = call.named("input", "kernel_size")
    dimensions = int(call.function.__name__.partition("_pool")[2][0])
    taps = math.prod(kernel) if isinstance(kernel, (tuple, list)) else kernel**dimensions
    return _reduced(call, taps * call.out.numel())


def _adaptive(call: _Call) -> Count:
    return _reduced(call, call.named("input")[0].numel())


def _reduced(call: _Call, work: int) -> Count:
    x = call.named("input")[0]
    return counted(x.dtype, other_flops=float(work), extra_bytes=size(x) + size(call.out))


def _embedded(call: _Call) -> Count:
    indices, weight, _, longest = call.named("input", "weight", padding_idx=None, max_norm=None)
    if longest is not None:
        raise Unknown("an embedding that shortens its rows is not known")
    rows = call.out.numel() * weight.element_size()
    return counted(extra_bytes=float(rows) + size(call.out) + size(indices))


def _dropped(call: _Call) -> Optional[Count]:
    """Nothing while a model is evaluated; what random numbers cost is not known."""
    if is_view((call.args, call.kwargs), call.out):
        return None
    raise Unknown("what random numbers cost is not known")


def _batch_norm(call: _Call) -> Count:
    """A factor and a summand for each number; where statistics are gathered, the work of a layer norm."""
    x, training = call.named("input", running_mean=None, running_var=None, weight=None, bias=None, training=False)[::5]
    moved = sizes((call.args, call.kwargs)) + size(call.out)
    return _element_wise("batch_norm", 7 if training else 2, x.numel(), moved, x, call.out)


_PLAIN = {
    **{f"__{kind}{name}__": name for name in ("add", "sub", "mul", "pow", "and", "or", "xor") for kind in ("", "r", "i")},
    **{f"__{kind}{name}__": "div" for name in ("div", "truediv", "floordiv", "mod") for kind in ("", "r", "i")},
    **{f"__{name}__": name for name in ("eq", "ne", "lt", "le", "gt", "ge", "neg", "abs", "invert", "getitem", "setitem")},
    "rsub": "sub", "true_divide": "div", "divide": "div", "multiply": "mul", "subtract": "sub", "negative": "neg",
    "concat": "cat", "concatenate": "cat", "relu6": "relu", "__matmul__": "matmul", "_scaled_dot_product_attention": "scaled_dot_product_attention",
    "log_sigmoid": "logsigmoid", "_threshold": "threshold",
}  # fmt: skip
"""Other names of the same function."""

_TAKEN = {"getitem", "index_select", "gather", "take", "take_along_dim", "masked_select"}
"""Some of the numbers are taken, at positions that are given."""
_MOVED = {
    "cat", "stack", "hstack", "vstack", "clone", "contiguous", "reshape", "flatten", "to", "float", "double", "half", "bfloat16", "type",
    "type_as", "int", "long", "bool", "pad", "constant_pad_nd", "repeat", "repeat_interleave", "tile", "flip", "roll", "tril", "triu", "copy",
    "permute", "transpose", "expand", "unfold", "pixel_shuffle", "pixel_unshuffle", "channel_shuffle", "split", "chunk", "cpu", "cuda",
    "scatter", "index_copy", "index_fill", "masked_scatter", "where", "masked_fill", "fill", "zero", "diag", "diag_embed", "movedim",
}  # fmt: skip
"""Numbers are moved as they are."""
_MADE = {"zeros", "ones", "full", "empty", "arange", "linspace", "eye", "zeros_like", "ones_like", "full_like", "empty_like",
         "new_zeros", "new_ones", "new_full", "new_empty", "tensor", "as_tensor", "scalar_tensor"}  # fmt: skip
"""Numbers that come from nowhere."""
_EACH: tuple[tuple[int, str, set[str]], ...] = (
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
"""Operations for each number that comes out, or goes in: one for element-wise work, those of the formula for the others."""
_COMPLEX = {"add": 2, "sub": 2, "mul": 6, "polar": 4}
"""Operations for a complex number."""


_CHANGED = {"copy", "fill", "zero", "masked_fill", "masked_scatter", "scatter", "index_copy", "index_fill"}.union(
    *(names for _, _, names in _EACH)
)
"""What writes numbers even where it gives back the tensor that it was given."""


def _spread(names: Iterable[str], counter: Callable[[_Call], Optional[Count]]) -> dict[str, Callable[[_Call], Optional[Count]]]:
    return dict.fromkeys(names, counter)


_COUNTERS: dict[str, Callable[[_Call], Optional[Count]]] = {
    **_spread(["linear"], _linear),
    **_spread(["matmul", "mm", "bmm", "mv", "dot"], _matmul),
    **_spread(["addmm", "baddbmm", "addmv"], _added),
    **_spread(["einsum"], _einsum),
    **_spread((f"conv{kind}{d}d" for kind in ("", "_transpose") for d in (1, 2, 3)), _convolution),
    **_spread(["scaled_dot_product_attention"], _attention),
    **_spread(["multi_head_attention_forward"], _multi_head),
    **_spread((f"{kind}_pool{d}d" for kind in ("max", "avg") for d in (1, 2, 3)), _pooled),
    **_spread((f"{kind}max_pool{d}d{more}" for kind, more in (("_", ""), ("", "_with_indices")) for d in (1, 2, 3)), _pooled),
    **_spread((f"adaptive_{kind}_pool{d}d" for kind in ("max", "avg") for d in (1, 2, 3)), _adaptive),
    **_spread((f"_adaptive_max_pool{d}d" for d in (1, 2, 3)), _adaptive),
    **_spread(["embedding"], _embedded),
    **_spread(["dropout", "dropout1d", "dropout2d", "dropout3d", "alpha_dropout", "feature_alpha_dropout"], _dropped),
    **_spread(["batch_norm"], _batch_norm),
}
"""Functions whose arguments decide what they do."""
