//! Readers of model files. A [`Model`] lists the tensors of its files and the operations that one token
//! needs. Only headers are parsed; weights are memory-mapped and not read.

mod apr;
mod architecture;
mod cursor;
mod declared;
mod dimensions;
mod dtype;
mod error;
mod gguf;
mod gguf_config;
mod hf_config;
mod layout;
mod multimodal;
pub mod onnx;
mod open;
mod operation;
mod packed;
mod quant_mix;
mod quirks;
mod registry;
mod safetensors;
mod tensor_names;

use std::path::PathBuf;

pub use architecture::{Architecture, Basis};
pub use declared::{DeclaredLayers, LayerMemory};
pub use dimensions::{
    Attention, Experts, FeedForward, Head, Latent, Layer, MAX_LAYERS, ModelDims, Recurrence, Width,
};
pub use dtype::{Dtype, GgmlType};
pub use error::{Error, FormatError, Location};
pub use hf_config::MODEL_TYPES;
pub use operation::{Operation, Runs, State, Work};
pub use quant_mix::{OperationStorage, QuantMix};
pub use registry::{KNOWN_MODELS, KnownModel, by_name, display_name};
pub use tensor_names::{Kind, Role};

/// Model described by one or more files.
#[derive(Debug)]
pub struct Model {
    /// File format.
    pub format: Format,
    /// Files that contain the tensors.
    pub files: Vec<File>,
    /// All tensors, grouped by file.
    pub tensors: Vec<Tensor>,
    /// Dimensions and operations.
    pub architecture: Architecture,
    /// Nodes of an ONNX file; `None` for other formats.
    pub graph: Option<onnx::Graph>,
    /// Descriptive metadata, such as name and license.
    pub summary: Vec<(String, String)>,
    /// Warnings of the reader and of [`Architecture`].
    pub warnings: Vec<String>,
}

/// File format of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// GGUF, one file or several parts.
    Gguf {
        /// Format version, 2 or 3.
        version: u32,
        /// Byte order of the file.
        big_endian: bool,
    },
    /// SafeTensors, one file or several shards.
    SafeTensors,
    /// APR version 2.
    Apr,
    /// ONNX.
    Onnx,
    /// A `config.json` without weights.
    Config,
}

/// Memory-mapped file of a model.
#[derive(Debug)]
pub struct File {
    /// Path of the file.
    pub path: PathBuf,
    map: memmap2::Mmap,
}

/// Tensor of a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tensor {
    /// Name in the file.
    pub name: String,
    /// Element type. Packed weights have the type of the unpacked weights.
    pub dtype: Dtype,
    /// Dimensions, slowest-varying first: rows, then columns (GGUF files store the reverse order). Packed
    /// weights have the shape of the unpacked weights.
    pub dims: Vec<u64>,
    /// Offset of the data in bytes from the start of the file.
    pub offset: u64,
    /// Size of the data in bytes; `None` if the size of the type is unknown.
    pub bytes: Option<u64>,
    /// Index into [`Model::files`].
    pub file: usize,
    /// Index of the weights that these scales, zero points or lookup tables belong to. Such tensors occupy
    /// bytes, but are not parameters.
    pub companion_of: Option<usize>,
}

impl Tensor {
    /// Returns the number of elements. The readers reject tensors for which it overflows.
    pub fn elements(&self) -> u64 {
        elements(&self.dims).unwrap_or(u64::MAX)
    }

    /// Returns the number of parameters, which is 0 for scales and other companions of packed weights.
    pub fn parameters(&self) -> u64 {
        if self.companion_of.is_some() { 0 } else { self.elements() }
    }

    /// Formats the dimensions as `4096 x 1024`.
    pub fn shape(&self) -> String {
        match self.dims.as_slice() {
            [] => "scalar".to_owned(),
            dims => dims.iter().map(u64::to_string).collect::<Vec<_>>().join(" x "),
        }
    }
}

impl Model {
    /// Returns the stored bytes of a tensor; `None` if the file is truncated or the size is unknown.
    pub fn data(&self, tensor: &Tensor) -> Option<&[u8]> {
        data(&self.files, tensor)
    }

    /// Returns the number of parameters of all tensors, or of the dimensions for a model without tensors.
    pub fn parameters(&self) -> u64 {
        match (&self.architecture.model_dims, self.tensors.is_empty()) {
            (Some(model_dims), true) => model_dims.parameters(),
            _ => total(self.tensors.iter().map(Tensor::parameters)),
        }
    }

    /// Returns the size of all tensors in bytes; `None` if the size of a type is unknown.
    pub fn bytes(&self) -> Option<u64> {
        self.tensors.iter().try_fold(0u64, |sum, tensor| Some(sum.saturating_add(tensor.bytes?)))
    }
}

fn data<'a>(files: &'a [File], tensor: &Tensor) -> Option<&'a [u8]> {
    let start = usize::try_from(tensor.offset).ok()?;
    let end = start.checked_add(usize::try_from(tensor.bytes?).ok()?)?;
    files.get(tensor.file)?.map.get(start..end)
}

/// Multiplies all dimensions; `None` on overflow.
fn elements(dims: &[u64]) -> Option<u64> {
    dims.iter().try_fold(1u64, |product, dim| product.checked_mul(*dim))
}

/// Saturating sum, because hostile headers can contain arbitrary numbers.
fn total(numbers: impl Iterator<Item = u64>) -> u64 {
    numbers.fold(0, u64::saturating_add)
}

/// Readers that parse byte slices, for tests, fuzzing and proofs.
#[doc(hidden)]
pub mod readers {
    pub use super::apr::{Fields, read as apr};
    pub use super::cursor::Cursor;
    pub use super::dtype::in_blocks;
    pub use super::gguf::{extent, read as gguf, read_info, read_version};
    pub use super::hf_config::read as config;
    pub use super::open::{apr_architecture, gguf_architecture};
    pub use super::packed::unpack;
    pub use super::safetensors::{read as safetensors, read_index};

    /// Parses an ONNX file in memory.
    pub fn onnx(bytes: &[u8]) -> Result<super::onnx::Read, super::FormatError> {
        super::onnx::read(prost::bytes::Bytes::copy_from_slice(bytes))
    }
}
