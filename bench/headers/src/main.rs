//! Reads the header of a GGUF file with roofline, candle-core and the `gguf` Python package, interleaved, and prints the median wall time,
//! CPU time and peak memory of each. Then reads files with an increasing number of tensors with roofline.
//!
//! The only argument is a Python interpreter that has `gguf`; without it, that row is "not run".

use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use roofline::model::{Dtype, Model};
use roofline_test_support::writer::{Gguf, Value};

const ROUNDS: usize = 15;
/// The Python package takes seconds per run, so it runs only every fifth round.
const PYTHON_EVERY: usize = 5;
const PYTHON: &str = "
import sys, time
from gguf import GGUFReader
start, busy = time.perf_counter(), time.process_time()
reader = GGUFReader(sys.argv[1])
took, busy = time.perf_counter() - start, time.process_time() - busy
peak = next(line for line in open('/proc/self/status') if line.startswith('VmHWM'))
print(len(reader.tensors), took, busy, peak.split()[1])
";

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [reader, file] = arguments.as_slice() {
        println!("{}", read_once(reader, Path::new(file)).expect("known reader"));
        return;
    }
    let python = arguments.first().map(String::as_str);
    let file = write("vocabulary", &with_vocabulary());
    let size = std::fs::metadata(&file).expect("file was just written").len();
    println!("1,000 tensors, 128,000 tokens, 280,000 merges: header of {size} bytes");
    println!("{:<12} {:>12} {:>12} {:>12}", "reader", "median ms", "CPU ms", "peak MB");
    let mut readers = ["roofline", "candle", "python"].map(|reader| (reader, Vec::new()));
    for round in 0..ROUNDS {
        for (reader, readings) in &mut readers {
            if *reader != "python" || round % PYTHON_EVERY == 0 {
                readings.extend(run(reader, &file, python));
            }
        }
    }
    for (reader, readings) in &readers {
        if readings.is_empty() {
            println!("{reader:<12} {:>12}", "not run");
            continue;
        }
        assert!(readings.iter().all(|reading| reading.tensors == 1000), "{reader} must list all tensors");
        let median_of = |figure: fn(&Reading) -> f64| median(readings.iter().map(figure).collect());
        let (wall, cpu, peak) =
            (median_of(|r| r.wall_s * 1e3), median_of(|r| r.cpu_s * 1e3), median_of(|r| r.peak_kb / 1e3));
        println!("{reader:<12} {wall:>12.2} {cpu:>12.2} {peak:>12.1}");
    }

    println!("\n{:>12} {:>12} {:>12} {:>12}", "tensors", "median ms", "CPU ms", "CPU ns/tensor");
    for count in [12_500, 25_000, 50_000, 100_000] {
        let file = write("tensors", &with_tensors(count));
        let readings: Vec<Reading> = (0..ROUNDS).filter_map(|_| run("roofline", &file, None)).collect();
        let wall = median(readings.iter().map(|reading| reading.wall_s * 1e3).collect());
        let cpu = median(readings.iter().map(|reading| reading.cpu_s * 1e3).collect());
        println!("{count:>12} {wall:>12.2} {cpu:>12.2} {:>12.0}", cpu * 1e6 / count as f64);
    }
}

struct Reading {
    tensors: usize,
    wall_s: f64,
    cpu_s: f64,
    peak_kb: f64,
}

/// Runs a reader once in a separate process.
fn run(reader: &str, file: &Path, python: Option<&str>) -> Option<Reading> {
    let output = match (reader, python) {
        ("python", None) => return None,
        ("python", Some(python)) => Command::new(python).args(["-c", PYTHON]).arg(file).output(),
        _ => Command::new(std::env::current_exe().ok()?).arg(reader).arg(file).output(),
    };
    let text = String::from_utf8(output.ok()?.stdout).ok()?;
    let (tensors, figures) = text.trim().split_once(' ')?;
    let figures: Vec<f64> = figures.split(' ').map_while(|word| word.parse().ok()).collect();
    let [wall_s, cpu_s, peak_kb] = *figures.as_slice() else { return None };
    Some(Reading { tensors: tensors.parse().ok()?, wall_s, cpu_s, peak_kb })
}

fn read_once(reader: &str, file: &Path) -> Option<String> {
    let (start, busy) = (Instant::now(), cpu_seconds()?);
    let tensors = match reader {
        "roofline" => Model::open(file).expect("generated file is readable").tensors.len(),
        "candle" => {
            let mut file = BufReader::new(std::fs::File::open(file).expect("generated file is readable"));
            let content = candle_core::quantized::gguf_file::Content::read(&mut file);
            content.expect("generated file is readable").tensor_infos.len()
        }
        _ => return None,
    };
    let (wall, cpu) = (start.elapsed().as_secs_f64(), cpu_seconds()? - busy);
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let peak = status.lines().find(|line| line.starts_with("VmHWM"))?.split_whitespace().nth(1)?.to_owned();
    Some(format!("{tensors} {wall} {cpu} {peak}"))
}

/// CPU time of this thread.
fn cpu_seconds() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    Some(text.split_whitespace().next()?.parse::<f64>().ok()? / 1e9)
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

fn write(name: &str, gguf: &Gguf) -> PathBuf {
    let path = std::env::temp_dir().join(format!("roofline-headers-{name}.gguf"));
    std::fs::write(&path, gguf.build()).expect("temporary directory is writable");
    path
}

/// Header of a Llama model with 111 layers and a vocabulary of 128,000 tokens.
fn with_vocabulary() -> Gguf {
    let words = |count: usize| Value::Texts((0..count).map(|n| format!("word{n:06}")).collect());
    with_tensors(1000)
        .key("tokenizer.ggml.tokens", words(128_000))
        .key("tokenizer.ggml.token_type", Value::U32s(vec![1; 128_000]))
        .key("tokenizer.ggml.merges", words(280_000))
}

fn with_tensors(tensors: u64) -> Gguf {
    let layers = tensors.div_ceil(9).max(1);
    let keys = [
        ("block_count", Value::U32(layers.min(4096) as u32)),
        ("context_length", 8192.into()),
        ("embedding_length", 64.into()),
        ("feed_forward_length", 96.into()),
        ("attention.head_count", 4.into()),
        ("attention.head_count_kv", 2.into()),
        ("vocab_size", 100.into()),
    ];
    // Files with more than 4096 layers have an unknown architecture.
    let architecture = if layers <= 4096 { "llama" } else { "stack" };
    let names: [(&str, &[u64], Dtype); 9] = [
        ("attn_norm", &[64], Dtype::F32),
        ("attn_q", &[64, 64], Dtype::Q8_0),
        ("attn_k", &[32, 64], Dtype::Q8_0),
        ("attn_v", &[32, 64], Dtype::Q8_0),
        ("attn_output", &[64, 64], Dtype::Q8_0),
        ("ffn_norm", &[64], Dtype::F32),
        ("ffn_gate", &[96, 64], Dtype::Q8_0),
        ("ffn_up", &[96, 64], Dtype::Q8_0),
        ("ffn_down", &[64, 96], Dtype::Q8_0),
    ];
    let mut gguf = Gguf::of(architecture, &keys);
    for index in 0..tensors {
        let (name, dims, dtype) = names[(index % 9) as usize];
        gguf = gguf.tensor(&format!("blk.{}.{name}.weight", index / 9), dims, dtype);
    }
    gguf
}
