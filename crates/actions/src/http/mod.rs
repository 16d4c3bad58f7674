//! HTTP: one attempt from the request to the sentence in the history.
//!
//! The walk of an attempt is [`Http::run`]. What is sent and where to go on is decided by pure functions in
//! [`request`] and [`redirect`]; this file does what they say, within one deadline.

mod answer;
mod clients;
pub(crate) mod connector;
pub(crate) mod dialer;
#[cfg(test)]
mod inwards;
mod link;
mod lookups;
pub(crate) mod message;
mod pool;
mod redirect;
mod request;
mod signed;
mod stream;
pub(crate) mod uri;

use std::{sync::Arc, time::Duration};

use ::http::{HeaderValue, Request, StatusCode, Uri, header, response::Parts};
use bytes::Bytes;
use http_body_util::Full;
use model::{
    Clock, Outcome, Redaction, Timestamp,
    action::{HttpAuthentication, HttpRequest},
};

use self::{clients::Clients, dialer::Dialer, pool::Answer, redirect::Hop, request::Own};
use crate::{
    deadline::within,
    egress::{ChosenBy, Host},
    fault::{Fault, Kind, seconds},
    oauth::{Applicant, Token, Tokens},
    order::Order,
    settings::{ActionSettings, SettingsError},
};

/// Bytes of a redirect's body that are read so that the connection can be used again; it is closed over more.
const DRAINED: u64 = 64 * 1024;

/// Makes HTTP calls, and keeps their connections.
pub(crate) struct Http {
    clients: Clients,
    dialer: Arc<Dialer>,
    tokens: Tokens,
    user_agent: HeaderValue,
    settings: Arc<ActionSettings>,
    clock: Arc<dyn Clock>,
}

/// What one exchange may cost.
pub(crate) struct Limits {
    /// How long it may last.
    pub(crate) timeout: Duration,
    /// Bytes of the answer's body; more is a failure.
    pub(crate) body: u64,
    /// Bytes of its beginning that are kept.
    pub(crate) kept: usize,
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
    /// Whom we are asking for a token.
    authority: Option<String>,
    /// What must not come back in the answer.
    secrets: Redaction,
    status: Option<StatusCode>,
    body: u64,
}

impl Progress {
    fn new(uri: Uri, secrets: Redaction) -> Self {
        Self { uri, authority: None, secrets, status: None, body: 0 }
    }

