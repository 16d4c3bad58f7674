//! A store that each released version wrote is opened and read whole: what the API answers of it is what it answered when
//! it was written, and jobs go on. A release is a folder here: what it stored as SQL, for each of the stores, and the
//! answers. `scripts/write-released` makes the folder of a new version, and never touches one that is there.
//!
//! PostgreSQL's is left out where `PUNCTUAL_TEST_POSTGRES` names no server.

#[path = "../simulated_month/apart.rs"]
mod apart;
#[path = "../../../store/tests/postgres/mod.rs"]
mod postgres;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use actions::Order;
use actions::scripted::{Scripted, Step};
use apart::Apart;
use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::Request;
use engine::{Engine, SimulatedClock};
use model::{Clock, Timestamp};
use rusqlite::Connection;
use serde_json::{Map, Value, json};
use server::app::App;
use server::config::{Config, Flags, load};
use store::conformance::{Backend as _, keyring};
use store::{Durability, SqliteSettings, SqliteStore, Store};
use tokio::time::sleep;
use tower::ServiceExt as _;

/// When the stores were written, and when they are read: some minutes after it.
const WRITTEN: &str = "2027-01-31T12:00:00Z";
const READ: &str = "2027-01-31T12:05:45Z";

const COLLECTIONS: &str = "/subscriptions/s/resourceGroups/g/providers/Microsoft.Scheduler/jobCollections";
const VERSION: &str = "?api-version=2016-03-01";

struct Server {
    router: Router,
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    config: Config,
    app: App,
}

impl Server {
    fn new(store: Arc<dyn Store>, clock: Arc<dyn Clock>) -> Self {
        let config = load(&Flags::default(), std::iter::empty()).expect("a valid configuration");
        let app = App::configured(&config, store.clone(), clock.clone());
        Self { router: server::http::router(app.clone()), store, clock, config, app }
    }

    fn start(&self, runner: Scripted) -> Engine {
        let watched = self.app.live.watched.clone();
        let (store, clock) = (self.store.clone(), self.clock.clone());
        Engine::start_watched(store, Arc::new(runner), clock, self.config.engine(), watched)
    }

    async fn call(&self, method: &str, path: &str, body: Option<&Value>) -> (u16, Value) {
        let body = body.map_or_else(Body::empty, |body| Body::from(body.to_string()));
        let request = Request::builder().method(method).uri(path).header("content-type", "application/json");
        let request = request.body(body).expect("a request");
        let response = self.router.clone().oneshot(request).await.expect("infallible");
        let status = response.status().as_u16();
        let bytes = to_bytes(response.into_body(), usize::MAX).await.expect("a whole body");
        (status, serde_json::from_slice(&bytes).unwrap_or(Value::Null))
    }

    async fn done(&self, method: &str, path: &str, body: Value) {
        let (status, answer) = self.call(method, path, Some(&body).filter(|body| !body.is_null())).await;
        assert!(status < 300, "{method} {path}: {answer}");
    }

    /// All that the API says of what is stored.
    async fn answers(&self) -> Value {
        let mut answers = Map::new();
        let mut paths = vec![
            format!("/subscriptions{VERSION}"),
            format!("/subscriptions/s/resourcegroups{VERSION}"),
            format!("{COLLECTIONS}{VERSION}"),
            "/api/jobs".to_owned(),
            "/api/ledger?top=500".to_owned(),
            "/api/audit".to_owned(),
            "/api/audit/verify".to_owned(),
            "/api/tokens".to_owned(),
            "/api/notifications".to_owned(),
            "/api/keys".to_owned(),
            "/api/export?subscription=s".to_owned(),
            "/api/roles".to_owned(),
        ];
        for collection in ["team", "off"] {
            paths.push(format!("{COLLECTIONS}/{collection}/jobs{VERSION}"));
        }
        for (name, _) in jobs() {
            paths.push(format!("{COLLECTIONS}/team/jobs/{name}{VERSION}"));
            paths.push(format!("{COLLECTIONS}/team/jobs/{name}/history{VERSION}"));
            paths.push(format!("/api/upcoming?job={COLLECTIONS}/team/jobs/{name}"));
        }
        for path in paths {
            let (status, answer) = self.call("GET", &path, None).await;
            assert_eq!(status, 200, "GET {path}: {answer}");
            answers.insert(path, answer);
        }
        answers.into()
    }
}

