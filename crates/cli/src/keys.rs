//! `punctual keys`: what seals the secrets of a server.

use std::io::{self, Write as _};
use std::time::Duration;

use anyhow::Context as _;
use clap::{Args, Subcommand};
use http::Method;
use http_body_util::BodyExt as _;
use serde::Deserialize;
use store::{Key, KeyId};

use crate::client::{self, Client, Problem};
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
    #[command(after_help = "Examples:\n  punctual keys status")]
    Status(Server),
    /// Seal the secrets of a running server with another key
    #[command(after_help = ROTATION)]
    Rotate(Server),
}

const ROTATION: &str = "Jobs go on running meanwhile. Where the server made its own key, it makes another. Where secrets.key-file
names a file, put the new key before the old one there first. Where the keys come from the environment, the
server has to be started again with the new one in front; this says how.
It can be interrupted: the server goes on, and so does a server that is started again.

Examples:
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
}

#[derive(Debug, Deserialize)]
struct KeyUse {
    id: KeyId,
    seals: bool,
    needed: bool,
    definitions: u64,
}

impl Standing {
    /// Definitions that are still to be sealed anew.
    fn left(&self) -> u64 {
        self.keys.iter().filter(|key| !key.seals).map(|key| key.definitions).sum()
    }

    /// Whether the store needs one key only.
    fn is_done(&self) -> bool {
        self.keys.iter().all(|key| key.seals || !key.needed)
    }
}

pub(crate) fn run(options: &Options) -> anyhow::Result<()> {
    match &options.command {
        Command::Generate => Ok(writeln!(io::stdout(), "{}", *Key::generate()?.text())?),
        Command::Status(server) => client::wait(async {
            let standing = ask(&server.client()?, Method::GET, "/api/keys").await?;
            print(&standing)
        }),
        Command::Rotate(server) => client::wait(rotate(server)),
    }
}

async fn rotate(server: &Server) -> anyhow::Result<()> {
    let client = server.client()?;
    let mut standing = match ask(&client, Method::POST, "/api/keys/rotate").await {
        Err(error) if is_of_environment(&error) => return advise(&client).await,
        other => other?,
    };
    let before: Vec<KeyId> =
        standing.keys.iter().filter(|key| !key.seals && key.needed).map(|key| key.id.clone()).collect();
    let total = standing.left();
    let progress = Progress::steps(total);
    while !standing.is_done() {
        progress.at(total.saturating_sub(standing.left()));
        tokio::time::sleep(INTERVAL).await;
        standing = ask(&client, Method::GET, "/api/keys").await?;
    }
    drop(progress);
    let first = standing.keys.first().context("the server names no key")?;
    let mut out = io::stdout();
    writeln!(out, "All secrets are sealed with the key {}.", first.id)?;
    for id in before {
        match (standing.source.as_str(), &standing.file) {
            ("managed", Some(file)) => writeln!(
                out,
                "The key {id} was removed from {file}; only backups of before need it. Keep a copy of the file \
                 apart from the data."
            )?,
            (_, Some(file)) => {
                writeln!(out, "The key {id} can be removed from {file}; only backups of before need it.")?;
            }
            _ => writeln!(
                out,
                "The key {id} can be removed from PUNCTUAL_SECRETS_KEY; only backups of before need it."
            )?,
        }
    }
    Ok(())
}

fn is_of_environment(error: &anyhow::Error) -> bool {
    error.downcast_ref::<Problem>().is_some_and(|problem| problem.code.as_deref() == Some(FROM_ENVIRONMENT))
}

/// What to do where only a restart brings another key.
async fn advise(client: &Client) -> anyhow::Result<()> {
    let standing = ask(client, Method::GET, "/api/keys").await?;
    let old = standing.keys.first().context("the server names no key")?;
    let new = Key::generate()?;
    let mut out = io::stdout();
    writeln!(
        out,
        "The server takes its keys from PUNCTUAL_SECRETS_KEY; the key {} seals. A new key:\n",
        old.id
    )?;
    writeln!(out, "  {}\n", *new.text())?;
    writeln!(
        out,
        "Put it there before the present value, with a comma between them (NEW,OLD), and start the server again.\n\
         It then seals everything with the new key; `punctual keys status` tells when the old one can be removed."
    )?;
    Ok(())
}

fn print(standing: &Standing) -> anyhow::Result<()> {
    let mut out = io::stdout();
    match (&*standing.source, &standing.file) {
        ("managed", Some(file)) => writeln!(out, "The keys are in {file}, made by the server.")?,
        (_, Some(file)) => writeln!(out, "The keys are in {file}.")?,
        _ => writeln!(out, "The keys come from PUNCTUAL_SECRETS_KEY.")?,
    }
    for key in &standing.keys {
        let part = match (key.seals, key.needed) {
            (true, _) => "seals",
            (false, true) => "opens; being replaced",
            (false, false) => "not needed",
        };
        writeln!(out, "{}  {:>9} definitions  {part}", key.id, key.definitions)?;
    }
    Ok(())
}

async fn ask(client: &Client, method: Method, path: &str) -> anyhow::Result<Standing> {
    let answer = client.send(method, path, None).await?;
    let body = answer.into_body().collect().await.context("the answer broke off")?.to_bytes();
    serde_json::from_slice(&body).context("the server does not say what keys it has")
}
