//! Somebody at a command line, beside a running server: what they type and what they read.

use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command, Output};

use tempfile::TempDir;

use crate::running::Server;

/// A server and a folder to work in.
pub(crate) struct Session {
    pub(crate) server: Server,
    pub(crate) folder: TempDir,
    transcript: String,
}

impl Session {
    pub(crate) fn start(settings: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let server = Server::start(&folder.path().join("data"), settings);
        Self { server, folder, transcript: String::new() }
    }

    /// Runs a line of shell.
    #[allow(dead_code, reason = "each test file uses its part")]
    pub(crate) fn run(&self, line: &str) -> Output {
        self.shell(line).output().expect("run")
    }

    /// A line of shell that is still to be run.
    pub(crate) fn shell(&self, line: &str) -> Command {
        let binaries = Path::new(env!("CARGO_BIN_EXE_punctual")).parent().expect("a folder");
        let path = format!("{}:{}", binaries.display(), std::env::var("PATH").unwrap_or_default());
        let mut command = Command::new("bash");
        command
            .args(["-uo", "pipefail", "-c", line])
            .current_dir(self.folder.path())
            .env("PATH", path)
            .env("HOME", self.folder.path())
            .env_remove("XDG_CONFIG_HOME")
            .env_remove("PUNCTUAL_CONTEXT")
            .env("TMPDIR", self.folder.path())
            .env("PUNCTUAL_SERVER", self.address())
            .env("ECHO", format!("{}/api/echo", self.address()));
        command
    }

    pub(crate) fn address(&self) -> String {
        format!("http://{}", self.server.address)
    }

    /// Types a line: it and all that it says are written down.
    #[allow(dead_code, reason = "each test file uses its part")]
    pub(crate) fn type_in(&mut self, line: &str) -> &mut Self {
        let output = self.run(line);
        let said = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned());
        let _ = write!(self.transcript, "$ {line}\n{}{}", said[0], said[1]);
        if let Some(status) = output.status.code().filter(|status| *status != 0) {
            let _ = writeln!(self.transcript, "[status {status}]");
        }
        self
    }

    /// All that was written down, without what differs from run to run.
    #[allow(dead_code, reason = "each test file uses its part")]
    pub(crate) fn transcript(&self) -> String {
        let folder = self.folder.path().display().to_string();
        let text = self.transcript.replace(&self.address(), "http://SERVER").replace(&folder, "FOLDER");
        without_times(&text)
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.server.kill_now();
    }
}

/// Writes TIME for every date with a time of day, and drops a weekday before it.
fn without_times(text: &str) -> String {
    const FORM: &str = "dddd-dd-dd?dd:dd:dd";
    let matches = |bytes: &[u8]| {
        bytes.len() >= FORM.len()
            && FORM.bytes().zip(bytes).all(|(form, byte)| match form {
                b'd' => byte.is_ascii_digit(),
                b'?' => matches!(byte, b'T' | b' '),
                other => other == *byte,
            })
    };
    let (bytes, mut out, mut i) = (text.as_bytes(), Vec::new(), 0);
    while i < bytes.len() {
        if matches(&bytes[i..]) {
            out.extend_from_slice(b"TIME");
            i += FORM.len();
            i += bytes[i..].iter().take_while(|byte| byte.is_ascii_digit() || **byte == b'.').count();
            i += usize::from(bytes.get(i) == Some(&b'Z'));
        } else {
            out.push(bytes[i]);
            i += 1;
        }
    }
    let mut text = String::from_utf8(out).expect("whole letters were left alone");
    for day in ["Mon ", "Tue ", "Wed ", "Thu ", "Fri ", "Sat ", "Sun "] {
        text = text.replace(&format!("{day}TIME"), "TIME");
    }
    text
}
