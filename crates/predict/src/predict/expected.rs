//! The speed to expect beside a ceiling and an estimate, as a part of results. What it is comes from elsewhere: the record of
//! published speeds, or a calibration.

use serde::{Deserialize, Serialize};

use roofline_formulas::spelled;
use roofline_render::number::{figure, percent};

/// What is expected of a prediction.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Expectation {
    /// Decoding; absent where nothing is expected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decode: Option<ExpectedSpeed>,
    /// Reading the prompt; absent where nothing is expected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prefill: Option<ExpectedSpeed>,
    /// Why a speed is absent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<String>,
}

/// The speed to expect of a step: what rows alike of the record reached, or what a calibration says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExpectedSpeed {
    /// The engine that it is expected of, and what it runs on.
    pub engine: String,
    /// What it comes from.
    #[serde(default)]
    pub from: ExpectedFrom,
    /// Nine of ten rows alike are faster, in tokens per second.
    pub low_tokens_per_s: f64,
    /// As many are faster as slower.
    pub middle_tokens_per_s: f64,
    /// One of ten is faster.
    pub high_tokens_per_s: f64,
    /// How many rows count, as if all counted the same.
    pub rows: f64,
    /// How near the nearest of them is: 1 for the same setting, a half where one trait differs, 0 for nothing alike.
    pub nearness: f64,
}

/// What an expectation comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ExpectedFrom {
    /// Published speeds.
    #[default]
    Record,
    /// Runs of the user.
    Calibration,
}

spelled! {
    ExpectedFrom {
        Record = "record",
        Calibration = "calibration",
    }
}

impl ExpectedSpeed {
    /// The ends of the band.
    pub fn band(&self) -> String {
        format!("{}..{}", figure(self.low_tokens_per_s), figure(self.high_tokens_per_s))
    }

    /// The band, and what it comes from.
    pub(crate) fn origin(&self) -> String {
        let (low, high) = (figure(self.low_tokens_per_s), figure(self.high_tokens_per_s));
        match self.from {
            ExpectedFrom::Record => {
                let (rows, near) = (figure(self.rows), percent(Some(self.nearness)));
                format!("{low} to {high}: {}, from {rows} rows, the nearest at {near}", self.engine)
            }
            ExpectedFrom::Calibration => {
                format!("{low} to {high}: {}, calibrated with {} runs", self.engine, self.rows)
            }
        }
    }
}

impl Expectation {
    /// The names of its figures.
    pub(crate) const NAMES: [&'static str; 6] = [
        "expected_decode",
        "expected_decode_low",
        "expected_decode_high",
        "expected_prefill",
        "expected_prefill_low",
        "expected_prefill_high",
    ];

    /// The figure of this name, in token/s.
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

    /// The ends of the band of decoding, or of the prompt.
    pub fn band(&self, decode: bool) -> Option<(f64, f64)> {
        let speed = if decode { &self.decode } else { &self.prefill };
        speed.as_ref().map(|speed| (speed.low_tokens_per_s, speed.high_tokens_per_s))
    }

    /// Whether anything is expected.
    pub fn is_known(&self) -> bool {
        self.decode.is_some() || self.prefill.is_some()
    }

    /// The engine that something is expected of.
    pub fn engine(&self) -> Option<&str> {
        self.decode.as_ref().or(self.prefill.as_ref()).map(|speed| speed.engine.as_str())
    }
}
