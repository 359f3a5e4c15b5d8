//! Weights in SafeTensors files that a quantization tool has packed into words: GPTQ, AWQ, compressed-tensors, bitsandbytes, MLX,
//! ModelOpt, the MXFP4 of gpt-oss, and 8-bit weights with scales. After unpacking, a tensor has the shape and type of its weights
//! and the stored size in bytes.

use std::collections::{BTreeMap, HashMap};

use serde_json::{Map, Value};

use super::Tensor;
use super::dtype::Dtype;
use super::error::{format_count, quoted};

/// Name suffixes of packed weights, and of the scales, zero points and tables that belong to them.
const SUFFIXES: &[(&str, &[&str])] = &[
    (".qweight", &[".qzeros", ".scales", ".g_idx"]),
    (
        ".weight_packed",
        &[
            ".weight_scale",
            ".weight_shape",
            ".weight_zero_point",
            ".weight_g_idx",
            ".weight_global_scale",
            ".input_global_scale",
            ".input_scale",
        ],
    ),
    ("_blocks", &["_scales"]),
    (
        ".weight",
        &[
            ".weight.absmax",
            ".weight.quant_map",
            ".weight.nested_absmax",
            ".weight.nested_quant_map",
            ".weight.quant_state.bitsandbytes__nf4",
            ".weight.quant_state.bitsandbytes__fp4",
            ".SCB",
            ".weight_format",
            ".weight_scale",
            ".weight_scale_2",
            ".weight_scale_inv",
            ".weight_zero_point",
            ".input_scale",
            ".output_scale",
            ".k_scale",
            ".v_scale",
            ".scales",
            ".biases",
        ],
    ),
    ("", &["_scale_inv", "_scale", "_scale_2", "_input_scale"]),
];

/// Maximum length of a JSON description of a shape, in bytes.
const MAX_TEXT_BYTES: usize = 1 << 16;

/// Type and shape of unpacked weights.
struct Unpacked {
    tool: &'static str,
    dtype: Dtype,
    dims: Vec<u64>,
}

/// Packing of a tensor with scales.
enum Packing {
    /// Unpacked weights in their stored shape.
    None,
    Packed(Unpacked),
    Unknown,
}

/// Sets shape and type of packed weights to those of the unpacked weights, and links scales to their weights. Some shapes are
/// read from the data, and some bit widths from the `config.json`. Returns warnings, one per packing method and type.
pub fn unpack<'a>(
    tensors: &mut [Tensor],
    data: impl Fn(&Tensor) -> Option<&'a [u8]>,
    config: Option<&Map<String, Value>>,
) -> Vec<String> {
    let places: HashMap<&str, usize> =
        tensors.iter().enumerate().map(|(index, tensor)| (tensor.name.as_str(), index)).collect();
    let mut found: Vec<(usize, Vec<usize>, Packing)> = Vec::new();
    for (index, tensor) in tensors.iter().enumerate() {
        let Some((stem, ends)) =
            SUFFIXES.iter().find_map(|(end, ends)| Some((tensor.name.strip_suffix(end)?, *ends)))
        else {
            continue;
        };
        if !is_small(tensor.dtype) {
            continue;
        }
        let at = |end: &str| places.get(format!("{stem}{end}").as_str()).copied();
        let companions: Vec<usize> = ends.iter().filter_map(|end| at(end)).collect();
        if companions.is_empty() {
            continue;
        }
        let words = Words {
            stem,
            tensor,
            companion: &|end| at(end).and_then(|index| tensors.get(index)),
            data: &|end| data(tensors.get(at(end)?)?),
            config,
        };
        found.push((index, companions, words.packing()));
    }
    let mut counts: BTreeMap<(&str, Dtype), usize> = BTreeMap::new();
    let mut unknown = Vec::new();
    for (index, companions, packing) in found {
        for companion in companions {
            tensors[companion].companion_of = Some(index);
        }
        match packing {
            Packing::None => {}
            Packing::Unknown => unknown.push(index),
            Packing::Packed(Unpacked { tool, dtype, dims }) => {
                *counts.entry((tool, dtype)).or_default() += 1;
                (tensors[index].dtype, tensors[index].dims) = (dtype, dims);
            }
        }
    }
    let mut warnings: Vec<String> = counts
        .into_iter()
        .map(|((tool, dtype), count)| {
            format!(
                "{} packed by {tool} as {dtype}: shapes are those of the unpacked weights",
                format_count(count)
            )
        })
        .collect();
    if let Some(first) = unknown.first() {
        warnings.push(format!(
            "{} with unknown packing (first: {})",
            format_count(unknown.len()),
            quoted(&tensors[*first].name)
        ));
    }
    warnings
}

/// Returns true if tensors of this type may contain packed or scaled weights.
fn is_small(dtype: Dtype) -> bool {
    use Dtype::*;
    is_word(dtype)
        || matches!(dtype, I8 | F4 | F8E4M3 | F8E5M2 | F8E8M0 | F8E4M3Fnuz | F8E5M2Fnuz | F6E2M3 | F6E3M2)
}

