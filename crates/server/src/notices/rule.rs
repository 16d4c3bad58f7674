//! Rules: which trouble of which jobs, and whom to tell.
//!
//! A [`Draft`] is a rule as somebody has written it, in the file of settings or over the API; a [`Notification`] is one that
//! is right.

use std::collections::BTreeMap;
use std::time::Duration;

use model::{CollectionPath, GroupPath};
use recurrence::{Fault, Faults};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::config::duration;

/// The most characters of a name.
const LONGEST_NAME: usize = 40;

/// A rule: which trouble of which jobs, and whom to tell.
#[derive(Clone, PartialEq, Eq)]
pub struct Notification {
    /// Its name, which notices carry.
    pub name: String,
    /// Which trouble.
    pub trouble: Trouble,
    /// Of which jobs.
    pub scope: Scope,
    /// Who is called.
    pub uri: String,
    /// With which headers.
    pub headers: BTreeMap<String, String>,
}

impl Notification {
    /// The action that calls its webhook.
    pub(crate) fn action(&self, body: &Value) -> Value {
        let mut headers = Map::new();
        headers.insert("Content-Type".to_owned(), "application/json".into());
        headers.extend(self.headers.iter().map(|(name, value)| (name.clone(), Value::from(value.as_str()))));
        json!({
            "type": if self.uri.starts_with("https") { "Https" } else { "Http" },
            "request": {"method": "POST", "uri": self.uri, "headers": headers, "body": body.to_string()},
        })
    }
}

/// What can be wrong with a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trouble {
    /// Its last scheduled occurrence has failed for good.
    Faulted,
    /// It has not succeeded for so long.
    NoSuccessFor(Duration),
    /// Its last run began later than this.
    Late(Duration),
}

impl Trouble {
    /// As in the configuration and in notices.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Faulted => "faulted",
            Self::NoSuccessFor(_) => "no-success-for",
            Self::Late(_) => "late",
        }
    }

    /// For how long, or by how much, in the form that is read.
    pub fn after(self) -> Option<String> {
        match self {
            Self::Faulted => None,
            Self::NoSuccessFor(after) | Self::Late(after) => Some(duration::write(after)),
        }
    }
}

/// Which jobs; `None` stands for all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Scope {
    /// In this subscription.
    pub subscription: Option<String>,
    /// In this group.
    pub group: Option<String>,
    /// In this job collection.
    pub collection: Option<String>,
    /// This job.
    pub job: Option<String>,
}

impl Scope {
    /// Whether a job is within.
    pub fn holds(&self, path: &CollectionPath, job: &str) -> bool {
        let fits = |wanted: &Option<String>, name: &str| {
            wanted.as_ref().is_none_or(|wanted| wanted.to_lowercase() == name.to_lowercase())
        };
        fits(&self.subscription, &path.subscription)
            && fits(&self.group, &path.group)
            && fits(&self.collection, &path.name)
            && fits(&self.job, job)
    }

    /// The one collection that it is within, if it is.
    pub fn one_collection(&self) -> Option<CollectionPath> {
        let Self { subscription, group, collection, .. } = self;
        Some(CollectionPath {
            subscription: subscription.clone()?,
            group: group.clone()?,
            name: collection.clone()?,
        })
    }

    /// The smallest part of the tree in which all of its jobs are: who may do something there may watch them.
    pub fn within(&self) -> access::Scope {
        if let Some(path) = self.one_collection() {
            return access::Scope::Collection(path);
        }
        match (self.subscription.clone(), self.group.clone()) {
            (Some(subscription), Some(name)) => access::Scope::Group(GroupPath { subscription, name }),
            (Some(subscription), None) => access::Scope::Subscription(subscription),
            (None, _) => access::Scope::Root,
        }
    }
}

impl std::fmt::Debug for Notification {
    /// What a header or a URI says may be a key.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Notification")
            .field("name", &self.name)
            .field("trouble", &self.trouble)
            .field("scope", &self.scope)
            .finish_non_exhaustive()
    }
}

