//! How it went lately, what is next, and what did not run.

use std::collections::HashMap;
use std::time::Duration;

use model::{Fate, Tally, Timestamp};
use store::{JobRecord, JobStates, LedgerQuery, SkippedSoFar, Span, StoredLedger, Tallied};

use super::{App, Result};

/// The most jobs that are named as next.
const NEXT: u32 = 10;

/// The most entries of the ledger.
const NOT_RUN: u32 = 10;

/// The most jobs that are looked at for what they have skipped so far: an overview is asked for every second.
const OFF: u32 = 100;

/// The most occurrences that are counted one by one, for those who see part of the server: what is tallied is tallied for
/// all of it.
pub const COUNTED: u32 = 2000;

/// How far back an overview looks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Lookback {
    /// An hour, minute by minute.
    #[default]
    Hour,
    /// A day, by quarters of an hour.
    Day,
    /// A week, in steps of two hours.
    Week,
}

impl Lookback {
    /// All of them, with the names that the API has for them.
    pub const NAMES: [(&'static str, Self); 3] =
        [("hour", Self::Hour), ("day", Self::Day), ("week", Self::Week)];

    /// As in the API.
    pub fn name(self) -> &'static str {
        Self::NAMES.iter().find(|(_, lookback)| *lookback == self).map_or("", |(name, _)| name)
    }

    /// How many parts it has, and how long each is, in seconds.
    pub const fn parts(self) -> (i64, i64) {
        match self {
            Self::Hour => (60, 60),
            Self::Day => (96, 15 * 60),
            Self::Week => (84, 2 * 3600),
        }
    }
}

/// See [`App::overview`].
#[derive(Debug)]
pub struct Overview {
    /// When it was made.
    pub now: Timestamp,
    /// How many collections there are.
    pub collections: u64,
    /// How many jobs.
    pub jobs: JobStates,
    /// How it went, part by part without a gap, the present one last.
    pub parts: Vec<Tallied>,
    /// The beginning of the first of them, where earlier ones are left out because there is too much to count.
    pub counted_since: Option<Timestamp>,
    /// The jobs that are due next.
    pub next: Vec<JobRecord>,
    /// What jobs have skipped so far that are off, of which something was due in that time.
    pub off: SkippedSoFar,
    /// The latest occurrences that did not run, those of jobs that are off first.
    pub not_run: Vec<StoredLedger>,
}

impl App {
    /// How it went, as far back as asked.
    pub async fn overview(&self, lookback: Lookback) -> Result<Overview> {
        let now = self.clock.now();
        let (count, seconds) = lookback.parts();
        let last = now.as_second().div_euclid(seconds);
        let at = |part: i64| Timestamp::from_second(part * seconds).unwrap_or(now);
        let every = Duration::from_secs(seconds.unsigned_abs());
        let span = (last - count + 1, last);
        let (mut found, first) = if self.caller.sees_all() {
            let found = self.store.tallies(at(span.0), at(last + 1), every).await?;
            (found.into_iter().map(|one| (one.at, one.tally)).collect(), span.0)
        } else {
            self.counted(span, seconds).await?
        };
        let tallied = |at| Tallied { at, tally: found.remove(&at).unwrap_or_default() };
        let parts = (first..=last).map(at).map(tallied).collect();
        let due = Span { from: Some(at(first)), to: None };
        let off = self.store.skipped_so_far(&LedgerQuery { due, ..LedgerQuery::default() }, now, OFF).await?;
        let fates = vec![Fate::Faulted, Fate::Skipped, Fate::Missed];
        let mut not_run = off.entries.clone();
        not_run.truncate(NOT_RUN as usize);
        let left = NOT_RUN - not_run.len() as u32;
        if left > 0 {
            not_run.extend(self.store.ledger(&LedgerQuery { fates, ..LedgerQuery::default() }, left).await?);
        }
        Ok(Overview {
            now,
            collections: self.store.census().await?.collections,
            jobs: self.store.job_states().await?,
            parts,
            counted_since: (first > span.0).then(|| at(first)),
            next: self.store.soonest_jobs(NEXT).await?,
            off,
            not_run,
        })
    }

    /// The same from the ledger, for those who see part of the server: by when occurrences were due. It counts backwards, so
    /// where there are too many, it is the earlier parts that are left out. Also the number of the first part that is whole.
    async fn counted(
        &self,
        (first, last): (i64, i64),
        seconds: i64,
    ) -> Result<(HashMap<Timestamp, Tally>, i64)> {
        let at = |part: i64| Timestamp::from_second(part * seconds).unwrap_or(Timestamp::MAX);
        let part_of = |at: Timestamp| at.as_second().div_euclid(seconds);
        let due = Span { from: Some(at(first)), to: Some(at(last + 1)) };
        let entries = self.store.ledger(&LedgerQuery { due, ..LedgerQuery::default() }, COUNTED + 1).await?;
        let is_all = entries.len() <= COUNTED as usize;
        let first = match entries.last() {
            Some(oldest) if !is_all => part_of(oldest.entry.due_at) + 1,
            _ => first,
        };
        let mut found: HashMap<Timestamp, Tally> = HashMap::new();
        for StoredLedger { entry, .. } in &entries {
            found.entry(at(part_of(entry.due_at))).or_default().enter(entry);
        }
        Ok((found, first))
    }
}
