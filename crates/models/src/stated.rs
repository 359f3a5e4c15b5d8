//! What a file says of a model beside its tensors: how each layer looks back, by attention or by a state,
//! how many experts a token uses and whether tokens are made at all. With the tensors' shapes this is all
//! that the cost of a token needs, whatever the family is called.

use super::hyper::{Attention, Head, Hyper, Width};
use super::names::Stack;
use super::operation::State;

/// What a file says of a model beside its tensors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stated {
    /// The layers a token runs through: those of the decoder where there is an encoder beside it.
    pub layers: Vec<LooksBack>,
    /// The layers of an encoder beside the decoder.
    pub encoder: Vec<LooksBack>,
    /// Positions that the encoder always works on, such as frames of sound; none for the tokens of the prompt.
    pub encoder_length: Option<u64>,
    /// Experts a token uses, layer by layer; empty where that is unknown.
    pub experts_used: Vec<u64>,
    /// The longest context the model was made for.
    pub context_length: Option<u64>,
    /// Whether tokens are made one after the other; an encoder makes none.
    pub makes_tokens: bool,
    /// Whether the last hidden state is turned into tokens, by the embedding where there is no matrix for it.
    pub has_head: bool,
    /// Why nobody counts here what attention caches and reads, such as compressed keys beside those of a window.
    pub uncounted: Option<&'static str>,
    /// What no key says and is taken from what is known of the family.
    pub assumed: Vec<String>,
}

/// How a layer looks back; a layer may do both.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LooksBack {
    /// By attention to cached keys and values, if it has tensors for them.
    pub attention: Option<Attention>,
    /// By attention to what an encoder made.
    pub cross: Option<Attention>,
    /// By a state, if it has tensors for it. Where there is no attention, what projects queries, keys and values is the state's.
    pub state: Option<State>,
    /// By scores that choose what attention looks at, if it has tensors for them.
    pub indexer: Option<Attention>,
    /// Tokens that these scores choose: attention need not look at more of them.
    pub chosen: Option<u64>,
    /// Further times that a token runs through the layer.
    pub repeats: u64,
}

impl Stated {
    /// How a layer looks back.
    pub(super) fn of(&self, stack: Stack, layer: u64) -> Option<&LooksBack> {
        let layers = if stack == Stack::Encoder { &self.encoder } else { &self.layers };
        layers.get(usize::try_from(layer).ok()?)
    }

    /// Experts that a token uses in a layer, if that is known.
    pub(super) fn used(&self, layer: u64) -> Option<u64> {
        self.experts_used.get(usize::try_from(layer).ok()?).copied().filter(|used| *used > 0)
    }
}

impl From<&Hyper> for Stated {
    fn from(hyper: &Hyper) -> Stated {
        let used = hyper.layers.iter().map(|layer| match layer.feed_forward.width {
            Width::Experts(experts) => experts.used,
            Width::Dense(_) => 0,
        });
        let layers = hyper.layers.iter().map(|layer| LooksBack {
            attention: layer.attention,
            cross: None,
            state: layer.recurrence.as_ref().map(|recurrence| recurrence.state),
            ..LooksBack::default()
        });
        Stated {
            layers: layers.collect(),
            encoder: Vec::new(),
            encoder_length: None,
            experts_used: used.collect(),
            context_length: hyper.context_length,
            makes_tokens: hyper.makes_tokens(),
            has_head: matches!(hyper.head, Head::Own | Head::Tied),
            uncounted: None,
            assumed: Vec::new(),
        }
    }
}
