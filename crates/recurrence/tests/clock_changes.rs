//! Section 5 of the contract: what happens to a job when clocks are changed, with the instants written out.

use asked::{at, draft_of, first_occurrences};
use expected::assert_runs;
use serde_json::json;

mod asked;
mod expected;
mod reference;

/// Clocks in Paris go from 02:00 to 03:00 on 29 March 2026 and from 03:00 to 02:00 on 25 October 2026, both
/// at 01:00 UTC. A daily job at 02:30.
#[test]
fn every_policy_for_clock_changes() {
    let spring = [
        ("shift", "2026-03-28 01:30, 2026-03-29 01:30, 2026-03-30 00:30"),
        ("skip", "2026-03-28 01:30, 2026-03-30 00:30, 2026-03-31 00:30"),
    ];
    let autumn = [
        ("first", "2026-10-24 00:30, 2026-10-25 00:30, 2026-10-26 01:30"),
        ("last", "2026-10-24 00:30, 2026-10-25 01:30, 2026-10-26 01:30"),
        ("both", "2026-10-24 00:30, 2026-10-25 00:30 01:30, 2026-10-26 01:30"),
    ];
    let before_spring = "2026-03-27T12:00:00Z";
    let before_autumn = "2026-10-23T12:00:00Z";
    for (gap, in_spring) in spring {
        for (fold, in_autumn) in autumn {
            let dst = json!({"gap": gap, "fold": fold});
            let daily = json!({
                "frequency": "day", "timeZone": "Europe/Paris", "dst": dst,
                "schedule": {"hours": [2], "minutes": [30]},
            });
            assert_runs(Some(before_spring), before_spring, &daily, in_spring);
            assert_runs(Some(before_autumn), before_autumn, &daily, in_autumn);

            // The same without a schedule: the time of day of start.
            let daily = json!({"frequency": "day", "timeZone": "Europe/Paris", "dst": dst});
            assert_runs(Some("2026-03-28T01:30:00Z"), before_spring, &daily, in_spring);
            assert_runs(Some("2026-10-24T00:30:00Z"), before_autumn, &daily, in_autumn);

            let cron = json!({"cron": "30 2 * * *", "timeZone": "Europe/Paris", "dst": dst});
            assert_runs(None, before_spring, &cron, in_spring);
            assert_runs(None, before_autumn, &cron, in_autumn);
        }
    }
    // Nothing said means shift, first.
    let daily =
        json!({"frequency": "day", "timeZone": "Europe/Paris", "schedule": {"hours": [2], "minutes": [30]}});
    assert_runs(Some(before_spring), before_spring, &daily, spring[0].1);
    assert_runs(Some(before_autumn), before_autumn, &daily, autumn[0].1);
}

/// Minutes without hours mean every hour that really elapses, whatever the policy.
#[test]
fn every_fifteen_minutes_through_a_clock_change() {
    let quarters_of_an_hour = json!({"minutes": [0, 15, 30, 45]});
    for gap in ["shift", "skip"] {
        for fold in ["first", "last", "both"] {
            for mut recurrence in [
                json!({"frequency": "day", "schedule": quarters_of_an_hour}),
                json!({"frequency": "hour", "schedule": quarters_of_an_hour}),
                json!({"frequency": "minute", "interval": 15}),
                json!({"cron": "*/15 * * * *"}),
            ] {
                recurrence["timeZone"] = json!("Europe/Paris");
                recurrence["dst"] = json!({"gap": gap, "fold": fold});
                // Local midnight, and how many quarters of an hour the day has: 23 hours, then 25.
                for (midnight, next, quarters) in [
                    ("2026-03-28T23:00:00Z", "2026-03-29T22:00:00Z", 92),
                    ("2026-10-24T22:00:00Z", "2026-10-25T23:00:00Z", 100),
                ] {
                    let job = json!({"startTime": midnight, "recurrence": recurrence});
                    let runs = first_occurrences(&draft_of(&job), at(midnight), quarters + 1);
                    assert_eq!(runs[0], at(midnight), "{recurrence}");
                    assert_eq!(runs[quarters], at(next), "{recurrence}");
                    for pair in runs.windows(2) {
                        assert_eq!(pair[1].duration_since(pair[0]).as_mins(), 15, "{recurrence}");
                    }
                }
            }
        }
    }
}

