//! Domains: sets of f64 values that quantities may take, always finite and never empty.

use std::fmt;

use crate::report::{Diagnostic, Report, Rule};
use crate::source::Text;

/// The largest integer up to which every integer is an f64.
pub const MAX_INTEGER: f64 = 9_007_199_254_740_992.0;

/// The allowed values of a quantity.
#[derive(Clone, Debug, PartialEq)]
pub struct Domain {
    /// True if the values are integers.
    pub integer: bool,
    /// The smallest value in the domain.
    pub low: f64,
    /// The largest value in the domain.
    pub high: f64,
    /// The values of a set in ascending order; empty for an interval.
    pub set: Vec<f64>,
    text: String,
}

impl Default for Domain {
    /// Every finite number.
    fn default() -> Self {
        Domain {
            integer: false,
            low: -f64::MAX,
            high: f64::MAX,
            set: Vec::new(),
            text: "any finite number".into(),
        }
    }
}

impl fmt::Display for Domain {
    /// The domain as the contract writes it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// A syntax error in a domain.
#[derive(Clone, Debug, PartialEq)]
pub struct DomainError {
    /// The bytes of the domain that are wrong.
    pub range: std::ops::Range<usize>,
    /// The problem.
    pub message: String,
}

impl DomainError {
    /// The accepted forms.
    pub const GRAMMAR: &'static str =
        "expected `[1, 1e13]`, `(0, 1]`, `> 0`, `<= 1`, `{2, 4, 8}`, or `integer` before one of these";
}

impl Domain {
    /// The indices of named cases, from 0.
    pub fn cases(names: &[String]) -> Domain {
        let set: Vec<f64> = (0..names.len()).map(|index| index as f64).collect();
        let (low, high) = (0.0, set.last().copied().unwrap_or(0.0));
        Domain { integer: true, low, high, set, text: format!("one of {}", names.join(", ")) }
    }

    /// True if every value is an integer.
    pub fn is_whole(&self) -> bool {
        self.integer || !self.set.is_empty() && self.set.iter().all(|value| value % 1.0 == 0.0)
    }

    /// True if the domain contains the value.
    pub fn contains(&self, value: f64) -> bool {
        self.low <= value
            && value <= self.high
            && (self.set.is_empty() || self.set.contains(&value))
            && (!self.integer || value.fract() == 0.0)
    }

    /// True if the domain contains all of these values.
    pub fn contains_all(&self, values: &[f64]) -> bool {
        // Avoids a branch per value.
        let within =
            values.iter().fold(true, |all, value| all & (self.low <= *value) & (*value <= self.high));
        within && ((self.set.is_empty() && !self.integer) || values.iter().all(|value| self.contains(*value)))
    }

    /// True if both domains contain the same values, however they are written.
    pub fn same_values(&self, other: &Domain) -> bool {
        (self.integer, self.low, self.high, &self.set) == (other.integer, other.low, other.high, &other.set)
    }

    /// Parses a domain of a contract and reports errors.
    pub fn read(text: &Text, report: &mut Report) -> Option<Domain> {
        let diagnostic = |error: DomainError| {
            Diagnostic::error(text.at(error.range), error.message)
                .rule(Rule::Domain)
                .note(DomainError::GRAMMAR)
        };
        Domain::parse(&text.value).map_err(|error| report.add(diagnostic(error))).ok()
    }

    /// Parses a domain.
    pub fn parse(text: &str) -> Result<Domain, DomainError> {
        let mut parser = DomainParser { text, at: 0 };
        let integer = parser.word("integer");
        let (low, high, set) = parser.values(integer)?;
        parser.skip();
        if parser.at < text.len() {
            return parser.error(parser.at..text.len(), "unexpected text after the domain");
        }
        let whole = 0..text.len();
        let (low, high) = if integer { (low.ceil(), high.floor()) } else { (low, high) };
        if low > high {
            return parser.error(whole, "the domain is empty");
        }
        if integer && (low < -MAX_INTEGER || high > MAX_INTEGER) {
            return parser.error(whole, "an integer domain must stay within 2^53 (9007199254740992)");
        }
        if let Some(fraction) = set.iter().find(|value| integer && **value % 1.0 != 0.0) {
            return parser.error(whole, &format!("{fraction} is not an integer"));
        }
        Ok(Domain { integer, low, high, set, text: text.trim().to_owned() })
    }
}

struct DomainParser<'a> {
    text: &'a str,
    at: usize,
}

