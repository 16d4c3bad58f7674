//! Every command's help has examples, and they work: each is run, in order, beside a server that holds a few things.
//!
//! A new command without examples fails this test, and so does an example that does not do what it shows.

#[allow(dead_code, reason = "each test file uses its part")]
mod running;
mod schema;
mod walk;

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use running::Server;
use serde_json::json;
use walk::commands;

/// What examples mean by the usual address.
const USUAL: &str = "127.0.0.1:8042";

/// What examples mean by the id of a token.
const TOKEN: &str = "0123456789abcdef";

/// What examples mean by a database.
const DATABASE: &str = "postgres://punctual@db.example/punctual";

const COLLECTIONS: &str =
    "/subscriptions/default/resourceGroups/default/providers/Microsoft.Scheduler/jobCollections";
const VERSION: &str = "api-version=2016-03-01";

/// The group in which an example gives a role.
const GROUP: &str = "/subscriptions/acme/resourceGroups/billing";
const GROUP_VERSION: &str = "api-version=2021-04-01";

fn examples(help: &str) -> Vec<&str> {
    let block = help.split("Examples:\n").nth(1).unwrap_or_default();
    block.lines().take_while(|line| line.starts_with("  ")).map(str::trim).collect()
}

/// What the examples speak of.
fn furnish(server: &Server, folder: &Path) {
    for name in ["default", "billing", "old"] {
        assert_eq!(server.call("PUT", &format!("{COLLECTIONS}/{name}?{VERSION}"), Some(&json!({}))).0, 201);
    }
    let job = json!({"properties": {
        "startTime": "2028-01-01T00:00:00Z",
        "action": {"type": "Http", "request":
            {"method": "GET", "uri": format!("http://{}/api/echo", server.address)}},
        "recurrence": {"frequency": "day", "interval": 1}}});
    for name in ["report", "mail"] {
        assert_eq!(
            server.call("PUT", &format!("{COLLECTIONS}/default/jobs/{name}?{VERSION}"), Some(&job)).0,
            201
        );
    }
    let (status, token) =
        server.call("POST", "/api/tokens", Some(&json!({"name": "robot", "role": "Reader"})));
    assert_eq!(status, 201, "{token}");
    let id = token["id"].as_str().expect("an id");
    fs::write(folder.join("token"), id).expect("written");
    assert_eq!(
        server.call("PUT", &format!("{GROUP}?{GROUP_VERSION}"), Some(&json!({"location": "westus"}))).0,
        201
    );
    let role = json!({
        "principal": format!("token:{id}"), "role": "Operator",
        "scope": "/subscriptions/acme/resourceGroups/billing"});
    assert_eq!(server.call("POST", "/api/roles/assign", Some(&role)).0, 201);
    let template = json!({
        "$schema": "https://schema.management.azure.com/schemas/2015-01-01/deploymentTemplate.json#",
        "contentVersion": "1.0.0.0",
        "parameters": {"password": {"type": "secureString", "defaultValue": "x"}},
        "resources": [
            {"type": "Microsoft.Scheduler/jobCollections", "name": "imported", "apiVersion": "2016-03-01",
             "location": "westus", "properties": {}}]});
    for (name, content) in [
        ("job.json", job.to_string()),
        ("template.json", template.to_string()),
        ("production.json", json!({"parameters": {}}).to_string()),
        ("punctual.toml", "[log]\nlevel = \"warn\"\n".to_owned()),
    ] {
        fs::write(folder.join(name), content).expect("written");
    }
    let copied = shell("punctual backup punctual-sunday.db", server, folder).output().expect("run");
    assert!(copied.status.success(), "{}", String::from_utf8_lossy(&copied.stderr));
}

