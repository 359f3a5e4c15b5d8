//! What changed between two versions of a contract, item by item, and how far that raises its version.
//!
//! The rules of the steps are those of docs/DIFF.md.

use std::collections::{BTreeMap, BTreeSet};

use roofline_contracts::contract::{
    Case, Claim, Classifier, Contract, Entry, Equation, Expression, Field, FieldKind, Obligation, Priority,
    Quantity, Recommendation, Requirement, Table, Value, Verdict,
};
use roofline_contracts::formula::{Kind, number};
use roofline_contracts::prove::Proof;
use schemars::JsonSchema;
use serde::{Serialize, Serializer};

use super::step::Step;
use super::values::{Example, POINTS, Probe, Space, Values, Worst, within};

/// One thing that was added, removed, renamed or changed.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Change {
    /// `quantity`, `equation`, ...
    pub section: &'static str,
    /// Its name; `old -> new` when it was renamed.
    pub name: String,
    /// `added`, `removed`, `renamed` or `changed`.
    pub kind: &'static str,
    /// What it asks of the version.
    #[serde(serialize_with = "step_word")]
    #[schemars(with = "String")]
    pub step: Step,
    /// What about it.
    pub details: Vec<Detail>,
}

/// One aspect of a change.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Detail {
    /// The aspect: `unit`, `domain`, `formula`, ...
    pub what: String,
    /// As it was; empty where there was nothing.
    pub before: String,
    /// As it is; empty where nothing is left.
    pub after: String,
    /// What it means; empty where that is plain.
    pub note: String,
    /// What it asks of the version.
    #[serde(serialize_with = "step_word")]
    #[schemars(with = "String")]
    pub step: Step,
    /// Where the values differ most.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub points: Vec<Example>,
}

fn step_word<S: Serializer>(step: &Step, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(step.word())
}

impl Detail {
    fn new(what: &str, before: impl Into<String>, after: impl Into<String>, step: Step) -> Detail {
        let (before, after) = (before.into(), after.into());
        Detail { what: what.to_owned(), before, after, note: String::new(), step, points: Vec::new() }
    }

    fn note(mut self, note: impl Into<String>) -> Detail {
        self.note = note.into();
        self
    }
}

/// The changes of one item, gathered.
struct Gather(Vec<Detail>);

impl Gather {
    /// A text that differs.
    fn text(&mut self, what: &str, before: &str, after: &str, step: Step) {
        if before != after {
            self.0.push(Detail::new(what, before, after, step));
        }
    }

    /// How the values of the two versions compare, if they do not plainly agree. `through` names what else changed
    /// underneath when the text is the same.
    fn values(
        &mut self,
        what: &str,
        texts: (&str, &str),
        values: &Values,
        different: Step,
        through: &[String],
        examples: impl FnOnce(&Worst) -> Vec<Example>,
    ) {
        let (before, after) = texts;
        if before == after && *values == Values::Same {
            return;
        }
        let through = if before == after { through } else { &[] };
        let (mut note, step, points) = match values {
            Values::Same => ("equal after normalization".to_owned(), Step::Patch, Vec::new()),
            Values::Equal => (format!("equal on all {POINTS} points tried"), Step::Patch, Vec::new()),
            Values::Rounding(most) => (
                format!("equal but for rounding: at most {most:.1e} apart, relative, on {POINTS} points"),
                Step::Patch,
                Vec::new(),
            ),
            Values::Different(count, worst) => {
                // The points stand where the cause is.
                let points = if through.is_empty() { examples(worst) } else { Vec::new() };
                (format!("different at {count} of {POINTS} points"), different, points)
            }
            Values::Nowhere => ("the domains have no point in common".to_owned(), different, Vec::new()),
        };
        if !through.is_empty() {
            note += &format!(", through {}", through.join(", "));
        }
        self.0.push(Detail { points, ..Detail::new(what, before, after, step).note(note) });
    }

    fn finish(self, section: &'static str, name: String, kind: &'static str, least: Step) -> Option<Change> {
        let step = self.0.iter().map(|detail| detail.step).max();
        let step = if kind == "changed" { step? } else { step.map_or(least, |step| step.max(least)) };
        Some(Change { section, name, kind, step, details: self.0 })
    }
}

