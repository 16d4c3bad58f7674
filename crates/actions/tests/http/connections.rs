//! Which connections are kept.

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::UnixStream,
    sync::Notify,
    task::coop::{consume_budget, has_budget_remaining},
};

use super::*;
use crate::server::{Reply, Server, answer, ok};

/// A server that says something unasked over the first connection, when it gets a sign, and hangs up. What it answers is
/// the number of the connection.
async fn says_more(more: &'static str) -> (Server, Arc<Notify>) {
    let sign = Arc::new(Notify::new());
    let told = Arc::clone(&sign);
    let server = Server::start(move |request| {
        let body = answer("200 OK", "", &format!("over {}", request.connection));
        match request.connection {
            0 => Reply::Unasked(body, Arc::clone(&told), more.into()),
            _ => Reply::Keep(body),
        }
    });
    (server.await, sign)
}

/// Waits until the runtime has heard of all that has come over sockets so far: it hears of everything at once, and this
/// comes last.
async fn all_is_heard() {
    let (mut here, mut there) = UnixStream::pair().unwrap();
    there.write_all(b"x").await.unwrap();
    here.read_exact(&mut [0]).await.unwrap();
}

#[tokio::test]
async fn one_after_the_other_share_a_connection() {
    let server = Server::start(|_| ok("body")).await;
    let actions = actions(settings());
    for _ in 0..20 {
        assert!(attempt(&actions, post(server.uri("/"), "{}")).await.success);
    }
    assert_eq!(server.counts().connections, 1);
}

#[tokio::test]
async fn failures_that_were_answered_share_a_connection_too() {
    let server = Server::start(|_| Reply::Keep(answer("500 Oops", "", &"x".repeat(50_000)))).await;
    let actions = actions(settings());
    for _ in 0..5 {
        assert!(!attempt(&actions, get(server.uri("/"))).await.success);
    }
    assert_eq!(server.counts().connections, 1);
}

#[tokio::test]
async fn a_connection_that_the_server_closes_costs_no_attempt() {
    let server = Server::start(|_| Reply::Close(answer("200 OK", "Connection: close\r\n", "x"))).await;
    let actions = actions(settings());
    for number in 1..=5 {
        let outcome = attempt(&actions, get(server.uri("/"))).await;
        assert!(outcome.success, "{outcome:?}");
        assert_eq!(server.counts().connections, number);
    }
}

