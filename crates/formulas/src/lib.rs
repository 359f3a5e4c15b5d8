//! The shipped contracts, compiled to const Rust. Every formula that roofline evaluates is generated here. Shared dependencies and
//! types are generated once.

// Contracts are proven for IEEE-754 double precision; the x87 FPU rounds twice.
#[cfg(all(target_arch = "x86", not(target_feature = "sse2")))]
compile_error!("f64 is not IEEE-754 double precision on this target; build for a target with SSE2");

mod spelled;

use roofline_macros::roofline_contract;

roofline_contract!(pub mod choice = "choice-v1.yaml");
roofline_contract!(pub mod collective = "collective-v1.yaml", types = self::hardware);
roofline_contract!(pub mod cost = "cost-v1.yaml", types = self::hardware);
roofline_contract!(pub mod expectation = "expectation-v1.yaml", hardware_v1 = self::hardware);
roofline_contract!(pub mod hardware = "hardware-v1.yaml");
roofline_contract!(pub mod inference_latency = "inference-latency-v1.yaml", hardware_v1 = self::hardware);
roofline_contract!(
    pub mod layer_roofline = "layer-roofline-v1.yaml",
    hardware_v1 = self::hardware,
    operation_v1 = self::operation
);
roofline_contract!(pub mod models = "models-v1.yaml", types = self::hardware);
roofline_contract!(pub mod offload = "offload-v1.yaml", hardware_v1 = self::hardware);
roofline_contract!(pub mod operation = "operation-v1.yaml", hardware_v1 = self::hardware);
roofline_contract!(pub mod parallel = "parallel-v1.yaml", hardware_v1 = self::hardware);
roofline_contract!(pub mod quantization = "quantization-v1.yaml", types = self::hardware);
roofline_contract!(pub mod roofline_model = "roofline-model-v1.yaml", hardware_v1 = self::hardware);
roofline_contract!(pub mod serving = "serving-v1.yaml", types = self::hardware);
roofline_contract!(pub mod speculation = "speculation-v1.yaml", types = self::hardware);
roofline_contract!(
    pub mod transformer = "transformer-v1.yaml",
    hardware_v1 = self::hardware,
    operation_v1 = self::operation
);

