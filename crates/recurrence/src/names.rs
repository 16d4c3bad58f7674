//! The words of a rule: frequencies, weekdays, and what to do when clocks change.

use std::fmt;

/// The length of a rule's period.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Frequency {
    /// Steps of elapsed minutes.
    Minute,
    /// Steps of elapsed hours.
    Hour,
    /// Calendar days in the rule's zone.
    Day,
    /// Calendar weeks, Monday to Sunday.
    Week,
    /// Calendar months.
    Month,
    /// Calendar years.
    Year,
}

impl Frequency {
    /// All of them, shortest first.
    pub const ALL: [Self; 6] = [Self::Minute, Self::Hour, Self::Day, Self::Week, Self::Month, Self::Year];

    /// Reads a name in any case: `day`, `days`, `Daily`.
    pub fn read(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|frequency| {
            let name = frequency.name();
            let plural = text.len() == name.len() + 1
                && text.as_bytes()[name.len()].eq_ignore_ascii_case(&b's')
                && text.as_bytes()[..name.len()].eq_ignore_ascii_case(name.as_bytes());
            plural || text.eq_ignore_ascii_case(name) || text.eq_ignore_ascii_case(frequency.adverb())
        })
    }

    /// The canonical name: `minute`, `hour`, `day`, `week`, `month`, `year`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Minute => "minute",
            Self::Hour => "hour",
            Self::Day => "day",
            Self::Week => "week",
            Self::Month => "month",
            Self::Year => "year",
        }
    }

    const fn adverb(self) -> &'static str {
        match self {
            Self::Minute => "minutely",
            Self::Hour => "hourly",
            Self::Day => "daily",
            Self::Week => "weekly",
            Self::Month => "monthly",
            Self::Year => "yearly",
        }
    }

    /// The largest interval: what the old service allowed, about 18 months of days, weeks and months.
    pub const fn longest_interval(self) -> u16 {
        match self {
            Self::Minute | Self::Hour => 1000,
            Self::Day => 548,
            Self::Week => 78,
            Self::Month => 18,
            Self::Year => 1,
        }
    }
}

impl fmt::Display for Frequency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A day of the week; weeks begin on Monday.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Weekday {
    /// The first day of the week.
    Monday,
    /// The second.
    Tuesday,
    /// The third.
    Wednesday,
    /// The fourth.
    Thursday,
    /// The fifth.
    Friday,
    /// The sixth.
    Saturday,
    /// The seventh.
    Sunday,
}

impl Weekday {
    /// All of them, from Monday.
    pub const ALL: [Self; 7] = [
        Self::Monday,
        Self::Tuesday,
        Self::Wednesday,
        Self::Thursday,
        Self::Friday,
        Self::Saturday,
        Self::Sunday,
    ];

    /// Reads the English name in any case.
    pub fn read(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|day| text.eq_ignore_ascii_case(day.name()))
    }

    /// The English name, capitalised.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Monday => "Monday",
            Self::Tuesday => "Tuesday",
            Self::Wednesday => "Wednesday",
            Self::Thursday => "Thursday",
            Self::Friday => "Friday",
            Self::Saturday => "Saturday",
            Self::Sunday => "Sunday",
        }
    }
}

impl fmt::Display for Weekday {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What a wall-clock time does that a clock change leaves out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Gap {
    /// It runs later by the length of the gap: 02:30 at 03:30.
    #[default]
    Shift,
    /// It does not run that day.
    Skip,
}

impl Gap {
    /// Reads `shift` or `skip` in any case.
    pub fn read(text: &str) -> Option<Self> {
        [Self::Shift, Self::Skip].into_iter().find(|gap| text.eq_ignore_ascii_case(gap.name()))
    }

    /// `shift` or `skip`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Shift => "shift",
            Self::Skip => "skip",
        }
    }
}

/// What a wall-clock time does that a clock change makes happen twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Fold {
    /// It runs the first time.
    #[default]
    First,
    /// It runs the last time.
    Last,
    /// It runs both times.
    Both,
}

impl Fold {
    /// Reads `first`, `last` or `both` in any case.
    pub fn read(text: &str) -> Option<Self> {
        [Self::First, Self::Last, Self::Both].into_iter().find(|fold| text.eq_ignore_ascii_case(fold.name()))
    }

    /// `first`, `last` or `both`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::First => "first",
            Self::Last => "last",
            Self::Both => "both",
        }
    }
}

/// What happens when clocks change. The default runs a daily job exactly once every day.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Dst {
    /// Clocks go forward.
    pub gap: Gap,
    /// Clocks go back.
    pub fold: Fold,
}
