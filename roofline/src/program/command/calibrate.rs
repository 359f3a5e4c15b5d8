//! `roofline calibrate`: the constants of a machine and an engine, from runs of its user.

use std::path::{Path, PathBuf};

use crate::bench::{Bench, Home};
use crate::contracts::hardware::devices::Device;
use crate::device::Chosen;
use crate::model::{Hyper, Model, by_name};
use crate::predict::{self, Target};
use crate::profile;
use crate::program::name::normal;
use crate::program::output::file::Unfinished;
use crate::program::request::layers;
use crate::program::{About, Exit, Failure, cli, device, expected, output};
use crate::record::{self, Calibration, Dimensions, Origin, Row, Run, device_of};
use crate::report::Saved;
use roofline_machine::{date, document};

/// Products of a layer that are measured each by itself: query, key, value, output, gate with up, down.
const PRODUCTS: f64 = 6.0;

/// Finds the constants and keeps them.
pub fn run(args: &cli::Calibrate) -> Result<Exit, Failure> {
    // A path that can't be written costs no measurement.
    let file = args.output.as_deref().map(Unfinished::open).transpose()?;
    let mut read = Vec::new();
    for path in &args.results {
        read.push((path, document::read(path).about(path.display())?));
    }
    let (products, tests): (Vec<_>, Vec<_>) =
        read.into_iter().partition(|(_, text)| text.trim_start().starts_with('{'));
    let (origin, runs) = match (products.as_slice(), tests.is_empty()) {
        ([], _) => of_tests(args, &tests)?,
        ([(path, text)], true) => of_products(args, path, text)?,
        _ => {
            let what = "the results of `llama-bench -o json`, or one of `roofline bench`, not both";
            return Err(Failure(format!("calibrate takes {what}")));
        }
    };
    let files: Vec<String> = args.results.iter().map(|path| path.display().to_string()).collect();
    let calibration =
        Calibration::new(origin, &runs).about(format_args!("{}: not calibrated", files.join(", ")))?;
    let text = serde_json::to_string_pretty(&calibration)? + "\n";
    if let Some(file) = file {
        let alone = file.is_standard_output();
        file.finish(&text)?;
        if !alone {
            output::print(&calibration, args.format)?;
        }
        return Ok(Exit::Fine);
    }
    let path = expected::saved_path(&calibration.device, &calibration.engine).ok_or_else(|| {
        Failure("where the platform keeps caches is not known; --output FILE keeps it there".into())
    })?;
    document::save(&path, &text).about(path.display())?;
    output::print(&calibration, args.format)?;
    eprintln!("kept in {}; `roofline predict --calibrated` uses it", path.display());
    Ok(Exit::Fine)
}

/// The runs of `llama-bench`, all on one device and of one engine.
fn of_tests(args: &cli::Calibrate, files: &[(&PathBuf, String)]) -> Result<(Origin, Vec<Run>), Failure> {
    let mut rows: Vec<(&Path, Row)> = Vec::new();
    for (path, text) in files {
        let found = record::read_llama_bench(text);
        let found = found.map_err(|mistake| Failure(format!("{}:{mistake}", path.display())))?;
        if found.is_empty() {
            return Err(Failure(format!("{}: no test that only reads or only makes tokens", path.display())));
        }
        rows.extend(found.into_iter().map(|row| (path.as_path(), row)));
    }
    let at = |path: &Path, row: &Row, why: &str| Failure(format!("{}:{}: {why}", path.display(), row.line));
    let Some((_, first)) = rows.first() else {
        return Err(Failure("no results".into()));
    };
    for (path, row) in &rows {
        if (&row.device, &row.backend, row.devices) != (&first.device, &first.backend, 1.0) {
            let (ran, other) =
                (format!("{} {}", row.device, row.backend), format!("{} {}", first.device, first.backend));
            let why = format!(
                "ran on {ran}, where one device is calibrated at a time, and the first ran on {other}"
            );
            return Err(at(path, row, &why));
        }
    }
    let (target, device) = place(args, first)?;
    let models: Result<Vec<Dimensions>, Failure> = args.model.iter().map(|name| dimensions(name)).collect();
    let models = models?;
    let mut runs = Vec::new();
    for (path, row) in &rows {
        let run = Run::of_row(row, &models, &target, device).map_err(|why| {
            at(path, row, &format!("{why}; --model names its file, or a model that is known"))
        })?;
        runs.extend(run);
    }
    let mut builds: Vec<String> = rows.iter().map(|(_, row)| row.build.clone()).collect();
    builds.retain(|build| !build.is_empty());
    builds.sort_unstable();
    builds.dedup();
    let origin = Origin {
        device: target.name.clone(),
        bandwidth: target.bandwidth,
        engine: first.engine_on(device).to_string(),
        builds,
        date: date::written(date::today()),
        parts: 1.0,
    };
    Ok((origin, runs))
}

