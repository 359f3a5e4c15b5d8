//! Obligations as SMT-LIB 2 in the logic QF_FP, so that a solver can confirm verdicts independently.
//!
//! The script asserts the domains and the negation of the claim, so `unsat` means that the claim holds. Monotonicity
//! compares two rounded results, which solvers cannot decide in practice: each rounded operation becomes a free value,
//! constrained by its range and by the lemma that it is monotone, and the solver checks that the lemmas compose. Other
//! claims have a second form with unconstrained rounded operations, which is fast and suffices if only the order of
//! values matters.

use std::collections::HashMap;
use std::fmt::Write;

use crate::contract::{Claim, Contract, Obligation};
use crate::domain::Domain;
use crate::graph::{Graph, Id, Op};
use crate::range::Range;

/// Maximum constant exponent, which is expanded to products.
const MAX_EXPONENT: f64 = 64.0;

/// A script for a solver.
#[derive(Clone, Debug, PartialEq)]
pub struct Script {
    /// SMT-LIB 2.
    pub text: String,
    /// Rounded operations are abstracted, so `sat` does not refute the claim.
    pub weaker: bool,
}

/// A number, exactly.
fn number(value: f64) -> String {
    let bits = value.to_bits();
    format!("(fp #b{:01b} #b{:011b} #b{:052b})", bits >> 63, (bits >> 52) & 0x7ff, bits & ((1 << 52) - 1))
}

fn domain(value: &str, domain: &Domain) -> String {
    if !domain.set.is_empty() {
        let members: Vec<String> =
            domain.set.iter().map(|&m| format!("(fp.eq {value} {})", number(m))).collect();
        return if members.len() == 1 { members.concat() } else { format!("(or {})", members.join(" ")) };
    }
    let whole = format!(" (fp.eq {value} (fp.roundToIntegral RNE {value}))");
    let whole = if domain.integer { whole.as_str() } else { "" };
    format!("(and (fp.leq {} {value}) (fp.leq {value} {}){whole})", number(domain.low), number(domain.high))
}

struct Writer<'a> {
    contract: &'a Contract,
    out: String,
}

/// The scripts for an obligation, fastest first, or the reason that there are none. One `unsat` suffices.
pub fn scripts(
    contract: &Contract,
    ranges: &[Range],
    obligation: &Obligation,
) -> Result<Vec<Script>, String> {
    let Claim::Always(claim) = obligation.claim else {
        return Ok(vec![monotone(contract, ranges, obligation)?]);
    };
    let order = always(contract, Some(ranges), obligation, claim)?;
    Ok(vec![order, always(contract, None, obligation, claim)?])
}

/// Starts a script with its header.
fn start<'a>(contract: &'a Contract, obligation: &Obligation) -> Writer<'a> {
    let (id, formula, source) = (&obligation.id, &obligation.formula, &contract.source);
    let mut out = format!("; {id}: {formula}\n; {}, SHA-256 {}\n", source.name, source.sha256);
    out += "; unsat: it holds at every point of the domains\n";
    out += "(set-logic QF_FP)\n(define-sort D () (_ FloatingPoint 11 53))\n";
    Writer { contract, out }
}

/// The exact claim; with `free`, rounded operations are unconstrained and NaN only if their range contains it.
fn always(
    contract: &Contract,
    free: Option<&[Range]>,
    obligation: &Obligation,
    claim: Id,
) -> Result<Script, String> {
    let mut writer = start(contract, obligation);
    let mut roots: Vec<Id> = obligation.substituted.iter().map(|(_, id)| *id).collect();
    let assumed = [&contract.required(), &obligation.assumed[..]].concat();
    roots.extend(&assumed);
    roots.push(claim);
    for id in contract.graph.cone(&roots, usize::MAX).unwrap_or_default() {
        match (contract.graph.op(id), free) {
            (Op::Add(..) | Op::Sub(..) | Op::Mul(..) | Op::Div(..), Some(ranges)) => {
                let nan = ranges[id.index()].nan;
                writer.free(
                    &format!("n{}", id.index()),
                    Range { low: f64::NEG_INFINITY, high: f64::INFINITY, nan },
                );
            }
            _ => writer.exact(id)?,
        }
    }
    for &(quantity, id) in &obligation.substituted {
        let inside = domain(&format!("n{}", id.index()), &contract.quantities[quantity].domain);
        let _ = writeln!(writer.out, "(assert {inside})");
    }
    for id in assumed {
        let _ = writeln!(writer.out, "(assert n{})", id.index());
    }
    let _ = writeln!(writer.out, "(assert (not n{}))\n(check-sat)", claim.index());
    Ok(Script { text: writer.out, weaker: free.is_some() })
}

