//! The steps of a proof. They are kept as nodes and rules; text is made only for those who read it.

use crate::contract::Contract;
use crate::graph::{Graph, Id, IdMap, Op};
use crate::range::{Fact, Range};

/// How deep an expression without a name is printed.
const SHOWN_DEPTH: usize = 4;
/// How many lines a trace has at most.
const MAX_LINES: usize = 40;

/// Why a number moves one way.
pub(super) const SLOPE: &str = "it is one rounding of an exact value whose derivative has one sign";
pub(super) const SLOPE_WITHIN: &str =
    "the derivative of its exact value has one sign, and every rounding is within the tolerance";

/// What is known of values: each with its limits.
pub(super) type Limits = Vec<(Id, f64, f64)>;

/// One step.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Step {
    /// What follows assumes that two values are in this order.
    Case(Id, &'static str, Id),
    /// The case is settled, by this.
    Settled(&'static str),
    /// The condition has this value, because of the limits of what it compares.
    Decided(Id, bool, Limits),
    /// The condition has this value, because of its form.
    Said(Id, bool, &'static str),
    /// Two values are in this order, by a rule.
    Ordered(Id, &'static str, Id, &'static str),
    /// These limits alone.
    Ranges(Limits),
    /// A number moves one way as a quantity grows, given the signs of its operands.
    Moves { id: Id, rises: bool, quantity: usize, signs: Vec<(Id, &'static str)> },
    /// A number moves one way as a quantity grows, as the exact value does; perhaps up to roundings.
    Slope { id: Id, rises: bool, quantity: usize, within: bool },
    /// A number does not depend on a quantity.
    Still(Id, usize),
    /// A number is a quantity.
    Is(Id, usize),
}

/// What could not be shown.
#[derive(Clone, Debug)]
pub(super) enum Stuck {
    /// That this case cannot occur.
    Case(Vec<Fact>),
    /// Which way this node moves as a quantity grows; its operands move so.
    Turn(Id, usize, Vec<(Id, &'static str)>),
}

/// The steps of a proof, as deep as the cases they belong to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Trace(Vec<(usize, Step)>);

impl Trace {
    /// There is no step.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// More steps would not be shown.
    pub(super) fn is_full(&self) -> bool {
        self.0.len() > MAX_LINES
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    /// Adds a step, unless its case has it already.
    pub(super) fn say(&mut self, depth: usize, step: Step) {
        let case = self.0.iter().rposition(|(_, step)| matches!(step, Step::Case(..))).unwrap_or(0);
        if matches!(step, Step::Case(..)) || !self.0[case..].contains(&(depth, step.clone())) {
            self.0.push((depth, step));
        }
    }

    /// The last step opens a case.
    pub(super) fn in_new_case(&self) -> bool {
        matches!(self.0.last(), Some((_, Step::Case(..))))
    }

    /// The steps as people read them, one a line.
    pub fn lines(&self, contract: &Contract) -> Vec<String> {
        self.text(&Printer::new(contract))
    }

    pub(super) fn text(&self, printer: &Printer<'_>) -> Vec<String> {
        let mut lines: Vec<String> = (self.0.iter().take(MAX_LINES))
            .map(|(depth, step)| format!("{}{}", "  ".repeat(*depth), printer.step(step)))
            .collect();
        if self.0.len() > MAX_LINES {
            lines.push(format!("... and {} more steps", self.0.len() - MAX_LINES));
        }
        lines
    }
}

/// The limits of values that are not constants.
pub(super) fn limits<F: crate::number::Number>(
    graph: &Graph,
    ids: impl IntoIterator<Item = Id>,
    range: impl Fn(Id) -> Range<F>,
) -> Limits {
    (ids.into_iter())
        .filter(|&id| !matches!(graph.op(id), Op::Number(_)))
        .map(|id| (id, range(id).low.to_f64(), range(id).high.to_f64()))
        .collect()
}

/// Nodes as people read them.
pub(super) struct Printer<'a> {
    pub graph: &'a Graph,
    /// The names of the quantities.
    pub quantities: Vec<&'a str>,
    /// The names of equations.
    pub names: IdMap<Id, &'a str>,
}

impl<'a> Printer<'a> {
    pub fn new(contract: &'a Contract) -> Self {
        let mut names = IdMap::default();
        for equation in &contract.equations {
            names.entry(equation.expression.id).or_insert(equation.name.as_str());
        }
        let quantities = contract.quantities.iter().map(|quantity| quantity.name.as_str()).collect();
        Printer { graph: &contract.graph, quantities, names }
    }

    fn step(&self, step: &Step) -> String {
        let show = |id: &Id| self.show(*id);
        match step {
            Step::Case(a, word, b) => format!("case {} {word} {}:", show(a), show(b)),
            Step::Settled(how) => (*how).into(),
            Step::Decided(id, value, limits) => format!("{}: {value}, as {}", show(id), self.limits(limits)),
            Step::Said(id, value, grounds) => format!("{}: {value}, as {grounds}", show(id)),
            Step::Ordered(a, word, b, rule) => format!("{} {word} {}: {rule}", show(a), show(b)),
            Step::Ranges(limits) => self.limits(limits),
            Step::Moves { id, rises, quantity, signs } => {
                let (name, formula) = (self.show(*id), self.print(*id, SHOWN_DEPTH, false));
                let meaning = if name == formula { String::new() } else { format!(" = {formula}") };
                let word = if *rises { "never falls" } else { "never rises" };
                let signs: Vec<String> =
                    signs.iter().map(|(id, sign)| format!("{} {sign}", show(id))).collect();
                let signs =
                    if signs.is_empty() { String::new() } else { format!(", as {}", signs.join(" and ")) };
                format!("{name}{meaning} {word} as {} grows{signs}", self.quantities[*quantity])
            }
            Step::Slope { id, rises, quantity, within } => {
                let (word, variable) = (if *rises { "falls" } else { "rises" }, self.quantities[*quantity]);
                let rule = if *within { SLOPE_WITHIN } else { SLOPE };
                format!("{} never {word} as {variable} grows: {rule}", show(id))
            }
            Step::Still(id, quantity) => {
                format!("{} does not depend on {}", show(id), self.quantities[*quantity])
            }
            Step::Is(id, quantity) => format!("{} is {}", show(id), self.quantities[*quantity]),
        }
    }

    /// What could not be shown, in a sentence.
    pub fn stuck(&self, stuck: &Stuck) -> String {
        match stuck {
            Stuck::Case(facts) => {
                let mut orders: Vec<String> = Vec::new();
                for &Fact(a, b, strict) in facts {
                    let back = !strict && facts.contains(&Fact(b, a, false));
                    let sign = if back { "==" } else { ["<=", "<"][usize::from(strict)] };
                    let (a, b) = if back && b < a { (b, a) } else { (a, b) };
                    let order = format!("{} {sign} {}", self.show(a), self.show(b));
                    if !orders.contains(&order) {
                        orders.push(order);
                    }
                }
                format!("what could not be excluded: {}", orders.join(" and "))
            }
            Stuck::Turn(id, quantity, operands) => {
                let variable = self.quantities[*quantity];
                let ways: Vec<String> =
                    operands.iter().map(|(id, way)| format!("{} {way}", self.show(*id))).collect();
                let name = self.show(*id);
                if ways.is_empty() {
                    format!("what could not be shown: which way {name} moves as {variable} grows")
                } else {
                    let ways = ways.join(" and ");
                    format!(
                        "what could not be shown: which way {name} moves as {variable} grows, where {ways}"
                    )
                }
            }
        }
    }

    fn limits(&self, limits: &Limits) -> String {
        let part = |&(id, low, high): &(Id, f64, f64)| {
            let name = self.show(id);
            if low == high {
                format!("{name} is {low:?}")
            } else {
                format!("{name} is in [{low:?}, {high:?}]")
            }
        };
        if limits.is_empty() {
            "the numbers say so".into()
        } else {
            limits.iter().map(part).collect::<Vec<_>>().join(" and ")
        }
    }

    /// A node as people read it: its name, or its formula.
    pub fn show(&self, id: Id) -> String {
        self.print(id, SHOWN_DEPTH, true)
    }

    fn print(&self, id: Id, depth: usize, by_name: bool) -> String {
        if let Some(name) = self.names.get(&id).filter(|_| by_name) {
            return (*name).into();
        }
        if depth == 0 {
            return "...".into();
        }
        let inner = |id: Id| {
            let text = self.print(id, depth - 1, true);
            let atomic = text.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '.'));
            if atomic || text.ends_with(')') && !text.starts_with('(') && !text.contains(' ') {
                text
            } else {
                format!("({text})")
            }
        };
        let plain = |id: Id| self.print(id, depth - 1, true);
        match self.graph.op(id) {
            Op::Number(bits) => format!("{:?}", f64::from_bits(bits)),
            Op::Quantity(index) => self.quantities[index].into(),
            Op::Neg(a) => format!("-{}", inner(a)),
            Op::Add(a, b) => format!("{} + {}", inner(a), inner(b)),
            Op::Sub(a, b) => format!("{} - {}", inner(a), inner(b)),
            Op::Mul(a, b) => format!("{} * {}", inner(a), inner(b)),
            Op::Div(a, b) => format!("{} / {}", inner(a), inner(b)),
            Op::Min(a, b) => format!("min({}, {})", plain(a), plain(b)),
            Op::Max(a, b) => format!("max({}, {})", plain(a), plain(b)),
            Op::Floor(a) => format!("floor({})", plain(a)),
            Op::Ceil(a) => format!("ceil({})", plain(a)),
            Op::Sqrt(a) => format!("sqrt({})", plain(a)),
            Op::Abs(a) => format!("abs({})", plain(a)),
            Op::Pow(a, b) => format!("pow({}, {})", plain(a), plain(b)),
            Op::If(c, a, b) => format!("if {} then {} else {}", plain(c), plain(a), plain(b)),
            Op::Bool(value) => value.to_string(),
            Op::Less(a, b) => format!("{} < {}", inner(a), inner(b)),
            Op::LessEqual(a, b) => format!("{} <= {}", inner(a), inner(b)),
            Op::Equal(a, b) => format!("{} == {}", inner(a), inner(b)),
            Op::And(a, b) => format!("{} and {}", inner(a), inner(b)),
            Op::Or(a, b) => format!("{} or {}", inner(a), inner(b)),
            Op::Not(a) => format!("not {}", inner(a)),
            Op::Iff(a, b) => format!("{} iff {}", inner(a), inner(b)),
            Op::Finite(a) => format!("finite({})", plain(a)),
        }
    }
}
