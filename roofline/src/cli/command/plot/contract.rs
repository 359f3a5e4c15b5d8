//! A contract as a roofline chart: its rates as a function of the arithmetic intensity, the point of `--set`, and sliders for every
//! quantity. All coordinates are computed by the contract.

use std::collections::{BTreeMap, BTreeSet};

use roofline_contracts::contract::{Contract, Operand};
use roofline_contracts::eval;
use roofline_contracts::unit::Unit;

use crate::chart::equations::Equations;
use crate::chart::html::{Operation, Recipe, RoofRecipe, Shown, Summary, WhatIf};
use crate::chart::{Bound, Chart, Point, Roof};
use crate::cli::command::eval as evaluation;
use crate::cli::{Failure, contract, sliders};
use roofline_render::format::figure;

/// Units of the axes.
const INTENSITY: &str = "flop/B";
const RATE: &str = "Gflop/s";
/// Samples of a roof.
const SAMPLES: usize = 481;
/// Decades to each side of the ridge points.
const DECADES: f64 = 4.0;
/// Minimum of the varied quantity if the intensity is an equation.
const MIN_VALUE: f64 = 1e-6;

/// Draws a contract, and returns the chart with its sliders.
pub fn draw(name: &str, set: &[String]) -> Result<(Chart, Option<WhatIf>), Failure> {
    let contract = contract::open_for_evaluation(name)?;
    let wrong = |why: String| Failure(format!("{name}: {why}"));
    let mut axis = Axis::new(&contract).map_err(wrong)?;
    let mut settings = evaluation::settings(set, &contract)?;
    let mut values: Vec<Option<f64>> = Vec::new();
    for quantity in &contract.quantities {
        values.push(settings.remove(&quantity.name).or(quantity.default));
    }
    let measured = contract.equations.iter().filter_map(|equation| equation.bounds.as_ref());
    let measured: Vec<&String> = measured.filter(|name| settings.contains_key(*name)).collect();
    if let Some(unknown) = settings.keys().find(|name| !measured.contains(name)) {
        return Err(evaluation::unknown_name(&contract, unknown));
    }
    // Without a value for the intensity, the chart has no point.
    let has_point = axis.intensity.is_some() || values[axis.varied].is_some();
    let missing = |(index, _): &(usize, &Option<f64>)| has_point || *index != axis.varied;
    let missing: Vec<&str> = (values.iter().enumerate().filter(|(_, value)| value.is_none()).filter(missing))
        .map(|(index, _)| contract.quantities[index].name.as_str())
        .collect();
    if let Some(first) = missing.first() {
        let all = missing.join(", ");
        return Err(wrong(format!("missing value for {all}; pass --set {first}=VALUE")));
    }
    let domain = &contract.quantities[axis.varied].domain;
    let somewhere = [1.0, domain.low, domain.high].into_iter().find(|value| domain.contains(*value));
    values[axis.varied] = values[axis.varied].or(somewhere);
    let point: Vec<f64> = values.into_iter().flatten().collect();
    let outputs = eval::evaluate(&contract, &point)?;
    axis.vary_widest(&contract, &point);
    let ridges: Vec<f64> = axis.ridges.iter().map(|index| outputs.equations[*index] / axis.per).collect();
    let mut samples = axis.samples(&contract, &ridges, SAMPLES);
    axis.bend(&contract, &point, &ridges, &mut samples);
    let curve = |rate: usize| {
        let per = per(RATE, contract.equations[rate].unit);
        let places =
            samples.iter().filter_map(|value| axis.coordinates(&contract, &point, *value, (rate, per)));
        simplify(places.collect())
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
        return Err(wrong("cannot compute a rate for any intensity with these values".into()));
    }
    let first = axis.rates[0];
    let mut points = Vec::new();
    if has_point {
        let (rate, intensity) = (
            outputs.equations[first] / per(RATE, contract.equations[first].unit),
            axis.intensity_at(&point, &outputs),
        );
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
            let Some((name, value)) = equation.bounds.as_ref().and_then(|name| settings.get_key_value(name))
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
    let settings = contract
        .quantities
        .iter()
        .zip(&point)
        .filter(|(quantity, _)| set.iter().any(|text| setting_name(text) == quantity.name));
    let settings: Vec<String> = settings
        .map(|(quantity, value)| {
            format!("{} {} {}", quantity.name, quantity.show(*value), quantity.unit_text)
        })
        .collect();
    let chart = Chart {
        title: contract.metadata.description.trim_end_matches('.').to_owned(),
        subtitle: format!("{} {}: {}", contract.metadata.id, contract.metadata.version, settings.join(", ")),
        roofs,
        points,
    };
    // Sliders vary numbers, not cases.
    let numbers = contract.quantities.iter().all(|quantity| quantity.cases.is_empty());
    let what_if = numbers.then(|| axis.what_if(&contract, &point, &samples, has_point));
    Ok((chart, what_if))
}

/// Returns the name of `NAME=VALUE`.
fn setting_name(set: &str) -> &str {
    set.split('=').next().unwrap_or_default().trim()
}

/// Returns the factor from the drawn unit to `unit`.
fn per(drawn: &str, unit: Unit) -> f64 {
    Unit::parse(drawn).ok().and_then(|drawn| unit.over(drawn)).map_or(1.0, Unit::conversion)
}

/// The horizontal axis of a contract's chart.
#[derive(Clone)]
struct Axis {
    /// Equation of the intensity; `None` if it is a quantity.
    intensity: Option<usize>,
    /// Quantity that varies along the axis: the intensity itself, or an operand of its equation.
    varied: usize,
    /// Other candidates for the varied quantity.
    candidates: Vec<usize>,
    /// Factor from FLOP/byte to the unit of the intensity.
    per: f64,
    /// Rates that depend on the intensity, `attainable` first.
    rates: Vec<usize>,
    /// Ridge points: other equations with the unit of an intensity.
    ridges: Vec<usize>,
}

impl Axis {
    fn new(contract: &Contract) -> Result<Axis, String> {
        let is = |unit: Unit, expected: &str| {
            Unit::parse(expected).is_ok_and(|expected| unit.same_dimension(expected))
        };
        let rates: Vec<usize> =
            (0..contract.equations.len()).filter(|index| is(contract.equations[*index].unit, RATE)).collect();
        // A quantity in FLOP/byte, or else an equation on which a rate depends.
        let quantity = contract.quantities.iter().position(|one| is(one.unit, INTENSITY));
        let depends = |rate: usize, operand: Operand| reaches(contract, rate, operand);
        let equation = (0..contract.equations.len()).find(|index| {
            is(contract.equations[*index].unit, INTENSITY)
                && rates.iter().any(|rate| depends(*rate, Operand::Equation(*index)))
        });
        let operand = match (quantity, equation) {
            (Some(index), _) => Operand::Quantity(index),
            (None, Some(index)) => Operand::Equation(index),
            (None, None) => {
                return Err(format!(
                    "cannot draw: missing an arithmetic intensity (a quantity or an equation in {INTENSITY})"
                ));
            }
        };
        let mut rates: Vec<usize> = rates.into_iter().filter(|rate| depends(*rate, operand)).collect();
        rates.sort_by_key(|rate| contract.equations[*rate].name != "attainable");
        if rates.is_empty() {
            return Err(format!("cannot draw: missing an equation in {RATE} that depends on the intensity"));
        }
        let ridges: Vec<usize> = (0..contract.equations.len())
            .filter(|index| is(contract.equations[*index].unit, INTENSITY) && !depends(*index, operand))
            .collect();
        // Quantities that affect the intensity but no ridge point, so that the roofs stay fixed.
        let free = |equation: usize| {
            let ridges = ridges.clone();
            (0..contract.quantities.len()).filter(move |index| {
                let quantity = Operand::Quantity(*index);
                reaches(contract, equation, quantity)
                    && ridges.iter().all(|ridge| !reaches(contract, *ridge, quantity))
                    && contract.quantities[*index].cases.is_empty()
            })
        };
        let (unit, varied) = match operand {
            Operand::Quantity(index) => (contract.quantities[index].unit, Some(index)),
            Operand::Equation(equation) => (contract.equations[equation].unit, free(equation).next()),
        };
        let varied = varied.ok_or("cannot draw: no quantity affects the intensity alone")?;
        let (intensity, candidates) = match operand {
            Operand::Equation(index) => (Some(index), free(index).collect()),
            Operand::Quantity(_) => (None, Vec::new()),
        };
        Ok(Axis { intensity, varied, candidates, per: per(INTENSITY, unit), rates, ridges })
    }

    /// Selects the candidate that covers the widest range of intensities.
    fn vary_widest(&mut self, contract: &Contract, point: &[f64]) {
        let (rate, mut widest) = (self.rates[0], 0.0);
        for varied in self.candidates.clone() {
            let axis = Axis { varied, candidates: Vec::new(), ..self.clone() };
            let samples = axis.samples(contract, &[], 25);
            let places =
                samples.iter().filter_map(|value| axis.coordinates(contract, point, *value, (rate, 1.0)));
            let ends = places.fold((f64::MAX, 0.0), |(low, high): (f64, f64), place| {
                (low.min(place.0), high.max(place.0))
            });
            if ends.1 / ends.0 > widest {
                (self.varied, widest) = (varied, ends.1 / ends.0);
            }
        }
    }

    /// Returns the intensity of a point in FLOP/byte.
    fn intensity_at(&self, point: &[f64], outputs: &eval::Outputs) -> f64 {
        self.intensity.map_or(point[self.varied], |index| outputs.equations[index]) / self.per
    }

    /// Returns ascending values of the varied quantity: `count` regular ones, and the ridge points.
    fn samples(&self, contract: &Contract, ridges: &[f64], count: usize) -> Vec<f64> {
        let domain = &contract.quantities[self.varied].domain;
        let bends = ridges.iter().copied().filter(|ridge| ridge.is_finite() && *ridge > 0.0);
        let (low, high) =
            match (self.intensity, bends.clone().reduce(f64::min), bends.clone().reduce(f64::max)) {
                (None, Some(min), Some(max)) => {
                    (min * self.per / 10f64.powf(DECADES), max * self.per * 10f64.powf(DECADES))
                }
                _ => (domain.low.max(MIN_VALUE), domain.high),
            };
        let (low, high) = (low.max(domain.low).max(f64::MIN_POSITIVE).log10(), high.min(domain.high).log10());
        let regular =
            (0..count).map(|index| 10f64.powf(low + (high - low) * index as f64 / (count - 1) as f64));
        let whole = |value: f64| if domain.integer { value.round() } else { value };
        let bends = bends.map(|ridge| ridge * self.per).filter(|_| self.intensity.is_none());
        let mut samples: Vec<f64> =
            regular.map(whole).chain(bends).filter(|value| domain.contains(*value)).collect();
        samples.sort_by(f64::total_cmp);
        samples.dedup();
        samples
    }

    /// Adds the values of the varied quantity at which the intensity reaches a ridge point.
    fn bend(&self, contract: &Contract, point: &[f64], ridges: &[f64], samples: &mut Vec<f64>) {
        let at = |value: f64| Some(self.coordinates(contract, point, value, (self.rates[0], 1.0))?.0);
        let mut bends = Vec::new();
        for ridge in ridges.iter().filter(|_| self.intensity.is_some()) {
            let below = |value: f64| at(value).is_some_and(|intensity| intensity < *ridge);
            for pair in samples.windows(2).filter(|pair| below(pair[0]) && !below(pair[1])) {
                let (mut low, mut high) = (pair[0], pair[1]);
                for _ in 0..60 {
                    let middle = (low * high).sqrt();
                    (low, high) = if below(middle) { (middle, high) } else { (low, middle) };
                }
                bends.push(high);
            }
        }
        samples.extend(
            bends.into_iter().filter(|value| contract.quantities[self.varied].domain.contains(*value)),
        );
        samples.sort_by(f64::total_cmp);
        samples.dedup();
    }

    /// Returns intensity and rate for a value of the varied quantity; `None` outside the domains.
    fn coordinates(
        &self,
        contract: &Contract,
        point: &[f64],
        value: f64,
        (rate, per): (usize, f64),
    ) -> Option<(f64, f64)> {
        let mut point = point.to_vec();
        point[self.varied] = value;
        let outputs = eval::evaluate(contract, &point).ok()?;
        let place = (self.intensity_at(&point, &outputs), outputs.equations[rate] / per);
        (place.0 > 0.0 && place.1 > 0.0 && place.0.is_finite() && place.1.is_finite()).then_some(place)
    }

    /// Creates sliders for every quantity.
    fn what_if(&self, contract: &Contract, point: &[f64], samples: &[f64], has_point: bool) -> WhatIf {
        let equation = |index: usize| contract.equations[index].name.clone();
        let varied = contract.quantities[self.varied].name.clone();
        let intensity = self.intensity.map_or(varied.clone(), equation);
        let first = self.rates[0];
        let classifier = contract
            .classifiers
            .iter()
            .find(|one| one.cases.iter().any(|case| parse_bound(&case.variant) != Bound::Undefined));
        let results: Vec<String> = [intensity.clone(), equation(first)]
            .into_iter()
            .chain(classifier.map(|one| one.name.clone()))
            .chain(self.ridges.iter().map(|ridge| equation(*ridge)))
            .collect();
        let results: Vec<&str> = results.iter().map(String::as_str).collect();
        let equations = Equations::from_contract(contract);
        let steps = equations.steps(&results, &[]);
        let numbers = contract.quantities.iter().zip(point);
        let inputs: BTreeMap<String, f64> =
            numbers.clone().map(|(quantity, value)| (quantity.name.clone(), *value)).collect();
        let is_varied = |name: &str| name == varied && !has_point;
        let sliders = numbers
            .filter(|(quantity, value)| **value > 0.0 && !is_varied(&quantity.name))
            .map(|(quantity, value)| crate::chart::html::Slider {
                folded: false,
                ..sliders::around(&equations, &quantity.name, *value)
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
            operations: if has_point {
                vec![Operation { point: 0, recipe: 0, inputs: BTreeMap::new() }]
            } else {
                Vec::new()
            },
            roofs: (self.rates.iter())
                .map(|rate| RoofRecipe {
                    steps: equations.steps(&[&intensity, &equation(*rate)], &[]),
                    moved: varied.clone(),
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
                    .filter(|_| has_point)
                    .chain(self.ridges.iter().copied())
                    .map(shown)
                    .collect(),
                ..Summary::default()
            }),
            inputs,
        }
    }
}

/// Returns `true` if an equation depends on an operand, directly or not. Every equation depends on itself.
fn reaches(contract: &Contract, equation: usize, target: Operand) -> bool {
    let (mut pending, mut seen) = (vec![Operand::Equation(equation)], BTreeSet::new());
    while let Some(operand) = pending.pop() {
        if operand == target {
            return true;
        }
        if let Operand::Equation(index) = operand
            && seen.insert(index)
        {
            let operands = &contract.equations[index].expression.operands;
            pending.extend(operands.iter().map(|(_, operand)| *operand));
        }
    }
    false
}

/// Parses the bound of a classifier's case.
fn parse_bound(variant: &str) -> Bound {
    match variant.to_lowercase().as_str() {
        "memory" | "bandwidth" => Bound::Memory,
        "compute" => Bound::Compute,
        "overhead" => Bound::Overhead,
        _ => Bound::Undefined,
    }
}

/// Returns the bound of a point, according to the first classifier with bounds.
fn bound(contract: &Contract, outputs: &eval::Outputs) -> Bound {
    let chosen = contract.classifiers.iter().zip(&outputs.classes);
    let mut bounds = chosen.map(|(classifier, chosen)| parse_bound(&classifier.cases[*chosen].variant));
    bounds.find(|bound| *bound != Bound::Undefined).unwrap_or_default()
}

/// Removes points that lie on the line between their neighbors in a logarithmic chart.
fn simplify(mut points: Vec<(f64, f64)>) -> Vec<(f64, f64)> {
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    points.dedup_by(|a, b| a.0 == b.0);
    let logs = |point: (f64, f64)| (point.0.log10(), point.1.log10());
    let mut kept: Vec<(f64, f64)> = Vec::new();
    for (index, point) in points.iter().enumerate() {
        let (Some(&last), Some(&next)) = (kept.last(), points.get(index + 1)) else {
            kept.push(*point);
            continue;
        };
        let ((x0, y0), (x1, y1), (x2, y2)) = (logs(last), logs(*point), logs(next));
        // Distance from the line between the neighbors, in decades.
        let distance = y1 - (y0 + (y2 - y0) * (x1 - x0) / (x2 - x0));
        if distance.abs() > 1e-6 {
            kept.push(*point);
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn simplified_curves_keep_their_ends_and_bends() {
        let roof = |x: f64| (x, (10.0 * x).min(100.0));
        let places: Vec<_> = [0.01, 0.1, 1.0, 10.0, 20.0, 500.0, 1000.0].map(roof).to_vec();
        assert_eq!(simplify(places), [(0.01, 0.1), (10.0, 100.0), (1000.0, 100.0)]);
    }

    #[test]
    fn a_case_that_is_not_a_bound_is_undefined() {
        assert_eq!(
            [parse_bound("Bandwidth"), parse_bound("Compute"), parse_bound("Fits")],
            [Bound::Memory, Bound::Compute, Bound::Undefined]
        );
    }
}
