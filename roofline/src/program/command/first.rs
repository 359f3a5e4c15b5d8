//! `roofline` without a command: the roofline of this machine and two well-known models on it, for someone who has never seen
//! either. Measures in seconds and keeps nothing.

use schemars::JsonSchema;
use serde::Serialize;

use crate::chart::terminal::{Canvas, draw};
use crate::chart::{Bound, Chart, Point, Roof};
use crate::contracts::models::models::{LLAMA_3_1_8B, LLAMA_3_2_1B};
use crate::contracts::quantization::formats::{Format, Q4_K, Q8_0};
use crate::contracts::transformer::Inputs;
use crate::model::{Hyper, Known};
use crate::peaks::{Machine, Options, Reached};
use crate::predict::{self, Expectation, ExpectedSpeed, Numbers, Precision, Stored, Target};
use crate::program::expected::{Expecter, ModelTraits};
use crate::program::output::picture::Pictures;
use crate::program::request::lengths;
use crate::program::{Exit, Failure, cli, device};
use crate::report::{Report, Schema, Table, broken};
use roofline_render::number::{figure, threads};

/// The models that are placed, and the formats of their weights.
const MODELS: [&Known; 2] = [&LLAMA_3_2_1B, &LLAMA_3_1_8B];
const WEIGHTS: [&Format; 2] = [&Q8_0, &Q4_K];

/// What the first run shows.
#[derive(Serialize, JsonSchema)]
pub struct First {
    /// Which schema this document follows.
    schema: Schema<Self>,
    /// The machine, as `roofline machine` has it.
    machine: Machine,
    /// The models on it.
    models: Vec<Placed>,
    /// Where the expected speeds come from, and why some are missing.
    expectations: Vec<String>,
    /// Commands that lead on.
    next: Vec<Next>,
    #[serde(skip)]
    target: Target,
}

/// A model on this machine.
#[derive(Serialize, JsonSchema)]
struct Placed {
    /// The model.
    model: &'static str,
    /// The format of its weights.
    weights: &'static str,
    #[serde(skip)]
    numbers: Numbers,
    /// Tokens in the cache.
    context: f64,
    /// Tokens of the prompt.
    prompt: f64,
    /// Weights, cache and activations, in GB.
    footprint_gb: f64,
    /// Whether that fits in memory; null if the memory is not known.
    fits: Option<bool>,
    /// One token after the other.
    decode: Phase,
    /// The whole prompt at once; null where nobody measured how fast its numbers are multiplied.
    prefill: Option<Phase>,
    /// The speed to expect, with an engine.
    expected: Expectation,
}

/// One token after the other, or the whole prompt.
#[derive(Serialize, JsonSchema)]
struct Phase {
    /// The ceiling in tokens per second.
    ceiling_tokens_per_s: f64,
    /// Operations for each byte, in FLOP/byte.
    intensity_flop_byte: f64,
    /// Operations per second at the ceiling, in GFLOP/s.
    ceiling_gflop_s: f64,
    /// What holds it back: memory, compute or overhead.
    bound: Bound,
}

/// A command that leads on.
#[derive(Serialize, JsonSchema)]
struct Next {
    /// The command, without the name of the program.
    command: &'static str,
    /// What it does.
    what: &'static str,
}

const NEXT: [Next; 3] = [
    Next {
        command: "profile MODEL.gguf",
        what: "a model file of yours, operation by operation: where the time goes",
    },
    Next {
        command: "predict llama-3.1-8b --quant q4_k --all-devices",
        what: "the same model on every known device",
    },
    Next {
        command: "machine --html roofline.html",
        what: "measure thoroughly, keep the result, and explore it in a browser",
    },
];

/// Shows what this machine can do.
pub fn run(args: &cli::First) -> Result<Exit, Failure> {
    let pictures = Pictures::open(&args.pictures)?;
    let machine = match Machine::remembered(&Options { size: args.size, ..Options::default() })? {
        Some(machine) => machine,
        None => {
            let options = Options { quick: true, no_cache: true, size: args.size, ..Options::default() };
            device::measure(&options)?
        }
    };
    let target = Target::measured(&machine, None)?;
    let mut models = Vec::new();
    for model in MODELS {
        for weights in WEIGHTS {
            models.push(place(model, weights, &target)?);
        }
    }
    let expected = models.iter().map(|placed| (target.name.as_str(), &placed.expected));
    let expectations = Expecter::default().sentences(expected);
    let first = First { schema: Schema::new(), machine, models, expectations, next: NEXT.into(), target };
    pictures.show(&first, args.format, true)?;
    Ok(Exit::Fine)
}

