//! Predictions for sets of devices, offload to a host, draft models and concurrent users; for `predict` and `plan`.

use std::collections::BTreeMap;
use std::path::Path;

use roofline_contracts::condition::Value;

use crate::cli::conditions::{self, Gate, Names};
use crate::cli::device::this;
use crate::cli::latency_curve;
use crate::cli::name::normalize;
use crate::cli::output;
use crate::cli::output::charts::Charts;
use crate::cli::request::{self, Request};
use crate::cli::{Exit, Failure, args};
use crate::contracts::transformer::Inputs;
use crate::contracts::{collective, cost, offload, parallel, serving, speculation, transformer};
use crate::device::{self, Catalog, ResolvedDevice};
use crate::model::{Model, ModelDims, by_name};
use crate::parallel::{
    Alternative, DeviceSet, DraftModel, Group, Layout, LayoutConstraints, MAX_DEVICES, Offload, Plan, Row,
    ServingPerformance, Users, Work, offload as offloaded, reach, serve,
};
use crate::predict::{UNKNOWN_COMPUTE_PEAK, WeightPrecision, Workload};
use crate::report::Report;
use roofline_render::format::figure;

/// Maximum number of sets that a note names.
const MAX_NAMED: usize = 8;
/// Maximum share of a prompt in the prefix cache; at least one token is new.
const MAX_REUSE: f64 = 0.999;

/// The arguments of `predict` and `plan` about sets of devices.
pub struct SetRequest<'a> {
    pub work: &'a args::Work,
    pub parallel: &'a args::Parallel,
    pub offloading: Option<&'a args::Offloading>,
    /// Conditions that a layout must meet.
    pub require: &'a [String],
    pub sweep: &'a [String],
    /// Minimum ideal speed in tokens/s.
    pub min_speed: f64,
}

/// Returns whether a prediction needs a layout: several devices, a host, users or a draft model.
pub fn is_asked(args: &args::Predict) -> bool {
    let args::Parallel { sharding, serving, speculation } = &args.parallel;
    [sharding.tensor, sharding.pipeline, sharding.experts, serving.users].iter().any(Option::is_some)
        || args.offloading.offload.is_some()
        || speculation.accept.is_some()
        || matches!(speculation.draft, Some(args::Draft::Model(_)))
        || args.work.devices.names_a_set()
}

impl args::On {
    /// Returns whether a part of `--on` states a number of devices, such as `2x rtx-4090`.
    pub fn names_a_set(&self) -> bool {
        let counted = |text: &String| device::split(text).iter().any(|part| device::several(part).is_some());
        self.on.iter().any(counted)
    }
}

/// A model, its workload and the conditions for layouts.
pub struct Question {
    work: Work,
    request: Request,
    users: Option<Users>,
    fixed: LayoutConstraints,
    gates: Vec<Gate>,
    /// KV cache type.
    cache: String,
    draft: Option<DraftModel>,
    /// Numbers of users on the throughput-latency curve.
    numbers: Vec<f64>,
    /// Minimum speed in tokens/s.
    min_speed: f64,
    pub warnings: Vec<String>,
}

/// Predicts for sets of devices, and exits with 1 if a requirement does not hold.
pub fn run(args: &args::Predict) -> Result<Exit, Failure> {
    let refused = [
        (args.explain, "--explain"),
        (args.select.is_set(), "--where, --sort and --columns"),
        (args.work.devices.is_all(), "--on all"),
    ];
    if let Some((_, flag)) = refused.iter().find(|(given, _)| *given) {
        return Err(Failure(format!(
            "{flag}: cannot be combined with sets of devices; expected single devices, or use `roofline plan`"
        )));
    }
    if !args.sweep.is_empty() && args.parallel.serving.users.is_none() {
        return Err(Failure(
            "--sweep: sets of devices can only sweep users; pass --users, such as --users 64 --sweep users=1..512".into(),
        ));
    }
    let drawn = args.pictures.svg.is_some() || args.pictures.html.is_some() || args.pictures.chart;
    if drawn && (args.parallel.serving.users.is_none() || args.offloading.offload.is_some()) {
        return Err(Failure(
            "--chart, --svg, --html: sets of devices have a chart of throughput against latency only, which requires --users".into(),
        ));
    }
    let names = Names::for_report::<Plan>();
    if names.help(&args.require)? {
        return Ok(Exit::Fine);
    }
    let gates = names.parse("--require", &args.require)?;
    let request = SetRequest {
        work: &args.work,
        parallel: &args.parallel,
        offloading: Some(&args.offloading),
        require: &args.require,
        sweep: &args.sweep,
        min_speed: 0.0,
    };
    let mut question = Question::new(&request)?;
    let sets = sets(&request, &mut question.warnings)?;
    let mut rows = Vec::new();
    for set in &sets {
        rows.push(match args.offloading.offload {
            Some(what) => question.offloaded(&request, &args.offloading, set, what)?,
            None => question.detailed(set)?,
        });
    }
    let pictures = Charts::open(&args.pictures)?;
    let moving = if args.pictures.html.is_some() { question.moving(&sets)? } else { None };
    let mut plan = question.plan(rows);
    plan.requirements = conditions::check_report(&gates, &plan);
    for warning in &plan.warnings {
        output::log(&format!("warning: {warning}"));
    }
    pictures.show_curves(&plan, &latency_curve::chart(&plan), moving.as_ref(), args.format)?;
    Ok(conditions::exit(&plan.requirements))
}