/// Old and new items by their names: pairs in the new order, then what is left.
struct Matched<'a, T> {
    both: Vec<(&'a T, &'a T)>,
    renamed: Vec<(&'a T, &'a T)>,
    added: Vec<&'a T>,
    removed: Vec<&'a T>,
}

/// Which version an item belongs to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Age {
    Old,
    New,
}

/// Pairs items by name; among the rest, one that is gone and one that is new are a rename when they have the same likeness and
/// no other item has it.
fn matched<'a, T>(
    old: impl Iterator<Item = &'a T>,
    new: impl Iterator<Item = &'a T>,
    name: impl Fn(&T) -> &str,
    likeness: impl Fn(Age, &T) -> Option<String>,
) -> Matched<'a, T> {
    let old: Vec<&T> = old.collect();
    let mut by_name: BTreeMap<&str, &T> = old.iter().map(|item| (name(item), *item)).collect();
    let (mut both, mut fresh) = (Vec::new(), Vec::new());
    for item in new {
        match by_name.remove(name(item)) {
            Some(before) => both.push((before, item)),
            None => fresh.push(item),
        }
    }
    let gone: Vec<&T> = old.into_iter().filter(|item| by_name.contains_key(name(item))).collect();
    let mut alike: BTreeMap<String, [Vec<usize>; 2]> = BTreeMap::new();
    for (side, (age, items)) in [(Age::Old, &gone), (Age::New, &fresh)].into_iter().enumerate() {
        for (at, item) in items.iter().enumerate() {
            if let Some(likeness) = likeness(age, item) {
                alike.entry(likeness).or_default()[side].push(at);
            }
        }
    }
    let mut renamed: Vec<(usize, usize)> = (alike.values())
        .filter_map(|sides| match sides.each_ref().map(Vec::as_slice) {
            [[old], [new]] => Some((*new, *old)),
            _ => None,
        })
        .collect();
    renamed.sort_unstable();
    let taken: [BTreeSet<usize>; 2] =
        [renamed.iter().map(|(_, old)| *old).collect(), renamed.iter().map(|(new, _)| *new).collect()];
    let rest = |items: &[&'a T], taken: &BTreeSet<usize>| -> Vec<&'a T> {
        items.iter().enumerate().filter(|(at, _)| !taken.contains(at)).map(|(_, item)| *item).collect()
    };
    Matched {
        both,
        removed: rest(&gone, &taken[0]),
        added: rest(&fresh, &taken[1]),
        renamed: renamed.into_iter().map(|(new, old)| (gone[old], fresh[new])).collect(),
    }
}

/// The likeness of things that have none.
fn unlike<T>(_: Age, _: &T) -> Option<String> {
    None
}

impl<T> Matched<'_, T> {
    /// What was added, which asks for a minor version, and what was removed, which asks for a major one; `text` says
    /// what it was about.
    fn rest(
        &self,
        section: &'static str,
        name: impl Fn(&T) -> String,
        what: &str,
        text: impl Fn(&T) -> String,
    ) -> Vec<Change> {
        let added = self.added.iter().map(|new| {
            let detail = Detail::new(what, "", text(new), Step::Minor);
            change(section, &name(new), "added", Step::Minor, Some(detail))
        });
        let removed = self.removed.iter().map(|old| {
            let detail = Detail::new(what, text(old), "", Step::Major);
            change(section, &name(old), "removed", Step::Major, Some(detail))
        });
        added.chain(removed).collect()
    }
}

/// A version of a contract and what was proven of it.
#[derive(Clone, Copy)]
pub struct Proven<'a> {
    /// The contract.
    pub contract: &'a Contract,
    /// One for each obligation.
    pub proofs: &'a [Proof],
}

