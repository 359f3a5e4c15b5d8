//! Opens a model: detects the format by content and finds related files (split parts, shards,
//! `config.json`) in the same directory.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use super::architecture::{Architecture, Basis};
use super::declared::DeclaredLayers;
use super::error::{Error, FormatError, format_count, quoted};
use super::{
    File, Format, Model, Tensor, apr, gguf, gguf_config, hf_config, multimodal, onnx, packed, safetensors,
};

const CONFIG: &str = "config.json";
const INDEX_END: &str = ".safetensors.index.json";

impl Model {
    /// Opens a GGUF file (any part of a split model), a SafeTensors file or its index, an APR or ONNX file,
    /// a `config.json`, or a directory with one of these.
    ///
    /// The files are memory-mapped: they must not be modified or truncated while the model is open.
    ///
    /// # Errors
    ///
    /// Fails if a file cannot be read, violates its format, or is truncated.
    pub fn open(path: impl AsRef<Path>) -> Result<Model, Error> {
        let model = Model::open_headers(path)?;
        // The weights of a graph may be in other files and are never read.
        if model.format == Format::Onnx {
            return Ok(model);
        }
        let missing = |tensor: &&Tensor| tensor.bytes.is_some() && model.data(tensor).is_none();
        let Some(first) = model.tensors.iter().find(missing) else { return Ok(model) };
        let count = model.tensors.iter().filter(missing).count();
        let message = format!(
            "truncated file: data of {count} of {} is missing (first: {}); download the file again",
            format_count(model.tensors.len()),
            quoted(&first.name)
        );
        let file = model.files.get(first.file).map_or(Path::new(""), |file| &file.path);
        Err(Error::malformed(file)(FormatError::file(message)))
    }

    /// Opens a model like [`Model::open`], but accepts truncated files: the headers suffice unless weights
    /// are read.
    pub fn open_headers(path: impl AsRef<Path>) -> Result<Model, Error> {
        let path = path.as_ref();
        let path = if path.is_dir() { find(path)? } else { path.to_owned() };
        let file = File::open(&path)?;
        let named_onnx = path.extension().is_some_and(|end| end.eq_ignore_ascii_case("onnx"));
        match detect(&file.map, named_onnx).map_err(Error::malformed(&path))? {
            Content::Onnx => open_onnx(file),
            Content::Gguf => open_gguf(file),
            Content::SafeTensors => match (index_of(&path)?, shards_of(&path)) {
                (Some(index), _) => open_index(&index),
                (None, Some(shards)) => open_shards(&path, &shards, None),
                (None, None) => open_safetensors(file),
            },
            Content::Apr => open_apr(file),
            Content::Json => {
                let map = hf_config::object(&file.map).map_err(Error::malformed(&path))?;
                if map.contains_key("weight_map") { open_index(&path) } else { open_config(&path, &map) }
            }
        }
    }
}

impl File {
    fn open(path: &Path) -> Result<File, Error> {
        // Opening a pipe would block until another process writes to it.
        let kind = std::fs::metadata(path).map_err(Error::io(path))?;
        if !kind.is_file() {
            return Err(Error::malformed(path)(FormatError::file("not a regular file")));
        }
        let file = std::fs::File::open(path).map_err(Error::io(path))?;
        // SAFETY: this process never writes to the file. Modification or truncation by another process
        // while it is mapped would be undefined behavior or raise a signal; no operating system can prevent
        // that reliably, so `Model::open` requires that the file does not change.
        let map = unsafe { memmap2::Mmap::map(&file) }.map_err(Error::io(path))?;
        Ok(File { path: path.to_owned(), map })
    }
}

enum Content {
    Onnx,
    Gguf,
    SafeTensors,
    Apr,
    Json,
}

