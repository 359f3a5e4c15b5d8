//! From a YAML tree to a [`Contract`]: names resolved, units and domains checked, formulas in the graph.
//!
//! Goes on after a mistake, so that one run shows them all. Obligations are checked here for what they say;
//! whether they are true is for the prover.

mod import;
pub(crate) mod lower;
pub mod names;
mod reader;
mod table;
pub(crate) mod types;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use crate::contract::{
    Case, Claim, Classifier, Contract, Equation, Expression, Informal, Metadata, Obligation, ObligationKind,
    Operand, Priority, Quantity, Recommendation,
};
use crate::domain::{Domain, DomainError};
use crate::formula::{Binary, Formula, FormulaError, Kind, Statement};
use crate::graph::{Graph, Id, Op};
use crate::load::Loader;
use crate::prove::{Verdict, range};
use crate::report::{Mistake, Report, Rule};
use crate::schema;
use crate::source::{Node, Source, Span, Text, shorten};
use crate::unit::Unit;
use crate::version::Version;

use lower::Lowering;
use names::{Names, Style};
use reader::Fields;
use types::{Meaning, Place, Scope};

/// Checks a contract. Without errors in the report, the result is there.
pub(crate) fn check(source: Source, loader: &mut Loader<'_>, report: &mut Report) -> Option<Contract> {
    let tree = source.tree(report)?;
    let draft = Draft::read(&source, &tree, loader, report)?;
    draft.check_types(report);
    let order = draft.order(report);
    if report.has_errors() {
        return None;
    }
    Some(draft.finish(source, order, report))
}

fn unit(text: &Text, report: &mut Report) -> Option<Unit> {
    match Unit::parse_text(text) {
        Ok(unit) => Some(unit),
        Err((span, error)) => {
            report.add(Mistake::error(span, error.message).rule(Rule::Unit).note(error.note));
            None
        }
    }
}

fn domain(text: &Text, report: &mut Report) -> Option<Domain> {
    match Domain::parse_text(text) {
        Ok(domain) => Some(domain),
        Err((span, error)) => {
            report.add(Mistake::error(span, error.message).rule(Rule::Domain).note(DomainError::GRAMMAR));
            None
        }
    }
}

fn formula_mistake(error: FormulaError) -> Mistake {
    let mistake = Mistake::error(error.span, error.message).rule(Rule::Formula);
    if error.note.is_empty() { mistake } else { mistake.note(error.note) }
}

pub(crate) fn formula(text: &Text, report: &mut Report) -> Option<Formula> {
    Formula::parse(text).map_err(|error| report.add(formula_mistake(error))).ok()
}

struct EquationDraft {
    name: String,
    unit: Unit,
    unit_text: String,
    statement: Statement,
    doc: String,
    origin: Option<String>,
    span: Span,
}

struct ClassifierDraft {
    name: String,
    cases: Vec<(String, Option<Formula>, Span)>,
    doc: String,
    origin: Option<String>,
    span: Span,
}

struct RecommendationDraft {
    name: String,
    when: Formula,
    priority: Priority,
    text: String,
    span: Span,
}

struct ObligationDraft {
    id: String,
    kind: ObligationKind,
    formula: Formula,
    doc: String,
    tested: bool,
    if_fails: String,
    kani_solver: Option<String>,
    kani_unwind: Option<u32>,
}

/// A contract that has been read but not understood.
struct Draft {
    metadata: Metadata,
    dependencies: Vec<Arc<Contract>>,
    quantities: Vec<Quantity>,
    equations: Vec<EquationDraft>,
    classifiers: Vec<ClassifierDraft>,
    tables: Vec<crate::contract::Table>,
    recommendations: Vec<RecommendationDraft>,
    obligations: Vec<ObligationDraft>,
    informal: Vec<Informal>,
    scope: Scope,
}

/// The entries of a section, each a key and a value.
fn section<'a>(fields: &Fields<'a>, name: &str, report: &mut Report) -> &'a [(Text, Node)] {
    fields.node(name).and_then(|node| reader::pairs(node, &format!("`{name}`"), report)).unwrap_or_default()
}

