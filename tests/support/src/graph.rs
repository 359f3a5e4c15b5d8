//! ONNX files built in memory, field by field.

/// A protobuf message under construction.
#[derive(Clone, Default)]
pub struct Message(pub Vec<u8>);

impl Message {
    pub fn varint(mut self, mut number: u64) -> Message {
        while number >= 0x80 {
            self.0.push(number as u8 | 0x80);
            number >>= 7;
        }
        self.0.push(number as u8);
        self
    }

    pub fn int(self, tag: u64, number: i64) -> Message {
        self.varint(tag << 3).varint(number as u64)
    }

    pub fn bytes(self, tag: u64, bytes: &[u8]) -> Message {
        let mut out = self.varint(tag << 3 | 2).varint(bytes.len() as u64);
        out.0.extend(bytes);
        out
    }

    pub fn text(self, tag: u64, text: &str) -> Message {
        self.bytes(tag, text.as_bytes())
    }

    pub fn message(self, tag: u64, message: &Message) -> Message {
        self.bytes(tag, &message.0)
    }

    pub fn each(self, tag: u64, all: &[&str]) -> Message {
        all.iter().fold(self, |out, text| out.text(tag, text))
    }
}

/// A graph under construction.
#[derive(Clone, Default)]
pub struct Graph(pub Message);

pub const FLOAT: i64 = 1;
pub const UINT8: i64 = 2;
pub const INT8: i64 = 3;
pub const INT64: i64 = 7;

/// The value of an attribute.
pub enum Attribute<'a> {
    Number(i64),
    List(&'a [i64]),
    Word(&'a str),
}

use Attribute::{List, Number, Word};

impl Graph {
    pub fn node(
        self,
        op: &str,
        inputs: &[&str],
        outputs: &[&str],
        attributes: &[(&str, Attribute)],
    ) -> Graph {
        let mut node = Message::default().each(1, inputs).each(2, outputs).text(4, op);
        for (name, value) in attributes {
            let attribute = Message::default().text(1, name);
            let attribute = match value {
                Number(number) => attribute.int(3, *number),
                List(list) => list.iter().fold(attribute, |out, number| out.int(8, *number)),
                Word(word) => attribute.text(4, word),
            };
            node = node.message(5, &attribute);
        }
        Graph(self.0.message(1, &node))
    }

    /// Weights without data, as in files with external data.
    pub fn weight(self, name: &str, dims: &[i64], kind: i64) -> Graph {
        let tensor =
            dims.iter().fold(Message::default(), |out, dim| out.int(1, *dim)).int(2, kind).text(8, name);
        Graph(self.0.message(5, &tensor))
    }

    pub fn numbers(self, name: &str, numbers: &[i64]) -> Graph {
        let raw: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
        let tensor =
            Message::default().int(1, numbers.len() as i64).int(2, INT64).text(8, name).bytes(9, &raw);
        Graph(self.0.message(5, &tensor))
    }

    pub fn value(self, tag: u64, name: &str, dims: &[&str], kind: i64) -> Graph {
        let shape = dims.iter().fold(Message::default(), |shape, dim| {
            let one = match dim.parse() {
                Ok(number) => Message::default().int(1, number),
                Err(_) => Message::default().text(2, dim),
            };
            shape.message(1, &one)
        });
        let tensor = Message::default().int(1, kind).message(2, &shape);
        let kind = Message::default().message(1, &tensor);
        Graph(self.0.message(tag, &Message::default().text(1, name).message(2, &kind)))
    }

    pub fn input(self, name: &str, dims: &[&str]) -> Graph {
        self.value(11, name, dims, FLOAT)
    }

    pub fn build(&self) -> Vec<u8> {
        Message::default().int(1, 8).text(2, "by hand").message(7, &self.0).0
    }
}
