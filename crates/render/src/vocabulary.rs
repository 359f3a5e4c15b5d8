//! Vocabulary of results: one enum for each closed set of words.

use std::fmt;

use serde::{Deserialize, Serialize};

use roofline_formulas::hardware::devices::Device;
use roofline_formulas::{layer_roofline, spelled, transformer};

/// The resource that limits an operation or a model.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    Hash,
    PartialOrd,
    Ord,
    Serialize,
    Deserialize,
    schemars::JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Bound {
    /// Memory bandwidth.
    #[serde(alias = "Memory")]
    Memory,
    /// Arithmetic rate.
    #[serde(alias = "Compute")]
    Compute,
    /// Dispatch and synchronization.
    #[serde(alias = "Overhead")]
    Overhead,
    /// Unknown.
    #[default]
    Undefined,
}

/// Element type for which a device may have a peak.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "the variants are named after the formats")]
pub enum Precision {
    Fp32,
    Tf32,
    Fp16,
    Bf16,
    Fp8,
    Fp4,
    Int8,
    Int4,
}

/// Result of comparing a model's memory with a device's capacity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Feasibility {
    /// The model fits.
    Fits,
    /// The model exceeds the capacity.
    TooLarge,
}

/// Rating of an achieved share of the attainable performance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Band {
    /// At least 90 %.
    NearOptimal,
    /// At least 70 % and less than 90 %.
    Good,
    /// At least 50 % and less than 70 %.
    Improvable,
    /// Less than 50 %.
    Poor,
}

spelled!(Band {
    NearOptimal = "near optimal" | "NearOptimal",
    Good = "good" | "Good",
    Improvable = "room for improvement" | "Improvable",
    Poor = "inefficient" | "Poor",
});

/// Phase of inference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Generates one token per sequence.
    Decode,
    /// Processes the whole prompt of each sequence.
    Prefill,
    /// Runs all layers of a network once per sample.
    Pass,
}

spelled!(Phase {
    Decode = "decode",
    Prefill = "prefill",
    Pass = "pass",
});

/// Grouping of the rows of a profile.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum By {
    /// One row per operation of each layer.
    Operation,
    /// One row per layer; operations outside the layers are grouped by role.
    #[default]
    Layer,
    /// One row per kind of operation.
    Kind,
}

spelled!(By {
    Operation = "operation",
    Layer = "layer",
    Kind = "kind",
});

/// Explains why code cannot reach 100 % of a measured roof.
pub const ROOF_LOSSES: &str = "thread start-up and barriers, row tails, stores and DRAM refresh cost a few percent; 90 % or more \
                               is near-optimal";

/// Priority of advice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Priority {
    /// Apply first.
    High,
    /// Apply next.
    Medium,
    /// Apply last.
    Low,
}

spelled!(Priority {
    High = "high",
    Medium = "medium",
    Low = "low",
});

impl Bound {
    /// Returns the word that JSON and tables use.
    pub fn name(self) -> &'static str {
        match self {
            Bound::Memory => "memory",
            Bound::Compute => "compute",
            Bound::Overhead => "overhead",
            Bound::Undefined => "undefined",
        }
    }

    /// Returns the glossary term, such as `memory-bound`.
    pub fn describe(self) -> &'static str {
        match self {
            Bound::Memory => "memory-bound",
            Bound::Compute => "compute-bound",
            Bound::Overhead => "overhead-bound",
            Bound::Undefined => "bound unknown",
        }
    }
}

impl Precision {
    /// All precisions.
    pub const ALL: [Precision; 8] = [
        Precision::Fp32,
        Precision::Tf32,
        Precision::Fp16,
        Precision::Bf16,
        Precision::Fp8,
        Precision::Fp4,
        Precision::Int8,
        Precision::Int4,
    ];

