//! The type checker: names, types and units of formulas.

use crate::contract::{Operand, Quantity};
use crate::domain::{Domain, MAX_INTEGER};
use crate::formula::{Binary, Formula, Function, Kind, Node};
use crate::graph::MAX_POW;
use crate::report::{Diagnostic, Report, Rule};
use crate::source::{Span, shorten};
use crate::suggest;
use crate::unit::Unit;

/// A semantic error in a formula.
fn wrong(span: Span, message: impl Into<String>) -> Diagnostic {
    Diagnostic::error(span, message).rule(Rule::Formula)
}

/// The type of a formula or a part of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Type {
    /// A number with a unit.
    Number(Unit),
    /// A bare 0, which matches any unit; in a condition on results, any bare number.
    Zero,
    /// A truth value.
    Truth,
    /// A text, only in the rules of a profile table.
    Text,
    /// An error that was already reported.
    Unknown,
}

impl Type {
    /// The description used in diagnostics.
    pub fn what(self) -> &'static str {
        match self {
            Type::Number(_) | Type::Zero => "a number",
            Type::Truth => "a condition",
            Type::Text => "a string",
            Type::Unknown => "unknown",
        }
    }
}

/// The meaning of a name.
#[derive(Clone, Debug)]
pub enum Meaning {
    /// A quantity or an equation with its unit; a quantity also has a domain.
    Value(Operand, Unit, Option<Domain>),
    /// An enumeration with these cases.
    Cases(Operand, Vec<String>),
    /// A classifier and its variants.
    Classifier(Vec<String>),
    /// A numeric field of a profile table.
    Number(Unit),
    /// A text field and its allowed texts.
    Text(Vec<String>),
    /// A result of true or false.
    Truth,
    /// A profile table, which is not a value.
    Table,
    /// A quantity or an equation with a reported error.
    Wrong,
}

/// The names in scope of a formula, in the order of the file.
#[derive(Clone, Debug, Default)]
pub struct Scope {
    names: std::collections::BTreeMap<String, Meaning>,
    /// True if a dependency has a reported error, so that unknown names may be its own.
    pub incomplete: bool,
}

impl Meaning {
    /// The meaning of a quantity's name.
    pub fn for_quantity(quantity: &Quantity, operand: Operand) -> Meaning {
        if quantity.cases.is_empty() {
            Meaning::Value(operand, quantity.unit, Some(quantity.domain.clone()))
        } else {
            Meaning::Cases(operand, quantity.cases.clone())
        }
    }
}

impl Scope {
    /// Adds a name.
    pub fn insert(&mut self, name: &str, meaning: Meaning) {
        self.names.insert(name.to_owned(), meaning);
    }

    /// Adds a name unless it is already in scope.
    pub fn insert_new(&mut self, name: &str, meaning: Meaning) {
        self.names.entry(name.to_owned()).or_insert(meaning);
    }

    /// Returns the meaning of a name.
    pub fn get(&self, name: &str) -> Option<&Meaning> {
        self.names.get(name)
    }

    fn unknown(&self, name: &str, span: Span, report: &Report) -> Diagnostic {
        let known = self.names.keys().map(String::as_str);
        let diagnostic = wrong(span, format!("unknown name `{}`", shorten(name)));
        if report.is_full() {
            return diagnostic;
        }
        match suggest::closest(name, known) {
            Some(near) => diagnostic.label(format!("did you mean `{near}`?")),
            None => diagnostic.note("expected a quantity or an equation of this contract"),
        }
    }
}

/// The place of a formula, which determines the allowed constructs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// A requirement: quantities only.
    Requirement,
    /// An equation or the condition of a classifier's case.
    Equation,
    /// The condition of a recommendation: also classifiers.
    Recommendation,
    /// An obligation: also directions, substitutions and `finite`.
    Obligation,
    /// A rule of a profile table: also texts and `given`.
    Rule,
    /// A condition on results, as typed on the command line: like a rule, but bare numbers take the unit of the other side,
    /// and units of the same dimension are converted.
    Gate,
}

/// Checks a formula and returns its type.
pub fn check(formula: &Formula, place: Place, scope: &Scope, report: &mut Report) -> Type {
    check_nodes(formula, place, scope, report)[formula.root]
}

