//! Streams and test calls of callers that have to say who they are: how a stream ends with what allowed it, and how many
//! places a caller may have.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use access::{Assignment, PrincipalId, Role, Token};
use axum::body::{Body, HttpBody};
use axum::http::Request;
use serde_json::json;
use tokio::time::timeout;
use tower_service::Service;

use super::roles::{COLLECTION, GROUP, guarded, job, put};
use super::world::World;

/// Longer than any test takes; the time of these tests does not wait.
const LONG: Duration = Duration::from_secs(3600);

/// An open stream.
struct Stream(Body);

impl Stream {
    async fn open(world: &World, name: &str, value: &str) -> (u16, Self) {
        Self::at(world, "/api/events", name, value).await
    }

    async fn at(world: &World, path: &str, name: &str, value: &str) -> (u16, Self) {
        let request = Request::builder().uri(path).header("host", "punctual.test").header(name, value);
        let request = request.body(Body::empty()).expect("a request");
        let answer = world.router.clone().call(request).await.expect("an answer");
        (answer.status().as_u16(), Self(answer.into_body()))
    }

    async fn chunk(&mut self) -> Option<String> {
        let frame =
            std::future::poll_fn(|context| HttpBody::poll_frame(Pin::new(&mut self.0), context)).await;
        frame.map(|frame| {
            String::from_utf8_lossy(&frame.expect("a frame").into_data().expect("data")).into_owned()
        })
    }

    /// Reads until something is told that has this text.
    async fn until(&mut self, text: &str) {
        let told = async { while !self.chunk().await.expect("not the end").contains(text) {} };
        timeout(LONG, told).await.expect("it is told");
    }

    /// Everything up to the end, which comes.
    async fn rest(mut self) -> String {
        let all = async {
            let mut all = String::new();
            while let Some(chunk) = self.chunk().await {
                all.push_str(&chunk);
            }
            all
        };
        timeout(LONG, all).await.expect("it ends")
    }
}

/// A stream of the collection, of which something was told.
async fn watching(world: &World, owner: &str, name: &str, value: &str) -> Stream {
    let (status, mut stream) = Stream::open(world, name, value).await;
    assert_eq!(status, 200);
    put(world, owner, &format!("{COLLECTION}/jobs/before?api-version=2016-03-01"), &job()).await;
    stream.until("jobs/before").await;
    stream
}

/// A change after which a stream must have ended.
async fn change_after(world: &World, owner: &str) {
    put(world, owner, &format!("{COLLECTION}/jobs/after?api-version=2016-03-01"), &job()).await;
}

fn id_of(token: &str) -> access::TokenId {
    Token::read(token).expect("a token").id
}

#[tokio::test(start_paused = true)]
async fn the_stream_of_a_revoked_token_ends_before_anything_else_is_told() {
    let (world, owner) = guarded().await;
    let reader = world.token(Role::Reader, COLLECTION).await;
    let stream = watching(&world, &owner, "authorization", &format!("Bearer {reader}")).await;
    world.as_holder(&owner, "DELETE", &format!("/api/tokens/{}", id_of(&reader)), None).await.expect(204);
    change_after(&world, &owner).await;
    let rest = stream.rest().await;
    assert!(!rest.contains("jobs/after"), "{rest}");
}

#[tokio::test(start_paused = true)]
async fn the_stream_of_a_token_that_another_node_revoked_ends() {
    let (world, owner) = guarded().await;
    let reader = world.token(Role::Reader, COLLECTION).await;
    let stream = watching(&world, &owner, "authorization", &format!("Bearer {reader}")).await;
    let now = world.store.token(&id_of(&reader)).await.expect("read").expect("there").created_at;
    assert!(world.store.revoke_token(&id_of(&reader), now).await.expect("revoked"));
    // What was read of it counts for two seconds.
    world.clock.set(now + Duration::from_secs(3));
    stream.rest().await;
}

