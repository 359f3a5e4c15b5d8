//! Compiles a contract and its dependencies, each once, from source text to verdicts.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use semver::VersionReq;

use crate::certify;
use crate::check;
use crate::contract::Contract;
use crate::library::{self, Find};
use crate::prove::{self, Proof};
use crate::report::{Diagnostic, Report, Rule, Severity};
use crate::source::{Source, Text, shorten};

/// The result of compiling a contract.
#[derive(Clone, Debug)]
pub struct Compiled {
    /// The contract; none if it has errors.
    pub contract: Option<Contract>,
    /// Every error and warning, in the order of the file.
    pub diagnostics: Vec<Diagnostic>,
    /// The source, for rendering diagnostics.
    pub source: Source,
    /// The files of its dependencies; built-in contracts have none.
    pub files: Vec<PathBuf>,
    /// One proof per obligation; empty if proofs did not run.
    pub proofs: Vec<Proof>,
}

impl Compiled {
    /// Renders every diagnostic of one severity.
    pub fn rendered(&self, severity: Severity) -> impl Iterator<Item = String> {
        let of_severity = self.diagnostics.iter().filter(move |diagnostic| diagnostic.severity == severity);
        of_severity.map(|diagnostic| diagnostic.render(&self.source))
    }

    /// True if the contract is well-formed but an obligation is refuted or unknown.
    pub fn has_failed_obligations(&self) -> bool {
        self.proofs.iter().any(|proof| !proof.verdict.acceptable())
    }

    /// Proves every obligation and records the verdicts.
    fn prove(&mut self) {
        let Some(mut contract) = self.contract.take() else { return };
        self.proofs = certify::judge(&contract);
        for (obligation, proof) in contract.obligations.iter().zip(&self.proofs) {
            self.diagnostics.extend(prove::diagnostic(&contract, obligation, proof));
        }
        self.diagnostics.sort_by_key(|diagnostic| diagnostic.span.start);
        for (obligation, proof) in contract.obligations.iter_mut().zip(&self.proofs) {
            obligation.verdict = proof.verdict;
        }
        let usable = self.proofs.iter().all(|proof| proof.verdict.acceptable());
        self.contract = usable.then_some(contract);
    }
}

/// Compiles a contract: reads it, checks names, units and domains, and proves every obligation. Collects all
/// errors, including refuted and undecided obligations. Dependencies are searched among the built-in contracts.
pub fn compile(source: Source) -> Compiled {
    compile_in(source, None)
}

/// Like [`compile`], but searches for dependencies in `directory` first.
pub fn compile_in(source: Source, directory: Option<&Path>) -> Compiled {
    Compiler::default().compile_in(source, directory)
}

/// Compiles several contracts; shared built-in dependencies are compiled only once.
#[derive(Debug, Default)]
pub struct Compiler {
    built_in: BTreeMap<String, Arc<Contract>>,
}

impl Compiler {
    /// Like the function [`compile_in`].
    pub fn compile_in(&mut self, source: Source, directory: Option<&Path>) -> Compiled {
        let find = |file: &str| library::find(file, directory);
        let mut loader = Loader::new(&find);
        loader.proves = true;
        loader.cached = std::mem::take(&mut self.built_in);
        let compiled = compile_with(source, &mut loader);
        self.built_in = loader.cached;
        Compiled { files: loader.files, ..compiled }
    }
}

/// Like [`compile_in`], without the proofs.
pub fn check_in(source: Source, directory: Option<&Path>) -> Compiled {
    check_from(source, &|file| library::find(file, directory))
}

/// Like [`check_in`], with dependencies located by `find`.
pub fn check_from(source: Source, find: Find<'_>) -> Compiled {
    let mut loader = Loader::new(find);
    let compiled = compile_with(source, &mut loader);
    Compiled { files: loader.files, ..compiled }
}

/// Like [`check_in`], for another text of a compiled contract with the same dependencies.
pub fn recheck(source: Source, contract: &Contract) -> Compiled {
    let find = |file: &str| library::find(file, None);
    let mut loader = Loader::new(&find);
    loader.insert_known(&contract.dependencies);
    compile_with(source, &mut loader)
}

/// Like [`check_in`], but also proves the dependencies; a refuted obligation in one of them is an error.
pub fn check_on_proven(source: Source, directory: Option<&Path>) -> Compiled {
    let find = |file: &str| library::find(file, directory);
    let mut loader = Loader::new(&find);
    loader.proves = true;
    let compiled = check_with(source, &mut loader);
    Compiled { files: loader.files, ..compiled }
}

fn compile_with(source: Source, loader: &mut Loader<'_>) -> Compiled {
    let mut compiled = check_with(source, loader);
    if loader.proves {
        compiled.prove();
    }
    compiled
}

fn check_with(source: Source, loader: &mut Loader<'_>) -> Compiled {
    let mut report = Report::new();
    let contract =
        check::check(source.clone(), &mut |id, wanted, report| loader.load(id, wanted, report), &mut report);
    let contract = contract.filter(|_| !report.has_errors());
    let diagnostics = report.finish();
    Compiled { contract, diagnostics, source, files: Vec::new(), proofs: Vec::new() }
}

/// The syntax of a version requirement.
const REQUIREMENT: &str =
    "expected a requirement as in Cargo: `^1.2`, `~1.2`, `=1.2.3`, `>=1.2` or `>=1.2, <1.5`";

/// Maximum depth of the dependency chain; bounds the recursion.
const MAX_DEPTH: usize = 16;

