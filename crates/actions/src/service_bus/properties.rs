//! Properties: what a message says about itself, as the job gave it, read into types.

use std::time::Duration;

use model::{Timestamp, action::ServiceBusMessage, interval};
use recurrence::read_date_time;
use serde_json::Value;

use crate::order::Order;

/// The properties that a broker knows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Properties {
    pub(crate) content_type: Option<String>,
    pub(crate) correlation_id: Option<String>,
    pub(crate) force_persistence: Option<bool>,
    pub(crate) label: Option<String>,
    /// The job's own, or the execution tag: so that a broker that looks for duplicates finds those of a crash.
    pub(crate) message_id: String,
    pub(crate) partition_key: Option<String>,
    pub(crate) reply_to: Option<String>,
    pub(crate) reply_to_session_id: Option<String>,
    pub(crate) scheduled_at: Option<Timestamp>,
    pub(crate) session_id: Option<String>,
    pub(crate) time_to_live: Option<Duration>,
    pub(crate) to: Option<String>,
    pub(crate) via_partition_key: Option<String>,
}

/// The properties of a message. What is stored was read once before, so nothing can be wrong with it.
pub(crate) fn of(order: &Order<'_>, message: &ServiceBusMessage) -> Properties {
    let given = message.brokered_properties.as_deref().unwrap_or_default();
    let value = |name: &str| -> Option<Value> {
        let (_, text) = given.iter().find(|(known, _)| known == name)?;
        serde_json::from_str(text).ok()
    };
    let text = |name: &str| value(name).and_then(|value| value.as_str().map(str::to_owned));
    Properties {
        content_type: text("contentType"),
        correlation_id: text("correlationId"),
        force_persistence: value("forcePersistence").and_then(|value| value.as_bool()),
        label: text("label"),
        message_id: text("messageId").unwrap_or_else(|| order.tag.simple().to_string()),
        partition_key: text("partitionKey"),
        reply_to: text("replyTo"),
        reply_to_session_id: text("replyToSessionId"),
        scheduled_at: text("scheduledEnqueueTimeUtc").as_deref().and_then(read_date_time),
        session_id: text("sessionId"),
        time_to_live: text("timeToLive")
            .as_deref()
            .and_then(interval::read)
            .map(|interval| Duration::from_secs(interval.seconds)),
        to: text("to"),
        via_partition_key: text("viaPartitionKey"),
    }
}