/// The model as `roofline predict` sees it when nobody says more than its format.
fn place(model: &'static Known, weights: &'static Format, target: &Target) -> Result<Placed, Failure> {
    let hyper = Hyper::of_known(model).map_err(|fault| Failure(format!("{}: {fault}", model.name)))?;
    let longest = hyper.context_length.map(|tokens| tokens as f64);
    let (context, prompt) = lengths(None, None, longest, &mut Vec::new());
    let inputs = predict::with_bits(predict::inputs(&hyper)?, predict::bits_per_weight(weights)?);
    let prediction = predict::predict(Inputs { context, prompt, ..inputs }, &Stored::of(weights), target)?;
    let outputs = prediction.outputs;
    let layers = Some(hyper.layers.len() as f64);
    let work = ModelTraits { name: model.name, format: weights.name, layers };
    Ok(Placed {
        expected: Expecter::default().expect(&work, target, None, &prediction)?,
        model: model.name,
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

impl Placed {
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
            self.prefill.as_ref().map_or("not known".to_owned(), phase),
            figure(self.footprint_gb)
        )
    }
}

impl First {
    fn roofline(&self) -> Chart {
        let mut chart = self.machine.chart().unwrap_or_default();
        // No model fits in a cache, and the roofs are the highest that any number of threads reached.
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
        let under = |placed: &Placed| {
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
                whole: 0,
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
        let row = |placed: &Placed| {
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
                    .map_or("not known".to_owned(), |prefill| figure(prefill.ceiling_tokens_per_s)),
                placed.prefill.as_ref().map_or("-".to_owned(), |prefill| prefill.bound.to_string()),
            ]
        };
        Table::new("Ceilings on this machine, in tokens per second", &headings, self.models.iter().map(row))
    }

    /// What is expected; none where nothing is.
    fn expected(&self) -> Option<Table> {
        self.models.iter().find(|placed| placed.expected.is_known())?;
        let band = |speed: &Option<ExpectedSpeed>| speed.as_ref().map_or("-".to_owned(), ExpectedSpeed::band);
        let row = |placed: &Placed| {
            let Expectation { decode, prefill, .. } = &placed.expected;
            vec![placed.model.to_owned(), placed.weights.to_owned(), band(decode), band(prefill)]
        };
        let headings = ["model", "weights", "decode", "prefill"];
        Some(Table::new("Expected, in tokens per second", &headings, self.models.iter().map(row)))
    }

    /// What the table means, in words.
    fn meaning(&self) -> Vec<String> {
        let words = |phase: fn(&Placed) -> Option<&Phase>| {
            let mut words: Vec<&str> = Vec::new();
            for word in self.models.iter().filter_map(phase).map(|phase| phase.bound.held_back()) {
                if !words.contains(&word) {
                    words.push(word);
                }
            }
            words.join(" or ")
        };
        let (context, prompt) = self.models.first().map_or((0.0, 0.0), |first| (first.context, first.prompt));
        let best = self.machine.best();
        let mut lines = vec![
            format!(
                "decode writes one token after the other and reads every weight and {context} cached tokens for each: {}.",
                words(|placed| Some(&placed.decode))
            ),
            format!(
                "prefill reads a prompt of {prompt} tokens at once: {}.",
                words(|placed| placed.prefill.as_ref())
            ),
            format!(
                "Memory gives {} GB/s with {}. Arithmetic with weights of 8 bits gives {} Gop/s with {}, {}.",
                figure(best.read_gb_s.value),
                threads(best.read_gb_s.threads),
                figure(best.int8_gops.value),
                threads(best.int8_gops.threads),
                best.int4_gops.map_or("and with fewer bits it is not measured".to_owned(), |roof| format!(
                    "and with fewer bits {} with {}",
                    figure(roof.value),
                    threads(roof.threads)
                ))
            ),
        ];
        lines.push(predict::ceilings_hold_for("that format", Some("f16"), 1.0, self.target.caches));
        lines.extend(self.expectations.iter().cloned());
        if let Some(capacity) = self.target.capacity {
            lines.push(format!("The machine has {} GB of memory.", figure(capacity)));
        }
        lines.extend(self.machine.doubts().into_iter().map(|doubt| format!("Beware: {doubt}.")));
        lines
    }
}

impl Report for First {
    const SCHEMA: &'static str = "roofline.first/2";

    fn text(&self, canvas: &Canvas) -> String {
        let columns = canvas.columns;
        let wrapped = |text: String| broken(&text, columns) + "\n";
        let table = self.table();
        let mut shown = table.text();
        // Where the table is wider than the terminal, a sentence for each model breaks better.
        if shown.lines().any(|line| line.chars().count() > columns) {
            shown = wrapped(table.title)
                + &self.models.iter().map(|placed| wrapped(placed.sentence())).collect::<String>();
        } else if let Some(expected) = self.expected() {
            shown += &format!("\n{}", expected.text());
        }
        let meaning: String = self.meaning().into_iter().map(wrapped).collect();
        // Whoever started it through cargo has no `roofline` to type yet.
        let program = if std::env::var_os("CARGO").is_some() { "cargo run --release --" } else { "roofline" };
        let next: String = (self.next.iter())
            .map(|next| format!("  {program} {}\n      {}\n", next.command, next.what))
            .collect();
        format!("{}\n{shown}\n{meaning}\nNext:\n{next}", draw(&self.roofline(), canvas))
    }

    fn chart(&self) -> Option<Chart> {
        Some(self.roofline())
    }

    fn tables(&self) -> Vec<Table> {
        [self.table()].into_iter().chain(self.expected()).collect()
    }

    fn notes(&self) -> Vec<String> {
        self.meaning()
    }
}