    /// Returns the name in the device registry.
    pub fn name(self) -> &'static str {
        match self {
            Precision::Fp32 => "fp32",
            Precision::Tf32 => "tf32",
            Precision::Fp16 => "fp16",
            Precision::Bf16 => "bf16",
            Precision::Fp8 => "fp8",
            Precision::Fp4 => "fp4",
            Precision::Int8 => "int8",
            Precision::Int4 => "int4",
        }
    }

    /// Returns the published peak of a device, in GFLOP/s.
    pub fn peak(self, device: &Device) -> Option<f64> {
        match self {
            Precision::Fp32 => device.fp32,
            Precision::Tf32 => device.tf32,
            Precision::Fp16 => device.fp16,
            Precision::Bf16 => device.bf16,
            Precision::Fp8 => device.fp8,
            Precision::Fp4 => device.fp4,
            Precision::Int8 => device.int8,
            Precision::Int4 => device.int4,
        }
    }

    /// Iterates over the precisions with a published peak.
    pub fn with_peak(device: &Device) -> impl Iterator<Item = Precision> {
        Precision::ALL.into_iter().filter(|precision| precision.peak(device).is_some())
    }

    /// Looks up a precision by its name in the device registry.
    pub fn by_name(name: &str) -> Option<Precision> {
        Precision::ALL.into_iter().find(|precision| precision.name() == name)
    }
}

impl Feasibility {
    /// Returns the word that JSON and tables use.
    pub fn name(self) -> &'static str {
        match self {
            Feasibility::Fits => "fits",
            Feasibility::TooLarge => "too large",
        }
    }
}

/// Implements `Display` with `name`.
macro_rules! display_name {
    ($($word:ty),*) => {$(
        impl fmt::Display for $word {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(self.name())
            }
        }
    )*};
}

display_name!(Bound, Precision, Feasibility);

/// Implements the conversion from the classifier of each contract.
macro_rules! convert_bounds {
    ($($bound:ty: $($case:ident)*),*) => {$(
        impl From<$bound> for Bound {
            fn from(bound: $bound) -> Self {
                match bound {
                    $(<$bound>::$case => Bound::$case,)*
                }
            }
        }
    )*};
}

convert_bounds!(
    layer_roofline::Bound: Memory Compute,
    layer_roofline::PassBound: Memory Compute,
    transformer::DecodeBound: Memory Compute,
    transformer::PrefillBound: Memory Compute
);

impl From<transformer::Feasibility> for Feasibility {
    fn from(feasibility: transformer::Feasibility) -> Self {
        match feasibility {
            transformer::Feasibility::Fits => Feasibility::Fits,
            transformer::Feasibility::TooLarge => Feasibility::TooLarge,
        }
    }
}

impl From<layer_roofline::Priority> for Priority {
    fn from(priority: layer_roofline::Priority) -> Self {
        match priority {
            layer_roofline::Priority::High => Priority::High,
            layer_roofline::Priority::Medium => Priority::Medium,
            layer_roofline::Priority::Low => Priority::Low,
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
    fn json_and_text_use_the_same_words() {
        for bound in [Bound::Memory, Bound::Compute, Bound::Overhead, Bound::Undefined] {
            assert_eq!(serde_json::to_value(bound).unwrap(), bound.name());
        }
        for precision in Precision::ALL {
            assert_eq!(serde_json::to_value(precision).unwrap(), precision.name());
        }
        for band in Band::ALL {
            assert_eq!(serde_json::to_value(band).unwrap(), band.name());
            assert_eq!(serde_json::from_value::<Band>(band.name().into()).unwrap(), *band);
        }
        assert_eq!(serde_json::from_value::<Band>("NearOptimal".into()).unwrap(), Band::NearOptimal);
        let wrong = serde_json::from_value::<Band>("fair".into()).unwrap_err().to_string();
        assert!(wrong.contains("`fair`") && wrong.contains("`near optimal`"), "{wrong}");
    }

    #[test]
    fn capitalized_bounds_of_older_documents_are_accepted() {
        for (word, bound) in
            [("Memory", Bound::Memory), ("Compute", Bound::Compute), ("Overhead", Bound::Overhead)]
        {
            assert_eq!(serde_json::from_value::<Bound>(word.into()).unwrap(), bound);
        }
    }
}
