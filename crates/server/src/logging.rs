//! The log: written by a thread of its own, so that nobody who logs waits for whoever reads.
//!
//! Standard error is often a pipe. When nobody takes what is in it, the next write waits, for ever if need be; and the settler
//! writes a line for every occurrence. So lines go into a buffer that has a bound. Where it is full, lines are dropped and
//! counted; when they flow again, the log says how many are missing.
//!
//! What is in the buffer is written before the process ends, also where it ends with an error or by a panic, as long as
//! somebody takes it. A process that is killed loses it: mostly nothing, because the thread does not wait for more.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::io::{self, IsTerminal as _, Write};
use std::panic::PanicHookInfo;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use anyhow::Context;
use tracing::{error, warn};
use tracing_subscriber::EnvFilter;

use crate::config::{Config, LogFormat};

/// How long an end waits for lines to be taken.
const PATIENCE: Duration = Duration::from_secs(1);

/// Lines that were dropped since the start.
static DROPPED: AtomicU64 = AtomicU64::new(0);

/// Lines of the log that were dropped since the start, because nobody took those before.
pub(crate) fn dropped() -> u64 {
    DROPPED.load(Ordering::Relaxed)
}

/// The log of this process, as long as this is held; what is left is written when it is dropped.
#[derive(Debug)]
#[must_use = "the log ends with it"]
pub struct Logging {
    buffer: Arc<Buffer>,
}

impl Logging {
    /// Starts logging, to standard error; panics too.
    ///
    /// # Errors
    ///
    /// When the level is none, or there can be no thread.
    pub fn start(config: &Config) -> anyhow::Result<Self> {
        let filter = EnvFilter::try_new(&config.log.level).with_context(|| {
            format!("log.level: \"{}\" is neither a level nor a filter", config.log.level)
        })?;
        let colours = io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
        let buffer = Arc::new(Buffer::new(config.log.buffer));
        let taker = Arc::clone(&buffer);
        thread::Builder::new()
            .name("log".to_owned())
            .spawn(move || taker.write_all_to(&mut io::stderr()))
            .context("the thread of the log cannot be started")?;
        let giver = Arc::clone(&buffer);
        let writer = move || Line(Arc::clone(&giver));
        let subscriber =
            tracing_subscriber::fmt().with_env_filter(filter).with_ansi(colours).with_writer(writer);
        match config.log.format {
            LogFormat::Text => subscriber.init(),
            LogFormat::Json => subscriber.json().init(),
        }
        let panicking = Arc::clone(&buffer);
        // The usual hook would wait for whoever reads.
        std::panic::set_hook(Box::new(move |panic| {
            tell(panic);
            panicking.flush(PATIENCE);
        }));
        Ok(Self { buffer })
    }
}

impl Drop for Logging {
    fn drop(&mut self) {
        self.buffer.flush(PATIENCE);
    }
}

fn tell(panic: &PanicHookInfo<'_>) {
    let place = panic.location().map(ToString::to_string).unwrap_or_default();
    let thread = thread::current().name().unwrap_or("without a name").to_owned();
    let why = panic.payload_as_str().unwrap_or("it does not say why");
    error!(place, thread, "panicked: {why}");
}

/// Where one line goes: the subscriber writes each in one piece.
struct Line(Arc<Buffer>);

impl Write for Line {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        self.0.push(&in_one_line(line));
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Escapes the line breaks within an event: a target could forge lines of the log with what it answers.
fn in_one_line(event: &[u8]) -> Cow<'_, [u8]> {
    let text = event.strip_suffix(b"\n").unwrap_or(event);
    if !text.iter().any(|byte| matches!(byte, b'\n' | b'\r')) {
        return event.into();
    }
    let mut line = Vec::with_capacity(event.len() + 16);
    for byte in text {
        match byte {
            b'\n' => line.extend(b"\\n"),
            b'\r' => line.extend(b"\\r"),
            other => line.push(*other),
        }
    }
    line.push(b'\n');
    line.into()
}

/// Lines that wait to be written.
#[derive(Debug)]
struct Buffer {
    /// The most bytes.
    most: usize,
    lines: Mutex<Lines>,
    /// There is something to write.
    more: Condvar,
    /// All is written.
    none: Condvar,
}

#[derive(Debug, Default)]
struct Lines {
    waiting: VecDeque<Box<[u8]>>,
    bytes: usize,
    /// How many had no room since that was told.
    dropped: u64,
    /// Whether some are taken and not written yet.
    is_writing: bool,
}

