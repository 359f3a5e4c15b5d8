//! What must hold for any bytes at all: the compiler answers, its messages point into the text, and what it accepts
//! becomes Rust that parses, evaluates, and is as its proofs say. Shared by the fuzz targets and the replay of their corpus.

#![allow(dead_code, reason = "each fuzz target uses one of these")]

use std::ops::Range;

use roofline_contracts::certify::judge;
use roofline_contracts::contract::{Claim, Contract, Verdict};
use roofline_contracts::domain::Domain;
use roofline_contracts::eval::{Evaluator, evaluate};
use roofline_contracts::formula::{Formula, Statement};
use roofline_contracts::report::Diagnostic;
use roofline_contracts::sample::{self, Random};
use roofline_contracts::source::{Source, Span};
use roofline_contracts::unit::Unit;
use roofline_contracts::{check_in, emit};

/// How many points a contract is evaluated at.
const POINTS: usize = 8;
/// The largest contract whose obligations are tried; a search for a counterexample takes its time.
const MAX_PROVEN: usize = 100;

/// A whole contract.
pub fn contract(data: &[u8]) {
    let Ok(source) = Source::from_bytes("fuzz-v1.yaml", data.to_vec()) else { return };
    let compiled = check_in(source, None);
    for diagnostic in &compiled.diagnostics {
        assert!(!diagnostic.render(&compiled.source).is_empty());
    }
    let Some(contract) = &compiled.contract else { return };
    let tokens = emit::rust::items(contract, &[]);
    if let Err(error) = syn::parse2::<syn::File>(tokens.clone()) {
        panic!("the generated Rust does not parse: {error}\n{tokens}");
    }
    let points: Vec<Vec<f64>> = sample::points(contract, 1).take(POINTS).collect();
    for point in &points {
        assert!(evaluate(contract, point).is_ok(), "{point:?} is outside the domains it was taken from");
    }
    if contract.obligations.len() <= 2 && contract.graph.ops().len() <= MAX_PROVEN {
        proofs(contract, &points);
    }
}

/// Proven obligations are true at these points.
fn proofs(contract: &Contract, points: &[Vec<f64>]) {
    for (obligation, proof) in contract.obligations.iter().zip(judge(contract)) {
        let Claim::Always(claim) = obligation.claim else { continue };
        if proof.verdict != Verdict::Proven || !obligation.substituted.is_empty() {
            continue;
        }
        let mut evaluator = Evaluator::new(&contract.graph, &[claim]);
        for point in points {
            let value = evaluator.run(point).value(claim).truth();
            assert!(value, "`{}` is proven, but false at {point:?}", obligation.formula);
        }
    }
}

/// A formula, alone or as a statement; its canonical form reads back as itself, unless the parentheses that it needs nest
/// too deep.
pub fn formula(data: &[u8]) {
    let Ok(source) = Source::from_bytes("formula", data.to_vec()) else { return };
    let text = source.whole();
    if let Err(error) = Statement::parse(&text) {
        shown(&source, error.span, &error.message);
    }
    match Formula::parse(&text) {
        Ok(formula) => {
            let printed = formula.to_string();
            let again = Source::from_bytes("printed", printed.clone().into_bytes()).expect("not too large");
            match Formula::parse(&again.whole()) {
                Ok(again) => assert_eq!(again.to_string(), printed),
                Err(error) => {
                    assert!(error.message.contains("nested deeper"), "`{printed}` does not parse: {error:?}");
                }
            }
        }
        Err(error) => shown(&source, error.span, &error.message),
    }
}

/// A unit.
pub fn unit(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    match Unit::parse(text) {
        Ok(unit) => {
            assert!(!unit.to_string().is_empty());
            assert_eq!(unit.times(Unit::ONE), Some(unit));
            assert!(unit.same_dimension(unit));
        }
        Err(error) => within(text, error.range),
    }
}

/// A domain, which is never empty.
pub fn domain(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    match Domain::parse(text) {
        Ok(domain) => {
            assert!(domain.low.is_finite() && domain.high.is_finite(), "{domain:?}");
            assert!(domain.contains(domain.low) && domain.contains(domain.high), "{domain:?}");
            let any = sample::uniform(&domain, &mut Random(1));
            assert!(domain.contains(any), "{any} is not in {domain:?}");
            assert!(sample::special(&domain).iter().all(|value| domain.contains(*value)), "{domain:?}");
            assert_eq!(Domain::parse(&domain.to_string()), Ok(domain));
        }
        Err(error) => within(text, error.range),
    }
}

fn shown(source: &Source, span: Span, message: &str) {
    within(&source.text, span.start..span.end);
    assert!(!Diagnostic::error(span, message.to_owned()).render(source).is_empty());
}

fn within(text: &str, range: Range<usize>) {
    assert!(text.get(range.clone()).is_some(), "{range:?} is not a part of {text:?}");
}
