//! What is asked of several devices, a host beside a device, a draft model and many users, and the plan that answers it; for
//! `predict` and `plan`.

use std::collections::BTreeMap;
use std::path::Path;

use roofline_contracts::condition::Known;

use crate::contracts::transformer::Inputs;
use crate::contracts::{collective, cost, offload, parallel, serving, speculation, transformer};
use crate::device::{self, Catalog, Chosen};
use crate::many::{
    Draft, Fixed, Group, Layout, MOST_DEVICES, Offload, Plan, Reached, Row, Set, Users, Work, Workload,
    offload as offloaded, reach, serve,
};
use crate::model::{Hyper, Model, by_name};
use crate::number::figure;
use crate::program::command::predict::{self, Asked};
use crate::program::device::this;
use crate::program::many::Many;
use crate::program::name::normal;
use crate::program::output::picture::Pictures;
use crate::program::require::{self, Gate, Names};
use crate::program::{Exit, Failure, cli};

/// Whether a prediction is one for more than a device and its batch.
pub fn is_asked(args: &cli::Predict) -> bool {
    let Many { tensor, pipeline, experts, offload, users, objective, .. } = &args.many;
    let counted = |text: &String| device::split(text).iter().any(|part| device::several(part).is_some());
    [tensor, pipeline, experts, users].iter().any(|ways| ways.is_some())
        || offload.is_some()
        || args.many.accept.is_some()
        || !objective.is_empty()
        || matches!(args.draft, Some(cli::Draft::Model(_)))
        || args.devices.on.iter().any(counted)
}

/// What the arguments ask of devices.
pub struct Question {
    work: Work,
    asked: Asked,
    users: Option<Users>,
    fixed: Fixed,
    gates: Vec<Gate>,
    draft: Option<(Work, f64, f64)>,
    /// Tokens per second that a set must reach.
    at_least: f64,
    /// What one should know.
    pub warnings: Vec<String>,
}

/// Predicts for sets of devices, and exits with 1 when none does what is wanted.
pub fn run(args: &cli::Predict) -> Result<Exit, Failure> {
    let refused = [
        (args.sweep.is_some(), "--sweep"),
        (args.explain, "--explain"),
        (args.select.is_asked(), "--where, --sort and --columns"),
        (args.pictures.svg.is_some() || args.pictures.html.is_some() || args.pictures.chart, "a picture"),
        (args.all_devices, "--all-devices"),
    ];
    if let Some((_, flag)) = refused.iter().find(|(given, _)| *given) {
        return Err(Failure(format!(
            "{flag} is for single devices; `roofline plan` tries sets of all of them"
        )));
    }
    let names = Names::of::<Plan>();
    if names.help(&args.many.objective)? || names.help(&args.require)? {
        return Ok(Exit::Fine);
    }
    let gates = names.parse("--require", &args.require)?;
    let mut question = Question::new(args, 0.0)?;
    let sets = sets(args, &mut question.warnings)?;
    let mut rows = Vec::new();
    for set in &sets {
        rows.push(match args.many.offload {
            Some(what) => question.offloaded(args, set, what)?,
            None => question.best(set)?,
        });
    }
    let mut plan = question.plan(rows);
    plan.requirements = require::check_report(&gates, &plan);
    for warning in &plan.warnings {
        eprintln!("warning: {warning}");
    }
    Pictures::open(&args.pictures)?.show(&plan, args.format, true)?;
    let wanted = args.many.objective.is_empty() || plan.any_enough();
    if !wanted {
        eprintln!("no layout meets --objective");
    }
    Ok(require::exit(&plan.requirements).max(if wanted { Exit::Fine } else { Exit::Failed }))
}

