//! Tokens of an issuer, which is a server of its own: with TLS and a certificate of its own authority, with keys that it
//! changes, and away at times.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use access::Role;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use percent_encoding::percent_decode_str;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _};
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use serde_json::{Value, json};
use server::app::App;
use server::guard::{Guard, IssuerSettings, OidcClient, Patience};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio::sync::Notify;
use tokio_rustls::TlsAcceptor;

use super::world::World;

/// The moment at which the world begins.
pub(crate) const NOW: i64 = 1_798_761_600;

/// As whom the issuer knows the server, and what proves that.
pub(crate) const CLIENT: &str = "punctual portal";
const SECRET: &str = "s3cr3t & more";

fn b64(bytes: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

pub(crate) struct Key {
    id: String,
    pair: EcdsaKeyPair,
}

impl Key {
    pub(crate) fn new(id: &str) -> Self {
        let random = SystemRandom::new();
        let document =
            EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random).expect("a key");
        let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, document.as_ref(), &random);
        Self { id: id.to_owned(), pair: pair.expect("a key") }
    }

    fn public(&self) -> Value {
        let (x, y) = self.pair.public_key().as_ref()[1..].split_at(32);
        json!({"kty": "EC", "crv": "P-256", "use": "sig", "kid": self.id, "x": b64(x), "y": b64(y)})
    }

    fn sign(&self, claims: &Value) -> String {
        let header = json!({"alg": "ES256", "kid": self.id, "typ": "JWT"});
        let signed = format!("{}.{}", b64(header.to_string()), b64(claims.to_string()));
        let signature = self.pair.sign(&SystemRandom::new(), signed.as_bytes()).expect("a signature");
        format!("{signed}.{}", b64(signature))
    }
}

/// A code that was given out, and what is answered to whoever exchanges it.
struct Code {
    redirect_uri: String,
    challenge: String,
    token: String,
}

type Codes = Arc<Mutex<HashMap<String, Code>>>;

/// An issuer that can be asked.
pub(crate) struct Issuer {
    pub(crate) address: String,
    roots: Vec<u8>,
    /// The keys that it publishes; `None` where it is out of order.
    keys: Arc<Mutex<Option<Value>>>,
    asked: Arc<AtomicUsize>,
    /// Whether it takes calls and answers none.
    silent: Arc<AtomicBool>,
    /// Somebody waits for an answer of the silent one.
    waits: Arc<Notify>,
    codes: Codes,
    given: AtomicUsize,
}

