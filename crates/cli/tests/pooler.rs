//! A pooler between the nodes and PostgreSQL: PgBouncer, with its default settings and in the modes that cannot work.
//!
//! It needs a PostgreSQL server and PgBouncer: `scripts/check-pooler`.

mod running;
mod schema;

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use running::{COLLECTION, Server, job, job_path, ledger, target, until};
use schema::Schema;
use serde_json::json;
use tokio_postgres::config::Host;

/// A key that nothing was sealed with before.
const KEY: &str = "punctual1_BBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBA";

/// Where Debian has it, which is not on every user's path.
const DEBIAN: &str = "/usr/sbin/pgbouncer";

/// A PgBouncer of this test.
struct Pooler {
    process: Child,
    port: u16,
    folder: tempfile::TempDir,
}

impl Drop for Pooler {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Pooler {
    /// Starts one before the server of the environment. `None`, with a word about it, where there is none.
    fn start(settings: &str) -> Option<Self> {
        let Some(program) = program() else {
            eprintln!("left out: there is no pgbouncer; see scripts/check-pooler");
            return None;
        };
        let server: tokio_postgres::Config =
            std::env::var("PUNCTUAL_TEST_POSTGRES").expect("a server").parse().expect("a URL");
        let Some(Host::Tcp(host)) = server.get_hosts().first() else { panic!("no host to reach by TCP") };
        let user = server.get_user().expect("a user");
        let password = String::from_utf8_lossy(server.get_password().unwrap_or_default());
        let port = TcpListener::bind("127.0.0.1:0").expect("bound").local_addr().expect("bound").port();
        let folder = tempfile::tempdir().expect("a folder");
        let users = folder.path().join("users");
        fs::write(&users, format!("\"{user}\" \"{password}\"\n")).expect("written");
        // It does not run as root; it changes to this user by itself, which has to read what is here.
        let account = if is_root() { "user = postgres" } else { "" };
        let ini = format!(
            "[databases]\n* = host={host} port={}\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\n\
             unix_socket_dir =\nauth_type = trust\nauth_file = {}\n{account}\n{settings}\n",
            server.get_ports().first().unwrap_or(&5432),
            users.display()
        );
        let file = folder.path().join("pgbouncer.ini");
        fs::write(&file, ini).expect("written");
        if is_root() {
            let opened = Command::new("chmod").arg("-R").arg("a+rX").arg(folder.path()).status();
            assert!(opened.expect("run").success());
        }
        let process = Command::new(program)
            .args(["-q".as_ref(), file.as_os_str()])
            .stderr(Stdio::null())
            .spawn()
            .expect("started");
        until("the pooler takes connections", || TcpStream::connect(("127.0.0.1", port)).is_ok());
        Some(Self { process, port, folder })
    }

    /// The same URL by way of the pooler.
    fn before(&self, url: &str) -> String {
        let server: tokio_postgres::Config = url.parse().expect("a URL");
        let port = server.get_ports().first().expect("a port");
        url.replace(&format!(":{port}/"), &format!(":{}/", self.port))
    }

