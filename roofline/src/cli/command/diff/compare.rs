//! Changes between two versions of a contract, item by item, with the version step that each requires. docs/DIFF.md has the rules.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use roofline_contracts::contract::{
    Case, Claim, Classifier, Contract, Entry, Equation, Expression, Field, FieldKind, Obligation, Quantity,
    Recommendation, Requirement, Table, Value, Verdict,
};
use roofline_contracts::formula::{Kind, number};
use roofline_contracts::prove::Proof;
use schemars::JsonSchema;
use serde::{Serialize, Serializer};

use super::step::Step;
use super::values::{Example, POINTS, Probe, Space, Values, within};

/// An item that was added, removed, renamed or changed.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Change {
    /// Section: quantity, equation and so on.
    pub section: &'static str,
    /// Name of the item; `old -> new` if it was renamed.
    pub name: String,
    /// Kind: added, removed, renamed or changed.
    pub kind: &'static str,
    /// Required version step.
    #[serde(serialize_with = "step_word")]
    #[schemars(with = "String")]
    pub step: Step,
    /// Changed aspects.
    pub details: Vec<Detail>,
}

/// One aspect of a change.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Detail {
    /// Aspect: unit, domain, formula and so on.
    pub what: String,
    /// Old text; empty if there was none.
    pub before: String,
    /// New text; empty if there is none.
    pub after: String,
    /// Explanation; empty if none is needed.
    pub note: String,
    /// Required version step.
    #[serde(serialize_with = "step_word")]
    #[schemars(with = "String")]
    pub step: Step,
    /// Points with the largest differences.
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

/// Changed aspects of one item.
#[derive(Default)]
struct Details(Vec<Detail>);

/// Comparison of the values of an item in both versions.
struct Compared<'a> {
    space: &'a Space<'a>,
    pair: &'a (Probe<'a>, Probe<'a>),
    values: &'a Values,
    /// Changed operands, which explain a difference of values with the same text.
    through: Vec<String>,
}

impl Details {
    /// Adds a text if it differs.
    fn text(&mut self, what: &str, before: &str, after: &str, step: Step) {
        if before != after {
            self.0.push(Detail::new(what, before, after, step));
        }
    }

    /// Adds a formula if its text or values differ. Different values require the step `different`.
    fn values(&mut self, what: &str, before: &str, after: &str, different: Step, compared: Compared<'_>) {
        let Compared { space, pair, values, through } = compared;
        if before == after && *values == Values::Same {
            return;
        }
        let through = if before == after { through } else { Vec::new() };
        let (mut note, step) = match values {
            Values::Same => ("equal after normalization".to_owned(), Step::Patch),
            Values::Equal => (format!("equal at all {POINTS} tested points"), Step::Patch),
            Values::Rounding(max) => (
                format!(
                    "equal up to rounding: relative difference of at most {max:.1e} at {POINTS} tested points"
                ),
                Step::Patch,
            ),
            Values::Different(count, _) => {
                (format!("different at {count} of {POINTS} tested points"), different)
            }
            Values::Nowhere => ("the domains are disjoint".to_owned(), different),
        };
        // Points are shown for the item that causes the difference.
        let points = match values {
            Values::Different(_, worst) if through.is_empty() => space.examples(pair, worst),
            _ => Vec::new(),
        };
        if !through.is_empty() {
            note += &format!(", caused by {}", through.join(", "));
        }
        self.0.push(Detail { points, ..Detail::new(what, before, after, step).note(note) });
    }
}

/// Items of both versions, matched by name, in the new order.
struct Matched<'a, T> {
    both: Vec<(&'a T, &'a T)>,
    renamed: Vec<(&'a T, &'a T)>,
    added: Vec<&'a T>,
    removed: Vec<&'a T>,
}

/// Version of an item.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Age {
    Old,
    New,
}

