//! `roofline choose`: the devices that fit a model and are fast enough, and what the others lack.

use crate::chart::html::Page;
use crate::choose::{By, Choice};
use crate::cli::conditions::Names;
use crate::cli::expected::{ModelTraits, missing};
use crate::cli::output;
use crate::cli::output::charts::{self, Charts};
use crate::cli::{Exit, Failure, args, request, select};
use crate::predict::{DeviceProfile, Prediction, predict as reached};

/// Compares the devices, and exits with 1 if none meets the target.
pub fn run(args: &args::Choose) -> Result<Exit, Failure> {
    if matches!(args.speculation.draft, Some(args::Draft::Model(_))) || args.speculation.accept.is_some() {
        return Err(Failure(
            "--draft: a draft model is supported by `predict` and `plan`; expected a number of tokens".into(),
        ));
    }
    if args.work.devices.names_a_set() {
        return Err(Failure(
            "--on: `choose` compares single devices; use `predict` or `plan` for sets of devices".into(),
        ));
    }
    let by = args.select.sort.as_deref().map_or(Ok(By::Price), by)?;
    let columns = args.select.columns.iter().map(|name| column(name)).collect::<Result<_, _>>()?;
    let mut names = Names::default();
    select::add_device_names(&mut names);
    if args.select.help(&names)? || args.expecting.help()? {
        return Ok(Exit::Fine);
    }
    let gates = names.parse("--where", &args.select.conditions)?;
    let pictures = Charts::open(&args.pictures)?;
    let mut warnings = Vec::new();
    let request = request::resolve(&args.work, args.speculation.tokens_per_pass(), &mut warnings)?;
    let mut targets = request::targets(&args.work, "all", &mut warnings)?;
    targets.retain(|(_, device)| {
        let row = device.map(select::device_row).unwrap_or_default();
        gates.iter().all(|gate| gate.holds(&row) == Some(true))
    });
    if targets.is_empty() {
        output::log("no device meets --where");
        return Ok(Exit::Failed);
    }
    let expecter = args.expecting.read()?;
    let request::Request { subject, inputs, stored, layers } = request;
    let (model, format) = (subject.name.clone(), subject.quant.clone());
    let expect = |target: &DeviceProfile, device, prediction: &Prediction| {
        let work = ModelTraits { name: &model, format: &format, layers };
        Some(expecter.expect(&work, target, device, prediction).unwrap_or_else(missing))
    };
    let predict = |inputs, target: &DeviceProfile| reached(inputs, &stored, target);
    let mut choice = Choice::new(subject, inputs, &targets, args.min_speed, by, predict, expect)?;
    let expected =
        choice.devices.iter().filter_map(|one| Some((one.device.as_str(), one.expected.as_ref()?)));
    choice.expectations = expecter.sentences(expected);
    for warning in &warnings {
        output::log(&format!("warning: {warning}"));
    }
    (choice.warnings, choice.columns) = (warnings, columns);
    let chart = choice.bars();
    let page = || Ok(Page { bars: vec![chart.clone()], ..charts::page(&choice) });
    pictures.show_bars(&choice, &chart, args.format, page)?;
    Ok(if choice.enough().next().is_some() { Exit::Fine } else { Exit::Failed })
}

/// Returns a column by its heading in the table or in other formats.
fn column(name: &str) -> Result<&'static str, Failure> {
    let wanted = name.trim().replace(' ', "_");
    let known = |column: &&&str| **column == wanted;
    Choice::COLUMNS.iter().find(known).copied().ok_or_else(|| {
        Failure(format!("--columns {name}: unknown column; expected one of {}", Choice::COLUMNS.join(", ")))
    })
}

fn by(name: &str) -> Result<By, Failure> {
    By::ALL.iter().copied().find(|by| by.name() == name).ok_or_else(|| {
        let known: Vec<&str> = By::ALL.iter().map(|by| by.name()).collect();
        Failure(format!("--sort {name}: unknown order; expected one of {}", known.join(", ")))
    })
}
