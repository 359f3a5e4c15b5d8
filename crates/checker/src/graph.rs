//! Operations of a contract, as the certificate names them: by position, operands first.

data! {
    /// One operation on the nodes at the given positions; what each computes is in `verify/coq/Rules.v`.
    #[derive(Copy)]
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
}

impl Op {
    fn parts(&mut self) -> Vec<&mut usize> {
        use Op::*;
        match self {
            Number(_) | Quantity(_) | Bool(_) => vec![],
            Neg(a) | Floor(a) | Ceil(a) | Sqrt(a) | Abs(a) | Not(a) | Finite(a) => vec![a],
            Add(a, b) | Sub(a, b) | Mul(a, b) | Div(a, b) | Min(a, b) | Max(a, b) => vec![a, b],
            Pow(a, b) | Less(a, b) | LessEqual(a, b) | Equal(a, b) | And(a, b) | Or(a, b) => vec![a, b],
            Iff(a, b) => vec![a, b],
            If(a, b, c) => vec![a, b, c],
        }
    }

    /// The same operation with each operand replaced.
    pub fn map(mut self, to: impl Fn(usize) -> usize) -> Op {
        self.parts().into_iter().for_each(|part| *part = to(*part));
        self
    }

    /// The operands, in order.
    pub fn operands(mut self) -> Vec<usize> {
        self.parts().into_iter().map(|part| *part).collect()
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
