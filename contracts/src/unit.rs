//! Units: a vector of exponents over base dimensions, and an exact scale.
//!
//! Scales are products of powers of 2, 3 and 5, stored as exponents, so that SI prefixes, binary prefixes, bytes,
//! minutes and percentages are exact, and scales can be compared for equality.

use std::fmt;

use crate::report::{Diagnostic, Report, Rule};
use crate::source::{Span, Text, last_character, shorten};
use crate::suggest;

/// The base dimensions, by their printed names. Counts (token, layer, ...) are dimensions,
/// so that tokens per second cannot be confused with samples per second.
const BASES: [&str; 16] = [
    "bit", "flop", "op", "token", "param", "element", "block", "layer", "head", "expert", "sequence",
    "sample", "cycle", "core", "J", "s",
];
const BIT: usize = 0;
const JOULE: usize = 14;
const SECOND: usize = 15;

/// Powers of 2, 3 and 5.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Scale([i16; 3]);

/// A dimension and a scale, such as GB/s.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Unit {
    exponents: [i16; BASES.len()],
    scale: Scale,
}

/// A name, its bases with exponents, and its scale.
type Derived = (&'static str, &'static [(usize, i16)], [i16; 3]);

/// Derived units.
const DERIVED: [Derived; 8] = [
    ("B", &[(BIT, 1)], [3, 0, 0]),
    ("byte", &[(BIT, 1)], [3, 0, 0]),
    ("FLOP", &[(1, 1)], [0, 0, 0]),
    ("W", &[(JOULE, 1), (SECOND, -1)], [0, 0, 0]),
    ("Hz", &[(SECOND, -1)], [0, 0, 0]),
    ("min", &[(SECOND, 1)], [2, 1, 1]),
    ("h", &[(SECOND, 1)], [4, 2, 2]),
    ("%", &[], [-2, 0, -2]),
];
/// Names that do not take a prefix.
const PLAIN: [&str; 3] = ["min", "h", "%"];

const DECIMAL: [(&str, i16); 12] = [
    ("k", 3),
    ("M", 6),
    ("G", 9),
    ("T", 12),
    ("P", 15),
    ("E", 18),
    ("m", -3),
    ("u", -6),
    ("µ", -6),
    ("n", -9),
    ("p", -12),
    ("f", -15),
];
const BINARY: [(&str, i16); 5] = [("Ki", 10), ("Mi", 20), ("Gi", 30), ("Ti", 40), ("Pi", 50)];

/// A regular expression for units, without anchors. It does not check that parentheses match.
pub fn pattern() -> String {
    let either = |names: Vec<&str>| format!("(?:{})", names.join("|"));
    let names: Vec<&str> = BASES.iter().copied().chain(DERIVED.iter().map(|(name, ..)| *name)).collect();
    let takes_prefix = names.iter().copied().filter(|name| !PLAIN.contains(name)).collect();
    let decimal = either(DECIMAL.iter().map(|(prefix, _)| *prefix).collect());
    let binary = either(BINARY.iter().map(|(prefix, _)| *prefix).collect());
    let name = format!(
        "(?:1|{}|{decimal}?{}|{binary}{})",
        PLAIN.join("|"),
        either(takes_prefix),
        either(vec!["bit", "byte", "B"])
    );
    let factor = format!(r"\(*\s*{name}(?:\s*\^\s*-?[0-9]+)?\s*\)*(?:\s*\^\s*-?[0-9]+)?");
    format!(r"\s*{factor}(?:\s*[*·×/÷]\s*{factor})*\s*")
}

/// Maximum exponent in a unit.
const MAX_EXPONENT: i16 = 64;
/// Maximum exponent of a product of units.
const MAX_TOTAL: i16 = 8 * MAX_EXPONENT;

impl Scale {
    const fn ten(power: i16) -> Self {
        Scale([power, 0, power])
    }

    const fn two(power: i16) -> Self {
        Scale([power, 0, 0])
    }

