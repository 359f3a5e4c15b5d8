//! What depends on what in a contract: as Mermaid text and as an SVG picture, inputs on the left.

use roofline_contracts::contract::{Contract, Operand};

use crate::text::escape;

/// Width of a character, height of a node and the room around it, in pixels.
const CHARACTER: f64 = 7.0;
const HEIGHT: f64 = 24.0;
const GAP: f64 = 10.0;
const BETWEEN: f64 = 64.0;

/// What a node stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// An input.
    Quantity,
    /// A formula.
    Equation,
    /// A choice.
    Classifier,
}

/// Quantities, equations and classifiers, and who uses whom.
pub struct Dependencies {
    nodes: Vec<(String, Role)>,
    /// From the used to the user, by position; all that lead to a node stand before those that lead on from it.
    edges: Vec<(usize, usize)>,
}

impl Dependencies {
    /// Those of a contract.
    pub fn of(contract: &Contract) -> Dependencies {
        let quantities = contract.quantities.iter().map(|quantity| (quantity.name.clone(), Role::Quantity));
        let equations = contract.equations.iter().map(|equation| (equation.name.clone(), Role::Equation));
        let classifiers = contract.classifiers.iter().map(|class| (class.name.clone(), Role::Classifier));
        let nodes: Vec<(String, Role)> = quantities.chain(equations).chain(classifiers).collect();
        let first_equation = contract.quantities.len();
        let first_class = first_equation + contract.equations.len();
        let place = |operand: &Operand| match operand {
            Operand::Quantity(at) => *at,
            Operand::Equation(at) => first_equation + at,
        };
        let mut edges = Vec::new();
        for (at, equation) in contract.order.iter().filter_map(|at| Some((*at, contract.equations.get(*at)?)))
        {
            edges.extend(
                equation.expression.operands.iter().map(|(_, used)| (place(used), first_equation + at)),
            );
        }
        for (at, classifier) in contract.classifiers.iter().enumerate() {
            let conditions = classifier.cases.iter().filter_map(|case| case.condition.as_ref());
            edges.extend(
                conditions
                    .flat_map(|condition| &condition.operands)
                    .map(|(_, used)| (place(used), first_class + at)),
            );
        }
        let mut seen = std::collections::BTreeSet::new();
        edges.retain(|edge| seen.insert(*edge));
        Dependencies { nodes, edges }
    }

    /// Nothing depends on anything.
    pub fn is_empty(&self) -> bool {
        self.edges.is_empty()
    }

    /// A Mermaid flowchart. Only what is connected is drawn.
    pub fn mermaid(&self) -> String {
        let neighbours = self.neighbours();
        let mut out = String::from("flowchart LR\n");
        for (at, (name, role)) in self.nodes.iter().enumerate() {
            if !neighbours[at].is_empty() {
                // An `end` of its own would close a block.
                out += &match role {
                    Role::Quantity => format!("    n{at}([\"{name}\"])\n"),
                    Role::Equation => format!("    n{at}[\"{name}\"]\n"),
                    Role::Classifier => format!("    n{at}{{{{\"{name}\"}}}}\n"),
                };
            }
        }
        for (from, to) in &self.edges {
            out += &format!("    n{from} --> n{to}\n");
        }
        out
    }

    /// What each node uses or is used by.
    fn neighbours(&self) -> Vec<Vec<usize>> {
        let mut neighbours = vec![Vec::new(); self.nodes.len()];
        for &(from, to) in &self.edges {
            neighbours[from].push(to);
            neighbours[to].push(from);
        }
        neighbours
    }

    /// The column of each node: one more than that of everything it uses.
    fn columns(&self) -> Vec<usize> {
        let mut columns: Vec<usize> = vec![0; self.nodes.len()];
        for &(from, to) in &self.edges {
            columns[to] = columns[to].max(columns[from] + 1);
        }
        // An input stands just before its first user, so that lines stay short.
        let mut first = vec![usize::MAX; self.nodes.len()];
        for &(from, to) in &self.edges {
            first[from] = first[from].min(columns[to]);
        }
        for (at, (_, role)) in self.nodes.iter().enumerate() {
            if *role == Role::Quantity && first[at] != usize::MAX {
                columns[at] = first[at].saturating_sub(1);
            }
        }
        columns
    }

