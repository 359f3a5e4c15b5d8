//! A plan as a result: sets of devices, the layout of a model over each, and what it reaches.

use serde::{Deserialize, Serialize};

use super::{Draft, Held, Layout, Offloaded, Reached, Served, Set, StageShare};
use crate::metric::{self, Metric};
use crate::predict::{Subject, Workload};
use roofline_render::chart::terminal::Canvas;
use roofline_render::number::{figure, maybe, percent};
use roofline_render::report::{Checked, Figure, Report, Saved, Schema, Table, Text, facts};

/// Rows of a table on a terminal; the other formats have all.
const SHOWN: usize = 12;
/// Other layouts than the best on a terminal.
const OTHERS: usize = 5;

/// What a model reaches on sets of devices.
#[derive(Clone, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Plan {
    /// Which schema this document follows.
    pub schema: Schema<Self>,
    /// The contracts that the figures come from, and their versions.
    pub contracts: Vec<String>,
    /// The model.
    pub model: Subject,
    /// What it is asked to do.
    pub workload: Workload,
    /// What the ceilings hold for, and what they leave out.
    pub ceilings: String,
    /// What the estimates assume.
    pub estimates: String,
    /// What must hold of a set and its layout.
    pub objectives: Vec<String>,
    /// The sets, each in its best layout; those that do what is wanted first.
    pub rows: Vec<Row>,
    /// What --require asked for.
    pub requirements: Vec<Checked>,
    /// What one should know about these figures.
    pub warnings: Vec<String>,
}

/// A set of devices in a layout.
#[derive(Clone, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Row {
    /// The devices.
    pub devices: String,
    /// How many they are.
    pub count: u64,
    /// How the model is dealt out over them.
    pub layout: Layout,
    /// What the device holds, where the rest is left to the host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held: Option<Held>,
    /// Share of the layers that each stage has, where devices differ.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shares: Vec<StageShare>,
    /// Whether it fits; null where the memory of a device is not known.
    pub fits: Option<bool>,
    /// Whether all that is wanted holds; null where what decides it is not known.
    pub enough: Option<bool>,
    /// What it is short of; empty where that is nothing.
    pub short_of: String,
    /// Kinds of numbers that are multiplied and whose rate nobody publishes: they take no time, and the figures are those of the
    /// memory.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_known: Vec<String>,
    /// Memory that the fullest device takes, in GB.
    pub device_gb: f64,
    /// Memory that the fullest device has left, in GB, below zero where it is short of some; null where it is not known.
    pub spare_gb: Option<f64>,
    /// What the links of a device to the others carry in one direction, in GB/s; absent where there is one device, or where it
    /// is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link_gb_s: Option<f64>,
    /// Memory of the host that is taken, in GB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_gb: Option<f64>,
    /// Tokens per second that nothing exceeds.
    pub decode_ceiling: f64,
    /// Estimate, the tokens per second.
    pub decode_estimate: f64,
    /// Tokens of prompts per second that nothing exceeds.
    pub prefill_ceiling: f64,
    /// Estimate, the tokens of prompts per second.
    pub prefill_estimate: f64,
    /// Ideal time to first token, in s.
    pub time_to_first_token: f64,
    /// Estimate, the share of a step that messages take.
    pub message_share: f64,
    /// What users get.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub served: Option<Served>,
    /// What a draft model brings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub draft: Option<Draft>,
    /// Prices at the launch together, in US dollars; null if one is not known.
    pub price_usd: Option<f64>,
    /// Power together, in W; null if one is not known.
    pub power_w: Option<f64>,
    /// Estimate, US dollars for a million tokens over three years of use without energy; null if a price is not known.
    pub usd_per_million_tokens: Option<f64>,
    /// Estimate, the energy of one token in J; null if a power is not known.
    pub token_energy: Option<f64>,
    /// The other layouts, the better first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub others: Vec<Way>,
    /// The best layout for fewer and for more users, as far as their caches fit; the ceilings are those of any layout.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub curve: Vec<Way>,
}