    fn combine(self, other: Scale, sign: i16) -> Self {
        Scale(std::array::from_fn(|i| self.0[i].saturating_add(other.0[i].saturating_mul(sign))))
    }

    /// The nearest f64; exact as long as numerator and denominator are below 2^53.
    fn value(self) -> f64 {
        let part = |sign: i16| {
            let power = |base: f64, exponent: i16| (0..exponent).fold(1.0, |product, _| product * base);
            power(2.0, (self.0[0] * sign).max(0))
                * power(3.0, (self.0[1] * sign).max(0))
                * power(5.0, (self.0[2] * sign).max(0))
        };
        part(1) / part(-1)
    }
}

impl fmt::Display for Scale {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = self.value();
        match self.0 {
            [a, 0, b] if a == b && a.abs() > 3 => write!(f, "1e{a}"),
            [a, 0, 0] if a.abs() > 9 => write!(f, "2^{a}"),
            _ => write!(f, "{value}"),
        }
    }
}

impl Unit {
    /// The unit of dimensionless numbers.
    pub const ONE: Unit = Unit { exponents: [0; BASES.len()], scale: Scale([0; 3]) };

    /// The product of two units; none if its exponents are too large.
    pub fn times(self, other: Unit) -> Option<Unit> {
        self.combine(other, 1)
    }

    /// The quotient of two units; none if its exponents are too large.
    pub fn over(self, other: Unit) -> Option<Unit> {
        self.combine(other, -1)
    }

    /// An integer power; none if its exponents are too large.
    pub fn power(self, exponent: i32) -> Option<Unit> {
        Unit::ONE.combine(self, exponent)
    }

    /// The square root; none if an exponent is odd.
    pub fn root(self) -> Option<Unit> {
        let even = |parts: &[i16]| parts.iter().all(|part| part % 2 == 0);
        let root =
            Unit { exponents: self.exponents.map(|e| e / 2), scale: Scale(self.scale.0.map(|e| e / 2)) };
        (even(&self.exponents) && even(&self.scale.0)).then_some(root)
    }

    /// `self * other ^ exponent`
    fn combine(self, other: Unit, exponent: i32) -> Option<Unit> {
        let sum = |a: i16, b: i16| {
            let sum = i64::from(a) + i64::from(b) * i64::from(exponent);
            i16::try_from(sum).ok().filter(|sum| sum.abs() <= MAX_TOTAL)
        };
        let mut product = self;
        for (a, b) in product.exponents.iter_mut().zip(other.exponents) {
            *a = sum(*a, b)?;
        }
        for (a, b) in product.scale.0.iter_mut().zip(other.scale.0) {
            *a = sum(*a, b)?;
        }
        Some(product)
    }

    /// True if the text is a conversion: a ratio of two units of the same dimension, such as `B/GB`, a product of such ratios,
    /// or a fraction of their parts, `B*s/GB/ms`. A unit that is dimensionless only because other units cancel, such as
    /// `Gflop/J*pJ/flop`, is not a conversion.
    pub fn is_conversion(text: &str) -> bool {
        let mut parser = UnitParser::new(text);
        if parser.product().is_err() {
            return false;
        }
        let mut atoms: Vec<(Unit, i32)> = Vec::new();
        for (unit, exponent) in parser.atoms {
            match atoms.iter_mut().find(|(known, _)| *known == unit) {
                Some((_, known)) => *known += exponent,
                None => atoms.push((unit, exponent)),
            }
        }
        let plain = atoms.len() < 2;
        let many = atoms.len() > 2;
        atoms.retain(|(unit, exponent)| *exponent != 0 && !(many && *unit == Unit::ONE));
        let opposite =
            |(a, above): (Unit, i32), (b, below): (Unit, i32)| a.same_dimension(b) && above + below == 0;
        let above = atoms.iter().take_while(|(_, exponent)| *exponent > 0).count();
        let (over, mut under) = (&atoms[..above], atoms[above..].to_vec());
        let fraction = under.iter().all(|(_, exponent)| *exponent < 0)
            && (over.iter()).all(|&part| {
                let found = under.iter().position(|&other| opposite(part, other));
                found.map(|at| under.remove(at)).is_some()
            })
            && under.is_empty();
        let ratio = |pair: &[(Unit, i32)]| matches!(pair, &[a, b] if opposite(a, b));
        (!plain || atoms.is_empty()) && (fraction || atoms.chunks(2).all(ratio))
    }

