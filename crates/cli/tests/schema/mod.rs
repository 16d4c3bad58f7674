//! A schema of its own for a test, in the PostgreSQL server that the environment names.

use tokio_postgres::NoTls;

/// A schema that goes with the test; `None` where there is no server.
pub(crate) struct Schema {
    server: String,
    name: String,
}

impl Schema {
    /// Makes one.
    pub(crate) fn fresh(name: &str) -> Option<Self> {
        let Ok(server) = std::env::var("PUNCTUAL_TEST_POSTGRES") else {
            eprintln!("left out: PUNCTUAL_TEST_POSTGRES names no server; see scripts/with-postgres");
            return None;
        };
        let schema = Self { server, name: format!("migrate_{name}_{}", std::process::id()) };
        schema.execute(&format!("DROP SCHEMA IF EXISTS {0} CASCADE; CREATE SCHEMA {0}", schema.name));
        Some(schema)
    }

    /// The URL of the schema.
    pub(crate) fn url(&self) -> String {
        let mark = if self.server.contains('?') { '&' } else { '?' };
        format!("{}{mark}options=-c%20search_path%3D{}", self.server, self.name)
    }

    fn execute(&self, sql: &str) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(async {
            let (client, connection) = tokio_postgres::connect(&self.server, NoTls).await.expect("a server");
            let driver = tokio::spawn(connection);
            client.batch_execute(sql).await.expect("it is run");
            drop(client);
            let _ = driver.await;
        });
    }
}

impl Drop for Schema {
    fn drop(&mut self) {
        self.execute(&format!("DROP SCHEMA IF EXISTS {} CASCADE", self.name));
    }
}
