//! A restart with a backlog: jobs that became due while nobody was there, half of them claimed by a process that died.

use anyhow::bail;
use engine::SystemClock;
use jiff::SignedDuration;
use model::{Clock, Timestamp};
use store::{Key, Keyring};

use super::ceiling;
use super::lead;
use super::report::{self, Line};
use super::target::Target;
use super::usage::{self, Process, Usage};
use super::world::World;

/// Measures; the lines of the report.
pub(super) async fn recover(jobs: u32, rounds: u32) -> anyhow::Result<Vec<Line>> {
    let mut measured = Vec::new();
    for _ in 0..rounds {
        measured.push(round(jobs).await?);
    }
    let mut lines = report::over(measured);
    lines.push(Line::new("peak memory", usage::peak_memory(Process::Own), "MB"));
    Ok(lines)
}

async fn round(jobs: u32) -> anyhow::Result<Vec<Line>> {
    let folder = tempfile::tempdir()?;
    let target = Target::start().await?;
    let keyring = Keyring::new(Key::generate()?, []);
    let due = SystemClock.now() + lead(jobs);
    {
        let world = World::open_with(folder.path(), keyring.clone())?;
        world.write_jobs((0..jobs).map(|_| (due, target.address)), jobs).await?;
        let mut claimed = 0;
        while claimed < jobs as usize / 2 {
            let batch = (jobs / 2).min(1000);
            match world.claim_in_vain(due, batch).await? {
                0 => bail!("nothing is left to be claimed after {claimed}"),
                more => claimed += more,
            }
        }
    }
    until(due).await?;

    target.expect(jobs as usize);
    let before = Usage::of(Process::Own);
    let opening = SystemClock.now();
    let world = World::open_with(folder.path(), keyring)?;
    let engine = world.run()?;
    let opened = SystemClock.now();
    let arrivals = target.all().await;
    world.until_settled().await?;
    let settled = SystemClock.now();
    let used = Usage::of(Process::Own) - before;
    let fates = world.fates().await?;
    if fates.values().sum::<u64>() != u64::from(jobs) {
        bail!("the ledger does not account for all {jobs} occurrences: {fates:?}");
    }
    engine.stop().await;
    let ceiling = ceiling::reach(&target, &vec![SystemClock.now() + ceiling::LEAD; jobs as usize]).await?;

    let since = |at: Timestamp| opening.duration_until(at).as_secs_f64();
    let first = arrivals.iter().map(|arrival| arrival.at).min().unwrap_or(opening);
    let last = arrivals.iter().map(|arrival| arrival.at).max().unwrap_or(opening);
    let jobs = f64::from(jobs);
    let rate = jobs / since(settled).max(1e-3);
    Ok(vec![
        Line::new("backlog", jobs, ""),
        Line::new("from opening to watching the clock", since(opened) * 1e3, "ms"),
        Line::new("from opening to the first call", since(first) * 1e3, "ms"),
        Line::new("from opening to the last call", since(last) * 1e3, "ms"),
        Line::new("from opening to all settled", since(settled) * 1e3, "ms"),
        Line::new("settled a second", rate, "1/s"),
        Line::new("ceiling: calls a second of the bare client", ceiling.rate, "1/s"),
        Line::new("settled of the ceiling", rate / ceiling.rate * 100.0, "%"),
        Line::new("CPU per occurrence, target included", used.cpu / jobs * 1e6, "µs"),
        Line::new("bytes written per occurrence", used.written / jobs, "B"),
    ])
}

/// Waits until an instant has passed; it must not have when this is called.
async fn until(due: Timestamp) -> anyhow::Result<()> {
    let left = SystemClock.now().duration_until(due);
    if left < SignedDuration::ZERO {
        bail!("writing the jobs took until after they were due; this machine is too busy to measure");
    }
    tokio::time::sleep(left.try_into()?).await;
    Ok(())
}
