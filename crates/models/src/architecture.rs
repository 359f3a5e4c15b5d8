//! Derives the operations of a model, and the tensors that each reads. For known families, operations come
//! from the dimensions and tensors are assigned to them; otherwise each 2-D weight is one matrix product.

use std::collections::{BTreeMap, HashMap};

use super::Tensor;
use super::declared::{DeclaredLayers, LayerMemory};
use super::dimensions::{Attention, Head, ModelDims};
use super::dtype::Dtype;
use super::error::{format_count, quoted};
use super::operation::{Operation, Runs, Work};
use super::packed;
use super::tensor_names::{self, ADAPTER, Kind, Part, Place, Role, Stack};

/// Dimensions and operations of a model.
#[derive(Clone, Debug)]
pub struct Architecture {
    /// Name of the architecture in the source, or `undefined`.
    pub name: String,
    /// Source of the operations.
    pub basis: Basis,
    /// Dimensions; `None` for unknown families.
    pub model_dims: Option<ModelDims>,
    /// Maximum context length in tokens, if known.
    pub context_length: Option<u64>,
    /// True for decoders, false for encoders.
    pub generates_tokens: bool,
    /// All operations in order of execution.
    pub operations: Vec<Operation>,
    /// Inconsistencies and assumptions.
    pub warnings: Vec<String>,
}

/// Source of a list of operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Basis {
    /// Dimensions of a known family.
    Family,
    /// Tensor shapes and the declared layer properties.
    Declared,
    /// Tensor names and shapes only: each 2-D weight is one matrix product, and the cost of attention is
    /// undefined.
    Tensors,
}

impl Architecture {
    /// Derives the operations of a model of a known family. Without tensors, they come from the dimensions.
    pub fn for_family(mut model_dims: ModelDims, tensors: &[Tensor]) -> Architecture {
        let mut warnings = Vec::new();
        let mut stored = TensorIndex::new(tensors, Some(model_dims.layers.len() as u64));
        // A decoder without a matrix for the head uses the embedding.
        if model_dims.head == Head::Own
            && !tensors.is_empty()
            && !stored.places.contains_key(&(Stack::Only, None, Role::Head))
        {
            model_dims.head = Head::Tied;
        }
        let mut operations = fuse(model_dims.operations(), &stored, tensors);
        let mut missing = Vec::new();
        for operation in &mut operations {
            let position = (Stack::Only, operation.layer, operation.role);
            let mut found = stored.places.remove(&position).unwrap_or_default();
            if found.is_empty() && operation.role == Role::Head && model_dims.head == Head::Tied {
                found = stored.embedding.clone();
            }
            if !found.is_empty() {
                assign_tensors(operation, &found, tensors, &mut warnings);
            } else if !tensors.is_empty() && operation.role != Role::Attention {
                missing.push(describe(operation));
            }
        }
        // The pooler of an encoder is the only optional operation.
        operations.retain(|operation| {
            operation.role != Role::Pooler || !operation.tensors.is_empty() || tensors.is_empty()
        });
        missing.retain(|operation| operation != Role::Pooler.name());
        if let Some(first) = missing.first() {
            let missing = format_count(missing.len());
            warnings.push(format!("{missing} missing from the file (first: {first})"));
        }
        let constants: Vec<Found> = stored.take(|role| role == Role::Constant);
        operations.extend(collect(Role::Constant, Work::Unused, &constants, tensors));
        warnings.extend(stored.warnings(tensors));
        operations.extend(collect(Role::Unused, Work::Unused, &stored.unused, tensors));
        operations.extend(collect(Role::Tower, Work::Unused, &stored.tower, tensors));
        // Any family may have a classification head.
        let classifier = stored.take(|role| role == Role::Pooler);
        for (work, found) in work_of(Role::Pooler, &classifier, tensors, true, None) {
            operations.extend(collect(Role::Pooler, work, &found, tensors));
        }
        let mut rest = stored.take(|_| true);
        rest.append(&mut stored.unknown);
        rest.sort_by_key(|found| found.tensor);
        if !rest.is_empty() {
            let reason = format!("not part of the {} family", model_dims.architecture);
            warnings.push(format!(
                "{} {reason}, with undefined cost (first: {})",
                format_count(rest.len()),
                first_name(&rest, tensors)
            ));
            operations.extend(collect(Role::Other, Work::Undefined { reason }, &rest, tensors));
        }
        Architecture {
            name: model_dims.architecture.clone(),
            basis: Basis::Family,
            context_length: model_dims.context_length,
            generates_tokens: model_dims.generates_tokens(),
            model_dims: Some(model_dims),
            operations,
            warnings,
        }
    }

