//! `--input`: input sizes of convolutions, which model files do not contain.

use regex_lite::Regex;

use crate::cli::Failure;
use crate::cli::command::profile::pattern;
use crate::model::onnx::InputShape;
use crate::model::{Operation, Work};
use crate::profile::feed_forward::Input;

/// An input size for all convolutions, or for those whose name matches.
pub struct InputSize {
    text: String,
    names: Option<Regex>,
    /// Input of the convolution.
    pub input: Input,
}

/// Parses `3x224x224` and `REGEX=64x56x56/2/1`.
pub fn parse(texts: &[String]) -> Result<Vec<InputSize>, Failure> {
    let one = |text: &String| {
        let (names, size) = match text.rsplit_once('=') {
            Some((names, size)) => (Some(pattern::parse("--input", names)?), size),
            None => (None, text.as_str()),
        };
        let input = size.parse().map_err(|error| Failure(format!("--input {text}: {error}")))?;
        Ok(InputSize { text: text.clone(), names, input })
    };
    texts.iter().map(one).collect()
}

/// Parses the shapes of a graph's inputs: `1x3x224x224` and `NAME=1x3x224x224`.
pub fn shapes(texts: &[String]) -> Result<Vec<InputShape>, Failure> {
    let one = |text: &String| {
        let (name, dims) = match text.rsplit_once('=') {
            Some((name, dims)) => (Some(name.to_owned()), dims),
            None => (None, text.as_str()),
        };
        let number =
            |text: &str| text.parse::<u64>().ok().filter(|number| (1..=1_000_000_000).contains(number));
        let dims = dims.split('x').map(number).collect::<Option<Vec<u64>>>().filter(|dims| dims.len() <= 8);
        let dims = dims.ok_or_else(|| {
            Failure(format!(
                "--input {text}: invalid shape; expected [NAME=]1x3x224x224 with up to 8 sizes from 1 to 1e9"
            ))
        })?;
        Ok(InputShape { name, dims })
    };
    texts.iter().map(one).collect()
}

/// Returns the last size whose expression matches the name.
pub fn find(sizes: &[InputSize], name: &str) -> Option<Input> {
    let named = |size: &&InputSize| size.names.as_ref().is_some_and(|names| names.is_match(name));
    sizes.iter().rev().find(named).map(|size| size.input.clone())
}

/// Returns the input size of the whole network: the last one without an expression.
pub fn network(sizes: &[InputSize]) -> Option<&Input> {
    sizes.iter().rev().find(|size| size.names.is_none()).map(|size| &size.input)
}

/// Checks that every size applies to at least one convolution.
pub fn check(sizes: &[InputSize], convolutions: &[(&str, &Operation)]) -> Result<(), Failure> {
    for size in sizes {
        if convolutions.iter().all(|(name, operation)| !size.fits(name, operation)) {
            let shapes: Vec<String> =
                convolutions.iter().take(6).map(|(name, operation)| shape(name, operation)).collect();
            let expected = if shapes.is_empty() {
                "the model has no convolutions".to_owned()
            } else {
                format!("expected the input of a convolution, such as {}", shapes.join(", "))
            };
            return Err(Failure(format!("--input {}: matches no convolution; {expected}", size.text)));
        }
    }
    Ok(())
}

/// Describes a convolution with its expected input: `conv1.weight (3xHxW)`.
pub fn shape(name: &str, operation: &Operation) -> String {
    let Work::Convolution { inputs, kernel, .. } = &operation.work else { return name.to_owned() };
    let sizes = ["DxHxW", "HxW", "W"];
    let size = sizes.iter().rev().nth(kernel.len().saturating_sub(1)).copied().unwrap_or_default();
    format!("{name} ({inputs}x{size})")
}

impl InputSize {
    /// Returns `true` if the size applies to this convolution.
    fn fits(&self, name: &str, operation: &Operation) -> bool {
        let Work::Convolution { outputs, inputs, kernel } = &operation.work else { return false };
        let (rank, size) = (kernel.len(), &self.input.size);
        let channels = || size.first().is_some_and(|channels| channels == inputs || channels == outputs);
        match &self.names {
            Some(names) => names.is_match(name),
            None => size.len() == rank || (size.len() == rank + 1 && channels()),
        }
    }
}
