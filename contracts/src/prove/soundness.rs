//! The prover checked by brute force: the same rules on tiny floats, where every point of a domain can be tried.

use std::collections::{BTreeMap, HashMap};

use super::falsify::Random;
use super::number::{Number, pow};
use super::range::{self, Range};
use super::small::{E3M5, E4M3, E5M2, Small};
use super::structure::{Leaf, Structure};
use crate::contract::Claim;
use crate::graph::{Graph, Id, Op};

/// The interpreter of `eval`, for any format; conditions are 0 and 1.
fn step<F: Number>(op: Op, at: impl Fn(Id) -> F, point: &[F]) -> F {
    let truth = |value: bool| F::of(if value { 1.0 } else { 0.0 });
    let is = |id: Id| at(id) == F::of(1.0);
    match op {
        Op::Number(bits) => F::of(f64::from_bits(bits)),
        Op::Quantity(index) => point[index],
        Op::Neg(a) => at(a).neg(),
        Op::Add(a, b) => at(a).add(at(b)),
        Op::Sub(a, b) => at(a).sub(at(b)),
        Op::Mul(a, b) => at(a).mul(at(b)),
        Op::Div(a, b) => at(a).div(at(b)),
        Op::Min(a, b) => if at(a) < at(b) { at(a) } else { at(b) },
        Op::Max(a, b) => if at(a) > at(b) { at(a) } else { at(b) },
        Op::Floor(a) => at(a).floor(),
        Op::Ceil(a) => at(a).ceil(),
        Op::Pow(a, b) => pow(at(a), at(b)),
        Op::If(c, a, b) => if is(c) { at(a) } else { at(b) },
        Op::Bool(value) => truth(value),
        Op::Less(a, b) => truth(at(a) < at(b)),
        Op::LessEqual(a, b) => truth(at(a) <= at(b)),
        Op::Equal(a, b) => truth(at(a) == at(b)),
        Op::And(a, b) => truth(is(a) && is(b)),
        Op::Or(a, b) => truth(is(a) || is(b)),
        Op::Not(a) => truth(!is(a)),
        Op::Iff(a, b) => truth(is(a) == is(b)),
        Op::Finite(a) => truth(at(a).is_finite()),
    }
}

struct World<F> {
    graph: Graph,
    /// The members of each quantity's domain, ascending.
    members: Vec<Vec<F>>,
    whole: Vec<bool>,
}

impl<F: Number> World<F> {
    fn structure(&self) -> Structure<'_, F> {
        let leaves = (self.members.iter().zip(&self.whole).enumerate())
            .map(|(i, (members, &whole))| Leaf {
                name: format!("q{i}"),
                range: Range::new(members[0], members[members.len() - 1]),
                whole,
            })
            .collect();
        Structure::new(&self.graph, leaves, HashMap::new())
    }

    /// Calls `check` with the values of all nodes at every point; stops when it says false.
    fn everywhere(&self, mut check: impl FnMut(&[F], &[F]) -> bool) -> bool {
        let mut index = vec![0; self.members.len()];
        let mut values: Vec<F> = Vec::new();
        loop {
            let point: Vec<F> = index.iter().zip(&self.members).map(|(&i, members)| members[i]).collect();
            values.clear();
            for &op in self.graph.ops() {
                let value = step(op, |id| values[id.index()], &point);
                values.push(value);
            }
            if !check(&point, &values) {
                return false;
            }
            let Some(next) = (0..index.len()).find(|&i| index[i] + 1 < self.members[i].len()) else { return true };
            index[..next].fill(0);
            index[next] += 1;
        }
    }

    fn holds(&self, claim: Claim) -> bool {
        match claim {
            Claim::Always(id) => self.everywhere(|_, values| values[id.index()] == F::of(1.0)),
            Claim::Monotone { of, increasing, quantity } => {
                // Points come with the first quantity fastest; remember the last value for each setting of the others.
                let mut last: BTreeMap<Vec<u64>, F> = BTreeMap::new();
                self.everywhere(|point, values| {
                    let others: Vec<u64> = (point.iter().enumerate())
                        .map(|(i, value)| if i == quantity { 0 } else { value.to_f64().to_bits() })
                        .collect();
                    let value = values[of.index()];
                    match last.insert(others, value) {
                        None => !value.is_nan(),
                        Some(before) if increasing => before <= value,
                        Some(before) => before >= value,
                    }
                })
            }
        }
    }
}

