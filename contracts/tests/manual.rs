//! The example in the manual compiles and uses every key.

use roofline_contracts::compile;
use roofline_contracts::schema::{self, Key, Shape};
use roofline_contracts::source::Source;

const MANUAL: &str = include_str!("../LANGUAGE.md");

fn example() -> &'static str {
    let start = MANUAL.find("```yaml\n").expect("an example") + "```yaml\n".len();
    &MANUAL[start..start + MANUAL[start..].find("```").expect("its end")]
}

#[test]
fn the_manual_example_compiles() {
    let compiled = compile(Source::from_bytes("my-model-v1.yaml", example().into()).expect("text"));
    let shown: Vec<String> =
        compiled.diagnostics.iter().map(|diagnostic| diagnostic.render(&compiled.source)).collect();
    assert!(shown.is_empty(), "{}", shown.join("\n"));
}

#[test]
fn the_manual_example_uses_every_key() {
    fn visit(keys: &[Key], missing: &mut Vec<&'static str>) {
        for key in keys {
            if !example().contains(&format!("{}:", key.name)) {
                missing.push(key.name);
            }
            if let Shape::Section(inner) | Shape::Named(inner) | Shape::List(inner) = key.shape {
                visit(inner, missing);
            }
        }
    }
    let mut missing = Vec::new();
    visit(schema::CONTRACT, &mut missing);
    visit(schema::ENTRY, &mut missing);
    assert!(missing.is_empty(), "{missing:?}");
}
