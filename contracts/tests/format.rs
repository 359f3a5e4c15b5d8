//! The formatter keeps the meaning of a contract and is idempotent.

use std::path::{Path, PathBuf};

use proptest::prelude::*;
use roofline_contracts::authoring::format::{WIDTH, format};
use roofline_contracts::source::Source;
use roofline_contracts::{check_in, emit, library};

fn source(name: &str, text: &str) -> Source {
    Source::from_bytes(name, text.as_bytes().to_vec()).expect("text")
}

fn formatted(name: &str, text: &str) -> String {
    let source = source(name, text);
    format(&source).unwrap_or_else(|diagnostics| {
        let shown: Vec<String> = diagnostics.iter().map(|diagnostic| diagnostic.render(&source)).collect();
        panic!("{}\n{text}", shown.join("\n"))
    })
}

/// The output of the compiler: the generated Rust, or the errors.
fn meaning(name: &str, text: &str, directory: Option<&Path>) -> String {
    let compiled = check_in(source(name, text), directory);
    let mut messages: Vec<String> = compiled.diagnostics.iter().map(|m| format!("{}\n", m.message)).collect();
    messages.sort();
    let rust = compiled.contract.map_or(String::new(), |contract| {
        let unit_texts = contract.equations.iter().map(|equation| format!("{} ", equation.unit_text));
        let rust = emit::rust::items(&contract, &[]).to_string().replace(&contract.source.sha256, "");
        unit_texts.collect::<String>() + &rust
    });
    messages.concat() + &rust
}

/// Removes the texts of units and domains, whose spelling may change.
fn unspelled(meaning: &str) -> String {
    let ascii = meaning.replace('≥', ">=").replace('≤', "<=").replace(['·', '×'], "*").replace('÷', "/");
    ascii.chars().filter(|c| !c.is_whitespace()).collect()
}

fn assert_kept(name: &str, text: &str, directory: Option<&Path>) -> String {
    let once = formatted(name, text);
    assert_eq!(formatted(name, &once), once, "{name}: formatting is not idempotent");
    assert_eq!(
        unspelled(&meaning(name, &once, directory)),
        unspelled(&meaning(name, text, directory)),
        "{name}: the meaning changed"
    );
    once
}

fn files(directory: &str) -> Vec<PathBuf> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join(directory);
    let entries = std::fs::read_dir(directory).expect("the directory is there");
    let mut found: Vec<PathBuf> = entries
        .map(|entry| entry.expect("listed").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "yaml"))
        .collect();
    found.sort();
    found
}

#[test]
fn every_shipped_contract_is_in_canonical_form() {
    for (file, text) in library::BUILT_IN {
        let once = assert_kept(file, text, None);
        assert_eq!(once, *text, "run `roofline fmt contracts/{file}`");
        let long: Vec<&str> = once.lines().filter(|line| line.chars().count() > WIDTH).collect();
        assert!(long.is_empty(), "{file}: {long:?}");
    }
}

#[test]
fn every_fixture_keeps_its_meaning() {
    let mut laid_out = 0;
    for path in ["tests/dependencies", "tests/devices", "tests/rejected"].iter().flat_map(|path| files(path))
    {
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        let text = std::fs::read_to_string(&path).expect("readable");
        if format(&source(&name, &text)).is_ok() {
            assert_kept(&name, &text, path.parent());
            laid_out += 1;
        }
    }
    assert!(laid_out > 100, "only {laid_out} fixtures could be formatted");
}

#[test]
fn invalid_yaml_is_rejected_at_its_place() {
    for (text, message) in [
        ("a: [1", "invalid YAML"),
        ("a: 1\na: 2\n", "duplicate key `a`"),
        ("a: &x 1\n", "anchors are not supported"),
        ("", "the contract is empty"),
    ] {
        let diagnostics = format(&source("x.yaml", text)).expect_err("invalid YAML");
        assert!(diagnostics.iter().any(|diagnostic| diagnostic.message.contains(message)), "{diagnostics:?}");
    }
}

