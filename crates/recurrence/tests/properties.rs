//! Random rules: the engine and the reference must say the same.
//!
//! What the engine refuses, the reference must not be able to find an occurrence for. `PROPTEST_CASES` sets how many
//! rules are tried.

use proptest::prelude::*;
use proptest::sample::Index;
use random::{COMPARED, asked, beside, config, later, start_and_now};
use recurrence::{Draft, Occurrence, Rule, Timestamp};

mod random;
mod reference;

proptest! {
    #![proptest_config(config())]

    /// The engine's occurrences are the reference's, asked for in either way.
    #[test]
    fn the_engine_agrees_with_the_reference(asked in asked()) {
        let Some(rule) = asked.rule()? else { return Ok(()) };
        let walk = asked.walk();
        let within = |occurrence: &Occurrence| occurrence.at <= walk.complete_until;
        let found: Vec<Occurrence> = rule.occurrences().take(COMPARED).take_while(within).collect();
        let instants: Vec<Timestamp> = found.iter().map(|occurrence| occurrence.at).collect();
        prop_assert_eq!(&instants, &walk.found);

        let mut one_by_one = Vec::new();
        let mut next = rule.first();
        while let Some(occurrence) = next.filter(within).filter(|_| one_by_one.len() < COMPARED) {
            next = rule.next(&occurrence);
            one_by_one.push(occurrence);
        }
        prop_assert_eq!(&one_by_one, &found);
        for (i, occurrence) in found.iter().enumerate() {
            prop_assert_eq!(occurrence.number as usize, i + 1);
        }
    }

    /// What can be said of any rule without computing it.
    #[test]
    fn occurrences_keep_to_their_bounds(asked in asked()) {
        let Some(rule) = asked.rule()? else { return Ok(()) };
        let occurrences: Vec<Occurrence> = rule.occurrences().take(70).collect();
        prop_assert!(!occurrences.is_empty(), "a rule that never fires must be refused");
        for pair in occurrences.windows(2) {
            prop_assert!(pair[0].at < pair[1].at);
            prop_assert_eq!(pair[0].number + 1, pair[1].number);
        }
        let start = asked.draft.start_time.as_ref().map_or(asked.now, |start| start.parse().unwrap());
        prop_assert!(occurrences[0].at >= start.max(asked.now));
        prop_assert_eq!(occurrences[0].number, 1);

        let end = asked.recurrence().end_time.as_ref().map(|end| end.parse::<Timestamp>().unwrap());
        prop_assert!(end.is_none_or(|end| occurrences.last().unwrap().at <= end));
        let count = asked.recurrence().count.map(|count| usize::try_from(count).unwrap());
        prop_assert!(count.is_none_or(|count| occurrences.len() <= count));
        // Nothing else ends what follows the calendar, save the calendar's own end. Elapsed hours are another
        // matter: they may meet the hours asked for in summer only, in a zone that has given it up.
        let elapsed = matches!(asked.recurrence().frequency.as_deref(), Some("minute" | "hour"));
        if end.is_none() && !elapsed {
            let all_there = occurrences.len() == count.unwrap_or(70).min(70);
            let far_ahead = occurrences.last().unwrap().at > "9000-01-01T00:00:00Z".parse().unwrap();
            prop_assert!(all_there || far_ahead, "only {}", occurrences.len());
        }
    }

    /// `after` agrees with the list, wherever it is asked from; it does not know `count`.
    #[test]
    fn after_agrees_with_the_list(
        asked in asked(),
        which in any::<Index>(),
        nanoseconds in prop_oneof![
            Just(0), Just(1), Just(-1), -90_000_000_000..=90_000_000_000_i64,
            (-3000..=3000_i64).prop_map(|minutes| minutes * 60_000_000_000),
        ],
    ) {
        let Some(rule) = asked.rule()? else { return Ok(()) };
        let walk = asked.walk_uncounted();
        if walk.found.is_empty() {
            // Too rare for the reference; what the engine found must come after what was walked.
            prop_assert!(rule.after(asked.now).is_none_or(|at| at > walk.complete_until));
            return Ok(());
        }
        let instant = beside(walk.found[which.index(walk.found.len())], nanoseconds);
        match walk.found.iter().find(|at| **at > instant) {
            Some(expected) => prop_assert_eq!(rule.after(instant), Some(*expected)),
            // Past all that was walked.
            None => prop_assert!(rule.after(instant).is_none_or(|at| at > walk.complete_until)),
        }
        let first = walk.found[0];
        prop_assert_eq!(rule.after(Timestamp::MIN), Some(first));
        prop_assert_eq!(rule.after(beside(first, -1)), Some(first));
    }

    /// No two occurrences are nearer to each other than the rule itself says, in any zone. The run at once is nobody's
    /// plan.
    #[test]
    fn nothing_comes_faster_than_the_rule_says(asked in asked()) {
        let Some(rule) = asked.rule()? else { return Ok(()) };
        let found = asked.walk().found;
        let at_once = asked.draft.start_time.is_none() && asked.recurrence().cron.is_none();
        let planned = if at_once { &found[1..] } else { &found[..] };
        let distances = planned.windows(2).map(|pair| pair[1].duration_since(pair[0]).unsigned_abs());
        if let Some(smallest) = distances.min() {
            prop_assert!(rule.fastest().is_some_and(|fastest| fastest <= smallest), "{:?}", rule.fastest());
        }
    }

    /// Nor after centuries, when clock changes and the calendar have met in other ways.
    #[test]
    fn nothing_comes_faster_later_on(asked in asked(), days in prop_oneof![0..4000_i64, 0..146_000_i64]) {
        let Some(rule) = asked.rule()? else { return Ok(()) };
        let then = rule.after(later(rule.first().unwrap().at, days * 86_400));
        let found: Vec<Timestamp> = std::iter::successors(then, |at| rule.after(*at)).take(COMPARED).collect();
        let distances = found.windows(2).map(|pair| pair[1].duration_since(pair[0]).unsigned_abs());
        // With a count that is reached before, there is no such distance.
        let endless = asked.recurrence().count.is_none_or(|count| count > 2_000_000_000);
        if let Some(smallest) = distances.min().filter(|_| endless) {
            prop_assert!(rule.fastest().is_some_and(|fastest| fastest <= smallest), "{:?}", rule.fastest());
        }
    }

    /// Without a recurrence a job runs once: at start, or at once.
    #[test]
    fn a_job_without_a_recurrence_runs_once((start, now) in start_and_now(None)) {
        let draft = Draft { start_time: start.map(|start| start.to_string()), recurrence: None };
        let rule = Rule::build(&draft, now).unwrap();
        let expected = Occurrence { number: 1, at: start.unwrap_or(now).max(now) };
        prop_assert_eq!(rule.occurrences().collect::<Vec<_>>(), [expected]);
        prop_assert_eq!(rule.first(), Some(expected));
        prop_assert_eq!(rule.next(&expected), None);
        prop_assert_eq!(rule.after(beside(expected.at, -1)), Some(expected.at));
        prop_assert_eq!(rule.after(expected.at), None);
    }
}
