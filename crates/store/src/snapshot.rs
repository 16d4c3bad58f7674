use std::fs::File;

use model::Timestamp;
use tokio::sync::OwnedSemaphorePermit;

/// A copy of the whole store, as it was at one moment. Its file has no name: the disk's space is free again when this is
/// dropped, also when that is because the process dies.
#[derive(Debug)]
pub struct Snapshot {
    /// Of when it is: all that was committed before is in it, and nothing else.
    pub at: Timestamp,
    /// The copy, from its beginning.
    pub file: File,
    /// As long as this is held, no other is made.
    pub(crate) _turn: OwnedSemaphorePermit,
}
