//! A rectangular part of a result: as aligned text, within the width of a terminal, as CSV and as Markdown.

use serde::Serialize;

use crate::chart::terminal::Canvas;
use crate::text::columns;

/// A sentence in fewer columns is hard to read.
pub(super) const NARROWEST: usize = 24;

/// A rectangular part of a result, as text cells.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Table {
    /// What the table shows; empty for none.
    pub title: String,
    /// Column headings.
    pub headings: Vec<String>,
    /// Rows, each as long as `headings`.
    pub rows: Vec<Vec<String>>,
}

impl Table {
    /// A table with these headings and rows.
    pub fn new(
        title: impl Into<String>,
        headings: &[&str],
        rows: impl IntoIterator<Item = Vec<String>>,
    ) -> Table {
        let headings = headings.iter().map(|&heading| heading.to_owned()).collect();
        Table { title: title.into(), headings, rows: rows.into_iter().collect() }
    }

    /// Leaves out a column that says nothing in any row.
    pub fn without_empty(&mut self, heading: &str) {
        let Some(place) = self.headings.iter().position(|name| name == heading) else { return };
        if self.rows.iter().all(|row| row[place].is_empty()) {
            *self = self.only(|at, _| at != place);
        }
    }

    /// The table with aligned columns, as wide as it is.
    pub fn text(&self) -> String {
        self.rendered(false)
    }

    /// The table for a terminal, within its width where it has one. Sentences are broken between words; columns that find no
    /// room even so are left out and named below: those in `least` first, in that order, then from the right.
    pub fn fitted(&self, canvas: &Canvas, least: &[&str]) -> String {
        let Some(limit) = canvas.limit else { return self.rendered(canvas.colour) };
        let mut table = self.clone();
        let mut left_out = Vec::new();
        let mut least = least.iter();
        while !table.wrapped_to(limit) && table.headings.len() > 1 {
            let named = least.next().map(|name| table.headings.iter().rposition(|heading| heading == name));
            let place = match named {
                Some(Some(place)) if place > 0 => place,
                Some(_) => continue,
                None => table.headings.len() - 1,
            };
            left_out.push(table.headings[place].clone());
            table = table.only(|at, _| at != place);
        }
        let mut out = table.rendered(canvas.colour);
        if !left_out.is_empty() {
            let names = format!("not shown for want of room: {}", left_out.join("; "));
            let lines = broken(&names, limit.saturating_sub(1).max(NARROWEST)).replace('\n', "\n ");
            out += &format!(" {lines}\n");
        }
        out
    }

    /// The columns that are wanted, by their place and heading, in their order.
    pub fn only(&self, wanted: impl Fn(usize, &str) -> bool) -> Table {
        let kept: Vec<usize> =
            (0..self.headings.len()).filter(|&at| wanted(at, &self.headings[at])).collect();
        let of = |cells: &Vec<String>| kept.iter().filter_map(|&at| cells.get(at).cloned()).collect();
        Table {
            title: self.title.clone(),
            headings: of(&self.headings),
            rows: self.rows.iter().map(of).collect(),
        }
    }

    /// Breaks sentences until the table fits; says whether it does.
    fn wrapped_to(&mut self, limit: usize) -> bool {
        let widths = self.widths();
        let total: usize = widths.iter().map(|width| width + 2).sum();
        let Some(over) = (total.saturating_sub(1)).checked_sub(limit).filter(|over| *over > 0) else {
            return true;
        };
        let sentences = (0..widths.len())
            .filter(|&at| self.rows.iter().any(|row| row[at].contains(' ') && columns(&row[at]) > NARROWEST));
        let Some(widest) = sentences.max_by_key(|&at| widths[at]) else { return false };
        let room = widths[widest].saturating_sub(over).max(columns(&self.headings[widest]));
        if room < NARROWEST {
            return false;
        }
        let before = self.clone();
        for row in &mut self.rows {
            row[widest] = broken(&row[widest], room);
        }
        // A word may be longer than the room.
        if self.widths()[widest] <= room {
            return true;
        }
        *self = before;
        false
    }

