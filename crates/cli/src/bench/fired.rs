//! Occurrences that are due at one instant or evenly spread, beside the ceiling of the same run.
//!
//! One store and one engine serve all rounds. A round writes its jobs, waits until each was called and is settled, asks the
//! ledger for all of them, and then lets the bare client make the same calls. What a round costs is counted from when its
//! jobs are written, so that the claims ahead of time are part of it.

use std::time::Duration;

use anyhow::bail;
use engine::SystemClock;
use jiff::SignedDuration;
use model::{Clock, Timestamp};

use super::ceiling::{self, Ceiling};
use super::report::{self, Line, Spread};
use super::stalls::{Seen, Stall, Watch};
use super::target::{Arrival, Target};
use super::usage::{self, Process, Usage};
use super::world::World;

/// When occurrences are due.
#[derive(Debug, Clone, Copy)]
pub(super) enum Shape {
    /// All at one instant.
    Herd,
    /// So many a second.
    Steady { rate: u32 },
}

/// How much is measured.
#[derive(Debug, Clone, Copy)]
pub(super) struct Extent {
    pub(super) shape: Shape,
    /// Occurrences of a round.
    pub(super) jobs: u32,
    /// Jobs beside them that are not due.
    pub(super) stored: u32,
    pub(super) rounds: u32,
}

/// As many jobs as are written and called before anything counts.
const WARM_UP: u32 = 1000;

/// Nothing is due before so long after it was written: the engine claims two seconds ahead.
const AHEAD: SignedDuration = SignedDuration::from_millis(2500);

/// The bare client keeps up a rate for no longer than this; it has no reason to change its mind.
const LONGEST_CEILING: u32 = 10;

impl Shape {
    fn dues(self, begin: Timestamp, jobs: u32) -> anyhow::Result<Vec<Timestamp>> {
        let step = match self {
            Self::Herd => SignedDuration::ZERO,
            Self::Steady { rate } => SignedDuration::from_secs(1) / i32::try_from(rate)?,
        };
        Ok((0..jobs).map(|i| begin + step * i32::try_from(i).unwrap_or(i32::MAX)).collect())
    }

    /// As many calls of the ceiling.
    fn ceiling(self, jobs: u32) -> u32 {
        match self {
            Self::Herd => jobs,
            Self::Steady { rate } => jobs.min(rate.saturating_mul(LONGEST_CEILING)),
        }
    }
}

/// Measures; the lines of the report.
pub(super) async fn fired(extent: Extent) -> anyhow::Result<Vec<Line>> {
    let Extent { shape, jobs, stored, rounds } = extent;
    let folder = tempfile::tempdir()?;
    let target = Target::start().await?;
    let world = World::open(folder.path())?;
    if stored > 0 {
        world.store_idle(stored, target.address).await?;
    }
    let engine = world.run()?;
    // A guess for the first time, slower than any disk worth measuring.
    let warm = fire(&world, &target, Shape::Herd, jobs.min(WARM_UP), 1000.0).await?;
    let mut settled = u64::from(jobs.min(WARM_UP));
    let mut measured = Vec::new();
    for _ in 0..rounds {
        let fired = fire(&world, &target, shape, jobs, warm.written).await?;
        settled += u64::from(jobs);
        let fates = world.fates().await?;
        if fates.values().sum::<u64>() != settled {
            bail!("the ledger does not account for all {settled} occurrences: {fates:?}");
        }
        let dues = shape.dues(SystemClock.now() + ceiling::LEAD, shape.ceiling(jobs))?;
        let ceiling = ceiling::reach(&target, &dues).await?;
        measured.push(lines(&extent, &fired, &ceiling));
    }
    engine.stop().await;
    let mut lines = report::over(measured);
    lines.push(Line::new("peak memory", usage::peak_memory(Process::Own), "MB"));
    Ok(lines)
}

/// What became of the occurrences of a round.
struct Fired {
    /// Jobs a second.
    written: f64,
    begin: Timestamp,
    arrivals: Vec<Arrival>,
    settled: Timestamp,
    used: Usage,
    stalls: Vec<Stall>,
}

