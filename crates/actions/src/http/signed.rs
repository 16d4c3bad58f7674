//! Signed calls: a signature of what is sent, as Standard Webhooks has it.
//!
//! Three headers say which message this is, when it was sent, and what proves both and the body. Every secret signs, so
//! that the called side can change from one to another at its leisure.

use ::http::{HeaderMap, HeaderName, HeaderValue};
use base64::{Engine as _, prelude::BASE64_STANDARD};
use model::{Secret, Timestamp, signing};
use ring::hmac;

use crate::fault::{Fault, Kind};

static ID: HeaderName = HeaderName::from_static("webhook-id");
static TIMESTAMP: HeaderName = HeaderName::from_static("webhook-timestamp");
static SIGNATURE: HeaderName = HeaderName::from_static("webhook-signature");

/// Signs a request. Headers of these names that the action has are replaced.
pub(crate) fn sign(
    headers: &mut HeaderMap,
    secrets: &[Secret],
    id: &str,
    at: Timestamp,
    body: &[u8],
) -> Result<(), Fault> {
    let unusable = |cause: String| Fault::new(Kind::UnknownError, cause);
    let seconds = at.as_second().to_string();
    let mut signatures = Vec::with_capacity(secrets.len());
    for secret in secrets {
        let key = signing::key(secret).map_err(|fault| {
            unusable(format!("it cannot be signed: {fault}; allowed: {}", signing::ALLOWED))
        })?;
        let mut context = hmac::Context::with_key(&hmac::Key::new(hmac::HMAC_SHA256, &key));
        for part in [id.as_bytes(), b".", seconds.as_bytes(), b".", body] {
            context.update(part);
        }
        signatures.push(format!("v1,{}", BASE64_STANDARD.encode(context.sign())));
    }
    for (name, text) in [(&ID, id), (&TIMESTAMP, &seconds), (&SIGNATURE, &signatures.join(" "))] {
        let value =
            HeaderValue::from_str(text).map_err(|_| unusable(format!("the header {name} cannot be sent")))?;
        headers.insert(name, value);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn signed(secrets: &[&str]) -> Result<HeaderMap, Fault> {
        let secrets: Vec<_> = secrets.iter().copied().map(Secret::new).collect();
        let at = Timestamp::from_second(1_614_265_330).unwrap();
        let mut headers = HeaderMap::new();
        headers.append(&SIGNATURE, HeaderValue::from_static("forged"));
        sign(&mut headers, &secrets, "msg_p5jXN8AQM9LWM0D4loKWxJek", at, br#"{"test": 2432232314}"#)?;
        Ok(headers)
    }

    /// Made with Python's `hmac`: `b64encode(hmac.new(key, f"{id}.{at}.".encode() + body, "sha256").digest())`. The first is
    /// also the one that the libraries of Standard Webhooks are tested with.
    #[test]
    fn signatures_are_those_of_an_independent_computation() {
        let headers =
            signed(&["whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYX"])
                .unwrap();
        assert_eq!(headers[&ID], "msg_p5jXN8AQM9LWM0D4loKWxJek");
        assert_eq!(headers[&TIMESTAMP], "1614265330");
        let signatures: Vec<_> = headers.get_all(&SIGNATURE).iter().collect();
        assert_eq!(
            signatures,
            [
                "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE= v1,/485aUtxlie+TIScVpHggMfqOB4so2KWb7+Gf727B44="
            ]
        );
    }

    #[test]
    fn a_secret_that_cannot_be_used_is_not_shown() {
        let fault = signed(&["whsec_AAAA"]).unwrap_err().to_string();
        assert!(fault.contains("it cannot be signed: a secret of 3 bytes; allowed: whsec_"), "{fault}");
        assert!(!fault.contains("AAAA"), "{fault}");
    }
}
