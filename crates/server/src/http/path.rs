//! Paths: which resource a URL names. Segments match in any case and keep the case they are written in.

use model::{CollectionPath, GroupPath};
use percent_encoding::percent_decode_str;

use super::resource::Resource;

impl Resource {
    /// The resource of a path, as it stands in the URL.
    pub(crate) fn of(path: &str) -> Option<Self> {
        let segments: Vec<String> = path
            .trim_end_matches('/')
            .split('/')
            .skip(1)
            .map(|segment| percent_decode_str(segment).decode_utf8().map(Into::into).ok())
            .collect::<Option<_>>()?;
        let segments: Vec<&str> = segments.iter().map(String::as_str).collect();
        match segments[..] {
            ["healthz"] => Some(Self::Health),
            ["readyz"] => Some(Self::Ready),
            ["metrics"] => Some(Self::Metrics),
            ["api", "ledger"] => Some(Self::Ledger),
            ["api", "overview"] => Some(Self::Overview),
            ["api", "jobs"] => Some(Self::Search),
            ["api", "events"] => Some(Self::Events),
            ["api", "preview"] => Some(Self::Preview),
            ["api", "upcoming"] => Some(Self::Upcoming),
            ["api", "nodes"] => Some(Self::Nodes),
            ["api", "waiting"] => Some(Self::Waiting),
            ["api", "test-call"] => Some(Self::TestCall),
            ["api", "settings"] => Some(Self::Settings),
            ["api", "backup"] => Some(Self::Backup),
            ["api", "keys"] => Some(Self::Keys),
            ["api", "keys", "rotate"] => Some(Self::RotateKeys),
            ["api", "import"] => Some(Self::Import),
            ["api", "export"] => Some(Self::Export),
            ["api", "notifications"] => Some(Self::Notifications),
            ["api", "notifications", name] if !name.is_empty() => Some(Self::Notification(name.to_owned())),
            ["api", "notices"] => Some(Self::Notices),
            ["api", "audit"] => Some(Self::Audit),
            ["api", "audit", "verify"] => Some(Self::AuditVerify),
            ["api", "tokens"] => Some(Self::Tokens),
            ["api", "tokens", id] if !id.is_empty() => Some(Self::Token(id.to_owned())),
            ["api", "session"] => Some(Self::Session),
            ["api", "session", "oidc"] => Some(Self::Refer),
            ["api", "session", "oidc", "callback"] => Some(Self::Referred),
            ["api", "roles"] => Some(Self::Roles),
            ["api", "roles", "assign"] => Some(Self::AssignRole),
            ["api", "roles", "remove"] => Some(Self::RemoveRole),
            ["api", "openapi.json"] => Some(Self::OpenApi),
            ["api", "echo", ..] => Some(Self::Echo),
            [metadata, endpoints] if is(metadata, "metadata") && is(endpoints, "endpoints") => {
                Some(Self::Endpoints)
            }
            [providers, provider, operations]
                if is(providers, "providers") && is_ours(provider) && is(operations, "operations") =>
            {
                Some(Self::Operations)
            }
            [subscriptions] if is(subscriptions, "subscriptions") => Some(Self::Subscriptions),
            [subscriptions, subscription, ref rest @ ..] if is(subscriptions, "subscriptions") => {
                Self::of_subscription(subscription, rest)
            }
            _ => None,
        }
    }

    fn of_subscription(subscription: &str, rest: &[&str]) -> Option<Self> {
        let of = |resource: fn(String) -> Self| Some(resource(subscription.to_owned()));
        match rest {
            _ if subscription.is_empty() => None,
            [] => of(Self::Subscription),
            [part] if is(part, "locations") => of(Self::Locations),
            [part] if is(part, "providers") => of(Self::Providers),
            [part] if is(part, "resourceGroups") => of(Self::Groups),
            [part] if is(part, "resources") => {
                Some(Self::Resources { subscription: subscription.to_owned(), group: None })
            }
            [groups, group] if is(groups, "resourceGroups") => {
                let path = GroupPath { subscription: subscription.to_owned(), name: (*group).to_owned() };
                Some(Self::Group(path))
            }
            [groups, group, part] if is(groups, "resourceGroups") && is(part, "resources") => {
                let group = Some((*group).to_owned());
                Some(Self::Resources { subscription: subscription.to_owned(), group })
            }
            [providers, namespace, verb @ ..]
                if is(providers, "providers")
                    && matches!(verb, [] | [_])
                    && verb.iter().all(|verb| is(verb, "register") || is(verb, "unregister")) =>
            {
                Some(Self::Provider {
                    subscription: subscription.to_owned(),
                    namespace: (*namespace).to_owned(),
                    change: !verb.is_empty(),
                })
            }
            rest => Self::of_provider(subscription, rest),
        }
    }

