//! Known results, computed with the macro in a separate crate.

use roofline_macros::roofline_contract;

roofline_contract!("roofline-model-v1.yaml");
use roofline_model_v1::{Bottleneck, CONTRACT, Inputs, bw_ceiling, devices, throughput_within};

fn main() {
    assert_eq!(CONTRACT.id, "roofline-model-v1");
    assert_eq!(CONTRACT.sha256.len(), 64);
    assert!(!CONTRACT.description.is_empty());

    let seven = Inputs::new(7e9, 4.0, 200.0, 5000.0).evaluate().expect("inside the domain");
    assert_eq!(seven.model_bytes, 3.5e9);
    assert!((seven.bw_ceiling - 57.142857).abs() < 1e-6, "{}", seven.bw_ceiling);
    assert!((seven.compute_ceiling - 357.142857).abs() < 1e-6, "{}", seven.compute_ceiling);
    assert_eq!(seven.throughput_ceiling, seven.bw_ceiling);
    assert_eq!(seven.bottleneck, Bottleneck::Bandwidth);
    assert_eq!(seven.bottleneck.to_string(), "Bandwidth");
    assert!(throughput_within(50.0, seven.bw_ceiling, seven.compute_ceiling));
    assert!(!throughput_within(58.0, seven.bw_ceiling, seven.compute_ceiling));

    let small = Inputs::new(1000.0, 32.0, 1000.0, 1.0).evaluate().expect("inside the domain");
    assert_eq!(small.bottleneck, Bottleneck::Compute);

    // 1 GB/s over 1 GB per token is one token per second, and so is 1 GFLOP/s over 1 GFLOP per token.
    let tie = Inputs { ops_per_param: 1.0, ..Inputs::new(1e9, 8.0, 1.0, 1.0) };
    assert_eq!(tie.evaluate().expect("inside the domain").bottleneck, Bottleneck::Compute);

    for wrong in [
        Inputs::new(0.0, 4.0, 200.0, 5000.0),
        Inputs::new(1.5, 4.0, 200.0, 5000.0),
        Inputs::new(7e9, 0.0, 200.0, 5000.0),
        Inputs::new(7e9, 4.0, f64::NAN, 5000.0),
        Inputs::new(7e9, 4.0, 200.0, f64::INFINITY),
        Inputs { ops_per_param: 0.0, ..Inputs::new(7e9, 4.0, 200.0, 5000.0) },
    ] {
        let error = wrong.evaluate().expect_err("outside the domain");
        assert!(error.to_string().contains("is outside its domain"), "{error}");
        let _: &dyn std::error::Error = &error;
    }
    let error = Inputs::new(0.0, 4.0, 200.0, 5000.0).evaluate().expect_err("outside the domain");
    let outside: Vec<_> = error.outside().map(|(quantity, value)| (quantity.name, value)).collect();
    assert_eq!(outside, [("total_params", Some(0.0))]);

    let device = devices::by_name("h100_sxm").expect("a profile");
    let there = Inputs::new(8e9, 8.5, 1.0, 1.0).with_device(device);
    assert_eq!(there.bandwidth, device.bandwidth);
    assert!(devices::by_name("h100").is_none());
    assert!(devices::ALL.len() >= 5 && devices::ALL.iter().all(|device| !device.source.is_empty()));
    assert_eq!(bw_ceiling(1.0, 200.0, 3.5e9), seven.bw_ceiling);
    println!("vectors agree");
}
