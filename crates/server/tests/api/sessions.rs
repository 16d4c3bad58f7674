//! Browsers that are signed in: what they may, and how that ends.

use access::Role;
use serde_json::json;

use super::roles::guarded;
use super::world::{Reply, World};

/// What a browser keeps of a sign-in.
struct Browser {
    cookie: String,
    word: String,
}

impl Browser {
    async fn sign_in(world: &World, token: &str, headers: &[(&str, &str)]) -> Self {
        let reply = world
            .call_with("POST", "/api/session", Some(&json!({"token": token})), headers)
            .await
            .expect(201);
        let cookie =
            reply.header("set-cookie").expect("a cookie").split(';').next().expect("a pair").to_owned();
        Self { cookie, word: reply.body["csrf"].as_str().expect("a word").to_owned() }
    }

    async fn get(&self, world: &World, path: &str) -> Reply {
        world.call_with("GET", path, None, &[("cookie", &self.cookie)]).await
    }

    async fn change(&self, world: &World, method: &str, path: &str) -> Reply {
        let headers = [("cookie", &*self.cookie), ("x-punctual-csrf", &*self.word)];
        world.call_with(method, path, None, &headers).await
    }
}

const RUN: &str = "/subscriptions/s/resourceGroups/g/providers/Microsoft.Scheduler/jobCollections/c/jobs/j/run?api-version=2016-03-01";

#[tokio::test]
async fn a_browser_signs_in_and_out() {
    let (world, owner) = guarded().await;
    let nobody = world.get("/api/session").await.expect(200).body;
    assert_eq!((&nobody["required"], &nobody["signedIn"]), (&json!(true), &json!(false)));
    world.call("POST", "/api/session", Some(&json!({"token": "pt_x"}))).await.expect(401);
    world.call("POST", "/api/session", Some(&json!({}))).await.expect(400);
    let body = json!({"token": format!(" {owner}\n")});
    let reply = world.call("POST", "/api/session", Some(&body)).await.expect(201);
    let cookie = reply.header("set-cookie").expect("a cookie").to_owned();
    assert!(cookie.starts_with("punctual="), "{cookie}");
    for part in ["; Path=/", "; HttpOnly", "; SameSite=Strict", "; Max-Age=43200"] {
        assert!(cookie.contains(part), "{cookie}");
    }
    assert!(!cookie.contains("Secure") && !reply.text.contains(&owner), "{cookie}");
    // Behind TLS it is the cookie that nobody else can set.
    let secure = [("x-forwarded-proto", "https")];
    let reply = world.call_with("POST", "/api/session", Some(&body), &secure).await.expect(201);
    let cookie = reply.header("set-cookie").expect("a cookie").to_owned();
    assert!(cookie.starts_with("__Host-punctual=") && cookie.ends_with("; Secure"), "{cookie}");
    let pair = cookie.split(';').next().expect("a pair");
    let headers = [("x-forwarded-proto", "https"), ("cookie", pair)];
    world.call_with("GET", "/api/jobs", None, &headers).await.expect(200);
    let plain = pair.replace("__Host-", "");
    let headers = [("x-forwarded-proto", "https"), ("cookie", plain.as_str())];
    world.call_with("GET", "/api/jobs", None, &headers).await.expect(401);

    let browser = Browser::sign_in(&world, &owner, &[]).await;
    let me = browser.get(&world, "/api/session").await.expect(200).body;
    assert_eq!(
        (&me["signedIn"], &me["name"], &me["csrf"]),
        (&json!(true), &json!("Owner of /"), &json!(browser.word))
    );
    browser.get(&world, "/api/jobs").await.expect(200);
    browser.change(&world, "DELETE", "/api/session").await.expect(204);
    browser.get(&world, "/api/jobs").await.expect(401);
    browser.change(&world, "POST", RUN).await.expect(401);
    // Whoever is out stays out, and may ask again.
    browser.change(&world, "DELETE", "/api/session").await.expect(204);
    let acts = world.as_holder(&owner, "GET", "/api/audit?top=100&search=Owner%20of%20/", None).await.body;
    let acts: Vec<String> =
        acts["value"].as_array().expect("a list").iter().map(|one| one["act"].to_string()).collect();
    assert!(acts.contains(&"\"signOut\"".to_owned()) && acts.contains(&"\"signIn\"".to_owned()), "{acts:?}");
    let refused = world.as_holder(&owner, "GET", "/api/audit?act=signIn&verdict=refused", None).await.body;
    assert_eq!(refused["value"].as_array().map(Vec::len), Some(1));
}

