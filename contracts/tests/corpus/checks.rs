//! Checks for arbitrary bytes: the compiler terminates, diagnostics point into the text, and accepted contracts generate valid
//! Rust, evaluate, and satisfy their proofs. Shared by the fuzz targets and the replay of their corpus.

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

/// Number of points at which a contract is evaluated.
const POINTS: usize = 8;
/// Maximum number of nodes of a contract whose obligations are proven, because the search for counterexamples is slow.
const MAX_PROVEN: usize = 100;

/// Checks a contract.
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

/// Checks that proven obligations are true at these points.
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

/// Checks a formula and a statement; the canonical form must parse to itself, unless its parentheses are nested too
/// deeply.
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

/// Checks a unit.
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

/// Checks a domain, which is never empty.
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
    assert!(text.get(range.clone()).is_some(), "{range:?} is not in {text:?}");
}
