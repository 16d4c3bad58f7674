//! HTTP: from a request to a use-case, and from its answer to a response.
//!
//! There is one handler. It finds the resource that the path names (`path`), hands the request to the resource's
//! route (`routes`), and dresses what comes back with the headers that every answer of the old service had.

mod answer;
mod deployments;
mod download;
mod path;
mod query;
mod routes;
mod stream;

use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes, to_bytes};
use axum::extract::State;
use axum::http::{HeaderMap, Method, Request, Response, header};
use serde_json::Value;
use tokio::time::timeout;

use crate::app::{App, Preconditions};
use crate::problem::Problem;
use answer::{Answer, Ids};
use path::Resource;
use query::Query;

/// The api-versions that are spoken.
const VERSIONS: [&str; 1] = ["2016-03-01"];

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
    headers: HeaderMap,
    body: Bytes,
}

async fn handle(State(app): State<App>, request: Request<Body>) -> Response<Body> {
    let ids = Ids::of(request.headers());
    let answer = match prepare(request).await {
        Ok(call) => routes::answer(&app, &call).await.unwrap_or_else(Answer::from),
        Err(problem) => problem.into(),
    };
    answer.into_response(&ids, app.clock.now())
}

/// Finds the resource and reads the body.
async fn prepare(request: Request<Body>) -> Result<Call, Problem> {
    let (head, body) = request.into_parts();
    let path = head.uri.path().to_owned();
    let resource = Resource::of(&path).ok_or_else(|| Problem::no_path(&path))?;
    let query = Query::read(head.uri.query().unwrap_or_default())?;
    // A HEAD is a GET whose body the server leaves out.
    let method = if head.method == Method::HEAD { Method::GET } else { head.method };
    if !resource.methods().split(", ").any(|allowed| allowed == method.as_str()) {
        return Err(Problem::method_not_allowed(method.as_str(), resource.methods()));
    }
    if resource.is_versioned() {
        check_version(&query)?;
    }
    let largest = if resource == Resource::Import { deployments::LARGEST } else { LARGEST_BODY };
    let body = match timeout(SLOWEST_BODY, to_bytes(body, largest)).await {
        Ok(Ok(body)) => body,
        Ok(Err(_)) => return Err(Problem::too_large(largest)),
        Err(_) => return Err(Problem::bad_request("The body did not arrive in time.")),
    };
    Ok(Call { method, resource, path, query, headers: head.headers, body })
}

fn check_version(query: &Query) -> Result<(), Problem> {
    let known = VERSIONS.join(", ");
    match query.get("api-version") {
        None | Some("") => Err(Problem::missing_api_version(&known)),
        Some(version) if VERSIONS.iter().any(|known| known.eq_ignore_ascii_case(version)) => Ok(()),
        Some(version) => Err(Problem::unknown_api_version(version, &known)),
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
