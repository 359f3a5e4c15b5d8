//! JSON Schema (draft 2020-12) of the contract language, generated from the tables of the parser.
//!
//! Editors use it for structure; `roofline contract check` also checks units and obligations.

use roofline_contracts::formula::RESERVED;
use roofline_contracts::names::keywords;
use roofline_contracts::schema::{self, Key, Shape};
use roofline_contracts::unit;
use serde_json::{Map, Value, json};

/// Pattern of a number in contracts.
const NUMBER: &str = r"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?";

/// Returns the schema of a contract.
pub fn json_schema() -> Value {
    let mut root = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "roofline contract",
        "description": "A performance model: quantities with units and domains, equations, classifiers, profiles, \
            recommendations, and obligations that must hold.",
    });
    let contract = section(schema::CONTRACT);
    if let (Value::Object(root), Value::Object(contract)) = (&mut root, contract) {
        root.extend(contract);
        root.insert("type".into(), json!("object"));
        root.insert("$defs".into(), definitions());
    }
    root
}

/// Returns the definitions that several keys share.
fn definitions() -> Value {
    let not = |words: &[&str]| json!({"not": {"enum": words}});
    let words: Vec<&str> = keywords().iter().chain(&RESERVED).copied().collect();
    let unit = unit::pattern();
    json!({
        "text": {"description": "Text.", "type": ["string", "number", "boolean"], "pattern": r"\S"},
        "name": {
            "description": "Lower-case letters, digits and `_`, starting with a letter; not a keyword of Rust or of formulas.",
            "type": "string",
            "pattern": "^[a-z][a-z0-9_]{0,63}$",
            "allOf": [not(&words)],
        },
        "id": {
            "description": "Lower-case letters, digits, `-` and `_`, starting with a letter.",
            "type": "string",
            "pattern": "^[a-z][a-z0-9_-]{0,63}$",
        },
        "variant": {
            "description": "Letters and digits, starting with a capital.",
            "type": "string",
            "pattern": "^[A-Z][A-Za-z0-9]{0,63}$",
            "allOf": [not(&["Self"])],
        },
        "version": {
            "description": "Three numbers, such as `1.0.0`.",
            "type": "string",
            "pattern": r"^[0-9]+\.[0-9]+\.[0-9]+$",
        },
        "unit": {
            "description": "A unit such as `GB/s`, `flop/(param*token)` or `1`.",
            "anyOf": [{"type": "string", "pattern": format!("^{unit}$")}, {"const": 1}],
        },
        "number": {
            "description": "A number with an optional unit, such as `2039` or `2039 GB/s`.",
            "anyOf": [{"type": "number"}, {"type": "string", "pattern": format!("^{NUMBER}(?:\\s+{unit})?$")}],
        },
        "domain": {
            "description": "A domain such as `[1, 1e13]`, `(0, 1]`, `> 0` or `{2, 4, 8}`, optionally preceded by `integer`.",
            "type": "string",
            "pattern": format!(
                r"^\s*(?:integer\s*)?(?:[\[(]\s*{NUMBER}\s*,\s*{NUMBER}\s*[\])]|(?:>=|<=|>|<|≥|≤)\s*{NUMBER}|\{{\s*{NUMBER}(?:\s*,\s*{NUMBER})*\s*\}})\s*$|^\s*integer\s*$"
            ),
        },
        "formula": {
            "description": "An expression over quantities and equations.",
            "anyOf": [{"type": "string", "pattern": r"\S"}, {"type": "number"}],
            "not": {"type": "string", "pattern": r"\*\*|&&|\|\||\^\s*[A-Za-z_(]*[A-Za-z_]|\^\s*[0-9]*\.|[-+*/^=<>(,]\s*$|^\s*[*/^)=]"},
        },
        "date": {
            "description": "A date, such as `2024-12-31`.",
            "type": "string",
            "pattern": "^[0-9]{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])|(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)|02-(?:0[1-9]|[12][0-9]))$",
        },
    })
}

fn definition(name: &str) -> Value {
    json!({"$ref": format!("#/$defs/{name}")})
}

/// Returns the schema of a mapping with exactly these keys.
fn section(keys: &[Key]) -> Value {
    let properties: Map<String, Value> =
        keys.iter().map(|key| (key.name.to_owned(), with_description(value(key), key.doc))).collect();
    let required: Vec<&str> = keys.iter().filter(|key| key.required).map(|key| key.name).collect();
    // A section without required keys may be empty.
    let kind = if required.is_empty() { json!(["object", "null"]) } else { json!("object") };
    json!({"type": kind, "properties": properties, "required": required, "additionalProperties": false})
}

fn with_description(mut schema: Value, doc: &str) -> Value {
    if let Value::Object(schema) = &mut schema {
        schema.insert("description".into(), json!(doc));
    }
    schema
}

fn value(key: &Key) -> Value {
    let texts = json!({"type": ["array", "null"], "items": definition("text")});
    match key.shape {
        Shape::Text | Shape::Id | Shape::Version => definition(match key.shape {
            Shape::Id => "id",
            Shape::Version => "version",
            _ => "text",
        }),
        Shape::Number => definition("number"),
        Shape::Value => json!({"anyOf": [definition("number"), definition("text")]}),
        Shape::Count(max) => json!({"type": "integer", "minimum": 1, "maximum": max}),
        Shape::Flag => json!({"type": "boolean"}),
        Shape::Texts => texts,
        Shape::Formulas => json!({"type": ["array", "null"], "items": definition("formula")}),
        Shape::Unit => definition("unit"),
        Shape::Domain => definition("domain"),
        Shape::Formula => definition("formula"),
        Shape::Date => definition("date"),
        Shape::Word(words) => json!({"enum": words}),
        Shape::Section(keys) => section(keys),
        Shape::Named(keys) => json!({
            "type": ["object", "null"],
            "propertyNames": definition("name"),
            "additionalProperties": section(keys),
        }),
        Shape::List(keys) => json!({"type": ["array", "null"], "items": section(keys)}),
        Shape::Cases => json!({
            "type": "array",
            "minItems": 2,
            "contains": {"additionalProperties": {"const": "otherwise"}},
            "maxContains": 1,
            "items": {
                "type": "object",
                "minProperties": 1,
                "maxProperties": 1,
                "propertyNames": definition("variant"),
                "additionalProperties": definition("formula"),
            },
        }),
        Shape::NamedTexts => json!({
            "type": ["object", "null"],
            "additionalProperties": definition("text"),
        }),
        Shape::Entries => entries(),
    }
}

/// Returns the schema of the rows of a table. Rows also have the fields that the table declares.
fn entries() -> Value {
    let mut row = section(schema::ENTRY);
    row["additionalProperties"] = definition("text");
    json!({
        "type": "object",
        "minProperties": 1,
        "propertyNames": definition("name"),
        "additionalProperties": row,
    })
}