    fn of_provider(subscription: &str, rest: &[&str]) -> Option<Self> {
        let (group, rest) = match rest {
            [groups, group, rest @ ..] if is(groups, "resourceGroups") => (Some(*group), rest),
            rest => (None, rest),
        };
        // Clients for resources of any kind write an empty segment where a parent could stand.
        let ([providers, provider, "", kind, rest @ ..] | [providers, provider, kind, rest @ ..]) = rest
        else {
            return None;
        };
        if !is(providers, "providers") || !is_ours(provider) || !is(kind, "jobCollections") {
            return None;
        }
        let subscription = subscription.to_owned();
        let (Some(group), [name, rest @ ..]) = (group, rest) else {
            let group = group.map(str::to_owned);
            return rest.is_empty().then_some(Self::Collections { subscription, group });
        };
        let path = CollectionPath { subscription, group: group.to_owned(), name: (*name).to_owned() };
        match rest {
            [] => Some(Self::Collection(path)),
            [verb] if is(verb, "enable") => Some(Self::Switch(path, true)),
            [verb] if is(verb, "disable") => Some(Self::Switch(path, false)),
            [jobs] if is(jobs, "jobs") => Some(Self::Jobs(path)),
            [jobs, job] if is(jobs, "jobs") => Some(Self::Job(path, (*job).to_owned())),
            [jobs, job, verb] if is(jobs, "jobs") && is(verb, "run") => {
                Some(Self::Run(path, (*job).to_owned()))
            }
            [jobs, job, part] if is(jobs, "jobs") && is(part, "history") => {
                Some(Self::History(path, (*job).to_owned()))
            }
            _ => None,
        }
    }
}

/// The job that an id names.
pub(crate) fn job_of_id(id: &str) -> Option<(CollectionPath, String)> {
    match Resource::of(id) {
        Some(Resource::Job(path, name)) => Some((path, name)),
        _ => None,
    }
}

fn is_ours(namespace: &str) -> bool {
    is(namespace, wire::surroundings::NAMESPACE)
}

fn is(segment: &str, name: &str) -> bool {
    segment.eq_ignore_ascii_case(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_match_in_any_case() {
        let path = CollectionPath { subscription: "S".into(), group: "My Group".into(), name: "C".into() };
        let base =
            "/subscriptions/S/resourceGroups/My%20Group/providers/Microsoft.Scheduler/jobCollections/C";
        for (url, resource) in [
            (base.to_owned(), Resource::Collection(path.clone())),
            (format!("{base}/"), Resource::Collection(path.clone())),
            (base.replace("/jobC", "//jobC"), Resource::Collection(path.clone())),
            (
                base.to_lowercase()
                    .replace("/s/", "/S/")
                    .replace("my%20group", "My%20Group")
                    .replace("/c", "/C"),
                Resource::Collection(path.clone()),
            ),
            (format!("{base}/Enable"), Resource::Switch(path.clone(), true)),
            (format!("{base}/disable"), Resource::Switch(path.clone(), false)),
            (format!("{base}/jobs"), Resource::Jobs(path.clone())),
            (format!("{base}/Jobs/j"), Resource::Job(path.clone(), "j".into())),
            (format!("{base}/jobs/j/run"), Resource::Run(path.clone(), "j".into())),
            (format!("{base}/jobs/j/History"), Resource::History(path.clone(), "j".into())),
            ("/api/ledger".into(), Resource::Ledger),
        ] {
            assert_eq!(Resource::of(&url), Some(resource), "{url}");
        }
        let collections = Resource::Collections { subscription: "S".into(), group: None };
        assert_eq!(
            Resource::of("/subscriptions/S/providers/microsoft.scheduler/jobcollections"),
            Some(collections)
        );
    }

    #[test]
    fn what_is_not_served() {
        for url in [
            "/",
            "/subscriptions//resourceGroups",
            "/subscriptions/S/providers/Microsoft.Web/sites",
            "/subscriptions/S/providers/Microsoft.Scheduler/register/x",
            "/providers/Microsoft.Web/operations",
            "/metadata",
            "/subscriptions/S/providers/Microsoft.Scheduler/jobCollections/C",
            "/subscriptions/S/resourceGroups/G/providers/Microsoft.Scheduler/jobCollections/C/jobs/j/stop",
            "/subscriptions/S/resourceGroups/G/providers/Microsoft.Scheduler/jobCollections/%FF",
            "/api",
            "/api/other",
        ] {
            assert_eq!(Resource::of(url), None, "{url}");
        }
    }
}
