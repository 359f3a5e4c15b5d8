//! Quantization mixes of llama.cpp, such as `q4_k_m`: the type of each matrix. The rules are those of `llama-quantize` without
//! an importance matrix, except for types that require it (`iq3_xxs` and smaller).

use super::dtype::Dtype;
use super::operation::{Operation, Work};
use super::tensor_names::{self, Role};
use super::{Model, Tensor};

use Dtype::{
    F16, Iq1M, Iq1S, Iq2S, Iq2Xs, Iq2Xxs, Iq3S, Iq3Xxs, Iq4Nl, Iq4Xs, Mxfp4, Q2K, Q3K, Q4_0, Q4_1, Q4K, Q5_0,
    Q5_1, Q5K, Q6K, Q8_0, Tq1_0, Tq2_0,
};

/// Quantization mix: a type for each kind of tensor.
#[derive(Debug, PartialEq, Eq)]
pub struct QuantMix {
    /// Name in lower case: `q4_k_m`.
    pub name: &'static str,
    /// Matrices without a rule.
    base: Dtype,
    /// Output head, also if tied to the embedding.
    head: Dtype,
    embedding: Dtype,
    /// Query and key projections.
    query: Dtype,
    /// Key projections in models with eight experts.
    key_with_8_experts: Dtype,
    /// Value projections, also if fused with queries and keys or projected up from a latent vector.
    value: Rule,
    /// Value projections if four or more query heads share a KV head.
    shared_value: Option<Dtype>,
    /// Gate and up projections.
    up: Rule,
    down: Rule,
    /// Output projections of attention.
    output: Dtype,
    /// Output projections of attention in models with eight experts.
    output_with_8_experts: Dtype,
    /// All matrices of experts.
    experts: Option<Dtype>,
}

/// Type of the matrices of one kind, by layer.
#[derive(Debug, PartialEq, Eq)]
enum Rule {
    /// One type in all layers.
    All(Dtype),
    /// One type in the leading layers and another in the rest.
    First(Leading, Dtype, Dtype),
    /// The base type in the first and last eighth of the layers, this type between them.
    Inner(Dtype),
    /// This type in the first and last eighth of the layers and in every third layer between them; the base type elsewhere.
    Spread(Dtype),
}

/// Extent of the leading layers: a number, or a fraction as its denominator.
#[derive(Debug, PartialEq, Eq)]
enum Leading {
    Layers(u64),
    Fraction(u64),
}

use Leading::{Fraction, Layers};
use Rule::{All, First, Inner, Spread};

/// A mix in which only the output head has another type.
const fn uniform(name: &'static str, base: Dtype) -> QuantMix {
    QuantMix {
        name,
        base,
        head: Q6K,
        embedding: base,
        query: base,
        key_with_8_experts: Q8_0,
        value: All(base),
        shared_value: None,
        up: All(base),
        down: All(base),
        output: base,
        output_with_8_experts: base,
        experts: None,
    }
}

/// A mix of two bits or fewer, with sensitive matrices in another type.
const fn tiny(name: &'static str, base: Dtype, sensitive: Dtype, output: Dtype) -> QuantMix {
    QuantMix {
        head: Q5K,
        embedding: sensitive,
        key_with_8_experts: Q4K,
        value: All(sensitive),
        shared_value: Some(Q4K),
        down: First(Fraction(8), sensitive, base),
        output,
        output_with_8_experts: Q5K,
        ..uniform(name, base)
    }
}

