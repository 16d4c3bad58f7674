//! Redirects: whether an answer sends us on, and what goes along.
//!
//! Up to a limit that the caller counts, `Location` is followed for 301, 302, 303, 307 and 308. The method becomes GET
//! after 303, and after 301 and 302 when it was POST, as browsers and the old service's client do it. From https
//! there is no way to http, and from a public address none inwards (`egress`). Credentials, and headers that might be
//! one, are not sent to another host.

use ::http::{HeaderMap, Method, StatusCode, Uri, header};
use model::action::HttpRequest;

use super::{request, uri};
use crate::egress::ChosenBy;
use crate::fault::{Fault, Kind};

/// One request on the way of an attempt.
pub(crate) struct Hop {
    pub(crate) uri: Uri,
    pub(crate) method: Method,
    /// Whether the action's body goes along.
    pub(crate) with_body: bool,
    /// Whether this is still the host that the action named; once left, there is no return to trust.
    pub(crate) trusted: bool,
    /// User and password of the action's URI.
    pub(crate) credentials: Option<(String, String)>,
    /// Who chose the host. After a redirect from a public address this stays so for all further redirects.
    pub(crate) chosen_by: ChosenBy,
}

impl Hop {
    /// The request that the action asks for.
    pub(crate) fn first(request: &HttpRequest) -> Result<Self, Fault> {
        let destination = uri::read(&request.uri)?;
        let method = request::method(&request.method)?;
        let credentials = destination.credentials;
        Ok(Self {
            uri: destination.uri,
            method,
            with_body: true,
            trusted: true,
            credentials,
            chosen_by: ChosenBy::Action,
        })
    }

    /// Where an answer sends us; `None` if it is the answer.
    pub(crate) fn follow(&self, status: StatusCode, headers: &HeaderMap) -> Result<Option<Self>, Fault> {
        if !matches!(status.as_u16(), 301 | 302 | 303 | 307 | 308) {
            return Ok(None);
        }
        let Some(location) = headers.get(header::LOCATION) else {
            return Ok(None);
        };
        let uri = uri::join(&self.uri, &String::from_utf8_lossy(location.as_bytes()))?;
        if uri::is_https(&self.uri) && !uri::is_https(&uri) {
            let cause = format!("it leads from https to plain http, host '{}'", uri::host(&uri));
            return Err(Fault::new(Kind::ProtocolError, cause));
        }
        let becomes_get = match status {
            StatusCode::SEE_OTHER => self.method != Method::HEAD,
            StatusCode::MOVED_PERMANENTLY | StatusCode::FOUND => self.method == Method::POST,
            _ => false,
        };
        Ok(Some(Self {
            method: if becomes_get { Method::GET } else { self.method.clone() },
            with_body: self.with_body && !becomes_get,
            trusted: self.trusted && same_host(&self.uri, &uri),
            credentials: self.credentials.clone(),
            chosen_by: self.chosen_by,
            uri,
        }))
    }
}

/// Whether two URIs name the same host and port. The usual step from http to https counts as the same: whatever is
/// secret has just been sent there in the clear.
fn same_host(from: &Uri, to: &Uri) -> bool {
    let (from_port, to_port) = (uri::port(from), uri::port(to));
    uri::host(from).eq_ignore_ascii_case(uri::host(to))
        && (from_port == to_port || (from_port == 80 && to_port == 443 && uri::is_https(to)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hop(method: &str, uri: &str) -> Hop {
        Hop {
            uri: uri.parse().unwrap(),
            method: method.parse().unwrap(),
            with_body: true,
            trusted: true,
            credentials: None,
            chosen_by: ChosenBy::Action,
        }
    }

    fn follow(from: &Hop, status: u16, location: &str) -> Result<Option<Hop>, Fault> {
        let headers = HeaderMap::from_iter([(header::LOCATION, location.parse().unwrap())]);
        from.follow(StatusCode::from_u16(status).unwrap(), &headers)
    }

    #[test]
    fn the_method_changes_as_in_browsers() {
        for (method, status, expected, with_body) in [
            ("POST", 301, "GET", false),
            ("POST", 302, "GET", false),
            ("POST", 303, "GET", false),
            ("POST", 307, "POST", true),
            ("POST", 308, "POST", true),
            ("PUT", 302, "PUT", true),
            ("PUT", 303, "GET", false),
            ("HEAD", 303, "HEAD", true),
            ("DELETE", 301, "DELETE", true),
        ] {
            let next = follow(&hop(method, "http://a/x/y"), status, "z").unwrap().unwrap();
            assert_eq!((next.method.as_str(), next.with_body), (expected, with_body), "{method} {status}");
            assert_eq!(next.uri, "http://a/x/z");
        }
    }

    #[test]
    fn what_is_no_redirect_is_the_answer() {
        for status in [200, 300, 304, 305, 404] {
            assert!(follow(&hop("GET", "http://a/"), status, "/b").unwrap().is_none(), "{status}");
        }
        assert!(hop("GET", "http://a/").follow(StatusCode::FOUND, &HeaderMap::new()).unwrap().is_none());
    }

    #[test]
    fn trust_ends_at_another_host_and_does_not_come_back() {
        for (from, to, trusted) in [
            ("http://a/", "/b", true),
            ("http://a/", "http://A:80/b", true),
            ("http://a/", "https://a/", true),
            ("http://a/", "https://a:8443/", false),
            ("http://a/", "http://a:81/", false),
            ("http://a/", "http://b/", false),
            ("http://a/", "//b/", false),
            ("http://a:81/", "https://a/", false),
            ("https://a/", "https://a.b/", false),
        ] {
            let next = follow(&hop("GET", from), 302, to).unwrap().unwrap();
            assert_eq!(next.trusted, trusted, "{from} {to}");
            let back = follow(&next, 302, &from.replace("http://", "https://")).unwrap().unwrap();
            assert!(trusted || !back.trusted, "{from} {to}");
        }
    }

    #[test]
    fn some_redirects_are_refused() {
        let fault = follow(&hop("GET", "https://a/"), 302, "http://a/").err().unwrap().to_string();
        assert_eq!(
            fault,
            "ProtocolError The redirection cannot be followed (it leads from https to plain http, host 'a')"
        );
        for location in ["ftp://a/", "javascript:alert(1)", "http://", "http://a:99999/"] {
            let fault = follow(&hop("GET", "http://a/"), 302, location).err();
            assert_eq!(fault.map(|fault| fault.kind), Some(Kind::ProtocolError), "{location}");
        }
        let next = follow(&hop("GET", "http://a/"), 302, "http://user:secret@b/").unwrap().unwrap();
        assert_eq!(next.uri, "http://b/");
    }
}
