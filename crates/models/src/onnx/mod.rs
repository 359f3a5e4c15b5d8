//! ONNX graphs. The protobuf messages follow `onnx.proto`, limited to the fields that shapes and costs depend on. Nested messages
//! are decoded one at a time, and weights are not copied.

mod attribute;
mod infer;
mod node;

use std::collections::{HashMap, HashSet};

use prost::Message;
use prost::bytes::Bytes;

use super::Tensor;
use super::dtype::Dtype;
use super::error::{FormatError, quoted};

use attribute::Attributes;
pub use infer::{Inferred, InputShape, Value};
pub use node::{Geometry, Heads, Product, Step, Task};

/// Maximum number of nodes.
const MAX_NODES: usize = 1 << 17;

/// Maximum number of dimensions of a value.
const MAX_DIMS: usize = 64;

/// Maximum number of elements for which the contents of a tensor are kept, to compute shapes.
const MAX_NUMBERS: u64 = 128;

#[derive(Clone, PartialEq, Message)]
struct ModelProto {
    #[prost(string, tag = "2")]
    producer_name: String,
    #[prost(bytes = "bytes", optional, tag = "7")]
    graph: Option<Bytes>,
}

#[derive(Clone, PartialEq, Message)]
struct GraphProto {
    #[prost(bytes = "bytes", repeated, tag = "1")]
    node: Vec<Bytes>,
    #[prost(bytes = "bytes", repeated, tag = "5")]
    initializer: Vec<Bytes>,
    #[prost(bytes = "bytes", repeated, tag = "11")]
    input: Vec<Bytes>,
    #[prost(bytes = "bytes", repeated, tag = "12")]
    output: Vec<Bytes>,
    #[prost(bytes = "bytes", repeated, tag = "13")]
    value_info: Vec<Bytes>,
}

#[derive(Clone, PartialEq, Message)]
struct NodeProto {
    #[prost(string, repeated, tag = "1")]
    input: Vec<String>,
    #[prost(string, repeated, tag = "2")]
    output: Vec<String>,
    #[prost(string, tag = "3")]
    name: String,
    #[prost(string, tag = "4")]
    op_type: String,
    #[prost(bytes = "bytes", repeated, tag = "5")]
    attribute: Vec<Bytes>,
    #[prost(string, tag = "7")]
    domain: String,
}

#[derive(Clone, PartialEq, Message)]
struct TensorProto {
    #[prost(int64, repeated, tag = "1")]
    dims: Vec<i64>,
    #[prost(int32, tag = "2")]
    data_type: i32,
    #[prost(int32, repeated, tag = "5")]
    int32_data: Vec<i32>,
    #[prost(int64, repeated, tag = "7")]
    int64_data: Vec<i64>,
    #[prost(string, tag = "8")]
    name: String,
    #[prost(bytes = "bytes", tag = "9")]
    raw_data: Bytes,
}

#[derive(Clone, PartialEq, Message)]
struct ValueInfoProto {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(message, optional, tag = "2")]
    kind: Option<TypeProto>,
}

#[derive(Clone, PartialEq, Message)]
struct TypeProto {
    #[prost(message, optional, tag = "1")]
    tensor: Option<TensorType>,
}

#[derive(Clone, PartialEq, Message)]
struct TensorType {
    #[prost(int32, tag = "1")]
    elem_type: i32,
    #[prost(message, optional, tag = "2")]
    shape: Option<ShapeProto>,
}

#[derive(Clone, PartialEq, Message)]
struct ShapeProto {
    #[prost(message, repeated, tag = "1")]
    dim: Vec<DimProto>,
}

#[derive(Clone, PartialEq, Message)]
struct DimProto {
    #[prost(int64, optional, tag = "1")]
    value: Option<i64>,
    #[prost(string, tag = "2")]
    param: String,
}

/// Graph of an ONNX file.
#[derive(Clone, Debug)]
pub struct Graph {
    nodes: Vec<Node>,
    inputs: Vec<Declared>,
    /// Intermediate values and outputs with a declared shape.
    declared: Vec<Declared>,
    weights: HashMap<String, Weight>,
}

#[derive(Clone, Debug)]
struct Node {
    name: String,
    op: String,
    inputs: Vec<String>,
    outputs: Vec<String>,
    attributes: Attributes,
}

/// Initializer of a graph.
#[derive(Clone, Debug)]
struct Weight {
    /// Index into the tensors of the model.
    index: usize,
    value: Value,
}

