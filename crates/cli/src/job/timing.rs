//! When a job shall run, from options to JSON.
//!
//! The options say it as people do: every day, at 05:15, on the last Friday. What they cannot say, a file can.

use clap::Args;
use jiff::tz::TimeZone;
use jiff::{RoundMode, TimestampRound, Unit};
use recurrence::{Fault, Rule, Timestamp, Zone};
use serde_json::{Map, Value, json};

/// When.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "When (once and now, if nothing is said)")]
pub(crate) struct Timing {
    /// How often: a number and minutes, hours, days, weeks, months or years, such as "15 minutes" or "day"
    #[arg(long, value_name = "PERIOD", conflicts_with = "cron")]
    every: Option<String>,
    /// At which times of the day, such as 05:15 or 09:00,17:00
    #[arg(long, value_name = "TIMES", requires = "every")]
    at: Option<String>,
    /// On which days: mon,wed or mon-fri with weeks; 1,15,-1 or "last friday" with months
    #[arg(long, value_name = "DAYS", requires = "every", allow_hyphen_values = true)]
    on: Option<String>,
    /// A cron expression of five fields, instead of --every
    #[arg(long, value_name = "EXPR")]
    cron: Option<String>,
    /// Not before this time (ISO 8601)
    #[arg(long, value_name = "TIME")]
    start: Option<String>,
    /// Not after this time (ISO 8601)
    #[arg(long, value_name = "TIME")]
    end: Option<String>,
    /// So many times and no more
    #[arg(long, value_name = "N")]
    count: Option<i64>,
    /// The time zone of the times of the day, such as Europe/Paris; by default UTC
    #[arg(long, value_name = "ZONE", visible_alias = "zone")]
    time_zone: Option<String>,
}

impl Timing {
    /// `startTime` and `recurrence`. What is wrong with them is added to `faults` under the names of the options.
    pub(crate) fn properties(&self, now: Timestamp, faults: &mut Vec<String>) -> Map<String, Value> {
        let known_before = faults.len();
        let mut properties = Map::new();
        let recurrence = self.recurrence(faults);
        if let Some(start) = &self.start {
            properties.insert("startTime".to_owned(), start.as_str().into());
        } else if self.at.is_some() || self.on.is_some() {
            // Without a start the first run would be at once, whatever the times of the day are.
            let minute = TimestampRound::new().smallest(Unit::Minute).mode(RoundMode::Floor);
            let start = now.round(minute).unwrap_or(now);
            properties.insert("startTime".to_owned(), wire::date_time::write(start).into());
        }
        if let Some(recurrence) = recurrence {
            properties.insert("recurrence".to_owned(), recurrence.into());
        }
        if faults.len() == known_before
            && let Err(found) = rule(&Value::from(properties.clone()), now)
        {
            faults.extend(found.iter().map(in_words_of_options));
        }
        properties
    }

    fn recurrence(&self, faults: &mut Vec<String>) -> Option<Map<String, Value>> {
        let mut recurrence = Map::new();
        let mut put = |name: &str, value: Value| recurrence.insert(name.to_owned(), value);
        if let Some(every) = &self.every {
            match period(every) {
                Ok((interval, unit)) => {
                    put("frequency", unit.into());
                    put("interval", interval.into());
                    let mut schedule = Map::new();
                    self.at.iter().for_each(|at| times_of_day(at, unit, &mut schedule, faults));
                    self.on.iter().for_each(|on| days(on, unit, &mut schedule, faults));
                    if !schedule.is_empty() {
                        put("schedule", schedule.into());
                    }
                }
                Err(fault) => faults.push(fault),
            }
        } else if let Some(cron) = &self.cron {
            put("cron", cron.as_str().into());
        } else {
            let repeats = [
                ("--count", self.count.is_some()),
                ("--end", self.end.is_some()),
                ("--time-zone", self.time_zone.is_some()),
            ];
            let useless = repeats.iter().filter(|(_, given)| *given);
            faults.extend(useless.map(|(option, _)| {
                format!("{option} is for jobs that repeat; --every or --cron says how often")
            }));
            return None;
        }
        if let Some(zone) = &self.time_zone {
            put("timeZone", zone.as_str().into());
        }
        if let Some(end) = &self.end {
            put("endTime", end.as_str().into());
        }
        if let Some(count) = self.count {
            put("count", count.into());
        }
        Some(recurrence)
    }
}

/// The rule of a job or of its properties, as it would be accepted at an instant.
pub(crate) fn rule(document: &Value, now: Timestamp) -> Result<Rule, recurrence::Faults> {
    // What has neither is a job for one run; the reader would not know it for properties.
    if document.get("properties").is_none() && document.as_object().is_some_and(Map::is_empty) {
        return Rule::build(&recurrence::Draft::default(), now);
    }
    let shape = wire::recurrence::recognise(document)?;
    wire::recurrence::read(document, shape).rule(now)
}

