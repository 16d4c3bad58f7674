//! Paths: which resource a URL names. Segments match in any case and keep the case they are written in.

use model::CollectionPath;
use percent_encoding::percent_decode_str;

/// What is served.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Resource {
    /// The collections of a subscription, or of one of its groups.
    Collections { subscription: String, group: Option<String> },
    /// One collection.
    Collection(CollectionPath),
    /// Switches a collection on or off.
    Switch(CollectionPath, bool),
    /// The jobs of a collection.
    Jobs(CollectionPath),
    /// One job.
    Job(CollectionPath, String),
    /// Runs a job.
    Run(CollectionPath, String),
    /// A job's history.
    History(CollectionPath, String),
    /// What became of every occurrence.
    Ledger,
    /// A copy of the whole store.
    Backup,
    /// Takes the resources of a template.
    Import,
    /// A template of what is here.
    Export,
    /// The description of this API.
    OpenApi,
    /// Answers with what it was asked.
    Echo,
    /// Whether the process lives.
    Health,
    /// Whether it can do its work.
    Ready,
}

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
            ["api", "ledger"] => Some(Self::Ledger),
            ["api", "backup"] => Some(Self::Backup),
            ["api", "import"] => Some(Self::Import),
            ["api", "export"] => Some(Self::Export),
            ["api", "openapi.json"] => Some(Self::OpenApi),
            ["api", "echo", ..] => Some(Self::Echo),
            [subscriptions, subscription, ref rest @ ..] if is(subscriptions, "subscriptions") => {
                Self::of_subscription(subscription, rest)
            }
            _ => None,
        }
    }

    fn of_subscription(subscription: &str, rest: &[&str]) -> Option<Self> {
        let (group, rest) = match rest {
            [groups, group, rest @ ..] if is(groups, "resourceGroups") => (Some(*group), rest),
            rest => (None, rest),
        };
        let [providers, provider, kind, rest @ ..] = rest else { return None };
        if !is(providers, "providers") || !is(provider, "Microsoft.Scheduler") || !is(kind, "jobCollections")
        {
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

    /// The methods it answers to.
    pub(crate) fn methods(&self) -> &'static str {
        match self {
            Self::Collection(_) | Self::Job(..) => "GET, PUT, PATCH, DELETE",
            Self::Switch(..) | Self::Run(..) | Self::Backup | Self::Import => "POST",
            Self::Jobs(_) => "GET, POST",
            Self::Echo => "GET, POST, PUT, PATCH, DELETE",
            _ => "GET",
        }
    }

    /// Whether it belongs to the API that has versions.
    pub(crate) fn is_versioned(&self) -> bool {
        !matches!(
            self,
            Self::Ledger
                | Self::Backup
                | Self::Import
                | Self::Export
                | Self::OpenApi
                | Self::Echo
                | Self::Health
                | Self::Ready
        )
    }
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
            "/subscriptions",
            "/subscriptions/S",
            "/subscriptions/S/providers/Microsoft.Web/sites",
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
