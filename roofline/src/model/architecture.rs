//! From dimensions and tensors to the list of operations, each with the tensors it reads.
//! Where the family is known, the operations come from its dimensions and the tensors are fitted to
//! them; otherwise each 2-D weight counts as one matrix product, and the result says so.

use std::collections::{BTreeSet, HashMap};

use super::Tensor;
use super::dtype::Dtype;
use super::fault::quoted;
use super::hyper::{Head, Hyper};
use super::names::{self, Part, Place, Role};
use super::operation::{Operation, Work};

/// How a model computes.
#[derive(Clone, Debug)]
pub struct Architecture {
    /// The name the source gives it, or `undefined`.
    pub name: String,
    /// Where the operations come from.
    pub basis: Basis,
    /// The dimensions, where the family is known.
    pub hyper: Option<Hyper>,
    /// All operations, in the order a token meets them.
    pub operations: Vec<Operation>,
    /// What does not fit together.
    pub warnings: Vec<String>,
}

/// Where a list of operations comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Basis {
    /// The dimensions of a known family.
    Family,
    /// Names and shapes of the tensors alone: each 2-D weight counts as one matrix product, and what
    /// attention costs is undefined.
    Tensors,
}

impl Architecture {
    /// The operations of a model of a known family.
    pub fn of_family(mut hyper: Hyper, tensors: &[Tensor]) -> Architecture {
        let mut warnings = Vec::new();
        let mut stored = Stored::new(tensors, Some(hyper.layers.len() as u64));
        // Without a head of its own a decoder can only use its embedding.
        if hyper.head == Head::Own && !tensors.is_empty() && !stored.places.contains_key(&(None, Role::Head))
        {
            hyper.head = Head::Tied;
        }
        let mut operations = fuse(hyper.operations(), &stored, tensors);
        let mut missing = Vec::new();
        for operation in &mut operations {
            let key = (operation.layer, operation.role);
            let mut found = stored.places.remove(&key).unwrap_or_default();
            if found.is_empty() && operation.role == Role::Head && hyper.head == Head::Tied {
                found = stored.embedding.clone();
            }
            if !found.is_empty() {
                fit(operation, &found, tensors, &mut warnings);
            } else if !tensors.is_empty() && operation.role != Role::Attention {
                missing.push(describe(operation));
            }
        }
        // Encoders are stored with or without their pooler, and nothing else is optional.
        operations.retain(|operation| {
            operation.role != Role::Pooler || !operation.tensors.is_empty() || tensors.is_empty()
        });
        missing.retain(|what| what != Role::Pooler.name());
        if let Some(first) = missing.first() {
            warnings.push(format!(
                "{} operation(s) have no tensor in the file, the first {first}",
                missing.len()
            ));
        }
        let constants: Vec<Found> = stored.take(|role| role == Role::Constant);
        operations.extend(collect(Role::Constant, Work::Unused, &constants, tensors));
        let unused = std::mem::take(&mut stored.unused);
        if !unused.is_empty() {
            let what = "belong to layers that ordinary decoding does not run";
            warnings.push(format!(
                "{} tensor(s) {what}, the first {}",
                unused.len(),
                first_name(&unused, tensors)
            ));
        }
        operations.extend(collect(Role::Unused, Work::Unused, &unused, tensors));
        let mut rest = stored.take(|_| true);
        rest.append(&mut stored.nameless);
        rest.sort_by_key(|found| found.tensor);
        if !rest.is_empty() {
            let reason = format!("not part of the {} family", hyper.architecture);
            warnings.push(format!(
                "{} tensor(s) are {reason} and stay undefined, the first {}",
                rest.len(),
                first_name(&rest, tensors)
            ));
            operations.extend(collect(Role::Other, Work::Undefined { reason }, &rest, tensors));
        }
        let name = hyper.architecture.clone();
        Architecture { name, basis: Basis::Family, hyper: Some(hyper), operations, warnings }
    }

