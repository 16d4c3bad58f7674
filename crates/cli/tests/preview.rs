//! `punctual preview` as its users meet it: the real binary, what it prints and how it ends.

use std::io::{Read, Write};
use std::process::{Command, Output, Stdio};

const NOW: &str = "--now=2027-03-24T10:00:00Z";

/// Every day at 02:30 in Paris, over the night in which there is no 02:30.
const JOB: &str = r#"{"name": "c/j", "properties": {"startTime": "2027-03-26T02:30:00+01:00", "state": "Enabled",
    "recurrence": {"frequency": "Day", "timeZone": "Europe/Paris"}}}"#;

fn punctual(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_punctual"));
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Runs `punctual preview` with a document on standard input.
fn preview(arguments: &[&str], document: impl AsRef<[u8]>) -> Output {
    let mut command = punctual(&["preview"]);
    let mut child = command.args(arguments).stdin(Stdio::piped()).spawn().expect("the binary starts");
    // It may refuse before it has read everything; then there is nobody to write to.
    let _ = child.stdin.take().expect("a pipe").write_all(document.as_ref());
    child.wait_with_output().expect("it ends")
}

fn out(output: &Output) -> &str {
    std::str::from_utf8(&output.stdout).expect("UTF-8")
}

fn err(output: &Output) -> &str {
    std::str::from_utf8(&output.stderr).expect("UTF-8")
}

#[track_caller]
fn times(output: &Output) -> Vec<String> {
    assert_eq!(output.status.code(), Some(0), "{}", err(output));
    serde_json::from_slice(&output.stdout).expect("a JSON array of texts")
}

/// The document is refused: status 2, nothing on standard output, exactly this on standard error.
#[track_caller]
fn refused(output: &Output, says: &str) {
    assert_eq!((output.status.code(), out(output), err(output)), (Some(2), "", says));
}

#[test]
fn a_table_for_people() {
    let output = preview(&[NOW, "--count=4", "-"], JOB);
    assert_eq!(err(&output), "");
    assert_eq!(
        out(&output),
        "\
Every day at 02:30 Europe/Paris time, from 26 March 2027.

#  Europe/Paris                    UTC                   distance
1  Fri 2027-03-26 02:30:00 +01:00  2027-03-26T01:30:00Z  in 1d 15h 30m
2  Sat 2027-03-27 02:30:00 +01:00  2027-03-27T01:30:00Z  1d
3  Sun 2027-03-28 03:30:00 +02:00  2027-03-28T01:30:00Z  1d
4  Mon 2027-03-29 02:30:00 +02:00  2027-03-29T00:30:00Z  23h
… and so on.
note: On 28 March 2027 the clock jumps from 02:00 to 03:00: the run of 02:30 happens at 03:30
"
    );
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn utc_has_one_column_and_the_end_has_a_reason() {
    for (document, table) in [
        (
            r#"{"frequency": "month", "count": 2}"#,
            "\
At once, then every month on the 24th at 10:00 UTC, 2 times in all.

#  UTC                       distance
1  Wed 2027-03-24T10:00:00Z  now
2  Sat 2027-04-24T10:00:00Z  31d
That was the last occurrence: count is 2.
",
        ),
        (
            r#"{"frequency": "hour", "endTime": "2027-03-24T11:59:59.5Z"}"#,
            "\
At once, then every hour, until 24 March 2027 at 11:59:59.5 UTC.

#  UTC                       distance
1  Wed 2027-03-24T10:00:00Z  now
2  Wed 2027-03-24T11:00:00Z  1h
That was the last occurrence: endTime is 2027-03-24T11:59:59.5Z.
",
        ),
        (
            r#"{"startTime": "2027-03-25T00:00:00.25Z"}"#,
            "\
Once, on 25 March 2027 at 00:00:00.25 UTC.

#  UTC                          distance
1  Thu 2027-03-25T00:00:00.25Z  in 14h
That is the only occurrence: there is no recurrence.
",
        ),
    ] {
        assert_eq!(out(&preview(&[NOW], document)), table, "{document}");
    }
}

#[test]
fn json_for_programs() {
    let output = preview(&[NOW, "--count=3", "--json"], JOB);
    assert_eq!(times(&output), ["2027-03-26T01:30:00Z", "2027-03-27T01:30:00Z", "2027-03-28T01:30:00Z"]);
    assert_eq!(err(&output), "");
    let output =
        preview(&["--now=2027-01-01T00:00:00.1234567Z", "--json"], r#"{"frequency": "hour", "count": 2}"#);
    assert_eq!(times(&output), ["2027-01-01T00:00:00.1234567Z", "2027-01-01T01:00:00.1234567Z"]);
    assert_eq!(times(&preview(&["--json"], JOB)).len(), 10);
}

#[test]
fn all_three_shapes_from_a_file_or_from_standard_input() {
    let recurrence =
        r#"{"frequency": "week", "count": 2, "schedule": {"weekDay": "monday", "hours": 9, "minutes": 0}}"#;
    let properties = format!(r#"{{"startTime": "2027-03-01", "recurrence": {recurrence}}}"#);
    let job = format!(r#"{{"properties": {properties}}}"#);
    let expected = ["2027-03-29T09:00:00Z", "2027-04-05T09:00:00Z"];
    for document in [&job, &properties] {
        assert_eq!(times(&preview(&[NOW, "--json", "-"], document)), expected);
        assert_eq!(times(&preview(&[NOW, "--json"], document)), expected);
        let file = tempfile::NamedTempFile::new().expect("a file");
        std::fs::write(&file, document).expect("it can be written");
        let path = file.path().to_str().expect("UTF-8");
        let output = punctual(&["preview", NOW, "--json", path]).output().expect("the binary starts");
        assert_eq!(times(&output), expected);
    }
    // Without a start it runs at once as well.
    assert_eq!(
        times(&preview(&[NOW, "--json"], recurrence)),
        ["2027-03-24T10:00:00Z", "2027-03-29T09:00:00Z"]
    );
}

#[test]
fn cron() {
    let run = |arguments: &[&str]| {
        let all = [&["preview", NOW, "--json", "--count=2"], arguments].concat();
        punctual(&all).output().expect("the binary starts")
    };
    assert_eq!(times(&run(&["--cron", "30 9 * * 1-5"])), ["2027-03-25T09:30:00Z", "2027-03-26T09:30:00Z"]);
    assert_eq!(
        times(&run(&["--cron", "30 9 * * *", "--zone", "Europe/Paris", "--start", "2027-03-27T12:00Z"])),
        ["2027-03-28T07:30:00Z", "2027-03-29T07:30:00Z"]
    );
    let output = run(&["--cron", "61 * * * *", "--zone", "Mars", "--start", "soon"]);
    assert_eq!(output.status.code(), Some(2));
    let starts: Vec<_> =
        err(&output).lines().map(|line| line.split(" is not").next().unwrap_or_default()).collect();
    assert_eq!(
        starts,
        [r#"error: --start: "soon""#, r#"error: --cron: "61 * * * *""#, r#"error: --zone: "Mars""#]
    );
    for wrong in
        [&["--cron", "@daily", "job.json"][..], &["--zone", "UTC", "-"], &["--start", "2027-01-01", "-"]]
    {
        let output = run(wrong);
        assert_eq!(output.status.code(), Some(2), "{wrong:?}");
        assert!(err(&output).contains("Usage:"), "{}", err(&output));
    }
}

#[test]
fn every_fault_is_a_line_with_its_path() {
    let document = r#"{"properties": {"startTime": "tomorrow", "recurrence": {"frequency": "day", "interval": 0,
        "schedule": {"hours": [5, "six"], "minute": 60, "minutes": [0]}}}}"#;
    let dates = "an ISO 8601 date-time such as 2027-03-28T02:30:00Z, 2027-03-28T02:30+01:00 or 2027-03-28 (UTC \
         where no offset is given)";
    refused(
        &preview(&[NOW], document),
        &format!(
            "\
error: properties.startTime: \"tomorrow\" is not allowed here; allowed: {dates}
error: properties.recurrence.interval: 0 is not allowed here; allowed: with frequency day, a whole number from 1 to 548
error: properties.recurrence.schedule.minutes: minute beside minutes is not allowed here; allowed: only one of them
error: properties.recurrence.schedule.hours[1]: \"six\" is not allowed here; allowed: a whole number from 0 to 23
"
        ),
    );
    let output = preview(&[], r#"{"name": "a"}"#);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        err(&output).starts_with("error: document: an object without any of these members is not allowed")
    );
    let wrong = vec!["99"; 1000].join(",");
    let output = preview(&[], format!(r#"{{"frequency": "day", "schedule": {{"minutes": [{wrong}]}}}}"#));
    assert_eq!(err(&output).lines().count(), 21);
    assert!(err(&output).ends_with("error: and 980 more like these\n"), "{}", err(&output));
}

#[test]
fn what_is_not_json_is_shown_where_it_is() {
    for (document, says) in [
        (
            "{\n  \"frequency\": \"day\", // every day\n  \"interval\": 1\n}",
            "error: standard input:2:23: JSON has no comments: remove it
  2 |   \"frequency\": \"day\", // every day
    |                       ^
",
        ),
        (
            "{\r\n\t\"frequency\": \"day\",\r\n}\r\n",
            "error: standard input:2:20: no comma may stand before a closing bracket: remove it
  2 |  \"frequency\": \"day\",
    |                    ^
",
        ),
        ("", "error: standard input:1:1: the input is empty; a JSON object is expected\n"),
        ("\u{feff} \n", "error: standard input:1:1: the input is empty; a JSON object is expected\n"),
    ] {
        refused(&preview(&[NOW, "--json"], document), says);
    }
    refused(
        &preview(&[], b"\x7fELF\x02\x01\x01\0\xff\xfe"),
        "error: standard input:1:9: this is not UTF-8 text\n",
    );
    let endless = vec![b'['; 3 << 20];
    refused(&preview(&[], endless), "error: standard input has more than 1 MiB; a job is a few kilobytes\n");
    let deep = preview(&[], "[".repeat(1 << 20));
    assert_eq!(deep.status.code(), Some(2));
    assert!(err(&deep).contains("127 deep"), "{}", err(&deep));
}

#[test]
fn a_file_that_cannot_be_read() {
    let output = punctual(&["preview", "no-such-job.json"]).output().expect("the binary starts");
    assert_eq!(output.status.code(), Some(2));
    assert!(err(&output).starts_with("error: no-such-job.json cannot be read: "), "{}", err(&output));
    let output = punctual(&["preview", "."]).output().expect("the binary starts");
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn what_is_ignored_is_said_and_does_not_disturb() {
    let document = r#"{"recurrence": {"frequency": "day", "freqency": "week"}, "startTime": "2027-03-25"}"#;
    let output = preview(&[NOW, "--count=1", "--json"], document);
    assert_eq!(times(&output), ["2027-03-25T00:00:00Z"]);
    assert_eq!(err(&output), "warning: recurrence.freqency is not a member Punctual knows; it is ignored\n");
}

#[test]
fn a_job_that_does_not_run_is_said_not_to() {
    for (state, note) in [
        ("Disabled", "note: The job is disabled: it does not run until it is enabled\n"),
        ("completed", "note: The job is completed: it does not run again\n"),
    ] {
        let document = format!(r#"{{"state": "{state}", "recurrence": {{"frequency": "day"}}}}"#);
        let output = preview(&[NOW], document);
        assert!(out(&output).ends_with(note), "{}", out(&output));
        assert_eq!(output.status.code(), Some(0));
    }
    assert!(!out(&preview(&[NOW], JOB)).contains("The job is"));
}

#[test]
fn what_a_document_says_does_not_steer_the_terminal() {
    let output = preview(&[], r#"{"cron": "\u001b[31m * * * *", "\u001b[2J": 1, "timeZone": "\u009b31m"}"#);
    assert_eq!(output.status.code(), Some(2));
    assert!(!err(&output).contains(|c: char| c.is_control() && c != '\n'), "{:?}", err(&output));
}

#[test]
fn a_reader_that_leaves_is_no_failure() {
    let mut command = punctual(&["preview", "--count=100000", "--cron", "* * * * *"]);
    let mut child = command.spawn().expect("the binary starts");
    let mut first = [0; 10];
    child.stdout.take().expect("a pipe").read_exact(&mut first).expect("there is a table");
    let output = child.wait_with_output().expect("it ends");
    assert_eq!((output.status.code(), err(&output)), (Some(0), ""));
}

#[test]
fn usage() {
    let nothing = punctual(&[]).output().expect("the binary starts");
    assert_eq!(nothing.status.code(), Some(2));
    assert!(err(&nothing).contains("Usage: punctual [OPTIONS] <COMMAND>"), "{}", err(&nothing));
    let version = punctual(&["--version"]).output().expect("the binary starts");
    assert_eq!(out(&version), format!("punctual {}\n", env!("CARGO_PKG_VERSION")));
    let help = punctual(&["preview", "--help"]).output().expect("the binary starts");
    assert_eq!(help.status.code(), Some(0));
    for word in ["--now", "--count", "--json", "--cron", "--zone", "--start", "Examples:", "100000"] {
        assert!(out(&help).contains(word), "{word}");
    }
    for wrong in ["--count=0", "--count=100001", "--now=soon", "--frequency=day"] {
        let output = preview(&[wrong], JOB);
        assert_eq!((output.status.code(), out(&output)), (Some(2), ""), "{wrong}");
    }
}
