//! What was counted, told to whoever asks at `/metrics`.
//!
//! The engine and the store count while they work, `requests` counts what the API is asked; here it gets names and is
//! written as Prometheus reads it (`text`). Nothing is added up or put into words before somebody asks. What only the
//! store knows (`survey`) is asked for at most every few seconds, however often this is.
//!
//! The names are a contract: docs/observing.md lists them, and a test holds the list against what is told.

mod process;
mod requests;
mod survey;
mod text;

use std::collections::HashMap;
use std::time::Duration;

use engine::{ClockTrouble, CollectionNumbers};
use model::{CollectionPath, Fate};

use crate::app::App;
use crate::{VERSION, logging};
pub(crate) use requests::Asked;
pub use requests::Requests;
pub use survey::Survey;
pub(crate) use text::Form;
use text::{Kind, Labels, Page};

/// What stands for the collections that have no numbers of their own.
const OTHERS: Labels<'static> = &[("subscription", ""), ("resource_group", ""), ("collection", "other")];

/// All of it.
pub(crate) async fn page(app: &App, form: Form) -> String {
    let mut page = Page::new(form);
    engine(&mut page, app);
    collections(&mut page, app);
    store(&mut page, app);
    survey(&mut page, app).await;
    app.requests.tell(&mut page);
    traces(&mut page, app);
    page.counter(
        "punctual_log_lines_dropped_total",
        "Lines of the log that had no room, because nobody took those before.",
        &[],
        logging::dropped(),
    );
    process::tell(&mut page, app.started_at);
    page.gauge("punctual_build_info", "The version that runs; always 1.", &[("version", VERSION)], 1.0);
    page.end()
}

fn engine(page: &mut Page, app: &App) {
    let numbers = &*app.live.watched.numbers;
    page.gauge(
        "punctual_calls_under_way",
        "Calls that have begun and not ended.",
        &[],
        app.live.watched.under_way.count() as f64,
    );
    page.gauge(
        "punctual_claims_waiting",
        "Claimed executions that wait for their instant.",
        &[],
        numbers.waiting.get() as f64,
    );
    page.gauge(
        "punctual_calls_queued",
        "Executions that are due and wait, because the bounds of calls are reached.",
        &[],
        numbers.in_lanes().map(|(_, count)| count).sum::<i64>() as f64,
    );
    let waiting = "punctual_calls_waiting";
    page.family(waiting, Kind::Gauge, "Executions that are due and wait, by what they wait for.");
    for (wait, count) in numbers.in_lanes() {
        page.sample(waiting, &[("for", wait.name())], count as f64);
    }
    queues(page, app);
    page.gauge(
        "punctual_claim_lag_seconds",
        "How long the first execution that nobody has claimed has been due.",
        &[],
        numbers.claim_lag(app.clock.now()).as_secs_f64(),
    );
    let clock = &app.live.watched.clock;
    page.counter(
        "punctual_clock_steps_total",
        "How often the clock was set while it was watched.",
        &[],
        clock.steps.get(),
    );
    let (behind, ahead) = match clock.trouble() {
        Some(ClockTrouble::Behind { by }) => (by, Duration::ZERO),
        Some(ClockTrouble::Ahead { by, .. }) => (Duration::ZERO, by),
        None => (Duration::ZERO, Duration::ZERO),
    };
    page.gauge(
        "punctual_clock_behind_seconds",
        "How far the clock is behind the latest time at which the store was served.",
        &[],
        behind.as_secs_f64(),
    );
    page.gauge(
        "punctual_clock_ahead_seconds",
        "How far the clock is ahead of the time that retention still goes by, where that is more than a week.",
        &[],
        ahead.as_secs_f64(),
    );
    let calls = "punctual_call_duration_seconds";
    page.family(calls, Kind::Histogram, "How long calls took, by kind of action and outcome.");
    for (kind, outcome, durations) in numbers.calls() {
        page.histogram(calls, &[("kind", kind), ("outcome", outcome)], durations);
    }
    for (name, help, count) in [
        ("punctual_retries_total", "Attempts after the first of an action.", &numbers.retries),
        ("punctual_error_actions_total", "Error actions that began.", &numbers.error_actions),
        ("punctual_claims_revoked_total", "Claims that were taken back before their call.", &numbers.revoked),
        ("punctual_claims_failed_total", "Claims that the store did not answer.", &numbers.failed_claims),
        (
            "punctual_settlements_failed_total",
            "Settlements that the store did not take, and that were tried again.",
            &numbers.failed_settlements,
        ),
    ] {
        page.counter(name, help, &[], count.get());
    }
    for (name, help, histogram) in [
        ("punctual_claim_duration_seconds", "How long claims took.", &numbers.claims),
        ("punctual_claim_size", "Executions of each claim that brought any.", &numbers.claimed),
        (
            "punctual_settlement_duration_seconds",
            "How long settlements took until they were written.",
            &numbers.settlements,
        ),
        ("punctual_settlement_size", "Attempts of each settlement.", &numbers.settled),
    ] {
        page.family(name, Kind::Histogram, help);
        page.histogram(name, &[], histogram);
    }
}

