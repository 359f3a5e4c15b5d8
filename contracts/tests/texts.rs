//! Snapshots of parsed formulas, units and domains: for each text its canonical form, or its error and the place of the error.

use std::fmt::Write;
use std::ops::Range;

use roofline_contracts::domain::Domain;
use roofline_contracts::formula::{Formula, FormulaError, Statement, respace};
use roofline_contracts::source::Source;
use roofline_contracts::unit::Unit;

/// Adds a text and its canonical form, or the error with its place marked.
fn entry(table: &mut String, text: &str, read: Result<String, (Range<usize>, String)>) {
    let _ = writeln!(table, "{text}");
    let _ = match read {
        Ok(read) => writeln!(table, "= {read}"),
        Err((range, said)) => {
            let before = text[..range.start].chars().count();
            let marked = text[range].chars().count().max(1);
            writeln!(table, "{}{} {said}", " ".repeat(before), "^".repeat(marked))
        }
    };
}

/// The texts of a file, one per line, and blank texts; `// ` starts a comment.
fn texts(file: &str) -> impl Iterator<Item = &str> {
    file.lines().filter(|line| !line.starts_with("// ")).chain(["", "  "])
}

fn said(message: &str, note: &str) -> String {
    if note.is_empty() { message.to_owned() } else { format!("{message}; {note}") }
}

fn wrong(error: FormulaError) -> (Range<usize>, String) {
    (error.span.start..error.span.end, said(&error.message, &error.note))
}

#[test]
fn formulas_are_parsed() {
    let mut table = String::new();
    for text in texts(include_str!("texts/formulas.txt")) {
        let source = Source::from_bytes("formula", text.as_bytes().to_vec()).unwrap();
        let read = Formula::parse(&source.whole());
        if let Ok(formula) = &read {
            let canonical = formula.to_string();
            let again = Source::from_bytes("formula", canonical.clone().into_bytes()).unwrap();
            assert_eq!(Formula::parse(&again.whole()).unwrap().to_string(), canonical, "{text}");
        }
        entry(&mut table, text, read.map(|formula| formula.to_string()).map_err(wrong));
    }
    insta::assert_snapshot!(table);
}

#[test]
fn every_node_of_a_formula_has_its_span() {
    let mut table = String::new();
    for text in [
        "not a < b and c is Big",
        "-a * -b^-2 - (c + 1e9 [B/GB]) / d",
        "if a then min( b , c ) else f(q: g, r: (h))",
        "(((a))) + floor( b )",
        "kind == \"gpu\" implies given( memory )",
        "a / b increasing in c",
    ] {
        let source = Source::from_bytes("formula", text.as_bytes().to_vec()).unwrap();
        let formula = Formula::parse(&source.whole()).unwrap_or_else(|error| panic!("{text}: {error:?}"));
        let parts = formula.nodes.iter().map(|node| format!("`{}`", &text[node.span.start..node.span.end]));
        let _ = writeln!(table, "{text}\n= {}", parts.collect::<Vec<_>>().join(", "));
    }
    insta::assert_snapshot!(table);
}

#[test]
fn too_deep_nesting_is_marked_at_the_limit() {
    let deepest = |text: &str| {
        let source = Source::from_bytes("formula", text.as_bytes().to_vec()).unwrap();
        Formula::parse(&source.whole()).map(|_| ()).map_err(wrong)
    };
    let parentheses = |count: usize| format!("{}a{}", "(".repeat(count), ")".repeat(count));
    let sum = |count: usize| format!("a{}", " + a".repeat(count));
    let said = "the formula is nested deeper than 200 levels; split it into several equations";
    assert_eq!(deepest(&parentheses(199)), Ok(()));
    assert_eq!(deepest(&parentheses(200)), Err((200..201, said.to_owned())));
    assert_eq!(deepest(&sum(199)), Ok(()));
    assert_eq!(deepest(&sum(200)), Err((0..1, said.to_owned())));
}

#[test]
fn statements_are_parsed() {
    let mut table = String::new();
    for text in [
        "a + b",
        "y = a + b",
        "y <= min(a, b)",
        "y ≤ a",
        "y < a",
        "y == a",
        "2 = a",
        "y = ",
        "y = a = b",
        "min = a",
        "a + b <= c",
    ] {
        let source = Source::from_bytes("statement", text.as_bytes().to_vec()).unwrap();
        let read = Statement::parse(&source.whole());
        let shown = |statement: Statement| {
            let Statement { left, bound, formula } = statement;
            let left = left.map_or("-".to_owned(), |(name, _)| name);
            format!("{left}, bound {bound}: {formula}")
        };
        entry(&mut table, text, read.map(shown).map_err(wrong));
    }
    insta::assert_snapshot!(table);
}

#[test]
fn white_space_is_normalized() {
    let mut table = String::new();
    for text in [
        "a+b*c",
        "  ( a+b ) *-c ",
        "- a ^ - 2",
        "a- -b",
        "if(a<b)then(-c)else d",
        "not(a and(b))",
        "min ( a ,b )",
        "f( q :-q )",
        "y=-a",
        "1e9[ B/GB ]",
        "1 [B / ( s * s )]",
        "1.50 + 1e+3",
        "a≤b",
        "a $ b",
        "is Fast",
        "speed is Fast and a implies -b",
    ] {
        let source = Source::from_bytes("formula", text.as_bytes().to_vec()).unwrap();
        entry(&mut table, text, Ok(respace(&source.whole()).unwrap_or("no formula".into())));
    }
    insta::assert_snapshot!(table);
}

#[test]
fn units_are_parsed() {
    let mut table = String::new();
    for text in texts(include_str!("texts/units.txt")) {
        let read = Unit::parse(text)
            .map(|unit| unit.to_string())
            .map_err(|error| (error.range, said(&error.message, &error.note)));
        entry(&mut table, text, read);
    }
    insta::assert_snapshot!(table);
}

#[test]
fn only_the_nesting_of_parentheses_in_a_unit_is_limited() {
    let nested = |depth: usize| format!("{}s{}", "(".repeat(depth), ")".repeat(depth));
    assert_eq!(Unit::parse(&nested(16)).map(|unit| unit.to_string()), Ok("s".to_owned()));
    let error = Unit::parse(&nested(17)).unwrap_err();
    assert_eq!(
        (error.range, error.message.as_str()),
        (16..17, "parentheses in a unit are nested too deeply")
    );
    let sequence = ["(s)"; 40].join("*");
    assert_eq!(Unit::parse(&sequence).map(|unit| unit.to_string()), Ok("s^40".to_owned()));
}

#[test]
fn domains_are_parsed() {
    let mut table = String::new();
    for text in texts(include_str!("texts/domains.txt")) {
        let read = Domain::parse(text)
            .map(|domain| {
                let Domain { low, high, integer, ref set, .. } = domain;
                format!("{domain}, from {low:?} to {high:?}, integer {integer}, set {set:?}")
            })
            .map_err(|error| (error.range, error.message));
        entry(&mut table, text, read);
    }
    insta::assert_snapshot!(table);
}
