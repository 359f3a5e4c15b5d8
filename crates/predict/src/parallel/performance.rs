//! Speeds and memory of a layout.

use serde::{Deserialize, Serialize};

use super::layout::gcd;
use super::{DeviceSet, Group, Layout, ParallelError, SpeculativeDecoding, Work};
use crate::predict::{DeviceProfile, mean_rate, predict};
use roofline_formulas::transformer::Inputs;
use roofline_formulas::{collective, parallel};

/// Phase of inference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// One token per sequence.
    Decode,
    /// All prompts.
    Prefill,
}

/// Speeds and memory of a model in one layout.
#[derive(Clone, Debug, PartialEq)]
pub struct LayoutPerformance {
    /// Layout.
    pub layout: Layout,
    /// Memory used on the fullest device, in GB.
    pub device_gb: f64,
    /// Memory left on the fullest device, in GB; negative if the model does not fit, `None` if the capacity is unknown.
    pub spare_gb: Option<f64>,
    /// Lower bound of the step time, in s.
    pub step_least_time: f64,
    /// Ideal step time, in s.
    pub step_time: f64,
    /// Ceiling of decode, in token/s.
    pub decode_ceiling: f64,
    /// Ideal decode speed, in token/s.
    pub decode_ideal: f64,
    /// Lower bound of the prefill time, in s.
    pub prompt_least_time: f64,
    /// Ideal prefill time, in s.
    pub prompt_time: f64,
    /// Ceiling of prefill, in token/s.
    pub prefill_ceiling: f64,
    /// Ideal prefill speed, in token/s.
    pub prefill_ideal: f64,
    /// Share of communication in an ideal step.
    pub message_share: f64,
    /// Layers per stage for different devices; empty if all stages are equal.
    pub shares: Vec<StageShare>,
}

/// Share of the layers on one pipeline stage.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct StageShare {
    /// Devices of the stage.
    pub devices: String,
    /// Share of the layers, 0 to 1.
    pub layers: f64,
}

impl LayoutPerformance {
    /// Returns true if the model fits; `None` if a memory capacity is unknown.
    pub fn fits(&self) -> Option<bool> {
        self.spare_gb.map(|spare| spare >= 0.0)
    }

    /// Applies the speedup and the memory of speculative decoding.
    pub fn speed_up(&mut self, draft: &SpeculativeDecoding) {
        self.step_least_time /= draft.most_speed_up;
        self.decode_ceiling *= draft.most_speed_up;
        self.step_time /= draft.speed_up;
        self.decode_ideal *= draft.speed_up;
        self.device_gb += draft.device_gb;
        self.spare_gb = self.spare_gb.map(|spare| spare - draft.device_gb);
    }
}

/// Bytes and FLOPs of one copy's step, with the rates of a device.
#[derive(Clone, Copy)]
pub(super) struct Amounts {
    /// Tokens generated or processed.
    pub tokens: f64,
    /// Stored weight bytes: dense, then routed experts.
    pub stored: (f64, f64),
    /// Weight bytes read, without routed experts.
    pub dense: f64,
    /// Bytes of routed experts read.
    pub expert: f64,
    /// Bytes of cache and state; ideal amounts include activations.
    pub cache: f64,
    /// FLOPs, routed experts included.
    pub flops: f64,
    /// FLOPs of routed experts.
    pub expert_flops: f64,
    /// Bandwidth, in GB/s.
    pub bandwidth: f64,
    /// Compute rate, in GFLOP/s.
    pub compute: f64,
}

