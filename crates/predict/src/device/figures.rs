//! A device by its figures alone: `bandwidth=256GB/s,compute=59TFLOP/s,memory=128GB,int8=118e3`.

use super::DeviceError;
use roofline_formulas::hardware::devices::{Architecture, Device, Kind, Market, Vendor};
use roofline_render::written::in_unit;

/// What may be given, its unit, and its place in a device.
type Figure = (&'static str, &'static str, fn(&mut Device) -> &mut Option<f64>);

const FIGURES: [Figure; 17] = [
    ("compute", "Gflop/s", |device| &mut device.compute),
    ("memory", "GB", |device| &mut device.capacity),
    ("capacity", "GB", |device| &mut device.capacity),
    ("tdp", "W", |device| &mut device.tdp),
    ("power", "W", |device| &mut device.tdp),
    ("overhead", "us", |device| &mut device.overhead),
    ("price", "1", |device| &mut device.launch_price_usd),
    ("link", "GB/s", |device| &mut device.interconnect_bandwidth),
    ("fp32", "Gflop/s", |device| &mut device.fp32),
    ("tf32", "Gflop/s", |device| &mut device.tf32),
    ("fp16", "Gflop/s", |device| &mut device.fp16),
    ("bf16", "Gflop/s", |device| &mut device.bf16),
    ("fp8", "Gflop/s", |device| &mut device.fp8),
    ("fp4", "Gflop/s", |device| &mut device.fp4),
    ("int8", "Gflop/s", |device| &mut device.int8),
    ("int4", "Gflop/s", |device| &mut device.int4),
    ("cores", "core", |device| &mut device.cores),
];

/// A device of which nothing is known.
pub(super) const BLANK: Device = Device {
    name: "given",
    doc: "",
    vendor: Vendor::Other,
    kind: Kind::Other,
    market: Market::Other,
    architecture: Architecture::Other,
    aliases: None,
    launch_year: None,
    launch_price_usd: None,
    fp32: None,
    tf32: None,
    fp16: None,
    fp16_fast: None,
    fp16_sparse: None,
    bf16: None,
    fp8: None,
    fp4: None,
    int8: None,
    int4: None,
    compute: None,
    bandwidth: 0.0,
    bus_width: None,
    data_rate: None,
    capacity: None,
    interconnect: None,
    interconnect_bandwidth: None,
    tdp: None,
    overhead: None,
    cores: None,
    base_clock: None,
    boost_clock: None,
    fp32_per_cycle: None,
    derived: None,
    source: "given by hand",
    as_of: "today",
};

/// Reads figures. `compute` is what models run in: the 16-bit peak unless a precision says otherwise.
pub fn parse(text: &str) -> Result<&'static Device, DeviceError> {
    let wrong = |why: String| DeviceError(format!("{text}: {why}"));
    let mut device = Device { doc: text.to_owned().leak(), ..BLANK };
    let mut bandwidth = None;
    for part in text.split(',') {
        let (key, value) =
            part.split_once('=').ok_or_else(|| wrong(format!("`{part}` is not written NAME=FIGURE")))?;
        let (key, value) = (key.trim().to_ascii_lowercase(), value.trim());
        if key == "name" && !value.is_empty() {
            device.name = value.to_owned().leak();
            continue;
        }
        let place = match key.as_str() {
            "bandwidth" => ("GB/s", &mut bandwidth),
            key => FIGURES
                .iter()
                .find(|(name, ..)| *name == key)
                .map(|(_, unit, place)| (*unit, place(&mut device)))
                .ok_or_else(|| {
                    let known: Vec<&str> = FIGURES.iter().map(|(name, ..)| *name).collect();
                    wrong(format!(
                        "`{key}` is no figure of a device; there are bandwidth, {}, and name",
                        known.join(", ")
                    ))
                })?,
        };
        let figure = in_unit(value, place.0).map_err(|why| wrong(format!("{key}: {why}")))?;
        let least = if key == "overhead" { 0.0 } else { f64::MIN_POSITIVE };
        if figure < least {
            return Err(wrong(format!("{key} is {figure}, and must be above zero")));
        }
        if place.1.replace(figure).is_some() {
            return Err(wrong(format!("`{key}` is given twice")));
        }
    }
    device.bandwidth =
        bandwidth.ok_or_else(|| wrong("the bandwidth is missing: write bandwidth=256GB/s".into()))?;
    let general = device.fp16.or(device.bf16).or(device.fp32);
    match (device.compute, general) {
        (Some(compute), None) => device.fp16 = Some(compute),
        (Some(compute), Some(general)) if compute != general => {
            return Err(wrong(format!("compute is {compute}, but the 16-bit or FP32 peak is {general}")));
        }
        (compute, _) => device.compute = compute.or(general),
    }
    // Lives as long as those of the registry do, so that there is one type for all; a program is given a handful.
    Ok(Box::leak(Box::new(device)))
}

