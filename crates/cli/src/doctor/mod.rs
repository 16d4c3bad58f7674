//! `punctual doctor`: what is wrong with this machine and its settings, and what helps.
//!
//! Each module looks at one part and changes nothing. What cannot be known is said to be unknown.

mod clock;
mod configuration;
mod data;
mod database;
mod keys;
mod network;

use std::path::PathBuf;

use anyhow::bail;
use clap::Args;
use serde_json::{Value, json};
use server::config::{Config, Flags, load_here};

use crate::client;
use crate::output::{Format, Output};
use crate::target::Server;

/// The options of `doctor`.
#[derive(Debug, Args)]
#[command(
    after_help = "It looks at the settings that `punctual serve` would use with the same options, and at the server that
the other commands would talk to. The status is 1 if something is wrong.

Examples:
  punctual doctor --data /tmp/punctual-demo
  punctual doctor --config punctual.toml --json"
)]
pub(crate) struct Options {
    /// Where the API is served, as for `serve`
    #[arg(long, value_name = "ADDR")]
    listen: Option<String>,
    /// The folder of the embedded store, as for `serve`
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// A PostgreSQL database in place of the embedded store, as for `serve`
    #[arg(long, value_name = "URL")]
    database: Option<String>,
    /// A file of settings, as for `serve`
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    #[command(flatten)]
    format: Format,
    #[command(flatten)]
    server: Server,
}

/// How something is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Ok,
    Unknown,
    Warning,
    Wrong,
}

impl Verdict {
    fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Unknown => "unknown",
            Self::Warning => "warning",
            Self::Wrong => "wrong",
        }
    }
}

/// What was found of one thing.
struct Finding {
    /// `data.rights`, `clock.server`: a name that stays.
    check: &'static str,
    verdict: Verdict,
    /// What is so.
    says: String,
    /// What helps.
    fix: Option<String>,
}

impl Finding {
    fn new(check: &'static str, verdict: Verdict, says: impl Into<String>) -> Self {
        Self { check, verdict, says: says.into(), fix: None }
    }

    fn ok(check: &'static str, says: impl Into<String>) -> Self {
        Self::new(check, Verdict::Ok, says)
    }

    fn unknown(check: &'static str, says: impl Into<String>) -> Self {
        Self::new(check, Verdict::Unknown, says)
    }

    fn warning(check: &'static str, says: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { fix: Some(fix.into()), ..Self::new(check, Verdict::Warning, says) }
    }

    fn wrong(check: &'static str, says: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { fix: Some(fix.into()), ..Self::new(check, Verdict::Wrong, says) }
    }

    fn json(&self) -> Value {
        json!({"check": self.check, "verdict": self.verdict.word(), "says": self.says, "fix": self.fix})
    }
}

pub(crate) fn run(options: &Options) -> anyhow::Result<()> {
    let flags = Flags {
        config: options.config.clone(),
        listen: options.listen.clone(),
        data: options.data.clone(),
        database: options.database.clone(),
        ..Flags::default()
    };
    let loaded = load_here(&flags);
    let mut findings = configuration::look(&loaded, options.config.as_deref());
    client::wait(async {
        // Without settings there is no store and no address to look at.
        if let Ok(config) = &loaded {
            findings.extend(store(config).await);
        }
        findings.extend(clock::look(&options.server).await);
        if let Ok(config) = &loaded {
            findings.extend(network::look(config.listen).await);
        }
        Ok(())
    })?;
    print(options.format, &findings)?;
    match findings.iter().filter(|finding| finding.verdict == Verdict::Wrong).count() {
        0 => Ok(()),
        1 => bail!("one thing is wrong"),
        many => bail!("{many} things are wrong"),
    }
}

/// Where the jobs are, and the keys that it needs.
async fn store(config: &Config) -> Vec<Finding> {
    let Some(database) = &config.database else {
        let mut findings = data::look(config, crate::now());
        findings.push(keys::look(config));
        return findings;
    };
    let (mut findings, found) = database::look(database).await;
    findings.push(keys::look_shared(config, found.as_ref()));
    findings
}

fn print(format: Format, findings: &[Finding]) -> anyhow::Result<()> {
    let mut output = Output::new(format);
    if format.json {
        let wrong = findings.iter().filter(|finding| finding.verdict == Verdict::Wrong).count();
        let findings: Vec<Value> = findings.iter().map(Finding::json).collect();
        output.thing(&json!({"wrong": wrong, "findings": findings}), "", |_| Ok(()))?;
        return Ok(());
    }
    for finding in findings.iter().filter(|finding| !format.quiet || finding.verdict == Verdict::Wrong) {
        output.verdict(finding.verdict.word(), finding.check, &finding.says)?;
        if let Some(fix) = &finding.fix {
            output.line(&format!("{:9}  {fix}", ""))?;
        }
    }
    Ok(output.flush()?)
}
