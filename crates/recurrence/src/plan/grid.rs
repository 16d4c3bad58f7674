//! Steps of elapsed time with an eye on the wall clock: the plan of minute and hour rules that have a schedule.

use crate::civil::DAY;
use crate::numbers::Numbers;

/// Every so many windows of elapsed time, and in them the instants at which the wall clock shows a wanted time.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Grid {
    /// The first second of a counted window.
    origin: i64,
    /// The distance of counted windows, in seconds.
    step: i64,
    /// Hours that the wall clock may show.
    hours: Numbers,
    /// Minutes that the wall clock may show.
    minutes: Numbers,
    within: Within,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Within {
    /// The window's first second is its only instant.
    First,
    /// Every full minute of the window's hour.
    EveryMinute,
}

impl Grid {
    /// Instants `step` seconds apart, of which those count that show a wanted hour and minute.
    pub(crate) fn limited(origin: i64, step: i64, hours: Numbers, minutes: Numbers) -> Self {
        Self { origin, step, hours, minutes, within: Within::First }
    }

    /// Hours `step` seconds apart, in which every wanted minute counts at second 0.
    pub(crate) fn expanded(origin: i64, step: i64, hours: Numbers, minutes: Numbers) -> Self {
        Self { origin, step, hours, minutes, within: Within::EveryMinute }
    }

    /// The first instant at or after `from` and before `until`, while clocks are `offset` seconds ahead of UTC.
    pub(crate) fn next(&self, from: i64, offset: i64, until: i64) -> Option<i64> {
        let until = until.min(from + self.cycle());
        let mut at = from;
        while at < until {
            match self.within {
                Within::First => {
                    at += (self.origin - at).rem_euclid(self.step);
                    let wait = self.until_wanted(at + offset);
                    if wait == 0 {
                        return (at < until).then_some(at);
                    }
                    at += wait;
                }
                Within::EveryMinute => {
                    at += (-(at + offset)).rem_euclid(60);
                    at += self.until_wanted(at + offset);
                    let into = (at - self.origin).rem_euclid(self.step);
                    if into < 3600 {
                        return (at < until).then_some(at);
                    }
                    at += self.step - into;
                }
            }
        }
        None
    }

    /// The shortest distance between two instants while clocks are `offset` seconds ahead of UTC.
    pub(crate) fn fastest(&self, from: i64, offset: i64) -> Option<i64> {
        let first = self.next(from, offset, i64::MAX)?;
        let mut last = first;
        let mut fastest: Option<i64> = None;
        while let Some(at) = self.next(last + 1, offset, i64::MAX).filter(|_| last < first + self.cycle()) {
            fastest = Some(fastest.map_or(at - last, |fastest| fastest.min(at - last)));
            last = at;
        }
        fastest
    }

    /// While the offset holds, all repeats within this time: after as many steps as fill whole days.
    fn cycle(&self) -> i64 {
        self.step / gcd(self.step, DAY) * DAY + self.step
    }

    /// How many seconds until the wall clock shows a wanted minute; 0 while it shows one.
    fn until_wanted(&self, local: i64) -> i64 {
        let of_day = local.rem_euclid(DAY);
        let (hour, minute) = ((of_day / 3600) as u32, (of_day / 60 % 60) as u32);
        if self.hours.contains(hour) {
            if self.minutes.contains(minute) {
                return 0;
            }
            if let Some(minute) = self.minutes.at_least(minute) {
                return i64::from(hour) * 3600 + i64::from(minute) * 60 - of_day;
            }
        }
        let first = i64::from(self.minutes.at_least(0).unwrap_or_default()) * 60;
        match self.hours.at_least(hour + 1) {
            Some(hour) => i64::from(hour) * 3600 + first - of_day,
            None => DAY + i64::from(self.hours.at_least(0).unwrap_or_default()) * 3600 + first - of_day,
        }
    }
}

fn gcd(a: i64, b: i64) -> i64 {
    if b == 0 { a } else { gcd(b, a % b) }
}