/// Returns the hidden size and the number of heads; zero if unknown, which costs no time and limits no layout.
fn dimensions(args: &args::Work, name: Option<&str>) -> Result<(f64, u64), Failure> {
    let of = |model_dims: &ModelDims| {
        let heads = model_dims.layers.iter().filter_map(|layer| Some(layer.attention?.heads)).max();
        (model_dims.hidden as f64, heads.unwrap_or(0))
    };
    let Some(name) = name else { return Ok((0.0, 0)) };
    if let Some(known) = by_name(&normalize(name)) {
        return Ok(of(&ModelDims::from_known(known)?));
    }
    let path = Path::new(name);
    let model = if args.headers_only { Model::open_headers(path) } else { Model::open(path) }?;
    Ok(model.architecture.model_dims.as_ref().map_or((0.0, 0), of))
}

impl Question {
    /// Resolves the arguments.
    pub fn new(request: &SetRequest<'_>) -> Result<Question, Failure> {
        let args = request.work;
        let args::Parallel { sharding, serving, speculation } = request.parallel;
        let gates = Names::for_report::<Plan>().parse("--require", request.require)?;
        if !(0.0..=1e6).contains(&sharding.message_cost) {
            return Err(Failure(format!(
                "--message-cost {}: expected 0 to 1e6 microseconds",
                sharding.message_cost
            )));
        }
        let mut warnings = Vec::new();
        let resolved = request::resolve(args, speculation.tokens_per_pass(), &mut warnings)?;
        let work_of = |request: &Request, name: Option<&str>| -> Result<Work, Failure> {
            let (hidden, heads) = dimensions(args, name)?;
            let layers = request.layers.unwrap_or(0.0).max(1.0);
            let (inputs, stored) = (request.inputs, request.stored.clone());
            Ok(Work { inputs, stored, hidden, layers, heads, start: sharding.message_cost })
        };
        let mut work = work_of(&resolved, args.model.as_deref())?;
        if work.hidden == 0.0 {
            warnings
                .push("the hidden size of the model is unknown; communication is assumed to be free".into());
        }
        let share = |flag: &str, share: Option<f64>, most: f64| match share {
            Some(share) if !(0.0..=most).contains(&share) => {
                Err(Failure(format!("{flag} {share}: expected a share from 0 to {most}")))
            }
            share => Ok(share),
        };
        let accept = share("--accept", speculation.accept, 1.0)?;
        let reuse = share("--reuse", serving.reuse, MAX_REUSE)?;
        for (flag, tokens) in [("--input", serving.input), ("--output", serving.output)] {
            if let Some(tokens) = tokens.filter(|tokens| *tokens < 1.0) {
                return Err(Failure(format!("{flag} {tokens}: expected at least one token")));
            }
        }
        if let Some(gate) = gates
            .iter()
            .find(|gate| serving.users.is_none() && gate.contains_any(&ServingPerformance::FIGURES))
        {
            let message = "this figure requires --users";
            return Err(Failure(format!("--require '{}': {message}", gate.text())));
        }
        let users = serving.users.map(|users| Users {
            users: users as f64,
            input: serving.input.unwrap_or(1024.0),
            output: serving.output.unwrap_or(256.0),
            reuse: reuse.unwrap_or(0.0),
        });
        if let Some(users) = &users {
            if args.batch != 1.0 || args.context.is_some() || args.prompt.is_some() {
                let message = "--users: cannot be combined with --batch, --context or --prompt; use --input and --output";
                return Err(Failure(message.into()));
            }
            work = users.step(&work);
        }
        let draft = match &speculation.draft {
            Some(args::Draft::Model(name)) => {
                let Some(accept) = accept else {
                    return Err(Failure(
                        "--draft: missing acceptance rate of the draft model; pass --accept, such as 0.75"
                            .into(),
                    ));
                };
                if request.offloading.is_some_and(|args| args.offload.is_some()) {
                    return Err(Failure("--draft: a draft model cannot be combined with --offload".into()));
                }
                let (subject, inputs, stored, layers) =
                    request::subject(args, Some(name), None, &mut warnings)?;
                let inputs = Inputs { cache_size: work.inputs.cache_size, ..inputs };
                let stored = WeightPrecision { cache: work.stored.cache, ..stored };
                let small = work_of(&Request { subject, inputs, stored, layers }, Some(name))?;
                let drafting = DraftModel { small, accept, drafts: speculation.drafts as f64 };
                Some(drafting.for_step(&work))
            }
            _ if accept.is_some() => {
                return Err(Failure("--accept: missing draft model; pass --draft MODEL".into()));
            }
            _ => None,
        };
        let fixed = LayoutConstraints {
            tensor: sharding.tensor,
            pipeline: sharding.pipeline,
            experts: sharding.experts,
        };
        let numbers =
            users.map_or(Ok(Vec::new()), |users| latency_curve::user_counts(request.sweep, users.users))?;
        let cache = normalize(&args.cache);
        Ok(Question {
            work,
            request: resolved,
            users,
            fixed,
            gates,
            cache,
            draft,
            numbers,
            min_speed: request.min_speed,
            warnings,
        })
    }

