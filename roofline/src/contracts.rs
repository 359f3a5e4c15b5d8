//! The contracts that ship with the crate, compiled: every formula this crate computes comes from here.
//! A contract that several others depend on is generated once.

use roofline_macros::roofline_contract;

roofline_contract!(pub mod hardware = "hardware-v1.yaml");
roofline_contract!(pub mod inference_latency = "inference-latency-v1.yaml", hardware_v1 = self::hardware);
roofline_contract!(pub mod layer_roofline = "layer-roofline-v1.yaml", hardware_v1 = self::hardware);
roofline_contract!(pub mod models = "models-v1.yaml");
roofline_contract!(pub mod quantization = "quantization-v1.yaml");
roofline_contract!(pub mod roofline_model = "roofline-model-v1.yaml", hardware_v1 = self::hardware);
roofline_contract!(pub mod transformer = "transformer-v1.yaml", hardware_v1 = self::hardware);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shared_contract_is_one_module() {
        let device: &hardware::devices::Device = &roofline_model::devices::H100_SXM;
        let same: &layer_roofline::devices::Device = device;
        assert_eq!(same.name, "h100_sxm");
    }

    #[test]
    fn seven_billion_parameters_in_four_bits_on_a_slow_machine_are_bandwidth_bound() {
        let outputs = roofline_model::Inputs::new(7e9, 4.0, 200.0, 5000.0).evaluate().unwrap();
        assert_eq!(outputs.model_bytes, 3.5e9);
        assert!((outputs.bw_ceiling - 57.142857).abs() < 1e-6);
        assert!((outputs.compute_ceiling - 357.142857).abs() < 1e-6);
        assert_eq!(outputs.bottleneck, roofline_model::Bottleneck::Bandwidth);
        let outputs = roofline_model::Inputs::new(1000.0, 32.0, 1000.0, 1.0).evaluate().unwrap();
        assert_eq!(outputs.bottleneck, roofline_model::Bottleneck::Compute);
    }

    #[test]
    fn a_profile_sets_bandwidth_and_compute() {
        let inputs = roofline_model::Inputs::new(7e9, 16.0, 1.0, 1.0);
        let inputs = inputs.with_device(&hardware::devices::A100_SXM_80GB);
        assert_eq!((inputs.bandwidth, inputs.compute), (2039.0, 312_000.0));
    }

    #[test]
    fn the_dense_layer_and_the_ridge_of_the_layer_profiler() {
        use layer_roofline::*;
        assert_eq!(dense_flops(8.0, 64.0, 32.0), 32_768.0);
        assert_eq!(dense_bytes(4.0, 4.0, 8.0, 64.0, 32.0), 11_264.0);
        assert_eq!(ridge_point(50.0, 100.0), 2.0);
        assert_eq!(bound(11_264.0, arithmetic_intensity(32_768.0, 11_264.0), 2.0), Bound::Compute);
        assert_eq!(bound(1.0, 1.9, 2.0), Bound::Memory);
        assert_eq!(bound(1.0, 2.0, 2.0), Bound::Compute);
        assert_eq!(bound(0.0, arithmetic_intensity(1.0, 0.0), 2.0), Bound::Compute);
    }

    #[test]
    fn the_convolution_of_the_measured_profiler() {
        let outputs = layer_roofline::Inputs {
            in_channels: 4.0,
            out_channels: 8.0,
            input_height: 8.0,
            input_width: 8.0,
            kernel_height: 3.0,
            kernel_width: 3.0,
            padding_height: 1.0,
            padding_width: 1.0,
            ..layer_roofline::Inputs::new(36_864.0, 4_224.0, 1.0, 1.0)
        };
        let outputs = outputs.evaluate().unwrap();
        assert_eq!((outputs.convolution_flops, outputs.convolution_bytes), (36_864.0, 4_224.0));
        assert!((outputs.arithmetic_intensity - 8.727).abs() < 1e-3);
    }

    #[test]
    fn convolutions_in_one_and_three_dimensions_are_worked_out_by_hand() {
        let none = layer_roofline::Inputs::new(0.0, 0.0, 1.0, 1.0);
        // 10 numbers, 3 taps at a distance of 2: 10 - 2 x 2 outputs, 4 channels that do not see each other.
        let dilated = layer_roofline::Inputs {
            in_channels: 4.0,
            out_channels: 4.0,
            groups: 4.0,
            input_width: 10.0,
            kernel_width: 3.0,
            dilation_width: 2.0,
            ..none
        };
        let dilated = dilated.evaluate().unwrap();
        assert_eq!((dilated.output_width, dilated.convolution_flops), (6.0, 2.0 * 4.0 * 6.0 * 3.0));
        assert_eq!(dilated.convolution_bytes, 4.0 * (4.0 * 3.0 + 4.0 * 10.0 + 4.0 * 6.0));
        // A cube of 5 under a cube of 3 with steps of 2: 2 x 2 x 2 outputs of 27 taps, for 2 samples.
        let cube = layer_roofline::Inputs {
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
        assert_eq!(cube.evaluate().unwrap().convolution_flops, 2.0 * 2.0 * 8.0 * 27.0);
        // Transposed: (5 - 1) x 2 - 2 x 1 + 3 + 1 outputs.
        let transposed = layer_roofline::Inputs {
            in_channels: 2.0,
            out_channels: 3.0,
            input_width: 5.0,
            kernel_width: 4.0,
            stride_width: 2.0,
            padding_width: 1.0,
            ..none
        };
        let transposed = transposed.evaluate().unwrap();
        assert_eq!((transposed.transposed_width, transposed.transposed_flops), (10.0, 240.0));
        assert_eq!(transposed.transposed_bytes, 4.0 * (24.0 + 10.0 + 30.0));
        // A kernel that does not fit has no outputs.
        let tiny = layer_roofline::Inputs { input_width: 2.0, kernel_width: 3.0, ..none };
        assert_eq!(tiny.evaluate().unwrap().convolution_flops, 0.0);
    }

    #[test]
    fn advice_comes_in_the_order_of_its_urgency() {
        let names = |inputs: layer_roofline::Inputs| -> Vec<&'static str> {
            let outputs = inputs.evaluate().unwrap();
            layer_roofline::recommendations(&inputs, &outputs).into_iter().flatten().map(|a| a.name).collect()
        };
        let new = layer_roofline::Inputs::new;
        assert_eq!(names(new(10.0, 100.0, 1.0, 2.0)), ["quantize_weights", "prune"]);
        assert_eq!(names(new(100.0, 100.0, 1.0, 2.0)), ["quantize_weights"]);
        assert_eq!(names(new(1e6, 100.0, 1.0, 2.0)), ["vectorize"]);
        assert_eq!(names(new(2e9, 100.0, 1.0, 2.0)), ["vectorize", "distil"]);
    }

    #[test]
    fn bytes_of_q8_0_and_its_neighbours() {
        use quantization::*;
        let bits = |format: &formats::Format| bits_per_weight(format.block_weights, format.block_bytes);
        assert_eq!(bits(&formats::Q8_0), 8.5);
        assert_eq!(bits(&formats::Q4_K), 4.5);
        assert_eq!(bits(&formats::Q6_K), 6.5625);
        assert_eq!(row_bytes(formats::Q8_0.block_weights, formats::Q8_0.block_bytes, 4096.0), 4352.0);
    }

    #[test]
    fn bands_of_utilization_as_the_notes_on_q8_0_have_them() {
        use layer_roofline::*;
        let band = |achieved: f64, peak: f64| utilization_band(bandwidth_utilization(peak, achieved));
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
        let inputs = inference_latency::Inputs::new(params, flops, bandwidth, compute);
        inference_latency::Inputs { param_size: size, ..inputs }
    }

    #[test]
    fn latency_is_worked_out_by_hand_on_three_devices() {
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

        // 256 samples: 256 x 14e9 operations at half of 989.4e12 against 14e9 bytes at 3350e9 B/s.
        let h100 = model(256.0).with_device(&H100_SXM).evaluate().unwrap();
        assert!((h100.compute_time - 7.244_794_8e-3).abs() < 1e-9);
        assert!((h100.memory_time - 4.179_104_5e-3).abs() < 1e-9);
        assert!((h100.throughput - 256.0 / (h100.compute_time + 15e-6)).abs() < 1e-6);
        assert_eq!(h100.bottleneck, Bottleneck::Compute);

        // 28e9 bytes in FP32 do not fit in 16 GB; a model of 1000 parameters is all overhead.
        let large = Inputs { param_size: 4.0, ..model(1.0) }.with_device(&T4).evaluate().unwrap();
        assert_eq!(large.feasibility, Feasibility::TooLarge);
        let small = latency(1000.0, 4.0, 2000.0, 1.0, 1.0);
        let small = Inputs { overhead: 15.0, ..small }.with_device(&T4).evaluate().unwrap();
        assert_eq!(small.bottleneck, Bottleneck::Overhead);
    }

    /// Figures of PyPI mlsysim 0.3.0, `Engine.solve` with an efficiency of 0.5, taken with `bench/mlsysim/compare.py`. It
    /// moves a tenth of the weights for each sample beside the weights, and adds a tax for each layer to the overhead;
    /// both are inputs here. Its energy scales with the utilization and is not compared.
    #[test]
    fn latency_agrees_with_mlsysim_where_the_model_is_the_same() {
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
                assert!((ours / theirs - 1.0).abs() < 1e-9, "{ours} and {theirs}");
            }
        }
    }
}
