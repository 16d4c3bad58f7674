//! `punctual keys`: what seals the secrets of a server.

use std::io::{self, Write as _};
use std::time::Duration;

use anyhow::Context as _;
use clap::{Args, Subcommand};
use http::Method;
use http_body_util::BodyExt as _;
use serde::Deserialize;
use serde_json::{Value, json};
use store::{Key, KeyId};

use crate::client::{self, Client, Problem};
use crate::output::{Format, Output, many};
use crate::progress::Progress;
use crate::target::Server;

/// The options of `keys`.
#[derive(Debug, Args)]
pub(crate) struct Options {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Print a new key, for PUNCTUAL_SECRETS_KEY or secrets.key-file
    #[command(after_help = "Examples:\n  punctual keys generate\n  punctual keys generate > punctual.key")]
    Generate,
    /// Show the keys of a running server by their ids, and how many definitions each has sealed
    #[command(after_help = "Examples:\n  punctual keys status\n  punctual keys status --json")]
    Status {
        #[command(flatten)]
        format: Format,
        #[command(flatten)]
        server: Server,
    },
    /// Seal the secrets of a running server with another key
    #[command(after_help = ROTATION)]
    Rotate(Rotate),
}

#[derive(Debug, Args)]
struct Rotate {
    /// Say what would be done, and do nothing
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    format: Format,
    #[command(flatten)]
    server: Server,
}

const ROTATION: &str = "Jobs go on running meanwhile. Where the server made its own key, it makes another. Where secrets.key-file
names a file, put the new key before the old one there first. Where the keys come from the environment, the
server has to be started again with the new one in front; this says how.
It can be interrupted: the server goes on, and so does a server that is started again.

Examples:
  punctual keys rotate --dry-run
  punctual keys rotate";

/// How often the server is asked how far it is.
const INTERVAL: Duration = Duration::from_millis(200);

/// The code of the answer where the keys are not the server's to change.
const FROM_ENVIRONMENT: &str = "KeysFromEnvironment";

/// What a server says of its keys.
#[derive(Debug, Deserialize)]
struct Standing {
    source: String,
    file: Option<String>,
    keys: Vec<KeyUse>,
    /// Of a dry run: the key that would come first, where it is there already.
    next: Option<KeyId>,
    /// All of it, as it was said.
    #[serde(skip)]
    said: Value,
}

#[derive(Debug, Deserialize)]
struct KeyUse {
    id: KeyId,
    seals: bool,
    needed: bool,
    definitions: u64,
}

impl Standing {
    /// The key that seals.
    fn first(&self) -> anyhow::Result<&KeyUse> {
        self.keys.first().context("the server names no key")
    }

    /// Definitions that are still to be sealed anew.
    fn left(&self) -> u64 {
        self.keys.iter().filter(|key| !key.seals).map(|key| key.definitions).sum()
    }

    /// Whether the store needs one key only.
    fn is_done(&self) -> bool {
        self.keys.iter().all(|key| key.seals || !key.needed)
    }

    /// Where the keys are, for people.
    fn place(&self) -> &str {
        self.file.as_deref().unwrap_or("PUNCTUAL_SECRETS_KEY")
    }
}

pub(crate) fn run(options: &Options) -> anyhow::Result<()> {
    match &options.command {
        Command::Generate => Ok(writeln!(io::stdout(), "{}", *Key::generate()?.text())?),
        Command::Status { format, server } => client::wait(async {
            let standing = ask(&server.client()?, Method::GET, "/api/keys").await?;
            print(*format, &standing)
        }),
        Command::Rotate(options) => client::wait(async {
            let client = options.server.client()?;
            if options.dry_run {
                foresee(&client, options.format).await
            } else {
                rotate(&client, options.format).await
            }
        }),
    }
}

async fn rotate(client: &Client, format: Format) -> anyhow::Result<()> {
    let mut standing = match ask(client, Method::POST, "/api/keys/rotate").await {
        Err(error) if is_of_environment(&error) => return advise(client, format).await,
        other => other?,
    };
    let before: Vec<KeyId> =
        standing.keys.iter().filter(|key| !key.seals && key.needed).map(|key| key.id.clone()).collect();
    let total = standing.left();
    let progress = Progress::steps(total);
    while !standing.is_done() {
        progress.at(total.saturating_sub(standing.left()));
        tokio::time::sleep(INTERVAL).await;
        standing = ask(client, Method::GET, "/api/keys").await?;
    }
    drop(progress);
    let (first, place) = (standing.first()?, standing.place());
    let mut text = format!("All secrets are sealed with the key {}.", first.id);
    for id in &before {
        text += &match (&*standing.source, &standing.file) {
            ("managed", Some(_)) => format!(
                "\nThe key {id} was removed from {place}; only backups of before need it. Keep a copy of the file \
                 apart from the data."
            ),
            _ => format!("\nThe key {id} can be removed from {place}; only backups of before need it."),
        };
    }
    let result = outcome("rotated", false, &standing, Some(&first.id), &before);
    Ok(Output::new(format).done(&text, &result)?)
}

