//! Rules and the remarks on their next ten runs, and rules that need none.

use crate::rule::Occurrence;
use crate::shorthand::rule;

fn check(rows: &[(&str, &[&str])]) {
    let wrong: Vec<String> = (rows.iter())
        .map(|(line, remarks)| {
            let rule = rule(line);
            let shown: Vec<Occurrence> = rule.occurrences().take(10).collect();
            (line, rule.remarks(&shown), remarks)
        })
        .filter(|(_, said, remarks)| said != *remarks)
        .map(|(line, said, remarks)| format!("{line}\n  said   {said:#?}\n  wanted {remarks:#?}"))
        .collect();
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn plain_rules_need_no_remark() {
    check(&[
        ("once; start 2012-08-04", &[]),
        ("once", &[]),
        ("day; hours 5; minutes 15; start 2012-08-04", &[]),
        ("day; start 2012-08-04; count 3; end 2012-08-06", &[]),
        ("day; hours 10; minutes 0; start 2012-08-04; zone Europe/Paris", &[]),
        ("day; hours 2; minutes 30; start 2012-08-04; zone Asia/Kolkata", &[]),
        ("day/2; now 2012-08-04T10:00:07Z", &[]),
        ("hour/2; start 2012-08-04", &[]),
        ("month; monthDays 28,-1; hours 5; minutes 0; start 2012-08-04", &[]),
        ("month/12; monthDays 31; hours 5; minutes 0; start 2012-01-04", &[]),
        ("month/18; start 2012-02-04", &[]),
        ("year; start 2012-12-24", &[]),
        ("year; months 11; nth Friday -1; hours 5; minutes 0; start 2012-01-04", &[]),
        ("cron */15 9-16 * * MON-FRI", &[]),
        ("cron 0 5 */2 * *", &[]),
        ("cron 0 5 * * *; zone Europe/Paris", &[]),
    ]);
}

#[test]
fn beginning_and_end() {
    let past = "The start is past: the first run is the first slot after now";
    let at_once = "No startTime is given, so it also runs once at once";
    check(&[
        ("once; start 2011-08-04", &["The start is past, so it runs at once"]),
        ("day; start 2011-08-04", &[past]),
        ("cron 0 5 * * *; start 2011-08-04", &[past]),
        ("day; hours 5; minutes 0", &[at_once]),
        ("day; hours 5; minutes 0; count 1", &["The count of 1 is used up by the run at once"]),
        ("cron 0 5 * * *; count 1", &[]),
        (
            "day; count 10; end 2012-01-05T00:00:00Z",
            &["The end comes before the count: it runs 5 times, not 10 times"],
        ),
        (
            "day; start 2012-01-05; count 10; end 2012-01-05",
            &["The end comes before the count: it runs once, not 10 times"],
        ),
        (
            "hour; start 2012-01-05; count 1000; end 2012-02-05",
            &["The end comes before the count: it runs 745 times, not 1000 times"],
        ),
        ("once; start 2062-08-04", &["The first run is more than a year away"]),
        ("day; start 2014-08-04", &["The first run is more than a year away"]),
    ]);
}

#[test]
fn a_rule_under_way_has_begun() {
    let rule = rule("day; hours 5; minutes 0; start 2011-08-04");
    let shown: Vec<Occurrence> = rule.occurrences().skip(1).take(10).collect();
    assert_eq!(rule.remarks(&shown), Vec::<String>::new());
    assert_eq!(rule.remarks(&[]), Vec::<String>::new());
}

#[test]
fn days_and_hours() {
    let all_hours =
        |times| format!("No hours are given, so it runs in every hour of the day: {times} times a day");
    let either = "It runs when either the day of month or the day of week matches, not only when both do";
    let apart = "Some runs are more than a year apart";
    check(&[
        ("week; minutes 0; start 2012-08-04", &[&all_hours(24)]),
        ("day; minutes 0,30; start 2012-08-04", &[&all_hours(48)]),
        ("hour; minutes 0,30; start 2012-08-04", &[]),
        (
            "month; monthDays 31; hours 5; minutes 0; start 2012-08-04",
            &["Months without a 31st are left out"],
        ),
        (
            "month; monthDays 1,31; hours 5; minutes 0; start 2012-08-04",
            &["In months without a 31st that day is left out"],
        ),
        (
            "month; monthDays 1,30,31; hours 5; minutes 0; start 2012-08-04",
            &["In months without a 30th or a 31st such a day is left out"],
        ),
        (
            "month; monthDays -31; hours 5; minutes 0; start 2012-08-04",
            &["Months without a 31st-to-last day are left out"],
        ),
        (
            "month; nth Friday 5; hours 5; minutes 0; start 2012-08-04",
            &["Months without a fifth Friday are left out"],
        ),
        (
            "month; nth Friday 5,Friday 1; hours 5; minutes 0; start 2012-08-04",
            &["In months without a fifth Friday that day is left out"],
        ),
        ("month; nth Friday; monthDays 31; hours 5; minutes 0; start 2012-08-04", &[apart]),
        (
            "year; months 11; nth Friday 5; hours 5; minutes 0; start 2012-08-04",
            &["Years without a fifth Friday in November are left out", apart],
        ),
        (
            "year; months 2; monthDays 29; hours 5; minutes 0; start 2012-01-04",
            &["Years without 29 February are left out", apart],
        ),
        ("month; start 2012-08-31", &["In shorter months it runs on the last day"]),
        ("month/2; start 2012-01-30", &[]),
        ("year; start 2012-02-29", &["In years without 29 February it runs on 28 February"]),
        ("cron 0 0 13 * 5", &[either]),
        ("cron 0 0 31 * *", &["Months without a 31st are left out"]),
        ("cron 0 0 1-31 * 5", &[]),
        ("cron 0 0 29 2 *", &["Years without 29 February are left out", apart]),
        (
            "cron 0 0 29 2 *; now 2012-03-01T00:00:00Z",
            &["Years without 29 February are left out", "The first run is more than a year away"],
        ),
    ]);
}

#[test]
fn clock_changes() {
    let now = "now 2027-01-01T00:00:00Z; zone Europe/Paris";
    let gap = "On 28 March 2027 the clock jumps from 02:00 to 03:00: ";
    let fold = "On 31 October 2027 the clock goes back from 03:00 to 02:00: ";
    let row = |line: &str| format!("{line}; {now}");
    check(&[
        (
            &row("day; hours 2; minutes 30; start 2027-01-01"),
            &[&format!("{gap}the run of 02:30 happens at 03:30")],
        ),
        (
            &row("day; hours 2; minutes 30; start 2027-03-28T01:30Z"),
            &[&format!("{gap}the run of 02:30 happens at 03:30")],
        ),
        (
            &row("day; hours 2; minutes 30; start 2027-03-29"),
            &[&format!("{fold}02:30 happens twice, this runs the first time")],
        ),
        (
            &row("day; start 2027-01-01T01:30:07.5Z"),
            &[&format!("{gap}the run of 02:30:07 happens at 03:30:07")],
        ),
        (
            &row("day; hours 2; minutes 30; start 2027-01-01; gap skip"),
            &[&format!("{gap}the run of 02:30 is left out")],
        ),
        (
            &row("day; hours 2; minutes 0,30; start 2027-01-01; gap skip"),
            &[&format!("{gap}the runs of 02:00 and 02:30 are left out")],
        ),
        (
            &row("day; hours 2; minutes 0,30; start 2027-01-01"),
            &[&format!("{gap}the runs of 02:00 and 02:30 happen at 03:00 and 03:30")],
        ),
        (
            &row("day; hours 1,2,3; minutes 0; start 2027-01-01"),
            &[&format!("{gap}the run of 02:00 and that of 03:00 are one and the same")],
        ),
        (&row("cron */5 2 * * *"), &[&format!("{gap}the runs of 02:00 to 02:55 happen at 03:00 to 03:55")]),
        (
            &row("cron 30 2 * 10 SUN; fold last; count 9"),
            &[&format!("{fold}02:30 happens twice, this runs the last time")],
        ),
        (
            &row("cron 30 2 31 10 *; fold both; count 5"),
            &[&format!("{fold}02:30 happens twice, this runs both times")],
        ),
        // All those among the runs shown, but no more than anybody reads.
        (
            &row("month; nth Sunday -1; hours 2; minutes 30; start 2027-01-01"),
            &[
                &format!("{gap}the run of 02:30 happens at 03:30"),
                &format!("{fold}02:30 happens twice, this runs the first time"),
            ],
        ),
        (
            &row("year; months 3; nth Sunday -1; hours 2; minutes 30; start 2027-01-01"),
            &[
                &format!("{gap}the run of 02:30 happens at 03:30"),
                "On 26 March 2028 the clock jumps from 02:00 to 03:00: the run of 02:30 happens at 03:30",
                "On 25 March 2029 the clock jumps from 02:00 to 03:00: the run of 02:30 happens at 03:30",
            ],
        ),
        // These never meet a change, or not while they last.
        (&row("week; weekDays Monday; hours 2; minutes 30; start 2027-01-01"), &[]),
        (&row("day; hours 2; minutes 30; start 2027-01-01; count 20"), &[]),
        (
            &row("day; hours 2; minutes 30; start 2027-01-01; count 200"),
            &[&format!("{gap}the run of 02:30 happens at 03:30")],
        ),
        (&row("day; hours 2; minutes 30; start 2027-01-01; end 2027-03-28T01:00:00Z; gap skip"), &[]),
        (
            &row("day; minutes 30; start 2027-01-01"),
            &["No hours are given, so it runs in every hour of the day: 24 times a day"],
        ),
        (&row("cron 30 * * * *"), &[]),
        // Changes around midnight, and one of a whole day.
        (
            "day; hours 0; minutes 30; start 2018-03-01; now 2018-03-01T00:00:00Z; zone America/Sao_Paulo",
            &["On 4 November 2018 the clock jumps from 00:00 to 01:00: the run of 00:30 happens at 01:30"],
        ),
        (
            "day; hours 23; minutes 30; start 2017-11-01; now 2017-11-01T00:00:00Z; zone America/Sao_Paulo",
            &[
                "On 17 February 2018 the clock goes back from 24:00 to 23:00: 23:30 happens twice, this runs the first time",
            ],
        ),
        (
            "day; hours 23; minutes 30; start 2027-01-01; now 2027-01-01T00:00:00Z; zone America/Nuuk",
            &[
                "On 27 March 2027 the clock jumps from 23:00 to 24:00: the run of 23:30 happens at 00:30 the next day",
            ],
        ),
        (
            "day; hours 10; minutes 0; start 2011-12-01; now 2011-12-01T00:00:00Z; zone Pacific/Apia",
            &["On 30 December 2011 the clock jumps from 00:00 to 24:00: \
               the run of 10:00 and that of 10:00 the next day are one and the same"],
        ),
    ]);
}

#[test]
fn steps_of_elapsed_time() {
    let now = "now 2027-01-01T00:00:00Z; zone Europe/Paris";
    let row = |line: &str| format!("{line}; {now}");
    let elapsed = "Its steps are of elapsed time: after the clock change of 28 March 2027 ";
    check(&[
        (&row("hour/24; start 2027-01-01T09:00Z"), &[&format!("{elapsed}it runs at 11:00 instead of 10:00")]),
        (
            &row("hour/2; start 2027-01-01T09:00Z"),
            &[&format!("{elapsed}it runs at 03:00 instead of 02:00, and so on")],
        ),
        (
            &row("hour/2; hours 10; start 2027-01-01T09:00Z"),
            &[&format!("{elapsed}they meet other hours of the day")],
        ),
        (&row("hour; start 2027-01-01T09:00Z"), &[]),
        (&row("hour; hours 10,12; start 2027-01-01T09:00Z"), &[]),
        (&row("hour/5; start 2027-01-01T09:00Z"), &[]),
        (&row("minute/45; start 2027-01-01T09:00Z"), &[]),
        (&row("hour/24; start 2027-01-01T09:00Z; count 20"), &[]),
        (&row("hour/24; start 2027-01-01T09:00Z; end 2027-03-01"), &[]),
        ("hour/24; start 2027-01-01T09:00Z; now 2027-01-01T00:00:00Z", &[]),
    ]);
}
