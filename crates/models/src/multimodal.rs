//! Vision and audio encoders in a separate file next to a language model (`mmproj`). Their cost is that of one image, of the size
//! in the metadata, or of one audio clip.

use std::collections::BTreeSet;

use super::architecture::{Architecture, Basis};
use super::dimensions::Attention;
use super::error::FormatError;
use super::gguf::Metadata;
use super::operation::{Operation, Runs, Work};
use super::tensor_names::{self, Role};
use super::{Tensor, total};

/// Value of `general.architecture` for these files.
pub(super) const NAME: &str = "clip";

/// Side length of an attention window in pixels.
const WINDOW_PIXELS: u64 = 112;

/// Vision or audio encoder.
struct Tower {
    /// Prefix of tensor names: `v.` or `a.`.
    prefix: &'static str,
    /// Sequence length in its layers.
    positions: u64,
    /// Patches or frames that are passed to the projector.
    patches: u64,
    width: u64,
    heads: u64,
    /// Period of layers with full attention, and window size of the other layers.
    window: Option<(u64, u64)>,
}

/// Derives the operations for one image or audio clip.
pub fn architecture(metadata: &Metadata, tensors: &[Tensor]) -> Result<Architecture, FormatError> {
    let mut towers = Vec::new();
    let mut notes = Vec::new();
    let find = |name: &str| tensors.iter().find(|tensor| tensor.name == name);
    let required = |key: &str, kind: &str| {
        let key = format!("clip.{kind}.{key}");
        metadata.count(&key)?.filter(|number| *number > 0).ok_or_else(|| FormatError::field(key, "missing"))
    };
    if tensors.iter().any(|tensor| tensor.name.starts_with("v.")) {
        let (image, patch) = (required("image_size", "vision")?, required("patch_size", "vision")?);
        let patches = (image / patch).saturating_mul(image / patch);
        let period = metadata.count("clip.vision.n_wa_pattern")?.filter(|period| *period > 0);
        towers.push(Tower {
            prefix: "v.",
            positions: patches.saturating_add(u64::from(find("v.class_embd").is_some())),
            patches,
            width: required("embedding_length", "vision")?,
            heads: required("attention.head_count", "vision")?,
            window: period
                .map(|period| (period, (WINDOW_PIXELS / patch).saturating_mul(WINDOW_PIXELS / patch).max(1))),
        });
        notes.push(format!("an image of {image} x {image} pixels has {patches} patches"));
    }
    if tensors.iter().any(|tensor| tensor.name.starts_with("a.")) {
        let frames = find("a.position_embd.weight").and_then(|table| table.dims.first().copied());
        let frames = frames.unwrap_or(1500);
        towers.push(Tower {
            prefix: "a.",
            positions: frames,
            patches: frames,
            width: required("embedding_length", "audio")?,
            heads: required("attention.head_count", "audio")?,
            window: None,
        });
        notes.push(format!("an audio clip has {frames} frames"));
    }
    let projector = |kind: &str| {
        ["clip.projector_type", &format!("clip.{kind}.projector_type")]
            .iter()
            .find_map(|key| metadata.text(key).ok().flatten())
    };
    let mut operations = Vec::new();
    for tower in &towers {
        tower.operations(tensors, &mut operations);
        // Pooling of 4 x 4 patches, or of two frames.
        let tokens = match (tower.prefix, projector(tower.kind())) {
            ("v.", Some("gemma3")) => tower.patches / 16,
            ("a.", Some("qwen2a" | "qwen2.5o")) => tower.patches / 2,
            _ => tower.patches,
        };
        let own = |name: &str| towers.len() == 1 || name.starts_with("mm.a.") == (tower.prefix == "a.");
        project(tower.width, tokens, own, tensors, &mut operations);
    }
    let mut seen = vec![false; tensors.len()];
    operations.iter().flat_map(|one: &Operation| &one.tensors).for_each(|index| seen[*index] = true);
    for index in (0..tensors.len()).filter(|index| !seen[*index]) {
        let reason = "the number of executions per image is unknown".to_owned();
        operations.push(operation(Role::Other, Work::Undefined { reason }, &[index], tensors, 1));
    }
    Ok(Architecture {
        name: NAME.to_owned(),
        basis: Basis::Declared,
        model_dims: None,
        context_length: None,
        generates_tokens: false,
        operations,
        warnings: notes,
    })
}

/// Creates an operation that is executed `times` per image or audio clip.
fn operation(role: Role, work: Work, found: &[usize], tensors: &[Tensor], times: u64) -> Operation {
    Operation {
        runs: Runs::Input { times: times.max(1) },
        parameters: total(found.iter().map(|index| tensors[*index].elements())),
        tensors: found.to_vec(),
        ..Operation::without_parameters(role, work)
    }
}

fn bias(tensor: &Tensor, tensors: &[Tensor]) -> Option<usize> {
    let bias = format!("{}.bias", tensor.name.strip_suffix(".weight")?);
    tensors.iter().position(|tensor| tensor.name == bias)
}

/// Returns true for a bias with a weight of the same name.
fn is_bias(tensor: &Tensor, tensors: &[Tensor]) -> bool {
    let stem = tensor.name.strip_suffix(".bias");
    stem.is_some_and(|stem| tensors.iter().any(|other| other.name.strip_suffix(".weight") == Some(stem)))
}