/// Detects the format from the first bytes. ONNX has no magic number, so the file extension decides when
/// the content is ambiguous.
fn detect(bytes: &[u8], named_onnx: bool) -> Result<Content, FormatError> {
    const EXPECTED: &str =
        "expected a GGUF, SafeTensors, APR or ONNX file, a SafeTensors index or a config.json";
    let known = [
        (b"PK\x03\x04".as_slice(), "a PyTorch or zip archive"),
        (b"\x80\x02".as_slice(), "a Python pickle"),
        (b"APRN".as_slice(), "an APR file of version 1"),
        (b"lmgg".as_slice(), "a ggml file older than GGUF"),
        (b"tjgg".as_slice(), "a ggml file older than GGUF"),
        (b"version https://git-lfs".as_slice(), "a Git LFS pointer instead of the file (run `git lfs pull`)"),
    ];
    let length = bytes.first_chunk().map(|length| u64::from_le_bytes(*length));
    let text = bytes.iter().find(|byte| !byte.is_ascii_whitespace());
    if bytes.is_empty() {
        Err(FormatError::file(format!("empty file; {EXPECTED}")))
    } else if bytes.starts_with(&gguf::MAGIC) {
        Ok(Content::Gguf)
    } else if apr::MAGICS.iter().any(|magic| bytes.starts_with(magic)) {
        Ok(Content::Apr)
    } else if bytes.get(8) == Some(&b'{')
        && length.is_some_and(|length| length <= safetensors::MAX_HEADER_BYTES)
    {
        Ok(Content::SafeTensors)
    } else if text == Some(&b'{') {
        Ok(Content::Json)
    } else if let Some((_, kind)) = known.iter().find(|(magic, _)| bytes.starts_with(magic)) {
        Err(FormatError::file(format!("unsupported format, {kind}; {EXPECTED}")))
    } else if named_onnx || onnx::looks_like(bytes) {
        Ok(Content::Onnx)
    } else {
        Err(FormatError::file(format!("not a model file; {EXPECTED}")))
    }
}

/// Finds the only model of a directory.
fn find(directory: &Path) -> Result<PathBuf, Error> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(directory).map_err(Error::io(directory))? {
        let entry = entry.map_err(Error::io(directory))?;
        names.extend(entry.file_name().into_string());
    }
    names.sort();
    let ending = |end: &str| -> Vec<&String> {
        let later_part = |name: &str| split_name(name).is_some_and(|(_, part, _)| part > 1);
        names.iter().filter(|name| name.ends_with(end) && !later_part(name)).collect()
    };
    for end in [INDEX_END, ".safetensors", ".gguf", ".apr", ".onnx"] {
        match ending(end).as_slice() {
            [] => {}
            [one] => return Ok(directory.join(one)),
            [first, second, ..] => {
                let message = format!(
                    "ambiguous directory with several models, such as {} and {}; pass one of the files",
                    quoted(first),
                    quoted(second)
                );
                return Err(Error::malformed(directory)(FormatError::file(message)));
            }
        }
    }
    if names.iter().any(|name| name == CONFIG) {
        return Ok(directory.join(CONFIG));
    }
    Err(Error::malformed(directory)(FormatError::file(
        "no model in this directory; expected a .gguf, .safetensors, .apr or .onnx file or a config.json",
    )))
}

/// Splits a name like `model-00002-of-00003.gguf` into prefix, part number and number of parts.
fn split_name(name: &str) -> Option<(&str, u64, u64)> {
    let (stem, _) = name.rsplit_once('.')?;
    let (rest, count) = stem.rsplit_once("-of-")?;
    let (prefix, number) = rest.rsplit_once('-')?;
    let five = |digits: &str| if digits.len() == 5 { digits.parse().ok() } else { None };
    Some((prefix, five(number)?, five(count)?))
}

