//! Files of families that are read by their keys and tensors alone, with their real names and dimensions, and what a
//! token costs worked out from those. Only the headers are real: the files are sparse.

use roofline::contracts::hardware::devices::H100_SXM;
use roofline::model::{Basis, Dtype, Model, Role, Work};
use roofline::predict::{Numbers, Target};
use roofline::profile::{Costs, Workload, inputs, profile};

use crate::predicted;
use crate::scratch::files;
use crate::writer::{Gguf, Value};

use Dtype::{Bf16, F32, Mxfp4};

/// A tensor of every layer, or of those named: `*` stands for the number.
type Tensors<'a> = &'a [(&'a str, &'a [u64])];

/// A model file to be; matrices are in BF16 and vectors in F32 unless they say otherwise.
struct Fixture(Gguf);

impl Fixture {
    fn new(architecture: &str, keys: &[(&str, u32)]) -> Fixture {
        let keys: Vec<(&str, Value)> = keys.iter().map(|(key, value)| (*key, (*value).into())).collect();
        Fixture(Gguf::of(architecture, &keys))
    }

    fn key(mut self, key: &str, value: impl Into<Value>) -> Fixture {
        self.0 = self.0.key(key, value);
        self
    }

    fn tensor(mut self, name: &str, dims: &[u64], dtype: Dtype) -> Fixture {
        self.0 = self.0.tensor(name, dims, dtype);
        self
    }

    fn outside(self, tensors: Tensors) -> Fixture {
        tensors.iter().fold(self, |fixture, (name, dims)| fixture.tensor(name, dims, dtype(dims)))
    }

    fn layers(self, layers: impl IntoIterator<Item = u64>, tensors: Tensors) -> Fixture {
        layers.into_iter().fold(self, |fixture, layer| {
            tensors.iter().fold(fixture, |fixture, (name, dims)| {
                fixture.tensor(&format!("blk.{layer}.{name}"), dims, dtype(dims))
            })
        })
    }

    fn open(self, test: &str) -> Model {
        let name = format!("{test}.gguf");
        let path = files(&format!("decoder-{test}"), &[(&name, &self.0.header())]).join(name);
        let file = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
        file.set_len(self.0.length()).unwrap();
        Model::open(path).unwrap()
    }
}

fn dtype(dims: &[u64]) -> Dtype {
    if dims.len() > 1 { Bf16 } else { F32 }
}

fn profiled(model: &Model, context: u64, prompt: u64) -> Costs {
    let target = Target::of(&H100_SXM, None).unwrap();
    let (context, prompt) = (context as f64, prompt as f64);
    for batch in [1.0, 32.0] {
        let workload = Workload { batch, context, prompt, cache_size: 2.0, cache: Numbers::Half };
        predicted::assert_is_profiled(model, &target, &workload);
    }
    let workload = Workload { batch: 1.0, context, prompt, cache_size: 2.0, cache: Numbers::Half };
    profile(model, &target, &workload, None).unwrap()
}

/// What a token costs, worked out by hand.
struct Expected {
    /// All parameters.
    parameters: u64,
    /// Parameters that a token is multiplied with, the head among them.
    active: u64,
    /// Parameters of the head.
    head: u64,
    /// Numbers cached for a token by all layers that see everything, and by those with a window.
    cached: (u64, u64),
    /// Multiply-adds of a token with one that it sees, in the same layers.
    mixed: (u64, u64),
    window: u64,
}

/// Compares to a tenth of a per mille: vectors that are applied element by element may count or not.
#[track_caller]
fn close(what: &str, found: f64, expected: f64) {
    assert!((found / expected - 1.0).abs() < 1e-3, "{what}: {found} where {expected} is expected");
}

#[track_caller]
fn assert_costs(model: &Model, expected: &Expected) {
    assert_eq!(model.parameters(), expected.parameters, "parameters");
    let undefined: Vec<_> = model
        .architecture
        .operations
        .iter()
        .filter(|operation| matches!(operation.work, Work::Undefined { .. }))
        .collect();
    assert!(undefined.is_empty(), "{undefined:?}");
    for context in [4096, 32768] {
        let profile = profiled(model, context, context);
        let decode = profile.decode.unwrap();
        let seen = context.min(expected.window);
        let cache = 2 * (expected.cached.0 * context + expected.cached.1 * seen);
        assert_eq!(decode.cache_bytes, cache as f64, "cache of {context} tokens");
        let mixed = expected.mixed.0 * context + expected.mixed.1 * seen;
        close("decode flops", decode.flops, 2.0 * (expected.active + mixed) as f64);
        let pairs = |seen: u64| seen * (seen + 1) / 2 + (context - seen) * seen;
        let mixed = expected.mixed.0 * pairs(context) + expected.mixed.1 * pairs(seen);
        let matrices = (expected.active - expected.head) * context + expected.head;
        close("prefill flops", profile.prefill.unwrap().flops, 2.0 * (matrices + mixed) as f64);
    }
}

/// A decoder whose layers are all alike and see everything.
struct Dense {
    architecture: &'static str,
    /// Billions of parameters, as published.
    billions: f64,
    layers: u64,
    hidden: u64,
    heads: u64,
    kv_heads: u64,
    head: u64,
    vocab: u64,
    tied: bool,
    layer: Tensors<'static>,
    outside: Tensors<'static>,
}

