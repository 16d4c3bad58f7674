//! Histories, written.

use model::{CollectionPath, HistoryEntry, HistoryStatus, Timestamp};
use serde_json::{Map, Value, json};

use crate::dialect::Dialect;
use crate::{date_time, path};

/// The last tick of the year 9999, counted from the year 1 in units of 100 ns.
const LAST_TICK: i128 = 3_155_378_975_999_999_999;
/// The tick of 1970-01-01.
const EPOCH_TICK: i128 = 621_355_968_000_000_000;
/// Nanoseconds in a tick.
const TICK: i128 = 100;

/// An entry of a job's history. `serial` is a number that belongs to the entry alone.
///
/// `status` is left out where the attempt completed, as the service left out the first value of that enum; clients take
/// a missing one for completed (Scenario_JobHistoryList, and that of 2015-11-13 for `failed`).
pub fn write(
    collection: &CollectionPath,
    job: &str,
    serial: i64,
    entry: &HistoryEntry,
    dialect: Dialect,
) -> Value {
    let name = name(entry.started_at, serial);
    let mut properties = Map::new();
    let mut put = |name: &str, value: Value| properties.insert(name.to_owned(), value);
    put("startTime", date_time::write(entry.started_at).into());
    put("endTime", date_time::write(entry.ended_at).into());
    put("expectedExecutionTime", date_time::write(entry.expected_at).into());
    if entry.status != HistoryStatus::Completed {
        put("status", dialect.enum_case.spell(entry.status.name()).into());
    }
    put("message", entry.message.as_str().into());
    put("retryCount", entry.retry_count.into());
    put("repeatCount", entry.repeat_count.into());
    put("actionName", if entry.depth == 0 { "MainAction" } else { "ErrorAction" }.into());
    json!({
        "id": format!("{}/history/{name}", path::job_id(collection, job)),
        "type": path::HISTORY_TYPE,
        "name": format!("{}/{job}/{name}", collection.name),
        "properties": properties,
    })
}

/// Two numbers of 20 digits that both count down, so that entries sorted by name are newest first.
///
/// The first is made from the start, the second from a counter (verified on every entry of Scenario_JobHistoryList).
/// In 2016 the counter ran on with every entry served, so that an entry had another name in every list; here it is the
/// entry's own, as it was in 2015.
fn name(started_at: Timestamp, serial: i64) -> String {
    let ticks = EPOCH_TICK + started_at.as_nanosecond().div_euclid(TICK);
    format!("{:020}:{:020}", LAST_TICK - ticks, i128::from(i64::MAX) - i128::from(serial))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_as_recorded() {
        // Scenario_JobHistoryList, its first entry.
        let started_at = "2016-03-30T20:39:53.8021951Z".parse().expect("a timestamp");
        assert_eq!(name(started_at, 194_994), "02519429304061978048:09223372036854580813");
        assert_eq!(name(started_at, i64::MAX), "02519429304061978048:00000000000000000000");
    }

    #[test]
    fn entries() {
        let path = CollectionPath { subscription: "s".into(), group: "g".into(), name: "c".into() };
        let at = |text: &str| text.parse().expect("a timestamp");
        let mut entry = HistoryEntry {
            started_at: at("2027-01-01T00:00:01.5Z"),
            ended_at: at("2027-01-01T00:00:02Z"),
            expected_at: at("2027-01-01T00:00:00Z"),
            depth: 0,
            status: HistoryStatus::Completed,
            message: "m".into(),
            retry_count: 1,
            repeat_count: 2,
        };
        let times = r#""startTime":"2027-01-01T00:00:01.5Z","endTime":"2027-01-01T00:00:02Z","expectedExecutionTime":"2027-01-01T00:00:00Z""#;
        let rest = r#""message":"m","retryCount":1,"repeatCount":2"#;
        let properties =
            |entry: &HistoryEntry| write(&path, "j", 7, entry, Dialect::default())["properties"].to_string();
        assert_eq!(properties(&entry), format!(r#"{{{times},{rest},"actionName":"MainAction"}}"#));
        (entry.status, entry.depth) = (HistoryStatus::Failed, 2);
        assert_eq!(
            properties(&entry),
            format!(r#"{{{times},"status":"failed",{rest},"actionName":"ErrorAction"}}"#)
        );
        entry.status = HistoryStatus::Postponed;
        assert!(properties(&entry).contains(r#""status":"postponed""#));

        let written = write(&path, "j", 7, &entry, Dialect::default());
        let name = name(entry.started_at, 7);
        assert_eq!(written["name"], format!("c/j/{name}"));
        assert_eq!(written["type"], "Microsoft.Scheduler/jobCollections/jobs/history");
        assert_eq!(written["id"], format!("{}/history/{name}", path::job_id(&path, "j")));
    }
}