/// Makes random worlds and claims that are likely to touch a rule.
struct Maker<'a, F> {
    world: World<F>,
    random: &'a mut Random,
    numbers: Vec<Id>,
}

impl<'a, const E: i32, const M: i32> Maker<'a, Small<E, M>> {
    fn new(random: &'a mut Random, most: usize) -> Self {
        let all = Small::<E, M>::all();
        let count = 1 + random.below(3);
        let mut members = Vec::new();
        let mut whole = Vec::new();
        for _ in 0..count {
            let is_whole = random.below(4) == 0;
            let allowed: Vec<_> =
                all.iter().copied().filter(|value| !is_whole || value.to_f64() % 1.0 == 0.0).collect();
            // Mostly positive domains: most rules need a sign.
            let first = if random.below(4) == 0 { 0 } else { allowed.len() / 2 };
            let start = first + random.below(allowed.len() - first);
            let width = 1 + random.below(if count == 3 { 10 } else { most });
            members.push(allowed[start..(start + width).min(allowed.len())].to_vec());
            whole.push(is_whole);
        }
        let mut graph = Graph::default();
        let mut numbers: Vec<Id> = (0..count).map(|i| graph.add(Op::Quantity(i))).collect();
        for _ in 0..2 {
            let value = [0.0, 1.0, 2.0, 0.5, 3.0, 4.0, -1.0, 1.5][random.below(8)];
            numbers.push(graph.number(value));
        }
        Maker { world: World { graph, members, whole }, random, numbers }
    }

    fn add(&mut self, op: Op) -> Id {
        self.world.graph.add(op)
    }

    fn any(&mut self) -> Id {
        self.numbers[self.random.below(self.numbers.len())]
    }

    fn number(&mut self) -> Id {
        let (a, b) = (self.any(), self.any());
        let op = match self.random.below(14) {
            0 => Op::Neg(a),
            1 | 2 => Op::Add(a, b),
            3 => Op::Sub(a, b),
            4..=6 => Op::Mul(a, b),
            7..=9 => Op::Div(a, b),
            10 => Op::Min(a, b),
            11 => Op::Max(a, b),
            12 if self.random.below(2) == 0 => Op::Floor(a),
            12 => Op::Ceil(a),
            _ if self.random.below(3) == 0 => {
                let exponent = self.world.graph.number(2.0);
                Op::Pow(a, exponent)
            }
            _ => {
                let condition = self.comparison();
                Op::If(condition, a, b)
            }
        };
        let id = self.add(op);
        self.numbers.push(id);
        id
    }

    fn comparison(&mut self) -> Id {
        let (a, b) = (self.any(), self.any());
        self.compare(a, b)
    }

    fn compare(&mut self, a: Id, b: Id) -> Id {
        let op = match self.random.below(5) {
            0 | 1 => Op::LessEqual(a, b),
            2 => Op::Less(a, b),
            3 => Op::Equal(a, b),
            _ => Op::LessEqual(b, a),
        };
        self.add(op)
    }

    /// A node like another, with one quantity replaced by something near it.
    fn relative(&mut self, of: Id) -> Id {
        let quantity = self.random.below(self.world.members.len());
        let leaf = self.add(Op::Quantity(quantity));
        let other = self.any();
        let new = match self.random.below(5) {
            0 => other,
            1 => {
                let two = self.world.graph.number(2.0);
                self.add(Op::Mul(two, leaf))
            }
            2 => self.add(Op::Max(leaf, other)),
            3 => self.add(Op::Min(other, leaf)),
            _ => self.add(Op::Add(leaf, other)),
        };
        self.world.graph.substitute(of, &[(quantity, new)])
    }

