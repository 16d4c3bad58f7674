//! Jobs, written: for answers, and for ourselves with everything that answers leave out.
//!
//! The order of members is that of the recordings, all of them (compare Scenario_JobCreateHttpJobWithBasicAuth);
//! extensions follow what they belong to.

use model::action::{
    Call, HttpAuthentication, HttpRequest, QueueDelivery, RetryPolicy, ServiceBusMessage,
    ServiceBusTransport, StorageQueueMessage,
};
use model::{Action, CatchUp, CollectionPath, Definition, Job, JobState, Overlap, Secret, interval};
use recurrence::{
    Draft, DstDraft, Fold, Frequency, Gap, MonthlyOccurrenceDraft, RecurrenceDraft, ScheduleDraft, Weekday,
    read_date_time,
};
use serde_json::{Map, Value};

use crate::dialect::{Dialect, EnumCase};
use crate::{date_time, members, path};

/// The job as the API answers it. Secrets are left out, not blanked: that is how every answer with authentication was
/// recorded.
pub fn write(collection: &CollectionPath, job: &Job, dialect: Dialect) -> Value {
    let mut properties = properties(&job.definition, job.state, View::Answer(dialect));
    // A disabled job has no status at all (Scenario_JobList, Scenario_JobCreateUpdateDeleteHttpJob).
    if job.state != JobState::Disabled {
        properties.put("status", status(job));
    }
    let mut answer = Map::new();
    answer.put("id", path::job_id(collection, &job.name));
    answer.put("type", path::JOB_TYPE);
    answer.put("name", format!("{}/{}", collection.name, job.name));
    answer.put("properties", properties);
    answer.into()
}

/// All that was asked for, as it could have been asked: with secrets, and with names and times as they were written.
pub(super) fn document(definition: &Definition, state: JobState) -> Value {
    let mut document = Map::new();
    document.put("properties", properties(definition, state, View::Whole));
    document.into()
}

/// How many bytes a job is: its properties in the words of an answer, and its secrets. So it has one size, however it
/// was indented or escaped, and what a GET answered is not larger when it comes back in a PUT.
pub(super) fn size(definition: &Definition, state: JobState) -> usize {
    Value::from(properties(definition, state, View::Measure)).to_string().len()
}

/// For whom.
#[derive(Clone, Copy, PartialEq, Eq)]
enum View {
    /// Whoever asks.
    Answer(Dialect),
    /// As an answer, but with secrets; to be measured.
    Measure,
    /// Ourselves, to read it again.
    Whole,
}

impl View {
    /// Whether words and times are written as the API writes them, not as they were given.
    fn is_canonical(self) -> bool {
        self != Self::Whole
    }

    /// An enum value.
    fn spell(self, value: &str) -> String {
        let case = match self {
            Self::Answer(dialect) => dialect.enum_case,
            Self::Measure | Self::Whole => EnumCase::default(),
        };
        case.spell(value)
    }
}

/// Members in the order in which they are put.
trait Put {
    fn put(&mut self, name: &str, value: impl Into<Value>);

    fn put_some<T: Into<Value>>(&mut self, name: &str, value: Option<T>) {
        if let Some(value) = value {
            self.put(name, value);
        }
    }

    fn put_secret(&mut self, view: View, name: &str, secret: &Secret) {
        if !matches!(view, View::Answer(_)) {
            self.put(name, secret.expose());
        }
    }
}

impl Put for Map<String, Value> {
    fn put(&mut self, name: &str, value: impl Into<Value>) {
        self.insert(name.to_owned(), value.into());
    }
}

fn properties(definition: &Definition, state: JobState, view: View) -> Map<String, Value> {
    let Draft { start_time, recurrence: repeats } = &definition.timing;
    let mut properties = Map::new();
    properties.put_some("startTime", start_time.as_deref().map(|text| time(text, view)));
    properties.put("action", action(&definition.action, view));
    properties.put_some(
        "recurrence",
        repeats.as_ref().map(|draft| recurrence(draft, definition.capital_occurrence, view)),
    );
    if definition.extensions_given {
        properties.put("catchUp", catch_up(definition.catch_up, view));
        properties.put("overlap", overlap(definition.overlap, view));
    }
    properties.put("state", view.spell(state.name()));
    properties
}

fn status(job: &Job) -> Value {
    let mut status = Map::new();
    status.put_some("lastExecutionTime", job.counters.last_execution.map(date_time::write));
    status.put_some("nextExecutionTime", job.next_at.map(date_time::write));
    status.put("executionCount", job.counters.executions);
    status.put("failureCount", job.counters.failures);
    status.put("faultedCount", job.counters.faulted);
    status.into()
}