/// Numbers that a layer hands on, and heads; what is not known takes no time and limits nothing.
fn dimensions(args: &cli::Predict, name: Option<&str>) -> Result<(f64, u64), Failure> {
    let of = |hyper: &Hyper| {
        let heads = hyper.layers.iter().filter_map(|layer| Some(layer.attention?.heads)).max();
        (hyper.hidden as f64, heads.unwrap_or(0))
    };
    let Some(name) = name else { return Ok((0.0, 0)) };
    if let Some(known) = by_name(&normal(name)) {
        return Ok(of(&Hyper::of_known(known)?));
    }
    let path = Path::new(name);
    let model = if args.headers_only { Model::open_headers(path) } else { Model::open(path) }?;
    Ok(model.architecture.hyper.as_ref().map_or((0.0, 0), of))
}

impl Question {
    /// What the arguments ask.
    pub fn new(args: &cli::Predict, at_least: f64) -> Result<Question, Failure> {
        let many = &args.many;
        let gates = Names::of::<Plan>().parse("--objective", &many.objective)?;
        if !(0.0..=1e6).contains(&many.message_cost) {
            return Err(Failure(format!(
                "--message-cost {}: it is 0 to 1e6 microseconds",
                many.message_cost
            )));
        }
        let mut warnings = Vec::new();
        let asked = predict::asked(args, &mut warnings)?;
        let work_of = |asked: &Asked, name: Option<&str>| -> Result<Work, Failure> {
            let (hidden, heads) = dimensions(args, name)?;
            let layers = asked.layers.unwrap_or(0.0).max(1.0);
            let (inputs, stored) = (asked.inputs, asked.stored.clone());
            Ok(Work { inputs, stored, hidden, layers, heads, start: many.message_cost })
        };
        let mut work = work_of(&asked, args.model.as_deref())?;
        if work.hidden == 0.0 {
            warnings
                .push("the width of the model is not known: messages between devices take no time".into());
        }
        let users = many.users.map(|users| Users {
            users: users as f64,
            input: many.input.unwrap_or(1024.0),
            output: many.output.unwrap_or(256.0),
            reuse: many.reuse.unwrap_or(0.0),
        });
        if let Some(users) = &users {
            if args.batch != 1.0 || args.context.is_some() || args.prompt.is_some() {
                let message =
                    "--users, --input and --output take the place of --batch, --context and --prompt";
                return Err(Failure(message.into()));
            }
            work = users.step(&work);
        }
        let draft = match &args.draft {
            Some(cli::Draft::Model(name)) => {
                let Some(accept) = many.accept else {
                    return Err(Failure(
                        "say how often a drafted token is accepted with --accept, such as 0.75".into(),
                    ));
                };
                if users.is_some() || many.offload.is_some() {
                    return Err(Failure("a draft model goes with neither --users nor --offload yet".into()));
                }
                let (subject, inputs, stored, layers) =
                    predict::subject(args, Some(name), None, &mut warnings)?;
                let Inputs { batch, context, prompt, cache_size, .. } = work.inputs;
                let inputs = Inputs { batch, context, prompt, cache_size, ..inputs };
                let stored = crate::predict::Stored { cache: work.stored.cache, ..stored };
                let small = work_of(&Asked { subject, inputs, stored, layers }, Some(name))?;
                Some((small, accept, many.drafts as f64))
            }
            _ if many.accept.is_some() => {
                return Err(Failure("--accept is for a draft model, which --draft names".into()));
            }
            _ => None,
        };
        let fixed = Fixed { tensor: many.tensor, pipeline: many.pipeline, experts: many.experts };
        Ok(Question { work, asked, users, fixed, gates, draft, at_least, warnings })
    }

    /// Bytes of the weights alone, which no set can do without.
    pub fn weight_bytes(&self) -> Result<f64, Failure> {
        Ok(self.work.inputs.evaluate()?.weight_bytes)
    }

