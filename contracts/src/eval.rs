//! The interpreter: the same operations as the generated Rust, in the same order, bit for bit.

use crate::contract::Contract;
use crate::graph::{Graph, Id, MAX_POW, Op};

/// A value of a node.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    /// A number.
    Number(f64),
    /// A truth value.
    Bool(bool),
}

impl Value {
    /// The number; NaN for a truth value, which no checked contract asks for.
    pub fn number(self) -> f64 {
        match self {
            Value::Number(value) => value,
            Value::Bool(_) => f64::NAN,
        }
    }

    /// The truth value; false for a number, which no checked contract asks for.
    pub fn truth(self) -> bool {
        matches!(self, Value::Bool(true))
    }
}

/// `base` multiplied `exponent` times, from 1, in order.
pub fn pow(base: f64, exponent: f64) -> f64 {
    let mut product = 1.0;
    let mut left = exponent.clamp(0.0, MAX_POW) as u32;
    while left > 0 {
        product *= base;
        left -= 1;
    }
    product
}

/// Evaluates nodes at one point after another; keeps its memory between points.
#[derive(Clone, Debug)]
pub struct Evaluator<'a> {
    graph: &'a Graph,
    order: Vec<Id>,
    values: Vec<Value>,
}

impl<'a> Evaluator<'a> {
    /// Prepares to evaluate these nodes.
    pub fn new(graph: &'a Graph, roots: &[Id]) -> Self {
        let order = graph.reachable(roots);
        let values = vec![Value::Bool(false); graph.ops().len()];
        Evaluator { graph, order, values }
    }

    /// Evaluates all nodes at a point, one value for each quantity of the contract.
    pub fn run(&mut self, point: &[f64]) -> &mut Self {
        for i in 0..self.order.len() {
            let id = self.order[i];
            self.values[id.index()] = self.step(self.graph.op(id), point);
        }
        self
    }

    /// The value of a node at the last point.
    pub fn value(&self, id: Id) -> Value {
        self.values[id.index()]
    }

    fn step(&self, op: Op, point: &[f64]) -> Value {
        let number = |id: Id| self.values[id.index()].number();
        let truth = |id: Id| self.values[id.index()].truth();
        match op {
            Op::Number(bits) => Value::Number(f64::from_bits(bits)),
            Op::Quantity(index) => Value::Number(point[index]),
            Op::Neg(a) => Value::Number(-number(a)),
            Op::Add(a, b) => Value::Number(number(a) + number(b)),
            Op::Sub(a, b) => Value::Number(number(a) - number(b)),
            Op::Mul(a, b) => Value::Number(number(a) * number(b)),
            Op::Div(a, b) => Value::Number(number(a) / number(b)),
            Op::Min(a, b) => Value::Number(if number(a) < number(b) { number(a) } else { number(b) }),
            Op::Max(a, b) => Value::Number(if number(a) > number(b) { number(a) } else { number(b) }),
            Op::Floor(a) => Value::Number(number(a).floor()),
            Op::Ceil(a) => Value::Number(number(a).ceil()),
            Op::Sqrt(a) => Value::Number(number(a).sqrt()),
            Op::Abs(a) => Value::Number(number(a).abs()),
            Op::Pow(a, b) => Value::Number(pow(number(a), number(b))),
            Op::If(c, a, b) => Value::Number(if truth(c) { number(a) } else { number(b) }),
            Op::Bool(value) => Value::Bool(value),
            Op::Less(a, b) => Value::Bool(number(a) < number(b)),
            Op::LessEqual(a, b) => Value::Bool(number(a) <= number(b)),
            Op::Equal(a, b) => Value::Bool(number(a) == number(b)),
            Op::And(a, b) => Value::Bool(truth(a) && truth(b)),
            Op::Or(a, b) => Value::Bool(truth(a) || truth(b)),
            Op::Not(a) => Value::Bool(!truth(a)),
            Op::Iff(a, b) => Value::Bool(truth(a) == truth(b)),
            Op::Finite(a) => Value::Bool(number(a).is_finite()),
        }
    }
}

/// Everything a contract computes at one point.
#[derive(Clone, Debug, PartialEq)]
pub struct Outputs {
    /// One value for each equation, in the order of the contract.
    pub equations: Vec<f64>,
    /// The position of the chosen case for each classifier.
    pub classes: Vec<usize>,
    /// The recommendations that apply, by position, most urgent first.
    pub recommendations: Vec<usize>,
}

