//! `roofline gate`: a run beside a saved one. What got worse by more than the threshold, and by more than the runs of either
//! side differ among themselves, makes the program exit with 1. Where a reference load ran in turn with a figure, both sides
//! are compared by their ratios to it, so that a machine that is slower today is no loss.

use std::borrow::Cow;
use std::path::Path;

use clap::Parser;
use schemars::JsonSchema;
use serde::Serialize;

use crate::bench::{self, Bench, Kernel};
use crate::chart::terminal::Canvas;
use crate::isa::Isa;
use crate::peaks::{self, Machine};
use crate::points::{self, Own};
use crate::predict::Predicted;
use crate::profile::Profile;
use crate::program::command::profile::{chosen, profiled};
use crate::program::output::annotation;
use crate::program::output::terminal::Progress;
use crate::program::output::{self, Choice};
use crate::program::{Exit, Failure, cli, device};
use crate::report::{Better, Figure, Report, Saved, Schema, Table};
use roofline_machine::document;
use roofline_render::number::{figure, percent};
use roofline_render::text::{escape, shorten};

/// What can be compared.
const COMPARED: [&str; 4] = [Machine::SCHEMA, Bench::SCHEMA, Profile::SCHEMA, Predicted::SCHEMA];

/// A run that can be compared.
enum Run {
    Machine(Box<Machine>),
    Bench(Bench),
    Prediction(Box<Predicted>),
    Profile(Box<Profile>),
    /// Kernels that another tool measured.
    Own(Vec<Own>),
}

/// What happened to a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Verdict {
    /// It improved beyond the threshold and the noise.
    Better,
    /// It changed by no more than the threshold.
    Same,
    /// Beyond the threshold, but not beyond the noise.
    Noise,
    /// The runs lie so far apart that neither a loss nor its absence can be told.
    Unclear,
    /// It got worse beyond the threshold and the noise.
    Worse,
    /// In the baseline only.
    Missing,
    /// In the new run only.
    New,
}

impl Verdict {
    fn name(self) -> &'static str {
        match self {
            Verdict::Better => "better",
            Verdict::Same => "same",
            Verdict::Noise => "noise",
            Verdict::Unclear => "can't tell",
            Verdict::Worse => "worse",
            Verdict::Missing => "missing",
            Verdict::New => "new",
        }
    }

    fn fails(self) -> bool {
        matches!(self, Verdict::Worse | Verdict::Missing | Verdict::Unclear)
    }
}

/// A figure before and after.
#[derive(Debug, Serialize, JsonSchema)]
struct Compared {
    /// The figure.
    name: String,
    /// Its unit.
    unit: Cow<'static, str>,
    /// Which way is better.
    better: Better,
    /// In the baseline; null if it is new.
    before: Option<f64>,
    /// In the new run; null if it is missing.
    after: Option<f64>,
    /// after / before - 1, each over its reference where both have one; null if one of them is missing.
    change: Option<f64>,
    /// How much faster the references ran than before, which `change` does without; null where it has none.
    machine: Option<f64>,
    /// How far the runs behind it lie apart, as a share; null where none was measured.
    noise: Option<f64>,
    /// What happened to it.
    verdict: Verdict,
}

/// A run beside a saved one.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Gated {
    /// Which schema this document follows.
    schema: Schema<Self>,
    /// The schema of the two runs.
    of: &'static str,
    /// The file of the baseline.
    baseline: String,
    /// The file of the new run, or the command that made it.
    new: String,
    /// The loss that is tolerated, 0 to 1.
    threshold: f64,
    /// The noise above which nothing can be told, 0 to 1; that of figures with references is the threshold if it is not given.
    noise: f64,
    /// Whether nothing got worse, nothing is missing and all could be told.
    passed: bool,
    /// The figures, those of the baseline first.
    figures: Vec<Compared>,
    /// What differs between the runs, and what was measured above its ceiling.
    warnings: Vec<String>,
}

