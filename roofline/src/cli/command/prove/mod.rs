//! `roofline contract prove`: verdicts on obligations, by layer.

mod certificate;
mod kani_result;
mod ledger;
mod solver;

use std::path::Path;

use roofline_contracts::authoring::mutant::{Fate, mutants};
use roofline_contracts::contract::{Contract, Informal, Obligation, Verdict};
use roofline_contracts::emit;
use roofline_contracts::fingerprint;
use roofline_contracts::prove::property::{Property, property};
use roofline_contracts::prove::{self, Counterexample, Proof};
use roofline_contracts::range::{Range, ranges};
use schemars::JsonSchema;
use serde::Serialize;

use crate::chart::terminal::Canvas;
use crate::cli::command::prove::certificate::{Certified, Coq};
use crate::cli::command::prove::kani_result::{Harness, KaniRun};
use crate::cli::command::prove::ledger::{Ledger, Lookup, Recorded};
use crate::cli::command::prove::solver::{Answer, Solver};
use crate::cli::output;
use crate::cli::output::file::{OutputFile, create_directory};
use crate::cli::output::terminal::Progress;
use crate::cli::{Exit, Failure, args, contract};
use crate::report::{Report, Schema, Table};

/// Verdicts on the obligations of several contracts.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Proven {
    /// Schema of this document.
    schema: Schema<Self>,
    /// The contracts, in the order of the arguments.
    contracts: Vec<ContractResult>,
    #[serde(skip)]
    trace: bool,
}

/// A contract with the verdicts on its obligations.
#[derive(Debug, Serialize, JsonSchema)]
struct ContractResult {
    /// Path, or name of a built-in contract.
    file: String,
    /// Name of the contract.
    id: String,
    /// Version of the contract.
    version: String,
    /// SHA-256 of the file, in hexadecimal.
    sha256: String,
    /// Results by obligation.
    obligations: Vec<ObligationResult>,
    /// Statements in prose, which are not checked.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    informal: Vec<InformalClaim>,
    /// Result of mutation testing, with --mutants.
    #[serde(skip_serializing_if = "Option::is_none")]
    mutants: Option<Mutants>,
}

/// A statement in prose, which is not checked.
#[derive(Debug, Serialize, JsonSchema)]
struct InformalClaim {
    /// Subject of the statement.
    about: String,
    /// Text of the statement.
    text: String,
    /// Reason why it is not a formula.
    why: String,
    /// Always `informal`.
    verdict: &'static str,
}

impl InformalClaim {
    fn new(informal: &Informal) -> InformalClaim {
        let Informal { about, text, why } = informal.clone();
        InformalClaim { about, text, why, verdict: Verdict::Informal.word() }
    }
}

/// The verdict on an obligation.
#[derive(Debug, Serialize, JsonSchema)]
struct ObligationResult {
    /// Name of the obligation.
    id: String,
    /// Claim as a formula.
    formal: String,
    /// proven, refuted, vacuous, tested or unknown.
    verdict: &'static str,
    /// Method that decided the verdict.
    method: &'static str,
    /// Steps of the proof, or the goal that could not be proven.
    trace: Vec<String>,
    /// Inputs that refute it.
    #[serde(skip_serializing_if = "Option::is_none")]
    counterexample: Option<Inputs>,
    /// Failed Kani harness.
    #[serde(skip_serializing_if = "Option::is_none")]
    kani_failure: Option<KaniFailure>,
    /// Consequence of a violation, as the contract states it.
    #[serde(skip_serializing_if = "String::is_empty")]
    if_fails: String,
    /// Verdict of each layer.
    layers: Layers,
}

/// A failed Kani harness.
#[derive(Debug, Serialize, JsonSchema)]
struct KaniFailure {
    /// The harness.
    harness: String,
    /// Failed checks.
    checks: Vec<String>,
}

/// Verdict of each layer on an obligation.
#[derive(Debug, Serialize, JsonSchema)]
struct Layers {
    /// Certificate checker.
    checker: &'static str,
    /// Coq, for the theorem exported from the certificate.
    coq: &'static str,
    /// Counterexample search.
    falsifier: String,
    /// The SMT solver.
    smt: String,
    /// Kani.
    kani: String,
}

