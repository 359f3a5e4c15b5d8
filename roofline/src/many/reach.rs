//! What devices reach together in a layout.

use super::layout::gcd;
use super::{Layout, ManyError, Set, Work};
use crate::contracts::transformer::Inputs;
use crate::contracts::{collective, parallel};
use crate::predict::{Target, mean_rate, predict};

/// What is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// A step makes tokens.
    Decode,
    /// Prompts are read.
    Prefill,
}

/// What devices reach together.
#[derive(Clone, Debug, PartialEq)]
pub struct Reached {
    /// The layout.
    pub layout: Layout,
    /// Memory that the fullest device takes, in GB, and what it is short of; none where its memory is not known.
    pub device_gb: f64,
    /// Memory that the fullest device is short of, in GB; none where it is not known.
    pub missing_gb: Option<f64>,
    /// Time of one step that nothing beats, in s.
    pub step_least_time: f64,
    /// Estimate, the time of one step in s.
    pub step_time: f64,
    /// Tokens per second that nothing exceeds.
    pub decode_ceiling: f64,
    /// Estimate, the tokens per second.
    pub decode_estimate: f64,
    /// Time to read the prompts that nothing beats, in s.
    pub prompt_least_time: f64,
    /// Estimate, the time to read the prompts in s.
    pub prompt_time: f64,
    /// Tokens of prompts per second that nothing exceeds.
    pub prefill_ceiling: f64,
    /// Estimate, the tokens of prompts per second.
    pub prefill_estimate: f64,
    /// Estimate, the share of a step that messages take.
    pub message_share: f64,
}

impl Reached {
    /// Whether it fits; none where the memory of a device is not known.
    pub fn fits(&self) -> Option<bool> {
        self.missing_gb.map(|missing| missing <= 0.0)
    }
}

/// Amounts of one copy's step, and the rates of a device.
#[derive(Clone, Copy)]
pub(super) struct Amounts {
    /// Tokens that it makes or reads.
    pub tokens: f64,
    /// Bytes of the weights without routed experts, and of these.
    pub stored: (f64, f64),
    /// Bytes of weights that it reads, without routed experts.
    pub dense: f64,
    /// Bytes of routed experts that it reads.
    pub expert: f64,
    /// Bytes of cache and state, and in an estimate of activations.
    pub cache: f64,
    /// Operations.
    pub flops: f64,
    /// Operations with routed experts.
    pub expert_flops: f64,
    /// GB/s.
    pub bandwidth: f64,
    /// GFLOP/s.
    pub compute: f64,
}

/// The amounts for a ceiling and for an estimate.
pub(super) fn amounts(
    inputs: Inputs,
    work: &Work,
    target: &Target,
    phase: Phase,
) -> Result<[Amounts; 2], ManyError> {
    let prediction = predict(inputs, &work.stored, target)?;
    let (least, likely) = (prediction.outputs, prediction.estimate);
    let without = Inputs { expert_params: 0.0, ..prediction.inputs }.evaluate()?;
    let stored_experts = least.weight_bytes - without.weight_bytes;
    let stored = (without.weight_bytes, stored_experts);
    // What caches hold from one pass to the next is not read again.
    let dense = (without.pass_weight_bytes - prediction.inputs.resident).max(1.0);
    let Inputs { compute_efficiency, bandwidth_efficiency, .. } = inputs;
    let least_expert = least.pass_weight_bytes - without.pass_weight_bytes;
    let of = |tokens, flops: [f64; 2], time: [f64; 2], cache: [f64; 2], expert: f64| {
        let [flops, dense_flops] = flops;
        let rate = |time: f64| mean_rate(flops / 1e9, time, target.bandwidth);
        let ceiling = Amounts {
            tokens,
            stored,
            dense,
            expert: least_expert,
            cache: cache[0],
            flops,
            expert_flops: flops - dense_flops,
            bandwidth: target.bandwidth,
            compute: rate(time[0]),
        };
        let estimate = Amounts {
            dense: without.pass_weight_bytes.max(1.0),
            expert,
            cache: cache[1],
            bandwidth: target.bandwidth * bandwidth_efficiency,
            compute: rate(time[1]) * compute_efficiency,
            ..ceiling
        };
        [ceiling, estimate]
    };
    Ok(match phase {
        Phase::Decode => {
            let cache = least.decode_bytes - least.pass_weight_bytes;
            of(
                least.step_tokens,
                [least.decode_flops, without.decode_flops],
                [least.decode_compute_time, likely.decode_compute_time],
                [cache, cache + least.activation_bytes],
                stored_experts * least.decode_uniform_share,
            )
        }
        Phase::Prefill => {
            let cache = least.prefill_bytes - least.pass_weight_bytes;
            of(
                least.prompt_tokens,
                [least.prefill_flops, without.prefill_flops],
                [least.prefill_compute_time, likely.prefill_compute_time],
                [cache, cache + least.prefill_activation_bytes],
                stored_experts * least.prefill_most_share,
            )
        }
    })
}

