//! Calls of jobs: requests that a scheduler made, known by the header that it puts on each of them.
//!
//! The target of a job may answer with a redirect to wherever it likes, the API of the scheduler included, and the call that
//! follows comes from a machine that is trusted. So the calls of jobs are refused before anything else happens, save where
//! a test of a job is meant to go. An operator may allow them; then their number on the way from one job to the next is
//! limited.

use std::num::NonZeroU32;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use actions::HOPS;
use axum::http::{HeaderMap, Method};
use model::Timestamp;

use super::resource::Resource;
use crate::app::App;
use crate::problem::Problem;
use crate::rates::{Kind, Spent};

/// How many calls of jobs may lead to one another.
const MOST: u8 = 5;

/// How many changes the calls of jobs may make in a collection within a minute.
pub(crate) const MOST_CHANGES: NonZeroU32 = NonZeroU32::new(60).unwrap();

/// Seconds between two lines of the log about refused calls.
const PAUSE: i64 = 60;

/// Returns how many calls of jobs led to a request, 0 for a request of anybody else.
///
/// # Errors
///
/// 403 for a call of a job that may not be made.
pub(super) fn check(
    headers: &HeaderMap,
    resource: Option<&Resource>,
    is_allowed: bool,
) -> Result<u8, Problem> {
    let hops = headers.get_all(HOPS).iter().map(|value| {
        // What cannot be read comes from no scheduler of this version, and counts as too many.
        value.to_str().ok().and_then(|text| text.parse().ok()).unwrap_or(u8::MAX)
    });
    let Some(hops) = hops.max() else { return Ok(0) };
    if matches!(resource, Some(Resource::Echo | Resource::Health)) {
        return Ok(hops);
    }
    if !is_allowed {
        return Err(Problem::call_of_job());
    }
    if hops > MOST {
        return Err(Problem::too_many_hops(MOST));
    }
    Ok(hops)
}

/// Counts a change that the call of a job asks for. A job that is written begins a count of hops of its own, so a chain of
/// jobs that write each other has no end; it has this pace.
///
/// # Errors
///
/// 429 where jobs have changed too much.
pub(super) fn limit(app: &App, resource: &Resource, kind: Kind) -> Result<(), Problem> {
    // Runs have a limit for everybody.
    let is_free = matches!(resource, Resource::Echo | Resource::Run(..)) || kind == Kind::Read;
    if app.caller.hops == 0 || is_free {
        return Ok(());
    }
    let collection = resource.collection().map(wire::path::collection_id).unwrap_or_default();
    match app.changes_by_jobs.spend("change", Some(&collection), kind, app.clock.now()) {
        Spent::Left(_) => Ok(()),
        Spent::UsedUp(seconds) => Err(Problem::too_many_changes_by_jobs(MOST_CHANGES.get(), seconds)),
    }
}

/// What was refused, for the log: a line a minute, however many there are.
#[derive(Debug)]
pub(super) struct Refused {
    told_at: AtomicI64,
    untold: AtomicU64,
}

impl Refused {
    pub(super) const fn new() -> Self {
        Self { told_at: AtomicI64::new(i64::MIN), untold: AtomicU64::new(0) }
    }

    /// Logs a refused call, unless another one was logged within the last minute.
    pub(super) fn tell(&self, method: &Method, path: &str, headers: &HeaderMap, now: Timestamp) {
        let (now, before) = (now.as_second(), self.told_at.load(Ordering::Relaxed));
        let is_due = now.checked_sub(before).is_none_or(|passed| !(0..PAUSE).contains(&passed));
        let is_ours =
            || self.told_at.compare_exchange(before, now, Ordering::Relaxed, Ordering::Relaxed).is_ok();
        if !is_due || !is_ours() {
            self.untold.fetch_add(1, Ordering::Relaxed);
            return;
        }
        let named = |name: &str| {
            let value = headers.get(name).map(|value| String::from_utf8_lossy(value.as_bytes()));
            value.unwrap_or_default().chars().take(100).collect::<String>()
        };
        let (collection, job) = (named("x-ms-scheduler-jobcollectionid"), named("x-ms-scheduler-jobid"));
        let refused_before = self.untold.swap(0, Ordering::Relaxed);
        tracing::warn!(?collection, ?job, %method, ?path, refused_before, "the call of a job to the scheduler was refused");
    }
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    fn judge(values: &[&'static str], path: &str, is_allowed: bool) -> Result<u8, u16> {
        let name = axum::http::HeaderName::from_static(HOPS);
        let headers = values.iter().map(|value| (name.clone(), HeaderValue::from_static(value))).collect();
        check(&headers, Resource::of(path).as_ref(), is_allowed).map_err(|problem| problem.status)
    }

    #[test]
    fn calls_of_jobs_are_known_by_their_header_whatever_it_says() {
        for (values, path, allowed, expected) in [
            (&[][..], "/api/jobs", false, Ok(0)),
            (&["1"], "/api/jobs", false, Err(403)),
            (&[""], "/", false, Err(403)),
            (&["0"], "/nothing", false, Err(403)),
            (&["1"], "/api/echo/x", false, Ok(1)),
            (&["nonsense"], "/healthz", false, Ok(u8::MAX)),
            (&["1"], "/readyz", false, Err(403)),
            (&["5"], "/api/jobs", true, Ok(5)),
            (&["6"], "/api/jobs", true, Err(403)),
            (&["1", "6"], "/api/jobs", true, Err(403)),
            (&["-1"], "/api/jobs", true, Err(403)),
            (&["nonsense"], "/api/jobs", true, Err(403)),
        ] {
            assert_eq!(judge(values, path, allowed), expected, "{values:?} {path} {allowed}");
        }
    }
}
