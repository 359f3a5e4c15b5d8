//! Headers of GGUF files, versions 2 and 3, in either byte order: metadata and list of tensors. Long
//! arrays, such as the vocabulary, are skipped; tensor data is never read. Every length in the header is
//! validated against the available bytes.

use std::collections::{BTreeMap, HashSet};

use super::cursor::Cursor;
use super::dimensions::MAX_LAYERS;
use super::dtype::{Dtype, GgmlType, in_blocks};
use super::error::{FormatError, format_count, quoted};
use super::{Tensor, layout};

/// Magic number of GGUF files.
pub const MAGIC: [u8; 4] = *b"GGUF";

const MAX_DIMS: u32 = 4;
const DEFAULT_ALIGNMENT: u64 = 32;
/// Maximum length of a key in the format, and of strings that are kept, in bytes.
const MAX_TEXT_BYTES: u64 = 65535;

/// Header of one GGUF file.
#[derive(Clone, Debug)]
pub struct Header {
    /// Format version, 2 or 3.
    pub version: u32,
    /// Byte order of the file.
    pub big_endian: bool,
    /// Metadata, sorted by key.
    pub metadata: Metadata,
    /// All tensors in file order.
    pub tensors: Vec<Tensor>,
    /// Warnings about unusual but valid content.
    pub warnings: Vec<String>,
}

/// Metadata of a GGUF file by key.
#[derive(Clone, Debug, Default)]
pub struct Metadata(BTreeMap<String, Value>);

/// Metadata value.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Integer of any width and sign.
    Integer(i128),
    /// Floating-point number.
    Float(f64),
    /// Boolean.
    Bool(bool),
    /// String.
    Text(String),
    /// Length in bytes of a string too long to be a property of the model, such as a tokenizer.
    LongText(u64),
    /// Array. Elements are only kept if they are integers or booleans, and not more than the maximum number
    /// of layers.
    Array {
        /// Number of elements.
        length: u64,
        /// Elements, with true as 1.
        integers: Option<Vec<i128>>,
    },
}

impl Metadata {
    /// Returns the value of a key.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.0.get(key)
    }

    /// Iterates over keys and values.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.0.iter().map(|(key, value)| (key.as_str(), value))
    }

    /// Returns the string of a key.
    ///
    /// # Errors
    ///
    /// Fails if the value is not a string, or too long.
    pub fn text(&self, key: &str) -> Result<Option<&str>, FormatError> {
        match self.get(key) {
            None => Ok(None),
            Some(Value::Text(text)) => Ok(Some(text)),
            Some(Value::LongText(length)) => Err(FormatError::field(
                key,
                format!("expected at most {MAX_TEXT_BYTES} bytes, found {length}"),
            )),
            Some(_) => Err(FormatError::field(key, "expected a string")),
        }
    }

    /// Returns the non-negative integer of a key.
    ///
    /// # Errors
    ///
    /// Fails if the value is not an integer, or negative.
    pub fn count(&self, key: &str) -> Result<Option<u64>, FormatError> {
        match self.get(key) {
            None => Ok(None),
            Some(Value::Integer(number)) => u64::try_from(*number).map(Some).map_err(|_| {
                FormatError::field(key, format!("expected a non-negative integer, found {number}"))
            }),
            Some(_) => Err(FormatError::field(key, "expected an integer")),
        }
    }
}

