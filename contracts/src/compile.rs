//! The whole way from a text to a proven contract, for it and for those it depends on, each once.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use semver::VersionReq;

use crate::certify;
use crate::check;
use crate::contract::Contract;
use crate::library::{self, Find};
use crate::prove::{self, Proof};
use crate::report::{Mistake, Report, Rule, Severity};
use crate::source::{Source, Text, shorten};

/// What came of compiling a contract.
#[derive(Clone, Debug)]
pub struct Compiled {
    /// The contract; none if a mistake makes it unusable.
    pub contract: Option<Contract>,
    /// Every mistake and warning, in the order of the file.
    pub mistakes: Vec<Mistake>,
    /// The text, to show mistakes with.
    pub source: Source,
    /// The files of the contracts it depends on; the built-in ones have none.
    pub files: Vec<PathBuf>,
    /// One for each obligation, if it came to proofs.
    pub proofs: Vec<Proof>,
}

impl Compiled {
    /// Every mistake of one severity as people read it.
    pub fn rendered(&self, severity: Severity) -> impl Iterator<Item = String> {
        let of_severity = self.mistakes.iter().filter(move |mistake| mistake.severity == severity);
        of_severity.map(|mistake| mistake.render(&self.source))
    }

    /// Whether it is a well-formed contract that claims something false or undecided.
    pub fn has_failed_obligations(&self) -> bool {
        self.proofs.iter().any(|proof| !proof.verdict.acceptable())
    }

    /// Proves every obligation and writes the verdicts down.
    fn prove(&mut self) {
        let Some(mut contract) = self.contract.take() else { return };
        self.proofs = certify::judge(&contract);
        for (obligation, proof) in contract.obligations.iter().zip(&self.proofs) {
            self.mistakes.extend(prove::mistake(&contract, obligation, proof));
        }
        self.mistakes.sort_by_key(|mistake| mistake.span.start);
        for (obligation, proof) in contract.obligations.iter_mut().zip(&self.proofs) {
            obligation.verdict = proof.verdict;
        }
        let usable = self.proofs.iter().all(|proof| proof.verdict.acceptable());
        self.contract = usable.then_some(contract);
    }
}

/// Compiles a contract: reads it, checks names, units and domains, and proves every obligation. Collects every
/// mistake; an obligation that is false or undecided is one. What it depends on is looked for among the built-in
/// contracts.
pub fn compile(source: Source) -> Compiled {
    compile_in(source, None)
}

/// The same for a contract of this directory: what it depends on is first looked for there.
pub fn compile_in(source: Source, directory: Option<&Path>) -> Compiled {
    Compiler::default().compile_in(source, directory)
}

/// Compiles one contract after the other, and the built-in contracts that they depend on only once.
#[derive(Debug, Default)]
pub struct Compiler {
    built_in: BTreeMap<String, Arc<Contract>>,
}

impl Compiler {
    /// As [`compile_in`].
    pub fn compile_in(&mut self, source: Source, directory: Option<&Path>) -> Compiled {
        let find = |file: &str| library::find(file, directory);
        let mut loader = Loader::new(&find);
        loader.proves = true;
        loader.lasting = std::mem::take(&mut self.built_in);
        let compiled = compile_with(source, &mut loader);
        self.built_in = loader.lasting;
        Compiled { files: loader.files, ..compiled }
    }
}

/// The first half of [`compile_in`]: everything but the proofs.
pub fn check_in(source: Source, directory: Option<&Path>) -> Compiled {
    check_from(source, &|file| library::find(file, directory))
}

/// The same for a contract whose dependencies are found by `find`.
pub fn check_from(source: Source, find: Find<'_>) -> Compiled {
    let mut loader = Loader::new(find);
    let compiled = compile_with(source, &mut loader);
    Compiled { files: loader.files, ..compiled }
}

/// As [`check_in`], for another text of a contract that was compiled: what it depends on is the same.
pub fn check_again(source: Source, contract: &Contract) -> Compiled {
    let find = |file: &str| library::find(file, None);
    let mut loader = Loader::new(&find);
    loader.know(&contract.dependencies);
    compile_with(source, &mut loader)
}

/// As [`check_in`], but what the contract depends on is proven: an obligation that is false there is a mistake here.
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
    let mistakes = report.finish();
    Compiled { contract, mistakes, source, files: Vec::new(), proofs: Vec::new() }
}

/// What may follow the name of a dependency.
const REQUIREMENT: &str =
    "a requirement is written as in Cargo: `^1.2`, `~1.2`, `=1.2.3`, `>=1.2` or `>=1.2, <1.5`";

/// How far dependencies may lead. Deeper chains are a mistake, and would use up the stack.
const MAX_DEPTH: usize = 16;

/// Compiles dependencies and remembers them.
struct Loader<'a> {
    find: Find<'a>,
    /// The contracts that are being compiled, from the outermost to the innermost.
    open: Vec<String>,
    /// None for one with mistakes, which have been reported.
    known: BTreeMap<String, Option<Arc<Contract>>>,
    /// Contracts from an earlier compilation that rest on no file, so that they are the same in this one.
    lasting: BTreeMap<String, Arc<Contract>>,
    /// What was asked of each contract, and by whom.
    asked: BTreeMap<String, (VersionReq, String)>,
    /// Obligations are proven, also those of the dependencies.
    proves: bool,
    /// The files that were read.
    files: Vec<PathBuf>,
}

