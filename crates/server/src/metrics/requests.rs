//! What the API was asked: how often, with which end, and how long it took.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::http::{Method, StatusCode};
use measure::{Histogram, QUICK, Unit};

use super::text::{Kind, Page};

/// What was asked: the kind of resource, and the method. Both are of short lists, so what is kept has a bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Asked {
    resource: &'static str,
    method: &'static str,
}

impl Asked {
    /// A method that we do not know is one of many.
    pub(crate) fn new(resource: &'static str, method: &Method) -> Self {
        let method = match *method {
            Method::GET => "GET",
            Method::HEAD => "HEAD",
            Method::PUT => "PUT",
            Method::POST => "POST",
            Method::PATCH => "PATCH",
            Method::DELETE => "DELETE",
            _ => "other",
        };
        Self { resource, method }
    }
}

/// See the module. A lock is good enough here: a request costs a thousand times as much.
#[derive(Debug, Default)]
pub struct Requests(Mutex<Counted>);

#[derive(Debug, Default)]
struct Counted {
    ends: BTreeMap<(Asked, u16), u64>,
    durations: BTreeMap<Asked, Histogram>,
}

impl Requests {
    /// A request was answered.
    pub(crate) fn count(&self, asked: Asked, status: StatusCode, took: Duration) {
        let mut counted = self.counted();
        *counted.ends.entry((asked, status.as_u16())).or_default() += 1;
        let durations =
            counted.durations.entry(asked).or_insert_with(|| Histogram::new(Unit::Seconds, QUICK));
        durations.time(took);
    }

    pub(super) fn tell(&self, page: &mut Page) {
        let counted = self.counted();
        let name = "punctual_api_requests_total";
        page.family(name, Kind::Counter, "Requests that were answered, by resource, method and status.");
        for ((Asked { resource, method }, status), count) in &counted.ends {
            let status = status.to_string();
            let labels = [("resource", *resource), ("method", *method), ("status", &*status)];
            page.sample(name, &labels, *count as f64);
        }
        let name = "punctual_api_request_duration_seconds";
        page.family(name, Kind::Histogram, "How long requests took, by resource and method.");
        for (Asked { resource, method }, durations) in &counted.durations {
            page.histogram(name, &[("resource", *resource), ("method", *method)], durations);
        }
    }

    fn counted(&self) -> MutexGuard<'_, Counted> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
