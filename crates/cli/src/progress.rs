//! Progress of long work: a bar on terminals, nothing elsewhere.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// A bar on standard error; it goes away with this.
pub(crate) struct Progress(ProgressBar);

impl Progress {
    /// So many bytes are to come.
    pub(crate) fn bytes(length: u64) -> Self {
        Self::new(length, "{bar:40} {bytes} of {total_bytes}, {eta} left")
    }

    /// So many things are to be done.
    pub(crate) fn steps(length: u64) -> Self {
        Self::new(length, "{bar:40} {pos} of {len}, {eta} left")
    }

    /// The same, with a word on what they are.
    pub(crate) fn of(what: &str, length: u64) -> Self {
        let progress = Self::new(length, "{msg} {bar:40} {pos} of {len}, {eta} left");
        progress.0.set_message(what.to_owned());
        progress
    }

    fn new(length: u64, template: &str) -> Self {
        // Where standard error is no terminal, indicatif draws nothing.
        let bar = ProgressBar::with_draw_target(Some(length), ProgressDrawTarget::stderr());
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        Self(bar)
    }

    /// So much is done.
    pub(crate) fn at(&self, done: u64) {
        self.0.set_position(done);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}
