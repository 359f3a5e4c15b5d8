//! Formulas as people write them on paper: as LaTeX and as MathML.

use roofline_contracts::formula::{Binary, Formula, Function, Kind, NodeId};

use crate::text::escape;

/// A typeset expression.
#[derive(Clone, Debug, PartialEq)]
pub enum Math {
    /// Digits.
    Number(String),
    /// A quantity, an equation, a function.
    Name(String),
    /// Words.
    Words(String),
    /// A sign: as LaTeX, and as Unicode.
    Sign(&'static str, &'static str),
    /// One after the other.
    Row(Vec<Math>),
    /// One over the other.
    Fraction(Box<Math>, Box<Math>),
    /// Raised.
    Power(Box<Math>, Box<Math>),
    /// Lowered.
    Index(Box<Math>, Box<Math>),
    /// Between fences: as LaTeX, and as Unicode.
    Fenced([&'static str; 2], Box<Math>, [&'static str; 2]),
    /// A value and when it applies, one a line.
    Cases(Vec<(Math, Math)>),
}

const EQUALS: Math = Math::Sign("=", "=");
const AT_MOST: Math = Math::Sign(r"\le", "≤");
const TIMES: Math = Math::Sign(r"\cdot", "⋅");
const COMMA: Math = Math::Sign(",", ",");

impl Math {
    /// `name = formula`, or `measured ≤ formula` for a bound.
    pub fn equation(name: &str, bounds: Option<&str>, formula: &Formula) -> Math {
        let right = Math::of(formula);
        match bounds {
            None => Math::Row(vec![Math::Name(name.to_owned()), EQUALS, right]),
            Some(measured) => {
                let left = [Math::Name(measured.to_owned()), AT_MOST, Math::Name(name.to_owned()), EQUALS];
                Math::Row(left.into_iter().chain([right]).collect())
            }
        }
    }

    /// A formula.
    pub fn of(formula: &Formula) -> Math {
        Typesetter { formula }.node(formula.root, 0)
    }

    /// LaTeX for math mode.
    pub fn latex(&self) -> String {
        match self {
            Math::Number(digits) => digits.clone(),
            Math::Name(name) => format!(r"\mathit{{{}}}", name.replace('_', r"\_")),
            Math::Words(words) => format!(r"\text{{{}}}", latex_text(words)),
            Math::Sign(latex, _) => (*latex).to_owned(),
            Math::Row(parts) => parts.iter().map(Math::latex).collect::<Vec<_>>().join(" "),
            Math::Fraction(above, below) => format!(r"\frac{{{}}}{{{}}}", above.latex(), below.latex()),
            Math::Power(base, exponent) => format!("{{{}}}^{{{}}}", base.latex(), exponent.latex()),
            Math::Index(base, index) => format!("{{{}}}_{{{}}}", base.latex(), index.latex()),
            Math::Fenced([open, _], inner, [close, _]) => {
                format!(r"\left{open} {} \right{close}", inner.latex())
            }
            Math::Cases(cases) => {
                let line = |(value, when): &(Math, Math)| format!("{} & {}", value.latex(), when.latex());
                let lines: Vec<String> = cases.iter().map(line).collect();
                format!(r"\begin{{cases}} {} \end{{cases}}", lines.join(r" \\ "))
            }
        }
    }

    /// The inside of a MathML element `math`.
    pub fn mathml(&self) -> String {
        match self {
            Math::Number(digits) => format!("<mn>{}</mn>", escape(digits)),
            Math::Name(name) => format!("<mi>{}</mi>", escape(name)),
            // Plain spaces at the ends of a text are not shown.
            Math::Words(words) => format!("<mtext>{}</mtext>", escape(words).replace(' ', "\u{a0}")),
            Math::Sign(_, word) if word.chars().all(char::is_alphabetic) => format!("<mi>{word}</mi>"),
            Math::Sign(_, sign) => format!("<mo>{}</mo>", escape(sign)),
            Math::Row(parts) => {
                format!("<mrow>{}</mrow>", parts.iter().map(Math::mathml).collect::<String>())
            }
            Math::Fraction(above, below) => format!("<mfrac>{}{}</mfrac>", above.mathml(), below.mathml()),
            Math::Power(base, exponent) => format!("<msup>{}{}</msup>", base.mathml(), exponent.mathml()),
            Math::Index(base, index) => format!("<msub>{}{}</msub>", base.mathml(), index.mathml()),
            Math::Fenced([_, open], inner, [_, close]) => {
                format!("<mrow><mo>{open}</mo>{}<mo>{close}</mo></mrow>", inner.mathml())
            }
            Math::Cases(cases) => {
                let line = |(value, when): &(Math, Math)| {
                    format!("<mtr><mtd>{}</mtd><mtd>{}</mtd></mtr>", value.mathml(), when.mathml())
                };
                let lines: String = cases.iter().map(line).collect();
                format!("<mrow><mo>{{</mo><mtable columnalign=\"left left\">{lines}</mtable></mrow>")
            }
        }
    }
}

