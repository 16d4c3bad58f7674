//! May this job be here? The limits that a well-formed job is held to before it is kept.
//!
//! [`check`] says everything about a job that goes beyond a limit; such a request is a bad one. [`quota`] says whether
//! it recurs faster than its collection allows; such a request is in conflict with the collection. The size of a whole
//! job is not judged here: it is the size of its JSON, which only `wire` knows.

use std::time::Duration;

use jiff::{Span, tz::TimeZone};
use recurrence::{Fault, Rule, Timestamp};

use crate::action::{Call, HttpAuthentication, HttpRequest, RetryPolicy};
use crate::{Action, Allowance, CatchUp, PlanLimits};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// The limits of every job, whatever its collection's plan. The defaults are those of the old service; an operator may
/// change every number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// The most characters of a URI.
    pub uri: usize,
    /// The most headers of a request.
    pub headers: usize,
    /// The most characters of all names and values of a request's headers together.
    pub header_characters: usize,
    /// The most characters of a request's body.
    pub body: usize,
    /// How many months ahead a job may start.
    pub start_months: u32,
    /// The most retries.
    pub retries: u32,
    /// The longest retry interval.
    pub longest_retry: Duration,
    /// How deep error actions may be nested, never deeper than [`Action::DEEPEST`].
    pub error_actions: usize,
    /// The most missed occurrences that a job may ask to be made up.
    pub catch_up: u32,
    /// The most characters of the name of a job, or of a collection.
    pub name: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            uri: 2048,
            headers: 50,
            header_characters: 4096,
            body: 8192,
            start_months: 18,
            retries: 20,
            // 18 months, in days as long as the longest interval of a daily recurrence.
            longest_retry: DAY * 548,
            error_actions: Action::DEEPEST,
            // At one a second, a quarter of an hour.
            catch_up: 1000,
            name: 100,
        }
    }
}

/// All that goes beyond a limit. Paths begin below a job's properties: `action.request.uri`.
pub fn check(
    rule: &Rule,
    action: &Action,
    catch_up: CatchUp,
    plan: &PlanLimits,
    limits: &Limits,
    now: Timestamp,
) -> Vec<Fault> {
    let mut faults = Vec::new();
    let latest = months_after(now, limits.start_months);
    if let Some(start) = rule.start_time().filter(|start| *start > latest) {
        let allowed = format!("at most {} months ahead, until {latest}", limits.start_months);
        faults.push(Fault::new("startTime", start, allowed));
    }
    faults.extend(check_action(action, plan, limits));
    if let CatchUp::All { max } = catch_up
        && max > limits.catch_up
    {
        faults.push(Fault::new("catchUp.max", max, format!("at most {}", limits.catch_up)));
    }
    faults
}

/// What of an action goes beyond a limit; a part of [`check`].
pub fn check_action(action: &Action, plan: &PlanLimits, limits: &Limits) -> Vec<Fault> {
    let mut faults = Vec::new();
    check_at_depth(&mut faults, "action", action, 0, plan, limits);
    faults
}

/// The faults of certificates that have expired. Those of `known` were accepted before, and do not keep a job from being
/// changed in other ways.
pub fn expired(action: &Action, known: Option<&Action>, now: Timestamp) -> Vec<Fault> {
    let known: Vec<_> = known.into_iter().flat_map(certificates).flatten().collect();
    let mut path = "action".to_owned();
    let mut faults = Vec::new();
    for certificate in certificates(action) {
        if let Some((_, expiration)) = certificate.filter(|found| found.1 <= now && !known.contains(found)) {
            let given = format!("a certificate that expired on {expiration}");
            let field = format!("{path}.request.authentication.pfx");
            faults.push(Fault::new(field, given, "a certificate that is still valid"));
        }
        path.push_str(".errorAction");
    }
    faults
}

/// Thumbprint and expiration of the client certificates of an action and of its error actions.
fn certificates(action: &Action) -> impl Iterator<Item = Option<(&str, Timestamp)>> {
    std::iter::successors(Some(action), |action| action.on_error.as_deref()).map(|action| {
        let Call::Http { request, .. } = &action.call else { return None };
        match &request.authentication {
            Some(HttpAuthentication::ClientCertificate { thumbprint, expiration, .. }) => {
                Some((thumbprint.as_str(), *expiration))
            }
            _ => None,
        }
    })
}

fn months_after(now: Timestamp, months: u32) -> Timestamp {
    let span = Span::new().try_months(months);
    let later = span.and_then(|span| now.to_zoned(TimeZone::UTC).checked_add(span));
    later.map_or(Timestamp::MAX, |later| later.timestamp())
}

