//! Signatures: how a shared access key says who sends.
//!
//! The text is that of Service Bus's own clients: the resource in small letters, what may be misread written by number,
//! signed together with the second in which the signature expires.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use ::http::HeaderValue;
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

/// Tokens for requests. Each serves many of them: what a key may do is the same for every message.
#[derive(Default)]
pub(crate) struct Tokens(Mutex<HashMap<String, Kept>>);

struct Kept {
    key: SharedAccessKey,
    until: Timestamp,
    token: RequestToken,
}

/// A token as a request carries it.
#[derive(Clone)]
pub(crate) struct RequestToken {
    /// For the header `Authorization`.
    pub(crate) header: HeaderValue,
    /// What of it no message may quote.
    pub(crate) signature: Arc<str>,
}

impl Tokens {
    /// How long a signature holds: long enough for clocks that disagree. It is used for the first half of that.
    const HOLDS: Duration = Duration::from_secs(600);
    /// How many are kept; when there are more, all are made anew.
    const MOST: usize = 1024;

    /// A token for a resource; `None` where the name of the key cannot be sent.
    pub(crate) fn get(&self, key: &SharedAccessKey, resource: &str, now: Timestamp) -> Option<RequestToken> {
        let mut tokens = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(kept) = tokens.get(resource)
            && kept.key == *key
            // Neither too old, nor made by a clock that was set back since.
            && (now + Self::HOLDS / 2..=now + Self::HOLDS).contains(&kept.until)
        {
            return Some(kept.token.clone());
        }
        let until = now + Self::HOLDS;
        let text = token(key, resource, until);
        let signature = of_token(&text).into();
        let mut header = HeaderValue::try_from(text).ok()?;
        header.set_sensitive(true);
        let token = RequestToken { header, signature };
        if tokens.len() >= Self::MOST {
            tokens.clear();
        }
        tokens.insert(resource.to_owned(), Kept { key: key.clone(), until, token: token.clone() });
        Some(token)
    }
}

/// The signature within a token, as it is written there.
fn of_token(token: &str) -> &str {
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

    #[test]
    fn a_token_serves_as_long_as_it_is_young_and_the_key_the_same() {
        let tokens = Tokens::default();
        let key = |key: &str| SharedAccessKey { name: "sender".into(), key: Secret::new(key) };
        let now: Timestamp = "2027-03-01T12:00:00Z".parse().unwrap();
        let at = |key: &SharedAccessKey, resource: &str, seconds: u64| {
            let at = now + Duration::from_secs(seconds);
            tokens.get(key, resource, at).unwrap().header.to_str().unwrap().to_owned()
        };
        let first = at(&key("a"), "r", 0);
        assert_eq!(first, token(&key("a"), "r", now + Tokens::HOLDS));
        assert_eq!(at(&key("a"), "r", 300), first);
        assert_ne!(at(&key("a"), "r", 301), first, "it is renewed before it ends");
        assert_eq!(at(&key("a"), "r", 0), first, "made anew, as the clock was set back");
        assert_ne!(at(&key("a"), "other", 0), first);
        assert_ne!(at(&key("b"), "r", 0), first, "the key was changed");
        for n in 0..3000 {
            at(&key("a"), &n.to_string(), 0);
            assert!(tokens.0.lock().unwrap().len() <= Tokens::MOST);
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
