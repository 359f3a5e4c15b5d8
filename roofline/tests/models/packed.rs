//! Packed weights in SafeTensors files: one model as packed by each tool, with real shapes, and parameters and bytes
//! worked out by hand. The files are sparse, except for headers and descriptions of shapes.

use std::io::{Seek, SeekFrom, Write};
use std::path::PathBuf;

use roofline::contracts::hardware::devices::H100_SXM;
use roofline::model::{Dtype, Model, Operation, Role, Work};
use roofline::predict::{DeviceProfile, Numbers};
use roofline::profile::{Workload, profile};

use crate::predicted;
use roofline_test_support::scratch::files;
use roofline_test_support::writer::safetensors_header;

use Dtype::{Bf16, F8E4M3, F32, I8, I32, I64, U8, U32};

/// Tensor, with its data if the reader needs it.
struct Stored {
    name: String,
    dims: Vec<u64>,
    dtype: Dtype,
    data: Vec<u8>,
}

fn stored(name: String, dims: &[u64], dtype: Dtype) -> Stored {
    Stored { name, dims: dims.to_vec(), dtype, data: Vec::new() }
}

fn open(test: &str, config: Option<&str>, tensors: &[Stored]) -> Model {
    let listed: Vec<(&str, &[u64], Dtype)> =
        tensors.iter().map(|tensor| (tensor.name.as_str(), tensor.dims.as_slice(), tensor.dtype)).collect();
    let path = sparse(&format!("packed-{test}"), config, &listed);
    let mut file = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
    let mut place = safetensors_header(&listed).0.len() as u64;
    for tensor in tensors {
        file.seek(SeekFrom::Start(place)).unwrap();
        file.write_all(&tensor.data).unwrap();
        place += tensor.dtype.bytes(tensor.dims.iter().product()).unwrap();
    }
    Model::open(path).unwrap()
}

/// Mistral 7B: name, outputs and inputs of the matrices of a layer.
const LINEAR: [(&str, u64, u64); 7] = [
    ("self_attn.q_proj", 4096, 4096),
    ("self_attn.k_proj", 1024, 4096),
    ("self_attn.v_proj", 1024, 4096),
    ("self_attn.o_proj", 4096, 4096),
    ("mlp.gate_proj", 14336, 4096),
    ("mlp.up_proj", 14336, 4096),
    ("mlp.down_proj", 4096, 14336),
];

/// Number of all parameters, and of these matrices.
const PARAMETERS: u64 = 7_241_732_096;
const PACKED: u64 = 6_979_321_856;

/// Bytes of embedding, head and normalizations in 16 bits: 2 x 32000 x 4096 and 65 x 4096 parameters.
const REST: u64 = 524_820_480;

const CONFIG: &str = r#"{"model_type": "mistral", "hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32,
    "num_key_value_heads": 8, "intermediate_size": 14336, "vocab_size": 32000, "max_position_embeddings": 32768"#;

/// Creates the model with matrices packed by `pack`, including embedding and head if `tables` is set.
fn mistral(pack: impl Fn(&str, u64, u64) -> Vec<Stored>, tables: bool) -> Vec<Stored> {
    let table = |name: &str| match tables {
        true => pack(name, 32000, 4096),
        false => vec![stored(format!("{name}.weight"), &[32000, 4096], Bf16)],
    };
    let mut tensors = table("model.embed_tokens");
    for layer in 0..32 {
        for (name, outputs, inputs) in LINEAR {
            tensors.extend(pack(&format!("model.layers.{layer}.{name}"), outputs, inputs));
        }
        for norm in ["input_layernorm", "post_attention_layernorm"] {
            tensors.push(stored(format!("model.layers.{layer}.{norm}.weight"), &[4096], Bf16));
        }
    }
    tensors.push(stored("model.norm.weight".into(), &[4096], Bf16));
    tensors.extend(table("lm_head"));
    tensors
}

