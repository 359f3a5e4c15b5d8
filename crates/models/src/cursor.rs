//! Bounds-checked reading of binary headers. Errors name the byte offset and the item being read.

use super::error::FormatError;

/// Position in the bytes of a file.
#[derive(Clone, Debug)]
pub struct Cursor<'a> {
    bytes: &'a [u8],
    position: usize,
    /// Byte order of numbers.
    pub big_endian: bool,
}

impl<'a> Cursor<'a> {
    /// Creates a little-endian cursor at the start of `bytes`.
    pub fn new(bytes: &'a [u8]) -> Cursor<'a> {
        Cursor { bytes, position: 0, big_endian: false }
    }

    /// Returns the offset from the start in bytes.
    pub fn position(&self) -> usize {
        self.position
    }

    /// Returns the number of remaining bytes.
    pub fn remaining(&self) -> usize {
        self.bytes.len() - self.position
    }

    /// Moves to an absolute offset. `item` names the expected content in errors.
    pub fn seek(&mut self, offset: u64, item: &str) -> Result<(), FormatError> {
        match usize::try_from(offset) {
            Ok(offset) if offset <= self.bytes.len() => {
                self.position = offset;
                Ok(())
            }
            _ => Err(FormatError::file(format!(
                "{item} starts at byte {offset}, but the file ends at byte {}",
                self.bytes.len()
            ))),
        }
    }

    /// Reads `length` bytes. `item` names the expected content in errors.
    pub fn take(&mut self, length: u64, item: &str) -> Result<&'a [u8], FormatError> {
        let bytes = usize::try_from(length)
            .ok()
            .and_then(|length| self.bytes.get(self.position..self.position.checked_add(length)?));
        match bytes {
            Some(bytes) => {
                self.position += bytes.len();
                Ok(bytes)
            }
            None => Err(FormatError::byte(
                self.position,
                format!("{item} takes {length} bytes, but only {} remain in the file", self.remaining()),
            )),
        }
    }

    fn array<const N: usize>(&mut self, item: &str) -> Result<[u8; N], FormatError> {
        let mut out = [0; N];
        out.copy_from_slice(self.take(N as u64, item)?);
        if self.big_endian {
            out.reverse();
        }
        Ok(out)
    }

    /// Reads a `u8`.
    pub fn u8(&mut self, item: &str) -> Result<u8, FormatError> {
        Ok(u8::from_le_bytes(self.array(item)?))
    }

    /// Reads a `u16`.
    pub fn u16(&mut self, item: &str) -> Result<u16, FormatError> {
        Ok(u16::from_le_bytes(self.array(item)?))
    }

    /// Reads a `u32`.
    pub fn u32(&mut self, item: &str) -> Result<u32, FormatError> {
        Ok(u32::from_le_bytes(self.array(item)?))
    }

    /// Reads a `u64`.
    pub fn u64(&mut self, item: &str) -> Result<u64, FormatError> {
        Ok(u64::from_le_bytes(self.array(item)?))
    }

    /// Reads `length` bytes of UTF-8 text.
    pub fn text(&mut self, length: u64, item: &str) -> Result<&'a str, FormatError> {
        let start = self.position;
        let bytes = self.take(length, item)?;
        std::str::from_utf8(bytes).map_err(|error| {
            FormatError::byte(start + error.valid_up_to(), format!("{item} is not valid UTF-8"))
        })
    }
}
