//! Which connections are kept.

use super::*;
use crate::server::{Reply, Server, answer, ok};

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