/// Inputs that refute an obligation.
#[derive(Debug, Serialize, JsonSchema)]
struct Inputs {
    /// The value of each quantity.
    inputs: Vec<Input>,
    /// Second value of the varied quantity, for monotonicity.
    #[serde(skip_serializing_if = "Option::is_none")]
    then: Option<Input>,
    /// Values of the equations.
    values: Vec<Input>,
    /// Test that reproduces the violation next to the generated module.
    test: String,
    #[serde(skip)]
    text: String,
}

/// A value as text, because JSON has no infinities, and as bits.
#[derive(Debug, Serialize, JsonSchema)]
struct Input {
    /// Quantity or expression.
    name: String,
    /// Value in decimal.
    value: String,
    /// IEEE-754 bits in hexadecimal.
    bits: String,
}

impl Input {
    fn new(name: &str, value: f64) -> Input {
        let bits = format!("0x{:016x}", value.to_bits());
        Input { name: name.to_owned(), value: format!("{value:?}"), bits }
    }
}

/// Result of mutation testing.
#[derive(Debug, Default, Serialize, JsonSchema)]
struct Mutants {
    /// Number of mutants.
    tried: usize,
    /// Mutants that are not valid contracts.
    rejected: usize,
    /// Mutants that violate an obligation.
    killed: usize,
    /// Mutants that compute the same values.
    equivalent: usize,
    /// Mutants that no obligation detects.
    survived: Vec<Survivor>,
}

/// A mutant that no obligation detects.
#[derive(Debug, Serialize, JsonSchema)]
struct Survivor {
    /// Mutated element of the contract.
    place: String,
    /// Change in its formula.
    change: String,
}

/// Proves the contracts. An invalid contract is bad input; an unproven obligation fails the run.
pub fn run(args: &args::Prove) -> Result<Exit, Failure> {
    let kani = args.kani_json.as_deref();
    let kani = kani.map(|path| KaniRun::read(path, args.kani_log.as_deref())).transpose()?;
    let shipped = Ledger::shipped();
    let mut ledger = args.ledger.as_deref().map(Ledger::read).transpose()?;
    let solver = Solver::find();
    if let Some(directory) = &args.smt {
        create_directory(directory)?;
        if solver.is_none() {
            output::log(&format!("SMT-LIB: not run: none of {} is on the PATH", Solver::NAMES.join(", ")));
        }
    }
    if let Some(directory) = &args.certificates {
        create_directory(directory)?;
    }
    let coq = args.coq.as_deref().map(Coq::new).transpose()?;
    let mut failed = false;
    let mut contracts = Vec::new();
    let progress = Progress::with_steps(args.contracts.len());
    for name in &args.contracts {
        progress.step(&format!("proving {name}"));
        let (contract, _) = contract::checked(name)?;
        let certified = Certified::new(&contract, args.check_certificates.as_deref())?;
        for refusal in certified.refusals() {
            output::log(&refusal);
        }
        if let Some(directory) = &args.certificates {
            certified.write(&contract, directory)?;
        }
        let theorems = match &coq {
            Some(coq) => certified.theorems(&contract, coq)?,
            None => None,
        };
        let session = Session {
            certified: &certified,
            theorems,
            contract: &contract,
            ranges: ranges(&contract),
            smt: args.smt.as_deref(),
            solver: solver.as_ref(),
            kani: kani.as_ref(),
            shipped: &shipped,
        };
        if let (Some(ledger), Some(_)) = (&mut ledger, &kani) {
            // Verdicts on an earlier text of the contract are superseded by this run.
            let current =
                contract.obligations.iter().map(|obligation| fingerprint::obligation(&contract, obligation));
            ledger.remove_stale(&contract.metadata.id, &current.collect());
        }
        let mut obligations = Vec::new();
        for (position, (obligation, proof)) in
            contract.obligations.iter().zip(certified.judged(&contract)).enumerate()
        {
            let (result, fine) = session.obligation(position, obligation, &proof, &mut ledger)?;
            failed |= !fine;
            obligations.push(result);
        }
        let mutants = args.mutants.then(|| run_mutants(&contract));
        failed |= mutants.as_ref().is_some_and(|mutants| !mutants.survived.is_empty());
        contracts.push(ContractResult {
            file: name.clone(),
            id: contract.metadata.id.clone(),
            version: contract.metadata.version.to_string(),
            sha256: contract.source.sha256.clone(),
            obligations,
            informal: contract.informal.iter().map(InformalClaim::new).collect(),
            mutants,
        });
    }
    if let (Some(ledger), Some(path)) = (&ledger, &args.ledger) {
        ledger.write(path)?;
    }
    drop(progress);
    output::print(&Proven { schema: Schema::new(), contracts, trace: args.trace }, args.format)?;
    Ok(if failed { Exit::Failed } else { Exit::Fine })
}

