//! The interface of results: a schema, figures, tables, charts and text. All output formats, `--require`, `gate` and `plot` use only
//! this interface.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::marker::PhantomData;

use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::chart::Chart;
use crate::chart::sweep::Sweep;
use crate::chart::terminal::Canvas;
use crate::reference::RelativeToReference;

mod table;

use table::MIN_SENTENCE_WIDTH;
pub use table::{Table, wrap};

/// A result of a command.
pub trait Report: Serialize {
    /// Value of the `schema` field in JSON.
    const SCHEMA: &'static str;
    /// Names of figures that conditions may use.
    const FIGURES: &'static [&'static str] = &[];
    /// Names of texts that conditions may use.
    const TEXTS: &'static [&'static str] = &[];
    /// Names of boolean values, which are conditions by themselves.
    const TRUTHS: &'static [&'static str] = &[];
    /// True if the text contains source code, which is not wrapped.
    const SOURCE: bool = false;

    /// Returns the unit of a figure that conditions may use.
    fn unit(_name: &str) -> &'static str {
        "1"
    }

    /// Returns the tables; CSV prints only the first.
    fn tables(&self) -> Vec<Table>;

    /// Renders the result for a terminal; by default its tables.
    fn text(&self, canvas: &Canvas) -> String {
        self.tables().iter().map(|table| table.render_within(canvas, &[])).collect::<Vec<_>>().join("\n")
    }

    /// Renders the result as Markdown; by default its tables.
    fn markdown(&self) -> String {
        self.tables().iter().map(Table::markdown).collect::<Vec<_>>().join("\n")
    }

    /// Returns the numbers that conditions and comparisons use.
    fn figures(&self) -> Vec<Figure> {
        Vec::new()
    }

    /// Returns the texts that conditions use.
    fn texts(&self) -> Vec<Text> {
        Vec::new()
    }

    /// Returns the settings, as name and value, that must be equal for two runs to be comparable.
    fn setting(&self) -> Vec<(&'static str, String)> {
        Vec::new()
    }

    /// Returns notes about the figures, as sentences.
    fn notes(&self) -> Vec<String> {
        Vec::new()
    }

    /// Returns the roofline chart, if the result has one.
    fn chart(&self) -> Option<Chart> {
        None
    }

    /// Returns a curve to draw below the chart, if the result has one.
    fn sweep(&self) -> Option<Sweep> {
        None
    }
}

/// A result that can be loaded from JSON.
pub trait Saved: Report + DeserializeOwned {
    /// Checks values that the types do not restrict.
    ///
    /// # Errors
    /// Describes the first invalid value.
    fn validate(&self) -> Result<(), String> {
        Ok(())
    }

    /// Parses and validates JSON.
    ///
    /// # Errors
    /// Describes the syntax error, the wrong schema or the invalid value.
    fn from_json(text: &str) -> Result<Self, String> {
        let result: Self = serde_json::from_str(text).map_err(|error| error.to_string())?;
        result.validate()?;
        Ok(result)
    }
}

/// A number of a result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Figure {
    /// Name in conditions: `read_gb_s`.
    pub name: Cow<'static, str>,
    /// Subject, such as a product; empty for the whole run. Conditions are checked for each subject.
    pub of: String,
    /// Label in text: `memory read, 2 threads`.
    pub label: String,
    /// Unit of the value.
    pub unit: Cow<'static, str>,
    /// Direction of improvement.
    pub better: Better,
    /// Value in `unit`.
    pub value: f64,
    /// Variation between runs as a share of the value; absent if it is unknown.
    pub noise: Option<f64>,
    /// Reference load that ran in alternation, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reference: Option<RelativeToReference>,
}

impl Figure {
    /// Creates a figure of the whole run without noise.
    pub fn new(
        name: impl Into<Cow<'static, str>>,
        label: impl Into<String>,
        unit: impl Into<Cow<'static, str>>,
        better: Better,
        value: f64,
    ) -> Figure {
        let (name, label, unit) = (name.into(), label.into(), unit.into());
        Figure { name, of: String::new(), label, unit, better, value, noise: None, reference: None }
    }

    /// Sets the subject.
    pub fn of(self, of: impl Into<String>) -> Figure {
        Figure { of: of.into(), ..self }
    }

    /// Sets the noise to the relative distance between the best and the median sample.
    pub fn between(self, best: f64, median: f64) -> Figure {
        let noise = Some((best - median).abs() / best).filter(|share| share.is_finite());
        Figure { noise, ..self }
    }
}

