//! Output shapes and work of each ONNX operator. Elementwise operators count one operation per element, normalizations a few;
//! data movement counts bytes only.

use super::infer::Value;
use super::{MAX_NUMBERS, Node, dtype};
use crate::dtype::Dtype;
use crate::elements;

/// Node of a graph with its work.
#[derive(Clone, Debug)]
pub struct Step {
    /// Name, by default the operator and index.
    pub name: String,
    /// Operator.
    pub op: String,
    /// Work, or the reason why it is unknown.
    pub task: Result<Task, String>,
    /// Indexes of the tensors that it reads.
    pub weights: Vec<usize>,
    /// Type of the weights, or of the input if there are none.
    pub dtype: Option<Dtype>,
}

/// Work of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Task {
    /// No cost, such as a reshape.
    Free,
    /// Matrix products.
    Product(Product),
    /// Convolution.
    Convolution(Box<Geometry>),
    /// Scores against keys and weighted sum of values.
    Attention(Heads),
    /// Elementwise work or data movement.
    Moves {
        /// True for normalizations.
        norm: bool,
        /// Number of operations.
        flops: u64,
        /// Bytes of all inputs and outputs.
        bytes: u64,
    },
}

/// Batched matrix product of activations and weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Product {
    /// Rows of activations per matrix.
    pub tokens: u64,
    /// Inputs per row.
    pub inputs: u64,
    /// Outputs per row.
    pub outputs: u64,
    /// Number of matrices.
    pub matrices: u64,
    /// Size of the matrices in bytes.
    pub stored: u64,
    /// Type of the activations.
    pub dtype: Dtype,
}

/// Shape of a convolution, padded with leading dimensions of 1 to three.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the fields are those of the contract")]
pub struct Geometry {
    pub batch: u64,
    pub in_channels: u64,
    pub out_channels: u64,
    pub groups: u64,
    pub transposed: bool,
    pub input: [u64; 3],
    pub kernel: [u64; 3],
    pub stride: [u64; 3],
    pub padding: [u64; 3],
    pub dilation: [u64; 3],
    pub extra: [u64; 3],
    /// Size of the kernels in bytes.
    pub stored: u64,
    /// Type of the input.
    pub dtype: Dtype,
}

/// Shape of attention over all heads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the fields are those of the contract")]
pub struct Heads {
    pub batch: u64,
    pub heads: u64,
    pub kv_heads: u64,
    pub key_length: u64,
    pub value_length: u64,
    pub tokens: u64,
    pub context: u64,
    pub causal: bool,
    pub dtype: Dtype,
}

type Evaluation = Result<(Vec<Value>, Task), String>;

const TOO_LARGE: &str = "shape too large";
const UNKNOWN_SIZE: &str = "unsupported type of unknown size";

impl Node {
    /// Returns the index of the input that determines the type of the node: the weights, if there are any.
    pub(super) fn main_input(&self) -> usize {
        match self.op.as_str() {
            "QLinearConv" | "QLinearMatMul" | "QGemm" => 3,
            "Conv" | "ConvTranspose" | "ConvInteger" | "FusedConv" | "Gemm" | "FusedGemm" | "MatMul"
            | "FusedMatMul" | "MatMulInteger" | "MatMulNBits" | "LSTM" | "GRU" | "RNN" => 1,
            _ => 0,
        }
    }
}

/// Determines the outputs and the work of a node.
pub(super) fn evaluate(node: &Node, inputs: &[Option<&Value>]) -> Evaluation {
    let call = Call { node, inputs };
    if node.attributes.has_graph {
        return Err(format!("{} executes a subgraph, which is not supported", node.op));
    }
    match node.op.as_str() {
        "Conv" | "FusedConv" | "ConvInteger" => call.convolution(0, 1, false),
        "QLinearConv" => call.convolution(0, 3, false),
        "ConvTranspose" => call.convolution(0, 1, true),
        "Gemm" | "FusedGemm" => call.gemm(0, 1),
        "QGemm" => call.gemm(0, 3),
        "MatMul" | "MatMulInteger" | "FusedMatMul" => call.matmul(0, 1),
        "QLinearMatMul" => call.matmul(0, 3),
        "MatMulNBits" => call.packed_matmul(),
        "LSTM" | "GRU" | "RNN" => call.recurrent(),
        "Attention" if call.has(2) && call.value(2)?.dims.len() > 1 => call.attention(),
        "Attention" => call.fused_attention(),
        "MultiHeadAttention" | "GroupQueryAttention" => call.attention(),
        "BatchNormalization" => call.norm(2),
        "InstanceNormalization" | "LayerNormalization" | "GroupNormalization" => call.norm(7),
        "RMSNormalization" | "SimplifiedLayerNormalization" | "LpNormalization" => call.norm(4),
        "SkipLayerNormalization" => call.norm(8),
        "SkipSimplifiedLayerNormalization" => call.norm(5),
        "LRN" => call.norm(u64::try_from(call.number("size", 1)).unwrap_or(1).saturating_add(4)),
        "Softmax" | "LogSoftmax" => call.norm(5),
        "MaxPool" | "AveragePool" | "LpPool" | "QLinearAveragePool" => call.pool(),
        "GlobalAveragePool" | "GlobalMaxPool" | "GlobalLpPool" | "QLinearGlobalAveragePool" => {
            call.global_pool()
        }
        "ReduceMean" | "ReduceSum" | "ReduceMax" | "ReduceMin" | "ReduceProd" | "ReduceL1" | "ReduceL2"
        | "ReduceSumSquare" | "ReduceLogSum" | "ReduceLogSumExp" => call.reduce(),
        "ArgMax" | "ArgMin" => call.arg(),
        "Reshape" | "Flatten" | "Squeeze" | "Unsqueeze" | "Identity" | "Dropout" | "Shape" | "Size"
        | "Constant" => Ok((call.reshape()?, Task::Free)),
        "ConstantOfShape" | "Expand" | "Tile" | "Transpose" | "Concat" | "QLinearConcat" | "Split"
        | "Slice" | "Gather" | "Pad" | "Resize" | "Upsample" | "DepthToSpace" | "SpaceToDepth" | "Range" => {
            call.movement()
        }
        "Cast" | "CastLike" => call.elementwise(0),
        "QuantizeLinear" | "DequantizeLinear" | "DynamicQuantizeLinear" => call.quantized(),
        "Clip" | "PRelu" => call.unary(1),
        "Where" | "Add" | "Sub" | "Mul" | "Div" | "Pow" | "Mod" | "Max" | "Min" | "Mean" | "Sum" | "And"
        | "Or" | "Xor" | "Not" | "Equal" | "Greater" | "Less" | "GreaterOrEqual" | "LessOrEqual" | "Relu"
        | "LeakyRelu" | "Elu" | "Selu" | "Celu" | "ThresholdedRelu" | "Sigmoid" | "HardSigmoid"
        | "HardSwish" | "Tanh" | "Softplus" | "Softsign" | "Exp" | "Log" | "Sqrt" | "Reciprocal" | "Neg"
        | "Abs" | "Ceil" | "Floor" | "Round" | "Sign" | "Erf" | "Sin" | "Cos" | "Tan" | "Asin" | "Acos"
        | "Atan" | "Sinh" | "Cosh" | "Gelu" | "FastGelu" | "BiasGelu" | "QuickGelu" | "Mish" | "Swish"
        | "IsNaN" | "IsInf" => call.elementwise(1),
        "RotaryEmbedding" => call.unary(6),
        "QLinearAdd" | "QLinearMul" => call.quantized_pair(),
        "QLinearSigmoid" | "QLinearLeakyRelu" | "QLinearSoftmax" => call.unary(3),
        other => Err(format!("unknown cost of operator {other}")),
    }
}

