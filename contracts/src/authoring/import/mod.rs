//! Imports contracts in the published provable-contracts format. Parsable items become formal, obligations are proven
//! or tested, and everything else is kept as unchecked documentation. The report lists the outcome of each item.

mod converted;
mod domain;
mod statement;
mod unit;

use std::collections::{BTreeMap, BTreeSet};

use crate::formula::RESERVED;
use crate::names;
use crate::report::{Diagnostic, Report};
use crate::source::{Source, Text};
use crate::suggest;
use crate::yaml::{self, Node};

use converted::{Classifier, ConvertedContract, Equation, Obligation};
use statement::Translation;

/// The outcome of importing an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Part of the formulas, domains or metadata.
    Formal,
    /// An obligation, proven at all points of the domains.
    Proven,
    /// An obligation without a proof that the falsifier could not refute.
    Tested,
    /// Part of another item, and also kept verbatim.
    Folded,
    /// Part of the contract's own metadata.
    Metadata,
    /// Kept as unchecked documentation.
    Informal,
}

impl Outcome {
    /// The lowercase name.
    pub fn word(self) -> &'static str {
        match self {
            Outcome::Formal => "formal",
            Outcome::Proven => "proven",
            Outcome::Tested => "tested",
            Outcome::Folded => "folded",
            Outcome::Metadata => "metadata",
            Outcome::Informal => "informal",
        }
    }
}

/// One item of the published contract.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// Its path in the file, `equations.model_bytes.domain`.
    pub place: String,
    /// Its line, from 1.
    pub line: usize,
    /// Its text.
    pub text: String,
    /// Its outcome.
    pub outcome: Outcome,
    /// The result, or the reason that it could not be made formal.
    pub note: String,
}

/// An imported contract.
#[derive(Clone, Debug)]
pub struct Imported {
    /// Its name.
    pub id: String,
    /// The contract in canonical form. It compiles.
    pub contract: String,
    /// Every item of the published contract, in its order.
    pub items: Vec<Item>,
    /// Renamed items: published and new name.
    pub renamed: Vec<(String, String)>,
    /// Units and their origin: name, unit, reason.
    pub units: Vec<(String, String, String)>,
    /// Proposed units that contradict formulas.
    pub dropped_units: Vec<String>,
    /// Contradictory units in the published contract: the equation and a description.
    pub conflicts: Vec<(String, String)>,
}

/// The sections of a published contract that describe the model.
const SECTIONS: [&str; 4] = ["equations", "proof_obligations", "falsification_tests", "kani_harnesses"];

/// Imports a contract. Fails for invalid YAML and for files that are not published contracts.
pub fn import(source: &Source) -> Result<Imported, Vec<Diagnostic>> {
    let mut report = Report::new();
    let tree = yaml::tree(source, &mut report);
    let diagnostics = report.finish();
    match tree {
        Some(Node::Map(pairs, span)) if diagnostics.is_empty() => {
            if let Some((key, _)) = pairs.iter().find(|(key, node)| is_ours(&key.value, node)) {
                let message = format!(
                    "`{}` belongs to the contract language; the file needs no import, use `roofline contract check`",
                    key.value
                );
                return Err(vec![Diagnostic::error(key.span, message)]);
            }
            if !pairs.iter().any(|(key, _)| SECTIONS.contains(&key.value.as_str())) {
                let found: Vec<String> = pairs.iter().map(|(key, _)| format!("`{}`", key.value)).collect();
                let found = if found.is_empty() { "nothing".into() } else { found.join(", ") };
                let message = format!(
                    "not a published contract: expected one of `{}`, found {found}",
                    SECTIONS.join("`, `")
                );
                return Err(vec![Diagnostic::error(span, message)]);
            }
            Ok(Reader::new(source).read(&pairs))
        }
        Some(node) if diagnostics.is_empty() => {
            let message = format!("expected a mapping at the top level, found {}", node.what());
            Err(vec![Diagnostic::error(node.span(), message)])
        }
        _ => Err(diagnostics),
    }
}

/// True for a section that only the contract language has.
fn is_ours(key: &str, node: &Node) -> bool {
    let has_units = |node: &Node| {
        let Node::Map(entries, _) = node else { return false };
        entries.iter().any(|(_, entry)| matches!(entry, Node::Map(keys, _) if get(keys, "unit").is_some()))
    };
    match key {
        "quantities" | "equations" => has_units(node),
        "obligations" | "informal" => matches!(node, Node::List(..)),
        _ => false,
    }
}

/// An item without a final outcome, which depends on the check and the proofs.
#[derive(Clone, Debug)]
struct Pending {
    item: usize,
    /// The parts of the converted contract that represent it.
    equations: Vec<usize>,
    obligations: Vec<usize>,
    classifiers: Vec<usize>,
    ignored: Vec<String>,
    /// The part that remains documentation if the rest becomes formal.
    rest: String,
}

