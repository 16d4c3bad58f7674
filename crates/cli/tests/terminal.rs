//! The commands at a terminal, which here is a pseudo-terminal: what they ask, what each answer does, colours and widths.

#[allow(dead_code, reason = "each test file uses its part")]
mod running;
mod session;

use rexpect::process::{Signal, WaitStatus};
use rexpect::session::{PtySession, spawn_command};
use session::Session;

/// The longest to wait for anything, in milliseconds: far more than it takes.
const PATIENCE: u64 = 120_000;

/// What an answer is ended with, as the Enter key does.
const ENTER: &str = "\r";

/// Types a line at a terminal; what runs there is the last command of it.
fn at_terminal(session: &Session, line: &str) -> PtySession {
    let mut command = session.shell(line);
    command.env("TERM", "xterm-256color").env_remove("NO_COLOR");
    spawn_command(command, Some(PATIENCE)).expect("started")
}

/// All that is still said, and the status.
fn ended(mut terminal: PtySession) -> (String, Option<i32>) {
    let said = terminal.exp_eof().expect("an end");
    // The crate takes each byte for a letter.
    let bytes: Vec<u8> = said.chars().filter_map(|letter| u8::try_from(letter).ok()).collect();
    let said = String::from_utf8(bytes).expect("UTF-8");
    match terminal.process().wait().expect("waited for") {
        WaitStatus::Exited(_, status) => (said, Some(status)),
        // As a shell tells it.
        WaitStatus::Signaled(_, Signal::SIGINT, _) => (said, None),
        other => panic!("{other:?}: {said}"),
    }
}

/// The jobs that there are.
fn jobs(session: &Session) -> String {
    let list = session.run("punctual job list -q");
    String::from_utf8_lossy(&list.stdout).split_whitespace().collect::<Vec<_>>().join(" ")
}

fn with_jobs(names: &[&str]) -> Session {
    let session = Session::start(&[]);
    for name in names {
        let line = format!("punctual job create {name} -q --every day --start 2028-01-01 --url $ECHO");
        assert!(session.run(&line).status.success());
    }
    session
}

#[test]
fn nothing_is_deleted_but_after_a_yes() {
    let session = with_jobs(&["a", "b", "c"]);
    for answer in ["n", "no", "", "nonsense", "y e s"] {
        let mut terminal = at_terminal(&session, "exec punctual job delete a");
        terminal.exp_string("[y/N] ").expect("a question");
        terminal.send(&format!("{answer}{ENTER}")).expect("typed");
        terminal.flush().expect("sent");
        let (said, status) = ended(terminal);
        assert!(status == Some(1) && said.contains("nothing was done"), "{answer}: {status:?} {said}");
        assert_eq!(jobs(&session), "a b c", "{answer}");
    }
    for (answer, name, left) in [("y", "a", "b c"), ("YES", "b", "c")] {
        let mut terminal = at_terminal(&session, &format!("exec punctual job delete {name}"));
        terminal.exp_string("[y/N] ").expect("a question");
        terminal.send(&format!("{answer}{ENTER}")).expect("typed");
        terminal.flush().expect("sent");
        let (said, status) = ended(terminal);
        assert!(status == Some(0) && said.contains(&format!("deleted {name}")), "{status:?} {said}");
        assert_eq!(jobs(&session), left);
    }
    // What is printed may go elsewhere: the question is for whoever sits there.
    let mut terminal =
        at_terminal(&session, "punctual collection delete default | cat; exit ${PIPESTATUS[0]}");
    let asked = terminal.exp_string("[y/N] ").expect("a question");
    assert!(asked.contains("Delete default (1 job)"), "{asked}");
    terminal.send(&format!("n{ENTER}")).expect("typed");
    terminal.flush().expect("sent");
    assert_eq!(ended(terminal).1, Some(1));
    assert_eq!(jobs(&session), "c");
}

#[test]
fn whoever_breaks_off_a_question_has_said_no() {
    let session = with_jobs(&["a"]);
    let mut terminal = at_terminal(&session, "exec punctual job delete --all");
    terminal.exp_string("[y/N] ").expect("a question");
    terminal.send_control('c').expect("typed");
    assert_eq!(ended(terminal).1, None, "ended by Ctrl-C");
    let mut terminal = at_terminal(&session, "exec punctual job delete a");
    terminal.exp_string("[y/N] ").expect("a question");
    terminal.send_control('d').expect("typed");
    let (said, status) = ended(terminal);
    assert!(status == Some(1) && said.contains("nothing was done"), "{status:?} {said}");
    assert_eq!(jobs(&session), "a");
}