/// Concatenates groups of names for [`Report::FIGURES`] and [`Report::TEXTS`].
///
/// # Panics
/// Panics if the groups do not have exactly `N` names in total; in a constant this is a compile-time error.
pub const fn joined<const N: usize>(groups: &[&[&'static str]]) -> [&'static str; N] {
    let mut all = [""; N];
    let (mut group, mut at) = (0, 0);
    while group < groups.len() {
        let mut name = 0;
        while name < groups[group].len() {
            all[at] = groups[group][name];
            (name, at) = (name + 1, at + 1);
        }
        group += 1;
    }
    assert!(at == N, "N must be the total number of names");
    all
}

/// Value of a [`Text`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TextValue {
    /// Text that conditions compare with `==`.
    Words(String),
    /// Boolean that is a condition by itself.
    Truth(bool),
}

/// A text or boolean of a result that conditions use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Text {
    /// Name in conditions: `decode_bound`.
    pub name: &'static str,
    /// Subject, as in [`Figure::of`]; empty for the whole run.
    pub of: String,
    /// Value that conditions compare.
    pub value: TextValue,
}

impl Text {
    /// Creates a text of the whole run.
    pub fn new(name: &'static str, value: impl ToString) -> Text {
        Text { name, of: String::new(), value: TextValue::Words(value.to_string()) }
    }

    /// Creates a boolean of the whole run; its name must be in [`Report::TRUTHS`].
    pub fn truth(name: &'static str, value: bool) -> Text {
        Text { name, of: String::new(), value: TextValue::Truth(value) }
    }

    /// Sets the subject.
    pub fn of(self, of: impl Into<String>) -> Text {
        Text { of: of.into(), ..self }
    }
}

/// A condition that was evaluated on a result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Checked {
    /// Subject of the condition, such as a device; empty for the whole run.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub of: String,
    /// Source text of the condition.
    pub condition: String,
    /// True if the condition holds; null if a required value is unknown, which also fails the check.
    pub holds: Option<bool>,
    /// Values of the names in the condition.
    pub values: BTreeMap<String, String>,
}

/// Direction in which a figure improves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Better {
    /// Higher values are better.
    Higher,
    /// Lower values are better.
    Lower,
    /// The figure describes the run or follows from other figures, and is not compared.
    Neither,
}

/// Field that serializes as [`Report::SCHEMA`] and rejects every other value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Schema<T>(PhantomData<T>);

impl<T> Schema<T> {
    /// Creates the only value of this type.
    pub const fn new() -> Schema<T> {
        Schema(PhantomData)
    }
}

impl<T> Default for Schema<T> {
    fn default() -> Self {
        Schema::new()
    }
}

impl<T: Report> Serialize for Schema<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(T::SCHEMA)
    }
}

impl<'de, T: Report> Deserialize<'de> for Schema<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let found = String::deserialize(deserializer)?;
        if found == T::SCHEMA {
            Ok(Schema::new())
        } else {
            Err(D::Error::custom(format!("unknown schema `{found}`; expected `{}`", T::SCHEMA)))
        }
    }
}

impl<T: Report> schemars::JsonSchema for Schema<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        T::SCHEMA.into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({"type": "string", "const": T::SCHEMA})
    }
}

/// Renders rows of name, value and note in three columns; notes are wrapped to the width of the terminal.
pub fn facts(rows: &[(&str, String, String)], canvas: &Canvas) -> String {
    let width = |column: fn(&(&str, String, String)) -> usize| rows.iter().map(column).max().unwrap_or(0);
    let (first, second) = (width(|row| row.0.len()), width(|row| row.1.len()));
    let before = first + second + 4;
    let line = |(name, value, note): &(&str, String, String)| {
        let note = match canvas.limit {
            Some(limit) => wrap(note, limit.saturating_sub(before).max(MIN_SENTENCE_WIDTH)),
            None => note.clone(),
        };
        let note = note.replace('\n', &format!("\n{}", " ".repeat(before)));
        format!("{name:<first$}  {value:>second$}  {note}").trim_end().to_owned() + "\n"
    };
    rows.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_wrap_within_their_column() {
        let rows =
            [("decode", "113 tok/s".to_owned(), "102–145: from 13 results, closest match 98 %".to_owned())];
        let canvas = Canvas { columns: 45, rows: 20, unicode: true, color: false, limit: Some(45) };
        let expected =
            "decode  113 tok/s  102–145: from 13 results,\n                   closest match 98 %\n";
        assert_eq!(facts(&rows, &canvas), expected);
        assert_eq!(facts(&rows, &Canvas { limit: None, ..canvas }).lines().count(), 1);
    }

    #[test]
    fn noise_is_the_relative_distance_of_median_and_best() {
        let figure = Figure::new("seconds", "a product", "s", Better::Lower, 2.0);
        assert_eq!(figure.clone().between(2.0, 2.5).noise, Some(0.25));
        assert_eq!(figure.between(0.0, 0.0).noise, None);
    }
}
