//! Where redirects lead, and what goes along.

use super::*;
use crate::server::{Reply, Server, answer, ok, redirect};

/// What goes out with every request of these tests.
fn with_secrets(request: HttpRequest) -> HttpRequest {
    let headers = [
        ("Cookie", "secret"),
        ("X-Api-Key", "secret"),
        ("Content-Type", "text/plain"),
        ("Accept", "text/html"),
        ("Host", "virtual.example"),
    ];
    with_basic(with_headers(request, &headers), "user", "secret")
}

#[tokio::test]
async fn redirects_on_the_same_host_keep_everything() {
    let server = Server::start(|request| match request.path() {
        "/old/a" => redirect("307 Temporary Redirect", "../new/b?c=d"),
        _ => ok("arrived"),
    })
    .await;
    let outcome = attempt(&actions(settings()), with_secrets(post(server.uri("/old/a"), "body"))).await;
    assert!(outcome.success && outcome.message.ends_with(" Body: arrived"), "{outcome:?}");
    let [first, second] = server.requests().try_into().unwrap();
    assert_eq!(second.line(), "POST /new/b?c=d HTTP/1.1");
    assert_eq!(
        second.head.lines().skip(1).collect::<Vec<_>>(),
        first.head.lines().skip(1).collect::<Vec<_>>()
    );
    assert_eq!(second.body, b"body");
    assert_eq!(
        second.connection, first.connection,
        "the redirect's body is read, so its connection serves on"
    );
}

#[tokio::test]
async fn the_body_goes_along_with_307_and_308_only() {
    for (status, line, body) in [
        ("301 Moved", "GET /b HTTP/1.1", ""),
        ("302 Found", "GET /b HTTP/1.1", ""),
        ("303 See Other", "GET /b HTTP/1.1", ""),
        ("307 Temporary Redirect", "POST /b HTTP/1.1", "body"),
        ("308 Permanent Redirect", "POST /b HTTP/1.1", "body"),
    ] {
        let server = Server::start(move |request| match request.path() {
            "/a" => redirect(status, "/b"),
            _ => ok(""),
        })
        .await;
        let outcome = attempt(&actions(settings()), with_secrets(post(server.uri("/a"), "body"))).await;
        assert!(outcome.success, "{outcome:?}");
        let second = &server.requests()[1];
        assert_eq!((second.line(), second.body.as_slice()), (line, body.as_bytes()), "{status}");
        assert_eq!(second.header("content-type").is_empty(), body.is_empty(), "{status}");
    }
}

#[tokio::test]
async fn another_host_gets_no_credentials() {
    let other = Server::start(|_| ok("arrived")).await;
    // The same machine by another name.
    let location = other.uri("/there").replace("127.0.0.1", "localhost");
    let server = Server::start(move |_| redirect("308 Permanent Redirect", &location)).await;
    let outcome = attempt(&actions(settings()), with_secrets(post(server.uri("/"), "body"))).await;
    assert!(outcome.success, "{outcome:?}");
    assert!(outcome.message.contains("Response from host 'localhost'"), "the one who answered: {outcome:?}");
    assert!(server.request().head.contains("authorization: Basic "));
    let request = other.request();
    assert!(!request.head.contains("secret") && !request.head.contains("Basic"), "{}", request.head);
    assert!(request.header("host")[0].starts_with("localhost:"), "{}", request.head);
    assert_eq!(request.header("content-type"), ["text/plain"]);
    assert_eq!(request.header("accept"), ["text/html"]);
    assert_eq!(request.header("x-ms-execution-tag"), [TAG]);
    assert_eq!(request.header("x-punctual-hops"), ["1"]);
    assert_eq!(request.body, b"body");
}

#[tokio::test]
async fn another_port_is_another_host_also_for_user_information() {
    let other = Server::start(|_| ok("")).await;
    let location = other.uri("/there");
    let server = Server::start(move |_| redirect("302 Found", &location)).await;
    let uri = server.uri("/").replace("http://", "http://user:secret@");
    assert!(attempt(&actions(settings()), get(uri)).await.success);
    assert_eq!(server.request().header("authorization").len(), 1);
    assert!(other.request().header("authorization").is_empty());
}

#[tokio::test]
async fn a_loop_ends_after_five() {
    let server = Server::start(|_| redirect("302 Found", "/again")).await;
    let outcome = attempt(&actions(settings()), get(server.uri("/"))).await;
    assert_eq!(
        outcome.message,
        "Http Action - Request to host '127.0.0.1' failed: ProtocolError Too many automatic redirections were \
         attempted (more than 5, the last to host '127.0.0.1')"
    );
    assert!(!outcome.success);
    assert_eq!(server.requests().len(), 6);
    assert_eq!(server.counts().connections, 1);

    let server = Server::start(|request| match request.path().len() {
        6 => ok("arrived"),
        _ => redirect("302 Found", &format!("{}x", request.path())),
    })
    .await;
    assert!(attempt(&actions(settings()), get(server.uri("/"))).await.success, "five are followed");
}

#[tokio::test]
async fn redirects_into_the_cloud_are_refused() {
    let server = Server::start(|_| redirect("302 Found", "http://169.254.169.254/latest/meta-data/")).await;
    let outcome = attempt(&actions(settings()), get(server.uri("/"))).await;
    assert_failed(&outcome, "Request to host '169.254.169.254' failed: ConnectFailure");
}

#[tokio::test]
async fn redirects_to_other_schemes_are_refused() {
    let server = Server::start(|_| redirect("302 Found", "file:///etc/passwd")).await;
    assert_failed(
        &attempt(&actions(settings()), get(server.uri("/"))).await,
        "ProtocolError The redirection cannot be followed (its location cannot be used: scheme 'file' is neither",
    );
}

#[tokio::test]
async fn a_redirect_without_end_is_not_waited_for() {
    let server = Server::start(|request| match request.path() {
        "/" => Reply::Endless(b"HTTP/1.1 302 Found\r\nLocation: /b\r\n\r\n".to_vec(), vec![b'x'; 4096]),
        _ => ok("arrived"),
    })
    .await;
    let outcome = attempt(&actions(settings()), get(server.uri("/"))).await;
    assert!(outcome.success, "{outcome:?}");
}

#[tokio::test]
async fn all_redirects_share_one_deadline() {
    // Each is within the limit, two are not.
    let server = Server::start(|_| {
        let answer = answer("302 Found", "Location: /again\r\n", "");
        Reply::Drip(vec![], answer, Duration::from_millis(10))
    })
    .await;
    let settings = ActionSettings { timeout: Duration::from_secs(1), ..settings() };
    let outcome = attempt(&actions(settings), get(server.uri("/"))).await;
    assert_failed(&outcome, "Timeout The operation has timed out (");
}