impl Pending {
    fn new(item: usize) -> Self {
        Pending {
            item,
            equations: Vec::new(),
            obligations: Vec::new(),
            classifiers: Vec::new(),
            ignored: Vec::new(),
            rest: String::new(),
        }
    }
}

struct Reader<'a> {
    source: &'a Source,
    items: Vec<Item>,
    pending: Vec<Pending>,
    converted: ConvertedContract,
    /// New names by published name.
    names: BTreeMap<String, String>,
    /// The obligations of each property, by its name in lower case.
    properties: BTreeMap<String, Vec<usize>>,
    /// Domain clauses: the published name, the domain and the item.
    domains: Vec<(String, String, usize)>,
    /// Units of codomains, by new name.
    codomain_units: BTreeMap<String, String>,
    /// Names that a domain declares as vectors or matrices.
    vectors: BTreeSet<String>,
    /// Functions by their published name or key: the published name of the equation, and its operands if it has any.
    functions: BTreeMap<String, (String, Vec<String>)>,
}

fn scalar(node: &Node) -> Option<&Text> {
    if let Node::Text(text) = node { Some(text) } else { None }
}

fn get<'n>(pairs: &'n [(Text, Node)], key: &str) -> Option<&'n Node> {
    pairs.iter().find(|(name, _)| name.value == key).map(|(_, node)| node)
}

fn get_text<'n>(pairs: &'n [(Text, Node)], key: &str) -> &'n str {
    get(pairs, key).and_then(scalar).map_or("", |text| text.value.trim())
}

impl<'a> Reader<'a> {
    fn new(source: &'a Source) -> Self {
        let stem =
            std::path::Path::new(&source.name).file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
        let mut converted = ConvertedContract::default();
        converted.id = kebab(stem, "contract");
        Reader {
            source,
            items: Vec::new(),
            pending: Vec::new(),
            converted,
            names: BTreeMap::new(),
            properties: BTreeMap::new(),
            domains: Vec::new(),
            codomain_units: BTreeMap::new(),
            vectors: BTreeSet::new(),
            functions: BTreeMap::new(),
        }
    }

    fn read(mut self, pairs: &[(Text, Node)]) -> Imported {
        self.metadata(get(pairs, "metadata"));
        if let Some(Node::Map(equations, _)) = get(pairs, "equations") {
            // Vectors and names of equations come first, to distinguish their domains from those of inputs.
            for (_, node) in equations {
                self.note_vectors(node);
            }
            for (name, node) in equations {
                self.formula(&name.value, node);
            }
            for (name, node) in equations {
                self.equation_properties(&name.value, node);
            }
        }
        if let Some(Node::List(list, _)) = get(pairs, "proof_obligations") {
            for (index, node) in list.iter().enumerate() {
                self.obligation(index, node);
            }
        }
        for (section, fold) in [
            ("falsification_tests", Self::test as fn(&mut Self, String, &Node)),
            ("kani_harnesses", Self::harness),
        ] {
            if let Some(Node::List(list, _)) = get(pairs, section) {
                for (index, node) in list.iter().enumerate() {
                    fold(&mut self, format!("{section}[{index}]"), node);
                }
            }
        }
        for (name, node) in pairs {
            if name.value != "metadata" && !SECTIONS.contains(&name.value.as_str()) {
                self.keep_informal(&name.value, node, "not supported by the contract language");
            } else if name.value != "metadata" && scalar(node).is_some_and(|text| !text.value.is_empty()) {
                self.keep_informal(&name.value, node, "expected a mapping or a list");
            }
        }
        self.finish()
    }

    fn add(&mut self, place: String, node: &Node, text: &str, outcome: Outcome, note: &str) -> usize {
        let line = self.source.position(node.span().start).0;
        let text = if text.trim().is_empty() { "(empty)" } else { text.trim() };
        let (text, note) = (text.to_owned(), note.to_owned());
        self.items.push(Item { place, line, text, outcome, note });
        self.items.len() - 1
    }

    /// Keeps everything below a node as documentation.
    fn keep_informal(&mut self, place: &str, node: &Node, why: &str) {
        match node {
            Node::Text(text) if text.value.trim().is_empty() => {}
            Node::Text(text) => {
                self.add(place.to_owned(), node, &text.value, Outcome::Informal, why);
            }
            Node::List(items, _) => {
                for (index, item) in items.iter().enumerate() {
                    self.keep_informal(&format!("{place}[{index}]"), item, why);
                }
            }
            Node::Map(pairs, _) => {
                for (key, value) in pairs {
                    self.keep_informal(&format!("{place}.{}", key.value), value, why);
                }
            }
        }
    }

    fn note_vectors(&mut self, equation: &Node) {
        let Node::Map(pairs, _) = equation else { return };
        for key in ["domain", "codomain"] {
            self.vectors.extend(domain::vectors(get_text(pairs, key)).into_iter().map(str::to_owned));
        }
    }

