//! Decode ceilings of a known model on known devices, in tokens per second, and the limiting resource.

use std::error::Error;

use roofline::contracts::hardware::devices::{H100_SXM, RASPBERRY_PI_5};
use roofline::contracts::quantization::formats::Q8_0;
use roofline::contracts::transformer::Inputs;
use roofline::model::{ModelDims, by_name};
use roofline::predict::{DeviceProfile, WeightPrecision, bits_per_weight, inputs, predict, with_bits};

fn main() -> Result<(), Box<dyn Error>> {
    let model = ModelDims::from_known(by_name("llama_3_1_8b").ok_or("unknown model llama_3_1_8b")?)?;
    for device in [&RASPBERRY_PI_5, &H100_SXM] {
        let target = DeviceProfile::from_device(device, None)?;
        // One sequence with 4096 tokens in the cache.
        let inputs = Inputs { context: 4096.0, ..with_bits(inputs(&model)?, bits_per_weight(&Q8_0)?) };
        let ceiling = predict(inputs, &WeightPrecision::from_format(&Q8_0), &target)?.outputs;
        println!(
            "{}: {:.2} tok/s, {}-bound",
            target.name,
            ceiling.decode_ceiling,
            ceiling.decode_bound.name().to_lowercase()
        );
    }
    Ok(())
}
