//! Whoever computes with a contract goes through `evaluate()`, which checks the domains that it was proven for: nothing in the
//! crate calls the function of an equation or a classifier itself.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use roofline_contracts::library::{BUILT_IN, built_in};
use roofline_contracts::{check_in, contract::Contract};

fn shipped() -> Vec<Contract> {
    let compiled = |(file, _): &(&str, &str)| check_in(built_in(file)?, None).contract;
    BUILT_IN.iter().map(|entry| compiled(entry).expect("a shipped contract is valid")).collect()
}

/// The modules of `roofline::contracts` and the functions in each: equations, the checks of bounds, classifiers.
fn functions() -> (BTreeSet<String>, BTreeSet<String>) {
    let mut modules = BTreeSet::new();
    let mut names = BTreeSet::new();
    for contract in shipped() {
        let id = &contract.metadata.id;
        modules.insert(id.strip_suffix("-v1").unwrap_or(id).replace('-', "_"));
        names.extend(contract.equations.iter().map(|equation| equation.name.clone()));
        names.extend(contract.equations.iter().map(|equation| format!("{}_within", equation.name)));
        names.extend(contract.classifiers.iter().map(|classifier| classifier.name.clone()));
    }
    (modules, names)
}

/// The words and signs of a source text, without comments and texts.
fn tokens(text: &str) -> Vec<String> {
    let mut out = Vec::new();
    for line in text.lines() {
        let code = line.split("//").next().unwrap_or_default();
        let mut word = String::new();
        let mut quoted = false;
        for character in code.chars() {
            if character == '"' {
                quoted = !quoted;
            }
            if !quoted && (character.is_alphanumeric() || character == '_') {
                word.push(character);
                continue;
            }
            if !word.is_empty() {
                out.push(std::mem::take(&mut word));
            }
            if !quoted && !character.is_whitespace() {
                out.push(character.to_string());
            }
        }
        out.extend((!word.is_empty()).then_some(word));
    }
    out
}

/// What a source text takes from the modules of contracts: `module::function`, in a path or in the braces after it. A module may
/// have another name, given with `as`.
fn direct(text: &str, modules: &BTreeSet<String>, names: &BTreeSet<String>) -> Vec<String> {
    let tokens = tokens(text);
    let at = |index: usize| tokens.get(index).map_or("", String::as_str);
    let mut known: BTreeSet<&str> = modules.iter().map(String::as_str).collect();
    for index in 0..tokens.len() {
        // `operation as contract`, and `operation::{self as contract, ...}`.
        let of_self = at(index) == "self" && index >= 4 && known.contains(at(index - 4));
        if (known.contains(at(index)) || of_self) && at(index + 1) == "as" {
            known.insert(at(index + 2));
        }
    }
    let mut found = Vec::new();
    for index in 0..tokens.len() {
        if !(known.contains(at(index)) && at(index + 1) == ":" && at(index + 2) == ":") {
            continue;
        }
        let mut next = index + 3;
        if at(next) == "*" {
            found.push(format!("{}::*", at(index)));
        }
        if at(next) != "{" {
            // A path may go on to a table of the contract, whose entries are no functions.
            if names.contains(at(next)) && at(next + 1) != ":" {
                found.push(format!("{}::{}", at(index), at(next)));
            }
            continue;
        }
        let mut depth = 0;
        while next < tokens.len() {
            match at(next) {
                "{" => depth += 1,
                "}" => depth -= 1,
                "*" => found.push(format!("{}::*", at(index))),
                name if depth == 1 && names.contains(name) && at(next + 1) != ":" => {
                    found.push(format!("{}::{name}", at(index)));
                }
                _ => {}
            }
            if depth == 0 {
                break;
            }
            next += 1;
        }
    }
    found
}

fn sources(directory: &Path, out: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).expect("a directory of sources") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            sources(&path, out);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            out.push(path);
        }
    }
}

#[test]
fn nothing_calls_an_equation_past_the_domains() {
    let (modules, names) = functions();
    let mut files = Vec::new();
    sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &mut files);
    assert!(files.len() > 50, "{} files", files.len());
    let mut wrong = Vec::new();
    for file in files {
        let text = fs::read_to_string(&file).expect("UTF-8");
        let found = direct(&text, &modules, &names);
        wrong.extend(found.into_iter().map(|call| format!("{}: {call}", file.display())));
    }
    assert!(wrong.is_empty(), "use `Inputs {{ .. }}.evaluate()` instead of\n{}", wrong.join("\n"));
}

#[test]
fn a_call_past_the_domains_is_found_however_it_is_written() {
    let (modules, names) = functions();
    let found = |text: &str| direct(text, &modules, &names);
    for wrong in [
        "let x = transformer::decode_flops(1.0, 2.0);",
        "use crate::contracts::layer_roofline::{Inputs, achieved_compute};",
        "use crate::contracts::layer_roofline::achieved_compute;",
        "use crate::contracts::operation as contract; let x = contract::least_time(1.0, 2.0);",
        "use crate::contracts::operation::{self as one, Inputs};\nlet x = one::bound(1.0, 2.0, 3.0);",
        "use crate::contracts::quantization::*;",
        "use crate::contracts::operation::{*};",
        "let possible = operation::attainable_within(1.0, 2.0, 3.0, 4.0);",
    ] {
        assert!(!found(wrong).is_empty(), "{wrong}");
    }
    for fine in [
        "let x = operation::Inputs { batch, ..common }.evaluate()?.flops;",
        "use crate::contracts::quantization::formats::Q8_0;",
        "// transformer::decode_flops(1.0)",
        "let text = \"transformer::decode_flops(1.0)\";",
        "let rate = outputs.decode_tokens_per_s;",
    ] {
        assert_eq!(found(fine), Vec::<String>::new(), "{fine}");
    }
}
