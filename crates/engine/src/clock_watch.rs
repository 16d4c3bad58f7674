//! The clock watch: notices a clock that leaps, and keeps retention from following it.
//!
//! The clock that jobs are kept by can be set. It is compared with one of the machine that cannot be set and that counts
//! while the machine is suspended, and with what the store keeps of the time from before the start. Retention goes by
//! the time that is *believed*: it moves on with the running time, and follows the clock further than [`TOLERANCE`] only
//! when that has stayed there for long enough. What a leap would have removed is still there when the clock is set right.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::SignedDuration;
use measure::Counter;
use model::Timestamp;
use store::{ClockMarks, time_passed};

/// The clock is believed at once where it is no further from the believed time than this.
const TOLERANCE: SignedDuration = SignedDuration::from_hours(1);
/// From so far on a difference between the clock and the running time is a step. Clocks that are kept right by small
/// corrections never differ so much.
const STEP: SignedDuration = SignedDuration::from_secs(2);
/// A clock that is behind the latest time that was seen by no more than this is not worth a word.
const BEHIND: SignedDuration = SignedDuration::from_secs(5);
/// A store that was not served for so long may have slept; for longer the clock may as well have leapt.
const AHEAD: SignedDuration = SignedDuration::from_hours(7 * 24);

/// See the module. Nothing is watched, and every clock believed, until [`begin`](Self::begin).
#[derive(Debug, Default)]
pub struct ClockWatch {
    state: Mutex<Option<State>>,
    /// How often the clock was set while it was watched.
    pub steps: Counter,
}

#[derive(Debug)]
struct State {
    marks: ClockMarks,
    /// For how long a clock has to show another time until it is believed.
    believe_after: Duration,
    /// What the clock showed at the last look, and the running time then.
    now: Timestamp,
    passed: Duration,
    /// By how much the clock was set, where that is not reported yet.
    step: Option<SignedDuration>,
}

/// What is wrong with the clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClockTrouble {
    /// It is behind the latest time that the store was served at.
    Behind {
        /// By how much.
        by: Duration,
    },
    /// It is far ahead of the time that the store knows.
    Ahead {
        /// By how much.
        by: Duration,
        /// In how much running time it is believed.
        believed_in: Duration,
    },
}

impl ClockTrouble {
    /// Returns its name in the API.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Behind { .. } => "clockBehind",
            Self::Ahead { .. } => "clockAhead",
        }
    }

    /// Returns what it means, for people.
    pub fn sentence(&self) -> String {
        match self {
            Self::Behind { by } => format!(
                "The clock is {} behind the latest time at which this store was served. What ran until then does not run \
                 again: recurring jobs wait until the clock is past it. Set the clock; if it is right now, see \
                 \"Clocks\" in the guide to operating.",
                lasting(*by)
            ),
            Self::Ahead { by, believed_in } => format!(
                "The clock is {} ahead of the time that this store knew. Old history, ledger, audit and finished jobs are \
                 not removed by it before the server has run with it for another {}. If it is wrong, set it.",
                lasting(*by),
                lasting(*believed_in)
            ),
        }
    }
}

impl ClockWatch {
    /// Begins to watch a clock that shows a time now; `marks` is what the store has kept. With no time to wait every clock
    /// is believed at once, and what was seen before is forgotten.
    pub fn begin(&self, marks: Option<ClockMarks>, now: Timestamp, believe_after: Duration) {
        *self.state() = Some(State::begin(marks, now, time_passed(), believe_after));
    }

    /// Looks at what the clock shows.
    pub fn look(&self, now: Timestamp) {
        if let Some(state) = &mut *self.state()
            && state.look(now, time_passed())
        {
            self.steps.count();
        }
    }

    /// Returns the time that retention goes by, when the clock shows another.
    pub fn retention_now(&self, now: Timestamp) -> Timestamp {
        self.look(now);
        self.state().as_ref().map_or(now, |state| state.marks.believed.min(now))
    }

    /// Returns by how much the clock was set since this was asked last, if it was.
    pub fn take_step(&self) -> Option<SignedDuration> {
        self.state().as_mut()?.step.take()
    }

