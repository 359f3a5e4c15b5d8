//! `roofline calibrate`: calibration of expected speeds with benchmark results of a machine and an engine.

use std::path::{Path, PathBuf};

use crate::bench::{Bench, MemoryLevel};
use crate::cli::name::normalize;
use crate::cli::output::file::OutputFile;
use crate::cli::request::layers;
use crate::cli::{About, Exit, Failure, args, device, expected, output};
use crate::contracts::hardware::devices::Device;
use crate::device::ResolvedDevice;
use crate::evidence::{self, Calibration, Dimensions, Origin, Row, Run, find_device};
use crate::model::{Model, ModelDims, by_name, display_name};
use crate::predict::{self, DeviceProfile};
use crate::profile;
use crate::report::Saved;
use roofline_machine::{date, storage};

/// Matrix products per layer in `roofline bench`: query, key, value, output, gate with up, down.
const PRODUCTS_PER_LAYER: f64 = 6.0;

/// Fits the constants and saves them.
pub fn run(args: &args::Calibrate) -> Result<Exit, Failure> {
    // Fails before a measurement.
    let file = args.output.as_deref().map(OutputFile::open).transpose()?;
    let mut texts = Vec::new();
    for path in &args.results {
        texts.push((path, storage::read(path).about(path.display())?));
    }
    let (products, tests): (Vec<_>, Vec<_>) =
        texts.into_iter().partition(|(_, text)| text.trim_start().starts_with('{'));
    let (origin, runs) = match (products.as_slice(), tests.is_empty()) {
        ([], _) => from_llama_bench(args, &tests)?,
        ([(path, text)], true) => from_bench(args, path, text)?,
        _ => {
            let expected =
                "expected results of `llama-bench -o json`, or one result of `roofline bench --format json`";
            return Err(Failure(format!("{}: cannot be combined; {expected}", join(&args.results))));
        }
    };
    let calibration =
        Calibration::new(origin, &runs).about(format_args!("{}: cannot calibrate", join(&args.results)))?;
    let text = serde_json::to_string_pretty(&calibration)? + "\n";
    if let Some(file) = file {
        let alone = file.is_standard_output();
        file.finish(&text)?;
        if !alone {
            output::print(&calibration, args.format)?;
        }
        return Ok(Exit::Fine);
    }
    let path = expected::saved_path(&calibration.device, &calibration.engine)
        .ok_or_else(|| Failure("no cache directory on this platform; pass --output FILE".into()))?;
    storage::save(&path, &text).about(path.display())?;
    output::print(&calibration, args.format)?;
    output::log(&format!("saved to {}; use it with `roofline predict --calibrated`", path.display()));
    Ok(Exit::Fine)
}

/// Joins paths with commas.
fn join(paths: &[PathBuf]) -> String {
    paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ")
}

/// Converts results of `llama-bench`, which must share one device and engine.
fn from_llama_bench(
    args: &args::Calibrate,
    files: &[(&PathBuf, String)],
) -> Result<(Origin, Vec<Run>), Failure> {
    let mut rows: Vec<(&Path, Row)> = Vec::new();
    for (path, text) in files {
        let found = evidence::read_llama_bench(text);
        let found = found.map_err(|error| Failure(format!("{}:{error}", path.display())))?;
        if found.is_empty() {
            let missing = "missing results; expected a test with only prompt processing or only generation";
            return Err(Failure(format!("{}: {missing}", path.display())));
        }
        rows.extend(found.into_iter().map(|row| (path.as_path(), row)));
    }
    let at = |path: &Path, row: &Row, why: &str| Failure(format!("{}:{}: {why}", path.display(), row.line));
    let Some((_, first)) = rows.first() else {
        return Err(Failure("missing results; expected files of `llama-bench -o json`".into()));
    };
    for (path, row) in &rows {
        if (&row.device, &row.backend, row.devices) != (&first.device, &first.backend, 1.0) {
            let [device, other] = [row, first].map(|row| format!("{} {}", row.device, row.backend));
            let why =
                format!("ran on {device}; expected a single device, and the first result is of {other}");
            return Err(at(path, row, &why));
        }
    }
    let (target, device) = resolve_device(args, first)?;
    let models: Result<Vec<Dimensions>, Failure> = args.model.iter().map(|name| dimensions(name)).collect();
    let models = models?;
    let mut runs = Vec::new();
    for (path, row) in &rows {
        let run = Run::from_row(row, &models, &target, device)
            .map_err(|why| at(path, row, &format!("{why}; pass its file or a known model with --model")))?;
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
        date: date::format(date::today()),
        parts: 1.0,
    };
    Ok((origin, runs))
}