fn in_words_of_options(fault: &Fault) -> String {
    let field = fault.field.trim_start_matches("properties.");
    let field = field.trim_start_matches("recurrence.");
    let option = match field.split(['[', '.']).next().unwrap_or_default() {
        "startTime" => "--start",
        "endTime" => "--end",
        "count" => "--count",
        "timeZone" => "--time-zone",
        "cron" => "--cron",
        "frequency" | "interval" => "--every",
        "schedule" if field.contains("hours") || field.contains("minutes") => "--at",
        "schedule" => "--on",
        _ => field,
    };
    Fault { field: option.to_owned(), ..fault.clone() }.to_string()
}

const PERIODS: [&str; 6] = ["minute", "hour", "day", "week", "month", "year"];

/// `15 minutes`, `day`, `2weeks`.
fn period(text: &str) -> Result<(i64, &'static str), String> {
    let trimmed = text.trim();
    let (number, word) =
        trimmed.split_at(trimmed.find(|c: char| !c.is_ascii_digit()).unwrap_or(trimmed.len()));
    let word = word.trim().to_ascii_lowercase();
    let word = word.strip_suffix('s').unwrap_or(&word);
    let unit = PERIODS.into_iter().find(|period| *period == word || (*period == "minute" && word == "min"));
    let number = if number.is_empty() { Some(1) } else { number.parse().ok() };
    number.zip(unit).ok_or_else(|| {
        format!(
            "--every: '{text}' is not allowed here; expected: a number and minutes, hours, days, weeks, months or years"
        )
    })
}

/// Times of the day become hours and minutes, of which the service takes every combination: where that would be more
/// than was asked for, it is refused.
fn times_of_day(text: &str, unit: &str, schedule: &mut Map<String, Value>, faults: &mut Vec<String>) {
    if matches!(unit, "minute" | "hour") {
        faults
            .push(format!("--at: times of the day do not go with --every {unit}; expected: days or longer"));
        return;
    }
    let mut times: Vec<(i64, i64)> = Vec::new();
    for time in text.split(',').map(str::trim) {
        let read = time.split_once(':').and_then(|(hour, minute)| {
            let number = |text: &str, most: i64| {
                let digits = (1..=2).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
                text.parse().ok().filter(|number| digits && *number <= most)
            };
            Some((number(hour, 23)?, number(minute, 59)?))
        });
        match read {
            Some(time) => times.push(time),
            None => {
                faults.push(format!("--at: '{time}' is not allowed here; expected: a time such as 05:15"));
            }
        }
    }
    times.sort_unstable();
    times.dedup();
    let distinct = |of: fn(&(i64, i64)) -> i64| {
        let mut numbers: Vec<i64> = times.iter().map(of).collect();
        numbers.sort_unstable();
        numbers.dedup();
        numbers
    };
    let (hours, minutes) = (distinct(|time| time.0), distinct(|time| time.1));
    let extra = hours.iter().flat_map(|hour| minutes.iter().map(move |minute| (*hour, *minute)));
    let extra: Vec<String> = extra
        .filter(|time| !times.contains(time))
        .map(|(hour, minute)| format!("{hour:02}:{minute:02}"))
        .collect();
    if !extra.is_empty() {
        faults.push(format!(
            "--at: one job cannot run at just these times, it would also run at {}; expected: times with the same \
             minutes, or several jobs",
            extra.join(", ")
        ));
    }
    schedule.insert("hours".to_owned(), hours.into());
    schedule.insert("minutes".to_owned(), minutes.into());
}

const WEEKDAYS: [&str; 7] = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"];

fn weekday(text: &str) -> Option<usize> {
    let text = text.trim().to_ascii_lowercase();
    (text.len() >= 3).then(|| WEEKDAYS.iter().position(|day| day.starts_with(&text)))?
}

fn days(text: &str, unit: &str, schedule: &mut Map<String, Value>, faults: &mut Vec<String>) {
    let fault =
        |day: &str, expected: &str| format!("--on: '{day}' is not allowed here; expected: {expected}");
    let parts = text.split(',').map(str::trim);
    match unit {
        "week" => {
            let mut named: Vec<&str> = Vec::new();
            for part in parts {
                let range = match part.split_once('-') {
                    Some((from, to)) => weekday(from).zip(weekday(to)).filter(|(from, to)| from <= to),
                    None => weekday(part).map(|day| (day, day)),
                };
                match range {
                    Some((from, to)) => named.extend(&WEEKDAYS[from..=to]),
                    None => faults.push(fault(part, "days of the week such as mon,wed or mon-fri")),
                }
            }
            named.dedup();
            schedule.insert("weekDays".to_owned(), json!(named));
        }
        "month" | "year" => {
            let (mut numbers, mut counted) = (Vec::new(), Vec::new());
            for part in parts {
                if let Ok(number) = part.parse::<i64>() {
                    numbers.push(number);
                } else if matches!(part.to_ascii_lowercase().as_str(), "last" | "last day") {
                    numbers.push(-1);
                } else if let Some(day) = counted_day(part) {
                    counted.push(day);
                } else {
                    faults.push(fault(part, "days such as 1,15,-1 (the last), or \"last friday\""));
                }
            }
            if !numbers.is_empty() {
                schedule.insert("monthDays".to_owned(), numbers.into());
            }
            if !counted.is_empty() {
                schedule.insert("monthlyOccurrences".to_owned(), counted.into());
            }
        }
        _ => {
            faults
                .push(format!("--on: days do not go with --every {unit}; expected: weeks, months or years"));
        }
    }
}

