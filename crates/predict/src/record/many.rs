//! Rows of several devices beside the ceilings of `parallel-v1` and `serving-v1`, which know layouts, messages and memory.

use super::table::{Phase, Row};
use super::{device, format, rows};
use crate::many::{Fixed, Layout, Set, Users, Work, reach, serve};
use crate::predict::{Numbers, Stored, Target};
use roofline_formulas::serving;
use roofline_formulas::transformer::Inputs;
use roofline_models::{Hyper, by_name};

/// The devices of a row, and its work; none where the registry or the models do not have it.
fn asked(row: &Row) -> Option<(Set, Work)> {
    let beside = row.beside().ok()?;
    let device = device::of(&row.device)?;
    let label = if row.format.is_empty() { format::split(&row.model).1 } else { &row.format };
    let (_, numbers) = format::of(label)?;
    let hyper = by_name(beside.model).and_then(|known| Hyper::of_known(known).ok());
    // A server may keep its cache in 8 bits and multiply it as such.
    let cache = if row.phase == Phase::Serving { Numbers::Fp8 } else { Numbers::Half };
    let work = Work {
        inputs: beside.traits.step,
        stored: Stored { cache, ..Stored::all(numbers) },
        hidden: hyper.as_ref().map_or(0.0, |hyper| hyper.hidden as f64),
        layers: beside.inputs.layers.max(1.0),
        heads: 0,
        start: 0.0,
    };
    let target = Target::of(device, None).ok()?;
    Some((Set::of(row.devices as u64, target, device.interconnect_bandwidth), work))
}

/// 2^30 bytes in 10^9.
const GIB_PER_GB: f64 = 1.073_741_824;

/// `ISL/OSL 2048/128`.
fn lengths(test: &str) -> Option<(f64, f64)> {
    let (input, output) = test.strip_prefix("ISL/OSL ")?.split_once('/')?;
    Some((input.parse().ok()?, output.parse().ok()?))
}

/// The most that a server can reach: as many users as fit when their answers are half written, on average.
fn served(row: &Row, set: &Set, work: &Work, layout: Layout) -> f64 {
    let (input, output) = lengths(&row.test).expect("a row of a server says its lengths");
    let one = Inputs { batch: 1.0, context: input + (output / 2.0).floor(), ..work.inputs };
    let step = one.evaluate().unwrap();
    // What vendors call GB of memory are GiB, and more users may fit than in GB.
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
fn no_speed_of_several_devices_is_above_the_ceiling_of_its_best_layout() {
    let (mut checked, mut served_rows, mut above) = (0, 0, Vec::new());
    for row in rows().iter().filter(|row| row.devices > 1.0 && !row.note.starts_with("SUSPECT")) {
        let Some((set, work)) = asked(row) else { continue };
        let layouts = Layout::all(&set, &work, Fixed::default()).unwrap();
        let of = |layout: Layout| match row.phase {
            Phase::Serving => served(row, &set, &work, layout),
            Phase::Prefill => reach(&work, &set, layout).unwrap().prefill_ceiling,
            Phase::Decode | Phase::Speculative => reach(&work, &set, layout).unwrap().decode_ceiling,
        };
        let ceiling = layouts.into_iter().map(of).fold(0.0, f64::max);
        checked += 1;
        served_rows += usize::from(row.phase == Phase::Serving);
        if row.tokens_per_s > ceiling {
            let Row { line, device, devices, model, test, tokens_per_s, .. } = row;
            above.push(format!("{line}: {devices} {device} {model} {test}: {tokens_per_s} of {ceiling:.1}"));
        }
    }
    assert!(above.is_empty(), "{}", above.join("\n"));
    let all = rows().iter().filter(|row| row.devices > 1.0).count();
    assert_eq!((all, served_rows), (450, 20));
    assert!(checked * 100 >= all * 95, "{checked} of {all}");
}
