//! A contract as a chart: its rates over its intensity as roofs, where they bend, and the point that `--set` gives; and sliders for
//! every quantity. Every place is what the contract computes there.

use std::collections::{BTreeMap, BTreeSet};

use roofline_contracts::contract::{Contract, Operand};
use roofline_contracts::eval;
use roofline_contracts::unit::Unit;

use crate::chart::equations::Equations;
use crate::chart::html::{Operation, Recipe, RoofRecipe, Shown, Summary, WhatIf};
use crate::chart::{Bound, Chart, Point, Roof};
use crate::program::command::eval as evaluation;
use crate::program::{Failure, contract, what_if};
use roofline_render::number::figure;

/// What intensities and rates are drawn in.
const INTENSITY: &str = "flop/B";
const RATE: &str = "Gflop/s";
/// Places of a roof, over so many decades to each side of where it bends.
const SAMPLES: usize = 481;
const DECADES: f64 = 4.0;
/// The least value of what moves along the axis where the intensity is computed.
const LEAST: f64 = 1e-6;

/// The roofs of a contract in these units: its chart, and what moves it.
pub fn drawn(name: &str, set: &[String]) -> Result<(Chart, Option<WhatIf>), Failure> {
    let contract = contract::open_to_compute(name)?;
    let wrong = |why: String| Failure(format!("{name}: {why}"));
    let mut axis = Axis::of(&contract).map_err(wrong)?;
    let mut given = evaluation::settings(set, &contract)?;
    let mut values: Vec<Option<f64>> = Vec::new();
    for quantity in &contract.quantities {
        values.push(given.remove(&quantity.name).or(quantity.default));
    }
    let measured = contract.equations.iter().filter_map(|equation| equation.bounds.as_ref());
    let measured: Vec<&String> = measured.filter(|name| given.contains_key(*name)).collect();
    if let Some(unknown) = given.keys().find(|name| !measured.contains(name)) {
        return Err(evaluation::unknown_name(&contract, unknown));
    }
    // The intensity needs no value: without one there is no point.
    let placed = axis.intensity.is_some() || values[axis.moved].is_some();
    let missing = |(index, _): &(usize, &Option<f64>)| placed || *index != axis.moved;
    let missing: Vec<&str> = (values.iter().enumerate().filter(|(_, value)| value.is_none()).filter(missing))
        .map(|(index, _)| contract.quantities[index].name.as_str())
        .collect();
    if let Some(first) = missing.first() {
        let all = missing.join(", ");
        return Err(wrong(format!("no value for {all}; give it with --set {first}=VALUE")));
    }
    let domain = &contract.quantities[axis.moved].domain;
    let somewhere = [1.0, domain.low, domain.high].into_iter().find(|value| domain.contains(*value));
    values[axis.moved] = values[axis.moved].or(somewhere);
    let point: Vec<f64> = values.into_iter().flatten().collect();
    let outputs = eval::evaluate(&contract, &point)?;
    axis.move_farthest(&contract, &point);
    let ridges: Vec<f64> = axis.ridges.iter().map(|index| outputs.equations[*index] / axis.per).collect();
    let mut samples = axis.samples(&contract, &ridges, SAMPLES);
    axis.bend(&contract, &point, &ridges, &mut samples);
    let curve = |rate: usize| {
        let per = per(RATE, contract.equations[rate].unit);
        let places = samples.iter().filter_map(|value| axis.place(&contract, &point, *value, (rate, per)));
        straight(places.collect())
    };
    let curves: Vec<(usize, Vec<(f64, f64)>)> = axis.rates.iter().map(|rate| (*rate, curve(*rate))).collect();
    let curves: Vec<_> = curves.into_iter().filter(|(_, curve)| curve.len() > 1).collect();
    axis.rates = curves.iter().map(|(rate, _)| *rate).collect();
    let roofs: Vec<Roof> = curves
        .into_iter()
        .map(|(rate, curve)| Roof {
            name: contract.equations[rate].name.replace('_', " "),
            curve,
            ..Roof::default()
        })
        .collect();
    if roofs.is_empty() {
        return Err(wrong("no rate can be computed anywhere along the intensity with these values".into()));
    }
    let first = axis.rates[0];
    let mut points = Vec::new();
    if placed {
        let (rate, intensity) =
            (outputs.equations[first] / per(RATE, contract.equations[first].unit), axis.at(&point, &outputs));
        let bound = bound(&contract, &outputs);
        let base = Point {
            name: contract.equations[first].name.replace('_', " "),
            group: contract.metadata.id.clone(),
            intensity_flop_byte: Some(intensity),
            performance_gflop_s: Some(rate),
            bound,
            roof: Some(0),
            ..Point::default()
        };
        points.push(base.clone());
        for (index, equation) in contract.equations.iter().enumerate() {
            let Some((name, value)) = equation.bounds.as_ref().and_then(|name| given.get_key_value(name))
            else {
                continue;
            };
            if let Some(roof) = axis.rates.iter().position(|rate| *rate == index) {
                let value = value / per(RATE, equation.unit);
                let details = vec![("bounded by".to_owned(), figure(outputs.equations[index]))];
                let (name, roof) = (name.replace('_', " "), Some(roof));
                points.push(Point { name, performance_gflop_s: Some(value), roof, details, ..base.clone() });
            }
        }
    }
    let told = contract
        .quantities
        .iter()
        .zip(&point)
        .filter(|(quantity, _)| set.iter().any(|text| of(text) == quantity.name));
    let told: Vec<String> = told
        .map(|(quantity, value)| {
            format!("{} {} {}", quantity.name, quantity.show(*value), quantity.unit_text)
        })
        .collect();
    let chart = Chart {
        title: contract.metadata.description.trim_end_matches('.').to_owned(),
        subtitle: format!("{} {}: {}", contract.metadata.id, contract.metadata.version, told.join(", ")),
        roofs,
        points,
    };
    // A page moves numbers; what has cases stands still.
    let numbers = contract.quantities.iter().all(|quantity| quantity.cases.is_empty());
    let what_if = numbers.then(|| axis.what_if(&contract, &point, &samples, placed));
    Ok((chart, what_if))
}

