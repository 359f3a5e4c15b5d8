//! Published speeds of servers and device sets do not exceed the highest ceiling of any layout.

use serde_json::Value;

use crate::program::json;
use roofline_test_support::transcript::parallel;

#[test]
fn published_speeds_do_not_exceed_the_best_ceiling() {
    let published = include_str!("../fixtures/published.txt");
    let rows: Vec<&str> =
        published.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).collect();
    assert!(rows.len() >= 50);
    let above = parallel(&rows, |row| {
        let [figure, speed, args] = row.splitn(3, ' ').collect::<Vec<_>>()[..] else { panic!("{row}") };
        let args: Vec<&str> = std::iter::once("predict").chain(args.split(' ')).collect();
        let best = &json(&args)["rows"][0];
        let layouts = best["others"].as_array().into_iter().flatten().chain([best]);
        let of = |way: &Value| way.get(figure).or(way["served"].get(figure)).and_then(Value::as_f64);
        let ceiling = layouts.filter_map(of).fold(0.0, f64::max);
        let speed: f64 = speed.parse().expect("a speed");
        (speed > ceiling).then(|| format!("{row}: exceeds the ceiling of {ceiling}"))
    });
    let above: Vec<String> = above.into_iter().flatten().collect();
    assert!(above.is_empty(), "{}", above.join("\n"));
}
