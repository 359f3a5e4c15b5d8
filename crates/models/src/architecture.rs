//! From dimensions and tensors to the list of operations, each with the tensors it reads.
//! Where the family is known, the operations come from its dimensions and the tensors are fitted to
//! them; otherwise each 2-D weight counts as one matrix product, and the result says so.

use std::collections::{BTreeMap, HashMap};

use super::Tensor;
use super::dtype::Dtype;
use super::fault::quoted;
use super::hyper::{Attention, Head, Hyper};
use super::names::{self, ADAPTER, Kind, Part, Place, Role, Stack};
use super::operation::{Operation, Runs, Work};
use super::packed;
use super::stated::{LooksBack, Stated};

/// How a model computes.
#[derive(Clone, Debug)]
pub struct Architecture {
    /// The name the source gives it, or `undefined`.
    pub name: String,
    /// Where the operations come from.
    pub basis: Basis,
    /// The dimensions, where the family is known.
    pub hyper: Option<Hyper>,
    /// The longest context the model was made for, where the source says it.
    pub context_length: Option<u64>,
    /// Whether tokens are made one after the other; an encoder makes none.
    pub makes_tokens: bool,
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
    /// Shapes of the tensors, and what the file states of how the layers look back.
    Stated,
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
        if hyper.head == Head::Own
            && !tensors.is_empty()
            && !stored.places.contains_key(&(Stack::Only, None, Role::Head))
        {
            hyper.head = Head::Tied;
        }
        let mut operations = fuse(hyper.operations(), &stored, tensors);
        let mut missing = Vec::new();
        for operation in &mut operations {
            let spot = (Stack::Only, operation.layer, operation.role);
            let mut found = stored.places.remove(&spot).unwrap_or_default();
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
        warnings.extend(stored.told(tensors));
        operations.extend(collect(Role::Unused, Work::Unused, &stored.unused, tensors));
        operations.extend(collect(Role::Tower, Work::Unused, &stored.tower, tensors));
        // A head that classifies stands behind the layers of any family.
        let classifies = stored.take(|role| role == Role::Pooler);
        for (work, found) in work_of(Role::Pooler, &classifies, tensors, true, None) {
            operations.extend(collect(Role::Pooler, work, &found, tensors));
        }
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
        Architecture {
            name: hyper.architecture.clone(),
            basis: Basis::Family,
            context_length: hyper.context_length,
            makes_tokens: hyper.makes_tokens(),
            hyper: Some(hyper),
            operations,
            warnings,
        }
    }

    /// The operations of a model of any family: one for each weight, by its shape, and for each layer how
    /// it looks back, by what the file states. Without a statement attention is undefined.
    pub fn of_tensors(name: Option<&str>, tensors: &[Tensor], stated: Option<&Stated>) -> Architecture {
        let mut stored = Stored::new(tensors, stated.map(|stated| stated.layers.len() as u64));
        let mut operations = looks_back(&stored, stated);
        let mut placed: Vec<(Spot, Vec<Found>)> = stored.places.drain().collect();
        placed.sort_by_key(|(_, found)| found.first().map(|found| found.tensor));
        for ((stack, layer, role), found) in placed {
            let shared = |back: &LooksBack| back.attention.is_some_and(|attention| attention.kv_heads == 0);
            let unused = matches!(role, Role::Key | Role::Value)
                && layer.and_then(|layer| stated?.layers.get(layer as usize)).is_some_and(shared);
            let used = stated.zip(layer).and_then(|(stated, layer)| stated.used(layer));
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
                    weighed(Operation { layer, runs, ..Operation::of(role, work) }, &found, tensors),
                ));
            }
        }
        for found in with_biases(&stored.nameless, tensors) {
            let Some(first) = found.first() else { continue };
            let tensor = &tensors[first.tensor];
            let (stack, layer, rest) = names::layer(&tensor.name);
            let mut work = match *tensor.dims.as_slice() {
                [count, rows, cols] if stated.is_some() && tensor.name.contains(ADAPTER) => {
                    Work::Experts { rows, cols, count, used: 1 }
                }
                _ => plain(tensor, stated.is_some()),
            };
            let mut runs = runs(if stored.decoder { stack } else { Stack::Only }, stated);
            // Sound is brought to the width of the encoder, and then to half its length.
            if let (Runs::Input { times }, [rows, _, _]) = (&mut runs, tensor.dims.as_slice()) {
                *times = times.saturating_mul(if rest.starts_with("conv1.") { 2 } else { 1 });
                work = Work::Product { rows: *rows, cols: tensor.elements() / (*rows).max(1) };
            }
            let operation = Operation { layer, runs, ..Operation::of(Role::Other, work) };
            operations.push((first.tensor, weighed(operation, &found, tensors)));
            operations.extend(between_convolutions(tensor).map(|one| (first.tensor, one)));
        }
        // What looks back has no tensors and comes behind those of its queries, keys and values.
        operations.sort_by_key(|(at, operation)| (*at, operation.tensors.is_empty()));
        let times = |operation: &Operation| {
            let back = stated.zip(operation.layer).and_then(|(stated, layer)| stated.of(Stack::Only, layer));
            1 + back.map_or(0, |back| back.repeats) as usize
        };
        let mut operations: Vec<Operation> =
            operations.into_iter().flat_map(|(_, one)| vec![one.clone(); times(&one)]).collect();
        let makes_tokens = stated.is_none_or(|stated| stated.makes_tokens);
        let headless = !operations.iter().any(|operation| operation.role == Role::Head);
        if stated.is_none_or(|stated| stated.has_head) && headless && !stored.embedding.is_empty() {
            operations.extend(tied_head(&stored.embedding, tensors));
        }
        // Beside an encoder only what is made meets the head.
        let heads = operations.iter_mut().filter(|operation| stored.decoder && operation.role == Role::Head);
        heads.for_each(|head| head.runs = Runs::Step);
        operations.extend(collect(Role::Unused, Work::Unused, &stored.unused, tensors));
        operations.extend(collect(Role::Tower, Work::Unused, &stored.tower, tensors));

        let told = match (stated, name) {
            (Some(stated), _) => {
                let counted = "read by its keys and the shapes of its tensors: each matrix is multiplied once for a token";
                std::iter::once(counted)
                    .chain(stated.assumed.iter().map(String::as_str))
                    .collect::<Vec<_>>()
                    .join("; ")
            }
            (None, Some(name)) => format!(
                "architecture {} is not one of the known families: each 2-D weight counts as one matrix product",
                quoted(name)
            ),
            (None, None) => {
                "the architecture is not known: each 2-D weight counts as one matrix product".to_owned()
            }
        };
        let mut warnings = vec![told];
        warnings.extend(stored.told(tensors));
        Architecture {
            name: name.unwrap_or("undefined").to_owned(),
            basis: if stated.is_some() { Basis::Stated } else { Basis::Tensors },
            hyper: None,
            context_length: stated.and_then(|stated| stated.context_length),
            makes_tokens,
            operations,
            warnings,
        }
    }
}

