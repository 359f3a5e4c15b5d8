//! Tables and their formats: aligned text within the width of a terminal, CSV and Markdown.

use serde::Serialize;

use crate::chart::terminal::Canvas;
use crate::display_width::columns;

/// Minimum number of columns for a wrapped sentence.
pub(super) const MIN_SENTENCE_WIDTH: usize = 24;

/// A table of text cells.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Table {
    /// Title; may be empty.
    pub title: String,
    /// Column headings.
    pub headings: Vec<String>,
    /// Rows, each as long as `headings`.
    pub rows: Vec<Vec<String>>,
}

impl Table {
    /// Creates a table.
    pub fn new(
        title: impl Into<String>,
        headings: &[&str],
        rows: impl IntoIterator<Item = Vec<String>>,
    ) -> Table {
        let headings = headings.iter().map(|&heading| heading.to_owned()).collect();
        Table { title: title.into(), headings, rows: rows.into_iter().collect() }
    }

    /// Removes a column if all of its cells are empty.
    pub fn without_empty(&mut self, heading: &str) {
        let Some(place) = self.headings.iter().position(|name| name == heading) else { return };
        if self.rows.iter().all(|row| row[place].is_empty()) {
            *self = self.select_columns(|at, _| at != place);
        }
    }

    /// Renders the table with aligned columns at its full width.
    pub fn text(&self) -> String {
        self.render(false)
    }

    /// Renders the table for a terminal. If it is too wide, sentences are wrapped; then columns are dropped, first those in `least` in
    /// that order, then from the right, and listed below the table.
    pub fn render_within(&self, canvas: &Canvas, least: &[&str]) -> String {
        let Some(limit) = canvas.limit else { return self.render(canvas.color) };
        let mut table = self.clone();
        let mut dropped = Vec::new();
        let mut least = least.iter();
        while !table.wrap_to(limit) && table.headings.len() > 1 {
            let next = least.next().map(|name| table.headings.iter().rposition(|heading| heading == name));
            let place = match next {
                Some(Some(place)) if place > 0 => place,
                Some(_) => continue,
                None => table.headings.len() - 1,
            };
            dropped.push(table.headings[place].clone());
            table = table.select_columns(|at, _| at != place);
        }
        let mut out = table.render(canvas.color);
        if !dropped.is_empty() {
            let names = format!("columns hidden (terminal too narrow): {}", dropped.join(", "));
            let lines = wrap(&names, limit.saturating_sub(1).max(MIN_SENTENCE_WIDTH)).replace('\n', "\n ");
            out += &format!(" {lines}\n");
        }
        out
    }

    /// Returns the columns that satisfy a predicate on their position and heading.
    pub fn select_columns(&self, wanted: impl Fn(usize, &str) -> bool) -> Table {
        let selected: Vec<usize> =
            (0..self.headings.len()).filter(|&at| wanted(at, &self.headings[at])).collect();
        let of = |cells: &Vec<String>| selected.iter().filter_map(|&at| cells.get(at).cloned()).collect();
        Table {
            title: self.title.clone(),
            headings: of(&self.headings),
            rows: self.rows.iter().map(of).collect(),
        }
    }

