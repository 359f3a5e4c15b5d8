//! The grammar of formulas: from text to a syntax tree with source places.
//!
//! Nodes are stored in one vector, children before parents, so that later passes are loops and long formulas
//! cannot exhaust the stack.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;

use crate::report::{Diagnostic, Report, Rule};
use crate::source::{Span, Text, character_at, last_character, shorten};
use crate::unit::{self, Unit};

/// Maximum nesting depth of a formula.
pub const MAX_DEPTH: usize = 200;
/// Maximum length of a formula, in bytes.
const MAX_LENGTH: usize = 64 << 10;
/// Maximum number of nodes of a formula after the expansion of sums.
const MAX_TERMS: usize = 32 << 10;
/// Maximum exponent of `^`.
pub const MAX_POWER: i32 = 64;

/// A node's index in [`Formula::nodes`].
pub type NodeId = usize;

/// A parsed formula.
#[derive(Clone, Debug, PartialEq)]
pub struct Formula {
    /// All nodes, children before parents.
    pub nodes: Vec<Node>,
    /// The node of the whole formula.
    pub root: NodeId,
}

/// One node and the source bytes it covers.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// The kind of node.
    pub kind: Kind,
    /// Its place in the contract.
    pub span: Span,
    depth: usize,
}

/// The kind of a node.
#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    /// A number with an optional unit.
    Number {
        /// The value.
        value: f64,
        /// The unit and its text.
        unit: Option<(Unit, String)>,
    },
    /// A quantity, an equation, a profile field, or the measured value of a bound.
    Name(String),
    /// A quoted text, only in the rules of a profile table.
    Quote(String),
    /// `-x`
    Negate(NodeId),
    /// `not x`
    Not(NodeId),
    /// Two operands.
    Binary(Binary, NodeId, NodeId),
    /// `a == b within 1e-12`: a comparison up to a relative tolerance.
    Within(Binary, NodeId, NodeId, f64),
    /// `x ^ 3`
    Power(NodeId, i32),
    /// A built-in function.
    Call(Function, Vec<NodeId>),
    /// `if c then a else b`
    If(NodeId, NodeId, NodeId),
    /// `classifier is Variant`
    Is(String, String, Span),
    /// `equation(quantity: expression, ...)`
    Substitute(String, Vec<(String, Span, NodeId)>),
    /// `x increasing in q`, `x decreasing in q`
    Monotone {
        /// The expression.
        of: NodeId,
        /// True for increasing, false for decreasing; both weak.
        increasing: bool,
        /// The quantity and its place.
        variable: (String, Span),
        /// The relative tolerance; 0 for none.
        within: f64,
    },
    /// `sum(x * y for row in table)`
    Sum(Box<Sum>),
}

/// A sum over the rows of a profile table. The name of a column denotes its value in the row; other names have their
/// usual meaning.
#[derive(Clone, Debug, PartialEq)]
pub struct Sum {
    /// The summand as written.
    pub body: Formula,
    /// The table and the place of its name.
    pub table: (String, Span),
    /// The expanded terms, after the table is resolved.
    pub rows: Option<Rows>,
}

/// The terms of a sum: the body with the values of each row in place of the columns, in the order of the table.
#[derive(Clone, Debug, PartialEq)]
pub struct Rows {
    /// One node per row.
    pub terms: Vec<NodeId>,
    /// The nodes of all terms, which have no source text.
    pub nodes: Range<NodeId>,
    /// The unit of the body.
    pub unit: Unit,
}

impl Kind {
    /// The operand nodes, in order.
    pub fn parts(&self) -> Vec<NodeId> {
        match self {
            Kind::Number { .. } | Kind::Name(_) | Kind::Quote(_) | Kind::Is(..) => Vec::new(),
            Kind::Negate(a) | Kind::Not(a) | Kind::Power(a, _) | Kind::Monotone { of: a, .. } => vec![*a],
            Kind::Binary(_, a, b) | Kind::Within(_, a, b, _) => vec![*a, *b],
            Kind::Call(_, arguments) => arguments.clone(),
            Kind::If(c, a, b) => vec![*c, *a, *b],
            Kind::Substitute(_, replaced) => replaced.iter().map(|(_, _, by)| *by).collect(),
            Kind::Sum(sum) => sum.rows.iter().flat_map(|rows| rows.terms.iter().copied()).collect(),
        }
    }

    /// Renumbers the operand nodes.
    fn renumber(&mut self, to: impl Fn(NodeId) -> NodeId) {
        let moved = |id: &mut NodeId| *id = to(*id);
        match self {
            Kind::Number { .. } | Kind::Name(_) | Kind::Quote(_) | Kind::Is(..) | Kind::Sum(_) => {}
            Kind::Negate(a) | Kind::Not(a) | Kind::Power(a, _) | Kind::Monotone { of: a, .. } => moved(a),
            Kind::Binary(_, a, b) | Kind::Within(_, a, b, _) => [a, b].into_iter().for_each(moved),
            Kind::If(c, a, b) => [c, a, b].into_iter().for_each(moved),
            Kind::Call(_, arguments) => arguments.iter_mut().for_each(moved),
            Kind::Substitute(_, replaced) => replaced.iter_mut().for_each(|(_, _, by)| moved(by)),
        }
    }
}

/// Operators with two operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are those of the operators")]
pub enum Binary {
    Add,
    Subtract,
    Multiply,
    Divide,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    Equal,
    NotEqual,
    And,
    Or,
    Implies,
    Iff,
}

/// Built-in functions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Function {
    /// The smaller of two or more.
    Min,
    /// The larger of two or more.
    Max,
    /// The largest integer that is not greater.
    Floor,
    /// The smallest integer that is not smaller.
    Ceil,
    /// `pow(x, n)`: the product of `n` factors `x`, with an integer `n`.
    Pow,
    /// The square root, correctly rounded.
    Sqrt,
    /// The absolute value.
    Abs,
    /// `mod(a, b)`: `a - b * floor(a / b)`.
    Mod,
    /// True if the value is neither infinite nor NaN.
    Finite,
    /// True if a profile entry has a value for an optional field, only in the rules of a profile table.
    Given,
}

