//! The header of an APR file, version 2: a fixed header with a checksum, metadata as JSON, and an index
//! of tensors.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::cursor::Cursor;
use super::dtype::Dtype;
use super::fault::{Fault, quoted};
use super::{Tensor, config, layout};

/// The first four bytes of an APR file of version 2, and of an older one.
pub const MAGICS: [[u8; 4]; 2] = [*b"APR\0", *b"APR2"];

const HEADER: usize = 64;
const CHECKSUM: std::ops::Range<usize> = 40..44;
const MOST_METADATA: u32 = 16 << 20;
const MOST_NAME: u16 = 256;
const MOST_DIMS: u8 = 8;
const ALIGNMENT: u64 = 64;

/// Flags that change how the data is stored.
const COMPRESSED: u16 = 1 | 2;
const ENCRYPTED: u16 = 4;
const SHARDED: u16 = 16;
const COLUMN_MAJOR: u16 = 2048;

/// What the front of one APR file says.
#[derive(Clone, Debug)]
pub struct Header {
    /// Major and minor version.
    pub version: (u8, u8),
    /// The metadata object, with the names of `config.json` where APR has names of its own.
    pub metadata: Map<String, Value>,
    /// All tensors, in the index's order.
    pub tensors: Vec<Tensor>,
    /// What is odd but not wrong.
    pub warnings: Vec<String>,
}

/// The numbers of the fixed header, as the file says them.
#[derive(Debug)]
pub struct Fields {
    version: (u8, u8),
    flags: u16,
    tensor_count: u32,
    metadata_offset: u64,
    metadata_size: u32,
    index_offset: u64,
    data_start: u64,
    checksum: u32,
}

impl Fields {
    /// Reads the first 64 bytes.
    pub fn read(cursor: &mut Cursor) -> Result<Fields, Fault> {
        let magic = cursor.take(4, "the magic")?;
        if !MAGICS.iter().any(|known| magic == known) {
            return Err(Fault::byte(
                0,
                "not an APR file of version 2: it begins with neither \"APR\\0\" nor \"APR2\"",
            ));
        }
        let version = (cursor.u8("the major version")?, cursor.u8("the minor version")?);
        if version.0 != 2 {
            let what = format!("APR version {}.{} is not supported (2.x is)", version.0, version.1);
            return Err(Fault::byte(4, what));
        }
        let fields = Fields {
            version,
            flags: cursor.u16("the flags")?,
            tensor_count: cursor.u32("the tensor count")?,
            metadata_offset: cursor.u64("the metadata's offset")?,
            metadata_size: cursor.u32("the metadata's size")?,
            index_offset: cursor.u64("the index's offset")?,
            data_start: cursor.u64("the data's offset")?,
            checksum: cursor.u32("the checksum")?,
        };
        cursor.take(20, "the reserved bytes")?;
        check_flags(fields.flags)?;
        Ok(fields)
    }

    /// The metadata's text; the cursor moves to the index.
    pub fn metadata<'a>(&self, cursor: &mut Cursor<'a>) -> Result<&'a [u8], Fault> {
        let size = self.metadata_size;
        if size > MOST_METADATA {
            let what = format!("metadata of {size} bytes, but at most {MOST_METADATA} are allowed");
            return Err(Fault::byte(20, what));
        }
        cursor.seek(self.metadata_offset, "the metadata")?;
        let metadata = cursor.take(size.into(), "the metadata")?;
        cursor.seek(self.index_offset, "the index")?;
        Ok(metadata)
    }
}

/// Reads the header at the front of `bytes`, which may end anywhere behind it.
pub fn read(bytes: &[u8]) -> Result<Header, Fault> {
    let mut cursor = Cursor::new(bytes);
    let fields = Fields::read(&mut cursor)?;
    let (found, checksum) = (header_checksum(bytes), fields.checksum);
    if found != checksum {
        let what = format!("the header's checksum is {found:08x}, but the file says {checksum:08x}");
        return Err(Fault::byte(CHECKSUM.start, what));
    }
    let text = fields.metadata(&mut cursor)?;
    let Fields { version, flags, tensor_count, data_start, .. } = fields;
    let metadata = match text {
        [] => Map::new(),
        text => config::object(text)
            .map_err(|fault| Fault { what: format!("the metadata: {}", fault.what), ..fault })?,
    };
    let tensors = read_index(&mut cursor, tensor_count, data_start, flags)?;
    if cursor.position() as u64 > data_start && tensor_count > 0 {
        let what = format!("the data begins at byte {data_start}, inside the index");
        return Err(Fault::byte(32, what));
    }
    let mut warnings = Vec::new();
    let unknown = |tensor: &&Tensor| matches!(tensor.dtype, Dtype::Unknown(_));
    if let Some(first) = tensors.iter().find(unknown) {
        let count = tensors.iter().filter(unknown).count();
        warnings.push(format!("{count} tensor(s) of an unknown type, the first {}", quoted(&first.name)));
    }
    if flags & COMPRESSED != 0 {
        warnings.push("the weights are compressed; sizes are those of the stored bytes".to_owned());
    }
    warnings.extend(layout::check(&tensors, data_start, bytes.len() as u64, ALIGNMENT)?.warnings);
    Ok(Header { version, metadata: as_config(metadata), tensors, warnings })
}

fn check_flags(flags: u16) -> Result<(), Fault> {
    let refused = [
        (ENCRYPTED, "the file is encrypted"),
        (SHARDED, "the file is one shard of several, which is not supported"),
        (COLUMN_MAJOR, "the file says its tensors are column-major, which APR does not allow"),
    ];
    match refused.iter().find(|(flag, _)| flags & flag != 0) {
        Some((_, what)) => Err(Fault::byte(6, *what)),
        None => Ok(()),
    }
}