/// Returns the product of a weight of any rank, whose first dimension is the outputs.
fn product(dims: &[u64]) -> Option<Work> {
    let (rows, rest) = dims.split_first()?;
    let cols = rest.iter().try_fold(1u64, |product, dim| product.checked_mul(*dim))?;
    (!rest.is_empty()).then_some(Work::Product { rows: *rows, cols })
}

/// Returns the number of patches that a matrix merges, given the width of the encoder; `None` if it merges none.
fn merged_patches(width: u64, inputs: u64) -> Option<u64> {
    [4, 8, 9, 16, 64].into_iter().find(|merged| width.checked_mul(*merged) == Some(inputs))
}

impl Tower {
    fn kind(&self) -> &'static str {
        if self.prefix == "a." { "audio" } else { "vision" }
    }

    fn operations(&self, tensors: &[Tensor], out: &mut Vec<Operation>) {
        let mut attends = BTreeSet::new();
        let own = tensors.iter().enumerate().filter(|(_, tensor)| tensor.name.starts_with(self.prefix));
        for (index, tensor) in own {
            if is_bias(tensor, tensors) {
                continue;
            }
            let (_, layer, rest) = tensor_names::layer(&tensor.name);
            let found: Vec<usize> = std::iter::once(index).chain(bias(tensor, tensors)).collect();
            let role = tensor_names::place(&tensor.name).map_or(Role::Other, |place| place.role);
            if let (Some(layer), Role::Query | Role::Key | Role::Value | Role::QueryKeyValue) = (layer, role)
            {
                attends.insert(layer);
            }
            let vector = Work::Vector { elements: total(found.iter().map(|one| tensors[*one].elements())) };
            let (role, work, times) = match tensor.dims.as_slice() {
                [rows, cols] if rest.starts_with("position_embd") => {
                    (Role::PositionEmbedding, Work::Lookup { rows: *rows, cols: *cols }, self.positions)
                }
                dims if rest.starts_with("patch_embd") => {
                    (role, product(dims).unwrap_or(vector), self.patches)
                }
                // The second of two convolutions halves the length of the audio.
                dims if rest.starts_with("conv1d.") => {
                    let twice = if rest.starts_with("conv1d.1") { 2 } else { 1 };
                    (role, product(dims).unwrap_or(vector), self.patches.saturating_mul(twice))
                }
                // Deepstack layers, which feed the language model, operate on merged patches.
                [rows, cols] if rest.starts_with("deepstack.") => {
                    let tokens = self.patches / merged_patches(self.width, *cols).unwrap_or(1);
                    (role, Work::Product { rows: *rows, cols: *cols }, tokens)
                }
                [rows, cols] => (role, Work::Product { rows: *rows, cols: *cols }, self.positions),
                [] | [_] => (role, vector, self.positions),
                _ => continue,
            };
            out.push(Operation { layer, ..operation(role, work, &found, tensors, times) });
        }
        let head = self.width / self.heads.max(1);
        for layer in attends {
            let window = self.window.filter(|(period, _)| !(layer + 1).is_multiple_of(*period));
            let window = window.map(|(_, size)| size);
            let attention = Attention::new(self.heads, head, head);
            let work = Work::Attention(Attention { window, causal: false, ..attention });
            let attention = Operation {
                layer: Some(layer),
                ..operation(Role::Attention, work, &[], tensors, self.positions)
            };
            // After the query, key and value projections of the layer.
            let at = out.iter().rposition(|one| {
                one.layer == Some(layer)
                    && matches!(one.role, Role::Query | Role::Key | Role::Value | Role::QueryKeyValue)
            });
            out.insert(at.map_or(out.len(), |at| at + 1), attention);
        }
    }
}

/// Appends the projector from an encoder of this width to the language model. A matrix or convolution over several patches merges
/// them into one token.
fn project(
    width: u64,
    mut tokens: u64,
    own: impl Fn(&str) -> bool,
    tensors: &[Tensor],
    out: &mut Vec<Operation>,
) {
    let mut widths = vec![width];
    let own = |name: &str| name.starts_with("mm.") && own(name);
    let mut found: Vec<_> = tensors.iter().enumerate().filter(|(_, tensor)| own(&tensor.name)).collect();
    // The merger is executed first, regardless of its position in the file.
    found.sort_by_key(|(_, tensor)| !tensor.name.contains("patch_merger"));
    for (index, tensor) in found {
        if is_bias(tensor, tensors) {
            continue;
        }
        let found: Vec<usize> = std::iter::once(index).chain(bias(tensor, tensors)).collect();
        let vector = Work::Vector { elements: total(found.iter().map(|one| tensors[*one].elements())) };
        let work = match tensor.dims.as_slice() {
            [] | [_] => vector,
            [rows, cols] => {
                if let (false, Some(merged)) = (widths.contains(cols), merged_patches(width, *cols)) {
                    tokens /= merged;
                }
                widths.push(*rows);
                Work::Product { rows: *rows, cols: *cols }
            }
            dims @ [rows, _, sides @ ..] => {
                tokens /= sides.iter().fold(1u64, |product, side| product.saturating_mul(*side)).max(1);
                widths.push(*rows);
                product(dims).unwrap_or(vector)
            }
        };
        out.push(operation(Role::Other, work, &found, tensors, tokens));
    }
}