impl Function {
    /// All functions, by name.
    pub const ALL: [(&'static str, Function); 10] = [
        ("min", Function::Min),
        ("max", Function::Max),
        ("floor", Function::Floor),
        ("ceil", Function::Ceil),
        ("pow", Function::Pow),
        ("sqrt", Function::Sqrt),
        ("abs", Function::Abs),
        ("mod", Function::Mod),
        ("finite", Function::Finite),
        ("given", Function::Given),
    ];

    /// The name in a formula.
    pub fn name(self) -> &'static str {
        Function::ALL.iter().find(|(_, function)| *function == self).map_or("", |(name, _)| name)
    }

    /// The call syntax.
    fn form(self) -> &'static str {
        match self {
            Function::Min => "min(a, b, ...)",
            Function::Max => "max(a, b, ...)",
            Function::Floor => "floor(x)",
            Function::Ceil => "ceil(x)",
            Function::Pow => "pow(x, n)",
            Function::Sqrt => "sqrt(x)",
            Function::Abs => "abs(x)",
            Function::Mod => "mod(a, b)",
            Function::Finite => "finite(x)",
            Function::Given => "given(field)",
        }
    }

    fn arity(self) -> Range<usize> {
        match self {
            Function::Min | Function::Max => 2..17,
            Function::Pow | Function::Mod => 2..3,
            Function::Floor
            | Function::Ceil
            | Function::Sqrt
            | Function::Abs
            | Function::Finite
            | Function::Given => 1..2,
        }
    }
}

/// The syntax of a sum.
const SUM_FORM: &str = "sum(x * y for row in table)";

/// Words that cannot be names.
pub const RESERVED: [&str; 25] = [
    "if",
    "then",
    "else",
    "and",
    "or",
    "not",
    "implies",
    "iff",
    "is",
    "in",
    "increasing",
    "decreasing",
    "otherwise",
    "within",
    "for",
    "min",
    "max",
    "floor",
    "ceil",
    "pow",
    "sqrt",
    "abs",
    "mod",
    "finite",
    "given",
];

/// Functions of other languages with their equivalents in formulas.
const REPLACEMENTS: [(&str, &str); 5] = [
    ("round", "floor(x + 0.5)"),
    ("clamp", "max(low, min(x, high))"),
    ("ceiling", "ceil(x)"),
    ("remainder", "mod(a, b)"),
    ("power", "pow(x, n)"),
];

/// Unsupported functions, whose results are not bit-identical across implementations.
const TRANSCENDENTAL: [&str; 14] = [
    "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "ln", "sin", "cos", "tan", "tanh", "erf",
    "sigmoid",
];

/// Accepted tolerances.
pub const TOLERANCES: std::ops::RangeInclusive<f64> = 1e-15..=0.1;

/// The keyword for an alternative spelling: `and` for `AND`, `increasing` for `increases`.
fn suggested_spelling(word: &str) -> Option<String> {
    let lower = word.to_ascii_lowercase();
    match lower.as_str() {
        "increases" | "rises" | "grows" => Some("increasing".into()),
        "decreases" | "falls" | "shrinks" => Some("decreasing".into()),
        _ => (word != lower && RESERVED.contains(&lower.as_str())).then_some(lower),
    }
}

impl Binary {
    /// The printed operator.
    pub fn symbol(self) -> &'static str {
        match self {
            Binary::Add => "+",
            Binary::Subtract => "-",
            Binary::Multiply => "*",
            Binary::Divide => "/",
            Binary::Less => "<",
            Binary::LessEqual => "<=",
            Binary::Greater => ">",
            Binary::GreaterEqual => ">=",
            Binary::Equal => "==",
            Binary::NotEqual => "!=",
            Binary::And => "and",
            Binary::Or => "or",
            Binary::Implies => "implies",
            Binary::Iff => "iff",
        }
    }

    /// Binding power; comparisons are not associative.
    fn power(self) -> u8 {
        match self {
            Binary::Iff => 1,
            Binary::Implies => 2,
            Binary::Or => 3,
            Binary::And => 4,
            Binary::Less
            | Binary::LessEqual
            | Binary::Greater
            | Binary::GreaterEqual
            | Binary::Equal
            | Binary::NotEqual => 6,
            Binary::Add | Binary::Subtract => 7,
            Binary::Multiply | Binary::Divide => 8,
        }
    }

    /// `<`, `<=`, `>`, `>=`, `==`, `!=`
    pub fn is_comparison(self) -> bool {
        self.power() == 6
    }

    /// `+`, `-`, `*`, `/`
    pub fn is_arithmetic(self) -> bool {
        self.power() > 6
    }
}

const NOT_POWER: u8 = 5;
const NEGATE_POWER: u8 = 9;

/// A syntax error in a formula.
#[derive(Clone, Debug, PartialEq)]
pub struct FormulaError {
    /// The place of the error.
    pub span: Span,
    /// The problem.
    pub message: String,
    /// Accepted forms or a remedy; empty for none.
    pub note: String,
}

impl From<FormulaError> for Diagnostic {
    fn from(error: FormulaError) -> Diagnostic {
        let diagnostic = Diagnostic::error(error.span, error.message).rule(Rule::Formula);
        if error.note.is_empty() { diagnostic } else { diagnostic.note(error.note) }
    }
}

/// `name = expression`, `name <= expression` or an expression.
#[derive(Clone, Debug, PartialEq)]
pub struct Statement {
    /// The name before `=` or `<=`, with its place.
    pub left: Option<(String, Span)>,
    /// True for a bound (`<=`).
    pub bound: bool,
    /// The right side.
    pub formula: Formula,
}

