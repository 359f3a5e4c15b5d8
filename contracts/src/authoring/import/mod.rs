//! Contracts in the published provable-contracts format, imported: what parses becomes formal, what holds is
//! proven or tested by a run, and everything else is kept as documentation that nothing checks. The report says of
//! each item what became of it and why.

mod domain;
mod draft;
mod statement;
mod unit;

use std::collections::BTreeMap;

use crate::formula::RESERVED;
use crate::names;
use crate::report::{Mistake, Report};
use crate::source::{Source, Text};
use crate::suggest;
use crate::yaml::{self, Node};

use draft::{Draft, Equation, Obligation};
use statement::Translated;

/// What became of an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Part of the contract's formulas, domains or metadata.
    Formal,
    /// An obligation, proven at all points of the domains.
    Proven,
    /// An obligation that the falsifier tried in vain to refute, and that is not proven.
    Tested,
    /// Part of another item.
    Folded,
    /// Kept as documentation; nothing checks it.
    Informal,
}

impl Outcome {
    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Outcome::Formal => "formal",
            Outcome::Proven => "proven",
            Outcome::Tested => "tested",
            Outcome::Folded => "folded",
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
    /// What it says.
    pub text: String,
    /// What became of it.
    pub outcome: Outcome,
    /// What it became, or why it could not be made formal.
    pub note: String,
}

/// An imported contract.
#[derive(Clone, Debug)]
pub struct Imported {
    /// Its name.
    pub id: String,
    /// The contract in our language, in canonical form. It compiles.
    pub contract: String,
    /// Every item of the published contract, in its order.
    pub items: Vec<Item>,
    /// Names that could not stay: as published, and ours.
    pub renamed: Vec<(String, String)>,
    /// Units with where they come from: name, unit, why.
    pub units: Vec<(String, String, String)>,
    /// Proposals of units that the formulas contradict.
    pub dropped_units: Vec<String>,
}

/// Brings a contract over. Only a file that is not YAML, or no mapping, fails.
pub fn import(source: &Source) -> Result<Imported, Vec<Mistake>> {
    let mut report = Report::new();
    let tree = yaml::tree(source, &mut report);
    let mistakes = report.finish();
    match tree {
        Some(Node::Map(pairs, _)) if mistakes.is_empty() => Ok(Reader::new(source).read(&pairs)),
        Some(node) if mistakes.is_empty() => {
            let message = format!("a published contract is a mapping, not {}", node.what());
            Err(vec![Mistake::error(node.span(), message)])
        }
        _ => Err(mistakes),
    }
}

/// An item whose fate is open until the contract has been checked and proven.
#[derive(Clone, Debug)]
struct Pending {
    item: usize,
    /// Parts of the draft that stand for it.
    equations: Vec<usize>,
    obligations: Vec<usize>,
    left_out: Vec<String>,
}