/// Matches items by name. A removed and an added item count as renamed if they have the same signature and no other item has it.
fn matched<'a, T>(
    old: impl Iterator<Item = &'a T>,
    new: impl Iterator<Item = &'a T>,
    name: impl Fn(&T) -> &str,
    signature: impl Fn(Age, &T) -> Option<String>,
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
    let mut by_signature: BTreeMap<String, [Vec<usize>; 2]> = BTreeMap::new();
    for (side, (age, items)) in [(Age::Old, &gone), (Age::New, &fresh)].into_iter().enumerate() {
        for (at, item) in items.iter().enumerate() {
            if let Some(signature) = signature(age, item) {
                by_signature.entry(signature).or_default()[side].push(at);
            }
        }
    }
    let mut renamed: Vec<(usize, usize)> = (by_signature.values())
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

/// Returns no signature, for items that cannot be recognized as renamed.
fn no_signature<T>(_: Age, _: &T) -> Option<String> {
    None
}

impl<'a, T> Matched<'a, T> {
    /// Returns the pairs by name, then the renamed ones.
    fn pairs<P>(&self, probe: impl Fn(&'a T) -> P) -> Vec<(P, P)> {
        self.both.iter().chain(&self.renamed).map(|(old, new)| (probe(old), probe(new))).collect()
    }

    /// Returns the changes of pairs. `compared` gets the index of the pair in [`Matched::pairs`]. A rename requires the step
    /// `rename`.
    fn changes(
        &self,
        section: &'static str,
        name: impl Fn(&T) -> String,
        rename: Step,
        compared: impl Fn(usize, &T, &T) -> Details,
    ) -> Vec<Change> {
        let both = self.both.iter().enumerate().filter_map(|(at, (old, new))| {
            let Details(details) = compared(at, old, new);
            let step = details.iter().map(|detail| detail.step).max()?;
            Some(Change { section, name: name(new), kind: "changed", step, details })
        });
        let renamed = self.renamed.iter().enumerate().map(|(at, (old, new))| {
            let Details(details) = compared(self.both.len() + at, old, new);
            let step = details.iter().map(|detail| detail.step).max().map_or(rename, |step| step.max(rename));
            let name = format!("{} -> {}", name(old), name(new));
            Change { section, name, kind: "renamed", step, details }
        });
        both.chain(renamed).collect()
    }

    /// Returns the added items, which require a minor step, and the removed ones, which require a major step, with a text each.
    fn rest(
        &self,
        section: &'static str,
        name: impl Fn(&T) -> String,
        what: &str,
        text: impl Fn(&T) -> String,
    ) -> Vec<Change> {
        let added = self.added.iter().map(|new| {
            let detail = Detail::new(what, "", text(new), Step::Minor);
            change(section, name(new), "added", detail)
        });
        let removed = self.removed.iter().map(|old| {
            let detail = Detail::new(what, text(old), "", Step::Major);
            change(section, name(old), "removed", detail)
        });
        added.chain(removed).collect()
    }
}

/// A version of a contract with its proofs.
#[derive(Clone, Copy)]
pub struct Proven<'a> {
    /// Contract of this version.
    pub contract: &'a Contract,
    /// One proof per obligation.
    pub proofs: &'a [Proof],
}

/// Returns all changes from the old version to the new one.
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

/// Creates a change with a single aspect.
fn change(section: &'static str, name: impl Into<String>, kind: &'static str, detail: Detail) -> Change {
    Change { section, name: name.into(), kind, step: detail.step, details: vec![detail] }
}

