//! `roofline schema`: JSON Schemas (draft 2020-12) of the documents of each command, generated from their types.

pub mod contract;

use schemars::generate::SchemaSettings;
use schemars::transform::{Transform, transform_subschemas};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Serialize;
use serde_json::Value;

use crate::bench::Bench;
use crate::choose::Choice;
use crate::cli::command::check;
use crate::cli::command::contracts;
use crate::cli::command::devices;
use crate::cli::command::diff;
use crate::cli::command::eval;
use crate::cli::command::expand;
use crate::cli::command::first;
use crate::cli::command::gate;
use crate::cli::command::import;
use crate::cli::command::models;
use crate::cli::command::plot;
use crate::cli::command::profile;
use crate::cli::command::prove;
use crate::cli::command::schema::contract as contract_schema;
use crate::cli::name::near;
use crate::cli::output;
use crate::cli::{Exit, Failure, args};
use crate::evidence::{Calibration, Evidence};
use crate::machine::Machine;
use crate::parallel::Plan;
use crate::predict::Predicted;
use crate::profile::Profile;
use crate::report::{self, Report, Table};

/// A kind of document.
struct Document {
    id: &'static str,
    by: &'static str,
    make: fn(&mut SchemaGenerator) -> Schema,
    /// `true` if users write it too and may omit fields with a default.
    by_hand: bool,
}

const fn document<T: Report + JsonSchema>(by: &'static str) -> Document {
    Document { id: T::SCHEMA, by, make: |generator| generator.root_schema_for::<T>(), by_hand: false }
}

const ALL: &[Document] = &[
    document::<Bench>("roofline bench"),
    Document { by_hand: true, ..document::<plot::Drawing>("roofline plot") },
    document::<check::Checked>("roofline contract check"),
    document::<Choice>("roofline choose"),
    document::<contracts::Contracts>("roofline contract list"),
    document::<devices::DeviceList>("roofline devices"),
    document::<diff::Diffed>("roofline contract diff"),
    document::<eval::Evaluated>("roofline contract eval"),
    document::<eval::Several>("roofline contract eval"),
    document::<Calibration>("roofline calibrate"),
    document::<Evidence>("roofline evidence"),
    document::<expand::Expansion>("roofline contract expand"),
    document::<first::First>("roofline"),
    document::<gate::Gated>("roofline gate"),
    document::<import::ImportReport>("roofline contract import"),
    document::<Machine>("roofline machine"),
    document::<models::ModelList>("roofline models"),
    document::<Plan>("roofline plan"),
    document::<Predicted>("roofline predict"),
    document::<Profile>("roofline profile"),
    document::<profile::Profiles>("roofline profile"),
    document::<prove::Proven>("roofline contract prove"),
    Document {
        id: "roofline.certificate/1",
        by: "roofline contract prove --certificates",
        make: |generator| generator.root_schema_for::<roofline_checker::Certificate>(),
        by_hand: false,
    },
    document::<Schemas>("roofline schema"),
];

/// Available schemas.
#[derive(Serialize, JsonSchema)]
struct Schemas {
    /// Schema of this document.
    schema: report::Schema<Self>,
    /// Schemas of all documents.
    schemas: Vec<ListedSchema>,
}

/// An available schema.
#[derive(Serialize, JsonSchema)]
struct ListedSchema {
    /// Value of the `schema` field of its documents.
    id: &'static str,
    /// Command that writes the documents.
    command: &'static str,
    /// Description of the documents.
    description: String,
}

/// Prints a schema, or lists them all.
pub fn run(args: &args::Schema) -> Result<Exit, Failure> {
    let Some(name) = &args.name else {
        let entry = |document: &Document| ListedSchema {
            id: document.id,
            command: document.by,
            description: text(document.schema().get("description")),
        };
        let schemas = Schemas { schema: report::Schema::new(), schemas: ALL.iter().map(entry).collect() };
        output::print(&schemas, args.format)?;
        return Ok(Exit::Fine);
    };
    if name == "contract" {
        let schema = contract_schema::json_schema();
        output::write((serde_json::to_string_pretty(&schema)? + "\n").as_bytes())?;
        return Ok(Exit::Fine);
    }
    let document = ALL.iter().find(|document| document.id == name || document.name() == name);
    let Some(document) = document else {
        let near = near(name, ALL.iter().map(Document::name));
        let names: Vec<&str> = ALL.iter().map(Document::name).chain(["contract"]).collect();
        return Err(Failure(format!("{name}: unknown schema; {near}expected one of {}", names.join(", "))));
    };
    output::write((serde_json::to_string_pretty(&document.schema())? + "\n").as_bytes())?;
    Ok(Exit::Fine)
}

fn text(value: Option<&Value>) -> String {
    value.and_then(Value::as_str).unwrap_or_default().to_owned()
}

impl Document {
    /// Returns the short name, such as `machine` for `roofline.machine/1`.
    fn name(&self) -> &'static str {
        let end = self.id.rfind('/').unwrap_or(self.id.len());
        self.id.get("roofline.".len()..end).unwrap_or(self.id)
    }

    fn schema(&self) -> Schema {
        let settings = SchemaSettings::draft2020_12();
        let settings = if self.by_hand { settings.for_deserialize() } else { settings.for_serialize() };
        let mut generator = settings.into_generator();
        let mut schema = (self.make)(&mut generator);
        Closed.transform(&mut schema);
        schema.insert("title".to_owned(), self.id.into());
        schema
    }
}

/// Rejects fields that are not in the schema.
struct Closed;

impl Transform for Closed {
    fn transform(&mut self, schema: &mut Schema) {
        if schema.get("properties").is_some() && schema.get("additionalProperties").is_none() {
            schema.insert("additionalProperties".to_owned(), false.into());
        }
        transform_subschemas(self, schema);
    }
}

impl Report for Schemas {
    const SCHEMA: &'static str = "roofline.schemas/1";

    fn tables(&self) -> Vec<Table> {
        let row = |entry: &ListedSchema| {
            vec![entry.id.to_owned(), entry.command.to_owned(), entry.description.replace('\n', " ")]
        };
        vec![Table::new("", &["schema", "command", "description"], self.schemas.iter().map(row))]
    }
}
