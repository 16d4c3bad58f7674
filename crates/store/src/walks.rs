//! How a question about the ledger is answered: by which walks, newest first, wherever the ledger is kept.
//!
//! Every walk goes backwards along an index that fits it. Which are chosen is decided here and not left to a planner,
//! because ten million rows forgive no mistake. The backends find the numbers behind names, and walk.

use model::{CollectionPath, Fate};

use crate::LedgerQuery;
use crate::codec::key;

/// A subscription with at most so many collections is read collection by collection. One with more has a fair share of
/// the ledger, and is found by walking through all of it.
const FEW_COLLECTIONS: usize = 64;

/// How many collections of a subscription have to be found for [`of_many`] to decide.
pub(crate) const TO_BE_FOUND: i64 = FEW_COLLECTIONS as i64 + 1;

/// What a question is about.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Scope<'q> {
    /// It contradicts itself.
    Nothing,
    Everything,
    /// All of a subscription, or of one of its groups.
    Subscription(&'q str, Option<&'q str>),
    /// All collections that ever had this path.
    Collection(&'q CollectionPath),
    /// All jobs in them that ever had this name.
    Job(&'q CollectionPath, &'q str),
}

/// One walk through an index.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Walk {
    Everything,
    /// By the keys of its name and of a group's.
    Subscription(String, Option<String>),
    Collection(i64),
    Job(i64),
}

/// What a question is about.
pub(crate) fn scope(query: &LedgerQuery) -> Scope<'_> {
    match (&query.subscription, &query.collection) {
        (Some(name), Some(path)) if key(name) != key(&path.subscription) => Scope::Nothing,
        (_, Some(path)) => match &query.job {
            Some(name) => Scope::Job(path, name),
            None => Scope::Collection(path),
        },
        (Some(subscription), None) => Scope::Subscription(subscription, query.group.as_deref()),
        (None, None) => Scope::Everything,
    }
}

/// The walks through a subscription or one of its groups (by the keys of their names), or through all that somebody sees,
/// of which up to [`TO_BE_FOUND`] collections were found.
pub(crate) fn of_many(
    subscription: Option<String>,
    group: Option<String>,
    collections: Vec<i64>,
) -> Vec<Walk> {
    if collections.len() > FEW_COLLECTIONS {
        let of_subscription = |subscription| Walk::Subscription(subscription, group);
        return vec![subscription.map_or(Walk::Everything, of_subscription)];
    }
    collections.into_iter().map(Walk::Collection).collect()
}

/// Whether a question leaves out what simply ran: then there is a smaller index.
pub(crate) fn is_trouble(query: &LedgerQuery) -> bool {
    !query.fates.is_empty() && !query.fates.contains(&Fate::Ran)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_is_about_the_least_that_it_names() {
        let path = CollectionPath { subscription: "S".into(), group: "g".into(), name: "c".into() };
        let query = LedgerQuery::default();
        assert_eq!(scope(&query), Scope::Everything);
        let query = LedgerQuery { subscription: Some("s".into()), ..query };
        assert_eq!(scope(&query), Scope::Subscription("s", None));
        let of_group = LedgerQuery { group: Some("g".into()), ..query.clone() };
        assert_eq!(scope(&of_group), Scope::Subscription("s", Some("g")));
        let query = LedgerQuery { collection: Some(path.clone()), ..query };
        assert_eq!(scope(&query), Scope::Collection(&path), "names are compared in any case");
        let query = LedgerQuery { job: Some("j".into()), ..query };
        assert_eq!(scope(&query), Scope::Job(&path, "j"));
        let query = LedgerQuery { subscription: Some("other".into()), ..query };
        assert_eq!(scope(&query), Scope::Nothing);
    }

    #[test]
    fn a_large_subscription_is_one_walk() {
        let of = |collections| of_many(Some("s".into()), None, collections);
        assert_eq!(of(vec![3, 4]), [Walk::Collection(3), Walk::Collection(4)]);
        assert_eq!(of((0..64).collect()).len(), 64);
        assert_eq!(of((0..TO_BE_FOUND).collect()), [Walk::Subscription("s".into(), None)]);
        let of_group = of_many(Some("s".into()), Some("g".into()), (0..TO_BE_FOUND).collect());
        assert_eq!(of_group, [Walk::Subscription("s".into(), Some("g".into()))]);
        assert_eq!(of_many(None, None, (0..TO_BE_FOUND).collect()), [Walk::Everything]);
    }
}