    /// The vector or matrix in a text, alone or joined with another name.
    fn vector_in(&self, text: &str) -> Option<String> {
        let words = text.split(|c: char| !(c.is_alphanumeric() || c == '_'));
        let speaks_of = |word: &str, name: &str| word == name || (!word.is_ascii() && word.contains(name));
        let found = words.into_iter().find_map(|word| self.vectors.iter().find(|name| speaks_of(word, name)));
        found.map(|name| {
            format!("`{name}` is a vector or matrix, as its domain shows; formulas support scalars only")
        })
    }

    fn metadata(&mut self, node: Option<&Node>) {
        self.converted.version = "1.0.0".into();
        self.converted.description = format!("Imported from {}", self.source.name);
        let Some(Node::Map(pairs, _)) = node else { return };
        for (key, value) in pairs {
            let place = format!("metadata.{}", key.value);
            match (key.value.as_str(), value) {
                ("version", Node::Text(text)) => {
                    let version = text.value.trim();
                    // `2.1` means `2.1.0`.
                    let full = if version.matches('.').count() == 1 {
                        format!("{version}.0")
                    } else {
                        version.into()
                    };
                    if semver::Version::parse(&full).is_ok() {
                        self.add(place, value, version, Outcome::Metadata, &format!("version {full}"));
                        self.converted.version = full;
                    } else {
                        self.add(
                            place,
                            value,
                            version,
                            Outcome::Informal,
                            "not a semantic version; 1.0.0 is used instead",
                        );
                    }
                }
                ("description", Node::Text(text)) if !text.value.trim().is_empty() => {
                    self.converted.description = text.value.trim().to_owned();
                    self.add(place, value, &text.value, Outcome::Metadata, "description");
                }
                ("references", Node::List(list, _)) => {
                    for (index, reference) in list.iter().enumerate() {
                        let place = format!("{place}[{index}]");
                        match scalar(reference).filter(|text| !text.value.trim().is_empty()) {
                            Some(text) => {
                                self.converted.references.push(text.value.trim().to_owned());
                                self.add(place, reference, &text.value, Outcome::Metadata, "reference");
                            }
                            None => self.keep_informal(&place, reference, "expected a string"),
                        }
                    }
                }
                ("depends_on", value) => {
                    let why = "no version given; import that contract and write `depends_on: [name ^1.0]`";
                    self.keep_informal(&place, value, why);
                }
                _ => self.keep_informal(&place, value, "not supported by the contract language"),
            }
        }
    }

    /// The new name of a published name.
    fn name(&mut self, published: &str) -> String {
        if let Some(known) = self.names.get(published) {
            return known.clone();
        }
        let mut ours = snake(published);
        if names::is_keyword(&ours)
            || RESERVED.contains(&ours.as_str())
            || converted::RESERVED_ITEMS.contains(&ours.as_str())
        {
            ours += "_value";
        }
        let taken = |name: &str, names: &BTreeMap<String, String>| names.values().any(|known| known == name);
        let base = ours.clone();
        for number in 2.. {
            if !taken(&ours, &self.names) {
                break;
            }
            ours = format!("{base}_{number}");
        }
        self.names.insert(published.to_owned(), ours.clone());
        ours
    }

    /// A text in the grammar of formulas, with new names.
    fn rename_identifiers(&mut self, text: &str) -> String {
        let mut out = String::new();
        let mut at = 0;
        for (start, end) in unit::words(text) {
            let word = &text[start..end];
            let is_name =
                word.starts_with(|c: char| c.is_alphabetic() || c == '_') && !RESERVED.contains(&word);
            out += &text[at..start];
            out += &if is_name { self.name(word) } else { word.to_owned() };
            at = end;
        }
        out + &text[at..]
    }