/// Everything that changed from the old version to the new one.
pub fn compare(old: Proven<'_>, new: Proven<'_>) -> Vec<Change> {
    let quantities = matched(
        old.contract.quantities.iter(),
        new.contract.quantities.iter(),
        |quantity| &quantity.name,
        |_, quantity| {
            let Quantity { unit, domain, default, doc, .. } = quantity;
            (!doc.is_empty()).then(|| format!("{unit:?} {domain:?} {default:?} {doc}"))
        },
    );
    let mut names: BTreeMap<&str, &str> =
        quantities.renamed.iter().map(|(old, new)| (old.name.as_str(), new.name.as_str())).collect();
    let space = Space::new(old.contract, new.contract, &names);
    let mut changes = metadata(old.contract, new.contract);
    changes.extend(self::quantities(&quantities));
    changes.extend(order(old.contract, new.contract, &names));
    changes.extend(requirements(old.contract, new.contract, &space));
    let (changed, differs) = equations(old.contract, new.contract, &space, &mut names);
    changes.extend(changed);
    changes.extend(classifiers(old.contract, new.contract, &space, &differs, &names));
    changes.extend(tables(old.contract, new.contract));
    changes.extend(recommendations(old.contract, new.contract, &space));
    changes.extend(obligations(old, new, &space));
    changes
}

fn change(
    section: &'static str,
    name: &str,
    kind: &'static str,
    step: Step,
    detail: Option<Detail>,
) -> Change {
    Change { section, name: name.to_owned(), kind, step, details: detail.into_iter().collect() }
}

fn renaming(old: &str, new: &str) -> String {
    format!("{old} -> {new}")
}

fn metadata(old: &Contract, new: &Contract) -> Vec<Change> {
    let mut gather = Gather(Vec::new());
    let stem = |contract: &Contract| {
        let file = contract.source.name.rsplit(['/', '\\']).next().unwrap_or_default();
        file.split('.').next() == Some(contract.metadata.id.as_str())
    };
    // An id that is only the name of the file is no statement of the contract.
    if !(stem(old) && stem(new)) {
        gather.text("id", &old.metadata.id, &new.metadata.id, Step::Major);
    }
    gather.text("description", &old.metadata.description, &new.metadata.description, Step::Patch);
    gather.text(
        "references",
        &old.metadata.references.join("; "),
        &new.metadata.references.join("; "),
        Step::Patch,
    );
    let mut changes: Vec<Change> =
        gather.finish("metadata", new.metadata.id.clone(), "changed", Step::Patch).into_iter().collect();
    let found =
        matched(old.dependencies.iter(), new.dependencies.iter(), |contract| &contract.metadata.id, unlike);
    for (before, after) in found.both {
        let (from, to) = (&before.metadata.version, &after.metadata.version);
        let (earlier, later) = if from <= to { (from, to) } else { (to, from) };
        if let Some(step) = Step::between(earlier, later) {
            let detail = Detail::new("version", from.to_string(), to.to_string(), step);
            changes.push(change("dependency", &after.metadata.id, "changed", step, Some(detail)));
        }
    }
    let version =
        |what: &Contract| Detail::new("version", "", what.metadata.version.to_string(), Step::Minor);
    changes.extend(
        found
            .added
            .iter()
            .map(|new| change("dependency", &new.metadata.id, "added", Step::Minor, Some(version(new)))),
    );
    changes.extend(
        found.removed.iter().map(|old| change("dependency", &old.metadata.id, "removed", Step::Major, None)),
    );
    changes
}

fn origin(origin: Option<&str>) -> Option<String> {
    origin.map(|origin| format!("from {origin}"))
}

