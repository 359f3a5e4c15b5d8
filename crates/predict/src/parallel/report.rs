//! Results of `plan` and of `predict` with several devices: layouts over device sets and their speeds.

use serde::{Deserialize, Serialize};

use super::{
    DeviceSet, Layout, LayoutPerformance, OffloadPerformance, Placement, ServingPerformance,
    SpeculativeDecoding, StageShare,
};
use crate::metric::{self, Metric};
use crate::predict::{Subject, Workload, parameters};
use roofline_render::chart::terminal::Canvas;
use roofline_render::format::{figure, maybe, percent};
use roofline_render::report::{Checked, Figure, Report, Saved, Schema, Table, Text, facts};

/// Maximum number of rows on a terminal.
const MAX_ROWS: usize = 12;
/// Maximum number of alternative layouts on a terminal.
const MAX_ALTERNATIVES: usize = 5;

/// Predictions for a model on sets of devices.
#[derive(Clone, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Plan {
    /// Schema of this document.
    pub schema: Schema<Self>,
    /// Contracts of the figures, with their versions.
    pub contracts: Vec<String>,
    /// Model.
    pub model: Subject,
    /// Workload.
    pub workload: Workload,
    /// Statement of the ceilings' validity.
    pub ceilings: String,
    /// Assumptions of the ideal figures.
    pub ideal_assumptions: String,
    /// Objectives that a set must meet.
    pub objectives: Vec<String>,
    /// Device sets in their best layouts; those that meet the objectives come first.
    pub rows: Vec<Row>,
    /// Results of the conditions given with --require.
    pub requirements: Vec<Checked>,
    /// Caveats about these figures.
    pub warnings: Vec<String>,
}

/// Device set in one layout.
#[derive(Clone, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Row {
    /// Names and counts of the devices.
    pub devices: String,
    /// Number of devices.
    pub count: u64,
    /// Sharding of the model.
    pub layout: Layout,
    /// Layers on the device if the rest is offloaded to the host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub placement: Option<Placement>,
    /// Share of the layers on each stage; empty for equal stages.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shares: Vec<StageShare>,
    /// True if the model fits; null if a memory capacity is unknown.
    pub fits: Option<bool>,
    /// True if all objectives are met; null if a figure they depend on is unknown.
    pub enough: Option<bool>,
    /// Missing memory or speed; empty if nothing is missing.
    pub shortfall: String,
    /// Peaks that are unknown; the figures assume that these operations take no time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unknown_peaks: Vec<String>,
    /// Memory used on the fullest device, in GB.
    pub device_gb: f64,
    /// Memory left on the fullest device, in GB; negative if the model does not fit, null if the capacity is unknown.
    pub spare_gb: Option<f64>,
    /// Link bandwidth of a device in one direction, in GB/s; absent for a single device and if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link_gb_s: Option<f64>,
    /// Host memory used by offloaded layers, in GB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_gb: Option<f64>,
    /// Host memory that is missing, in GB; `None` if nothing is offloaded or the capacity is unknown.
    #[serde(skip)]
    pub host_missing_gb: Option<f64>,
    /// Ceiling of decode, in token/s.
    pub decode_ceiling: f64,
    /// Ideal decode speed, in token/s.
    pub decode_ideal: f64,
    /// Ceiling of prefill, in token/s.
    pub prefill_ceiling: f64,
    /// Ideal prefill speed, in token/s.
    pub prefill_ideal: f64,
    /// Ideal time to first token, in s.
    pub time_to_first_token: f64,
    /// Share of communication in an ideal step.
    pub message_share: f64,
    /// Figures of a server; absent without users.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub served: Option<ServingPerformance>,
    /// Effect of speculative decoding.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub draft: Option<SpeculativeDecoding>,
    /// Sum of the launch prices, in USD; null if any is unknown.
    pub price_usd: Option<f64>,
    /// Sum of the powers, in W; null if any is unknown.
    pub power_w: Option<f64>,
    /// Ideal hardware cost per million tokens over three years, in USD, without energy; null if a price is unknown.
    pub usd_per_million_tokens: Option<f64>,
    /// Ideal energy per token, in J; null if a power is unknown.
    pub token_energy: Option<f64>,
    /// Other layouts, best first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub others: Vec<Alternative>,
    /// Best layout for each number of users that fits; ceilings apply to any layout.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub curve: Vec<Alternative>,
}

