//! Run time of predictions: 100,000 combinations of models, devices and batches with the library, and runs of the program.
//! `cargo bench --bench predict`

use std::hint::black_box;
use std::process::Command;
use std::time::Instant;

use roofline::contracts::hardware::devices;
use roofline::contracts::transformer::Inputs;
use roofline::model::{KNOWN_MODELS, ModelDims};
use roofline::predict::{DeviceProfile, Numbers, WeightPrecision, inputs, predict};

const POINTS: usize = 100_000;
const TURNS: usize = 21;

fn main() {
    let models: Vec<Inputs> = KNOWN_MODELS
        .iter()
        .map(|model| inputs(&ModelDims::from_known(model).expect("known")).expect("a decoder"))
        .collect();
    let targets: Vec<DeviceProfile> =
        devices::ALL.iter().map(|device| DeviceProfile::from_device(device, None).expect("a peak")).collect();
    let stored = WeightPrecision::all(Numbers::Half);
    let before = resident_kb();
    let mut seconds: Vec<f64> = (0..TURNS)
        .map(|_| {
            let start = Instant::now();
            let mut done = 0;
            let mut fastest: f64 = 0.0;
            'all: for batch in 1.. {
                for model in &models {
                    for target in &targets {
                        let point = Inputs { batch: f64::from(batch), context: 4096.0, ..*model };
                        let prediction =
                            predict(black_box(point), &stored, target).expect("inside the domains");
                        fastest = fastest.max(prediction.outputs.decode_ceiling);
                        done += 1;
                        if done == POINTS {
                            break 'all;
                        }
                    }
                }
            }
            black_box(fastest);
            start.elapsed().as_secs_f64()
        })
        .collect();
    let grown = resident_kb().zip(before).map(|(after, before)| after.saturating_sub(before));
    let grown = grown.map_or("unknown".to_owned(), |kb| format!("{kb} KiB"));
    println!("{POINTS} predictions: median {:.1} ms, memory grew by {grown}", 1e3 * median(&mut seconds));

    let args = ["predict", "llama_3_1_8b", "--on", "h100_sxm"];
    for extra in [&[][..], &["--explain"][..]] {
        let mut seconds: Vec<f64> = (0..TURNS)
            .map(|_| {
                let start = Instant::now();
                let output = Command::new(env!("CARGO_BIN_EXE_roofline")).args(args).args(extra).output();
                assert!(output.expect("the program starts").status.success());
                start.elapsed().as_secs_f64()
            })
            .collect();
        println!(
            "roofline {} {}: median {:.1} ms",
            args.join(" "),
            extra.join(" "),
            1e3 * median(&mut seconds)
        );
    }
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Returns the resident memory of this process, on Linux.
fn resident_kb() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmRSS"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}
