//! Names that exist and are like one that does not: what somebody may have meant.

use std::time::Duration;

use percent_encoding::percent_decode_str;
use url::form_urlencoded;

use crate::client::{self, Client, Going, Missing, Problem};
use crate::output::text;
use crate::target::{self, API_VERSION, own_name};

/// An error message does not wait longer for its suggestion.
const PATIENCE: Duration = Duration::from_secs(2);

/// How many names are looked at.
const MOST_NAMES: u64 = 5000;

/// Suggests a name in place of the one that a server does not have.
pub(crate) fn to_missing(error: &anyhow::Error) -> Option<String> {
    let problem = error.downcast_ref::<Problem>()?;
    let missing = problem.missing.as_deref()?;
    let code = problem.code.as_deref()?;
    let found = client::wait(async { tokio::time::timeout(PATIENCE, suggestion(missing, code)).await? });
    // The error itself says what is wrong; a suggestion that cannot be made changes nothing.
    found.ok().flatten()
}

/// The names in what was asked for, from its path or from its parameters.
#[derive(Debug, Default, PartialEq, Eq)]
struct Named {
    subscription: Option<String>,
    group: Option<String>,
    collection: Option<String>,
    job: Option<String>,
}

impl Named {
    fn read(asked: &str) -> Self {
        let (path, query) = asked.split_once('?').unwrap_or((asked, ""));
        let mut named = Self::default();
        named.take_id(path);
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            if value.starts_with('/') {
                named.take_id(&value);
                continue;
            }
            let place = match &*name {
                "subscription" => &mut named.subscription,
                "resourceGroup" | "group" => &mut named.group,
                "jobCollection" | "collection" => &mut named.collection,
                "job" => &mut named.job,
                _ => continue,
            };
            *place = Some(value.into_owned());
        }
        named
    }

    /// Takes the names of `/subscriptions/s/resourceGroups/g/providers/Microsoft.Scheduler/jobCollections/c/jobs/j`.
    fn take_id(&mut self, id: &str) {
        let segments: Vec<&str> = id.split('/').collect();
        let after = |kind: &str| {
            let at = segments.iter().position(|segment| segment.eq_ignore_ascii_case(kind))?;
            Some(percent_decode_str(segments.get(at + 1)?).decode_utf8_lossy().into_owned())
        };
        let found = Self {
            subscription: after("subscriptions"),
            group: after("resourceGroups"),
            collection: after("jobCollections"),
            job: after("jobs"),
        };
        if found.subscription.is_some() {
            *self = found;
        }
    }
}

async fn suggestion(missing: &Missing, code: &str) -> anyhow::Result<Option<String>> {
    let Named { subscription, group, collection, job } = Named::read(&missing.path);
    let subscriptions = "/subscriptions".to_owned();
    let groups = format!("{subscriptions}/{}/resourceGroups", subscription.as_deref().unwrap_or_default());
    let of_group = format!("{groups}/{}/providers/Microsoft.Scheduler", group.as_deref().unwrap_or_default());
    let collections = format!("{of_group}/jobCollections");
    let id = format!("{collections}/{}", collection.as_deref().unwrap_or_default());
    let versioned = |path: &str| target::query(path, &[("api-version", Some(API_VERSION))]);
    let jobs = target::query("/api/jobs", &[("collection", Some(&id)), ("top", Some("1000"))]);
    let levels = [
        ("NotFound", "job", job, jobs),
        ("ResourceNotFound", "job collection", collection, versioned(&collections)),
        ("ResourceGroupNotFound", "group", group, versioned(&groups)),
        ("SubscriptionNotFound", "subscription", subscription, versioned(&subscriptions)),
    ];
    // Where even what it is in does not exist, that is the wrong name.
    for (_, what, wrong, list) in levels.into_iter().skip_while(|level| level.0 != code) {
        let Ok(names) = names(&missing.client, &list).await else { continue };
        // Any subscription has a list of groups, whether or not it exists.
        if names.is_empty() && what == "group" {
            continue;
        }
        let name = wrong.and_then(|wrong| nearest(&wrong, &names).cloned());
        return Ok(name.map(|name| format!("did you mean the {what} '{name}'?")));
    }
    Ok(None)
}

async fn names(client: &Client, list: &str) -> anyhow::Result<Vec<String>> {
    let (mut names, mut left) = (Vec::new(), MOST_NAMES);
    let each = |entry: serde_json::Value| {
        names.push(if entry["name"].is_string() { own_name(&entry) } else { text(&entry["subscriptionId"]) });
        left -= 1;
        Ok(if left == 0 { Going::Enough } else { Going::On })
    };
    client.each(list, each).await?;
    Ok(names)
}

/// The name that is most like another, if any is: one that holds the other, or that differs by few letters.
fn nearest<'n>(wrong: &str, names: &'n [String]) -> Option<&'n String> {
    let wrong: Vec<char> = wrong.to_lowercase().chars().collect();
    let most = (wrong.len() / 3).max(1);
    let distance = |name: &String| {
        let name: Vec<char> = name.to_lowercase().chars().collect();
        let edits = edits(&wrong, &name);
        let (short, long) = if wrong.len() < name.len() { (&wrong, &name) } else { (&name, &wrong) };
        let holds = short.len() >= 3 && long.windows(short.len()).any(|part| part == short.as_slice());
        (edits <= most || holds).then_some(edits)
    };
    let found = names.iter().filter_map(|name| Some((distance(name)?, name)));
    found.min_by_key(|(edits, _)| *edits).map(|(_, name)| name)
}

/// How many letters have to be added, removed or replaced to make one word of another.
fn edits(one: &[char], other: &[char]) -> usize {
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (i, a) in one.iter().enumerate() {
        let mut before = row[0];
        row[0] = i + 1;
        for (j, b) in other.iter().enumerate() {
            let replaced = before + usize::from(a != b);
            before = row[j + 1];
            row[j + 1] = replaced.min(before + 1).min(row[j] + 1);
        }
    }
    row[other.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_what_was_asked_for() {
        let id =
            "/subscriptions/s/resourceGroups/g%20h/providers/Microsoft.Scheduler/jobCollections/c/jobs/j";
        let some = |text: &str| Some(text.to_owned());
        let job =
            Named { subscription: some("s"), group: some("g h"), collection: some("c"), job: some("j") };
        assert_eq!(Named::read(&format!("{id}/history?api-version=2016-03-01")), job);
        let encoded = id.replace('%', "%25").replace('/', "%2F");
        assert_eq!(Named::read(&format!("/api/events?job={encoded}")), job);
        assert_eq!(Named::read("/api/ledger?subscription=s&resourceGroup=g+h&jobCollection=c&job=j"), job);
        assert_eq!(Named::read("/api/nodes"), Named::default());
    }

    #[test]
    fn the_nearest_name() {
        let names = ["every-minute", "nightly", "report", "x1"].map(str::to_owned);
        for (wrong, expected) in [
            ("every", Some("every-minute")),
            ("nightyl", Some("nightly")),
            ("NIGHTLY", Some("nightly")),
            ("rapport", Some("report")),
            ("my-report", Some("report")),
            ("x2", Some("x1")),
            ("billing", None),
        ] {
            assert_eq!(nearest(wrong, &names).map(String::as_str), expected, "{wrong}");
        }
    }
}
