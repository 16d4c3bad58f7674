//! What each operation needs: one table, in which no resource can be forgotten.
//!
//! A resource without a row does not compile. What may not be done is 403, and noted; what may not be seen is answered as
//! if it were not there.

use access::{Act, Permission, Scope};
use axum::http::Method;
use model::{CollectionPath, GroupPath};
use serde_json::Value;

use super::path::job_of_id;
use super::query::Query;
use super::resource::Resource;
use crate::app::App;
use crate::problem::Problem;

/// What an operation needs of whoever asks for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Need {
    /// Nothing at all: they need not even say who they are.
    Nothing,
    /// That they say who they are. What they get has only what they see.
    Name,
    /// That something in this scope is theirs to see. What they get has only that.
    Sight(Scope),
    /// A permission in a scope.
    At(Permission, Scope),
    /// A permission in any scope.
    Somewhere(Permission),
}

/// An operation: what it needs, and what it is called where it is noted.
pub(super) struct Operation {
    pub(super) need: Need,
    pub(super) act: Act,
}

use Permission::{Administer, Read, Run, Switch, Write};

impl Operation {
    /// What a request asks for, as far as its head tells.
    pub(super) fn of(resource: &Resource, method: &Method, query: &Query) -> Self {
        let is_read = [Method::GET, Method::HEAD].contains(method);
        let is_delete = *method == Method::DELETE;
        let of = |need, act| Self { need, act };
        let read = |need| of(need, Act::Read);
        let in_collection = |path: &CollectionPath| Scope::Collection(path.clone());
        match resource {
            Resource::Health
            | Resource::Ready
            | Resource::Endpoints
            | Resource::Session
            | Resource::Refer
            | Resource::Referred => read(Need::Nothing),
            Resource::Subscriptions
            | Resource::Operations
            | Resource::Ledger
            | Resource::Overview
            | Resource::Waiting
            | Resource::Preview
            | Resource::OpenApi
            | Resource::Notifications
            | Resource::Notices
            | Resource::Audit
            | Resource::Roles
            | Resource::Echo => read(Need::Name),
            Resource::Subscription(subscription)
            | Resource::Locations(subscription)
            | Resource::Providers(subscription)
            | Resource::Groups(subscription)
            // To register the provider changes nothing here, and clients do it before anything else.
            | Resource::Provider { subscription, .. } => {
                read(Need::Sight(Scope::Subscription(subscription.clone())))
            }
            Resource::Collections { subscription, group } | Resource::Resources { subscription, group } => {
                read(Need::Sight(container(subscription, group.as_deref())))
            }
            Resource::Group(path) if is_read => read(Need::Sight(Scope::Group(path.clone()))),
            Resource::Group(path) => of(
                Need::At(Write, Scope::Group(path.clone())),
                if is_delete { Act::DeleteGroup } else { Act::WriteGroup },
            ),
            Resource::Collection(path) if is_read => read(Need::At(Read, in_collection(path))),
            // What its body asks for may need more.
            Resource::Collection(path) if *method == Method::PATCH => {
                of(Need::At(Switch, in_collection(path)), Act::SwitchCollection)
            }
            Resource::Collection(path) => of(
                Need::At(Write, in_collection(path)),
                if is_delete { Act::DeleteCollection } else { Act::WriteCollection },
            ),
            Resource::Switch(path, _) => of(Need::At(Switch, in_collection(path)), Act::SwitchCollection),
            Resource::Jobs(path) if is_read => read(Need::At(Read, in_collection(path))),
            Resource::Jobs(path) => of(Need::At(Write, in_collection(path)), Act::WriteJob),
            Resource::Job(path, _) if is_read => read(Need::At(Read, in_collection(path))),
            Resource::Job(path, _) if *method == Method::PATCH => {
                of(Need::At(Switch, in_collection(path)), Act::SwitchJob)
            }
            Resource::Job(path, _) => of(
                Need::At(Write, in_collection(path)),
                if is_delete { Act::DeleteJob } else { Act::WriteJob },
            ),
            Resource::Run(path, _) => of(Need::At(Run, in_collection(path)), Act::RunJob),
            Resource::History(path, _) => read(Need::At(Read, in_collection(path))),
            Resource::Upcoming => read(named_in(query, "job", "job")),
            Resource::Events => read(named_in(query, "job", "collection")),
            Resource::Search => read(named_in(query, "collection", "collection")),
            Resource::Export => read(match query.get("subscription") {
                Some(subscription) => match (query.get("group"), query.get("collection")) {
                    (Some(group), Some(name)) => {
                        let (subscription, group, name) =
                            (subscription.to_owned(), group.to_owned(), name.to_owned());
                        Need::At(Read, Scope::Collection(CollectionPath { subscription, group, name }))
                    }
                    (group, _) => Need::Sight(container(subscription, group)),
                },
                None => Need::Name,
            }),
            // A call with the secrets of a job needs more; that is for the use-case, which knows the job.
            Resource::TestCall => of(Need::Somewhere(Write), Act::TestCall),
            // The names of all job collections are in them.
            Resource::Nodes
            | Resource::Settings
            | Resource::Keys
            | Resource::AuditVerify
            | Resource::Metrics => {
                read(Need::At(Read, Scope::Root))
            }
            Resource::RotateKeys => of(Need::At(Administer, Scope::Root), Act::RotateKeys),
            Resource::Backup => of(Need::At(Administer, Scope::Root), Act::Backup),
            Resource::Import => of(Need::At(Administer, Scope::Root), Act::Import),
            Resource::Tokens if is_read => read(Need::At(Administer, Scope::Root)),
            Resource::Tokens => of(Need::At(Administer, Scope::Root), Act::CreateToken),
            Resource::Token(_) => of(Need::At(Administer, Scope::Root), Act::RevokeToken),
            // Of which jobs it is, the rule or the body says.
            Resource::Notification(_) if is_read => read(Need::Name),
            Resource::Notification(_) => {
                of(Need::Somewhere(Write), if is_delete { Act::DeleteJob } else { Act::WriteJob })
            }
            // In which scope, its body says.
            Resource::AssignRole => of(Need::Somewhere(Administer), Act::AssignRole),
            Resource::RemoveRole => of(Need::Somewhere(Administer), Act::RemoveRole),
        }
    }

