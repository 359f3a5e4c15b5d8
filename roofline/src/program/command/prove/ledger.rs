//! The ledger: which verdict was reached, by what, and for which text. A verdict for another text counts as none.

use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use crate::document;
use crate::program::Failure;
use crate::program::output::file::Unfinished;

const SCHEMA: &str = "roofline.ledger/1";

/// Verdicts that were reached.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ledger {
    schema: String,
    entries: Vec<Recorded>,
}

/// One verdict.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recorded {
    contract: String,
    obligation: String,
    /// SHA-256 of the contract, those it depends on, and the claim.
    fingerprint: String,
    /// `structural`, `falsifier`, `smt` or `kani`.
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
    /// An entry of this moment.
    pub fn now(
        contract: &str,
        obligation: &str,
        fingerprint: &str,
        layer: &str,
        verdict: &str,
        tool: &str,
    ) -> Self {
        let [contract, obligation, fingerprint, layer, verdict, tool] =
            [contract, obligation, fingerprint, layer, verdict, tool].map(str::to_owned);
        let time = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        Recorded { contract, obligation, fingerprint, layer, verdict, tool, time }
    }
}

impl Ledger {
    /// The ledger in this file; an empty one if there is no such file.
    pub fn read(path: &Path) -> Result<Ledger, Failure> {
        let text = match document::read(path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Ok(Ledger { schema: SCHEMA.into(), entries: Vec::new() });
            }
            Err(error) => return Err(Failure(format!("{}: can't be read: {error}", path.display()))),
        };
        let ledger: Ledger = serde_json::from_str(&text)
            .map_err(|error| Failure(format!("{}: is not a ledger: {error}", path.display())))?;
        if ledger.schema != SCHEMA {
            let message = format!("{}: its schema is `{}`, not `{SCHEMA}`", path.display(), ledger.schema);
            return Err(Failure(message));
        }
        Ok(ledger)
    }

    /// Writes the ledger, whole or not at all.
    pub fn write(&self, path: &Path) -> Result<(), Failure> {
        Unfinished::open(path)?.finish(&(serde_json::to_string_pretty(self)? + "\n"))
    }

    /// Adds an entry in place of an older one for the same obligation and layer.
    pub fn record(&mut self, entry: Recorded) {
        // The structural prover and the falsifier are one method: the last one to speak counts.
        let pass =
            |layer: &str| if layer == "falsifier" { "structural".to_owned() } else { layer.to_owned() };
        self.entries.retain(|old| {
            (&old.contract, &old.obligation, pass(&old.layer))
                != (&entry.contract, &entry.obligation, pass(&entry.layer))
        });
        self.entries.push(entry);
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