/// Hours are counted in elapsed time, and their limits are read on the wall clock.
#[test]
fn minutes_and_hours_through_a_clock_change() {
    let now = "2026-01-01T00:00:00Z";
    let spring = "2026-03-28T01:00:00Z";
    let autumn = "2026-10-24T00:00:00Z";
    for (start, mut recurrence, expected) in [
        (
            "2026-03-28T23:30:00Z",
            json!({"frequency": "hour"}),
            "2026-03-28 23:30, 2026-03-29 00:30 01:30 02:30",
        ),
        (
            "2026-10-24T23:30:00Z",
            json!({"frequency": "hour", "interval": 2, "schedule": {"minutes": [30]}}),
            "2026-10-24 23:30, 2026-10-25 01:30 03:30 05:30",
        ),
        (
            // 02:30 does not exist on the 29th: no limit moves it.
            spring,
            json!({"frequency": "hour", "schedule": {"hours": [2], "minutes": [30]}}),
            "2026-03-28 01:30, 2026-03-30 00:30",
        ),
        (
            // It happens twice on the 25th.
            autumn,
            json!({"frequency": "hour", "schedule": {"hours": [2], "minutes": [30]}}),
            "2026-10-24 00:30, 2026-10-25 00:30 01:30, 2026-10-26 01:30",
        ),
        (
            spring,
            json!({"frequency": "minute", "interval": 30, "schedule": {"hours": [2]}}),
            "2026-03-28 01:00 01:30, 2026-03-30 00:00 00:30",
        ),
        (
            autumn,
            json!({"frequency": "minute", "interval": 30, "schedule": {"hours": [2]}}),
            "2026-10-24 00:00 00:30, 2026-10-25 00:00 00:30 01:00 01:30, 2026-10-26 01:00",
        ),
        (
            // 24 elapsed hours from 05:00 are 06:00 from spring on, and 05:00 again from autumn on.
            "2026-03-27T04:00:00Z",
            json!({"frequency": "hour", "interval": 24, "schedule": {"hours": [5]}}),
            "2026-03-27 04:00, 2026-03-28 04:00, 2026-10-25 04:00, 2026-10-26 04:00",
        ),
    ] {
        recurrence["timeZone"] = json!("Europe/Paris");
        assert_runs(Some(start), now, &recurrence, expected);
    }
}

#[test]
fn clock_changes_that_surprise() {
    let now = "2011-01-01T00:00:00Z";
    for (title, zone, start, mut recurrence, expected) in [
        (
            "02:30 moves onto 03:30, which is asked for too: one occurrence",
            "Europe/Paris",
            "2026-03-28T00:00:00Z",
            json!({"frequency": "day", "schedule": {"hours": [2, 3], "minutes": [30]}}),
            "2026-03-28 01:30 02:30, 2026-03-29 01:30, 2026-03-30 00:30 01:30",
        ),
        (
            "02:45 moves past 03:00 and still comes in order",
            "Europe/Paris",
            "2026-03-29T00:00:00Z",
            json!({"frequency": "day", "schedule": {"hours": [2, 3], "minutes": [0, 45]}}),
            "2026-03-29 01:00 01:45, 2026-03-30 00:00 00:45 01:00 01:45",
        ),
        (
            "Lord Howe changes by half an hour: 02:15 runs at 02:45",
            "Australia/Lord_Howe",
            "2026-10-02T00:00:00Z",
            json!({"frequency": "day", "schedule": {"hours": [2], "minutes": [15]}}),
            "2026-10-02 15:45, 2026-10-03 15:45, 2026-10-04 15:15",
        ),
        (
            "and 01:45 happens twice, half an hour apart",
            "Australia/Lord_Howe",
            "2026-04-03T00:00:00Z",
            json!({
                "frequency": "day", "dst": {"fold": "both"}, "schedule": {"hours": [1], "minutes": [45]},
            }),
            "2026-04-03 14:45, 2026-04-04 14:45 15:15, 2026-04-05 15:15",
        ),
        (
            "Apia had no 30 December 2011: that day's run is the next day's",
            "Pacific/Apia",
            "2011-12-29T00:00:00Z",
            json!({"frequency": "day", "schedule": {"hours": [9], "minutes": [0]}}),
            "2011-12-29 19:00, 2011-12-30 19:00, 2011-12-31 19:00",
        ),
        (
            "a Friday that does not exist moves to Saturday",
            "Pacific/Apia",
            "2011-12-23T00:00:00Z",
            json!({"frequency": "week", "schedule": {"weekDays": ["friday"], "hours": [9], "minutes": [0]}}),
            "2011-12-23 19:00, 2011-12-30 19:00, 2012-01-05 19:00",
        ),
        (
            "or is skipped",
            "Pacific/Apia",
            "2011-12-23T00:00:00Z",
            json!({
                "frequency": "week", "dst": {"gap": "skip"},
                "schedule": {"weekDays": ["friday"], "hours": [9], "minutes": [0]},
            }),
            "2011-12-23 19:00, 2012-01-05 19:00, 2012-01-12 19:00",
        ),
        (
            "and its hours never elapse",
            "Pacific/Apia",
            "2011-12-29T00:00:00Z",
            json!({"frequency": "week", "schedule": {"weekDays": ["friday"], "minutes": [0]}}),
            "2012-01-05 10:00 11:00",
        ),
        (
            "Havana has no midnight on 8 March 2026",
            "America/Havana",
            "2026-03-07T05:00:00Z",
            json!({"frequency": "day"}),
            "2026-03-07 05:00, 2026-03-08 05:00, 2026-03-09 04:00",
        ),
        (
            "Santiago's 4 April 2026 ends twice",
            "America/Santiago",
            "2026-04-04T02:30:00Z",
            json!({"frequency": "day", "dst": {"fold": "last"}}),
            "2026-04-04 02:30, 2026-04-05 03:30, 2026-04-06 03:30",
        ),
        (
            "St John's, half an hour off: the minute of start is the wall clock's",
            "America/St_Johns",
            "2026-03-06T12:00:00Z",
            json!({"frequency": "day", "schedule": {"hours": [9]}}),
            "2026-03-06 13:00, 2026-03-07 13:00, 2026-03-08 12:00",
        ),
        (
            "Kathmandu, three quarters off: minutes are the wall clock's",
            "Asia/Kathmandu",
            "2026-03-06T12:00:00Z",
            json!({"frequency": "hour", "schedule": {"minutes": [0, 30]}}),
            "2026-03-06 12:15 12:45 13:15",
        ),
    ] {
        println!("{title}");
        recurrence["timeZone"] = json!(zone);
        assert_runs(Some(start), now, &recurrence, expected);
    }
}

