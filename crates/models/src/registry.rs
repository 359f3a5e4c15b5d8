//! Known models: the table of the contract `models-v1`, read as the `config.json` files it was taken from.

use serde_json::{Map, Value};

use super::dimensions::ModelDims;
use super::error::FormatError;
use super::hf_config;
use roofline_formulas::models::models::{Embeddings, Model};

pub use roofline_formulas::models::models::{ALL as KNOWN_MODELS, Model as KnownModel, by_name};

/// Returns the usual spelling of a model's name in the table: `llama_3_1_8b` is `llama-3.1-8b`.
pub fn display_name(name: &str) -> String {
    let mut out = String::new();
    for part in name.split('_') {
        let version = part.chars().all(|c| c.is_ascii_digit()) && out.ends_with(|c: char| c.is_ascii_digit());
        if !out.is_empty() {
            out.push(if version { '.' } else { '-' });
        }
        out += part;
    }
    out
}

impl ModelDims {
    /// Returns the dimensions of a known model.
    pub fn from_known(known: &KnownModel) -> Result<ModelDims, FormatError> {
        ModelDims::from_fields(known.model_type.name(), known.embeddings == Embeddings::Tied, fields(known))
    }

    /// Returns the dimensions that named columns of the table describe.
    ///
    /// # Errors
    ///
    /// Fails if `model_type` is unknown or the numbers are inconsistent.
    pub fn from_fields<'a>(
        model_type: &str,
        tied: bool,
        numbers: impl IntoIterator<Item = (&'a str, f64)>,
    ) -> Result<ModelDims, FormatError> {
        let mut map = Map::new();
        for (name, value) in numbers {
            // The domains of the table restrict every number to integers below 2^53.
            let value = Value::from(value as u64);
            // The field for the number of experts differs by family.
            let names: &[&str] = match name {
                "experts" => &["num_local_experts", "num_experts", "n_routed_experts"],
                _ => &[name],
            };
            map.extend(names.iter().map(|name| ((*name).to_owned(), value.clone())));
        }
        map.insert("model_type".into(), model_type.into());
        map.insert("tie_word_embeddings".into(), tied.into());
        let model_dims = hf_config::model_dims(&map)?;
        model_dims
            .ok_or_else(|| FormatError::field("model_type", format!("unknown model family {model_type:?}")))
    }
}

/// Returns the numbers of the table, except for the published number of parameters, which is not part of a config.json.
fn fields(known: &Model) -> impl Iterator<Item = (&'static str, f64)> {
    let names = Model::NUMBERS.iter().map(|(name, _)| *name).filter(|name| *name != "published_params");
    names.filter_map(|name| Some((name, known.number(name)?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_models_have_their_published_number_of_parameters() {
        for known in KNOWN_MODELS {
            let computed = ModelDims::from_known(known).unwrap().parameters() as f64;
            let error = (computed / known.published_params - 1.0).abs();
            assert!(error < 0.001, "{}: {computed} of {}", known.name, known.published_params);
        }
    }
}
