//! ONNX: a graph of nodes with their weights. The messages are those of `onnx.proto`, with only the fields that shapes and costs
//! need; nested ones are decoded one at a time, and weights are never copied.

mod attribute;
mod infer;
mod node;

use std::collections::{HashMap, HashSet};

use prost::Message;
use prost::bytes::Bytes;

use super::Tensor;
use super::dtype::Dtype;
use super::fault::{Fault, quoted};

use attribute::Attributes;
pub use infer::{Given, Inferred, Value};
pub use node::{Geometry, Heads, Product, Step, Task};

/// More nodes than any graph has.
const MOST_NODES: usize = 1 << 17;

/// More dimensions than any value has.
const MOST_DIMS: usize = 64;

/// The most numbers of a tensor that are kept, for shapes that are computed.
const MOST_NUMBERS: u64 = 128;

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

/// A graph of nodes, as a file states it.
#[derive(Clone, Debug)]
pub struct Graph {
    nodes: Vec<Node>,
    /// What goes in, in order.
    inputs: Vec<Declared>,
    /// Values between the nodes, and results, whose shape the file states.
    stated: Vec<Declared>,
    weights: HashMap<String, Weight>,
}

/// One node.
#[derive(Clone, Debug)]
struct Node {
    name: String,
    op: String,
    inputs: Vec<String>,
    outputs: Vec<String>,
    attributes: Attributes,
}

/// A tensor of the file.
#[derive(Clone, Debug)]
struct Weight {
    /// Its place among the model's tensors.
    index: usize,
    value: Value,
}

/// A value with a name, whose dimensions may be open.
#[derive(Clone, Debug)]
struct Declared {
    name: String,
    dtype: Dtype,
    dims: Option<Vec<Dim>>,
}

/// A dimension: a number, a name for one, or nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Dim {
    Known(u64),
    Named(String),
    Open,
}

/// What a file holds: its graph and its weights.
pub struct Read {
    /// The graph.
    pub graph: Graph,
    /// The weights. Where their data lie is not kept.
    pub tensors: Vec<Tensor>,
    /// The program that wrote it.
    pub producer: String,
}

/// Whether a file may be an ONNX model: its format has no mark, but all begin with a small number of a version.
pub(super) fn looks_like(bytes: &[u8]) -> bool {
    // Behind the version come the producer, a domain, the graph or the sets of operators, each a field with a length.
    matches!(bytes, [0x08, 1..=64, 0x12 | 0x1a | 0x22 | 0x32 | 0x3a | 0x42 | 0x72, ..])
}

/// Reads a model.
pub fn read(bytes: Bytes) -> Result<Read, Fault> {
    let model = ModelProto::decode(bytes).map_err(|error| Fault::file(format!("the model: {error}")))?;
    let graph = model.graph.ok_or_else(|| Fault::file("the model has no graph"))?;
    let graph = GraphProto::decode(graph).map_err(|error| Fault::file(format!("the graph: {error}")))?;
    if graph.node.len() > MOST_NODES {
        return Err(Fault::file(format!("{} nodes, but at most {MOST_NODES} are read", graph.node.len())));
    }
    let mut tensors = Vec::new();
    let mut weights = HashMap::new();
    for (index, bytes) in graph.initializer.into_iter().enumerate() {
        let proto = TensorProto::decode(bytes)
            .map_err(|error| Fault::file(format!("initializer {index}: {error}")))?;
        let value = weight(&proto)?;
        let tensor = Tensor {
            name: proto.name.clone(),
            dtype: value.dtype,
            dims: value.dims.clone(),
            // The data are never read.
            offset: u64::MAX,
            bytes: value.bytes(),
            file: 0,
            beside: None,
        };
        if weights.insert(proto.name.clone(), Weight { index: tensors.len(), value }).is_some() {
            return Err(Fault::file(format!("tensor {} is there twice", quoted(&proto.name))));
        }
        tensors.push(tensor);
    }
    let mut made: HashSet<String> = HashSet::new();
    let mut nodes = Vec::with_capacity(graph.node.len());
    for (index, bytes) in graph.node.into_iter().enumerate() {
        let fault = |error: &dyn std::fmt::Display| Fault::file(format!("node {index}: {error}"));
        let proto = NodeProto::decode(bytes).map_err(|error| fault(&error))?;
        for output in proto.output.iter().filter(|name| !name.is_empty()) {
            if !made.insert(output.clone()) {
                return Err(fault(&format!("{} is made by another node too", quoted(output))));
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
            let proto =
                ValueInfoProto::decode(bytes).map_err(|error| Fault::file(format!("a value: {error}")))?;
            Declared::of(proto)
        };
        all.into_iter().map(one).collect::<Result<Vec<Declared>, Fault>>()
    };
    // Old files list their weights among the inputs.
    let inputs =
        declared(graph.input)?.into_iter().filter(|input| !weights.contains_key(&input.name)).collect();
    let mut stated = declared(graph.value_info)?;
    stated.extend(declared(graph.output)?);
    let graph = Graph { nodes, inputs, stated, weights };
    Ok(Read { graph, tensors, producer: model.producer_name })
}

/// A tensor of the file as a value; small ones of whole numbers with their numbers.
fn weight(proto: &TensorProto) -> Result<Value, Fault> {
    let fault = |what: String| Fault::file(format!("tensor {}: {what}", quoted(&proto.name)));
    if proto.dims.len() > MOST_DIMS {
        return Err(fault(format!("{} dimensions, but at most {MOST_DIMS} are read", proto.dims.len())));
    }
    let dims = proto.dims.iter().map(|dim| u64::try_from(*dim)).collect::<Result<Vec<u64>, _>>();
    let dims = dims.map_err(|_| fault("a negative dimension".to_owned()))?;
    let elements = super::elements(&dims).ok_or_else(|| fault("dimensions overflow".to_owned()))?;
    let dtype = dtype(proto.data_type);
    let mut value = Value { dims, dtype, numbers: None };
    let (Some(bytes), raw) = (value.bytes(), proto.raw_data.len() as u64) else { return Ok(value) };
    if raw > 0 && raw != bytes {
        return Err(fault(format!(
            "{raw} bytes for {elements} elements of type {dtype}, which take {bytes}"
        )));
    }
    if elements <= MOST_NUMBERS {
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
            // Scales are small floats, and of those only whole ones matter.
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

/// The type behind a number of the format.
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
    fn of(proto: ValueInfoProto) -> Result<Declared, Fault> {
        let tensor = proto.kind.and_then(|kind| kind.tensor).unwrap_or_default();
        let dim = |dim: DimProto| match dim.value {
            Some(value) => u64::try_from(value)
                .map(Dim::Known)
                .map_err(|_| Fault::file(format!("{}: a negative dimension", quoted(&proto.name)))),
            None if dim.param.is_empty() => Ok(Dim::Open),
            None => Ok(Dim::Named(dim.param)),
        };
        let dims = tensor.shape.map(|shape| shape.dim.into_iter().map(dim).collect::<Result<_, _>>());
        Ok(Declared { name: proto.name.clone(), dtype: dtype(tensor.elem_type), dims: dims.transpose()? })
    }

    /// Its shape for people, a question mark for what is open.
    fn shape(&self) -> String {
        let one = |dim: &Dim| match dim {
            Dim::Known(number) => number.to_string(),
            Dim::Named(name) => quoted(name),
            Dim::Open => "?".to_owned(),
        };
        self.dims.as_ref().map_or("?".to_owned(), |dims| dims.iter().map(one).collect::<Vec<_>>().join("x"))
    }
}
