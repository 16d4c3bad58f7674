//! `punctual doctor` and a database: each fault is found, and told with what helps.
//!
//! The server is named by `PUNCTUAL_TEST_POSTGRES`; `scripts/with-postgres` starts one for a command. Without it, the
//! tests that need one say that they were left out.

#[allow(dead_code, reason = "each test file uses its part")]
mod running;

use std::process::Command;

use running::Server;
use serde_json::Value;
use tokio_postgres::NoTls;

const VARIABLE: &str = "PUNCTUAL_SECRETS_KEY";

/// A key as `punctual keys generate` prints it.
fn new_key() -> String {
    let output =
        Command::new(env!("CARGO_BIN_EXE_punctual")).args(["keys", "generate"]).output().expect("run");
    String::from_utf8(output.stdout).expect("text").trim().to_owned()
}

/// What the doctor found, by its checks.
struct Diagnosis {
    status: Option<i32>,
    findings: Vec<Value>,
}

impl Diagnosis {
    fn of(database: &str, key: Option<&str>) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_punctual"));
        command.args(["doctor", "--json", "--listen", "127.0.0.1:0"]);
        command.env("PUNCTUAL_DATABASE", database).env("PUNCTUAL_SERVER", "http://127.0.0.1:1");
        if let Some(key) = key {
            command.env(VARIABLE, key);
        }
        let output = command.output().expect("run");
        let told: Value = serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stderr)));
        let findings = told["findings"].as_array().expect("a list").clone();
        Self { status: output.status.code(), findings }
    }

    fn finding(&self, check: &str) -> &Value {
        let found = self.findings.iter().find(|finding| finding["check"] == check);
        found.unwrap_or_else(|| panic!("{check} is not among {:?}", self.findings))
    }

    /// Checks a verdict and parts of what is said, the remedy included.
    #[track_caller]
    fn says(&self, check: &str, verdict: &str, parts: &[&str]) {
        let finding = self.finding(check);
        assert_eq!(finding["verdict"], verdict, "{finding}");
        let text = finding.to_string();
        for part in parts {
            assert!(text.contains(part), "{text} lacks {part}");
        }
        assert_eq!(finding["fix"].is_null(), ["ok", "unknown"].contains(&verdict), "{finding}");
    }
}

/// A schema of its own on the server that the environment names.
struct Database {
    runtime: tokio::runtime::Runtime,
    server: String,
    schema: String,
}

impl Database {
    /// `None`, and a word about it, where there is no server.
    fn fresh(name: &str) -> Option<Self> {
        let Ok(server) = std::env::var("PUNCTUAL_TEST_POSTGRES") else {
            eprintln!("left out: PUNCTUAL_TEST_POSTGRES names no server; see scripts/with-postgres");
            return None;
        };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        let schema = format!("doctor_{name}_{}", std::process::id());
        let database = Self { runtime, server, schema };
        database.execute(&format!("DROP SCHEMA IF EXISTS {0} CASCADE; CREATE SCHEMA {0}", database.schema));
        Some(database)
    }

    fn execute(&self, sql: &str) {
        self.runtime.block_on(async {
            let (client, connection) =
                tokio_postgres::connect(&self.url(""), NoTls).await.expect("it answers");
            let driver = tokio::spawn(connection);
            client.batch_execute(sql).await.expect("it is run");
            drop(client);
            driver.await.expect("not cancelled").expect("a proper end");
        });
    }

    /// Its URL, with more options.
    fn url(&self, more: &str) -> String {
        let mark = if self.server.contains('?') { '&' } else { '?' };
        format!("{}{mark}options=-c%20search_path%3D{}{more}", self.server, self.schema)
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.execute(&format!("DROP SCHEMA IF EXISTS {} CASCADE", self.schema));
        }
    }
}

#[test]
fn a_database_that_is_away_is_told_without_the_password() {
    let found = Diagnosis::of("postgres://clerk:s3cret@127.0.0.1:1/jobs", None);
    assert_eq!(found.status, Some(1));
    found.says(
        "database.reach",
        "wrong",
        &["postgres://clerk@127.0.0.1:1/jobs cannot be used", "listens on"],
    );
    found.says("keys.secrets", "wrong", &["no key is given", "keys generate"]);
    assert!(!format!("{:?}", found.findings).contains("s3cret"));
    assert!(found.findings.iter().all(|finding| finding["check"] != "data.rights"), "no folder is used");

    let found = Diagnosis::of("postgres://clerk@127.0.0.1:1/jobs?sslmode=perhaps", Some(&new_key()));
    found.says("database.reach", "wrong", &["sslmode=perhaps", "verify-full", "PUNCTUAL_DATABASE"]);
    found.says("keys.secrets", "unknown", &["cannot be asked"]);
}

