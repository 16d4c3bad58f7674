//! Every `nextExecutionTime` that the real service computed on a PUT or PATCH, as recorded from it.
//!
//! `now` is the second of the response's Date header. The clock behind it differs by up to a second and a
//! half from the one that computed, which no row of a repeating job is near enough to notice. One-time jobs
//! without a future start ran 20 seconds after the request there; here they run at once, so those rows are
//! checked against `now`.

use std::fs;
use std::path::Path;

use asked::{at, draft_of, first_occurrences};
use serde_json::{Value, json};

mod asked;
mod reference;

#[test]
fn the_first_occurrence_is_the_recorded_one() {
    let file =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/recordings/_next-execution-table.json");
    let Ok(text) = fs::read_to_string(&file) else {
        println!("skipped: the recordings are not there ({})", file.display());
        return;
    };
    let table: Value = serde_json::from_str(&text).unwrap();
    let rows = table["rows"].as_array().unwrap();
    // Should the table ever be cut, this test must not test less in silence.
    assert_eq!(rows.len(), 127);

    let mut at_once = 0;
    for row in rows {
        let now = at(row["now"].as_str().unwrap());
        let draft = draft_of(&json!({"startTime": row["startTime"], "recurrence": row["recurrence"]}));
        let start_is_ahead = draft.start_time.as_ref().is_some_and(|start| at(start) >= now);
        let expected = if draft.recurrence.is_none() && !start_is_ahead {
            at_once += 1;
            now
        } else {
            at(row["nextExecutionTime"].as_str().unwrap())
        };
        assert_eq!(first_occurrences(&draft, now, 1), [expected], "{row:#}");
        assert_eq!(reference::occurrences(&draft, now, 1).found, [expected], "the reference: {row:#}");
    }
    assert_eq!(at_once, 21, "one-time jobs that ran at once");
}
