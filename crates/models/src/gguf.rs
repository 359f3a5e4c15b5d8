//! The header of a GGUF file, versions 2 and 3, either byte order: metadata and the list of tensors.
//! Long arrays (the vocabulary) are stepped over, not kept; tensor data is never read. Nothing the
//! header claims is believed before the bytes for it are seen.

use std::collections::{BTreeMap, HashSet};

use super::cursor::Cursor;
use super::dtype::{Dtype, GgmlType, in_blocks};
use super::fault::{Fault, quoted};
use super::hyper::MOST_LAYERS;
use super::{Tensor, layout};

/// The first four bytes of every GGUF file.
pub const MAGIC: [u8; 4] = *b"GGUF";

const MOST_DIMS: u32 = 4;
const DEFAULT_ALIGNMENT: u64 = 32;
/// The longest key the format allows, and the longest text worth keeping.
const MOST_TEXT: u64 = 65535;

/// What the front of one GGUF file says.
#[derive(Clone, Debug)]
pub struct Header {
    /// Format version, 2 or 3.
    pub version: u32,
    /// Whether numbers are stored with the highest byte first.
    pub big_endian: bool,
    /// All keys, in order of their names.
    pub metadata: Metadata,
    /// All tensors, in the file's order.
    pub tensors: Vec<Tensor>,
    /// What is odd but not wrong.
    pub warnings: Vec<String>,
}

/// The metadata of a GGUF file by key.
#[derive(Clone, Debug, Default)]
pub struct Metadata(BTreeMap<String, Value>);

/// A metadata value.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// An integer of any width and sign; i128 holds both u64 and i64.
    Integer(i128),
    /// A number with a fraction.
    Float(f64),
    /// True or false.
    Bool(bool),
    /// Text.
    Text(String),
    /// Text too long to be a property of the model, such as a whole tokenizer; only its length is kept.
    LongText(u64),
    /// An array: how many elements, and the elements themselves when they are whole numbers or truth
    /// values and few enough to be one per layer.
    Array {
        /// Number of elements.
        length: u64,
        /// The elements, true as 1.
        integers: Option<Vec<i128>>,
    },
}

impl Metadata {
    /// The value of a key.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.0.get(key)
    }

    /// All keys with their values.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.0.iter().map(|(key, value)| (key.as_str(), value))
    }

    /// The text of a key; an error when it holds something else.
    pub fn text(&self, key: &str) -> Result<Option<&str>, Fault> {
        match self.get(key) {
            None => Ok(None),
            Some(Value::Text(text)) => Ok(Some(text)),
            Some(Value::LongText(length)) => {
                Err(Fault::field(key, format!("must have at most {MOST_TEXT} bytes, but has {length}")))
            }
            Some(_) => Err(Fault::field(key, "must be a string")),
        }
    }

    /// The whole number, zero or more, of a key; an error when it holds something else.
    pub fn count(&self, key: &str) -> Result<Option<u64>, Fault> {
        match self.get(key) {
            None => Ok(None),
            Some(Value::Integer(number)) => u64::try_from(*number)
                .map(Some)
                .map_err(|_| Fault::field(key, format!("must not be negative, but is {number}"))),
            Some(_) => Err(Fault::field(key, "must be a whole number")),
        }
    }
}

