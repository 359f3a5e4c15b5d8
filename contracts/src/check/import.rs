//! Imports from dependencies: the quantities, equations and classifiers in the formulas of a contract, and everything
//! these depend on. A contract's own names take precedence.

use std::collections::BTreeMap;

use crate::contract::{Case, Classifier, Contract, Equation, Expression, Operand};
use crate::formula::{Formula, Statement};
use crate::names::{Names, singular};
use crate::report::{Diagnostic, Report, Rule};
use crate::source::Span;
use crate::types::Meaning;

use super::classifier::UncheckedClassifier;
use super::equation::UncheckedEquation;
use super::requirement::UncheckedRequirement;
use super::sum::Columns;
use super::table::taken_fields;
use super::unchecked::{Origin, UncheckedContract};

/// The contract that an item of `contract` was imported from.
fn origin_of(contract: &Contract, origin: Option<&String>) -> String {
    origin.unwrap_or(&contract.metadata.id).clone()
}

/// The importable items of a contract and the contracts that define them.
fn items(contract: &Contract) -> BTreeMap<&str, String> {
    let quantities = contract.quantities.iter().map(|item| (item.name.as_str(), item.origin.as_ref()));
    let equations = contract.equations.iter().map(|item| (item.name.as_str(), item.origin.as_ref()));
    let classifiers = contract.classifiers.iter().map(|item| (item.name.as_str(), item.origin.as_ref()));
    let items = quantities.chain(equations).chain(classifiers);
    items.map(|(name, origin)| (name, origin_of(contract, origin))).collect()
}

/// The names in a formula with their places, excluding table columns in sums.
fn mentions<'f>(formula: &'f Formula, columns: &Columns) -> Vec<(&'f str, Span)> {
    let mut found = formula.mentions();
    for sum in formula.sums().filter(|sum| sum.rows.is_none()) {
        let known = columns.get(&sum.table.0).map(Vec::as_slice).unwrap_or_default();
        let mentions = sum.body.mentions().into_iter();
        found.extend(mentions.filter(|(name, _)| !known.iter().any(|column| column == name)));
    }
    found
}

impl Origin {
    fn new(contract: String, operands: &[(String, Operand)]) -> Origin {
        Origin { contract, operands: operands.iter().map(|(name, _)| name.clone()).collect() }
    }
}

impl UncheckedContract {
    /// Imports all names in formulas that this contract does not define.
    pub fn import(&mut self, columns: &Columns, names: &mut Names, report: &mut Report) {
        if self.dependencies.is_empty() {
            return;
        }
        let formulas = (self.requires.iter().map(|requirement| &requirement.formula))
            .chain(self.equations.iter().map(|equation| &equation.statement.formula))
            .chain(
                self.classifiers.iter().flat_map(|c| c.cases.iter().filter_map(|(_, when, _)| when.as_ref())),
            )
            .chain(self.recommendations.iter().map(|advice| &advice.when))
            .chain(self.obligations.iter().map(|obligation| &obligation.formula));
        let wanted = formulas.flat_map(|formula| mentions(formula, columns));
        let wanted: Vec<(String, Span)> = wanted.map(|(name, span)| (name.to_owned(), span)).collect();
        let dependencies = self.dependencies.clone();
        let known: Vec<BTreeMap<&str, String>> =
            dependencies.iter().map(|contract| items(contract)).collect();
        let mut found: Vec<BTreeMap<&str, Span>> = vec![BTreeMap::new(); dependencies.len()];
        for (name, span) in wanted {
            if self.scope.get(&name).is_some() {
                continue;
            }
            let mut holders =
                known.iter().enumerate().filter_map(|(i, items)| Some((i, items.get_key_value(&*name)?)));
            let Some((index, (&item, home))) = holders.next() else { continue };
            if let Some((_, (_, other))) = holders.find(|(_, (_, other))| *other != home) {
                let message = format!("ambiguous name `{name}`: both `{home}` and `{other}` define it");
                report.add(
                    Diagnostic::error(span, message)
                        .rule(Rule::Name)
                        .note("depend on only one of them or define the name in this contract"),
                );
                self.scope.insert(&name, Meaning::Wrong);
                continue;
            }
            found[index].entry(item).or_insert(span);
        }
        for (dependency, found) in dependencies.iter().zip(&found) {
            self.take(dependency, found, names, report);
        }
    }

