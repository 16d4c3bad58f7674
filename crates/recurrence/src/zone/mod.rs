//! Zones: which offset the clocks of a place show at an instant, and when it changes.
//!
//! The data comes with the binary. A zone's changes are laid out once, as a table of [`Regime`]s, so that asking for
//! an offset is one binary search and a rule can step from change to change without asking day by day.

mod windows;

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use jiff::tz::{TimeZone, TimeZoneDatabase};

use crate::civil::{CYCLE_DAYS, DAY, day_of};
use crate::{Timestamp, date_time};

/// What may stand where a zone is named, for fault messages.
pub(crate) const ZONE_NAMES: &str =
    "an IANA name such as Europe/Paris or a Windows name such as Romance Standard Time";

/// From here on a zone only repeats: rules of the kind "the last Sunday of March" have a cycle of 400 years.
/// The data lists single changes until 2087 at most (Morocco, whose changes follow the moon).
const REPEATS_FROM: i64 = day_of(2100, 1, 1) * DAY;
const CYCLE: i64 = CYCLE_DAYS * DAY;
const REPEATS_UNTIL: i64 = REPEATS_FROM + CYCLE;

/// A time zone, by name. Cheap to clone; equal when the names are.
#[derive(Clone)]
pub struct Zone(Arc<Clocks>);

struct Clocks {
    name: String,
    /// Each offset with the instant from which it holds; the first holds from the beginning of time.
    changes: Vec<Change>,
}

#[derive(Clone, Copy)]
struct Change {
    at: i64,
    offset: i64,
}

/// A span of time in which the clocks of a zone do not change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Regime {
    /// Its first second; `i64::MIN` when it has always held.
    pub(crate) start: i64,
    /// The second after its last; `i64::MAX` when it holds for ever.
    pub(crate) end: i64,
    /// Seconds east of UTC: before it, in it, after it.
    pub(crate) before: i64,
    pub(crate) offset: i64,
    pub(crate) after: i64,
}

/// Laying out a zone's changes takes a moment, and a million jobs use a handful of zones.
static KNOWN: LazyLock<Mutex<HashMap<String, Zone>>> = LazyLock::new(Mutex::default);

impl Zone {
    /// Coordinated Universal Time.
    pub fn utc() -> Self {
        static UTC: LazyLock<Zone> = LazyLock::new(|| Zone::of("UTC", &TimeZone::UTC));
        UTC.clone()
    }

    /// The zone with an IANA or a Windows name, in any case.
    pub fn named(name: &str) -> Option<Self> {
        let lower = name.to_ascii_lowercase();
        let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(zone) = known.get(&lower) {
            return Some(zone.clone());
        }
        let zone = match windows_zone(&lower) {
            Some((windows, iana)) => Self::of(windows, &bundled(iana)?),
            None => {
                let zone = bundled(name)?;
                Self::of(zone.iana_name()?, &zone)
            }
        };
        known.insert(lower, zone.clone());
        Some(zone)
    }

    fn of(name: &str, zone: &TimeZone) -> Self {
        let first = Change { at: i64::MIN, offset: offset(zone.to_offset(Timestamp::MIN)) };
        let mut changes = vec![first];
        for transition in zone.following(Timestamp::MIN) {
            let change =
                Change { at: transition.timestamp().as_second(), offset: offset(transition.offset()) };
            if changes.last().is_some_and(|last| last.offset != change.offset) {
                changes.push(change);
            }
            // One change beyond the cycle, so that its last regime has an end.
            if change.at > REPEATS_UNTIL {
                break;
            }
        }
        Self(Arc::new(Clocks { name: name.to_owned(), changes }))
    }

    /// The name it was asked for by, in its usual spelling.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// Seconds east of UTC at an instant.
    pub fn offset_at(&self, at: Timestamp) -> i64 {
        self.regime(date_time::split(at).0).offset
    }

    /// The first instant after `at` at which the clocks change, with the seconds they move forward (or back, below 0).
    pub fn next_change(&self, at: Timestamp) -> Option<(Timestamp, i64)> {
        let regime = self.regime(date_time::split(at).0);
        let change = Timestamp::from_second(regime.end).ok()?;
        Some((change, regime.after - regime.offset))
    }

    /// From this second on the zone shows nothing that it has not shown since an earlier one.
    pub(crate) fn repeats_after(&self, second: i64) -> i64 {
        second.max(REPEATS_FROM) + CYCLE
    }