struct Call<'a> {
    node: &'a Node,
    inputs: &'a [Option<&'a Value>],
}

impl Call<'_> {
    fn has(&self, index: usize) -> bool {
        self.inputs.get(index).copied().flatten().is_some()
    }

    fn value(&self, index: usize) -> Result<&Value, String> {
        self.inputs.get(index).copied().flatten().ok_or_else(|| format!("missing input {index}"))
    }

    /// Returns the contents of an input that determines a shape.
    fn numbers(&self, index: usize) -> Result<&[i64], String> {
        let known = self.value(index)?.numbers.as_deref();
        known.ok_or_else(|| format!("the output shape depends on the values of input {index}"))
    }

    fn number(&self, name: &str, default: i64) -> i64 {
        self.node.attributes.number(name).unwrap_or(default)
    }

    /// Returns a list that is an attribute in old opsets and an input in new ones.
    fn list(&self, name: &str, index: usize) -> Result<Option<Vec<i64>>, String> {
        match self.node.attributes.list(name) {
            Some(list) => Ok(Some(list.to_vec())),
            None if self.has(index) => self.numbers(index).map(|numbers| Some(numbers.to_vec())),
            None => Ok(None),
        }
    }

    /// Normalizes an axis, which may count from the end.
    fn axis(&self, axis: i64, rank: usize) -> Result<usize, String> {
        let place = if axis < 0 { axis.checked_add(rank as i64) } else { Some(axis) };
        let place = place.and_then(|place| usize::try_from(place).ok()).filter(|place| *place < rank);
        place.ok_or_else(|| format!("invalid axis {axis} for {rank} dimensions"))
    }

    /// Elementwise work with `each` operations per element of `counted`.
    fn moves(&self, outputs: Vec<Value>, counted: &Value, each: u64, norm: bool) -> Evaluation {
        let read = self.inputs.iter().flatten().map(|value| value.bytes());
        let written = outputs.iter().map(Value::bytes);
        let bytes = read.chain(written).try_fold(0u64, |sum, bytes| sum.checked_add(bytes?));
        let bytes = bytes.ok_or("unsupported type of unknown size, or shape too large")?;
        let flops = counted.elements().and_then(|numbers| numbers.checked_mul(each)).ok_or(TOO_LARGE)?;
        Ok((outputs, Task::Moves { norm, flops, bytes }))
    }

    fn norm(&self, each: u64) -> Evaluation {
        let first = self.value(0)?.clone();
        let out = Value { numbers: None, ..first.clone() };
        self.moves(vec![out], &first, each, true)
    }

    fn unary(&self, each: u64) -> Evaluation {
        let out = Value { numbers: None, ..self.value(0)?.clone() };
        self.moves(vec![out.clone()], &out, each, false)
    }

    fn elementwise(&self, each: u64) -> Evaluation {
        let op = self.node.op.as_str();
        let mut dims: Vec<u64> = Vec::new();
        for value in self.inputs.iter().flatten() {
            if op == "CastLike" && !dims.is_empty() {
                break;
            }
            dims = broadcast(&dims, &value.dims)?;
        }
        let typed = |index: usize| self.value(index).map(|value| value.dtype);
        let dtype = match op {
            "And" | "Or" | "Xor" | "Not" | "Equal" | "Greater" | "Less" | "GreaterOrEqual"
            | "LessOrEqual" | "IsNaN" | "IsInf" => Dtype::Bool,
            "Cast" => dtype(self.number("to", 1) as i32),
            "CastLike" | "Where" => typed(1)?,
            _ => typed(0)?,
        };
        let out = Value { numbers: self.computed(&dims), dims, dtype };
        self.moves(vec![out.clone()], &out, each, false)
    }

    /// Computes the contents of a small output, for shapes that depend on it.
    fn computed(&self, dims: &[u64]) -> Option<Vec<i64>> {
        let count = elements(dims).filter(|count| *count <= MAX_NUMBERS)? as usize;
        let input = |index: usize| {
            let numbers = self.value(index).ok()?.numbers.as_ref()?;
            let at = move |place: usize| if numbers.len() == 1 { numbers[0] } else { numbers[place] };
            (numbers.len() == 1 || numbers.len() == count).then_some(at)
        };
        if matches!(self.node.op.as_str(), "Cast" | "CastLike" | "Floor" | "Ceil" | "Round") {
            let first = input(0)?;
            return Some((0..count).map(first).collect());
        }
        let (a, b) = (input(0)?, input(1)?);
        let one = |place: usize| match self.node.op.as_str() {
            "Add" => a(place).checked_add(b(place)),
            "Sub" => a(place).checked_sub(b(place)),
            "Mul" => a(place).checked_mul(b(place)),
            "Div" => a(place).checked_div(b(place)),
            "Mod" => a(place).checked_rem(b(place)),
            "Equal" => Some(i64::from(a(place) == b(place))),
            "Where" => Some(if a(place) != 0 { b(place) } else { input(2)?(place) }),
            _ => None,
        };
        (0..count).map(one).collect()
    }

    fn quantized(&self) -> Evaluation {
        let first = self.value(0)?.clone();
        let typed = |index: usize| self.value(index).map(|value| value.dtype);
        let out = |dtype| Value { dims: first.dims.clone(), dtype, numbers: None };
        let single = |dtype| Value { dims: Vec::new(), dtype, numbers: None };
        let outputs = match self.node.op.as_str() {
            "QuantizeLinear" => vec![out(typed(2).unwrap_or(Dtype::U8))],
            "DequantizeLinear" => vec![out(typed(1)?)],
            _ => vec![out(Dtype::U8), single(Dtype::F32), single(Dtype::U8)],
        };
        self.moves(outputs, &first, 2, false)
    }

    fn quantized_pair(&self) -> Evaluation {
        let (a, b) = (self.value(0)?, self.value(3)?);
        let out = Value { dims: broadcast(&a.dims, &b.dims)?, dtype: a.dtype, numbers: None };
        self.moves(vec![out.clone()], &out, 5, false)
    }

    fn matmul(&self, left: usize, right: usize) -> Evaluation {
        let (a, b) = (self.value(left)?, self.value(right)?);
        let flipped = |value: &Value, name: &str| {
            let mut dims = value.dims.clone();
            let rank = dims.len();
            if self.node.attributes.flag(name) && rank > 1 {
                dims.swap(rank - 1, rank - 2);
            }
            dims
        };
        let (a_dims, b_dims) = (flipped(a, "transA"), flipped(b, "transB"));
        // A vector is a row on the left side and a column on the right side.
        let wide = |dims: &[u64], left: bool| match *dims {
            [one] if left => vec![1, one],
            [one] => vec![one, 1],
            _ => dims.to_vec(),
        };
        let (l, r) = (wide(&a_dims, true), wide(&b_dims, false));
        let ([front @ .., rows, inner], [many @ .., other, columns]) = (l.as_slice(), r.as_slice()) else {
            return Err("matrix product of scalars".into());
        };
        if inner != other {
            return Err(format!("cannot multiply {inner} columns by {other} rows"));
        }
        let leading = broadcast(front, many)?;
        let mut dims = leading.clone();
        dims.extend((a_dims.len() > 1).then_some(*rows));
        dims.extend((b_dims.len() > 1).then_some(*columns));
        let matrices = elements(many).ok_or(TOO_LARGE)?;
        let all = elements(&leading).and_then(|all| all.checked_mul(*rows)).ok_or(TOO_LARGE)?;
        let product = Product {
            tokens: all.checked_div(matrices).unwrap_or(0),
            inputs: *inner,
            outputs: *columns,
            matrices,
            stored: b.bytes().ok_or(UNKNOWN_SIZE)?,
            dtype: a.dtype,
        };
        self.product(product, dims, self.product_type(a))
    }

    /// Returns the output type of a product.
    fn product_type(&self, rows: &Value) -> Dtype {
        match self.node.op.as_str() {
            "MatMulInteger" | "ConvInteger" => Dtype::I32,
            _ => rows.dtype,
        }
    }

    fn product(&self, product: Product, dims: Vec<u64>, dtype: Dtype) -> Evaluation {
        elements(&dims).ok_or(TOO_LARGE)?;
        Ok((vec![Value { dims, dtype, numbers: None }], Task::Product(product)))
    }

    fn gemm(&self, left: usize, right: usize) -> Evaluation {
        let (a, b) = (self.value(left)?, self.value(right)?);
        let ([m, k], [p, n]) = (a.dims.as_slice(), b.dims.as_slice()) else {
            return Err("expected matrices as operands".into());
        };
        let (m, k) = if self.node.attributes.flag("transA") { (*k, *m) } else { (*m, *k) };
        let (p, n) = if self.node.attributes.flag("transB") { (*n, *p) } else { (*p, *n) };
        if k != p {
            return Err(format!("cannot multiply {k} columns by {p} rows"));
        }
        let stored = b.bytes().ok_or(UNKNOWN_SIZE)?;
        let product = Product { tokens: m, inputs: k, outputs: n, matrices: 1, stored, dtype: a.dtype };
        self.product(product, vec![m, n], a.dtype)
    }

    /// Product with quantized weights, packed along the inputs with a scale per block.
    fn packed_matmul(&self) -> Evaluation {
        let a = self.value(0)?;
        let positive = |name: &str| u64::try_from(self.number(name, 0)).ok().filter(|number| *number > 0);
        let (k, n) = positive("K").zip(positive("N")).ok_or("missing attribute K or N")?;
        let (last, front) = a.dims.split_last().ok_or("matrix product of scalars")?;
        if *last != k {
            return Err(format!("cannot multiply {last} columns by {k} rows"));
        }
        // Includes scales and zero points.
        let mut stored = self.inputs.iter().skip(1).take(3).flatten();
        let stored = stored.try_fold(0u64, |sum, value| sum.checked_add(value.bytes()?)).ok_or(TOO_LARGE)?;
        let tokens = elements(front).ok_or(TOO_LARGE)?;
        let dims = front.iter().copied().chain([n]).collect();
        let product = Product { tokens, inputs: k, outputs: n, matrices: 1, stored, dtype: a.dtype };
        self.product(product, dims, a.dtype)
    }

    fn recurrent(&self) -> Evaluation {
        let (x, w, r) = (self.value(0)?, self.value(1)?, self.value(2)?);
        let ([length, batch, inputs], [ways, gates, wide], [_, _, hidden]) =
            (x.dims.as_slice(), w.dims.as_slice(), r.dims.as_slice())
        else {
            return Err("expected operands with three dimensions".into());
        };
        if inputs != wide {
            return Err(format!("cannot multiply {inputs} columns by {wide} rows"));
        }
        let stored = w.bytes().zip(r.bytes()).and_then(|(w, r)| w.checked_add(r)).ok_or(TOO_LARGE)?;
        let product = Product {
            tokens: length.checked_mul(*batch).ok_or(TOO_LARGE)?,
            inputs: inputs.checked_add(*hidden).ok_or(TOO_LARGE)?,
            outputs: *gates,
            matrices: *ways,
            stored,
            dtype: x.dtype,
        };
        let all = Value { dims: vec![*length, *ways, *batch, *hidden], dtype: x.dtype, numbers: None };
        let last = Value { dims: vec![*ways, *batch, *hidden], dtype: x.dtype, numbers: None };
        all.elements().ok_or(TOO_LARGE)?;
        Ok((vec![all, last.clone(), last], Task::Product(product)))
    }

    /// Attention with separate queries, keys and values, with or without a dimension for the heads.
    fn attention(&self) -> Evaluation {
        let (q, k, v) = (self.value(0)?, self.value(1)?, self.value(2)?);
        let count = |names: &[&str]| {
            names.iter().find_map(|name| {
                self.node
                    .attributes
                    .number(name)
                    .and_then(|number| u64::try_from(number).ok())
                    .filter(|n| *n > 0)
            })
        };
        let split = |value: &Value, heads: Option<u64>| match *value.dims.as_slice() {
            [batch, heads, tokens, width] => Ok((batch, heads, tokens, width)),
            [batch, tokens, wide] => match heads {
                Some(heads) if wide.is_multiple_of(heads) => Ok((batch, heads, tokens, wide / heads)),
                _ => Err("missing or invalid number of heads".to_owned()),
            },
            _ => Err("expected queries, keys and values with three or four dimensions".to_owned()),
        };
        let heads = count(&["q_num_heads", "num_heads"]);
        let kv_heads = count(&["kv_num_heads"]).or(heads);
        let (batch, heads, tokens, key_length) = split(q, heads)?;
        let (_, kv_heads, context, _) = split(k, kv_heads)?;
        let (_, _, _, value_length) = split(v, Some(kv_heads))?;
        let out = match q.dims.len() {
            4 => vec![batch, heads, tokens, value_length],
            _ => vec![batch, tokens, heads.checked_mul(value_length).ok_or(TOO_LARGE)?],
        };
        elements(&out).ok_or(TOO_LARGE)?;
        let causal = self.node.attributes.flag("is_causal")
            || self.node.attributes.flag("unidirectional")
            || self.node.op == "GroupQueryAttention";
        let task = Heads {
            batch,
            heads,
            kv_heads,
            key_length,
            value_length,
            tokens,
            context,
            causal,
            dtype: q.dtype,
        };
        Ok((vec![Value { dims: out, dtype: q.dtype, numbers: None }], Task::Attention(task)))
    }

    /// Fused QKV projection and attention, which the contract does not cover.
    fn fused_attention(&self) -> Evaluation {
        Err("attention fused with its projection is not supported".into())
    }

    /// Reads stride, dilation and padding of a kernel over the last dimensions.
    fn window(&self, kernel: &[u64], input: &[u64]) -> Result<Window, String> {
        let rank = kernel.len();
        let numbers = |name: &str, default: u64, count: usize| match self.node.attributes.list(name) {
            None => Ok(vec![default; count]),
            Some(list) if list.len() == count => list
                .iter()
                .map(|number| {
                    u64::try_from(*number)
                        .map_err(|_| format!("expected non-negative {name}, found {number}"))
                })
                .collect(),
            Some(list) => Err(format!("expected {count} numbers in {name}, found {}", list.len())),
        };
        let stride = numbers("strides", 1, rank)?;
        let dilation = numbers("dilations", 1, rank)?;
        if stride.contains(&0) || dilation.contains(&0) || kernel.contains(&0) {
            return Err("kernel, stride and dilation must not be zero".into());
        }
        let mut begin = numbers("pads", 0, 2 * rank)?;
        let mut end = begin.split_off(rank);
        let reach = |place: usize| {
            (kernel[place] - 1).checked_mul(dilation[place]).and_then(|far| far.checked_add(1))
        };
        if let Some(auto @ ("SAME_UPPER" | "SAME_LOWER")) = self.node.attributes.word("auto_pad") {
            for place in 0..rank {
                let out = input[place].div_ceil(stride[place]);
                let needed = reach(place)
                    .and_then(|reach| out.saturating_sub(1).checked_mul(stride[place])?.checked_add(reach));
                let all = needed.ok_or(TOO_LARGE)?.saturating_sub(input[place]);
                let (less, more) = (all / 2, all - all / 2);
                (begin[place], end[place]) = if auto == "SAME_UPPER" { (less, more) } else { (more, less) };
            }
        }
        let pads =
            begin.iter().zip(&end).map(|(begin, end)| begin.checked_add(*end)).collect::<Option<Vec<u64>>>();
        Ok(Window { stride, dilation, pads: pads.ok_or(TOO_LARGE)? })
    }

    fn convolution(&self, input: usize, weights: usize, transposed: bool) -> Evaluation {
        let (x, w) = (self.value(input)?, self.value(weights)?);
        let ([batch, channels, size @ ..], [first, second, kernel @ ..]) =
            (x.dims.as_slice(), w.dims.as_slice())
        else {
            return Err("expected operands with at least two dimensions".into());
        };
        let rank = kernel.len();
        if size.len() != rank || rank == 0 || rank > 3 {
            return Err(format!(
                "unsupported kernel with {rank} dimensions for an input with {}",
                size.len()
            ));
        }
        let groups = u64::try_from(self.number("group", 1)).ok().filter(|groups| *groups > 0);
        let groups = groups.ok_or("expected at least one group")?;
        let (inputs, outputs) = match transposed {
            true => (Some(*first), second.checked_mul(groups)),
            false => (second.checked_mul(groups), Some(*first)),
        };
        let (inputs, outputs) = inputs.zip(outputs).ok_or(TOO_LARGE)?;
        if inputs != *channels || !outputs.is_multiple_of(groups) {
            return Err(format!("expected {inputs} input channels, found {channels}"));
        }
        let Window { stride, dilation, pads } = self.window(kernel, size)?;
        let extra = match self.node.attributes.list("output_padding").filter(|_| transposed) {
            Some(list) if list.len() == rank => list.iter().map(|n| u64::try_from(*n).unwrap_or(0)).collect(),
            _ => vec![0; rank],
        };
        let mut out = vec![*batch, outputs];
        for place in 0..rank {
            let far = (kernel[place] - 1).checked_mul(dilation[place]).ok_or(TOO_LARGE)?;
            let made = if transposed {
                let spread = size[place].saturating_sub(1).checked_mul(stride[place]);
                let whole = spread
                    .and_then(|spread| spread.checked_add(far)?.checked_add(extra[place])?.checked_add(1));
                whole.ok_or(TOO_LARGE)?.checked_sub(pads[place])
            } else {
                let padded = size[place].checked_add(pads[place]).ok_or(TOO_LARGE)?;
                padded
                    .checked_sub(far)
                    .and_then(|rest| rest.checked_sub(1))
                    .map(|rest| rest / stride[place] + 1)
            };
            out.push(made.ok_or("kernel larger than the input")?);
        }
        elements(&out).ok_or(TOO_LARGE)?;
        let three = |numbers: &[u64], missing: u64| {
            let mut all = [missing; 3];
            all[3 - rank..].copy_from_slice(numbers);
            all
        };
        // Odd padding is modeled as one more input element.
        let odd: Vec<u64> =
            size.iter().zip(&pads).map(|(size, pads)| size.saturating_add(pads % 2)).collect();
        let half: Vec<u64> = pads.iter().map(|pads| pads / 2).collect();
        let (extra, input, padding) = if transposed {
            let up: Vec<u64> = pads.iter().map(|pads| pads.div_ceil(2)).collect();
            let extra: Vec<u64> =
                extra.iter().zip(&pads).map(|(extra, pads)| extra.saturating_add(pads % 2)).collect();
            (extra, size.to_vec(), up)
        } else {
            (extra, odd, half)
        };
        let geometry = Geometry {
            batch: *batch,
            in_channels: inputs,
            out_channels: outputs,
            groups,
            transposed,
            input: three(&input, 1),
            kernel: three(kernel, 1),
            stride: three(&stride, 1),
            padding: three(&padding, 0),
            dilation: three(&dilation, 1),
            extra: three(&extra, 0),
            stored: w.bytes().ok_or(UNKNOWN_SIZE)?,
            dtype: x.dtype,
        };
        let out = Value { dims: out, dtype: self.product_type(x), numbers: None };
        Ok((vec![out], Task::Convolution(Box::new(geometry))))
    }

    fn pool(&self) -> Evaluation {
        let x = self.value(0)?.clone();
        let [batch, channels, size @ ..] = x.dims.as_slice() else {
            return Err("expected an input with batch and channels".into());
        };
        let kernel = self.node.attributes.list("kernel_shape").unwrap_or_default();
        let kernel: Vec<u64> = kernel.iter().filter_map(|side| u64::try_from(*side).ok()).collect();
        if kernel.len() != size.len() {
            return Err(format!(
                "unsupported window with {} dimensions for an input with {}",
                kernel.len(),
                size.len()
            ));
        }
        let Window { stride, dilation, pads } = self.window(&kernel, size)?;
        let mut dims = vec![*batch, *channels];
        for place in 0..kernel.len() {
            let far = (kernel[place] - 1).checked_mul(dilation[place]).ok_or(TOO_LARGE)?;
            let padded = size[place].checked_add(pads[place]).ok_or(TOO_LARGE)?;
            let rest = padded.checked_sub(far).and_then(|rest| rest.checked_sub(1));
            let rest = rest.ok_or("window larger than the input")?;
            let steps = if self.node.attributes.flag("ceil_mode") {
                rest.div_ceil(stride[place])
            } else {
                rest / stride[place]
            };
            dims.push(steps.saturating_add(1));
        }
        let out = Value { dims, dtype: x.dtype, numbers: None };
        let each = elements(&kernel).ok_or(TOO_LARGE)?;
        self.moves(vec![out.clone()], &out, each, false)
    }

    fn global_pool(&self) -> Evaluation {
        let x = self.value(0)?.clone();
        let dims = x.dims.iter().enumerate().map(|(place, dim)| if place < 2 { *dim } else { 1 }).collect();
        self.moves(vec![Value { dims, dtype: x.dtype, numbers: None }], &x, 1, false)
    }

    fn without(&self, dims: &[u64], axes: &[i64], keep: bool) -> Result<Vec<u64>, String> {
        let gone = axes.iter().map(|axis| self.axis(*axis, dims.len())).collect::<Result<Vec<usize>, _>>()?;
        let one = |(place, dim): (usize, &u64)| match (gone.contains(&place), keep) {
            (false, _) => Some(*dim),
            (true, true) => Some(1),
            (true, false) => None,
        };
        Ok(dims.iter().enumerate().filter_map(one).collect())
    }

    fn reduce(&self) -> Evaluation {
        let x = self.value(0)?.clone();
        let axes = self.list("axes", 1)?;
        let axes = match axes {
            Some(axes) => axes,
            None if self.node.attributes.flag("noop_with_empty_axes") => Vec::new(),
            None => (0..x.dims.len() as i64).collect(),
        };
        let dims = self.without(&x.dims, &axes, self.number("keepdims", 1) != 0)?;
        let product = |numbers: &Vec<i64>| numbers.iter().try_fold(1i64, |all, one| all.checked_mul(*one));
        let numbers = x.numbers.as_ref().filter(|_| self.node.op == "ReduceProd").and_then(product);
        let numbers = numbers.filter(|_| elements(&dims) == Some(1)).map(|number| vec![number]);
        self.moves(vec![Value { dims, dtype: x.dtype, numbers }], &x, 1, false)
    }

    fn arg(&self) -> Evaluation {
        let x = self.value(0)?.clone();
        let dims = self.without(&x.dims, &[self.number("axis", 0)], self.number("keepdims", 1) != 0)?;
        self.moves(vec![Value { dims, dtype: Dtype::I64, numbers: None }], &x, 1, false)
    }

    /// Evaluates operators that only rename or reshape values.
    fn reshape(&self) -> Result<Vec<Value>, String> {
        let whole = |numbers: Vec<i64>| Value {
            dims: vec![numbers.len() as u64],
            dtype: Dtype::I64,
            numbers: Some(numbers),
        };
        let op = self.node.op.as_str();
        if op == "Constant" {
            if let Some(value) = &self.node.attributes.constant {
                return Ok(vec![value.clone()]);
            }
            if let Some(list) = self.node.attributes.list("value_ints") {
                return Ok(vec![whole(list.to_vec())]);
            }
            let single = self.node.attributes.number("value_int").map(|number| vec![number]);
            return Ok(vec![Value { dims: Vec::new(), dtype: Dtype::I64, numbers: single }]);
        }
        let x = self.value(0)?;
        let dims = match op {
            "Shape" => {
                let all = x.dims.iter().map(|dim| i64::try_from(*dim)).collect::<Result<Vec<i64>, _>>();
                let all = all.map_err(|_| TOO_LARGE)?;
                let rank = all.len() as i64;
                let place =
                    |at: i64| if at < 0 { at.saturating_add(rank) } else { at }.clamp(0, rank) as usize;
                let (start, end) = (place(self.number("start", 0)), place(self.number("end", rank)));
                return Ok(vec![whole(all.get(start..end).unwrap_or_default().to_vec())]);
            }
            "Size" => {
                let count = x.elements().and_then(|count| i64::try_from(count).ok()).ok_or(TOO_LARGE)?;
                return Ok(vec![Value { dims: Vec::new(), dtype: Dtype::I64, numbers: Some(vec![count]) }]);
            }
            "Reshape" => reshaped(x, self.numbers(1)?, self.node.attributes.flag("allowzero"))?,
            "Flatten" => {
                let rank = x.dims.len() as i64;
                let axis = self.number("axis", 1);
                let axis = if axis < 0 { axis.saturating_add(rank) } else { axis }.clamp(0, rank) as usize;
                let (front, back) = x.dims.split_at(axis);
                vec![elements(front).ok_or(TOO_LARGE)?, elements(back).ok_or(TOO_LARGE)?]
            }
            "Squeeze" => match self.list("axes", 1)? {
                Some(axes) => self.without(&x.dims, &axes, false)?,
                None => x.dims.iter().copied().filter(|dim| *dim != 1).collect(),
            },
            "Unsqueeze" => {
                let axes = self.list("axes", 1)?.ok_or("missing axes")?;
                let rank = x.dims.len() + axes.len();
                let new =
                    axes.iter().map(|axis| self.axis(*axis, rank)).collect::<Result<Vec<usize>, _>>()?;
                let mut old = x.dims.iter();
                (0..rank)
                    .map(|place| if new.contains(&place) { Some(1) } else { old.next().copied() })
                    .collect::<Option<Vec<u64>>>()
                    .ok_or("duplicate axis")?
            }
            _ => x.dims.clone(),
        };
        let out = Value { dims, ..x.clone() };
        // Dropout also has a mask output.
        let mask = Value { dtype: Dtype::Bool, numbers: None, ..out.clone() };
        Ok(vec![out, mask])
    }

    /// Evaluates operators that only move data.
    fn movement(&self) -> Evaluation {
        let op = self.node.op.as_str();
        if op == "ConstantOfShape" {
            let out = self.filled()?;
            return self.moves(vec![out.clone()], &out, 0, false);
        }
        let x = self.value(0)?;
        let dims = match op {
            "Gather" => return self.gathered(x),
            "Split" => {
                let out = self.split(x)?;
                let first = out.first().unwrap_or(x).clone();
                return self.moves(out, &first, 0, false);
            }
            "Concat" | "QLinearConcat" | "Slice" => {
                let out = if op == "Slice" { self.sliced(x)? } else { self.concatenated()? };
                return self.moves(vec![out.clone()], &out, 0, false);
            }
            "Transpose" => self.transposed(x)?,
            "Expand" => broadcast(&x.dims, &sizes(self.numbers(1)?)?)?,
            "Tile" => scaled(x, &sizes(self.numbers(1)?)?)?,
            "Pad" => self.padded(x)?,
            "Resize" | "Upsample" => self.resized(x)?,
            "DepthToSpace" | "SpaceToDepth" => self.blocks_moved(x)?,
            _ => vec![self.range_length()?],
        };
        let out = Value { dims, dtype: x.dtype, numbers: None };
        self.moves(vec![out.clone()], &out, 0, false)
    }

    fn filled(&self) -> Result<Value, String> {
        let dims = sizes(self.numbers(0)?)?;
        let count = elements(&dims).ok_or(TOO_LARGE)?;
        let fill = self.node.attributes.constant.as_ref();
        let number = fill.map_or(Some(0), |value| value.numbers.as_ref()?.first().copied());
        let numbers = number.filter(|_| count <= MAX_NUMBERS).map(|number| vec![number; count as usize]);
        Ok(Value { dims, dtype: fill.map_or(Dtype::F32, |value| value.dtype), numbers })
    }

    fn transposed(&self, x: &Value) -> Result<Vec<u64>, String> {
        let rank = x.dims.len();
        let perm = self.node.attributes.list("perm").map(<[i64]>::to_vec);
        let perm = perm.unwrap_or_else(|| (0..rank as i64).rev().collect());
        perm.iter().map(|axis| self.axis(*axis, rank).map(|place| x.dims[place])).collect()
    }

    fn gathered(&self, x: &Value) -> Evaluation {
        let rank = x.dims.len();
        let axis = self.axis(self.number("axis", 0), rank)?;
        let indices = self.value(1)?;
        let dims = [&x.dims[..axis], &indices.dims, &x.dims[axis + 1..]].concat();
        elements(&dims).ok_or(TOO_LARGE)?;
        let picked = x.numbers.as_ref().filter(|_| rank == 1).zip(indices.numbers.as_ref());
        let numbers = picked.and_then(|(numbers, places)| {
            let one = |place: &i64| numbers.get(self.axis(*place, numbers.len()).ok()?).copied();
            places.iter().map(one).collect::<Option<Vec<i64>>>()
        });
        let out = Value { dims, dtype: x.dtype, numbers };
        // Only the selected rows are read.
        let rows = out.bytes().and_then(|bytes| bytes.checked_mul(2)).ok_or(TOO_LARGE)?;
        let bytes = indices.bytes().and_then(|bytes| bytes.checked_add(rows)).ok_or(TOO_LARGE)?;
        Ok((vec![out], Task::Moves { norm: false, flops: 0, bytes }))
    }

    fn padded(&self, x: &Value) -> Result<Vec<u64>, String> {
        let rank = x.dims.len();
        let pads = self.list("pads", 1)?.ok_or("missing pads")?;
        if pads.len() != 2 * rank {
            return Err(format!("expected {} pads, found {}", 2 * rank, pads.len()));
        }
        let one = |place: usize| {
            let all = pads[place].checked_add(pads[place + rank])?;
            x.dims[place].checked_add_signed(all)
        };
        Ok((0..rank).map(one).collect::<Option<_>>().ok_or(TOO_LARGE)?)
    }

    fn resized(&self, x: &Value) -> Result<Vec<u64>, String> {
        let upsample = self.node.op == "Upsample";
        let dims = if !upsample && self.has(3) {
            sizes(self.numbers(3)?)?
        } else {
            scaled(x, &sizes(self.numbers(if upsample || self.inputs.len() < 3 { 1 } else { 2 })?)?)?
        };
        match dims.len() == x.dims.len() {
            true => Ok(dims),
            false => Err(format!("expected {} sizes, found {}", x.dims.len(), dims.len())),
        }
    }

    /// `DepthToSpace` and its inverse.
    fn blocks_moved(&self, x: &Value) -> Result<Vec<u64>, String> {
        let [batch, channels, height, width] = *x.dims.as_slice() else {
            return Err("expected an input with four dimensions".into());
        };
        let side = u64::try_from(self.number("blocksize", 0)).ok().filter(|side| *side > 0);
        let side = side.ok_or("missing block size")?;
        let square = side.checked_mul(side).ok_or(TOO_LARGE)?;
        let more = |a: u64, b: u64| a.checked_mul(b).ok_or(TOO_LARGE.to_owned());
        Ok(match self.node.op.as_str() {
            "DepthToSpace" => vec![batch, channels / square, more(height, side)?, more(width, side)?],
            _ => vec![batch, more(channels, square)?, height / side, width / side],
        })
    }

    /// Returns the length of a `Range`.
    fn range_length(&self) -> Result<u64, String> {
        let bounds = (self.numbers(0)?, self.numbers(1)?, self.numbers(2)?);
        let ([start], [end], [step]) = bounds else { return Err("expected scalar bounds".into()) };
        let count = end.checked_sub(*start).zip(Some(*step).filter(|step| *step > 0));
        Ok(count.map_or(0, |(all, step)| all.max(0).unsigned_abs().div_ceil(step.unsigned_abs())))
    }

    fn concatenated(&self) -> Result<Value, String> {
        // Scale and zero point follow each quantized input.
        let values: Vec<&Value> = match self.node.op.as_str() {
            "Concat" => self.inputs.iter().flatten().copied().collect(),
            _ => self.inputs.iter().skip(2).step_by(3).flatten().copied().collect(),
        };
        let first = *values.first().ok_or("missing inputs")?;
        let axis = self.axis(self.number("axis", 0), first.dims.len())?;
        let mut dims = first.dims.clone();
        let along = values.iter().map(|value| value.dims.get(axis).copied());
        dims[axis] = along.sum::<Option<u64>>().ok_or("inputs differ in their number of dimensions")?;
        let numbers = values.iter().map(|value| value.numbers.clone()).collect::<Option<Vec<_>>>();
        let numbers = numbers.filter(|_| dims.len() == 1).map(|numbers| numbers.concat());
        Ok(Value { dims, dtype: first.dtype, numbers })
    }

    fn split(&self, x: &Value) -> Result<Vec<Value>, String> {
        let axis = self.axis(self.number("axis", 0), x.dims.len())?;
        let parts = self.node.outputs.len().max(1) as u64;
        let listed = self.list("split", 1)?;
        let along = match listed {
            Some(list) => sizes(&list)?,
            None => {
                let each = x.dims[axis].div_ceil(parts);
                (0..parts).map(|part| each.min(x.dims[axis].saturating_sub(part * each))).collect()
            }
        };
        let one = |size: u64| {
            let mut dims = x.dims.clone();
            dims[axis] = size;
            Value { dims, dtype: x.dtype, numbers: None }
        };
        Ok(along.into_iter().take(parts as usize).map(one).collect())
    }

    fn sliced(&self, x: &Value) -> Result<Value, String> {
        let starts = self.list("starts", 1)?.ok_or("missing starts")?;
        let ends = self.list("ends", 2)?.ok_or("missing ends")?;
        let axes = self.list("axes", 3)?.unwrap_or_else(|| (0..starts.len() as i64).collect());
        let steps = self.list("steps", 4)?.unwrap_or_else(|| vec![1; starts.len()]);
        let mut dims = x.dims.clone();
        let mut numbers = x.numbers.clone().filter(|_| dims.len() == 1);
        for (((start, end), axis), step) in starts.iter().zip(&ends).zip(&axes).zip(&steps) {
            let axis = self.axis(*axis, x.dims.len())?;
            let size = i64::try_from(x.dims[axis]).map_err(|_| TOO_LARGE)?;
            let place = |at: i64| if at < 0 { at.saturating_add(size) } else { at };
            let (from, to) = match step.signum() {
                1 => (place(*start).clamp(0, size), place(*end).clamp(0, size)),
                -1 => (place(*end).clamp(-1, size - 1), place(*start).clamp(-1, size - 1)),
                _ => return Err("step must not be zero".into()),
            };
            let count = (to - from).max(0).unsigned_abs().div_ceil(step.unsigned_abs());
            dims[axis] = count;
            numbers = numbers
                .filter(|_| *step == 1)
                .map(|numbers| numbers.into_iter().skip(from.max(0) as usize).take(count as usize).collect());
        }
        Ok(Value { dims, dtype: x.dtype, numbers })
    }
}

