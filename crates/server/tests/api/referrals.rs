//! Browsers that sign in at the issuer: there with PKCE, back with a code, and what others may try on the way.

use std::collections::HashMap;

use access::Role;
use serde_json::{Value, json};

use super::issuers::{CLIENT, Issuer, Key, NOW, pairs};
use super::world::{Reply, World};

fn query(url: &str) -> HashMap<String, String> {
    pairs(url.split_once('?').expect("a query").1)
}

/// The cookie of an answer that has a name, as a browser sends it.
fn cookie(reply: &Reply, name: &str) -> Option<String> {
    let cookies = reply.headers.get_all("set-cookie").iter().map(|value| value.to_str().expect("a text"));
    let mut cookies = cookies.filter(|cookie| cookie.starts_with(&format!("{name}=")));
    cookies.next().map(|cookie| cookie.split(';').next().expect("a pair").to_owned())
}

/// A browser that was sent to the issuer.
struct Sent {
    place: String,
    cookie: String,
}

async fn send(world: &World, page: &str) -> Sent {
    let reply = world.get(&format!("/api/session/oidc{page}")).await.expect(303);
    let set = reply.header("set-cookie").expect("a cookie");
    for part in ["; HttpOnly", "; SameSite=Lax", "; Max-Age=600", "; Path=/"] {
        assert!(set.contains(part), "{set}");
    }
    let cookie = cookie(&reply, "punctual-referral").expect("a cookie");
    Sent { place: reply.header("location").expect("a place").to_owned(), cookie }
}

/// What somebody brings back; the issuer signs them in without a question.
async fn come_back(world: &World, back: &str, cookie: &str) -> Reply {
    let path = back.strip_prefix("http://punctual.test").expect("here");
    world.call_with("GET", path, None, &[("cookie", cookie)]).await.expect(303)
}

#[tokio::test]
async fn somebody_signs_in_at_the_issuer() {
    let key = Key::new("k1");
    let issuer = Issuer::start(&[&key]).await;
    let world = issuer.world();
    let owner = world.token(Role::Owner, "/").await;
    let body = json!({"principal": "group:g-1", "role": "Operator", "scope": "/subscriptions/s"});
    world.as_holder(&owner, "POST", "/api/roles/assign", Some(&body)).await.expect(201);
    let nobody = world.get("/api/session").await.expect(200).body;
    assert!(nobody["issuer"].as_str().expect("a name").starts_with("localhost:"), "{nobody}");

    let sent = send(&world, "?page=/ui/audit%3Fdays=any").await;
    let asked = query(&sent.place);
    assert!(sent.place.starts_with(&format!("{}/authorize?", issuer.address)), "{}", sent.place);
    for (name, value) in [
        ("response_type", "code"),
        ("client_id", CLIENT),
        ("redirect_uri", "http://punctual.test/api/session/oidc/callback"),
        ("code_challenge_method", "S256"),
    ] {
        assert_eq!(asked[name], value);
    }
    assert!(asked["scope"].split(' ').any(|scope| scope == "openid"));
    // Of the secret in the cookie nothing is told to anybody.
    let secret = sent.cookie.split(['=', '.']).nth(1).expect("a secret");
    assert!(!sent.place.contains(secret));

    let back = issuer.sign_in(&sent.place, &issuer.identity(&asked["nonce"]), &key);
    // What was there before ends: nobody can plant a sign-in.
    let planted = format!("{}; punctual={}", sent.cookie, "ab".repeat(32));
    let reply = come_back(&world, &back, &planted).await;
    assert_eq!(reply.header("location"), Some("/ui/audit?days=any"));
    assert_eq!(cookie(&reply, "punctual-referral").as_deref(), Some("punctual-referral="));
    let session = cookie(&reply, "punctual").expect("a cookie");
    assert!(!planted.contains(&session));
    let me = world.call_with("GET", "/api/session", None, &[("cookie", &session)]).await.expect(200).body;
    assert_eq!((&me["who"], &me["name"]), (&json!("user:o-1"), &json!("ann@x.test")));
    assert_eq!(me["roles"], json!([{"role": "Operator", "scope": "/subscriptions/s"}]));

    // It is a sign-in as any other: it needs the word, and it ends.
    let path = "/subscriptions/s/resourceGroups/g?api-version=2020-06-01";
    let group = json!({"location": "x"});
    world.call_with("PUT", path, Some(&group), &[("cookie", &session)]).await.expect(403);
    let word = me["csrf"].as_str().expect("a word");
    let both = [("cookie", &*session), ("x-punctual-csrf", word)];
    let denied = world.call_with("PUT", path, Some(&group), &both).await.expect(403);
    assert_eq!(denied.body["error"]["code"], "AuthorizationFailed", "{}", denied.text);
    // The code was good for once.
    let again = come_back(&world, &back, &sent.cookie).await;
    assert_eq!(again.header("location"), Some("/?sign-in=refused"));
    world.call_with("DELETE", "/api/session", None, &both).await.expect(204);
    world.call_with("GET", "/api/jobs", None, &[("cookie", &session)]).await.expect(401);

    let noted = world.as_holder(&owner, "GET", "/api/audit?act=signIn", None).await.expect(200).body;
    let noted: Vec<(&Value, &Value)> =
        noted["value"].as_array().expect("a list").iter().map(|one| (&one["who"], &one["verdict"])).collect();
    assert_eq!(noted, [(&json!("anonymous"), &json!("refused")), (&json!("user:o-1"), &json!("done"))]);
}