    /// A set in its best layout: one that fits and meets all, and of these the one with the highest estimate.
    pub fn best(&self, set: &Set) -> Result<Row, Failure> {
        let layouts = Layout::all(set, &self.work, self.fixed).map_err(Failure)?;
        let mut best: Option<Row> = None;
        for layout in layouts {
            let row = self.row(set, layout)?;
            let key = |row: &Row| (row.fits != Some(false), row.enough == Some(true));
            let better = best.as_ref().is_none_or(|known| {
                key(&row).cmp(&key(known)).then(row.speed().total_cmp(&known.speed())).is_gt()
            });
            if better {
                best = Some(row);
            }
        }
        best.ok_or_else(|| Failure(format!("{}: there is no layout", set.name())))
    }

    fn row(&self, set: &Set, layout: Layout) -> Result<Row, Failure> {
        let mut row = match &self.users {
            Some(users) => {
                let (reached, served) = serve(&self.work, set, layout, users)?;
                Row::new(set, &reached, Some(served))
            }
            None => {
                let reached = reach(&self.work, set, layout)?;
                let mut row = Row::new(set, &reached, None);
                if let Some((small, accept, drafts)) = &self.draft {
                    self.drafted(&mut row, set, &reached, small, (*accept, *drafts))?;
                }
                row
            }
        };
        self.judge(&mut row)?;
        Ok(row)
    }

    /// One device and its host.
    fn offloaded(&self, args: &cli::Predict, set: &Set, what: Offload) -> Result<Row, Failure> {
        let many = &args.many;
        let [group] = set.groups.as_slice() else {
            return Err(Failure("--offload is for one device beside its host".into()));
        };
        if set.devices() != 1 || self.users.is_some() || self.fixed != Fixed::default() {
            return Err(Failure(
                "--offload is for one device beside its host, one batch and no layout".into(),
            ));
        }
        let Some(host) = &many.host else {
            return Err(Failure(
                "say what the host is with --host, such as bandwidth=83GB/s,memory=192GB".into(),
            ));
        };
        let catalog = args.devices.files.catalog()?;
        let host = member(args, &catalog, host)?;
        let bus = many.bus.or(group.link.filter(|_| pcie(&catalog, &group.target.name)));
        let found = offloaded(&self.work, &group.target, &host.target, bus, what)?;
        let mut row = Row::offloaded(set, &host.target.name, &found);
        self.judge(&mut row)?;
        Ok(row)
    }

    /// What a draft model makes of a row.
    fn drafted(
        &self,
        row: &mut Row,
        set: &Set,
        one: &Reached,
        small: &Work,
        (accept, drafts): (f64, f64),
    ) -> Result<(), Failure> {
        let pass = Inputs { tokens_per_pass: drafts + 1.0, ..self.work.inputs };
        let check = reach(&Work { inputs: pass, ..self.work.clone() }, set, one.layout)?;
        let mut draft: Option<Reached> = None;
        for layout in Layout::all(set, small, Fixed::default()).map_err(Failure)? {
            let found = reach(small, set, layout)?;
            if draft.as_ref().is_none_or(|known| found.step_time < known.step_time) {
                draft = Some(found);
            }
        }
        let Some(draft) = draft else { return Ok(()) };
        let of = |acceptance: f64, draft: f64, check: f64, one: f64| {
            let inputs = speculation::Inputs {
                draft_cost: draft / one,
                check_cost: (check / one).max(1.0),
                ..speculation::Inputs::new(acceptance, drafts)
            };
            inputs.evaluate()
        };
        let likely = |acceptance: f64| of(acceptance, draft.step_time, check.step_time, one.step_time);
        let found = likely(accept.min(0.999_999))?;
        let least =
            of(accept.min(0.999_999), draft.step_least_time, check.step_least_time, one.step_least_time)?;
        // The speed-up grows with the acceptance: halve the interval in which it passes 1.
        let (mut low, mut high) = (0.0, 0.999_999);
        let reachable = likely(high)?.speed_up >= 1.0;
        for _ in 0..50 {
            let middle = (low + high) / 2.0;
            if likely(middle)?.speed_up >= 1.0 { high = middle } else { low = middle }
        }
        row.decode_ceiling *= least.most_speed_up.max(1.0);
        row.decode_estimate *= found.speed_up;
        row.device_gb += draft.device_gb;
        let short = set.groups.iter().filter_map(|group| group.target.capacity).map(|gb| row.device_gb - gb);
        if let Some(short) = short.reduce(f64::max).filter(|short| *short > 0.0 && row.fits == Some(true)) {
            (row.fits, row.enough) = (Some(false), Some(false));
            row.short_of = format!("{} GB on a device", figure(short));
        }
        row.draft = Some(Draft {
            tokens_per_pass: found.tokens_per_pass,
            draft_cost: draft.step_time / one.step_time,
            check_cost: check.step_time / one.step_time,
            speed_up: found.speed_up,
            most_speed_up: least.most_speed_up,
            break_even: reachable.then_some(high),
        });
        Ok(())
    }

