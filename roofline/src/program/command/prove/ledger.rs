//! The ledger: which verdict another tool reached, and for which meaning of the obligation. A verdict for another meaning
//! counts as none. Certificates are not in it, since they are found anew in every run.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use crate::program::output::file::Unfinished;
use crate::program::{About, Failure};
use roofline_machine::document;

const SCHEMA: &str = "roofline.ledger/1";

/// What was verified of the contracts that ship.
const SHIPPED: &str = include_str!("shipped.json");

/// Verdicts that were reached.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ledger {
    schema: String,
    entries: Vec<Recorded>,
}

/// One verdict.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recorded {
    contract: String,
    obligation: String,
    /// [Fingerprint](roofline_contracts::fingerprint::obligation) of the obligation's meaning.
    fingerprint: String,
    /// `smt` or `kani`.
    layer: String,
    /// What it came to.
    pub verdict: String,
    /// The tool and its version.
    tool: String,
    /// When, in seconds since 1970.
    time: u64,
}

/// What a ledger says of an obligation.
pub enum Known<'a> {
    /// A verdict for this very text.
    Current(&'a Recorded),
    /// A verdict for another text.
    Stale,
    /// Nothing.
    Absent,
}

impl Recorded {
    /// An entry of this moment: contract, obligation, fingerprint, layer, verdict and tool.
    pub fn now(texts: [&str; 6]) -> Self {
        let [contract, obligation, fingerprint, layer, verdict, tool] = texts.map(str::to_owned);
        let time = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        Recorded { contract, obligation, fingerprint, layer, verdict, tool, time }
    }
}

impl Ledger {
    /// The ledger of the contracts that ship.
    pub fn shipped() -> Ledger {
        serde_json::from_str(SHIPPED).expect("a test reads the same text")
    }

    /// The ledger in this file; an empty one if there is no such file.
    pub fn read(path: &Path) -> Result<Ledger, Failure> {
        let text = match document::read(path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Ok(Ledger { schema: SCHEMA.into(), entries: Vec::new() });
            }
            Err(error) => return Err(Failure(format!("{}: can't be read: {error}", path.display()))),
        };
        let ledger: Ledger =
            serde_json::from_str(&text).about(format_args!("{}: is not a ledger", path.display()))?;
        if ledger.schema != SCHEMA {
            let message = format!("{}: its schema is `{}`, not `{SCHEMA}`", path.display(), ledger.schema);
            return Err(Failure(message));
        }
        Ok(ledger)
    }

    /// Writes the ledger, whole or not at all, a line for each entry.
    pub fn write(&self, path: &Path) -> Result<(), Failure> {
        let mut text = format!("{{\n\"schema\": {},\n\"entries\": [", serde_json::to_string(&self.schema)?);
        for (index, entry) in self.entries.iter().enumerate() {
            text += if index == 0 { "\n" } else { ",\n" };
            text += &serde_json::to_string(entry)?;
        }
        Unfinished::open(path)?.finish(&(text + "\n]\n}\n"))
    }

    /// Adds an entry in place of an older one for the same obligation and layer; one that says the same stays.
    pub fn record(&mut self, entry: Recorded) {
        if self.entries.iter().any(|old| Recorded { time: old.time, ..entry.clone() } == *old) {
            return;
        }
        self.entries.retain(|old| {
            (&old.contract, &old.obligation, &old.layer) != (&entry.contract, &entry.obligation, &entry.layer)
        });
        self.entries.push(entry);
    }

    /// Forgets what was said of another text: `current` has the fingerprints of the obligations of a contract.
    pub fn forget_stale(&mut self, contract: &str, current: &BTreeSet<String>) {
        self.entries.retain(|entry| entry.contract != contract || current.contains(&entry.fingerprint));
    }

    /// What a layer has said of an obligation.
    pub fn known(&self, contract: &str, obligation: &str, layer: &str, fingerprint: &str) -> Known<'_> {
        let found = self.entries.iter().find(|entry| {
            (entry.contract.as_str(), entry.obligation.as_str(), entry.layer.as_str())
                == (contract, obligation, layer)
        });
        match found {
            Some(entry) if entry.fingerprint == fingerprint => Known::Current(entry),
            Some(_) => Known::Stale,
            None => Known::Absent,
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