impl Draft {
    fn read(source: &Source, tree: &Node, loader: &mut Loader<'_>, report: &mut Report) -> Option<Draft> {
        let start = Span { start: 0, end: source.text.lines().next().map_or(0, str::len) };
        let top = Fields::read(tree, start, "the contract", schema::CONTRACT, &[], report)?;
        let (metadata, wanted) = metadata(source, &top, report);
        let dependencies = loader.load(&metadata.id, &wanted, report);
        let mut names = Names::default();
        let mut scope = Scope::default();

        let mut quantities: Vec<Quantity> = Vec::new();
        for (key, node) in section(&top, "quantities", report) {
            // A wrong quantity keeps its name, so that its users are not wrong too.
            scope.insert_new(&key.value, Meaning::Wrong);
            if names::check(key, Style::Snake, "a quantity", report)
                && names.claim(key, "this quantity", report)
                && let Some(quantity) = quantity(key, node, report)
            {
                let operand = Operand::Quantity(quantities.len());
                let meaning = Meaning::Value(operand, quantity.unit, Some(quantity.domain.clone()));
                scope.insert(&key.value, meaning);
                quantities.push(quantity);
            }
        }

        let mut equations = Vec::new();
        for (key, node) in section(&top, "equations", report) {
            // A wrong equation keeps its name, so that its users are not wrong too.
            scope.insert_new(&key.value, Meaning::Wrong);
            if names::check(key, Style::Snake, "an equation", report)
                && names.claim(key, "this equation", report)
                && let Some(equation) = equation(key, node, &mut names, report)
            {
                let operand = Operand::Equation(equations.len());
                scope.insert(&key.value, Meaning::Value(operand, equation.unit, None));
                equations.push(equation);
            }
        }

        let mut classifiers = Vec::new();
        for (key, node) in section(&top, "classifiers", report) {
            if names::check(key, Style::Snake, "a classifier", report) {
                names.claim(key, "this classifier", report);
                names.claim_type(key, "the type of this classifier", report);
                scope.insert(&key.value, Meaning::Wrong);
                if let Some(classifier) = classifier(key, node, report) {
                    let variants = classifier.cases.iter().map(|(variant, ..)| variant.clone()).collect();
                    scope.insert(&key.value, Meaning::Classifier(variants));
                    classifiers.push(classifier);
                }
            }
        }

        let mut recommendations = Vec::new();
        for (key, node) in section(&top, "recommendations", report) {
            if names::check(key, Style::Snake, "a recommendation", report) {
                recommendations.extend(recommendation(key, node, report));
            }
        }

        let mut obligations: Vec<ObligationDraft> = Vec::new();
        let mut ids: BTreeMap<&str, Span> = BTreeMap::new();
        let items = top.node("obligations").and_then(|node| reader::list(node, "`obligations`", report));
        for item in items.unwrap_or_default() {
            let Some(keys) =
                Fields::read(item, item.span(), "an obligation", schema::OBLIGATION, &[], report)
            else {
                continue;
            };
            if let Some(id) = keys.text("id", report)
                && names::check(id, Style::Kebab, "an obligation", report)
            {
                if let Some(first) = ids.insert(&id.value, id.span) {
                    let message = format!("two obligations are called `{}`", id.value);
                    report.add(Mistake::error(id.span, message).rule(Rule::Name).and(first, "first here"));
                }
                obligations.extend(obligation(id, &keys, report));
            }
        }
        for (key, _) in section(&top, "profiles", report) {
            scope.insert(&key.value, Meaning::Table);
        }
        let mut draft = Draft {
            metadata,
            dependencies,
            quantities,
            equations,
            classifiers,
            tables: Vec::new(),
            recommendations,
            obligations,
            informal: informal(&top, report),
            scope,
        };
        draft.import(&mut names, report);
        // The fields of a table may be named after quantities of a dependency too.
        for (key, node) in section(&top, "profiles", report) {
            if names::check(key, Style::Snake, "a profile table", report) {
                names.claim(key, "this profile table", report);
                draft.tables.extend(table::read(key, node, &draft.quantities, report));
            }
        }
        draft.import_tables();
        Some(draft)
    }

