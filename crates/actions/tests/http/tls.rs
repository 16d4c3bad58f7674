//! TLS: who is trusted, and who is not.

use tokio::net::TcpListener;

use super::*;
use crate::ca::{Ca, uri};
use crate::server::{Reply, Server, ok, redirect};

#[tokio::test]
async fn names_and_addresses_of_a_trusted_certificate_are_called() {
    let ca = Ca::new();
    let server = ca.serve(&["localhost", "127.0.0.1"], |_| ok("safe")).await;
    let actions = actions(ca.trusted());
    for host in ["localhost", "127.0.0.1"] {
        for _ in 0..2 {
            let outcome =
                attempt(&actions, with_basic(post(uri(host, &server), "{}"), "user", "secret")).await;
            assert!(outcome.success, "{outcome:?}");
            assert!(outcome.message.contains(&format!("from host '{host}': 'OK'")), "{outcome:?}");
        }
    }
    assert_eq!(server.counts().connections, 2, "one for each name");
    assert_eq!(server.requests()[0].body, b"{}");
}

#[tokio::test]
async fn strangers_are_not_trusted() {
    let ca = Ca::new();
    let server = ca.serve(&["localhost"], |_| ok("")).await;
    assert_failed(
        &attempt(&actions(settings()), get(uri("localhost", &server))).await,
        "failed: TrustFailure The underlying connection was closed: Could not establish trust relationship for the \
         SSL/TLS secure channel (invalid peer certificate: UnknownIssuer",
    );
    // The right authority, but another name.
    let outcome = attempt(&actions(ca.trusted()), get(uri("127.0.0.1", &server))).await;
    assert_failed(&outcome, "TrustFailure");
    assert_failed(&outcome, "not valid for name");
    assert!(server.requests().is_empty());
    // The right authority and name, but it is over.
    let server = ca.serve_expired(&["localhost"], |_| ok("")).await;
    let outcome = attempt(&actions(ca.trusted()), get(uri("localhost", &server))).await;
    assert_failed(&outcome, "TrustFailure");
    assert_failed(&outcome, "certificate expired");
    assert!(server.requests().is_empty());
}

#[tokio::test]
async fn who_does_not_speak_tls_is_told_apart() {
    let server = Server::start(|_| ok("")).await;
    // A plain server waits for the end of a request that never comes, so this one speaks first.
    let greeter = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = greeter.local_addr().unwrap();
    tokio::spawn(async move {
        let (stream, _) = greeter.accept().await.unwrap();
        stream.writable().await.unwrap();
        stream.try_write(b"HTTP/1.1 400 Bad Request\r\n\r\n").unwrap();
        stream.readable().await.unwrap();
    });
    assert_failed(
        &attempt(&actions(settings()), get(format!("https://{address}/"))).await,
        "SecureChannelFailure The request was aborted: Could not create SSL/TLS secure channel \
         (the other side does not speak TLS)",
    );
    let settings = ActionSettings { tls_timeout: Duration::from_secs(1), ..settings() };
    assert_failed(
        &attempt(&actions(settings), get(uri("127.0.0.1", &server))).await,
        "SecureChannelFailure The request was aborted: Could not create SSL/TLS secure channel \
         (the TLS handshake did not end within 1 second)",
    );
}

#[tokio::test]
async fn there_is_no_way_from_https_to_http() {
    let plain = Server::start(|_| ok("")).await;
    let location = plain.uri("/");
    let ca = Ca::new();
    let server = ca.serve(&["127.0.0.1"], move |_| redirect("302 Found", &location)).await;
    assert_failed(
        &attempt(&actions(ca.trusted()), get(uri("127.0.0.1", &server))).await,
        "ProtocolError The redirection cannot be followed (it leads from https to plain http, host '127.0.0.1')",
    );
    assert!(plain.requests().is_empty());
}

