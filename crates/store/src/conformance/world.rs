//! A small world to test in: a store, a collection, a clock that only moves when told.

use std::sync::Arc;
use std::time::Duration;

use jiff::SignedDuration;
use model::action::{Call, HttpRequest, IntervalForm, RetryInterval, RetryPolicy};
use model::transition::{self, Standing};
use model::{
    Action, Attempt, CatchUp, Collection, CollectionPath, CollectionState, Definition, JobState, LedgerEntry,
    Outcome, Overlap, Plan, Timestamp, Uuid,
};
use recurrence::{Draft, RecurrenceDraft};

use super::Backend;
use crate::{
    Attempted, Claim, Claimed, CollectionWrite, Expected, ExpectedJob, JobWrite, LedgerQuery, Store,
    StoredJob, Written,
};

/// A store in use.
pub struct World<'b> {
    backend: &'b dyn Backend,
    store: Option<Arc<dyn Store>>,
    seeds: std::sync::atomic::AtomicU64,
    /// What time it is.
    pub now: Timestamp,
}

#[allow(clippy::missing_panics_doc, clippy::unwrap_used, reason = "a test that cannot go on shall stop")]
impl<'b> World<'b> {
    /// A fresh store at the beginning of 2027, with the collection [`path`](Self::path).
    pub async fn new(backend: &'b dyn Backend) -> Self {
        Self::new_at(backend, "2027-01-01T00:00:00Z".parse().unwrap()).await
    }

    /// The same at another time.
    pub async fn new_at(backend: &'b dyn Backend, now: Timestamp) -> Self {
        let world = Self::resume(backend, now).await;
        let written = world.put_collection(collection(&path(), Plan::P20Premium), Expected::Absent).await;
        assert!(matches!(written, Written::Done(_)), "{written:?}");
        world
    }

    /// A store that was in use before.
    pub async fn resume(backend: &'b dyn Backend, now: Timestamp) -> Self {
        let store = Some(backend.open(now).await);
        Self { backend, store, seeds: std::sync::atomic::AtomicU64::new(1), now }
    }

    /// The store.
    pub fn store(&self) -> &Arc<dyn Store> {
        self.store.as_ref().unwrap()
    }

    /// Lets go of the store; `restart` opens it again.
    pub fn close(&mut self) {
        self.store = None;
    }

    /// Kills the process, as it were, and starts it again.
    pub async fn restart(&mut self) {
        self.store = None;
        self.store = Some(self.backend.open(self.now).await);
    }

    /// Lets time pass.
    pub fn pass(&mut self, seconds: i64) {
        self.now = self.after(seconds);
    }

    /// An instant from now.
    pub fn after(&self, seconds: i64) -> Timestamp {
        self.now.checked_add(SignedDuration::from_secs(seconds)).unwrap()
    }

    /// A seed that no other job has.
    pub fn seed(&self) -> Uuid {
        Uuid::from_u128(u128::from(self.seeds.fetch_add(1, std::sync::atomic::Ordering::Relaxed)))
    }

    /// Writes a collection without a limit.
    pub async fn put_collection(&self, collection: Collection, expected: Expected) -> Written {
        let write = CollectionWrite { collection, expected, most: None, now: self.now };
        self.store().put_collection(write).await.unwrap()
    }

    /// Switches the collection on or off, as the server does.
    pub async fn switch_collection(&self, on: bool) {
        let stored = self.store().collection(&path()).await.unwrap().unwrap();
        let mut collection = stored.collection;
        collection.state = if on { CollectionState::Enabled } else { CollectionState::Disabled };
        if on {
            collection.resumed_at = Some(self.now);
        }
        let written = self.put_collection(collection, Expected::Revision(stored.revision)).await;
        assert!(matches!(written, Written::Done(_)), "{written:?}");
    }

    /// Every minute, beginning at once.
    pub fn minutely(&self) -> Definition {
        self.define(None, Some(RecurrenceDraft { frequency: Some("minute".into()), ..Default::default() }))
    }

