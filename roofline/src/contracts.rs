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
        let device: &hardware::devices::Devices = &roofline_model::devices::H100_SXM;
        let same: &layer_roofline::devices::Devices = device;
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
        let inputs = inputs.with_devices(&hardware::devices::A100_SXM_80GB);
        assert_eq!((inputs.bandwidth, inputs.compute), (2039.0, 312_000.0));
    }

    #[test]
    fn the_dense_layer_and_the_ridge_of_the_layer_profiler() {
        use layer_roofline::*;
        assert_eq!(dense_flops(8.0, 64.0, 32.0), 32_768.0);
        assert_eq!(dense_bytes(4.0, 64.0, 32.0, 4.0, 8.0), 11_264.0);
        assert_eq!(ridge_point(100.0, 50.0), 2.0);
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
    fn bytes_of_q8_0_and_its_neighbours() {
        use quantization::*;
        let bits = |format: &formats::Formats| bits_per_weight(format.block_bytes, format.block_weights);
        assert_eq!(bits(&formats::Q8_0), 8.5);
        assert_eq!(bits(&formats::Q4_K), 4.5);
        assert_eq!(bits(&formats::Q6_K), 6.5625);
        assert_eq!(row_bytes(4096.0, formats::Q8_0.block_weights, formats::Q8_0.block_bytes), 4352.0);
    }

    #[test]
    fn bands_of_utilization_as_the_notes_on_q8_0_have_them() {
        use layer_roofline::*;
        let band = |achieved: f64, peak: f64| utilization_band(bandwidth_utilization(achieved, peak));
        assert_eq!(band(18.0, 20.0), UtilizationBand::NearOptimal);
        assert_eq!(band(13.9, 14.0), UtilizationBand::NearOptimal);
        assert_eq!(band(11.1, 14.0), UtilizationBand::Good);
        assert_eq!(band(6.0, 10.0), UtilizationBand::Improvable);
        assert_eq!(band(4.9, 10.0), UtilizationBand::Poor);
    }
}
