//! Comma-separated values as RFC 4180 has them, with the line of each record for messages.

use std::fmt;

/// What is wrong with a file of rows, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistake {
    /// The line, from 1; of a list of tests the test.
    pub line: usize,
    /// What is wrong and what is allowed.
    pub what: String,
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.line, self.what)
    }
}

impl std::error::Error for Mistake {}

/// One record of a file.
pub struct Record {
    /// The line it starts on, from 1.
    pub line: usize,
    /// Its fields.
    pub fields: Vec<String>,
}

/// The records of a text; lines without anything are passed over.
pub fn records(text: &str) -> Result<Vec<Record>, Mistake> {
    let mut out = Vec::new();
    let mut record = Record { line: 1, fields: Vec::new() };
    let mut field = String::new();
    let (mut line, mut quoted) = (1, false);
    let mut characters = text.trim_start_matches('\u{feff}').chars().peekable();
    while let Some(character) = characters.next() {
        line += usize::from(character == '\n');
        match character {
            '"' if quoted && characters.peek() == Some(&'"') => {
                field.push('"');
                characters.next();
            }
            '"' if quoted => quoted = false,
            _ if quoted => field.push(character),
            '"' if field.is_empty() => quoted = true,
            '"' => return Err(Mistake { line, what: "a quote in the middle of a field".into() }),
            ',' => record.fields.push(std::mem::take(&mut field)),
            '\r' if characters.peek() == Some(&'\n') => {}
            '\n' => {
                record.fields.push(std::mem::take(&mut field));
                out.push(std::mem::replace(&mut record, Record { line, fields: Vec::new() }));
            }
            other => field.push(other),
        }
    }
    if quoted {
        return Err(Mistake { line: record.line, what: "a quoted field has no end".into() });
    }
    if !field.is_empty() || !record.fields.is_empty() {
        record.fields.push(field);
        out.push(record);
    }
    out.retain(|record| record.fields.iter().any(|field| !field.is_empty()));
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_commas_and_line_breaks_within_a_field_are_its_own() {
        let text = "a,b\r\n\"x, \"\"y\"\"\nz\",2\n\nlast,";
        let found: Vec<_> = records(text).unwrap().into_iter().map(|r| (r.line, r.fields)).collect();
        let fields = |texts: [&str; 2]| texts.map(str::to_owned).to_vec();
        assert_eq!(
            found,
            [(1, fields(["a", "b"])), (2, fields(["x, \"y\"\nz", "2"])), (5, fields(["last", ""]))]
        );
    }

    #[test]
    fn a_quote_without_an_end_is_found_where_it_starts() {
        let mistake = records("a\n\"b\nc").err().unwrap();
        assert_eq!((mistake.line, mistake.what.as_str()), (2, "a quoted field has no end"));
        assert_eq!(records("a\nb\"c").err().unwrap().line, 2);
    }
}
