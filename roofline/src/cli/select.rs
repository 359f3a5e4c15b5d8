//! `--where`, `--sort` and `--columns`: selection, order and columns of the rows of a list.

use std::collections::BTreeMap;

use clap::Args;
use roofline_contracts::condition::Value;

use crate::cli::Failure;
use crate::cli::conditions::Names;
use crate::cli::name::near;
use crate::contracts::hardware::devices::Device;
use crate::device::{display_name, numbers_of, texts_of};
use crate::report::Table;
use roofline_render::format::figure;

/// Selection, order and columns of rows.
#[derive(Debug, Default, Args)]
pub struct Select {
    /// Show only rows that meet this condition, such as 'memory >= 24 [GB] and kind == "gpu"'; `help` lists the names; repeatable
    #[arg(long = "where", value_name = "CONDITION")]
    pub conditions: Vec<String>,
    /// Sort by this name (`help` lists them): prices, power, energy, times and sizes ascending, other numbers descending; NAME:asc
    /// and NAME:desc set the order
    #[arg(long, value_name = "NAME")]
    pub sort: Option<String>,
    /// Show these columns instead of the default ones, separated by commas
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub columns: Vec<String>,
}

/// Values of a row, by name.
pub type Row = BTreeMap<&'static str, Value<'static>>;

/// Names that sort in ascending order by default.
const LOWER_IS_BETTER: [&str; 8] = [
    "launch_price_usd",
    "usd_per_token_per_s",
    "tdp",
    "token_energy",
    "footprint",
    "time_to_first_token",
    "decode_time",
    "overhead",
];

/// Adds the names of device attributes.
pub fn add_device_names(names: &mut Names) {
    for (name, unit) in Device::NUMBERS {
        names.number(name, unit);
    }
    for name in Device::TEXTS {
        names.text(name, &[]);
    }
}

/// Returns the attributes of a device.
pub fn device_row(device: &Device) -> Row {
    let figures = numbers_of(device).map(|(name, value)| (name, Value::Number(value)));
    let texts = texts_of(device).map(|(name, text)| (name, Value::Text(text.into())));
    let name = ("name", Value::Text(display_name(device.name).into()));
    figures.chain(texts).chain([name]).collect()
}

impl Select {
    /// Prints the names and returns `true` if one of the flags is `help`.
    pub fn help(&self, names: &Names) -> Result<bool, Failure> {
        let values = self.conditions.iter().chain(&self.sort).chain(&self.columns);
        names.help(&values.cloned().collect::<Vec<_>>())
    }

    /// Returns `true` if one of the flags is set.
    pub fn is_set(&self) -> bool {
        !(self.conditions.is_empty() && self.sort.is_none() && self.columns.is_empty())
    }

    /// Returns the indices of the selected rows, in order.
    pub fn rows(&self, names: &Names, rows: &[Row]) -> Result<Vec<usize>, Failure> {
        let gates = names.parse("--where", &self.conditions)?;
        let selected = |row: &Row| gates.iter().all(|gate| gate.holds(row) == Some(true));
        let mut order: Vec<usize> = (0..rows.len()).filter(|&index| selected(&rows[index])).collect();
        let Some(sort) = &self.sort else { return Ok(order) };
        let (name, direction) =
            sort.split_once(':').map_or((sort.as_str(), None), |(name, order)| (name, Some(order)));
        let name = resolve(names, "--sort", name)?;
        let ascending = match direction {
            Some("asc") => true,
            Some("desc") => false,
            Some(other) => {
                return Err(Failure(format!("--sort {sort}: invalid order `{other}`; expected asc or desc")));
            }
            None => LOWER_IS_BETTER.contains(&name),
        };
        order.sort_by(|&a, &b| {
            use std::cmp::Ordering::{Equal, Greater, Less};
            let directed = |order: std::cmp::Ordering| if ascending { order } else { order.reverse() };
            match (rows[a].get(name), rows[b].get(name)) {
                (Some(Value::Number(a)), Some(Value::Number(b))) => directed(a.total_cmp(b)),
                (Some(Value::Text(a)), Some(Value::Text(b))) if direction.is_none() => a.cmp(b),
                (Some(Value::Text(a)), Some(Value::Text(b))) => directed(a.cmp(b)),
                (Some(Value::Truth(a)), Some(Value::Truth(b))) => directed(a.cmp(b)),
                // Unknown values come last.
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

    /// Returns a table of the columns of `--columns`, or `None` without the flag.
    pub fn table(&self, names: &Names, key: &'static str, rows: &[&Row]) -> Result<Option<Table>, Failure> {
        if self.columns.is_empty() {
            return Ok(None);
        }
        let mut columns = vec![key];
        for column in &self.columns {
            let name = resolve(names, "--columns", column.trim())?;
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

/// Resolves a name or an alias.
fn resolve<'n>(names: &Names, flag: &str, name: &'n str) -> Result<&'n str, Failure> {
    names.resolve(name).ok_or_else(|| {
        Failure(format!(
            "{flag} {name}: unknown name; {}`--where help` lists the names",
            near(name, names.all())
        ))
    })
}
