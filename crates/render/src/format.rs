//! Formats numbers for people: three significant digits with a unit.

/// Unit of bandwidth, in 10⁹ bytes per second.
pub const GB_PER_S: &str = "GB/s";
/// Unit of floating-point performance, in 10⁹ operations per second.
pub const GFLOP_PER_S: &str = "GFLOP/s";
/// Unit of clock rates.
pub const GHZ: &str = "GHz";
/// Unit of integer performance, in 10⁹ operations per second.
pub const GOP_PER_S: &str = "Gop/s";
/// Unit of arithmetic intensity.
pub const FLOP_PER_BYTE: &str = "FLOP/B";
/// Unit of time.
pub const SECONDS: &str = "s";

/// Formats a value with three significant digits; `-` if it is not finite.
pub fn figure(value: f64) -> String {
    if !value.is_finite() {
        return "-".into();
    }
    let decimals = match value.abs() {
        0.0 => return "0".into(),
        size if !(0.000_999_5..999_950.0).contains(&size) => return format!("{value:.2e}"),
        99.95.. => 0,
        9.995.. => 1,
        0.9995.. => 2,
        0.09995.. => 3,
        0.009_995.. => 4,
        _ => 5,
    };
    format!("{value:.decimals$}")
}

/// Formats an optional value like [`figure`]; `-` if it is missing.
pub fn maybe(value: Option<f64>) -> String {
    value.map_or_else(|| "-".into(), figure)
}

/// Formats a number for a formula: exactly if that takes at most nine characters, otherwise with six digits.
pub fn short(value: f64) -> String {
    let shortest = |value: f64| {
        let (plain, exponent) = (format!("{value}"), format!("{value:e}"));
        if plain.len() <= exponent.len().max(6) { plain } else { exponent }
    };
    let exact = shortest(value);
    if exact.len() <= 9 {
        return exact;
    }
    format!("{value:.5e}").parse().map_or(exact, shortest)
}

/// Formats a share, such as 0.31, as a percentage; `-` if it is missing.
pub fn percent(share: Option<f64>) -> String {
    match share.filter(|share| share.is_finite()) {
        None => "-".into(),
        Some(share) if share > 0.0 && share < 0.000_95 => "<0.1 %".into(),
        Some(share) if share.abs() < 0.0995 => format!("{:.1} %", share * 100.0),
        Some(share) => format!("{:.0} %", share * 100.0),
    }
}

/// Formats a count with thousands separators.
pub fn count(value: usize) -> String {
    let digits = value.to_string();
    let mut out = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// Formats a number of threads: `1 thread`, `2 threads`.
pub fn threads(count: usize) -> String {
    if count == 1 { "1 thread".to_owned() } else { format!("{count} threads") }
}

/// Formats a number of bytes in KiB or MiB.
pub fn size(bytes: usize) -> String {
    let (unit, shift) = if bytes >= 1 << 20 { ("MiB", 20) } else { ("KiB", 10) };
    let value = bytes as f64 / f64::from(1u32 << shift);
    if value.fract() == 0.0 { format!("{value:.0} {unit}") } else { format!("{value:.1} {unit}") }
}

/// Formats a power of ten: plainly from 10⁻³ to 10⁴, otherwise with an exponent.
pub fn decade(exponent: i32, unicode: bool) -> String {
    match exponent {
        -3..0 => format!("{:.*}", exponent.unsigned_abs() as usize, 10f64.powi(exponent)),
        0..=4 => format!("{:.0}", 10f64.powi(exponent)),
        _ if unicode => {
            let raise = |digit: char| match digit {
                '-' => '⁻',
                digit => ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'][digit as usize - '0' as usize],
            };
            format!("10{}", exponent.to_string().chars().map(raise).collect::<String>())
        }
        _ => format!("1e{exponent}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_formatted_with_three_significant_digits() {
        let shown: Vec<String> = [
            0.0, 1.0, 1.2345, 9.999, 12.345, 99.97, 123.456, 99_999.0, 999_999.0, 1.5e9, 0.12345, 0.0999999,
            0.012345, 0.0012345, 0.00012345, -3.25,
        ]
        .into_iter()
        .map(figure)
        .collect();
        assert_eq!(
            shown,
            [
                "0", "1.00", "1.23", "10.0", "12.3", "100", "123", "99999", "1.00e6", "1.50e9", "0.123",
                "0.100", "0.0123", "0.00123", "1.23e-4", "-3.25"
            ]
        );
        assert_eq!(figure(f64::NAN), "-");
    }

    #[test]
    fn short_powers_of_ten_have_no_exponent() {
        let shown: Vec<String> = [-6, -3, -1, 0, 4, 5, 12].into_iter().map(|e| decade(e, true)).collect();
        assert_eq!(shown, ["10⁻⁶", "0.001", "0.1", "1", "10000", "10⁵", "10¹²"]);
        assert_eq!(decade(-300, false), "1e-300");
    }

    #[test]
    fn shares_are_percentages_and_counts_have_separators() {
        let shown: Vec<String> = [Some(0.0), Some(0.0001), Some(0.0312), Some(0.31), Some(1.0), None]
            .into_iter()
            .map(percent)
            .collect();
        assert_eq!(shown, ["0.0 %", "<0.1 %", "3.1 %", "31 %", "100 %", "-"]);
        assert_eq!([0, 999, 1000, 1234567].map(count), ["0", "999", "1,000", "1,234,567"]);
    }
}