fn check_at_depth(
    faults: &mut Vec<Fault>,
    path: &str,
    action: &Action,
    depth: usize,
    plan: &PlanLimits,
    limits: &Limits,
) {
    if depth > limits.error_actions {
        let allowed = format!("error actions nested at most {} deep", limits.error_actions);
        faults.push(Fault::new(path, "an error action", allowed));
        return;
    }
    if let Call::Http { request, .. } = &action.call {
        check_request(faults, &format!("{path}.request"), request, plan, limits);
    }
    if let Some(RetryPolicy::Fixed { interval, count }) = &action.retry {
        if let Some(interval) = interval.map(|interval| Duration::from_secs(interval.seconds))
            && !(plan.shortest_retry..=limits.longest_retry).contains(&interval)
        {
            let (least, most) = (words(plan.shortest_retry), words(limits.longest_retry));
            let allowed = format!("from {least}, the least on this plan, to {most}");
            faults.push(Fault::new(format!("{path}.retryPolicy.retryInterval"), words(interval), allowed));
        }
        if let Some(count) = count.filter(|count| *count > limits.retries) {
            let allowed = format!("a whole number from 0 to {}", limits.retries);
            faults.push(Fault::new(format!("{path}.retryPolicy.retryCount"), count, allowed));
        }
    }
    if let Some(on_error) = &action.on_error {
        check_at_depth(faults, &format!("{path}.errorAction"), on_error, depth + 1, plan, limits);
    }
}

fn check_request(
    faults: &mut Vec<Fault>,
    path: &str,
    request: &HttpRequest,
    plan: &PlanLimits,
    limits: &Limits,
) {
    let mut at_most = |member: &str, number: usize, most: usize, what: &str| {
        if number > most {
            let allowed = format!("at most {most} {what}");
            faults.push(Fault::new(format!("{path}.{member}"), format!("{number} {what}"), allowed));
        }
    };
    let characters = |text: &str| text.chars().count();
    at_most("uri", characters(&request.uri), limits.uri, "characters");
    let headers = request.headers.as_deref().unwrap_or_default();
    at_most("headers", headers.len(), limits.headers, "headers");
    let all = headers.iter().map(|(name, value)| characters(name) + characters(value)).sum();
    at_most("headers", all, limits.header_characters, "characters in all");
    at_most("body", request.body.as_deref().map_or(0, characters), limits.body, "characters");
    if request.authentication.is_some() && !plan.authentication {
        let allowed = "no authentication on this plan; others allow it";
        faults.push(Fault::new(format!("{path}.authentication"), "authentication", allowed));
    }
}

/// A duration in the largest unit that is whole.
fn words(duration: Duration) -> String {
    let seconds = duration.as_secs();
    let units = [(86_400, "day"), (3600, "hour"), (60, "minute")];
    let unit = units.into_iter().find(|(length, _)| seconds >= *length && seconds.is_multiple_of(*length));
    let (length, unit) = unit.unwrap_or((1, "second"));
    let number = seconds / length;
    format!("{number} {unit}{}", if number == 1 { "" } else { "s" })
}

/// The fault of a rule that is faster than a collection allows.
pub fn quota(rule: &Rule, allowance: &Allowance) -> Option<Fault> {
    let fastest = rule.fastest().filter(|fastest| *fastest < allowance.fastest)?;
    let shown = format!("a run every {} at the fastest", words(fastest));
    let allowed = format!("no less than {} from one run to the next", words(allowance.fastest));
    Some(Fault::new("recurrence", shown, format!("{allowed} in this job collection")))
}

#[cfg(test)]
mod tests {
    use recurrence::{Draft, RecurrenceDraft, ScheduleDraft};

    use super::*;
    use crate::action::{IntervalForm, RetryInterval};
    use crate::{Plan, Plans, Secret};

    const NOW: &str = "2027-01-31T12:00:00Z";

    fn now() -> Timestamp {
        NOW.parse().expect("a timestamp")
    }

    fn rule(start: Option<&str>) -> Rule {
        let draft = Draft { start_time: start.map(str::to_owned), recurrence: None };
        Rule::build(&draft, now()).expect("a rule")
    }

    fn call(change: impl FnOnce(&mut HttpRequest)) -> Action {
        let mut request = HttpRequest {
            uri: "http://example.org/".into(),
            method: "GET".into(),
            headers: None,
            body: None,
            authentication: None,
        };
        change(&mut request);
        Action { call: Call::Http { https: false, request }, retry: None, on_error: None }
    }

    fn retrying(seconds: u64, count: u32) -> Action {
        let interval = Some(RetryInterval { seconds, form: IntervalForm::Iso });
        Action { retry: Some(RetryPolicy::Fixed { interval, count: Some(count) }), ..call(|_| ()) }
    }

    /// The faults of an action, as they are shown.
    fn faults_on(plan: Plan, action: &Action) -> Vec<String> {
        let plans = Plans::default();
        let limits = Limits::default();
        let faults = check(&rule(None), action, CatchUp::Last, plans.limits(plan), &limits, now());
        faults.iter().map(ToString::to_string).collect()
    }

