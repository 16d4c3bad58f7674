//! The portal: pages for people, served beside the API.
//!
//! The pages are plain HTML, CSS and ES modules in `crates/server/portal`, compiled into the binary (`files`). They know
//! only what the API tells them, so nothing here knows jobs. `/` and everything below `/ui/` is the one page; its
//! script finds out from the path what to show, so every address can be loaded again. The page names its files below
//! `/assets/{version}/`, where the version is made of all their bytes: such a file never changes and is kept by browsers.

mod files;

use std::collections::HashMap;
use std::io::Write as _;
use std::sync::LazyLock;

use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, Response, StatusCode, header};
use flate2::Compression;
use flate2::write::GzEncoder;
use ring::digest::{Context, SHA256};

use files::{FILES, File};

/// Where the files are, before the version.
const ASSETS: &str = "/assets/";
/// What stands in the page for the version.
const VERSION_MARK: &str = "{version}";
/// What the browser may do with the page: nothing that did not come from here.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
                      connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

static PORTAL: LazyLock<Portal> = LazyLock::new(Portal::build);

/// All that is served, ready to be sent.
struct Portal {
    version: String,
    page: Content,
    files: HashMap<&'static str, Content>,
}

/// A file, plain and compressed.
struct Content {
    kind: &'static str,
    plain: Bytes,
    gzip: Bytes,
}

impl Portal {
    fn build() -> Self {
        let mut digest = Context::new(&SHA256);
        for File { name, bytes, .. } in FILES.iter().chain([&files::PAGE]) {
            digest.update(name.as_bytes());
            digest.update(&bytes.len().to_be_bytes());
            digest.update(bytes);
        }
        let version: String =
            digest.finish().as_ref()[..8].iter().map(|byte| format!("{byte:02x}")).collect();
        let page = String::from_utf8_lossy(files::PAGE.bytes).replace(VERSION_MARK, &version);
        let page = Content::new(files::PAGE.kind, Bytes::from(page));
        let content = |file: &File| (file.name, Content::new(file.kind, Bytes::from_static(file.bytes)));
        Self { version, page, files: FILES.iter().map(content).collect() }
    }

    fn find(&self, path: &str) -> Option<(&Content, Keep)> {
        if let Some(rest) = path.strip_prefix(ASSETS) {
            let (version, name) = rest.split_once('/')?;
            let content = self.files.get(name)?;
            // A page of another release asks for its own files; better none than a mixture.
            return (version == self.version).then_some((content, Keep::Forever));
        }
        let is_page = path == "/" || path == "/ui" || path.starts_with("/ui/");
        is_page.then_some((&self.page, Keep::Checked))
    }
}

impl Content {
    fn new(kind: &'static str, plain: Bytes) -> Self {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        // Writing to memory does not fail; an empty answer would be noticed by every test of the portal.
        let gzip = encoder.write_all(&plain).and_then(|()| encoder.finish()).unwrap_or_default();
        Self { kind, plain, gzip: Bytes::from(gzip) }
    }
}

/// How long a browser may keep something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Keep {
    Forever,
    /// As long as it asks each time whether it still holds.
    Checked,
}

/// The portal's answer, where the path is one of its own.
pub(crate) fn answer(method: &Method, path: &str, headers: &HeaderMap) -> Option<Response<Body>> {
    if method != Method::GET && method != Method::HEAD {
        return None;
    }
    let (content, keep) = PORTAL.find(path)?;
    let etag = format!("\"{}\"", PORTAL.version);
    let is_known = keep == Keep::Checked
        && headers
            .get_all(header::IF_NONE_MATCH)
            .iter()
            .filter_map(|value| value.to_str().ok())
            .flat_map(|value| value.split(','))
            .any(|known| known.trim().trim_start_matches("W/") == etag);
    let is_small = takes_gzip(headers);
    let mut response = if is_known {
        let mut response = Response::new(Body::empty());
        *response.status_mut() = StatusCode::NOT_MODIFIED;
        response
    } else {
        let bytes = if is_small { &content.gzip } else { &content.plain };
        Response::new(Body::from(bytes.clone()))
    };
    let cache = match keep {
        Keep::Forever => "public, max-age=31536000, immutable",
        Keep::Checked => "no-cache",
    };
    let written = response.headers_mut();
    for (name, value) in [
        (header::CONTENT_TYPE, content.kind),
        (header::CACHE_CONTROL, cache),
        (header::VARY, "accept-encoding"),
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::REFERRER_POLICY, "no-referrer"),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    ] {
        written.insert(name, HeaderValue::from_static(value));
    }
    if is_small && !is_known {
        written.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    }
    if let Ok(etag) = HeaderValue::from_str(&etag) {
        written.insert(header::ETAG, etag);
    }
    Some(response)
}

/// Whether the client takes gzip: it is named, and not with a weight of nothing.
fn takes_gzip(headers: &HeaderMap) -> bool {
    let values = headers.get_all(header::ACCEPT_ENCODING);
    let mut codings =
        values.iter().filter_map(|value| value.to_str().ok()).flat_map(|value| value.split(','));
    codings.any(|coding| {
        let (name, weight) = coding.split_once(';').unwrap_or((coding, "q=1"));
        let weight = weight.trim().trim_start_matches("q=").parse::<f32>();
        name.trim().eq_ignore_ascii_case("gzip") && weight.is_ok_and(|weight| weight > 0.0)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_of_the_folder_is_served() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("portal");
        let mut found = Vec::new();
        let mut folders = vec![folder.clone()];
        while let Some(next) = folders.pop() {
            for entry in std::fs::read_dir(next).expect("a folder") {
                let path = entry.expect("an entry").path();
                if path.is_dir() {
                    folders.push(path);
                } else {
                    let name = path.strip_prefix(&folder).expect("below").to_string_lossy().into_owned();
                    found.push(name);
                }
            }
        }
        let mut known: Vec<&str> = FILES.iter().chain([&files::PAGE]).map(|file| file.name).collect();
        found.sort();
        known.sort_unstable();
        assert_eq!(found, known);
    }

    #[test]
    fn the_page_names_files_that_are_there() {
        let page = String::from_utf8(PORTAL.page.plain.to_vec()).expect("UTF-8");
        assert!(!page.contains(VERSION_MARK));
        let named: Vec<&str> = page.split('"').filter(|text| text.starts_with(ASSETS)).collect();
        assert!(named.len() >= 3, "{named:?}");
        for name in named {
            assert!(PORTAL.find(name).is_some(), "{name}");
        }
    }

    #[test]
    fn pages_and_files_and_nothing_else() {
        let file = format!("/assets/{}/app.js", PORTAL.version);
        for path in ["/", "/ui", "/ui/jobs", "/ui/job/s/g/c/j", &file] {
            assert!(PORTAL.find(path).is_some(), "{path}");
        }
        for path in ["/uix", "/assets/app.js", "/assets/0000/app.js", "/api/x", "/subscriptions", "/healthz"]
        {
            assert!(PORTAL.find(path).is_none(), "{path}");
        }
    }

    #[test]
    fn gzip_is_sent_to_those_who_take_it() {
        for (given, taken) in
            [("gzip", true), ("br, GZIP;q=0.5", true), ("gzip;q=0", false), ("br", false), ("", false)]
        {
            let headers = [(header::ACCEPT_ENCODING, HeaderValue::from_static(given))].into_iter().collect();
            assert_eq!(takes_gzip(&headers), taken, "{given}");
        }
    }
}
