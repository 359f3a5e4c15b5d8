//! Layer properties that a file declares in addition to its tensors: attention, recurrent state, experts
//! per token. Together with the tensor shapes they determine the cost of a token for any model family.

use super::dimensions::{Attention, Head, ModelDims, Width};
use super::operation::State;
use super::tensor_names::Stack;

/// Layer properties that a file declares in addition to its tensors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeclaredLayers {
    /// Layers of the model, or of the decoder in an encoder-decoder model.
    pub layers: Vec<LayerMemory>,
    /// Layers of the encoder in an encoder-decoder model; empty otherwise.
    pub encoder: Vec<LayerMemory>,
    /// Fixed input length of the encoder, such as audio frames; `None` if it processes the prompt.
    pub encoder_length: Option<u64>,
    /// Experts per token for each layer; empty if unknown.
    pub experts_used: Vec<u64>,
    /// Maximum context length in tokens.
    pub context_length: Option<u64>,
    /// True for decoders, false for encoders.
    pub generates_tokens: bool,
    /// True if there is an output head, which is tied to the embedding if it has no matrix.
    pub has_head: bool,
    /// Reason why the cost of attention is unsupported; `None` if it is supported.
    pub unsupported_attention: Option<&'static str>,
    /// Assumptions about properties that no key declares.
    pub assumed: Vec<String>,
}

/// Access of a layer to earlier tokens, by attention, recurrent state or both.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LayerMemory {
    /// Self-attention, if the layer has tensors for it.
    pub attention: Option<Attention>,
    /// Cross-attention to the output of the encoder.
    pub cross: Option<Attention>,
    /// Recurrent state, if the layer has tensors for it. Without attention, the query, key and value projections belong to it.
    pub state: Option<State>,
    /// Indexer that selects tokens for sparse attention, if the layer has tensors for it.
    pub indexer: Option<Attention>,
    /// Number of tokens that the indexer selects.
    pub selected_tokens: Option<u64>,
    /// Additional executions of the layer per token.
    pub repeats: u64,
}

impl DeclaredLayers {
    pub(super) fn layer(&self, stack: Stack, layer: u64) -> Option<&LayerMemory> {
        let layers = if stack == Stack::Encoder { &self.encoder } else { &self.layers };
        layers.get(usize::try_from(layer).ok()?)
    }

    pub(super) fn experts_used(&self, layer: u64) -> Option<u64> {
        self.experts_used.get(usize::try_from(layer).ok()?).copied().filter(|used| *used > 0)
    }
}

impl From<&ModelDims> for DeclaredLayers {
    fn from(model_dims: &ModelDims) -> DeclaredLayers {
        let used = model_dims.layers.iter().map(|layer| match layer.feed_forward.width {
            Width::Experts(experts) => experts.used,
            Width::Dense(_) => 0,
        });
        let layers = model_dims.layers.iter().map(|layer| LayerMemory {
            attention: layer.attention,
            cross: None,
            state: layer.recurrence.as_ref().map(|recurrence| recurrence.state),
            ..LayerMemory::default()
        });
        DeclaredLayers {
            layers: layers.collect(),
            encoder: Vec::new(),
            encoder_length: None,
            experts_used: used.collect(),
            context_length: model_dims.context_length,
            generates_tokens: model_dims.generates_tokens(),
            has_head: matches!(model_dims.head, Head::Own | Head::Tied),
            unsupported_attention: None,
            assumed: Vec::new(),
        }
    }
}