fn quantities(found: &Matched<'_, Quantity>) -> Vec<Change> {
    let default =
        |quantity: &Quantity| quantity.default.map(|value| quantity.show(value)).unwrap_or_default();
    let summary = |quantity: &Quantity| {
        let default =
            quantity.default.map(|value| format!(", default {}", quantity.show(value))).unwrap_or_default();
        let from = origin(quantity.origin.as_deref()).map(|from| format!(", {from}")).unwrap_or_default();
        let unit =
            if quantity.cases.is_empty() { format!("{}, ", quantity.unit_text) } else { String::new() };
        format!("{unit}{}{default}{from}", quantity.domain)
    };
    let compared = |old: &Quantity, new: &Quantity| {
        let mut gather = Gather(Vec::new());
        unit(&mut gather, (&old.unit_text, &new.unit_text), old.unit == new.unit);
        domain(&mut gather, old, new);
        if old.default != new.default {
            let note = match (old.default, new.default) {
                (None, _) | (_, None) => "it changes the arguments of `Inputs::new`",
                _ => "those who do not set it get another value",
            };
            gather.0.push(Detail::new("default", default(old), default(new), Step::Major).note(note));
        }
        gather.text("doc", &old.doc, &new.doc, Step::Patch);
        gather
    };
    let mut changes = Vec::new();
    for (old, new) in &found.both {
        changes.extend(compared(old, new).finish("quantity", new.name.clone(), "changed", Step::Patch));
    }
    for (old, new) in &found.renamed {
        let name = renaming(&old.name, &new.name);
        changes.extend(compared(old, new).finish("quantity", name, "renamed", Step::Major));
    }
    for new in &found.added {
        let (step, note) = match new.default {
            Some(_) => (Step::Minor, ""),
            None => (Step::Major, "it has no default: everyone must give it"),
        };
        let detail = Detail::new("", "", summary(new), step).note(note);
        changes.push(change("quantity", &new.name, "added", step, Some(detail)));
    }
    for old in &found.removed {
        let detail = Detail::new("", summary(old), "", Step::Major);
        changes.push(change("quantity", &old.name, "removed", Step::Major, Some(detail)));
    }
    changes
}

/// A requirement that is new refuses points that were accepted; one that is gone accepts more.
fn requirements(old: &Contract, new: &Contract, space: &Space<'_>) -> Vec<Change> {
    let same = |old: &Requirement, new: &Requirement| space.same(old.expression.id, new.expression.id);
    let text = |requirement: &Requirement| requirement.expression.formula.to_string();
    let added = new.requires.iter().filter(|new| !old.requires.iter().any(|old| same(old, new))).map(|new| {
        let detail =
            Detail::new("", "", text(new), Step::Major).note("points that do not meet it are refused");
        change("requirement", &text(new), "added", Step::Major, Some(detail))
    });
    let removed =
        old.requires.iter().filter(|old| !new.requires.iter().any(|new| same(old, new))).map(|old| {
            let detail = Detail::new("", text(old), "", Step::Minor).note("more points are accepted");
            change("requirement", &text(old), "removed", Step::Minor, Some(detail))
        });
    added.chain(removed).collect()
}

fn unit(gather: &mut Gather, texts: (&str, &str), same: bool) {
    if texts.0 != texts.1 {
        let detail = Detail::new("unit", texts.0, texts.1, if same { Step::Patch } else { Step::Major });
        gather.0.push(detail.note(if same { "the same unit, written otherwise" } else { "" }));
    }
}

fn domain(gather: &mut Gather, old: &Quantity, new: &Quantity) {
    let (before, after) = (old.domain.to_string(), new.domain.to_string());
    if before == after {
        return;
    }
    if old.cases != new.cases {
        let note = "a `match` on it has to change";
        gather.0.push(Detail::new("one_of", before, after, Step::Major).note(note));
        return;
    }
    let (note, step) = match (within(&new.domain, &old.domain), within(&old.domain, &new.domain)) {
        (true, true) => ("the same values, written otherwise", Step::Patch),
        (true, false) => ("narrowed", Step::Major),
        (false, true) => ("widened", Step::Minor),
        (false, false) => ("some values are gone and some are new", Step::Major),
    };
    gather.0.push(Detail::new("domain", before, after, step).note(note));
}

/// `Inputs::new` takes the quantities without a default in the order of the contract.
fn order(old: &Contract, new: &Contract, renamed: &BTreeMap<&str, &str>) -> Option<Change> {
    let old: Vec<&str> = (old.quantities.iter().filter(|quantity| quantity.default.is_none()))
        .map(|quantity| renamed.get(quantity.name.as_str()).copied().unwrap_or(&quantity.name))
        .collect();
    let new: Vec<&str> = (new.quantities.iter().filter(|quantity| quantity.default.is_none()))
        .map(|quantity| quantity.name.as_str())
        .collect();
    let common = |names: &[&str], others: &[&str]| -> Vec<String> {
        names.iter().filter(|name| others.contains(name)).map(|name| (*name).to_owned()).collect()
    };
    let (before, after) = (common(&old, &new), common(&new, &old));
    let detail = Detail::new("arguments", before.join(", "), after.join(", "), Step::Major)
        .note("`Inputs::new` takes them in this order");
    (before != after).then(|| change("quantity", "order", "changed", Step::Major, Some(detail)))
}

