//! Run time of `roofline contract diff`, including the effect on every prediction: `cargo bench --bench diff`

use std::path::Path;
use std::process::Command;
use std::time::Instant;

use roofline_contracts::library::BUILT_IN;

const TURNS: usize = 21;

fn main() {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("bench-diff");
    std::fs::create_dir_all(&directory).expect("made");
    for (file, from, to) in [
        ("transformer-v1.yaml", "decode_weight_bytes + cache_bytes", "decode_weight_bytes + 2 * cache_bytes"),
        ("hardware-v1.yaml", "bandwidth: 3350 GB/s", "bandwidth: 3000 GB/s"),
    ] {
        let text = BUILT_IN.iter().find(|(name, _)| *name == file).expect("built in").1;
        assert!(text.contains(from), "{from} is not in {file}");
        let new = directory.join(file);
        std::fs::write(&new, text.replace(from, to)).expect("written");
        let mut seconds: Vec<f64> = (0..TURNS)
            .map(|_| {
                let start = Instant::now();
                let mut command = Command::new(env!("CARGO_BIN_EXE_roofline"));
                command.args(["contract", "diff"]).arg(file.trim_end_matches(".yaml")).arg(&new);
                let output = command.output().expect("the program starts");
                // Exits with 1, because the version is unchanged.
                assert_eq!(output.status.code(), Some(1));
                start.elapsed().as_secs_f64()
            })
            .collect();
        seconds.sort_by(f64::total_cmp);
        println!("roofline contract diff of {file}: median {:.1} ms", 1e3 * seconds[TURNS / 2]);
    }
}
