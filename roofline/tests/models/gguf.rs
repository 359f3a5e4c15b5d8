//! GGUF: versions, byte orders, split files, truncated files, hostile headers.

use roofline::model::readers::gguf as read;
use roofline::model::{Basis, Dtype, Format, Location, Model};

use roofline_test_support::scratch::files;
use roofline_test_support::writer::{Gguf, Value};

fn small() -> Gguf {
    Gguf::of("nothing", &[("block_count", 1.into())])
        .key("tokenizer.ggml.tokens", Value::Texts(vec!["a".into(), "bc".into(), String::new()]))
        .key("some.float", Value::F32(1.5))
        .key("some.negative", Value::I32(-7))
        .key("some.byte", Value::U8(200))
        .key("some.long", Value::U64(1 << 40))
        .key("some.flags", Value::Bools(vec![true, false]))
        .tensor("token_embd.weight", &[3, 64], Dtype::Q8_0)
        .tensor("blk.0.attn_norm.weight", &[64], Dtype::F32)
        .tensor("blk.0.ffn_up_exps.weight", &[2, 3, 32], Dtype::Q4_0)
}

/// Returns the error for bytes that must be rejected.
#[track_caller]
fn rejection(bytes: &[u8]) -> String {
    match read(bytes) {
        Ok(header) => panic!("accepted: {header:?}"),
        Err(fault) => fault.to_string(),
    }
}

#[test]
fn versions_and_byte_orders_are_equivalent() {
    let expected = read(&small().build()).unwrap();
    assert_eq!(expected.tensors.len(), 3);
    assert_eq!(expected.tensors[0].dims, [3, 64], "slowest first");
    assert_eq!(expected.tensors[0].bytes, Some(3 * 68));
    assert_eq!(expected.tensors[2].bytes, Some(6 * 18));
    for version in [2, 3] {
        for big_endian in [false, true] {
            let header = read(&Gguf { version, big_endian, ..small() }.build()).unwrap();
            assert_eq!((header.version, header.big_endian), (version, big_endian));
            assert_eq!(header.tensors, expected.tensors);
            assert!(header.metadata.iter().eq(expected.metadata.iter()));
        }
    }
}

#[test]
fn other_versions_are_rejected() {
    for version in [0, 1, 4, 0x0001_0000, 0x1234_5678] {
        let message = rejection(&Gguf { version, ..small() }.build());
        assert!(message.starts_with("at byte 4:") && message.contains("expected 2 or 3"), "{message}");
    }
}

#[test]
fn truncated_headers_are_errors_and_truncated_data_a_warning() {
    let whole = small().build();
    let header_end = small().header().len();
    // The padding before the data may be missing, since it is not read.
    let needed = (0..header_end).rev().find(|end| read(&whole[..*end]).is_err()).unwrap() + 1;
    assert!(header_end - needed < 32);
    for end in 0..needed {
        let fault = read(&whole[..end]).expect_err("truncated header");
        assert!(matches!(fault.location, Location::Byte(at) if at <= end as u64), "{fault}");
    }
    for end in needed..whole.len() {
        let header = read(&whole[..end]).unwrap();
        let last = header.tensors.last().unwrap();
        let cut = header.warnings.iter().any(|warning| warning.contains("truncated file"));
        assert_eq!(cut, (end as u64) < last.offset + last.bytes.unwrap(), "{end}");
    }
}

#[test]
fn truncated_files_are_errors_unless_headers_suffice() {
    let mut bytes = small().build();
    bytes.truncate(small().header().len() + 100);
    let directory = files("truncated", &[("m.gguf", &bytes)]);
    let message = Model::open(directory.join("m.gguf")).unwrap_err().to_string();
    let expected = "m.gguf: truncated file: data of 3 of 3 tensors is missing (first: \"token_embd.weight\")";
    assert!(message.contains(expected), "{message}");
    let model = Model::open_headers(directory.join("m.gguf")).unwrap();
    assert_eq!(model.tensors.len(), 3);
    assert!(model.data(&model.tensors[0]).is_none());
    assert!(model.warnings.iter().any(|warning| warning.contains("truncated file")), "{:?}", model.warnings);
}

