//! HTTP: from a request to a use-case, and from its answer to a response.
//!
//! There is one handler. It refuses the calls of jobs (`hops`) and what the page of a stranger asks (`origin`), finds the
//! resource that the path names (`path`), finds out who asks and whether they may (`needs`), hands the request to the
//! resource's route (`routes`), and dresses what comes back with the headers that every answer of the old service had. Paths of the portal have answers of their own (`crate::portal`).

mod answer;
mod bodies;
mod download;
mod hops;
mod meter;
mod needs;
mod origin;
mod path;
mod query;
mod resource;
mod routes;
mod stream;

use std::borrow::Cow;
use std::net::SocketAddr;
use std::sync::Arc;

use access::{Act, Note, Sight, Verdict};
use actions::TraceContext;
use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{ConnectInfo, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, header};
use percent_encoding::percent_decode_str;
use serde_json::Value;
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::block_in_place;
use tokio::time::Instant;
use wire::dialect::{Dialect, EnumCase};
use wire::version::Version;

use crate::app::{App, Preconditions};
use crate::guard::Caller;
use crate::metrics::Asked;
use crate::portal;
use crate::problem::Problem;
use crate::rates::{Rates, Spent};
use answer::{Answer, Ids};
use bodies::Bodies;
pub(crate) use hops::MOST_CHANGES as MOST_CHANGES_BY_JOBS;
use hops::Refused;
use meter::Meter;
use needs::{Need, Operation};
pub use origin::Hosts;
pub(crate) use path::job_of_id;
use query::Query;
pub(crate) use resource::{Resource, Versions};

/// Says how enum values are written in the answer.
const ENUM_CASE: &str = "x-punctual-enum-case";

/// Says how strictly a request is to be read (RFC 7240).
const PREFER: HeaderName = HeaderName::from_static("prefer");

/// The most bytes of any body; jobs have a lower limit of their own.
const LARGEST_BODY: usize = 1 << 20;

/// How much larger than a job its request may be: indented, with characters as escapes, with what an answer has besides.
const ROOM: usize = 4;

/// The most characters of what a proxy says about where a call comes from.
const LONGEST_SOURCE: usize = 200;

/// The API as a service.
pub fn router(app: App) -> Router {
    let metrics = app.config.metrics.enabled && app.config.metrics.listen.is_none();
    serve(app, Door { api: true, metrics })
}

/// What those who watch the process may ask, and nothing else.
pub fn watching_router(app: App) -> Router {
    let metrics = app.config.metrics.enabled;
    serve(app, Door { api: false, metrics })
}

fn serve(app: App, door: Door) -> Router {
    let rates = Arc::new(Rates::new(app.budget));
    let refused = Arc::new(Refused::new());
    let certificates = Arc::new(Semaphore::new(1));
    Router::new().fallback(handle).with_state(Served {
        app,
        rates,
        bodies: Bodies::new(),
        certificates,
        refused,
        door,
    })
}

/// What the handler works with.
#[derive(Clone)]
struct Served {
    app: App,
    rates: Arc<Rates>,
    bodies: Bodies,
    /// The turn to open the file of a client certificate.
    certificates: Arc<Semaphore>,
    /// The calls of jobs.
    refused: Arc<Refused>,
    door: Door,
}

/// What is served at an address.
#[derive(Debug, Clone, Copy)]
struct Door {
    api: bool,
    metrics: bool,
}

impl Door {
    fn serves(self, resource: &Resource) -> bool {
        match resource {
            Resource::Metrics => self.metrics,
            other => self.api || other.is_watching(),
        }
    }
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
    /// Until it is answered, its body takes room.
    _room: Option<OwnedSemaphorePermit>,
    /// Its span, where traces are made.
    trace: Option<TraceContext>,
}

async fn handle(State(mut served): State<Served>, request: Request<Body>) -> Response<Body> {
    let (began, method) = (Instant::now(), request.method().clone());
    let traces = served.app.traces.clone();
    let span = traces.as_ref().map(|traces| traces.begin(request.headers(), served.app.clock.now()));
    let context = span.as_ref().map(|span| span.context);
    let (kind, mut response) = respond(&mut served, request, context).await;
    // A browser takes every answer for what it says it is.
    response.headers_mut().insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    let Served { app, .. } = &served;
    if let (Some(traces), Some(span)) = (traces, span) {
        traces.end(span, kind, &method, response.status(), app.clock.now());
    }
    app.requests.count(Asked::new(kind, &method), response.status(), began.elapsed());
    response
}

