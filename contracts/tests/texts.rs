//! Formulas, units and domains as people write them, right and wrong: what each is read as, or what is said of it and
//! of which part. One table each, to review as a snapshot.

use std::fmt::Write;
use std::ops::Range;

use roofline_contracts::domain::Domain;
use roofline_contracts::formula::{Formula, FormulaError, Statement, respaced};
use roofline_contracts::source::Source;
use roofline_contracts::unit::Unit;

/// A text, and below it what it is read as, or the wrong part marked and what is said of it.
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

fn said(message: &str, note: &str) -> String {
    if note.is_empty() { message.to_owned() } else { format!("{message}; {note}") }
}

fn wrong(error: FormulaError) -> (Range<usize>, String) {
    (error.span.start..error.span.end, said(&error.message, &error.note))
}

const FORMULAS: &[&str] = &[
    "a + b - c",
    "a - (b - c)",
    "a - (b + c)",
    "(a - b) - c",
    "a / (b * c)",
    "a / (b / c)",
    "a / b / c",
    "a * (b / c)",
    "(a + b) * c",
    "a + (b * c)",
    "-a + b",
    "-(a + b)",
    "-(a * b)",
    "(-a) * b",
    "- -a",
    "a - -b",
    "(-a)^2",
    "-a^2",
    "a^-2",
    "a^(2)",
    "a^(-3)",
    "(a^2)^3",
    "(a * b)^2",
    "a^64",
    "a ≤ b",
    "a ≥ b and c ≠ d",
    "a × b · c ÷ d − e",
    "a or b and c",
    "(a or b) and c",
    "not a and b",
    "not (a and b)",
    "not (a < b)",
    "not not a",
    "a implies b implies c",
    "(a implies b) implies c",
    "a iff b iff c",
    "a iff (b iff c)",
    "(a < b) == (c < d)",
    "if a < b then c else d",
    "1 + if a < b then c else d + 1",
    "(if a < b then c else d) + 1",
    "if if a then b else c then d else e",
    "min(a, b, c)",
    "max(min(a, b), c)",
    "floor(a / b) + ceil(c)",
    "pow(a, n)",
    "finite(a)",
    "given(a)",
    "kind == \"gpu\"",
    "speed is Fast",
    "not speed is Fast",
    "f(q: 2 * q)",
    "f(q: 2 * q, r: 0)",
    "y increasing in x",
    "y decreasing in x",
    "a + b * c increasing in x",
    "min(a, b) / c decreasing in x",
    "a and b increasing in x",
    "1e9 [B/GB]",
    "1e9 [ B / GB ]",
    "1E3 + 1e+3 + 1e-3 + .5 + 5. + 0.1",
    "1000000 + 1e15 + 123456789 + 1e-9 + 0.000001",
    "12e+3 + 0.5e-3 + 0.5e3 + 123e2",
    "total_params_2",
    "größe * 2",
    // What is wrong with the letters.
    "",
    "   ",
    "a $ b",
    "a ∑ b",
    "a ** 2",
    "a && b",
    "a || b",
    "a = b",
    "1.2.3",
    "2x",
    "1e",
    "1e+",
    "1e400",
    "a [B]",
    "(a) [B]",
    "1 [B",
    "1 [B/",
    "1 [bogus]",
    "1 [B] [B]",
    "\"open",
    "a \"text\"",
    // What is wrong with the order.
    "a +",
    "+ a",
    "a b",
    "a 2",
    "(a",
    "a)",
    "(a + b c)",
    "()",
    "a + * b",
    "a < b < c",
    "a == b == c",
    "a < b == c",
    "a^2^3",
    "a^b",
    "a^2.5",
    "a^65",
    "a^-65",
    "a^(2",
    "a^",
    "a^-",
    "min(a)",
    "min()",
    "min",
    "min(a, b",
    "min(a b)",
    "min(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p)",
    "min(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q)",
    "floor(a, b)",
    "floor()",
    "pow(a)",
    "pow(a, b, c)",
    "sqrt(a)",
    "f(a)",
    "f(q: a",
    "f(q: a b)",
    "f(q a)",
    "f(q: a, b)",
    "f(min: a)",
    "if a then b",
    "if a else b",
    "if then a else b",
    "if a then b else",
    "speed is",
    "speed is if",
    "is Fast",
    "then",
    "a and",
    "not",
    "y increasing",
    "y increasing in",
    "y increasing x",
    "y increasing in 2",
    "(y increasing in x)",
    "a + (y increasing in x)",
    "min(y increasing in x, a)",
    "if y increasing in x then a else b",
    "-y increasing in x",
    "y increasing in x and a",
];