/// A set of devices in another layout than the best, or for another number of users.
#[derive(Clone, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Way {
    /// How the model is dealt out over them.
    pub layout: Layout,
    /// Whether it fits; null where the memory of a device is not known.
    pub fits: Option<bool>,
    /// Whether all that is wanted holds; null where what decides it is not known.
    pub enough: Option<bool>,
    /// Tokens per second that nothing exceeds.
    pub decode_ceiling: f64,
    /// Estimate, the tokens per second.
    pub decode_estimate: f64,
    /// Tokens of prompts per second that nothing exceeds.
    pub prefill_ceiling: f64,
    /// Estimate, the tokens of prompts per second.
    pub prefill_estimate: f64,
    /// What users get.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub served: Option<Served>,
}

impl Row {
    /// A set in a layout.
    pub fn new(set: &Set, reached: &Reached, served: Option<Served>) -> Row {
        let mut fits = reached.fits();
        let mut short_of = match reached.spare_gb {
            Some(spare) if spare < 0.0 => format!("{} GB on a device", figure(-spare)),
            _ => String::new(),
        };
        let users = served.as_ref().and_then(|served| served.largest_batch);
        if let Some(most) = users.filter(|_| short_of.is_empty())
            && let Some(served) = &served
            && most < served.users
        {
            fits = Some(false);
            short_of = format!("room for {} users", served.users - most);
        }
        Row {
            devices: set.name(),
            count: set.devices(),
            layout: reached.layout,
            held: None,
            shares: reached.shares.clone(),
            fits,
            enough: fits,
            short_of,
            not_known: Vec::new(),
            device_gb: reached.device_gb,
            spare_gb: reached.spare_gb,
            link_gb_s: set.link().filter(|_| set.devices() > 1),
            host_gb: None,
            decode_ceiling: reached.decode_ceiling,
            decode_estimate: reached.decode_estimate,
            prefill_ceiling: reached.prefill_ceiling,
            prefill_estimate: reached.prefill_estimate,
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

    /// The row as one way among others.
    pub fn way(&self) -> Way {
        let Row { layout, fits, enough, decode_ceiling, decode_estimate, .. } = *self;
        let Row { prefill_ceiling, prefill_estimate, .. } = *self;
        let served = self.served.clone();
        Way {
            layout,
            fits,
            enough,
            decode_ceiling,
            decode_estimate,
            prefill_ceiling,
            prefill_estimate,
            served,
        }
    }

    /// A device with some of the model on its host.
    pub fn offloaded(set: &Set, host: &str, offloaded: &Offloaded) -> Row {
        let mut row = Row::new(set, &offloaded.reached, None);
        row.devices = format!("{} with {host}", row.devices);
        row.held = Some(offloaded.held);
        row.host_gb = Some(offloaded.host_gb);
        match offloaded.host_missing_gb {
            Some(missing) if missing > 0.0 => {
                let host = format!("{} GB on the host", figure(missing));
                row.short_of =
                    if row.short_of.is_empty() { host } else { format!("{}, {host}", row.short_of) };
                (row.fits, row.enough) = (Some(false), Some(false));
            }
            // Whether the host has the room is not known, unless the device has not.
            None if row.fits == Some(true) && offloaded.host_gb > 0.0 => {
                (row.fits, row.enough) = (None, None);
            }
            _ => {}
        }
        // The host has its price and its power too, and nobody says them.
        (row.price_usd, row.power_w) = (None, None);
        row
    }

    /// The speed that a layout is chosen by: an estimate, of answers where there are users.
    pub fn speed(&self) -> f64 {
        self.served.as_ref().map_or(self.decode_estimate, |served| served.output_rate)
    }

    /// The ceiling of that speed.
    pub fn ceiling(&self) -> f64 {
        self.served.as_ref().map_or(self.decode_ceiling, |served| served.output_ceiling)
    }

    /// How the model is dealt out, as a sentence.
    fn explained(&self) -> String {
        self.held.map_or_else(|| self.layout.explained(), |held| held.name())
    }

    /// How the model is dealt out, in a few words.
    fn dealt(&self) -> String {
        self.held.map_or_else(|| self.layout.name(), |held| held.name())
    }

    /// A figure that conditions may name.
    pub fn value(&self, name: &str) -> Option<f64> {
        let served = self.served.as_ref();
        match name {
            "decode_ceiling" => Some(self.decode_ceiling),
            "decode_estimate" => Some(self.decode_estimate),
            "prefill_ceiling" => Some(self.prefill_ceiling),
            "prefill_estimate" => Some(self.prefill_estimate),
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
    /// Rows with what is true of all of them: what ceilings hold for, and what estimates assume.
    pub fn new(
        contracts: Vec<String>,
        model: Subject,
        workload: Workload,
        (ceilings, estimates): (String, String),
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
            estimates,
            objectives,
            rows,
            requirements,
            warnings,
        }
    }

    /// Whether a set does what is wanted.
    pub fn any_enough(&self) -> bool {
        self.rows.iter().any(|row| row.enough == Some(true))
    }

    /// The rows for people: those that do what is wanted, and those that do not.
    fn several(&self, canvas: &Canvas) -> String {
        let mut out = String::new();
        let (enough, others): (Vec<&Row>, Vec<&Row>) =
            self.rows.iter().partition(|row| row.enough != Some(false));
        let titles = if others.is_empty() { ["", ""] } else { ["These do", "These do not"] };
        for (title, rows) in titles.into_iter().zip([enough, others]) {
            if rows.is_empty() {
                continue;
            }
            let mut table = self.table(title, &rows[..rows.len().min(SHOWN)]);
            table.without_empty("short_of");
            // An estimate stands beside what it is one of.
            for heading in &mut table.headings {
                let short = if heading.ends_with("_estimate") { "estimate" } else { heading.as_str() };
                *heading = short.replace('_', " ");
            }
            out += &format!("\n{}", table.fitted(canvas, &[]));
            if rows.len() > SHOWN {
                out += &format!(" and {} more, which the other formats list\n", rows.len() - SHOWN);
            }
        }
        out
    }

    /// One set for people: what it reaches, and what that means.
    fn single(&self, row: &Row, canvas: &Canvas) -> String {
        let tokens = |rate: f64| format!("{} tok/s", figure(rate));
        let ms = |time: f64| format!("{} ms", figure(1e3 * time));
        let memory = match row.spare_gb {
            Some(spare) if spare >= 0.0 => format!("fits in {} GB", figure(row.device_gb + spare)),
            Some(spare) => format!("does not fit in {} GB", figure(row.device_gb + spare)),
            None => "the memory of a device is not known".into(),
        };
        let each = if row.count > 1 { "memory of a device" } else { "memory" };
        let mut rows = vec![(each, format!("{} GB", figure(row.device_gb)), memory)];
        if let Some(host) = row.host_gb {
            let short = row.short_of.split(", ").find(|part| part.ends_with("on the host"));
            let fits = match (short, row.fits) {
                (Some(short), _) => format!("short of {short}"),
                (None, None) => "the memory of the host is not known".into(),
                (None, Some(_)) => "fits".into(),
            };
            rows.push(("memory of the host", format!("{} GB", figure(host)), fits));
        }
        if !row.shares.is_empty() {
            let share = |one: &StageShare| match one.layers {
                // The least that the contract takes for a stage.
                ..1e-5 => format!("{} none", one.devices),
                layers => format!("{} {}", one.devices, percent(Some(layers))),
            };
            let shares: Vec<String> = row.shares.iter().map(share).collect();
            rows.push(("layers", format!("{} stages", shares.len()), shares.join(", ")));
        }
        if let Some(link) = row.link_gb_s {
            let between = "of a device to the others, in one direction; --link takes another";
            rows.push(("links", format!("{} GB/s", figure(link)), between.into()));
        }
        match &row.served {
            Some(served) => {
                let each = format!("estimate: {} tok/s for each user", figure(1.0 / served.token_time));
                let room = match served.largest_batch {
                    Some(_) => {
                        format!("whole sequences fit beside the weights, {} are asked for", served.users)
                    }
                    None => "the memory of a device is not known".into(),
                };
                let after = format!("after a prompt of {} tokens", self.workload.prompt);
                rows.extend([
                    ("room for", served.largest_batch.map_or("-".into(), |most| most.to_string()), room),
                    ("answers, ceiling", tokens(served.output_ceiling), "of all users together".into()),
                    ("answers", tokens(served.output_rate), "estimate".into()),
                    ("requests", format!("{} /s", figure(served.request_rate)), "estimate".into()),
                    ("token, at least", ms(served.token_least_time), "between two tokens of a user".into()),
                    ("token", ms(served.token_time), each),
                    ("first token, at least", ms(served.first_token_least_time), after),
                    (
                        "first token",
                        ms(served.time_to_first_token),
                        "estimate, for a user who waits for nobody".into(),
                    ),
                ]);
            }
            None => rows.extend([
                ("decode, ceiling", tokens(row.decode_ceiling), String::new()),
                ("decode", tokens(row.decode_estimate), "estimate".into()),
                ("prefill, ceiling", tokens(row.prefill_ceiling), String::new()),
                ("prefill", tokens(row.prefill_estimate), "estimate".into()),
                (
                    "first token",
                    ms(row.time_to_first_token),
                    format!("estimate, after a prompt of {} tokens", self.workload.prompt),
                ),
            ]),
        }
        if let Some(draft) = &row.draft {
            let gains = match draft.break_even {
                Some(even) => format!(
                    "estimate, at most {}; gains from an acceptance of {} on",
                    figure(draft.most_speed_up),
                    figure(even)
                ),
                None => format!(
                    "estimate, at most {}; no acceptance is enough to gain",
                    figure(draft.most_speed_up)
                ),
            };
            rows.extend([
                ("tokens of a pass", figure(draft.tokens_per_pass), "estimate, with the draft model".into()),
                ("  speed-up", figure(draft.speed_up), gains),
            ]);
        }
        if row.message_share > 0.0 {
            rows.push(("messages", percent(Some(row.message_share)), "of a step, estimate".into()));
        }
        if let (Some(energy), Some(power)) = (row.token_energy, row.power_w) {
            let at = format!("estimate at {} W", figure(power));
            rows.push(("energy", format!("{} J/token", figure(energy)), at));
        }
        if let (Some(price), Some(tokens)) = (row.price_usd, row.usd_per_million_tokens) {
            let each = format!("at the launch; estimate: {} USD for a million tokens", figure(tokens));
            rows.push(("price", format!("{price} USD"), each));
        }
        let mut out = format!("on {}: {}\n\n{}", row.devices, row.explained(), facts(&rows, canvas));
        if !self.objectives.is_empty() {
            // Where it does for other numbers of users, the largest of them says how far this goes.
            let met = row.curve.iter().filter(|way| way.enough == Some(true));
            let most = met.filter_map(|way| Some(way.served.as_ref()?.users)).reduce(f64::max);
            let most = most.filter(|most| *most != self.workload.batch);
            out += &match (row.enough, most) {
                (Some(true), Some(most)) => {
                    format!("\nThis does what is wanted, and so it does for {most} users.\n")
                }
                (Some(true), None) => "\nThis does what is wanted.\n".to_owned(),
                _ if row.short_of.is_empty() => "\nWhether this does what is wanted is not known.\n".into(),
                (_, most) => {
                    let most = most.map(|most| format!("; for {most} users it does")).unwrap_or_default();
                    format!("\nThis does not do what is wanted: it is short of {}{most}.\n", row.short_of)
                }
            };
        }
        if !row.others.is_empty() {
            let shown = &row.others[..row.others.len().min(OTHERS)];
            let left = row.others.len() - shown.len();
            let title = match left {
                0 => "Other layouts".to_owned(),
                left => format!("Other layouts, the best {} of {}", shown.len(), shown.len() + left),
            };
            out += &format!("\n{}", ways(&title, shown).fitted(canvas, &[]));
        }
        if row.curve.len() > 1 {
            out += &format!(
                "\n{}",
                ways(
                    "Fewer and more users: estimates in the best layout for each, ceilings of any",
                    &row.curve
                )
                .fitted(canvas, &[])
            );
        }
        out
    }

    /// What a reader decides by stands first, since a narrow terminal leaves out columns from the right.
    fn table(&self, title: &str, rows: &[&Row]) -> Table {
        let served = rows.iter().any(|row| row.served.is_some());
        let drafted = rows.iter().any(|row| row.draft.is_some());
        let hosted = rows.iter().any(|row| row.host_gb.is_some());
        let priced = rows.iter().any(|row| row.price_usd.is_some());
        let mut headings = vec!["devices", "layout", "fits", "short_of"];
        if priced {
            headings.push("usd");
        }
        headings.extend(if served {
            [
                "output_ceiling",
                "output_estimate",
                "ms_per_token_least",
                "ms_per_token_estimate",
                "first_ms",
                "requests_per_s",
                "room_for",
            ]
            .as_slice()
        } else {
            ["decode_ceiling", "decode_estimate", "prefill_ceiling", "prefill_estimate", "first_ms"]
                .as_slice()
        });
        if drafted {
            headings.extend(["tokens_per_pass", "speed_up", "most", "break_even"]);
        }
        if priced {
            headings.push("usd_per_mtoken");
        }
        headings.extend(["j_per_token", "gb_each"]);
        if hosted {
            headings.push("host_gb");
        }
        let of = |row: &&Row| {
            let fits = row.fits.map_or("not known", |fits| if fits { "yes" } else { "no" });
            let mut cells = vec![row.devices.clone(), row.dealt(), fits.to_owned(), row.short_of.clone()];
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
                        row.decode_estimate,
                        row.prefill_ceiling,
                        row.prefill_estimate,
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

/// Layouts for people.
fn ways(title: &str, ways: &[Way]) -> Table {
    let served = ways.iter().any(|way| way.served.is_some());
    let headings = if served {
        ["users", "layout", "fits", "tok/s, ceiling", "estimate", "ms a token, least", "estimate", "first ms"]
            .as_slice()
    } else {
        ["layout", "fits", "decode ceiling", "estimate", "prefill ceiling", "estimate"].as_slice()
    };
    let of = |way: &Way| {
        let fits = way.fits.map_or("not known", |fits| if fits { "yes" } else { "no" });
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
            None => [way.decode_ceiling, way.decode_estimate, way.prefill_ceiling, way.prefill_estimate]
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
        "decode_estimate",
        "prefill_ceiling",
        "prefill_estimate",
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
        let asked = match output {
            Some(output) => format!("{batch} users, prompts of {prompt} and answers of {output} tokens"),
            None => format!("batch {batch}, {context} tokens in the cache, a prompt of {prompt}"),
        };
        let mut out =
            format!("{}: {} parameters, {}; {asked}\n", model.name, figure(model.parameters), model.quant);
        for objective in &self.objectives {
            out += &format!("wanted: {objective}\n");
        }
        if let [row] = self.rows.as_slice() {
            out += &self.single(row, canvas);
        } else {
            out += &self.several(canvas);
        }
        out += &format!("\n{}\n{}\n", self.ceilings, self.estimates);
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