    fn formula(&mut self, key: &str, node: &Node) {
        let place = format!("equations.{key}.formula");
        let Node::Map(pairs, _) = node else {
            self.keep_informal(&format!("equations.{key}"), node, "expected a mapping for an equation");
            return;
        };
        let Some(node) = get(pairs, "formula") else { return };
        let Some(text) = scalar(node) else {
            self.keep_informal(&place, node, "expected a string for a formula");
            return;
        };
        let item = self.add(place, node, &text.value, Outcome::Informal, "");
        if let Some(why) = self.vector_in(&text.value) {
            self.items[item].note = why;
            return;
        }
        let codomain = get_text(pairs, "codomain");
        if domain::is_vectors(codomain) {
            self.items[item].note = format!("its value is a vector or matrix: {codomain}");
            return;
        }
        let parts = statement::statements(&text.value);
        let several = parts.len() > 1;
        let mut found: Vec<Definition> = Vec::new();
        let mut ignored = Vec::new();
        for part in parts {
            match self.defined(part, key, several.then_some(found.len() + 1)) {
                Ok(Some(defined)) => {
                    ignored.extend(defined.ignored.clone());
                    found.push(defined);
                }
                // A condition does not define a value; it becomes an obligation.
                Ok(None) => return self.claims(item, &kebab(key, "condition"), part, None),
                // The classifier is defined by its bands.
                Err(_) if !found.is_empty() && is_classified(part) => ignored.push(part.to_owned()),
                Err(why) => return self.items[item].note = why,
            }
        }
        let mut pending = Pending { ignored, ..Pending::new(item) };
        for defined in found {
            let name = self.name(&defined.name);
            let formula = self.rename_identifiers(&defined.formula);
            if self.converted.equations.iter().any(|known| known.name == name) {
                self.items[item].note = format!("duplicate equation `{name}`");
                return;
            }
            for called in [key, &defined.name] {
                let function = || (defined.name.clone(), defined.operands.clone());
                self.functions.entry(called.to_owned()).or_insert_with(function);
            }
            if let Some(unit) = defined.unit {
                self.codomain_units.insert(name.clone(), unit);
            }
            let measured = defined.measured.map(|measured| self.name(&measured));
            let published = if snake(key) == name { String::new() } else { format!("Published as {key}.") };
            self.converted.equations.push(Equation {
                name,
                measured,
                formula,
                doc: published,
                place: self.items[item].place.clone(),
                ..Equation::default()
            });
            pending.equations.push(self.converted.equations.len() - 1);
        }
        self.pending.push(pending);
    }

    /// The definition in a statement; none if it is a condition. `number` is the index of the statement in the formula.
    fn defined(&self, part: &str, key: &str, number: Option<usize>) -> Result<Option<Definition>, String> {
        if let Some(odd) = statement::odd_name(part) {
            return Err(odd);
        }
        let own = number.map_or_else(|| key.to_owned(), |number| format!("{key}_{number}"));
        let mut ignored = Vec::new();
        let mut text = statement::ascii(part);
        let mut read = statement::equation(&text);
        if read.is_none()
            && let Some((head, remark)) = statement::remark(part)
        {
            text = statement::ascii(head);
            read = statement::equation(&text);
            ignored.extend(read.is_some().then(|| format!("({remark})")));
        }
        let plain = |name: String, formula: &str| Definition {
            name,
            formula: formula.to_owned(),
            measured: None,
            operands: Vec::new(),
            unit: None,
            ignored: Vec::new(),
        };
        let Some(read) = read else {
            text = statement::ascii(part);
            let sides = statement::sides(&text);
            let [left, right, rest @ ..] = sides.as_slice() else { return Err(statement::why_not(part)) };
            let value =
                |text: &str| statement::expression(text).filter(|formula| !statement::is_claim(formula));
            // In `d = h / n = 4096 / 32 = 128`, the remaining sides are numeric examples.
            let is_figure = |text: &&str| value(text).is_some_and(|formula| formula.names().is_empty());
            let (left, right, rest) = match value(left) {
                Some(formula)
                    if !statement::is_name(left) && !formula.names().is_empty() && is_figure(right) =>
                {
                    ("", *left, &sides[1..])
                }
                _ => (*left, *right, rest),
            };
            if value(right).is_none() || !rest.iter().all(is_figure) {
                return Err(statement::why_not(part));
            }
            ignored.extend(rest.iter().map(|figure| format!("= {figure}")));
            let unit = unit::remarked(left);
            return match statement::head(left) {
                Some((name, operands)) => Ok(Some(Definition {
                    operands: operands.into_iter().map(str::to_owned).collect(),
                    ignored,
                    ..plain(name.to_owned(), right)
                })),
                None if statement::is_name(left) => {
                    Ok(Some(Definition { ignored, ..plain(left.to_owned(), right) }))
                }
                None if left.is_empty() || unit.is_some() => {
                    Ok(Some(Definition { unit, ignored, ..plain(own, right) }))
                }
                None => Err(statement::why_not(part)),
            };
        };
        if statement::is_claim(&read.formula) {
            return Ok(None);
        }
        let left = read.left.as_ref().map(|(name, _)| name.clone());
        let sign = if read.bound { "<=" } else { "=" };
        let right = match &left {
            Some(_) => text.split_once(sign).map_or(text.as_str(), |(_, right)| right.trim()),
            None => text.as_str(),
        };
        let name = left.clone().filter(|_| !read.bound).unwrap_or(own);
        let measured = left.filter(|_| read.bound);
        Ok(Some(Definition { measured, ignored, ..plain(name, right) }))
    }

