//! Client certificates: a PKCS #12 file, opened.
//!
//! It is opened twice: when a job is written, to say what is in it and to refuse what cannot be used, and before a call
//! that needs the key. Nothing here asks whether the certificate is trusted; that is for the called side.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_PAD_INDIFFERENT;
use jiff::Timestamp;
use p12_keystore::error::Error;
use p12_keystore::{CertificateBag, Pkcs12Archive};
use sha1::{Digest as _, Sha1};
use x509_parser::prelude::{FromDer as _, X509Certificate};

use crate::Secret;

/// Who we are to the called side.
pub struct Identity {
    /// The key's own certificate and those that vouch for it, in this order, as DER.
    pub chain: Vec<Vec<u8>>,
    /// The private key: PKCS #8, as DER.
    pub key: Vec<u8>,
    /// SHA-1 of the certificate, in upper-case hexadecimal digits.
    pub thumbprint: String,
    /// Whose it is: `CN=…`.
    pub subject: String,
    /// Its last moment.
    pub expiration: Timestamp,
}

/// Why a file cannot be opened or used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PfxFault {
    /// The text is no Base64.
    #[error("a text that is not Base64")]
    NotBase64,
    /// The bytes are something else, or damaged.
    #[error("something that is no PKCS #12 file, or a damaged one")]
    NotPkcs12,
    /// Encrypted in a way that is not understood.
    #[error("a PKCS #12 file that is encrypted in a way that is not known here")]
    UnknownEncryption,
    /// The password does not open it.
    #[error("a PKCS #12 file that the password does not open")]
    WrongPassword,
    /// There is no private key in it.
    #[error("a PKCS #12 file without a private key")]
    NoKey,
    /// There is no certificate in it, or none of the key's.
    #[error("a PKCS #12 file without a certificate for its private key")]
    NoCertificate,
}

/// Opens a PKCS #12 file, given in Base64. White space in the Base64 is as people paste it.
///
/// # Errors
///
/// When it cannot be opened, or has no key with a certificate.
pub fn open(pfx: &Secret, password: &Secret) -> Result<Identity, PfxFault> {
    let text: String = pfx.expose().chars().filter(|c| !c.is_ascii_whitespace()).collect();
    let bytes = STANDARD_PAD_INDIFFERENT.decode(text).map_err(|_| PfxFault::NotBase64)?;
    let archive = Pkcs12Archive::from_pkcs12(&bytes, password.expose()).map_err(|error| fault_of(&error))?;
    // With several keys in one file, the first is the one that other programs take too.
    let key = archive.keys.first().ok_or(PfxFault::NoKey)?;
    let id = key.local_key_id.as_ref().map(AsRef::as_ref);
    let of_key = |bag: &&CertificateBag| id.is_some() && bag.local_key_id.as_deref() == id;
    let own = match archive.certs.iter().find(of_key) {
        Some(own) => own,
        // Files without these ids have mostly one certificate.
        None if archive.certs.len() == 1 => &archive.certs[0],
        None => return Err(PfxFault::NoCertificate),
    };
    let der = own.cert.as_der();
    let (_, certificate) = X509Certificate::from_der(der).map_err(|_| PfxFault::NotPkcs12)?;
    let expiration = Timestamp::from_second(certificate.validity().not_after.timestamp());
    Ok(Identity {
        chain: chain(&archive.certs, own),
        key: key.key.as_der().to_vec(),
        thumbprint: Sha1::digest(der).iter().map(|byte| format!("{byte:02X}")).collect(),
        subject: certificate.subject().to_string(),
        expiration: expiration.map_err(|_| PfxFault::NotPkcs12)?,
    })
}

/// A certificate, its issuer's, that one's issuer's and so on, as far as they are in the file.
fn chain(all: &[CertificateBag], own: &CertificateBag) -> Vec<Vec<u8>> {
    let mut chain = vec![&own.cert];
    while let Some(issuer) = all.iter().map(|bag| &bag.cert).find(|cert| {
        let last = chain[chain.len() - 1];
        // A root vouches for itself: it is not sent, and it ends the chain.
        cert.subject() == last.issuer() && cert.subject() != cert.issuer() && !chain.contains(cert)
    }) {
        chain.push(issuer);
    }
    chain.into_iter().map(|cert| cert.as_der().to_vec()).collect()
}

fn fault_of(error: &Error) -> PfxFault {
    match error {
        Error::MacError(_) | Error::UnpadError | Error::Pkcs5Error(_) => PfxFault::WrongPassword,
        Error::UnsupportedEncryptionScheme | Error::UnsupportedMacAlgorithm | Error::InvalidParameters => {
            PfxFault::UnknownEncryption
        }
        Error::InvalidPrivateKey => PfxFault::NoKey,
        _ => PfxFault::NotPkcs12,
    }
}
