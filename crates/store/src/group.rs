//! Resource groups, as the store knows them.

use model::Group;

use crate::{Expected, Revision};

/// A group with what the store knows of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredGroup {
    /// The group.
    pub group: Group,
    /// Its revision.
    pub revision: Revision,
}

/// A group to be written.
#[derive(Debug, Clone)]
pub struct GroupWrite {
    /// The group; one that is there keeps the case it was created with.
    pub group: Group,
    /// What is there now.
    pub expected: Expected,
}

/// A tag that a resource must have: its name matches in any case, its value exactly.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TagQuery {
    /// The name.
    pub name: String,
    /// The value; any where there is none.
    pub value: Option<String>,
}