impl DomainParser<'_> {
    fn skip(&mut self) {
        let rest = &self.text[self.at..];
        self.at += rest.len() - rest.trim_start().len();
    }

    fn word(&mut self, word: &str) -> bool {
        self.skip();
        let found = self.text[self.at..].starts_with(word);
        if found {
            self.at += word.len();
        }
        found
    }

    fn error<T>(&self, range: std::ops::Range<usize>, message: &str) -> Result<T, DomainError> {
        Err(DomainError { range, message: message.to_owned() })
    }

    /// The range of the remaining text; the last character if none remains.
    fn rest(&self) -> std::ops::Range<usize> {
        let last = self.text.char_indices().next_back().map_or(0, |(at, _)| at);
        self.at.min(last)..self.text.len()
    }

    fn number(&mut self) -> Result<f64, DomainError> {
        self.skip();
        let rest = &self.text[self.at..];
        let length = rest
            .find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '+' | '_')))
            .unwrap_or(rest.len());
        let range = self.at..self.at + length;
        self.at = range.end;
        match rest[..length].parse::<f64>() {
            Ok(value) if value.is_finite() => Ok(value),
            Ok(_) => self.error(range, "domain limits must be finite; write an unbounded domain as `> 0`"),
            Err(_) if length == 0 => self.error(self.rest(), "expected a number"),
            Err(_) => self.error(range, "invalid number"),
        }
    }

    fn values(&mut self, integer: bool) -> Result<(f64, f64, Vec<f64>), DomainError> {
        // An unbounded integer domain ends where integers stop being exact.
        let most = if integer { MAX_INTEGER } else { f64::MAX };
        self.skip();
        if self.at == self.text.len() {
            return if integer {
                Ok((-most, most, vec![]))
            } else {
                self.error(0..self.text.len(), "expected a domain")
            };
        }
        for (sign, above, closed) in [
            (">=", true, true),
            ("≥", true, true),
            ("<=", false, true),
            ("≤", false, true),
            (">", true, false),
            ("<", false, false),
        ] {
            if self.word(sign) {
                let limit = self.number()?;
                return Ok(match (above, closed) {
                    (true, true) => (limit, most, vec![]),
                    (true, false) => (limit.next_up(), most, vec![]),
                    (false, true) => (-most, limit, vec![]),
                    (false, false) => (-most, limit.next_down(), vec![]),
                });
            }
        }
        if self.word("{") {
            let mut set = vec![self.number()?];
            while self.word(",") {
                set.push(self.number()?);
            }
            if !self.word("}") {
                return self.error(self.rest(), "unclosed set; expected `}`");
            }
            set.sort_by(f64::total_cmp);
            set.dedup();
            return Ok((set[0], set[set.len() - 1], set));
        }
        let open_low = self.word("(");
        if !open_low && !self.word("[") {
            return self.error(self.rest(), "invalid domain");
        }
        let low = self.number()?;
        if !self.word(",") {
            return self.error(self.rest(), "expected `,` between the limits");
        }
        let high = self.number()?;
        let open_high = self.word(")");
        if !open_high && !self.word("]") {
            return self.error(self.rest(), "unclosed interval; expected `]` or `)`");
        }
        let low = if open_low { low.next_up() } else { low };
        let high = if open_high { high.next_down() } else { high };
        Ok((low, high, vec![]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_of_the_grammar_parses_to_its_values() {
        let domain = |text| Domain::parse(text).unwrap();
        assert_eq!((domain("[1, 1e13]").low, domain("[1, 1e13]").high), (1.0, 1e13));
        assert_eq!((domain("(0, 1]").low, domain("(0, 1]").high), (f64::from_bits(1), 1.0));
        assert_eq!((domain("> 0").low, domain("> 0").high), (f64::from_bits(1), f64::MAX));
        assert_eq!((domain("≥ 2").low, domain("< 3").high), (2.0, 3.0f64.next_down()));
        assert_eq!(domain("{8, 2, 4}").set, [2.0, 4.0, 8.0]);
        assert_eq!((domain("integer (0, 10)").low, domain("integer (0, 10)").high), (1.0, 9.0));
        assert_eq!(domain("integer > 0").high, MAX_INTEGER);
    }

    #[test]
    fn membership_respects_limits_sets_and_integers() {
        assert!(Domain::parse("{2, 4}").unwrap().contains(4.0));
        assert!(!Domain::parse("{2, 4}").unwrap().contains(3.0));
        assert!(!Domain::parse("integer [1, 9]").unwrap().contains(2.5));
        for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            assert!(!Domain::default().contains(value));
        }
    }

    #[test]
    fn invalid_domains_are_errors() {
        let message = |text| Domain::parse(text).unwrap_err().message;
        assert_eq!(message("[2, 1]"), "the domain is empty");
        assert_eq!(message("(1, 1)"), "the domain is empty");
        assert_eq!(message("integer (1, 2)"), "the domain is empty");
        assert!(message("integer [1, 1e17]").contains("2^53"));
        assert_eq!(message("integer {1, 2.5}"), "2.5 is not an integer");
        for text in [
            "",
            "[1, 2",
            "[1 2]",
            "{}",
            "{1",
            "> x",
            "positive",
            "[1, 2] x",
            "[1, inf]",
            "> nan",
            "[1, 1e999]",
        ] {
            assert!(Domain::parse(text).is_err(), "{text}");
        }
    }
}
