//! Calls a second of the API, and how long a page of a list takes, with many jobs stored.
//!
//! The jobs are written through the API, which is the first measure. Then the store is full, and everything else is asked
//! of it. `/healthz`, which asks no store, is the ceiling: what the same connections reach without our work.
//!
//! The store is a file, or a PostgreSQL database: in a schema of its own, which is removed in the end.

use std::sync::Arc;

use anyhow::{Context, bail};
use engine::SystemClock;
use jiff::SignedDuration;
use model::Clock;
use serde_json::{Value, json};
use store::TrialGround;

use super::Interruption;
use super::report::{Line, Spread};
use super::served::{Call, Connection, Crew, Kept, Measure, Served};
use super::usage::{self, Usage};

pub(super) const VERSION: &str = "api-version=2016-03-01";

/// As many jobs as the largest plan allows in a collection.
pub(super) const IN_A_COLLECTION: u32 = 1000;

/// How many entries a page has.
const PAGE: u32 = 100;

/// How much is measured.
#[derive(Debug, Clone)]
pub(super) struct Extent {
    /// A PostgreSQL database, where the store is one.
    pub(super) database: Option<String>,
    /// How many are stored.
    pub(super) jobs: u32,
    /// At the same time.
    pub(super) connections: u32,
    /// Of each kind, on all connections together.
    pub(super) calls: u32,
    /// Of each list, one after the other.
    pub(super) pages: u32,
}

/// Measures; the lines of the report.
pub(super) async fn api(extent: Extent) -> anyhow::Result<Vec<Line>> {
    let interruption = Interruption::watch()?;
    let ground = match &extent.database {
        Some(url) => Some(TrialGround::prepare(url).await?),
        None => None,
    };
    let measured = interruption.or(measure(&extent, ground.as_ref().map(TrialGround::url))).await;
    let cleared = match ground {
        Some(ground) => ground.clear().await,
        None => Ok(()),
    };
    let lines = measured?;
    cleared?;
    Ok(lines)
}

async fn measure(extent: &Extent, database: Option<&str>) -> anyhow::Result<Vec<Line>> {
    let &Extent { jobs, connections, calls, pages, .. } = extent;
    let served = Served::start(database.map_or(Kept::Alone, Kept::On))?;
    let mut crew = Crew::connect(served.address, connections).await?;
    let mut alone = Connection::open(served.address).await?;

    for i in 0..jobs.div_ceil(IN_A_COLLECTION) {
        let body = json!({"location": "Local", "properties": {"sku": {"name": "P20Premium"}}});
        alone.call(Call::put(format!("{}?{VERSION}", collection(i)), body)).await?;
    }
    let now = SystemClock.now();
    let put = move |i: u32, interval: u32| {
        // Never due while this runs, and each at another time.
        let start = now + SignedDuration::from_hours(24 * 30) + SignedDuration::from_secs(97 * i64::from(i));
        let body = json!({"properties": {
            "startTime": wire::date_time::write(start),
            "action": {"type": "Http", "request": {
                "method": "POST",
                "uri": format!("http://127.0.0.1:9/reports/{i}"),
                "headers": {"Content-Type": "application/json"},
                "body": "{\"report\": \"nightly\"}",
            }},
            "recurrence": {"frequency": "day", "interval": interval},
        }});
        Call::put(format!("{}?{VERSION}", job(i)), body)
    };
    let before = Usage::of(served.process());
    let new = crew.measure(jobs, Arc::new(move |i| put(i, 1))).await?;
    let used = Usage::of(served.process()) - before;
    let changed = crew.measure(calls, Arc::new(move |i| put(any(i, jobs), 2))).await?;
    let get = move |i| Call::get(format!("{}?{VERSION}", job(any(i, jobs))));
    let read = crew.measure(calls, Arc::new(get)).await?;
    let ceiling = crew.measure(calls, Arc::new(|_| Call::get("/healthz"))).await?;

    let mut lines = vec![
        Line::new("jobs stored", f64::from(jobs), ""),
        Line::new("connections", f64::from(connections), ""),
    ];
    lines.extend(told("PUT of a new job", &new));
    lines.extend([
        Line::new("PUT of a new job, CPU of the server", used.cpu / f64::from(jobs) * 1e6, "µs"),
        Line::new("PUT of a new job, written by the server", used.written / f64::from(jobs), "B"),
        Line::new("PUT of a new job, of GET /healthz", new.rate / ceiling.rate * 100.0, "%"),
    ]);
    lines.extend(told("PUT of a job that is there", &changed));
    lines.extend(told("GET of a job", &read));
    lines.extend(told("GET /healthz", &ceiling));

    lines.push(Line::new("peak memory of the server", usage::peak_memory(served.process()), "MB"));
    // The one before has said nothing for longer than the server keeps such connections, perhaps.
    let mut alone = Connection::open(served.address).await?;
    let middle = format!("{:06}", jobs / 2);
    for (name, path) in [
        ("page of a collection", format!("{}/jobs?{VERSION}&$top={PAGE}", collection(0))),
        ("page of all jobs by name", all_jobs("sort=name")),
        ("page of all jobs by next run", all_jobs("sort=next")),
        ("page of all jobs by last run", all_jobs("sort=last")),
        ("page of a search for 5 digits", all_jobs(&format!("search={}", &middle[1..]))),
    ] {
        let times = page(&mut alone, &path, pages, jobs).await.with_context(|| format!("the {name}"))?;
        lines.push(Line::new(format!("{name} p50"), times.at(0.5), "ms"));
        lines.push(Line::new(format!("{name} p99"), times.at(0.99), "ms"));
    }
    Ok(lines)
}

fn collection(i: u32) -> String {
    let base = "/subscriptions/bench/resourceGroups/bench/providers/Microsoft.Scheduler/jobCollections";
    format!("{base}/collection-{i:04}")
}

fn job(i: u32) -> String {
    format!("{}/jobs/job-{i:06}", collection(i / IN_A_COLLECTION))
}

fn all_jobs(query: &str) -> String {
    format!("/api/jobs?{query}&top={PAGE}")
}

/// One of the jobs, not in the order in which they were written.
fn any(i: u32, jobs: u32) -> u32 {
    // A large prime, so that all have their turn.
    (u64::from(i) * 2_147_483_647 % u64::from(jobs)) as u32
}

/// Asks for a page again and again, one after the other; how long that took, in milliseconds.
async fn page(connection: &mut Connection, path: &str, pages: u32, jobs: u32) -> anyhow::Result<Spread> {
    let mut times = Vec::new();
    for _ in 0..pages {
        let (body, took) = connection.call(Call::get(path)).await?;
        times.push(took);
        let body: Value = serde_json::from_slice(&body)?;
        let entries = body["value"].as_array().map_or(0, Vec::len);
        // A search finds what it finds, but something.
        let least = if path.contains("search=") { 1 } else { jobs.min(PAGE) as usize };
        if entries < least {
            bail!("a page of {entries} entries; expected: {least} or more");
        }
    }
    Ok(Spread::new(times))
}

fn told(name: &str, measure: &Measure) -> [Line; 3] {
    [
        Line::new(name.to_owned(), measure.rate, "1/s"),
        Line::new(format!("{name} p50"), measure.times.at(0.5), "ms"),
        Line::new(format!("{name} p99"), measure.times.at(0.99), "ms"),
    ]
}
