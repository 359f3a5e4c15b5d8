//! Mixes of types under one name, such as `q4_k_m`: which type each matrix gets when llama.cpp makes such a file. The rules
//! are those of its quantizer without an importance matrix, and with one for the types that need it (`iq3_xxs` and smaller).

use super::dtype::Dtype;
use super::names::{self, Role};
use super::operation::{Operation, Work};
use super::{Model, Tensor};

use Dtype::{
    F16, Iq1M, Iq1S, Iq2S, Iq2Xs, Iq2Xxs, Iq3S, Iq3Xxs, Iq4Nl, Iq4Xs, Mxfp4, Q2K, Q3K, Q4_0, Q4_1, Q4K, Q5_0,
    Q5_1, Q5K, Q6K, Q8_0, Tq1_0, Tq2_0,
};

/// A recipe of types.
#[derive(Debug, PartialEq, Eq)]
pub struct Mix {
    /// Its name: `q4_k_m`.
    pub name: &'static str,
    /// The type of matrices without a rule.
    base: Dtype,
    /// The output head, and a table that is used as one.
    head: Dtype,
    /// The embedding.
    table: Dtype,
    /// Queries and keys.
    query: Dtype,
    /// Keys in a model of eight experts.
    key_of_eight: Dtype,
    /// Values, also where they are in one matrix with queries and keys, or come up from a latent vector.
    value: Rule,
    /// The same where four heads or more share one.
    shared_value: Option<Dtype>,
    /// Gates and up projections.
    up: Rule,
    /// Down projections.
    down: Rule,
    /// Projections of the attention's result.
    output: Dtype,
    /// The same in a model of eight experts.
    output_of_eight: Dtype,
    /// Experts, whatever they do.
    experts: Option<Dtype>,
}

/// Which type the matrices of a kind get, layer by layer.
#[derive(Debug, PartialEq, Eq)]
enum Rule {
    /// The same in all.
    All(Dtype),
    /// The first, up to a number of layers or a fraction of them, and the others.
    First(Reach, Dtype, Dtype),
    /// All but the first and the last eighth; those have the base.
    Inner(Dtype),
    /// The first and the last eighth, and every third between them; the others have the base.
    Spread(Dtype),
}

#[derive(Debug, PartialEq, Eq)]
enum Reach {
    Layers(u64),
    Part(u64),
}

use Reach::{Layers, Part};
use Rule::{All, First, Inner, Spread};

/// A mix in which only the head differs.
const fn plain(name: &'static str, base: Dtype) -> Mix {
    Mix {
        name,
        base,
        head: Q6K,
        table: base,
        query: base,
        key_of_eight: Q8_0,
        value: All(base),
        shared_value: None,
        up: All(base),
        down: All(base),
        output: base,
        output_of_eight: base,
        experts: None,
    }
}

/// A mix of two bits or fewer, with what is sensitive in another type.
const fn tiny(name: &'static str, base: Dtype, sensitive: Dtype, output: Dtype) -> Mix {
    Mix {
        head: Q5K,
        table: sensitive,
        key_of_eight: Q4K,
        value: All(sensitive),
        shared_value: Some(Q4K),
        down: First(Part(8), sensitive, base),
        output,
        output_of_eight: Q5K,
        ..plain(name, base)
    }
}

