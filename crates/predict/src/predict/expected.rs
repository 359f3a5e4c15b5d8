//! Expected speeds within results, derived from published results or a calibration.

use serde::{Deserialize, Serialize};

use roofline_formulas::spelled;
use roofline_render::format::figure;

/// Expected speeds of a prediction.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Expectation {
    /// Decode; absent if no expectation is possible.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decode: Option<ExpectedSpeed>,
    /// Prefill; absent if no expectation is possible.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prefill: Option<ExpectedSpeed>,
    /// Reasons for absent speeds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<String>,
}

/// Expected range of a speed, with its origin.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExpectedSpeed {
    /// Inference engine with its backend, such as `llama.cpp-cuda`.
    pub engine: String,
    /// Origin of the range.
    #[serde(default)]
    pub from: ExpectedFrom,
    /// Lower end, in token/s: 90 % of comparable results are faster.
    pub low_tokens_per_s: f64,
    /// Median, in token/s.
    pub middle_tokens_per_s: f64,
    /// Upper end, in token/s: 10 % of comparable results are faster.
    pub high_tokens_per_s: f64,
    /// Effective number of comparable results or calibration runs.
    pub rows: f64,
    /// Similarity of the closest result: 1 for an identical setting, 0.5 if one trait differs, 0 if nothing matches.
    pub nearness: f64,
}

/// Origin of an expected speed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ExpectedFrom {
    /// Published results.
    #[default]
    Record,
    /// The user's own runs.
    Calibration,
}

spelled! {
    ExpectedFrom {
        Record = "record",
        Calibration = "calibration",
    }
}

impl ExpectedSpeed {
    /// Returns the range as `low..high`, in token/s.
    pub fn band(&self) -> String {
        format!("{}..{}", figure(self.low_tokens_per_s), figure(self.high_tokens_per_s))
    }

    /// Describes the range and its origin.
    pub(crate) fn origin(&self) -> String {
        let (low, high) = (figure(self.low_tokens_per_s), figure(self.high_tokens_per_s));
        match self.from {
            ExpectedFrom::Record => {
                format!("{low}–{high} ({}, {} comparable results)", self.engine, self.rows.round())
            }
            ExpectedFrom::Calibration => {
                format!("{low}–{high} ({}, calibrated with {} runs)", self.engine, self.rows)
            }
        }
    }
}

impl Expectation {
    /// Names of the figures.
    pub(crate) const NAMES: [&'static str; 6] = [
        "expected_decode",
        "expected_decode_low",
        "expected_decode_high",
        "expected_prefill",
        "expected_prefill_low",
        "expected_prefill_high",
    ];

    /// Returns a figure by name, in token/s.
    pub(crate) fn figure(&self, name: &str) -> Option<f64> {
        let decode = |of: fn(&ExpectedSpeed) -> f64| self.decode.as_ref().map(of);
        let prefill = |of: fn(&ExpectedSpeed) -> f64| self.prefill.as_ref().map(of);
        match name {
            "expected_decode" => decode(|speed| speed.middle_tokens_per_s),
            "expected_decode_low" => decode(|speed| speed.low_tokens_per_s),
            "expected_decode_high" => decode(|speed| speed.high_tokens_per_s),
            "expected_prefill" => prefill(|speed| speed.middle_tokens_per_s),
            "expected_prefill_low" => prefill(|speed| speed.low_tokens_per_s),
            "expected_prefill_high" => prefill(|speed| speed.high_tokens_per_s),
            _ => None,
        }
    }

    /// Returns the ends of the range for decode or prefill, in token/s.
    pub fn band(&self, decode: bool) -> Option<(f64, f64)> {
        let speed = if decode { &self.decode } else { &self.prefill };
        speed.as_ref().map(|speed| (speed.low_tokens_per_s, speed.high_tokens_per_s))
    }

    /// Returns true if any speed is expected.
    pub fn is_known(&self) -> bool {
        self.decode.is_some() || self.prefill.is_some()
    }

    /// Returns the engine of the expected speeds.
    pub fn engine(&self) -> Option<&str> {
        self.decode.as_ref().or(self.prefill.as_ref()).map(|speed| speed.engine.as_str())
    }
}
