//! TLS: whom we trust, and how we say so.

use std::sync::Arc;

use rustls::{
    ClientConfig, ConfigBuilder, RootCertStore,
    client::WantsClientCert,
    crypto::ring,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
};

use crate::settings::SettingsError;

/// The configuration of outbound TLS without a certificate of ours.
pub(crate) fn client_config(extra_roots: &[u8]) -> Result<ClientConfig, SettingsError> {
    Ok(speaking_http(trusting(extra_roots)?.with_no_client_auth()))
}

/// The same with a certificate of ours and what vouches for it, for servers that ask who calls.
pub(crate) fn client_config_of(
    extra_roots: &[u8],
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
) -> Result<ClientConfig, SettingsError> {
    Ok(speaking_http(trusting(extra_roots)?.with_client_auth_cert(chain, key)?))
}

fn speaking_http(mut config: ClientConfig) -> ClientConfig {
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    config
}

/// Whom we trust: the machine's certificates, or those that come with the program where the machine has none (a bare
/// container), and the operator's own.
fn trusting(extra_roots: &[u8]) -> Result<ConfigBuilder<ClientConfig, WantsClientCert>, SettingsError> {
    let mut roots = RootCertStore::empty();
    // Certificates of the machine that cannot be read are left out: the others still serve.
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if roots.is_empty() {
        roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
    }
    let before = roots.len();
    for certificate in CertificateDer::pem_slice_iter(extra_roots) {
        let certificate = certificate.map_err(|e| SettingsError::ExtraRoots(e.to_string()))?;
        roots.add(certificate).map_err(|e| SettingsError::ExtraRoots(e.to_string()))?;
    }
    if roots.len() == before && !extra_roots.is_empty() {
        return Err(SettingsError::ExtraRoots("there is no certificate (PEM) in it".to_owned()));
    }
    Ok(ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_extra_root_that_cannot_be_read_is_named() {
        let broken = b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
        let error = client_config(broken).unwrap_err().to_string();
        assert!(error.starts_with("tls.ca-file: "), "{error}");
        let error = client_config(b"something else\n").unwrap_err().to_string();
        assert_eq!(error, "tls.ca-file: there is no certificate (PEM) in it");
        assert!(client_config(b"").is_ok());
    }
}
