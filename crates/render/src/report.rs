//! What every result is: a type with a schema, whose figures, tables, chart and text are its methods. Every output format,
//! `--require`, `gate` and `plot` read only these.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::marker::PhantomData;

use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::chart::Chart;
use crate::chart::sweep::Sweep;
use crate::chart::terminal::Canvas;
use crate::paired::Paired;

mod table;

use table::NARROWEST;
pub use table::{Table, broken};

/// A result.
pub trait Report: Serialize {
    /// What the `schema` field of its JSON says.
    const SCHEMA: &'static str;
    /// The names of figures that conditions may use.
    const FIGURES: &'static [&'static str] = &[];
    /// The names of texts that conditions may use.
    const TEXTS: &'static [&'static str] = &[];
    /// The names of truths, which are conditions by themselves.
    const TRUTHS: &'static [&'static str] = &[];
    /// Whether its text has lines of source in it, which no terminal is too narrow for.
    const SOURCE: bool = false;

    /// The unit of a figure that conditions may use.
    fn unit(_name: &str) -> &'static str {
        "1"
    }

    /// The tables; the first is the main one, which CSV prints.
    fn tables(&self) -> Vec<Table>;

    /// The whole for a terminal; its tables unless there is more to say.
    fn text(&self, canvas: &Canvas) -> String {
        self.tables().iter().map(|table| table.fitted(canvas, &[])).collect::<Vec<_>>().join("\n")
    }

    /// The Markdown; its tables unless there is something better to say there.
    fn markdown(&self) -> String {
        self.tables().iter().map(Table::markdown).collect::<Vec<_>>().join("\n")
    }

    /// What was found, as numbers that can be required and compared.
    fn figures(&self) -> Vec<Figure> {
        Vec::new()
    }

    /// The texts that conditions may use.
    fn texts(&self) -> Vec<Text> {
        Vec::new()
    }

    /// What must be the same for a comparison of two runs to mean something: what it is, and its value.
    fn setting(&self) -> Vec<(&'static str, String)> {
        Vec::new()
    }

    /// What one should know about its figures, as sentences.
    fn notes(&self) -> Vec<String> {
        Vec::new()
    }

    /// The picture of it, where there is one.
    fn chart(&self) -> Option<Chart> {
        None
    }

    /// A curve to draw below the picture, where there is one.
    fn sweep(&self) -> Option<Sweep> {
        None
    }
}

/// A result that can be read back.
pub trait Saved: Report + DeserializeOwned {
    /// What is wrong with its values, although they have the right types.
    fn validate(&self) -> Result<(), String> {
        Ok(())
    }

    /// The result of this JSON.
    fn from_json(text: &str) -> Result<Self, String> {
        let result: Self = serde_json::from_str(text).map_err(|error| error.to_string())?;
        result.validate()?;
        Ok(result)
    }
}

/// One figure of a result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Figure {
    /// What conditions call it: `read_gb_s`.
    pub name: Cow<'static, str>,
    /// What it is of, such as a product; empty for the run as a whole. Conditions are asked of each.
    pub of: String,
    /// What people call it: `memory read, 2 threads`.
    pub label: String,
    /// Its unit.
    pub unit: Cow<'static, str>,
    /// Which way is better.
    pub better: Better,
    /// The value.
    pub value: f64,
    /// How far the runs behind it lie apart, as a share of it; absent where there is no such thing.
    pub noise: Option<f64>,
    /// The reference load that ran in turn with it, where one did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub beside: Option<Paired>,
}

impl Figure {
    /// A figure of the run as a whole, without noise.
    pub fn new(
        name: impl Into<Cow<'static, str>>,
        label: impl Into<String>,
        unit: impl Into<Cow<'static, str>>,
        better: Better,
        value: f64,
    ) -> Figure {
        let (name, label, unit) = (name.into(), label.into(), unit.into());
        Figure { name, of: String::new(), label, unit, better, value, noise: None, beside: None }
    }

    /// The same of a part of the run.
    pub fn of(self, of: impl Into<String>) -> Figure {
        Figure { of: of.into(), ..self }
    }