/// Parses the header at the start of `bytes`, which may be truncated after it.
pub fn read(bytes: &[u8]) -> Result<Header, FormatError> {
    let mut cursor = Cursor::new(bytes);
    if cursor.take(4, "the magic")? != MAGIC {
        return Err(FormatError::byte(0, "not a GGUF file; expected it to start with \"GGUF\""));
    }
    let version = read_version(&mut cursor)?;
    let tensor_count = cursor.u64("the tensor count")?;
    let key_count = cursor.u64("the number of metadata keys")?;
    let metadata = read_metadata(&mut cursor, key_count)?;
    let alignment = alignment(&metadata)?;

    let mut warnings = Vec::new();
    let infos = read_infos(&mut cursor, tensor_count)?;
    let data_start = (cursor.position() as u64)
        .checked_next_multiple_of(alignment)
        .ok_or_else(|| FormatError::field("general.alignment", "too large: the data offset overflows"))?;
    let mut unknown: BTreeMap<u32, (usize, String)> = BTreeMap::new();
    let mut tensors = Vec::with_capacity(infos.len());
    for info in infos {
        if let Dtype::Unknown(id) = info.dtype {
            unknown.entry(id).or_insert_with(|| (0, quoted(&info.name))).0 += 1;
        }
        tensors.push(place(info, data_start, alignment)?);
    }
    for (id, (count, first)) in unknown {
        warnings.push(format!("{} of unknown ggml type {id} and size (first: {first})", format_count(count)));
    }
    let layout = layout::check(&tensors, data_start, bytes.len() as u64, alignment)?;
    if let Some(tensor) = layout.gap {
        warnings.push(format!("unused bytes between tensors (first: before {tensor})"));
    }
    warnings.extend(layout.warnings);
    Ok(Header { version, big_endian: cursor.big_endian, metadata, tensors, warnings })
}

/// Reads the format version and sets the byte order of the cursor.
pub fn read_version(cursor: &mut Cursor) -> Result<u32, FormatError> {
    let version = cursor.u32("the version")?;
    cursor.big_endian = version != 0 && version & 0xffff == 0;
    let version = if cursor.big_endian { version.swap_bytes() } else { version };
    match version {
        2 | 3 => Ok(version),
        _ => Err(FormatError::byte(4, format!("unsupported GGUF version {version}; expected 2 or 3"))),
    }
}

fn read_metadata(cursor: &mut Cursor, count: u64) -> Result<Metadata, FormatError> {
    let mut metadata = BTreeMap::new();
    for index in 0..count {
        let start = cursor.position();
        let key = read_name(cursor, "a metadata key")
            .map_err(|fault| fault.context(format_args!("key {index} of {count}")))?;
        let value = read_value(cursor)
            .map_err(|fault| fault.context(format_args!("key {index} of {count}, {}", quoted(key))))?;
        if metadata.insert(key.to_owned(), value).is_some() {
            return Err(FormatError::byte(start, format!("duplicate key {}", quoted(key))));
        }
    }
    Ok(Metadata(metadata))
}

fn read_name<'a>(cursor: &mut Cursor<'a>, item: &str) -> Result<&'a str, FormatError> {
    let start = cursor.position();
    match cursor.u64("the length of a name")? {
        length @ 0..=MAX_TEXT_BYTES => cursor.text(length, item),
        length => Err(FormatError::byte(
            start,
            format!("{item} has {length} bytes; expected at most {MAX_TEXT_BYTES}"),
        )),
    }
}

fn read_value(cursor: &mut Cursor) -> Result<Value, FormatError> {
    let kind = Kind::read(cursor)?;
    match kind {
        Kind::Text => {
            let length = cursor.u64("the length of a string")?;
            let text = cursor.text(length, "a string")?;
            Ok(if length > MAX_TEXT_BYTES { Value::LongText(length) } else { Value::Text(text.to_owned()) })
        }
        Kind::Array => read_array(cursor),
        Kind::Float(width) => Ok(Value::Float(match width {
            4 => f32::from_bits(cursor.u32("a number")?).into(),
            _ => f64::from_bits(cursor.u64("a number")?),
        })),
        Kind::Bool => Ok(Value::Bool(read_integer(cursor, Kind::Bool)? == 1)),
        Kind::Unsigned(_) | Kind::Signed(_) => Ok(Value::Integer(read_integer(cursor, kind)?)),
    }
}