    /// Derives the operations of a model of any family: one per weight, by its shape, plus attention and
    /// recurrent state by the declared layer properties. Without them, the cost of attention is undefined.
    pub fn from_tensors(
        name: Option<&str>,
        tensors: &[Tensor],
        stated: Option<&DeclaredLayers>,
    ) -> Architecture {
        let mut stored = TensorIndex::new(tensors, stated.map(|stated| stated.layers.len() as u64));
        let mut operations = memory_operations(&stored, stated);
        let mut placed: Vec<(Position, Vec<Found>)> = stored.places.drain().collect();
        placed.sort_by_key(|(_, found)| found.first().map(|found| found.tensor));
        for ((stack, layer, role), found) in placed {
            let shared =
                |layer: &LayerMemory| layer.attention.is_some_and(|attention| attention.kv_heads == 0);
            let unused = matches!(role, Role::Key | Role::Value)
                && layer.and_then(|layer| stated?.layers.get(layer as usize)).is_some_and(shared);
            let used = stated.zip(layer).and_then(|(stated, layer)| stated.experts_used(layer));
            let work = match unused {
                true => vec![(Work::Unused, found)],
                false => work_of(role, &found, tensors, stated.is_some(), used),
            };
            for (work, found) in work {
                let runs = match role {
                    Role::CrossKey | Role::CrossValue => runs(Stack::Encoder, stated),
                    _ => runs(stack, stated),
                };
                let at = found.first().map_or(0, |found| found.tensor);
                operations.push((
                    at,
                    with_tensors(
                        Operation { layer, runs, ..Operation::without_parameters(role, work) },
                        &found,
                        tensors,
                    ),
                ));
            }
        }
        for found in group_with_weights(&stored.unknown, tensors) {
            let Some(first) = found.first() else { continue };
            let tensor = &tensors[first.tensor];
            let (stack, layer, rest) = tensor_names::layer(&tensor.name);
            let mut work = match *tensor.dims.as_slice() {
                [count, rows, cols] if stated.is_some() && tensor.name.contains(ADAPTER) => {
                    Work::Experts { rows, cols, count, used: 1 }
                }
                _ => work_of_shape(tensor, stated.is_some()),
            };
            let mut runs = runs(if stored.decoder { stack } else { Stack::Only }, stated);
            // The first audio convolution expands to the width of the encoder, the second halves the length.
            if let (Runs::Input { times }, [rows, _, _]) = (&mut runs, tensor.dims.as_slice()) {
                *times = times.saturating_mul(if rest.starts_with("conv1.") { 2 } else { 1 });
                work = Work::Product { rows: *rows, cols: tensor.elements() / (*rows).max(1) };
            }
            let operation = Operation { layer, runs, ..Operation::without_parameters(Role::Other, work) };
            operations.push((first.tensor, with_tensors(operation, &found, tensors)));
            operations.extend(posnet_attention(tensor).map(|one| (first.tensor, one)));
        }
        // Attention and state have no tensors and follow the query, key and value projections.
        operations.sort_by_key(|(at, operation)| (*at, operation.tensors.is_empty()));
        let times = |operation: &Operation| {
            let declared =
                stated.zip(operation.layer).and_then(|(stated, layer)| stated.layer(Stack::Only, layer));
            1 + declared.map_or(0, |layer| layer.repeats) as usize
        };
        let mut operations: Vec<Operation> =
            operations.into_iter().flat_map(|(_, one)| vec![one.clone(); times(&one)]).collect();
        let generates_tokens = stated.is_none_or(|stated| stated.generates_tokens);
        let headless = !operations.iter().any(|operation| operation.role == Role::Head);
        if stated.is_none_or(|stated| stated.has_head) && headless && !stored.embedding.is_empty() {
            operations.extend(tied_head(&stored.embedding, tensors));
        }
        // In encoder-decoder models, the head is only executed for generated tokens.
        let heads = operations.iter_mut().filter(|operation| stored.decoder && operation.role == Role::Head);
        heads.for_each(|head| head.runs = Runs::Step);
        operations.extend(collect(Role::Unused, Work::Unused, &stored.unused, tensors));
        operations.extend(collect(Role::Tower, Work::Unused, &stored.tower, tensors));

        let basis = match (stated, name) {
            (Some(stated), _) => {
                let products =
                    "operations derived from metadata and tensor shapes: one product per matrix and token";
                std::iter::once(products)
                    .chain(stated.assumed.iter().map(String::as_str))
                    .collect::<Vec<_>>()
                    .join("; ")
            }
            (None, Some(name)) => format!(
                "unknown architecture {}: each 2-D weight is counted as one matrix product",
                quoted(name)
            ),
            (None, None) => {
                "unknown architecture: each 2-D weight is counted as one matrix product".to_owned()
            }
        };
        let mut warnings = vec![basis];
        warnings.extend(stored.warnings(tensors));
        Architecture {
            name: name.unwrap_or("undefined").to_owned(),
            basis: if stated.is_some() { Basis::Declared } else { Basis::Tensors },
            model_dims: None,
            context_length: stated.and_then(|stated| stated.context_length),
            generates_tokens,
            operations,
            warnings,
        }
    }
}

