//! The one clock: whoever needs the time is handed it, or this.

use recurrence::Timestamp;

/// What time it is.
pub trait Clock: Send + Sync + 'static {
    /// Now.
    fn now(&self) -> Timestamp;
}