    /// Returns the bytes of the weights.
    pub fn weight_bytes(&self) -> Result<f64, Failure> {
        Ok(self.work.inputs.evaluate()?.weight_bytes)
    }

    /// Returns the best layout of a set: one that fits and meets all conditions, with the highest ideal speed.
    pub fn best(&self, set: &DeviceSet) -> Result<Row, Failure> {
        Ok(self.ranked(set, self.users)?.remove(0))
    }

    /// Like [`Question::best`], with the other layouts and the curve over numbers of users.
    fn detailed(&self, set: &DeviceSet) -> Result<Row, Failure> {
        let mut ranked = self.ranked(set, self.users)?;
        let mut row = ranked.remove(0);
        row.others = ranked.iter().map(Row::way).collect();
        if let Some(users) = self.users {
            row.curve = self.curve(set, users)?;
        }
        Ok(row)
    }

    /// Returns the best layout for each number of users whose cache fits.
    fn curve(&self, set: &DeviceSet, workload: Users) -> Result<Vec<Alternative>, Failure> {
        let mut curve = Vec::new();
        for &users in &self.numbers {
            // A requested layout may have more copies than users.
            let Ok(ranked) = self.ranked(set, Some(Users { users, ..workload })) else { continue };
            let fitting: Vec<&Row> = ranked.iter().filter(|row| row.fits != Some(false)).collect();
            let Some(best) = fitting.first() else { break };
            // The ceiling of the set is the highest of all layouts.
            let mut way = best.way();
            for other in fitting.iter().filter_map(|row| row.served.as_ref()) {
                if let Some(served) = &mut way.served {
                    served.output_ceiling = served.output_ceiling.max(other.output_ceiling);
                    served.token_least_time = served.token_least_time.min(other.token_least_time);
                    let first = served.first_token_least_time.min(other.first_token_least_time);
                    served.first_token_least_time = first;
                }
            }
            curve.push(way);
        }
        Ok(curve)
    }

