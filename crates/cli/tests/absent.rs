//! What does not exist is an error with status 3 in every command that takes a name, and never an empty list.
//!
//! The commands are those that the binary shows; one that takes a place and has no row here fails this test.

#[allow(dead_code, reason = "each test file uses its part")]
mod running;
mod session;
mod walk;

use session::Session;

/// Commands with a place, and what they are given; `JOB` stands for the name of a job.
const ROWS: &[(&str, &[&str])] = &[
    ("collection delete", &["default --yes", "default --dry-run"]),
    ("collection disable", &["default"]),
    ("collection enable", &["default"]),
    ("collection list", &[""]),
    ("collection show", &["default"]),
    ("export", &[""]),
    ("history", &["JOB", "JOB --status failed"]),
    ("job delete", &["JOB --yes", "JOB --dry-run", "--all --yes"]),
    ("job disable", &["JOB", "--all --yes"]),
    ("job edit", &["JOB --set state=Disabled", "JOB --set state=Disabled --dry-run"]),
    ("job enable", &["JOB", "--all --yes"]),
    ("job list", &["", "--state faulted", "--all-collections", "--search x"]),
    ("job run", &["JOB", "JOB --wait", "JOB --dry-run"]),
    ("job show", &["JOB"]),
    ("job watch", &["JOB", ""]),
    ("ledger", &["--job JOB", "", "--not-run"]),
];

/// Commands that make what is not there yet, or only store names.
const MAKERS: &[&str] = &["collection create", "context set", "context show", "import", "job create"];

/// What exists, and its name with two letters exchanged.
const PLACES: [(&str, &str); 3] =
    [("--subscription", "subscription"), ("--group", "group"), ("--collection", "job collection")];

#[test]
fn what_does_not_exist_is_an_error_in_every_command() {
    let commands = walk::commands();
    let with_place: Vec<_> = commands.iter().filter(|(_, help)| help.contains("--subscription <")).collect();
    assert!(with_place.len() > 15, "the walk found {} commands with a place", with_place.len());
    let session = Session::start(&[]);
    let made = session.run("punctual job create nightly --every day --start 2028-01-01 --url $ECHO -q");
    assert!(made.status.success());
    for (path, help) in with_place {
        let name = path.join(" ");
        let Some((_, all)) = ROWS.iter().find(|(row, _)| *row == name) else {
            assert!(MAKERS.contains(&name.as_str()), "`punctual {name}` takes a place and has no row");
            continue;
        };
        for arguments in *all {
            let line = format!("punctual {name} {arguments}");
            if line.contains("JOB") {
                absent(&session, &line.replace("JOB", "nightyl"), "did you mean the job 'nightly'?");
            }
            let line = line.replace("JOB", "nightly");
            if line.contains(" default") {
                let wrong = line.replace(" default", " defualt");
                absent(&session, &wrong, "did you mean the job collection 'default'?");
            }
            for (option, what) in PLACES {
                let is_there = help.contains(&format!("{option} <"));
                if !is_there || arguments.contains("--all-collections") && option != "--subscription" {
                    continue;
                }
                let group = if name == "export" && option == "--collection" { "--group default" } else { "" };
                let wrong = format!("{line} {group} {option} defualt");
                absent(&session, &wrong, &format!("did you mean the {what} 'default'?"));
            }
        }
    }
    let shown = session.run("punctual job show nightly");
    assert!(String::from_utf8_lossy(&shown.stdout).contains("enabled"), "nothing was changed");
}

#[track_caller]
fn absent(session: &Session, line: &str, hint: &str) {
    let output = session.run(line);
    let [out, error] =
        [&output.stdout, &output.stderr].map(|said| String::from_utf8_lossy(said).into_owned());
    assert_eq!(output.status.code(), Some(3), "$ {line}\n{out}{error}");
    assert!(out.is_empty(), "$ {line}\n{out}");
    assert!(error.contains(hint), "$ {line}\n{error}");
}

