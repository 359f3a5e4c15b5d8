//! The words of results: one enum for each idea, spelled here and nowhere else.

use std::fmt;

use serde::{Deserialize, Serialize};

use roofline_formulas::hardware::devices::Device;
use roofline_formulas::{layer_roofline, spelled, transformer};

/// What holds an operation or a whole model back.
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
    /// The memory.
    #[serde(alias = "Memory")]
    Memory,
    /// The arithmetic.
    #[serde(alias = "Compute")]
    Compute,
    /// Starting the work.
    #[serde(alias = "Overhead")]
    Overhead,
    /// Nobody can say.
    #[default]
    Undefined,
}

/// A number format that a device may have a peak for.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "the names are the formats'")]
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

/// Whether a model fits in a device's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Feasibility {
    /// It does.
    Fits,
    /// It does not.
    TooLarge,
}

/// How much of what is attainable was reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Band {
    /// There is little left to gain.
    NearOptimal,
    /// Most of it.
    Good,
    /// There is something to gain.
    Improvable,
    /// Less than half.
    Poor,
}

spelled!(Band {
    NearOptimal = "near optimal" | "NearOptimal",
    Good = "good" | "Good",
    Improvable = "room for improvement" | "Improvable",
    Poor = "inefficient" | "Poor",
});

/// The part of the work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// One token for each sequence.
    Decode,
    /// The whole prompt of each sequence.
    Prefill,
    /// All layers of a stack, once for each sample.
    Pass,
}

spelled!(Phase {
    Decode = "decode",
    Prefill = "prefill",
    Pass = "pass",
});

/// How the rows of a profile are put together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum By {
    /// Each operation of each layer.
    Operation,
    /// Each layer; what is outside the layers by its role.
    #[default]
    Layer,
    /// Each part of the model.
    Kind,
}

spelled!(By {
    Operation = "operation",
    Layer = "layer",
    Kind = "kind",
});

/// Why no code reaches the whole of a measured roof.
pub const WHY_NOT_ALL: &str = "threads start and meet, rows have ends, results are written, and memory is refreshed; 90 % and more \
                               is near optimal";

/// How urgent advice is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Priority {
    /// Do it first.
    High,
    /// Do it next.
    Medium,
    /// Do it when there is time.
    Low,
}

spelled!(Priority {
    High = "high",
    Medium = "medium",
    Low = "low",
});

impl Bound {
    /// The word.
    pub fn name(self) -> &'static str {
        match self {
            Bound::Memory => "memory",
            Bound::Compute => "compute",
            Bound::Overhead => "overhead",
            Bound::Undefined => "undefined",
        }
    }

    /// The same in words.
    pub fn held_back(self) -> &'static str {
        match self {
            Bound::Memory => "held back by memory",
            Bound::Compute => "held back by arithmetic",
            Bound::Overhead => "held back by dispatch",
            Bound::Undefined => "held back by nothing that is known",
        }
    }
}

impl Precision {
    /// All of them.
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

    /// The word, as in the device table.
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

    /// The device's peak, in GFLOP/s.
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

    /// The precisions that a device has a peak for.
    pub fn of(device: &Device) -> impl Iterator<Item = Precision> {
        Precision::ALL.into_iter().filter(|precision| precision.peak(device).is_some())
    }

    /// The precision of this name.
    pub fn by_name(name: &str) -> Option<Precision> {
        Precision::ALL.into_iter().find(|precision| precision.name() == name)
    }
}

impl Feasibility {
    /// The word.
    pub fn name(self) -> &'static str {
        match self {
            Feasibility::Fits => "fits",
            Feasibility::TooLarge => "too large",
        }
    }
}

/// Words are shown as they are spelled.
macro_rules! shown {
    ($($word:ty),*) => {$(
        impl fmt::Display for $word {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(self.name())
            }
        }
    )*};
}

shown!(Bound, Precision, Feasibility);

/// Each contract has the cases that its formulas tell apart.
macro_rules! bounds {
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

bounds!(
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
    fn a_word_is_spelled_in_json_as_people_read_it() {
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
    fn a_bound_that_was_saved_with_a_capital_is_read() {
        for (word, bound) in
            [("Memory", Bound::Memory), ("Compute", Bound::Compute), ("Overhead", Bound::Overhead)]
        {
            assert_eq!(serde_json::from_value::<Bound>(word.into()).unwrap(), bound);
        }
    }
}
