//! Storage queues: what is sent to the queue's endpoint, and what the history says of its answers.

use actions::Endpoints;
use base64::{Engine as _, prelude::BASE64_STANDARD};
use model::action::{QueueDelivery, StorageQueueMessage};

use super::*;
use crate::server::{Reply, Request, Server, answer};

const SIGNATURE: &str = "s%2Fecret%3D";

fn message(token: &str) -> StorageQueueMessage {
    StorageQueueMessage {
        account: "Orders".into(),
        queue: "night ly".into(),
        sas_token: Secret::new(token),
        message: Some("<é>".into()),
        delivery: None,
    }
}

fn token() -> String {
    format!("?sv=2019-02-02&sp=a&sig={SIGNATURE}")
}

/// Settings under which the account is at a server.
fn pointing_at(server: &Server) -> ActionSettings {
    let named = [("orders".to_owned(), server.uri("/base/"))].into();
    let storage_accounts = Endpoints { named, ..ActionSettings::default().storage_accounts };
    ActionSettings { storage_accounts, ..settings() }
}

async fn put(settings: ActionSettings, message: StorageQueueMessage) -> Outcome {
    order(&actions(settings), &Call::StorageQueue(message)).await
}

async fn refused(status: &str, headers: &str, body: &'static str) -> Outcome {
    let (status, headers) = (status.to_owned(), headers.to_owned());
    let server = Server::start(move |_| Reply::Keep(answer(&status, &headers, body))).await;
    let outcome = put(pointing_at(&server), message(&token())).await;
    assert!(!outcome.success, "{}", outcome.message);
    outcome
}

#[tokio::test]
async fn the_envelope_goes_to_the_queue() {
    let server = Server::start(|_| Reply::Keep(answer("201 Created", "", "<QueueMessagesList/>"))).await;
    for token in [token(), token().trim_start_matches('?').to_owned()] {
        let outcome = put(pointing_at(&server), message(&token)).await;
        assert_eq!(
            outcome.message,
            "StorageQueue Action - Message to storage account 'Orders', queue 'night ly' succeeded: 'Created'"
        );
        assert!(outcome.success);
    }
    for request in server.requests() {
        let line = format!("POST /base/night%20ly/messages?sv=2019-02-02&sp=a&sig={SIGNATURE} HTTP/1.1");
        assert_eq!(request.line(), line);
        assert_eq!(request.header("content-type"), ["application/xml"]);
        assert_eq!(request.header("x-ms-client-request-id"), [REQUEST_ID]);
        assert_eq!(request.header("x-punctual-hops"), ["1"]);
        let envelope = String::from_utf8(BASE64_STANDARD.decode(in_queue(&request)).unwrap()).unwrap();
        for part in [
            "encoding=\"utf-16\"".to_owned(),
            format!("<ExecutionTag>{TAG}</ExecutionTag>"),
            format!("<ClientRequestId>{REQUEST_ID}</ClientRequestId>"),
            "<ExpectedExecutionTime>2027-03-01T12:30:00</ExpectedExecutionTime>".to_owned(),
            "<SchedulerJobId>report.1</SchedulerJobId>".to_owned(),
            "<SchedulerJobcollectionId>nightly-jobs</SchedulerJobcollectionId>".to_owned(),
            "<Region>North Europe</Region>".to_owned(),
            "<Message>&lt;é&gt;</Message>".to_owned(),
        ] {
            assert!(envelope.contains(&part), "{envelope} lacks {part}");
        }
    }
}

#[tokio::test]
async fn without_the_envelope_the_message_lies_in_the_queue_as_it_is() {
    let server = Server::start(|_| Reply::Keep(answer("201 Created", "", ""))).await;
    for delivery in [QueueDelivery::Raw, QueueDelivery::Base64] {
        let message = StorageQueueMessage { delivery: Some(delivery), ..message(&token()) };
        assert!(put(pointing_at(&server), message).await.success);
    }
    let texts: Vec<_> = server.requests().iter().map(in_queue).collect();
    assert_eq!(texts, ["&lt;é&gt;", "PMOpPg=="]);
}

