//! Whether calls that hang make others late: a job every 250 ms, first alone and then beside calls of other collections that
//! hang.
//!
//! The server is a process of its own, with a store of its own. Its jobs call targets in this process. One kind of target
//! answers at once and notes when each call arrived; the others hang, each in another phase of a call. Both parts are
//! measured on the same server, one after the other.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::bail;
use bytes::Bytes;
use engine::SystemClock;
use jiff::SignedDuration;
use model::{Clock, Timestamp};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde_json::{Value, json};
use store::TrialGround;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::Interruption;
use super::api::{IN_A_COLLECTION, VERSION};
use super::report::{Line, Spread};
use super::served::{Call, Connection, Crew, Kept, Served};
use super::stalls::{Stall, Watch};
use super::target::{Arrival, Target};
use super::usage;

/// One unrelated job is due so often.
const EVERY: SignedDuration = SignedDuration::from_millis(250);

/// How many of those there are in a second.
const A_SECOND: u32 = 4;

/// How many unrelated jobs are called before anything counts.
const WARM_UP: u32 = 8;

/// How many connections write jobs.
const WRITERS: u32 = 16;

/// Nothing is due before so long after it was written: the engine claims two seconds ahead.
const AHEAD: SignedDuration = SignedDuration::from_millis(2500);

/// How often the server is asked how many calls are under way, and how long after the first call: not when others are due.
const LOOK: Duration = Duration::from_secs(1);
const FIRST_LOOK: SignedDuration = SignedDuration::from_millis(100);

/// How much is measured.
#[derive(Debug, Clone)]
pub(super) struct Extent {
    /// A PostgreSQL database, where the store is one.
    pub(super) database: Option<String>,
    /// How many calls hang, and of how many collections they are.
    pub(super) calls: u32,
    pub(super) collections: u32,
    /// How many addresses they go to.
    pub(super) targets: u32,
    /// Whether they come once, and not every minute.
    pub(super) once: bool,
    /// How long a call may take.
    pub(super) timeout: u32,
    /// How long each part takes.
    pub(super) seconds: u32,
}