struct Session<'a> {
    certified: &'a Certified,
    /// Verdict of Coq, if it ran.
    theorems: Option<bool>,
    contract: &'a Contract,
    ranges: Vec<Range>,
    smt: Option<&'a Path>,
    solver: Option<&'a Solver>,
    kani: Option<&'a KaniRun>,
    shipped: &'a Ledger,
}

impl Session<'_> {
    /// Returns the result and `true` if every layer accepts it.
    fn obligation(
        &self,
        position: usize,
        obligation: &Obligation,
        proof: &Proof,
        ledger: &mut Option<Ledger>,
    ) -> Result<(ObligationResult, bool), Failure> {
        let (smt, smt_fine) = self.smt(obligation)?;
        let harness = self.kani.and_then(|run| run.result(&self.contract.metadata.id, &obligation.id));
        let property = property(self.contract, &self.ranges, obligation);
        if let Some(ledger) = ledger {
            self.record(obligation, smt, harness, ledger);
        }
        let (kani, kani_fine) = self.kani(obligation, harness, ledger.as_ref());
        let (checker, accepted) = self.certified.verdict(position, &obligation.id);
        let coq = match (self.theorems, checker) {
            (None, _) => "not run",
            (_, "no certificate") => "no theorem",
            (Some(true), _) => "proven",
            (Some(false), _) => "refused",
        };
        let refuted = harness.filter(|harness| harness.verdict == Verdict::Refuted);
        let counterexample = match (&proof.counterexample, refuted, &property) {
            (Some(found), ..) => Some(self.inputs(obligation, found)),
            (None, Some(harness), Ok(property)) => self.played_back(obligation, property, harness),
            _ => None,
        };
        let without = if property.is_ok() { "not run" } else { "no harness" };
        let layers = Layers {
            checker,
            coq,
            falsifier: match (proof.method, proof.verdict) {
                ("falsifier", Verdict::Refuted) => "refuted".into(),
                ("falsifier", _) => format!("{} points", proof.points),
                _ => "not needed".into(),
            },
            smt: smt.map_or("not run", Answer::name).to_owned(),
            kani: kani.unwrap_or_else(|| without.to_owned()),
        };
        let result = ObligationResult {
            id: obligation.id.clone(),
            formal: obligation.formula.to_string(),
            verdict: proof.verdict.word(),
            method: proof.method,
            trace: self.certified.trace(self.contract, proof),
            counterexample,
            kani_failure: refuted
                .map(|harness| KaniFailure { harness: harness.path.clone(), checks: harness.failed.clone() }),
            if_fails: obligation.if_fails.clone(),
            layers,
        };
        let coq_fine = coq != "refused";
        Ok((result, proof.verdict.acceptable() && accepted && coq_fine && smt_fine && kani_fine))
    }

    /// Records the verdicts of the solver and of Kani in the ledger.
    fn record(
        &self,
        obligation: &Obligation,
        smt: Option<Answer>,
        harness: Option<&Harness>,
        ledger: &mut Ledger,
    ) {
        let fingerprint = fingerprint::obligation(self.contract, obligation);
        let mut record = |layer: &str, verdict: &str, tool: &str| {
            let names =
                [&self.contract.metadata.id, &obligation.id, fingerprint.as_str(), layer, verdict, tool];
            ledger.record(Recorded::now(names));
        };
        if let (Some(solver), Some(answer @ (Answer::Agrees | Answer::Disagrees))) = (self.solver, smt) {
            record("smt", answer.name(), &solver.version);
        }
        if let (Some(run), Some(harness)) = (self.kani, harness) {
            record("kani", kani_result::word(harness.verdict), &run.tool);
        }
    }

    /// Returns the verdict of Kani and `true` if it is acceptable. An earlier verdict counts while its fingerprint is current.
    fn kani(
        &self,
        obligation: &Obligation,
        harness: Option<&Harness>,
        ledger: Option<&Ledger>,
    ) -> (Option<String>, bool) {
        if let Some(harness) = harness {
            let fine = harness.verdict == Verdict::Proven;
            return (Some(kani_result::word(harness.verdict).to_owned()), fine);
        }
        let fingerprint = fingerprint::obligation(self.contract, obligation);
        let found = ledger.unwrap_or(self.shipped).lookup(
            &self.contract.metadata.id,
            &obligation.id,
            "kani",
            &fingerprint,
        );
        match found {
            Lookup::Current(entry) => {
                let fine = ledger.is_none() || entry.verdict == kani_result::word(Verdict::Proven);
                (Some(entry.verdict.clone()), fine)
            }
            Lookup::Stale if ledger.is_some() => (Some("not run (stale)".into()), false),
            Lookup::Stale | Lookup::Absent => (None, true),
        }
    }

    /// Returns the inputs for which Kani refuted the property, or `None` without the output of the run.
    fn played_back(&self, obligation: &Obligation, property: &Property, harness: &Harness) -> Option<Inputs> {
        let bytes = self.kani?.playback(harness)?;
        let values = emit::kani::playback(property, bytes)?;
        let test = emit::kani::playback_test(self.contract, obligation, property, &values);
        let mut test = output::rust::source(&test);
        let inputs: Vec<Input> =
            property.values.iter().zip(&values).map(|(value, at)| Input::new(&value.name, *at)).collect();
        for (input, value) in inputs.iter().zip(&values) {
            let line = format!("let {} = f64::from_bits({});", input.name, value.to_bits());
            let shown = format!("let {} = f64::from_bits({}); // {}", input.name, input.bits, input.value);
            test = test.replace(&line, &shown);
        }
        let lines = inputs.iter().map(|input| format!("{} = {} ({})", input.name, input.value, input.bits));
        let text = lines.collect::<Vec<_>>().join("\n");
        Some(Inputs { inputs, then: None, values: Vec::new(), test, text })
    }

    fn inputs(&self, obligation: &Obligation, found: &Counterexample) -> Inputs {
        let then =
            found.other.map(|(quantity, value)| Input::new(&self.contract.quantities[quantity].name, value));
        let mut values: Vec<Input> =
            found.values.iter().map(|(text, value, _)| Input::new(text, *value)).collect();
        for (text, _, later) in &found.values {
            values.extend(later.map(|value| Input::new(&format!("{text}, then"), value)));
        }
        Inputs {
            inputs: found.inputs.iter().map(|input| Input::new(&input.name, input.value)).collect(),
            then,
            values,
            test: found.test(self.contract, obligation),
            text: found.to_string(),
        }
    }

    /// Returns the answer of the solver and `true` unless it disagrees.
    fn smt(&self, obligation: &Obligation) -> Result<(Option<Answer>, bool), Failure> {
        let Some(directory) = self.smt else { return Ok((None, true)) };
        let Ok(scripts) = prove::smt::scripts(self.contract, &self.ranges, obligation) else {
            return Ok((None, true));
        };
        let mut answer = None;
        for script in scripts {
            let form = if script.weaker { "lemmas" } else { "exact" };
            let file = directory.join(format!("{}.{}.{form}.smt2", self.contract.metadata.id, obligation.id));
            OutputFile::open(&file)?.finish(&script.text)?;
            if let Some(solver) = self.solver
                && answer != Some(Answer::Agrees)
            {
                answer = Some(solver.run(&file, script.weaker)?);
            }
        }
        Ok((answer, answer != Some(Answer::Disagrees)))
    }
}

