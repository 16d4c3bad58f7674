//! "When is the next occurrence after this instant?": this crate beside `rrule` and `croner`.
//!
//! The same rules and the same instants go to all three in one run, and nothing is measured before they have given the
//! same answers. What the figures mean stands in `docs/benchmarks.md`.
//!
//! ```text
//! cargo bench -p recurrence --bench next                # Markdown
//! cargo bench -p recurrence --bench next -- --json      # the same as JSON, in nanoseconds
//! cargo bench -p recurrence --bench next -- Friday      # only rules with "Friday" in their names
//! ```
//!
//! Without `--bench`, which `cargo bench` adds, a few answers are compared and nothing is measured: that is what
//! `cargo test --benches` does.

mod measure;
mod report;
mod rules;

use std::hint::black_box;

use chrono::{DateTime, TimeZone, Utc};
use chrono_tz::Tz;
use croner::Cron;
use recurrence::{Draft, RecurrenceDraft, Rule, ScheduleDraft, Timestamp, Zone};
use rrule::{RRule, RRuleSet, Unvalidated};

use measure::{Part, Run, asking, measure, median, running_on, timed};
use report::{Cost, Row};
use rules::{Case, Other, YEAR, cases, millis};

/// So many that no branch predictor knows them by heart.
const INSTANTS: usize = 4096;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let given = |flag: &str| arguments.iter().any(|argument| argument == flag);
    let wanted = arguments.iter().find(|argument| !argument.starts_with("--"));
    let cases = cases();
    let cases = cases.iter().filter(|case| wanted.is_none_or(|part| case.rule.contains(part.as_str())));

    if !given("--bench") || given("--test") {
        for case in cases.filter(|case| !case.has_long_past) {
            Contest::new(case, 16);
            println!("compared: {}", case.rule);
        }
        return;
    }
    let rows: Vec<_> = cases
        .map(|case| {
            eprintln!("{}", case.rule);
            Contest::new(case, INSTANTS).measure()
        })
        .collect();
    let costs = if wanted.is_none() { costs() } else { Vec::new() };
    if given("--json") { report::json(&rows, &costs) } else { report::markdown(&rows, &costs) }
}

/// A rule in all engines that have it, and instants on which they agree.
struct Contest {
    rule: &'static str,
    zone: Tz,
    start: i64,
    instants: Vec<i64>,
    ours: Rule,
    rrule: Part<RRuleSet>,
    croner: Part<Cron>,
}

impl Contest {
    /// Builds the rules and compares their answers.
    fn new(case: &Case, instants: usize) -> Self {
        let start = millis(case.start);
        let instants = rules::instants(instants, case.days, case.except);
        let ours = Rule::build(&case.draft(), timestamp(start)).expect("a valid draft");
        let answers: Vec<_> =
            instants.iter().map(|at| ours.after(timestamp(*at)).map(Timestamp::as_second)).collect();
        assert!(answers.iter().all(Option::is_some), "{}: it goes on for ever", case.rule);

        let zone: Tz = case.recurrence.time_zone.as_deref().unwrap_or("UTC").parse().expect("a zone");
        let rrule = agreed(case.rrule, |text| {
            let rule: RRule<Unvalidated> = text.parse().expect("a recurrence rule");
            let set =
                rule.build(in_zone(&[start], rrule::Tz::from(zone))[0]).expect("a valid recurrence rule");
            (walked(&set, &instants) == answers).then_some(set)
        });
        let croner = agreed(case.croner, |text| {
            let cron: Cron = text.parse().expect("a cron expression");
            let next = |at: &DateTime<Tz>| Some(cron.find_next_occurrence(at, false).ok()?.timestamp());
            in_zone(&instants, zone).iter().map(next).eq(answers.iter().copied()).then_some(cron)
        });
        Self { rule: case.rule, zone, start, instants, ours, rrule, croner }
    }

    fn measure(&self) -> Row {
        let Self { zone, instants, ours, .. } = self;
        let rrule = self.rrule.as_ref().map_err(|reason| *reason);
        let croner = self.croner.as_ref().map_err(|reason| *reason);
        let start = in_zone(&[self.start], *zone)[0];
        let [asked_ours, asked_rrule, asked_croner, running_ours, running_rrule, running_croner] = measure([
            Ok(asking(instants.iter().copied().map(timestamp).collect(), |at| ours.after(*at))),
            rrule.map(|set| {
                let instants = in_zone(instants, rrule::Tz::from(*zone));
                asking(instants, |at| set.into_iter().find(|next| next > at))
            }),
            croner.map(|cron| match zone {
                // What somebody without zones would take, and quicker than the UTC among the zones.
                Tz::UTC => asking(in_zone(instants, Utc), |at| cron.find_next_occurrence(at, false)),
                zone => asking(in_zone(instants, *zone), |at| cron.find_next_occurrence(at, false)),
            }),
            Ok(running_on(|| ours.occurrences())),
            rrule.map(|set| running_on(|| set.into_iter())),
            croner.map(|cron| match zone {
                Tz::UTC => running_on(move || cron.iter_after(start.to_utc())),
                _ => running_on(move || cron.iter_after(start)),
            }),
        ]);
        Row {
            rule: self.rule,
            asked: [asked_ours, asked_rrule, asked_croner],
            running: [running_ours, running_rrule, running_croner],
        }
    }
}

