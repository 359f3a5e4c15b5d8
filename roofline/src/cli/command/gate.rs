//! `roofline gate`: comparison of a run with a saved baseline. A loss beyond the threshold and beyond the noise of both runs
//! exits with 1. If both runs measured a figure in turn with a reference load, the ratios to the reference are compared, so
//! that a slower machine does not count as a regression.

use std::borrow::Cow;
use std::path::Path;

use clap::Parser;
use schemars::JsonSchema;
use serde::Serialize;

use crate::bench::{self, Bench, Kernel};
use crate::chart::terminal::Canvas;
use crate::cli::command::profile::{chosen, profiled};
use crate::cli::output::annotation;
use crate::cli::output::terminal::Progress;
use crate::cli::output::{self, Choice};
use crate::cli::{Exit, Failure, args, device};
use crate::import::{self, KernelMeasurement};
use crate::isa::Isa;
use crate::machine::{self, Machine};
use crate::predict::Predicted;
use crate::profile::Profile;
use crate::report::{Better, Figure, Report, Saved, Schema, Table};
use roofline_machine::storage;
use roofline_render::display_width::{escape, shorten};
use roofline_render::format::{figure, percent};

/// Schemas of comparable results.
const COMPARABLE: [&str; 4] = [Machine::SCHEMA, Bench::SCHEMA, Profile::SCHEMA, Predicted::SCHEMA];

/// A comparable run.
enum Run {
    Machine(Box<Machine>),
    Bench(Bench),
    Prediction(Box<Predicted>),
    Profile(Box<Profile>),
    /// Kernels measured by another tool.
    Kernels(Vec<KernelMeasurement>),
}

/// Outcome of the comparison of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Verdict {
    /// Improved beyond the threshold and the noise.
    Better,
    /// Changed by at most the threshold.
    Same,
    /// Changed beyond the threshold, but not beyond the noise.
    Noise,
    /// Too noisy to establish a regression or to rule it out.
    Inconclusive,
    /// Regressed beyond the threshold and the noise.
    Worse,
    /// Only in the baseline.
    Missing,
    /// Only in the new run.
    New,
}

impl Verdict {
    fn name(self) -> &'static str {
        match self {
            Verdict::Better => "better",
            Verdict::Same => "same",
            Verdict::Noise => "noise",
            Verdict::Inconclusive => "inconclusive",
            Verdict::Worse => "worse",
            Verdict::Missing => "missing",
            Verdict::New => "new",
        }
    }

    fn fails(self) -> bool {
        matches!(self, Verdict::Worse | Verdict::Missing | Verdict::Inconclusive)
    }
}

/// A figure in both runs.
#[derive(Debug, Serialize, JsonSchema)]
struct Compared {
    /// Label of the figure.
    name: String,
    /// Unit of the values.
    unit: Cow<'static, str>,
    /// Direction of an improvement.
    better: Better,
    /// Value in the baseline; null if the figure is new.
    before: Option<f64>,
    /// Value in the new run; null if the figure is missing.
    after: Option<f64>,
    /// after / before - 1, each relative to its reference if both have one; null if one value is missing.
    change: Option<f64>,
    /// Speed-up of the reference load, which `change` excludes; null without references.
    machine: Option<f64>,
    /// Relative spread of the measured runs; null if not measured.
    noise: Option<f64>,
    /// Outcome.
    verdict: Verdict,
}

/// Comparison of a run with a saved baseline.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Gated {
    /// Schema of this document.
    schema: Schema<Self>,
    /// Schema of the two runs.
    of: &'static str,
    /// File of the baseline.
    baseline: String,
    /// File of the new run, or the command that measured it.
    new: String,
    /// Tolerated loss, 0 to 1.
    threshold: f64,
    /// Noise above which a figure is inconclusive, 0 to 1. Without `--noise`, the limit of figures with references is the
    /// threshold.
    noise: f64,
    /// `true` if no figure is worse, missing or inconclusive.
    passed: bool,
    /// Figures, in the order of the baseline; new figures last.
    figures: Vec<Compared>,
    /// Differences in settings, and measurements above their ceilings.
    warnings: Vec<String>,
}

