//! Compute rates per element type.
//!
//! The contract `quantization-v1` defines the units that can multiply an element type exactly; the fastest of them that the
//! device has determines the ceiling.

use std::fmt;

use super::Precision;
use roofline_formulas::hardware::architectures::{self, Architecture};
use roofline_formulas::hardware::devices::{self, Device, Kind, Market};
pub use roofline_formulas::quantization::formats::Numbers;
use roofline_formulas::quantization::{formats, numbers};
use roofline_machine::{Machine, Reached, UnusedIsa};
use roofline_models::Dtype;

/// Rate that stands for an unknown peak, so that it limits nothing, in GFLOP/s.
pub(crate) const UNLIMITED: f64 = 1e12;

/// Peak of one kind of units.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Peak {
    /// Published or measured peak, in GFLOP/s, with its precision.
    Known(Precision, f64),
    /// Measured lower bound, in GFLOP/s: the device has faster instructions than the kernels use.
    AtLeast(Precision, f64),
    /// The device has or may have such units, but no peak is published.
    Unpublished,
    /// The device has no such units, or none faster than those for wider types.
    Absent,
}

/// Peaks of a device per precision.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Units {
    /// Integers below 8 bits with faster 16-bit accumulation.
    pub narrow: Peak,
    /// 4-bit floating point.
    pub fp4: Peak,
    /// 8-bit floating point.
    pub fp8: Peak,
    /// 8-bit integers.
    pub int8: Peak,
    /// FP16 and BF16, with any accumulator.
    pub half: Peak,
    /// FP32 and TF32.
    pub single: Peak,
}

/// Compute rate for an element type.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rate {
    /// Precision of the units, or of the units whose peak is unknown.
    pub precision: Precision,
    /// Peak in GFLOP/s; `None` if unknown.
    pub gflop_s: Option<f64>,
}

impl Rate {
    /// Returns the rate for contracts, which is unlimited if the peak is unknown.
    pub fn compute(self) -> f64 {
        self.gflop_s.unwrap_or(UNLIMITED)
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.gflop_s {
            Some(_) => write!(f, "{}", self.precision),
            None => write!(f, "unknown (no published or measured {} peak)", self.precision),
        }
    }
}

/// Returns the element type of a tensor type. Types without a block format in the contract are classified by size.
pub fn numbers_of(dtype: Dtype) -> Numbers {
    let format =
        dtype.ggml().and_then(|id| formats::ALL.iter().find(|format| format.ggml == Some(f64::from(id))));
    if let Some(format) = format {
        return format.numbers;
    }
    match dtype {
        Dtype::F8E5M2 | Dtype::F8E4M3 | Dtype::F8E8M0 | Dtype::F8E4M3Fnuz | Dtype::F8E5M2Fnuz => Numbers::Fp8,
        Dtype::F4 | Dtype::F6E2M3 | Dtype::F6E3M2 => Numbers::Fp4,
        _ => match dtype.block() {
            Some((weights, bytes)) if bytes < weights => Numbers::Narrow,
            Some((weights, bytes)) if bytes < 2 * weights => Numbers::Bytes,
            _ => Numbers::Single,
        },
    }
}

fn units_for(kind: Numbers) -> &'static numbers::Number {
    match kind {
        Numbers::Narrow => &numbers::NARROW,
        Numbers::Bytes => &numbers::BYTES,
        Numbers::Fp4 => &numbers::FP4,
        Numbers::Fp8 => &numbers::FP8,
        Numbers::Half => &numbers::HALF,
        Numbers::Single => &numbers::SINGLE,
    }
}

