//! The client-credentials grant: what an authority is asked, and what its answer says.
//!
//! Form and answer are those of RFC 6749, sections 4.4 and 5. Nothing secret is quoted, whatever the authority repeats.

use std::time::Duration;

use ::http::{HeaderValue, Method, Request, header, response::Parts};
use bytes::Bytes;
use http_body_util::Full;
use model::Redaction;
use serde_json::Value;
use url::form_urlencoded;

use super::{Applicant, Question};
use crate::{http::message, refusal::hide};

/// How long a token holds whose answer does not say.
const UNSAID_LIFETIME: Duration = Duration::from_secs(5 * 60);

/// The longest that a token is believed to hold.
const LONGEST_LIFETIME: Duration = Duration::from_secs(24 * 60 * 60);

/// The longest that an authority may put us off.
const LONGEST_PAUSE: u64 = 60;

/// Characters of an authority's words that are kept.
const KEPT_WORDS: usize = 300;

/// A token, granted.
#[derive(Debug)]
pub(super) struct Grant {
    /// The whole header: `Bearer …`.
    pub(super) bearer: HeaderValue,
    /// How long it holds from now on.
    pub(super) lifetime: Duration,
}

/// A token, not granted.
#[derive(Debug)]
pub(super) struct Refusal {
    /// What the authority said, in one line.
    pub(super) words: String,
    /// For how long it does not want to be asked again.
    pub(super) pause: Duration,
}

/// The question.
pub(super) fn request(question: &Question<'_>) -> Request<Full<Bytes>> {
    let Question { who, endpoint, wanted: (field, wanted) } = question;
    let form = form_urlencoded::Serializer::new(String::new())
        .append_pair("grant_type", "client_credentials")
        .append_pair("client_id", who.client_id)
        .append_pair("client_secret", who.secret.expose())
        .append_pair(field, wanted)
        .finish();
    let mut request = Request::new(Full::new(Bytes::from(form)));
    *request.method_mut() = Method::POST;
    *request.uri_mut() = endpoint.clone();
    let headers = request.headers_mut();
    let form = HeaderValue::from_static("application/x-www-form-urlencoded");
    headers.insert(header::CONTENT_TYPE, form);
    headers.insert(header::ACCEPT, HeaderValue::from_static("application/json"));
    request
}

/// The answer.
pub(super) fn read(head: &Parts, body: &[u8], who: Applicant<'_>) -> Result<Grant, Refusal> {
    let document: Value = serde_json::from_slice(body).unwrap_or_default();
    let refused = |words: &str| Refusal { words: shown(words, who), pause: pause(head) };
    let status = message::name(head.status);
    let text = |name: &str| document.get(name).and_then(Value::as_str);
    if let Some(error) = text("error") {
        let described = text("error_description").and_then(|text| text.lines().next()).unwrap_or_default();
        return Err(refused(format!("'{status}' {error} {described}").trim_end()));
    }
    if !head.status.is_success() {
        return Err(refused(&format!("it answered '{status}'")));
    }
    let unusable = |why: &str| refused(&format!("its answer '{status}' cannot be used: {why}"));
    if !document.is_object() {
        return Err(unusable("it is no JSON object"));
    }
    // Of another type a token is not sent as it is.
    if let Some(kind) = text("token_type").filter(|kind| !kind.eq_ignore_ascii_case("Bearer")) {
        return Err(unusable(&format!("the token is of the type '{kind}', not 'Bearer'")));
    }
    let token = text("access_token").filter(|token| !token.is_empty());
    let token = token.ok_or_else(|| unusable("it has no access_token"))?;
    // Only what RFC 6750 allows: a token with a line break in it would be another header.
    if !token.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(unusable("its access_token cannot be sent in a header"));
    }
    let mut bearer = HeaderValue::try_from(format!("Bearer {token}"))
        .map_err(|_| unusable("its access_token cannot be sent in a header"))?;
    bearer.set_sensitive(true);
    Ok(Grant { bearer, lifetime: lifetime(&document) })
}

/// Seconds; the v1 endpoint of Azure writes them as a text.
fn lifetime(document: &Value) -> Duration {
    let seconds = document.get("expires_in").and_then(|value| match value {
        Value::String(text) => text.trim().parse::<f64>().ok(),
        other => other.as_f64(),
    });
    let seconds = seconds.filter(|seconds| seconds.is_finite());
    seconds.map_or(UNSAID_LIFETIME, |seconds| {
        Duration::from_secs_f64(seconds.clamp(0.0, LONGEST_LIFETIME.as_secs_f64()))
    })
}

fn pause(head: &Parts) -> Duration {
    let seconds = head.headers.get(header::RETRY_AFTER).and_then(|value| value.to_str().ok()?.parse().ok());
    Duration::from_secs(seconds.unwrap_or(0).min(LONGEST_PAUSE))
}

