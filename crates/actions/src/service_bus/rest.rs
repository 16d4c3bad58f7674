//! The REST endpoint: a message as one HTTP request.
//!
//! The broker's properties travel as JSON in the header `BrokerProperties`, the sender's own as headers of their names
//! with JSON as values, the way Service Bus's REST clients write them.

use std::sync::Arc;

use ::http::{HeaderMap, HeaderName, HeaderValue, Method, Request, header};
use bytes::Bytes;
use http_body_util::Full;
use model::{Timestamp, action::ServiceBusMessage};
use percent_encoding::utf8_percent_encode;
use serde_json::Value;

use super::{properties::Properties, signature::Tokens};
use crate::{
    endpoints::IN_PATH,
    fault::{Fault, Kind},
};

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
    pub(crate) signature: Arc<str>,
}

/// The request that sends a message to an entity of a namespace.
pub(crate) fn request(
    endpoint: &str,
    message: &ServiceBusMessage,
    properties: &Properties,
    tokens: &Tokens,
    now: Timestamp,
) -> Result<Signed, Fault> {
    let mut uri = endpoint.to_owned();
    for part in message.entity.split('/') {
        uri.push('/');
        uri.extend(utf8_percent_encode(part, IN_PATH));
    }
    uri.push_str("/messages");
    let mut headers = HeaderMap::new();
    for (name, text) in message.custom_properties.as_deref().unwrap_or_default() {
        headers.insert(custom_name(name)?, header_of(json(text))?);
    }
    if let Some(content_type) = &properties.content_type {
        let value = HeaderValue::from_bytes(content_type.as_bytes());
        let value = value.map_err(|_| refused("the contentType cannot be sent in a header".to_owned()))?;
        headers.insert(header::CONTENT_TYPE, value);
    }
    headers.insert(&BROKER_PROPERTIES, header_of(broker_properties(properties))?);
    let mut signature = Arc::default();
    if let Some(key) = &message.authentication {
        let token = tokens.get(key, &uri, now);
        let token =
            token.ok_or_else(|| refused("the name of the shared access key cannot be sent".to_owned()))?;
        signature = token.signature;
        headers.insert(header::AUTHORIZATION, token.header);
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

/// The properties as a JSON object. It is written by hand, since it is written for every message.
fn broker_properties(properties: &Properties) -> String {
    let mut object = String::with_capacity(128);
    let mut add = |name: &str, value: Option<String>| {
        if let Some(value) = value {
            object.push_str(if object.is_empty() { "{\"" } else { ",\"" });
            object.push_str(name);
            object.push_str("\":");
            object.push_str(&value);
        }
    };
    let text = |text: &Option<String>| text.as_deref().map(json);
    add("MessageId", Some(json(&properties.message_id)));
    add("Label", text(&properties.label));
    add("CorrelationId", text(&properties.correlation_id));
    add("SessionId", text(&properties.session_id));
    add("ReplyTo", text(&properties.reply_to));
    add("ReplyToSessionId", text(&properties.reply_to_session_id));
    add("To", text(&properties.to));
    add("TimeToLive", properties.time_to_live.map(|time| time.as_secs().to_string()));
    // A date as HTTP writes it.
    let date = |at: &Timestamp| at.strftime("\"%a, %d %b %Y %H:%M:%S GMT\"").to_string();
    add("ScheduledEnqueueTimeUtc", properties.scheduled_at.as_ref().map(date));
    add("PartitionKey", text(&properties.partition_key));
    add("ViaPartitionKey", text(&properties.via_partition_key));
    add("ForcePersistence", properties.force_persistence.map(|yes| yes.to_string()));
    object.push('}');
    object
}

/// A text as JSON in ASCII, as a header takes it.
fn json(text: &str) -> String {
    let is_plain = |byte: u8| matches!(byte, b' '..=b'~') && byte != b'"' && byte != b'\\';
    if text.bytes().all(is_plain) {
        return format!("\"{text}\"");
    }
    let mut ascii = String::new();
    for letter in Value::from(text).to_string().chars() {
        if matches!(letter, ' '..='~') {
            ascii.push(letter);
        } else {
            ascii.extend(letter.encode_utf16(&mut [0; 2]).iter().map(|unit| format!("\\u{unit:04x}")));
        }
    }
    ascii
}

fn header_of(text: String) -> Result<HeaderValue, Fault> {
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
        assert_eq!(
            broker_properties(&properties),
            r#"{"MessageId":"m","Label":"\u00e9\"\ud83d\ude00\n","TimeToLive":90,"ScheduledEnqueueTimeUtc":"Mon, 01 Mar 2027 12:30:00 GMT","ForcePersistence":false}"#
        );
        assert_eq!(json("a\u{7f}b"), "\"a\\u007fb\"");
        assert_eq!(json("it's \\ plain"), "\"it's \\\\ plain\"");
        assert_eq!(json(""), "\"\"");
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