/// Compares two runs. Exits with 1 if a figure is worse, missing or inconclusive.
pub fn run(args: &args::Gate) -> Result<Exit, Failure> {
    let mut before = read(&args.baseline)?;
    let (after, new) = match &args.new {
        Some(path) => (read(path)?, path.display().to_string()),
        None => {
            if let (Run::Machine(_), Some(saved)) = (&before, std::env::var_os(machine::SAVED))
                && std::fs::canonicalize(saved).ok() == std::fs::canonicalize(&args.baseline).ok()
            {
                return Err(Failure(format!(
                    "{}: {} points to this file; unset it, or pass the new run as a second file",
                    args.baseline.display(),
                    machine::SAVED
                )));
            }
            if let Run::Profile(profile) = &mut before {
                // Results of llama-bench cannot be measured again.
                profile.llama_bench.clear();
            }
            before.repeat()?
        }
    };
    let mut warnings = Vec::new();
    if before.schema() != after.schema() {
        return Err(Failure(format!(
            "{new}: expected a result of the same command as {}, which is a {}; this is a {}",
            args.baseline.display(),
            before.schema(),
            after.schema()
        )));
    }
    for ((setting, before), (_, after)) in before.setting().iter().zip(&after.setting()) {
        if before != after {
            let differs = format!("{new}: {setting} is {after:?}, but {before:?} in the baseline");
            if !args.across {
                return Err(Failure(format!("{differs}; pass --across to compare anyway")));
            }
            warnings.push(differs);
        }
    }
    for (run, name) in [(&before, args.baseline.display().to_string()), (&after, new.clone())] {
        warnings.extend(run.impossible().into_iter().map(|finding| format!("{name}: {finding}")));
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
        output::log(&format!("warning: {warning}"));
    }
    match args.format {
        Choice::Shared(format) => output::print(&gated, format)?,
        Choice::Own(args::ForCi::Github) => output::write(gated.github().as_bytes())?,
        Choice::Own(args::ForCi::Junit) => output::write(gated.junit().as_bytes())?,
    }
    Ok(if gated.passed { Exit::Fine } else { Exit::Failed })
}

fn read(path: &Path) -> Result<Run, Failure> {
    let of_path = |reason: String| Failure(format!("{}: {reason}", path.display()));
    let kernels = |own: Result<Vec<KernelMeasurement>, String>| {
        let run = Run::Kernels(own.map_err(Failure)?);
        run.comparable().map_err(of_path)?;
        Ok(run)
    };
    if path.is_dir() {
        return kernels(import::read(path));
    }
    let text = storage::read(path).map_err(|error| of_path(error.to_string()))?;
    // The reader of saved results reports errors of JSON that is not of Google Benchmark.
    if !text.trim_start().starts_with(['{', '[']) || storage::is_google_benchmark(&text) {
        return kernels(import::read_text(path, &text));
    }
    storage::schema(&text).and_then(|schema| Run::parse(&schema, &text)).map_err(of_path)
}

impl Run {
    fn parse(schema: &str, text: &str) -> Result<Run, String> {
        let run = match schema {
            Machine::SCHEMA => Run::Machine(Box::new(Machine::from_json(text)?)),
            Bench::SCHEMA => Run::Bench(Bench::from_json(text)?),
            Predicted::SCHEMA => Run::Prediction(Box::new(Predicted::from_json(text)?)),
            Profile::SCHEMA => Run::Profile(Box::new(Profile::from_json(text)?)),
            other => return Err(storage::unsupported_schema(other, &COMPARABLE, "compared")),
        };
        run.comparable()?;
        Ok(run)
    }

    /// Checks that there are figures and that all are above zero.
    fn comparable(&self) -> Result<(), String> {
        let figures = self.figures();
        if figures.is_empty() {
            return Err("no comparable figures; expected a result with measured or predicted figures".into());
        }
        match figures.iter().find(|figure| !(figure.value.is_finite() && figure.value > 0.0)) {
            Some(wrong) => Err(format!(
                "invalid value {} of {:?}; expected a number above zero",
                wrong.value, wrong.label
            )),
            None => Ok(()),
        }
    }

