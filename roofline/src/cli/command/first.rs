//! `roofline` without a command: the roofline of this machine with two known models. Measures for a few seconds and saves
//! nothing.

use schemars::JsonSchema;
use serde::Serialize;

use crate::chart::terminal::{Canvas, draw};
use crate::chart::{Bound, Chart, Point, Roof};
use crate::cli::expected::{Expecter, ModelTraits};
use crate::cli::output::charts::Charts;
use crate::cli::request::lengths;
use crate::cli::{Exit, Failure, args, device};
use crate::contracts::models::models::{LLAMA_3_1_8B, LLAMA_3_2_1B};
use crate::contracts::quantization::formats::{Format, Q4_K, Q8_0};
use crate::contracts::transformer::Inputs;
use crate::machine::{Machine, Options, Reached};
use crate::model::{KnownModel, ModelDims, display_name};
use crate::predict::{self, DeviceProfile, Expectation, ExpectedSpeed, Numbers, Precision, WeightPrecision};
use crate::report::{Report, Schema, Table, wrap};
use roofline_render::format::{figure, threads};

/// Models on the chart, with their weight formats.
const MODELS: [&KnownModel; 2] = [&LLAMA_3_2_1B, &LLAMA_3_1_8B];
const WEIGHTS: [&Format; 2] = [&Q8_0, &Q4_K];

/// Overview of this machine.
#[derive(Serialize, JsonSchema)]
pub struct First {
    /// Schema of this document.
    schema: Schema<Self>,
    /// Measured machine.
    machine: Machine,
    /// Models on the machine.
    models: Vec<PlacedModel>,
    /// Origin of the expected speeds, and reasons for missing ones.
    expectations: Vec<String>,
    /// Next commands.
    next: Vec<Next>,
    #[serde(skip)]
    target: DeviceProfile,
}

/// A model on this machine.
#[derive(Serialize, JsonSchema)]
struct PlacedModel {
    /// Name of the model.
    model: String,
    /// Weight format.
    weights: &'static str,
    #[serde(skip)]
    numbers: Numbers,
    /// Context length in tokens.
    context: f64,
    /// Prompt length in tokens.
    prompt: f64,
    /// Memory of weights, KV cache and activations, in GB.
    footprint_gb: f64,
    /// `true` if the footprint fits in memory; null if the capacity is unknown.
    fits: Option<bool>,
    /// Decode.
    decode: Phase,
    /// Prefill; null if the arithmetic rate of the weight format was not measured.
    prefill: Option<Phase>,
    /// Expected speed, with its engine.
    expected: Expectation,
}

/// Ceilings of a phase.
#[derive(Serialize, JsonSchema)]
struct Phase {
    /// Ceiling in tokens per second.
    ceiling_tokens_per_s: f64,
    /// Arithmetic intensity in FLOP/byte.
    intensity_flop_byte: f64,
    /// Performance at the ceiling, in GFLOP/s.
    ceiling_gflop_s: f64,
    /// Limiting resource: memory, compute or overhead.
    bound: Bound,
}

/// A suggested command.
#[derive(Serialize, JsonSchema)]
struct Next {
    /// Command, without the name of the program.
    command: &'static str,
    /// Description of the command.
    what: &'static str,
}

const NEXT: [Next; 3] = [
    Next { command: "profile MODEL.gguf", what: "profile the operations of your model file" },
    Next {
        command: "predict llama-3.1-8b --quant q4_k --on all",
        what: "predict the same model on every known device",
    },
    Next {
        command: "machine --html roofline.html",
        what: "measure thoroughly, save the result and explore it in a browser",
    },
];

/// Shows the roofline of this machine.
pub fn run(args: &args::First) -> Result<Exit, Failure> {
    let pictures = Charts::open(&args.pictures)?;
    let machine = match Machine::cached(&Options { size: args.size, ..Options::default() })? {
        Some(machine) => machine,
        None => {
            let options = Options { quick: true, no_cache: true, size: args.size, ..Options::default() };
            device::measure(&options)?
        }
    };
    let target = DeviceProfile::from_machine(&machine, None)?;
    let mut models = Vec::new();
    for model in MODELS {
        for weights in WEIGHTS {
            models.push(place_model(model, weights, &target)?);
        }
    }
    let expected = models.iter().map(|placed| (target.name.as_str(), &placed.expected));
    let expectations = Expecter::default().sentences(expected);
    let first = First { schema: Schema::new(), machine, models, expectations, next: NEXT.into(), target };
    pictures.show(&first, args.format, true)?;
    Ok(Exit::Fine)
}