#[test]
fn formulas_are_read_as_they_should_be() {
    let mut table = String::new();
    for text in FORMULAS {
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
fn every_part_of_a_formula_knows_its_letters() {
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
fn a_formula_that_nests_too_deep_is_marked_where_it_does() {
    let deepest = |text: &str| {
        let source = Source::from_bytes("formula", text.as_bytes().to_vec()).unwrap();
        Formula::parse(&source.whole()).map(|_| ()).map_err(wrong)
    };
    let parentheses = |count: usize| format!("{}a{}", "(".repeat(count), ")".repeat(count));
    let sum = |count: usize| format!("a{}", " + a".repeat(count));
    let said = "the formula nests deeper than 200 levels; split it into several equations";
    assert_eq!(deepest(&parentheses(199)), Ok(()));
    assert_eq!(deepest(&parentheses(200)), Err((200..201, said.to_owned())));
    assert_eq!(deepest(&sum(199)), Ok(()));
    assert_eq!(deepest(&sum(200)), Err((0..1, said.to_owned())));
}

#[test]
fn statements_say_what_they_define() {
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
fn spaces_stand_where_they_belong() {
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
        entry(&mut table, text, Ok(respaced(&source.whole()).unwrap_or("no formula".into())));
    }
    insta::assert_snapshot!(table);
}

const UNITS: &[&str] = &[
    "1",
    "%",
    "B",
    "byte",
    "bit",
    "KiB",
    "MiB",
    "GiB",
    "TiB",
    "PiB",
    "kB",
    "GB/s",
    "GB / s",
    "B/s/s",
    "B/(s*s)",
    "B*s",
    "B·s",
    "B×s",
    "B÷s",
    "s^2",
    "s^-1",
    "(B/s)^2",
    "W*s",
    "kWh",
    "Wh",
    "J/token",
    "Hz",
    "GHz",
    "ms",
    "us",
    "µs",
    "ns",
    "ps",
    "fs",
    "min",
    "h",
    "Gflop/s",
    "Tflop",
    "Pop/s",
    "Eop",
    "token/s",
    "bit/param",
    "flop/param/token",
    "1/s",
    "1/1",
    "B/B",
    "bit/B",
    "1/ms",
    "1/us",
    "KiB/B",
    "MB/kB",
    "us/s",
    "h/min",
    "head*layer",
    "element",
    "block",
    "expert",
    "sequence",
    "sample",
    "cycle",
    "core",
    "M%",
    "",
    " ",
    "Kis",
    "kibit",
    "bogus",
    "GBs",
    "tokens",
    "Bytes",
    "sec",
    "B/",
    "/s",
    "B s",
    "B**s",
    "(B",
    "B)",
    "B^",
    "B^x",
    "B^-",
    "B^2.5",
    "B^99999999999",
    "B^100",
    "s^127*s^127",
    "2",
    "1000 B",
    "B^2^2",
    "m",
    "k",
    "GB//s",
    "EB^12",
];

#[test]
fn units_are_read_as_they_should_be() {
    let mut table = String::new();
    for text in UNITS {
        let read = Unit::parse(text)
            .map(|unit| unit.to_string())
            .map_err(|error| (error.range, said(&error.message, &error.note)));
        entry(&mut table, text, read);
    }
    insta::assert_snapshot!(table);
}

#[test]
fn parentheses_of_a_unit_nest_so_deep_and_stand_side_by_side_as_often_as_one_likes() {
    let nested = |depth: usize| format!("{}s{}", "(".repeat(depth), ")".repeat(depth));
    assert_eq!(Unit::parse(&nested(16)).map(|unit| unit.to_string()), Ok("s".to_owned()));
    let error = Unit::parse(&nested(17)).unwrap_err();
    assert_eq!((error.range, error.message.as_str()), (16..17, "too many parentheses in a unit"));
    let beside = ["(s)"; 40].join("*");
    assert_eq!(Unit::parse(&beside).map(|unit| unit.to_string()), Ok("s^40".to_owned()));
}

const DOMAINS: &[&str] = &[
    "[1, 1e13]",
    "(0, 1]",
    "[0, 1)",
    "(0, 1)",
    "> 0",
    ">= 0",
    "≥ 0",
    "< 5",
    "<= 5",
    "≤ 5",
    "> -1.5",
    "{1, 2, 4}",
    "{4, 2, 1}",
    "{-1}",
    "integer",
    "integer [1, 8]",
    "integer (1, 8)",
    "integer [1.5, 8.5]",
    "integer > 0",
    "integer >= 0",
    "integer < 3",
    "integer {1, 2}",
    "[-3, -1]",
    "[ 1 , 2 ]",
    "[1, 1]",
    "integer [1, 9007199254740992]",
    "integer [1, 9007199254740993]",
    "integer [1, 1e300]",
    "",
    "  ",
    "[2, 1]",
    "(1, 1)",
    "[1, 1)",
    "[1 2]",
    "[1, 2",
    "1, 2]",
    "[1]",
    "[1, 2, 3]",
    "[a, b]",
    "[1, inf]",
    "[1, 1e400]",
    "[nan, 1]",
    "{}",
    "{1, 1}",
    "{1,}",
    "{1; 2}",
    "{1, 2",
    ">",
    "> x",
    "=> 1",
    "== 1",
    "!= 1",
    "int [1, 2]",
    "integers",
    "integer {1.5}",
    "integer (1, 2)",
    "integer [1.2, 1.8]",
    "[1, 2] x",
    "> 0 and < 1",
    "> 1.7976931348623157e308",
    "< -1.7976931348623157e308",
];

#[test]
fn domains_are_read_as_they_should_be() {
    let mut table = String::new();
    for text in DOMAINS {
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