/// A number with its power of ten.
pub fn number(value: f64) -> Math {
    let text = roofline_contracts::formula::number(value);
    let Some((digits, exponent)) = text.split_once('e') else { return Math::Number(text) };
    let ten = Math::Power(Box::new(Math::Number("10".into())), Box::new(Math::Number(exponent.to_owned())));
    if digits == "1" { ten } else { Math::Row(vec![Math::Number(digits.to_owned()), TIMES, ten]) }
}

/// Text for LaTeX, outside of math mode and inside `\text`.
pub fn latex_text(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\\' => out += r"\textbackslash{}",
            '~' => out += r"\textasciitilde{}",
            '^' => out += r"\textasciicircum{}",
            '<' => out += r"\textless{}",
            '>' => out += r"\textgreater{}",
            '|' => out += r"\textbar{}",
            '"' => out += r"\textquotedbl{}",
            '&' | '%' | '$' | '#' | '_' | '{' | '}' => {
                out.push('\\');
                out.push(c);
            }
            '×' => out += r"\ensuremath{\times}",
            '·' => out += r"\ensuremath{\cdot}",
            '≤' => out += r"\ensuremath{\le}",
            '≥' => out += r"\ensuremath{\ge}",
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
    }
    out
}

struct Typesetter<'a> {
    formula: &'a Formula,
}

impl Typesetter<'_> {
    /// A node where everything that binds less tightly than `least` needs parentheses.
    fn node(&self, id: NodeId, least: u8) -> Math {
        let Some(node) = self.formula.nodes.get(id) else { return Math::Row(Vec::new()) };
        let (own, math) = self.bare(&node.kind);
        if own < least { Math::Fenced(["(", "("], Box::new(math), [")", ")"]) } else { math }
    }

    /// How tightly it binds on paper, and the node without parentheses.
    fn bare(&self, kind: &Kind) -> (u8, Math) {
        match kind {
            Kind::Number { value, unit } => {
                let unit = unit.as_ref().map(|(_, text)| Math::Words(format!(" {text}")));
                let parts: Vec<Math> = [number(*value)].into_iter().chain(unit).collect();
                (12, Math::Row(parts))
            }
            Kind::Name(name) => (12, Math::Name(name.clone())),
            Kind::Quote(text) => (12, Math::Words(format!("\u{201c}{text}\u{201d}"))),
            Kind::Negate(a) => (7, Math::Row(vec![Math::Sign("-", "−"), self.node(*a, 9)])),
            Kind::Not(a) => (5, Math::Row(vec![Math::Sign(r"\lnot", "¬"), self.node(*a, 5)])),
            Kind::Binary(Binary::Divide, a, b) => {
                (9, Math::Fraction(Box::new(self.node(*a, 0)), Box::new(self.node(*b, 0))))
            }
            Kind::Binary(operator, a, b) => self.binary(*operator, *a, *b),
            Kind::Power(a, exponent) => {
                let exponent = Math::Number(exponent.to_string());
                (11, Math::Power(Box::new(self.node(*a, 12)), Box::new(exponent)))
            }
            Kind::Call(function, arguments) => (12, self.call(*function, arguments)),
            Kind::If(condition, then, otherwise) => {
                let when = Math::Row(vec![Math::Words("if ".into()), self.node(*condition, 0)]);
                let cases = vec![
                    (self.node(*then, 0), when),
                    (self.node(*otherwise, 0), Math::Words("otherwise".into())),
                ];
                (0, Math::Cases(cases))
            }
            Kind::Is(name, variant, _) => {
                (6, Math::Row(vec![Math::Name(name.clone()), EQUALS, Math::Words(variant.clone())]))
            }
            Kind::Substitute(name, replaced) => {
                let by = replaced.iter().map(|(quantity, _, by)| {
                    Math::Row(vec![Math::Name(quantity.clone()), EQUALS, self.node(*by, 0)])
                });
                let name = Math::Row(vec![Math::Name(name.clone()), Math::Sign(r"\big|", "|")]);
                (12, Math::Index(Box::new(name), Box::new(separated(by, &COMMA))))
            }
            Kind::Monotone { of, increasing, variable } => {
                let word = if *increasing { " increasing in " } else { " decreasing in " };
                let parts = [self.node(*of, 1), Math::Words(word.into()), Math::Name(variable.0.clone())];
                (0, Math::Row(parts.to_vec()))
            }
        }
    }

    fn binary(&self, operator: Binary, a: NodeId, b: NodeId) -> (u8, Math) {
        let (own, sign) = match operator {
            Binary::Iff => (1, Math::Sign(r"\iff", "⇔")),
            Binary::Implies => (2, Math::Sign(r"\implies", "⇒")),
            Binary::Or => (3, Math::Sign(r"\lor", "∨")),
            Binary::And => (4, Math::Sign(r"\land", "∧")),
            Binary::Less => (6, Math::Sign("<", "<")),
            Binary::LessEqual => (6, AT_MOST),
            Binary::Greater => (6, Math::Sign(">", ">")),
            Binary::GreaterEqual => (6, Math::Sign(r"\ge", "≥")),
            Binary::Equal => (6, EQUALS),
            Binary::NotEqual => (6, Math::Sign(r"\ne", "≠")),
            Binary::Add => (7, Math::Sign("+", "+")),
            Binary::Subtract => (7, Math::Sign("-", "−")),
            Binary::Multiply | Binary::Divide => (8, TIMES),
        };
        // Sums and products in a row need no parentheses where the written order is the order of evaluation.
        let (left, right) = match operator {
            Binary::Implies => (own + 1, own),
            _ if operator.is_comparison() => (own + 1, own + 1),
            _ => (own, own + 1),
        };
        (own, Math::Row(vec![self.node(a, left), sign, self.node(b, right)]))
    }

    fn call(&self, function: Function, arguments: &[NodeId]) -> Math {
        let inner = arguments.iter().map(|argument| self.node(*argument, 0));
        let fenced = |open, inner, close| Math::Fenced(open, Box::new(inner), close);
        match (function, arguments) {
            (Function::Floor, _) => fenced([r"\lfloor", "⌊"], separated(inner, &COMMA), [r"\rfloor", "⌋"]),
            (Function::Ceil, _) => fenced([r"\lceil", "⌈"], separated(inner, &COMMA), [r"\rceil", "⌉"]),
            (Function::Pow, [base, exponent]) => {
                Math::Power(Box::new(self.node(*base, 12)), Box::new(self.node(*exponent, 0)))
            }
            _ => {
                let name = match function {
                    Function::Min => Math::Sign(r"\min", "min"),
                    Function::Max => Math::Sign(r"\max", "max"),
                    other => Math::Words(other.name().to_owned()),
                };
                Math::Row(vec![name, fenced(["(", "("], separated(inner, &COMMA), [")", ")"])])
            }
        }
    }
}

