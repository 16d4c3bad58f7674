//! The same work in every run, for instruments that count instructions: `scripts/count-instructions`.
//!
//! Jobs are written through the API's router, one after the other, and fire at one instant; store, engine, actions and
//! target are the real ones. The clock stands still, so that nobody waits for it, and one thread runs all but the store's
//! own work. What a part costs is the difference of two runs, with it and without.

use std::sync::Arc;

use actions::{ActionSettings, Actions};
use anyhow::{Context, bail};
use axum::body::Body;
use engine::{Engine, Settings, SystemClock, Watched};
use http::Request;
use jiff::SignedDuration;
use model::{Clock, Timestamp};
use serde_json::{Value, json};
use server::app::App;
use tokio::sync::broadcast::error::RecvError;
use tower_service::Service as _;

use super::report::Line;
use super::target::Target;
use super::world::World;

/// A clock that does not go.
struct Stopped(Timestamp);

impl Clock for Stopped {
    fn now(&self) -> Timestamp {
        self.0
    }
}

/// Writes jobs; then lets so many of them fire.
pub(super) async fn counted(jobs: u32, occurrences: u32) -> anyhow::Result<Vec<Line>> {
    if occurrences > jobs {
        bail!("{occurrences} occurrences of {jobs} jobs that run once; at most as many as there are jobs");
    }
    let folder = tempfile::tempdir()?;
    let world = World::open(folder.path())?;
    let target = Target::start().await?;
    let now = SystemClock.now();
    let due = now + SignedDuration::from_hours(1);
    let mut router = server::http::router(App::new(world.store(), Arc::new(Stopped(now))));
    let base = "/subscriptions/bench/resourceGroups/bench/providers/Microsoft.Scheduler/jobCollections";
    let mut put = async |path: String, body: Value| {
        let request = Request::put(format!("{base}/{path}?api-version=2016-03-01"))
            .header("content-type", "application/json")
            .body(Body::from(body.to_string()))?;
        let answer = router.call(request).await?;
        if !answer.status().is_success() {
            bail!("PUT {path} was answered with {}", answer.status());
        }
        anyhow::Ok(())
    };
    for i in 0..jobs {
        if i % super::api::IN_A_COLLECTION == 0 {
            let body = json!({"location": "Local", "properties": {"sku": {"name": "P20Premium"}}});
            put(format!("collection-{}", i / super::api::IN_A_COLLECTION), body).await?;
        }
        // What is not to fire is due later than anybody looks.
        let start = if i < occurrences { due } else { due + SignedDuration::from_hours(24) };
        let body = json!({"properties": {
            "startTime": wire::date_time::write(start),
            "action": {"type": "Http", "request": {
                "method": "GET",
                "uri": format!("http://{}/reports/{i}", target.address),
                "headers": {"Accept": "application/json"},
            }},
        }});
        put(format!("collection-{}/jobs/job-{i}", i / super::api::IN_A_COLLECTION), body).await?;
    }
    // Made in every run: the certificates that it reads belong to no occurrence.
    let clock: Arc<dyn Clock> = Arc::new(Stopped(due));
    let runner = Actions::new(ActionSettings::default(), Arc::clone(&clock))?;
    if occurrences > 0 {
        fire(&world, &target, occurrences, runner, clock).await?;
    }
    Ok(vec![
        Line::new("jobs written", f64::from(jobs), ""),
        Line::new("occurrences settled", f64::from(occurrences), ""),
    ])
}

async fn fire(
    world: &World,
    target: &Target,
    occurrences: u32,
    runner: Actions,
    clock: Arc<dyn Clock>,
) -> anyhow::Result<()> {
    target.expect(occurrences as usize);
    let watched = Watched::default();
    let mut word = watched.under_way.listen();
    let engine = Engine::start_watched(world.store(), Arc::new(runner), clock, Settings::default(), watched);
    // One word for each beginning and each end, the latter when it is written.
    let mut heard = 0;
    while heard < 2 * u64::from(occurrences) {
        heard += match word.recv().await {
            Ok(_) => 1,
            Err(RecvError::Lagged(missed)) => missed,
            Err(RecvError::Closed) => return Err(RecvError::Closed).context("the engine ended early"),
        };
    }
    engine.stop().await;
    let fates = world.fates().await?;
    if fates.values().sum::<u64>() != u64::from(occurrences) {
        bail!("the ledger does not account for all {occurrences} occurrences: {fates:?}");
    }
    Ok(())
}
