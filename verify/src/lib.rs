//! What is proven about roofline beyond the contracts' own obligations.
//!
//! Each property is written once, as a plain function, and driven twice: by a Kani harness of the same name, for all
//! values (`cargo kani -p roofline-verify`), and by a test of the same name, for many (`cargo test`). The modules of
//! the shipped contracts bring their own properties, driven in the same two ways. `mutants` shows that each kind of
//! harness can fail.

/// A Kani harness and a test for each property of the module; the number bounds the loops.
macro_rules! drive {
    ($($property:ident unwind $bound:literal;)*) => {
        #[cfg(kani)]
        pub(crate) mod proofs {
            $(
                #[kani::proof]
                #[kani::stub(std::fmt::format, crate::no_text)]
                #[kani::unwind($bound)]
                pub(crate) fn $property() {
                    super::$property(&mut crate::values::Symbolic);
                }
            )*
        }

        #[cfg(test)]
        mod tests {
            $(
                #[test]
                fn $property() {
                    crate::values::sample(super::$property);
                }
            )*
        }
    };
}

pub mod blocks;
pub mod graphs;
pub mod halves;
pub mod headers;
#[cfg(kani)]
mod mutants;
pub mod rows;
pub mod values;
pub mod wholes;

/// Messages have no part in a proof, and writing numbers is a long loop.
#[cfg(kani)]
fn no_text(_: std::fmt::Arguments<'_>) -> String {
    String::new()
}

roofline::roofline_contract!(pub mod hardware = "hardware-v1.yaml");
roofline::roofline_contract!(pub mod quantization = "quantization-v1.yaml");
roofline::roofline_contract!(pub mod operation = "operation-v1.yaml", hardware_v1 = self::hardware);
roofline::roofline_contract!(pub mod choice = "choice-v1.yaml");
roofline::roofline_contract!(pub mod expectation = "expectation-v1.yaml", hardware_v1 = self::hardware);
roofline::roofline_contract!(pub mod roofline_model = "roofline-model-v1.yaml", hardware_v1 = self::hardware);
roofline::roofline_contract!(
    pub mod inference_latency = "inference-latency-v1.yaml",
    hardware_v1 = self::hardware
);
roofline::roofline_contract!(
    pub mod layer_roofline = "layer-roofline-v1.yaml",
    hardware_v1 = self::hardware,
    operation_v1 = self::operation
);
roofline::roofline_contract!(
    pub mod transformer = "transformer-v1.yaml",
    hardware_v1 = self::hardware,
    operation_v1 = self::operation
);
roofline::roofline_contract!(pub mod collective = "collective-v1.yaml");
roofline::roofline_contract!(pub mod speculation = "speculation-v1.yaml");
roofline::roofline_contract!(pub mod cost = "cost-v1.yaml");
roofline::roofline_contract!(pub mod parallel = "parallel-v1.yaml", hardware_v1 = self::hardware);
roofline::roofline_contract!(pub mod offload = "offload-v1.yaml", hardware_v1 = self::hardware);
roofline::roofline_contract!(pub mod serving = "serving-v1.yaml");

#[cfg(test)]
mod shipped {
    use std::collections::BTreeSet;

    /// A contract without quantities has nothing to prove here.
    #[test]
    fn every_shipped_contract_with_a_property_is_proven_here() {
        let source = include_str!("lib.rs");
        for (file, _) in roofline_contracts::library::BUILT_IN {
            let contract = roofline_contracts::compile(
                roofline_contracts::library::built_in(file).expect("it is built in"),
            );
            let contract = contract.contract.expect("shipped contracts have no mistakes");
            let called = source.contains(&format!("= \"{file}\""));
            assert_eq!(called, !contract.quantities.is_empty(), "{file}");
        }
        let calls: BTreeSet<&str> = source.lines().filter(|line| line.contains("= \"")).collect();
        assert!(calls.len() >= 7, "{calls:?}");
    }
}