/// A stage of a layout: its devices, and the share of the layers that they have.
#[derive(Clone, Copy)]
struct Stage<'a> {
    target: &'a Target,
    tensor: u64,
    share: f64,
}

/// Times of messages between devices.
struct Messages {
    reduce: f64,
    exchange: f64,
    hand: f64,
}

fn messages(
    work: &Work,
    amounts: &Amounts,
    (layout, tensor, parts): (Layout, u64, f64),
    link: Option<f64>,
    least: bool,
) -> Result<Messages, ManyError> {
    let silent = Messages { reduce: 0.0, exchange: 0.0, hand: 0.0 };
    let Some(link) = link.filter(|_| work.hidden > 0.0) else { return Ok(silent) };
    let devices = tensor.max(layout.experts) as f64;
    let token = work.hidden * work.inputs.activation_size;
    let of = |ranks: f64, size: f64| {
        let start = if least { 0.0 } else { work.start };
        collective::Inputs { start, ..collective::Inputs::new(ranks, size, link) }.evaluate()
    };
    let part = amounts.tokens / parts;
    let reduced = of(tensor as f64, part * tensor as f64 / devices * token)?;
    let handed = of(2.0, part * token / devices)?;
    let chosen = work.inputs.experts_used.min(layout.experts as f64);
    let exchanged = of(layout.experts as f64, part / devices * chosen * token)?;
    let stages = layout.pipeline > 1;
    Ok(if least {
        Messages {
            reduce: reduced.all_reduce_least_time,
            // The experts that are chosen may be where the tokens are.
            exchange: 0.0,
            hand: if stages { handed.wire_time } else { 0.0 },
        }
    } else {
        Messages {
            reduce: reduced.all_reduce_time,
            exchange: exchanged.all_to_all_time,
            hand: if stages { handed.send_time } else { 0.0 },
        }
    })
}

/// One stage as the contract sees it, for a ceiling and for an estimate.
fn stage(
    work: &Work,
    [least, likely]: &[Amounts; 2],
    stage: Stage<'_>,
    layout: Layout,
    parts: f64,
    link: Option<f64>,
) -> Result<[parallel::Outputs; 2], ManyError> {
    let of = |amounts: &Amounts, ceiling: bool| {
        let told = messages(work, amounts, (layout, stage.tensor, parts), link, ceiling)?;
        let dispatch = if ceiling {
            0.0
        } else if work.inputs.overhead > 0.0 {
            work.inputs.overhead / 1e6
        } else {
            stage.target.overhead.unwrap_or(0.0) / 1e6
        };
        let inputs = parallel::Inputs {
            tensor: stage.tensor as f64,
            expert_ways: layout.experts as f64,
            pipeline: layout.pipeline as f64,
            data: layout.copies as f64,
            parts,
            layer_share: stage.share.max(1e-6),
            stored_dense_bytes: amounts.stored.0,
            stored_expert_bytes: amounts.stored.1,
            expert_bytes: amounts.expert,
            cache_bytes: amounts.cache,
            layers: work.layers,
            reduce_time: told.reduce,
            exchange_time: told.exchange,
            hand_time: told.hand + dispatch,
            ..parallel::Inputs::new(
                amounts.tokens,
                amounts.dense,
                amounts.flops,
                amounts.bandwidth,
                amounts.compute,
            )
        };
        Ok::<_, ManyError>(inputs.evaluate()?)
    };
    Ok([of(least, true)?, of(likely, false)?])
}