    /// True if both have the same dimension, independent of scale.
    pub fn same_dimension(self, other: Unit) -> bool {
        self.exponents == other.exponents
    }

    /// True for a dimensionless unit, independent of scale.
    pub fn is_dimensionless(self) -> bool {
        self.same_dimension(Unit::ONE)
    }

    /// The factor of a conversion: 1e9 for B/GB.
    pub fn conversion(self) -> f64 {
        Scale::default().combine(self.scale, -1).value()
    }

    /// The missing conversion if a value in unit `self` is used for `wanted`, a unit of the same dimension: the factor
    /// between them, and the literal that fixes it.
    pub fn missing_factor(self, wanted: Unit) -> (String, String) {
        let factor = self.scale.combine(wanted.scale, -1);
        let fixes = self.conversions();
        let name = |scale: Scale, text: &str| format!("{scale} [{text}]");
        let single = |left: Scale| {
            fixes.iter().find_map(|(scale, text)| {
                if left == *scale {
                    Some(("multiply", name(*scale, text)))
                } else if left == Scale::default().combine(*scale, -1) {
                    Some(("divide", name(*scale, text)))
                } else {
                    None
                }
            })
        };
        let off = if factor.value() >= 1.0 { factor } else { Scale::default().combine(factor, -1) };
        // If both have a prefix on the same name, use these in the literal: `1000 [Gflop/Tflop]`.
        let (here, there) = (self.shown(), wanted.shown());
        if let (Some(from), Some(to), Some(&first)) = (here.prefix, there.prefix, here.above.first())
            && here.bytes == there.bytes
        {
            let x = here.name(first);
            return (
                off.to_string(),
                if factor.value() >= 1.0 {
                    format!("multiply by `{off} [{to}{x}/{from}{x}]`")
                } else {
                    format!("divide by `{off} [{from}{x}/{to}{x}]`")
                },
            );
        }
        if let Some((verb, literal)) = single(factor) {
            return (off.to_string(), format!("{verb} by `{literal}`"));
        }
        for (scale, text) in &fixes {
            for sign in [1, -1] {
                let verb = if sign == 1 { "multiply" } else { "divide" };
                if let Some((second, literal)) = single(factor.combine(*scale, -sign)) {
                    let first = name(*scale, text);
                    return (off.to_string(), format!("{verb} by `{first}` and {second} by `{literal}`"));
                }
            }
        }
        (off.to_string(), format!("multiply by a conversion factor of {factor}"))
    }

    /// Conversion literals for this unit, the most likely first.
    fn conversions(self) -> Vec<(Scale, String)> {
        let mut found = Vec::new();
        let used = |sign: i16| (0..BASES.len()).filter(move |&i| self.exponents[i] * sign > 0);
        for base in used(1).chain(used(-1)) {
            let name = if base == BIT { "B" } else { BASES[base] };
            // Seconds take no large prefixes; times are converted downwards, below.
            for (prefix, power) in DECIMAL.iter().filter(|(_, power)| *power > 0 && base != SECOND) {
                found.push((Scale::ten(*power), format!("{name}/{prefix}{name}")));
            }
            if base == BIT {
                for (prefix, power) in BINARY {
                    found.push((Scale::two(power), format!("B/{prefix}B")));
                }
                found.push((Scale::two(3), "bit/B".into()));
            }
            if base == SECOND {
                for (prefix, power) in DECIMAL.iter().filter(|(_, power)| *power < 0) {
                    found.push((Scale::ten(-power), format!("{prefix}s/s")));
                }
                found.push((Scale([2, 1, 1]), "s/min".into()));
                found.push((Scale([4, 2, 2]), "s/h".into()));
            }
        }
        if self.is_dimensionless() {
            found.push((Scale::ten(2), "%".into()));
        }
        found
    }

