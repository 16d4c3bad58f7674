//! The portal beside the API, and what pages of other origins may not do.

use axum::body::Body;
use axum::http::{Request, Response, StatusCode, header};
use tower::ServiceExt as _;

use crate::door::{Answer, Door, collection};

async fn ask(door: &Door, method: &str, path: &str, headers: &[(&str, &str)]) -> Response<Body> {
    let mut request = Request::builder().method(method).uri(path);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    door.router.clone().oneshot(request.body(Body::empty()).expect("a request")).await.expect("infallible")
}

async fn text(response: Response<Body>) -> String {
    let bytes = axum::body::to_bytes(response.into_body(), usize::MAX).await.expect("a whole body");
    String::from_utf8(bytes.to_vec()).expect("UTF-8")
}

fn header_of<'a>(response: &'a Response<Body>, name: &str) -> &'a str {
    response.headers().get(name).map(|value| value.to_str().expect("text")).unwrap_or_default()
}

/// The first file that the page names.
async fn a_file(door: &Door) -> String {
    let page = text(ask(door, "GET", "/", &[]).await).await;
    let path = page.split('"').find(|word| word.starts_with("/assets/") && word.ends_with("/app.js"));
    path.expect("the page names its script").to_owned()
}

#[tokio::test]
async fn every_address_of_the_portal_is_the_page() {
    let door = Door::open(&[]);
    for path in ["/", "/ui", "/ui/jobs?search=x", "/ui/job/s/g/c/j/history", "/ui/no-such-page"] {
        let response = ask(&door, "GET", path, &[]).await;
        assert_eq!(response.status(), StatusCode::OK, "{path}");
        assert_eq!(header_of(&response, "content-type"), "text/html; charset=utf-8", "{path}");
        assert_eq!(header_of(&response, "cache-control"), "no-cache", "{path}");
        let policy = header_of(&response, "content-security-policy").to_owned();
        assert!(policy.starts_with("default-src 'none'; script-src 'self'; style-src 'self';"), "{policy}");
        assert!(policy.contains("frame-ancestors 'none'") && !policy.contains("unsafe"), "{policy}");
        assert_eq!(header_of(&response, "x-content-type-options"), "nosniff");
        assert_eq!(header_of(&response, "referrer-policy"), "no-referrer");
        assert!(text(response).await.contains("<title>Punctual</title>"), "{path}");
    }
}

#[tokio::test]
async fn a_browser_need_not_fetch_what_it_has() {
    let door = Door::open(&[]);
    let etag = header_of(&ask(&door, "GET", "/", &[]).await, "etag").to_owned();
    let again = ask(&door, "GET", "/", &[("if-none-match", &etag)]).await;
    assert_eq!(again.status(), StatusCode::NOT_MODIFIED);
    assert!(text(again).await.is_empty());
    let other = ask(&door, "GET", "/", &[("if-none-match", "\"another\"")]).await;
    assert_eq!(other.status(), StatusCode::OK);

    let file = a_file(&door).await;
    let response = ask(&door, "GET", &file, &[]).await;
    assert_eq!(header_of(&response, "cache-control"), "public, max-age=31536000, immutable");
    assert_eq!(header_of(&response, "content-type"), "text/javascript; charset=utf-8");
    let version = file.split('/').nth(2).expect("a version");
    let stale = ask(&door, "GET", &file.replace(version, "0123456789abcdef"), &[]).await;
    assert_eq!(stale.status(), StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn files_are_compressed_for_those_who_ask() {
    let door = Door::open(&[]);
    let file = a_file(&door).await;
    let plain = ask(&door, "GET", &file, &[]).await;
    assert!(plain.headers().get(header::CONTENT_ENCODING).is_none());
    let small = ask(&door, "GET", &file, &[("accept-encoding", "gzip, deflate, br")]).await;
    assert_eq!(header_of(&small, "content-encoding"), "gzip");
    assert_eq!(header_of(&small, "vary"), "accept-encoding");
    let plain = text(plain).await;
    let small = axum::body::to_bytes(small.into_body(), usize::MAX).await.expect("a whole body");
    assert!(small.len() < plain.len() / 2, "{} of {}", small.len(), plain.len());
    let mut unpacked = String::new();
    std::io::Read::read_to_string(&mut flate2::read::GzDecoder::new(&small[..]), &mut unpacked)
        .expect("gzip");
    assert_eq!(unpacked, plain);
}

#[tokio::test]
async fn what_is_not_the_portals_is_still_the_apis() {
    let door = Door::open(&[]);
    for (method, path, status) in [
        ("GET", "/api/nothing", 404),
        ("GET", "/nothing", 404),
        ("GET", "/assets/none", 404),
        ("POST", "/", 404),
        ("GET", "/subscriptions", 400),
    ] {
        let Answer { status: given, body, .. } = door.call(method, path, None).await;
        assert_eq!(given, status, "{method} {path}");
        assert!(body["error"]["message"].is_string(), "{method} {path}: {body}");
    }
    let head = ask(&door, "HEAD", "/", &[]).await;
    assert_eq!(head.status(), StatusCode::OK);
}

#[tokio::test]
async fn a_page_of_another_origin_changes_nothing() {
    let door = Door::open(&[]);
    door.collection("c", "Standard").await;
    let path = collection("c");
    for foreign in [
        &[("host", "127.0.0.1:8042"), ("origin", "https://evil.example.org")][..],
        &[("host", "127.0.0.1:8042"), ("sec-fetch-site", "cross-site")],
        &[("host", "127.0.0.1:8042"), ("origin", "null")],
    ] {
        let response = ask(&door, "DELETE", &path, foreign).await;
        assert_eq!(response.status(), StatusCode::FORBIDDEN, "{foreign:?}");
        let body: serde_json::Value = serde_json::from_str(&text(response).await).expect("JSON");
        assert_eq!(body["error"]["code"], "Forbidden");
    }
    door.get(&path).await;
    let own =
        [("host", "localhost:8042"), ("origin", "http://localhost:8042"), ("sec-fetch-site", "same-origin")];
    assert_eq!(ask(&door, "DELETE", &path, &own).await.status(), StatusCode::OK);
}

#[tokio::test]
async fn a_strangers_name_for_this_machine_is_not_answered() {
    let door = Door::open(&[("PUNCTUAL_API_HOSTS", "jobs.example.org")]);
    for (host, status) in [
        ("evil.example.org:8042", StatusCode::FORBIDDEN),
        ("jobs.example.org", StatusCode::OK),
        ("localhost:8042", StatusCode::OK),
        ("[::1]:8042", StatusCode::OK),
    ] {
        for path in ["/", "/healthz", "/api/ledger"] {
            let response = ask(&door, "GET", path, &[("host", host)]).await;
            assert_eq!(response.status(), status, "{host} {path}");
        }
    }
    // Whoever listens on other addresses has said himself who may come.
    let open = Door::open(&[("PUNCTUAL_LISTEN", "0.0.0.0:8042")]);
    assert_eq!(ask(&open, "GET", "/", &[("host", "jobs.example.com")]).await.status(), StatusCode::OK);
}