#[test]
fn a_database_that_is_well_is_called_so_and_left_alone() {
    let Some(database) = Database::fresh("well") else { return };
    let (url, key) = (database.url(""), new_key());
    for _ in 0..2 {
        // The second look would find what the first one had made.
        let found = Diagnosis::of(&url, Some(&key));
        assert_eq!(found.status, Some(0), "{:?}", found.findings);
        found.says("database.reach", "ok", &["PostgreSQL "]);
        found.says("database.tls", "ok", &["this machine"]);
        found.says("database.schema", "ok", &["no tables yet"]);
        found.says("database.nodes", "ok", &["no node is alive"]);
        found.says("keys.secrets", "ok", &["no store yet"]);
        for check in ["database.version", "database.rights", "database.clock"] {
            found.says(check, "ok", &[]);
        }
    }

    let data = tempfile::tempdir().expect("a folder");
    let settings = [("PUNCTUAL_DATABASE", &*url), ("PUNCTUAL_NODE", "ward"), (VARIABLE, &*key)];
    let server = Server::start(data.path(), &settings);
    let found = Diagnosis::of(&url, Some(&key));
    found.says("database.schema", "ok", &["schema "]);
    found.says("database.nodes", "ok", &["one node is alive: ward"]);
    found.says("keys.secrets", "ok", &["secrets are sealed with the key"]);
    assert_eq!(found.status, Some(0), "{:?}", found.findings);
    let found = Diagnosis::of(&url, Some(&new_key()));
    found.says("keys.secrets", "wrong", &["does not have it", "PUNCTUAL_SECRETS_KEY"]);
    assert_eq!(found.status, Some(1));
    // A newer version that says we can live with it is no reason to worry.
    database.execute("UPDATE punctual_schema SET version = 4711");
    let newer = Diagnosis::of(&url, Some(&key));
    newer.says("database.schema", "ok", &["schema 4711", "newer version", "can use it"]);
    newer.says("database.nodes", "ok", &["one node is alive: ward"]);
    newer.says("keys.secrets", "ok", &["secrets are sealed with the key"]);
    let (_, settings) = server.call("GET", "/api/settings", None);
    assert_eq!((&settings["node"], settings.get("data")), (&"ward".into(), None), "{settings}");

    // A node that vanished is told until another has noticed.
    server.kill();
    database.execute("UPDATE nodes SET lease_until = clock_timestamp() - interval '1 minute'");
    Diagnosis::of(&url, Some(&key)).says("database.nodes", "warning", &["no node is alive; lost: ward"]);
}

#[test]
fn what_is_wrong_with_a_database_is_told_with_what_helps() {
    let Some(database) = Database::fresh("wrong") else { return };
    let key = new_key();
    let look = |url: &str| Diagnosis::of(url, Some(&key));
    let role = format!("clerk_{}", std::process::id());
    let as_role = |url: &str| {
        let (_, rest) = url.split_once('@').expect("a user");
        format!("postgres://{role}@{rest}")
    };

    let elsewhere = database.server.rsplit_once('/').expect("a database").0.to_owned() + "/nowhere";
    look(&elsewhere).says("database.reach", "wrong", &["nowhere", "createdb"]);
    look(&database.url("&sslmode=require")).says("database.reach", "wrong", &["TLS", "sslrootcert"]);
    let read_only = database.url("%20-c%20default_transaction_read_only%3Don");
    look(&read_only).says("database.rights", "wrong", &["only be read", "one,two"]);
    let nowhere = database.url("").replace(&database.schema, "no_such_schema");
    look(&nowhere).says("database.schema", "wrong", &["search_path", "CREATE SCHEMA"]);

    database.execute("CREATE TABLE jobs (id int)");
    look(&database.url("")).says("database.schema", "wrong", &["another program", "search_path"]);
    database.execute(
        "DROP TABLE jobs; CREATE TABLE punctual_schema (version bigint NOT NULL, oldest bigint NOT NULL)",
    );
    database.execute("INSERT INTO punctual_schema VALUES (4711, 4710)");
    look(&database.url("")).says(
        "database.schema",
        "wrong",
        &["schema 4711", "newer version", "4710", "install"],
    );

    database
        .execute(&format!("CREATE ROLE {role} LOGIN; GRANT USAGE ON SCHEMA {} TO {role}", database.schema));
    let found = look(&as_role(&database.url("")));
    database.execute(&format!("DROP OWNED BY {role}; DROP ROLE {role}"));
    found.says("database.schema", "wrong", &["may not read"]);
    found.says(
        "database.rights",
        "wrong",
        &["to make tables in the schema", "to insert in the table", "GRANT"],
    );
}

/// Every job that cannot be read as it is stored is named, with the reason.
#[test]
fn jobs_that_cannot_be_read_are_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = Server::start(folder.path(), &[]);
    let url = format!("http://{}", server.address);
    let job = |name: &str| {
        let output = Command::new(env!("CARGO_BIN_EXE_punctual"))
            .args(["job", "create", name, "--every", "day", "--url", "http://127.0.0.1:1/"])
            .args(["--server", &url])
            .output()
            .expect("run");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    };
    job("well");
    job("bad");
    server.kill();
    let doctor = || {
        let output = Command::new(env!("CARGO_BIN_EXE_punctual"))
            .args(["doctor", "--json", "--listen", "127.0.0.1:0", "--data"])
            .arg(folder.path())
            .env("PUNCTUAL_SERVER", "http://127.0.0.1:1")
            .output()
            .expect("run");
        let told: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        Diagnosis {
            status: output.status.code(),
            findings: told["findings"].as_array().expect("a list").clone(),
        }
    };
    doctor().says("data.jobs", "ok", &["every job"]);
    let db = rusqlite::Connection::open(folder.path().join("punctual.db")).expect("the file opens");
    db.execute_batch(
        "UPDATE definitions SET definition = replace(definition, '\"Last\"', '\"Newest\"')
         WHERE job_id = (SELECT id FROM jobs WHERE name = 'bad')",
    )
    .expect("it is run");
    drop(db);
    let found = doctor();
    found.says("data.jobs", "wrong", &["1 job cannot", "/bad (", "Newest", "--replace"]);
    assert!(!found.finding("data.jobs").to_string().contains("well"));
}