    /// Parses a unit: `%`, `1`, names with an optional prefix, `*`, `/`, `^` and parentheses.
    pub fn parse(text: &str) -> Result<Unit, UnitError> {
        let mut parser = UnitParser::new(text);
        let unit = parser.product()?;
        parser.skip();
        if parser.at < text.len() {
            let end = text[parser.at..].chars().next().map_or(0, char::len_utf8) + parser.at;
            let power = superscripts(&text[parser.at..]);
            return Err(UnitError {
                range: parser.at..end,
                message: format!("unexpected `{}` in a unit", &text[parser.at..end]),
                note: if power.is_empty() { GRAMMAR.into() } else { format!("write the power as `{power}`") },
            });
        }
        Ok(unit)
    }

    /// Parses a unit of a contract; errors go to the report.
    pub fn read(text: &Text, report: &mut Report) -> Option<Unit> {
        let diagnostic = |error: UnitError| {
            Diagnostic::error(text.at(error.range), error.message).rule(Rule::Unit).note(error.note)
        };
        Unit::parse(&text.value).map_err(|error| report.add(diagnostic(error))).ok()
    }

    /// The error for a unit that differs from `wanted`: a difference in scale shows the factor, others both units.
    pub fn mismatch(self, wanted: Unit, span: Span, what: &str) -> Diagnostic {
        let diagnostic = if self.same_dimension(wanted) {
            let (off, fix) = self.missing_factor(wanted);
            Diagnostic::error(
                span,
                format!("{what} is in {self}, not {wanted} (off by a factor of {off}); {fix}"),
            )
            .label(format!("this is in {self}"))
        } else {
            Diagnostic::error(span, format!("{what} has the unit {self}, not {wanted}"))
                .label(format!("this has the unit {self}"))
        };
        diagnostic.rule(Rule::Unit)
    }

    fn named(name: &str) -> Option<Unit> {
        let base = |name: &str| {
            let mut unit = Unit::ONE;
            if let Some(index) = BASES.iter().position(|base| *base == name) {
                unit.exponents[index] = 1;
                return Some(unit);
            }
            let (_, exponents, scale) = DERIVED.iter().find(|(derived, ..)| *derived == name)?;
            for (index, exponent) in *exponents {
                unit.exponents[*index] = *exponent;
            }
            unit.scale = Scale(*scale);
            Some(unit)
        };
        let prefixed = |prefix: &str, scale: Scale| {
            let rest = name.strip_prefix(prefix).filter(|rest| !PLAIN.contains(rest))?;
            let unit = base(rest)?;
            Some(Unit { scale: unit.scale.combine(scale, 1), ..unit })
        };
        let binary = |(prefix, power): &(&str, i16)| {
            let unit = prefixed(prefix, Scale::two(*power))?;
            (unit.exponents[BIT] == 1).then_some(unit)
        };
        base(name)
            .or_else(|| BINARY.iter().find_map(binary))
            .or_else(|| DECIMAL.iter().find_map(|(prefix, power)| prefixed(prefix, Scale::ten(*power))))
    }
}

/// Every unit name, with common prefixes, for suggestions.
fn known_names() -> Vec<String> {
    let bare = BASES.iter().copied().chain(DERIVED.iter().map(|(name, ..)| *name)).map(str::to_owned);
    let prefixed = ["k", "M", "G", "T"]
        .iter()
        .flat_map(|prefix| ["B", "flop", "FLOP", "bit", "param"].map(|name| format!("{prefix}{name}")));
    bare.chain(prefixed).chain(["ms", "us", "GiB", "MiB", "KiB"].map(str::to_owned)).collect()
}

