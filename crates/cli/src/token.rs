//! `punctual token`: who may talk to a server that asks.

use std::io::{self, Write as _};
use std::path::PathBuf;

use access::{Role, Scope};
use clap::{Args, Subcommand};
use http::Method;
use recurrence::Timestamp;
use serde_json::{Value, json};
use server::app::register::NewToken;
use server::config::{Flags, load_here};

use crate::client::{self, Condition};
use crate::output::{Format, Output, text, time};
use crate::refused::Refused;
use crate::role::{read_role, read_scope};
use crate::target::Server;

/// The options of `token`.
#[derive(Debug, Args)]
pub(crate) struct Options {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Make a token with a role, and print it: this once
    #[command(after_help = CREATION)]
    Create(Create),
    /// List the tokens: whose they are, until when they are good, when they were last used
    #[command(after_help = "Examples:\n  punctual token list\n  punctual token list --json")]
    List {
        #[command(flatten)]
        format: Format,
        #[command(flatten)]
        server: Server,
    },
    /// Revoke a token: it is not accepted any more, and its roles are gone
    #[command(after_help = "Examples:\n  punctual token revoke \"$(punctual token list -q | head -n 1)\"")]
    Revoke {
        /// Its id, as `punctual token list` shows it
        id: String,
        #[command(flatten)]
        server: Server,
    },
}

const CREATION: &str = "The token goes to standard output and is kept nowhere: only a hash of it is. Give it to commands in
PUNCTUAL_TOKEN or in a stored context, and to clients as `Authorization: Bearer …`.

The first token is made with --offline, which writes to the store itself; with the embedded store the server must be
stopped. That is also the way back in for whoever has lost all tokens.

Examples:
  punctual token create robot --role Contributor --scope /subscriptions/acme --expires-in 30
  punctual token create admin --offline --data punctual-data";

#[derive(Debug, Args)]
struct Create {
    /// Its name, for people
    name: String,
    /// What it may do: Owner, Contributor, Operator or Reader; with --offline Owner, if nothing is said
    #[arg(long, value_name = "ROLE", value_parser = read_role, required_unless_present = "offline")]
    role: Option<Role>,
    /// Where: / is everything; or the id of a subscription, a resource group or a job collection
    #[arg(long, value_name = "SCOPE", value_parser = read_scope, default_value = "/")]
    scope: Scope,
    /// For how many days it is good
    #[arg(long, value_name = "DAYS", default_value_t = 90, value_parser = clap::value_parser!(u16).range(1..=3660))]
    expires_in: u16,
    /// Write to the store itself, and ask no server
    #[arg(long, conflicts_with_all = ["server", "context", "token"])]
    offline: bool,
    /// With --offline: the folder of the embedded store
    #[arg(long, value_name = "DIR", requires = "offline")]
    data: Option<PathBuf>,
    /// With --offline: the PostgreSQL database in place of the embedded store
    #[arg(long, value_name = "URL", requires = "offline")]
    database: Option<String>,
    /// With --offline: the file of settings that the server is started with
    #[arg(long, value_name = "FILE", requires = "offline")]
    config: Option<PathBuf>,
    #[command(flatten)]
    server: Server,
}

const HEADINGS: &[&str] = &["ID", "NAME", "STATE", "EXPIRES", "LAST USED", "MADE BY", "CREATED"];

pub(crate) fn run(options: &Options) -> anyhow::Result<()> {
    match &options.what {
        What::Create(options) if options.offline => offline(options),
        What::Create(options) => client::wait(create(options)),
        What::List { format, server } => client::wait(async {
            let tokens = server.client()?.list("/api/tokens").await?;
            let mut list = Output::new(*format).list(HEADINGS);
            for token in &tokens {
                list.add(token, row(token))?;
            }
            list.end("there are no tokens")?;
            Ok(())
        }),
        What::Revoke { id, server } => client::wait(async {
            let id: access::TokenId = id.parse().map_err(Refused::new)?;
            let path = format!("/api/tokens/{id}");
            server.client()?.ask(Method::DELETE, &path, None, &Condition::Always).await?;
            let plain = Format { json: false, quiet: false };
            Ok(Output::new(plain).done(&format!("revoked the token {id}"), &json!(null))?)
        }),
    }
}

fn row(token: &Value) -> Vec<String> {
    vec![
        text(&token["id"]),
        text(&token["name"]),
        text(&token["state"]),
        time(&token["expiresAt"]),
        time(&token["lastUsedAt"]),
        text(&token["createdBy"]),
        time(&token["createdAt"]),
    ]
}

fn expiry(options: &Create) -> anyhow::Result<Timestamp> {
    let seconds = crate::now().as_second() + i64::from(options.expires_in) * 24 * 3600;
    Ok(Timestamp::from_second(seconds)?)
}

async fn create(options: &Create) -> anyhow::Result<()> {
    let body = json!({
        "name": options.name,
        "role": options.role.map(Role::name),
        "scope": options.scope.to_string(),
        "expiresAt": wire::date_time::write(expiry(options)?),
    });
    let client = options.server.client()?;
    let made = client.ask(Method::POST, "/api/tokens", Some(&body), &Condition::Always).await?;
    Ok(writeln!(io::stdout(), "{}", text(&made.body["token"]))?)
}

/// Makes a token in the store itself.
fn offline(options: &Create) -> anyhow::Result<()> {
    let flags = Flags {
        config: options.config.clone(),
        data: options.data.clone(),
        database: options.database.clone(),
        ..Flags::default()
    };
    let config = load_here(&flags).map_err(|fault| Refused::new(fault.to_string()))?;
    let new = NewToken {
        name: options.name.clone(),
        expires_at: expiry(options)?,
        roles: vec![(options.role.unwrap_or(Role::Owner), options.scope.clone())],
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    let token = runtime.block_on(server::make_token(&config, new))?;
    Ok(writeln!(io::stdout(), "{}", token.reveal())?)
}
