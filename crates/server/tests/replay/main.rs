//! Every recorded call, sent to the real router on the real store, at the time it was recorded.
//!
//! A recording is a session of a client with the real service. Its calls are repeated in order, each at its `Date`, on
//! a store that holds nothing but what the session took for granted (`prepare`). Status and body must be those that
//! the service gave, order of members and all, but for the differences that are listed and counted (`differences`).
//!
//! The recordings lie beside the clone and not in it; where they are absent, there is nothing to do. Those called `rdfe…`
//! are of another API, which is not served.

mod differences;
mod prepare;
#[path = "../api/world.rs"]
mod world;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::{env, fs};

use model::Timestamp;
use serde_json::Value;
use world::{Reply, World};

use differences::Difference;

/// A recorded call.
struct Call {
    method: String,
    path: String,
    body: Option<Value>,
    date: Timestamp,
    status: u16,
    answer: Value,
    /// Where a list was cut in the recording: how long it was.
    entries: Option<usize>,
}

impl Call {
    fn read(call: &Value) -> Self {
        let text = |name: &str| call[name].as_str().unwrap_or_default().to_owned();
        Self {
            method: text("method"),
            path: text("path"),
            body: Some(call["requestBody"].clone()).filter(|body| !body.is_null()),
            date: date(&text("date")),
            status: u16::try_from(call["status"].as_u64().expect("a status")).expect("a small number"),
            answer: call["responseBody"].clone(),
            entries: call["entriesInRecording"].as_u64().and_then(|entries| usize::try_from(entries).ok()),
        }
    }

    /// The path without its query, in lower case: what resources are told apart by.
    fn resource(&self) -> String {
        self.path.split('?').next().unwrap_or_default().to_lowercase()
    }

    fn is_of_history(&self) -> bool {
        self.resource().ends_with("/history")
    }
}

/// `Wed, 30 Mar 2016 19:35:32 GMT`.
fn date(text: &str) -> Timestamp {
    let [_, day, month, year, time, "GMT"] = text.split(' ').collect::<Vec<_>>()[..] else {
        panic!("{text} is no date")
    };
    let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let month = months.iter().position(|name| *name == month).expect("a month") + 1;
    format!("{year}-{month:02}-{day}T{time}Z").parse().expect("a timestamp")
}

fn recordings() -> Option<Vec<PathBuf>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/recordings");
    let files = |folder: PathBuf| {
        let files = fs::read_dir(folder).ok()?.filter_map(|file| Some(file.ok()?.path()));
        Some(files.filter(|file| file.extension().is_some_and(|end| end == "json")).collect::<Vec<_>>())
    };
    let mut all = files(root.clone())?;
    all.extend(files(root.join("older"))?);
    let name = |file: &PathBuf| file.file_name().unwrap_or_default().to_string_lossy().into_owned();
    // Another API, and a table.
    all.retain(|file| !name(file).starts_with("rdfe") && !name(file).starts_with('_'));
    all.sort();
    Some(all)
}

/// What was replayed.
#[derive(Debug, Default)]
struct Tally {
    recordings: usize,
    calls: usize,
    by_version: BTreeMap<String, usize>,
    differences: BTreeMap<Difference, usize>,
    wrong: Vec<String>,
}

/// All of them; a call that is not replayed is missed here.
const RECORDINGS: usize = 152;
const CALLS: usize = 745;
const BY_VERSION: [(&str, usize); 4] =
    [("2014-08-01-preview", 436), ("2016-01-01", 82), ("2016-02-01", 1), ("2016-03-01", 226)];

#[tokio::test]
async fn recorded_calls_are_answered_as_they_were() {
    let Some(files) = recordings() else {
        println!("skipped: the recordings are not here");
        return;
    };
    let mut tally = Tally::default();
    for file in &files {
        replay(file, &mut tally).await;
    }
    println!("{} calls of {} recordings; {:?}", tally.calls, tally.recordings, tally.differences);
    assert!(tally.wrong.is_empty(), "{} calls:\n{}", tally.wrong.len(), tally.wrong.join("\n\n"));
    assert_eq!((tally.recordings, tally.calls), (RECORDINGS, CALLS));
    let by_version = BY_VERSION.map(|(version, count)| (version.to_owned(), count));
    assert_eq!(tally.by_version, by_version.into_iter().collect());
    assert_eq!(tally.differences, differences::EXPECTED.into_iter().collect());
}

async fn replay(file: &Path, tally: &mut Tally) {
    let text = fs::read_to_string(file).expect("a recording");
    let recording: Value = serde_json::from_str(&text).expect("JSON");
    let calls: Vec<Call> = recording["calls"].as_array().expect("calls").iter().map(Call::read).collect();
    let world = World::new();
    prepare::prepare(&world, &calls).await;
    tally.recordings += 1;
    let mut refused = BTreeSet::new();
    for call in &calls {
        world.clock.set(call.date);
        let reply = world.call(&call.method, &call.path, call.body.as_ref()).await;
        tally.calls += 1;
        let version = call.path.split("api-version=").nth(1).and_then(|rest| rest.split('&').next());
        *tally.by_version.entry(version.unwrap_or("none").to_owned()).or_default() += 1;
        match compare(call, &reply, &mut refused) {
            Ok(found) => {
                for difference in found {
                    *tally.differences.entry(difference).or_default() += 1;
                }
            }
            Err(wrong) => {
                let name = file.file_name().unwrap_or_default().to_string_lossy();
                tally.wrong.push(format!("{name}: {} {}\n{wrong}", call.method, call.path));
            }
        }
    }
}

/// The differences between two answers, or what is wrong with ours. `refused` are the jobs that were not made.
fn compare(
    call: &Call,
    reply: &Reply,
    refused: &mut BTreeSet<String>,
) -> Result<BTreeSet<Difference>, String> {
    if differences::is_refused(call, reply, refused) {
        return Ok([Difference::ClientCertificate].into());
    }
    let made_later = (call.status, reply.status) == (200, 201) && refused.remove(&call.resource());
    if reply.status != call.status && !made_later {
        return Err(format!("{} instead of {}: {}", reply.status, call.status, reply.text));
    }
    let (mut ours, mut recorded) = (reply.body.clone(), call.answer.clone());
    let mut found = differences::reconcile(&mut ours, &mut recorded);
    if made_later {
        found.insert(Difference::MadeLater);
    }
    if let Some(entries) = call.entries {
        let listed = ours["value"].as_array_mut().ok_or("no list")?;
        if listed.len() != entries {
            return Err(format!("{} entries instead of {entries}", listed.len()));
        }
        let shown = recorded["value"].as_array().map_or(0, Vec::len);
        if shown < entries {
            listed.truncate(shown);
            found.insert(Difference::CutInTheRecording);
        }
    }
    // As texts: the order of members counts.
    let (ours, recorded) = (ours.to_string(), recorded.to_string());
    // The recorder wrote an answer without a body as an empty text.
    let is_same = if recorded == "\"\"" { reply.text.is_empty() } else { ours == recorded };
    if is_same { Ok(found) } else { Err(format!("ours     {ours}\nrecorded {recorded}")) }
}
