//! `--where`, `--sort` and `--columns`: which rows of a list are shown, in which order, and what of each.

use std::collections::BTreeMap;

use clap::Args;
use roofline_contracts::condition::Value;

use crate::contracts::hardware::devices::Device;
use crate::device::{numbers_of, texts_of};
use crate::program::Failure;
use crate::program::name::near;
use crate::program::require::Names;
use crate::report::Table;
use roofline_render::number::figure;

/// Which rows, and what of them.
#[derive(Debug, Default, Args)]
pub struct Select {
    /// Only those for which this holds, such as 'memory >= 24 [GB] and kind == "gpu"'; `help` lists the names; may be repeated.
    #[arg(long = "where", value_name = "CONDITION")]
    pub conditions: Vec<String>,
    /// In the order of this name (`help` lists them): prices, watts, energies, times and sizes with the least first, other numbers with the most first;
    /// NAME:asc and NAME:desc say otherwise.
    #[arg(long, value_name = "NAME")]
    pub sort: Option<String>,
    /// Show these, separated by commas, in place of the usual columns.
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub columns: Vec<String>,
}

/// What a row is known by.
pub type Row = BTreeMap<&'static str, Value<'static>>;

/// Of these the least is the best.
const LEAST: [&str; 8] = [
    "launch_price_usd",
    "price_per_speed",
    "tdp",
    "token_energy",
    "footprint",
    "time_to_first_token",
    "decode_time",
    "overhead",
];

/// The names of the registry.
pub fn device_names(names: &mut Names) {
    for (name, unit) in Device::NUMBERS {
        names.number(name, unit);
    }
    for name in Device::TEXTS {
        names.text(name, &[]);
    }
}

/// What the registry knows of a device.
pub fn device_row(device: &Device) -> Row {
    let figures = numbers_of(device).map(|(name, value)| (name, Value::Number(value)));
    let texts = texts_of(device).map(|(name, text)| (name, Value::Text(text.into())));
    figures.chain(texts).collect()
}

impl Select {
    /// Prints the names if that is what one of the flags asks for.
    pub fn help(&self, names: &Names) -> Result<bool, Failure> {
        let asked = self.conditions.iter().chain(&self.sort).chain(&self.columns);
        names.help(&asked.cloned().collect::<Vec<_>>())
    }

    /// Whether anything is asked for.
    pub fn is_asked(&self) -> bool {
        !(self.conditions.is_empty() && self.sort.is_none() && self.columns.is_empty())
    }

    /// The rows that are kept, in order.
    pub fn rows(&self, names: &Names, rows: &[Row]) -> Result<Vec<usize>, Failure> {
        let gates = names.parse("--where", &self.conditions)?;
        let kept = |row: &Row| gates.iter().all(|gate| gate.holds(row) == Some(true));
        let mut order: Vec<usize> = (0..rows.len()).filter(|&index| kept(&rows[index])).collect();
        let Some(sort) = &self.sort else { return Ok(order) };
        let (name, direction) =
            sort.split_once(':').map_or((sort.as_str(), None), |(name, way)| (name, Some(way)));
        let name = known(names, "--sort", name)?;
        let least_first = match direction {
            Some("asc") => true,
            Some("desc") => false,
            Some(other) => {
                return Err(Failure(format!("--sort {sort}: `{other}` is no order; write asc or desc")));
            }
            None => LEAST.contains(&name),
        };
        order.sort_by(|&a, &b| {
            use std::cmp::Ordering::{Equal, Greater, Less};
            let turned = |order: std::cmp::Ordering| if least_first { order } else { order.reverse() };
            match (rows[a].get(name), rows[b].get(name)) {
                (Some(Value::Number(a)), Some(Value::Number(b))) => turned(a.total_cmp(b)),
                (Some(Value::Text(a)), Some(Value::Text(b))) if direction.is_none() => a.cmp(b),
                (Some(Value::Text(a)), Some(Value::Text(b))) => turned(a.cmp(b)),
                (Some(Value::Truth(a)), Some(Value::Truth(b))) => turned(a.cmp(b)),
                // What is not known comes last.
                (Some(Value::Number(_) | Value::Text(_) | Value::Truth(_)), None | Some(Value::Absent)) => {
                    Less
                }
                (None | Some(Value::Absent), Some(Value::Number(_) | Value::Text(_) | Value::Truth(_))) => {
                    Greater
                }
                _ => Equal,
            }
        });
        Ok(order)
    }

    /// A table of the columns asked for; none if none is.
    pub fn table(&self, names: &Names, key: &'static str, rows: &[&Row]) -> Result<Option<Table>, Failure> {
        if self.columns.is_empty() {
            return Ok(None);
        }
        let mut columns = vec![key];
        for column in &self.columns {
            let name = known(names, "--columns", column.trim())?;
            if !columns.contains(&name) {
                columns.push(name);
            }
        }
        let cell = |row: &Row, name: &str| match row.get(name) {
            Some(Value::Number(value)) => figure(*value),
            Some(Value::Text(text)) => text.to_string(),
            Some(Value::Truth(truth)) => if *truth { "yes" } else { "no" }.to_owned(),
            Some(Value::Absent) | None => "-".to_owned(),
        };
        let rows = rows.iter().map(|row| columns.iter().map(|name| cell(row, name)).collect());
        Ok(Some(Table::new("", &columns, rows)))
    }
}

/// A name that there is, under a word that is said for it too.
fn known<'n>(names: &Names, flag: &str, name: &'n str) -> Result<&'n str, Failure> {
    names.meant(name).ok_or_else(|| {
        Failure(format!("{flag} {name}: no such name; {}`--where help` lists them", near(name, names.all())))
    })
}