/// `friday`, `last friday`, `2nd tuesday`.
fn counted_day(text: &str) -> Option<Value> {
    let Some((which, day)) = text.rsplit_once(' ') else {
        return Some(json!({"day": WEEKDAYS[weekday(text)?]}));
    };
    let occurrence = match which.trim().to_ascii_lowercase().as_str() {
        "first" | "1st" => 1,
        "second" | "2nd" => 2,
        "third" | "3rd" => 3,
        "fourth" | "4th" => 4,
        "fifth" | "5th" => 5,
        "last" => -1,
        _ => return None,
    };
    Some(json!({"day": WEEKDAYS[weekday(day)?], "occurrence": occurrence}))
}

/// The next runs of a rule, as people read them.
pub(crate) fn next_runs(rule: &Rule, many: usize) -> Vec<String> {
    let zone = rule.zone();
    rule.occurrences().take(many).map(|occurrence| run_at(occurrence.at, &zone)).collect()
}

/// When a run is, as people read it: by the wall clock of a zone.
pub(crate) fn run_at(at: Timestamp, zone: &Zone) -> String {
    if *zone == Zone::utc() {
        return at.to_zoned(TimeZone::UTC).strftime("%a %Y-%m-%d %H:%M:%SZ").to_string();
    }
    format!("{} {}", crate::table::wall_clock(at, zone.offset_at(at)), zone.name())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn properties(timing: &Timing) -> Result<Value, Vec<String>> {
        let mut faults = Vec::new();
        let now = "2027-01-01T00:00:30Z".parse().unwrap();
        let properties = timing.properties(now, &mut faults);
        if faults.is_empty() { Ok(properties.into()) } else { Err(faults) }
    }

    fn every(every: &str, at: &str, on: &str) -> Timing {
        let some = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        Timing { every: some(every), at: some(at), on: some(on), ..Timing::default() }
    }

    #[test]
    fn options_become_a_recurrence() {
        let start = "2027-01-01T00:00:00Z";
        for (timing, expected) in [
            (every("", "", ""), json!({})),
            (every("15 minutes", "", ""), json!({"recurrence": {"frequency": "minute", "interval": 15}})),
            (every("day", "", ""), json!({"recurrence": {"frequency": "day", "interval": 1}})),
            (
                every("1 day", "17:15,05:15", ""),
                json!({"startTime": start, "recurrence": {
                    "frequency": "day", "interval": 1, "schedule": {"hours": [5, 17], "minutes": [15]}}}),
            ),
            (
                every("2 weeks", "", "mon-wed,Fri"),
                json!({"startTime": start, "recurrence": {"frequency": "week", "interval": 2, "schedule": {
                    "weekDays": ["monday", "tuesday", "wednesday", "friday"]}}}),
            ),
            (
                every("Month", "5:15", "last friday"),
                json!({"startTime": start, "recurrence": {"frequency": "month", "interval": 1, "schedule": {
                    "hours": [5], "minutes": [15], "monthlyOccurrences": [{"day": "friday", "occurrence": -1}]}}}),
            ),
            (
                every("month", "", "1,15,-1"),
                json!({"startTime": start, "recurrence": {"frequency": "month", "interval": 1,
                    "schedule": {"monthDays": [1, 15, -1]}}}),
            ),
        ] {
            assert_eq!(properties(&timing), Ok(expected), "{timing:?}");
        }
    }

    #[test]
    fn what_cannot_be_meant_is_refused_under_the_name_of_the_option() {
        for (timing, says) in [
            (every("now and then", "", ""), "--every: 'now and then'"),
            (every("0 days", "", ""), "--every: "),
            (every("day", "25:00", ""), "--at: '25:00'"),
            (every("day", "5", ""), "--at: '5'"),
            (every("day", "05:15,17:30", ""), "also run at 05:30, 17:15"),
            (every("hour", "05:15", ""), "--at: times of the day do not go with --every hour"),
            (every("day", "", "mon"), "--on: days do not go with --every day"),
            (every("week", "", "fri-mon"), "--on: 'fri-mon'"),
            (every("month", "", "32"), "--on: "),
            (every("month", "", "sixth friday"), "--on: 'sixth friday'"),
            (Timing { count: Some(3), ..Timing::default() }, "--count is for jobs that repeat"),
            (Timing { cron: Some("x".into()), ..Timing::default() }, "--cron: "),
            (Timing { time_zone: Some("Mars".into()), ..every("day", "", "") }, "--time-zone: "),
            (Timing { start: Some("soon".into()), ..Timing::default() }, "--start: "),
        ] {
            let faults = properties(&timing).expect_err("faults").join("\n");
            assert!(faults.contains(says), "{timing:?}: {faults}");
        }
    }
}
