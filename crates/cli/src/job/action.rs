//! What a job shall do, from options to JSON, and from JSON to a line for people.

use std::io::{self, Read};
use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::{Map, Value, json};

use crate::secret;

/// What.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "What")]
pub(crate) struct Action {
    /// Call this URL
    #[arg(long)]
    pub(crate) url: Option<String>,
    /// The HTTP method; by default GET, or with a body POST
    #[arg(long, requires = "url")]
    method: Option<String>,
    /// A header such as 'Content-Type: application/json'; may be repeated
    #[arg(long, value_name = "NAME: VALUE", requires = "url")]
    header: Vec<String>,
    /// The body of the call, or the message
    #[arg(long, value_name = "TEXT", visible_alias = "message", conflicts_with = "body_file")]
    body: Option<String>,
    /// A file with the body or the message; - for standard input
    #[arg(long, value_name = "FILE", visible_alias = "message-file")]
    body_file: Option<PathBuf>,
    /// Call as this user, with Basic authentication; the password is asked for
    #[arg(long, value_name = "NAME", requires = "url")]
    user: Option<String>,
    /// Put a message into this storage queue; the shared access signature is asked for
    #[arg(long, value_name = "ACCOUNT/QUEUE", conflicts_with = "url")]
    storage_queue: Option<String>,
    /// Send a message to this queue of Service Bus; its key is asked for
    #[arg(long, value_name = "NAMESPACE/QUEUE", conflicts_with_all = ["url", "storage_queue"], requires = "key_name")]
    bus_queue: Option<String>,
    /// Send a message to this topic of Service Bus; its key is asked for
    #[arg(long, value_name = "NAMESPACE/TOPIC", conflicts_with_all = ["url", "storage_queue", "bus_queue"], requires = "key_name")]
    bus_topic: Option<String>,
    /// The name of the shared access key
    #[arg(long, value_name = "NAME")]
    key_name: Option<String>,
    /// A file with the password, signature or key, instead of a question or PUNCTUAL_SECRET; - for standard input
    #[arg(long, value_name = "FILE", visible_alias = "password-file")]
    secret_file: Option<PathBuf>,
    /// How often a call that failed is tried again; 0 for never
    #[arg(long, value_name = "N")]
    retries: Option<u32>,
    /// How long to wait before that, such as PT30S or 00:00:30
    #[arg(long, value_name = "DURATION")]
    retry_interval: Option<String>,
    /// Call this URL when the action has failed for good
    #[arg(long, value_name = "URL")]
    on_error_url: Option<String>,
    /// With this HTTP method; by default POST
    #[arg(long, value_name = "METHOD", requires = "on_error_url")]
    on_error_method: Option<String>,
}

impl Action {
    /// Whether the options say what to do.
    pub(crate) fn is_given(&self) -> bool {
        self.url.is_some()
            || self.storage_queue.is_some()
            || self.bus_queue.is_some()
            || self.bus_topic.is_some()
    }

    /// The member `action`.
    pub(crate) fn json(&self, faults: &mut Vec<String>) -> anyhow::Result<Value> {
        let stdin = Some(Path::new("-"));
        if self.body_file.as_deref() == stdin && self.secret_file.as_deref() == stdin {
            faults.push("--body-file and --secret-file cannot both be standard input".to_owned());
            return Ok(Value::Null);
        }
        let body = match &self.body_file {
            Some(file) => body_of(file, faults),
            None => self.body.clone(),
        };
        let mut action = if let Some(url) = &self.url {
            self.http(url, body, faults)?
        } else if let Some(queue) = &self.storage_queue {
            let (account, queue) = pair("--storage-queue", queue, faults);
            let token = secret::read(self.secret_file.as_deref(), "the shared access signature")?;
            json!({"type": "StorageQueue", "queueMessage":
                {"storageAccount": account, "queueName": queue, "sasToken": token, "message": body}})
        } else {
            let (kind, member, entity, option, place) = match (&self.bus_queue, &self.bus_topic) {
                (Some(place), _) => {
                    ("ServiceBusQueue", "serviceBusQueueMessage", "queueName", "--bus-queue", place)
                }
                (None, Some(place)) => {
                    ("ServiceBusTopic", "serviceBusTopicMessage", "topicPath", "--bus-topic", place)
                }
                (None, None) => {
                    let ways = "--url, --storage-queue, --bus-queue, --bus-topic or --file";
                    faults.push(format!("what the job shall do is missing; expected: {ways}"));
                    return Ok(Value::Null);
                }
            };
            let (namespace, name) = pair(option, place, faults);
            let key = secret::read(self.secret_file.as_deref(), "the shared access key")?;
            let authentication =
                json!({"type": "SharedAccessKey", "sasKeyName": self.key_name, "sasKey": key});
            json!({"type": kind, member: {"namespace": namespace, entity: name, "transportType": "AMQP",
                "authentication": authentication, "message": body}})
        };
        if let Some(policy) = self.retry_policy() {
            action["retryPolicy"] = policy;
        }
        if let Some(url) = &self.on_error_url {
            let method = self.on_error_method.as_deref().unwrap_or("POST");
            action["errorAction"] = json!({"type": kind_of(url), "request": {"method": method, "uri": url}});
        }
        Ok(action)
    }

