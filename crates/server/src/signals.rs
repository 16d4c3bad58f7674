//! Signals: which of them end the server.
//!
//! SIGTERM and SIGINT end it: it drains and exits with status 0. SIGHUP does the same, because a terminal that is closed
//! sends it; `nohup` starts a process with SIGHUP ignored, and that stays so. SIGXFSZ comes when a file would grow beyond
//! the limit of the process (`ulimit -f`, `LimitFSIZE=`). By default it kills; here the write fails, and the store answers as on
//! a full disk.

use std::future::pending;
use std::io;

use rustix::process::Signal as Number;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// The signals that end the server.
#[derive(Debug)]
pub(crate) struct Ending {
    terminate: Signal,
    interrupt: Signal,
    /// None where the process was started with SIGHUP ignored.
    hang_up: Option<Signal>,
}

impl Ending {
    /// Listens for them from now on; before that, each of them kills.
    pub(crate) fn listen() -> io::Result<Self> {
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let is_ignored = ignores(&status, Number::HUP);
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            hang_up: if is_ignored { None } else { Some(signal(SignalKind::hangup())?) },
        })
    }

    /// Waits for the next of them.
    pub(crate) async fn next(&mut self) {
        let hang_up = async {
            match &mut self.hang_up {
                Some(signal) => signal.recv().await,
                None => pending().await,
            }
        };
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
            _ = hang_up => {}
        }
    }
}

/// From now on a write beyond the limit of file sizes fails instead of killing the process.
pub(crate) fn survive_file_size_limit() -> io::Result<()> {
    // The handler stays in place when what it would be received with is dropped.
    signal(SignalKind::from_raw(Number::XFSZ.as_raw())).map(drop)
}

/// Whether a process ignores a signal, by the text of its `/proc/PID/status`.
fn ignores(status: &str, number: Number) -> bool {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (number.as_raw() - 1) & 1 == 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mask_of_ignored_signals_is_read() {
        let status = |mask: &str| format!("Name:\tpunctual\nSigBlk:\t0000000000000001\nSigIgn:\t{mask}\n");
        assert!(ignores(&status("0000000000000001"), Number::HUP));
        assert!(!ignores(&status("0000000000001000"), Number::HUP));
        assert!(ignores(&status("0000000000001000"), Number::PIPE));
        assert!(!ignores("", Number::HUP));
    }
}