const DENSE: &[Dense] = &[
    // Falcon 7B: one key-value head, attention and feed-forward side by side.
    Dense {
        architecture: "falcon",
        billions: 7.22,
        layers: 32,
        hidden: 4544,
        heads: 71,
        kv_heads: 1,
        head: 64,
        vocab: 65024,
        tied: false,
        layer: &[
            ("attn_norm.weight", &[4544]),
            ("attn_norm.bias", &[4544]),
            ("attn_qkv.weight", &[4672, 4544]),
            ("attn_output.weight", &[4544, 4544]),
            ("ffn_up.weight", &[18176, 4544]),
            ("ffn_down.weight", &[4544, 18176]),
        ],
        outside: &[("output_norm.weight", &[4544]), ("output_norm.bias", &[4544])],
    },
    // GPT-NeoX 20B: biases everywhere.
    Dense {
        architecture: "gptneox",
        billions: 20.55,
        layers: 44,
        hidden: 6144,
        heads: 64,
        kv_heads: 64,
        head: 96,
        vocab: 50432,
        tied: false,
        layer: &[
            ("attn_norm.weight", &[6144]),
            ("attn_norm.bias", &[6144]),
            ("attn_qkv.weight", &[18432, 6144]),
            ("attn_qkv.bias", &[18432]),
            ("attn_output.weight", &[6144, 6144]),
            ("attn_output.bias", &[6144]),
            ("ffn_norm.weight", &[6144]),
            ("ffn_norm.bias", &[6144]),
            ("ffn_up.weight", &[24576, 6144]),
            ("ffn_up.bias", &[24576]),
            ("ffn_down.weight", &[6144, 24576]),
            ("ffn_down.bias", &[6144]),
        ],
        outside: &[("output_norm.weight", &[6144]), ("output_norm.bias", &[6144])],
    },
    // GPT-J 6B: a bias on the head.
    Dense {
        architecture: "gptj",
        billions: 6.05,
        layers: 28,
        hidden: 4096,
        heads: 16,
        kv_heads: 16,
        head: 256,
        vocab: 50400,
        tied: false,
        layer: &[
            ("attn_norm.weight", &[4096]),
            ("attn_norm.bias", &[4096]),
            ("attn_q.weight", &[4096, 4096]),
            ("attn_k.weight", &[4096, 4096]),
            ("attn_v.weight", &[4096, 4096]),
            ("attn_output.weight", &[4096, 4096]),
            ("ffn_up.weight", &[16384, 4096]),
            ("ffn_up.bias", &[16384]),
            ("ffn_down.weight", &[4096, 16384]),
            ("ffn_down.bias", &[4096]),
        ],
        outside: &[("output_norm.weight", &[4096]), ("output_norm.bias", &[4096]), ("output.bias", &[50400])],
    },
    // StarCoder2 3B.
    Dense {
        architecture: "starcoder2",
        billions: 3.03,
        layers: 30,
        hidden: 3072,
        heads: 24,
        kv_heads: 2,
        head: 128,
        vocab: 49152,
        tied: true,
        layer: &[
            ("attn_norm.weight", &[3072]),
            ("attn_norm.bias", &[3072]),
            ("attn_q.weight", &[3072, 3072]),
            ("attn_q.bias", &[3072]),
            ("attn_k.weight", &[256, 3072]),
            ("attn_k.bias", &[256]),
            ("attn_v.weight", &[256, 3072]),
            ("attn_v.bias", &[256]),
            ("attn_output.weight", &[3072, 3072]),
            ("attn_output.bias", &[3072]),
            ("ffn_norm.weight", &[3072]),
            ("ffn_norm.bias", &[3072]),
            ("ffn_up.weight", &[12288, 3072]),
            ("ffn_up.bias", &[12288]),
            ("ffn_down.weight", &[3072, 12288]),
            ("ffn_down.bias", &[3072]),
        ],
        outside: &[("output_norm.weight", &[3072]), ("output_norm.bias", &[3072])],
    },
    // SmolLM3 3B.
    Dense {
        architecture: "smollm3",
        billions: 3.08,
        layers: 36,
        hidden: 2048,
        heads: 16,
        kv_heads: 4,
        head: 128,
        vocab: 128256,
        tied: true,
        layer: &[
            ("attn_norm.weight", &[2048]),
            ("attn_q.weight", &[2048, 2048]),
            ("attn_k.weight", &[512, 2048]),
            ("attn_v.weight", &[512, 2048]),
            ("attn_output.weight", &[2048, 2048]),
            ("ffn_norm.weight", &[2048]),
            ("ffn_gate.weight", &[11008, 2048]),
            ("ffn_up.weight", &[11008, 2048]),
            ("ffn_down.weight", &[2048, 11008]),
        ],
        outside: &[("output_norm.weight", &[2048])],
    },
    // OLMo 2 7B: norms behind attention and feed-forward, queries and keys normalized as a whole.
    Dense {
        architecture: "olmo2",
        billions: 7.30,
        layers: 32,
        hidden: 4096,
        heads: 32,
        kv_heads: 32,
        head: 128,
        vocab: 100352,
        tied: false,
        layer: &[
            ("attn_q.weight", &[4096, 4096]),
            ("attn_k.weight", &[4096, 4096]),
            ("attn_v.weight", &[4096, 4096]),
            ("attn_output.weight", &[4096, 4096]),
            ("attn_q_norm.weight", &[4096]),
            ("attn_k_norm.weight", &[4096]),
            ("post_attention_norm.weight", &[4096]),
            ("ffn_gate.weight", &[11008, 4096]),
            ("ffn_up.weight", &[11008, 4096]),
            ("ffn_down.weight", &[4096, 11008]),
            ("post_ffw_norm.weight", &[4096]),
        ],
        outside: &[("output_norm.weight", &[4096])],
    },
    // Command-R 35B: one norm for a layer.
    Dense {
        architecture: "command-r",
        billions: 34.98,
        layers: 40,
        hidden: 8192,
        heads: 64,
        kv_heads: 64,
        head: 128,
        vocab: 256000,
        tied: true,
        layer: &[
            ("attn_norm.weight", &[8192]),
            ("attn_q.weight", &[8192, 8192]),
            ("attn_k.weight", &[8192, 8192]),
            ("attn_v.weight", &[8192, 8192]),
            ("attn_output.weight", &[8192, 8192]),
            ("ffn_gate.weight", &[22528, 8192]),
            ("ffn_up.weight", &[22528, 8192]),
            ("ffn_down.weight", &[8192, 22528]),
        ],
        outside: &[("output_norm.weight", &[8192])],
    },
    // Granite 3.3 8B.
    Dense {
        architecture: "granite",
        billions: 8.17,
        layers: 40,
        hidden: 4096,
        heads: 32,
        kv_heads: 8,
        head: 128,
        vocab: 49159,
        tied: true,
        layer: &[
            ("attn_norm.weight", &[4096]),
            ("attn_q.weight", &[4096, 4096]),
            ("attn_k.weight", &[1024, 4096]),
            ("attn_v.weight", &[1024, 4096]),
            ("attn_output.weight", &[4096, 4096]),
            ("ffn_norm.weight", &[4096]),
            ("ffn_gate.weight", &[12800, 4096]),
            ("ffn_up.weight", &[12800, 4096]),
            ("ffn_down.weight", &[4096, 12800]),
        ],
        outside: &[("output_norm.weight", &[4096])],
    },
    // Minitron 4B: no gate, norms with a bias.
    Dense {
        architecture: "nemotron",
        billions: 4.19,
        layers: 32,
        hidden: 3072,
        heads: 24,
        kv_heads: 8,
        head: 128,
        vocab: 256000,
        tied: false,
        layer: &[
            ("attn_norm.weight", &[3072]),
            ("attn_norm.bias", &[3072]),
            ("attn_q.weight", &[3072, 3072]),
            ("attn_k.weight", &[1024, 3072]),
            ("attn_v.weight", &[1024, 3072]),
            ("attn_output.weight", &[3072, 3072]),
            ("ffn_norm.weight", &[3072]),
            ("ffn_norm.bias", &[3072]),
            ("ffn_up.weight", &[9216, 3072]),
            ("ffn_down.weight", &[3072, 9216]),
        ],
        outside: &[("output_norm.weight", &[3072]), ("output_norm.bias", &[3072])],
    },
    // EXAONE 3.5 7.8B.
    Dense {
        architecture: "exaone",
        billions: 7.82,
        layers: 32,
        hidden: 4096,
        heads: 32,
        kv_heads: 8,
        head: 128,
        vocab: 102400,
        tied: false,
        layer: &[
            ("attn_norm.weight", &[4096]),
            ("attn_q.weight", &[4096, 4096]),
            ("attn_k.weight", &[1024, 4096]),
            ("attn_v.weight", &[1024, 4096]),
            ("attn_output.weight", &[4096, 4096]),
            ("ffn_norm.weight", &[4096]),
            ("ffn_gate.weight", &[14336, 4096]),
            ("ffn_up.weight", &[14336, 4096]),
            ("ffn_down.weight", &[4096, 14336]),
        ],
        outside: &[("output_norm.weight", &[4096])],
    },
    // InternLM 2 7B.
    Dense {
        architecture: "internlm2",
        billions: 7.74,
        layers: 32,
        hidden: 4096,
        heads: 32,
        kv_heads: 8,
        head: 128,
        vocab: 92544,
        tied: false,
        layer: &[
            ("attn_norm.weight", &[4096]),
            ("attn_q.weight", &[4096, 4096]),
            ("attn_k.weight", &[1024, 4096]),
            ("attn_v.weight", &[1024, 4096]),
            ("attn_output.weight", &[4096, 4096]),
            ("ffn_norm.weight", &[4096]),
            ("ffn_gate.weight", &[14336, 4096]),
            ("ffn_up.weight", &[14336, 4096]),
            ("ffn_down.weight", &[4096, 14336]),
        ],
        outside: &[("output_norm.weight", &[4096])],
    },
    // Baichuan 2 7B.
    Dense {
        architecture: "baichuan",
        billions: 7.51,
        layers: 32,
        hidden: 4096,
        heads: 32,
        kv_heads: 32,
        head: 128,
        vocab: 125696,
        tied: false,
        layer: &[
            ("attn_norm.weight", &[4096]),
            ("attn_q.weight", &[4096, 4096]),
            ("attn_k.weight", &[4096, 4096]),
            ("attn_v.weight", &[4096, 4096]),
            ("attn_output.weight", &[4096, 4096]),
            ("ffn_norm.weight", &[4096]),
            ("ffn_gate.weight", &[11008, 4096]),
            ("ffn_up.weight", &[11008, 4096]),
            ("ffn_down.weight", &[4096, 11008]),
        ],
        outside: &[("output_norm.weight", &[4096])],
    },
    // Mistral Small 3.1 24B: heads narrower than hidden / heads.
    Dense {
        architecture: "mistral3",
        billions: 23.57,
        layers: 40,
        hidden: 5120,
        heads: 32,
        kv_heads: 8,
        head: 128,
        vocab: 131072,
        tied: false,
        layer: &[
            ("attn_norm.weight", &[5120]),
            ("attn_q.weight", &[4096, 5120]),
            ("attn_k.weight", &[1024, 5120]),
            ("attn_v.weight", &[1024, 5120]),
            ("attn_output.weight", &[5120, 4096]),
            ("ffn_norm.weight", &[5120]),
            ("ffn_gate.weight", &[32768, 5120]),
            ("ffn_up.weight", &[32768, 5120]),
            ("ffn_down.weight", &[5120, 32768]),
        ],
        outside: &[("output_norm.weight", &[5120])],
    },
    // GLM-4 9B of April 2025: gate and up projection in one matrix, norms before and behind.
    Dense {
        architecture: "glm4",
        billions: 9.40,
        layers: 40,
        hidden: 4096,
        heads: 32,
        kv_heads: 2,
        head: 128,
        vocab: 151552,
        tied: false,
        layer: &[
            ("attn_norm.weight", &[4096]),
            ("attn_q.weight", &[4096, 4096]),
            ("attn_q.bias", &[4096]),
            ("attn_k.weight", &[256, 4096]),
            ("attn_k.bias", &[256]),
            ("attn_v.weight", &[256, 4096]),
            ("attn_v.bias", &[256]),
            ("attn_output.weight", &[4096, 4096]),
            ("post_attention_norm.weight", &[4096]),
            ("ffn_norm.weight", &[4096]),
            ("ffn_up.weight", &[27392, 4096]),
            ("ffn_down.weight", &[4096, 13696]),
            ("post_ffw_norm.weight", &[4096]),
        ],
        outside: &[("output_norm.weight", &[4096])],
    },
    // Qwen2.5-VL 7B: the language model; its tower is a file of its own.
    Dense {
        architecture: "qwen2vl",
        billions: 7.62,
        layers: 28,
        hidden: 3584,
        heads: 28,
        kv_heads: 4,
        head: 128,
        vocab: 152064,
        tied: false,
        layer: &[
            ("attn_norm.weight", &[3584]),
            ("attn_q.weight", &[3584, 3584]),
            ("attn_q.bias", &[3584]),
            ("attn_k.weight", &[512, 3584]),
            ("attn_k.bias", &[512]),
            ("attn_v.weight", &[512, 3584]),
            ("attn_v.bias", &[512]),
            ("attn_output.weight", &[3584, 3584]),
            ("ffn_norm.weight", &[3584]),
            ("ffn_gate.weight", &[18944, 3584]),
            ("ffn_up.weight", &[18944, 3584]),
            ("ffn_down.weight", &[3584, 18944]),
        ],
        outside: &[("output_norm.weight", &[3584])],
    },
    // Qwen3-VL 8B.
    Dense {
        architecture: "qwen3vl",
        billions: 8.19,
        layers: 36,
        hidden: 4096,
        heads: 32,
        kv_heads: 8,
        head: 128,
        vocab: 151936,
        tied: false,
        layer: &[
            ("attn_norm.weight", &[4096]),
            ("attn_q.weight", &[4096, 4096]),
            ("attn_k.weight", &[1024, 4096]),
            ("attn_v.weight", &[1024, 4096]),
            ("attn_output.weight", &[4096, 4096]),
            ("attn_q_norm.weight", &[128]),
            ("attn_k_norm.weight", &[128]),
            ("ffn_norm.weight", &[4096]),
            ("ffn_gate.weight", &[12288, 4096]),
            ("ffn_up.weight", &[12288, 4096]),
            ("ffn_down.weight", &[4096, 12288]),
        ],
        outside: &[("output_norm.weight", &[4096])],
    },
];

#[test]
fn decoders_of_equal_layers_are_read_by_their_keys_and_tensors() {
    for model in DENSE {
        let Dense { architecture, layers, hidden, heads, kv_heads, head, vocab, .. } = *model;
        let keys = [
            ("block_count", layers as u32),
            ("context_length", 131_072),
            ("embedding_length", hidden as u32),
            ("attention.head_count", heads as u32),
            ("attention.head_count_kv", kv_heads as u32),
            ("attention.key_length", head as u32),
            ("attention.value_length", head as u32),
        ];
        let mut fixture = Fixture::new(architecture, &keys)
            .outside(&[("token_embd.weight", &[vocab, hidden])])
            .layers(0..layers, model.layer)
            .outside(model.outside);
        if !model.tied {
            fixture = fixture.outside(&[("output.weight", &[vocab, hidden])]);
        }
        let opened = fixture.open(architecture);
        assert_eq!(opened.architecture.basis, Basis::Stated, "{architecture}");
        let sum =
            |tensors: Tensors| tensors.iter().map(|(_, dims)| dims.iter().product::<u64>()).sum::<u64>();
        let table = vocab * hidden;
        let rest = layers * sum(model.layer) + sum(model.outside);
        let parameters = rest + if model.tied { table } else { 2 * table };
        assert_eq!((parameters as f64 / 1e7).round() / 100.0, model.billions, "{architecture}");
        assert_costs(
            &opened,
            &Expected {
                parameters,
                active: rest + table,
                head: table,
                cached: (layers * kv_heads * 2 * head, 0),
                mixed: (layers * heads * 2 * head, 0),
                window: u64::MAX,
            },
        );
        let weights = profiled(&opened, 1, 1).decode.unwrap().weight_bytes;
        // A row of the embedding is looked up, which is next to nothing; a tied table is read as the head.
        let stored = opened.bytes().unwrap() - if model.tied { 0 } else { 2 * table };
        close(architecture, weights, stored as f64);
        assert_eq!(opened.architecture.context_length, Some(131_072));
        // A prediction takes the same numbers from the file.
        let inputs = inputs(&opened, None).unwrap().0;
        assert_eq!(inputs.full_width, (layers * kv_heads * 2 * head) as f64, "{architecture}");
        close(architecture, inputs.dense_params + inputs.head_params, (rest + table) as f64);
    }
}

