//! Who waits for whom: the calls that are due and wait on this server, what they wait for, and whose calls hold their places.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::hash::Hash;

use access::Scope;
use engine::{Queue, Wait};
use model::CollectionPath;
use serde_json::{Map, Value, json};
use wire::date_time;

use super::{Answered, Call};
use crate::app::App;
use crate::http::answer::Answer;

/// The most entries of each list.
const MOST: usize = 20;

/// The most holders that are named for a queue.
const HOLDERS: usize = 3;

pub(super) async fn waiting(app: &App, call: &Call) -> Answered {
    call.query.only(&[])?;
    let sees_all = app.caller.sees_all();
    let sight = app.caller.grants.sight();
    let sees = |path: &CollectionPath| sees_all || sight.covers(&Scope::Collection(path.clone()));
    let mut body = write(&app.live.watched.queues.look(), &sees);
    let engine = &app.config.engine;
    body.insert("now".to_owned(), date_time::write(app.clock.now()).into());
    body.insert("partial".to_owned(), (!sees_all).into());
    body.insert(
        "limits".to_owned(),
        json!({
            "calls": engine.calls,
            "callsPerCollection": engine.calls_per_collection,
            "callsPerTarget": engine.calls_per_target,
        }),
    );
    Ok(Answer::json(200, body.into()))
}

/// How many calls run and how many wait.
#[derive(Debug, Clone, Copy, Default)]
struct Count {
    running: usize,
    waiting: usize,
}

impl Count {
    fn add(&mut self, queue: &Queue) {
        self.running += queue.running;
        self.waiting += queue.waiting;
    }

    fn write(self, of: &str, name: impl Into<Value>) -> Value {
        let mut members = Map::new();
        members.insert(of.to_owned(), name.into());
        members.insert("running".to_owned(), self.running.into());
        members.insert("waiting".to_owned(), self.waiting.into());
        members.into()
    }
}

