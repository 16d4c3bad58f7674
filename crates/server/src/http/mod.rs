//! HTTP: from a request to a use-case, and from its answer to a response.
//!
//! There is one handler. It finds the resource that the path names (`path`), hands the request to the resource's
//! route (`routes`), and dresses what comes back with the headers that every answer of the old service had.

mod answer;
mod path;
mod query;
mod routes;

use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes, to_bytes};
use axum::extract::State;
use axum::http::{HeaderMap, Method, Request, Response, header};
use serde_json::Value;
use tokio::time::timeout;
use wire::dialect::{Dialect, EnumCase};
use wire::version::Version;

use crate::app::{App, Preconditions};
use crate::problem::Problem;
use answer::{Answer, Ids};
use path::Resource;
use query::Query;

/// Says how enum values are written in the answer.
const ENUM_CASE: &str = "x-punctual-enum-case";

/// The most bytes of any body; jobs have a lower limit of their own.
const LARGEST_BODY: usize = 1 << 20;

/// The longest that a client may take to send its body.
const SLOWEST_BODY: Duration = Duration::from_secs(30);

/// The API as a service.
pub fn router(app: App) -> Router {
    Router::new().fallback(handle).with_state(app)
}

/// A request, as the routes need it.
struct Call {
    method: Method,
    resource: Resource,
    path: String,
    query: Query,
    dialect: Dialect,
    headers: HeaderMap,
    body: Bytes,
}

async fn handle(State(app): State<App>, request: Request<Body>) -> Response<Body> {
    let ids = Ids::of(request.headers());
    let answer = match prepare(&app, request).await {
        Ok(call) => routes::answer(&app, &call).await.unwrap_or_else(Answer::from),
        Err(problem) => problem.into(),
    };
    answer.into_response(&ids, app.clock.now())
}

/// Finds the resource and reads the body.
async fn prepare(app: &App, request: Request<Body>) -> Result<Call, Problem> {
    let (head, body) = request.into_parts();
    let path = head.uri.path().to_owned();
    let resource = Resource::of(&path).ok_or_else(|| Problem::no_path(&path))?;
    let query = Query::read(head.uri.query().unwrap_or_default())?;
    // A HEAD is a GET whose body the server leaves out.
    let method = if head.method == Method::HEAD { Method::GET } else { head.method };
    if !resource.methods().split(", ").any(|allowed| allowed == method.as_str()) {
        return Err(Problem::method_not_allowed(method.as_str(), resource.methods()));
    }
    let mut dialect = Dialect::default();
    if resource.is_versioned() {
        dialect.version = version(&query)?;
        dialect.enum_case = enum_case(&head.headers)?.unwrap_or(app.enum_case);
    }
    let body = match timeout(SLOWEST_BODY, to_bytes(body, LARGEST_BODY)).await {
        Ok(Ok(body)) => body,
        Ok(Err(_)) => return Err(Problem::too_large(LARGEST_BODY)),
        Err(_) => return Err(Problem::bad_request("The body did not arrive in time.")),
    };
    Ok(Call { method, resource, path, query, dialect, headers: head.headers, body })
}

/// The api-version of a call.
fn version(query: &Query) -> Result<Version, Problem> {
    let known = Version::ALL.map(Version::name).join(", ");
    match query.get("api-version") {
        None | Some("") => Err(Problem::missing_api_version(&known)),
        Some(text) => Version::read(text).ok_or_else(|| Problem::unknown_api_version(text, &known)),
    }
}

/// How the client wants enum values to be written, if it says so.
fn enum_case(headers: &HeaderMap) -> Result<Option<EnumCase>, Problem> {
    let Some(given) = headers.get(ENUM_CASE) else { return Ok(None) };
    let text = String::from_utf8_lossy(given.as_bytes());
    match EnumCase::read(&text) {
        Some(case) => Ok(Some(case)),
        None => Err(Problem::bad_request(format!(
            "The header {ENUM_CASE} is '{text}'; allowed: {}.",
            EnumCase::NAMES.map(|(name, _)| name).join(" or ")
        ))),
    }
}

impl Call {
    fn header(&self, name: header::HeaderName) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }

    fn preconditions(&self) -> Preconditions {
        Preconditions::read(self.header(header::IF_MATCH), self.header(header::IF_NONE_MATCH))
    }

    /// The body as JSON.
    fn json(&self, most: usize) -> Result<Value, Problem> {
        let given = self.header(header::CONTENT_TYPE).unwrap_or("application/json");
        let kind = given.split(';').next().unwrap_or_default().trim();
        let is_json =
            kind.eq_ignore_ascii_case("application/json") || kind.to_ascii_lowercase().ends_with("+json");
        if !is_json && kind != "text/json" {
            return Err(Problem::not_json(given));
        }
        if self.body.len() > most {
            return Err(Problem::bad_request(format!(
                "The body has {} bytes; allowed: {most}.",
                self.body.len()
            )));
        }
        wire::json::read(&self.body)
            .map_err(|fault| Problem::bad_request(format!("The body is not JSON: {fault}.")))
    }

    /// The URL of another page of the same list.
    fn link(&self, parameter: &str, value: &str) -> String {
        let host = self.header(header::HOST).unwrap_or("127.0.0.1");
        let forwarded = self.headers.get("x-forwarded-proto").and_then(|value| value.to_str().ok());
        let scheme = if forwarded == Some("https") { "https" } else { "http" };
        format!("{scheme}://{host}{}?{}", self.path, self.query.with(parameter, value))
    }
}
