//! A running server, as the commands that need one see it.

use std::fmt;
use std::time::Duration;

use anyhow::{Context, bail};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, header};
use http_body_util::{BodyExt, Collected, Full, Limited};
use hyper::body::{Bytes, Incoming};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client as Pool;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use rustls::{ClientConfig, RootCertStore};
use serde_json::Value;
use url::Url;

use crate::refused::Refused;
use crate::style;

/// The longest that a server may take to answer; what is sent after that may take as long as it needs.
const PATIENCE: Duration = Duration::from_secs(300);

/// The longest that connecting may take.
const CONNECT_PATIENCE: Duration = Duration::from_secs(10);

/// How often a call is made again that the server has put off, and the longest pause before it, in seconds.
const MOST_PAUSES: u32 = 5;
const LONGEST_PAUSE: u64 = 60;

/// In bytes: the largest answer that is held in memory. A page of a list is far smaller.
const LARGEST_ANSWER: usize = 64 << 20;

/// Every answer of the server has it. What comes without is the page of a proxy, or another program's.
const MARK: &str = "x-ms-request-id";

/// Talks to one server.
#[derive(Clone)]
pub(crate) struct Client {
    base: Url,
    /// Says who calls, where the server asks.
    token: Option<HeaderValue>,
    pool: Pool<HttpsConnector<HttpConnector>, Full<Bytes>>,
}

/// An answer that is not a success.
#[derive(Debug)]
pub(crate) struct Problem {
    /// The HTTP status.
    pub(crate) status: u16,
    /// The code of the error, where it has one.
    pub(crate) code: Option<String>,
    /// What the server says: its message, or one line for each fault.
    pub(crate) reasons: Vec<String>,
    /// What was asked for, where it does not exist.
    pub(crate) missing: Option<Box<Missing>>,
}

/// Something that a server does not have.
pub(crate) struct Missing {
    pub(crate) client: Client,
    /// The path that was asked for, with its query.
    pub(crate) path: String,
}

impl fmt::Debug for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Missing").field(&self.path).finish()
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the server answers {}: {}", self.status, self.reasons.join("\n"))
    }
}

impl std::error::Error for Problem {}

/// Nobody answers.
#[derive(Debug)]
pub(crate) struct Unreachable(String);

impl fmt::Display for Unreachable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Unreachable {}

/// A successful answer, whole.
pub(crate) struct Answer {
    pub(crate) status: u16,
    headers: HeaderMap,
    /// Null where there was none.
    pub(crate) body: Value,
}

impl Answer {
    /// A header's text.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }
}

/// On what a change depends.
#[derive(Debug, Clone)]
pub(crate) enum Condition {
    /// Nothing.
    Always,
    /// That the resource is not there yet.
    Absent,
    /// That it is as it was when this tag was given.
    Unchanged(String),
}

impl Condition {
    fn header(&self) -> Option<(HeaderName, String)> {
        match self {
            Self::Always => None,
            Self::Absent => Some((header::IF_NONE_MATCH, "*".to_owned())),
            Self::Unchanged(tag) => Some((header::IF_MATCH, tag.clone())),
        }
    }
}

impl Client {
    /// `named_by` says where the address stands, for whoever has to correct it.
    pub(crate) fn new(address: &str, named_by: &str) -> anyhow::Result<Self> {
        let refused = |why: &str| {
            Refused::new(format!(
                "{named_by}: '{address}' {why}; expected: an address such as http://127.0.0.1:8042"
            ))
        };
        let parsed = Url::parse(address);
        let has_user = match &parsed {
            Ok(base) if base.has_host() => !base.username().is_empty() || base.password().is_some(),
            Ok(_) | Err(_) => address.contains('@'),
        };
        if has_user {
            // Messages show the address, so it is not repeated here.
            let cause = "the address has a user or a password in it, which no server of ours asks for";
            let expected = "an address such as http://127.0.0.1:8042, and a token in PUNCTUAL_TOKEN";
            return Err(Refused::new(format!("{named_by}: {cause}; expected: {expected}")).into());
        }
        let base = parsed.map_err(|error| refused(&format!("is no URL ({error})")))?;
        if !matches!(base.scheme(), "http" | "https") || !base.has_host() {
            return Err(refused("names no web server").into());
        }
        if base.query().is_some() || base.fragment().is_some() {
            return Err(refused("has a user, a query or a fragment, which mean nothing here").into());
        }
        let mut connector = HttpConnector::new();
        connector.enforce_http(false);
        connector.set_connect_timeout(Some(CONNECT_PATIENCE));
        let builder = HttpsConnectorBuilder::new();
        let builder = if base.scheme() == "https" {
            builder.with_native_roots().context("the certificates of this machine cannot be read")?
        } else {
            // A machine may have none, and nobody needs any.
            let nobody = ClientConfig::builder().with_root_certificates(RootCertStore::empty());
            builder.with_tls_config(nobody.with_no_client_auth())
        };
        let connector = builder.https_or_http().enable_http1().wrap_connector(connector);
        Ok(Self { base, token: None, pool: Pool::builder(TokioExecutor::new()).build(connector) })
    }

