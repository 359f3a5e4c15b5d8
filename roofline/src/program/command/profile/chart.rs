//! The chart of a profile, drawn from its JSON form, so that a saved profile is drawn exactly as a fresh one.

use serde::Deserialize;

use crate::chart::{Bound, Chart, Point, Roof};
use crate::number::percent;
use crate::text::file_name;

/// What a chart needs of a profile.
#[derive(Deserialize)]
pub struct Saved {
    model: Subject,
    device: Device,
    phase: String,
    operations: Vec<Operation>,
    rows: Vec<Row>,
}

#[derive(Deserialize)]
struct Subject {
    file: String,
    architecture: String,
}

#[derive(Deserialize)]
struct Device {
    name: String,
    source: String,
    bandwidth_gb_s: f64,
    compute_gflop_s: f64,
}

#[derive(Deserialize)]
struct Operation {
    name: String,
    kind: String,
    dtype: Option<String>,
    tensors: Vec<String>,
    decode: Option<Cost>,
    prefill: Option<Cost>,
    pass: Option<Cost>,
    measured: Option<Measured>,
}

#[derive(Deserialize)]
struct Row {
    name: String,
    cost: Option<Cost>,
}

#[derive(Deserialize)]
struct Cost {
    flops: f64,
    intensity: f64,
    bound: String,
    attainable_gflop_s: f64,
    share: f64,
}

#[derive(Deserialize)]
struct Measured {
    gb_s: f64,
    gflop_s: f64,
    utilization: f64,
}

impl Saved {
    /// The rows of the table under the device's roof; the measured operations instead, where there are some.
    pub fn chart(&self) -> Chart {
        let measured = self.measured();
        let ceilings = || {
            let rows = self.rows.iter().filter(|row| row.cost.as_ref().is_none_or(|cost| cost.flops > 0.0));
            rows.map(|row| point(&row.name, &self.phase, row.cost.as_ref())).collect()
        };
        self.with(if measured.is_empty() { ceilings() } else { measured })
    }

    /// Every operation, for a page that can search and filter; the measured ones alone, where there are some.
    pub fn page(&self) -> Chart {
        let measured = self.measured();
        let operation = |operation: &Operation| {
            let mut point = point(&operation.name, &operation.kind, operation.cost(&self.phase));
            point.details.extend(operation.dtype.iter().map(|dtype| ("type".to_owned(), dtype.clone())));
            // A name that says no more than the operation's needs no room.
            let tensor = operation.tensors.first().filter(|tensor| **tensor != operation.name);
            point.details.extend(tensor.map(|tensor| ("tensor".to_owned(), tensor.clone())));
            point
        };
        let all = || self.operations.iter().map(operation).collect();
        self.with(if measured.is_empty() { all() } else { measured })
    }

    fn measured(&self) -> Vec<Point> {
        let times = |operation: &Operation| {
            let measured = operation.measured.as_ref()?;
            let cost = operation.decode.as_ref().or(operation.pass.as_ref());
            Some(Point {
                name: operation.name.clone(),
                group: operation.kind.clone(),
                intensity_flop_byte: Some(measured.gflop_s / measured.gb_s),
                performance_gflop_s: Some(measured.gflop_s),
                share: None,
                bound: bound(cost.map_or("", |cost| &cost.bound)),
                roof: Some(0),
                details: vec![("utilization".into(), percent(Some(measured.utilization)))],
            })
        };
        self.operations.iter().filter_map(times).collect()
    }

    fn with(&self, points: Vec<Point>) -> Chart {
        let Device { name, source, bandwidth_gb_s, compute_gflop_s } = &self.device;
        let file = file_name(&self.model.file);
        let measured = self.operations.iter().any(|operation| operation.measured.is_some());
        Chart {
            title: format!("{file}, {} on {name}", self.model.architecture),
            subtitle: match (measured, self.phase.as_str()) {
                (true, "pass") => format!("measured on one sample, {source}"),
                (true, _) => format!("measured on one token, {source}"),
                (false, "pass") => format!("ceilings of a pass, {source}"),
                (false, phase) => format!("ceilings of {phase}, {source}"),
            },
            roofs: vec![Roof {
                name: "memory".to_owned(),
                group: name.clone(),
                bandwidth_gb_s: Some(*bandwidth_gb_s),
                compute_gflop_s: Some(*compute_gflop_s),
            }],
            points,
        }
    }
}

impl Operation {
    fn cost(&self, phase: &str) -> Option<&Cost> {
        match phase {
            "decode" => self.decode.as_ref(),
            "prefill" => self.prefill.as_ref(),
            _ => self.pass.as_ref(),
        }
    }
}

fn point(name: &str, group: &str, cost: Option<&Cost>) -> Point {
    Point {
        name: name.to_owned(),
        group: group.to_owned(),
        intensity_flop_byte: cost.map(|cost| cost.intensity),
        performance_gflop_s: cost.map(|cost| cost.attainable_gflop_s),
        share: cost.map(|cost| cost.share),
        bound: cost.map_or(Bound::Undefined, |cost| bound(&cost.bound)),
        roof: Some(0),
        details: Vec::new(),
    }
}

/// The chart's word for a contract's bound.
pub fn bound(name: &str) -> Bound {
    match name {
        "Memory" => Bound::Memory,
        "Compute" => Bound::Compute,
        _ => Bound::Undefined,
    }
}