/// Other notations of units and their notation here, each after the same prefix. The most similar name is not always right:
/// for `Gb` it is `GB`, which is off by a factor of eight.
const SPELLINGS: [(&str, &str); 22] = [
    ("b", "bit"),
    ("bps", "bit/s"),
    ("Bps", "B/s"),
    ("FLOPS", "flop/s"),
    ("FLOPs", "flop"),
    ("Flops", "flop"),
    ("Flop", "flop"),
    ("OPS", "op/s"),
    ("tps", "token/s"),
    ("tok", "token"),
    ("sec", "s"),
    ("secs", "s"),
    ("second", "s"),
    ("seconds", "s"),
    ("minute", "min"),
    ("minutes", "min"),
    ("hour", "h"),
    ("hours", "h"),
    ("watt", "W"),
    ("joule", "J"),
    ("parameter", "param"),
    ("percent", "%"),
];

/// The notation here of a unit in another notation, in the plural or with a superscript (`power`, such as `^2`).
fn spelling(name: &str, power: &str) -> Option<String> {
    let prefixes = DECIMAL.iter().chain(&BINARY).map(|(prefix, _)| *prefix);
    let single = |name: &str| {
        let found = |prefix: &str| {
            let rest = name.strip_prefix(prefix)?;
            let (_, right) = SPELLINGS.iter().find(|(wrong, _)| *wrong == rest)?;
            Some(format!("{prefix}{right}")).filter(|unit| Unit::parse(unit).is_ok())
        };
        std::iter::once("").chain(prefixes.clone()).find_map(found)
    };
    let plural = || {
        let name = name.strip_suffix('s')?;
        single(name).or_else(|| Unit::named(name).map(|_| name.to_owned()))
    };
    // In lower case, bits and bytes are ambiguous.
    if let "mb" | "gb" | "tb" | "pb" = name {
        let prefix = name[..1].to_uppercase();
        return Some(format!("{prefix}B` or `{prefix}bit"));
    }
    let right = single(name).or_else(plural)?;
    Some(if power.is_empty() || !right.contains('/') { right + power } else { format!("({right}){power}") })
}

/// The power of superscript digits: `^2` for `²`; empty without superscripts.
fn superscripts(text: &str) -> String {
    let digits: String = text.chars().map_while(superscript).collect();
    if digits.is_empty() { digits } else { format!("^{digits}") }
}

/// The plain character of a superscript.
pub fn superscript(c: char) -> Option<char> {
    const DIGITS: [char; 10] = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
    match c {
        '⁻' => Some('-'),
        c => DIGITS.iter().position(|digit| *digit == c).and_then(|i| char::from_digit(i as u32, 10)),
    }
}

const GRAMMAR: &str = "expected a unit such as `GB/s`, `flop/param/token`, `1/s`, `B*s`, `s^2`, `%` or `1`";

/// A syntax error in a unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnitError {
    /// The bytes of the error.
    pub range: std::ops::Range<usize>,
    /// The problem.
    pub message: String,
    /// The accepted forms.
    pub note: String,
}

struct UnitParser<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
    /// The names in source order, each with its exponent.
    atoms: Vec<(Unit, i32)>,
}

impl<'a> UnitParser<'a> {
    fn new(text: &'a str) -> Self {
        UnitParser { text, at: 0, depth: 0, atoms: Vec::new() }
    }

    /// Raises the atoms from index `first` to a power.
    fn raise(&mut self, first: usize, exponent: i32) {
        for (_, power) in &mut self.atoms[first..] {
            *power = power.saturating_mul(exponent);
        }
    }

    fn skip(&mut self) {
        let rest = &self.text[self.at..];
        self.at += rest.len() - rest.trim_start().len();
    }

    fn peek(&mut self) -> Option<char> {
        self.skip();
        self.text[self.at..].chars().next()
    }

    fn error<T>(&self, range: std::ops::Range<usize>, message: String) -> Result<T, UnitError> {
        Err(UnitError { range, message, note: GRAMMAR.into() })
    }

