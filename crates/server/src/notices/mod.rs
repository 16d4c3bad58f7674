//! Notices: somebody is told when a job is in trouble, and when it is well again.
//!
//! A notice is a job: it runs once, calls the webhook of its rule, and is tried again as any job is. So it is as durable as
//! everything else, its headers and its history can be looked at, and no crash and no other node can lose it or send
//! it twice without need. The jobs are in a collection of their own ([`collection`]).
//!
//! That a job is in trouble is written down in the same way: as long as the notice of it is there, it has been told, and it is
//! not told again. Whoever finds that the trouble is over writes the notice of that and takes the first one away.
//!
//! What is found out goes by the store alone (`condition`), by rules of the file of settings and of the store (`stored`); the engine's word only says when to look. So what happened while
//! nobody listened, or was lost in a crash, is found by the next look around.

mod condition;
mod rule;
mod stored;
mod told;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use engine::{Begun, Word};
use model::{CollectionPath, Fate, JobState, Timestamp, Uuid};
use serde_json::json;
use store::{LedgerQuery, Settlement, Span, StoredJob, StoredLedger};
use tokio::sync::broadcast::error::RecvError;
use tokio::task::JoinHandle;
use tokio::time::{MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;
use tracing::{error, warn};

use crate::app::{App, Preconditions};
use crate::problem::Problem;
use condition::Condition;

pub use rule::{Draft, Notification, Scope, Trouble};
pub use stored::{Rule, collection as rules_collection};
pub(crate) use told::place;
pub use told::{Delivery, Notice};

/// How often everything is looked at that is in trouble, or may be.
const ROUND: Duration = Duration::from_secs(10);
/// How far back, and at how many entries of the ledger, the first look goes.
const LOOK_BACK: jiff::SignedDuration = jiff::SignedDuration::from_hours(24);
const ENTRIES: u32 = 1000;
/// How often the delivery of a notice is tried again, and how long between two tries at the least.
const RETRIES: u32 = 20;
const RETRY_AFTER: Duration = Duration::from_secs(30);
/// The most characters of what a notice says.
const LONGEST_MESSAGE: usize = 500;

/// Where notices are.
pub fn collection() -> CollectionPath {
    CollectionPath { subscription: "punctual".into(), group: "notifications".into(), name: "notices".into() }
}

/// Watches jobs by rules. See the module.
pub struct Notifier {
    app: App,
    rules: Vec<Notification>,
    /// The trouble that is told already, as far as we know.
    told: HashSet<String>,
    /// Whether there is no room for more notices until some are over.
    full: bool,
    /// The rules whose notices cannot be written, by name: that is logged once.
    unusable: HashSet<String>,
}

/// Which of the two notices of a trouble.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// It has begun.
    Raised,
    /// It is over.
    Recovered,
}

impl Phase {
    /// As in notices.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Raised => "raised",
            Self::Recovered => "recovered",
        }
    }
}

impl Notifier {
    /// Begins to watch, until told to stop.
    pub fn start(app: App, stop: CancellationToken) -> JoinHandle<()> {
        let (told, unusable) = (HashSet::new(), HashSet::new());
        let notifier = Self { app, rules: Vec::new(), told, full: false, unusable };
        tokio::spawn(notifier.run(stop))
    }

    async fn run(mut self, stop: CancellationToken) {
        // First of all: what happens from now on is heard.
        let mut words = self.app.live.watched.under_way.listen();
        let mut rounds = interval(ROUND);
        rounds.set_missed_tick_behavior(MissedTickBehavior::Delay);
        // What happened while nobody listened is looked for once.
        let mut missed_some = true;
        let mut troubled = false;
        loop {
            let done = tokio::select! {
                () = stop.cancelled() => return,
                word = words.recv() => match word {
                    Ok(Word::Ended(begun, _, Settlement::Done(fate))) => self.hear(&begun, fate).await,
                    Ok(_) => Ok(()),
                    Err(RecvError::Lagged(_)) => {
                        missed_some = true;
                        Ok(())
                    }
                    Err(RecvError::Closed) => return,
                },
                _ = rounds.tick() => match self.learn().await {
                    Ok(have_changed) => {
                        // What a new rule is about may have happened before.
                        missed_some |= have_changed;
                        let done = self.look_around(missed_some).await;
                        missed_some &= done.is_err();
                        done
                    }
                    Err(problem) => Err(problem),
                },
            };
            match done {
                Ok(()) => troubled = false,
                // Once is enough: the next round tries again.
                Err(problem) if !std::mem::replace(&mut troubled, true) => {
                    warn!(problem = problem.message, "notices cannot be looked after; trying again");
                }
                Err(_) => {}
            }
        }
    }