/// Alternative layout, or another number of users.
#[derive(Clone, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Alternative {
    /// Sharding of the model.
    pub layout: Layout,
    /// True if the model fits; null if a memory capacity is unknown.
    pub fits: Option<bool>,
    /// True if all objectives are met; null if a figure they depend on is unknown.
    pub enough: Option<bool>,
    /// Ceiling of decode, in token/s.
    pub decode_ceiling: f64,
    /// Ideal decode speed, in token/s.
    pub decode_ideal: f64,
    /// Ceiling of prefill, in token/s.
    pub prefill_ceiling: f64,
    /// Ideal prefill speed, in token/s.
    pub prefill_ideal: f64,
    /// Figures of a server; absent without users.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub served: Option<ServingPerformance>,
}

impl Row {
    /// Returns the row of a device set in one layout.
    pub fn new(set: &DeviceSet, reached: &LayoutPerformance, served: Option<ServingPerformance>) -> Row {
        let mut fits = reached.fits();
        let mut shortfall = match reached.spare_gb {
            Some(spare) if spare < 0.0 => format!("{} GB per device", figure(-spare)),
            _ => String::new(),
        };
        let users = served.as_ref().and_then(|served| served.largest_batch);
        if let Some(most) = users.filter(|_| shortfall.is_empty())
            && let Some(served) = &served
            && most < served.users
        {
            fits = Some(false);
            shortfall = format!("memory for {} users", served.users - most);
        }
        Row {
            devices: set.name(),
            count: set.devices(),
            layout: reached.layout,
            placement: None,
            shares: reached.shares.clone(),
            fits,
            enough: fits,
            shortfall,
            unknown_peaks: Vec::new(),
            device_gb: reached.device_gb,
            spare_gb: reached.spare_gb,
            link_gb_s: set.link().filter(|_| set.devices() > 1),
            host_gb: None,
            host_missing_gb: None,
            decode_ceiling: reached.decode_ceiling,
            decode_ideal: reached.decode_ideal,
            prefill_ceiling: reached.prefill_ceiling,
            prefill_ideal: reached.prefill_ideal,
            time_to_first_token: reached.prompt_time,
            message_share: reached.message_share,
            served,
            draft: None,
            price_usd: set.price(),
            power_w: set.power(),
            usd_per_million_tokens: None,
            token_energy: None,
            others: Vec::new(),
            curve: Vec::new(),
        }
    }

    /// Returns the row as an alternative to another one.
    pub fn way(&self) -> Alternative {
        let Row { layout, fits, enough, decode_ceiling, decode_ideal, .. } = *self;
        let Row { prefill_ceiling, prefill_ideal, .. } = *self;
        let served = self.served.clone();
        Alternative {
            layout,
            fits,
            enough,
            decode_ceiling,
            decode_ideal,
            prefill_ceiling,
            prefill_ideal,
            served,
        }
    }

    /// Returns the row of a device that offloads layers to its host.
    pub fn offloaded(set: &DeviceSet, host: &str, offloaded: &OffloadPerformance) -> Row {
        let mut row = Row::new(set, &offloaded.reached, None);
        row.devices = format!("{} with {host}", row.devices);
        row.placement = Some(offloaded.placement);
        row.host_gb = Some(offloaded.host_gb);
        row.host_missing_gb = offloaded.host_missing_gb;
        match offloaded.host_missing_gb {
            Some(missing) if missing > 0.0 => {
                let host = format!("{} GB of host memory", figure(missing));
                row.shortfall =
                    if row.shortfall.is_empty() { host } else { format!("{}, {host}", row.shortfall) };
                (row.fits, row.enough) = (Some(false), Some(false));
            }
            // Without the host's capacity, the fit is unknown.
            None if row.fits == Some(true) && offloaded.host_gb > 0.0 => {
                (row.fits, row.enough) = (None, None);
            }
            _ => {}
        }
        // Price and power of the host are unknown.
        (row.price_usd, row.power_w) = (None, None);
        row
    }