/// Compares, and exits with 1 when something got worse or is missing.
pub fn run(args: &cli::Gate) -> Result<Exit, Failure> {
    let mut before = read(&args.baseline)?;
    let (after, new) = match &args.new {
        Some(path) => (read(path)?, path.display().to_string()),
        None => {
            if let (Run::Machine(_), Some(saved)) = (&before, std::env::var_os(peaks::SAVED))
                && std::fs::canonicalize(saved).ok() == std::fs::canonicalize(&args.baseline).ok()
            {
                return Err(Failure(format!(
                    "{} is {}, so it would be compared with itself; unset it, or give the new run as a second file",
                    peaks::SAVED,
                    args.baseline.display()
                )));
            }
            if let Run::Profile(profile) = &mut before {
                // What another program measured is not measured again.
                profile.llama_bench.clear();
            }
            before.again()?
        }
    };
    let mut warnings = Vec::new();
    if before.schema() != after.schema() {
        return Err(Failure(format!(
            "{new} is a {}, {} a {}: both must come from the same command",
            after.schema(),
            args.baseline.display(),
            before.schema()
        )));
    }
    for ((what, before), (_, after)) in before.setting().iter().zip(&after.setting()) {
        if before != after {
            let differs = format!("{what} was {before:?} in the baseline and is {after:?} in {new}");
            if !args.across {
                return Err(Failure(format!("{differs}; --across compares them anyway")));
            }
            warnings.push(differs);
        }
    }
    for (run, name) in [(&before, args.baseline.display().to_string()), (&after, new.clone())] {
        warnings.extend(run.impossible().into_iter().map(|what| format!("{name}: {what}")));
    }
    let limits = Limits { threshold: args.threshold, noise: args.noise, absolute: args.absolute };
    let figures = compare(&before.figures(), &after.figures(), limits);
    let gated = Gated {
        schema: Schema::new(),
        of: before.schema(),
        baseline: args.baseline.display().to_string(),
        new,
        threshold: args.threshold,
        noise: limits.noise(false),
        passed: !figures.iter().any(|compared| compared.verdict.fails()),
        figures,
        warnings,
    };
    for warning in &gated.warnings {
        eprintln!("warning: {warning}");
    }
    match args.format {
        Choice::Shared(format) => output::print(&gated, format)?,
        Choice::Own(cli::ForCi::Github) => output::write(gated.github().as_bytes())?,
        Choice::Own(cli::ForCi::Junit) => output::write(gated.junit().as_bytes())?,
    }
    Ok(if gated.passed { Exit::Fine } else { Exit::Failed })
}

fn read(path: &Path) -> Result<Run, Failure> {
    let of_path = |reason: String| Failure(format!("{}: {reason}", path.display()));
    let kernels = |own: Result<Vec<Own>, String>| {
        let run = Run::Own(own.map_err(Failure)?);
        run.comparable().map_err(of_path)?;
        Ok(run)
    };
    if path.is_dir() {
        return kernels(points::read(path));
    }
    let text = document::read(path).map_err(|error| of_path(error.to_string()))?;
    // Of JSON that no benchmark wrote, the reader of results says what is wrong.
    if !text.trim_start().starts_with(['{', '[']) || document::is_google_benchmark(&text) {
        return kernels(points::read_text(path, &text));
    }
    document::schema(&text).and_then(|schema| Run::parse(&schema, &text)).map_err(of_path)
}

impl Run {
    fn parse(schema: &str, text: &str) -> Result<Run, String> {
        let run = match schema {
            Machine::SCHEMA => Run::Machine(Box::new(Machine::from_json(text)?)),
            Bench::SCHEMA => Run::Bench(Bench::from_json(text)?),
            Predicted::SCHEMA => Run::Prediction(Box::new(Predicted::from_json(text)?)),
            Profile::SCHEMA => Run::Profile(Box::new(Profile::from_json(text)?)),
            other => return Err(document::refuse(other, &COMPARED, "compared")),
        };
        run.comparable()?;
        Ok(run)
    }

    /// Whether there are figures, all above zero.
    fn comparable(&self) -> Result<(), String> {
        let figures = self.figures();
        if figures.is_empty() {
            return Err("no figures to compare".into());
        }
        match figures.iter().find(|figure| !(figure.value.is_finite() && figure.value > 0.0)) {
            Some(wrong) => Err(format!("{:?} is {}; it must be above zero", wrong.label, wrong.value)),
            None => Ok(()),
        }
    }