    /// The operations of a model of an unknown family: one for each weight. `experts_used` is the number
    /// of experts a token uses, where the file says it.
    pub fn of_tensors(name: Option<&str>, tensors: &[Tensor], experts_used: Option<u64>) -> Architecture {
        let mut stored = Stored::new(tensors, None);
        let mut operations = Vec::new();
        let mut attention = BTreeSet::new();
        let mut placed: Vec<(Spot, Vec<Found>)> = stored.places.drain().collect();
        placed.sort_by_key(|(_, found)| found.first().map(|found| found.tensor));
        for ((layer, role), found) in placed {
            if let (Some(layer), Role::Key | Role::QueryKeyValue | Role::KeyValueDown) = (layer, role) {
                attention.insert(layer);
            }
            let work = work_of(role, &found, tensors, experts_used);
            for (work, found) in work {
                let mut operation = Operation { layer, ..Operation::of(role, work) };
                read(&mut operation, &found, tensors);
                operation.parameters = elements(&found, tensors);
                operations.push(operation);
            }
        }
        for found in with_biases(&stored.nameless, tensors) {
            let Some(tensor) = found.first().map(|first| &tensors[first.tensor]) else { continue };
            let (layer, _) = names::layer(&tensor.name);
            let mut operation = Operation { layer, ..Operation::of(Role::Other, plain(tensor)) };
            read(&mut operation, &found, tensors);
            operation.parameters = elements(&found, tensors);
            operations.push(operation);
        }
        operations.sort_by_key(|operation| operation.tensors.first().copied());
        let reason = "the family is unknown: heads, window and cache can't be told from the tensors";
        for layer in attention {
            operations
                .push(Operation { layer: Some(layer), ..Operation::undefined(Role::Attention, reason) });
        }
        if !stored.embedding.is_empty() && !operations.iter().any(|operation| operation.role == Role::Head) {
            operations.extend(tied_head(&stored.embedding, tensors));
        }
        let unknown = match name {
            Some(name) => format!("architecture {} is not one of the known families", quoted(name)),
            None => "the architecture is not known".to_owned(),
        };
        let warnings = vec![format!("{unknown}: each 2-D weight counts as one matrix product")];
        let name = name.unwrap_or("undefined");
        Architecture { name: name.to_owned(), basis: Basis::Tensors, hyper: None, operations, warnings }
    }
}

/// A tensor and what its name says about it.
#[derive(Clone, Copy, Debug)]
struct Found {
    tensor: usize,
    part: Part,
    expert: Option<u64>,
}

/// A layer, none outside the layers, and a role in it.
type Spot = (Option<u64>, Role);

/// The tensors of a model by their place.
struct Stored {
    places: HashMap<Spot, Vec<Found>>,
    embedding: Vec<Found>,
    /// Tensors of layers past the last.
    unused: Vec<Found>,
    /// Tensors whose names say nothing.
    nameless: Vec<Found>,
}

impl Stored {
    fn new(tensors: &[Tensor], layers: Option<u64>) -> Stored {
        let mut stored = Stored {
            places: HashMap::new(),
            embedding: Vec::new(),
            unused: Vec::new(),
            nameless: Vec::new(),
        };
        for (index, tensor) in tensors.iter().enumerate() {
            match names::place(&tensor.name) {
                None => stored.nameless.push(Found { tensor: index, part: Part::Weight, expert: None }),
                Some(Place { layer, role, part, expert }) => {
                    let found = Found { tensor: index, part, expert };
                    match (layer, layers) {
                        (Some(layer), Some(layers)) if layer >= layers => stored.unused.push(found),
                        _ => {
                            if (layer, role) == (None, Role::Embedding) {
                                stored.embedding.push(found);
                            }
                            stored.places.entry((layer, role)).or_default().push(found);
                        }
                    }
                }
            }
        }
        stored
    }

    /// Removes the tensors of these roles.
    fn take(&mut self, wanted: impl Fn(Role) -> bool) -> Vec<Found> {
        let mut out = Vec::new();
        self.places.retain(|(_, role), found| {
            let take = wanted(*role);
            if take {
                out.append(found);
            }
            !take
        });
        out.sort_by_key(|found| found.tensor);
        out
    }
}

/// Matrices that some files store as one.
const FUSED: &[(Role, &[Role])] = &[
    (Role::QueryKeyValue, &[Role::Query, Role::Key, Role::Value]),
    (Role::GateUp, &[Role::Gate, Role::Up]),
    (Role::ExpertGateUp, &[Role::ExpertGate, Role::ExpertUp]),
];