    /// Returns all layouts of a set, the best first; there is at least one.
    fn ranked(&self, set: &DeviceSet, users: Option<Users>) -> Result<Vec<Row>, Failure> {
        let work = users.map_or_else(|| self.work.clone(), |users| users.step(&self.work));
        let layouts = Layout::all(set, &work, self.fixed).map_err(Failure)?;
        let row = |layout: &Layout| self.row(set, *layout, &work, users.as_ref());
        let mut rows = layouts.iter().map(row).collect::<Result<Vec<Row>, Failure>>()?;
        let key = |row: &Row| (row.fits != Some(false), row.enough == Some(true));
        // Of the layouts that do not fit, the one that lacks the least memory (in whole GB) comes first.
        let lack = |row: &Row| row.spare_gb.map_or(0.0, |spare| spare.min(0.0).floor());
        rows.sort_by(|a, b| {
            let order = key(b).cmp(&key(a)).then(lack(b).total_cmp(&lack(a)));
            order.then(b.speed().total_cmp(&a.speed()))
        });
        Ok(rows)
    }

    fn row(
        &self,
        set: &DeviceSet,
        layout: Layout,
        work: &Work,
        users: Option<&Users>,
    ) -> Result<Row, Failure> {
        let (reached, served, draft) = match users {
            Some(users) => {
                let (reached, served, draft) = serve(work, set, layout, users, self.draft.as_ref())?;
                (reached, Some(served), draft)
            }
            None => {
                let mut reached = reach(work, set, layout)?;
                let draft = self.draft.as_ref().map(|drafting| drafting.reach(work, set, &reached));
                let draft = draft.transpose()?;
                if let Some(draft) = &draft {
                    reached.speed_up(draft);
                }
                (reached, None, draft)
            }
        };
        let mut row = Row::new(set, &reached, served);
        row.draft = draft;
        row.unknown_peaks = self.unknown_peaks(set)?;
        self.judge(&mut row)?;
        Ok(row)
    }

    /// Returns the units of the devices without a published peak.
    fn unknown_peaks(&self, set: &DeviceSet) -> Result<Vec<String>, Failure> {
        let mut found = Vec::new();
        for group in &set.groups {
            let prediction = crate::predict::predict(self.work.inputs, &self.work.stored, &group.target)?;
            let unknown = prediction.rates.iter().filter(|(_, rate)| rate.gflop_s.is_none());
            found.extend(unknown.map(|(_, rate)| format!("{}: {rate}", group.target.name)));
        }
        found.dedup();
        Ok(found)
    }

    /// Returns the sliders of the page with curves; `None` with a draft model.
    fn moving(&self, sets: &[DeviceSet]) -> Result<Option<crate::chart::curve::CurveModel>, Failure> {
        let Some(users) = self.users.filter(|_| self.draft.is_none()) else { return Ok(None) };
        latency_curve::slider_data(&self.work, &users, sets, self.fixed).map(Some)
    }

    /// Predicts one device with its host.
    fn offloaded(
        &self,
        request: &SetRequest<'_>,
        offloading: &args::Offloading,
        set: &DeviceSet,
        what: Offload,
    ) -> Result<Row, Failure> {
        let [group] = set.groups.as_slice() else {
            return Err(Failure("--offload: expected a single device and its host".into()));
        };
        if set.devices() != 1 || self.users.is_some() || self.fixed != LayoutConstraints::default() {
            return Err(Failure(
                "--offload: expected a single device and its host, without --users and without a layout"
                    .into(),
            ));
        }
        let Some(host) = &offloading.host else {
            return Err(Failure(
                "--offload: missing host; pass --host, such as bandwidth=83GB/s,memory=192GB".into(),
            ));
        };
        let catalog = request.work.devices.files.catalog()?;
        let host = member(request, &catalog, host)?;
        let bus = offloading.bus.or(group
            .link
            .filter(|_| request.parallel.sharding.link.is_none() && pcie(&catalog, &group.target.name)));
        let found = offloaded(&self.work, &group.target, &host.target, bus, what)?;
        let mut row = Row::offloaded(set, &host.target.name, &found);
        row.unknown_peaks = self.unknown_peaks(&DeviceSet { groups: vec![group.clone(), host] })?;
        self.judge(&mut row)?;
        Ok(row)
    }