    fn schema(&self) -> &'static str {
        match self {
            Run::Machine(_) => Machine::SCHEMA,
            Run::Bench(_) => Bench::SCHEMA,
            Run::Prediction(_) => Predicted::SCHEMA,
            Run::Profile(_) => Profile::SCHEMA,
            Run::Own(_) => "list of kernels",
        }
    }

    fn setting(&self) -> Vec<(&'static str, String)> {
        match self {
            Run::Machine(machine) => machine.setting(),
            Run::Bench(bench) => bench.setting(),
            Run::Prediction(predicted) => predicted.setting(),
            Run::Profile(profile) => profile.setting(),
            Run::Own(_) => Vec::new(),
        }
    }

    /// What was measured above its ceiling.
    fn impossible(&self) -> Vec<String> {
        match self {
            Run::Machine(_) | Run::Prediction(_) | Run::Own(_) => Vec::new(),
            Run::Bench(bench) => bench.impossible().into_iter().collect(),
            Run::Profile(profile) => profile.impossible(),
        }
    }

    /// The figures that are better one way or the other.
    fn figures(&self) -> Vec<Figure> {
        let mut figures = match self {
            Run::Machine(machine) => machine.figures(),
            Run::Bench(bench) => bench.figures(),
            Run::Prediction(predicted) => predicted.figures(),
            Run::Profile(profile) => profile.figures(),
            Run::Own(kernels) => kernels.iter().filter_map(Own::figure).collect(),
        };
        figures.retain(|figure| figure.better != Better::Neither);
        figures
    }

    /// The arguments that make it again, as a person would write them. Values stand behind `=`, and a file behind `--`: they come
    /// from a file and may look like options.
    fn arguments(&self) -> Vec<String> {
        let quick = |quick: bool| quick.then(|| "--quick".to_owned());
        match self {
            Run::Machine(machine) => {
                let Machine { isa, threads, size, effort, .. } = &**machine;
                let setting =
                    [format!("--isa={isa}"), format!("--threads={threads}"), format!("--size={size}")];
                ["machine".to_owned(), "--no-cache".to_owned()]
                    .into_iter()
                    .chain(setting)
                    .chain(quick(machine.quick))
                    .chain(effort.arguments())
                    .collect()
            }
            Run::Bench(bench) => {
                let kernels: Vec<&str> = bench.kernels().into_iter().map(Kernel::name).collect();
                ["bench".to_owned(), format!("--quant={}", kernels.join(","))]
                    .into_iter()
                    .chain(bench.only.iter().map(|only| format!("--only={only}")))
                    .chain(quick(bench.quick))
                    .chain([format!("--isa={}", bench.isa), format!("--threads={}", bench.threads)])
                    .collect()
            }
            Run::Prediction(_) | Run::Own(_) => Vec::new(),
            Run::Profile(profile) => profile_arguments(profile),
        }
    }

    /// Makes the run again with its own settings, and says how.
    fn again(&self) -> Result<(Run, String), Failure> {
        match self {
            Run::Prediction(_) => {
                return Err(Failure(
                    "a prediction is not made again; give the new one as a second file".into(),
                ));
            }
            Run::Own(_) => {
                return Err(Failure("another tool measured it; give its new run as a second file".into()));
            }
            Run::Machine(_) | Run::Bench(_) | Run::Profile(_) => {}
        }
        let arguments = self.arguments();
        let command = format!("roofline {}", arguments.join(" "));
        let failed = |Failure(reason): Failure| Failure(format!("`{command}`: {reason}"));
        Ok((self.made_again(arguments).map_err(failed)?, command))
    }

    fn made_again(&self, arguments: Vec<String>) -> Result<Run, Failure> {
        match self {
            Run::Machine(machine) => {
                let options = peaks::Options {
                    quick: machine.quick,
                    no_cache: true,
                    threads: Some(machine.threads),
                    size: Some(machine.size),
                    isa: Some(Isa::from_name(&machine.isa)?),
                    effort: machine.effort.clone(),
                    ..peaks::Options::default()
                };
                Ok(Run::Machine(Box::new(device::measure(&options)?)))
            }
            Run::Bench(bench) => {
                let options = peaks::Options {
                    quick: bench.quick,
                    threads: Some(bench.threads),
                    isa: Some(Isa::from_name(&bench.isa)?),
                    ..peaks::Options::default()
                };
                let machine = device::measure(&options)?;
                let options = bench::Options {
                    kernels: bench.kernels(),
                    shapes: bench.shapes(),
                    only: bench.only.clone(),
                    quick: bench.quick,
                };
                let progress = Progress::counting(bench::count(&machine, &options));
                Ok(Run::Bench(Bench::measure(&machine, &options, |what| progress.step(what))?))
            }
            // What is not made again was refused before.
            Run::Prediction(_) | Run::Own(_) | Run::Profile(_) => {
                let command = ["roofline".to_owned()].into_iter().chain(arguments);
                let Some(cli::Command::Profile(args)) = cli::Cli::try_parse_from(command)?.command else {
                    return Err(Failure("its settings make no profile".into()));
                };
                let chosen = chosen(&args)?;
                let [chosen] = chosen.as_slice() else {
                    return Err(Failure("its settings name several devices".into()));
                };
                Ok(Run::Profile(Box::new(profiled(&args, chosen)?)))
            }
        }
    }
}

