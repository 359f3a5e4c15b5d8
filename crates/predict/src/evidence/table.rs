//! Readers for benchmark results: the shipped table of published speeds, CSV files with the same columns, and the output of
//! `llama-bench -o json`.

use std::sync::LazyLock;

use roofline_formulas::spelled;
use serde::Deserialize;

use crate::csv::{self, Csv, Mistake};

/// Phase that a row measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// Generation, one token after the other.
    Decode,
    /// Processing of the prompt.
    Prefill,
    /// Output throughput of a server at full load.
    Serving,
    /// Speculative decoding.
    Speculative,
}

impl Phase {
    const NAMES: [(&'static str, Phase); 7] = [
        ("tg", Phase::Decode),
        ("pp", Phase::Prefill),
        ("serving", Phase::Serving),
        ("tg-speculative", Phase::Speculative),
        ("decode", Phase::Decode),
        ("prefill", Phase::Prefill),
        ("speculative", Phase::Speculative),
    ];
}

spelled!(Phase {
    Decode = "decode",
    Prefill = "prefill",
    Serving = "serving",
    Speculative = "speculative",
});

/// A benchmark result.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Line of its file, or index among the tests of `llama-bench`, from 1.
    pub line: usize,
    /// Device name in the source.
    pub device: String,
    /// Number of devices.
    pub devices: f64,
    /// Inference engine.
    pub engine: String,
    /// Backend: `CUDA`, `Metal`, `CPU 8 threads`.
    pub backend: String,
    /// Model name in the source.
    pub model: String,
    /// Weight format in the source.
    pub format: String,
    /// Size of all tensors in bytes, if stated.
    pub bytes: Option<f64>,
    /// Exact number of parameters, if stated.
    pub parameters: Option<f64>,
    /// Measured phase.
    pub phase: Phase,
    /// Test name in the source.
    pub test: String,
    /// Prompt length in tokens; `None` without a prompt or if it is not stated.
    pub prompt: Option<f64>,
    /// Number of tokens in the KV cache before the prompt.
    pub depth: f64,
    /// Average context length in tokens; `None` if it is not stated.
    pub context: Option<f64>,
    /// Batch size; `None` for the maximum that fits.
    pub batch: Option<f64>,
    /// Draft tokens per pass.
    pub drafts: f64,
    /// Tokens per second of all sequences and devices.
    pub tokens_per_s: f64,
    /// Build of the engine; may be empty.
    pub build: String,
    /// URL of the source.
    pub source: String,
    /// True if the source is primary, not a transcription.
    pub primary: bool,
    /// Further notes.
    pub note: String,
}

/// Returns the shipped table of published speeds.
pub fn rows() -> &'static [Row] {
    static ROWS: LazyLock<Vec<Row>> = LazyLock::new(|| {
        let mut rows = read(include_str!("../../data/evidence.csv")).unwrap_or_default();
        if let Ok(sources) = Csv::read(include_str!("../../data/evidence-sources.csv")) {
            for row in &mut rows {
                let found =
                    sources.rows.iter().find(|source| sources.field(source, "source") == Some(&row.source));
                let address = found.and_then(|source| sources.field(source, "address"));
                row.source = address.unwrap_or(&row.source).to_owned();
            }
        }
        rows
    });
    &ROWS
}

/// Required columns.
const REQUIRED: [&str; 5] = ["device", "model", "quant", "phase", "tokens_per_s"];

/// Parses a CSV file with columns in any order. `device`, `model`, `quant`, `phase` and `tokens_per_s` are required; `n_devices`,
/// `engine`, `backend`, `model_bytes`, `test`, `context`, `batch`, `build`, `source`, `source_kind` and `notes` are optional.
///
/// # Errors
/// Returns the line and the problem of the first invalid field.
pub fn read(text: &str) -> Result<Vec<Row>, Mistake> {
    let table = Csv::read(text)?;
    if table.headings.fields.is_empty() {
        return Err(Mistake {
            line: 1,
            what: format!("empty file; expected a heading line with the columns {}", REQUIRED.join(", ")),
        });
    }
    for required in REQUIRED {
        let problem = match table.headings.fields.iter().filter(|heading| *heading == required).count() {
            0 => format!("missing column `{required}`"),
            1 => continue,
            _ => format!("duplicate column `{required}`"),
        };
        return Err(Mistake { line: table.headings.line, what: problem });
    }
    table.rows.iter().map(|record| row(&table, record)).collect()
}