#[test]
fn gpt_oss_slides_in_every_other_layer_and_keeps_its_experts_in_four_bits() {
    // gpt-oss 20B: 24 layers, 64 heads of 64 of which 8 have keys and values, 4 of 32 experts, a window of 128 tokens
    // in the even layers.
    let mut fixture = Fixture::new(
        "gpt-oss",
        &[
            ("block_count", 24),
            ("context_length", 131_072),
            ("embedding_length", 2880),
            ("feed_forward_length", 2880),
            ("attention.head_count", 64),
            ("attention.head_count_kv", 8),
            ("attention.key_length", 64),
            ("attention.value_length", 64),
            ("attention.sliding_window", 128),
            ("expert_count", 32),
            ("expert_used_count", 4),
            ("expert_feed_forward_length", 2880),
        ],
    )
    .outside(&[("token_embd.weight", &[201_088, 2880])]);
    for layer in 0..24 {
        fixture = fixture.layers(
            [layer],
            &[
                ("attn_norm.weight", &[2880]),
                ("attn_q.weight", &[4096, 2880]),
                ("attn_q.bias", &[4096]),
                ("attn_k.weight", &[512, 2880]),
                ("attn_k.bias", &[512]),
                ("attn_v.weight", &[512, 2880]),
                ("attn_v.bias", &[512]),
                ("attn_sinks.weight", &[64]),
                ("attn_output.weight", &[2880, 4096]),
                ("attn_output.bias", &[2880]),
                ("post_attention_norm.weight", &[2880]),
                ("ffn_gate_inp.weight", &[32, 2880]),
                ("ffn_gate_inp.bias", &[32]),
            ],
        );
        for name in ["gate", "up", "down"] {
            fixture = fixture
                .tensor(&format!("blk.{layer}.ffn_{name}_exps.weight"), &[32, 2880, 2880], Mxfp4)
                .tensor(&format!("blk.{layer}.ffn_{name}_exps.bias"), &[32, 2880], F32);
        }
    }
    let model = fixture
        .outside(&[("output_norm.weight", &[2880]), ("output.weight", &[201_088, 2880])])
        .open("gpt-oss");
    assert_eq!(
        model.warnings,
        ["read by its keys and the shapes of its tensors: each matrix is multiplied once for a token; \
          no key says which layers have a window: the last of every 2 sees the whole context"]
    );
    let table = 201_088 * 2880;
    let attention = 2880 * (4096 + 512 + 512) + (4096 + 512 + 512) + 64 + 2880 * 4096 + 2880;
    let router = 32 * 2880 + 32;
    let expert = 3 * (2880 * 2880 + 2880);
    let other = 24 * (attention + router + 2 * 2880) + 2880;
    assert_costs(
        &model,
        &Expected {
            parameters: 20_914_757_184,
            active: other + 24 * 4 * expert + table,
            head: table,
            cached: (12 * 8 * 2 * 64, 12 * 8 * 2 * 64),
            mixed: (12 * 64 * 2 * 64, 12 * 64 * 2 * 64),
            window: 128,
        },
    );
    // Four of 32 experts at 17 bytes for 32 weights with biases in F32, the rest at two bytes a weight.
    let bytes = 24 * 4 * 3 * (2880 * 2880 / 32 * 17 + 2880 * 4) + 2 * (other + table);
    close("weights", profiled(&model, 1, 1).decode.unwrap().weight_bytes, bytes as f64);
}

/// Attention and experts of one layer, all biases left out.
fn mixture(hidden: u64, heads: u64, kv_heads: u64, head: u64) -> u64 {
    hidden * head * (2 * heads + 2 * kv_heads)
}

#[test]
fn llama_4_sees_chunks_in_three_of_four_layers_and_has_a_shared_expert() {
    // Scout: 48 layers, one of 16 experts of 8192 and a shared one, 40 heads of 128 over 8.
    let model = Fixture::new(
        "llama4",
        &[
            ("block_count", 48),
            ("context_length", 10_485_760),
            ("embedding_length", 5120),
            ("feed_forward_length", 16384),
            ("attention.head_count", 40),
            ("attention.head_count_kv", 8),
            ("attention.key_length", 128),
            ("attention.value_length", 128),
            ("interleave_moe_layer_step", 1),
            ("expert_count", 16),
            ("expert_used_count", 1),
            ("expert_feed_forward_length", 8192),
        ],
    )
    .outside(&[("token_embd.weight", &[202_048, 5120])])
    .layers(
        0..48,
        &[
            ("attn_norm.weight", &[5120]),
            ("attn_q.weight", &[5120, 5120]),
            ("attn_k.weight", &[1024, 5120]),
            ("attn_v.weight", &[1024, 5120]),
            ("attn_output.weight", &[5120, 5120]),
            ("ffn_norm.weight", &[5120]),
            ("ffn_gate_inp.weight", &[16, 5120]),
            ("ffn_gate_exps.weight", &[16, 8192, 5120]),
            ("ffn_up_exps.weight", &[16, 8192, 5120]),
            ("ffn_down_exps.weight", &[16, 5120, 8192]),
            ("ffn_gate_shexp.weight", &[8192, 5120]),
            ("ffn_up_shexp.weight", &[8192, 5120]),
            ("ffn_down_shexp.weight", &[5120, 8192]),
        ],
    )
    .outside(&[("output_norm.weight", &[5120]), ("output.weight", &[202_048, 5120])])
    .open("llama4");
    let (table, expert) = (202_048 * 5120, 3 * 5120 * 8192);
    let layer = mixture(5120, 40, 8, 128) + 16 * 5120 + 2 * 5120;
    let parameters = 48 * (layer + 17 * expert) + 5120 + 2 * table;
    assert_eq!(parameters / 10_000_000, 10_776, "107.77 billion, rounded up");
    assert_costs(
        &model,
        &Expected {
            parameters,
            active: 48 * (layer + 2 * expert) + 5120 + table,
            head: table,
            cached: (12 * 8 * 2 * 128, 36 * 8 * 2 * 128),
            mixed: (12 * 40 * 2 * 128, 36 * 40 * 2 * 128),
            window: 8192,
        },
    );
}

/// GLM-4.5 Air: one dense layer, 45 with 8 of 128 experts and a shared one, and a block for further tokens.
pub fn glm_4_5_air(test: &str) -> Model {
    let attention: Tensors = &[
        ("attn_norm.weight", &[4096]),
        ("attn_q.weight", &[12288, 4096]),
        ("attn_q.bias", &[12288]),
        ("attn_k.weight", &[1024, 4096]),
        ("attn_k.bias", &[1024]),
        ("attn_v.weight", &[1024, 4096]),
        ("attn_v.bias", &[1024]),
        ("attn_output.weight", &[4096, 12288]),
        ("post_attention_norm.weight", &[4096]),
    ];
    Fixture::new(
        "glm4moe",
        &[
            ("block_count", 47),
            ("nextn_predict_layers", 1),
            ("context_length", 131_072),
            ("embedding_length", 4096),
            ("feed_forward_length", 10944),
            ("attention.head_count", 96),
            ("attention.head_count_kv", 8),
            ("attention.key_length", 128),
            ("attention.value_length", 128),
            ("expert_count", 128),
            ("expert_used_count", 8),
            ("expert_shared_count", 1),
            ("expert_feed_forward_length", 1408),
            ("leading_dense_block_count", 1),
        ],
    )
    .outside(&[("token_embd.weight", &[151_552, 4096])])
    .layers(0..47, attention)
    .layers(
        0..1,
        &[
            ("ffn_gate.weight", &[10944, 4096]),
            ("ffn_up.weight", &[10944, 4096]),
            ("ffn_down.weight", &[4096, 10944]),
        ],
    )
    .layers(
        1..47,
        &[
            ("ffn_gate_inp.weight", &[128, 4096]),
            ("exp_probs_b.bias", &[128]),
            ("ffn_gate_exps.weight", &[128, 1408, 4096]),
            ("ffn_up_exps.weight", &[128, 1408, 4096]),
            ("ffn_down_exps.weight", &[128, 4096, 1408]),
            ("ffn_gate_shexp.weight", &[1408, 4096]),
            ("ffn_up_shexp.weight", &[1408, 4096]),
            ("ffn_down_shexp.weight", &[4096, 1408]),
        ],
    )
    .layers(
        46..47,
        &[
            ("nextn.eh_proj.weight", &[4096, 8192]),
            ("nextn.enorm.weight", &[4096]),
            ("nextn.hnorm.weight", &[4096]),
            ("nextn.shared_head_norm.weight", &[4096]),
        ],
    )
    .outside(&[("output_norm.weight", &[4096]), ("output.weight", &[151_552, 4096])])
    .open(test)
}

#[test]
fn glm_4_5_leaves_the_block_that_predicts_further_tokens_out_of_a_token() {
    let model = glm_4_5_air("glm4moe");
    let (table, expert) = (151_552 * 4096, 3 * 4096 * 1408);
    let attention = mixture(4096, 96, 8, 128) + 12288 + 2 * 1024 + 2 * 4096;
    let sparse = attention + 128 * 4096 + 128 + 129 * expert;
    let further = sparse + 4096 * 8192 + 3 * 4096;
    let dense = attention + 3 * 4096 * 10944;
    let parameters = dense + 45 * sparse + further + 4096 + 2 * table;
    assert_eq!((parameters as f64 / 1e9).round(), 109.0);
    assert_costs(
        &model,
        &Expected {
            parameters,
            active: dense + 45 * (sparse - 120 * expert) + 4096 + table,
            head: table,
            cached: (46 * 8 * 2 * 128, 0),
            mixed: (46 * 96 * 2 * 128, 0),
            window: u64::MAX,
        },
    );
    assert!(model.warnings.iter().any(|told| told.contains("layers that ordinary decoding does not run")));
}

#[test]
fn minimax_m2_normalizes_queries_and_keys_over_all_heads() {
    let model = Fixture::new(
        "minimax-m2",
        &[
            ("block_count", 62),
            ("context_length", 196_608),
            ("embedding_length", 3072),
            ("attention.head_count", 48),
            ("attention.head_count_kv", 8),
            ("attention.key_length", 128),
            ("attention.value_length", 128),
            ("expert_count", 256),
            ("expert_used_count", 8),
            ("expert_feed_forward_length", 1536),
        ],
    )
    .outside(&[("token_embd.weight", &[200_064, 3072])])
    .layers(
        0..62,
        &[
            ("attn_norm.weight", &[3072]),
            ("attn_q.weight", &[6144, 3072]),
            ("attn_q_norm.weight", &[6144]),
            ("attn_k.weight", &[1024, 3072]),
            ("attn_k_norm.weight", &[1024]),
            ("attn_v.weight", &[1024, 3072]),
            ("attn_output.weight", &[3072, 6144]),
            ("ffn_norm.weight", &[3072]),
            ("ffn_gate_inp.weight", &[256, 3072]),
            ("exp_probs_b.bias", &[256]),
            ("ffn_gate_exps.weight", &[256, 1536, 3072]),
            ("ffn_up_exps.weight", &[256, 1536, 3072]),
            ("ffn_down_exps.weight", &[256, 3072, 1536]),
        ],
    )
    .outside(&[("output_norm.weight", &[3072]), ("output.weight", &[200_064, 3072])])
    .open("minimax-m2");
    let (table, expert) = (200_064 * 3072, 3 * 3072 * 1536);
    let layer = mixture(3072, 48, 8, 128) + 6144 + 1024 + 2 * 3072 + 256 * 3072 + 256;
    let parameters = 62 * (layer + 256 * expert) + 3072 + 2 * table;
    assert_eq!(parameters / 10_000_000, 22_868, "228.69 billion, rounded up");
    assert_costs(
        &model,
        &Expected {
            parameters,
            active: 62 * (layer + 8 * expert) + 3072 + table,
            head: table,
            cached: (62 * 8 * 2 * 128, 0),
            mixed: (62 * 48 * 2 * 128, 0),
            window: u64::MAX,
        },
    );
}

