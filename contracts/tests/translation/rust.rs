//! Rust, compiled by rustc with every warning denied.

use std::env::consts::EXE_SUFFIX;
use std::fmt::Write;
use std::path::Path;
use std::process::Command;

use proc_macro2::{Ident, Span};
use quote::quote;
use roofline_contracts::contract::Contract;
use roofline_contracts::emit::rust;

use crate::{bits, interpreted, strange};

/// A program that prints every equation and class of every contract at every point, a line each.
fn program(contracts: &[Contract]) -> String {
    let mut modules = String::new();
    let mut main = String::new();
    for (index, contract) in contracts.iter().enumerate() {
        let module = Ident::new(&format!("c{index}"), Span::call_site());
        let _ = writeln!(modules, "{}", rust::module(contract, &quote!(), &module, &[]));
        let points = interpreted(contract).into_iter().map(|(point, _)| {
            let numbers: Vec<String> =
                point.iter().map(|value| format!("f64::from_bits({})", value.to_bits())).collect();
            format!("[{}]", numbers.join(", "))
        });
        let points: Vec<String> = points.collect();
        let classes = contract.classifiers.iter().map(|classifier| {
            format!("println!(\"c{index}.{name} {{}}\", outputs.r#{name}.name());", name = classifier.name)
        });
        let _ = writeln!(
            main,
            "for point in [{}] {{\n\
                 let outputs = {module}::Inputs::from_array(point).evaluate().expect(\"inside the domains\");\n\
                 for (name, value) in {module}::Outputs::NAMES.iter().zip(outputs.to_array()) {{\n\
                     number(\"c{index}\", name, value);\n\
                 }}\n\
                 {}\n\
             }}",
            points.join(", "),
            classes.collect::<Vec<_>>().join("\n")
        );
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
        .expect("rustc is beside cargo");
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    let ran = Command::new(&binary).output().unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    let printed = String::from_utf8(ran.stdout).unwrap();
    let mut lines = printed.lines();
    for (index, contract) in contracts.iter().enumerate() {
        for (point, outputs) in interpreted(contract) {
            for (equation, value) in contract.equations.iter().zip(&outputs.equations) {
                let wanted = format!("c{index}.{} {}", equation.name, bits(*value));
                assert_eq!(lines.next(), Some(&*wanted), "{} at {point:?}", contract.metadata.description);
            }
            for (classifier, case) in contract.classifiers.iter().zip(&outputs.classes) {
                let wanted = format!("c{index}.{} {}", classifier.name, classifier.cases[*case].variant);
                assert_eq!(lines.next(), Some(&*wanted), "{} at {point:?}", contract.metadata.description);
            }
        }
    }
    assert_eq!(lines.next(), None);
}