/// For which tokens the operations of a stack run.
fn runs(stack: Stack, stated: Option<&Stated>) -> Runs {
    match (stack, stated.and_then(|stated| stated.encoder_length)) {
        (Stack::Encoder, Some(times)) => Runs::Input { times },
        (Stack::Encoder, None) => Runs::Prompt,
        (Stack::Decoder, _) => Runs::Step,
        (Stack::Only | Stack::Tower | Stack::Further, _) => Runs::Token,
    }
}

/// How each layer looks back, each with the tensor that it comes behind.
fn looks_back(stored: &Stored, stated: Option<&Stated>) -> Vec<(usize, Operation)> {
    const ATTENDS: &[Role] = &[Role::Query, Role::Key, Role::Value, Role::QueryKeyValue, Role::KeyValueDown];
    let crosses: &[Role] = &[Role::CrossQuery, Role::CrossKey, Role::CrossValue];
    let mut last: BTreeMap<(Stack, u64, Role), usize> = BTreeMap::new();
    let back =
        |stack, layer: u64| stated.and_then(|stated| stated.of(stack, layer)).copied().unwrap_or_default();
    for ((stack, layer, role), found) in &stored.places {
        let (Some(layer), Some(at)) = (layer, found.iter().map(|found| found.tensor).max()) else { continue };
        let has = |role| stored.places.contains_key(&(*stack, Some(*layer), role));
        let LooksBack { attention, state, .. } = back(*stack, *layer);
        // The projections of a layer without attention are those of its state.
        let attends =
            attention.is_some() && (has(Role::AttentionOutput) || !has(Role::Recurrence)) || state.is_none();
        let back = match role {
            role if ATTENDS.contains(role) && attends => Role::Attention,
            role if ATTENDS.contains(role) => Role::State,
            role if crosses.contains(role) => Role::CrossAttention,
            Role::Recurrence => Role::State,
            Role::Indexer => Role::IndexerScores,
            _ => continue,
        };
        let place = last.entry((*stack, *layer, back)).or_default();
        *place = at.max(*place);
    }
    let operation = |((stack, layer, role), at): ((Stack, u64, Role), usize)| {
        let LooksBack { attention, cross, state, indexer, chosen, .. } = back(stack, layer);
        let work = match role {
            Role::State => state.map(Work::State),
            Role::CrossAttention => cross.map(Work::Attention),
            Role::IndexerScores => indexer.map(Work::Attention),
            _ => attention.map(Work::Attention),
        };
        let reason = match (stated, role) {
            (None, _) => "the family is unknown: heads, window and cache can't be told from the tensors",
            (_, Role::State) => "the file does not say how large its state is",
            (Some(Stated { uncounted: Some(reason), .. }), Role::Attention | Role::IndexerScores) => reason,
            (_, Role::IndexerScores) => "the file does not say how wide the keys of its indexer are",
            _ => "the file does not say how many heads it has",
        };
        let runs = runs(stack, stated);
        let undefined = Work::Undefined { reason: reason.to_owned() };
        let chosen = chosen.filter(|_| role == Role::Attention);
        (at, Operation { layer: Some(layer), runs, chosen, ..Operation::of(role, work.unwrap_or(undefined)) })
    };
    last.into_iter().map(operation).collect()
}

