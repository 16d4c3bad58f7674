//! The REST endpoint: a message as one HTTP request.
//!
//! The broker's properties travel as JSON in the header `BrokerProperties`, the sender's own as headers of their names
//! with JSON as values, the way Service Bus's REST clients write them.

use ::http::{HeaderMap, HeaderName, HeaderValue, Method, Request, header};
use bytes::Bytes;
use http_body_util::Full;
use model::{Timestamp, action::ServiceBusMessage};
use percent_encoding::utf8_percent_encode;
use serde_json::{Map, Value};

use super::{properties::Properties, signature};
use crate::{
    endpoints::IN_PATH,
    fault::{Fault, Kind},
};

/// How long a signature holds: long enough for clocks that disagree.
const SIGNED_FOR: std::time::Duration = std::time::Duration::from_secs(300);

static BROKER_PROPERTIES: HeaderName = HeaderName::from_static("brokerproperties");

/// Headers that say how the request is to be read: no property can take their place.
const OF_THE_REQUEST: [HeaderName; 12] = [
    header::AUTHORIZATION,
    header::CONNECTION,
    header::CONTENT_LENGTH,
    header::CONTENT_TYPE,
    header::EXPECT,
    header::HOST,
    header::PROXY_AUTHORIZATION,
    header::TE,
    header::TRAILER,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
    header::USER_AGENT,
];

/// A request, and the secret in it that its answer must not quote.
pub(crate) struct Signed {
    pub(crate) request: Request<Full<Bytes>>,
    pub(crate) signature: String,
}

/// The request that sends a message to an entity of a namespace.
pub(crate) fn request(
    endpoint: &str,
    message: &ServiceBusMessage,
    properties: &Properties,
    now: Timestamp,
) -> Result<Signed, Fault> {
    let path: Vec<_> =
        message.entity.split('/').map(|part| utf8_percent_encode(part, IN_PATH).to_string()).collect();
    let uri = format!("{endpoint}/{}/messages", path.join("/"));
    let mut headers = HeaderMap::new();
    for (name, text) in message.custom_properties.as_deref().unwrap_or_default() {
        headers.insert(custom_name(name)?, ascii(&Value::from(text.as_str()))?);
    }
    if let Some(content_type) = &properties.content_type {
        let value = HeaderValue::from_bytes(content_type.as_bytes());
        let value = value.map_err(|_| refused("the contentType cannot be sent in a header".to_owned()))?;
        headers.insert(header::CONTENT_TYPE, value);
    }
    headers.insert(&BROKER_PROPERTIES, ascii(&broker_properties(properties))?);
    let mut signature = String::new();
    if let Some(key) = &message.authentication {
        let token = signature::token(key, &uri, now + SIGNED_FOR);
        signature = signature::of_token(&token).to_owned();
        let mut value = HeaderValue::try_from(token)
            .map_err(|_| refused("the name of the shared access key cannot be sent".to_owned()))?;
        value.set_sensitive(true);
        headers.insert(header::AUTHORIZATION, value);
    }
    let body = message.message.clone().unwrap_or_default();
    if body.is_empty() {
        headers.insert(header::CONTENT_LENGTH, HeaderValue::from_static("0"));
    }
    let mut request = Request::new(Full::new(Bytes::from(body)));
    *request.method_mut() = Method::POST;
    *request.uri_mut() = uri.parse().map_err(|_| refused("the entity's address is no URI".to_owned()))?;
    *request.headers_mut() = headers;
    Ok(Signed { request, signature })
}

fn custom_name(name: &str) -> Result<HeaderName, Fault> {
    let read = HeaderName::from_bytes(name.as_bytes()).map_err(|_| {
        refused(format!(
            "the custom property '{}' cannot be the name of a header; over AMQP it can be sent",
            name.escape_debug()
        ))
    })?;
    if OF_THE_REQUEST.contains(&read) || read == BROKER_PROPERTIES {
        return Err(refused(format!(
            "the custom property '{name}' has the name of a header of the request; over AMQP it can be sent"
        )));
    }
    Ok(read)
}

fn broker_properties(properties: &Properties) -> Value {
    let text = |text: &Option<String>| text.clone().map(Value::from);
    // Dates as HTTP writes them.
    let date = |at: &Timestamp| Value::from(at.strftime("%a, %d %b %Y %H:%M:%S GMT").to_string());
    let members = [
        ("MessageId", Some(Value::from(properties.message_id.as_str()))),
        ("Label", text(&properties.label)),
        ("CorrelationId", text(&properties.correlation_id)),
        ("SessionId", text(&properties.session_id)),
        ("ReplyTo", text(&properties.reply_to)),
        ("ReplyToSessionId", text(&properties.reply_to_session_id)),
        ("To", text(&properties.to)),
        ("TimeToLive", properties.time_to_live.map(|time| Value::from(time.as_secs()))),
        ("ScheduledEnqueueTimeUtc", properties.scheduled_at.as_ref().map(date)),
        ("PartitionKey", text(&properties.partition_key)),
        ("ViaPartitionKey", text(&properties.via_partition_key)),
        ("ForcePersistence", properties.force_persistence.map(Value::from)),
    ];
    let given = members.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
    Value::Object(given.collect::<Map<_, _>>())
}

/// JSON in ASCII, as a header takes it.
fn ascii(value: &Value) -> Result<HeaderValue, Fault> {
    let mut text = String::new();
    for letter in value.to_string().chars() {
        if matches!(letter, ' '..='~') {
            text.push(letter);
        } else {
            text.extend(letter.encode_utf16(&mut [0; 2]).iter().map(|unit| format!("\\u{unit:04x}")));
        }
    }
    HeaderValue::try_from(text).map_err(|_| refused("a property cannot be sent in a header".to_owned()))
}

fn refused(cause: String) -> Fault {
    Fault::new(Kind::UnknownError, cause)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn properties_are_json_in_ascii() {
        let properties = Properties {
            label: Some("é\"😀\n".into()),
            message_id: "m".into(),
            scheduled_at: Some("2027-03-01T12:30:00.5Z".parse().unwrap()),
            time_to_live: Some(std::time::Duration::from_secs(90)),
            force_persistence: Some(false),
            ..Properties::default()
        };
        let header = ascii(&broker_properties(&properties)).unwrap();
        assert_eq!(
            header.to_str().unwrap(),
            r#"{"MessageId":"m","Label":"\u00e9\"\ud83d\ude00\n","TimeToLive":90,"ScheduledEnqueueTimeUtc":"Mon, 01 Mar 2027 12:30:00 GMT","ForcePersistence":false}"#
        );
        assert_eq!(ascii(&Value::from("a\u{7f}b")).unwrap(), "\"a\\u007fb\"");
    }

    #[test]
    fn names_that_are_no_headers_are_refused() {
        assert_eq!(custom_name("x-Priority").unwrap(), "x-priority");
        for name in ["", "a b", "é", "a:b", "Host", "authorization", "BrokerProperties", "content-type"] {
            let fault = custom_name(name).unwrap_err().to_string();
            assert!(fault.contains(&format!("the custom property '{name}'")), "{fault}");
        }
    }
}