impl Issuer {
    pub(crate) async fn start(keys: &[&Key]) -> Self {
        let mut params = CertificateParams::new([]).expect("names");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let ca =
            CertifiedIssuer::self_signed(params, KeyPair::generate().expect("a key")).expect("an authority");
        let key = KeyPair::generate().expect("a key");
        let params = CertificateParams::new(["localhost".to_owned()]).expect("names");
        let certificate = params.signed_by(&key, &ca).expect("a certificate");
        let private = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.serialize_der()));
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let tls = rustls::ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("versions")
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone()], private)
            .expect("a certificate");
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = format!("https://localhost:{}", listener.local_addr().expect("an address").port());
        let issuer = Self {
            address: address.clone(),
            roots: ca.pem().into_bytes(),
            keys: Arc::default(),
            asked: Arc::default(),
            silent: Arc::default(),
            waits: Arc::default(),
            codes: Arc::default(),
            given: AtomicUsize::new(0),
        };
        issuer.publish(keys);
        let (acceptor, keys, asked) =
            (TlsAcceptor::from(Arc::new(tls)), Arc::clone(&issuer.keys), Arc::clone(&issuer.asked));
        let (codes, silent) = (Arc::clone(&issuer.codes), Arc::clone(&issuer.silent));
        let waits = Arc::clone(&issuer.waits);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let Ok(mut stream) = acceptor.accept(stream).await else { continue };
                let mut head = Vec::new();
                while !head.ends_with(b"\r\n\r\n") {
                    match stream.read_u8().await {
                        Ok(byte) => head.push(byte),
                        Err(_) => break,
                    }
                }
                let head = String::from_utf8_lossy(&head).into_owned();
                let length = head
                    .lines()
                    .find_map(|line| line.to_lowercase().strip_prefix("content-length: ")?.parse().ok());
                let mut form = vec![0; length.unwrap_or(0)];
                if stream.read_exact(&mut form).await.is_err() {
                    continue;
                }
                if silent.load(Ordering::SeqCst) {
                    waits.notify_one();
                    std::future::pending::<()>().await;
                }
                let published = keys.lock().expect("not poisoned").clone();
                let (status, body) = match published {
                    None => ("500 Internal Server Error", json!({})),
                    Some(_) if head.starts_with("GET /.well-known/openid-configuration ") => (
                        "200 OK",
                        json!({
                            "issuer": address,
                            "jwks_uri": format!("{address}/keys"),
                            "authorization_endpoint": format!("{address}/authorize"),
                            "token_endpoint": format!("{address}/token"),
                        }),
                    ),
                    Some(_) if head.starts_with("POST /token ") => {
                        match exchange(&codes, &String::from_utf8_lossy(&form)) {
                            Some(token) => ("200 OK", json!({"token_type": "Bearer", "id_token": token})),
                            None => ("400 Bad Request", json!({"error": "invalid_grant"})),
                        }
                    }
                    Some(keys) => {
                        asked.fetch_add(1, Ordering::SeqCst);
                        ("200 OK", keys)
                    }
                };
                let body = body.to_string();
                let answer = format!(
                    "HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
                    body.len()
                );
                let _ = stream.write_all(answer.as_bytes()).await;
                let _ = stream.shutdown().await;
            }
        });
        issuer
    }

    fn publish(&self, keys: &[&Key]) {
        let keys: Vec<Value> = keys.iter().map(|key| key.public()).collect();
        *self.keys.lock().expect("not poisoned") = Some(json!({"keys": keys}));
    }

    /// Somebody signs in where a browser was sent; where it is sent back to.
    pub(crate) fn sign_in(&self, place: &str, claims: &Value, key: &Key) -> String {
        let asked = pairs(place.split_once('?').expect("a query").1);
        let code = format!("code {}", self.given.fetch_add(1, Ordering::SeqCst));
        let (redirect_uri, challenge) = (asked["redirect_uri"].clone(), asked["code_challenge"].clone());
        let back = format!("{redirect_uri}?code={}&state={}", code.replace(' ', "%20"), asked["state"]);
        let given = Code { redirect_uri, challenge, token: key.sign(claims) };
        self.codes.lock().expect("not poisoned").insert(code, given);
        back
    }

    /// What a token for the portal says.
    pub(crate) fn identity(&self, nonce: &str) -> Value {
        json!({
            "iss": self.address, "aud": CLIENT, "sub": "s-1", "oid": "o-1", "groups": ["g-1"], "nonce": nonce,
            "exp": NOW + 300, "iat": NOW, "preferred_username": "ann@x.test",
        })
    }

    pub(crate) fn break_down(&self) {
        *self.keys.lock().expect("not poisoned") = None;
    }

    fn claims(&self) -> Value {
        json!({
            "iss": self.address, "aud": "api://punctual", "sub": "ann", "oid": "o-1", "groups": ["g-1"],
            "scp": "user_impersonation", "exp": NOW + 7 * 24 * 3600, "nbf": NOW - 10, "preferred_username": "ann@x.test",
        })
    }

    /// A world that believes this issuer.
    pub(crate) fn world(&self) -> World {
        let settings = IssuerSettings {
            issuer: self.address.clone(),
            audiences: vec!["api://punctual".to_owned()],
            skew: std::time::Duration::from_secs(60),
            extra_roots: self.roots.clone(),
            client: Some(OidcClient { id: CLIENT.to_owned(), secret: Some(model::Secret::new(SECRET)) }),
        };
        let guard = Guard::watchful(Vec::new(), Patience::default()).believing(settings).expect("an issuer");
        World::with(|app| App { guard: Arc::new(guard), ..app })
    }
}

