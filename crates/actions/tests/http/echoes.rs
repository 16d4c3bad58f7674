//! Targets that repeat what they were sent: nothing of it is in the history, whatever the credential and its form.

use std::collections::BTreeMap;

use actions::{Endpoints, Namespace, ServiceBusSettings};
use base64::{Engine as _, prelude::BASE64_STANDARD, prelude::BASE64_URL_SAFE_NO_PAD};
use model::action::{ServiceBusMessage, ServiceBusTransport, SharedAccessKey, StorageQueueMessage};

use super::*;
use crate::server::{Reply, Server, answer};

const SECRET: &str = "Pl4in/P@ss?? w\"rd>>é";

/// What programs make of a text before they show it.
fn forms(text: &str) -> Vec<String> {
    let url = |upper: bool| -> String {
        let coded = |byte: u8| match byte {
            b if b.is_ascii_alphanumeric() => char::from(b).to_string(),
            b if upper => format!("%{b:02X}"),
            b => format!("%{b:02x}"),
        };
        text.bytes().map(coded).collect()
    };
    let json = serde_json::Value::from(text).to_string();
    let html = text.replace('&', "&amp;").replace('"', "&quot;").replace('>', "&gt;").replace('/', "&#x2F;");
    vec![
        text.to_owned(),
        url(true),
        url(false),
        url(true).replace("%20", "+"),
        json[1..json.len() - 1].replace('/', r"\/"),
        text.encode_utf16().map(|unit| format!("\\u{unit:04x}")).collect(),
        html,
        BASE64_STANDARD.encode(text),
        BASE64_STANDARD.encode(text).replace('/', r"\/"),
        BASE64_URL_SAFE_NO_PAD.encode(text),
    ]
}

/// A body and a header with all forms of these texts, and the texts that must not be found again.
fn echo(texts: &[String]) -> (Vec<String>, Vec<String>) {
    let all: Vec<String> = texts.iter().flat_map(|text| forms(text)).collect();
    // An answer shows 1024 characters.
    let pages = all.chunks(4).map(|page| page.join("\" \n")).collect();
    (pages, all)
}

/// Lets a call be answered with all forms of what it must not show, as a refusal and, where it is HTTP, as an answer.
async fn nothing_is_shown_of(texts: &[String], of: impl AsyncFn(&Server) -> Outcome) {
    let (pages, all) = echo(texts);
    for page in &pages {
        for status in ["200 OK", "403 Forbidden"] {
            let (status, page) = (status.to_owned(), page.clone());
            let server = Server::start(move |request| {
                let line: String = page.chars().filter(|letter| !letter.is_control()).collect();
                let head = format!("X-Echo: {line}\r\nx-ms-error-code: {line}\r\n");
                Reply::Keep(answer(&status, &head, &format!("{page}\n{}", request.head)))
            })
            .await;
            let outcome = of(&server).await;
            for form in &all {
                assert!(!outcome.message.contains(form.as_str()), "{form:?} is in {:?}", outcome.message);
            }
            if !outcome.success || outcome.message.contains("Body:") {
                assert!(outcome.message.contains(model::HIDDEN), "{:?}", outcome.message);
            }
        }
    }
}

fn texts(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|&text| text.to_owned()).collect()
}

#[tokio::test]
async fn passwords() {
    let secrets = texts(&[SECRET, &format!("bob:{SECRET}")]);
    nothing_is_shown_of(&secrets, async |server| {
        attempt(&actions(settings()), with_basic(get(server.uri("/")), "bob", SECRET)).await
    })
    .await;
    let secrets = texts(&["open sesame", "bob:open sesame"]);
    nothing_is_shown_of(&secrets, async |server| {
        let uri = server.uri("/").replace("http://", "http://bob:open%20sesame@");
        attempt(&actions(settings()), get(uri)).await
    })
    .await;
}

#[tokio::test]
async fn headers_that_hold_secrets() {
    nothing_is_shown_of(&texts(&["abc+def/ghi", "k3y-of-an-api"]), async |server| {
        let headers = [("Authorization", "Bearer abc+def/ghi"), ("x-api-key", "k3y-of-an-api")];
        attempt(&actions(settings()), with_headers(get(server.uri("/")), &headers)).await
    })
    .await;
}

