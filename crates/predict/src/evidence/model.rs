//! Dimensions of the models in published results: from the contract `models-v1`, and from a table of further models with totals of
//! their published configurations.

use std::sync::LazyLock;

use super::device::words;
use crate::csv::{Csv, Row};
use crate::predict;
use roofline_formulas::transformer::Inputs;
use roofline_models::{KNOWN_MODELS, ModelDims, by_name};

/// Dimensions of a model.
#[derive(Clone, Debug)]
pub(super) struct Shape {
    pub name: String,
    /// Inputs of the contract for one sequence of one token.
    pub inputs: Inputs,
    pub layers: f64,
    /// Parameters that are stored but not used, such as multi-token prediction layers.
    pub unused: f64,
}

/// Architecture family of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Family {
    /// Every token uses all weights.
    Dense,
    /// Mixture of experts.
    Experts,
    /// Some layers have a recurrent state instead of a KV cache.
    Hybrid,
}

impl Family {
    pub fn from_inputs(inputs: &Inputs) -> Family {
        match (inputs.state_width > 0.0, inputs.experts > 1.0) {
            (true, _) => Family::Hybrid,
            (false, true) => Family::Experts,
            (false, false) => Family::Dense,
        }
    }
}

/// Published names that differ from the name of the model. A fine-tuned model has the dimensions of its base model.
const ALIASES: [(&str, &str); 28] = [
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

/// Suffixes that do not affect the dimensions.
const TRAILING: [&str; 9] = ["gguf", "it", "qat", "instruct", "chat", "moe", "mxfp4", "hf", "base"];

/// Looks up the dimensions of a model by its published name.
pub(super) fn find(name: &str) -> Option<&'static Shape> {
    let name = super::format::split(name).0;
    // Ignore the owner of the repository, as in `ggml-org/gpt-oss-20b-GGUF`.
    let name = words(name.rsplit('/').next().unwrap_or(name));
    let mut parts: Vec<&str> = name.split('_').collect();
    // The format may precede other suffixes, as in `Qwen2.5-Coder-7B-Q8_0-GGUF`.
    if let Some(at) = (1..parts.len()).find(|at| super::format::parse(&parts[*at..].join("_")).is_some()) {
        parts.truncate(at);
    }
    while parts.last().is_some_and(|last| TRAILING.contains(last)) {
        parts.pop();
    }
    let name = parts.join("_");
    let published = ALIASES.iter().find(|(known, _)| *known == name).map(|(_, model)| *model);
    let name = published.unwrap_or(&name);
    SHAPES.iter().find(|shape| shape.name == name)
}

/// Returns the name of a known model as in the table, whatever its spelling; other names are unchanged.
pub(super) fn id(name: &str) -> &str {
    by_name(&words(name)).map_or(name, |known| known.name)
}

/// Looks up a model by its exact number of parameters; `None` without a match or with several different ones.
pub(super) fn find_by_parameters(parameters: f64) -> Option<&'static Shape> {
    let matches = |shape: &&Shape| {
        shape.inputs.evaluate().is_ok_and(|outputs| outputs.total_params + shape.unused == parameters)
    };
    let mut found = SHAPES.iter().filter(matches);
    let first = found.next()?;
    found.all(|other| other.layers == first.layers && other.inputs == first.inputs).then_some(first)
}

/// All models with known dimensions.
static SHAPES: LazyLock<Vec<Shape>> = LazyLock::new(|| {
    let known = KNOWN_MODELS.iter().filter_map(|known| {
        let model_dims = ModelDims::from_known(by_name(known.name)?).ok()?;
        let inputs = predict::inputs(&model_dims).ok()?;
        let layers = model_dims.layers.len() as f64;
        Some(Shape { name: known.name.to_owned(), inputs, layers, unused: 0.0 })
    });
    known.chain(table()).collect()
});

/// Returns the models that `models-v1` does not describe, from the matrices of their published dimensions. Norms, biases and
/// convolutions (less than 0.1 %) are omitted, and latents that serve as keys and values are cached once, so that no ceiling is too low.
fn table() -> Vec<Shape> {
    let Ok(table) = Csv::read(include_str!("../../data/evidence-models.csv")) else { return Vec::new() };
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

    /// Expected parameters are the output of `llama-bench`, and for 1-bit BitNet the model card.
    #[test]
    fn the_table_has_the_parameters_that_llama_bench_prints() {
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
    fn published_names_resolve_to_models() {
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
            assert_eq!(find(name).map(|shape| shape.name.as_str()), model, "{name}");
        }
        for (_, model) in ALIASES {
            assert!(SHAPES.iter().any(|shape| shape.name == model), "{model}");
        }
    }
}
