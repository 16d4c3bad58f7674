//! Secrets planted in every place that takes one, in jobs that succeed and fail, with the log at its loudest: they leave
//! in the calls that need them, and are found nowhere else.

mod running;

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;

use base64::Engine as _;
use base64::prelude::{BASE64_STANDARD, BASE64_STANDARD_NO_PAD, BASE64_URL_SAFE_NO_PAD};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use running::{COLLECTION, Server, job_path, ledger, until};
use serde_json::{Value, json};

/// Not secret: what must be found, or the search is blind.
const MARKER: &str = "clerk-marker";

// One for each place, with characters that look different in every form.
const BASIC: &str = "planted/basic+Pa55 word";
const PFX_PASSWORD: &str = "planted/pfx+Pa55 word";
const OAUTH: &str = "planted/oauth+Secr3t ~";
const SAS: &str = "sv=2019&sig=planted%2Fsas+S1gnature";
const BUS: &str = "planted/bus+K3y/of the bus==";
const DEEP_BASIC: &str = "planted/deep+basic Pa55";
const DEEP_OAUTH: &str = "planted/deep+oauth Secr3t";
const IMPORTED: &str = "planted/imported+Pa55 word";
const MISPLACED: &str = "planted/misplaced+Pa55 word";
const TEXTS: [&str; 9] = [BASIC, PFX_PASSWORD, OAUTH, SAS, BUS, DEEP_BASIC, DEEP_OAUTH, IMPORTED, MISPLACED];

/// All forms in which a text could lie somewhere.
fn forms(text: &str) -> Vec<Vec<u8>> {
    let in_json = Value::from(text).to_string();
    vec![
        text.into(),
        in_json.trim_matches('"').into(),
        BASE64_STANDARD_NO_PAD.encode(text).into(),
        BASE64_URL_SAFE_NO_PAD.encode(text).into(),
        // As Basic authentication sends it.
        BASE64_STANDARD_NO_PAD.encode(format!("{MARKER}:{text}")).into(),
        utf8_percent_encode(text, NON_ALPHANUMERIC).to_string().into(),
    ]
}

fn holds(bytes: &[u8], needle: &[u8]) -> bool {
    // Comparing windows takes minutes for megabytes without optimisation; this skips to where it may begin.
    let mut from = 0;
    while let Some(at) = bytes[from..].iter().position(|byte| *byte == needle[0]) {
        from += at;
        if bytes[from..].starts_with(needle) {
            return true;
        }
        from += 1;
    }
    false
}

/// What was seen, by where.
#[derive(Default)]
struct Seen(Vec<(String, Vec<u8>)>);

impl Seen {
    fn add(&mut self, place: impl Into<String>, bytes: impl Into<Vec<u8>>) {
        self.0.push((place.into(), bytes.into()));
    }

    fn add_folder(&mut self, what: &str, folder: &Path) {
        for file in fs::read_dir(folder).expect("read").flatten() {
            let place = format!("{what}: {}", file.file_name().display());
            self.add(place, fs::read(file.path()).expect("read"));
        }
    }

    fn places_of(&self, needle: &[u8]) -> Vec<&str> {
        self.0.iter().filter(|(_, bytes)| holds(bytes, needle)).map(|(place, _)| &**place).collect()
    }
}

/// A target that remembers every byte; what is asked for under `/fail` fails.
fn target() -> (SocketAddr, Arc<Mutex<Vec<u8>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("bound");
    let address = listener.local_addr().expect("bound");
    let heard = Arc::new(Mutex::new(Vec::new()));
    let remembered = heard.clone();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let heard = remembered.clone();
            thread::spawn(move || answer(stream, &heard));
        }
    });
    (address, heard)
}