fn catch_up(catch_up: CatchUp, view: View) -> Value {
    match catch_up {
        CatchUp::None => view.spell("none").into(),
        CatchUp::Last => view.spell("last").into(),
        CatchUp::All { max } => {
            let mut all = Map::new();
            all.put("policy", view.spell("all"));
            all.put("max", max);
            all.into()
        }
    }
}

fn overlap(overlap: Overlap, view: View) -> String {
    view.spell(match overlap {
        Overlap::Allow => "allow",
        Overlap::Skip => "skip",
        Overlap::Queue => "queue",
    })
}

fn action(action: &Action, view: View) -> Value {
    let mut written = Map::new();
    let kind = match &action.call {
        Call::Http { https, request } => {
            written.put("request", http_request(request, view));
            if *https { "Https" } else { "Http" }
        }
        Call::StorageQueue(message) => {
            written.put("queueMessage", queue_message(message, view));
            "StorageQueue"
        }
        Call::ServiceBusQueue(message) => {
            written.put("serviceBusQueueMessage", bus_message(message, "queueName", view));
            "ServiceBusQueue"
        }
        Call::ServiceBusTopic(message) => {
            written.put("serviceBusTopicMessage", bus_message(message, "topicPath", view));
            "ServiceBusTopic"
        }
    };
    written.put("type", kind);
    written.put_some("retryPolicy", action.retry.as_ref().map(|policy| retry_policy(policy, view)));
    written.put_some("errorAction", action.on_error.as_ref().map(|on_error| self::action(on_error, view)));
    written.into()
}

fn retry_policy(policy: &RetryPolicy, view: View) -> Value {
    let mut written = Map::new();
    match policy {
        RetryPolicy::None => written.put("retryType", view.spell("None")),
        RetryPolicy::Fixed { interval, count } => {
            written.put("retryType", view.spell("Fixed"));
            written.put_some("retryInterval", interval.map(interval::write));
            written.put_some("retryCount", *count);
        }
    }
    written.into()
}

fn http_request(request: &HttpRequest, view: View) -> Value {
    let mut written = Map::new();
    written.put("uri", request.uri.as_str());
    written.put("method", request.method.as_str());
    written.put_some("headers", request.headers.as_deref().map(members::object_of));
    written.put_some("body", request.body.as_deref());
    written.put_some("authentication", request.authentication.as_ref().map(|who| authentication(who, view)));
    written.into()
}

/// The type comes last (Scenario_JobCreateHttpJobWithClientCertAuth, …WithOAuth, …WithBasicAuth).
fn authentication(authentication: &HttpAuthentication, view: View) -> Value {
    let mut written = Map::new();
    let kind = match authentication {
        HttpAuthentication::Basic { username, password } => {
            written.put("username", username.as_str());
            written.put_secret(view, "password", password);
            "Basic"
        }
        HttpAuthentication::ClientCertificate { pfx, password, thumbprint, expiration, subject } => {
            written.put_secret(view, "pfx", pfx);
            written.put_secret(view, "password", password);
            written.put("certificateThumbprint", thumbprint.as_str());
            written.put("certificateExpiration", date_time::write(*expiration));
            written.put("certificateSubjectName", subject.as_str());
            "ClientCertificate"
        }
        HttpAuthentication::ActiveDirectoryOAuth { tenant, audience, client_id, secret } => {
            written.put("tenant", tenant.as_str());
            written.put("audience", audience.as_str());
            written.put("clientId", client_id.as_str());
            written.put_secret(view, "secret", secret);
            "ActiveDirectoryOAuth"
        }
        HttpAuthentication::Hmac { secrets } => {
            if !matches!(view, View::Answer(_)) {
                written.put("secrets", secrets.iter().map(Secret::expose).collect::<Vec<_>>());
            }
            written.put("secretCount", secrets.len());
            "Hmac"
        }
    };
    written.put("type", kind);
    written.into()
}

fn queue_message(message: &StorageQueueMessage, view: View) -> Value {
    let mut written = Map::new();
    written.put("storageAccount", message.account.as_str());
    written.put("queueName", message.queue.as_str());
    written.put_secret(view, "sasToken", &message.sas_token);
    // A job may have been stored before a message was required.
    let none = (view == View::Whole).then_some("");
    written.put_some("message", message.message.as_deref().or(none));
    written.put_some("delivery", message.delivery.map(QueueDelivery::name));
    written.into()
}

