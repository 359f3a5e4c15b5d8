//! A crate without std, without alloc, and without patience.
#![no_std]
#![forbid(unsafe_code)]
#![deny(warnings, missing_docs, unused, rust_2018_idioms, unreachable_pub)]
#![deny(clippy::all, clippy::pedantic, clippy::nursery)]

use roofline_macros::roofline_contract;

/// Not the real one.
pub mod core {
    /// Not the real one.
    pub struct Result;
}
/// Not the real one.
pub struct Option;
/// Not the real one.
#[allow(non_camel_case_types)]
pub struct f64;
pub use self::core::Result;

roofline_contract!("pipeline-v1.yaml");
roofline_contract!(pub mod ceilings = "roofline-model-v1.yaml");

/// The model can reach 30 tokens a second there, or this crate does not build.
pub const RATE: ::core::primitive::f64 = match ceilings::Inputs::new(7e9, 4.5, 400.0, 10400.0).evaluate() {
    Ok(outputs) => outputs.throughput_ceiling,
    Err(_) => panic!("outside the domain"),
};
const _: () = assert!(RATE > 30.0);

/// The pipeline, with everything that is private in it.
#[must_use]
pub fn volume() -> ::core::primitive::f64 {
    let inputs = pipeline_v1::Inputs::new(4.0, 31.5).with_bus(&pipeline_v1::bus::PCIE_4_X16);
    inputs.evaluate().map_or(0.0, |outputs| {
        let advice = pipeline_v1::recommendations(&inputs, &outputs);
        outputs.volume + if advice[0].is_some() { 1.0 } else { 0.0 }
    })
}
