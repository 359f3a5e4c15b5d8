//! The free text of a published domain, clause by clause: `n ∈ ℤ⁺, bits ∈ {2, 4, 8}, rate > 0`.

use crate::domain::Domain;

use super::statement::{self, split};

/// The clauses: a name and its domain in our language, or a text that is neither.
pub fn clauses(text: &str) -> Vec<Result<(String, String), String>> {
    let separator =
        |rest: &str| [",", ";", "∧", " and "].into_iter().find(|sign| rest.starts_with(sign)).map(str::len);
    let mut found = Vec::new();
    // In `a, b ∈ ℤ⁺` the first names wait for the set of the last.
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

fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_alphabetic()) && text.chars().all(|c| c.is_alphanumeric() || c == '_')
}

fn clause(text: &str) -> Option<(&str, String)> {
    let text = statement::remark(text).map_or(text, |(head, _)| head);
    let (name, domain) = match text.split_once('∈').or_else(|| text.split_once(" in ")) {
        Some((name, set)) => (name.trim(), of_set(set.trim())?),
        None => {
            let at = text.find(['<', '>', '≤', '≥'])?;
            let (name, rest) = text.split_at(at);
            (name.trim(), statement::ascii(rest))
        }
    };
    (is_name(name) && Domain::parse(&domain).is_ok()).then_some((name, domain))
}

fn of_set(set: &str) -> Option<String> {
    Some(match set {
        "ℤ⁺" | "ℤ+" | "Z+" | "ℕ⁺" | "ℕ+" | "N+" | "ℤ_{>0}" => "integer > 0".into(),
        "ℕ" | "N" | "ℕ₀" | "ℤ≥0" => "integer >= 0".into(),
        "ℤ" | "Z" => "integer".into(),
        "ℝ⁺" | "ℝ+" | "R+" | "ℝ_{>0}" => "> 0".into(),
        "ℝ≥0" | "ℝ_{≥0}" | "R_>=0" => ">= 0".into(),
        _ if set.starts_with(['[', '(', '{']) => set.to_owned(),
        _ => return None,
    })
}

/// A domain as something to prove of a computed value.
pub fn claim(name: &str, domain: &str) -> Option<String> {
    let domain = domain.trim();
    if domain.starts_with(['<', '>']) {
        return Some(format!("{name} {domain}"));
    }
    statement::claim(&format!("{name} ∈ {domain}")).ok().map(|translated| translated.text)
}

/// Why a clause is no domain.
pub fn why_not(clause: &str) -> String {
    let vector =
        ["ℝ^", "ℝⁿ", "]ⁿ", "}ⁿ", "R^", "^d", "^n", "ℤ^", "^{"].iter().any(|sign| clause.contains(sign));
    if vector {
        "a set of vectors; domains are sets of numbers".into()
    } else if clause.contains('=') {
        "it defines something, and is not a set of values".into()
    } else {
        "it names no set of values".into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clauses_become_domains_and_the_rest_is_told() {
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
    }
}
