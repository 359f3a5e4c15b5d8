//! Rows of published speeds: the table that ships, a user's CSV file with the same columns, or what `llama-bench -o json`
//! printed.

use std::sync::LazyLock;

use roofline_formulas::spelled;
use serde::Deserialize;

use crate::csv::{self, Csv, Mistake};

/// What a row measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// One token after the other.
    Decode,
    /// Reading a prompt.
    Prefill,
    /// Tokens made per second by a server at full load.
    Serving,
    /// Several tokens in one pass, checked by the model.
    Speculative,
}

impl Phase {
    const WORDS: [(&'static str, Phase); 7] = [
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

/// A published speed.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// The line of its file, or the place among the tests of a run, from 1.
    pub line: usize,
    /// The device as its source names it.
    pub device: String,
    /// How many of them.
    pub devices: f64,
    /// The program that ran.
    pub engine: String,
    /// What it ran on: `CUDA`, `Metal`, `CPU 8 threads`.
    pub backend: String,
    /// The model as its source names it.
    pub model: String,
    /// The format of the weights as its source names it.
    pub format: String,
    /// Bytes of all tensors, where they are printed.
    pub bytes: Option<f64>,
    /// Parameters, where they are printed whole.
    pub parameters: Option<f64>,
    /// What was measured.
    pub phase: Phase,
    /// The test as its source names it.
    pub test: String,
    /// Tokens of the prompt; none where it is not said, or there was none.
    pub prompt: Option<f64>,
    /// Tokens that were in the cache before the prompt.
    pub depth: f64,
    /// Tokens of each sequence in the cache, on average; none where it is not said.
    pub context: Option<f64>,
    /// Sequences at once; none for as many as fit.
    pub batch: Option<f64>,
    /// Tokens that are drafted for each pass.
    pub drafts: f64,
    /// Tokens per second, of all sequences and all devices.
    pub tokens_per_s: f64,
    /// The build of the program, where it is said.
    pub build: String,
    /// Where it was published.
    pub source: String,
    /// Whether the source measured it itself.
    pub primary: bool,
    /// What else the source says.
    pub note: String,
}

/// The rows that ship.
pub fn rows() -> &'static [Row] {
    static ROWS: LazyLock<Vec<Row>> = LazyLock::new(|| {
        let mut rows = read(include_str!("../../data/record.csv")).unwrap_or_default();
        if let Ok(sources) = Csv::read(include_str!("../../data/record-sources.csv")) {
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

/// Columns that a row can't do without.
const NEEDED: [&str; 5] = ["device", "model", "quant", "phase", "tokens_per_s"];

/// The rows of a CSV file. Columns may come in any order; those of `NEEDED` must be there, `n_devices`, `engine`,
/// `backend`, `model_bytes`, `test`, `context`, `batch`, `source`, `source_kind` and `notes` are read where they are.
pub fn read(text: &str) -> Result<Vec<Row>, Mistake> {
    let table = Csv::read(text)?;
    if table.headings.fields.is_empty() {
        return Err(Mistake {
            line: 1,
            what: format!("empty; the first line names the columns, {} among them", NEEDED.join(", ")),
        });
    }
    for needed in NEEDED {
        let problem = match table.headings.fields.iter().filter(|heading| *heading == needed).count() {
            0 => "is missing",
            1 => continue,
            _ => "appears twice",
        };
        return Err(Mistake { line: table.headings.line, what: format!("column `{needed}` {problem}") });
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
            _ => Err(mistake(format!("`{name}` is {text:?}, but must be a number above 0"))),
        },
    };
    let count = |name: &str| match cell(name) {
        "" => Ok(None),
        text => match text.parse::<f64>() {
            Ok(value) if (0.0..=1e9).contains(&value) && value.fract() == 0.0 => Ok(Some(value)),
            _ => Err(mistake(format!("`{name}` is {text:?}, but must be a whole number up to 1e9"))),
        },
    };
    let phase = cell("phase");
    let Some(&(_, phase)) = Phase::WORDS.iter().find(|(word, _)| *word == phase) else {
        let allowed: Vec<&str> = Phase::WORDS.iter().map(|(word, _)| *word).collect();
        return Err(mistake(format!("`phase` is {phase:?}, but must be one of {}", allowed.join(", "))));
    };
    let test = cell("test");
    let (prompt, depth) = match phase {
        Phase::Prefill => (prompt_of(test).or(count("context")?), number_after(test, "@ d").unwrap_or(0.0)),
        _ => (prompt_of(test), 0.0),
    };
    let drafts = match phase {
        Phase::Speculative => test
            .split_once(" draft")
            .and_then(|(before, _)| before.rsplit(' ').next()?.parse::<u32>().ok())
            .ok_or_else(|| mistake(format!("`test` is {test:?}, but must say `N draft tokens`")))?,
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
            .ok_or_else(|| mistake("`tokens_per_s` is empty, but must be a number above 0".into()))?,
        build: cell("build").to_owned(),
        source: cell("source").to_owned(),
        primary: cell("source_kind") != "transcription",
        note: cell("notes").to_owned(),
    })
}

/// The prompt that the name of a test says: `pp512`, `batched-bench PP512 TG32 B1`, `prompt 512 batch 4`.
fn prompt_of(test: &str) -> Option<f64> {
    ["pp", "PP", "prompt "].iter().find_map(|word| number_after(test, word)).filter(|prompt| *prompt >= 1.0)
}

fn number_after(text: &str, word: &str) -> Option<f64> {
    text.match_indices(word).find_map(|(at, _)| {
        let digits: String = text[at + word.len()..].chars().take_while(char::is_ascii_digit).collect();
        digits.parse::<u32>().ok().map(f64::from)
    })
}

/// One test of `llama-bench`, as far as a row needs it.
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

/// The rows of `llama-bench -o json`; tests that mix reading and making tokens are no rows.
pub fn read_llama_bench(text: &str) -> Result<Vec<Row>, Mistake> {
    let tests: Vec<Test> = serde_json::from_str(text).map_err(|error| Mistake {
        line: error.line(),
        what: format!("not the output of `llama-bench -o json`: {error}"),
    })?;
    let mut rows = Vec::new();
    for (index, test) in tests.into_iter().enumerate() {
        let line = index + 1;
        if !(test.avg_ts.is_finite() && test.avg_ts > 0.0) {
            let what = format!("avg_ts = {} is not a speed", test.avg_ts);
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
        // The type says architecture, size and format in one: `llama 7B Q4_0`.
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
    fn the_whole_table_ships_with_an_address_for_every_row() {
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
    fn the_name_of_a_test_says_its_prompt_and_depth() {
        assert_eq!(prompt_of("pp512"), Some(512.0));
        assert_eq!(prompt_of("batched-bench PP4096 TG32 B8"), Some(4096.0));
        assert_eq!(prompt_of("prompt 512 batch 64"), Some(512.0));
        assert_eq!(prompt_of("tg128"), None);
        assert_eq!(number_after("pp2048 @ d8192", "@ d"), Some(8192.0));
    }

    #[test]
    fn a_mistake_names_the_line_and_what_is_allowed() {
        let head = "device,model,quant,phase,tokens_per_s,batch\n";
        for (text, line, says) in [
            ("", 1, "empty; the first line names the columns"),
            ("device,model\n", 1, "column `quant` is missing"),
            ("device,device,model,quant,phase,tokens_per_s\n", 1, "column `device` appears twice"),
            (&format!("{head}x,y,Q4_0,tg,0,1\n"), 2, "`tokens_per_s` is \"0\", but must be a number above 0"),
            (&format!("{head}x,y,Q4_0,tg,,1\n"), 2, "`tokens_per_s` is empty"),
            (&format!("{head}x,y,Q4_0,tg,NaN,1\n"), 2, "must be a number above 0"),
            (&format!("{head}x,y,Q4_0,fast,1,1\n"), 2, "`phase` is \"fast\", but must be one of tg, pp"),
            (&format!("{head}x,y,Q4_0,tg,1,many\n"), 2, "`batch` is \"many\", but must be a whole number"),
            (&format!("{head}\nx,y,Q4_0,tg,1\n"), 3, "found 5 fields; expected 6 as on line 1"),
        ] {
            let mistake = read(text).unwrap_err();
            assert_eq!(mistake.line, line, "{text:?}");
            assert!(mistake.what.contains(says), "{}", mistake.what);
        }
    }

    #[test]
    fn llama_bench_rows_say_device_model_and_context() {
        let text = r#"[{"model_type":"llama 7B Q4_0","model_size":3825065984,"n_prompt":0,"n_gen":128,"n_depth":512,
            "avg_ts":150.0,"backends":"CUDA","cpu_info":"x","gpu_info":"NVIDIA GeForce RTX 4090","n_gpu_layers":99},
            {"model_type":"llama 7B Q4_0","n_prompt":512,"n_gen":128,"avg_ts":1.0}]"#;
        let rows = read_llama_bench(text).unwrap();
        let [row] = rows.as_slice() else { panic!("a mixed test is no row") };
        assert_eq!(
            (row.device.as_str(), row.model.as_str(), row.format.as_str()),
            ("NVIDIA GeForce RTX 4090", "llama 7B", "Q4_0")
        );
        assert_eq!((row.context, row.phase, row.test.as_str()), (Some(576.0), Phase::Decode, "tg128 @ d512"));
        assert!(read_llama_bench("{}").is_err());
        assert_eq!(read_llama_bench(&text.replace("150.0", "0")).unwrap_err().line, 1);
    }
}
