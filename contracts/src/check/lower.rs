//! From an unchecked contract to a contract: lowers every formula to graph nodes and runs the checks that need the graph.

use std::collections::BTreeMap;

use crate::contract::{
    Case, Claim, Classifier, Contract, Equation, Expression, Obligation, Recommendation, Requirement, Verdict,
};
use crate::formula::{Binary, Formula, Kind};
use crate::graph::build::Lowering;
use crate::graph::{Graph, Id, Op};
use crate::report::Report;
use crate::source::Source;

use super::classifier::check_reachable;
use super::divisor::{self, Division};
use super::requirement::{self, UncheckedRequirement};
use super::unchecked::UncheckedContract;

impl UncheckedContract {
    /// Lowers the contract; `order` is the result of [`order`](UncheckedContract::order).
    pub fn finish(self, source: Source, order: Vec<usize>, report: &mut Report) -> Contract {
        let mut graph = Graph::default();
        let mut values: BTreeMap<String, Id> = BTreeMap::new();
        let mut quantities: BTreeMap<String, usize> = BTreeMap::new();
        for (index, quantity) in self.quantities.iter().enumerate() {
            values.insert(quantity.name.clone(), graph.add(Op::Quantity(index)));
            quantities.insert(quantity.name.clone(), index);
        }
        let mut classes = BTreeMap::new();
        for quantity in self.quantities.iter().filter(|quantity| !quantity.cases.is_empty()) {
            classes.insert(quantity.name.clone(), graph.cases(values[&quantity.name], &quantity.cases));
        }
        let mut divisions: Vec<Division> = Vec::new();
        // Requirements are evaluated at every point of the domains, so their own divisions cannot rely on requirements.
        let mut unguarded: Vec<Division> = Vec::new();
        let requires: Vec<Requirement> = (self.requires.iter())
            .map(|UncheckedRequirement { formula, origin }| {
                let ids = lowering(&mut graph, &values, &classes, &quantities).lower_all(formula);
                if origin.is_none() {
                    unguarded.extend(divisor::divisions(&graph, formula, &ids));
                }
                let operands = self.operands(None, [formula]);
                let expression = Expression { formula: formula.clone(), operands, id: ids[formula.root] };
                Requirement { expression, origin: origin.clone() }
            })
            .collect();
        let required: Vec<Id> = requires.iter().map(|requirement| requirement.expression.id).collect();
        for &index in &order {
            let equation = &self.equations[index];
            let formula = &equation.statement.formula;
            let ids = lowering(&mut graph, &values, &classes, &quantities).lower_all(formula);
            values.insert(equation.name.clone(), ids[formula.root]);
            // Imported items were checked in their own contract.
            if equation.origin.is_none() {
                divisions.extend(divisor::divisions(&graph, formula, &ids));
            }
        }
        let expression = |formula: &Formula, id: Id| Expression {
            formula: formula.clone(),
            operands: self.operands(None, [formula]),
            id,
        };
        let mut classifiers = Vec::new();
        for classifier in &self.classifiers {
            let mut none_before = graph.add(Op::Bool(true));
            let mut cases: Vec<Case> = Vec::new();
            for (variant, condition, span) in &classifier.cases {
                let (chosen, condition) = match condition {
                    None => (none_before, None),
                    Some(formula) => {
                        let ids = lowering(&mut graph, &values, &classes, &quantities).lower_all(formula);
                        let id = ids[formula.root];
                        if classifier.origin.is_none() {
                            divisions.extend(divisor::divisions(&graph, formula, &ids));
                        }
                        check_reachable(&graph, id, &cases, variant, *span, report);
                        let chosen = if cases.is_empty() { id } else { graph.add(Op::And(none_before, id)) };
                        let not = graph.add(Op::Not(id));
                        none_before =
                            if cases.is_empty() { not } else { graph.add(Op::And(none_before, not)) };
                        (chosen, Some(expression(formula, id)))
                    }
                };
                cases.push(Case { variant: variant.clone(), condition, chosen, span: *span });
            }
            classes.insert(
                classifier.name.clone(),
                cases.iter().map(|case| (case.variant.clone(), case.chosen)).collect(),
            );
            let conditions = classifier.cases.iter().filter_map(|(_, condition, _)| condition.as_ref());
            classifiers.push(Classifier {
                name: classifier.name.clone(),
                cases,
                operands: self.operands(classifier.origin.as_ref(), conditions),
                doc: classifier.doc.clone(),
                origin: classifier.origin.as_ref().map(|origin| origin.contract.clone()),
                span: classifier.span,
            });
        }
        let recommendations = (self.recommendations.iter())
            .map(|advice| {
                let ids = lowering(&mut graph, &values, &classes, &quantities).lower_all(&advice.when);
                divisions.extend(divisor::divisions(&graph, &advice.when, &ids));
                let id = ids[advice.when.root];
                Recommendation {
                    name: advice.name.clone(),
                    when: expression(&advice.when, id),
                    priority: advice.priority,
                    text: advice.text.clone(),
                    span: advice.span,
                }
            })
            .collect();
        let obligations = (self.obligations.iter())
            .map(|obligation| {
                let mut lowering = lowering(&mut graph, &values, &classes, &quantities);
                let ids = lowering.lower_all(&obligation.formula);
                let id = ids[obligation.formula.root];
                let substitutions = std::mem::take(&mut lowering.substituted);
                let assumed = (substitutions.iter().flat_map(|by| required.iter().map(move |&id| (id, by))))
                    .map(|(id, by)| graph.substitute(id, by))
                    .filter(|id| !required.contains(id))
                    .collect();
                let substituted: Vec<(usize, Id)> = substitutions.concat();
                divisions.extend(divisor::divisions(&graph, &obligation.formula, &ids));
                let vacuous_when = match obligation.formula.top().kind {
                    Kind::Binary(Binary::Implies, premise, _) => Some(graph.add(Op::Not(ids[premise]))),
                    _ if substituted.is_empty() => None,
                    _ => Some(graph.add(Op::Bool(false))),
                };
                let claim = match &obligation.formula.top().kind {
                    Kind::Monotone { increasing, variable, within, .. } => {
                        let quantity = quantities.get(&variable.0).copied().unwrap_or_default();
                        Claim::Monotone { of: id, increasing: *increasing, quantity, within: *within }
                    }
                    _ => Claim::Always(id),
                };
                Obligation {
                    id: obligation.id.clone(),
                    kind: obligation.kind,
                    doc: obligation.doc.clone(),
                    formula: obligation.formula.clone(),
                    operands: self.operands(None, [&obligation.formula]),
                    claim,
                    substituted,
                    assumed,
                    vacuous_when,
                    vacuous: obligation.vacuous,
                    assurance: obligation.assurance,
                    if_fails: obligation.if_fails.clone(),
                    kani_solver: obligation.kani_solver.clone(),
                    kani_unwind: obligation.kani_unwind,
                    verdict: Verdict::NotRun,
                    span: obligation.formula.top().span,
                }
            })
            .collect();
        let domains: Vec<_> = self.quantities.iter().map(|q| (q.name.as_str(), &q.domain)).collect();
        divisor::check(&graph, &domains, &[], &unguarded, report);
        divisor::check(&graph, &domains, &required, &divisions, report);
        let equations = (self.equations.iter())
            .map(|equation| Equation {
                name: equation.name.clone(),
                unit: equation.unit,
                unit_text: equation.unit_text.clone(),
                expression: Expression {
                    operands: self.operands(equation.origin.as_ref(), [&equation.statement.formula]),
                    ..expression(&equation.statement.formula, values[&equation.name])
                },
                bounds: equation
                    .statement
                    .left
                    .clone()
                    .filter(|_| equation.statement.bound)
                    .map(|(name, _)| name),
                doc: equation.doc.clone(),
                origin: equation.origin.as_ref().map(|origin| origin.contract.clone()),
                span: equation.span,
            })
            .collect();
        let contract = Contract {
            source,
            metadata: self.metadata,
            dependencies: self.dependencies,
            quantities: self.quantities,
            requires,
            equations,
            order,
            classifiers,
            profiles: self.tables,
            recommendations,
            obligations,
            informal: self.informal,
            graph,
        };
        requirement::check(&contract, report);
        contract
    }
}

fn lowering<'a>(
    graph: &'a mut Graph,
    values: &'a BTreeMap<String, Id>,
    classes: &'a BTreeMap<String, Vec<(String, Id)>>,
    quantities: &'a BTreeMap<String, usize>,
) -> Lowering<'a> {
    Lowering { graph, values, classes, quantities, substituted: Vec::new() }
}