/// Reads the header at the front of `bytes`, which may end anywhere behind it.
pub fn read(bytes: &[u8]) -> Result<Header, Fault> {
    let mut cursor = Cursor::new(bytes);
    if cursor.take(4, "the magic")? != MAGIC {
        return Err(Fault::byte(0, "not a GGUF file: it does not begin with \"GGUF\""));
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
        .ok_or_else(|| Fault::field("general.alignment", "moves the data past any file's end"))?;
    let mut unknown: BTreeMap<u32, (u64, String)> = BTreeMap::new();
    let mut tensors = Vec::with_capacity(infos.len());
    for info in infos {
        if let Dtype::Unknown(id) = info.dtype {
            unknown.entry(id).or_insert_with(|| (0, quoted(&info.name))).0 += 1;
        }
        tensors.push(place(info, data_start, alignment)?);
    }
    for (id, (count, first)) in unknown {
        warnings.push(format!(
            "{count} tensor(s) of unknown ggml type {id}, the first {first}: their size is not known"
        ));
    }
    let layout = layout::check(&tensors, data_start, bytes.len() as u64, alignment)?;
    if let Some(behind) = layout.gap {
        warnings.push(format!("unused bytes between tensors, the first before {behind}"));
    }
    warnings.extend(layout.warnings);
    Ok(Header { version, big_endian: cursor.big_endian, metadata, tensors, warnings })
}

/// Format version, and with it the byte order.
pub fn read_version(cursor: &mut Cursor) -> Result<u32, Fault> {
    let version = cursor.u32("the version")?;
    cursor.big_endian = version != 0 && version & 0xffff == 0;
    let version = if cursor.big_endian { version.swap_bytes() } else { version };
    match version {
        2 | 3 => Ok(version),
        _ => Err(Fault::byte(4, format!("GGUF version {version} is not supported (2 and 3 are)"))),
    }
}

fn read_metadata(cursor: &mut Cursor, count: u64) -> Result<Metadata, Fault> {
    let mut metadata = BTreeMap::new();
    for index in 0..count {
        let start = cursor.position();
        let key = read_name(cursor, "a metadata key")
            .map_err(|fault| Fault { what: format!("key {index} of {count}: {}", fault.what), ..fault })?;
        let value = read_value(cursor).map_err(|fault| Fault {
            what: format!("key {index} of {count}, {}: {}", quoted(key), fault.what),
            ..fault
        })?;
        if metadata.insert(key.to_owned(), value).is_some() {
            return Err(Fault::byte(start, format!("key {} is there twice", quoted(key))));
        }
    }
    Ok(Metadata(metadata))
}

fn read_name<'a>(cursor: &mut Cursor<'a>, what: &str) -> Result<&'a str, Fault> {
    let start = cursor.position();
    match cursor.u64("the length of a name")? {
        length @ 0..=MOST_TEXT => cursor.text(length, what),
        length => {
            Err(Fault::byte(start, format!("{what} of {length} bytes, but at most {MOST_TEXT} are allowed")))
        }
    }
}

