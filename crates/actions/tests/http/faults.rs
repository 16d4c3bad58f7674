//! What the other side can do to us, and how it is told.

use super::*;
use crate::server::{Reply, Server};

async fn outcome_of(settings: ActionSettings, reply: impl Fn() -> Reply + Send + Sync + 'static) -> Outcome {
    let server = Server::start(move |_| reply()).await;
    let outcome = attempt(&actions(settings), post(server.uri("/"), "{}")).await;
    // Nothing that failed keeps a connection.
    server.all_closed().await;
    outcome
}

#[tokio::test]
async fn a_name_without_an_address() {
    let outcome = attempt(&actions(settings()), get("http://no-such-host.invalid/")).await;
    assert_failed(
        &outcome,
        "Http Action - Request to host 'no-such-host.invalid' failed: NameResolutionFailure The remote name could \
         not be resolved: 'no-such-host.invalid' (",
    );
}

#[tokio::test]
async fn a_port_where_nobody_listens() {
    let gone = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let outcome = attempt(&actions(settings()), get(format!("http://{gone}/"))).await;
    assert_eq!(
        outcome.message,
        format!(
            "Http Action - Request to host '127.0.0.1' failed: ConnectFailure Unable to connect to the remote server \
             ({gone}: the connection was refused)"
        )
    );
}

#[tokio::test]
async fn addresses_that_are_off_limits() {
    for host in ["169.254.169.254", "169.254.1.1", "[fd00:ec2::254]", "[fe80::1]", "[::ffff:169.254.169.254]"]
    {
        let outcome = attempt(&actions(impatient()), get(format!("http://{host}/latest/meta-data/"))).await;
        assert_failed(&outcome, "ConnectFailure Unable to connect to the remote server (calls to ");
        assert_failed(&outcome, "are not allowed");
    }
}

#[tokio::test]
async fn a_target_that_hangs() {
    let outcome = outcome_of(impatient(), || Reply::Hang(vec![])).await;
    assert_eq!(
        outcome.message,
        "Http Action - Request to host '127.0.0.1' failed: Timeout The operation has timed out \
         (no answer within 1 second)"
    );
}

#[tokio::test]
async fn a_target_that_hangs_in_the_middle() {
    for (bytes, cause) in [
        ("HTTP/1.1 200 OK\r\nA: b\r\n", "no answer within 1 second"),
        (
            "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf",
            "the answer 'OK', 4 bytes long so far, did not end within 1 second",
        ),
    ] {
        let outcome = outcome_of(impatient(), || Reply::Hang(bytes.into())).await;
        assert_failed(&outcome, &format!("Timeout The operation has timed out ({cause})"));
    }
}

#[tokio::test]
async fn headers_that_come_byte_by_byte() {
    let outcome = outcome_of(impatient(), || {
        let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n".to_vec();
        Reply::Drip(vec![], answer, Duration::from_millis(50))
    })
    .await;
    assert_failed(&outcome, "Timeout The operation has timed out (no answer within 1 second)");
}

#[tokio::test]
async fn a_connection_that_is_closed_or_reset_before_the_answer() {
    let outcome = outcome_of(settings(), || Reply::Close(vec![])).await;
    assert_failed(
        &outcome,
        "ConnectionClosed The underlying connection was closed: The connection was closed",
    );
    let outcome = outcome_of(settings(), || Reply::Reset(vec![])).await;
    assert_failed(
        &outcome,
        "ReceiveFailure The underlying connection was closed: An unexpected error occurred",
    );
    let outcome = outcome_of(settings(), || Reply::Close(b"HTTP/1.1 200 OK\r\nHalf".to_vec())).await;
    assert_failed(&outcome, "ConnectionClosed The underlying connection was closed");
}

#[tokio::test]
async fn an_answer_that_breaks_off() {
    let half = || b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf".to_vec();
    let outcome = outcome_of(settings(), move || Reply::Close(half())).await;
    assert_failed(&outcome, "ConnectionClosed");
    assert_failed(&outcome, "(the answer 'OK', 4 bytes long so far, broke off: ");
    let outcome = outcome_of(settings(), move || Reply::Reset(half())).await;
    // Whether the reset overtakes the answer is up to the network.
    assert_failed(&outcome, "ReceiveFailure The underlying connection was closed");
    let chunks =
        || b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\nnonsense\r\n".to_vec();
    let outcome = outcome_of(settings(), move || Reply::Close(chunks())).await;
    assert_failed(
        &outcome,
        "ServerProtocolViolation The server committed a protocol violation (the answer 'OK'",
    );
}

#[tokio::test]
async fn garbage() {
    for garbage in [
        "220 mail.example ESMTP\r\n",
        "\u{1}\u{2}\u{3}\u{4}\r\n\r\n",
        "HTTP/1.1 banana\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: many\r\n\r\n",
        "HTTP/1.1 200 OK\r\nno colon\r\n\r\n",
    ] {
        let outcome = outcome_of(settings(), || Reply::Close(garbage.into())).await;
        assert_failed(
            &outcome,
            "ServerProtocolViolation The server committed a protocol violation (the answer is not",
        );
    }
}

#[tokio::test]
async fn a_body_without_end_is_read_to_the_limit_only() {
    let limit = 1024 * 1024;
    let piece = [b"4000\r\n".to_vec(), vec![b'x'; 0x4000], b"\r\n".to_vec()].concat();
    let start = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n".to_vec();
    let server = Server::start(move |_| Reply::Endless(start.clone(), piece.clone())).await;
    let settings = ActionSettings { max_response_body: limit, ..settings() };
    let outcome = attempt(&actions(settings), get(server.uri("/"))).await;
    assert_failed(&outcome, "MessageLengthLimitExceeded");
    assert!(outcome.message.len() < 300, "{}", outcome.message);
    // What lies in the buffers of two sockets comes on top.
    let sent = server.all_closed().await.bytes_sent;
    assert!((limit..limit + 32 * 1024 * 1024).contains(&sent), "{sent}");
}

#[tokio::test]
async fn a_body_without_end_that_comes_slowly_is_a_timeout() {
    let server = Server::start(|_| {
        Reply::Drip(b"HTTP/1.1 200 OK\r\n\r\n".to_vec(), vec![b'x'; 1_000_000], Duration::from_millis(2))
    })
    .await;
    let outcome = attempt(&actions(impatient()), get(server.uri("/"))).await;
    assert_failed(&outcome, "Timeout The operation has timed out (the answer 'OK', ");
    assert_failed(&outcome, "did not end within 1 second)");
}

#[tokio::test]
async fn headers_without_end_are_read_to_the_limit_only() {
    let start = b"HTTP/1.1 200 OK\r\n".to_vec();
    let endless_line = Reply::Endless([start.clone(), b"A: ".to_vec()].concat(), vec![b'x'; 4096]);
    let endless_lines = Reply::Endless(start, b"A: b\r\n".repeat(100));
    for reply in [endless_line, endless_lines] {
        let reply = std::sync::Mutex::new(Some(reply));
        let server = Server::start(move |_| reply.lock().unwrap().take().unwrap()).await;
        let outcome = attempt(&actions(settings()), get(server.uri("/"))).await;
        assert_failed(
            &outcome,
            "MessageLengthLimitExceeded The message length limit was exceeded (the headers of",
        );
        let sent = server.all_closed().await.bytes_sent;
        assert!(sent < 32 * 1024 * 1024, "{sent}");
    }
}