/// Returns the amounts for the ceiling and for the ideal.
pub(super) fn amounts(
    inputs: Inputs,
    work: &Work,
    target: &DeviceProfile,
    phase: Phase,
) -> Result<[Amounts; 2], ParallelError> {
    let prediction = predict(inputs, &work.stored, target)?;
    let (least, ideal) = (prediction.outputs, prediction.ideal);
    let without = Inputs { expert_params: 0.0, ..prediction.inputs }.evaluate()?;
    let stored_experts = least.weight_bytes - without.weight_bytes;
    let stored = (without.weight_bytes, stored_experts);
    // Weights held in caches are not read again.
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
        let ideal = Amounts {
            dense: without.pass_weight_bytes.max(1.0),
            expert,
            cache: cache[1],
            bandwidth: target.bandwidth * bandwidth_efficiency,
            compute: rate(time[1]) * compute_efficiency,
            ..ceiling
        };
        [ceiling, ideal]
    };
    Ok(match phase {
        Phase::Decode => {
            let cache = least.decode_bytes - least.pass_weight_bytes;
            of(
                least.step_tokens,
                [least.decode_flops, without.decode_flops],
                [least.decode_compute_time, ideal.decode_compute_time],
                [cache, cache + least.activation_bytes],
                stored_experts * least.decode_uniform_share,
            )
        }
        Phase::Prefill => {
            let cache = least.prefill_bytes - least.pass_weight_bytes;
            of(
                least.prompt_tokens,
                [least.prefill_flops, without.prefill_flops],
                [least.prefill_compute_time, ideal.prefill_compute_time],
                [cache, cache + least.prefill_activation_bytes],
                stored_experts * least.prefill_most_share,
            )
        }
    })
}

/// Pipeline stage: device, tensor parallelism, share of the layers, links.
#[derive(Clone, Copy)]
struct Stage<'a> {
    target: &'a DeviceProfile,
    tensor: u64,
    share: f64,
    links: Links,
}

/// Link bandwidths in one direction, in GB/s. Messages over unknown links take no time.
#[derive(Clone, Copy)]
struct Links {
    /// Between the devices of a stage.
    within: Option<f64>,
    /// To the next stage.
    onward: Option<f64>,
}

/// Message times, in s: all-reduce, all-to-all and send.
struct Messages {
    reduce: f64,
    exchange: f64,
    send: f64,
}

fn messages(
    work: &Work,
    amounts: &Amounts,
    (layout, tensor, parts): (Layout, u64, f64),
    links: Links,
    least: bool,
) -> Result<Messages, ParallelError> {
    let devices = tensor.max(layout.experts) as f64;
    // Ceilings also hold for implementations with 8-bit messages.
    let size = work.inputs.activation_size;
    let token = work.hidden * if least { size.min(1.0) } else { size };
    let message_time = |link: Option<f64>, ranks: f64, size: f64, time: fn(collective::Outputs) -> f64| {
        let Some(link) = link.filter(|_| work.hidden > 0.0 && ranks > 1.0) else { return Ok(0.0) };
        let start = if least { 0.0 } else { work.start };
        let inputs = collective::Inputs { start, ..collective::Inputs::new(ranks, size, link) };
        Ok::<_, ParallelError>(time(inputs.evaluate()?))
    };
    let part = amounts.tokens / parts;
    let chosen = work.inputs.experts_used.min(layout.experts as f64);
    let [reduced, exchanged, sent] =
        [part * tensor as f64 / devices, part / devices * chosen, part / devices]
            .map(|tokens| tokens * token);
    let (tensor, experts) = (tensor as f64, layout.experts as f64);
    let next = if layout.pipeline > 1 { 2.0 } else { 1.0 };
    Ok(if least {
        Messages {
            reduce: message_time(links.within, tensor, reduced, |times| times.all_reduce_least_time)?,
            // The chosen experts may be local.
            exchange: 0.0,
            send: message_time(links.onward, next, sent, |times| times.wire_time)?,
        }
    } else {
        Messages {
            reduce: message_time(links.within, tensor, reduced, |times| times.all_reduce_time)?,
            exchange: message_time(links.within, experts, exchanged, |times| times.all_to_all_time)?,
            send: message_time(links.onward, next, sent, |times| times.send_time)?,
        }
    })
}

/// Evaluates one stage for the ceiling and for the ideal.
fn stage(
    work: &Work,
    [least, ideal]: &[Amounts; 2],
    stage: Stage<'_>,
    layout: Layout,
    parts: f64,
) -> Result<[parallel::Outputs; 2], ParallelError> {
    let of = |amounts: &Amounts, ceiling: bool| {
        let times = messages(work, amounts, (layout, stage.tensor, parts), stage.links, ceiling)?;
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
            reduce_time: times.reduce,
            exchange_time: times.exchange,
            hand_time: times.send + dispatch,
            ..parallel::Inputs::new(
                amounts.tokens,
                amounts.dense,
                amounts.flops,
                amounts.bandwidth,
                amounts.compute,
            )
        };
        Ok::<_, ParallelError>(inputs.evaluate()?)
    };
    Ok([of(least, true)?, of(ideal, false)?])
}

