//! The dimensions of the models that published rows are of: those of the contract `models-v1`, and a table of families
//! that it does not describe, with the sums of their published configurations.

use std::sync::LazyLock;

use super::device::words;
use crate::csv::{Csv, Row};
use crate::predict;
use roofline_formulas::transformer::Inputs;
use roofline_models::{Hyper, KNOWN, by_name};

/// What a step of a model is made of.
#[derive(Clone, Debug)]
pub(super) struct Shape {
    /// Its name.
    pub name: String,
    /// The contract's inputs for one sequence of one token.
    pub inputs: Inputs,
    /// Layers.
    pub layers: f64,
    /// Parameters that the file holds and no token uses, such as a block that predicts further tokens.
    pub unused: f64,
}

/// How a model mixes its tokens and weights, as far as speeds differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Family {
    /// Every token uses every weight.
    Dense,
    /// A router chooses experts.
    Experts,
    /// Layers with a state in place of a cache.
    Hybrid,
}

impl Family {
    /// The family of a model with these dimensions.
    pub fn of(inputs: &Inputs) -> Family {
        match (inputs.state_width > 0.0, inputs.experts > 1.0) {
            (true, _) => Family::Hybrid,
            (false, true) => Family::Experts,
            (false, false) => Family::Dense,
        }
    }
}

/// Published names whose words are not those of a model here, and the model they mean; a fine-tuned model has the
/// dimensions of what it was made from.
const PUBLISHED: [(&str, &str); 28] = [
    ("deepseek_r1_14b", "qwen2_5_14b"),
    ("kimi_dev_72b", "qwen2_5_72b"),
    ("llama_7b", "llama_2_7b"),
    ("llama_13b", "llama_2_13b"),
    ("llama_70b", "llama_2_70b"),
    ("llama_8b", "llama_3_1_8b"),
    ("llama_3b", "llama_3_2_3b"),
    ("llama_1b", "llama_3_2_1b"),
    ("llama2_7b", "llama_2_7b"),
    ("llama2_13b", "llama_2_13b"),
    ("llama2_70b", "llama_2_70b"),
    ("llama_3_8b", "llama_3_1_8b"),
    ("llama_3_70b", "llama_3_1_70b"),
    ("llama_3_3_70b", "llama_3_1_70b"),
    ("qwen3_6_27b", "qwen3_5_27b"),
    ("qwen3_6_35b_a3b", "qwen3_5_35b_a3b"),
    ("qwen35_27b", "qwen3_5_27b"),
    ("qwen35moe_35b_a3b", "qwen3_5_35b_a3b"),
    ("qwen35moe_122b_a10b", "qwen3_5_122b_a10b"),
    ("qwen3moe_30b_a3b", "qwen3_30b_a3b"),
    ("qwen3_coder_30b_a3b", "qwen3_30b_a3b"),
    ("qwen2_5_coder_7b", "qwen2_5_7b"),
    ("qwen2_7b", "qwen2_5_7b"),
    ("deepseek2_30b_a3b", "glm_4_7_flash"),
    ("gemma4_26b_a4b", "gemma_4_26b_a4b"),
    ("nemotron_120b_a12b", "nemotron_3_super_120b_a12b"),
    ("nemotron_3_super_120b", "nemotron_3_super_120b_a12b"),
    ("nemotron_4b", "nemotron_3_nano_4b"),
];

/// Words at the end of a name that do not change the dimensions.
const TRAILING: [&str; 9] = ["gguf", "it", "qat", "instruct", "chat", "moe", "mxfp4", "hf", "base"];

/// The dimensions of a model by its published name; none where they are not known.
pub(super) fn of(name: &str) -> Option<&'static Shape> {
    let name = super::format::split(name).0;
    // `ggml-org/gpt-oss-20b-GGUF`: who hosts it does not matter.
    let name = words(name.rsplit('/').next().unwrap_or(name));
    let mut told: Vec<&str> = name.split('_').collect();
    // `Qwen2.5-Coder-7B-Q8_0-GGUF` has its format in the middle.
    if let Some(at) = (1..told.len()).find(|at| super::format::of(&told[*at..].join("_")).is_some()) {
        told.truncate(at);
    }
    while told.last().is_some_and(|last| TRAILING.contains(last)) {
        told.pop();
    }
    let name = told.join("_");
    let published = PUBLISHED.iter().find(|(known, _)| *known == name).map(|(_, model)| *model);
    let name = published.unwrap_or(&name);
    SHAPES.iter().find(|shape| shape.name == name)
}