fn row(table: &Csv, record: &csv::Row) -> Result<Row, Mistake> {
    let mistake = |what: String| Mistake { line: record.line, what };
    let cell = |name: &str| table.field(record, name).unwrap_or_default();
    let positive = |name: &str| match cell(name) {
        "" => Ok(None),
        text => match text.parse::<f64>() {
            Ok(value) if value.is_finite() && value > 0.0 => Ok(Some(value)),
            _ => Err(mistake(format!("invalid `{name}` {text:?}; expected a positive number"))),
        },
    };
    let count = |name: &str| match cell(name) {
        "" => Ok(None),
        text => match text.parse::<f64>() {
            Ok(value) if (0.0..=1e9).contains(&value) && value.fract() == 0.0 => Ok(Some(value)),
            _ => Err(mistake(format!("invalid `{name}` {text:?}; expected an integer up to 1e9"))),
        },
    };
    let phase = cell("phase");
    let Some(&(_, phase)) = Phase::NAMES.iter().find(|(word, _)| *word == phase) else {
        let allowed: Vec<&str> = Phase::NAMES.iter().map(|(word, _)| *word).collect();
        return Err(mistake(format!("unknown `phase` {phase:?}; expected one of {}", allowed.join(", "))));
    };
    let test = cell("test");
    let (prompt, depth) = match phase {
        Phase::Prefill => {
            (prompt_length(test).or(count("context")?), number_after(test, "@ d").unwrap_or(0.0))
        }
        _ => (prompt_length(test), 0.0),
    };
    let drafts = match phase {
        Phase::Speculative => test
            .split_once(" draft")
            .and_then(|(before, _)| before.rsplit(' ').next()?.parse::<u32>().ok())
            .ok_or_else(|| mistake(format!("invalid `test` {test:?}; expected `N draft tokens`")))?,
        _ => 0,
    };
    Ok(Row {
        line: record.line,
        device: cell("device").to_owned(),
        devices: count("n_devices")?.unwrap_or(1.0).max(1.0),
        engine: cell("engine").to_owned(),
        backend: cell("backend").to_owned(),
        model: cell("model").to_owned(),
        format: cell("quant").to_owned(),
        bytes: positive("model_bytes")?,
        parameters: None,
        phase,
        test: test.to_owned(),
        prompt,
        depth,
        context: count("context")?,
        batch: if cell("batch") == "max" { None } else { Some(count("batch")?.unwrap_or(1.0).max(1.0)) },
        drafts: f64::from(drafts),
        tokens_per_s: positive("tokens_per_s")?
            .ok_or_else(|| mistake("missing `tokens_per_s`; expected a positive number".into()))?,
        build: cell("build").to_owned(),
        source: cell("source").to_owned(),
        primary: cell("source_kind") != "transcription",
        note: cell("notes").to_owned(),
    })
}

/// Parses the prompt length from a test name: `pp512`, `batched-bench PP512 TG32 B1`, `prompt 512 batch 4`.
fn prompt_length(test: &str) -> Option<f64> {
    ["pp", "PP", "prompt "].iter().find_map(|word| number_after(test, word)).filter(|prompt| *prompt >= 1.0)
}

fn number_after(text: &str, word: &str) -> Option<f64> {
    text.match_indices(word).find_map(|(at, _)| {
        let digits: String = text[at + word.len()..].chars().take_while(char::is_ascii_digit).collect();
        digits.parse::<u32>().ok().map(f64::from)
    })
}

/// The used fields of a `llama-bench` test.
#[derive(Deserialize)]
struct Test {
    model_type: String,
    #[serde(default)]
    model_size: u64,
    #[serde(default)]
    model_n_params: u64,
    n_prompt: u32,
    n_gen: u32,
    #[serde(default)]
    n_depth: u32,
    avg_ts: f64,
    #[serde(default)]
    backends: String,
    #[serde(default)]
    cpu_info: String,
    #[serde(default)]
    gpu_info: String,
    #[serde(default)]
    n_threads: u32,
    #[serde(default)]
    n_gpu_layers: i64,
    #[serde(default)]
    build_commit: String,
    #[serde(default)]
    test_time: String,
}