/// Predicts a model with the defaults of `roofline predict`.
fn place_model(
    model: &'static KnownModel,
    weights: &'static Format,
    target: &DeviceProfile,
) -> Result<PlacedModel, Failure> {
    let model_dims =
        ModelDims::from_known(model).map_err(|fault| Failure(format!("{}: {fault}", model.name)))?;
    let max_tokens = model_dims.context_length.map(|tokens| tokens as f64);
    let (context, prompt) = lengths(None, None, max_tokens, &mut Vec::new());
    let inputs = predict::with_bits(predict::inputs(&model_dims)?, predict::bits_per_weight(weights)?);
    let prediction = predict::predict(
        Inputs { context, prompt, ..inputs },
        &WeightPrecision::from_format(weights),
        target,
    )?;
    let outputs = prediction.outputs;
    let layers = Some(model_dims.layers.len() as f64);
    let name = display_name(model.name);
    let work = ModelTraits { name: &name, format: weights.name, layers };
    Ok(PlacedModel {
        expected: Expecter::default().expect(&work, target, None, &prediction)?,
        model: name,
        weights: weights.name,
        numbers: weights.numbers,
        context,
        prompt,
        footprint_gb: outputs.footprint / 1e9,
        fits: prediction.fits,
        decode: Phase {
            ceiling_tokens_per_s: outputs.decode_ceiling,
            intensity_flop_byte: outputs.decode_intensity,
            ceiling_gflop_s: outputs.decode_performance,
            bound: outputs.decode_bound.into(),
        },
        prefill: target.rate(weights.numbers).gflop_s.map(|_| Phase {
            ceiling_tokens_per_s: outputs.prefill_ceiling,
            intensity_flop_byte: outputs.prefill_intensity,
            ceiling_gflop_s: outputs.prefill_performance,
            bound: outputs.prefill_bound.into(),
        }),
    })
}

impl PlacedModel {
    fn sentence(&self) -> String {
        let fits = match self.fits {
            Some(true) => ", fits",
            Some(false) => ", does not fit",
            None => "",
        };
        let phase = |phase: &Phase| format!("{} ({})", figure(phase.ceiling_tokens_per_s), phase.bound);
        let expected =
            self.expected.decode.as_ref().map(|speed| format!(", expected decode {}", speed.band()));
        let expected = expected.unwrap_or_default();
        format!(
            "{} {}: decode {}, prefill {}, {} GB{fits}{expected}",
            self.model,
            self.weights,
            phase(&self.decode),
            self.prefill.as_ref().map_or("unknown".to_owned(), phase),
            figure(self.footprint_gb)
        )
    }
}

impl First {
    fn roofline(&self) -> Chart {
        let mut chart = self.machine.chart().unwrap_or_default();
        // Models are larger than caches, so only memory roofs apply, with the best number of threads.
        let best = self.machine.best();
        let roofs = [
            (Precision::Int4, best.int4_gops),
            (Precision::Int8, Some(best.int8_gops)),
            (Precision::Fp32, Some(best.f32_gflops)),
        ];
        let roofs: Vec<(Precision, Reached)> =
            roofs.into_iter().filter_map(|(precision, reached)| Some((precision, reached?))).collect();
        let roof = |(precision, reached): &(Precision, Reached)| Roof {
            name: format!("memory, {precision}"),
            group: threads(reached.threads),
            bandwidth_gb_s: Some(best.read_gb_s.value),
            compute_gflop_s: Some(reached.value),
            curve: Vec::new(),
        };
        chart.roofs = roofs.iter().map(roof).collect();
        let under = |placed: &PlacedModel| {
            let precision = self.target.rate(placed.numbers).precision;
            roofs.iter().position(|(known, _)| *known == precision).or(Some(0))
        };
        chart.points = (self.models.iter())
            .flat_map(|placed| {
                let prefill = placed.prefill.as_ref().map(|prefill| (placed, "prefill", prefill));
                [Some((placed, "decode", &placed.decode)), prefill].into_iter().flatten()
            })
            .map(|(placed, kind, phase)| Point {
                name: format!("{} {}", placed.model, placed.weights),
                group: kind.to_owned(),
                intensity_flop_byte: Some(phase.intensity_flop_byte),
                performance_gflop_s: Some(phase.ceiling_gflop_s),
                share: None,
                total_id: 0,
                bound: phase.bound,
                roof: under(placed),
                details: {
                    let expected = &placed.expected;
                    let speed = if kind == "decode" { &expected.decode } else { &expected.prefill };
                    let expected = speed.iter().map(|one| (predict::EXPECTED.into(), one.band()));
                    let ceiling = (predict::CEILING.into(), figure(phase.ceiling_tokens_per_s));
                    [ceiling].into_iter().chain(expected).collect()
                },
            })
            .collect();
        chart
    }

