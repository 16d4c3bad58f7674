//! The life of the process: start, serve, stop.

use std::io::Write as _;
use std::sync::Arc;
use std::time::Duration;

use access::{Note, Token};
use actions::{ActionSettings, Actions, EgressSettings};
use anyhow::{Context, anyhow, bail};
use engine::{ClockTrouble, ClockWatch, Engine, SystemClock, lasting};
use model::Clock;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use store::Store;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use crate::app::register::NewToken;
use crate::app::{App, Trials};
use crate::config::Config;
use crate::guard::Guard;
use crate::http::Hosts;
use crate::notices::Notifier;
use crate::signals::{self, Ending};
use crate::stores::{self, Opened};
use crate::supervisor::Supervisor;
use crate::traces::{self, Exporter, Traces};
use crate::transport::{Bounds, Transport, UNTAKEN, bind};
use crate::{VERSION, demo, http};

/// What to do besides serving.
#[derive(Debug, Clone, Copy, Default)]
pub struct Options {
    /// Fill an empty store with examples.
    pub demo: bool,
}

/// Serves until told to stop, then finishes what is under way.
pub async fn serve(mut config: Config, options: Options) -> anyhow::Result<()> {
    if !config.auth.enabled && !config.listen.ip().is_loopback() {
        bail!(
            "listen: {} is not a loopback address; without authentication the server is for this machine only \
             (127.0.0.1 or [::1]). `auth.enabled` asks callers for a token, and lifts this",
            config.listen
        );
    }
    let certificates = config.server.certificates()?;
    if certificates.is_some() && options.demo {
        bail!("--demo: its jobs call this server without TLS; leave --demo or `server.certificate-file` out");
    }
    let bounds = config.server.bounds(connections(&config))?;
    if config.api.calls_from_jobs && !config.auth.enabled {
        warn!(
            "api.calls-from-jobs without auth.enabled: the target of any job can redirect its call to the API and use it"
        );
    }
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    // Before anything is made: a setting that is wrong leaves nothing behind.
    let guard = Arc::new(config.guard()?);
    let runner = Arc::new(Actions::new(config.actions()?, clock.clone())?);
    config.node = stores::node_name(&config);
    signals::survive_file_size_limit()?;
    let no_listener = || format!("listen: cannot listen on {}", config.listen);
    let socket = bind(config.listen).with_context(no_listener)?;
    let watching = match config.metrics.listen.filter(|_| config.metrics.enabled) {
        Some(address) => {
            let no_listener = || format!("metrics.listen: cannot listen on {address}");
            Some((bind(address).with_context(no_listener)?, no_listener()))
        }
        None => None,
    };
    let Opened { store, clock, source } = stores::open(&config, clock).await?;
    let listener = socket.listen(UNTAKEN).with_context(no_listener)?;
    let address = listener.local_addr()?;
    let watching = watching.map(|(socket, what)| socket.listen(UNTAKEN).context(what)).transpose()?;
    // The port may have been left to the machine.
    config.listen = address;

    let mut app = App::configured(&config, store.clone(), clock.clone()).with_keys(source);
    app.guard = guard.clone();
    app.trials = Some(Arc::new(Trials::new(runner.clone())));
    let exporter = export_traces(&config, &mut app)?;
    if options.demo {
        demo::fill(&app, address).await?;
    }
    let live = app.live.clone();
    let watched = live.watched.clone();
    let clock_watch = watched.clock.clone();
    clock_watch.begin(store.clock_marks().await?, clock.now(), config.retention.believe_clock_after);
    let timekeeper = tokio::spawn(watch_clock(clock_watch.clone(), store.clone(), clock.clone()));
    let engine = Engine::start_watched(store.clone(), runner, clock, config.engine(), watched);

    let (keys, sealed) = (app.keys.clone(), store.clone());
    // It only brings forward what the next start would do: it ends wherever it stands.
    let resealer = tokio::spawn(async move { keys.reseal(&*sealed).await });

    let forgetter = tokio::spawn(forget_notes(
        store.clone(),
        app.clock.clone(),
        clock_watch.clone(),
        config.retention.audit,
    ));

    let (watch, told) = ((app.guard.clone(), app.clock.clone()), store.clone());
    let teller = tokio::spawn(async move { tell_denials(&watch.0, &*told, &*watch.1).await });

    let stop = CancellationToken::new();
    let notifier = Notifier::start(app.clone(), stop.clone());
    let watching =
        watching.map(|listener| serve_watching(listener, app.clone(), bounds, &stop)).transpose()?;
    let transport = Transport::new(http::router(app), bounds, certificates.as_ref())?;
    let server = tokio::spawn(transport.serve(listener, stop.clone()));
    let scheme = if certificates.is_some() { "https" } else { "http" };
    let renewer = certificates.map(|certificates| tokio::spawn(certificates.watch()));

    let census = store.census().await?;
    info!(version = VERSION, jobs = census.jobs, collections = census.collections, "started");
    // Before the line that says we are ready: its reader may stop us at once.
    let mut ending = Ending::listen()?;
    let mut out = std::io::stdout();
    // Whoever started us may have gone; we serve all the same.
    let _ = writeln!(out, "Punctual {VERSION} serves {scheme}://{address}").and_then(|()| out.flush());
    let supervisor = Supervisor::of(|name| std::env::var_os(name));
    supervisor.ready(&format!("serves {scheme}://{address}"));

    tokio::select! {
        () = ending.next() => {}
        never = supervisor.watch(|| live.watched.pulse.ailing().is_empty()) => match never {},
    }
    supervisor.stopping();
    info!("stopping: nothing new begins, what is under way may finish");
    // First of all /readyz says so, so that whoever spreads calls over nodes leaves this one out.
    live.stop();
    let all_ended = tokio::select! {
        ended = engine.stop() => ended,
        // How long that may take is bounded.
        never = supervisor.watch(|| true) => match never {},
        () = ending.next() => false,
    };
    teller.abort();
    note_all(&*store, guard.repeated_denials(None)).await;
    timekeeper.abort();
    keep_marks(&clock_watch, &*store).await;
    if let Err(error) = store.leave().await {
        warn!(%error, "could not say goodbye; others take over when the lease has run out");
    }
    if let Some(exporter) = exporter {
        exporter.stop().await;
    }
    stop.cancel();
    // Callers that keep a connection open do not keep us for long.
    server.await?;
    renewer.inspect(JoinHandle::abort);
    notifier.abort();
    watching.inspect(JoinHandle::abort);
    resealer.abort();
    forgetter.abort();
    if let Err(error) = store.close().await {
        warn!(%error, "the store was not closed as it should be; the next start looks through all of it");
    }
    info!(all_ended, "stopped");
    Ok(())
}