/// Checks a formula and returns the type of each node.
pub fn check_nodes(formula: &Formula, place: Place, scope: &Scope, report: &mut Report) -> Vec<Type> {
    let mut checker =
        Checker { formula, place, scope, report, types: Vec::with_capacity(formula.nodes.len()) };
    let cases = checker.cases();
    // The summand was checked once for all rows.
    for (id, (node, expanded)) in formula.nodes.iter().zip(formula.expanded_nodes()).enumerate() {
        let found = if expanded || cases.contains(&id) { Type::Unknown } else { checker.node(node) };
        checker.types.push(found);
    }
    checker.types
}

/// Checks a formula that must be a number in this unit.
pub fn check_number(formula: &Formula, wanted: Unit, what: &str, scope: &Scope, report: &mut Report) {
    let span = formula.top().span;
    match check(formula, Place::Equation, scope, report) {
        Type::Number(found) if found != wanted => report.add(found.mismatch(wanted, span, what)),
        Type::Number(_) | Type::Zero | Type::Unknown => {}
        other => report.add(wrong(span, format!("{what} must be a number, not {}", other.what()))),
    }
}

/// Checks a formula that must be a condition.
pub fn check_condition(
    formula: &Formula,
    place: Place,
    what: &str,
    scope: &Scope,
    report: &mut Report,
) -> Vec<Type> {
    let types = check_nodes(formula, place, scope, report);
    match types[formula.root] {
        Type::Truth | Type::Unknown => {}
        other => report.add(
            wrong(formula.top().span, format!("{what} must be a condition, not {}", other.what()))
                .note("write a comparison such as `a < b`, `a <= b` or `a == b`"),
        ),
    }
    types
}

struct Checker<'a> {
    formula: &'a Formula,
    place: Place,
    scope: &'a Scope,
    report: &'a mut Report,
    types: Vec<Type>,
}

