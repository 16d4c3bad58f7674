//! Rules and their sentences. Read the right side aloud before changing it.

use crate::shorthand::rule;

fn check(rows: &[(&str, &str)]) {
    let wrong: Vec<String> = (rows.iter())
        .map(|(line, sentence)| (line, rule(line).describe(), sentence))
        .filter(|(_, said, sentence)| said != *sentence)
        .map(|(line, said, sentence)| format!("{line}\n  said   {said}\n  wanted {sentence}"))
        .collect();
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn once_and_steps_of_elapsed_time() {
    check(&[
        ("once; start 2012-08-04T10:00Z", "Once, on 4 August 2012 at 10:00 UTC"),
        ("once; start 2012-08-04T12:00:07.5+02:00", "Once, on 4 August 2012 at 10:00:07.5 UTC"),
        ("once; start 2011-08-04", "Once, at once"),
        ("once", "Once, at once"),
        ("hour/2; start 2012-08-04T10:00Z", "Every 2 hours, from 4 August 2012 at 10:00 UTC"),
        ("hour; start 2012-08-04", "Every hour, from 4 August 2012 at 00:00 UTC"),
        (
            "hour/24; start 2012-08-04T10:00Z; zone Europe/Paris",
            "Every 24 hours, from 4 August 2012 at 12:00 Europe/Paris time",
        ),
        ("minute/10", "At once, then every 10 minutes"),
        ("minute; count 10", "At once, then every minute, 10 times in all"),
        ("hour/2; count 1", "Once, at once"),
        (
            "minute/10; end 2020-10-10T10:10:10Z",
            "At once, then every 10 minutes, until 10 October 2020 at 10:10:10 UTC",
        ),
        (
            "minute/10; hours 9,10,11,12,13,14,15,16,17; start 2012-08-04T10:05Z",
            "Every 10 minutes during the hours 9 to 17 UTC, from 4 August 2012 at 10:05 UTC",
        ),
        (
            "minute/10; hours 9; start 2012-08-04T10:05Z",
            "Every 10 minutes between 09:00 and 09:59 UTC, from 4 August 2012 at 10:05 UTC",
        ),
        (
            "minute/7; minutes 0,30; start 2012-08-04",
            "Every 7 minutes, where that is 0 or 30 minutes past the hour, from 4 August 2012 at 00:00 UTC",
        ),
        (
            "hour/2; minutes 0,30; start 2012-08-04",
            "Every 2 hours at 0 and 30 minutes past, from 4 August 2012 at 00:00 UTC",
        ),
        (
            "hour/2; minutes 0,30; hours 9,10,11,12; start 2012-08-04; zone Europe/Paris",
            "Every 2 hours at 0 and 30 minutes past, during the hours 9 to 12 Europe/Paris time, from 4 August 2012 at 02:00 Europe/Paris time",
        ),
        (
            "hour/3; minutes 15; zone Asia/Kolkata",
            "At once, then every 3 hours at 15 minutes past, Asia/Kolkata time",
        ),
        (
            "hour/2; hours 8,10,20; start 2012-08-04",
            "Every 2 hours during the hours 8, 10 and 20 UTC, from 4 August 2012 at 00:00 UTC",
        ),
    ]);
}

#[test]
fn times_of_day() {
    check(&[
        (
            "day; minutes 15; hours 5; zone Europe/Paris; start 2012-08-04",
            "Every day at 05:15 Europe/Paris time, from 4 August 2012",
        ),
        (
            "day; minutes 15; hours 5; zone romance standard time; start 2012-08-04",
            "Every day at 05:15 Romance Standard Time, from 4 August 2012",
        ),
        ("day; hours 5; start 2012-08-04T10:37Z", "Every day at 05:37 UTC, from 4 August 2012 at 10:37 UTC"),
        (
            "day; hours 5,17; start 2012-08-04T10:37:12Z",
            "Every day at 05:37:12 and 17:37:12 UTC, from 4 August 2012 at 10:37:12 UTC",
        ),
        ("day; start 2012-08-04T10:00:07Z", "Every day at 10:00:07 UTC, from 4 August 2012"),
        ("day; start 2012-08-04T10:00:07.25Z", "Every day at 10:00:07.25 UTC, from 4 August 2012"),
        ("day; now 2012-08-04T10:00:07.25Z", "At once, then every day at 10:00:07 UTC"),
        ("day/2; start 2015-04-07T14:00Z", "Every 2 days at 14:00 UTC, from 7 April 2015"),
        (
            "day; minutes 15,45; hours 5,17; start 2012-08-04",
            "Every day at 05:15, 05:45, 17:15 and 17:45 UTC, from 4 August 2012",
        ),
        ("day; minutes 0,15,30,45; start 2012-08-04", "Every 15 minutes, from 4 August 2012"),
        (
            "day; minutes 5,20,35,50; start 2012-08-04",
            "Every 15 minutes from 00:05 to 23:50 UTC, from 4 August 2012",
        ),
        ("day; minutes 0; start 2012-08-04", "Every hour on the hour, from 4 August 2012"),
        ("day; minutes 1; start 2012-08-04", "Every hour at 1 minute past, from 4 August 2012"),
        (
            "day; minutes 0,10,40; start 2012-08-04; zone Asia/Kolkata",
            "Every hour at 0, 10 and 40 minutes past, Asia/Kolkata time, from 4 August 2012 at 05:30 Asia/Kolkata time",
        ),
        (
            "day/2; minutes 0,15,30,45; start 2012-08-04",
            "Every 2 days, all day every 15 minutes, UTC, from 4 August 2012",
        ),
        (
            "day/2; minutes 0,20,40; hours 9,10,11; start 2012-08-04",
            "Every 2 days, every 20 minutes from 09:00 to 11:40 UTC, from 4 August 2012",
        ),
        (
            "day; hours 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23; start 2012-08-04T10:37Z",
            "Every hour at 37 minutes past, from 4 August 2012 at 10:37 UTC",
        ),
        (
            "day; minutes 0; hours 0,4,8,12,16,20; start 2012-08-04",
            "Every 4 hours from 00:00 to 20:00 UTC, from 4 August 2012",
        ),
        (
            "day; minutes 30; hours 1,2,5,6,9; start 2012-08-04",
            "Every day at 01:30, 02:30, 05:30, 06:30 and 09:30 UTC, from 4 August 2012",
        ),
        (
            "day; minutes 0,10,25; hours 9,10,11,12,13; start 2012-08-04",
            "Every day at 0, 10 and 25 minutes past each of the hours 9 to 13 UTC, from 4 August 2012",
        ),
        (
            "day; minutes 0,15,30,45; hours 5,9,17; start 2012-08-04",
            "Every 15 minutes during the hours 5, 9 and 17 UTC, from 4 August 2012",
        ),
        (
            "day; minutes 10; hours 9; start 2012-08-04T09:30Z",
            "Every day at 09:10 UTC, from 4 August 2012 at 09:30 UTC",
        ),
        ("hour; minutes 15; start 2012-08-04", "Every hour at 15 minutes past, from 4 August 2012"),
        (
            "hour; minutes 0,15,30,45; hours 9,10,11,12; start 2012-08-04T09:30Z",
            "Every 15 minutes from 09:00 to 12:45 UTC, from 4 August 2012 at 09:30 UTC",
        ),
        (
            "hour; hours 9,10,11,12,13; start 2012-08-04T09:30Z",
            "Every hour from 09:30 to 13:30 UTC, from 4 August 2012",
        ),
        ("minute; minutes 0,20,40", "At once, then every 20 minutes"),
        (
            "minute; hours 9,10; start 2012-08-04T09:30:07Z",
            "Every minute from 09:00:07 to 10:59:07 UTC, from 4 August 2012 at 09:30:07 UTC",
        ),
    ]);
}

#[test]
fn days_of_the_week() {
    check(&[
        (
            "week; weekDays Monday,Wednesday,Friday; hours 10,22; start 2012-08-04; count 10; end 2012-11-04",
            "Every Monday, Wednesday and Friday at 10:00 and 22:00 UTC, from 4 August 2012, until 4 November 2012 at 00:00 UTC, 10 times",
        ),
        (
            "week; weekDays Friday,Monday,Wednesday; hours 10,22; start 2012-08-04T00:00Z; count 10",
            "Every Monday, Wednesday and Friday at 10:00 and 22:00 UTC, from 4 August 2012, 10 times",
        ),
        (
            "week; weekDays Monday,Wednesday,Friday; hours 10,22",
            "At once, then every Monday, Wednesday and Friday at 10:00 and 22:00 UTC",
        ),
        ("week; start 2012-08-04T10:00Z", "Every Saturday at 10:00 UTC, from 4 August 2012"),
        (
            "week; weekDays Monday,Tuesday,Wednesday,Thursday,Friday; minutes 0,15,30,45; hours 9,10,11,12,13,14,15,16; start 2012-08-04",
            "Every 15 minutes from 09:00 to 16:45, Monday to Friday, UTC, from 4 August 2012",
        ),
        (
            "week; weekDays Monday,Tuesday,Wednesday,Thursday,Friday; minutes 0,15,30,45; start 2012-08-04",
            "Every 15 minutes, Monday to Friday, UTC, from 4 August 2012",
        ),
        (
            "week; weekDays Monday,Tuesday,Wednesday,Thursday,Friday; hours 9; minutes 0; start 2012-08-04",
            "Monday to Friday at 09:00 UTC, from 4 August 2012",
        ),
        (
            "week; weekDays Monday,Tuesday,Wednesday,Thursday,Sunday; hours 9; minutes 0; start 2012-08-04",
            "Sunday to Thursday at 09:00 UTC, from 4 August 2012",
        ),
        (
            "week; weekDays Monday,Tuesday,Wednesday,Thursday,Friday,Saturday,Sunday; hours 9; minutes 0; start 2012-08-04",
            "Every day at 09:00 UTC, from 4 August 2012",
        ),
        (
            "week; weekDays Saturday; minutes 0; start 2012-08-04",
            "Every hour on the hour, every Saturday, UTC, from 4 August 2012",
        ),
        (
            "week/2; weekDays Monday; hours 10; minutes 0; start 2012-08-04; count 1",
            "Every 2 weeks on Monday at 10:00 UTC, from 4 August 2012, once",
        ),
        (
            "week/2; weekDays Monday,Tuesday,Wednesday,Thursday,Sunday; hours 10; minutes 0; start 2012-08-04",
            "Every 2 weeks on Monday, Tuesday, Wednesday, Thursday and Sunday at 10:00 UTC, from 4 August 2012",
        ),
        (
            "week/2; weekDays Monday,Tuesday,Wednesday,Thursday,Friday; minutes 0,30; start 2012-08-04",
            "Every 2 weeks, Monday to Friday, all day every 30 minutes, UTC, from 4 August 2012",
        ),
        (
            "week; weekDays Friday; hours 10; minutes 0; start 2012-08-04; zone America/New_York",
            "Every Friday at 10:00 America/New_York time, from 3 August 2012 at 20:00 America/New_York time",
        ),
    ]);
}

#[test]
fn days_of_the_month_and_the_year() {
    check(&[
        (
            "month; minutes 15; hours 5; nth Friday -1; start 2012-08-04",
            "The last Friday of every month at 05:15 UTC, from 4 August 2012",
        ),
        (
            "month; minutes 15; hours 5; nth Friday 1,Friday -1; start 2012-08-04",
            "The first and last Friday of every month at 05:15 UTC, from 4 August 2012",
        ),
        (
            "month; minutes 15; hours 5; nth Friday 1,Friday -1",
            "At once, then on the first and last Friday of every month at 05:15 UTC",
        ),
        (
            "month; minutes 0; hours 5; nth Friday -3; start 2012-08-04",
            "The third-to-last Friday of every month at 05:00 UTC, from 4 August 2012",
        ),
        (
            "month; minutes 0; hours 5; nth Friday 5; start 2012-08-04",
            "The fifth Friday of every month that has one, at 05:00 UTC, from 4 August 2012",
        ),
        (
            "month/2; minutes 0; hours 5; nth Monday 1,Monday 5,Friday 5; start 2012-08-04",
            "Every 2 months on the first and fifth Monday and the fifth Friday, as far as the month has them, at 05:00 UTC, from 4 August 2012",
        ),
        (
            "month/2; minutes 0; hours 5; nth Friday; start 2012-08-04",
            "Every 2 months on every Friday at 05:00 UTC, from 4 August 2012",
        ),
        (
            "month; minutes 0; hours 5; nth Friday,Monday 1; start 2012-08-04",
            "The first Monday and every Friday of every month at 05:00 UTC, from 4 August 2012",
        ),
        (
            "month; minutes 0,15,30,45; nth Friday -1; start 2012-08-04",
            "Every 15 minutes, on the last Friday of every month, UTC, from 4 August 2012",
        ),
        (
            "month; minutes 0; hours 6; monthDays 1,-1; start 2012-08-04",
            "The 1st and the last day of every month at 06:00 UTC, from 4 August 2012",
        ),
        (
            "month; minutes 0; hours 6; monthDays 28; start 2012-08-04",
            "The 28th of every month at 06:00 UTC, from 4 August 2012",
        ),
        (
            "month; minutes 0; hours 6; monthDays -2,1,15; start 2012-08-04",
            "The 1st, the 15th and the 2nd-to-last day of every month at 06:00 UTC, from 4 August 2012",
        ),
        (
            "month; minutes 0; hours 6; monthDays 1,2,3,4,5,6,7; start 2012-08-04",
            "The 1st to the 7th of every month at 06:00 UTC, from 4 August 2012",
        ),
        (
            "month; minutes 0; hours 6; monthDays 31; start 2012-08-04",
            "The 31st of every month that has one, at 06:00 UTC, from 4 August 2012",
        ),
        (
            "month; minutes 0; hours 6; monthDays 15,31; start 2012-08-04",
            "The 15th and the 31st of every month, as far as the month has them, at 06:00 UTC, from 4 August 2012",
        ),
        (
            "month/3; minutes 0; hours 6; monthDays 31; start 2012-08-04",
            "Every 3 months on the 31st, in months that have one, at 06:00 UTC, from 4 August 2012",
        ),
        (
            "month/12; minutes 0; hours 6; monthDays 31; start 2012-08-04",
            "Every 12 months on the 31st at 06:00 UTC, from 4 August 2012",
        ),
        (
            "month/3; start 2012-08-31T10:00Z",
            "Every 3 months on the 31st, or the month's last day where there is none, at 10:00 UTC, from 31 August 2012",
        ),
        ("month; start 2012-08-15T10:00Z", "Every month on the 15th at 10:00 UTC, from 15 August 2012"),
        (
            "month; start 2012-08-15; minutes 0,30",
            "Every month on the 15th, all day every 30 minutes, UTC, from 15 August 2012",
        ),
        (
            "month; nth Friday; monthDays 13; start 2012-08-04T10:00Z",
            "Every Friday that is the 13th of the month at 10:00 UTC, from 4 August 2012",
        ),
        (
            "month; nth Tuesday 2; monthDays 8,9; hours 6; minutes 0; start 2012-08-04",
            "The second Tuesday of every month, when that is the 8th or the 9th, at 06:00 UTC, from 4 August 2012",
        ),
        (
            "month/6; nth Friday; monthDays 13; hours 6; minutes 0; start 2012-07-04",
            "Every 6 months on every Friday that is the 13th at 06:00 UTC, from 4 July 2012",
        ),
        ("year; start 2012-12-24T18:00Z", "Every year on 24 December at 18:00 UTC, from 24 December 2012"),
        (
            "year; start 2012-02-29T18:00Z",
            "Every year on 29 February, or 28 February where there is none, at 18:00 UTC, from 29 February 2012",
        ),
        (
            "year; months 2; monthDays 29; hours 6; minutes 0; start 2012-02-01",
            "Every leap year on 29 February at 06:00 UTC, from 1 February 2012",
        ),
        (
            "year; months 6,12; monthDays 24; hours 6; minutes 0; start 2012-02-01",
            "Every year on 24 June and 24 December at 06:00 UTC, from 1 February 2012",
        ),
        (
            "year; months 1,4,7,10; monthDays 1,15; hours 6; minutes 0; start 2012-02-01",
            "Every year on the 1st and the 15th of January, April, July and October at 06:00 UTC, from 1 February 2012",
        ),
        (
            "year; months 11; nth Friday -1; hours 6; minutes 0; start 2012-02-01",
            "Every year on the last Friday of November at 06:00 UTC, from 1 February 2012",
        ),
        (
            "year; months 11; nth Friday 5; hours 6; minutes 0; start 2012-02-01",
            "Every year on the fifth Friday of November, in years that have one, at 06:00 UTC, from 1 February 2012",
        ),
        (
            "year; months 1,2; start 2012-01-31T10:00Z",
            "Every year on the 31st of January and February, or the month's last day where there is none, at 10:00 UTC, from 31 January 2012",
        ),
        (
            "year; months 1,6; nth Friday; monthDays 13; start 2012-01-31T10:00Z",
            "Every Friday that is the 13th of January or June at 10:00 UTC, from 31 January 2012",
        ),
        (
            "year; months 12; monthDays 24; minutes 0,30; start 2012-01-31T10:00Z",
            "Every year on 24 December, all day every 30 minutes, UTC, from 31 January 2012",
        ),
    ]);
}

#[test]
fn cron() {
    check(&[
        ("cron */15 * * * *", "Every 15 minutes"),
        ("cron 0 * * * *", "Every hour on the hour"),
        ("cron */7 * * * *", "Every hour at 0, 7, 14, 21, 28, 35, 42, 49 and 56 minutes past"),
        ("cron 30 6 * * *; start 2012-08-04; count 3", "Every day at 06:30 UTC, from 4 August 2012, 3 times"),
        ("cron */15 9-16 * * MON-FRI", "Every 15 minutes from 09:00 to 16:45, Monday to Friday, UTC"),
        ("cron 0 9-17 * * 1-5", "Every hour from 09:00 to 17:00, Monday to Friday, UTC"),
        ("cron 0 0 13 * 5", "The 13th of every month and also every Friday, at 00:00 UTC"),
        ("cron 0 0 31 * 5#1", "The 31st and also the first Friday of every month, at 00:00 UTC"),
        (
            "cron 0 0 1,15 1-3 MON,TUE",
            "In January, February and March, the 1st and the 15th and also every Monday and Tuesday, at 00:00 UTC",
        ),
        ("cron 0 0 L * *", "The last day of every month at 00:00 UTC"),
        ("cron 0 0 L-2 * *", "The 3rd-to-last day of every month at 00:00 UTC"),
        ("cron 0 0 1,L * *", "The 1st and the last day of every month at 00:00 UTC"),
        ("cron 0 5 * * 5L", "The last Friday of every month at 05:00 UTC"),
        ("cron 0 5 * * 5#2", "The second Friday of every month at 05:00 UTC"),
        (
            "cron 0 5 * * 5#2,5#4,1",
            "Every Monday and the second and fourth Friday of every month at 05:00 UTC",
        ),
        ("cron 0 5 * 1-3 *", "Every day in January, February and March at 05:00 UTC"),
        ("cron 0 5 * 1-3 1", "Every Monday in January, February and March at 05:00 UTC"),
        ("cron 0 5 1 3-9 *", "Every year on the 1st of each month from March to September at 05:00 UTC"),
        ("cron 0 5 */2 * *", "Every 2nd day from the 1st to the 31st of every month at 05:00 UTC"),
        (
            "cron 0 5 */10 * 1",
            "Every Monday that is the 1st, the 11th, the 21st or the 31st of the month at 05:00 UTC",
        ),
        ("cron @yearly", "Every year on 1 January at 00:00 UTC"),
        ("cron 0 0 1-31 * 5", "Every day at 00:00 UTC"),
        (
            "cron 0-29 4,9 * * *; zone Europe/Paris",
            "Every day at 0 to 29 minutes past each of the hours 4 and 9 Europe/Paris time",
        ),
        ("cron * * * * 6,0", "Every minute, every Saturday and Sunday, UTC"),
        ("cron 0 0 29 2 *", "Every leap year on 29 February at 00:00 UTC"),
        ("cron 0 */2 * * *", "Every 2 hours from 00:00 to 22:00 UTC"),
    ]);
}

#[test]
fn clock_changes() {
    check(&[
        (
            "day; hours 2; minutes 30; zone Europe/Paris; start 2012-08-04; gap skip",
            "Every day at 02:30 Europe/Paris time, skipped when the clock jumps over it, from 4 August 2012",
        ),
        (
            "day; hours 2; minutes 30; zone Europe/Paris; start 2012-08-04; gap skip; fold both; count 3",
            "Every day at 02:30 Europe/Paris time, skipped when the clock jumps over it, both times when the clock repeats it, from 4 August 2012, 3 times",
        ),
        (
            "cron 30 2 * * *; zone Europe/Paris; fold last",
            "Every day at 02:30 Europe/Paris time, the last time when the clock repeats it",
        ),
        (
            "day; hours 2; minutes 30; zone Europe/Paris; start 2012-08-04; gap shift; fold first",
            "Every day at 02:30 Europe/Paris time, from 4 August 2012",
        ),
        (
            "day; hours 10; minutes 30; zone Europe/Paris; start 2012-08-04; gap skip; fold both",
            "Every day at 10:30 Europe/Paris time, from 4 August 2012",
        ),
        (
            "day; hours 2; minutes 30; zone Asia/Kolkata; start 2012-08-04; gap skip; fold both",
            "Every day at 02:30 Asia/Kolkata time, from 4 August 2012 at 05:30 Asia/Kolkata time",
        ),
        (
            "day; minutes 30; zone Europe/Paris; start 2012-08-04; gap skip; fold last",
            "Every hour at 30 minutes past, Europe/Paris time, from 4 August 2012 at 02:00 Europe/Paris time",
        ),
    ]);
}

/// Whatever days, times and bounds come together: no comma twice, none at the end, no word missing between two blanks.
#[test]
fn any_parts_fit_together() {
    let days = [
        "day",
        "day/3",
        "week; weekDays Monday,Friday",
        "week/2; weekDays Monday,Tuesday,Wednesday,Thursday",
        "month",
        "month/5; monthDays 1,31",
        "month; nth Friday 5",
        "month; nth Friday 2; monthDays 8,-20",
        "year",
        "year; months 1,2,3,4",
        "year; months 2,6; nth Monday,Friday 5",
    ];
    let times = [
        "",
        "hours 5",
        "minutes 0",
        "minutes 7,9",
        "minutes 0,30; hours 1,2,3,4,5",
        "minutes 3,4; hours 5,7,9",
    ];
    let crons =
        ["* * 1,31 * 5", "*/7 3,5 L-3 2 1#5", "0 */3 */3 3-7 2,4", "5-9 1-4 31 1 0-3", "0 0 1 * 5L,5"];
    let bounds = ["", "start 2012-01-31T10:00:07.5Z; end 2020-01-01; count 3", "start 2011-01-29; count 1"];
    let zones = ["", "zone Europe/Paris; gap skip; fold both"];
    let by_days = days.iter().flat_map(|days| times.iter().map(move |times| format!("{days}; {times}")));
    for what in by_days.chain(crons.iter().map(|cron| format!("cron {cron}"))) {
        for bounds in bounds {
            for zone in zones {
                let line: Vec<&str> =
                    [&what, bounds, zone].into_iter().filter(|part| !part.is_empty()).collect();
                let line = line.join("; ");
                let said = rule(&line).describe();
                let broken = ["  ", ",,", " ,"].iter().any(|bad| said.contains(bad));
                assert!(!broken && !said.ends_with([',', ' ']), "{line}: {said}");
                assert!(said.starts_with(|first: char| first.is_ascii_uppercase()), "{line}: {said}");
            }
        }
    }
}
