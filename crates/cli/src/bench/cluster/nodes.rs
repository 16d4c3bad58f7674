//! The processes that are measured: nodes of this binary, and those of the database.

use std::collections::HashMap;
use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};

use anyhow::Context;
use store::{LogPart, Meter};

use crate::bench::usage::{self, TICKS, Usage};

/// Nodes of this binary; they end with this.
pub(super) struct Nodes(Vec<Child>);

impl Nodes {
    /// Starts so many on a database, all with one key, and waits until each serves.
    pub(super) fn start(count: u32, database: &str, key: &str) -> anyhow::Result<Self> {
        let binary = std::env::current_exe().context("this binary cannot be found")?;
        let mut nodes = Self(Vec::new());
        for i in 0..count {
            let mut command = Command::new(&binary);
            // The settings of whoever measures are not meant for these.
            let settings = std::env::vars_os().map(|(name, _)| name);
            for name in settings.filter(|name| name.to_string_lossy().starts_with("PUNCTUAL_")) {
                command.env_remove(name);
            }
            let node = command
                .args(["serve", "--listen", "127.0.0.1:0", "--database", database])
                .env("PUNCTUAL_NODE", format!("bench-{i}"))
                .env("PUNCTUAL_SECRETS_KEY", key)
                .env("PUNCTUAL_LOG_LEVEL", "error")
                .stdin(Stdio::null())
                .stdout(Stdio::piped())
                .spawn()
                .context("a node cannot be started")?;
            nodes.0.push(node);
        }
        for node in &mut nodes.0 {
            let out = node.stdout.take().context("a node says nothing")?;
            let mut line = String::new();
            BufReader::new(out).read_line(&mut line)?;
            if !line.contains("http://") {
                anyhow::bail!("a node did not start; its log says why");
            }
        }
        Ok(nodes)
    }

    /// How many.
    pub(super) fn count(&self) -> usize {
        self.0.len()
    }
}

impl Drop for Nodes {
    fn drop(&mut self) {
        for node in &mut self.0 {
            // It may have ended by itself, and its schema is thrown away.
            let _ = node.kill();
            let _ = node.wait();
        }
    }
}

/// What was used between two readings. What cannot be read here is `None`.
#[derive(Debug, Clone)]
pub(super) struct Used {
    /// Seconds of CPU of the nodes.
    pub(super) nodes: Option<f64>,
    /// Seconds of CPU of the database.
    pub(super) database: Option<f64>,
    /// Bytes of its log.
    pub(super) wal: f64,
    /// What they are.
    pub(super) log: Option<LogPart>,
}

impl Used {
    /// Bytes of the log without whole pages.
    pub(super) fn wal_of_records(&self) -> Option<f64> {
        Some(self.wal - self.log?.whole_pages as f64)
    }
}

/// A reading of all meters.
pub(super) struct Reading {
    nodes: Option<f64>,
    database: Option<Database>,
    pub(super) meter: Meter,
}

impl Reading {
    /// What has been used so far; without nodes, by this process in their place.
    pub(super) fn take(nodes: Option<&Nodes>, meter: Meter) -> Self {
        let processes = processes();
        let nodes = match nodes {
            Some(nodes) => nodes.0.iter().map(|node| Some(processes.get(&node.id())?.own)).sum(),
            None => Some(Usage::of(usage::Process::Own).cpu),
        };
        Self { nodes, database: Database::find(&processes, &meter), meter }
    }

    pub(super) fn until(&self, later: &Self, log: Option<LogPart>) -> Used {
        Used {
            nodes: later.nodes.zip(self.nodes).map(|(after, before)| after - before),
            database: self
                .database
                .as_ref()
                .zip(later.database.as_ref())
                .map(|(before, after)| before.until(after)),
            wal: later.meter.wal.saturating_sub(self.meter.wal) as f64,
            log,
        }
    }
}

/// The CPU of a database that runs on this machine, in seconds.
#[derive(Debug, PartialEq)]
struct Database {
    /// Of its first process, and of those it has started.
    running: HashMap<u32, f64>,
    /// Of those that have ended since it began.
    ended: f64,
}

impl Database {
    fn find(processes: &HashMap<u32, Process>, meter: &Meter) -> Option<Self> {
        let one =
            meter.processes.iter().find_map(|id| processes.get(id).filter(|one| one.name == "postgres"))?;
        let first = one.parent;
        let running = processes.iter().filter(|(id, process)| **id == first || process.parent == first);
        let running = running.map(|(id, process)| (*id, process.own)).collect();
        Some(Self { running, ended: processes.get(&first)?.ended })
    }

