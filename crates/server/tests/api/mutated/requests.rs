//! Requests around a valid body: odd methods, paths, queries and headers.

use axum::body::Body;
use axum::http::{HeaderValue, Request};
use proptest::collection::vec;
use proptest::prelude::*;

use super::examples;

/// A request to somewhere near the API.
pub(super) fn odd() -> impl Strategy<Value = Request<Body>> {
    let methods =
        prop::sample::select(vec!["GET", "HEAD", "PUT", "POST", "PATCH", "DELETE", "OPTIONS", "BREW"]);
    let body = prop_oneof![Just(examples::jobs()[0].to_string()), Just(String::new()), Just("[]".to_owned())];
    (methods, path(), query(), vec(header(), 0..3), body).prop_filter_map(
        "what is no URI reaches no server",
        |(method, path, query, headers, body)| {
            let mut request = Request::builder().method(method).uri(format!("{path}?{query}"));
            for (name, value) in headers {
                request = request.header(name, HeaderValue::from_bytes(&value).ok()?);
            }
            request.body(Body::from(body)).ok()
        },
    )
}

fn path() -> impl Strategy<Value = String> {
    let segment = prop_oneof![
        8 => prop::sample::select(vec![
            "c", "j", "jobs", "JOBS", "run", "history", "enable", "disable", "new", "", ".", "..", "%2e%2e", "%2F", "%00", "%FF",
            "%", "%zz", "%C3%A4", "a%20b", "a+b", "%F0%9F%98%80", "%0d%0a", "'", ";", "a;b=c", "*", "~", "-", "ä",
        ])
        .prop_map(str::to_owned),
        1 => prop::sample::select(vec![101_usize, 8000, 60_000]).prop_map(|length| "x".repeat(length)),
        1 => "[ -~]{0,8}".prop_map(|text| percent_encoding(&text)),
    ];
    let root = prop::sample::select(vec![
        "/subscriptions/s/resourceGroups/g/providers/Microsoft.Scheduler/jobCollections",
        "/subscriptions/s/resourceGroups/g/providers/Microsoft.Scheduler/jobCollections/c/jobs/j",
        "/SUBSCRIPTIONS/S/resourcegroups/G/PROVIDERS/microsoft.scheduler/JOBCOLLECTIONS/C/jobs",
        "/subscriptions/s/providers/Microsoft.Scheduler/jobCollections",
        "/subscriptions",
        "/api/ledger",
        "/api/overview",
        "/api/jobs",
        "/api/test-call",
        "/api/settings",
        "/api/preview",
        "/api/upcoming",
        "/api/nodes",
        "/api/waiting",
        "/api",
        "/healthz",
        "",
    ]);
    (root, vec(segment, 0..4)).prop_map(|(root, rest)| {
        let mut path = root.to_owned();
        for segment in rest {
            path.push('/');
            path.push_str(&segment);
        }
        if path.is_empty() { "/".to_owned() } else { path }
    })
}

/// Every byte escaped.
fn percent_encoding(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

fn query() -> impl Strategy<Value = String> {
    let name = prop::sample::select(vec![
        "$top",
        "$skip",
        "$filter",
        "%24filter",
        "top",
        "before",
        "count",
        "span",
        "search",
        "sort",
        "skip",
        "now",
        "state",
        "from",
        "to",
        "job",
        "subscription",
        "resourceGroup",
        "jobCollection",
        "api-version",
        "",
        "%FF",
        "$expand",
    ]);
    let value = prop_oneof![
        prop::sample::select(vec![
            "",
            "0",
            "1",
            "100",
            "101",
            "-1",
            "9223372036854775807",
            "18446744073709551615",
            "x",
            "%FF",
            "%00",
            "1e3",
            "+1",
            "state%20eq%20Enabled",
            "state+eq+'Disabled'",
            "status eq 'Failed",
            "startTime%20ge%209999-12-31T23:59:59Z",
            "endTime%20le%20-9999-01-01",
            "2027-01-01~1",
            "9999-12-31T23:59:59Z~9223372036854775807",
            "-009999-01-01T00:00:00Z~-1",
            "notRun,ran",
            ",,,",
            "s",
            "g",
            "c",
            "j",
            "2016-03-01",
        ])
        .prop_map(str::to_owned),
        any::<String>().prop_map(|text| percent_encoding(&text)),
        Just("%27".repeat(3000)),
    ];
    let version = prop_oneof![
        8 => Just("api-version=2016-03-01".to_owned()),
        1 => Just("Api-Version=2016-03-01&api-version=2016-03-01".to_owned()),
        1 => Just(String::new()),
        1 => Just("api-version=2099-01-01".to_owned()),
    ];
    (version, vec((name, value), 0..4)).prop_map(|(version, pairs)| {
        pairs.into_iter().fold(version, |query, (name, value)| {
            format!("{query}&{name}={}", value.replace(' ', "%20").replace('\'', "%27"))
        })
    })
}

fn header() -> impl Strategy<Value = (&'static str, Vec<u8>)> {
    let name = prop::sample::select(vec![
        "if-match",
        "if-none-match",
        "content-type",
        "content-encoding",
        "host",
        "x-forwarded-proto",
        "x-ms-client-request-id",
        "x-ms-return-client-request-id",
        "x-ms-correlation-request-id",
        "accept",
    ]);
    let value = prop_oneof![
        prop::sample::select(vec![
            "",
            ",",
            "\"",
            "\"\"",
            "W/",
            "W/\"0\"",
            "\"0\"",
            "\"-1\"",
            "abc",
            "\"99999999999999999999\"",
            "true",
            "text/plain",
            "application/json;charset=utf-16",
            "Application/JSON ; charset=\"utf-8\"",
            "application/merge-patch+json",
            "multipart/form-data; boundary=x",
            "gzip",
            "https",
            "example.org:99999",
            "a b",
            "@",
        ])
        .prop_map(|text| text.as_bytes().to_vec()),
        vec(any::<u8>(), 0..12),
        Just(vec![0xff, 0xfe]),
        Just(vec![b'x'; 8000]),
    ];
    (name, value)
}
