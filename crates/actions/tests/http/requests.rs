//! What the called side sees.

use model::action::HttpRequest;

use super::*;
use crate::server::{Server, ok};

/// The one request that a server gets from an attempt that succeeds.
async fn sent(request: impl FnOnce(String) -> HttpRequest) -> server::Request {
    let server = Server::start(|_| ok("")).await;
    let outcome = attempt(&actions(settings()), request(server.uri("/hook?a=1&b=%20"))).await;
    assert!(outcome.success, "{}", outcome.message);
    server.request()
}

#[tokio::test]
async fn every_request_says_what_it_is() {
    let request = sent(get).await;
    assert_eq!(request.line(), "GET /hook?a=1&b=%20 HTTP/1.1");
    for (name, value) in [
        ("x-ms-scheduler-jobid", "report.1"),
        ("x-ms-scheduler-jobcollectionid", "nightly-jobs"),
        ("x-ms-scheduler-expected-execution-time", "2027-03-01T12:30:00"),
        ("x-ms-execution-tag", TAG),
        ("x-ms-client-request-id", REQUEST_ID),
        ("x-punctual-hops", "1"),
        ("user-agent", concat!("Punctual/", env!("CARGO_PKG_VERSION"))),
    ] {
        assert_eq!(request.header(name), [value], "{name}");
    }
    let host = request.header("host").join(",");
    assert!(host.starts_with("127.0.0.1:"), "{host}");
    assert!(request.header("authorization").is_empty());
    assert!(request.header("content-length").is_empty());
}

#[tokio::test]
async fn the_actions_own_headers_go_out_but_not_in_place_of_ours() {
    let headers = [
        ("Content-Type", "application/json"),
        ("X-Custom", "Grüße"),
        ("User-Agent", "theirs/1"),
        ("Host", "virtual.example"),
        ("X-MS-Execution-Tag", "forged"),
        ("x-ms-client-request-id", "forged"),
        ("X-Punctual-Hops", "forged"),
        ("Connection", "keep-alive, X-Punctual-Hops"),
        ("Content-Length", "3"),
        ("Transfer-Encoding", "chunked"),
    ];
    let request = sent(|uri| with_headers(post(uri, "{\"ä\":1}"), &headers)).await;
    for (name, values) in [
        ("content-type", vec!["application/json"]),
        ("x-custom", vec!["Grüße"]),
        ("user-agent", vec!["theirs/1"]),
        ("host", vec!["virtual.example"]),
        ("x-ms-execution-tag", vec![TAG]),
        ("x-ms-client-request-id", vec![REQUEST_ID]),
        ("x-punctual-hops", vec!["1"]),
        ("connection", vec![]),
        ("content-length", vec!["8"]),
        ("transfer-encoding", vec![]),
    ] {
        assert_eq!(request.header(name), values, "{name}");
    }
    assert_eq!(request.body, "{\"ä\":1}".as_bytes());
}

#[tokio::test]
async fn what_a_job_says_about_its_connection_goes_out_unless_it_names_headers() {
    for (given, sent_values) in [
        ("close", vec!["close"]),
        ("Upgrade, Keep-Alive", vec!["Upgrade, Keep-Alive"]),
        ("X-MS-Execution-Tag", vec![]),
        ("close,x-punctual-hops", vec![]),
    ] {
        let request = sent(|uri| with_headers(get(uri), &[("Connection", given)])).await;
        assert_eq!(request.header("connection"), sent_values, "{given}");
        assert_eq!(request.header("x-punctual-hops"), ["1"], "{given}");
    }
}

#[tokio::test]
async fn the_hops_of_a_run_that_a_job_asked_for_are_counted_on() {
    let server = Server::start(|_| ok("")).await;
    let (actions, call) = (actions(settings()), Call::Http { https: false, request: get(server.uri("/")) });
    for hops in 0..=5 {
        let tag = model::Execution::tag_asked_for(TAG.parse().expect("a tag"), hops);
        let outcome = actions.run(Order { tag, ..order_of(&call) }).await;
        assert!(outcome.success, "{}", outcome.message);
    }
    let sent: Vec<_> =
        server.requests().iter().map(|request| request.header("x-punctual-hops").join(",")).collect();
    assert_eq!(sent, ["1", "2", "3", "4", "5", "6"]);
}