    /// The same, which says who calls.
    pub(crate) fn with_token(self, token: Option<&str>) -> anyhow::Result<Self> {
        let header = |token: &str| {
            let value = HeaderValue::from_str(&format!("Bearer {}", token.trim()));
            // It is not shown again: it may be a secret with one letter too many.
            let mut value =
                value.map_err(|_| Refused::new("the token holds what no token can".to_owned()))?;
            value.set_sensitive(true);
            Ok::<_, anyhow::Error>(value)
        };
        Ok(Self { token: token.map(header).transpose()?, ..self })
    }

    /// Where the server is.
    pub(crate) fn address(&self) -> &str {
        self.base.as_str().trim_end_matches('/')
    }

    /// One call; the answer's body is still to come. `path` begins with a slash and may have a query.
    pub(crate) async fn send(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> anyhow::Result<Response<Incoming>> {
        self.send_if(method, path, body, &Condition::Always).await
    }

    /// The same for a change that depends on something. A call that is put off with 429 is made again later.
    pub(crate) async fn send_if(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
        condition: &Condition,
    ) -> anyhow::Result<Response<Incoming>> {
        let mut pauses = 0;
        loop {
            let answer = self.once(&method, path, body, condition).await?;
            if answer.status().is_success() {
                if !answer.headers().contains_key(MARK) {
                    bail!(
                        "{} answers {}, but not as Punctual does: there is no header {MARK}. Is it the address of the \
                         server?",
                        self.address(),
                        answer.status().as_u16()
                    );
                }
                return Ok(answer);
            }
            let status = answer.status().as_u16();
            let pause = answer.headers().get(header::RETRY_AFTER);
            let pause = pause.and_then(|seconds| seconds.to_str().ok()?.parse::<u64>().ok());
            if answer.status().is_redirection()
                && let Some(Ok(other)) = answer.headers().get(header::LOCATION).map(HeaderValue::to_str)
            {
                // Following it could take the token to another host.
                let why = format!(
                    "{} redirects to {other}, which is not followed. Give the address of the server itself: --server, \
                     --context or PUNCTUAL_SERVER",
                    self.address()
                );
                return Err(Problem { status, code: None, reasons: vec![why], missing: None }.into());
            }
            let body = Limited::new(answer.into_body(), LARGEST_ANSWER).collect().await;
            // An answer that breaks off has still told its status.
            let body = body.map(Collected::to_bytes).unwrap_or_default();
            let body: Value = serde_json::from_slice(&body).unwrap_or_default();
            let code = body["error"]["code"].as_str().map(ToOwned::to_owned);
            let missing =
                (status == 404).then(|| Box::new(Missing { client: self.clone(), path: path.to_owned() }));
            let problem = Problem { status, code, reasons: reasons(status, &body), missing };
            match pause {
                Some(seconds) if status == 429 && pauses < MOST_PAUSES && seconds <= LONGEST_PAUSE => {
                    let problem = problem.reasons.join(" ");
                    style::say("note", &format!("{problem} Going on in {seconds} seconds"));
                    tokio::time::sleep(Duration::from_secs(seconds.max(1))).await;
                    pauses += 1;
                }
                _ => return Err(problem.into()),
            }
        }
    }

    /// One call with its whole answer.
    pub(crate) async fn ask(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
        condition: &Condition,
    ) -> anyhow::Result<Answer> {
        let answer = self.send_if(method, path, body, condition).await?;
        let (head, body) = answer.into_parts();
        let broke_off = |error| anyhow::anyhow!("the answer of {} broke off: {error}", self.address());
        let bytes = Limited::new(body, LARGEST_ANSWER).collect().await.map_err(broke_off)?.to_bytes();
        let body = if bytes.is_empty() {
            Value::Null
        } else {
            serde_json::from_slice(&bytes)
                .with_context(|| format!("{} does not answer with JSON: is it Punctual?", self.address()))?
        };
        if !matches!(body, Value::Null | Value::Object(_)) {
            bail!("{} does not answer with a JSON object: is it Punctual?", self.address());
        }
        Ok(Answer { status: head.status.as_u16(), headers: head.headers, body })
    }

    /// What is there. That is never nothing.
    pub(crate) async fn get(&self, path: &str) -> anyhow::Result<Answer> {
        let answer = self.ask(Method::GET, path, None, &Condition::Always).await?;
        if answer.body.is_null() {
            bail!("the answer of {} is empty: is it Punctual?", self.address());
        }
        Ok(answer)
    }

    /// The entries of a list that has one page.
    pub(crate) async fn list(&self, path: &str) -> anyhow::Result<Vec<Value>> {
        let mut entries = Vec::new();
        let all = self.each(path, |entry| {
            entries.push(entry);
            Ok(Going::On)
        });
        all.await?;
        Ok(entries)
    }

    /// Goes through all pages of a list, one entry after the other, until `each` has had enough.
    pub(crate) async fn each(
        &self,
        path: &str,
        mut each: impl FnMut(Value) -> anyhow::Result<Going>,
    ) -> anyhow::Result<()> {
        let mut next = Some(path.to_owned());
        while let Some(path) = next.take() {
            let mut page = self.get(&path).await?.body;
            let entries = page["value"].take();
            if page["moreOff"] == true {
                let said = "more jobs are off than were looked at: `punctual ledger --collection NAME` shows those of one";
                style::say("warning", said);
            }
            let Value::Array(entries) = entries else {
                bail!("{} does not answer with a list: is it Punctual?", self.address());
            };
            for entry in entries {
                if each(entry)? == Going::Enough {
                    return Ok(());
                }
            }
            // It may name a host that only the server's side can reach; the path is what matters.
            next = match page["nextLink"].as_str().map(Url::parse) {
                None => None,
                Some(Ok(link)) => Some(link[url::Position::BeforePath..].to_owned()),
                Some(Err(error)) => bail!("the server's nextLink cannot be followed: {error}"),
            };
            if next.as_ref() == Some(&path) {
                bail!("the server's nextLink leads back to the page that it came with: {path}");
            }
        }
        Ok(())
    }

    async fn once(
        &self,
        method: &Method,
        path: &str,
        body: Option<&Value>,
        condition: &Condition,
    ) -> anyhow::Result<Response<Incoming>> {
        let uri = format!("{}{path}", self.address());
        let mut request = Request::builder()
            .method(method)
            .uri(&uri)
            .header(header::USER_AGENT, concat!("punctual/", env!("CARGO_PKG_VERSION")))
            .header(header::CONTENT_TYPE, "application/json")
            .body(Full::from(body.map(Value::to_string).unwrap_or_default()))
            .with_context(|| format!("{uri} cannot be asked for"))?;
        if let Some(token) = &self.token {
            request.headers_mut().insert(header::AUTHORIZATION, token.clone());
        }
        if body.is_some() && matches!(*method, Method::PUT | Method::PATCH) {
            // A member that the server does not know is a typing mistake, and nothing is done with half of what was meant.
            request.headers_mut().insert("prefer", HeaderValue::from_static("handling=strict"));
        }
        if let Some((name, value)) = condition.header() {
            request.headers_mut().insert(name, HeaderValue::from_str(&value)?);
        }
        match tokio::time::timeout(PATIENCE, self.pool.request(request)).await {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(error)) => Err(self.unreachable(&error).into()),
            Err(_) => {
                let seconds = PATIENCE.as_secs();
                Err(Unreachable(format!("{} has not answered for {seconds} seconds", self.address())).into())
            }
        }
    }

    fn unreachable(&self, error: &hyper_util::client::legacy::Error) -> Unreachable {
        let mut deepest: &dyn std::error::Error = error;
        while let Some(source) = deepest.source() {
            deepest = source;
        }
        Unreachable(format!(
            "the server {} cannot be reached: {deepest}. Is it running? `punctual serve` starts one; --server, --context \
             or PUNCTUAL_SERVER names another",
            self.address()
        ))
    }
}

/// Waits for what a command does. One thread is enough: a command does one thing at a time.
pub(crate) fn wait<T>(work: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(work)
}

/// Whether a list is read on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Going {
    On,
    Enough,
}

/// What the body of an error says.
fn reasons(status: u16, body: &Value) -> Vec<String> {
    let text = |value: &Value| value.as_str().map(ToOwned::to_owned);
    let error = &body["error"];
    let details = error["details"].as_array().into_iter().flatten();
    let faults: Vec<String> = details.filter_map(|fault| text(&fault["message"])).collect();
    if !faults.is_empty() {
        return faults;
    }
    vec![
        text(&error["message"])
            .unwrap_or_else(|| format!("the server answers {status} and does not say why")),
    ]
}
