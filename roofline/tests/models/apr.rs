//! APR: hostile headers and indexes, truncated files.

use roofline::model::readers::apr as read;
use roofline::model::{Dtype, Location};

use crate::checks::crc32;

/// Builder of APR files whose header may contradict the content.
#[derive(Clone)]
struct Apr {
    magic: [u8; 4],
    version: (u8, u8),
    flags: u16,
    metadata: Vec<u8>,
    entries: Vec<Vec<u8>>,
    count: Option<u32>,
    data: usize,
}

fn entry(name: &[u8], dtype: u8, dims: &[u64], offset: u64, bytes: u64) -> Vec<u8> {
    let mut out = (name.len() as u16).to_le_bytes().to_vec();
    out.extend(name);
    out.extend([dtype, dims.len() as u8]);
    dims.iter().for_each(|dim| out.extend(dim.to_le_bytes()));
    out.extend(offset.to_le_bytes());
    out.extend(bytes.to_le_bytes());
    out
}

fn small() -> Apr {
    Apr {
        magic: *b"APR\0",
        version: (2, 0),
        flags: 1024,
        metadata: br#"{"name":"x"}"#.to_vec(),
        entries: vec![entry(b"a", 0, &[2, 4], 0, 32), entry(b"b", 30, &[3], 64, 6)],
        count: None,
        data: 70,
    }
}

impl Apr {
    /// Builds the file with consistent offsets. `change` modifies the header before its checksum is computed.
    fn build_with(&self, change: impl Fn(&mut [u8])) -> Vec<u8> {
        let index_offset = (64 + self.metadata.len()).next_multiple_of(64);
        let index: Vec<u8> = self.entries.concat();
        let data_offset = (index_offset + index.len()).next_multiple_of(64);
        let mut out = self.magic.to_vec();
        out.extend([self.version.0, self.version.1]);
        out.extend(self.flags.to_le_bytes());
        out.extend(self.count.unwrap_or(self.entries.len() as u32).to_le_bytes());
        out.extend(64u64.to_le_bytes());
        out.extend((self.metadata.len() as u32).to_le_bytes());
        out.extend((index_offset as u64).to_le_bytes());
        out.extend((data_offset as u64).to_le_bytes());
        out.resize(64, 0);
        change(&mut out);
        let covered: Vec<u8> = [&out[..40], &out[44..64]].concat();
        out[40..44].copy_from_slice(&crc32(covered.iter()).to_le_bytes());
        out.extend(&self.metadata);
        out.resize(index_offset, 0);
        out.extend(index);
        out.resize(data_offset + self.data, 0);
        out
    }

    fn build(&self) -> Vec<u8> {
        self.build_with(|_| ())
    }
}

#[track_caller]
fn rejection(bytes: &[u8]) -> String {
    read(bytes).expect_err("expected a rejection").to_string()
}

#[test]
fn the_checksum_is_crc32() {
    assert_eq!(crc32(b"123456789".iter()), 0xcbf4_3926);
}

#[test]
fn small_files_are_read() {
    for magic in [*b"APR\0", *b"APR2"] {
        let header = read(&Apr { magic, ..small() }.build()).unwrap();
        assert_eq!(header.version, (2, 0));
        assert_eq!(header.tensors.len(), 2);
        assert_eq!((header.tensors[1].dtype, header.tensors[1].dims.as_slice()), (Dtype::Bf16, &[3][..]));
        assert_eq!(header.tensors[1].offset, header.tensors[0].offset + 64);
        assert_eq!(header.warnings, Vec::<String>::new());
    }
}

#[test]
fn truncated_headers_are_errors_and_truncated_data_a_warning() {
    let whole = small().build();
    let first = read(&whole).unwrap().tensors[0].offset as usize;
    let index_end = 128 + small().entries.concat().len();
    for end in 0..index_end {
        assert!(read(&whole[..end]).is_err(), "{end}");
    }
    for end in index_end..first + 70 {
        let header = read(&whole[..end]).unwrap();
        assert!(header.warnings[0].contains("truncated file"), "{end}");
    }
}

#[test]
fn inconsistent_headers_are_rejected() {
    assert!(rejection(&Apr { version: (1, 0), ..small() }.build()).contains("unsupported APR version 1.0"));
    assert!(rejection(&Apr { flags: 4, ..small() }.build()).contains("encrypted"));
    assert!(rejection(&Apr { flags: 16, ..small() }.build()).contains("sharded"));
    assert!(rejection(&Apr { flags: 2048, ..small() }.build()).contains("column-major"));
    let mut bytes = small().build();
    bytes[8] ^= 1;
    assert!(rejection(&bytes).starts_with("at byte 40: invalid header checksum"));
    let huge = |range: std::ops::Range<usize>| {
        small().build_with(move |header| header[range.clone()].iter_mut().for_each(|byte| *byte = 0xff))
    };
    assert!(rejection(&huge(12..20)).contains("the metadata starts at byte 18446744073709551615"));
    assert!(rejection(&huge(20..24)).contains("metadata size 4294967295; expected at most 16777216"));
    assert!(rejection(&huge(24..32)).contains("the index starts at byte 18446744073709551615"));
    assert!(rejection(&huge(32..40)).contains("overflows"));
    let inside = small().build_with(|header| header[32..40].copy_from_slice(&130u64.to_le_bytes()));
    assert!(rejection(&inside).contains("invalid data offset 130, inside the index"));
    let many = Apr { count: Some(u32::MAX), ..small() };
    assert!(rejection(&many.build()).contains("of 4294967295"));
}