fn metadata(old: &Contract, new: &Contract) -> Vec<Change> {
    let mut gather = Details::default();
    let stem = |contract: &Contract| {
        let file = contract.source.name.rsplit(['/', '\\']).next().unwrap_or_default();
        file.split('.').next() == Some(contract.metadata.id.as_str())
    };
    let (before, after) = (&old.metadata, &new.metadata);
    // An id that is derived from the file name is not part of the contract.
    if !(stem(old) && stem(new)) {
        gather.text("id", &before.id, &after.id, Step::Major);
    }
    gather.text("description", &before.description, &after.description, Step::Patch);
    gather.text("references", &before.references.join("; "), &after.references.join("; "), Step::Patch);
    let step = gather.0.iter().map(|detail| detail.step).max();
    let own = step.map(|step| Change {
        section: "metadata",
        name: after.id.clone(),
        kind: "changed",
        step,
        details: gather.0,
    });
    let found = matched(
        old.dependencies.iter(),
        new.dependencies.iter(),
        |contract| &contract.metadata.id,
        no_signature,
    );
    let version = |contract: &Arc<Contract>| contract.metadata.version.to_string();
    let dependencies = found.changes(
        "dependency",
        |contract| contract.metadata.id.clone(),
        Step::Major,
        |_, before, after| {
            let (from, to) = (&before.metadata.version, &after.metadata.version);
            let step = Step::between(from.min(to), from.max(to));
            let detail = step.map(|step| Detail::new("version", version(before), version(after), step));
            Details(detail.into_iter().collect())
        },
    );
    let rest = found.rest("dependency", |contract| contract.metadata.id.clone(), "version", version);
    own.into_iter().chain(dependencies).chain(rest).collect()
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
    let compared = |_: usize, old: &Quantity, new: &Quantity| {
        let mut gather = Details::default();
        unit(&mut gather, (&old.unit_text, &new.unit_text), old.unit == new.unit);
        domain(&mut gather, old, new);
        if old.default != new.default {
            let note = match (old.default, new.default) {
                (None, _) | (_, None) => "changes the arguments of `Inputs::new`",
                _ => "changes the value for users who do not set it",
            };
            gather.0.push(Detail::new("default", default(old), default(new), Step::Major).note(note));
        }
        gather.text("doc", &old.doc, &new.doc, Step::Patch);
        gather
    };
    let mut changes = found.changes("quantity", |quantity| quantity.name.clone(), Step::Major, compared);
    changes.extend(found.added.iter().map(|new| {
        let (step, note) = match new.default {
            Some(_) => (Step::Minor, ""),
            None => (Step::Major, "no default, so every user must set it"),
        };
        change("quantity", &new.name, "added", Detail::new("", "", summary(new), step).note(note))
    }));
    changes.extend(
        found.removed.iter().map(|old| {
            change("quantity", &old.name, "removed", Detail::new("", summary(old), "", Step::Major))
        }),
    );
    changes
}

/// Compares requirements. A new one rejects points that were accepted; a removed one accepts more.
fn requirements(old: &Contract, new: &Contract, space: &Space<'_>) -> Vec<Change> {
    let same = |old: &Requirement, new: &Requirement| space.same(old.expression.id, new.expression.id);
    let text = |requirement: &Requirement| requirement.expression.formula.to_string();
    let added = new.requires.iter().filter(|new| !old.requires.iter().any(|old| same(old, new))).map(|new| {
        let detail =
            Detail::new("", "", text(new), Step::Major).note("points that do not meet it are rejected");
        change("requirement", text(new), "added", detail)
    });
    let removed =
        old.requires.iter().filter(|old| !new.requires.iter().any(|new| same(old, new))).map(|old| {
            let detail = Detail::new("", text(old), "", Step::Minor).note("more points are accepted");
            change("requirement", text(old), "removed", detail)
        });
    added.chain(removed).collect()
}

fn unit(gather: &mut Details, texts: (&str, &str), same: bool) {
    if texts.0 != texts.1 {
        let detail = Detail::new("unit", texts.0, texts.1, if same { Step::Patch } else { Step::Major });
        gather.0.push(detail.note(if same { "same unit, different spelling" } else { "" }));
    }
}

fn domain(gather: &mut Details, old: &Quantity, new: &Quantity) {
    let (before, after) = (old.domain.to_string(), new.domain.to_string());
    if before == after {
        return;
    }
    if old.cases != new.cases {
        let note = "a `match` on it must change";
        gather.0.push(Detail::new("one_of", before, after, Step::Major).note(note));
        return;
    }
    let (note, step) = match (within(&new.domain, &old.domain), within(&old.domain, &new.domain)) {
        (true, true) => ("same values, different spelling", Step::Patch),
        (true, false) => ("narrowed", Step::Major),
        (false, true) => ("widened", Step::Minor),
        (false, false) => ("some values removed, some added", Step::Major),
    };
    gather.0.push(Detail::new("domain", before, after, step).note(note));
}