/// Shares of the layers for stages of these speeds: as much as fits on the fastest, then the next.
fn fill(speeds: &[f64], room: &[f64]) -> Vec<f64> {
    let all: f64 = room.iter().sum();
    if all < 1.0 {
        let even = 1.0 / room.len() as f64;
        return room.iter().map(|room| if all > 0.0 { room / all } else { even }).collect();
    }
    let mut order: Vec<usize> = (0..speeds.len()).collect();
    order.sort_by(|a, b| speeds[*b].total_cmp(&speeds[*a]));
    let mut shares = vec![0.0; speeds.len()];
    let mut left = 1.0;
    for index in order {
        shares[index] = room[index].min(left);
        left -= shares[index];
    }
    shares
}

/// The least time and the estimate of one phase, the memory of the fullest device, and the share of messages.
struct Timed {
    least: f64,
    likely: f64,
    tokens: f64,
    device_gb: f64,
    missing_gb: Option<f64>,
    message_share: f64,
}

fn timed(work: &Work, set: &Set, layout: Layout, phase: Phase) -> Result<Timed, ManyError> {
    let copies = layout.copies as f64;
    let inputs = Inputs { batch: work.inputs.batch / copies, ..work.inputs };
    let link = set.link();
    let amounts: Vec<[Amounts; 2]> = set
        .groups
        .iter()
        .map(|group| amounts(inputs, work, &group.target, phase))
        .collect::<Result<_, _>>()?;
    let tokens = amounts.first().map_or(1.0, |[least, _]| least.tokens);
    let stages = layout.pipeline as f64;
    // A sequence is in one stage at a time; a prompt can be cut into as many parts as it has tokens.
    let in_flight = match phase {
        Phase::Decode => stages.min(inputs.batch),
        Phase::Prefill => stages.min(tokens),
    };
    let cuts: Vec<f64> = match phase {
        Phase::Decode => vec![in_flight],
        Phase::Prefill => {
            (0..).map(|cut| f64::from(1 << cut)).take_while(|cut| *cut <= tokens.min(1024.0)).collect()
        }
    };
    // Weights and cache are those of the ceiling; activations take memory too.
    let more = |amounts: &[Amounts; 2], outputs: &parallel::Outputs| {
        (amounts[1].cache - amounts[0].cache) / stages / outputs.stage_devices
    };
    let fullest = |amounts: &[Amounts; 2], outputs: &parallel::Outputs, target: &Target| {
        let gb = (outputs.device_memory + more(amounts, outputs)) / 1e9;
        // A device that is filled to the last byte is not short of a rounding.
        let missing = |capacity: f64| if gb <= capacity * (1.0 + 1e-9) { 0.0 } else { gb - capacity };
        (gb, target.capacity.map(missing))
    };
    if let ([group], [amounts]) = (set.groups.as_slice(), amounts.as_slice()) {
        let one = Stage { target: &group.target, tensor: layout.tensor, share: 1.0 / stages };
        let [least, _] = stage(work, amounts, one, layout, in_flight, link)?;
        let mut likely: Option<(f64, f64)> = None;
        for parts in cuts {
            let [_, outputs] = stage(work, amounts, one, layout, parts, link)?;
            let time = if phase == Phase::Decode { outputs.step_time } else { outputs.flushed_time };
            let share = outputs.message_time / outputs.stage_time;
            if likely.is_none_or(|(known, _)| time < known) {
                likely = Some((time, share));
            }
        }
        let (likely, message_share) = likely.unwrap_or((least.step_least_time, 0.0));
        let (device_gb, missing_gb) = fullest(amounts, &least, &group.target);
        return Ok(Timed {
            least: least.step_least_time,
            likely,
            tokens,
            device_gb,
            missing_gb,
            message_share,
        });
    }
    // Different devices: a chain of stages, each with the share of the layers that suits it.
    let mut chain: Vec<(usize, Stage<'_>)> = Vec::new();
    for (index, group) in set.groups.iter().enumerate() {
        let tensor = gcd(layout.tensor, group.count);
        let one = Stage { target: &group.target, tensor, share: 1.0 };
        chain.extend((0..group.count / tensor).map(|_| (index, one)));
    }
    let times = |shares: &[f64], parts: f64| -> Result<Vec<[parallel::Outputs; 2]>, ManyError> {
        let of = |(place, (index, one)): (usize, &(usize, Stage<'_>))| {
            stage(work, &amounts[*index], Stage { share: shares[place], ..*one }, layout, parts, link)
        };
        chain.iter().enumerate().map(of).collect()
    };
    let whole = times(&vec![1.0; chain.len()], in_flight)?;
    let speeds: Vec<f64> = whole.iter().map(|[least, _]| 1.0 / least.stage_least_time).collect();
    let all_speed: f64 = speeds.iter().sum();
    let evenly: Vec<f64> = speeds.iter().map(|speed| speed / all_speed).collect();
    let room: Vec<f64> = chain
        .iter()
        .zip(&whole)
        .map(|((index, one), [least, _])| {
            let left = one.target.capacity.map(|capacity| capacity * 1e9 - more(&amounts[*index], least));
            left.map_or(1.0, |left| (left / least.device_memory).clamp(0.0, 1.0))
        })
        .collect();
    let filled = fill(&speeds, &room);
    let sum = |times: &[[parallel::Outputs; 2]], of: fn(&[parallel::Outputs; 2]) -> f64| {
        let all = times.iter().map(of);
        (all.clone().sum::<f64>(), all.fold(0.0, f64::max))
    };
    // Nothing beats the sum with most layers on the fastest, nor the slowest with even times.
    let (through, _) = sum(&times(&filled, in_flight)?, |[least, _]| least.stage_least_time);
    let (_, slowest) = sum(&times(&evenly, in_flight)?, |[least, _]| least.stage_least_time);
    let least = through.max(in_flight * slowest);
    let (mut likely, mut message_share) = (f64::INFINITY, 0.0);
    let fitting = evenly.iter().zip(&room).all(|(share, room)| share <= room);
    let ways: Vec<&Vec<f64>> = if fitting { vec![&filled, &evenly] } else { vec![&filled] };
    for shares in ways {
        for parts in &cuts {
            let found = times(shares, *parts)?;
            let (through, slowest) = sum(&found, |[_, likely]| likely.stage_time);
            let time = match phase {
                Phase::Decode => through.max(parts * slowest),
                Phase::Prefill => through + (parts - 1.0) * slowest,
            };
            if time < likely {
                let (told, _) = sum(&found, |[_, likely]| likely.message_time);
                (likely, message_share) = (time, told / through);
            }
        }
    }
    let filled_memory = times(&filled, in_flight)?;
    let memory = chain
        .iter()
        .zip(&filled_memory)
        .map(|((index, one), [least, _])| fullest(&amounts[*index], least, one.target));
    let (device_gb, missing_gb) =
        memory.reduce(|a, b| (a.0.max(b.0), a.1.zip(b.1).map(|(a, b)| a.max(b)))).unwrap_or((0.0, None));
    Ok(Timed { least, likely, tokens, device_gb, missing_gb, message_share })
}

/// What the work reaches on these devices in this layout.
pub fn reach(work: &Work, set: &Set, layout: Layout) -> Result<Reached, ManyError> {
    let decode = timed(work, set, layout, Phase::Decode)?;
    let prompt = timed(work, set, layout, Phase::Prefill)?;
    let copies = layout.copies as f64;
    Ok(Reached {
        layout,
        device_gb: decode.device_gb,
        missing_gb: decode.missing_gb,
        step_least_time: decode.least,
        step_time: decode.likely,
        decode_ceiling: copies * decode.tokens / decode.least,
        decode_estimate: copies * decode.tokens / decode.likely,
        prompt_least_time: prompt.least,
        prompt_time: prompt.likely,
        prefill_ceiling: copies * prompt.tokens / prompt.least,
        prefill_estimate: copies * prompt.tokens / prompt.likely,
        message_share: decode.message_share,
    })
}