#[test]
fn who_cannot_be_asked_has_to_say_it_beforehand() {
    let session = with_jobs(&["a", "b"]);
    for line in [
        "punctual job delete a < /dev/null",
        "punctual job delete a 2> errors",
        "punctual job disable --all < /dev/null",
    ] {
        let (said, status) = ended(at_terminal(&session, line));
        assert_eq!(status, Some(2), "{line}: {said}");
        assert!(!said.contains("[y/N]"), "{line}: {said}");
    }
    assert_eq!(jobs(&session), "a b");
    let (said, status) = ended(at_terminal(&session, "exec punctual job delete a --yes"));
    assert!(status == Some(0) && !said.contains("[y/N]"), "{status:?} {said}");
    let (said, status) = ended(at_terminal(&session, "exec punctual job delete b --dry-run"));
    assert!(status == Some(0) && said.contains("would delete b"), "{status:?} {said}");
    assert_eq!(jobs(&session), "b");
}

#[test]
fn secrets_are_asked_for() {
    let session = Session::start(&[]);
    let line = "exec punctual job create j --every day --start 2028-01-01 --url $ECHO --user clerk";
    let mut terminal = at_terminal(&session, line);
    terminal.exp_string("password").expect("a question");
    terminal.send(&format!("a secret{ENTER}")).expect("typed");
    terminal.flush().expect("sent");
    let (said, status) = ended(terminal);
    assert!(status == Some(0) && !said.contains("a secret"), "{status:?} {said}");
    assert_eq!(jobs(&session), "j");

    let mut terminal = at_terminal(&session, &line.replace("create j", "create k"));
    terminal.exp_string("password").expect("a question");
    terminal.send_control('c').expect("typed");
    let (said, status) = ended(terminal);
    assert_ne!(status, Some(0), "{said}");
    assert_eq!(jobs(&session), "j", "nothing was made");
}

#[test]
fn colours_are_for_whoever_can_see_them() {
    let session = with_jobs(&["a"]);
    const GREEN: &str = "\u{1b}[32menabled\u{1b}[0m";
    let said = |line: &str| ended(at_terminal(&session, line)).0;
    assert!(said("punctual job list").contains(GREEN));
    assert!(said("punctual job list --color always | cat").contains(GREEN));
    for line in [
        "punctual job list | cat",
        "NO_COLOR=1 punctual job list",
        "TERM=dumb punctual job list",
        "punctual job list --color never",
        "punctual job list --json",
    ] {
        let said = said(line);
        assert!(said.contains("nabled") && !said.contains('\u{1b}'), "{line}: {said:?}");
    }
    // An empty variable is none: https://no-color.org
    assert!(said("NO_COLOR= punctual job list").contains(GREEN));
    // Standard error is judged by itself.
    let red = "\u{1b}[1;31merror:\u{1b}[0m ";
    assert!(said("punctual job show nobody | cat").contains(red));
    assert!(said("punctual job show nobody 2>&1 | cat").starts_with("error: "));
}

#[test]
fn lines_end_where_the_terminal_ends() {
    let session = with_jobs(&["a-name-that-is-long-enough-to-fill-most-of-the-line"]);
    let (said, status) =
        ended(at_terminal(&session, "stty rows 24 cols 40; punctual job list --color never"));
    assert_eq!(status, Some(0), "{said}");
    let lines: Vec<&str> = said.lines().collect();
    assert_eq!(lines.len(), 2, "{said}");
    assert!(lines.iter().all(|line| line.chars().count() <= 40), "{said}");
    assert!(lines[1].ends_with('…'), "{said}");
    let (said, _) = ended(at_terminal(&session, "stty rows 24 cols 40; punctual job list | cat"));
    assert!(said.contains("/api/echo"), "a pipe has no end: {said}");
}

#[test]
fn what_is_watched_is_left_with_ctrl_c() {
    let session = with_jobs(&["a"]);
    let mut terminal = at_terminal(&session, "exec punctual job watch a");
    // Runs are made until one is seen: watching begins at some time after the start.
    let mut seen = String::new();
    running::until("a run is shown", || {
        assert!(session.run("punctual job run a -q").status.success());
        while let Some(letter) = terminal.try_read() {
            seen.push(letter);
        }
        seen.contains("completed")
    });
    terminal.send_control('c').expect("typed");
    let (said, status) = ended(terminal);
    assert_eq!(status, Some(0), "{seen}{said}");
}
