//! A month of mixed jobs in seconds: the real use-cases, the real engine and a real store on simulated time, with
//! scripted targets. Afterwards the ledger must say exactly what an independent computation says. The month is the same
//! for every store; PostgreSQL's is left out where `PUNCTUAL_TEST_POSTGRES` names no server.
//!
//! The computation knows the calendar (`recurrence` has a reference of its own) and what was done to the jobs. It knows
//! nothing of claims, retries in the store, or transactions.

mod apart;
#[path = "../../../store/tests/postgres/mod.rs"]
mod postgres;

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use actions::scripted::{Scripted, Step};
use apart::Apart;
use async_trait::async_trait;
use engine::{Engine, Settings, SimulatedClock};
use model::{Clock, CollectionPath, Fate, Reason, Timestamp, Uuid};
use recurrence::Rule;
use serde_json::{Value, json};
use server::app::{App, Mode, Preconditions};
use store::conformance::Backend;
use store::{Durability, Keyring, LedgerQuery, SqliteSettings, SqliteStore, Store, StoredLedger};
use tempfile::TempDir;
use tokio::time::sleep;

fn at(text: &str) -> Timestamp {
    text.parse().unwrap_or_else(|_| panic!("{text} is no time"))
}

const BEGIN: &str = "2027-01-01T00:00:00Z";
const OUTAGE: (&str, &str) = ("2027-01-10T03:00:30Z", "2027-01-10T15:30:30Z");
const JOB_OFF: (&str, &str) = ("2027-01-13T06:10:00Z", "2027-01-14T18:20:00Z");
const COLLECTION_OFF: (&str, &str) = ("2027-01-16T00:00:30Z", "2027-01-17T12:00:30Z");
const EDIT: &str = "2027-01-20T12:00:30Z";
const DELETION: &str = "2027-01-25T00:00:30Z";
const END: &str = "2027-01-31T23:59:30Z";

/// The job that is switched off and on, the one that is edited, the one that is deleted.
const PAUSED: &str = "paused";
const EDITED: &str = "edited";
const DELETED: &str = "deleted";

/// Those that are switched off like the paused one; their pause ends in other ways than by the switch.
const PAUSED_THEN_REPLACED: &str = "paused-replaced";
const PAUSED_THEN_EDITED: &str = "paused-edited";
const PAUSED_THEN_DELETED: &str = "paused-deleted";
const ALL_PAUSED: [&str; 4] = [PAUSED, PAUSED_THEN_REPLACED, PAUSED_THEN_EDITED, PAUSED_THEN_DELETED];

fn path(name: &str) -> CollectionPath {
    CollectionPath { subscription: "s".into(), group: "g".into(), name: name.into() }
}

/// Name, collection, recurrence, catchUp. `off` is the collection that is switched off and on.
fn jobs() -> Vec<(&'static str, &'static str, Value, Value)> {
    let last = json!("last");
    let times = |hours: &[u8], minutes: &[u8]| json!({"hours": hours, "minutes": minutes});
    vec![
        ("minutes", "on", json!({"frequency": "minute", "interval": 17}), last.clone()),
        (
            "minutes-limited",
            "on",
            json!({"frequency": "minute", "interval": 10, "schedule": {"hours": [9, 10]}}),
            last.clone(),
        ),
        ("hours", "on", json!({"frequency": "hour", "interval": 5}), json!("none")),
        (
            "hours-expanded",
            "on",
            json!({"frequency": "hour", "interval": 3, "schedule": {"minutes": [15, 45]}}),
            json!({"policy": "all", "max": 4}),
        ),
        (
            "days",
            "on",
            json!({"frequency": "day", "schedule": times(&[5, 17], &[15, 45])}),
            json!({"policy": "all", "max": 1000}),
        ),
        (
            "weeks",
            "on",
            json!({"frequency": "week", "schedule": {"weekDays": ["monday", "sunday"], "hours": [10], "minutes": [0]}}),
            last.clone(),
        ),
        (
            "months",
            "on",
            json!({"frequency": "month", "schedule": {"monthDays": [10, -1], "hours": [6], "minutes": [0]}}),
            last.clone(),
        ),
        (
            "fridays",
            "on",
            json!({"frequency": "month", "schedule": {"monthlyOccurrences": [{"day": "friday", "occurrence": 2}], "hours": [5], "minutes": [15]}}),
            last.clone(),
        ),
        (
            "years",
            "on",
            json!({"frequency": "year", "schedule": {"months": [1], "monthDays": [12], "hours": [3], "minutes": [0]}}),
            last.clone(),
        ),
        (
            "cron",
            "on",
            json!({"cron": "*/20 8-18 * * MON-FRI", "timeZone": "America/New_York"}),
            last.clone(),
        ),
        ("counted", "on", json!({"frequency": "hour", "interval": 7, "count": 30}), last.clone()),
        ("ended", "on", json!({"frequency": "hour", "endTime": "2027-01-09T05:00:00Z"}), last.clone()),
        ("off-hourly", "off", json!({"frequency": "hour"}), last.clone()),
        ("off-cron", "off", json!({"cron": "30 */4 * * *"}), json!("none")),
        (PAUSED, "on", json!({"frequency": "hour", "interval": 2}), last.clone()),
        (PAUSED_THEN_REPLACED, "on", json!({"frequency": "hour", "interval": 3}), last.clone()),
        (PAUSED_THEN_EDITED, "on", json!({"cron": "10,50 */2 * * *"}), last.clone()),
        (
            PAUSED_THEN_DELETED,
            "on",
            json!({"frequency": "day", "schedule": times(&[0, 8, 16], &[5])}),
            last.clone(),
        ),
        (EDITED, "on", json!({"frequency": "hour", "interval": 4}), last.clone()),
        (DELETED, "on", json!({"frequency": "hour", "interval": 6}), last),
    ]
}

