//! Bytes as choices: a short input makes a simple draft, and a small change of it a similar one.

use recurrence::{
    Draft, DstDraft, Frequency, MonthlyOccurrenceDraft, RecurrenceDraft, ScheduleDraft, Timestamp, Weekday,
};

/// A source of choices; when the bytes are used up, always the first choice.
pub struct Choices<'a>(&'a [u8]);

impl<'a> Choices<'a> {
    /// Choices made by these bytes.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else {
            return 0;
        };
        self.0 = rest;
        *first
    }

    fn number(&mut self, bytes: usize) -> u64 {
        (0..bytes).fold(0, |number, _| number << 8 | u64::from(self.byte()))
    }

    /// From `low` to `high`, which are not far apart.
    fn between(&mut self, low: i64, high: i64) -> i64 {
        low + (self.number(2) as i64) % (high - low + 1)
    }

    pub(crate) fn of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[usize::from(self.byte()) % choices.len()]
    }

    /// Once in so many times.
    pub(crate) fn one_in(&mut self, times: u8) -> bool {
        self.byte() % times == times - 1
    }

    fn list<T>(&mut self, longest: i64, mut item: impl FnMut(&mut Self) -> T) -> Vec<T> {
        (0..self.between(1, longest)).map(|_| item(self)).collect()
    }

    fn maybe<T>(&mut self, times: u8, value: impl FnOnce(&mut Self) -> T) -> Option<T> {
        self.one_in(times).then(|| value(self))
    }
}

/// Zones with changes of an hour, of less, of more, of a whole day; below the equator; by the moon; and without any.
const ZONES: [&str; 18] = [
    "UTC",
    "Europe/Paris",
    "America/New_York",
    "Australia/Lord_Howe",
    "Antarctica/Troll",
    "Pacific/Apia",
    "Africa/Casablanca",
    "Europe/Dublin",
    "America/St_Johns",
    "America/Scoresbysund",
    "Asia/Kathmandu",
    "Asia/Tehran",
    "America/Santiago",
    "Africa/Cairo",
    "Pacific/Kwajalein",
    "Asia/Gaza",
    "Romance Standard Time",
    "America/Sao_Paulo",
];

/// What a clock may show: 1990 to 2460.
pub fn present(choices: &mut Choices<'_>) -> Timestamp {
    // Seconds from 1970 to 1990.
    const FROM: i64 = 631_152_000;
    // Quarters of an hour first: changes of clocks happen there.
    let quarters = (choices.number(3) % (470 * 366 * 96)) as i64;
    let seconds = FROM + quarters * 900 + choices.maybe(2, |choices| choices.between(0, 899)).unwrap_or(0);
    let ticks = choices.maybe(4, |choices| choices.number(3) % 10_000_000).unwrap_or(0);
    Timestamp::new(seconds, (ticks * 100) as i32).unwrap_or(Timestamp::UNIX_EPOCH)
}

/// Mostly what a clock may show; now and then any instant that the API can write.
pub fn instant(choices: &mut Choices<'_>) -> Timestamp {
    // Seconds from 1970 to the year 1, and to the end of 9999 in the zone that gets there first.
    const BEGINNING: i64 = -62_135_596_800;
    const END: i64 = 253_402_207_200;
    if !choices.one_in(16) {
        return present(choices);
    }
    let seconds = BEGINNING + (choices.number(8) % (END - BEGINNING) as u64) as i64;
    Timestamp::from_second(seconds).unwrap_or(Timestamp::UNIX_EPOCH)
}

/// A draft that is mostly valid at a moment.
pub fn draft(choices: &mut Choices<'_>, now: Timestamp) -> Draft {
    let start_time = choices.maybe(2, |choices| date_time(choices, now));
    let once = choices.one_in(32);
    Draft { start_time, recurrence: (!once).then(|| recurrence(choices, now)) }
}

