//! The ceiling: the calls of a workload with no scheduler around them, from the bare client of the same library to the
//! same target. What it reaches is what this machine can do at all.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::Context;
use engine::SystemClock;
use jiff::SignedDuration;
use model::{Clock, Timestamp};
use tokio::task::JoinSet;

use super::bare::HttpClient;
use super::target::{Arrival, Target};
use super::usage::{Process, Usage};

/// How many calls are under way at a time: as many as the scheduler makes to one target.
pub(super) const CONCURRENCY: usize = 100;

/// The first instant of a ceiling should be so far away: connections are made before.
pub(super) const LEAD: SignedDuration = SignedDuration::from_millis(500);

/// What the bare client reached.
pub(super) struct Ceiling {
    pub(super) arrivals: Vec<Arrival>,
    /// Calls a second, until the last was answered.
    pub(super) rate: f64,
    /// Seconds of CPU for each call, the target's included.
    pub(super) cpu: f64,
}

/// Makes one call for each instant: when it comes, and if that has passed already, as soon as there is room.
pub(super) async fn reach(target: &Target, dues: &[Timestamp]) -> anyhow::Result<Ceiling> {
    let client = HttpClient::new(target.address, target.first()?, None)?;
    // Connections are made before anything counts.
    make(&client, target, &vec![SystemClock.now(); 10 * CONCURRENCY]).await?;
    let before = Usage::of(Process::Own);
    let began = dues.first().copied().unwrap_or_else(|| SystemClock.now());
    make(&client, target, dues).await?;
    let seconds = began.duration_until(SystemClock.now()).as_secs_f64();
    let calls = dues.len() as f64;
    let cpu = (Usage::of(Process::Own) - before).cpu / calls.max(1.0);
    Ok(Ceiling { arrivals: target.all().await, rate: calls / seconds.max(1e-6), cpu })
}

async fn make(client: &HttpClient, target: &Target, dues: &[Timestamp]) -> anyhow::Result<()> {
    target.expect(dues.len());
    let (dues, next) = (Arc::<[Timestamp]>::from(dues), Arc::new(AtomicUsize::new(0)));
    let mut callers = JoinSet::new();
    for _ in 0..CONCURRENCY {
        let (client, dues, next) = (client.clone(), dues.clone(), next.clone());
        callers.spawn(async move {
            while let Some(due) = dues.get(next.fetch_add(1, Ordering::Relaxed)) {
                let wait = Duration::try_from(SystemClock.now().duration_until(*due)).unwrap_or_default();
                if !wait.is_zero() {
                    tokio::time::sleep(wait).await;
                }
                client.call_due(*due).await?;
            }
            anyhow::Ok(())
        });
    }
    while let Some(ended) = callers.join_next().await {
        ended.context("a caller ended early")??;
    }
    Ok(())
}
