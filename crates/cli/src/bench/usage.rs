//! What a process has used: CPU, memory, bytes for the disk, and allocations where they are counted.
//!
//! Everything is the kernel's own count. Allocations are counted by the allocator, which costs a little with each of them,
//! so only a binary built with the feature `count-allocations` does it.

use std::fmt;
use std::ops::Sub;

use rustix::time::ClockId;

#[cfg(feature = "count-allocations")]
#[global_allocator]
static ALLOCATOR: &stats_alloc::StatsAlloc<std::alloc::System> = &stats_alloc::INSTRUMENTED_SYSTEM;

#[cfg(not(feature = "count-allocations"))]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// How often a second the kernel counts the CPU of a process: the same on every Linux that Rust runs on.
pub(super) const TICKS: f64 = 100.0;

/// Whose usage.
#[derive(Debug, Clone, Copy)]
pub(super) enum Process {
    /// This one.
    Own,
    /// One that was started from here.
    Child(u32),
}

impl fmt::Display for Process {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Own => f.write_str("self"),
            Self::Child(id) => write!(f, "{id}"),
        }
    }
}

/// What was used up to a moment; the difference of two is what was used between them. 0 where there is nobody to ask.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Usage {
    /// Seconds.
    pub(super) cpu: f64,
    /// Bytes that were meant for the disk.
    pub(super) written: f64,
    /// How often memory was asked for; `None` where nobody counts.
    pub(super) allocations: Option<f64>,
}

impl Usage {
    /// Up to now.
    pub(super) fn of(process: Process) -> Self {
        let (cpu, allocations) = match process {
            Process::Own => (own_cpu(), allocations()),
            Process::Child(_) => (cpu(process), None),
        };
        let io = std::fs::read_to_string(format!("/proc/{process}/io")).unwrap_or_default();
        Self { cpu, written: field(&io, "write_bytes:"), allocations }
    }
}

impl Sub for Usage {
    type Output = Self;

    fn sub(self, before: Self) -> Self {
        Self {
            cpu: self.cpu - before.cpu,
            written: self.written - before.written,
            allocations: self.allocations.zip(before.allocations).map(|(after, before)| after - before),
        }
    }
}

/// To the nanosecond.
fn own_cpu() -> f64 {
    spent(ClockId::ProcessCPUTime)
}

/// What the calling thread has used, in seconds.
pub(super) fn thread_cpu() -> f64 {
    spent(ClockId::ThreadCPUTime)
}

fn spent(clock: ClockId) -> f64 {
    let spent = rustix::time::clock_gettime(clock);
    spent.tv_sec as f64 + spent.tv_nsec as f64 / 1e9
}

/// By the kernel's count of ticks.
fn cpu(process: Process) -> f64 {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let ticks = |i: usize| fields.get(i).and_then(|field| field.parse::<f64>().ok()).unwrap_or_default();
    (ticks(11) + ticks(12)) / TICKS
}

#[cfg(feature = "count-allocations")]
fn allocations() -> Option<f64> {
    let counted = ALLOCATOR.stats();
    Some((counted.allocations + counted.reallocations) as f64)
}

#[cfg(not(feature = "count-allocations"))]
fn allocations() -> Option<f64> {
    None
}

/// Megabytes in memory now.
pub(super) fn memory(process: Process) -> f64 {
    status(process, "VmRSS:")
}

/// Megabytes in memory at the most.
pub(super) fn peak_memory(process: Process) -> f64 {
    status(process, "VmHWM:")
}

fn status(process: Process, name: &str) -> f64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    field(&status, name) / 1024.0
}

/// The number after a name at the beginning of a line.
fn field(text: &str, name: &str) -> f64 {
    let line = text.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default();
    line.split_whitespace().next().and_then(|number| number.parse().ok()).unwrap_or_default()
}
