//! Equations of a contract for evaluation in an HTML page: the script, its calls and its quantities. The build script generates those
//! of the shipped contracts, so that no YAML is read at run time.

use roofline_contracts::contract::Contract;
use roofline_contracts::domain::Domain;
use roofline_contracts::emit::{javascript, rust};

use super::html::Step;

/// A contract in the form that an HTML page evaluates.
#[derive(Clone, Debug, PartialEq)]
pub struct Equations {
    /// JavaScript that declares the functions as one constant.
    pub script: String,
    /// Calls of all equations and classifiers in order of their dependencies.
    pub calls: Vec<Step>,
    /// Inputs of the contract.
    pub quantities: Vec<Quantity>,
}

/// An input of a contract, which a slider may change.
#[derive(Clone, Debug, PartialEq)]
pub struct Quantity {
    /// Name in the contract.
    pub name: String,
    /// Unit in the spelling of the contract.
    pub unit: String,
    /// Domain of the quantity.
    pub domain: Domain,
}

include!(concat!(env!("OUT_DIR"), "/equations.rs"));

impl Equations {
    /// Generates the equations of a contract.
    pub fn from_contract(contract: &Contract) -> Equations {
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

    /// Returns the calls that compute the `wanted` results, in order of their dependencies. Results in `given` are treated as inputs.
    pub fn steps(&self, wanted: &[&str], given: &[&str]) -> Vec<Step> {
        // In reverse order, so that the arguments of a needed call become needed before their own calls are visited.
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

    /// Looks up a quantity by name.
    pub fn quantity(&self, name: &str) -> Option<&Quantity> {
        self.quantities.iter().find(|quantity| quantity.name == name)
    }
}

// The generated code calls the next two functions.

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
    fn generated_equations_match_the_contracts() {
        for (file, _) in roofline_contracts::library::BUILT_IN {
            let source = roofline_contracts::library::built_in(file).unwrap();
            let contract = roofline_contracts::compile(source).contract.unwrap();
            let Some(generated) = Equations::built_in(&contract.metadata.id) else { continue };
            let expected = Equations::from_contract(&contract);
            assert_eq!((&generated.script, &generated.calls), (&expected.script, &expected.calls), "{file}");
            assert_eq!(generated.quantities.len(), expected.quantities.len(), "{file}");
            for (generated, expected) in generated.quantities.iter().zip(&expected.quantities) {
                assert_eq!((&generated.name, &generated.unit), (&expected.name, &expected.unit));
                assert!(generated.domain.same_values(&expected.domain), "{file}: {}", generated.name);
            }
        }
        assert!(Equations::built_in("transformer-v1").is_some() && Equations::built_in("none").is_none());
    }
}