fn separated(parts: impl Iterator<Item = Math>, by: &Math) -> Math {
    let mut row = Vec::new();
    for part in parts {
        if !row.is_empty() {
            row.push(by.clone());
        }
        row.push(part);
    }
    Math::Row(row)
}

#[cfg(test)]
mod tests {
    use super::*;
    use roofline_contracts::source::Source;

    fn math(formula: &str) -> Math {
        let source = Source::from_bytes("formula", formula.as_bytes().to_vec()).unwrap();
        Math::of(&Formula::parse(&source.whole()).unwrap())
    }

    #[test]
    fn formulas_become_latex() {
        for (formula, expected) in [
            ("a_b * c", r"\mathit{a\_b} \cdot \mathit{c}"),
            ("a / (b + c)", r"\frac{\mathit{a}}{\mathit{b} + \mathit{c}}"),
            ("(a + b) * c", r"\left( \mathit{a} + \mathit{b} \right) \cdot \mathit{c}"),
            ("a - (b - c)", r"\mathit{a} - \left( \mathit{b} - \mathit{c} \right)"),
            ("a * 1e9 [B/GB]", r"\mathit{a} \cdot {10}^{9} \text{ B/GB}"),
            ("2.5e-30", r"2.5 \cdot {10}^{-30}"),
            ("min(a, b)", r"\min \left( \mathit{a} , \mathit{b} \right)"),
            ("floor(a)", r"\left\lfloor \mathit{a} \right\rfloor"),
            ("(a + b) ^ 2", r"{\left( \mathit{a} + \mathit{b} \right)}^{2}"),
            (
                "if a < b then 1 else 2",
                r"\begin{cases} 1 & \text{if } \mathit{a} < \mathit{b} \\ 2 & \text{otherwise} \end{cases}",
            ),
            (
                "a <= b implies not b >= c",
                r"\mathit{a} \le \mathit{b} \implies \lnot \mathit{b} \ge \mathit{c}",
            ),
        ] {
            assert_eq!(math(formula).latex(), expected, "{formula}");
        }
    }

    #[test]
    fn formulas_become_mathml_with_their_text_escaped() {
        assert_eq!(math("a < b").mathml(), "<mrow><mi>a</mi><mo>&lt;</mo><mi>b</mi></mrow>");
        assert_eq!(math("a / 2").mathml(), "<mfrac><mi>a</mi><mrow><mn>2</mn></mrow></mfrac>");
        assert!(math("x == \"<b>\"").mathml().contains("“&lt;b&gt;”"));
    }

    #[test]
    fn latex_special_characters_are_escaped() {
        assert_eq!(
            latex_text(r"50 % of $x_1 & {y} \ ~^#"),
            r"50 \% of \$x\_1 \& \{y\} \textbackslash{} \textasciitilde{}\textasciicircum{}\#"
        );
    }
}
