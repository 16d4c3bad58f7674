//! What must hold for every document and for every rule, whatever the input.
//!
//! The fuzz targets feed these checks with what a fuzzer finds; the property tests of the crate `wire` include this
//! file and feed them with random values, so that a stable compiler runs the same checks.

mod choices;
mod writer;

pub use choices::{Choices, draft, instant, present};
pub use writer::{Wrapping, written};

use recurrence::{Draft, Faults, Occurrence, Pattern, Recurrence, Rule, Timestamp};
use serde_json::Value;
use wire::recurrence::Shape;

/// How many occurrences of a rule are looked at.
const LOOK: usize = 20;

/// Reads bytes as a document, at a moment that depends on them.
pub fn check_document(bytes: &[u8]) {
    let own: Result<Value, _> = serde_json::from_slice(bytes);
    match wire::json::read(bytes) {
        Ok(tree) => {
            if let Ok(own) = own {
                assert_eq!(tree, own, "the tree is what the parser reads");
            }
            check_tree(&tree, moment(bytes));
        }
        Err(fault) => {
            assert!(fault.line > 0 && fault.column > 0 && !fault.problem.is_empty(), "{fault:?}");
            let shown = format!("{fault}{}", fault.pointer.replace('\n', ""));
            assert!(!shown.contains(char::is_control), "{fault:?}");
            assert!(own.is_err() || fault.problem.contains("already"), "refused without a reason: {fault}");
        }
    }
}

/// Reads a tree as each of the shapes.
pub fn check_tree(tree: &Value, now: Timestamp) {
    if let Err(faults) = wire::recurrence::recognise(tree) {
        check_faults(&faults);
    }
    for shape in [Shape::Job, Shape::Properties, Shape::Recurrence] {
        let reading = wire::recurrence::read(tree, shape);
        assert!(reading.ignored().iter().all(|path| !path.is_empty() && !path.contains(char::is_control)));
        match reading.rule(now) {
            Ok(rule) => {
                check_rule(&rule);
            }
            Err(faults) => check_faults(&faults),
        }
    }
}

fn check_faults(faults: &Faults) {
    assert!(faults.iter().next().is_some());
    for fault in faults.iter() {
        assert!(!fault.field.is_empty() && !fault.allowed.is_empty(), "{fault:?}");
        assert!(!fault.to_string().contains(char::is_control), "{fault:?}");
    }
}

/// Makes a draft of the bytes, writes it as JSON and reads it again, and asks its rule about some instants.
pub fn check_choices(bytes: &[u8]) {
    let choices = &mut Choices::new(bytes);
    let now = present(choices);
    let draft = draft(choices, now);
    check_written(&draft, choices);
    match Rule::build(&draft, now) {
        Err(faults) => check_faults(&faults),
        Ok(rule) => {
            let occurrences = check_rule(&rule);
            let mut instants: Vec<_> = (0..4).map(|_| instant(choices)).collect();
            instants.sort();
            check_after(&rule, &occurrences, &instants);
            for instant in instants {
                check_speed_after(&rule, instant);
            }
        }
    }
}

/// What is written and read again is the same.
fn check_written(draft: &Draft, choices: &mut Choices<'_>) {
    let wrapping = Wrapping::choose(choices, draft);
    let document = written(draft, wrapping, choices);
    let shape =
        wire::recurrence::recognise(&document).unwrap_or_else(|faults| panic!("{document}: {faults}"));
    let reading = wire::recurrence::read(&document, shape);
    assert_eq!(reading.draft(), draft, "{document}");
    assert!(reading.ignored().is_empty(), "{document}: {:?}", reading.ignored());
}

