//! Nodes: who shares a store.

use jiff::SignedDuration;
use model::Timestamp;

/// A node, as the store knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    /// Its name.
    pub name: String,
    /// The number of its start: higher than that of any node that started before.
    pub epoch: i64,
    /// The version that it runs.
    pub version: String,
    /// When it started, or joined again.
    pub started_at: Timestamp,
    /// How long its lease holds; negative when it has run out and nobody has noticed yet.
    pub lease_left: SignedDuration,
    /// How far the store's clock is ahead of its machine's.
    pub clock_offset: SignedDuration,
    /// How many executions it holds.
    pub claims: u64,
    /// Whether it is the one that was asked.
    pub is_this: bool,
}
