//! Secrets of a call: what must not come back into the history when a target repeats what it was sent.
//!
//! Every part of a call that may be one is taken apart here field by field, so that a new one does not compile until it is known.

use model::{
    Redaction,
    action::{
        Call, HttpAuthentication, HttpRequest, ServiceBusMessage, SharedAccessKey, StorageQueueMessage,
    },
};
use percent_encoding::percent_decode_str;

use crate::http::uri;

/// Headers that say who calls.
const CREDENTIALS: [&str; 3] = ["authorization", "proxy-authorization", "cookie"];

/// The last words of names of headers that hold a secret, as in `x-api-key`.
const WORDS: [&str; 7] = ["key", "apikey", "token", "secret", "password", "auth", "credential"];

/// A header whose name ends like one of a secret, and that proves nothing.
const NO_SECRET: &str = "idempotency-key";

/// The secrets of a call.
pub(crate) fn of(call: &Call) -> Redaction {
    match call {
        Call::Http { https: _, request } => of_request(request),
        Call::StorageQueue(message) => of_queue(message),
        Call::ServiceBusQueue(message) | Call::ServiceBusTopic(message) => of_bus(message),
    }
}

fn of_request(request: &HttpRequest) -> Redaction {
    let HttpRequest { uri, method: _, headers, body: _, authentication } = request;
    let mut redaction = Redaction::default();
    if let Some((user, password)) = uri::read(uri).ok().and_then(|destination| destination.credentials) {
        redaction.add_login(&user, &password);
    }
    add_headers(&mut redaction, headers.as_deref().unwrap_or_default());
    match authentication {
        None => {}
        Some(HttpAuthentication::Basic { username, password }) => {
            redaction.add_login(username, password.expose());
        }
        Some(HttpAuthentication::ClientCertificate {
            pfx,
            password,
            thumbprint: _,
            expiration: _,
            subject: _,
        }) => {
            redaction.add(pfx.expose());
            redaction.add(password.expose());
        }
        Some(HttpAuthentication::ActiveDirectoryOAuth { tenant: _, audience: _, client_id, secret }) => {
            redaction.add_login(client_id, secret.expose());
        }
        Some(HttpAuthentication::Hmac { secrets }) => {
            for secret in secrets {
                redaction.add(secret.expose());
                // The key alone.
                redaction.add(secret.expose().split_once('_').map_or("", |(_, key)| key));
            }
        }
    }
    redaction
}

fn of_queue(message: &StorageQueueMessage) -> Redaction {
    let StorageQueueMessage { account: _, queue: _, sas_token, message: _, delivery: _ } = message;
    let query = sas_token.expose().trim().trim_start_matches('?');
    let signature = query.split('&').find_map(|pair| pair.strip_prefix("sig=")).unwrap_or_default();
    let mut redaction = Redaction::default();
    redaction.add(query);
    redaction.add(signature);
    redaction.add(&percent_decode_str(signature).decode_utf8_lossy());
    redaction.add_signatures();
    redaction
}

fn of_bus(message: &ServiceBusMessage) -> Redaction {
    let ServiceBusMessage {
        namespace: _,
        entity: _,
        transport: _,
        authentication,
        message: _,
        brokered_properties: _,
        custom_properties,
    } = message;
    let mut redaction = Redaction::default();
    if let Some(SharedAccessKey { name, key }) = authentication {
        redaction.add_login(name, key.expose());
    }
    add_headers(&mut redaction, custom_properties.as_deref().unwrap_or_default());
    redaction.add_signatures();
    redaction
}

fn add_headers(redaction: &mut Redaction, headers: &[(String, String)]) {
    for (name, value) in headers {
        if is_secret(name) {
            redaction.add_header(value);
        }
    }
}

/// Whether a header that the action gives probably holds a secret.
fn is_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let last = name.rsplit(['-', '_']).next().unwrap_or_default();
    CREDENTIALS.contains(&name.as_str()) || (WORDS.contains(&last) && name != NO_SECRET)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_of_secrets_are_known_by_their_names() {
        for name in
            ["Authorization", "Cookie", "x-api-key", "Ocp-Apim-Subscription-Key", "API_TOKEN", "apikey"]
        {
            assert!(is_secret(name), "{name}");
        }
        for name in ["Accept", "Idempotency-Key", "x-keyboard", "content-type", "keys"] {
            assert!(!is_secret(name), "{name}");
        }
    }
}
