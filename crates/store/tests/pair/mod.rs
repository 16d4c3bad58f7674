//! Two nodes as one store: both claim what they prefer, one of them does everything else.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use model::{Clock, CollectionPath, Execution, GroupPath, JobState, Timestamp};
use store::*;

/// See the module.
pub(crate) struct Pair {
    pub(crate) engine: Arc<PostgresStore>,
    pub(crate) api: Arc<PostgresStore>,
}

store::register_by!(Pair, api);

impl Pair {
    /// What changes in somebody's name claims nothing: one of the nodes will do.
    fn like_this(&self, store: Arc<dyn Store>) -> Arc<dyn Store> {
        store
    }

    async fn pass<T>(&self, call: impl Future<Output = T>) -> T {
        call.await
    }
}

#[async_trait]
impl Store for Pair {
    fn bell(&self) -> &Bell {
        self.engine.bell()
    }

    fn numbers(&self) -> &StoreNumbers {
        self.engine.numbers()
    }

    async fn subscriptions(&self, page: Page) -> Result<Vec<String>> {
        self.api.subscriptions(page).await
    }

    async fn group(&self, path: &GroupPath) -> Result<Option<StoredGroup>> {
        self.api.group(path).await
    }

    async fn groups(
        &self,
        subscription: &str,
        tag: Option<&TagQuery>,
        page: Page,
    ) -> Result<Vec<StoredGroup>> {
        self.api.groups(subscription, tag, page).await
    }

    async fn put_group(&self, write: GroupWrite) -> Result<Written> {
        self.api.put_group(write).await
    }

    async fn delete_group(
        &self,
        path: &GroupPath,
        expected: Option<Revision>,
        now: Timestamp,
    ) -> Result<Deleted> {
        self.api.delete_group(path, expected, now).await
    }

    async fn collection(&self, path: &CollectionPath) -> Result<Option<StoredCollection>> {
        self.api.collection(path).await
    }

    async fn collections(
        &self,
        subscription: &str,
        group: Option<&str>,
        page: Page,
    ) -> Result<Vec<StoredCollection>> {
        self.api.collections(subscription, group, page).await
    }

    async fn put_collection(&self, write: CollectionWrite) -> Result<Written> {
        self.api.put_collection(write).await
    }

    async fn delete_collection(
        &self,
        path: &CollectionPath,
        expected: Option<Revision>,
        now: Timestamp,
    ) -> Result<Deleted> {
        self.api.delete_collection(path, expected, now).await
    }

    async fn job(&self, collection: &CollectionPath, name: &str) -> Result<Option<StoredJob>> {
        self.api.job(collection, name).await
    }

    async fn jobs(
        &self,
        collection: &CollectionPath,
        state: Option<JobState>,
        page: Page,
    ) -> Result<Option<Vec<StoredJob>>> {
        self.api.jobs(collection, state, page).await
    }

    async fn all_jobs(&self, collection: &CollectionPath) -> Result<Vec<StoredJob>> {
        self.api.all_jobs(collection).await
    }

    async fn find_jobs(&self, query: &JobQuery, page: Page) -> Result<FoundJobs> {
        self.api.find_jobs(query, page).await
    }

    async fn soonest_jobs(&self, top: u32) -> Result<Vec<StoredJob>> {
        self.api.soonest_jobs(top).await
    }

    async fn job_states(&self) -> Result<JobStates> {
        self.api.job_states().await
    }

    async fn put_job(&self, write: JobWrite) -> Result<Written<StoredJob>> {
        self.api.put_job(write).await
    }

    async fn delete_job(
        &self,
        collection: &CollectionPath,
        name: &str,
        expected: Option<Revision>,
        now: Timestamp,
    ) -> Result<Deleted> {
        self.api.delete_job(collection, name, expected, now).await
    }

    async fn add_execution(&self, execution: Execution) -> Result<()> {
        self.api.add_execution(execution).await
    }

    async fn history(
        &self,
        collection: &CollectionPath,
        job: &str,
        query: &HistoryQuery,
        page: Page,
    ) -> Result<Option<Vec<StoredHistory>>> {
        self.api.history(collection, job, query, page).await
    }

    async fn ledger(&self, query: &LedgerQuery, top: u32) -> Result<Vec<StoredLedger>> {
        self.api.ledger(query, top).await
    }

    async fn skipped_so_far(&self, query: &LedgerQuery, now: Timestamp, most: u32) -> Result<SkippedSoFar> {
        self.api.skipped_so_far(query, now, most).await
    }

    async fn claim_due(&self, now: Timestamp, until: Timestamp, most: u32) -> Result<Claimed> {
        let mut claimed = self.engine.claim_due(now, until, most).await?;
        let other = self.api.claim_due(now, until, most - claimed.claims.len() as u32).await?;
        claimed.claims.extend(other.claims);
        claimed.claims.sort_by_key(|claim| claim.execution.wake_at);
        Ok(Claimed {
            claims: claimed.claims,
            more: claimed.more || other.more,
            next_at: [claimed.next_at, other.next_at].into_iter().flatten().min(),
        })
    }

    async fn settle(&self, attempts: Vec<Attempted>) -> Result<Vec<Settlement>> {
        self.engine.settle(attempts).await
    }

    async fn release(&self, executions: Vec<ExecutionId>) -> Result<()> {
        self.engine.release(executions.clone()).await?;
        self.api.release(executions).await
    }

    async fn prune(&self, retention: Retention) -> Result<bool> {
        self.api.prune(retention).await
    }

    async fn clock_marks(&self) -> Result<Option<ClockMarks>> {
        self.api.clock_marks().await
    }

    async fn mark_clock(&self, marks: ClockMarks) -> Result<()> {
        self.engine.mark_clock(marks).await
    }

    async fn check(&self) -> Result<()> {
        self.api.check().await
    }

    async fn census(&self) -> Result<Census> {
        self.api.census().await
    }

    async fn nodes(&self) -> Result<Vec<Node>> {
        self.api.nodes().await
    }

    async fn leave(&self) -> Result<()> {
        self.api.leave().await
    }

    async fn close(&self) -> Result<()> {
        self.api.close().await
    }

    async fn snapshot(&self, clock: Arc<dyn Clock>) -> Result<Option<Snapshot>> {
        self.api.snapshot(clock).await
    }

    async fn certificates(&self, top: u32) -> Result<Vec<StoredCertificate>> {
        self.api.certificates(top).await
    }

    async fn tallies(&self, from: Timestamp, until: Timestamp, every: Duration) -> Result<Vec<Tallied>> {
        self.api.tallies(from, until, every).await
    }

    async fn keys(&self) -> Result<Vec<KeyUse>> {
        self.api.keys().await
    }

    async fn add_key(&self, key: Key) -> Result<()> {
        self.api.add_key(key).await
    }

    async fn reseal(&self, most: u32) -> Result<u32> {
        self.api.reseal(most).await
    }

    async fn retire_keys(&self) -> Result<Vec<KeyId>> {
        self.api.retire_keys().await
    }
}