    fn table(&self) -> Table {
        let headings = ["model", "weights", "GB", "fits", "decode", "bound", "prefill", "bound"];
        let row = |placed: &PlacedModel| {
            vec![
                placed.model.to_owned(),
                placed.weights.to_owned(),
                figure(placed.footprint_gb),
                placed.fits.map_or("-", |fits| if fits { "yes" } else { "no" }).to_owned(),
                figure(placed.decode.ceiling_tokens_per_s),
                placed.decode.bound.to_string(),
                placed
                    .prefill
                    .as_ref()
                    .map_or("unknown".to_owned(), |prefill| figure(prefill.ceiling_tokens_per_s)),
                placed.prefill.as_ref().map_or("-".to_owned(), |prefill| prefill.bound.to_string()),
            ]
        };
        Table::new("Ceilings on this machine, in tokens per second", &headings, self.models.iter().map(row))
    }

    /// Returns the table of expected speeds, or `None` without any.
    fn expected(&self) -> Option<Table> {
        self.models.iter().find(|placed| placed.expected.is_known())?;
        let band = |speed: &Option<ExpectedSpeed>| speed.as_ref().map_or("-".to_owned(), ExpectedSpeed::band);
        let row = |placed: &PlacedModel| {
            let Expectation { decode, prefill, .. } = &placed.expected;
            vec![placed.model.to_owned(), placed.weights.to_owned(), band(decode), band(prefill)]
        };
        let headings = ["model", "weights", "decode", "prefill"];
        Some(Table::new("Expected, in tokens per second", &headings, self.models.iter().map(row)))
    }

    /// Explains the table.
    fn explanation(&self) -> Vec<String> {
        let bounds = |phase: fn(&PlacedModel) -> Option<&Phase>| {
            let mut bounds: Vec<&str> = Vec::new();
            for word in self.models.iter().filter_map(phase).map(|phase| phase.bound.describe()) {
                if !bounds.contains(&word) {
                    bounds.push(word);
                }
            }
            bounds.join(" or ")
        };
        let (context, prompt) = self.models.first().map_or((0.0, 0.0), |first| (first.context, first.prompt));
        let best = self.machine.best();
        let mut lines = vec![
            format!(
                "Decode generates tokens one after the other and reads all weights and {context} tokens of the KV cache for each: {}.",
                bounds(|placed| Some(&placed.decode))
            ),
            format!(
                "Prefill processes a prompt of {prompt} tokens at once: {}.",
                bounds(|placed| placed.prefill.as_ref())
            ),
            format!(
                "Memory bandwidth is {} GB/s with {}. The int8 roof is {} Gop/s with {}, {}.",
                figure(best.read_gb_s.value),
                threads(best.read_gb_s.threads),
                figure(best.int8_gops.value),
                threads(best.int8_gops.threads),
                best.int4_gops.map_or("the int4 roof was not measured".to_owned(), |roof| format!(
                    "the int4 roof {} Gop/s with {}",
                    figure(roof.value),
                    threads(roof.threads)
                ))
            ),
        ];
        lines.push(predict::ceiling_statement("that format", Some("f16"), 1.0, self.target.caches));
        lines.extend(self.expectations.iter().cloned());
        if let Some(capacity) = self.target.capacity {
            lines.push(format!("The machine has {} GB of memory.", figure(capacity)));
        }
        lines.extend(self.machine.roof_warnings().into_iter().map(|doubt| format!("Warning: {doubt}.")));
        lines
    }
}

impl Report for First {
    const SCHEMA: &'static str = "roofline.first/2";

    fn text(&self, canvas: &Canvas) -> String {
        let columns = canvas.columns;
        let wrapped = |text: String| wrap(&text, columns) + "\n";
        let table = self.table();
        let mut shown = table.text();
        // In a narrow terminal, a sentence per model wraps better than a table.
        if shown.lines().any(|line| line.chars().count() > columns) {
            shown = wrapped(table.title)
                + &self.models.iter().map(|placed| wrapped(placed.sentence())).collect::<String>();
        } else if let Some(expected) = self.expected() {
            shown += &format!("\n{}", expected.text());
        }
        let explanation: String = self.explanation().into_iter().map(wrapped).collect();
        // Started through cargo, `roofline` may not be installed.
        let program = if std::env::var_os("CARGO").is_some() { "cargo run --release --" } else { "roofline" };
        let next: String = (self.next.iter())
            .map(|next| format!("  {program} {}\n      {}\n", next.command, next.what))
            .collect();
        format!("{}\n{shown}\n{explanation}\nNext:\n{next}", draw(&self.roofline(), canvas))
    }

    fn chart(&self) -> Option<Chart> {
        Some(self.roofline())
    }

    fn tables(&self) -> Vec<Table> {
        [self.table()].into_iter().chain(self.expected()).collect()
    }

    fn notes(&self) -> Vec<String> {
        self.explanation()
    }
}
