//! The one clock: whoever needs the time is handed it, or this.

use recurrence::Timestamp;

/// What time it is.
pub trait Clock: Send + Sync + 'static {
    /// Now.
    fn now(&self) -> Timestamp;

    /// Whether it goes as the machine's does: then what waits for an instant can be woken by the machine.
    fn is_of_the_machine(&self) -> bool {
        false
    }
}
