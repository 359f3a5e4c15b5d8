//! `roofline models`: known models with their dimensions and sources.

use schemars::JsonSchema;
use serde::Serialize;

use crate::chart::terminal::Canvas;
use crate::cli::name::normalize;
use crate::cli::output;
use crate::cli::request::unknown_model;
use crate::cli::{About, Exit, Failure, args};
use crate::model::{KNOWN_MODELS, KnownModel, ModelDims, by_name, display_name};
use crate::predict;
use crate::report::{Report, Schema, Table};
use roofline_render::format::figure;

/// Known models.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ModelList {
    /// Schema of this document.
    schema: Schema<Self>,
    /// Models, in the order of the registry.
    models: Vec<ListedModel>,
}

/// A known model.
#[derive(Debug, Serialize, JsonSchema)]
struct ListedModel {
    /// Name of the model.
    name: String,
    /// Description of the model.
    description: &'static str,
    /// `model_type` in its config.json.
    model_type: &'static str,
    /// Number of parameters.
    parameters: u64,
    /// Parameters used per token.
    active_parameters: f64,
    /// Number of layers.
    layers: f64,
    /// Hidden size.
    hidden: f64,
    /// Attention heads.
    heads: f64,
    /// KV heads.
    kv_heads: f64,
    /// Maximum context length, in tokens.
    context_length: f64,
    /// Source of the dimensions.
    source: &'static str,
    /// Date of the source.
    as_of: &'static str,
}

/// Lists the models whose name or family contains the text.
pub fn run(args: &args::Models) -> Result<Exit, Failure> {
    let filter = args.filter.as_deref().map(normalize).unwrap_or_default();
    let mut found: Vec<&KnownModel> = KNOWN_MODELS
        .iter()
        .filter(|model| model.name.contains(&filter) || model.model_type.name().contains(&filter))
        .collect();
    if let Some(model) = by_name(&filter) {
        found = vec![model];
    }
    if found.is_empty() {
        return Err(unknown_model(args.filter.as_deref().unwrap_or_default()));
    }
    let models = found.into_iter().map(listing).collect::<Result<_, Failure>>()?;
    output::print(&ModelList { schema: Schema::new(), models }, args.format)?;
    Ok(Exit::Fine)
}

fn listing(model: &KnownModel) -> Result<ListedModel, Failure> {
    let model_dims = ModelDims::from_known(model).about(model.name)?;
    Ok(ListedModel {
        name: display_name(model.name),
        description: model.doc,
        model_type: model.model_type.name(),
        parameters: model_dims.parameters(),
        active_parameters: predict::inputs(&model_dims)?.evaluate()?.active_params,
        layers: model.num_hidden_layers,
        hidden: model.hidden_size,
        heads: model.num_attention_heads,
        kv_heads: model.num_key_value_heads,
        context_length: model.max_position_embeddings,
        source: model.source,
        as_of: model.as_of,
    })
}

/// Formats a number of parameters in billions or millions.
fn parameters(value: f64) -> String {
    if value >= 1e9 { format!("{} B", figure(value / 1e9)) } else { format!("{} M", figure(value / 1e6)) }
}

impl Report for ModelList {
    const SCHEMA: &'static str = "roofline.models/1";

    fn text(&self, canvas: &Canvas) -> String {
        let tables: String = self
            .tables()
            .iter()
            .map(|table| table.render_within(canvas, &["heads", "hidden size", "KV heads"]))
            .collect();
        match self.models.as_slice() {
            [model] => {
                format!("{}\n{tables}source: {}, as of {}\n", model.description, model.source, model.as_of)
            }
            _ => tables,
        }
    }

    fn tables(&self) -> Vec<Table> {
        let headings = [
            "model",
            "family",
            "parameters",
            "active",
            "layers",
            "hidden size",
            "heads",
            "KV heads",
            "context",
        ];
        let row = |model: &ListedModel| {
            let count = |value: f64| format!("{value}");
            vec![
                model.name.clone(),
                model.model_type.to_owned(),
                parameters(model.parameters as f64),
                parameters(model.active_parameters),
                count(model.layers),
                count(model.hidden),
                count(model.heads),
                count(model.kv_heads),
                count(model.context_length),
            ]
        };
        vec![Table::new("", &headings, self.models.iter().map(row))]
    }
}