/// What kind of resource was asked for, and the answer.
async fn respond(
    served: &mut Served,
    request: Request<Body>,
    trace: Option<TraceContext>,
) -> (&'static str, Response<Body>) {
    let Served { app, rates, bodies, certificates, refused, door } = served;
    let ids = Ids::of(request.headers());
    let resource = Resource::of(request.uri().path()).filter(|resource| door.serves(resource));
    let hops = match hops::check(request.headers(), resource.as_ref(), app.config.api.calls_from_jobs) {
        Ok(hops) => hops,
        Err(problem) => {
            let now = app.clock.now();
            refused.tell(request.method(), request.uri().path(), request.headers(), now);
            return ("from-job", Answer::from(problem).into_response(&ids, now));
        }
    };
    if let Err(problem) = origin::check(&app.hosts, request.method(), request.uri(), request.headers()) {
        return ("refused", Answer::from(problem).into_response(&ids, app.clock.now()));
    }
    if door.api
        && let Some(page) = portal::answer(request.method(), request.uri().path(), request.headers())
    {
        return ("portal", page);
    }
    let Some(resource) = resource else {
        let answer = Answer::from(Problem::no_path(request.uri().path()));
        return ("unknown", answer.into_response(&ids, app.clock.now()));
    };
    let kind = resource.kind();
    let (head, body) = request.into_parts();
    // Who may watch at an address of its own is for the network to say.
    if door.api
        && let Err(problem) = admit(app, &resource, &head, hops).await
    {
        return (kind, Answer::from(problem).into_response(&ids, app.clock.now()));
    }
    let request = Request::from_parts(head, body);
    let meter = Meter::of(&resource, request.method());
    let is_metered = resource.subscription().is_some();
    let spent =
        rates.spend(app.caller.principal.id.as_str(), resource.subscription(), meter.kind(), app.clock.now());
    let limited = hops::limit(app, &resource, meter.kind());
    let answer = match spent {
        Spent::UsedUp(seconds) if !resource.is_watching() => Err(Problem::too_many_requests(seconds)),
        _ => match limited {
            Ok(()) => answer(app, bodies, certificates, resource, request, trace).await,
            Err(problem) => Err(problem),
        },
    };
    let answer = answer.unwrap_or_else(Answer::from);
    let answer = if is_metered { meter.show(answer, spent) } else { answer };
    (kind, answer.into_response(&ids, app.clock.now()))
}

/// Finds out who asks, and whether they may. From here on the use-cases act in their name, on what they see.
async fn admit(app: &mut App, resource: &Resource, head: &Parts, hops: u8) -> Result<(), Problem> {
    let query = Query::read(head.uri.query().unwrap_or_default())?;
    let operation = Operation::of(resource, &head.method, &query);
    let (headers, now) = (&head.headers, app.clock.now());
    let from = if hops > 0 { format!("{}, by a job", source(head)) } else { source(head) };
    let caller = if operation.need == Need::Nothing {
        Ok(app.guard.identify_if_any(&app.store, &head.method, headers, now).await)
    } else {
        app.guard.identify(&app.store, &head.method, headers, now).await
    };
    match caller {
        Ok(caller) => app.caller = Caller { from, hops, ..caller },
        Err(problem) => {
            app.caller = Caller { from, hops, ..Caller::anonymous() };
            let is_attempt = problem.status == 401 && !problem.is_unauthenticated();
            if is_attempt && app.guard.notes_refusal(now) {
                let why = serde_json::json!({"why": problem.message});
                let noted = app.note_of(Act::Authenticate, &decoded(head.uri.path()), Verdict::Refused, &why);
                note(app, noted).await;
            }
            return Err(problem);
        }
    }
    let sight = app.caller.grants.sight();
    if sight != Sight::All {
        app.store = app.store.seen_by(&sight);
    }
    let judged = needs::judge(app, &operation);
    if judged.is_err() {
        deny(app, operation.act, head.uri.path(), &Value::Null).await;
    }
    judged
}

/// Notes what was denied, or counts it where that was noted a moment ago.
async fn deny(app: &App, act: Act, path: &str, detail: &Value) {
    let denied = app.note_of(act, &decoded(path), Verdict::Denied, detail);
    for due in app.guard.denied(denied) {
        note(app, due).await;
    }
}

