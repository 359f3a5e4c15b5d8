//! `cargo xtask lint`: project rules that clippy cannot express.
//!
//! Contracts must be evaluated through `Inputs::evaluate`, which checks the domains that the proofs assume. The library must
//! not call the functions of equations and classifiers directly.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use proc_macro2::{Delimiter, TokenStream, TokenTree};

use crate::contracts::shipped;
use crate::{read, root};

/// The functions of equations, bound checks and classifiers, by module of `roofline-formulas`.
type Functions = BTreeMap<String, BTreeSet<String>>;

/// Checks the sources of the library and the program.
pub fn run() -> Result<(), String> {
    let functions = functions()?;
    let mut files = Vec::new();
    sources(&root().join("roofline/src"), &mut files)?;
    sources(&root().join("crates"), &mut files)?;
    let mut calls = Vec::new();
    for file in files {
        let text = read(&file)?;
        let tokens = text.parse().map_err(|error| format!("{}: {error}", file.display()))?;
        calls.extend(direct(tokens, &functions).iter().map(|call| format!("{}: {call}", file.display())));
    }
    match calls.as_slice() {
        [] => Ok(()),
        calls => Err(format!("use `Inputs {{ .. }}.evaluate()` instead of\n{}", calls.join("\n"))),
    }
}

fn functions() -> Result<Functions, String> {
    let mut functions = Functions::new();
    for shipped in shipped()? {
        let contract = &shipped.contract;
        let equations = contract.equations.iter().map(|equation| &equation.name);
        let names = functions.entry(shipped.id().trim_end_matches("-v1").replace('-', "_")).or_default();
        names.extend(equations.clone().map(|name| format!("{name}_within")));
        names.extend(equations.cloned());
        names.extend(contract.classifiers.iter().map(|classifier| classifier.name.clone()));
    }
    Ok(functions)
}

/// Collects the sources, except those of the generated functions, tests, benchmarks and examples.
fn sources(directory: &Path, found: &mut Vec<PathBuf>) -> Result<(), String> {
    let problem = |error| format!("{}: cannot be read: {error}", directory.display());
    for entry in std::fs::read_dir(directory).map_err(problem)? {
        let path = entry.map_err(problem)?.path();
        let name = path.file_name().unwrap_or_default();
        if path.is_dir() && !["formulas", "tests", "benches", "examples"].iter().any(|other| name == *other) {
            sources(&path, found)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
    Ok(())
}

/// Flattens a token tree.
fn words(tokens: TokenStream, words: &mut Vec<String>) {
    for token in tokens {
        match token {
            TokenTree::Group(group) => {
                let (open, close) = match group.delimiter() {
                    Delimiter::Brace => ("{", "}"),
                    _ => ("(", ")"),
                };
                words.push(open.to_owned());
                self::words(group.stream(), words);
                words.push(close.to_owned());
            }
            TokenTree::Literal(_) => words.push("0".to_owned()),
            other => words.push(other.to_string()),
        }
    }
}

/// Finds direct uses of contract functions: `module::function`, in a path or in braces, including modules renamed with `as`.
fn direct(tokens: TokenStream, functions: &Functions) -> Vec<String> {
    let mut all = Vec::new();
    words(tokens, &mut all);
    let at = |index: usize| all.get(index).map_or("", String::as_str);
    let mut modules: BTreeMap<&str, &BTreeSet<String>> =
        functions.iter().map(|(module, names)| (module.as_str(), names)).collect();
    for index in 0..all.len() {
        // `operation as contract`, and `operation::{self as contract, ...}`.
        let module = if at(index) == "self" && index >= 4 { at(index - 4) } else { at(index) };
        if let (Some(names), "as") = (modules.get(module).copied(), at(index + 1)) {
            modules.insert(at(index + 2), names);
        }
    }
    let mut found = Vec::new();
    for index in 0..all.len() {
        let (Some(names), ":", ":") = (modules.get(at(index)), at(index + 1), at(index + 2)) else {
            continue;
        };
        let braces = at(index + 3) == "{";
        let mut depth = i32::from(braces);
        for next in index + 3 + usize::from(braces).. {
            match at(next) {
                "{" => depth += 1,
                "}" => depth -= 1,
                // A path may continue to a table of the contract, whose entries are not functions.
                name if depth <= 1 && (name == "*" || names.contains(name) && at(next + 1) != ":") => {
                    found.push(format!("{}::{name}", at(index)));
                }
                _ => {}
            }
            if depth <= 0 {
                break;
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::{direct, functions};

    #[test]
    fn direct_calls_are_found_in_any_form() {
        let functions = functions().expect("shipped contracts");
        let found = |text: &str| direct(text.parse().expect("tokens"), &functions);
        for wrong in [
            "let x = transformer::decode_flops(1.0, 2.0);",
            "use roofline_formulas::layer_roofline::{Inputs, achieved_compute};",
            "use roofline_formulas::layer_roofline::achieved_compute;",
            "use roofline_formulas::operation as contract; let x = contract::least_time(1.0, 2.0);",
            "use roofline_formulas::operation::{self as one, Inputs};\nlet x = one::bound(1.0, 2.0, 3.0);",
            "use roofline_formulas::quantization::*;",
            "use roofline_formulas::operation::{*};",
            "let possible = operation::attainable_within(1.0, 2.0, 3.0, 4.0);",
        ] {
            assert!(!found(wrong).is_empty(), "{wrong}");
        }
        for fine in [
            "let x = operation::Inputs { batch, ..common }.evaluate()?.flops;",
            "use roofline_formulas::quantization::formats::Q8_0;",
            "// transformer::decode_flops(1.0)",
            "let text = \"transformer::decode_flops(1.0)\";",
            "let rate = outputs.decode_tokens_per_s;",
        ] {
            assert_eq!(found(fine), Vec::<String>::new(), "{fine}");
        }
    }
}
