//! What reads images or sound and stands in a file of its own beside a language model (`mmproj`). It makes no tokens of text:
//! what it costs is what one image costs, of the size that the file states, or one stretch of sound.

use std::collections::BTreeSet;

use super::architecture::{Architecture, Basis};
use super::fault::Fault;
use super::gguf::Metadata;
use super::hyper::Attention;
use super::names::{self, Role};
use super::operation::{Operation, Runs, Work};
use super::{Tensor, total};

/// The name of `general.architecture` for all of them.
pub(super) const NAME: &str = "clip";

/// Pixels at the side of a window, in towers that have windows.
const WINDOW: u64 = 112;

/// One tower of a file: of images, or of sound.
struct Tower {
    /// How its names begin: `v.` or `a.`.
    prefix: &'static str,
    /// Positions that go through its layers.
    positions: u64,
    /// Those that come out of them and go on.
    patches: u64,
    width: u64,
    heads: u64,
    /// All but the last of so many layers see so many positions.
    window: Option<(u64, u64)>,
}

/// What the tensors of a file of towers cost for an image or a stretch of sound.
pub fn architecture(metadata: &Metadata, tensors: &[Tensor]) -> Result<Architecture, Fault> {
    let mut towers = Vec::new();
    let mut told = Vec::new();
    let find = |name: &str| tensors.iter().find(|tensor| tensor.name == name);
    let both = |key: &str, kind: &str| {
        let need = format!("clip.{kind}.{key}");
        metadata.count(&need)?.filter(|number| *number > 0).ok_or_else(|| Fault::field(need, "is missing"))
    };
    if tensors.iter().any(|tensor| tensor.name.starts_with("v.")) {
        let (image, patch) = (both("image_size", "vision")?, both("patch_size", "vision")?);
        let patches = (image / patch).saturating_mul(image / patch);
        let period = metadata.count("clip.vision.n_wa_pattern")?.filter(|period| *period > 0);
        towers.push(Tower {
            prefix: "v.",
            positions: patches.saturating_add(u64::from(find("v.class_embd").is_some())),
            patches,
            width: both("embedding_length", "vision")?,
            heads: both("attention.head_count", "vision")?,
            window: period.map(|period| (period, (WINDOW / patch).saturating_mul(WINDOW / patch).max(1))),
        });
        told.push(format!("an image of {image} x {image} pixels is {patches} patches"));
    }
    if tensors.iter().any(|tensor| tensor.name.starts_with("a.")) {
        let frames = find("a.position_embd.weight").and_then(|table| table.dims.first().copied());
        let frames = frames.unwrap_or(1500);
        towers.push(Tower {
            prefix: "a.",
            positions: frames,
            patches: frames,
            width: both("embedding_length", "audio")?,
            heads: both("attention.head_count", "audio")?,
            window: None,
        });
        told.push(format!("a stretch of sound is {frames} frames"));
    }
    let projector = |kind: &str| {
        ["clip.projector_type", &format!("clip.{kind}.projector_type")]
            .iter()
            .find_map(|key| metadata.text(key).ok().flatten())
    };
    let mut operations = Vec::new();
    for tower in &towers {
        tower.operations(tensors, &mut operations);
        // The mean of 4 x 4 patches, or of two frames.
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
        let reason = "how often it runs for an image is not in the file".to_owned();
        operations.push(of(Role::Other, Work::Undefined { reason }, &[index], tensors, 1));
    }
    Ok(Architecture {
        name: NAME.to_owned(),
        basis: Basis::Stated,
        hyper: None,
        context_length: None,
        makes_tokens: false,
        operations,
        warnings: told,
    })
}

/// An operation that runs so often for an image.
fn of(role: Role, work: Work, found: &[usize], tensors: &[Tensor], times: u64) -> Operation {
    Operation {
        runs: Runs::Input { times: times.max(1) },
        parameters: total(found.iter().map(|index| tensors[*index].elements())),
        tensors: found.to_vec(),
        ..Operation::of(role, work)
    }
}

/// A tensor's bias, if it has one.
fn bias(tensor: &Tensor, tensors: &[Tensor]) -> Option<usize> {
    let bias = format!("{}.bias", tensor.name.strip_suffix(".weight")?);
    tensors.iter().position(|tensor| tensor.name == bias)
}

/// Whether a bias goes with the weight of the same name.
fn is_bias(tensor: &Tensor, tensors: &[Tensor]) -> bool {
    let stem = tensor.name.strip_suffix(".bias");
    stem.is_some_and(|stem| tensors.iter().any(|other| other.name.strip_suffix(".weight") == Some(stem)))
}

/// A matrix of any rank, as rows of outputs.
fn product(dims: &[u64]) -> Option<Work> {
    let (rows, rest) = dims.split_first()?;
    let cols = rest.iter().try_fold(1u64, |product, dim| product.checked_mul(*dim))?;
    (!rest.is_empty()).then_some(Work::Product { rows: *rows, cols })
}

/// How many patches go into one input of a matrix beside a tower of this width; none for one.
fn several(width: u64, inputs: u64) -> Option<u64> {
    [4, 8, 9, 16, 64].into_iter().find(|several| width.checked_mul(*several) == Some(inputs))
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
            let (_, layer, rest) = names::layer(&tensor.name);
            let found: Vec<usize> = std::iter::once(index).chain(bias(tensor, tensors)).collect();
            let role = names::place(&tensor.name).map_or(Role::Other, |place| place.role);
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
                // Sound is brought to half its length by the second of two convolutions.
                dims if rest.starts_with("conv1d.") => {
                    let twice = if rest.starts_with("conv1d.1") { 2 } else { 1 };
                    (role, product(dims).unwrap_or(vector), self.patches.saturating_mul(twice))
                }
                // What hands the result of a layer on to the language model works on patches that were put together.
                [rows, cols] if rest.starts_with("deepstack.") => {
                    let tokens = self.patches / several(self.width, *cols).unwrap_or(1);
                    (role, Work::Product { rows: *rows, cols: *cols }, tokens)
                }
                [rows, cols] => (role, Work::Product { rows: *rows, cols: *cols }, self.positions),
                [] | [_] => (role, vector, self.positions),
                _ => continue,
            };
            out.push(Operation { layer, ..of(role, work, &found, tensors, times) });
        }
        let head = self.width / self.heads.max(1);
        for layer in attends {
            let window = self.window.filter(|(period, _)| !(layer + 1).is_multiple_of(*period));
            let window = window.map(|(_, size)| size);
            let attention = Attention::new(self.heads, head, head);
            let work = Work::Attention(Attention { window, causal: false, ..attention });
            let operation =
                Operation { layer: Some(layer), ..of(Role::Attention, work, &[], tensors, self.positions) };
            // Behind the last tensor of its layer's queries, keys and values.
            let at = out.iter().rposition(|one| {
                one.layer == Some(layer)
                    && matches!(one.role, Role::Query | Role::Key | Role::Value | Role::QueryKeyValue)
            });
            out.insert(at.map_or(out.len(), |at| at + 1), operation);
        }
    }
}

/// The way from a tower of this width to the language model. A matrix that takes the numbers of several patches makes one token
/// of them, and so does a convolution.
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
    // Wherever it lies in the file.
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
                if let (false, Some(several)) = (widths.contains(cols), several(width, *cols)) {
                    tokens /= several;
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
        out.push(of(Role::Other, work, &found, tensors, tokens));
    }
}