fn read_array(cursor: &mut Cursor) -> Result<Value, FormatError> {
    let start = cursor.position();
    let kind = Kind::read(cursor)?;
    let length = cursor.u64("the length of an array")?;
    let integers = match kind {
        Kind::Array => return Err(FormatError::byte(start, "nested arrays are not supported")),
        Kind::Text => {
            for _ in 0..length {
                let length = cursor.u64("the length of a string")?;
                cursor.take(length, "an array element")?;
            }
            None
        }
        Kind::Float(width) => {
            cursor.take(length.saturating_mul(width), "an array")?;
            None
        }
        Kind::Bool | Kind::Unsigned(_) | Kind::Signed(_) if length <= MAX_LAYERS => {
            Some((0..length).map(|_| read_integer(cursor, kind)).collect::<Result<_, _>>()?)
        }
        Kind::Bool => {
            cursor.take(length, "an array")?;
            None
        }
        Kind::Unsigned(width) | Kind::Signed(width) => {
            cursor.take(length.saturating_mul(width), "an array")?;
            None
        }
    };
    Ok(Value::Array { length, integers })
}

fn read_integer(cursor: &mut Cursor, kind: Kind) -> Result<i128, FormatError> {
    const ITEM: &str = "a number";
    let start = cursor.position();
    Ok(match kind {
        Kind::Bool => match cursor.u8("a boolean")? {
            byte @ (0 | 1) => byte.into(),
            byte => return Err(FormatError::byte(start, format!("invalid boolean {byte}; expected 0 or 1"))),
        },
        Kind::Unsigned(1) => cursor.u8(ITEM)?.into(),
        Kind::Unsigned(2) => cursor.u16(ITEM)?.into(),
        Kind::Unsigned(4) => cursor.u32(ITEM)?.into(),
        Kind::Signed(1) => cursor.u8(ITEM)?.cast_signed().into(),
        Kind::Signed(2) => cursor.u16(ITEM)?.cast_signed().into(),
        Kind::Signed(4) => cursor.u32(ITEM)?.cast_signed().into(),
        Kind::Signed(_) => cursor.u64(ITEM)?.cast_signed().into(),
        Kind::Unsigned(_) | Kind::Float(_) | Kind::Text | Kind::Array => cursor.u64(ITEM)?.into(),
    })
}

/// Type of a metadata value, with its width in bytes.
#[derive(Clone, Copy)]
enum Kind {
    Unsigned(u64),
    Signed(u64),
    Float(u64),
    Bool,
    Text,
    Array,
}

impl Kind {
    fn read(cursor: &mut Cursor) -> Result<Kind, FormatError> {
        let start = cursor.position();
        Ok(match cursor.u32("the type of a value")? {
            0 => Kind::Unsigned(1),
            1 => Kind::Signed(1),
            2 => Kind::Unsigned(2),
            3 => Kind::Signed(2),
            4 => Kind::Unsigned(4),
            5 => Kind::Signed(4),
            6 => Kind::Float(4),
            7 => Kind::Bool,
            8 => Kind::Text,
            9 => Kind::Array,
            10 => Kind::Unsigned(8),
            11 => Kind::Signed(8),
            12 => Kind::Float(8),
            id => return Err(FormatError::byte(start, format!("unknown value type {id}; expected 0 to 12"))),
        })
    }
}

fn alignment(metadata: &Metadata) -> Result<u64, FormatError> {
    const KEY: &str = "general.alignment";
    match metadata.count(KEY)? {
        None => Ok(DEFAULT_ALIGNMENT),
        Some(alignment) if alignment.is_power_of_two() && alignment <= 1 << 31 => Ok(alignment),
        Some(alignment) => {
            Err(FormatError::field(KEY, format!("expected a power of two, found {alignment}")))
        }
    }
}

/// Entry of a tensor with an offset relative to the start of the data.
#[derive(Debug)]
pub struct Info {
    start: usize,
    name: String,
    dtype: Dtype,
    dims: Vec<u64>,
    offset: u64,
}

fn read_infos(cursor: &mut Cursor, count: u64) -> Result<Vec<Info>, FormatError> {
    /// Size of an entry with an empty name and no dimensions: lengths, type and offset.
    const MIN_ENTRY_BYTES: usize = 8 + 4 + 4 + 8;
    let capacity = usize::try_from(count).unwrap_or(usize::MAX).min(cursor.remaining() / MIN_ENTRY_BYTES);
    let mut infos = Vec::with_capacity(capacity);
    let mut names = HashSet::with_capacity(capacity);
    for index in 0..count {
        let start = cursor.position();
        let name = read_name(cursor, "a tensor name")
            .map_err(|fault| fault.context(format_args!("tensor {index} of {count}")))?;
        let info = read_info(cursor, start, name)
            .map_err(|fault| fault.context(format_args!("tensor {index} of {count}, {}", quoted(name))))?;
        if !names.insert(name) {
            return Err(FormatError::byte(start, format!("duplicate tensor {}", quoted(name))));
        }
        infos.push(info);
    }
    Ok(infos)
}

