//! Tokens that are right, and all the ways to be wrong. Signatures are made with ring, so nothing here is recorded; ring
//! makes no RSA keys, so the one in `rsa_of_tests.txt` is there for these tests alone.

use base64::engine::general_purpose::STANDARD;
use ring::rand::SystemRandom;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, ECDSA_P384_SHA384_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair,
    KeyPair as _, RSA_PKCS1_SHA256, RSA_PKCS1_SHA384, RSA_PKCS1_SHA512, RSA_PSS_SHA256, RsaEncoding,
    RsaKeyPair, RsaPublicKeyComponents,
};
use serde_json::json;

use super::*;

const NOW: i64 = 1_800_000_000;

fn b64(bytes: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

enum Signer {
    Rsa(RsaKeyPair, &'static str),
    Ed(Ed25519KeyPair),
    Ec(EcdsaKeyPair, &'static str),
}

impl Signer {
    fn rsa(algorithm: &'static str) -> Self {
        let text: String = include_str!("rsa_of_tests.txt").split_whitespace().collect();
        let document = STANDARD.decode(text).expect("base64");
        Self::Rsa(RsaKeyPair::from_pkcs8(&document).expect("a key"), algorithm)
    }

    fn ed() -> Self {
        let document = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).expect("a key");
        Self::Ed(Ed25519KeyPair::from_pkcs8(document.as_ref()).expect("a key"))
    }

    fn ec(curve: &'static str) -> Self {
        let with = if curve == "P-256" {
            &ECDSA_P256_SHA256_FIXED_SIGNING
        } else {
            &ECDSA_P384_SHA384_FIXED_SIGNING
        };
        let random = SystemRandom::new();
        let document = EcdsaKeyPair::generate_pkcs8(with, &random).expect("a key");
        Self::Ec(EcdsaKeyPair::from_pkcs8(with, document.as_ref(), &random).expect("a key"), curve)
    }

    fn algorithm(&self) -> &'static str {
        match self {
            Self::Rsa(_, algorithm) => algorithm,
            Self::Ed(_) => "EdDSA",
            Self::Ec(_, "P-256") => "ES256",
            Self::Ec(..) => "ES384",
        }
    }

    fn public(&self, kid: &str) -> Value {
        match self {
            Self::Rsa(pair, _) => {
                let RsaPublicKeyComponents::<Vec<u8>> { n, e } = pair.public().into();
                json!({"kty": "RSA", "kid": kid, "use": "sig", "n": b64(n), "e": b64(e)})
            }
            Self::Ed(pair) => {
                json!({"kty": "OKP", "crv": "Ed25519", "kid": kid, "x": b64(pair.public_key())})
            }
            Self::Ec(pair, curve) => {
                let point = &pair.public_key().as_ref()[1..];
                let (x, y) = point.split_at(point.len() / 2);
                json!({"kty": "EC", "crv": curve, "kid": kid, "use": "sig", "x": b64(x), "y": b64(y)})
            }
        }
    }

    fn sign(&self, header: &Value, claims: &Value) -> String {
        let signed = format!("{}.{}", b64(header.to_string()), b64(claims.to_string()));
        let signature = match self {
            Self::Rsa(pair, algorithm) => {
                let with: &dyn RsaEncoding = match *algorithm {
                    "RS256" => &RSA_PKCS1_SHA256,
                    "RS384" => &RSA_PKCS1_SHA384,
                    "RS512" => &RSA_PKCS1_SHA512,
                    _ => &RSA_PSS_SHA256,
                };
                let mut signature = vec![0; pair.public().modulus_len()];
                pair.sign(with, &SystemRandom::new(), signed.as_bytes(), &mut signature)
                    .expect("a signature");
                signature
            }
            Self::Ed(pair) => pair.sign(signed.as_bytes()).as_ref().to_vec(),
            Self::Ec(pair, _) => {
                pair.sign(&SystemRandom::new(), signed.as_bytes()).expect("a signature").as_ref().to_vec()
            }
        };
        format!("{signed}.{}", b64(signature))
    }

    fn token(&self, claims: &Value) -> String {
        self.sign(&json!({"alg": self.algorithm(), "kid": "k"}), claims)
    }

    fn keys(&self) -> KeySet {
        KeySet::read(&json!({"keys": [self.public("k")]})).expect("keys")
    }
}

fn claims() -> Value {
    json!({"iss": "https://issuer.test", "aud": "punctual", "sub": "ann", "exp": NOW + 100, "nbf": NOW - 100})
}

fn with(name: &str, value: Value) -> Value {
    let mut claims = claims();
    claims[name] = value;
    claims
}

fn without(name: &str) -> Value {
    let mut claims = claims();
    claims.as_object_mut().expect("an object").remove(name);
    claims
}

fn expected() -> Expected {
    Expected {
        issuers: vec!["https://issuer.test".into()],
        audiences: vec!["punctual".into(), "api://punctual".into()],
        skew: 60,
    }
}

fn judged(token: &str, keys: &KeySet) -> Result<Claims, Fault> {
    check(token, keys, &expected(), Timestamp::from_second(NOW).expect("a time"))
}

#[test]
fn good_tokens_are_believed() {
    let rsa = ["RS256", "RS384", "RS512", "PS256"].map(Signer::rsa);
    for signer in rsa.into_iter().chain([Signer::ed(), Signer::ec("P-256"), Signer::ec("P-384")]) {
        for claims in [
            claims(),
            with("aud", json!(["other", "api://punctual"])),
            with("exp", json!(NOW - 59)),
            with("exp", json!(NOW as f64 + 0.5)),
            with("nbf", json!(NOW + 60)),
            without("nbf"),
        ] {
            let found = judged(&signer.token(&claims), &signer.keys());
            assert!(found.is_ok(), "{} {claims}: {found:?}", signer.algorithm());
        }
        // A set of one key leaves nothing to choose.
        let nameless = signer.sign(&json!({"alg": signer.algorithm()}), &claims());
        assert!(judged(&nameless, &signer.keys()).is_ok());
    }
}

#[test]
fn wrong_claims_are_refused() {
    let signer = Signer::ed();
    for (claims, fault) in [
        (with("iss", json!("https://issuer.test/")), Fault::Issuer),
        (with("iss", json!(["https://issuer.test"])), Fault::Issuer),
        (without("iss"), Fault::Issuer),
        (with("aud", json!("other")), Fault::Audience),
        (with("aud", json!([])), Fault::Audience),
        (with("aud", json!(["punctual2"])), Fault::Audience),
        (without("aud"), Fault::Audience),
        (with("exp", json!(NOW - 60)), Fault::Expired),
        (with("exp", json!(0)), Fault::Expired),
        (without("exp"), Fault::Malformed("it does not say when it expires")),
        (with("exp", json!("soon")), Fault::Malformed("its exp is no time")),
        (with("nbf", json!(NOW + 61)), Fault::NotYet),
        (with("nbf", json!({})), Fault::Malformed("its nbf is no time")),
    ] {
        assert_eq!(judged(&signer.token(&claims), &signer.keys()), Err(fault), "{claims}");
    }
}

#[test]
fn forged_tokens_are_refused() {
    let (signer, stranger) = (Signer::ec("P-256"), Signer::ec("P-256"));
    let keys = signer.keys();
    assert_eq!(judged(&stranger.token(&claims()), &keys), Err(Fault::Signature));
    let token = signer.token(&claims());
    let parts: Vec<&str> = token.split('.').collect();
    let other = b64(with("sub", json!("eve")).to_string());
    assert_eq!(judged(&format!("{}.{other}.{}", parts[0], parts[2]), &keys), Err(Fault::Signature));
    assert_eq!(judged(&format!("{}.{}.", parts[0], parts[1]), &keys), Err(Fault::Signature));
    let other_key = signer.sign(&json!({"alg": "ES256", "kid": "other"}), &claims());
    assert_eq!(judged(&other_key, &keys), Err(Fault::UnknownKey));
    let two = KeySet::read(&json!({"keys": [signer.public("k"), stranger.public("l")]})).expect("keys");
    let nameless = signer.sign(&json!({"alg": "ES256"}), &claims());
    assert_eq!(judged(&nameless, &two), Err(Fault::UnknownKey));
    let crit = signer.sign(&json!({"alg": "ES256", "kid": "k", "crit": ["x"]}), &claims());
    assert!(matches!(judged(&crit, &keys), Err(Fault::Malformed(_))));
}

/// The token does not say how it is checked; the key does.
#[test]
fn algorithms_are_the_keys() {
    let signer = Signer::ec("P-256");
    for algorithm in ["none", "None", "", "HS256", "HS512", "es256", "ES512", "PS512"] {
        let token = signer.sign(&json!({"alg": algorithm, "kid": "k"}), &claims());
        assert_eq!(judged(&token, &signer.keys()), Err(Fault::Algorithm), "{algorithm}");
    }
    for algorithm in ["RS256", "PS256", "ES384", "EdDSA"] {
        let token = signer.sign(&json!({"alg": algorithm, "kid": "k"}), &claims());
        assert_eq!(judged(&token, &signer.keys()), Err(Fault::Algorithm), "{algorithm}");
    }
    let rsa = Signer::rsa("RS256");
    for algorithm in ["RS384", "PS256", "ES256", "HS256", "none"] {
        let token = rsa.sign(&json!({"alg": algorithm, "kid": "k"}), &claims());
        assert!(
            matches!(judged(&token, &rsa.keys()), Err(Fault::Algorithm | Fault::Signature)),
            "{algorithm}"
        );
    }
    let unsigned = format!("{}.{}.", b64(json!({"alg": "none"}).to_string()), b64(claims().to_string()));
    assert_eq!(judged(&unsigned, &signer.keys()), Err(Fault::Algorithm));

    // The public key as a password, which is what confuses some: signed with HMAC over its own bytes.
    let point = signer.public("k")["x"].as_str().expect("a point").to_owned();
    let secret = URL_SAFE_NO_PAD.decode(point).expect("base64");
    let signed =
        format!("{}.{}", b64(json!({"alg": "HS256", "kid": "k"}).to_string()), b64(claims().to_string()));
    let key = ring::hmac::Key::new(ring::hmac::HMAC_SHA256, &secret);
    let token = format!("{signed}.{}", b64(ring::hmac::sign(&key, signed.as_bytes())));
    assert_eq!(judged(&token, &signer.keys()), Err(Fault::Algorithm));
    // Nor is a symmetric key of the set ever used.
    let keys = json!({"keys": [{"kty": "oct", "kid": "k", "k": b64(&secret)}, signer.public("l")]});
    assert_eq!(judged(&token, &KeySet::read(&keys).expect("keys")), Err(Fault::Algorithm));

    // A key that says what it is for is for nothing else.
    let mut public = signer.public("k");
    public["alg"] = json!("ES384");
    let keys = KeySet::read(&json!({"keys": [public.clone()]})).expect("keys");
    assert_eq!(judged(&signer.token(&claims()), &keys), Err(Fault::Algorithm));
    public["use"] = json!("enc");
    assert!(KeySet::read(&json!({"keys": [public]})).expect("keys").is_empty());
}

#[test]
fn what_is_no_token_is_refused() {
    let keys = Signer::ed().keys();
    for text in ["", ".", "..", "...", "a.b", "a.b.c", "e30.e30.", "é.é.é", &"a".repeat(LONGEST + 1)] {
        assert!(judged(text, &keys).is_err(), "{text}");
    }
    assert!(KeySet::read(&json!([])).is_err());
}

#[test]
fn who_a_token_speaks_for() {
    let signer = Signer::ed();
    let principal = |more: Value| {
        let mut claims = claims();
        for (name, value) in more.as_object().expect("an object") {
            claims[name] = value.clone();
        }
        judged(&signer.token(&claims), &signer.keys()).expect("good").principal()
    };
    let plain = principal(json!({"email": "ann@x.test", "groups": ["g1", 2, "g2"]})).expect("somebody");
    assert_eq!((plain.id.as_str(), plain.name.as_str()), ("user:ann", "ann@x.test"));
    assert_eq!(plain.also, [PrincipalId::group("g1"), PrincipalId::group("g2")]);
    // A person by way of a program is that person, not the program.
    let person = principal(json!({"oid": "o", "azp": "p", "scp": "user_impersonation"})).expect("somebody");
    assert_eq!((person.id.as_str(), person.also.len()), ("user:o", 0));
    for program in [
        json!({"oid": "o", "sub": "o", "appid": "p"}),
        json!({"oid": "o", "sub": "x", "azp": "p", "idtyp": "app"}),
    ] {
        let program = principal(program).expect("somebody");
        assert_eq!((program.id.as_str(), program.also), ("app:p", vec![PrincipalId::app("o")]));
    }
    assert!(principal(json!({"sub": ""})).is_err());
}