/// A job of each kind.
fn jobs() -> Vec<(&'static str, Value)> {
    let job = |action: Value, more: Value| {
        let mut properties = json!({"startTime": "2027-01-31T12:00:30Z", "action": action});
        for (name, value) in more.as_object().expect("members") {
            properties[name] = value.clone();
        }
        json!({"properties": properties})
    };
    let http = |authentication: Value| {
        json!({"type": "Http", "request": {
            "uri": "http://example.org/a?b=c", "method": "POST", "body": "text",
            "headers": {"X-Own": "1"}, "authentication": authentication,
        }})
    };
    let plain = json!({"type": "Http", "request": {"uri": "http://example.org/", "method": "GET"}});
    let minutely = json!({"recurrence": {"frequency": "minute"}});
    let key = json!({"type": "SharedAccessKey", "sasKeyName": "key", "sasKey": "s3cret"});
    let queue = json!({"type": "StorageQueue", "queueMessage": {
        "storageAccount": "account", "queueName": "queue", "sasToken": "sig=s3cret", "message": "text",
    }});
    let bus = |kind: &str, message: &str, entity: &str| {
        json!({"type": kind, message: {
            entity: "entity", "namespace": "namespace", "transportType": "AMQP", "authentication": key,
            "message": "text", "brokeredMessageProperties": {"label": "a"}, "customMessageProperties": {"Own": "1"},
        }})
    };
    let mut retried = plain.clone();
    retried["retryPolicy"] = json!({"retryType": "Fixed", "retryInterval": "PT30S", "retryCount": 2});
    retried["errorAction"] = queue.clone();
    let schedule = json!({"recurrence": {
        "frequency": "month", "interval": 2, "count": 5, "endTime": "2028-01-01T00:00:00Z",
        "schedule": {"monthlyOccurrences": [{"day": "friday", "occurrence": -1}], "hours": [9], "minutes": [15]},
        "timeZone": "Europe/Berlin",
    }});
    vec![
        ("once", job(plain.clone(), json!({}))),
        (
            "minutely",
            job(http(json!({"type": "Basic", "username": "clerk", "password": "s3cret"})), minutely.clone()),
        ),
        (
            "oauth",
            job(
                http(
                    json!({"type": "ActiveDirectoryOAuth", "tenant": "t", "audience": "a", "clientId": "c", "secret": "s3cret"}),
                ),
                schedule,
            ),
        ),
        (
            "hmac",
            job(
                http(
                    json!({"type": "Hmac", "secrets": ["whsec_QUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFB", "whsec_QkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJC"]}),
                ),
                json!({
                    "recurrence": {"cron": "*/5 8-18 * * MON-FRI", "timeZone": "Europe/Paris"},
                    "catchUp": {"policy": "all", "max": 3}, "overlap": "queue",
                }),
            ),
        ),
        ("queue", job(queue, minutely.clone())),
        ("bus-queue", job(bus("ServiceBusQueue", "serviceBusQueueMessage", "queueName"), minutely.clone())),
        ("bus-topic", job(bus("ServiceBusTopic", "serviceBusTopicMessage", "topicPath"), minutely.clone())),
        ("retried", job(retried, minutely.clone())),
        ("off", job(plain, json!({"state": "Disabled", "recurrence": {"frequency": "hour"}}))),
    ]
}