/// All mixes, except types that such files use throughout, such as `q8_0` and `q6_k`.
const MIXES: &[QuantMix] = &[
    uniform("q4_0", Q4_0),
    uniform("q4_1", Q4_1),
    uniform("q5_0", Q5_0),
    uniform("q5_1", Q5_1),
    QuantMix {
        value: All(Q3K),
        shared_value: Some(Q4K),
        down: All(Q3K),
        output: Q3K,
        output_with_8_experts: Q5K,
        ..uniform("q2_k", Q2K)
    },
    QuantMix { shared_value: Some(Q4K), down: First(Fraction(8), Q4K, Q2K), ..uniform("q2_k_s", Q2K) },
    QuantMix { output_with_8_experts: Q5K, ..uniform("q3_k_s", Q3K) },
    QuantMix {
        value: First(Layers(2), Q5K, Q4K),
        down: First(Fraction(16), Q5K, Q4K),
        output: Q4K,
        output_with_8_experts: Q5K,
        ..uniform("q3_k_m", Q3K)
    },
    QuantMix { value: All(Q5K), down: All(Q5K), output: Q5K, ..uniform("q3_k_l", Q3K) },
    QuantMix {
        value: First(Layers(4), Q5K, Q4K),
        down: First(Fraction(8), Q5K, Q4K),
        output_with_8_experts: Q5K,
        ..uniform("q4_k_s", Q4K)
    },
    QuantMix { value: Spread(Q6K), down: Spread(Q6K), output_with_8_experts: Q5K, ..uniform("q4_k_m", Q4K) },
    uniform("q5_k_s", Q5K),
    QuantMix { value: Spread(Q6K), down: Spread(Q6K), ..uniform("q5_k_m", Q5K) },
    tiny("iq1_s", Iq1S, Q2K, Iq2Xxs),
    tiny("iq1_m", Iq1M, Q2K, Iq2Xxs),
    tiny("iq2_xxs", Iq2Xxs, Q2K, Iq2Xxs),
    tiny("iq2_xs", Iq2Xs, Q2K, Iq2Xs),
    tiny("iq2_s", Iq2Xs, Iq3S, Iq3S),
    tiny("iq2_m", Iq2S, Iq3S, Iq3S),
    QuantMix {
        head: Q5K,
        embedding: Iq3S,
        query: Iq2S,
        shared_value: Some(Q4K),
        output: Iq3S,
        output_with_8_experts: Q5K,
        ..uniform("iq3_xxs", Iq3Xxs)
    },
    QuantMix {
        query: Iq3Xxs,
        shared_value: Some(Q4K),
        up: Inner(Iq3Xxs),
        output_with_8_experts: Q5K,
        ..uniform("iq3_xs", Iq3S)
    },
    QuantMix { shared_value: Some(Q4K), output_with_8_experts: Q5K, ..uniform("iq3_s", Iq3S) },
    QuantMix {
        value: All(Q4K),
        down: First(Fraction(8), Q4K, Iq3S),
        output: Q4K,
        output_with_8_experts: Q5K,
        ..uniform("iq3_m", Iq3S)
    },
    QuantMix {
        shared_value: Some(Q5K),
        down: First(Fraction(8), Q5K, Iq4Nl),
        output_with_8_experts: Q5K,
        ..uniform("iq4_nl", Iq4Nl)
    },
    QuantMix {
        shared_value: Some(Q5K),
        down: First(Fraction(8), Q5K, Iq4Xs),
        output_with_8_experts: Q5K,
        ..uniform("iq4_xs", Iq4Xs)
    },
    QuantMix { embedding: Q4K, ..uniform("tq1_0", Tq1_0) },
    QuantMix { embedding: Q4K, ..uniform("tq2_0", Tq2_0) },
    QuantMix { head: Q8_0, experts: Some(Mxfp4), ..uniform("mxfp4_moe", Q8_0) },
];

/// Name parts of small matrices that are not quantized.
const UNQUANTIZED: &str = "_norm.weight altup laurel per_layer_model_proj ssm_conv1d shortconv.conv.weight \
    indexer.k_proj.weight indexer.q_proj.weight time_mix_first.weight time_mix_w0.weight \
    time_mix_w1.weight time_mix_w2.weight time_mix_v0.weight time_mix_v1.weight time_mix_v2.weight \
    time_mix_a0.weight time_mix_a1.weight time_mix_a2.weight time_mix_g1.weight time_mix_g2.weight \
    time_mix_decay_w1.weight time_mix_decay_w2.weight time_mix_lerp_fused.weight attn_rel_b.weight";

/// Storage of the parameters of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OperationStorage {
    /// Number of parameters.
    pub parameters: u64,
    /// Size of the parameters in bytes.
    pub bytes: u64,
    /// Type of the matrix.
    pub dtype: Dtype,
}

/// Properties of a model that the rules depend on.
struct Properties {
    layers: u64,
    tied: bool,
    /// Number of experts; 0 for dense models.
    experts: u64,
    /// Query heads per KV head.
    heads_per_kv_head: u64,
    /// Layers with a value projection, sorted.
    value_layers: Vec<u64>,
}

