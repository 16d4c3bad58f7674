//! A thread for work that takes long and is not urgent.
//!
//! A claim reads a thousand definitions, and a settlement writes a thousand rows. Whichever thread does that hears no alarm
//! of what is due meanwhile, and calls nobody. So claims and settlements are made by a thread of their own, as the
//! embedded store does with its writer.

use std::sync::OnceLock;

use tokio::runtime::{Builder, Handle, Runtime, RuntimeFlavor};
use tokio::task::JoinHandle;

/// There is one for the process: it is about the process's threads, whatever they work on.
static WORKSHOP: OnceLock<Option<Runtime>> = OnceLock::new();

/// Starts work there; here, where there is only one thread anyway: a test which says what time it is.
pub(super) fn start<T: Send + 'static>(work: impl Future<Output = T> + Send + 'static) -> JoinHandle<T> {
    let here = Handle::current();
    if here.runtime_flavor() == RuntimeFlavor::CurrentThread {
        return here.spawn(work);
    }
    match WORKSHOP.get_or_init(open) {
        Some(workshop) => workshop.spawn(work),
        None => here.spawn(work),
    }
}

fn open() -> Option<Runtime> {
    let built = Builder::new_multi_thread().worker_threads(1).thread_name("store").enable_all().build();
    built
        .inspect_err(|error| {
            tracing::warn!(%error, "there is no thread for claims; they may keep calls waiting");
        })
        .ok()
}