/// Writes one job for each instant, so early that all are written before the first is claimed, and waits until all are
/// settled.
async fn fire(world: &World, target: &Target, shape: Shape, jobs: u32, pace: f64) -> anyhow::Result<Fired> {
    let writing = SignedDuration::from_secs_f64(1.5 * f64::from(jobs) / pace);
    let begin = SystemClock.now() + AHEAD + writing;
    target.expect(jobs as usize);
    let dues = shape.dues(begin, jobs)?.into_iter();
    let written = world.write_jobs(dues.map(|due| (due, target.address)), jobs).await?;
    if SystemClock.now() > begin {
        bail!("writing {jobs} jobs took until after they were due; this machine is too busy to measure");
    }
    let watch = Watch::start();
    let before = Usage::of(Process::Own);
    let arrivals = target.all().await;
    world.until_settled().await?;
    let settled = SystemClock.now();
    let mut used = Usage::of(Process::Own) - before;
    let Seen { stalls, cpu } = watch.end();
    used.cpu -= cpu;
    Ok(Fired { written, begin, arrivals, settled, used, stalls })
}

fn lines(extent: &Extent, fired: &Fired, ceiling: &Ceiling) -> Vec<Line> {
    let jobs = f64::from(extent.jobs);
    let a_second = |until: Timestamp| jobs / fired.begin.duration_until(until).as_secs_f64().max(1e-3);
    let last = fired.arrivals.iter().map(|arrival| arrival.at).max().unwrap_or(fired.begin);
    let settled = a_second(fired.settled);
    let mut lines = vec![
        Line::new("occurrences", jobs, ""),
        Line::new("jobs stored beside them", f64::from(extent.stored), ""),
        Line::new("jobs written a second", fired.written, "1/s"),
        Line::new("arrived a second", a_second(last), "1/s"),
        Line::new("settled a second", settled, "1/s"),
        Line::new("ceiling: calls a second of the bare client", ceiling.rate, "1/s"),
        Line::new("settled of the ceiling", settled / ceiling.rate * 100.0, "%"),
    ];
    lines.extend(lateness("lateness", &fired.arrivals));
    lines.push(Line::new("lateness max outside of stalls", outside(&fired.arrivals, &fired.stalls), "ms"));
    lines.extend(lateness("ceiling: lateness", &ceiling.arrivals));
    let longest = fired.stalls.iter().map(Stall::milliseconds).fold(0.0, f64::max);
    lines.extend([
        Line::new("stalls of the machine", fired.stalls.len() as f64, ""),
        Line::new("longest stall", longest, "ms"),
        Line::new("CPU per occurrence, target included", fired.used.cpu / jobs * 1e6, "µs"),
        Line::new("CPU of a bare call, target included", ceiling.cpu * 1e6, "µs"),
        Line::new("bytes written per occurrence", fired.used.written / jobs, "B"),
    ]);
    if let Some(allocations) = fired.used.allocations {
        lines.push(Line::new("allocations per occurrence, target included", allocations / jobs, ""));
    }
    lines
}

pub(super) fn lateness<'n>(name: &'n str, arrivals: &[Arrival]) -> impl Iterator<Item = Line> + use<'n> {
    let spread = Spread::new(arrivals.iter().map(Arrival::lateness).collect());
    [("min", 0.0), ("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("max", 1.0)]
        .map(|(part, at)| Line::new(format!("{name} {part}"), spread.at(at), "ms"))
        .into_iter()
}

/// The greatest lateness of those that no stall made late.
fn outside(arrivals: &[Arrival], stalls: &[Stall]) -> f64 {
    let is_free = |arrival: &&Arrival| {
        !stalls.iter().any(|stall| stall.from <= arrival.at && arrival.due <= stall.to + AFTERMATH)
    };
    arrivals.iter().filter(is_free).map(Arrival::lateness).fold(0.0, f64::max)
}

/// What has gathered during a stall takes a while to go.
const AFTERMATH: Duration = Duration::from_millis(50);
