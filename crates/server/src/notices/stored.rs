//! Rules that were made while the server ran: each is a job that is switched off.
//!
//! Its action is the call that its notices make; what it watches stands in the body. So a rule is kept, copied, moved to
//! another database and noted in the audit as every job is, and every node finds it.

use access::{Act, Decision, Permission};
use model::{CollectionPath, action::Call};
use serde_json::{Value, json};
use store::{JobQuery, Page, Revision, StoredJob};

use super::Notification;
use super::rule::{Draft, Scope};
use crate::app::{App, Preconditions, Result};
use crate::problem::Problem;

/// How many jobs are looked at to find out whether a rule is about any: so many at a time, and so often.
const LOOK: u32 = 100;
const MOST_LOOKS: u64 = 20;

/// The most rules that are stored.
pub(super) const MOST: u32 = 100;

/// Where they are.
pub fn collection() -> CollectionPath {
    CollectionPath { subscription: "punctual".into(), group: "notifications".into(), name: "rules".into() }
}

/// A rule, and where it comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    /// The rule.
    pub notification: Notification,
    /// The revision of one that is stored; `None` of one from the file of settings.
    pub revision: Option<Revision>,
}

impl App {
    /// All rules: those of the file, then those that are stored, by name. Where both have a name, the file is right.
    pub async fn rules(&self) -> Result<Vec<Rule>> {
        let given = self.config.notifications.iter().cloned();
        let mut rules: Vec<Rule> = given.map(|notification| Rule { notification, revision: None }).collect();
        let page = store::Page { skip: 0, top: MOST };
        let stored = self.store.jobs(&collection(), None, page).await?.unwrap_or_default();
        for job in stored {
            // Whoever keeps something else there keeps no rule.
            let Some(notification) = read(&job) else { continue };
            if self.given(&notification.name).is_none() {
                rules.push(Rule { notification, revision: Some(job.revision) });
            }
        }
        Ok(rules)
    }

    /// The rules that whoever asks sees: those all of whose jobs they see.
    pub async fn rules_seen(&self) -> Result<Vec<Rule>> {
        let sight = self.caller.grants.sight();
        let mut rules = self.rules().await?;
        rules.retain(|rule| sight.covers(&rule.notification.scope.within()));
        Ok(rules)
    }

    /// One of them.
    pub async fn rule(&self, name: &str) -> Result<Rule> {
        let rules = self.rules_seen().await?;
        let mut found = rules.into_iter().filter(|rule| rule.notification.name.eq_ignore_ascii_case(name));
        found.next().ok_or_else(|| Problem::no_rule(name))
    }

    /// Whether a rule is about no job at all, as one with a misspelt name is. It may have been made before its jobs, so that is
    /// no fault, but it has to show.
    pub async fn watches_nothing(&self, scope: &Scope) -> Result<bool> {
        let Scope { subscription, group, collection, job } = scope;
        if [subscription, group, collection, job].iter().all(|name| name.is_none()) {
            return Ok(false);
        }
        let path = match (subscription, group, collection) {
            (Some(subscription), Some(group), Some(name)) => Some(CollectionPath {
                subscription: subscription.clone(),
                group: group.clone(),
                name: name.clone(),
            }),
            _ => None,
        };
        let query = JobQuery {
            search: job.clone().or_else(|| collection.clone().filter(|_| path.is_none())),
            subscription: subscription.clone(),
            collection: path,
            ..JobQuery::default()
        };
        let rules = self::collection();
        for page in 0..MOST_LOOKS {
            let skip = page * u64::from(LOOK);
            let found = self.store.find_jobs(&query, Page { skip, top: LOOK }).await?;
            // Rules are kept as jobs, and no rule is about a rule.
            let mut jobs = found.jobs.iter().filter(|stored| stored.collection != rules);
            if jobs.any(|stored| scope.holds(&stored.collection, &stored.job.name)) {
                return Ok(false);
            }
            if found.total <= skip + u64::from(LOOK) {
                return Ok(true);
            }
        }
        // Too many to look at all of them.
        Ok(false)
    }

