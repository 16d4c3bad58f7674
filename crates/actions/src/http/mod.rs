//! HTTP: one attempt from the request to the sentence in the history.
//!
//! The walk of an attempt is [`Http::run`]. What is sent and where to go on is decided by pure functions in
//! [`request`] and [`redirect`]; this file does what they say, within one deadline.

mod answer;
mod clients;
pub(crate) mod connector;
pub(crate) mod dialer;
pub(crate) mod message;
mod redirect;
mod request;
mod stream;
pub(crate) mod uri;

use std::{pin::pin, sync::Arc};

use ::http::{HeaderValue, Request, StatusCode, Uri, header, response::Parts};
use bytes::Bytes;
use http_body_util::Full;
use hyper::{Response, body::Incoming};
use hyper_util::client::legacy::connect::capture_connection;
use model::{
    Outcome, Timestamp,
    action::{HttpAuthentication, HttpRequest},
};

use self::{
    clients::{Clients, Pool},
    dialer::Dialer,
    redirect::Hop,
};
use crate::{
    fault::{Fault, Kind, seconds},
    order::Order,
    settings::{ActionSettings, SettingsError},
};

/// Bytes of a redirect's body that are read so that the connection can be used again; it is closed over more.
const DRAINED: u64 = 64 * 1024;

/// Makes HTTP calls, and keeps their connections.
pub(crate) struct Http {
    clients: Clients,
    user_agent: HeaderValue,
    settings: ActionSettings,
}

/// Days before its certificate expires from which on a job's history says so.
const WARNED_BEFORE: i64 = 30;

/// What the history says of a certificate that does not last much longer.
fn expiry_warning(request: &HttpRequest, at: Timestamp) -> Option<String> {
    let Some(HttpAuthentication::ClientCertificate { expiration, subject, .. }) = &request.authentication
    else {
        return None;
    };
    let left = expiration.as_second() - at.as_second();
    let verb = if left < 0 { "expired" } else { "expires" };
    (left < WARNED_BEFORE * 24 * 60 * 60)
        .then(|| format!(" Warning: the client certificate '{subject}' {verb} on {expiration}."))
}

/// How far an attempt came: what there is to say when its time is up.
struct Progress {
    uri: Uri,
    status: Option<StatusCode>,
    body: u64,
}

impl Progress {
    fn new(uri: Uri) -> Self {
        Self { uri, status: None, body: 0 }
    }

    /// What had come.
    fn so_far(&self) -> String {
        match self.status {
            None => "no answer".to_owned(),
            Some(status) => {
                format!("the answer '{}', {} bytes long so far,", message::name(status), self.body)
            }
        }
    }
}

impl Http {
    pub(crate) fn new(settings: ActionSettings, dialer: &Arc<Dialer>) -> Result<Self, SettingsError> {
        let user_agent = HeaderValue::from_str(&settings.user_agent)
            .map_err(|_| SettingsError::UserAgent(settings.user_agent.clone()))?;
        Ok(Self { clients: Clients::new(settings.clone(), Arc::clone(dialer))?, user_agent, settings })
    }

    /// One attempt.
    pub(crate) async fn run(&self, order: &Order<'_>, request: &HttpRequest) -> Outcome {
        let hop = match Hop::first(request) {
            Ok(hop) => hop,
            Err(fault) => return message::failed("", &fault),
        };
        let mut progress = Progress::new(hop.uri.clone());
        let walk = self.walk(order, request, hop, &mut progress);
        let ended = match tokio::time::timeout(self.settings.timeout, walk).await {
            Ok(ended) => ended,
            Err(_) => Err(self.too_late(&progress)),
        };
        let mut outcome = ended.unwrap_or_else(|fault| message::failed(uri::host(&progress.uri), &fault));
        if let Some(warning) = expiry_warning(request, order.expected_at) {
            outcome.message.push_str(&warning);
        }
        outcome
    }

