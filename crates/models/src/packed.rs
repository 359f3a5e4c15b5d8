//! Weights that a quantization tool has packed into words, in SafeTensors files: which numbers the words stand for, and which
//! tensors are their scales. GPTQ, AWQ, compressed-tensors, bitsandbytes, MLX, ModelOpt, the MXFP4 of gpt-oss, and 8 bits with
//! scales. From here on a packed tensor has the shape and the type of its weights; its bytes stay what is stored.

use std::collections::{BTreeMap, HashMap};

use serde_json::{Map, Value};

use super::Tensor;
use super::dtype::Dtype;
use super::fault::quoted;

/// How a name of packed weights ends, and the ends of what goes with them.
const FAMILIES: &[(&str, &[&str])] = &[
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

/// More than any description of a shape takes.
const MOST_TEXT: usize = 1 << 16;

/// What packed words stand for.
struct Unpacked {
    by: &'static str,
    dtype: Dtype,
    dims: Vec<u64>,
}

/// What a tensor with scales is.
enum Found {
    /// Weights whose shape is the stored one.
    Plain,
    /// Words of several weights.
    Packed(Unpacked),
    /// Words, but nothing says of what.
    Unknown,
}

/// Gives packed weights the shape and the type of the numbers they stand for, and tells every scale whose it is. Some shapes
/// are in the data, and some numbers of bits in the `config.json`. What was found, in a line for each way of packing.
pub fn unpack<'a>(
    tensors: &mut [Tensor],
    data: impl Fn(&Tensor) -> Option<&'a [u8]>,
    config: Option<&Map<String, Value>>,
) -> Vec<String> {
    let places: HashMap<&str, usize> =
        tensors.iter().enumerate().map(|(index, tensor)| (tensor.name.as_str(), index)).collect();
    let mut found: Vec<(usize, Vec<usize>, Found)> = Vec::new();
    for (index, tensor) in tensors.iter().enumerate() {
        let Some((stem, ends)) =
            FAMILIES.iter().find_map(|(end, ends)| Some((tensor.name.strip_suffix(end)?, *ends)))
        else {
            continue;
        };
        if !is_small(tensor.dtype) {
            continue;
        }
        let at = |end: &str| places.get(format!("{stem}{end}").as_str()).copied();
        let beside: Vec<usize> = ends.iter().filter_map(|end| at(end)).collect();
        if beside.is_empty() {
            continue;
        }
        let words = Words {
            stem,
            tensor,
            beside: &|end| at(end).and_then(|index| tensors.get(index)),
            data: &|end| data(tensors.get(at(end)?)?),
            config,
        };
        found.push((index, beside, words.unpacked()));
    }
    let mut told: BTreeMap<(&str, Dtype), usize> = BTreeMap::new();
    let mut unknown = Vec::new();
    for (index, beside, what) in found {
        for scale in beside {
            tensors[scale].beside = Some(index);
        }
        match what {
            Found::Plain => {}
            Found::Unknown => unknown.push(index),
            Found::Packed(Unpacked { by, dtype, dims }) => {
                *told.entry((by, dtype)).or_default() += 1;
                (tensors[index].dtype, tensors[index].dims) = (dtype, dims);
            }
        }
    }
    let mut lines: Vec<String> = told
        .into_iter()
        .map(|((by, dtype), count)| {
            format!("{count} tensor(s) are packed by {by} as {dtype}: their shape is that of the weights they stand for")
        })
        .collect();
    if let Some(first) = unknown.first() {
        lines.push(format!(
            "{} tensor(s) are packed in a way that is not known, the first {}",
            unknown.len(),
            quoted(&tensors[*first].name)
        ));
    }
    lines
}

/// Whether packed weights may be stored in elements of this type.
fn is_small(dtype: Dtype) -> bool {
    use Dtype::*;
    is_word(dtype)
        || matches!(dtype, I8 | F4 | F8E4M3 | F8E5M2 | F8E8M0 | F8E4M3Fnuz | F8E5M2Fnuz | F6E2M3 | F6E3M2)
}

/// Whether a tensor of this type holds words rather than weights.
pub(super) fn is_word(dtype: Dtype) -> bool {
    matches!(dtype, Dtype::U8 | Dtype::I32 | Dtype::U32 | Dtype::I64)
}

