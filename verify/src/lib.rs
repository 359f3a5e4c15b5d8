//! Proofs about roofline in addition to the obligations of the contracts.
//!
//! Each property is a plain function that is driven by a Kani harness for all values (`cargo kani -p roofline-verify`) and
//! by a test with the same name for many values (`cargo test`). The modules of the shipped contracts contain their own
//! properties, driven likewise. `mutants` shows that each kind of harness can fail.

/// Defines a Kani harness and a test for each property of the module; the number bounds the loops.
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

pub mod f16;
pub mod file_headers;
pub mod integers;
#[cfg(kani)]
mod mutants;
pub mod quant_blocks;
pub mod translation;
pub mod values;
pub mod work_split;

/// Replaces message formatting, which is irrelevant to proofs and contains long loops.
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

    /// Contracts without quantities have no properties.
    #[test]
    fn every_shipped_contract_with_a_property_is_proven_here() {
        let source = include_str!("lib.rs");
        for (file, _) in roofline_contracts::library::BUILT_IN {
            let contract = roofline_contracts::compile(
                roofline_contracts::library::built_in(file).expect("a built-in contract"),
            );
            let contract = contract.contract.expect("a valid contract");
            let called = source.contains(&format!("= \"{file}\""));
            assert_eq!(called, !contract.quantities.is_empty(), "{file}");
        }
        let calls: BTreeSet<&str> = source.lines().filter(|line| line.contains("= \"")).collect();
        assert!(calls.len() >= 7, "{calls:?}");
    }
}