#[tokio::test(start_paused = true)]
async fn the_stream_of_a_role_ends_with_it_and_with_its_scope() {
    let (world, owner) = guarded().await;
    for way in ["removed", "deleted", "narrowed"] {
        let reader = world.token(Role::Reader, COLLECTION).await;
        let header = format!("Bearer {reader}");
        let principal = PrincipalId::token(id_of(&reader));
        if way == "narrowed" {
            let role = Assignment {
                principal: principal.clone(),
                role: Role::Reader,
                scope: GROUP.replace("/g", "/h").parse().expect("a scope"),
                created_at: "2027-01-01T00:00:00Z".parse().expect("a time"),
                created_by: "local".to_owned(),
            };
            world.store.assign(role).await.expect("assigned");
        }
        let path = match way {
            "narrowed" => format!("/api/events?collection={COLLECTION}"),
            _ => "/api/events".to_owned(),
        };
        let (status, mut stream) = Stream::at(&world, &path, "authorization", &header).await;
        assert_eq!(status, 200);
        put(&world, &owner, &format!("{COLLECTION}/jobs/before?api-version=2016-03-01"), &job()).await;
        stream.until("jobs/before").await;
        if way == "deleted" {
            let path = format!("{COLLECTION}?api-version=2016-03-01");
            world.as_holder(&owner, "DELETE", &path, None).await.expect(200);
            // The next one of that name has other readers.
            put(&world, &owner, &path, &json!({"location": "x"})).await;
            world.as_holder(&reader, "GET", &path, None).await.expect(404);
        } else {
            let role = json!({"principal": principal.as_str(), "role": "Reader", "scope": COLLECTION});
            world.as_holder(&owner, "POST", "/api/roles/remove", Some(&role)).await.expect(200);
        }
        change_after(&world, &owner).await;
        let rest = stream.rest().await;
        assert!(!rest.contains("jobs/after"), "{way}: {rest}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_stream_of_a_sign_in_ends_with_it() {
    let (world, owner) = guarded().await;
    let reply = world.call("POST", "/api/session", Some(&json!({"token": owner}))).await.expect(201);
    let cookie = reply.header("set-cookie").expect("a cookie").split(';').next().expect("a pair").to_owned();
    let word = reply.body["csrf"].as_str().expect("a word").to_owned();
    let stream = watching(&world, &owner, "cookie", &cookie).await;
    let headers = [("cookie", &*cookie), ("x-punctual-csrf", &*word)];
    assert!(world.call_with("DELETE", "/api/session", None, &headers).await.status < 300);
    change_after(&world, &owner).await;
    let rest = stream.rest().await;
    assert!(!rest.contains("jobs/after"), "{rest}");
}

#[tokio::test(start_paused = true)]
async fn a_caller_has_a_share_of_the_streams() {
    let (world, owner) = guarded().await;
    let reader = format!("Bearer {}", world.token(Role::Reader, COLLECTION).await);
    let mut streams = Vec::new();
    for _ in 0..25 {
        let (status, stream) = Stream::open(&world, "authorization", &reader).await;
        assert_eq!(status, 200);
        streams.push(stream);
    }
    let refused =
        world.call_with("GET", "/api/events", None, &[("authorization", &reader)]).await.expect(429);
    assert!(refused.text.contains("You watch 25 streams already"), "{}", refused.text);
    assert_eq!(refused.header("retry-after"), Some("1"));
    assert_eq!(Stream::open(&world, "authorization", &format!("Bearer {owner}")).await.0, 200);
    drop(streams);
    let again = async {
        while Stream::open(&world, "authorization", &reader).await.0 != 200 {
            tokio::task::yield_now().await;
        }
    };
    timeout(LONG, again).await.expect("a place that was given back");
}

#[tokio::test]
async fn a_caller_has_a_share_of_the_test_calls() {
    use actions::{Order, Runner};
    use model::Outcome;
    use server::app::{App, Trials};
    use server::guard::{Guard, Patience};

    /// Hangs until it is told to end, and counts.
    #[derive(Default)]
    struct Hanging(AtomicUsize, AtomicBool);

    #[async_trait::async_trait]
    impl Runner for Hanging {
        async fn run(&self, _: Order<'_>) -> Outcome {
            self.0.fetch_add(1, Ordering::SeqCst);
            while !self.1.load(Ordering::SeqCst) {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            Outcome { success: true, message: String::new() }
        }
    }

    let runner = Arc::new(Hanging::default());
    let trials = Arc::new(Trials::new(runner.clone()));
    let guard = Arc::new(Guard::watchful(Vec::new(), Patience::default()));
    let world = World::with(|app| App { guard, trials: Some(trials), ..app });
    let (ann, bob) = (world.token(Role::Owner, "/").await, world.token(Role::Owner, "/").await);
    let body = json!({"action": job()["properties"]["action"]});
    let refused = AtomicUsize::new(0);
    let call = async |token: &str| {
        let reply = world.as_holder(token, "POST", "/api/test-call", Some(&body)).await;
        refused.fetch_add(usize::from(reply.status == 429), Ordering::SeqCst);
        reply
    };
    // Four of the five are under way, and the one of another caller is too; only then they end.
    let release = async {
        while (runner.0.load(Ordering::SeqCst), refused.load(Ordering::SeqCst)) != (5, 1) {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        runner.1.store(true, Ordering::SeqCst);
    };
    let calls = async {
        tokio::join!(call(&ann), call(&ann), call(&ann), call(&ann), call(&ann), call(&bob), release)
    };
    let (a, b, c, d, e, others, ()) = timeout(LONG, calls).await.expect("they end");
    assert_eq!(others.status, 200, "{}", others.text);
    let refused: Vec<_> = [a, b, c, d, e].into_iter().filter(|reply| reply.status != 200).collect();
    assert_eq!((refused.len(), refused[0].status), (1, 429));
    assert!(refused[0].text.contains("4 test calls of yours"), "{}", refused[0].text);
}
