//! Semantic versioning: what a change asks of the version.

use semver::Version;

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

    /// The lowest version that announces a change of this kind. Before 1.0 a minor version breaks what the one before it
    /// promised, and a patch may add.
    pub fn raised(self, version: &Version) -> Version {
        let Version { major, minor, patch, .. } = *version;
        match (self, major) {
            (Step::Major, 1..) => Version::new(major.saturating_add(1), 0, 0),
            (Step::Major, 0) | (Step::Minor, 1..) => Version::new(major, minor.saturating_add(1), 0),
            (Step::Minor, 0) | (Step::Patch, _) => Version::new(major, minor, patch.saturating_add(1)),
        }
    }

    /// The step from a version to a later one; none if it is not later.
    pub fn between(version: &Version, later: &Version) -> Option<Step> {
        [Step::Major, Step::Minor, Step::Patch].into_iter().find(|step| *later >= step.raised(version))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_raises_the_number_that_announces_it() {
        let version = |text: &str| Version::parse(text).unwrap();
        let raised = |text: &str, step: Step| step.raised(&version(text)).to_string();
        assert_eq!(raised("1.2.3", Step::Major), "2.0.0");
        assert_eq!(raised("1.2.3", Step::Minor), "1.3.0");
        assert_eq!(raised("1.2.3", Step::Patch), "1.2.4");
        assert_eq!(raised("0.2.3", Step::Major), "0.3.0");
        assert_eq!(raised("0.2.3", Step::Minor), "0.2.4");
        let between = |from: &str, to: &str| Step::between(&version(from), &version(to));
        assert_eq!(between("1.2.3", "1.4.0"), Some(Step::Minor));
        assert_eq!(between("0.2.3", "0.3.0"), Some(Step::Major));
        assert_eq!(between("1.2.3", "1.2.3"), None);
        assert_eq!(between("1.2.3", "1.2.2"), None);
    }
}