/// Compiles dependencies and remembers them.
struct Loader<'a> {
    find: Find<'a>,
    /// The contracts that are being compiled, from the outermost to the innermost.
    open: Vec<String>,
    /// None for one with errors, which have been reported.
    known: BTreeMap<String, Option<Arc<Contract>>>,
    /// Contracts of earlier compilations that depend on no file, so that they cannot have changed.
    cached: BTreeMap<String, Arc<Contract>>,
    /// The version requirement for each contract, and the contract that states it.
    requirements: BTreeMap<String, (VersionReq, String)>,
    /// True if the obligations of dependencies are proven too.
    proves: bool,
    /// The files read so far.
    files: Vec<PathBuf>,
}

impl<'a> Loader<'a> {
    /// Loads dependencies located by `find`.
    fn new(find: Find<'a>) -> Self {
        let (open, files) = (Vec::new(), Vec::new());
        let (known, cached, requirements) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        Loader { find, open, known, cached, requirements, proves: false, files }
    }

    /// Adds compiled contracts and their dependencies.
    fn insert_known(&mut self, contracts: &[Arc<Contract>]) {
        for contract in contracts {
            self.known.insert(contract.metadata.id.clone(), Some(contract.clone()));
            self.insert_known(&contract.dependencies);
        }
    }

    /// Loads the contracts in `depends_on` of the contract `id`. Errors go to the report.
    fn load(&mut self, id: &str, wanted: &[&Text], report: &mut Report) -> Vec<Arc<Contract>> {
        self.open.push(id.to_owned());
        let mut found: Vec<Arc<Contract>> = Vec::new();
        for text in wanted {
            match self.load_one(id, text) {
                Ok(Some(contract)) if found.iter().any(|known| known.metadata.id == contract.metadata.id) => {
                    report.add(
                        Diagnostic::error(
                            text.span,
                            format!("duplicate dependency `{}`", contract.metadata.id),
                        )
                        .rule(Rule::Dependency),
                    );
                }
                Ok(contract) => found.extend(contract),
                Err(diagnostic) => report.add(*diagnostic),
            }
        }
        self.open.pop();
        found
    }

    fn load_one(&mut self, id: &str, text: &Text) -> Result<Option<Arc<Contract>>, Box<Diagnostic>> {
        let diagnostic =
            |message: String| Box::new(Diagnostic::error(text.span, message).rule(Rule::Dependency));
        let (name, requirement) = match text.value.trim().split_once(char::is_whitespace) {
            Some((name, requirement)) => (name, requirement.trim()),
            None => {
                let message = format!("missing version requirement for `{}`", shorten(&text.value));
                return Err(Box::new(
                    diagnostic(message).note("write it after the name: `hardware-v1 ^1.0`"),
                ));
            }
        };
        let Ok(requirement) = VersionReq::parse(requirement) else {
            let message = format!("invalid version requirement `{}`", shorten(requirement));
            return Err(Box::new(diagnostic(message).note(REQUIREMENT)));
        };
        if let Some(start) = self.open.iter().position(|open| open == name) {
            let path: Vec<&str> = self.open[start..].iter().map(String::as_str).chain([name]).collect();
            let message = format!("cyclic dependency: {}", path.join(" -> "));
            return Err(Box::new(
                diagnostic(message).note("remove one of these dependencies to break the cycle"),
            ));
        }
        if self.open.len() >= MAX_DEPTH {
            return Err(diagnostic(format!("dependencies are nested deeper than {MAX_DEPTH} contracts")));
        }
        if !self.known.contains_key(name) {
            // The errors were reported for the first contract that depends on this one.
            self.known.insert(name.to_owned(), None);
            let contract = self.compile(name, &diagnostic)?;
            self.known.insert(name.to_owned(), Some(contract));
        }
        let Some(Some(contract)) = self.known.get(name) else { return Ok(None) };
        let version = &contract.metadata.version;
        if !requirement.matches(version) {
            let message = format!("`{name}` has version {version}, which does not match `{requirement}`");
            let other =
                self.requirements.get(name).map(|(other, by)| format!("`{by}` requires `{name} {other}`"));
            let note = other.unwrap_or_else(|| format!("found in {}", contract.source.name));
            return Err(Box::new(diagnostic(message).note(note)));
        }
        self.requirements.insert(name.to_owned(), (requirement, id.to_owned()));
        Ok(Some(contract.clone()))
    }

    fn compile(
        &mut self,
        name: &str,
        diagnostic: &impl Fn(String) -> Box<Diagnostic>,
    ) -> Result<Arc<Contract>, Box<Diagnostic>> {
        let file = format!("{name}.yaml");
        let found = (self.find)(&file).map_err(|error| diagnostic(error.to_string()))?;
        let cached = found.path.is_none();
        if let Some(contract) = self.cached.get(name).filter(|_| cached) {
            return Ok(contract.clone());
        }
        self.files.extend(found.path);
        let files = self.files.len();
        let mut compiled = compile_with(found.source, self);
        match compiled.contract.take() {
            Some(contract) if contract.metadata.id != name => {
                Err(diagnostic(format!("{file} has the id `{}`; expected `{name}`", contract.metadata.id)))
            }
            Some(contract) => {
                let contract = Arc::new(contract);
                if cached && self.files.len() == files {
                    self.cached.insert(name.to_owned(), contract.clone());
                }
                Ok(contract)
            }
            None => {
                let errors: Vec<String> = compiled.rendered(Severity::Error).collect();
                let first = errors.first().map_or("", |first| first.lines().next().unwrap_or_default());
                let message = match errors.len() {
                    1 => format!("`{name}` has an error: {first}"),
                    count => format!("`{name}` has {count} errors; the first is {first}"),
                };
                Err(diagnostic(message))
            }
        }
    }
}