    /// An SVG picture for an HTML page; its colours are the page's.
    pub fn svg(&self) -> String {
        let columns = self.columns();
        let neighbours = self.neighbours();
        let depth = columns.iter().max().map_or(0, |last| last + 1);
        let mut layers: Vec<Vec<usize>> = vec![Vec::new(); depth];
        for at in (0..self.nodes.len()).filter(|at| !neighbours[*at].is_empty()) {
            layers[columns[at]].push(at);
        }
        // Each node goes where the nodes it is connected with are on average; a few rounds untangle most lines.
        let mut height = vec![0.0; self.nodes.len()];
        let mut settle = |layers: &[Vec<usize>]| {
            let most = layers.iter().map(Vec::len).max().unwrap_or(0) as f64;
            for layer in layers {
                let first = (most - layer.len() as f64) / 2.0;
                for (row, at) in layer.iter().enumerate() {
                    height[*at] = first + row as f64;
                }
            }
            height.clone()
        };
        for _ in 0..8 {
            let height = settle(&layers);
            for layer in &mut layers {
                let mut wanted: Vec<(f64, usize)> = layer
                    .iter()
                    .map(|&at| {
                        let sum: f64 = neighbours[at].iter().map(|near| height[*near]).sum();
                        (sum / neighbours[at].len() as f64, at)
                    })
                    .collect();
                wanted.sort_by(|a, b| a.0.total_cmp(&b.0));
                *layer = wanted.into_iter().map(|(_, at)| at).collect();
            }
        }
        let height = settle(&layers);
        let wide = |at: usize| self.nodes[at].0.chars().count() as f64 * CHARACTER + 20.0;
        let mut left = vec![GAP; depth + 1];
        for (column, layer) in layers.iter().enumerate() {
            let widest = layer.iter().map(|at| wide(*at)).fold(0.0, f64::max);
            left[column + 1] = left[column] + widest + BETWEEN;
        }
        let top = |at: usize| GAP + height[at] * (HEIGHT + GAP);
        let rows = layers.iter().map(Vec::len).max().unwrap_or(0) as f64;
        let (width, full) = (left[depth] - BETWEEN + GAP, GAP + rows * (HEIGHT + GAP));
        let mut out = format!(
            "<svg class=\"graph\" viewBox=\"0 0 {width:.0} {full:.0}\" width=\"{width:.0}\" height=\"{full:.0}\" role=\"img\" aria-label=\"what depends on what\">\n"
        );
        for &(from, to) in &self.edges {
            let (x, y) = (left[columns[from]] + wide(from), top(from) + HEIGHT / 2.0);
            let (end, low) = (left[columns[to]], top(to) + HEIGHT / 2.0);
            let middle = (end - x) / 2.0;
            let (bend, back) = (x + middle, end - middle);
            out += &format!(
                "<path d=\"M{x:.0} {y:.0}C{bend:.0} {y:.0} {back:.0} {low:.0} {end:.0} {low:.0}\"/>\n"
            );
        }
        for &at in layers.iter().flatten() {
            let (name, role) = &self.nodes[at];
            let (class, round) = match role {
                Role::Quantity => ("quantity", 12.0),
                Role::Equation => ("equation", 3.0),
                Role::Classifier => ("classifier", 3.0),
            };
            let (x, y, width) = (left[columns[at]], top(at), wide(at));
            let (middle, line) = (x + width / 2.0, y + HEIGHT / 2.0 + 4.0);
            out += &format!(
                "<g class=\"{class}\"><rect x=\"{x:.0}\" y=\"{y:.0}\" width=\"{width:.0}\" height=\"{HEIGHT:.0}\" rx=\"{round}\"/><text x=\"{middle:.0}\" y=\"{line:.0}\">{}</text></g>\n",
                escape(name)
            );
        }
        out + "</svg>\n"
    }
}