/// The arguments that make a profile again.
fn profile_arguments(profile: &Profile) -> Vec<String> {
    let Profile { model, device, workload, .. } = profile;
    let mut arguments = vec!["profile".to_owned(), format!("--on={}", device.name)];
    arguments.push(format!("--batch={}", workload.batch));
    arguments.extend(device.estimate_precision.map(|asked| format!("--precision={asked}")));
    arguments.extend(workload.cache.iter().map(|cache| format!("--cache={cache}")));
    arguments.extend(workload.context.map(|tokens| format!("--context={tokens}")));
    arguments.extend(workload.prompt.map(|tokens| format!("--prompt={tokens}")));
    arguments.extend(workload.input.iter().map(|input| format!("--input={input}")));
    // A stack of layers has one phase.
    arguments.extend(profile.pass.is_none().then(|| format!("--phase={}", profile.phase)));
    arguments.extend(model.change.iter().map(|change| format!("--quant={change}")));
    if profile.measured().next().is_some() {
        arguments.push("--measure".to_owned());
    }
    arguments.extend(["--".to_owned(), model.file.clone()]);
    arguments
}

/// The figures of the baseline in their order, then what is new. Where a name occurs several times, the first belongs to the
/// first.
fn compare(before: &[Figure], after: &[Figure], limits: Limits) -> Vec<Compared> {
    let mut left: Vec<Option<&Figure>> = after.iter().map(Some).collect();
    let mut all = Vec::new();
    for old in before {
        let same = |new: &&mut Option<&Figure>| new.is_some_and(|new| new.label == old.label);
        all.push(match left.iter_mut().find(same).and_then(Option::take) {
            Some(new) => both(old, new, limits),
            None => alone(old, Some(old.value), None, Verdict::Missing),
        });
    }
    all.extend(left.into_iter().flatten().map(|new| alone(new, None, Some(new.value), Verdict::New)));
    all
}

fn alone(figure: &Figure, before: Option<f64>, after: Option<f64>, verdict: Verdict) -> Compared {
    let Figure { label: name, unit, better, noise, .. } = figure.clone();
    Compared { name, unit, better, before, after, change: None, machine: None, noise, verdict }
}

/// From where on a difference counts.
#[derive(Clone, Copy)]
struct Limits {
    threshold: f64,
    /// The most noise; as it is fit for each figure if it is not given.
    noise: Option<f64>,
    /// Compares figures as they are, even if a reference ran beside them.
    absolute: bool,
}

impl Limits {
    /// The most noise. Paired a reference it is that of a median, and no more than the threshold: then every loss of twice the
    /// threshold is found, or nothing can be told.
    fn noise(self, beside: bool) -> f64 {
        const PLAIN: f64 = 0.4;
        self.noise.unwrap_or(if beside { self.threshold } else { PLAIN })
    }
}