fn body(recurrence: &Value, catch_up: &Value) -> Value {
    json!({"properties": {
        "startTime": "2027-01-01T00:00:05Z",
        "recurrence": recurrence,
        "catchUp": catch_up,
        "action": {
            "type": "Http",
            "request": {"uri": "http://target.invalid/", "method": "POST"},
            "retryPolicy": {"retryType": "fixed", "retryInterval": "PT20S", "retryCount": 2},
            "errorAction": {"type": "Http", "request": {"uri": "http://errors.invalid/", "method": "POST"}},
        },
    }})
}

/// How often the target fails for an occurrence before it succeeds: mostly never, sometimes more often than it is tried.
fn failures(job: &str, due: Timestamp) -> usize {
    let mixed = job
        .bytes()
        .fold(due.as_second() as u64, |mixed, byte| mixed.wrapping_mul(31).wrapping_add(byte.into()));
    match mixed.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 60 {
        0 => 1,
        1 => 2,
        2 => 9,
        _ => 0,
    }
}

fn targets() -> Scripted {
    let tries: Mutex<HashMap<Uuid, usize>> = Mutex::default();
    Scripted::new(move |order, _| {
        let mut tries = tries.lock().expect("not poisoned");
        let before = tries.entry(order.tag).or_default();
        *before += 1;
        let slow = Duration::from_millis(300);
        if *before <= failures(order.job, order.expected_at) {
            Step::failure("not now").after(slow)
        } else {
            Step::success().after(slow)
        }
    })
}

/// A file that goes with the test.
struct Sqlite(TempDir);

#[async_trait]
impl Backend for Sqlite {
    async fn open_with(&self, keyring: Keyring, now: Timestamp) -> store::Result<Arc<dyn Store>> {
        let settings =
            SqliteSettings { durability: Durability::ProcessDeath, ..SqliteSettings::new(keyring) };
        Ok(Arc::new(SqliteStore::open(self.0.path().join("punctual.db"), settings, now)?))
    }
}

struct World {
    app: App,
    engine: Engine,
}

impl World {
    async fn start(backend: &dyn Backend, clock: &Arc<dyn Clock>) -> Self {
        let store = backend.open(clock.now()).await;
        let settings = Settings { longest_nap: Duration::from_secs(3600), ..Settings::default() };
        let engine = Engine::start(store.clone(), Arc::new(targets()), clock.clone(), settings);
        Self { app: App::new(store, clock.clone()), engine }
    }

    async fn until(&self, moment: &str) {
        let away = self.app.clock.now().duration_until(at(moment));
        sleep(Duration::try_from(away).expect("not past")).await;
    }

    async fn patch(&self, job: &str, change: Value) {
        let change = json!({"properties": change});
        self.app
            .patch_job(&path("on"), job, &change, &Preconditions::default(), Mode::Write)
            .await
            .expect("patched");
    }
}

#[tokio::test(start_paused = true)]
async fn the_ledger_of_sqlite_says_what_should_have_happened() {
    a_month(&Sqlite(tempfile::tempdir().expect("a folder"))).await;
}

#[tokio::test(start_paused = true)]
async fn the_ledger_of_postgres_says_what_should_have_happened() {
    if let Some(backend) = Apart::fresh().await {
        a_month(&backend).await;
    }
}