    /// Begins anew with another request, whose target may know what the last one was sent.
    fn restart(&mut self, uri: Uri) {
        *self = Self::new(uri, std::mem::take(&mut self.secrets));
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
    pub(crate) fn new(
        settings: ActionSettings,
        dialer: &Arc<Dialer>,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, SettingsError> {
        let user_agent = HeaderValue::from_str(&settings.user_agent)
            .map_err(|_| SettingsError::UserAgent(settings.user_agent.clone()))?;
        let tokens = Tokens::new(settings.oauth.clone(), Arc::clone(&clock))?;
        let settings = Arc::new(settings);
        let clients = Clients::new(Arc::clone(&settings), Arc::clone(dialer))?;
        let dialer = Arc::clone(dialer);
        Ok(Self { clients, dialer, tokens, user_agent, settings, clock })
    }

    /// One attempt.
    pub(crate) async fn run(&self, order: &Order<'_>, request: &HttpRequest, secrets: Redaction) -> Outcome {
        let hop = match Hop::first(request) {
            Ok(hop) => hop,
            Err(fault) => return message::failed("", &fault.redacted(&secrets)),
        };
        let mut progress = Progress::new(hop.uri.clone(), secrets);
        let walk = self.walk(order, request, hop, &mut progress);
        let ended = match within(self.settings.timeout, walk).await {
            Ok(ended) => ended,
            Err(_) => Err(too_late(&progress, self.settings.timeout)),
        };
        let mut outcome = ended.unwrap_or_else(|fault| {
            let host = progress.secrets.apply(uri::host(&progress.uri));
            message::failed(&host, &fault.redacted(&progress.secrets))
        });
        if let Some(warning) = expiry_warning(request, order.expected_at) {
            outcome.message.push_str(&warning);
        }
        outcome
    }

    /// One request of another action and its answer, with the beginning of its body: the same client, guard and
    /// limits. Redirects are answers here.
    pub(crate) async fn exchange(&self, request: Request<Full<Bytes>>) -> Result<(Parts, Vec<u8>), Fault> {
        self.exchange_within(request, self.limits(message::KEPT_BYTES_OF_SECRETS)).await
    }

    /// The same with limits of its own.
    pub(crate) async fn exchange_within(
        &self,
        mut request: Request<Full<Bytes>>,
        limits: Limits,
    ) -> Result<(Parts, Vec<u8>), Fault> {
        request.headers_mut().insert(header::USER_AGENT, self.user_agent.clone());
        request::mark(request.headers_mut(), 0);
        let mut progress = Progress::new(request.uri().clone(), Redaction::default());
        let exchange = async {
            let Answer { head, body, .. } = self.clients.nobody().ask(request, ChosenBy::Action).await?;
            progress.status = Some(head.status);
            let body = answer::read(body, &limits, &mut progress).await?;
            Ok((head, body))
        };
        match within(limits.timeout, exchange).await {
            Ok(ended) => ended,
            Err(_) => Err(too_late(&progress, limits.timeout)),
        }
    }

    fn limits(&self, kept: usize) -> Limits {
        let ActionSettings { timeout, max_response_body, .. } = *self.settings;
        Limits { timeout, body: max_response_body, kept }
    }

    async fn walk(
        &self,
        order: &Order<'_>,
        request: &HttpRequest,
        mut hop: Hop,
        progress: &mut Progress,
    ) -> Result<Outcome, Fault> {
        // Only tokens have a use for it.
        let began = applicant(request).map(|_| self.clock.now());
        let (mut redirects, mut is_renewed) = (0, false);
        loop {
            let token = self.token(request, &hop, progress).await?;
            let answer = self.send(order, request, &hop, token.as_deref(), progress).await?;
            progress.status = Some(answer.head.status);
            if let (StatusCode::UNAUTHORIZED, false, Some(token), Some(who), Some(began)) =
                (answer.head.status, is_renewed, &token, applicant(request), began)
                && self.tokens.give_up(who, token, began)
            {
                is_renewed = true;
                answer::drain(answer.body, DRAINED).await;
                progress.restart(hop.uri.clone());
                continue;
            }
            let Some(mut next) = hop.follow(answer.head.status, &answer.head.headers)? else {
                return self.read(answer, progress).await;
            };
            if redirects == self.settings.max_redirects {
                let cause = format!("more than {redirects}, the last to host '{}'", uri::host(&next.uri));
                return Err(Fault::too_many_redirects(cause));
            }
            redirects += 1;
            if answer.redirects_as == ChosenBy::PublicRedirect {
                next.chosen_by = ChosenBy::PublicRedirect;
            }
            answer::drain(answer.body, DRAINED).await;
            progress.restart(next.uri.clone());
            hop = next;
        }
    }

    /// The token of a hop, where it needs one. To another host a redirect takes none.
    async fn token(
        &self,
        request: &HttpRequest,
        hop: &Hop,
        progress: &mut Progress,
    ) -> Result<Option<Arc<Token>>, Fault> {
        let Some(who) = applicant(request).filter(|_| hop.trusted) else { return Ok(None) };
        progress.authority = Some(self.tokens.host(who)?);
        let token = self.tokens.token(self, who).await?;
        progress.authority = None;
        Ok(Some(token))
    }

    async fn send(
        &self,
        order: &Order<'_>,
        request: &HttpRequest,
        hop: &Hop,
        token: Option<&Token>,
        progress: &mut Progress,
    ) -> Result<Answer, Fault> {
        let own = Own {
            user_agent: &self.user_agent,
            bearer: token.map(|token| &token.bearer),
            clock: &*self.clock,
        };
        let built = request::build(order, request, hop, &own)?;
        self.admit_host(&built)?;
        if let Some(bearer) = own.bearer.and_then(|bearer| bearer.to_str().ok()) {
            progress.secrets.add_header(bearer);
        }
        match &request.authentication {
            // To another host a redirect takes nobody's certificate.
            Some(HttpAuthentication::ClientCertificate { pfx, password, thumbprint, .. }) if hop.trusted => {
                let owner = self.clients.owner(thumbprint, pfx, password).await?;
                owner.ask(built, hop.chosen_by).await
            }
            _ => self.clients.nobody().ask(built, hop.chosen_by).await,
        }
    }

    /// Judges the `Host` header of a request, where the action gives one.
    fn admit_host(&self, request: &Request<Full<Bytes>>) -> Result<(), Fault> {
        let Some(given) = request.headers().get(header::HOST) else { return Ok(()) };
        let (host, port) = (Host::read(uri::host(request.uri()))?, uri::port(request.uri()));
        self.dialer.guard().admit_header(&host, port, &String::from_utf8_lossy(given.as_bytes()))
    }

    async fn read(&self, answer: Answer, progress: &mut Progress) -> Result<Outcome, Fault> {
        let Answer { head, body, .. } = answer;
        let kept = match progress.secrets.is_empty() {
            true => message::KEPT_BYTES,
            false => message::KEPT_BYTES_OF_SECRETS,
        };
        let body = answer::read(body, &self.limits(kept), progress).await?;
        Ok(message::answered(uri::host(&progress.uri), &head, &body, &progress.secrets))
    }
}

/// Who needs a token for a request.
fn applicant(request: &HttpRequest) -> Option<Applicant<'_>> {
    match &request.authentication {
        Some(HttpAuthentication::ActiveDirectoryOAuth { tenant, audience, client_id, secret }) => {
            Some(Applicant { tenant, audience, client_id, secret })
        }
        _ => None,
    }
}

fn too_late(progress: &Progress, timeout: Duration) -> Fault {
    let within = seconds(timeout);
    let cause = match (&progress.authority, progress.status) {
        (Some(authority), _) => format!("no token from the authority '{authority}' within {within}"),
        (None, None) => format!("no answer within {within}"),
        (None, Some(_)) => format!("{} did not end within {within}", progress.so_far()),
    };
    Fault::new(Kind::Timeout, cause)
}
