//! SafeTensors: all types, hostile headers, truncated files, shards; compared with the reference crate.

use roofline::model::readers::{read_index, safetensors as read};
use roofline::model::{Dtype, FormatError, Model};
use safetensors::SafeTensors;

use roofline_test_support::scratch::files;
use roofline_test_support::writer::safetensors;

const TYPES: [Dtype; 22] = [
    Dtype::Bool,
    Dtype::F4,
    Dtype::F6E2M3,
    Dtype::F6E3M2,
    Dtype::U8,
    Dtype::I8,
    Dtype::F8E5M2,
    Dtype::F8E4M3,
    Dtype::F8E8M0,
    Dtype::F8E4M3Fnuz,
    Dtype::F8E5M2Fnuz,
    Dtype::I16,
    Dtype::U16,
    Dtype::F16,
    Dtype::Bf16,
    Dtype::I32,
    Dtype::U32,
    Dtype::F32,
    Dtype::C64,
    Dtype::F64,
    Dtype::I64,
    Dtype::U64,
];

fn every_type() -> Vec<u8> {
    let names: Vec<String> = TYPES.iter().map(|dtype| format!("t.{dtype}")).collect();
    let tensors: Vec<(&str, &[u64], Dtype)> =
        names.iter().zip(TYPES).map(|(name, dtype)| (name.as_str(), &[3u64, 8][..], dtype)).collect();
    safetensors(&tensors)
}

/// Builds a file from a header and `data` bytes of zeros.
fn file(header: &str, data: usize) -> Vec<u8> {
    let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
    bytes.extend(header.as_bytes());
    bytes.resize(bytes.len() + data, 0);
    bytes
}

/// Returns the error for bytes that the reference crate rejects too.
#[track_caller]
fn rejection(bytes: &[u8]) -> FormatError {
    assert!(SafeTensors::deserialize(bytes).is_err(), "accepted by the reference");
    read(bytes).expect_err("expected a rejection")
}

#[test]
fn sizes_and_offsets_of_all_types_match_the_reference() {
    let bytes = every_type();
    let header = read(&bytes).unwrap();
    let (length, reference) = SafeTensors::read_metadata(&bytes).unwrap();
    assert_eq!(header.tensors.len(), TYPES.len());
    for (tensor, dtype) in header.tensors.iter().zip(TYPES) {
        let info = reference.info(&tensor.name).unwrap();
        assert_eq!(tensor.dtype, dtype);
        assert_eq!(tensor.dtype.to_string(), info.dtype.to_string());
        assert_eq!(tensor.dims, [3, 8]);
        assert_eq!(tensor.bytes, Some(24 * info.dtype.bitsize() as u64 / 8));
        let (start, end) = info.data_offsets;
        assert_eq!(tensor.offset, (8 + length + start) as u64);
        assert_eq!(tensor.offset + tensor.bytes.unwrap(), (8 + length + end) as u64);
    }
    assert_eq!(header.warnings, Vec::<String>::new());
}

#[test]
fn truncated_headers_are_errors_and_truncated_data_a_warning() {
    let whole = every_type();
    let data = 8 + u64::from_le_bytes(*whole.first_chunk().unwrap()) as usize;
    for end in 0..data {
        rejection(&whole[..end]);
    }
    for end in data..whole.len() {
        let header = read(&whole[..end]).unwrap();
        let cut = header.tensors.iter().filter(|t| t.offset + t.bytes.unwrap() > end as u64).count();
        let expected = format!(
            "truncated file: {} of {} bytes are missing, including data of {cut} of {} tensors",
            whole.len() - end,
            whole.len(),
            TYPES.len()
        );
        assert_eq!(header.warnings[0], expected);
    }
}