    fn product(&mut self) -> Result<Unit, UnitError> {
        let start = self.at;
        let mut unit = self.factor()?;
        loop {
            let sign = match self.peek() {
                Some('*' | '·' | '×') => 1,
                Some('/' | '÷') => -1,
                _ => return Ok(unit),
            };
            self.at += self.text[self.at..].chars().next().map_or(0, char::len_utf8);
            let first = self.atoms.len();
            let factor = self.factor()?;
            self.raise(first, sign);
            unit = self.within_limits(unit.combine(factor, sign), start)?;
        }
    }

    fn named(&mut self, unit: Unit) -> Result<Unit, UnitError> {
        self.atoms.push((unit, 1));
        Ok(unit)
    }

    fn within_limits(&self, unit: Option<Unit>, start: usize) -> Result<Unit, UnitError> {
        unit.map_or_else(|| self.error(start..self.at, "the exponents of this unit are too large".into()), Ok)
    }

    fn factor(&mut self) -> Result<Unit, UnitError> {
        let (before, first) = (self.at, self.atoms.len());
        let unit = self.atom()?;
        if self.peek() != Some('^') {
            return Ok(unit);
        }
        self.at += 1;
        self.skip();
        let start = self.at;
        let rest = &self.text[start..];
        let length = rest
            .char_indices()
            .find(|(i, c)| !(c.is_ascii_digit() || (*i == 0 && *c == '-')))
            .map_or(rest.len(), |(i, _)| i);
        self.at += length;
        match rest[..length].parse::<i16>() {
            Ok(exponent) if (-MAX_EXPONENT..=MAX_EXPONENT).contains(&exponent) => {
                self.raise(first, exponent.into());
                self.within_limits(unit.power(exponent.into()), before)
            }
            _ => self.error(
                start..self.at.max(start + rest.chars().next().map_or(0, char::len_utf8)),
                format!(
                    "invalid exponent in a unit; expected an integer from -{MAX_EXPONENT} to {MAX_EXPONENT}"
                ),
            ),
        }
    }

    fn atom(&mut self) -> Result<Unit, UnitError> {
        let Some(first) = self.peek() else {
            let message =
                if self.text.trim().is_empty() { "the unit is empty" } else { "unexpected end of the unit" };
            return self.error(last_character(self.text), message.into());
        };
        let start = self.at;
        match first {
            '(' => {
                if self.depth == 16 {
                    return self
                        .error(start..start + 1, "parentheses in a unit are nested too deeply".into());
                }
                self.depth += 1;
                self.at += 1;
                let unit = self.product()?;
                if self.peek() != Some(')') {
                    return self.error(start..start + 1, "unclosed parenthesis".into());
                }
                self.at += 1;
                self.depth -= 1;
                Ok(unit)
            }
            '1' if !self.text[start + 1..].starts_with(|c: char| c.is_ascii_digit() || c == '.') => {
                self.at += 1;
                self.named(Unit::ONE)
            }
            '%' => {
                self.at += 1;
                self.named(Unit::named("%").unwrap_or(Unit::ONE))
            }
            c if c.is_alphabetic() => {
                let rest = &self.text[start..];
                let length = rest.find(|c: char| !(c.is_alphabetic() || c == '_')).unwrap_or(rest.len());
                self.at += length;
                let name = &rest[..length];
                let nearest =
                    || suggest::closest(name, known_names().iter().map(String::as_str)).map(str::to_owned);
                let meant = || spelling(name, &superscripts(&rest[length..])).or_else(nearest);
                let unit = Unit::named(name).ok_or_else(|| UnitError {
                    range: start..self.at,
                    message: format!("unknown unit `{}`", shorten(name)),
                    note: match meant() {
                        Some(meant) => format!("did you mean `{meant}`?"),
                        None => format!(
                            "expected a unit built from {}, B, W, Hz, min, h or %, with prefixes such as k, M, G, T, m, u, n, Ki, Mi, Gi",
                            BASES.join(", ")
                        ),
                    },
                })?;
                self.named(unit)
            }
            other => {
                self.at += other.len_utf8();
                self.error(start..self.at, format!("unexpected `{other}` in a unit"))
            }
        }
    }
}