    fn check_types(&self, report: &mut Report) {
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
            check_shape(obligation, report);
        }
        // With an error somewhere, a quantity may be unused only because its user is wrong.
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
            .chain(self.recommendations.iter().map(|advice| &advice.when));
        let used: std::collections::BTreeSet<&str> = formulas.flat_map(Formula::names).collect();
        let own = self.quantities.iter().filter(|quantity| quantity.origin.is_none());
        for quantity in own.filter(|quantity| !used.contains(quantity.name.as_str())) {
            report.add(
                Mistake::warning(quantity.span, format!("the quantity `{}` is never used", quantity.name))
                    .rule(Rule::Unused),
            );
        }
    }

    fn operands(&self, formula: &Formula) -> Vec<(String, Operand)> {
        let operand = |name: &str| match self.scope.get(name) {
            Some(Meaning::Value(operand, ..)) => Some((name.to_owned(), *operand)),
            _ => None,
        };
        formula.names().into_iter().filter_map(operand).collect()
    }

    /// An order in which each equation comes after those it uses; a cycle is reported as a path.
    fn order(&self, report: &mut Report) -> Vec<usize> {
        #[derive(Clone, Copy, PartialEq)]
        enum State {
            New,
            Open,
            Done,
        }
        let uses: Vec<Vec<usize>> = (self.equations.iter())
            .map(|equation| {
                let operands = self.operands(&equation.statement.formula);
                let equation = |(_, operand)| match operand {
                    Operand::Equation(index) => Some(index),
                    Operand::Quantity(_) => None,
                };
                operands.into_iter().filter_map(equation).collect()
            })
            .collect();
        let mut state = vec![State::New; uses.len()];
        let mut order = Vec::new();
        for first in 0..uses.len() {
            if state[first] != State::New {
                continue;
            }
            // Each step is an equation and how many of its uses have been followed.
            let mut path = vec![(first, 0)];
            state[first] = State::Open;
            while let Some((at, done)) = path.last_mut() {
                let Some(&next) = uses[*at].get(*done) else {
                    state[*at] = State::Done;
                    order.push(*at);
                    path.pop();
                    continue;
                };
                *done += 1;
                match state[next] {
                    State::New => {
                        state[next] = State::Open;
                        path.push((next, 0));
                    }
                    State::Open => {
                        let start = path.iter().position(|(at, _)| *at == next).unwrap_or(0);
                        let names: Vec<&str> = path[start..]
                            .iter()
                            .map(|(at, _)| *at)
                            .chain([next])
                            .map(|at| self.equations[at].name.as_str())
                            .collect();
                        let message = format!("an equation uses itself: {}", names.join(" -> "));
                        report.add(
                            Mistake::error(self.equations[next].span, message)
                                .rule(Rule::Formula)
                                .note("break the cycle: one of them must not use the next"),
                        );
                    }
                    State::Done => {}
                }
            }
        }
        order
    }

    fn finish(self, source: Source, order: Vec<usize>, report: &mut Report) -> Contract {
        let mut graph = Graph::default();
        let mut values: BTreeMap<String, Id> = BTreeMap::new();
        let mut quantities: BTreeMap<String, usize> = BTreeMap::new();
        for (index, quantity) in self.quantities.iter().enumerate() {
            values.insert(quantity.name.clone(), graph.add(Op::Quantity(index)));
            quantities.insert(quantity.name.clone(), index);
        }
        let mut classes = BTreeMap::new();
        let mut divisors: Vec<(Id, Span)> = Vec::new();
        for &index in &order {
            let equation = &self.equations[index];
            let formula = &equation.statement.formula;
            let ids = lowering(&mut graph, &values, &classes, &quantities).lower_all(formula);
            values.insert(equation.name.clone(), ids[formula.root]);
            for node in &formula.nodes {
                if let Kind::Binary(Binary::Divide, _, divisor) = node.kind {
                    divisors.push((ids[divisor], formula.nodes[divisor].span));
                }
            }
        }
        check_divisors(&graph, &self.quantities, &divisors, report);
        let expression = |formula: &Formula, id: Id, draft: &Draft| Expression {
            formula: formula.clone(),
            operands: draft.operands(formula),
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
                        let id = lowering(&mut graph, &values, &classes, &quantities).lower(formula);
                        check_reachable(&graph, id, &cases, variant, *span, report);
                        let chosen = if cases.is_empty() { id } else { graph.add(Op::And(none_before, id)) };
                        let not = graph.add(Op::Not(id));
                        none_before =
                            if cases.is_empty() { not } else { graph.add(Op::And(none_before, not)) };
                        (chosen, Some(expression(formula, id, &self)))
                    }
                };
                cases.push(Case { variant: variant.clone(), condition, chosen, span: *span });
            }
            classes.insert(
                classifier.name.clone(),
                cases.iter().map(|case| (case.variant.clone(), case.chosen)).collect(),
            );
            let (name, doc, span) = (classifier.name.clone(), classifier.doc.clone(), classifier.span);
            classifiers.push(Classifier { name, cases, doc, origin: classifier.origin.clone(), span });
        }
        let recommendations = (self.recommendations.iter())
            .map(|advice| {
                let id = lowering(&mut graph, &values, &classes, &quantities).lower(&advice.when);
                Recommendation {
                    name: advice.name.clone(),
                    when: expression(&advice.when, id, &self),
                    priority: advice.priority,
                    text: advice.text.clone(),
                    span: advice.span,
                }
            })
            .collect();
        let obligations = (self.obligations.iter())
            .map(|obligation| {
                let mut lowering = lowering(&mut graph, &values, &classes, &quantities);
                let id = lowering.lower(&obligation.formula);
                let substituted = std::mem::take(&mut lowering.substituted);
                let claim = match &obligation.formula.top().kind {
                    Kind::Monotone { increasing, variable, .. } => {
                        let quantity = quantities.get(&variable.0).copied().unwrap_or_default();
                        Claim::Monotone { of: id, increasing: *increasing, quantity }
                    }
                    _ => Claim::Always(id),
                };
                Obligation {
                    id: obligation.id.clone(),
                    kind: obligation.kind,
                    doc: obligation.doc.clone(),
                    formula: obligation.formula.clone(),
                    operands: self.operands(&obligation.formula),
                    claim,
                    substituted,
                    tested: obligation.tested,
                    if_fails: obligation.if_fails.clone(),
                    kani_solver: obligation.kani_solver.clone(),
                    kani_unwind: obligation.kani_unwind,
                    verdict: Verdict::NotRun,
                    span: obligation.formula.top().span,
                }
            })
            .collect();
        let equations = (self.equations.iter())
            .map(|equation| Equation {
                name: equation.name.clone(),
                unit: equation.unit,
                unit_text: equation.unit_text.clone(),
                expression: expression(&equation.statement.formula, values[&equation.name], &self),
                bounds: equation
                    .statement
                    .left
                    .clone()
                    .filter(|_| equation.statement.bound)
                    .map(|(name, _)| name),
                doc: equation.doc.clone(),
                origin: equation.origin.clone(),
                span: equation.span,
            })
            .collect();
        Contract {
            source,
            metadata: self.metadata,
            dependencies: self.dependencies,
            quantities: self.quantities,
            equations,
            order,
            classifiers,
            profiles: self.tables,
            recommendations,
            obligations,
            informal: self.informal,
            graph,
        }
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