/// A step of a model that keeps states: flops, bytes and the state of all layers that have one.
#[track_caller]
fn assert_states(model: &Model, active: u64, states: u64, work: u64, cached: u64, mixed: u64) {
    let kept: u64 = model
        .architecture
        .operations
        .iter()
        .map(|operation| match operation.work {
            Work::State(state) => state.elements,
            _ => 0,
        })
        .sum();
    assert_eq!(kept, states, "numbers of all states");
    for context in [4096, 32768] {
        let decode = profiled(model, context, 1).decode.unwrap();
        // Only attention has a cache that grows; a state is read and written in 32 bits.
        assert_eq!(decode.cache_bytes, (2 * cached * context + 2 * 4 * states) as f64);
        close("decode flops", decode.flops, (2 * active + work + 2 * mixed * context) as f64);
    }
}

#[test]
fn mamba_reads_and_writes_its_state_and_has_no_cache() {
    // Mamba 2.8B: 64 layers of 2560, twice as wide inside, 16 numbers of state for each of them.
    let model = Fixture::new(
        "mamba",
        &[
            ("block_count", 64),
            ("context_length", 1_048_576),
            ("embedding_length", 2560),
            ("feed_forward_length", 0),
            ("attention.head_count", 0),
            ("ssm.conv_kernel", 4),
            ("ssm.inner_size", 5120),
            ("ssm.state_size", 16),
            ("ssm.time_step_rank", 160),
        ],
    )
    .outside(&[("token_embd.weight", &[50280, 2560]), ("output_norm.weight", &[2560])])
    .layers(
        0..64,
        &[
            ("attn_norm.weight", &[2560]),
            ("ssm_in.weight", &[10240, 2560]),
            ("ssm_conv1d.weight", &[5120, 4]),
            ("ssm_conv1d.bias", &[5120]),
            ("ssm_x.weight", &[192, 5120]),
            ("ssm_dt.weight", &[5120, 160]),
            ("ssm_dt.bias", &[5120]),
            ("ssm_a", &[5120, 16]),
            ("ssm_d", &[5120]),
            ("ssm_out.weight", &[2560, 5120]),
        ],
    )
    .open("mamba");
    assert_eq!(model.parameters(), 2_768_345_600);
    let inner = 5120;
    let state = inner * 16;
    // A decay made for each number (one product), its own, what the token adds (two), and two for the result.
    assert_eq!(inputs(&model, None).unwrap().0.state_width, (64 * (state + 3 * inner)) as f64);
    assert_states(&model, 2_768_345_600, 64 * (state + 3 * inner), 64 * state * 6, 0, 0);
}

#[test]
fn mamba_2_keeps_the_last_inputs_of_its_groups_too() {
    // Mamba 2 2.7B: 64 layers of 2560, 80 heads, one group, 128 numbers of state.
    let model = Fixture::new(
        "mamba2",
        &[
            ("block_count", 64),
            ("embedding_length", 2560),
            ("attention.head_count", 0),
            ("ssm.conv_kernel", 4),
            ("ssm.inner_size", 5120),
            ("ssm.state_size", 128),
            ("ssm.time_step_rank", 80),
            ("ssm.group_count", 1),
        ],
    )
    .outside(&[("token_embd.weight", &[50288, 2560]), ("output_norm.weight", &[2560])])
    .layers(
        0..64,
        &[
            ("attn_norm.weight", &[2560]),
            ("ssm_in.weight", &[10576, 2560]),
            ("ssm_conv1d.weight", &[5376, 4]),
            ("ssm_conv1d.bias", &[5376]),
            ("ssm_dt.bias", &[80]),
            ("ssm_a", &[80, 1]),
            ("ssm_d", &[80, 1]),
            ("ssm_norm.weight", &[5120]),
            ("ssm_out.weight", &[2560, 5120]),
        ],
    )
    .open("mamba2");
    let layer = 2560 + 10576 * 2560 + 5376 * 5 + 3 * 80 + 5120 + 2560 * 5120;
    let parameters = 64 * layer + 50288 * 2560 + 2560;
    assert_eq!(model.parameters(), parameters);
    assert_eq!((parameters as f64 / 1e8).round(), 27.0);
    let state = 5120 * 128;
    assert_states(&model, parameters, 64 * (state + 3 * (5120 + 2 * 128)), 64 * state * 5, 0, 0);
}

#[test]
fn jamba_attends_in_one_of_eight_layers_and_keeps_a_state_in_the_others() {
    // As Jamba, one period of eight layers: attention in the fifth, 16 experts in every other layer.
    let heads = [0, 0, 0, 0, 32, 0, 0, 0].to_vec();
    let kv_heads = [0, 0, 0, 0, 8, 0, 0, 0].to_vec();
    let mamba: Tensors = &[
        ("ssm_in.weight", &[16384, 4096]),
        ("ssm_conv1d.weight", &[8192, 4]),
        ("ssm_conv1d.bias", &[8192]),
        ("ssm_x.weight", &[288, 8192]),
        ("ssm_dt_norm.weight", &[256]),
        ("ssm_dt.weight", &[8192, 256]),
        ("ssm_dt.bias", &[8192]),
        ("ssm_b_norm.weight", &[16]),
        ("ssm_c_norm.weight", &[16]),
        ("ssm_a", &[8192, 16]),
        ("ssm_d", &[8192]),
        ("ssm_out.weight", &[4096, 8192]),
    ];
    let attention: Tensors = &[
        ("attn_q.weight", &[4096, 4096]),
        ("attn_k.weight", &[1024, 4096]),
        ("attn_v.weight", &[1024, 4096]),
        ("attn_output.weight", &[4096, 4096]),
    ];
    let dense: Tensors = &[
        ("ffn_gate.weight", &[14336, 4096]),
        ("ffn_up.weight", &[14336, 4096]),
        ("ffn_down.weight", &[4096, 14336]),
    ];
    let sparse: Tensors = &[
        ("ffn_gate_inp.weight", &[16, 4096]),
        ("ffn_gate_exps.weight", &[16, 14336, 4096]),
        ("ffn_up_exps.weight", &[16, 14336, 4096]),
        ("ffn_down_exps.weight", &[16, 4096, 14336]),
    ];
    let model = Fixture::new(
        "jamba",
        &[
            ("block_count", 8),
            ("embedding_length", 4096),
            ("expert_count", 16),
            ("expert_used_count", 2),
            ("ssm.conv_kernel", 4),
            ("ssm.inner_size", 8192),
            ("ssm.state_size", 16),
            ("ssm.time_step_rank", 256),
        ],
    )
    .key("jamba.attention.head_count", heads)
    .key("jamba.attention.head_count_kv", kv_heads)
    .key("jamba.attention.key_length", 128)
    .key("jamba.attention.value_length", 128)
    .outside(&[("token_embd.weight", &[65536, 4096])])
    .layers(0..8, &[("attn_norm.weight", &[4096]), ("ffn_norm.weight", &[4096])])
    .layers([0, 1, 2, 3, 5, 6, 7], mamba)
    .layers([4], attention)
    .layers([0, 2, 4, 6], dense)
    .layers([1, 3, 5, 7], sparse)
    .outside(&[("output_norm.weight", &[4096]), ("output.weight", &[65536, 4096])])
    .open("jamba");
    let sum = |tensors: Tensors| tensors.iter().map(|(_, dims)| dims.iter().product::<u64>()).sum::<u64>();
    let expert = 3 * 4096 * 14336;
    let (one, table) = (sum(dense), 65536 * 4096);
    let rest = 8 * 2 * 4096 + 7 * sum(mamba) + sum(attention) + 4096;
    assert_eq!(model.parameters(), rest + 4 * (one + sum(sparse)) + 2 * table);
    let active = rest + 4 * (one + 16 * 4096 + 2 * expert) + table;
    let state = 8192 * 16;
    assert_states(&model, active, 7 * (state + 3 * 8192), 7 * state * 6, 8 * 2 * 128, 32 * 2 * 128);
}

#[test]
fn rwkv_7_keeps_a_matrix_for_each_head_and_the_token_before() {
    // RWKV 7 of 0.1 billion parameters, the matrices of one layer: 768 wide, heads of 64.
    let model = Fixture::new(
        "rwkv7",
        &[("block_count", 12), ("embedding_length", 768), ("attention.head_count", 0), ("wkv.head_size", 64)],
    )
    .outside(&[("token_embd.weight", &[65536, 768]), ("token_embd_norm.weight", &[768])])
    .layers(
        0..12,
        &[
            ("attn_norm.weight", &[768]),
            ("time_mix_lerp_fused.weight", &[6, 1, 1, 768]),
            ("time_mix_w0.weight", &[768]),
            ("time_mix_w1.weight", &[64, 768]),
            ("time_mix_w2.weight", &[768, 64]),
            ("time_mix_a0.weight", &[768]),
            ("time_mix_a1.weight", &[64, 768]),
            ("time_mix_a2.weight", &[768, 64]),
            ("time_mix_g1.weight", &[128, 768]),
            ("time_mix_g2.weight", &[768, 128]),
            ("time_mix_k_k.weight", &[768]),
            ("time_mix_k_a.weight", &[768]),
            ("time_mix_r_k.weight", &[768]),
            ("time_mix_key.weight", &[768, 768]),
            ("time_mix_value.weight", &[768, 768]),
            ("time_mix_receptance.weight", &[768, 768]),
            ("time_mix_output.weight", &[768, 768]),
            ("time_mix_ln.weight", &[768]),
            ("time_mix_ln.bias", &[768]),
            ("channel_mix_lerp_k.weight", &[768]),
            ("channel_mix_key.weight", &[3072, 768]),
            ("channel_mix_value.weight", &[768, 3072]),
        ],
    )
    .outside(&[("output_norm.weight", &[768]), ("output.weight", &[65536, 768])])
    .open("rwkv7");
    let table = 65536 * 768;
    let active = model.parameters() - table;
    let matrix = 768 * 64;
    assert_states(&model, active, 12 * (matrix + 2 * 768), 12 * matrix * 9, 0, 0);
}