fn both(old: &Figure, new: &Figure, limits: Limits) -> Compared {
    let beside = old.beside.zip(new.beside).filter(|_| !limits.absolute);
    let (ratio, noise, machine) = match beside {
        Some((before, after)) => {
            let faster = match old.better {
                Better::Higher => after.reference / before.reference,
                Better::Lower | Better::Neither => before.reference / after.reference,
            };
            (after.ratio / before.ratio, Some(before.noise.hypot(after.noise)), Some(faster - 1.0))
        }
        None => (new.value / old.value, old.noise.into_iter().chain(new.noise).reduce(f64::max), None),
    };
    let change = ratio - 1.0;
    // Both ways are measured by the worse side, so that a loss and the gain that undoes it count alike.
    let size = 1.0 - ratio.min(1.0 / ratio);
    let improved = (change > 0.0) == (old.better == Better::Higher);
    let beyond_noise = noise.is_none_or(|noise| size > noise);
    let verdict = match (size > limits.threshold, beyond_noise, improved) {
        (_, false, _) if noise.is_some_and(|noise| noise > limits.noise(beside.is_some())) => {
            Verdict::Unclear
        }
        (false, ..) => Verdict::Same,
        (true, false, _) => Verdict::Noise,
        (true, true, true) => Verdict::Better,
        (true, true, false) => Verdict::Worse,
    };
    Compared {
        name: old.label.clone(),
        unit: old.unit.clone(),
        better: old.better,
        before: Some(old.value),
        after: Some(new.value),
        change: Some(change),
        machine,
        noise,
        verdict,
    }
}

/// A change as a percentage with its sign.
fn change(change: Option<f64>) -> String {
    change.map_or_else(|| "-".to_owned(), |change| format!("{:+.1} %", 100.0 * change))
}

impl Compared {
    fn change(&self) -> String {
        change(self.change)
    }

    /// The change in words.
    fn sentence(&self) -> String {
        let value = |value: Option<f64>| {
            value.map_or_else(|| "nothing".to_owned(), |value| format!("{} {}", figure(value), self.unit))
        };
        format!(
            "{}: {}, {} before, {} now, {} with a noise of {}",
            self.name,
            self.verdict.name(),
            value(self.before),
            value(self.after),
            self.change(),
            percent(self.noise)
        )
    }
}

impl Gated {
    fn failures(&self) -> impl Iterator<Item = &Compared> {
        self.figures.iter().filter(|compared| compared.verdict.fails())
    }

    fn summary(&self) -> String {
        let count = |verdict: Verdict| self.figures.iter().filter(|found| found.verdict == verdict).count();
        let verdicts = [
            Verdict::Worse,
            Verdict::Missing,
            Verdict::Unclear,
            Verdict::Noise,
            Verdict::Same,
            Verdict::Better,
            Verdict::New,
        ];
        let counts = verdicts.into_iter().map(|verdict| (count(verdict), verdict));
        let counts: Vec<String> = counts
            .filter(|(count, _)| *count > 0)
            .map(|(count, verdict)| format!("{count} {}", verdict.name()))
            .collect();
        let passed = if self.passed { "passed" } else { "failed" };
        let mut summary =
            format!("{passed}: {}; threshold {}", counts.join(", "), percent(Some(self.threshold)));
        if count(Verdict::Unclear) > 0 {
            summary += "\nthe runs lie too far apart to tell: run again on a quieter machine, with more repetitions or longer, or \
                        raise --noise";
        }
        summary
    }

    /// Workflow commands: an error for each failure, and the outcome.
    fn github(&self) -> String {
        let command = |level: &str, title: &str, message: &str| {
            format!("::{level} title={}::{}\n", annotation::property(title), annotation::data(message))
        };
        let errors = self.failures().map(|failed| {
            command("error", &format!("{} is {}", failed.name, failed.verdict.name()), &failed.sentence())
        });
        let warnings = self.warnings.iter().map(|warning| command("warning", "roofline gate", warning));
        warnings.chain(errors).chain([command("notice", "roofline gate", &self.summary())]).collect()
    }

    /// A test case for each figure.
    fn junit(&self) -> String {
        let suite = format!(
            "name=\"roofline gate\" tests=\"{}\" failures=\"{}\" errors=\"0\" skipped=\"0\"",
            self.figures.len(),
            self.failures().count()
        );
        let mut out = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n".to_owned();
        out += &format!("<testsuites {suite}>\n  <testsuite {suite}>\n");
        for compared in &self.figures {
            let case = format!("classname=\"{}\" name=\"{}\"", escape(self.of), attribute(&compared.name));
            let sentence = compared.sentence();
            out += &if compared.verdict.fails() {
                let (kind, message) = (compared.verdict.name(), attribute(&sentence));
                let body = escape(&sentence);
                format!(
                    "    <testcase {case}>\n      <failure type=\"{kind}\" message=\"{message}\">{body}</failure>\n    </testcase>\n"
                )
            } else {
                format!("    <testcase {case}/>\n")
            };
        }
        out + "  </testsuite>\n</testsuites>\n"
    }
}