/// Another engine's rule, where it has it and `build` finds that its answers are ours.
fn agreed<T>(other: Other, build: impl Fn(&str) -> Option<T>) -> Part<T> {
    match other {
        Other::Same(text) => Ok(build(text).unwrap_or_else(|| panic!("{text}: its answers are not ours"))),
        Other::Differs(text, reason) => {
            assert!(build(text).is_none(), "{text}: its answers are ours after all");
            Err(reason)
        }
        Other::Cannot(reason) => Err(reason),
    }
}

/// The occurrences that follow some instants, found on one walk: a walk for each would take hours.
fn walked(set: &RRuleSet, instants: &[i64]) -> Vec<Option<i64>> {
    let mut order: Vec<_> = (0..instants.len()).collect();
    order.sort_unstable_by_key(|i| instants[*i]);
    let mut answers = vec![None; instants.len()];
    let mut walk = set.into_iter().peekable();
    for i in order {
        while walk.next_if(|next| next.timestamp_millis() <= instants[i]).is_some() {}
        answers[i] = walk.peek().map(DateTime::timestamp);
    }
    answers
}

fn timestamp(millis: i64) -> Timestamp {
    Timestamp::from_millisecond(millis).expect("in range")
}

fn in_zone<Z: TimeZone>(instants: &[i64], zone: Z) -> Vec<DateTime<Z>> {
    let utc = |at| DateTime::<Utc>::from_timestamp_millis(at).expect("in range");
    instants.iter().map(|at| utc(*at).with_timezone(&zone)).collect()
}

/// What else a scheduler asks of this crate.
fn costs() -> Vec<Cost> {
    let mut costs = Vec::new();
    let mut cost = |what: String, run: Run<'_>| {
        let [nanos] = measure([Ok(run)]);
        costs.push((what, nanos.unwrap_or_default()));
    };
    for case in cases().iter().filter(|case| BUILT.contains(&case.rule)) {
        let accepted_at = timestamp(millis(case.start));
        let build = asking(vec![case.draft()], |draft| Rule::build(draft, accepted_at));
        cost(format!("`Rule::build`: {}", case.rule), build);
    }
    for (what, recurrence) in minutely() {
        let (begin, end) =
            (timestamp(millis("2027-01-01T00:00:00Z")), timestamp(millis("2028-01-01T00:00:00Z")));
        let draft = Draft { start_time: None, recurrence: Some(recurrence) };
        let rule = Rule::build(&draft, begin).expect("a valid draft");
        let first = rule.first().expect("an occurrence");
        let last = asking(vec![end], move |end| rule.last_by(&first, *end));
        cost(format!("`Rule::last_by`: a year of {what}"), last);
    }
    for name in ["Europe/Paris", "Romance Standard Time"] {
        cost(format!("`Zone::named`: {name}"), asking(vec![name], |name| Zone::named(name)));
    }
    let paris = Zone::named("Europe/Paris").expect("a zone");
    let instants = rules::instants(INSTANTS, YEAR, None).into_iter().map(timestamp).collect();
    cost("`Zone::offset_at`: Europe/Paris".to_owned(), asking(instants, |at| paris.offset_at(*at)));

    let first_times = NEW_ZONES.map(|name| {
        let took = timed(|| {
            black_box(Zone::named(black_box(name)));
        });
        took.as_nanos() as f64
    });
    costs.push(("`Zone::named`, the first time in a process".to_owned(), median(first_times.to_vec())));
    costs
}

/// Every minute, by each kind of plan.
fn minutely() -> [(&'static str, RecurrenceDraft); 3] {
    let zone = || Some("Europe/Paris".to_owned());
    let named = |frequency: &str| Some(frequency.to_owned());
    let all = || {
        Some(ScheduleDraft {
            hours: Some((0..24).collect()),
            minutes: Some((0..60).collect()),
            ..Default::default()
        })
    };
    let steps = RecurrenceDraft { frequency: named("minute"), ..Default::default() };
    let limited = RecurrenceDraft {
        frequency: named("minute"),
        schedule: all(),
        time_zone: zone(),
        ..Default::default()
    };
    let days =
        RecurrenceDraft { frequency: named("day"), schedule: all(), time_zone: zone(), ..Default::default() };
    [
        ("every minute", steps),
        ("every minute, all hours and minutes, Europe/Paris", limited),
        ("every day, all hours and minutes, Europe/Paris", days),
    ]
}

/// The rules whose making is measured.
const BUILT: [&str; 3] = [
    "every 5 minutes, since yesterday",
    "Monday, Wednesday, Friday 10:00 and 22:00",
    "last Friday of the month, 05:15, Europe/Paris",
];

/// Zones with summer time that nothing else here asks for.
const NEW_ZONES: [&str; 11] = [
    "America/Chicago",
    "America/Denver",
    "America/Halifax",
    "America/Los_Angeles",
    "America/Santiago",
    "Australia/Sydney",
    "Europe/Athens",
    "Europe/Berlin",
    "Europe/London",
    "Europe/Warsaw",
    "Pacific/Auckland",
];
