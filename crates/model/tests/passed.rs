//! What follows from occurrences that have passed is what a walk through them says, however many they are.

use std::time::Duration;

use model::transition::{Busy, Due, Patience, due, overtaken};
use model::{CatchUp, Fate, Job, Occurrence, Reason, Timestamp};
use recurrence::{RecurrenceDraft, ScheduleDraft};
use sample::{at, job};

mod sample;

const BEGIN: &str = "2027-01-01T00:00:00Z";

/// Number and instant.
type Mark = (u32, Timestamp);

/// What is carried out, the first and last that are missed, what comes next.
type Passed = (Vec<Mark>, Option<(Mark, Mark)>, (u32, Option<Timestamp>));

fn mark(occurrence: Occurrence) -> Mark {
    (occurrence.number, occurrence.at)
}

/// Every occurrence by itself, from the job's next one on.
fn walked(job: &Job, now: Timestamp, late_after: Duration) -> Passed {
    let next = job.next_at.map(|at| Occurrence { number: job.next_number, at });
    let walk = std::iter::successors(next, |last| job.rule.next(last));
    let due: Vec<Occurrence> = walk.clone().take_while(|occurrence| occurrence.at <= now).collect();
    let kept = match job.definition.catch_up {
        CatchUp::None => due.iter().filter(|due| due.at + late_after >= now).count(),
        CatchUp::Last => 1,
        CatchUp::All { max } => max as usize,
    };
    let (missed, kept) = due.split_at(due.len().saturating_sub(kept));
    let ends = missed.first().zip(missed.last()).map(|(first, last)| (mark(*first), mark(*last)));
    let number = due.last().map_or(job.next_number, |last| last.number + 1);
    (
        kept.iter().copied().map(mark).collect(),
        ends,
        (number, walk.clone().nth(due.len()).map(|next| next.at)),
    )
}

fn decided(due: Due) -> Passed {
    assert!(due.ledger.len() <= 1, "{:?}", due.ledger);
    let missed = due.ledger.first().map(|entry| {
        assert_eq!(entry.fate, Fate::Missed);
        let last = entry.number + u32::try_from(entry.occurrences).expect("a number") - 1;
        ((entry.number, entry.due_at), (last, entry.due_until))
    });
    let kept = due.executions.into_iter().map(|execution| mark(execution.occurrence)).collect();
    (kept, missed, (due.next_number, due.next_at))
}

fn recurrences() -> Vec<RecurrenceDraft> {
    let every = |frequency: &str, interval, hours: &[i64], minutes: &[i64]| {
        let list = |list: &[i64]| (!list.is_empty()).then(|| list.to_vec());
        let schedule = ScheduleDraft { hours: list(hours), minutes: list(minutes), ..Default::default() };
        RecurrenceDraft {
            frequency: Some(frequency.into()),
            interval: Some(interval),
            schedule: Some(schedule),
            time_zone: Some("Europe/Paris".into()),
            ..Default::default()
        }
    };
    let endless = [
        every("minute", 97, &[], &[]),
        every("minute", 5, &[2, 3, 14], &[]),
        every("hour", 3, &[], &[15, 45]),
        every("day", 1, &[1, 2, 3], &[0, 30]),
        every("week", 2, &[], &[]),
        every("month", 1, &[0], &[0]),
    ];
    let mut all: Vec<RecurrenceDraft> = endless.to_vec();
    for count in [1, 2, 40] {
        all.extend(endless.iter().map(|endless| RecurrenceDraft { count: Some(count), ..endless.clone() }));
    }
    let end_time = Some("2027-03-28T01:30:00Z".to_owned());
    all.extend(
        endless.iter().map(|endless| RecurrenceDraft { end_time: end_time.clone(), ..endless.clone() }),
    );
    all
}

