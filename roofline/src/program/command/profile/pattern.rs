//! Regular expressions that users write.

use regex_lite::Regex;

use crate::program::Failure;

/// The expression that `flag` was given.
pub fn parse(flag: &str, text: &str) -> Result<Regex, Failure> {
    Regex::new(text).map_err(|error| Failure(format!("{flag} {text}: {error}")))
}
