//! Throughput-latency curves of device sets: user counts, chart, and the data that a page needs to recompute them.

use std::collections::BTreeMap;

use crate::chart::curve::{Curve, CurveModel, Curves, DeviceSetModel, LayoutModel, Pace, Spot};
use crate::chart::html::Slider;
use crate::cli::request::axis;
use crate::cli::{Failure, sliders};
use crate::contracts::transformer::Inputs;
use crate::parallel::{Alternative, DeviceSet, Layout, LayoutConstraints, Plan, Row, Users, Work};
use crate::predict::{Workload, predict};
use roofline_render::display_width::file_name;

/// Larger numbers of users exceed a single server.
const MAX_USERS: f64 = 65_536.0;

/// Returns the user counts of a curve in ascending order: those of `--sweep`, or powers of two, and `users`.
pub fn user_counts(sweep: &[String], users: f64) -> Result<Vec<f64>, Failure> {
    let mut numbers = match sweep {
        [] => std::iter::successors(Some(1.0), |users| Some(users * 2.0))
            .take_while(|users| *users <= MAX_USERS)
            .collect(),
        [text] => {
            let (name, values) = axis(text)?;
            let whole = |users: &f64| users.fract() == 0.0 && *users <= MAX_USERS;
            if name != "users" || !values.iter().all(whole) {
                return Err(Failure(format!(
                    "--sweep {text}: invalid with --users; expected whole numbers of users up to {MAX_USERS}, such as users=1..1024"
                )));
            }
            values
        }
        _ => return Err(Failure("--sweep: expected only `users` together with --users".into())),
    };
    numbers.push(users);
    numbers.sort_by(f64::total_cmp);
    numbers.dedup();
    Ok(numbers)
}

/// Returns the chart of a plan.
pub fn chart(plan: &Plan) -> Curves {
    let Workload { batch, prompt, output, .. } = &plan.workload;
    let spot = |way: &Alternative| {
        let served = way.served.as_ref()?;
        Some(Spot {
            users: served.users,
            layout: way.layout.name(),
            ceiling: Pace { token_ms: 1e3 * served.token_least_time, rate: served.output_ceiling },
            ideal: Pace { token_ms: 1e3 * served.token_time, rate: served.output_rate },
            first_ms: 1e3 * served.time_to_first_token,
            enough: way.enough != Some(false),
            requested: served.users == *batch,
        })
    };
    let line =
        |row: &Row| Curve { name: row.devices.clone(), spots: row.curve.iter().filter_map(spot).collect() };
    let filled: String = plan.objectives.iter().map(|goal| format!("; filled: {goal}")).collect();
    Curves {
        title: format!("{}, {}: throughput versus latency", file_name(&plan.model.name), plan.model.quant),
        subtitle: format!(
            "{batch} users, {prompt} prompt tokens and {} output tokens per request{filled}",
            output.unwrap_or(0.0)
        ),
        lines: plan.rows.iter().map(line).collect(),
    }
}

/// Returns the data with which a page recomputes the curves of sets of equal devices.
pub fn slider_data(
    work: &Work,
    users: &Users,
    sets: &[DeviceSet],
    fixed: LayoutConstraints,
) -> Result<CurveModel, Failure> {
    let mut module = String::new();
    let mut steps = BTreeMap::new();
    for (name, id, results) in [
        (
            "transformer",
            "transformer-v1",
            [
                "weight_bytes",
                "pass_weight_bytes",
                "decode_bytes",
                "prefill_bytes",
                "decode_flops",
                "prefill_flops",
                "step_tokens",
                "prompt_tokens",
                "decode_compute_time",
                "prefill_compute_time",
                "decode_uniform_share",
                "prefill_most_share",
                "activation_bytes",
                "prefill_activation_bytes",
                "token_flops",
            ]
            .as_slice(),
        ),
        (
            "collective",
            "collective-v1",
            &["all_reduce_least_time", "all_reduce_time", "all_to_all_time", "wire_time", "send_time"],
        ),
        (
            "parallel",
            "parallel-v1",
            &["step_least_time", "step_time", "flushed_time", "device_memory", "stage_devices"],
        ),
        (
            "serving",
            "serving-v1",
            &["output_ceiling", "output_rate", "token_time", "first_token_time", "largest_batch"],
        ),
    ] {
        let equations = sliders::equations(id)?;
        module += &equations.script;
        steps.insert(name, equations.steps(results, &[]));
    }
    let groups =
        sets.iter().enumerate().filter_map(|(line, set)| Some((line, set, set.groups.as_slice().first()?)));
    let mut moving_sets = Vec::new();
    for (line, set, group) in groups.filter(|(_, set, _)| set.groups.len() == 1) {
        let named =
            |inputs: Inputs| Inputs::NAMES.map(str::to_owned).into_iter().zip(inputs.to_array()).collect();
        let prediction = predict(work.inputs, &work.stored, &group.target)?;
        // With a batch of one sequence per device, layouts include every number of replicas.
        let all = Work { inputs: Inputs { batch: group.count as f64, ..work.inputs }, ..work.clone() };
        let overhead = if work.inputs.overhead > 0.0 {
            work.inputs.overhead
        } else {
            group.target.overhead.unwrap_or(0.0)
        };
        moving_sets.push(DeviceSetModel {
            line,
            count: group.count,
            capacity: group.target.capacity,
            link: set.link(),
            dispatch: overhead / 1e6,
            least: named(prediction.inputs),
            likely: named(prediction.ideal_inputs),
            layouts: Layout::all(set, &all, fixed)
                .map_err(Failure)?
                .into_iter()
                .map(|layout| {
                    let (name, Layout { tensor, pipeline, experts, copies, .. }) = (layout.name(), layout);
                    LayoutModel { name, tensor, pipeline, experts, copies }
                })
                .collect(),
        });
    }
    let slider = |quantity, label, start, max| sliders::slider(quantity, label, start, max);
    let mut reuse = vec![0.0, 0.1, 0.25, 0.5, 0.75, 0.9, users.reuse];
    reuse.sort_by(f64::total_cmp);
    reuse.dedup();
    Ok(CurveModel {
        module,
        steps,
        sliders: vec![
            slider("users", "users", users.users, 4096.0),
            slider("input", "prompt length", users.input, 131_072.0),
            slider("output", "output length", users.output, 16_384.0),
            Slider {
                quantity: "reuse".into(),
                label: "share of the prompt reused".into(),
                stops: reuse,
                start: Some(users.reuse),
                ..Slider::default()
            },
        ],
        hidden: work.hidden,
        layers: work.layers,
        start: work.start,
        sets: moving_sets,
    })
}
