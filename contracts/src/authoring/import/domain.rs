//! Parsing of published domains, which are free text: `n ∈ ℤ⁺, bits ∈ {2, 4, 8}, rate > 0`.

use crate::domain::Domain;

use super::statement::{self, is_name, split};

/// Splits a text into clauses: a name and its domain in the contract language, or the text of an unsupported clause.
pub fn clauses(text: &str) -> Vec<Result<(String, String), String>> {
    let separator =
        |rest: &str| [",", ";", "∧", " and "].into_iter().find(|sign| rest.starts_with(sign)).map(str::len);
    let mut found = Vec::new();
    // In `a, b ∈ ℤ⁺` the set of the last name applies to all.
    let mut waiting: Vec<&str> = Vec::new();
    for part in split(text, separator) {
        if is_name(part) {
            waiting.push(part);
            continue;
        }
        match clause(part) {
            Some((name, domain)) => {
                let names = waiting.drain(..).chain([name]);
                found.extend(names.map(|name| Ok((name.to_owned(), domain.clone()))));
            }
            None => {
                found.extend(waiting.drain(..).map(|name| Err(name.to_owned())));
                found.push(Err(part.to_owned()));
            }
        }
    }
    found.extend(waiting.into_iter().map(|name| Err(name.to_owned())));
    found
}

/// Names that a domain or codomain declares as vectors or matrices.
pub fn vectors(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut waiting: Vec<&str> = Vec::new();
    for part in split(text, |rest| rest.starts_with([',', ';']).then_some(1)) {
        let (name, set) = part.split_once('∈').or_else(|| part.split_once(" in ")).unwrap_or((part, ""));
        if is_name(name.trim()) {
            waiting.push(name.trim());
        }
        if set.is_empty() {
            continue;
        }
        if is_vectors(set) {
            found.append(&mut waiting);
        }
        waiting.clear();
    }
    found
}

/// True for a set of vectors or matrices.
pub fn is_vectors(set: &str) -> bool {
    let powers =
        ["ℝ^", "ℝⁿ", "ℝᵐ", "ℝᵈ", "]ⁿ", "}ⁿ", "]^", "}^", "R^", "ℤ^", "ℕ^", "ℂ^", "^{", "^d", "^n", "^m"];
    let words = ["vector", "matrix", "matrices", "tensor"];
    powers.iter().any(|sign| set.contains(sign)) || words.iter().any(|word| set.to_lowercase().contains(word))
}

/// A name with a single value: `n_h=32`, or `A model: n_h=32`.
fn constant(text: &str) -> Option<(&str, String)> {
    let text = text.rsplit_once(':').map_or(text, |(_, text)| text);
    let (name, value) = text.split_once('=')?;
    let value: f64 = value.trim().parse().ok()?;
    is_name(name.trim()).then(|| (name.trim(), format!("{{{value}}}")))
}

/// True if a clause has a trailing remark, which a domain cannot represent.
pub fn has_remarks(text: &str) -> bool {
    split(text, |rest| rest.starts_with([',', ';']).then_some(1))
        .into_iter()
        .any(|part| statement::remark(part).is_some())
}

fn clause(text: &str) -> Option<(&str, String)> {
    if let Some(constant) = constant(text) {
        return Some(constant);
    }
    let text = statement::remark(text).map_or(text, |(head, _)| head);
    let (name, domain) = match text.split_once('∈').or_else(|| text.split_once(" in ")) {
        Some((name, set)) => (name.trim(), parse_set(set.trim())?),
        None => {
            let at = text.find(['<', '>', '≤', '≥'])?;
            let (name, rest) = text.split_at(at);
            (name.trim(), statement::ascii(rest))
        }
    };
    (is_name(name) && (domain.is_empty() || Domain::parse(&domain).is_ok())).then_some((name, domain))
}

/// Translates a set to a domain; empty for all numbers, none if it is not a set of numbers.
pub fn parse_set(set: &str) -> Option<String> {
    Some(match set {
        "ℤ⁺" | "ℤ+" | "Z+" | "ℕ⁺" | "ℕ+" | "N+" | "ℤ_{>0}" => "integer > 0".into(),
        "ℕ" | "N" | "ℕ₀" | "ℤ≥0" => "integer >= 0".into(),
        "ℤ" | "Z" => "integer".into(),
        // All finite numbers need no domain.
        "ℝ" | "R" => String::new(),
        "[0, ∞)" | "[0, +∞)" | "[0,∞)" => ">= 0".into(),
        "(0, ∞)" | "(0, +∞)" | "(0,∞)" => "> 0".into(),
        "ℝ⁺" | "ℝ+" | "R+" | "ℝ_{>0}" => "> 0".into(),
        "ℝ≥0" | "ℝ_{≥0}" | "R_>=0" => ">= 0".into(),
        _ if set.starts_with(['[', '(', '{']) => set.to_owned(),
        _ => return None,
    })
}

/// A claim that a computed value lies in a domain.
pub fn claim(name: &str, domain: &str) -> Option<String> {
    let domain = domain.trim();
    if domain.starts_with(['<', '>']) {
        return Some(format!("{name} {domain}"));
    }
    statement::claim(&format!("{name} ∈ {domain}")).ok().map(|translated| translated.text)
}

/// The reason that a clause is not a domain.
pub fn why_not(clause: &str) -> String {
    if is_vectors(clause) {
        "a set of vectors; domains are sets of numbers".into()
    } else if clause.contains('=') {
        "a definition, not a set of values".into()
    } else {
        "not a set of values".into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clauses_become_domains_and_others_are_reported() {
        let read = |text: &str| -> Vec<String> {
            let shown = |clause: Result<(String, String), String>| match clause {
                Ok((name, domain)) => format!("{name}: {domain}"),
                Err(text) => format!("? {text}"),
            };
            clauses(text).into_iter().map(shown).collect()
        };
        assert_eq!(
            read("total_params ∈ ℤ⁺, bits_per_weight ∈ {2, 4, 8, 16, 32}"),
            ["total_params: integer > 0", "bits_per_weight: {2, 4, 8, 16, 32}"]
        );
        assert_eq!(read("a, b ∈ ℤ⁺ ∧ p ∈ [0, 1)"), ["a: integer > 0", "b: integer > 0", "p: [0, 1)"]);
        assert_eq!(read("rate > 0, x ≥ 1 (at least one)"), ["rate: > 0", "x: >= 1"]);
        assert_eq!(read("x ∈ ℝ^n, n ≥ 1, L=layers"), ["? x ∈ ℝ^n", "n: >= 1", "? L=layers"]);
        assert_eq!(read("Any valid model"), ["? Any valid model"]);
        assert_eq!(read("A model: n=32, d = 128, x ∈ ℝ"), ["n: {32}", "d: {128}", "x: "]);
        assert_eq!(read("r ∈ [0, ∞)"), ["r: >= 0"]);
        assert_eq!(vectors("X ∈ ℝ^{n×d}, a, b in R^d, n ≥ 1, c ∈ ℝ"), ["X", "a", "b"]);
    }
}
