//! Reading of a contract, section by section, before its formulas are checked.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use semver::Version;

use crate::contract::{Contract, Informal, Metadata, Operand, Quantity, Table};
use crate::formula::Formula;
use crate::names::{self, Names, Style};
use crate::report::{Diagnostic, Report, Rule};
use crate::schema;
use crate::source::{Source, Span, Text, shorten};
use crate::types::{Meaning, Scope};
use crate::yaml::Node;

use super::classifier::{self, UncheckedClassifier};
use super::equation::{self, UncheckedEquation};
use super::obligation::{self, UncheckedObligation};
use super::reader::{self, Fields};
use super::recommendation::{self, UncheckedRecommendation};
use super::requirement::{self, UncheckedRequirement};
use super::{Load, quantity, sum, table};

/// The contract that an equation or a classifier was imported from.
pub struct Origin {
    pub contract: String,
    /// Its operands in the order of that contract, which is the order of the parameters of its function.
    pub operands: Vec<String>,
}

/// A parsed contract with unresolved names.
pub struct UncheckedContract {
    pub metadata: Metadata,
    pub dependencies: Vec<Arc<Contract>>,
    pub quantities: Vec<Quantity>,
    pub requires: Vec<UncheckedRequirement>,
    pub equations: Vec<UncheckedEquation>,
    pub classifiers: Vec<UncheckedClassifier>,
    pub tables: Vec<Table>,
    pub recommendations: Vec<UncheckedRecommendation>,
    pub obligations: Vec<UncheckedObligation>,
    pub informal: Vec<Informal>,
    pub scope: Scope,
}

/// The entries of a section, as pairs of key and value.
fn section<'a>(fields: &Fields<'a>, name: &str, report: &mut Report) -> &'a [(Text, Node)] {
    fields.node(name).and_then(|node| reader::pairs(node, &format!("`{name}`"), report)).unwrap_or_default()
}

impl UncheckedContract {
    /// Reads every section and imports the names in formulas from the dependencies.
    pub fn read(
        source: &Source,
        tree: &Node,
        load: Load<'_>,
        report: &mut Report,
    ) -> Option<UncheckedContract> {
        let start = Span { start: 0, end: source.text.lines().next().map_or(0, str::len) };
        let top = Fields::read(tree, start, "the contract", schema::CONTRACT, &[], report)?;
        let (metadata, wanted) = metadata(source, &top, report);
        let dependencies = load(&metadata.id, &wanted, report);
        let mut names = Names::default();
        let mut scope = Scope::default();
        scope.incomplete = dependencies.len() < wanted.len();

        let mut quantities: Vec<Quantity> = Vec::new();
        for (key, node) in section(&top, "quantities", report) {
            // An invalid quantity keeps its name, so that its users cause no further errors.
            scope.insert_new(&key.value, Meaning::Wrong);
            if names::check(key, Style::Snake, "a quantity", report)
                && names.claim(key, "this quantity", report)
                && let Some(quantity) = quantity::read(key, node, report)
            {
                let operand = Operand::Quantity(quantities.len());
                if !quantity.cases.is_empty() {
                    names.claim_type(key, "the type of this quantity", report);
                }
                scope.insert(&key.value, Meaning::for_quantity(&quantity, operand));
                quantities.push(quantity);
            }
        }

        let mut equations = Vec::new();
        for (key, node) in section(&top, "equations", report) {
            // An invalid equation keeps its name, so that its users cause no further errors.
            scope.insert_new(&key.value, Meaning::Wrong);
            if names::check(key, Style::Snake, "an equation", report)
                && names.claim(key, "this equation", report)
                && let Some(equation) = equation::read(key, node, &mut names, report)
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
                if let Some(classifier) = classifier::read(key, node, report) {
                    let variants = classifier.cases.iter().map(|(variant, ..)| variant.clone()).collect();
                    scope.insert(&key.value, Meaning::Classifier(variants));
                    classifiers.push(classifier);
                }
            }
        }