/// Measures; the lines of the report.
pub(super) async fn neighbours(extent: Extent) -> anyhow::Result<Vec<Line>> {
    let Extent { calls, collections, .. } = extent;
    let most = collections.saturating_mul(IN_A_COLLECTION);
    if calls < collections || calls > most {
        bail!("{calls} calls of {collections} collections; allowed: --calls from {collections} to {most}");
    }
    let interruption = Interruption::watch()?;
    allow_files();
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

/// Each call that hangs is an open file of this process too.
fn allow_files() {
    let limit = getrlimit(Resource::Nofile).maximum;
    // Where it is refused, calls hang because they are not accepted, which is the same to the server.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit, maximum: limit });
}

async fn measure(extent: &Extent, database: Option<&str>) -> anyhow::Result<Vec<Line>> {
    let &Extent { calls, collections, targets, once, timeout, seconds, .. } = extent;
    let limit = format!("{timeout}s");
    let settings = [("PUNCTUAL_HTTP_TIMEOUT", &*limit)];
    let served = Served::start_with(database.map_or(Kept::Alone, Kept::On), &settings)?;
    let mut alone = Connection::open(served.address).await?;
    let unrelated = (0..(2 * A_SECOND * seconds + WARM_UP).div_ceil(IN_A_COLLECTION)).map(stranger);
    for path in unrelated.chain((0..collections).map(neighbour)) {
        let body = json!({"location": "Local", "properties": {"sku": {"name": "P20Premium"}}});
        alone.call(Call::put(format!("{path}?{VERSION}"), body)).await?;
    }
    let target = Target::start().await?;
    let count = A_SECOND * seconds;
    let scene = Scene { served: &served, target: &target };
    scene.unrelated(0, WARM_UP, SystemClock.now() + AHEAD).await?;
    let without = scene.unrelated(WARM_UP, count, SystemClock.now() + AHEAD).await?;

    let mut hanging = Vec::new();
    for i in 0..targets {
        hanging.push(Hanging::start(HANGS[i as usize % HANGS.len()]).await?);
    }
    // At the pace of those before, and slower: those were few.
    let writing = (3.0 * f64::from(calls + count) / without.written).ceil();
    let begin = SystemClock.now() + AHEAD + SignedDuration::from_secs_f64(writing);
    let uris: Vec<String> = hanging.iter().map(Hanging::uri).collect();
    let put = move |i: u32| {
        let uri = &uris[i as usize % uris.len()];
        let mut body = job(begin, uri);
        if !once {
            body["properties"]["recurrence"] = json!({"frequency": "minute", "interval": 1});
        }
        Call::put(format!("{}/jobs/job-{i:05}?{VERSION}", neighbour(i % collections)), body)
    };
    write(&served, calls, put).await?;
    let beside = scene.unrelated(WARM_UP + count, count, begin).await?;

    let mut lines = vec![
        Line::new("calls that hang", f64::from(calls), ""),
        Line::new("collections that they are of", f64::from(collections), ""),
        Line::new("targets that they go to", f64::from(targets), ""),
        Line::new("calls under way at a time, median", beside.under_way.at(0.5), ""),
        Line::new("calls under way at a time, most", beside.under_way.at(1.0), ""),
        Line::new("calls that wait at a time, most", beside.queued.at(1.0), ""),
        Line::new("unrelated occurrences", f64::from(count), ""),
    ];
    for (name, part) in [("alone", &without), ("beside them", &beside)] {
        for (quantile, at) in QUANTILES {
            lines.push(Line::new(format!("lateness {name} {quantile}"), part.lateness.at(at), "ms"));
        }
        let longest = part.stalls.iter().map(Stall::milliseconds).fold(0.0, f64::max);
        lines.push(Line::new(format!("longest stall of the machine, {name}"), longest, "ms"));
    }
    for (quantile, at) in QUANTILES {
        let ratio = beside.lateness.at(at) / without.lateness.at(at).max(1e-6);
        lines.push(Line::new(format!("lateness {quantile}, beside them of alone"), ratio, "×"));
    }
    lines.push(Line::new("peak memory of the server", usage::peak_memory(served.process()), "MB"));
    Ok(lines)
}

const QUANTILES: [(&str, f64); 3] = [("p50", 0.5), ("p99", 0.99), ("max", 1.0)];

fn collection(name: &str) -> String {
    format!("/subscriptions/bench/resourceGroups/bench/providers/Microsoft.Scheduler/jobCollections/{name}")
}

fn neighbour(i: u32) -> String {
    collection(&format!("neighbour-{i:04}"))
}

fn stranger(i: u32) -> String {
    collection(&format!("unrelated-{i:04}"))
}

fn job(due: Timestamp, uri: &str) -> Value {
    json!({"properties": {
        "startTime": wire::date_time::write(due),
        "action": {
            "type": if uri.starts_with("https") { "Https" } else { "Http" },
            "request": {"method": "GET", "uri": uri},
            "retryPolicy": {"retryType": "none"},
        },
    }})
}

/// Writes so many jobs; how many a second.
async fn write(
    served: &Served,
    count: u32,
    put: impl Fn(u32) -> Call + Send + Sync + 'static,
) -> anyhow::Result<f64> {
    // Connections of its own: the server closes those that say nothing for long.
    Ok(Crew::connect(served.address, WRITERS).await?.measure(count, Arc::new(put)).await?.rate)
}

/// A server, and the target of its unrelated jobs.
struct Scene<'a> {
    served: &'a Served,
    target: &'a Target,
}

/// What became of the unrelated jobs, and what was seen meanwhile.
struct Part {
    /// Jobs a second.
    written: f64,
    lateness: Spread,
    /// How many calls were under way, and how many waited, at each look.
    under_way: Spread,
    queued: Spread,
    stalls: Vec<Stall>,
}

impl Scene<'_> {
    /// Writes unrelated jobs, the first of them with this number, and waits until all were called.
    async fn unrelated(&self, first: u32, count: u32, begin: Timestamp) -> anyhow::Result<Part> {
        self.target.expect(count as usize);
        let uri = format!("http://{}/", self.target.address);
        let put = move |i: u32| {
            let due = begin + EVERY * i32::try_from(i).unwrap_or(i32::MAX);
            let number = first + i;
            let path = format!("{}/jobs/job-{number:05}?{VERSION}", stranger(number / IN_A_COLLECTION));
            Call::put(path, job(due, &uri))
        };
        let written = write(self.served, count, put).await?;
        if SystemClock.now() > begin {
            bail!("writing the jobs took until after they were due; this machine is too busy to measure");
        }
        let watch = Watch::start();
        let (mut under_way, mut queued) = (Vec::new(), Vec::new());
        let arrivals = tokio::select! {
            arrivals = self.target.all() => arrivals,
            failed = look(self.served.address, begin + FIRST_LOOK, &mut under_way, &mut queued) => bail!(failed),
        };
        Ok(Part {
            written,
            lateness: Spread::new(arrivals.iter().map(Arrival::lateness).collect()),
            under_way: Spread::new(under_way),
            queued: Spread::new(queued),
            stalls: watch.end().stalls,
        })
    }
}

