//! The commands that talk to a server, as people use them; what they say is pinned in `snapshots/`.
//!
//! To accept other words: run with `INSTA_UPDATE=always`, then read the difference.

#[allow(dead_code, reason = "each test file uses its part")]
mod running;
mod session;

use insta::assert_snapshot;
use serde_json::{Value, json};
use session::Session;

#[test]
fn a_first_job() {
    let mut session = Session::start(&[]);
    session
        .type_in("punctual job list")
        .type_in("punctual collection create default && punctual job list")
        .type_in("punctual collection delete default --yes -q")
        .type_in("punctual job create nightly --every '1 day' --at 05:15 --start 2028-01-01 --url $ECHO")
        .type_in("punctual job create nightly --every '1 day' --at 05:15 --url $ECHO")
        .type_in("punctual job create nightly --if-absent --every '1 day' --at 05:15 --url $ECHO")
        .type_in("punctual job create nightly --replace --every week --on mon-fri --at 05:15,17:15 --start 2028-01-01 --time-zone Europe/Paris --url $ECHO --retries 3 --retry-interval PT1M --on-error-url $ECHO/sorry --catch-up last --overlap skip")
        .type_in("punctual job list")
        .type_in("punctual job list -q")
        .type_in("punctual job list --all-collections --sort next --order desc")
        .type_in("punctual job list --all-collections --state disabled")
        .type_in("punctual job list --search default")
        .type_in("punctual job list --all-collections --search default -q")
        .type_in("punctual job show nightly")
        .type_in("punctual collection list");
    assert_snapshot!(session.transcript());

    let shown = session.run("punctual job show nightly --json");
    let job: Value = serde_json::from_slice(&shown.stdout).expect("JSON");
    let upcoming = &job["upcoming"];
    assert_eq!(upcoming["timeZone"], "Europe/Paris", "{job}");
    assert_eq!(
        upcoming["sentence"],
        "Monday to Friday at 05:15 and 17:15 Europe/Paris time, from 1 January 2028"
    );
    let at: Vec<&str> = upcoming["occurrences"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|run| run["at"].as_str())
        .collect();
    let expected = ["03T04:15", "03T16:15", "04T04:15", "04T16:15", "05T04:15"];
    assert_eq!(at, expected.map(|time| format!("2028-01-{time}:00Z")), "{job}");
    // What it shows can be written as it is.
    let copied = session.run("punctual job show nightly --json | punctual job create copy --file - -q");
    assert!(copied.status.success(), "{}", String::from_utf8_lossy(&copied.stderr));
    let switched_off = session.run("punctual job disable copy -q && punctual job show copy");
    assert!(String::from_utf8_lossy(&switched_off.stdout).contains("next runs     -\n"));
}

#[test]
fn what_is_wrong_is_said_and_has_its_status() {
    let mut session = Session::start(&[]);
    session
        .type_in("punctual job show nobody")
        .type_in("punctual collection create c -q")
        .type_in("punctual job show nobody --collection c")
        .type_in("punctual job create j --collection nowhere --url $ECHO")
        .type_in("punctual job create j --every '5 seconds' --at 25:00 --url $ECHO")
        .type_in("punctual job create j --collection c --url ftp://x --retries 99 --every day --count 0")
        .type_in("punctual job create j --collection c")
        .type_in("punctual job create 'a b/ü' --collection c --url $ECHO")
        .type_in("punctual job show 'a b/ü' --collection c")
        .type_in("punctual job show ../c --collection c")
        .type_in("punctual job show ''")
        .type_in("punctual job show -- --help")
        .type_in("punctual job create j --collection c --url $ECHO --user clerk < /dev/null")
        .type_in("echo '{' | punctual job create j --collection c --file -")
        .type_in("echo '{}' | punctual job create j --collection c --file -")
        .type_in("punctual collection create c")
        .type_in("punctual collection create d --tag team")
        .type_in("punctual history j --since yesterday")
        .type_in("punctual job list --context nowhere")
        .type_in("punctual job list --server nonsense")
        .type_in("punctual job list --server http://127.0.0.1:1");
    assert_snapshot!(session.transcript());
}

