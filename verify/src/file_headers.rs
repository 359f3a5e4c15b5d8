//! Properties of the readers of model files: for arbitrary bytes, reads stay inside the file, arithmetic does not wrap, and
//! the readers terminate.

use roofline::model::readers::{Cursor, Fields, extent, read_info, read_version};

use crate::quant_blocks::each;
use crate::values::Values;

/// Length of a header, which is also the length of the files.
const HEADER: usize = 64;

/// Any number; every second is small, because random ones are too large for a header.
fn small_or_any(values: &mut impl Values) -> u64 {
    if values.bits() & 1 == 1 { values.below(2 * HEADER as u64) } else { values.bits() }
}

/// Reads and seeks with arbitrary lengths and offsets stay inside the file, and a failed one does not move the cursor.
pub fn a_cursor_stays_inside_the_file<V: Values>(values: &mut V) {
    let bytes: [u8; HEADER] = values.bytes();
    let mut cursor = Cursor::new(&bytes);
    let (offset, length) = (small_or_any(values), small_or_any(values));
    let sought = cursor.seek(offset, "").is_ok();
    assert!(sought == (offset <= HEADER as u64), "a seek was wrongly accepted or rejected");
    let start = cursor.position();
    assert!(start as u64 == if sought { offset } else { 0 }, "a seek moved to a wrong offset");
    let taken = cursor.take(length, "");
    let fits = length <= (HEADER - start) as u64;
    values.cover(fits && start > 0 && length > 0);
    match taken {
        Ok(taken) => {
            assert!(fits && taken.len() as u64 == length, "a read has the wrong length");
            assert!(cursor.position() == start + taken.len(), "the cursor is not after the bytes read");
        }
        Err(_) => assert!(!fits && cursor.position() == start, "a rejected read moved the cursor"),
    }
    assert!(cursor.remaining() == HEADER - cursor.position(), "the number of remaining bytes is wrong");
}

/// Numbers of all widths have the value of their bytes, in either byte order.
pub fn numbers_match_their_bytes<V: Values>(values: &mut V) {
    let bytes: [u8; 15] = values.bytes();
    let mut cursor = Cursor::new(&bytes);
    cursor.big_endian = values.bits() & 1 == 1;
    let (one, two) = (cursor.u8("").ok(), cursor.u16("").ok());
    let (four, eight) = (cursor.u32("").ok(), cursor.u64("").ok());
    let [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o] = bytes;
    values.cover(cursor.big_endian && b != c);
    assert!(one == Some(a));
    if cursor.big_endian {
        assert!(two == Some(u16::from_be_bytes([b, c])));
        assert!(four == Some(u32::from_be_bytes([d, e, f, g])));
        assert!(eight == Some(u64::from_be_bytes([h, i, j, k, l, m, n, o])));
    } else {
        assert!(two == Some(u16::from_le_bytes([b, c])));
        assert!(four == Some(u32::from_le_bytes([d, e, f, g])));
        assert!(eight == Some(u64::from_le_bytes([h, i, j, k, l, m, n, o])));
    }
    assert!(cursor.remaining() == 0 && cursor.u8("").is_err(), "a number was read past the end");
}

/// Any 64 bytes with the magic of an APR header, valid checksum or not, are rejected or have metadata and index inside the
/// file.
pub fn an_apr_header_points_into_its_file<V: Values>(values: &mut V) {
    let mut bytes: [u8; HEADER] = values.bytes();
    // Other magic bytes are rejected by the first comparisons.
    bytes[..5].copy_from_slice(b"APR\0\x02");
    // Random offsets are almost never inside the file; a model checker finds those that are.
    if !cfg!(kani) && values.bits() & 1 == 1 {
        bytes[6..8].fill(0);
        bytes[12..32].fill(0);
        (bytes[12], bytes[20], bytes[24]) = (HEADER as u8 - 4, 4, HEADER as u8);
    }
    let mut cursor = Cursor::new(&bytes);
    let Ok(fields) = Fields::read(&mut cursor) else { return };
    assert!(cursor.position() == HEADER, "the length of a header differs from its fields");
    let metadata = fields.metadata(&mut cursor);
    values.cover(metadata.as_ref().is_ok_and(|metadata| !metadata.is_empty()));
    if let Ok(metadata) = metadata {
        assert!(metadata.len() <= HEADER, "metadata outside the file");
        assert!(cursor.position() <= HEADER, "an index outside the file");
    }
}

