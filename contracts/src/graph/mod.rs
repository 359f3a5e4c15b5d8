//! The meaning of a contract: one directed acyclic graph of f64 operations over the quantities.
//!
//! Equal operations on equal operands share one node, operands precede their users, and nothing is
//! simplified: a node's value is exactly the result of the generated Rust. Evaluation, proofs and SMT-LIB all
//! use this graph, so a chain of sixty doublings stays sixty nodes.

pub mod build;

use std::collections::{BTreeSet, HashMap};
use std::hash::{BuildHasherDefault, Hasher};

/// Maximum exponent of `pow`, and so the maximum number of multiplications per evaluation.
pub const MAX_POW: f64 = 65536.0;

/// A node of the graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Id(u32);

impl Id {
    /// The node's position in [`Graph::ops`].
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A map from nodes, or from tuples of nodes.
pub(crate) type IdMap<K, V> = HashMap<K, V, BuildHasherDefault<IdHasher>>;

/// A multiply-and-rotate hash, sufficient for dense numbers that input cannot control.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct IdHasher(u64);

impl Hasher for IdHasher {
    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u64(u64::from(byte));
        }
    }
    fn write_u32(&mut self, value: u32) {
        self.write_u64(u64::from(value));
    }
    fn write_usize(&mut self, value: usize) {
        self.write_u64(value as u64);
    }
    fn write_u64(&mut self, value: u64) {
        self.0 = (self.0 ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
    }
    fn finish(&self) -> u64 {
        self.0
    }
}

/// One operation. Numbers are f64, conditions are truth values; the two never mix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    /// A number as its bits, so that equality is identity.
    Number(u64),
    /// A quantity, by its position in the contract.
    Quantity(usize),
    /// `-a`
    Neg(Id),
    /// `a + b`
    Add(Id, Id),
    /// `a - b`
    Sub(Id, Id),
    /// `a * b`
    Mul(Id, Id),
    /// `a / b`
    Div(Id, Id),
    /// `if a < b { a } else { b }`
    Min(Id, Id),
    /// `if a > b { a } else { b }`
    Max(Id, Id),
    /// The largest integer that is not greater.
    Floor(Id),
    /// The smallest integer that is not smaller.
    Ceil(Id),
    /// The square root, correctly rounded; NaN for negative values.
    Sqrt(Id),
    /// The absolute value.
    Abs(Id),
    /// `((1 * a) * a) * ...` with `b` factors `a`; `b` is an integer.
    Pow(Id, Id),
    /// `if c { a } else { b }`, numbers.
    If(Id, Id, Id),
    /// A truth value.
    Bool(bool),
    /// `a < b`
    Less(Id, Id),
    /// `a <= b`
    LessEqual(Id, Id),
    /// `a == b`, numbers.
    Equal(Id, Id),
    /// `a and b`
    And(Id, Id),
    /// `a or b`
    Or(Id, Id),
    /// `not a`
    Not(Id),
    /// `a == b`, truth values.
    Iff(Id, Id),
    /// True if the value is neither infinite nor NaN.
    Finite(Id),
}

impl Op {
    /// True if the result is a truth value, not a number.
    pub fn is_truth(self) -> bool {
        use Op::{And, Bool, Equal, Finite, Iff, Less, LessEqual, Not, Or};
        matches!(
            self,
            Bool(_) | Less(..) | LessEqual(..) | Equal(..) | And(..) | Or(..) | Not(_) | Iff(..) | Finite(_)
        )
    }

    /// The operands, in order.
    pub fn operands(self) -> impl Iterator<Item = Id> {
        let [a, b, c] = match self {
            Op::Number(_) | Op::Quantity(_) | Op::Bool(_) => [None; 3],
            Op::Neg(a)
            | Op::Floor(a)
            | Op::Ceil(a)
            | Op::Sqrt(a)
            | Op::Abs(a)
            | Op::Not(a)
            | Op::Finite(a) => [Some(a), None, None],
            Op::Add(a, b)
            | Op::Sub(a, b)
            | Op::Mul(a, b)
            | Op::Div(a, b)
            | Op::Min(a, b)
            | Op::Max(a, b)
            | Op::Pow(a, b)
            | Op::Less(a, b)
            | Op::LessEqual(a, b)
            | Op::Equal(a, b)
            | Op::And(a, b)
            | Op::Or(a, b)
            | Op::Iff(a, b) => [Some(a), Some(b), None],
            Op::If(a, b, c) => [Some(a), Some(b), Some(c)],
        };
        [a, b, c].into_iter().flatten()
    }