/// A divisor that can be zero, or underflow to it, somewhere in the domains.
fn check_divisors(graph: &Graph, quantities: &[Quantity], divisors: &[(Id, Span)], report: &mut Report) {
    let ranges = range::ranges(graph, quantities);
    for (id, span) in divisors {
        let range = ranges[id.index()];
        if range.has_zero() {
            let (low, high) = (crate::formula::number(range.low), crate::formula::number(range.high));
            report.add(
                Mistake::error(*span, "the divisor can be zero")
                    .rule(Rule::Domain)
                    .label(format!("from {low} to {high} over the domains"))
                    .note("narrow the domains, or keep it away from zero with `max`"),
            );
        }
    }
}

/// What the contract says of itself, and what it depends on.
fn metadata<'a>(source: &Source, top: &Fields<'a>, report: &mut Report) -> (Metadata, Vec<&'a Text>) {
    let Some((key, node)) = top.entry("metadata") else { return Default::default() };
    let Some(fields) = Fields::read(node, key.span, "`metadata`", schema::METADATA, &[], report) else {
        return Default::default();
    };
    let stem = Path::new(&source.name).file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
    let id = match fields.text("id", report) {
        Some(text) => {
            names::check(text, Style::Kebab, "a contract", report);
            text.value.clone()
        }
        None => stem.to_owned(),
    };
    if let Some(version) = fields.text("version", report)
        && Version::parse(&version.value).is_none()
    {
        report.add(
            Mistake::error(version.span, format!("`{}` is not a semantic version", shorten(&version.value)))
                .note("write three numbers: `1.0.0`"),
        );
    }
    let metadata = Metadata {
        id,
        version: fields.string("version", report),
        description: fields.string("description", report),
        references: fields.strings("references", report),
    };
    (metadata, fields.texts("depends_on", report))
}

