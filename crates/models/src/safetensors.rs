//! The header of a SafeTensors file and the index of a sharded one. The crate `safetensors` is only a test oracle: it keeps the
//! last of two equal names and rejects an incomplete download, although its header is intact.

use std::collections::{BTreeMap, HashSet};
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, Error as _, MapAccess, Visitor};
use serde_json::Value;

use super::cursor::Cursor;
use super::dtype::Dtype;
use super::fault::{Fault, quoted};
use super::{Tensor, layout};

/// The largest header the format allows.
pub(super) const MOST_HEADER: u64 = 100_000_000;

/// The types of the format.
const TYPES: &str = "BOOL, F4, F6_E2M3, F6_E3M2, U8, I8, F8_E5M2, F8_E4M3, F8_E8M0, F8_E4M3FNUZ, F8_E5M2FNUZ, I16, U16, F16, BF16, \
                     I32, U32, F32, C64, F64, I64, U64";

/// The front of one SafeTensors file.
#[derive(Clone, Debug)]
pub struct Header {
    /// All tensors, in the header's order.
    pub tensors: Vec<Tensor>,
    /// The free text under `__metadata__`.
    pub metadata: BTreeMap<String, String>,
    /// What is odd but not wrong.
    pub warnings: Vec<String>,
}

/// Reads the header at the front of `bytes`, which may end anywhere behind it.
pub fn read(bytes: &[u8]) -> Result<Header, Fault> {
    let mut cursor = Cursor::new(bytes);
    let length = cursor.u64("the header's length")?;
    if length > MOST_HEADER {
        return Err(Fault::byte(
            0,
            format!("a header of {length} bytes, but at most {MOST_HEADER} are allowed"),
        ));
    }
    let text = cursor.text(length, "the header")?;
    let data_start = 8 + length;
    let raw: RawHeader =
        serde_json::from_str(text).map_err(|error| Fault::byte(8, format!("the header: {error}")))?;

    let mut tensors = Vec::with_capacity(raw.tensors.len());
    for (name, info) in raw.tensors {
        tensors.push(place(name, info, data_start)?);
    }
    let layout = layout::check(&tensors, data_start, bytes.len() as u64, 1)?;
    if let Some(behind) = layout.gap {
        return Err(Fault::file(format!(
            "no tensor owns the bytes before tensor {behind}; gaps are not allowed"
        )));
    }
    if layout.end < bytes.len() as u64 {
        return Err(Fault::byte(
            layout.end as usize,
            "no tensor owns the bytes from here to the end of the file",
        ));
    }
    Ok(Header { tensors, metadata: raw.metadata, warnings: layout.warnings })
}

fn place(name: String, info: TensorInfo, data_start: u64) -> Result<Tensor, Fault> {
    let fault = |what: String| Fault::byte(8, format!("tensor {}: {what}", quoted(&name)));
    let TensorInfo { dtype, shape: dims, data_offsets: (start, end) } = info;
    let known = TYPES.split(", ").find(|known| *known == dtype).and_then(Dtype::from_name);
    let dtype =
        known.ok_or_else(|| fault(format!("unknown type {}; expected one of {TYPES}", quoted(&dtype))))?;
    let Some(bytes) = end.checked_sub(start) else {
        return Err(fault(format!("its data ends at {end}, before it begins at {start}")));
    };
    let elements = super::elements(&dims).ok_or_else(|| fault("dimensions overflow".to_owned()))?;
    if dtype.bytes(elements) != Some(bytes) {
        return Err(fault(format!(
            "{bytes} bytes are set aside for {elements} elements of type {dtype}, which take {}",
            dtype.bytes(elements).map_or("no whole number of bytes".to_owned(), |bytes| bytes.to_string())
        )));
    }
    let offset = data_start.checked_add(start).ok_or_else(|| fault("its offset overflows".to_owned()))?;
    Ok(Tensor { name, dtype, dims, offset, bytes: Some(bytes), file: 0, beside: None })
}

/// The tensors an index lists, each with the file that holds it.
pub fn read_index(text: &[u8]) -> Result<Vec<(String, String)>, Fault> {
    let map = super::config::object(text)?;
    let weights = match map.get("weight_map") {
        Some(Value::Object(weights)) => weights,
        Some(_) => return Err(Fault::field("weight_map", "must be an object")),
        None => return Err(Fault::field("weight_map", "is missing")),
    };
    weights
        .iter()
        .map(|(tensor, shard)| match shard.as_str() {
            // A shard stands beside its index; a path would reach other places.
            Some(shard) if !shard.is_empty() && !shard.contains(['/', '\\']) && shard != ".." => {
                Ok((tensor.clone(), shard.to_owned()))
            }
            _ => Err(Fault::field("weight_map", format!("{}: {shard} is not a file name", quoted(tensor)))),
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
                return Err(A::Error::custom(format!("{} is there twice", quoted(&name))));
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