    /// Returns the ideal speed that layouts are ranked by, in token/s: output of all users, or decode without users.
    pub fn speed(&self) -> f64 {
        self.served.as_ref().map_or(self.decode_ideal, |served| served.output_rate)
    }

    /// Returns the ceiling of [`speed`](Self::speed), in token/s.
    pub fn ceiling(&self) -> f64 {
        self.served.as_ref().map_or(self.decode_ceiling, |served| served.output_ceiling)
    }

    fn placement_description(&self) -> String {
        self.placement.map_or_else(|| self.layout.explained(), |placement| placement.name())
    }

    fn placement_name(&self) -> String {
        self.placement.map_or_else(|| self.layout.name(), |placement| placement.name())
    }

    /// Returns a figure by its name in conditions; `None` if it is unknown.
    pub fn value(&self, name: &str) -> Option<f64> {
        let served = self.served.as_ref();
        match name {
            "decode_ceiling" => Some(self.decode_ceiling),
            "decode_ideal" => Some(self.decode_ideal),
            "prefill_ceiling" => Some(self.prefill_ceiling),
            "prefill_ideal" => Some(self.prefill_ideal),
            "device_memory" => Some(self.device_gb),
            "devices" => Some(self.count as f64),
            "price" => self.price_usd,
            "power" => self.power_w,
            "usd_per_million_tokens" => self.usd_per_million_tokens,
            "token_energy" => self.token_energy,
            "output_ceiling" => Some(served?.output_ceiling),
            "output_rate" => Some(served?.output_rate),
            "request_rate" => Some(served?.request_rate),
            "token_time" => Some(served?.token_time),
            "token_least_time" => Some(served?.token_least_time),
            "time_to_first_token" => {
                Some(served.map_or(self.time_to_first_token, |served| served.time_to_first_token))
            }
            _ => None,
        }
    }
}

impl Plan {
    /// Creates a plan from its rows, with the sentences on ceilings and ideal figures.
    pub fn new(
        contracts: Vec<String>,
        model: Subject,
        workload: Workload,
        (ceilings, ideal_assumptions): (String, String),
        objectives: Vec<String>,
        rows: Vec<Row>,
        warnings: Vec<String>,
    ) -> Plan {
        let (schema, requirements) = (Schema::new(), Vec::new());
        Plan {
            schema,
            contracts,
            model,
            workload,
            ceilings,
            ideal_assumptions,
            objectives,
            rows,
            requirements,
            warnings,
        }
    }

    /// Returns true if any device set meets the objectives.
    pub fn any_meets_objectives(&self) -> bool {
        self.rows.iter().any(|row| row.enough == Some(true))
    }

    fn comparison(&self, canvas: &Canvas) -> String {
        let mut out = String::new();
        let (enough, others): (Vec<&Row>, Vec<&Row>) =
            self.rows.iter().partition(|row| row.enough != Some(false));
        let titles = if others.is_empty() { ["", ""] } else { ["Meet the target", "Fall short"] };
        for (title, rows) in titles.into_iter().zip([enough, others]) {
            if rows.is_empty() {
                continue;
            }
            let mut table = self.table(title, &rows[..rows.len().min(MAX_ROWS)]);
            table.without_empty("shortfall");
            // The ideal follows its ceiling, so the heading need not repeat the phase.
            for heading in &mut table.headings {
                let short = if heading.ends_with("_ideal") { "ideal" } else { heading.as_str() };
                *heading = short.replace('_', " ");
            }
            out += &format!("\n{}", table.render_within(canvas, &[]));
            if rows.len() > MAX_ROWS {
                out += &format!(" and {} more (every row is in the JSON output)\n", rows.len() - MAX_ROWS);
            }
        }
        out
    }