impl Units {
    /// Returns the published peaks of a device.
    pub fn from_device(device: &Device) -> Units {
        let factor = boost_factor(device);
        let peak = |precision: Precision, figures: &[Option<f64>]| {
            let fastest = figures.iter().copied().flatten().reduce(f64::max);
            match (fastest, factor) {
                (Some(peak), Some(factor)) => Peak::Known(precision, peak * factor),
                (Some(_), None) => Peak::Unpublished,
                (None, _) if lacks(device, precision) => Peak::Absent,
                (None, _) => Peak::Unpublished,
            }
        };
        // A GeForce is twice as fast with FP16 accumulation as with FP32; the figure for FP32 alone is not a ceiling.
        let slow_only = device.fp16.is_some() && device.fp16_fast.is_none() && has_fast_half(device);
        let fp16_is_fastest = device.fp16 >= device.bf16 || device.fp16_fast >= device.bf16;
        let half = match (slow_only, fp16_is_fastest) {
            (true, _) => Peak::Unpublished,
            (false, true) => peak(Precision::Fp16, &[device.fp16, device.fp16_fast]),
            (false, false) => peak(Precision::Bf16, &[device.bf16]),
        };
        let single = if device.tf32 > device.fp32 { Precision::Tf32 } else { Precision::Fp32 };
        Units {
            narrow: Peak::Absent,
            fp4: peak(Precision::Fp4, &[device.fp4]),
            fp8: peak(Precision::Fp8, &[device.fp8]),
            int8: peak(Precision::Int8, &[device.int8]),
            half,
            single: peak(single, &[device.fp32, device.tf32]),
        }
    }

    /// Returns the measured peaks of a machine.
    pub fn from_machine(machine: &Machine) -> Units {
        let roofs = machine.best();
        let beyond =
            |multiplies: fn(UnusedIsa) -> bool| machine.unused_isa.iter().any(|beyond| multiplies(*beyond));
        let peak = |beyond: bool, precision, roof: Reached| match beyond {
            true => Peak::AtLeast(precision, roof.value),
            false => Peak::Known(precision, roof.value),
        };
        let integers = beyond(UnusedIsa::multiplies_integers);
        let halves = beyond(UnusedIsa::multiplies_halves);
        let fp16 = roofs.f16_gflops.map(|roof| (Precision::Fp16, roof));
        let bf16 = roofs.bf16_gflops.map(|roof| (Precision::Bf16, roof));
        let native = fp16.into_iter().chain(bf16).max_by(|(_, a), (_, b)| a.value.total_cmp(&b.value));
        let half = native.or_else(|| halves.then_some((Precision::Fp32, roofs.f32_gflops)));
        Units {
            // Narrow types can accumulate in 16 bits, faster than int8, so the int8 roof is not a ceiling for them.
            narrow: roofs.int4_gops.map_or(Peak::Unpublished, |roof| peak(integers, Precision::Int4, roof)),
            fp4: Peak::Absent,
            fp8: Peak::Absent,
            int8: peak(integers, Precision::Int8, roofs.int8_gops),
            half: half.map_or(Peak::Absent, |(precision, roof)| peak(halves, precision, roof)),
            single: peak(beyond(UnusedIsa::multiplies_singles), Precision::Fp32, roofs.f32_gflops),
        }
    }

    /// Returns the rate of the fastest units that support an element type.
    ///
    /// The rate is unknown if the narrowest supporting units of the device have no reliable peak.
    pub fn rate(&self, kind: Numbers) -> Rate {
        self.fastest(kind, false)
    }

    /// Returns the rate for ideal figures, which accept lower bounds of a peak.
    pub fn ideal_rate(&self, kind: Numbers) -> Rate {
        self.fastest(kind, true)
    }

