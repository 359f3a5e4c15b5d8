//! Random contracts: every operator of the language, nested in every other.

use std::fmt::Write;

use roofline_contracts::sample::Random;

/// How many are tried.
pub const CONTRACTS: usize = 48;
/// Equations of each.
const EQUATIONS: usize = 6;
/// How deep formulas nest.
const DEPTH: usize = 4;

const QUANTITIES: [(&str, &str); 5] =
    [("a", "[0.5, 8]"), ("b", "integer [1, 9]"), ("c", "{1, 2, 4}"), ("d", "[-3, 5]"), ("e", ">= 0")];

/// A contract without units; not all of them have no mistakes.
pub fn contract(seed: usize) -> String {
    let mut text =
        Formulas { random: Random(seed as u64), names: QUANTITIES.map(|(name, _)| name.to_owned()).into() };
    let mut out = format!("metadata: {{version: 1.0.0, description: Random {seed}}}\nquantities:\n");
    for (name, domain) in QUANTITIES {
        let _ = writeln!(out, "  {name}: {{unit: \"1\", domain: \"{domain}\"}}");
    }
    out += "equations:\n";
    for index in 0..EQUATIONS {
        let _ = writeln!(out, "  y{index}: {{unit: \"1\", formula: \"{}\"}}", text.number(DEPTH));
        text.names.push(format!("y{index}"));
    }
    let (first, second) = (text.condition(DEPTH), text.condition(DEPTH));
    let _ = write!(
        out,
        "classifiers:\n  kind:\n    cases:\n      - First: \"{first}\"\n      - Second: \"{second}\"\n      - Third: otherwise\n"
    );
    out
}

struct Formulas {
    random: Random,
    names: Vec<String>,
}

impl Formulas {
    /// A number.
    fn number(&mut self, depth: usize) -> String {
        if depth == 0 {
            return match self.random.below(4) {
                0 => self.literal(),
                _ => self.random.pick(&self.names).cloned().unwrap_or_default(),
            };
        }
        let depth = depth - 1;
        match self.random.below(14) {
            0 | 1 => format!("({} + {})", self.number(depth), self.number(depth)),
            2 | 3 => format!("({} - {})", self.number(depth), self.number(depth)),
            4 | 5 => format!("({} * {})", self.number(depth), self.number(depth)),
            6 | 7 => format!("({} / {})", self.number(depth), self.positive(depth)),
            8 => format!("(-{})", self.number(depth)),
            9 => format!("({})^{}", self.number(depth), self.random.below(4)),
            10 => format!("min({}, {})", self.number(depth), self.number(depth)),
            11 => {
                format!("max({}, {}, {})", self.number(depth), self.number(depth), self.number(depth))
            }
            12 => {
                let name = if self.random.below(2) == 0 { "floor" } else { "ceil" };
                format!("{name}({})", self.number(depth))
            }
            _ => format!(
                "(if {} then {} else {})",
                self.condition(depth),
                self.number(depth),
                self.number(depth)
            ),
        }
    }

    /// A number above zero, so that it may be divided by.
    fn positive(&mut self, depth: usize) -> String {
        if depth == 0 {
            return self.random.pick(&["a", "b", "c"]).map(|name| (*name).to_owned()).unwrap_or_default();
        }
        let depth = depth - 1;
        match self.random.below(6) {
            0 => format!("({} + {})", self.positive(depth), self.positive(depth)),
            1 => format!("({} * {})", self.positive(depth), self.positive(depth)),
            2 => format!("({} / {})", self.positive(depth), self.positive(depth)),
            3 => format!("max({}, {})", self.number(depth), self.literal()),
            4 => format!("pow({}, b)", self.positive(depth)),
            _ => format!("({})^-{}", self.positive(depth), 1 + self.random.below(2)),
        }
    }

    fn literal(&mut self) -> String {
        (*self.random.pick(&["0.1", "1", "2.5", "3", "7", "1e3"]).unwrap_or(&"1")).to_owned()
    }

    fn condition(&mut self, depth: usize) -> String {
        let depth = depth.saturating_sub(1);
        let choices = if depth == 0 { 6 } else { 11 };
        match self.random.below(choices) {
            which @ 0..6 => {
                let sign = ["<", "<=", ">", ">=", "==", "!="][which];
                format!("({} {sign} {})", self.number(depth), self.number(depth))
            }
            6 => format!("({} and {})", self.condition(depth), self.condition(depth)),
            7 => format!("({} or {})", self.condition(depth), self.condition(depth)),
            8 => format!("(not {})", self.condition(depth)),
            9 => format!("({} implies {})", self.condition(depth), self.condition(depth)),
            _ => format!("({} iff {})", self.condition(depth), self.condition(depth)),
        }
    }
}