#[tokio::test]
async fn the_way_from_http_to_https_is_open() {
    let ca = Ca::new();
    let safe = ca.serve(&["127.0.0.1"], |_| ok("safe")).await;
    let location = uri("127.0.0.1", &safe);
    let server = Server::start(move |_| redirect("301 Moved Permanently", &location)).await;
    let outcome = attempt(&actions(ca.trusted()), get(server.uri("/"))).await;
    assert!(outcome.success && outcome.message.ends_with(" Body: safe"), "{outcome:?}");
}

#[tokio::test]
async fn a_body_that_breaks_off_under_tls_is_a_failure() {
    let ca = Ca::new();
    let server = ca
        .serve(&["127.0.0.1"], |_| Reply::Close(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf".to_vec()))
        .await;
    let outcome = attempt(&actions(ca.trusted()), get(uri("127.0.0.1", &server))).await;
    assert_failed(&outcome, "ConnectionClosed");
}

fn in_the_name_of(caller: &HttpAuthentication, request: HttpRequest) -> HttpRequest {
    HttpRequest { authentication: Some(caller.clone()), ..request }
}

#[tokio::test]
async fn who_asks_for_a_certificate_gets_it() {
    let ca = Ca::new();
    let server = ca.serve_known(&["localhost"], |_| ok("known")).await;
    let actions = actions(ca.trusted());
    let (one, other) = (ca.caller("one"), ca.caller("other"));
    for caller in [&one, &other, &one, &other] {
        let outcome = attempt(&actions, in_the_name_of(caller, get(uri("localhost", &server)))).await;
        assert!(outcome.success, "{outcome:?}");
        assert!(outcome.message.contains("Body: known"), "{outcome:?}");
    }
    assert_eq!(server.counts().connections, 2, "callers do not share connections, and each keeps its own");
    let shown = |caller: &HttpAuthentication| match caller {
        HttpAuthentication::ClientCertificate { pfx, password, .. } => {
            Some(model::certificate::open(pfx, password).unwrap().chain.swap_remove(0))
        }
        _ => None,
    };
    let seen: Vec<_> = server.requests().into_iter().map(|request| request.certificate).collect();
    assert_eq!(seen, [&one, &other, &one, &other].map(shown));

    let outcome = attempt(&actions, get(uri("localhost", &server))).await;
    assert!(!outcome.success, "without a certificate there is no way in: {outcome:?}");
    let stranger = Ca::new().caller("stranger");
    let outcome = attempt(&actions, in_the_name_of(&stranger, get(uri("localhost", &server)))).await;
    assert!(!outcome.success, "{outcome:?}");
    assert_eq!(server.requests().len(), 4);
}

#[tokio::test]
async fn a_certificate_is_not_shown_to_another_host() {
    let ca = Ca::new();
    let known = ca.serve_known(&["127.0.0.1"], |_| ok("")).await;
    let location = uri("127.0.0.1", &known);
    let server = ca.serve_known(&["localhost"], move |_| redirect("307 Temporary Redirect", &location)).await;
    let caller = ca.caller("caller");
    let outcome =
        attempt(&actions(ca.trusted()), in_the_name_of(&caller, get(uri("localhost", &server)))).await;
    assert!(!outcome.success, "{outcome:?}");
    assert!(known.requests().is_empty(), "it would have let us in with the certificate");
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test]
async fn the_history_warns_before_a_certificate_expires() {
    let ca = Ca::new();
    let server = ca.serve_known(&["localhost"], |_| ok("known")).await;
    // The attempt is of 1 March.
    let caller = ca.caller("caller");
    let outcome =
        attempt(&actions(ca.trusted()), in_the_name_of(&caller, get(uri("localhost", &server)))).await;
    assert!(outcome.success, "{outcome:?}");
    let warning = " Warning: the client certificate 'CN=caller' expires on 2027-03-15T00:00:00Z.";
    assert!(outcome.message.ends_with(warning), "{outcome:?}");
}