/// Why a point is refused: every value outside its domain; where there is none, every requirement that is not met.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OutOfDomain {
    /// The values outside their domains.
    pub outside: Vec<Outside>,
    /// The requirements that the point does not meet, as the contract writes them.
    pub unmet: Vec<String>,
}

/// A value outside its quantity's domain.
#[derive(Clone, Debug, PartialEq)]
pub struct Outside {
    /// The quantity.
    pub quantity: String,
    /// The value.
    pub value: f64,
    /// The domain as the contract writes it.
    pub domain: String,
}

impl std::fmt::Display for OutOfDomain {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let outside = (self.outside.iter()).map(|Outside { quantity, value, domain }| {
            format!("{quantity} = {value} is outside its domain {domain}")
        });
        let unmet = self.unmet.iter().map(|text| format!("the requirement {text} is not met"));
        f.write_str(&outside.chain(unmet).collect::<Vec<_>>().join("; "))
    }
}

impl std::error::Error for OutOfDomain {}

/// Evaluates a contract at one point after another.
#[derive(Clone, Debug)]
pub struct Points<'a> {
    contract: &'a Contract,
    evaluator: Evaluator<'a>,
}

impl<'a> Points<'a> {
    /// Prepares to evaluate this contract.
    pub fn of(contract: &'a Contract) -> Self {
        let cases = contract.classifiers.iter().flat_map(|classifier| &classifier.cases);
        let roots: Vec<Id> = (contract.equations.iter().map(|equation| equation.expression.id))
            .chain(cases.map(|case| case.chosen))
            .chain(contract.recommendations.iter().map(|advice| advice.when.id))
            .chain(contract.required())
            .collect();
        Points { contract, evaluator: Evaluator::new(&contract.graph, &roots) }
    }

    /// Checks every domain and every requirement, then evaluates everything. `point` has one value for each quantity.
    pub fn at(&mut self, point: &[f64]) -> Result<&mut Self, OutOfDomain> {
        let quantities = &self.contract.quantities;
        if !quantities.iter().zip(point).all(|(quantity, value)| quantity.domain.contains(*value)) {
            let outside = (quantities.iter().zip(point))
                .filter(|(quantity, value)| !quantity.domain.contains(**value))
                .map(|(quantity, &value)| {
                    let (quantity, domain) = (quantity.name.clone(), quantity.domain.to_string());
                    Outside { quantity, value, domain }
                });
            return Err(OutOfDomain { outside: outside.collect(), unmet: Vec::new() });
        }
        self.evaluator.run(point);
        let unmet: Vec<String> = (self.contract.requires.iter().map(|requirement| &requirement.expression))
            .filter(|expression| !self.evaluator.value(expression.id).truth())
            .map(|expression| expression.formula.to_string())
            .collect();
        if unmet.is_empty() { Ok(self) } else { Err(OutOfDomain { outside: Vec::new(), unmet }) }
    }

    /// The value of each equation at the last point, in the order of the contract.
    pub fn equations(&self) -> impl Iterator<Item = f64> {
        self.contract.equations.iter().map(|equation| self.evaluator.value(equation.expression.id).number())
    }

    /// The position of the chosen case for each classifier.
    pub fn classes(&self) -> impl Iterator<Item = usize> {
        self.contract.classifiers.iter().map(|classifier| {
            let chosen = classifier.cases.iter().position(|case| self.evaluator.value(case.chosen).truth());
            chosen.unwrap_or(classifier.cases.len() - 1)
        })
    }

    fn recommendations(&self) -> Vec<usize> {
        let applies = |&i: &usize| self.evaluator.value(self.contract.recommendations[i].when.id).truth();
        let mut found: Vec<usize> = (0..self.contract.recommendations.len()).filter(applies).collect();
        found.sort_by_key(|&i| self.contract.recommendations[i].priority);
        found
    }
}

/// Checks every domain and every requirement, then evaluates everything. `point` has one value for each quantity.
pub fn evaluate(contract: &Contract, point: &[f64]) -> Result<Outputs, OutOfDomain> {
    let mut points = Points::of(contract);
    let at = points.at(point)?;
    Ok(Outputs {
        equations: at.equations().collect(),
        classes: at.classes().collect(),
        recommendations: at.recommendations(),
    })
}
