//! Self-contained HTML pages: a chart with zoom and pan, bars, what-if sliders, tables with search, sorting and filters, and export.
//! The data is embedded as JSON, from which the script creates elements, so that text from files cannot become markup.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::bars::Bars;
use super::{Chart, drawable, svg};
use crate::display_width::{cut, escape};
use crate::format;
use crate::report::Table;

const PAGE: &str = include_str!("page.html");
const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// Content of a page.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Page {
    /// Chart; hidden if it has neither roofs nor points.
    pub chart: Chart,
    /// Sliders that change inputs.
    pub what_if: Option<WhatIf>,
    /// Bar charts; one is visible at a time.
    pub bars: Vec<Bars>,
    /// Tables for the original inputs.
    pub tables: Vec<Table>,
    /// Notes about the figures, as sentences.
    pub notes: Vec<String>,
    /// Additional SVG picture below the chart; may be empty.
    pub more: String,
}

/// Sliders that change the points through the equations of contracts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WhatIf {
    /// JavaScript that declares the modules of the equations.
    pub module: String,
    /// Sliders in display order.
    pub sliders: Vec<Slider>,
    /// Inputs of all operations.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub inputs: BTreeMap<String, f64>,
    /// Recipes, which operations share.
    pub recipes: Vec<Recipe>,
    /// Operations that the sliders change.
    pub operations: Vec<Operation>,
    /// Recipes of roofs that the sliders change: one for each roof, or one for all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub roofs: Vec<RoofRecipe>,
    /// Totals of all operations.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<Summary>,
}

/// A slider for one quantity.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Slider {
    /// Name of the quantity in the contract.
    pub quantity: String,
    /// Displayed label.
    pub label: String,
    /// Unit after the value; may be empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub unit: String,
    /// Values in ascending order. If empty, the slider changes only the selected [`Subject`], around its own value.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stops: Vec<f64>,
    /// Initial value; absent if each operation has its own value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<f64>,
    /// True if the slider is in the collapsed section.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub folded: bool,
}

/// Calls in order and the results that determine a point. Arguments are inputs, quantities of sliders or earlier results. Calls with
/// missing arguments are skipped.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recipe {
    /// Calls in order.
    pub steps: Vec<Step>,
    /// Maps inputs to the quantities of sliders; if absent, every slider sets the input of its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub moves: Option<BTreeMap<String, String>>,
    /// Result with the arithmetic intensity.
    pub intensity: String,
    /// Result with the performance.
    pub performance: String,
    /// Divisors that convert the results to FLOP/byte and GFLOP/s, if they differ from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub per: Option<(f64, f64)>,
    /// Result with the time, for the shares.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time: Option<String>,
    /// Result with the bound: `Memory` or `Compute`, case-insensitive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bound: Option<String>,
    /// Additional [`Summary::sums`] over the operations of this recipe.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub sums: BTreeMap<String, String>,
    /// Results that replace the details of the point with the same labels.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub details: Vec<Shown>,
    /// Labels of details that are removed when a slider changes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stale: Vec<String>,
}

/// Computes the height and the ridge point of a roof. With `moves`, the roof's figures are the inputs `bandwidth` and `compute`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RoofRecipe {
    /// Calls in order.
    pub steps: Vec<Step>,
    /// Further inputs.
    pub inputs: BTreeMap<String, f64>,
    /// Maps inputs to the quantities of sliders, as in [`Recipe::moves`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub moves: Option<BTreeMap<String, String>>,
    /// Input that varies along the roof.
    pub moved: String,
    /// Input or result with the intensity in FLOP/byte; if absent, `moved` is the intensity.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub intensity: Option<String>,
    /// Result with the height in GFLOP/s.
    pub height: String,
    /// Divisors that convert to FLOP/byte and GFLOP/s, if they differ from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub per: Option<(f64, f64)>,
    /// Result with the intensity of the ridge point.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ridge: Option<String>,
    /// Values of `moved` for a curved roof; if empty, the ends and the ridge point are used.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub samples: Vec<f64>,
}

/// A call of an equation.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// Name of the result.
    pub result: String,
    /// Qualified name of the function: `layer_roofline_v1.attainable`.
    pub function: String,
    /// Names of the arguments.
    pub arguments: Vec<String>,
}