    /// Replaces calls of functions that equations define: `f(x)` by `f`, `f(0)` by `f(x: 0)`.
    fn substitute_calls(&self, text: &str) -> String {
        let mut out = String::new();
        let mut rest = text;
        while let Some(open) = rest.find('(') {
            let before = &rest[..open];
            let start = before
                .rfind(|c: char| !(c.is_alphanumeric() || c == '_'))
                .map_or(0, |at| at + before[at..].chars().next().map_or(1, char::len_utf8));
            let call = self.functions.get(&before[start..]).and_then(|(name, operands)| {
                let close = rest[open..].find(')')? + open;
                let given: Vec<&str> = rest[open + 1..close].split(',').map(str::trim).collect();
                if operands.is_empty() || given.len() != operands.len() {
                    return None;
                }
                if given == *operands {
                    return Some((name.clone(), close));
                }
                let pairs: Vec<String> = operands
                    .iter()
                    .zip(given)
                    .map(|(operand, given)| format!("{operand}: {given}"))
                    .collect();
                Some((format!("{name}({})", pairs.join(", ")), close))
            });
            match call {
                Some((call, close)) => {
                    out += &rest[..start];
                    out += &call;
                    rest = &rest[close + 1..];
                }
                None => {
                    out += &rest[..=open];
                    rest = &rest[open + 1..];
                }
            }
        }
        out + rest
    }

    /// `a < b implies f(a) <= f(b)` as a direction, if `f` is an equation and its operand is known.
    fn rise(&self, text: &str) -> Option<Translation> {
        let rise = statement::rise(text)?;
        let (name, operands) = self.functions.get(&rise.of)?;
        let ours = self.names.get(name)?;
        let equation = self.converted.equations.iter().find(|equation| equation.name == *ours)?;
        let stem =
            |operand: &'_ str| operand.trim_end_matches(|c: char| c.is_ascii_digit() || c == '_').to_owned();
        let (low, high) = (stem(&rise.operands.0), stem(&rise.operands.1));
        let used = statement::expression(&equation.formula)?;
        let uses = |published: &str| {
            self.names.get(published).is_some_and(|name| used.names().contains(&name.as_str()))
        };
        let operand = match operands.as_slice() {
            [operand] => operand.clone(),
            _ if low == high && uses(&low) => low,
            _ => return None,
        };
        let word = if rise.rising { "increasing" } else { "decreasing" };
        Some(Translation {
            text: format!("{name} {word} in {operand}"),
            ignored: rise.strict.then(|| "strictly".into()),
        })
    }

    fn equation_properties(&mut self, key: &str, node: &Node) {
        let Node::Map(pairs, _) = node else { return };
        for (about, value) in pairs {
            let place = format!("equations.{key}.{}", about.value);
            match (about.value.as_str(), value) {
                ("formula", _) => {}
                ("domain", Node::Text(text)) => self.domain(place, value, &text.value, key),
                ("codomain", Node::Text(text)) => {
                    let item = self.add(place, value, &text.value, Outcome::Informal, "");
                    if let Some((_, remark)) = statement::remark(text.value.trim())
                        && let Some(unit) = unit::remarked(remark)
                        && let Some(name) = text.value.split_whitespace().next()
                    {
                        let name = self.name(name);
                        self.codomain_units.insert(name, unit);
                    }
                    let set = domain::parse_set(text.value.trim());
                    match (set, self.functions.get(key).map(|(name, _)| name.clone())) {
                        (Some(set), _) if set.is_empty() => {
                            self.items[item].note = "all real numbers; no obligation is needed".into();
                        }
                        // A set without a name applies to the value that the formula defines.
                        (Some(set), Some(name)) => {
                            let claim = domain::claim(&name, &set).unwrap_or_else(|| text.value.clone());
                            self.claims(item, &format!("{}-codomain", kebab(key, "equation")), &claim, None);
                        }
                        _ => self.claims(
                            item,
                            &format!("{}-codomain", kebab(key, "equation")),
                            &text.value,
                            None,
                        ),
                    }
                }
                ("invariants" | "preconditions" | "postconditions", Node::List(list, _)) => {
                    let word = about.value.trim_end_matches('s').to_owned();
                    for (index, node) in list.iter().enumerate() {
                        let place = format!("{place}[{index}]");
                        let Some(text) = scalar(node) else {
                            self.keep_informal(&place, node, "expected a string");
                            continue;
                        };
                        let item = self.add(place, node, &text.value, Outcome::Informal, "");
                        if word == "precondition" {
                            self.precondition(item, &text.value);
                            continue;
                        }
                        if let Some(bands) = statement::bands(&text.value) {
                            self.bands(item, key, bands);
                            continue;
                        }
                        let id = format!("{}-{word}-{}", kebab(key, "equation"), index + 1);
                        self.claims(item, &id, &text.value, None);
                    }
                }
                _ => self.keep_informal(&place, value, "not supported by the contract language"),
            }
        }
    }

    /// Converts a precondition about one input to a domain.
    fn precondition(&mut self, item: usize, text: &str) {
        let clauses: Result<Vec<(String, String)>, String> = domain::clauses(text).into_iter().collect();
        match clauses {
            Ok(clauses) if !clauses.is_empty() && !domain::has_remarks(text) => {
                for (name, domain) in clauses {
                    let name = self.name(&name);
                    self.domains.push((name, domain, item));
                }
                self.items[item].outcome = Outcome::Formal;
            }
            _ => {
                self.items[item].note = "a precondition on the caller that is not a domain".into();
            }
        }
    }

