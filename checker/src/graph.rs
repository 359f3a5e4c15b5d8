//! Operations of a contract, as the certificate names them: by position, operands first.

/// One operation on the nodes at the given positions; what each computes is in `verify/coq/Rules.v`.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "json", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "json", serde(rename_all = "kebab-case"))]
pub enum Op {
    /// This number.
    Number(f64),
    /// The value of the quantity at this position.
    Quantity(usize),
    /// The negative.
    Neg(usize),
    /// The sum.
    Add(usize, usize),
    /// The difference.
    Sub(usize, usize),
    /// The product.
    Mul(usize, usize),
    /// The quotient.
    Div(usize, usize),
    /// The smaller.
    Min(usize, usize),
    /// The larger.
    Max(usize, usize),
    /// The largest whole number that is not greater.
    Floor(usize),
    /// The smallest whole number that is not smaller.
    Ceil(usize),
    /// The square root.
    Sqrt(usize),
    /// The magnitude.
    Abs(usize),
    /// The first to the power of the second, a whole number.
    Pow(usize, usize),
    /// The second where the first holds, the third elsewhere.
    If(usize, usize, usize),
    /// This truth value.
    Bool(bool),
    /// Whether the first is less.
    Less(usize, usize),
    /// Whether the first is not greater.
    LessEqual(usize, usize),
    /// Whether both are equal.
    Equal(usize, usize),
    /// Whether both hold.
    And(usize, usize),
    /// Whether one of them holds.
    Or(usize, usize),
    /// Whether it does not hold.
    Not(usize),
    /// Whether both hold or neither does.
    Iff(usize, usize),
    /// Whether it is neither infinite nor NaN.
    Finite(usize),
}

impl Op {
    /// The same operation with each operand replaced.
    pub fn map(self, to: impl Fn(usize) -> usize) -> Op {
        match self {
            Op::Number(_) | Op::Quantity(_) | Op::Bool(_) => self,
            Op::Neg(a) => Op::Neg(to(a)),
            Op::Floor(a) => Op::Floor(to(a)),
            Op::Ceil(a) => Op::Ceil(to(a)),
            Op::Sqrt(a) => Op::Sqrt(to(a)),
            Op::Abs(a) => Op::Abs(to(a)),
            Op::Not(a) => Op::Not(to(a)),
            Op::Finite(a) => Op::Finite(to(a)),
            Op::Add(a, b) => Op::Add(to(a), to(b)),
            Op::Sub(a, b) => Op::Sub(to(a), to(b)),
            Op::Mul(a, b) => Op::Mul(to(a), to(b)),
            Op::Div(a, b) => Op::Div(to(a), to(b)),
            Op::Min(a, b) => Op::Min(to(a), to(b)),
            Op::Max(a, b) => Op::Max(to(a), to(b)),
            Op::Pow(a, b) => Op::Pow(to(a), to(b)),
            Op::Less(a, b) => Op::Less(to(a), to(b)),
            Op::LessEqual(a, b) => Op::LessEqual(to(a), to(b)),
            Op::Equal(a, b) => Op::Equal(to(a), to(b)),
            Op::And(a, b) => Op::And(to(a), to(b)),
            Op::Or(a, b) => Op::Or(to(a), to(b)),
            Op::Iff(a, b) => Op::Iff(to(a), to(b)),
            Op::If(a, b, c) => Op::If(to(a), to(b), to(c)),
        }
    }

    /// The operands, in order.
    pub fn operands(self) -> Vec<usize> {
        let found = std::cell::RefCell::new(Vec::new());
        self.map(|operand| {
            found.borrow_mut().push(operand);
            operand
        });
        found.into_inner()
    }
}

/// Adds a second copy of whatever depends on a quantity, with another quantity in its place; the copy of each node,
/// itself where it does not depend on it.
pub fn twins(nodes: &mut Vec<Op>, quantity: usize, by: usize) -> Vec<usize> {
    let mut copy: Vec<usize> = Vec::with_capacity(nodes.len());
    for position in 0..nodes.len() {
        let op = nodes[position];
        let new =
            if op == Op::Quantity(quantity) { Op::Quantity(by) } else { op.map(|operand| copy[operand]) };
        copy.push(if new == op { position } else { nodes.len() });
        if new != op {
            nodes.push(new);
        }
    }
    copy
}