    /// The regime that holds at a second.
    pub(crate) fn regime(&self, second: i64) -> Regime {
        let changes = &self.0.changes;
        let cycles = if second < REPEATS_UNTIL { 0 } else { (second - REPEATS_FROM) / CYCLE };
        let shift = cycles * CYCLE;
        let next = changes.partition_point(|change| change.at <= second - shift);
        let this = changes[next - 1];
        let move_by_shift = |at: i64| if at == i64::MIN { at } else { at + shift };
        Regime {
            start: move_by_shift(this.at),
            end: changes.get(next).map_or(i64::MAX, |change| change.at + shift),
            before: if next > 1 { changes[next - 2].offset } else { this.offset },
            offset: this.offset,
            after: changes.get(next).map_or(this.offset, |change| change.offset),
        }
    }
}

fn offset(offset: jiff::tz::Offset) -> i64 {
    i64::from(offset.seconds())
}

fn bundled(name: &str) -> Option<TimeZone> {
    static BUNDLED: LazyLock<TimeZoneDatabase> = LazyLock::new(TimeZoneDatabase::bundled);
    BUNDLED.get(name).ok()
}

fn windows_zone(lower: &str) -> Option<(&'static str, &'static str)> {
    let table = windows::WINDOWS_ZONES;
    let found =
        table.binary_search_by(|(name, _)| name.bytes().map(|b| b.to_ascii_lowercase()).cmp(lower.bytes()));
    found.ok().map(|i| table[i])
}

impl PartialEq for Zone {
    fn eq(&self, other: &Self) -> bool {
        self.0.name == other.0.name
    }
}

impl Eq for Zone {}

impl fmt::Debug for Zone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Zone({})", self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all() -> impl Iterator<Item = Zone> {
        TimeZoneDatabase::bundled()
            .available()
            .map(|name| Zone::named(name.as_str()).expect("an available zone"))
            .collect::<Vec<_>>()
            .into_iter()
    }

    #[test]
    fn names_of_both_kinds_in_any_case() {
        for (asked, name) in [
            ("europe/paris", "Europe/Paris"),
            ("Romance Standard Time", "Romance Standard Time"),
            ("romance standard time", "Romance Standard Time"),
            ("utc", "UTC"),
        ] {
            assert_eq!(Zone::named(asked).expect(asked).name(), name);
        }
        for unknown in ["", "Europe/Atlantis", "CEST", "+01:00", "Europe/Paris ", "Romance Daylight Time"] {
            assert_eq!(Zone::named(unknown), None, "{unknown}");
        }
    }

    #[test]
    fn every_windows_name_leads_to_bundled_data() {
        for (windows, iana) in windows::WINDOWS_ZONES {
            let (a, b) = (Zone::named(windows).expect(windows), Zone::named(iana).expect(iana));
            let noon = Timestamp::from_second(1_800_000_000).expect("in range");
            assert_eq!(a.offset_at(noon), b.offset_at(noon), "{windows}");
        }
        assert!(windows::WINDOWS_ZONES.len() > 130);
    }

    #[test]
    fn the_table_says_what_the_data_says_until_9999() {
        for zone in all() {
            let Some(data) = bundled(zone.name()) else { panic!("{zone:?}") };
            // A prime number of seconds, so that all times of day and of year are met.
            for second in (-4_000_000_000..253_000_000_000_i64).step_by(83_000_003) {
                let at = Timestamp::from_second(second).expect("in range");
                assert_eq!(zone.offset_at(at), offset(data.to_offset(at)), "{zone:?} at {at}");
            }
        }
    }

    /// The plans take for granted that what one change moves has settled before the next.
    #[test]
    fn changes_lie_further_apart_than_they_move_the_clocks() {
        for zone in all() {
            let mut regime = zone.regime(-10_000_000_000);
            while regime.end < REPEATS_UNTIL {
                let next = zone.regime(regime.end);
                let moved = (regime.offset - regime.before).abs().max((next.offset - regime.offset).abs());
                if regime.start != i64::MIN {
                    assert!(regime.end - regime.start > moved, "{zone:?} {regime:?}");
                }
                assert_eq!((next.start, next.before, regime.after), (regime.end, regime.offset, next.offset));
                regime = next;
            }
        }
    }
}