fn run_mutants(contract: &Contract) -> Mutants {
    let mut result = Mutants::default();
    for mutant in mutants(contract) {
        result.tried += 1;
        match mutant.run(contract) {
            Fate::Rejected => result.rejected += 1,
            Fate::Killed(_) => result.killed += 1,
            Fate::Equivalent => result.equivalent += 1,
            Fate::Survived => {
                result.survived.push(Survivor { place: mutant.place.clone(), change: mutant.change.clone() });
            }
        }
    }
    result
}

impl Report for Proven {
    const SCHEMA: &'static str = "roofline.prove/1";
    const SOURCE: bool = true;

    fn text(&self, canvas: &Canvas) -> String {
        let mut out = String::new();
        for contract in &self.contracts {
            let table = table([contract]);
            if !table.rows.is_empty() {
                out += &table.render_within(canvas, &["falsifier", "smt", "coq", "contract"]);
            }
            for obligation in &contract.obligations {
                if let Some(failure) = &obligation.kani_failure {
                    out += &format!("\n{}: refuted by Kani, in {}\n", obligation.id, failure.harness);
                    out += &indented(&failure.checks.join("\n"));
                    if obligation.counterexample.is_none() {
                        out += &format!(
                            "    for the inputs, save the output of this command and pass it with --kani-log:\n    \
                             cargo kani --harness {} --exact -Z concrete-playback --concrete-playback=print\n",
                            failure.harness
                        );
                    }
                }
                if let Some(found) = &obligation.counterexample {
                    out += &format!("\n{}: refuted: {}\n", obligation.id, obligation.formal);
                    out += &indented(&found.text);
                    if !obligation.if_fails.is_empty() {
                        out += &format!("    consequence: {}\n", obligation.if_fails);
                    }
                    out += &format!("\n{}", indented(&found.test));
                } else if self.trace {
                    out += &format!("\n{}: {}: {}\n", obligation.id, obligation.verdict, obligation.formal);
                    out += &indented(&obligation.trace.join("\n"));
                }
            }
            let count = |word: &str| contract.obligations.iter().filter(|o| o.verdict == word).count();
            let total = contract.obligations.len();
            let words =
                [Verdict::Proven, Verdict::Tested, Verdict::Vacuous, Verdict::Refuted, Verdict::Unknown]
                    .map(Verdict::word);
            let counts: Vec<String> = words
                .iter()
                .filter(|word| count(word) > 0)
                .map(|word| format!("{} {word}", count(word)))
                .collect();
            out += &match total {
                0 => format!("\n{}: no obligations\n", contract.id),
                1 => format!("\n{}: 1 obligation: {}\n", contract.id, counts.join(", ")),
                _ => format!("\n{}: {total} obligations: {}\n", contract.id, counts.join(", ")),
            };
            if !contract.informal.is_empty() {
                out += &format!("{} informal statements (not checked)\n", contract.informal.len());
            }
            if let Some(mutants) = &contract.mutants {
                out += &format!(
                    "{} mutants: {} invalid, {} killed by an obligation, {} equivalent, {} survived\n",
                    mutants.tried,
                    mutants.rejected,
                    mutants.killed,
                    mutants.equivalent,
                    mutants.survived.len()
                );
                for survivor in &mutants.survived {
                    out += &format!("    {}: {}\n", survivor.place, survivor.change);
                }
            }
            out += "\n";
        }
        out.trim_end().to_owned() + "\n"
    }

    fn tables(&self) -> Vec<Table> {
        vec![table(&self.contracts)]
    }
}

/// One row per obligation.
fn table<'a>(contracts: impl IntoIterator<Item = &'a ContractResult>) -> Table {
    let headings = ["contract", "obligation", "verdict", "checker", "coq", "falsifier", "smt", "kani"];
    let rows = contracts.into_iter().flat_map(|contract| {
        let obligations = contract.obligations.iter().map(|obligation| {
            let layers = &obligation.layers;
            let cells = [&contract.id, &obligation.id, obligation.verdict, layers.checker, layers.coq];
            let more = [&layers.falsifier, &layers.smt, &layers.kani];
            cells.iter().map(|cell| (*cell).to_owned()).chain(more.map(Clone::clone)).collect()
        });
        obligations.chain(contract.informal.iter().map(|claim| {
            let cells = [contract.id.as_str(), &claim.about, claim.verdict];
            cells.into_iter().map(str::to_owned).chain(["-"; 5].map(str::to_owned)).collect()
        }))
    });
    Table::new("", &headings, rows)
}

fn indented(text: &str) -> String {
    text.lines().map(|line| format!("    {line}\n")).collect()
}
