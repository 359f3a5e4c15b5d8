//! Runs the generated functions, or equivalent handwritten ones, a million times; `bench/instructions.sh` compares their
//! instruction counts.

use std::hint::black_box;

roofline::roofline_contract!(mod model = "roofline-model-v1.yaml");
roofline::roofline_contract!(mod typed_model = "roofline-model-v1.yaml", typed);

fn generated(params: f64, bits: f64, bandwidth: f64, compute: f64) -> f64 {
    let bytes = model::model_bytes(params, bits);
    model::throughput_ceiling(
        model::bw_ceiling(1.0, bandwidth, bytes),
        model::compute_ceiling(params, 2.0, compute),
    )
}

fn typed(params: f64, bits: f64, bandwidth: f64, compute: f64) -> f64 {
    use typed_model::units::*;
    let bytes = typed_model::model_bytes(Param(params), BitPerParam(bits));
    let memory = typed_model::bw_ceiling(PerToken(1.0), GbPerS(bandwidth), bytes);
    let arithmetic =
        typed_model::compute_ceiling(Param(params), FlopPerParamPerToken(2.0), GflopPerS(compute));
    typed_model::throughput_ceiling(memory, arithmetic).0
}

fn handwritten(params: f64, bits: f64, bandwidth: f64, compute: f64) -> f64 {
    let bytes = params * bits / 8.0;
    let memory = bandwidth / (bytes * 1.0 / 1e9);
    let arithmetic = compute * 1e9 / (params * 2.0);
    if memory < arithmetic { memory } else { arithmetic }
}

fn main() {
    let which = std::env::args().nth(1).unwrap_or_default();
    let function: fn(f64, f64, f64, f64) -> f64 = match which.as_str() {
        "generated" => generated,
        "typed" => typed,
        "handwritten" => handwritten,
        _ => {
            eprintln!("usage: instructions generated|typed|handwritten");
            std::process::exit(2);
        }
    };
    let mut sum = 0.0;
    for i in 0..1_000_000 {
        sum += function(black_box(7e9 + f64::from(i)), black_box(4.0), black_box(200.0), black_box(5000.0));
    }
    println!("{sum}");
}