/// Checks that the packed model equals the unpacked one, with and without its `config.json`.
#[track_caller]
fn assert_mistral(
    test: &str,
    quantization: &str,
    tensors: &[Stored],
    bytes: u64,
    dtype: Dtype,
    warnings: &[&str],
) {
    let model = open(test, Some(&format!("{CONFIG}{quantization}}}")), tensors);
    assert_eq!(model.warnings, warnings, "{test}");
    let alone = open(&format!("{test}-alone"), None, tensors);
    for model in [&model, &alone] {
        assert_eq!(model.parameters(), PARAMETERS, "{test}: parameters");
        assert_eq!(model.bytes(), Some(bytes), "{test}: bytes");
        let up = operation(model, Role::Up);
        assert_eq!(up.work, Work::Product { rows: 14336, cols: 4096 }, "{test}");
        assert_eq!(up.parameters, 14336 * 4096, "{test}");
        let weights = up.tensors.iter().map(|index| &model.tensors[*index]);
        assert_eq!(weights.max_by_key(|tensor| tensor.bytes).unwrap().dtype, dtype, "{test}");
    }
    let target = DeviceProfile::from_device(&H100_SXM, None).unwrap();
    let workload = Workload { batch: 1.0, context: 1.0, prompt: 1.0, cache_size: 2.0, cache: Numbers::Half };
    predicted::assert_is_profiled(&model, &target, &workload);
    let costs = profile(&model, &target, &workload, None).unwrap();
    assert_eq!(costs.undefined().count(), 0, "{test}");
    let decode = costs.decode.unwrap();
    // Each token reads every stored byte, except for the embedding, of which it reads a row.
    let table = model.tensors.iter().filter(|tensor| tensor.name.starts_with("model.embed_tokens"));
    let read = bytes - table.map(|tensor| tensor.bytes.unwrap()).sum::<u64>();
    assert!(
        (decode.weight_bytes - read as f64).abs() < 1.0,
        "{test}: {} bytes, not {read}",
        decode.weight_bytes
    );
    // Two operations per weight except the embedding, plus a few for vectors and one cached token.
    let products = 2.0 * (PARAMETERS - 32000 * 4096) as f64;
    assert!((decode.flops / products - 1.0).abs() < 1e-3, "{test}: {} operations", decode.flops);
    // 16-bit weights have no scales.
    let wide = profile(&model, &target, &workload, Some(Dtype::Bf16)).unwrap().decode.unwrap().weight_bytes;
    assert_eq!(wide, 2.0 * (PARAMETERS - 32000 * 4096) as f64, "{test}");
}

fn operation(model: &Model, role: Role) -> &Operation {
    model.architecture.operations.iter().find(|operation| operation.role == role).unwrap()
}

fn one_line(by: &str, dtype: Dtype, count: u64) -> String {
    format!("{count} tensors packed by {by} as {dtype}: shapes are those of the unpacked weights")
}

/// Matrix packed by AWQ.
fn awq(name: &str, outputs: u64, inputs: u64) -> Vec<Stored> {
    vec![
        stored(format!("{name}.qweight"), &[inputs, outputs / 8], I32),
        stored(format!("{name}.qzeros"), &[inputs / 128, outputs / 8], I32),
        stored(format!("{name}.scales"), &[inputs / 128, outputs], Dtype::F16),
    ]
}