/// The generated function takes what the formula names, in the order of the contract.
fn arguments(gather: &mut Gather, old: &[String], new: &[String], renamed: &BTreeMap<&str, &str>) {
    let before: Vec<&str> =
        old.iter().map(|name| renamed.get(name.as_str()).copied().unwrap_or(name)).collect();
    if before != new.iter().map(String::as_str).collect::<Vec<_>>() {
        let detail = Detail::new("arguments", old.join(", "), new.join(", "), Step::Major);
        gather.0.push(detail.note("the generated function takes them in this order"));
    }
}

fn names(expression: &Expression) -> Vec<String> {
    expression.operands.iter().map(|(name, _)| name.clone()).collect()
}

/// The changes, and the names of the equations whose values differ; new names of equations go to `renamed`.
fn equations<'a>(
    old: &'a Contract,
    new: &'a Contract,
    space: &Space<'_>,
    renamed: &mut BTreeMap<&'a str, &'a str>,
) -> (Vec<Change>, BTreeSet<&'a str>) {
    let found = matched(
        old.equations.iter(),
        new.equations.iter(),
        |equation| &equation.name,
        |age, equation| {
            Some(format!("{:?} {:?}", equation.unit, space.normal(age == Age::Old, equation.expression.id)))
        },
    );
    renamed.extend(found.renamed.iter().map(|(old, new)| (old.name.as_str(), new.name.as_str())));
    let pairs: Vec<(Probe<'_>, Probe<'_>)> = (found.both.iter().chain(&found.renamed))
        .map(|(old, new)| (Probe::Node(old.expression.id), Probe::Node(new.expression.id)))
        .collect();
    let values = space.compare(&pairs);
    let differs: BTreeSet<&str> = (found.both.iter().zip(&values))
        .filter(|(_, values)| matches!(values, Values::Different(..) | Values::Rounding(_) | Values::Nowhere))
        .map(|((_, new), _)| new.name.as_str())
        .collect();
    let formula = |equation: &Equation| match &equation.bounds {
        Some(measured) => format!("{measured} <= {}", equation.expression.formula),
        None => equation.expression.formula.to_string(),
    };
    let compared = |old: &Equation, new: &Equation, values: &Values| {
        let mut gather = Gather(Vec::new());
        unit(&mut gather, (&old.unit_text, &new.unit_text), old.unit == new.unit);
        let through: Vec<String> =
            names(&new.expression).into_iter().filter(|name| differs.contains(name.as_str())).collect();
        let pair = (Probe::Node(old.expression.id), Probe::Node(new.expression.id));
        let texts = (formula(old), formula(new));
        gather.values("formula", (&texts.0, &texts.1), values, Step::Major, &through, |worst| {
            space.examples(&pair, worst)
        });
        arguments(&mut gather, &names(&old.expression), &names(&new.expression), renamed);
        if old.bounds != new.bounds {
            let step = if old.bounds.is_none() { Step::Minor } else { Step::Major };
            let text = |bounds: &Option<String>| bounds.clone().unwrap_or_default();
            gather.0.push(
                Detail::new("bounds", text(&old.bounds), text(&new.bounds), step)
                    .note("the measured value that it bounds"),
            );
        }
        gather.text("doc", &old.doc, &new.doc, Step::Patch);
        gather
    };
    let mut changes = Vec::new();
    for ((old, new), values) in found.both.iter().zip(&values) {
        changes.extend(compared(old, new, values).finish(
            "equation",
            new.name.clone(),
            "changed",
            Step::Patch,
        ));
    }
    for ((old, new), values) in found.renamed.iter().zip(&values[found.both.len()..]) {
        let name = renaming(&old.name, &new.name);
        changes.extend(compared(old, new, values).finish("equation", name, "renamed", Step::Major));
    }
    let summary = |equation: &Equation| format!("{} [{}]", formula(equation), equation.unit_text);
    changes.extend(found.rest("equation", |equation| equation.name.clone(), "formula", summary));
    (changes, differs)
}