impl Properties {
    fn new(
        tied: bool,
        places: impl Iterator<Item = (Option<u64>, Role)>,
        operations: &[Operation],
    ) -> Properties {
        let mut properties =
            Properties { layers: 0, tied, experts: 0, heads_per_kv_head: 0, value_layers: Vec::new() };
        for (layer, role) in places {
            let Some(layer) = layer else { continue };
            properties.layers = properties.layers.max(layer.saturating_add(1));
            if matches!(role, Role::Value | Role::QueryKeyValue | Role::KeyValueUp) {
                properties.value_layers.push(layer);
            }
        }
        properties.value_layers.sort_unstable();
        properties.value_layers.dedup();
        for one in operations {
            match one.work {
                Work::Experts { count, .. } => properties.experts = count,
                Work::Attention(attention) if properties.heads_per_kv_head == 0 => {
                    properties.heads_per_kv_head = attention.heads / attention.kv_heads.max(1);
                }
                _ => {}
            }
        }
        properties
    }

    fn has_8_experts(&self) -> bool {
        self.experts == 8
    }

    /// Models with 80 layers and GQA get more bits for their few values.
    fn is_llama_70b(&self) -> bool {
        self.layers == 80 && self.heads_per_kv_head > 1
    }
}

/// Returns layer and role of a tensor. The two halves of a split up projection from a latent vector have no rule.
fn place(tensor: &Tensor) -> Option<(Option<u64>, Role)> {
    let place = tensor_names::place(&tensor.name)?;
    let half = [".attn_k_b.", ".attn_v_b."].iter().any(|half| tensor.name.contains(half));
    Some((place.layer, if half { Role::Other } else { place.role }))
}