/// The printed form of a unit: a prefix on its first name, or else a leading factor.
struct Shown {
    bytes: bool,
    prefix: Option<&'static str>,
    rest: Scale,
    above: Vec<usize>,
    below: Vec<usize>,
}

impl Unit {
    /// Prefers bytes to bits, and a prefix on the first name to a leading factor.
    fn shown(self) -> Shown {
        let bits = self.exponents[BIT];
        let as_bytes = self.scale.combine(Scale::two(3 * bits), -1);
        let is_plain = |scale: Scale| {
            scale.0[1] == 0 && (scale.0[0] == scale.0[2] || scale.0[2] == 0 && scale.0[0] % 10 == 0)
        };
        let bytes = bits != 0 && is_plain(as_bytes);
        let rest = if bytes { as_bytes } else { self.scale };
        let above: Vec<_> = (0..BASES.len()).filter(|&i| self.exponents[i] > 0).collect();
        let below: Vec<_> = (0..BASES.len()).filter(|&i| self.exponents[i] < 0).collect();
        let single = above.first().filter(|&&i| self.exponents[i] == 1).copied();
        let prefix = single.and_then(|first| {
            let decimal = DECIMAL.iter().find(|(_, power)| rest == Scale::ten(*power));
            let binary =
                || BINARY.iter().find(|(_, power)| rest == Scale::two(*power) && first == BIT && bytes);
            let none = (rest == Scale::default()).then_some("");
            none.or_else(|| decimal.or_else(binary).map(|(prefix, _)| *prefix))
        });
        Shown { bytes, prefix, rest, above, below }
    }
}