fn monotone(contract: &Contract, ranges: &[Range], obligation: &Obligation) -> Result<Script, String> {
    let Claim::Monotone { of, increasing, quantity, within } = obligation.claim else {
        return Err("not a monotonicity claim".into());
    };
    let mut writer = start(contract, obligation);
    writer.monotone(&[&contract.required()[..], &[of]].concat(), ranges, quantity)?;
    let (a, b) = if increasing { ("a", "b") } else { ("b", "a") };
    let (first, second) = (format!("{a}{}", of.index()), format!("{b}{}", of.index()));
    let limit = match within {
        0.0 => second,
        _ => format!("(fp.add RNE {second} (fp.mul RNE (fp.abs {second}) {}))", number(within)),
    };
    let _ = writeln!(writer.out, "(assert (not (fp.leq {first} {limit})))\n(check-sat)");
    Ok(Script { text: writer.out, weaker: true })
}

impl Writer<'_> {
    fn quantity(&mut self, name: &str, quantity: usize) {
        let domain = domain(name, &self.contract.quantities[quantity].domain);
        let _ = writeln!(self.out, "(declare-const {name} D) ; {}", self.contract.quantities[quantity].name);
        let _ = writeln!(self.out, "(assert {domain})");
    }

    /// Defines a node by its operation.
    fn exact(&mut self, id: Id) -> Result<(), String> {
        let name = |id: Id| format!("n{}", id.index());
        match self.contract.graph.op(id) {
            Op::Quantity(quantity) => self.quantity(&name(id), quantity),
            op => {
                let (sort, term) = term(&self.contract.graph, op, name)?;
                let _ = writeln!(self.out, "(define-fun {} () {sort} {term})", name(id));
            }
        }
        Ok(())
    }

    /// Defines two copies, `a` and `b`, of everything that depends on the quantity, whose value in `a` is at most that in `b`.
    fn monotone(&mut self, roots: &[Id], ranges: &[Range], quantity: usize) -> Result<(), String> {
        let graph = &self.contract.graph;
        let required = self.contract.required();
        let mut moving: HashMap<Id, bool> = HashMap::new();
        let mut names: [HashMap<Id, String>; 2] = Default::default();
        for id in graph.cone(roots, usize::MAX).unwrap_or_default() {
            let op = graph.op(id);
            let moves = op == Op::Quantity(quantity) || op.operands().any(|operand| moving[&operand]);
            moving.insert(id, moves);
            for (names, prefix) in names.iter_mut().zip(["a", "b"]) {
                names.insert(id, format!("{}{}", if moves { prefix } else { "n" }, id.index()));
            }
            let (a, b) = (names[0][&id].clone(), names[1][&id].clone());
            match op {
                Op::Quantity(index) if moves => {
                    self.quantity(&a, index);
                    self.quantity(&b, index);
                    let _ = writeln!(self.out, "(assert (fp.leq {a} {b}))");
                }
                _ if !moves => self.still(id, ranges)?,
                Op::Add(..) | Op::Sub(..) | Op::Mul(..) | Op::Div(..) => {
                    let range = ranges[id.index()];
                    for name in [&a, &b] {
                        self.free(name, range);
                    }
                    for lemma in lemmas(op, [&a, &b], &names) {
                        let _ = writeln!(self.out, "(assert {lemma})");
                    }
                }
                _ => {
                    for (name, names) in [(&a, &names[0]), (&b, &names[1])] {
                        let (sort, term) = term(graph, op, |id| names[&id].clone())?;
                        let _ = writeln!(self.out, "(define-fun {name} () {sort} {term})");
                    }
                }
            }
            if required.contains(&id) {
                let _ = writeln!(self.out, "(assert (and {a} {b}))");
            }
        }
        Ok(())
    }

    /// A node that does not depend on the quantity: only its range matters, unless it is a leaf or a condition.
    fn still(&mut self, id: Id, ranges: &[Range]) -> Result<(), String> {
        match self.contract.graph.op(id) {
            Op::Add(..) | Op::Sub(..) | Op::Mul(..) | Op::Div(..) => {
                self.free(&format!("n{}", id.index()), ranges[id.index()]);
                Ok(())
            }
            _ => self.exact(id),
        }
    }

    fn free(&mut self, name: &str, range: Range) {
        let _ = writeln!(self.out, "(declare-const {name} D)");
        if !range.nan {
            let (low, high) = (number(range.low), number(range.high));
            let _ = writeln!(self.out, "(assert (and (fp.leq {low} {name}) (fp.leq {name} {high})))");
        }
    }
}