/// All mixes. Types whose files have it everywhere, such as `q8_0` and `q6_k`, are not among them.
const MIXES: &[Mix] = &[
    plain("q4_0", Q4_0),
    plain("q4_1", Q4_1),
    plain("q5_0", Q5_0),
    plain("q5_1", Q5_1),
    Mix {
        value: All(Q3K),
        shared_value: Some(Q4K),
        down: All(Q3K),
        output: Q3K,
        output_of_eight: Q5K,
        ..plain("q2_k", Q2K)
    },
    Mix { shared_value: Some(Q4K), down: First(Part(8), Q4K, Q2K), ..plain("q2_k_s", Q2K) },
    Mix { output_of_eight: Q5K, ..plain("q3_k_s", Q3K) },
    Mix {
        value: First(Layers(2), Q5K, Q4K),
        down: First(Part(16), Q5K, Q4K),
        output: Q4K,
        output_of_eight: Q5K,
        ..plain("q3_k_m", Q3K)
    },
    Mix { value: All(Q5K), down: All(Q5K), output: Q5K, ..plain("q3_k_l", Q3K) },
    Mix {
        value: First(Layers(4), Q5K, Q4K),
        down: First(Part(8), Q5K, Q4K),
        output_of_eight: Q5K,
        ..plain("q4_k_s", Q4K)
    },
    Mix { value: Spread(Q6K), down: Spread(Q6K), output_of_eight: Q5K, ..plain("q4_k_m", Q4K) },
    plain("q5_k_s", Q5K),
    Mix { value: Spread(Q6K), down: Spread(Q6K), ..plain("q5_k_m", Q5K) },
    tiny("iq1_s", Iq1S, Q2K, Iq2Xxs),
    tiny("iq1_m", Iq1M, Q2K, Iq2Xxs),
    tiny("iq2_xxs", Iq2Xxs, Q2K, Iq2Xxs),
    tiny("iq2_xs", Iq2Xs, Q2K, Iq2Xs),
    tiny("iq2_s", Iq2Xs, Iq3S, Iq3S),
    tiny("iq2_m", Iq2S, Iq3S, Iq3S),
    Mix {
        head: Q5K,
        table: Iq3S,
        query: Iq2S,
        shared_value: Some(Q4K),
        output: Iq3S,
        output_of_eight: Q5K,
        ..plain("iq3_xxs", Iq3Xxs)
    },
    Mix {
        query: Iq3Xxs,
        shared_value: Some(Q4K),
        up: Inner(Iq3Xxs),
        output_of_eight: Q5K,
        ..plain("iq3_xs", Iq3S)
    },
    Mix { shared_value: Some(Q4K), output_of_eight: Q5K, ..plain("iq3_s", Iq3S) },
    Mix {
        value: All(Q4K),
        down: First(Part(8), Q4K, Iq3S),
        output: Q4K,
        output_of_eight: Q5K,
        ..plain("iq3_m", Iq3S)
    },
    Mix {
        shared_value: Some(Q5K),
        down: First(Part(8), Q5K, Iq4Nl),
        output_of_eight: Q5K,
        ..plain("iq4_nl", Iq4Nl)
    },
    Mix {
        shared_value: Some(Q5K),
        down: First(Part(8), Q5K, Iq4Xs),
        output_of_eight: Q5K,
        ..plain("iq4_xs", Iq4Xs)
    },
    Mix { table: Q4K, ..plain("tq1_0", Tq1_0) },
    Mix { table: Q4K, ..plain("tq2_0", Tq2_0) },
    Mix { head: Q8_0, experts: Some(Mxfp4), ..plain("mxfp4_moe", Q8_0) },
];

/// What the names of small matrices have in common that the quantizer leaves as they are.
const KEPT: &str = "_norm.weight altup laurel per_layer_model_proj ssm_conv1d shortconv.conv.weight \
    indexer.k_proj.weight indexer.q_proj.weight time_mix_first.weight time_mix_w0.weight \
    time_mix_w1.weight time_mix_w2.weight time_mix_v0.weight time_mix_v1.weight time_mix_v2.weight \
    time_mix_a0.weight time_mix_a1.weight time_mix_a2.weight time_mix_g1.weight time_mix_g2.weight \
    time_mix_decay_w1.weight time_mix_decay_w2.weight time_mix_lerp_fused.weight attn_rel_b.weight";

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
    /// Experts to choose from; 0 for none.
    experts: u64,
    /// Heads that share a value.
    sharing: u64,
    /// The layers with values, in order.
    values: Vec<u64>,
}

impl Facts {
    fn new(tied: bool, places: impl Iterator<Item = (Option<u64>, Role)>, operations: &[Operation]) -> Facts {
        let mut facts = Facts { layers: 0, tied, experts: 0, sharing: 0, values: Vec::new() };
        for (layer, role) in places {
            let Some(layer) = layer else { continue };
            facts.layers = facts.layers.max(layer.saturating_add(1));
            if matches!(role, Role::Value | Role::QueryKeyValue | Role::KeyValueUp) {
                facts.values.push(layer);
            }
        }
        facts.values.sort_unstable();
        facts.values.dedup();
        for one in operations {
            match one.work {
                Work::Experts { count, .. } => facts.experts = count,
                Work::Attention(attention) if facts.sharing == 0 => {
                    facts.sharing = attention.heads / attention.kv_heads.max(1);
                }
                _ => {}
            }
        }
        facts
    }

    fn eight_experts(&self) -> bool {
        self.experts == 8
    }

    /// 80 layers with grouped queries, whose values are few and get more bits.
    fn seventy_billion(&self) -> bool {
        self.layers == 80 && self.sharing > 1
    }
}

/// The layer of a tensor and what it is for; what comes up from a latent vector in two halves has no rule.
fn place(tensor: &Tensor) -> Option<(Option<u64>, Role)> {
    let place = names::place(&tensor.name)?;
    let half = [".attn_k_b.", ".attn_v_b."].iter().any(|half| tensor.name.contains(half));
    Some((place.layer, if half { Role::Other } else { place.role }))
}