/// The attention of a decoder of sound, which has one head as wide as its queries and stands between convolutions.
fn between_convolutions(tensor: &Tensor) -> Option<Operation> {
    let number = tensor.name.strip_prefix("posnet.")?.strip_suffix(".attn_q.weight")?;
    let width = *tensor.dims.first().filter(|_| number.parse::<u64>().is_ok())?;
    Some(Operation::attention(Attention { causal: false, ..Attention::new(1, width, width) }))
}

/// A tensor and what its name says about it.
#[derive(Clone, Copy, Debug)]
struct Found {
    tensor: usize,
    part: Part,
    expert: Option<u64>,
}

/// A stack, a layer of it, none outside the layers, and a role there.
type Spot = (Stack, Option<u64>, Role);

/// The tensors of a model by their place.
struct Stored {
    places: HashMap<Spot, Vec<Found>>,
    embedding: Vec<Found>,
    /// Tensors of layers past the last.
    unused: Vec<Found>,
    /// Tensors that read images or sound, beside a language model.
    tower: Vec<Found>,
    /// Tensors whose names say nothing.
    nameless: Vec<Found>,
    /// Whether there is a decoder beside an encoder.
    decoder: bool,
}

impl Stored {
    fn new(tensors: &[Tensor], layers: Option<u64>) -> Stored {
        let decoder = tensors.iter().any(|tensor| names::layer(&tensor.name).0 == Stack::Decoder);
        let mut stored = Stored {
            places: HashMap::new(),
            embedding: Vec::new(),
            unused: Vec::new(),
            tower: Vec::new(),
            nameless: Vec::new(),
            decoder,
        };
        let language = tensors.iter().any(|tensor| names::layer(&tensor.name).0 != Stack::Tower);
        for (index, tensor) in tensors.iter().enumerate() {
            // Scales are where their weights are.
            let owner = tensor.beside.and_then(|owner| tensors.get(owner));
            let name = &owner.unwrap_or(tensor).name;
            let of = |part: Part| match part {
                _ if owner.is_some() => Part::Scale,
                Part::Packed if !packed::is_word(tensor.dtype) => Part::Weight,
                part => part,
            };
            let nameless = Found { tensor: index, part: of(Part::Weight), expert: None };
            let (stack, layer, _) = names::layer(name);
            if language && stack == Stack::Tower {
                stored.tower.push(nameless);
                continue;
            }
            if stack == Stack::Further {
                stored.unused.push(nameless);
                continue;
            }
            let past = |layer: u64| layers.is_some_and(|layers| layer >= layers);
            if layer.is_some_and(past) && !(decoder && stack == Stack::Encoder) {
                stored.unused.push(nameless);
                continue;
            }
            let Some(Place { stack, layer, role, part, expert }) = names::place(name) else {
                stored.nameless.push(nameless);
                continue;
            };
            let stack = if decoder { stack } else { Stack::Only };
            let found = Found { tensor: index, part: of(part), expert };
            if (layer, role) == (None, Role::Embedding) {
                stored.embedding.push(found);
            }
            stored.places.entry((stack, layer, role)).or_default().push(found);
        }
        stored
    }

    /// What is stored but not run for a token, in words.
    fn told(&self, tensors: &[Tensor]) -> Vec<String> {
        let parts = [
            (&self.unused, "belong to layers that ordinary decoding does not run"),
            (&self.tower, "read images or sound, apart from the tokens of text"),
        ];
        let told = |(found, what): (&Vec<Found>, &str)| {
            let first = found.first()?;
            Some(format!(
                "{} tensor(s) {what}, the first {}",
                found.len(),
                quoted(&tensors[first.tensor].name)
            ))
        };
        parts.into_iter().filter_map(told).collect()
    }

    /// Removes the tensors of these roles.
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
            parts.contains(&operation.role)
                && stored.places.contains_key(&(Stack::Only, operation.layer, *whole))
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
        let found = stored.places.get(&(Stack::Only, operation.layer, role))?;
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
        // Twice as many experts may be half as wide.
        let others = matches!(operation.work, Work::Experts { .. })
            && matches!(*first.dims.as_slice(), [stored, _, _] if stored != count);
        if elements != expected || others {
            warnings.push(format!(
                "{}: the dimensions say {rows} x {cols}{}, but {} is {}",
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
                    let reason = "its tensors do not have the shape the dimensions give".to_owned();
                    *work = Work::Undefined { reason };
                }
            }
        }
    }
    operation.tensors = indexes(found);
}

