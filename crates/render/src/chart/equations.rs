//! The equations of a contract as a page computes them: the script, the calls it offers and the quantities they take. Those of
//! the shipped contracts are written by the build script, so that drawing a page reads no YAML.

use roofline_contracts::contract::Contract;
use roofline_contracts::domain::Domain;
use roofline_contracts::emit::{javascript, rust};

use super::html::Step;

/// A contract as a page computes with it.
#[derive(Clone, Debug, PartialEq)]
pub struct Equations {
    /// JavaScript that declares the functions, as one constant.
    pub script: String,
    /// A call of every equation and classifier, each after those whose results it takes.
    pub calls: Vec<Step>,
    /// What has to be given.
    pub quantities: Vec<Quantity>,
}

/// A quantity that a page may move.
#[derive(Clone, Debug, PartialEq)]
pub struct Quantity {
    /// Its name in the contract.
    pub name: String,
    /// Its unit as the contract writes it.
    pub unit: String,
    /// The values it may take.
    pub domain: Domain,
}

include!(concat!(env!("OUT_DIR"), "/equations.rs"));

impl Equations {
    /// Those of any contract.
    pub fn of(contract: &Contract) -> Equations {
        let module = rust::module_name(&contract.metadata.id);
        let equations = contract.order.iter().filter_map(|index| contract.equations.get(*index));
        let equations = equations.map(|one| (&one.name, &one.expression.operands));
        let classifiers = contract.classifiers.iter().map(|one| (&one.name, &one.operands));
        let call = |(name, operands): (&String, &Vec<(String, _)>)| Step {
            result: name.clone(),
            function: format!("{module}.{}", javascript::name(name)),
            arguments: operands.iter().map(|(operand, _)| operand.clone()).collect(),
        };
        let quantities = contract.quantities.iter().map(|one| Quantity {
            name: one.name.clone(),
            unit: one.unit_text.clone(),
            domain: one.domain.clone(),
        });
        Equations {
            script: javascript::module(contract),
            calls: equations.chain(classifiers).map(call).collect(),
            quantities: quantities.collect(),
        }
    }

    /// The calls that give some results, each after those it needs; quantities are left to others, and so are the results
    /// `given` elsewhere.
    pub fn steps(&self, wanted: &[&str], given: &[&str]) -> Vec<Step> {
        // From the last to the first: whatever a needed one uses is needed too.
        let mut needed = wanted.to_vec();
        let mut steps = Vec::new();
        for call in self.calls.iter().rev() {
            let name = call.result.as_str();
            if needed.contains(&name) && !given.contains(&name) {
                needed.extend(call.arguments.iter().map(String::as_str));
                steps.push(call.clone());
            }
        }
        steps.reverse();
        steps
    }

    /// A quantity by its name.
    pub fn quantity(&self, name: &str) -> Option<&Quantity> {
        self.quantities.iter().find(|quantity| quantity.name == name)
    }
}

// The next two are called by what the build script wrote.

fn call(result: &str, function: &str, arguments: &[&str]) -> Step {
    let arguments = arguments.iter().map(|&argument| argument.to_owned()).collect();
    Step { result: result.to_owned(), function: function.to_owned(), arguments }
}

fn quantity(name: &str, unit: &str, integer: bool, (low, high): (f64, f64), set: &[f64]) -> Quantity {
    let mut domain = Domain::default();
    (domain.integer, domain.low, domain.high, domain.set) = (integer, low, high, set.to_vec());
    Quantity { name: name.to_owned(), unit: unit.to_owned(), domain }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_build_script_writes_the_equations_that_the_contracts_have() {
        for (file, _) in roofline_contracts::library::BUILT_IN {
            let source = roofline_contracts::library::built_in(file).unwrap();
            let contract = roofline_contracts::compile(source).contract.unwrap();
            let Some(written) = Equations::built_in(&contract.metadata.id) else { continue };
            let expected = Equations::of(&contract);
            assert_eq!((&written.script, &written.calls), (&expected.script, &expected.calls), "{file}");
            assert_eq!(written.quantities.len(), expected.quantities.len(), "{file}");
            for (written, expected) in written.quantities.iter().zip(&expected.quantities) {
                assert_eq!((&written.name, &written.unit), (&expected.name, &expected.unit));
                assert!(written.domain.same_values(&expected.domain), "{file}: {}", written.name);
            }
        }
        assert!(Equations::built_in("transformer-v1").is_some() && Equations::built_in("none").is_none());
    }
}