    /// Whether whoever asks may change a rule, and read all of it.
    pub fn may_change(&self, rule: &Notification) -> bool {
        self.caller.grants.decide(Permission::Write, &rule.scope.within()) == Decision::Allowed
    }

    /// Makes a rule, or another of one that is stored; whether it is new.
    pub async fn put_rule(&self, rule: &Notification, preconditions: &Preconditions) -> Result<(Rule, bool)> {
        self.require(Permission::Write, &rule.scope.within(), Act::WriteJob)?;
        if let Some(given) = self.given(&rule.name) {
            return Err(in_file(&given.name));
        }
        let before = self.store.job(&collection(), &rule.name).await?;
        if before.as_ref().and_then(read).is_some_and(|before| !self.may_change(&before)) {
            // It may be about jobs that they do not see.
            return Err(Problem::conflict(format!(
                "The name '{}' is taken by a rule that is not yours to change; choose another.",
                rule.name
            )));
        }
        let put = async || self.put_job(&collection(), &rule.name, &write(rule), preconditions).await;
        let written = match put().await {
            Err(problem) if problem.status == 404 => {
                let body = json!({"location": "Local", "properties": {
                    "sku": {"name": "P20Premium"},
                    "quota": {"maxJobCount": MOST},
                }});
                self.put_collection(&collection(), &body, &Preconditions::default()).await?;
                put().await
            }
            written => written,
        };
        let written = written.map_err(of_rule)?;
        // A rule keeps the case of the name that it was made with.
        let notification = Notification { name: written.stored.job.name, ..rule.clone() };
        Ok((Rule { notification, revision: Some(written.stored.revision) }, written.created))
    }

    /// Deletes a rule. What it has found is taken away with the next look around, and told no more.
    pub async fn delete_rule(&self, name: &str, preconditions: &Preconditions) -> Result<()> {
        let rule = self.rule(name).await?;
        self.require(Permission::Write, &rule.notification.scope.within(), Act::DeleteJob)?;
        if rule.revision.is_none() {
            return Err(in_file(&rule.notification.name));
        }
        self.delete_job(&collection(), name, preconditions).await
    }

    /// A rule of the file.
    fn given(&self, name: &str) -> Option<&Notification> {
        self.config.notifications.iter().find(|given| given.name.eq_ignore_ascii_case(name))
    }
}

fn in_file(name: &str) -> Problem {
    Problem::conflict(format!(
        "The rule '{name}' stands in the file of settings and is changed there, with a restart."
    ))
}

/// What is wrong with the call is wrong with the rule.
fn of_rule(mut problem: Problem) -> Problem {
    if let Some(faults) = problem.faults.take() {
        let mut faults = faults.into_vec();
        for fault in &mut faults {
            if let Some((_, field)) = fault.field.split_once("action.request.") {
                fault.field = field.to_owned();
            }
        }
        if let Err(faults) = recurrence::Faults::check(faults) {
            problem.message = faults.to_string();
            problem.faults = Some(faults);
        }
    }
    problem
}

fn write(rule: &Notification) -> Value {
    let scope = &rule.scope;
    let watched = json!({
        "when": rule.trouble.name(),
        "after": rule.trouble.after(),
        "subscription": scope.subscription,
        "resourceGroup": scope.group,
        "collection": scope.collection,
        "job": scope.job,
        // As they were given: the call has more.
        "headers": rule.headers,
    });
    json!({"properties": {"state": "Disabled", "action": rule.action(&watched)}})
}

fn read(stored: &StoredJob) -> Option<Notification> {
    let Call::Http { request, .. } = &stored.job.definition.action.call else { return None };
    let watched: Value = serde_json::from_str(request.body.as_deref()?).ok()?;
    let text = |name: &str| watched[name].as_str().map(str::to_owned);
    let draft = Draft {
        name: Some(stored.job.name.clone()),
        when: text("when"),
        after: text("after"),
        subscription: text("subscription"),
        resource_group: text("resourceGroup"),
        collection: text("collection"),
        job: text("job"),
        uri: Some(request.uri.clone()),
        headers: serde_json::from_value(watched["headers"].clone()).ok()?,
    };
    draft.read().ok()
}
