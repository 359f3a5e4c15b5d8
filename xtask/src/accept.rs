//! `cargo xtask accept`: updates all files derived from the contracts.

use std::process::Command;

use roofline_contracts::emit::kani::function_name;

use crate::contracts::{Shipped, shipped};
use crate::fingerprints::{self, Fingerprints};
use crate::ledger;
use crate::proofs::Page;
use crate::root;

/// The tests that compare derived files, and rewrite them if certain environment variables are set.
const SNAPSHOTS: [&[&str]; 5] = [
    &["-p", "roofline-contracts", "--test", "translation", "the_javascript_of_the_first_contract"],
    &["-p", "roofline-verify", "--test", "expansion"],
    EVIDENCE,
    &["-p", "roofline-machine", "--lib", "bench"],
    TRANSCRIPTS,
];

const TRANSCRIPTS: &[&str] = &["-p", "roofline", "--test", "cli", "--", "transcripts::"];
const EVIDENCE: &[&str] = &["-p", "roofline-predict", "--lib", "evidence::page"];

/// Updates the derived files, shows the difference in meaning, and lists the Kani harnesses to run.
pub fn run() -> Result<(), String> {
    let contracts = shipped()?;
    fingerprints::check_versions(&contracts, &fingerprints::committed()?)?;
    cargo(
        &[
            "run",
            "--quiet",
            "--locked",
            "-p",
            "roofline",
            "--",
            "contract",
            "diff",
            "--git",
            "HEAD",
            "contracts",
        ],
        &[],
    )
    .map_err(|_| "incompatible change of a contract, see above".to_owned())?;

    let page = update_proofs(&contracts)?;
    fingerprints::save(&fingerprints::current(&contracts))?;
    let mut failed = Vec::new();
    for test in SNAPSHOTS {
        let arguments = [&["test", "--quiet", "--locked", "--no-fail-fast"], test].concat();
        if cargo(&arguments, &[("INSTA_UPDATE", "always"), ("INSTA_FORCE_PASS", "1"), ("UPDATE_DOCS", "1")])
            .is_err()
        {
            failed.push(format!("cargo test {}", test.join(" ")));
        }
    }
    report(&page);
    match failed.as_slice() {
        [] => Ok(()),
        failed => Err(format!("tests that fail after the update: {}", failed.join("; "))),
    }
}

/// Rewrites the output of commands in the documentation and in the cases of the command line tests.
pub fn docs() -> Result<(), String> {
    update_docs(TRANSCRIPTS)?;
    evidence()
}

/// Rewrites docs/EVIDENCE.md and its chart.
pub fn evidence() -> Result<(), String> {
    update_docs(EVIDENCE)
}

fn update_docs(test: &[&str]) -> Result<(), String> {
    cargo(&[&["test", "--quiet", "--locked"], test].concat(), &[("UPDATE_DOCS", "1")])
}

fn cargo(arguments: &[&str], variables: &[(&str, &str)]) -> Result<(), String> {
    println!("cargo {}", arguments.join(" "));
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(arguments).envs(variables.iter().copied()).current_dir(root());
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("cargo {}: {status}", arguments.join(" "))),
        Err(error) => Err(format!("cargo: cannot be run: {error}")),
    }
}

/// Drops stale Kani verdicts, whose fingerprints changed, from the ledger and the table.
fn update_proofs(contracts: &[Shipped]) -> Result<Page, String> {
    let verified = ledger::drop_stale(contracts)?;
    let (before, after) = (fingerprints::recorded()?, fingerprints::current(contracts));
    let mut page = Page::read()?;
    for shipped in contracts {
        let Some(module) = &shipped.module else { continue };
        let harnesses = shipped.harnesses();
        let has_verdict = |harness: &str| {
            let matches = |id: &str| function_name(id) == harness;
            match shipped.contract.obligations.iter().find(|obligation| matches(&obligation.id)) {
                Some(obligation) => verified.contains(&(shipped.id().to_owned(), obligation.id.clone())),
                None => same(&before, &after, &format!("{} {harness}", shipped.id())),
            }
        };
        let listed: Vec<String> = page.harnesses().map(str::to_owned).collect();
        for harness in &listed {
            let graph = harness
                .strip_prefix("translation::proofs::")
                .and_then(|name| name.strip_prefix(module.as_str())?.strip_prefix('_'));
            if let Some(name) = harness.strip_prefix(&format!("{module}::proofs::"))
                && !harnesses.contains(name)
            {
                page.remove(harness);
            } else if graph.is_some() && !same(&before, &after, &fingerprints::version(shipped)) {
                page.reset(harness);
            }
        }
        for name in &harnesses {
            let harness = format!("{module}::proofs::{name}");
            if !listed.contains(&harness) || !has_verdict(name) {
                page.reset(&harness);
            }
        }
    }
    page.save()?;
    Ok(page)
}

fn same(before: &Fingerprints, after: &Fingerprints, name: &str) -> bool {
    before.get(name) == after.get(name)
}

fn report(page: &Page) {
    let not_run = page.not_run();
    if not_run.is_empty() {
        println!("\nall Kani verdicts are current");
        return;
    }
    let mut modules: Vec<&str> = not_run.iter().filter_map(|harness| harness.split("::").next()).collect();
    modules.dedup();
    println!("\n{} Kani harnesses must run:", not_run.len());
    for harness in not_run {
        println!("    {harness}");
    }
    println!("run `.ci/kani ledger {}`", modules.join(" "));
}