    fn details(&self, row: &Row, canvas: &Canvas) -> String {
        let tokens = |rate: f64| format!("{} tok/s", figure(rate));
        let ms = |time: f64| format!("{} ms", figure(1e3 * time));
        let memory = match row.spare_gb {
            Some(spare) if spare >= 0.0 => format!("fits in {} GB", figure(row.device_gb + spare)),
            Some(spare) => format!("does not fit in {} GB", figure(row.device_gb + spare)),
            None => "memory capacity unknown".into(),
        };
        let each = if row.count > 1 { "memory per device" } else { "memory" };
        let mut rows = vec![(each, format!("{} GB", figure(row.device_gb)), memory)];
        if let Some(host) = row.host_gb {
            let short = row.host_missing_gb.filter(|missing| *missing > 0.0);
            let fits = match (short, row.fits) {
                (Some(short), _) => format!("{} GB missing", figure(short)),
                (None, None) => "host memory capacity unknown".into(),
                (None, Some(_)) => "fits".into(),
            };
            rows.push(("host memory", format!("{} GB", figure(host)), fits));
        }
        if !row.shares.is_empty() {
            let share = |one: &StageShare| match one.layers {
                // The contract requires a positive share.
                ..1e-5 => format!("{} none", one.devices),
                layers => format!("{} {}", one.devices, percent(Some(layers))),
            };
            let shares: Vec<String> = row.shares.iter().map(share).collect();
            rows.push(("layers", format!("{} stages", shares.len()), shares.join(", ")));
        }
        if let Some(link) = row.link_gb_s {
            let between = "per device, in one direction; override with --link";
            rows.push(("interconnect", format!("{} GB/s", figure(link)), between.into()));
        }
        match &row.served {
            Some(served) => {
                let each = format!("{} tok/s per user", figure(1.0 / served.token_time));
                let room = match served.largest_batch {
                    Some(_) => {
                        format!("complete sequences next to the weights; {} requested", served.users)
                    }
                    None => "memory capacity unknown".into(),
                };
                let after = format!("prompt of {} tokens", self.workload.prompt);
                rows.extend([
                    (
                        "capacity",
                        served.largest_batch.map_or("-".into(), |most| format!("{most} users")),
                        room,
                    ),
                    ("output, ceiling", tokens(served.output_ceiling), "all users".into()),
                    ("output, ideal", tokens(served.output_rate), "all users".into()),
                    ("requests, ideal", format!("{} /s", figure(served.request_rate)), String::new()),
                    ("TPOT, lower bound", ms(served.token_least_time), String::new()),
                    ("TPOT, ideal", ms(served.token_time), each),
                    ("TTFT, lower bound", ms(served.first_token_least_time), after),
                    ("TTFT, ideal", ms(served.time_to_first_token), "excluding queueing".into()),
                ]);
            }
            None => rows.extend([
                ("decode, ceiling", tokens(row.decode_ceiling), String::new()),
                ("decode, ideal", tokens(row.decode_ideal), String::new()),
                ("prefill, ceiling", tokens(row.prefill_ceiling), String::new()),
                ("prefill, ideal", tokens(row.prefill_ideal), String::new()),
                (
                    "TTFT, ideal",
                    ms(row.time_to_first_token),
                    format!("prompt of {} tokens", self.workload.prompt),
                ),
            ]),
        }
        if let Some(draft) = &row.draft {
            let gains = match draft.break_even {
                Some(even) => format!(
                    "at most {}; faster from an acceptance rate of {}",
                    figure(draft.most_speed_up),
                    figure(even)
                ),
                None => format!("at most {}; slower at any acceptance rate", figure(draft.most_speed_up)),
            };
            rows.extend([
                ("tokens per pass, ideal", figure(draft.tokens_per_pass), "with the draft model".into()),
                ("  speedup, ideal", figure(draft.speed_up), gains),
            ]);
        }
        if row.message_share > 0.0 {
            rows.push(("communication", percent(Some(row.message_share)), "of an ideal step".into()));
        }
        if let (Some(energy), Some(power)) = (row.token_energy, row.power_w) {
            let at = format!("at {} W", figure(power));
            rows.push(("energy, ideal", format!("{} J/token", figure(energy)), at));
        }
        if let (Some(price), Some(tokens)) = (row.price_usd, row.usd_per_million_tokens) {
            let each = format!("at launch; ideally {} USD per million tokens", figure(tokens));
            rows.push(("price", format!("{price} USD"), each));
        }
        let placement = row.placement_description();
        let mut out = format!("on {}: {placement}\n\n{}", row.devices, facts(&rows, canvas));
        if !self.objectives.is_empty() {
            // The largest number of users for which the objectives are met.
            let met = row.curve.iter().filter(|way| way.enough == Some(true));
            let most = met.filter_map(|way| Some(way.served.as_ref()?.users)).reduce(f64::max);
            let most = most.filter(|most| *most != self.workload.batch);
            out += &match (row.enough, most) {
                (Some(true), Some(most)) => {
                    format!("\nMeets the objective for up to {most} users.\n")
                }
                (Some(true), None) => "\nMeets the objective.\n".to_owned(),
                _ if row.shortfall.is_empty() => {
                    "\nCannot decide if the objective is met: a required figure is unknown.\n".into()
                }
                (_, Some(most)) => format!(
                    "\nFalls short of the objective: {}. Meets it for up to {most} users.\n",
                    row.shortfall
                ),
                (_, None) => format!("\nFalls short of the objective: {}.\n", row.shortfall),
            };
        }
        if !row.others.is_empty() {
            let shown = &row.others[..row.others.len().min(MAX_ALTERNATIVES)];
            let left = row.others.len() - shown.len();
            let title = match left {
                0 => "Other layouts".to_owned(),
                left => format!("Other layouts, the best {} of {}", shown.len(), shown.len() + left),
            };
            out += &format!("\n{}", alternatives(&title, shown).render_within(canvas, &[]));
        }
        if row.curve.len() > 1 {
            out += &format!(
                "\n{}",
                alternatives("By number of users: best layout for each; ceilings for any layout", &row.curve)
                    .render_within(canvas, &[])
            );
        }
        out
    }