async fn a_month(backend: &dyn Backend) {
    let clock: Arc<dyn Clock> = Arc::new(SimulatedClock::starting_at(at(BEGIN)));
    let world = World::start(backend, &clock).await;
    for collection in ["on", "off"] {
        let body = json!({"location": "Local"});
        world.app.put_collection(&path(collection), &body, &Preconditions::default()).await.expect("made");
    }
    let mut written: HashMap<&str, Timestamp> = HashMap::new();
    for (name, collection, recurrence, catch_up) in jobs() {
        written.insert(name, clock.now());
        let body = body(&recurrence, &catch_up);
        world.app.put_job(&path(collection), name, &body, &Preconditions::default()).await.expect(name);
    }

    world.until(OUTAGE.0).await;
    let World { app, engine } = world;
    assert!(engine.stop().await, "nothing takes long here");
    drop(app);
    let away = clock.now().duration_until(at(OUTAGE.1));
    sleep(Duration::try_from(away).expect("not past")).await;

    let world = World::start(backend, &clock).await;
    world.until(JOB_OFF.0).await;
    for job in ALL_PAUSED {
        world.patch(job, json!({"state": "Disabled"})).await;
    }
    world.until(JOB_OFF.1).await;
    let any = Preconditions::default();
    world.patch(PAUSED, json!({"state": "Enabled"})).await;
    world.patch(PAUSED_THEN_EDITED, json!({"state": "Enabled", "recurrence": edited()})).await;
    let replacement = body(&edited(), &json!("last"));
    world.app.put_job(&path("on"), PAUSED_THEN_REPLACED, &replacement, &any).await.expect("replaced");
    world.app.delete_job(&path("on"), PAUSED_THEN_DELETED, &any).await.expect("deleted");
    world.until(COLLECTION_OFF.0).await;
    world.app.switch_collection(&path("off"), false, &Preconditions::default()).await.expect("switched");
    world.until(COLLECTION_OFF.1).await;
    world.app.switch_collection(&path("off"), true, &Preconditions::default()).await.expect("switched");
    world.until(EDIT).await;
    world.patch(EDITED, json!({"recurrence": edited()})).await;
    world.until(DELETION).await;
    world.app.delete_job(&path("on"), DELETED, &Preconditions::default()).await.expect("deleted");
    world.until(END).await;

    let ledger = whole_ledger(&*world.app.store).await;
    for (name, collection, recurrence, catch_up) in jobs() {
        let expected = expected(name, &recurrence, &catch_up, written[name]);
        let found = expanded(name, &ledger, &recurrence, written[name]);
        assert_eq!(found, expected, "{name}");
        if name == PAUSED_THEN_REPLACED {
            // It counts anew.
            let since = expected.into_iter().filter(|(due, _)| *due > at(JOB_OFF.1)).collect();
            check_counters(&world.app, &path(collection), name, &since).await;
        } else if ![DELETED, PAUSED_THEN_DELETED].contains(&name) {
            check_counters(&world.app, &path(collection), name, &expected).await;
        }
    }
    for stored in ledger.iter().filter(|stored| stored.entry.fate == Fate::Skipped) {
        let paused = ALL_PAUSED.contains(&stored.job.as_str());
        let reason = if paused { Reason::JobDisabled } else { Reason::CollectionDisabled };
        assert_eq!(stored.entry.reason, Some(reason), "{stored:?}");
    }
    for (name, state) in [("counted", "completed"), ("ended", "completed"), ("minutes", "enabled")] {
        let stored = world.app.job(&path("on"), name).await.expect(name);
        let last_faulted = stored.job.last_faulted;
        let state = if last_faulted && state == "completed" { "faulted" } else { state };
        assert_eq!(stored.job.state.name(), state, "{name}");
    }
    assert!(world.engine.stop().await);
}

type Fates = BTreeMap<Timestamp, Fate>;

/// What some jobs are edited to, and when.
fn edited() -> Value {
    json!({"frequency": "day", "interval": 1})
}

fn edited_at(name: &str) -> Option<Timestamp> {
    match name {
        EDITED => Some(at(EDIT)),
        PAUSED_THEN_REPLACED | PAUSED_THEN_EDITED => Some(at(JOB_OFF.1)),
        _ => None,
    }
}