/// What holds for every rule, on its first occurrences, which come back.
pub fn check_rule(rule: &Rule) -> Vec<Occurrence> {
    let occurrences: Vec<_> = rule.occurrences().take(LOOK).collect();
    let count = rule.recurrence().map_or(Some(1), Recurrence::count);
    let end = rule.recurrence().and_then(Recurrence::end_time);
    assert!(!occurrences.is_empty(), "a rule has an occurrence: {rule:?}");
    assert!(count.is_none_or(|count| occurrences.len() <= count as usize), "more than count: {rule:?}");
    for (i, Occurrence { number, at }) in occurrences.iter().enumerate() {
        assert_eq!(*number as usize, i + 1, "counted from 1: {rule:?}");
        assert!(*at >= rule.accepted_at(), "{at} is before now: {rule:?}");
        assert!(rule.start_time().is_none_or(|start| *at >= start), "{at} is before the start: {rule:?}");
        assert!(end.is_none_or(|end| *at <= end), "{at} is after the end: {rule:?}");
        assert_eq!(
            rule.after(just_before(*at)),
            Some(*at),
            "an occurrence is found from just before it: {rule:?}"
        );
    }
    for pair in occurrences.windows(2) {
        assert!(pair[0].at < pair[1].at, "{} then {}: {rule:?}", pair[0].at, pair[1].at);
        assert_eq!(rule.after(pair[0].at), Some(pair[1].at), "the one after is the next: {rule:?}");
    }
    check_speed(rule, &occurrences);
    check_words(rule, &occurrences);
    occurrences
}

/// What is said about a rule is one line each.
fn check_words(rule: &Rule, occurrences: &[Occurrence]) {
    for words in rule.remarks(occurrences).into_iter().chain([rule.describe()]) {
        assert!(!words.trim().is_empty() && !words.contains(char::is_control), "{words:?}: {rule:?}");
    }
}

/// No two occurrences are nearer than the rule says; a run at once is not one of its steps.
fn check_speed(rule: &Rule, occurrences: &[Occurrence]) {
    let by_cron =
        rule.recurrence().is_some_and(|recurrence| matches!(recurrence.pattern(), Pattern::Cron(_)));
    let runs_at_once = rule.start_time().is_none() && !by_cron;
    let instants: Vec<_> = occurrences[usize::from(runs_at_once)..].iter().map(|one| one.at).collect();
    check_distances(rule, &instants);
}

/// The same of those after an instant, within the centuries that a rule foresees.
fn check_speed_after(rule: &Rule, instant: Timestamp) {
    const FORESEEN: i64 = 400 * 365 * 86_400;
    let counted = rule.recurrence().is_none_or(|recurrence| recurrence.count().is_some());
    if !counted && instant.as_second() < rule.accepted_at().as_second() + FORESEEN {
        // A run at once is over by then.
        let first = rule.after(instant.max(rule.accepted_at()));
        let instants: Vec<_> = std::iter::successors(first, |last| rule.after(*last)).take(LOOK).collect();
        check_distances(rule, &instants);
    }
}

fn check_distances(rule: &Rule, instants: &[Timestamp]) {
    let distances = instants.windows(2).map(|pair| pair[1].duration_since(pair[0]).unsigned_abs());
    if let Some(nearest) = distances.min() {
        let fastest = rule.fastest();
        assert!(fastest.is_some_and(|fastest| fastest <= nearest), "{nearest:?} and {fastest:?}: {rule:?}");
    }
}

/// What holds for the first occurrence after each of some instants in order, given the first occurrences.
pub fn check_after(rule: &Rule, occurrences: &[Occurrence], instants: &[Timestamp]) {
    let end = rule.recurrence().and_then(Recurrence::end_time);
    let mut previous = None;
    for instant in instants {
        let Some(next) = rule.after(*instant) else {
            let later = occurrences.iter().find(|occurrence| occurrence.at > *instant);
            assert_eq!(later, None, "there is one after {instant}: {rule:?}");
            continue;
        };
        assert!(next > *instant, "{next} is not after {instant}: {rule:?}");
        assert!(end.is_none_or(|end| next <= end), "{next} is after the end: {rule:?}");
        assert!(next >= occurrences[0].at, "{next} is before the first: {rule:?}");
        assert!(previous <= Some(next), "{previous:?} and then {next}: {rule:?}");
        assert_eq!(rule.after(just_before(next)), Some(next), "found from just before it: {rule:?}");
        let between = occurrences.iter().find(|occurrence| occurrence.at > *instant && occurrence.at < next);
        assert_eq!(between, None, "left out between {instant} and {next}: {rule:?}");
        previous = Some(next);
    }
}

fn just_before(at: Timestamp) -> Timestamp {
    let nanos = at.as_nanosecond() - 1;
    Timestamp::from_nanosecond(nanos).unwrap_or(Timestamp::MIN)
}

/// A moment that depends on every byte, so that a document alone says what happened.
fn moment(bytes: &[u8]) -> Timestamp {
    let hash = bytes.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    });
    present(&mut Choices::new(&hash.to_be_bytes()))
}