    /// Sets the cost of a row and whether it meets the conditions.
    fn judge(&self, row: &mut Row) -> Result<(), Failure> {
        let priced = cost::Inputs {
            purchase: row.price_usd.unwrap_or(0.0),
            ..cost::Inputs::new(row.power_w.unwrap_or(1.0), row.speed())
        };
        let priced = priced.evaluate()?;
        row.usd_per_million_tokens = row.price_usd.map(|_| priced.price_per_million);
        row.token_energy = row.power_w.map(|_| priced.token_energy);
        if row.enough == Some(false) {
            return Ok(());
        }
        let mut values: BTreeMap<&str, Value<'static>> = BTreeMap::new();
        for name in Plan::FIGURES {
            values.insert(name, row.value(name).map_or(Value::Absent, Value::Number));
        }
        values.insert("fits", row.fits.map_or(Value::Absent, Value::Truth));
        let unmet = self.gates.iter().find(|gate| gate.holds(&values) != Some(true));
        if let Some(gate) = unmet {
            row.enough = gate.holds(&values);
            let named = Plan::FIGURES.iter().filter(|name| gate.contains_any(&[name]));
            let has = |name: &&str| {
                let value = figure(row.value(name)?);
                Some(if Plan::unit(name) == "1" { value } else { format!("{value} {}", Plan::unit(name)) })
            };
            let has: Vec<String> = named.filter_map(has).collect();
            row.shortfall = match has.as_slice() {
                [] => gate.text().to_owned(),
                has => format!("{} ({})", gate.text(), has.join(", ")),
            };
        } else if row.speed() < self.min_speed {
            row.enough = Some(false);
            let figure_name = if row.ceiling() < self.min_speed { "at the ceiling" } else { "at the ideal" };
            let speed = if row.ceiling() < self.min_speed { row.ceiling() } else { row.speed() };
            row.shortfall = format!("{} tok/s {figure_name}", figure(self.min_speed - speed));
        }
        Ok(())
    }

    /// Assembles the result.
    pub fn plan(mut self, rows: Vec<Row>) -> Plan {
        let heads = self.work.heads;
        let uneven =
            |row: &&Row| heads > 0 && row.enough == Some(true) && !heads.is_multiple_of(row.layout.tensor);
        let uneven: Vec<String> = rows
            .iter()
            .filter(uneven)
            .map(|row| format!("tensor {} on {}", row.layout.tensor, row.devices))
            .collect();
        if !uneven.is_empty() {
            let more = if uneven.len() > MAX_NAMED { ", …" } else { "" };
            self.warnings.push(format!(
                "{}{more}: {heads} heads cannot be split evenly, which many servers reject; choose another layout with --tensor",
                uneven[..uneven.len().min(MAX_NAMED)].join(", ")
            ));
        }
        let of = |id: &str, version: &str| format!("{id} {version}");
        let mut contracts = vec![
            of(transformer::CONTRACT.id, transformer::CONTRACT.version),
            of(parallel::CONTRACT.id, parallel::CONTRACT.version),
            of(collective::CONTRACT.id, collective::CONTRACT.version),
            of(cost::CONTRACT.id, cost::CONTRACT.version),
        ];
        if rows.iter().any(|row| row.placement.is_some()) {
            contracts.push(of(offload::CONTRACT.id, offload::CONTRACT.version));
        }
        if self.users.is_some() {
            contracts.push(of(serving::CONTRACT.id, serving::CONTRACT.version));
        }
        if self.draft.is_some() {
            contracts.push(of(speculation::CONTRACT.id, speculation::CONTRACT.version));
        }
        let pass = match &self.draft {
            Some(DraftModel { drafts, .. }) => {
                format!("{} tokens (all accepted)", drafts + 1.0)
            }
            None => "token".to_owned(),
        };
        let mut ceilings = format!(
            "Ceiling: upper bound for this partitioning, these formats and one pass over the weights per {pass}; 8-bit communication \
             is assumed fully overlapped"
        );
        if rows.iter().any(|row| row.placement.is_some()) {
            ceilings += "; device and host work in turns";
        }
        ceilings += if self.users.is_some() { ". Queueing and scheduling are not modelled." } else { "." };
        let unknown: Vec<&str> =
            rows.iter().filter(|row| !row.unknown_peaks.is_empty()).map(|row| row.devices.as_str()).collect();
        if !unknown.is_empty() {
            let more = if unknown.len() > MAX_NAMED { ", …" } else { "" };
            let named = unknown[..unknown.len().min(MAX_NAMED)].join(", ");
            ceilings += &format!(" {UNKNOWN_COMPUTE_PEAK} This applies to {named}{more}.");
        }
        let mut assumed = vec!["attention runs after the matrix products".to_owned()];
        if rows.iter().any(|row| row.count > 1) {
            let start = self.work.start;
            assumed.push(format!("a message takes {start} µs to start and is not overlapped"));
        }
        if self.work.inputs.expert_params > 0.0 {
            assumed.push("experts are routed uniformly at random".into());
        }
        if self.users.is_some() {
            assumed.push("prefill is interleaved with decode without queueing".into());
        }
        if rows.iter().any(|row| row.placement.is_some()) {
            assumed.push("transfers over the bus are not overlapped with arithmetic".into());
        }
        if rows.iter().any(|row| row.usd_per_million_tokens.is_some()) {
            assumed.push("launch prices over three years, without energy".into());
        }
        let mut objectives: Vec<String> = self.gates.iter().map(|gate| gate.text().to_owned()).collect();
        if self.min_speed > 0.0 {
            let of = if self.users.is_some() { " in total" } else { "" };
            objectives.push(format!("{} token/s{of}", self.min_speed));
        }
        let totals = self.work.inputs.evaluate().ok();
        let mut model = self.request.subject;
        if let Some(totals) = totals {
            model.parameters = totals.total_params;
            model.active_parameters = totals.active_params;
            model.bits_per_weight = 8.0 * totals.weight_bytes / totals.total_params;
        }
        let output = self.users.map(|users| users.output);
        let workload = Workload { output, ..Workload::new(&self.work.inputs, &self.cache) };
        Plan::new(
            contracts,
            model,
            workload,
            (ceilings, format!("Ideal: {}.", assumed.join("; "))),
            objectives,
            rows,
            self.warnings,
        )
    }
}