/// A rule as it is written, right or wrong.
#[derive(Clone, Default, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Draft {
    /// Its name.
    pub name: Option<String>,
    /// Which trouble, by its name.
    pub when: Option<String>,
    /// For how long, or by how much.
    pub after: Option<String>,
    /// In this subscription.
    pub subscription: Option<String>,
    /// In this group.
    pub resource_group: Option<String>,
    /// In this job collection.
    pub collection: Option<String>,
    /// This job.
    pub job: Option<String>,
    /// Who is called.
    pub uri: Option<String>,
    /// With which headers.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
}

impl Draft {
    /// The rule, or all that is wrong with it. Members have the names that the API has for them.
    pub fn read(self) -> Result<Notification, Faults> {
        let mut faults = Vec::new();
        let name = self.name();
        let trouble = self.trouble();
        let uri = self.uri();
        let scope = Scope {
            subscription: self.subscription,
            group: self.resource_group,
            collection: self.collection,
            job: self.job,
        };
        let name = name.map_err(|fault| faults.push(fault));
        let trouble = trouble.map_err(|found| faults.extend(found));
        faults.extend(nameless(&scope));
        if matches!(trouble, Ok(Trouble::NoSuccessFor(_))) {
            faults.extend(whole_path(&scope));
        }
        let uri = uri.map_err(|fault| faults.push(fault));
        Faults::check(faults)?;
        // Nothing is missing where there are no faults.
        let (Ok(name), Ok(trouble), Ok(uri)) = (name, trouble, uri) else {
            return Err(Fault::new("", "it", "a rule").into());
        };
        Ok(Notification { name, trouble, scope, uri, headers: self.headers })
    }

    fn name(&self) -> Result<String, Fault> {
        let allowed = format!("letters, digits, - and _, a letter or digit first, at most {LONGEST_NAME}");
        let name = self.name.as_deref().ok_or_else(|| Fault::missing("name", &allowed))?;
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        let is_right = name.starts_with(|c: char| c.is_ascii_alphanumeric())
            && name.len() <= LONGEST_NAME
            && name.chars().all(is_name);
        if is_right { Ok(name.to_owned()) } else { Err(Fault::new("name", quoted(name), allowed)) }
    }

    fn trouble(&self) -> Result<Trouble, Vec<Fault>> {
        const WHEN: &str = "faulted, no-success-for or late";
        const AFTER: &str = "a number and ms, s, m, h or d, such as \"1h\"";
        let mut faults = Vec::new();
        let after = match &self.after {
            None => None,
            Some(text) => {
                let after = duration::parse(text);
                if after.is_none() {
                    faults.push(Fault::new("after", quoted(text), AFTER));
                }
                after
            }
        };
        let needed = || after.ok_or_else(|| Fault::missing("after", AFTER));
        let trouble = match self.when.as_deref() {
            None => Err(Fault::missing("when", WHEN)),
            Some("faulted") => match &self.after {
                None => Ok(Trouble::Faulted),
                Some(text) => {
                    faults.clear();
                    Err(Fault::new("after", quoted(text), "nothing: it means nothing with faulted"))
                }
            },
            Some("no-success-for") => needed().map(Trouble::NoSuccessFor),
            Some("late") => needed().map(Trouble::Late),
            Some(other) => Err(Fault::new("when", quoted(other), WHEN)),
        };
        match trouble {
            Ok(trouble) if faults.is_empty() => Ok(trouble),
            // A duration that cannot be read is not missing.
            Err(fault) if faults.iter().all(|known| known.field != fault.field) => {
                faults.insert(0, fault);
                Err(faults)
            }
            _ => Err(faults),
        }
    }

    fn uri(&self) -> Result<String, Fault> {
        const URI: &str = "an address that begins with http:// or https://";
        let uri = self.uri.as_deref().ok_or_else(|| Fault::missing("uri", URI))?;
        let is_right = ["http://", "https://"].iter().any(|scheme| uri.starts_with(scheme));
        // What an address says may be a key: it is not repeated.
        if is_right { Ok(uri.to_owned()) } else { Err(Fault::new("uri", "what is given", URI)) }
    }
}

