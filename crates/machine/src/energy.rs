//! Energy counters of CPU packages (RAPL) on Linux. Many systems restrict them to the administrator.

use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// Energy and power of all packages while all threads run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Energy {
    /// Energy per byte read from memory, nJ.
    pub read_nj_byte: f64,
    /// Energy per f32 operation, two per multiply-add, nJ.
    pub f32_nj_flop: f64,
    /// Power while reading memory, W.
    pub read_watts: f64,
    /// Power during f32 arithmetic, W.
    pub f32_watts: f64,
}

/// Energy counters of all packages.
pub struct Counters(Vec<Counter>);

struct Counter {
    path: PathBuf,
    /// Value in microjoules at which the counter wraps; `None` if unknown.
    range: Option<u64>,
}

impl Counter {
    fn read(&self) -> Result<u64, String> {
        let path = self.path.display();
        let text = fs::read_to_string(&self.path).map_err(|error| format!("{path}: {error}"))?;
        text.trim().parse().map_err(|_| format!("{path}: expected a number"))
    }
}

impl Counters {
    /// Opens the counters of this system.
    ///
    /// # Errors
    ///
    /// Fails if the counters are missing or unreadable.
    pub fn detect() -> Result<Counters, String> {
        Counters::open(Path::new("/sys/class/powercap"))
    }

    fn open(directory: &Path) -> Result<Counters, String> {
        let entries = fs::read_dir(directory).into_iter().flatten().flatten();
        let read = |path: &Path, name: &str| fs::read_to_string(path.join(name));
        let mut counters = Vec::new();
        for path in entries.map(|entry| entry.path()) {
            if !read(&path, "name").is_ok_and(|name| name.starts_with("package-")) {
                continue;
            }
            let range = read(&path, "max_energy_range_uj").ok().and_then(|text| text.trim().parse().ok());
            let counter = Counter { path: path.join("energy_uj"), range };
            counter.read()?;
            counters.push(counter);
        }
        if counters.is_empty() {
            return Err(format!("no energy counters in {}", directory.display()));
        }
        Ok(Counters(counters))
    }

    /// Reads all counters, in microjoules; `None` if a counter is unreadable.
    pub fn now(&self) -> Option<Vec<u64>> {
        self.0.iter().map(|counter| counter.read().ok()).collect()
    }

    /// Returns the joules between two readings, less than one wrap apart; `None` if a counter wrapped and its range is unknown.
    pub fn joules(&self, before: &[u64], after: &[u64]) -> Option<f64> {
        let each = self.0.iter().zip(before).zip(after);
        let microjoules = each.map(|((counter, &before), &after)| match after.checked_sub(before) {
            Some(between) => Some(between as f64),
            None => Some(counter.range?.checked_sub(before)? as f64 + after as f64),
        });
        Some(microjoules.sum::<Option<f64>>()? / 1e6)
    }
}

/// Accumulates energy while it runs. Stops for good if a counter becomes unreadable.
pub struct Meter {
    counters: Option<Counters>,
    since: Option<Vec<u64>>,
    joules: f64,
}

impl Meter {
    /// Creates a stopped meter.
    pub fn new(counters: Option<Counters>) -> Meter {
        Meter { counters, since: None, joules: 0.0 }
    }

    /// Starts the meter.
    pub fn start(&mut self) {
        self.since = self.counters.as_ref().and_then(Counters::now);
        if self.since.is_none() {
            self.counters = None;
        }
    }

    /// Stops the meter and adds the energy since [`Meter::start`].
    pub fn stop(&mut self) {
        let (Some(counters), Some(since)) = (&self.counters, self.since.take()) else { return };
        match counters.now().and_then(|now| counters.joules(&since, &now)) {
            Some(joules) => self.joules += joules,
            None => self.counters = None,
        }
    }