/// The token for a code, once, for whoever knows all that belongs to it.
fn exchange(codes: &Codes, form: &str) -> Option<String> {
    let given = pairs(form);
    let is = |name: &str, value: &str| given.get(name).is_some_and(|given| given == value);
    let code = codes.lock().expect("not poisoned").remove(given.get("code")?)?;
    let hash = b64(ring::digest::digest(&ring::digest::SHA256, given.get("code_verifier")?.as_bytes()));
    let is_right = is("grant_type", "authorization_code")
        && is("client_id", CLIENT)
        && is("client_secret", SECRET)
        && is("redirect_uri", &code.redirect_uri)
        && hash == code.challenge;
    is_right.then_some(code.token)
}

pub(crate) fn pairs(form: &str) -> HashMap<String, String> {
    let decoded = |text: &str| percent_decode_str(text).decode_utf8_lossy().into_owned();
    let pairs = form.split('&').filter_map(|pair| pair.split_once('='));
    pairs.map(|(name, value)| (name.to_owned(), decoded(value))).collect()
}

fn with(mut claims: Value, name: &str, value: Value) -> Value {
    claims[name] = value;
    claims
}

#[tokio::test]
async fn tokens_of_the_issuer_are_believed_as_far_as_they_are_right() {
    let key = Key::new("k1");
    let issuer = Issuer::start(&[&key]).await;
    let world = issuer.world();
    let owner = world.token(Role::Owner, "/").await;
    let assign = async |principal: &str, scope: &str| {
        let body = json!({"principal": principal, "role": "Reader", "scope": scope});
        world.as_holder(&owner, "POST", "/api/roles/assign", Some(&body)).await.expect(201);
    };
    let subscription = "/subscriptions/s?api-version=2020-06-01";
    let good = key.sign(&issuer.claims());
    // Known, and without a role: what is there is not to be seen.
    let me = world.as_holder(&good, "GET", "/api/session", None).await.expect(200).body;
    assert_eq!((&me["who"], &me["name"]), (&json!("user:o-1"), &json!("ann@x.test")));
    world.as_holder(&good, "GET", subscription, None).await.expect(404);
    // A role of a group is one of whoever is in it.
    assign("group:g-1", "/subscriptions/s").await;
    world.as_holder(&good, "GET", subscription, None).await.expect(200);
    let outsider = key.sign(&with(issuer.claims(), "groups", json!(["g-2"])));
    world.as_holder(&outsider, "GET", subscription, None).await.expect(404);
    // A program is another principal than a person who uses it.
    assign("app:p-1", "/subscriptions/s").await;
    let person = with(with(issuer.claims(), "appid", json!("p-1")), "groups", json!([]));
    world.as_holder(&key.sign(&person), "GET", subscription, None).await.expect(404);
    let program = with(with(person, "scp", json!("")), "sub", json!("o-1"));
    world.as_holder(&key.sign(&program), "GET", subscription, None).await.expect(200);

    let forger = Key::new("k1");
    let stranger = Key::new("k9");
    let unsigned = {
        let signed: Vec<&str> = good.split('.').collect();
        format!("{}.{}.", b64(json!({"alg": "none", "kid": "k1"}).to_string()), signed[1])
    };
    let confused = {
        let signed = format!(
            "{}.{}",
            b64(json!({"alg": "HS256", "kid": "k1"}).to_string()),
            good.split('.').nth(1).expect("a part")
        );
        let secret = ring::hmac::Key::new(ring::hmac::HMAC_SHA256, key.public().to_string().as_bytes());
        format!("{signed}.{}", b64(ring::hmac::sign(&secret, signed.as_bytes())))
    };
    for (token, code) in [
        (forger.sign(&issuer.claims()), "InvalidAuthenticationToken"),
        (stranger.sign(&issuer.claims()), "InvalidAuthenticationToken"),
        (unsigned, "InvalidAuthenticationToken"),
        (confused, "InvalidAuthenticationToken"),
        (key.sign(&with(issuer.claims(), "aud", json!("api://other"))), "InvalidAuthenticationToken"),
        (key.sign(&with(issuer.claims(), "iss", json!("https://evil.test"))), "InvalidAuthenticationToken"),
        (key.sign(&with(issuer.claims(), "nbf", json!(NOW + 61))), "InvalidAuthenticationToken"),
        (key.sign(&with(issuer.claims(), "exp", json!(NOW - 60))), "ExpiredAuthenticationToken"),
    ] {
        let reply = world.as_holder(&token, "GET", "/api/jobs", None).await.expect(401);
        assert_eq!(reply.body["error"]["code"], code, "{}", reply.text);
        assert!(!reply.text.contains(&token), "{}", reply.text);
    }
    // Tokens of our own hold beside them.
    world.as_holder(&owner, "GET", "/api/jobs", None).await.expect(200);
}