    /// What a row costs, and whether it does what is wanted.
    fn judge(&self, row: &mut Row) -> Result<(), Failure> {
        let priced = cost::Inputs {
            purchase: row.price_usd.unwrap_or(0.0),
            ..cost::Inputs::new(row.power_w.unwrap_or(1.0), row.speed())
        };
        let priced = priced.evaluate()?;
        row.price_per_million = row.price_usd.map(|_| priced.price_per_million);
        row.token_energy = row.power_w.map(|_| priced.token_energy);
        if row.enough == Some(false) {
            return Ok(());
        }
        let mut values: BTreeMap<&str, Known<'static>> = BTreeMap::new();
        for name in <Plan as crate::report::Report>::FIGURES {
            values.insert(name, row.value(name).map_or(Known::Absent, Known::Number));
        }
        values.insert("fits", row.fits.map_or(Known::Absent, Known::Truth));
        let unmet = self.gates.iter().find(|gate| gate.holds(&values) != Some(true));
        if let Some(gate) = unmet {
            row.enough = gate.holds(&values);
            row.short_of = gate.text().to_owned();
        } else if row.speed() < self.at_least {
            row.enough = Some(false);
            let even = if row.ceiling() < self.at_least { "even at its ceiling" } else { "by the estimate" };
            let speed = if row.ceiling() < self.at_least { row.ceiling() } else { row.speed() };
            row.short_of = format!("{} token/s {even}", figure(self.at_least - speed));
        }
        Ok(())
    }

    /// The rows as a result.
    pub fn plan(self, rows: Vec<Row>) -> Plan {
        let of = |id: &str, version: &str| format!("{id} {version}");
        let mut contracts = vec![
            of(transformer::CONTRACT.id, transformer::CONTRACT.version),
            of(parallel::CONTRACT.id, parallel::CONTRACT.version),
            of(collective::CONTRACT.id, collective::CONTRACT.version),
            of(cost::CONTRACT.id, cost::CONTRACT.version),
        ];
        if rows.iter().any(|row| row.held.is_some()) {
            contracts.push(of(offload::CONTRACT.id, offload::CONTRACT.version));
        }
        if self.users.is_some() {
            contracts.push(of(serving::CONTRACT.id, serving::CONTRACT.version));
        }
        if self.draft.is_some() {
            contracts.push(of(speculation::CONTRACT.id, speculation::CONTRACT.version));
        }
        let mut ceilings = "Ceilings: no program that deals the model out so, in these formats, with one pass over the weights \
                            for each token of a sequence, is faster; messages hide behind reading and arithmetic"
            .to_owned();
        ceilings += if self.users.is_some() {
            ". Queues, schedulers and tails of latency are not in them."
        } else {
            "."
        };
        let mut assumed = vec!["attention follows the matrices".to_owned()];
        if rows.iter().any(|row| row.count > 1) {
            let start = self.work.start;
            assumed.push(format!("a message takes {start} us to start and follows both"));
        }
        if self.work.inputs.expert_params > 0.0 {
            assumed.push("experts are chosen with the same chance".into());
        }
        if self.users.is_some() {
            assumed.push("prompts are read between the steps, and nobody waits in a queue".into());
        }
        if rows.iter().any(|row| row.held.is_some()) {
            assumed.push("nothing is sent over the bus while something is computed".into());
        }
        if rows.iter().any(|row| row.price_per_million.is_some()) {
            assumed.push("prices are those of the launch over three years, without energy".into());
        }
        let mut objectives: Vec<String> = self.gates.iter().map(|gate| gate.text().to_owned()).collect();
        if self.at_least > 0.0 {
            objectives.push(format!("{} token/s of all users together", self.at_least));
        }
        let totals = self.work.inputs.evaluate().ok();
        let mut model = self.asked.subject;
        if let Some(totals) = totals {
            model.parameters = totals.total_params;
            model.active_parameters = totals.active_params;
            model.bits_per_weight = 8.0 * totals.weight_bytes / totals.total_params;
        }
        Plan::new(
            contracts,
            model,
            Workload::new(&self.work.inputs, self.users.map(|users| users.output)),
            (ceilings, format!("Estimates: {}.", assumed.join("; "))),
            objectives,
            rows,
            self.warnings,
        )
    }
}

