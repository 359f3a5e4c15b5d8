//! Regular expressions of arguments.

use regex_lite::Regex;

use crate::cli::Failure;

/// Parses the regular expression of a flag.
pub fn parse(flag: &str, text: &str) -> Result<Regex, Failure> {
    Regex::new(text).map_err(|error| Failure(format!("{flag} {text}: invalid regular expression: {error}")))
}
