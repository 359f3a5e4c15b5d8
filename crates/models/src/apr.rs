//! Headers of APR files, version 2: a fixed header with a checksum, metadata as JSON, and an index of
//! tensors.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::cursor::Cursor;
use super::dtype::Dtype;
use super::error::{FormatError, format_count, quoted};
use super::{Tensor, hf_config, layout};

/// Magic numbers of APR files of version 2, current and old.
pub const MAGICS: [[u8; 4]; 2] = [*b"APR\0", *b"APR2"];

const HEADER: usize = 64;
const CHECKSUM: std::ops::Range<usize> = 40..44;
const MAX_METADATA_BYTES: u32 = 16 << 20;
const MAX_NAME_BYTES: u16 = 256;
const MAX_DIMS: u8 = 8;
const ALIGNMENT: u64 = 64;

/// Flags that affect the storage of the data.
const COMPRESSED: u16 = 1 | 2;
const ENCRYPTED: u16 = 4;
const SHARDED: u16 = 16;
const COLUMN_MAJOR: u16 = 2048;

/// Header of one APR file.
#[derive(Clone, Debug)]
pub struct Header {
    /// Major and minor version.
    pub version: (u8, u8),
    /// Metadata, with APR field names translated to those of `config.json`.
    pub metadata: Map<String, Value>,
    /// All tensors in the order of the index.
    pub tensors: Vec<Tensor>,
    /// Warnings about unusual but valid content.
    pub warnings: Vec<String>,
}

/// Fixed header of 64 bytes.
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
    /// Parses the fixed header.
    pub fn read(cursor: &mut Cursor) -> Result<Fields, FormatError> {
        let magic = cursor.take(4, "the magic")?;
        if !MAGICS.iter().any(|known| magic == known) {
            return Err(FormatError::byte(
                0,
                "not an APR file of version 2; expected it to start with \"APR\\0\" or \"APR2\"",
            ));
        }
        let version = (cursor.u8("the major version")?, cursor.u8("the minor version")?);
        if version.0 != 2 {
            let message = format!("unsupported APR version {}.{}; expected 2.x", version.0, version.1);
            return Err(FormatError::byte(4, message));
        }
        let fields = Fields {
            version,
            flags: cursor.u16("the flags")?,
            tensor_count: cursor.u32("the tensor count")?,
            metadata_offset: cursor.u64("the metadata offset")?,
            metadata_size: cursor.u32("the metadata size")?,
            index_offset: cursor.u64("the index offset")?,
            data_start: cursor.u64("the data offset")?,
            checksum: cursor.u32("the checksum")?,
        };
        cursor.take(20, "the reserved bytes")?;
        check_flags(fields.flags)?;
        Ok(fields)
    }

    /// Returns the metadata as JSON text and moves the cursor to the index.
    pub fn metadata<'a>(&self, cursor: &mut Cursor<'a>) -> Result<&'a [u8], FormatError> {
        let size = self.metadata_size;
        if size > MAX_METADATA_BYTES {
            let message = format!("metadata size {size}; expected at most {MAX_METADATA_BYTES} bytes");
            return Err(FormatError::byte(20, message));
        }
        cursor.seek(self.metadata_offset, "the metadata")?;
        let metadata = cursor.take(size.into(), "the metadata")?;
        cursor.seek(self.index_offset, "the index")?;
        Ok(metadata)
    }
}

/// Parses the header at the start of `bytes`, which may be truncated after it.
pub fn read(bytes: &[u8]) -> Result<Header, FormatError> {
    let mut cursor = Cursor::new(bytes);
    let fields = Fields::read(&mut cursor)?;
    let (found, checksum) = (header_checksum(bytes), fields.checksum);
    if found != checksum {
        let message = format!("invalid header checksum; expected {found:08x}, found {checksum:08x}");
        return Err(FormatError::byte(CHECKSUM.start, message));
    }
    let text = fields.metadata(&mut cursor)?;
    let Fields { version, flags, tensor_count, data_start, .. } = fields;
    let metadata = match text {
        [] => Map::new(),
        text => hf_config::object(text).map_err(|fault| fault.context("metadata"))?,
    };
    let tensors = read_index(&mut cursor, tensor_count, data_start, flags)?;
    if cursor.position() as u64 > data_start && tensor_count > 0 {
        let message = format!("invalid data offset {data_start}, inside the index");
        return Err(FormatError::byte(32, message));
    }
    let mut warnings = Vec::new();
    let unknown = |tensor: &&Tensor| matches!(tensor.dtype, Dtype::Unknown(_));
    if let Some(first) = tensors.iter().find(unknown) {
        let count = tensors.iter().filter(unknown).count();
        warnings.push(format!("{} of unknown type (first: {})", format_count(count), quoted(&first.name)));
    }
    if flags & COMPRESSED != 0 {
        warnings.push("compressed weights: sizes are those of the compressed data".to_owned());
    }
    warnings.extend(layout::check(&tensors, data_start, bytes.len() as u64, ALIGNMENT)?.warnings);
    Ok(Header { version, metadata: as_config(metadata), tensors, warnings })
}