    fn claim(&mut self) -> Claim {
        for _ in 0..1 + self.random.below(4) {
            self.number();
        }
        let of = self.number();
        if self.random.below(5) == 0 {
            let quantity = self.random.below(self.world.members.len());
            return Claim::Monotone { of, increasing: self.random.below(2) == 0, quantity };
        }
        let relative = match self.random.below(6) {
            0 => {
                let pick = self.any();
                self.add(Op::Min(of, pick))
            }
            1 => self.any(),
            2 => {
                let (factor, like) = (self.random.below(3), self.relative(of));
                let factor = self.world.graph.number([2.0, 0.5, 4.0][factor]);
                if self.random.below(2) == 0 { self.add(Op::Mul(factor, like)) } else { self.add(Op::Div(like, factor)) }
            }
            3 => {
                // The same product or quotient in another order, with some room.
                let (p, q) = (self.any(), self.any());
                let there = self.add(Op::Mul(of, p));
                let back = self.add(Op::Div(there, p));
                let room = self.world.graph.number([1.0, 1.25, 1.5, 2.0][self.random.below(4)]);
                let wide = self.add(Op::Mul(of, room));
                let _ = q;
                return Claim::Always(self.compare(back, wide));
            }
            _ => self.relative(of),
        };
        let mut claim = self.compare(of, relative);
        match self.random.below(6) {
            0 => {
                let premise = self.comparison();
                let not = self.add(Op::Not(premise));
                claim = self.add(Op::Or(not, claim));
            }
            1 => {
                let other = self.compare(of, relative);
                claim = self.add(Op::Iff(claim, other));
            }
            2 => claim = self.add(Op::Finite(of)),
            _ => {}
        }
        Claim::Always(claim)
    }
}

const CLAIMS: usize = 200_000;

/// Proves random claims and checks each proof at every point; returns how often each rule was used.
fn campaign<const E: i32, const M: i32>(seed: u64, claims: usize) -> BTreeMap<String, usize> {
    let mut random = Random(seed);
    let mut rules = BTreeMap::new();
    for number in 0..claims {
        let mut maker = Maker::<Small<E, M>>::new(&mut random, 24);
        let claim = maker.claim();
        let world = maker.world;
        let mut structure = world.structure();
        let (trace, rule) = match claim {
            Claim::Always(id) => (structure.always(id), None),
            Claim::Monotone { of, increasing, quantity } => {
                (structure.monotone(of, increasing, quantity), Some("direction"))
            }
        };
        let Some(trace) = trace else { continue };
        for line in &trace {
            let step = line.rsplit_once(": ").map_or("", |(_, step)| step);
            let is_range = step.is_empty() || step.contains(", as ");
            let rule = rule.unwrap_or(if is_range { "range" } else { step });
            *rules.entry(rule.to_owned()).or_insert(0) += 1;
        }
        assert!(
            world.holds(claim),
            "E{E}M{M}, claim {number}: proven but false: {}\n{}\n{:?}\n{:?}",
            match claim {
                Claim::Always(id) => structure.show(id),
                Claim::Monotone { of, increasing, quantity } =>
                    format!("{} rises {increasing} in q{quantity}", structure.show(of)),
            },
            trace.join("\n"),
            world.members.iter().map(|m| (m[0], m[m.len() - 1])).collect::<Vec<_>>(),
            world.whole,
        );
    }
    rules
}

#[test]
fn whatever_is_proven_on_tiny_floats_is_true_at_every_point() {
    let mut rules = BTreeMap::new();
    for part in [campaign::<4, 3>(1, CLAIMS), campaign::<5, 2>(2, CLAIMS), campaign::<3, 5>(3, CLAIMS)] {
        for (rule, count) in part {
            *rules.entry(rule).or_insert(0) += count;
        }
    }
    for (rule, count) in &rules { println!("{count:6} {rule}"); }
}