    /// The same with a noise: how far the median lies from the best.
    pub fn between(self, best: f64, median: f64) -> Figure {
        let noise = Some((best - median).abs() / best).filter(|share| share.is_finite());
        Figure { noise, ..self }
    }
}

/// Groups of names as one list, for [`Report::FIGURES`] and [`Report::TEXTS`].
///
/// # Panics
/// If the groups together don't have exactly `N` names; in a constant that is an error of the compiler.
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
    assert!(at == N, "the groups have another number of names");
    all
}

/// The value of a [`Text`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TextValue {
    /// Words, which conditions compare with `==`.
    Words(String),
    /// A condition by itself.
    Truth(bool),
}

/// One text of a result, which conditions compare with `==`, or which is a condition by itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Text {
    /// What conditions call it: `decode_bound`.
    pub name: &'static str,
    /// What it is of, as for a figure; empty for the run as a whole.
    pub of: String,
    /// The text.
    pub value: TextValue,
}

impl Text {
    /// A text of the run as a whole.
    pub fn new(name: &'static str, value: impl ToString) -> Text {
        Text { name, of: String::new(), value: TextValue::Words(value.to_string()) }
    }

    /// A truth of the run as a whole, whose name is among [`Report::TRUTHS`].
    pub fn truth(name: &'static str, value: bool) -> Text {
        Text { name, of: String::new(), value: TextValue::Truth(value) }
    }

    /// The same of a part of the run.
    pub fn of(self, of: impl Into<String>) -> Text {
        Text { of: of.into(), ..self }
    }
}

/// A condition that was asked of a result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Checked {
    /// What it was asked of, such as a device; empty for the run as a whole.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub of: String,
    /// The condition as it was written.
    pub condition: String,
    /// Whether it holds; null when a value that decides it is not known, which does not pass either.
    pub holds: Option<bool>,
    /// The values that it names.
    pub values: BTreeMap<String, String>,
}

/// Which way a figure is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Better {
    /// A higher figure is better.
    Higher,
    /// A lower figure is better.
    Lower,
    /// It describes the run or follows from other figures, and is not compared.
    Neither,
}

/// The `schema` field of a result: always that of its type, and nothing else is read as one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Schema<T>(PhantomData<T>);

impl<T> Schema<T> {
    /// The only value there is.
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
            Err(D::Error::custom(format!("schema is `{found}`, not `{}`", T::SCHEMA)))
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

/// Facts about one thing for people: what it is, its value, and what that means, each in a column of its own; the last is broken
/// between words where the terminal is narrower.
pub fn facts(rows: &[(&str, String, String)], canvas: &Canvas) -> String {
    let width = |column: fn(&(&str, String, String)) -> usize| rows.iter().map(column).max().unwrap_or(0);
    let (first, second) = (width(|row| row.0.len()), width(|row| row.1.len()));
    let before = first + second + 4;
    let line = |(name, value, note): &(&str, String, String)| {
        let note = match canvas.limit {
            Some(limit) => broken(note, limit.saturating_sub(before).max(NARROWEST)),
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
    fn what_a_fact_means_is_broken_between_words_below_itself() {
        let rows =
            [("decode", "113 tok/s".to_owned(), "102 to 145: from 13 rows, the nearest at 98 %".to_owned())];
        let canvas = Canvas { columns: 45, rows: 20, unicode: true, colour: false, limit: Some(45) };
        let expected =
            "decode  113 tok/s  102 to 145: from 13 rows,\n                   the nearest at 98 %\n";
        assert_eq!(facts(&rows, &canvas), expected);
        assert_eq!(facts(&rows, &Canvas { limit: None, ..canvas }).lines().count(), 1);
    }

    #[test]
    fn noise_is_the_distance_of_the_median_from_the_best_and_nothing_when_there_is_no_best() {
        let figure = Figure::new("seconds", "a product", "s", Better::Lower, 2.0);
        assert_eq!(figure.clone().between(2.0, 2.5).noise, Some(0.25));
        assert_eq!(figure.between(0.0, 0.0).noise, None);
    }
}