impl Shown {
    fn name(&self, index: usize) -> &'static str {
        if index == BIT && self.bytes { "B" } else { BASES[index] }
    }
}

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = self.shown();
        if self.is_dimensionless() && shown.rest == Scale([-2, 0, -2]) {
            return write!(f, "%");
        }
        if shown.prefix.is_none() && shown.rest != Scale::default() {
            write!(f, "{} ", shown.rest)?;
        }
        let write_one = |f: &mut fmt::Formatter<'_>, index: usize, exponent: i16| {
            write!(f, "{}", shown.name(index))?;
            if exponent == 1 { Ok(()) } else { write!(f, "^{exponent}") }
        };
        write!(f, "{}", shown.prefix.unwrap_or_default())?;
        if shown.above.is_empty() {
            write!(f, "1")?;
        }
        for (i, &index) in shown.above.iter().enumerate() {
            if i > 0 {
                write!(f, "*")?;
            }
            write_one(f, index, self.exponents[index])?;
        }
        for &index in &shown.below {
            write!(f, "/")?;
            write_one(f, index, -self.exponents[index])?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unit(text: &str) -> Unit {
        Unit::parse(text).unwrap_or_else(|error| panic!("{text}: {error:?}"))
    }

    #[test]
    fn prefixes_and_derived_units_are_exact() {
        assert_eq!(unit("B"), unit("byte"));
        assert_eq!(unit("B/bit").conversion(), 0.125);
        assert_eq!(unit("B/GB").conversion(), 1e9);
        assert_eq!(unit("GB/B").conversion(), 1e-9);
        assert_eq!(unit("B/GiB").conversion(), 1073741824.0);
        assert_eq!(unit("W*s"), unit("J"));
        assert_eq!(unit("flop/param/token"), unit("flop/(param*token)"));
        assert_eq!(unit("s/h").conversion(), 3600.0);
        assert_eq!(unit("%").conversion(), 100.0);
        assert_ne!(unit("GB"), unit("GiB"));
        assert_ne!(unit("op"), unit("flop"));
    }

    #[test]
    fn conversions_are_ratios_of_units_of_the_same_dimension() {
        for text in [
            "B/GB",
            "B*GB^-1",
            "GB^-1*B",
            "B^2/GB^2",
            "(B/GB)^2",
            "bit/B",
            "%/1",
            "B/s/(GB/s)",
            "s/s",
            "B*s/GB/ms",
            "B*s/ms/GB",
        ] {
            assert!(Unit::is_conversion(text), "{text}");
        }
        for text in [
            "1",
            "%",
            "s",
            "GB/s",
            "Gflop/J*pJ/flop",
            "flop/B",
            "1/s",
            "B^2/GB",
            "B*s/GB",
            "B*s/GB/flop",
            "B*B/GB",
        ] {
            assert!(!Unit::is_conversion(text), "{text}");
        }
        assert!(Unit::is_conversion("B/GB*ms/s") && Unit::is_conversion("1*B/GB"));
    }

    #[test]
    fn too_large_exponents_are_errors() {
        let mut power = Some(unit("s"));
        for _ in 0..2 {
            power = power.and_then(|unit| unit.power(16));
        }
        assert_eq!(power, Unit::parse("s^64").unwrap().power(4));
        assert_eq!(power.and_then(|unit| unit.power(64)), None);
        assert_eq!(unit("s^64").power(i32::MAX), None);
        assert_eq!(unit("s").power(512).and_then(|unit| unit.times(self::unit("s"))), None);
        assert!(Unit::parse("((s^64)^64)^64").is_err());
    }

    #[test]
    fn units_print_in_common_notation() {
        for text in [
            "GB/s",
            "bit/param",
            "flop/token/param",
            "1",
            "%",
            "GiB",
            "Gflop/s",
            "1/s",
            "s^2",
            "MB",
            "J/token",
            "ms",
            "bit",
        ] {
            assert_eq!(unit(text).to_string(), text);
        }
        assert_eq!(unit("flop/min").to_string(), "0.016666666666666666 flop/s");
    }

    #[test]
    fn the_missing_factor_fixes_the_scale() {
        let (off, fix) = unit("Gflop/s").missing_factor(unit("flop/s"));
        assert_eq!((off.as_str(), fix.as_str()), ("1e9", "multiply by `1e9 [flop/Gflop]`"));
        let (off, fix) = unit("B").missing_factor(unit("GB"));
        assert_eq!((off.as_str(), fix.as_str()), ("1e9", "divide by `1e9 [B/GB]`"));
        let (off, fix) = unit("bit").missing_factor(unit("B"));
        assert_eq!((off.as_str(), fix.as_str()), ("8", "divide by `8 [bit/B]`"));
        let (_, fix) = unit("GB").missing_factor(unit("bit"));
        assert!(fix.contains("[bit/B]") && fix.contains("[B/GB]"), "{fix}");
        let (_, fix) = unit("s").missing_factor(unit("ms"));
        assert_eq!(fix, "multiply by `1000 [ms/s]`");
        let (_, fix) = unit("Tflop/s").missing_factor(unit("Gflop/s"));
        assert_eq!(fix, "multiply by `1000 [Gflop/Tflop]`");
        let (_, fix) = unit("GiB").missing_factor(unit("GB"));
        assert!(fix.contains("[B/GiB]") || fix.contains("GB/GiB"), "{fix}");
    }

    #[test]
    fn unit_errors_have_a_place_and_a_message() {
        let error = Unit::parse("GB/sec").unwrap_err();
        assert_eq!(error.range, 3..6);
        for (wrong, right) in [
            ("Gb/s", "Gbit"),
            ("Gibps", "Gibit/s"),
            ("GBps", "GB/s"),
            ("GFLOPS", "Gflop/s"),
            ("TFLOPs", "Tflop"),
            ("msec", "ms"),
            ("tokens/s", "token"),
            ("seconds", "s"),
            ("bytes²", "byte^2"),
            ("s⁻²", "^-2"),
        ] {
            let note = Unit::parse(wrong).unwrap_err().note;
            assert!(note.contains(&format!("`{right}`")), "{wrong}: {note}");
        }
        for text in ["", "/s", "GB/", "GB//s", "(B", "B)", "B^x", "B^999", "7", "B s", "€"] {
            assert!(Unit::parse(text).is_err(), "{text}");
        }
    }
}
