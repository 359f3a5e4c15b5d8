//! Headers of SafeTensors files and indexes of sharded models. The crate `safetensors` serves only as a test oracle: it accepts
//! duplicate names and rejects truncated files with an intact header.

use std::collections::{BTreeMap, HashSet};
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, Error as _, MapAccess, Visitor};
use serde_json::Value;

use super::cursor::Cursor;
use super::dtype::Dtype;
use super::error::{FormatError, quoted};
use super::{Tensor, layout};

/// Maximum header size of the format in bytes.
pub(super) const MAX_HEADER_BYTES: u64 = 100_000_000;

/// Types of the format.
const TYPES: &str = "BOOL, F4, F6_E2M3, F6_E3M2, U8, I8, F8_E5M2, F8_E4M3, F8_E8M0, F8_E4M3FNUZ, F8_E5M2FNUZ, I16, U16, F16, BF16, \
                     I32, U32, F32, C64, F64, I64, U64";

/// Header of one SafeTensors file.
#[derive(Clone, Debug)]
pub struct Header {
    /// All tensors in the order of the header.
    pub tensors: Vec<Tensor>,
    /// Text under `__metadata__`.
    pub metadata: BTreeMap<String, String>,
    /// Warnings about unusual but valid content.
    pub warnings: Vec<String>,
}

/// Parses the header at the start of `bytes`, which may be truncated after it.
pub fn read(bytes: &[u8]) -> Result<Header, FormatError> {
    let mut cursor = Cursor::new(bytes);
    let length = cursor.u64("the header length")?;
    if length > MAX_HEADER_BYTES {
        return Err(FormatError::byte(
            0,
            format!("header length {length}; expected at most {MAX_HEADER_BYTES} bytes"),
        ));
    }
    let text = cursor.text(length, "the header")?;
    let data_start = 8 + length;
    let raw: RawHeader = serde_json::from_str(text)
        .map_err(|error| FormatError::byte(8, format!("invalid header: {error}")))?;

    let mut tensors = Vec::with_capacity(raw.tensors.len());
    for (name, info) in raw.tensors {
        tensors.push(place(name, info, data_start)?);
    }
    let layout = layout::check(&tensors, data_start, bytes.len() as u64, 1)?;
    if let Some(tensor) = layout.gap {
        return Err(FormatError::file(format!("unused bytes before tensor {tensor}; gaps are not allowed")));
    }
    if layout.end < bytes.len() as u64 {
        return Err(FormatError::byte(layout.end as usize, "unused bytes from here to the end of the file"));
    }
    Ok(Header { tensors, metadata: raw.metadata, warnings: layout.warnings })
}

fn place(name: String, info: TensorInfo, data_start: u64) -> Result<Tensor, FormatError> {
    let fault = |message: String| FormatError::byte(8, format!("tensor {}: {message}", quoted(&name)));
    let TensorInfo { dtype, shape: dims, data_offsets: (start, end) } = info;
    let known = TYPES.split(", ").find(|known| *known == dtype).and_then(Dtype::from_name);
    let dtype =
        known.ok_or_else(|| fault(format!("unknown type {}; expected one of {TYPES}", quoted(&dtype))))?;
    let Some(bytes) = end.checked_sub(start) else {
        return Err(fault(format!("data end {end} precedes data start {start}")));
    };
    let elements = super::elements(&dims).ok_or_else(|| fault("dimensions overflow".to_owned()))?;
    if dtype.bytes(elements) != Some(bytes) {
        return Err(fault(format!(
            "{elements} elements of type {dtype} take {} bytes, found {bytes}",
            dtype.bytes(elements).map_or("a fractional number of".to_owned(), |bytes| bytes.to_string())
        )));
    }
    let offset = data_start.checked_add(start).ok_or_else(|| fault("offset overflows".to_owned()))?;
    Ok(Tensor { name, dtype, dims, offset, bytes: Some(bytes), file: 0, companion_of: None })
}

/// Parses an index into pairs of tensor name and shard file name.
pub fn read_index(text: &[u8]) -> Result<Vec<(String, String)>, FormatError> {
    let map = super::hf_config::object(text)?;
    let weights = match map.get("weight_map") {
        Some(Value::Object(weights)) => weights,
        Some(_) => return Err(FormatError::field("weight_map", "expected an object")),
        None => return Err(FormatError::field("weight_map", "missing")),
    };
    weights
        .iter()
        .map(|(tensor, shard)| match shard.as_str() {
            // Shards are in the directory of the index; paths could reach other directories.
            Some(shard) if !shard.is_empty() && !shard.contains(['/', '\\']) && shard != ".." => {
                Ok((tensor.clone(), shard.to_owned()))
            }
            _ => Err(FormatError::field(
                "weight_map",
                format!("{}: expected a file name, found {shard}", quoted(tensor)),
            )),
        })
        .collect()
}

#[derive(Deserialize)]
struct TensorInfo {
    dtype: String,
    shape: Vec<u64>,
    data_offsets: (u64, u64),
}

struct RawHeader {
    tensors: Vec<(String, TensorInfo)>,
    metadata: BTreeMap<String, String>,
}

impl<'de> Deserialize<'de> for RawHeader {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<RawHeader, D::Error> {
        deserializer.deserialize_map(HeaderVisitor)
    }
}

struct HeaderVisitor;

impl<'de> Visitor<'de> for HeaderVisitor {
    type Value = RawHeader;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object with an entry for each tensor")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<RawHeader, A::Error> {
        let mut header = RawHeader { tensors: Vec::new(), metadata: BTreeMap::new() };
        let mut names = HashSet::new();
        while let Some(name) = map.next_key::<String>()? {
            if !names.insert(name.clone()) {
                return Err(A::Error::custom(format!("duplicate entry {}", quoted(&name))));
            }
            if name == "__metadata__" {
                header.metadata = map.next_value()?;
            } else {
                let info = map.next_value().map_err(|error: A::Error| {
                    A::Error::custom(format!("tensor {}: {error}", quoted(&name)))
                })?;
                header.tensors.push((name, info));
            }
        }
        Ok(header)
    }
}
