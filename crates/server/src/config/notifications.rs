//! Whom to tell when a job is in trouble.

use std::collections::BTreeMap;
use std::time::Duration;

use model::CollectionPath;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

use super::duration;

/// The most characters of a name.
const LONGEST_NAME: usize = 40;

/// A rule: which trouble of which jobs, and whom to tell.
#[derive(Clone)]
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

/// As it is written.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct Written {
    name: String,
    when: When,
    after: Option<String>,
    subscription: Option<String>,
    resource_group: Option<String>,
    collection: Option<String>,
    job: Option<String>,
    uri: String,
    #[serde(default)]
    headers: BTreeMap<String, String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
enum When {
    Faulted,
    NoSuccessFor,
    Late,
}

impl Written {
    fn read(self) -> Result<Notification, String> {
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        if self.name.is_empty() || self.name.len() > LONGEST_NAME || !self.name.chars().all(is_name) {
            return Err(format!(
                "name: \"{}\" is not allowed; allowed: letters, digits, - and _, at most {LONGEST_NAME}",
                self.name
            ));
        }
        let after = match &self.after {
            None => None,
            Some(text) => Some(duration::parse(text).ok_or_else(|| {
                format!("after: \"{text}\" is not a duration; allowed: a number and ms, s, m, h or d, such as \"1h\"")
            })?),
        };
        let trouble = match (self.when, after) {
            (When::Faulted, None) => Trouble::Faulted,
            (When::Faulted, Some(_)) => {
                return Err("after: it means nothing with when = \"faulted\"".to_owned());
            }
            (When::NoSuccessFor, Some(after)) => Trouble::NoSuccessFor(after),
            (When::Late, Some(after)) => Trouble::Late(after),
            (When::NoSuccessFor | When::Late, None) => {
                return Err("after: it is missing; allowed: a duration such as \"1h\"".to_owned());
            }
        };
        let scope = Scope {
            subscription: self.subscription,
            group: self.resource_group,
            collection: self.collection,
            job: self.job,
        };
        if matches!(trouble, Trouble::NoSuccessFor(_)) && scope.one_collection().is_none() {
            return Err(
                "when = \"no-success-for\" is looked at job by job: subscription, resource-group and \
                        collection have to be given"
                    .to_owned(),
            );
        }
        if !["http://", "https://"].iter().any(|scheme| self.uri.starts_with(scheme)) {
            return Err("uri: it has to begin with http:// or https://".to_owned());
        }
        Ok(Notification { name: self.name, trouble, scope, uri: self.uri, headers: self.headers })
    }
}

/// All rules.
pub(super) fn read<'de, D: Deserializer<'de>>(input: D) -> Result<Vec<Notification>, D::Error> {
    let written = Vec::<Written>::deserialize(input)?;
    let mut rules: Vec<Notification> = Vec::with_capacity(written.len());
    for (number, rule) in written.into_iter().enumerate() {
        let rule = rule.read().map_err(|fault| D::Error::custom(format!("rule {}: {fault}", number + 1)))?;
        if rules.iter().any(|other| other.name.eq_ignore_ascii_case(&rule.name)) {
            return Err(D::Error::custom(format!(
                "rule {}: another has the name \"{}\"",
                number + 1,
                rule.name
            )));
        }
        rules.push(rule);
    }
    Ok(rules)
}
