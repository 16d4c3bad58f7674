//! A certificate authority of our own, and servers and callers whom it vouches for.

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
use tokio_rustls::TlsAcceptor;

use super::*;
use crate::server::{Reply, Request, Server};

pub(crate) struct Ca(CertifiedIssuer<'static, KeyPair>);

impl Ca {
    pub(crate) fn new() -> Self {
        let mut params = CertificateParams::new([]).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        Self(CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap())
    }

    pub(crate) fn trusted(&self) -> ActionSettings {
        ActionSettings { extra_roots: self.0.pem().into_bytes(), ..settings() }
    }

    /// A server with a certificate for some names.
    pub(crate) async fn serve(
        &self,
        names: &[&str],
        handler: impl Fn(&Request) -> Reply + Send + Sync + 'static,
    ) -> Server {
        let anybody = WebPkiClientVerifier::no_client_auth();
        self.serve_verified("127.0.0.1:0", named(names), anybody, handler).await
    }

    /// The same at an address, such as that of a server that is gone.
    pub(crate) async fn serve_at(
        &self,
        address: &str,
        names: &[&str],
        handler: impl Fn(&Request) -> Reply + Send + Sync + 'static,
    ) -> Server {
        self.serve_verified(address, named(names), WebPkiClientVerifier::no_client_auth(), handler).await
    }

    /// The same with a certificate of the past.
    pub(crate) async fn serve_expired(
        &self,
        names: &[&str],
        handler: impl Fn(&Request) -> Reply + Send + Sync + 'static,
    ) -> Server {
        let mut params = named(names);
        params.not_after = date_time_ymd(2020, 1, 1);
        self.serve_verified("127.0.0.1:0", params, WebPkiClientVerifier::no_client_auth(), handler).await
    }

    /// The same, and it talks only to those who have a certificate of the same authority.
    pub(crate) async fn serve_known(
        &self,
        names: &[&str],
        handler: impl Fn(&Request) -> Reply + Send + Sync + 'static,
    ) -> Server {
        let mut roots = RootCertStore::empty();
        roots.add(self.0.der().clone()).unwrap();
        let provider = Arc::new(ring::default_provider());
        let verifier = WebPkiClientVerifier::builder_with_provider(roots.into(), provider).build().unwrap();
        self.serve_verified("127.0.0.1:0", named(names), verifier, handler).await
    }

    async fn serve_verified(
        &self,
        address: &str,
        params: CertificateParams,
        verifier: Arc<dyn ClientCertVerifier>,
        handler: impl Fn(&Request) -> Reply + Send + Sync + 'static,
    ) -> Server {
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.0).unwrap();
        let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.serialize_der()));
        let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_client_cert_verifier(verifier)
            .with_single_cert(vec![certificate.der().clone()], key)
            .unwrap();
        Server::start_on(address, Some(TlsAcceptor::from(Arc::new(config))), handler).await
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

pub(crate) fn uri(host: &str, server: &Server) -> String {
    format!("https://{host}:{}/", server.address.port())
}

fn named(names: &[&str]) -> CertificateParams {
    CertificateParams::new(names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>()).unwrap()
}