/// Writes what a caller may see of the queues. Names of collections that the caller does not see are left out, and so are
/// targets and subscriptions that only those use; their calls are counted.
fn write(queues: &[Queue], sees: &dyn Fn(&CollectionPath) -> bool) -> Map<String, Value> {
    let (mut all, mut others) = (Count::default(), Count::default());
    let mut waiting_for = [0; Wait::COUNT];
    let (mut collections, mut targets, mut subscriptions) = (HashMap::new(), HashMap::new(), HashMap::new());
    let mut seen = Vec::new();
    for queue in queues {
        all.add(queue);
        if let Some((_, wait)) = queue.first {
            waiting_for[wait as usize] += queue.waiting;
        }
        if sees(&queue.collection) {
            seen.push(queue);
            count(&mut collections, &queue.collection).add(queue);
            count(&mut targets, queue.target.as_str());
            count(&mut subscriptions, &*queue.collection.subscription);
        } else {
            others.add(queue);
        }
    }
    // All calls hold places at what the caller sees, also those of others.
    for queue in queues {
        if let Some(count) = targets.get_mut(queue.target.as_str()) {
            count.add(queue);
        }
        if let Some(count) = subscriptions.get_mut(&*queue.collection.subscription) {
            count.add(queue);
        }
    }

    let mut waiting: Vec<_> = seen.into_iter().filter_map(|queue| Some((queue, queue.first?))).collect();
    waiting.sort_unstable_by_key(|(queue, (since, _))| (*since, Reverse(queue.waiting)));
    let more = waiting.len().saturating_sub(MOST);
    // The pool is the same for all.
    let mut of_pool = None;
    let waiting = waiting.into_iter().take(MOST).map(|(queue, (since, wait))| {
        json!({
            "collection": wire::path::collection_id(&queue.collection),
            "target": queue.target.as_str(),
            "running": queue.running,
            "waiting": queue.waiting,
            "since": date_time::write(since),
            "waitsFor": wait.name(),
            "heldBy": match wait {
                Wait::Pool | Wait::Share => of_pool.get_or_insert_with(|| held_by(queues, queue, wait, sees)).clone(),
                Wait::Target | Wait::Collection => held_by(queues, queue, wait, sees),
            },
        })
    });
    let waiting: Vec<Value> = waiting.collect();
    let reasons =
        Wait::ALL.into_iter().map(|wait| (wait.name().to_owned(), waiting_for[wait as usize].into()));
    let collections = top(collections, |path| wire::path::collection_id(path));
    let members = [
        ("running", json!(all.running)),
        ("waiting", json!(all.waiting)),
        ("waitingFor", reasons.collect::<Map<String, Value>>().into()),
        ("queues", json!(waiting)),
        ("moreQueues", json!(more)),
        ("subscriptions", list("subscription", top(subscriptions, |name| (*name).to_owned()))),
        ("collections", list("collection", collections)),
        ("targets", list("target", top(targets, |name| (*name).to_owned()))),
        ("others", json!({"running": others.running, "waiting": others.waiting})),
    ];
    members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

fn count<K: Hash + Eq>(counts: &mut HashMap<K, Count>, key: K) -> &mut Count {
    counts.entry(key).or_default()
}

/// Those with the most calls under way, and of equals those with the most that wait.
fn top<K>(counts: HashMap<K, Count>, name: impl Fn(&K) -> String) -> Vec<(String, Count)> {
    let mut named: Vec<_> = counts.iter().map(|(key, count)| (name(key), *count)).collect();
    named.sort_unstable_by(|(a, of_a), (b, of_b)| {
        (of_b.running, of_b.waiting).cmp(&(of_a.running, of_a.waiting)).then_with(|| a.cmp(b))
    });
    named.truncate(MOST);
    named
}

fn list(of: &str, counts: Vec<(String, Count)>) -> Value {
    counts.into_iter().map(|(name, count)| count.write(of, name)).collect()
}

/// Writes whose calls hold the places that a queue waits for: those with the most first, and those without names last.
fn held_by(
    queues: &[Queue],
    waits: &Queue,
    wait: Wait,
    sees: &dyn Fn(&CollectionPath) -> bool,
) -> Vec<Value> {
    let mut held: HashMap<(Option<&CollectionPath>, Option<&str>), usize> = HashMap::new();
    for queue in queues.iter().filter(|queue| queue.running > 0) {
        let (holds, target) = match wait {
            Wait::Target => (queue.target == waits.target, Some(queue.target.as_str())),
            Wait::Collection => (queue.collection == waits.collection, Some(queue.target.as_str())),
            Wait::Pool | Wait::Share => (true, None),
        };
        if holds {
            let collection = Some(&queue.collection).filter(|path| sees(path));
            *held.entry((collection, target)).or_default() += queue.running;
        }
    }
    let mut held: Vec<_> = held.into_iter().collect();
    held.sort_unstable_by(|(a, of_a), (b, of_b)| (Reverse(of_a), a).cmp(&(Reverse(of_b), b)));
    let (named, nameless): (Vec<_>, Vec<_>) =
        held.into_iter().partition(|((collection, _), _)| collection.is_some());
    let written = |((collection, target), calls): ((Option<&CollectionPath>, Option<&str>), usize)| json!({"collection": collection.map(wire::path::collection_id), "target": target, "calls": calls});
    named.into_iter().take(HOLDERS).chain(nameless).map(written).collect()
}

#[cfg(test)]
mod tests {
    use actions::Target;

    use super::*;

    fn queue(collection: &str, target: &str, running: usize, waiting: usize, wait: Option<Wait>) -> Queue {
        let collection =
            CollectionPath { subscription: "s".into(), group: "g".into(), name: collection.into() };
        let first = wait.map(|wait| ("2027-01-01T00:00:00Z".parse().expect("valid"), wait));
        Queue { collection, target: Target::new(target, 80), running, waiting, first }
    }

    fn id(collection: &str) -> String {
        format!("/subscriptions/s/resourceGroups/g/providers/Microsoft.Scheduler/jobCollections/{collection}")
    }

    fn scene() -> Vec<Queue> {
        vec![
            queue("mine", "shared", 1, 5, Some(Wait::Target)),
            queue("mine", "own", 2, 0, None),
            queue("late", "own", 0, 7, Some(Wait::Share)),
            queue("theirs", "shared", 90, 9, Some(Wait::Target)),
            queue("theirs", "secret", 50, 3, Some(Wait::Collection)),
        ]
    }

    #[test]
    fn all_is_told_to_callers_who_see_all() {
        let written = Value::from(write(&scene(), &|_| true));
        assert_eq!((&written["running"], &written["waiting"]), (&json!(143), &json!(24)));
        assert_eq!(written["waitingFor"], json!({"pool": 0, "target": 14, "collection": 3, "share": 7}));
        let queues = written["queues"].as_array().expect("a list");
        // All are due since the same time: those in which most wait come first.
        assert_eq!(
            queues.iter().map(|queue| queue["waiting"].as_u64()).collect::<Vec<_>>(),
            [Some(9), Some(7), Some(5), Some(3)]
        );
        let theirs = json!({"collection": id("theirs"), "target": "shared:80", "calls": 90});
        let mine = json!({"collection": id("mine"), "target": "shared:80", "calls": 1});
        assert_eq!(queues[0]["heldBy"], json!([theirs, mine]));
        assert_eq!(
            queues[1]["heldBy"],
            json!([
                {"collection": id("theirs"), "target": null, "calls": 140},
                {"collection": id("mine"), "target": null, "calls": 3},
            ])
        );
        assert_eq!(
            written["collections"][0],
            json!({"collection": id("theirs"), "running": 140, "waiting": 12})
        );
        assert_eq!(written["subscriptions"], json!([{"subscription": "s", "running": 143, "waiting": 24}]));
        assert_eq!(written["others"], json!({"running": 0, "waiting": 0}));
    }

    #[test]
    fn names_of_others_are_left_out_and_their_calls_are_counted() {
        let written = Value::from(write(&scene(), &|path| path.name != "theirs"));
        assert_eq!((&written["running"], &written["waiting"]), (&json!(143), &json!(24)));
        assert_eq!(written["others"], json!({"running": 140, "waiting": 12}));
        let text = written.to_string();
        assert!(!text.contains("theirs") && !text.contains("secret"), "{text}");
        let mine = written["queues"].as_array().and_then(|queues| queues.last()).expect("one");
        assert_eq!(
            mine["heldBy"],
            json!([
                {"collection": id("mine"), "target": "shared:80", "calls": 1},
                {"collection": null, "target": "shared:80", "calls": 90},
            ])
        );
        assert_eq!(written["targets"][0], json!({"target": "shared:80", "running": 91, "waiting": 14}));
        let nothing = Value::from(write(&scene(), &|_| false));
        for list in ["queues", "collections", "targets", "subscriptions"] {
            assert_eq!(nothing[list], json!([]), "{list}");
        }
    }

    #[test]
    fn lists_are_short() {
        let many: Vec<Queue> = (0..50)
            .map(|number| queue(&format!("c{number:02}"), &format!("t{number}"), number, 1, Some(Wait::Pool)))
            .collect();
        let written = Value::from(write(&many, &|path| path.name != "c49"));
        for list in ["queues", "collections", "targets"] {
            assert_eq!(written[list].as_array().map(Vec::len), Some(MOST), "{list}");
        }
        assert_eq!(written["moreQueues"], json!(29));
        let held_by = written["queues"][0]["heldBy"].as_array().expect("a list");
        assert_eq!(held_by.len(), HOLDERS + 1);
        assert_eq!(held_by[0]["collection"], json!(id("c48")));
        assert_eq!(held_by[3], json!({"collection": null, "target": null, "calls": 49}));
    }
}