#[test]
fn data_returns_the_bytes_of_a_tensor() {
    let mut bytes = small().build();
    let start = small().header().len();
    bytes[start] = 7;
    let directory = files("data", &[("m.gguf", &bytes)]);
    let model = Model::open(directory.join("m.gguf")).unwrap();
    let data = model.data(&model.tensors[0]).unwrap();
    assert_eq!((data.len(), data[0], data[1]), (204, 7, 0));
}

#[test]
fn huge_lengths_are_rejected_without_allocation() {
    for count in [1u64 << 60, u64::MAX, 1 << 32] {
        let mut bytes = small().build();
        bytes[8..16].copy_from_slice(&count.to_le_bytes());
        assert!(rejection(&bytes).contains("at byte"));
        let mut bytes = small().build();
        bytes[16..24].copy_from_slice(&count.to_le_bytes());
        assert!(rejection(&bytes).contains("at byte"));
        // The first key's length.
        let mut bytes = small().build();
        bytes[24..32].copy_from_slice(&count.to_le_bytes());
        let message = rejection(&bytes);
        assert!(message.starts_with("at byte 24: key 0 of 8: a metadata key "), "{message}");
    }
    for kind in [0u32, 1, 4, 6, 7, 8, 10, 12] {
        let array = [&kind.to_le_bytes()[..], &(1u64 << 60).to_le_bytes()].concat();
        let message = rejection(&Gguf::new().key("long", Value::Raw(9, array)).build());
        assert!(message.contains("key 0 of 1, \"long\""), "{message}");
    }
}

#[test]
fn nested_arrays_and_unknown_value_types_are_rejected() {
    let nested =
        [&9u32.to_le_bytes()[..], &1u64.to_le_bytes(), &9u32.to_le_bytes(), &1u64.to_le_bytes()].concat();
    let message = rejection(&Gguf::new().key("nested", Value::Raw(9, nested)).build());
    assert!(message.contains("\"nested\": nested arrays"), "{message}");
    let message = rejection(&Gguf::new().key("odd", Value::Raw(13, vec![0; 8])).build());
    assert!(message.contains("\"odd\": unknown value type 13; expected 0 to 12"), "{message}");
    let message = rejection(&Gguf::new().key("flag", Value::Raw(7, vec![2])).build());
    assert!(message.contains("invalid boolean 2; expected 0 or 1"), "{message}");
}

#[test]
fn invalid_dimensions_are_rejected() {
    let file = |dims: &[u64], type_id| Gguf::new().entry("t", dims, type_id, None, 0).build();
    let cases = [
        (file(&[1, 1, 1, 1, 1], 0), "found 5 dimensions; expected at most 4"),
        (file(&[u64::MAX], 0), "negative dimension -1"),
        (file(&[1 << 63], 0), "negative dimension"),
        (file(&[1 << 40, 1 << 40], 0), "dimensions overflow"),
        (file(&[1 << 31, 1 << 31], 28), "size overflows"),
    ];
    for (bytes, expected) in cases {
        let message = rejection(&bytes);
        assert!(message.contains("\"t\"") && message.contains(expected), "{message}");
    }
    assert_eq!(read(&file(&[0, 8], 0)).unwrap().tensors[0].bytes, Some(0));
    assert_eq!(read(&Gguf::new().entry("t", &[], 0, None, 4).build()).unwrap().tensors[0].bytes, Some(4));
}

#[test]
fn alignments_must_be_powers_of_two() {
    for alignment in [0u32, 3, 48, u32::MAX] {
        let message = rejection(&small().key("general.alignment", alignment).build());
        assert_eq!(message, format!("`general.alignment`: expected a power of two, found {alignment}"));
    }
    let message = rejection(&small().key("general.alignment", "32").build());
    assert_eq!(message, "`general.alignment`: expected an integer");
}

#[test]
fn the_alignment_determines_the_data_offset() {
    let gguf = Gguf { alignment: 4096, ..small() }.key("general.alignment", 4096);
    let header = read(&gguf.build()).unwrap();
    assert_eq!(header.tensors[0].offset, 4096);
    assert_eq!(header.tensors[1].offset, 8192);
    assert_eq!(header.warnings, Vec::<String>::new());
}

