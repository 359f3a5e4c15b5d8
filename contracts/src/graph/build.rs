//! Lowering of checked syntax trees to the graph.

use std::collections::BTreeMap;

use crate::formula::{Binary, Formula, Function, Kind};
use crate::graph::{Graph, Id, Op};

/// Lowers formulas with the given nodes for their names.
pub struct Lowering<'a> {
    /// The graph to extend.
    pub graph: &'a mut Graph,
    /// The nodes of quantities and equations.
    pub values: &'a BTreeMap<String, Id>,
    /// For each classifier and enumeration, its variants and the condition nodes that are true if they are chosen.
    pub classes: &'a BTreeMap<String, Vec<(String, Id)>>,
    /// The position of each quantity.
    pub quantities: &'a BTreeMap<String, usize>,
    /// Collects the substituted values.
    pub substituted: Vec<Vec<(usize, Id)>>,
}

impl Lowering<'_> {
    /// The node of the whole formula; for a direction, the node of its value.
    pub fn lower(&mut self, formula: &Formula) -> Id {
        self.lower_all(formula)[formula.root]
    }

    /// One graph node for each node of the formula.
    pub fn lower_all(&mut self, formula: &Formula) -> Vec<Id> {
        // Case names in substitutions and their numbers.
        let mut cases: BTreeMap<usize, usize> = BTreeMap::new();
        for node in &formula.nodes {
            let Kind::Substitute(_, replaced) = &node.kind else { continue };
            for (quantity, _, by) in replaced {
                let known = self.classes.get(quantity).map(Vec::as_slice).unwrap_or_default();
                let Kind::Name(name) = &formula.nodes[*by].kind else { continue };
                let number = known.iter().position(|(case, _)| case == name);
                cases.extend(number.map(|number| (*by, number)));
            }
        }
        let mut ids: Vec<Id> = Vec::with_capacity(formula.nodes.len());
        for (index, node) in formula.nodes.iter().enumerate() {
            let id = match cases.get(&index) {
                Some(&number) => self.graph.number(number as f64),
                None => self.node(&node.kind, &ids),
            };
            ids.push(id);
        }
        ids
    }

    /// The graph node of one formula node; `ids` has the graph nodes of its operands at their indices.
    pub fn node(&mut self, kind: &Kind, ids: &[Id]) -> Id {
        match kind {
            Kind::Number { value, .. } => self.graph.number(*value),
            Kind::Name(name) => match self.values.get(name) {
                Some(id) => *id,
                None => self.graph.number(f64::NAN),
            },
            // Texts occur only in rules of profile tables, which are not lowered.
            Kind::Quote(_) => self.graph.number(f64::NAN),
            Kind::Negate(a) => self.graph.add(Op::Neg(ids[*a])),
            Kind::Not(a) => self.graph.add(Op::Not(ids[*a])),
            Kind::Binary(operator, a, b) => self.binary(*operator, ids[*a], ids[*b]),
            Kind::Within(operator, a, b, within) => self.within(*operator, ids[*a], ids[*b], *within),
            Kind::Power(a, exponent) => self.graph.power(ids[*a], *exponent),
            Kind::Call(function, arguments) => self.call(*function, arguments, ids),
            Kind::If(c, a, b) => self.graph.add(Op::If(ids[*c], ids[*a], ids[*b])),
            Kind::Is(name, variant, _) => {
                let cases = self.classes.get(name).map(Vec::as_slice).unwrap_or_default();
                match cases.iter().find(|(known, _)| known == variant) {
                    Some((_, id)) => *id,
                    None => self.graph.add(Op::Bool(false)),
                }
            }
            Kind::Substitute(name, replaced) => {
                let by: Vec<(usize, Id)> = replaced
                    .iter()
                    .filter_map(|(quantity, _, by)| Some((*self.quantities.get(quantity)?, ids[*by])))
                    .collect();
                let substituted = match self.values.get(name) {
                    Some(root) => self.graph.substitute(*root, &by),
                    None => self.graph.number(f64::NAN),
                };
                self.substituted.push(by);
                substituted
            }
            Kind::Monotone { of, .. } => ids[*of],
            Kind::Sum(_) => {
                let terms = kind.parts().into_iter().map(|term| ids[term]);
                let sum = terms.reduce(|sum, term| self.graph.add(Op::Add(sum, term)));
                sum.unwrap_or_else(|| self.graph.number(f64::NAN))
            }
        }
    }

    fn binary(&mut self, operator: Binary, a: Id, b: Id) -> Id {
        let op = match operator {
            Binary::Add => Op::Add(a, b),
            Binary::Subtract => Op::Sub(a, b),
            Binary::Multiply => Op::Mul(a, b),
            Binary::Divide => Op::Div(a, b),
            Binary::Less => Op::Less(a, b),
            Binary::LessEqual => Op::LessEqual(a, b),
            Binary::Greater => Op::Less(b, a),
            Binary::GreaterEqual => Op::LessEqual(b, a),
            Binary::Equal => Op::Equal(a, b),
            Binary::NotEqual => Op::Not(self.graph.add(Op::Equal(a, b))),
            Binary::And => Op::And(a, b),
            Binary::Or => Op::Or(a, b),
            Binary::Implies => Op::Or(self.graph.add(Op::Not(a)), b),
            Binary::Iff => Op::Iff(a, b),
        };
        self.graph.add(op)
    }

    /// `a <= b within t` is `a <= b + abs(b) * t`; `a == b within t` is both directions of it.
    fn within(&mut self, operator: Binary, a: Id, b: Id, tolerance: f64) -> Id {
        let mut at_most = |a: Id, b: Id| {
            let (tolerance, size) = (self.graph.number(tolerance), self.graph.add(Op::Abs(b)));
            let room = self.graph.add(Op::Mul(size, tolerance));
            let limit = self.graph.add(Op::Add(b, room));
            self.graph.add(Op::LessEqual(a, limit))
        };
        match operator {
            Binary::LessEqual => at_most(a, b),
            Binary::GreaterEqual => at_most(b, a),
            // The parser accepts only `==` besides these.
            _ => {
                let (there, back) = (at_most(a, b), at_most(b, a));
                self.graph.add(Op::And(there, back))
            }
        }
    }

    fn call(&mut self, function: Function, arguments: &[usize], ids: &[Id]) -> Id {
        let fold = |graph: &mut Graph, op: fn(Id, Id) -> Op| {
            let rest = arguments[1..].iter();
            rest.fold(ids[arguments[0]], |left, right| graph.add(op(left, ids[*right])))
        };
        match function {
            Function::Min => fold(self.graph, Op::Min),
            Function::Max => fold(self.graph, Op::Max),
            Function::Pow => fold(self.graph, Op::Pow),
            Function::Floor => self.graph.add(Op::Floor(ids[arguments[0]])),
            Function::Ceil => self.graph.add(Op::Ceil(ids[arguments[0]])),
            Function::Sqrt => self.graph.add(Op::Sqrt(ids[arguments[0]])),
            Function::Abs => self.graph.add(Op::Abs(ids[arguments[0]])),
            Function::Mod => {
                let (a, b) = (ids[arguments[0]], ids[arguments[1]]);
                let quotient = self.graph.add(Op::Div(a, b));
                let times = self.graph.add(Op::Floor(quotient));
                let multiple = self.graph.add(Op::Mul(b, times));
                self.graph.add(Op::Sub(a, multiple))
            }
            Function::Finite => self.graph.add(Op::Finite(ids[arguments[0]])),
            // `given` occurs only in rules of profile tables, which are not lowered.
            Function::Given => self.graph.add(Op::Bool(true)),
        }
    }
}
