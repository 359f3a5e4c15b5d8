//! What devices reach together in a layout.

use serde::{Deserialize, Serialize};

use super::layout::gcd;
use super::{Draft, Group, Layout, ManyError, Set, Work};
use crate::predict::{Target, mean_rate, predict};
use roofline_formulas::transformer::Inputs;
use roofline_formulas::{collective, parallel};

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
    /// Memory that the fullest device takes, in GB.
    pub device_gb: f64,
    /// Memory that the fullest device has left, in GB, less than nothing where it is short of some; none where it is not known.
    pub spare_gb: Option<f64>,
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
    /// Share of the layers that each stage has, where devices differ; empty where all stages have the same.
    pub shares: Vec<StageShare>,
}

/// What a stage of different devices has.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct StageShare {
    /// The devices of the stage.
    pub devices: String,
    /// Its share of the layers, 0 to 1.
    pub layers: f64,
}

impl Reached {
    /// Whether it fits; none where the memory of a device is not known.
    pub fn fits(&self) -> Option<bool> {
        self.spare_gb.map(|spare| spare >= 0.0)
    }

    /// The same with a draft model: a token takes its share of a pass.
    pub fn speed_up(&mut self, draft: &Draft) {
        self.step_least_time /= draft.most_speed_up;
        self.decode_ceiling *= draft.most_speed_up;
        self.step_time /= draft.speed_up;
        self.decode_estimate *= draft.speed_up;
        self.device_gb += draft.device_gb;
        self.spare_gb = self.spare_gb.map(|spare| spare - draft.device_gb);
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

/// A stage of a layout: its devices, the share of the layers that they have, and their links.
#[derive(Clone, Copy)]
struct Stage<'a> {
    target: &'a Target,
    tensor: u64,
    share: f64,
    links: Links,
}

/// What links carry in one direction, in GB/s; what is sent over one that is not known takes no time.
#[derive(Clone, Copy)]
struct Links {
    /// Among the devices of a stage.
    within: Option<f64>,
    /// To the next stage.
    onward: Option<f64>,
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
    links: Links,
    least: bool,
) -> Result<Messages, ManyError> {
    let devices = tensor.max(layout.experts) as f64;
    // A ceiling holds for programs that send numbers of 8 bits, too.
    let size = work.inputs.activation_size;
    let token = work.hidden * if least { size.min(1.0) } else { size };
    let told = |link: Option<f64>, ranks: f64, size: f64, time: fn(collective::Outputs) -> f64| {
        let Some(link) = link.filter(|_| work.hidden > 0.0 && ranks > 1.0) else { return Ok(0.0) };
        let start = if least { 0.0 } else { work.start };
        let inputs = collective::Inputs { start, ..collective::Inputs::new(ranks, size, link) };
        Ok::<_, ManyError>(time(inputs.evaluate()?))
    };
    let part = amounts.tokens / parts;
    let chosen = work.inputs.experts_used.min(layout.experts as f64);
    let [reduced, exchanged, handed] =
        [part * tensor as f64 / devices, part / devices * chosen, part / devices]
            .map(|tokens| tokens * token);
    let (tensor, experts) = (tensor as f64, layout.experts as f64);
    let next = if layout.pipeline > 1 { 2.0 } else { 1.0 };
    Ok(if least {
        Messages {
            reduce: told(links.within, tensor, reduced, |times| times.all_reduce_least_time)?,
            // The experts that are chosen may be where the tokens are.
            exchange: 0.0,
            hand: told(links.onward, next, handed, |times| times.wire_time)?,
        }
    } else {
        Messages {
            reduce: told(links.within, tensor, reduced, |times| times.all_reduce_time)?,
            exchange: told(links.within, experts, exchanged, |times| times.all_to_all_time)?,
            hand: told(links.onward, next, handed, |times| times.send_time)?,
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
) -> Result<[parallel::Outputs; 2], ManyError> {
    let of = |amounts: &Amounts, ceiling: bool| {
        let told = messages(work, amounts, (layout, stage.tensor, parts), stage.links, ceiling)?;
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
    spare_gb: Option<f64>,
    message_share: f64,
    shares: Vec<f64>,
}

/// One phase of some work in a layout.
struct Run<'a> {
    work: &'a Work,
    set: &'a Set,
    layout: Layout,
    phase: Phase,
    /// Of each group.
    amounts: Vec<[Amounts; 2]>,
    /// Parts that are in different stages at the same time in a ceiling.
    in_flight: f64,
    /// Parts that an estimate may cut the work into.
    cuts: Vec<f64>,
}

impl<'a> Run<'a> {
    fn new(work: &'a Work, set: &'a Set, layout: Layout, phase: Phase) -> Result<Run<'a>, ManyError> {
        let inputs = Inputs { batch: work.inputs.batch / layout.copies as f64, ..work.inputs };
        let of = |group: &Group| amounts(inputs, work, &group.target, phase);
        let amounts: Vec<[Amounts; 2]> = set.groups.iter().map(of).collect::<Result<_, _>>()?;
        let tokens = amounts.first().map_or(1.0, |[least, _]| least.tokens);
        let stages = layout.pipeline as f64;
        // A sequence is in one stage at a time; a prompt can be cut into as many parts as it has tokens.
        let (in_flight, cuts) = match phase {
            Phase::Decode => (stages.min(inputs.batch), vec![stages.min(inputs.batch)]),
            Phase::Prefill => {
                let halved = (0..).map(|cut| f64::from(1 << cut));
                (stages.min(tokens), halved.take_while(|cut| *cut <= tokens.min(1024.0)).collect())
            }
        };
        Ok(Run { work, set, layout, phase, amounts, in_flight, cuts })
    }

    /// A stage of a group's devices, cut into parts.
    fn stage(
        &self,
        group: usize,
        tensor: u64,
        share: f64,
        parts: f64,
    ) -> Result<[parallel::Outputs; 2], ManyError> {
        let Group { target, link, .. } = &self.set.groups[group];
        let links = Links { within: *link, onward: self.set.link() };
        let one = Stage { target, tensor, share, links };
        stage(self.work, &self.amounts[group], one, self.layout, parts)
    }

    /// A stage of equal shares of all devices. A ceiling deals each matrix out as suits them, so that they are as fast as their mean;
    /// an estimate deals it out evenly, as programs do, and the slowest decides.
    fn even_stage(&self, parts: f64) -> Result<[parallel::Outputs; 2], ManyError> {
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
                bandwidth: least(|[_, estimate]| estimate.bandwidth),
                compute: least(|[_, estimate]| estimate.compute),
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

    /// Activations, which take memory beside weights and cache, on a device of a stage.
    fn activations(&self, group: usize, outputs: &parallel::Outputs) -> f64 {
        let [least, likely] = &self.amounts[group];
        (likely.cache - least.cache) / self.layout.pipeline as f64 / outputs.stage_devices
    }

    /// Memory that a device of a stage takes, in GB, and what it has left.
    fn memory(&self, group: usize, outputs: &parallel::Outputs) -> (f64, Option<f64>) {
        let gb = (outputs.device_memory + self.activations(group, outputs)) / 1e9;
        // A device that is filled to the last byte is not short of a rounding.
        let spare = |capacity: f64| {
            if gb <= capacity * (1.0 + 1e-9) { (capacity - gb).max(0.0) } else { capacity - gb }
        };
        (gb, self.set.groups[group].target.capacity.map(spare))
    }

    fn timed(&self, least: f64, (likely, message_share): (f64, f64), memory: (f64, Option<f64>)) -> Timed {
        let tokens = self.amounts.first().map_or(1.0, |[least, _]| least.tokens);
        Timed {
            least,
            likely,
            tokens,
            device_gb: memory.0,
            spare_gb: memory.1,
            message_share,
            shares: Vec::new(),
        }
    }

    /// The fullest of these devices, and the one with the least left.
    fn fullest<'b>(&self, held: impl Iterator<Item = (usize, &'b parallel::Outputs)>) -> (f64, Option<f64>) {
        let memory = held.map(|(group, outputs)| self.memory(group, outputs));
        let memory = memory.reduce(|a, b| (a.0.max(b.0), a.1.zip(b.1).map(|(a, b)| a.min(b))));
        memory.unwrap_or((0.0, None))
    }

    /// Stages of equal shares, as the contract has them: of equal devices, or one that all of them share.
    fn of_equal_shares(&self) -> Result<Timed, ManyError> {
        let [least, _] = self.even_stage(self.in_flight)?;
        let mut likely = (f64::INFINITY, 0.0);
        for parts in &self.cuts {
            let [_, outputs] = self.even_stage(*parts)?;
            let time = match self.phase {
                Phase::Decode => outputs.step_time,
                Phase::Prefill => outputs.flushed_time,
            };
            if time < likely.0 {
                likely = (time, outputs.message_time / outputs.stage_time);
            }
        }
        let memory = self.fullest((0..self.set.groups.len()).map(|group| (group, &least)));
        Ok(self.timed(least.step_least_time, likely, memory))
    }

    /// The stages of different devices: the group of each, and how many share its matrices.
    fn chain(&self) -> Vec<(usize, u64)> {
        let stages = self.set.groups.iter().enumerate().flat_map(|(index, group)| {
            let tensor = gcd(self.layout.tensor, group.count);
            (0..group.count / tensor).map(move |_| (index, tensor))
        });
        stages.collect()
    }

    /// Different devices: a chain of stages, each with the share of the layers that suits it, or that it was given.
    fn of_a_chain(&self, given: Option<&[f64]>) -> Result<Timed, ManyError> {
        let chain = self.chain();
        let times = |shares: &[f64], parts: f64| -> Result<Vec<[parallel::Outputs; 2]>, ManyError> {
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
        let filled = fill(&speeds, &room);
        let filled_times = times(&filled, self.in_flight)?;
        // Nothing beats the sum with most layers on the fastest, nor the slowest with even times.
        let (through, _) = sum(&filled_times, |[least, _]| least.stage_least_time);
        let (_, slowest) = sum(&times(&evenly, self.in_flight)?, |[least, _]| least.stage_least_time);
        let least = through.max(self.in_flight * slowest);
        let fitting = evenly.iter().zip(&room).all(|(share, room)| share <= room);
        let ways: Vec<&[f64]> = match given {
            Some(given) => vec![given],
            None if fitting => vec![&filled, &evenly],
            None => vec![&filled],
        };
        let mut likely = (f64::INFINITY, 0.0);
        let mut best = ways[0];
        for shares in ways {
            for parts in &self.cuts {
                let found = times(shares, *parts)?;
                let (through, slowest) = sum(&found, |[_, likely]| likely.stage_time);
                let time = match self.phase {
                    Phase::Decode => through.max(parts * slowest),
                    Phase::Prefill => through + (parts - 1.0) * slowest,
                };
                if time < likely.0 {
                    let (told, _) = sum(&found, |[_, likely]| likely.message_time);
                    (likely, best) = ((time, told / through), shares);
                }
            }
        }
        let held = times(best, self.in_flight)?;
        let memory = self.fullest(chain.iter().zip(&held).map(|((group, _), [least, _])| (*group, least)));
        let timed = self.timed(least, likely, memory);
        Ok(Timed { shares: best.to_vec(), ..timed })
    }
}

/// What the work reaches on these devices in this layout. Layers stay where they are for prompts and for answers.
pub fn reach(work: &Work, set: &Set, layout: Layout) -> Result<Reached, ManyError> {
    let [decode, prompt] = [Phase::Decode, Phase::Prefill].map(|phase| Run::new(work, set, layout, phase));
    let (decode, prompt) = (decode?, prompt?);
    let chain = decode.chain();
    let (decode, prompt) = if set.groups.len() == 1 || layout.pipeline == 1 {
        (decode.of_equal_shares()?, prompt.of_equal_shares()?)
    } else {
        let decode = decode.of_a_chain(None)?;
        let prompt = prompt.of_a_chain(Some(&decode.shares))?;
        (decode, prompt)
    };
    let name = |(group, tensor): (usize, u64)| {
        let name = &set.groups[group].target.name;
        if tensor > 1 { format!("{tensor}x {name}") } else { name.clone() }
    };
    let shares = chain.into_iter().zip(&decode.shares);
    let shares = shares.map(|(stage, layers)| StageShare { devices: name(stage), layers: *layers });
    let copies = layout.copies as f64;
    Ok(Reached {
        layout,
        device_gb: decode.device_gb,
        spare_gb: decode.spare_gb,
        step_least_time: decode.least,
        step_time: decode.likely,
        decode_ceiling: copies * decode.tokens / decode.least,
        decode_estimate: copies * decode.tokens / decode.likely,
        prompt_least_time: prompt.least,
        prompt_time: prompt.likely,
        prefill_ceiling: copies * prompt.tokens / prompt.least,
        prefill_estimate: copies * prompt.tokens / prompt.likely,
        message_share: decode.message_share,
        shares: shares.collect(),
    })
}
