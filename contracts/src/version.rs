//! Semantic versions of contracts, and what a contract that depends on another may ask of its version.

use std::fmt;

/// Three numbers; what follows `-` or `+` is allowed and plays no part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version([u32; 3]);

/// What a change asks of the version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Step {
    /// Nothing that is computed or promised has changed.
    Patch,
    /// Something was added.
    Minor,
    /// Something that others rely on has changed.
    Major,
}

impl Step {
    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Step::Patch => "patch",
            Step::Minor => "minor",
            Step::Major => "major",
        }
    }
}

impl Version {
    /// The lowest version that announces a change of this kind. Before 1.0 a minor version breaks what the one before it
    /// promised, and a patch may add.
    pub fn raised(self, step: Step) -> Version {
        let [major, minor, patch] = self.0;
        Version(match (step, major) {
            (Step::Major, 1..) => [major.saturating_add(1), 0, 0],
            (Step::Major, 0) | (Step::Minor, 1..) => [major, minor.saturating_add(1), 0],
            (Step::Minor, 0) | (Step::Patch, _) => [major, minor, patch.saturating_add(1)],
        })
    }

    /// The step from this version to a later one; none if it is not later.
    pub fn step_to(self, later: Version) -> Option<Step> {
        [Step::Major, Step::Minor, Step::Patch].into_iter().find(|step| later >= self.raised(*step))
    }

    /// Parses `1.2.3`.
    pub fn parse(text: &str) -> Option<Version> {
        let core = text.split_once(['-', '+']).map_or(text, |(core, _)| core);
        match numbers(core)?[..] {
            [major, minor, patch] => Some(Version([major, minor, patch])),
            _ => None,
        }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [major, minor, patch] = self.0;
        write!(f, "{major}.{minor}.{patch}")
    }
}

/// Numbers without leading zeros, separated by dots.
fn numbers(text: &str) -> Option<Vec<u32>> {
    text.split('.').map(|part| part.parse().ok().filter(|value: &u32| value.to_string() == part)).collect()
}

/// `^1.2` (compatible with it), `=1.2.3` (exactly it) or `>=1.2` (it or anything later).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Requirement {
    low: Version,
    /// The first version that does not fit any more.
    high: Option<Version>,
    text: String,
}

impl Requirement {
    /// What is allowed.
    pub const GRAMMAR: &'static str = "a requirement is `^1.2`, `=1.2.3` or `>=1.2`";

    /// Parses a requirement.
    pub fn parse(text: &str) -> Option<Requirement> {
        let (rest, kind) =
            ["^", ">=", "="].iter().find_map(|kind| Some((text.strip_prefix(kind)?, *kind)))?;
        let mut parts = numbers(rest.trim())?;
        if parts.len() > 3 || (kind == "=" && parts.len() != 3) {
            return None;
        }
        parts.resize(3, 0);
        let [major, minor, patch] = parts[..] else { return None };
        let high = match (kind, major, minor) {
            (">=", ..) => None,
            ("=", ..) => Some([major, minor, patch.checked_add(1)?]),
            // Before 1.0 each minor version may break what the one before it promised.
            (_, 0, minor) => Some([0, minor.checked_add(1)?, 0]),
            (_, major, _) => Some([major.checked_add(1)?, 0, 0]),
        };
        Some(Requirement {
            low: Version([major, minor, patch]),
            high: high.map(Version),
            text: text.to_owned(),
        })
    }

    /// Whether a version fits.
    pub fn allows(&self, version: Version) -> bool {
        self.low <= version && self.high.is_none_or(|high| version < high)
    }
}

impl fmt::Display for Requirement {
    /// The requirement as the contract writes it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_requirement_allows_what_its_sign_says() {
        let allows = |text: &str, version: &str| {
            Requirement::parse(text).unwrap().allows(Version::parse(version).unwrap())
        };
        for (text, inside, outside) in [
            ("^1.2", ["1.2.0", "1.9.9"], ["1.1.9", "2.0.0"]),
            ("^1", ["1.0.0", "1.0.1-beta"], ["0.9.0", "2.0.0"]),
            ("^0.3.1", ["0.3.1", "0.3.9"], ["0.3.0", "0.4.0"]),
            ("=1.2.3", ["1.2.3", "1.2.3+build"], ["1.2.2", "1.2.4"]),
            (">=1.2", ["1.2.0", "9.0.0"], ["1.1.9", "0.9.0"]),
        ] {
            assert!(inside.iter().all(|version| allows(text, version)), "{text}");
            assert!(!outside.iter().any(|version| allows(text, version)), "{text}");
        }
    }

    #[test]
    fn a_step_raises_the_number_that_announces_it() {
        let raised = |text: &str, step| Version::parse(text).unwrap().raised(step).to_string();
        assert_eq!(raised("1.2.3", Step::Major), "2.0.0");
        assert_eq!(raised("1.2.3", Step::Minor), "1.3.0");
        assert_eq!(raised("1.2.3", Step::Patch), "1.2.4");
        assert_eq!(raised("0.2.3", Step::Major), "0.3.0");
        assert_eq!(raised("0.2.3", Step::Minor), "0.2.4");
        let version = |text| Version::parse(text).unwrap();
        assert_eq!(version("1.2.3").step_to(version("1.4.0")), Some(Step::Minor));
        assert_eq!(version("0.2.3").step_to(version("0.3.0")), Some(Step::Major));
        assert_eq!(version("1.2.3").step_to(version("1.2.3")), None);
        assert_eq!(version("1.2.3").step_to(version("1.2.2")), None);
    }

    #[test]
    fn what_is_not_a_version_or_a_requirement_is_refused() {
        for text in ["1.0", "1", "1.0.0.0", "01.0.0", "1.x.0", "", "-1.0.0", "4294967296.0.0"] {
            assert_eq!(Version::parse(text), None, "{text}");
        }
        for text in ["1.0", "^", "^x", "=1.2", "~1.0", ">1.0", "^1.2.3.4", "^4294967295", ""] {
            assert_eq!(Requirement::parse(text), None, "{text}");
        }
    }
}
