//! The interpreter. Runs the operations of the generated Rust in the same order, with bit-identical results.

use crate::contract::{Classifier, Contract};
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
    /// The number; NaN for a truth value, which does not occur in a checked contract.
    pub fn number(self) -> f64 {
        match self {
            Value::Number(value) => value,
            Value::Bool(_) => f64::NAN,
        }
    }

    /// The truth value; false for a number, which does not occur in a checked contract.
    pub fn truth(self) -> bool {
        matches!(self, Value::Bool(true))
    }
}

/// Multiplies 1 by `base`, `exponent` times, from left to right.
pub fn pow(base: f64, exponent: f64) -> f64 {
    let mut product = 1.0;
    let mut left = exponent.clamp(0.0, MAX_POW) as u32;
    while left > 0 {
        product *= base;
        left -= 1;
    }
    product
}

/// Evaluates nodes at `LANES` points at once and reuses its memory between runs. Each operation is dispatched once for all
/// lanes, because the dispatch dominates the time of a single point.
#[derive(Clone, Debug)]
pub struct Evaluator<'a, const LANES: usize = 1> {
    graph: &'a Graph,
    order: Vec<Id>,
    /// The lanes of each node; truth values are 1 or 0.
    values: Vec<[f64; LANES]>,
}

impl<'a> Evaluator<'a> {
    /// Prepares the evaluation of these nodes, one point at a time.
    pub fn new(graph: &'a Graph, roots: &[Id]) -> Self {
        Evaluator::lanes(graph, roots)
    }

    /// The value of a node at the last evaluated point.
    pub fn value(&self, id: Id) -> Value {
        let [value] = self.values[id.index()];
        if self.graph.op(id).is_truth() { Value::Bool(value != 0.0) } else { Value::Number(value) }
    }
}

impl<'a, const LANES: usize> Evaluator<'a, LANES> {
    /// Prepares the evaluation of these nodes.
    pub fn lanes(graph: &'a Graph, roots: &[Id]) -> Self {
        let mut order = graph.reachable(roots);
        let mut values = vec![[0.0; LANES]; graph.ops().len()];
        // Constants are written once.
        order.retain(|id| {
            let written = match graph.op(*id) {
                Op::Number(bits) => f64::from_bits(bits),
                Op::Bool(value) => f64::from(value),
                _ => return true,
            };
            values[id.index()] = [written; LANES];
            false
        });
        Evaluator { graph, order, values }
    }

    /// Evaluates all nodes. `points` has `LANES` values for each quantity of the contract, quantity by quantity.
    pub fn run(&mut self, points: &[f64]) -> &mut Self {
        let (points, _) = points.as_chunks::<LANES>();
        for i in 0..self.order.len() {
            self.step(self.order[i], points);
        }
        self
    }

    /// The values of a node; truth values are 1 or 0.
    pub fn values(&self, id: Id) -> &[f64; LANES] {
        &self.values[id.index()]
    }

    fn step(&mut self, id: Id, points: &[[f64; LANES]]) {
        // Operands precede their users.
        let (before, rest) = self.values.split_at_mut(id.index());
        let Some(out) = rest.first_mut() else { return };
        // Generic over the operation, so that the compiler can vectorize each loop.
        fn one<const LANES: usize>(out: &mut [f64; LANES], a: &[f64; LANES], of: impl Fn(f64) -> f64) {
            for (out, a) in out.iter_mut().zip(a) {
                *out = of(*a);
            }
        }
        fn two<const LANES: usize>(
            out: &mut [f64; LANES],
            [a, b]: [&[f64; LANES]; 2],
            of: impl Fn(f64, f64) -> f64,
        ) {
            for ((out, a), b) in out.iter_mut().zip(a).zip(b) {
                *out = of(*a, *b);
            }
        }
        let at = |id: Id| &before[id.index()];
        match self.graph.op(id) {
            Op::Number(_) | Op::Bool(_) => {}
            Op::Quantity(index) => *out = points[index],
            Op::If(c, a, b) => {
                for (((out, c), a), b) in out.iter_mut().zip(at(c)).zip(at(a)).zip(at(b)) {
                    *out = if *c != 0.0 { *a } else { *b };
                }
            }
            Op::Neg(a) => one(out, at(a), |a| -a),
            Op::Floor(a) => one(out, at(a), f64::floor),
            Op::Ceil(a) => one(out, at(a), f64::ceil),
            Op::Sqrt(a) => one(out, at(a), f64::sqrt),
            Op::Abs(a) => one(out, at(a), f64::abs),
            Op::Not(a) => one(out, at(a), |a| 1.0 - a),
            Op::Finite(a) => one(out, at(a), |a| f64::from(a.is_finite())),
            Op::Add(a, b) => two(out, [at(a), at(b)], |a, b| a + b),
            Op::Sub(a, b) => two(out, [at(a), at(b)], |a, b| a - b),
            Op::Mul(a, b) => two(out, [at(a), at(b)], |a, b| a * b),
            Op::Div(a, b) => two(out, [at(a), at(b)], |a, b| a / b),
            Op::Min(a, b) => two(out, [at(a), at(b)], |a, b| if a < b { a } else { b }),
            Op::Max(a, b) => two(out, [at(a), at(b)], |a, b| if a > b { a } else { b }),
            Op::Pow(a, b) => two(out, [at(a), at(b)], pow),
            Op::Less(a, b) => two(out, [at(a), at(b)], |a, b| f64::from(a < b)),
            Op::LessEqual(a, b) => two(out, [at(a), at(b)], |a, b| f64::from(a <= b)),
            Op::Equal(a, b) => two(out, [at(a), at(b)], |a, b| f64::from(a == b)),
            Op::And(a, b) => two(out, [at(a), at(b)], |a, b| a * b),
            Op::Or(a, b) => two(out, [at(a), at(b)], |a, b| if a > b { a } else { b }),
            Op::Iff(a, b) => two(out, [at(a), at(b)], |a, b| f64::from(a == b)),
        }
    }
}