impl QuantMix {
    /// Lists the names of mixes that are not also names of a [`Dtype`].
    pub fn names() -> impl Iterator<Item = &'static str> {
        MIXES.iter().map(|mix| mix.name).filter(|name| Dtype::from_name(name).is_none())
    }

    /// Looks up a mix by name, ignoring case.
    pub fn by_name(name: &str) -> Option<&'static QuantMix> {
        MIXES.iter().find(|mix| mix.name.eq_ignore_ascii_case(name))
    }

    /// Returns the type of a tensor; `None` if it is not quantized.
    fn tensor_dtype(&self, tensor: &Tensor, properties: &Properties) -> Option<Dtype> {
        let [ref rows @ .., row] = *tensor.dims.as_slice() else { return None };
        if rows.iter().all(|rows| *rows == 1) || UNQUANTIZED.split(' ').any(|part| tensor.name.contains(part))
        {
            return None;
        }
        let (layer, role) = place(tensor).unwrap_or((None, Role::Other));
        self.dtype(role, layer, row, properties)
    }

    /// Returns the storage of each operation, for models without tensors: matrices in the types of the mix, other parameters in
    /// F32. A tied head shares the weights of the embedding.
    pub fn storage_of(&self, operations: &[Operation]) -> Vec<OperationStorage> {
        let head = operations.iter().find(|one| one.role == Role::Head);
        let tied = head.is_none_or(|head| head.parameters == 0);
        let properties =
            Properties::new(tied, operations.iter().map(|one| (one.layer, one.role)), operations);
        let storage = |one: &Operation| {
            let (matrix, row) = match one.work {
                Work::Lookup { rows, cols } | Work::Product { rows, cols } => (rows * cols, cols),
                Work::Experts { rows, cols, count, .. } => (rows * cols * count, cols),
                _ => (0, 0),
            };
            let parameters = if one.role == Role::Head { matrix.max(one.parameters) } else { one.parameters };
            let matrix = matrix.min(parameters);
            // Short convolution kernels are not quantized.
            let kernel = one.role == Role::Recurrence && row < 32;
            let dtype = Some(one.role).filter(|_| matrix > 0 && !kernel);
            let dtype = dtype.and_then(|role| self.dtype(role, one.layer, row, &properties));
            let bytes = dtype.and_then(|dtype| dtype.bytes(matrix)).unwrap_or(4 * matrix);
            let bytes = bytes + 4 * (parameters - matrix);
            OperationStorage { parameters, bytes, dtype: dtype.unwrap_or(Dtype::F32) }
        };
        operations.iter().map(storage).collect()
    }

    fn dtype(&self, role: Role, layer: Option<u64>, row: u64, properties: &Properties) -> Option<Dtype> {
        let layer = layer.unwrap_or(0);
        let has_8_experts = properties.has_8_experts();
        let up = || self.up.at(layer, properties.layers, self.base);
        let down = || self.down.at(layer, properties.layers, self.base);
        let (block, _) = self.base.block()?;
        let head = if row.is_multiple_of(block) { self.head } else { Q8_0 };
        let wanted = match role {
            Role::Norm
            | Role::Router
            | Role::SharedRouter
            | Role::Constant
            | Role::PositionEmbedding
            | Role::TypeEmbedding => return None,
            Role::Head => head,
            Role::Embedding | Role::LayerEmbedding if properties.tied => head,
            Role::Embedding | Role::LayerEmbedding => self.embedding,
            Role::Value | Role::QueryKeyValue | Role::KeyValueUp => self.value(layer, properties),
            Role::Key if has_8_experts => self.key_with_8_experts,
            Role::Query | Role::Key => self.query,
            Role::Gate | Role::Up | Role::GateUp | Role::SharedGate | Role::SharedUp => up(),
            Role::ExpertGate | Role::ExpertUp | Role::ExpertGateUp => self.experts.unwrap_or_else(up),
            Role::Down | Role::SharedDown => down(),
            Role::ExpertDown => self.experts.unwrap_or_else(down),
            Role::AttentionOutput if has_8_experts => self.output_with_8_experts,
            Role::AttentionOutput => self.output,
            _ => self.base,
        };
        let (block, _) = wanted.block()?;
        Some(match wanted {
            _ if row.is_multiple_of(block) => wanted,
            _ if !row.is_multiple_of(32) => F16,
            Q2K | Q3K | Tq1_0 | Tq2_0 => Q4_0,
            Q4K => Q5_0,
            Q5K => Q5_1,
            Q6K => Q8_0,
            _ => Iq4Nl,
        })
    }

    fn value(&self, layer: u64, properties: &Properties) -> Dtype {
        // The mixes of two bits or fewer follow other rules.
        let tiny = self.key_with_8_experts == Q4K;
        let shared = properties.heads_per_kv_head >= 4 || tiny && properties.experts >= 4;
        let at = properties.value_layers.binary_search(&layer).unwrap_or(0) as u64;
        let wanted = match self.shared_value.filter(|_| shared) {
            Some(dtype) => dtype,
            None => self.value.at(at, properties.value_layers.len() as u64, self.base),
        };
        match wanted {
            _ if properties.has_8_experts() && !tiny => Q8_0,
            Q3K | Q4K if properties.is_llama_70b() && !tiny => Q5K,
            other => other,
        }
    }
}

impl Rule {
    fn at(&self, layer: u64, layers: u64, base: Dtype) -> Dtype {
        match *self {
            All(dtype) => dtype,
            First(Layers(first), dtype, _) if layer < first => dtype,
            First(Fraction(divisor), dtype, _) if layer < layers / divisor => dtype,
            First(_, _, others) => others,
            Inner(dtype) => {
                let outer = layer < layers / 8 || layer >= 7 * layers / 8;
                if outer { base } else { dtype }
            }
            Spread(dtype) => {
                let eighth = layers / 8;
                let more = layer < eighth || layer >= 7 * layers / 8 || (layer - eighth) % 3 == 2;
                if more { dtype } else { base }
            }
        }
    }
}

impl Model {
    /// Converts tensor types and sizes to those of a file in this mix. The result has no data to read.
    pub fn requantized(mut self, mix: &QuantMix) -> Model {
        let places: Vec<_> = self.tensors.iter().filter_map(place).collect();
        let tied = !places.iter().any(|(_, role)| *role == Role::Head);
        let properties = Properties::new(tied, places.into_iter(), &self.architecture.operations);
        for tensor in &mut self.tensors {
            if tensor.companion_of.is_some() {
                tensor.bytes = Some(0);
                continue;
            }
            let dtype = mix.tensor_dtype(tensor, &properties);
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