fn quantity(key: &Text, node: &Node, report: &mut Report) -> Option<Quantity> {
    let what = format!("quantity `{}`", key.value);
    let fields = Fields::read(node, key.span, &what, schema::QUANTITY, &[], report)?;
    let unit_text = fields.text("unit", report);
    let unit = unit_text.and_then(|text| unit(text, report));
    let domain = match fields.text("domain", report) {
        Some(text) => domain(text, report),
        None => Some(Domain::default()),
    };
    let (unit, domain) = (unit?, domain?);
    let default = fields.number("default", unit, report);
    if let Some((value, span)) = default
        && !domain.contains(value)
    {
        let message = format!("the default {} is outside the domain {domain}", crate::formula::number(value));
        report.add(Mistake::error(span, message).rule(Rule::Domain));
    }
    Some(Quantity {
        name: key.value.clone(),
        unit,
        unit_text: unit_text.map(|text| text.value.trim().to_owned()).unwrap_or_default(),
        domain,
        default: default.map(|(value, _)| value),
        doc: fields.string("doc", report),
        origin: None,
        span: key.span,
    })
}

fn equation(key: &Text, node: &Node, names: &mut Names, report: &mut Report) -> Option<EquationDraft> {
    let what = format!("equation `{}`", key.value);
    let fields = Fields::read(node, key.span, &what, schema::EQUATION, &[], report)?;
    let unit_text = fields.text("unit", report);
    let unit = unit_text.and_then(|text| unit(text, report));
    let doc = fields.string("doc", report);
    let text = fields.text("formula", report)?;
    let statement = Statement::parse(text).map_err(|error| report.add(formula_mistake(error))).ok()?;
    match &statement.left {
        Some((left, span)) if statement.bound => {
            if *left == key.value {
                let message = format!("the measured value of a bound needs a name of its own, not `{left}`");
                report.add(
                    Mistake::error(*span, message)
                        .rule(Rule::Name)
                        .note("the equation's name is the ceiling; write `measured <= ...`"),
                );
            }
            names.claim_as(&format!("{left}_within"), *span, "the check of this bound", &[], report);
        }
        Some((left, span)) if *left != key.value => {
            let message = format!(
                "the formula defines `{}`, but the equation is called `{}`",
                shorten(left),
                key.value
            );
            report.add(
                Mistake::error(*span, message)
                    .rule(Rule::Name)
                    .and(key.span, "the equation")
                    .note("use one name, or leave the left side out"),
            );
        }
        _ => {}
    }
    Some(EquationDraft {
        name: key.value.clone(),
        unit: unit?,
        unit_text: unit_text.map(|text| text.value.trim().to_owned()).unwrap_or_default(),
        statement,
        doc,
        origin: None,
        span: key.span,
    })
}