#[test]
fn a_job_is_edited_and_nothing_is_lost() {
    let mut session = Session::start(&[]);
    let edit = "punctual job edit hello";
    session
        .type_in("echo word | punctual job create hello --every day --start 2028-01-01 --url $ECHO --user clerk --secret-file - -q")
        .type_in(&format!("{edit} --set recurrence.interval=2 --set state=Disabled --dry-run"))
        .type_in(&format!("{edit} --set recurrence.interval=2 --set recurrence.endTime=2028-03-01"))
        .type_in(&format!("{edit} --set recurrence.interval=2"))
        .type_in(&format!("{edit} --set recurrence.endTime=null"))
        .type_in(&format!("{edit} --set recurrence.interval=0"))
        .type_in(&format!("{edit} --set nonsense --set .x=1"))
        .type_in(&format!("EDITOR='sed -i s/GET/PUT/' {edit}"))
        .type_in(&format!("EDITOR=true {edit}"))
        .type_in(&format!("EDITOR=false {edit}"));
    assert_snapshot!(session.transcript());

    // What is refused, and what comes too late, is kept.
    let refused = session.run(&format!("EDITOR='sed -i s/PUT/P:T/' {edit}"));
    assert_eq!(refused.status.code(), Some(2));
    let meanwhile =
        "f() { punctual job edit hello -q --set recurrence.interval=3; sed -i s/PUT/POST/ \"$1\"; }; f";
    let late = session.run(&format!("EDITOR='{meanwhile}' {edit}"));
    let said = String::from_utf8_lossy(&late.stderr).into_owned();
    assert_eq!(late.status.code(), Some(4), "{said}");
    let command = said.split('`').nth(1).expect("the command that goes on");
    assert!(session.run(command).status.success());
    let job = session.run("punctual job show hello --json").stdout;
    let job: Value = serde_json::from_slice(&job).expect("JSON");
    let request = &job["properties"]["action"]["request"];
    assert_eq!(request["method"], "POST", "{job}");
    assert_eq!(request["authentication"], json!({"type": "Basic", "username": "clerk"}), "{job}");
    let kept = std::fs::read_dir(session.folder.path()).expect("read").flatten();
    let kept = kept.filter(|file| file.file_name().to_string_lossy().starts_with("punctual-"));
    assert_eq!(kept.count(), 2, "the two texts, and no other");
}

#[test]
fn many_at_once() {
    let mut session = Session::start(&[]);
    for name in ["a1", "a2", "b1"] {
        let line = format!("punctual job create {name} -q --every day --start 2028-01-01 --url $ECHO");
        assert!(session.run(&line).status.success());
    }
    session
        .type_in("punctual job disable a1 A1 b1 --dry-run")
        .type_in("punctual job disable a1 b1")
        .type_in("punctual job disable a1")
        .type_in("punctual job disable --all")
        .type_in("punctual job enable --all --state disabled --search A --yes --json")
        .type_in("punctual job enable b1 nobody a2")
        .type_in("punctual job delete a1")
        .type_in("punctual job delete a1 --dry-run")
        .type_in("punctual job delete --all --search a --yes")
        .type_in("punctual job delete --all --state faulted --yes")
        .type_in("punctual job list -q")
        .type_in("punctual job delete")
        .type_in("punctual collection disable default --dry-run")
        .type_in("punctual collection disable default")
        .type_in("punctual collection disable default")
        .type_in("punctual job run b1")
        .type_in("punctual collection delete default nowhere --yes")
        .type_in("punctual collection delete default")
        .type_in("punctual collection delete default --dry-run --json")
        .type_in("punctual collection delete default --yes");
    assert_snapshot!(session.transcript());
}

#[test]
fn a_run_is_waited_for() {
    let session = Session::start(&[]);
    let run = |line: &str| {
        let output = session.run(line);
        let said = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        (output.status.code(), said.concat())
    };
    assert_eq!(run("punctual job create good -q --every day --start 2028-01-01 --url $ECHO").0, Some(0));
    let bad =
        "punctual job create bad -q --every day --start 2028-01-01 --url http://127.0.0.1:1/ --retries 0";
    assert_eq!(run(bad).0, Some(0));
    let (status, said) = run("punctual job run good --wait --timeout 60");
    assert!(status == Some(0) && said.starts_with("good ran. Http Action"), "{said}");
    let (status, said) = run("punctual job run bad --wait");
    assert!(status == Some(1) && said.starts_with("error: bad faulted. Every attempt"), "{said}");
    let (status, said) = run("punctual job run bad --wait --json 2> /dev/null");
    let entry: Value = serde_json::from_str(&said).expect("JSON");
    assert_eq!((status, &entry["state"], &entry["cause"]), (Some(1), &json!("faulted"), &json!("run")));
    assert_eq!(run("punctual job run nobody --wait").0, Some(3));

    let (_, history) = run("punctual history bad");
    assert_eq!(history.lines().count(), 3, "a heading and two attempts: {history}");
    assert!(history.lines().skip(1).all(|line| line.contains("failed  main    1")), "{history}");
    let (_, history) = run("punctual history bad --status completed");
    assert_eq!(history, "note: no attempts match: see --status, --since and --until\n");
    let (_, ledger) = run("punctual ledger --not-run --json");
    let entries: Vec<Value> = ledger.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert!(entries.len() == 2 && entries.iter().all(|entry| entry["state"] == "faulted"), "{ledger}");
    let (_, ledger) = run("punctual ledger --job good --limit 5 -q");
    assert_eq!(ledger.lines().count(), 1, "{ledger}");
    assert_eq!(run("punctual ledger --state nonsense").0, Some(2));
}