/// Declared value, whose dimensions may be unknown.
#[derive(Clone, Debug)]
struct Declared {
    name: String,
    dtype: Dtype,
    dims: Option<Vec<Dim>>,
}

/// Dimension: fixed, symbolic or unknown.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Dim {
    Known(u64),
    Symbolic(String),
    Unknown,
}

/// Contents of an ONNX file.
pub struct Read {
    /// Nodes, inputs and weights.
    pub graph: Graph,
    /// Weights, without the offsets of their data.
    pub tensors: Vec<Tensor>,
    /// Name of the program that wrote the file.
    pub producer: String,
}

/// Returns true if a file may be an ONNX model. The format has no magic number, but starts with a small version.
pub(super) fn looks_like(bytes: &[u8]) -> bool {
    // Producer, domain, graph or operator sets follow the version, all as length-delimited fields.
    matches!(bytes, [0x08, 1..=64, 0x12 | 0x1a | 0x22 | 0x32 | 0x3a | 0x42 | 0x72, ..])
}

/// Parses an ONNX file.
pub fn read(bytes: Bytes) -> Result<Read, FormatError> {
    let model =
        ModelProto::decode(bytes).map_err(|error| FormatError::file(format!("invalid model: {error}")))?;
    let graph = model.graph.ok_or_else(|| FormatError::file("missing graph"))?;
    let graph =
        GraphProto::decode(graph).map_err(|error| FormatError::file(format!("invalid graph: {error}")))?;
    if graph.node.len() > MAX_NODES {
        return Err(FormatError::file(format!(
            "found {} nodes; expected at most {MAX_NODES}",
            graph.node.len()
        )));
    }
    let mut tensors = Vec::new();
    let mut weights = HashMap::new();
    for (index, bytes) in graph.initializer.into_iter().enumerate() {
        let proto = TensorProto::decode(bytes)
            .map_err(|error| FormatError::file(format!("initializer {index}: {error}")))?;
        let value = weight(&proto)?;
        let tensor = Tensor {
            name: proto.name.clone(),
            dtype: value.dtype,
            dims: value.dims.clone(),
            // The data is never read.
            offset: u64::MAX,
            bytes: value.bytes(),
            file: 0,
            companion_of: None,
        };
        if weights.insert(proto.name.clone(), Weight { index: tensors.len(), value }).is_some() {
            return Err(FormatError::file(format!("duplicate tensor {}", quoted(&proto.name))));
        }
        tensors.push(tensor);
    }
    let mut outputs: HashSet<String> = HashSet::new();
    let mut nodes = Vec::with_capacity(graph.node.len());
    for (index, bytes) in graph.node.into_iter().enumerate() {
        let fault = |error: &dyn std::fmt::Display| FormatError::file(format!("node {index}: {error}"));
        let proto = NodeProto::decode(bytes).map_err(|error| fault(&error))?;
        for output in proto.output.iter().filter(|name| !name.is_empty()) {
            if !outputs.insert(output.clone()) {
                return Err(fault(&format!("duplicate output {}", quoted(output))));
            }
        }
        let attributes = Attributes::read(proto.attribute).map_err(|error| fault(&error))?;
        nodes.push(Node {
            name: if proto.name.is_empty() { format!("{}_{index}", proto.op_type) } else { proto.name },
            op: proto.op_type,
            inputs: proto.input,
            outputs: proto.output,
            attributes,
        });
    }
    let declared = |all: Vec<Bytes>| {
        let one = |bytes| {
            let proto = ValueInfoProto::decode(bytes)
                .map_err(|error| FormatError::file(format!("invalid value: {error}")))?;
            Declared::from_proto(proto)
        };
        all.into_iter().map(one).collect::<Result<Vec<Declared>, FormatError>>()
    };
    // Old files also list weights as inputs.
    let inputs =
        declared(graph.input)?.into_iter().filter(|input| !weights.contains_key(&input.name)).collect();
    let mut values = declared(graph.value_info)?;
    values.extend(declared(graph.output)?);
    let graph = Graph { nodes, inputs, declared: values, weights };
    Ok(Read { graph, tensors, producer: model.producer_name })
}

