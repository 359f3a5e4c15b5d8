//! Parses numbers with suffixes and units: `128k` tokens, `8b` parameters, `80%`, `256GB/s`.

use roofline_contracts::unit::Unit;

/// Parses a finite number; underscores are ignored.
fn plain(text: &str) -> Option<f64> {
    text.trim().replace('_', "").parse::<f64>().ok().filter(|value| value.is_finite())
}

/// Parses a number with one of these suffixes, case-insensitively; each suffix has a power of ten.
fn decimal(text: &str, suffixes: &[(&str, i32)]) -> Option<f64> {
    let text = text.trim().to_ascii_lowercase();
    // Parse number and exponent together, so that 8.03b is the integer 8.03e9.
    let with =
        |(suffix, power): &(&str, i32)| plain(&format!("{}e{power}", text.strip_suffix(suffix)?.trim()));
    plain(&text).or_else(|| suffixes.iter().find_map(with))
}

/// Parses a number of tokens, such as `4096` or `128k`. Factors are binary: `128k` is 131,072 and `1m` is 1,048,576.
pub fn tokens(text: &str) -> Result<f64, &'static str> {
    let text = text.trim().to_ascii_lowercase();
    let with = |(suffix, factor): (&str, f64)| Some(plain(text.strip_suffix(suffix)?)? * factor);
    let kilo = || [("k", 1024.0), ("m", 1024.0 * 1024.0)].into_iter().find_map(with);
    plain(&text).or_else(kilo).ok_or("expected a number of tokens such as 4096 or 128k (k = 1024)")
}

/// Parses a number of parameters, such as `7e9`, `8b`, `350m` or `1.5t`. Factors are decimal.
pub fn parameters(text: &str) -> Result<f64, &'static str> {
    decimal(text, &[("k", 3), ("m", 6), ("b", 9), ("t", 12)])
        .ok_or("expected a number of parameters such as 7e9, 8b or 350m")
}

/// Parses a share, such as `80%` or `0.8`.
pub fn share(text: &str) -> Result<f64, &'static str> {
    decimal(text, &[("%", -2)]).ok_or("expected a share such as 80% or 0.8")
}

/// Parses a number with an optional unit, such as `256`, `256GB/s` or `59 TFLOPS`, and converts it to `target`. Integer and
/// floating-point operations are interchangeable.
pub fn in_unit(text: &str, target: &str) -> Result<f64, String> {
    let text = text.trim();
    // The exponent belongs to the number, as in `59e3`, but the E of `EB` does not.
    let bytes = text.as_bytes();
    let mut end = 0;
    while let Some(byte) = bytes.get(end) {
        let exponent = matches!(byte, b'e' | b'E')
            && bytes.get(end + 1).is_some_and(|next| next.is_ascii_digit() || matches!(next, b'+' | b'-'));
        let sign = matches!(byte, b'+' | b'-') && (end == 0 || matches!(bytes[end - 1], b'e' | b'E'));
        if !(byte.is_ascii_digit() || matches!(byte, b'.' | b'_') || exponent || sign) {
            break;
        }
        end += 1;
    }
    let (number, unit) = text.split_at(end);
    let value = plain(number).ok_or_else(|| {
        format!("invalid number `{text}`; expected a number with an optional unit in {target}")
    })?;
    let unit = unit.trim().trim_start_matches('[').trim_end_matches(']').trim();
    if unit.is_empty() {
        return Ok(value);
    }
    let contract_unit = contract_spelling(unit);
    let found = Unit::parse(&contract_unit).map_err(|error| format!("`{text}`: {}", error.message))?;
    let (found, wanted) = (as_flops(found), Unit::parse(target).map_err(|error| error.message)?);
    let ratio = found.over(as_flops(wanted)).filter(|ratio| ratio.is_dimensionless());
    let ratio = ratio.ok_or_else(|| format!("invalid unit `{unit}` in `{text}`; expected {target}"))?;
    Ok(value / ratio.conversion())
}

/// Converts a unit to the spelling of contracts: `TFLOPS` to `TFLOP/s`, `TOPS` to `Top/s`.
fn contract_spelling(unit: &str) -> String {
    let strip = |ends: &[&str]| ends.iter().find_map(|end| unit.strip_suffix(end));
    if let Some(prefix) = strip(&["FLOPS", "FLOPs", "flops", "Flops", "FLOP/s", "Flop/s"]) {
        format!("{prefix}flop/s")
    } else if let Some(prefix) = strip(&["OPS", "OPs", "ops", "OP/s"]) {
        format!("{prefix}op/s")
    } else {
        unit.replace("tokens", "token").replace("tok/", "token/")
    }
}

/// Treats an integer operation as a floating-point operation.
fn as_flops(unit: Unit) -> Unit {
    let (op, flop) = (Unit::parse("op/s"), Unit::parse("flop/s"));
    match (op, flop) {
        (Ok(op), Ok(flop)) if unit.same_dimension(op) => {
            unit.over(op).and_then(|scale| scale.times(flop)).unwrap_or(unit)
        }
        _ => unit,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_parameters_and_shares_accept_suffixes() {
        assert_eq!(
            ["4096", "32k", "128K", "1m", "1_000"].map(|text| tokens(text).unwrap()),
            [4096.0, 32768.0, 131_072.0, 1_048_576.0, 1000.0]
        );
        assert_eq!(
            ["7e9", "8b", "8.03B", "350M", "1T"].map(|text| parameters(text).unwrap()),
            [7e9, 8e9, 8.03e9, 350e6, 1e12]
        );
        assert_eq!(["80%", " 2.5 % ", "0.8", "0"].map(|text| share(text).unwrap()), [0.8, 0.025, 0.8, 0.0]);
        for wrong in ["", "k", "8x", "nan", "inf", "k8", "8kk"] {
            assert!(tokens(wrong).is_err() && parameters(wrong).is_err() && share(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn units_are_optional_and_converted() {
        for (text, wanted, expected) in [
            ("256", "GB/s", 256.0),
            ("256GB/s", "GB/s", 256.0),
            ("0.256 TB/s", "GB/s", 256.0),
            ("1GiB/s", "GB/s", 1.073_741_824),
            ("59TFLOP/s", "Gflop/s", 59_000.0),
            ("59 TFLOPS", "Gflop/s", 59_000.0),
            ("59Tflops", "Gflop/s", 59_000.0),
            ("118TOPS", "Gflop/s", 118_000.0),
            ("118e3", "Gflop/s", 118_000.0),
            ("1.5E+2GB", "GB", 150.0),
            ("128GB", "GB", 128.0),
            ("20 token/s", "token/s", 20.0),
            ("20 [token/s]", "token/s", 20.0),
            ("20tok/s", "token/s", 20.0),
            ("450 W", "W", 450.0),
        ] {
            assert_eq!(in_unit(text, wanted), Ok(expected), "{text}");
        }
        for (text, wanted, expected) in [
            ("256 W", "GB/s", "invalid unit `W` in `256 W`; expected GB/s"),
            ("fast", "GB/s", "invalid number `fast`"),
            ("256 GBs", "GB/s", "unknown unit"),
            ("", "GB/s", "invalid number ``"),
            ("1e999", "GB/s", "invalid number"),
        ] {
            let error = in_unit(text, wanted).unwrap_err();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }
}