#[tokio::test]
async fn methods_go_out_in_capitals_and_bodies_with_any_method() {
    let request = sent(|uri| HttpRequest { method: "get".into(), ..post(uri, "body") }).await;
    assert!(request.line().starts_with("GET /hook"), "{}", request.line());
    assert_eq!((request.header("content-length"), request.body.as_slice()), (vec!["4"], &b"body"[..]));

    let request = sent(|uri| HttpRequest { method: "Purge".into(), ..get(uri) }).await;
    assert!(request.line().starts_with("Purge /hook"), "{}", request.line());

    let request = sent(|uri| HttpRequest { method: "Post".into(), ..get(uri) }).await;
    assert!(request.line().starts_with("POST /hook"), "{}", request.line());
    assert_eq!(request.header("content-length"), ["0"]);
}

#[tokio::test]
async fn basic_authentication_is_a_header_that_no_message_shows() {
    let request = sent(|uri| with_basic(get(uri), "Aladdin", "open sesame")).await;
    assert_eq!(request.header("authorization"), ["Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ=="]);

    let request = sent(|uri| {
        let headers = [("Authorization", "Bearer theirs")];
        with_basic(with_headers(get(uri), &headers), "Jürgen", "pä:ss")
    })
    .await;
    assert_eq!(request.header("authorization"), ["Basic SsO8cmdlbjpww6Q6c3M="]);

    let server = Server::start(|_| server::Reply::Reset(vec![])).await;
    let outcome = attempt(&actions(settings()), with_basic(get(server.uri("/")), "Aladdin", "sesame")).await;
    for secret in ["Aladdin", "sesame", "QWxh"] {
        assert!(!outcome.message.contains(secret), "{}", outcome.message);
    }
}

#[tokio::test]
async fn user_information_of_the_uri_becomes_basic_authentication() {
    let with_user = |uri: String| uri.replace("http://", "http://Aladdin:open%20sesame@");
    let request = sent(|uri| get(with_user(uri))).await;
    assert_eq!(request.header("authorization"), ["Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ=="]);
    assert!(!request.head.contains("Aladdin"), "{}", request.head);

    let request = sent(|uri| with_headers(get(with_user(uri)), &[("authorization", "Bearer x")])).await;
    assert_eq!(request.header("authorization"), ["Bearer x"]);

    let server = Server::start(|_| server::Reply::Close(vec![])).await;
    let outcome = attempt(&actions(settings()), get(with_user(server.uri("/")))).await;
    assert_failed(&outcome, "Http Action - Request to host '127.0.0.1' failed: ");
    assert!(!outcome.message.contains("Aladdin") && !outcome.message.contains("sesame"));
}

#[tokio::test]
async fn odd_uris_reach_their_host() {
    let server = Server::start(|_| ok("")).await;
    let actions = actions(settings());
    let base = server.uri("");
    for (uri, line) in [
        (base.clone(), "GET / HTTP/1.1"),
        (format!("{base}?a=1"), "GET /?a=1 HTTP/1.1"),
        (format!("{base}/a/../b#fragment"), "GET /a/../b HTTP/1.1"),
        (format!("{base}/a b/ü"), "GET /a%20b/%C3%BC HTTP/1.1"),
        (base.replace("http:", "HTTP:"), "GET / HTTP/1.1"),
    ] {
        let outcome = attempt(&actions, get(uri.clone())).await;
        assert!(outcome.success, "{uri}: {}", outcome.message);
        assert_eq!(server.requests().pop().unwrap().line(), line, "{uri}");
    }
}

#[tokio::test]
async fn what_cannot_be_sent_is_a_failure_that_says_why() {
    let actions = actions(settings());
    let uri = "http://127.0.0.1:9/";
    for (request, message) in [
        (get("not a uri"), "UnknownError The request cannot be made (the URI cannot be used: relative URL"),
        (get("mailto:a@b"), "scheme 'mailto' is neither http nor https"),
        (HttpRequest { method: "G ET".into(), ..get(uri) }, "the method 'G ET' cannot be sent"),
        (HttpRequest { method: "connect".into(), ..get(uri) }, "the method 'connect' cannot be sent"),
        (with_headers(get(uri), &[("a b", "c")]), "the header 'a b' cannot be sent"),
        (with_headers(get(uri), &[("key", "secret\r\nx: y")]), "the header 'key' cannot be sent"),
    ] {
        let outcome = attempt(&actions, request).await;
        assert_failed(&outcome, message);
        assert!(!outcome.message.contains("secret"));
    }
}