/// Replaces operations by the one whose tensor holds all their matrices.
fn fuse(operations: Vec<Operation>, stored: &Stored, tensors: &[Tensor]) -> Vec<Operation> {
    let mut out: Vec<Operation> = Vec::with_capacity(operations.len());
    for operation in operations {
        let fused = FUSED.iter().find(|(whole, parts)| {
            parts.contains(&operation.role) && stored.places.contains_key(&(operation.layer, *whole))
        });
        let whole = match fused {
            Some((whole, _)) => *whole,
            None if double_up(&operation, stored, tensors) => Role::Up,
            None => {
                out.push(operation);
                continue;
            }
        };
        match out.last_mut() {
            Some(last) if (last.layer, last.role) == (operation.layer, whole) => {
                last.parameters += operation.parameters;
                if let (
                    Work::Product { rows, .. } | Work::Experts { rows, .. },
                    Work::Product { rows: more, .. } | Work::Experts { rows: more, .. },
                ) = (&mut last.work, &operation.work)
                {
                    *rows += more;
                }
            }
            _ => out.push(Operation { role: whole, ..operation }),
        }
    }
    out
}

/// Whether the file keeps this gate in the upper half of the up projection, as GGUF files of phi3 do.
fn double_up(operation: &Operation, stored: &Stored, tensors: &[Tensor]) -> bool {
    let Work::Product { rows, .. } = operation.work else { return false };
    let weight = |role| {
        let found = stored.places.get(&(operation.layer, role))?;
        found.iter().find(|found| found.part == Part::Weight)
    };
    matches!(operation.role, Role::Gate | Role::Up)
        && weight(Role::Gate).is_none()
        && weight(Role::Up).is_some_and(|up| tensors[up.tensor].dims.first() == Some(&(2 * rows)))
}

/// Gives an operation its tensors, and takes the stored shape where it differs from the stated one.
fn fit(operation: &mut Operation, found: &[Found], tensors: &[Tensor], warnings: &mut Vec<String>) {
    let weights: Vec<&Tensor> =
        found.iter().filter(|found| found.part == Part::Weight).map(|found| &tensors[found.tensor]).collect();
    let stated = match operation.work {
        Work::Lookup { rows, cols } | Work::Product { rows, cols } => Some((rows, cols, 1)),
        Work::Experts { rows, cols, count, .. } => Some((rows, cols, count)),
        _ => None,
    };
    if let (Some((rows, cols, count)), [first, ..]) = (stated, weights.as_slice()) {
        let elements: u128 = weights.iter().map(|tensor| u128::from(tensor.elements())).sum();
        let expected = u128::from(rows) * u128::from(cols) * u128::from(count);
        if elements != expected {
            warnings.push(format!(
                "{}: the dimensions say {rows} x {cols}{}, but {} is {}",
                describe(operation),
                if count > 1 { format!(" x {count}") } else { String::new() },
                quoted(&first.name),
                first.shape()
            ));
            match (&mut operation.work, first.dims.as_slice()) {
                (Work::Lookup { rows, cols } | Work::Product { rows, cols }, [r, c]) => {
                    (*rows, *cols) = (*r, *c)
                }
                (work, _) => {
                    let reason = "its tensors do not have the shape the dimensions give".to_owned();
                    *work = Work::Undefined { reason };
                }
            }
        }
    }
    read(operation, found, tensors);
}

/// Notes the tensors an operation reads and how many bytes of them for one token.
fn read(operation: &mut Operation, found: &[Found], tensors: &[Tensor]) {
    operation.tensors = found.iter().map(|found| found.tensor).collect();
    let sizes: Option<Vec<u64>> = operation.tensors.iter().map(|index| tensors[*index].bytes).collect();
    operation.bytes = sizes.as_ref().map(|sizes| super::total(sizes.iter().copied()));
    let largest = operation.tensors.iter().max_by_key(|index| tensors[**index].bytes);
    operation.dtype = largest.map(|index| tensors[*index].dtype);
    operation.streamed = match &operation.work {
        Work::Lookup { rows, .. } => operation.bytes.map(|bytes| bytes / (*rows).max(1)),
        Work::Experts { count, used, .. } => operation.bytes.and_then(|bytes| {
            u64::try_from(u128::from(bytes) * u128::from(*used) / u128::from((*count).max(1))).ok()
        }),
        Work::Unused => Some(0),
        Work::Undefined { .. } if operation.role != Role::Pooler => None,
        _ => operation.bytes,
    };
}

/// All these tensors as one operation; none without tensors.
fn collect(role: Role, work: Work, found: &[Found], tensors: &[Tensor]) -> Option<Operation> {
    if found.is_empty() {
        return None;
    }
    let mut operation = Operation::of(role, work);
    read(&mut operation, found, tensors);
    operation.parameters = elements(found, tensors);
    Some(operation)
}

fn tied_head(embedding: &[Found], tensors: &[Tensor]) -> Option<Operation> {
    let [rows, cols] = *tensors[embedding.first()?.tensor].dims.as_slice() else { return None };
    let mut operation = Operation::of(Role::Head, Work::Product { rows, cols });
    read(&mut operation, embedding, tensors);
    Some(operation)
}

