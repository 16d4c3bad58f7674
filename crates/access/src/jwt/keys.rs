//! The keys that an issuer publishes.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::signature::{self, RsaPublicKeyComponents, UnparsedPublicKey};
use serde_json::Value;

use super::Fault;

/// The most keys of an issuer that are looked at.
const MOST: usize = 100;

/// Keys, as a JSON web key set has them.
#[derive(Debug, Clone, Default)]
pub struct KeySet(Vec<Key>);

#[derive(Debug, Clone)]
struct Key {
    id: Option<String>,
    /// The one algorithm that it is for, where it says so.
    algorithm: Option<String>,
    material: Material,
}

#[derive(Debug, Clone)]
enum Material {
    Rsa { n: Vec<u8>, e: Vec<u8> },
    P256(Vec<u8>),
    P384(Vec<u8>),
    Ed25519(Vec<u8>),
}

impl KeySet {
    /// Reads a set. Keys of kinds that are not known, or that are for something else, are left out.
    ///
    /// # Errors
    ///
    /// When the document is no set of keys.
    pub fn read(document: &Value) -> Result<Self, String> {
        let keys = document["keys"].as_array().ok_or("the document has no list of keys")?;
        Ok(Self(keys.iter().take(MOST).filter_map(Key::read).collect()))
    }

    /// Whether there is a key of this name.
    pub fn has(&self, kid: &str) -> bool {
        self.0.iter().any(|key| key.id.as_deref() == Some(kid))
    }

    /// Whether no key was found.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether a signature is right.
    pub(super) fn verify(
        &self,
        algorithm: &str,
        kid: Option<&str>,
        signed: &[u8],
        given: &[u8],
    ) -> Result<(), Fault> {
        if !ALLOWED.contains(&algorithm) {
            return Err(Fault::Algorithm);
        }
        let named: Vec<&Key> = match kid {
            Some(kid) => self.0.iter().filter(|key| key.id.as_deref() == Some(kid)).collect(),
            // Without a name there is no choice to be made by whoever wrote the token.
            None if self.0.len() == 1 => self.0.iter().collect(),
            None => Vec::new(),
        };
        if named.is_empty() {
            return Err(Fault::UnknownKey);
        }
        let mut fault = Fault::Algorithm;
        for key in named {
            match key.verify(algorithm, signed, given) {
                Some(true) => return Ok(()),
                Some(false) => fault = Fault::Signature,
                None => {}
            }
        }
        Err(fault)
    }
}

/// What may be used at all; the key says which of them.
const ALLOWED: [&str; 7] = ["RS256", "RS384", "RS512", "PS256", "ES256", "ES384", "EdDSA"];

impl Key {
    fn read(key: &Value) -> Option<Self> {
        let text = |name: &str| key[name].as_str();
        let bytes = |name: &str| URL_SAFE_NO_PAD.decode(text(name)?.trim_end_matches('=')).ok();
        if text("use").is_some_and(|what| what != "sig") {
            return None;
        }
        // A point of the curve, uncompressed.
        let point = |length: usize| {
            let (x, y) = (bytes("x")?, bytes("y")?);
            (x.len() == length && y.len() == length).then(|| [&[4][..], &x, &y].concat())
        };
        let material = match (text("kty")?, text("crv")) {
            ("RSA", _) => Material::Rsa { n: bytes("n")?, e: bytes("e")? },
            ("EC", Some("P-256")) => Material::P256(point(32)?),
            ("EC", Some("P-384")) => Material::P384(point(48)?),
            ("OKP", Some("Ed25519")) => Material::Ed25519(bytes("x").filter(|x| x.len() == 32)?),
            _ => return None,
        };
        let owned = |name: &str| text(name).map(str::to_owned);
        Some(Self { id: owned("kid"), algorithm: owned("alg"), material })
    }

    /// `None` where the algorithm is not for this key.
    fn verify(&self, algorithm: &str, signed: &[u8], given: &[u8]) -> Option<bool> {
        if self.algorithm.as_deref().is_some_and(|only| only != algorithm) {
            return None;
        }
        let plain = |with: &'static dyn signature::VerificationAlgorithm, key: &[u8]| {
            Some(UnparsedPublicKey::new(with, key).verify(signed, given).is_ok())
        };
        match (&self.material, algorithm) {
            (Material::Rsa { n, e }, _) => {
                let with = match algorithm {
                    "RS256" => &signature::RSA_PKCS1_2048_8192_SHA256,
                    "RS384" => &signature::RSA_PKCS1_2048_8192_SHA384,
                    "RS512" => &signature::RSA_PKCS1_2048_8192_SHA512,
                    "PS256" => &signature::RSA_PSS_2048_8192_SHA256,
                    _ => return None,
                };
                Some(RsaPublicKeyComponents { n, e }.verify(with, signed, given).is_ok())
            }
            (Material::P256(key), "ES256") => plain(&signature::ECDSA_P256_SHA256_FIXED, key),
            (Material::P384(key), "ES384") => plain(&signature::ECDSA_P384_SHA384_FIXED, key),
            (Material::Ed25519(key), "EdDSA") => plain(&signature::ED25519, key),
            _ => None,
        }
    }
}