/// An operation that the sliders change.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Operation {
    /// Index in [`Chart::points`].
    pub point: usize,
    /// Index in [`WhatIf::recipes`].
    pub recipe: usize,
    /// Inputs of this operation only.
    pub inputs: BTreeMap<String, f64>,
}

/// Totals of all operations.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Summary {
    /// Inputs in addition to sliders and roof.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub inputs: BTreeMap<String, f64>,
    /// Sums over all operations: maps the name of a sum to the summed result.
    pub sums: BTreeMap<String, String>,
    /// Calls in order.
    pub steps: Vec<Step>,
    /// Maps inputs to the quantities of sliders, as in [`Recipe::moves`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub moves: Option<BTreeMap<String, String>>,
    /// Displayed results.
    pub shown: Vec<Shown>,
    /// Selectable subjects; the first is selected initially.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub subjects: Vec<Subject>,
    /// Memory use, drawn against the capacity.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<Memory>,
}

/// A selectable subject of a summary, such as a device.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Subject {
    /// Displayed name.
    pub name: String,
    /// Index in [`WhatIf::operations`] of the operation with its inputs and roof.
    pub operation: usize,
}

/// Memory use by part, and the capacity.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Memory {
    /// Parts, all in the same unit.
    pub parts: Vec<Shown>,
    /// Sum of the parts.
    pub whole: Shown,
    /// Capacity; not among the inputs if it is unknown.
    pub capacity: Shown,
    /// Classifier of the fit and its answer if the memory is insufficient.
    pub too_large: (String, String),
}

/// A result with its label and unit.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Shown {
    /// Label before the value.
    pub label: String,
    /// Name in the steps.
    pub result: String,
    /// Unit after the value.
    pub unit: String,
    /// Divisor that converts the contract's unit, if it differs from 1: 1e9 for a result in bytes shown in GB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub per: Option<f64>,
}

/// A roof with its computed line, from which the page reads attainable performance.
#[derive(Serialize)]
struct Line {
    name: String,
    /// Index of the group.
    group: usize,
    bandwidth_gb_s: Option<f64>,
    compute_gflop_s: Option<f64>,
    ridge: Option<(f64, f64)>,
    vertices: Vec<(f64, f64)>,
    /// Labels of the slope and the flat part, if the roof has its own figures.
    slope: Option<String>,
    flat: Option<String>,
    figures: Vec<String>,
}

#[derive(Serialize)]
struct Data<'a> {
    chart: &'a Chart,
    lines: Vec<Line>,
    style: &'a str,
    what_if: Option<&'a WhatIf>,
    bars: &'a [Bars],
    tables: &'a [Table],
    notes: &'a [String],
}

/// Renders the page as an HTML document.
pub fn draw(page: &Page) -> String {
    let Page { chart, what_if, bars, tables, notes, more } = page;
    let what_if = what_if.as_ref();
    let only_bars = bars.first().filter(|_| chart.title.is_empty());
    let title = only_bars.map_or(&chart.title, |bars| &bars.title);
    let data = Data { chart, lines: lines(chart), style: svg::STYLE, what_if, bars, tables, notes };
    // Plain data with string keys always serializes.
    let data = serde_json::to_string(&data).unwrap_or_default();
    fill(
        PAGE,
        &[
            // Only pages with equations need `eval`.
            ("eval", if what_if.is_some() { " 'unsafe-eval'" } else { "" }),
            ("title", &escape(&cut(title, 200, true))),
            ("subtitle", &escape(&cut(&chart.subtitle, 400, true))),
            ("style", &format!("{}{STYLE}", svg::STYLE)),
            ("data", &embed(&data)),
            ("more", more),
            ("script", SCRIPT),
        ],
    )
}

/// Replaces `{{key}}` in a template in a single pass; inserted text is not scanned again.
pub(super) fn fill(template: &str, values: &[(&str, &str)]) -> String {
    let mut out = String::new();
    let mut rest = template;
    while let Some((before, after)) = rest.split_once("{{") {
        out += before;
        let Some((key, after)) = after.split_once("}}") else { break };
        out += values.iter().find(|value| value.0 == key).map_or("", |value| value.1);
        rest = after;
    }
    out + rest
}

/// Escapes JSON for a script element.
pub(super) fn embed(json: &str) -> String {
    json.replace('<', "\\u003c").replace('>', "\\u003e").replace('&', "\\u0026")
}

