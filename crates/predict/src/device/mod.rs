//! Resolves `--on` specs: registry names and aliases, inline figures, device files, saved machines.
//!
//! ```
//! use roofline_predict::device::{Catalog, ResolvedDevice};
//!
//! let catalog = Catalog::built_in();
//! let ResolvedDevice::Device(device) = catalog.choose("RTX 4090").unwrap() else { unreachable!() };
//! assert_eq!((device.name, device.bandwidth), ("rtx_4090", 1008.0));
//! let ResolvedDevice::Device(mine) = catalog.choose("bandwidth=256GB/s,compute=59TFLOP/s,memory=128GB").unwrap() else {
//!     unreachable!()
//! };
//! assert_eq!((mine.bandwidth, mine.compute, mine.capacity), (256.0, Some(59_000.0), Some(128.0)));
//! ```

mod figures;
mod file;
mod name;

use std::fmt;
use std::path::Path;

use crate::predict::{DeviceProfile, MissingPeak, Precision};
use roofline_formulas::hardware::devices::{self, Device};
use roofline_machine::Machine;
use roofline_machine::storage;
use roofline_render::report::{Report, Saved};

pub use figures::{numbers_of, texts_of};
pub use file::configuration;
pub use file::device as from_entry;
pub use name::{display_name, several};

/// Devices known by name: those of the registry and of device files.
#[derive(Clone, Debug)]
pub struct Catalog {
    /// Devices of files come first, so that they shadow the registry.
    devices: Vec<&'static Device>,
}

/// Device of an `--on` spec.
#[derive(Clone, Debug)]
pub enum ResolvedDevice {
    /// This machine, not measured yet.
    This,
    /// Measured machine.
    Saved {
        /// Name of the file, without its extension.
        name: String,
        /// Measurement.
        machine: Box<Machine>,
    },
    /// Device of the registry, of a device file or inline.
    Device(&'static Device),
}

/// Message about an `--on` spec or device file that cannot be resolved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceError(pub String);

impl fmt::Display for DeviceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for DeviceError {}

impl Default for Catalog {
    fn default() -> Self {
        Catalog::built_in()
    }
}

impl Catalog {
    /// Returns the registry.
    pub fn built_in() -> Catalog {
        Catalog { devices: devices::ALL.iter().collect() }
    }

    /// Adds the devices of a file, which must satisfy the registry's rules. The error lists every diagnostic with its place.
    pub fn add_file(&mut self, path: &Path) -> Result<(), DeviceError> {
        let mut devices = file::read(path)?;
        devices.append(&mut self.devices);
        self.devices = devices;
        Ok(())
    }

    /// Returns all devices, those of files first.
    pub fn devices(&self) -> &[&'static Device] {
        &self.devices
    }

    /// Finds a device by name in any spelling. The model number alone suffices if it is unambiguous.
    pub fn find(&self, name: &str) -> Result<&'static Device, DeviceError> {
        name::find(&self.devices, name)
    }

    /// Returns the devices whose name, alias, vendor, kind, market or architecture contains `text`.
    pub fn matching(&self, text: &str) -> Vec<&'static Device> {
        name::matching(&self.devices, text)
    }

    /// Resolves a spec: a name, figures such as `bandwidth=256,compute=59000`, the file of a saved machine, or `this`.
    pub fn choose(&self, text: &str) -> Result<ResolvedDevice, DeviceError> {
        let text = text.trim();
        if text.eq_ignore_ascii_case("this") {
            return Ok(ResolvedDevice::This);
        }
        let path = Path::new(text);
        let extension = path.extension().unwrap_or_default().to_ascii_lowercase();
        if extension == "json" {
            return saved(path);
        }
        if extension == "yaml" || extension == "yml" {
            let message = format!(
                "{text}: device files cannot be passed to --on; pass --device-file {text} and select a device by name"
            );
            return Err(DeviceError(message));
        }
        if text.contains('=') {
            return Ok(ResolvedDevice::Device(figures::parse(text)?));
        }
        if let Some((_, one)) = name::several(text) {
            return Err(DeviceError(format!(
                "{text}: several devices are only supported by `predict` and `plan`; for a single device use `{one}`"
            )));
        }
        Ok(ResolvedDevice::Device(self.find(text)?))
    }
}