impl Scope {
    /// Its parts by the names that the API has for them.
    fn parts(&self) -> [(&'static str, Option<&str>); 4] {
        [
            ("subscription", self.subscription.as_deref()),
            ("resourceGroup", self.group.as_deref()),
            ("collection", self.collection.as_deref()),
            ("job", self.job.as_deref()),
        ]
    }
}

/// A name of no letters would fit no job.
fn nameless(scope: &Scope) -> Vec<Fault> {
    let empty = scope.parts().into_iter().filter(|(_, given)| given.is_some_and(str::is_empty));
    empty.map(|(name, _)| Fault::new(name, "\"\"", "a name, or to leave it out")).collect()
}

/// Time without success is looked at job by job, so it has to be said where.
fn whole_path(scope: &Scope) -> Vec<Fault> {
    let missing = scope.parts().into_iter().take(3).filter(|(_, given)| given.is_none());
    missing.map(|(name, _)| Fault::missing(name, "a name, which no-success-for needs")).collect()
}

fn quoted(text: &str) -> String {
    format!("{:?}", text.chars().take(100).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draft(change: impl FnOnce(&mut Draft)) -> Draft {
        let text = |text: &str| Some(text.to_owned());
        let mut draft = Draft {
            name: text("ops"),
            when: text("late"),
            after: text("1m"),
            uri: text("http://h.test/"),
            ..Draft::default()
        };
        change(&mut draft);
        draft
    }

    #[test]
    fn a_rule_is_read() {
        let rule = draft(|_| {}).read().expect("it is right");
        assert_eq!((&*rule.name, rule.trouble), ("ops", Trouble::Late(Duration::from_secs(60))));
        assert_eq!(rule.trouble.after().as_deref(), Some("1m"));
        assert!(!format!("{rule:?}").contains("h.test"), "an address may hold a key");
    }

    #[test]
    fn all_that_is_wrong_is_told_at_once() {
        type Change = fn(&mut Draft);
        let rows: [(Change, &[&str]); 10] = [
            (|draft| *draft = Draft::default(), &["name", "when", "uri"]),
            (|draft| draft.name = Some("o p s".into()), &["name"]),
            (|draft| draft.name = Some("-ops".into()), &["name"]),
            (|draft| draft.name = Some("x".repeat(41)), &["name"]),
            (|draft| draft.when = Some("sometimes".into()), &["when"]),
            (|draft| draft.after = Some("soon".into()), &["after"]),
            (|draft| draft.after = None, &["after"]),
            (|draft| draft.job = Some(String::new()), &["job"]),
            (|draft| draft.when = Some("faulted".into()), &["after"]),
            (
                |draft| {
                    draft.when = Some("no-success-for".into());
                    draft.collection = Some("c".into());
                    draft.uri = Some("ftp://h.test/".into());
                },
                &["subscription", "resourceGroup", "uri"],
            ),
        ];
        for (change, expected) in rows {
            let faults = draft(change).read().expect_err("it is wrong");
            let fields: Vec<&str> = faults.iter().map(|fault| fault.field.as_str()).collect();
            assert_eq!(fields, expected, "{faults}");
        }
    }

    #[test]
    fn a_rule_is_within_the_smallest_part_that_has_all_its_jobs() {
        let name = |name: &str| Some(name.to_owned());
        let scope = |subscription: Option<String>, group: Option<String>, collection: Option<String>| Scope {
            subscription,
            group,
            collection,
            job: name("j"),
        };
        for (given, expected) in [
            (scope(None, None, None), "/"),
            (scope(None, name("g"), name("c")), "/"),
            (scope(name("s"), None, name("c")), "/subscriptions/s"),
            (scope(name("s"), name("g"), None), "/subscriptions/s/resourceGroups/g"),
            (
                scope(name("s"), name("g"), name("c")),
                "/subscriptions/s/resourceGroups/g/providers/Microsoft.Scheduler/jobCollections/c",
            ),
        ] {
            assert_eq!(given.within().to_string(), expected);
        }
    }
}