/// The name in `NAME=VALUE`.
fn of(set: &str) -> &str {
    set.split('=').next().unwrap_or_default().trim()
}

/// How many of a unit are one of those that are drawn.
fn per(drawn: &str, unit: Unit) -> f64 {
    Unit::parse(drawn).ok().and_then(|drawn| unit.over(drawn)).map_or(1.0, Unit::conversion)
}

/// What a contract is drawn over.
#[derive(Clone)]
struct Axis {
    /// The equation that is the intensity; none where a quantity is.
    intensity: Option<usize>,
    /// The quantity that moves along the axis: the intensity itself, or one that it follows from.
    moved: usize,
    /// Quantities that could move along the axis too.
    others: Vec<usize>,
    /// How many of the intensity's unit are one FLOP/byte.
    per: f64,
    /// The equations that are rates and follow from the intensity, `attainable` first.
    rates: Vec<usize>,
    /// The equations that are other intensities: where roofs bend.
    ridges: Vec<usize>,
}

impl Axis {
    fn of(contract: &Contract) -> Result<Axis, String> {
        let is =
            |unit: Unit, wanted: &str| Unit::parse(wanted).is_ok_and(|wanted| unit.same_dimension(wanted));
        let rates: Vec<usize> =
            (0..contract.equations.len()).filter(|index| is(contract.equations[*index].unit, RATE)).collect();
        // A quantity in FLOP/byte, or else an equation that a rate follows from.
        let quantity = contract.quantities.iter().position(|one| is(one.unit, INTENSITY));
        let follows = |rate: usize, operand: Operand| reaches(contract, rate, operand);
        let equation = (0..contract.equations.len()).find(|index| {
            is(contract.equations[*index].unit, INTENSITY)
                && rates.iter().any(|rate| follows(*rate, Operand::Equation(*index)))
        });
        let operand = match (quantity, equation) {
            (Some(index), _) => Operand::Quantity(index),
            (None, Some(index)) => Operand::Equation(index),
            (None, None) => {
                return Err(format!(
                    "nothing here is an intensity, a quantity or an equation in {INTENSITY}, to draw over"
                ));
            }
        };
        let mut rates: Vec<usize> = rates.into_iter().filter(|rate| follows(*rate, operand)).collect();
        rates.sort_by_key(|rate| contract.equations[*rate].name != "attainable");
        if rates.is_empty() {
            return Err(format!(
                "no equation in {RATE} follows from the intensity: there is no roof to draw"
            ));
        }
        let ridges: Vec<usize> = (0..contract.equations.len())
            .filter(|index| is(contract.equations[*index].unit, INTENSITY) && !follows(*index, operand))
            .collect();
        // Of what an intensity follows from, what no ridge follows from: it moves along the axis, and the roofs stay.
        let free = |equation: usize| {
            let ridges = ridges.clone();
            (0..contract.quantities.len()).filter(move |index| {
                let quantity = Operand::Quantity(*index);
                reaches(contract, equation, quantity)
                    && ridges.iter().all(|ridge| !reaches(contract, *ridge, quantity))
                    && contract.quantities[*index].cases.is_empty()
            })
        };
        let (unit, moved) = match operand {
            Operand::Quantity(index) => (contract.quantities[index].unit, Some(index)),
            Operand::Equation(equation) => (contract.equations[equation].unit, free(equation).next()),
        };
        let moved = moved.ok_or("the intensity follows from nothing that can be moved along the axis")?;
        let (intensity, others) = match operand {
            Operand::Equation(index) => (Some(index), free(index).collect()),
            Operand::Quantity(_) => (None, Vec::new()),
        };
        Ok(Axis { intensity, moved, others, per: per(INTENSITY, unit), rates, ridges })
    }