    fn http(&self, url: &str, body: Option<String>, faults: &mut Vec<String>) -> anyhow::Result<Value> {
        let usual = if body.is_some() { "POST" } else { "GET" };
        let mut request = Map::new();
        request.insert("method".to_owned(), self.method.as_deref().unwrap_or(usual).into());
        request.insert("uri".to_owned(), url.into());
        let mut headers = Map::new();
        for header in &self.header {
            match header.split_once(':') {
                Some((name, value)) => {
                    headers.insert(name.trim().to_owned(), value.trim().into());
                }
                // What a header says may be a secret: it is not repeated.
                None => {
                    faults.push("--header: expected NAME: VALUE, such as 'Accept: text/plain'".to_owned());
                }
            }
        }
        if !headers.is_empty() {
            request.insert("headers".to_owned(), headers.into());
        }
        if let Some(body) = body {
            request.insert("body".to_owned(), body.into());
        }
        if let Some(user) = &self.user {
            let password = secret::read(self.secret_file.as_deref(), &format!("the password of {user}"))?;
            let authentication = json!({"type": "Basic", "username": user, "password": password});
            request.insert("authentication".to_owned(), authentication);
        } else if self.secret_file.is_some() {
            faults.push("--secret-file needs --user, whose password it holds".to_owned());
        }
        Ok(json!({"type": kind_of(url), "request": request}))
    }

    fn retry_policy(&self) -> Option<Value> {
        if self.retries == Some(0) {
            return Some(json!({"retryType": "none"}));
        }
        let mut policy = json!({"retryType": "fixed"});
        if let Some(retries) = self.retries {
            policy["retryCount"] = retries.into();
        }
        if let Some(interval) = &self.retry_interval {
            policy["retryInterval"] = interval.as_str().into();
        }
        (self.retries.is_some() || self.retry_interval.is_some()).then_some(policy)
    }
}

fn kind_of(url: &str) -> &'static str {
    let scheme = url.get(..8).unwrap_or_default();
    if scheme.eq_ignore_ascii_case("https://") { "Https" } else { "Http" }
}

fn pair<'a>(option: &str, text: &'a str, faults: &mut Vec<String>) -> (&'a str, &'a str) {
    let parts = text.split_once('/').filter(|(place, name)| !place.is_empty() && !name.is_empty());
    parts.unwrap_or_else(|| {
        faults.push(format!(
            "{option}: '{text}' is not allowed here; expected: two names with a slash between"
        ));
        ("", "")
    })
}

/// In bytes: more than any body that a server takes.
const LARGEST_BODY: u64 = 1 << 20;

fn body_of(file: &Path, faults: &mut Vec<String>) -> Option<String> {
    let mut text = String::new();
    let read = if file == Path::new("-") {
        io::stdin().lock().take(LARGEST_BODY).read_to_string(&mut text)
    } else {
        std::fs::File::open(file).and_then(|file| file.take(LARGEST_BODY).read_to_string(&mut text))
    };
    match read {
        Ok(_) => Some(text),
        Err(error) => {
            faults.push(format!("--body-file: {} cannot be read: {error}", file.display()));
            None
        }
    }
}

/// What an action does, in a few words: `GET https://example.org/`, `queue@account`.
pub(crate) fn in_words(action: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or("?").to_owned();
    let at = |message: &Value, name: &str, place: &str| {
        format!("{}@{}", text(&message[name]), text(&message[place]))
    };
    match action["type"].as_str().unwrap_or_default().to_ascii_lowercase().as_str() {
        "http" | "https" => {
            let request = &action["request"];
            format!("{} {}", text(&request["method"]).to_uppercase(), without_user(&text(&request["uri"])))
        }
        "storagequeue" => at(&action["queueMessage"], "queueName", "storageAccount"),
        "servicebusqueue" => at(&action["serviceBusQueueMessage"], "queueName", "namespace"),
        "servicebustopic" => at(&action["serviceBusTopicMessage"], "topicPath", "namespace"),
        other => other.to_owned(),
    }
}

/// A URL without the user and the password that some write into it.
fn without_user(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else { return url.to_owned() };
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    match rest[..end].rfind('@') {
        Some(at) => format!("{scheme}://…@{}", &rest[at + 1..]),
        None => url.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn actions_in_words() {
        let http = |uri: &str| json!({"type": "Https", "request": {"method": "get", "uri": uri}});
        for (action, words) in [
            (http("https://example.org/a@b"), "GET https://example.org/a@b"),
            (http("https://me:word@example.org/"), "GET https://…@example.org/"),
            (
                json!({"type": "StorageQueue", "queueMessage": {"storageAccount": "a", "queueName": "q"}}),
                "q@a",
            ),
            (
                json!({"type": "serviceBusTopic", "serviceBusTopicMessage": {"namespace": "n", "topicPath": "t"}}),
                "t@n",
            ),
            (json!({}), ""),
        ] {
            assert_eq!(in_words(&action), words);
        }
    }
}
