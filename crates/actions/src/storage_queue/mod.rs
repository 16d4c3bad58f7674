//! Storage queues: a message is put into a queue of an Azure storage account.
//!
//! [`envelope`] makes what will lie in the queue; this file sends it with the client of the HTTP actions, and so under
//! their guard and their limits, and says in the history how it went. The words are those that the old service's tools
//! look for: `succeeded` after account and queue, `does not exist` after the queue, `could not be found` after the
//! account.

mod envelope;

use ::http::{HeaderValue, Method, Request, StatusCode, header, response::Parts};
use bytes::Bytes;
use http_body_util::Full;
use model::{
    Outcome, Redaction,
    action::{QueueDelivery, StorageQueueMessage},
};
use percent_encoding::utf8_percent_encode;

use crate::{
    endpoints::{Endpoints, IN_PATH},
    fault::{Fault, Kind},
    http::Http,
    order::Order,
    refusal::Refusal,
};

/// One attempt.
pub(crate) async fn run(
    http: &Http,
    accounts: &Endpoints,
    order: &Order<'_>,
    message: &StorageQueueMessage,
    secrets: &Redaction,
) -> Outcome {
    let ended = match request(accounts, order, message) {
        Ok(request) => http.exchange(request).await,
        Err(fault) => Err(fault),
    };
    match ended {
        Ok((head, _)) if head.status.is_success() => told(message, true, "succeeded", &created(&head)),
        Ok((head, body)) => refused(message, &Refusal::read(&head, &body, secrets), head.status),
        Err(fault) if fault.kind == Kind::NameResolutionFailure => Outcome {
            success: false,
            message: format!(
                "StorageQueue Action - Storage account '{}' could not be found: {}",
                message.account,
                fault.redacted(secrets)
            ),
        },
        Err(fault) => told(message, false, "failed", &fault.redacted(secrets).to_string()),
    }
}

fn request(
    accounts: &Endpoints,
    order: &Order<'_>,
    message: &StorageQueueMessage,
) -> Result<Request<Full<Bytes>>, Fault> {
    let delivery = message.delivery.unwrap_or(QueueDelivery::Envelope);
    let text = envelope::text(order, message.message.as_deref().unwrap_or_default(), delivery)?;
    let endpoint = accounts.of(&message.account)?;
    let queue = utf8_percent_encode(&message.queue, IN_PATH);
    let uri = format!("{endpoint}/{queue}/messages?{}", query(message));
    let mut request = Request::new(Full::new(Bytes::from(envelope::request_body(&text))));
    *request.method_mut() = Method::POST;
    // The reason is not repeated: it may quote the token.
    *request.uri_mut() = uri.parse().map_err(|_| {
        Fault::new(Kind::UnknownError, "the SAS token is no query of a URI; allowed: sv=…&sp=…&sig=…")
    })?;
    let headers = request.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/xml"));
    let id = order.request_id.hyphenated().to_string();
    if let Ok(id) = HeaderValue::try_from(id) {
        headers.insert("x-ms-client-request-id", id);
    }
    Ok(request)
}

/// The token as a query, whether or not it was copied with its question mark.
fn query(message: &StorageQueueMessage) -> &str {
    message.sas_token.expose().trim().trim_start_matches('?')
}

fn refused(message: &StorageQueueMessage, refusal: &Refusal, status: StatusCode) -> Outcome {
    let is_missing = status == StatusCode::NOT_FOUND && refusal.code.as_deref() == Some("QueueNotFound");
    if !is_missing {
        return told(message, false, "failed", refusal.text());
    }
    let StorageQueueMessage { account, queue, .. } = message;
    Outcome {
        success: false,
        message: format!(
            "StorageQueue Action - Queue '{queue}' of storage account '{account}' does not exist: {}",
            refusal.text()
        ),
    }
}

fn created(head: &Parts) -> String {
    format!("'{}'", crate::http::message::name(head.status))
}

fn told(message: &StorageQueueMessage, success: bool, how: &str, why: &str) -> Outcome {
    let StorageQueueMessage { account, queue, .. } = message;
    let message =
        format!("StorageQueue Action - Message to storage account '{account}', queue '{queue}' {how}: {why}");
    Outcome { success, message }
}
