//! URIs as people write them, read into what the client needs.

use std::borrow::Cow;

use ::http::{Uri, uri::Scheme};
use percent_encoding::percent_decode_str;
use url::Url;

use crate::fault::{Fault, Kind};

/// Where a request goes.
pub(crate) struct Destination {
    /// Absolute, `http` or `https`, without user information.
    pub(crate) uri: Uri,
    /// User and password, where the URI had them.
    pub(crate) credentials: Option<(String, String)>,
}

/// Reads a URI. What is plain is taken byte for byte; what a browser would put right (spaces, letters beyond ASCII,
/// user information) is put right the way a browser does.
pub(crate) fn read(text: &str) -> Result<Destination, Fault> {
    if text.is_ascii()
        && let Ok(uri) = text.parse::<Uri>()
        && is_plain(&uri)
    {
        return Ok(Destination { uri, credentials: None });
    }
    let url = Url::parse(text).map_err(|e| e.to_string());
    url.and_then(from_url)
        .map_err(|why| Fault::new(Kind::UnknownError, format!("the URI cannot be used: {why}")))
}

/// Where a redirect from `base` to `location` leads. User information in a location is somebody else's idea of who we
/// are, and is dropped.
pub(crate) fn join(base: &Uri, location: &str) -> Result<Uri, Fault> {
    let url = Url::parse(&base.to_string()).and_then(|base| base.join(location)).map_err(|e| e.to_string());
    let destination = url
        .and_then(from_url)
        .map_err(|why| Fault::new(Kind::ProtocolError, format!("its location cannot be used: {why}")))?;
    Ok(destination.uri)
}

/// The host, with brackets if it is an IPv6 address.
pub(crate) fn host(uri: &Uri) -> &str {
    uri.host().unwrap_or_default()
}

/// The port, given or meant.
pub(crate) fn port(uri: &Uri) -> u16 {
    uri.port_u16().unwrap_or(if is_https(uri) { 443 } else { 80 })
}

pub(crate) fn is_https(uri: &Uri) -> bool {
    uri.scheme() == Some(&Scheme::HTTPS)
}

/// Whether the client can take it as it is.
fn is_plain(uri: &Uri) -> bool {
    let known_scheme = uri.scheme().is_some_and(|scheme| *scheme == Scheme::HTTP || *scheme == Scheme::HTTPS);
    known_scheme
        && uri.authority().is_some_and(|authority| {
            let text = authority.as_str();
            // A port that is no number must not become the default port.
            let port = text.rsplit_once(':').is_some_and(|(_, port)| !port.ends_with(']'));
            !text.contains('@') && !authority.host().is_empty() && (!port || authority.port_u16().is_some())
        })
}

/// Takes a URL, or says why not.
fn from_url(mut url: Url) -> Result<Destination, String> {
    if !matches!(url.scheme(), "http" | "https") {
        return Err(format!("scheme '{}' is neither http nor https", url.scheme()));
    }
    let decoded = |text| -> String { Cow::into_owned(percent_decode_str(text).decode_utf8_lossy()) };
    let credentials = (!url.username().is_empty() || url.password().is_some())
        .then(|| (decoded(url.username()), decoded(url.password().unwrap_or_default())));
    // Both only fail for URLs without a host, which these schemes always have.
    let _ = url.set_username("");
    let _ = url.set_password(None);
    let uri = url.as_str().parse::<Uri>().map_err(|e| e.to_string())?;
    Ok(Destination { uri, credentials })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_uris_stay_as_they_are() {
        for text in [
            "http://example.com/a/../b?x=%20&y=[1]",
            "https://example.com:8443/",
            "http://[::1]:81/x",
            "HTTP://Example.com/A",
        ] {
            let destination = read(text).unwrap();
            assert_eq!(destination.uri.path_and_query().unwrap().as_str(), {
                let after = text.split_once("://").unwrap().1;
                &after[after.find('/').unwrap()..]
            });
            assert!(destination.credentials.is_none());
        }
    }

    #[test]
    fn what_is_not_plain_is_put_right() {
        for (text, expected) in [
            ("http://example.com/a b", "http://example.com/a%20b"),
            ("http://bücher.example/ä", "http://xn--bcher-kva.example/%C3%A4"),
            ("http://example.com:/a", "http://example.com/a"),
            ("http://user:p%40ss@example.com/a", "http://example.com/a"),
        ] {
            assert_eq!(read(text).unwrap().uri.to_string(), expected);
        }
        let credentials = read("http://user:p%40ss@example.com/a").unwrap().credentials;
        assert_eq!(credentials, Some(("user".to_owned(), "p@ss".to_owned())));
    }

    #[test]
    fn other_uris_are_refused_without_repeating_them() {
        for text in
            ["", "/relative", "example.com/secret", "ftp://u:secret@host/", "http://", "http://h:99999/"]
        {
            let fault = read(text).err().unwrap_or_else(|| panic!("{text}")).to_string();
            assert!(fault.starts_with("UnknownError The request cannot be made (the URI cannot be used: "));
            assert!(!fault.contains("secret"), "{fault}");
        }
    }
}
