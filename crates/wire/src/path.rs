//! Resource ids, in the API's canonical case; names keep the case they were created with.

use model::{CollectionPath, GroupPath};

/// The type of a resource group.
pub const GROUP_TYPE: &str = "Microsoft.Resources/resourceGroups";
/// The type of a job collection.
pub const COLLECTION_TYPE: &str = "Microsoft.Scheduler/jobCollections";
/// The type of a job.
pub const JOB_TYPE: &str = "Microsoft.Scheduler/jobCollections/jobs";
/// The type of a history entry.
pub const HISTORY_TYPE: &str = "Microsoft.Scheduler/jobCollections/jobs/history";

/// The id of a job collection.
///
/// ```
/// let path = model::CollectionPath { subscription: "s".into(), group: "G".into(), name: "c".into() };
/// let id = "/subscriptions/s/resourceGroups/G/providers/Microsoft.Scheduler/jobCollections/c";
/// assert_eq!(wire::path::collection_id(&path), id);
/// assert_eq!(wire::path::job_id(&path, "j"), format!("{id}/jobs/j"));
/// ```
pub fn collection_id(path: &CollectionPath) -> String {
    let CollectionPath { subscription, group, name } = path;
    format!("/subscriptions/{subscription}/resourceGroups/{group}/providers/{COLLECTION_TYPE}/{name}")
}

/// The id of a resource group.
pub fn group_id(path: &GroupPath) -> String {
    format!("/subscriptions/{}/resourceGroups/{}", path.subscription, path.name)
}

/// The id of a job.
pub fn job_id(collection: &CollectionPath, job: &str) -> String {
    format!("{}/jobs/{job}", collection_id(collection))
}
