//! Actions, read: what is called, how often it is repeated, and what is called when nothing helped.

use model::Action;
use model::action::{
    Call, QueueDelivery, RetryPolicy, ServiceBusMessage, ServiceBusTransport, SharedAccessKey,
    StorageQueueMessage,
};
use model::interval;
use recurrence::read_date_time;

use super::http;
use crate::members::{Given, Names, Object, Reader};

pub(super) const TYPE: Names = &["type"];
const REQUEST: Names = &["request"];
const QUEUE_MESSAGE: Names = &["queueMessage"];
const BUS_QUEUE_MESSAGE: Names = &["serviceBusQueueMessage"];
const BUS_TOPIC_MESSAGE: Names = &["serviceBusTopicMessage"];
/// Of which an action has one.
pub(super) const MESSAGES: [Names; 4] = [REQUEST, QUEUE_MESSAGE, BUS_QUEUE_MESSAGE, BUS_TOPIC_MESSAGE];
const RETRY_POLICY: Names = &["retryPolicy"];
const ERROR_ACTION: Names = &["errorAction"];
const OF_ACTION: &[Names] =
    &[TYPE, REQUEST, QUEUE_MESSAGE, BUS_QUEUE_MESSAGE, BUS_TOPIC_MESSAGE, RETRY_POLICY, ERROR_ACTION];

#[derive(Clone, Copy)]
enum Kind {
    Http,
    Https,
    StorageQueue,
    ServiceBusQueue,
    ServiceBusTopic,
}

const KINDS: [(&str, Kind); 5] = [
    ("Http", Kind::Http),
    ("Https", Kind::Https),
    ("StorageQueue", Kind::StorageQueue),
    ("ServiceBusQueue", Kind::ServiceBusQueue),
    ("ServiceBusTopic", Kind::ServiceBusTopic),
];
const KINDS_ALLOWED: &str = "Http, Https, StorageQueue, ServiceBusQueue or ServiceBusTopic";

impl Kind {
    fn message(self) -> Names {
        match self {
            Self::Http | Self::Https => REQUEST,
            Self::StorageQueue => QUEUE_MESSAGE,
            Self::ServiceBusQueue => BUS_QUEUE_MESSAGE,
            Self::ServiceBusTopic => BUS_TOPIC_MESSAGE,
        }
    }
}

/// The member that holds what an action of a type sends.
pub(super) fn message_of(kind: &str) -> Option<Names> {
    KINDS.iter().find(|(name, _)| name.eq_ignore_ascii_case(kind)).map(|(_, kind)| kind.message())
}

/// An action; `depth` counts the error actions around it.
pub(super) fn action(reader: &mut Reader, given: Given<'_>, depth: usize) -> Option<Action> {
    if depth > Action::DEEPEST {
        let allowed = format!("error actions nested at most {} deep", Action::DEEPEST);
        reader.refuse_unseen(&given, "an error action", &allowed);
        return None;
    }
    let allowed = "an object such as {\"type\": \"Http\", \"request\": {…}}";
    let action = reader.object_of_secrets(given, OF_ACTION, allowed)?;
    let call = call(reader, &action);
    let retry = reader.member(&action, RETRY_POLICY).and_then(|given| retry_policy(reader, given));
    let on_error = reader
        .member(&action, ERROR_ACTION)
        .and_then(|given| self::action(reader, given, depth + 1))
        .map(Box::new);
    Some(Action { call: call?, retry, on_error })
}

fn call(reader: &mut Reader, action: &Object<'_>) -> Option<Call> {
    let kind = reader.required(action, TYPE, KINDS_ALLOWED)?;
    let kind = reader.choice(&kind, &KINDS, KINDS_ALLOWED)?;
    for other in MESSAGES.into_iter().filter(|names| *names != kind.message()) {
        if let Some(given) = reader.member(action, other) {
            reader.ignore(&given);
        }
    }
    let message = reader.required(action, kind.message(), "an object with what is sent")?;
    match kind {
        Kind::Http | Kind::Https => {
            let https = matches!(kind, Kind::Https);
            http::request(reader, message).map(|request| Call::Http { https, request })
        }
        Kind::StorageQueue => queue_message(reader, message).map(Call::StorageQueue),
        Kind::ServiceBusQueue => bus_message(reader, message, QUEUE_NAME).map(Call::ServiceBusQueue),
        Kind::ServiceBusTopic => bus_message(reader, message, TOPIC_PATH).map(Call::ServiceBusTopic),
    }
}

