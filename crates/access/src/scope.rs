//! Scopes: the parts of the tree of resources for which a role holds.

use std::fmt;
use std::str::FromStr;

use model::{CollectionPath, GroupPath};

/// A part of the tree: everything, a subscription, a group or a collection. Names match in any case.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Scope {
    /// Everything, the server itself included.
    #[default]
    Root,
    /// A subscription.
    Subscription(String),
    /// A resource group.
    Group(GroupPath),
    /// A job collection.
    Collection(CollectionPath),
}

impl Scope {
    /// What a text must look like to be a scope.
    pub const FORMS: &'static str = "/, /subscriptions/S, /subscriptions/S/resourceGroups/G, or \
         /subscriptions/S/resourceGroups/G/providers/Microsoft.Scheduler/jobCollections/C";

    /// The scope of an id: that of its collection, where it is below one. `None` where it is no id of ours.
    pub fn of_id(id: &str) -> Option<Self> {
        let segments: Vec<&str> = id.trim_end_matches('/').split('/').skip(1).collect();
        let is = |segment: &str, name: &str| segment.eq_ignore_ascii_case(name);
        match segments[..] {
            [subscriptions, subscription, ref rest @ ..]
                if is(subscriptions, "subscriptions") && !subscription.is_empty() =>
            {
                let subscription = subscription.to_owned();
                match *rest {
                    [] => Some(Self::Subscription(subscription)),
                    [groups, group] if is(groups, "resourceGroups") && !group.is_empty() => {
                        Some(Self::Group(GroupPath { subscription, name: group.to_owned() }))
                    }
                    [groups, group, providers, provider, kind, name, ..]
                        if is(groups, "resourceGroups")
                            && is(providers, "providers")
                            && is(provider, "Microsoft.Scheduler")
                            && is(kind, "jobCollections")
                            && !group.is_empty()
                            && !name.is_empty() =>
                    {
                        let (group, name) = (group.to_owned(), name.to_owned());
                        Some(Self::Collection(CollectionPath { subscription, group, name }))
                    }
                    _ => None,
                }
            }
            _ => None,
        }
    }

    /// Subscription, group and collection, as far as they are named, in the form by which names are compared.
    pub fn keys(&self) -> [Option<String>; 3] {
        let key = |name: &String| Some(name.to_lowercase());
        match self {
            Self::Root => [None, None, None],
            Self::Subscription(subscription) => [key(subscription), None, None],
            Self::Group(path) => [key(&path.subscription), key(&path.name), None],
            Self::Collection(path) => [key(&path.subscription), key(&path.group), key(&path.name)],
        }
    }

    /// Whether another scope is within this one, or is this one.
    pub fn contains(&self, other: &Self) -> bool {
        self.keys().iter().zip(other.keys()).all(|(mine, other)| mine.is_none() || *mine == other)
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Root => f.write_str("/"),
            Self::Subscription(subscription) => write!(f, "/subscriptions/{subscription}"),
            Self::Group(GroupPath { subscription, name }) => {
                write!(f, "/subscriptions/{subscription}/resourceGroups/{name}")
            }
            Self::Collection(CollectionPath { subscription, group, name }) => write!(
                f,
                "/subscriptions/{subscription}/resourceGroups/{group}/providers/Microsoft.Scheduler/jobCollections/{name}"
            ),
        }
    }
}

impl FromStr for Scope {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "/" {
            return Ok(Self::Root);
        }
        let scope =
            Self::of_id(text).filter(|scope| scope.to_string().len() == text.trim_end_matches('/').len());
        scope.ok_or_else(|| format!("'{text}' is no scope; allowed: {}", Self::FORMS))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COLLECTION: &str =
        "/subscriptions/s/resourceGroups/g/providers/Microsoft.Scheduler/jobCollections/c";

    #[test]
    fn texts_and_scopes() {
        for text in ["/", "/subscriptions/s", "/subscriptions/s/resourceGroups/g", COLLECTION] {
            assert_eq!(text.parse::<Scope>().map(|scope| scope.to_string()), Ok(text.to_owned()));
        }
        for text in [
            "",
            "s",
            "//",
            "/subscriptions",
            "/subscriptions/",
            "/subscriptions/s/resourceGroups",
            "/subscriptions/s/resourceGroups//",
            "/subscriptions/s/resourceGroups/g/providers/Microsoft.Web/jobCollections/c",
            "/subscriptions/s/resourceGroups/g/providers/Microsoft.Scheduler/jobCollections/c/jobs/j",
        ] {
            assert!(text.parse::<Scope>().is_err(), "{text}");
        }
        let job = Scope::of_id(&format!("{COLLECTION}/jobs/j"));
        assert_eq!(job.map(|scope| scope.to_string()).as_deref(), Some(COLLECTION));
    }

    #[test]
    fn a_scope_contains_itself_and_what_is_below() {
        let scopes: Vec<Scope> = ["/", "/subscriptions/S", "/subscriptions/s/resourceGroups/G", COLLECTION]
            .iter()
            .map(|text| text.parse().expect("a scope"))
            .collect();
        for (i, outer) in scopes.iter().enumerate() {
            for (j, inner) in scopes.iter().enumerate() {
                assert_eq!(outer.contains(inner), i <= j, "{outer} {inner}");
            }
        }
        let other: Scope = "/subscriptions/s2".parse().expect("a scope");
        assert!(!scopes[1].contains(&other) && !other.contains(&scopes[1]));
    }
}
