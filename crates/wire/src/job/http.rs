//! HTTP requests, read.

use model::Secret;
use model::action::{HttpAuthentication, HttpRequest};
use model::certificate::{self, Identity, PfxFault};
use model::signing;

use crate::members::{Given, Names, Object, Reader};

const URI: Names = &["uri"];
const METHOD: Names = &["method"];
const HEADERS: Names = &["headers"];
const BODY: Names = &["body"];
const AUTHENTICATION: Names = &["authentication"];
const OF_REQUEST: &[Names] = &[URI, METHOD, HEADERS, BODY, AUTHENTICATION];

const URIS: &str = "an absolute URI such as https://example.org/path, with http or https and a host";
const METHODS: &str = "the name of an HTTP method, such as GET or POST; not CONNECT, which asks for a tunnel";

pub(super) fn request(reader: &mut Reader, given: Given<'_>) -> Option<HttpRequest> {
    let allowed = "an object such as {\"uri\": \"https://example.org/\", \"method\": \"GET\"}";
    let request = reader.object_of_secrets(given, OF_REQUEST, allowed)?;
    let uri = checked_text(reader, &request, URI, is_http_uri, URIS);
    let method = checked_text(reader, &request, METHOD, is_method, METHODS);
    let headers = reader.member(&request, HEADERS).map(|given| headers(reader, given));
    let body = reader.optional_text(&request, BODY, "a text; JSON is written into it as a text");
    let authentication =
        reader.member(&request, AUTHENTICATION).and_then(|given| authentication(reader, given));
    Some(HttpRequest { uri: uri?, method: method?, headers, body, authentication })
}

fn checked_text(
    reader: &mut Reader,
    object: &Object<'_>,
    names: Names,
    is_right: fn(&str) -> bool,
    allowed: &str,
) -> Option<String> {
    let given = reader.required(object, names, allowed)?;
    let text = given.as_str().filter(|text| is_right(text));
    if text.is_none() {
        reader.refuse(&given, allowed);
    }
    text.map(str::to_owned)
}

/// Header names keep their case (`ConTent-tYPe`: TestCreateHttpJob); an empty object is kept as one
/// (rdfe-TestSchedulerEndToEnd of 2014-06-16).
fn headers(reader: &mut Reader, given: Given<'_>) -> Vec<(String, String)> {
    let mut headers: Vec<(String, String)> = Vec::new();
    let allowed = "an object of texts, such as {\"Content-Type\": \"application/json\"}";
    let Some(object) = reader.open_object(given, allowed) else { return headers };
    for (name, given) in object.entries() {
        let Some(value) = given.as_str() else {
            reader.refuse(&given, "a text");
            continue;
        };
        if !is_token(name) {
            reader.refuse_unseen(
                &given,
                "this name",
                "the name of an HTTP header: letters, digits and dashes",
            );
        } else if headers.iter().any(|(other, _)| other.eq_ignore_ascii_case(name)) {
            reader.refuse_unseen(
                &given,
                "a second header of this name",
                "each header once, in whatever case",
            );
        } else if value.chars().any(|c| c.is_control() && c != '\t') {
            // What a header says may be a secret, and what breaks its line would be another header.
            reader.refuse_unseen(&given, "a text with a control character", "a text of one line");
        } else {
            headers.push((name.to_owned(), value.to_owned()));
        }
    }
    headers
}

#[derive(Clone, Copy)]
enum Kind {
    NotSpecified,
    Basic,
    ClientCertificate,
    ActiveDirectoryOAuth,
    Hmac,
}

const TYPE: Names = &["type"];
const KINDS: &str = "Basic, ClientCertificate, ActiveDirectoryOAuth or Hmac";
const USERNAME: Names = &["username"];
const PASSWORD: Names = &["password"];
const TENANT: Names = &["tenant"];
const AUDIENCE: Names = &["audience"];
const CLIENT_ID: Names = &["clientId"];
const SECRET: Names = &["secret"];
const PFX: Names = &["pfx"];
/// Of a signature; one or several.
pub(super) const SIGNING_SECRETS: Names = &["secrets", "secret"];
const OF_AUTHENTICATION: &[Names] = &[
    TYPE,
    USERNAME,
    PASSWORD,
    TENANT,
    AUDIENCE,
    CLIENT_ID,
    SECRET,
    SIGNING_SECRETS,
    PFX,
    &["certificateThumbprint"],
    &["certificateExpiration"],
    // So it is called in the API's description, and `certificateExpiration` in the recordings
    // (Scenario_JobCreateHttpJobWithClientCertAuth).
    &["certificateExpirationDate"],
    &["certificateSubjectName"],
    &["secretCount"],
];

