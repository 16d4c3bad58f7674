//! The certificate of the server, and its key: read from files, and read again when they change.
//!
//! Certificates are renewed by others, often every few weeks, and nobody should have to stop the server for it. Files that
//! cannot be used, as when only one of the two is new, leave the old certificate in place, and that is said once.

use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use anyhow::Context as _;
use rustls::ServerConfig;
use rustls::crypto::ring::default_provider;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use tokio::time::interval;
use tokio_rustls::TlsAcceptor;
use tracing::{info, warn};

/// How often the files are looked at.
const LOOK_EVERY: Duration = Duration::from_secs(2);

/// See the module.
#[derive(Debug)]
pub(crate) struct Certificates {
    certificate: PathBuf,
    key: PathBuf,
    /// What the files held at the start.
    first: Files,
    current: RwLock<Arc<CertifiedKey>>,
}

/// What the files hold, right or wrong.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Files {
    certificate: Vec<u8>,
    key: Vec<u8>,
}

impl Certificates {
    /// Those of two files.
    ///
    /// # Errors
    ///
    /// When they cannot be used.
    pub(crate) fn read(certificate: PathBuf, key: PathBuf) -> anyhow::Result<Arc<Self>> {
        let first = Files::read(&certificate, &key)?;
        let current = RwLock::new(Arc::new(first.certified()?));
        Ok(Arc::new(Self { certificate, key, first, current }))
    }

    /// Looks after the files, until it is stopped.
    pub(crate) async fn watch(self: Arc<Self>) {
        let mut seen = Some(self.first.clone());
        let mut looks = interval(LOOK_EVERY);
        loop {
            looks.tick().await;
            let certificates = Arc::clone(&self);
            let found = tokio::task::spawn_blocking(move || {
                Files::read(&certificates.certificate, &certificates.key)
            });
            match found.await {
                Ok(Ok(files)) if seen.as_ref() == Some(&files) => {}
                Ok(Ok(files)) => {
                    self.renew(&files);
                    seen = Some(files);
                }
                Ok(Err(error)) => {
                    // The next look tells the same, so it is told once.
                    if seen.take().is_some() {
                        warn!(
                            error = format!("{error:#}"),
                            "the certificate cannot be read; the old one is kept"
                        );
                    }
                }
                Err(error) => warn!(%error, "the certificate is not looked at"),
            }
        }
    }

    pub(super) fn renew(&self, files: &Files) {
        match files.certified() {
            Ok(new) => {
                *self.current.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(new);
                info!(file = %self.certificate.display(), "the certificate was renewed");
            }
            Err(error) => {
                let file = self.certificate.display();
                warn!(%file, error = format!("{error:#}"), "the certificate cannot be used; the old one is kept");
            }
        }
    }
}

impl std::fmt::Debug for Files {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Files(…)")
    }
}

impl Files {
    pub(super) fn read(certificate: &Path, key: &Path) -> anyhow::Result<Self> {
        let read =
            |path: &Path, name| std::fs::read(path).with_context(|| format!("{name}: {}", path.display()));
        Ok(Self {
            certificate: read(certificate, "server.certificate-file")?,
            key: read(key, "server.key-file")?,
        })
    }

    pub(super) fn certified(&self) -> anyhow::Result<CertifiedKey> {
        let chain: Vec<_> = CertificateDer::pem_slice_iter(&self.certificate)
            .collect::<Result<_, _>>()
            .context("server.certificate-file: it is no PEM file of certificates")?;
        anyhow::ensure!(!chain.is_empty(), "server.certificate-file: there is no certificate in it");
        let key = PrivateKeyDer::from_pem_slice(&self.key)
            .context("server.key-file: there is no private key in it, as PEM and not encrypted")?;
        CertifiedKey::from_der(chain, key, &default_provider())
            .context("server.key-file: it cannot be used with the certificate")
    }
}

impl ResolvesServerCert for Certificates {
    fn resolve(&self, _hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(Arc::clone(&self.current.read().unwrap_or_else(PoisonError::into_inner)))
    }
}

/// Who takes TLS connections, with the certificate of the moment.
pub(super) fn acceptor(certificates: &Arc<Certificates>) -> anyhow::Result<TlsAcceptor> {
    let mut config = ServerConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_cert_resolver(Arc::clone(certificates) as Arc<dyn ResolvesServerCert>);
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}