        let mut recommendations = Vec::new();
        for (key, node) in section(&top, "recommendations", report) {
            if names::check(key, Style::Snake, "a recommendation", report) {
                recommendations.extend(recommendation::read(key, node, report));
            }
        }

        let mut obligations: Vec<UncheckedObligation> = Vec::new();
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
                    let message = format!("duplicate obligation `{}`", id.value);
                    report.add(
                        Diagnostic::error(id.span, message).rule(Rule::Name).and(first, "first defined here"),
                    );
                }
                obligations.extend(obligation::read(id, &keys, report));
            }
        }
        let tables = section(&top, "profiles", report);
        for (key, _) in tables {
            scope.insert(&key.value, Meaning::Table);
        }
        let mut unchecked = UncheckedContract {
            metadata,
            dependencies,
            quantities,
            requires: requirement::read(&top, report),
            equations,
            classifiers,
            tables: Vec::new(),
            recommendations,
            obligations,
            informal: obligation::informal(&top, report),
            scope,
        };
        let columns = sum::columns(tables, &unchecked.dependencies);
        unchecked.import(&columns, &mut names, report);
        let mut methods = Names::default();
        // Fields of a table may also have the names of imported quantities.
        for (key, node) in tables {
            if names::check(key, Style::Snake, "a profile table", report) {
                names.claim_module(key, "this profile table", report);
                let method = format!("with_{}", names::singular(&key.value));
                methods.claim_as(
                    &method,
                    key.span,
                    "the method that takes an entry of this table",
                    &[],
                    report,
                );
                let read = table::read(key, node, &unchecked.quantities, &unchecked.dependencies, report);
                unchecked.tables.extend(read);
            }
        }
        unchecked.import_tables();
        Some(unchecked)
    }

    /// The direct operands of formulas in the order of the contract: quantities, then equations. Imported items keep the
    /// order of their own contract.
    pub fn operands<'f>(
        &self,
        origin: Option<&Origin>,
        formulas: impl IntoIterator<Item = &'f Formula>,
    ) -> Vec<(String, Operand)> {
        let operand = |name: &str| match self.scope.get(name) {
            Some(Meaning::Value(operand, ..) | Meaning::Cases(operand, _)) => {
                Some((name.to_owned(), *operand))
            }
            _ => None,
        };
        if let Some(origin) = origin {
            return origin.operands.iter().filter_map(|name| operand(name)).collect();
        }
        let names = formulas.into_iter().flat_map(Formula::names);
        let mut operands: Vec<(String, Operand)> = names.filter_map(operand).collect();
        operands.sort_by_key(|(_, operand)| *operand);
        operands.dedup();
        operands
    }
}

/// Reads the metadata and the dependencies.
fn metadata<'a>(source: &Source, top: &Fields<'a>, report: &mut Report) -> (Metadata, Vec<&'a Text>) {
    let stem = Path::new(&source.name).file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
    let mut metadata = Metadata {
        // Editors recognize contracts by names such as `my-model-v1.roofline.yaml`.
        id: stem.strip_suffix(".roofline").unwrap_or(stem).to_owned(),
        version: Version::new(0, 0, 0),
        description: String::new(),
        references: Vec::new(),
    };
    let Some((key, node)) = top.entry("metadata") else { return (metadata, Vec::new()) };
    let Some(fields) = Fields::read(node, key.span, "`metadata`", schema::METADATA, &[], report) else {
        return (metadata, Vec::new());
    };
    if let Some(id) = fields.text("id", report) {
        names::check(id, Style::Kebab, "a contract", report);
        metadata.id.clone_from(&id.value);
    }
    if let Some(text) = fields.text("version", report) {
        match Version::parse(&text.value) {
            Ok(version) => metadata.version = version,
            Err(_) => report.add(
                Diagnostic::error(text.span, format!("invalid version `{}`", shorten(&text.value)))
                    .note("expected a semantic version such as `1.0.0`"),
            ),
        }
    }
    metadata.description = fields.string("description", report);
    metadata.references = fields.strings("references", report);
    (metadata, fields.texts("depends_on", report))
}
