//! Job collections: requests read into the model, collections written from it.
//!
//! ```
//! use model::{CollectionPath, Plan, Plans};
//!
//! let body = serde_json::json!({"location": "westus", "properties": {"sku": {"name": "free"}}});
//! let request = wire::collection::read(&body, None, &Plans::default())?;
//! assert_eq!(request.plan, Plan::Free);
//! let path = CollectionPath { subscription: "s".into(), group: "g".into(), name: "c".into() };
//! let answer = wire::collection::write(&request.collection(path), Default::default());
//! assert_eq!(answer["location"], "West US");
//! assert_eq!(answer["properties"].to_string(), r#"{"sku":{"name":"Free"},"state":"Enabled"}"#);
//! # Ok::<(), recurrence::Faults>(())
//! ```

use ::recurrence::{Fault, Faults, Frequency};
use model::{Collection, CollectionPath, CollectionState, MaxRecurrence, Plan, Plans, Quota};
use serde_json::{Map, Value, json};

use crate::dialect::Dialect;
use crate::members::{self, Given, Names, Object, Reader};
use crate::merge::{self, Merge};
use crate::path;
use crate::recurrence::{DOCUMENT, FREQUENCY, INTERVAL, PROPERTIES, STATE};
use crate::regions;

/// A job collection as it was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CollectionRequest {
    /// A region's display name, or whatever else was given.
    pub location: Option<String>,
    /// In the order given; `None` where there are none.
    pub tags: Option<Vec<(String, String)>>,
    /// The plan: [`Plan::Standard`] where nothing was said.
    pub plan: Plan,
    /// `None` where nothing was said, which means enabled (python_test_scheduler).
    pub state: Option<CollectionState>,
    /// Limits below those of the plan.
    pub quota: Option<Quota>,
    /// The paths of members that mean nothing, in the order of the document's objects.
    pub ignored: Vec<String>,
}

impl CollectionRequest {
    /// The collection that a PUT makes. It was never switched off, so nothing was resumed.
    pub fn collection(&self, path: CollectionPath) -> Collection {
        Collection {
            path,
            location: self.location.clone().unwrap_or_else(|| regions::NOWHERE.to_owned()),
            tags: self.tags.clone(),
            plan: self.plan,
            state: self.state.unwrap_or(CollectionState::Enabled),
            quota: self.quota.clone(),
            resumed_at: None,
        }
    }
}

const LOCATION: Names = &["location"];
const TAGS: Names = &["tags"];
/// The name that clients send along means nothing; that of the URL counts (Scenario_JobCollectionCreateUpdateDelete).
const OF_COLLECTION: &[Names] = &[LOCATION, TAGS, PROPERTIES, &["id"], &["name"], &["type"]];
const SKU: Names = &["sku"];
const NAME: Names = &["name"];
const QUOTA: Names = &["quota"];
const STATES: [(&str, CollectionState); 3] = [
    ("Enabled", CollectionState::Enabled),
    ("Disabled", CollectionState::Disabled),
    ("Suspended", CollectionState::Suspended),
];

