//! `--require 'utilization >= 0.9'`: a condition on the results that turns a command into a gate.

use std::fmt;
use std::str::FromStr;

use super::Failure;

/// A named result compared with a number.
#[derive(Clone, Debug, PartialEq)]
pub struct Requirement {
    name: String,
    comparison: Comparison,
    limit: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Comparison {
    AtLeast,
    AtMost,
    Above,
    Below,
}

/// The longer signs first, so that `>=` is not read as `>`.
const SIGNS: [(&str, Comparison); 4] = [
    (">=", Comparison::AtLeast),
    ("<=", Comparison::AtMost),
    (">", Comparison::Above),
    ("<", Comparison::Below),
];

impl FromStr for Requirement {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("`{text}` is not a requirement; write a name, one of >= <= > <, and a number");
        let (sign, comparison) = SIGNS.into_iter().find(|(sign, _)| text.contains(sign)).ok_or_else(wrong)?;
        let (name, limit) = text.split_once(sign).ok_or_else(wrong)?;
        let limit: f64 = limit.trim().parse().map_err(|_| wrong())?;
        let name = name.trim().to_owned();
        let plain = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        if plain && limit.is_finite() { Ok(Requirement { name, comparison, limit }) } else { Err(wrong()) }
    }
}

impl fmt::Display for Requirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = SIGNS.into_iter().find(|(_, comparison)| *comparison == self.comparison);
        write!(f, "{} {} {}", self.name, sign.map_or("", |(sign, _)| sign), self.limit)
    }
}

impl Requirement {
    /// Whether it holds for these results; a name that is not among them is a mistake.
    pub fn holds(&self, results: &[(&str, f64)]) -> Result<bool, Failure> {
        let Some((_, value)) = results.iter().find(|(name, _)| *name == self.name) else {
            let names: Vec<_> = results.iter().map(|(name, _)| *name).collect();
            return Err(Failure(format!(
                "--require: no result `{}`; there are {}",
                self.name,
                names.join(", ")
            )));
        };
        Ok(match self.comparison {
            Comparison::AtLeast => *value >= self.limit,
            Comparison::AtMost => *value <= self.limit,
            Comparison::Above => *value > self.limit,
            Comparison::Below => *value < self.limit,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_requirement_reads_as_it_is_written() {
        for text in ["utilization >= 0.9", "gb_s > 30", "time <= 1", "a < -2.5"] {
            assert_eq!(
                Requirement::from_str(text).map(|requirement| requirement.to_string()),
                Ok(text.to_owned())
            );
        }
        for wrong in
            ["", ">= 1", "x", "x >=", "x >= y", "x = 1", "x >= inf", "x >= nan", "a b > 1", "x > 1 > 2"]
        {
            assert!(Requirement::from_str(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_requirement_holds_or_does_not_and_nan_never_does() {
        let holds = |text: &str, value| Requirement::from_str(text).unwrap().holds(&[("x", value)]).ok();
        assert_eq!(holds("x >= 1", 1.0), Some(true));
        assert_eq!(holds("x > 1", 1.0), Some(false));
        assert_eq!(holds("x <= 1", 1.0), Some(true));
        assert_eq!(holds("x < 1", 0.5), Some(true));
        assert_eq!(holds("x < 1", f64::NAN), Some(false));
        assert_eq!(holds("y < 1", 0.0), None);
    }
}
