//! ONNX graphs described in YAML.

use serde::Deserialize;
use serde_yaml::{Mapping, Value};

use crate::graph::{Attribute, FLOAT, Graph, INT8, UINT8};

/// Shapes may end in `U8` or `I8` and are F32 otherwise; dimensions may have names.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Network {
    #[serde(default)]
    inputs: Mapping,
    /// Weights without data.
    #[serde(default)]
    weights: Mapping,
    /// Lists of integers.
    #[serde(default)]
    numbers: Mapping,
    /// Shapes of results stated in the file.
    #[serde(default)]
    values: Mapping,
    /// `{Conv: [image, weights], to: result, strides: [2, 2]}`: the operator with its inputs, then `to`, then attributes.
    #[serde(default)]
    nodes: Vec<Mapping>,
}

impl Network {
    pub fn graph(&self) -> Graph {
        let mut graph = Graph::default();
        for (tag, values) in [(11, &self.inputs), (13, &self.values)] {
            for (name, value) in values {
                let (dims, kind) = shape(value);
                let dims: Vec<&str> = dims.iter().map(String::as_str).collect();
                graph = graph.value(tag, text(name), &dims, kind);
            }
        }
        for (name, value) in &self.weights {
            let (dims, kind) = shape(value);
            let dims: Vec<i64> = dims.iter().map(|dim| dim.parse().expect("a number")).collect();
            graph = graph.weight(text(name), &dims, kind);
        }
        for (name, value) in &self.numbers {
            graph = graph.numbers(text(name), &integers(value));
        }
        self.nodes.iter().fold(graph, node)
    }
}

fn node(graph: Graph, node: &Mapping) -> Graph {
    let mut entries = node.iter().map(|(key, value)| (text(key), value));
    let (operator, inputs) = entries.next().expect("an operator");
    let attributes =
        entries.filter(|(name, _)| *name != "to").map(|(name, value)| (name, integers(value), value));
    let attributes: Vec<_> = attributes.collect();
    let attributes = attributes.iter().map(|(name, list, value)| match value {
        Value::Sequence(_) => (*name, Attribute::List(list)),
        Value::String(word) => (*name, Attribute::Word(word)),
        _ => (*name, Attribute::Number(list[0])),
    });
    let outputs = node.get("to").map(texts).unwrap_or_default();
    graph.node(operator, &texts(inputs), &outputs, &attributes.collect::<Vec<_>>())
}

fn shape(value: &Value) -> (Vec<String>, i64) {
    let mut dims: Vec<String> = value.as_sequence().expect("a shape").iter().map(dimension).collect();
    let kind = match dims.last().map(String::as_str) {
        Some("U8") => UINT8,
        Some("I8") => INT8,
        _ => return (dims, FLOAT),
    };
    dims.pop();
    (dims, kind)
}

fn dimension(value: &Value) -> String {
    value.as_str().map_or_else(|| integers(value)[0].to_string(), str::to_owned)
}

/// A number or a list of numbers; empty for a word.
fn integers(value: &Value) -> Vec<i64> {
    let all = value.as_sequence().cloned().unwrap_or_else(|| vec![value.clone()]);
    all.iter().filter_map(Value::as_i64).collect()
}

fn text(value: &Value) -> &str {
    value.as_str().expect("a text")
}

fn texts(value: &Value) -> Vec<&str> {
    value.as_sequence().map_or_else(|| vec![text(value)], |all| all.iter().map(text).collect())
}