fn check_flags(flags: u16) -> Result<(), FormatError> {
    let unsupported = [
        (ENCRYPTED, "encrypted files are not supported"),
        (SHARDED, "sharded files are not supported"),
        (COLUMN_MAJOR, "invalid flag: column-major tensors are not allowed in APR"),
    ];
    match unsupported.iter().find(|(flag, _)| flags & flag != 0) {
        Some((_, message)) => Err(FormatError::byte(6, *message)),
        None => Ok(()),
    }
}

fn header_checksum(bytes: &[u8]) -> u32 {
    let covered = bytes.iter().take(HEADER).enumerate().filter(|(index, _)| !CHECKSUM.contains(index));
    crc32(covered.map(|(_, byte)| *byte))
}

/// CRC-32 of IEEE 802.3, bit by bit, because 60 bytes do not justify a table.
fn crc32(bytes: impl Iterator<Item = u8>) -> u32 {
    !bytes.fold(!0, |crc, byte| {
        (0..8).fold(crc ^ u32::from(byte), |crc, _| (crc >> 1) ^ if crc & 1 == 1 { 0xedb8_8320 } else { 0 })
    })
}

fn read_index(
    cursor: &mut Cursor,
    count: u32,
    data_start: u64,
    flags: u16,
) -> Result<Vec<Tensor>, FormatError> {
    let mut tensors = Vec::new();
    let mut names = HashSet::new();
    for index in 0..count {
        let start = cursor.position();
        let name =
            read_name(cursor).map_err(|fault| fault.context(format_args!("tensor {index} of {count}")))?;
        let tensor = read_entry(cursor, name, data_start, flags)
            .map_err(|fault| fault.context(format_args!("tensor {index} of {count}, {}", quoted(name))))?;
        if !names.insert(name) {
            return Err(FormatError::byte(start, format!("duplicate tensor {}", quoted(name))));
        }
        tensors.push(tensor);
    }
    Ok(tensors)
}

fn read_name<'a>(cursor: &mut Cursor<'a>) -> Result<&'a str, FormatError> {
    let start = cursor.position();
    let length = cursor.u16("the length of the name")?;
    if length > MAX_NAME_BYTES {
        return Err(FormatError::byte(
            start,
            format!("name length {length}; expected at most {MAX_NAME_BYTES} bytes"),
        ));
    }
    cursor.text(length.into(), "the name")
}

fn read_entry(cursor: &mut Cursor, name: &str, data_start: u64, flags: u16) -> Result<Tensor, FormatError> {
    let start = cursor.position();
    let dtype = dtype(cursor.u8("the type")?);
    let rank = cursor.u8("the number of dimensions")?;
    if rank > MAX_DIMS {
        let message = format!("found {rank} dimensions; expected at most {MAX_DIMS}");
        return Err(FormatError::byte(start + 1, message));
    }
    let dims: Vec<u64> = (0..rank).map(|_| cursor.u64("a dimension")).collect::<Result<_, _>>()?;
    let at = cursor.position();
    let offset = cursor.u64("the offset")?;
    let bytes = cursor.u64("the size")?;
    let elements = super::elements(&dims).ok_or_else(|| FormatError::byte(start, "dimensions overflow"))?;
    if flags & COMPRESSED == 0
        && let Some(expected) = size(dtype, &dims, elements)
        && expected != bytes
    {
        let message = format!("{elements} elements of type {dtype} take {expected} bytes, found {bytes}");
        return Err(FormatError::byte(at + 8, message));
    }
    if !offset.is_multiple_of(ALIGNMENT) {
        return Err(FormatError::byte(at, format!("offset {offset} is not a multiple of {ALIGNMENT}")));
    }
    let offset = data_start.checked_add(offset).ok_or_else(|| FormatError::byte(at, "offset overflows"))?;
    Ok(Tensor { name: name.to_owned(), dtype, dims, offset, bytes: Some(bytes), file: 0, companion_of: None })
}

/// Maps an APR type number, which is that of ggml for ggml types.
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

/// Returns the size of a tensor in bytes; `None` if the size of the type is unknown or the result overflows.
fn size(dtype: Dtype, dims: &[u64], elements: u64) -> Option<u64> {
    let (block, bytes) = dtype.block()?;
    match dtype {
        // One f32 scale per tensor; empty tensors have none.
        Dtype::AprQ8 if elements > 0 => elements.checked_add(4),
        // Blocks span rows; only the last block is padded.
        Dtype::AprQ4 => elements.div_ceil(block).checked_mul(bytes),
        // Each row is padded to a whole number of blocks.
        _ => {
            let row = dims.last().copied().unwrap_or(1);
            let rows = elements.checked_div(row).unwrap_or(0);
            row.div_ceil(block).checked_mul(rows)?.checked_mul(bytes)
        }
    }
}

/// Translates field names to those of a Hugging Face `config.json`.
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
    // `model_type` is free text in APR; these fields contain the family.
    if let Some(family) =
        ["hf_model_type", "architecture"].iter().find_map(|key| metadata.get(*key)?.as_str())
    {
        let family = family.to_lowercase();
        metadata.insert("model_type".to_owned(), family.into());
    }
    metadata
}
