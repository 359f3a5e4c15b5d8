//! Operations as lines of text: layer, role, work, stored bytes, and bytes of weights read per token.

use roofline::model::{
    Attention, Experts, Latent, Layer, Model, ModelDims, Operation, Role, State, Width, Work,
};

/// Returns the bytes of all tensors of an operation; `None` without tensors or if the size of a type is unknown.
pub fn stored(model: &Model, operation: &Operation) -> Option<u64> {
    let sizes: Option<Vec<u64>> = operation.tensors.iter().map(|index| model.tensors[*index].bytes).collect();
    sizes.filter(|sizes| !sizes.is_empty()).map(|sizes| sizes.iter().sum())
}

/// Returns the bytes of weights read per token; `None` if unknown.
pub fn streamed(model: &Model, operation: &Operation) -> Option<u64> {
    let bytes = stored(model, operation);
    match operation.work {
        Work::Lookup { rows, .. } => bytes.map(|bytes| bytes / rows),
        Work::Experts { count, used, .. } => bytes.map(|bytes| bytes * used / count),
        Work::Unused => Some(0),
        Work::Undefined { .. } if operation.role != Role::Pooler => None,
        _ => bytes,
    }
}

pub fn lines(model: &Model) -> Vec<String> {
    let number = |number: Option<u64>| number.map_or("-".to_owned(), |number| number.to_string());
    let line = |operation: &Operation| {
        let (layer, role) = (number(operation.layer), operation.role.name());
        let (stored, streamed) = (number(stored(model, operation)), number(streamed(model, operation)));
        format!("{layer} {role} {}: {stored}, {streamed}", work(&operation.work))
    };
    model.architecture.operations.iter().map(line).collect()
}

fn work(work: &Work) -> String {
    match work {
        Work::Lookup { rows, cols } => format!("row of {rows}x{cols}"),
        Work::Product { rows, cols } => format!("{rows}x{cols}"),
        Work::Experts { rows, cols, count, used } => format!("{used}/{count} of {rows}x{cols}"),
        Work::Vector { elements } => format!("{elements}"),
        Work::Attention(Attention { heads, kv_heads, key_length, value_length, window, latent, .. }) => {
            let window = window.map_or(String::new(), |window| format!(" window {window}"));
            let latent = latent.map_or(String::new(), |Latent { rank, rope_length, .. }| {
                format!(" latent {rank}+{rope_length}")
            });
            format!("{heads}/{kv_heads} heads {key_length}/{value_length}{window}{latent}")
        }
        Work::Convolution { outputs, inputs, kernel } => format!("conv {outputs}x{inputs} {kernel:?}"),
        Work::State(State { elements, flops }) => format!("state {elements} flops {flops}"),
        Work::Unused => "unused".to_owned(),
        Work::Undefined { .. } => "undefined".to_owned(),
    }
}

/// Formats each layer as a line: attention, state and feed-forward.
pub fn layers(model_dims: &ModelDims) -> Vec<String> {
    let line = |layer: &Layer| {
        let attention = layer.attention.map(|attention| {
            let query = attention.latent.and_then(|latent| latent.query_rank);
            let query = query.map_or(String::new(), |rank| format!(" query {rank}"));
            let normed = if attention.head_norm { " normed" } else { "" };
            format!("{}{query}{normed}", work(&Work::Attention(attention)))
        });
        let state = layer.recurrence.as_ref().map(|each| format!("state {}", each.state.elements));
        let feed_forward = match layer.feed_forward.width {
            Width::Dense(length) => format!("dense {length}"),
            Width::Experts(Experts { count, used, length, shared_length, shared_gate, .. }) => {
                let shared =
                    if shared_length > 0 { format!(" shared {shared_length}") } else { String::new() };
                let gated = if shared_gate { " gated" } else { "" };
                format!("{used}/{count} experts of {length}{shared}{gated}")
            }
        };
        attention.into_iter().chain(state).chain([feed_forward]).collect::<Vec<_>>().join(", ")
    };
    model_dims.layers.iter().map(line).collect()
}

/// Compares lines. In `expected`, `...` stands for any number of lines, and `... 3` for three.
pub fn matches(found: &[String], expected: &[String]) -> bool {
    let Some((first, rest)) = expected.split_first() else { return found.is_empty() };
    match first.strip_prefix("...") {
        Some("") => (0..=found.len()).any(|skipped| matches(&found[skipped..], rest)),
        Some(count) => {
            let count: usize = count.trim().parse().expect("a number of lines");
            found.len() >= count && matches(&found[count..], rest)
        }
        None => found.first() == Some(first) && matches(&found[1..], rest),
    }
}