/// Compares the order of quantities without a default, which are the arguments of `Inputs::new`.
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
        .note("order of the arguments of `Inputs::new`");
    (before != after).then(|| change("quantity", "order", "changed", detail))
}

/// Compares the operands of a formula, which are the arguments of the generated function.
fn arguments(gather: &mut Details, old: &[String], new: &[String], renamed: &BTreeMap<&str, &str>) {
    let before: Vec<&str> =
        old.iter().map(|name| renamed.get(name.as_str()).copied().unwrap_or(name)).collect();
    if before != new.iter().map(String::as_str).collect::<Vec<_>>() {
        let detail = Detail::new("arguments", old.join(", "), new.join(", "), Step::Major);
        gather.0.push(detail.note("order of the arguments of the generated function"));
    }
}

fn names(expression: &Expression) -> Vec<String> {
    expression.operands.iter().map(|(name, _)| name.clone()).collect()
}

/// Returns the changes of equations and the names of those whose values differ, and adds renamed equations to `renamed`.
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
    let pairs = found.pairs(|equation| Probe::Node(equation.expression.id));
    let values = space.compare(&pairs);
    let differs: BTreeSet<&str> = (found.both.iter().zip(&values))
        .filter(|(_, values)| matches!(values, Values::Different(..) | Values::Rounding(_) | Values::Nowhere))
        .map(|((_, new), _)| new.name.as_str())
        .collect();
    let formula = |equation: &Equation| match &equation.bounds {
        Some(measured) => format!("{measured} <= {}", equation.expression.formula),
        None => equation.expression.formula.to_string(),
    };
    let compared = |at: usize, old: &Equation, new: &Equation| {
        let mut gather = Details::default();
        unit(&mut gather, (&old.unit_text, &new.unit_text), old.unit == new.unit);
        let through =
            names(&new.expression).into_iter().filter(|name| differs.contains(name.as_str())).collect();
        let compared = Compared { space, pair: &pairs[at], values: &values[at], through };
        gather.values("formula", &formula(old), &formula(new), Step::Major, compared);
        arguments(&mut gather, &names(&old.expression), &names(&new.expression), renamed);
        if old.bounds != new.bounds {
            let step = if old.bounds.is_none() { Step::Minor } else { Step::Major };
            let text = |bounds: &Option<String>| bounds.clone().unwrap_or_default();
            gather.0.push(
                Detail::new("bounds", text(&old.bounds), text(&new.bounds), step)
                    .note("measured value with this upper bound"),
            );
        }
        gather.text("doc", &old.doc, &new.doc, Step::Patch);
        gather
    };
    let mut changes = found.changes("equation", |equation| equation.name.clone(), Step::Major, compared);
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
    let pairs = found.pairs(Probe::Class);
    let values = space.compare(&pairs);
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
    let compared = |at: usize, old: &Classifier, new: &Classifier| {
        let mut gather = Details::default();
        let (before, after) = (variants(old), variants(new));
        if before.iter().collect::<BTreeSet<_>>() != after.iter().collect::<BTreeSet<_>>() {
            let detail = Detail::new("cases", before.join(", "), after.join(", "), Step::Major);
            gather.0.push(detail.note("a `match` on them must change"));
        }
        let through = arguments_of(new).into_iter().filter(|name| differs.contains(name.as_str())).collect();
        let compared = Compared { space, pair: &pairs[at], values: &values[at], through };
        gather.values("conditions", &text(old), &text(new), Step::Major, compared);
        arguments(&mut gather, &arguments_of(old), &arguments_of(new), renamed);
        gather.text("doc", &old.doc, &new.doc, Step::Patch);
        gather
    };
    let mut changes =
        found.changes("classifier", |classifier| classifier.name.clone(), Step::Major, compared);
    changes.extend(found.rest("classifier", |classifier| classifier.name.clone(), "conditions", text));
    changes
}

