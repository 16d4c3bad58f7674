//! Calls with a token: when an authority is asked, what it may do to us, and to whom a token is shown.

use std::sync::{
    Mutex,
    atomic::{AtomicI64, AtomicUsize, Ordering},
};

use actions::{Authority, OauthSettings};
use tokio::{net::TcpListener, task::JoinSet};

use super::*;
use crate::{
    ca::{Ca, uri},
    server::{Reply, Request, Server, answer, ok, redirect},
};

const SECRET: &str = "the-client's-s3cret";

/// A clock that a test sets, in seconds since 1970.
#[derive(Default)]
struct Hands(AtomicI64);

impl Hands {
    fn forward(&self, seconds: i64) {
        self.0.fetch_add(seconds, Ordering::SeqCst);
    }
}

impl Clock for Hands {
    fn now(&self) -> Timestamp {
        Timestamp::from_second(1_800_000_000 + self.0.load(Ordering::SeqCst)).expect("a timestamp")
    }
}

/// What there is for a test: an authority of certificates, one of tokens, and a scheduler that trusts both.
struct World {
    ca: Ca,
    tokens: Server,
    clock: Arc<Hands>,
    actions: Arc<Actions>,
}

impl World {
    async fn new(handler: impl Fn(&Request) -> Reply + Send + Sync + 'static) -> Self {
        let ca = Ca::new();
        let tokens = ca.serve(&["localhost"], handler).await;
        let address = format!("https://localhost:{}", tokens.address.port());
        let (clock, actions) = scheduler(&ca, &address);
        Self { ca, tokens, clock, actions }
    }

    async fn call(&self, target: &Server) -> Outcome {
        attempt(&self.actions, as_client(get(target.uri("/")))).await
    }

    /// How often a token was asked for.
    fn asked(&self) -> usize {
        self.tokens.requests().len()
    }
}

fn scheduler(ca: &Ca, address: &str) -> (Arc<Hands>, Arc<Actions>) {
    let default = OauthSettings::default();
    let oauth = OauthSettings {
        others: Authority { address: address.to_owned(), ..default.others },
        timeout: Duration::from_secs(5),
        ..default
    };
    let clock = Arc::new(Hands::default());
    let settings = ActionSettings { oauth, ..ca.trusted() };
    let actions = Actions::new(settings, Arc::<Hands>::clone(&clock)).expect("the settings are fine");
    (clock, Arc::new(actions))
}

fn client(tenant: &str, audience: &str, client_id: &str, secret: &str) -> HttpAuthentication {
    HttpAuthentication::ActiveDirectoryOAuth {
        tenant: tenant.into(),
        audience: audience.into(),
        client_id: client_id.into(),
        secret: Secret::new(secret),
    }
}

fn as_client(request: HttpRequest) -> HttpRequest {
    let client = client("example.onmicrosoft.com", "https://api.example/", "client-1", SECRET);
    HttpRequest { authentication: Some(client), ..request }
}