/// `sharedAccessKey` and `netMessaging` begin with a small letter, unlike the other types
/// (Scenario_JobCreateUpdateDeleteServiceBusQueueJob).
fn bus_message(message: &ServiceBusMessage, entity_name: &str, view: View) -> Value {
    let mut written = Map::new();
    written.put(entity_name, message.entity.as_str());
    written.put("namespace", message.namespace.as_str());
    match message.transport {
        ServiceBusTransport::NotSpecified => {}
        ServiceBusTransport::NetMessaging => written.put("transportType", view.spell("NetMessaging")),
        ServiceBusTransport::Amqp => written.put("transportType", view.spell("AMQP")),
    }
    if let Some(key) = &message.authentication {
        let mut authentication = Map::new();
        authentication.put("sasKeyName", key.name.as_str());
        authentication.put_secret(view, "sasKey", &key.key);
        authentication.put("type", view.spell("SharedAccessKey"));
        written.put("authentication", authentication);
    }
    written.put_some("message", message.message.as_deref());
    if let Some(properties) = &message.brokered_properties {
        let json = |text: &String| serde_json::from_str(text).unwrap_or(Value::Null);
        let properties: Map<_, _> =
            properties.iter().map(|(name, text)| (name.clone(), json(text))).collect();
        written.put("brokeredMessageProperties", properties);
    }
    written.put_some("customMessageProperties", message.custom_properties.as_deref().map(members::object_of));
    written.into()
}

fn recurrence(draft: &RecurrenceDraft, capital_occurrence: bool, view: View) -> Value {
    let mut written = Map::new();
    written.put_some(
        "frequency",
        word(draft.frequency.as_deref(), view, |text| Frequency::read(text).map(Frequency::name)),
    );
    written.put_some("count", draft.count);
    written.put_some("endTime", draft.end_time.as_deref().map(|text| time(text, view)));
    // An interval that was not given is filled in (Scenario_JobCreateWithScheduleForDay).
    let is_filled_in = view.is_canonical() && draft.cron.is_none();
    written.put_some("interval", draft.interval.or(is_filled_in.then_some(1)));
    let schedule = draft.schedule.as_ref().map(|draft| schedule(draft, capital_occurrence, view));
    // One without elements says nothing, and clients do not expect it.
    written.put_some("schedule", schedule.filter(|schedule| !view.is_canonical() || !schedule.is_empty()));
    written.put_some("cron", draft.cron.as_deref());
    written.put_some("timeZone", draft.time_zone.as_deref());
    written.put_some("dst", draft.dst.as_ref().map(|draft| dst(draft, view)));
    written.into()
}

fn schedule(draft: &ScheduleDraft, capital_occurrence: bool, view: View) -> Map<String, Value> {
    let days = |days: &Vec<String>| days.iter().map(|day| weekday(day, view)).collect::<Value>();
    let monthly = |monthly: &MonthlyOccurrenceDraft| {
        let mut written = Map::new();
        written.put_some("day", monthly.day.as_deref().map(|day| weekday(day, view)));
        // Whoever writes `Occurrence` reads nothing else. The service answered `occurrence` whatever was sent
        // (Scenario_JobCreateWithScheduleForMonthlyOccurrence), which its own description does not know.
        let name = if capital_occurrence { "Occurrence" } else { "occurrence" };
        written.put_some(name, monthly.occurrence);
        Value::from(written)
    };
    let mut written = Map::new();
    written.put_some("minutes", draft.minutes.clone());
    written.put_some("hours", draft.hours.clone());
    written.put_some("weekDays", draft.week_days.as_ref().map(days));
    written.put_some("monthDays", draft.month_days.clone());
    written.put_some(
        "monthlyOccurrences",
        draft.monthly_occurrences.as_ref().map(|list| list.iter().map(monthly).collect::<Value>()),
    );
    written.put_some("months", draft.months.clone());
    written
}

fn dst(draft: &DstDraft, view: View) -> Value {
    let mut written = Map::new();
    written.put_some("gap", word(draft.gap.as_deref(), view, |text| Gap::read(text).map(Gap::name)));
    written.put_some("fold", word(draft.fold.as_deref(), view, |text| Fold::read(text).map(Fold::name)));
    written.into()
}

/// A word as the API writes it.
fn word(text: Option<&str>, view: View, name: fn(&str) -> Option<&'static str>) -> Option<String> {
    let text = text?;
    let canonical = name(text).filter(|_| view.is_canonical());
    Some(canonical.map_or_else(|| text.to_owned(), |name| view.spell(name)))
}

fn weekday(text: &str, view: View) -> String {
    word(Some(text), view, |text| Weekday::read(text).map(Weekday::name)).unwrap_or_default()
}

/// A date-time as the API writes it: `…16.9049999999999999Z` comes back as `…16.905Z`
/// (python_test_scheduler_job_custom_time).
fn time(text: &str, view: View) -> String {
    let at = read_date_time(text).filter(|_| view.is_canonical());
    at.map_or_else(|| text.to_owned(), date_time::write)
}