/// Splits `a,b,c`. Consecutive figures belong to one device until a key repeats.
pub fn split(text: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut keys: Vec<String> = Vec::new();
    for part in text.split(',') {
        let key = part.split_once('=').map(|(key, _)| key.trim().to_ascii_lowercase());
        match (key, found.last_mut()) {
            (Some(key), Some(last)) if !keys.is_empty() && !keys.contains(&key) => {
                *last = format!("{last},{part}");
                keys.push(key);
            }
            (key, _) => {
                keys = key.into_iter().collect();
                found.push(part.to_owned());
            }
        }
    }
    found
}

fn saved(path: &Path) -> Result<ResolvedDevice, DeviceError> {
    let error = |reason: String| DeviceError(format!("{}: {reason}", path.display()));
    let (schema, text) = storage::read_result(path).map_err(error)?;
    if schema != Machine::SCHEMA {
        return Err(error(storage::unsupported_schema(&schema, &[Machine::SCHEMA], "a device")));
    }
    let machine = Box::new(Machine::from_json(&text).and_then(Machine::require_all_types).map_err(error)?);
    let name = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    Ok(ResolvedDevice::Saved { name, machine })
}

impl ResolvedDevice {
    /// Replaces `this` by its measurement.
    pub fn measured<E>(self, measure: impl FnOnce() -> Result<Machine, E>) -> Result<ResolvedDevice, E> {
        match self {
            ResolvedDevice::This => {
                Ok(ResolvedDevice::Saved { name: "this".into(), machine: Box::new(measure()?) })
            }
            other => Ok(other),
        }
    }

    /// Returns the figures for a prediction. `this` has no peaks before it is measured.
    pub fn target(&self, precision: Option<Precision>) -> Result<DeviceProfile, MissingPeak> {
        match self {
            ResolvedDevice::This => {
                let precision = precision.unwrap_or(Precision::Fp32);
                Err(MissingPeak { device: "this".into(), precision, has: Vec::new() })
            }
            ResolvedDevice::Saved { name, machine } => {
                Ok(DeviceProfile { name: name.clone(), ..DeviceProfile::from_machine(machine, precision)? })
            }
            ResolvedDevice::Device(device) => DeviceProfile::from_device(device, precision),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_keeps_the_figures_of_one_device_together() {
        let parts = |text: &str| split(text);
        assert_eq!(parts("a,b"), ["a", "b"]);
        assert_eq!(parts("h100,bandwidth=256,compute=59e3,t4"), ["h100", "bandwidth=256,compute=59e3", "t4"]);
        assert_eq!(
            parts("bandwidth=1,compute=2,bandwidth=3,compute=4"),
            ["bandwidth=1,compute=2", "bandwidth=3,compute=4"]
        );
        assert_eq!(parts("RTX 4090"), ["RTX 4090"]);
    }

    #[test]
    fn unresolvable_specs_are_explained() {
        let catalog = Catalog::built_in();
        for (text, expected) in [
            ("h1000", "unknown device"),
            ("", "unknown device"),
            (
                "2x rtx-3090",
                "several devices are only supported by `predict` and `plan`; for a single device use `rtx-3090`",
            ),
            ("8 x H100", "use `H100`"),
            ("my.yaml", "pass --device-file my.yaml"),
            ("nowhere.json", "nowhere.json: "),
            ("compute=5", "bandwidth"),
            ("speed=5", "unknown device attribute `speed`; expected one of name"),
        ] {
            let DeviceError(message) = catalog.choose(text).unwrap_err();
            assert!(message.contains(expected), "{text}: {message}");
        }
    }
}
