//! Profile tables: fields, entries, and the rules that every entry must satisfy.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::condition::holds;
use crate::contract::{Contract, Entry, Field, FieldKind, Quantity, Table, TableRule, Value};
use crate::domain::Domain;
use crate::formula::Formula;
use crate::graph::build::Lowering;
use crate::graph::{Graph, Op};
use crate::names::{self, Names, Style, camel, singular, variant};
use crate::report::{Diagnostic, Report, Rule as Breaks};
use crate::schema;
use crate::source::{Span, Text, shorten};
use crate::suggest;
use crate::types::{self, Meaning, Place, Scope};
use crate::unit::Unit;
use crate::yaml::Node;

use super::divisor;
use super::reader::{self, Fields};

/// Reads one table. `dependencies` are the contracts whose tables it may extend.
pub fn read(
    key: &Text,
    node: &Node,
    quantities: &[Quantity],
    dependencies: &[Arc<Contract>],
    report: &mut Report,
) -> Option<Table> {
    let what = format!("profile table `{}`", shorten(&key.value));
    let keys = Fields::read(node, key.span, &what, schema::TABLE, &[], report)?;
    let mut fields = Vec::new();
    let mut seen = Names::default();
    let mut types = Names::default();
    types.claim_as(&camel(&singular(&key.value)), key.span, "an entry of this table", &[], report);
    let columns =
        keys.node("fields").and_then(|node| reader::pairs(node, "`fields`", report)).unwrap_or_default();
    let extended = match keys.text("extends", report) {
        Some(name) => Some(extended(name, &keys, dependencies, report)?),
        None if keys.node("fields").is_none() => {
            report.add(
                Diagnostic::error(key.span, format!("missing `fields` in {what}"))
                    .note("list the columns in `fields`, or name a table of another contract in `extends`"),
            );
            None
        }
        None => None,
    };
    for (name, node) in columns {
        if schema::ENTRY.iter().any(|key| key.name == name.value) || name.value == "name" {
            let message = format!("reserved field `{}`; every entry already has it", name.value);
            report.add(Diagnostic::error(name.span, message));
        } else if names::check(name, Style::Snake, "a field", report) {
            seen.claim(name, "this field", report);
            fields.extend(field(name, node, quantities, &mut types, report));
        }
    }
    let mut declared: Vec<&str> = columns.iter().map(|(name, _)| name.value.as_str()).collect();
    let mut rules = rules(&keys, &fields, report);
    if let Some(table) = extended {
        fields = taken_fields(table, quantities);
        declared.extend(table.fields.iter().map(|field| field.name.as_str()));
        rules.extend(table.rules.iter().map(|rule| TableRule { span: None, ..rule.clone() }));
        for field in &fields {
            if matches!(&field.kind, FieldKind::Text { one_of } if !one_of.is_empty()) {
                types.claim_as(&camel(&field.name), key.span, "the type of a field", &[], report);
            }
        }
    }
    let mut entries = Vec::new();
    let mut seen = Names::default();
    let rows =
        keys.node("entries").and_then(|node| reader::pairs(node, "`entries`", report)).unwrap_or_default();
    if rows.is_empty() && keys.node("entries").is_some() {
        report.add(Diagnostic::error(key.span, format!("{what} has no entries")));
    }
    for (name, node) in rows {
        if names::check(name, Style::Snake, "a profile", report) {
            seen.claim_as(&name.value.to_ascii_uppercase(), name.span, "this profile", &["ALL"], report);
            entries.extend(entry(name, node, &fields, &declared, &rules, report));
        }
    }
    let doc = keys.string("doc", report);
    Some(Table { name: key.value.clone(), doc, fields, rules, entries, origin: None, span: key.span })
}

/// The table of a dependency that `extends` names.
fn extended<'a>(
    name: &Text,
    keys: &Fields<'_>,
    dependencies: &'a [Arc<Contract>],
    report: &mut Report,
) -> Option<&'a Table> {
    for own in ["fields", "rules"] {
        if let Some((key, _)) = keys.entry(own) {
            let message = format!("`{own}` cannot be combined with `extends`");
            report.add(Diagnostic::error(key.span, message).and(name.span, "this table extends another"));
        }
    }
    let tables = || dependencies.iter().flat_map(|contract| &contract.profiles);
    let found = tables().find(|table| table.name == name.value);
    if found.is_none() {
        let known: Vec<&str> = tables().map(|table| table.name.as_str()).collect();
        let diagnostic = Diagnostic::error(
            name.span,
            format!("unknown table `{}`; no dependency of this contract defines it", shorten(&name.value)),
        );
        report.add(diagnostic.rule(Breaks::Name).note(if known.is_empty() {
            "add the contract that defines it to `depends_on` in `metadata`".to_owned()
        } else {
            format!("expected one of: {}", known.join(", "))
        }));
    }
    found
}