#[test]
fn rwkv_6_adds_what_is_new_to_the_first_token_apart() {
    // RWKV 6 of 1.6 billion parameters: 24 layers of 2048, heads of 64, inner width 7168.
    let model = Fixture::new(
        "rwkv6",
        &[
            ("block_count", 24),
            ("context_length", 1_048_576),
            ("embedding_length", 2048),
            ("feed_forward_length", 7168),
            ("attention.head_count", 0),
            ("wkv.head_size", 64),
            ("time_mix_extra_dim", 32),
            ("time_decay_extra_dim", 64),
        ],
    )
    .outside(&[
        ("token_embd.weight", &[65536, 2048]),
        ("token_embd_norm.weight", &[2048]),
        ("token_embd_norm.bias", &[2048]),
    ])
    .layers(
        0..24,
        &[
            ("attn_norm.weight", &[2048]),
            ("attn_norm.bias", &[2048]),
            ("attn_norm_2.weight", &[2048]),
            ("attn_norm_2.bias", &[2048]),
            ("time_mix_w1.weight", &[160, 2048]),
            ("time_mix_w2.weight", &[5, 2048, 32]),
            ("time_mix_lerp_x.weight", &[1, 1, 2048]),
            ("time_mix_lerp_w.weight", &[1, 1, 2048]),
            ("time_mix_lerp_k.weight", &[1, 1, 2048]),
            ("time_mix_lerp_v.weight", &[1, 1, 2048]),
            ("time_mix_lerp_r.weight", &[1, 1, 2048]),
            ("time_mix_lerp_g.weight", &[1, 1, 2048]),
            ("time_mix_first.weight", &[32, 64]),
            ("time_mix_decay.weight", &[2048]),
            ("time_mix_decay_w1.weight", &[64, 2048]),
            ("time_mix_decay_w2.weight", &[2048, 64]),
            ("time_mix_key.weight", &[2048, 2048]),
            ("time_mix_value.weight", &[2048, 2048]),
            ("time_mix_receptance.weight", &[2048, 2048]),
            ("time_mix_gate.weight", &[2048, 2048]),
            ("time_mix_ln.weight", &[2048]),
            ("time_mix_ln.bias", &[2048]),
            ("time_mix_output.weight", &[2048, 2048]),
            ("channel_mix_lerp_k.weight", &[1, 1, 2048]),
            ("channel_mix_lerp_r.weight", &[1, 1, 2048]),
            ("channel_mix_key.weight", &[7168, 2048]),
            ("channel_mix_receptance.weight", &[2048, 2048]),
            ("channel_mix_value.weight", &[2048, 7168]),
        ],
    )
    .outside(&[
        ("output_norm.weight", &[2048]),
        ("output_norm.bias", &[2048]),
        ("output.weight", &[65536, 2048]),
    ])
    .open("rwkv6");
    // 1.6 billion as published.
    assert_eq!(model.parameters(), 1_599_873_024);
    let matrix = 2048 * 64;
    let active = model.parameters() - 65536 * 2048;
    assert_states(&model, active, 24 * (matrix + 2 * 2048), 24 * matrix * 7, 0, 0);
}

#[test]
fn an_array_may_leave_out_the_blocks_that_predict_further_tokens() {
    for (pattern, fits) in
        [(vec![1, 0, 1], true), (vec![1, 0, 1, 1], true), (vec![1, 0], false), (vec![1; 5], false)]
    {
        let keys = [
            ("block_count", 4),
            ("nextn_predict_layers", 1),
            ("embedding_length", 64),
            ("attention.head_count", 4),
            ("attention.sliding_window", 512),
        ];
        let fixture = Fixture::new("step35", &keys)
            .key("step35.attention.sliding_window_pattern", pattern)
            .outside(&[("token_embd.weight", &[128, 64])])
            .layers(0..4, &[("attn_qkv.weight", &[192, 64]), ("attn_output.weight", &[64, 64])]);
        let name = format!("arrays-{fits}.gguf");
        let path = files(&format!("decoder-{name}"), &[(&name, &fixture.0.build())]).join(name);
        let windows = Model::open(path).map(|model| {
            let of = |work: &Work| match work {
                Work::Attention(attention) => Some(attention.window),
                _ => None,
            };
            let all = model.architecture.operations.iter().filter_map(|one| of(&one.work));
            all.collect::<Vec<Option<u64>>>()
        });
        match windows {
            Ok(windows) => assert_eq!((windows, fits), (vec![Some(512), None, Some(512)], true)),
            Err(error) => assert!(!fits && error.to_string().contains("elements for 4 blocks"), "{error}"),
        }
    }
}

#[test]
fn a_compressed_cache_is_not_left_out_silently() {
    // The attention of DeepSeek V4: one vector for keys and values, and compressed ones beside a window.
    let keys = [
        ("block_count", 2),
        ("embedding_length", 64),
        ("attention.head_count", 4),
        ("attention.head_count_kv", 1),
        ("attention.key_length", 32),
        ("attention.value_length", 32),
        ("attention.sliding_window", 128),
    ];
    let model = Fixture::new("deepseek4", &keys)
        .key("deepseek4.attention.compress_ratios", vec![0, 4])
        .outside(&[("token_embd.weight", &[128, 64])])
        .layers(
            0..2,
            &[
                ("attn_q_a.weight", &[16, 64]),
                ("attn_q_b.weight", &[128, 16]),
                ("attn_kv.weight", &[32, 64]),
                ("ffn_gate_tid2eid.weight", &[128, 2]),
            ],
        )
        .open("deepseek4");
    let costs = profiled(&model, 16, 16);
    let reasons: Vec<&str> = costs.undefined().filter_map(|entry| entry.undefined.as_deref()).collect();
    assert_eq!(reasons, ["its cache is compressed, which is not counted"; 2]);
    // A table that chooses experts by the token is no matrix.
    let active = 2 * (16 * 64 + 128 * 16 + 32 * 64) + 128 * 64;
    close("products", costs.decode.unwrap().flops, 2.0 * f64::from(active));
}

#[test]
fn a_compressed_cache_beside_layers_with_a_state_is_not_taken_for_a_state() {
    let model = Fixture::new(
        "qwen4exp",
        &[
            ("block_count", 4),
            ("embedding_length", 256),
            ("attention.head_count", 4),
            ("attention.head_count_kv", 2),
            ("full_attention_interval", 4),
            ("ssm.conv_kernel", 4),
            ("ssm.inner_size", 512),
            ("ssm.state_size", 64),
            ("ssm.group_count", 4),
        ],
    )
    .key("qwen4exp.attention.compress_ratios", vec![0u32, 0, 0, 4])
    .outside(&[("token_embd.weight", &[1000, 256])])
    .layers(0..3, &[("attn_qkv.weight", &[1024, 256]), ("ssm_out.weight", &[256, 512])])
    .layers(3..4, &[("attn_qkv.weight", &[512, 256]), ("attn_output.weight", &[256, 256])])
    .open("qwen4exp");
    let back: Vec<(Option<u64>, Role, bool)> = model
        .architecture
        .operations
        .iter()
        .filter(|one| matches!(one.role, Role::State | Role::Attention))
        .map(|one| (one.layer, one.role, matches!(one.work, Work::Undefined { .. })))
        .collect();
    let state = |layer| (Some(layer), Role::State, false);
    assert_eq!(back, [state(0), state(1), state(2), (Some(3), Role::Attention, true)]);
}

#[test]
fn the_first_of_four_layers_sees_everything_in_families_that_begin_so() {
    for (architecture, first) in [("laguna", true), ("cohere2moe", true), ("mellum", false)] {
        let keys = [
            ("block_count", 8),
            ("embedding_length", 64),
            ("attention.head_count", 4),
            ("attention.sliding_window", 512),
        ];
        let model = Fixture::new(architecture, &keys)
            .outside(&[("token_embd.weight", &[128, 64])])
            .layers(0..8, &[("attn_qkv.weight", &[192, 64]), ("attn_output.weight", &[64, 64])])
            .open(architecture);
        let windows: Vec<bool> = model
            .architecture
            .operations
            .iter()
            .filter_map(|operation| match operation.work {
                Work::Attention(attention) => Some(attention.window.is_some()),
                _ => None,
            })
            .collect();
        let full = if first { 0 } else { 3 };
        let expected: Vec<bool> = (0..8).map(|layer| layer % 4 != full).collect();
        assert_eq!(windows, expected, "{architecture}");
    }
}

/// The window of each layer's attention, and whether it has keys and values of its own.
fn windows(model: &Model) -> Vec<(Option<u64>, bool)> {
    let attention = |work: &Work| match work {
        Work::Attention(attention) => Some((attention.window, attention.kv_heads > 0)),
        _ => None,
    };
    model.architecture.operations.iter().filter_map(|operation| attention(&operation.work)).collect()
}

/// A small decoder with this window, 0 for none.
fn windowed(architecture: &str, layers: u64, window: u32) -> Model {
    let keys = [("block_count", layers as u32), ("embedding_length", 64), ("attention.head_count", 4)];
    let mut fixture = Fixture::new(architecture, &keys)
        .outside(&[("token_embd.weight", &[128, 64])])
        .layers(0..layers, &[("attn_qkv.weight", &[192, 64]), ("attn_output.weight", &[64, 64])]);
    if window > 0 {
        fixture = fixture.key(&format!("{architecture}.attention.sliding_window"), window);
    }
    fixture.open(&format!("windowed-{architecture}-{layers}-{window}"))
}

#[test]
fn windows_are_those_that_llama_cpp_uses_whatever_the_file_states() {
    for (architecture, layers, stated, used) in [
        // Only the model of 64 layers has windows.
        ("exaone4", 64, 0, Some(4096)),
        ("exaone4", 64, 1024, Some(1024)),
        ("exaone4", 30, 4096, None),
        ("exaone4", 30, 0, None),
        // One size.
        ("smallthinker", 8, 512, Some(4096)),
        ("smallthinker", 8, 0, None),
        ("llama4", 8, 0, Some(8192)),
        ("llama4", 8, 4096, Some(8192)),
        ("phimoe", 8, 2047, None),
    ] {
        let model = windowed(architecture, layers, stated);
        let full = if architecture == "smallthinker" { 0 } else { 3 };
        let expected: Vec<_> = (0..layers).map(|layer| (used.filter(|_| layer % 4 != full), true)).collect();
        assert_eq!(windows(&model), expected, "{architecture} of {layers} layers with {stated}");
        let told = model.warnings.join(" ");
        let unused = stated > 0 && used.is_none();
        assert_eq!(told.contains("is not used, as llama.cpp does not"), unused, "{told}");
    }
}

#[test]
fn gemma_3n_has_twenty_layers_with_keys_and_values_of_their_own() {
    let own: Vec<bool> = windows(&windowed("gemma3n", 30, 512)).into_iter().map(|(_, own)| own).collect();
    assert_eq!(own, (0..30).map(|layer| layer < 20).collect::<Vec<_>>());
}

