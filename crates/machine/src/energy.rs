//! Energy as the processor counts it (RAPL), where Linux lets everybody read the counters; many systems keep them to the administrator.

use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// What the packages took while all threads ran.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
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
pub struct Counters(Vec<Counter>);

struct Counter {
    path: PathBuf,
    /// Where it starts at zero again, in microjoules; none where the system does not tell.
    range: Option<u64>,
}

impl Counter {
    fn read(&self) -> Result<u64, String> {
        let path = self.path.display();
        let text = fs::read_to_string(&self.path).map_err(|error| format!("{path}: {error}"))?;
        text.trim().parse().map_err(|_| format!("{path} holds no number"))
    }
}

impl Counters {
    /// Those of this system.
    pub fn here() -> Result<Counters, String> {
        Counters::open(Path::new("/sys/class/powercap"))
    }

    /// Those of the packages below a directory, or why there are none.
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
            return Err(format!("no counters of packages in {}", directory.display()));
        }
        Ok(Counters(counters))
    }

    /// What each counts now, in microjoules.
    pub fn now(&self) -> Option<Vec<u64>> {
        self.0.iter().map(|counter| counter.read().ok()).collect()
    }

    /// Joules between two readings less than one round of a counter apart; none where one went back and nobody tells from where.
    pub fn joules(&self, before: &[u64], after: &[u64]) -> Option<f64> {
        let each = self.0.iter().zip(before).zip(after);
        let microjoules = each.map(|((counter, &before), &after)| match after.checked_sub(before) {
            Some(between) => Some(between as f64),
            None => Some(counter.range?.checked_sub(before)? as f64 + after as f64),
        });
        Some(microjoules.sum::<Option<f64>>()? / 1e6)
    }
}

/// Adds up what is taken while it runs; nothing more once a counter stops answering.
pub struct Meter {
    counters: Option<Counters>,
    since: Option<Vec<u64>>,
    joules: f64,
}

impl Meter {
    /// That of these counters, if there are any; it stands still.
    pub fn new(counters: Option<Counters>) -> Meter {
        Meter { counters, since: None, joules: 0.0 }
    }

    /// Runs from now on.
    pub fn start(&mut self) {
        self.since = self.counters.as_ref().and_then(Counters::now);
        if self.since.is_none() {
            self.counters = None;
        }
    }

    /// Stands still.
    pub fn stop(&mut self) {
        let (Some(counters), Some(since)) = (&self.counters, self.since.take()) else { return };
        match counters.now().and_then(|now| counters.joules(&since, &now)) {
            Some(joules) => self.joules += joules,
            None => self.counters = None,
        }
    }

    /// Joules so far; none without counters.
    pub fn joules(&self) -> Option<f64> {
        self.counters.as_ref().map(|_| self.joules)
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
        assert_eq!(counters.joules(&before, &counters.now().unwrap()), Some(1.0));
        fs::remove_file(root.join("intel-rapl:0/energy_uj")).unwrap();
        assert!(Counters::open(&root).err().unwrap().contains("energy_uj"));
        assert_eq!(counters.now(), None);
        fs::remove_dir_all(root).unwrap();
    }
    #[test]
    fn counters_with_anything_in_them_are_a_reason_and_never_a_figure() {
        let root = std::env::temp_dir().join(format!("roofline-energy-hostile-{}", std::process::id()));
        let package = root.join("intel-rapl:0");
        fs::create_dir_all(&package).unwrap();
        fs::write(package.join("name"), "package-0").unwrap();
        for wrong in ["", "\n", "-1", "1.5", "nan", "0x10", "99999999999999999999999", "\u{0}\u{ff}"] {
            fs::write(package.join("energy_uj"), wrong).unwrap();
            let told = Counters::open(&root).err().unwrap();
            assert!(told.ends_with("intel-rapl:0/energy_uj holds no number"), "{wrong:?}: {told}");
        }
        // A directory can't be read as a file, whoever asks.
        fs::remove_file(package.join("energy_uj")).unwrap();
        fs::create_dir(package.join("energy_uj")).unwrap();
        assert!(Counters::open(&root).err().unwrap().contains("energy_uj: "));
        fs::remove_dir(package.join("energy_uj")).unwrap();
        fs::write(package.join("energy_uj"), "5").unwrap();
        // Without a range nobody can say how far a counter went that went back.
        for range in ["", "garbage", "-7"] {
            fs::write(package.join("max_energy_range_uj"), range).unwrap();
            let counters = Counters::open(&root).unwrap();
            assert_eq!(counters.joules(&[1_000_000], &[3_000_000]), Some(2.0));
            assert_eq!(counters.joules(&[3_000_000], &[1_000_000]), None, "{range:?}");
        }
        fs::write(package.join("max_energy_range_uj"), "10").unwrap();
        let counters = Counters::open(&root).unwrap();
        assert_eq!(counters.joules(&[11], &[1]), None, "it counted further than it can");
        assert!(counters.joules(&[0], &[u64::MAX]).unwrap().is_finite());
        // A name that can't be read, or is another's, is no package.
        fs::write(package.join("name"), [0xff, 0xfe]).unwrap();
        assert!(Counters::open(&root).err().unwrap().starts_with("no counters of packages in "));
        fs::remove_dir_all(root).unwrap();
    }
    #[test]
    fn a_meter_adds_up_only_while_it_runs_and_forgets_all_when_a_counter_stops() {
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