impl Formula {
    /// Parses an expression.
    pub fn parse(text: &Text) -> Result<Formula, FormulaError> {
        let mut parser = Parser::new(text)?;
        let root = parser.expression(0)?;
        parser.finish(root)
    }

    /// Parses an expression of a contract and reports errors.
    pub fn read(text: &Text, report: &mut Report) -> Option<Formula> {
        Formula::parse(text).map_err(|error| report.add(error.into())).ok()
    }

    /// Parses a condition that may start with a comparison, such as `>= 0.9`, whose left side is `subject`.
    pub fn parse_band(text: &Text, subject: &str) -> Result<Formula, FormulaError> {
        let mut parser = Parser::new(text)?;
        let root = match *parser.peek() {
            Token::Operator(operator) if operator.is_comparison() => {
                let start = parser.range();
                let left = parser.push(Kind::Name(subject.to_owned()), start.clone())?;
                parser.climb(left, start.start, 0)?
            }
            _ => parser.expression(0)?,
        };
        parser.finish(root)
    }

    /// The node of the whole formula.
    pub fn top(&self) -> &Node {
        &self.nodes[self.root]
    }

    /// All names with their places, in source order; for an expanded sum, those in its terms.
    pub fn mentions(&self) -> Vec<(&str, Span)> {
        let mut found: Vec<(&str, Span)> = Vec::new();
        for node in &self.nodes {
            match &node.kind {
                Kind::Name(name) | Kind::Is(name, ..) => found.push((name, node.span)),
                Kind::Substitute(name, replaced) => {
                    found.push((name, node.span));
                    found.extend(replaced.iter().map(|(quantity, span, _)| (quantity.as_str(), *span)));
                }
                Kind::Monotone { variable: (name, span), .. } => found.push((name, *span)),
                Kind::Number { .. }
                | Kind::Quote(_)
                | Kind::Negate(_)
                | Kind::Not(_)
                | Kind::Binary(..)
                | Kind::Within(..)
                | Kind::Power(..)
                | Kind::Call(..)
                | Kind::If(..)
                | Kind::Sum(_) => {}
            }
        }
        found.sort_by_key(|(_, span)| span.start);
        found
    }

    /// All names in the order of their first use.
    pub fn names(&self) -> Vec<&str> {
        let mut seen = std::collections::BTreeSet::new();
        self.mentions().into_iter().map(|(name, _)| name).filter(|name| seen.insert(*name)).collect()
    }

    /// The sums over tables in the formula.
    pub fn sums(&self) -> impl Iterator<Item = &Sum> {
        self.nodes.iter().filter_map(|node| match &node.kind {
            Kind::Sum(sum) => Some(&**sum),
            _ => None,
        })
    }

    /// For each node, true if it belongs to the expanded terms of a sum, which have no source text.
    pub fn expanded_nodes(&self) -> Vec<bool> {
        let mut expanded = vec![false; self.nodes.len()];
        for rows in self.sums().filter_map(|sum| sum.rows.as_ref()) {
            expanded[rows.nodes.clone()].fill(true);
        }
        expanded
    }

    /// Expands the sums of the formula. `values` returns the unit of a sum and, for each row, the values of the columns; none
    /// if the sum has an error.
    pub fn expand_sums(
        &self,
        mut values: impl FnMut(&Sum) -> Option<(Unit, Vec<BTreeMap<String, f64>>)>,
    ) -> Result<Formula, FormulaError> {
        let mut nodes: Vec<Node> = Vec::with_capacity(self.nodes.len());
        let mut places: Vec<NodeId> = Vec::with_capacity(self.nodes.len());
        for node in &self.nodes {
            let mut node = node.clone();
            node.kind.renumber(|id| places[id]);
            if let Kind::Sum(sum) = &mut node.kind
                && sum.rows.is_none()
                && let Some((unit, rows)) = values(sum)
            {
                if rows.len().saturating_mul(sum.body.nodes.len()) + nodes.len() > MAX_TERMS {
                    return Err(FormulaError {
                        span: node.span,
                        message: format!("the formula expands to more than {MAX_TERMS} nodes"),
                        note: format!("`{}` has {} rows; split the sum", sum.table.0, rows.len()),
                    });
                }
                let first = nodes.len();
                let terms = rows.iter().map(|row| sum.body.append_row(row, &mut nodes)).collect();
                sum.rows = Some(Rows { terms, nodes: first..nodes.len(), unit });
            }
            nodes.push(node);
            places.push(nodes.len() - 1);
        }
        Ok(Formula { root: places[self.root], nodes })
    }

    /// Appends the formula to `nodes` and replaces names by these values.
    fn append_row(&self, row: &BTreeMap<String, f64>, nodes: &mut Vec<Node>) -> NodeId {
        let mut places: Vec<NodeId> = Vec::with_capacity(self.nodes.len());
        for part in &self.nodes {
            let mut part = part.clone();
            part.kind.renumber(|id| places[id]);
            if let Kind::Name(name) = &part.kind
                && let Some(value) = row.get(name)
            {
                part.kind = Kind::Number { value: value.abs(), unit: None };
                if value.is_sign_negative() {
                    nodes.push(part.clone());
                    part.kind = Kind::Negate(nodes.len() - 1);
                }
            }
            nodes.push(part);
            places.push(nodes.len() - 1);
        }
        places[self.root]
    }
}

impl Statement {
    /// Parses an equation.
    pub fn parse(text: &Text) -> Result<Statement, FormulaError> {
        let mut parser = Parser::new(text)?;
        let left = match parser.tokens.first_chunk::<2>() {
            Some([(Token::Name(name), range), (Token::Assign, _)]) => {
                Some((name.clone(), text.at(range.clone()), false))
            }
            Some([(Token::Name(name), range), (Token::Operator(Binary::LessEqual), _)]) => {
                Some((name.clone(), text.at(range.clone()), true))
            }
            _ => None,
        };
        if left.is_some() {
            parser.at = 2;
        }
        let root = parser.expression(0)?;
        let formula = parser.finish(root)?;
        let bound = left.as_ref().is_some_and(|(.., bound)| *bound);
        Ok(Statement { left: left.map(|(name, span, _)| (name, span)), bound, formula })
    }
}