/// Parses the output of `llama-bench -o json`; tests that combine prefill and decode are skipped.
///
/// # Errors
/// Returns an error if the JSON or a speed is invalid.
pub fn read_llama_bench(text: &str) -> Result<Vec<Row>, Mistake> {
    let tests: Vec<Test> = serde_json::from_str(text).map_err(|error| Mistake {
        line: error.line(),
        what: format!("invalid output of `llama-bench -o json`: {error}"),
    })?;
    let mut rows = Vec::new();
    for (index, test) in tests.into_iter().enumerate() {
        let line = index + 1;
        if !(test.avg_ts.is_finite() && test.avg_ts > 0.0) {
            let what = format!("invalid `avg_ts` {}; expected a positive number", test.avg_ts);
            return Err(Mistake { line, what });
        }
        let (prompt, generated, depth) =
            (f64::from(test.n_prompt), f64::from(test.n_gen), f64::from(test.n_depth));
        let phase = match (test.n_prompt, test.n_gen) {
            (1.., 0) => Phase::Prefill,
            (0, 1..) => Phase::Decode,
            _ => continue,
        };
        let on_gpu = test.n_gpu_layers != 0 && !test.gpu_info.is_empty();
        // The type combines architecture, size and format: `llama 7B Q4_0`.
        let (model, format) = super::format::split(&test.model_type);
        let at = if depth > 0.0 { format!(" @ d{depth}") } else { String::new() };
        rows.push(Row {
            line,
            device: if on_gpu { test.gpu_info.clone() } else { test.cpu_info.clone() },
            devices: if on_gpu { test.gpu_info.split(", ").count() as f64 } else { 1.0 },
            engine: "llama.cpp".into(),
            backend: if on_gpu { test.backends.clone() } else { format!("CPU {} threads", test.n_threads) },
            model: model.to_owned(),
            format: format.to_owned(),
            bytes: (test.model_size > 0).then_some(test.model_size as f64),
            parameters: (test.model_n_params > 0).then_some(test.model_n_params as f64),
            phase,
            test: match phase {
                Phase::Prefill => format!("pp{prompt}{at}"),
                _ => format!("tg{generated}{at}"),
            },
            prompt: (phase == Phase::Prefill).then_some(prompt),
            depth: if phase == Phase::Prefill { depth } else { 0.0 },
            context: Some(if phase == Phase::Prefill { prompt } else { (depth + generated / 2.0).ceil() }),
            batch: Some(1.0),
            drafts: 0.0,
            tokens_per_s: test.avg_ts,
            build: test.build_commit.clone(),
            source: String::new(),
            primary: true,
            note: [test.build_commit, test.test_time].join(" ").trim().to_owned(),
        });
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shipped_row_has_a_source() {
        assert_eq!(rows().len(), 1746);
        for row in rows() {
            assert!(row.source.starts_with("https://"), "{}: {}", row.line, row.source);
        }
        let of = |phase| rows().iter().filter(|row| row.phase == phase).count();
        assert_eq!(
            [Phase::Decode, Phase::Prefill, Phase::Serving, Phase::Speculative].map(of),
            [916, 792, 30, 8]
        );
    }

    #[test]
    fn test_names_contain_prompt_length_and_depth() {
        assert_eq!(prompt_length("pp512"), Some(512.0));
        assert_eq!(prompt_length("batched-bench PP4096 TG32 B8"), Some(4096.0));
        assert_eq!(prompt_length("prompt 512 batch 64"), Some(512.0));
        assert_eq!(prompt_length("tg128"), None);
        assert_eq!(number_after("pp2048 @ d8192", "@ d"), Some(8192.0));
    }

    #[test]
    fn errors_state_the_line_and_the_accepted_values() {
        let head = "device,model,quant,phase,tokens_per_s,batch\n";
        for (text, line, expected) in [
            ("", 1, "empty file; expected a heading line"),
            ("device,model\n", 1, "missing column `quant`"),
            ("device,device,model,quant,phase,tokens_per_s\n", 1, "duplicate column `device`"),
            (
                &format!("{head}x,y,Q4_0,tg,0,1\n"),
                2,
                "invalid `tokens_per_s` \"0\"; expected a positive number",
            ),
            (&format!("{head}x,y,Q4_0,tg,,1\n"), 2, "missing `tokens_per_s`"),
            (&format!("{head}x,y,Q4_0,tg,NaN,1\n"), 2, "expected a positive number"),
            (&format!("{head}x,y,Q4_0,fast,1,1\n"), 2, "unknown `phase` \"fast\"; expected one of tg, pp"),
            (&format!("{head}x,y,Q4_0,tg,1,many\n"), 2, "invalid `batch` \"many\"; expected an integer"),
            (&format!("{head}\nx,y,Q4_0,tg,1\n"), 3, "found 5 fields; expected 6 as on line 1"),
        ] {
            let mistake = read(text).unwrap_err();
            assert_eq!(mistake.line, line, "{text:?}");
            assert!(mistake.what.contains(expected), "{}", mistake.what);
        }
    }

    #[test]
    fn llama_bench_output_is_parsed() {
        let text = r#"[{"model_type":"llama 7B Q4_0","model_size":3825065984,"n_prompt":0,"n_gen":128,"n_depth":512,
            "avg_ts":150.0,"backends":"CUDA","cpu_info":"x","gpu_info":"NVIDIA GeForce RTX 4090","n_gpu_layers":99},
            {"model_type":"llama 7B Q4_0","n_prompt":512,"n_gen":128,"avg_ts":1.0}]"#;
        let rows = read_llama_bench(text).unwrap();
        let [row] = rows.as_slice() else { panic!("combined tests are skipped") };
        assert_eq!(
            (row.device.as_str(), row.model.as_str(), row.format.as_str()),
            ("NVIDIA GeForce RTX 4090", "llama 7B", "Q4_0")
        );
        assert_eq!((row.context, row.phase, row.test.as_str()), (Some(576.0), Phase::Decode, "tg128 @ d512"));
        assert!(read_llama_bench("{}").is_err());
        assert_eq!(read_llama_bench(&text.replace("150.0", "0")).unwrap_err().line, 1);
    }
}
