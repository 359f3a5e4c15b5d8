//! Semantic versioning of contracts.

use semver::Version;

/// Version step that a change requires.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Step {
    /// No change of computed values or claims.
    Patch,
    /// An addition.
    Minor,
    /// An incompatible change.
    Major,
}

impl Step {
    /// Returns the name in output.
    pub fn word(self) -> &'static str {
        match self {
            Step::Patch => "patch",
            Step::Minor => "minor",
            Step::Major => "major",
        }
    }

    /// Returns the lowest version after this step. Before 1.0, an incompatible change raises the minor version and an addition the
    /// patch version.
    pub fn next(self, version: &Version) -> Version {
        let Version { major, minor, patch, .. } = *version;
        match (self, major) {
            (Step::Major, 1..) => Version::new(major.saturating_add(1), 0, 0),
            (Step::Major, 0) | (Step::Minor, 1..) => Version::new(major, minor.saturating_add(1), 0),
            (Step::Minor, 0) | (Step::Patch, _) => Version::new(major, minor, patch.saturating_add(1)),
        }
    }

    /// Returns the step from a version to a later one; `None` if it is not later.
    pub fn between(version: &Version, later: &Version) -> Option<Step> {
        [Step::Major, Step::Minor, Step::Patch].into_iter().find(|step| *later >= step.next(version))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_raises_its_number_and_resets_the_lower_ones() {
        let version = |text: &str| Version::parse(text).unwrap();
        let next = |text: &str, step: Step| step.next(&version(text)).to_string();
        assert_eq!(next("1.2.3", Step::Major), "2.0.0");
        assert_eq!(next("1.2.3", Step::Minor), "1.3.0");
        assert_eq!(next("1.2.3", Step::Patch), "1.2.4");
        assert_eq!(next("0.2.3", Step::Major), "0.3.0");
        assert_eq!(next("0.2.3", Step::Minor), "0.2.4");
        let between = |from: &str, to: &str| Step::between(&version(from), &version(to));
        assert_eq!(between("1.2.3", "1.4.0"), Some(Step::Minor));
        assert_eq!(between("0.2.3", "0.3.0"), Some(Step::Major));
        assert_eq!(between("1.2.3", "1.2.3"), None);
        assert_eq!(between("1.2.3", "1.2.2"), None);
    }
}
