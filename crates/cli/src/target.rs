//! The target of a command: which server, and where on it.
//!
//! What the command line does not say, the context says; what the context does not say, the defaults say. So a first
//! command needs to name nothing.

use std::env::VarError;

use clap::Args;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Value;
use url::form_urlencoded::Serializer;

use crate::client::Client;
use crate::contexts::{self, Context, Contexts};
use crate::refused::Refused;

/// Names the server, as `--server` does.
const SERVER_VARIABLE: &str = "PUNCTUAL_SERVER";

/// Holds the token, as `--token` does.
const TOKEN_VARIABLE: &str = "PUNCTUAL_TOKEN";

const DEFAULT_SERVER: &str = "http://127.0.0.1:8042";

/// The subscription, the group and the collection of those who never chose any.
pub(crate) const DEFAULT_NAME: &str = "default";

/// The version of the API that the commands speak.
pub(crate) const API_VERSION: &str = "2016-03-01";

/// Which server.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Where")]
pub(crate) struct Server {
    /// The server to talk to; by default that of PUNCTUAL_SERVER, of the context, or http://127.0.0.1:8042
    #[arg(long, value_name = "URL")]
    server: Option<String>,
    /// A stored context; by default that of PUNCTUAL_CONTEXT, or the one in use
    #[arg(long, value_name = "NAME")]
    context: Option<String>,
    /// A token for a server that asks who calls; better in PUNCTUAL_TOKEN or in the context, where no list of processes
    /// shows it
    #[arg(long, value_name = "TOKEN", hide_env_values = true)]
    token: Option<String>,
}

/// Which server, and where on it.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Where")]
pub(crate) struct Place {
    #[command(flatten)]
    server: Server,
    /// The subscription; by default that of the context, or "default"
    #[arg(long, value_name = "NAME", value_parser = name)]
    subscription: Option<String>,
    /// The resource group; by default that of the context, or "default"
    #[arg(long, value_name = "NAME", value_parser = name)]
    group: Option<String>,
}

/// Which server, where on it, and in which collection.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Where")]
pub(crate) struct InCollection {
    #[command(flatten)]
    place: Place,
    /// The job collection; by default that of the context, or "default"
    #[arg(long, value_name = "NAME", value_parser = name)]
    collection: Option<String>,
}

/// A name that can stand in a path: an empty one would name something else.
pub(crate) fn name(text: &str) -> Result<String, String> {
    if text.is_empty() { Err("a name has at least one letter".to_owned()) } else { Ok(text.to_owned()) }
}

/// What a variable of the environment says. One that is no text must not pass for one that is not set: the command would
/// go elsewhere.
fn variable(name: &str) -> anyhow::Result<Option<String>> {
    match std::env::var(name) {
        Ok(text) => Ok(Some(text).filter(|text| !text.is_empty())),
        Err(VarError::NotPresent) => Ok(None),
        Err(VarError::NotUnicode(_)) => Err(Refused::new(format!("{name}: its value is not UTF-8")).into()),
    }
}

impl Server {
    fn context(&self) -> anyhow::Result<Context> {
        let variable = variable(contexts::VARIABLE)?;
        let contexts = Contexts::load()?;
        match self.context.clone().or(variable).or_else(|| contexts.current.clone()) {
            Some(name) => Ok(contexts.named(&name)?.clone()),
            None => Ok(Context::default()),
        }
    }

    fn client_in(&self, context: &Context) -> anyhow::Result<Client> {
        let (client, is_contexts) = self.reached(context)?;
        let variable = variable(TOKEN_VARIABLE)?;
        // The token of a context is for its server, and nobody else is shown it.
        let stored = || context.token.clone().filter(|_| is_contexts);
        // As with the server: a context that was asked for by name means its token.
        let token = match (&self.token, &self.context) {
            (Some(token), _) => Some(token.clone()),
            (None, Some(_)) => stored().or(variable),
            (None, None) => variable.or_else(stored),
        };
        client.with_token(token.as_deref())
    }

    /// Who is talked to, and whether that is the server of the context.
    fn reached(&self, context: &Context) -> anyhow::Result<(Client, bool)> {
        if let Some(server) = &self.server {
            return Ok((Client::new(server, "--server")?, false));
        }
        // A context that was asked for by name means its server, whatever the environment says.
        if let (Some(name), Some(server)) = (&self.context, &context.server) {
            return Ok((Client::new(server, &format!("the server of the context '{name}'"))?, true));
        }
        if let Some(server) = variable(SERVER_VARIABLE)? {
            return Ok((Client::new(&server, "--server, from PUNCTUAL_SERVER")?, false));
        }
        let server = context.server.as_deref().unwrap_or(DEFAULT_SERVER);
        Ok((Client::new(server, "the server of the context")?, true))
    }

    /// Talks to it.
    pub(crate) fn client(&self) -> anyhow::Result<Client> {
        self.client_in(&self.context()?)
    }
}

impl Place {
    /// Settles what was left open.
    pub(crate) fn resolve(&self) -> anyhow::Result<Target> {
        let context = self.server.context()?;
        let or = |given: &Option<String>, stored: &Option<String>| {
            given.clone().or_else(|| stored.clone()).unwrap_or_else(|| DEFAULT_NAME.to_owned())
        };
        Ok(Target {
            client: self.server.client_in(&context)?,
            subscription: or(&self.subscription, &context.subscription),
            group: or(&self.group, &context.group),
            collection: context.collection.clone().unwrap_or_else(|| DEFAULT_NAME.to_owned()),
            chosen: Chosen {
                subscription: self.subscription.is_some() || context.subscription.is_some(),
                group: self.group.is_some() || context.group.is_some(),
                collection: context.collection.is_some(),
            },
        })
    }

