//! What a file says of a model beside its tensors: how each layer looks back, by attention or by a state,
//! how many experts a token uses and whether tokens are made at all. With the tensors' shapes this is all
//! that the cost of a token needs, whatever the family is called.

use super::hyper::{Attention, Head, Hyper, Width};
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
    /// Experts a token uses.
    pub experts_used: Option<u64>,
    /// The longest context the model was made for.
    pub context_length: Option<u64>,
    /// Whether tokens are made one after the other; an encoder makes none.
    pub makes_tokens: bool,
    /// Whether layers keep compressed keys and values beside those of a window: nobody counts that here.
    pub compressed: bool,
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
    /// By a state, if it has tensors for it.
    pub state: Option<State>,
}

impl From<&Hyper> for Stated {
    fn from(hyper: &Hyper) -> Stated {
        let used = hyper.layers.iter().find_map(|layer| match layer.feed_forward.width {
            Width::Experts(experts) => Some(experts.used),
            Width::Dense(_) => None,
        });
        let layers = hyper.layers.iter().map(|layer| LooksBack {
            attention: layer.attention,
            cross: None,
            state: layer.recurrence.as_ref().map(|recurrence| recurrence.state),
        });
        Stated {
            layers: layers.collect(),
            encoder: Vec::new(),
            encoder_length: None,
            experts_used: used,
            context_length: hyper.context_length,
            makes_tokens: matches!(hyper.head, Head::Own | Head::Tied),
            compressed: false,
            assumed: Vec::new(),
        }
    }
}