/// Returns whether the interconnect of a registry device is PCIe.
fn pcie(catalog: &Catalog, name: &str) -> bool {
    let device = catalog.find(name).ok();
    device.and_then(|device| device.interconnect).is_some_and(|link| link.name().starts_with("pcie"))
}

/// Resolves one part of `--on`, such as `2x rtx-4090`.
fn member(request: &SetRequest<'_>, catalog: &Catalog, text: &str) -> Result<Group, Failure> {
    let precision = request.work.ideal.precision.as_deref().map(request::precision).transpose()?;
    let (count, name) = device::several(text).unwrap_or((1, text));
    if !(1..=MAX_DEVICES).contains(&count) {
        return Err(Failure(format!("{text}: expected a set of 1 to {MAX_DEVICES} devices")));
    }
    let chosen = catalog.choose(name)?.measured(|| this(&request.work.measuring))?;
    let entry = if let ResolvedDevice::Device(device) = &chosen { Some(*device) } else { None };
    Ok(Group {
        count,
        target: chosen.target(precision)?,
        link: request.parallel.sharding.link.or(entry.and_then(|device| device.interconnect_bandwidth)),
        price: entry.and_then(|device| device.launch_price_usd),
    })
}

/// Resolves `--on` to sets. A text that states a number of devices is one set; any other is a list of single devices.
pub fn sets(request: &SetRequest<'_>, warnings: &mut Vec<String>) -> Result<Vec<DeviceSet>, Failure> {
    let catalog = request.work.devices.files.catalog()?;
    let mut sets: Vec<DeviceSet> = Vec::new();
    for text in &request.work.devices.on {
        let parts = if Path::new(text).is_file() { vec![text.clone()] } else { device::split(text) };
        if parts.iter().any(|part| part.trim().is_empty()) {
            return Err(Failure(format!("--on '{text}': missing device between commas")));
        }
        let together = parts.iter().any(|part| device::several(part).is_some());
        let groups: Vec<Group> =
            parts.iter().map(|part| member(request, &catalog, part)).collect::<Result<_, _>>()?;
        if together {
            let set = DeviceSet { groups };
            if set.devices() > MAX_DEVICES {
                return Err(Failure(format!("{text}: expected a set of 1 to {MAX_DEVICES} devices")));
            }
            sets.push(set);
        } else {
            sets.extend(groups.into_iter().map(|group| DeviceSet { groups: vec![group] }));
        }
    }
    if sets.is_empty() {
        return Err(Failure(
            "missing devices; pass --on, such as --on '8x h100-sxm' (see `roofline devices`)".into(),
        ));
    }
    for set in &sets {
        if set.devices() > 1 && set.link().is_none() {
            warnings.push(format!(
                "no published interconnect bandwidth for {}; communication is assumed to be free; set it with --link",
                set.name()
            ));
        }
        warnings.extend(set.groups.iter().flat_map(|group| group.target.doubts.iter().cloned()));
    }
    Ok(sets)
}
