//! What becomes of answers.

use super::*;
use crate::server::{Reply, Server, answer, ok};

async fn outcome_of(bytes: Vec<u8>) -> Outcome {
    let server = Server::start(move |_| Reply::Keep(bytes.clone())).await;
    attempt(&actions(settings()), get(server.uri("/"))).await
}

#[tokio::test]
async fn an_answer_is_told_in_the_recorded_words() {
    let headers = "Vary: Accept-Encoding\r\nCACHE-CONTROL: max-age=0, private\r\nSet-Cookie: a=1\r\nP3P: CP\r\n\
                   Set-Cookie: b=2\r\n";
    let outcome = outcome_of(answer("200 Whatever", headers, "done")).await;
    assert!(outcome.success);
    assert_eq!(
        outcome.message,
        "Http Action - Response from host '127.0.0.1': 'OK' Response Headers: Vary: Accept-Encoding\r\n\
         Cache-Control: max-age=0, private\r\nSet-Cookie: a=1, b=2\r\nP3P: CP\r\nContent-Length: 4\r\n Body: done"
    );
}

#[tokio::test]
async fn success_is_200_to_299() {
    for (status, success, name) in [
        ("200 OK", true, "'OK'"),
        ("202 Accepted", true, "'Accepted'"),
        ("299 Odd", true, "'299'"),
        ("300 Choose", false, "'MultipleChoices'"),
        ("302 Nowhere", false, "'Found'"),
        ("404 Not Found", false, "'NotFound'"),
        ("429 Too Many Requests", false, "'429'"),
        ("500 Oops", false, "'InternalServerError'"),
        ("503 Service Unavailable", false, "'ServiceUnavailable'"),
        ("999 Odd", false, "'999'"),
    ] {
        let outcome = outcome_of(answer(status, "", "why")).await;
        assert_eq!(outcome.success, success, "{status}");
        assert!(outcome.message.contains(name) && outcome.message.ends_with(" Body: why"), "{outcome:?}");
    }
}

#[tokio::test]
async fn answers_without_a_body_end() {
    for (bytes, success, name) in [
        (&b"HTTP/1.1 204 No Content\r\nA: b\r\n\r\n"[..], true, "NoContent"),
        (b"HTTP/1.1 304 Not Modified\r\nA: b\r\n\r\n", false, "NotModified"),
        (b"HTTP/1.1 200 OK\r\nA: b\r\nContent-Length: 0\r\n\r\n", true, "OK"),
        (
            b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Hints\r\n\r\nHTTP/1.1 204 \r\nA: b\r\n\r\n",
            true,
            "NoContent",
        ),
    ] {
        let outcome = outcome_of(bytes.to_vec()).await;
        assert_eq!(outcome.success, success, "{outcome:?}");
        assert!(outcome.message.contains(&format!("'{name}' Response Headers: A: b\r\n")), "{outcome:?}");
        assert!(outcome.message.ends_with(" Body: "), "{outcome:?}");
    }
    let server =
        Server::start(|_| Reply::Keep(b"HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n".to_vec())).await;
    let outcome =
        attempt(&actions(settings()), HttpRequest { method: "head".into(), ..get(server.uri("/")) }).await;
    assert!(outcome.success && outcome.message.ends_with(" Body: "), "{outcome:?}");
}

#[tokio::test]
async fn bodies_end_by_chunks_or_with_the_connection() {
    let chunked =
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nfour\r\n6;x=y\r\n chunk\r\n0\r\n\r\n";
    let outcome = outcome_of(chunked.into()).await;
    assert!(outcome.success && outcome.message.ends_with(" Body: four chunk"), "{outcome:?}");

    let server = Server::start(|_| Reply::Close(b"HTTP/1.0 200 OK\r\n\r\nuntil the end".to_vec())).await;
    let outcome = attempt(&actions(settings()), get(server.uri("/"))).await;
    assert!(outcome.success && outcome.message.ends_with(" Body: until the end"), "{outcome:?}");
}

#[tokio::test]
async fn bodies_are_cut_to_1024_characters_wherever_their_bytes_end() {
    for letter in ["x", "ü", "€", "😀"] {
        let server = Server::start(move |_| ok(&letter.repeat(3000))).await;
        let outcome = attempt(&actions(settings()), get(server.uri("/"))).await;
        assert!(outcome.success);
        assert_eq!(outcome.message.split_once(" Body: ").unwrap().1, letter.repeat(1024), "{letter}");
    }
}

#[tokio::test]
async fn a_body_may_be_as_large_as_the_limit_and_no_larger() {
    let settings = ActionSettings { max_response_body: 100_000, ..settings() };
    let server = Server::start(|request| ok(&"x".repeat(request.path()[1..].parse().unwrap()))).await;
    let actions = actions(settings);
    assert!(attempt(&actions, get(server.uri("/100000"))).await.success);
    assert_failed(
        &attempt(&actions, get(server.uri("/100001"))).await,
        "MessageLengthLimitExceeded The message length limit was exceeded \
         (the body of the answer is larger than 100000 bytes)",
    );
}