/// What should have become of each occurrence, from the calendar and from what was done.
fn expected(name: &str, recurrence: &Value, catch_up: &Value, written: Timestamp) -> Fates {
    let mut fates = Fates::new();
    let rule = rule_of(recurrence, written);
    let tried = |due| if failures(name, due) > 2 { Fate::Faulted } else { Fate::Ran };
    let within = |due: Timestamp, span: (&str, &str)| at(span.0) < due && due < at(span.1);
    let end = match name {
        DELETED => at(DELETION),
        PAUSED_THEN_DELETED => at(JOB_OFF.1),
        _ => edited_at(name).unwrap_or(at(END)),
    };
    let occurrences: Vec<Timestamp> = occurrences(&rule, end);
    let in_outage: Vec<Timestamp> = occurrences.iter().copied().filter(|due| within(*due, OUTAGE)).collect();
    let made_up = match catch_up {
        Value::String(policy) if policy == "none" => 0,
        Value::String(_) => 1,
        Value::Object(policy) => policy["max"].as_u64().expect("a number") as usize,
        other => panic!("{other}"),
    };
    let first_made_up = in_outage.len().saturating_sub(made_up);
    for due in occurrences {
        let fate = if let Some(i) = in_outage.iter().position(|missed| *missed == due) {
            match (i >= first_made_up, tried(due)) {
                (false, _) => Fate::Missed,
                (true, Fate::Ran) => Fate::RanLate,
                (true, fate) => fate,
            }
        } else if (ALL_PAUSED.contains(&name) && within(due, JOB_OFF))
            || (name.starts_with("off-") && within(due, COLLECTION_OFF))
        {
            Fate::Skipped
        } else {
            tried(due)
        };
        fates.insert(due, fate);
    }
    if let Some(begin) = edited_at(name) {
        let daily = rule_of(&edited(), begin);
        fates.extend(occurrences_from(&daily, begin, at(END)).into_iter().map(|due| (due, tried(due))));
    }
    fates
}

/// Occurrences that are settled by an instant. (The targets answer within a minute and a half, all retries included.)
fn occurrences(rule: &Rule, end: Timestamp) -> Vec<Timestamp> {
    occurrences_from(rule, Timestamp::MIN, end)
}

fn occurrences_from(rule: &Rule, begin: Timestamp, end: Timestamp) -> Vec<Timestamp> {
    rule.occurrences()
        .map(|occurrence| occurrence.at)
        .skip_while(|due| *due < begin)
        .take_while(|due| *due < end)
        .collect()
}

fn rule_of(recurrence: &Value, accepted_at: Timestamp) -> Rule {
    let job = json!({"startTime": "2027-01-01T00:00:05Z", "recurrence": recurrence});
    wire::recurrence::read(&job, wire::recurrence::Shape::Properties).rule(accepted_at).expect("valid")
}

async fn whole_ledger(store: &dyn Store) -> Vec<StoredLedger> {
    let mut all = Vec::new();
    let mut query = LedgerQuery::default();
    loop {
        let page = store.ledger(&query, 500).await.expect("read");
        let Some(last) = page.last() else { return all };
        query.before = Some((last.entry.due_at, last.serial));
        all.extend(page);
    }
}

/// The fate of each occurrence by the ledger; entries that stand for several are laid out again.
fn expanded(name: &str, ledger: &[StoredLedger], recurrence: &Value, written: Timestamp) -> Fates {
    let mut fates = Fates::new();
    let rule = rule_of(recurrence, written);
    for stored in ledger.iter().filter(|stored| stored.job == name) {
        let entry = &stored.entry;
        let dues: Vec<Timestamp> = if entry.occurrences == 1 {
            vec![entry.due_at]
        } else {
            rule.occurrences()
                .map(|occurrence| occurrence.at)
                .skip_while(|due| *due < entry.due_at)
                .take_while(|due| *due <= entry.due_until)
                .collect()
        };
        assert_eq!(dues.len() as u64, entry.occurrences, "{name}: {entry:?}");
        for due in dues {
            let twice = fates.insert(due, entry.fate);
            assert_eq!(twice, None, "{name}: two entries for {due}");
        }
    }
    fates
}

async fn check_counters(app: &App, path: &CollectionPath, name: &str, expected: &Fates) {
    let job = app.job(path, name).await.expect(name).job;
    let carried_out: Vec<Timestamp> = expected
        .iter()
        .filter(|(_, fate)| !matches!(fate, Fate::Missed | Fate::Skipped))
        .map(|(due, _)| *due)
        .collect();
    let failed: usize = carried_out.iter().map(|due| failures(name, *due).min(3)).sum();
    let faulted = expected.values().filter(|fate| **fate == Fate::Faulted).count();
    let counters = (job.counters.executions, job.counters.failures, job.counters.faulted);
    assert_eq!(counters, (carried_out.len() as u64, failed as u64, faulted as u64), "{name}");
}
