//! Sessions: their settings, and whether a connection has one to itself.
//!
//! The settings are made by `SET` after connecting and not by the options of a connection that begins: a pooler such as
//! PgBouncer refuses those. A pooler that gives every transaction to another session would lose the settings, prepared
//! statements and `LISTEN`, each of them unnoticed, so [`check`] refuses it at the start.

use std::fmt::Write as _;
use std::time::Duration;

use tokio::time::timeout;
use tokio_postgres::config::TargetSessionAttrs;
use tokio_postgres::{Client, SimpleQueryMessage};

use super::connection::{Address, PATIENCE, PROBE, PROBES, SILENCE};
use super::fault::{Fault, Outcome, words};
use crate::Error;

/// How long one statement may take, in milliseconds. The longest are the first pages of a large ledger.
pub(super) const STATEMENT: u32 = 30_000;

/// How long to wait for a lock that another transaction holds, in milliseconds. Transactions take milliseconds; one that
/// takes longer hangs, and what waits for it has to report that.
const LOCK: u32 = 5_000;

/// After this a node that vanished or stands still in the middle of a transaction lets go of its locks, in milliseconds.
/// It holds on to its own row in there, which must be free when its lease has ended.
const IDLE: u32 = 3_000;

/// The settings that others rely on, in milliseconds.
const PROTECTING: [(&str, u32); 3] =
    [("statement_timeout", STATEMENT), ("lock_timeout", LOCK), ("idle_in_transaction_session_timeout", IDLE)];

/// The settings that let the server notice a connection whose other side is silent. A socket that is not TCP has none.
const NOTICING: [(&str, u64); 4] = [
    ("tcp_user_timeout", SILENCE.as_secs() * 1_000),
    ("tcp_keepalives_idle", PROBE.as_secs()),
    ("tcp_keepalives_interval", PROBE.as_secs()),
    ("tcp_keepalives_count", PROBES as u64),
];

/// How often sessions are compared at the start.
const ROUNDS: usize = 3;

/// How long undoing the settings of sessions that are not ours may take.
const UNDOING: Duration = Duration::from_secs(1);

/// The settings of a session.
pub(super) struct Settings {
    /// The options of the URL that are left for the connection.
    options: String,
    /// The schemas that the URL names.
    search_path: Option<String>,
}

impl Settings {
    /// The settings beside the options that a URL has. Options that name one of ours come first.
    pub(super) fn beside(options: &str) -> Self {
        let (search_path, options) = split_search_path(options);
        Self { options, search_path }
    }

    /// The options of the URL without what is set after connecting.
    pub(super) fn left_over(&self) -> &str {
        &self.options
    }

    /// The statements that make the settings, for one message.
    pub(super) fn sql(&self) -> String {
        let mut sql = String::new();
        for (name, value) in self.ours() {
            let _ = write!(sql, "SET {name} = {value};");
        }
        if let Some(path) = &self.search_path {
            let _ = write!(sql, "SELECT set_config('search_path', '{}', false)", path.replace('\'', "''"));
        }
        sql
    }

    /// Our settings, but for those that the URL has.
    fn ours(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let all = PROTECTING.into_iter().map(|(name, value)| (name, u64::from(value))).chain(NOTICING);
        all.filter(|(name, _)| !self.options.contains(name))
    }
}

/// Takes the schemas out of the options of a URL: they can be set later, and a pooler lets that through. Words that are
/// escaped are left as they are.
fn split_search_path(options: &str) -> (Option<String>, String) {
    if options.contains('\\') {
        return (None, options.to_owned());
    }
    let (mut path, mut rest) = (None, Vec::new());
    let mut given = options.split_whitespace();
    while let Some(word) = given.next() {
        let assignment = match word.strip_prefix("-c") {
            Some("") => given.next(),
            joined => joined,
        };
        match assignment.and_then(|assignment| assignment.strip_prefix("search_path=")) {
            Some(found) => path = Some(found.to_owned()),
            None if word == "-c" => rest.extend([Some(word), assignment].into_iter().flatten()),
            None => rest.push(word),
        }
    }
    (path, rest.join(" "))
}

/// Makes sure that each connection has a session of the database to itself, and that its settings hold. Refuses a database
/// where they do not.
pub(super) async fn check(address: &Address, purpose: TargetSessionAttrs) -> Outcome<()> {
    let (one, other) = (open(address, purpose).await?, open(address, purpose).await?);
    let found = timeout(PATIENCE, compare(&one, &other)).await.map_err(|_| silent())??;
    if let Some(seen) = found {
        // It may be another program's next. Where that fails, the pooler closes the sessions some time.
        let _ = timeout(UNDOING, undo(address.hosts.settings(), &one, &other)).await;
        return Err(shared(address, seen));
    }
    let lost =
        timeout(PATIENCE, lost_settings(address.hosts.settings(), &one)).await.map_err(|_| silent())??;
    if lost.is_empty() {
        return Ok(());
    }
    Err(Error::Failed(format!(
        "{}: settings of the session do not hold: {}. Without them a node that hangs keeps its locks. Let the pooler \
         between this server and the database pass SET on, or connect to PostgreSQL directly",
        address.place,
        lost.join(", ")
    ))
    .into())
}

fn silent() -> Fault {
    Fault::Pool("it takes connections and does not answer".to_owned())
}

