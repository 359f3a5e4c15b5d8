//! Conversion between calendar dates and day numbers.

use std::time::{SystemTime, UNIX_EPOCH};

/// Returns the number of days from 1970-01-01 to today in UTC.
pub fn today() -> i64 {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    i64::try_from(seconds / 86_400).unwrap_or(i64::MAX)
}

/// Formats a day number as `2026-11-17`.
pub fn format(day: i64) -> String {
    // Years start in March, so that the leap day is the last day.
    let day = day + 719_468;
    let (era, of_era) = (day.div_euclid(146_097), day.rem_euclid(146_097));
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * of_year + 2) / 153;
    let day_of_month = of_year - (153 * month + 2) / 5 + 1;
    let (month, next) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    format!("{:04}-{month:02}-{day_of_month:02}", year_of_era + 400 * era + next)
}

/// Parses a date like `2026-11-17` to a day number; `None` if it is invalid.
pub fn parse(text: &str) -> Option<i64> {
    let mut parts = text.split('-').map(|part| part.parse::<i64>().ok());
    let (year, month, day) = (parts.next()??, parts.next()??, parts.next()??);
    if !(1..=9999).contains(&year) || !(1..=12).contains(&month) {
        return None;
    }
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days = year * 365 + year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    let found = days + (153 * month + 2) / 5 + day - 1 - 719_468;
    (format(found) == text).then_some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_round_trip() {
        for (day, text) in [
            (0, "1970-01-01"),
            (59, "1970-03-01"),
            (11_016, "2000-02-29"),
            (11_017, "2000-03-01"),
            (20_774, "2026-11-17"),
        ] {
            assert_eq!((format(day).as_str(), parse(text)), (text, Some(day)));
        }
        for day in -1000..60_000 {
            assert_eq!(parse(&format(day)), Some(day));
        }
    }

    #[test]
    fn invalid_dates_are_rejected() {
        for text in
            ["", "2026", "2026-13-01", "2026-02-29", "2026-00-10", "2026-1-1", "now", "2026-11-17T00:00"]
        {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