    /// Finds out which rules there are; whether they have changed.
    async fn learn(&mut self) -> Result<bool, Problem> {
        let rules = self.app.rules().await?.into_iter().map(|rule| rule.notification).collect();
        let have_changed = self.rules != rules;
        self.rules = rules;
        if have_changed {
            self.unusable.clear();
        }
        Ok(have_changed)
    }

    /// An occurrence is done with.
    async fn hear(&mut self, begun: &Arc<Begun>, fate: Fate) -> Result<(), Problem> {
        let (path, name) = (&begun.job.collection, &begun.job.name);
        let started_at = begun.execution.started_at.unwrap_or(begun.started_at);
        let lateness = begun.execution.occurrence.at.duration_until(started_at);
        for number in 0..self.rules.len() {
            let rule = &self.rules[number];
            let may_be = match rule.trouble {
                Trouble::Faulted => fate == Fate::Faulted,
                Trouble::Late(after) => Duration::try_from(lateness).is_ok_and(|lateness| lateness > after),
                // Only time brings it about.
                Trouble::NoSuccessFor(_) => false,
            };
            if may_be {
                self.consider(number, path, name).await?;
            }
        }
        Ok(())
    }

    /// Looks after everything that is in trouble, and for what may be.
    async fn look_around(&mut self, missed_some: bool) -> Result<(), Problem> {
        self.look_after_told().await?;
        for number in 0..self.rules.len() {
            let rule = &self.rules[number];
            if let (Trouble::NoSuccessFor(_), Some(path)) = (rule.trouble, rule.scope.one_collection()) {
                for stored in self.app.store.all_jobs(&path).await? {
                    self.consider(number, &stored.collection, &stored.job.name).await?;
                }
            }
        }
        if missed_some && !self.rules.is_empty() {
            let from = self.app.clock.now().checked_sub(LOOK_BACK).unwrap_or(Timestamp::MIN);
            let query = LedgerQuery { due: Span { from: Some(from), to: None }, ..LedgerQuery::default() };
            let entries = self.app.store.ledger(&query, ENTRIES).await?;
            let named = |entry: StoredLedger| {
                (wire::path::job_id(&entry.collection, &entry.job), (entry.collection, entry.job))
            };
            let jobs: HashMap<_, _> = entries.into_iter().map(named).collect();
            for (path, name) in jobs.into_values() {
                for number in 0..self.rules.len() {
                    self.consider(number, &path, &name).await?;
                }
            }
        }
        Ok(())
    }

    /// Tells of a job's trouble, if it is in trouble and that is not told yet.
    async fn consider(&mut self, number: usize, path: &CollectionPath, name: &str) -> Result<(), Problem> {
        let rule = &self.rules[number];
        let key = key(rule, path, name);
        let is_own = same(path, &collection()) || same(path, &stored::collection());
        if is_own || !rule.scope.holds(path, name) || self.told.contains(&key) || self.full {
            return Ok(());
        }
        let Condition::Trouble(why) = condition::of(&self.app, rule.trouble, path, name).await? else {
            return Ok(());
        };
        match self.write(rule, Phase::Raised, &key, path, name, &why).await {
            Ok(()) => {}
            // It was told before we started, or by another node.
            Err(problem) if problem.status == 412 => {}
            Err(problem) if problem.status == 409 => {
                self.full = true;
                error!(problem = problem.message, "there is no room for more notices until some are over");
                return Ok(());
            }
            // The fault of this rule; the others are looked after all the same.
            Err(problem) if problem.status == 400 => {
                let rule = rule.name.clone();
                if !self.unusable.contains(&rule) {
                    error!(rule, problem = problem.message, "the notices of this rule cannot be written");
                    self.unusable.insert(rule);
                }
                return Ok(());
            }
            Err(problem) => return Err(problem),
        }
        self.told.insert(key);
        Ok(())
    }