/// The refusal of a pooler that does not keep sessions.
fn shared(address: &Address, seen: &str) -> Fault {
    Fault::Pooled(format!(
        "{}: a pooler in between gives each transaction to another session of the database ({seen}). Settings, prepared \
         statements and LISTEN do not survive that. Set pool_mode = session in PgBouncer, or connect to PostgreSQL directly",
        address.place
    ))
}

async fn open(address: &Address, purpose: TargetSessionAttrs) -> Outcome<Client> {
    let (client, driver) = address.line_for(purpose).await?;
    // It ends with the client; what it has to say, the client has said.
    tokio::spawn(driver);
    Ok(client)
}

/// Looks whether two connections have a session each, and says what was seen if not.
///
/// A pooler gives a free session to the next connection that asks, so the first connection is idle while the other one is in a
/// transaction: that has its session then, or the first one gets another.
async fn compare(one: &Client, other: &Client) -> Outcome<Option<&'static str>> {
    const TWO_SESSIONS: &str = "one connection had two sessions";
    for _ in 0..ROUNDS {
        let own = session(one).await?;
        if session(one).await? != own {
            return Ok(Some(TWO_SESSIONS));
        }
        match other.batch_execute("BEGIN").await {
            Err(error) if words(&error).contains("pooling mode") => {
                return Ok(Some("it allows no transactions"));
            }
            begun => begun?,
        }
        if session(other).await? == own {
            return Ok(Some("two connections had the same session"));
        }
        if session(one).await? != own {
            return Ok(Some(TWO_SESSIONS));
        }
        other.batch_execute("COMMIT").await?;
    }
    Ok(None)
}

/// The session that a connection has: its process, and the start of the server that the process is of.
async fn session(client: &Client) -> Outcome<Option<String>> {
    // Prepared statements may be what a pooler cannot do.
    let rows = client.simple_query("SELECT pg_backend_pid() || ' ' || pg_postmaster_start_time()").await?;
    Ok(texts(&rows).next())
}

/// The settings that were made and do not hold.
async fn lost_settings(settings: &Settings, client: &Client) -> Outcome<Vec<String>> {
    let expected: Vec<String> = settings
        .ours()
        .filter(|(name, _)| PROTECTING.iter().any(|(protecting, _)| protecting == name))
        .map(|(name, value)| format!("('{name}', {value})"))
        .collect();
    if expected.is_empty() {
        return Ok(Vec::new());
    }
    let sql = format!(
        "SELECT name || ' is ' || current_setting(name) FROM (VALUES {}) expected (name, value)
         WHERE extract(epoch FROM current_setting(name)::interval) * 1000 <> value",
        expected.join(", ")
    );
    Ok(texts(&client.simple_query(&sql).await?).collect())
}

fn texts(messages: &[SimpleQueryMessage]) -> impl Iterator<Item = String> {
    messages.iter().filter_map(|message| match message {
        SimpleQueryMessage::Row(row) => row.get(0).map(str::to_owned),
        _ => None,
    })
}

/// Takes our settings back. The second connection is in a transaction, so these are two sessions.
async fn undo(settings: &Settings, one: &Client, other: &Client) -> Result<(), tokio_postgres::Error> {
    let resets: String = settings.ours().map(|(name, _)| format!("RESET {name};")).collect();
    one.batch_execute(&format!("BEGIN; {resets} RESET search_path")).await?;
    other.batch_execute(&format!("{resets} RESET search_path; COMMIT")).await?;
    one.batch_execute("COMMIT").await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_connection_begins_with_the_options_of_the_url_and_no_others() {
        for (options, left_over, set) in [
            ("", "", "SET statement_timeout = 30000;SET lock_timeout = 5000;"),
            ("-c search_path=own", "", "SELECT set_config('search_path', 'own', false)"),
            ("-csearch_path=it's,b -c jit=off", "-c jit=off", "set_config('search_path', 'it''s,b', false)"),
            (
                "-c search_path=a,\\ b",
                "-c search_path=a,\\ b",
                "SET idle_in_transaction_session_timeout = 3000;",
            ),
            ("--jit=off -c", "--jit=off -c", "SET tcp_user_timeout = 3000;"),
            ("-c statement_timeout=7", "-c statement_timeout=7", "SET lock_timeout = 5000;"),
        ] {
            let settings = Settings::beside(options);
            assert_eq!(settings.left_over(), left_over, "{options}");
            assert!(settings.sql().contains(set), "{options}: {}", settings.sql());
            assert_eq!(
                settings.sql().contains("SET statement_timeout"),
                !options.contains("statement_timeout"),
                "{options}"
            );
        }
    }

    #[tokio::test]
    async fn every_connection_has_the_settings_and_a_lost_one_is_named() {
        let Ok(url) = std::env::var("PUNCTUAL_TEST_POSTGRES") else {
            eprintln!("left out: PUNCTUAL_TEST_POSTGRES names no server; see scripts/with-postgres");
            return;
        };
        let address = Address::parse(&url).unwrap();
        check(&address, TargetSessionAttrs::ReadWrite).await.unwrap();
        let pooled = address.pool(1).unwrap().get().await.unwrap();
        let alone = open(&address, TargetSessionAttrs::Any).await.unwrap();
        for client in [&**pooled, &alone] {
            let settings = address.hosts.settings();
            assert_eq!(lost_settings(settings, client).await.unwrap(), Vec::<String>::new());
            client.batch_execute("RESET lock_timeout; SET statement_timeout = '1min'").await.unwrap();
            assert_eq!(
                lost_settings(settings, client).await.unwrap(),
                ["statement_timeout is 1min", "lock_timeout is 0"]
            );
        }
    }
}