    /// Where several quantities could move along the axis: the one that goes farthest.
    fn move_farthest(&mut self, contract: &Contract, point: &[f64]) {
        let (rate, mut farthest) = (self.rates[0], 0.0);
        for moved in self.others.clone() {
            let axis = Axis { moved, others: Vec::new(), ..self.clone() };
            let samples = axis.samples(contract, &[], 25);
            let places = samples.iter().filter_map(|value| axis.place(contract, point, *value, (rate, 1.0)));
            let ends = places.fold((f64::MAX, 0.0), |(low, high): (f64, f64), place| {
                (low.min(place.0), high.max(place.0))
            });
            if ends.1 / ends.0 > farthest {
                (self.moved, farthest) = (moved, ends.1 / ends.0);
            }
        }
    }

    /// The intensity of a point, in FLOP/byte.
    fn at(&self, point: &[f64], outputs: &eval::Outputs) -> f64 {
        self.intensity.map_or(point[self.moved], |index| outputs.equations[index]) / self.per
    }

    /// The values of what moves, in ascending order: many, and where a roof may bend.
    fn samples(&self, contract: &Contract, ridges: &[f64], count: usize) -> Vec<f64> {
        let domain = &contract.quantities[self.moved].domain;
        let bends = ridges.iter().copied().filter(|ridge| ridge.is_finite() && *ridge > 0.0);
        let (low, high) =
            match (self.intensity, bends.clone().reduce(f64::min), bends.clone().reduce(f64::max)) {
                (None, Some(least), Some(most)) => {
                    (least * self.per / 10f64.powf(DECADES), most * self.per * 10f64.powf(DECADES))
                }
                _ => (domain.low.max(LEAST), domain.high),
            };
        let (low, high) = (low.max(domain.low).max(f64::MIN_POSITIVE).log10(), high.min(domain.high).log10());
        let even = (0..count).map(|index| 10f64.powf(low + (high - low) * index as f64 / (count - 1) as f64));
        let whole = |value: f64| if domain.integer { value.round() } else { value };
        let bends = bends.map(|ridge| ridge * self.per).filter(|_| self.intensity.is_none());
        let mut samples: Vec<f64> =
            even.map(whole).chain(bends).filter(|value| domain.contains(*value)).collect();
        samples.sort_by(f64::total_cmp);
        samples.dedup();
        samples
    }