    /// Every minute, beginning in so many seconds.
    pub fn minutely_in(&self, seconds: i64) -> Definition {
        let definition = self.minutely();
        let start_time = Some(self.after(seconds).to_string());
        Definition { timing: Draft { start_time, ..definition.timing }, ..definition }
    }

    /// Every minute, so many times, beginning at once.
    pub fn minutely_times(&self, count: i64) -> Definition {
        let recurrence =
            RecurrenceDraft { frequency: Some("minute".into()), count: Some(count), ..Default::default() };
        self.define(None, Some(recurrence))
    }

    /// Once, in so many seconds.
    pub fn once_in(&self, seconds: i64) -> Definition {
        self.define(Some(self.after(seconds).to_string()), None)
    }

    fn define(&self, start_time: Option<String>, recurrence: Option<RecurrenceDraft>) -> Definition {
        Definition {
            timing: Draft { start_time, recurrence },
            accepted_at: self.now,
            action: action("http://example.com/"),
            catch_up: CatchUp::Last,
            overlap: Overlap::Allow,
            extensions_given: false,
            capital_occurrence: false,
        }
    }

    /// Creates or replaces an enabled job, as PUT does.
    pub async fn put(&self, name: &str, definition: Definition) -> StoredJob {
        self.put_as(name, definition, JobState::Enabled).await
    }

    /// Creates or replaces a job, as PUT does.
    pub async fn put_as(&self, name: &str, definition: Definition, state: JobState) -> StoredJob {
        let rule = definition.rule().unwrap();
        loop {
            let before = self.find(name).await;
            let standing = transition::begin(&rule, state);
            let expected = before.as_ref().map_or(ExpectedJob::Absent, expected);
            let write = self.write(name, definition.clone(), standing, expected, true);
            if let Written::Done(written) = self.store().put_job(write).await.unwrap() {
                return self.read_again(written).await;
            }
        }
    }

    /// A job that was written, read again: nothing else must come of that.
    async fn read_again(&self, written: StoredJob) -> StoredJob {
        let read = self.job(&written.job.name).await;
        assert_eq!(format!("{written:?}"), format!("{read:?}"));
        read
    }

    /// Changes a job in part, as PATCH does.
    pub async fn patch(&self, name: &str, state: JobState, change: impl Fn(&mut Definition)) -> StoredJob {
        loop {
            let before = self.job(name).await;
            let write = self.patched(&before, state, &change);
            if let Written::Done(written) = self.store().put_job(write).await.unwrap() {
                return self.read_again(written).await;
            }
        }
    }

    /// The write that PATCH makes of a job as it was loaded.
    pub fn patched(&self, before: &StoredJob, state: JobState, change: impl Fn(&mut Definition)) -> JobWrite {
        let mut definition = before.job.definition.clone();
        change(&mut definition);
        let timing_changed = definition.timing != before.job.definition.timing;
        if timing_changed {
            definition.accepted_at = self.now;
        }
        let rule = definition.rule().unwrap();
        let standing = transition::amend(&before.job, &rule, timing_changed, state, self.now);
        self.write(&before.job.name, definition, standing, expected(before), false)
    }

    /// A write of a job.
    pub fn write(
        &self,
        name: &str,
        definition: Definition,
        standing: Standing,
        expected: ExpectedJob,
        replace: bool,
    ) -> JobWrite {
        JobWrite {
            collection: path(),
            name: name.to_owned(),
            definition,
            standing,
            expected,
            replace,
            seed: self.seed(),
            most: None,
            now: self.now,
        }
    }

    /// A job that must be there.
    pub async fn job(&self, name: &str) -> StoredJob {
        self.find(name).await.unwrap_or_else(|| panic!("there is no job {name}"))
    }

    /// A job that may be there.
    pub async fn find(&self, name: &str) -> Option<StoredJob> {
        self.store().job(&path(), name).await.unwrap()
    }