impl Checker<'_> {
    fn span(&self, id: usize) -> Span {
        self.formula.nodes[id].span
    }

    /// The nodes that name cases in substitutions: `fp8` in `rate(precision: fp8)`.
    fn cases(&self) -> Vec<usize> {
        let mut found = Vec::new();
        for node in &self.formula.nodes {
            let Kind::Substitute(_, replaced) = &node.kind else { continue };
            let of_cases = |(quantity, _, by): &&(String, Span, usize)| {
                matches!(self.scope.get(quantity), Some(Meaning::Cases(..)))
                    && matches!(self.formula.nodes[*by].kind, Kind::Name(_))
            };
            found.extend(replaced.iter().filter(of_cases).map(|(_, _, by)| *by));
        }
        found
    }

    /// Reports an unknown case.
    fn check_case(&mut self, name: &str, case: &str, span: Span, cases: &[String]) {
        if cases.iter().any(|known| known == case) {
            return;
        }
        let mut diagnostic = wrong(span, format!("unknown case `{}` of `{name}`", shorten(case)));
        if let Some(near) = suggest::closest(case, cases.iter().map(String::as_str)) {
            diagnostic = diagnostic.label(format!("did you mean `{near}`?"));
        }
        self.report.add(diagnostic.note(format!("expected one of: {}", cases.join(", "))));
    }

    fn node(&mut self, node: &Node) -> Type {
        match &node.kind {
            Kind::Number { value, unit: None } if *value == 0.0 || self.place == Place::Gate => Type::Zero,
            Kind::Number { unit: None, .. } => Type::Number(Unit::ONE),
            Kind::Number { value, unit: Some((unit, text)) } => self.literal(node.span, *value, *unit, text),
            Kind::Name(name) => self.name(name, node.span),
            Kind::Quote(_) if matches!(self.place, Place::Rule | Place::Gate) => Type::Text,
            Kind::Quote(_) => self.misplaced(node.span, "a quoted string", "the rules of a profile table"),
            Kind::Negate(a) => self.number(*a),
            Kind::Not(a) => self.truth(*a),
            Kind::Binary(operator, a, b) => self.binary(*operator, *a, *b, node.span),
            Kind::Within(operator, a, b, _) => {
                if self.place != Place::Obligation {
                    return self.misplaced(node.span, "a tolerance", "an obligation");
                }
                self.binary(*operator, *a, *b, node.span)
            }
            Kind::Power(a, exponent) => match self.number(*a) {
                Type::Number(unit) => self.product(unit.power(*exponent), node.span),
                other => other,
            },
            Kind::Call(function, arguments) => self.call(*function, arguments, node.span),
            Kind::If(condition, a, b) => {
                self.truth(*condition);
                let (yes, no) = (self.number(*a), self.number(*b));
                self.unify(yes, no, *a, *b, "the two branches")
            }
            Kind::Is(name, variant, span) => self.is(name, variant, *span, node.span),
            Kind::Substitute(name, replaced) => self.substitute(name, replaced, node.span),
            Kind::Monotone { of, variable, .. } => {
                if self.place != Place::Obligation {
                    return self.misplaced(node.span, "a direction", "an obligation");
                }
                self.number(*of);
                self.quantity(&variable.0, variable.1);
                Type::Truth
            }
            Kind::Sum(_) if matches!(self.place, Place::Rule | Place::Gate) => {
                self.misplaced(node.span, "a sum over a table", "the formulas of a contract")
            }
            Kind::Sum(sum) => sum.rows.as_ref().map_or(Type::Unknown, |rows| Type::Number(rows.unit)),
        }
    }

    fn unknown(&mut self, name: &str, span: Span) {
        if self.scope.incomplete {
            return;
        }
        let diagnostic = self.scope.unknown(name, span, self.report);
        self.report.add_once(diagnostic);
    }

    fn misplaced(&mut self, span: Span, what: &str, allowed: &str) -> Type {
        self.report.add(wrong(span, format!("{what} is allowed only in {allowed}")));
        Type::Unknown
    }

    /// The type of a product, quotient or power; reports a unit with too large exponents.
    fn product(&mut self, unit: Option<Unit>, span: Span) -> Type {
        let Some(unit) = unit else {
            self.report.add(
                wrong(span, "the unit of this expression has exponents that are too large").rule(Rule::Unit),
            );
            return Type::Unknown;
        };
        // A ratio is compared with plain numbers, whatever the units of its operands.
        let plain = self.place == Place::Gate && unit.is_dimensionless();
        Type::Number(if plain { Unit::ONE } else { unit })
    }

    /// Checks a literal; a ratio of units of the same dimension is a conversion and must be exact.
    fn literal(&mut self, span: Span, value: f64, unit: Unit, text: &str) -> Type {
        if Unit::is_conversion(text) && value != unit.conversion() {
            let right = crate::formula::number(unit.conversion());
            self.report.add(
                wrong(
                    span,
                    format!(
                        "incorrect conversion: expected {right} [{text}], found {}",
                        crate::formula::number(value)
                    ),
                )
                .label(format!("write `{right} [{text}]`")),
            );
            return Type::Unknown;
        }
        Type::Number(unit)
    }

    fn name(&mut self, name: &str, span: Span) -> Type {
        match self.scope.get(name) {
            Some(Meaning::Value(Operand::Equation(_), ..)) if self.place == Place::Requirement => {
                self.report.add(
                    wrong(span, format!("requirements can only use quantities, but `{name}` is an equation"))
                        .note("state the relation in terms of the quantities that the equation uses"),
                );
                Type::Unknown
            }
            Some(Meaning::Value(_, unit, _) | Meaning::Number(unit)) => Type::Number(*unit),
            Some(Meaning::Text(_)) => Type::Text,
            Some(Meaning::Truth) => Type::Truth,
            Some(Meaning::Cases(_, cases)) => {
                let first = cases.first().map_or("", String::as_str);
                self.report.add(
                    wrong(span, format!("`{name}` is an enumeration, not a number"))
                        .note(format!("test it with `{name} is {first}`")),
                );
                Type::Unknown
            }
            Some(Meaning::Classifier(variants)) => {
                let first = variants.first().map_or("", String::as_str);
                self.report.add(
                    wrong(span, format!("`{name}` is a classifier, not a number")).note(format!(
                        "test it with `{name} is {first}` in a recommendation or an obligation"
                    )),
                );
                Type::Unknown
            }
            Some(Meaning::Table) => {
                self.report.add(wrong(span, format!("`{name}` is a profile table, not a number")));
                Type::Unknown
            }
            Some(Meaning::Wrong) => Type::Unknown,
            None => {
                self.unknown(name, span);
                Type::Unknown
            }
        }
    }

    fn number(&mut self, id: usize) -> Type {
        match self.types[id] {
            found @ (Type::Truth | Type::Text) => {
                self.report.add(wrong(self.span(id), format!("expected a number, found {}", found.what())));
                Type::Unknown
            }
            found => found,
        }
    }

    fn truth(&mut self, id: usize) -> Type {
        let found = self.types[id];
        if !matches!(found, Type::Truth | Type::Unknown) {
            self.report.add(
                wrong(self.span(id), format!("expected a condition, found {}", found.what()))
                    .note("write a comparison such as `a < b`, `a <= b` or `a == b`"),
            );
        }
        Type::Truth
    }

    /// Requires equal units; a bare 0 takes the unit of the other side.
    fn unify(&mut self, a: Type, b: Type, left: usize, right: usize, what: &str) -> Type {
        match (a, b) {
            (Type::Zero, other) | (other, Type::Zero) => other,
            (Type::Number(x), Type::Number(y)) if x == y => a,
            (Type::Number(x), Type::Number(y)) if self.place == Place::Gate && x.same_dimension(y) => a,
            (Type::Number(x), Type::Number(y)) => {
                let mut diagnostic = if x.same_dimension(y) {
                    let (off, fix) = y.missing_factor(x);
                    wrong(
                        self.span(right),
                        format!("{what} differ in scale: {x} and {y} (off by a factor of {off}); {fix}"),
                    )
                } else {
                    wrong(self.span(right), format!("{what} have different units: {x} and {y}"))
                };
                diagnostic = diagnostic
                    .label(format!("this is in {y}"))
                    .and(self.span(left), format!("this is in {x}"));
                self.report.add(diagnostic.rule(Rule::Unit));
                Type::Unknown
            }
            _ => Type::Unknown,
        }
    }

    fn binary(&mut self, operator: Binary, a: usize, b: usize, span: Span) -> Type {
        if (self.types[a], self.types[b]) == (Type::Text, Type::Text)
            && matches!(operator, Binary::Equal | Binary::NotEqual)
        {
            self.check_texts(a, b);
            return Type::Truth;
        }
        let (left, right) = if operator.is_arithmetic() || operator.is_comparison() {
            (self.number(a), self.number(b))
        } else {
            (self.truth(a), self.truth(b))
        };
        match operator {
            Binary::Add => self.unify(left, right, a, b, "the terms of a sum"),
            Binary::Subtract => self.unify(left, right, a, b, "the terms of a difference"),
            Binary::Multiply | Binary::Divide => {
                if operator == Binary::Divide {
                    self.divisor(b);
                }
                let unit = |found| match found {
                    Type::Number(unit) => Some(unit),
                    Type::Zero => Some(Unit::ONE),
                    Type::Truth | Type::Text | Type::Unknown => None,
                };
                match (unit(left), unit(right)) {
                    _ if self.place == Place::Gate && (left, right) == (Type::Zero, Type::Zero) => Type::Zero,
                    (Some(x), Some(y)) if operator == Binary::Multiply => self.product(x.times(y), span),
                    (Some(x), Some(y)) => self.product(x.over(y), span),
                    _ => Type::Unknown,
                }
            }
            Binary::Less
            | Binary::LessEqual
            | Binary::Greater
            | Binary::GreaterEqual
            | Binary::Equal
            | Binary::NotEqual => {
                self.unify(left, right, a, b, "the two sides of a comparison");
                Type::Truth
            }
            Binary::And | Binary::Or | Binary::Implies | Binary::Iff => Type::Truth,
        }
    }

    /// Reports a comparison of a field with a text that it cannot have.
    fn check_texts(&mut self, a: usize, b: usize) {
        for (field, text) in [(a, b), (b, a)] {
            let (Kind::Name(name), Kind::Quote(quoted)) =
                (&self.formula.nodes[field].kind, &self.formula.nodes[text].kind)
            else {
                continue;
            };
            if let Some(Meaning::Text(one_of)) = self.scope.get(name)
                && !one_of.is_empty()
                && !one_of.contains(quoted)
            {
                self.report.add(
                    wrong(self.span(text), format!("`{name}` cannot be \"{}\"", shorten(quoted)))
                        .note(format!("expected one of: {}", one_of.join(", "))),
                );
            }
        }
    }

    /// Reports a literal zero as the divisor; other divisors are checked in the graph.
    fn divisor(&mut self, id: usize) {
        if matches!(self.formula.nodes[id].kind, Kind::Number { value, .. } if value == 0.0) {
            self.report.add(wrong(self.span(id), "division by zero"));
        }
    }

    fn call(&mut self, function: Function, arguments: &[usize], span: Span) -> Type {
        let first = arguments[0];
        match function {
            Function::Min | Function::Max => {
                let mut found = self.number(first);
                for &argument in &arguments[1..] {
                    let next = self.number(argument);
                    found = self.unify(
                        found,
                        next,
                        first,
                        argument,
                        &format!("the values of `{}`", function.name()),
                    );
                }
                found
            }
            Function::Floor | Function::Ceil | Function::Abs => self.number(first),
            Function::Sqrt => match self.number(first) {
                Type::Number(unit) => match unit.root() {
                    Some(root) => Type::Number(root),
                    None => {
                        let message = format!("cannot take the square root of a value in {unit}");
                        self.report.add(
                            wrong(self.span(first), message)
                                .rule(Rule::Unit)
                                .note("the exponents of the unit and of its scale must be even"),
                        );
                        Type::Unknown
                    }
                },
                other => other,
            },
            Function::Mod => {
                let (value, divisor) = (self.number(first), self.number(arguments[1]));
                self.divisor(arguments[1]);
                self.unify(value, divisor, first, arguments[1], "the values of `mod`")
            }
            Function::Pow => self.pow(first, arguments[1]),
            Function::Finite if self.place == Place::Obligation => {
                self.number(first);
                Type::Truth
            }
            Function::Finite => self.misplaced(span, "`finite`", "an obligation"),
            Function::Given if matches!(self.place, Place::Rule | Place::Gate) => {
                if !matches!(self.formula.nodes[first].kind, Kind::Name(_)) {
                    self.report.add(wrong(self.span(first), "expected a field of the table in `given`"));
                }
                Type::Truth
            }
            Function::Given => self.misplaced(span, "`given`", "the rules of a profile table"),
        }
    }

    fn pow(&mut self, base: usize, exponent: usize) -> Type {
        if let Type::Number(unit) = self.number(base)
            && unit != Unit::ONE
        {
            self.report.add(
                wrong(
                    self.span(base),
                    format!("the base of `pow` must be dimensionless, but it is in {unit}"),
                )
                .note("a value with a unit takes only a fixed power: `x ^ 2`"),
            );
        }
        self.number(exponent);
        let fits = self.whole(exponent).is_some_and(|(low, high)| low >= 0.0 && high <= MAX_POW);
        if !fits {
            self.report.add(
                wrong(
                    self.span(exponent),
                    "the exponent of `pow` must be an integer from 0 to 65536 over the domains",
                )
                .note(
                    "build it from integers and quantities with integer domains, using `+`, `-`, `*`, `min` and `max`; \
                     write a fixed power as `x ^ 2`",
                ),
            );
        }
        Type::Number(Unit::ONE)
    }

    /// The limits of an expression that is always an integer; none if it may not be.
    fn whole(&self, id: usize) -> Option<(f64, f64)> {
        let of = |id: &usize| self.whole(*id);
        let limits = match &self.formula.nodes[id].kind {
            Kind::Number { value, unit: None } if value % 1.0 == 0.0 => (*value, *value),
            Kind::Name(name) => match self.scope.get(name) {
                Some(Meaning::Value(Operand::Quantity(_), _, Some(domain))) if domain.is_whole() => {
                    (domain.low, domain.high)
                }
                _ => return None,
            },
            Kind::Negate(a) => of(a).map(|(low, high)| (-high, -low))?,
            Kind::Binary(operator, a, b) => {
                let ((a, b), (c, d)) = (of(a)?, of(b)?);
                let products = [a * c, a * d, b * c, b * d];
                match operator {
                    Binary::Add => (a + c, b + d),
                    Binary::Subtract => (a - d, b - c),
                    Binary::Multiply => (
                        products.into_iter().fold(a * c, f64::min),
                        products.into_iter().fold(a * c, f64::max),
                    ),
                    _ => return None,
                }
            }
            Kind::Call(function @ (Function::Min | Function::Max), arguments) => {
                let limits: Vec<(f64, f64)> = arguments.iter().map(of).collect::<Option<_>>()?;
                let fold = if *function == Function::Min { f64::min } else { f64::max };
                limits.into_iter().reduce(|(a, b), (c, d)| (fold(a, c), fold(b, d)))?
            }
            _ => return None,
        };
        // UnusedIsa 2^53 sums of integers are rounded.
        (limits.0.abs() < MAX_INTEGER && limits.1.abs() < MAX_INTEGER).then_some(limits)
    }

    fn is(&mut self, name: &str, variant: &str, variant_span: Span, span: Span) -> Type {
        let meaning = self.scope.get(name);
        if let Some(Meaning::Cases(_, cases)) = meaning {
            self.check_case(name, variant, variant_span, cases);
            return Type::Truth;
        }
        if !matches!(self.place, Place::Recommendation | Place::Obligation) {
            return self.misplaced(span, "a classifier's `is`", "a recommendation or an obligation");
        }
        match meaning {
            Some(Meaning::Classifier(variants)) => self.check_case(name, variant, variant_span, variants),
            Some(Meaning::Wrong) => {}
            Some(_) => {
                self.report
                    .add(wrong(span, format!("`{name}` is neither a classifier nor an enumeration")).note(
                    "`is` tests the case of a classifier or an enumeration; compare numbers with `a == b`",
                ))
            }
            None => self.unknown(name, span),
        }
        Type::Truth
    }

    fn quantity(&mut self, name: &str, span: Span) -> Option<Unit> {
        match self.scope.get(name) {
            Some(Meaning::Value(Operand::Quantity(_), unit, _)) => return Some(*unit),
            Some(Meaning::Wrong) => {}
            Some(Meaning::Cases(..)) => self.report.add(
                wrong(span, format!("`{name}` is an enumeration, and its cases have no order"))
                    .note("compare two cases instead: `f(q: a) <= f(q: b)`"),
            ),
            Some(_) => self.report.add(
                wrong(span, format!("`{name}` is not a quantity"))
                    .note("only inputs vary; expected a quantity of this contract"),
            ),
            None => self.unknown(name, span),
        }
        None
    }

    fn substitute(&mut self, name: &str, replaced: &[(String, Span, usize)], span: Span) -> Type {
        if self.place != Place::Obligation {
            return self.misplaced(span, "a substitution", "an obligation");
        }
        for (i, (quantity, at, by)) in replaced.iter().enumerate() {
            if replaced[..i].iter().any(|(before, ..)| before == quantity) {
                self.report.add(wrong(*at, format!("`{quantity}` is replaced twice")));
            }
            if let Some(Meaning::Cases(_, cases)) = self.scope.get(quantity) {
                match &self.formula.nodes[*by].kind {
                    Kind::Name(case) => self.check_case(quantity, case, self.span(*by), cases),
                    _ => self.report.add(
                        wrong(
                            self.span(*by),
                            format!("the new value of `{quantity}` must be one of its cases"),
                        )
                        .note(format!("expected one of: {}", cases.join(", "))),
                    ),
                }
                continue;
            }
            let wanted = self.quantity(quantity, *at);
            if let (Some(wanted), Type::Number(found)) = (wanted, self.number(*by))
                && wanted != found
            {
                let what = format!("the new value of `{quantity}`");
                self.report.add(found.mismatch(wanted, self.span(*by), &what));
            }
        }
        match self.scope.get(name) {
            Some(Meaning::Value(Operand::Equation(_), unit, _)) => Type::Number(*unit),
            Some(Meaning::Wrong) => Type::Unknown,
            Some(_) => {
                self.report.add(wrong(span, format!("`{name}` is not an equation")));
                Type::Unknown
            }
            None => {
                self.unknown(name, span);
                Type::Unknown
            }
        }
    }
}
