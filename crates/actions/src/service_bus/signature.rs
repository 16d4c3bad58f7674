//! Signatures: how a shared access key says who sends.
//!
//! The text is that of Service Bus's own clients: the resource in small letters, what may be misread written by number,
//! signed together with the second in which the signature expires.

use base64::{Engine as _, prelude::BASE64_STANDARD};
use model::{Timestamp, action::SharedAccessKey};
use percent_encoding::utf8_percent_encode;
use ring::hmac;

use crate::endpoints::IN_PATH;

/// `SharedAccessSignature sr=…&sig=…&se=…&skn=…` for a resource, until an instant.
pub(crate) fn token(key: &SharedAccessKey, resource: &str, until: Timestamp) -> String {
    let mut resource = utf8_percent_encode(resource, IN_PATH).to_string();
    // What is not ASCII is written by number.
    resource.make_ascii_lowercase();
    let expiry = until.as_second();
    let secret = hmac::Key::new(hmac::HMAC_SHA256, key.key.expose().as_bytes());
    let signature = BASE64_STANDARD.encode(hmac::sign(&secret, format!("{resource}\n{expiry}").as_bytes()));
    format!(
        "SharedAccessSignature sr={resource}&sig={}&se={expiry}&skn={}",
        utf8_percent_encode(&signature, IN_PATH),
        utf8_percent_encode(&key.name, IN_PATH)
    )
}

/// The signature within a token, as it is written there.
pub(crate) fn of_token(token: &str) -> &str {
    token.split('&').find_map(|pair| pair.strip_prefix("sig=")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use model::Secret;

    use super::*;

    /// Made with Python's `hmac` and `urllib`:
    /// `quote(b64encode(hmac.new(key, f"{quote(uri, '').lower()}\n{se}".encode(), sha256).digest()), '')`.
    #[test]
    fn tokens_are_those_of_an_independent_computation() {
        for (name, key, resource, until, expected) in VECTORS {
            let key = SharedAccessKey { name: (*name).into(), key: Secret::new(*key) };
            assert_eq!(token(&key, resource, until.parse().unwrap()), *expected);
        }
    }

    const VECTORS: &[(&str, &str, &str, &str, &str)] = &[
        (
            "RootManageSharedAccessKey",
            "a2V5",
            "https://orders.servicebus.windows.net/Nightly/messages",
            "2027-03-01T12:35:00Z",
            "SharedAccessSignature sr=https%3a%2f%2forders.servicebus.windows.net%2fnightly%2fmessages&sig=NFP30p0Jppx39wenmr7x54Hc8Dn8Wjfaim4EsogznYo%3D&se=1803904500&skn=RootManageSharedAccessKey",
        ),
        (
            "send only",
            "k/+=é",
            "sb://orders.servicebus.windows.net/a/b",
            "2026-11-16T00:00:00Z",
            "SharedAccessSignature sr=sb%3a%2f%2forders.servicebus.windows.net%2fa%2fb&sig=5zokN%2BYuen7l7SPItaHyBBb7TnVf8fYeONn%2BdgMJgSc%3D&se=1794787200&skn=send%20only",
        ),
    ];
}