#[test]
fn the_canonical_form_of_an_untidy_contract() {
    let untidy = include_str!("format/untidy.yaml");
    let once = assert_kept("untidy.yaml", untidy, None);
    insta::assert_snapshot!(once);
}

/// Applies random changes of the layout; each item of the recipe is a line and a change.
fn mangled(text: &str, recipe: &[(u8, u16)]) -> String {
    let mut text = text.to_owned();
    for (index, &(change, at)) in recipe.iter().enumerate() {
        let lines: Vec<&str> = text.lines().collect();
        let at = usize::from(at) % lines.len().max(1);
        let line = lines.get(at).copied().unwrap_or_default();
        let indent: String = line.chars().take_while(|c| *c == ' ').collect();
        let changed = match change % 9 {
            0 => format!("{line}  # comment {index}"),
            1 => format!("{indent}# comment {index}\n{line}"),
            2 => format!("# comment {index}\n{line}"),
            3 => format!("{line}\n"),
            4 => line.replace(" * ", "*").replace(" / ", "  /   ").replace(" <= ", "≤"),
            5 => line.replace(" * ", " × "),
            6 => format!("{line}   "),
            7 => format!("{line}\n\n{indent}    # comment {index}"),
            _ => line.replace("[1, ", "[ 1,").replace(", ", ",  "),
        };
        let mut new: Vec<&str> = lines.clone();
        new[at] = &changed;
        text = new.join("\n") + "\n";
    }
    text
}

/// The contract as written by another program: without comments, with other quotes, keys in reverse order.
fn rewritten(text: &str) -> String {
    fn reversed(value: serde_yaml::Value, level: usize) -> serde_yaml::Value {
        use serde_yaml::Value;
        match value {
            Value::Mapping(pairs) => {
                let mut pairs: Vec<_> =
                    pairs.into_iter().map(|(key, value)| (key, reversed(value, level + 1))).collect();
                // Sections and keys of an entry are sorted; names keep the order of the author.
                if level == 0 || level == 2 {
                    pairs.reverse();
                }
                Value::Mapping(pairs.into_iter().collect())
            }
            Value::Sequence(items) => {
                Value::Sequence(items.into_iter().map(|item| reversed(item, level + 1)).collect())
            }
            other => other,
        }
    }
    let value: serde_yaml::Value = serde_yaml::from_str(text).expect("YAML");
    serde_yaml::to_string(&reversed(value, 0)).expect("written")
}

#[test]
fn keys_of_a_rewritten_contract_are_sorted() {
    let neutral = |text: &str| {
        let value: serde_yaml::Value = serde_yaml::from_str(text).expect("YAML");
        serde_yaml::to_string(&value).expect("written")
    };
    for (file, text) in library::BUILT_IN {
        let other = rewritten(text);
        assert_ne!(neutral(&other), neutral(text));
        assert_eq!(neutral(&assert_kept(file, &other, None)), neutral(&formatted(file, text)), "{file}");
    }
}

/// Size in bytes from which a contract is tested less often.
const LARGE: usize = 20 << 10;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn mangled_contracts_keep_their_meaning_and_change_once(
        which in 0usize..8 * library::BUILT_IN.len(),
        recipe in proptest::collection::vec((any::<u8>(), any::<u16>()), 1..24),
    ) {
        // A large contract takes a hundred times longer and has no other kinds of lines.
        let (small, large): (Vec<_>, Vec<_>) =
            library::BUILT_IN.iter().partition(|(_, text)| text.len() < LARGE);
        let these = if which % 8 == 0 { large } else { small };
        let (file, text) = these[which % these.len()];
        let text = mangled(text, &recipe);
        if format(&source(file, &text)).is_ok() {
            assert_kept(file, &text, None);
        }
    }

    #[test]
    fn the_formatter_does_not_panic(text in "[a-z:{}\\[\\],\"'|># \n-]{0,80}") {
        if let Ok(once) = format(&source("x.yaml", &text)) {
            prop_assert_eq!(format(&source("x.yaml", &once)).expect("a formatted contract"), once);
        }
    }
}
