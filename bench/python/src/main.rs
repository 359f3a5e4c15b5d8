//! Evaluates 100,000 points of a contract with the generated Rust. Reads one contract name per line and prints the time in seconds and
//! the sum of the result bits, which compare.py compares with its own.

use std::hint::black_box;
use std::io::{BufRead, stdin};
use std::time::Instant;

use roofline_macros::roofline_contract;

roofline_contract!(mod model = "roofline-model-v1.yaml");
roofline_contract!(mod operation = "operation-v1.yaml");

const POINTS: usize = 100_000;

/// Evaluates the points and returns one column per equation.
macro_rules! columns {
    ($module:ident, $points:expr) => {{
        let mut columns = vec![Vec::with_capacity(POINTS); $module::Outputs::NAMES.len()];
        for point in $points {
            let outputs = black_box(point).evaluate().expect("points are inside the domains");
            for (column, value) in columns.iter_mut().zip(outputs.to_array()) {
                column.push(value);
            }
        }
        columns
    }};
}

/// Checksum of all bits, independent of the order of the columns.
fn checksum(columns: &[Vec<f64>]) -> u64 {
    columns.iter().flatten().fold(0, |sum: u64, value| sum.wrapping_add(value.to_bits()))
}

fn main() {
    let params = |row: usize| (row + 1) as f64 * 1e6;
    let tokens = |row: usize| (row % 4096 + 1) as f64;
    let wide = |row: usize| (row % 8191 + 1) as f64;
    for line in stdin().lock().lines() {
        let line = line.expect("standard input is UTF-8");
        let start = Instant::now();
        let columns = match line.as_str() {
            "roofline-model-v1" => {
                columns!(model, (0..POINTS).map(|row| model::Inputs::new(params(row), 4.0, 200.0, 5000.0)))
            }
            "operation-v1" => columns!(
                operation,
                (0..POINTS).map(|row| operation::Inputs {
                    tokens: tokens(row),
                    dense_params: wide(row) * 4096.0,
                    in_features: wide(row),
                    out_features: 4096.0,
                    ..operation::Inputs::new(200.0, 5000.0)
                })
            ),
            other => panic!("unknown contract `{other}`"),
        };
        println!("{} {}", start.elapsed().as_secs_f64(), checksum(&columns));
    }
}