#[tokio::test]
async fn secrets_that_no_target_gets() {
    let key = format!("whsec_{}", BASE64_STANDARD.encode([7; 24]));
    nothing_is_shown_of(&texts(&[&key]), async |server| {
        let authentication = Some(HttpAuthentication::Hmac { secrets: vec![Secret::new(key.clone())] });
        attempt(&actions(settings()), HttpRequest { authentication, ..get(server.uri("/")) }).await
    })
    .await;
    let ca = ca::Ca::new();
    let caller = ca.caller("caller");
    let HttpAuthentication::ClientCertificate { pfx, password, .. } = &caller else { panic!("{caller:?}") };
    let secrets = texts(&[&pfx.expose()[..300], password.expose()]);
    nothing_is_shown_of(&secrets, async |server| {
        let authentication = Some(caller.clone());
        attempt(&actions(settings()), HttpRequest { authentication, ..get(server.uri("/")) }).await
    })
    .await;
}

#[tokio::test]
async fn shared_access_tokens() {
    let signature = "s/ecret+of=";
    let query = "sv=2019-02-02&sp=a&sig=s%2Fecret%2Bof%3D";
    nothing_is_shown_of(&texts(&[signature, query, "s%2Fecret%2Bof%3D"]), async |server| {
        let message = StorageQueueMessage {
            account: "orders".into(),
            queue: "nightly".into(),
            sas_token: Secret::new(format!("?{query}")),
            message: None,
            delivery: None,
        };
        let named = [("orders".to_owned(), server.uri("/"))].into();
        let storage_accounts = Endpoints { named, ..ActionSettings::default().storage_accounts };
        let settings = ActionSettings { storage_accounts, ..settings() };
        order(&actions(settings), &Call::StorageQueue(message)).await
    })
    .await;
}

#[tokio::test]
async fn shared_access_keys() {
    nothing_is_shown_of(&texts(&["s3cret/key+of="]), async |server| {
        let message = ServiceBusMessage {
            namespace: "shop".into(),
            entity: "orders".into(),
            transport: ServiceBusTransport::NotSpecified,
            authentication: Some(SharedAccessKey {
                name: "sender".into(),
                key: Secret::new("s3cret/key+of="),
            }),
            message: None,
            brokered_properties: None,
            custom_properties: None,
        };
        let others = ServiceBusSettings::default().others;
        let shop = Namespace { rest: server.uri(""), ..others };
        let namespaces = BTreeMap::from([("shop".to_owned(), shop)]);
        let service_bus = ServiceBusSettings { namespaces, ..ServiceBusSettings::default() };
        order(&actions(ActionSettings { service_bus, ..settings() }), &Call::ServiceBusQueue(message)).await
    })
    .await;
}

/// A target knows what it was sent, and passes it on to where it redirects.
#[tokio::test]
async fn what_the_target_of_a_redirect_knows() {
    for (status, uses) in [("307 Temporary Redirect", "query"), ("302 Found", "host")] {
        let echo = Server::start(|request| Reply::Keep(answer("200 OK", "", &request.head))).await;
        let port = echo.address.port();
        let first = Server::start(move |request| {
            let basic =
                request.header("authorization")[0].strip_prefix("Basic ").unwrap_or_default().to_owned();
            let location = match uses {
                "query" => format!("http://127.0.0.1:{port}/?login={basic}"),
                _ => format!("http://{}.invalid/", "opensesame"),
            };
            Reply::Keep(answer(status, &format!("Location: {location}\r\n"), ""))
        })
        .await;
        let outcome =
            attempt(&actions(settings()), with_basic(get(first.uri("/")), "bob", "opensesame")).await;
        for secret in ["opensesame", "Ym9iOm9wZW5zZXNhbWU"] {
            assert!(!outcome.message.contains(secret), "{}", outcome.message);
        }
        assert!(outcome.message.contains(model::HIDDEN), "{}", outcome.message);
    }
}

#[tokio::test]
async fn what_the_limit_of_the_history_cuts_in_the_middle() {
    for before in [1000, 1015, 1023, 1024] {
        for form in forms(SECRET) {
            let body = format!("{}{form}", "x".repeat(before));
            let server = Server::start(move |_| server::ok(&body)).await;
            let outcome =
                attempt(&actions(settings()), with_basic(get(server.uri("/")), "bob", SECRET)).await;
            let (_, shown) = outcome.message.split_once(" Body: ").unwrap();
            let expected = format!("{}{}", "x".repeat(before.min(1024)), model::HIDDEN);
            let expected = if before < 1024 { &expected } else { &expected[..1024] };
            assert_eq!(shown, expected, "{form}");
        }
    }
}
