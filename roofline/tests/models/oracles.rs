//! Comparison with other readers: gguf-rs-lib, and the output of PyPI `gguf`, PyPI `safetensors` and
//! the crate apr-format for the files they created (fixtures/make.sh).

use std::collections::BTreeMap;
use std::io::Cursor;
use std::path::PathBuf;

use gguf_rs_lib::prelude::GGUFFileReader;
use roofline::model::readers;
use roofline::model::{Basis, Dtype, Model, Tensor};
use serde_json::Value;

use roofline_test_support::writer::Gguf;

fn fixture(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/models/fixtures").join(name)
}

fn bytes(name: &str) -> Vec<u8> {
    std::fs::read(fixture(name)).unwrap()
}

/// Tensors of a fixture as reported by the reference implementation.
fn expected(list: &str, name: &str) -> Vec<Value> {
    let listed: Value = serde_json::from_slice(&bytes(list)).unwrap();
    listed[name].as_array().unwrap().clone()
}

#[track_caller]
fn assert_same(tensors: &[Tensor], expected: &[Value]) {
    assert_eq!(tensors.len(), expected.len());
    for (tensor, expected) in tensors.iter().zip(expected) {
        assert_eq!(tensor.name, expected["name"]);
        assert_eq!(tensor.dtype.to_string(), expected["dtype"], "{}", tensor.name);
        assert_eq!(Value::from(tensor.dims.clone()), expected["dims"], "{}", tensor.name);
        assert_eq!(Value::from(tensor.bytes), expected["bytes"], "{}", tensor.name);
        if let Some(offset) = expected.get("offset") {
            assert_eq!(Value::from(tensor.offset), *offset, "{}", tensor.name);
        }
    }
}

#[test]
fn gguf_files_match_the_python_package() {
    for name in ["types.gguf", "types-big-endian.gguf", "llama.gguf"] {
        let header = readers::gguf(&bytes(name)).unwrap();
        assert_same(&header.tensors, &expected("expected.json", name));
    }
    // All ggml types except Q8_1, whose size is wrong in the package, and Q2_0, which it does not support.
    assert_eq!(expected("expected.json", "types.gguf").len(), 33);
}

#[test]
fn metadata_matches_the_python_package() {
    for name in ["types.gguf", "types-big-endian.gguf"] {
        let header = readers::gguf(&bytes(name)).unwrap();
        let found: BTreeMap<&str, String> =
            header.metadata.iter().map(|(key, value)| (key, format!("{value:?}"))).collect();
        let expected = [
            ("general.architecture", r#"Text("nothing")"#),
            ("k.bool", "Bool(true)"),
            ("k.f32", "Float(1.5)"),
            ("k.f64", "Float(-2.25)"),
            ("k.flags", "Array { length: 2, integers: Some([1, 0]) }"),
            ("k.floats", "Array { length: 2, integers: None }"),
            ("k.i16", "Integer(-30000)"),
            ("k.i32", "Integer(-2000000000)"),
            ("k.i64", "Integer(-4611686018427387904)"),
            ("k.i8", "Integer(-100)"),
            ("k.numbers", "Array { length: 3, integers: Some([3, 1, 2]) }"),
            ("k.string", r#"Text("naïve")"#),
            ("k.strings", "Array { length: 3, integers: None }"),
            ("k.u16", "Integer(60000)"),
            ("k.u32", "Integer(4000000000)"),
            ("k.u64", "Integer(9223372036854775809)"),
            ("k.u8", "Integer(200)"),
        ];
        assert_eq!(found, expected.map(|(key, value)| (key, value.to_owned())).into());
    }
}

#[test]
fn split_models_match_the_python_package() {
    let model = Model::open_headers(fixture("split-00002-of-00003.gguf")).unwrap();
    let parts = ["split-00001-of-00003.gguf", "split-00002-of-00003.gguf", "split-00003-of-00003.gguf"];
    let listed: Vec<Value> = parts.iter().flat_map(|name| expected("expected.json", name)).collect();
    assert_same(&model.tensors, &listed);
    assert_eq!(model.files.len(), 3);
    let whole = Model::open_headers(fixture("llama.gguf")).unwrap();
    assert_eq!(model.architecture.operations, whole.architecture.operations);
    assert_eq!(whole.architecture.basis, Basis::Family);
    assert_eq!(whole.parameters(), whole.architecture.model_dims.as_ref().unwrap().parameters());
}

#[test]
fn types_shapes_and_offsets_match_gguf_rs_lib() {
    let mut gguf = Gguf::new().key("general.architecture", "llama").key("general.alignment", 64);
    gguf.alignment = 64;
    for dtype in Dtype::all().filter(|dtype| dtype.ggml().is_some()) {
        gguf = gguf.tensor(&format!("t.{dtype}"), &[3, 512], dtype);
    }
    let bytes = gguf.build();
    let ours = readers::gguf(&bytes).unwrap();
    let theirs = GGUFFileReader::new(Cursor::new(&bytes)).unwrap();
    assert_eq!(ours.tensors.len(), theirs.tensor_count());
    assert_eq!(ours.metadata.iter().count(), theirs.metadata().len());
    for (ours, theirs_info) in ours.tensors.iter().zip(theirs.tensor_infos()) {
        assert_eq!(ours.name, theirs_info.name());
        assert_eq!(ours.dims.iter().rev().copied().collect::<Vec<_>>(), theirs_info.shape().dims());
        assert_eq!(ours.dtype.ggml(), Some(theirs_info.tensor_type() as u32), "{}", ours.name);
        assert_eq!(ours.offset, theirs.tensor_data_offset() + theirs_info.data_offset(), "{}", ours.name);
        assert_eq!(ours.bytes, Some(theirs_info.expected_data_size()), "{}", ours.name);
    }
}

#[test]
fn safetensors_files_match_the_python_package() {
    let mut header = readers::safetensors(&bytes("types.safetensors")).unwrap();
    header.tensors.sort_by(|a, b| a.name.cmp(&b.name));
    assert_same(&header.tensors, &expected("expected.json", "types.safetensors"));
    assert_eq!(header.metadata["made"], "by safetensors");
}

#[test]
fn apr_files_match_the_reference_crate() {
    for name in ["types.apr", "llama.apr"] {
        let header = readers::apr(&bytes(name)).unwrap();
        let mut tensors = header.tensors;
        tensors.sort_by(|a, b| a.name.cmp(&b.name));
        let mut expected = expected("expected-apr.json", name);
        expected.sort_by_key(|tensor| tensor["name"].to_string());
        assert_same(&tensors, &expected);
        assert_eq!(header.warnings, Vec::<String>::new());
    }
}

#[test]
fn apr_files_of_a_known_family_have_its_operations() {
    let model = Model::open(fixture("llama.apr")).unwrap();
    assert_eq!(model.warnings, Vec::<String>::new());
    assert_eq!((model.architecture.name.as_str(), model.architecture.basis), ("llama", Basis::Family));
    assert_eq!(model.summary, [("name".to_owned(), "small llama".to_owned())]);
    // 2 x 10 x 16 embedding and head, 3 x 16 norms, 16 x (16 + 8 + 8 + 16) attention, 3 x 16 x 24 feed-forward, f16.
    let parameters = 320 + 48 + 768 + 1152;
    assert_eq!((model.parameters(), model.bytes()), (parameters, Some(2 * parameters)));
    assert_eq!(model.architecture.model_dims.as_ref().unwrap().parameters(), parameters);
}