/// The places of these tensors in the model's list.
fn indexes(found: &[Found]) -> Vec<usize> {
    found.iter().map(|found| found.tensor).collect()
}

/// All these tensors as one operation; none without tensors.
fn collect(role: Role, work: Work, found: &[Found], tensors: &[Tensor]) -> Option<Operation> {
    if found.is_empty() {
        return None;
    }
    Some(weighed(Operation::of(role, work), found, tensors))
}

/// An operation with its tensors and all their parameters.
fn weighed(mut operation: Operation, found: &[Found], tensors: &[Tensor]) -> Operation {
    operation.tensors = indexes(found);
    operation.parameters = elements(found, tensors);
    operation
}

fn tied_head(embedding: &[Found], tensors: &[Tensor]) -> Option<Operation> {
    let [rows, cols] = *tensors[embedding.first()?.tensor].dims.as_slice() else { return None };
    let mut operation = Operation::of(Role::Head, Work::Product { rows, cols });
    operation.tensors = indexes(embedding);
    Some(operation)
}

/// The work of tensors with the same place, by their shapes.
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
                // Experts of two kinds, each in a tensor of its own.
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
                    Work::Undefined { reason: "how many experts a token uses is unknown".to_owned() }
                }
                (None, _) => Work::Undefined { reason: "the shape is not that of experts".to_owned() },
            })
        }
        _ => match weights.as_slice() {
            [one] => {
                let tensor = &tensors[one.tensor];
                all(match (role.kind(), tensor.dims.as_slice()) {
                    (Kind::Embedding, [rows, cols]) => Work::Lookup { rows: *rows, cols: *cols },
                    _ => plain(tensor, over_tokens),
                })
            }
            [] if found.iter().all(|found| found.part == Part::Bias) => {
                all(Work::Vector { elements: elements(found, tensors) })
            }
            [] => all(Work::Undefined {
                reason: "its weights are packed and their shape is unknown".to_owned(),
            }),
            // One name twice in a model, or several matrices in one place. Each stands for itself.
            _ => each(&|found| plain(&tensors[found.tensor], over_tokens)),
        },
    }
}

/// Tensors whose names say nothing: each for itself, but the bias of a matrix or of kernels after them, and scales after their
/// weights.
fn with_biases(nameless: &[Found], tensors: &[Tensor]) -> Vec<Vec<Found>> {
    let name = |found: &Found| tensors[found.tensor].name.as_str();
    let rank = |found: &Found| tensors[found.tensor].dims.len();
    let weights = nameless.iter().filter(|found| rank(found) > 1);
    let owners: HashMap<&str, usize> =
        weights.filter_map(|found| Some((name(found).strip_suffix(".weight")?, found.tensor))).collect();
    let owner = |found: &Found| {
        let bias = || name(found).strip_suffix(".bias").filter(|_| rank(found) == 1);
        tensors[found.tensor].beside.or_else(|| owners.get(bias()?).copied())
    };
    let mut followers: HashMap<usize, Vec<Found>> = HashMap::new();
    for found in nameless {
        if let Some(owner) = owner(found) {
            followers.entry(owner).or_default().push(*found);
        }
    }
    nameless
        .iter()
        .filter(|found| owner(found).is_none())
        .map(|found| {
            std::iter::once(*found).chain(followers.remove(&found.tensor).unwrap_or_default()).collect()
        })
        .collect()
}

/// The work of a weight of which only the shape is known. In a stack of layers over tokens it is a matrix,
/// or several behind each other; elsewhere more than two dimensions are kernels.
fn plain(tensor: &Tensor, over_tokens: bool) -> Work {
    match tensor.dims.as_slice() {
        [_] if matches!(tensor.dtype, Dtype::Nf4 | Dtype::Fp4) => {
            Work::Undefined { reason: "its weights are packed and their shape is not readable".to_owned() }
        }
        [] | [_] => Work::Vector { elements: tensor.elements() },
        [rows, cols] => Work::Product { rows: *rows, cols: *cols },
        [.., cols] if over_tokens && *cols > 0 => {
            Work::Product { rows: tensor.elements() / cols, cols: *cols }
        }
        [outputs, inputs, kernel @ ..] if kernel.len() <= 3 && !matches!(tensor.dtype, Dtype::Unknown(_)) => {
            Work::Convolution { outputs: *outputs, inputs: *inputs, kernel: kernel.to_vec() }
        }
        _ => Work::Undefined { reason: format!("{} dimensions", tensor.dims.len()) },
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