/// The work of tensors with the same place, when nothing but their shapes is known.
fn work_of(role: Role, found: &[Found], tensors: &[Tensor], used: Option<u64>) -> Vec<(Work, Vec<Found>)> {
    let weights: Vec<&Found> = found.iter().filter(|found| found.part == Part::Weight).collect();
    let all = |work| vec![(work, found.to_vec())];
    match role {
        Role::Constant => all(Work::Unused),
        Role::Norm => all(Work::Vector { elements: elements(found, tensors) }),
        Role::ExpertGate | Role::ExpertUp | Role::ExpertGateUp | Role::ExpertDown => {
            let shape = match weights.as_slice() {
                [one] if one.expert.is_none() => match *tensors[one.tensor].dims.as_slice() {
                    [count, rows, cols] => Some((count, rows, cols)),
                    _ => None,
                },
                many @ [first, ..] => match *tensors[first.tensor].dims.as_slice() {
                    [rows, cols] => Some((many.len() as u64, rows, cols)),
                    _ => None,
                },
                [] => None,
            };
            all(match (shape, used) {
                (Some((count, rows, cols)), Some(used)) if used <= count => {
                    Work::Experts { rows, cols, count, used }
                }
                (Some(_), _) => {
                    Work::Undefined { reason: "how many experts a token uses is unknown".to_owned() }
                }
                (None, _) => Work::Undefined { reason: "the shape is not that of experts".to_owned() },
            })
        }
        _ => match weights.as_slice() {
            [one] => {
                let tensor = &tensors[one.tensor];
                all(match (role, tensor.dims.as_slice()) {
                    (Role::Embedding | Role::PositionEmbedding | Role::TypeEmbedding, [rows, cols]) => {
                        Work::Lookup { rows: *rows, cols: *cols }
                    }
                    _ => plain(tensor),
                })
            }
            [] => all(Work::Undefined {
                reason: "its weights are packed and their shape is unknown".to_owned(),
            }),
            // One name twice in a model: a text and a vision part, say. Each stands for itself.
            _ => found.iter().map(|found| (plain(&tensors[found.tensor]), vec![*found])).collect(),
        },
    }
}

/// Tensors whose names say nothing: each for itself, but the bias of a matrix or of kernels after them.
fn with_biases(nameless: &[Found], tensors: &[Tensor]) -> Vec<Vec<Found>> {
    let name = |found: &Found| tensors[found.tensor].name.as_str();
    let rank = |found: &Found| tensors[found.tensor].dims.len();
    let weights = nameless.iter().filter(|found| rank(found) > 1);
    let owners: HashMap<&str, usize> =
        weights.filter_map(|found| Some((name(found).strip_suffix(".weight")?, found.tensor))).collect();
    let owner = |found: &Found| {
        let stem = name(found).strip_suffix(".bias").filter(|_| rank(found) == 1)?;
        owners.get(stem).copied()
    };
    let mut biases: HashMap<usize, Found> =
        nameless.iter().filter_map(|found| Some((owner(found)?, *found))).collect();
    nameless
        .iter()
        .filter(|found| owner(found).is_none())
        .map(|found| std::iter::once(*found).chain(biases.remove(&found.tensor)).collect())
        .collect()
}

/// The work of a weight of which only the shape is known.
fn plain(tensor: &Tensor) -> Work {
    match tensor.dims.as_slice() {
        [] | [_] => Work::Vector { elements: tensor.elements() },
        [rows, cols] => Work::Product { rows: *rows, cols: *cols },
        [outputs, inputs, kernel @ ..] if kernel.len() <= 3 && !matches!(tensor.dtype, Dtype::Unknown(_)) => {
            Work::Convolution { outputs: *outputs, inputs: *inputs, kernel: kernel.to_vec() }
        }
        _ => Work::Undefined { reason: format!("{} dimensions", tensor.dims.len()) },
    }
}

fn elements(found: &[Found], tensors: &[Tensor]) -> u64 {
    super::total(found.iter().map(|found| tensors[found.tensor].elements()))
}

fn describe(operation: &Operation) -> String {
    match operation.layer {
        Some(layer) => format!("{} of layer {layer}", operation.role.name()),
        None => operation.role.name().to_owned(),
    }
}

fn first_name(found: &[Found], tensors: &[Tensor]) -> String {
    found.first().map(|found| quoted(&tensors[found.tensor].name)).unwrap_or_default()
}
