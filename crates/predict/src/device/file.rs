//! Device files: contract tables that extend the registry's `devices` table and are checked by its rules.

use std::path::{Path, PathBuf};

use roofline_contracts::check_in;
use roofline_contracts::contract::{Entry, Table, Value};
use roofline_contracts::report::Severity;
use roofline_contracts::source::Source;

use super::DeviceError;
use super::figures::BLANK;
use roofline_formulas::hardware::devices::Device;
use roofline_machine::storage;

/// Returns the path of the user's device file; `None` if the platform has no configuration directory.
pub fn configuration() -> Option<PathBuf> {
    let base =
        storage::user_directory("APPDATA", "Library/Application Support", "XDG_CONFIG_HOME", ".config");
    base.map(|base| base.join("devices.yaml"))
}

/// Reads the devices of a file.
pub fn read(path: &Path) -> Result<Vec<&'static Device>, DeviceError> {
    let shown = path.to_string_lossy();
    let source = Source::read(path, &shown).map_err(|error| DeviceError(error.to_string()))?;
    let compiled = check_in(source, path.parent());
    let errors: Vec<String> = compiled.rendered(Severity::Error).collect();
    let Some(contract) = compiled.contract.filter(|_| errors.is_empty()) else {
        return Err(DeviceError(errors.join("\n")));
    };
    let own = contract.profiles.iter().filter(|table| table.origin.is_none());
    let devices: Vec<&'static Device> = own
        .filter(|table| is_devices(table))
        .flat_map(|table| table.entries.iter().map(|entry| device(table, entry)))
        .collect();
    if devices.is_empty() {
        let message = format!(
            "{shown}: no table extends `devices`; add `depends_on: [hardware-v1 ^2.0]` under `metadata` and `extends: devices` to a \
                         table of `profiles`"
        );
        return Err(DeviceError(message));
    }
    Ok(devices)
}

fn is_devices(table: &Table) -> bool {
    table.rules.iter().any(|rule| rule.id == "compute-is-16-bit")
}

/// Converts a table entry to a device with static lifetime, like those of the registry.
pub fn device(table: &Table, entry: &Entry) -> &'static Device {
    let leak = |text: &str| -> &'static str { text.to_owned().leak() };
    let mut device = Device {
        name: leak(&entry.name),
        doc: leak(&entry.doc),
        source: leak(&entry.source),
        as_of: leak(&entry.as_of),
        ..BLANK
    };
    for (field, value) in table.fields.iter().zip(&entry.values) {
        match value {
            Value::Number(number) => _ = device.set_number(&field.name, *number),
            Value::Text(text) => _ = device.set_text(&field.name, leak(text)),
            Value::Absent => {}
        }
    }
    Box::leak(Box::new(device))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::numbers_of;
    use roofline_contracts::contract::FieldKind;
    use roofline_contracts::library;
    use roofline_formulas::hardware::devices::ALL;

    #[test]
    fn the_registry_is_a_valid_device_file() {
        let source = library::built_in("hardware-v1").unwrap();
        let contract = check_in(source, None).contract.unwrap();
        let table = &contract.profiles[0];
        assert!(is_devices(table));
        let read: Vec<Device> = table.entries.iter().map(|entry| *device(table, entry)).collect();
        assert_eq!(read, ALL);
        let units = table.fields.iter().filter_map(|field| match &field.kind {
            FieldKind::Number { unit_text, .. } => Some((field.name.as_str(), unit_text.as_str())),
            FieldKind::Text { .. } => None,
        });
        assert_eq!(units.collect::<Vec<_>>(), Device::NUMBERS.to_vec());
        // Conditions can use every number of the table.
        for (entry, known) in table.entries.iter().zip(ALL) {
            let numbers = table.fields.iter().zip(&entry.values).filter_map(|(field, value)| match value {
                Value::Number(number) => Some((field.name.as_str(), *number)),
                _ => None,
            });
            assert_eq!(numbers.collect::<Vec<_>>(), numbers_of(known).collect::<Vec<_>>(), "{}", entry.name);
        }
    }
}
