//! Shapes of all values of a graph, from those of its inputs: what is open in the file is given, or taken for the batch.

use std::collections::HashMap;

use super::node::{self, Step, Task};
use super::{Declared, Dim, Graph, MOST_DIMS};
use crate::dtype::Dtype;
use crate::elements;
use crate::fault::{Fault, quoted};

/// A value between nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Value {
    /// Its dimensions.
    pub dims: Vec<u64>,
    /// The type of its elements.
    pub dtype: Dtype,
    /// Its numbers, where they are few, whole and known: shapes are computed with them.
    pub numbers: Option<Vec<i64>>,
}

impl Value {
    /// The number of its elements; none when it does not fit.
    pub fn elements(&self) -> Option<u64> {
        elements(&self.dims)
    }

    /// Its bytes, the last one filled or not; none for a type of unknown size.
    pub fn bytes(&self) -> Option<u64> {
        let (block, bytes) = self.dtype.block()?;
        Some(self.elements()?.checked_mul(bytes)?.div_ceil(block))
    }
}

/// The shape of an input: of the one with this name, or of the only one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Given {
    /// The input's name.
    pub name: Option<String>,
    /// Its dimensions, the batch among them.
    pub dims: Vec<u64>,
}

/// A graph whose shapes are known as far as they can be.
#[derive(Clone, Debug)]
pub struct Inferred {
    /// Every node, in order.
    pub steps: Vec<Step>,
    /// The first dimension of the first input.
    pub batch: u64,
}

impl Graph {
    /// The shapes of all values. An open first dimension is the batch; others must be given.
    pub fn infer(&self, given: &[Given], batch: u64) -> Result<Inferred, Fault> {
        let mut names = HashMap::new();
        let mut values: HashMap<&str, Value> = HashMap::new();
        for (name, weight) in &self.weights {
            values.insert(name, weight.value.clone());
        }
        let known: Vec<String> =
            self.inputs.iter().map(|input| format!("{} ({})", quoted(&input.name), input.shape())).collect();
        for one in given {
            let found = match &one.name {
                Some(name) => self.inputs.iter().any(|input| input.name == *name),
                None => self.inputs.len() == 1,
            };
            if !found {
                let named = one.name.as_deref().map_or("the input's name".to_owned(), quoted);
                let what = format!("{named} is not known; the inputs are {}", known.join(", "));
                return Err(Fault::field("--input", what));
            }
        }
        for input in &self.inputs {
            let own =
                given.iter().rev().find(|one| one.name.as_deref().is_none_or(|name| name == input.name));
            let dims = input.resolve(own.map(|one| one.dims.as_slice()), batch, &mut names)?;
            let value = Value { dims, dtype: input.dtype, numbers: None };
            if value.dims.len() > MOST_DIMS || value.elements().is_none() {
                return Err(Fault::field(
                    "--input",
                    format!("{}: its shape is too large", quoted(&input.name)),
                ));
            }
            values.insert(&input.name, value);
        }
        let batch = self.inputs.first().and_then(|input| values.get(input.name.as_str()));
        let batch = batch.and_then(|value| value.dims.first().copied()).unwrap_or(1);
        let stated: HashMap<&str, &Declared> =
            self.stated.iter().map(|value| (value.name.as_str(), value)).collect();
        let mut steps = Vec::with_capacity(self.nodes.len());
        for node in &self.nodes {
            let inputs: Vec<Option<&Value>> =
                node.inputs.iter().map(|name| values.get(name.as_str())).collect();
            let lacks =
                node.inputs.iter().zip(&inputs).find(|(name, value)| !name.is_empty() && value.is_none());
            let run = match lacks {
                Some((name, _)) => Err(format!("the shape of its input {} is not known", quoted(name))),
                None => node::run(node, &inputs),
            };
            let dtype = inputs.get(node.main()).copied().flatten().map(|value| value.dtype);
            let weights = node.inputs.iter().filter_map(|name| Some(self.weights.get(name)?.index)).collect();
            let (outputs, task) = match run {
                Ok((outputs, task)) => (outputs, Ok(task)),
                Err(reason) => (Vec::new(), Err(reason)),
            };
            let mut made = outputs.into_iter();
            for name in &node.outputs {
                let value = made.next().or_else(|| stated.get(name.as_str())?.known(&names));
                // Hostile shapes would grow from node to node.
                let sane = |value: &Value| value.dims.len() <= MOST_DIMS && value.elements().is_some();
                if let (Some(value), false) = (value.filter(sane), name.is_empty()) {
                    values.insert(name, value);
                }
            }
            steps.push(Step { name: node.name.clone(), op: node.op.clone(), task, weights, dtype });
        }
        Ok(Inferred { steps, batch })
    }
}

impl Declared {
    /// The dimensions of an input: those of the file, with what is given where they are open.
    fn resolve(
        &self,
        given: Option<&[u64]>,
        batch: u64,
        names: &mut HashMap<String, u64>,
    ) -> Result<Vec<u64>, Fault> {
        let fault = |what: String| Fault::field("--input", format!("{}: {what}", quoted(&self.name)));
        let Some(dims) = &self.dims else {
            let missing = || fault("the file does not state its shape".to_owned());
            return given.map(<[u64]>::to_vec).ok_or_else(missing);
        };
        if let Some(given) = given.filter(|given| given.len() != dims.len()) {
            let what = format!("{} dimensions where the file states {}", given.len(), self.shape());
            return Err(fault(what));
        }
        let mut out = Vec::with_capacity(dims.len());
        for (index, dim) in dims.iter().enumerate() {
            let asked = given.and_then(|given| given.get(index)).copied();
            let known = match dim {
                Dim::Known(number) => Some(*number),
                Dim::Named(name) => names.get(name).copied(),
                Dim::Open => None,
            };
            let value = match (known, asked) {
                (Some(known), Some(asked)) if known != asked => {
                    return Err(fault(format!(
                        "{asked} is given where the file states {known} ({})",
                        self.shape()
                    )));
                }
                (Some(known), _) => known,
                (None, Some(asked)) => asked,
                (None, None) if index == 0 => batch,
                (None, None) => {
                    return Err(fault(format!("its shape is {}: give it as NAME=1x3x224x224", self.shape())));
                }
            };
            if let Dim::Named(name) = dim {
                names.insert(name.clone(), value);
            }
            out.push(value);
        }
        Ok(out)
    }

    /// The value, if all its dimensions are known by now.
    fn known(&self, names: &HashMap<String, u64>) -> Option<Value> {
        let dim = |dim: &Dim| match dim {
            Dim::Known(number) => Some(*number),
            Dim::Named(name) => names.get(name).copied(),
            Dim::Open => None,
        };
        let dims = self.dims.as_ref()?.iter().map(dim).collect::<Option<Vec<u64>>>()?;
        Some(Value { dims, dtype: self.dtype, numbers: None })
    }
}

impl Step {
    /// Whether it costs nothing: it only gives numbers another name or shape.
    pub fn is_free(&self) -> bool {
        matches!(self.task, Ok(Task::Free))
    }
}
