//! From a YAML tree to a [`Contract`]: resolves names, checks units and domains, and lowers formulas to the graph.
//!
//! Continues after an error, so that one run reports all of them. Only the form of obligations is checked here;
//! the prover decides if they are true.

mod classifier;
mod divisor;
mod equation;
mod import;
mod lower;
mod obligation;
mod order;
mod published;
mod quantity;
mod reader;
mod recommendation;
mod requirement;
mod sum;
mod table;
mod unchecked;

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::contract::Contract;
use crate::formula::Formula;
use crate::report::{Diagnostic, Report, Rule};
use crate::source::{Source, Text};
use crate::types::{self, Place};
use crate::yaml;

use unchecked::UncheckedContract;

/// Loads the contracts in `depends_on` of a contract; errors go to the report.
pub type Load<'a> = &'a mut dyn FnMut(&str, &[&Text], &mut Report) -> Vec<Arc<Contract>>;

/// Checks a contract. Returns `Some` if the report has no errors.
pub fn check(source: Source, load: Load<'_>, report: &mut Report) -> Option<Contract> {
    let tree = yaml::tree(&source, report)?;
    if let Some(diagnostic) = published::diagnostic(&source, &tree) {
        report.add(diagnostic);
        return None;
    }
    let mut unchecked = UncheckedContract::read(&source, &tree, load, report)?;
    unchecked.expand_sums(report);
    unchecked.check_types(report);
    let order = unchecked.order(report);
    if report.has_errors() {
        return None;
    }
    Some(unchecked.finish(source, order, report))
}

impl UncheckedContract {
    fn check_types(&self, report: &mut Report) {
        for requirement in self.requires.iter().filter(|requirement| requirement.origin.is_none()) {
            let (formula, place) = (&requirement.formula, Place::Requirement);
            types::check_condition(formula, place, "a requirement", &self.scope, report);
        }
        for equation in self.equations.iter().filter(|equation| equation.origin.is_none()) {
            let what = format!("`{}`", equation.name);
            types::check_number(&equation.statement.formula, equation.unit, &what, &self.scope, report);
        }
        for classifier in self.classifiers.iter().filter(|classifier| classifier.origin.is_none()) {
            for (variant, condition, _) in &classifier.cases {
                if let Some(condition) = condition {
                    let what = format!("the case `{variant}`");
                    types::check_condition(condition, Place::Equation, &what, &self.scope, report);
                }
            }
        }
        for advice in &self.recommendations {
            types::check_condition(&advice.when, Place::Recommendation, "`when`", &self.scope, report);
        }
        for obligation in &self.obligations {
            types::check_condition(&obligation.formula, Place::Obligation, "`formal`", &self.scope, report);
            obligation::check_shape(obligation, report);
        }
        // After an error, a quantity may seem unused only because its user was dropped.
        if !report.has_errors() {
            self.warn_unused(report);
        }
    }

    fn warn_unused(&self, report: &mut Report) {
        let formulas = (self.equations.iter().map(|equation| &equation.statement.formula))
            .chain(
                self.classifiers
                    .iter()
                    .flat_map(|c| c.cases.iter().filter_map(|(_, condition, _)| condition.as_ref())),
            )
            .chain(self.recommendations.iter().map(|advice| &advice.when))
            .chain(self.requires.iter().map(|requirement| &requirement.formula));
        let used: BTreeSet<&str> = formulas.flat_map(Formula::names).collect();
        let own = self.quantities.iter().filter(|quantity| quantity.origin.is_none());
        for quantity in own.filter(|quantity| !used.contains(quantity.name.as_str())) {
            report.add(
                Diagnostic::warning(quantity.span, format!("the quantity `{}` is never used", quantity.name))
                    .rule(Rule::Unused),
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::contract::{ObligationKind, Priority};
    use crate::schema;

    #[test]
    fn every_word_in_the_schema_is_parsed() {
        assert_eq!(schema::KINDS, ObligationKind::ALL.map(ObligationKind::word));
        assert_eq!(schema::PRIORITIES, Priority::ALL.map(Priority::word));
    }
}
