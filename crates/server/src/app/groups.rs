//! What can be done with resource groups.

use access::Act;
use model::{CollectionPath, Group, GroupPath};
use serde_json::Value;
use store::{Deleted, Expected, GroupWrite, StoredGroup, Written};

use super::{App, Preconditions, Result, TRIES, audited, names, too_many_changes};
use crate::live::ChangeKind;
use crate::problem::Problem;

/// A group that was written.
pub struct PutGroup {
    /// As it stands now.
    pub stored: StoredGroup,
    /// Whether it is new.
    pub created: bool,
    /// Members of the body that mean nothing.
    pub ignored: Vec<String>,
}

impl App {
    /// A group.
    pub async fn group(&self, path: &GroupPath) -> Result<StoredGroup> {
        let found = self.store.group(path).await?;
        found.ok_or_else(|| Problem::no_group(&path.name))
    }

    /// Creates a group or replaces it. What is in it stays.
    pub async fn put_group(
        &self,
        path: &GroupPath,
        body: &Value,
        preconditions: &Preconditions,
    ) -> Result<PutGroup> {
        let request = wire::group::read(body).map_err(Problem::faulty)?;
        self.change_group(path, preconditions, |existing| {
            if existing.is_none() {
                names::check_group(&path.name)?;
            }
            let at = existing.map_or(path, |existing| &existing.path);
            Ok((request.group(at.clone()), request.ignored.clone()))
        })
        .await
    }

    /// Changes parts of a group.
    pub async fn patch_group(
        &self,
        path: &GroupPath,
        body: &Value,
        preconditions: &Preconditions,
    ) -> Result<PutGroup> {
        self.change_group(path, preconditions, |existing| {
            let existing = existing.ok_or_else(|| Problem::no_group(&path.name))?;
            let request = wire::group::patch(existing, body).map_err(Problem::faulty)?;
            Ok((request.group(existing.path.clone()), request.ignored))
        })
        .await
    }

    async fn change_group(
        &self,
        path: &GroupPath,
        preconditions: &Preconditions,
        change: impl Fn(Option<&Group>) -> Result<(Group, Vec<String>)>,
    ) -> Result<PutGroup> {
        for _ in 0..TRIES {
            let existing = self.store.group(path).await?;
            preconditions.check(existing.as_ref().map(|existing| existing.revision))?;
            let (group, ignored) = change(existing.as_ref().map(|existing| &existing.group))?;
            preconditions.check_members(&ignored)?;
            let expected =
                existing.as_ref().map_or(Expected::Absent, |existing| Expected::Revision(existing.revision));
            let write = GroupWrite { group: group.clone(), expected };
            let detail = match &existing {
                Some(old) => audited::changed(&wire::group::write(&old.group), &wire::group::write(&group)),
                None => audited::created(),
            };
            let store = self.noting(Act::WriteGroup, &wire::path::group_id(&group.path), &detail);
            if let Written::Done(revision) = store.put_group(write).await? {
                self.live.tell(ChangeKind::Written, || wire::path::group_id(&group.path));
                let stored = StoredGroup { group, revision };
                return Ok(PutGroup { stored, created: existing.is_none(), ignored });
            }
        }
        Err(too_many_changes())
    }

    /// Deletes a group with all that is in it.
    pub async fn delete_group(&self, path: &GroupPath, preconditions: &Preconditions) -> Result<()> {
        for _ in 0..TRIES {
            let existing = self.group(path).await?;
            preconditions.check(Some(existing.revision))?;
            let detail = audited::deleted(wire::group::write(&existing.group));
            let store = self.noting(Act::DeleteGroup, &wire::path::group_id(&existing.group.path), &detail);
            match store.delete_group(path, Some(existing.revision), self.clock.now()).await? {
                Deleted::Done => {
                    // Roles have ended with it.
                    self.guard.forget();
                    let path = &existing.group.path;
                    self.live.tell(ChangeKind::Deleted, || wire::path::group_id(path));
                    return Ok(());
                }
                Deleted::Absent => return Err(Problem::no_group(&path.name)),
                Deleted::Changed => {}
            }
        }
        Err(too_many_changes())
    }

    /// Whether a new collection may bring its group along: the group is there, or could be made.
    pub(super) async fn check_group(&self, path: &CollectionPath) -> Result<()> {
        match names::check_group(&path.group) {
            Err(problem) if self.store.group(&path.into()).await?.is_none() => Err(problem),
            _ => Ok(()),
        }
    }
}
