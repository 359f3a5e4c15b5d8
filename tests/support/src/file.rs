//! Model files described in YAML: keys or a configuration, and tensors without their data.

use std::path::{Path, PathBuf};

use roofline_models::Dtype;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_yaml::{Mapping, Value as Yaml};

use crate::network::Network;
use crate::writer::{Gguf, Value, safetensors_header};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct File {
    /// The architecture in a GGUF file; defaults to the name of the description.
    architecture: Option<String>,
    /// Keys of a GGUF file, prefixed with the architecture unless they start with `general.` or `tokenizer.`.
    #[serde(default)]
    keys: Mapping,
    /// The `config.json` of a directory with SafeTensors files, or the only file if there are no tensors.
    config: Option<Yaml>,
    /// Writes a single SafeTensors file.
    #[serde(default)]
    safetensors: bool,
    /// Writes a file for each group of tensors, and their index.
    #[serde(default)]
    shards: bool,
    /// Tensors are packed, so that their elements are not the weights.
    #[serde(default)]
    pub packed: bool,
    /// The type of tensors with more than one dimension.
    matrices: Option<String>,
    /// Groups of tensors in the order of the file: dimensions by name, followed by the type if it is not the default. `layers`
    /// are the blocks with these tensors, `prefix` is the name of a block (default `blk`), and `like` lists shared groups.
    #[serde(default)]
    tensors: Vec<Mapping>,
}

type Tensor = (String, Vec<u64>, Dtype);

impl File {
    /// Writes the files into a directory and returns all paths that open the model.
    pub fn write(&self, directory: &Path, name: &str, matrices: &str) -> Vec<PathBuf> {
        let groups = self.groups(matrices);
        if let Some(config) = &self.config {
            let config = serde_json::to_string(config).expect("a configuration is JSON");
            let path = directory.join("config.json");
            std::fs::write(&path, config).expect("a test file can be written");
            if groups.is_empty() {
                return vec![directory.to_owned(), path];
            }
        } else if !self.safetensors {
            let gguf = self.gguf(name, groups.concat());
            return vec![sparse(&directory.join("m.gguf"), &gguf.header(), gguf.length())];
        }
        if self.shards {
            return shards(directory, &groups);
        }
        let path = save(&directory.join("model.safetensors"), &groups.concat());
        vec![if self.config.is_some() { directory.to_owned() } else { path }]
    }

    /// The number of elements and bytes of all tensors.
    pub fn stored(&self, matrices: &str) -> (u64, u64) {
        let tensors = self.groups(matrices).concat();
        let elements = |dims: &[u64]| dims.iter().product::<u64>();
        let bytes = |(_, dims, dtype): &Tensor| dtype.bytes(elements(dims)).expect("a type with a size");
        (tensors.iter().map(|(_, dims, _)| elements(dims)).sum(), tensors.iter().map(bytes).sum())
    }

    fn gguf(&self, name: &str, tensors: Vec<Tensor>) -> Gguf {
        let architecture = self.architecture.as_deref().unwrap_or(name);
        let mut gguf = Gguf::of(architecture, &[]);
        for (key, value) in &self.keys {
            let key = key.as_str().expect("a key is a text");
            let own = ["general.", "tokenizer."].iter().any(|prefix| key.starts_with(prefix));
            let key = if own { key.to_owned() } else { format!("{architecture}.{key}") };
            gguf = gguf.key(&key, metadata(value));
        }
        tensors.iter().fold(gguf, |gguf, (name, dims, dtype)| gguf.tensor(name, dims, *dtype))
    }

    fn groups(&self, matrices: &str) -> Vec<Vec<Tensor>> {
        let matrices = self.matrices.as_deref().unwrap_or(matrices);
        let all = self.tensors.iter().map(|group| {
            let prefix = group.get("prefix").map_or("blk", |prefix| prefix.as_str().expect("a text"));
            let places = match group.get("layers") {
                Some(which) => layers(which).iter().map(|layer| format!("{prefix}.{layer}.")).collect(),
                None => vec![String::new()],
            };
            let mut tensors = Vec::new();
            for place in places {
                let shared = group.get("like").and_then(Yaml::as_sequence).into_iter().flatten();
                for group in
                    shared.map(|group| group.as_mapping().expect("a group of tensors")).chain([group])
                {
                    let names = group.iter().map(|(name, stored)| (name.as_str().expect("a name"), stored));
                    for (name, stored) in
                        names.filter(|(name, _)| !["layers", "like", "prefix"].contains(name))
                    {
                        let (dims, dtype) = shape(stored, matrices);
                        tensors.push((format!("{place}{name}"), dims, dtype));
                    }
                }
            }
            tensors
        });
        all.collect()
    }
}

