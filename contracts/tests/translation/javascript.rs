//! JavaScript, run by Node. Skipped with a note without Node, unless ROOFLINE_EXPECT_NODE is set.

use std::fmt::Write;
use std::process::Command;

use roofline_contracts::contract::Contract;
use roofline_contracts::emit::{javascript, rust};
use roofline_contracts::eval;

use crate::{bits, interpreted, scrambled, shipped, strange};

/// A program that evaluates a contract at many points and prints differences.
fn program(contract: &Contract) -> String {
    let mut out = javascript::module(contract);
    let module = rust::module_name(&contract.metadata.id);
    out += "const view = new DataView(new ArrayBuffer(8));\n\
        const number = (bits) => (view.setBigUint64(0, BigInt('0x' + bits)), view.getFloat64(0));\n\
        const bits = (value) => Number.isNaN(value) ? 'nan' : (view.setFloat64(0, value), view.getBigUint64(0).toString(16).padStart(16, '0'));\n\
        let compared = 0;\n\
        const same = (name, value, wanted) => { compared++; if (bits(value) !== wanted) console.log(name, bits(value), 'not', wanted); };\n\
        const all = (inputs, equations, classes) => {\n";
    for (index, quantity) in contract.quantities.iter().enumerate() {
        let value = match quantity.cases.is_empty() {
            true => format!("number(inputs[{index}])"),
            false => format!("{:?}[number(inputs[{index}])]", quantity.cases),
        };
        let _ = writeln!(out, "const _{} = {value};", quantity.name);
    }
    let arguments = |names: &mut dyn Iterator<Item = &String>| {
        names.map(|name| format!("_{name}")).collect::<Vec<_>>().join(", ")
    };
    for index in &contract.order {
        let equation = &contract.equations[*index];
        let arguments = arguments(&mut equation.expression.operands.iter().map(|operand| &operand.0));
        let (name, function) = (&equation.name, format!("{module}.{}", javascript::name(&equation.name)));
        let _ = writeln!(
            out,
            "const _{name} = {function}({arguments}); same('{name}', _{name}, equations[{index}]);"
        );
    }
    for (index, classifier) in contract.classifiers.iter().enumerate() {
        let arguments = arguments(&mut classifier.operands.iter().map(|operand| &operand.0));
        let (name, function) = (&classifier.name, format!("{module}.{}", javascript::name(&classifier.name)));
        let _ = writeln!(
            out,
            "compared++; if ({function}({arguments}) !== classes[{index}]) console.log('{name}', {function}({arguments}), 'not', classes[{index}]);"
        );
    }
    out += "};\n";
    for (point, outputs) in interpreted(contract) {
        let quoted = |values: &[f64]| {
            values.iter().map(|value| format!("'{}'", bits(*value))).collect::<Vec<_>>().join(",")
        };
        let classes: Vec<String> = (contract.classifiers.iter().zip(&outputs.classes))
            .map(|(classifier, chosen)| format!("'{}'", classifier.cases[*chosen].variant))
            .collect();
        let _ = writeln!(
            out,
            "all([{}], [{}], [{}]);",
            quoted(&point),
            quoted(&outputs.equations),
            classes.join(",")
        );
    }
    // Inside the domains: `$within` checks one value, `$unmet` the requirements.
    for point in scrambled(contract) {
        let inside = contract.quantities.iter().zip(&point).all(|(q, value)| q.domain.contains(*value));
        if !inside {
            continue;
        }
        let values = contract.quantities.iter().zip(&point).map(|(q, value)| match q.cases.is_empty() {
            true => format!("{:?}: number('{}')", q.name, bits(*value)),
            false => format!("{:?}: {:?}", q.name, q.show(*value)),
        });
        let unmet = eval::evaluate(contract, &point).err().map(|refusal| refusal.unmet).unwrap_or_default();
        let _ = writeln!(
            out,
            "{{ const said = JSON.stringify({module}.$unmet({{ {} }})); if (said !== JSON.stringify({unmet:?})) console.log(said); }}",
            values.collect::<Vec<_>>().join(", ")
        );
    }
    out + "console.log('compared', compared);\n"
}

#[test]
fn javascript_and_the_interpreter_are_bit_identical() {
    let directory = std::path::PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    for contract in shipped().into_iter().chain(strange()) {
        let program = program(&contract);
        let path = directory.join(format!("{}.js", contract.metadata.id));
        std::fs::write(&path, program).expect("the file can be written");
        match Command::new("node").arg(&path).output() {
            Ok(output) => {
                let (said, wrong) =
                    (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
                let results =
                    interpreted(&contract).len() * (contract.equations.len() + contract.classifiers.len());
                assert_eq!(said, format!("compared {results}\n"), "{}: {wrong}", contract.metadata.id);
            }
            Err(error) => {
                eprintln!("{}: NOT RUN, cannot run node: {error}", contract.metadata.id);
                assert!(std::env::var_os("ROOFLINE_EXPECT_NODE").is_none(), "node was expected: {error}");
            }
        }
    }
}

#[test]
fn the_javascript_of_the_first_contract() {
    let contract = shipped()
        .into_iter()
        .find(|contract| contract.metadata.id == "roofline-model-v1")
        .expect("a shipped contract");
    insta::assert_snapshot!(javascript::module(&contract));
}