/// Reads the body of a PUT; or says all that is wrong with it. A quota may stay below the plan, not go beyond it. `standing`
/// is the plan of the collection that the body replaces.
pub fn read(body: &Value, standing: Option<Plan>, plans: &Plans) -> Result<CollectionRequest, Faults> {
    let mut reader = Reader::default();
    let allowed =
        "an object such as {\"location\": \"West US\", \"properties\": {\"sku\": {\"name\": \"Standard\"}}}";
    let Some(collection) = reader.object(Given::root(body, ""), OF_COLLECTION, allowed) else {
        return Err(Fault::new(DOCUMENT, members::shown(body), allowed).into());
    };
    let location = reader.optional_text(&collection, LOCATION, "the name of a region, a text");
    let tags = reader.member(&collection, TAGS).and_then(|given| reader.tags(given));
    let properties = reader.member(&collection, PROPERTIES).and_then(|given| {
        reader.object(given, &[SKU, STATE, QUOTA], "an object such as {\"sku\": {\"name\": \"Standard\"}}")
    });
    let plan = properties.as_ref().and_then(|properties| plan(&mut reader, properties, standing));
    let plan = plan.unwrap_or(Plan::Standard);
    let state = properties.as_ref().and_then(|properties| reader.member(properties, STATE));
    let state = state.and_then(|given| reader.choice(&given, &STATES, "Enabled, Disabled or Suspended"));
    let quota = properties.as_ref().and_then(|properties| reader.member(properties, QUOTA));
    let quota = quota.and_then(|given| quota_below(&mut reader, given, plan, plans));
    Faults::check(reader.faults())?;
    Ok(CollectionRequest {
        location: location.filter(|name| !name.is_empty()).map(|name| regions::display_name(&name)),
        tags: tags.filter(|tags| !tags.is_empty()),
        plan,
        state,
        quota,
        ignored: reader.ignored().to_vec(),
    })
}

fn plan(reader: &mut Reader, properties: &Object<'_>, standing: Option<Plan>) -> Option<Plan> {
    let given = reader.member(properties, SKU)?;
    let sku = reader.object(given, &[NAME], "an object such as {\"name\": \"Standard\"}")?;
    let given = reader.member(&sku, NAME)?;
    let [free, standard, p10, p20] = Plan::ALL.map(|plan| (plan.name(), plan));
    // What P10Premium was called before 2016-03-01 (Scenario_JobCollectionCreateUpdateDelete of 2016-01-04). A client that
    // reads `Premium` where P20Premium is meant, and writes it back, does not ask for fewer jobs.
    let old_name = ("Premium", standing.filter(|plan| *plan == Plan::P20Premium).unwrap_or(Plan::P10Premium));
    let allowed = "Free, Standard, P10Premium or P20Premium; Premium in older api-versions";
    reader.choice(&given, &[free, standard, p10, p20, old_name], allowed)
}

const MAX_JOB_COUNT: Names = &["maxJobCount"];
const MAX_JOB_OCCURRENCE: Names = &["maxJobOccurrence"];
const MAX_RECURRENCE: Names = &["maxRecurrence"];

fn quota_below(reader: &mut Reader, given: Given<'_>, plan: Plan, plans: &Plans) -> Option<Quota> {
    let limits = plans.limits(plan);
    let allowed = "an object such as {\"maxJobCount\": 10, \"maxRecurrence\": {\"frequency\": \"hour\", \"interval\": 1}}";
    let quota = reader.object(given, &[MAX_JOB_COUNT, MAX_JOB_OCCURRENCE, MAX_RECURRENCE], allowed)?;
    let max_job_count = reader.member(&quota, MAX_JOB_COUNT).and_then(|given| {
        let most = limits.jobs;
        let allowed = format!("a whole number from 1 to {most}, the most on the plan {}", plan.name());
        reader.whole(&given, 1, most.into(), &allowed).and_then(|count| u32::try_from(count).ok())
    });
    let max_job_occurrence = reader.member(&quota, MAX_JOB_OCCURRENCE).and_then(|given| {
        reader.whole(&given, 0, i64::MAX, "a whole number that is not negative; it has no effect")
    });
    let max_recurrence = reader.member(&quota, MAX_RECURRENCE).and_then(|given| {
        let max = max_recurrence(reader, given.clone())?;
        let fastest = limits.fastest.as_secs();
        if seconds(max) < fastest {
            let shown = format!("{} {}", max.interval, max.frequency);
            let allowed =
                format!("nothing faster than every {fastest} seconds, as on the plan {}", plan.name());
            reader.refuse_unseen(&given, &shown, &allowed);
        }
        Some(max)
    });
    let quota = Quota { max_job_count, max_job_occurrence, max_recurrence };
    let says_nothing = Quota { max_job_count: None, max_job_occurrence: None, max_recurrence: None };
    Some(quota).filter(|quota| *quota != says_nothing)
}

