//! Models that are known by name: the table of the contract `models-v1`, read as the `config.json` it was taken from.

use serde_json::{Map, Value};

use super::config;
use super::fault::Fault;
use super::hyper::Hyper;
use roofline_formulas::models::models::{Embeddings, Model};

pub use roofline_formulas::models::models::{ALL as KNOWN, Model as Known, by_name};

impl Hyper {
    /// The dimensions of a known model.
    pub fn of_known(known: &Known) -> Result<Hyper, Fault> {
        Hyper::of_fields(known.model_type.name(), known.embeddings == Embeddings::Tied, fields(known))
    }

    /// The dimensions of a model from the columns of the table, by name.
    pub fn of_fields<'a>(
        model_type: &str,
        tied: bool,
        numbers: impl IntoIterator<Item = (&'a str, f64)>,
    ) -> Result<Hyper, Fault> {
        let mut map = Map::new();
        for (name, value) in numbers {
            // The table's domains keep every number a whole one below 2^53.
            let value = Value::from(value as u64);
            // Each family has its own name for the number of experts and reads only that.
            let names: &[&str] = match name {
                "experts" => &["num_local_experts", "num_experts", "n_routed_experts"],
                _ => &[name],
            };
            map.extend(names.iter().map(|name| ((*name).to_owned(), value.clone())));
        }
        map.insert("model_type".into(), model_type.into());
        map.insert("tie_word_embeddings".into(), tied.into());
        let hyper = config::hyper(&map)?;
        hyper
            .ok_or_else(|| Fault::field("model_type", "is not a family that the reader of config.json knows"))
    }
}

/// The columns of a known model that have a value.
fn fields(known: &Model) -> impl Iterator<Item = (&'static str, f64)> {
    let numbers = [
        ("hidden_size", Some(known.hidden_size)),
        ("num_hidden_layers", Some(known.num_hidden_layers)),
        ("num_attention_heads", Some(known.num_attention_heads)),
        ("num_key_value_heads", Some(known.num_key_value_heads)),
        ("head_dim", known.head_dim),
        ("intermediate_size", Some(known.intermediate_size)),
        ("vocab_size", Some(known.vocab_size)),
        ("max_position_embeddings", Some(known.max_position_embeddings)),
        ("sliding_window", known.sliding_window),
        ("experts", known.experts),
        ("num_experts_per_tok", known.num_experts_per_tok),
        ("moe_intermediate_size", known.moe_intermediate_size),
        ("n_shared_experts", known.n_shared_experts),
        ("first_k_dense_replace", known.first_k_dense_replace),
        ("q_lora_rank", known.q_lora_rank),
        ("kv_lora_rank", known.kv_lora_rank),
        ("qk_nope_head_dim", known.qk_nope_head_dim),
        ("qk_rope_head_dim", known.qk_rope_head_dim),
        ("v_head_dim", known.v_head_dim),
    ];
    numbers.into_iter().filter_map(|(name, value)| Some((name, value?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_known_model_has_the_parameters_it_was_published_with() {
        for known in KNOWN {
            let computed = Hyper::of_known(known).unwrap().parameters() as f64;
            let off = (computed / known.published_params - 1.0).abs();
            assert!(off < 0.001, "{}: {computed} of {}", known.name, known.published_params);
        }
    }
}