struct Window {
    stride: Vec<u64>,
    dilation: Vec<u64>,
    /// Total padding of both ends.
    pads: Vec<u64>,
}

fn sizes(numbers: &[i64]) -> Result<Vec<u64>, String> {
    numbers
        .iter()
        .map(|number| u64::try_from(*number).map_err(|_| format!("invalid size {number}")))
        .collect()
}

/// Multiplies each dimension by a factor.
fn scaled(x: &Value, factors: &[u64]) -> Result<Vec<u64>, String> {
    let dims = x.dims.iter().zip(factors).map(|(dim, factor)| dim.checked_mul(*factor));
    Ok(dims.collect::<Option<_>>().ok_or(TOO_LARGE)?)
}

/// Returns the common shape after broadcasting.
fn broadcast(a: &[u64], b: &[u64]) -> Result<Vec<u64>, String> {
    let rank = a.len().max(b.len());
    let at =
        |dims: &[u64], place: usize| (place + dims.len()).checked_sub(rank).map_or(1, |place| dims[place]);
    let one = |place: usize| match (at(a, place), at(b, place)) {
        (a, b) if a == b => Ok(a),
        (1, other) | (other, 1) => Ok(other),
        (a, b) => Err(format!("cannot broadcast dimensions {a} and {b}")),
    };
    (0..rank).map(one).collect()
}

/// Returns the output shape of `Reshape`: 0 keeps a dimension, and -1 is inferred.
fn reshaped(x: &Value, wanted: &[i64], zero_is_zero: bool) -> Result<Vec<u64>, String> {
    let mut dims = Vec::with_capacity(wanted.len());
    let mut open = None;
    for (place, number) in wanted.iter().enumerate() {
        dims.push(match number {
            -1 if open.is_none() => {
                open = Some(place);
                1
            }
            0 if !zero_is_zero => *x.dims.get(place).ok_or("cannot keep a missing dimension")?,
            number => u64::try_from(*number).map_err(|_| format!("invalid size {number}"))?,
        });
    }
    let (all, known) = x.elements().zip(elements(&dims)).ok_or(TOO_LARGE)?;
    match open {
        Some(place) if known > 0 && all.is_multiple_of(known) => dims[place] = all / known,
        None if all == known => {}
        _ => return Err(format!("cannot reshape {all} elements to this shape")),
    }
    Ok(dims)
}
