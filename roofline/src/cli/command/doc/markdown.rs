//! Documentation as GitHub-flavored Markdown.

use super::page::{Block, Inline};
use crate::report::Table;
use roofline_render::display_width::escape;

/// Renders the page.
pub fn write(blocks: &[Block]) -> String {
    let parts: Vec<String> = blocks.iter().map(block).collect();
    parts.join("\n")
}

fn block(block: &Block) -> String {
    match block {
        Block::Heading(level, parts) => format!("{} {}\n", "#".repeat(usize::from(*level)), line(parts)),
        Block::Text(parts) => format!("{}\n", line(parts)),
        Block::List(items) => items.iter().map(|item| format!("- {}\n", line(item))).collect(),
        Block::Grid(headings, rows) => {
            let rows = rows.iter().map(|row| row.iter().map(|cell| line(cell)).collect());
            Table::new("", headings, rows).markdown()
        }
        Block::Formula(formula) => indented(std::slice::from_ref(formula)),
        Block::Folded(summary, lines) => {
            let summary: String = summary.iter().map(html).collect();
            format!("<details><summary>{summary}</summary>\n\n{}\n</details>\n", indented(lines))
        }
    }
}

/// Returns an indented code block, which its content cannot end.
fn indented(lines: &[String]) -> String {
    lines.iter().flat_map(|line| line.lines()).map(|line| format!("    {line}\n")).collect()
}

fn line(parts: &[Inline]) -> String {
    parts.iter().map(inline).collect()
}

fn inline(part: &Inline) -> String {
    match part {
        Inline::Text(text) => plain(text),
        Inline::Code(code) if code.contains('`') => plain(code),
        Inline::Code(code) => format!("`{code}`"),
        Inline::Verdict(word) => (*word).to_owned(),
    }
}

fn html(part: &Inline) -> String {
    match part {
        Inline::Text(text) => escape(text),
        Inline::Code(code) => format!("<code>{}</code>", escape(code)),
        Inline::Verdict(word) => (*word).to_owned(),
    }
}

/// Escapes text for Markdown, on one line.
pub fn plain(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            '\\' | '*' | '_' | '<' | '>' | '[' | ']' | '#' | '`' | '$' | '~' => {
                out.push('\\');
                out.push(c);
            }
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
    }
    out
}
