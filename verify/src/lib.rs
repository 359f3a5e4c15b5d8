//! What is proven about roofline beyond the contracts' own obligations.
//!
//! Each property is written once, as a plain function, and driven twice: by a Kani harness of the same name, for all
//! values (`cargo kani -p roofline-verify`), and by a test of the same name, for many (`cargo test`). The modules of
//! the shipped contracts bring their own properties, driven in the same two ways.

pub mod blocks;
pub mod values;

/// A Kani harness and a test for each property; the number bounds the loops.
macro_rules! drive {
    ($($property:ident unwind $bound:literal;)*) => {
        #[cfg(kani)]
        mod proofs {
            $(
                #[kani::proof]
                #[kani::unwind($bound)]
                fn $property() {
                    crate::blocks::$property(&mut crate::values::Symbolic);
                }
            )*
        }

        #[cfg(test)]
        mod tests {
            $(
                #[test]
                fn $property() {
                    crate::values::sample(crate::blocks::$property);
                }
            )*
        }
    };
}

drive! {
    dequantize_writes_whole_blocks_only unwind 42;
    a_block_product_never_overflows unwind 34;
    quantized_values_stay_within_127 unwind 8;
    a_matrix_product_stays_within_its_slices unwind 62;
    whole_blocks_take_whole_bytes unwind 60;
    bytes_of_huge_tensors_never_wrap unwind 60;
}

roofline::roofline_contract!(pub mod choice = "choice-v1.yaml");
roofline::roofline_contract!(pub mod expectation = "expectation-v1.yaml");
roofline::roofline_contract!(pub mod roofline_model = "roofline-model-v1.yaml");
roofline::roofline_contract!(pub mod operation = "operation-v1.yaml");
roofline::roofline_contract!(pub mod layer_roofline = "layer-roofline-v1.yaml");
roofline::roofline_contract!(pub mod inference_latency = "inference-latency-v1.yaml");
roofline::roofline_contract!(pub mod transformer = "transformer-v1.yaml");
roofline::roofline_contract!(pub mod quantization = "quantization-v1.yaml");
roofline::roofline_contract!(pub mod collective = "collective-v1.yaml");
roofline::roofline_contract!(pub mod speculation = "speculation-v1.yaml");
roofline::roofline_contract!(pub mod cost = "cost-v1.yaml");
roofline::roofline_contract!(pub mod parallel = "parallel-v1.yaml");
roofline::roofline_contract!(pub mod offload = "offload-v1.yaml");
roofline::roofline_contract!(pub mod serving = "serving-v1.yaml");
