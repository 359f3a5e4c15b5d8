//! Names that users type: how they are looked up, and what was probably meant by one that is unknown.

use roofline_contracts::suggest;

use crate::program::Failure;

/// How names are looked up: `H100-SXM` is `h100_sxm`.
pub fn normal(name: &str) -> String {
    name.trim().chars().map(|c| if c.is_alphanumeric() { c.to_ascii_lowercase() } else { '_' }).collect()
}

/// The known name that was probably meant, as the start of a sentence; empty without one.
pub fn near<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    suggest::closest(name, known).map(|near| format!("did you mean `{near}`? ")).unwrap_or_default()
}

/// An unknown name, with what was probably meant.
pub fn unknown_name(
    name: &str,
    what: &str,
    list: &str,
    known: impl Iterator<Item = &'static str> + Clone,
) -> Failure {
    let wanted = normal(name);
    let alike: Vec<&str> =
        known.clone().filter(|known| !wanted.is_empty() && known.contains(&wanted)).collect();
    let near = match alike.as_slice() {
        [] => near(&wanted, known),
        alike => format!("did you mean {}? ", alike.join(", ")),
    };
    Failure(format!("{name}: no such {what}; {near}`{list}` lists them"))
}