/// All results of a contract at one point.
#[derive(Clone, Debug, PartialEq)]
pub struct Outputs {
    /// One value for each equation, in the order of the contract.
    pub equations: Vec<f64>,
    /// The position of the chosen case for each classifier.
    pub classes: Vec<usize>,
    /// The recommendations that apply, by position, most urgent first.
    pub recommendations: Vec<usize>,
}

/// The error for a rejected point: all values outside their domains or, if there are none, all violated requirements.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OutOfDomain {
    /// The values outside their domains.
    pub outside: Vec<Outside>,
    /// The violated requirements, as the contract writes them.
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
        let unmet = self.unmet.iter().map(|text| format!("the inputs violate the requirement {text}"));
        f.write_str(&outside.chain(unmet).collect::<Vec<_>>().join("; "))
    }
}

impl std::error::Error for OutOfDomain {}

/// The nodes of all results.
fn roots(contract: &Contract) -> Vec<Id> {
    let cases = contract.classifiers.iter().flat_map(|classifier| &classifier.cases);
    (contract.equations.iter().map(|equation| equation.expression.id))
        .chain(cases.map(|case| case.chosen))
        .chain(contract.recommendations.iter().map(|advice| advice.when.id))
        .chain(contract.required())
        .collect()
}

/// Number of points evaluated together: large enough to amortize the dispatch of operations, small enough for the values
/// to stay in the L1 cache.
const LANES: usize = 64;

/// Evaluates a contract at many points. An input column has one value per point, or a single value for all. Returns the
/// columns of the equations, then those of the classifiers with the positions of the chosen cases.
///
/// # Errors
/// Stops at the first rejected point and returns its position.
pub fn columns(
    contract: &Contract,
    columns: &[&[f64]],
    rows: usize,
) -> Result<Vec<Vec<f64>>, (usize, OutOfDomain)> {
    let mut evaluator = Evaluator::<LANES>::lanes(&contract.graph, &roots(contract));
    let mut computed = vec![Vec::with_capacity(rows); contract.equations.len() + contract.classifiers.len()];
    let mut points = vec![0.0; LANES * columns.len()];
    for (lanes, column) in points.as_chunks_mut::<LANES>().0.iter_mut().zip(columns) {
        if let [value] = column {
            *lanes = [*value; LANES];
        }
    }
    for first in (0..rows).step_by(LANES) {
        let count = LANES.min(rows - first);
        let mut inside = true;
        let lanes = points.as_chunks_mut::<LANES>().0.iter_mut();
        for ((lanes, column), quantity) in lanes.zip(columns).zip(&contract.quantities) {
            match column {
                // Constant columns are checked once.
                [_] if first > 0 => continue,
                [_] => {}
                // Unused lanes of the last batch repeat the last point, and their results are discarded.
                _ => {
                    lanes[..count].copy_from_slice(&column[first..first + count]);
                    lanes[count..].fill(column[first + count - 1]);
                }
            }
            inside &= quantity.domain.contains_all(lanes);
        }
        let met = |evaluator: &Evaluator<LANES>| {
            contract.required().into_iter().all(|id| evaluator.values(id).iter().all(|truth| *truth != 0.0))
        };
        if !(inside && met(evaluator.run(&points))) {
            refused(contract, columns, first..first + count)?;
        }
        let (equations, classes) = computed.split_at_mut(contract.equations.len());
        for (column, equation) in equations.iter_mut().zip(&contract.equations) {
            column.extend_from_slice(&evaluator.values(equation.expression.id)[..count]);
        }
        for (column, classifier) in classes.iter_mut().zip(&contract.classifiers) {
            column.extend((0..count).map(|lane| {
                let chosen =
                    classifier.cases.iter().position(|case| evaluator.values(case.chosen)[lane] != 0.0);
                chosen.unwrap_or(classifier.cases.len() - 1) as f64
            }));
        }
    }
    Ok(computed)
}