#[test]
fn tensors_must_not_overlap_or_exceed_the_file() {
    let file =
        |second| Gguf::new().tensor("a", &[16], Dtype::F32).entry("b", &[16], 0, Some(second), 64).build();
    let message = rejection(&file(32));
    assert!(message.contains("tensor \"b\": overlaps the preceding tensor at byte"), "{message}");
    let message = rejection(&file(1 << 50));
    assert!(message.contains("tensor \"b\"") && message.contains("the file ends at byte"), "{message}");
    let message = rejection(&file(65));
    assert!(message.contains("offset 65 is not a multiple of the alignment 32"), "{message}");
    let message = rejection(&file(u64::MAX - 31));
    assert!(message.contains("overflow"), "{message}");
    let gap =
        read(&Gguf::new().tensor("a", &[8], Dtype::F32).entry("b", &[8], 0, Some(64), 64).build()).unwrap();
    assert_eq!(gap.warnings, ["unused bytes between tensors (first: before \"b\")"]);
}

#[test]
fn names_and_keys_must_be_unique_and_utf8() {
    let message = rejection(&small().tensor("token_embd.weight", &[8], Dtype::F32).build());
    assert!(message.contains("duplicate tensor \"token_embd.weight\""), "{message}");
    let message = rejection(&small().key("nothing.block_count", 2).build());
    assert!(message.contains("duplicate key \"nothing.block_count\""), "{message}");
    let mut bad = small();
    bad.tensors[0].name = b"x\xff".to_vec();
    assert!(rejection(&bad.build()).contains("tensor 0 of 3: a tensor name is not valid UTF-8"));
    let mut bad = small();
    bad.keys[0].0 = b"\xc3".to_vec();
    assert!(rejection(&bad.build()).contains("key 0 of 8: a metadata key is not valid UTF-8"));
    let bad = Gguf::new().key("k", Value::Raw(8, [&1u64.to_le_bytes()[..], b"\xff"].concat()));
    assert!(rejection(&bad.build()).contains("\"k\": a string is not valid UTF-8"));
}

#[test]
fn long_strings_are_not_kept() {
    let gguf = |length| Gguf::new().key("general.architecture", "x".repeat(length).as_str());
    let short = read(&gguf(65535).build()).unwrap();
    assert_eq!(short.metadata.text("general.architecture").unwrap().map(str::len), Some(65535));
    let long = read(&gguf(65536).build()).unwrap();
    let message = long.metadata.text("general.architecture").unwrap_err().to_string();
    assert_eq!(message, "`general.architecture`: expected at most 65535 bytes, found 65536");
    let message = rejection(&Gguf::new().key(&"k".repeat(65536), 1).build());
    assert!(message.contains("a metadata key has 65536 bytes; expected at most 65535"), "{message}");
}

#[test]
fn removed_types_are_rejected_and_unknown_types_cause_a_warning() {
    for id in [4, 5, 31, 32, 33, 36, 37, 38] {
        let message = rejection(&Gguf::new().entry("old", &[32], id, None, 64).build());
        assert!(message.contains(&format!("\"old\": invalid ggml type {id}")), "{message}");
    }
    let odd = Gguf::new().entry("new", &[32], 99, None, 64).entry("newer", &[7], 99, None, 64);
    let header = read(&odd.tensor("plain", &[8], Dtype::F32).build()).unwrap();
    assert_eq!(header.tensors[0].dtype, Dtype::Unknown(99));
    assert_eq!(header.tensors[0].bytes, None);
    assert_eq!(header.tensors[2].bytes, Some(32));
    assert_eq!(header.warnings, ["2 tensors of unknown ggml type 99 and size (first: \"new\")"]);
}

#[test]
fn rows_must_fill_their_blocks() {
    for (dtype, row) in [(Dtype::Q8_0, 33), (Dtype::Q4K, 128), (Dtype::Nvfp4, 32)] {
        let message = rejection(&Gguf::new().entry("w", &[256, row], dtype.ggml().unwrap(), None, 0).build());
        assert!(message.contains(&format!("row length {row} is not a multiple of the")), "{message}");
    }
}