    /// Decisive columns come first because narrow terminals hide columns from the right.
    fn table(&self, title: &str, rows: &[&Row]) -> Table {
        let served = rows.iter().any(|row| row.served.is_some());
        let drafted = rows.iter().any(|row| row.draft.is_some());
        let hosted = rows.iter().any(|row| row.host_gb.is_some());
        let priced = rows.iter().any(|row| row.price_usd.is_some());
        let mut headings = vec!["devices", "layout", "fits", "shortfall"];
        if priced {
            headings.push("usd");
        }
        headings.extend(if served {
            [
                "output_ceiling",
                "output_ideal",
                "tpot_ms_lower_bound",
                "tpot_ms_ideal",
                "ttft_ms",
                "requests_per_s",
                "max_users",
            ]
            .as_slice()
        } else {
            ["decode_ceiling", "decode_ideal", "prefill_ceiling", "prefill_ideal", "ttft_ms"].as_slice()
        });
        if drafted {
            headings.extend(["tokens_per_pass", "speedup", "max_speedup", "break_even"]);
        }
        if priced {
            headings.push("usd_per_mtoken");
        }
        headings.extend(["j_per_token", "gb_per_device"]);
        if hosted {
            headings.push("host_gb");
        }
        let of = |row: &&Row| {
            let fits = row.fits.map_or("unknown", |fits| if fits { "yes" } else { "no" });
            let mut cells =
                vec![row.devices.clone(), row.placement_name(), fits.to_owned(), row.shortfall.clone()];
            if priced {
                cells.push(row.price_usd.map_or("-".into(), |price| price.to_string()));
            }
            match &row.served {
                Some(served) => {
                    cells.extend(
                        [
                            served.output_ceiling,
                            served.output_rate,
                            1e3 * served.token_least_time,
                            1e3 * served.token_time,
                            1e3 * served.time_to_first_token,
                            served.request_rate,
                        ]
                        .map(figure),
                    );
                    cells.push(served.largest_batch.map_or("-".into(), |most| most.to_string()));
                }
                None => cells.extend(
                    [
                        row.decode_ceiling,
                        row.decode_ideal,
                        row.prefill_ceiling,
                        row.prefill_ideal,
                        1e3 * row.time_to_first_token,
                    ]
                    .map(figure),
                ),
            }
            if drafted {
                let draft = row.draft.as_ref();
                cells.extend([
                    maybe(draft.map(|draft| draft.tokens_per_pass)),
                    maybe(draft.map(|draft| draft.speed_up)),
                    maybe(draft.map(|draft| draft.most_speed_up)),
                    maybe(draft.and_then(|draft| draft.break_even)),
                ]);
            }
            if priced {
                cells.push(maybe(row.usd_per_million_tokens));
            }
            cells.extend([maybe(row.token_energy), figure(row.device_gb)]);
            if hosted {
                cells.push(maybe(row.host_gb));
            }
            cells
        };
        Table::new(title, &headings, rows.iter().map(of))
    }
}