fn open_gguf(file: File) -> Result<Model, Error> {
    let header = gguf::read(&file.map).map_err(Error::malformed(&file.path))?;
    let count = header.metadata.count("split.count").map_err(Error::malformed(&file.path))?;
    let mut parts = match count {
        Some(count) if count > 1 => read_parts(file, header, count)?,
        _ => vec![(file, header)],
    };

    let mut tensors = Vec::new();
    let mut warnings = Vec::new();
    let mut names = HashSet::new();
    for (index, (file, header)) in parts.iter_mut().enumerate() {
        for mut tensor in header.tensors.drain(..) {
            tensor.file = index;
            if index > 0 && names.contains(&tensor.name) {
                let message = format!("duplicate tensor {}, also in an earlier part", quoted(&tensor.name));
                return Err(Error::malformed(&file.path)(FormatError::file(message)));
            }
            tensors.push(tensor);
        }
        if count.is_some_and(|count| count > 1) {
            names.extend(
                tensors.iter().filter(|tensor| tensor.file == index).map(|tensor| tensor.name.clone()),
            );
        }
        warnings.append(&mut header.warnings);
    }
    let Some((first, header)) = parts.first() else {
        return Err(Error::malformed(Path::new(""))(FormatError::file("a model without files")));
    };
    let malformed = || Error::malformed(&first.path);
    let total = header.metadata.count("split.tensors.count").map_err(malformed())?;
    if let Some(total) = total.filter(|total| count.unwrap_or(0) > 1 && *total != tensors.len() as u64) {
        let message = format!("expected {total} tensors, found {} in all parts", tensors.len());
        return Err(malformed()(FormatError::field("split.tensors.count", message)));
    }
    let architecture = gguf_architecture(&header.metadata, &tensors).map_err(malformed())?;
    let summary = ["general.name", "general.size_label", "general.organization", "general.license"]
        .into_iter()
        .filter_map(|key| Some((key.to_owned(), brief(header.metadata.text(key).ok()??))))
        .collect();
    let format = Format::Gguf { version: header.version, big_endian: header.big_endian };
    let files = parts.into_iter().map(|(file, _)| file).collect();
    Ok(Model { files, tensors, summary, ..model(format, architecture, warnings) })
}

/// Derives the architecture from the metadata and tensors of a GGUF file.
pub fn gguf_architecture(metadata: &gguf::Metadata, tensors: &[Tensor]) -> Result<Architecture, FormatError> {
    if let Some((model_dims, assumed)) = gguf_config::model_dims(metadata, tensors)? {
        let mut architecture = Architecture::for_family(model_dims, tensors);
        architecture.warnings.extend(assumed);
        return Ok(architecture);
    }
    if metadata.text("general.architecture")? == Some(multimodal::NAME) {
        return multimodal::architecture(metadata, tensors);
    }
    let declared = gguf_config::declared_layers(metadata, tensors)?;
    Ok(Architecture::from_tensors(metadata.text("general.architecture")?, tensors, declared.as_ref()))
}

/// Reads the remaining parts of a split GGUF file, of which one has been read.
fn read_parts(file: File, header: gguf::Header, count: u64) -> Result<Vec<(File, gguf::Header)>, Error> {
    let given = file.path.clone();
    let name = given.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let prefix = match split_name(name) {
        Some((prefix, _, of)) if of == count => prefix,
        _ => {
            let message = format!(
                "cannot find the other {} parts; expected a file name that ends in -00001-of-{count:05}.gguf",
                count - 1
            );
            return Err(Error::malformed(&given)(FormatError::field("split.count", message)));
        }
    };
    let mut read = Some((file, header));
    let mut parts = Vec::new();
    for number in 1..=count {
        let path = given.with_file_name(format!("{prefix}-{number:05}-of-{count:05}.gguf"));
        let (file, header) = match read.take_if(|(file, _)| file.path == path) {
            Some(read) => read,
            None => {
                let file = File::open(&path)?;
                let header = gguf::read(&file.map).map_err(Error::malformed(&path))?;
                (file, header)
            }
        };
        for (key, expected) in [("split.count", count), ("split.no", number - 1)] {
            let found = header.metadata.count(key).map_err(Error::malformed(&path))?;
            if found != Some(expected) {
                let message = match found {
                    Some(found) => format!("expected {expected}, found {found}"),
                    None => format!("missing; expected {expected}"),
                };
                return Err(Error::malformed(&path)(FormatError::field(key, message)));
            }
        }
        parts.push((file, header));
    }
    Ok(parts)
}

/// Returns the path of the index that lists this shard, if it exists.
fn index_of(path: &Path) -> Result<Option<PathBuf>, Error> {
    let Some(name) = path.file_name().and_then(|name| name.to_str()) else { return Ok(None) };
    let Some((prefix, _, _)) = split_name(name) else { return Ok(None) };
    let index = path.with_file_name(format!("{prefix}{INDEX_END}"));
    Ok(index.is_file().then_some(index))
}