fn classifiers(
    old: &Contract,
    new: &Contract,
    space: &Space<'_>,
    differs: &BTreeSet<&str>,
    renamed: &BTreeMap<&str, &str>,
) -> Vec<Change> {
    let found = matched(
        old.classifiers.iter(),
        new.classifiers.iter(),
        |classifier| &classifier.name,
        |age, classifier| {
            let case =
                |case: &Case| format!("{} {:?}", case.variant, space.normal(age == Age::Old, case.chosen));
            Some(classifier.cases.iter().map(case).collect::<Vec<_>>().join(";"))
        },
    );
    let pairs: Vec<(Probe<'_>, Probe<'_>)> =
        found.both.iter().map(|(old, new)| (Probe::Class(old), Probe::Class(new))).collect();
    let variants = |classifier: &Classifier| -> Vec<String> {
        classifier.cases.iter().map(|case| case.variant.clone()).collect()
    };
    let text = |classifier: &Classifier| -> String {
        let cases = classifier.cases.iter().map(|case| match &case.condition {
            Some(condition) => format!("{}: {}", case.variant, condition.formula),
            None => format!("{}: otherwise", case.variant),
        });
        cases.collect::<Vec<_>>().join("; ")
    };
    let arguments_of = |classifier: &Classifier| -> Vec<String> {
        let mut all: Vec<String> = Vec::new();
        for name in classifier.cases.iter().filter_map(|case| case.condition.as_ref()).flat_map(names) {
            if !all.contains(&name) {
                all.push(name);
            }
        }
        all
    };
    let mut changes = Vec::new();
    for (((old, new), pair), values) in found.both.iter().zip(&pairs).zip(space.compare(&pairs)) {
        let mut gather = Gather(Vec::new());
        let (before, after) = (variants(old), variants(new));
        if before.iter().collect::<BTreeSet<_>>() != after.iter().collect::<BTreeSet<_>>() {
            let detail = Detail::new("cases", before.join(", "), after.join(", "), Step::Major);
            gather.0.push(detail.note("a `match` on them has to change"));
        }
        let through: Vec<String> =
            arguments_of(new).into_iter().filter(|name| differs.contains(name.as_str())).collect();
        gather.values("conditions", (&text(old), &text(new)), &values, Step::Major, &through, |worst| {
            space.examples(pair, worst)
        });
        arguments(&mut gather, &arguments_of(old), &arguments_of(new), renamed);
        gather.text("doc", &old.doc, &new.doc, Step::Patch);
        changes.extend(gather.finish("classifier", new.name.clone(), "changed", Step::Patch));
    }
    for (old, new) in &found.renamed {
        changes.push(change("classifier", &renaming(&old.name, &new.name), "renamed", Step::Major, None));
    }
    changes.extend(found.rest("classifier", |classifier| classifier.name.clone(), "conditions", text));
    changes
}

/// The contract's own tables; those of a dependency belong to its own diff.
fn tables(old: &Contract, new: &Contract) -> Vec<Change> {
    fn own(contract: &Contract) -> impl Iterator<Item = &Table> {
        contract.profiles.iter().filter(|table| table.origin.is_none())
    }
    let found = matched(own(old), own(new), |table| &table.name, unlike);
    let mut changes = Vec::new();
    for (old, new) in &found.both {
        let mut gather = Gather(Vec::new());
        gather.text("doc", &old.doc, &new.doc, Step::Patch);
        changes.extend(gather.finish("profile", new.name.clone(), "changed", Step::Patch));
        changes.extend(fields(old, new));
        changes.extend(entries(old, new));
    }
    let entries = |table: &Table| format!("{} entries", table.entries.len());
    changes.extend(found.rest("profile", |table| table.name.clone(), "", entries));
    changes
}