/// A place of the context holds in the ledger: what others have is not shown as one's own.
#[test]
fn the_ledger_keeps_to_the_place_that_was_chosen() {
    let session = Session::start(&[]);
    let made = session.run(
        "for group in mine yours; do
            punctual collection create c --group $group -q || exit 1
            punctual job create job-$group --url $ECHO --group $group --collection c -q || exit 1
            punctual job run job-$group --wait --group $group --collection c -q 2>&1 || true
         done",
    );
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let jobs = |line: &str| {
        let output = session.run(line);
        assert!(output.status.success(), "$ {line}\n{}", String::from_utf8_lossy(&output.stderr));
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        ["mine", "yours"].map(|group| said.contains(&format!("job-{group}")))
    };
    running::until("both have run", || jobs("punctual ledger") == [true, true]);
    assert_eq!(jobs("punctual ledger --group mine"), [true, false]);
    assert_eq!(jobs("punctual ledger --group mine --not-run"), [false, false]);
    let context = session.run("punctual context set team --group yours && punctual context use team");
    assert!(context.status.success());
    assert_eq!(jobs("punctual ledger"), [false, true]);
    assert_eq!(jobs("punctual ledger --group mine"), [true, false]);
    assert_eq!(jobs("punctual ledger --all-collections"), [true, true]);
}

/// A check in cron asks with `--fail`: the status says whether anything is listed.
#[test]
fn the_ledger_fails_on_request() {
    let session = Session::start(&[]);
    let status = |line: &str| session.run(line).status.code();
    let made = session.run("punctual job create bad --url http://127.0.0.1:1/ --retries 0 -q");
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    running::until("it has failed", || status("punctual ledger --not-run --since 1h --fail") == Some(1));
    assert_eq!(status("punctual ledger --not-run --since 1h"), Some(0));
    assert_eq!(status("punctual ledger --state ran --since 1h --fail"), Some(0));
    assert_eq!(status("punctual ledger --not-run --fail --job nosuch"), Some(3));
    assert_eq!(status("punctual ledger --fail --server http://127.0.0.1:1"), Some(5));
    let said = session.run("punctual ledger --state missed --since 2026-01-01 --job bad");
    let said = String::from_utf8_lossy(&said.stderr).into_owned();
    assert!(
        said.contains(
            "no entries of the ledger match: job bad, collection default, group default, subscription default, \
             state missed, since 2026-01-01T00:00:00Z"
        ),
        "{said}"
    );
}

/// A list that is empty says why: nothing matches, nothing is there, or the jobs are somewhere else.
#[test]
fn an_empty_list_says_why() {
    let session = Session::start(&[]);
    let said = |line: &str| {
        let output = session.run(line);
        assert_eq!(output.status.code(), Some(0), "$ {line}");
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    assert!(said("punctual job list").contains("`punctual job create NAME` makes one"));
    let elsewhere = "punctual collection create c --group g --subscription s -q &&
         punctual job create j --every day --start 2028-01-01 --url $ECHO --subscription s --group g --collection c -q";
    assert_eq!(said(elsewhere), "");
    let hint = "the server has 1 job elsewhere, such as with --subscription s --group g --collection c";
    assert!(said("punctual job list").contains(hint), "{}", said("punctual job list"));
    let here = "--subscription s --group g --collection c";
    let none = "no jobs of the job collection c of s/g match: state faulted, 'x' in the name";
    let line = format!("punctual job list {here} --state faulted --search x");
    assert!(said(&line).contains(none), "{}", said(&line));
    let line = format!("punctual job disable --all --yes --state faulted {here}");
    assert!(
        said(&line).contains("the collection c has no jobs that match: state faulted"),
        "{}",
        said(&line)
    );
}

/// `--collection default` makes the default collection, as leaving the option out does.
#[test]
fn the_default_collection_is_made_by_its_name_too() {
    let session = Session::start(&[]);
    let line = "punctual job create j --url $ECHO --every day --start 2028-01-01 --collection default";
    for line in [format!("{line} --dry-run"), line.to_owned()] {
        let output = session.run(&line);
        assert!(output.status.success(), "$ {line}\n{}", String::from_utf8_lossy(&output.stderr));
    }
}