    /// Imports these items and everything they depend on, in the order of their contract.
    fn take(
        &mut self,
        from: &Contract,
        wanted: &BTreeMap<&str, Span>,
        names: &mut Names,
        report: &mut Report,
    ) {
        let equations: BTreeMap<&str, &Equation> =
            from.equations.iter().map(|item| (&*item.name, item)).collect();
        let classifiers: BTreeMap<&str, &Classifier> =
            from.classifiers.iter().map(|item| (&*item.name, item)).collect();
        // For each item, the imported name that requires it and the place of that name.
        let mut needed: BTreeMap<&str, (&str, Span)> = BTreeMap::new();
        let mut pending: Vec<(&str, &str, Span)> =
            wanted.iter().map(|(name, span)| (*name, *name, *span)).collect();
        while let Some((next, root, span)) = pending.pop() {
            if needed.contains_key(next) {
                continue;
            }
            needed.insert(next, (root, span));
            let formula = equations.get(next).map(|equation| &equation.expression);
            let conditions = classifiers.get(next).into_iter().flat_map(|c| &c.cases);
            let conditions = conditions.filter_map(|case| case.condition.as_ref());
            let uses = formula.into_iter().chain(conditions).flat_map(|expression| &expression.operands);
            pending.extend(uses.map(|(name, _)| (name.as_str(), root, span)));
            // Proofs about a quantity assume all requirements on it.
            let required = from.requires.iter().map(|requirement| &requirement.expression.operands);
            let required = required.filter(|operands| operands.iter().any(|(name, _)| name == next));
            pending.extend(required.flatten().map(|(name, _)| (name.as_str(), root, span)));
        }
        let mut claim = |unchecked: &UncheckedContract, item: &str, home: &str, report: &mut Report| {
            let Some((root, span)) = needed.get(item) else { return false };
            match unchecked.scope.get(item) {
                None => {
                    names.claim_as(item, *span, &format!("`{item}` of `{home}`"), &[], report);
                    true
                }
                Some(_) if unchecked.origin(item).as_deref() == Some(home) => false,
                Some(_) => {
                    let message = format!(
                        "`{root}` of `{home}` uses `{item}` of that contract, but this contract defines a different `{item}`"
                    );
                    report.add(
                        Diagnostic::error(*span, message).rule(Rule::Name).note("rename one of the two"),
                    );
                    false
                }
            }
        };
        for quantity in &from.quantities {
            let home = origin_of(from, quantity.origin.as_ref());
            if claim(self, &quantity.name, &home, report) {
                let operand = Operand::Quantity(self.quantities.len());
                self.scope.insert(&quantity.name, Meaning::for_quantity(quantity, operand));
                let mut quantity = quantity.clone();
                quantity.origin = Some(home);
                self.quantities.push(quantity);
            }
        }
        for requirement in &from.requires {
            let home = origin_of(from, requirement.origin.as_ref());
            let Expression { formula, operands, .. } = &requirement.expression;
            let known = |known: &UncheckedRequirement| {
                known.origin.as_ref() == Some(&home) && known.formula.to_string() == formula.to_string()
            };
            if operands.iter().any(|(name, _)| needed.contains_key(name.as_str()))
                && !self.requires.iter().any(known)
            {
                self.requires.push(UncheckedRequirement { formula: formula.clone(), origin: Some(home) });
            }
        }
        for equation in &from.equations {
            let home = origin_of(from, equation.origin.as_ref());
            if claim(self, &equation.name, &home, report) {
                let operand = Operand::Equation(self.equations.len());
                self.scope.insert(&equation.name, Meaning::Value(operand, equation.unit, None));
                let statement = Statement {
                    left: equation.bounds.clone().map(|measured| (measured, equation.span)),
                    bound: equation.bounds.is_some(),
                    formula: equation.expression.formula.clone(),
                };
                self.equations.push(UncheckedEquation {
                    name: equation.name.clone(),
                    unit: equation.unit,
                    unit_text: equation.unit_text.clone(),
                    statement,
                    doc: equation.doc.clone(),
                    origin: Some(Origin::new(home, &equation.expression.operands)),
                    span: equation.span,
                });
            }
        }
        for classifier in &from.classifiers {
            let home = origin_of(from, classifier.origin.as_ref());
            if claim(self, &classifier.name, &home, report) {
                let variants = classifier.cases.iter().map(|case| case.variant.clone()).collect();
                self.scope.insert(&classifier.name, Meaning::Classifier(variants));
                let case = |case: &Case| {
                    let condition = case.condition.as_ref().map(|condition| condition.formula.clone());
                    (case.variant.clone(), condition, case.span)
                };
                self.classifiers.push(UncheckedClassifier {
                    name: classifier.name.clone(),
                    cases: classifier.cases.iter().map(case).collect(),
                    doc: classifier.doc.clone(),
                    origin: Some(Origin::new(home, &classifier.operands)),
                    span: classifier.span,
                });
            }
        }
    }

    /// The contract that a name was imported from; none for this contract's own.
    fn origin(&self, name: &str) -> Option<String> {
        let quantity = self.quantities.iter().find(|item| item.name == name).map(|item| item.origin.clone());
        let equation = || self.equations.iter().find(|item| item.name == name).map(|item| &item.origin);
        let classifier = || self.classifiers.iter().find(|item| item.name == name).map(|item| &item.origin);
        let taken = || equation().or_else(classifier);
        quantity.or_else(|| taken().map(|origin| Some(origin.as_ref()?.contract.clone()))).flatten()
    }

    /// Imports the tables of dependencies that set quantities of this contract.
    pub fn import_tables(&mut self) {
        for dependency in &self.dependencies {
            for table in &dependency.profiles {
                if self.scope.get(&table.name).is_some()
                    || self.tables.iter().any(|own| singular(&own.name) == singular(&table.name))
                {
                    continue;
                }
                let mut table = table.clone();
                table.origin = Some(origin_of(dependency, table.origin.as_ref()));
                table.fields = taken_fields(&table, &self.quantities);
                if table.fields.iter().any(|field| field.quantity.is_some()) {
                    self.tables.push(table);
                }
            }
        }
    }
}