impl Buffer {
    fn new(most: usize) -> Self {
        Self { most, lines: Mutex::default(), more: Condvar::new(), none: Condvar::new() }
    }

    fn push(&self, line: &[u8]) {
        let mut lines = self.lines();
        if lines.bytes + line.len() > self.most {
            lines.dropped += 1;
            DROPPED.fetch_add(1, Ordering::Relaxed);
            return;
        }
        lines.bytes += line.len();
        lines.waiting.push_back(line.into());
        self.more.notify_one();
    }

    /// Writes what comes, for ever.
    fn write_all_to(&self, out: &mut impl Write) {
        loop {
            let (taken, bytes) = self.take();
            // Whoever does not want our log gets none; that must not be the end of anything.
            let _ = taken.iter().try_for_each(|line| out.write_all(line)).and_then(|()| out.flush());
            let dropped = self.written(bytes);
            if dropped > 0 {
                warn!(
                    dropped,
                    "lines of the log are missing here: nobody took them, and the buffer was full"
                );
            }
        }
    }

    /// All that waits, once there is something, and how many bytes that are.
    fn take(&self) -> (VecDeque<Box<[u8]>>, usize) {
        let mut lines = self.lines();
        while lines.waiting.is_empty() {
            lines = self.more.wait(lines).unwrap_or_else(PoisonError::into_inner);
        }
        lines.is_writing = true;
        (std::mem::take(&mut lines.waiting), lines.bytes)
    }

    /// Notes that so many bytes are written; how many lines had no room meanwhile.
    fn written(&self, bytes: usize) -> u64 {
        let mut lines = self.lines();
        lines.is_writing = false;
        // What is taken has its place until it is written: otherwise there could be twice as much.
        lines.bytes -= bytes;
        if lines.waiting.is_empty() {
            self.none.notify_all();
        }
        std::mem::take(&mut lines.dropped)
    }

    /// Waits until all is written, but not for ever.
    fn flush(&self, patience: Duration) {
        let lines = self.lines();
        let busy = |lines: &mut Lines| lines.is_writing || !lines.waiting.is_empty();
        // What is not written by then nobody reads.
        let _ = self.none.wait_timeout_while(lines, patience, busy);
    }

    fn lines(&self) -> MutexGuard<'_, Lines> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(taken: &VecDeque<Box<[u8]>>) -> Vec<String> {
        taken.iter().map(|line| String::from_utf8_lossy(line).into_owned()).collect()
    }

    #[test]
    fn an_event_is_one_line_whatever_it_says() {
        for (event, line) in [
            ("INFO one\n", "INFO one\n"),
            ("INFO one", "INFO one"),
            ("INFO a\nINFO forged\r\n\n", "INFO a\\nINFO forged\\r\\n\n"),
            ("\n", "\n"),
        ] {
            assert_eq!(in_one_line(event.as_bytes()), line.as_bytes(), "{event:?}");
        }
    }

    #[test]
    fn what_has_no_room_is_counted() {
        let buffer = Buffer::new(10);
        ["12345", "678", "90123", "4"].iter().for_each(|line| buffer.push(line.as_bytes()));
        let (taken, bytes) = buffer.take();
        assert_eq!((texts(&taken), bytes), (vec!["12345".to_owned(), "678".to_owned(), "4".to_owned()], 9));
        buffer.push(b"12345");
        assert_eq!(
            buffer.written(bytes),
            2,
            "a line had no room at first, and one while others were written"
        );
        buffer.push(b"0123456789");
        let (taken, bytes) = buffer.take();
        assert_eq!(texts(&taken), ["0123456789"], "all of the room is there again");
        assert_eq!(buffer.written(bytes), 0, "it was told");
    }

    #[test]
    fn an_end_waits_for_what_is_written_and_not_for_ever() {
        let buffer = Arc::new(Buffer::new(100));
        buffer.flush(Duration::MAX);
        buffer.push(b"line");
        buffer.flush(Duration::from_millis(1));
        let writer = Arc::clone(&buffer);
        let written = thread::spawn(move || {
            let (_, bytes) = writer.take();
            writer.written(bytes)
        });
        buffer.flush(Duration::MAX);
        assert_eq!(buffer.lines().bytes, 0);
        written.join().expect("it ended");
    }
}
