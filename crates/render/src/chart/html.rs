//! A result as one page that needs nothing else: the chart with zoom and pan, bars, what-if, tables, search, sort, filter, export.
//! The data is embedded as JSON, and the page makes elements from it, so that no text from a file can become markup or script.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::bars::Bars;
use super::{Chart, drawable, svg};
use crate::number;
use crate::report::Table;
use crate::text::{cut, escape};

const PAGE: &str = include_str!("page.html");
const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// What a page shows.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Page {
    /// The chart with every operation; not shown where it has neither roofs nor points.
    pub chart: Chart,
    /// What can be moved.
    pub what_if: Option<WhatIf>,
    /// Bars, of which one chart is shown at a time.
    pub bars: Vec<Bars>,
    /// What was found, as it was before anything is moved.
    pub tables: Vec<Table>,
    /// Sentences on what the figures mean.
    pub notes: Vec<String>,
    /// Another picture, as SVG, below the chart; empty for none.
    pub more: String,
}

/// Sliders that move the points: for each operation, equations from a contract and what to call them with.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WhatIf {
    /// JavaScript that declares the modules of the equations.
    pub module: String,
    /// What can be moved.
    pub sliders: Vec<Slider>,
    /// What all operations have in common.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub inputs: BTreeMap<String, f64>,
    /// How to compute an operation; most operations share one.
    pub recipes: Vec<Recipe>,
    /// The operations that move.
    pub operations: Vec<Operation>,
    /// How to compute roofs where a slider moves them: one for each, or one for all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub roofs: Vec<RoofRecipe>,
    /// What to say about all operations together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<Summary>,
}

/// A quantity to move.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Slider {
    /// The contract's name for it.
    pub quantity: String,
    /// The word shown.
    pub label: String,
    /// The unit after its value; empty for none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub unit: String,
    /// The values it can take, from least to most. Without any it moves the chosen [`Subject`] alone, around the value it has
    /// there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stops: Vec<f64>,
    /// The one of them that the chart was made with; absent where each operation has its own, until it is moved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<f64>,
    /// Whether it is folded away until someone asks for more.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub folded: bool,
}

/// Calls in order, and which of their results place the point. An argument is an input of the operation or of all, a
/// slider's quantity, or an earlier result; a call that nothing is known for is left out, and so is what follows from it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recipe {
    /// The calls.
    pub steps: Vec<Step>,
    /// The inputs that sliders move, each with the slider's quantity; absent where every slider moves the input of its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub moves: Option<BTreeMap<String, String>>,
    /// The result in FLOP/byte.
    pub intensity: String,
    /// The result in GFLOP/s.
    pub performance: String,
    /// How many of the results' units are one FLOP/byte and one GFLOP/s, where it is not one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub per: Option<(f64, f64)>,
    /// The result that is a time, for the shares.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time: Option<String>,
    /// The result that names the bound: `Memory` or `Compute`, in any case.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bound: Option<String>,
    /// Sums of the [`Summary`] that only operations of this recipe go into, as in [`Summary::sums`].
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub sums: BTreeMap<String, String>,
    /// Results that take the place of the point's details with these labels.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub details: Vec<Shown>,
    /// Details that hold only as long as nothing is moved.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stale: Vec<String>,
}

/// How to compute a roof: its height at an intensity, and where it bends. With `moves` its own figures are known as `bandwidth` and
/// `compute`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RoofRecipe {
    /// The calls.
    pub steps: Vec<Step>,
    /// What they need besides.
    pub inputs: BTreeMap<String, f64>,
    /// The inputs that sliders move, as in a [`Recipe`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub moves: Option<BTreeMap<String, String>>,
    /// The input that moves along the roof.
    pub moved: String,
    /// The input or the result that is the intensity in FLOP/byte; absent where `moved` is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub intensity: Option<String>,
    /// The result that is the height in GFLOP/s.
    pub height: String,
    /// How many of their units are one FLOP/byte and one GFLOP/s, where it is not one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub per: Option<(f64, f64)>,
    /// The result that is the intensity where it bends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ridge: Option<String>,
    /// The values of what moves, in place of its ends and its bend.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub samples: Vec<f64>,
}

/// One call of an equation.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// The name its result gets.
    pub result: String,
    /// The function, with its module: `layer_roofline_v1.attainable`.
    pub function: String,
    /// The names of what it is called with.
    pub arguments: Vec<String>,
}

/// An operation that moves.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Operation {
    /// Its place in [`Chart::points`].
    pub point: usize,
    /// Its place in [`WhatIf::recipes`].
    pub recipe: usize,
    /// What is particular to it.
    pub inputs: BTreeMap<String, f64>,
}

/// Figures for all operations together.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Summary {
    /// What the calls need besides sliders and roof.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub inputs: BTreeMap<String, f64>,
    /// What they get as sums: the name, and the result of each operation that is added up, in the operations' order.
    pub sums: BTreeMap<String, String>,
    /// The calls.
    pub steps: Vec<Step>,
    /// The inputs that sliders move, as in a [`Recipe`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub moves: Option<BTreeMap<String, String>>,
    /// The results to show.
    pub shown: Vec<Shown>,
    /// Whose results they are, where there are several to choose from; the first is chosen at first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub subjects: Vec<Subject>,
    /// The memory that it takes, drawn against what is there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<Memory>,
}

/// Whose results a summary shows.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Subject {
    /// Its name.
    pub name: String,
    /// Its place in [`WhatIf::operations`], which has its inputs and its roof.
    pub operation: usize,
}

