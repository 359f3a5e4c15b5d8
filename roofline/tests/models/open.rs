//! Opening of models by path: detection of formats, directories and errors.

use roofline::model::{Dtype, Format, Model};

use roofline_test_support::scratch::{directory, files};
use roofline_test_support::writer::{Gguf, safetensors};

#[track_caller]
fn rejection(test: &str, bytes: &[u8]) -> String {
    let directory = files(test, &[("file.bin", bytes)]);
    Model::open(directory.join("file.bin")).unwrap_err().to_string()
}

#[test]
fn formats_are_detected_by_content() {
    let gguf = Gguf::new().tensor("a", &[8], Dtype::F32).build();
    let safetensors = safetensors(&[("a", &[8], Dtype::F32)]);
    let directory = files("content", &[("a.safetensors", &gguf), ("b.gguf", &safetensors)]);
    let format = |name: &str| Model::open(directory.join(name)).unwrap().format;
    assert_eq!(format("a.safetensors"), Format::Gguf { version: 3, big_endian: false });
    assert_eq!(format("b.gguf"), Format::SafeTensors);
}

#[test]
fn a_header_length_that_looks_like_a_brace_is_not_json() {
    // 0x7b is '{': a header of 123 bytes begins like a JSON object.
    let entry = r#""dtype":"U8","shape":[1],"data_offsets":[0,1]"#;
    let name = "n".repeat(123 - entry.len() - 7);
    let header = format!(r#"{{"{name}":{{{entry}}}}}"#);
    assert_eq!(header.len(), 123);
    let mut bytes = 123u64.to_le_bytes().to_vec();
    bytes.extend(header.as_bytes());
    bytes.push(0);
    let directory = files("brace", &[("m", &bytes)]);
    assert_eq!(Model::open(directory.join("m")).unwrap().format, Format::SafeTensors);
}

#[test]
fn files_that_are_not_models_are_rejected_with_their_format() {
    assert!(rejection("open-empty", b"").ends_with("file.bin: empty file; expected a GGUF, SafeTensors, APR or ONNX file, a SafeTensors index or a config.json"));
    assert!(rejection("open-text", b"hello").contains("not a model file;"));
    assert!(
        rejection("open-zip", b"PK\x03\x04....").contains("unsupported format, a PyTorch or zip archive;")
    );
    assert!(rejection("open-apr1", b"APRN....").contains("unsupported format, an APR file of version 1;"));
    assert!(rejection("open-ggml", b"tjgg....").contains("a ggml file older than GGUF;"));
    assert!(
        rejection("open-lfs", b"version https://git-lfs.github.com/spec/v1\n").contains("a Git LFS pointer")
    );
    assert!(rejection("open-json", b"  {\"a\":").contains("invalid JSON"));
}

#[test]
fn a_missing_file_is_an_error_with_its_name() {
    let message = Model::open(directory("open-missing").join("nothing.gguf")).unwrap_err().to_string();
    assert!(message.contains("nothing.gguf: No such file"), "{message}");
}

#[cfg(unix)]
#[test]
fn devices_are_rejected() {
    let message = Model::open("/dev/null").unwrap_err().to_string();
    assert_eq!(message, "/dev/null: not a regular file");
}

#[cfg(unix)]
#[test]
fn pipes_are_rejected_without_blocking() {
    let path = directory("open-pipe").join("pipe.gguf");
    assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
    let message = Model::open(&path).unwrap_err().to_string();
    assert!(message.ends_with("pipe.gguf: not a regular file"), "{message}");
}

#[test]
fn shards_without_an_index_must_be_complete() {
    let shard = |name: &str| safetensors(&[(name, &[8, 4], Dtype::F32)]);
    let (a, b) = (shard("a.weight"), shard("b.weight"));
    let names = ["m-00001-of-00002.safetensors", "m-00002-of-00002.safetensors"];
    let both = files("open-shards", &[(names[0], &a), (names[1], &b)]);
    for path in [both.clone(), both.join(names[1])] {
        let model = Model::open(path).unwrap();
        assert_eq!((model.tensors.len(), model.files.len(), model.parameters()), (2, 2, 64));
    }
    let one = files("open-shard", &[(names[0], &a)]);
    let message = Model::open(&one).unwrap_err().to_string();
    assert!(message.contains("m-00002-of-00002.safetensors: No such file"), "{message}");
}

#[test]
fn directories_must_contain_a_single_model() {
    let gguf = Gguf::new().build();
    let two = files("open-two", &[("a.gguf", &gguf), ("b.gguf", &gguf)]);
    let message = Model::open(&two).unwrap_err().to_string();
    assert!(message.contains("several models, such as \"a.gguf\" and \"b.gguf\""), "{message}");
    let none = files("open-none", &[("readme.txt", b"x")]);
    let message = Model::open(&none).unwrap_err().to_string();
    assert!(
        message.contains("expected a .gguf, .safetensors, .apr or .onnx file or a config.json"),
        "{message}"
    );
    let one = files("open-one", &[("a.gguf", &gguf), ("readme.txt", b"x")]);
    assert_eq!(Model::open(one).unwrap().tensors.len(), 0);
}

#[test]
fn errors_in_the_config_of_a_model_name_the_config() {
    let weights = safetensors(&[("a", &[8], Dtype::F32)]);
    let directory = files(
        "open-config",
        &[("m.safetensors", &weights), ("config.json", br#"{"model_type":"llama","hidden_size":"x"}"#)],
    );
    let message = Model::open(&directory).unwrap_err().to_string();
    assert!(
        message.ends_with("config.json: `hidden_size`: expected a non-negative integer, found \"x\""),
        "{message}"
    );
    let other = files(
        "open-config-other",
        &[("m.safetensors", &weights), ("config.json", br#"{"architecture":"resnet"}"#)],
    );
    assert_eq!(Model::open(&other).unwrap().architecture.name, "undefined");
}