/// The fields of another contract's table; each sets the quantity with the same name and unit of this contract.
pub fn taken_fields(table: &Table, quantities: &[Quantity]) -> Vec<Field> {
    let taken = |field: &Field| {
        let quantity = match &field.kind {
            FieldKind::Number { unit, .. } => quantities.iter().position(|quantity| {
                quantity.name == field.name && quantity.cases.is_empty() && quantity.unit == *unit
            }),
            // A text field has the quantity's type only if both come from the same contract.
            FieldKind::Text { .. } => quantities.iter().position(|quantity| {
                field.quantity.is_some() && quantity.name == field.name && quantity.origin == table.origin
            }),
        };
        Field { quantity, ..field.clone() }
    };
    table.fields.iter().map(taken).collect()
}

fn field(
    name: &Text,
    node: &Node,
    quantities: &[Quantity],
    types: &mut Names,
    report: &mut Report,
) -> Option<Field> {
    let what = format!("field `{}`", name.value);
    let keys = Fields::read(node, name.span, &what, schema::FIELD, &[], report)?;
    let optional = keys.flag("optional", report);
    let doc = keys.string("doc", report);
    let twin = quantities.iter().position(|quantity| quantity.name == name.value);
    let stated = keys.word(schema::FIELD, "type", report);
    let named = twin.filter(|&index| !quantities[index].cases.is_empty());
    let is_text = stated == Some("text") || named.is_some() && stated.is_none();
    let refuse = |key: &str, allowed: &str, report: &mut Report| {
        if let Some((key, _)) = keys.entry(key) {
            report.add(Diagnostic::error(
                key.span,
                format!("`{}` is allowed only in a {allowed} field", key.value),
            ));
        }
    };
    if is_text {
        refuse("unit", "number", report);
        refuse("domain", "number", report);
        if let Some(index) = named {
            if let Some((key, _)) = keys.entry("one_of") {
                let message = format!("the cases are inherited from the quantity `{}`", name.value);
                report.add(Diagnostic::error(key.span, message).note("remove `one_of`"));
            }
            let kind = FieldKind::Text { one_of: quantities[index].cases.clone() };
            return Some(Field { name: name.value.clone(), kind, optional, quantity: named, doc });
        }
        let texts = keys.texts("one_of", report);
        if !texts.is_empty() {
            types.claim_as(&camel(&name.value), name.span, "the type of this field", &[], report);
        }
        let mut cases = Names::default();
        for text in &texts {
            match variant(&text.value) {
                Some(case) => {
                    cases.claim_as(&case, text.span, &format!("`{}`", shorten(&text.value)), &[], report);
                }
                None => report.add(
                    Diagnostic::error(
                        text.span,
                        format!("invalid value `{}` in `one_of`", shorten(&text.value)),
                    )
                    .rule(Breaks::Name)
                    .note("it becomes a variant of a Rust enum, so it needs a letter or a digit"),
                ),
            }
        }
        let kind = FieldKind::Text { one_of: texts.into_iter().map(|text| text.value.clone()).collect() };
        return Some(Field { name: name.value.clone(), kind, optional, quantity: None, doc });
    }
    refuse("one_of", "text", report);
    let inherited = twin.map(|index| &quantities[index]);
    let own_unit = keys.text("unit", report).and_then(|text| Some((Unit::read(text, report)?, text)));
    let (unit, unit_text) = match (own_unit, inherited) {
        (Some((unit, text)), Some(quantity)) if unit != quantity.unit => {
            let what = format!("the field that sets the quantity `{}`", name.value);
            report.add(unit.mismatch(quantity.unit, text.span, &what).and(quantity.span, "the quantity"));
            return None;
        }
        (Some((unit, text)), _) => (unit, text.value.clone()),
        (None, Some(quantity)) => (quantity.unit, quantity.unit_text.clone()),
        (None, None) => {
            if keys.node("unit").is_none() {
                report.add(Diagnostic::error(name.span, format!("missing `unit` in {what}")).note(
                    "a field that is not named after a quantity needs a unit; use `1` for a plain number",
                ));
            }
            return None;
        }
    };
    let own_domain = keys.text("domain", report).and_then(|text| Domain::read(text, report));
    let domain = own_domain.or_else(|| inherited.map(|quantity| quantity.domain.clone())).unwrap_or_default();
    let kind = FieldKind::Number { unit, unit_text, domain };
    Some(Field { name: name.value.clone(), kind, optional, quantity: twin, doc })
}