/// Memory that is taken, part by part, and how much there is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Memory {
    /// The parts, all in one unit.
    pub parts: Vec<Shown>,
    /// All of them together.
    pub whole: Shown,
    /// What there is; absent from the inputs where nobody knows.
    pub capacity: Shown,
    /// The classifier that tells whether it is enough, and what it answers where it is not.
    pub too_large: (String, String),
}

/// A result as it is shown.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Shown {
    /// The words before it.
    pub label: String,
    /// Its name in the steps.
    pub result: String,
    /// The unit after it.
    pub unit: String,
    /// How many of the contract's units that is, where it is not one: 1e9 for GB of a result in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub per: Option<f64>,
}

/// A roof as the page draws it: its line is computed here, the page only reads it off.
#[derive(Serialize)]
struct Line {
    name: String,
    /// Its group, by position.
    group: usize,
    bandwidth_gb_s: Option<f64>,
    compute_gflop_s: Option<f64>,
    ridge: Option<(f64, f64)>,
    vertices: Vec<(f64, f64)>,
    /// The texts along its slope and its flat part, when they are its own.
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

/// The page as a document.
pub fn draw(page: &Page) -> String {
    let Page { chart, what_if, bars, tables, notes, more } = page;
    let what_if = what_if.as_ref();
    let alone = bars.first().filter(|_| chart.title.is_empty());
    let title = alone.map_or(&chart.title, |bars| &bars.title);
    let data = Data { chart, lines: lines(chart), style: svg::STYLE, what_if, bars, tables, notes };
    // Plain data with text keys: nothing in it can fail to become JSON.
    let data = serde_json::to_string(&data).unwrap_or_default();
    fill(
        PAGE,
        &[
            // Equations arrive as text; only a page that has some may turn text into functions.
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

/// The template with its places filled, in one pass: what is filled in is not read again.
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

/// JSON that can stand inside a script element, whatever its strings hold.
pub(super) fn embed(json: &str) -> String {
    json.replace('<', "\\u003c").replace('>', "\\u003e").replace('&', "\\u0026")
}

fn lines(chart: &Chart) -> Vec<Line> {
    let (intensity, _) = chart.axes();
    // Far beyond the axes, since sliders may move points there.
    let lines = chart.lines(intensity.low() / 1e9, intensity.high() * 1e9);
    lines
        .into_iter()
        .map(|line| {
            let figure =
                |value, unit: &str| drawable(value).map(|value| format!("{} {unit}", number::figure(value)));
            let slope = figure(line.roof.bandwidth_gb_s, "GB/s");
            let flat = figure(line.roof.compute_gflop_s, "GFLOP/s");
            let ridge =
                line.ridge.map(|ridge| format!("ridge {} FLOP/byte", number::figure(ridge.intensity)));
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

    /// Dense layers of three sizes, moved by the batch through the equations of the contract.
    fn what_if() -> (Chart, WhatIf) {
        let source = roofline_contracts::library::built_in("operation-v1").expect("it is built in");
        let contract = roofline_contracts::compile(source).contract.expect("it has no mistakes");
        let equations = super::super::equations::Equations::of(&contract);
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
                .map(|(name, figure)| (name.to_owned(), figure.expect("it has one"))),
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

    /// A dense layer as the compiled contract places it under the first roof of the small model.
    fn dense((from, to): (f64, f64), batch: f64) -> super::super::Point {
        use roofline_formulas::operation::{self, Inputs};
        let roof = &sample::model().roofs[0];
        let (bandwidth, compute) =
            (roof.bandwidth_gb_s.expect("it has one"), roof.compute_gflop_s.expect("it has one"));
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
        let outputs = layer.evaluate().expect("it is inside the domains");
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

    /// The pages and pictures that a browser is driven through; written where ROOFLINE_PAGES says.
    #[test]
    fn every_page_is_whole_and_under_two_megabytes() {
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
            assert!(!page.contains("{{"), "{name} has an empty place");
            if let Some(directory) = std::env::var_os("ROOFLINE_PAGES") {
                let path = std::path::Path::new(&directory).join(name);
                std::fs::write(path.with_extension("html"), page).expect("the directory can be written");
                let picture = svg::draw(&chart, svg::Size::default());
                std::fs::write(path.with_extension("svg"), picture).expect("the directory can be written");
            }
        }
    }

    /// What the page must compute when its slider stands at 32, for the browser to compare with.
    #[test]
    fn sliders_start_where_the_chart_was_made() {
        let (chart, what_if) = what_if();
        assert_eq!(what_if.sliders[0].start, Some(1.0));
        let moved: Vec<_> =
            [(4096.0, 4096.0), (4096.0, 14336.0), (4096.0, 128_256.0)].map(|size| dense(size, 32.0)).into();
        assert!(moved.iter().zip(&chart.points).all(|(after, before)| after.bound != before.bound));
        if let Some(directory) = std::env::var_os("ROOFLINE_PAGES") {
            let path = std::path::Path::new(&directory).join("what-if.json");
            let json = serde_json::to_string(&moved).expect("points are plain data");
            std::fs::write(path, json).expect("the directory can be written");
        }
    }

    #[test]
    fn no_text_from_a_file_or_a_contract_becomes_markup() {
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
        let (data, _) = rest.split_once("</script>").expect("which ends");
        let data: serde_json::Value = serde_json::from_str(data).expect("and is JSON");
        assert_eq!(data["chart"]["points"][36]["name"], "<script>alert(1)</script>");
        assert_eq!(data["chart"]["points"].as_array().map(Vec::len), Some(chart.points.len()));
    }

    #[test]
    fn only_a_page_with_equations_may_turn_text_into_functions() {
        assert!(!draw(&page(sample::model(), None)).contains("unsafe-eval"));
        let moving = draw(&page(sample::model(), Some(what_if().1)));
        assert!(moving.contains("script-src 'unsafe-inline' 'unsafe-eval'"));
    }
}