/// Nothing is tried out: credentials that nobody accepts are stored all the same (Scenario_JobCreateHttpJobWithBasicAuth,
/// also for Basic over plain HTTP).
fn authentication(reader: &mut Reader, given: Given<'_>) -> Option<HttpAuthentication> {
    let allowed =
        "an object such as {\"type\": \"Basic\", \"username\": …, \"password\": …}, or null for none at all";
    let object = reader.object_of_secrets(given, OF_AUTHENTICATION, allowed)?;
    let kind = reader.required(&object, TYPE, KINDS)?;
    let kinds = [
        ("Basic", Kind::Basic),
        ("ActiveDirectoryOAuth", Kind::ActiveDirectoryOAuth),
        ("ClientCertificate", Kind::ClientCertificate),
        ("Hmac", Kind::Hmac),
        ("NotSpecified", Kind::NotSpecified),
    ];
    match reader.choice(&kind, &kinds, KINDS)? {
        Kind::NotSpecified => None,
        Kind::Basic => {
            let username = reader.required_text(&object, USERNAME, "the user's name");
            let password = reader.required_secret(&object, PASSWORD, "the user's password, a text");
            Some(HttpAuthentication::Basic { username: username?, password: password? })
        }
        Kind::ActiveDirectoryOAuth => {
            let tenant =
                reader.required_text(&object, TENANT, "the directory, such as example.onmicrosoft.com");
            let audience = reader.required_text(&object, AUDIENCE, "for whom the token is, mostly a URI");
            let client_id = reader.required_text(&object, CLIENT_ID, "the client's id");
            let secret = reader.required_secret(&object, SECRET, "the client's secret, a text");
            Some(HttpAuthentication::ActiveDirectoryOAuth {
                tenant: tenant?,
                audience: audience?,
                client_id: client_id?,
                secret: secret?,
            })
        }
        Kind::Hmac => Some(HttpAuthentication::Hmac { secrets: signing_secrets(reader, &object)? }),
        Kind::ClientCertificate => {
            const FILE: &str =
                "a PKCS #12 file (.pfx, .p12) with a private key and its certificate, in Base64";
            let pfx = reader.required_secret(&object, PFX, FILE);
            // A file can be exported without a password.
            let password = match reader.member(&object, PASSWORD) {
                Some(_) => reader.required_secret(&object, PASSWORD, "what opens the file, a text"),
                None => Some(Secret::new("")),
            };
            let (pfx, password) = (pfx?, password?);
            match certificate::open(&pfx, &password) {
                Ok(Identity { thumbprint, subject, expiration, .. }) => {
                    Some(HttpAuthentication::ClientCertificate {
                        pfx,
                        password,
                        thumbprint,
                        expiration,
                        subject,
                    })
                }
                Err(fault) => {
                    // People correct what they are shown at: a wrong password is no fault of the file.
                    let wrong = reader.member(&object, PASSWORD).filter(|_| fault == PfxFault::WrongPassword);
                    if let Some(given) = wrong {
                        let allowed = "the password with which the file was exported";
                        reader.refuse_unseen(&given, "one that does not open the PKCS #12 file", allowed);
                        return None;
                    }
                    let given = reader.required(&object, PFX, FILE)?;
                    reader.refuse_unseen(&given, &fault.to_string(), FILE);
                    None
                }
            }
        }
    }
}