fn grant(token: &str, lifetime: &str) -> Reply {
    let body = format!(r#"{{"token_type":"Bearer","expires_in":{lifetime},"access_token":"{token}"}}"#);
    Reply::Keep(answer("200 OK", "Content-Type: application/json\r\n", &body))
}

/// Tokens `token-1`, `token-2` and so on, each for an hour.
fn counting() -> impl Fn(&Request) -> Reply + Send + Sync + 'static {
    let given = AtomicUsize::new(0);
    move |_| grant(&format!("token-{}", given.fetch_add(1, Ordering::SeqCst) + 1), r#""3600""#)
}

fn refused(status: &str, error: &str, description: &str) -> Reply {
    let body = format!(r#"{{"error":"{error}","error_description":"{description}"}}"#);
    Reply::Keep(answer(status, "", &body))
}

#[tokio::test]
async fn a_token_is_asked_for_as_azure_wants_it_and_goes_along() {
    let world = World::new(counting()).await;
    let target = world.ca.serve(&["localhost"], |_| ok("in")).await;
    let request = with_headers(get(uri("localhost", &target)), &[("Authorization", "Basic c2VsZg==")]);
    let outcome = attempt(&world.actions, as_client(request)).await;
    assert!(outcome.success, "{outcome:?}");
    assert_eq!(target.request().header("authorization"), ["Bearer token-1"]);
    let question = world.tokens.request();
    assert_eq!(question.line(), "POST /example.onmicrosoft.com/oauth2/token HTTP/1.1");
    assert_eq!(question.header("content-type"), ["application/x-www-form-urlencoded"]);
    assert_eq!(question.header("x-punctual-hops"), ["1"]);
    assert_eq!(
        String::from_utf8(question.body).unwrap(),
        "grant_type=client_credentials&client_id=client-1&client_secret=the-client%27s-s3cret\
         &resource=https%3A%2F%2Fapi.example%2F"
    );
}

#[tokio::test]
async fn a_thousand_orders_at_once_are_one_question() {
    let world = World::new(counting()).await;
    let target = Server::start(|_| ok("")).await;
    let mut orders = JoinSet::new();
    for _ in 0..1000 {
        let (actions, request) = (Arc::clone(&world.actions), as_client(get(target.uri("/"))));
        orders.spawn(async move { attempt(&actions, request).await });
    }
    let outcomes = orders.join_all().await;
    assert!(outcomes.iter().all(|outcome| outcome.success), "{outcomes:?}");
    assert_eq!(world.asked(), 1);
    let requests = target.requests();
    assert_eq!(requests.len(), 1000);
    assert!(requests.iter().all(|request| request.header("authorization") == ["Bearer token-1"]));
}

#[tokio::test]
async fn a_token_is_used_until_shortly_before_it_expires() {
    let world = World::new(counting()).await;
    let target = Server::start(|_| ok("")).await;
    for (seconds, asked) in [(0, 1), (3539, 1), (1, 2), (3539, 2), (100_000, 3)] {
        world.clock.forward(seconds);
        assert!(world.call(&target).await.success);
        assert_eq!(world.asked(), asked, "after {seconds} more seconds");
    }
    let bearers = |token| target.requests().iter().filter(|r| r.header("authorization") == [token]).count();
    assert_eq!((bearers("Bearer token-1"), bearers("Bearer token-2")), (2, 2));
}

#[tokio::test]
async fn nobody_uses_the_token_of_another() {
    let world = World::new(counting()).await;
    let target = Server::start(|_| ok("")).await;
    let clients = [
        client("t", "a", "c", "s"),
        client("u", "a", "c", "s"),
        client("t", "b", "c", "s"),
        client("t", "a", "d", "s"),
        client("t", "a", "c", "another"),
        client("t", "a", "cs", ""),
    ];
    for _ in 0..2 {
        for client in &clients {
            let request = HttpRequest { authentication: Some(client.clone()), ..get(target.uri("/")) };
            assert!(attempt(&world.actions, request).await.success);
        }
    }
    assert_eq!(world.asked(), clients.len());
    let shown: Vec<_> = target.requests().iter().map(|r| r.header("authorization")[0].to_owned()).collect();
    let expected: Vec<_> = (0..12).map(|number| format!("Bearer token-{}", number % 6 + 1)).collect();
    assert_eq!(shown, expected);
}

#[tokio::test]
async fn a_refusal_is_told_to_all_and_not_asked_for_again_at_once() {
    let is_right = Arc::new(Mutex::new(false));
    let right = Arc::clone(&is_right);
    let world = World::new(move |_| match *right.lock().unwrap() {
        true => grant("token", "3600"),
        false => refused(
            "401 Unauthorized",
            "invalid_client",
            &format!("AADSTS7000215: {SECRET} is wrong.\\r\\nTrace"),
        ),
    })
    .await;
    let target = Server::start(|_| ok("")).await;
    let mut orders = JoinSet::new();
    for _ in 0..100 {
        let (actions, request) = (Arc::clone(&world.actions), as_client(get(target.uri("/"))));
        orders.spawn(async move { attempt(&actions, request).await });
    }
    for outcome in orders.join_all().await {
        assert_failed(
            &outcome,
            "Http Action - Request to host '127.0.0.1' failed: UnknownError The request cannot be made (no token from \
             the authority 'localhost': 'Unauthorized' invalid_client AADSTS7000215: (hidden) is wrong.)",
        );
    }
    assert_eq!(world.asked(), 1);
    assert!(target.requests().is_empty(), "nothing is called without the token");
    *is_right.lock().unwrap() = true;
    assert!(!world.call(&target).await.success, "it is the same moment still");
    world.clock.forward(1);
    assert!(world.call(&target).await.success);
    assert_eq!(world.asked(), 2);
}

#[tokio::test]
async fn an_authority_that_is_busy_is_left_alone_as_long_as_it_says() {
    let world = World::new(|_| {
        Reply::Keep(answer("503 Service Unavailable", "Retry-After: 30\r\n", "<html>busy</html>"))
    })
    .await;
    let target = Server::start(|_| ok("")).await;
    for (seconds, asked) in [(0, 1), (29, 1), (1, 2)] {
        world.clock.forward(seconds);
        assert_failed(&world.call(&target).await, "'localhost': it answered 'ServiceUnavailable')");
        assert_eq!(world.asked(), asked);
    }
    // A clock that was set back does not prolong it.
    world.clock.forward(-100_000);
    assert_failed(&world.call(&target).await, "it answered");
    assert_eq!(world.asked(), 3);
}

#[tokio::test]
async fn an_authority_that_is_down_is_named_and_used_when_it_is_back() {
    let ca = Ca::new();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    drop(listener);
    let (clock, actions) = scheduler(&ca, &format!("https://127.0.0.1:{port}"));
    let target = Server::start(|_| ok("")).await;
    let call = || attempt(&actions, as_client(get(target.uri("/"))));
    assert_failed(
        &call().await,
        &format!(
            "(no token from the authority '127.0.0.1': ConnectFailure Unable to connect to the remote server \
             (127.0.0.1:{port}: the connection was refused))"
        ),
    );
    let at = format!("127.0.0.1:{port}");
    // It comes, and dies with the first question in its hands.
    let dying = ca.serve_at(&at, &["127.0.0.1"], |_| Reply::Close(Vec::new())).await;
    clock.forward(1);
    assert_failed(&call().await, "(no token from the authority '127.0.0.1': ConnectionClosed");
    assert_eq!(dying.requests().len(), 1);
    drop(dying);
    let back = loop {
        if let Ok(listener) = TcpListener::bind(&at).await {
            drop(listener);
            // It hangs up after each answer, so that no connection outlives it.
            let last = answer("200 OK", "", r#"{"access_token":"token","expires_in":3600}"#);
            break ca.serve_at(&at, &["127.0.0.1"], move |_| Reply::Close(last.clone())).await;
        }
        tokio::task::yield_now().await;
    };
    clock.forward(1);
    let outcome = call().await;
    assert!(outcome.success, "{outcome:?}");
    assert_eq!(back.requests().len(), 1);
    // Gone again: what was granted still holds.
    drop(back);
    clock.forward(1000);
    assert!(call().await.success);
    clock.forward(3000);
    assert_failed(&call().await, "no token from the authority '127.0.0.1'");
}

#[tokio::test]
async fn an_authority_with_nothing_sensible_to_say_is_a_failure() {
    let large = "x".repeat(70_000);
    for (reply, says) in [
        (answer("200 OK", "", "<html>"), "its answer 'OK' cannot be used: it is no JSON object)"),
        (answer("200 OK", "", "{}"), "its answer 'OK' cannot be used: it has no access_token)"),
        (answer("200 OK", "", &large), "the body of the answer is larger than 65536 bytes"),
        (answer("302 Found", "Location: https://localhost/\r\n", ""), "it answered 'Found')"),
        (b"SSH-2.0-OpenSSH\r\n".to_vec(), "ServerProtocolViolation"),
    ] {
        let world = World::new(move |_| Reply::Close(reply.clone())).await;
        let target = Server::start(|_| ok("")).await;
        let outcome = world.call(&target).await;
        assert_failed(&outcome, "no token from the authority 'localhost': ");
        assert_failed(&outcome, says);
        assert!(target.requests().is_empty());
    }
}

#[tokio::test]
async fn an_authority_that_is_too_slow_is_given_up() {
    let world = World::new(|_| Reply::Hang(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{".to_vec())).await;
    let target = Server::start(|_| ok("")).await;
    assert_failed(
        &world.call(&target).await,
        "no token from the authority 'localhost': Timeout The operation has timed out (the answer 'OK', 1 bytes long so \
         far, did not end within 5 seconds)",
    );
    // The attempt itself has less time than that.
    let default = OauthSettings::default();
    let address = format!("https://localhost:{}", world.tokens.address.port());
    let oauth = OauthSettings { others: Authority { address, ..default.others }, ..default };
    let settings = ActionSettings { oauth, timeout: Duration::from_secs(1), ..world.ca.trusted() };
    assert_failed(
        &attempt(&actions(settings), as_client(get(target.uri("/")))).await,
        "failed: Timeout The operation has timed out (no token from the authority 'localhost' within 1 second)",
    );
}

#[tokio::test]
async fn who_is_given_up_while_asking_leaves_the_question_to_the_next() {
    let times = AtomicUsize::new(0);
    let world = World::new(move |_| match times.fetch_add(1, Ordering::SeqCst) {
        0 => Reply::Hang(Vec::new()),
        _ => grant("token", "3600"),
    })
    .await;
    let target = Server::start(|_| ok("")).await;
    let call = || {
        let (actions, request) = (Arc::clone(&world.actions), as_client(get(target.uri("/"))));
        tokio::spawn(async move { attempt(&actions, request).await })
    };
    let first = call();
    world.tokens.requests_at_least(1).await;
    let others = [call(), call(), call()];
    first.abort();
    for other in others {
        assert!(other.await.unwrap().success);
    }
    assert_eq!(world.asked(), 2);
}

#[tokio::test]
async fn an_authority_whom_nobody_vouches_for_gets_no_secret() {
    let stranger = Ca::new().serve(&["localhost"], counting()).await;
    let (_, actions) = scheduler(&Ca::new(), &format!("https://localhost:{}", stranger.address.port()));
    let target = Server::start(|_| ok("")).await;
    let outcome = attempt(&actions, as_client(get(target.uri("/")))).await;
    assert_failed(&outcome, "no token from the authority 'localhost': TrustFailure");
    assert!(stranger.requests().is_empty());
    // Nor does one that actions may not call at all.
    let (_, actions) = scheduler(&Ca::new(), "https://169.254.169.254");
    let outcome = attempt(&actions, as_client(get(target.uri("/")))).await;
    assert_failed(&outcome, "calls to 169.254.169.254 are not allowed");
}

#[tokio::test]
async fn a_token_that_is_not_accepted_any_more_is_replaced_once() {
    let world = World::new(counting()).await;
    let accepted = Arc::new(Mutex::new("Bearer token-1"));
    let now = Arc::clone(&accepted);
    let target = Server::start(move |request| match request.header("authorization")[..] {
        [token] if token == *now.lock().unwrap() => ok("in"),
        _ => Reply::Keep(answer("401 Unauthorized", "WWW-Authenticate: Bearer\r\n", "no")),
    })
    .await;
    assert!(world.call(&target).await.success);
    // The key of the authority has changed.
    *accepted.lock().unwrap() = "Bearer token-2";
    world.clock.forward(10);
    assert!(world.call(&target).await.success);
    assert_eq!((world.asked(), target.requests().len()), (2, 3));

    // This one accepts nobody: one more try with a new token, and that is it.
    *accepted.lock().unwrap() = "never";
    world.clock.forward(10);
    assert_failed(&world.call(&target).await, "Response from host '127.0.0.1': 'Unauthorized'");
    assert_eq!((world.asked(), target.requests().len()), (3, 5));
    // At the same moment another one is not asked for.
    assert!(!world.call(&target).await.success);
    assert_eq!((world.asked(), target.requests().len()), (3, 6));
}

#[tokio::test]
async fn a_token_is_not_shown_to_another_host() {
    let world = World::new(counting()).await;
    let other = world.ca.serve(&["127.0.0.1"], |_| ok("other")).await;
    let location = uri("127.0.0.1", &other);
    let target = world.ca.serve(&["localhost"], move |_| redirect("307 Temporary Redirect", &location)).await;
    let outcome = attempt(&world.actions, as_client(post(uri("localhost", &target), "body"))).await;
    assert!(outcome.success, "{outcome:?}");
    assert_eq!(target.request().header("authorization"), ["Bearer token-1"]);
    assert!(other.request().header("authorization").is_empty());
    assert_eq!(other.request().body, b"body");
}

#[tokio::test]
async fn a_target_that_repeats_what_it_was_sent_does_not_bring_the_token_into_the_history() {
    let world = World::new(|_| grant("a-token-of-some-length", "3600")).await;
    let target = Server::start(|request| ok(&request.head)).await;
    let outcome = world.call(&target).await;
    assert!(outcome.message.contains("Bearer (hidden)"), "{outcome:?}");
    assert!(!outcome.message.contains("a-token"), "{outcome:?}");
    // Also not where the body is cut in its middle.
    let target = Server::start(|request| {
        let bearer = request.header("authorization")[0].to_owned();
        ok(&format!("{}{bearer}", "x".repeat(1024 - "Bearer a-token".len())))
    })
    .await;
    let outcome = world.call(&target).await;
    assert!(outcome.message.ends_with("xxBearer (hidden)"), "{outcome:?}");
}

#[tokio::test]
async fn the_token_is_not_shown_by_the_target_of_a_redirect_that_was_given_it() {
    let world = World::new(|_| grant("a-token/of+some-length", "3600")).await;
    let other = Server::start(|request| ok(request.path())).await;
    let location = other.uri("/?token=a-token%2Fof%2Bsome-length&secret=");
    let target = Server::start(move |_| redirect("307 Moved", &format!("{location}{SECRET}"))).await;
    let outcome = world.call(&target).await;
    assert!(outcome.message.ends_with("/?token=(hidden)&secret=(hidden)"), "{outcome:?}");
}