    /// Claims what is due within so many seconds.
    pub async fn claim(&self, seconds: i64) -> Vec<Claim> {
        self.claimed(seconds, 1000).await.claims
    }

    /// Claims, and says all about it.
    pub async fn claimed(&self, seconds: i64, most: u32) -> Claimed {
        self.store().claim_due(self.now, self.after(seconds), most).await.unwrap()
    }

    /// Claims the one execution that is due now, and begins it.
    pub async fn begin_one(&self) -> Claim {
        let mut claims = self.claim(0).await;
        assert_eq!(claims.len(), 1, "{claims:?}");
        let claim = claims.remove(0);
        assert!(claim.ticket.begin());
        claim
    }

    /// An attempt that took a moment.
    pub fn attempted(&self, claim: &Claim, success: bool) -> Attempted {
        let outcome = Outcome { success, message: if success { "200" } else { "500" }.to_owned() };
        let attempt = Attempt { started_at: self.now, ended_at: self.now, outcome };
        Attempted { id: claim.id, attempt: attempt.into(), ticket: claim.ticket.clone(), too_late: false }
    }

    /// Settles one attempt.
    pub async fn settle(&self, claim: &Claim, success: bool) {
        self.store().settle(vec![self.attempted(claim, success)]).await.unwrap();
    }

    /// Claims one, begins it and settles it.
    pub async fn run_one(&self, success: bool) -> Claim {
        let claim = self.begin_one().await;
        self.settle(&claim, success).await;
        claim
    }

    /// The whole ledger, oldest first.
    pub async fn ledger(&self) -> Vec<LedgerEntry> {
        let mut all = Vec::new();
        let mut query = LedgerQuery::default();
        loop {
            let page = self.store().ledger(&query, 100).await.unwrap();
            let Some(last) = page.last() else { break };
            query.before = Some((last.entry.due_at, last.serial));
            all.extend(page.into_iter().map(|stored| stored.entry));
        }
        all.reverse();
        all
    }
}

/// The collection of a world.
pub fn path() -> CollectionPath {
    named("Team")
}

/// A collection beside it.
pub(super) fn named(name: &str) -> CollectionPath {
    CollectionPath { subscription: "Sub-1".into(), group: "Group".into(), name: name.into() }
}

/// A collection with nothing special about it.
pub(super) fn collection(path: &CollectionPath, plan: Plan) -> Collection {
    Collection {
        path: path.clone(),
        location: "West Europe".into(),
        tags: None,
        plan,
        state: CollectionState::Enabled,
        quota: None,
        resumed_at: None,
    }
}

/// A call that is repeated twice, 15 seconds apart.
pub fn action(uri: &str) -> Action {
    let request = HttpRequest {
        uri: uri.into(),
        method: "GET".into(),
        headers: None,
        body: None,
        authentication: None,
    };
    let interval = Some(RetryInterval { seconds: RETRY.as_secs(), form: IntervalForm::Iso });
    Action {
        call: Call::Http { https: false, request },
        retry: Some(RetryPolicy::Fixed { interval, count: Some(2) }),
        on_error: None,
    }
}

/// The distance of retries.
pub(super) const RETRY: Duration = Duration::from_secs(15);

/// The address that a definition calls.
pub(super) fn uri(definition: &Definition) -> &str {
    match &definition.action.call {
        Call::Http { request, .. } => &request.uri,
        _ => "",
    }
}

/// What a writer takes for granted who has loaded a job.
pub(super) fn expected(stored: &StoredJob) -> ExpectedJob {
    ExpectedJob::Standing {
        revision: stored.revision,
        next_number: stored.job.next_number,
        next_at: stored.job.next_at,
    }
}

/// What came of a write that went well.
pub(super) fn done<T: std::fmt::Debug>(written: Written<T>) -> T {
    match written {
        Written::Done(done) => done,
        other => panic!("not written: {other:?}"),
    }
}
