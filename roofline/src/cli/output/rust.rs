//! Formatting of generated Rust.

use std::io::Write;
use std::process::{Command, Stdio};

use proc_macro2::TokenStream;

use super::log;

/// Returns the source text of tokens, formatted by `rustfmt` if it is installed. Otherwise prints a note.
pub fn source(tokens: &TokenStream) -> String {
    let text = with_doc_comments(&tokens.to_string());
    formatted(&text).unwrap_or_else(|| {
        log("note: cannot run `rustfmt`, so the generated code is not formatted");
        text
    })
}

fn formatted(text: &str) -> Option<String> {
    let mut rustfmt = Command::new("rustfmt");
    rustfmt.args(["--edition", "2024"]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = rustfmt.spawn().ok()?;
    // rustfmt reads all input before it writes output, so the pipes cannot block each other.
    child.stdin.take()?.write_all(text.as_bytes()).ok()?;
    let output = child.wait_with_output().ok().filter(|output| output.status.success())?;
    String::from_utf8(output.stdout).ok()
}

/// Converts `#[doc = "..."]` to `///...`, which stable `rustfmt` does not.
fn with_doc_comments(text: &str) -> String {
    let mut parts = text.split("# [doc = ");
    let mut out = parts.next().unwrap_or_default().to_owned() + "\n";
    for part in parts {
        let (comment, rest) = literal(part);
        out += &format!("///{comment}\n{}", rest.trim_start_matches([']', ' ']));
    }
    out
}

/// Splits a text after the string literal at its start, and returns the literal's value and the rest.
fn literal(text: &str) -> (String, &str) {
    let (start, rest) = text.split_once('"').unwrap_or_default();
    if let Some(hashes) = start.strip_prefix('r') {
        let (value, rest) = rest.split_once(&format!("\"{hashes}")).unwrap_or_default();
        return (value.to_owned(), rest);
    }
    let mut value = String::new();
    let mut characters = rest.chars();
    while let Some(character) = characters.next().filter(|character| *character != '"') {
        value.extend(if character == '\\' { characters.next() } else { Some(character) });
    }
    (value, characters.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doc_attributes_become_comments() {
        let text = r###"# [doc = " A [\"name\"] \\."] # [doc = r#" "b""#] # [doc = ""] pub const A : & str = "]" ;"###;
        let expected = "\n/// A [\"name\"] \\.\n/// \"b\"\n///\npub const A : & str = \"]\" ;";
        assert_eq!(with_doc_comments(text), expected);
    }
}
