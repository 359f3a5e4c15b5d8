//! The interpreter, Rust and JavaScript are bit-identical: for shipped contracts (whose Rust is compared in `verify`, where
//! the macro compiles it), for random contracts, and for a fuzzing corpus in the directory ROOFLINE_CORPUS.

mod javascript;
mod random;
mod rust;

use std::path::{Path, PathBuf};

use roofline_contracts::contract::Contract;
use roofline_contracts::source::Source;
use roofline_contracts::{check_in, compile, compile_in, eval, library, sample};

/// Number of points per contract.
const POINTS: usize = 200;

fn shipped() -> Vec<Contract> {
    let one = |file: &str| {
        let source = library::built_in(file).expect("a built-in contract");
        compile(source).contract.expect("a valid contract")
    };
    library::BUILT_IN.iter().map(|(file, _)| one(file)).collect()
}

/// Contracts that use names of generated code for a quantity, an equation and a classifier.
fn named() -> Vec<Contract> {
    let named = |[quantity, equation, classifier]: [&str; 3]| {
        let text = format!(
            "metadata: {{version: 1.0.0, description: A quantity {quantity}}}
quantities:
  {quantity}: {{unit: '1', domain: '[0.5, 8]'}}
  new: {{unit: '1', domain: '[-3, 5]'}}
  new_: {{unit: '1', domain: 'integer [1, 9]'}}
equations:
  {equation}: {{unit: '1', formula: ({quantity} + new)^2}}
  floor_: {{unit: '1', formula: 'floor(({equation} - new_)^3) + ceil({quantity}) - min(new, new_)'}}
  max_: {{unit: '1', formula: 'max(floor_, pow({quantity}, new_)) / ({quantity} + new_)^2'}}
classifiers:
  {classifier}: {{cases: [{{Low: '({quantity} + new_)^2 < floor(floor_)'}}, {{High: otherwise}}]}}
"
        );
        let source = Source::from_bytes(&format!("{quantity}-v1.yaml"), text.into()).expect("text");
        compile(source).contract.expect("valid names")
    };
    [["power", "truncate", "values"], ["truncate", "values", "power"], ["values", "power", "truncate"]]
        .map(named)
        .into()
}

/// Fixtures for the language features that shipped contracts do not use.
fn written() -> Vec<Contract> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/language");
    let mut files: Vec<PathBuf> = std::fs::read_dir(&directory)
        .expect("the fixtures are there")
        .map(|entry| entry.expect("an entry").path())
        .collect();
    files.sort();
    let one = |path: &PathBuf| {
        let name = path.file_name().expect("a file").to_string_lossy().into_owned();
        let compiled = compile_in(Source::read(path, &name).expect("text"), Some(&directory));
        let shown: Vec<String> = compiled.diagnostics.iter().map(|m| m.render(&compiled.source)).collect();
        assert!(shown.is_empty(), "{}", shown.join("\n"));
        compiled.contract.expect("a valid contract")
    };
    files.iter().map(one).collect()
}

/// Sample points with a few changed values, some of them outside of their domains, so that some points are rejected.
fn scrambled(contract: &Contract) -> Vec<Vec<f64>> {
    let mut random = sample::Random(7);
    let count = match (contract.quantities.is_empty(), contract.requires.is_empty()) {
        (true, _) => 0,
        (false, true) => 10,
        (false, false) => 100,
    };
    let mut points: Vec<Vec<f64>> = sample::points(contract, 2).take(count).collect();
    for (at, point) in points.iter_mut().enumerate() {
        for _ in 0..3 {
            let quantity = random.below(point.len());
            let domain = &contract.quantities[quantity].domain;
            let any = sample::uniform(domain, &mut random);
            if !contract.quantities[quantity].cases.is_empty() {
                point[quantity] = any;
                continue;
            }
            let outside = [f64::NAN, f64::INFINITY, domain.low - 1.0, domain.high * 2.0];
            // Every other point stays inside the domains but may violate a requirement.
            point[quantity] = if at % 2 == 0 { any } else { outside[random.below(outside.len())] };
        }
    }
    points
}

/// Random contracts, the fuzzing corpus, and the contracts of [`named`] and [`written`].
fn strange() -> Vec<Contract> {
    let accepted = |index: usize, bytes: Vec<u8>| {
        let source = Source::from_bytes(&format!("strange{index}-v1.yaml"), bytes).ok()?;
        check_in(source, None).contract
    };
    let mut texts: Vec<Vec<u8>> = (0..random::CONTRACTS).map(|seed| random::contract(seed).into()).collect();
    if let Some(directory) = std::env::var_os("ROOFLINE_CORPUS") {
        let files = std::fs::read_dir(PathBuf::from(directory)).expect("ROOFLINE_CORPUS is a directory");
        texts.extend(files.map(|file| std::fs::read(file.unwrap().path()).unwrap()));
    }
    let random = texts.into_iter().enumerate().filter_map(|(index, text)| accepted(index, text));
    let contracts: Vec<Contract> = random.chain(named()).chain(written()).collect();
    eprintln!("{} contracts", contracts.len());
    contracts
}

/// Sample points and their interpreted results.
fn interpreted(contract: &Contract) -> Vec<(Vec<f64>, eval::Outputs)> {
    let points = sample::points(contract, 1).take(POINTS);
    points
        .map(|point| {
            let outputs = eval::evaluate(contract, &point).expect("the point is in every domain");
            (point, outputs)
        })
        .collect()
}

/// The bits of a number; all NaNs are equal.
fn bits(value: f64) -> String {
    if value.is_nan() { "nan".into() } else { format!("{:016x}", value.to_bits()) }
}

#[test]
fn enough_of_the_random_contracts_are_accepted() {
    assert!(strange().len() - named().len() - written().len() >= random::CONTRACTS / 2);
}
