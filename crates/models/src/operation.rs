//! Operations of a model: shape of the work, as inputs for the equations of the contracts, and the tensors
//! they read.

use super::dimensions::{Attention, Experts};
use super::tensor_names::Role;
use roofline_formulas::operation::Inputs;

/// Operation that a model executes for a token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operation {
    /// Layer index; `None` outside of the layers.
    pub layer: Option<u64>,
    /// Role in the model.
    pub role: Role,
    /// Kind and shape of the work.
    pub work: Work,
    /// Tokens for which it is executed.
    pub runs: Runs,
    /// Number of tokens that an indexer selects for sparse attention, although the work covers the whole context.
    pub selected_tokens: Option<u64>,
    /// Number of parameters, including biases; 0 if they belong to another operation.
    pub parameters: u64,
    /// Indexes of the tensors it reads. A tied head lists those of the embedding.
    pub tensors: Vec<usize>,
}

/// Tokens for which an operation is executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Runs {
    /// Every token, in prefill and decode.
    Token,
    /// Every prompt token, in the encoder of an encoder-decoder model.
    Prompt,
    /// Every generated token, in the decoder of an encoder-decoder model.
    Step,
    /// Every image or audio clip, independent of text tokens.
    Input {
        /// Patches or frames per image or audio clip.
        times: u64,
    },
}

impl Runs {
    /// Returns true if it is executed in decode.
    pub fn in_decode(self) -> bool {
        matches!(self, Runs::Token | Runs::Step)
    }

    /// Returns true if it is executed in prefill.
    pub fn in_prefill(self) -> bool {
        matches!(self, Runs::Token | Runs::Prompt | Runs::Input { .. })
    }
}

/// Recurrent state of fixed size, which is read and written for each token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct State {
    /// Number of 32-bit elements per sequence.
    pub elements: u64,
    /// Operations per token to update the state and compute the result.
    pub flops: u64,
}

/// Kind and shape of the work for one token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Work {
    /// Lookup of one row in a table.
    Lookup {
        /// Rows of the table.
        rows: u64,
        /// Columns of the table.
        cols: u64,
    },
    /// Matrix-vector product.
    Product {
        /// Rows of the matrix, one output each.
        rows: u64,
        /// Columns of the matrix, one input each.
        cols: u64,
    },
    /// Matrix-vector products of the experts that a token uses.
    Experts {
        /// Rows of one matrix.
        rows: u64,
        /// Columns of one matrix.
        cols: u64,
        /// Number of experts.
        count: u64,
        /// Number of experts per token.
        used: u64,
    },
    /// Scores against cached keys and weighted sum of cached values.
    Attention(Attention),
    /// Update of a recurrent state.
    State(State),
    /// Elementwise operation with a vector.
    Vector {
        /// Length of the vector.
        elements: u64,
    },
    /// Convolution; the input size is not in the file.
    Convolution {
        /// Output channels.
        outputs: u64,
        /// Input channels per group.
        inputs: u64,
        /// Kernel size per dimension.
        kernel: Vec<u64>,
    },
    /// Stored, but not executed in ordinary inference.
    Unused,
    /// Operation of unknown cost.
    Undefined {
        /// Reason why the cost is unknown.
        reason: String,
    },
}

impl Operation {
    fn new(role: Role, work: Work, parameters: u64) -> Operation {
        Operation {
            layer: None,
            role,
            work,
            runs: Runs::Token,
            selected_tokens: None,
            parameters,
            tensors: Vec::new(),
        }
    }

    pub(super) fn lookup(role: Role, rows: u64, cols: u64) -> Operation {
        Operation::new(role, Work::Lookup { rows, cols }, rows.saturating_mul(cols))
    }

    pub(super) fn product(role: Role, rows: u64, cols: u64, bias: bool) -> Operation {
        let parameters = rows.saturating_mul(cols + u64::from(bias));
        Operation::new(role, Work::Product { rows, cols }, parameters)
    }

    pub(super) fn experts(role: Role, experts: Experts, rows: u64, cols: u64) -> Operation {
        let Experts { count, used, .. } = experts;
        let parameters = rows.saturating_mul(cols).saturating_mul(count);
        Operation::new(role, Work::Experts { rows, cols, count, used }, parameters)
    }

    pub(super) fn attention(attention: Attention) -> Operation {
        Operation::new(Role::Attention, Work::Attention(attention), 0)
    }

    pub(super) fn vector(elements: u64) -> Operation {
        Operation::new(Role::Norm, Work::Vector { elements }, elements)
    }

    pub(super) fn without_parameters(role: Role, work: Work) -> Operation {
        Operation::new(role, work, 0)
    }

    /// Returns the inputs of the contract `operation-v1` for one token of one sequence, 16-bit weights, and a machine with
    /// 1 GB/s and 1 GFLOP/s. With `tied`, the embedding has no parameters of its own, because the head reads the whole table. The
    /// caller sets the input size of convolutions.
    pub fn inputs(&self, tied: bool) -> Inputs {
        let none = Inputs::new(1.0, 1.0);
        let parameters = self.parameters as f64;
        match self.work {
            Work::Lookup { cols, .. } => Inputs {
                lookup_params: if tied && self.role == Role::Embedding { 0.0 } else { parameters },
                row_width: cols as f64,
                ..none
            },
            Work::Product { rows, cols } => Inputs {
                dense_params: if self.role == Role::Head { rows as f64 * cols as f64 } else { parameters },
                in_features: cols as f64,
                out_features: rows as f64,
                ..none
            },
            Work::Experts { rows, cols, count, used } => Inputs {
                expert_params: parameters,
                experts: count as f64,
                experts_used: used as f64,
                in_features: cols as f64,
                out_features: rows as f64,
                ..none
            },
            Work::Attention(attention) => Inputs {
                heads: attention.heads as f64,
                kv_heads: attention.kv_heads as f64,
                key_length: attention.key_length as f64,
                value_length: attention.value_length as f64,
                latent_rank: attention.latent.map_or(0.0, |latent| latent.rank as f64),
                rope_length: attention.latent.map_or(0.0, |latent| latent.rope_length as f64),
                // The default window is unlimited. A fixed span acts as a context of its own.
                context: attention.sees.map_or(none.context, |tokens| tokens as f64),
                window: attention
                    .sees
                    .or(attention.window)
                    .map_or(none.window, |tokens| (tokens as f64).min(none.window)),
                causal: if attention.causal { 1.0 } else { 0.0 },
                ..none
            },
            Work::State(State { elements, flops }) => Inputs {
                dense_params: parameters,
                state_width: elements as f64,
                state_work: flops as f64,
                ..none
            },
            Work::Vector { elements } => {
                Inputs { dense_params: parameters, elements: elements as f64, ..none }
            }
            Work::Convolution { .. } | Work::Unused | Work::Undefined { .. } => {
                Inputs { dense_params: parameters, ..none }
            }
        }
    }
}
