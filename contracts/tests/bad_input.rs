//! Malformed and hostile input is rejected with a message, within bounded memory and without a panic.

use std::path::Path;
use std::sync::Mutex;

use roofline_contracts::source::{ReadErrorKind, Source};
use roofline_contracts::{Compiled, compile, emit};
use roofline_test_support::memory::{Counting, peak};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Memory is counted for the whole process, so the tests of this file run one at a time.
static TURN: Mutex<()> = Mutex::new(());

const BOUND: usize = 200 << 20;

/// Compiles within the memory bound, which includes the text.
fn bounded(text: impl Into<String>) -> Compiled {
    let _turn = TURN.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let source = Source::from_bytes("hostile.yaml", text.into().into_bytes()).expect("not too large");
    let (compiled, used) = peak(|| compile(source));
    assert!(used < BOUND, "{} MB used", used >> 20);
    compiled
}

/// The first diagnostic of a contract that must be rejected.
fn refused(text: impl Into<String>) -> String {
    let compiled = bounded(text);
    assert!(compiled.contract.is_none(), "accepted");
    compiled.diagnostics.first().expect("a message").render(&compiled.source)
}

const HEAD: &str = "metadata: {version: 1.0.0, description: x}\nquantities: {x: {unit: 1, domain: '> 0'}}\n";

fn formula(text: &str) -> String {
    format!("{HEAD}equations:\n  y:\n    unit: 1\n    formula: {text}\n")
}

#[test]
fn read_errors_are_distinguished() {
    let kind = |path: &str| Source::read(Path::new(path), path).map(|_| ()).map_err(|error| error.kind);
    assert_eq!(kind("/no/such/contract.yaml"), Err(ReadErrorKind::Missing));
    assert_eq!(kind(env!("CARGO_MANIFEST_DIR")), Err(ReadErrorKind::Directory));
    #[cfg(unix)]
    assert_eq!(kind("/dev/zero"), Err(ReadErrorKind::TooLarge));
}

#[test]
fn large_files_are_rejected() {
    let bytes = vec![b'#'; 100 << 20];
    let error = Source::from_bytes("large.yaml", bytes).expect_err("too large");
    assert_eq!(error.kind, ReadErrorKind::TooLarge);
    assert!(error.to_string().contains("4 MiB"), "{error}");
}

#[test]
fn invalid_utf8_is_reported_with_its_line() {
    let error = Source::from_bytes("x.yaml", b"a: b\nc: \xff\n".to_vec()).expect_err("not UTF-8");
    assert_eq!(error.kind, ReadErrorKind::NotUtf8 { line: 2, byte: 8 });
}

#[test]
fn a_byte_order_mark_and_windows_line_ends_are_accepted() {
    let text = include_str!("../roofline-model-v1.yaml");
    let windows = format!("\u{feff}{}", text.replace('\n', "\r\n"));
    let (plain, dressed) = (bounded(text), bounded(windows));
    let code = |compiled: &Compiled| {
        let mut contract = compiled.contract.clone().expect("valid");
        contract.source.sha256.clear();
        emit::rust::items(&contract, &[]).to_string()
    };
    assert_eq!(code(&plain), code(&dressed));
}

#[test]
fn windows_line_ends_do_not_move_the_caret() {
    let text = formula("|\n      x\n      + z").replace('\n', "\r\n");
    assert!(refused(text).starts_with("hostile.yaml:8:9: error: unknown name `z`"));
}

#[test]
fn alias_bombs_are_rejected_at_the_first_anchor() {
    let mut text = String::from("a: &a [x, x, x, x, x, x, x, x, x]\n");
    for (from, to) in [('a', 'b'), ('b', 'c'), ('c', 'd'), ('d', 'e'), ('e', 'f'), ('f', 'g'), ('g', 'h')] {
        text += &format!("{to}: &{to} [{}]\n", vec![format!("*{from}"); 9].join(", "));
    }
    assert!(refused(text).contains("anchors are not supported in contracts"));
}