fn read_value(cursor: &mut Cursor) -> Result<Value, Fault> {
    let kind = Kind::read(cursor)?;
    match kind {
        Kind::Text => {
            let length = cursor.u64("a string's length")?;
            let text = cursor.text(length, "a string")?;
            Ok(if length > MOST_TEXT { Value::LongText(length) } else { Value::Text(text.to_owned()) })
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

fn read_array(cursor: &mut Cursor) -> Result<Value, Fault> {
    let start = cursor.position();
    let kind = Kind::read(cursor)?;
    let length = cursor.u64("an array's length")?;
    let integers = match kind {
        Kind::Array => return Err(Fault::byte(start, "arrays of arrays are not supported")),
        Kind::Text => {
            for _ in 0..length {
                let length = cursor.u64("a string's length")?;
                cursor.take(length, "a string of an array")?;
            }
            None
        }
        Kind::Float(width) => {
            cursor.take(length.saturating_mul(width), "an array")?;
            None
        }
        Kind::Bool | Kind::Unsigned(_) | Kind::Signed(_) if length <= MOST_LAYERS => {
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

fn read_integer(cursor: &mut Cursor, kind: Kind) -> Result<i128, Fault> {
    const WHAT: &str = "a number";
    let start = cursor.position();
    Ok(match kind {
        Kind::Bool => match cursor.u8("a truth value")? {
            byte @ (0 | 1) => byte.into(),
            byte => return Err(Fault::byte(start, format!("a truth value is 0 or 1, but this is {byte}"))),
        },
        Kind::Unsigned(1) => cursor.u8(WHAT)?.into(),
        Kind::Unsigned(2) => cursor.u16(WHAT)?.into(),
        Kind::Unsigned(4) => cursor.u32(WHAT)?.into(),
        Kind::Signed(1) => cursor.u8(WHAT)?.cast_signed().into(),
        Kind::Signed(2) => cursor.u16(WHAT)?.cast_signed().into(),
        Kind::Signed(4) => cursor.u32(WHAT)?.cast_signed().into(),
        Kind::Signed(_) => cursor.u64(WHAT)?.cast_signed().into(),
        Kind::Unsigned(_) | Kind::Float(_) | Kind::Text | Kind::Array => cursor.u64(WHAT)?.into(),
    })
}

/// The type of a metadata value, with its width in bytes.
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
    fn read(cursor: &mut Cursor) -> Result<Kind, Fault> {
        let start = cursor.position();
        Ok(match cursor.u32("a value's type")? {
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
            id => return Err(Fault::byte(start, format!("{id} is not a value type (0 to 12 are)"))),
        })
    }
}

fn alignment(metadata: &Metadata) -> Result<u64, Fault> {
    const KEY: &str = "general.alignment";
    match metadata.count(KEY)? {
        None => Ok(DEFAULT_ALIGNMENT),
        Some(alignment) if alignment.is_power_of_two() && alignment <= 1 << 31 => Ok(alignment),
        Some(alignment) => Err(Fault::field(KEY, format!("must be a power of two, but is {alignment}"))),
    }
}

/// A tensor's entry, before its place in the file is known.
#[derive(Debug)]
pub struct Info {
    start: usize,
    name: String,
    dtype: Dtype,
    dims: Vec<u64>,
    offset: u64,
}

fn read_infos(cursor: &mut Cursor, count: u64) -> Result<Vec<Info>, Fault> {
    /// An empty name, no dimensions, a type and an offset.
    const SMALLEST: usize = 8 + 4 + 4 + 8;
    let likely = usize::try_from(count).unwrap_or(usize::MAX).min(cursor.left() / SMALLEST);
    let mut infos = Vec::with_capacity(likely);
    let mut names = HashSet::with_capacity(likely);
    for index in 0..count {
        let start = cursor.position();
        let name = read_name(cursor, "a tensor's name")
            .map_err(|fault| Fault { what: format!("tensor {index} of {count}: {}", fault.what), ..fault })?;
        let info = read_info(cursor, start, name).map_err(|fault| Fault {
            what: format!("tensor {index} of {count}, {}: {}", quoted(name), fault.what),
            ..fault
        })?;
        if !names.insert(name) {
            return Err(Fault::byte(start, format!("tensor {} is there twice", quoted(name))));
        }
        infos.push(info);
    }
    Ok(infos)
}

/// A tensor's entry behind its name.
pub fn read_info(cursor: &mut Cursor, start: usize, name: &str) -> Result<Info, Fault> {
    let at = cursor.position();
    let rank = cursor.u32("the number of dimensions")?;
    if rank > MOST_DIMS {
        return Err(Fault::byte(at, format!("{rank} dimensions, but at most {MOST_DIMS} are allowed")));
    }
    let mut dims = Vec::with_capacity(rank as usize);
    for _ in 0..rank {
        let at = cursor.position();
        let dim = cursor.u64("a dimension")?;
        if dim > i64::MAX as u64 {
            return Err(Fault::byte(at, format!("dimension {} is negative", dim.cast_signed())));
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
            return Err(Fault::byte(at, format!("ggml type {id} was removed from the format")));
        }
    };
    let offset = cursor.u64("the offset")?;
    Ok(Info { start, name: name.to_owned(), dtype, dims, offset })
}

/// What is wrong with the numbers of a tensor's entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Misplaced {
    /// The product of the dimensions does not fit.
    Dimensions,
    /// A row of so many elements does not fill blocks of so many.
    Row(u64, u64),
    /// The number of bytes does not fit.
    Size,
    /// The offset is not a multiple of the alignment.
    Unaligned,
    /// The place in the file does not fit.
    Offset,
}

/// Where a tensor begins in a file whose data begins at `data_start`, and how many bytes it has if its blocks are known.
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

fn place(info: Info, data_start: u64, alignment: u64) -> Result<Tensor, Fault> {
    let extent = extent(&info.dims, info.dtype.block(), info.offset, data_start, alignment);
    let (offset, bytes) = extent.map_err(|misplaced| {
        let what = match misplaced {
            Misplaced::Dimensions => "dimensions overflow".to_owned(),
            Misplaced::Row(row, block) => {
                format!("a row of {row} elements does not fill blocks of {block} ({})", info.dtype)
            }
            Misplaced::Size => "its size overflows".to_owned(),
            Misplaced::Unaligned => {
                format!("offset {} is not a multiple of the alignment {alignment}", info.offset)
            }
            Misplaced::Offset => "its offset overflows".to_owned(),
        };
        Fault::byte(info.start, format!("tensor {}: {what}", quoted(&info.name)))
    })?;
    Ok(Tensor { name: info.name, dtype: info.dtype, dims: info.dims, offset, bytes, file: 0, beside: None })
}