fn max_recurrence(reader: &mut Reader, given: Given<'_>) -> Option<MaxRecurrence> {
    let allowed = "an object such as {\"frequency\": \"hour\", \"interval\": 1}";
    let max = reader.object(given, &[FREQUENCY, INTERVAL], allowed)?;
    let words = "minute, hour, day, week, month or year";
    let frequency = reader.required(&max, FREQUENCY, words).and_then(|given| {
        let frequency = given.as_str().and_then(Frequency::read);
        if frequency.is_none() {
            reader.refuse(&given, words);
        }
        frequency
    });
    let longest = frequency.map_or(1000, Frequency::longest_interval);
    let interval = reader.member(&max, INTERVAL).map_or(Some(1), |given| {
        reader.whole(&given, 1, longest.into(), &format!("a whole number from 1 to {longest}"))
    });
    Some(MaxRecurrence { frequency: frequency?, interval: u32::try_from(interval?).ok()? })
}

/// By the calendar's usual lengths: a day on which the clocks change is no reason to refuse days.
fn seconds(max: MaxRecurrence) -> u64 {
    const HOUR: u64 = 3600;
    let unit = match max.frequency {
        Frequency::Minute => 60,
        Frequency::Hour => HOUR,
        Frequency::Day => 24 * HOUR,
        Frequency::Week => 7 * 24 * HOUR,
        Frequency::Month => 28 * 24 * HOUR,
        Frequency::Year => 365 * 24 * HOUR,
    };
    unit * u64::from(max.interval)
}

/// Reads the body of a PATCH for a collection that is stored so; or says all that is wrong with it. What the body does
/// not speak of stays, `null` removes (Scenario_JobCollectionPatch).
pub fn patch(stored: &Collection, body: &Value, plans: &Plans) -> Result<CollectionRequest, Faults> {
    struct Plain;
    impl Merge for Plain {}

    if !body.is_object() {
        let allowed = "an object such as {\"tags\": {\"department\": \"marketing\"}}";
        return Err(Fault::new(DOCUMENT, members::shown(body), allowed).into());
    }
    let mut whole = write(stored, Dialect::default());
    merge::into_value(&mut whole, body, "", &Plain);
    read(&whole, Some(stored.plan), plans)
}

/// The collection as the API answers it. A quota that was not given is not shown (python_test_scheduler).
pub fn write(collection: &Collection, dialect: Dialect) -> Value {
    let state =
        STATES.iter().find(|(_, state)| *state == collection.state).map_or("Enabled", |(name, _)| name);
    let mut properties = json!({"sku": {"name": dialect.version.plan_name(collection.plan)}, "state": state});
    if let Some(quota) = &collection.quota {
        properties["quota"] = write_quota(quota, dialect);
    }
    let mut answer = Map::new();
    let mut put = |name: &str, value: Value| answer.insert(name.to_owned(), value);
    put("id", path::collection_id(&collection.path).into());
    put("type", path::COLLECTION_TYPE.into());
    put("name", collection.path.name.as_str().into());
    put("location", collection.location.as_str().into());
    if let Some(tags) = &collection.tags {
        put("tags", members::object_of(tags));
    }
    put("properties", properties);
    answer.into()
}

/// `maxJobOccurrence` was never recorded; its place is that of the API's description.
fn write_quota(quota: &Quota, dialect: Dialect) -> Value {
    let mut written = Map::new();
    let mut put = |name: Names, value: Option<Value>| {
        if let Some(value) = value {
            written.insert(name[0].to_owned(), value);
        }
    };
    put(MAX_JOB_COUNT, quota.max_job_count.map(Value::from));
    put(MAX_JOB_OCCURRENCE, quota.max_job_occurrence.map(Value::from));
    let max = quota.max_recurrence;
    let frequency = |max: &MaxRecurrence| dialect.enum_case.spell(max.frequency.name());
    put(MAX_RECURRENCE, max.map(|max| json!({"frequency": frequency(&max), "interval": max.interval})));
    written.into()
}