/// Assigns layers to the fastest stages first, as far as they fit.
fn fill_fastest_first(speeds: &[f64], room: &[f64]) -> Vec<f64> {
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

/// Times and memory of one phase.
struct PhaseTimes {
    least: f64,
    ideal: f64,
    tokens: f64,
    device_gb: f64,
    spare_gb: Option<f64>,
    message_share: f64,
    shares: Vec<f64>,
}

/// One phase of a workload in one layout.
struct PhaseRun<'a> {
    work: &'a Work,
    set: &'a DeviceSet,
    layout: Layout,
    phase: Phase,
    /// Amounts per group: ceiling and ideal.
    amounts: Vec<[Amounts; 2]>,
    /// Micro-batches in flight at the same time, for ceilings.
    in_flight: f64,
    /// Numbers of micro-batches to try, for ideal figures.
    cuts: Vec<f64>,
}

impl<'a> PhaseRun<'a> {
    fn new(
        work: &'a Work,
        set: &'a DeviceSet,
        layout: Layout,
        phase: Phase,
    ) -> Result<PhaseRun<'a>, ParallelError> {
        let inputs = Inputs { batch: work.inputs.batch / layout.copies as f64, ..work.inputs };
        let of = |group: &Group| amounts(inputs, work, &group.target, phase);
        let amounts: Vec<[Amounts; 2]> = set.groups.iter().map(of).collect::<Result<_, _>>()?;
        let tokens = amounts.first().map_or(1.0, |[least, _]| least.tokens);
        let stages = layout.pipeline as f64;
        // A sequence is in one stage at a time; a prompt can be cut at any token.
        let (in_flight, cuts) = match phase {
            Phase::Decode => (stages.min(inputs.batch), vec![stages.min(inputs.batch)]),
            Phase::Prefill => {
                let halved = (0..).map(|cut| f64::from(1 << cut));
                (stages.min(tokens), halved.take_while(|cut| *cut <= tokens.min(1024.0)).collect())
            }
        };
        Ok(PhaseRun { work, set, layout, phase, amounts, in_flight, cuts })
    }

    /// Evaluates a stage on devices of one group, with `parts` micro-batches.
    fn stage(
        &self,
        group: usize,
        tensor: u64,
        share: f64,
        parts: f64,
    ) -> Result<[parallel::Outputs; 2], ParallelError> {
        let Group { target, link, .. } = &self.set.groups[group];
        let links = Links { within: *link, onward: self.set.link() };
        let one = Stage { target, tensor, share, links };
        stage(self.work, &self.amounts[group], one, self.layout, parts)
    }

    /// Evaluates a stage that all devices share. Ceilings split matrices in proportion to speed, so that the mean counts; ideals
    /// split them evenly, as implementations do, so that the slowest device counts.
    fn even_stage(&self, parts: f64) -> Result<[parallel::Outputs; 2], ParallelError> {
        let counted = || self.set.groups.iter().zip(&self.amounts);
        let devices = self.set.devices() as f64;
        let mean = |of: fn(&Amounts) -> f64| {
            counted().map(|(group, [least, _])| group.count as f64 * of(least)).sum::<f64>() / devices
        };
        let least = |of: fn(&[Amounts; 2]) -> f64| self.amounts.iter().map(of).fold(f64::INFINITY, f64::min);
        let [first, second] = self.amounts[0];
        let amounts = [
            Amounts {
                dense: least(|[ceiling, _]| ceiling.dense),
                bandwidth: mean(|one| one.bandwidth),
                compute: mean(|one| one.compute),
                ..first
            },
            Amounts {
                bandwidth: least(|[_, ideal]| ideal.bandwidth),
                compute: least(|[_, ideal]| ideal.compute),
                ..second
            },
        ];
        let overhead = |group: &&Group| group.target.overhead.unwrap_or(0.0);
        let slowest = self.set.groups.iter().max_by(|a, b| overhead(a).total_cmp(&overhead(b)));
        let one = Stage {
            target: &slowest.unwrap_or(&self.set.groups[0]).target,
            tensor: self.layout.tensor,
            share: 1.0 / self.layout.pipeline as f64,
            links: Links { within: self.set.link(), onward: self.set.link() },
        };
        stage(self.work, &amounts, one, self.layout, parts)
    }

    /// Activation bytes on each device of a stage.
    fn activations(&self, group: usize, outputs: &parallel::Outputs) -> f64 {
        let [least, ideal] = &self.amounts[group];
        (ideal.cache - least.cache) / self.layout.pipeline as f64 / outputs.stage_devices
    }

    /// Returns the memory used on a device of a stage and the memory left, in GB.
    fn memory(&self, group: usize, outputs: &parallel::Outputs) -> (f64, Option<f64>) {
        let gb = (outputs.device_memory + self.activations(group, outputs)) / 1e9;
        // Tolerate rounding on a device that is filled to the last byte.
        let spare = |capacity: f64| {
            if gb <= capacity * (1.0 + 1e-9) { (capacity - gb).max(0.0) } else { capacity - gb }
        };
        (gb, self.set.groups[group].target.capacity.map(spare))
    }

    fn timed(
        &self,
        least: f64,
        (ideal, message_share): (f64, f64),
        memory: (f64, Option<f64>),
    ) -> PhaseTimes {
        let tokens = self.amounts.first().map_or(1.0, |[least, _]| least.tokens);
        PhaseTimes {
            least,
            ideal,
            tokens,
            device_gb: memory.0,
            spare_gb: memory.1,
            message_share,
            shares: Vec::new(),
        }
    }

    /// Returns the maximum of the memory used and the minimum of the memory left.
    fn fullest<'b>(&self, held: impl Iterator<Item = (usize, &'b parallel::Outputs)>) -> (f64, Option<f64>) {
        let memory = held.map(|(group, outputs)| self.memory(group, outputs));
        let memory = memory.reduce(|a, b| (a.0.max(b.0), a.1.zip(b.1).map(|(a, b)| a.min(b))));
        memory.unwrap_or((0.0, None))
    }

    /// Evaluates stages with equal shares.
    fn equal_stages(&self) -> Result<PhaseTimes, ParallelError> {
        let [least, _] = self.even_stage(self.in_flight)?;
        let mut ideal = (f64::INFINITY, 0.0);
        for parts in &self.cuts {
            let [_, outputs] = self.even_stage(*parts)?;
            let time = match self.phase {
                Phase::Decode => outputs.step_time,
                Phase::Prefill => outputs.flushed_time,
            };
            if time < ideal.0 {
                ideal = (time, outputs.message_time / outputs.stage_time);
            }
        }
        let memory = self.fullest((0..self.set.groups.len()).map(|group| (group, &least)));
        Ok(self.timed(least.step_least_time, ideal, memory))
    }

    /// Returns the stages of different devices as group and tensor parallelism.
    fn stages(&self) -> Vec<(usize, u64)> {
        let stages = self.set.groups.iter().enumerate().flat_map(|(index, group)| {
            let tensor = gcd(self.layout.tensor, group.count);
            (0..group.count / tensor).map(move |_| (index, tensor))
        });
        stages.collect()
    }

    /// Evaluates stages with different shares: those given, or the best found.
    fn unequal_stages(&self, given: Option<&[f64]>) -> Result<PhaseTimes, ParallelError> {
        let chain = self.stages();
        let times = |shares: &[f64], parts: f64| -> Result<Vec<[parallel::Outputs; 2]>, ParallelError> {
            let each = chain.iter().zip(shares);
            each.map(|((group, tensor), share)| self.stage(*group, *tensor, *share, parts)).collect()
        };
        let sum = |times: &[[parallel::Outputs; 2]], of: fn(&[parallel::Outputs; 2]) -> f64| {
            let all = times.iter().map(of);
            (all.clone().sum::<f64>(), all.fold(0.0, f64::max))
        };
        let whole = times(&vec![1.0; chain.len()], self.in_flight)?;
        let speeds: Vec<f64> = whole.iter().map(|[least, _]| 1.0 / least.stage_least_time).collect();
        let all_speed: f64 = speeds.iter().sum();
        let evenly: Vec<f64> = speeds.iter().map(|speed| speed / all_speed).collect();
        let room = |((group, _), [least, _]): (&(usize, u64), &[parallel::Outputs; 2])| {
            let capacity = self.set.groups[*group].target.capacity;
            let left = capacity.map(|capacity| capacity * 1e9 - self.activations(*group, least));
            left.map_or(1.0, |left| (left / least.device_memory).clamp(0.0, 1.0))
        };
        let room: Vec<f64> = chain.iter().zip(&whole).map(room).collect();
        let filled = fill_fastest_first(&speeds, &room);
        let filled_times = times(&filled, self.in_flight)?;
        // Bounds: the sum with most layers on the fastest stages, and the slowest stage at equal times.
        let (through, _) = sum(&filled_times, |[least, _]| least.stage_least_time);
        let (_, slowest) = sum(&times(&evenly, self.in_flight)?, |[least, _]| least.stage_least_time);
        let least = through.max(self.in_flight * slowest);
        let fitting = evenly.iter().zip(&room).all(|(share, room)| share <= room);
        let ways: Vec<&[f64]> = match given {
            Some(given) => vec![given],
            None if fitting => vec![&filled, &evenly],
            None => vec![&filled],
        };
        let mut ideal = (f64::INFINITY, 0.0);
        let mut best = ways[0];
        for shares in ways {
            for parts in &self.cuts {
                let found = times(shares, *parts)?;
                let (through, slowest) = sum(&found, |[_, ideal]| ideal.stage_time);
                let time = match self.phase {
                    Phase::Decode => through.max(parts * slowest),
                    Phase::Prefill => through + (parts - 1.0) * slowest,
                };
                if time < ideal.0 {
                    let (message_time, _) = sum(&found, |[_, ideal]| ideal.message_time);
                    (ideal, best) = ((time, message_time / through), shares);
                }
            }
        }
        let held = times(best, self.in_flight)?;
        let memory = self.fullest(chain.iter().zip(&held).map(|((group, _), [least, _])| (*group, least)));
        let timed = self.timed(least, ideal, memory);
        Ok(PhaseTimes { shares: best.to_vec(), ..timed })
    }
}