/// Reads a number of a device.
type Read = fn(&Device) -> Option<f64>;

/// Every number of the registry: its name, its unit, and where it is in a device.
const NUMBERS: [(&str, &str, Read); 24] = [
    ("launch_year", "1", |device| device.launch_year),
    ("launch_price_usd", "1", |device| device.launch_price_usd),
    ("fp32", "Gflop/s", |device| device.fp32),
    ("tf32", "Gflop/s", |device| device.tf32),
    ("fp16", "Gflop/s", |device| device.fp16),
    ("fp16_fast", "Gflop/s", |device| device.fp16_fast),
    ("fp16_sparse", "Gflop/s", |device| device.fp16_sparse),
    ("bf16", "Gflop/s", |device| device.bf16),
    ("fp8", "Gflop/s", |device| device.fp8),
    ("fp4", "Gflop/s", |device| device.fp4),
    ("int8", "Gflop/s", |device| device.int8),
    ("int4", "Gflop/s", |device| device.int4),
    ("compute", "Gflop/s", |device| device.compute),
    ("bandwidth", "GB/s", |device| Some(device.bandwidth)),
    ("bus_width", "bit", |device| device.bus_width),
    ("data_rate", "GHz", |device| device.data_rate),
    ("capacity", "GB", |device| device.capacity),
    ("interconnect_bandwidth", "GB/s", |device| device.interconnect_bandwidth),
    ("tdp", "W", |device| device.tdp),
    ("overhead", "us", |device| device.overhead),
    ("cores", "core", |device| device.cores),
    ("base_clock", "Gcycle/s", |device| device.base_clock),
    ("boost_clock", "Gcycle/s", |device| device.boost_clock),
    ("fp32_per_cycle", "flop/cycle/core", |device| device.fp32_per_cycle),
];

/// The numbers of the registry, each with its unit.
pub fn numbers() -> impl Iterator<Item = (&'static str, &'static str)> {
    NUMBERS.iter().map(|(name, unit, _)| (*name, *unit))
}

/// Every number that is known of a device, under the name and in the unit of the registry.
pub fn of(device: &Device) -> impl Iterator<Item = (&'static str, f64)> {
    NUMBERS.iter().filter_map(|(name, _, of)| Some((*name, of(device)?)))
}

/// Every text that is known of a device, under the name of the registry.
pub fn texts_of(device: &Device) -> impl Iterator<Item = (&'static str, &'static str)> {
    let texts = [
        ("name", Some(device.name)),
        ("vendor", Some(device.vendor.name())),
        ("kind", Some(device.kind.name())),
        ("market", Some(device.market.name())),
        ("architecture", Some(device.architecture.name())),
        ("aliases", device.aliases),
        ("interconnect", device.interconnect.map(|link| link.name())),
        ("derived", device.derived),
        ("source", Some(device.source)),
        ("as_of", Some(device.as_of)),
    ];
    texts.into_iter().filter_map(|(name, text)| Some((name, text?)))
}

/// The texts of the registry.
pub const TEXTS: [&str; 10] = [
    "name",
    "vendor",
    "kind",
    "market",
    "architecture",
    "aliases",
    "interconnect",
    "derived",
    "source",
    "as_of",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_read_with_and_without_units() {
        let device = parse("bandwidth=256GB/s,compute=59 TFLOPS,memory=128GB,int8=118e3,tdp=120W").unwrap();
        assert_eq!((device.bandwidth, device.compute, device.fp16), (256.0, Some(59_000.0), Some(59_000.0)));
        assert_eq!((device.capacity, device.int8, device.tdp), (Some(128.0), Some(118_000.0), Some(120.0)));
        let device = parse("name=my box, bandwidth=50, fp32=100").unwrap();
        assert_eq!((device.name, device.compute, device.fp16), ("my box", Some(100.0), None));
    }

    #[test]
    fn wrong_figures_say_what_is_wrong() {
        for (text, expected) in [
            ("bandwidth=0", "must be above zero"),
            ("bandwidth=-5", "must be above zero"),
            ("bandwidth=nan", "invalid number `nan`"),
            ("bandwidth=5,bandwidth=6", "`bandwidth` is given twice"),
            ("bandwidth=5,memory=6,capacity=6", "`capacity` is given twice"),
            ("bandwidth=5 W", "invalid unit `W` in `5 W`; expected GB/s"),
            ("bandwidth=5,fast", "is not written NAME=FIGURE"),
            ("bandwidth=5,compute=9,fp16=8", "compute is 9, but"),
        ] {
            let DeviceError(message) = parse(text).unwrap_err();
            assert!(message.contains(expected), "{text}: {message}");
        }
    }
}
