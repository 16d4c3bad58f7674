//! The rules, as each engine writes them, and the instants to ask about.

use recurrence::{Draft, MonthlyOccurrenceDraft, RecurrenceDraft, ScheduleDraft, read_date_time};

/// Where the instants begin, and most rules.
const OPENING: &str = "2026-11-01T00:00:00Z";

/// One rule, as each engine writes it.
pub(crate) struct Case {
    pub(crate) rule: &'static str,
    pub(crate) recurrence: RecurrenceDraft,
    pub(crate) start: &'static str,
    /// Its start lies so far back that an engine which counts from there needs seconds.
    pub(crate) has_long_past: bool,
    /// The instants lie in so many days from [`OPENING`].
    pub(crate) days: i64,
    /// No instants from here to there: the next occurrence falls into a clock change, where each engine has its own
    /// idea of what is right.
    pub(crate) except: Option<[&'static str; 2]>,
    pub(crate) rrule: Other,
    pub(crate) croner: Other,
}

/// How another engine writes a rule.
#[derive(Clone, Copy)]
pub(crate) enum Other {
    /// So, and its answers are ours.
    Same(&'static str),
    /// So, but its answers are others, for this reason.
    Differs(&'static str, &'static str),
    /// Not at all, for this reason.
    Cannot(&'static str),
}

const DAY_MILLIS: i64 = 86_400_000;
pub(crate) const YEAR: i64 = 365;

pub(crate) fn cases() -> Vec<Case> {
    let steps_anew = "begins its steps anew every hour, day, month and year";
    let no_moved_day = "has no day that moves to the end of a shorter month";
    let leaves_steps = "skips hours on its way to the limit, and so leaves the sequence of its steps";
    vec![
        case("every 5 minutes, since yesterday", every("minute", 5))
            .start("2026-10-31T00:00:00Z")
            .days(1)
            .rrule("FREQ=MINUTELY;INTERVAL=5")
            .croner("*/5 * * * *"),
        case("every 5 minutes, for 20 years", every("minute", 5))
            .start("2006-11-01T00:00:00Z")
            .long_past()
            .days(1)
            .rrule("FREQ=MINUTELY;INTERVAL=5")
            .croner("*/5 * * * *"),
        case("every 2 hours", every("hour", 2)).rrule("FREQ=HOURLY;INTERVAL=2").croner("0 */2 * * *"),
        case("daily 05:15, 05:45, 17:15, 17:45", every("day", 1).at([5, 17], [15, 45]))
            .rrule("FREQ=DAILY;BYHOUR=5,17;BYMINUTE=15,45;BYSECOND=0")
            .croner("15,45 5,17 * * *"),
        case(
            "Monday, Wednesday, Friday 10:00 and 22:00",
            every("week", 1).on(["Monday", "Wednesday", "Friday"]).at([10, 22], [0]),
        )
        .rrule("FREQ=WEEKLY;BYDAY=MO,WE,FR;BYHOUR=10,22;BYMINUTE=0;BYSECOND=0")
        .croner("0 10,22 * * MON,WED,FRI"),
        case("every 2 weeks", every("week", 2)).rrule("FREQ=WEEKLY;INTERVAL=2").croner_cannot(steps_anew),
        case("the 28th, 06:00", every("month", 1).month_days([28]).at([6], [0]))
            .rrule("FREQ=MONTHLY;BYMONTHDAY=28;BYHOUR=6;BYMINUTE=0;BYSECOND=0")
            .croner("0 6 28 * *"),
        case("last day of the month, 06:00", every("month", 1).month_days([-1]).at([6], [0]))
            .rrule("FREQ=MONTHLY;BYMONTHDAY=-1;BYHOUR=6;BYMINUTE=0;BYSECOND=0")
            .croner("0 6 L * *"),
        case(
            "first and last Friday, 05:15",
            every("month", 1).nth([("Friday", Some(1)), ("Friday", Some(-1))]).at([5], [15]),
        )
        .rrule("FREQ=MONTHLY;BYDAY=1FR,-1FR;BYHOUR=5;BYMINUTE=15;BYSECOND=0")
        .croner("15 5 * * 5#1,5L"),
        case("Friday the 13th", every("month", 1).month_days([13]).nth([("Friday", None)]).at([0], [0]))
            .days(10 * YEAR)
            .rrule("FREQ=MONTHLY;BYMONTHDAY=13;BYDAY=FR;BYHOUR=0;BYMINUTE=0;BYSECOND=0")
            .croner("0 0 13 * +FRI"),
        case("every month from the 30th", every("month", 1))
            .start("2026-10-30T00:00:00Z")
            .rrule("FREQ=MONTHLY;BYMONTHDAY=28,29,30;BYSETPOS=-1")
            .croner_cannot(no_moved_day),
        case("every 18 months", every("month", 18))
            .days(20 * YEAR)
            .rrule("FREQ=MONTHLY;INTERVAL=18")
            .croner_cannot(steps_anew),
        case("29 February", every("year", 1).months([2]).month_days([29]).at([0], [0]))
            .days(20 * YEAR)
            .rrule("FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=29;BYHOUR=0;BYMINUTE=0;BYSECOND=0")
            .croner("0 0 29 2 *"),
        case(
            "fifth Friday of February",
            every("year", 1).months([2]).nth([("Friday", Some(5))]).at([0], [0]),
        )
        .days(65 * YEAR)
        .rrule("FREQ=YEARLY;BYMONTH=2;BYDAY=5FR;BYHOUR=0;BYMINUTE=0;BYSECOND=0")
        .croner("0 0 * 2 5#5"),
        case("daily 02:30, Europe/Paris", every("day", 1).at([2], [30]))
            .zone("Europe/Paris")
            .except(["2027-03-27T01:30:00Z", "2027-03-28T01:30:00Z"])
            .rrule("FREQ=DAILY;BYHOUR=2;BYMINUTE=30;BYSECOND=0")
            .croner("30 2 * * *"),
        case("Monday to Friday, every 15 minutes from 9 to 17, America/New_York", {
            let week_days = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday"];
            every("week", 1).on(week_days).at(9..=16, [0, 15, 30, 45])
        })
        .zone("America/New_York")
        .rrule(
            "FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR;BYHOUR=9,10,11,12,13,14,15,16;BYMINUTE=0,15,30,45;BYSECOND=0",
        )
        .croner("*/15 9-16 * * MON-FRI"),
        case(
            "last Friday of the month, 05:15, Europe/Paris",
            every("month", 1).nth([("Friday", Some(-1))]).at([5], [15]),
        )
        .zone("Europe/Paris")
        .rrule("FREQ=MONTHLY;BYDAY=-1FR;BYHOUR=5;BYMINUTE=15;BYSECOND=0")
        .croner("15 5 * * 5L"),
        case("every 7 minutes, of which those from 3 to 4", every("minute", 7).at([3], 0..=59))
            .rrule_differs("FREQ=MINUTELY;INTERVAL=7;BYHOUR=3", leaves_steps)
            .croner_cannot(steps_anew),
        case("every 997 minutes, of which those at midnight", every("minute", 997).at([0], [0]))
            .days(10 * YEAR)
            .rrule_differs("FREQ=MINUTELY;INTERVAL=997;BYHOUR=0;BYMINUTE=0", leaves_steps)
            .croner_cannot(steps_anew),
        case("every 5 hours, of which those from 9 to 17", every("hour", 5).at(9..=16, [0]))
            .rrule("FREQ=HOURLY;INTERVAL=5;BYHOUR=9,10,11,12,13,14,15,16;BYMINUTE=0;BYSECOND=0")
            .croner_cannot(steps_anew),
        case("cron `*/5 * * * *`", cron("*/5 * * * *"))
            .days(1)
            .rrule("FREQ=MINUTELY;INTERVAL=5")
            .croner("*/5 * * * *"),
        case("cron `0 9-17 * * MON-FRI`", cron("0 9-17 * * MON-FRI"))
            .rrule("FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR;BYHOUR=9,10,11,12,13,14,15,16,17;BYMINUTE=0;BYSECOND=0")
            .croner("0 9-17 * * MON-FRI"),
        case("cron `0 0 L * *`", cron("0 0 L * *"))
            .rrule("FREQ=MONTHLY;BYMONTHDAY=-1;BYHOUR=0;BYMINUTE=0;BYSECOND=0")
            .croner("0 0 L * *"),
        case("cron `30 5 * * 5L`", cron("30 5 * * 5L"))
            .rrule("FREQ=MONTHLY;BYDAY=-1FR;BYHOUR=5;BYMINUTE=30;BYSECOND=0")
            .croner("30 5 * * 5L"),
        case("cron `0 0 29 2 *`", cron("0 0 29 2 *"))
            .days(20 * YEAR)
            .rrule("FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=29;BYHOUR=0;BYMINUTE=0;BYSECOND=0")
            .croner("0 0 29 2 *"),
        case("cron `0 9-17 * * MON-FRI`, Europe/Paris", cron("0 9-17 * * MON-FRI"))
            .zone("Europe/Paris")
            .rrule("FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR;BYHOUR=9,10,11,12,13,14,15,16,17;BYMINUTE=0;BYSECOND=0")
            .croner("0 9-17 * * MON-FRI"),
    ]
}

fn case(rule: &'static str, recurrence: impl Into<RecurrenceDraft>) -> Case {
    let unsaid = Other::Cannot("was not asked");
    Case {
        rule,
        recurrence: recurrence.into(),
        start: OPENING,
        has_long_past: false,
        days: YEAR,
        except: None,
        rrule: unsaid,
        croner: unsaid,
    }
}

impl Case {
    fn start(self, start: &'static str) -> Self {
        Self { start, ..self }
    }

    fn long_past(self) -> Self {
        Self { has_long_past: true, ..self }
    }

    fn days(self, days: i64) -> Self {
        Self { days, ..self }
    }

    fn except(self, span: [&'static str; 2]) -> Self {
        Self { except: Some(span), ..self }
    }

    fn zone(mut self, name: &str) -> Self {
        self.recurrence.time_zone = Some(name.to_owned());
        self
    }

    fn rrule(self, text: &'static str) -> Self {
        Self { rrule: Other::Same(text), ..self }
    }

    fn rrule_differs(self, text: &'static str, reason: &'static str) -> Self {
        Self { rrule: Other::Differs(text, reason), ..self }
    }

    fn croner(self, text: &'static str) -> Self {
        Self { croner: Other::Same(text), ..self }
    }

    fn croner_cannot(self, reason: &'static str) -> Self {
        Self { croner: Other::Cannot(reason), ..self }
    }
}

/// A recurrence in few words.
struct Every(RecurrenceDraft);

fn every(frequency: &str, interval: i64) -> Every {
    Every(RecurrenceDraft {
        frequency: Some(frequency.to_owned()),
        interval: Some(interval),
        schedule: Some(ScheduleDraft::default()),
        ..Default::default()
    })
}

fn cron(text: &str) -> RecurrenceDraft {
    RecurrenceDraft { cron: Some(text.to_owned()), ..Default::default() }
}

impl From<Every> for RecurrenceDraft {
    fn from(every: Every) -> Self {
        every.0
    }
}

impl Every {
    fn with(mut self, set: impl FnOnce(&mut ScheduleDraft)) -> Self {
        set(self.0.schedule.get_or_insert_default());
        self
    }

    fn at(self, hours: impl IntoIterator<Item = i64>, minutes: impl IntoIterator<Item = i64>) -> Self {
        self.with(|schedule| {
            schedule.hours = Some(hours.into_iter().collect());
            schedule.minutes = Some(minutes.into_iter().collect());
        })
    }

    fn on<const N: usize>(self, days: [&str; N]) -> Self {
        self.with(|schedule| schedule.week_days = Some(days.map(str::to_owned).to_vec()))
    }

    fn month_days<const N: usize>(self, days: [i64; N]) -> Self {
        self.with(|schedule| schedule.month_days = Some(days.to_vec()))
    }

    fn months<const N: usize>(self, months: [i64; N]) -> Self {
        self.with(|schedule| schedule.months = Some(months.to_vec()))
    }

    fn nth<const N: usize>(self, days: [(&str, Option<i64>); N]) -> Self {
        let days =
            days.map(|(day, occurrence)| MonthlyOccurrenceDraft { day: Some(day.to_owned()), occurrence });
        self.with(|schedule| schedule.monthly_occurrences = Some(days.to_vec()))
    }
}

impl Case {
    pub(crate) fn draft(&self) -> Draft {
        Draft { start_time: Some(self.start.to_owned()), recurrence: Some(self.recurrence.clone()) }
    }
}

/// Pseudo-random instants, the same in every run, in milliseconds.
pub(crate) fn instants(count: usize, days: i64, except: Option<[&str; 2]>) -> Vec<i64> {
    let opening = millis(OPENING);
    let except = except.map(|span| span.map(millis));
    let mut state = 0_u64;
    // splitmix64
    let random = std::iter::repeat_with(|| {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    });
    random
        .map(|number| opening + (number % (days * DAY_MILLIS) as u64) as i64)
        .filter(|at| except.is_none_or(|[from, to]| !(from..to).contains(at)))
        .take(count)
        .collect()
}

pub(crate) fn millis(text: &str) -> i64 {
    read_date_time(text).expect("a date-time").as_millisecond()
}