fn classifier(key: &Text, node: &Node, report: &mut Report) -> Option<ClassifierDraft> {
    let what = format!("classifier `{}`", key.value);
    let fields = Fields::read(node, key.span, &what, schema::CLASSIFIER, &[], report)?;
    let subject = fields.text("of", report);
    let doc = fields.string("doc", report);
    let items = fields.node("cases").and_then(|node| reader::list(node, "`cases`", report))?;
    let mut cases: Vec<(String, Option<Formula>, Span)> = Vec::new();
    let mut seen = Names::default();
    for (i, item) in items.iter().enumerate() {
        let Node::Map(pairs, span) = item else {
            report.add(
                Mistake::error(item.span(), "a case is written `- Variant: condition`")
                    .rule(Rule::Classifier),
            );
            continue;
        };
        let [(variant, condition)] = pairs.as_slice() else {
            report.add(
                Mistake::error(*span, "a case is one variant with its condition, `- Variant: condition`")
                    .rule(Rule::Classifier),
            );
            continue;
        };
        if !names::check(variant, Style::Camel, "a case", report) {
            continue;
        }
        seen.claim_as(&variant.value, variant.span, "this case", &[], report);
        let Some(text) = reader::text(condition, &format!("the case `{}`", variant.value), report) else {
            continue;
        };
        let last = i + 1 == items.len();
        if text.value.trim() == "otherwise" {
            if !last {
                report.add(
                    Mistake::error(text.span, "`otherwise` stands before the last case")
                        .rule(Rule::Classifier)
                        .label("the cases after it can never be chosen"),
                );
            }
            cases.push((variant.value.clone(), None, variant.span));
            continue;
        }
        if last {
            report.add(
                Mistake::error(text.span, format!("the last case of {what} is not `otherwise`"))
                    .rule(Rule::Classifier)
                    .note("without it some values would have no class; write `- Variant: otherwise`"),
            );
        }
        let starts_with_comparison = text.value.trim_start().starts_with(['<', '>', '=', '!', '≤', '≥', '≠']);
        let parsed = match subject {
            Some(subject) => Formula::parse_band(text, &subject.value),
            None if starts_with_comparison => {
                report.add(
                    Mistake::error(text.span, "a case that starts with a comparison needs to know of what")
                        .rule(Rule::Classifier)
                        .note("add `of: name` to the classifier, or write the whole condition"),
                );
                continue;
            }
            None => Formula::parse(text),
        };
        match parsed {
            Ok(formula) => cases.push((variant.value.clone(), Some(formula), variant.span)),
            Err(error) => report.add(formula_mistake(error)),
        }
    }
    if items.len() < 2 {
        let message = format!("{what} needs at least two cases");
        report.add(Mistake::error(key.span, message).rule(Rule::Classifier));
    }
    Some(ClassifierDraft { name: key.value.clone(), cases, doc, origin: None, span: key.span })
}

/// A case is never chosen if an earlier one holds whenever it does.
fn check_reachable(graph: &Graph, id: Id, before: &[Case], variant: &str, span: Span, report: &mut Report) {
    for earlier in before {
        let Some(condition) = &earlier.condition else { continue };
        if implies(graph, id, condition.id) {
            report.add(
                Mistake::error(span, format!("the case `{variant}` can never be chosen"))
                    .rule(Rule::Classifier)
                    .and(earlier.span, "this case holds whenever it does"),
            );
            return;
        }
    }
}

/// Whether one comparison with a number says at least as much as another of the same value. Incomplete on
/// purpose: it finds repeated conditions and bands in the wrong order.
fn implies(graph: &Graph, a: Id, b: Id) -> bool {
    if a == b {
        return true;
    }
    let number = |id: Id| match graph.op(id) {
        Op::Number(bits) => Some(f64::from_bits(bits)),
        _ => None,
    };
    // (value, limit, is a lower limit, strict)
    let side = |id: Id| match graph.op(id) {
        Op::Less(x, y) => {
            number(x).map(|n| (y, n, true, true)).or_else(|| number(y).map(|n| (x, n, false, true)))
        }
        Op::LessEqual(x, y) => {
            number(x).map(|n| (y, n, true, false)).or_else(|| number(y).map(|n| (x, n, false, false)))
        }
        _ => None,
    };
    let (Some((x, m, lower, strict)), Some((y, n, also_lower, also_strict))) = (side(a), side(b)) else {
        return false;
    };
    let inside = if lower { m > n } else { m < n };
    x == y && lower == also_lower && (inside || (m == n && (strict || !also_strict)))
}

fn recommendation(key: &Text, node: &Node, report: &mut Report) -> Option<RecommendationDraft> {
    let what = format!("recommendation `{}`", key.value);
    let fields = Fields::read(node, key.span, &what, schema::RECOMMENDATION, &[], report)?;
    let when = fields.text("when", report).and_then(|text| formula(text, report));
    let priority = match fields.word(schema::RECOMMENDATION, "priority", report) {
        Some("high") => Priority::High,
        Some("medium") => Priority::Medium,
        _ => Priority::Low,
    };
    let text = fields.string("text", report);
    Some(RecommendationDraft { name: key.value.clone(), when: when?, priority, text, span: key.span })
}

