//! `--input`: the sizes that the convolutions of a file work on, which no file says.

use regex_lite::Regex;

use crate::model::onnx::Given;
use crate::model::{Operation, Work};
use crate::profile::stack::Input;
use crate::program::Failure;
use crate::program::command::profile::pattern;

/// A size, for all convolutions or for those that an expression finds.
pub struct Sized {
    text: String,
    names: Option<Regex>,
    /// The size itself.
    pub input: Input,
}

/// Reads `3x224x224` and `REGEX=64x56x56/2/1`.
pub fn parse(texts: &[String]) -> Result<Vec<Sized>, Failure> {
    let one = |text: &String| {
        let (names, size) = match text.rsplit_once('=') {
            Some((names, size)) => (Some(pattern::parse("--input", names)?), size),
            None => (None, text.as_str()),
        };
        let input = size.parse().map_err(|error| Failure(format!("--input {text}: {error}")))?;
        Ok(Sized { text: text.clone(), names, input })
    };
    texts.iter().map(one).collect()
}

/// Reads `1x3x224x224` and `NAME=1x3x224x224`: the shapes of a graph's inputs.
pub fn shapes(texts: &[String]) -> Result<Vec<Given>, Failure> {
    let one = |text: &String| {
        let (name, dims) = match text.rsplit_once('=') {
            Some((name, dims)) => (Some(name.to_owned()), dims),
            None => (None, text.as_str()),
        };
        let number =
            |text: &str| text.parse::<u64>().ok().filter(|number| (1..=1_000_000_000).contains(number));
        let dims = dims.split('x').map(number).collect::<Option<Vec<u64>>>().filter(|dims| dims.len() <= 8);
        let dims = dims.ok_or_else(|| {
            Failure(format!("--input {text}: a shape is NAME=1x3x224x224, up to 8 numbers, all above zero"))
        })?;
        Ok(Given { name, dims })
    };
    texts.iter().map(one).collect()
}

/// What is said of a convolution by its name: by the last that names it.
pub fn find(sizes: &[Sized], name: &str) -> Option<Input> {
    let named = |sized: &&Sized| sized.names.as_ref().is_some_and(|names| names.is_match(name));
    sizes.iter().rev().find(named).map(|sized| sized.input.clone())
}

/// The input of the whole network: what is said without a name.
pub fn network(sizes: &[Sized]) -> Option<&Input> {
    sizes.iter().rev().find(|sized| sized.names.is_none()).map(|sized| &sized.input)
}

/// Refuses sizes that no convolution takes.
pub fn check(sizes: &[Sized], convolutions: &[(&str, &Operation)]) -> Result<(), Failure> {
    for sized in sizes {
        if convolutions.iter().all(|(name, operation)| !sized.fits(name, operation)) {
            let some: Vec<String> =
                convolutions.iter().take(6).map(|(name, operation)| shape(name, operation)).collect();
            let some = if some.is_empty() {
                "there are none".into()
            } else {
                format!("some are {}", some.join(", "))
            };
            return Err(Failure(format!("--input {}: no convolution takes this; {some}", sized.text)));
        }
    }
    Ok(())
}

/// A convolution and the input that its weights ask for: `conv1.weight (3xHxW)`.
pub fn shape(name: &str, operation: &Operation) -> String {
    let Work::Convolution { inputs, kernel, .. } = &operation.work else { return name.to_owned() };
    let sizes = ["DxHxW", "HxW", "W"];
    let size = sizes.iter().rev().nth(kernel.len().saturating_sub(1)).copied().unwrap_or_default();
    format!("{name} ({inputs}x{size})")
}

impl Sized {
    /// Whether it says something about this convolution, the number of channels included.
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
