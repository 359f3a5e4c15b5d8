//! The interpreter and the compiled Rust are bit-identical at many points of every shipped contract.

use std::collections::BTreeSet;

use roofline_contracts::library::{BUILT_IN, built_in};
use roofline_contracts::{check_in, eval, sample};

/// Number of points per contract.
const POINTS: usize = 100_000;

/// Compares a contract with its module: classes by name, equations by their bits.
macro_rules! agree {
    ($($test:ident: $module:ident = $file:literal, $classes:expr;)*) => {
        $(
            mod $module {
                roofline::roofline_contract!(pub mod generated = $file);
            }

            #[test]
            fn $test() {
                use $module::generated::{Inputs, Outputs};
                let contract = check_in(built_in($file).expect("built in"), None).contract.expect("valid");
                let order = Inputs::NAMES.map(|name| contract.quantity(name).expect("a quantity"));
                let names: Vec<&str> = contract.equations.iter().map(|equation| equation.name.as_str()).collect();
                let results = Outputs::NAMES.map(|name| names.iter().position(|known| *known == name).expect("an equation"));
                let classes: fn(&Outputs) -> Vec<&'static str> = $classes;
                let mut evaluated = 0;
                for point in sample::points(&contract, 1).take(POINTS) {
                    let compiled = Inputs::from_array(order.map(|index| point[index])).evaluate().expect("inside the domains");
                    let interpreted = eval::evaluate(&contract, &point).expect("inside the domains");
                    for ((name, value), index) in Outputs::NAMES.iter().zip(compiled.to_array()).zip(results) {
                        let wanted = interpreted.equations[index];
                        let same = value.to_bits() == wanted.to_bits() || (value.is_nan() && wanted.is_nan());
                        assert!(same, "{name} at {point:?}: compiled {value:?}, interpreted {wanted:?}");
                    }
                    let chosen = contract.classifiers.iter().zip(&interpreted.classes);
                    let chosen: Vec<&str> = chosen.map(|(classifier, &case)| classifier.cases[case].variant.as_str()).collect();
                    assert_eq!(classes(&compiled), chosen, "{point:?}");
                    evaluated += 1;
                }
                assert_eq!(evaluated, POINTS);
            }
        )*

        #[test]
        fn every_shipped_contract_is_compared() {
            let here: BTreeSet<&str> = [$($file),*].into();
            let shipped: BTreeSet<&str> = BUILT_IN.iter().map(|(file, _)| *file).collect();
            assert_eq!(here, shipped);
        }
    };
}

agree! {
    the_roofline_model_agrees: roofline_model = "roofline-model-v1.yaml", |outputs| vec![outputs.bottleneck.name()];
    choices_agree: choice = "choice-v1.yaml", |outputs| vec![outputs.choice.name()];
    collectives_agree: collective = "collective-v1.yaml", |_| vec![];
    costs_agree: cost = "cost-v1.yaml", |_| vec![];
    parallel_layouts_agree: parallel = "parallel-v1.yaml", |_| vec![];
    offloading_agrees: offload = "offload-v1.yaml", |outputs| vec![outputs.way.name()];
    serving_agrees: serving = "serving-v1.yaml", |outputs| vec![outputs.room.name()];
    speculation_agrees: speculation = "speculation-v1.yaml", |outputs| vec![outputs.gain.name()];
    expectations_agree: expectation = "expectation-v1.yaml", |_| vec![];
    hardware_agrees: hardware = "hardware-v1.yaml", |_| vec![];
    models_agree: models = "models-v1.yaml", |_| vec![];
    quantization_agrees: quantization = "quantization-v1.yaml", |_| vec![];
    operations_agree: operations = "operation-v1.yaml", |outputs| vec![outputs.bound.name()];
    layers_agree: layers = "layer-roofline-v1.yaml", |outputs| {
        vec![outputs.pass_bound.name(), outputs.utilization_band.name(), outputs.bound.name()]
    };
    latency_agrees: latency = "inference-latency-v1.yaml", |outputs| {
        vec![outputs.bottleneck.name(), outputs.feasibility.name()]
    };
    transformers_agree: transformers = "transformer-v1.yaml", |outputs| {
        vec![outputs.decode_bound.name(), outputs.prefill_bound.name(), outputs.feasibility.name()]
    };
}