impl Mix {
    /// The names of mixes that no type has.
    pub fn names() -> impl Iterator<Item = &'static str> {
        MIXES.iter().map(|mix| mix.name).filter(|name| Dtype::from_name(name).is_none())
    }

    /// The mix of this name, in any case.
    pub fn by_name(name: &str) -> Option<&'static Mix> {
        MIXES.iter().find(|mix| mix.name.eq_ignore_ascii_case(name))
    }

    /// The type that a tensor gets; none when it stays as it is.
    fn of_tensor(&self, tensor: &Tensor, facts: &Facts) -> Option<Dtype> {
        let [ref rows @ .., row] = *tensor.dims.as_slice() else { return None };
        if rows.iter().all(|rows| *rows == 1) || KEPT.split(' ').any(|kept| tensor.name.contains(kept)) {
            return None;
        }
        let (layer, role) = place(tensor).unwrap_or((None, Role::Other));
        self.dtype(role, layer, row, facts)
    }

    /// How each operation would be stored where only the operations of a model are known: matrices as the mix has them,
    /// everything else in F32. A tied head has the weights of the embedding.
    pub fn of_operations(&self, operations: &[Operation]) -> Vec<StoredAs> {
        let head = operations.iter().find(|one| one.role == Role::Head);
        let tied = head.is_none_or(|head| head.parameters == 0);
        let facts = Facts::new(tied, operations.iter().map(|one| (one.layer, one.role)), operations);
        let written = |one: &Operation| {
            let (matrix, row) = match one.work {
                Work::Lookup { rows, cols } | Work::Product { rows, cols } => (rows * cols, cols),
                Work::Experts { rows, cols, count, .. } => (rows * cols * count, cols),
                _ => (0, 0),
            };
            let parameters = if one.role == Role::Head { matrix.max(one.parameters) } else { one.parameters };
            let matrix = matrix.min(parameters);
            // Kernels of a few taps stay as they are.
            let kernel = one.role == Role::Recurrence && row < 32;
            let dtype = Some(one.role).filter(|_| matrix > 0 && !kernel);
            let dtype = dtype.and_then(|role| self.dtype(role, one.layer, row, &facts));
            let bytes = dtype.and_then(|dtype| dtype.bytes(matrix)).unwrap_or(4 * matrix);
            let bytes = bytes + 4 * (parameters - matrix);
            StoredAs { parameters, bytes, dtype: dtype.unwrap_or(Dtype::F32) }
        };
        operations.iter().map(written).collect()
    }

    fn dtype(&self, role: Role, layer: Option<u64>, row: u64, facts: &Facts) -> Option<Dtype> {
        let layer = layer.unwrap_or(0);
        let eight = facts.eight_experts();
        let up = || self.up.at(layer, facts.layers, self.base);
        let down = || self.down.at(layer, facts.layers, self.base);
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
            Role::Embedding | Role::LayerEmbedding if facts.tied => head,
            Role::Embedding | Role::LayerEmbedding => self.table,
            Role::Value | Role::QueryKeyValue | Role::KeyValueUp => self.value(layer, facts),
            Role::Key if eight => self.key_of_eight,
            Role::Query | Role::Key => self.query,
            Role::Gate | Role::Up | Role::GateUp | Role::SharedGate | Role::SharedUp => up(),
            Role::ExpertGate | Role::ExpertUp | Role::ExpertGateUp => self.experts.unwrap_or_else(up),
            Role::Down | Role::SharedDown => down(),
            Role::ExpertDown => self.experts.unwrap_or_else(down),
            Role::AttentionOutput if eight => self.output_of_eight,
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

    /// The type of the values of a layer.
    fn value(&self, layer: u64, facts: &Facts) -> Dtype {
        // Mixes of two bits or fewer have rules of their own.
        let tiny = self.key_of_eight == Q4K;
        let shared = facts.sharing >= 4 || tiny && facts.experts >= 4;
        let at = facts.values.binary_search(&layer).unwrap_or(0) as u64;
        let wanted = match self.shared_value.filter(|_| shared) {
            Some(dtype) => dtype,
            None => self.value.at(at, facts.values.len() as u64, self.base),
        };
        match wanted {
            _ if facts.eight_experts() && !tiny => Q8_0,
            Q3K | Q4K if facts.seventy_billion() && !tiny => Q5K,
            other => other,
        }
    }
}

impl Rule {
    fn at(&self, layer: u64, layers: u64, base: Dtype) -> Dtype {
        match *self {
            All(dtype) => dtype,
            First(Layers(first), dtype, _) if layer < first => dtype,
            First(Part(part), dtype, _) if layer < layers / part => dtype,
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
    /// The model as a file of this mix would hold it. Its weights are not there any more.
    pub fn mixed(mut self, mix: &Mix) -> Model {
        let places: Vec<_> = self.tensors.iter().filter_map(place).collect();
        let tied = !places.iter().any(|(_, role)| *role == Role::Head);
        let facts = Facts::new(tied, places.into_iter(), &self.architecture.operations);
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