#[test]
fn contexts_say_where_commands_go() {
    let mut session = Session::start(&[]);
    session
        .type_in("punctual context list")
        .type_in("punctual context set home --server $PUNCTUAL_SERVER --group house")
        .type_in("punctual context set away --server http://127.0.0.1:1 --use")
        .type_in("punctual context set away --server nonsense")
        .type_in("punctual context list")
        .type_in("punctual context show")
        .type_in("punctual context show --context away --json")
        .type_in("env -u PUNCTUAL_SERVER punctual collection list")
        .type_in("PUNCTUAL_CONTEXT=home punctual collection create c")
        .type_in("punctual context use nowhere")
        .type_in("punctual context use home --dry-run")
        .type_in("punctual context use home")
        .type_in("env -u PUNCTUAL_SERVER punctual collection list")
        .type_in("punctual context remove away --dry-run --json")
        .type_in("punctual context remove away")
        .type_in("punctual context use --none --json --dry-run")
        .type_in("punctual context set home --collection c --json")
        .type_in("punctual context list --json")
        .type_in("stat -c %a .config/punctual/contexts.toml");
    assert_snapshot!(session.transcript());
}

#[test]
fn a_dry_run_says_what_would_be_and_does_nothing() {
    let mut session = Session::start(&[]);
    session
        .type_in("punctual job create j --every day --start 2028-01-01 --url $ECHO --dry-run")
        .type_in("punctual job create j --every day --start 2028-01-01 --url nowhere --dry-run")
        .type_in("punctual job create j --collection c --url $ECHO --dry-run")
        .type_in("punctual collection list")
        .type_in("punctual job create j --every day --start 2028-01-01 --url $ECHO -q")
        .type_in("punctual job create j --every day --start 2028-01-01 --url $ECHO --dry-run")
        .type_in("punctual job create j --every '2 days' --start 2028-01-01 --url $ECHO --replace --dry-run")
        .type_in("punctual job create j --every day --url $ECHO --if-absent --dry-run")
        .type_in("punctual job run j --dry-run")
        .type_in("punctual collection create c --plan p20premium --dry-run")
        .type_in("punctual collection create default --dry-run")
        .type_in("punctual collection create default --if-absent --dry-run");
    assert_snapshot!(session.transcript());
}

#[test]
fn long_lists_are_read_to_their_end_or_to_where_the_reader_stops() {
    let session = Session::start(&[]);
    let made = session.run("punctual collection create many --plan p20premium -q");
    assert!(made.status.success());
    let base =
        "/subscriptions/default/resourceGroups/default/providers/Microsoft.Scheduler/jobCollections/many";
    let job = json!({"properties": {"state": "Disabled", "action":
        {"type": "Http", "request": {"method": "GET", "uri": "http://127.0.0.1:1/"}}}});
    for i in 0..250 {
        let path = format!("{base}/jobs/j{i:03}?api-version=2016-03-01");
        assert_eq!(session.server.call("PUT", &path, Some(&job)).0, 201);
    }
    let all = session.run("punctual job list --collection many --json");
    assert_eq!(String::from_utf8_lossy(&all.stdout).lines().count(), 250);
    let table = session.run("punctual job list --all-collections");
    assert_eq!(String::from_utf8_lossy(&table.stdout).lines().count(), 251, "one heading");
    let found = session.run("punctual job list --collection many --search J24 -q");
    assert_eq!(String::from_utf8_lossy(&found.stdout).lines().count(), 10);
    let cut = session.run("punctual job list --collection many --json | head -1");
    assert!(cut.status.success() && cut.stderr.is_empty(), "{}", String::from_utf8_lossy(&cut.stderr));
    let gone = session.run("punctual job delete --collection many --all --yes --json");
    assert_eq!(String::from_utf8_lossy(&gone.stdout).lines().count(), 250);
}

#[test]
fn who_asks_too_much_waits() {
    let session = Session::start(&[("PUNCTUAL_API_WRITES", "1"), ("PUNCTUAL_API_RATE_WINDOW", "2s")]);
    let made = session.run("punctual collection create a -q && punctual collection create b -q");
    let said = String::from_utf8_lossy(&made.stderr);
    assert!(made.status.success(), "{said}");
    assert!(said.contains("note: You have used up your requests"), "{said}");
}

#[test]
fn colours_are_for_terminals_and_for_those_who_ask() {
    let session = Session::start(&[]);
    assert!(session.run("punctual collection create c -q").status.success());
    let list = |line: &str| String::from_utf8_lossy(&session.run(line).stdout).into_owned();
    assert!(!list("punctual collection list").contains('\u{1b}'));
    assert!(list("punctual collection list --color always").contains("\u{1b}[32mEnabled\u{1b}[0m"));
    assert!(!list("punctual collection list --color never").contains('\u{1b}'));
}