/// Reads the entry of a tensor after its name. `start` is the offset of the entry, for errors.
pub fn read_info(cursor: &mut Cursor, start: usize, name: &str) -> Result<Info, FormatError> {
    let at = cursor.position();
    let rank = cursor.u32("the number of dimensions")?;
    if rank > MAX_DIMS {
        return Err(FormatError::byte(at, format!("found {rank} dimensions; expected at most {MAX_DIMS}")));
    }
    let mut dims = Vec::with_capacity(rank as usize);
    for _ in 0..rank {
        let at = cursor.position();
        let dim = cursor.u64("a dimension")?;
        if dim > i64::MAX as u64 {
            return Err(FormatError::byte(at, format!("negative dimension {}", dim.cast_signed())));
        }
        dims.push(dim);
    }
    dims.reverse();
    let at = cursor.position();
    let id = cursor.u32("the type")?;
    let dtype = match Dtype::from_ggml(id) {
        GgmlType::Known(dtype) => dtype,
        GgmlType::Unknown => Dtype::Unknown(id),
        GgmlType::Removed => {
            return Err(FormatError::byte(
                at,
                format!("invalid ggml type {id}, which was removed from the format"),
            ));
        }
    };
    let offset = cursor.u64("the offset")?;
    Ok(Info { start, name: name.to_owned(), dtype, dims, offset })
}

/// Violation in the entry of a tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Misplaced {
    /// The product of the dimensions overflows.
    Dimensions,
    /// The row length is not a multiple of the block length.
    Row(u64, u64),
    /// The size in bytes overflows.
    Size,
    /// The offset is not a multiple of the alignment.
    Unaligned,
    /// The offset in the file overflows.
    Offset,
}

/// Returns the offset of a tensor in a file whose data begins at `data_start`, and its size in bytes if the block size is known.
pub fn extent(
    dims: &[u64],
    block: Option<(u64, u64)>,
    offset: u64,
    data_start: u64,
    alignment: u64,
) -> Result<(u64, Option<u64>), Misplaced> {
    let elements = super::elements(dims).ok_or(Misplaced::Dimensions)?;
    let bytes = match block {
        None => None,
        Some((block, bytes)) => {
            let row = dims.last().copied().unwrap_or(1);
            if !row.is_multiple_of(block) {
                return Err(Misplaced::Row(row, block));
            }
            Some(in_blocks(elements, (block, bytes)).ok_or(Misplaced::Size)?)
        }
    };
    if !offset.is_multiple_of(alignment) {
        return Err(Misplaced::Unaligned);
    }
    Ok((data_start.checked_add(offset).ok_or(Misplaced::Offset)?, bytes))
}

fn place(info: Info, data_start: u64, alignment: u64) -> Result<Tensor, FormatError> {
    let extent = extent(&info.dims, info.dtype.block(), info.offset, data_start, alignment);
    let (offset, bytes) = extent.map_err(|misplaced| {
        let message = match misplaced {
            Misplaced::Dimensions => "dimensions overflow".to_owned(),
            Misplaced::Row(row, block) => {
                format!("row length {row} is not a multiple of the {} block length {block}", info.dtype)
            }
            Misplaced::Size => "size overflows".to_owned(),
            Misplaced::Unaligned => {
                format!("offset {} is not a multiple of the alignment {alignment}", info.offset)
            }
            Misplaced::Offset => "offset overflows".to_owned(),
        };
        FormatError::byte(info.start, format!("tensor {}: {message}", quoted(&info.name)))
    })?;
    Ok(Tensor {
        name: info.name,
        dtype: info.dtype,
        dims: info.dims,
        offset,
        bytes,
        file: 0,
        companion_of: None,
    })
}