    /// What a request asks for, with its body: a change of anything but the state needs more than one of the state.
    pub(super) fn with_body(resource: &Resource, method: &Method, body: &[u8]) -> Option<Self> {
        let (act, path) = match resource {
            Resource::Collection(path) => (Act::WriteCollection, path),
            Resource::Job(path, _) => (Act::WriteJob, path),
            _ => return None,
        };
        (*method == Method::PATCH && !is_switch(body))
            .then(|| Self { need: Need::At(Write, Scope::Collection(path.clone())), act })
    }
}

/// Whether a body changes the state alone.
fn is_switch(body: &[u8]) -> bool {
    let Ok(Value::Object(members)) = wire::json::read(body) else { return false };
    let is_state = |members: &serde_json::Map<String, Value>| members.keys().all(|name| name == "state");
    !members.is_empty()
        && members.iter().all(|(name, value)| {
            name == "properties"
                && value.as_object().is_some_and(|given| !given.is_empty() && is_state(given))
        })
}

fn container(subscription: &str, group: Option<&str>) -> Scope {
    let subscription = subscription.to_owned();
    match group.filter(|group| !group.is_empty()) {
        Some(group) => Scope::Group(GroupPath { subscription, name: group.to_owned() }),
        None => Scope::Subscription(subscription),
    }
}

/// To see what a parameter names, if there is one; one that names nothing is refused by the route.
fn named_in(query: &Query, job: &str, collection: &str) -> Need {
    let of_job = query.get(job).and_then(job_of_id).map(|(path, _)| path);
    let of_collection = || match query.get(collection).and_then(Resource::of) {
        Some(Resource::Collection(path)) => Some(path),
        _ => None,
    };
    match of_job.or_else(of_collection) {
        Some(path) => Need::At(Read, Scope::Collection(path)),
        None => Need::Name,
    }
}

/// Whether whoever asks may; otherwise what they are answered.
pub(super) fn judge(app: &App, operation: &Operation) -> Result<(), Problem> {
    let grants = &app.caller.grants;
    match &operation.need {
        Need::Nothing | Need::Name => Ok(()),
        Need::Sight(scope) if grants.sees(scope) => Ok(()),
        Need::Sight(scope) => Err(Problem::missing(scope)),
        Need::At(permission, scope) => app.require(*permission, scope, operation.act),
        Need::Somewhere(permission) if grants.allow_somewhere(*permission) => Ok(()),
        Need::Somewhere(permission) => {
            Err(Problem::forbidden(&app.caller.principal, operation.act, *permission, &Scope::Root))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_of_the_state_alone_is_a_switch() {
        for (body, expected) in [
            (r#"{"properties":{"state":"disabled"}}"#, true),
            (r#"{"properties":{"state":"disabled","recurrence":null}}"#, false),
            (r#"{"properties":{"state":"disabled"},"tags":{}}"#, false),
            (r#"{"properties":{}}"#, false),
            (r#"{"properties":null}"#, false),
            (r#"{"Properties":{"state":"disabled"}}"#, false),
            ("{}", false),
            ("[]", false),
            ("", false),
        ] {
            assert_eq!(is_switch(body.as_bytes()), expected, "{body}");
        }
    }
}
