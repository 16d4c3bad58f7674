use std::fs::File;

use tokio::sync::OwnedSemaphorePermit;

/// A copy of the whole store, as it was at one moment. Its file has no name: the disk's space is free again when this is
/// dropped, also when that is because the process dies.
#[derive(Debug)]
pub struct Snapshot {
    /// The copy, from its beginning.
    pub file: File,
    /// As long as this is held, no other is made.
    pub(crate) _turn: OwnedSemaphorePermit,
}