struct Reader<'a> {
    source: &'a Source,
    items: Vec<Item>,
    pending: Vec<Pending>,
    draft: Draft,
    /// Published names and ours.
    names: BTreeMap<String, String>,
    /// Which obligations stand for a property, lower-case.
    properties: BTreeMap<String, Vec<usize>>,
    /// Domain clauses: the name as published, the domain, the item.
    domains: Vec<(String, String, usize)>,
    /// Units that a codomain names, by our name.
    codomain_units: BTreeMap<String, String>,
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
        let mut draft = Draft::default();
        draft.id = kebab(stem, "contract");
        Reader {
            source,
            items: Vec::new(),
            pending: Vec::new(),
            draft,
            names: BTreeMap::new(),
            properties: BTreeMap::new(),
            domains: Vec::new(),
            codomain_units: BTreeMap::new(),
        }
    }

    fn read(mut self, pairs: &[(Text, Node)]) -> Imported {
        self.metadata(get(pairs, "metadata"));
        if let Some(Node::Map(equations, _)) = get(pairs, "equations") {
            // Names of equations first, so that a domain over one of them is told from that of an input.
            for (name, node) in equations {
                self.formula(&name.value, node);
            }
            for (name, node) in equations {
                self.about_equation(&name.value, node);
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
        let known = ["metadata", "equations", "proof_obligations", "falsification_tests", "kani_harnesses"];
        for (name, node) in pairs {
            if !known.contains(&name.value.as_str()) {
                self.everything(&name.value, node, "the contract language has no place for it");
            } else if name.value != "metadata" && scalar(node).is_some_and(|text| !text.value.is_empty()) {
                self.everything(&name.value, node, "it is not a section");
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

    /// Everything below a node, as documentation.
    fn everything(&mut self, place: &str, node: &Node, why: &str) {
        match node {
            Node::Text(text) if text.value.trim().is_empty() => {}
            Node::Text(text) => {
                self.add(place.to_owned(), node, &text.value, Outcome::Informal, why);
            }
            Node::List(items, _) => {
                for (index, item) in items.iter().enumerate() {
                    self.everything(&format!("{place}[{index}]"), item, why);
                }
            }
            Node::Map(pairs, _) => {
                for (key, value) in pairs {
                    self.everything(&format!("{place}.{}", key.value), value, why);
                }
            }
        }
    }

    fn metadata(&mut self, node: Option<&Node>) {
        self.draft.version = "1.0.0".into();
        self.draft.description = format!("Imported from {}", self.source.name);
        let Some(Node::Map(pairs, _)) = node else { return };
        for (key, value) in pairs {
            let place = format!("metadata.{}", key.value);
            match (key.value.as_str(), value) {
                ("version", Node::Text(text)) => {
                    let version = text.value.trim();
                    // `2.1` says as much as `2.1.0`.
                    let full = if version.matches('.').count() == 1 {
                        format!("{version}.0")
                    } else {
                        version.into()
                    };
                    if semver::Version::parse(&full).is_ok() {
                        self.add(place, value, version, Outcome::Formal, &format!("version {full}"));
                        self.draft.version = full;
                    } else {
                        self.add(
                            place,
                            value,
                            version,
                            Outcome::Informal,
                            "no semantic version; 1.0.0 is used instead",
                        );
                    }
                }
                ("description", Node::Text(text)) if !text.value.trim().is_empty() => {
                    self.draft.description = text.value.trim().to_owned();
                    self.add(place, value, &text.value, Outcome::Formal, "the description");
                }
                ("references", Node::List(list, _)) => {
                    for (index, reference) in list.iter().enumerate() {
                        let place = format!("{place}[{index}]");
                        match scalar(reference).filter(|text| !text.value.trim().is_empty()) {
                            Some(text) => {
                                self.draft.references.push(text.value.trim().to_owned());
                                self.add(place, reference, &text.value, Outcome::Formal, "a reference");
                            }
                            None => self.everything(&place, reference, "it is no text"),
                        }
                    }
                }
                ("depends_on", value) => {
                    let why =
                        "it names no version; bring that contract over and write `depends_on: [name ^1.0]`";
                    self.everything(&place, value, why);
                }
                _ => self.everything(&place, value, "the contract language has no place for it"),
            }
        }
    }

    /// Our name for a published one.
    fn name(&mut self, published: &str) -> String {
        if let Some(known) = self.names.get(published) {
            return known.clone();
        }
        let mut ours = snake(published);
        if names::is_keyword(&ours)
            || RESERVED.contains(&ours.as_str())
            || draft::TAKEN.contains(&ours.as_str())
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

    /// A text in our grammar with our names.
    fn renamed(&mut self, text: &str) -> String {
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
            self.everything(&format!("equations.{key}"), node, "an equation is a mapping");
            return;
        };
        let Some(node) = get(pairs, "formula") else { return };
        let Some(text) = scalar(node) else {
            self.everything(&place, node, "a formula is a text");
            return;
        };
        let item = self.add(place, node, &text.value, Outcome::Informal, "");
        let parts = statement::statements(&text.value);
        let several = parts.len() > 1;
        let mut found: Vec<(String, Option<String>, String)> = Vec::new();
        let mut left_out = Vec::new();
        for part in parts {
            let mut text = statement::ascii(part);
            let mut statement = statement::equation(&text);
            if statement.is_none()
                && let Some((head, remark)) = statement::remark(part)
            {
                text = statement::ascii(head);
                statement = statement::equation(&text);
                left_out.extend(statement.is_some().then(|| format!("({remark})")));
            }
            let Some(statement) = statement else {
                self.items[item].note = statement::why_not(part);
                return;
            };
            if statement::is_claim(&statement.formula) {
                // A condition defines no value; it is something that must hold.
                self.claims(item, &kebab(key, "condition"), part, None);
                return;
            }
            let left = statement.left.as_ref().map(|(name, _)| name.clone());
            let right = text.split_once(if statement.bound { "<=" } else { "=" }).map_or(
                text.as_str(),
                |(_, right)| {
                    if left.is_some() { right.trim() } else { text.as_str() }
                },
            );
            let name = match (&left, statement.bound) {
                (Some(left), false) => left.clone(),
                _ if several => format!("{key}_{}", found.len() + 1),
                _ => key.to_owned(),
            };
            found.push((name, left.filter(|_| statement.bound), right.to_owned()));
        }
        let mut equations = Vec::new();
        for (name, measured, right) in found {
            let name = self.name(&name);
            let formula = self.renamed(&right);
            if self.draft.equations.iter().any(|known| known.name == name) {
                self.items[item].note = format!("there is already an equation `{name}`");
                return;
            }
            let measured = measured.map(|measured| self.name(&measured));
            let published = if snake(key) == name { String::new() } else { format!("Published as {key}.") };
            self.draft.equations.push(Equation {
                name,
                measured,
                formula,
                doc: published,
                ..Equation::default()
            });
            equations.push(self.draft.equations.len() - 1);
        }
        self.pending.push(Pending { item, equations, obligations: Vec::new(), left_out });
    }

    fn about_equation(&mut self, key: &str, node: &Node) {
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
                    self.claims(item, &format!("{}-codomain", kebab(key, "equation")), &text.value, None);
                }
                ("invariants" | "preconditions" | "postconditions", Node::List(list, _)) => {
                    let word = about.value.trim_end_matches('s').to_owned();
                    for (index, node) in list.iter().enumerate() {
                        let place = format!("{place}[{index}]");
                        let Some(text) = scalar(node) else {
                            self.everything(&place, node, "it is no text");
                            continue;
                        };
                        let item = self.add(place, node, &text.value, Outcome::Informal, "");
                        if word == "precondition" {
                            self.items[item].note =
                                "it is asked of the caller; domains say what a caller may pass".into();
                            continue;
                        }
                        let id = format!("{}-{word}-{}", kebab(key, "equation"), index + 1);
                        self.claims(item, &id, &text.value, None);
                    }
                }
                _ => self.everything(&place, value, "the contract language has no place for it"),
            }
        }
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
                    if self.draft.equations.iter().any(|equation| equation.name == ours) {
                        // A computed value has no domain; that it lies there is something to prove.
                        match domain::claim(&ours, &domain) {
                            Some(formal) => obligations.extend(self.claim(
                                &format!("{}-domain", kebab(&ours, "value")),
                                &formal,
                                &format!("What {key} asks of its operand."),
                            )),
                            None => unread.push(format!("`{name}`: a computed value has no domain")),
                        }
                    } else {
                        self.domains.push((ours, domain, item));
                        read = true;
                    }
                }
            }
        }
        self.items[item].note = unread.join("; ");
        if read {
            self.items[item].outcome = Outcome::Formal;
        }
        self.pending.push(Pending { item, equations: Vec::new(), obligations, left_out: Vec::new() });
    }

    /// The statements of a text as obligations; all or none.
    fn claims(&mut self, item: usize, id: &str, text: &str, property: Option<&str>) {
        let parts = statement::statements(text);
        let translated: Result<Vec<Translated>, String> =
            parts.iter().map(|part| statement::claim(part)).collect();
        let translated = match translated {
            Ok(translated) if !translated.is_empty() => translated,
            Ok(_) => return self.items[item].note = "it says nothing".into(),
            Err(why) => return self.items[item].note = why,
        };
        let mut obligations = Vec::new();
        let several = translated.len() > 1;
        for (index, one) in translated.iter().enumerate() {
            let id = if several { format!("{id}-{}", index + 1) } else { id.to_owned() };
            let formal = self.renamed(&one.text);
            obligations.extend(self.claim(&id, &formal, property.unwrap_or_default()));
        }
        let left_out = translated.into_iter().filter_map(|one| one.left_out).collect();
        if let Some(property) = property {
            self.properties.insert(property.to_lowercase(), obligations.clone());
        }
        self.pending.push(Pending { item, equations: Vec::new(), obligations, left_out });
    }

    /// One obligation; an equal one that is there already counts.
    fn claim(&mut self, id: &str, formal: &str, doc: &str) -> Option<usize> {
        if let Some(known) = self.draft.obligations.iter().position(|known| known.formal == formal) {
            return Some(known);
        }
        let base: String = id.chars().take(56).collect();
        let mut id = base.clone();
        for number in 2.. {
            if !self.draft.obligations.iter().any(|known| known.id == id) {
                break;
            }
            id = format!("{base}-{number}");
        }
        let (formal, doc) = (formal.to_owned(), doc.to_owned());
        self.draft.obligations.push(Obligation { id, formal, doc, ..Obligation::default() });
        Some(self.draft.obligations.len() - 1)
    }

    fn obligation(&mut self, index: usize, node: &Node) {
        let place = format!("proof_obligations[{index}]");
        let Node::Map(pairs, _) = node else {
            return self.everything(&place, node, "an obligation is a mapping");
        };
        let property = get_text(pairs, "property").to_owned();
        let formal = get_text(pairs, "formal").to_owned();
        let text = match (property.as_str(), formal.as_str()) {
            (property, "") => property.to_owned(),
            ("", formal) => formal.to_owned(),
            (property, formal) => format!("{property}: {formal}"),
        };
        let item = self.add(place, node, &text, Outcome::Informal, "");
        let tolerance = get_text(pairs, "tolerance").parse::<f64>().unwrap_or(0.0);
        if formal.is_empty() {
            self.items[item].note = "it has no `formal` text".into();
        } else if tolerance != 0.0 {
            self.items[item].note =
                format!("it holds only within a tolerance of {tolerance}, of which its text says nothing");
        } else {
            let id = kebab(if property.is_empty() { &formal } else { &property }, "obligation");
            self.claims(item, &id, &formal, Some(&property));
        }
    }

    /// The obligations that a test or harness is about.
    fn meant(&self, names: &[&str]) -> Option<Vec<usize>> {
        let known = || self.properties.keys().map(String::as_str);
        names.iter().map(|name| name.to_lowercase()).filter(|name| !name.is_empty()).find_map(|name| {
            let by_id =
                self.draft.obligations.iter().position(|obligation| obligation.id == kebab(&name, ""));
            let exact = self.properties.get(&name).cloned().or(by_id.map(|at| vec![at]));
            exact.or_else(|| {
                suggest::closest(&name, known()).and_then(|near| self.properties.get(near)).cloned()
            })
        })
    }

    fn test(&mut self, place: String, node: &Node) {
        let Node::Map(pairs, _) = node else { return self.everything(&place, node, "a test is a mapping") };
        let (rule, if_fails) = (get_text(pairs, "rule"), get_text(pairs, "if_fails"));
        let text = format!("{rule}: {}", get_text(pairs, "prediction"));
        let item = self.add(place, node, &text, Outcome::Informal, "");
        let Some(meant) = self.meant(&[rule, get_text(pairs, "obligation")]) else {
            self.items[item].note =
                format!("there is no formal obligation named `{rule}`; a test is not a proof");
            return;
        };
        for at in &meant {
            if self.draft.obligations[*at].if_fails.is_empty() {
                self.draft.obligations[*at].if_fails = if_fails.to_owned();
            }
        }
        self.pending.push(Pending { item, equations: Vec::new(), obligations: meant, left_out: Vec::new() });
        self.items[item].outcome = Outcome::Folded;
    }

    fn harness(&mut self, place: String, node: &Node) {
        let Node::Map(pairs, _) = node else {
            return self.everything(&place, node, "a harness is a mapping");
        };
        let (named, property) = (get_text(pairs, "obligation"), get_text(pairs, "property"));
        let text = format!("{named}: {property}");
        let item = self.add(place, node, &text, Outcome::Informal, "");
        let Some(meant) = self.meant(&[named, property]) else {
            self.items[item].note = format!(
                "there is no formal obligation named `{named}`; a harness that is named is not one that ran"
            );
            return;
        };
        let solver = get_text(pairs, "solver");
        let bound = get_text(pairs, "bound").parse::<u32>().ok();
        for at in &meant {
            let obligation = &mut self.draft.obligations[*at];
            if ["minisat", "cadical", "kissat"].contains(&solver) {
                obligation.solver.get_or_insert_with(|| solver.to_owned());
            }
            if let Some(bound) = bound.filter(|bound| (1..=crate::schema::MAX_UNWIND).contains(bound)) {
                obligation.unwind.get_or_insert(bound);
            }
        }
        self.pending.push(Pending { item, equations: Vec::new(), obligations: meant, left_out: Vec::new() });
        self.items[item].outcome = Outcome::Folded;
    }

    fn finish(mut self) -> Imported {
        let mut lost = Vec::new();
        for (name, domain, item) in &self.domains {
            let known = self.draft.domains.entry(name.clone()).or_insert_with(|| domain.clone());
            if known != domain {
                lost.push((*item, format!("`{name}` has the domain {known} elsewhere, which counts")));
            }
        }
        let draft_names = self.draft.settle(&self.codomain_units);
        for (item, note) in lost {
            push_note(&mut self.items[item].note, &note);
        }
        for pending in &self.pending {
            self.draft.judge(pending, &mut self.items[pending.item]);
        }
        let mut settled: Vec<usize> = Vec::new();
        for (_, _, item) in &self.domains {
            let names: Vec<&str> =
                self.domains.iter().filter(|(.., at)| at == item).map(|(name, ..)| name.as_str()).collect();
            let used: Vec<&str> = names.iter().copied().filter(|name| draft_names.contains(*name)).collect();
            if self.items[*item].outcome != Outcome::Formal || settled.contains(item) {
                continue;
            }
            settled.push(*item);
            if used.is_empty() {
                self.items[*item].outcome = Outcome::Informal;
                self.items[*item].note = format!("no formula that became formal uses {}", names.join(", "));
            } else {
                let more = std::mem::take(&mut self.items[*item].note);
                self.items[*item].note = format!("the domain of `{}`", used.join("`, `"));
                if !more.is_empty() {
                    push_note(&mut self.items[*item].note, &more);
                }
            }
        }
        self.items.sort_by_key(|item| item.line);
        for item in self.items.iter().filter(|item| item.outcome == Outcome::Informal) {
            self.draft.informal.push((item.place.clone(), item.text.clone(), item.note.clone()));
        }
        let renamed =
            self.names.iter().filter(|(published, ours)| published != ours && draft_names.contains(*ours));
        Imported {
            id: self.draft.id.clone(),
            contract: self.draft.canonical(&self.source.name),
            renamed: renamed.map(|(published, ours)| (published.clone(), ours.clone())).collect(),
            units: self.draft.unit_report(),
            dropped_units: self.draft.dropped_units.clone(),
            items: self.items,
        }
    }
}

fn push_note(note: &mut String, more: &str) {
    if !note.is_empty() {
        note.push_str("; ");
    }
    note.push_str(more);
}

/// Greek letters that formulas are fond of.
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

/// A name that Rust can have: lower-case letters, digits and `_`.
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

/// A name for an obligation or a contract: words with dashes between.
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