pub(super) const RETRY_TYPE: Names = &["retryType"];
pub(super) const RETRY_INTERVAL: Names = &["retryInterval"];
pub(super) const RETRY_COUNT: Names = &["retryCount"];

fn retry_policy(reader: &mut Reader, given: Given<'_>) -> Option<RetryPolicy> {
    let allowed =
        "an object such as {\"retryType\": \"fixed\", \"retryInterval\": \"00:01:00\", \"retryCount\": 4}";
    let policy = reader.object(given, &[RETRY_TYPE, RETRY_INTERVAL, RETRY_COUNT], allowed)?;
    let interval = reader.member(&policy, RETRY_INTERVAL);
    let count = reader.member(&policy, RETRY_COUNT);
    let given = reader.required(&policy, RETRY_TYPE, "none or fixed")?;
    let is_fixed = reader.choice(&given, &[("none", false), ("fixed", true)], "none or fixed")?;
    if !is_fixed {
        // {"retryType": "none"} is all that came back (Scenario_JobCreateWithScheduleForDay).
        interval.iter().chain(&count).for_each(|given| reader.ignore(given));
        return Some(RetryPolicy::None);
    }
    let interval = interval.and_then(|given| {
        let interval = given.as_str().and_then(interval::read);
        if interval.is_none() {
            reader.refuse(&given, interval::FORMS);
        }
        interval
    });
    let count = count
        .and_then(|given| reader.whole(&given, 0, u32::MAX.into(), "a whole number that is not negative"))
        .and_then(|count| u32::try_from(count).ok());
    Some(RetryPolicy::Fixed { interval, count })
}

const STORAGE_ACCOUNT: Names = &["storageAccount"];
const QUEUE_NAME: Names = &["queueName"];
const SAS_TOKEN: Names = &["sasToken"];
const MESSAGE: Names = &["message"];
/// An extension.
const DELIVERY: Names = &["delivery"];
const MESSAGE_ALLOWED: &str = "a text; JSON is written into it as a text";

/// Neither the account nor the token is tried out (Scenario_JobCreatePatchDeleteStorageJob).
fn queue_message(reader: &mut Reader, given: Given<'_>) -> Option<StorageQueueMessage> {
    let allowed = "an object with storageAccount, queueName, sasToken and message";
    let known = &[STORAGE_ACCOUNT, QUEUE_NAME, SAS_TOKEN, MESSAGE, DELIVERY];
    let object = reader.object_of_secrets(given, known, allowed)?;
    let account = reader.required_text(&object, STORAGE_ACCOUNT, "the name of a storage account");
    let queue = reader.required_text(&object, QUEUE_NAME, "the name of a queue");
    let sas_token = reader.required_secret(&object, SAS_TOKEN, "a shared access signature, a text");
    let message = reader.optional_text(&object, MESSAGE, MESSAGE_ALLOWED);
    if message.is_none() {
        // It may be empty, but the documents do not let it be left out.
        reader.required(&object, MESSAGE, MESSAGE_ALLOWED);
    }
    let delivery = reader.member(&object, DELIVERY).and_then(|given| {
        let words = QueueDelivery::ALL.map(|delivery| (delivery.name(), delivery));
        reader.choice(&given, &words, "envelope, raw or base64")
    });
    Some(StorageQueueMessage { account: account?, queue: queue?, sas_token: sas_token?, message, delivery })
}

const TOPIC_PATH: Names = &["topicPath"];
const NAMESPACE: Names = &["namespace"];
const TRANSPORT_TYPE: Names = &["transportType"];
const AUTHENTICATION: Names = &["authentication"];
const BROKERED: Names = &["brokeredMessageProperties"];
const CUSTOM: Names = &["customMessageProperties"];

