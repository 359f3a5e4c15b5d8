//! A device by its figures alone: `bandwidth=256GB/s,compute=59TFLOP/s,memory=128GB,int8=118e3`.

use super::DeviceError;
use crate::contracts::hardware::devices::{Architecture, Device, Kind, Market, Vendor};
use crate::written::in_unit;

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

/// Every number that is known of a device, under the name and in the unit of the registry.
pub fn of(device: &Device) -> impl Iterator<Item = (&'static str, f64)> {
    let Device {
        launch_year,
        launch_price_usd,
        fp32,
        tf32,
        fp16,
        fp16_fast,
        fp16_sparse,
        bf16,
        fp8,
        fp4,
        int8,
        int4,
        compute,
        bandwidth,
        bus_width,
        data_rate,
        capacity,
        interconnect_bandwidth,
        tdp,
        overhead,
        cores,
        base_clock,
        boost_clock,
        fp32_per_cycle,
        ..
    } = *device;
    let figures = [
        ("launch_year", launch_year),
        ("launch_price_usd", launch_price_usd),
        ("fp32", fp32),
        ("tf32", tf32),
        ("fp16", fp16),
        ("fp16_fast", fp16_fast),
        ("fp16_sparse", fp16_sparse),
        ("bf16", bf16),
        ("fp8", fp8),
        ("fp4", fp4),
        ("int8", int8),
        ("int4", int4),
        ("compute", compute),
        ("bandwidth", Some(bandwidth)),
        ("bus_width", bus_width),
        ("data_rate", data_rate),
        ("capacity", capacity),
        ("interconnect_bandwidth", interconnect_bandwidth),
        ("tdp", tdp),
        ("overhead", overhead),
        ("cores", cores),
        ("base_clock", base_clock),
        ("boost_clock", boost_clock),
        ("fp32_per_cycle", fp32_per_cycle),
    ];
    figures.into_iter().filter_map(|(name, value)| Some((name, value?)))
}

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
            ("bandwidth=nan", "is not a number"),
            ("bandwidth=5,bandwidth=6", "`bandwidth` is given twice"),
            ("bandwidth=5,memory=6,capacity=6", "`capacity` is given twice"),
            ("bandwidth=5 W", "is in W, not in GB/s"),
            ("bandwidth=5,fast", "is not written NAME=FIGURE"),
            ("bandwidth=5,compute=9,fp16=8", "compute is 9, but"),
        ] {
            let DeviceError(message) = parse(text).unwrap_err();
            assert!(message.contains(expected), "{text}: {message}");
        }
    }
}