fn header_checksum(bytes: &[u8]) -> u32 {
    let covered = bytes.iter().take(HEADER).enumerate().filter(|(index, _)| !CHECKSUM.contains(index));
    crc32(covered.map(|(_, byte)| *byte))
}

/// CRC-32 as in IEEE 802.3, bit by bit: sixty bytes do not need a table.
fn crc32(bytes: impl Iterator<Item = u8>) -> u32 {
    !bytes.fold(!0, |crc, byte| {
        (0..8).fold(crc ^ u32::from(byte), |crc, _| (crc >> 1) ^ if crc & 1 == 1 { 0xedb8_8320 } else { 0 })
    })
}

fn read_index(cursor: &mut Cursor, count: u32, data_start: u64, flags: u16) -> Result<Vec<Tensor>, Fault> {
    let mut tensors = Vec::new();
    let mut names = HashSet::new();
    for index in 0..count {
        let start = cursor.position();
        let name = read_name(cursor)
            .map_err(|fault| Fault { what: format!("tensor {index} of {count}: {}", fault.what), ..fault })?;
        let tensor = read_entry(cursor, name, data_start, flags).map_err(|fault| Fault {
            what: format!("tensor {index} of {count}, {}: {}", quoted(name), fault.what),
            ..fault
        })?;
        if !names.insert(name) {
            return Err(Fault::byte(start, format!("tensor {} is there twice", quoted(name))));
        }
        tensors.push(tensor);
    }
    Ok(tensors)
}

fn read_name<'a>(cursor: &mut Cursor<'a>) -> Result<&'a str, Fault> {
    let start = cursor.position();
    let length = cursor.u16("the length of its name")?;
    if length > MOST_NAME {
        return Err(Fault::byte(
            start,
            format!("a name of {length} bytes, but at most {MOST_NAME} are allowed"),
        ));
    }
    cursor.text(length.into(), "its name")
}

fn read_entry(cursor: &mut Cursor, name: &str, data_start: u64, flags: u16) -> Result<Tensor, Fault> {
    let start = cursor.position();
    let dtype = dtype(cursor.u8("the type")?);
    let rank = cursor.u8("the number of dimensions")?;
    if rank > MOST_DIMS {
        let what = format!("{rank} dimensions, but at most {MOST_DIMS} are allowed");
        return Err(Fault::byte(start + 1, what));
    }
    let dims: Vec<u64> = (0..rank).map(|_| cursor.u64("a dimension")).collect::<Result<_, _>>()?;
    let at = cursor.position();
    let offset = cursor.u64("the offset")?;
    let bytes = cursor.u64("the size")?;
    let elements = super::elements(&dims).ok_or_else(|| Fault::byte(start, "dimensions overflow"))?;
    if flags & COMPRESSED == 0
        && let Some(expected) = size(dtype, &dims, elements)
        && expected != bytes
    {
        let what = format!(
            "{bytes} bytes are set aside for {elements} elements of type {dtype}, which take {expected}"
        );
        return Err(Fault::byte(at + 8, what));
    }
    if !offset.is_multiple_of(ALIGNMENT) {
        return Err(Fault::byte(at, format!("offset {offset} is not a multiple of {ALIGNMENT}")));
    }
    let offset = data_start.checked_add(offset).ok_or_else(|| Fault::byte(at, "its offset overflows"))?;
    Ok(Tensor { name: name.to_owned(), dtype, dims, offset, bytes: Some(bytes), file: 0, beside: None })
}

/// APR numbers its types as ggml does where ggml has the type, and in its own way elsewhere.
fn dtype(id: u8) -> Dtype {
    match id {
        0 => Dtype::F32,
        1 => Dtype::F16,
        3 => Dtype::F64,
        4 => Dtype::I32,
        5 => Dtype::I64,
        6 => Dtype::I8,
        7 => Dtype::U8,
        8 | 128 => Dtype::AprQ4,
        9 | 129 => Dtype::AprQ8,
        12 => Dtype::Q4K,
        14 => Dtype::Q6K,
        30 => Dtype::Bf16,
        other => Dtype::Unknown(other.into()),
    }
}

/// The bytes of a tensor; none when the type's size is unknown or the result does not fit.
fn size(dtype: Dtype, dims: &[u64], elements: u64) -> Option<u64> {
    let (block, bytes) = dtype.block()?;
    match dtype {
        // One f32 scale for the whole tensor, and nothing at all for no elements.
        Dtype::AprQ8 if elements > 0 => elements.checked_add(4),
        // Blocks run over row ends; the last one is padded.
        Dtype::AprQ4 => elements.div_ceil(block).checked_mul(bytes),
        // Each row is padded to whole blocks.
        _ => {
            let row = dims.last().copied().unwrap_or(1);
            let rows = elements.checked_div(row).unwrap_or(0);
            row.div_ceil(block).checked_mul(rows)?.checked_mul(bytes)
        }
    }
}

/// The metadata with the field names of a Hugging Face `config.json`.
fn as_config(mut metadata: Map<String, Value>) -> Map<String, Value> {
    let renamed = [
        ("num_layers", "num_hidden_layers"),
        ("num_heads", "num_attention_heads"),
        ("num_kv_heads", "num_key_value_heads"),
    ];
    for (from, to) in renamed {
        if let Some(value) = metadata.get(from).cloned() {
            metadata.entry(to).or_insert(value);
        }
    }
    // `model_type` is free text here; the families are under these names.
    if let Some(family) =
        ["hf_model_type", "architecture"].iter().find_map(|key| metadata.get(*key)?.as_str())
    {
        let family = family.to_lowercase();
        metadata.insert("model_type".to_owned(), family.into());
    }
    metadata
}