fn runs(stack: Stack, stated: Option<&DeclaredLayers>) -> Runs {
    match (stack, stated.and_then(|stated| stated.encoder_length)) {
        (Stack::Encoder, Some(times)) => Runs::Input { times },
        (Stack::Encoder, None) => Runs::Prompt,
        (Stack::Decoder, _) => Runs::Step,
        (Stack::Only | Stack::Tower | Stack::MultiToken, _) => Runs::Token,
    }
}

/// Returns attention and state operations, each with the index of the tensor that it follows.
fn memory_operations(stored: &TensorIndex, stated: Option<&DeclaredLayers>) -> Vec<(usize, Operation)> {
    const SELF: &[Role] = &[Role::Query, Role::Key, Role::Value, Role::QueryKeyValue, Role::KeyValueDown];
    const CROSS: &[Role] = &[Role::CrossQuery, Role::CrossKey, Role::CrossValue];
    let mut last: BTreeMap<(Stack, u64, Role), usize> = BTreeMap::new();
    let memory =
        |stack, layer: u64| stated.and_then(|stated| stated.layer(stack, layer)).copied().unwrap_or_default();
    for ((stack, layer, role), found) in &stored.places {
        let (Some(layer), Some(at)) = (layer, found.iter().map(|found| found.tensor).max()) else { continue };
        let has = |role| stored.places.contains_key(&(*stack, Some(*layer), role));
        let LayerMemory { attention, state, .. } = memory(*stack, *layer);
        // Without attention, the projections belong to the recurrent state.
        let has_attention =
            attention.is_some() && (has(Role::AttentionOutput) || !has(Role::Recurrence)) || state.is_none();
        let role = match role {
            role if SELF.contains(role) && has_attention => Role::Attention,
            role if SELF.contains(role) => Role::State,
            role if CROSS.contains(role) => Role::CrossAttention,
            Role::Recurrence => Role::State,
            Role::Indexer => Role::IndexerScores,
            _ => continue,
        };
        let place = last.entry((*stack, *layer, role)).or_default();
        *place = at.max(*place);
    }
    let operation = |((stack, layer, role), at): ((Stack, u64, Role), usize)| {
        let LayerMemory { attention, cross, state, indexer, selected_tokens, .. } = memory(stack, layer);
        let work = match role {
            Role::State => state.map(Work::State),
            Role::CrossAttention => cross.map(Work::Attention),
            Role::IndexerScores => indexer.map(Work::Attention),
            _ => attention.map(Work::Attention),
        };
        let reason = match (stated, role) {
            (None, _) => "heads, window and cache are unknown for this model family",
            (_, Role::State) => "the size of the recurrent state is unknown",
            (
                Some(DeclaredLayers { unsupported_attention: Some(reason), .. }),
                Role::Attention | Role::IndexerScores,
            ) => reason,
            (_, Role::IndexerScores) => "the key length of the indexer is unknown",
            _ => "the number of heads is unknown",
        };
        let runs = runs(stack, stated);
        let undefined = Work::Undefined { reason: reason.to_owned() };
        let selected_tokens = selected_tokens.filter(|_| role == Role::Attention);
        let operation = Operation::without_parameters(role, work.unwrap_or(undefined));
        (at, Operation { layer: Some(layer), runs, selected_tokens, ..operation })
    };
    last.into_iter().map(operation).collect()
}

