//! Rust, compiled by rustc with all warnings denied.

use std::env::consts::EXE_SUFFIX;
use std::fmt::Write;
use std::path::Path;
use std::process::Command;

use proc_macro2::{Ident, Span};
use quote::quote;
use roofline_contracts::contract::Contract;
use roofline_contracts::emit::rust;
use roofline_contracts::eval;

use crate::{bits, interpreted, scrambled, strange};

/// A program that prints every equation and class of every contract at every point, one per line; then again with a type
/// per unit.
fn program(contracts: &[Contract]) -> String {
    let mut modules = String::new();
    let mut main = String::new();
    for (index, contract) in contracts.iter().enumerate() {
        let [plain, typed] = ["c", "t"].map(|kind| Ident::new(&format!("{kind}{index}"), Span::call_site()));
        let _ = writeln!(modules, "{}", rust::module(contract, &quote!(), &plain, &[]));
        let _ = writeln!(modules, "{}", rust::typed_module(contract, &quote!(), &typed, &[]));
        let points: Vec<String> = (interpreted(contract).iter())
            .map(|(point, _)| format!("{:?}", point.iter().map(|value| value.to_bits()).collect::<Vec<_>>()))
            .collect();
        let (inputs, count) = (contract.quantities.len(), points.len());
        let _ = writeln!(modules, "static P{index}: [[u64; {inputs}]; {count}] = [{}];", points.join(", "));
        let moved: Vec<String> = (scrambled(contract).iter())
            .map(|point| format!("{:?}", point.iter().map(|value| value.to_bits()).collect::<Vec<_>>()))
            .collect();
        let count = moved.len();
        let _ = writeln!(modules, "static R{index}: [[u64; {inputs}]; {count}] = [{}];", moved.join(", "));
        for module in [plain, typed] {
            let classes = contract.classifiers.iter().map(|classifier| {
                format!("println!(\"{module}.{name} {{}}\", outputs.{name}.name());", name = classifier.name)
            });
            let named = contract.quantities.iter().any(|quantity| !quantity.cases.is_empty());
            let point = format!(
                "{module}::Inputs::from_array(point.map(f64::from_bits)){}",
                if named { ".expect(\"numbers of cases\")" } else { "" }
            );
            let _ = writeln!(
                main,
                "for point in P{index} {{\n\
                 let outputs = {point}.evaluate().expect(\"inside the domains\");\n\
                 for (name, value) in {module}::Outputs::NAMES.iter().zip(outputs.to_array()) {{\n\
                     number(\"{module}\", name, value);\n\
                 }}\n\
                 {}\n\
             }}\n\
             for point in R{index} {{\n\
                 match {point}.evaluate() {{\n\
                     Ok(_) => println!(\"{module} accepts\"),\n\
                     Err(error) => println!(\"{module} refuses: {{error}}\"),\n\
                 }}\n\
             }}",
                classes.collect::<Vec<_>>().join("\n")
            );
        }
    }
    format!(
        "{modules}\n\
         fn number(contract: &str, name: &str, value: f64) {{\n\
             if value.is_nan() {{ println!(\"{{contract}}.{{name}} nan\"); }}\n\
             else {{ println!(\"{{contract}}.{{name}} {{:016x}}\", value.to_bits()); }}\n\
         }}\n\
         fn main() {{\n{main}\n}}\n"
    )
}

#[test]
fn random_contracts_compile_to_rust_that_agrees() {
    let contracts = strange();
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let (text, binary) = (directory.join("strange.rs"), directory.join(format!("strange{EXE_SUFFIX}")));
    std::fs::write(&text, program(&contracts)).unwrap();
    let compiler = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let compiled = Command::new(compiler)
        .args(["--edition=2024", "-Dwarnings", "-o"])
        .args([&binary, &text])
        .output()
        .expect("rustc can be run");
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    let ran = Command::new(&binary).output().unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    let printed = String::from_utf8(ran.stdout).unwrap();
    let mut lines = printed.lines();
    let mut refused = 0;
    for (index, contract) in contracts.iter().enumerate() {
        let results = interpreted(contract);
        for kind in ["c", "t"] {
            for (point, outputs) in &results {
                for (equation, value) in contract.equations.iter().zip(&outputs.equations) {
                    let wanted = format!("{kind}{index}.{} {}", equation.name, bits(*value));
                    assert_eq!(
                        lines.next(),
                        Some(&*wanted),
                        "{} at {point:?}",
                        contract.metadata.description
                    );
                }
                for (classifier, case) in contract.classifiers.iter().zip(&outputs.classes) {
                    let wanted =
                        format!("{kind}{index}.{} {}", classifier.name, classifier.cases[*case].variant);
                    assert_eq!(
                        lines.next(),
                        Some(&*wanted),
                        "{} at {point:?}",
                        contract.metadata.description
                    );
                }
            }
            for point in scrambled(contract) {
                let wanted = match eval::evaluate(contract, &point) {
                    Ok(_) => format!("{kind}{index} accepts"),
                    Err(error) => format!("{kind}{index} refuses: {error}"),
                };
                refused += usize::from(wanted.contains("the requirement"));
                assert_eq!(lines.next(), Some(&*wanted), "{} at {point:?}", contract.metadata.description);
            }
        }
    }
    assert_eq!(lines.next(), None);
    assert!(refused >= 8, "only {refused} points violate a requirement");
}