/// Without a schedule, start itself is always the first run, whichever pass of a fold it is in.
#[test]
fn a_start_inside_a_fold() {
    let now = "2026-10-01T00:00:00Z";
    let (first_pass, second_pass) = (Some("2026-10-25T00:30:00Z"), Some("2026-10-25T01:30:00Z"));
    for (start, fold, expected) in [
        (first_pass, "first", "2026-10-25 00:30, 2026-10-26 01:30"),
        (first_pass, "last", "2026-10-25 00:30, 2026-10-26 01:30"),
        (first_pass, "both", "2026-10-25 00:30 01:30, 2026-10-26 01:30"),
        (second_pass, "first", "2026-10-25 01:30, 2026-10-26 01:30"),
        (second_pass, "last", "2026-10-25 01:30, 2026-10-26 01:30"),
        (second_pass, "both", "2026-10-25 01:30, 2026-10-26 01:30"),
    ] {
        let daily = json!({"frequency": "day", "timeZone": "Europe/Paris", "dst": {"fold": fold}});
        assert_runs(start, now, &daily, expected);
    }
    // Accepted a minute later, the job has the same runs without the first: what is past is discarded, no
    // more.
    for (now, start, fold, expected) in [
        ("2026-10-25T00:31:00Z", first_pass, "first", "2026-10-26 01:30, 2026-10-27 01:30"),
        ("2026-10-25T00:31:00Z", first_pass, "last", "2026-10-26 01:30, 2026-10-27 01:30"),
        ("2026-10-25T00:31:00Z", first_pass, "both", "2026-10-25 01:30, 2026-10-26 01:30"),
        ("2026-10-25T01:31:00Z", second_pass, "both", "2026-10-26 01:30, 2026-10-27 01:30"),
    ] {
        let daily = json!({"frequency": "day", "timeZone": "Europe/Paris", "dst": {"fold": fold}});
        assert_runs(start, now, &daily, expected);
    }
}

