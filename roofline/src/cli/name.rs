//! Lookup of names from the command line, with suggestions for unknown names.

use roofline_contracts::suggest;

use crate::cli::Failure;
use crate::model::display_name;

/// Normalizes a name for lookup: `H100-SXM` becomes `h100_sxm`.
pub fn normalize(name: &str) -> String {
    name.trim().chars().map(|c| if c.is_alphanumeric() { c.to_ascii_lowercase() } else { '_' }).collect()
}

/// Returns a question that suggests the closest name, followed by a space; empty if no name is close.
pub fn near<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    suggest::closest(name, known).map(|near| format!("did you mean `{near}`? ")).unwrap_or_default()
}

/// Creates the error for an unknown model; `list` is the command that lists the known ones.
pub fn unknown_name(
    name: &str,
    what: &str,
    list: &str,
    known: impl Iterator<Item = &'static str> + Clone,
) -> Failure {
    let normalized = normalize(name);
    let similar: Vec<&str> =
        known.clone().filter(|known| !normalized.is_empty() && known.contains(&normalized)).collect();
    let near = match similar.as_slice() {
        [] => suggest::closest(&normalized, known)
            .map(|near| format!("did you mean `{}`? ", display_name(near)))
            .unwrap_or_default(),
        similar => {
            let names: Vec<String> = similar.iter().map(|name| display_name(name)).collect();
            format!("did you mean {}? ", names.join(", "))
        }
    };
    Failure(format!("{name}: unknown {what}; {near}`{list}` lists them"))
}