    /// One request of another action and its answer, with the beginning of its body: the same client, guard and
    /// limits. Redirects are answers here.
    pub(crate) async fn exchange(
        &self,
        mut request: Request<Full<Bytes>>,
    ) -> Result<(Parts, Vec<u8>), Fault> {
        request.headers_mut().insert(header::USER_AGENT, self.user_agent.clone());
        let mut progress = Progress::new(request.uri().clone());
        let exchange = async {
            let answer = self.ask(self.clients.nobody(), request).await?;
            progress.status = Some(answer.status());
            let (head, body) = answer.into_parts();
            let body = answer::read(body, self.settings.max_response_body, &mut progress).await?;
            Ok((head, body))
        };
        match tokio::time::timeout(self.settings.timeout, exchange).await {
            Ok(ended) => ended,
            Err(_) => Err(self.too_late(&progress)),
        }
    }

    async fn walk(
        &self,
        order: &Order<'_>,
        request: &HttpRequest,
        mut hop: Hop,
        progress: &mut Progress,
    ) -> Result<Outcome, Fault> {
        let mut redirects = 0;
        loop {
            let answer = self.send(order, request, &hop).await?;
            progress.status = Some(answer.status());
            let Some(next) = hop.follow(answer.status(), answer.headers())? else {
                return self.read(answer, progress).await;
            };
            if redirects == self.settings.max_redirects {
                let cause = format!("more than {redirects}, the last to host '{}'", uri::host(&next.uri));
                return Err(Fault::too_many_redirects(cause));
            }
            redirects += 1;
            answer::drain(answer.into_body(), DRAINED).await;
            *progress = Progress::new(next.uri.clone());
            hop = next;
        }
    }

    async fn send(
        &self,
        order: &Order<'_>,
        request: &HttpRequest,
        hop: &Hop,
    ) -> Result<Response<Incoming>, Fault> {
        let built = request::build(order, request, hop, &self.user_agent)?;
        match &request.authentication {
            // To another host a redirect takes nobody's certificate.
            Some(HttpAuthentication::ClientCertificate { pfx, password, thumbprint, .. }) if hop.trusted => {
                let owner = self.clients.owner(thumbprint, pfx, password).await?;
                self.ask(&owner, built).await
            }
            _ => self.ask(self.clients.nobody(), built).await,
        }
    }

    /// Sends a request and waits for the head of its answer.
    async fn ask(&self, pool: &Pool, mut request: Request<Full<Bytes>>) -> Result<Response<Incoming>, Fault> {
        let fault = |error| Fault::of_request(&error, &self.settings);
        let limit = self.settings.answer_timeout;
        // A limit that the whole call keeps anyway needs nobody to watch the connection.
        if limit >= self.settings.timeout {
            return pool.request(request).await.map_err(fault);
        }
        let mut connection = capture_connection(&mut request);
        let mut answer = pin!(pool.request(request));
        // The time runs from the connection on; until then others run.
        tokio::select! {
            ended = &mut answer => return ended.map_err(fault),
            () = async { drop(connection.wait_for_connection_metadata().await) } => {}
        }
        match tokio::time::timeout(limit, answer).await {
            Ok(ended) => ended.map_err(fault),
            Err(_) => {
                let cause = format!("connected, but no answer began within {}", seconds(limit));
                Err(Fault::new(Kind::Timeout, cause))
            }
        }
    }

    async fn read(&self, answer: Response<Incoming>, progress: &mut Progress) -> Result<Outcome, Fault> {
        let (head, body) = answer.into_parts();
        let body = answer::read(body, self.settings.max_response_body, progress).await?;
        Ok(message::answered(uri::host(&progress.uri), &head, &body))
    }

    fn too_late(&self, progress: &Progress) -> Fault {
        let within = seconds(self.settings.timeout);
        let cause = match progress.status {
            None => format!("no answer within {within}"),
            Some(_) => format!("{} did not end within {within}", progress.so_far()),
        };
        Fault::new(Kind::Timeout, cause)
    }
}