/// Notes what was refused. The answer is the same, whether that works or not.
async fn note(app: &App, note: Note) {
    let (act, target) = (note.act.name(), note.target.clone());
    if let Err(error) = app.store.note(note).await {
        tracing::error!(%error, act, target, "a refusal is not noted");
    }
}

fn decoded(path: &str) -> Cow<'_, str> {
    percent_decode_str(path).decode_utf8_lossy()
}

/// Where a request comes from: the address of the connection and, where a proxy tells one, that of its client. Whoever
/// connects can make that up, so both are told.
fn source(head: &Parts) -> String {
    let address = head.extensions.get::<ConnectInfo<SocketAddr>>();
    let address = address.map(|ConnectInfo(address)| address.ip().to_string()).unwrap_or_default();
    let forwarded = head.headers.get("x-forwarded-for").and_then(|value| value.to_str().ok());
    match forwarded.map(str::trim).filter(|text| !text.is_empty()) {
        Some(forwarded) => {
            let forwarded: String = forwarded.chars().take(LONGEST_SOURCE).collect();
            format!("{address} for {forwarded}")
        }
        None => address,
    }
}

async fn answer(
    app: &App,
    bodies: &Bodies,
    certificates: &Semaphore,
    resource: Resource,
    request: Request<Body>,
    trace: Option<TraceContext>,
) -> Result<Answer, Problem> {
    let call = Call { trace, ..prepare(app, bodies, resource, request).await? };
    let further = Operation::with_body(&call.resource, &call.method, &call.body);
    let judged = further.as_ref().map_or(Ok(()), |operation| needs::judge(app, operation));
    let answered = match judged {
        Ok(()) => carry_out(app, &call, certificates).await,
        Err(problem) => Err(problem),
    };
    // What only the body tells was judged where it is known.
    let denied = match (&answered, &call.resource) {
        (Err(_), Resource::TestCall) => app.denied_test_call(&call.body),
        (Err(problem), _) if problem.is_denial() => Some(Value::Null),
        _ => None,
    };
    if let Some(detail) = denied {
        let head = || Operation::of(&call.resource, &call.method, &call.query);
        let act = further.unwrap_or_else(head).act;
        deny(app, act, &call.path, &detail).await;
    }
    answered
}

/// Answers a call. The file of a client certificate is slow to open on purpose, as slow as whoever made it likes: calls that
/// may have one are carried out one by one, on a thread that nobody else waits for.
async fn carry_out(app: &App, call: &Call, certificates: &Semaphore) -> Result<Answer, Problem> {
    let runtime = Handle::current();
    if !may_have_certificate(call) || runtime.runtime_flavor() == RuntimeFlavor::CurrentThread {
        return routes::answer(app, call).await;
    }
    let _turn = certificates.acquire().await;
    block_in_place(|| runtime.block_on(routes::answer(app, call)))
}

/// Whether a call may have the file of a client certificate in it, in whatever way its member is written.
fn may_have_certificate(call: &Call) -> bool {
    let is_there = |part: &[u8]| call.body.windows(part.len()).any(|at| at.eq_ignore_ascii_case(part));
    call.resource == Resource::Import || is_there(b"pfx") || is_there(br"\u")
}

/// Reads all of a request.
async fn prepare(
    app: &App,
    bodies: &Bodies,
    resource: Resource,
    request: Request<Body>,
) -> Result<Call, Problem> {
    let (head, body) = request.into_parts();
    let path = head.uri.path().to_owned();
    let query = Query::read(head.uri.query().unwrap_or_default())?;
    let is_allowed = |method: &Method| resource.methods().split(", ").any(|one| one == method.as_str());
    // Where HEAD means nothing of its own, it is a GET whose body the server leaves out.
    let is_plain_head = head.method == Method::HEAD && !is_allowed(&Method::HEAD);
    let method = if is_plain_head { Method::GET } else { head.method };
    if !is_allowed(&method) {
        return Err(Problem::method_not_allowed(method.as_str(), resource.methods()));
    }
    let mut dialect = Dialect::default();
    match resource.versions() {
        Versions::None => {}
        Versions::Scheduler => {
            dialect.version = version(&query)?;
            dialect.enum_case = enum_case(&head.headers)?.unwrap_or(app.enum_case);
        }
        Versions::ResourceManager => check_date(any_version(&query)?)?,
        Versions::Any => {
            any_version(&query)?;
        }
    }
    let largest = if resource == Resource::Import { routes::LARGEST_IMPORT } else { LARGEST_BODY };
    let read = bodies.read(body, largest, app.config.server.body_timeout).await?;
    let (body, headers) = (read.bytes, head.headers);
    Ok(Call { method, resource, path, query, dialect, headers, body, _room: read.room, trace: None })
}

