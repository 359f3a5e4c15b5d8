//! Consistency of predictions and profiles: a prediction is the sum of the profile of its tensors.

use roofline::contracts::transformer::Inputs;
use roofline::model::Model;
use roofline::predict::{DeviceProfile, predict};
use roofline::profile::{Workload, inputs, profile};

/// Compares the totals of a profile with the contract for the whole model. The contract rejects models that it does not support,
/// with a message that refers to the profile.
#[track_caller]
pub fn assert_is_profiled(model: &Model, target: &DeviceProfile, workload: &Workload) {
    let (from_file, stored) = match inputs(model, None) {
        Ok(found) => found,
        Err(refused) => {
            let refused = refused.to_string();
            let known = [
                "`roofline profile` reports the ceiling",
                "`roofline profile` reports bounds",
                "does not generate tokens",
                "is unknown",
            ];
            assert!(known.iter().any(|known| refused.contains(known)), "{refused}");
            return;
        }
    };
    let Workload { batch, context, prompt, cache_size, .. } = *workload;
    let outputs =
        predict(Inputs { batch, context, prompt, cache_size, ..from_file }, &stored, target).unwrap().outputs;
    let costs = profile(model, target, workload, None).unwrap();
    let (decode, prefill) = (costs.decode.unwrap(), costs.prefill.unwrap());
    for (name, sum, total) in [
        ("decode_flops", decode.flops, outputs.decode_flops),
        ("decode weights", decode.weight_bytes, outputs.pass_weight_bytes),
        ("decode_bytes", decode.bytes, outputs.decode_bytes),
        ("decode_least_time", decode.least_s, outputs.decode_least_time),
        ("decode_ceiling", decode.ceiling_per_s, outputs.decode_ceiling),
        ("decode_ideal_bytes", decode.ideal_bytes, outputs.decode_ideal_bytes),
        ("decode_ideal", decode.ideal_per_s, outputs.decode_ideal),
        ("prefill_flops", prefill.flops, outputs.prefill_flops),
        ("prefill_bytes", prefill.bytes, outputs.prefill_bytes),
        ("prefill_ceiling", prefill.ceiling_per_s, outputs.prefill_ceiling),
        ("prefill_ideal", prefill.ideal_per_s, outputs.prefill_ideal),
    ] {
        let apart = (sum / total - 1.0).abs();
        assert!(apart < 1e-9, "{name} of {}: {sum} profiled and {total} predicted", model.architecture.name);
    }
}