/// Returns true if packed tensors of this type contain words of several weights.
pub(super) fn is_word(dtype: Dtype) -> bool {
    matches!(dtype, Dtype::U8 | Dtype::I32 | Dtype::U32 | Dtype::I64)
}

/// Returns the integer type of a bit width.
fn integers(bits: u64) -> Option<Dtype> {
    Some(match bits {
        2 => Dtype::Int2,
        3 => Dtype::Int3,
        4 => Dtype::Int4,
        5 => Dtype::Int5,
        6 => Dtype::Int6,
        8 => Dtype::I8,
        _ => return None,
    })
}

/// Divides without remainder.
fn exactly(number: u64, divisor: u64) -> Option<u64> {
    (divisor > 0 && number.is_multiple_of(divisor)).then(|| number / divisor)
}

/// Converts a dimension in 32-bit words to one in weights.
fn words_to_weights(words: u64, bits: u64) -> Option<u64> {
    exactly(words.checked_mul(32)?, bits)
}

/// Replaces the last dimension.
fn with_last(dims: &[u64], last: u64) -> Option<Vec<u64>> {
    let (_, front) = dims.split_last()?;
    let dims: Vec<u64> = front.iter().copied().chain([last]).collect();
    super::elements(&dims).map(|_| dims)
}

/// Packed tensor with access to its scales and tables by name suffix.
struct Words<'a> {
    stem: &'a str,
    tensor: &'a Tensor,
    companion: &'a dyn Fn(&str) -> Option<&'a Tensor>,
    data: &'a dyn Fn(&str) -> Option<&'a [u8]>,
    config: Option<&'a Map<String, Value>>,
}