/// Uses a store for some minutes.
async fn fill(server: &Server) {
    let group = json!({"location": "West Europe", "tags": {"env": "prod"}});
    server.done("PUT", &format!("/subscriptions/s/resourcegroups/g{VERSION}"), group).await;
    for (name, plan, state) in [("team", "P20Premium", "Enabled"), ("off", "Standard", "Disabled")] {
        let body = json!({"location": "Local", "tags": {"a": "b"}, "properties": {
            "sku": {"name": plan}, "state": state,
            "quota": {"maxJobCount": 20, "maxRecurrence": {"frequency": "minute", "interval": 1}},
        }});
        server.done("PUT", &format!("{COLLECTIONS}/{name}{VERSION}"), body).await;
    }
    for (name, body) in jobs() {
        server.done("PUT", &format!("{COLLECTIONS}/team/jobs/{name}{VERSION}"), body).await;
    }
    let body = jobs().remove(1).1;
    for name in ["held", "gone"] {
        server.done("PUT", &format!("{COLLECTIONS}/off/jobs/{name}{VERSION}"), body.clone()).await;
    }
    let rule = json!({"when": "faulted", "subscription": "s", "uri": "https://hooks.example.org/x"});
    server.done("PUT", "/api/notifications/ops", rule).await;
    let token = json!({"name": "robot", "role": "Operator", "scope": "/subscriptions/s"});
    server.done("POST", "/api/tokens", token).await;
    let role = json!({"principal": "user:someone@example.org", "role": "Reader", "scope": "/"});
    server.done("POST", "/api/roles/assign", role).await;
    let runner = Scripted::new(|order: &Order<'_>, _| match order.job {
        "retried" | "queue" => Step::failure("503"),
        _ => Step::success(),
    });
    let engine = server.start(runner);
    sleep(Duration::from_secs(150)).await;
    server.done("DELETE", &format!("{COLLECTIONS}/off/jobs/gone{VERSION}"), Value::Null).await;
    server.done("POST", &format!("{COLLECTIONS}/team/jobs/minutely/run{VERSION}"), Value::Null).await;
    sleep(Duration::from_secs(30)).await;
    assert!(engine.stop().await);
}

fn folder(version: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/released").join(version)
}

fn releases() -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder("")).expect("the folder");
    let paths = entries.map(|entry| entry.expect("an entry").path());
    paths.filter(|path| path.is_dir()).collect()
}

fn clock(at: &str) -> Arc<dyn Clock> {
    Arc::new(SimulatedClock::starting_at(at.parse().expect("a time")))
}

fn sqlite(file: &Path, now: Timestamp) -> Arc<dyn Store> {
    let settings = SqliteSettings { durability: Durability::ProcessDeath, ..SqliteSettings::new(keyring()) };
    Arc::new(SqliteStore::open(file, settings, now).expect("the store opens"))
}

/// A file as SQL.
fn dump(file: &Path) -> String {
    let db = Connection::open(file).expect("the file opens");
    let pragma =
        |name: &str| db.pragma_query_value(None, name, |row| row.get::<_, i64>(0)).expect("a number");
    let mut sql = format!(
        "PRAGMA application_id = {};\nPRAGMA user_version = {};\n",
        pragma("application_id"),
        pragma("user_version")
    );
    let list = |what: &str| -> Vec<(String, String)> {
        let mut statement = db
            .prepare(&format!(
                "SELECT name, sql FROM sqlite_schema WHERE {what} AND sql IS NOT NULL ORDER BY rowid"
            ))
            .expect("it is understood");
        let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).expect("rows");
        rows.map(|row| row.expect("a row")).collect()
    };
    for (table, made) in list("type = 'table'") {
        if table != "sqlite_sequence" {
            let _ = writeln!(sql, "{made};");
        }
        let columns: Vec<String> = {
            let mut statement =
                db.prepare(&format!("SELECT name FROM pragma_table_info('{table}')")).expect("it");
            let rows = statement.query_map([], |row| row.get(0)).expect("rows");
            rows.map(|row| row.expect("a name")).collect()
        };
        let quoted: Vec<String> = columns.iter().map(|name| format!("quote({name})")).collect();
        let mut statement =
            db.prepare(&format!("SELECT {} FROM {table}", quoted.join(" || ', ' || "))).expect("it");
        let rows = statement.query_map([], |row| row.get::<_, String>(0)).expect("rows");
        for row in rows {
            let _ = writeln!(
                sql,
                "INSERT INTO {table} ({}) VALUES ({});",
                columns.join(", "),
                row.expect("a row")
            );
        }
    }
    for (_, made) in list("type <> 'table'") {
        let _ = writeln!(sql, "{made};");
    }
    sql
}

/// Jobs that were stored go on where they were.
async fn goes_on(server: &Server) {
    let engine = server.start(Scripted::succeeding());
    sleep(Duration::from_secs(120)).await;
    assert!(engine.stop().await);
    for name in ["minutely", "bus-topic", "queue"] {
        let path = format!("{COLLECTIONS}/team/jobs/{name}/history{VERSION}");
        let (_, history) = server.call("GET", &path, None).await;
        let latest = &history["value"][0]["properties"];
        assert!(latest["startTime"].as_str().is_some_and(|at| at > READ), "{name}: {history}");
        assert_eq!(latest["message"], "scripted", "{name}: {history}");
    }
    assert_eq!(server.store.numbers().unreadable_jobs(), 0);
}

