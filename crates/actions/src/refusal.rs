//! Refusals: what a queue says when it does not take a message, in one line and without our secrets.

use ::http::response::Parts;

use model::Redaction;

use crate::{http::message, xml};

/// Characters of a refusal that are kept: as many as of a body of HTTP.
const KEPT: usize = 1024;

/// An answer of a queue's REST endpoint: its status, and the code and text of its error document.
pub(crate) struct Refusal {
    /// The error code, such as `QueueNotFound`.
    pub(crate) code: Option<String>,
    text: String,
}

impl Refusal {
    /// Reads an answer. Services that quote what they were sent do not get to quote `secrets`.
    pub(crate) fn read(head: &Parts, body: &[u8], secrets: &Redaction) -> Self {
        let body = String::from_utf8_lossy(body);
        // Before spaces are left out, which a secret may have.
        let body = secrets.apply(&body);
        let header = |name| head.headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
        let code = header("x-ms-error-code").or_else(|| xml::text_of(&body, "Code"));
        let told = ["Message", "Detail"].iter().find_map(|element| xml::text_of(&body, element));
        let told = told.unwrap_or_else(|| body.split_whitespace().collect::<Vec<_>>().join(" "));
        let mut text = format!("'{}'", message::name(head.status));
        for part in [code.as_deref().unwrap_or_default(), &told] {
            if !part.is_empty() {
                text.push(' ');
                text.push_str(part);
            }
        }
        Self { code, text: hide(&text, secrets) }
    }

    /// `'NotFound' QueueNotFound The specified queue does not exist.`
    pub(crate) fn text(&self) -> &str {
        &self.text
    }
}

/// A text as it may be shown: without secrets, without control characters, and not too long.
pub(crate) fn hide(text: &str, secrets: &Redaction) -> String {
    let shown = |letter: char| if letter.is_control() { char::REPLACEMENT_CHARACTER } else { letter };
    secrets.apply_up_to(text, KEPT).chars().map(shown).take(KEPT).collect()
}

#[cfg(test)]
mod tests {
    use ::http::Response;

    use super::*;

    fn refusal(status: u16, headers: &[(&str, &str)], body: &str) -> String {
        let mut response = Response::builder().status(status);
        for (name, value) in headers {
            response = response.header(*name, *value);
        }
        let (head, ()) = response.body(()).unwrap().into_parts();
        let mut secrets = Redaction::default();
        secrets.add("s3cret");
        Refusal::read(&head, body.as_bytes(), &secrets).text().to_owned()
    }

    #[test]
    fn error_documents_become_a_line() {
        let storage =
            "<Error><Code>QueueNotFound</Code><Message>The specified queue does not exist.</Message></Error>";
        let line = "'NotFound' QueueNotFound The specified queue does not exist.";
        assert_eq!(refusal(404, &[], storage), line);
        assert_eq!(refusal(404, &[("x-ms-error-code", "QueueNotFound")], storage), line);
        let bus = "<Error><Code>401</Code><Detail>The token has an invalid signature.</Detail></Error>";
        assert_eq!(refusal(401, &[], bus), "'Unauthorized' 401 The token has an invalid signature.");
        assert_eq!(refusal(503, &[], ""), "'ServiceUnavailable'");
        assert_eq!(refusal(500, &[], "oh\r\n no"), "'InternalServerError' oh no");
    }

    #[test]
    fn secrets_are_hidden_and_length_is_bounded() {
        assert_eq!(refusal(400, &[], "you sent sig=s3cret&x"), "'BadRequest' you sent sig=(hidden)&x");
        assert_eq!(refusal(400, &[], &"é".repeat(5000)).chars().count(), KEPT);
        assert_eq!(hide("a\0b", &Redaction::default()), "a\u{fffd}b");
    }
}
