//! One operation of a model: what it computes, in numbers a contract's equations take, and which
//! stored tensors it reads.

use super::hyper::{Attention, Experts};
use super::names::Role;
use roofline_formulas::operation::Inputs;

/// One operation on one token's way through the model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operation {
    /// The layer it belongs to; none outside the layers.
    pub layer: Option<u64>,
    /// What it does there.
    pub role: Role,
    /// Its shape.
    pub work: Work,
    /// For which tokens it runs.
    pub runs: Runs,
    /// Tokens that attention need look at, where something chooses them and all of the context is counted.
    pub chosen: Option<u64>,
    /// Parameters it brings along, biases too; 0 when they are another operation's.
    pub parameters: u64,
    /// The tensors it reads, as indexes into the model's list. A tied head names the embedding's.
    pub tensors: Vec<usize>,
}

/// For which tokens an operation runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Runs {
    /// For every token, whether read or made.
    Token,
    /// For every token that is read, by an encoder beside the decoder.
    Prompt,
    /// For every token that is made, by a decoder beside an encoder.
    Step,
    /// So many times for each image or stretch of sound, apart from tokens of text.
    Input {
        /// Patches or frames.
        times: u64,
    },
}

impl Runs {
    /// Whether it runs while one more token is made.
    pub fn for_a_step(self) -> bool {
        matches!(self, Runs::Token | Runs::Step)
    }

    /// Whether it runs while a prompt is read.
    pub fn for_a_prompt(self) -> bool {
        matches!(self, Runs::Token | Runs::Prompt | Runs::Input { .. })
    }
}

/// A state of fixed size that takes the place of a cache: it is read and written for each token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct State {
    /// Numbers it holds for a sequence, in 32 bits each.
    pub elements: u64,
    /// Operations to take in a token and to read the result out.
    pub flops: u64,
}

/// The shape of an operation's work for one token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Work {
    /// One row of a table.
    Lookup {
        /// Rows of the table.
        rows: u64,
        /// Width of a row.
        cols: u64,
    },
    /// A matrix times a vector.
    Product {
        /// Outputs.
        rows: u64,
        /// Inputs.
        cols: u64,
    },
    /// Some of many matrices, each times a vector.
    Experts {
        /// Outputs of one.
        rows: u64,
        /// Inputs of one.
        cols: u64,
        /// Matrices there are.
        count: u64,
        /// Matrices a token uses.
        used: u64,
    },
    /// Scores against cached keys and the weighted sum of cached values.
    Attention(Attention),
    /// A state that takes the place of a cache.
    State(State),
    /// A vector applied element by element.
    Vector {
        /// Elements of it.
        elements: u64,
    },
    /// A convolution; the size of its input is not in the file.
    Convolution {
        /// Output channels.
        outputs: u64,
        /// Input channels of a group.
        inputs: u64,
        /// Size of the kernel, one number for each dimension.
        kernel: Vec<u64>,
    },
    /// Not computed for a token in ordinary use.
    Unused,
    /// What it costs can't be said.
    Undefined {
        /// Why not.
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
            chosen: None,
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

    pub(super) fn of(role: Role, work: Work) -> Operation {
        Operation::new(role, work, 0)
    }

    /// Its shape as the contract `operation-v1` takes it, for one token of one sequence, weights in 16 bits, and a machine of
    /// 1 GB/s and 1 Gflop/s. A `tied` table is read as a whole by the head, which has no parameters of its own then. The
    /// size of a convolution's input is left to the caller.
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
                // A window wider than any context is none. What is seen whatever the context is, is all of a context of its own.
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
