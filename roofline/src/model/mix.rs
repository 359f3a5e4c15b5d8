//! Mixes of types under one name, such as `q4_k_m`: which type each matrix gets when llama.cpp makes such a file. The rules
//! are those of its quantizer without an importance matrix.

use super::dtype::Dtype;
use super::names::{self, Role};
use super::operation::{Operation, Work};
use super::{Model, Tensor};

use Dtype::{F16, Iq4Nl, Q3K, Q4K, Q5_0, Q5_1, Q5K, Q6K, Q8_0};

/// A recipe of types.
#[derive(Debug, PartialEq, Eq)]
pub struct Mix {
    /// Its name: `q4_k_m`.
    pub name: &'static str,
    /// The type of matrices without a rule.
    base: Dtype,
    /// Values, or keys and values of a latent vector.
    value: Rule,
    /// Queries, keys and values in one matrix.
    fused: Dtype,
    /// Down projections.
    down: Rule,
    /// Projections of the attention's result.
    output: Dtype,
    /// The same in a model of eight experts.
    output_of_eight: Dtype,
}

/// Which type the matrices of a kind get, layer by layer.
#[derive(Debug, PartialEq, Eq)]
enum Rule {
    /// The same in all.
    All(Dtype),
    /// The first, up to a number of layers or a fraction of them, and the others.
    First(Reach, Dtype, Dtype),
    /// The first and the last eighth, and every third between them; the others have the base.
    Spread(Dtype),
}

#[derive(Debug, PartialEq, Eq)]
enum Reach {
    Layers(u64),
    Part(u64),
}

/// All mixes.
const MIXES: &[Mix] = &[
    Mix {
        name: "q3_k_s",
        base: Q3K,
        value: Rule::All(Q3K),
        fused: Q3K,
        down: Rule::All(Q3K),
        output: Q3K,
        output_of_eight: Q5K,
    },
    Mix {
        name: "q3_k_m",
        base: Q3K,
        value: Rule::First(Reach::Layers(2), Q5K, Q4K),
        fused: Q4K,
        down: Rule::First(Reach::Part(16), Q5K, Q4K),
        output: Q4K,
        output_of_eight: Q5K,
    },
    Mix {
        name: "q3_k_l",
        base: Q3K,
        value: Rule::All(Q5K),
        fused: Q4K,
        down: Rule::All(Q5K),
        output: Q5K,
        output_of_eight: Q3K,
    },
    Mix {
        name: "q4_k_s",
        base: Q4K,
        value: Rule::First(Reach::Layers(4), Q5K, Q4K),
        fused: Q4K,
        down: Rule::First(Reach::Part(8), Q5K, Q4K),
        output: Q4K,
        output_of_eight: Q5K,
    },
    Mix {
        name: "q4_k_m",
        base: Q4K,
        value: Rule::Spread(Q6K),
        fused: Q5K,
        down: Rule::Spread(Q6K),
        output: Q4K,
        output_of_eight: Q5K,
    },
    Mix {
        name: "q5_k_s",
        base: Q5K,
        value: Rule::All(Q5K),
        fused: Q5K,
        down: Rule::All(Q5K),
        output: Q5K,
        output_of_eight: Q5K,
    },
    Mix {
        name: "q5_k_m",
        base: Q5K,
        value: Rule::Spread(Q6K),
        fused: Q6K,
        down: Rule::Spread(Q6K),
        output: Q5K,
        output_of_eight: Q5K,
    },
];

/// How an operation is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoredAs {
    /// Its parameters.
    pub parameters: u64,
    /// Their bytes.
    pub bytes: u64,
    /// The type of its matrix.
    pub dtype: Dtype,
}

/// What the rules ask of a model.
struct Facts {
    layers: u64,
    tied: bool,
    eight_experts: bool,
    /// 80 layers with grouped queries, whose values are few and get more bits.
    seventy_billion: bool,
}

impl Facts {
    fn new(layers: u64, tied: bool, operations: &[Operation]) -> Facts {
        let grouped = |one: &Operation| matches!(one.work, Work::Attention(attention) if attention.heads != attention.kv_heads);
        Facts {
            layers,
            tied,
            eight_experts: operations.iter().any(|one| matches!(one.work, Work::Experts { count: 8, .. })),
            seventy_billion: layers == 80 && operations.iter().any(grouped),
        }
    }
}

