//! Profiles of a model file on several devices, and their comparison.

use schemars::JsonSchema;
use serde::Serialize;

use crate::chart::Chart;
use crate::chart::terminal::Canvas;
use crate::cli::{Exit, Failure, conditions};
use crate::profile::{Profile, Total};
use crate::report::{Report, Schema, Table};
use roofline_render::format::maybe;

/// Profiles of one model on several devices.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Profiles {
    /// Schema of this document.
    schema: Schema<Self>,
    /// One profile per device.
    profiles: Vec<Profile>,
}

impl Profiles {
    /// Collects the profiles, or returns the first error.
    pub fn new(profiles: impl Iterator<Item = Result<Profile, Failure>>) -> Result<Profiles, Failure> {
        Ok(Profiles { schema: Schema::new(), profiles: profiles.collect::<Result<_, _>>()? })
    }

    /// Reports requirements that do not hold, and returns the exit code.
    pub fn exit(&self) -> Exit {
        let each = self.profiles.iter().map(|profile| {
            let with_device = |checked: &crate::report::Checked| {
                let of = [&*profile.device.name, &*checked.of].join(" ").trim().to_owned();
                crate::report::Checked { of, ..checked.clone() }
            };
            conditions::exit(&profile.requirements.iter().map(with_device).collect::<Vec<_>>())
        });
        each.max().unwrap_or(Exit::Fine)
    }
}

impl Report for Profiles {
    const SCHEMA: &'static str = "roofline.profiles/1";

    fn tables(&self) -> Vec<Table> {
        let speed = |total: Option<&Total>| maybe(total.map(|total| total.ceiling_per_s));
        let bound = |total: Option<&Total>| total.map_or("-".into(), |total| total.bound.to_string());
        let rows = self.profiles.iter().map(|profile| {
            let (decode, prefill) = (profile.decode.as_ref(), profile.prefill.as_ref());
            vec![
                profile.device.name.clone(),
                profile.device.precision.to_string(),
                speed(decode),
                bound(decode),
                speed(prefill),
                bound(prefill),
                maybe(profile.pass.map(|pass| pass.ceiling_per_s)),
            ]
        });
        let headings = [
            "device",
            "precision",
            "decode ceiling",
            "decode bound",
            "prefill ceiling",
            "prefill bound",
            "pass ceiling",
        ];
        let mut tables = vec![Table::new("Ceilings", &headings, rows)];
        for profile in &self.profiles {
            let named = |table: Table| {
                let title = [&*profile.device.name, &*table.title].join(" ").trim().to_owned();
                Table { title, ..table }
            };
            tables.extend(profile.tables().into_iter().map(named));
        }
        tables
    }

    fn text(&self, canvas: &Canvas) -> String {
        let each = self.profiles.iter().map(|profile| profile.text(canvas));
        let compared = self.tables().into_iter().take(1).map(|table| table.render_within(canvas, &[]));
        each.chain(compared).collect::<Vec<_>>().join("\n")
    }

    fn chart(&self) -> Option<Chart> {
        Some(Chart::together(self.profiles.iter().filter_map(Report::chart).collect()))
    }
}