#[derive(Clone, Debug, PartialEq)]
enum Token {
    Number(f64),
    Unit(Unit, String),
    Name(String),
    Quote(String),
    Operator(Binary),
    Assign,
    Caret,
    Open,
    Close,
    Comma,
    Colon,
    End,
}

fn lex(text: &Text) -> Result<Vec<(Token, Range<usize>)>, FormulaError> {
    let value = text.value.as_str();
    let error = |range: Range<usize>, message: String, note: &str| {
        Err(FormulaError { span: text.at(range), message, note: note.to_owned() })
    };
    if value.len() > MAX_LENGTH {
        let message = format!("the formula is longer than {} KiB", MAX_LENGTH >> 10);
        return error(character_at(value, 0), message, "split it into several equations");
    }
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(first) = value[at..].chars().next() {
        let rest = &value[at..];
        let one = first.len_utf8();
        let (token, length) = match first {
            c if c.is_whitespace() => {
                at += one;
                continue;
            }
            '0'..='9' | '.' => {
                let length = number_length(rest);
                match rest[..length].parse::<f64>() {
                    Ok(number) if number.is_finite() => (Token::Number(number), length),
                    Ok(_) => {
                        return error(
                            at..at + length,
                            format!("`{}` is too large for an f64", &rest[..length]),
                            "the largest finite value is about 1.8e308",
                        );
                    }
                    Err(_) => {
                        let note = match tokens.last() {
                            Some((Token::Name(_), _)) => {
                                "names cannot contain `.`; write a table column without a prefix"
                            }
                            _ => "",
                        };
                        return error(at..at + length, format!("invalid number `{}`", &rest[..length]), note);
                    }
                }
            }
            '[' => {
                if !matches!(tokens.last(), Some((Token::Number(_), _))) {
                    return error(
                        at..at + 1,
                        "a unit in brackets is allowed only after a number".into(),
                        "for example `1e9 [B/GB]`",
                    );
                }
                let Some(length) = rest.find(']') else {
                    return error(at..at + 1, "unclosed bracket".into(), "");
                };
                let inner = &rest[1..length];
                let unit = Unit::parse(inner).map_err(|wrong| FormulaError {
                    span: text.at(at + 1 + wrong.range.start..at + 1 + wrong.range.end),
                    message: wrong.message,
                    note: wrong.note,
                })?;
                (Token::Unit(unit, inner.trim().to_owned()), length + 1)
            }
            '"' => {
                let Some(length) = rest[1..].find('"') else {
                    return error(at..at + 1, "unclosed quote".into(), "");
                };
                (Token::Quote(rest[1..1 + length].to_owned()), length + 2)
            }
            c if c.is_alphabetic() || c == '_' => {
                let part = |c: char| c == '_' || c.is_alphanumeric() && unit::superscript(c).is_none();
                let length = rest.find(|c: char| !part(c)).unwrap_or(rest.len());
                let word = &rest[..length];
                let token = match word {
                    "and" => Token::Operator(Binary::And),
                    "or" => Token::Operator(Binary::Or),
                    "implies" => Token::Operator(Binary::Implies),
                    "iff" => Token::Operator(Binary::Iff),
                    _ => Token::Name(word.to_owned()),
                };
                (token, length)
            }
            _ => {
                let two: String = rest.chars().take(2).collect();
                match (two.as_str(), first) {
                    ("<=", _) => (Token::Operator(Binary::LessEqual), 2),
                    (">=", _) => (Token::Operator(Binary::GreaterEqual), 2),
                    ("==", _) => (Token::Operator(Binary::Equal), 2),
                    ("!=", _) => (Token::Operator(Binary::NotEqual), 2),
                    ("**", _) => {
                        return error(at..at + 2, "unknown operator `**`".into(), "write powers as `x ^ 2`");
                    }
                    ("=>", _) => {
                        return error(at..at + 2, "unknown operator `=>`".into(), "write `>=` or `implies`");
                    }
                    ("=<", _) => return error(at..at + 2, "unknown operator `=<`".into(), "write `<=`"),
                    ("&&", _) => return error(at..at + 2, "unknown operator `&&`".into(), "write `and`"),
                    ("||", _) => return error(at..at + 2, "unknown operator `||`".into(), "write `or`"),
                    (_, '+') => (Token::Operator(Binary::Add), 1),
                    (_, '-' | '−') => (Token::Operator(Binary::Subtract), one),
                    (_, '*' | '×' | '·') => (Token::Operator(Binary::Multiply), one),
                    (_, '/' | '÷') => (Token::Operator(Binary::Divide), one),
                    (_, '<') => (Token::Operator(Binary::Less), 1),
                    (_, '>') => (Token::Operator(Binary::Greater), 1),
                    (_, '≤') => (Token::Operator(Binary::LessEqual), one),
                    (_, '≥') => (Token::Operator(Binary::GreaterEqual), one),
                    (_, '≠') => (Token::Operator(Binary::NotEqual), one),
                    (_, '=') => (Token::Assign, 1),
                    (_, '^') => (Token::Caret, 1),
                    (_, '(') => (Token::Open, 1),
                    (_, ')') => (Token::Close, 1),
                    (_, ',') => (Token::Comma, 1),
                    (_, ':') => (Token::Colon, 1),
                    (_, '%') => {
                        let note = match tokens.last() {
                            Some((Token::Number(percent), _)) => {
                                format!("write the fraction `{}`", number(percent / 100.0))
                            }
                            _ => "write remainders as `mod(a, b)`".into(),
                        };
                        return error(at..at + one, "unexpected `%` in a formula".into(), &note);
                    }
                    (_, other) => {
                        let note = match other {
                            '√' => "write `sqrt(x)`",
                            '|' => "write absolute values as `abs(x)`",
                            '!' => "write `not`",
                            ';' => "a formula is a single expression",
                            c if unit::superscript(c).is_some() => "write powers as `x^2`",
                            _ => "",
                        };
                        return error(at..at + one, format!("unexpected `{other}` in a formula"), note);
                    }
                }
            }
        };
        tokens.push((token, at..at + length));
        at += length;
    }
    tokens.push((Token::End, value.len()..value.len()));
    Ok(tokens)
}

