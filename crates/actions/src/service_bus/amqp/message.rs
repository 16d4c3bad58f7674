//! A message as AMQP 1.0 writes it, with the places in which Service Bus looks for its properties.

use fe2o3_amqp::types::{
    messaging::{
        ApplicationProperties, Data, Header, Message, MessageAnnotations, MessageId, Properties as Standard,
    },
    primitives::{Binary, Symbol, Timestamp as Milliseconds},
};
use model::{Timestamp, action::ServiceBusMessage};

use crate::service_bus::properties::Properties;

/// The message, made at a moment.
pub(crate) fn write(message: &ServiceBusMessage, properties: &Properties, now: Timestamp) -> Message<Data> {
    let body = message.message.clone().unwrap_or_default();
    let mut annotations = MessageAnnotations::builder();
    if let Some(at) = properties.scheduled_at {
        annotations = annotations.insert("x-opt-scheduled-enqueue-time", milliseconds(at));
    }
    if let Some(key) = &properties.partition_key {
        annotations = annotations.insert("x-opt-partition-key", key.clone());
    }
    if let Some(key) = &properties.via_partition_key {
        annotations = annotations.insert("x-opt-via-partition-key", key.clone());
    }
    let annotations = annotations.build();
    let mut custom = ApplicationProperties::builder();
    for (name, text) in message.custom_properties.as_deref().unwrap_or_default() {
        custom = custom.insert(name.clone(), text.clone());
    }
    let custom = custom.build();
    Message::builder()
        .header(header(properties))
        .message_annotations((!annotations.is_empty()).then_some(annotations))
        .properties(standard(properties, now))
        .application_properties((!custom.is_empty()).then_some(custom))
        .data(Binary::from(body.into_bytes()))
        .build()
}

fn header(properties: &Properties) -> Header {
    let ttl = properties.time_to_live.map(|time| u32::try_from(time.as_millis()).unwrap_or(u32::MAX));
    // A scheduled message that a restart of the broker forgets was not worth scheduling.
    Header { durable: properties.force_persistence.unwrap_or(true), ttl, ..Header::default() }
}

fn standard(properties: &Properties, now: Timestamp) -> Standard {
    // The header's lifetime ends at 49 days; the expiry knows no such limit. Service Bus's own client sends both.
    let expiry = properties.time_to_live.and_then(|time| now.checked_add(time).ok());
    Standard {
        message_id: Some(MessageId::from(properties.message_id.clone())),
        to: properties.to.clone(),
        subject: properties.label.clone(),
        reply_to: properties.reply_to.clone(),
        correlation_id: properties.correlation_id.clone().map(MessageId::from),
        content_type: properties.content_type.clone().map(Symbol::from),
        creation_time: expiry.map(|_| milliseconds(now)),
        absolute_expiry_time: expiry.map(milliseconds),
        group_id: properties.session_id.clone(),
        reply_to_group_id: properties.reply_to_session_id.clone(),
        ..Standard::default()
    }
}

fn milliseconds(at: Timestamp) -> Milliseconds {
    Milliseconds::from_milliseconds(at.as_millisecond())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use fe2o3_amqp::types::{
        messaging::annotations::OwnedKey,
        primitives::{SimpleValue, Value},
    };
    use model::action::ServiceBusTransport;

    use super::*;

    fn message(custom_properties: Option<Vec<(String, String)>>) -> ServiceBusMessage {
        ServiceBusMessage {
            namespace: "n".into(),
            entity: "q".into(),
            transport: ServiceBusTransport::Amqp,
            authentication: None,
            message: Some("hé".into()),
            brokered_properties: None,
            custom_properties,
        }
    }

    fn now() -> Timestamp {
        "2027-03-01T12:30:00Z".parse().unwrap()
    }

    #[test]
    fn every_property_has_its_place() {
        let text = |text: &str| Some(text.to_owned());
        let properties = Properties {
            content_type: text("text/plain"),
            correlation_id: text("c"),
            force_persistence: Some(false),
            label: text("l"),
            message_id: "m".into(),
            partition_key: text("p"),
            reply_to: text("r"),
            reply_to_session_id: text("rs"),
            scheduled_at: Some("2027-03-01T13:00:00.5Z".parse().unwrap()),
            session_id: text("s"),
            time_to_live: Some(Duration::from_secs(90)),
            to: text("t"),
            via_partition_key: text("v"),
        };
        let custom = vec![("A".to_owned(), "1".to_owned()), ("a".to_owned(), "2".to_owned())];
        let written = write(&message(Some(custom)), &properties, now());
        assert_eq!(written.body.0, Binary::from("hé".as_bytes().to_vec()));
        let header = written.header.unwrap();
        assert_eq!((header.durable, header.ttl), (false, Some(90_000)));
        let annotations = written.message_annotations.unwrap();
        let annotation = |name: &str| annotations.get(&OwnedKey::from(name)).unwrap().clone();
        let at = Milliseconds::from_milliseconds(1_803_906_000_500);
        assert_eq!(annotation("x-opt-scheduled-enqueue-time"), Value::Timestamp(at));
        assert_eq!(annotation("x-opt-partition-key"), Value::from("p"));
        assert_eq!(annotation("x-opt-via-partition-key"), Value::from("v"));
        let custom = written.application_properties.unwrap();
        assert_eq!(custom.get("A"), Some(&SimpleValue::from("1")));
        assert_eq!(custom.get("a"), Some(&SimpleValue::from("2")));
        let made = Milliseconds::from_milliseconds(1_803_904_200_000);
        assert_eq!(
            written.properties.unwrap(),
            Standard {
                message_id: Some("m".to_owned().into()),
                to: text("t"),
                subject: text("l"),
                reply_to: text("r"),
                correlation_id: Some("c".to_owned().into()),
                content_type: Some("text/plain".into()),
                creation_time: Some(made),
                absolute_expiry_time: Some(Milliseconds::from_milliseconds(1_803_904_290_000)),
                group_id: text("s"),
                reply_to_group_id: text("rs"),
                ..Standard::default()
            }
        );
    }

    #[test]
    fn what_was_not_given_is_not_written_and_messages_last() {
        let properties = Properties { message_id: "m".into(), ..Properties::default() };
        let written = write(&message(None), &properties, now());
        assert!(written.message_annotations.is_none() && written.application_properties.is_none());
        assert!(written.header.unwrap().durable);
        let expected = Standard { message_id: Some("m".to_owned().into()), ..Standard::default() };
        assert_eq!(written.properties.unwrap(), expected);
    }

    #[test]
    fn long_lives_are_cut_only_where_they_do_not_fit() {
        let year = Some(Duration::from_secs(365 * 86_400));
        let written =
            write(&message(None), &Properties { time_to_live: year, ..Properties::default() }, now());
        assert_eq!(written.header.unwrap().ttl, Some(u32::MAX));
        let expiry = written.properties.unwrap().absolute_expiry_time.unwrap().milliseconds();
        assert_eq!(expiry, 1_803_904_200_000 + 365 * 86_400_000);
    }
}
