//! Shape inference: shapes of all values of a graph from those of its inputs.

use std::collections::HashMap;

use super::node::{self, Step, Task};
use super::{Declared, Dim, Graph, MAX_DIMS};
use crate::dtype::Dtype;
use crate::elements;
use crate::error::{FormatError, quoted};

/// Value between nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Value {
    /// Dimensions.
    pub dims: Vec<u64>,
    /// Element type.
    pub dtype: Dtype,
    /// Contents of small integer tensors, if known, to compute shapes.
    pub numbers: Option<Vec<i64>>,
}

impl Value {
    /// Returns the number of elements; `None` on overflow.
    pub fn elements(&self) -> Option<u64> {
        elements(&self.dims)
    }

    /// Returns the size in bytes, rounded up; `None` on overflow or if the size of the type is unknown.
    pub fn bytes(&self) -> Option<u64> {
        let (block, bytes) = self.dtype.block()?;
        Some(self.elements()?.checked_mul(bytes)?.div_ceil(block))
    }
}

/// Shape of a graph input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InputShape {
    /// Name of the input; `None` for the only one.
    pub name: Option<String>,
    /// Dimensions, including the batch.
    pub dims: Vec<u64>,
}

/// Graph after shape inference.
#[derive(Clone, Debug)]
pub struct Inferred {
    /// All nodes in order.
    pub steps: Vec<Step>,
    /// Batch size: the first dimension of the first input.
    pub batch: u64,
}

impl Graph {
    /// Infers the shapes of all values. An unknown first dimension of an input is `batch`; other unknown
    /// dimensions must be given.
    ///
    /// # Errors
    ///
    /// Fails if `given` contradicts the declared inputs, or leaves a dimension unknown.
    pub fn infer(&self, given: &[InputShape], batch: u64) -> Result<Inferred, FormatError> {
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
                let expected = known.join(", ");
                let message = match &one.name {
                    Some(name) => format!("unknown input {}; expected one of {expected}", quoted(name)),
                    None => format!("missing input name; expected one of {expected}"),
                };
                return Err(FormatError::field("--input", message));
            }
        }
        for input in &self.inputs {
            let own =
                given.iter().rev().find(|one| one.name.as_deref().is_none_or(|name| name == input.name));
            let dims = input.resolve(own.map(|one| one.dims.as_slice()), batch, &mut names)?;
            let value = Value { dims, dtype: input.dtype, numbers: None };
            if value.dims.len() > MAX_DIMS || value.elements().is_none() {
                return Err(FormatError::field(
                    "--input",
                    format!("{}: shape too large", quoted(&input.name)),
                ));
            }
            values.insert(&input.name, value);
        }
        let batch = self.inputs.first().and_then(|input| values.get(input.name.as_str()));
        let batch = batch.and_then(|value| value.dims.first().copied()).unwrap_or(1);
        let declared: HashMap<&str, &Declared> =
            self.declared.iter().map(|value| (value.name.as_str(), value)).collect();
        let mut steps = Vec::with_capacity(self.nodes.len());
        for node in &self.nodes {
            let inputs: Vec<Option<&Value>> =
                node.inputs.iter().map(|name| values.get(name.as_str())).collect();
            let unknown =
                node.inputs.iter().zip(&inputs).find(|(name, value)| !name.is_empty() && value.is_none());
            let evaluation = match unknown {
                Some((name, _)) => Err(format!("unknown shape of input {}", quoted(name))),
                None => node::evaluate(node, &inputs),
            };
            let dtype = inputs.get(node.main_input()).copied().flatten().map(|value| value.dtype);
            let weights = node.inputs.iter().filter_map(|name| Some(self.weights.get(name)?.index)).collect();
            let (outputs, task) = match evaluation {
                Ok((outputs, task)) => (outputs, Ok(task)),
                Err(reason) => (Vec::new(), Err(reason)),
            };
            let mut outputs = outputs.into_iter();
            for name in &node.outputs {
                let value = outputs.next().or_else(|| declared.get(name.as_str())?.known(&names));
                // Shapes of hostile graphs could grow from node to node.
                let sane = |value: &Value| value.dims.len() <= MAX_DIMS && value.elements().is_some();
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
    /// Resolves the dimensions of an input: those of the file, with unknown ones from `given`.
    fn resolve(
        &self,
        given: Option<&[u64]>,
        batch: u64,
        names: &mut HashMap<String, u64>,
    ) -> Result<Vec<u64>, FormatError> {
        let fault =
            |message: String| FormatError::field("--input", format!("{}: {message}", quoted(&self.name)));
        let Some(dims) = &self.dims else {
            let missing = || fault("unknown shape; pass --input NAME=1x3x224x224".to_owned());
            return given.map(<[u64]>::to_vec).ok_or_else(missing);
        };
        if let Some(given) = given.filter(|given| given.len() != dims.len()) {
            let message = format!("expected a shape like {}, found {} dimensions", self.shape(), given.len());
            return Err(fault(message));
        }
        let mut out = Vec::with_capacity(dims.len());
        for (index, dim) in dims.iter().enumerate() {
            let requested = given.and_then(|given| given.get(index)).copied();
            let known = match dim {
                Dim::Known(number) => Some(*number),
                Dim::Symbolic(name) => names.get(name).copied(),
                Dim::Unknown => None,
            };
            let value = match (known, requested) {
                (Some(known), Some(requested)) if known != requested => {
                    return Err(fault(format!(
                        "expected {known} in a shape like {}, found {requested}",
                        self.shape()
                    )));
                }
                (Some(known), _) => known,
                (None, Some(requested)) => requested,
                (None, None) if index == 0 => batch,
                (None, None) => {
                    return Err(fault(format!(
                        "unknown dimensions in the shape {}; pass --input NAME=1x3x224x224",
                        self.shape()
                    )));
                }
            };
            if let Dim::Symbolic(name) = dim {
                names.insert(name.clone(), value);
            }
            out.push(value);
        }
        Ok(out)
    }

    /// Returns the value if all its dimensions are known.
    fn known(&self, names: &HashMap<String, u64>) -> Option<Value> {
        let dim = |dim: &Dim| match dim {
            Dim::Known(number) => Some(*number),
            Dim::Symbolic(name) => names.get(name).copied(),
            Dim::Unknown => None,
        };
        let dims = self.dims.as_ref()?.iter().map(dim).collect::<Option<Vec<u64>>>()?;
        Some(Value { dims, dtype: self.dtype, numbers: None })
    }
}

impl Step {
    /// Returns true if the node costs nothing, because it only renames or reshapes values.
    pub fn is_free(&self) -> bool {
        matches!(self.task, Ok(Task::Free))
    }
}