/// Serves those who watch at an address of their own.
fn serve_watching(
    listener: TcpListener,
    mut app: App,
    bounds: Bounds,
    stop: &CancellationToken,
) -> anyhow::Result<JoinHandle<()>> {
    let address = listener.local_addr()?;
    app.hosts = Hosts::of(address, &app.config.api.hosts);
    info!(%address, "metrics are served");
    let transport = Transport::new(http::watching_router(app), bounds, None)?;
    Ok(tokio::spawn(transport.serve(listener, stop.clone())))
}

/// Sends traces to the collector, if there is one.
fn export_traces(config: &Config, app: &mut App) -> anyhow::Result<Option<Exporter>> {
    let Some(sampling) = config.traces.sampling() else { return Ok(None) };
    // Whom jobs may call does not bind the operator.
    let settings = ActionSettings { egress: EgressSettings::default(), ..config.actions()? };
    let runner = Arc::new(Actions::new(settings, app.clock.clone())?);
    let (traces, spans) = Traces::new(sampling);
    app.traces = Some(traces.clone());
    let to = traces::Settings {
        endpoint: format!("{}/v1/traces", config.traces.endpoint),
        headers: config.traces.headers.clone(),
        node: config.node.clone(),
    };
    let under_way = &app.live.watched.under_way;
    Ok(Some(Exporter::start(to, traces, spans, under_way, runner, app.clock.clone())))
}

/// Files besides those of connections: the store, and some to spare.
const OTHER_FILES: u64 = 200;

/// How many connections there can be: each is a file, and so is each call of a job. As many files may be open as the
/// machine lets this process ask for.
fn connections(config: &Config) -> usize {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit { current: limit.maximum, maximum: limit.maximum };
    let files = match setrlimit(Resource::Nofile, raised) {
        Ok(()) => limit.maximum,
        Err(_) => limit.current,
    };
    let wanted = u64::from(config.server.connections.get());
    let Some(files) = files else { return usize::MAX };
    let room = files.saturating_sub(OTHER_FILES + config.engine.calls as u64).max(files / 4).max(1);
    if room < wanted {
        warn!(
            files,
            connections = room,
            wanted,
            "the machine allows too few open files for so many connections"
        );
    }
    usize::try_from(room).unwrap_or(usize::MAX)
}