#[tokio::test]
async fn idle_connections_are_closed() {
    let server = Server::start(|_| ok("")).await;
    let idle_timeout = Duration::from_millis(100);
    let actions = actions(ActionSettings { idle_timeout, ..settings() });
    assert!(attempt(&actions, get(server.uri("/"))).await.success);
    server.all_closed().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn many_at_once_take_no_more_connections_than_there_are_of_them() {
    let server = Server::start(|_| ok("body")).await;
    let actions = std::sync::Arc::new(actions(settings()));
    let callers: Vec<_> = (0..16)
        .map(|_| {
            let (actions, uri) = (std::sync::Arc::clone(&actions), server.uri("/"));
            tokio::spawn(async move {
                for _ in 0..50 {
                    let outcome = attempt(&actions, get(uri.clone())).await;
                    assert!(outcome.success, "{outcome:?}");
                }
            })
        })
        .collect();
    for caller in callers {
        caller.await.unwrap();
    }
    assert_eq!(server.requests().len(), 800);
    // A connection may be on its way back when the next call looks for one.
    let connections = server.counts().connections;
    assert!(connections <= 16 * 4, "{connections}");
}

#[tokio::test]
async fn a_connection_that_was_closed_while_it_was_idle_is_not_used() {
    let (server, sign) = says_more("").await;
    let actions = actions(settings());
    assert!(attempt(&actions, post(server.uri("/"), "{}")).await.message.ends_with(" Body: over 0"));
    sign.notify_one();
    server.all_closed().await;
    all_is_heard().await;
    assert!(attempt(&actions, post(server.uri("/"), "{}")).await.message.ends_with(" Body: over 1"));
    assert_eq!(server.requests().len(), 2);
}

#[tokio::test]
async fn what_was_said_unasked_answers_nothing() {
    let (server, sign) = says_more("HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nforged").await;
    let actions = actions(settings());
    assert!(attempt(&actions, get(server.uri("/"))).await.message.ends_with(" Body: over 0"));
    sign.notify_one();
    server.all_closed().await;
    all_is_heard().await;
    assert!(attempt(&actions, get(server.uri("/"))).await.message.ends_with(" Body: over 1"));
    assert_eq!(server.requests().len(), 2);
}

#[tokio::test]
async fn a_connection_that_is_closed_in_the_moment_when_it_is_taken_costs_no_attempt() {
    let (server, sign) = says_more("").await;
    let actions = actions(settings());
    assert!(attempt(&actions, post(server.uri("/"), "{}")).await.success);
    sign.notify_one();
    server.all_closed().await;
    all_is_heard().await;
    // A task that has used up its turn learns nothing of its sockets before the next: the connection still looks well
    // when it is taken, and no longer when the request is to be written.
    while has_budget_remaining() {
        consume_budget().await;
    }
    let outcome = attempt(&actions, post(server.uri("/"), "{}")).await;
    assert!(outcome.message.ends_with(" Body: over 1"), "{outcome:?}");
    assert_eq!((server.requests().len(), server.counts().connections), (2, 2));
}

#[tokio::test]
async fn a_connection_that_was_idle_for_too_long_is_not_used() {
    let server = Server::start(|_| ok("")).await;
    let actions = actions(settings());
    assert!(attempt(&actions, get(server.uri("/"))).await.success);
    tokio::time::pause();
    tokio::time::advance(settings().idle_timeout).await;
    tokio::time::resume();
    assert!(attempt(&actions, get(server.uri("/"))).await.success);
    assert_eq!(server.closed_but(1).await.connections, 2);
}

#[tokio::test]
async fn no_more_are_kept_than_may_be() {
    let server = Server::start(|_| ok("")).await;
    for most in 0..3 {
        let actions = actions(ActionSettings { max_idle_per_host: most, ..settings() });
        let before = server.counts().connections;
        let call = || attempt(&actions, get(server.uri("/")));
        let outcomes = tokio::join!(call(), call(), call());
        assert!(outcomes.0.success && outcomes.1.success && outcomes.2.success);
        assert_eq!(server.closed_but(most).await.connections - before, 3);
        let outcomes = tokio::join!(call(), call(), call());
        assert!(outcomes.0.success && outcomes.1.success && outcomes.2.success);
        assert_eq!(server.closed_but(most).await.connections - before, 6 - most, "{most}");
        drop(actions);
        // Nor are any kept by those who are gone.
        server.all_closed().await;
    }
}

#[tokio::test]
async fn a_call_that_is_given_up_gives_nothing_back() {
    let hangs = || Reply::Hang(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf".to_vec());
    let server =
        Server::start(move |request| if request.path() == "/hangs" { hangs() } else { ok("") }).await;
    let actions = actions(impatient());
    assert!(attempt(&actions, get(server.uri("/"))).await.success);
    assert_failed(&attempt(&actions, get(server.uri("/hangs"))).await, "Timeout The operation has timed out");
    assert_eq!(server.all_closed().await.connections, 1);
    assert!(attempt(&actions, get(server.uri("/"))).await.success);
    assert_eq!(server.counts().connections, 2);
}

#[tokio::test]
async fn hosts_are_told_apart_by_name_and_port_in_any_case() {
    let servers = [Server::start(|_| ok("")).await, Server::start(|_| ok("")).await];
    let actions = actions(settings());
    for host in ["localhost", "LocalHost", "LOCALHOST"] {
        for server in &servers {
            let uri = format!("http://{host}:{}/", server.address.port());
            assert!(attempt(&actions, get(uri)).await.success);
        }
    }
    for server in &servers {
        assert_eq!(server.counts().connections, 1);
        let hosts: Vec<_> = server.requests().iter().map(|it| it.header("host").concat()).collect();
        let port = server.address.port();
        assert_eq!(hosts, ["localhost", "LocalHost", "LOCALHOST"].map(|host| format!("{host}:{port}")));
    }
}
