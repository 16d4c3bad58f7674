//! How it went lately, what is next, and what did not run.

use std::collections::HashMap;
use std::time::Duration;

use model::{Fate, Tally, Timestamp};
use store::{JobStates, LedgerQuery, StoredJob, StoredLedger, Tallied};

use super::{App, Result};

/// The most jobs that are named as next.
const NEXT: u32 = 10;

/// The most entries of the ledger.
const NOT_RUN: u32 = 10;

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
    /// How it went, part by part without a gap, the present one last. That is counted for the whole server, so whoever sees
    /// only part of it sees none of this.
    pub parts: Vec<Tallied>,
    /// The jobs that are due next.
    pub next: Vec<StoredJob>,
    /// The latest occurrences that did not run.
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
        let parts = if self.caller.sees_all() {
            let found = self.store.tallies(at(last - count + 1), at(last + 1), every).await?;
            let mut found: HashMap<Timestamp, Tally> =
                found.into_iter().map(|one| (one.at, one.tally)).collect();
            let tallied = |at| Tallied { at, tally: found.remove(&at).unwrap_or_default() };
            (last - count + 1..=last).map(at).map(tallied).collect()
        } else {
            Vec::new()
        };
        let fates = vec![Fate::Faulted, Fate::Skipped, Fate::Missed];
        Ok(Overview {
            now,
            collections: self.store.census().await?.collections,
            jobs: self.store.job_states().await?,
            parts,
            next: self.store.soonest_jobs(NEXT).await?,
            not_run: self.store.ledger(&LedgerQuery { fates, ..LedgerQuery::default() }, NOT_RUN).await?,
        })
    }
}
