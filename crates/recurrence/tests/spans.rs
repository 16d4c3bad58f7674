//! Spans of random rules: what is counted is what a walk finds, the engine's own and the reference's.

use proptest::prelude::*;
use proptest::sample::Index;
use random::{COMPARED, asked, beside, config, later};
use recurrence::{Draft, DstDraft, Occurrence, RecurrenceDraft, Rule, ScheduleDraft, Timestamp};
use reference::Walls;

mod random;
mod reference;

/// How many occurrences are walked through where the engine is compared with itself.
const WALKED: usize = 600;

/// Instants beside occurrences, or anywhere between them.
fn beside_one() -> impl Strategy<Value = i64> {
    prop_oneof![
        3 => Just(0),
        1 => Just(1),
        1 => Just(-1),
        1 => (-3000..=3000_i64).prop_map(|minutes| minutes * 60_000_000_000),
    ]
}

/// Of a list in order, those after one instant and before another.
fn between(list: &[Timestamp], after: Timestamp, before: Timestamp) -> u64 {
    list.iter().filter(|at| after < **at && **at < before).count() as u64
}

/// The last occurrence that a walk from `first` finds by an instant.
fn walked_to(rule: &Rule, first: Occurrence, instant: Timestamp) -> Option<Occurrence> {
    std::iter::successors(Some(first), |last| rule.next(last)).take_while(|one| one.at <= instant).last()
}

proptest! {
    #![proptest_config(config())]

    /// Counting finds what the reference finds.
    #[test]
    fn a_span_holds_what_the_reference_finds(
        asked in asked(),
        ends in any::<(Index, Index)>(),
        away in (beside_one(), beside_one()),
        nth in any::<Index>(),
    ) {
        let Some(rule) = asked.rule()? else { return Ok(()) };
        let walk = asked.walk_uncounted();
        if walk.found.is_empty() {
            return Ok(());
        }
        let pick = |which: Index, away| beside(walk.found[which.index(walk.found.len())], away);
        let (after, before) = (pick(ends.0, away.0), pick(ends.1, away.1).min(walk.complete_until));
        prop_assert_eq!(rule.between(after, before), between(&walk.found, after, before));
        prop_assert_eq!(rule.before(before), walk.found.iter().rfind(|at| **at < before).copied());

        let i = ends.1.index(walk.found.len());
        let last = Occurrence { number: i as u32 + 1, at: walk.found[i] };
        let steps = nth.index(i + 1);
        let expected = Occurrence { number: (i - steps) as u32 + 1, at: walk.found[i - steps] };
        prop_assert_eq!(rule.back(&last, steps as u32), Some(expected));
        prop_assert_eq!(rule.back(&last, last.number), None);
        prop_assert_eq!(rule.before(walk.found[0]), None);
    }

    /// The last by an instant is the one that a walk ends with, whatever the count and wherever it begins.
    #[test]
    fn the_last_by_an_instant_is_where_a_walk_ends(
        asked in asked(),
        which in any::<(Index, Index)>(),
        away in beside_one(),
        from in prop_oneof![Just(1_u32), 1..=70_u32, Just(u32::MAX - 5)],
    ) {
        let Some(rule) = asked.rule()? else { return Ok(()) };
        let found: Vec<Occurrence> = rule.occurrences().take(COMPARED).collect();
        let first = Occurrence { number: from, at: found[which.0.index(found.len())].at };
        let instant = beside(found[which.1.index(found.len())].at, away);
        prop_assert_eq!(rule.last_by(&first, instant), walked_to(&rule, first, instant));
        // An occurrence that is none of the rule's, such as one that other zone data made.
        let stranger = Occurrence { number: from, at: beside(first.at, away) };
        prop_assert_eq!(rule.last_by(&stranger, instant), walked_to(&rule, stranger, instant));
    }

    /// Over long spans, with many clock changes, counting agrees with walking.
    #[test]
    fn long_spans_are_counted_as_they_are_walked(
        asked in asked(),
        ends in any::<(Index, Index)>(),
        away in (beside_one(), beside_one()),
    ) {
        let Some(rule) = asked.rule()? else { return Ok(()) };
        let found: Vec<Timestamp> = rule.occurrences().take(WALKED).map(|one| one.at).collect();
        let complete = found.len() < WALKED;
        let pick = |which: Index, away| beside(found[which.index(found.len())], away);
        let (after, mut before) = (pick(ends.0, away.0), pick(ends.1, away.1));
        if !complete || asked.recurrence().count.is_some() {
            before = before.min(found[found.len() - 1]);
        }
        prop_assert_eq!(rule.between(after, before), between(&found, after, before));
        let i = ends.1.index(found.len());
        let last = Occurrence { number: i as u32 + 1, at: found[i] };
        for steps in [i.min(1), i / 2, i] {
            let expected = Occurrence { number: (i - steps) as u32 + 1, at: found[i - steps] };
            prop_assert_eq!(rule.back(&last, steps as u32), Some(expected), "{} back from {}", steps, i);
        }
    }
}

