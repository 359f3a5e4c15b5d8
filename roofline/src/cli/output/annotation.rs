//! Findings with their positions, in formats that code hosts show next to the line: GitHub workflow commands and SARIF 2.1.0.

use serde_json::{Value, json};

/// A finding.
#[derive(Clone, Debug)]
pub struct Annotation<'a> {
    /// `error`, `warning` or `notice`.
    pub level: &'static str,
    /// Identifier of the violated rule.
    pub rule: &'a str,
    /// File, as given on the command line.
    pub file: &'a str,
    /// Position; `None` for the file as a whole.
    pub region: Option<Region>,
    /// Message.
    pub message: String,
}

/// A range of text. Lines and columns count from 1, and columns count characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Region {
    /// First line.
    pub line: usize,
    /// First column.
    pub column: usize,
    /// Last line.
    pub end_line: usize,
    /// One past the last column.
    pub end_column: usize,
}

/// Returns a workflow command with its newline. It has columns only if the region is within one line.
pub fn github(annotation: &Annotation<'_>) -> String {
    let mut place = format!("file={}", property(annotation.file));
    if let Some(region) = annotation.region {
        place += &format!(",line={},endLine={}", region.line, region.end_line);
        if region.line == region.end_line {
            place += &format!(",col={},endColumn={}", region.column, region.end_column);
        }
    }
    let title = property(annotation.rule);
    format!("::{} {place},title={title}::{}\n", annotation.level, data(&annotation.message))
}

/// Escapes the message of a workflow command.
pub fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// Escapes a property of a workflow command.
pub fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

/// Returns a SARIF log with one run. Rules have an identifier and a description.
pub fn sarif(rules: &[(&str, &str)], annotations: &[Annotation<'_>]) -> Value {
    let description =
        |(id, sentence): &(&str, &str)| json!({"id": id, "shortDescription": {"text": sentence}});
    let result = |annotation: &Annotation<'_>| {
        let mut place = json!({"artifactLocation": {"uri": uri(annotation.file)}});
        if let Some(region) = annotation.region {
            place["region"] = json!({
                "startLine": region.line,
                "startColumn": region.column,
                "endLine": region.end_line,
                "endColumn": region.end_column,
            });
        }
        let level = if annotation.level == "notice" { "note" } else { annotation.level };
        json!({
            "ruleId": annotation.rule,
            "ruleIndex": rules.iter().position(|(id, _)| *id == annotation.rule),
            "level": level,
            "message": {"text": annotation.message},
            "locations": [{"physicalLocation": place}],
        })
    };
    json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {
                "name": env!("CARGO_PKG_NAME"),
                "semanticVersion": env!("CARGO_PKG_VERSION"),
                "rules": rules.iter().map(description).collect::<Vec<Value>>(),
            }},
            "columnKind": "unicodeCodePoints",
            "results": annotations.iter().map(result).collect::<Vec<Value>>(),
        }],
    })
}

/// Converts a path to a URI reference with forward slashes, and escapes all but unreserved characters.
fn uri(path: &str) -> String {
    let path = if cfg!(windows) { path.replace('\\', "/") } else { path.to_owned() };
    let path = path.strip_prefix("./").unwrap_or(&path);
    let mut out = String::new();
    for byte in path.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                out.push(char::from(byte));
            }
            _ => out += &format!("%{byte:02X}"),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_cannot_end_a_workflow_command() {
        let region = Region { line: 3, column: 5, end_line: 3, end_column: 9 };
        let annotation = Annotation {
            level: "error",
            rule: "unit",
            file: "a,b:c.yaml",
            region: Some(region),
            message: "100 %\n::warning::no".into(),
        };
        assert_eq!(
            github(&annotation),
            "::error file=a%2Cb%3Ac.yaml,line=3,endLine=3,col=5,endColumn=9,title=unit::100 %25%0A::warning::no\n"
        );
    }

    #[test]
    fn a_path_becomes_a_uri_reference() {
        assert_eq!(uri("./my contracts/müll#1.yaml"), "my%20contracts/m%C3%BCll%231.yaml");
    }
}