impl<'a> Loader<'a> {
    /// Looks for contracts where `find` does.
    fn new(find: Find<'a>) -> Self {
        let (open, files) = (Vec::new(), Vec::new());
        let (known, lasting, asked) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        Loader { find, open, known, lasting, asked, proves: false, files }
    }

    /// Takes contracts, and those they depend on, as they are.
    fn know(&mut self, contracts: &[Arc<Contract>]) {
        for contract in contracts {
            self.known.insert(contract.metadata.id.clone(), Some(contract.clone()));
            self.know(&contract.dependencies);
        }
    }

    /// The contracts that `depends_on` of the contract `id` asks for. Mistakes go to the report.
    fn load(&mut self, id: &str, wanted: &[&Text], report: &mut Report) -> Vec<Arc<Contract>> {
        self.open.push(id.to_owned());
        let mut found: Vec<Arc<Contract>> = Vec::new();
        for text in wanted {
            match self.one(id, text) {
                Ok(Some(contract)) if found.iter().any(|known| known.metadata.id == contract.metadata.id) => {
                    report.add(
                        Mistake::error(text.span, format!("`{}` appears twice", contract.metadata.id))
                            .rule(Rule::Dependency),
                    );
                }
                Ok(contract) => found.extend(contract),
                Err(mistake) => report.add(*mistake),
            }
        }
        self.open.pop();
        found
    }

    fn one(&mut self, id: &str, text: &Text) -> Result<Option<Arc<Contract>>, Box<Mistake>> {
        let mistake = |message: String| Box::new(Mistake::error(text.span, message).rule(Rule::Dependency));
        let (name, requirement) = match text.value.trim().split_once(char::is_whitespace) {
            Some((name, requirement)) => (name, requirement.trim()),
            None => {
                let message = format!("`{}` needs a version requirement", shorten(&text.value));
                return Err(Box::new(mistake(message).note("write `hardware-v1 ^1.0`")));
            }
        };
        let Ok(requirement) = VersionReq::parse(requirement) else {
            let message = format!("`{}` is not a version requirement", shorten(requirement));
            return Err(Box::new(mistake(message).note(REQUIREMENT)));
        };
        if let Some(start) = self.open.iter().position(|open| open == name) {
            let path: Vec<&str> = self.open[start..].iter().map(String::as_str).chain([name]).collect();
            let message = format!("a contract depends on itself: {}", path.join(" -> "));
            return Err(Box::new(
                mistake(message).note("break the cycle: one of them must not depend on the next"),
            ));
        }
        if self.open.len() >= MAX_DEPTH {
            return Err(mistake(format!("dependencies lead through more than {MAX_DEPTH} contracts")));
        }
        if !self.known.contains_key(name) {
            // A second contract that asks for one with mistakes need not repeat them.
            self.known.insert(name.to_owned(), None);
            let contract = self.compile(name, &mistake)?;
            self.known.insert(name.to_owned(), Some(contract));
        }
        let Some(Some(contract)) = self.known.get(name) else { return Ok(None) };
        let version = &contract.metadata.version;
        if !requirement.matches(version) {
            let message = format!("`{name}` is version {version}, which `{requirement}` does not allow");
            let other = self.asked.get(name).map(|(other, by)| format!("`{by}` asks for `{name} {other}`"));
            let note = other.unwrap_or_else(|| format!("it comes from {}", contract.source.name));
            return Err(Box::new(mistake(message).note(note)));
        }
        self.asked.insert(name.to_owned(), (requirement, id.to_owned()));
        Ok(Some(contract.clone()))
    }

    fn compile(
        &mut self,
        name: &str,
        mistake: &impl Fn(String) -> Box<Mistake>,
    ) -> Result<Arc<Contract>, Box<Mistake>> {
        let file = format!("{name}.yaml");
        let found = (self.find)(&file).map_err(|error| mistake(error.to_string()))?;
        let lasting = found.path.is_none();
        if let Some(contract) = self.lasting.get(name).filter(|_| lasting) {
            return Ok(contract.clone());
        }
        self.files.extend(found.path);
        let files = self.files.len();
        let mut compiled = compile_with(found.source, self);
        match compiled.contract.take() {
            Some(contract) if contract.metadata.id != name => {
                Err(mistake(format!("{file} calls itself `{}`, not `{name}`", contract.metadata.id)))
            }
            Some(contract) => {
                let contract = Arc::new(contract);
                if lasting && self.files.len() == files {
                    self.lasting.insert(name.to_owned(), contract.clone());
                }
                Ok(contract)
            }
            None => {
                let errors: Vec<String> = compiled.rendered(Severity::Error).collect();
                let first = errors.first().map_or("", |first| first.lines().next().unwrap_or_default());
                let message = format!("`{name}` has {} mistake(s), the first: {first}", errors.len());
                Err(mistake(message))
            }
        }
    }
}
