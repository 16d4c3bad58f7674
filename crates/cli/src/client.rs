//! A running server, as the commands that need one see it.

use std::fmt;
use std::time::Duration;

use anyhow::{Context, bail};
use clap::Args;
use http::{Method, Request, Response, header};
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client as Pool;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use serde_json::Value;
use url::Url;

use crate::refused::Refused;

/// Which server.
#[derive(Debug, Clone, Args)]
pub(crate) struct Server {
    /// The server to talk to
    #[arg(long, value_name = "URL", env = "PUNCTUAL_SERVER", default_value = "http://127.0.0.1:8042")]
    server: String,
}

/// The longest that a server may take to answer; what is sent after that may take as long as it needs.
const PATIENCE: Duration = Duration::from_secs(300);

/// The longest that connecting may take.
const CONNECT_PATIENCE: Duration = Duration::from_secs(10);

/// Talks to one server.
pub(crate) struct Client {
    base: Url,
    pool: Pool<HttpsConnector<HttpConnector>, Full<Bytes>>,
}

/// An answer that is not a success.
#[derive(Debug)]
pub(crate) struct Problem {
    /// The HTTP status.
    pub(crate) status: u16,
    /// The code of the error, where it has one.
    pub(crate) code: Option<String>,
    /// What the server says: its message, and one line for each fault.
    pub(crate) reasons: Vec<String>,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the server answers {}: {}", self.status, self.reasons.join("\n"))
    }
}

impl std::error::Error for Problem {}

impl Client {
    pub(crate) fn new(options: &Server) -> anyhow::Result<Self> {
        let refused = |why: &str| {
            Refused::new(format!(
                "--server: '{}' {why}; expected: an address such as http://127.0.0.1:8042",
                options.server
            ))
        };
        let base = Url::parse(&options.server).map_err(|error| refused(&format!("is no URL ({error})")))?;
        if !matches!(base.scheme(), "http" | "https") || !base.has_host() {
            return Err(refused("names no web server").into());
        }
        let mut connector = HttpConnector::new();
        connector.enforce_http(false);
        connector.set_connect_timeout(Some(CONNECT_PATIENCE));
        let connector = HttpsConnectorBuilder::new()
            .with_native_roots()
            .context("the certificates of this machine cannot be read")?
            .https_or_http()
            .enable_http1()
            .wrap_connector(connector);
        Ok(Self { base, pool: Pool::builder(TokioExecutor::new()).build(connector) })
    }

    /// One call; the answer's body is still to come. `path` begins with a slash and may have a query.
    pub(crate) async fn send(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> anyhow::Result<Response<Incoming>> {
        let uri = format!("{}{path}", self.base.as_str().trim_end_matches('/'));
        let request = Request::builder()
            .method(method)
            .uri(&uri)
            .header(header::USER_AGENT, concat!("punctual/", env!("CARGO_PKG_VERSION")))
            .header(header::CONTENT_TYPE, "application/json")
            .body(Full::from(body.map(Value::to_string).unwrap_or_default()))
            .with_context(|| format!("{uri} cannot be asked for"))?;
        let answer = match tokio::time::timeout(PATIENCE, self.pool.request(request)).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(error)) => bail!(self.unreachable(&error)),
            Err(_) => bail!("{} has not answered for {} seconds", self.base, PATIENCE.as_secs()),
        };
        if answer.status().is_success() {
            return Ok(answer);
        }
        let status = answer.status().as_u16();
        let body = answer.into_body().collect().await?.to_bytes();
        let body: Value = serde_json::from_slice(&body).unwrap_or_default();
        let code = body["error"]["code"].as_str().map(ToOwned::to_owned);
        Err(Problem { status, code, reasons: reasons(&body) }.into())
    }

    fn unreachable(&self, error: &hyper_util::client::legacy::Error) -> String {
        let mut deepest: &dyn std::error::Error = error;
        while let Some(source) = deepest.source() {
            deepest = source;
        }
        format!(
            "the server {} cannot be reached: {deepest}. Is it running? --server or PUNCTUAL_SERVER names another",
            self.base.as_str().trim_end_matches('/')
        )
    }
}

/// What the body of an error says.
fn reasons(body: &Value) -> Vec<String> {
    let text = |value: &Value| value.as_str().map(ToOwned::to_owned);
    let error = &body["error"];
    let details = error["details"].as_array().into_iter().flatten();
    let faults: Vec<String> = details.filter_map(|fault| text(&fault["message"])).collect();
    if faults.is_empty() { vec![text(&error["message"]).unwrap_or_default()] } else { faults }
}
