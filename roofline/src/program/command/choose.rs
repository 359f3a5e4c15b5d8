//! `roofline choose`: the devices that hold a model and are fast enough, and what the others are short of.

use crate::chart::html::Page;
use crate::choose::{By, Choice};
use crate::predict::{Prediction, Target, predict as reached};
use crate::program::expected::{ModelTraits, missing};
use crate::program::output::picture::{self, Pictures};
use crate::program::require::Names;
use crate::program::{Exit, Failure, cli, request, select, sets};

/// Chooses, and exits with 1 when no device does.
pub fn run(args: &cli::Choose) -> Result<Exit, Failure> {
    let (at_least, args) = (args.at_least, &args.predict);
    let refused = [
        (!args.sweep.is_empty(), "--sweep"),
        (args.explain, "--explain"),
        (!args.require.is_empty(), "--require"),
    ];
    if let Some((_, flag)) = refused.iter().find(|(given, _)| *given) {
        return Err(Failure(format!(
            "{flag} belongs to `predict`; `choose` has --at-least, --where, --sort and --columns"
        )));
    }
    if sets::is_asked(args) {
        return Err(Failure("several devices, hosts and users belong to `predict` and `plan`".into()));
    }
    let by = args.select.sort.as_deref().map_or(Ok(By::Price), by)?;
    let columns = args.select.columns.iter().map(|name| column(name)).collect::<Result<_, _>>()?;
    let mut names = Names::default();
    select::device_names(&mut names);
    if args.select.help(&names)? || args.expecting.help()? {
        return Ok(Exit::Fine);
    }
    let gates = names.parse("--where", &args.select.conditions)?;
    let pictures = Pictures::open(&args.pictures)?;
    let mut warnings = Vec::new();
    let asked = request::asked(args, &mut warnings)?;
    let mut targets = request::targets(args, args.all_devices || args.devices.on.is_empty(), &mut warnings)?;
    targets.retain(|(_, device)| {
        let row = device.map(select::device_row).unwrap_or_default();
        gates.iter().all(|gate| gate.holds(&row) == Some(true))
    });
    if targets.is_empty() {
        eprintln!("no device meets --where");
        return Ok(Exit::Failed);
    }
    let expecter = args.expecting.read()?;
    let request::Asked { subject, inputs, stored, layers } = asked;
    let (model, format) = (subject.name.clone(), subject.quant.clone());
    let expect = |target: &Target, device, prediction: &Prediction| {
        let work = ModelTraits { name: &model, format: &format, layers };
        Some(expecter.expect(&work, target, device, prediction).unwrap_or_else(missing))
    };
    let predict = |inputs, target: &Target| reached(inputs, &stored, target);
    let mut choice = Choice::new(subject, inputs, &targets, at_least, by, predict, expect)?;
    let expected =
        choice.devices.iter().filter_map(|one| Some((one.device.as_str(), one.expected.as_ref()?)));
    choice.expectations = expecter.sentences(expected);
    for warning in &warnings {
        eprintln!("warning: {warning}");
    }
    (choice.warnings, choice.columns) = (warnings, columns);
    let chart = choice.bars();
    let page = || Ok(Page { bars: vec![chart.clone()], ..picture::page(&choice) });
    pictures.show_bars(&choice, &chart, args.format, page)?;
    Ok(if choice.enough().next().is_some() { Exit::Fine } else { Exit::Failed })
}

/// A column by its heading, as the table or the other formats have it.
fn column(name: &str) -> Result<&'static str, Failure> {
    let wanted = name.trim().replace(' ', "_");
    let known = |column: &&&str| **column == wanted;
    Choice::COLUMNS.iter().find(known).copied().ok_or_else(|| {
        Failure(format!("--columns {name}: no such column; there are {}", Choice::COLUMNS.join(", ")))
    })
}

fn by(name: &str) -> Result<By, Failure> {
    By::ALL.iter().copied().find(|by| by.name() == name).ok_or_else(|| {
        let known: Vec<&str> = By::ALL.iter().map(|by| by.name()).collect();
        Failure(format!("--sort {name}: no such order; there are {}", known.join(", ")))
    })
}