/// Returns speeds and memory of a workload in one layout. Prefill and decode use the same split of layers.
pub fn reach(work: &Work, set: &DeviceSet, layout: Layout) -> Result<LayoutPerformance, ParallelError> {
    let [decode, prompt] =
        [Phase::Decode, Phase::Prefill].map(|phase| PhaseRun::new(work, set, layout, phase));
    let (decode, prompt) = (decode?, prompt?);
    let stages = decode.stages();
    let (decode, prompt) = if set.groups.len() == 1 || layout.pipeline == 1 {
        (decode.equal_stages()?, prompt.equal_stages()?)
    } else {
        let decode = decode.unequal_stages(None)?;
        let prompt = prompt.unequal_stages(Some(&decode.shares))?;
        (decode, prompt)
    };
    let name = |(group, tensor): (usize, u64)| {
        let name = &set.groups[group].target.name;
        if tensor > 1 { format!("{tensor}x {name}") } else { name.clone() }
    };
    let shares = stages.into_iter().zip(&decode.shares);
    let shares = shares.map(|(stage, layers)| StageShare { devices: name(stage), layers: *layers });
    let copies = layout.copies as f64;
    Ok(LayoutPerformance {
        layout,
        device_gb: decode.device_gb,
        spare_gb: decode.spare_gb,
        step_least_time: decode.least,
        step_time: decode.ideal,
        decode_ceiling: copies * decode.tokens / decode.least,
        decode_ideal: copies * decode.tokens / decode.ideal,
        prompt_least_time: prompt.least,
        prompt_time: prompt.ideal,
        prefill_ceiling: copies * prompt.tokens / prompt.least,
        prefill_ideal: copies * prompt.tokens / prompt.ideal,
        message_share: decode.message_share,
        shares: shares.collect(),
    })
}