#[test]
fn qwen3_next_attends_in_every_fourth_layer_and_gates_its_queries() {
    // One period: three layers with a state of 32 x 128 x 128 numbers, one with 16 heads of 256 over 2. What projects into
    // the state was one matrix at first, and is called after attention and its gate since.
    let first: Tensors = &[("ssm_in.weight", &[12288, 2048])];
    let since: Tensors = &[("attn_qkv.weight", &[8192, 2048]), ("attn_gate.weight", &[4096, 2048])];
    for (name, projections, period) in
        [("first", first, None), ("since", since, None), ("says", since, Some(4))]
    {
        let fixture = Fixture::new(
            "qwen3next",
            &[
                ("block_count", 4),
                ("embedding_length", 2048),
                ("attention.head_count", 16),
                ("attention.head_count_kv", 2),
                ("attention.key_length", 256),
                ("attention.value_length", 256),
                ("ssm.conv_kernel", 4),
                ("ssm.inner_size", 4096),
                ("ssm.state_size", 128),
                ("ssm.group_count", 16),
                ("ssm.time_step_rank", 32),
            ],
        );
        let fixture = match period {
            Some(period) => fixture.key("qwen3next.full_attention_interval", period),
            None => fixture,
        };
        let model = fixture
            .outside(&[("token_embd.weight", &[151_936, 2048])])
            .layers(0..3, projections)
            .layers(
                0..3,
                &[
                    ("ssm_ba.weight", &[64, 2048]),
                    ("ssm_conv1d.weight", &[8192, 4]),
                    ("ssm_dt.bias", &[32]),
                    ("ssm_a", &[32]),
                    ("ssm_norm.weight", &[128]),
                    ("ssm_out.weight", &[2048, 4096]),
                ],
            )
            .layers(
                3..4,
                &[
                    ("attn_q.weight", &[8192, 2048]),
                    ("attn_k.weight", &[512, 2048]),
                    ("attn_v.weight", &[512, 2048]),
                    ("attn_output.weight", &[2048, 4096]),
                ],
            )
            .outside(&[("output.weight", &[151_936, 2048])])
            .open(&format!("qwen3next-{name}"));
        let active = model.parameters() - 151_936 * 2048;
        let state = 4096 * 128;
        let shifted = 3 * (4096 + 2 * 16 * 128);
        assert_states(&model, active, 3 * (state + shifted), 3 * state * 7, 2 * 2 * 256, 16 * 2 * 256);
        let assumed = model.warnings.iter().any(|told| told.contains("the last of every 4"));
        assert_eq!(assumed, period.is_none(), "{:?}", model.warnings);
    }
}

#[test]
fn kimi_linear_keeps_a_state_where_it_has_no_key_value_heads() {
    // One period: three layers of 32 heads that keep a matrix of 128 x 128 each, one of latent attention.
    let model = Fixture::new(
        "kimi-linear",
        &[
            ("block_count", 4),
            ("embedding_length", 2304),
            ("attention.head_count", 32),
            ("attention.key_length", 576),
            ("attention.value_length", 512),
            ("attention.key_length_mla", 192),
            ("attention.value_length_mla", 128),
            ("attention.kv_lora_rank", 512),
            ("rope.dimension_count", 64),
            ("ssm.conv_kernel", 4),
            ("kda.head_dim", 128),
        ],
    )
    .key("kimi-linear.attention.head_count_kv", vec![0u32, 0, 0, 1])
    .outside(&[("token_embd.weight", &[163_840, 2304])])
    .layers(
        0..3,
        &[
            ("ssm_conv1d_q.weight", &[4096, 1, 4]),
            ("ssm_conv1d_k.weight", &[4096, 1, 4]),
            ("ssm_conv1d_v.weight", &[4096, 1, 4]),
            ("attn_q.weight", &[4096, 2304]),
            ("attn_k.weight", &[4096, 2304]),
            ("attn_v.weight", &[4096, 2304]),
            ("ssm_f_a.weight", &[128, 2304]),
            ("ssm_f_b.weight", &[4096, 128]),
            ("ssm_beta.weight", &[32, 2304]),
            ("ssm_a", &[32, 1]),
            ("ssm_dt.bias", &[4096]),
            ("ssm_g_a.weight", &[128, 2304]),
            ("ssm_g_b.weight", &[4096, 128]),
            ("ssm_norm.weight", &[128]),
            ("attn_output.weight", &[2304, 4096]),
        ],
    )
    .layers(
        3..4,
        &[
            ("attn_q.weight", &[6144, 2304]),
            ("attn_kv_a_mqa.weight", &[576, 2304]),
            ("attn_kv_a_norm.weight", &[512]),
            ("attn_k_b.weight", &[32, 512, 128]),
            ("attn_v_b.weight", &[32, 128, 512]),
            ("attn_output.weight", &[2304, 4096]),
        ],
    )
    .outside(&[("output.weight", &[163_840, 2304])])
    .open("kimi-linear");
    let active = model.parameters() - 163_840 * 2304;
    let state = 32 * 128 * 128;
    let shifted = 3 * 3 * 32 * 128;
    assert_states(&model, active, 3 * (state + shifted), 3 * state * 7, 512 + 64, 32 * (2 * 512 + 64));
}

#[test]
fn minimax_01_attends_in_the_last_of_eight_layers() {
    // One period: seven layers whose 64 heads keep a matrix of 128 x 128 each, which decays, takes a token in and is read out.
    let model = Fixture::new(
        "minimax-01",
        &[
            ("block_count", 8),
            ("embedding_length", 6144),
            ("attention.head_count", 64),
            ("attention.head_count_kv", 8),
            ("attention.key_length", 128),
            ("attention.value_length", 128),
        ],
    )
    .outside(&[("token_embd.weight", &[200_064, 6144])])
    .layers(
        0..7,
        &[
            ("attn_qkv.weight", &[24576, 6144]),
            ("attn_gate.weight", &[8192, 6144]),
            ("attn_norm_2.weight", &[8192]),
            ("attn_output.weight", &[6144, 8192]),
        ],
    )
    .layers(
        7..8,
        &[
            ("attn_q.weight", &[8192, 6144]),
            ("attn_k.weight", &[1024, 6144]),
            ("attn_v.weight", &[1024, 6144]),
            ("attn_output.weight", &[6144, 8192]),
        ],
    )
    .outside(&[("output.weight", &[200_064, 6144])])
    .open("minimax-01");
    let active = model.parameters() - 200_064 * 6144;
    let state = 64 * 128 * 128;
    assert_states(&model, active, 7 * state, 7 * state * 5, 8 * 2 * 128, 64 * 2 * 128);
}

#[test]
fn deepseek_3_2_scores_all_tokens_with_an_indexer_beside_its_latent_attention() {
    let model = Fixture::new(
        "deepseek32",
        &[
            ("block_count", 2),
            ("embedding_length", 7168),
            ("attention.head_count", 128),
            ("attention.head_count_kv", 1),
            ("attention.key_length", 576),
            ("attention.value_length", 512),
            ("attention.key_length_mla", 192),
            ("attention.value_length_mla", 128),
            ("attention.q_lora_rank", 1536),
            ("attention.kv_lora_rank", 512),
            ("attention.indexer.head_count", 64),
            ("attention.indexer.key_length", 128),
            ("attention.indexer.top_k", 2048),
            ("rope.dimension_count", 64),
        ],
    )
    .outside(&[("token_embd.weight", &[129_280, 7168])])
    .layers(
        0..2,
        &[
            ("attn_q_a.weight", &[1536, 7168]),
            ("attn_q_a_norm.weight", &[1536]),
            ("attn_q_b.weight", &[24576, 1536]),
            ("attn_kv_a_mqa.weight", &[576, 7168]),
            ("attn_kv_a_norm.weight", &[512]),
            ("attn_k_b.weight", &[128, 512, 128]),
            ("attn_v_b.weight", &[128, 128, 512]),
            ("indexer.k_norm.weight", &[128]),
            ("indexer.k_norm.bias", &[128]),
            ("indexer.proj.weight", &[64, 7168]),
            ("indexer.attn_k.weight", &[128, 7168]),
            ("indexer.attn_q_b.weight", &[8192, 1536]),
            ("attn_output.weight", &[7168, 16384]),
        ],
    )
    .outside(&[("output.weight", &[129_280, 7168])])
    .open("deepseek32");
    let active = model.parameters() - 129_280 * 7168;
    let mixed = 128 * (2 * 512 + 64) + 64 * 128;
    assert_states(&model, active, 0, 0, 2 * (512 + 64 + 128), 2 * mixed);
    let told = model.warnings.join("\n");
    assert!(told.contains("reads only the 2048 tokens that the indexer chooses moves less"), "{told}");
    // All tokens are counted, and where that is more than are chosen the cost is a bound from above.
    let reasons = |context| {
        let costs = profiled(&model, context, 1);
        assert_eq!(costs.undefined().count(), 0);
        costs.at_most().map(|entry| (entry.name.clone(), entry.at_most.clone().unwrap())).collect::<Vec<_>>()
    };
    assert_eq!(reasons(2048), []);
    let reason = "only the 2048 tokens that its indexer chooses need be read, and all are counted";
    assert_eq!(
        reasons(2049),
        ["0.attention", "1.attention"].map(|name| (name.to_owned(), reason.to_owned()))
    );
    // A prediction has no word for a bound.
    let refused = inputs(&model, None).unwrap_err().to_string();
    assert!(refused.contains("an indexer chooses"), "{refused}");
}

#[test]
fn an_indexer_of_blocks_is_not_taken_for_one_of_tokens() {
    // MiniMax-M3 keeps keys of blocks, GLM-5.3 pools of keys; the first layer of one has no indexer at all.
    for (architecture, key) in [("minimax-m3", "block_size"), ("glm5-next", "kpool")] {
        let model = Fixture::new(
            architecture,
            &[
                ("block_count", 2),
                ("embedding_length", 256),
                ("attention.head_count", 4),
                ("attention.head_count_kv", 2),
                ("attention.indexer.head_count", 4),
                ("attention.indexer.key_length", 32),
                ("attention.indexer.top_k", 16),
            ],
        )
        .key(&format!("{architecture}.attention.indexer.{key}"), 4u32)
        .outside(&[("token_embd.weight", &[1000, 256])])
        .layers(0..2, &[("attn_q.weight", &[256, 256]), ("attn_k.weight", &[128, 256])])
        .layers(1..2, &[("indexer.q_proj.weight", &[128, 256]), ("indexer.k_proj.weight", &[32, 256])])
        .open(&format!("blocks-{architecture}"));
        let costs = profiled(&model, 4096, 1);
        let reason = "its indexer chooses blocks of tokens by keys of their own, which are not counted";
        let undefined = costs.undefined().map(|entry| (entry.name.as_str(), entry.undefined.as_deref()));
        let names = ["0.attention", "1.attention", "1.indexer_scores"];
        assert_eq!(undefined.collect::<Vec<_>>(), names.map(|name| (name, Some(reason))));
        // What is left is the least that any engine does.
        assert_eq!((costs.at_most().count(), costs.decode.unwrap().cache_bytes), (0, 0.0));
    }
}

