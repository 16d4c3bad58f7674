//! Days, months and weekdays as plain numbers, without a zone.
//!
//! A *day* is counted from 1970-01-01, a *month* is `12 * year + month - 1`, a *weekday* from Monday = 0.
//! The conversions are the usual ones of the proleptic Gregorian calendar, with years that begin in March.

/// Seconds of a day on which no clock changes.
pub(crate) const DAY: i64 = 86_400;

/// The Gregorian calendar repeats, weekdays included, after this many days (400 years).
pub(crate) const CYCLE_DAYS: i64 = 146_097;

/// The last day that has a name: 9999-12-31.
pub(crate) const LAST_DAY: i64 = 2_932_896;

/// 0001-01-01, which is a Monday.
pub(crate) const FIRST_MONDAY: i64 = day_of(1, 1, 1);

/// The day of a date.
pub(crate) const fn day_of(year: i64, month: i64, day: i64) -> i64 {
    let (y, m) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let era = y.div_euclid(400);
    let year_of_era = y.rem_euclid(400);
    let day_of_year = (153 * m + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * CYCLE_DAYS + day_of_era - 719_468
}

/// The month that holds a day, and the day's number in it.
pub(crate) const fn month_of(day: i64) -> (i64, i64) {
    let shifted = day + 719_468;
    let era = shifted.div_euclid(CYCLE_DAYS);
    let day_of_era = shifted.rem_euclid(CYCLE_DAYS);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let m = (5 * day_of_year + 2) / 153;
    let day_of_month = day_of_year - (153 * m + 2) / 5 + 1;
    // March-based months count on without a break: January and February belong to the next year.
    ((year_of_era + era * 400) * 12 + m + 2, day_of_month)
}

/// The first day of a month.
pub(crate) const fn first_day(month: i64) -> i64 {
    day_of(month.div_euclid(12), month.rem_euclid(12) + 1, 1)
}

/// How many days a month has.
pub(crate) const fn length(month: i64) -> i64 {
    match month.rem_euclid(12) {
        1 => {
            let year = month.div_euclid(12);
            if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) { 29 } else { 28 }
        }
        3 | 5 | 8 | 10 => 30,
        _ => 31,
    }
}

/// The weekday of a day, Monday = 0.
pub(crate) const fn weekday(day: i64) -> i64 {
    (day + 3).rem_euclid(7)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_day_of_two_cycles_goes_there_and_back() {
        let (mut month, mut number) = (12 * 1600, 0);
        let first = first_day(month);
        for day in first..first + 2 * CYCLE_DAYS {
            number += 1;
            if number > length(month) {
                (month, number) = (month + 1, 1);
            }
            assert_eq!(month_of(day), (month, number));
            assert_eq!(first_day(month) + number - 1, day);
        }
        assert_eq!((month, number), (12 * 2399 + 11, 31));
    }

    #[test]
    fn known_days() {
        assert_eq!(day_of(1970, 1, 1), 0);
        assert_eq!(day_of(9999, 12, 31), LAST_DAY);
        assert_eq!(weekday(FIRST_MONDAY), 0);
        assert_eq!(weekday(day_of(2015, 7, 13)), 0, "a Monday");
        assert_eq!(weekday(day_of(2026, 11, 15)), 6, "a Sunday");
        assert_eq!(weekday(day_of(1969, 12, 31)), 2, "a Wednesday, before the epoch");
    }
}