    fn schema(&self) -> &'static str {
        match self {
            Run::Machine(_) => Machine::SCHEMA,
            Run::Bench(_) => Bench::SCHEMA,
            Run::Prediction(_) => Predicted::SCHEMA,
            Run::Profile(_) => Profile::SCHEMA,
            Run::Kernels(_) => "list of kernels",
        }
    }

    fn setting(&self) -> Vec<(&'static str, String)> {
        match self {
            Run::Machine(machine) => machine.setting(),
            Run::Bench(bench) => bench.setting(),
            Run::Prediction(predicted) => predicted.setting(),
            Run::Profile(profile) => profile.setting(),
            Run::Kernels(_) => Vec::new(),
        }
    }

    /// Returns messages about measurements above their ceilings.
    fn impossible(&self) -> Vec<String> {
        match self {
            Run::Machine(_) | Run::Prediction(_) | Run::Kernels(_) => Vec::new(),
            Run::Bench(bench) => bench.impossible().into_iter().collect(),
            Run::Profile(profile) => profile.impossible(),
        }
    }

    /// Returns the figures that have a direction of improvement.
    fn figures(&self) -> Vec<Figure> {
        let mut figures = match self {
            Run::Machine(machine) => machine.figures(),
            Run::Bench(bench) => bench.figures(),
            Run::Prediction(predicted) => predicted.figures(),
            Run::Profile(profile) => profile.figures(),
            Run::Kernels(kernels) => kernels.iter().filter_map(KernelMeasurement::figure).collect(),
        };
        figures.retain(|figure| figure.better != Better::Neither);
        figures
    }

    /// Returns the arguments that repeat the run, as typed on the command line. Values follow `=` and files follow `--`, because
    /// they come from a file and may look like options.
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
            Run::Prediction(_) | Run::Kernels(_) => Vec::new(),
            Run::Profile(profile) => profile_arguments(profile),
        }
    }

    /// Repeats the run with its settings, and returns the command.
    fn repeat(&self) -> Result<(Run, String), Failure> {
        match self {
            Run::Prediction(_) => {
                return Err(Failure(
                    "a prediction cannot be repeated; pass the new one as a second file".into(),
                ));
            }
            Run::Kernels(_) => {
                return Err(Failure(
                    "results of other tools cannot be repeated; pass the new run as a second file".into(),
                ));
            }
            Run::Machine(_) | Run::Bench(_) | Run::Profile(_) => {}
        }
        let arguments = self.arguments();
        let command = format!("roofline {}", arguments.join(" "));
        let failed = |Failure(reason): Failure| Failure(format!("`{command}`: {reason}"));
        Ok((self.measure(arguments).map_err(failed)?, command))
    }

    fn measure(&self, arguments: Vec<String>) -> Result<Run, Failure> {
        match self {
            Run::Machine(machine) => {
                let options = machine::Options {
                    quick: machine.quick,
                    no_cache: true,
                    threads: Some(machine.threads),
                    size: Some(machine.size),
                    isa: Some(Isa::from_name(&machine.isa)?),
                    effort: machine.effort.clone(),
                    ..machine::Options::default()
                };
                Ok(Run::Machine(Box::new(device::measure(&options)?)))
            }
            Run::Bench(bench) => {
                let options = machine::Options {
                    quick: bench.quick,
                    threads: Some(bench.threads),
                    isa: Some(Isa::from_name(&bench.isa)?),
                    ..machine::Options::default()
                };
                let machine = device::measure(&options)?;
                let options = bench::Options {
                    kernels: bench.kernels(),
                    shapes: bench.shapes(),
                    only: bench.only.clone(),
                    quick: bench.quick,
                };
                let progress = Progress::with_steps(bench::count(&machine, &options));
                Ok(Run::Bench(Bench::measure(&machine, &options, |what| progress.step(what))?))
            }
            // `repeat` rejects predictions and kernels.
            Run::Prediction(_) | Run::Kernels(_) | Run::Profile(_) => {
                let command = ["roofline".to_owned()].into_iter().chain(arguments);
                let Some(args::Command::Profile(args)) = args::Cli::try_parse_from(command)?.command else {
                    return Err(Failure("its settings are not those of a profile".into()));
                };
                let chosen = chosen(&args)?;
                let [chosen] = chosen.as_slice() else {
                    return Err(Failure("expected one device; its settings contain several".into()));
                };
                Ok(Run::Profile(Box::new(profiled(&args, chosen)?)))
            }
        }
    }
}

