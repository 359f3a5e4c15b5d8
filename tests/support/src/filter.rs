//! A subset of the language of `jq`: `.rows[0].name`, `.rows[].name`, `length`, `keys`, `{name, other}`,
//! `select(.name == "x")` and `[...]` around a filter, combined with `,` and `|`.

use serde_json::{Map, Value};

/// The results of a filter in the format of `jq -c`, one per line.
pub fn lines(filter: &str, document: &[u8]) -> Vec<String> {
    let document = match serde_json::from_slice(document) {
        Ok(document) => document,
        Err(error) => return vec![format!("jq: not JSON: {error}")],
    };
    match apply(filter, &document) {
        Ok(values) => values.iter().map(Value::to_string).collect(),
        Err(problem) => vec![format!("jq: {problem}")],
    }
}

fn apply(filter: &str, value: &Value) -> Result<Vec<Value>, String> {
    let mut values = vec![value.clone()];
    for stage in split(filter, '|') {
        let mut results = Vec::new();
        for value in &values {
            for each in split(stage, ',') {
                results.extend(term(each.trim(), value)?);
            }
        }
        values = results;
    }
    Ok(values)
}

fn term(term: &str, value: &Value) -> Result<Vec<Value>, String> {
    let inside = |open: &str, close: char| term.strip_prefix(open).and_then(|rest| rest.strip_suffix(close));
    if let Some(names) = inside("{", '}') {
        let field = |name: &str| (name.trim().to_owned(), value[name.trim()].clone());
        return Ok(vec![Value::Object(names.split(',').map(field).collect::<Map<_, _>>())]);
    }
    if let Some(filter) = inside("[", ']') {
        return Ok(vec![Value::Array(apply(filter, value)?)]);
    }
    if let Some(condition) = inside("select(", ')') {
        let (path, wanted) = condition.split_once("==").ok_or(format!("{condition}: expected =="))?;
        let wanted: Value =
            serde_json::from_str(wanted.trim()).map_err(|error| format!("{wanted}: {error}"))?;
        return Ok(if apply(path, value)? == [wanted] { vec![value.clone()] } else { vec![] });
    }
    match (term, value) {
        ("length", Value::Array(list)) => Ok(vec![list.len().into()]),
        ("length", Value::Object(map)) => Ok(vec![map.len().into()]),
        ("keys", Value::Object(map)) => Ok(vec![map.keys().cloned().collect()]),
        _ if term.starts_with('.') => at(term, value),
        _ => Err(format!("`{term}` does not apply to {}", kind(value))),
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

/// Splits at separators outside of brackets and quotes.
fn split(text: &str, separator: char) -> impl Iterator<Item = &str> {
    let (mut depth, mut quoted) = (0, false);
    text.split(move |next| {
        match next {
            '"' => quoted = !quoted,
            '(' | '[' | '{' if !quoted => depth += 1,
            ')' | ']' | '}' if !quoted => depth -= 1,
            _ => {}
        }
        next == separator && depth == 0 && !quoted
    })
}

/// The values at a path.
fn at(path: &str, value: &Value) -> Result<Vec<Value>, String> {
    let path = path.trim_start_matches('.');
    if path.is_empty() {
        return Ok(vec![value.clone()]);
    }
    if let Some((index, rest)) = path.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        return match (index.parse::<usize>(), value) {
            (Ok(index), Value::Array(list)) => at(rest, list.get(index).unwrap_or(&Value::Null)),
            (Err(_), Value::Array(list)) if index.is_empty() => {
                Ok(list.iter().map(|one| at(rest, one)).collect::<Result<Vec<_>, _>>()?.concat())
            }
            (Err(_), Value::Object(map)) if index.is_empty() => {
                Ok(map.values().map(|one| at(rest, one)).collect::<Result<Vec<_>, _>>()?.concat())
            }
            (_, Value::Null) => Ok(vec![Value::Null]),
            _ => Err(format!("[{index}] of {}", kind(value))),
        };
    }
    let end = path.find(['.', '[']).unwrap_or(path.len());
    let (name, rest) = path.split_at(end);
    match value {
        Value::Object(map) => at(rest, map.get(name).unwrap_or(&Value::Null)),
        Value::Null => Ok(vec![Value::Null]),
        _ => Err(format!(".{name} of {}", kind(value))),
    }
}

#[cfg(test)]
mod tests {
    use super::lines;

    #[test]
    fn filters_select_what_jq_selects() {
        let document = br#"{"a": [{"name": "x", "n": 1.5}, {"name": "y|z", "n": null}], "b": {"c": true}}"#;
        for (filter, expected) in [
            (".a[0].n", "1.5"),
            (".a[].name", "\"x\"\n\"y|z\""),
            ("[.a[].name]", r#"["x","y|z"]"#),
            (".b.c, [.a[].n], .a[5].name", "true\n[1.5,null]\nnull"),
            (".a | length", "2"),
            (".b | keys", r#"["c"]"#),
            (r#".a[] | select(.name == "y|z") | {n, name}"#, r#"{"n":null,"name":"y|z"}"#),
            (".b.c.d", "jq: .d of a boolean"),
        ] {
            assert_eq!(lines(filter, document).join("\n"), expected, "{filter}");
        }
        assert!(lines(".", b"x")[0].starts_with("jq: not JSON"));
    }
}
