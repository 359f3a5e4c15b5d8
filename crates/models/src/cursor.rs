//! Bounded reading of binary headers: every step is checked against the bytes that are there, and a
//! failure names the byte and what was being read.

use super::fault::Fault;

/// A position in a file's bytes.
#[derive(Clone, Debug)]
pub struct Cursor<'a> {
    bytes: &'a [u8],
    position: usize,
    /// Whether numbers have their highest byte first.
    pub big_endian: bool,
}

impl<'a> Cursor<'a> {
    /// The front of these bytes.
    pub fn new(bytes: &'a [u8]) -> Cursor<'a> {
        Cursor { bytes, position: 0, big_endian: false }
    }

    /// How many bytes are before it.
    pub fn position(&self) -> usize {
        self.position
    }

    /// Bytes between the position and the end.
    pub fn left(&self) -> usize {
        self.bytes.len() - self.position
    }

    /// Moves to an absolute place, `what` saying what should be there.
    pub fn seek(&mut self, offset: u64, what: &str) -> Result<(), Fault> {
        match usize::try_from(offset) {
            Ok(offset) if offset <= self.bytes.len() => {
                self.position = offset;
                Ok(())
            }
            _ => Err(Fault::file(format!(
                "{what} begins at byte {offset}, but the file ends at byte {}",
                self.bytes.len()
            ))),
        }
    }

    /// The next `length` bytes, `what` saying what they should be.
    pub fn take(&mut self, length: u64, what: &str) -> Result<&'a [u8], Fault> {
        let taken = usize::try_from(length)
            .ok()
            .and_then(|length| self.bytes.get(self.position..self.position.checked_add(length)?));
        match taken {
            Some(taken) => {
                self.position += taken.len();
                Ok(taken)
            }
            None => Err(Fault::byte(
                self.position,
                format!("{what} needs {length} bytes, but the file has {} more", self.left()),
            )),
        }
    }

    fn array<const N: usize>(&mut self, what: &str) -> Result<[u8; N], Fault> {
        let mut out = [0; N];
        out.copy_from_slice(self.take(N as u64, what)?);
        if self.big_endian {
            out.reverse();
        }
        Ok(out)
    }

    /// The next number.
    pub fn u8(&mut self, what: &str) -> Result<u8, Fault> {
        Ok(u8::from_le_bytes(self.array(what)?))
    }

    /// The next number.
    pub fn u16(&mut self, what: &str) -> Result<u16, Fault> {
        Ok(u16::from_le_bytes(self.array(what)?))
    }

    /// The next number.
    pub fn u32(&mut self, what: &str) -> Result<u32, Fault> {
        Ok(u32::from_le_bytes(self.array(what)?))
    }

    /// The next number.
    pub fn u64(&mut self, what: &str) -> Result<u64, Fault> {
        Ok(u64::from_le_bytes(self.array(what)?))
    }

    /// The next `length` bytes as text.
    pub fn text(&mut self, length: u64, what: &str) -> Result<&'a str, Fault> {
        let start = self.position;
        let bytes = self.take(length, what)?;
        std::str::from_utf8(bytes)
            .map_err(|error| Fault::byte(start + error.valid_up_to(), format!("{what} is not UTF-8")))
    }
}
