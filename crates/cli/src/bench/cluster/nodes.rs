//! The processes that are measured: nodes of this binary, and those of the database.

use std::collections::HashMap;
use std::io::{BufRead as _, BufReader};
use std::ops::Add;
use std::process::{Child, Command, Stdio};

use anyhow::Context;
use store::{LogPart, Meter};

/// How often a second the kernel counts the CPU of a process: the same on every Linux that Rust runs on.
pub(super) const TICKS: f64 = 100.0;

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

/// What was used between two readings, or in several rounds together. What cannot be read here is `None`.
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

impl Add for Used {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        let both = |one: Option<f64>, other: Option<f64>| Some(one? + other?);
        let log = self.log.zip(other.log).map(|(one, other)| LogPart {
            records: one.records + other.records,
            whole_pages: one.whole_pages + other.whole_pages,
        });
        Self {
            nodes: both(self.nodes, other.nodes),
            database: both(self.database, other.database),
            wal: self.wal + other.wal,
            log,
        }
    }
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
    database: Option<f64>,
    pub(super) meter: Meter,
}

impl Reading {
    /// What has been used so far; without nodes, by this process in their place.
    pub(super) fn take(nodes: Option<&Nodes>, meter: Meter) -> Self {
        let processes = processes();
        let own = |id: u32| processes.get(&id).map(|process| process.own);
        let nodes = match nodes {
            Some(nodes) => nodes.0.iter().map(|node| own(node.id())).sum(),
            None => own(std::process::id()),
        };
        Self { nodes, database: database(&processes, &meter), meter }
    }

    pub(super) fn until(&self, later: &Self, log: Option<LogPart>) -> Used {
        let between = |before: Option<f64>, after: Option<f64>| Some(after? - before?);
        Used {
            nodes: between(self.nodes, later.nodes),
            database: between(self.database, later.database),
            wal: later.meter.wal.saturating_sub(self.meter.wal) as f64,
            log,
        }
    }
}

/// The CPU of a database that runs on this machine: of its first process, of those it has started, and of those that
/// have ended meanwhile.
fn database(processes: &HashMap<u32, Process>, meter: &Meter) -> Option<f64> {
    let one = meter.processes.iter().find_map(|id| processes.get(id).filter(|one| one.name == "postgres"))?;
    let first = processes.get(&one.parent)?;
    let others = processes.values().filter(|process| process.parent == one.parent).map(|process| process.own);
    Some(first.own + first.ended + others.sum::<f64>())
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
    ids.filter_map(|id| Some((id, process(&std::fs::read_to_string(format!("/proc/{id}/stat")).ok()?)?)))
        .collect()
}

fn process(stat: &str) -> Option<Process> {
    let (name, rest) = stat.split_once('(')?.1.rsplit_once(')')?;
    let fields: Vec<&str> = rest.split_whitespace().collect();
    let ticks = |i: usize| fields.get(i).and_then(|field| field.parse::<f64>().ok()).unwrap_or_default();
    Some(Process {
        name: name.to_owned(),
        parent: fields.get(1)?.parse().ok()?,
        own: (ticks(11) + ticks(12)) / TICKS,
        ended: (ticks(13) + ticks(14)) / TICKS,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_read_whatever_its_name() {
        let stat = "42 (a) name) S 7 42 42 0 -1 4194560 1 2 3 4 150 50 20 30 20 0 1 0 9 1 2";
        let process = process(stat).expect("read");
        assert_eq!((process.name.as_str(), process.parent), ("a) name", 7));
        assert_eq!((process.own, process.ended), (2.0, 0.5));
    }

    #[test]
    fn a_database_counts_with_all_its_processes() {
        let process = |parent, own, ended| Process { name: "postgres".to_owned(), parent, own, ended };
        let processes = HashMap::from([
            (1, process(0, 9.0, 9.0)),
            (10, process(1, 1.0, 2.0)),
            (11, process(10, 4.0, 0.0)),
            (12, process(10, 8.0, 0.0)),
        ]);
        let meter = Meter { wal: 0, processes: vec![99, 12] };
        assert_eq!(database(&processes, &meter), Some(15.0));
        assert_eq!(database(&processes, &Meter::default()), None, "it runs elsewhere");
    }
}
