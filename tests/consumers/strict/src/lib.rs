//! A strict crate without std and alloc.
#![no_std]
#![forbid(unsafe_code)]
#![deny(warnings, missing_docs, unused, rust_2018_idioms, unreachable_pub)]
#![deny(clippy::all, clippy::pedantic, clippy::nursery)]

use roofline_macros::roofline_contract;

/// Shadows a name that generated code could use.
pub mod core {
    /// Shadows a name that generated code could use.
    pub struct Result;
}
/// Shadows a name that generated code could use.
pub struct Option;
/// Shadows a name that generated code could use.
#[allow(non_camel_case_types)]
pub struct f64;
pub use self::core::Result;

roofline_contract!("pipeline-v1.yaml");
roofline_contract!(pub mod ceilings = "roofline-model-v1.yaml");

/// The build fails unless the model can reach 30 tokens per second.
pub const RATE: ::core::primitive::f64 = match ceilings::Inputs::new(7e9, 4.5, 400.0, 10400.0).evaluate() {
    Ok(outputs) => outputs.throughput_ceiling,
    Err(_) => panic!("outside the domain"),
};
const _: () = assert!(RATE > 30.0);

/// Uses the contract in a private module.
#[must_use]
pub fn volume() -> ::core::primitive::f64 {
    let inputs = pipeline_v1::Inputs::new(4.0, 31.5).with_bus(&pipeline_v1::bus::PCIE_4_X16);
    inputs.evaluate().map_or(0.0, |outputs| {
        let advice = pipeline_v1::recommendations(&inputs, &outputs);
        outputs.volume + if advice[0].is_some() { 1.0 } else { 0.0 }
    })
}