fn entry(
    name: &Text,
    node: &Node,
    fields: &[Field],
    declared: &[&str],
    rules: &[TableRule],
    report: &mut Report,
) -> Option<Entry> {
    let what = format!("profile `{}`", name.value);
    let keys = Fields::read(node, name.span, &what, schema::ENTRY, declared, report)?;
    let mut values = Vec::new();
    let mut complete = true;
    for field in fields {
        let value = match keys.text(&field.name, report) {
            None if keys.node(&field.name).is_some() => None,
            None if field.optional => Some(Value::Absent),
            None => {
                report.add(
                    Diagnostic::error(name.span, format!("missing `{}` in {what}", field.name))
                        .rule(Breaks::Profile),
                );
                None
            }
            Some(text) => value(field, text, report),
        };
        complete &= value.is_some();
        values.push(value.unwrap_or(Value::Absent));
    }
    let as_of = keys.text("as_of", report);
    if let Some(date) = as_of.filter(|date| !is_date(&date.value)) {
        report.add(
            Diagnostic::error(date.span, format!("invalid date `{}`", shorten(&date.value)))
                .rule(Breaks::Profile)
                .note("expected the day the figures were taken, such as `2024-12-31`"),
        );
    }
    let allowed = allowed(&keys, rules, report);
    if complete {
        let known = fields.iter().map(|field| field.name.as_str()).zip(&values).collect();
        for rule in rules {
            let broken = holds(&rule.check, &known) == Some(false);
            match (broken, allowed.iter().find(|(id, _)| *id == rule.id)) {
                (true, None) => {
                    let message = format!("{what} violates the rule `{}`: {}", rule.id, rule.doc);
                    let diagnostic = Diagnostic::error(name.span, message)
                        .rule(Breaks::Profile)
                        .label(format!("false here: {}", rule.check));
                    report.add(match rule.span {
                        Some(span) => diagnostic.and(span, "rule defined here"),
                        None => diagnostic,
                    });
                }
                (false, Some((_, span))) => report.add(
                    Diagnostic::warning(
                        *span,
                        format!("unused exception: {what} satisfies the rule `{}`", rule.id),
                    )
                    .rule(Breaks::Unused),
                ),
                _ => {}
            }
        }
    }
    Some(Entry {
        name: name.value.clone(),
        values,
        source: keys.string("source", report),
        as_of: as_of.map(|text| text.value.clone()).unwrap_or_default(),
        doc: keys.string("doc", report),
        span: name.span,
    })
}

fn value(field: &Field, text: &Text, report: &mut Report) -> Option<Value> {
    match &field.kind {
        FieldKind::Number { unit, domain, .. } => {
            let number = reader::number(text, *unit, report)?;
            if !domain.contains(number) {
                let message =
                    format!("value {} of `{}` is outside its domain {domain}", text.value, field.name);
                report.add(Diagnostic::error(text.span, message).rule(Breaks::Domain));
                return None;
            }
            Some(Value::Number(number))
        }
        FieldKind::Text { one_of } => {
            if !one_of.is_empty() && !one_of.contains(&text.value) {
                let mut diagnostic = Diagnostic::error(
                    text.span,
                    format!("invalid value `{}` for `{}`", shorten(&text.value), field.name),
                );
                if let Some(near) = suggest::closest(&text.value, one_of.iter().map(String::as_str)) {
                    diagnostic = diagnostic.label(format!("did you mean `{near}`?"));
                }
                report.add(
                    diagnostic.rule(Breaks::Profile).note(format!("expected one of: {}", one_of.join(", "))),
                );
                return None;
            }
            Some(Value::Text(text.value.clone()))
        }
    }
}

/// True for `YYYY-MM-DD` with a day that exists in the calendar.
fn is_date(text: &str) -> bool {
    let parts: Vec<&str> = text.split('-').collect();
    let [year, month, day] = parts[..] else { return false };
    let digits = |text: &str, length| {
        (text.len() == length && text.bytes().all(|b| b.is_ascii_digit()))
            .then(|| text.parse::<u32>().unwrap_or(0))
    };
    let (Some(year), Some(month), Some(day)) = (digits(year, 4), digits(month, 2), digits(day, 2)) else {
        return false;
    };
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days = match month {
        4 | 6 | 9 | 11 => 30,
        2 => 28 + u32::from(leap),
        1..=12 => 31,
        _ => 0,
    };
    (1..=days).contains(&day)
}