fn number_length(rest: &str) -> usize {
    let bytes = rest.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b'0'..=b'9' | b'.' => at += 1,
            // A sign belongs to the number only directly after the letter of the exponent.
            b'e' | b'E' if bytes.get(at + 1).is_some_and(u8::is_ascii_digit) => at += 2,
            b'e' | b'E'
                if matches!(bytes.get(at + 1), Some(b'+' | b'-'))
                    && bytes.get(at + 2).is_some_and(u8::is_ascii_digit) =>
            {
                at += 3
            }
            b'a'..=b'z' | b'A'..=b'Z' | b'_' => at += 1,
            _ => break,
        }
    }
    at
}

/// The description of the token after a complete expression.
const OPERATOR: &str = "an operator or the end";

struct Parser<'a> {
    text: &'a Text,
    tokens: Vec<(Token, Range<usize>)>,
    at: usize,
    nodes: Vec<Node>,
    nesting: usize,
    /// True if the position is in the body of a sum.
    summing: bool,
}

impl<'a> Parser<'a> {
    fn new(text: &'a Text) -> Result<Self, FormulaError> {
        Ok(Parser { text, tokens: lex(text)?, at: 0, nodes: Vec::new(), nesting: 0, summing: false })
    }

    fn peek(&self) -> &Token {
        &self.tokens[self.at].0
    }

    fn range(&self) -> Range<usize> {
        self.tokens[self.at].1.clone()
    }

    fn next(&mut self) -> (Token, Range<usize>) {
        let token = self.tokens[self.at].clone();
        if token.0 != Token::End {
            self.at += 1;
        }
        token
    }

    fn word(&self, word: &str) -> bool {
        matches!(self.peek(), Token::Name(name) if name == word)
    }

    fn error<T>(
        &self,
        range: Range<usize>,
        message: impl Into<String>,
        note: &str,
    ) -> Result<T, FormulaError> {
        // At the end of the text, point to the last character.
        let range = if range.is_empty() { last_character(&self.text.value) } else { range };
        Err(FormulaError { span: self.text.at(range), message: message.into(), note: note.to_owned() })
    }

    fn unexpected<T>(&self, wanted: &str) -> Result<T, FormulaError> {
        let range = self.range();
        match self.peek() {
            Token::End => {
                let note = if wanted == "`else`" { "every `if` needs an `else`" } else { "" };
                self.error(range, format!("expected {wanted}, found the end of the formula"), note)
            }
            Token::Assign => self.error(
                range,
                "unexpected `=`",
                "write `==` to compare; `name = ...` is allowed only at the start of an equation",
            ),
            token => {
                let direction = "write a direction as `x increasing in q` or `x decreasing in q`";
                let note = match token {
                    _ if wanted == "`in` and a quantity" => direction.into(),
                    Token::Name(word) => match (suggested_spelling(word), word.as_str()) {
                        (Some(right), _) => format!("write `{right}`"),
                        (_, "increasing" | "decreasing" | "monotone" | "monotonic") => direction.into(),
                        _ if wanted == OPERATOR => "write products as `a * b`".into(),
                        _ => String::new(),
                    },
                    Token::Number(_) | Token::Open if wanted == OPERATOR => {
                        "write products as `a * b`".into()
                    }
                    Token::Comma if wanted == OPERATOR => "write numbers without commas: `1000`".into(),
                    _ => String::new(),
                };
                let found = shorten(&self.text.value[range.clone()]);
                self.error(range, format!("expected {wanted}, found `{found}`"), &note)
            }
        }
    }

    fn expect(&mut self, token: Token, wanted: &str) -> Result<Range<usize>, FormulaError> {
        if *self.peek() == token { Ok(self.next().1) } else { self.unexpected(wanted) }
    }

    fn finish(self, root: NodeId) -> Result<Formula, FormulaError> {
        match self.peek() {
            Token::End => Ok(Formula { nodes: self.nodes, root }),
            Token::Close => self.error(self.range(), "unmatched closing parenthesis", ""),
            Token::Operator(_) => self.error(
                self.range(),
                "unexpected operator after a direction; a direction must be the whole obligation",
                "",
            ),
            _ => self.unexpected(OPERATOR),
        }
    }

    fn push(&mut self, kind: Kind, range: Range<usize>) -> Result<NodeId, FormulaError> {
        let depth = |id: &NodeId| self.nodes[*id].depth;
        let below = match &kind {
            Kind::Sum(sum) => sum.body.top().depth,
            _ => kind.parts().iter().map(depth).max().unwrap_or(0),
        };
        if below >= MAX_DEPTH {
            return self.too_deep(range);
        }
        self.nodes.push(Node { kind, span: self.text.at(range), depth: below + 1 });
        Ok(self.nodes.len() - 1)
    }

    fn too_deep<T>(&self, range: Range<usize>) -> Result<T, FormulaError> {
        self.error(
            character_at(&self.text.value, range.start),
            format!("the formula is nested deeper than {MAX_DEPTH} levels"),
            "split it into several equations",
        )
    }

    /// Precedence climbing: reads an operand, then operators that bind at least as tightly as `least`.
    fn expression(&mut self, least: u8) -> Result<NodeId, FormulaError> {
        self.nesting += 1;
        if self.nesting > MAX_DEPTH {
            return self.too_deep(self.range());
        }
        let start = self.range().start;
        let left = self.prefix()?;
        let whole = self.climb(left, start, least)?;
        self.nesting -= 1;
        Ok(whole)
    }