impl Words<'_> {
    fn packing(&self) -> Packing {
        let has = |end: &str| (self.companion)(end).is_some();
        let name = &self.tensor.name;
        let packed = if name.ends_with(".qweight") {
            self.gptq_or_awq()
        } else if name.ends_with(".weight_packed") {
            self.compressed()
        } else if name.ends_with("_blocks") {
            self.blocks()
        } else if has(".weight.absmax") {
            self.bitsandbytes()
        } else if self.tensor.dtype == Dtype::U32 && has(".scales") {
            self.mlx()
        } else if self.tensor.dtype == Dtype::U8 && has(".weight_scale") {
            self.modelopt()
        } else {
            return Packing::None;
        };
        packed.map_or(Packing::Unknown, Packing::Packed)
    }

    /// GPTQ packs along the inputs of a column and AWQ along the outputs of a row; the AWQ variant for GEMV packs along the
    /// inputs of a row. The scales have one column, or row, per output.
    fn gptq_or_awq(&self) -> Option<Unpacked> {
        let [rows, cols] = *self.tensor.dims.as_slice() else { return None };
        let [groups, outputs] = *(self.companion)(".scales")?.dims.as_slice() else { return None };
        if outputs == cols {
            let inputs = (self.companion)(".g_idx").and_then(|order| order.dims.first().copied());
            let zeros = (self.companion)(".qzeros").and_then(|zeros| zeros.dims.last().copied());
            let bits = inputs
                .and_then(|inputs| exactly(rows.checked_mul(32)?, inputs))
                .or_else(|| exactly(zeros?.checked_mul(32)?, outputs))
                .or_else(|| self.declared_bits())?;
            let dims = vec![outputs, words_to_weights(rows, bits)?];
            return Some(Unpacked { tool: "GPTQ", dtype: integers(bits)?, dims });
        }
        if let Some(bits) = cols.checked_mul(32).and_then(|all| exactly(all, outputs)) {
            return Some(Unpacked { tool: "AWQ", dtype: integers(bits)?, dims: vec![outputs, rows] });
        }
        let bits = self.declared_bits().unwrap_or(4);
        let dims = vec![rows, words_to_weights(cols, bits)?];
        (groups == rows).then_some(Unpacked { tool: "AWQ", dtype: integers(bits)?, dims })
    }

    /// compressed-tensors: words along the inputs, with the shape in a separate tensor; bytes contain two FP4 numbers.
    fn compressed(&self) -> Option<Unpacked> {
        let tool = "compressed-tensors";
        let last = *self.tensor.dims.last()?;
        if self.tensor.dtype == Dtype::U8 {
            let dims = with_last(&self.tensor.dims, last.checked_mul(2)?)?;
            return Some(Unpacked { tool, dtype: Dtype::F4, dims });
        }
        // The last word of a row may be padded.
        let shape = (self.companion)(".weight_shape").and_then(|shape| {
            let width = if shape.dtype == Dtype::I64 { 8 } else { 4 };
            (self.data)(".weight_shape")?.chunks_exact(width).next_back()?.first_chunk::<4>().copied()
        });
        let inputs = shape.map(|bytes| u64::from(u32::from_le_bytes(bytes))).filter(|inputs| *inputs > 0);
        let fits = |bits: u64, inputs: u64| {
            bits.checked_mul(inputs).is_some_and(|all| all.div_ceil(32) == last) && 32 % bits == 0
        };
        let bits = inputs.and_then(|inputs| [2, 4, 8].into_iter().find(|bits| fits(*bits, inputs)));
        let (bits, inputs) = match bits.zip(inputs) {
            Some(both) => both,
            None => {
                let bits = self.declared_bits().unwrap_or(4);
                (bits, words_to_weights(last, bits)?)
            }
        };
        Some(Unpacked { tool, dtype: integers(bits)?, dims: with_last(&self.tensor.dims, inputs)? })
    }

    /// gpt-oss: blocks of bytes with two FP4 numbers each, and one scale per block.
    fn blocks(&self) -> Option<Unpacked> {
        let [front @ .., count, bytes] = self.tensor.dims.as_slice() else { return None };
        let scales = &(self.companion)("_scales")?.dims;
        let per_block = scales.strip_prefix(front) == Some(&[*count]) && self.tensor.dtype == Dtype::U8;
        let last = count.checked_mul(*bytes)?.checked_mul(2)?;
        let dims: Vec<u64> = front.iter().copied().chain([last]).collect();
        super::elements(&dims)?;
        per_block.then_some(Unpacked { tool: "gpt-oss", dtype: Dtype::F4, dims })
    }

    /// bitsandbytes: one column of bytes with two numbers each, and the shape as JSON in a separate tensor.
    fn bitsandbytes(&self) -> Option<Unpacked> {
        const STATES: [(&str, Dtype); 2] = [
            (".weight.quant_state.bitsandbytes__nf4", Dtype::Nf4),
            (".weight.quant_state.bitsandbytes__fp4", Dtype::Fp4),
        ];
        let (state, dtype) = STATES.into_iter().find(|(end, _)| (self.companion)(end).is_some())?;
        let weights = self.tensor.elements().checked_mul(2)?;
        let text = (self.data)(state).filter(|text| text.len() <= MAX_TEXT_BYTES);
        let shape = text.and_then(|text| {
            let Value::Object(map) = serde_json::from_slice(text).ok()? else { return None };
            map.get("shape")?.as_array()?.iter().map(Value::as_u64).collect::<Option<Vec<u64>>>()
        });
        // The last byte is padded if the number of weights is odd.
        let fits = |dims: &Vec<u64>| super::elements(dims).is_some_and(|all| all.div_ceil(2) == weights / 2);
        // Fall back to a vector if the shape is missing.
        let dims = shape.filter(fits).unwrap_or_else(|| vec![weights]);
        Some(Unpacked { tool: "bitsandbytes", dtype, dims })
    }

    /// MLX: words along the inputs; the group size is in the `config.json`, for all tensors or per tensor.
    fn mlx(&self) -> Option<Unpacked> {
        let scales = (self.companion)(".scales")?;
        let (words, groups) = (*self.tensor.dims.last()?, *scales.dims.last()?);
        let bits_per_group = exactly(words.checked_mul(32)?, groups)?;
        let (dtype, bits) = if scales.dtype == Dtype::U8 {
            match bits_per_group {
                64 | 128 => (Dtype::F4, 4),
                256 => (Dtype::F8E4M3, 8),
                _ => return None,
            }
        } else {
            let declared =
                self.mlx_quantization().filter(|(bits, group)| bits.saturating_mul(*group) == bits_per_group);
            let usual = [64, 32, 128].into_iter().find_map(|group| {
                let bits = exactly(bits_per_group, group)?;
                integers(bits).map(|_| (bits, group))
            });
            let (bits, _) = declared.or(usual)?;
            (integers(bits)?, bits)
        };
        let dims = with_last(&self.tensor.dims, words_to_weights(words, bits)?)?;
        Some(Unpacked { tool: "MLX", dtype, dims })
    }

    /// ModelOpt: bytes of two FP4 numbers, with an 8-bit scale for 16 of them, or for 32 as in MXFP4.
    fn modelopt(&self) -> Option<Unpacked> {
        let last = self.tensor.dims.last()?.checked_mul(2)?;
        let groups = *(self.companion)(".weight_scale")?.dims.last()?;
        let dims = with_last(&self.tensor.dims, last)?;
        matches!(exactly(last, groups), Some(16 | 32)).then_some(Unpacked {
            tool: "ModelOpt",
            dtype: Dtype::F4,
            dims,
        })
    }

    /// Returns bit width and group size from the `config.json`, for this tensor or for all.
    fn mlx_quantization(&self) -> Option<(u64, u64)> {
        let all = self.config?.get("quantization")?;
        let own = all.get(self.stem).unwrap_or(all);
        Some((own.get("bits")?.as_u64()?, own.get("group_size")?.as_u64()?))
    }

    /// Returns the bit width that the `config.json` declares for all weights.
    fn declared_bits(&self) -> Option<u64> {
        let config = self.config?.get("quantization_config")?;
        let supported = |value: &Value| value.as_u64().filter(|bits| integers(*bits).is_some());
        if let Some(bits) = config.get("bits").and_then(supported) {
            return Some(bits);
        }
        let groups = config.get("config_groups")?.as_object()?.values();
        let mut bits = groups.filter_map(|group| supported(group.get("weights")?.get("num_bits")?));
        let first = bits.next()?;
        bits.all(|other| other == first).then_some(first)
    }
}