    #[track_caller]
    fn refused(action: &Action, begins: &str) {
        let faults = faults_on(Plan::Standard, action);
        assert_eq!(faults.len(), 1, "{faults:?}");
        assert!(faults[0].starts_with(begins), "{faults:?}");
    }

    #[track_caller]
    fn admitted(action: &Action) {
        assert_eq!(faults_on(Plan::Standard, action), [""; 0]);
    }

    #[test]
    fn certificates_that_have_expired_are_refused_once() {
        let with = |thumbprint: &str, expiration: &str| {
            call(|request| {
                request.authentication = Some(HttpAuthentication::ClientCertificate {
                    pfx: Secret::new("f"),
                    password: Secret::new("p"),
                    thumbprint: thumbprint.into(),
                    expiration: expiration.parse().expect("a timestamp"),
                    subject: "CN=x".into(),
                });
            })
        };
        let faults = |action: &Action, known: Option<&Action>| {
            let faults = expired(action, known, now());
            faults.into_iter().map(|fault| fault.field).collect::<Vec<_>>()
        };
        let (valid, old) = (with("A", "2027-02-01T00:00:00Z"), with("B", "2027-01-31T12:00:00Z"));
        assert!(faults(&valid, None).is_empty());
        assert_eq!(faults(&old, None), ["action.request.authentication.pfx"]);
        assert!(faults(&old, Some(&old)).is_empty(), "it was there before");
        let nested = Action { on_error: Some(Box::new(old.clone())), ..valid };
        assert_eq!(faults(&nested, None), ["action.errorAction.request.authentication.pfx"]);
        assert!(faults(&nested, Some(&old)).is_empty());
    }

    #[test]
    fn lengths() {
        let uri = |length: usize| call(|request| request.uri = format!("{:é<length$}", "http://a/"));
        admitted(&uri(2047));
        admitted(&uri(2048));
        refused(&uri(2049), "action.request.uri: 2049 characters is not allowed here; allowed: at most 2048");

        let body = |length: usize| call(|request| request.body = Some("é".repeat(length)));
        admitted(&body(8191));
        admitted(&body(8192));
        refused(&body(8193), "action.request.body: 8193 characters");

        let headers = |count: usize| {
            call(|request| {
                request.headers = Some((0..count).map(|i| (format!("x-{i}"), "y".into())).collect());
            })
        };
        admitted(&headers(0));
        admitted(&headers(49));
        admitted(&headers(50));
        refused(&headers(51), "action.request.headers: 51 headers");

        let long = |length: usize| {
            let second = ("b".to_owned(), "é".repeat(length - 102));
            call(|request| request.headers = Some(vec![("a".to_owned(), "x".repeat(100)), second]))
        };
        admitted(&long(4095));
        admitted(&long(4096));
        refused(&long(4097), "action.request.headers: 4097 characters in all");
    }

    #[test]
    fn retries() {
        admitted(&retrying(60, 0));
        admitted(&retrying(60, 19));
        admitted(&retrying(60, 20));
        refused(&retrying(60, 21), "action.retryPolicy.retryCount: 21");
        refused(&retrying(14, 1), "action.retryPolicy.retryInterval: 14 seconds");
        admitted(&retrying(15, 1));
        admitted(&retrying(16, 1));
        let longest = 548 * 86_400;
        admitted(&retrying(longest - 1, 1));
        admitted(&retrying(longest, 1));
        refused(&retrying(longest + 1, 1), "action.retryPolicy.retryInterval: ");
        refused(&retrying(u64::MAX, 1), "action.retryPolicy.retryInterval: ");
        admitted(&Action { retry: Some(RetryPolicy::None), ..call(|_| ()) });

        assert_eq!(faults_on(Plan::Free, &retrying(3599, 1)).len(), 1);
        assert_eq!(faults_on(Plan::Free, &retrying(3600, 1)), [""; 0]);
        assert_eq!(faults_on(Plan::Free, &retrying(3601, 1)), [""; 0]);
    }

    #[test]
    fn error_actions_are_held_to_the_same() {
        let nested = |depth: usize| {
            let mut action = call(|_| ());
            for _ in 0..depth {
                action = Action { on_error: Some(Box::new(action)), ..call(|_| ()) };
            }
            action
        };
        admitted(&nested(2));
        admitted(&nested(3));
        refused(&nested(4), "action.errorAction.errorAction.errorAction.errorAction: an error action");
        let action = Action { on_error: Some(Box::new(retrying(1, 21))), ..call(|_| ()) };
        let faults = faults_on(Plan::Standard, &action);
        assert!(
            faults[0].starts_with("action.errorAction.retryPolicy.retryInterval: 1 second "),
            "{faults:?}"
        );
        assert!(faults[1].starts_with("action.errorAction.retryPolicy.retryCount: 21 "), "{faults:?}");
    }

