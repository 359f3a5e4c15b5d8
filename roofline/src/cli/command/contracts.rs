//! `roofline contract list`: the built-in contracts.

use roofline_contracts::{compile, library};
use schemars::JsonSchema;
use serde::Serialize;

use crate::chart::terminal::Canvas;
use crate::cli::name::near;
use crate::cli::output;
use crate::cli::{Exit, Failure, args};
use crate::report::{Report, Schema, Table};

/// The built-in contracts.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Contracts {
    /// Schema of this document.
    schema: Schema<Self>,
    /// The contracts, by name.
    contracts: Vec<Shipped>,
}

/// A built-in contract.
#[derive(Debug, Serialize, JsonSchema)]
struct Shipped {
    /// Name of the contract.
    id: String,
    /// Version of the contract.
    version: String,
    /// Description of the contract.
    description: String,
    /// Names of the equations.
    equations: Vec<String>,
    /// Names of the tables.
    profiles: Vec<String>,
    /// Number of obligations.
    obligations: usize,
    /// SHA-256 of the file.
    sha256: String,
    /// Text of the file, if a single contract is shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    yaml: Option<String>,
}

/// Lists the contracts, or shows the file of one.
pub fn run(args: &args::List) -> Result<Exit, Failure> {
    let mut contracts = Vec::new();
    for (file, _) in library::BUILT_IN {
        if args
            .name
            .as_ref()
            .is_some_and(|name| *name != **file && Some(name.as_str()) != file.strip_suffix(".yaml"))
        {
            continue;
        }
        let Some(source) = library::built_in(file) else { continue };
        let yaml = args.name.is_some().then(|| source.text.clone());
        if let Some(contract) = compile(source).contract {
            contracts.push(Shipped {
                id: contract.metadata.id.clone(),
                version: contract.metadata.version.to_string(),
                description: contract.metadata.description.clone(),
                equations: contract.equations.iter().map(|equation| equation.name.clone()).collect(),
                profiles: contract.profiles.iter().map(|table| table.name.clone()).collect(),
                obligations: contract.obligations.len(),
                sha256: contract.source.sha256.clone(),
                yaml,
            });
        }
    }
    if let (Some(name), true) = (&args.name, contracts.is_empty()) {
        let known: Vec<&str> =
            library::BUILT_IN.iter().filter_map(|(file, _)| file.strip_suffix(".yaml")).collect();
        let near = near(name, known.iter().copied());
        let known = known.join(", ");
        return Err(Failure(format!("{name}: unknown contract; {near}expected one of {known}")));
    }
    output::print(&Contracts { schema: Schema::new(), contracts }, args.format)?;
    Ok(Exit::Fine)
}

impl Report for Contracts {
    const SCHEMA: &'static str = "roofline.contracts/1";
    const SOURCE: bool = true;

    fn text(&self, canvas: &Canvas) -> String {
        match self.contracts.as_slice() {
            [Shipped { yaml: Some(yaml), .. }] => yaml.clone(),
            _ => self.tables().iter().map(|table| table.render_within(canvas, &[])).collect(),
        }
    }

    fn tables(&self) -> Vec<Table> {
        let rows = self.contracts.iter().map(|contract| {
            vec![
                contract.id.clone(),
                contract.version.clone(),
                contract.equations.len().to_string(),
                contract.obligations.to_string(),
                contract.description.clone(),
            ]
        });
        vec![Table::new("", &["id", "version", "equations", "obligations", "description"], rows)]
    }
}