    fn climb(&mut self, mut left: NodeId, start: usize, least: u8) -> Result<NodeId, FormulaError> {
        let mut compared = false;
        loop {
            let end = |parser: &Self| parser.tokens[parser.at - 1].1.end;
            match *self.peek() {
                Token::Operator(operator) if operator.power() >= least => {
                    if operator.is_comparison() && std::mem::replace(&mut compared, true) {
                        return self.error(
                            self.range(),
                            "comparisons cannot be chained",
                            "write `a <= b and b <= c`",
                        );
                    }
                    self.next();
                    // `implies` associates to the right, all others to the left.
                    let tighter =
                        if operator == Binary::Implies { operator.power() } else { operator.power() + 1 };
                    let right = self.expression(tighter)?;
                    let kind = if self.word("within") && operator.is_comparison() {
                        let place = self.range();
                        if !matches!(operator, Binary::LessEqual | Binary::GreaterEqual | Binary::Equal) {
                            let message = format!("`{}` does not take a tolerance", operator.symbol());
                            return self.error(place, message, "use `<=`, `>=` or `==`");
                        }
                        Kind::Within(operator, left, right, self.tolerance()?)
                    } else {
                        Kind::Binary(operator, left, right)
                    };
                    left = self.push(kind, start..end(self))?;
                }
                // The direction applies to the whole expression, not to its last operand.
                Token::Name(_) if least == 0 && (self.word("increasing") || self.word("decreasing")) => {
                    let increasing = self.word("increasing");
                    if self.nesting > 1 {
                        return self.error(
                            self.range(),
                            "a direction is allowed only at the top level of an obligation",
                            "",
                        );
                    }
                    self.next();
                    if !self.word("in") {
                        return self.unexpected("`in` and a quantity");
                    }
                    self.next();
                    let (name, span) = self.name("a quantity")?;
                    let within = if self.word("within") { self.tolerance()? } else { 0.0 };
                    let kind = Kind::Monotone { of: left, increasing, variable: (name, span), within };
                    // A direction is the whole obligation, so nothing can follow.
                    return self.push(kind, start..end(self));
                }
                _ => return Ok(left),
            }
        }
    }

    /// `within` and a number.
    fn tolerance(&mut self) -> Result<f64, FormulaError> {
        self.next();
        match *self.peek() {
            Token::Number(value) if TOLERANCES.contains(&value) => {
                self.next();
                Ok(value)
            }
            Token::Number(_) => {
                let (least, most) = (TOLERANCES.start(), TOLERANCES.end());
                let message = format!("invalid tolerance; expected a number from {least:e} to {most}");
                self.error(self.range(), message, "the tolerance is relative: `a == b within 1e-12`")
            }
            _ => self.unexpected("a relative tolerance such as `1e-12`"),
        }
    }

    fn name(&mut self, wanted: &str) -> Result<(String, Span), FormulaError> {
        match self.peek() {
            Token::Name(name) if !RESERVED.contains(&name.as_str()) => {
                let name = name.clone();
                let (_, range) = self.next();
                Ok((name, self.text.at(range)))
            }
            _ => self.unexpected(wanted),
        }
    }

    fn prefix(&mut self) -> Result<NodeId, FormulaError> {
        let start = self.range().start;
        if *self.peek() == Token::Operator(Binary::Subtract) {
            self.next();
            let inner = self.expression(NEGATE_POWER)?;
            let end = self.tokens[self.at - 1].1.end;
            return self.push(Kind::Negate(inner), start..end);
        }
        if self.word("not") {
            self.next();
            let inner = self.expression(NOT_POWER)?;
            let end = self.tokens[self.at - 1].1.end;
            return self.push(Kind::Not(inner), start..end);
        }
        if self.word("if") {
            self.next();
            let condition = self.expression(0)?;
            if !self.word("then") {
                return self.unexpected("`then`");
            }
            self.next();
            let yes = self.expression(0)?;
            if !self.word("else") {
                return self.unexpected("`else`");
            }
            self.next();
            let no = self.expression(0)?;
            let end = self.tokens[self.at - 1].1.end;
            return self.push(Kind::If(condition, yes, no), start..end);
        }
        let base = self.primary()?;
        if *self.peek() != Token::Caret {
            return Ok(base);
        }
        self.next();
        let exponent = self.exponent()?;
        let end = self.tokens[self.at - 1].1.end;
        let power = self.push(Kind::Power(base, exponent), start..end)?;
        if *self.peek() == Token::Caret {
            return self.error(self.range(), "powers cannot be chained", "use parentheses");
        }
        Ok(power)
    }

    fn exponent(&mut self) -> Result<i32, FormulaError> {
        let start = self.range().start;
        let closed = *self.peek() == Token::Open;
        if closed {
            self.next();
        }
        let negative = *self.peek() == Token::Operator(Binary::Subtract);
        if negative {
            self.next();
        }
        let (token, range) = self.next();
        let wrong = start..range.end;
        let Token::Number(value) = token else {
            return self.error(
                wrong,
                "expected an integer exponent",
                "write `pow(x, n)` for a variable integer exponent, or `sqrt(x)`",
            );
        };
        if value % 1.0 != 0.0 || value > f64::from(MAX_POWER) {
            let note = if value == 0.5 { "write `sqrt(x)`" } else { "" };
            return self.error(
                wrong,
                format!("invalid exponent; expected an integer from -{MAX_POWER} to {MAX_POWER}"),
                note,
            );
        }
        if closed {
            self.expect(Token::Close, "`)`")?;
        }
        Ok(if negative { -(value as i32) } else { value as i32 })
    }

