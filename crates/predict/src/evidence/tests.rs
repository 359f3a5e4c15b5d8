//! Checks results of several devices against the ceilings of `parallel-v1` and `serving-v1`, which model layouts, communication and
//! memory capacity.

use super::table::{Phase, Row};
use super::{device, format, rows};
use crate::parallel::{DeviceSet, Layout, LayoutConstraints, Users, Work, reach, serve};
use crate::predict::{DeviceProfile, Numbers, WeightPrecision};
use roofline_formulas::serving;
use roofline_formulas::transformer::Inputs;
use roofline_models::{ModelDims, by_name};

/// Returns the devices and the work of a row; `None` if the device or the model is unknown.
fn devices_and_work(row: &Row) -> Option<(DeviceSet, Work)> {
    let compared = row.with_ceiling().ok()?;
    let device = device::find(&row.device)?;
    let label = if row.format.is_empty() { format::split(&row.model).1 } else { &row.format };
    let (_, numbers) = format::parse(label)?;
    let model_dims = by_name(compared.model).and_then(|known| ModelDims::from_known(known).ok());
    // Servers may use an 8-bit KV cache and multiply it in this type.
    let cache = if row.phase == Phase::Serving { Numbers::Fp8 } else { Numbers::Half };
    let work = Work {
        inputs: compared.traits.step,
        stored: WeightPrecision { cache, ..WeightPrecision::all(numbers) },
        hidden: model_dims.as_ref().map_or(0.0, |model_dims| model_dims.hidden as f64),
        layers: compared.inputs.layers.max(1.0),
        heads: 0,
        start: 0.0,
    };
    let target = DeviceProfile::from_device(device, None).ok()?;
    Some((DeviceSet::new(row.devices as u64, target, device.interconnect_bandwidth), work))
}

/// Bytes of a GiB divided by bytes of a GB.
const GIB_PER_GB: f64 = 1.073_741_824;

/// Parses input and output length from `ISL/OSL 2048/128`.
fn lengths(test: &str) -> Option<(f64, f64)> {
    let (input, output) = test.strip_prefix("ISL/OSL ")?.split_once('/')?;
    Some((input.parse().ok()?, output.parse().ok()?))
}

/// Returns the serving ceiling with the largest number of users that fits; outputs are half complete on average.
fn serving_ceiling(row: &Row, set: &DeviceSet, work: &Work, layout: Layout) -> f64 {
    let (input, output) = lengths(&row.test).expect("serving rows state their lengths");
    let one = Inputs { batch: 1.0, context: input + (output / 2.0).floor(), ..work.inputs };
    let step = one.evaluate().unwrap();
    // Vendors state GiB as GB, so more users may fit.
    let memory = set.capacity().unwrap() * GIB_PER_GB / layout.copies as f64;
    let room = serving::Inputs {
        page: 1.0,
        ..serving::Inputs::new(
            input,
            (output / 2.0).floor(),
            memory,
            step.weight_bytes,
            step.sequence_cache_bytes / one.context,
            1.0,
            1.0,
            1.0,
            1.0,
        )
    };
    let users = layout.copies as f64 * room.evaluate().unwrap().largest_batch;
    if users < 1.0 {
        return 0.0;
    }
    let users = Users { users, input, output, reuse: 0.0 };
    serve(work, set, layout, &users, None).unwrap().1.output_ceiling
}

#[test]
fn multi_device_speeds_do_not_exceed_the_best_layout() {
    let (mut checked, mut serving_rows, mut above) = (0, 0, Vec::new());
    for row in rows().iter().filter(|row| row.devices > 1.0 && !row.note.starts_with("SUSPECT")) {
        let Some((set, work)) = devices_and_work(row) else { continue };
        let layouts = Layout::all(&set, &work, LayoutConstraints::default()).unwrap();
        let of = |layout: Layout| match row.phase {
            Phase::Serving => serving_ceiling(row, &set, &work, layout),
            Phase::Prefill => reach(&work, &set, layout).unwrap().prefill_ceiling,
            Phase::Decode | Phase::Speculative => reach(&work, &set, layout).unwrap().decode_ceiling,
        };
        let ceiling = layouts.into_iter().map(of).fold(0.0, f64::max);
        checked += 1;
        serving_rows += usize::from(row.phase == Phase::Serving);
        if row.tokens_per_s > ceiling {
            let Row { line, device, devices, model, test, tokens_per_s, .. } = row;
            above.push(format!(
                "{line}: {devices} {device} {model} {test}: {tokens_per_s} exceeds {ceiling:.1}"
            ));
        }
    }
    assert!(above.is_empty(), "{}", above.join("\n"));
    let all = rows().iter().filter(|row| row.devices > 1.0).count();
    assert_eq!((all, serving_rows), (450, 20));
    assert!(checked * 100 >= all * 95, "{checked} of {all}");
}