    /// Finds out what is told, and tells what is over.
    async fn look_after_told(&mut self) -> Result<(), Problem> {
        let mut told = HashSet::new();
        for notice in told::all(&self.app).await? {
            let Some(key) = notice.job.name.strip_prefix(Phase::Raised.name()).map(str::to_owned) else {
                continue;
            };
            if !self.is_over(&notice, &key).await? {
                told.insert(key);
            }
        }
        self.told = told;
        self.full = false;
        Ok(())
    }

    /// Whether the trouble of a notice is over; then that is told.
    async fn is_over(&self, notice: &StoredJob, key: &str) -> Result<bool, Problem> {
        let about = Notice::read(notice).and_then(|told| {
            let rule = self.rules.iter().find(|known| known.name == told.rule)?;
            Some((rule, told.collection, told.job))
        });
        let Some((rule, path, name)) = about else {
            // The rule is gone: nobody wants to know any more.
            self.take_away(&notice.job.name).await?;
            return Ok(true);
        };
        let why = match condition::of(&self.app, rule.trouble, &path, &name).await? {
            Condition::Trouble(_) => return Ok(false),
            Condition::Well(why) => why,
        };
        // First things first: what is over is told after the trouble was, or could not be.
        if notice.job.state == JobState::Enabled {
            return Ok(false);
        }
        match self.write(rule, Phase::Recovered, key, &path, &name, &why).await {
            Ok(()) => {}
            Err(problem) if problem.status == 412 => {
                // The end of an earlier trouble: it makes room as soon as it is told.
                let earlier = format!("{}{key}", Phase::Recovered.name());
                let stored = self.app.store.job(&collection(), &earlier).await?;
                if stored.is_none_or(|stored| stored.job.state != JobState::Enabled) {
                    self.take_away(&earlier).await?;
                }
                return Ok(false);
            }
            Err(problem) => return Err(problem),
        }
        self.take_away(&notice.job.name).await?;
        Ok(true)
    }

    /// Writes a notice, if it is not there yet.
    async fn write(
        &self,
        rule: &Notification,
        phase: Phase,
        key: &str,
        path: &CollectionPath,
        name: &str,
        why: &str,
    ) -> Result<(), Problem> {
        let plan = self.app.plans.limits(model::Plan::P20Premium);
        let interval = RETRY_AFTER.max(plan.shortest_retry).as_secs();
        let count = RETRIES.min(self.app.limits.retries);
        let told = json!({
            "notification": rule.name,
            "when": rule.trouble.name(),
            "state": phase.name(),
            "job": wire::path::job_id(path, name),
            "subscription": path.subscription,
            "resourceGroup": path.group,
            "jobCollection": path.name,
            "jobName": name,
            "time": wire::date_time::write(self.app.clock.now()),
            "message": why.chars().take(LONGEST_MESSAGE).collect::<String>(),
        });
        let mut action = rule.action(&told);
        action["retryPolicy"] =
            json!({"retryType": "Fixed", "retryInterval": format!("PT{interval}S"), "retryCount": count});
        let job = json!({"properties": {"action": action}});
        let only_new = Preconditions::read(None, Some("*"));
        let named = format!("{}{key}", phase.name());
        let put = async || self.app.put_job(&collection(), &named, &job, &only_new).await.map(|_| ());
        match put().await {
            Err(problem) if problem.status == 404 => {
                let body = json!({"location": "Local", "properties": {"sku": {"name": "P20Premium"}}});
                self.app.put_collection(&collection(), &body, &Preconditions::default()).await?;
                put().await
            }
            done => done,
        }
    }

    /// Takes a notice away, if it is still there.
    async fn take_away(&self, name: &str) -> Result<(), Problem> {
        match self.app.delete_job(&collection(), name, &Preconditions::default()).await {
            Err(problem) if problem.status != 404 => Err(problem),
            _ => Ok(()),
        }
    }
}

/// What the names of the notices of a trouble end with.
fn key(rule: &Notification, path: &CollectionPath, name: &str) -> String {
    let id = wire::path::job_id(path, name).to_lowercase();
    let key = Uuid::new_v5(&Uuid::NAMESPACE_URL, format!("{}\n{id}", rule.name).as_bytes());
    format!("-{}-{}", rule.name, key.simple())
}

fn same(one: &CollectionPath, other: &CollectionPath) -> bool {
    wire::path::collection_id(one).eq_ignore_ascii_case(&wire::path::collection_id(other))
}