/// Finds the first rejected point and its error.
fn refused(
    contract: &Contract,
    columns: &[&[f64]],
    rows: std::ops::Range<usize>,
) -> Result<(), (usize, OutOfDomain)> {
    for row in rows {
        let value = |column: &&[f64]| if let [value] = column { *value } else { column[row] };
        let point: Vec<f64> = columns.iter().map(value).collect();
        evaluate(contract, &point).map_err(|outside| (row, outside))?;
    }
    Ok(())
}

/// Checks every domain and every requirement, then evaluates everything. `point` has one value for each quantity.
pub fn evaluate(contract: &Contract, point: &[f64]) -> Result<Outputs, OutOfDomain> {
    let outside: Vec<Outside> = (contract.quantities.iter().zip(point))
        .filter(|(quantity, value)| !quantity.domain.contains(**value))
        .map(|(quantity, &value)| {
            let (quantity, domain) = (quantity.name.clone(), quantity.domain.to_string());
            Outside { quantity, value, domain }
        })
        .collect();
    if !outside.is_empty() {
        return Err(OutOfDomain { outside, unmet: Vec::new() });
    }
    let mut evaluator = Evaluator::new(&contract.graph, &roots(contract));
    evaluator.run(point);
    let truth = |id: Id| evaluator.value(id).truth();
    let unmet: Vec<String> = (contract.requires.iter().map(|requirement| &requirement.expression))
        .filter(|expression| !truth(expression.id))
        .map(|expression| expression.formula.to_string())
        .collect();
    if !unmet.is_empty() {
        return Err(OutOfDomain { outside: Vec::new(), unmet });
    }
    let chosen = |classifier: &Classifier| {
        let chosen = classifier.cases.iter().position(|case| truth(case.chosen));
        chosen.unwrap_or(classifier.cases.len() - 1)
    };
    let advice = &contract.recommendations;
    let mut recommendations: Vec<usize> = (0..advice.len()).filter(|&i| truth(advice[i].when.id)).collect();
    recommendations.sort_by_key(|&i| advice[i].priority);
    let equations =
        contract.equations.iter().map(|equation| evaluator.value(equation.expression.id).number());
    Ok(Outputs {
        equations: equations.collect(),
        classes: contract.classifiers.iter().map(chosen).collect(),
        recommendations,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::library;

    #[test]
    fn columns_are_the_points_one_by_one() {
        let found = library::find("operation-v1", None).unwrap();
        let contract = crate::check_in(found.source, None).contract.unwrap();
        // Not a multiple of the lanes; covers the operations of attention and convolution.
        let rows = 2 * LANES + 7;
        let mut values: Vec<Vec<f64>> = (contract.quantities.iter())
            .map(|quantity| vec![quantity.default.unwrap_or(quantity.domain.low.max(1.0))])
            .collect();
        for (place, quantity) in contract.quantities.iter().enumerate() {
            let moved = [
                "batch",
                "tokens",
                "context",
                "heads",
                "key_length",
                "in_channels",
                "input_width",
                "compute",
            ];
            if moved.contains(&quantity.name.as_str()) {
                values[place] = (0..rows).map(|row| (1 + row * (place + 3) % 97) as f64).collect();
            }
        }
        let columns: Vec<&[f64]> = values.iter().map(Vec::as_slice).collect();
        let computed = super::columns(&contract, &columns, rows).unwrap();
        for row in 0..rows {
            let point: Vec<f64> = values.iter().map(|all| all[row.min(all.len() - 1)]).collect();
            let Outputs { equations, classes, .. } = evaluate(&contract, &point).unwrap();
            let expected = equations.into_iter().chain(classes.into_iter().map(|class| class as f64));
            let bits: Vec<u64> = expected.map(f64::to_bits).collect();
            assert_eq!(
                computed.iter().map(|column| column[row].to_bits()).collect::<Vec<_>>(),
                bits,
                "{row}"
            );
        }

        let batch = contract.quantities.iter().position(|quantity| quantity.name == "batch").unwrap();
        values[batch][LANES + 5] = 0.5;
        let columns: Vec<&[f64]> = values.iter().map(Vec::as_slice).collect();
        let (row, refused) = super::columns(&contract, &columns, rows).unwrap_err();
        assert_eq!(
            (row, refused.to_string()),
            (LANES + 5, "batch = 0.5 is outside its domain integer [1, 65536]".into())
        );
    }
}
