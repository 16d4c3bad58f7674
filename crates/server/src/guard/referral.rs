//! Referrals: a browser is sent to the issuer to sign in, and comes back with a code (OpenID Connect, the authorization
//! code flow with PKCE).
//!
//! The way back has to be that of the browser that was sent, and the token has to be for that way. What proves both is
//! made of one secret, which the browser keeps in a cookie: the state, the nonce, and the verifier that only whoever sent
//! the browser knows. So nothing is stored meanwhile, and the browser may come back to any node.

use access::Secret32;
use axum::http::{HeaderMap, header};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use percent_encoding::{NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use ring::{digest, hmac};

use super::session::is_secure;

/// The cookie; `SameSite=Lax`, since the way back comes from the issuer's page.
const SECURE_COOKIE: &str = "__Host-punctual-referral";
const PLAIN_COOKIE: &str = "punctual-referral";

/// How long somebody may take to sign in at the issuer, in seconds.
const LONGEST: u32 = 600;

/// The most characters of the page to go on with.
const LONGEST_PAGE: usize = 1000;

/// Where the browser goes on where nobody says.
const START: &str = "/";

/// See the module.
pub(crate) struct Referral {
    secret: Secret32,
    /// The page of the portal to go on with.
    pub(crate) page: String,
}

impl Referral {
    /// A new one, from a page of the portal.
    pub(super) fn new(secret: Secret32, page: Option<&str>) -> Self {
        Self { secret, page: page.filter(|page| is_ours(page)).unwrap_or(START).to_owned() }
    }

    /// That of a browser that comes back.
    pub(super) fn of(headers: &HeaderMap) -> Option<Self> {
        let values = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
        let value = values
            .flat_map(|value| value.split(';'))
            .filter_map(|pair| pair.trim().split_once('='))
            .find_map(|(name, value)| (name == cookie_name(headers)).then_some(value))?;
        let (secret, page) = value.split_once('.')?;
        let page = percent_decode_str(page).decode_utf8().ok()?;
        Some(Self::new(Secret32::read(secret)?, Some(&page)))
    }

    /// The cookie that the browser brings back.
    pub(super) fn cookie(&self, headers: &HeaderMap) -> String {
        let page = utf8_percent_encode(&self.page, NON_ALPHANUMERIC);
        cookie(headers, &format!("{}.{page}", self.secret.reveal()), LONGEST)
    }

    /// What the issuer hands back with the code.
    pub(super) fn state(&self) -> String {
        self.derived("state")
    }

    /// What the token has to say.
    pub(super) fn nonce(&self) -> String {
        self.derived("nonce")
    }

    /// What proves to the issuer who exchanges the code.
    pub(super) fn verifier(&self) -> String {
        self.derived("verifier")
    }

    /// What the issuer is told of the verifier beforehand.
    pub(super) fn challenge(&self) -> String {
        URL_SAFE_NO_PAD.encode(digest::digest(&digest::SHA256, self.verifier().as_bytes()))
    }

    /// Nobody who knows one of them knows another.
    fn derived(&self, purpose: &str) -> String {
        let key = hmac::Key::new(hmac::HMAC_SHA256, self.secret.reveal().as_bytes());
        URL_SAFE_NO_PAD.encode(hmac::sign(&key, purpose.as_bytes()))
    }

    /// Whether a state is that of this way; how long that takes tells nothing.
    pub(super) fn is_state(&self, given: &str) -> bool {
        let key = hmac::Key::new(hmac::HMAC_SHA256, self.secret.reveal().as_bytes());
        URL_SAFE_NO_PAD.decode(given).is_ok_and(|given| hmac::verify(&key, b"state", &given).is_ok())
    }
}

/// What takes the cookie away.
pub(crate) fn removal(headers: &HeaderMap) -> String {
    cookie(headers, "", 0)
}

fn cookie_name(headers: &HeaderMap) -> &'static str {
    if is_secure(headers) { SECURE_COOKIE } else { PLAIN_COOKIE }
}

fn cookie(headers: &HeaderMap, value: &str, seconds: u32) -> String {
    let secure = if is_secure(headers) { "; Secure" } else { "" };
    let name = cookie_name(headers);
    format!("{name}={value}; Path=/; HttpOnly; SameSite=Lax; Max-Age={seconds}{secure}")
}

/// Whether a page is one of the portal, so that nobody is sent elsewhere.
fn is_ours(page: &str) -> bool {
    page.starts_with("/ui/")
        && page.len() <= LONGEST_PAGE
        && page.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\')
}

/// A query, to be joined to an address, or the body of a form.
pub(super) fn form(members: &[(&str, &str)]) -> String {
    let encoded = members
        .iter()
        .map(|(name, value)| format!("{name}={}", utf8_percent_encode(value, NON_ALPHANUMERIC)));
    encoded.collect::<Vec<_>>().join("&")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_pages_of_the_portal_are_gone_on_with() {
        let secret = || Secret32::read(&"ab".repeat(32)).expect("a secret");
        for (page, expected) in [
            (Some("/ui/audit?days=any"), "/ui/audit?days=any"),
            (Some("https://evil.test/"), "/"),
            (Some("//evil.test/ui/"), "/"),
            (Some("/ui/\\evil.test"), "/"),
            (Some("/ui/a\r\nb"), "/"),
            (None, "/"),
        ] {
            assert_eq!(Referral::new(secret(), page).page, expected);
        }
    }

    #[test]
    fn a_browser_brings_back_what_it_was_given() {
        let referral = Referral::new(Secret32::random().expect("random numbers"), Some("/ui/jobs?a=b;c"));
        for headers in [HeaderMap::new(), [("x-forwarded-proto", "https")].into_iter().map(typed).collect()] {
            let cookie = referral.cookie(&headers);
            assert_eq!(cookie.contains("__Host-"), is_secure(&headers), "{cookie}");
            let mut back = headers.clone();
            back.insert(header::COOKIE, cookie.split(';').next().expect("a pair").parse().expect("a value"));
            let found = Referral::of(&back).expect("a referral");
            assert_eq!(found.page, "/ui/jobs?a=b;c");
            assert_eq!((found.state(), found.nonce()), (referral.state(), referral.nonce()));
            assert!(found.is_state(&referral.state()) && !found.is_state(&referral.nonce()));
            assert!(!found.is_state("") && found.verifier().len() >= 43);
        }
        assert!(Referral::of(&HeaderMap::new()).is_none());
    }

    fn typed((name, value): (&'static str, &'static str)) -> (header::HeaderName, header::HeaderValue) {
        (header::HeaderName::from_static(name), header::HeaderValue::from_static(value))
    }
}
