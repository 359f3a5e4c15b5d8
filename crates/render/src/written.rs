//! Numbers as people write them: `128k` tokens, `8b` parameters, `80%`, `256GB/s`.

use roofline_contracts::unit::Unit;

/// A plain number; neither infinite nor NaN.
fn plain(text: &str) -> Option<f64> {
    text.trim().replace('_', "").parse::<f64>().ok().filter(|value| value.is_finite())
}

/// A number and one of these suffixes, in any case, each with its power of ten.
fn decimal(text: &str, suffixes: &[(&str, i32)]) -> Option<f64> {
    let text = text.trim().to_ascii_lowercase();
    // Read as one number, so that 8.03b is the f64 next to 8.03e9 and a whole one.
    let with =
        |(suffix, power): &(&str, i32)| plain(&format!("{}e{power}", text.strip_suffix(suffix)?.trim()));
    plain(&text).or_else(|| suffixes.iter().find_map(with))
}

/// A number of tokens: `4096`, `128k`. Lengths of context are powers of two, so `128k` is 131,072 and `1m` is 1,048,576.
pub fn tokens(text: &str) -> Result<f64, &'static str> {
    let text = text.trim().to_ascii_lowercase();
    let with = |(suffix, factor): (&str, f64)| Some(plain(text.strip_suffix(suffix)?)? * factor);
    let kilo = || [("k", 1024.0), ("m", 1024.0 * 1024.0)].into_iter().find_map(with);
    plain(&text).or_else(kilo).ok_or("write tokens as 4096 or 128k, where k is 1024")
}

/// A number of parameters: `7e9`, `8b`, `350m`, `1.5t`, with decimal factors.
pub fn parameters(text: &str) -> Result<f64, &'static str> {
    decimal(text, &[("k", 3), ("m", 6), ("b", 9), ("t", 12)]).ok_or("write parameters as 7e9, 8b or 350m")
}

/// A share of a whole: `80%` or `0.8`.
pub fn share(text: &str) -> Result<f64, &'static str> {
    decimal(text, &[("%", -2)]).ok_or("write a share as 80% or 0.8")
}

/// A number that may carry its unit, `256`, `256GB/s` or `59 TFLOPS`, in the unit that is wanted. What computers do in a
/// second is counted in operations, whatever their kind.
pub fn in_unit(text: &str, wanted: &str) -> Result<f64, String> {
    let text = text.trim();
    // An exponent belongs to the number: `59e3`, but not the E of `EB`.
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
    let value = plain(number).ok_or_else(|| format!("`{text}` is not a number, perhaps with its unit"))?;
    let unit = unit.trim().trim_start_matches('[').trim_end_matches(']').trim();
    if unit.is_empty() {
        return Ok(value);
    }
    let spelled = spelled(unit);
    let found = Unit::parse(&spelled).map_err(|error| format!("`{text}`: {}", error.message))?;
    let (found, target) = (operations(found), Unit::parse(wanted).map_err(|error| error.message)?);
    let ratio = found.over(operations(target)).filter(|ratio| ratio.is_dimensionless());
    let ratio = ratio.ok_or_else(|| format!("`{text}` is in {unit}, not in {wanted}"))?;
    Ok(value / ratio.conversion())
}

/// The unit in the spelling of contracts: `TFLOPS` is `TFLOP/s`, `TOPS` is `Top/s`.
fn spelled(unit: &str) -> String {
    let without = |ends: &[&str]| ends.iter().find_map(|end| unit.strip_suffix(end));
    if let Some(prefix) = without(&["FLOPS", "FLOPs", "flops", "Flops", "FLOP/s", "Flop/s"]) {
        format!("{prefix}flop/s")
    } else if let Some(prefix) = without(&["OPS", "OPs", "ops", "OP/s"]) {
        format!("{prefix}op/s")
    } else {
        unit.replace("tokens", "token").replace("tok/", "token/")
    }
}

/// An integer operation counts as one flop.
fn operations(unit: Unit) -> Unit {
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
    fn tokens_parameters_and_shares_are_read_as_people_write_them() {
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
    fn a_unit_is_converted_and_left_out_it_is_the_one_wanted() {
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
            ("256 W", "GB/s", "is in W, not in GB/s"),
            ("fast", "GB/s", "`fast` is not a number"),
            ("256 GBs", "GB/s", "unknown unit"),
            ("", "GB/s", "`` is not a number"),
            ("1e999", "GB/s", "is not a number"),
        ] {
            let error = in_unit(text, wanted).unwrap_err();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }
}
