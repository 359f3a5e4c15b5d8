//! What a contract takes from those it depends on: the quantities, equations and classifiers that its formulas
//! name, and all that these stand on. A contract's own names come first.

use std::collections::BTreeSet;

use crate::contract::{Contract, Expression, FieldKind, Operand};
use crate::formula::{Formula, Kind, Statement};
use crate::report::{Mistake, Report};
use crate::source::Span;

use super::names::Names;
use super::types::Meaning;
use super::{ClassifierDraft, Draft, EquationDraft};

/// The contract that an item of `contract` was taken from.
fn origin_of(contract: &Contract, origin: Option<&String>) -> String {
    origin.unwrap_or(&contract.metadata.id).clone()
}

/// Where the item of this name comes from, if the contract has it.
fn origin(contract: &Contract, name: &str) -> Option<String> {
    let quantity = contract.quantities.iter().find(|item| item.name == name).map(|item| item.origin.as_ref());
    let equation = || contract.equation(name).map(|item| item.origin.as_ref());
    let classifier = || contract.classifiers.iter().find(|c| c.name == name).map(|c| c.origin.as_ref());
    quantity.or_else(equation).or_else(classifier).map(|origin| origin_of(contract, origin))
}

/// Every name of a formula and its place, classifiers too.
fn mentions(formula: &Formula) -> Vec<(&str, Span)> {
    let mut found = Vec::new();
    for node in &formula.nodes {
        match &node.kind {
            Kind::Name(name) | Kind::Is(name, ..) => found.push((name.as_str(), node.span)),
            Kind::Substitute(name, replaced) => {
                found.push((name, node.span));
                found.extend(replaced.iter().map(|(quantity, span, _)| (quantity.as_str(), *span)));
            }
            Kind::Monotone { variable: (name, span), .. } => found.push((name, *span)),
            _ => {}
        }
    }
    found.sort_by_key(|(_, span)| span.start);
    found
}

impl Draft {
    /// Takes over everything that a formula names and this contract does not define.
    pub(super) fn import(&mut self, names: &mut Names, report: &mut Report) {
        if self.dependencies.is_empty() {
            return;
        }
        let formulas = (self.equations.iter().map(|equation| &equation.statement.formula))
            .chain(
                self.classifiers.iter().flat_map(|c| c.cases.iter().filter_map(|(_, when, _)| when.as_ref())),
            )
            .chain(self.recommendations.iter().map(|advice| &advice.when))
            .chain(self.obligations.iter().map(|obligation| &obligation.formula));
        let wanted: Vec<(String, Span)> =
            formulas.flat_map(mentions).map(|(name, span)| (name.to_owned(), span)).collect();
        for (name, span) in wanted {
            if self.scope.get(&name).is_some() {
                continue;
            }
            let holders: Vec<(usize, String)> = (self.dependencies.iter().enumerate())
                .filter_map(|(index, dependency)| Some((index, origin(dependency, &name)?)))
                .collect();
            let Some((index, home)) = holders.first() else { continue };
            if let Some((_, other)) = holders.iter().find(|(_, other)| other != home) {
                let message = format!("`{name}` is in `{home}` and in `{other}`");
                report.add(
                    Mistake::error(span, message)
                        .note("depend on one of them only, or define the name in this contract"),
                );
                self.scope.insert(&name, Meaning::Wrong);
                continue;
            }
            let dependency = self.dependencies[*index].clone();
            self.take(&dependency, &name, span, names, report);
        }
    }

