//! A custom performance model. The macro checks the units of `pass-time-v1.yaml`, proves its obligation for every f64 in the
//! domains, and compiles it; an error in the file fails the build.

use roofline_macros::roofline_contract;

roofline_contract!(mod pass_time = "pass-time-v1.yaml");

use pass_time::Inputs;

/// 8.5 GB of weights at 57 GB/s, evaluated at compile time.
const PASS: f64 = match Inputs::new(8.5, 57.0).evaluate() {
    Ok(outputs) => outputs.pass_time,
    Err(_) => panic!("outside the domain"),
};
const _: () = assert!(PASS < 150.0, "a pass must not take longer than 150 ms");

fn main() {
    println!("one pass over the weights takes {PASS:.1} ms");
    // Inputs outside of their domains are rejected.
    if let Err(error) = Inputs::new(8.5, 0.0).evaluate() {
        println!("rejected: {error}");
    }
}
