//! Answers that are knowingly others here. `docs/api.md` tells them to users, with the reason for each.

use std::collections::BTreeSet;

use model::Timestamp;
use serde_json::Value;

use crate::Call;
use crate::world::Reply;

/// Why an answer differs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Difference {
    /// A job with a client certificate is refused: its file was taken out of the recording or is a fake, and files are opened here.
    ClientCertificate,
    /// And so the PUT that follows makes the job, where the service replaced one.
    MadeLater,
    /// A one-time job without a future start is due at once; the service took 20 seconds and a little.
    DueAtOnce,
    /// `Occurrence` comes back as it was sent; the service answered `occurrence`.
    CapitalOccurrence,
    /// The service gave away `sasToken` and `sasKey` of error actions until December 2015.
    LeakedSecret,
    /// The second number in the name of a history entry is a counter, and ours has counted other things.
    HistoryCounter,
    /// There is a next page, and we say so.
    NextLink,
    /// Only the beginning of the list was kept in the recording.
    CutInTheRecording,
    /// We serve two of the provider's four types, and in more places.
    Provider,
}

/// How often each occurs in the recordings.
pub(crate) const EXPECTED: [(Difference, usize); 9] = [
    (Difference::ClientCertificate, 4),
    (Difference::MadeLater, 4),
    (Difference::DueAtOnce, 44),
    (Difference::CapitalOccurrence, 16),
    (Difference::LeakedSecret, 33),
    (Difference::HistoryCounter, 30),
    (Difference::NextLink, 18),
    (Difference::CutInTheRecording, 28),
    (Difference::Provider, 1),
];

/// Whether a job was refused that the service made; `refused` remembers it.
pub(crate) fn is_refused(call: &Call, reply: &Reply, refused: &mut BTreeSet<String>) -> bool {
    let asked = call.body.as_ref().map(ToString::to_string).unwrap_or_default();
    let told = reply.body["error"]["message"].as_str().unwrap_or_default();
    reply.status == 400
        && asked.contains(r#""ClientCertificate""#)
        && told.contains("request.authentication.pfx: ")
        && refused.insert(call.resource())
}

/// Makes two answers the same where they may differ, and says in what they did.
pub(crate) fn reconcile(ours: &mut Value, recorded: &mut Value) -> BTreeSet<Difference> {
    let mut found = BTreeSet::new();
    if ours["nextLink"].is_string() && recorded["nextLink"].is_null() {
        ours["nextLink"] = Value::Null;
        found.insert(Difference::NextLink);
    }
    if recorded["namespace"] == "Microsoft.Scheduler" {
        reconcile_provider(ours, recorded);
        found.insert(Difference::Provider);
    }
    members(ours, recorded, &mut found);
    found
}

/// What may differ at any depth.
fn members(ours: &mut Value, recorded: &mut Value, found: &mut BTreeSet<Difference>) {
    match (ours, recorded) {
        (Value::Array(ours), Value::Array(recorded)) => {
            ours.iter_mut().zip(recorded).for_each(|(ours, recorded)| members(ours, recorded, found));
        }
        (Value::Object(ours), Value::Object(recorded)) => {
            for secret in ["sasToken", "sasKey"] {
                if recorded.contains_key(secret) && !ours.contains_key(secret) {
                    recorded.shift_remove(secret);
                    found.insert(Difference::LeakedSecret);
                }
            }
            if ours.contains_key("Occurrence") && recorded.contains_key("occurrence") {
                let renamed = std::mem::take(ours).into_iter().map(|(name, value)| {
                    (if name == "Occurrence" { "occurrence".to_owned() } else { name }, value)
                });
                *ours = renamed.collect();
                found.insert(Difference::CapitalOccurrence);
            }
            if recorded.get("type").is_some_and(|kind| kind == HISTORY)
                && ["id", "name"]
                    .iter()
                    .all(|member| same_but_for_counter(&ours[*member], &recorded[*member]))
            {
                for member in ["id", "name"] {
                    ours[member] = recorded[member].clone();
                }
                found.insert(Difference::HistoryCounter);
            }
            for (name, recorded) in recorded.iter_mut() {
                let Some(ours) = ours.get_mut(name) else { continue };
                if name == "nextExecutionTime" && is_twenty_seconds_later(ours, recorded) {
                    *ours = recorded.clone();
                    found.insert(Difference::DueAtOnce);
                }
                members(ours, recorded, found);
            }
        }
        _ => {}
    }
}

const HISTORY: &str = "Microsoft.Scheduler/jobCollections/jobs/history";

/// Names of history entries are two numbers of 20 digits; the first is made from the start, the second is a counter.
fn same_but_for_counter(ours: &Value, recorded: &Value) -> bool {
    let split = |value: &Value| {
        let (rest, counter) = value.as_str()?.rsplit_once(':')?;
        let is_counter = counter.len() == 20 && counter.bytes().all(|byte| byte.is_ascii_digit());
        is_counter.then(|| rest.to_owned())
    };
    split(ours).is_some_and(|ours| split(recorded) == Some(ours))
}

/// The service's own clock and the `Date` of its answers were up to 1.5 seconds apart.
fn is_twenty_seconds_later(ours: &Value, recorded: &Value) -> bool {
    let at = |value: &Value| value.as_str().and_then(|text| text.parse::<Timestamp>().ok());
    let (Some(ours), Some(recorded)) = (at(ours), at(recorded)) else { return false };
    (20_000..=21_500).contains(&ours.duration_until(recorded).as_millis())
}

/// Types that we do not serve, what can be moved, and where.
fn reconcile_provider(ours: &mut Value, recorded: &mut Value) {
    let types = recorded["resourceTypes"].as_array_mut().expect("types");
    types.retain(|kind| kind["resourceType"] != "operationResults" && kind["resourceType"] != "flows");
    for (ours, recorded) in ours["resourceTypes"].as_array_mut().expect("types").iter_mut().zip(types) {
        let ours = ours["locations"].as_array_mut().expect("places");
        let recorded = recorded.as_object_mut().expect("an object");
        recorded.shift_remove("capabilities");
        let places = recorded["locations"].as_array().expect("places");
        assert!(places.iter().all(|place| ours.contains(place)), "every place of theirs is one of ours");
        ours.clone_from(places);
    }
}
