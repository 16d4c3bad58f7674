//! Whether a job is in trouble, by what the store knows of it.

use std::time::Duration;

use model::{CollectionPath, Fate, HistoryStatus, JobState, Timestamp};
use store::{HistoryQuery, LedgerQuery, Page};

use crate::app::App;
use crate::config::duration;
use crate::notices::Trouble;
use crate::problem::Problem;

/// How a job is, and in words why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Condition {
    Trouble(String),
    Well(String),
}

/// How a job is, as to one kind of trouble.
pub(super) async fn of(
    app: &App,
    trouble: Trouble,
    path: &CollectionPath,
    name: &str,
) -> Result<Condition, Problem> {
    let Some(job) = app.store.record(path, name).await? else {
        return Ok(Condition::Well("The job is not there any more.".to_owned()));
    };
    match trouble {
        Trouble::Faulted if job.last_faulted => {
            let message = last(app, path, name, HistoryStatus::Failed).await?.map(|(_, message)| message);
            Ok(Condition::Trouble(message.unwrap_or_else(|| "The last run failed for good.".to_owned())))
        }
        Trouble::Faulted => Ok(Condition::Well("The last run did not fail.".to_owned())),
        Trouble::NoSuccessFor(_) if job.state.is_some_and(|state| state != JobState::Enabled) => {
            Ok(Condition::Well(format!("The job is {}.", job.state.map_or("", JobState::name))))
        }
        Trouble::NoSuccessFor(longest) => {
            let success = last(app, path, name, HistoryStatus::Completed).await?.map(|(at, _)| at);
            // A job that has never succeeded might have, since it was due first.
            let since = success.or_else(|| Some(job.definition.as_ref()?.rule().ok()?.first()?.at));
            Ok(no_success(success, since, longest, app.clock.now()))
        }
        Trouble::Late(most) => {
            let query = LedgerQuery {
                collection: Some(path.clone()),
                job: Some(name.to_owned()),
                fates: vec![Fate::Ran, Fate::RanLate, Fate::Faulted],
                ..LedgerQuery::default()
            };
            let entry = app.store.ledger(&query, 1).await?.into_iter().next().map(|stored| stored.entry);
            let lateness = entry
                .and_then(|entry| Duration::try_from(entry.due_at.duration_until(entry.started_at?)).ok());
            Ok(late(lateness.unwrap_or_default(), most))
        }
    }
}

fn no_success(
    success: Option<Timestamp>,
    since: Option<Timestamp>,
    longest: Duration,
    now: Timestamp,
) -> Condition {
    let passed = since.and_then(|since| Duration::try_from(since.duration_until(now)).ok());
    if passed.is_none_or(|passed| passed <= longest) {
        return Condition::Well("The job has succeeded, or its time has not come yet.".to_owned());
    }
    let last = match success {
        Some(at) => format!("the last success was at {at}"),
        None => "it has never succeeded".to_owned(),
    };
    Condition::Trouble(format!("The job has not succeeded for {}: {last}.", duration::write(longest)))
}

fn late(lateness: Duration, most: Duration) -> Condition {
    // As people write it: milliseconds are fine enough.
    let told = Duration::from_millis(u64::try_from(lateness.as_millis()).unwrap_or(u64::MAX));
    let told = format!("The last run began {} after it was due.", duration::write(told));
    if lateness > most { Condition::Trouble(told) } else { Condition::Well(told) }
}

/// When the job's own action last ended so, and what the history says of it.
async fn last(
    app: &App,
    path: &CollectionPath,
    name: &str,
    status: HistoryStatus,
) -> Result<Option<(Timestamp, String)>, Problem> {
    let query = HistoryQuery { status: Some(status), error_action: Some(false), ..HistoryQuery::default() };
    let found = app.store.history(path, name, &query, Page { skip: 0, top: 1 }).await?;
    let entry = found.unwrap_or_default().into_iter().next();
    Ok(entry.map(|stored| (stored.entry.ended_at, stored.entry.message)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(minute: i64) -> Timestamp {
        Timestamp::from_second(1_800_000_000 + 60 * minute).expect("a timestamp")
    }

    #[test]
    fn time_without_success_is_counted_from_the_last_or_from_when_one_was_due() {
        let hour = Duration::from_secs(3600);
        let is_trouble = |success: Option<i64>, first: Option<i64>, now| {
            let success = success.map(at);
            matches!(no_success(success, success.or(first.map(at)), hour, at(now)), Condition::Trouble(_))
        };
        assert!(!is_trouble(Some(0), Some(-500), 60), "an hour is not more than an hour");
        assert!(is_trouble(Some(0), Some(-500), 61));
        assert!(!is_trouble(None, Some(0), 60));
        assert!(is_trouble(None, Some(0), 61));
        assert!(!is_trouble(None, Some(100), 61), "it is not due yet");
        assert!(!is_trouble(None, None, 61), "it is never due");
    }

    #[test]
    fn late_is_later_than_allowed() {
        let second = Duration::from_secs(1);
        assert!(matches!(late(second, second), Condition::Well(_)));
        let Condition::Trouble(told) = late(second + Duration::from_micros(1500), second) else {
            panic!("it is late");
        };
        assert_eq!(told, "The last run began 1001ms after it was due.");
    }
}
