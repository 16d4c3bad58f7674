//! Messages: how an attempt is told in the history, in the recorded words of the old service.
//!
//! With an answer: `Http Action - Response from host 'www.bing.com': 'OK' Response Headers: Vary:
//! Accept-Encoding\r\n… Body: …`; without one: `Http Action - Request to host 'www.bing.com' failed: ConnectFailure
//! Unable to connect to the remote server`. Statuses have the names of .NET's `HttpStatusCode`, a repeated header is
//! joined by `, `, the body is cut.

use std::borrow::Cow;

use ::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header, response::Parts};
use model::{Outcome, Redaction};

use crate::fault::Fault;

/// Characters of a body that are kept, as recorded.
const KEPT_CHARACTERS: usize = 1024;

/// Bytes of a body that hold [`KEPT_CHARACTERS`] in any encoding that we read.
pub(crate) const KEPT_BYTES: usize = KEPT_CHARACTERS * 4 + "\u{feff}".len();

/// The same where a secret may begin among those characters, of which every byte may be written by number.
pub(crate) const KEPT_BYTES_OF_SECRETS: usize = KEPT_BYTES + 32 * 1024;

/// Bytes of headers that are kept. The longest recorded ones have 1113; the bound is ours.
const KEPT_HEADERS: usize = 8 * 1024;

/// The outcome of an attempt that was answered. Some targets answer with what they were sent: `secrets` are hidden.
pub(crate) fn answered(host: &str, head: &Parts, body: &[u8], secrets: &Redaction) -> Outcome {
    let name = name(head.status);
    let mut message = String::with_capacity(512 + body.len().min(KEPT_CHARACTERS));
    message.extend([
        "Http Action - Response from host '",
        &secrets.apply(host),
        "': '",
        &name,
        "' Response Headers: ",
    ]);
    write_headers(&mut message, &head.headers, secrets);
    message.push_str(" Body: ");
    let content_type = head.headers.get(header::CONTENT_TYPE).map(HeaderValue::as_bytes);
    write_body(&mut message, content_type, body, secrets);
    Outcome { success: head.status.is_success(), message }
}

/// The outcome of an attempt without a usable answer.
pub(crate) fn failed(host: &str, fault: &Fault) -> Outcome {
    Outcome { success: false, message: format!("Http Action - Request to host '{host}' failed: {fault}") }
}

/// The name of a status in .NET 4.5, which knew no more than these; others are written as numbers.
pub(crate) fn name(status: StatusCode) -> Cow<'static, str> {
    Cow::Borrowed(match status.as_u16() {
        100 => "Continue",
        101 => "SwitchingProtocols",
        200 => "OK",
        201 => "Created",
        202 => "Accepted",
        203 => "NonAuthoritativeInformation",
        204 => "NoContent",
        205 => "ResetContent",
        206 => "PartialContent",
        300 => "MultipleChoices",
        301 => "MovedPermanently",
        302 => "Found",
        303 => "SeeOther",
        304 => "NotModified",
        305 => "UseProxy",
        306 => "Unused",
        307 => "TemporaryRedirect",
        400 => "BadRequest",
        401 => "Unauthorized",
        402 => "PaymentRequired",
        403 => "Forbidden",
        404 => "NotFound",
        405 => "MethodNotAllowed",
        406 => "NotAcceptable",
        407 => "ProxyAuthenticationRequired",
        408 => "RequestTimeout",
        409 => "Conflict",
        410 => "Gone",
        411 => "LengthRequired",
        412 => "PreconditionFailed",
        413 => "RequestEntityTooLarge",
        414 => "RequestUriTooLong",
        415 => "UnsupportedMediaType",
        416 => "RequestedRangeNotSatisfiable",
        417 => "ExpectationFailed",
        426 => "UpgradeRequired",
        500 => "InternalServerError",
        501 => "NotImplemented",
        502 => "BadGateway",
        503 => "ServiceUnavailable",
        504 => "GatewayTimeout",
        505 => "HttpVersionNotSupported",
        _ => return Cow::Owned(status.as_u16().to_string()),
    })
}

fn write_headers(message: &mut String, headers: &HeaderMap, secrets: &Redaction) {
    let end = message.len() + KEPT_HEADERS;
    let (mut start, mut last) = (message.len(), None);
    // All values of a name come in a row.
    for (name, value) in headers {
        if last == Some(name) {
            message.push_str(", ");
        } else {
            if last.is_some() && !end_line(message, start, end) {
                return;
            }
            start = message.len();
            write_name(message, name);
            message.push_str(": ");
            last = Some(name);
        }
        message.push_str(&secrets.apply(&String::from_utf8_lossy(value.as_bytes())));
    }
    if last.is_some() {
        end_line(message, start, end);
    }
}

/// Ends a line that began at `start`, or takes it away if it does not end before `end`. Says whether it fitted.
fn end_line(message: &mut String, start: usize, end: usize) -> bool {
    message.push_str("\r\n");
    let fits = message.len() <= end;
    if !fits {
        message.truncate(start);
        message.push_str("…\r\n");
    }
    fits
}