    /// Whether a resource group was named here.
    pub(crate) fn names_group(&self) -> bool {
        self.group.is_some()
    }
}

impl InCollection {
    /// Settles what was left open.
    pub(crate) fn resolve(&self) -> anyhow::Result<Target> {
        let mut target = self.place.resolve()?;
        if let Some(collection) = &self.collection {
            target.collection.clone_from(collection);
            target.chosen.collection = true;
        }
        Ok(target)
    }
}

/// A server and a place on it, settled.
pub(crate) struct Target {
    pub(crate) client: Client,
    pub(crate) subscription: String,
    pub(crate) group: String,
    pub(crate) collection: String,
    pub(crate) chosen: Chosen,
}

/// Which parts of a place were chosen, by an option or by the context; the others are defaults.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Chosen {
    pub(crate) subscription: bool,
    pub(crate) group: bool,
    pub(crate) collection: bool,
}

impl Chosen {
    /// Whether anything was chosen: what nobody chose may still be missing without anything being wrong.
    pub(crate) fn any(self) -> bool {
        self.subscription || self.group || self.collection
    }
}

/// All but what never needs to be encoded (RFC 3986, section 2.3).
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// A name as a segment of a path. Dots alone would be taken for a folder.
fn segment(name: &str) -> String {
    if name.chars().all(|c| c == '.') { "%2E".repeat(name.len()) } else { encoded(name) }
}

fn encoded(text: &str) -> String {
    utf8_percent_encode(text, ENCODED).to_string()
}

impl Target {
    /// The path of the collections: of the group, or of the whole subscription.
    pub(crate) fn collections(&self, all_groups: bool) -> String {
        let group =
            if all_groups { String::new() } else { format!("/resourceGroups/{}", segment(&self.group)) };
        let subscription = segment(&self.subscription);
        versioned(&format!(
            "/subscriptions/{subscription}{group}/providers/Microsoft.Scheduler/jobCollections"
        ))
    }

    /// The path of the collection, or of what is below it.
    pub(crate) fn collection(&self, rest: &str) -> String {
        versioned(&format!("{}{rest}", self.path()))
    }

    /// The path of the collection's jobs.
    pub(crate) fn jobs(&self) -> String {
        self.collection("/jobs")
    }

    /// The path of a job, or of what is below it.
    pub(crate) fn job(&self, name: &str, rest: &str) -> String {
        versioned(&format!("{}{rest}", self.job_path(name)))
    }

    /// The id of a collection, as the API writes it.
    pub(crate) fn collection_id(&self) -> String {
        let Self { subscription, group, collection, .. } = self;
        format!(
            "/subscriptions/{subscription}/resourceGroups/{group}/providers/Microsoft.Scheduler/jobCollections/{collection}"
        )
    }

    /// The id of a job as it stands in a path.
    pub(crate) fn job_path(&self, name: &str) -> String {
        format!("{}/jobs/{}", self.path(), segment(name))
    }

    /// The id of a job.
    pub(crate) fn job_id(&self, name: &str) -> String {
        format!("{}/jobs/{name}", self.collection_id())
    }

    /// The id of the collection as it stands in a path, where names that have odd letters are encoded.
    pub(crate) fn path(&self) -> String {
        let [subscription, group, collection] =
            [&self.subscription, &self.group, &self.collection].map(|name| segment(name));
        format!(
            "/subscriptions/{subscription}/resourceGroups/{group}/providers/Microsoft.Scheduler/jobCollections/{collection}"
        )
    }

    /// The same in the collection of an id.
    pub(crate) fn within(&self, id: &str) -> Option<Self> {
        // /subscriptions/s/resourceGroups/g/providers/Microsoft.Scheduler/jobCollections/c
        let segments: Vec<&str> = id.split('/').collect();
        Some(Self {
            client: self.client.clone(),
            subscription: (*segments.get(2)?).to_owned(),
            group: (*segments.get(4)?).to_owned(),
            collection: (*segments.get(8)?).to_owned(),
            chosen: self.chosen,
        })
    }
}

fn versioned(path: &str) -> String {
    format!("{path}?api-version={API_VERSION}")
}

/// A path with one more parameter.
pub(crate) fn with(path: &str, name: &str, value: &str) -> String {
    let joint = if path.contains('?') { '&' } else { '?' };
    // A server reads a plus as a blank, and only clients that encode blanks so are misread: these do not.
    format!("{path}{joint}{}={}", encoded(name), encoded(value))
}

/// A path with these parameters.
pub(crate) fn query(path: &str, parameters: &[(&str, Option<&str>)]) -> String {
    let mut query = Serializer::new(String::new());
    for (name, value) in parameters {
        if let Some(value) = value {
            query.append_pair(name, value);
        }
    }
    let query = query.finish();
    if query.is_empty() { path.to_owned() } else { format!("{path}?{query}") }
}

/// A job's own name: the API writes `collection/job`.
pub(crate) fn own_name(resource: &Value) -> String {
    let name = resource["name"].as_str().unwrap_or_default();
    name.rsplit('/').next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_any_kind_stay_one_segment() {
        for (name, expected) in [
            ("plain-1.x_y~", "plain-1.x_y~"),
            ("a b", "a%20b"),
            ("a/b", "a%2Fb"),
            ("ä?#%", "%C3%A4%3F%23%25"),
            ("..", "%2E%2E"),
            ("+&=", "%2B%26%3D"),
        ] {
            assert_eq!(segment(name), expected);
        }
    }

    #[test]
    fn a_name_is_never_empty() {
        assert!(name("").is_err());
        assert_eq!(name("--x"), Ok("--x".to_owned()));
    }
}