#[test]
fn the_data_may_start_at_the_end_of_the_index() {
    let whole_lines = entry(&[b'n'; 36], 0, &[8], 0, 32);
    assert_eq!(whole_lines.len() % 64, 0);
    let tight = Apr { entries: vec![whole_lines], ..small() };
    assert_eq!(read(&tight.build()).unwrap().tensors.len(), 1);
}

#[test]
fn errors_name_the_byte_of_the_field() {
    // The index starts at byte 128: two bytes of name length, one byte of name, type, rank.
    let of = |entry: Vec<u8>| rejection(&Apr { entries: vec![entry], ..small() }.build());
    assert!(
        of(entry(b"a", 0, &[1; 9], 0, 4)).starts_with("at byte 132: "),
        "{}",
        of(entry(b"a", 0, &[1; 9], 0, 4))
    );
    assert!(
        of(entry(b"a", 0, &[2], 0, 9)).starts_with("at byte 149: "),
        "{}",
        of(entry(b"a", 0, &[2], 0, 9))
    );
    assert!(
        of(entry(b"a", 0, &[2], 7, 8)).starts_with("at byte 141: "),
        "{}",
        of(entry(b"a", 0, &[2], 7, 8))
    );
}

#[test]
fn metadata_must_be_an_object() {
    for metadata in ["[]", "{", "7", "{\"a\":1}x"] {
        let message = rejection(&Apr { metadata: metadata.into(), ..small() }.build());
        assert!(message.starts_with("metadata: "), "{message}");
    }
    assert!(read(&Apr { metadata: Vec::new(), ..small() }.build()).is_ok());
}

#[test]
fn inconsistent_entries_are_rejected_with_their_tensor() {
    let with = |second: Vec<u8>| {
        let mut apr = small();
        apr.entries[1] = second;
        rejection(&apr.build())
    };
    let cases = [
        (entry(b"a", 0, &[1], 64, 4), "duplicate tensor \"a\""),
        (entry(b"\xff", 0, &[1], 64, 4), "tensor 1 of 2: the name is not valid UTF-8"),
        (entry(&[b'n'; 257], 0, &[1], 64, 4), "name length 257; expected at most 256"),
        (entry(b"b", 0, &[1; 9], 64, 4), "tensor 1 of 2, \"b\": found 9 dimensions; expected at most 8"),
        (entry(b"b", 0, &[1 << 40, 1 << 40], 64, 4), "dimensions overflow"),
        (entry(b"b", 0, &[2], 64, 4), "2 elements of type F32 take 8 bytes, found 4"),
        (entry(b"b", 0, &[1], 65, 4), "offset 65 is not a multiple of 64"),
        (entry(b"b", 0, &[1], 0, 4), "overlaps the preceding tensor"),
        (entry(b"b", 0, &[1], 1 << 50, 4), "the file ends at byte"),
        (entry(b"b", 99, &[1], u64::MAX - 63, 4), "overflow"),
    ];
    for (second, expected) in cases {
        let message = with(second);
        assert!(message.contains(expected), "{message}");
    }
}

#[test]
fn unknown_types_are_listed_with_the_stored_size() {
    let mut apr = small();
    apr.entries[1] = entry(b"b", 99, &[3], 64, 6);
    let header = read(&apr.build()).unwrap();
    assert_eq!((header.tensors[1].dtype, header.tensors[1].bytes), (Dtype::Unknown(99), Some(6)));
    assert_eq!(header.warnings, ["1 tensor of unknown type (first: \"b\")"]);
}

#[test]
fn compressed_weights_have_their_stored_size() {
    let mut apr = Apr { flags: 1024 | 1, ..small() };
    apr.entries[0] = entry(b"a", 0, &[2, 4], 0, 20);
    let header = read(&apr.build()).unwrap();
    assert_eq!(header.tensors[0].bytes, Some(20));
    assert!(header.warnings[0].contains("compressed"));
}

#[test]
fn errors_of_truncated_headers_name_a_byte_in_the_file() {
    let whole = small().build();
    for end in 0..64 {
        let fault = read(&whole[..end]).unwrap_err();
        assert!(matches!(fault.location, Location::Byte(at) if at <= end as u64), "{fault}");
    }
}
