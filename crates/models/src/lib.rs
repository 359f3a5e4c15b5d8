//! Models from files: what tensors they hold and what a token's way through them costs in matrix
//! products. Headers only; the weights are mapped, not read.

mod apr;
mod architecture;
mod config;
mod cursor;
mod dtype;
mod family;
mod fault;
mod gguf;
mod hyper;
mod layout;
mod metadata;
mod mix;
mod names;
pub mod onnx;
mod open;
mod operation;
mod packed;
mod registry;
mod safetensors;
mod stated;
mod tower;

use std::path::PathBuf;

pub use architecture::{Architecture, Basis};
pub use config::MODEL_TYPES;
pub use dtype::{Dtype, GgmlType};
pub use fault::{Error, Fault, Place};
pub use hyper::{
    Attention, Experts, FeedForward, Head, Hyper, Latent, Layer, MOST_LAYERS, Recurrence, Width,
};
pub use mix::{Mix, StoredAs};
pub use names::{Kind, Role};
pub use operation::{Operation, Runs, State, Work};
pub use registry::{KNOWN, Known, by_name};
pub use stated::{LooksBack, Stated};

/// A model as its files describe it.
#[derive(Debug)]
pub struct Model {
    /// How it is stored.
    pub format: Format,
    /// The files with its tensors.
    pub files: Vec<File>,
    /// All tensors, file by file.
    pub tensors: Vec<Tensor>,
    /// What it computes.
    pub architecture: Architecture,
    /// The nodes, in a file that has them: their shapes depend on what goes in.
    pub graph: Option<onnx::Graph>,
    /// A few facts the files state about themselves, as text.
    pub summary: Vec<(String, String)>,
    /// What is odd but not wrong, also what [`Architecture`] found.
    pub warnings: Vec<String>,
}

/// How a model is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// GGUF of this version, in one or more files.
    Gguf {
        /// 2 or 3.
        version: u32,
        /// Whether numbers are stored with the highest byte first.
        big_endian: bool,
    },
    /// SafeTensors, one file or shards with an index.
    SafeTensors,
    /// APR version 2.
    Apr,
    /// ONNX: a graph of nodes.
    Onnx,
    /// A `config.json` alone: dimensions without weights.
    Config,
}

/// One file of a model, mapped into memory.
#[derive(Debug)]
pub struct File {
    /// Where it is.
    pub path: PathBuf,
    map: memmap2::Mmap,
}

/// One tensor of a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tensor {
    /// Its name in the file.
    pub name: String,
    /// The type of its elements; of packed weights, that of the weights.
    pub dtype: Dtype,
    /// Its dimensions, the slowest first: a matrix is rows, then columns. GGUF stores them the other way
    /// round. Those of packed weights are the weights'.
    pub dims: Vec<u64>,
    /// Where its data begins, from the start of its file.
    pub offset: u64,
    /// Bytes of its data; none when the type's size is unknown.
    pub bytes: Option<u64>,
    /// The file it is in, as an index into the model's list.
    pub file: usize,
    /// The weights that these scales, zero points or tables belong to, as an index into the model's list: they take bytes, but
    /// are no parameters.
    pub beside: Option<usize>,
}

impl Tensor {
    /// The number of its elements. The readers have checked that it fits.
    pub fn elements(&self) -> u64 {
        elements(&self.dims).unwrap_or(u64::MAX)
    }

    /// The number of parameters in it.
    pub fn parameters(&self) -> u64 {
        if self.beside.is_some() { 0 } else { self.elements() }
    }

    /// Its dimensions for people: `4096 x 1024`.
    pub fn shape(&self) -> String {
        match self.dims.as_slice() {
            [] => "a single number".to_owned(),
            dims => dims.iter().map(u64::to_string).collect::<Vec<_>>().join(" x "),
        }
    }
}

impl Model {
    /// The stored bytes of a tensor; none when the file ends before they do or their size is unknown.
    pub fn data(&self, tensor: &Tensor) -> Option<&[u8]> {
        data(&self.files, tensor)
    }

    /// The number of parameters of all tensors, or what the dimensions make where there are no tensors.
    pub fn parameters(&self) -> u64 {
        match (&self.architecture.hyper, self.tensors.is_empty()) {
            (Some(hyper), true) => hyper.parameters(),
            _ => total(self.tensors.iter().map(Tensor::parameters)),
        }
    }

    /// Bytes of all tensors; none when a type's size is unknown.
    pub fn bytes(&self) -> Option<u64> {
        self.tensors.iter().try_fold(0u64, |sum, tensor| Some(sum.saturating_add(tensor.bytes?)))
    }
}

/// The stored bytes of a tensor in these files.
fn data<'a>(files: &'a [File], tensor: &Tensor) -> Option<&'a [u8]> {
    let start = usize::try_from(tensor.offset).ok()?;
    let end = start.checked_add(usize::try_from(tensor.bytes?).ok()?)?;
    files.get(tensor.file)?.map.get(start..end)
}

/// The product of all dimensions; none when it does not fit.
fn elements(dims: &[u64]) -> Option<u64> {
    dims.iter().try_fold(1u64, |product, dim| product.checked_mul(*dim))
}

/// A sum that stays at the largest number instead of passing it: hostile headers can claim anything.
fn total(numbers: impl Iterator<Item = u64>) -> u64 {
    numbers.fold(0, u64::saturating_add)
}

/// The readers themselves, over bytes, and their steps: for tests and proofs about hostile input, which need no file.
#[doc(hidden)]
pub mod readers {
    pub use super::apr::{Fields, read as apr};
    pub use super::config::read as config;
    pub use super::cursor::Cursor;
    pub use super::dtype::in_blocks;
    pub use super::gguf::{extent, read as gguf, read_info, read_version};
    pub use super::open::{apr_architecture, gguf_architecture};
    pub use super::packed::unpack;
    pub use super::safetensors::{read as safetensors, read_index};

    /// An ONNX file that is in memory.
    pub fn onnx(bytes: &[u8]) -> Result<super::onnx::Read, super::Fault> {
        super::onnx::read(prost::bytes::Bytes::copy_from_slice(bytes))
    }
}