/// Writes the described file in the format of the path's extension. Matrices are in F32 by default.
pub fn write(path: &Path, description: &str) {
    fn parsed<T: DeserializeOwned>(path: &Path, description: &str) -> T {
        serde_yaml::from_str(description).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }
    if path.extension().is_some_and(|extension| extension == "onnx") {
        let network: Network = parsed(path, description);
        return std::fs::write(path, network.graph().build()).expect("a test file can be written");
    }
    let file: File = parsed(path, description);
    let tensors = file.groups("F32").concat();
    if path.extension().is_some_and(|extension| extension == "gguf") {
        let gguf = file.gguf("unnamed", tensors);
        sparse(path, &gguf.header(), gguf.length());
    } else {
        save(path, &tensors);
    }
}

/// `4544` for a vector, `[4672, 4544]` for a matrix, `[64, F16]` with its type.
fn shape(stored: &Yaml, matrices: &str) -> (Vec<u64>, Dtype) {
    let parts = stored.as_sequence().cloned().unwrap_or_else(|| vec![stored.clone()]);
    let dims: Vec<u64> = parts.iter().filter_map(Yaml::as_u64).collect();
    let usual = if dims.len() > 1 { matrices } else { "F32" };
    let name = parts.last().and_then(Yaml::as_str).unwrap_or(usual);
    (dims, Dtype::from_name(name).unwrap_or_else(|| panic!("unknown type `{name}`")))
}

/// `3`, `[0, 2]` or `0..32`.
fn layers(which: &Yaml) -> Vec<u64> {
    if let Some(range) = which.as_str() {
        let (first, end) = range.split_once("..").expect("a range is first..end");
        return (first.parse().expect("a layer")..end.parse().expect("a layer")).collect();
    }
    let listed = which.as_sequence().cloned().unwrap_or_else(|| vec![which.clone()]);
    listed.iter().map(|layer| layer.as_u64().expect("a layer")).collect()
}

fn metadata(value: &Yaml) -> Value {
    let number = |value: &Yaml| u32::try_from(value.as_u64().expect("a number")).expect("a 32-bit number");
    match value {
        Yaml::Bool(value) => (*value).into(),
        Yaml::String(value) => value.as_str().into(),
        Yaml::Mapping(repeated) => {
            let (text, times) = repeated.iter().next().expect("a text and its count");
            Value::Texts(vec![text.as_str().expect("a text").to_owned(); number(times) as usize])
        }
        Yaml::Sequence(values) if values[0].is_bool() => {
            Value::Bools(values.iter().map(|value| value.as_bool().expect("a flag")).collect())
        }
        Yaml::Sequence(values) => Value::U32s(values.iter().map(number).collect()),
        _ => number(value).into(),
    }
}

/// Writes a sparse file with a header, followed by zeros.
fn sparse(path: &Path, header: &[u8], length: u64) -> PathBuf {
    std::fs::write(path, header).expect("a test file can be written");
    let file = std::fs::OpenOptions::new().write(true).open(path).expect("the file just written");
    file.set_len(length).expect("a test file can be sparse");
    path.to_owned()
}

fn save(path: &Path, tensors: &[Tensor]) -> PathBuf {
    let tensors: Vec<_> =
        tensors.iter().map(|(name, dims, dtype)| (name.as_str(), dims.as_slice(), *dtype)).collect();
    let (header, data) = safetensors_header(&tensors);
    sparse(path, &header, header.len() as u64 + data)
}

/// Writes a file for each group and their index; the directory, the last file and the index open the model.
fn shards(directory: &Path, groups: &[Vec<Tensor>]) -> Vec<PathBuf> {
    let mut map = serde_json::Map::new();
    let mut last = PathBuf::new();
    for (number, tensors) in (1..).zip(groups) {
        let shard = format!("model-{number:05}-of-{:05}.safetensors", groups.len());
        last = save(&directory.join(&shard), tensors);
        map.extend(tensors.iter().map(|(name, ..)| (name.clone(), shard.clone().into())));
    }
    let index = directory.join("model.safetensors.index.json");
    let text = serde_json::json!({ "metadata": {}, "weight_map": map }).to_string();
    std::fs::write(&index, text).expect("a test file can be written");
    vec![directory.to_owned(), last, index]
}