/// Converts a result of `roofline bench` with weights in memory, all of one format.
fn from_bench(args: &args::Calibrate, path: &Path, text: &str) -> Result<(Origin, Vec<Run>), Failure> {
    let wrong = |why: String| Failure(format!("{}: {why}", path.display()));
    let bench = Bench::from_json(text).map_err(wrong)?;
    let memory: Vec<_> = bench.rows.iter().filter(|row| row.home == MemoryLevel::Memory).collect();
    let Some(first) = memory.first() else {
        return Err(wrong("missing measurements with weights in memory".into()));
    };
    if memory.iter().any(|row| row.kernel != first.kernel) {
        let kernel = first.kernel.name();
        return Err(wrong(format!(
            "expected one weight format; measure a single one, as with `roofline bench --quant {}`",
            kernel.to_lowercase()
        )));
    }
    if !args.devices.on.is_empty() || !args.model.is_empty() {
        return Err(wrong(
            "results of `roofline bench` are of this machine and of no model; remove --on and --model".into(),
        ));
    }
    let runs = memory.iter().map(|row| {
        let seconds = row.median_seconds;
        // The rates are those of the best time.
        let amounts = (row.gb_s * row.seconds * 1e9, row.gflop_s * row.seconds * 1e9);
        Run::from_product(&row.name, amounts, seconds, row.roof_gb_s, row.roof_gflop_s)
    });
    let origin = Origin {
        device: "this".into(),
        bandwidth: first.roof_gb_s,
        engine: "roofline-cpu".into(),
        builds: vec![format!("{} {}", env!("CARGO_PKG_VERSION"), bench.isa)],
        date: date::format(date::today()),
        parts: PRODUCTS_PER_LAYER,
    };
    Ok((origin, runs.collect()))
}

/// Returns the device of the results: that of --on, the registry's device of the same name, or this machine.
fn resolve_device(
    args: &args::Calibrate,
    row: &Row,
) -> Result<(DeviceProfile, Option<&'static Device>), Failure> {
    let chosen = args.devices.chosen(&args.devices.files.catalog()?, &[])?;
    let chosen = match chosen.as_slice() {
        [one] => one.clone(),
        [] => match find_device(&row.device) {
            Some(device) => ResolvedDevice::Device(device),
            None if row.backend.starts_with("CPU") => ResolvedDevice::This,
            None => {
                let device = &row.device;
                return Err(Failure(format!("unknown device {device:?}; pass the device with --on")));
            }
        },
        _ => return Err(Failure("--on: expected a single device".into())),
    };
    let chosen = chosen.measured(|| device::this(&args.measuring))?;
    let device = if let ResolvedDevice::Device(device) = &chosen { Some(*device) } else { None };
    Ok((chosen.target(None)?, device))
}

/// Returns the dimensions of a known model or of a model file.
fn dimensions(name: &str) -> Result<Dimensions, Failure> {
    if let Some(known) = by_name(&normalize(name)) {
        let model_dims = ModelDims::from_known(known).about(name)?;
        let parameters = model_dims.parameters() as f64;
        let (inputs, layers) = (predict::inputs(&model_dims)?, model_dims.layers.len() as f64);
        return Ok(Dimensions { name: display_name(known.name), inputs, layers, parameters });
    }
    if !Path::new(name).exists() {
        return Err(crate::cli::request::unknown_model(name));
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