    /// Returns what was wrong with the clock at the last look.
    pub fn trouble(&self) -> Option<ClockTrouble> {
        self.state().as_ref()?.trouble()
    }

    /// Returns what the store should keep.
    pub fn marks(&self) -> Option<ClockMarks> {
        self.state().as_ref().map(|state| state.marks)
    }

    fn state(&self) -> MutexGuard<'_, Option<State>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn begin(marks: Option<ClockMarks>, now: Timestamp, passed: Duration, believe_after: Duration) -> Self {
        let fresh = ClockMarks { believed: now, doubted: Duration::ZERO, latest: now };
        let marks = marks.filter(|_| !believe_after.is_zero()).unwrap_or(fresh);
        let mut state = Self { marks, believe_after, now, passed, step: None };
        state.look(now, passed);
        state
    }

    /// Whether the clock was set since the last look.
    fn look(&mut self, now: Timestamp, passed: Duration) -> bool {
        let ran = passed.saturating_sub(self.passed);
        let step = later(self.now, ran).duration_until(now);
        (self.now, self.passed) = (now, passed);
        let marks = &mut self.marks;
        marks.latest = marks.latest.max(now);
        let carried = later(marks.believed, ran);
        marks.doubted += ran;
        let is_near = carried.duration_until(now).abs() <= TOLERANCE;
        if is_near || marks.doubted >= self.believe_after {
            (marks.believed, marks.doubted) = (now, Duration::ZERO);
        } else {
            marks.believed = carried;
        }
        let was_set = step.abs() >= STEP;
        if was_set {
            self.step = Some(self.step.unwrap_or_default().saturating_add(step));
        }
        was_set
    }

    fn trouble(&self) -> Option<ClockTrouble> {
        let ClockMarks { believed, doubted, latest } = self.marks;
        let (behind, ahead) = (self.now.duration_until(latest), believed.duration_until(self.now));
        let by = |difference: SignedDuration| difference.unsigned_abs();
        if behind > BEHIND {
            Some(ClockTrouble::Behind { by: by(behind) })
        } else if ahead > AHEAD {
            let believed_in = self.believe_after.saturating_sub(doubted);
            Some(ClockTrouble::Ahead { by: by(ahead), believed_in })
        } else {
            None
        }
    }
}

fn later(at: Timestamp, by: Duration) -> Timestamp {
    SignedDuration::try_from(by).ok().and_then(|by| at.checked_add(by).ok()).unwrap_or(Timestamp::MAX)
}

