//! Energy as the processor counts it (RAPL), where Linux lets everybody read the counters; many systems keep them to the administrator.

use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// Where Linux keeps the counters.
pub(super) const COUNTERS: &str = "/sys/class/powercap";

/// What the packages took while all threads ran.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "program", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Energy {
    /// Nanojoules for a byte read from memory.
    pub read_nj_byte: f64,
    /// Nanojoules for an f32 operation, two for a multiply-add.
    pub f32_nj_flop: f64,
    /// Watts while reading.
    pub read_watts: f64,
    /// Watts while multiplying.
    pub f32_watts: f64,
}

/// The counters of all packages.
pub(super) struct Counters(Vec<Counter>);

struct Counter {
    path: PathBuf,
    /// Where it starts at zero again, in microjoules.
    range: u64,
}

impl Counters {
    /// Those of the packages below a directory, or why there are none.
    pub fn open(directory: &Path) -> Result<Counters, String> {
        let entries = fs::read_dir(directory).into_iter().flatten().flatten();
        let read = |path: &Path, name: &str| fs::read_to_string(path.join(name));
        let mut counters = Vec::new();
        for path in entries.map(|entry| entry.path()) {
            if !read(&path, "name").is_ok_and(|name| name.starts_with("package-")) {
                continue;
            }
            let range = read(&path, "max_energy_range_uj").ok().and_then(|text| text.trim().parse().ok());
            let path = path.join("energy_uj");
            if let Err(error) = fs::read_to_string(&path) {
                return Err(format!("{}: {error}", path.display()));
            }
            counters.push(Counter { path, range: range.unwrap_or(u64::MAX) });
        }
        if counters.is_empty() {
            return Err(format!("no counters of packages in {}", directory.display()));
        }
        Ok(Counters(counters))
    }

    /// What each counts now, in microjoules.
    pub fn now(&self) -> Option<Vec<u64>> {
        let read = |counter: &Counter| fs::read_to_string(&counter.path).ok()?.trim().parse().ok();
        self.0.iter().map(read).collect()
    }

    /// Joules between two readings less than one round of a counter apart.
    pub fn joules(&self, before: &[u64], after: &[u64]) -> f64 {
        let each = self.0.iter().zip(before).zip(after);
        let microjoules = each.map(|((counter, &before), &after)| match after.checked_sub(before) {
            Some(between) => between,
            None => (counter.range - before.min(counter.range)).saturating_add(after),
        });
        microjoules.sum::<u64>() as f64 / 1e6
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_are_added_up_across_a_wrap_and_parts_are_not_counted_twice() {
        let root = std::env::temp_dir().join(format!("roofline-energy-{}", std::process::id()));
        let domain = |name: &str, label: &str, energy: u64| {
            fs::create_dir_all(root.join(name)).unwrap();
            fs::write(root.join(name).join("name"), format!("{label}\n")).unwrap();
            fs::write(root.join(name).join("max_energy_range_uj"), "1000000\n").unwrap();
            fs::write(root.join(name).join("energy_uj"), format!("{energy}\n")).unwrap();
        };
        assert_eq!(
            Counters::open(&root).err().unwrap(),
            format!("no counters of packages in {}", root.display())
        );
        domain("intel-rapl:0", "package-0", 900_000);
        domain("intel-rapl:0:0", "core", 1);
        domain("intel-rapl:1", "package-1", 100_000);
        let counters = Counters::open(&root).unwrap();
        let before = counters.now().unwrap();
        assert_eq!(before.len(), 2);
        domain("intel-rapl:0", "package-0", 400_000);
        domain("intel-rapl:1", "package-1", 600_000);
        assert_eq!(counters.joules(&before, &counters.now().unwrap()), 1.0);
        fs::remove_file(root.join("intel-rapl:0/energy_uj")).unwrap();
        assert!(Counters::open(&root).err().unwrap().contains("energy_uj"));
        assert_eq!(counters.now(), None);
        fs::remove_dir_all(root).unwrap();
    }
}