fn pretty(answers: &Value) -> String {
    serde_json::to_string_pretty(answers).expect("it has a form") + "\n"
}

fn expected(folder: &Path, store: &str) -> Value {
    let path = folder.join(format!("{store}.json"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_str(&text).expect("JSON")
}

#[track_caller]
fn compare(found: &Value, expected: &Value, what: &Path) {
    for (path, answer) in expected.as_object().expect("answers") {
        assert_eq!(&found[path], answer, "{}: GET {path}", what.display());
    }
}

#[tokio::test(start_paused = true)]
async fn what_sqlite_kept_is_read_by_this_version() {
    let mut read = 0;
    for release in releases() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("punctual.db");
        let sql = std::fs::read_to_string(release.join("sqlite.sql")).expect("its SQL");
        Connection::open(&file).expect("a file").execute_batch(&sql).expect("it is run");
        let server = Server::new(sqlite(&file, READ.parse().expect("a time")), clock(READ));
        compare(&server.answers().await, &expected(&release, "sqlite"), &release);
        goes_on(&server).await;
        read += 1;
    }
    assert!(read > 0, "there is a release");
}

#[tokio::test(start_paused = true)]
async fn what_postgresql_kept_is_read_by_this_version() {
    for release in releases() {
        let Some(database) = Apart::fresh().await else { return };
        let sql = std::fs::read_to_string(release.join("postgres.sql")).expect("its SQL");
        let schema = format!("{}.", database.postgres().schema());
        database.execute(&sql.replace("released.", &schema)).await;
        let clock = clock(READ);
        let server = Server::new(database.open(clock.now()).await, clock);
        compare(&server.answers().await, &expected(&release, "postgres"), &release);
        goes_on(&server).await;
    }
}

/// The version of today is a release too, as long as nothing of its stored form has changed.
#[tokio::test(start_paused = true)]
async fn this_version_has_a_folder() {
    let release = folder(env!("CARGO_PKG_VERSION"));
    if std::env::var_os("PUNCTUAL_WRITE_RELEASED").is_none() {
        assert!(
            release.is_dir(),
            "scripts/write-released makes the folder of version {}",
            env!("CARGO_PKG_VERSION")
        );
        return;
    }
    assert!(!release.exists(), "{} is there already, and is never written again", release.display());
    let temporary = tempfile::tempdir().expect("a folder");
    let file = temporary.path().join("punctual.db");
    let at = WRITTEN.parse().expect("a time");
    fill(&Server::new(sqlite(&file, at), clock(WRITTEN))).await;
    let sql = dump(&file);
    let read = Server::new(sqlite(&file, READ.parse().expect("a time")), clock(READ));
    let sqlite_answers = pretty(&read.answers().await);

    let database = Apart::fresh().await.expect("PUNCTUAL_TEST_POSTGRES names a server");
    let (schema, place) = (database.postgres().schema(), database.postgres().server());
    let written = clock(WRITTEN);
    fill(&Server::new(database.open(written.now()).await, written)).await;
    let dumped = Command::new(std::env::var_os("PUNCTUAL_PG_DUMP").unwrap_or("pg_dump".into()))
        .args(["--no-owner", "--no-privileges", "--inserts", "--schema", schema, "--dbname"])
        .arg(place)
        .output()
        .expect("pg_dump runs");
    assert!(dumped.status.success(), "{}", String::from_utf8_lossy(&dumped.stderr));
    let text = String::from_utf8(dumped.stdout).expect("text");
    let own = |line: &&str| {
        !["\\", "CREATE SCHEMA", "--"].iter().any(|begin| line.starts_with(begin)) && !line.is_empty()
    };
    let postgres: Vec<&str> = text.lines().filter(own).collect();
    let postgres = postgres.join("\n").replace(&format!("{schema}."), "released.");
    let later = clock(READ);
    let read = Server::new(database.open(later.now()).await, later);
    let postgres_answers = pretty(&read.answers().await);

    std::fs::create_dir(&release).expect("made");
    for (name, text) in [
        ("sqlite.sql", sql),
        ("sqlite.json", sqlite_answers),
        ("postgres.sql", postgres + "\n"),
        ("postgres.json", postgres_answers),
    ] {
        std::fs::write(release.join(name), text).expect("written");
    }
}