    /// Runs a command with a database behind the pooler, and waits until it ends.
    fn run(&self, arguments: &[&str], url: &str) -> Output {
        command(self.folder.path(), &self.before(url)).args(arguments).output().expect("run")
    }
}

fn program() -> Option<PathBuf> {
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let on_path = std::env::split_paths(&folders).map(|folder| folder.join("pgbouncer"));
    on_path.chain([PathBuf::from(DEBIAN)]).find(|path| path.is_file())
}

fn is_root() -> bool {
    Command::new("id").arg("-u").output().is_ok_and(|id| id.stdout.trim_ascii() == b"0")
}

fn command(data: &Path, url: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_punctual"));
    command
        .env("PUNCTUAL_DATA", data)
        .env("PUNCTUAL_DATABASE", url)
        .env("PUNCTUAL_SECRETS_KEY", KEY)
        .env("PUNCTUAL_NODE", "one")
        .env("PUNCTUAL_LISTEN", "127.0.0.1:0");
    command
}

fn said(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// The mode is session where nothing else is said; a schema of its own is as good as a database of its own.
#[test]
fn a_node_works_behind_a_pooler_with_its_default_settings() {
    const JOBS: usize = 500;
    let Some(schema) = Schema::fresh("pooler_session") else { return };
    let Some(pooler) = Pooler::start("") else { return };
    let url = pooler.before(&schema.url());
    let data = tempfile::tempdir().expect("a folder");
    let settings = [("PUNCTUAL_DATABASE", &*url), ("PUNCTUAL_SECRETS_KEY", KEY), ("PUNCTUAL_NODE", "one")];
    let server = Server::start(data.path(), &settings);
    let (target, calls) = target();
    let premium = json!({"location": "Local", "properties": {"sku": {"name": "P20Premium"}}});
    assert_eq!(server.call("PUT", COLLECTION, Some(&premium)).0, 201);
    // Several connections of the pool are in use at a time.
    std::thread::scope(|scope| {
        for part in 0..5 {
            let server = &server;
            scope.spawn(move || {
                for n in (part..JOBS).step_by(5) {
                    let (status, answer) =
                        server.call("PUT", &job_path(&format!("j{n}")), Some(&job(target, &json!({}))));
                    assert_eq!(status, 201, "{answer}");
                }
            });
        }
    });
    until("every job was called", || calls.lock().expect("not poisoned").len() == JOBS);
    until("every call is in the ledger", || ledger(&server).len() == JOBS);
    // Another program that gets a session after us, and we after it: nothing is left of either.
    let doctor = pooler.run(&["doctor", "--json"], &schema.url());
    assert!(doctor.status.success(), "{}", said(&doctor));
    assert!(server.terminate().success());
}

#[test]
fn a_pooler_that_keeps_no_sessions_is_refused_with_what_helps() {
    let Some(schema) = Schema::fresh("pooler_transaction") else { return };
    for settings in [
        "pool_mode = transaction",
        "pool_mode = transaction\nserver_round_robin = 1",
        "pool_mode = statement",
    ] {
        let Some(pooler) = Pooler::start(settings) else { return };
        // With one session in the pool, and with several.
        for sessions in [1, 4] {
            occupy(&pooler.before(&schema.url()), sessions, settings);
            let served = pooler.run(&["serve"], &schema.url());
            let told = said(&served);
            assert_eq!(served.status.code(), Some(1), "{settings}: {told}");
            assert!(
                told.contains("pool_mode = session") && !told.contains("by itself"),
                "{settings}: {told}"
            );
        }
        let doctor = pooler.run(&["doctor"], &schema.url());
        let told = said(&doctor);
        assert_eq!(doctor.status.code(), Some(1), "{settings}: {told}");
        assert!(
            told.contains("database.reach") && told.contains("pool_mode = session"),
            "{settings}: {told}"
        );

        let source = tempfile::tempdir().expect("a folder");
        assert!(Server::start(source.path(), &[]).terminate().success());
        let from = format!("sqlite:{}", source.path().display());
        let moved = pooler.run(&["migrate", "--from", &from], &schema.url());
        let told = said(&moved);
        assert_eq!(moved.status.code(), Some(1), "{settings}: {told}");
        assert!(told.contains("pool_mode = session"), "{settings}: {told}");
    }
}

/// Makes the pooler open so many sessions and lets go of them, so that they are free for whoever comes next.
fn occupy(url: &str, sessions: usize, settings: &str) {
    if settings.contains("statement") {
        return;
    }
    let url = url.split('?').next().expect("an address").to_owned();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let mut clients = Vec::new();
        for _ in 0..sessions {
            let (client, driver) =
                tokio_postgres::connect(&url, tokio_postgres::NoTls).await.expect("connected");
            tokio::spawn(driver);
            client.batch_execute("BEGIN").await.expect("begun");
            clients.push(client);
        }
        for client in clients {
            client.batch_execute("COMMIT").await.expect("committed");
        }
    });
}

/// What the operator wrote for the connection is the pooler's to judge; that it says no will not pass.
#[test]
fn an_option_that_a_pooler_refuses_is_reported_as_that() {
    let Some(schema) = Schema::fresh("pooler_options") else { return };
    let Some(pooler) = Pooler::start("") else { return };
    let url = format!("{}%20-c%20jit%3Doff", schema.url());
    for arguments in [&["serve"][..], &["doctor"]] {
        let output = pooler.run(arguments, &url);
        let told = said(&output);
        assert_eq!(output.status.code(), Some(1), "{told}");
        assert!(told.contains("08P01 unsupported startup parameter"), "{told}");
        assert!(told.contains("options of the URL") && !told.contains("by itself"), "{told}");
    }
}