/// Near a moment, or anywhere.
fn date_time(choices: &mut Choices<'_>, now: Timestamp) -> String {
    let at = if choices.one_in(2) {
        let seconds = now.as_second() + choices.number(4) as i32 as i64 / 16;
        Timestamp::from_second(seconds).unwrap_or(now)
    } else {
        instant(choices)
    };
    at.to_string()
}

fn recurrence(choices: &mut Choices<'_>, now: Timestamp) -> RecurrenceDraft {
    let frequency = choices.of(&Frequency::ALL);
    let common = RecurrenceDraft {
        count: choices.maybe(4, |choices| choices.between(1, 40)),
        end_time: choices.maybe(4, |choices| date_time(choices, now)),
        time_zone: choices.maybe(2, |choices| choices.of(&ZONES).to_owned()),
        dst: choices.maybe(2, |choices| DstDraft {
            gap: choices.maybe(2, |choices| choices.of(&["skip", "shift"]).to_owned()),
            fold: choices.maybe(2, |choices| choices.of(&["both", "last", "first"]).to_owned()),
        }),
        ..Default::default()
    };
    if choices.one_in(6) {
        return RecurrenceDraft { cron: Some(cron(choices)), ..common };
    }
    RecurrenceDraft {
        frequency: Some(frequency.name().to_owned()),
        interval: choices.maybe(2, |choices| choices.between(1, frequency.longest_interval().into())),
        schedule: choices.maybe(2, |choices| schedule(choices, frequency)),
        ..common
    }
}

fn schedule(choices: &mut Choices<'_>, frequency: Frequency) -> ScheduleDraft {
    let monthly = frequency >= Frequency::Month;
    ScheduleDraft {
        minutes: choices.maybe(2, |choices| choices.list(4, |choices| choices.between(0, 59))),
        hours: choices.maybe(2, |choices| choices.list(4, |choices| choices.between(0, 23))),
        week_days: (frequency == Frequency::Week)
            .then(|| choices.maybe(2, |choices| choices.list(3, day)))
            .flatten(),
        month_days: monthly.then(|| choices.maybe(2, |choices| choices.list(3, month_day))).flatten(),
        monthly_occurrences: monthly
            .then(|| choices.maybe(3, |choices| choices.list(3, monthly_occurrence)))
            .flatten(),
        months: (frequency == Frequency::Year)
            .then(|| choices.maybe(2, |choices| choices.list(3, |choices| choices.between(1, 12))))
            .flatten(),
    }
}

fn day(choices: &mut Choices<'_>) -> String {
    choices.of(&Weekday::ALL).name().to_owned()
}

fn month_day(choices: &mut Choices<'_>) -> i64 {
    signed(choices, 31)
}

fn signed(choices: &mut Choices<'_>, most: i64) -> i64 {
    let number = choices.between(1, most);
    if choices.one_in(2) { -number } else { number }
}

fn monthly_occurrence(choices: &mut Choices<'_>) -> MonthlyOccurrenceDraft {
    let occurrence = choices.maybe(2, |choices| signed(choices, 5));
    MonthlyOccurrenceDraft { day: Some(day(choices)), occurrence }
}

fn cron(choices: &mut Choices<'_>) -> String {
    let mut field = |low: i64, high: i64, special: &[&str]| {
        if choices.one_in(4) && !special.is_empty() {
            return choices.of(special).to_owned();
        }
        match choices.between(0, 4) {
            0 => "*".to_owned(),
            1 => format!("*/{}", choices.between(1, high)),
            2 => {
                let (a, b) = (choices.between(low, high), choices.between(low, high));
                format!("{}-{}/{}", a.min(b), a.max(b), choices.between(1, 7))
            }
            _ => {
                let numbers = choices.list(3, |choices| choices.between(low, high).to_string());
                numbers.join(",")
            }
        }
    };
    let fields = [
        field(0, 59, &[]),
        field(0, 23, &[]),
        field(1, 31, &["L", "L-2", "?", "31", "1,L"]),
        field(1, 12, &["feb", "JAN-mar"]),
        field(0, 7, &["5L", "5#5", "mon-fri", "SUN", "1#1,3"]),
    ];
    fields.join(" ")
}
