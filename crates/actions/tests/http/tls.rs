//! TLS: who is trusted, and who is not.

use std::sync::Arc;

use base64::{Engine as _, prelude::BASE64_STANDARD};
use p12_keystore::{Certificate, KeyStore, KeyStoreEntry, PrivateKey, PrivateKeyChain};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair, date_time_ymd};
use rustls::{
    RootCertStore, ServerConfig,
    crypto::ring,
    pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer},
    server::{WebPkiClientVerifier, danger::ClientCertVerifier},
};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

use super::*;
use crate::server::{Reply, Request, Server, ok, redirect};

/// An authority of our own.
pub(crate) struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Authority {
    pub(crate) fn new() -> Self {
        let mut params = CertificateParams::new([]).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        Self(CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap())
    }

    fn trusted(&self) -> ActionSettings {
        ActionSettings { extra_roots: self.0.pem().into_bytes(), ..settings() }
    }

    /// A server with a certificate for some names.
    async fn serve(
        &self,
        names: &[&str],
        handler: impl Fn(&Request) -> Reply + Send + Sync + 'static,
    ) -> Server {
        self.serve_verified(names, WebPkiClientVerifier::no_client_auth(), handler).await
    }

    /// The same, and it talks only to those who have a certificate of the same authority.
    async fn serve_known(
        &self,
        names: &[&str],
        handler: impl Fn(&Request) -> Reply + Send + Sync + 'static,
    ) -> Server {
        let mut roots = RootCertStore::empty();
        roots.add(self.0.der().clone()).unwrap();
        let provider = Arc::new(ring::default_provider());
        let verifier = WebPkiClientVerifier::builder_with_provider(roots.into(), provider).build().unwrap();
        self.serve_verified(names, verifier, handler).await
    }

    async fn serve_verified(
        &self,
        names: &[&str],
        verifier: Arc<dyn ClientCertVerifier>,
        handler: impl Fn(&Request) -> Reply + Send + Sync + 'static,
    ) -> Server {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let key = KeyPair::generate().unwrap();
        let certificate = CertificateParams::new(names).unwrap().signed_by(&key, &self.0).unwrap();
        let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.serialize_der()));
        let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_client_cert_verifier(verifier)
            .with_single_cert(vec![certificate.der().clone()], key)
            .unwrap();
        Server::start_on("127.0.0.1:0", Some(TlsAcceptor::from(Arc::new(config))), handler).await
    }

    /// Somebody whom the authority vouches for.
    pub(crate) fn caller(&self, name: &str) -> HttpAuthentication {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new([]).unwrap();
        params.distinguished_name.push(DnType::CommonName, name);
        params.not_after = date_time_ymd(2027, 3, 15);
        let certificate = params.signed_by(&key, &self.0).unwrap();
        let key = PrivateKey::from_der(&key.serialize_der()).unwrap();
        let certificate = Certificate::from_der(certificate.der()).unwrap();
        let mut file = KeyStore::new();
        let entry = PrivateKeyChain::new("id", key, [certificate]);
        file.add_entry("caller", KeyStoreEntry::PrivateKeyChain(entry));
        let pfx = Secret::new(BASE64_STANDARD.encode(file.writer("word").write().unwrap()));
        let password = Secret::new("word");
        let opened = model::certificate::open(&pfx, &password).unwrap();
        HttpAuthentication::ClientCertificate {
            pfx,
            password,
            thumbprint: opened.thumbprint,
            expiration: opened.expiration,
            subject: opened.subject,
        }
    }
}

fn uri(host: &str, server: &Server) -> String {
    format!("https://{host}:{}/", server.address.port())
}

#[tokio::test]
async fn names_and_addresses_of_a_trusted_certificate_are_called() {
    let authority = Authority::new();
    let server = authority.serve(&["localhost", "127.0.0.1"], |_| ok("safe")).await;
    let actions = actions(authority.trusted());
    for host in ["localhost", "127.0.0.1"] {
        for _ in 0..2 {
            let outcome =
                attempt(&actions, with_basic(post(uri(host, &server), "{}"), "user", "secret")).await;
            assert!(outcome.success, "{outcome:?}");
            assert!(outcome.message.contains(&format!("from host '{host}': 'OK'")), "{outcome:?}");
        }
    }
    assert_eq!(server.counts().connections, 2, "one for each name");
    assert_eq!(server.requests()[0].body, b"{}");
}

#[tokio::test]
async fn strangers_are_not_trusted() {
    let authority = Authority::new();
    let server = authority.serve(&["localhost"], |_| ok("")).await;
    assert_failed(
        &attempt(&actions(settings()), get(uri("localhost", &server))).await,
        "failed: TrustFailure The underlying connection was closed: Could not establish trust relationship for the \
         SSL/TLS secure channel (invalid peer certificate: UnknownIssuer",
    );
    // The right authority, but another name.
    let outcome = attempt(&actions(authority.trusted()), get(uri("127.0.0.1", &server))).await;
    assert_failed(&outcome, "TrustFailure");
    assert!(server.requests().is_empty());
}