/// Any entry of a GGUF tensor with one or two dimensions is rejected or consumes exactly the bytes of its fields.
pub fn a_gguf_entry_is_as_long_as_its_fields<V: Values>(values: &mut V) {
    const MAX_LENGTH: usize = 4 + 2 * 8 + 4 + 8;
    let bytes: [u8; MAX_LENGTH] = values.bytes();
    each(values, 2, |values, case| {
        let (mut bytes, rank) = (bytes, case + 1);
        bytes[..4].copy_from_slice(&(rank as u32).to_le_bytes());
        let mut cursor = Cursor::new(&bytes);
        let read = read_info(&mut cursor, 0, "").is_ok();
        values.cover(read && rank == 2);
        assert!(
            !read || cursor.position() == 16 + 8 * rank as usize,
            "the length of an entry differs from its fields"
        );
    });
}

/// A GGUF tensor with any number of rows and any offset is rejected or lies after the header, aligned, with its exact size.
pub fn a_gguf_tensor_follows_the_header<V: Values>(values: &mut V) {
    const ALIGNMENT: u64 = 32;
    let (rows, mut offset, data_start) = (values.bits(), values.bits(), values.bits() & !(ALIGNMENT - 1));
    // Random offsets are rarely aligned.
    if !cfg!(kani) && values.bits() & 1 == 1 {
        offset &= 0xffff_ffe0;
    }
    each(values, 6, |values, case| {
        let block = [None, Some((1, 4)), Some((32, 34))][case as usize % 3];
        let row = [96, 1 << 40][case as usize / 3];
        let Ok((place, bytes)) = extent(&[rows, row], block, offset, data_start, ALIGNMENT) else { return };
        values.cover(bytes.is_some_and(|bytes| bytes > 0));
        assert!(place >= data_start && place - data_start == offset, "an offset wrapped");
        assert!(place % ALIGNMENT == 0, "a tensor is not aligned");
        let exact = block.map(|(block, bytes)| u128::from(rows) * u128::from(row / block * bytes));
        assert!(bytes.map(u128::from) == exact, "a size wrapped");
    });
}

/// The version determines the byte order, and unknown versions are rejected.
pub fn a_gguf_version_is_two_or_three<V: Values>(values: &mut V) {
    let mut bytes: [u8; 4] = values.bytes();
    match values.below(4) {
        0 => bytes = [3, 0, 0, 0],
        1 => bytes = [0, 0, 0, 2],
        _ => {}
    }
    let mut cursor = Cursor::new(&bytes);
    let version = read_version(&mut cursor);
    let little = u32::from_le_bytes(bytes);
    let big = u32::from_be_bytes(bytes);
    values.cover(cursor.big_endian && version.is_ok());
    match version {
        Ok(version) => {
            assert!(version == 2 || version == 3);
            assert!(version == if cursor.big_endian { big } else { little });
        }
        Err(_) => {
            assert!(
                ![little, big].contains(&2) && ![little, big].contains(&3),
                "a known version was rejected"
            )
        }
    }
}

drive! {
    a_cursor_stays_inside_the_file unwind 4;
    numbers_match_their_bytes unwind 10;
    an_apr_header_points_into_its_file unwind 10;
    a_gguf_entry_is_as_long_as_its_fields unwind 60;
    a_gguf_tensor_follows_the_header unwind 8;
    a_gguf_version_is_two_or_three unwind 6;
}