fn obligation(id: &Text, keys: &Fields<'_>, report: &mut Report) -> Option<ObligationDraft> {
    let kind = keys.word(schema::OBLIGATION, "type", report).map(|word| match word {
        "bound" => ObligationKind::Bound,
        "monotonicity" => ObligationKind::Monotonicity,
        "equivalence" => ObligationKind::Equivalence,
        "finiteness" => ObligationKind::Finiteness,
        "scaling" => ObligationKind::Scaling,
        _ => ObligationKind::Invariant,
    });
    let formula = keys.text("formal", report).and_then(|text| formula(text, report));
    let tested = keys.word(schema::OBLIGATION, "assurance", report) == Some("tested");
    let mut kani_solver = None;
    let mut kani_unwind = None;
    if let Some((key, node)) = keys.entry("kani")
        && let Some(kani) = Fields::read(node, key.span, "`kani`", schema::KANI, &[], report)
    {
        kani_solver = kani.word(schema::KANI, "solver", report).map(str::to_owned);
        kani_unwind = kani.number("unwind", Unit::ONE, report).and_then(|(value, span)| {
            let fits = value % 1.0 == 0.0 && (1.0..=f64::from(schema::MAX_UNWIND)).contains(&value);
            if !fits {
                let message = format!("`unwind` is a whole number from 1 to {}", schema::MAX_UNWIND);
                report.add(Mistake::error(span, message));
            }
            fits.then_some(value as u32)
        });
    }
    let doc = keys.string("doc", report);
    let if_fails = keys.string("if_fails", report);
    Some(ObligationDraft {
        id: id.value.clone(),
        kind: kind?,
        formula: formula?,
        doc,
        tested,
        if_fails,
        kani_solver,
        kani_unwind,
    })
}

fn informal(top: &Fields<'_>, report: &mut Report) -> Vec<Informal> {
    let items = top.node("informal").and_then(|node| reader::list(node, "`informal`", report));
    let read = |item: &Node| {
        let keys = Fields::read(item, item.span(), "an informal statement", schema::INFORMAL, &[], report)?;
        let [about, text, why] = ["about", "text", "why"].map(|key| keys.string(key, report));
        Some(Informal { about, text, why })
    };
    items.unwrap_or_default().iter().filter_map(read).collect()
}

/// The kind of an obligation says what its formula looks like, so that a reader can rely on it.
fn check_shape(obligation: &ObligationDraft, report: &mut Report) {
    let top = &obligation.formula.top().kind;
    let comparison = matches!(top, Kind::Binary(operator, ..) if operator.is_comparison());
    let substitutes = obligation.formula.nodes.iter().any(|node| matches!(node.kind, Kind::Substitute(..)));
    let (fits, shape) = match obligation.kind {
        ObligationKind::Bound => (comparison, "a comparison such as `x > 0` or `x <= y`"),
        ObligationKind::Monotonicity => {
            (matches!(top, Kind::Monotone { .. }), "`x increasing in q` or `x decreasing in q`")
        }
        ObligationKind::Equivalence => {
            (matches!(top, Kind::Binary(Binary::Equal | Binary::Iff, ..)), "`a == b` or `a iff b`")
        }
        ObligationKind::Finiteness => {
            (matches!(top, Kind::Call(crate::formula::Function::Finite, _)), "`finite(x)`")
        }
        ObligationKind::Scaling => {
            (comparison && substitutes, "a comparison with a substitution, `f(q: 2 * q) == f / 2`")
        }
        ObligationKind::Invariant => (!matches!(top, Kind::Monotone { .. }), "a condition"),
    };
    if !fits {
        let kind = format!("{:?}", obligation.kind).to_lowercase();
        report.add(
            Mistake::error(
                obligation.formula.top().span,
                format!("an obligation of type `{kind}` is {shape}"),
            )
            .rule(Rule::Obligation)
            .note("change `type` or the formula"),
        );
    }
}