    fn fastest(&self, kind: Numbers, accept_lower_bounds: bool) -> Rate {
        let may = units_for(kind);
        let narrow = matches!(kind, Numbers::Narrow | Numbers::Fp4);
        let units = [
            (narrow, self.narrow, Precision::Int4),
            (may.fp4 == 1.0, self.fp4, Precision::Fp4),
            (may.fp8 == 1.0, self.fp8, Precision::Fp8),
            (may.int8 == 1.0, self.int8, Precision::Int8),
            (may.fp16 == 1.0, self.half, Precision::Fp16),
            (may.fp32 == 1.0, self.single, Precision::Fp32),
        ];
        let mut fastest: Option<Rate> = None;
        for (_, peak, precision) in units.into_iter().filter(|(may, ..)| *may) {
            match peak {
                Peak::AtLeast(precision, _) if !accept_lower_bounds && fastest.is_none() => {
                    return Rate { precision, gflop_s: None };
                }
                Peak::Known(precision, peak) | Peak::AtLeast(precision, peak) => {
                    let rate = Rate { precision, gflop_s: Some(peak) };
                    fastest = fastest.filter(|fastest| fastest.gflop_s >= rate.gflop_s).or(Some(rate));
                }
                Peak::Unpublished if fastest.is_none() => return Rate { precision, gflop_s: None },
                _ => {}
            }
        }
        fastest.unwrap_or(Rate { precision: Precision::Fp32, gflop_s: None })
    }
}

fn architecture(device: &Device) -> &'static Architecture {
    architectures::by_name(device.architecture.name()).unwrap_or(&architectures::OTHER)
}

/// Returns true if FP16 accumulation is twice as fast as FP32 accumulation.
fn has_fast_half(device: &Device) -> bool {
    device.market == Market::Consumer && architecture(device).fast_half == 1.0
}

/// Returns the factor from the registry's peaks to the highest clock; `None` if that clock is unknown.
///
/// The registry lists CPU peaks at the base clock, and those of boards at the boost clock.
fn boost_factor(device: &Device) -> Option<f64> {
    match (device.kind, device.base_clock, device.boost_clock) {
        (Kind::Cpu, Some(base), Some(boost)) => Some(boost / base),
        (Kind::Cpu, ..) => None,
        _ => Some(1.0),
    }
}

/// Returns true if the architecture has no units for a precision that are faster than those for wider types.
fn lacks(device: &Device, precision: Precision) -> bool {
    let architecture = architecture(device);
    let faster = match precision {
        Precision::Fp4 => architecture.fp4,
        Precision::Fp8 => architecture.fp8,
        Precision::Int8 => architecture.int8,
        Precision::Fp16 | Precision::Bf16 => architecture.half,
        // User-defined devices have exactly the units they list.
        Precision::Fp32 | Precision::Tf32 | Precision::Int4 => {
            return device.architecture == devices::Architecture::Other;
        }
    };
    faster == 0.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::predict::DeviceProfile;
    use roofline_render::report::Saved;

    fn machine() -> Machine {
        Machine::from_json(include_str!("../../../../roofline/tests/fixtures/machine.json")).unwrap()
    }

    #[test]
    fn measured_roofs_use_the_best_number_of_threads() {
        let mut machine = machine();
        (machine.all.read_gb_s, machine.all.int8_gops, machine.all.int4_gops) = (7.96, 20.0, Some(30.0));
        let target = DeviceProfile::from_machine(&machine, None).unwrap();
        assert_eq!(target.bandwidth, machine.single.read_gb_s);
        assert!(target.source.to_string().ends_with("memory with 1 thread"), "{}", target.source);
        assert_eq!(target.rate(Numbers::Narrow).gflop_s, machine.single.int4_gops);
    }

    #[test]
    fn instructions_without_kernels_leave_no_compute_ceiling() {
        let mut machine = machine();
        machine.unused_isa = vec![UnusedIsa::Avx512, UnusedIsa::Amx];
        let target = DeviceProfile::from_machine(&machine, None).unwrap();
        for &kind in Numbers::ALL {
            assert_eq!(target.rate(kind).gflop_s, None, "{kind:?}");
            assert!(target.ideal_rate(kind).gflop_s.is_some(), "{kind:?}");
        }
        // Missing FP16 kernels do not affect the integer roof.
        machine.unused_isa = vec![UnusedIsa::Fp16];
        let target = DeviceProfile::from_machine(&machine, None).unwrap();
        assert_eq!(target.rate(Numbers::Bytes).gflop_s, Some(machine.all.int8_gops));
        assert_eq!(
            (target.rate(Numbers::Half).precision, target.rate(Numbers::Half).gflop_s),
            (Precision::Fp32, None)
        );
    }
}