fn open_safetensors(file: File) -> Result<Model, Error> {
    let mut header = safetensors::read(&file.map).map_err(Error::malformed(&file.path))?;
    let (path, files) = (file.path.clone(), vec![file]);
    let architecture = with_config(&path, &files, &mut header.tensors)?;
    let summary = header.metadata.iter().take(16).map(|(key, value)| (brief(key), brief(value))).collect();
    let tensors = header.tensors;
    Ok(Model { files, tensors, summary, ..model(Format::SafeTensors, architecture, header.warnings) })
}

/// Derives the paths of all shards from the name of one, for models without an index.
fn shards_of(path: &Path) -> Option<Vec<PathBuf>> {
    let name = path.file_name()?.to_str()?;
    let (prefix, _, count) = split_name(name).filter(|(_, _, count)| *count > 1)?;
    let shard = |number| path.with_file_name(format!("{prefix}-{number:05}-of-{count:05}.safetensors"));
    Some((1..=count).map(shard).collect())
}

fn open_index(path: &Path) -> Result<Model, Error> {
    let text = File::open(path)?;
    let listed = safetensors::read_index(&text.map).map_err(Error::malformed(path))?;
    let mut seen = HashSet::new();
    let names = listed.iter().map(|(_, shard)| shard.as_str()).filter(|shard| seen.insert(*shard));
    let shards: Vec<PathBuf> = names.map(|shard| path.with_file_name(shard)).collect();
    open_shards(path, &shards, Some(&listed))
}

/// Opens the shards of one model, which must agree with the index if there is one.
fn open_shards(path: &Path, shards: &[PathBuf], listed: Option<&[(String, String)]>) -> Result<Model, Error> {
    let mut files: Vec<File> = Vec::new();
    let mut tensors: Vec<Tensor> = Vec::new();
    let mut warnings = Vec::new();
    let mut shard_of: HashMap<String, &Path> = HashMap::new();
    for shard in shards {
        let file = File::open(shard)?;
        let header = safetensors::read(&file.map).map_err(Error::malformed(shard))?;
        warnings.extend(header.warnings);
        for mut tensor in header.tensors {
            tensor.file = files.len();
            if shard_of.insert(tensor.name.clone(), shard).is_some() {
                let message = format!("duplicate tensor {}, also in an earlier shard", quoted(&tensor.name));
                return Err(Error::malformed(shard)(FormatError::file(message)));
            }
            tensors.push(tensor);
        }
        files.push(file);
    }
    if let Some(listed) = listed {
        for (tensor, shard) in listed {
            let found = shard_of.remove(tensor.as_str());
            if found.and_then(Path::file_name) != Some(shard.as_ref()) {
                let message = format!("tensor {} is missing from {}", quoted(tensor), quoted(shard));
                return Err(Error::malformed(path)(FormatError::field("weight_map", message)));
            }
        }
        if !shard_of.is_empty() {
            warnings.push(format!("{} of the shards missing from the index", format_count(shard_of.len())));
        }
    }
    let architecture = with_config(path, &files, &mut tensors)?;
    Ok(Model { files, tensors, ..model(Format::SafeTensors, architecture, warnings) })
}

/// Unpacks quantized tensors and derives the architecture from the `config.json` in the directory of `path`.
fn with_config(path: &Path, files: &[File], tensors: &mut [Tensor]) -> Result<Architecture, Error> {
    let config = path.with_file_name(CONFIG);
    let map = match config.is_file() {
        true => Some(hf_config::object(&File::open(&config)?.map).map_err(Error::malformed(&config))?),
        false => None,
    };
    let warnings = packed::unpack(tensors, |tensor| super::data(files, tensor), map.as_ref());
    let mut architecture = match &map {
        Some(map) => configured(map, tensors).map_err(Error::malformed(&config))?,
        None => Architecture::from_tensors(None, tensors, None),
    };
    architecture.warnings.extend(warnings);
    if map.is_none() {
        architecture
            .warnings
            .push("no config.json in the directory of the file, so its architecture is unknown".to_owned());
    }
    Ok(architecture)
}