/// Writes a header's name the way servers do. The client tells us names in lower case only, so capitals are put where
/// they are usual.
fn write_name(message: &mut String, name: &HeaderName) {
    let known = match name.as_str() {
        "etag" => "ETag",
        "p3p" => "P3P",
        "www-authenticate" => "WWW-Authenticate",
        "x-aspnet-version" => "X-AspNet-Version",
        "x-msedge-ref" => "X-MSEdge-Ref",
        "x-ua-compatible" => "X-UA-Compatible",
        "x-xss-protection" => "X-XSS-Protection",
        // Azure's own.
        name if name.starts_with("x-ms-") => name,
        name => {
            let mut capital = true;
            for letter in name.chars() {
                message.push(if capital { letter.to_ascii_uppercase() } else { letter });
                capital = letter == '-';
            }
            return;
        }
    };
    message.push_str(known);
}

/// Writes a body up to the number of characters that are kept. Text is taken for UTF-8 unless it is declared as
/// Latin-1; a NUL, which not every database can store, becomes the sign for what cannot be shown.
fn write_body(message: &mut String, content_type: Option<&[u8]>, body: &[u8], secrets: &Redaction) {
    let body = if content_type.is_some_and(is_latin1) {
        Cow::Owned(body.iter().copied().map(char::from).collect())
    } else {
        String::from_utf8_lossy(body.strip_prefix("\u{feff}".as_bytes()).unwrap_or(body))
    };
    let body = secrets.apply_up_to(&body, KEPT_CHARACTERS);
    // Most bodies stay as they are.
    if body.contains('\0') {
        message.push_str(&body.replace('\0', "\u{fffd}"));
    } else {
        message.push_str(&body);
    }
}

fn is_latin1(content_type: &[u8]) -> bool {
    if !content_type.contains(&b';') {
        return false;
    }
    let content_type = content_type.to_ascii_lowercase();
    String::from_utf8_lossy(&content_type).split(';').skip(1).any(|parameter| {
        parameter.split_once('=').is_some_and(|(name, value)| {
            name.trim() == "charset" && matches!(value.trim().trim_matches('"'), "iso-8859-1" | "latin1")
        })
    })
}

#[cfg(test)]
mod tests {
    use ::http::Response;

    use super::*;

    fn message(status: u16, headers: &[(&str, &str)], body: &[u8]) -> String {
        let mut response = Response::builder().status(status);
        for (name, value) in headers {
            response = response.header(*name, *value);
        }
        let (head, ()) = response.body(()).unwrap().into_parts();
        answered("www.bing.com", &head, body, &Redaction::default()).message
    }

    fn body(content_type: &str, body: &[u8]) -> String {
        let message = message(200, &[("content-type", content_type)], body);
        message.split_once(" Body: ").unwrap().1.to_owned()
    }

    /// Word for word from the recorded history of 2015-11-09.
    #[test]
    fn the_recorded_message_comes_out() {
        let headers = [("date", "Mon, 09 Nov 2015 20:33:59 GMT"), ("server", "Microsoft-IIS/8.5")];
        assert_eq!(
            message(503, &headers, b""),
            "Http Action - Response from host 'www.bing.com': 'ServiceUnavailable' Response Headers: \
             Date: Mon, 09 Nov 2015 20:33:59 GMT\r\nServer: Microsoft-IIS/8.5\r\n Body: "
        );
    }

    #[test]
    fn header_names_and_repeated_headers_are_written_as_recorded() {
        let headers =
            [("p3p", "CP"), ("set-cookie", "a=1"), ("etag", "x"), ("set-cookie", "b=2"), ("x-ms-id", "7")];
        assert_eq!(
            message(429, &headers, b"later"),
            "Http Action - Response from host 'www.bing.com': '429' Response Headers: \
             P3P: CP\r\nSet-Cookie: a=1, b=2\r\nETag: x\r\nx-ms-id: 7\r\n Body: later"
        );
    }

    #[test]
    fn headers_are_bounded_by_whole_lines() {
        let long = "v".repeat(KEPT_HEADERS);
        let message = message(200, &[("a", "1"), ("b", &long), ("c", "3")], b"");
        assert!(message.ends_with("Response Headers: A: 1\r\n…\r\n Body: "), "{message}");
    }

    #[test]
    fn bodies_are_cut_at_characters() {
        let long = "😀".repeat(1030);
        assert_eq!(body("text/plain", long.as_bytes()), "😀".repeat(1024));
        assert_eq!(body("text/plain", &long.as_bytes()[..KEPT_BYTES]), "😀".repeat(1024));
        assert_eq!(body("text/plain", &[b'x'; 1025]), "x".repeat(1024));
    }

    #[test]
    fn bodies_become_text_whatever_they_are() {
        assert_eq!(body("text/plain", b"a\0b\xffc"), "a\u{fffd}b\u{fffd}c");
        assert_eq!(body("text/html; Charset=\"ISO-8859-1\"", b"caf\xe9"), "café");
        assert_eq!(body("text/html", b"\xef\xbb\xbfx"), "x");
    }
}