    /// Returns the accumulated joules; `None` without counters.
    pub fn joules(&self) -> Option<f64> {
        self.counters.as_ref().map(|_| self.joules)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_are_summed_across_wraps_without_their_subdomains() {
        let root = std::env::temp_dir().join(format!("roofline-energy-{}", std::process::id()));
        let domain = |name: &str, label: &str, energy: u64| {
            fs::create_dir_all(root.join(name)).unwrap();
            fs::write(root.join(name).join("name"), format!("{label}\n")).unwrap();
            fs::write(root.join(name).join("max_energy_range_uj"), "1000000\n").unwrap();
            fs::write(root.join(name).join("energy_uj"), format!("{energy}\n")).unwrap();
        };
        assert_eq!(Counters::open(&root).err().unwrap(), format!("no energy counters in {}", root.display()));
        domain("intel-rapl:0", "package-0", 900_000);
        domain("intel-rapl:0:0", "core", 1);
        domain("intel-rapl:1", "package-1", 100_000);
        let counters = Counters::open(&root).unwrap();
        let before = counters.now().unwrap();
        assert_eq!(before.len(), 2);
        domain("intel-rapl:0", "package-0", 400_000);
        domain("intel-rapl:1", "package-1", 600_000);
        assert_eq!(counters.joules(&before, &counters.now().unwrap()), Some(1.0));
        fs::remove_file(root.join("intel-rapl:0/energy_uj")).unwrap();
        assert!(Counters::open(&root).err().unwrap().contains("energy_uj"));
        assert_eq!(counters.now(), None);
        fs::remove_dir_all(root).unwrap();
    }
    #[test]
    fn invalid_counters_are_errors() {
        let root = std::env::temp_dir().join(format!("roofline-energy-hostile-{}", std::process::id()));
        let package = root.join("intel-rapl:0");
        fs::create_dir_all(&package).unwrap();
        fs::write(package.join("name"), "package-0").unwrap();
        for wrong in ["", "\n", "-1", "1.5", "nan", "0x10", "99999999999999999999999", "\u{0}\u{ff}"] {
            fs::write(package.join("energy_uj"), wrong).unwrap();
            let error = Counters::open(&root).err().unwrap();
            assert!(error.ends_with("intel-rapl:0/energy_uj: expected a number"), "{wrong:?}: {error}");
        }
        // A directory instead of a file.
        fs::remove_file(package.join("energy_uj")).unwrap();
        fs::create_dir(package.join("energy_uj")).unwrap();
        assert!(Counters::open(&root).err().unwrap().contains("energy_uj: "));
        fs::remove_dir(package.join("energy_uj")).unwrap();
        fs::write(package.join("energy_uj"), "5").unwrap();
        // The energy across a wrap is unknown without a range.
        for range in ["", "garbage", "-7"] {
            fs::write(package.join("max_energy_range_uj"), range).unwrap();
            let counters = Counters::open(&root).unwrap();
            assert_eq!(counters.joules(&[1_000_000], &[3_000_000]), Some(2.0));
            assert_eq!(counters.joules(&[3_000_000], &[1_000_000]), None, "{range:?}");
        }
        fs::write(package.join("max_energy_range_uj"), "10").unwrap();
        let counters = Counters::open(&root).unwrap();
        assert_eq!(counters.joules(&[11], &[1]), None, "the counter exceeds its range");
        assert!(counters.joules(&[0], &[u64::MAX]).unwrap().is_finite());
        // Packages with an unreadable name are ignored.
        fs::write(package.join("name"), [0xff, 0xfe]).unwrap();
        assert!(Counters::open(&root).err().unwrap().starts_with("no energy counters in "));
        fs::remove_dir_all(root).unwrap();
    }
    #[test]
    fn meters_count_while_running_and_fail_with_their_counters() {
        let root = std::env::temp_dir().join(format!("roofline-meter-{}", std::process::id()));
        let package = root.join("intel-rapl:0");
        fs::create_dir_all(&package).unwrap();
        fs::write(package.join("name"), "package-0\n").unwrap();
        let count =
            |joules: u64| fs::write(package.join("energy_uj"), (joules * 1_000_000).to_string()).unwrap();
        count(1);
        let mut meter = Meter::new(Counters::open(&root).ok());
        for (at, expected) in [(3, 1.0), (10, 2.0)] {
            count(at);
            meter.start();
            count(at + 1);
            meter.stop();
            assert_eq!(meter.joules(), Some(expected));
        }
        meter.start();
        fs::remove_dir_all(root).unwrap();
        meter.stop();
        assert_eq!(meter.joules(), None);
        let mut none = Meter::new(None);
        none.start();
        none.stop();
        assert_eq!(none.joules(), None);
    }
}
