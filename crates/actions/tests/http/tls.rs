//! TLS: who is trusted, and who is not.

use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::{
    ServerConfig,
    crypto::ring,
    pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer},
};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

use super::*;
use crate::server::{Reply, Request, Server, ok, redirect};

/// An authority of our own.
struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Authority {
    fn new() -> Self {
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
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let key = KeyPair::generate().unwrap();
        let certificate = CertificateParams::new(names).unwrap().signed_by(&key, &self.0).unwrap();
        let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.serialize_der()));
        let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone()], key)
            .unwrap();
        Server::start_on("127.0.0.1:0", Some(TlsAcceptor::from(Arc::new(config))), handler).await
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
    let settings = ActionSettings { connect_timeout: Duration::from_secs(1), ..settings() };
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
