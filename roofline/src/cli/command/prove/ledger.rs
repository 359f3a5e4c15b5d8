//! The ledger of verdicts of other tools. Its key is the fingerprint of an obligation, so that verdicts on an earlier meaning are
//! stale. Certificates are not recorded, because every run searches for them.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use crate::cli::output::file::OutputFile;
use crate::cli::{About, Failure};
use roofline_machine::storage;

const SCHEMA: &str = "roofline.ledger/1";

/// Verdicts on the shipped contracts.
const SHIPPED: &str = include_str!("shipped.json");

/// Recorded verdicts.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ledger {
    schema: String,
    entries: Vec<Recorded>,
}

/// A recorded verdict.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recorded {
    contract: String,
    obligation: String,
    /// [Fingerprint](roofline_contracts::fingerprint::obligation) of the obligation's meaning.
    fingerprint: String,
    /// `smt` or `kani`.
    layer: String,
    /// Verdict of the tool.
    pub verdict: String,
    /// The tool and its version.
    tool: String,
    /// Time of the run, in seconds since 1970.
    time: u64,
}

/// The entry of a ledger for an obligation.
pub enum Lookup<'a> {
    /// A verdict on the current meaning.
    Current(&'a Recorded),
    /// A verdict on an earlier meaning.
    Stale,
    Absent,
}

impl Recorded {
    /// Creates an entry with the current time from contract, obligation, fingerprint, layer, verdict and tool.
    pub fn now(texts: [&str; 6]) -> Self {
        let [contract, obligation, fingerprint, layer, verdict, tool] = texts.map(str::to_owned);
        let time = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        Recorded { contract, obligation, fingerprint, layer, verdict, tool, time }
    }
}

impl Ledger {
    /// Returns the ledger of the shipped contracts.
    pub fn shipped() -> Ledger {
        serde_json::from_str(SHIPPED).expect("a test reads the same text")
    }

    /// Reads a ledger; a missing file is an empty ledger.
    pub fn read(path: &Path) -> Result<Ledger, Failure> {
        let text = match storage::read(path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Ok(Ledger { schema: SCHEMA.into(), entries: Vec::new() });
            }
            Err(error) => return Err(Failure(format!("{}: cannot read: {error}", path.display()))),
        };
        let ledger: Ledger =
            serde_json::from_str(&text).about(format_args!("{}: invalid ledger", path.display()))?;
        if ledger.schema != SCHEMA {
            let message =
                format!("{}: unknown schema `{}`; expected `{SCHEMA}`", path.display(), ledger.schema);
            return Err(Failure(message));
        }
        Ok(ledger)
    }

    /// Writes the ledger atomically, one line per entry.
    pub fn write(&self, path: &Path) -> Result<(), Failure> {
        let mut text = format!("{{\n\"schema\": {},\n\"entries\": [", serde_json::to_string(&self.schema)?);
        for (index, entry) in self.entries.iter().enumerate() {
            text += if index == 0 { "\n" } else { ",\n" };
            text += &serde_json::to_string(entry)?;
        }
        OutputFile::open(path)?.finish(&(text + "\n]\n}\n"))
    }

    /// Replaces the entry of the same obligation and layer, unless the verdict is unchanged.
    pub fn record(&mut self, entry: Recorded) {
        if self.entries.iter().any(|old| Recorded { time: old.time, ..entry.clone() } == *old) {
            return;
        }
        self.entries.retain(|old| {
            (&old.contract, &old.obligation, &old.layer) != (&entry.contract, &entry.obligation, &entry.layer)
        });
        self.entries.push(entry);
    }

    /// Removes entries of a contract whose fingerprint is not in `current`.
    pub fn remove_stale(&mut self, contract: &str, current: &BTreeSet<String>) {
        self.entries.retain(|entry| entry.contract != contract || current.contains(&entry.fingerprint));
    }

    /// Looks up the verdict of a layer on an obligation.
    pub fn lookup(&self, contract: &str, obligation: &str, layer: &str, fingerprint: &str) -> Lookup<'_> {
        let found = self.entries.iter().find(|entry| {
            (entry.contract.as_str(), entry.obligation.as_str(), entry.layer.as_str())
                == (contract, obligation, layer)
        });
        match found {
            Some(entry) if entry.fingerprint == fingerprint => Lookup::Current(entry),
            Some(_) => Lookup::Stale,
            None => Lookup::Absent,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shipped_ledger_is_a_run_of_kani() {
        let ledger = Ledger::shipped();
        assert_eq!(ledger.schema, SCHEMA);
        for entry in ledger.entries {
            assert_eq!((entry.layer.as_str(), entry.verdict.as_str()), ("kani", "verified"), "{entry:?}");
            assert!(entry.tool.starts_with("kani ") && entry.time > 0, "{entry:?}");
        }
    }
}
