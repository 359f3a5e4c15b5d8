//! `roofline plan`: the cheapest sets of devices that meet a target, and what the others lack.

use crate::cli::conditions::Names;
use crate::cli::output;
use crate::cli::sets::{Question, SetRequest, sets};
use crate::cli::{Exit, Failure, args, select};
use crate::parallel::{DeviceSet, Group, Plan, Row};
use crate::predict::DeviceProfile;

/// Maximum number of devices per machine.
const MACHINE: u64 = 8;

/// Plans, and exits with 1 if no set meets the target.
pub fn run(args: &args::Plan) -> Result<Exit, Failure> {
    if Names::for_report::<Plan>().help(&args.require)? {
        return Ok(Exit::Fine);
    }
    let mut names = Names::default();
    select::add_device_names(&mut names);
    if names.help(&args.conditions)? {
        return Ok(Exit::Fine);
    }
    let gates = names.parse("--where", &args.conditions)?;
    let request = SetRequest {
        work: &args.work,
        parallel: &args.parallel,
        offloading: None,
        require: &args.require,
        sweep: &[],
        min_speed: args.min_speed,
    };
    let mut question = Question::new(&request)?;
    let devices = &args.work.devices;
    let candidates: Vec<DeviceSet> = if devices.on.is_empty() || devices.is_all() {
        let catalog = devices.files.catalog()?;
        let kept = catalog.devices().iter().filter(|device| {
            let row = select::device_row(device);
            gates.iter().all(|gate| gate.holds(&row) == Some(true))
        });
        let known = kept.filter_map(|device| {
            let target =
                DeviceProfile::from_device(device, None).ok().filter(|target| target.capacity.is_some())?;
            let (link, price) = (device.interconnect_bandwidth, device.launch_price_usd);
            Some(DeviceSet { groups: vec![Group { count: 1, target, link, price }] })
        });
        known.collect()
    } else {
        sets(&request, &mut question.warnings)?
    };
    if candidates.is_empty() {
        output::log("no device meets --where");
        return Ok(Exit::Failed);
    }
    let weights = question.weight_bytes()?;
    let mut rows = Vec::new();
    for set in candidates {
        rows.extend(smallest(&question, set, args.max_devices, weights)?);
    }
    rows.sort_by(|a, b| {
        let price = |row: &Row| row.price_usd.unwrap_or(f64::INFINITY);
        let order = price(a).total_cmp(&price(b)).then(a.count.cmp(&b.count));
        (a.enough != Some(true)).cmp(&(b.enough != Some(true))).then(order).then(a.devices.cmp(&b.devices))
    });
    let plan = question.plan(rows);
    for warning in &plan.warnings {
        output::log(&format!("warning: {warning}"));
    }
    output::print(&plan, args.format)?;
    Ok(if plan.any_meets_objectives() { Exit::Fine } else { Exit::Failed })
}

/// Returns the numbers of devices to try: up to one machine, then powers of two.
fn counts() -> impl Iterator<Item = u64> {
    (1..MACHINE).chain(std::iter::successors(Some(MACHINE), |count| Some(count * 2)))
}

/// Returns the smallest set that meets the target, or the largest that was tried. A set with a given number of devices is not
/// changed.
fn smallest(question: &Question, set: DeviceSet, most: u64, weights: f64) -> Result<Option<Row>, Failure> {
    let alone = set.devices() == 1;
    let Some(group) = set.groups.first().filter(|_| alone) else { return question.best(&set).map(Some) };
    // Without a published interconnect bandwidth, sets of several devices cannot be predicted.
    let most = if group.link.is_some() { most } else { 1 };
    let counts: Vec<u64> = counts().take_while(|count| *count <= most).collect();
    let mut last = None;
    for (at, &count) in counts.iter().enumerate() {
        let set = DeviceSet { groups: vec![Group { count, ..group.clone() }] };
        // Sets too small for the weights are tried only if there is no larger one.
        let holds = set.capacity().is_none_or(|gb| gb * 1e9 >= weights);
        let largest = at + 1 == counts.len();
        if holds || largest {
            match question.best(&set) {
                Ok(row) if row.enough == Some(true) => return Ok(Some(row)),
                Ok(row) => last = Some(row),
                // The requested layout may need more devices.
                Err(failure) if largest && last.is_none() => return Err(failure),
                Err(_) => {}
            }
        }
    }
    Ok(last)
}
