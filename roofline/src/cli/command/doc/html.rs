//! Documentation as a self-contained HTML page.

use super::page::{Block, Inline};
use roofline_render::display_width::escape;

/// Renders the page.
pub fn write(title: &str, blocks: &[Block]) -> String {
    let body: String = blocks.iter().map(block).collect();
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>{}</title>\n<style>\n{}</style>\n</head>\n<body>\n<main>\n{body}</main>\n</body>\n</html>\n",
        escape(title),
        include_str!("page.css")
    )
}

fn block(block: &Block) -> String {
    match block {
        Block::Heading(level, parts) => format!("<h{level}>{}</h{level}>\n", line(parts)),
        Block::Text(parts) => format!("<p>{}</p>\n", line(parts)),
        Block::List(items) => {
            let items: String = items.iter().map(|item| format!("<li>{}</li>\n", line(item))).collect();
            format!("<ul>\n{items}</ul>\n")
        }
        Block::Grid(headings, rows) => {
            let head: String = headings
                .iter()
                .map(|heading| format!("<th scope=\"col\">{}</th>", escape(heading)))
                .collect();
            let row = |row: &Vec<Vec<Inline>>| {
                let cells: String = row.iter().map(|cell| format!("<td>{}</td>", line(cell))).collect();
                format!("<tr>{cells}</tr>\n")
            };
            let body: String = rows.iter().map(row).collect();
            format!(
                "<div class=\"wide\"><table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}</tbody>\n</table></div>\n"
            )
        }
        Block::Formula(formula) => format!("<pre>{}</pre>\n", escape(formula)),
        Block::Folded(summary, lines) => {
            format!(
                "<details><summary>{}</summary><pre>{}</pre></details>\n",
                line(summary),
                escape(&lines.join("\n"))
            )
        }
    }
}

fn line(parts: &[Inline]) -> String {
    let part = |part: &Inline| match part {
        Inline::Text(text) => escape(text),
        Inline::Code(code) => format!("<code>{}</code>", escape(code)),
        Inline::Verdict(word) => format!("<span class=\"verdict {}\">{word}</span>", word.replace(' ', "-")),
    };
    parts.iter().map(part).collect()
}
