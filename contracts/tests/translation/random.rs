//! Random contracts: all operators in all combinations, with names that could clash with those of generated code.

use std::fmt::Write;

use roofline_contracts::names::{camel, keywords};
use roofline_contracts::sample::Random;

/// Number of random contracts.
pub const CONTRACTS: usize = 48;
/// Equations per contract.
const EQUATIONS: usize = 6;
/// Nesting depth of formulas.
const DEPTH: usize = 4;

/// The domains of the quantities; the first three are positive, the second is an exponent.
const DOMAINS: [&str; 5] = ["[0.5, 8]", "integer [1, 9]", "{1, 2, 4}", "[-3, 5]", ">= 0"];

/// Words with a meaning in Rust, JavaScript or the generated code.
const WORDS: &str = "\
    f64 f32 u32 i64 u8 usize bool str char core std alloc option some none result ok err default clone copy debug \
    partial_eq partial_ord eq ord hash display formatter fmt from into from_str matches write panic vec string drop main \
    test derive allow inline doc cfg kani is_finite abs copysign as_bytes len \
    arguments case catch class debugger delete eval export extends finally function import instanceof interface let new \
    null number math object package private protected public switch this throw undefined var void with constructor \
    prototype of get set async_ within domains to_string value_of \
    contract inputs outputs out_of_domain unknown_name obligation verdict recommendation priority units unit names name \
    from_array to_array evaluate values value array self_ base exponent times product left right done whole x a b i j \
    found count wanted known same profile quantity domain allowed between f truncate power helpers min_ max_ \
    floor_ ceil_ pow_ one two__three trailing_ q1_2";

/// Distinct names for the quantities, the equations and the classifier, in this order.
fn names(random: &mut Random) -> Vec<String> {
    let kept = keywords().iter().map(|word| format!("{}_", word.to_lowercase()));
    let words: Vec<String> = WORDS.split_whitespace().map(str::to_owned).chain(kept).collect();
    let mut names: Vec<String> = Vec::new();
    while names.len() <= DOMAINS.len() + EQUATIONS {
        let word = random.pick(&words).cloned().unwrap_or_default();
        if names.iter().all(|name| camel(name) != camel(&word)) {
            names.push(word);
        }
    }
    names
}

/// A contract without units, which may have errors.
pub fn contract(seed: usize) -> String {
    let mut random = Random(seed as u64);
    let names = names(&mut random);
    let (quantities, rest) = names.split_at(DOMAINS.len());
    let (equations, classifiers) = rest.split_at(EQUATIONS);
    let mut text = Formulas { random, names: quantities.to_vec() };
    let mut out = format!("metadata: {{version: 1.0.0, description: Random {seed}}}\nquantities:\n");
    for (name, domain) in quantities.iter().zip(DOMAINS) {
        let _ = writeln!(out, "  \"{name}\": {{unit: \"1\", domain: \"{domain}\"}}");
    }
    out += "equations:\n";
    for name in equations {
        let _ = writeln!(out, "  \"{name}\": {{unit: \"1\", formula: \"{}\"}}", text.number(DEPTH));
        text.names.push(name.clone());
    }
    let (first, second) = (text.condition(DEPTH), text.condition(DEPTH));
    let _ = write!(
        out,
        "classifiers:\n  \"{}\":\n    cases:\n      - First: \"{first}\"\n      - Second: \"{second}\"\n      - Third: otherwise\n",
        classifiers[0]
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
        match self.random.below(18) {
            14 => format!("abs({})", self.number(depth)),
            15 => format!("sqrt({})", self.positive(depth)),
            16 => format!("sqrt(abs({}))", self.number(depth)),
            17 => format!("mod({}, {})", self.number(depth), self.positive(depth)),
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

    /// A positive number, usable as a divisor.
    fn positive(&mut self, depth: usize) -> String {
        if depth == 0 {
            return self.random.pick(&self.names[..3]).cloned().unwrap_or_default();
        }
        let depth = depth - 1;
        match self.random.below(6) {
            0 => format!("({} + {})", self.positive(depth), self.positive(depth)),
            1 => format!("({} * {})", self.positive(depth), self.positive(depth)),
            2 => format!("({} / {})", self.positive(depth), self.positive(depth)),
            3 => format!("max({}, {})", self.number(depth), self.literal()),
            4 if depth == 0 => format!("pow({}, {} + 1)", self.positive(depth), self.names[1]),
            4 => format!("pow({}, {})", self.positive(depth), self.names[1]),
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