#[tokio::test]
async fn the_services_errors_are_told_in_the_words_that_tools_look_for() {
    let missing = "<Error><Code>QueueNotFound</Code><Message>The specified queue does not exist.\nRequestId:1</Message></Error>";
    assert_eq!(
        refused("404 Not Found", "x-ms-error-code: QueueNotFound\r\n", missing).await.message,
        "StorageQueue Action - Queue 'night ly' of storage account 'Orders' does not exist: 'NotFound' \
         QueueNotFound The specified queue does not exist. RequestId:1"
    );
    let forbidden = "<Error><Code>AuthenticationFailed</Code><Message>Server failed to authenticate the request.</Message></Error>";
    assert_eq!(
        refused("403 Forbidden", "", forbidden).await.message,
        "StorageQueue Action - Message to storage account 'Orders', queue 'night ly' failed: 'Forbidden' \
         AuthenticationFailed Server failed to authenticate the request."
    );
    assert_failed(&refused("413 Too Large", "", "").await, "failed: 'RequestEntityTooLarge'");
    assert_failed(
        &refused("307 Moved", "Location: http://127.0.0.1:1/\r\n", "").await,
        "'TemporaryRedirect'",
    );
}

#[tokio::test]
async fn the_token_stays_out_of_messages() {
    for body in ["you sent sig=s%2Fecret%3D", "you sent s/ecret=", "sv=2019-02-02&sp=a&sig=s%2Fecret%3D"] {
        let outcome = refused("400 Bad Request", "", body).await;
        assert_failed(&outcome, "(hidden)");
        assert!(!outcome.message.contains("ecret"), "{}", outcome.message);
    }
    let server = Server::start(|_| Reply::Keep(answer("201 Created", "", ""))).await;
    let outcome = put(pointing_at(&server), message("sv=1 s\u{7f}ecret")).await;
    assert_failed(
        &outcome,
        "failed: UnknownError The request cannot be made (the SAS token is no query of a URI",
    );
    assert!(!outcome.message.contains("ecret"), "{}", outcome.message);
    assert!(server.requests().is_empty());
}

#[tokio::test]
async fn attempts_without_an_answer_end_too() {
    let hanging = Server::start(|_| Reply::Hang(Vec::new())).await;
    let settings = ActionSettings { timeout: Duration::from_secs(1), ..pointing_at(&hanging) };
    let outcome = put(settings, message(&token())).await;
    assert_failed(
        &outcome,
        "queue 'night ly' failed: Timeout The operation has timed out (no answer within 1 second)",
    );

    let elsewhere = |endpoint: &str| {
        let named = [("orders".to_owned(), endpoint.to_owned())].into();
        let storage_accounts = Endpoints { named, ..ActionSettings::default().storage_accounts };
        ActionSettings { storage_accounts, ..super::settings() }
    };
    let outcome = put(elsewhere("http://name.invalid"), message(&token())).await;
    assert_failed(
        &outcome,
        "StorageQueue Action - Storage account 'Orders' could not be found: NameResolutionFailure",
    );
    let outcome = put(elsewhere("http://169.254.169.254"), message(&token())).await;
    assert_failed(&outcome, "calls to 169.254.169.254 are not allowed");

    let nobody = StorageQueueMessage { account: "a/b".into(), ..message(&token()) };
    assert_failed(&put(super::settings(), nobody).await, "'a/b' cannot be part of a host name");
    let long = StorageQueueMessage { message: Some("x".repeat(49_000)), ..message(&token()) };
    assert_failed(&put(super::settings(), long).await, "which takes at most 65536");
}

/// The text that lies in the queue after a request, as XML has it.
fn in_queue(request: &Request) -> String {
    let body = String::from_utf8(request.body.clone()).unwrap();
    let inner = body.strip_prefix("<QueueMessage><MessageText>").expect("the start of a message");
    inner.strip_suffix("</MessageText></QueueMessage>").expect("the end of a message").to_owned()
}
