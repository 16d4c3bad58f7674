//! What can be done with job collections.

use access::Act;
use model::{Collection, CollectionPath, CollectionState, GroupPath, Plan};
use recurrence::Fault;
use serde_json::Value;
use store::{CollectionWrite, Deleted, Expected, Page, StoredCollection, StoredJob, Written};
use wire::dialect::Dialect;

use super::{App, Preconditions, Result, TRIES, audited, names, too_many_changes};
use crate::live::ChangeKind;
use crate::problem::Problem;

/// The most reasons for a refusal that anybody would read.
const MOST_PROBLEMS: usize = 100;

/// A collection that was written.
pub struct PutCollection {
    /// As it stands now.
    pub stored: StoredCollection,
    /// Members of the body that mean nothing.
    pub ignored: Vec<String>,
}

impl App {
    /// A collection.
    pub async fn collection(&self, path: &CollectionPath) -> Result<StoredCollection> {
        let found = self.store.collection(path).await?;
        found.ok_or_else(|| Problem::no_collection(&path.group, &path.name))
    }

    /// Collections of a subscription or a group.
    pub async fn collections(
        &self,
        subscription: &str,
        group: Option<&str>,
        page: Page,
    ) -> Result<Vec<StoredCollection>> {
        let found = self.store.collections(subscription, group, page).await?;
        if let (true, Some(group)) = (found.is_empty(), group) {
            // An empty group is a list without entries, a group that is not there is none.
            let path = GroupPath { subscription: subscription.to_owned(), name: group.to_owned() };
            self.group(&path).await?;
        }
        Ok(found)
    }

    /// Creates a collection or replaces it. Its jobs stay, and so does its state where the body does not say.
    pub async fn put_collection(
        &self,
        path: &CollectionPath,
        body: &Value,
        preconditions: &Preconditions,
    ) -> Result<PutCollection> {
        self.change_collection(path, preconditions, |existing| self.collection_of(path, body, existing)).await
    }

    /// The collection that a PUT makes of the one that is there, and the members of the body that mean nothing.
    pub(super) fn collection_of(
        &self,
        path: &CollectionPath,
        body: &Value,
        existing: Option<&Collection>,
    ) -> Result<(Collection, Vec<String>)> {
        let standing = existing.map(|existing| existing.plan);
        let request = wire::collection::read(body, standing, &self.plans).map_err(Problem::faulty)?;
        if existing.is_none() {
            names::check_subscription(&path.subscription)?;
            names::check("job collection", &path.name, self.limits.name)?;
        }
        let at = existing.map_or(path, |existing| &existing.path);
        let mut collection = request.collection(at.clone());
        // Whoever describes a collection without its state does not mean to use its switch: a template that is
        // deployed every night must not switch on what an operator has switched off.
        if let (None, Some(existing)) = (request.state, existing) {
            collection.state = existing.state;
        }
        Ok((collection, request.ignored))
    }

    /// Changes parts of a collection.
    pub async fn patch_collection(
        &self,
        path: &CollectionPath,
        body: &Value,
        preconditions: &Preconditions,
    ) -> Result<PutCollection> {
        self.change_collection(path, preconditions, |existing| {
            let existing = existing.ok_or_else(|| Problem::no_collection(&path.group, &path.name))?;
            let request = wire::collection::patch(existing, body, &self.plans).map_err(Problem::faulty)?;
            Ok((request.collection(existing.path.clone()), request.ignored))
        })
        .await
    }

    /// Switches a collection on or off.
    pub async fn switch_collection(
        &self,
        path: &CollectionPath,
        on: bool,
        preconditions: &Preconditions,
    ) -> Result<()> {
        let state = if on { CollectionState::Enabled } else { CollectionState::Disabled };
        self.change_collection(path, preconditions, |existing| {
            let existing = existing.ok_or_else(|| Problem::no_collection(&path.group, &path.name))?;
            Ok((Collection { state, ..existing.clone() }, Vec::new()))
        })
        .await?;
        Ok(())
    }

    async fn change_collection(
        &self,
        path: &CollectionPath,
        preconditions: &Preconditions,
        change: impl Fn(Option<&Collection>) -> Result<(Collection, Vec<String>)>,
    ) -> Result<PutCollection> {
        for _ in 0..TRIES {
            let existing = self.store.collection(path).await?;
            if existing.is_none() {
                self.check_group(path).await?;
            }
            preconditions.check(existing.as_ref().map(|existing| existing.revision))?;
            let old = existing.as_ref().map(|existing| &existing.collection);
            let (mut collection, ignored) = change(old)?;
            preconditions.check_members(&ignored)?;
            let now = self.clock.now();
            collection.resumed_at = resumed_at(old, &collection, now);
            if let Some(old) = old {
                self.check_fit(old, &collection).await?;
            }
            let joins_plan = old.is_none_or(|old| old.plan != collection.plan);
            let most = joins_plan.then(|| (collection.plan, self.plans.limits(collection.plan).collections));
            let expected =
                existing.as_ref().map_or(Expected::Absent, |existing| Expected::Revision(existing.revision));
            let write = CollectionWrite { collection: collection.clone(), expected, most, now };
            let is_switched = old.is_some_and(|old| old.state != collection.state);
            let shown = |collection: &Collection| wire::collection::write(collection, Dialect::default());
            let detail =
                old.map_or_else(audited::created, |old| audited::changed(&shown(old), &shown(&collection)));
            let act = if is_switched { Act::SwitchCollection } else { Act::WriteCollection };
            let store = self.noting(act, &wire::path::collection_id(&collection.path), &detail);
            match store.put_collection(write).await? {
                Written::Done(revision) => {
                    let kind = if is_switched { ChangeKind::Switched } else { ChangeKind::Written };
                    self.live.tell(kind, || wire::path::collection_id(&collection.path));
                    return Ok(PutCollection { stored: StoredCollection { collection, revision }, ignored });
                }
                Written::Full { .. } => return Err(no_more_collections(collection.plan, most)),
                Written::Changed | Written::NoCollection => {}
            }
        }
        Err(too_many_changes())
    }