fn fields(old: &Table, new: &Table) -> Vec<Change> {
    let text = |field: &Field| {
        let kind = match &field.kind {
            FieldKind::Number { unit_text, domain, .. } => format!("{unit_text}, {domain}"),
            FieldKind::Text { one_of } if one_of.is_empty() => "text".to_owned(),
            FieldKind::Text { one_of } => format!("one of {}", one_of.join(", ")),
        };
        if field.optional { format!("{kind}, optional") } else { kind }
    };
    let found = matched(old.fields.iter(), new.fields.iter(), |field| &field.name, unlike);
    let named = |field: &Field| format!("{}.{}", new.name, field.name);
    let mut changes = Vec::new();
    for (old, new) in &found.both {
        let mut gather = Gather(Vec::new());
        let (before, after) = (text(old), text(new));
        let same_type = old.optional == new.optional
            && match (&old.kind, &new.kind) {
                (FieldKind::Number { unit: old, .. }, FieldKind::Number { unit: new, .. }) => old == new,
                (FieldKind::Text { one_of: old }, FieldKind::Text { one_of: new }) => old == new,
                (FieldKind::Number { .. }, FieldKind::Text { .. })
                | (FieldKind::Text { .. }, FieldKind::Number { .. }) => false,
            };
        if before != after {
            let (step, note) = match same_type {
                true => (Step::Minor, ""),
                false => (Step::Major, "the generated type of the field changes"),
            };
            gather.0.push(Detail::new("type", before, after, step).note(note));
        }
        gather.text("doc", &old.doc, &new.doc, Step::Patch);
        changes.extend(gather.finish("field", named(new), "changed", Step::Patch));
    }
    changes.extend(found.rest("field", named, "type", text));
    changes
}

fn entries(old: &Table, new: &Table) -> Vec<Change> {
    let (old_fields, new_fields) = (&old.fields, &new.fields);
    let value = |value: Option<&Value>| match value {
        None | Some(Value::Absent) => String::new(),
        Some(Value::Number(value)) => number(*value),
        Some(Value::Text(text)) => text.clone(),
    };
    let found = matched(
        old.entries.iter(),
        new.entries.iter(),
        |entry| &entry.name,
        |_, entry: &Entry| Some(format!("{:?} {}", entry.values, entry.source)),
    );
    let named = |entry: &Entry| format!("{}.{}", new.name, entry.name);
    let compared = |old: &Entry, new: &Entry| {
        let mut gather = Gather(Vec::new());
        for (field, after) in new_fields.iter().zip(&new.values) {
            let Some(at) = old_fields.iter().position(|known| known.name == field.name) else { continue };
            let before = old.values.get(at);
            if before != Some(after) {
                let step =
                    if matches!(before, None | Some(Value::Absent)) { Step::Minor } else { Step::Major };
                gather.0.push(Detail::new(&field.name, value(before), value(Some(after)), step));
            }
        }
        gather.text("source", &old.source, &new.source, Step::Patch);
        gather.text("as_of", &old.as_of, &new.as_of, Step::Patch);
        gather.text("doc", &old.doc, &new.doc, Step::Patch);
        gather
    };
    let mut changes = Vec::new();
    for (old, new) in &found.both {
        changes.extend(compared(old, new).finish("entry", named(new), "changed", Step::Patch));
    }
    for (old, new) in &found.renamed {
        changes.extend(compared(old, new).finish(
            "entry",
            renaming(&named(old), &new.name),
            "renamed",
            Step::Major,
        ));
    }
    let source = |entry: &Entry| format!("{}, as of {}", entry.source, entry.as_of);
    changes.extend(found.rest("entry", named, "source", source));
    changes
}

