//! A rule as somebody asked for it: plain values, nothing checked.
//!
//! Whoever reads JSON, a form or a command line fills a [`Draft`] and hands it to [`Rule::build`](crate::Rule::build),
//! which finds every fault in it. Names, numbers and date-times stay as they were written, so that a fault
//! can show what was given. With the feature `serde` a draft can be stored and read back; that form is ours alone.

/// When a job shall run, as asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default))]
pub struct Draft {
    /// ISO 8601; missing means the moment the job is accepted.
    pub start_time: Option<String>,
    /// Missing means once.
    pub recurrence: Option<RecurrenceDraft>,
}

/// How a job shall repeat, as asked for: by `frequency` or by `cron`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default))]
pub struct RecurrenceDraft {
    /// `minute`, `hour`, `day`, `week`, `month`, `year` and their other spellings.
    pub frequency: Option<String>,
    /// Every how many periods; missing means 1.
    pub interval: Option<i64>,
    /// After how many occurrences the job is complete.
    pub count: Option<i64>,
    /// ISO 8601; the last instant at which the job may run.
    pub end_time: Option<String>,
    /// Which instants of a period.
    pub schedule: Option<ScheduleDraft>,
    /// Five fields, instead of `frequency`, `interval` and `schedule`.
    pub cron: Option<String>,
    /// An IANA or a Windows name; missing means UTC.
    pub time_zone: Option<String>,
    /// What happens when clocks change.
    pub dst: Option<DstDraft>,
}

/// The elements of a schedule, as asked for. `Some(vec![])` is an empty list, which is a fault.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default))]
pub struct ScheduleDraft {
    /// 0 to 59.
    pub minutes: Option<Vec<i64>>,
    /// 0 to 23.
    pub hours: Option<Vec<i64>>,
    /// English names of days.
    pub week_days: Option<Vec<String>>,
    /// 1 to 31, or −1 (the last day) to −31.
    pub month_days: Option<Vec<i64>>,
    /// Weekdays counted within the month.
    pub monthly_occurrences: Option<Vec<MonthlyOccurrenceDraft>>,
    /// 1 to 12.
    pub months: Option<Vec<i64>>,
}

/// A weekday counted within a month, as asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default))]
pub struct MonthlyOccurrenceDraft {
    /// The English name of the day.
    pub day: Option<String>,
    /// 1 to 5 from the start of the month, −1 to −5 from its end; missing means every such day.
    pub occurrence: Option<i64>,
}

/// What happens when clocks change, as asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default))]
pub struct DstDraft {
    /// `shift` (missing means this) or `skip`.
    pub gap: Option<String>,
    /// `first` (missing means this), `last` or `both`.
    pub fold: Option<String>,
}
