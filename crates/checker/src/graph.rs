//! Operation graph of a contract. Nodes are referenced by position; operands precede their users.

data! {
    /// One operation on the nodes at the given positions. `coq/Rules.v` defines the semantics.
    #[derive(Copy)]
    pub enum Op {
        /// A constant.
        Number(f64),
        /// The value of the quantity at this position.
        Quantity(usize),
        /// Negation.
        Neg(usize),
        /// Sum.
        Add(usize, usize),
        /// Difference.
        Sub(usize, usize),
        /// Product.
        Mul(usize, usize),
        /// Quotient.
        Div(usize, usize),
        /// Minimum.
        Min(usize, usize),
        /// Maximum.
        Max(usize, usize),
        /// Largest integer that is not greater.
        Floor(usize),
        /// Smallest integer that is not less.
        Ceil(usize),
        /// Square root.
        Sqrt(usize),
        /// Absolute value.
        Abs(usize),
        /// The first to the power of the second, which is an integer.
        Pow(usize, usize),
        /// The second operand if the first is true, otherwise the third.
        If(usize, usize, usize),
        /// A boolean constant.
        Bool(bool),
        /// First less than second.
        Less(usize, usize),
        /// First less than or equal to second.
        LessEqual(usize, usize),
        /// Equality.
        Equal(usize, usize),
        /// Conjunction.
        And(usize, usize),
        /// Disjunction.
        Or(usize, usize),
        /// Logical negation.
        Not(usize),
        /// Logical equivalence.
        Iff(usize, usize),
        /// True if the operand is neither infinite nor NaN.
        Finite(usize),
    }
}

impl Op {
    fn operands_mut(&mut self) -> Vec<&mut usize> {
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

    /// Replaces each operand.
    pub fn map(mut self, to: impl Fn(usize) -> usize) -> Op {
        self.operands_mut().into_iter().for_each(|operand| *operand = to(*operand));
        self
    }

    /// Returns the operands in order.
    pub fn operands(mut self) -> Vec<usize> {
        self.operands_mut().into_iter().map(|operand| *operand).collect()
    }
}

/// Appends a copy of every node that depends on `quantity`, with the quantity `by` in its place. Returns the copy of each node, or the
/// node itself if it does not depend on `quantity`.
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