/// The model with so many parameters; none where none has as many, or several have.
pub(super) fn with_parameters(parameters: f64) -> Option<&'static Shape> {
    let has = |shape: &&Shape| {
        shape.inputs.evaluate().is_ok_and(|outputs| outputs.total_params + shape.unused == parameters)
    };
    let mut found = SHAPES.iter().filter(has);
    let first = found.next()?;
    found.all(|other| other.layers == first.layers && other.inputs == first.inputs).then_some(first)
}

/// Every model with known dimensions.
static SHAPES: LazyLock<Vec<Shape>> = LazyLock::new(|| {
    let known = KNOWN.iter().filter_map(|known| {
        let hyper = Hyper::of_known(by_name(known.name)?).ok()?;
        let inputs = predict::inputs(&hyper).ok()?;
        let layers = hyper.layers.len() as f64;
        Some(Shape { name: known.name.to_owned(), inputs, layers, unused: 0.0 })
    });
    known.chain(table()).collect()
});

/// The families that `models-v1` does not describe: the matrices of their published dimensions. Norms, biases and
/// convolutions, less than a thousandth, are left out, and keys that are values too are cached once, so that no ceiling is
/// too low.
fn table() -> Vec<Shape> {
    let Ok(table) = Csv::read(include_str!("../../data/record-models.csv")) else { return Vec::new() };
    let shape = |row: &Row| {
        let number = |name: &str| table.field(row, name)?.parse::<f64>().ok();
        let blank = predict::dense(number("dense_params")?);
        Some(Shape {
            name: table.field(row, "name")?.to_owned(),
            inputs: Inputs {
                head_params: number("head_params")?,
                lookup_params: number("lookup_params")?,
                expert_params: number("expert_params")?,
                experts: number("experts")?,
                experts_used: number("experts_used")?,
                full_width: number("full_width")?,
                full_mixing: number("full_mixing")?,
                prompt_mixing: number("prompt_mixing")?,
                window: number("window").unwrap_or(blank.window),
                window_width: number("window_width")?,
                window_mixing: number("window_mixing")?,
                state_width: number("state")?,
                ..blank
            },
            layers: number("layers")?,
            unused: number("unused_params")?,
        })
    };
    table.rows.iter().filter_map(shape).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Parameters as `llama-bench` prints them for the files of the record, and for 1-bit BitNet its model card.
    #[test]
    fn the_sums_of_the_table_are_the_parameters_that_llama_bench_prints() {
        for (name, billions) in [
            ("gpt_oss_20b", 20.91),
            ("gpt_oss_120b", 116.83),
            ("glm_4_7_flash", 29.94),
            ("qwen3_5_27b", 27.321),
            ("qwen3_5_35b_a3b", 35.505),
            ("qwen3_5_122b_a10b", 124.635),
            ("gemma_4_26b_a4b", 25.233),
            ("nemotron_3_super_120b_a12b", 120.67),
            ("nemotron_3_nano_4b", 3.97),
            ("bitnet_3b", 3.32),
        ] {
            let shape = SHAPES.iter().find(|shape| shape.name == name).unwrap();
            let total = shape.inputs.evaluate().unwrap().total_params + shape.unused;
            assert!((total / 1e9 / billions - 1.0).abs() < 2e-3, "{name}: {total}");
        }
        assert_eq!(table().len(), 10);
    }

    #[test]
    fn published_names_mean_models() {
        for (name, model) in [
            ("ggml-org/Qwen2.5-Coder-7B-Q8_0-GGUF", Some("qwen2_5_7b")),
            ("ggml-org/gpt-oss-20b-GGUF", Some("gpt_oss_20b")),
            ("gpt-oss 120B MXFP4 MoE", Some("gpt_oss_120b")),
            ("ggml-org/gemma-3-4b-it-qat-GGUF", Some("gemma_3_4b")),
            ("qwen35moe 122B.A10B Q4_K - Medium", Some("qwen3_5_122b_a10b")),
            ("LLaMA-3.1-8B", Some("llama_3_1_8b")),
            ("Llama-3.1-8B-Instruct", Some("llama_3_1_8b")),
            ("GPT 13B", None),
        ] {
            assert_eq!(of(name).map(|shape| shape.name.as_str()), model, "{name}");
        }
        for (_, model) in PUBLISHED {
            assert!(SHAPES.iter().any(|shape| shape.name == model), "{model}");
        }
    }
}