/// Returns the unit of an input or output of `transformer-v1`.
pub fn transformer_unit(name: &str) -> Option<&'static str> {
    use transformer::{Inputs, Outputs};
    let inputs = Inputs::NAMES.iter().zip(Inputs::UNITS);
    let outputs = Outputs::NAMES.iter().zip(Outputs::UNITS);
    inputs.chain(outputs).find(|(known, _)| **known == name).map(|(_, unit)| unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contracts_share_the_module_of_a_dependency() {
        let device: &hardware::devices::Device = &roofline_model::devices::H100_SXM;
        let same: &layer_roofline::devices::Device = device;
        assert_eq!(same.name, "h100_sxm");
    }

    #[test]
    fn a_4_bit_7b_model_is_bandwidth_bound_on_a_slow_machine() {
        let outputs = roofline_model::Inputs::new(7e9, 4.0, 200.0, 5000.0).evaluate().unwrap();
        assert_eq!(outputs.model_bytes, 3.5e9);
        assert!((outputs.bw_ceiling - 57.142857).abs() < 1e-6);
        assert!((outputs.compute_ceiling - 357.142857).abs() < 1e-6);
        assert_eq!(outputs.bottleneck, roofline_model::Bottleneck::Bandwidth);
        let outputs = roofline_model::Inputs::new(1000.0, 32.0, 1000.0, 1.0).evaluate().unwrap();
        assert_eq!(outputs.bottleneck, roofline_model::Bottleneck::Compute);
    }

    #[test]
    fn a_device_sets_bandwidth_and_compute() {
        let inputs = roofline_model::Inputs::new(7e9, 16.0, 1.0, 1.0);
        let inputs = inputs.with_device(&hardware::devices::A100_SXM_80GB);
        assert_eq!((inputs.bandwidth, inputs.compute), (2039.0, 312_000.0));
    }

    /// A dense layer in FP32.
    fn dense(batch: f64, from: f64, to: f64) -> operation::Inputs {
        operation::Inputs {
            batch,
            dense_params: from * to,
            in_features: from,
            out_features: to,
            bits_per_weight: 32.0,
            activation_size: 4.0,
            ..operation::Inputs::new(1.0, 1.0)
        }
    }

    #[test]
    fn a_dense_layer_is_bounded_by_memory_below_the_ridge_point() {
        use operation::{Bound, Inputs};
        let on = |inputs: Inputs| Inputs { bandwidth: 50.0, compute: 100.0, ..inputs }.evaluate().unwrap();
        let layer = on(dense(8.0, 64.0, 32.0));
        assert_eq!((layer.flops, layer.ideal_bytes, layer.ridge_point), (32_768.0, 11_264.0, 2.0));
        assert_eq!(layer.bound, Bound::Compute);
        let known = |flops, bytes| {
            on(Inputs { other_flops: flops, other_bytes: bytes, ..Inputs::new(1.0, 1.0) }).bound
        };
        assert_eq!(known(1.9, 1.0), Bound::Memory);
        assert_eq!(known(2.0, 1.0), Bound::Compute);
        assert_eq!(known(1.0, 0.0), Bound::Compute);
    }

    #[test]
    fn a_convolution_matches_hand_computed_costs() {
        let outputs = operation::Inputs {
            in_channels: 4.0,
            out_channels: 8.0,
            input_height: 8.0,
            input_width: 8.0,
            kernel_height: 3.0,
            kernel_width: 3.0,
            padding_height: 1.0,
            padding_width: 1.0,
            ..dense(1.0, 0.0, 0.0)
        };
        let outputs = outputs.evaluate().unwrap();
        assert_eq!((outputs.flops, outputs.ideal_bytes, outputs.bytes), (36_864.0, 4_224.0, 1_152.0));
        assert!((outputs.flops / outputs.ideal_bytes - 8.727).abs() < 1e-3);
    }

    #[test]
    fn convolutions_in_1d_and_3d_match_hand_computed_costs() {
        use operation::Inputs;
        let none = Inputs { in_channels: 1.0, out_channels: 1.0, ..dense(1.0, 0.0, 0.0) };
        // Depthwise: 10 elements, 3 taps with dilation 2, thus 10 - 2 x 2 outputs, and 4 groups.
        let dilated = Inputs {
            in_channels: 4.0,
            out_channels: 4.0,
            groups: 4.0,
            input_width: 10.0,
            kernel_width: 3.0,
            dilation_width: 2.0,
            ..none
        };
        let dilated = dilated.evaluate().unwrap();
        assert_eq!((dilated.output_width, dilated.flops), (6.0, 2.0 * 4.0 * 6.0 * 3.0));
        assert_eq!(dilated.ideal_bytes, 4.0 * (4.0 * 3.0 + 4.0 * 10.0 + 4.0 * 6.0));
        // Input 5 x 5 x 5, kernel 3 x 3 x 3, stride 2: 2 x 2 x 2 outputs of 27 taps, for 2 samples.
        let cube = Inputs {
            batch: 2.0,
            input_depth: 5.0,
            input_height: 5.0,
            input_width: 5.0,
            kernel_depth: 3.0,
            kernel_height: 3.0,
            kernel_width: 3.0,
            stride_depth: 2.0,
            stride_height: 2.0,
            stride_width: 2.0,
            ..none
        };
        assert_eq!(cube.evaluate().unwrap().flops, 2.0 * 2.0 * 8.0 * 27.0);
        // Transposed: (5 - 1) x 2 - 2 x 1 + 3 + 1 outputs.
        let transposed = Inputs {
            transposed: 1.0,
            in_channels: 2.0,
            out_channels: 3.0,
            input_width: 5.0,
            kernel_width: 4.0,
            stride_width: 2.0,
            padding_width: 1.0,
            ..none
        };
        let transposed = transposed.evaluate().unwrap();
        assert_eq!((transposed.transposed_width, transposed.flops), (10.0, 240.0));
        assert_eq!(transposed.ideal_bytes, 4.0 * (24.0 + 10.0 + 30.0));
        // A kernel larger than the input has no outputs.
        let tiny = Inputs { input_width: 2.0, kernel_width: 3.0, ..none };
        assert_eq!(tiny.evaluate().unwrap().flops, 0.0);
    }

    #[test]
    fn an_empty_operation_costs_nothing() {
        let outputs = operation::Inputs::new(1.0, 1.0).evaluate().unwrap();
        assert_eq!((outputs.flops, outputs.bytes, outputs.least_time, outputs.share), (0.0, 0.0, 0.0, 0.0));
        assert_eq!(outputs.bound, operation::Bound::Compute);
    }

    #[test]
    fn a_recurrent_state_is_moved_once_for_any_number_of_tokens() {
        let state = |tokens| {
            let inputs =
                operation::Inputs { tokens, state_width: 100.0, state_work: 400.0, ..dense(2.0, 0.0, 0.0) };
            inputs.evaluate().unwrap()
        };
        assert_eq!((state(1.0).cache_bytes, state(64.0).cache_bytes), (1600.0, 1600.0));
        assert_eq!((state(1.0).flops, state(64.0).flops), (800.0, 51_200.0));
    }

    #[test]
    fn advice_is_sorted_by_priority() {
        use layer_roofline::Inputs;
        let names = |flops: f64, bytes: f64| -> Vec<&'static str> {
            let inputs = Inputs { other_flops: flops, other_bytes: bytes, ..Inputs::new(1.0, 1.0) };
            let inputs = Inputs { bandwidth: 1.0, compute: 2.0, ..inputs };
            let outputs = inputs.evaluate().unwrap();
            layer_roofline::recommendations(&inputs, &outputs).into_iter().flatten().map(|a| a.name).collect()
        };
        assert_eq!(names(10.0, 100.0), ["quantize_weights", "prune"]);
        assert_eq!(names(100.0, 100.0), ["quantize_weights"]);
        assert_eq!(names(1e6, 100.0), ["vectorize"]);
        assert_eq!(names(2e9, 100.0), ["vectorize", "distil"]);
        assert_eq!(names(0.0, 0.0), [""; 0], "an empty operation needs no advice");
        let few =
            Inputs { other_flops: 10.0, other_bytes: 100.0, bits_per_weight: 8.5, ..Inputs::new(1.0, 1.0) };
        let few = Inputs { bandwidth: 1.0, compute: 2.0, ..few };
        let advice = layer_roofline::recommendations(&few, &few.evaluate().unwrap());
        let names: Vec<&str> = advice.into_iter().flatten().map(|advice| advice.name).collect();
        assert_eq!(names, ["share_bytes", "prune"], "q8_0 is already quantized");
    }

    #[test]
    fn quantization_formats_have_their_bits_per_weight() {
        use quantization::{Inputs, formats};
        let blank = Inputs { row_weights: 4096.0, ..Inputs::new(1.0, 1.0) };
        let of = |format| blank.with_format(format).evaluate().unwrap();
        assert_eq!(of(&formats::Q8_0).bits_per_weight, 8.5);
        assert_eq!(of(&formats::Q4_K).bits_per_weight, 4.5);
        assert_eq!(of(&formats::Q6_K).bits_per_weight, 6.5625);
        assert_eq!(of(&formats::Q8_0).row_bytes, 4352.0);
    }

    #[test]
    fn utilization_is_rated_in_four_bands() {
        use layer_roofline::{Inputs, UtilizationBand};
        let band = |achieved: f64, peak: f64| {
            let read = Inputs { other_bytes: achieved * 1e9, ..Inputs::new(1.0, 1.0) };
            Inputs { bandwidth: peak, ..read }.evaluate().unwrap().utilization_band
        };
        assert_eq!(band(18.0, 20.0), UtilizationBand::NearOptimal);
        assert_eq!(band(13.9, 14.0), UtilizationBand::NearOptimal);
        assert_eq!(band(11.1, 14.0), UtilizationBand::Good);
        assert_eq!(band(6.0, 10.0), UtilizationBand::Improvable);
        assert_eq!(band(4.9, 10.0), UtilizationBand::Poor);
    }

    fn latency(
        params: f64,
        size: f64,
        flops: f64,
        bandwidth: f64,
        compute: f64,
    ) -> inference_latency::Inputs {
        // Power and memory are placeholders: a device sets them, or their results are not used.
        let blank = inference_latency::Inputs::new(params, flops, 1.0, 1.0, bandwidth, compute);
        inference_latency::Inputs { param_size: size, ..blank }
    }

    #[test]
    fn latency_on_three_devices_matches_hand_computed_values() {
        use hardware::devices::{A100_SXM_80GB, H100_SXM, T4};
        use inference_latency::{Bottleneck, Feasibility, Inputs};
        let model = |batch| Inputs { batch, overhead: 15.0, ..latency(7e9, 2.0, 14e9, 1.0, 1.0) };

        // 14e9 bytes at 2039e9 B/s; 14e9 operations at half of 312e12.
        let a100 = model(1.0).with_device(&A100_SXM_80GB).evaluate().unwrap();
        assert!((a100.memory_time - 6.866_110_8e-3).abs() < 1e-9);
        assert!((a100.compute_time - 8.974_358_9e-5).abs() < 1e-12);
        assert!((a100.latency - 6.881_110_8e-3).abs() < 1e-9);
        assert!((a100.energy - 400.0 * a100.latency).abs() < 1e-12);
        assert_eq!((a100.bottleneck, a100.feasibility), (Bottleneck::Memory, Feasibility::Fits));
        // 14e9 operations and bytes in 6.8811108 ms; the roofs are 312e12 FLOP/s and 2039e9 B/s.
        assert!((a100.achieved_compute - 2_034.555_22).abs() < 1e-3, "{}", a100.achieved_compute);
        assert!((a100.achieved_bandwidth - 2_034.555_22).abs() < 1e-3, "{}", a100.achieved_bandwidth);
        assert!((a100.compute_utilization - a100.achieved_compute / 312e3).abs() < 1e-15);
        assert!((a100.bandwidth_utilization - a100.achieved_bandwidth / 2039.0).abs() < 1e-15);

        // 256 samples: 256 x 14e9 operations at half of 989.4e12 against 14e9 bytes at 3350e9 B/s.
        let h100 = model(256.0).with_device(&H100_SXM).evaluate().unwrap();
        assert!((h100.compute_time - 7.244_794_8e-3).abs() < 1e-9);
        assert!((h100.memory_time - 4.179_104_5e-3).abs() < 1e-9);
        assert!((h100.throughput - 256.0 / (h100.compute_time + 15e-6)).abs() < 1e-6);
        assert_eq!(h100.bottleneck, Bottleneck::Compute);

        // 28e9 bytes in FP32 do not fit in 16 GB; a model with 1000 parameters is overhead-bound.
        let large = Inputs { param_size: 4.0, ..model(1.0) }.with_device(&T4).evaluate().unwrap();
        assert_eq!(large.feasibility, Feasibility::TooLarge);
        let small = latency(1000.0, 4.0, 2000.0, 1.0, 1.0);
        let small = Inputs { overhead: 15.0, ..small }.with_device(&T4).evaluate().unwrap();
        assert_eq!(small.bottleneck, Bottleneck::Overhead);
    }

    /// Results of `Engine.solve` of mlsysim 0.3.0 from PyPI with an efficiency of 0.5, produced by `bench/mlsysim/compare.py`. mlsysim
    /// moves another tenth of the weights per sample and adds an overhead per layer; both are inputs here. Its energy scales with the
    /// utilization and is not compared.
    #[test]
    fn latency_agrees_with_mlsysim() {
        struct Case {
            weights: f64,
            flops: f64,
            batch: f64,
            bandwidth: f64,
            compute: f64,
            overhead_ms: f64,
            compute_ms: f64,
            memory_ms: f64,
            latency_ms: f64,
            throughput: f64,
        }
        #[rustfmt::skip]
        let cases = [
            // Llama 2 7B, A100, fp16
            Case { weights: 14e9, flops: 14e9, batch: 1.0, bandwidth: 2039.0, compute: 312e3, overhead_ms: 0.335,
                compute_ms: 0.089_743_589_74, memory_ms: 7.552_721_922_5, latency_ms: 7.887_721_922_5, throughput: 126.779_317_25 },
            // Llama 3.1 8B, H100, fp16
            Case { weights: 16.06e9, flops: 16.06e9, batch: 1.0, bandwidth: 3350.0, compute: 989e3, overhead_ms: 0.33,
                compute_ms: 0.032_477_249_75, memory_ms: 5.273_432_835_8, latency_ms: 5.603_432_835_8, throughput: 178.462_030_2 },
            // Llama 3.1 8B, H100, int8, batch 16
            Case { weights: 8.03e9, flops: 16.06e9, batch: 16.0, bandwidth: 3350.0, compute: 1979e3, overhead_ms: 0.33,
                compute_ms: 0.259_686_710_46, memory_ms: 6.232_238_806, latency_ms: 6.562_238_806, throughput: 2_438.192_280_6 },
            // BERT-Large, T4, fp16, batch 32
            Case { weights: 680e6, flops: 72e9, batch: 32.0, bandwidth: 320.0, compute: 65e3, overhead_ms: 0.27,
                compute_ms: 70.892_307_692, memory_ms: 8.925, latency_ms: 71.162_307_692, throughput: 449.676_254_7 },
            // ResNet-50, V100, fp32, batch 64
            Case { weights: 102_228_128.0, flops: 8.2e9, batch: 64.0, bandwidth: 900.0, compute: 15.7e3, overhead_ms: 0.52,
                compute_ms: 66.853_503_185, memory_ms: 0.840_542_385_8, latency_ms: 67.373_503_185, throughput: 949.928_339_4 },
            // Mixtral 8x7B, MI300X, fp16
            Case { weights: 93.4e9, flops: 25.8e9, batch: 1.0, bandwidth: 5300.0, compute: 1307e3, overhead_ms: 0.332,
                compute_ms: 0.039_479_724_56, memory_ms: 19.384_905_66, latency_ms: 19.716_905_66, throughput: 50.717_897_485 },
        ];
        for case in cases {
            let inputs = inference_latency::Inputs {
                batch: case.batch,
                sample_state: 0.1 * case.weights,
                overhead: case.overhead_ms * 1e3,
                ..latency(case.weights, 1.0, case.flops, case.bandwidth, case.compute)
            };
            let outputs = inputs.evaluate().unwrap();
            for (ours, theirs) in [
                (outputs.compute_time * 1e3, case.compute_ms),
                (outputs.memory_time * 1e3, case.memory_ms),
                (outputs.latency * 1e3, case.latency_ms),
                (outputs.throughput, case.throughput),
            ] {
                assert!((ours / theirs - 1.0).abs() < 1e-9, "roofline: {ours}, mlsysim: {theirs}");
            }
        }
    }
}