#[tokio::test]
async fn keys_change_and_the_issuer_may_be_away() {
    let (first, second) = (Key::new("k1"), Key::new("k2"));
    let issuer = Issuer::start(&[&first]).await;
    let world = issuer.world();
    let at = |seconds: i64| world.clock.set(model::Timestamp::from_second(NOW + seconds).expect("a time"));
    let call =
        async |key: &Key| world.as_holder(&key.sign(&issuer.claims()), "GET", "/api/jobs", None).await.status;
    at(0);
    for _ in 0..5 {
        assert_eq!(call(&first).await, 200);
    }
    assert_eq!(issuer.asked.load(Ordering::SeqCst), 1);
    // A key that is not known is asked for, but not each time.
    issuer.publish(&[&first, &second]);
    for _ in 0..5 {
        assert_eq!(call(&second).await, 401);
    }
    assert_eq!(issuer.asked.load(Ordering::SeqCst), 1);
    at(10);
    for _ in 0..5 {
        assert_eq!((call(&second).await, call(&first).await), (200, 200));
    }
    assert_eq!(issuer.asked.load(Ordering::SeqCst), 2);
    // A key that is withdrawn holds as long as keys are kept, and no longer.
    issuer.publish(&[&second]);
    at(3000);
    assert_eq!(call(&first).await, 200);
    at(3611);
    assert_eq!((call(&first).await, call(&second).await), (401, 200));
    assert_eq!(issuer.asked.load(Ordering::SeqCst), 3);
    // Away: what is known holds for a day.
    issuer.break_down();
    at(3611 + 24 * 3600 - 1);
    assert_eq!(call(&second).await, 200);
    at(3611 + 24 * 3600);
    assert_eq!(call(&second).await, 503);
    issuer.publish(&[&second]);
    at(3611 + 24 * 3600 + 20);
    assert_eq!(call(&second).await, 200);
}

/// Anybody can send a token that names a key which nobody knows, and so have the issuer asked.
#[tokio::test]
async fn nobody_waits_for_an_issuer_that_does_not_answer_while_its_keys_are_known() {
    let (known, unknown) = (Key::new("k1"), Key::new("k2"));
    let issuer = Issuer::start(&[&known]).await;
    let world = issuer.world();
    let at = |seconds: i64| world.clock.set(model::Timestamp::from_second(NOW + seconds).expect("a time"));
    let call =
        async |key: &Key| world.as_holder(&key.sign(&issuer.claims()), "GET", "/api/jobs", None).await.status;
    at(0);
    assert_eq!(call(&known).await, 200);
    issuer.silent.store(true, Ordering::SeqCst);
    at(10);
    let attacker = call(&unknown);
    tokio::pin!(attacker);
    tokio::select! {
        status = &mut attacker => panic!("answered {status} before the issuer was asked"),
        () = issuer.waits.notified() => {}
    }
    // The issuer is being asked. That concerns nobody else, not even when what is known has become old.
    for seconds in [10, 3611, 3621] {
        at(seconds);
        tokio::select! {
            biased;
            status = &mut attacker => panic!("others waited until the issuer was given up ({status})"),
            status = call(&known) => assert_eq!(status, 200),
        }
    }
}

/// Whoever has no certificate of an authority that we trust is no issuer.
#[tokio::test]
async fn an_issuer_has_to_show_its_certificate() {
    let key = Key::new("k1");
    let issuer = Issuer { roots: Vec::new(), ..Issuer::start(&[&key]).await };
    let world = issuer.world();
    world.as_holder(&key.sign(&issuer.claims()), "GET", "/api/jobs", None).await.expect(503);
}
