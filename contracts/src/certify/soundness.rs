//! Soundness tests: random claims that the checker accepts are evaluated at many f64 points, and ranges are checked at every
//! point of tiny floats.

use std::collections::BTreeMap;

use roofline_checker::{Domain, Problem, ProofObligation, Rule, Step, check};

use super::small::Small;
use super::{certificate, operations};
use crate::contract::Claim;
use crate::graph::{Graph, Id, Op};
use crate::number::{Number, pow};
use crate::range::{self, Range};
use crate::sample::{Random, key, unkey};

/// The interpreter of `eval` for any number format; conditions are 0 and 1.
fn step<F: Number>(op: Op, at: impl Fn(Id) -> F, point: &[F]) -> F {
    let truth = |value: bool| F::from_f64(if value { 1.0 } else { 0.0 });
    let is = |id: Id| at(id) == F::from_f64(1.0);
    match op {
        Op::Number(bits) => F::from_f64(f64::from_bits(bits)),
        Op::Quantity(index) => point[index],
        Op::Neg(a) => at(a).neg(),
        Op::Add(a, b) => at(a).add(at(b)),
        Op::Sub(a, b) => at(a).sub(at(b)),
        Op::Mul(a, b) => at(a).mul(at(b)),
        Op::Div(a, b) => at(a).div(at(b)),
        Op::Min(a, b) => {
            if at(a) < at(b) {
                at(a)
            } else {
                at(b)
            }
        }
        Op::Max(a, b) => {
            if at(a) > at(b) {
                at(a)
            } else {
                at(b)
            }
        }
        Op::Floor(a) => at(a).floor(),
        Op::Ceil(a) => at(a).ceil(),
        Op::Sqrt(a) => at(a).sqrt(),
        Op::Abs(a) => at(a).abs(),
        Op::Pow(a, b) => pow(at(a), at(b)),
        Op::If(c, a, b) => {
            if is(c) {
                at(a)
            } else {
                at(b)
            }
        }
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
    /// The members of each quantity's domain, ascending; domains with a zero contain both signs of it.
    members: Vec<Vec<F>>,
    whole: Vec<bool>,
    /// Substituted values: the claim covers points where they lie in the quantity's domain.
    substituted: Vec<(usize, Id)>,
    /// The requirements, without and with the substitutions.
    required: Vec<Id>,
    assumed: Vec<Id>,
}

impl<F: Number> World<F> {
    fn domain(&self, quantity: usize) -> Range<F> {
        let members = &self.members[quantity];
        Range::new(members[0], members[members.len() - 1])
    }

    /// The claim covers the point with these values.
    fn speaks(&self, values: &[F]) -> bool {
        let meets = |id: &Id| values[id.index()] == F::from_f64(1.0);
        self.required.iter().chain(&self.assumed).all(meets)
            && self.substituted.iter().all(|&(quantity, id)| {
                let (value, domain) = (values[id.index()], self.domain(quantity));
                let fits = !self.whole[quantity] || value.to_f64() % 1.0 == 0.0;
                domain.low <= value && value <= domain.high && fits
            })
    }

    /// Calls `check` with the values of all nodes at every point; stops if it returns false.
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
            let Some(next) = (0..index.len()).find(|&i| index[i] + 1 < self.members[i].len()) else {
                return true;
            };
            index[..next].fill(0);
            index[next] += 1;
        }
    }

    fn holds(&self, claim: Claim) -> bool {
        match claim {
            Claim::Always(id) => {
                self.everywhere(|_, values| !self.speaks(values) || values[id.index()] == F::from_f64(1.0))
            }
            Claim::Monotone { of, increasing, quantity, within } => {
                // The first quantity varies fastest; keep the values for each combination of the others.
                let mut last: BTreeMap<Vec<u64>, Vec<F>> = BTreeMap::new();
                self.everywhere(|point, values| {
                    if !self.speaks(values) {
                        return true;
                    }
                    let others: Vec<u64> = (point.iter().enumerate())
                        .map(|(i, value)| if i == quantity { 0 } else { value.to_f64().to_bits() })
                        .collect();
                    let value = values[of.index()];
                    let at_most = |a: F, b: F| a <= b || a <= b.add(b.abs().mul(F::from_f64(within)));
                    // With a tolerance, the last value alone does not suffice.
                    let before = last.entry(others).or_default();
                    before.push(value);
                    !value.is_nan()
                        && (before.iter()).all(|&first| {
                            if increasing { at_most(first, value) } else { at_most(value, first) }
                        })
                })
            }
        }
    }
}

