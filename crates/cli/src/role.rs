//! `punctual role`: who may do what.

use access::{PrincipalId, Role, Scope};
use clap::{Args, Subcommand};
use http::Method;
use serde_json::json;

use crate::client::{self, Condition};
use crate::output::{Format, Output, text, time};
use crate::target::Server;

/// The options of `role`.
#[derive(Debug, Args)]
pub(crate) struct Options {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// List the roles that were given, in the scopes that you see
    #[command(after_help = "Examples:\n  punctual role list\n  punctual role list --json")]
    List {
        #[command(flatten)]
        format: Format,
        #[command(flatten)]
        server: Server,
    },
    /// Give a role
    #[command(
        after_help = "Owner may do everything. Contributor makes, changes, deletes and runs. Operator runs, enables and disables.
Reader looks. None of them ever sees a secret.

Examples:
  punctual role assign token:0123456789abcdef Operator /subscriptions/acme/resourceGroups/billing"
    )]
    Assign(Given),
    /// Take a role away
    #[command(
        after_help = "Examples:\n  punctual role remove token:0123456789abcdef Operator /subscriptions/acme/resourceGroups/billing"
    )]
    Remove(Given),
}

#[derive(Debug, Args)]
struct Given {
    /// Whose: token:ID with the id of a token; of an issuer's tokens user:ID, group:ID or app:ID
    #[arg(value_parser = read_principal)]
    principal: PrincipalId,
    /// Owner, Contributor, Operator or Reader
    #[arg(value_parser = read_role)]
    role: Role,
    /// Where: / is everything; or the id of a subscription, a resource group or a job collection
    #[arg(value_parser = read_scope)]
    scope: Scope,
    #[command(flatten)]
    server: Server,
}

fn read_principal(text: &str) -> Result<PrincipalId, String> {
    text.parse()
}

/// A role by its name.
pub(crate) fn read_role(text: &str) -> Result<Role, String> {
    Role::named(text).ok_or_else(|| "allowed: Owner, Contributor, Operator or Reader".to_owned())
}

/// A scope.
pub(crate) fn read_scope(text: &str) -> Result<Scope, String> {
    text.parse()
}

pub(crate) fn run(options: &Options) -> anyhow::Result<()> {
    client::wait(async {
        match &options.what {
            What::List { format, server } => list(*format, server).await,
            What::Assign(given) => {
                let is_new = change(given, "/api/roles/assign").await? == 201;
                let Given { principal, role, scope, .. } = given;
                let verb = if is_new { "has" } else { "had already" };
                done(&format!("{principal} {verb} the role {} in {scope}", role.name()))
            }
            What::Remove(given) => {
                change(given, "/api/roles/remove").await?;
                let Given { principal, role, scope, .. } = given;
                done(&format!("{principal} has no longer the role {} in {scope}", role.name()))
            }
        }
    })
}

async fn list(format: Format, server: &Server) -> anyhow::Result<()> {
    let roles = server.client()?.list("/api/roles").await?;
    let mut list = Output::new(format).list(&["PRINCIPAL", "ROLE", "SCOPE", "GIVEN BY", "SINCE"]);
    for role in &roles {
        let cells = vec![
            text(&role["principal"]),
            text(&role["role"]),
            text(&role["scope"]),
            text(&role["createdBy"]),
            time(&role["createdAt"]),
        ];
        list.add(role, cells)?;
    }
    list.end("no roles were given, or none that you see")?;
    Ok(())
}

async fn change(given: &Given, path: &str) -> anyhow::Result<u16> {
    let body = json!({
        "principal": given.principal.as_str(),
        "role": given.role.name(),
        "scope": given.scope.to_string(),
    });
    let client = given.server.client()?;
    Ok(client.ask(Method::POST, path, Some(&body), &Condition::Always).await?.status)
}

fn done(said: &str) -> anyhow::Result<()> {
    Ok(Output::new(Format { json: false, quiet: false }).done(said, &json!(null))?)
}