/// Matrix packed by bitsandbytes as `nf4` or `fp4`.
fn bitsandbytes(kind: &str, name: &str, outputs: u64, inputs: u64) -> Vec<Stored> {
    let state = format!(r#"{{"quant_type": "{kind}", "blocksize": 64, "shape": [{outputs}, {inputs}]}}"#);
    let state = Stored {
        data: format!("{state:160}").into_bytes(),
        ..stored(format!("{name}.weight.quant_state.bitsandbytes__{kind}"), &[160], U8)
    };
    let weights = outputs * inputs;
    vec![
        stored(format!("{name}.weight"), &[weights / 2, 1], U8),
        stored(format!("{name}.weight.absmax"), &[weights / 64], U8),
        stored(format!("{name}.weight.nested_absmax"), &[weights / 64 / 256], F32),
        stored(format!("{name}.weight.nested_quant_map"), &[256], F32),
        stored(format!("{name}.weight.quant_map"), &[16], F32),
        state,
    ]
}

/// Mistral 7B packed by AWQ, and by bitsandbytes as NF4.
pub fn mistral_in_awq_and_nf4(test: &str) -> [Model; 2] {
    let config = format!("{CONFIG}}}");
    let nf4 = |name: &str, outputs, inputs| bitsandbytes("nf4", name, outputs, inputs);
    [
        open(&format!("{test}-awq"), Some(&config), &mistral(awq, false)),
        open(&format!("{test}-nf4"), Some(&config), &mistral(nf4, false)),
    ]
}

#[test]
fn awq_packs_along_the_outputs() {
    // Half a byte per weight, and per 128 weights two bytes of scale and half a byte of zero point.
    let bytes = PACKED / 2 + PACKED / 128 * 5 / 2 + REST;
    assert_eq!(bytes, 4_150_796_288);
    let warning = one_line("AWQ", Dtype::Int4, 224);
    assert_mistral("awq", "", &mistral(awq, false), bytes, Dtype::Int4, &[&warning]);
}

#[test]
fn gptq_packs_along_the_inputs() {
    for (bits, dtype, bytes) in [
        // Four bytes per input for its group.
        (4, Dtype::Int4, 4_155_777_024),
        (8, I8, 7_672_700_928),
        (3, Dtype::Int3, 3_276_546_048),
    ] {
        let pack = |name: &str, outputs: u64, inputs: u64| {
            vec![
                stored(format!("{name}.qweight"), &[inputs * bits / 32, outputs], I32),
                stored(format!("{name}.qzeros"), &[inputs / 128, outputs * bits / 32], I32),
                stored(format!("{name}.scales"), &[inputs / 128, outputs], Dtype::F16),
                stored(format!("{name}.g_idx"), &[inputs], I32),
            ]
        };
        let warning = one_line("GPTQ", dtype, 224);
        assert_mistral(&format!("gptq-{bits}"), "", &mistral(pack, false), bytes, dtype, &[&warning]);
    }
}

#[test]
fn compressed_tensors_stores_the_unpacked_shape() {
    let pack = |name: &str, outputs: u64, inputs: u64| {
        let shape = Stored {
            data: [outputs.to_le_bytes(), inputs.to_le_bytes()].concat(),
            ..stored(format!("{name}.weight_shape"), &[2], I64)
        };
        vec![
            stored(format!("{name}.weight_packed"), &[outputs, inputs / 8], I32),
            stored(format!("{name}.weight_scale"), &[outputs, inputs / 128], Bf16),
            shape,
        ]
    };
    let bytes = PACKED / 2 + PACKED / 128 * 2 + 224 * 16 + REST;
    assert_eq!(bytes, 4_123_536_896);
    let warning = one_line("compressed-tensors", Dtype::Int4, 224);
    assert_mistral("w4a16", "", &mistral(pack, false), bytes, Dtype::Int4, &[&warning]);
}

#[test]
fn eight_bit_weights_with_scales_keep_their_shape() {
    let of = |dtype: Dtype, scale: &'static str, size: fn(u64, u64) -> Vec<u64>, scales: Dtype| {
        move |name: &str, outputs: u64, inputs: u64| {
            vec![
                stored(format!("{name}.weight"), &[outputs, inputs], dtype),
                stored(format!("{name}.{scale}"), &size(outputs, inputs), scales),
            ]
        }
    };
    // One scale for each of 32 x 43008 outputs.
    let channels = mistral(of(F8E4M3, "weight_scale", |outputs, _| vec![outputs, 1], Bf16), false);
    assert_mistral("fp8", "", &channels, PACKED + 2 * 1_376_256 + REST, F8E4M3, &[]);
    let blocks = |outputs: u64, inputs: u64| vec![outputs / 128, inputs / 128];
    let blocks = mistral(of(F8E4M3, "weight_scale_inv", blocks, F32), false);
    assert_mistral("fp8-blocks", "", &blocks, 7_505_846_272, F8E4M3, &[]);
    let rows = mistral(of(I8, "SCB", |outputs, _| vec![outputs], F32), false);
    assert_mistral("int8", "", &rows, 7_509_647_360, I8, &[]);
}

