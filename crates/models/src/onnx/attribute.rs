//! Attributes of nodes, as far as they affect shapes.

use std::collections::HashMap;

use prost::Message;
use prost::bytes::Bytes;

use super::infer::Value;
use super::{TensorProto, weight};

#[derive(Clone, PartialEq, Message)]
struct AttributeProto {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(int64, tag = "3")]
    i: i64,
    #[prost(bytes = "bytes", tag = "4")]
    s: Bytes,
    #[prost(bytes = "bytes", optional, tag = "5")]
    t: Option<Bytes>,
    #[prost(bytes = "bytes", optional, tag = "6")]
    g: Option<Bytes>,
    #[prost(int64, repeated, tag = "8")]
    ints: Vec<i64>,
}

/// Attributes of a node by name.
#[derive(Clone, Debug, Default)]
pub(super) struct Attributes {
    numbers: HashMap<String, i64>,
    lists: HashMap<String, Vec<i64>>,
    words: HashMap<String, String>,
    /// Tensor attribute, such as the value of a `Constant`.
    pub constant: Option<Value>,
    /// True if an attribute is a subgraph.
    pub has_graph: bool,
}

impl Attributes {
    pub fn read(all: Vec<Bytes>) -> Result<Attributes, String> {
        let mut out = Attributes::default();
        for bytes in all {
            let proto = AttributeProto::decode(bytes).map_err(|error| error.to_string())?;
            if let Some(tensor) = proto.t {
                let tensor = TensorProto::decode(tensor).map_err(|error| error.to_string())?;
                out.constant = Some(weight(&tensor).map_err(|fault| fault.to_string())?);
            }
            out.has_graph |= proto.g.is_some();
            if let Ok(word) = std::str::from_utf8(&proto.s)
                && word.len() < 64
            {
                out.words.insert(proto.name.clone(), word.to_owned());
            }
            out.numbers.insert(proto.name.clone(), proto.i);
            out.lists.insert(proto.name, proto.ints);
        }
        Ok(out)
    }

    /// Returns an integer attribute.
    pub fn number(&self, name: &str) -> Option<i64> {
        self.numbers.get(name).copied()
    }

    /// Returns true if an integer attribute is set and not zero.
    pub fn flag(&self, name: &str) -> bool {
        self.number(name).is_some_and(|number| number != 0)
    }

    /// Returns a list attribute unless it is empty.
    pub fn list(&self, name: &str) -> Option<&[i64]> {
        self.lists.get(name).map(Vec::as_slice).filter(|list| !list.is_empty())
    }

    /// Returns a string attribute unless it is empty.
    pub fn word(&self, name: &str) -> Option<&str> {
        self.words.get(name).map(String::as_str).filter(|word| !word.is_empty())
    }
}
