//! Steps of elapsed time with an eye on the wall clock: the plan of minute and hour rules that have a schedule.

use super::count::multiples_below;
use super::days::Times;
use crate::civil::DAY;
use crate::numbers::Numbers;

/// Minutes of a day.
const MINUTES: i64 = DAY / 60;

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
        match self.within {
            Within::First => self.first(from, offset),
            Within::EveryMinute => self.minute(from, offset, until),
        }
        .filter(|at| *at < until)
    }

    /// The first step from an instant on that shows a wanted time.
    fn first(&self, from: i64, offset: i64) -> Option<i64> {
        // Most rules have one nearby: go from the next wanted time to the next step, a few times.
        let mut at = from;
        for _ in 0..8 {
            at += (self.origin - at).rem_euclid(self.step);
            let wait = self.until_wanted(at + offset);
            if wait == 0 {
                return Some(at);
            }
            at += wait;
        }
        // Steps and wanted times meet rarely or never. When they do is a congruence: after k steps of i minutes the
        // clock shows minute m of the day, k·i ≡ m − now (mod 1440).
        at += (self.origin - at).rem_euclid(self.step);
        let now = (at + offset).rem_euclid(DAY) / 60;
        let minutes = (self.step / 60).rem_euclid(MINUTES);
        let common = gcd(minutes, MINUTES);
        let (round, inverse) = (MINUTES / common, inverse(minutes / common, MINUTES / common));
        let wanted =
            self.hours.iter().flat_map(|hour| self.minutes.iter().map(move |minute| hour * 60 + minute));
        let steps = wanted
            .map(|wanted| i64::from(wanted) - now)
            .filter(|away| away % common == 0)
            .map(|away| (away / common * inverse).rem_euclid(round))
            .min()?;
        Some(at + steps * self.step)
    }

    /// The first wanted minute from an instant on that lies in a counted hour.
    fn minute(&self, from: i64, offset: i64, until: i64) -> Option<i64> {
        let mut at = from;
        while at < until {
            at += (-(at + offset)).rem_euclid(60);
            at += self.until_wanted(at + offset);
            let into = (at - self.origin).rem_euclid(self.step);
            if into < 3600 {
                return Some(at);
            }
            at += self.step - into;
        }
        None
    }

    /// How many instants there are from one to another, that one left out, while clocks are `offset` seconds ahead of
    /// UTC.
    pub(crate) fn count(&self, from: i64, offset: i64, until: i64) -> i64 {
        match self.within {
            Within::First => self.count_steps(from, offset, until),
            Within::EveryMinute => self.count_minutes(from, offset, until),
        }
    }

    fn count_steps(&self, from: i64, offset: i64, until: i64) -> i64 {
        let first = from + (self.origin - from).rem_euclid(self.step);
        let begin = (first + offset).rem_euclid(DAY) / 60;
        let minutes = (self.step / 60).rem_euclid(MINUTES);
        // After so many steps the clock shows the same times again.
        let round = MINUTES / gcd(minutes, MINUTES);
        let wanted = |steps: i64| {
            let shown = (0..steps).map(|k| (begin + k * minutes) % MINUTES);
            shown.filter(|minute| self.until_wanted(minute * 60) == 0).count() as i64
        };
        let steps = multiples_below(until - first, self.step).max(0);
        let rounds = steps / round;
        wanted(steps % round) + if rounds > 0 { rounds * wanted(round) } else { 0 }
    }

    fn count_minutes(&self, from: i64, offset: i64, until: i64) -> i64 {
        let times = Times { hours: self.hours, minutes: self.minutes, second: 0 };
        // From the last counted hour that has begun to the last that begins before the end.
        let first = from - (from - self.origin).rem_euclid(self.step);
        let hours = multiples_below(until - first, self.step).max(0);
        let in_hour = |k: i64| {
            let hour = first + k * self.step;
            let (from, until) = (hour.max(from), (hour + 3600).min(until));
            times.count_daily(from + offset, until.max(from) + offset)
        };
        let ends: i64 = [0, hours - 1].into_iter().take(hours.min(2) as usize).map(in_hour).sum();
        // Between them are whole hours, and after so many of them the clock shows the same times again.
        let round = 24 / gcd(self.step / 3600, 24);
        let whole = |hours: i64| (1..=hours).map(in_hour).sum::<i64>();
        let between = (hours - 2).max(0);
        let rounds = between / round;
        ends + whole(between % round) + if rounds > 0 { rounds * whole(round) } else { 0 }
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

    /// All distances between instants are multiples of this.
    pub(crate) fn grain(&self) -> i64 {
        match self.within {
            Within::First => self.step,
            Within::EveryMinute => 60,
        }
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

/// The number whose product with `a` leaves 1 when divided by `modulus`; the two have no common divisor.
fn inverse(a: i64, modulus: i64) -> i64 {
    let (mut old, mut new) = ((a, 1), (modulus, 0));
    while new.0 != 0 {
        let quotient = old.0 / new.0;
        (old, new) = (new, (old.0 - quotient * new.0, old.1 - quotient * new.1));
    }
    old.1.rem_euclid(modulus.max(1))
}

/// The greatest common divisor; of 0 and a number, the number.
pub(crate) fn gcd(a: i64, b: i64) -> i64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Step by step, without any arithmetic to speak of.
    fn slowly(step: i64, hours: Numbers, minutes: Numbers, offset: i64, from: i64) -> Option<i64> {
        (0..=MINUTES).map(|k| from + k * step).find(|at| {
            let minute = (at + offset).rem_euclid(DAY) / 60;
            hours.contains((minute / 60) as u32) && minutes.contains((minute % 60) as u32)
        })
    }

    #[test]
    fn rare_meetings_of_steps_and_times_are_computed() {
        let some = |numbers: &[u32]| numbers.iter().copied().collect::<Numbers>();
        for interval in [1, 7, 11, 16, 60, 480, 720, 959, 997, 1000, 60 * 5, 60 * 24, 60 * 25, 60 * 1000] {
            for (hours, minutes) in
                [(some(&[0]), some(&[0])), (some(&[3, 22]), some(&[1, 59])), (some(&[23]), some(&[30]))]
            {
                for (offset, start) in [(0, 0), (3600, 17), (-12_600, 86_399), (20_700, 1_800_000_123)] {
                    let grid = Grid::limited(start, interval * 60, hours, minutes);
                    let expected = slowly(interval * 60, hours, minutes, offset, start);
                    let found = grid.next(start, offset, i64::MAX);
                    assert_eq!(
                        found, expected,
                        "every {interval} minutes, {hours:?}, {minutes:?}, {offset}, {start}"
                    );
                }
            }
        }
    }
}