/// Converts an initializer to a value, with the contents of small integer tensors.
fn weight(proto: &TensorProto) -> Result<Value, FormatError> {
    let fault = |message: String| FormatError::file(format!("tensor {}: {message}", quoted(&proto.name)));
    if proto.dims.len() > MAX_DIMS {
        return Err(fault(format!("found {} dimensions; expected at most {MAX_DIMS}", proto.dims.len())));
    }
    let dims = proto.dims.iter().map(|dim| u64::try_from(*dim)).collect::<Result<Vec<u64>, _>>();
    let dims = dims.map_err(|_| fault("negative dimension".to_owned()))?;
    let elements = super::elements(&dims).ok_or_else(|| fault("dimensions overflow".to_owned()))?;
    let dtype = dtype(proto.data_type);
    let mut value = Value { dims, dtype, numbers: None };
    let (Some(bytes), raw) = (value.bytes(), proto.raw_data.len() as u64) else { return Ok(value) };
    if raw > 0 && raw != bytes {
        return Err(fault(format!("{elements} elements of type {dtype} take {bytes} bytes, found {raw}")));
    }
    if elements <= MAX_NUMBERS {
        let whole = match dtype {
            Dtype::I64 if raw > 0 => proto
                .raw_data
                .chunks_exact(8)
                .map(|bytes| bytes.try_into().map(i64::from_le_bytes))
                .collect::<Result<Vec<i64>, _>>()
                .ok(),
            Dtype::I32 if raw > 0 => proto
                .raw_data
                .chunks_exact(4)
                .map(|bytes| bytes.try_into().map(|bytes| i64::from(i32::from_le_bytes(bytes))))
                .collect::<Result<Vec<i64>, _>>()
                .ok(),
            // Resize scales are floats; only integral ones are needed.
            Dtype::F32 if raw > 0 => proto
                .raw_data
                .chunks_exact(4)
                .map(|bytes| {
                    let number = f32::from_le_bytes(bytes.try_into().ok()?);
                    (number.fract() == 0.0 && number.abs() < 1e9).then_some(number as i64)
                })
                .collect(),
            Dtype::I64 => Some(proto.int64_data.clone()),
            Dtype::I32 => Some(proto.int32_data.iter().map(|number| i64::from(*number)).collect()),
            _ => None,
        };
        value.numbers = whole.filter(|numbers| numbers.len() as u64 == elements);
    }
    Ok(value)
}

/// Maps a type number of the format.
fn dtype(number: i32) -> Dtype {
    match number {
        1 => Dtype::F32,
        2 => Dtype::U8,
        3 => Dtype::I8,
        4 => Dtype::U16,
        5 => Dtype::I16,
        6 => Dtype::I32,
        7 => Dtype::I64,
        9 => Dtype::Bool,
        10 => Dtype::F16,
        11 => Dtype::F64,
        12 => Dtype::U32,
        13 => Dtype::U64,
        14 => Dtype::C64,
        16 => Dtype::Bf16,
        17 => Dtype::F8E4M3,
        18 => Dtype::F8E4M3Fnuz,
        19 => Dtype::F8E5M2,
        20 => Dtype::F8E5M2Fnuz,
        21 | 22 => Dtype::Int4,
        23 => Dtype::F4,
        24 => Dtype::F8E8M0,
        25 | 26 => Dtype::Int2,
        other => Dtype::Unknown(other.unsigned_abs()),
    }
}

impl Declared {
    fn from_proto(proto: ValueInfoProto) -> Result<Declared, FormatError> {
        let tensor = proto.kind.and_then(|kind| kind.tensor).unwrap_or_default();
        let dim = |dim: DimProto| match dim.value {
            Some(value) => u64::try_from(value)
                .map(Dim::Known)
                .map_err(|_| FormatError::file(format!("{}: negative dimension", quoted(&proto.name)))),
            None if dim.param.is_empty() => Ok(Dim::Unknown),
            None => Ok(Dim::Symbolic(dim.param)),
        };
        let dims = tensor.shape.map(|shape| shape.dim.into_iter().map(dim).collect::<Result<_, _>>());
        Ok(Declared { name: proto.name.clone(), dtype: dtype(tensor.elem_type), dims: dims.transpose()? })
    }

    /// Formats the shape, with `?` for unknown dimensions.
    fn shape(&self) -> String {
        let one = |dim: &Dim| match dim {
            Dim::Known(number) => number.to_string(),
            Dim::Symbolic(name) => quoted(name),
            Dim::Unknown => "?".to_owned(),
        };
        self.dims.as_ref().map_or("?".to_owned(), |dims| dims.iter().map(one).collect::<Vec<_>>().join("x"))
    }
}
