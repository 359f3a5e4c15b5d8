//! Sample charts for the tests of all renderers.

use super::{Bound, Chart, Point, Roof};

fn roof(name: &str, group: &str, bandwidth_gb_s: Option<f64>, compute_gflop_s: Option<f64>) -> Roof {
    Roof { name: name.into(), group: group.into(), bandwidth_gb_s, compute_gflop_s, curve: Vec::new() }
}

fn point(name: &str, group: &str, intensity: f64, performance: f64, share: f64, bound: Bound) -> Point {
    Point {
        name: name.into(),
        group: group.into(),
        intensity_flop_byte: Some(intensity),
        performance_gflop_s: Some(performance),
        share: Some(share),
        bound,
        total_id: 0,
        roof: None,
        details: vec![("weights".into(), "Q8_0".into()), ("bytes".into(), "47.1 MB".into())],
    }
}

/// A small model on a machine with two groups of roofs; some operations coincide and two have no position.
pub fn model() -> Chart {
    let mut points = Vec::new();
    for layer in 0..8 {
        let name = |part: &str| format!("blk.{layer}.{part}.weight");
        let wobble = 1.0 + 0.01 * f64::from(layer);
        points.push(point(&name("attn_qkv"), "attention", 1.87, 48.0 * wobble, 0.018, Bound::Memory));
        points.push(point(&name("attn_scores"), "attention", 0.61, 12.0 * wobble, 0.011, Bound::Memory));
        points.push(point(&name("ffn_gate_up"), "feed-forward", 1.88, 63.0 * wobble, 0.047, Bound::Memory));
        points.push(point(&name("ffn_down"), "feed-forward", 1.88, 41.0 * wobble, 0.026, Bound::Memory));
    }
    points.push(point("output.weight", "head", 1.88, 66.5, 0.12, Bound::Memory));
    points.push(point("prefill matmul", "head", 96.0, 171.0, 0.05, Bound::Compute));
    points.push(Point {
        name: "token_embd.weight".into(),
        group: "look-up".into(),
        intensity_flop_byte: Some(0.0),
        performance_gflop_s: None,
        ..Point::default()
    });
    points.push(Point { name: "rope_freqs".into(), group: "look-up".into(), ..Point::default() });
    Chart {
        title: "tiny-8L Q8_0, decode".into(),
        subtitle: "two cores with AVX2, batch 1, context 4096".into(),
        roofs: vec![
            roof("DRAM, 2 threads", "2 threads", Some(36.5), Some(193.6)),
            roof("DRAM, 1 thread", "1 thread", Some(28.8), Some(99.9)),
            roof("L3", "2 threads", Some(180.0), None),
        ],
        points,
    }
}

/// A machine with a roof for each memory level and without operations.
pub fn machine() -> Chart {
    let level = |name: &str, bandwidth| roof(name, "2 threads", Some(bandwidth), None);
    Chart {
        title: "A processor with AVX2".into(),
        subtitle: "avx2, 2 threads, L1 32 KiB, L2 512 KiB, L3 32 MiB, buffers 512 MiB".into(),
        roofs: vec![
            roof("memory, read", "2 threads", Some(41.3), Some(193.6)),
            level("L3, read", 118.0),
            level("L2, read", 197.0),
            level("L1, read", 402.0),
            roof("memory, read", "1 thread", Some(28.8), Some(99.9)),
        ],
        points: Vec::new(),
    }
}

/// Two thousand operations, spread over the plot.
pub fn crowd() -> Chart {
    let mut chart = model();
    chart.points = (0..2000)
        .map(|index| {
            let (kind, spread) = (
                ["attention", "feed-forward", "norm", "head"][index % 4],
                (index * 7919 % 2000) as f64 / 2000.0,
            );
            let intensity = 0.1 * 1000f64.powf(spread);
            let performance =
                193.6f64.min(36.5 * intensity) * (0.2 + 0.8 * (index * 104_729 % 1000) as f64 / 1000.0);
            let bound = if intensity < 5.3 { Bound::Memory } else { Bound::Compute };
            point(&format!("blk.{}.{kind}.{index}", index / 16), kind, intensity, performance, 0.0005, bound)
        })
        .collect();
    chart
}

/// Malicious names and invalid figures.
pub fn hostile() -> Chart {
    let mut chart = model();
    let names = [
        "<script>alert(1)</script>",
        "</script><img src=x onerror=alert(1)>",
        "\u{1b}[2J\u{7}bell",
        "שלום עולם",
        "مرحبا",
        "👩‍👩‍👧‍👦 family",
        "漢字漢字漢字",
        "a\u{202e}turned",
        "&amp; \"quotes\" 'single' ]]> <!-- --> `tick` ${x}",
        "\u{0}\u{fffe}\u{ffff}",
        "\u{2028}line\u{2029}",
    ];
    for (index, name) in names.into_iter().chain([&*"long ".repeat(2000)]).enumerate() {
        chart.points.push(point(
            name,
            name,
            10f64.powi(index as i32 - 6),
            10f64.powi(6 - index as i32),
            0.01,
            Bound::Compute,
        ));
    }
    for (intensity, performance) in
        [(f64::NAN, 1.0), (f64::INFINITY, 1.0), (-1.0, 1.0), (1.0, 0.0), (0.0, 0.0)]
    {
        chart.points.push(point("no place", "odd", intensity, performance, f64::NAN, Bound::Undefined));
    }
    chart.roofs.push(roof("<b>nothing</b>", "odd", None, None));
    chart.roofs.push(roof("negative", "odd", Some(-1.0), Some(f64::NAN)));
    chart.roofs.push(roof("only flat", "flat", None, Some(50.0)));
    chart.title = "<title>".into();
    chart
}