    /// Replaces each operand.
    pub fn map(self, mut to: impl FnMut(Id) -> Id) -> Op {
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
}

/// The graph of a contract.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    ops: Vec<Op>,
    known: HashMap<Op, Id>,
}

impl Graph {
    /// Returns the node of an operation and adds it if it is new.
    pub fn add(&mut self, op: Op) -> Id {
        *self.known.entry(op).or_insert_with(|| {
            self.ops.push(op);
            Id(self.ops.len() as u32 - 1)
        })
    }

    /// The node of a number.
    pub fn number(&mut self, value: f64) -> Id {
        self.add(Op::Number(value.to_bits()))
    }

    /// For each case name, the condition node that is true if the enumeration has this value.
    pub fn cases(&mut self, quantity: Id, names: &[String]) -> Vec<(String, Id)> {
        let mut case = |(index, name): (usize, &String)| {
            let number = self.number(index as f64);
            (name.clone(), self.add(Op::Equal(quantity, number)))
        };
        names.iter().enumerate().map(&mut case).collect()
    }

    /// All operations; operands come before their users.
    pub fn ops(&self) -> &[Op] {
        &self.ops
    }

    /// The node at a position of [`Graph::ops`].
    pub fn id(&self, index: usize) -> Id {
        Id(index as u32)
    }

    /// The operation of a node.
    pub fn op(&self, id: Id) -> Op {
        self.ops[id.index()]
    }

    /// `base ^ exponent` by repeated multiplication from the left; a negative power divides 1 by it.
    pub fn power(&mut self, base: Id, exponent: i32) -> Id {
        if exponent == 0 {
            return self.number(1.0);
        }
        let product = (1..exponent.unsigned_abs()).fold(base, |product, _| self.add(Op::Mul(product, base)));
        if exponent > 0 {
            product
        } else {
            let one = self.number(1.0);
            self.add(Op::Div(one, product))
        }
    }

    /// Every node that `roots` depend on, including themselves, in evaluation order.
    pub fn reachable(&self, roots: &[Id]) -> Vec<Id> {
        let mut seen = vec![false; self.ops.len()];
        let mut pending = roots.to_vec();
        while let Some(id) = pending.pop() {
            if !std::mem::replace(&mut seen[id.index()], true) {
                pending.extend(self.op(id).operands());
            }
        }
        (0..self.ops.len()).filter(|&i| seen[i]).map(|i| Id(i as u32)).collect()
    }

    /// The nodes that `roots` depend on, including themselves, operands first; none if there are more than `limit`.
    ///
    /// Takes time proportional to the result, not to the graph.
    pub fn cone(&self, roots: &[Id], most: usize) -> Option<Vec<Id>> {
        let mut seen: BTreeSet<Id> = roots.iter().copied().collect();
        let mut pending = roots.to_vec();
        while let Some(id) = pending.pop() {
            for operand in self.op(id).operands() {
                if seen.insert(operand) {
                    pending.push(operand);
                }
            }
            if seen.len() > most {
                return None;
            }
        }
        Some(seen.into_iter().collect())
    }

    /// `root` with quantities replaced; nodes that do not depend on them are shared.
    pub fn substitute(&mut self, root: Id, by: &[(usize, Id)]) -> Id {
        let mut image: HashMap<Id, Id> = HashMap::new();
        for id in self.reachable(&[root]) {
            let op = self.op(id);
            let replaced = match op {
                Op::Quantity(quantity) => by.iter().find(|(q, _)| *q == quantity).map(|(_, id)| *id),
                _ => None,
            };
            let new = match replaced {
                Some(new) => new,
                None => {
                    let op = op.map(|operand| image.get(&operand).copied().unwrap_or(operand));
                    self.add(op)
                }
            };
            image.insert(id, new);
        }
        image.get(&root).copied().unwrap_or(root)
    }
}