/// Returns the attention between the convolutions of an audio decoder, with a single head as wide as its queries.
fn posnet_attention(tensor: &Tensor) -> Option<Operation> {
    let number = tensor.name.strip_prefix("posnet.")?.strip_suffix(".attn_q.weight")?;
    let width = *tensor.dims.first().filter(|_| number.parse::<u64>().is_ok())?;
    Some(Operation::attention(Attention { causal: false, ..Attention::new(1, width, width) }))
}

/// Tensor index with the properties that its name implies.
#[derive(Clone, Copy, Debug)]
struct Found {
    tensor: usize,
    part: Part,
    expert: Option<u64>,
}

/// Stack, layer (`None` outside of the layers) and role.
type Position = (Stack, Option<u64>, Role);

/// Tensors of a model by position.
struct TensorIndex {
    places: HashMap<Position, Vec<Found>>,
    embedding: Vec<Found>,
    /// Tensors of layers that ordinary decoding does not execute.
    unused: Vec<Found>,
    /// Tensors of vision and audio encoders.
    tower: Vec<Found>,
    /// Tensors with unknown names.
    unknown: Vec<Found>,
    /// True for encoder-decoder models.
    decoder: bool,
}

impl TensorIndex {
    fn new(tensors: &[Tensor], layers: Option<u64>) -> TensorIndex {
        let decoder = tensors.iter().any(|tensor| tensor_names::layer(&tensor.name).0 == Stack::Decoder);
        let mut stored = TensorIndex {
            places: HashMap::new(),
            embedding: Vec::new(),
            unused: Vec::new(),
            tower: Vec::new(),
            unknown: Vec::new(),
            decoder,
        };
        let language = tensors.iter().any(|tensor| tensor_names::layer(&tensor.name).0 != Stack::Tower);
        for (index, tensor) in tensors.iter().enumerate() {
            // Scales have the position of their weights.
            let owner = tensor.companion_of.and_then(|owner| tensors.get(owner));
            let name = &owner.unwrap_or(tensor).name;
            let resolve = |part: Part| match part {
                _ if owner.is_some() => Part::Scale,
                Part::Packed if !packed::is_word(tensor.dtype) => Part::Weight,
                part => part,
            };
            let unknown = Found { tensor: index, part: resolve(Part::Weight), expert: None };
            let (stack, layer, _) = tensor_names::layer(name);
            if language && stack == Stack::Tower {
                stored.tower.push(unknown);
                continue;
            }
            if stack == Stack::MultiToken {
                stored.unused.push(unknown);
                continue;
            }
            let past = |layer: u64| layers.is_some_and(|layers| layer >= layers);
            if layer.is_some_and(past) && !(decoder && stack == Stack::Encoder) {
                stored.unused.push(unknown);
                continue;
            }
            let Some(Place { stack, layer, role, part, expert }) = tensor_names::place(name) else {
                stored.unknown.push(unknown);
                continue;
            };
            let stack = if decoder { stack } else { Stack::Only };
            let found = Found { tensor: index, part: resolve(part), expert };
            if (layer, role) == (None, Role::Embedding) {
                stored.embedding.push(found);
            }
            stored.places.entry((stack, layer, role)).or_default().push(found);
        }
        stored
    }

    /// Reports tensors that are not executed for text tokens.
    fn warnings(&self, tensors: &[Tensor]) -> Vec<String> {
        let groups = [
            (&self.unused, "of layers that ordinary decoding does not execute"),
            (&self.tower, "of vision or audio encoders, not executed for text"),
        ];
        let warning = |(found, group): (&Vec<Found>, &str)| {
            let first = found.first()?;
            let (count, name) = (format_count(found.len()), quoted(&tensors[first.tensor].name));
            Some(format!("{count} {group} (first: {name})"))
        };
        groups.into_iter().filter_map(warning).collect()
    }