#[test]
fn every_ggml_type_has_the_size_of_its_blocks() {
    let mut gguf = Gguf::new();
    let types: Vec<Dtype> = Dtype::all().filter(|dtype| dtype.ggml().is_some()).collect();
    assert_eq!(types.len(), 35);
    for dtype in &types {
        gguf = gguf.tensor(&dtype.to_string(), &[3, 512], *dtype);
    }
    let header = read(&gguf.build()).unwrap();
    for (tensor, dtype) in header.tensors.iter().zip(types) {
        let (block, bytes) = dtype.block().unwrap();
        assert_eq!((tensor.dtype, tensor.bytes), (dtype, Some(3 * 512 / block * bytes)));
    }
    assert_eq!(header.warnings, Vec::<String>::new());
}

fn parts() -> Vec<Gguf> {
    let part =
        |number: u32| Gguf::new().key("split.no", number).key("split.count", 3).key("split.tensors.count", 3);
    vec![
        part(0).key("general.architecture", "nothing").tensor("a.weight", &[2, 8], Dtype::F32),
        part(1).tensor("b.weight", &[3, 8], Dtype::F16),
        part(2).tensor("c.weight", &[4, 32], Dtype::Q8_0),
    ]
}

fn write_parts(test: &str, parts: &[Gguf]) -> std::path::PathBuf {
    let bytes: Vec<(String, Vec<u8>)> = parts
        .iter()
        .enumerate()
        .map(|(index, part)| (format!("m-{:05}-of-00003.gguf", index + 1), part.build()))
        .collect();
    let borrowed: Vec<(&str, &[u8])> =
        bytes.iter().map(|(name, bytes)| (name.as_str(), bytes.as_slice())).collect();
    files(test, &borrowed)
}

#[test]
fn split_models_open_from_any_part_or_the_directory() {
    let directory = write_parts("split", &parts());
    let mut models = vec![Model::open(&directory).unwrap()];
    for number in 1..=3 {
        models.push(Model::open(directory.join(format!("m-{number:05}-of-00003.gguf"))).unwrap());
    }
    for model in models {
        assert_eq!(model.format, Format::Gguf { version: 3, big_endian: false });
        let places: Vec<(&str, usize)> =
            model.tensors.iter().map(|tensor| (tensor.name.as_str(), tensor.file)).collect();
        assert_eq!(places, [("a.weight", 0), ("b.weight", 1), ("c.weight", 2)]);
        assert_eq!(model.bytes(), Some(64 + 48 + 136));
        assert_eq!(model.architecture.basis, Basis::Tensors);
        assert_eq!(model.data(&model.tensors[2]).map(<[u8]>::len), Some(136));
    }
}

#[test]
fn split_models_must_be_complete_and_consistent() {
    let message = |test: &str, change: &dyn Fn(&mut Vec<Gguf>)| {
        let mut parts = parts();
        change(&mut parts);
        let directory = write_parts(test, &parts);
        Model::open(directory.join("m-00001-of-00003.gguf")).unwrap_err().to_string()
    };
    let missing = message("split-missing", &|parts| parts.truncate(2));
    assert!(missing.contains("m-00003-of-00003.gguf: No such file"), "{missing}");
    let swapped = message("split-swapped", &|parts| parts.swap(1, 2));
    assert!(swapped.contains("`split.no`: expected 1, found 2"), "{swapped}");
    let count = message("split-count", &|parts| parts[2].keys[1].1 = 4.into());
    assert!(count.contains("`split.count`: expected 3, found 4"), "{count}");
    let total = message("split-total", &|parts| parts[0].keys[2].1 = 5.into());
    assert!(total.contains("`split.tensors.count`: expected 5 tensors, found 3"), "{total}");
    let twice = message("split-twice", &|parts| parts[1].tensors[0].name = b"a.weight".to_vec());
    assert!(twice.contains("duplicate tensor \"a.weight\""), "{twice}");

    let directory = files("split-name", &[("renamed.gguf", &parts()[0].build())]);
    let renamed = Model::open(directory.join("renamed.gguf")).unwrap_err().to_string();
    assert!(renamed.contains("expected a file name that ends in -00001-of-00003.gguf"), "{renamed}");
}