fn bus_message(reader: &mut Reader, given: Given<'_>, entity_name: Names) -> Option<ServiceBusMessage> {
    let allowed = format!("an object with namespace, {}, authentication and message", entity_name[0]);
    let known = &[entity_name, NAMESPACE, TRANSPORT_TYPE, AUTHENTICATION, MESSAGE, BROKERED, CUSTOM];
    let object = reader.object_of_secrets(given, known, &allowed)?;
    let entity = reader.required_text(&object, entity_name, "the name of a queue or the path of a topic");
    let namespace = reader.required_text(&object, NAMESPACE, "a namespace of Service Bus");
    let transport = reader.member(&object, TRANSPORT_TYPE).and_then(|given| {
        let words = [
            ("NetMessaging", ServiceBusTransport::NetMessaging),
            ("AMQP", ServiceBusTransport::Amqp),
            ("NotSpecified", ServiceBusTransport::NotSpecified),
        ];
        reader.choice(&given, &words, "NetMessaging or AMQP")
    });
    let authentication =
        reader.member(&object, AUTHENTICATION).and_then(|given| shared_access_key(reader, given));
    let message = reader.optional_text(&object, MESSAGE, MESSAGE_ALLOWED);
    let brokered_properties =
        reader.member(&object, BROKERED).and_then(|given| brokered_properties(reader, given));
    let custom_properties =
        reader.member(&object, CUSTOM).and_then(|given| reader.texts(given, "an object of texts"));
    Some(ServiceBusMessage {
        namespace: namespace?,
        entity: entity?,
        transport: transport.unwrap_or(ServiceBusTransport::NotSpecified),
        authentication,
        message,
        brokered_properties,
        custom_properties,
    })
}

const SAS_KEY_NAME: Names = &["sasKeyName"];
const SAS_KEY: Names = &["sasKey"];

fn shared_access_key(reader: &mut Reader, given: Given<'_>) -> Option<SharedAccessKey> {
    let allowed = "an object such as {\"type\": \"SharedAccessKey\", \"sasKeyName\": …, \"sasKey\": …}";
    let object = reader.object_of_secrets(given, &[TYPE, SAS_KEY_NAME, SAS_KEY], allowed)?;
    if let Some(given) = reader.member(&object, TYPE)
        && !reader.choice(&given, &[("SharedAccessKey", true), ("NotSpecified", false)], "SharedAccessKey")?
    {
        return None;
    }
    let name = reader.required_text(&object, SAS_KEY_NAME, "the name of a shared access key");
    let key = reader.required_secret(&object, SAS_KEY, "a shared access key, a text");
    Some(SharedAccessKey { name: name?, key: key? })
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Property {
    Text,
    Truth,
    DateTime,
    Duration,
}

/// Of the API's description; `contentType` alone was recorded (Scenario_JobCreateUpdateDeleteServiceBusQueueJob).
const BROKERED_PROPERTIES: [(&str, Property); 13] = [
    ("contentType", Property::Text),
    ("correlationId", Property::Text),
    ("forcePersistence", Property::Truth),
    ("label", Property::Text),
    ("messageId", Property::Text),
    ("partitionKey", Property::Text),
    ("replyTo", Property::Text),
    ("replyToSessionId", Property::Text),
    ("scheduledEnqueueTimeUtc", Property::DateTime),
    ("sessionId", Property::Text),
    ("timeToLive", Property::Duration),
    ("to", Property::Text),
    ("viaPartitionKey", Property::Text),
];

/// The properties that the broker knows, with the JSON text of each; others would reach nobody and are ignored.
fn brokered_properties(reader: &mut Reader, given: Given<'_>) -> Option<Vec<(String, String)>> {
    let object = reader.open_object(given, "an object such as {\"contentType\": \"application/json\"}")?;
    let mut properties: Vec<(String, String)> = Vec::new();
    for (written, given) in object.entries() {
        let known = BROKERED_PROPERTIES.iter().find(|(name, _)| name.eq_ignore_ascii_case(written));
        let Some((name, property)) = known else {
            reader.ignore(&given);
            continue;
        };
        let text = given.as_str();
        let (is_right, allowed) = match property {
            Property::Text => (text.is_some(), "a text"),
            Property::Truth => (given.value().is_boolean(), "true or false"),
            Property::DateTime => (text.and_then(read_date_time).is_some(), recurrence::DATE_TIME_FORMS),
            Property::Duration => (text.and_then(interval::read).is_some(), interval::FORMS),
        };
        if !is_right {
            reader.refuse(&given, allowed);
        } else if properties.iter().any(|(other, _)| other == name) {
            reader.refuse_unseen(&given, "a second property of this name", "only one of them");
        } else {
            properties.push(((*name).to_owned(), given.value().to_string()));
        }
    }
    Some(properties)
}
