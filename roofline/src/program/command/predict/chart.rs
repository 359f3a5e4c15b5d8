//! The chart of predictions, drawn from their JSON form, so that saved ones are drawn exactly as fresh ones: for each a point for
//! decoding and one for the prompt, under the roof of its device.

use serde::Deserialize;

use crate::chart::{Chart, Point, Roof};
use crate::program::command::profile::chart::{bound, file_name};

/// What a chart needs of predictions.
#[derive(Deserialize)]
pub struct Saved {
    model: Subject,
    workload: Workload,
    predictions: Vec<Prediction>,
}

#[derive(Deserialize)]
struct Subject {
    name: String,
    quant: String,
}

#[derive(Deserialize)]
struct Workload {
    batch: f64,
    context: f64,
    prompt: f64,
}

#[derive(Deserialize)]
struct Prediction {
    device: String,
    precision: String,
    at: Option<f64>,
    compute_gflop_s: f64,
    bandwidth_gb_s: f64,
    decode_bound: String,
    prefill_bound: String,
    results: Results,
}

#[derive(Deserialize)]
struct Results {
    decode_performance: f64,
    decode_intensity: f64,
    decode_tokens_per_s: f64,
    prefill_performance: f64,
    prefill_intensity: f64,
    prefill_tokens_per_s: f64,
}

impl Saved {
    /// All predictions under the roofs of their devices.
    pub fn chart(&self) -> Chart {
        let mut roofs: Vec<Roof> = Vec::new();
        for prediction in &self.predictions {
            if roofs.iter().all(|roof| roof.group != prediction.device) {
                roofs.push(Roof {
                    name: format!("{}, {}", prediction.device, prediction.precision),
                    group: prediction.device.clone(),
                    bandwidth_gb_s: Some(prediction.bandwidth_gb_s),
                    compute_gflop_s: Some(prediction.compute_gflop_s),
                });
            }
        }
        let several = roofs.len() > 1;
        let points = self.predictions.iter().flat_map(|prediction| {
            let roof = roofs.iter().position(|roof| roof.group == prediction.device);
            prediction.points(several, roof)
        });
        let points = points.collect();
        let Workload { batch, context, prompt } = self.workload;
        Chart {
            title: format!("{}, {}", file_name(&self.model.name), self.model.quant),
            subtitle: format!(
                "predicted: batch {batch}, {context} tokens in the cache, a prompt of {prompt}"
            ),
            roofs,
            points,
        }
    }
}

impl Prediction {
    fn points(&self, several: bool, roof: Option<usize>) -> [Point; 2] {
        let at = self.at.map(|at| format!(" at {at}")).unwrap_or_default();
        let device = if several { format!(" on {}", self.device) } else { String::new() };
        let results = &self.results;
        let point = |group: &str, intensity, performance, why: &str, speed: f64| Point {
            name: format!("{group}{at}{device}"),
            group: group.to_owned(),
            intensity_flop_byte: Some(intensity),
            performance_gflop_s: Some(performance),
            share: None,
            bound: bound(why),
            roof,
            details: vec![("token/s".into(), crate::number::figure(speed))],
        };
        let Results { decode_performance, decode_intensity, decode_tokens_per_s, .. } = *results;
        let Results { prefill_performance, prefill_intensity, prefill_tokens_per_s, .. } = *results;
        [
            point("decode", decode_intensity, decode_performance, &self.decode_bound, decode_tokens_per_s),
            point(
                "prefill",
                prefill_intensity,
                prefill_performance,
                &self.prefill_bound,
                prefill_tokens_per_s,
            ),
        ]
    }
}