fn shell(line: &str, server: &Server, folder: &Path) -> Command {
    let binaries = Path::new(env!("CARGO_BIN_EXE_punctual")).parent().expect("a folder");
    let path = format!("{}:{}", binaries.display(), std::env::var("PATH").unwrap_or_default());
    let token = fs::read_to_string(folder.join("token")).unwrap_or_else(|_| TOKEN.to_owned());
    let line = line.replace(USUAL, &server.address.to_string()).replace(TOKEN, &token);
    let mut command = Command::new("bash");
    command
        .args(["-euo", "pipefail", "-c", &line])
        .current_dir(folder)
        .env("PATH", path)
        .env("HOME", folder)
        .env_remove("XDG_CONFIG_HOME")
        .env("TMPDIR", folder)
        .env("PUNCTUAL_SERVER", format!("http://{}", server.address))
        .env("EDITOR", "true")
        .env("PASSWORD", "a word")
        .env("SECRET", "a word");
    command
}

/// Starts what runs until it is told to stop, and stops it as Ctrl-C does once it has said something.
fn start_and_stop(line: &str, server: &Server, folder: &Path) {
    // The words of the example, in the test's own corner of the machine.
    let line =
        line.replace("127.0.0.1:9000", "127.0.0.1:0").replace("/tmp/", &format!("{}/", folder.display()));
    let mut command = shell(&format!("exec {line}"), server, folder);
    if line.starts_with("punctual serve") {
        command.envs([("PUNCTUAL_LISTEN", "127.0.0.1:0"), ("PUNCTUAL_LOG_LEVEL", "error")]);
    }
    let mut process = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("started");
    let (lines, said) = mpsc::channel();
    let out = BufReader::new(process.stdout.take().expect("piped"));
    let reader =
        thread::spawn(move || out.lines().map_while(Result::ok).for_each(|line| drop(lines.send(line))));
    // There is something to watch only when something runs.
    let run = format!("{COLLECTIONS}/default/jobs/report/run?{VERSION}");
    running::until(&format!("the first line of {line}"), || {
        if line.starts_with("punctual job watch") {
            assert_eq!(server.call("POST", &run, None).0, 200);
        }
        said.recv_timeout(Duration::from_millis(300)).is_ok()
    });
    if !line.contains("--runs") {
        let id = process.id().to_string();
        assert!(Command::new("kill").args(["-INT", &id]).status().expect("run").success());
    }
    let status = process.wait().expect("waited for");
    let mut errors = String::new();
    process.stderr.take().expect("piped").read_to_string(&mut errors).expect("read");
    assert!(status.success(), "{line}: {status}\n{errors}");
    reader.join().expect("read to the end");
}

#[test]
fn every_command_has_examples_that_work() {
    let commands = commands();
    assert!(commands.len() > 25, "the walk found {} commands", commands.len());
    for (path, help) in &commands {
        let name = path.join(" ");
        let examples = examples(help);
        assert!(!examples.is_empty(), "`punctual {name} --help` shows no example");
        let folder = tempfile::tempdir().expect("a folder");
        let server = Server::start(&folder.path().join("data"), &[]);
        furnish(&server, folder.path());
        if name.starts_with("context") {
            let stored = shell("punctual context set home", &server, folder.path()).output().expect("run");
            assert!(stored.status.success());
        }
        let schema = if name == "migrate" { schema::Schema::fresh("examples") } else { None };
        if name == "migrate" && schema.is_none() {
            server.kill();
            continue;
        }
        for line in examples {
            assert!(line.contains(&format!("punctual {name}")), "{line} is no example of {name}");
            if line.contains("$PUNCTUAL_TEST_POSTGRES")
                && std::env::var_os("PUNCTUAL_TEST_POSTGRES").is_none()
            {
                eprintln!("left out: {line}: there is no server; see scripts/with-postgres");
                continue;
            }
            if name == "serve" || name == "job watch" {
                start_and_stop(line, &server, folder.path());
                continue;
            }
            if schema.is_some() && line.contains("--wait") {
                server.kill_now();
            }
            let line = schema
                .as_ref()
                .map_or(line.to_owned(), |schema| line.replace(DATABASE, &format!("'{}'", schema.url())));
            let output = shell(&line, &server, folder.path()).output().expect("run");
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "$ {line}\n{said}{}", output.status);
        }
        server.kill();
    }
}
