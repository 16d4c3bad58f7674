//! The envelope: what the old service wrapped a queue's message in.
//!
//! Its readers parse the text and look for `Message`; some look at the rest. The document says UTF-16 of itself, which
//! was true of the text in the memory of the program that made it; what was sent is base64 of its UTF-8 bytes.

use base64::{Engine as _, prelude::BASE64_STANDARD};
use model::action::QueueDelivery;

use crate::{
    fault::{Fault, Kind},
    order::{Order, expected_time},
    xml,
};

/// Bytes that a storage queue takes for one message, as it lies in the queue.
const LONGEST: usize = 64 * 1024;

const BEGINNING: &str = "<?xml version=\"1.0\" encoding=\"utf-16\"?>\r\n<StorageQueueMessage \
                         xmlns:xsd=\"http://www.w3.org/2001/XMLSchema\" \
                         xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\">\r\n";

/// The text that will lie in the queue.
pub(crate) fn text(order: &Order<'_>, message: &str, delivery: QueueDelivery) -> Result<String, Fault> {
    let text = match delivery {
        QueueDelivery::Envelope => BASE64_STANDARD.encode(envelope(order, message)?),
        QueueDelivery::Base64 => BASE64_STANDARD.encode(message),
        QueueDelivery::Raw => speakable(message)?.to_owned(),
    };
    if text.len() > LONGEST {
        let cause = format!(
            "the message is {} bytes long as it would lie in the queue, which takes at most {LONGEST}",
            text.len()
        );
        return Err(Fault::new(Kind::MessageLengthLimitExceeded, cause));
    }
    Ok(text)
}

/// The body of the request that puts a text into a queue.
pub(crate) fn request_body(text: &str) -> String {
    let mut body = String::with_capacity(text.len() + 64);
    body.push_str("<QueueMessage><MessageText>");
    xml::escape_into(&mut body, text);
    body.push_str("</MessageText></QueueMessage>");
    body
}

fn envelope(order: &Order<'_>, message: &str) -> Result<String, Fault> {
    let (mut tag, mut id) = ([0; 32], [0; 36]);
    let expected_at = expected_time(order.expected_at);
    let members = [
        ("ExecutionTag", &*order.tag.simple().encode_lower(&mut tag)),
        ("ClientRequestId", &*order.request_id.hyphenated().encode_lower(&mut id)),
        ("ExpectedExecutionTime", &*expected_at),
        ("SchedulerJobId", order.job),
        // Sic.
        ("SchedulerJobcollectionId", order.collection),
        ("Region", order.location),
        ("Message", speakable(message)?),
    ];
    let mut document = String::with_capacity(BEGINNING.len() + 512 + message.len());
    document.push_str(BEGINNING);
    for (name, text) in members {
        document.extend(["  <", name, ">"]);
        xml::escape_into(&mut document, text);
        document.extend(["</", name, ">\r\n"]);
    }
    document.push_str("</StorageQueueMessage>");
    Ok(document)
}

/// A text, if XML can hold it.
fn speakable(text: &str) -> Result<&str, Fault> {
    match xml::unspeakable(text) {
        None => Ok(text),
        Some(letter) => {
            let cause = format!(
                "the message has the character U+{:04X}, which XML cannot hold; delivery \"base64\" carries any",
                u32::from(letter)
            );
            Err(Fault::new(Kind::UnknownError, cause))
        }
    }
}

#[cfg(test)]
mod tests {
    use model::{
        Secret,
        action::{Call, StorageQueueMessage},
    };

    use super::*;

    fn of(message: &str, delivery: QueueDelivery) -> Result<String, Fault> {
        let call = Call::StorageQueue(StorageQueueMessage {
            account: "a".into(),
            queue: "q".into(),
            sas_token: Secret::new("s"),
            message: None,
            delivery: None,
        });
        let order = Order {
            call: &call,
            collection: "bdhcjobs",
            job: "rm-photopost",
            location: "West Europe",
            expected_at: "2015-09-10T00:00:00Z".parse().unwrap(),
            tag: "e927cf76d24da9625608248ce654cfa7".parse().unwrap(),
            request_id: "3c4b84e2-aee5-43ac-913e-c05c8827ac41".parse().unwrap(),
            trace: None,
        };
        text(&order, message, delivery)
    }

    #[test]
    fn the_envelope_is_that_of_the_old_service() {
        let decoded = BASE64_STANDARD.decode(of("a < \"é\"", QueueDelivery::Envelope).unwrap()).unwrap();
        let expected = [
            r#"<?xml version="1.0" encoding="utf-16"?>"#,
            r#"<StorageQueueMessage xmlns:xsd="http://www.w3.org/2001/XMLSchema" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">"#,
            "  <ExecutionTag>e927cf76d24da9625608248ce654cfa7</ExecutionTag>",
            "  <ClientRequestId>3c4b84e2-aee5-43ac-913e-c05c8827ac41</ClientRequestId>",
            "  <ExpectedExecutionTime>2015-09-10T00:00:00</ExpectedExecutionTime>",
            "  <SchedulerJobId>rm-photopost</SchedulerJobId>",
            "  <SchedulerJobcollectionId>bdhcjobs</SchedulerJobcollectionId>",
            "  <Region>West Europe</Region>",
            "  <Message>a &lt; \"é\"</Message>",
            "</StorageQueueMessage>",
        ];
        assert_eq!(String::from_utf8(decoded).unwrap(), expected.join("\r\n"));
    }

    #[test]
    fn without_the_envelope_the_message_stands_alone() {
        assert_eq!(of("a < b\0", QueueDelivery::Base64).unwrap(), "YSA8IGIA");
        assert_eq!(of("a < b", QueueDelivery::Raw).unwrap(), "a < b");
        assert_eq!(request_body("a < b"), "<QueueMessage><MessageText>a &lt; b</MessageText></QueueMessage>");
    }

    #[test]
    fn what_a_queue_cannot_take_is_said_before_it_is_sent() {
        let longest = "x".repeat(LONGEST);
        assert_eq!(of(&longest, QueueDelivery::Raw).unwrap(), longest);
        for (message, delivery, length) in [
            ("x".repeat(LONGEST + 1), QueueDelivery::Raw, "65537"),
            ("x".repeat(48 * 1024 + 1), QueueDelivery::Base64, "65540"),
        ] {
            let fault = of(&message, delivery).unwrap_err();
            assert_eq!(fault.kind, Kind::MessageLengthLimitExceeded);
            let says =
                format!("is {length} bytes long as it would lie in the queue, which takes at most 65536");
            assert!(fault.to_string().contains(&says), "{fault}");
        }
        assert!(of(&"x".repeat(48 * 1024), QueueDelivery::Base64).is_ok());
        for delivery in [QueueDelivery::Envelope, QueueDelivery::Raw] {
            let fault = of("a\u{1}", delivery).unwrap_err().to_string();
            assert!(fault.contains("U+0001, which XML cannot hold"), "{fault}");
        }
    }
}
