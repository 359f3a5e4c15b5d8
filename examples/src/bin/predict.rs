//! The ceilings of a known model on known devices: tokens per second that no program can exceed, and what holds it back.

use std::error::Error;

use roofline::contracts::hardware::devices::{H100_SXM, RASPBERRY_PI_5};
use roofline::contracts::quantization::formats::Q8_0;
use roofline::contracts::transformer::Inputs;
use roofline::model::{Hyper, by_name};
use roofline::predict::{Target, bits_per_weight, inputs, predict};

fn main() -> Result<(), Box<dyn Error>> {
    let model = Hyper::of_known(by_name("llama_3_1_8b").ok_or("it is in models-v1.yaml")?)?;
    for device in [&RASPBERRY_PI_5, &H100_SXM] {
        let target = Target::of(device, None)?;
        // One sequence with 4096 tokens in the cache.
        let inputs = Inputs { context: 4096.0, bits_per_weight: bits_per_weight(&Q8_0)?, ..inputs(&model)? };
        let ceiling = predict(inputs, &target)?.outputs;
        println!(
            "{}: {:.2} tokens/s, held back by {:?}",
            target.name, ceiling.decode_tokens_per_s, ceiling.decode_bound
        );
    }
    Ok(())
}