#[tokio::test]
async fn who_does_not_speak_tls_is_told_apart() {
    let server = Server::start(|_| ok("")).await;
    // A plain server waits for the end of a request that never comes, so this one speaks first.
    let greeter = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = greeter.local_addr().unwrap();
    tokio::spawn(async move {
        let (stream, _) = greeter.accept().await.unwrap();
        stream.writable().await.unwrap();
        stream.try_write(b"HTTP/1.1 400 Bad Request\r\n\r\n").unwrap();
        stream.readable().await.unwrap();
    });
    assert_failed(
        &attempt(&actions(settings()), get(format!("https://{address}/"))).await,
        "SecureChannelFailure The request was aborted: Could not create SSL/TLS secure channel \
         (the other side does not speak TLS)",
    );
    let settings = ActionSettings { tls_timeout: Duration::from_secs(1), ..settings() };
    assert_failed(
        &attempt(&actions(settings), get(uri("127.0.0.1", &server))).await,
        "SecureChannelFailure The request was aborted: Could not create SSL/TLS secure channel \
         (the TLS handshake did not end within 1 second)",
    );
}

#[tokio::test]
async fn there_is_no_way_from_https_to_http() {
    let plain = Server::start(|_| ok("")).await;
    let location = plain.uri("/");
    let authority = Authority::new();
    let server = authority.serve(&["127.0.0.1"], move |_| redirect("302 Found", &location)).await;
    assert_failed(
        &attempt(&actions(authority.trusted()), get(uri("127.0.0.1", &server))).await,
        "ProtocolError The redirection cannot be followed (it leads from https to plain http, host '127.0.0.1')",
    );
    assert!(plain.requests().is_empty());
}

#[tokio::test]
async fn the_way_from_http_to_https_is_open() {
    let authority = Authority::new();
    let safe = authority.serve(&["127.0.0.1"], |_| ok("safe")).await;
    let location = uri("127.0.0.1", &safe);
    let server = Server::start(move |_| redirect("301 Moved Permanently", &location)).await;
    let outcome = attempt(&actions(authority.trusted()), get(server.uri("/"))).await;
    assert!(outcome.success && outcome.message.ends_with(" Body: safe"), "{outcome:?}");
}

#[tokio::test]
async fn a_body_that_breaks_off_under_tls_is_a_failure() {
    let authority = Authority::new();
    let server = authority
        .serve(&["127.0.0.1"], |_| Reply::Close(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf".to_vec()))
        .await;
    let outcome = attempt(&actions(authority.trusted()), get(uri("127.0.0.1", &server))).await;
    assert_failed(&outcome, "ConnectionClosed");
}

fn in_the_name_of(caller: &HttpAuthentication, request: HttpRequest) -> HttpRequest {
    HttpRequest { authentication: Some(caller.clone()), ..request }
}

#[tokio::test]
async fn who_asks_for_a_certificate_gets_it() {
    let authority = Authority::new();
    let server = authority.serve_known(&["localhost"], |_| ok("known")).await;
    let actions = actions(authority.trusted());
    let (one, other) = (authority.caller("one"), authority.caller("other"));
    for caller in [&one, &other, &one, &other] {
        let outcome = attempt(&actions, in_the_name_of(caller, get(uri("localhost", &server)))).await;
        assert!(outcome.success, "{outcome:?}");
        assert!(outcome.message.contains("Body: known"), "{outcome:?}");
    }
    assert_eq!(server.counts().connections, 2, "callers do not share connections, and each keeps its own");

    let outcome = attempt(&actions, get(uri("localhost", &server))).await;
    assert!(!outcome.success, "without a certificate there is no way in: {outcome:?}");
    let stranger = Authority::new().caller("stranger");
    let outcome = attempt(&actions, in_the_name_of(&stranger, get(uri("localhost", &server)))).await;
    assert!(!outcome.success, "{outcome:?}");
    assert_eq!(server.requests().len(), 4);
}

#[tokio::test]
async fn a_certificate_is_not_shown_to_another_host() {
    let authority = Authority::new();
    let known = authority.serve_known(&["127.0.0.1"], |_| ok("")).await;
    let location = uri("127.0.0.1", &known);
    let server =
        authority.serve_known(&["localhost"], move |_| redirect("307 Temporary Redirect", &location)).await;
    let caller = authority.caller("caller");
    let outcome =
        attempt(&actions(authority.trusted()), in_the_name_of(&caller, get(uri("localhost", &server)))).await;
    assert!(!outcome.success, "{outcome:?}");
    assert!(known.requests().is_empty(), "it would have let us in with the certificate");
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test]
async fn the_history_warns_before_a_certificate_expires() {
    let authority = Authority::new();
    let server = authority.serve_known(&["localhost"], |_| ok("known")).await;
    // The attempt is of 1 March.
    let caller = authority.caller("caller");
    let outcome =
        attempt(&actions(authority.trusted()), in_the_name_of(&caller, get(uri("localhost", &server)))).await;
    assert!(outcome.success, "{outcome:?}");
    let warning = " Warning: the client certificate 'CN=caller' expires on 2027-03-15T00:00:00Z.";
    assert!(outcome.message.ends_with(warning), "{outcome:?}");
}
