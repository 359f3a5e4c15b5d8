//! Documentation as a LaTeX document. What depends on what is named under each equation instead of drawn.

use super::math::latex_text;
use super::page::{Block, Inline};

const PREAMBLE: &str = r"\documentclass[a4paper]{article}
\usepackage[T1]{fontenc}
\usepackage[margin=2cm]{geometry}
\usepackage{amsmath,amssymb,array,longtable,textcomp}
\setlength{\parindent}{0pt}
\setlength{\parskip}{4pt}
\begin{document}
\raggedright
";

/// The document.
pub fn write(blocks: &[Block]) -> String {
    // The graph ends the page, and its heading goes with it.
    let end = match blocks {
        [.., Block::Heading(..), Block::Graph(_)] => blocks.len() - 2,
        _ => blocks.len(),
    };
    let body: String = blocks.iter().take(end).map(block).collect();
    format!("{PREAMBLE}{body}\\end{{document}}\n")
}

fn block(block: &Block) -> String {
    match block {
        Block::Heading(1, parts) => format!("{{\\LARGE\\bfseries {}\\par}}\n", line(parts)),
        Block::Heading(2, parts) => format!("\n\\section*{{{}}}\n", line(parts)),
        Block::Heading(_, parts) => format!("\n\\subsection*{{{}}}\n", line(parts)),
        Block::Text(parts) => format!("{}\n\n", line(parts)),
        Block::List(items) => {
            let items: String = items.iter().map(|item| format!("\\item {}\n", line(item))).collect();
            format!("\\begin{{itemize}}\n{items}\\end{{itemize}}\n")
        }
        Block::Grid(headings, rows) => grid(headings, rows),
        Block::Formula(math) => format!("\\[ {} \\]\n", math.latex()),
        Block::Folded(summary, lines) => {
            let lines: String = lines
                .iter()
                .flat_map(|line| line.lines())
                .map(|line| format!("{}\\par\n", monospaced(line)))
                .collect();
            format!("\\textbf{{{}}}\n\n{{\\footnotesize {lines}}}\n", line(summary))
        }
        Block::Graph(_) => String::new(),
    }
}

/// A table that may break over pages; the last column is as wide as two.
fn grid(headings: &[&str], rows: &[Vec<Vec<Inline>>]) -> String {
    let share = 0.88 / (headings.len() as f64 + 1.0);
    let column = |at: usize| {
        let share = if at + 1 == headings.len() { 2.0 * share } else { share };
        format!("p{{{share:.3}\\textwidth}}")
    };
    let columns: String = (0..headings.len()).map(column).collect();
    let head: Vec<String> =
        headings.iter().map(|heading| format!("\\textbf{{{}}}", latex_text(heading))).collect();
    let row = |row: &Vec<Vec<Inline>>| {
        let cells: Vec<String> = row.iter().map(|cell| line(cell)).collect();
        format!("{} \\\\\n", cells.join(" & "))
    };
    let body: String = rows.iter().map(row).collect();
    format!(
        "{{\\footnotesize\n\\begin{{longtable}}{{{columns}}}\n{} \\\\ \\hline\n\\endhead\n{body}\\end{{longtable}}}}\n",
        head.join(" & ")
    )
}

fn line(parts: &[Inline]) -> String {
    let part = |part: &Inline| match part {
        Inline::Text(text) => latex_text(text),
        Inline::Code(code) => monospaced(code),
        Inline::Verdict(word) => (*word).to_owned(),
    };
    parts.iter().map(part).collect()
}

/// Names may break after an underscore, so that they fit in a column; leading spaces stay.
fn monospaced(text: &str) -> String {
    let spaces = text.len() - text.trim_start_matches(' ').len();
    let indent = "~".repeat(spaces);
    format!(
        "\\texttt{{{indent}{}}}",
        latex_text(text.trim_start_matches(' '))
            .replace(r"\_", r"\_\allowbreak{}")
            .replace(['-'], "-\\allowbreak{}")
    )
}