fn recommendations(old: &Contract, new: &Contract, space: &Space<'_>) -> Vec<Change> {
    let found = matched(
        old.recommendations.iter(),
        new.recommendations.iter(),
        |advice| &advice.name,
        |age, advice| Some(format!("{:?} {}", space.normal(age == Age::Old, advice.when.id), advice.text)),
    );
    let pairs: Vec<(Probe<'_>, Probe<'_>)> =
        found.both.iter().map(|(old, new)| (Probe::Node(old.when.id), Probe::Node(new.when.id))).collect();
    let mut changes = Vec::new();
    for (((old, new), pair), values) in found.both.iter().zip(&pairs).zip(space.compare(&pairs)) {
        let mut gather = Gather(Vec::new());
        let texts = (old.when.formula.to_string(), new.when.formula.to_string());
        let through: Vec<String> = (new.when.formula.nodes.iter())
            .filter_map(|node| match &node.kind {
                Kind::Is(name, ..) | Kind::Name(name) => Some(name.clone()),
                _ => None,
            })
            .collect();
        gather.values("when", (&texts.0, &texts.1), &values, Step::Minor, &through, |worst| {
            space.examples(pair, worst)
        });
        gather.text("priority", priority(old), priority(new), Step::Minor);
        gather.text("text", &old.text, &new.text, Step::Patch);
        changes.extend(gather.finish("recommendation", new.name.clone(), "changed", Step::Patch));
    }
    for (old, new) in &found.renamed {
        changes.push(change("recommendation", &renaming(&old.name, &new.name), "renamed", Step::Major, None));
    }
    changes.extend(found.rest(
        "recommendation",
        |advice| advice.name.clone(),
        "text",
        |advice| advice.text.clone(),
    ));
    changes
}

fn priority(advice: &Recommendation) -> &'static str {
    match advice.priority {
        Priority::High => "high",
        Priority::Medium => "medium",
        Priority::Low => "low",
    }
}

fn obligations(old: Proven<'_>, new: Proven<'_>, space: &Space<'_>) -> Vec<Change> {
    let verdict = |version: &Proven<'_>, obligation: &Obligation| {
        version
            .proofs
            .iter()
            .find(|proof| proof.id == obligation.id)
            .map_or(Verdict::NotRun, |proof| proof.verdict)
    };
    // A proof is worth more than tests, and both more than nothing.
    let worth = |verdict: Verdict| match verdict {
        Verdict::Proven => 2,
        Verdict::Tested => 1,
        _ => 0,
    };
    let same_claim = |old: &Obligation, new: &Obligation| match (old.claim, new.claim) {
        (Claim::Always(old), Claim::Always(new)) => space.same(old, new),
        (
            Claim::Monotone { of: a, increasing: up, within: old_room, .. },
            Claim::Monotone { of: b, increasing: down, within: new_room, .. },
        ) => {
            (up, old_room) == (down, new_room)
                && old.formula.names().last() == new.formula.names().last()
                && space.same(a, b)
        }
        _ => false,
    };
    let found = matched(
        old.contract.obligations.iter(),
        new.contract.obligations.iter(),
        |obligation| &obligation.id,
        |_, obligation| Some(obligation.formula.to_string()),
    );
    let compared = |before: &Obligation, after: &Obligation| {
        let mut gather = Gather(Vec::new());
        let texts = (before.formula.to_string(), after.formula.to_string());
        if texts.0 != texts.1 {
            let (note, step) = if same_claim(before, after) {
                ("equal after normalization", Step::Patch)
            } else {
                ("another promise", Step::Major)
            };
            gather.0.push(Detail::new("formal", texts.0, texts.1, step).note(note));
        }
        let (was, is) = (verdict(&old, before), verdict(&new, after));
        let step = if worth(is) < worth(was) { Step::Major } else { Step::Minor };
        gather.text("verdict", was.word(), is.word(), step);
        gather.text("doc", &before.doc, &after.doc, Step::Patch);
        gather.text("if_fails", &before.if_fails, &after.if_fails, Step::Patch);
        gather
    };
    let mut changes = Vec::new();
    for (before, after) in &found.both {
        changes.extend(compared(before, after).finish(
            "obligation",
            after.id.clone(),
            "changed",
            Step::Patch,
        ));
    }
    for (before, after) in &found.renamed {
        let name = renaming(&before.id, &after.id);
        changes.extend(compared(before, after).finish("obligation", name, "renamed", Step::Minor));
    }
    changes.extend(found.added.iter().map(|after| {
        let detail = Detail::new("formal", "", after.formula.to_string(), Step::Minor)
            .note(verdict(&new, after).word());
        change("obligation", &after.id, "added", Step::Minor, Some(detail))
    }));
    changes.extend(found.removed.iter().map(|before| {
        let detail =
            Detail::new("formal", before.formula.to_string(), "", Step::Major).note("a promise less");
        change("obligation", &before.id, "removed", Step::Major, Some(detail))
    }));
    changes
}
