//! The ledger of the shipped contracts: Kani verdicts for obligations, by fingerprint.

use std::collections::BTreeSet;

use roofline_contracts::fingerprint;
use serde_json::Value;

use crate::contracts::Shipped;
use crate::{read, root, write};

const FILE: &str = "roofline/src/cli/command/prove/shipped.json";

/// Drops stale verdicts and returns the pairs of contract and obligation with a current one.
pub fn drop_stale(contracts: &[Shipped]) -> Result<BTreeSet<(String, String)>, String> {
    let path = root().join(FILE);
    let text = read(&path)?;
    let ledger: Value =
        serde_json::from_str(&text).map_err(|error| format!("{FILE}: not a ledger: {error}"))?;
    let entries = ledger["entries"].as_array().map(Vec::as_slice).unwrap_or_default();
    let current: BTreeSet<(&str, &str, String)> = (contracts.iter())
        .flat_map(|shipped| {
            (shipped.contract.obligations.iter()).map(|obligation| {
                (shipped.id(), obligation.id.as_str(), fingerprint::obligation(&shipped.contract, obligation))
            })
        })
        .collect();
    let word = |entry: &Value, key: &str| entry[key].as_str().unwrap_or_default().to_owned();
    let is_current = |entry: &&Value| {
        let [contract, obligation] = ["contract", "obligation"].map(|key| word(entry, key));
        current.contains(&(contract.as_str(), obligation.as_str(), word(entry, "fingerprint")))
    };
    let kept: Vec<&Value> = entries.iter().filter(is_current).collect();
    if kept.len() < entries.len() {
        // In the format of the program, one line per entry.
        let lines: Vec<String> = kept.iter().map(|entry| format!("\n{entry}")).collect();
        write(
            &path,
            &format!("{{\n\"schema\": {},\n\"entries\": [{}\n]\n}}\n", ledger["schema"], lines.join(",")),
        )?;
        println!("{FILE}: {} of {} verdicts dropped", entries.len() - kept.len(), entries.len());
    }
    Ok(kept.iter().map(|entry| (word(entry, "contract"), word(entry, "obligation"))).collect())
}