    fn widths(&self) -> Vec<usize> {
        let mut widths = vec![0; self.headings.len()];
        for row in std::iter::once(&self.headings).chain(&self.rows) {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = cell.lines().map(columns).max().unwrap_or(0).max(*width);
            }
        }
        widths
    }

    fn rendered(&self, colour: bool) -> String {
        let widths = self.widths();
        let mut out = if self.title.is_empty() { String::new() } else { format!("{}\n", self.title) };
        for (index, row) in std::iter::once(&self.headings).chain(&self.rows).enumerate() {
            let height = row.iter().map(|cell| cell.lines().count()).max().unwrap_or(0).max(1);
            for at in 0..height {
                let last =
                    row.iter().rposition(|cell| cell.lines().nth(at).is_some_and(|line| !line.is_empty()));
                let mut line = String::new();
                for (cell, width) in row.iter().zip(&widths).take(last.map_or(0, |last| last + 1)) {
                    let text = cell.lines().nth(at).unwrap_or_default();
                    let code = if !colour {
                        None
                    } else if index == 0 {
                        Some("1")
                    } else {
                        ink(cell)
                    };
                    let text = code.map_or(text.to_owned(), |code| format!("\x1b[{code}m{text}\x1b[0m"));
                    let space =
                        " ".repeat(width.saturating_sub(columns(cell.lines().nth(at).unwrap_or_default())));
                    line += &format!(" {text}{space} ");
                }
                out += line.trim_end();
                out.push('\n');
            }
        }
        out
    }

    /// RFC 4180, with a heading line.
    pub fn csv(&self) -> String {
        let quote = |cell: &String| {
            if cell.contains([',', '"', '\n', '\r']) {
                format!("\"{}\"", cell.replace('"', "\"\""))
            } else {
                cell.clone()
            }
        };
        let line = |cells: &Vec<String>| cells.iter().map(quote).collect::<Vec<_>>().join(",") + "\r\n";
        std::iter::once(&self.headings).chain(&self.rows).map(line).collect()
    }

    /// A GitHub-flavoured Markdown table under its title.
    pub fn markdown(&self) -> String {
        let escape = |cell: &String| cell.replace('|', "\\|").replace('\n', " ");
        let line = |cells: &Vec<String>| {
            format!("| {} |\n", cells.iter().map(escape).collect::<Vec<_>>().join(" | "))
        };
        let mut out = if self.title.is_empty() { String::new() } else { format!("### {}\n\n", self.title) };
        out += &line(&self.headings);
        out += &format!("|{}\n", "---|".repeat(self.headings.len()));
        out.extend(self.rows.iter().map(line));
        out
    }
}

/// The colour of a word that says how something ended: green, yellow or red.
fn ink(cell: &str) -> Option<&'static str> {
    match cell {
        "better" | "proven" | "verified" | "near optimal" => Some("32"),
        "noise" | "can't tell" | "unknown" | "suspect" => Some("33"),
        "worse" | "missing" | "refuted" | "impossible" => Some("31"),
        _ => None,
    }
}

/// The text in lines of no more than so many columns, broken between words; a longer word stands alone.
pub fn broken(text: &str, most: usize) -> String {
    let mut out = String::new();
    for (at, line) in text.lines().enumerate() {
        if at > 0 {
            out.push('\n');
        }
        let mut used = 0;
        for word in line.split_whitespace() {
            let width = columns(word);
            if used > 0 && used + 1 + width > most {
                out.push('\n');
                used = 0;
            } else if used > 0 {
                out.push(' ');
                used += 1;
            }
            out += word;
            used += width;
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn canvas(limit: Option<usize>) -> Canvas {
        Canvas { columns: 80, rows: 20, unicode: true, colour: false, limit }
    }

    fn wide() -> Table {
        let row = ["rtx_4090", "24.0", "189.5", "a sentence that takes more room than there is", "yes"];
        Table::new("", &["device", "GB", "token/s", "why", "fits"], [row.map(str::to_owned).to_vec()])
    }

    #[test]
    fn columns_are_as_wide_as_their_widest_line() {
        let rows = vec![vec!["漢字".to_owned(), "1\n22".to_owned()], vec!["x".to_owned(), String::new()]];
        let table = Table::new("Title", &["name", "n"], rows);
        assert_eq!(table.text(), "Title\n name  n\n 漢字  1\n       22\n x\n");
    }

    #[test]
    fn a_sentence_is_broken_between_words_before_a_column_is_left_out() {
        let table = wide();
        assert_eq!(table.fitted(&canvas(None), &[]), table.text());
        assert_eq!(table.fitted(&canvas(Some(200)), &[]), table.text());
        let narrow = table.fitted(&canvas(Some(60)), &[]);
        assert!(narrow.lines().all(|line| columns(line) <= 60), "{narrow}");
        assert_eq!(narrow.split_whitespace().count(), table.text().split_whitespace().count(), "{narrow}");
    }

    #[test]
    fn the_least_important_columns_go_first_and_are_named() {
        let shown = wide().fitted(&canvas(Some(28)), &["why", "GB"]);
        let first = " device    token/s  fits\n rtx_4090  189.5    yes\n";
        assert_eq!(shown, format!("{first} not shown for want of room:\n why; GB\n"));
        let least = wide().fitted(&canvas(Some(1)), &[]);
        assert!(least.starts_with(" device\n rtx_4090\n not shown"), "{least}");
    }

    #[test]
    fn colour_changes_no_width_and_paints_headings_and_verdicts() {
        let rows = [["a", "worse"], ["b", "same"]].map(|row| row.map(str::to_owned).to_vec());
        let table = Table::new("", &["figure", "verdict"], rows);
        let painted = table.fitted(&Canvas { colour: true, ..canvas(None) }, &[]);
        assert!(
            painted.contains("\x1b[31mworse\x1b[0m") && painted.contains("\x1b[1mfigure\x1b[0m"),
            "{painted}"
        );
        let plain =
            ["\x1b[31m", "\x1b[1m", "\x1b[0m"].iter().fold(painted, |text, code| text.replace(code, ""));
        assert_eq!(plain, table.text());
    }
}