/// The api-version of a call.
fn version(query: &Query) -> Result<Version, Problem> {
    let text = any_version(query)?;
    Version::read(text).ok_or_else(|| Problem::unknown_api_version(text, &known_versions()))
}

fn any_version(query: &Query) -> Result<&str, Problem> {
    let given = query.get("api-version").filter(|text| !text.is_empty());
    given.ok_or_else(|| Problem::missing_api_version(&known_versions()))
}

fn known_versions() -> String {
    Version::ALL.map(Version::name).join(", ")
}

/// Whether a version is one of the form that all versions of the resource manager have.
fn check_date(version: &str) -> Result<(), Problem> {
    let is_date = |date: &[u8]| {
        date.iter()
            .enumerate()
            .all(|(i, byte)| if i == 4 || i == 7 { *byte == b'-' } else { byte.is_ascii_digit() })
    };
    let is_suffix = |rest: &[u8]| {
        let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.');
        rest.is_empty() || rest[0] == b'-' && rest.len() > 1 && rest.iter().all(is_plain)
    };
    match version.as_bytes().split_at_checked(10) {
        Some((date, rest)) if is_date(date) && is_suffix(rest) => Ok(()),
        _ => Err(Problem::malformed_api_version(version)),
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
    /// A header, repeated ones joined. One that is not text stays wrong text: it must not pass for one that is absent.
    fn header(&self, name: header::HeaderName) -> Option<String> {
        let values = self.headers.get_all(name);
        let values: Vec<_> = values.iter().map(|value| String::from_utf8_lossy(value.as_bytes())).collect();
        (!values.is_empty()).then(|| values.join(", "))
    }

    fn preconditions(&self) -> Preconditions {
        let [if_match, if_none_match] =
            [header::IF_MATCH, header::IF_NONE_MATCH].map(|name| self.header(name));
        let prefer = self.header(PREFER);
        Preconditions::read(if_match.as_deref(), if_none_match.as_deref()).preferring(prefer.as_deref())
    }

    /// The body as JSON.
    fn json(&self, most: usize) -> Result<Value, Problem> {
        let given = self.header(header::CONTENT_TYPE).unwrap_or_else(|| "application/json".to_owned());
        let kind = given.split(';').next().unwrap_or_default().trim();
        let is_json =
            kind.eq_ignore_ascii_case("application/json") || kind.to_ascii_lowercase().ends_with("+json");
        if !is_json && kind != "text/json" {
            return Err(Problem::not_json(&given));
        }
        if let Some(coding) = self.header(header::CONTENT_ENCODING)
            && !coding.eq_ignore_ascii_case("identity")
        {
            return Err(Problem::encoded(&coding));
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

    /// Scheme and host as the client knows them, which behind a proxy only the proxy can tell.
    fn base(&self) -> String {
        // Of several proxies, the first is the one that the client speaks to.
        let forwarded = |name: &str| {
            let text = self.headers.get(name).and_then(|value| value.to_str().ok())?;
            text.split(',').next().map(str::trim).filter(|text| !text.is_empty())
        };
        let is_host =
            |host: &&str| host.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._:[]".contains(&byte));
        let host = forwarded("x-forwarded-host").filter(is_host);
        let asked = self.headers.get(header::HOST).and_then(|host| host.to_str().ok()).filter(is_host);
        let host = host.or(asked).unwrap_or("127.0.0.1");
        let is_secure =
            forwarded("x-forwarded-proto").is_some_and(|scheme| scheme.eq_ignore_ascii_case("https"));
        format!("{}://{host}", if is_secure { "https" } else { "http" })
    }

    /// The URL of another page of the same list.
    fn link(&self, parameter: &str, value: &str) -> String {
        format!("{}{}?{}", self.base(), self.path, self.query.with(parameter, value))
    }
}
