//! Date-times as the API writes them.

use ::recurrence::Timestamp;

/// Nanoseconds in the last of the seven digits.
const TICK: i32 = 100;

/// UTC with `Z`, up to seven digits of a second, no trailing zeros, whole seconds without a fraction.
///
/// ```
/// let write = |text: &str| wire::date_time::write(text.parse().unwrap());
/// assert_eq!(write("2016-03-30T20:33:55.9050+02:00"), "2016-03-30T18:33:55.905Z");
/// assert_eq!(write("2016-03-30T18:33:55.123456789Z"), "2016-03-30T18:33:55.1234567Z");
/// assert_eq!(write("2016-03-30T18:33:00Z"), "2016-03-30T18:33:00Z");
/// ```
pub fn write(at: Timestamp) -> String {
    let nanos = at.subsec_nanosecond();
    Timestamp::new(at.as_second(), nanos - nanos % TICK).unwrap_or(at).to_string()
}