/// Shortly after the beginning, around a clock change, months later.
const MOMENTS: [&str; 6] = [
    "2027-01-01T00:00:00Z",
    "2027-01-01T02:45:05Z",
    "2027-01-07T00:00:00Z",
    "2027-03-28T01:00:03Z",
    "2027-03-29T12:00:00Z",
    "2027-06-01T00:00:00Z",
];

#[test]
fn catching_up_is_decided_as_if_each_had_been_looked_at() {
    let policies = [CatchUp::None, CatchUp::Last, CatchUp::All { max: 1 }, CatchUp::All { max: 7 }];
    for recurrence in recurrences() {
        for catch_up in policies {
            let mut job = job(Some(recurrence.clone()), at(BEGIN));
            job.definition.catch_up = catch_up;
            for (late_after, now) in MOMENTS.iter().flat_map(|now| [(10, now), (7200, now)]) {
                let patience =
                    Patience { late_after: Duration::from_secs(late_after), ..Patience::default() };
                let due = due(&job, None, Busy::default(), at(now), &patience);
                let expected = walked(&job, at(now), patience.late_after);
                assert_eq!(decided(due), expected, "{catch_up:?} at {now}: {recurrence:?}");
            }
        }
    }
}

#[test]
fn a_switched_off_collection_is_counted_as_if_each_had_been_looked_at() {
    for recurrence in recurrences() {
        let job = job(Some(recurrence.clone()), at(BEGIN));
        for resumed in MOMENTS.iter().map(|moment| at(moment)).filter(|resumed| job.next_at < Some(*resumed))
        {
            let due = due(&job, Some(resumed), Busy::default(), resumed, &Patience::default());
            let entry = &due.ledger[0];
            // What is skipped does not count, so `count` does not end it.
            let all = std::iter::successors(job.next_at, |last| job.rule.after(*last));
            let skipped: Vec<Timestamp> = all.clone().take_while(|at| *at < resumed).collect();
            let ends = skipped.first().zip(skipped.last());
            assert_eq!(Some((&entry.due_at, &entry.due_until)), ends, "{resumed}: {recurrence:?}");
            assert_eq!(entry.occurrences, skipped.len() as u64, "{resumed}: {recurrence:?}");
            assert_eq!(entry.reason, Some(Reason::CollectionDisabled));
            let next = all.clone().nth(skipped.len());
            let handed_out = due.executions.first().map(|execution| execution.occurrence.at);
            assert_eq!(handed_out.or(due.next_at), next, "{resumed}: {recurrence:?}");
        }
    }
}

#[test]
fn what_is_overtaken_is_counted_as_if_each_had_been_looked_at() {
    for recurrence in recurrences() {
        let job = job(Some(recurrence.clone()), at(BEGIN));
        for now in MOMENTS.map(at) {
            let found = overtaken(&job, None, Reason::JobChanged, now)
                .into_iter()
                .map(|entry| (entry.due_at, entry.due_until, entry.occurrences));
            let due: Vec<Timestamp> =
                job.rule.occurrences().map(|due| due.at).take_while(|at| *at <= now).collect();
            let expected = due.first().zip(due.last()).map(|(first, last)| (*first, *last, due.len() as u64));
            assert_eq!(found.collect::<Vec<_>>(), Vec::from_iter(expected), "{now}: {recurrence:?}");
        }
    }
}

#[test]
fn a_year_of_minutes() {
    let minutely = RecurrenceDraft { frequency: Some("minute".into()), ..Default::default() };
    let mut job = job(Some(minutely), at(BEGIN));
    job.definition.catch_up = CatchUp::All { max: 2 };
    let due = due(&job, None, Busy::default(), at("2027-12-31T23:59:30Z"), &Patience::default());
    let kept = [(525_599, at("2027-12-31T23:58:00Z")), (525_600, at("2027-12-31T23:59:00Z"))];
    let missed = ((1, at(BEGIN)), (525_598, at("2027-12-31T23:57:00Z")));
    assert_eq!(decided(due), (kept.to_vec(), Some(missed), (525_601, Some(at("2028-01-01T00:00:00Z")))));
}
