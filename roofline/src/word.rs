//! The words of results: one enum for each idea, spelled here and nowhere else.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::contracts::layer_roofline;

/// What holds an operation back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "program", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Bound {
    /// The memory.
    Memory,
    /// The arithmetic.
    Compute,
    /// Nobody can say.
    #[default]
    Undefined,
}

/// How much of what is attainable was reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "program", derive(schemars::JsonSchema))]
pub enum Band {
    /// There is little left to gain.
    #[serde(rename = "near optimal")]
    NearOptimal,
    /// Most of it.
    #[serde(rename = "good")]
    Good,
    /// There is something to gain.
    #[serde(rename = "room for improvement")]
    Improvable,
    /// Less than half.
    #[serde(rename = "inefficient")]
    Poor,
}

impl Bound {
    /// The word.
    pub fn name(self) -> &'static str {
        match self {
            Bound::Memory => "memory",
            Bound::Compute => "compute",
            Bound::Undefined => "undefined",
        }
    }
}

impl Band {
    /// The word.
    pub fn name(self) -> &'static str {
        match self {
            Band::NearOptimal => "near optimal",
            Band::Good => "good",
            Band::Improvable => "room for improvement",
            Band::Poor => "inefficient",
        }
    }
}

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Display for Band {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl From<layer_roofline::Bound> for Bound {
    fn from(bound: layer_roofline::Bound) -> Self {
        match bound {
            layer_roofline::Bound::Memory => Bound::Memory,
            layer_roofline::Bound::Compute => Bound::Compute,
        }
    }
}

impl From<layer_roofline::UtilizationBand> for Band {
    fn from(band: layer_roofline::UtilizationBand) -> Self {
        match band {
            layer_roofline::UtilizationBand::NearOptimal => Band::NearOptimal,
            layer_roofline::UtilizationBand::Good => Band::Good,
            layer_roofline::UtilizationBand::Improvable => Band::Improvable,
            layer_roofline::UtilizationBand::Poor => Band::Poor,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_spelled_in_json_as_people_read_it() {
        for bound in [Bound::Memory, Bound::Compute, Bound::Undefined] {
            assert_eq!(serde_json::to_value(bound).unwrap(), bound.name());
        }
        for band in [Band::NearOptimal, Band::Good, Band::Improvable, Band::Poor] {
            assert_eq!(serde_json::to_value(band).unwrap(), band.name());
        }
    }
}
