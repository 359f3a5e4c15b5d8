//! The attributes of a node: those that say something about shapes.

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

/// What a node says beside its inputs.
#[derive(Clone, Debug, Default)]
pub(super) struct Attributes {
    numbers: HashMap<String, i64>,
    lists: HashMap<String, Vec<i64>>,
    words: HashMap<String, String>,
    /// A tensor that the node makes of nothing.
    pub constant: Option<Value>,
    /// Whether it runs graphs of its own.
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

    /// A number; none where it is not said.
    pub fn number(&self, name: &str) -> Option<i64> {
        self.numbers.get(name).copied()
    }

    /// Whether a number that stands for yes or no is not zero.
    pub fn flag(&self, name: &str) -> bool {
        self.number(name).is_some_and(|number| number != 0)
    }

    /// A list of numbers; none where it is not said or empty.
    pub fn list(&self, name: &str) -> Option<&[i64]> {
        self.lists.get(name).map(Vec::as_slice).filter(|list| !list.is_empty())
    }

    /// A word.
    pub fn word(&self, name: &str) -> Option<&str> {
        self.words.get(name).map(String::as_str).filter(|word| !word.is_empty())
    }
}