/// Returns a length of time in words, in the largest unit of which there are two.
pub fn lasting(length: Duration) -> String {
    let seconds = length.as_secs();
    let (count, unit) = match seconds {
        172_800.. => (seconds / 86_400, "days"),
        7_200.. => (seconds / 3600, "hours"),
        120.. => (seconds / 60, "minutes"),
        _ => (seconds, "seconds"),
    };
    format!("{count} {unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: u64 = 3600;
    const DAY: u64 = 24 * HOUR;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(1_800_000_000 + seconds).expect("a time")
    }

    /// A clock that is looked at each hour.
    struct Watched {
        state: State,
        /// How far the clock is from the true time, in seconds; and the true time.
        off: i64,
        truly: u64,
    }

    impl Watched {
        fn start(marks: Option<ClockMarks>, truly: u64, off: i64) -> Self {
            let now = at(truly.cast_signed() + off);
            let believe_after = Duration::from_secs(DAY);
            Self { state: State::begin(marks, now, Duration::from_secs(7), believe_after), off, truly }
        }

        fn run(&mut self, hours: u64) {
            for _ in 0..hours {
                self.truly += HOUR;
                let passed = self.state.passed + Duration::from_secs(HOUR);
                self.state.look(at(self.truly.cast_signed() + self.off), passed);
            }
        }

        /// Started again, after a while.
        fn restart(&mut self, hours: u64) {
            *self = Self::start(Some(self.state.marks), self.truly + hours * HOUR, self.off);
        }

        /// How far the time of retention is ahead of the true time, in hours.
        fn ahead(&self) -> i64 {
            at(self.truly.cast_signed()).duration_until(self.state.marks.believed).as_hours()
        }
    }

    const LEAP: i64 = 400 * DAY.cast_signed();

    #[test]
    fn a_clock_that_goes_right_is_believed() {
        let mut clock = Watched::start(None, 0, 0);
        clock.run(1000);
        assert_eq!((clock.ahead(), clock.state.trouble(), clock.state.step), (0, None, None));
        // A short stop is nothing; after a long one retention is a little late, and no word is lost about it.
        clock.restart(0);
        assert_eq!(clock.ahead(), 0);
        clock.restart(48);
        assert_eq!((clock.ahead(), clock.state.trouble()), (-48, None));
        clock.run(24);
        assert_eq!(clock.ahead(), 0);
    }

    #[test]
    fn a_leap_forward_is_not_believed_before_it_has_lasted() {
        let mut clock = Watched::start(None, 0, 0);
        clock.run(3);
        clock.off = LEAP;
        clock.run(10);
        assert_eq!((clock.ahead(), clock.state.step.take()), (0, Some(SignedDuration::from_secs(LEAP))));
        let by = Duration::from_secs(400 * DAY);
        let believed_in = Duration::from_secs(14 * HOUR);
        assert_eq!(clock.state.trouble(), Some(ClockTrouble::Ahead { by, believed_in }));
        // Nor by starts meanwhile, which count only what was run.
        clock.restart(0);
        clock.run(10);
        assert_eq!(clock.ahead(), 0);
        // Set right, and still behind what was seen.
        clock.off = 0;
        clock.run(1);
        assert_eq!(clock.ahead(), 0);
        assert!(matches!(clock.state.trouble(), Some(ClockTrouble::Behind { .. })));
        clock.restart(0);
        clock.run(100);
        assert!(clock.ahead() == 0 && matches!(clock.state.trouble(), Some(ClockTrouble::Behind { .. })));
        // The operator confirms: the clock is right.
        let (marks, now) = (Some(clock.state.marks), at(clock.truly.cast_signed()));
        assert_eq!(State::begin(marks, now, Duration::ZERO, Duration::ZERO).trouble(), None);
    }

    #[test]
    fn a_leap_that_lasts_is_the_truth() {
        let mut clock = Watched::start(None, 0, 0);
        clock.run(1);
        // Off for 400 days: a machine that was in storage.
        clock.restart(400 * 24);
        assert_eq!(clock.ahead(), -400 * 24);
        assert!(matches!(clock.state.trouble(), Some(ClockTrouble::Ahead { .. })));
        clock.run(23);
        assert_eq!(clock.ahead(), -400 * 24);
        clock.run(1);
        assert_eq!((clock.ahead(), clock.state.trouble()), (0, None));
    }

    #[test]
    fn a_leap_back_is_over_when_the_clock_is_there_again() {
        let mut clock = Watched::start(None, 0, 0);
        clock.run(3);
        clock.off = -5 * HOUR.cast_signed();
        clock.run(1);
        let behind = |hours| Some(ClockTrouble::Behind { by: Duration::from_secs(hours * HOUR) });
        assert_eq!((clock.state.trouble(), clock.ahead()), (behind(4), 0));
        clock.restart(0);
        assert_eq!(clock.state.trouble(), behind(4));
        clock.run(4);
        assert_eq!(clock.state.trouble(), None);
    }

    #[test]
    fn small_corrections_are_no_steps() {
        let mut clock = Watched::start(None, 0, 0);
        for off in [1, 0, 1, 2] {
            clock.off = off;
            clock.run(1);
        }
        assert_eq!((clock.state.step, clock.state.trouble()), (None, None));
        clock.off = 62;
        clock.run(1);
        assert_eq!(clock.state.step, Some(SignedDuration::from_secs(60)));
        assert_eq!(lasting(Duration::from_secs(60)), "60 seconds");
        assert_eq!(lasting(Duration::from_secs(400 * DAY)), "400 days");
    }
}
