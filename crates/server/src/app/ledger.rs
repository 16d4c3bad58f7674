//! The ledger, together with what jobs have skipped so far that are off now.

use access::Scope;
use model::{Fate, GroupPath, Timestamp};
use store::{LedgerQuery, Page, SkippedSoFar, StoredLedger};

use super::{App, Result};
use crate::problem::Problem;

/// The most jobs that are looked at for what they have skipped so far.
pub const MOST_OFF: u32 = 500;

/// A page of the ledger.
#[derive(Debug)]
pub struct LedgerPage {
    /// First what lasts, then what is over, newest first.
    pub entries: Vec<StoredLedger>,
    /// Where the next page begins: the due time and the serial of the last entry of this one.
    pub next: Option<(Timestamp, i64)>,
    /// Whether more jobs are off than were looked at.
    pub more_off: bool,
}

impl App {
    /// Returns a page of the ledger. What lasts comes before what is over; its serials are negative, so a mark says which
    /// of the two it is in.
    pub async fn ledger(&self, query: &LedgerQuery, top: u32) -> Result<LedgerPage> {
        let mut query = query.clone();
        let first = query.before.is_none();
        let off = self.off(&query).await?;
        let mut entries = off.entries;
        if let Some(mark) = query.before.filter(|(_, serial)| *serial < 0) {
            entries.retain(|stored| (stored.entry.due_at, stored.serial) < mark);
            query.before = None;
        }
        if entries.len() <= top as usize {
            entries.extend(self.store.ledger(&query, top + 1 - entries.len() as u32).await?);
        }
        if entries.is_empty() && first {
            self.check_names(&query).await?;
        }
        let more = entries.len() > top as usize;
        entries.truncate(top as usize);
        let next = entries.last().filter(|_| more).map(|last| (last.entry.due_at, last.serial));
        Ok(LedgerPage { entries, next, more_off: off.more })
    }

    async fn off(&self, query: &LedgerQuery) -> Result<SkippedSoFar> {
        let is_wanted = query.fates.is_empty() || query.fates.contains(&Fate::Skipped);
        let is_over = query.before.is_some_and(|(_, serial)| serial >= 0);
        if !is_wanted || is_over {
            return Ok(SkippedSoFar::default());
        }
        Ok(self.store.skipped_so_far(query, self.clock.now(), MOST_OFF).await?)
    }

    /// Refuses a question about something that neither exists nor has entries: "nothing" would read as "all is well".
    async fn check_names(&self, query: &LedgerQuery) -> Result<()> {
        let LedgerQuery { subscription, group, collection, job, .. } = query.clone();
        let all = LedgerQuery { subscription, group, collection, job, ..LedgerQuery::default() };
        if !self.store.ledger(&all, 1).await?.is_empty() {
            return Ok(());
        }
        let check_sight = |scope: Scope| {
            if self.caller.grants.sees(&scope) { Ok(()) } else { Err(Problem::missing(&scope)) }
        };
        match (all.collection, all.subscription, all.group) {
            (Some(path), ..) => {
                check_sight(Scope::Collection(path.clone()))?;
                match &all.job {
                    Some(job) => self.record(&path, job).await.map(drop),
                    None => self.collection(&path).await.map(drop),
                }
            }
            (None, Some(subscription), Some(name)) => {
                let path = GroupPath { subscription, name };
                check_sight(Scope::Group(path.clone()))?;
                self.group(&path).await.map(drop)
            }
            (None, Some(subscription), None) => self.check_subscription(&subscription).await,
            (None, None, _) => Ok(()),
        }
    }

    /// Refuses a subscription in which there is no resource group that the caller sees.
    pub async fn check_subscription(&self, subscription: &str) -> Result<()> {
        let groups = self.store.groups(subscription, None, Page { skip: 0, top: 1 }).await?;
        if groups.is_empty() { Err(Problem::no_subscription(subscription)) } else { Ok(()) }
    }
}