fn alternatives(title: &str, ways: &[Alternative]) -> Table {
    let served = ways.iter().any(|way| way.served.is_some());
    let headings = if served {
        ["users", "layout", "fits", "tok/s, ceiling", "ideal", "TPOT ms, at least", "ideal", "TTFT ms"]
            .as_slice()
    } else {
        ["layout", "fits", "decode ceiling", "ideal", "prefill ceiling", "ideal"].as_slice()
    };
    let of = |way: &Alternative| {
        let fits = way.fits.map_or("unknown", |fits| if fits { "yes" } else { "no" });
        let mut cells: Vec<String> = way.served.iter().map(|served| served.users.to_string()).collect();
        cells.extend([way.layout.name(), fits.to_owned()]);
        cells.extend(match &way.served {
            Some(served) => vec![
                figure(served.output_ceiling),
                figure(served.output_rate),
                figure(1e3 * served.token_least_time),
                figure(1e3 * served.token_time),
                figure(1e3 * served.time_to_first_token),
            ],
            None => [way.decode_ceiling, way.decode_ideal, way.prefill_ceiling, way.prefill_ideal]
                .map(figure)
                .to_vec(),
        });
        cells
    };
    Table::new(title, headings, ways.iter().map(of))
}

impl Report for Plan {
    const SCHEMA: &'static str = "roofline.plan/1";
    const FIGURES: &'static [&'static str] = &[
        "decode_ceiling",
        "decode_ideal",
        "prefill_ceiling",
        "prefill_ideal",
        "output_ceiling",
        "output_rate",
        "request_rate",
        "token_least_time",
        "token_time",
        "time_to_first_token",
        "device_memory",
        "devices",
        "price",
        "power",
        "usd_per_million_tokens",
        "token_energy",
    ];
    const TRUTHS: &'static [&'static str] = &["fits"];

    fn unit(name: &str) -> &'static str {
        metric::unit(name)
    }

    fn tables(&self) -> Vec<Table> {
        vec![self.table("", &self.rows.iter().collect::<Vec<_>>())]
    }

    fn text(&self, canvas: &Canvas) -> String {
        let model = &self.model;
        let Workload { batch, context, prompt, output, .. } = &self.workload;
        let workload = match output {
            Some(output) => format!("{batch} users, prompts of {prompt} tokens, outputs of {output} tokens"),
            None => format!("batch size {batch}, context {context} tokens, prompt {prompt} tokens"),
        };
        let mut out = format!(
            "{}: {} parameters, {}; {workload}\n",
            model.name,
            parameters(model.parameters),
            model.quant
        );
        for objective in &self.objectives {
            out += &format!("objective: {objective}\n");
        }
        if let [row] = self.rows.as_slice() {
            out += &self.details(row, canvas);
        } else {
            out += &self.comparison(canvas);
        }
        out += &format!("\n{}\n{}\n", self.ceilings, self.ideal_assumptions);
        out
    }

    fn figures(&self) -> Vec<Figure> {
        let several = self.rows.len() > 1;
        let mut figures = Vec::new();
        for row in &self.rows {
            for &name in Plan::FIGURES {
                let Metric { better, label, unit, .. } = metric::by_name(name);
                let label = format!("{label}, {}", row.devices);
                if let Some(value) = row.value(name) {
                    let figure = Figure::new(name, label, unit, better, value);
                    figures.push(if several { figure.of(&row.devices) } else { figure });
                }
            }
        }
        figures
    }

    fn texts(&self) -> Vec<Text> {
        let several = self.rows.len() > 1;
        let of = |row: &Row| {
            let text = Text::truth("fits", row.fits?);
            Some(if several { text.of(&row.devices) } else { text })
        };
        self.rows.iter().filter_map(of).collect()
    }
}

impl Saved for Plan {}