    /// Wraps sentences until the table fits; returns whether it fits.
    fn wrap_to(&mut self, limit: usize) -> bool {
        let widths = self.widths();
        let total: usize = widths.iter().map(|width| width + 2).sum();
        let Some(over) = (total.saturating_sub(1)).checked_sub(limit).filter(|over| *over > 0) else {
            return true;
        };
        let sentences = (0..widths.len()).filter(|&at| {
            self.rows.iter().any(|row| row[at].contains(' ') && columns(&row[at]) > MIN_SENTENCE_WIDTH)
        });
        let Some(widest) = sentences.max_by_key(|&at| widths[at]) else { return false };
        let room = widths[widest].saturating_sub(over).max(columns(&self.headings[widest]));
        if room < MIN_SENTENCE_WIDTH {
            return false;
        }
        let before = self.clone();
        for row in &mut self.rows {
            row[widest] = wrap(&row[widest], room);
        }
        // A single word may exceed the width.
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

    fn render(&self, color: bool) -> String {
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
                    let code = if !color {
                        None
                    } else if index == 0 {
                        Some("1")
                    } else {
                        verdict_color(cell)
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

    /// Renders the table as CSV (RFC 4180) with a heading line.
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

    /// Renders a GitHub-flavored Markdown table below its title.
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

/// ANSI color of a verdict: green, yellow or red.
fn verdict_color(cell: &str) -> Option<&'static str> {
    match cell {
        "better" | "proven" | "verified" | "near optimal" => Some("32"),
        "noise" | "inconclusive" | "unknown" | "suspect" => Some("33"),
        "worse" | "missing" | "refuted" | "impossible" => Some("31"),
        _ => None,
    }
}

/// Wraps text at spaces to at most `max_columns`; a longer word gets its own line.
pub fn wrap(text: &str, max_columns: usize) -> String {
    let mut out = String::new();
    for (at, line) in text.lines().enumerate() {
        if at > 0 {
            out.push('\n');
        }
        let mut used = 0;
        for word in line.split_whitespace() {
            let width = columns(word);
            if used > 0 && used + 1 + width > max_columns {
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
        Canvas { columns: 80, rows: 20, unicode: true, color: false, limit }
    }

    fn wide() -> Table {
        let row = ["rtx_4090", "24.0", "189.5", "a sentence that is wider than the terminal is", "yes"];
        Table::new("", &["device", "GB", "token/s", "why", "fits"], [row.map(str::to_owned).to_vec()])
    }

    #[test]
    fn columns_fit_their_widest_line() {
        let rows = vec![vec!["漢字".to_owned(), "1\n22".to_owned()], vec!["x".to_owned(), String::new()]];
        let table = Table::new("Title", &["name", "n"], rows);
        assert_eq!(table.text(), "Title\n name  n\n 漢字  1\n       22\n x\n");
    }

    #[test]
    fn sentences_are_wrapped_before_columns_are_dropped() {
        let table = wide();
        assert_eq!(table.render_within(&canvas(None), &[]), table.text());
        assert_eq!(table.render_within(&canvas(Some(200)), &[]), table.text());
        let narrow = table.render_within(&canvas(Some(60)), &[]);
        assert!(narrow.lines().all(|line| columns(line) <= 60), "{narrow}");
        assert_eq!(narrow.split_whitespace().count(), table.text().split_whitespace().count(), "{narrow}");
    }

    #[test]
    fn the_least_important_columns_are_dropped_first_and_listed() {
        let shown = wide().render_within(&canvas(Some(28)), &["why", "GB"]);
        let first = " device    token/s  fits\n rtx_4090  189.5    yes\n";
        assert_eq!(shown, format!("{first} columns hidden (terminal\n too narrow): why, GB\n"));
        let least = wide().render_within(&canvas(Some(1)), &[]);
        assert!(least.starts_with(" device\n rtx_4090\n columns hidden"), "{least}");
    }

    #[test]
    fn color_marks_headings_and_verdicts_without_changing_widths() {
        let rows = [["a", "worse"], ["b", "same"]].map(|row| row.map(str::to_owned).to_vec());
        let table = Table::new("", &["figure", "verdict"], rows);
        let painted = table.render_within(&Canvas { color: true, ..canvas(None) }, &[]);
        assert!(
            painted.contains("\x1b[31mworse\x1b[0m") && painted.contains("\x1b[1mfigure\x1b[0m"),
            "{painted}"
        );
        let plain =
            ["\x1b[31m", "\x1b[1m", "\x1b[0m"].iter().fold(painted, |text, code| text.replace(code, ""));
        assert_eq!(plain, table.text());
    }
}