/// Generates random worlds and claims that are likely to exercise a rule.
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
            // Mostly positive domains, because most rules need a sign; zeros are the edge case.
            let zero = allowed.len() / 2;
            let mut start = match random.below(6) {
                0 => random.below(allowed.len()),
                1 | 2 => zero,
                _ => zero + random.below(allowed.len() - zero),
            };
            let mut end = start + 1 + random.below(if count == 3 { 10 } else { most });
            // A domain with one zero contains the other too, as they are equal.
            start -= usize::from(start == zero);
            end += usize::from(end == zero);
            members.push(allowed[start..end.min(allowed.len())].to_vec());
            whole.push(is_whole);
        }
        let mut graph = Graph::default();
        let mut numbers: Vec<Id> = (0..count).map(|i| graph.add(Op::Quantity(i))).collect();
        for _ in 0..2 {
            let value = [0.0, 1.0, 2.0, 0.5, 3.0, 4.0, -1.0, 1.5, -0.0, Small::<E, M>::MAX][random.below(10)];
            numbers.push(graph.number(value));
        }
        Maker {
            world: World { graph, members, whole, substituted: vec![], required: vec![], assumed: vec![] },
            random,
            numbers,
        }
    }

    fn add(&mut self, op: Op) -> Id {
        self.world.graph.add(op)
    }

    fn any(&mut self) -> Id {
        self.numbers[self.random.below(self.numbers.len())]
    }

    fn number(&mut self) -> Id {
        let (a, b) = (self.any(), self.any());
        let op = match self.random.below(16) {
            14 => Op::Sqrt(a),
            15 => Op::Abs(a),
            0 => Op::Neg(a),
            1 | 2 => Op::Add(a, b),
            3 => Op::Sub(a, b),
            4..=6 => Op::Mul(a, b),
            7..=9 => Op::Div(a, b),
            10 => Op::Min(a, b),
            11 => Op::Max(a, b),
            12 if self.random.below(2) == 0 => Op::Floor(a),
            12 => Op::Ceil(a),
            _ if self.random.below(2) == 0 => {
                let two = self.world.graph.number(2.0);
                let whole = (0..self.world.whole.len()).find(|&i| self.world.whole[i]);
                let exponent = whole.map_or(two, |i| self.world.graph.add(Op::Quantity(i)));
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
        let op = match self.random.below(6) {
            0 | 1 => Op::LessEqual(a, b),
            2 => Op::Less(a, b),
            3 => Op::Equal(a, b),
            4 => Op::Less(b, a),
            _ => Op::LessEqual(b, a),
        };
        self.add(op)
    }

    /// A quotient of sums and products, as in formulas of the literature, with repeated values.
    fn rational(&mut self) -> Id {
        let quantities = self.world.members.len();
        let one = self.world.graph.number(1.0);
        let leaf = |maker: &mut Self| {
            let quantity = maker.random.below(quantities);
            maker.add(Op::Quantity(quantity))
        };
        let (x, y) = (leaf(self), leaf(self));
        let rest = self.add(Op::Sub(one, x));
        let parts = [x, y, rest, one];
        let part = |maker: &mut Self| parts[maker.random.below(4)];
        let sum = |maker: &mut Self| {
            let (p, q, r) = (part(maker), part(maker), part(maker));
            let op = match maker.random.below(4) {
                0 => Op::Add(p, q),
                1 => Op::Sub(p, q),
                2 => {
                    let product = maker.add(Op::Mul(p, q));
                    Op::Add(product, r)
                }
                _ => {
                    let quotient = maker.add(Op::Div(p, q));
                    Op::Add(r, quotient)
                }
            };
            maker.add(op)
        };
        let (over, under) = (sum(self), sum(self));
        let pick = if self.random.below(2) == 0 { over } else { x };
        let op = [Op::Div(pick, under), Op::Mul(over, under), Op::Add(over, under)][self.random.below(3)];
        self.add(op)
    }

    /// A variant of a node with one quantity replaced by a nearby value.
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

    /// A node with an equal value up to the sign of zeros and rounding, by swapping operands or adding zero.
    fn twin(&mut self, of: Id) -> Id {
        let mut image: BTreeMap<Id, Id> = BTreeMap::new();
        for id in self.world.graph.reachable(&[of]) {
            let op = self.world.graph.op(id).map(|operand| image.get(&operand).copied().unwrap_or(operand));
            let op = match op {
                Op::Add(a, b) if self.random.below(2) == 0 => Op::Add(b, a),
                Op::Mul(a, b) if self.random.below(2) == 0 => Op::Mul(b, a),
                Op::Min(a, b) if self.random.below(2) == 0 => Op::Min(b, a),
                Op::Max(a, b) if self.random.below(2) == 0 => Op::Max(b, a),
                Op::Sub(a, b) if self.random.below(4) == 0 => {
                    let difference = self.add(Op::Sub(b, a));
                    Op::Neg(difference)
                }
                op => op,
            };
            let mut new = self.add(op);
            if matches!(op, Op::Quantity(_)) || self.random.below(4) == 0 {
                let other = self.any();
                new = match self.random.below(10) {
                    0 => {
                        let zero = self.world.graph.number([0.0, -0.0][self.random.below(2)]);
                        self.add(Op::Add(new, zero))
                    }
                    1 => {
                        let one = self.world.graph.number(1.0);
                        self.add(Op::Mul(one, new))
                    }
                    2 => {
                        let condition = self.compare(new, other);
                        self.add(Op::If(condition, new, new))
                    }
                    3 => {
                        let condition = self.add(Op::Equal(new, other));
                        self.add(Op::If(condition, other, new))
                    }
                    _ => new,
                };
            }
            image.insert(id, new);
        }
        image[&of]
    }

    /// Adds requirements between numbers of the claim, depending on `odd`.
    fn require(&mut self, odd: u64) {
        let mut other = Random(odd);
        for _ in 0..[0, 0, 1, 2][other.below(4)] {
            let condition = |maker: &mut Self, other: &mut Random| {
                let (a, b) = (other.pick(&maker.numbers).copied(), other.pick(&maker.numbers).copied());
                let (Some(a), Some(b)) = (a, b) else { return maker.add(Op::Bool(true)) };
                maker.add(match other.below(5) {
                    0 | 1 => Op::LessEqual(a, b),
                    2 => Op::Equal(a, b),
                    _ => Op::Less(a, b),
                })
            };
            let mut required = condition(self, &mut other);
            if other.below(3) == 0 {
                let second = condition(self, &mut other);
                required = self.add(if other.below(2) == 0 {
                    Op::And(required, second)
                } else {
                    Op::Or(required, second)
                });
            }
            self.world.required.push(required);
            if !self.world.substituted.is_empty() {
                let by = self.world.substituted.clone();
                let assumed = self.world.graph.substitute(required, &by);
                self.world.assumed.push(assumed);
            }
        }
    }

    fn claim(&mut self) -> Claim {
        for _ in 0..1 + self.random.below(4) {
            self.number();
        }
        let of = self.number();
        if self.random.below(5) == 0 {
            let quantity = self.random.below(self.world.members.len());
            let of = if self.random.below(2) == 0 { self.rational() } else { of };
            let within = [0.0, 0.0, 0.0625, 0.125, 0.5][self.random.below(5)];
            return Claim::Monotone { of, increasing: self.random.below(2) == 0, quantity, within };
        }
        let relative = match self.random.below(20) {
            16 | 17 => {
                // Convex combinations against both values, and the rest of a value after subtracting a part.
                let one = self.world.graph.number(1.0);
                let quantities = self.world.members.len();
                let [share, mut x, y] = [0, 1, 2].map(|i| self.add(Op::Quantity(i % quantities)));
                // Subtraction of integers is exact.
                if let Some(whole) = (1..quantities).find(|&i| self.world.whole[i]) {
                    x = self.add(Op::Quantity(whole));
                }
                let share = if self.random.below(2) == 0 { self.add(Op::Min(share, one)) } else { share };
                let rest = self.add(Op::Sub(one, share));
                let (first, second) = (self.add(Op::Mul(share, x)), self.add(Op::Mul(rest, y)));
                let mix = self.add(Op::Add(first, second));
                let less = self.add(Op::Sub(x, one));
                let part = self.add(Op::Mul(share, less));
                let left = self.add(Op::Sub(x, part));
                let (least, most) = (self.add(Op::Min(x, y)), self.add(Op::Max(y, x)));
                let pairs = [(mix, x), (mix, most), (least, mix), (y, mix), (left, x), (one, left)];
                let (a, b) = pairs[self.random.below(8).min(5)];
                let tolerance = self.world.graph.number([0.25, 0.375, 0.5][self.random.below(3)]);
                let size = self.add(Op::Abs(b));
                let room = self.add(Op::Mul(size, tolerance));
                let limit = self.add(Op::Add(b, room));
                let b = if self.random.below(3) == 0 { b } else { limit };
                let mut claim = self.add(Op::LessEqual(a, b));
                if self.random.below(2) == 0 {
                    let premise = self.add(Op::Less(y, x));
                    claim = self.add(Op::Or(premise, claim));
                }
                return Claim::Always(claim);
            }
            15 => {
                let (base, exponent) = (self.any(), self.any());
                let power = self.add(Op::Pow(base, exponent));
                return Claim::Always(self.compare(power, base));
            }
            11..=13 => {
                // Two rational functions, or one and its limits, within a tolerance.
                let (a, mut b) = (self.rational(), self.rational());
                if self.random.below(3) == 0 {
                    b = self.world.graph.number([0.0, 1.0, 2.0][self.random.below(3)]);
                }
                if self.random.below(3) == 0 {
                    let quantity = self.random.below(self.world.members.len());
                    b = self.add(Op::Quantity(quantity));
                }
                if self.random.below(2) == 0 {
                    let tolerance = self.world.graph.number([0.0625, 0.125, 0.5, 1.0][self.random.below(4)]);
                    let size = self.add(Op::Abs(b));
                    let room = self.add(Op::Mul(size, tolerance));
                    b = self.add(Op::Add(b, room));
                }
                let mut claim = self.compare(a, b);
                if self.random.below(3) == 0 {
                    let premise = self.comparison();
                    let not = self.add(Op::Not(premise));
                    claim = self.add(Op::Or(not, claim));
                }
                return Claim::Always(claim);
            }
            10 => {
                // A multiple of an integer, or a sum with a constant, against its operands.
                let whole: Vec<usize> =
                    (0..self.world.whole.len()).filter(|&i| self.world.whole[i]).collect();
                let (mut c, mut l) = (self.any(), self.any());
                if let (Some(&i), Some(&j)) = (self.random.pick(&whole), self.random.pick(&whole)) {
                    (c, l) = (self.add(Op::Quantity(i)), self.add(Op::Quantity(j)));
                }
                let two = self.world.graph.number(2.0);
                l = if c == l { two } else { l };
                let quotient = self.add(Op::Div(c, l));
                let count = if self.random.below(2) == 0 { Op::Ceil(quotient) } else { Op::Floor(quotient) };
                let count = self.add(count);
                let (multiple, sum, one) =
                    (self.add(Op::Mul(count, l)), self.add(Op::Add(c, l)), self.world.graph.number(1.0));
                let less = self.add(Op::Sub(sum, one));
                let other = if self.random.below(2) == 0 { multiple } else { less };
                return Claim::Always(self.compare(c, other));
            }
            8 => {
                // Division distinguishes zeros of different sign.
                let over = self.any();
                let reciprocal = self.add(Op::Div(over, of));
                let root = if self.random.below(2) == 0 { of } else { reciprocal };
                let twin = self.twin(root);
                return Claim::Always(self.compare(root, twin));
            }
            9 => {
                // The claim does not apply if a substituted value lies outside the domain.
                let quantity = self.random.below(self.world.members.len());
                let new = self.number();
                self.world.substituted.push((quantity, new));
                self.world.graph.substitute(of, &[(quantity, new)])
            }
            6 | 7 | 14 | 18 | 19 => {
                // A difference compared with 0, a quotient with 1, under an assumption.
                let (mut p, mut q) = (self.any(), self.any());
                if self.random.below(3) == 0 {
                    // An order without a premise.
                    let two = self.world.graph.number(2.0);
                    q = self.add(Op::Div(p, two));
                    if self.random.below(2) == 0 {
                        (p, q) = (q, p);
                    }
                }
                let premise = self.compare(p, q);
                let (zero, one) = (self.world.graph.number(0.0), self.world.graph.number(1.0));
                let (difference, quotient) = (self.add(Op::Sub(p, q)), self.add(Op::Div(p, q)));
                let claim = if self.random.below(2) == 0 {
                    self.compare(difference, zero)
                } else {
                    self.compare(quotient, one)
                };
                let not = self.add(Op::Not(premise));
                return Claim::Always(self.add(Op::Or(not, claim)));
            }
            0 => {
                let pick = self.any();
                self.add(Op::Min(of, pick))
            }
            1 if self.random.below(3) == 0 => {
                let (base, exponent, one) = (self.any(), self.any(), self.world.graph.number(1.0));
                let larger = self.add(Op::Add(exponent, one));
                let (small, large) = (self.add(Op::Pow(base, exponent)), self.add(Op::Pow(base, larger)));
                return Claim::Always(self.add(Op::LessEqual(small, large)));
            }
            1 => self.any(),
            2 => {
                let (factor, like) = (self.random.below(3), self.relative(of));
                let factor = self.world.graph.number([2.0, 0.5, 4.0][factor]);
                if self.random.below(2) == 0 {
                    self.add(Op::Mul(factor, like))
                } else {
                    self.add(Op::Div(like, factor))
                }
            }
            3 => {
                // A product or quotient in another order, with some margin.
                let (p, q) = (self.any(), self.any());
                let room = self.world.graph.number([1.0, 1.25, 1.5, 2.0][self.random.below(4)]);
                if self.random.below(2) == 0 {
                    let quotient = self.add(Op::Div(of, p));
                    let back = self.add(Op::Mul(q, p));
                    let wide = self.add(Op::Mul(back, room));
                    let premise = self.add(Op::LessEqual(quotient, q));
                    let not = self.add(Op::Not(premise));
                    let claim = self.add(Op::LessEqual(of, wide));
                    return Claim::Always(self.add(Op::Or(not, claim)));
                }
                let there = self.add(Op::Mul(of, p));
                let back = self.add(Op::Div(there, p));
                let wide = self.add(Op::Mul(of, room));
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

impl<const E: i32, const M: i32> World<Small<E, M>> {
    /// The world in f64: for each domain its limits, its zeros and random values between members.
    fn widened(self, random: &mut Random) -> World<f64> {
        let quantities = self.members.iter().zip(&self.whole);
        let members = quantities.map(|(members, &whole)| {
            let mut wide: Vec<f64> = members.iter().map(|member| member.to_f64()).collect();
            for i in 1..wide.len().saturating_sub(1) {
                let (low, high) = (wide[i], wide[i + 1]);
                if !whole && low != 0.0 {
                    let width = key(high).abs_diff(key(low)).max(1);
                    wide[i] = unkey(key(low) + (random.next() % width) as i64);
                }
            }
            wide
        });
        World {
            members: members.collect(),
            graph: self.graph,
            whole: self.whole,
            substituted: self.substituted,
            required: self.required,
            assumed: self.assumed,
        }
    }
}

impl World<f64> {
    /// A claim about this world as a problem for the checker.
    fn problem(&self, claim: Claim) -> Problem {
        let quantities = self.whole.iter().enumerate().map(|(index, &whole)| {
            let Range { low, high, .. } = self.domain(index);
            Domain { name: format!("q{index}"), low, high, whole }
        });
        let indices = |ids: &[Id]| ids.iter().map(|id| id.index()).collect::<Vec<_>>();
        let claim = match claim {
            Claim::Always(condition) => roofline_checker::Claim::Always {
                condition: condition.index(),
                given: self.substituted.iter().map(|&(quantity, node)| (node.index(), quantity)).collect(),
                required: indices(&self.assumed),
            },
            Claim::Monotone { of, increasing, quantity, within } => {
                roofline_checker::Claim::Monotone { of: of.index(), increasing, quantity, within }
            }
        };
        Problem {
            contract: String::new(),
            sha256: String::new(),
            quantities: quantities.collect(),
            nodes: operations(&self.graph),
            requires: indices(&self.required),
            obligations: vec![ProofObligation { id: "claim".into(), sha256: String::new(), claim }],
        }
    }

    /// The steps of a proof, if the checker accepts it.
    fn accepted(&self, claim: Claim) -> Option<Vec<Step>> {
        let certificate = certificate(self.problem(claim));
        let verdicts = check(&certificate.about, &certificate).expect("it is about the claim");
        verdicts[0].is_ok().then(|| [certificate.steps, certificate.proofs[0].steps.clone()].concat())
    }
}

/// Number of claims per format, enough to use every rule; `ROOFLINE_CLAIMS` overrides it.
const CLAIMS: usize = 1_000;

/// The number of claims in this run and the first seed; a longer run uses other seeds.
fn effort() -> (usize, u64) {
    let asked = std::env::var("ROOFLINE_CLAIMS").ok().and_then(|claims| claims.parse().ok());
    asked.map_or((CLAIMS, 0), |claims| (claims, 1000))
}

fn count(steps: &[Step], rules: &mut BTreeMap<Rule, usize>) {
    for step in steps {
        *rules.entry(step.rule).or_default() += 1;
        step.cases.iter().for_each(|case| count(&case.steps, rules));
    }
}

/// Generates random claims and calls `check` with the number, the world and the claim.
fn campaign<const E: i32, const M: i32>(
    seed: u64,
    claims: usize,
    mut check: impl FnMut(usize, World<Small<E, M>>, Claim),
) {
    let mut random = Random(seed);
    for number in 0..claims {
        let mut maker = Maker::<Small<E, M>>::new(&mut random, 24);
        let claim = maker.claim();
        maker.require(seed << 32 | number as u64);
        check(number, maker.world, claim);
    }
}

fn accepted_claims_hold<const E: i32, const M: i32>(seed: u64, claims: usize) -> BTreeMap<Rule, usize> {
    let (mut rules, mut random) = (BTreeMap::new(), Random(seed));
    campaign::<E, M>(seed, claims, |number, world, claim| {
        let world = world.widened(&mut random);
        let Some(steps) = world.accepted(claim) else { return };
        count(&steps, &mut rules);
        assert!(
            world.holds(claim),
            "E{E}M{M}, claim {number} is accepted but false: {claim:?}\n{:?}\n{:?}",
            world.graph.ops(),
            world.problem(claim).quantities,
        );
    });
    rules
}

#[test]
fn accepted_claims_are_true_at_every_point_tried() {
    let (claims, seed) = effort();
    let parts = [
        accepted_claims_hold::<4, 3>(seed + 1, claims),
        accepted_claims_hold::<5, 2>(seed + 2, claims),
        accepted_claims_hold::<3, 5>(seed + 3, claims),
        accepted_claims_hold::<4, 6>(seed + 4, claims),
    ];
    use Rule::*;
    let all = [
        Operation,
        Meet,
        Widen,
        Narrow,
        Gap,
        Apart,
        Trans,
        Monotone,
        Choice,
        Beside,
        Reals,
        Whole,
        Inward,
        Multiple,
        Decide,
        Order,
        Part,
        Ratio,
        RatioScale,
        RatioTrans,
        RatioOf,
        RatioLe,
        Contradiction,
        Cases,
    ];
    let used = |rule: &Rule| parts.iter().any(|rules| rules.contains_key(rule));
    let idle: Vec<&Rule> = all.iter().filter(|rule| !used(rule)).collect();
    assert!(idle.is_empty(), "rules not used by any claim: {idle:?}");
}

fn ranges_hold<const E: i32, const M: i32>(seed: u64, claims: usize) {
    campaign::<E, M>(seed, claims, |number, world, _| {
        let domains: Vec<_> = (0..world.members.len()).map(|quantity| world.domain(quantity)).collect();
        let ranges = range::all(&world.graph, &domains, &world.required);
        let truth = Small::<E, M>::from_f64(1.0);
        let mut outside = None;
        world.everywhere(|point, values| {
            if world.required.iter().all(|id| values[id.index()] == truth) {
                let within = |(range, &value): (&Range<Small<E, M>>, &Small<E, M>)| {
                    if value.is_nan() { range.nan } else { range.low <= value && value <= range.high }
                };
                let found = ranges.iter().zip(values).position(|pair| !within(pair));
                outside = found.map(|node| (node, point.to_vec()));
            }
            outside.is_none()
        });
        assert!(outside.is_none(), "E{E}M{M}, claim {number}: {outside:?}\n{:?}", world.graph.ops());
    });
}

#[test]
fn ranges_hold_at_every_point_of_tiny_floats() {
    let (claims, seed) = effort();
    ranges_hold::<4, 3>(seed + 1, claims);
    ranges_hold::<5, 2>(seed + 2, claims);
    ranges_hold::<3, 5>(seed + 3, claims);
    ranges_hold::<4, 6>(seed + 4, claims);
}

#[test]
fn zeros_of_different_sign_differ_only_as_divisors() {
    for (op, other) in [(Op::Min as fn(Id, Id) -> Op, "min"), (Op::Max, "max"), (Op::Mul, "product")] {
        let mut graph = Graph::default();
        let (a, b) = (graph.add(Op::Quantity(0)), graph.add(Op::Quantity(1)));
        let (one, zero) = (graph.number(1.0), graph.number(-0.0));
        let (p, q) = (graph.add(op(a, b)), graph.add(op(b, a)));
        let substituted = graph.add(Op::Add(p, zero));
        let same = graph.add(Op::Equal(p, q));
        let (over_p, over_q) = (graph.add(Op::Div(one, p)), graph.add(Op::Div(one, q)));
        let differ = graph.add(Op::Equal(over_p, over_q));
        let through_a_sum = {
            let sum = graph.add(Op::Add(q, zero));
            let under = (graph.add(Op::Div(one, substituted)), graph.add(Op::Div(one, sum)));
            graph.add(Op::Equal(under.0, under.1))
        };
        let alike = {
            let (twice, twice_q) = (graph.add(Op::Add(p, p)), graph.add(Op::Add(q, q)));
            let (x, y) = (graph.add(Op::Div(twice, p)), graph.add(Op::Div(twice_q, p)));
            graph.add(Op::Equal(x, y))
        };
        let members = vec![-0.0, 0.0, f64::MIN_POSITIVE, 0.3, 1.0];
        let world = World {
            graph,
            members: vec![members.clone(), members],
            whole: vec![false; 2],
            substituted: vec![],
            required: vec![],
            assumed: vec![],
        };
        assert!(world.accepted(Claim::Always(same)).is_some(), "{other}");
        for claim in [differ, through_a_sum, alike].map(Claim::Always) {
            assert!(world.holds(claim) || world.accepted(claim).is_none(), "{other}: {claim:?}");
        }
    }
}
