//! `punctual job watch` beside a server that goes away and comes back, and one that tells nonsense.
//!
//! What a real server tells is watched in `examples.rs`; here the other side misbehaves, on a real socket.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Output, Stdio};
use std::thread;

const HEAD: &str =
    "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\nx-ms-request-id: 1\r\n\r\n";

fn attempt(phase: &str, job: &str) -> String {
    let times = r#""expectedAt":"2027-01-01T00:00:00Z","startedAt":"2027-01-01T00:00:00.5Z","endedAt":"2027-01-01T00:00:01Z""#;
    let rest = r#""attempt":1,"errorAction":false,"tag":"t","status":"completed","message":"fine\r\nreally","latenessMs":500"#;
    format!(
        "event: attempt\ndata: {{\"id\":\"i\",\"collection\":\"c\",\"job\":\"{job}\",\"phase\":\"{phase}\",{times},{rest}}}\n\n"
    )
}

/// Answers one connection after the other with these bodies; the heads of the requests that came.
fn serve(bodies: Vec<String>) -> (String, thread::JoinHandle<Vec<String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("bound");
    let address = format!("http://{}", listener.local_addr().expect("bound"));
    let served = thread::spawn(move || {
        let mut asked = Vec::new();
        for body in bodies {
            let (mut stream, _): (TcpStream, _) = listener.accept().expect("a connection");
            let mut line = String::new();
            let mut reader = BufReader::new(stream.try_clone().expect("cloned"));
            reader.read_line(&mut line).expect("a request");
            asked.push(line.trim().to_owned());
            while reader.read_line(&mut line).is_ok_and(|read| read > 2) {}
            // Whoever has seen enough is gone before the end.
            let _ = stream.write_all(format!("{HEAD}{body}").as_bytes());
        }
        asked
    });
    (address, served)
}

fn watch(address: &str, arguments: &[&str]) -> Output {
    let mut process = Command::new(env!("CARGO_BIN_EXE_punctual"))
        .args(["job", "watch", "--server", address])
        .args(arguments)
        .env("HOME", "/nonexistent")
        .env_remove("XDG_CONFIG_HOME")
        .env_remove("PUNCTUAL_CONTEXT")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("started");
    let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
    process.stdout.take().expect("piped").read_to_end(&mut stdout).expect("read");
    process.stderr.take().expect("piped").read_to_end(&mut stderr).expect("read");
    Output { status: process.wait().expect("waited for"), stdout, stderr }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn a_connection_that_is_lost_is_made_again() {
    let first = format!(": beat\n\nevent: pulse\ndata: {{\"running\":1}}\n\n{}", attempt("started", "a"));
    let second = format!("event: lagged\ndata: {{\"lost\":3}}\n\n{}", attempt("ended", "a"));
    let (address, served) = serve(vec![first, String::new(), second]);
    let output = watch(&address, &["a", "--runs", "1"]);
    let (said, errors) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{errors}");
    assert_eq!(
        said,
        "2027-01-01 00:00:00Z  c/a  started, 500 ms late\n2027-01-01 00:00:01Z  c/a  completed  fine really\n"
    );
    assert_eq!(errors.matches("the connection is lost").count(), 2, "{errors}");
    assert!(errors.contains("warning: 3 events came too fast to be shown"), "{errors}");
    let asked = served.join().expect("served");
    let id = "%2Fsubscriptions%2Fdefault%2FresourceGroups%2Fdefault%2Fproviders%2FMicrosoft.Scheduler%2FjobCollections%2Fdefault%2Fjobs%2Fa";
    assert_eq!(asked, vec![format!("GET /api/events?job={id} HTTP/1.1"); 3]);
}

#[test]
fn programs_get_an_object_on_each_line() {
    let (address, served) = serve(vec![format!("{}{}", attempt("started", "a"), attempt("ended", "a"))]);
    let output = watch(&address, &["--all", "--runs", "1", "--json"]);
    assert!(output.status.success() && output.stderr.is_empty(), "{}", text(&output.stderr));
    let said = text(&output.stdout);
    let phases = said.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).expect("JSON"));
    assert_eq!(phases.map(|attempt| attempt["phase"].clone()).collect::<Vec<_>>(), ["started", "ended"]);
    assert_eq!(served.join().expect("served"), ["GET /api/events HTTP/1.1"]);
}

#[test]
fn what_is_no_event_is_refused() {
    let (address, served) = serve(vec!["event: attempt\ndata: nonsense\n\n".to_owned()]);
    let output = watch(&address, &[]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("the server's event is not JSON"), "{}", text(&output.stderr));
    served.join().expect("served");
    let (address, served) = serve(vec!["x".repeat(2 << 20)]);
    let output = watch(&address, &[]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("does not send events"), "{}", text(&output.stderr));
    served.join().expect("served");
}