/// Says what a rotation would do.
async fn foresee(client: &Client, format: Format) -> anyhow::Result<()> {
    let standing = match ask(client, Method::POST, "/api/keys/rotate?dryRun=true").await {
        Err(error) if is_of_environment(&error) => {
            let standing = ask(client, Method::GET, "/api/keys").await?;
            let text = "would change nothing: the server takes its keys from PUNCTUAL_SECRETS_KEY when it starts; \
                        without --dry-run this prints a new key and says where it goes";
            let result = outcome("restart", true, &standing, None, &[]);
            return Ok(Output::new(format).done(text, &result)?);
        }
        other => other?,
    };
    let place = standing.place();
    let (text, replaced) = if standing.is_done() {
        let first = standing.first()?;
        let sealed = many(first.definitions, "definition");
        let text = match &standing.next {
            Some(next) => format!("would seal {sealed} with the key {next}, the first of {place}"),
            None => format!("would make another key in {place}, and seal {sealed} with it"),
        };
        (format!("{text}, in place of the key {}", first.id), vec![first.id.clone()])
    } else {
        let old = standing.keys.iter().filter(|key| !key.seals && key.needed).map(|key| key.id.clone());
        let text = format!("would go on with a change of keys: {} left", many(standing.left(), "definition"));
        (text, old.collect())
    };
    let result = outcome("rotated", true, &standing, standing.next.as_ref(), &replaced);
    Ok(Output::new(format).done(&text, &result)?)
}

/// What was done or would be, for programs. There is no key where it is still to be made.
fn outcome(
    result: &str,
    dry_run: bool,
    standing: &Standing,
    key: Option<&KeyId>,
    replaced: &[KeyId],
) -> Value {
    json!({
        "result": result,
        "dryRun": dry_run,
        "source": standing.source,
        "file": standing.file,
        "key": key.map(KeyId::as_str),
        "replaced": replaced.iter().map(KeyId::as_str).collect::<Vec<_>>(),
    })
}

fn is_of_environment(error: &anyhow::Error) -> bool {
    error.downcast_ref::<Problem>().is_some_and(|problem| problem.code.as_deref() == Some(FROM_ENVIRONMENT))
}

/// What to do where only a restart brings another key.
async fn advise(client: &Client, format: Format) -> anyhow::Result<()> {
    let standing = ask(client, Method::GET, "/api/keys").await?;
    let new = Key::generate()?;
    let old = standing.first()?;
    let text = new.text();
    let mut result = outcome("restart", false, &standing, Some(new.id()), &[]);
    result["newKey"] = text.as_str().into();
    // The quiet get the new key: without it there would be no point in having asked.
    Output::new(format).thing(&result, &text, |out| {
        let says =
            format!("The server takes its keys from {}; the key {} seals. A new key:", standing.place(), old.id);
        out.line(&says)?;
        out.line("")?;
        out.line(&format!("  {}", *text))?;
        out.line("")?;
        out.line(
            "Put it there before the present value, with a comma between them (NEW,OLD), and start the server again.",
        )?;
        out.line(
            "It then seals everything with the new key; `punctual keys status` tells when the old one can be removed.",
        )
    })?;
    Ok(())
}

fn print(format: Format, standing: &Standing) -> anyhow::Result<()> {
    let place = standing.place();
    Output::new(format).thing(&standing.said, standing.first()?.id.as_str(), |out| {
        out.line(&match (&*standing.source, &standing.file) {
            ("managed", Some(_)) => format!("The keys are in {place}, made by the server."),
            (_, Some(_)) => format!("The keys are in {place}."),
            _ => format!("The keys come from {place}."),
        })?;
        for key in &standing.keys {
            let part = match (key.seals, key.needed) {
                (true, _) => "seals",
                (false, true) => "opens; being replaced",
                (false, false) => "not needed",
            };
            out.line(&format!("{}  {:>21}  {part}", key.id, many(key.definitions, "definition")))?;
        }
        Ok(())
    })?;
    Ok(())
}

async fn ask(client: &Client, method: Method, path: &str) -> anyhow::Result<Standing> {
    let answer = client.send(method, path, None).await?;
    let body = answer.into_body().collect().await.context("the answer broke off")?.to_bytes();
    let unclear = "the server does not say what keys it has";
    let mut standing: Standing = serde_json::from_slice(&body).context(unclear)?;
    standing.said = serde_json::from_slice(&body).context(unclear)?;
    Ok(standing)
}