    /// What was used until a later reading. Whoever has ended meanwhile is counted in ticks, with all it has used before; what
    /// is less than one is lost.
    fn until(&self, later: &Self) -> f64 {
        let before = |id| self.running.get(id).copied().unwrap_or_default();
        let used: f64 = later.running.iter().map(|(id, after)| after - before(id)).sum();
        let gone: f64 =
            self.running.iter().filter(|(id, _)| !later.running.contains_key(id)).map(|(_, own)| own).sum();
        used + (later.ended - self.ended - gone).max(0.0)
    }
}

struct Process {
    name: String,
    parent: u32,
    /// Seconds of CPU.
    own: f64,
    /// The same of those it has started and that have ended.
    ended: f64,
}

/// All processes of this machine; none where the kernel does not tell.
fn processes() -> HashMap<u32, Process> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let ids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let read = |id, what| std::fs::read_to_string(format!("/proc/{id}/{what}")).ok();
    ids.filter_map(|id| Some((id, process(&read(id, "stat")?, read(id, "schedstat").as_deref())?))).collect()
}

/// A process, as the kernel describes it. What the scheduler knows is more exact, but of one thread: of those of a database,
/// which have no other, it is all.
fn process(stat: &str, scheduled: Option<&str>) -> Option<Process> {
    let (name, rest) = stat.split_once('(')?.1.rsplit_once(')')?;
    let fields: Vec<&str> = rest.split_whitespace().collect();
    let ticks = |i: usize| fields.get(i).and_then(|field| field.parse::<f64>().ok()).unwrap_or_default();
    let threads = fields.get(17).and_then(|field| field.parse::<u32>().ok());
    let nanoseconds = scheduled.and_then(|numbers| numbers.split_whitespace().next()?.parse::<f64>().ok());
    Some(Process {
        name: name.to_owned(),
        parent: fields.get(1)?.parse().ok()?,
        own: match nanoseconds.filter(|_| threads == Some(1)) {
            Some(nanoseconds) => nanoseconds / 1e9,
            None => (ticks(11) + ticks(12)) / TICKS,
        },
        ended: (ticks(13) + ticks(14)) / TICKS,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_read_whatever_its_name() {
        let stat = "42 (a) name) S 7 42 42 0 -1 4194560 1 2 3 4 150 50 20 30 20 0 1 0 9 1 2";
        let read = process(stat, None).expect("read");
        assert_eq!((read.name.as_str(), read.parent), ("a) name", 7));
        assert_eq!((read.own, read.ended), (2.0, 0.5));
        let exact = |stat: &str| process(stat, Some("1995000000 17 4")).expect("read").own;
        assert_eq!(exact(stat), 1.995);
        assert_eq!(exact(&stat.replace(" 20 0 1 0 9", " 20 0 2 0 9")), 2.0, "it is of one of two threads");
    }

    #[test]
    fn a_database_counts_with_all_its_processes() {
        let process = |parent, own, ended| Process { name: "postgres".to_owned(), parent, own, ended };
        let before = HashMap::from([
            (1, process(0, 9.0, 9.0)),
            (10, process(1, 1.0, 2.0)),
            (11, process(10, 4.0, 0.0)),
            (12, process(10, 8.0, 0.0)),
        ]);
        let meter = Meter { wal: 0, processes: vec![99, 12] };
        let find = |processes: &HashMap<u32, Process>| Database::find(processes, &meter);
        let read = find(&before).expect("it runs here");
        assert_eq!(read, Database { running: HashMap::from([(10, 1.0), (11, 4.0), (12, 8.0)]), ended: 2.0 });
        assert_eq!(Database::find(&before, &Meter::default()), None, "it runs elsewhere");

        // One has used more, one is new, and one has ended: with 4.5 in all, or with less than a tick.
        let after = |ended| {
            HashMap::from([
                (10, process(1, 1.0, ended)),
                (12, process(10, 8.25, 0.0)),
                (13, process(10, 0.5, 0.0)),
            ])
        };
        let until = |ended| read.until(&find(&after(ended)).expect("it runs here"));
        assert_eq!(until(6.5), 0.25 + 0.5 + 0.5);
        assert_eq!(until(5.75), 0.25 + 0.5, "nobody gives time back");
    }
}