    /// Whether the jobs of a collection are still allowed after a change.
    pub(super) async fn check_fit(&self, old: &Collection, new: &Collection) -> Result<()> {
        let (was, is) = (old.allowance(&self.plans), new.allowance(&self.plans));
        let limits = (self.plans.limits(old.plan), self.plans.limits(new.plan));
        if was == is && limits.0 == limits.1 {
            return Ok(());
        }
        let jobs = self.store.all_jobs(&old.path).await?;
        let mut problems = Vec::new();
        // What is finished can never run again, so it neither counts nor misfits.
        let is_living = |stored: &StoredJob| !stored.job.state.is_final();
        let (jobs, finished): (Vec<_>, Vec<_>) = jobs.into_iter().partition(is_living);
        if jobs.len() as u64 > u64::from(is.jobs) && is.jobs < was.jobs {
            let besides = match finished.len() {
                0 => String::new(),
                finished => format!(" ({finished} finished ones do not count)"),
            };
            problems.push(format!("it holds {} jobs where {} are allowed{besides}", jobs.len(), is.jobs));
        }
        for stored in &jobs {
            let (job, now) = (&stored.job, self.clock.now());
            let misfits = |allowance, plan| {
                let (action, catch_up) = (&job.definition.action, job.definition.catch_up);
                let mut faults =
                    model::admission::check(&job.rule, action, catch_up, plan, &self.limits, now);
                faults.extend(model::admission::quota(&job.rule, allowance));
                faults
            };
            // What did not fit before, because an operator has lowered a limit since, is no reason to stay.
            let before = misfits(&was, limits.0);
            let is_new = |fault: &Fault| !before.iter().any(|old| old.field == fault.field);
            let new = misfits(&is, limits.1).into_iter().filter(is_new);
            problems.extend(new.map(|fault| format!("job '{}': {fault}", job.name)));
        }
        if problems.is_empty() {
            return Ok(());
        }
        let others = problems.len().saturating_sub(MOST_PROBLEMS);
        problems.truncate(MOST_PROBLEMS);
        if others > 0 {
            problems.push(format!("and {others} more"));
        }
        Err(Problem::conflict(format!(
            "The job collection '{}' does not fit into what is asked for: {}.",
            old.path.name,
            problems.join("; ")
        )))
    }

    /// Deletes a collection with its jobs.
    pub async fn delete_collection(
        &self,
        path: &CollectionPath,
        preconditions: &Preconditions,
    ) -> Result<()> {
        for _ in 0..TRIES {
            let existing = self.collection(path).await?;
            preconditions.check(Some(existing.revision))?;
            let detail = audited::deleted(wire::collection::write(&existing.collection, Dialect::default()));
            let id = wire::path::collection_id(&existing.collection.path);
            let store = self.noting(Act::DeleteCollection, &id, &detail);
            match store.delete_collection(path, Some(existing.revision), self.clock.now()).await? {
                Deleted::Done => {
                    // Roles have ended with it.
                    self.guard.forget();
                    let path = &existing.collection.path;
                    self.live.tell(ChangeKind::Deleted, || wire::path::collection_id(path));
                    return Ok(());
                }
                Deleted::Absent => return Err(Problem::no_collection(&path.group, &path.name)),
                Deleted::Changed => {}
            }
        }
        Err(too_many_changes())
    }
}

/// When a collection was last switched on again.
fn resumed_at(old: Option<&Collection>, new: &Collection, now: model::Timestamp) -> Option<model::Timestamp> {
    let old = old?;
    let switched_on = old.state != CollectionState::Enabled && new.state == CollectionState::Enabled;
    if switched_on { Some(now) } else { old.resumed_at }
}

pub(super) fn no_more_collections(plan: Plan, most: Option<(Plan, u32)>) -> Problem {
    let most = most.map_or(0, |(_, most)| most);
    if plan == Plan::Free && most == 1 {
        return Problem::conflict(
            "The subscription already has a free job collection. Only one free job collection can be created per \
             subscription.",
        );
    }
    Problem::conflict(format!(
        "The subscription already has {most} job collections of the plan {}, and more are not allowed. Delete one, or \
         choose another plan.",
        plan.name()
    ))
}