    /// Adds a classifier by bands of the first equation that a key defines.
    fn bands(&mut self, item: usize, key: &str, bands: Vec<(String, Option<f64>)>) {
        let function = self.functions.get(key).and_then(|(name, _)| self.names.get(name)).cloned();
        let Some(of) = function else {
            self.items[item].note = "the value it classifies could not be made formal".into();
            return;
        };
        let name = self.name(&format!("{key}_grade"));
        self.converted.classifiers.push(Classifier { name, of, bands, dropped: None });
        let classifiers = vec![self.converted.classifiers.len() - 1];
        let rest = self.items[item].text.clone();
        self.pending.push(Pending { classifiers, rest, ..Pending::new(item) });
    }

    fn domain(&mut self, place: String, node: &Node, text: &str, key: &str) {
        let item = self.add(place, node, text, Outcome::Informal, "");
        let mut unread = Vec::new();
        let mut obligations = Vec::new();
        let mut read = false;
        for clause in domain::clauses(text) {
            match clause {
                Err(clause) => unread.push(format!("`{clause}`: {}", domain::why_not(&clause))),
                Ok((name, domain)) => {
                    let ours = self.name(&name);
                    if domain.is_empty() {
                        // A quantity without a domain may be any number.
                        self.domains.push((ours, domain, item));
                        read = true;
                    } else if self.converted.equations.iter().any(|equation| equation.name == ours) {
                        // Computed values have no domain; the clause becomes an obligation.
                        match domain::claim(&ours, &domain) {
                            Some(formal) => obligations.extend(self.claim(
                                &format!("{}-domain", kebab(&ours, "value")),
                                &formal,
                                &format!("Precondition of {key}."),
                            )),
                            None => unread.push(format!("`{name}`: computed values have no domain")),
                        }
                    } else {
                        self.domains.push((ours, domain, item));
                        read = true;
                    }
                }
            }
        }
        let whole = unread.is_empty() && !domain::has_remarks(text);
        let rest = if whole { String::new() } else { self.items[item].text.clone() };
        self.items[item].note = unread.join("; ");
        if read {
            self.items[item].outcome = Outcome::Formal;
        }
        self.pending.push(Pending { obligations, rest, ..Pending::new(item) });
    }

    /// Adds the statements of a text as obligations; all or none.
    fn claims(&mut self, item: usize, id: &str, text: &str, property: Option<&str>) {
        if let Some(why) = self.vector_in(text) {
            return self.items[item].note = why;
        }
        let translated = match self.rise(text) {
            Some(rise) => Ok(vec![rise]),
            None => statement::claims(&self.substitute_calls(text)),
        };
        let translated = match translated {
            Ok(translated) if !translated.is_empty() => translated,
            Ok(_) => return self.items[item].note = "empty statement".into(),
            Err(why) => return self.items[item].note = why,
        };
        let mut obligations = Vec::new();
        let several = translated.len() > 1;
        for (index, one) in translated.iter().enumerate() {
            let id = if several { format!("{id}-{}", index + 1) } else { id.to_owned() };
            let formal = self.rename_identifiers(&one.text);
            obligations.extend(self.claim(&id, &formal, property.unwrap_or_default()));
        }
        let ignored = translated.into_iter().filter_map(|one| one.ignored).collect();
        if let Some(property) = property {
            self.properties.insert(property.to_lowercase(), obligations.clone());
        }
        self.pending.push(Pending { obligations, ignored, ..Pending::new(item) });
    }

    /// Adds an obligation, or returns an existing equal one.
    fn claim(&mut self, id: &str, formal: &str, doc: &str) -> Option<usize> {
        if let Some(known) = self.converted.obligations.iter().position(|known| known.formal == formal) {
            return Some(known);
        }
        let base: String = id.chars().take(56).collect();
        let mut id = base.clone();
        for number in 2.. {
            if !self.converted.obligations.iter().any(|known| known.id == id) {
                break;
            }
            id = format!("{base}-{number}");
        }
        let (formal, doc) = (formal.to_owned(), doc.to_owned());
        self.converted.obligations.push(Obligation { id, formal, doc, ..Obligation::default() });
        Some(self.converted.obligations.len() - 1)
    }