/// Rules that are dense around clock changes: days with times, elapsed hours and minutes with a schedule.
fn dense(gap: &str, fold: &str) -> Vec<RecurrenceDraft> {
    let dst = || Some(DstDraft { gap: Some(gap.to_owned()), fold: Some(fold.to_owned()) });
    let schedule =
        |hours: Option<Vec<i64>>, minutes| Some(ScheduleDraft { hours, minutes, ..Default::default() });
    let every = |frequency: &str, interval, schedule| RecurrenceDraft {
        frequency: Some(frequency.to_owned()),
        interval: Some(interval),
        schedule,
        dst: dst(),
        ..Default::default()
    };
    let all_hours = || Some((0..24).collect());
    vec![
        every("day", 1, schedule(all_hours(), Some((0..60).step_by(7).collect()))),
        every("day", 1, schedule(all_hours(), Some(vec![0, 15, 30, 45]))),
        every("day", 1, schedule(None, Some(vec![10, 40]))),
        every("day", 2, schedule(Some(vec![0, 1, 2, 3, 23]), None)),
        every("hour", 1, schedule(all_hours(), Some(vec![0, 20, 59]))),
        every("hour", 5, schedule(Some(vec![0, 1, 2, 3, 12, 22, 23]), Some(vec![5, 35]))),
        every("hour", 7, schedule(all_hours(), None)),
        every("minute", 11, schedule(None, Some((0..60).step_by(2).collect()))),
        RecurrenceDraft { cron: Some("*/20 0-4,22-23 * * *".to_owned()), dst: dst(), ..Default::default() },
    ]
}

/// Where clocks do odd things: by half an hour, by three hours, by a day, by two hours, twice a year more often than
/// elsewhere, at midnight.
#[test]
fn spans_across_odd_clock_changes() {
    const SPAN: i64 = 40 * 3600;
    let mut spans = 0;
    for zone in [
        "Australia/Lord_Howe",
        "Antarctica/Casey",
        "Pacific/Apia",
        "Antarctica/Troll",
        "Africa/Casablanca",
        "America/Havana",
        "Europe/Paris",
    ] {
        let changes: Vec<Timestamp> = Walls::of(zone)
            .changes()
            .filter(|at| (1_230_768_000..1_420_070_400).contains(&at.as_second()))
            .collect();
        for (gap, fold) in [("shift", "first"), ("shift", "last"), ("shift", "both"), ("skip", "first")] {
            for recurrence in dense(gap, fold) {
                let recurrence = RecurrenceDraft { time_zone: Some(zone.to_owned()), ..recurrence };
                let start = later(changes[0], -30 * 86_400);
                let draft = Draft { start_time: Some(start.to_string()), recurrence: Some(recurrence) };
                let rule = Rule::build(&draft, start).unwrap_or_else(|faults| panic!("{faults}: {draft:?}"));
                // All of them take minutes where nothing is optimised.
                let some = if cfg!(debug_assertions) { 5 } else { 1 };
                for change in changes.iter().step_by(some) {
                    assert_span(&rule, later(*change, -SPAN), later(*change, SPAN));
                    spans += 1;
                }
            }
        }
    }
    assert!(spans > 500, "only {spans}");
}

/// Counts a span from its beginning to each of its occurrences, and back from its end.
fn assert_span(rule: &Rule, begin: Timestamp, end: Timestamp) {
    let found: Vec<Timestamp> =
        std::iter::successors(rule.after(begin), |at| rule.after(*at)).take_while(|at| *at < end).collect();
    assert_eq!(rule.between(begin, end), found.len() as u64, "{begin} to {end}: {rule:?}");
    let Some(last) = found.last() else { return };
    assert_eq!(rule.before(end), Some(*last), "{rule:?}");
    let last = Occurrence { number: found.len() as u32, at: *last };
    for (i, at) in found.iter().enumerate() {
        assert_eq!(rule.between(begin, *at), i as u64, "{begin} to {at}: {rule:?}");
        let steps = (found.len() - 1 - i) as u32;
        assert_eq!(rule.back(&last, steps), Some(Occurrence { number: i as u32 + 1, at: *at }), "{rule:?}");
    }
}