/// Asked for from inside the first pass of a fold, the second pass of the same day is still ahead.
#[test]
fn from_the_first_pass_to_the_second() {
    let (both, last) = (json!({"fold": "both"}), json!({"fold": "last"}));
    for (zone, start, now, mut recurrence, expected) in [
        (
            // Accepted at 01:59 of the 5th, an hour before clocks went back to 23:00 of the 4th: a day that is shown
            // again, but lies before the one that holds the start.
            "Antarctica/Casey",
            None,
            "2010-03-04T14:59:00Z",
            json!({"frequency": "day", "dst": last, "schedule": {"hours": [23]}}),
            "2010-03-04 14:59, 2010-03-05 15:59, 2010-03-06 15:59",
        ),
        (
            "Europe/Paris",
            Some("2026-10-23T00:30:00Z"),
            "2026-10-01T00:00:00Z",
            json!({"frequency": "day", "interval": 2, "dst": both}),
            "2026-10-23 00:30, 2026-10-25 00:30 01:30, 2026-10-27 01:30",
        ),
        (
            "Europe/Paris",
            Some("2026-10-18T00:30:00Z"),
            "2026-10-01T00:00:00Z",
            json!({"frequency": "week", "dst": both, "schedule": {"hours": [2, 3], "minutes": [45]}}),
            "2026-10-18 00:45 01:45, 2026-10-25 00:45 01:45 02:45, 2026-11-01 01:45 02:45",
        ),
        (
            // Accepted at 02:30 of the first pass: the day's own slot is the second pass.
            "Europe/Paris",
            None,
            "2026-10-25T00:30:00Z",
            json!({"frequency": "week", "dst": last, "schedule": {"weekDays": ["sunday"]}}),
            "2026-10-25 00:30 01:30, 2026-11-01 01:30",
        ),
        (
            "Europe/Paris",
            Some("2025-10-25T00:30:00Z"),
            "2026-10-01T00:00:00Z",
            json!({"frequency": "month", "interval": 12, "dst": both}),
            "2026-10-25 00:30 01:30, 2027-10-25 00:30, 2028-10-25 00:30",
        ),
        (
            // Havana's fold begins at midnight.
            "America/Havana",
            Some("2026-10-25T04:20:00Z"),
            "2026-10-01T00:00:00Z",
            json!({"frequency": "week", "dst": both}),
            "2026-10-25 04:20, 2026-11-01 04:20 05:20, 2026-11-08 05:20",
        ),
        (
            // Santiago's ends there: the day before comes back for an hour, and its minutes with it.
            "America/Santiago",
            Some("2026-04-05T02:20:00Z"),
            "2026-04-01T00:00:00Z",
            json!({"frequency": "week", "schedule": {"weekDays": ["saturday"], "minutes": [30]}}),
            "2026-04-05 02:30 03:30, 2026-04-11 04:30 05:30",
        ),
        (
            "America/Santiago",
            Some("2026-04-05T02:50:00Z"),
            "2026-04-01T00:00:00Z",
            json!({
                "frequency": "week", "dst": last,
                "schedule": {"weekDays": ["saturday"], "hours": [23], "minutes": [30]},
            }),
            "2026-04-05 03:30, 2026-04-12 03:30",
        ),
        (
            "America/Santiago",
            None,
            "2026-04-05T02:59:00Z",
            json!({"cron": "*/30 * 4 * *"}),
            "2026-04-05 03:00 03:30, 2026-05-04 04:00",
        ),
        (
            // Cairo's too. Both passes of 23:59 belong to the Thursday.
            "Africa/Cairo",
            Some("2026-10-29T20:59:00Z"),
            "2026-10-01T00:00:00Z",
            json!({"frequency": "day", "interval": 3, "dst": both}),
            "2026-10-29 20:59 21:59, 2026-11-01 21:59",
        ),
    ] {
        recurrence["timeZone"] = json!(zone);
        assert_runs(start, now, &recurrence, expected);
    }
}

/// The day and the month of start are those of the zone's calendar.
#[test]
fn the_calendar_is_the_zones() {
    let now = "2026-01-01T00:00:00Z";
    for (start, recurrence, expected) in [
        (
            // 1 February 09:00 in Tokyo.
            "2026-02-01T00:00:00Z",
            json!({"frequency": "month", "timeZone": "Asia/Tokyo"}),
            "2026-02-01 00:00, 2026-03-01 00:00, 2026-04-01 00:00",
        ),
        (
            // Still 31 January, 19:00, in New York.
            "2026-02-01T00:00:00Z",
            json!({"frequency": "month", "timeZone": "America/New_York"}),
            "2026-02-01 00:00, 2026-03-01 00:00, 2026-03-31 23:00, 2026-04-30 23:00",
        ),
        (
            // A Sunday in Auckland while it is Saturday in UTC; either way the week ends with that Sunday.
            "2026-01-10T12:00:00Z",
            json!({
                "frequency": "week", "interval": 2, "timeZone": "Pacific/Auckland",
                "schedule": {"weekDays": ["sunday", "monday"]},
            }),
            "2026-01-10 12:00, 2026-01-18 12:00, 2026-01-24 12:00, 2026-02-01 12:00",
        ),
        (
            // A Monday in Auckland while it is Sunday in UTC: another week counts than in UTC.
            "2026-01-11T12:00:00Z",
            json!({
                "frequency": "week", "interval": 2, "timeZone": "Pacific/Auckland",
                "schedule": {"weekDays": ["sunday", "monday"]},
            }),
            "2026-01-11 12:00, 2026-01-17 12:00, 2026-01-25 12:00, 2026-01-31 12:00",
        ),
    ] {
        assert_runs(Some(start), now, &recurrence, expected);
    }
}