    fn obligation(&mut self, index: usize, node: &Node) {
        let place = format!("proof_obligations[{index}]");
        let Node::Map(pairs, _) = node else {
            return self.keep_informal(&place, node, "expected a mapping for an obligation");
        };
        let property = get_text(pairs, "property").to_owned();
        let formal = get_text(pairs, "formal").to_owned();
        let item = self.add(place, node, &fields(pairs, &[]), Outcome::Informal, "");
        let tolerance = get_text(pairs, "tolerance").parse::<f64>().unwrap_or(0.0);
        if formal.is_empty() {
            self.items[item].note = "missing `formal`".into();
        } else if tolerance != 0.0 {
            self.items[item].note =
                format!("requires a tolerance of {tolerance}, which its formula does not state");
        } else {
            let id = kebab(if property.is_empty() { &formal } else { &property }, "obligation");
            self.claims(item, &id, &formal, Some(&property));
            if let Some(pending) = self.pending.last_mut().filter(|pending| pending.item == item) {
                let docs = pending.obligations.iter().map(|at| self.converted.obligations[*at].doc.as_str());
                let documented = docs.into_iter().any(|doc| doc == property);
                pending.rest = fields(pairs, if documented { &["property", "formal"] } else { &["formal"] });
            }
        }
    }

    /// The obligations that a test or harness refers to.
    fn obligations_for(&self, names: &[&str]) -> Option<Vec<usize>> {
        let known = || self.properties.keys().map(String::as_str);
        names.iter().map(|name| name.to_lowercase()).filter(|name| !name.is_empty()).find_map(|name| {
            let by_id =
                self.converted.obligations.iter().position(|obligation| obligation.id == kebab(&name, ""));
            let exact = self.properties.get(&name).cloned().or(by_id.map(|at| vec![at]));
            exact.or_else(|| {
                suggest::closest(&name, known()).and_then(|near| self.properties.get(near)).cloned()
            })
        })
    }

    fn test(&mut self, place: String, node: &Node) {
        let Node::Map(pairs, _) = node else {
            return self.keep_informal(&place, node, "expected a mapping for a test");
        };
        let (rule, if_fails) = (get_text(pairs, "rule"), get_text(pairs, "if_fails"));
        let item = self.add(place, node, &fields(pairs, &[]), Outcome::Informal, "");
        let Some(meant) = self.obligations_for(&[rule, get_text(pairs, "obligation")]) else {
            self.items[item].note = format!("no formal obligation named `{rule}`; a test is not a proof");
            return;
        };
        for at in &meant {
            if self.converted.obligations[*at].if_fails.is_empty() {
                self.converted.obligations[*at].if_fails = if_fails.to_owned();
            }
        }
        self.pending.push(Pending { obligations: meant, ..Pending::new(item) });
        self.items[item].outcome = Outcome::Folded;
    }

    fn harness(&mut self, place: String, node: &Node) {
        let Node::Map(pairs, _) = node else {
            return self.keep_informal(&place, node, "expected a mapping for a harness");
        };
        let (named, property) = (get_text(pairs, "obligation"), get_text(pairs, "property"));
        let item = self.add(place, node, &fields(pairs, &[]), Outcome::Informal, "");
        let Some(meant) = self.obligations_for(&[named, property]) else {
            self.items[item].note = format!("no formal obligation named `{named}`; the harness was not run");
            return;
        };
        let solver = get_text(pairs, "solver");
        let bound = get_text(pairs, "bound").parse::<u32>().ok();
        for at in &meant {
            let obligation = &mut self.converted.obligations[*at];
            if ["minisat", "cadical", "kissat"].contains(&solver) {
                obligation.solver.get_or_insert_with(|| solver.to_owned());
            }
            if let Some(bound) = bound.filter(|bound| (1..=crate::schema::MAX_UNWIND).contains(bound)) {
                obligation.unwind.get_or_insert(bound);
            }
        }
        self.pending.push(Pending { obligations: meant, ..Pending::new(item) });
        self.items[item].outcome = Outcome::Folded;
    }

