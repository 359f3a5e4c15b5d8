//! Figures of a case: a number or a calculation.

use std::collections::HashMap;

use serde::Deserialize;
use serde_yaml::Mapping;

/// Named quantities of calculations.
pub type Names = HashMap<String, i128>;

/// Adds the names that a case defines, each of which may refer to earlier ones.
pub fn define(names: &mut Names, own: Mapping) -> Result<(), serde_yaml::Error> {
    for (name, figure) in own {
        let value = serde_yaml::from_value::<Figure>(figure)?.value(names);
        names.insert(serde_yaml::from_value(name)?, value);
    }
    Ok(())
}

/// Number, or calculation with `+ - * / ( )`, numbers and names. The prefix `~` allows a relative error of 0.001,
/// because elementwise vectors may or may not be counted.
#[derive(Clone, Deserialize)]
#[serde(untagged)]
pub enum Figure {
    Number(i64),
    Calculation(String),
}

impl Figure {
    pub fn value(&self, names: &Names) -> i128 {
        match self {
            Figure::Number(number) => (*number).into(),
            Figure::Calculation(text) => calculate(text.trim_start_matches('~'), names),
        }
    }

    pub fn fits(&self, found: f64, names: &Names) -> bool {
        let expected = self.value(names) as f64;
        match self {
            Figure::Calculation(text) if text.starts_with('~') => (found / expected - 1.0).abs() < 1e-3,
            _ => found == expected,
        }
    }
}

fn calculate(text: &str, names: &Names) -> i128 {
    let mut rest = text;
    let value = sum(&mut rest, names);
    assert!(rest.trim().is_empty(), "`{text}`: unexpected `{rest}`");
    value
}

/// Consumes the next character if it is one of `operators`.
fn operator(rest: &mut &str, operators: &[char]) -> Option<char> {
    let next = rest.trim_start().chars().next().filter(|next| operators.contains(next))?;
    *rest = &rest.trim_start()[1..];
    Some(next)
}

fn sum(rest: &mut &str, names: &Names) -> i128 {
    let mut value = product(rest, names);
    while let Some(sign) = operator(rest, &['+', '-']) {
        let right = product(rest, names);
        value = if sign == '+' { value + right } else { value - right };
    }
    value
}

fn product(rest: &mut &str, names: &Names) -> i128 {
    let mut value = factor(rest, names);
    while let Some(sign) = operator(rest, &['*', '/']) {
        let right = factor(rest, names);
        assert!(sign == '*' || value % right == 0, "{value} / {right} is not an integer");
        value = if sign == '*' { value * right } else { value / right };
    }
    value
}

fn factor(rest: &mut &str, names: &Names) -> i128 {
    if operator(rest, &['(']).is_some() {
        let value = sum(rest, names);
        assert_eq!(operator(rest, &[')']), Some(')'), "missing `)` before `{rest}`");
        return value;
    }
    let text = rest.trim_start();
    let end = text.find(|next: char| !next.is_alphanumeric() && next != '_').unwrap_or(text.len());
    let (word, behind) = text.split_at(end);
    *rest = behind;
    word.parse().ok().or_else(|| names.get(word).copied()).unwrap_or_else(|| panic!("unknown name `{word}`"))
}