    /// Adds the values of what moves at which a computed intensity is where a roof may bend.
    fn bend(&self, contract: &Contract, point: &[f64], ridges: &[f64], samples: &mut Vec<f64>) {
        let at = |value: f64| Some(self.place(contract, point, value, (self.rates[0], 1.0))?.0);
        let mut found = Vec::new();
        for ridge in ridges.iter().filter(|_| self.intensity.is_some()) {
            let below = |value: f64| at(value).is_some_and(|intensity| intensity < *ridge);
            for pair in samples.windows(2).filter(|pair| below(pair[0]) && !below(pair[1])) {
                let (mut low, mut high) = (pair[0], pair[1]);
                for _ in 0..60 {
                    let middle = (low * high).sqrt();
                    (low, high) = if below(middle) { (middle, high) } else { (low, middle) };
                }
                found.push(high);
            }
        }
        samples.extend(
            found.into_iter().filter(|value| contract.quantities[self.moved].domain.contains(*value)),
        );
        samples.sort_by(f64::total_cmp);
        samples.dedup();
    }

    /// Where a rate stands with another value of what moves; none outside the domains.
    fn place(
        &self,
        contract: &Contract,
        point: &[f64],
        value: f64,
        (rate, per): (usize, f64),
    ) -> Option<(f64, f64)> {
        let mut point = point.to_vec();
        point[self.moved] = value;
        let outputs = eval::evaluate(contract, &point).ok()?;
        let place = (self.at(&point, &outputs), outputs.equations[rate] / per);
        (place.0 > 0.0 && place.1 > 0.0 && place.0.is_finite() && place.1.is_finite()).then_some(place)
    }

    /// Sliders for every quantity.
    fn what_if(&self, contract: &Contract, point: &[f64], samples: &[f64], placed: bool) -> WhatIf {
        let equation = |index: usize| contract.equations[index].name.clone();
        let moved = contract.quantities[self.moved].name.clone();
        let intensity = self.intensity.map_or(moved.clone(), equation);
        let first = self.rates[0];
        let classifier = contract
            .classifiers
            .iter()
            .find(|one| one.cases.iter().any(|case| word(&case.variant) != Bound::Undefined));
        let wanted: Vec<String> = [intensity.clone(), equation(first)]
            .into_iter()
            .chain(classifier.map(|one| one.name.clone()))
            .chain(self.ridges.iter().map(|ridge| equation(*ridge)))
            .collect();
        let wanted: Vec<&str> = wanted.iter().map(String::as_str).collect();
        let equations = Equations::of(contract);
        let steps = equations.steps(&wanted, &[]);
        let numbers = contract.quantities.iter().zip(point);
        let inputs: BTreeMap<String, f64> =
            numbers.clone().map(|(quantity, value)| (quantity.name.clone(), *value)).collect();
        let is_moved = |name: &str| name == moved && !placed;
        let sliders = numbers
            .filter(|(quantity, value)| **value > 0.0 && !is_moved(&quantity.name))
            .map(|(quantity, value)| crate::chart::html::Slider {
                folded: false,
                ..what_if::around(&equations, &quantity.name, *value)
            })
            .collect();
        let shown = |index: usize| {
            let equation = &contract.equations[index];
            let unit = if equation.unit_text == "1" { String::new() } else { equation.unit_text.clone() };
            Shown { label: equation.name.replace('_', " "), result: equation.name.clone(), unit, per: None }
        };
        WhatIf {
            module: equations.script.clone(),
            sliders,
            recipes: vec![Recipe {
                steps: steps.clone(),
                intensity: intensity.clone(),
                performance: equation(first),
                per: Some((self.per, per(RATE, contract.equations[first].unit))),
                bound: classifier.map(|one| one.name.clone()),
                ..Recipe::default()
            }],
            operations: if placed {
                vec![Operation { point: 0, recipe: 0, inputs: BTreeMap::new() }]
            } else {
                Vec::new()
            },
            roofs: (self.rates.iter())
                .map(|rate| RoofRecipe {
                    steps: equations.steps(&[&intensity, &equation(*rate)], &[]),
                    moved: moved.clone(),
                    intensity: Some(intensity.clone()),
                    height: equation(*rate),
                    per: Some((self.per, per(RATE, contract.equations[*rate].unit))),
                    samples: samples.to_vec(),
                    ..RoofRecipe::default()
                })
                .collect(),
            summary: Some(Summary {
                steps,
                shown: std::iter::once(first)
                    .filter(|_| placed)
                    .chain(self.ridges.iter().copied())
                    .map(shown)
                    .collect(),
                ..Summary::default()
            }),
            inputs,
        }
    }
}

