//! Ranges: settings with which a server would start, report that it is ready, and never do its work.
//!
//! No call at a time, no time to keep anything, no job small enough to be stored: such a value is a slip, and it is refused
//! at the start with what is allowed. Limits that may sensibly be 0, such as retries, are not in the table.

use std::time::Duration;

use toml::{Table, Value};

use super::{ConfigFault, duration};

/// The smallest and the largest value.
const WHOLE_NUMBERS: [(&str, i64, i64); 8] = [
    ("engine.batch", 1, 100_000),
    ("engine.calls", 1, 1_000_000),
    ("engine.calls-per-collection", 1, 1_000_000),
    ("engine.calls-per-target", 1, 1_000_000),
    ("http.max-answer", 1, i64::MAX),
    ("limits.job", 1, i64::MAX),
    ("limits.uri", 1, i64::MAX),
    ("limits.name", 1, i64::MAX),
];

const HOUR: Duration = Duration::from_secs(3600);

/// The shortest and the longest time. The upper bounds are where a setting would undo what it is for: outcomes that are
/// never written, claims of everything that will ever be due, a clock that nobody looks at.
const TIMES: [(&str, Duration, Duration); 6] = [
    ("engine.horizon", Duration::ZERO, HOUR),
    ("engine.settle-within", Duration::ZERO, Duration::from_secs(10)),
    ("engine.longest-nap", Duration::from_millis(1), HOUR),
    ("api.rate-window", Duration::from_millis(1), Duration::MAX),
    ("retention.keep", Duration::from_secs(1), Duration::MAX),
    ("retention.audit", Duration::from_secs(1), Duration::MAX),
];

/// Refuses the first setting that is out of its range. What is no number or no duration is refused elsewhere.
pub(super) fn check(settings: &Table) -> Result<(), ConfigFault> {
    for (path, least, most) in WHOLE_NUMBERS {
        if let Some(number) = find(settings, path).and_then(Value::as_integer)
            && !(least..=most).contains(&number)
        {
            return Err(refused(
                path,
                &number.to_string(),
                &least.to_string(),
                (most < i64::MAX).then(|| most.to_string()),
            ));
        }
    }
    for (path, least, most) in TIMES {
        if let Some(time) = find(settings, path).and_then(Value::as_str).and_then(duration::parse)
            && !(least..=most).contains(&time)
        {
            let most = (most < Duration::MAX).then(|| duration::write(most));
            return Err(refused(path, &duration::write(time), &duration::write(least), most));
        }
    }
    Ok(())
}

fn refused(path: &str, given: &str, least: &str, most: Option<String>) -> ConfigFault {
    let allowed = most.map_or_else(|| format!("{least} and more"), |most| format!("{least} to {most}"));
    ConfigFault::new(path, format!("{given} is not allowed; allowed: {allowed}"))
}

fn find<'a>(settings: &'a Table, path: &str) -> Option<&'a Value> {
    let (section, key) = path.split_once('.')?;
    settings.get(section)?.as_table()?.get(key)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::DEFAULT;

    #[test]
    fn every_setting_of_the_table_is_there_and_in_its_range() {
        let settings: Table = DEFAULT.parse().expect("the default file");
        for path in WHOLE_NUMBERS.map(|(path, ..)| path).into_iter().chain(TIMES.map(|(path, ..)| path)) {
            assert!(find(&settings, path).is_some(), "{path}");
        }
        assert_eq!(check(&settings), Ok(()));
    }

    #[test]
    fn what_would_stop_the_server_from_doing_its_work_is_refused() {
        for (text, says) in [
            ("[engine]\ncalls = 0", "engine.calls: 0 is not allowed; allowed: 1 to 1000000"),
            ("[engine]\ncalls-per-target = -1", "engine.calls-per-target: -1 is not allowed"),
            ("[engine]\nbatch = 0", "engine.batch: 0 is not allowed; allowed: 1 to 100000"),
            ("[engine]\nhorizon = \"2h\"", "engine.horizon: 2h is not allowed; allowed: 0s to 1h"),
            ("[engine]\nlongest-nap = \"0s\"", "engine.longest-nap: 0s is not allowed; allowed: 1ms to 1h"),
            ("[retention]\nkeep = \"0s\"", "retention.keep: 0s is not allowed; allowed: 1s and more"),
            ("[limits]\nname = 0", "limits.name: 0 is not allowed; allowed: 1 and more"),
        ] {
            let fault = check(&text.parse().expect("TOML")).expect_err(text).to_string();
            assert!(fault.starts_with(says), "{fault}");
        }
    }
}