/// Text for an attribute, which has no lines.
fn attribute(text: &str) -> String {
    escape(&text.replace(['\n', '\t'], " "))
}

impl Report for Gated {
    const SCHEMA: &'static str = "roofline.gate/1";

    fn text(&self, canvas: &Canvas) -> String {
        let mut table = self.table();
        for row in &mut table.rows {
            for cell in row {
                *cell = shorten(cell, 60, true);
            }
        }
        format!("{}\n{}\n", table.fitted(canvas, &["unit", "noise"]), self.summary())
    }

    fn tables(&self) -> Vec<Table> {
        vec![self.table()]
    }
}

impl Gated {
    fn table(&self) -> Table {
        let value = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), figure);
        // What the machine did is said where something ran beside the figures.
        let beside = self.figures.iter().any(|compared| compared.machine.is_some());
        let row = |compared: &Compared| {
            let machine = beside.then(|| change(compared.machine));
            let first = [
                compared.name.clone(),
                compared.unit.to_string(),
                value(compared.before),
                value(compared.after),
            ];
            let last = [compared.change(), percent(compared.noise), compared.verdict.name().to_owned()];
            first.into_iter().chain(machine).chain(last).collect()
        };
        let first = ["figure", "unit", "before", "after"];
        let headings =
            first.into_iter().chain(beside.then_some("machine")).chain(["change", "noise", "verdict"]);
        Table::new("", &headings.collect::<Vec<_>>(), self.figures.iter().map(row))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::paired::Paired;

    fn verdict(better: Better, before: f64, after: f64, noise: Option<f64>) -> Verdict {
        let figure = |value, noise| Figure { noise, ..Figure::new("time", "", "s", better, value) };
        both(&figure(before, None), &figure(after, noise), limits(Some(0.3))).verdict
    }

    fn limits(noise: Option<f64>) -> Limits {
        Limits { threshold: 0.05, noise, absolute: false }
    }

    #[test]
    fn a_loss_counts_beyond_the_threshold_and_the_noise_and_knows_which_way_is_better() {
        assert_eq!(verdict(Better::Higher, 100.0, 90.0, None), Verdict::Worse);
        assert_eq!(verdict(Better::Higher, 90.0, 100.0, None), Verdict::Better);
        assert_eq!(verdict(Better::Lower, 100.0, 90.0, None), Verdict::Better);
        assert_eq!(verdict(Better::Lower, 90.0, 100.0, None), Verdict::Worse);
        assert_eq!(verdict(Better::Higher, 100.0, 96.0, None), Verdict::Same);
        assert_eq!(verdict(Better::Higher, 100.0, 90.0, Some(0.2)), Verdict::Noise);
        assert_eq!(verdict(Better::Higher, 100.0, 70.0, Some(0.2)), Verdict::Worse);
    }

    #[test]
    fn what_too_much_noise_hides_does_not_pass() {
        assert_eq!(verdict(Better::Higher, 100.0, 338.0, Some(2.0)), Verdict::Unclear);
        assert_eq!(verdict(Better::Higher, 100.0, 99.0, Some(0.5)), Verdict::Unclear);
        assert_eq!(
            verdict(Better::Higher, 100.0, 40.0, Some(0.5)),
            Verdict::Worse,
            "a loss beyond the noise"
        );
        assert_eq!(verdict(Better::Higher, 100.0, 90.0, Some(0.25)), Verdict::Noise);
        assert!(Verdict::Unclear.fails());
    }

    #[test]
    fn beside_references_a_slower_machine_is_no_loss_and_a_loss_shows_on_a_faster_one() {
        let figure = |value, reference, noise| {
            let beside = Some(Paired { reference, ratio: value / reference, noise });
            Figure { beside, noise: Some(0.35), ..Figure::new("time", "", "s", Better::Lower, value) }
        };
        let before = figure(1.0, 1.0, 0.02);
        let compared = |after: &Figure| both(&before, after, limits(None));
        let slower = compared(&figure(1.4, 1.4, 0.02));
        assert_eq!((slower.verdict, slower.change), (Verdict::Same, Some(0.0)));
        assert!(slower.machine.is_some_and(|machine| (machine + 0.4 / 1.4).abs() < 1e-12));
        assert_eq!(compared(&figure(0.9, 0.8, 0.02)).verdict, Verdict::Worse);
        assert_eq!(compared(&figure(1.02, 1.0, 0.06)).verdict, Verdict::Unclear, "10 % could hide in it");
        assert_eq!(compared(&figure(1.2, 1.0, 0.06)).verdict, Verdict::Worse, "20 % can't");
        let absolute = both(&before, &figure(1.4, 1.4, 0.02), Limits { absolute: true, ..limits(None) });
        assert_eq!((absolute.verdict, absolute.machine), (Verdict::Noise, None));
    }

    /// Numbers without a pattern, the same in every run of the test.
    struct Random(u64);

    impl Random {
        fn uniform(&mut self) -> f64 {
            self.0 ^= self.0 << 13;
            self.0 ^= self.0 >> 7;
            self.0 ^= self.0 << 17;
            ((self.0 >> 11) as f64 + 0.5) / (1u64 << 53) as f64
        }

        fn normal(&mut self) -> f64 {
            (-2.0 * self.uniform().ln()).sqrt() * (std::f64::consts::TAU * self.uniform()).cos()
        }
    }

    /// A figure measured on a shared runner. The machine of each run is faster or slower than the last by a third, its speed drifts
    /// by a tenth while it runs, each load of a round is off by 4 %, and one in twenty takes up to twice as long because something
    /// else ran. `work` is the true time in references.
    fn measured_on_a_shared_runner(random: &mut Random, work: f64) -> Figure {
        let machine = (0.33 * random.normal()).exp();
        let mut drift = 0.0;
        let mut rounds = Vec::new();
        let enough = |rounds: &[(f64, f64)]| Paired::of(rounds).is_some_and(|paired| paired.noise <= 0.03);
        while rounds.len() < 400 && !(rounds.len() % 50 == 0 && enough(&rounds)) {
            drift = 0.9 * drift + 0.1 * 0.44 * random.normal();
            let mut load = |time: f64| {
                let hit = if random.uniform() < 0.05 { 1.0 + random.uniform() } else { 1.0 };
                time * machine * f64::exp(drift) * f64::exp(0.04 * random.normal()) * hit
            };
            rounds.push((load(work), load(1.0)));
        }
        let mut times: Vec<f64> = rounds.iter().map(|round| round.0).collect();
        times.sort_by(f64::total_cmp);
        let (best, median) = (times[0], times[times.len() / 2]);
        let figure = Figure::new("time", "", "s", Better::Lower, best).between(best, median);
        Figure { beside: Paired::of(&rounds), ..figure }
    }

    #[test]
    fn on_shared_runners_fewer_than_one_gate_in_a_hundred_is_a_false_alarm_and_every_loss_of_a_tenth_is_found()
     {
        const GATES: usize = 1000;
        const FIGURES: usize = 4;
        let mut random = Random(0x9e37_79b9_7f4a_7c15);
        let mut failed = |loss: f64, absolute: bool| {
            let mut gate = || {
                (0..FIGURES).any(|at| {
                    let before = measured_on_a_shared_runner(&mut random, 1.3);
                    let worse = if at == 0 { 1.3 / (1.0 - loss) } else { 1.3 };
                    let after = measured_on_a_shared_runner(&mut random, worse);
                    both(&before, &after, Limits { absolute, ..limits(None) }).verdict.fails()
                })
            };
            (0..GATES).filter(|_| gate()).count()
        };
        let (false_alarms, found) = (failed(0.0, false), failed(0.1, false));
        assert!(100 * false_alarms < GATES, "{false_alarms} of {GATES}");
        assert_eq!(found, GATES, "every loss is found");
        println!(
            "{GATES} gates of {FIGURES} figures: {false_alarms} false alarms, {found} losses of 10 % found"
        );
        // The same runs without their references: most of these gates would cry wolf.
        let alarms = failed(0.0, true);
        println!("without references: {alarms} false alarms");
        assert!(2 * alarms > GATES, "{alarms} of {GATES}");
    }
}