/// Whether an equation follows from something, by however many steps; every equation follows from itself.
fn reaches(contract: &Contract, equation: usize, wanted: Operand) -> bool {
    let (mut open, mut seen) = (vec![Operand::Equation(equation)], BTreeSet::new());
    while let Some(operand) = open.pop() {
        if operand == wanted {
            return true;
        }
        if let Operand::Equation(index) = operand
            && seen.insert(index)
        {
            let operands = &contract.equations[index].expression.operands;
            open.extend(operands.iter().map(|(_, operand)| *operand));
        }
    }
    false
}

/// The bound that a classifier's answer names.
fn word(variant: &str) -> Bound {
    match variant.to_lowercase().as_str() {
        "memory" | "bandwidth" => Bound::Memory,
        "compute" => Bound::Compute,
        "overhead" => Bound::Overhead,
        _ => Bound::Undefined,
    }
}

/// What holds the point back, as far as a classifier says.
fn bound(contract: &Contract, outputs: &eval::Outputs) -> Bound {
    let chosen = contract.classifiers.iter().zip(&outputs.classes);
    let words = chosen.map(|(classifier, chosen)| word(&classifier.cases[*chosen].variant));
    words.into_iter().find(|word| *word != Bound::Undefined).unwrap_or_default()
}

/// The same curve with as few places as a logarithmic chart needs.
fn straight(mut places: Vec<(f64, f64)>) -> Vec<(f64, f64)> {
    places.sort_by(|a, b| a.0.total_cmp(&b.0));
    places.dedup_by(|a, b| a.0 == b.0);
    let logs = |place: (f64, f64)| (place.0.log10(), place.1.log10());
    let mut kept: Vec<(f64, f64)> = Vec::new();
    for (index, place) in places.iter().enumerate() {
        let (Some(&last), Some(&next)) = (kept.last(), places.get(index + 1)) else {
            kept.push(*place);
            continue;
        };
        let ((x0, y0), (x1, y1), (x2, y2)) = (logs(last), logs(*place), logs(next));
        // How far the place lies from the line between its neighbours, in decades.
        let off = y1 - (y0 + (y2 - y0) * (x1 - x0) / (x2 - x0));
        if off.abs() > 1e-6 {
            kept.push(*place);
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_curve_keeps_its_ends_and_its_bends() {
        let roof = |x: f64| (x, (10.0 * x).min(100.0));
        let places: Vec<_> = [0.01, 0.1, 1.0, 10.0, 20.0, 500.0, 1000.0].map(roof).to_vec();
        assert_eq!(straight(places), [(0.01, 0.1), (10.0, 100.0), (1000.0, 100.0)]);
    }

    #[test]
    fn every_answer_of_a_classifier_that_is_no_bound_is_undefined() {
        assert_eq!(
            [word("Bandwidth"), word("Compute"), word("Fits")],
            [Bound::Memory, Bound::Compute, Bound::Undefined]
        );
    }
}
