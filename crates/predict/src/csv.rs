//! Comma-separated tables (RFC 4180) with line numbers for diagnostics.

/// An error in an input table or list of tests.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{line}: {what}")]
pub struct Mistake {
    /// Line number, or the index of a test in a list; both count from 1.
    pub line: usize,
    /// Problem, and the accepted values.
    pub what: String,
}

/// A table with one line of headings.
pub struct Csv {
    pub headings: Row,
    /// Nonempty rows, each as long as the headings.
    pub rows: Vec<Row>,
}

/// A row of trimmed fields.
#[derive(Default)]
pub struct Row {
    /// First line of the row, counted from 1.
    pub line: usize,
    pub fields: Vec<String>,
}

impl Csv {
    pub fn read(text: &str) -> Result<Csv, Mistake> {
        let mut rows = rows(text)?.into_iter();
        let headings = rows.next().unwrap_or_default();
        let rows: Vec<Row> = rows.collect();
        let expected = headings.fields.len();
        if let Some(Row { line, fields }) = rows.iter().find(|row| row.fields.len() != expected) {
            let what =
                format!("found {} fields; expected {expected} as on line {}", fields.len(), headings.line);
            return Err(Mistake { line: *line, what });
        }
        Ok(Csv { headings, rows })
    }

    pub fn has(&self, heading: &str) -> bool {
        self.headings.fields.iter().any(|known| known == heading)
    }

    /// Returns the field of a column; `None` if it is empty or the column is missing.
    pub fn field<'r>(&self, row: &'r Row, heading: &str) -> Option<&'r str> {
        let place = self.headings.fields.iter().position(|known| known == heading)?;
        row.fields.get(place).map(String::as_str).filter(|field| !field.is_empty())
    }
}

fn rows(text: &str) -> Result<Vec<Row>, Mistake> {
    let mut out = Vec::new();
    let mut row = Row { line: 1, fields: Vec::new() };
    let mut field = String::new();
    let (mut line, mut quoted) = (1, false);
    let end = |field: &mut String| std::mem::take(field).trim().to_owned();
    let mut characters = text.trim_start_matches('\u{feff}').chars().peekable();
    while let Some(character) = characters.next() {
        line += usize::from(character == '\n');
        match character {
            '"' if quoted && characters.next_if_eq(&'"').is_some() => field.push('"'),
            '"' if quoted => quoted = false,
            _ if quoted => field.push(character),
            '"' if field.is_empty() => quoted = true,
            '"' => return Err(Mistake { line, what: "unexpected quote inside a field".into() }),
            ',' => row.fields.push(end(&mut field)),
            '\n' => {
                row.fields.push(end(&mut field));
                out.push(std::mem::replace(&mut row, Row { line, fields: Vec::new() }));
            }
            other => field.push(other),
        }
    }
    if quoted {
        return Err(Mistake { line: row.line, what: "missing closing quote".into() });
    }
    row.fields.push(end(&mut field));
    out.push(row);
    out.retain(|row| row.fields.iter().any(|field| !field.is_empty()));
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_keep_their_line_numbers() {
        let csv = Csv::read("\u{feff}\n a ,b\r\n\"x, \"\"y\"\"\nz\",2\n\n,\nlast,").unwrap();
        let found = csv.rows.iter().map(|row| (row.line, csv.field(row, "a"), csv.field(row, "b")));
        let expected = [(3, Some("x, \"y\"\nz"), Some("2")), (7, Some("last"), None)];
        assert_eq!(csv.headings.line, 2);
        assert!(found.eq(expected));
    }

    #[test]
    fn errors_state_the_line_they_start_on() {
        for (text, mistake) in [
            ("a\n\"b\nc", "2: missing closing quote"),
            ("a\nb\"c", "2: unexpected quote inside a field"),
            ("a,b\n\n1\n", "3: found 1 fields; expected 2 as on line 1"),
        ] {
            assert_eq!(Csv::read(text).err().unwrap().to_string(), mistake);
        }
    }
}