impl Mix {
    /// The names of all mixes.
    pub fn names() -> impl Iterator<Item = &'static str> {
        MIXES.iter().map(|mix| mix.name)
    }

    /// The mix of this name, in any case.
    pub fn by_name(name: &str) -> Option<&'static Mix> {
        MIXES.iter().find(|mix| mix.name.eq_ignore_ascii_case(name))
    }

    /// The type that a tensor gets; none when it stays as it is.
    fn of_tensor(&self, tensor: &Tensor, facts: &Facts) -> Option<Dtype> {
        let [_, .., row] = *tensor.dims.as_slice() else { return None };
        let place = names::place(&tensor.name);
        let layer = place.and_then(|place| place.layer);
        self.dtype(place.map(|place| place.role), layer, row, facts)
    }

    /// How each operation would be stored where only the operations of a model are known: matrices as the mix has them,
    /// everything else in F32. A tied head has the weights of the embedding.
    pub fn of_operations(&self, operations: &[Operation]) -> Vec<StoredAs> {
        let head = operations.iter().find(|one| one.role == Role::Head);
        let layers = operations.iter().filter_map(|one| one.layer).max().map_or(0, |last| last + 1);
        let facts = Facts::new(layers, head.is_none_or(|head| head.parameters == 0), operations);
        let written = |one: &Operation| {
            let (matrix, row) = match one.work {
                Work::Lookup { rows, cols } | Work::Product { rows, cols } => (rows * cols, cols),
                Work::Experts { rows, cols, count, .. } => (rows * cols * count, cols),
                _ => (0, 0),
            };
            let parameters = if one.role == Role::Head { matrix.max(one.parameters) } else { one.parameters };
            let matrix = matrix.min(parameters);
            let dtype = Some(one.role).filter(|_| matrix > 0);
            let dtype = dtype.and_then(|role| self.dtype(Some(role), one.layer, row, &facts));
            let bytes = dtype.and_then(|dtype| dtype.bytes(matrix)).unwrap_or(4 * matrix);
            let bytes = bytes + 4 * (parameters - matrix);
            StoredAs { parameters, bytes, dtype: dtype.unwrap_or(Dtype::F32) }
        };
        operations.iter().map(written).collect()
    }

    fn dtype(&self, role: Option<Role>, layer: Option<u64>, row: u64, facts: &Facts) -> Option<Dtype> {
        let layer = layer.unwrap_or(0);
        let few = facts.eight_experts;
        let wanted = match role {
            Some(
                Role::Norm
                | Role::Router
                | Role::SharedRouter
                | Role::Constant
                | Role::PositionEmbedding
                | Role::TypeEmbedding,
            ) => return None,
            // Kernels of a few taps.
            Some(Role::Recurrence) if row < 32 => return None,
            Some(Role::Head) => Q6K,
            Some(Role::Embedding) if facts.tied => Q6K,
            Some(Role::Value | Role::Key) if few => Q8_0,
            Some(Role::Value | Role::KeyValueUp) => match self.value.at(layer, facts.layers, self.base) {
                Q3K | Q4K if facts.seventy_billion => Q5K,
                other => other,
            },
            Some(Role::QueryKeyValue) => self.fused,
            Some(Role::Down | Role::ExpertDown | Role::SharedDown) => {
                self.down.at(layer, facts.layers, self.base)
            }
            Some(Role::AttentionOutput) if few => self.output_of_eight,
            Some(Role::AttentionOutput) => self.output,
            _ => self.base,
        };
        Some(match wanted {
            _ if !row.is_multiple_of(32) => F16,
            Q3K if !row.is_multiple_of(256) => Iq4Nl,
            Q4K if !row.is_multiple_of(256) => Q5_0,
            Q5K if !row.is_multiple_of(256) => Q5_1,
            Q6K if !row.is_multiple_of(256) => Q8_0,
            other => other,
        })
    }
}

impl Rule {
    fn at(&self, layer: u64, layers: u64, base: Dtype) -> Dtype {
        match *self {
            Rule::All(dtype) => dtype,
            Rule::First(Reach::Layers(first), dtype, _) if layer < first => dtype,
            Rule::First(Reach::Part(part), dtype, _) if layer < layers / part => dtype,
            Rule::First(_, _, others) => others,
            Rule::Spread(dtype) => {
                let eighth = layers / 8;
                let more = layer < eighth || layer >= 7 * layers / 8 || (layer - eighth) % 3 == 2;
                if more { dtype } else { base }
            }
        }
    }
}

impl Model {
    /// The model as a file of this mix would hold it. Its weights are not there any more.
    pub fn mixed(mut self, mix: &Mix) -> Model {
        let places = || self.tensors.iter().filter_map(|tensor| names::place(&tensor.name));
        let layers = places().filter_map(|place| place.layer).max().map_or(0, |last| last.saturating_add(1));
        let operations = &self.architecture.operations;
        let facts = Facts::new(layers, !places().any(|place| place.role == Role::Head), operations);
        for tensor in &mut self.tensors {
            if tensor.beside.is_some() {
                tensor.bytes = Some(0);
                continue;
            }
            let dtype = mix.of_tensor(tensor, &facts);
            if let Some((dtype, bytes)) =
                dtype.and_then(|dtype| Some((dtype, dtype.bytes(tensor.elements())?)))
            {
                (tensor.dtype, tensor.bytes) = (dtype, Some(bytes));
            }
        }
        self.files.clear();
        self
    }
}