    fn finish(mut self) -> Imported {
        let mut lost = Vec::new();
        for (name, domain, item) in self.domains.iter().filter(|(_, domain, _)| !domain.is_empty()) {
            let known = self.converted.domains.entry(name.clone()).or_insert_with(|| domain.clone());
            if known != domain {
                lost.push((
                    *item,
                    format!("`{name}` already has the domain {known}, which takes precedence"),
                ));
            }
        }
        let formal_names = self.converted.settle(&self.codomain_units);
        for (item, note) in lost {
            push_note(&mut self.items[item].note, &note);
        }
        for pending in &self.pending {
            self.converted.judge(pending, &mut self.items[pending.item]);
        }
        let mut settled: Vec<usize> = Vec::new();
        for (_, _, item) in &self.domains {
            let names: Vec<&str> =
                self.domains.iter().filter(|(.., at)| at == item).map(|(name, ..)| name.as_str()).collect();
            let used: Vec<&str> = names.iter().copied().filter(|name| formal_names.contains(*name)).collect();
            if self.items[*item].outcome != Outcome::Formal || settled.contains(item) {
                continue;
            }
            settled.push(*item);
            if used.is_empty() {
                self.items[*item].outcome = Outcome::Informal;
                self.items[*item].note = format!("not used by a formal equation: {}", names.join(", "));
            } else {
                let more = std::mem::take(&mut self.items[*item].note);
                self.items[*item].note = format!("domain of `{}`", used.join("`, `"));
                if !more.is_empty() {
                    push_note(&mut self.items[*item].note, &more);
                }
            }
        }
        let mut rests: BTreeMap<String, String> = BTreeMap::new();
        for pending in &self.pending {
            let item = &self.items[pending.item];
            let rest = if pending.ignored.is_empty() { &pending.rest } else { &item.text };
            if !rest.is_empty() {
                rests.insert(item.place.clone(), rest.clone());
            }
        }
        self.items.sort_by_key(|item| item.line);
        for item in &self.items {
            match (item.outcome, rests.get(&item.place)) {
                (Outcome::Informal | Outcome::Folded, _) => {
                    self.converted.informal.push((item.place.clone(), item.text.clone(), item.note.clone()));
                }
                (Outcome::Formal | Outcome::Proven | Outcome::Tested, Some(rest)) => {
                    let why = format!("not fully covered by the formal part: {}", item.note);
                    self.converted.informal.push((item.place.clone(), rest.clone(), why));
                }
                _ => {}
            }
        }
        let renamed =
            self.names.iter().filter(|(published, ours)| published != ours && formal_names.contains(*ours));
        Imported {
            id: self.converted.id.clone(),
            contract: self.converted.canonical(&self.source.name),
            renamed: renamed.map(|(published, ours)| (published.clone(), ours.clone())).collect(),
            units: self.converted.unit_report(),
            dropped_units: self.converted.dropped_units.clone(),
            conflicts: self.converted.conflicts.clone(),
            items: self.items,
        }
    }
}

/// The definition in a statement, in the grammar of formulas with published names.
struct Definition {
    name: String,
    formula: String,
    measured: Option<String>,
    operands: Vec<String>,
    unit: Option<String>,
    ignored: Vec<String>,
}

/// `grade = classify(ratio)`
fn is_classified(text: &str) -> bool {
    matches!(statement::sides(text).as_slice(), [name, call]
        if statement::is_name(name) && statement::head(call).is_some_and(|(function, _)| function.contains("class")))
}

/// The scalars below some keys, as `key: value; other.key: value`.
fn fields(pairs: &[(Text, Node)], without: &[&str]) -> String {
    fn walk(place: &str, node: &Node, out: &mut Vec<String>) {
        match node {
            Node::Text(text) if text.value.trim().is_empty() => {}
            Node::Text(text) => out.push(format!("{place}: {}", text.value.trim())),
            Node::List(items, _) => {
                items
                    .iter()
                    .enumerate()
                    .for_each(|(index, item)| walk(&format!("{place}[{index}]"), item, out));
            }
            Node::Map(pairs, _) => {
                pairs.iter().for_each(|(key, value)| walk(&format!("{place}.{}", key.value), value, out));
            }
        }
    }
    let mut out = Vec::new();
    for (key, value) in pairs.iter().filter(|(key, _)| !without.contains(&key.value.as_str())) {
        walk(&key.value, value, &mut out);
    }
    out.join("; ")
}

fn push_note(note: &mut String, more: &str) {
    if !note.is_empty() {
        note.push_str("; ");
    }
    note.push_str(more);
}

/// Greek letters that are common in formulas.
const GREEK: [(char, &str); 12] = [
    ('α', "alpha"),
    ('β', "beta"),
    ('γ', "gamma"),
    ('δ', "delta"),
    ('ε', "epsilon"),
    ('η', "eta"),
    ('θ', "theta"),
    ('λ', "lambda"),
    ('μ', "mu"),
    ('π', "pi"),
    ('σ', "sigma"),
    ('τ', "tau"),
];

/// Converts to a valid Rust name: lower-case letters, digits and `_`.
fn snake(name: &str) -> String {
    let mut out = String::new();
    for character in name.chars() {
        match GREEK.iter().find(|(greek, _)| *greek == character) {
            Some((_, word)) => out += word,
            None if character.is_ascii_alphanumeric() => out.push(character.to_ascii_lowercase()),
            None => out.push('_'),
        }
    }
    if !out.starts_with(|c: char| c.is_ascii_lowercase()) {
        out.insert_str(0, "x_");
    }
    out.truncate(56);
    out
}

/// Converts to a name of an obligation or a contract: words separated by dashes.
fn kebab(text: &str, otherwise: &str) -> String {
    let words: Vec<String> = text
        .split(|c: char| !c.is_ascii_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_ascii_lowercase)
        .collect();
    let mut out = words.join("-");
    out.truncate(56);
    let out = out.trim_matches('-').to_owned();
    match out.chars().next() {
        None => otherwise.to_owned(),
        Some(first) if first.is_ascii_lowercase() => out,
        Some(_) => format!("n-{out}"),
    }
}