    /// Takes one item and everything it stands on.
    fn take(&mut self, from: &Contract, name: &str, span: Span, names: &mut Names, report: &mut Report) {
        let mut needed: BTreeSet<&str> = BTreeSet::new();
        let mut pending: Vec<&str> = vec![name];
        let operands = |expression: &'_ Expression| {
            expression.operands.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>()
        };
        // Names are looked up in `from`, so that they live as long as it does.
        let own = |name: &str| {
            let quantity =
                from.quantities.iter().find(|item| item.name == name).map(|item| item.name.as_str());
            let equation = || from.equation(name).map(|item| item.name.as_str());
            let classifier = || from.classifiers.iter().find(|c| c.name == name).map(|c| c.name.as_str());
            quantity.or_else(equation).or_else(classifier)
        };
        while let Some(next) = pending.pop() {
            if !needed.insert(next) {
                continue;
            }
            let mut uses: Vec<String> = Vec::new();
            if let Some(equation) = from.equation(next) {
                uses.extend(operands(&equation.expression));
            }
            for classifier in from.classifiers.iter().filter(|classifier| classifier.name == next) {
                let conditions = classifier.cases.iter().filter_map(|case| case.condition.as_ref());
                uses.extend(conditions.flat_map(operands));
            }
            pending.extend(uses.iter().filter_map(|name| own(name)));
        }
        let mut claim = |draft: &Draft, item: &str, home: &str, report: &mut Report| match draft
            .scope
            .get(item)
        {
            None => {
                names.claim_as(item, span, &format!("`{item}` of `{home}`"), &[], report);
                true
            }
            Some(_) if draft.origin(item).as_deref() == Some(home) => false,
            Some(_) => {
                let message = format!(
                    "`{name}` of `{home}` stands on `{item}` of that contract, but this one means something else by it"
                );
                report.add(Mistake::error(span, message).note("use another name for one of the two"));
                false
            }
        };
        for quantity in from.quantities.iter().filter(|quantity| needed.contains(quantity.name.as_str())) {
            let home = origin_of(from, quantity.origin.as_ref());
            if claim(self, &quantity.name, &home, report) {
                let operand = Operand::Quantity(self.quantities.len());
                let meaning = Meaning::Value(operand, quantity.unit, Some(quantity.domain.clone()));
                self.scope.insert(&quantity.name, meaning);
                let mut quantity = quantity.clone();
                quantity.origin = Some(home);
                self.quantities.push(quantity);
            }
        }
        for equation in from.equations.iter().filter(|equation| needed.contains(equation.name.as_str())) {
            let home = origin_of(from, equation.origin.as_ref());
            if claim(self, &equation.name, &home, report) {
                let operand = Operand::Equation(self.equations.len());
                self.scope.insert(&equation.name, Meaning::Value(operand, equation.unit, None));
                let statement = Statement {
                    left: equation.bounds.clone().map(|measured| (measured, equation.span)),
                    bound: equation.bounds.is_some(),
                    formula: equation.expression.formula.clone(),
                };
                self.equations.push(EquationDraft {
                    name: equation.name.clone(),
                    unit: equation.unit,
                    unit_text: equation.unit_text.clone(),
                    statement,
                    doc: equation.doc.clone(),
                    origin: Some(home),
                    span: equation.span,
                });
            }
        }
        for classifier in from.classifiers.iter().filter(|c| needed.contains(c.name.as_str())) {
            let home = origin_of(from, classifier.origin.as_ref());
            if claim(self, &classifier.name, &home, report) {
                let variants = classifier.cases.iter().map(|case| case.variant.clone()).collect();
                self.scope.insert(&classifier.name, Meaning::Classifier(variants));
                let case = |case: &crate::contract::Case| {
                    let condition = case.condition.as_ref().map(|condition| condition.formula.clone());
                    (case.variant.clone(), condition, case.span)
                };
                self.classifiers.push(ClassifierDraft {
                    name: classifier.name.clone(),
                    cases: classifier.cases.iter().map(case).collect(),
                    doc: classifier.doc.clone(),
                    origin: Some(home),
                    span: classifier.span,
                });
            }
        }
    }

    /// Where a name that is in scope was taken from; none for this contract's own.
    fn origin(&self, name: &str) -> Option<String> {
        let quantity = self.quantities.iter().find(|item| item.name == name).map(|item| &item.origin);
        let equation = || self.equations.iter().find(|item| item.name == name).map(|item| &item.origin);
        let classifier = || self.classifiers.iter().find(|item| item.name == name).map(|item| &item.origin);
        quantity.or_else(equation).or_else(classifier).cloned().flatten()
    }

    /// Takes over the tables of dependencies that set quantities of this contract.
    pub(super) fn import_tables(&mut self) {
        for dependency in &self.dependencies {
            for table in &dependency.profiles {
                if self.scope.get(&table.name).is_some()
                    || self.tables.iter().any(|own| own.name == table.name)
                {
                    continue;
                }
                let mut table = table.clone();
                table.origin = Some(origin_of(dependency, table.origin.as_ref()));
                for field in &mut table.fields {
                    let FieldKind::Number { unit: wanted, .. } = &field.kind else { continue };
                    field.quantity = (self.quantities.iter())
                        .position(|quantity| quantity.name == field.name && quantity.unit == *wanted);
                }
                if table.fields.iter().any(|field| field.quantity.is_some()) {
                    self.tables.push(table);
                }
            }
        }
    }
}