#[test]
fn bitsandbytes_stores_the_unpacked_shape() {
    for (kind, dtype) in [("nf4", Dtype::Nf4), ("fp4", Dtype::Fp4)] {
        let pack = |name: &str, outputs, inputs| bitsandbytes(kind, name, outputs, inputs);
        // Half a byte per weight, a byte per 64 weights, four bytes per 16384, and two tables and a text per matrix.
        let bytes = PACKED / 2 + PACKED / 64 + PACKED / 16384 * 4 + 224 * (1024 + 64 + 160) + REST;
        assert_eq!(bytes, 4_125_516_800);
        let warning = one_line("bitsandbytes", dtype, 224);
        assert_mistral(kind, "", &mistral(pack, false), bytes, dtype, &[&warning]);
    }
}

#[test]
fn mlx_packs_embeddings_and_declares_groups_in_the_config() {
    for (bits, group, dtype, bytes) in [
        (4, 64, Dtype::Int4, 4_073_857_024),
        (8, 64, I8, 7_694_589_952),
        (6, 64, Dtype::Int6, 5_884_223_488),
        (4, 32, Dtype::Int4, 4_526_448_640),
    ] {
        let pack = |name: &str, outputs: u64, inputs: u64| {
            vec![
                stored(format!("{name}.weight"), &[outputs, inputs * bits / 32], U32),
                stored(format!("{name}.scales"), &[outputs, inputs / group], Bf16),
                stored(format!("{name}.biases"), &[outputs, inputs / group], Bf16),
            ]
        };
        let config = format!(r#", "quantization": {{"group_size": {group}, "bits": {bits}}}"#);
        let tensors = mistral(pack, true);
        let warning = one_line("MLX", dtype, 226);
        if group == 64 {
            assert_mistral(&format!("mlx-{bits}"), &config, &tensors, bytes, dtype, &[&warning]);
        } else {
            // Groups of 32 with 4 bits look like groups of 64 with 2 bits without the config.
            let model = open("mlx-32", Some(&format!("{CONFIG}{config}}}")), &tensors);
            assert_eq!((model.parameters(), model.bytes()), (PARAMETERS, Some(bytes)));
            assert_eq!(model.warnings, [warning]);
        }
    }
}

#[test]
fn modelopt_packs_two_fp4_numbers_per_byte() {
    let pack = |name: &str, outputs: u64, inputs: u64| {
        vec![
            stored(format!("{name}.weight"), &[outputs, inputs / 2], U8),
            stored(format!("{name}.weight_scale"), &[outputs, inputs / 16], F8E4M3),
            stored(format!("{name}.weight_scale_2"), &[], F32),
            stored(format!("{name}.input_scale"), &[], F32),
        ]
    };
    let bytes = PACKED / 2 + PACKED / 16 + 224 * 8 + REST;
    assert_eq!(bytes, 4_450_690_816);
    let warning = one_line("ModelOpt", Dtype::F4, 224);
    assert_mistral("nvfp4", "", &mistral(pack, false), bytes, Dtype::F4, &[&warning]);
}

/// Writes a sparse SafeTensors file and a `config.json` to a temporary directory.
fn sparse(test: &str, config: Option<&str>, tensors: &[(&str, &[u64], Dtype)]) -> PathBuf {
    let (header, length) = safetensors_header(tensors);
    let directory = files(test, &[("model.safetensors", &header)]);
    if let Some(config) = config {
        std::fs::write(directory.join("config.json"), config).expect("a test file can be written");
    }
    let path = directory.join("model.safetensors");
    let file = std::fs::OpenOptions::new().write(true).open(&path).expect("a test file can be opened");
    file.set_len(header.len() as u64 + length).expect("a test file can be made longer");
    path
}