#[test]
fn deep_nesting_is_rejected_in_flow_and_block_form() {
    let flow = format!("a: {}{}", "[".repeat(100_000), "]".repeat(100_000));
    assert!(refused(flow).contains("at most 32 levels of nesting"));
    let dashes = "- ".repeat(100_000);
    assert!(refused(dashes).contains("at most 32 levels of nesting"));
    let block: String = (0..2000).map(|level| format!("{}a:\n", " ".repeat(level))).collect();
    assert!(refused(block).contains("at most 32 levels of nesting"));
}

#[test]
fn too_many_values_are_rejected_within_bounded_memory() {
    let list = format!("obligations: [{}]", "a,".repeat(2_000_000));
    assert!(refused(list).contains("too many values"));
    let mappings =
        format!("quantities:\n{}", (0..300_000).map(|i| format!("  q{i}: 1\n")).collect::<String>());
    assert!(refused(mappings).contains("too many values"));
}

#[test]
fn only_the_first_errors_are_shown() {
    let mut text = String::from(HEAD);
    text += "equations:\n";
    for i in 0..20_000 {
        text += &format!("  e{i}: {{unit: 1, formula: z{i}}}\n");
    }
    let compiled = bounded(text);
    assert!(compiled.contract.is_none());
    assert_eq!(compiled.diagnostics.len(), 100);
    let last = compiled.diagnostics[99].render(&compiled.source);
    assert!(last.contains("19900 more errors not shown"), "{last}");
}

#[test]
fn nested_parentheses_and_long_chains_are_bounded() {
    for open in ["(", "-", "not ", "if ", "min(1, "] {
        assert!(
            refused(formula(&format!("\"{}x\"", open.repeat(100_000 / open.len())))).contains("formula"),
            "{open}"
        );
    }
    let nested = formula(&format!("{}x{}", "(".repeat(20_000), ")".repeat(20_000)));
    assert!(refused(nested).contains("nested deeper than 200 levels"));
    let long = formula(&vec!["x"; 10_000].join(" + "));
    assert!(refused(long).contains("nested deeper than 200 levels"));
    let chain = formula(&vec!["x"; 150].join(" + "));
    assert!(bounded(chain).contract.is_some());
    let enormous = formula(&"x * ".repeat(40_000));
    assert!(refused(enormous).contains("longer than 64 KiB"));
}

#[test]
fn long_names_are_truncated_in_messages() {
    let name = "n".repeat(10_000);
    let quoted =
        format!("metadata: {{version: 1.0.0, description: x}}\nquantities:\n  \"{name}\": {{unit: 1}}\n");
    let messages = [
        refused(quoted),
        refused(formula(&name)),
        refused(formula(&format!("{name}(x)"))),
        refused(formula(&format!("1 [{name}]"))),
        refused(format!("{HEAD}? {name}\n: 1\n")),
        refused(format!("metadata: {{version: {name}, description: x}}\n")),
    ];
    for message in messages {
        assert!(message.len() < 2_000, "{} letters", message.len());
    }
}

#[test]
fn two_documents_and_an_empty_file_are_rejected() {
    assert!(refused("").contains("the contract is empty"));
    assert!(refused("---\n---\n").contains("found a second one"));
    assert!(refused("# only a comment\n").contains("the contract is empty"));
    assert!(refused("%YAML 1.2\n---\na: b\n").contains("invalid YAML"));
}

#[test]
fn sixty_doublings_stay_a_graph() {
    let mut text = String::from(HEAD);
    text += "equations:\n  e0: {unit: 1, formula: x + x}\n";
    for i in 1..60 {
        text += &format!("  e{i}: {{unit: 1, formula: e{} + e{}}}\n", i - 1, i - 1);
    }
    let contract = bounded(text).contract.expect("valid");
    assert!(contract.graph.ops().len() < 100, "{} nodes", contract.graph.ops().len());
}
