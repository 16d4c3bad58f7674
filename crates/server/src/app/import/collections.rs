//! The collections of an import.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, HashMap};

use model::Collection;
use store::{Page, StoredCollection};
use template::Resource;
use wire::dialect::Dialect;

use super::changes::changes;
use super::{Planning, Step, Verdict, key, path_of};
use crate::app::collections::no_more_collections;
use crate::app::{App, Result};

/// All of them, read at once.
const ALL: Page = Page { skip: 0, top: u32::MAX };

impl App {
    pub(super) async fn plan_collections(
        &self,
        planning: &mut Planning,
        resources: Vec<Resource>,
    ) -> Result<()> {
        // What is there, by subscription: how many a plan allows is counted there.
        let mut there: BTreeMap<String, HashMap<String, StoredCollection>> = BTreeMap::new();
        for resource in &resources {
            if let Entry::Vacant(entry) = there.entry(resource.subscription.to_lowercase()) {
                let all = self.collections(&resource.subscription, None, ALL).await?;
                let by_key = all.into_iter().map(|stored| (key(&stored.collection.path), stored));
                entry.insert(by_key.collect());
            }
        }
        let mut added: Vec<(String, String)> = Vec::new();
        for resource in resources {
            let subscription = resource.subscription.to_lowercase();
            let mut path = path_of(&resource);
            let stored = there.get(&subscription).and_then(|there| there.get(&key(&path)));
            if let Some(stored) = stored {
                path.clone_from(&stored.collection.path);
            } else if let Err(problem) = self.check_group(&path).await {
                planning.problem(&resource.at, problem);
            }
            let old = stored.map(|stored| &stored.collection);
            let (mut new, ignored) = match self.collection_of(&path, &resource.body, old) {
                Ok(made) => made,
                Err(problem) => {
                    planning.problem(&resource.at, problem);
                    continue;
                }
            };
            new.resumed_at = old.and_then(|old| old.resumed_at);
            let verdict = match old {
                None => Verdict::Create,
                Some(old) if *old == new => Verdict::Same,
                Some(_) => Verdict::Change,
            };
            if let Some(old) = old.filter(|_| verdict == Verdict::Change)
                && let Err(problem) = self.check_fit(old, &new).await
            {
                planning.problem(&resource.at, problem);
            }
            if old.is_none_or(|old| old.plan != new.plan) {
                added.push((key(&path), resource.at.clone()));
            }
            let changes = match old.filter(|_| verdict == Verdict::Change) {
                Some(old) => {
                    let written = |collection| wire::collection::write(collection, Dialect::default());
                    changes(&written(old), &written(&new), &planning.secrets)
                }
                None => Vec::new(),
            };
            let revision = stored.map(|stored| stored.revision);
            planning.collections.insert(key(&path), new);
            planning.steps.push(Step { resource, path, verdict, changes, ignored, note: None, revision });
        }
        self.check_plans(planning, &there, &added);
        Ok(())
    }

    /// Whether a plan allows as many collections as there will be.
    fn check_plans(
        &self,
        planning: &mut Planning,
        there: &BTreeMap<String, HashMap<String, StoredCollection>>,
        added: &[(String, String)],
    ) {
        let mut faults = Vec::new();
        for (subscription, there) in there {
            let stay = there.iter().filter(|(key, _)| !planning.collections.contains_key(*key));
            let stay = stay.map(|(_, stored)| &stored.collection);
            let of_import = planning
                .collections
                .values()
                .filter(|collection| collection.path.subscription.eq_ignore_ascii_case(subscription));
            let after: Vec<&Collection> = stay.chain(of_import).collect();
            for plan in model::Plan::ALL {
                let most = self.plans.limits(plan).collections;
                let many = after.iter().filter(|collection| collection.plan == plan).count();
                let joins = |(key, _): &&(String, String)| {
                    planning.collections.get(key).is_some_and(|collection| {
                        collection.plan == plan
                            && collection.path.subscription.eq_ignore_ascii_case(subscription)
                    })
                };
                if many as u64 > u64::from(most)
                    && let Some((_, at)) = added.iter().rfind(joins)
                {
                    faults.push((at.clone(), no_more_collections(plan, Some((plan, most)))));
                }
            }
        }
        for (at, problem) in faults {
            planning.problem(&at, problem);
        }
    }
}
