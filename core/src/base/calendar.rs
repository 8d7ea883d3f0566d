//! Calendar dates, in UTC: conversion between days since 1970 and written dates.

const SECONDS_OF_DAY: i64 = 86_400;
/// Days from March 1 of the year 0, the start of a 400-year era, to January 1, 1970. Years start in March here, so that
/// the leap day comes last.
const DAYS_BEFORE_1970: i64 = 719_468;
const DAYS_OF_ERA: i64 = 146_097;

/// A day since 1970 as an ISO date: "2025-07-01".
///
/// ```
/// assert_eq!(dormer_core::base::calendar::date(11_016), "2000-02-29");
/// ```
pub fn date(day: i64) -> String {
    let day = day + DAYS_BEFORE_1970;
    let (era, day) = (day.div_euclid(DAYS_OF_ERA), day.rem_euclid(DAYS_OF_ERA));
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = era * 400 + year + i64::from(month < 3);
    format!("{year:04}-{month:02}-{day:02}")
}

/// The day since 1970 of a date written as "2025-07-01"; `None` for other text.
pub fn day(date: &str) -> Option<i64> {
    let mut parts = date.splitn(3, '-');
    let mut next = || parts.next()?.parse::<i32>().ok().map(i64::from);
    let (year, month, day) = (next()?, next()?, next()?);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let year = year - i64::from(month < 3);
    let leap_days = year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    Some(year * 365 + leap_days + of_year - DAYS_BEFORE_1970)
}

/// The date of a time in nanoseconds since 1970: "2025-07-01".
pub fn date_of(ns: i64) -> String {
    date(day_and_second(ns).0)
}

/// A time in nanoseconds since 1970, to the second: "2025-07-01T12:41:09Z", in ISO 8601.
pub fn time(ns: i64) -> String {
    let (day, second) = day_and_second(ns);
    format!("{}T{}:{:02}Z", date(day), clock(second), second % 60)
}

/// A time in nanoseconds since 1970 for people, to the minute: "2025-07-01 12:41".
pub fn minute(ns: i64) -> String {
    let (day, second) = day_and_second(ns);
    format!("{} {}", date(day), clock(second))
}

fn day_and_second(ns: i64) -> (i64, i64) {
    let seconds = ns.div_euclid(1_000_000_000);
    (
        seconds.div_euclid(SECONDS_OF_DAY),
        seconds.rem_euclid(SECONDS_OF_DAY),
    )
}

/// A second of the day as hours and minutes.
fn clock(second: i64) -> String {
    format!("{:02}:{:02}", second / 3_600, second / 60 % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_those_of_the_calendar() {
        let cases = [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (1_767_225_599, "2025-12-31T23:59:59Z"),
            (1_772_286_300, "2026-02-28T13:45:00Z"),
            (-1, "1969-12-31T23:59:59Z"),
        ];
        for (seconds, expected) in cases {
            assert_eq!(time(seconds * 1_000_000_000), expected);
        }
        assert_eq!(minute(1_790_858_460_999_999_999), "2026-10-01 12:41");
    }

    #[test]
    fn a_day_is_a_date_and_back() {
        for of in (-200_000..200_000).step_by(37) {
            assert_eq!(day(&date(of)), Some(of));
        }
        for text in ["", "2025", "2025-07", "2025-07-x", "unknown"] {
            assert_eq!(day(text), None, "{text}");
        }
    }
}