    /// Removes and returns the tensors of the wanted roles.
    fn take(&mut self, wanted: impl Fn(Role) -> bool) -> Vec<Found> {
        let mut out = Vec::new();
        self.places.retain(|(_, _, role), found| {
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

/// Matrices that some files store fused.
const FUSED: &[(Role, &[Role])] = &[
    (Role::QueryKeyValue, &[Role::Query, Role::Key, Role::Value]),
    (Role::GateUp, &[Role::Gate, Role::Up]),
    (Role::ExpertGateUp, &[Role::ExpertGate, Role::ExpertUp]),
];

/// Replaces operations whose matrices are stored fused by a single operation.
fn fuse(operations: Vec<Operation>, stored: &TensorIndex, tensors: &[Tensor]) -> Vec<Operation> {
    let mut out: Vec<Operation> = Vec::with_capacity(operations.len());
    for operation in operations {
        let fused = FUSED.iter().find(|(whole, parts)| {
            parts.contains(&operation.role)
                && stored.places.contains_key(&(Stack::Only, operation.layer, *whole))
        });
        let whole = match fused {
            Some((whole, _)) => *whole,
            None if up_contains_gate(&operation, stored, tensors) => Role::Up,
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

/// Returns true if the up projection also contains the gate, as in GGUF files of phi3.
fn up_contains_gate(operation: &Operation, stored: &TensorIndex, tensors: &[Tensor]) -> bool {
    let Work::Product { rows, .. } = operation.work else { return false };
    let weight = |role| {
        let found = stored.places.get(&(Stack::Only, operation.layer, role))?;
        found.iter().find(|found| found.part == Part::Weight)
    };
    matches!(operation.role, Role::Gate | Role::Up)
        && weight(Role::Gate).is_none()
        && weight(Role::Up).is_some_and(|up| tensors[up.tensor].dims.first() == Some(&(2 * rows)))
}

/// Assigns tensors to an operation. The stored shape takes precedence over the dimensions.
fn assign_tensors(
    operation: &mut Operation,
    found: &[Found],
    tensors: &[Tensor],
    warnings: &mut Vec<String>,
) {
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
        // Equal numbers of elements may hide another number of experts.
        let others = matches!(operation.work, Work::Experts { .. })
            && matches!(*first.dims.as_slice(), [stored, _, _] if stored != count);
        if elements != expected || others {
            warnings.push(format!(
                "{}: expected {rows} x {cols}{}, but {} is {}; using the stored shape",
                describe(operation),
                if count > 1 { format!(" x {count}") } else { String::new() },
                quoted(&first.name),
                first.shape()
            ));
            if operation.parameters > 0 {
                let biases = u128::from(operation.parameters).saturating_sub(expected);
                operation.parameters = u64::try_from(elements + biases).unwrap_or(u64::MAX);
            }
            match (&mut operation.work, first.dims.as_slice()) {
                (Work::Lookup { rows, cols } | Work::Product { rows, cols }, [r, c]) => {
                    (*rows, *cols) = (*r, *c)
                }
                (Work::Experts { rows, cols, count, used }, [c, r, k]) if *used <= *c => {
                    (*count, *rows, *cols) = (*c, *r, *k)
                }
                (work, _) => {
                    let reason = "the tensor shape contradicts the dimensions".to_owned();
                    *work = Work::Undefined { reason };
                }
            }
        }
    }
    operation.tensors = indexes(found);
}

fn indexes(found: &[Found]) -> Vec<usize> {
    found.iter().map(|found| found.tensor).collect()
}

/// Combines tensors into one operation; `None` without tensors.
fn collect(role: Role, work: Work, found: &[Found], tensors: &[Tensor]) -> Option<Operation> {
    if found.is_empty() {
        return None;
    }
    Some(with_tensors(Operation::without_parameters(role, work), found, tensors))
}

/// Sets the tensors of an operation and counts their parameters.
fn with_tensors(mut operation: Operation, found: &[Found], tensors: &[Tensor]) -> Operation {
    operation.tensors = indexes(found);
    operation.parameters = elements(found, tensors);
    operation
}

fn tied_head(embedding: &[Found], tensors: &[Tensor]) -> Option<Operation> {
    let [rows, cols] = *tensors[embedding.first()?.tensor].dims.as_slice() else { return None };
    let mut operation = Operation::without_parameters(Role::Head, Work::Product { rows, cols });
    operation.tensors = indexes(embedding);
    Some(operation)
}

/// Determines the work of tensors with the same position by their shapes.
fn work_of(
    role: Role,
    found: &[Found],
    tensors: &[Tensor],
    over_tokens: bool,
    used: Option<u64>,
) -> Vec<(Work, Vec<Found>)> {
    let weights: Vec<&Found> = found.iter().filter(|found| found.part == Part::Weight).collect();
    let all = |work| vec![(work, found.to_vec())];
    let each =
        |work: &dyn Fn(&Found) -> Work| found.iter().map(|found| (work(found), vec![*found])).collect();
    match role {
        Role::Constant | Role::Unused => all(Work::Unused),
        Role::Norm => all(Work::Vector { elements: elements(found, tensors) }),
        Role::ExpertGate | Role::ExpertUp | Role::ExpertGateUp | Role::ExpertDown => {
            let dims = |found: &Found| tensors[found.tensor].dims.as_slice();
            let shape = match weights.as_slice() {
                [one] if one.expert.is_none() => match *dims(one) {
                    [count, rows, cols] => Some((count, rows, cols)),
                    _ => None,
                },
                // Two groups of experts in separate tensors.
                [first, ..] if first.expert.is_none() => {
                    return weights
                        .iter()
                        .flat_map(|one| work_of(role, &[**one], tensors, over_tokens, used))
                        .collect();
                }
                many @ [first, ..] => match *dims(first) {
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
                    Work::Undefined { reason: "the number of experts per token is unknown".to_owned() }
                }
                (None, _) => Work::Undefined { reason: "unexpected tensor shape for experts".to_owned() },
            })
        }
        _ => match weights.as_slice() {
            [one] => {
                let tensor = &tensors[one.tensor];
                all(match (role.kind(), tensor.dims.as_slice()) {
                    (Kind::Embedding, [rows, cols]) => Work::Lookup { rows: *rows, cols: *cols },
                    _ => work_of_shape(tensor, over_tokens),
                })
            }
            [] if found.iter().all(|found| found.part == Part::Bias) => {
                all(Work::Vector { elements: elements(found, tensors) })
            }
            [] => all(Work::Undefined { reason: "unknown shape of packed weights".to_owned() }),
            // Several matrices at the same position are separate operations.
            _ => each(&|found| work_of_shape(&tensors[found.tensor], over_tokens)),
        },
    }
}

/// Groups tensors with unknown names: biases with their weights, scales with theirs.
fn group_with_weights(unknown: &[Found], tensors: &[Tensor]) -> Vec<Vec<Found>> {
    let name = |found: &Found| tensors[found.tensor].name.as_str();
    let rank = |found: &Found| tensors[found.tensor].dims.len();
    let weights = unknown.iter().filter(|found| rank(found) > 1);
    let owners: HashMap<&str, usize> =
        weights.filter_map(|found| Some((name(found).strip_suffix(".weight")?, found.tensor))).collect();
    let owner = |found: &Found| {
        let bias = || name(found).strip_suffix(".bias").filter(|_| rank(found) == 1);
        tensors[found.tensor].companion_of.or_else(|| owners.get(bias()?).copied())
    };
    let mut followers: HashMap<usize, Vec<Found>> = HashMap::new();
    for found in unknown {
        if let Some(owner) = owner(found) {
            followers.entry(owner).or_default().push(*found);
        }
    }
    unknown
        .iter()
        .filter(|found| owner(found).is_none())
        .map(|found| {
            std::iter::once(*found).chain(followers.remove(&found.tensor).unwrap_or_default()).collect()
        })
        .collect()
}

/// Determines the work of a weight by its shape. In models over tokens, more than two dimensions are
/// stacked matrices; in other models they are convolution kernels.
fn work_of_shape(tensor: &Tensor, over_tokens: bool) -> Work {
    match tensor.dims.as_slice() {
        [_] if matches!(tensor.dtype, Dtype::Nf4 | Dtype::Fp4) => {
            Work::Undefined { reason: "unreadable shape of packed weights".to_owned() }
        }
        [] | [_] => Work::Vector { elements: tensor.elements() },
        [rows, cols] => Work::Product { rows: *rows, cols: *cols },
        [.., cols] if over_tokens && *cols > 0 => {
            Work::Product { rows: tensor.elements() / cols, cols: *cols }
        }
        [outputs, inputs, kernel @ ..] if kernel.len() <= 3 && !matches!(tensor.dtype, Dtype::Unknown(_)) => {
            Work::Convolution { outputs: *outputs, inputs: *inputs, kernel: kernel.to_vec() }
        }
        _ => Work::Undefined { reason: format!("unsupported tensor with {} dimensions", tensor.dims.len()) },
    }
}

fn elements(found: &[Found], tensors: &[Tensor]) -> u64 {
    super::total(found.iter().map(|found| tensors[found.tensor].parameters()))
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