/// Products that `roofline bench` measured from memory, of one format.
fn of_products(args: &cli::Calibrate, path: &Path, text: &str) -> Result<(Origin, Vec<Run>), Failure> {
    let wrong = |why: String| Failure(format!("{}: {why}", path.display()));
    let bench = Bench::from_json(text).map_err(wrong)?;
    let memory: Vec<_> = bench.rows.iter().filter(|row| row.home == Home::Memory).collect();
    let Some(first) = memory.first() else {
        return Err(wrong("no product whose weights come from memory".into()));
    };
    if memory.iter().any(|row| row.kernel != first.kernel) {
        let kernel = first.kernel.name();
        return Err(wrong(format!(
            "several formats; measure one, such as `roofline bench --quant {}`",
            kernel.to_lowercase()
        )));
    }
    if !args.devices.on.is_empty() || !args.model.is_empty() {
        return Err(wrong(
            "products ran on this machine and are of no model: --on and --model do not apply".into(),
        ));
    }
    let runs = memory.iter().map(|row| {
        let seconds = row.median_seconds;
        // Amounts follow from the best time, which the rates are of.
        let amounts = (row.gb_s * row.seconds * 1e9, row.gflop_s * row.seconds * 1e9);
        Run::of_product(&row.name, amounts, seconds, row.roof_gb_s, row.roof_gflop_s)
    });
    let origin = Origin {
        device: "this".into(),
        bandwidth: first.roof_gb_s,
        engine: "roofline-cpu".into(),
        builds: vec![format!("{} {}", env!("CARGO_PKG_VERSION"), bench.isa)],
        date: date::written(date::today()),
        parts: PRODUCTS,
    };
    Ok((origin, runs.collect()))
}

/// The device that ran: the one that --on names, that of the registry with the name in the result, or this machine.
fn place(args: &cli::Calibrate, row: &Row) -> Result<(Target, Option<&'static Device>), Failure> {
    let chosen = args.devices.chosen(&args.devices.files.catalog()?, &[])?;
    let chosen = match chosen.as_slice() {
        [one] => one.clone(),
        [] => match device_of(&row.device) {
            Some(device) => Chosen::Device(device),
            None if row.backend.starts_with("CPU") => Chosen::This,
            None => {
                let device = &row.device;
                return Err(Failure(format!(
                    "device {device:?} is not in the registry; --on says which it is"
                )));
            }
        },
        _ => return Err(Failure("--on: one device is calibrated at a time".into())),
    };
    let chosen = chosen.measured(|| device::this(&args.measuring))?;
    let device = if let Chosen::Device(device) = &chosen { Some(*device) } else { None };
    Ok((chosen.target(None)?, device))
}

/// A model that is known by name, or that of a file.
fn dimensions(name: &str) -> Result<Dimensions, Failure> {
    if let Some(known) = by_name(&normal(name)) {
        let hyper = Hyper::of_known(known).about(name)?;
        let parameters = hyper.parameters() as f64;
        let (inputs, layers) = (predict::inputs(&hyper)?, hyper.layers.len() as f64);
        return Ok(Dimensions { name: known.name.into(), inputs, layers, parameters });
    }
    if !Path::new(name).exists() {
        return Err(crate::program::request::unknown_model(name));
    }
    let model = Model::open_headers(Path::new(name))?;
    let (inputs, _) = profile::inputs(&model, None)?;
    let parameters = model.parameters() as f64;
    Ok(Dimensions {
        name: model.architecture.name.clone(),
        inputs,
        layers: layers(&model.architecture.operations),
        parameters,
    })
}