fn lines(chart: &Chart) -> Vec<Line> {
    let (intensity, _) = chart.axes();
    // The lines extend far beyond the axes, because sliders may move points there.
    let lines = chart.lines(intensity.low() / 1e9, intensity.high() * 1e9);
    lines
        .into_iter()
        .map(|line| {
            let figure =
                |value, unit: &str| drawable(value).map(|value| format!("{} {unit}", format::figure(value)));
            let slope = figure(line.roof.bandwidth_gb_s, "GB/s");
            let flat = figure(line.roof.compute_gflop_s, "GFLOP/s");
            let ridge =
                line.ridge.map(|ridge| format!("ridge {} FLOP/byte", format::figure(ridge.intensity)));
            Line {
                name: chart.full_name(line.roof),
                group: chart.group_of(line.roof),
                bandwidth_gb_s: chart.bandwidth(line.roof),
                compute_gflop_s: chart.compute(line.roof),
                ridge: line.ridge.map(|ridge| (ridge.intensity, ridge.performance)),
                vertices: line.vertices.iter().map(|place| (place.intensity, place.performance)).collect(),
                figures: [slope.clone(), flat.clone(), ridge].into_iter().flatten().collect(),
                slope,
                flat,
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::{Bound, sample};
    use super::*;

    /// Dense layers of three sizes with a slider for the batch size.
    fn what_if() -> (Chart, WhatIf) {
        let source = roofline_contracts::library::built_in("operation-v1").expect("the contract is built in");
        let contract = roofline_contracts::compile(source).contract.expect("the contract is valid");
        let equations = super::super::equations::Equations::from_contract(&contract);
        let recipe = Recipe {
            steps: equations.steps(&["attainable", "least_time", "bound"], &[]),
            intensity: "arithmetic_intensity".into(),
            performance: "attainable".into(),
            time: Some("least_time".into()),
            bound: Some("bound".into()),
            ..Recipe::default()
        };
        let sizes = [(4096.0, 4096.0), (4096.0, 14336.0), (4096.0, 128_256.0)];
        let inputs = |(from, to): (f64, f64)| {
            let own = [("in_features", from), ("out_features", to), ("dense_params", from * to)];
            own.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
        };
        let mut common: BTreeMap<String, f64> = contract
            .quantities
            .iter()
            .filter_map(|quantity| Some((quantity.name.clone(), quantity.default?)))
            .collect();
        common.insert("bits_per_weight".to_owned(), 8.5);
        common.insert("activation_size".to_owned(), 4.0);
        let first = &sample::model().roofs[0];
        common.extend(
            [("bandwidth", first.bandwidth_gb_s), ("compute", first.compute_gflop_s)]
                .map(|(name, figure)| (name.to_owned(), figure.expect("the roof has this figure"))),
        );
        let what_if = WhatIf {
            module: equations.script + "// </script>\n",
            sliders: vec![Slider {
                quantity: "batch".into(),
                label: "batch".into(),
                stops: vec![1.0, 2.0, 4.0, 8.0, 16.0, 32.0],
                start: Some(1.0),
                ..Slider::default()
            }],
            inputs: common,
            roofs: Vec::new(),
            recipes: vec![recipe],
            operations: sizes
                .into_iter()
                .enumerate()
                .map(|(point, size)| Operation { point, recipe: 0, inputs: inputs(size) })
                .collect(),
            summary: Some(Summary {
                sums: BTreeMap::from([("total_time".to_owned(), "least_time".to_owned())]),
                shown: vec![Shown {
                    label: "time".into(),
                    result: "total_time".into(),
                    unit: "s".into(),
                    per: None,
                }],
                ..Summary::default()
            }),
        };
        let roofs = sample::model().roofs;
        let points = sizes.map(|size| dense(size, 1.0));
        (
            Chart {
                title: "Dense layers, Q8_0".into(),
                subtitle: String::new(),
                roofs,
                points: points.to_vec(),
            },
            what_if,
        )
    }

    fn page(chart: Chart, what_if: Option<WhatIf>) -> Page {
        Page { chart, what_if, ..Page::default() }
    }

    /// A dense layer under the first roof of the sample model, computed by the compiled contract.
    fn dense((from, to): (f64, f64), batch: f64) -> super::super::Point {
        use roofline_formulas::operation::{self, Inputs};
        let roof = &sample::model().roofs[0];
        let (bandwidth, compute) =
            (roof.bandwidth_gb_s.expect("a bandwidth"), roof.compute_gflop_s.expect("a peak"));
        let layer = Inputs {
            batch,
            dense_params: from * to,
            in_features: from,
            out_features: to,
            bits_per_weight: 8.5,
            activation_size: 4.0,
            bandwidth,
            compute,
            ..Inputs::new(1.0, 1.0)
        };
        let outputs = layer.evaluate().expect("the inputs are inside the domains");
        super::super::Point {
            name: format!("dense {from} x {to}"),
            group: "dense".into(),
            intensity_flop_byte: Some(outputs.arithmetic_intensity),
            performance_gflop_s: Some(outputs.attainable),
            bound: match outputs.bound {
                operation::Bound::Memory => Bound::Memory,
                operation::Bound::Compute => Bound::Compute,
            },
            ..Default::default()
        }
    }

    /// Writes the pages and pictures for the browser tests to the directory `ROOFLINE_PAGES`.
    #[test]
    fn pages_are_complete_and_smaller_than_two_megabytes() {
        let (dense_layers, what_if) = what_if();
        let charts = [
            ("model", sample::model(), None),
            ("hostile", sample::hostile(), None),
            ("crowd", sample::crowd(), None),
            ("machine", sample::machine(), None),
            ("nothing", Chart::default(), None),
            ("what-if", dense_layers, Some(what_if)),
        ];
        for (name, chart, what_if) in charts {
            let page = draw(&page(chart.clone(), what_if));
            assert!(page.len() < 2_000_000, "{name} has {} bytes", page.len());
            assert!(page.starts_with("<!doctype html>") && page.ends_with("</html>\n"), "{name}");
            assert!(!page.contains("{{"), "{name} has an unfilled placeholder");
            if let Some(directory) = std::env::var_os("ROOFLINE_PAGES") {
                let path = std::path::Path::new(&directory).join(name);
                std::fs::write(path.with_extension("html"), page).expect("the directory can be written");
                let picture = svg::draw(&chart, svg::Size::default());
                std::fs::write(path.with_extension("svg"), picture).expect("the directory can be written");
            }
        }
    }

    /// Writes the points for a batch size of 32, which the browser test compares with the page.
    #[test]
    fn sliders_start_at_the_inputs_of_the_chart() {
        let (chart, what_if) = what_if();
        assert_eq!(what_if.sliders[0].start, Some(1.0));
        let moved: Vec<_> =
            [(4096.0, 4096.0), (4096.0, 14336.0), (4096.0, 128_256.0)].map(|size| dense(size, 32.0)).into();
        assert!(moved.iter().zip(&chart.points).all(|(after, before)| after.bound != before.bound));
        if let Some(directory) = std::env::var_os("ROOFLINE_PAGES") {
            let path = std::path::Path::new(&directory).join("what-if.json");
            let json = serde_json::to_string(&moved).expect("points are serializable");
            std::fs::write(path, json).expect("the directory can be written");
        }
    }

    #[test]
    fn text_from_files_and_contracts_is_escaped() {
        let page = draw(&page(sample::hostile(), Some(what_if().1)));
        assert_eq!(page.matches("<script").count(), 2);
        assert_eq!(page.matches("</script").count(), 2);
        assert!(!page.contains("<img") && !page.contains("alert(1)<"));
        assert!(page.contains("<title>&lt;title&gt;</title>"));
    }

    #[test]
    fn the_embedded_data_is_the_chart() {
        let chart = sample::hostile();
        let page = draw(&page(chart.clone(), None));
        let (_, rest) = page.split_once(r#"id="data">"#).expect("the page has data");
        let (data, _) = rest.split_once("</script>").expect("the script element is closed");
        let data: serde_json::Value = serde_json::from_str(data).expect("the data is valid JSON");
        assert_eq!(data["chart"]["points"][36]["name"], "<script>alert(1)</script>");
        assert_eq!(data["chart"]["points"].as_array().map(Vec::len), Some(chart.points.len()));
    }

    #[test]
    fn only_pages_with_equations_allow_eval() {
        assert!(!draw(&page(sample::model(), None)).contains("unsafe-eval"));
        let moving = draw(&page(sample::model(), Some(what_if().1)));
        assert!(moving.contains("script-src 'unsafe-inline' 'unsafe-eval'"));
    }
}