/// Words of the authority, which may quote the question.
fn shown(words: &str, who: Applicant<'_>) -> String {
    let mut secrets = Redaction::default();
    secrets.add_login(who.client_id, who.secret.expose());
    hide(words, &secrets).chars().take(KEPT_WORDS).collect()
}

#[cfg(test)]
mod tests {
    use ::http::Response;
    use http_body_util::BodyExt as _;
    use model::Secret;

    use super::*;

    fn answer(status: u16, headers: &[(&str, &str)], body: &str) -> Result<(String, u64), (String, u64)> {
        let mut response = Response::builder().status(status);
        for (name, value) in headers {
            response = response.header(*name, *value);
        }
        let (head, ()) = response.body(()).unwrap().into_parts();
        let secret = Secret::new("s3cret&+ é");
        let who = Applicant { tenant: "t", audience: "a", client_id: "c", secret: &secret };
        read(&head, body.as_bytes(), who)
            .map(|grant| (grant.bearer.to_str().unwrap().to_owned(), grant.lifetime.as_secs()))
            .map_err(|refusal| (refusal.words, refusal.pause.as_secs()))
    }

    #[tokio::test]
    async fn the_question_is_a_form() {
        let secret = Secret::new("s3cret&+ é");
        let who = Applicant { tenant: "t", audience: "a", client_id: "c&d", secret: &secret };
        let mut bodies = Vec::new();
        for (field, wanted) in [("resource", "https://api.example/"), ("scope", "api://x/.default")] {
            let endpoint = "https://login.example/t/oauth2/token".parse().unwrap();
            let request = request(&Question { who, endpoint, wanted: (field, wanted.to_owned()) });
            assert_eq!(request.method(), "POST");
            assert_eq!(request.headers()[header::CONTENT_TYPE], "application/x-www-form-urlencoded");
            bodies.push(request.into_body().collect().await.unwrap().to_bytes());
        }
        let start = "grant_type=client_credentials&client_id=c%26d&client_secret=s3cret%26%2B+%C3%A9";
        assert_eq!(bodies[0], format!("{start}&resource=https%3A%2F%2Fapi.example%2F"));
        assert_eq!(bodies[1], format!("{start}&scope=api%3A%2F%2Fx%2F.default"));
    }

    #[test]
    fn tokens_and_how_long_they_hold() {
        for (more, seconds) in [
            (r#","expires_in":"3599""#, 3599),
            (r#","expires_in":3599"#, 3599),
            (r#","expires_in":59.9"#, 59),
            ("", 300),
            (r#","expires_in":null"#, 300),
            (r#","expires_in":"soon""#, 300),
            (r#","expires_in":-5"#, 0),
            (r#","expires_in":1e300"#, 86_400),
            (r#","expires_in":"inf""#, 300),
            (r#","token_type":"bearer","expires_in":1"#, 1),
        ] {
            let body = format!(r#"{{"access_token":"abc"{more}}}"#);
            assert_eq!(answer(200, &[], &body), Ok(("Bearer abc".to_owned(), seconds)), "{body}");
        }
    }

    #[test]
    fn refusals_are_told_without_secrets() {
        let long = format!(r#"{{"error":"e","error_description":"{}"}}"#, "x".repeat(2000));
        assert_eq!(answer(400, &[], &long).unwrap_err().0.chars().count(), KEPT_WORDS);
        for (status, headers, body, words, pause) in [
            (
                401,
                &[][..],
                r#"{"error":"invalid_client","error_description":"AADSTS7000215: no s3cret&+ é here.\r\nTrace ID: 1"}"#,
                "'Unauthorized' invalid_client AADSTS7000215: no (hidden) here.",
                0,
            ),
            (
                400,
                &[],
                r#"{"error":"client_secret=s3cret%26%2B+%C3%A9"}"#,
                "'BadRequest' client_secret=(hidden)",
                0,
            ),
            (503, &[("retry-after", "7")], "<html>s3cret&+ é</html>", "it answered 'ServiceUnavailable'", 7),
            (429, &[("retry-after", "86400")], "", "it answered '429'", 60),
            (302, &[("location", "https://evil.example/")], "", "it answered 'Found'", 0),
            (200, &[], "<html>", "its answer 'OK' cannot be used: it is no JSON object", 0),
            (200, &[], "{}", "its answer 'OK' cannot be used: it has no access_token", 0),
            (200, &[], r#"{"access_token":""}"#, "its answer 'OK' cannot be used: it has no access_token", 0),
            (
                200,
                &[],
                r#"{"access_token":"a\r\nx: y"}"#,
                "its answer 'OK' cannot be used: its access_token cannot be sent in a header",
                0,
            ),
            (
                200,
                &[],
                r#"{"access_token":"a","token_type":"pop"}"#,
                "its answer 'OK' cannot be used: the token is of the type 'pop', not 'Bearer'",
                0,
            ),
        ] {
            assert_eq!(answer(status, headers, body), Err((words.to_owned(), pause)), "{body}");
        }
    }
}