/// Who holds the places, without names: there may be any number of them.
fn queues(page: &mut Page, app: &App) {
    let queues = app.live.watched.queues.look();
    let first = queues.iter().filter_map(|queue| queue.first).map(|(due, _)| due).min();
    let waited = first.map(|due| app.clock.now().duration_since(due).as_secs_f64().max(0.0));
    page.gauge(
        "punctual_calls_waiting_seconds",
        "How long the execution that waits longest has been due.",
        &[],
        waited.unwrap_or_default(),
    );
    let mut held: [HashMap<_, usize>; 3] = Default::default();
    for queue in &queues {
        let path = &queue.collection;
        let collection = (&*path.subscription, &*path.group, &*path.name);
        for (held, key) in
            held.iter_mut().zip([(collection.0, "", ""), collection, (queue.target.as_str(), "", "")])
        {
            *held.entry(key).or_default() += queue.running;
        }
    }
    let most = "punctual_calls_held_most";
    let help =
        "Calls under way of the subscription, of the collection and to the target that has the most of them.";
    page.family(most, Kind::Gauge, help);
    for (by, held) in ["subscription", "collection", "target"].into_iter().zip(&held) {
        page.sample(most, &[("by", by)], held.values().max().copied().unwrap_or_default() as f64);
    }
    page.gauge(
        "punctual_calls_limit",
        "How many calls may be under way.",
        &[],
        app.config.engine.calls as f64,
    );
}

fn collections(page: &mut Page, app: &App) {
    let numbers = &*app.live.watched.numbers;
    let own = numbers.collections();
    let each = |tell: &mut dyn FnMut(Labels<'_>, &CollectionNumbers)| {
        for (CollectionPath { subscription, group, name }, numbers) in &own {
            let labels =
                [("subscription", &**subscription), ("resource_group", &**group), ("collection", &**name)];
            tell(&labels, numbers);
        }
        tell(OTHERS, numbers.others());
    };

    let lateness = "punctual_lateness_seconds";
    page.family(
        lateness,
        Kind::Histogram,
        "From when an occurrence was due until its first call began, by job collection.",
    );
    each(&mut |labels, numbers| page.histogram(lateness, labels, &numbers.lateness));
    let calls = "punctual_calls_total";
    page.family(calls, Kind::Counter, "Calls that ended, by job collection and outcome.");
    each(&mut |labels, numbers| {
        for (outcome, count) in engine::OUTCOMES.into_iter().zip([&numbers.succeeded, &numbers.failed]) {
            page.sample(calls, &[labels, &[("outcome", outcome)]].concat(), count.get() as f64);
        }
    });
    let settled = "punctual_settled_total";
    page.family(
        settled,
        Kind::Counter,
        "Occurrences that were called and are done with, by job collection and fate.",
    );
    each(&mut |labels, numbers| {
        // The other fates are those of occurrences that were not called.
        let called = [Fate::Ran, Fate::RanLate, Fate::Faulted];
        for (fate, count) in numbers.fates().filter(|(fate, _)| called.contains(fate)) {
            page.sample(settled, &[labels, &[("fate", fate.name())]].concat(), count as f64);
        }
    });
}

fn store(page: &mut Page, app: &App) {
    let numbers = app.store.numbers();
    let fates = "punctual_occurrences_total";
    page.family(fates, Kind::Counter, "Occurrences by what became of them: every entry of the ledger.");
    for fate in Fate::ALL {
        page.sample(fates, &[("fate", fate.name())], numbers.of(fate) as f64);
    }
    for (name, help, histogram) in [
        (
            "punctual_store_commit_duration_seconds",
            "How long changes of the store took until they were durable.",
            &numbers.commits,
        ),
        ("punctual_store_read_duration_seconds", "How long questions to the store took.", &numbers.reads),
    ] {
        page.family(name, Kind::Histogram, help);
        page.histogram(name, &[], histogram);
    }
    page.counter(
        "punctual_store_failures_total",
        "Changes and questions that the store failed to answer.",
        &[],
        numbers.failed.get(),
    );
    page.counter(
        "punctual_leases_lost_total",
        "How often this node lost its lease.",
        &[],
        numbers.lost_leases.get(),
    );
}

async fn survey(page: &mut Page, app: &App) {
    let found = app.survey.take(&*app.store).await;
    let is_up = if found.is_some() { 1.0 } else { 0.0 };
    page.gauge("punctual_store_up", "Whether the store answers.", &[], is_up);
    // What nobody knows is not told: a 0 would look like a store that is empty.
    let Some(found) = found else { return };
    let census = found.census;
    for (name, help, value) in [
        ("punctual_job_collections", "Job collections that are stored.", census.collections),
        ("punctual_jobs", "Jobs that are stored.", census.jobs),
        (
            "punctual_executions",
            "Executions that are stored: claimed, under way, or waiting for a retry.",
            census.executions,
        ),
    ] {
        page.gauge(name, help, &[], value as f64);
    }
    let nodes = "punctual_nodes";
    page.family(nodes, Kind::Gauge, "Nodes that share the store, by whether their lease holds.");
    for (state, count) in [("alive", found.alive), ("lost", found.lost)] {
        page.sample(nodes, &[("state", state)], count as f64);
    }
    page.gauge(
        "punctual_clock_offset_seconds",
        "How far the clock that jobs are kept by is ahead of this machine's.",
        &[],
        found.clock_offset.as_secs_f64(),
    );
}

fn traces(page: &mut Page, app: &App) {
    let numbers = app.traces.as_ref().map(|traces| &*traces.numbers);
    page.counter(
        "punctual_trace_spans_exported_total",
        "Spans that the collector of traces has taken.",
        &[],
        numbers.map_or(0, |numbers| numbers.exported.get()),
    );
    page.counter(
        "punctual_trace_spans_dropped_total",
        "Spans that were dropped: there was no room, or the collector did not take them.",
        &[],
        numbers.map_or(0, |numbers| numbers.dropped.get()),
    );
}
