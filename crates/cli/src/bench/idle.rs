//! Many stored jobs of which few are due: what they cost while nothing happens, and whether they make others late.

use std::time::Duration;

use engine::SystemClock;
use jiff::SignedDuration;
use model::Clock;
use store::{Key, Keyring};

use super::lead;
use super::report::{Line, Spread};
use super::served::{Kept, Served};
use super::target::{Arrival, Target};
use super::usage::{self, Usage};
use super::world::World;

/// What is due on top: so many a second.
const RATE: u32 = 100;

/// A server with all these jobs is watched right after its start, when it looks around, and then while it only waits: for a
/// third and the whole of `seconds`. At last a few jobs are due for another third, in a process that knows when they arrive.
pub(super) async fn idle(jobs: u32, seconds: u32) -> anyhow::Result<Vec<Line>> {
    let third = seconds / 3;
    let empty = {
        let folder = tempfile::tempdir()?;
        let world = World::open(folder.path())?;
        let engine = world.run()?;
        let lateness = trickle(&world, third).await?;
        engine.stop().await;
        lateness
    };

    let folder = tempfile::tempdir()?;
    let nobody = Target::start().await?.address;
    let key = Key::generate()?;
    let keyring = Keyring::new(key.clone(), []);
    let written = {
        let world = World::open_with(folder.path(), keyring.clone())?;
        world.store_idle(jobs, nobody).await?
    };
    // Another process: this one has just written them all, and its memory tells of that.
    let starting = SystemClock.now();
    let served = Served::start(Kept::In(folder.path(), &key))?;
    let started = starting.duration_until(SystemClock.now()).as_secs_f64();
    let after_start = cpu_during(&served, third).await;
    let steady = cpu_during(&served, seconds).await;
    let memory = usage::memory(served.process());
    drop(served);
    let world = World::open_with(folder.path(), keyring)?;
    let engine = world.run()?;
    let full = trickle(&world, third).await?;
    engine.stop().await;

    Ok(vec![
        Line::new("jobs stored", f64::from(jobs), ""),
        Line::new("jobs written a second", written, "1/s"),
        Line::new("from starting the server to its ready line", started * 1e3, "ms"),
        Line::new(format!("CPU in the {third} seconds after that"), after_start * 100.0, "% of a core"),
        Line::new(format!("CPU in the {seconds} seconds after those"), steady * 100.0, "% of a core"),
        Line::new("memory of the server then", memory, "MB"),
        Line::new("lateness p50 at 100 a second", full.at(0.5), "ms"),
        Line::new("lateness p99 at 100 a second", full.at(0.99), "ms"),
        Line::new("lateness max at 100 a second", full.at(1.0), "ms"),
        Line::new("lateness p50 with an empty store", empty.at(0.5), "ms"),
        Line::new("lateness p99 with an empty store", empty.at(0.99), "ms"),
        Line::new("lateness max with an empty store", empty.at(1.0), "ms"),
    ])
}

/// The part of a core that a server used while nothing was due.
async fn cpu_during(served: &Served, seconds: u32) -> f64 {
    let before = Usage::of(served.process()).cpu;
    tokio::time::sleep(Duration::from_secs(seconds.into())).await;
    (Usage::of(served.process()).cpu - before) / f64::from(seconds)
}

/// Lets a few jobs fire, evenly; how late they were.
async fn trickle(world: &World, seconds: u32) -> anyhow::Result<Spread> {
    let target = Target::start().await?;
    let count = RATE * seconds;
    target.expect(count as usize);
    let begin = SystemClock.now() + lead(count);
    let step = SignedDuration::from_secs(1) / i32::try_from(RATE)?;
    let dues = (0..count).map(|i| (begin + step * i32::try_from(i).unwrap_or(i32::MAX), target.address));
    world.write_jobs(dues, count).await?;
    let arrivals = target.all().await;
    world.until_settled().await?;
    Ok(Spread::new(arrivals.iter().map(Arrival::lateness).collect()))
}