    fn primary(&mut self) -> Result<NodeId, FormulaError> {
        let (token, range) = (self.peek().clone(), self.range());
        match token {
            Token::Number(value) => {
                self.next();
                let (unit, end) = match self.peek().clone() {
                    Token::Unit(unit, text) => (Some((unit, text)), self.next().1.end),
                    _ => (None, range.end),
                };
                self.push(Kind::Number { value, unit }, range.start..end)
            }
            Token::Quote(text) => {
                self.next();
                self.push(Kind::Quote(text), range)
            }
            Token::Open => {
                self.next();
                let inner = self.expression(0)?;
                if *self.peek() != Token::Close {
                    return match self.peek() {
                        Token::End => self.error(range, "unclosed parenthesis", ""),
                        _ => self.unexpected("`)`"),
                    };
                }
                self.next();
                Ok(inner)
            }
            Token::Name(name) => self.named(name, range),
            _ => self.unexpected("a number, a name or `(`"),
        }
    }

    fn named(&mut self, name: String, range: Range<usize>) -> Result<NodeId, FormulaError> {
        self.next();
        if let Some((_, function)) = Function::ALL.iter().find(|(known, _)| *known == name) {
            return self.call(*function, range);
        }
        if RESERVED.contains(&name.to_ascii_lowercase().as_str()) {
            self.at -= 1;
            return self.unexpected("a number, a name or `(`");
        }
        if self.word("is") {
            self.next();
            let (variant, span) = self.name("the name of a case")?;
            let end = self.tokens[self.at - 1].1.end;
            return self.push(Kind::Is(name, variant, span), range.start..end);
        }
        if *self.peek() != Token::Open {
            return self.push(Kind::Name(name), range);
        }
        let is_substitution = matches!(
            self.tokens.get(self.at + 1..self.at + 3),
            Some([(Token::Name(_), _), (Token::Colon, _)])
        );
        if !is_substitution && name == "sum" {
            return self.sum(range);
        }
        if !is_substitution {
            let name = shorten(&name);
            let known = Function::ALL.map(|(_, function)| format!("`{}`", function.form())).join(", ");
            let known = format!("{known}, `{SUM_FORM}`");
            if TRANSCENDENTAL.contains(&name.as_str()) {
                let message = format!("`{name}` is not supported in formulas");
                let note = format!(
                    "its results differ between compile time, run time and JavaScript; pass the value as a quantity; \
                     available functions: {known}"
                );
                return self.error(range, message, &note);
            }
            let note = match REPLACEMENTS.iter().find(|(function, _)| *function == name) {
                Some((_, form)) => format!("write `{form}`; available functions: {known}"),
                None => format!(
                    "available functions: {known}; to replace a quantity of an equation, write `{name}(quantity: expression)`"
                ),
            };
            return self.error(range, format!("unknown function `{name}`"), &note);
        }
        self.next();
        let mut replaced = Vec::new();
        loop {
            let (quantity, span) = self.name("a quantity")?;
            self.expect(Token::Colon, "`:`")?;
            replaced.push((quantity, span, self.expression(0)?));
            match self.next() {
                (Token::Comma, _) => {}
                (Token::Close, close) => {
                    return self.push(Kind::Substitute(name, replaced), range.start..close.end);
                }
                _ => {
                    self.at -= usize::from(*self.peek() != Token::End);
                    return self.unexpected("`,` or `)`");
                }
            }
        }
    }

    /// Parses the part after `sum`, starting at the parenthesis. Without a parenthesis, `sum` is an ordinary name.
    fn sum(&mut self, range: Range<usize>) -> Result<NodeId, FormulaError> {
        let form = format!("write a sum over a profile table as `{SUM_FORM}`");
        if std::mem::replace(&mut self.summing, true) {
            return self.error(range, "nested `sum` is not supported", "move the inner sum to an equation");
        }
        self.next();
        let outer = std::mem::take(&mut self.nodes);
        let root = self.expression(0)?;
        let body = Formula { nodes: std::mem::replace(&mut self.nodes, outer), root };
        if !self.word("for") {
            return self.error(self.range(), "expected `for row in` and a profile table", &form);
        }
        self.next();
        if !self.word("row") {
            return self.error(
                self.range(),
                "expected `row`",
                &format!("{form}; write columns without a prefix"),
            );
        }
        self.next();
        if !self.word("in") {
            return self.error(self.range(), "expected `in` and a profile table", &form);
        }
        self.next();
        let table = self.name("a profile table")?;
        let close = self.expect(Token::Close, "`)`")?;
        self.summing = false;
        self.push(Kind::Sum(Box::new(Sum { body, table, rows: None })), range.start..close.end)
    }

    fn call(&mut self, function: Function, range: Range<usize>) -> Result<NodeId, FormulaError> {
        self.expect(Token::Open, &format!("`(` after `{}`", function.name()))?;
        let mut arguments = vec![self.expression(0)?];
        loop {
            match self.peek() {
                Token::Comma => {
                    self.next();
                    arguments.push(self.expression(0)?);
                }
                Token::Close => break,
                _ => return self.unexpected("`,` or `)`"),
            }
        }
        let close = self.next().1.end;
        let arity = function.arity();
        if !arity.contains(&arguments.len()) {
            let wanted = match function {
                Function::Min | Function::Max => "2 to 16 arguments",
                Function::Pow => "a base and an integer exponent",
                Function::Mod => "a value and a divisor",
                Function::Floor
                | Function::Ceil
                | Function::Sqrt
                | Function::Abs
                | Function::Finite
                | Function::Given => "one argument",
            };
            return self.error(range.start..close, format!("`{}` takes {wanted}", function.name()), "");
        }
        self.push(Kind::Call(function, arguments), range.start..close)
    }
}

