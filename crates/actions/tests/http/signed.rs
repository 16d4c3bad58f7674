//! Signed calls: what the called side can verify, and who is not shown a signature.

use base64::{Engine as _, prelude::BASE64_STANDARD};
use ring::hmac;

use super::*;
use crate::server::{Request, Server, ok, redirect};

const KEYS: [&[u8; 24]; 2] = [b"the new key of 24 bytes!", b"the old key of 24 bytes!"];

fn signed(request: HttpRequest) -> HttpRequest {
    let secrets = KEYS.map(|key| Secret::new(format!("whsec_{}", BASE64_STANDARD.encode(key)))).into();
    HttpRequest { authentication: Some(HttpAuthentication::Hmac { secrets }), ..request }
}

/// Whether a request has one good signature of each key, in their order.
fn is_good(request: &Request) -> bool {
    let (id, at) = (request.header("webhook-id")[0], request.header("webhook-timestamp")[0]);
    let text = [format!("{id}.{at}.").as_bytes(), &request.body].concat();
    let [signatures] = request.header("webhook-signature")[..] else { return false };
    let signatures: Vec<_> = signatures.split(' ').collect();
    signatures.len() == KEYS.len()
        && signatures.iter().zip(KEYS).all(|(signature, key)| {
            let signature = BASE64_STANDARD.decode(signature.strip_prefix("v1,").unwrap()).unwrap();
            hmac::verify(&hmac::Key::new(hmac::HMAC_SHA256, key), &text, &signature).is_ok()
        })
}

#[tokio::test]
async fn calls_are_signed_with_every_secret() {
    let server = Server::start(|_| ok("")).await;
    let actions = actions(settings());
    for request in [get(server.uri("/")), post(server.uri("/"), "{\"é\": 1}")] {
        assert!(attempt(&actions, signed(request)).await.success);
    }
    let requests = server.requests();
    assert_eq!(requests.len(), 2);
    for request in &requests {
        assert_eq!(request.header("webhook-id"), [TAG], "the same for every attempt");
        assert_eq!(request.header("webhook-timestamp"), ["1803904200"]);
        assert!(is_good(request), "{request:?}");
    }
    assert!(!is_good(&Request { body: b"another".to_vec(), ..requests[1].clone() }));
}

#[tokio::test]
async fn headers_of_the_action_do_not_pass_for_a_signature() {
    let server = Server::start(|_| ok("")).await;
    let forged = [
        ("Webhook-Id", "forged"),
        ("WEBHOOK-TIMESTAMP", "1"),
        ("webhook-signature", "v1,forged"),
        ("Authorization", "Basic b3du"),
    ];
    let request = with_headers(post(server.uri("/"), "body"), &forged);
    assert!(attempt(&actions(settings()), signed(request)).await.success);
    let request = server.request();
    assert_eq!(request.header("webhook-id"), [TAG]);
    assert!(is_good(&request), "{request:?}");
    assert_eq!(request.header("authorization"), ["Basic b3du"], "who calls is another matter");
}

#[tokio::test]
async fn redirects_are_signed_anew_on_the_same_host_and_not_at_all_on_another() {
    let other = Server::start(|_| ok("other")).await;
    let location = other.uri("/");
    let server = Server::start(move |request| match request.path() {
        "/a" => redirect("303 See Other", "/b"),
        "/b" => redirect("307 Temporary Redirect", &location),
        _ => ok(""),
    })
    .await;
    let request = with_headers(post(server.uri("/a"), "body"), &[("webhook-signature", "own")]);
    let outcome = attempt(&actions(settings()), signed(request)).await;
    assert!(outcome.success, "{outcome:?}");
    let requests = server.requests();
    assert_eq!((requests[0].body.as_slice(), requests[1].body.as_slice()), (&b"body"[..], &b""[..]));
    assert!(requests.iter().all(is_good), "{requests:?}");
    for name in ["webhook-id", "webhook-timestamp", "webhook-signature"] {
        assert!(other.request().header(name).is_empty(), "{name}");
    }
}