/// The monotonicity lemmas of an operation at two points, in both directions.
fn lemmas(op: Op, result: [&str; 2], names: &[HashMap<Id, String>; 2]) -> Vec<String> {
    let zero = number(0.0);
    let mut found = Vec::new();
    for (i, j) in [(0, 1), (1, 0)] {
        let at = |id: Id| (names[i][&id].as_str(), names[j][&id].as_str());
        let then = format!("(fp.leq {} {})", result[i], result[j]);
        let premises: Vec<String> = match op {
            Op::Add(p, q) => {
                let ((p1, p2), (q1, q2)) = (at(p), at(q));
                vec![format!("(fp.leq {p1} {p2}) (fp.leq {q1} {q2})")]
            }
            Op::Sub(p, q) => {
                let ((p1, p2), (q1, q2)) = (at(p), at(q));
                vec![format!("(fp.leq {p1} {p2}) (fp.leq {q2} {q1})")]
            }
            // p1 * q1 <= p2 * q1 <= p2 * q2
            Op::Mul(p, q) => {
                let ((p1, p2), (q1, q2)) = (at(p), at(q));
                vec![
                    format!(
                        "(fp.leq {p1} {p2}) (fp.leq {q1} {q2}) (fp.leq {zero} {q1}) (fp.leq {zero} {p2})"
                    ),
                    format!("(fp.leq {p2} {p1}) (fp.eq {q1} {q2}) (fp.leq {q1} {zero})"),
                    format!("(fp.eq {p1} {p2}) (fp.leq {q2} {q1}) (fp.leq {p1} {zero})"),
                ]
            }
            // p1 / q1 <= p2 / q1 <= p2 / q2
            Op::Div(p, q) => {
                let ((p1, p2), (q1, q2)) = (at(p), at(q));
                vec![
                    format!("(fp.leq {p1} {p2}) (fp.leq {q2} {q1}) (fp.lt {zero} {q2}) (fp.leq {zero} {p2})"),
                    format!("(fp.leq {p1} {p2}) (fp.eq {q1} {q2}) (fp.lt {zero} {q1})"),
                    format!("(fp.eq {p1} {p2}) (fp.leq {q1} {q2}) (fp.lt {zero} {q1}) (fp.leq {p1} {zero})"),
                ]
            }
            _ => vec![],
        };
        found.extend(premises.into_iter().map(|premise| format!("(=> (and {premise}) {then})")));
    }
    found
}

fn term(graph: &Graph, op: Op, at: impl Fn(Id) -> String) -> Result<(&'static str, String), String> {
    let rounded = |name: &str, a: Id, b: Id| ("D", format!("({name} RNE {} {})", at(a), at(b)));
    Ok(match op {
        Op::Number(bits) => ("D", number(f64::from_bits(bits))),
        Op::Quantity(_) => return Err("a quantity is not a term".into()),
        Op::Neg(a) => ("D", format!("(fp.neg {})", at(a))),
        Op::Add(a, b) => rounded("fp.add", a, b),
        Op::Sub(a, b) => rounded("fp.sub", a, b),
        Op::Mul(a, b) => rounded("fp.mul", a, b),
        Op::Div(a, b) => rounded("fp.div", a, b),
        Op::Min(a, b) => ("D", format!("(ite (fp.lt {0} {1}) {0} {1})", at(a), at(b))),
        Op::Max(a, b) => ("D", format!("(ite (fp.gt {0} {1}) {0} {1})", at(a), at(b))),
        Op::Floor(a) => ("D", format!("(fp.roundToIntegral RTN {})", at(a))),
        Op::Ceil(a) => ("D", format!("(fp.roundToIntegral RTP {})", at(a))),
        Op::Sqrt(a) => ("D", format!("(fp.sqrt RNE {})", at(a))),
        Op::Abs(a) => ("D", format!("(fp.abs {})", at(a))),
        Op::Pow(a, b) => {
            let exponent = match graph.op(b) {
                Op::Number(bits) => f64::from_bits(bits),
                _ => f64::INFINITY,
            };
            if exponent > MAX_EXPONENT || exponent.is_nan() {
                return Err("a power whose exponent is not a small constant has no SMT-LIB form".into());
            }
            let product = (0..exponent.max(0.0) as u32)
                .fold(number(1.0), |product, _| format!("(fp.mul RNE {product} {})", at(a)));
            ("D", product)
        }
        Op::If(c, a, b) => ("D", format!("(ite {} {} {})", at(c), at(a), at(b))),
        Op::Bool(value) => ("Bool", value.to_string()),
        Op::Less(a, b) => ("Bool", format!("(fp.lt {} {})", at(a), at(b))),
        Op::LessEqual(a, b) => ("Bool", format!("(fp.leq {} {})", at(a), at(b))),
        Op::Equal(a, b) => ("Bool", format!("(fp.eq {} {})", at(a), at(b))),
        Op::And(a, b) => ("Bool", format!("(and {} {})", at(a), at(b))),
        Op::Or(a, b) => ("Bool", format!("(or {} {})", at(a), at(b))),
        Op::Not(a) => ("Bool", format!("(not {})", at(a))),
        Op::Iff(a, b) => ("Bool", format!("(= {} {})", at(a), at(b))),
        Op::Finite(a) => ("Bool", format!("(not (or (fp.isInfinite {0}) (fp.isNaN {0})))", at(a))),
    })
}