/// Returns the arguments that repeat a profile.
fn profile_arguments(profile: &Profile) -> Vec<String> {
    let Profile { model, device, workload, .. } = profile;
    let mut arguments = vec!["profile".to_owned(), format!("--on={}", device.name)];
    arguments.push(format!("--batch={}", workload.batch));
    arguments.extend(device.ideal_precision.map(|precision| format!("--precision={precision}")));
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

/// Compares figures by label, in the order of the baseline, with new figures last. Repeated labels are paired in order.
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

/// Thresholds of a comparison.
#[derive(Clone, Copy)]
struct Limits {
    threshold: f64,
    /// Maximum noise; depends on the figure if `None`.
    noise: Option<f64>,
    /// Ignores references.
    absolute: bool,
}

impl Limits {
    /// Returns the noise above which a figure is inconclusive. With references it defaults to the threshold, so that a loss of
    /// twice the threshold is either found or inconclusive.
    fn noise(self, has_reference: bool) -> f64 {
        const WITHOUT_REFERENCE: f64 = 0.4;
        self.noise.unwrap_or(if has_reference { self.threshold } else { WITHOUT_REFERENCE })
    }
}

fn both(old: &Figure, new: &Figure, limits: Limits) -> Compared {
    let references = old.reference.zip(new.reference).filter(|_| !limits.absolute);
    let (ratio, noise, machine) = match references {
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
    // Relative to the better side, so that a loss and the gain that undoes it have the same size.
    let size = 1.0 - ratio.min(1.0 / ratio);
    let improved = (change > 0.0) == (old.better == Better::Higher);
    let beyond_noise = noise.is_none_or(|noise| size > noise);
    let verdict = match (size > limits.threshold, beyond_noise, improved) {
        (_, false, _) if noise.is_some_and(|noise| noise > limits.noise(references.is_some())) => {
            Verdict::Inconclusive
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

    fn sentence(&self) -> String {
        let value = |value: Option<f64>| {
            value.map_or_else(|| "-".to_owned(), |value| format!("{} {}", figure(value), self.unit))
        };
        let (name, before, after) = (&self.name, value(self.before), value(self.after));
        let (change, noise) = (self.change(), percent(self.noise));
        match self.verdict {
            Verdict::Better => format!("{name}: improved from {before} to {after} ({change}, noise {noise})"),
            Verdict::Same => {
                format!("{name}: unchanged, {before} before and {after} now ({change}, noise {noise})")
            }
            Verdict::Noise => {
                format!("{name}: within noise, {before} before and {after} now ({change}, noise {noise})")
            }
            Verdict::Inconclusive => {
                format!("{name}: inconclusive, {before} before and {after} now ({change}, noise {noise})")
            }
            Verdict::Worse => format!("{name}: regressed from {before} to {after} ({change}, noise {noise})"),
            Verdict::Missing => format!("{name}: missing from the new run, {before} in the baseline"),
            Verdict::New => format!("{name}: not in the baseline, {after} in the new run"),
        }
    }

    fn title(&self) -> String {
        format!("{}: {}", self.name, self.verdict.name())
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
            Verdict::Inconclusive,
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
        if count(Verdict::Inconclusive) > 0 {
            summary += "\ninconclusive figures varied too much between runs: repeat on a quieter machine, with more repetitions or \
                        longer, or raise --noise";
        }
        summary
    }

    /// Returns GitHub workflow commands: one error per failed figure, and a notice with the summary.
    fn github(&self) -> String {
        let command = |level: &str, title: &str, message: &str| {
            format!("::{level} title={}::{}\n", annotation::property(title), annotation::data(message))
        };
        let errors = self.failures().map(|failed| command("error", &failed.title(), &failed.sentence()));
        let warnings = self.warnings.iter().map(|warning| command("warning", "roofline gate", warning));
        warnings.chain(errors).chain([command("notice", "roofline gate", &self.summary())]).collect()
    }

    /// Returns a JUnit document with one test case per figure.
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

/// Escapes text for an XML attribute, on one line.
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
        format!("{}\n{}\n", table.render_within(canvas, &["unit", "noise"]), self.summary())
    }

    fn tables(&self) -> Vec<Table> {
        vec![self.table()]
    }
}

impl Gated {
    fn table(&self) -> Table {
        let value = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), figure);
        let references = self.figures.iter().any(|compared| compared.machine.is_some());
        let row = |compared: &Compared| {
            let machine = references.then(|| change(compared.machine));
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
            first.into_iter().chain(references.then_some("machine")).chain(["change", "noise", "verdict"]);
        Table::new("", &headings.collect::<Vec<_>>(), self.figures.iter().map(row))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reference::RelativeToReference;

    fn verdict(better: Better, before: f64, after: f64, noise: Option<f64>) -> Verdict {
        let figure = |value, noise| Figure { noise, ..Figure::new("time", "", "s", better, value) };
        both(&figure(before, None), &figure(after, noise), limits(Some(0.3))).verdict
    }

    fn limits(noise: Option<f64>) -> Limits {
        Limits { threshold: 0.05, noise, absolute: false }
    }

    #[test]
    fn a_regression_exceeds_both_the_threshold_and_the_noise() {
        assert_eq!(verdict(Better::Higher, 100.0, 90.0, None), Verdict::Worse);
        assert_eq!(verdict(Better::Higher, 90.0, 100.0, None), Verdict::Better);
        assert_eq!(verdict(Better::Lower, 100.0, 90.0, None), Verdict::Better);
        assert_eq!(verdict(Better::Lower, 90.0, 100.0, None), Verdict::Worse);
        assert_eq!(verdict(Better::Higher, 100.0, 96.0, None), Verdict::Same);
        assert_eq!(verdict(Better::Higher, 100.0, 90.0, Some(0.2)), Verdict::Noise);
        assert_eq!(verdict(Better::Higher, 100.0, 70.0, Some(0.2)), Verdict::Worse);
    }

    #[test]
    fn a_figure_that_is_too_noisy_does_not_pass() {
        assert_eq!(verdict(Better::Higher, 100.0, 338.0, Some(2.0)), Verdict::Inconclusive);
        assert_eq!(verdict(Better::Higher, 100.0, 99.0, Some(0.5)), Verdict::Inconclusive);
        assert_eq!(
            verdict(Better::Higher, 100.0, 40.0, Some(0.5)),
            Verdict::Worse,
            "a loss beyond the noise"
        );
        assert_eq!(verdict(Better::Higher, 100.0, 90.0, Some(0.25)), Verdict::Noise);
        assert!(Verdict::Inconclusive.fails());
    }

    #[test]
    fn references_cancel_the_speed_of_the_machine() {
        let figure = |value, reference, noise| {
            let pair = Some(RelativeToReference { reference, ratio: value / reference, noise });
            Figure {
                reference: pair,
                noise: Some(0.35),
                ..Figure::new("time", "", "s", Better::Lower, value)
            }
        };
        let before = figure(1.0, 1.0, 0.02);
        let compared = |after: &Figure| both(&before, after, limits(None));
        let slower = compared(&figure(1.4, 1.4, 0.02));
        assert_eq!((slower.verdict, slower.change), (Verdict::Same, Some(0.0)));
        assert!(slower.machine.is_some_and(|machine| (machine + 0.4 / 1.4).abs() < 1e-12));
        assert_eq!(compared(&figure(0.9, 0.8, 0.02)).verdict, Verdict::Worse);
        assert_eq!(
            compared(&figure(1.02, 1.0, 0.06)).verdict,
            Verdict::Inconclusive,
            "it may hide a loss of 10 %"
        );
        assert_eq!(
            compared(&figure(1.2, 1.0, 0.06)).verdict,
            Verdict::Worse,
            "it cannot hide a loss of 20 %"
        );
        let absolute = both(&before, &figure(1.4, 1.4, 0.02), Limits { absolute: true, ..limits(None) });
        assert_eq!((absolute.verdict, absolute.machine), (Verdict::Noise, None));
    }

    /// Deterministic pseudo-random numbers.
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

    /// Simulates a figure on a shared runner: speeds of machines differ by a third, drift by a tenth during a run, each load
    /// varies by 4 %, and one in twenty is interrupted and takes up to twice as long. `work` is the true time, in references.
    fn measured_on_a_shared_runner(random: &mut Random, work: f64) -> Figure {
        let machine = (0.33 * random.normal()).exp();
        let mut drift = 0.0;
        let mut rounds = Vec::new();
        let enough = |rounds: &[(f64, f64)]| {
            RelativeToReference::from_rounds(rounds).is_some_and(|paired| paired.noise <= 0.03)
        };
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
        Figure { reference: RelativeToReference::from_rounds(&rounds), ..figure }
    }

    #[test]
    fn references_keep_false_alarms_on_shared_runners_below_one_percent() {
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
        // Without references, most of these gates raise a false alarm.
        let alarms = failed(0.0, true);
        println!("without references: {alarms} false alarms");
        assert!(2 * alarms > GATES, "{alarms} of {GATES}");
    }
}
