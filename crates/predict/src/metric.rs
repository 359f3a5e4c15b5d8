//! Registry of figures: name, unit, direction, label and kind of each figure in results, conditions, tables and charts.

use roofline_formulas::transformer_unit;
use roofline_render::report::Better;

/// Kind of a figure. Kinds are never mixed in one column or chart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Upper bound of a speed, or lower bound of a time, for every exact implementation.
    Ceiling,
    /// Roofline result under stated assumptions.
    Ideal,
    /// Range derived from measurements.
    Expected,
    /// Input, size, price or other value without a range.
    Fact,
}

/// A figure of a prediction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Metric {
    /// Name in JSON, conditions and columns.
    pub name: &'static str,
    /// Unit in contract notation; `1` for dimensionless figures.
    pub unit: &'static str,
    /// Direction of improvement; `Neither` if `gate` ignores the figure.
    pub better: Better,
    /// Label for people.
    pub label: &'static str,
    /// Kind of figure.
    pub kind: Kind,
}

const fn metric(
    name: &'static str,
    unit: &'static str,
    better: Better,
    label: &'static str,
    kind: Kind,
) -> Metric {
    Metric { name, unit, better, label, kind }
}

use Better::{Higher, Lower, Neither};
use Kind::{Ceiling, Expected, Fact, Ideal};

/// Figures with a label or a direction; all others are quantities and equations of `transformer-v1`.
pub const METRICS: &[Metric] = &[
    metric("decode_ceiling", "token/s", Higher, "decode, ceiling", Ceiling),
    metric("decode_ideal", "token/s", Neither, "decode, ideal", Ideal),
    metric("prefill_ceiling", "token/s", Neither, "prefill, ceiling", Ceiling),
    metric("prefill_ideal", "token/s", Neither, "prefill, ideal", Ideal),
    metric("prefill_least_time", "s", Lower, "time to first token, lower bound", Ceiling),
    metric("time_to_first_token", "s", Neither, "time to first token, ideal", Ideal),
    metric("expected_decode", "token/s", Neither, "decode, expected", Expected),
    metric("expected_decode_low", "token/s", Neither, "decode, low end of the expected range", Expected),
    metric("expected_decode_high", "token/s", Neither, "decode, high end of the expected range", Expected),
    metric("expected_prefill", "token/s", Neither, "prefill, expected", Expected),
    metric("expected_prefill_low", "token/s", Neither, "prefill, low end of the expected range", Expected),
    metric("expected_prefill_high", "token/s", Neither, "prefill, high end of the expected range", Expected),
    metric("output_ceiling", "token/s", Neither, "output of all users, ceiling", Ceiling),
    metric("output_rate", "token/s", Higher, "output of all users, ideal", Ideal),
    metric("request_rate", "1/s", Neither, "requests, ideal", Ideal),
    metric("token_least_time", "s/token", Neither, "time per output token, lower bound", Ceiling),
    metric("token_time", "s/token", Lower, "time per output token, ideal", Ideal),
    metric("token_energy", "J/token", Lower, "energy, ideal", Ideal),
    metric("footprint", "B", Lower, "footprint", Fact),
    metric("device_memory", "GB", Neither, "memory per device", Fact),
    metric("devices", "1", Neither, "devices", Fact),
    metric("price", "1", Neither, "price in USD", Fact),
    metric("power", "W", Neither, "power", Fact),
    metric("usd_per_token_per_s", "s/token", Neither, "USD per token/s", Fact),
    metric("usd_per_million_tokens", "1/Mtoken", Neither, "USD per million tokens, ideal", Ideal),
];

/// Returns the figure of this name, or an unlabeled fact if it is not registered.
pub fn by_name(name: &'static str) -> Metric {
    let known = METRICS.iter().find(|metric| metric.name == name);
    known.copied().unwrap_or_else(|| {
        metric(name, transformer_unit(name).unwrap_or("1"), Better::Neither, name, Kind::Fact)
    })
}

/// Returns the unit of a figure, from the registry or from `transformer-v1`; `1` if neither knows the name.
pub fn unit(name: &str) -> &'static str {
    let known = METRICS.iter().find(|metric| metric.name == name).map(|metric| metric.unit);
    known.or_else(|| transformer_unit(name)).unwrap_or("1")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registered_units_agree_with_the_contract() {
        for metric in METRICS {
            if let Some(unit) = transformer_unit(metric.name) {
                assert_eq!(metric.unit, unit, "{}", metric.name);
            }
        }
    }

    #[test]
    fn a_name_is_registered_once() {
        let names: std::collections::BTreeSet<&str> = METRICS.iter().map(|metric| metric.name).collect();
        assert_eq!(names.len(), METRICS.len());
    }
}