fn allowed<'a>(keys: &Fields<'a>, rules: &[TableRule], report: &mut Report) -> Vec<(&'a str, Span)> {
    let Some(node) = keys.node("allow") else { return Vec::new() };
    let mut found = Vec::new();
    for (id, reason) in reader::pairs(node, "`allow`", report).unwrap_or_default() {
        if rules.iter().any(|rule| rule.id == id.value) {
            reader::text(reason, "the reason", report);
            found.push((id.value.as_str(), id.span));
        } else {
            let known: Vec<&str> = rules.iter().map(|rule| rule.id.as_str()).collect();
            report.add(
                Diagnostic::error(id.span, format!("unknown rule `{}`", shorten(&id.value)))
                    .rule(Breaks::Profile)
                    .note(if known.is_empty() {
                        "the table has no rules".to_owned()
                    } else {
                        format!("expected one of: {}", known.join(", "))
                    }),
            );
        }
    }
    found
}

fn rules(keys: &Fields<'_>, fields: &[Field], report: &mut Report) -> Vec<TableRule> {
    let mut scope = Scope::default();
    for field in fields {
        let meaning = match &field.kind {
            FieldKind::Number { unit, .. } => Meaning::Number(*unit),
            FieldKind::Text { one_of } => Meaning::Text(one_of.clone()),
        };
        scope.insert(&field.name, meaning);
    }
    let mut found: Vec<TableRule> = Vec::new();
    let Some(node) = keys.node("rules") else { return found };
    for item in reader::list(node, "`rules`", report).unwrap_or_default() {
        let Some(keys) = Fields::read(item, item.span(), "a rule", schema::RULE, &[], report) else {
            continue;
        };
        let id = keys.text("id", report);
        let doc = keys.string("doc", report);
        let check = keys.text("check", report).and_then(|text| Formula::read(text, report));
        let (Some(id), Some(check)) = (id, check) else { continue };
        if !names::check(id, Style::Kebab, "a rule", report) {
            continue;
        }
        if let Some(first) = found.iter().find(|rule| rule.id == id.value) {
            report.add(
                Diagnostic::error(id.span, format!("duplicate rule `{}`", id.value))
                    .rule(Breaks::Name)
                    .and(first.span.unwrap_or(id.span), "first defined here"),
            );
        }
        let span = check.top().span;
        types::check_condition(&check, Place::Rule, "a rule", &scope, report);
        check_divisions(&check, fields, report);
        found.push(TableRule { id: id.value.clone(), doc, check, span: Some(span) });
    }
    found
}

/// Reports divisors of a rule that can be zero for values in the domains of the fields.
fn check_divisions(rule: &Formula, fields: &[Field], report: &mut Report) {
    let mut graph = Graph::default();
    let mut values = BTreeMap::new();
    let mut domains = Vec::new();
    for field in fields {
        if let FieldKind::Number { domain, .. } = &field.kind {
            values.insert(field.name.clone(), graph.add(Op::Quantity(domains.len())));
            domains.push((field.name.as_str(), domain));
        }
    }
    let (classes, quantities) = (BTreeMap::new(), BTreeMap::new());
    let mut lowering = Lowering {
        graph: &mut graph,
        values: &values,
        classes: &classes,
        quantities: &quantities,
        substituted: Vec::new(),
    };
    let ids = lowering.lower_all(rule);
    divisor::check(&graph, &domains, &[], &divisor::divisions(&graph, rule, &ids), report);
}

#[cfg(test)]
mod tests {
    use super::is_date;

    #[test]
    fn dates_must_exist_in_the_calendar() {
        for date in
            ["2024-01-31", "2024-02-29", "2000-02-29", "2023-02-28", "2024-04-30", "2024-12-31", "0001-01-01"]
        {
            assert!(is_date(date), "{date}");
        }
        for wrong in [
            "2023-02-29",
            "1900-02-29",
            "2100-02-29",
            "2024-02-30",
            "2024-04-31",
            "2024-06-31",
            "2024-09-31",
            "2024-11-31",
            "2024-01-32",
            "2024-00-10",
            "2024-13-01",
            "2024-01-00",
            "24-01-01",
            "2024-1-01",
            "2024-01-1",
            "2024/01/01",
            "2024-01",
            "2024-01-01-01",
            "2024-01-xx",
            "+024-01-01",
            "",
        ] {
            assert!(!is_date(wrong), "{wrong}");
        }
    }
}