/// Compares the contract's own tables. Tables of dependencies are compared in their contracts.
fn tables(old: &Contract, new: &Contract) -> Vec<Change> {
    fn own(contract: &Contract) -> impl Iterator<Item = &Table> {
        contract.profiles.iter().filter(|table| table.origin.is_none())
    }
    let found = matched(own(old), own(new), |table| &table.name, no_signature);
    let name = |table: &Table| table.name.clone();
    let mut changes = found.changes("profile", name, Step::Major, |_, old, new| {
        let mut gather = Details::default();
        gather.text("doc", &old.doc, &new.doc, Step::Patch);
        gather
    });
    for (old, new) in &found.both {
        changes.extend(fields(old, new));
        changes.extend(entries(old, new));
    }
    let entries = |table: &Table| format!("{} entries", table.entries.len());
    changes.extend(found.rest("profile", name, "", entries));
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
    let found = matched(old.fields.iter(), new.fields.iter(), |field| &field.name, no_signature);
    let named = |field: &Field| format!("{}.{}", new.name, field.name);
    let mut changes = found.changes("field", named, Step::Major, |_, old, new| {
        let mut gather = Details::default();
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
        gather
    });
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
    let compared = |_: usize, old: &Entry, new: &Entry| {
        let mut gather = Details::default();
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
    let mut changes = found.changes("entry", named, Step::Major, compared);
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
    let pairs = found.pairs(|advice| Probe::Node(advice.when.id));
    let values = space.compare(&pairs);
    let compared = |at: usize, old: &Recommendation, new: &Recommendation| {
        let mut gather = Details::default();
        let through = (new.when.formula.nodes.iter())
            .filter_map(|node| match &node.kind {
                Kind::Is(name, ..) | Kind::Name(name) => Some(name.clone()),
                _ => None,
            })
            .collect();
        let compared = Compared { space, pair: &pairs[at], values: &values[at], through };
        let texts = [old, new].map(|advice| advice.when.formula.to_string());
        gather.values("when", &texts[0], &texts[1], Step::Minor, compared);
        gather.text("priority", old.priority.word(), new.priority.word(), Step::Minor);
        gather.text("text", &old.text, &new.text, Step::Patch);
        gather
    };
    let name = |advice: &Recommendation| advice.name.clone();
    let mut changes = found.changes("recommendation", name, Step::Major, compared);
    changes.extend(found.rest("recommendation", name, "text", |advice| advice.text.clone()));
    changes
}

fn obligations(old: Proven<'_>, new: Proven<'_>, space: &Space<'_>) -> Vec<Change> {
    let verdict = |version: &Proven<'_>, obligation: &Obligation| {
        version
            .proofs
            .iter()
            .find(|proof| proof.id == obligation.id)
            .map_or(Verdict::NotRun, |proof| proof.verdict)
    };
    // A proof is stronger than tests, and both are stronger than no verdict.
    let strength = |verdict: Verdict| match verdict {
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
    let compared = |_: usize, before: &Obligation, after: &Obligation| {
        let mut gather = Details::default();
        let texts = (before.formula.to_string(), after.formula.to_string());
        if texts.0 != texts.1 {
            let (note, step) = if same_claim(before, after) {
                ("equal after normalization", Step::Patch)
            } else {
                ("different claim", Step::Major)
            };
            gather.0.push(Detail::new("formal", texts.0, texts.1, step).note(note));
        }
        let (was, is) = (verdict(&old, before), verdict(&new, after));
        let step = if strength(is) < strength(was) { Step::Major } else { Step::Minor };
        gather.text("verdict", was.word(), is.word(), step);
        gather.text("doc", &before.doc, &after.doc, Step::Patch);
        gather.text("if_fails", &before.if_fails, &after.if_fails, Step::Patch);
        gather
    };
    let mut changes = found.changes("obligation", |obligation| obligation.id.clone(), Step::Minor, compared);
    changes.extend(found.added.iter().map(|after| {
        let detail = Detail::new("formal", "", after.formula.to_string(), Step::Minor);
        change("obligation", &after.id, "added", detail.note(verdict(&new, after).word()))
    }));
    changes.extend(found.removed.iter().map(|before| {
        let detail = Detail::new("formal", before.formula.to_string(), "", Step::Major);
        change("obligation", &before.id, "removed", detail.note("claim removed"))
    }));
    changes
}
