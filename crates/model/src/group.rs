//! Resource groups: what collections are filed under.

use serde::{Deserialize, Serialize};

use crate::CollectionPath;

/// Where a resource group lives. Segments keep the case they were created with and match in any case.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroupPath {
    /// The subscription.
    pub subscription: String,
    /// The group's own name.
    pub name: String,
}

impl From<&CollectionPath> for GroupPath {
    /// The group that a collection is in.
    fn from(path: &CollectionPath) -> Self {
        Self { subscription: path.subscription.clone(), name: path.group.clone() }
    }
}

/// A resource group. It decides nothing; it is there because clients make one first, and delete it last.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Group {
    /// Where it lives.
    pub path: GroupPath,
    /// A region's display name; only shown.
    pub location: String,
    /// In the order given; `None` where none were.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tags: Option<Vec<(String, String)>>,
}