/// Integers of so many bits.
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

/// How many times `of` is in a number, if it is so without a rest.
fn exactly(number: u64, of: u64) -> Option<u64> {
    (of > 0 && number.is_multiple_of(of)).then(|| number / of)
}

/// A dimension of 32-bit words as one of weights.
fn in_words(words: u64, bits: u64) -> Option<u64> {
    exactly(words.checked_mul(32)?, bits)
}

/// A shape with another last dimension.
fn with_last(dims: &[u64], last: u64) -> Option<Vec<u64>> {
    let (_, front) = dims.split_last()?;
    let dims: Vec<u64> = front.iter().copied().chain([last]).collect();
    super::elements(&dims).map(|_| dims)
}

/// A packed tensor with what goes with it, by the ends of the names.
struct Words<'a> {
    stem: &'a str,
    tensor: &'a Tensor,
    beside: &'a dyn Fn(&str) -> Option<&'a Tensor>,
    data: &'a dyn Fn(&str) -> Option<&'a [u8]>,
    config: Option<&'a Map<String, Value>>,
}

impl Words<'_> {
    fn unpacked(&self) -> Found {
        let has = |end: &str| (self.beside)(end).is_some();
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
            return Found::Plain;
        };
        packed.map_or(Found::Unknown, Found::Packed)
    }

    /// GPTQ packs the inputs of a column into words, AWQ the outputs of a row, and its variant for one token the inputs of a
    /// row: the scales have one column, or row, for each output.
    fn gptq_or_awq(&self) -> Option<Unpacked> {
        let [rows, cols] = *self.tensor.dims.as_slice() else { return None };
        let [groups, outputs] = *(self.beside)(".scales")?.dims.as_slice() else { return None };
        if outputs == cols {
            let inputs = (self.beside)(".g_idx").and_then(|order| order.dims.first().copied());
            let zeros = (self.beside)(".qzeros").and_then(|zeros| zeros.dims.last().copied());
            let bits = inputs
                .and_then(|inputs| exactly(rows.checked_mul(32)?, inputs))
                .or_else(|| exactly(zeros?.checked_mul(32)?, outputs))
                .or_else(|| self.stated_bits())?;
            let dims = vec![outputs, in_words(rows, bits)?];
            return Some(Unpacked { by: "GPTQ", dtype: integers(bits)?, dims });
        }
        if let Some(bits) = cols.checked_mul(32).and_then(|all| exactly(all, outputs)) {
            return Some(Unpacked { by: "AWQ", dtype: integers(bits)?, dims: vec![outputs, rows] });
        }
        let bits = self.stated_bits().unwrap_or(4);
        let dims = vec![rows, in_words(cols, bits)?];
        (groups == rows).then_some(Unpacked { by: "AWQ", dtype: integers(bits)?, dims })
    }

    /// compressed-tensors: words along the inputs, the shape beside them; bytes hold two FP4 numbers.
    fn compressed(&self) -> Option<Unpacked> {
        let by = "compressed-tensors";
        let last = *self.tensor.dims.last()?;
        if self.tensor.dtype == Dtype::U8 {
            let dims = with_last(&self.tensor.dims, last.checked_mul(2)?)?;
            return Some(Unpacked { by, dtype: Dtype::F4, dims });
        }
        // The last word of a row may be filled in part.
        let shape = (self.beside)(".weight_shape").and_then(|shape| {
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
                let bits = self.stated_bits().unwrap_or(4);
                (bits, in_words(last, bits)?)
            }
        };
        Some(Unpacked { by, dtype: integers(bits)?, dims: with_last(&self.tensor.dims, inputs)? })
    }

    /// gpt-oss: blocks of bytes with two FP4 numbers each, and a scale for each block.
    fn blocks(&self) -> Option<Unpacked> {
        let [front @ .., count, bytes] = self.tensor.dims.as_slice() else { return None };
        let scales = &(self.beside)("_scales")?.dims;
        let per_block = scales.strip_prefix(front) == Some(&[*count]) && self.tensor.dtype == Dtype::U8;
        let last = count.checked_mul(*bytes)?.checked_mul(2)?;
        let dims: Vec<u64> = front.iter().copied().chain([last]).collect();
        super::elements(&dims)?;
        per_block.then_some(Unpacked { by: "gpt-oss", dtype: Dtype::F4, dims })
    }

    /// bitsandbytes keeps bytes of two numbers in one column, and the shape as JSON in a tensor beside them.
    fn bitsandbytes(&self) -> Option<Unpacked> {
        const STATES: [(&str, Dtype); 2] = [
            (".weight.quant_state.bitsandbytes__nf4", Dtype::Nf4),
            (".weight.quant_state.bitsandbytes__fp4", Dtype::Fp4),
        ];
        let (state, dtype) = STATES.into_iter().find(|(end, _)| (self.beside)(end).is_some())?;
        let weights = self.tensor.elements().checked_mul(2)?;
        let text = (self.data)(state).filter(|text| text.len() <= MOST_TEXT);
        let shape = text.and_then(|text| {
            let Value::Object(map) = serde_json::from_slice(text).ok()? else { return None };
            map.get("shape")?.as_array()?.iter().map(Value::as_u64).collect::<Option<Vec<u64>>>()
        });
        // The last byte of an odd number of weights is half empty.
        let fits = |dims: &Vec<u64>| super::elements(dims).is_some_and(|all| all.div_ceil(2) == weights / 2);
        // Without the shape at least the number of weights is known.
        let dims = shape.filter(fits).unwrap_or_else(|| vec![weights]);
        Some(Unpacked { by: "bitsandbytes", dtype, dims })
    }

    /// MLX: words along the inputs; how many weights share a scale is in the `config.json`, also tensor by tensor.
    fn mlx(&self) -> Option<Unpacked> {
        let scales = (self.beside)(".scales")?;
        let (words, groups) = (*self.tensor.dims.last()?, *scales.dims.last()?);
        let bits_of_a_group = exactly(words.checked_mul(32)?, groups)?;
        let (dtype, bits) = if scales.dtype == Dtype::U8 {
            match bits_of_a_group {
                64 | 128 => (Dtype::F4, 4),
                256 => (Dtype::F8E4M3, 8),
                _ => return None,
            }
        } else {
            let stated =
                self.mlx_stated().filter(|(bits, group)| bits.saturating_mul(*group) == bits_of_a_group);
            let usual = [64, 32, 128].into_iter().find_map(|group| {
                let bits = exactly(bits_of_a_group, group)?;
                integers(bits).map(|_| (bits, group))
            });
            let (bits, _) = stated.or(usual)?;
            (integers(bits)?, bits)
        };
        let dims = with_last(&self.tensor.dims, in_words(words, bits)?)?;
        Some(Unpacked { by: "MLX", dtype, dims })
    }

    /// ModelOpt: bytes of two FP4 numbers, 16 of which share a scale in 8 bits, or 32 as in MXFP4.
    fn modelopt(&self) -> Option<Unpacked> {
        let last = self.tensor.dims.last()?.checked_mul(2)?;
        let groups = *(self.beside)(".weight_scale")?.dims.last()?;
        let dims = with_last(&self.tensor.dims, last)?;
        matches!(exactly(last, groups), Some(16 | 32)).then_some(Unpacked {
            by: "ModelOpt",
            dtype: Dtype::F4,
            dims,
        })
    }

    /// Bits and weights of a group, of this tensor or of all.
    fn mlx_stated(&self) -> Option<(u64, u64)> {
        let all = self.config?.get("quantization")?;
        let own = all.get(self.stem).unwrap_or(all);
        Some((own.get("bits")?.as_u64()?, own.get("group_size")?.as_u64()?))
    }

    /// The number of bits that the `config.json` states for all weights, if it does.
    fn stated_bits(&self) -> Option<u64> {
        let stated = self.config?.get("quantization_config")?;
        let one = |value: &Value| value.as_u64().filter(|bits| integers(*bits).is_some());
        if let Some(bits) = stated.get("bits").and_then(one) {
            return Some(bits);
        }
        let groups = stated.get("config_groups")?.as_object()?.values();
        let mut bits = groups.filter_map(|group| one(group.get("weights")?.get("num_bits")?));
        let first = bits.next()?;
        bits.all(|other| other == first).then_some(first)
    }
}