/// Normalizes the white space and the operators of a formula; parentheses and numbers are unchanged. None if the
/// text has characters that cannot occur in a formula.
pub fn respace(text: &Text) -> Option<String> {
    let tokens = lex(text).ok()?;
    let mut out = String::new();
    let mut before: Option<&Token> = None;
    // A minus at the start, after an operator or after an opening parenthesis is unary.
    let mut sign = false;
    for (token, range) in &tokens {
        let word =
            |name: &str| RESERVED.contains(&name) && !Function::ALL.iter().any(|(known, _)| *known == name);
        let opens = match before {
            None => true,
            Some(
                Token::Operator(_) | Token::Open | Token::Comma | Token::Colon | Token::Assign | Token::Caret,
            ) => true,
            Some(Token::Name(name)) => word(name),
            _ => false,
        };
        let tight = match (before, token) {
            (None | Some(Token::Open), _)
            | (_, Token::Close | Token::Comma | Token::Colon | Token::Caret) => true,
            (Some(Token::Caret), _) => true,
            (Some(Token::Name(name)), Token::Open) => !word(name),
            _ => sign,
        };
        if *token == Token::End {
            break;
        }
        if !tight {
            out.push(' ');
        }
        sign = opens && *token == Token::Operator(Binary::Subtract);
        match token {
            Token::Operator(operator) => out += operator.symbol(),
            Token::Unit(unit, text) => {
                let short: String = text.split_whitespace().collect();
                let short = if Unit::parse(&short).is_ok_and(|other| other == *unit) { &short } else { text };
                out += &format!("[{short}]");
            }
            _ => out += text.value.get(range.clone())?,
        }
        before = Some(token);
    }
    Some(out)
}

/// True if two formulas differ only in white space and the spelling of operators.
pub fn same_tokens(a: &Text, b: &Text) -> bool {
    let plain = |text| {
        let tokens: Vec<Token> = lex(text).ok()?.into_iter().map(|(token, _)| token).collect();
        Some(tokens)
    };
    let (Some(a), Some(b)) = (plain(a), plain(b)) else { return false };
    let same = |pair: (&Token, &Token)| match pair {
        (Token::Unit(a, _), Token::Unit(b, _)) => a == b,
        (a, b) => a == b,
    };
    a.len() == b.len() && a.iter().zip(&b).all(same)
}

/// Prints the canonical form: ASCII operators with one space around them and only the necessary parentheses.
impl fmt::Display for Formula {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(f, self.root, 0)
    }
}

/// Formats a number for a formula: the shortest text that parses to the same f64.
pub fn number(value: f64) -> String {
    let plain = format!("{value}");
    let exponent = format!("{value:e}");
    if plain.len() <= exponent.len().max(6) { plain } else { exponent }
}

impl Formula {
    fn write(&self, f: &mut fmt::Formatter<'_>, id: NodeId, least: u8) -> fmt::Result {
        let node = &self.nodes[id];
        let own = match &node.kind {
            Kind::Binary(operator, ..) | Kind::Within(operator, ..) => operator.power(),
            Kind::Not(_) => NOT_POWER,
            Kind::Negate(_) => NEGATE_POWER,
            Kind::If(..) | Kind::Monotone { .. } => 0,
            Kind::Power(..) => 10,
            Kind::Number { .. }
            | Kind::Name(_)
            | Kind::Quote(_)
            | Kind::Call(..)
            | Kind::Is(..)
            | Kind::Substitute(..)
            | Kind::Sum(_) => 11,
        };
        if own < least {
            write!(f, "(")?;
        }
        match &node.kind {
            Kind::Number { value, unit } => {
                write!(f, "{}", number(*value))?;
                if let Some((_, text)) = unit {
                    write!(f, " [{text}]")?;
                }
            }
            Kind::Name(name) => write!(f, "{name}")?,
            Kind::Quote(text) => write!(f, "\"{text}\"")?,
            Kind::Negate(a) => {
                write!(f, "-")?;
                self.write(f, *a, NEGATE_POWER)?;
            }
            Kind::Not(a) => {
                write!(f, "not ")?;
                self.write(f, *a, NOT_POWER)?;
            }
            Kind::Binary(operator, a, b) => {
                let right_first = *operator == Binary::Implies;
                let tighter = own + 1;
                let left_least = if right_first || operator.is_comparison() { tighter } else { own };
                self.write(f, *a, left_least)?;
                write!(f, " {} ", operator.symbol())?;
                self.write(f, *b, if right_first { own } else { tighter })?;
            }
            Kind::Within(operator, a, b, within) => {
                self.write(f, *a, own + 1)?;
                write!(f, " {} ", operator.symbol())?;
                self.write(f, *b, own + 1)?;
                write!(f, " within {}", number(*within))?;
            }
            Kind::Power(a, exponent) => {
                self.write(f, *a, 11)?;
                write!(f, "^{exponent}")?;
            }
            Kind::Call(function, arguments) => {
                write!(f, "{}(", function.name())?;
                for (i, argument) in arguments.iter().enumerate() {
                    if i > 0 {
                        write!(f, ", ")?;
                    }
                    self.write(f, *argument, 0)?;
                }
                write!(f, ")")?;
            }
            Kind::If(c, a, b) => {
                write!(f, "if ")?;
                self.write(f, *c, 0)?;
                write!(f, " then ")?;
                self.write(f, *a, 0)?;
                write!(f, " else ")?;
                self.write(f, *b, 0)?;
            }
            Kind::Is(name, variant, _) => write!(f, "{name} is {variant}")?,
            Kind::Substitute(name, replaced) => {
                write!(f, "{name}(")?;
                for (i, (quantity, _, by)) in replaced.iter().enumerate() {
                    if i > 0 {
                        write!(f, ", ")?;
                    }
                    write!(f, "{quantity}: ")?;
                    self.write(f, *by, 0)?;
                }
                write!(f, ")")?;
            }
            Kind::Sum(sum) => write!(f, "sum({} for row in {})", sum.body, sum.table.0)?,
            Kind::Monotone { of, increasing, variable, within } => {
                self.write(f, *of, 1)?;
                let word = if *increasing { "increasing" } else { "decreasing" };
                write!(f, " {word} in {}", variable.0)?;
                if *within > 0.0 {
                    write!(f, " within {}", number(*within))?;
                }
            }
        }
        if own < least {
            write!(f, ")")?;
        }
        Ok(())
    }
}