/// Looks again and again at how many calls are under way and how many wait. It ends only when it fails.
async fn look(
    address: SocketAddr,
    from: Timestamp,
    under_way: &mut Vec<f64>,
    queued: &mut Vec<f64>,
) -> anyhow::Error {
    let wait = Duration::try_from(SystemClock.now().duration_until(from)).unwrap_or_default();
    tokio::time::sleep(wait).await;
    let mut connection = match Connection::open(address).await {
        Ok(connection) => connection,
        Err(error) => return error,
    };
    loop {
        let page = match connection.call(Call::get("/metrics")).await {
            Ok((page, _)) => page,
            Err(error) => return error,
        };
        under_way.extend(gauge(&page, "punctual_calls_under_way"));
        queued.extend(gauge(&page, "punctual_calls_queued"));
        tokio::time::sleep(LOOK).await;
    }
}

/// A number on a page of metrics.
fn gauge(page: &Bytes, name: &str) -> Option<f64> {
    let page = std::str::from_utf8(page).ok()?;
    page.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '))?.parse().ok()
}

/// The phase of a call in which it hangs.
#[derive(Debug, Clone, Copy)]
enum Phase {
    Connect,
    Tls,
    Headers,
    Body,
}

const HANGS: [Phase; 4] = [Phase::Headers, Phase::Body, Phase::Tls, Phase::Connect];

/// A target that never comes to an end. It ends with this.
struct Hanging {
    phase: Phase,
    address: SocketAddr,
    /// What it does, and the connections that keep others from being accepted.
    _tasks: JoinSet<()>,
    _queue: Vec<TcpStream>,
}

impl Hanging {
    async fn start(phase: Phase) -> anyhow::Result<Self> {
        let (mut tasks, mut queue) = (JoinSet::new(), Vec::new());
        let (address, listener) = match phase {
            Phase::Connect => {
                // Connections that are not accepted fill its queue. The next one gets no answer.
                let socket = TcpSocket::new_v4()?;
                socket.bind(([127, 0, 0, 1], 0).into())?;
                let listener = socket.listen(1)?;
                let address = listener.local_addr()?;
                while let Ok(connected) = timeout(FULL, TcpStream::connect(address)).await {
                    queue.push(connected?);
                }
                (address, Some(listener))
            }
            Phase::Tls | Phase::Headers | Phase::Body => {
                let listener = server::listen(([127, 0, 0, 1], 0).into())?;
                let address = listener.local_addr()?;
                tasks.spawn(accept(listener, matches!(phase, Phase::Body)));
                (address, None)
            }
        };
        // One that is not asked keeps its queue as long as it is there.
        if let Some(listener) = listener {
            tasks.spawn(async move {
                let _listener = listener;
                std::future::pending::<()>().await;
            });
        }
        Ok(Self { phase, address, _tasks: tasks, _queue: queue })
    }

    fn uri(&self) -> String {
        let scheme = if matches!(self.phase, Phase::Tls) { "https" } else { "http" };
        format!("{scheme}://{}/", self.address)
    }
}

/// When no connection is made within this, the queue is full.
const FULL: Duration = Duration::from_millis(200);

/// Accepts connections and answers nothing, or only the beginning.
async fn accept(listener: TcpListener, begins: bool) {
    let mut connections = JoinSet::new();
    while let Ok((mut stream, _)) = listener.accept().await {
        // Those that have ended.
        while connections.try_join_next().is_some() {}
        connections.spawn(async move {
            let mut buffer = [0; 4096];
            if begins && stream.read(&mut buffer).await.is_ok() {
                let head = b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n";
                let _ = stream.write_all(head).await;
            }
            while stream.read(&mut buffer).await.is_ok_and(|read| read > 0) {}
        });
    }
}