/// Makes a token in the store itself, in the name of `local`: the first one, or one for whoever has lost all.
///
/// # Errors
///
/// When the store cannot be opened, as when a server uses it.
pub async fn make_token(config: &Config, new: NewToken) -> anyhow::Result<Token> {
    let Opened { store, clock, source } = stores::open(config, Arc::new(SystemClock)).await?;
    let app = App::configured(config, store.clone(), clock).with_keys(source);
    let made = app.create_token(new).await;
    store.leave().await?;
    store.close().await?;
    made.map(|(token, _)| token).map_err(|problem| anyhow!(problem.message))
}

/// Notes, minute by minute, what was denied more often than once, until it is stopped.
async fn tell_denials(guard: &Guard, store: &dyn Store, clock: &dyn Clock) {
    let mut minutes = tokio::time::interval(Duration::from_secs(60));
    loop {
        minutes.tick().await;
        note_all(store, guard.repeated_denials(Some(clock.now()))).await;
    }
}

async fn note_all(store: &dyn Store, notes: Vec<Note>) {
    for note in notes {
        let (who, act) = (note.who.clone(), note.act.name());
        if let Err(error) = store.note(note).await {
            tracing::error!(%error, who, act, "denials are not noted");
        }
    }
}

/// How often the clock is looked at, and after how many looks the store keeps what was seen.
const LOOK_EVERY: Duration = Duration::from_secs(1);
const KEEP_EVERY: u32 = 600;

/// Looks at the clock second by second, and logs what happens to it, until it is stopped.
async fn watch_clock(clock_watch: Arc<ClockWatch>, store: Arc<dyn Store>, clock: Arc<dyn Clock>) {
    let mut looks = tokio::time::interval(LOOK_EVERY);
    looks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let mut logged = None;
    for round in (0..KEEP_EVERY).cycle() {
        looks.tick().await;
        clock_watch.look(clock.now());
        let (step, trouble) = (clock_watch.take_step(), clock_watch.trouble());
        let kind = trouble.as_ref().map(ClockTrouble::code);
        let sentence = trouble.as_ref().map(ClockTrouble::sentence);
        if let Some(step) = step {
            let direction = if step.is_negative() { "back" } else { "forward" };
            let meaning = sentence.as_deref().unwrap_or("What was due in between is caught up or missed.");
            let by = lasting(step.unsigned_abs());
            warn!(step_seconds = step.as_secs(), "the clock was set {direction} by {by}: {meaning}");
        } else if let Some(sentence) = sentence.filter(|_| kind != logged) {
            warn!("{sentence}");
        } else if logged.is_some() && kind.is_none() {
            info!("the clock is right again, as far as this store knows");
        }
        logged = kind;
        if round == 0 || step.is_some() {
            keep_marks(&clock_watch, &*store).await;
        }
    }
}

/// Has the store keep what was seen of the time.
async fn keep_marks(clock_watch: &ClockWatch, store: &dyn Store) {
    if let Some(marks) = clock_watch.marks()
        && let Err(error) = store.mark_clock(marks).await
    {
        tracing::debug!(%error, "the store does not keep the time; the next try is in ten minutes");
    }
}

/// How often old notes of the audit are looked for.
const FORGET_EVERY: Duration = Duration::from_secs(3600);

/// Removes what the audit need not keep any more, a little at a time, until it is stopped.
async fn forget_notes(
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    clock_watch: Arc<ClockWatch>,
    keep: Duration,
) {
    let mut hours = tokio::time::interval(FORGET_EVERY);
    loop {
        hours.tick().await;
        loop {
            let now = clock.now();
            let before = clock_watch.retention_now(now).checked_sub(keep).unwrap_or(model::Timestamp::MIN);
            match store.prune_audit(before, now).await {
                Ok(true) => tokio::task::yield_now().await,
                Ok(false) => break,
                Err(error) => {
                    warn!(%error, "old notes of the audit are not removed; the next try is in an hour");
                    break;
                }
            }
        }
    }
}