#[test]
fn the_doctor_finds_what_is_wrong() {
    let session = Session::start(&[]);
    let doctor = |arguments: &str| {
        let output = session.run(&format!("punctual doctor --json {arguments}"));
        let findings: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        (output.status.code(), findings)
    };
    let verdict = |findings: &Value, check: &str| {
        let mut all = findings["findings"].as_array().into_iter().flatten();
        all.find(|finding| finding["check"] == check).map(|finding| finding["verdict"].clone())
    };
    let address = session.server.address;
    let (status, found) = doctor(&format!("--data data --listen {address}"));
    assert_eq!(status, Some(0), "{found}");
    for check in
        ["configuration.settings", "data.rights", "data.lock", "data.store", "clock.server", "network.listen"]
    {
        assert_eq!(verdict(&found, check), Some(json!("ok")), "{check}: {found}");
    }

    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("bound");
    std::thread::spawn({
        let listener = listener.try_clone().expect("cloned");
        move || listener.incoming().for_each(drop)
    });
    std::fs::create_dir(session.folder.path().join("broken")).expect("made");
    std::fs::write(session.folder.path().join("broken/punctual.db"), "x".repeat(5000)).expect("written");
    let held = listener.local_addr().expect("bound");
    let (status, found) = doctor(&format!("--data broken --listen {held}"));
    assert_eq!((status, &found["wrong"]), (Some(1), &json!(2)), "{found}");
    for check in ["data.store", "network.listen"] {
        assert_eq!(verdict(&found, check), Some(json!("wrong")), "{check}: {found}");
    }

    std::fs::write(session.folder.path().join("wrong.toml"), "lisen = \"x\"\n").expect("written");
    let (status, found) = doctor("--config wrong.toml");
    assert_eq!(
        (status, verdict(&found, "configuration.settings")),
        (Some(1), Some(json!("wrong"))),
        "{found}"
    );
    let (_, found) = doctor("--data data/punctual.db --server http://127.0.0.1:1");
    assert_eq!(verdict(&found, "data.rights"), Some(json!("wrong")), "{found}");
    assert_eq!(verdict(&found, "clock.server"), Some(json!("unknown")), "{found}");
}

#[test]
fn shells_are_told_the_names_of_jobs() {
    let session = Session::start(&[]);
    assert!(
        session
            .run("punctual job create nightly -q --every day --start 2028-01-01 --url $ECHO")
            .status
            .success()
    );
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = session.run(&format!("punctual completions {shell}"));
        assert!(String::from_utf8_lossy(&script.stdout).contains("PUNCTUAL_COMPLETE"), "{shell}");
    }
    let ask = "set +u; source <(punctual completions bash); COMP_WORDS=(punctual job show ni); COMP_CWORD=3; \
               COMP_TYPE=9 _clap_complete_punctual punctual ni show; echo ${COMPREPLY[@]}";
    // Nobody at a prompt waits long, so on a busy machine an answer may come too late and is left out.
    running::until("the name of the job", || session.run(ask).stdout == b"nightly\n");
}

#[test]
fn variables_that_are_no_text() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt as _;
    let folder = tempfile::tempdir().expect("a folder");
    let run = |name: &str, arguments: &[&str]| {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_punctual"));
        command.args(arguments).current_dir(folder.path()).env("HOME", folder.path());
        let output = command.env(name, OsStr::from_bytes(b"a\xff")).output().expect("run");
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let offline = ["token", "create", "a", "--offline", "--data", "data"];
    // What others keep there is their own affair.
    assert_eq!(run("SOMEBODY_ELSE", &offline).0, Some(0));
    for (name, arguments) in [
        ("PUNCTUAL_DATA", &["serve", "--listen", "127.0.0.1:0"][..]),
        ("PUNCTUAL_DATA", &offline),
        ("PUNCTUAL_SERVER", &["job", "list"]),
        ("PUNCTUAL_CONTEXT", &["job", "list"]),
        ("PUNCTUAL_TOKEN", &["job", "list"]),
    ] {
        let (status, error) = run(name, arguments);
        assert_eq!(status, Some(2), "{name}: {error}");
        assert!(error.contains(&format!("{name}: its value is not UTF-8")), "{error}");
    }
}

#[test]
fn an_address_has_no_more_than_it_needs() {
    let session = Session::start(&[]);
    for more in ["?x=y", "#here"] {
        let output = session.run(&format!("punctual job list --server $PUNCTUAL_SERVER'{more}'"));
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{error}");
        assert!(error.contains("a user, a query or a fragment"), "{error}");
    }
    let output = session.run("punctual job list --server http://ann:secret@127.0.0.1:1");
    assert_eq!(output.status.code(), Some(2));
}