#[test]
fn the_attention_between_the_convolutions_of_a_decoder_of_sound_is_counted() {
    // WavTokenizer: 768 wide, one head over all tokens, which the file says nothing of.
    let model = Fixture::new("wavtokenizer-dec", &[("block_count", 12), ("embedding_length", 512)])
        .outside(&[
            ("token_embd.weight", &[4096, 512]),
            ("conv1d.weight", &[768, 512, 7]),
            ("posnet.0.conv1.weight", &[768, 768, 3]),
            ("posnet.2.attn_norm.weight", &[768, 1]),
            ("posnet.2.attn_q.weight", &[768, 768, 1]),
            ("posnet.2.attn_k.weight", &[768, 768, 1]),
            ("posnet.2.attn_v.weight", &[768, 768, 1]),
            ("posnet.2.attn_output.weight", &[768, 768, 1]),
        ])
        .open("wavtokenizer");
    let prompt = 1024;
    let costs = profiled(&model, prompt, prompt);
    assert_eq!((costs.undefined().count(), costs.decode.is_none()), (0, true));
    let attention: Vec<f64> = costs
        .entries
        .iter()
        .filter(|entry| entry.role == Role::Attention)
        .map(|entry| entry.prefill.unwrap().flops)
        .collect();
    assert_eq!(attention, [(4 * 768 * prompt * prompt) as f64]);
    let matrices = 768 * (512 * 7 + 768 * 3 + 4 * 768);
    let flops = 2 * matrices * prompt + 4 * 768 * prompt * prompt;
    close("prefill flops", costs.prefill.unwrap().flops, flops as f64);
}

#[test]
fn of_all_adapters_behind_each_other_a_token_runs_one() {
    // Granite Switch: slot 0 is no adapter, and two behind it.
    let model = Fixture::new(
        "graniteswitch",
        &[
            ("block_count", 2),
            ("embedding_length", 256),
            ("attention.head_count", 4),
            ("attention.head_count_kv", 2),
            ("expert_used_count", 0),
            ("num_adapters", 2),
        ],
    )
    .outside(&[("token_embd.weight", &[1000, 256])])
    .layers(
        0..2,
        &[
            ("attn_qkv.weight", &[512, 256]),
            ("attn_output.weight", &[256, 256]),
            ("attn_q.lora_a", &[3, 32, 256]),
            ("attn_q.lora_b", &[3, 256, 32]),
        ],
    )
    .open("graniteswitch");
    let adapters = 2 * 2 * 32 * 256;
    let active = 2 * (512 * 256 + 256 * 256) + 1000 * 256;
    assert_eq!(model.parameters(), active + 3 * adapters);
    assert_states(&model, active + adapters, 0, 0, 2 * 2 * 2 * 64, 2 * 2 * 4 * 64);
    let decode = profiled(&model, 16, 1).decode.unwrap();
    assert_eq!(decode.weight_bytes, (2 * (active + adapters)) as f64);
    assert!(model.warnings.join("\n").contains("a token runs one of the adapters"), "{:?}", model.warnings);
}

#[test]
fn a_layer_that_a_token_runs_through_twice_is_read_and_cached_twice() {
    let of = |loops: u32| {
        Fixture::new(
            "nanbeige",
            &[
                ("block_count", 2),
                ("embedding_length", 256),
                ("attention.head_count", 4),
                ("attention.head_count_kv", 2),
                ("num_loops", loops),
            ],
        )
        .outside(&[("token_embd.weight", &[1000, 256])])
        .layers(
            0..2,
            &[
                ("attn_q.weight", &[256, 256]),
                ("attn_k.weight", &[128, 256]),
                ("attn_v.weight", &[128, 256]),
                ("attn_output.weight", &[256, 256]),
                ("ffn_up.weight", &[384, 256]),
                ("ffn_down.weight", &[256, 384]),
            ],
        )
        .outside(&[("output.weight", &[1000, 256])])
        .open(&format!("nanbeige-{loops}"))
    };
    let layers = 2 * (256 * (256 + 128 + 128 + 256) + 2 * 256 * 384);
    for loops in [1, 2, 3] {
        let model = of(loops);
        let (loops, head) = (u64::from(loops), 1000 * 256);
        assert_eq!(model.parameters(), layers + 2 * head, "what is run twice is stored once");
        let active = loops * layers + head;
        assert_states(&model, active, 0, 0, loops * 2 * 2 * 2 * 64, loops * 2 * 4 * 2 * 64);
    }
}

#[test]
fn layers_with_more_heads_have_heads_of_the_same_width() {
    let model = Fixture::new("step35", &[("block_count", 2), ("embedding_length", 512)])
        .key("step35.attention.head_count", vec![8u32, 12])
        .key("step35.attention.head_count_kv", vec![2u32, 4])
        .outside(&[("token_embd.weight", &[1000, 512])])
        .layers([0], &[("attn_q.weight", &[512, 512]), ("attn_k.weight", &[128, 512])])
        .layers([0], &[("attn_v.weight", &[128, 512]), ("attn_output.weight", &[512, 512])])
        .layers([1], &[("attn_q.weight", &[768, 512]), ("attn_k.weight", &[256, 512])])
        .layers([1], &[("attn_v.weight", &[256, 512]), ("attn_output.weight", &[512, 768])])
        .outside(&[("output.weight", &[1000, 512])])
        .open("heads-by-layer");
    let active = model.parameters() - 1000 * 512;
    assert_states(&model, active, 0, 0, (2 + 4) * 2 * 64, (8 + 12) * 2 * 64);
}

#[test]
fn the_experts_that_a_token_uses_may_differ_from_layer_to_layer() {
    let experts: Tensors = &[
        ("ffn_gate_inp.weight", &[16, 512]),
        ("ffn_up_exps.weight", &[16, 128, 512]),
        ("ffn_down_exps.weight", &[16, 512, 128]),
    ];
    let model = Fixture::new("nemotron_h_moe", &[("block_count", 2), ("embedding_length", 512)])
        .key("nemotron_h_moe.expert_count", 16)
        .key("nemotron_h_moe.expert_used_count", vec![2u32, 6])
        .outside(&[("token_embd.weight", &[1000, 512])])
        .layers(0..2, experts)
        .outside(&[("output.weight", &[1000, 512])])
        .open("experts-by-layer");
    let active = 2 * 16 * 512 + (2 + 6) * 2 * 128 * 512 + 1000 * 512;
    assert_eq!(profiled(&model, 4096, 1).decode.unwrap().flops, (2 * active) as f64);
}

#[test]
fn a_reranker_of_a_known_family_has_the_matrix_that_scores_a_pair() {
    let model = Fixture::new(
        "qwen3",
        &[
            ("block_count", 1),
            ("embedding_length", 1024),
            ("attention.head_count", 16),
            ("attention.head_count_kv", 8),
            ("attention.key_length", 128),
            ("attention.value_length", 128),
            ("feed_forward_length", 3072),
        ],
    )
    .outside(&[("token_embd.weight", &[151_669, 1024]), ("output_norm.weight", &[1024])])
    .outside(&[("cls.output.weight", &[2, 1024])])
    .layers(
        0..1,
        &[
            ("attn_norm.weight", &[1024]),
            ("attn_q.weight", &[2048, 1024]),
            ("attn_q_norm.weight", &[128]),
            ("attn_k.weight", &[1024, 1024]),
            ("attn_k_norm.weight", &[128]),
            ("attn_v.weight", &[1024, 1024]),
            ("attn_output.weight", &[1024, 2048]),
            ("ffn_norm.weight", &[1024]),
            ("ffn_gate.weight", &[3072, 1024]),
            ("ffn_up.weight", &[3072, 1024]),
            ("ffn_down.weight", &[1024, 3072]),
        ],
    )
    .open("reranker");
    assert_eq!(model.warnings, [] as [&str; 0]);
    let pooler = model.architecture.operations.iter().find(|one| one.role == Role::Pooler).unwrap();
    assert_eq!(pooler.work, Work::Product { rows: 2, cols: 1024 });
}

#[test]
fn nemotron_h_has_layers_that_only_attend_keep_a_state_or_feed_forward() {
    let model = Fixture::new(
        "nemotron_h",
        &[
            ("block_count", 3),
            ("embedding_length", 4096),
            ("attention.key_length", 128),
            ("attention.value_length", 128),
            ("ssm.conv_kernel", 4),
            ("ssm.inner_size", 8192),
            ("ssm.state_size", 128),
            ("ssm.group_count", 8),
            ("ssm.time_step_rank", 128),
        ],
    )
    .key("nemotron_h.attention.head_count", vec![32u32, 32, 32])
    .key("nemotron_h.attention.head_count_kv", vec![0u32, 0, 8])
    .outside(&[("token_embd.weight", &[131_072, 4096])])
    .layers([0], &[("ssm_in.weight", &[18560, 4096]), ("ssm_conv1d.weight", &[10240, 4])])
    .layers([0], &[("ssm_dt.bias", &[128]), ("ssm_out.weight", &[4096, 8192])])
    .layers([1], &[("ffn_up.weight", &[21504, 4096]), ("ffn_down.weight", &[4096, 21504])])
    .layers([2], &[("attn_q.weight", &[4096, 4096]), ("attn_k.weight", &[1024, 4096])])
    .layers([2], &[("attn_v.weight", &[1024, 4096]), ("attn_output.weight", &[4096, 4096])])
    .outside(&[("output.weight", &[131_072, 4096])])
    .open("nemotron_h");
    let active = model.parameters() - 131_072 * 4096;
    let state = 8192 * 128;
    assert_states(&model, active, state + 3 * (8192 + 2 * 8 * 128), state * 5, 8 * 2 * 128, 32 * 2 * 128);
}

#[test]
fn nomic_bert_reads_texts_and_makes_no_tokens() {
    let model = Fixture::new(
        "nomic-bert",
        &[
            ("block_count", 12),
            ("embedding_length", 768),
            ("attention.head_count", 12),
            ("context_length", 2048),
        ],
    )
    .key("nomic-bert.attention.causal", false)
    .outside(&[("token_embd.weight", &[30522, 768]), ("token_types.weight", &[2, 768])])
    .layers(
        0..12,
        &[
            ("attn_qkv.weight", &[2304, 768]),
            ("attn_output.weight", &[768, 768]),
            ("ffn_gate.weight", &[3072, 768]),
            ("ffn_up.weight", &[3072, 768]),
            ("ffn_down.weight", &[768, 3072]),
        ],
    )
    .open("nomic-bert");
    let profile = profiled(&model, 512, 512);
    assert!(profile.decode.is_none(), "no decode rate");
    assert!(
        model.architecture.operations.iter().all(|operation| operation.role != Role::Head),
        "no head is invented"
    );
    let layer = 768 * (2304 + 768 + 3 * 3072);
    // Every token sees all 512, in 12 heads of 64 twice.
    let flops = 2.0 * 512.0 * 12.0 * f64::from(layer + 2 * 768 * 512);
    close("a text", profile.prefill.unwrap().flops, flops);
}

