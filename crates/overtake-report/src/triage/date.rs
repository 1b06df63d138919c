//! Days, in universal time.

use std::time::{SystemTime, UNIX_EPOCH};

/// Today, as `2026-11-15`. `SOURCE_DATE_EPOCH`, if it is set, says when today is, as it does for other tools whose output is to
/// be the same every time.
pub fn today() -> String {
    let given = std::env::var("SOURCE_DATE_EPOCH").ok().and_then(|seconds| seconds.trim().parse().ok());
    let now = || SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    date_of(given.unwrap_or_else(now))
}

/// The day on which so many seconds have passed since 1970.
///
/// Four centuries have 146,097 days, and years that begin in March have their extra day at the end: so both the year and the
/// month are divisions.
pub fn date_of(seconds: u64) -> String {
    // The 1st of March of the year 0 is 719,468 days before 1970.
    let days = seconds / 86_400 + 719_468;
    let (centuries, day) = (days / 146_097, days % 146_097);
    let year_of_four_centuries = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day_of_year =
        day - (365 * year_of_four_centuries + year_of_four_centuries / 4 - year_of_four_centuries / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day_of_month = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = centuries * 400 + year_of_four_centuries + u64::from(month <= 2);
    format!("{year:04}-{month:02}-{day_of_month:02}")
}

#[cfg(test)]
mod tests {
    use super::date_of;

    #[test]
    fn days_follow_each_other() {
        let (mut year, mut month, mut day) = (1970, 1, 1);
        for number in 0..60_000_u64 {
            assert_eq!(date_of(number * 86_400 + 86_399), format!("{year:04}-{month:02}-{day:02}"));
            let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
            let length = match month {
                2 => 28 + i32::from(leap),
                4 | 6 | 9 | 11 => 30,
                _ => 31,
            };
            day += 1;
            if day > length {
                (day, month) = (1, month + 1);
            }
            if month > 12 {
                (month, year) = (1, year + 1);
            }
        }
    }
}