fn answer(stream: TcpStream, heard: &Mutex<Vec<u8>>) -> Option<()> {
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    let mut stream = stream;
    let (mut head, mut length) = (String::new(), 0);
    loop {
        let before = head.len();
        reader.read_line(&mut head).ok().filter(|read| *read > 0)?;
        let line = head[before..].trim_end().to_ascii_lowercase();
        if line.is_empty() {
            break;
        }
        if let Some(value) = line.strip_prefix("content-length: ") {
            length = value.parse().ok()?;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    heard.lock().expect("not poisoned").extend([head.as_bytes(), &body].concat());
    let status = if head.contains("/fail") { "500 Failed" } else { "201 Created" };
    write!(stream, "HTTP/1.1 {status}\r\ncontent-length: 2\r\nconnection: close\r\n\r\nok").ok()
}

/// One call; the whole answer, head and all.
fn raw(server: &Server, method: &str, path: &str, body: &str) -> Vec<u8> {
    let mut stream = TcpStream::connect(server.address).expect("connected");
    write!(
        stream,
        "{method} {path} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\ncontent-type: application/json\r\n\
         content-length: {}\r\n\r\n{body}",
        server.address,
        body.len()
    )
    .expect("written");
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).expect("an answer");
    answer
}

fn openssl(folder: &Path, arguments: &str, word: &str) {
    let run =
        Command::new("openssl").args(arguments.split(' ')).env("WORD", word).current_dir(folder).output();
    let run = run.expect("openssl");
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
}

/// A certificate file, for machines that can make one.
fn pfx() -> Option<Vec<u8>> {
    Command::new("openssl").arg("version").output().ok()?;
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    openssl(
        at,
        "req -x509 -newkey rsa:2048 -nodes -keyout own.key -out own.pem -days 99 -subj /CN=caller",
        "",
    );
    openssl(at, "pkcs12 -export -in own.pem -inkey own.key -out own.pfx -passout env:WORD", PFX_PASSWORD);
    Some(fs::read(at.join("own.pfx")).expect("made"))
}

fn http(uri: &str, authentication: &Value) -> Value {
    json!({"type": "Http", "retryPolicy": {"retryType": "none"},
        "request": {"method": "POST", "uri": uri, "body": "x", "authentication": authentication}})
}

fn basic(password: &str) -> Value {
    json!({"type": "Basic", "username": MARKER, "password": password})
}

fn oauth(secret: &str) -> Value {
    json!({"type": "ActiveDirectoryOAuth", "tenant": "t", "audience": "a", "clientId": "c", "secret": secret})
}

fn queue(account: &str) -> Value {
    json!({"type": "StorageQueue", "retryPolicy": {"retryType": "none"},
        "queueMessage": {"storageAccount": account, "queueName": "q", "sasToken": SAS, "message": "m"}})
}

fn bus(kind: &str, transport: &str) -> Value {
    let message = json!({"queueName": "q", "topicPath": "t", "namespace": "n", "message": "m",
        "transportType": transport,
        "authentication": {"type": "SharedAccessKey", "sasKeyName": "sender", "sasKey": BUS}});
    json!({"type": format!("ServiceBus{kind}"), "retryPolicy": {"retryType": "none"},
        format!("serviceBus{kind}Message"): message})
}

fn under(mut action: Value, error_action: Value) -> Value {
    action["errorAction"] = error_action;
    action
}

/// Jobs with a secret in each place: in actions that succeed, in actions that fail, and at every depth.
fn actions(target: SocketAddr, pfx: Option<&[u8]>) -> Vec<Value> {
    let (ok, fail) = (format!("http://{target}/ok"), format!("http://{target}/fail"));
    let mut actions = vec![
        http(&ok, &basic(BASIC)),
        http("http://127.0.0.1:1/", &basic(BASIC)),
        http(&ok, &oauth(OAUTH)),
        queue("fine"),
        queue("fail"),
        bus("Queue", "NetMessaging"),
        bus("Topic", "AMQP"),
        under(
            http(&fail, &basic(BASIC)),
            under(queue("fail"), under(bus("Topic", "AMQP"), http(&fail, &basic(DEEP_BASIC)))),
        ),
        under(http(&fail, &oauth(OAUTH)), under(http(&fail, &oauth(DEEP_OAUTH)), bus("Queue", "AMQP"))),
    ];
    if let Some(pfx) = pfx {
        let pfx = BASE64_STANDARD.encode(pfx);
        let certificate = json!({"type": "ClientCertificate", "pfx": pfx, "password": PFX_PASSWORD});
        let https = format!("https://{target}/");
        actions.push(http(&https, &certificate));
        actions.push(under(http(&fail, &basic(BASIC)), http(&https, &certificate)));
    }
    actions
}

/// Requests with secrets where they do not belong, and with faults around them.
fn wrong(actions: &[Value]) -> Vec<String> {
    let body = |action: &Value| json!({"properties": {"action": action}}).to_string();
    let mut wrong = vec![
        body(
            &json!({"type": "Http", "request": {"method": "GET", "uri": "http://a", "authentication": MISPLACED}}),
        ),
        body(
            &json!({"type": "Http", "request": {"method": "GET", "uri": "http://a", "password": MISPLACED}}),
        ),
        body(&json!({"type": "Http", "request": MISPLACED})),
        body(&json!({"type": "Http", "password": MISPLACED, "request": {"method": "GET"}})),
        body(&http("http://a", &json!({"type": "Basic", "username": MARKER, "password": [MISPLACED]}))),
        body(&http(
            "http://a",
            &json!({"type": "ClientCertificate", "pfx": MISPLACED, "password": MISPLACED}),
        )),
        body(
            &json!({"type": "StorageQueue", "queueMessage": {"queueName": "q", "sasToken": {"a": MISPLACED}}}),
        ),
    ];
    for action in actions {
        let mut faulty = json!({"properties": {"action": action, "startTime": "soon", "state": "asleep"}});
        wrong.push(faulty.to_string());
        faulty["properties"]["recurrence"] = json!({"frequency": "never", "schedule": {"minutes": [75]}});
        wrong.push(faulty.to_string());
        // Cut off in the middle: no JSON.
        wrong.push(body(action).trim_end_matches('}').to_owned());
    }
    wrong
}

/// The commands, with what they print.
fn commands(server: &Server, folder: &Path, seen: &mut Seen) {
    let template = json!({
        "$schema": "https://schema.management.azure.com/schemas/2015-01-01/deploymentTemplate.json#",
        "contentVersion": "1.0.0.0",
        "parameters": {"password": {"type": "securestring"}},
        "resources": [{
            "type": "Microsoft.Scheduler/jobCollections/jobs", "apiVersion": "2016-03-01", "name": "c/imported",
            "properties": {"state": "Disabled", "recurrence": {"frequency": "day"},
                "action": http("http://127.0.0.1:1/", &basic("[parameters('password')]"))},
        }],
    });
    fs::write(folder.join("template.json"), template.to_string()).expect("written");
    let password = format!("password={IMPORTED}");
    let import = ["import", "template.json", "--set", &password, "--subscription", "s", "--group", "g"];
    let other = format!("password={MISPLACED}");
    let again =
        ["import", "template.json", "--set", &other, "--subscription", "s", "--group", "g", "--dry-run"];
    let rows: [&[&str]; 6] = [
        &import,
        &again,
        &["export", "--subscription", "s", "-o", "exported.json"],
        &["export", "--subscription", "s"],
        &["backup", "backup.db"],
        &["keys", "status"],
    ];
    for arguments in rows {
        let output = Command::new(env!("CARGO_BIN_EXE_punctual"))
            .args(arguments)
            .env("PUNCTUAL_SERVER", format!("http://{}", server.address))
            .current_dir(folder)
            .output()
            .expect("run");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{}: {said}", arguments[0]);
        seen.add(format!("what {} says", arguments[0]), [output.stdout, output.stderr].concat());
    }
    for file in ["exported.json", "backup.db"] {
        seen.add(file, fs::read(folder.join(file)).expect("written"));
    }
}

#[test]
fn planted_secrets_are_found_in_calls_and_nowhere_else() {
    let (data, folder) = (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
    let (target, heard) = target();
    let pfx = pfx();
    let actions = actions(target, pfx.as_deref());
    let log = folder.path().join("log");
    let (accounts, rest) = (format!("http://{target}/{{account}}"), format!("http://{target}/{{namespace}}"));
    let settings = [
        ("PUNCTUAL_LOG_LEVEL", "trace"),
        ("PUNCTUAL_STORAGE_QUEUE_ENDPOINT", &*accounts),
        ("PUNCTUAL_SERVICE_BUS_REST", &rest),
        // Nobody is there.
        ("PUNCTUAL_SERVICE_BUS_AMQP", "amqp://127.0.0.1:1"),
    ];
    let server =
        Server::start_logging(data.path(), &settings, Stdio::from(File::create(&log).expect("made")));
    let mut seen = Seen::default();

    let premium = json!({"location": "Local", "properties": {"sku": {"name": "P20Premium"}}});
    assert_eq!(server.call("PUT", COLLECTION, Some(&premium)).0, 201);
    for (n, action) in actions.iter().enumerate() {
        let body = json!({"properties": {"action": action}}).to_string();
        let answer = raw(&server, "PUT", &job_path(&format!("j{n}")), &body);
        assert!(answer.starts_with(b"HTTP/1.1 201"), "{}", String::from_utf8_lossy(&answer));
        seen.add(format!("answer to PUT of j{n}"), answer);
    }
    until("every job ran", || ledger(&server).len() == actions.len());

    for body in wrong(&actions) {
        for method in ["PUT", "PATCH"] {
            let answer = raw(&server, method, &job_path("j0"), &body);
            assert!(!answer.starts_with(b"HTTP/1.1 5"), "{}", String::from_utf8_lossy(&answer));
            seen.add(format!("answer to a wrong {method}"), answer);
        }
    }
    let mut paths = vec![
        COLLECTION.replace('?', "/jobs?"),
        "/api/ledger".to_owned(),
        "/api/export?subscription=s".to_owned(),
        "/api/keys".to_owned(),
    ];
    for n in 0..actions.len() {
        paths.extend([job_path(&format!("j{n}")), job_path(&format!("j{n}/history"))]);
    }
    for path in paths {
        seen.add(format!("answer to GET {path}"), raw(&server, "GET", &path, ""));
    }
    commands(&server, folder.path(), &mut seen);
    seen.add_folder("the data of a running server", data.path());
    server.terminate();
    seen.add_folder("the data of a stopped server", data.path());
    seen.add("the log", fs::read(&log).expect("read"));

    // What is no secret is found, so the search works; and the calls carried what they needed.
    let marked = seen.places_of(MARKER.as_bytes());
    for place in [
        "the data of a running server",
        "the data of a stopped server",
        "answer to GET",
        "exported.json",
        "backup.db",
    ] {
        assert!(marked.iter().any(|found| found.starts_with(place)), "{place} is not among {marked:?}");
    }
    assert_eq!(seen.places_of(b"TRACE"), ["the log"], "it is loud");
    let heard = heard.lock().expect("not poisoned").clone();
    for carried in
        [&*BASE64_STANDARD.encode(format!("{MARKER}:{BASIC}")), "sig=planted", "SharedAccessSignature"]
    {
        assert!(holds(&heard, carried.as_bytes()), "{carried} was not sent");
    }
    for text in TEXTS {
        for form in forms(text) {
            assert_eq!(seen.places_of(&form), [""; 0], "{text} as {}", String::from_utf8_lossy(&form));
        }
    }
    if let Some(pfx) = pfx {
        let middle = pfx.len() / 2;
        let text = BASE64_STANDARD.encode(&pfx);
        assert_eq!(seen.places_of(&pfx[middle..middle + 30]), [""; 0], "the certificate's file");
        assert_eq!(seen.places_of(&text.as_bytes()[100..160]), [""; 0], "the certificate's file as text");
    }
}