/// Nobody can be made to use a cookie that somebody else knows.
#[tokio::test]
async fn a_sign_in_has_a_cookie_of_its_own() {
    let (world, owner) = guarded().await;
    let planted = format!("punctual={}", "ab".repeat(32));
    world.call_with("GET", "/api/jobs", None, &[("cookie", &planted)]).await.expect(401);
    let first = Browser::sign_in(&world, &owner, &[("cookie", &planted)]).await;
    assert_ne!(first.cookie, planted);
    world.call_with("GET", "/api/jobs", None, &[("cookie", &planted)]).await.expect(401);
    // A second one ends the first.
    let second = Browser::sign_in(&world, &owner, &[("cookie", &first.cookie)]).await;
    assert_ne!((&first.cookie, &first.word), (&second.cookie, &second.word));
    first.get(&world, "/api/jobs").await.expect(401);
    second.get(&world, "/api/jobs").await.expect(200);
    for cookie in ["punctual=", "punctual=x", "punctual", "other=1", "=; ;;", &second.cookie.to_uppercase()] {
        world.call_with("GET", "/api/jobs", None, &[("cookie", cookie)]).await.expect(401);
    }
    let among = format!("a=b; {}; c=d", second.cookie);
    world.call_with("GET", "/api/jobs", None, &[("cookie", &among)]).await.expect(200);
}

/// The browser sends the cookie by itself; only our own pages know the word.
#[tokio::test]
async fn changes_need_the_word() {
    let (world, owner) = guarded().await;
    let browser = Browser::sign_in(&world, &owner, &[]).await;
    let other = Browser::sign_in(&world, &owner, &[]).await;
    let wrong = browser.word.replace(['0', '1', '2'], "3").replace('a', "b");
    for word in ["", "x", &*wrong, &*other.word, &*browser.word.to_uppercase()] {
        let headers = [("cookie", &*browser.cookie), ("x-punctual-csrf", word)];
        world.call_with("POST", RUN, None, &headers).await.expect(403);
        world.call_with("DELETE", "/api/session", None, &headers).await.expect(403);
    }
    world.call_with("POST", RUN, None, &[("cookie", &browser.cookie)]).await.expect(403);
    // And a page of a stranger gets nowhere even with it.
    let headers = [
        ("cookie", &*browser.cookie),
        ("x-punctual-csrf", &*browser.word),
        ("origin", "http://evil.example.org"),
    ];
    world.call_with("POST", RUN, None, &headers).await.expect(403);
    browser.change(&world, "POST", RUN).await.expect(200);
    // Whoever shows a token needs no word: no browser does that by itself.
    world.as_holder(&owner, "POST", RUN, None).await.expect(200);
}

#[tokio::test]
async fn a_sign_in_ends_by_itself() {
    let (world, owner) = guarded().await;
    let at = |text: &str| world.clock.set(format!("2027-01-01T{text}Z").parse().expect("a time"));
    let idle = Browser::sign_in(&world, &owner, &[]).await;
    at("00:29:59");
    idle.get(&world, "/api/jobs").await.expect(200);
    // It was used: the half hour begins anew.
    at("00:59:58");
    idle.get(&world, "/api/jobs").await.expect(200);
    at("01:29:58");
    idle.get(&world, "/api/jobs").await.expect(401);
    // And not again, though the clock is set back.
    at("01:00:00");
    idle.get(&world, "/api/jobs").await.expect(401);

    let busy = Browser::sign_in(&world, &owner, &[]).await;
    for hour in 1..13 {
        for minute in [0, 20, 40] {
            at(&format!("{hour:02}:{minute:02}:00"));
            busy.get(&world, "/api/jobs").await.expect(200);
        }
    }
    at("12:59:59");
    busy.get(&world, "/api/jobs").await.expect(200);
    at("13:00:00");
    busy.get(&world, "/api/jobs").await.expect(401);
}

#[tokio::test]
async fn a_sign_in_ends_with_its_token() {
    let (world, owner) = guarded().await;
    let token = world.token(Role::Reader, "/subscriptions/s").await;
    let browser = Browser::sign_in(&world, &token, &[]).await;
    browser.get(&world, "/api/jobs").await.expect(200);
    browser.change(&world, "POST", RUN).await.expect(403);
    let id = access::Token::read(&token).expect("a token").id;
    world.as_holder(&owner, "DELETE", &format!("/api/tokens/{id}"), None).await.expect(204);
    browser.get(&world, "/api/jobs").await.expect(401);
}
