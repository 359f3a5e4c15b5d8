//! Detection of contracts in the published provable-contracts format, so that a single error explains how to convert them,
//! instead of one error per unknown key.

use crate::report::Diagnostic;
use crate::source::{Source, Text};
use crate::yaml::Node;

/// Sections that only the published format has.
const SECTIONS: [&str; 4] = ["proof_obligations", "falsification_tests", "kani_harnesses", "qa_gate"];
/// Keys of an equation that only the published format has.
const KEYS: [&str; 4] = ["codomain", "invariants", "preconditions", "postconditions"];

/// The error for a contract in the published format, which lacks `quantities`.
pub fn diagnostic(source: &Source, tree: &Node) -> Option<Diagnostic> {
    let sections = pairs(tree);
    if sections.iter().any(|(name, _)| name.value == "quantities") {
        return None;
    }
    let equations = sections.iter().find(|(name, _)| name.value == "equations").map(|(_, node)| node);
    let section = sections.iter().map(|(name, _)| name).find(|name| SECTIONS.contains(&name.value.as_str()));
    let key = || {
        let keys = pairs(equations?).iter().flat_map(|(_, equation)| pairs(equation));
        keys.map(|(name, _)| name).find(|name| KEYS.contains(&name.value.as_str()))
    };
    let found = section.or_else(key)?;
    let message = format!(
        "this contract is in the published provable-contracts format; convert it with `roofline contract import {}`",
        source.name
    );
    Some(Diagnostic::error(found.span, message).label("only that format has this key"))
}

fn pairs(node: &Node) -> &[(Text, Node)] {
    match node {
        Node::Map(pairs, _) => pairs,
        Node::Text(_) | Node::List(..) => &[],
    }
}
