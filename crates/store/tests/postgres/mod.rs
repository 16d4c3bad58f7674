//! A schema of its own for every test, in the server that the environment names.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use async_trait::async_trait;
use model::transition::Patience;
use model::{Clock, Plans, Timestamp};
use store::conformance::{Backend, keyring};
use store::{Keyring, PostgresSettings, PostgresStore, Store};
use tokio_postgres::NoTls;

/// A schema that goes with the test.
pub(crate) struct Postgres {
    server: String,
    schema: String,
}

/// A clock that stands still.
pub(crate) struct Stopped(pub(crate) Timestamp);

impl Clock for Stopped {
    fn now(&self) -> Timestamp {
        self.0
    }
}

static SCHEMAS: AtomicU32 = AtomicU32::new(0);

impl Postgres {
    /// A fresh schema; `None` where there is no server.
    pub(crate) async fn fresh() -> Option<Self> {
        let Ok(server) = std::env::var("PUNCTUAL_TEST_POSTGRES") else {
            eprintln!("left out: PUNCTUAL_TEST_POSTGRES names no server; see scripts/with-postgres");
            return None;
        };
        let number = SCHEMAS.fetch_add(1, Ordering::Relaxed);
        let schema = format!("test_{}_{number}", std::process::id());
        let backend = Self { server, schema };
        backend
            .execute(&format!("DROP SCHEMA IF EXISTS {0} CASCADE; CREATE SCHEMA {0}", backend.schema))
            .await;
        Some(backend)
    }

    /// The schema.
    #[allow(dead_code, reason = "not every test names it")]
    pub(crate) fn schema(&self) -> &str {
        &self.schema
    }

    /// The URL of the server.
    #[allow(dead_code, reason = "not every test goes there")]
    pub(crate) fn server(&self) -> &str {
        &self.server
    }

    /// Runs SQL on the server, in the schema.
    pub(crate) async fn execute(&self, sql: &str) {
        let (client, connection) =
            tokio_postgres::connect(&self.url(), NoTls).await.expect("the server answers");
        let driver = tokio::spawn(connection);
        client.batch_execute(sql).await.expect("it is run");
        drop(client);
        let _ = driver.await;
    }

    /// The one number that a query answers with.
    #[allow(dead_code, reason = "not every test asks")]
    pub(crate) async fn query(&self, sql: &str) -> i64 {
        let (client, connection) =
            tokio_postgres::connect(&self.url(), NoTls).await.expect("the server answers");
        let driver = tokio::spawn(connection);
        let number = client.query_one(sql, &[]).await.expect("it is run").get(0);
        drop(client);
        let _ = driver.await;
        number
    }

    /// The URL of the schema.
    pub(crate) fn url(&self) -> String {
        let mark = if self.server.contains('?') { '&' } else { '?' };
        format!("{}{mark}options=-c%20search_path%3D{}", self.server, self.schema)
    }

    /// A node with a name, by a clock.
    #[allow(dead_code, reason = "not every test has several")]
    pub(crate) async fn node(&self, name: &str, clock: Arc<dyn Clock>) -> Arc<PostgresStore> {
        self.node_with(name, keyring(), clock).await.expect("the store opens")
    }

    /// The same, with other keys.
    pub(crate) async fn node_with(
        &self,
        name: &str,
        keyring: Keyring,
        clock: Arc<dyn Clock>,
    ) -> store::Result<Arc<PostgresStore>> {
        open(PostgresSettings { keyring, ..self.settings(name) }, clock).await
    }

    /// The same, of the version that knew a schema.
    #[allow(dead_code, reason = "not every test has two versions")]
    pub(crate) async fn node_held_at(
        &self,
        held_at: Option<u32>,
        name: &str,
        keyring: Keyring,
        clock: Arc<dyn Clock>,
    ) -> store::Result<Arc<PostgresStore>> {
        open(PostgresSettings { keyring, held_at, ..self.settings(name) }, clock).await
    }

    /// The same, on another way to the server.
    #[allow(dead_code, reason = "not every test blocks one")]
    pub(crate) async fn node_at(
        &self,
        url: String,
        name: &str,
        clock: Arc<dyn Clock>,
    ) -> store::Result<Arc<PostgresStore>> {
        open(PostgresSettings { url, ..self.settings(name) }, clock).await
    }

    fn settings(&self, name: &str) -> PostgresSettings {
        PostgresSettings {
            url: self.url(),
            node: name.to_owned(),
            version: "test".to_owned(),
            connections: 4,
            plans: Plans::default(),
            patience: Patience::default(),
            keyring: keyring(),
            held_at: None,
        }
    }
}

async fn open(settings: PostgresSettings, clock: Arc<dyn Clock>) -> store::Result<Arc<PostgresStore>> {
    Ok(Arc::new(PostgresStore::open(settings, clock).await?))
}

impl Drop for Postgres {
    fn drop(&mut self) {
        let (server, schema) = (self.server.clone(), self.schema.clone());
        let gone = std::thread::spawn(move || {
            let runtime =
                tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
            runtime.block_on(async {
                let Ok((client, connection)) = tokio_postgres::connect(&server, NoTls).await else { return };
                let driver = tokio::spawn(connection);
                let told = apart(&client, &schema).await;
                // What is left over does not hurt; the next test has a schema of its own.
                let _ = client.batch_execute(&format!("DROP SCHEMA IF EXISTS {schema} CASCADE")).await;
                drop(client);
                let _ = driver.await;
                assert_eq!(told, [0, 0], "due times that only `jobs` has, and only `due`");
            });
        });
        let gone = gone.join();
        if !std::thread::panicking() {
            gone.expect("the table of due times says what the jobs say");
        }
    }
}

/// How many due times only the rows of jobs know, and how many only the table of due times: whatever a test did, both
/// have to say the same.
async fn apart(client: &tokio_postgres::Client, schema: &str) -> [i64; 2] {
    let jobs = format!("SELECT ahead, due_at, id, shard FROM {schema}.jobs WHERE due_at IS NOT NULL");
    let due = format!("SELECT ahead, due_at, job_id, shard FROM {schema}.due");
    let sql = format!(
        "SELECT (SELECT count(*) FROM ({jobs} EXCEPT {due}) a), (SELECT count(*) FROM ({due} EXCEPT {jobs}) b)"
    );
    match client.query_one(&sql, &[]).await {
        Ok(row) => [row.get(0), row.get(1)],
        // Not every test makes the tables.
        Err(error) if error.code() == Some(&tokio_postgres::error::SqlState::UNDEFINED_TABLE) => [0, 0],
        Err(error) => panic!("{error}"),
    }
}

#[async_trait]
impl Backend for Postgres {
    async fn open_with(&self, keyring: Keyring, now: Timestamp) -> store::Result<Arc<dyn Store>> {
        Ok(self.node_with("conformance", keyring, Arc::new(Stopped(now))).await?)
    }

    async fn damage(&self, sql: &str) {
        self.execute(sql).await;
    }
}
