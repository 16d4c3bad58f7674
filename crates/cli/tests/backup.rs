//! `punctual backup` as people use it: while jobs run, and then a server on the copy.

mod running;

use std::os::unix::fs::{FileTypeExt as _, PermissionsExt as _};
use std::path::Path;
use std::process::{Command, Output};

use jiff::Timestamp;
use running::{COLLECTION, Server, job, job_path, ledger, target, until};
use serde_json::json;

fn backup(server: &str, arguments: &[&str], folder: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_punctual"))
        .arg("backup")
        .args(arguments)
        .env("PUNCTUAL_SERVER", server)
        .current_dir(folder)
        .output()
        .expect("run")
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn a_copy_made_under_load_is_a_store_of_its_own() {
    let (data, copy) = (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
    let (target, _) = target();
    let server = Server::start(data.path(), &[]);
    let premium = json!({"location": "Local", "properties": {"sku": {"name": "P20Premium"}}});
    assert_eq!(server.call("PUT", COLLECTION, Some(&premium)).0, 201);
    let put = |n: usize| {
        let body = job(target, &json!({"recurrence": {"frequency": "minute"}}));
        assert_eq!(server.call("PUT", &job_path(&format!("j{n}")), Some(&body)).0, 201);
    };
    (0..50).for_each(put);
    until("the runs", || ledger(&server).len() == 50);

    let url = format!("http://{}", server.address);
    let output = std::thread::scope(|scope| {
        let load = scope.spawn(|| (50..150).for_each(put));
        let output = backup(&url, &["punctual.db"], copy.path());
        load.join().expect("jobs were made meanwhile");
        output
    });
    assert!(output.status.success(), "{}", said(&output));
    let told = String::from_utf8_lossy(&output.stdout).into_owned();
    let copied_at: i64 = rusqlite::Connection::open(copy.path().join("punctual.db"))
        .and_then(|db| db.query_row("SELECT copied_at FROM moves", [], |row| row.get(0)))
        .expect("the copy says of when it is");
    let instant = Timestamp::from_nanosecond(i128::from(copied_at) * 100).expect("an instant");
    assert!(told.contains(&format!("as it was at {instant},")), "{told}");
    let again = backup(&url, &["punctual.db"], copy.path());
    assert_eq!(again.status.code(), Some(2), "{}", said(&again));
    assert!(said(&again).contains("--force"), "{}", said(&again));
    assert!(backup(&url, &["punctual.db", "--force"], copy.path()).status.success());
    let streamed = backup(&url, &["-"], copy.path());
    assert!(streamed.stdout.starts_with(b"SQLite format 3"));
    server.kill();

    let left: Vec<_> =
        std::fs::read_dir(copy.path()).expect("read").flatten().map(|e| e.file_name()).collect();
    assert_eq!(left, ["punctual.db"], "nothing unfinished stays");
    let lonely = Command::new(env!("CARGO_BIN_EXE_punctual"))
        .args(["serve", "--listen", "127.0.0.1:0", "--data"])
        .arg(copy.path())
        .output()
        .expect("run");
    assert!(!lonely.status.success());
    assert!(said(&lonely).contains("sealed with the key"), "{}", said(&lonely));
    std::fs::copy(data.path().join("keys"), copy.path().join("keys")).expect("copied");
    let restored = Server::start(copy.path(), &[]);
    assert_eq!(restored.call("GET", &job_path("j149"), None).0, 200, "the second copy is of after the load");
    assert!(ledger(&restored).len() >= 50, "what ran is in the copy's ledger");
    restored.kill();
}

#[test]
fn a_server_that_is_not_there_is_said_to_be() {
    let folder = tempfile::tempdir().expect("a folder");
    let output = backup("http://127.0.0.1:1", &["copy.db"], folder.path());
    assert_eq!(output.status.code(), Some(5));
    assert!(said(&output).contains("http://127.0.0.1:1 cannot be reached"), "{}", said(&output));
    for wrong in ["127.0.0.1:8042", "ftp://127.0.0.1", "nothing"] {
        let output = backup(wrong, &["copy.db"], folder.path());
        assert_eq!(output.status.code(), Some(2), "{}", said(&output));
        assert!(said(&output).contains("--server"), "{}", said(&output));
    }
    assert_eq!(std::fs::read_dir(folder.path()).expect("read").count(), 0);
}

#[test]
fn only_who_speaks_tls_needs_certificates() {
    let folder = tempfile::tempdir().expect("a folder");
    let none = folder.path().join("none.pem");
    std::fs::write(&none, "").expect("written");
    let server = Server::start(&folder.path().join("data"), &[]);
    let ask = |address: &str| {
        Command::new(env!("CARGO_BIN_EXE_punctual"))
            .args(["backup", "-", "--server", address])
            .env("SSL_CERT_FILE", &none)
            .env("SSL_CERT_DIR", folder.path())
            .output()
            .expect("run")
    };
    let plain = ask(&format!("http://{}", server.address));
    assert!(plain.stdout.starts_with(b"SQLite format 3"), "{}", said(&plain));
    let secure = ask(&format!("https://{}", server.address));
    assert!(said(&secure).contains("certificates of this machine"), "{}", said(&secure));
    server.kill();
}

#[test]
fn what_a_command_writes_takes_the_place_of_files_only() {
    let (data, folder) = (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
    let server = Server::start(data.path(), &[]);
    let url = format!("http://{}", server.address);
    assert_eq!(server.call("PUT", COLLECTION, Some(&json!({}))).0, 201);
    let path = |name: &str| folder.path().join(name);
    let run = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_punctual"));
        command.args(arguments).env("PUNCTUAL_SERVER", &url).current_dir(folder.path()).output().expect("run")
    };
    let commands: [&[&str]; 2] = [&["backup", "--force"], &["export", "--subscription", "s", "-o"]];

    // A pipe is written to, and stays a pipe. So does a device: /dev/null above all.
    assert!(Command::new("mkfifo").arg(path("pipe")).status().expect("run").success());
    for command in commands {
        let read = std::thread::spawn({
            let pipe = path("pipe");
            move || std::fs::read(pipe).expect("read")
        });
        let output = run(&[command, &["pipe"]].concat());
        assert!(output.status.success(), "{}", said(&output));
        assert!(!read.join().expect("read").is_empty());
        assert!(path("pipe").metadata().expect("there").file_type().is_fifo(), "{command:?}");
    }

    // A link stays, too, and what it leads to is replaced.
    std::fs::write(path("file"), "old").expect("written");
    std::os::unix::fs::symlink("file", path("link")).expect("linked");
    for command in commands {
        assert!(run(&[command, &["link"]].concat()).status.success());
        assert!(path("link").is_symlink(), "{command:?}");
        assert_ne!(std::fs::read(path("file")).expect("read"), b"old");
    }

    // Nobody is handed a copy by a file that waits for it.
    std::fs::write(path("waiting"), "").expect("written");
    std::os::unix::fs::symlink("waiting", path("copy.partial")).expect("linked");
    assert!(run(&["backup", "copy"]).status.success());
    assert_eq!(std::fs::read(path("waiting")).expect("read"), b"");
    assert_eq!(path("copy").metadata().expect("there").permissions().mode() & 0o777, 0o600);

    // The store of the server is not replaced under it.
    let store = data.path().join("punctual.db");
    for command in commands {
        let output = run(&[command, &[store.to_str().expect("text")]].concat());
        assert_eq!(output.status.code(), Some(2), "{command:?}: {}", said(&output));
        assert!(said(&output).contains("is the store of a server"), "{}", said(&output));
    }
    assert_eq!(server.call("GET", COLLECTION, None).0, 200);
    server.kill();
}