/// Derives the architecture from tensors and the fields of a `config.json`.
fn configured(map: &Map<String, Value>, tensors: &[Tensor]) -> Result<Architecture, FormatError> {
    if let Some(model_dims) = hf_config::model_dims(map)? {
        return Ok(Architecture::for_family(model_dims, tensors));
    }
    let declared = match hf_config::encoder_decoder(map)? {
        Some(declared) => Some(declared),
        None => hf_config::generic(map)?.as_ref().map(DeclaredLayers::from),
    };
    Ok(Architecture::from_tensors(map.get("model_type").and_then(Value::as_str), tensors, declared.as_ref()))
}

fn open_config(path: &Path, map: &Map<String, Value>) -> Result<Model, Error> {
    let malformed = || Error::malformed(path);
    let mut warnings = Vec::new();
    if hf_config::encoder_decoder(map).map_err(malformed())?.is_some() {
        let message = "encoder-decoder models cannot be read without weights; pass the directory with them";
        return Err(malformed()(FormatError::field("is_encoder_decoder", message)));
    }
    let mut model_dims = hf_config::model_dims(map).map_err(malformed())?;
    if model_dims.is_none() {
        model_dims = hf_config::generic(map).map_err(malformed())?;
        warnings.push(
            "unknown model family without weights: assuming that each layer has the matrices of a llama layer"
                .to_owned(),
        );
    }
    let model_dims = model_dims.ok_or_else(|| {
        let problem =
            map.get("model_type").map_or("missing".to_owned(), |found| format!("unknown value {found}"));
        let message = format!(
            "{problem}; without weights, expected the fields of a decoder or one of {}",
            hf_config::MODEL_TYPES.join(", ")
        );
        malformed()(FormatError::field("model_type", message))
    })?;
    let architecture = Architecture::for_family(model_dims, &[]);
    Ok(model(Format::Config, architecture, warnings))
}

fn open_onnx(file: File) -> Result<Model, Error> {
    // The protobuf messages borrow from a mapping of their own.
    let bytes = prost::bytes::Bytes::from_owner(File::open(&file.path)?.map);
    let read = onnx::read(bytes).map_err(Error::malformed(&file.path))?;
    let architecture = Architecture {
        name: "graph".to_owned(),
        basis: Basis::Declared,
        model_dims: None,
        context_length: None,
        generates_tokens: false,
        operations: Vec::new(),
        warnings: Vec::new(),
    };
    let summary = vec![("producer".to_owned(), brief(&read.producer))];
    Ok(Model {
        files: vec![file],
        tensors: read.tensors,
        graph: Some(read.graph),
        summary,
        ..model(Format::Onnx, architecture, Vec::new())
    })
}

fn open_apr(file: File) -> Result<Model, Error> {
    let header = apr::read(&file.map).map_err(Error::malformed(&file.path))?;
    let architecture = apr_architecture(&header).map_err(Error::malformed(&file.path))?;
    let text = |key: &str| header.metadata.get(key).and_then(Value::as_str);
    let summary = ["name", "version", "author", "license"]
        .into_iter()
        .filter_map(|key| Some((key.to_owned(), brief(text(key)?))))
        .collect();
    let (files, tensors) = (vec![file], header.tensors);
    Ok(Model { files, tensors, summary, ..model(Format::Apr, architecture, header.warnings) })
}

/// Derives the architecture from the metadata and tensors of an APR file.
pub fn apr_architecture(header: &apr::Header) -> Result<Architecture, FormatError> {
    // Models other than transformers have no such fields.
    let is_transformer =
        ["hidden_size", "num_hidden_layers"].iter().all(|key| header.metadata.contains_key(*key));
    if is_transformer {
        return configured(&header.metadata, &header.tensors);
    }
    let name = header.metadata.get("model_type").and_then(Value::as_str);
    Ok(Architecture::from_tensors(name, &header.tensors, None))
}

/// Creates a model without files, tensors and summary.
fn model(format: Format, architecture: Architecture, mut warnings: Vec<String>) -> Model {
    warnings.extend(architecture.warnings.iter().cloned());
    let (files, tensors, summary) = (Vec::new(), Vec::new(), Vec::new());
    Model { format, files, tensors, architecture, graph: None, summary, warnings }
}

/// Truncates text from a file to one line.
fn brief(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(120).collect()
}