#[test]
fn kimi_k2_caches_a_latent_vector_and_runs_eight_of_its_384_experts() {
    let keys = [
        ("block_count", 61),
        ("context_length", 131_072),
        ("embedding_length", 7168),
        ("vocab_size", 163_840),
        ("feed_forward_length", 18_432),
        ("attention.head_count", 64),
        ("attention.head_count_kv", 1),
        ("attention.q_lora_rank", 1536),
        ("attention.kv_lora_rank", 512),
        ("attention.key_length", 576),
        ("attention.value_length", 512),
        ("attention.key_length_mla", 192),
        ("attention.value_length_mla", 128),
        ("rope.dimension_count", 64),
        ("leading_dense_block_count", 1),
        ("expert_count", 384),
        ("expert_used_count", 8),
        ("expert_shared_count", 1),
        ("expert_feed_forward_length", 2048),
    ];
    let attention: Tensors = &[
        ("attn_norm.weight", &[7168]),
        ("attn_q_a.weight", &[1536, 7168]),
        ("attn_q_a_norm.weight", &[1536]),
        ("attn_q_b.weight", &[64 * 192, 1536]),
        ("attn_kv_a_mqa.weight", &[576, 7168]),
        ("attn_kv_a_norm.weight", &[512]),
        ("attn_k_b.weight", &[64, 512, 128]),
        ("attn_v_b.weight", &[64, 128, 512]),
        ("attn_output.weight", &[7168, 64 * 128]),
        ("ffn_norm.weight", &[7168]),
    ];
    let experts: Tensors = &[
        ("ffn_gate_inp.weight", &[384, 7168]),
        ("exp_probs_b.bias", &[384]),
        ("ffn_gate_exps.weight", &[384, 2048, 7168]),
        ("ffn_up_exps.weight", &[384, 2048, 7168]),
        ("ffn_down_exps.weight", &[384, 7168, 2048]),
        ("ffn_gate_shexp.weight", &[2048, 7168]),
        ("ffn_up_shexp.weight", &[2048, 7168]),
        ("ffn_down_shexp.weight", &[7168, 2048]),
    ];
    let dense: Tensors = &[
        ("ffn_gate.weight", &[18_432, 7168]),
        ("ffn_up.weight", &[18_432, 7168]),
        ("ffn_down.weight", &[7168, 18_432]),
    ];
    let model = Fixture::new("deepseek2", &keys)
        .outside(&[("token_embd.weight", &[163_840, 7168]), ("output_norm.weight", &[7168])])
        .outside(&[("output.weight", &[163_840, 7168])])
        .layers(0..61, attention)
        .layers([0], dense)
        .layers(1..61, experts)
        .open("kimi-k2");
    let (table, one) = (163_840 * 7168, 3 * 2048 * 7168);
    let projections = (1536 + 576) * 7168 + 64 * (192 * 1536 + 256 * 512 + 128 * 7168);
    let vectors = 61 * (2 * 7168 + 1536 + 512) + 60 * 384 + 7168;
    let rest = 61 * projections + vectors + 3 * 18_432 * 7168 + 60 * 384 * 7168;
    assert_eq!(model.parameters(), 2 * table + rest + 60 * 385 * one);
    assert_eq!((model.parameters() as f64 / 1e9).round(), 1026.0);
    let active = rest + 60 * 9 * one + table;
    for context in [4096, 32768] {
        let profile = profiled(&model, context, 512);
        let decode = profile.decode.unwrap();
        // 512 numbers and 64 of the rotary key for a token; 64 heads score them and add them up.
        assert_eq!(decode.cache_bytes, (2 * 61 * 576 * context) as f64);
        let mixed = 61 * 64 * (576 + 512) * context;
        close("decode flops", decode.flops, 2.0 * (active + mixed) as f64);
        // A prompt is read with the keys and values of each head.
        let mixed = 61 * 64 * (192 + 128) * (512 * 513 / 2);
        let matrices = (active - table) * 512 + table;
        close("prefill flops", profile.prefill.unwrap().flops, 2.0 * (matrices + mixed) as f64);
    }
}

/// Two layers of a decoder of a known family, 64 wide.
fn two_layers(architecture: &str) -> Fixture {
    let keys = [
        ("block_count", 2),
        ("embedding_length", 64),
        ("attention.head_count", 4),
        ("feed_forward_length", 256),
        ("vocab_size", 128),
    ];
    let attention: Tensors = &[
        ("attn_norm.weight", &[64]),
        ("attn_q.weight", &[64, 64]),
        ("attn_k.weight", &[64, 64]),
        ("attn_v.weight", &[64, 64]),
        ("attn_output.weight", &[64, 64]),
        ("ffn_norm.weight", &[64]),
    ];
    Fixture::new(architecture, &keys)
        .outside(&[("token_embd.weight", &[128, 64]), ("output_norm.weight", &[64])])
        .layers(0..2, attention)
}

const DENSE_64: Tensors =
    &[("ffn_gate.weight", &[256, 64]), ("ffn_up.weight", &[256, 64]), ("ffn_down.weight", &[64, 256])];

#[test]
fn a_layer_of_a_known_family_has_experts_where_it_has_a_router() {
    let model = two_layers("qwen3moe")
        .key("qwen3moe.expert_count", 8u32)
        .key("qwen3moe.expert_used_count", 2u32)
        .key("qwen3moe.expert_feed_forward_length", 32u32)
        .layers([0], DENSE_64)
        .layers(
            [1],
            &[
                ("ffn_gate_inp.weight", &[8, 64]),
                ("ffn_gate_exps.weight", &[8, 32, 64]),
                ("ffn_up_exps.weight", &[8, 32, 64]),
                ("ffn_down_exps.weight", &[8, 64, 32]),
            ],
        )
        .open("one-router");
    // Vectors, attention, dense and routed layer, and the embedding as the head.
    let active = 5 * 64 + 2 * 4 * 64 * 64 + 3 * 256 * 64 + (8 * 64 + 3 * 2 * 32 * 64) + 128 * 64;
    let expected = Expected {
        parameters: active + 3 * 6 * 32 * 64,
        active,
        head: 128 * 64,
        cached: (2 * 128, 0),
        mixed: (2 * 128, 0),
        window: u64::MAX,
    };
    assert_costs(&model, &expected);
}

#[test]
fn the_tensors_say_how_many_experts_a_layer_has() {
    let experts: Tensors = &[
        ("ffn_gate_inp.weight", &[16, 64]),
        ("ffn_gate_exps.weight", &[16, 16, 64]),
        ("ffn_up_exps.weight", &[16, 16, 64]),
        ("ffn_down_exps.weight", &[16, 64, 16]),
    ];
    let model = two_layers("qwen3moe")
        .key("qwen3moe.expert_count", 8u32)
        .key("qwen3moe.expert_used_count", 2u32)
        .key("qwen3moe.expert_feed_forward_length", 32u32)
        .layers(0..2, experts)
        .open("other-experts");
    // Two of 16 experts that are 16 wide take as many numbers as one of 8 that are 32 wide.
    let active = 5 * 64 + 2 * (4 * 64 * 64 + 16 * 64 + 3 * 2 * 16 * 64) + 128 * 64;
    let decode = profiled(&model, 1, 1).decode.unwrap();
    close("decode flops", decode.flops, 2.0 * (active + 2 * 128) as f64);
    assert!(model.warnings.iter().any(|told| told.contains("is 16 x 16 x 64")), "{:?}", model.warnings);
}

#[test]
fn what_sees_the_tokens_after_it_makes_none_and_has_no_head_that_nobody_stored() {
    let model =
        two_layers("qwen2").key("qwen2.attention.causal", false).layers(0..2, DENSE_64).open("embedding");
    assert!(!model.architecture.makes_tokens);
    assert!(model.architecture.operations.iter().all(|operation| operation.role != Role::Head));
    let target = Target::of(&H100_SXM, None).unwrap();
    let workload = Workload { batch: 1.0, context: 8.0, prompt: 8.0, cache_size: 2.0, cache: Numbers::Half };
    assert!(profile(&model, &target, &workload, None).unwrap().decode.is_none());
    assert!(inputs(&model, None).is_err());
    // What fills in a whole text has one, and says how it counts.
    let model = two_layers("llada").layers(0..2, DENSE_64).open("fills-in");
    assert!(!model.architecture.makes_tokens);
    assert!(model.architecture.operations.iter().any(|operation| operation.role == Role::Head));
    assert!(model.warnings.iter().any(|told| told.contains("its head counts for one token")));
}

#[test]
fn t5_runs_its_encoder_for_the_prompt_and_its_decoder_for_a_step() {
    // flan-t5-base: 12 layers each, 768 wide, 12 heads of 64, gated.
    let mut fixture = Fixture::new(
        "t5",
        &[
            ("block_count", 12),
            ("decoder_block_count", 12),
            ("embedding_length", 768),
            ("attention.head_count", 12),
            ("attention.key_length", 64),
            ("attention.value_length", 64),
        ],
    )
    .outside(&[("token_embd.weight", &[32128, 768])]);
    let matrices = |names: &[&str], dims: &[u64; 2], fixture: Fixture, stack: &str, layer: u64| {
        names.iter().fold(fixture, |fixture, name| {
            fixture.tensor(&format!("{stack}.blk.{layer}.{name}.weight"), dims, Bf16)
        })
    };
    for layer in 0..12 {
        for stack in ["enc", "dec"] {
            fixture = matrices(&["attn_q", "attn_k", "attn_v", "attn_o"], &[768, 768], fixture, stack, layer);
            fixture = matrices(&["ffn_gate", "ffn_up"], &[2048, 768], fixture, stack, layer);
            fixture = matrices(&["ffn_down"], &[768, 2048], fixture, stack, layer);
        }
        let cross = ["cross_attn_q", "cross_attn_k", "cross_attn_v", "cross_attn_o"];
        fixture = matrices(&cross, &[768, 768], fixture, "dec", layer);
    }
    let model = fixture.outside(&[("output.weight", &[32128, 768])]).open("t5");
    let (square, inner, table) = (768 * 768, 3 * 768 * 2048, 32128 * 768);
    let (context, prompt) = (100, 1000);
    let profile = profiled(&model, context, prompt);
    let decode = profile.decode.unwrap();
    // Queries and results of both attentions run for a step; the encoder's keys and values are there.
    let active = 12 * (4 * square + 2 * square + inner) + table;
    close("decode flops", decode.flops, 2.0 * (active + 12 * 2 * 768 * (context + prompt)) as f64);
    assert_eq!(decode.cache_bytes, (12 * 2 * 2 * 768 * (context + prompt)) as f64);
    let encoder = 12 * (4 * square + inner + 2 * square);
    let prefill = 2.0 * (prompt * encoder + prompt * prompt * 12 * 2 * 768) as f64;
    let read = profile.prefill.unwrap();
    close("prefill flops", read.flops, prefill);
    // The head waits for what is made.
    assert_eq!(read.weight_bytes, (2 * encoder) as f64);
}