#[tokio::test]
async fn a_sign_in_that_nobody_uses_ends() {
    let key = Key::new("k1");
    let issuer = Issuer::start(&[&key]).await;
    let world = issuer.world();
    let sent = send(&world, "").await;
    let back = issuer.sign_in(&sent.place, &issuer.identity(&query(&sent.place)["nonce"]), &key);
    let reply = come_back(&world, &back, &sent.cookie).await;
    assert_eq!(reply.header("location"), Some("/"));
    let session = cookie(&reply, "punctual").expect("a cookie");
    let status = async |seconds: i64| {
        world.clock.set(model::Timestamp::from_second(NOW + seconds).expect("a time"));
        world.call_with("GET", "/api/jobs", None, &[("cookie", &session)]).await.status
    };
    assert_eq!(status(29 * 60).await, 200);
    assert_eq!(status(58 * 60).await, 200);
    assert_eq!(status(58 * 60 + 30 * 60).await, 401);
    assert_eq!(status(0).await, 401);
}

/// Each of these has something that does not fit.
#[tokio::test]
async fn only_the_browser_that_was_sent_is_signed_in() {
    let key = Key::new("k1");
    let issuer = Issuer::start(&[&key]).await;
    let world = issuer.world();
    let refused = async |back: &str, cookie: &str| {
        let reply = come_back(&world, back, cookie).await;
        assert_eq!(reply.header("location"), Some("/?sign-in=refused"), "{back}");
        assert_eq!(self::cookie(&reply, "punctual"), None, "{back}");
    };
    let (mine, other) = (send(&world, "").await, send(&world, "").await);
    assert_ne!(query(&mine.place)["state"], query(&other.place)["state"]);
    let good = |sent: &Sent| issuer.identity(&query(&sent.place)["nonce"]);

    // Somebody else's answer, in this browser; and this browser's in somebody else's.
    let back = issuer.sign_in(&mine.place, &good(&mine), &key);
    refused(&back, &other.cookie).await;
    refused(&back, "").await;
    refused(&back, "punctual-referral=x").await;
    // A code that was stolen is of no use with another state, for the verifier is another too.
    let stolen = back.replace(&query(&mine.place)["state"], &query(&other.place)["state"]);
    refused(&stolen, &other.cookie).await;
    // The issuer says no, or nothing.
    refused("http://punctual.test/api/session/oidc/callback?error=access_denied&state=x", &mine.cookie).await;
    refused("http://punctual.test/api/session/oidc/callback", &mine.cookie).await;
    let forger = Key::new("k1");
    let with = |name: &str, value: Value| {
        let mut claims = good(&mine);
        claims[name] = value;
        claims
    };
    for (claims, signer) in [
        (issuer.identity(&query(&other.place)["nonce"]), &key),
        (with("nonce", Value::Null), &key),
        (with("aud", json!("api://punctual")), &key),
        (with("azp", json!("somebody")), &key),
        (with("iss", json!("https://evil.test")), &key),
        (with("exp", json!(NOW - 61)), &key),
        (good(&mine), &forger),
    ] {
        let back = issuer.sign_in(&mine.place, &claims, signer);
        refused(&back, &mine.cookie).await;
    }
    // Nothing of it was the fault of the way itself.
    let back = issuer.sign_in(&mine.place, &good(&mine), &key);
    let reply = come_back(&world, &back, &mine.cookie).await;
    assert!(cookie(&reply, "punctual").is_some());
}

#[tokio::test]
async fn an_issuer_that_is_away_is_told() {
    let key = Key::new("k1");
    let issuer = Issuer::start(&[&key]).await;
    issuer.break_down();
    let world = issuer.world();
    world.get("/api/session/oidc").await.expect(503);
    // And where there is none to sign in with, that is told too.
    let (plain, _) = super::roles::guarded().await;
    plain.get("/api/session/oidc").await.expect(409);
    plain.get("/api/session/oidc/callback?code=x&state=y").await.expect(409);
    assert_eq!(plain.get("/api/session").await.body["issuer"], Value::Null);
}