    #[test]
    fn free_has_no_authentication() {
        let action = call(|request| {
            let password = Secret::new("hunter2");
            request.authentication = Some(HttpAuthentication::Basic { username: "user".into(), password });
        });
        admitted(&action);
        let faults = faults_on(Plan::Free, &action);
        assert_eq!(faults.len(), 1, "{faults:?}");
        assert!(faults[0].starts_with("action.request.authentication: "), "{faults:?}");
        assert!(!faults[0].contains("hunter2"), "{faults:?}");
    }

    #[test]
    fn starts() {
        let faults = |start: &str| {
            let plan = *Plans::default().limits(Plan::Standard);
            check(&rule(Some(start)), &call(|_| ()), CatchUp::Last, &plan, &Limits::default(), now()).len()
        };
        // 18 months after January 31.
        assert_eq!(faults("2028-07-31T11:59:59Z"), 0);
        assert_eq!(faults("2028-07-31T12:00:00Z"), 0);
        assert_eq!(faults("2028-07-31T12:00:01Z"), 1);
        assert_eq!(faults("2000-01-01"), 0);
        assert_eq!(months_after(now(), 1).to_string(), "2027-02-28T12:00:00Z");
        assert_eq!(months_after(now(), u32::MAX), Timestamp::MAX);
    }

    #[test]
    fn occurrences_to_make_up() {
        let faults = |max| {
            let plan = *Plans::default().limits(Plan::Standard);
            let all = CatchUp::All { max };
            check(&rule(None), &call(|_| ()), all, &plan, &Limits::default(), now()).len()
        };
        assert_eq!((faults(999), faults(1000), faults(1001)), (0, 0, 1));
    }

    #[test]
    fn every_limit_can_be_changed() {
        let limits = Limits {
            uri: 1,
            headers: 0,
            header_characters: 1,
            body: 1,
            start_months: 0,
            retries: 0,
            longest_retry: Duration::from_secs(59),
            error_actions: 0,
            catch_up: 0,
            name: 1,
        };
        let mut action = retrying(60, 1);
        action.on_error = Some(Box::new(call(|_| ())));
        let Call::Http { request, .. } = &mut action.call else { unreachable!() };
        request.headers = Some(vec![("a".into(), "b".into())]);
        request.body = Some("xy".into());
        let plan = *Plans::default().limits(Plan::Standard);
        let faults =
            check(&rule(Some("2027-02-01")), &action, CatchUp::All { max: 1 }, &plan, &limits, now());
        let fields: Vec<_> = faults.iter().map(|fault| fault.field.as_str()).collect();
        assert_eq!(
            fields,
            [
                "startTime",
                "action.request.uri",
                "action.request.headers",
                "action.request.headers",
                "action.request.body",
                "action.retryPolicy.retryInterval",
                "action.retryPolicy.retryCount",
                "action.errorAction",
                "catchUp.max",
            ]
        );
    }

    #[test]
    fn speed() {
        let every = |frequency: &str, interval, minutes: Option<Vec<i64>>| {
            let schedule =
                minutes.map(|minutes| ScheduleDraft { minutes: Some(minutes), ..Default::default() });
            let recurrence = RecurrenceDraft {
                frequency: Some(frequency.into()),
                interval: Some(interval),
                schedule,
                ..Default::default()
            };
            Rule::build(&Draft { start_time: None, recurrence: Some(recurrence) }, now()).expect("a rule")
        };
        let allowance = |seconds| Allowance { jobs: 1, fastest: Duration::from_secs(seconds) };
        assert_eq!(
            quota(&every("minute", 59, None), &allowance(3600)).map(|fault| fault.to_string()),
            Some(
                "recurrence: a run every 59 minutes at the fastest is not allowed here; allowed: no less than 1 hour \
                 from one run to the next in this job collection"
                    .to_owned()
            )
        );
        assert_eq!(quota(&every("minute", 60, None), &allowance(3600)), None);
        assert_eq!(quota(&every("minute", 61, None), &allowance(3600)), None);
        assert_eq!(quota(&rule(None), &allowance(3600)), None);
        let schedule = quota(&every("month", 1, Some(vec![0, 1])), &allowance(3600)).expect("too fast");
        assert!(schedule.to_string().contains("a run every 1 minute "), "{schedule}");
    }

    #[test]
    fn durations_in_words() {
        for (seconds, text) in [
            (0, "0 seconds"),
            (1, "1 second"),
            (60, "1 minute"),
            (90, "90 seconds"),
            (3600, "1 hour"),
            (86_400, "1 day"),
            (548 * 86_400, "548 days"),
        ] {
            assert_eq!(words(Duration::from_secs(seconds)), text);
        }
    }
}