/// The secrets of a signature: a list, or one of them alone.
fn signing_secrets(reader: &mut Reader, object: &Object<'_>) -> Option<Vec<Secret>> {
    let given = reader.required(object, SIGNING_SECRETS, "a list of 1 to 4 secrets, the newest first")?;
    let secrets = reader.list(object, SIGNING_SECRETS, |reader, given| {
        let secret = reader.as_secret(&given, signing::ALLOWED)?;
        match signing::key(&secret) {
            Ok(_) => Some(secret),
            Err(fault) => {
                reader.refuse_unseen(&given, &fault.to_string(), signing::ALLOWED);
                None
            }
        }
    })?;
    if !(1..=signing::MOST_SECRETS).contains(&secrets.len()) {
        let allowed = format!("from 1 to {} secrets", signing::MOST_SECRETS);
        reader.refuse_unseen(&given, &format!("a list of {}", secrets.len()), &allowed);
        return None;
    }
    secrets.into_iter().collect()
}

/// A method that a call can have.
fn is_method(text: &str) -> bool {
    is_token(text) && !text.eq_ignore_ascii_case("CONNECT")
}

/// A method or a header's name: RFC 9110, section 5.6.2.
fn is_token(text: &str) -> bool {
    !text.is_empty()
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte))
}

/// Whether somebody can be called there. The text is kept as it is: `%2d` stays `%2d`, and no slash is added
/// (TestCreateHttpJob, python_test_scheduler_job_custom_time).
fn is_http_uri(text: &str) -> bool {
    if text.chars().any(|c| c.is_whitespace() || c.is_control()) {
        return false;
    }
    let Some((scheme, rest)) = text.split_once("://") else { return false };
    if !["http", "https"].iter().any(|known| scheme.eq_ignore_ascii_case(known)) {
        return false;
    }
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host_and_port = authority.rsplit('@').next().unwrap_or_default();
    let (is_host, port) = match host_and_port.strip_prefix('[') {
        Some(address) => match address.split_once(']') {
            Some((address, port)) => (address.parse::<std::net::Ipv6Addr>().is_ok(), port),
            None => return false,
        },
        None => {
            let (host, port) = host_and_port.split_at(host_and_port.find(':').unwrap_or(host_and_port.len()));
            (is_host_name(host), port)
        }
    };
    let is_port = match port.strip_prefix(':') {
        Some(number) => {
            number.is_empty()
                || number.bytes().all(|byte| byte.is_ascii_digit()) && number.parse::<u16>().is_ok()
        }
        None => port.is_empty(),
    };
    is_host && is_port
}

/// Names may be written in any script; whether they lead anywhere shows when the job runs.
fn is_host_name(host: &str) -> bool {
    host.chars().any(char::is_alphanumeric)
        && !host.starts_with('.')
        && !host.contains("..")
        && host.chars().all(|c| c.is_alphanumeric() || matches!(c, '-' | '.' | '_'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uris() {
        for uri in [
            "http://example.org",
            "HTTPS://example.org/",
            "http://www.bing.com/workers?somekey=somevalue%2drandomvalue%2fconsistent%3d",
            "http://localhost:8080/a",
            "http://127.0.0.1",
            "http://[::1]:80/",
            "http://user:word@example.org:443/",
            "http://example.org?q=a://b",
            "http://exämple.org./ä",
            "http://a_b.example.org:/",
        ] {
            assert!(is_http_uri(uri), "{uri}");
        }
        for uri in [
            "",
            "example.org",
            "/path",
            "//example.org",
            "http:/example.org",
            "http:example.org",
            "ftp://example.org",
            "http://",
            "http:///path",
            "http://:80/",
            "http://?q",
            "http://user@/",
            "http://example.org:port/",
            "http://example.org:65536/",
            "http://example.org:+1/",
            "http://[::1/",
            "http://[:1]/",
            "http://[::1]x/",
            "http://exa mple.org/",
            "http://example.org/a b",
            "http://example.org/a\n",
            " http://example.org/",
            "http://exa%20mple.org/",
            "http://.example.org/",
            "http://a..b/",
            "http://a\\b/",
            "http://{host}/",
        ] {
            assert!(!is_http_uri(uri), "{uri}");
        }
    }

    #[test]
    fn tokens() {
        for token in ["GET", "post", "M-SEARCH", "ConTent-tYPe", "x_y"] {
            assert!(is_token(token), "{token}");
        }
        for text in ["", "GET ", "G ET", "GET\r\n", "a:b", "é", "a/b", "(x)"] {
            assert!(!is_token(text), "{text:?}");
        }
    }
}