/// Whether the registry says that the device's links are those of its bus.
fn pcie(catalog: &Catalog, name: &str) -> bool {
    let device = catalog.find(name).ok();
    device.and_then(|device| device.interconnect).is_some_and(|link| link.name().starts_with("pcie"))
}

/// The devices of one text, as a prediction sees them.
fn member(args: &cli::Predict, catalog: &Catalog, text: &str) -> Result<Group, Failure> {
    let precision = args.precision.as_deref().map(predict::precision).transpose()?;
    let (count, name) = device::several(text).unwrap_or((1, text));
    if !(1..=MOST_DEVICES).contains(&count) {
        return Err(Failure(format!("{text}: a set has 1 to {MOST_DEVICES} devices")));
    }
    let chosen = catalog.choose(name)?.measured(|| this(&args.measuring))?;
    let entry = if let Chosen::Device(device) = &chosen { Some(*device) } else { None };
    Ok(Group {
        count,
        target: chosen.target(precision)?,
        link: entry.and_then(|device| device.interconnect_bandwidth),
        price: entry.and_then(|device| device.launch_price_usd),
    })
}

/// The sets that were named. A text with a number of devices in it is one set; any other is a list of single devices.
pub fn sets(args: &cli::Predict, warnings: &mut Vec<String>) -> Result<Vec<Set>, Failure> {
    let catalog = args.devices.files.catalog()?;
    let mut sets: Vec<Set> = Vec::new();
    for text in &args.devices.on {
        let parts = if Path::new(text).is_file() { vec![text.clone()] } else { device::split(text) };
        let together = parts.iter().any(|part| device::several(part).is_some());
        let groups: Vec<Group> =
            parts.iter().map(|part| member(args, &catalog, part)).collect::<Result<_, _>>()?;
        if together {
            let set = Set { groups };
            if set.devices() > MOST_DEVICES {
                return Err(Failure(format!("{text}: a set has 1 to {MOST_DEVICES} devices")));
            }
            sets.push(set);
        } else {
            sets.extend(groups.into_iter().map(|group| Set { groups: vec![group] }));
        }
    }
    if sets.is_empty() {
        return Err(Failure(
            "say which devices with --on, such as '8x h100-sxm'; `roofline devices` lists them".into(),
        ));
    }
    for set in &sets {
        if set.devices() > 1 && set.link().is_none() {
            warnings.push(format!(
                "nobody publishes what the links of {} carry: messages between them take no time",
                set.name()
            ));
        }
        warnings.extend(set.groups.iter().flat_map(|group| group.target.doubts.iter().cloned()));
    }
    Ok(sets)
}