#[test]
fn hostile_headers_are_rejected_with_their_location() {
    let entry = |rest: &str| format!(r#"{{"t":{{{rest}}}}}"#);
    let cases = [
        (
            entry(r#""dtype":"F32","shape":[2],"data_offsets":[0,4]"#),
            4,
            "2 elements of type F32 take 8 bytes, found 4",
        ),
        (entry(r#""dtype":"F32","shape":[1],"data_offsets":[4,0]"#), 4, "data end 0 precedes data start 4"),
        (entry(r#""dtype":"F32","shape":[1],"data_offsets":[4,8]"#), 8, "unused bytes before"),
        (entry(r#""dtype":"F32","shape":[1],"data_offsets":[0,4]"#), 9, "unused bytes from here"),
        (entry(r#""dtype":"F4","shape":[3],"data_offsets":[0,1]"#), 1, "a fractional number of bytes"),
        (
            entry(r#""dtype":"Q4","shape":[3],"data_offsets":[0,1]"#),
            1,
            "unknown type \"Q4\"; expected one of BOOL, F4,",
        ),
        (entry(r#""dtype":"F32","shape":[-1],"data_offsets":[0,4]"#), 4, "invalid value: integer `-1`"),
        (entry(r#""dtype":"F32","shape":[1.5],"data_offsets":[0,4]"#), 4, "floating point `1.5`"),
        (entry(r#""dtype":"F32","data_offsets":[0,4]"#), 4, "missing field `shape`"),
        (
            entry(r#""dtype":"U8","shape":[4294967296,4294967296],"data_offsets":[0,4]"#),
            4,
            "dimensions overflow",
        ),
        ("[]".to_owned(), 0, "invalid type: sequence"),
        ("{".to_owned(), 0, "EOF while parsing"),
        (r#"{"__metadata__":{"a":1}}"#.to_owned(), 0, "expected a string"),
    ];
    for (header, data, expected) in cases {
        let message = rejection(&file(&header, data)).to_string();
        assert!(message.contains(expected), "{message}");
    }
    let overlap = r#"{"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},"b":{"dtype":"U8","shape":[4],"data_offsets":[2,6]}}"#;
    let message = rejection(&file(overlap, 6)).to_string();
    assert!(message.contains("tensor \"b\": overlaps the preceding tensor at byte"), "{message}");
}

#[test]
fn lengths_beyond_the_file_or_the_format_are_rejected() {
    for length in [1u64, 100_000_000, 100_000_001, 1 << 60, u64::MAX] {
        let mut bytes = length.to_le_bytes().to_vec();
        bytes.push(b'{');
        if length > 1 {
            rejection(&bytes);
        }
        assert!(read(&bytes).is_err());
    }
}

#[test]
fn invalid_utf8_is_rejected_with_its_byte() {
    let mut bytes = file(r#"{"name":{"dtype":"U8","shape":[],"data_offsets":[0,1]}}"#, 1);
    bytes[12] = 0xff;
    assert_eq!(rejection(&bytes).to_string(), "at byte 12: the header is not valid UTF-8");
}

#[test]
fn sizes_with_an_overflowing_sum_are_rejected() {
    // Each tensor is valid on its own; only the end of the last one exceeds 2^64.
    let entries: Vec<String> = (0..9u64)
        .map(|index| {
            let start = u128::from(index) << 61;
            let end = (start + (1 << 61)).min(u128::from(u64::MAX));
            let size = end - start.min(end);
            format!(
                r#""t{index}":{{"dtype":"U8","shape":[{size}],"data_offsets":[{},{end}]}}"#,
                start.min(end)
            )
        })
        .collect();
    let message = read(&file(&format!("{{{}}}", entries.join(",")), 0)).unwrap_err().to_string();
    assert!(message.contains("overflow"), "{message}");
}

#[test]
fn duplicate_names_are_rejected_unlike_in_the_reference() {
    let header = r#"{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}"#;
    let bytes = file(header, 1);
    assert!(SafeTensors::deserialize(&bytes).is_ok());
    assert!(read(&bytes).unwrap_err().to_string().contains("duplicate entry \"a\""));
}

#[test]
fn the_summary_contains_the_metadata() {
    let header = r#"{"__metadata__":{"format":"pt","long":"LONG"},"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}"#
        .replace("LONG", &"x".repeat(500));
    let directory = files("safetensors-metadata", &[("m.safetensors", &file(&header, 1))]);
    let model = Model::open(directory.join("m.safetensors")).unwrap();
    assert_eq!(model.summary[0], ("format".to_owned(), "pt".to_owned()));
    assert_eq!(model.summary[1].1.len(), 120);
}

#[test]
fn an_index_must_contain_file_names() {
    let shards = read_index(br#"{"weight_map":{"a":"x.safetensors","b":"y.safetensors"}}"#).unwrap();
    assert_eq!(shards[1], ("b".to_owned(), "y.safetensors".to_owned()));
    for shard in ["\"../x\"", "\"/etc/passwd\"", "\"a\\\\b\"", "\"\"", "\"..\"", "7"] {
        let message =
            read_index(format!(r#"{{"weight_map":{{"t":{shard}}}}}"#).as_bytes()).unwrap_err().to_string();
        assert!(
            message.starts_with("`weight_map`: \"t\": ") && message.contains("expected a file name"),
            "{message}"
        );
    }
    assert_eq!(read_index(b"{}").unwrap_err().to_string(), "`weight_map`: missing");
    assert_eq!(
        read_index(br#"{"weight_map":[]}"#).unwrap_err().to_string(),
        "`weight_map`: expected an object"
    );
}

#[test]
fn an_index_and_its_shards_must_agree() {
    let a = safetensors(&[("a", &[4], Dtype::F32)]);
    let open = |test: &str, index: &str, shards: &[(&str, &[u8])]| {
        let mut all = vec![("model.safetensors.index.json", index.as_bytes())];
        all.extend(shards);
        Model::open(files(test, &all).join("model.safetensors.index.json")).unwrap_err().to_string()
    };
    let missing = open("index-missing", r#"{"weight_map":{"a":"s1"}}"#, &[]);
    assert!(missing.contains("s1: No such file"), "{missing}");
    let absent = open("index-absent", r#"{"weight_map":{"a":"s1","b":"s1"}}"#, &[("s1", &a)]);
    assert!(absent.contains("`weight_map`: tensor \"b\" is missing from \"s1\""), "{absent}");
    let twice = open("index-twice", r#"{"weight_map":{"a":"s1","b":"s2"}}"#, &[("s1", &a), ("s2", &a)]);
    assert!(twice.contains("s2: duplicate tensor \"a\""), "{twice}");
    let broken = open("index-broken", r#"{"weight_map":{"a":"s1"}}"#, &[("s1", &a[..20])]);
    assert!(broken.contains("s1: at byte 8: the header takes"), "{broken}");

    let both = safetensors(&[("a", &[4], Dtype::F32), ("b", &[4], Dtype::F32)]);
    let directory = files(
        "index-more",
        &[("model.safetensors.index.json", br#"{"weight_map":{"a":"s1"}}"#), ("s1", &both)],
    );
    let model = Model::open(directory).unwrap();
    assert!(model.warnings.contains(&"1 tensor of the shards missing from the index".to_owned()));
}