#[test]
fn pages_of_a_list_that_lead_in_a_circle_end_it() {
    let page = r#"{"value": [], "nextLink": "http://127.0.0.1:1/again"}"#.to_owned();
    let (address, served) = serve(vec![page.clone(), page]);
    let output = Command::new(env!("CARGO_BIN_EXE_punctual"))
        .args(["job", "list", "--server", &address])
        .env("HOME", "/nonexistent")
        .output()
        .expect("started");
    assert_eq!(output.status.code(), Some(1));
    let error = text(&output.stderr);
    assert!(error.contains("the server's nextLink leads back to the page that it came with"), "{error}");
    assert_eq!(served.join().expect("served")[1], "GET /again HTTP/1.1");
}

/// Answers one connection with this.
fn serve_once(answer: String) -> (String, thread::JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("bound");
    let address = format!("http://{}", listener.local_addr().expect("bound"));
    let served = thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a connection");
        let mut reader = BufReader::new(stream.try_clone().expect("cloned"));
        let mut line = String::new();
        while reader.read_line(&mut line).is_ok_and(|read| read > 2) {
            line.clear();
        }
        stream.write_all(answer.as_bytes()).expect("written");
    });
    (address, served)
}

/// What a command says to this answer: its status, standard output and error.
fn command(answer: &str, arguments: &[&str]) -> (Option<i32>, String, String) {
    let (address, served) = serve_once(answer.to_owned());
    let output = Command::new(env!("CARGO_BIN_EXE_punctual"))
        .args(arguments)
        .args(["--server", &address])
        .env("HOME", "/nonexistent")
        .env_remove("XDG_CONFIG_HOME")
        .env_remove("PUNCTUAL_CONTEXT")
        .output()
        .expect("started");
    served.join().expect("served");
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

#[test]
fn what_is_not_from_a_server_of_ours_is_no_success() {
    // A proxy that asks people to sign in answers 200 with a page; another server may answer 200 with nothing.
    for page in ["<html>Please sign in</html>", "", "{}"] {
        let head = "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length";
        let answer = format!("{head}: {}\r\n\r\n{page}", page.len());
        for arguments in [
            &["export"][..],
            &["job", "run", "a"],
            &["job", "enable", "a"],
            &["job", "delete", "a", "--yes"],
            &["nodes"],
            &["token", "list"],
            &["role", "list"],
            &["audit", "verify"],
        ] {
            let (status, said, error) = command(&answer, arguments);
            assert_eq!(status, Some(1), "{arguments:?}: {said}{error}");
            assert_eq!(said, "", "{arguments:?}");
            assert!(error.contains("not as Punctual does"), "{arguments:?}: {error}");
        }
    }
}

#[test]
fn an_answer_of_another_shape_is_an_error() {
    for body in ["[]", "7", "null", "{}", r#"{"value": {"a": 1}}"#] {
        let head = "HTTP/1.1 200 OK\r\nx-ms-request-id: 1\r\nconnection: close\r\ncontent-length";
        let answer = format!("{head}: {}\r\n\r\n{body}", body.len());
        for arguments in [
            &["job", "list"][..],
            &["collection", "list"],
            &["history", "a"],
            &["ledger"],
            &["nodes"],
            &["token", "list"],
            &["role", "list"],
            &["audit", "list"],
            &["audit", "verify"],
        ] {
            let (status, said, error) = command(&answer, arguments);
            assert_eq!((status, said.as_str()), (Some(1), ""), "{arguments:?} {body}: {error}");
            assert!(error.contains("is it Punctual?"), "{arguments:?} {body}: {error}");
        }
    }
}

#[test]
fn a_text_cannot_be_made_to_look_like_another() {
    let token = r#"{"value": [{"id": "1", "name": "\u202eevil\u2066 \u2028\u001b[31m", "state": "good"}]}"#;
    let head = "HTTP/1.1 200 OK\r\nx-ms-request-id: 1\r\nconnection: close\r\ncontent-length";
    let (status, said, error) =
        command(&format!("{head}: {}\r\n\r\n{token}", token.len()), &["token", "list"]);
    assert_eq!(status, Some(0), "{error}");
    assert!(said.contains("\u{fffd}evil\u{fffd} \u{fffd}\u{fffd}[31m"), "{said:?}");
}

#[test]
fn a_shell_is_offered_names_only() {
    let jobs = r#"{"value": [{"name": "a;$(touch x)"}, {"name": "a b"}, {"name": "a-job"}, {"name": "a\u001b[2J"}]}"#;
    let head = "HTTP/1.1 200 OK\r\nx-ms-request-id: 1\r\nconnection: close\r\ncontent-length";
    let (address, served) = serve_once(format!("{head}: {}\r\n\r\n{jobs}", jobs.len()));
    let output = Command::new(env!("CARGO_BIN_EXE_punctual"))
        .args(["--", "punctual", "job", "show", "a"])
        .env("HOME", "/nonexistent")
        .env("PUNCTUAL_SERVER", address)
        .env("PUNCTUAL_COMPLETE", "bash")
        .env("_CLAP_COMPLETE_INDEX", "3")
        .env("_CLAP_IFS", "\n")
        .output()
        .expect("started");
    served.join().expect("served");
    assert_eq!(text(&output.stdout), "a-job");
}
