//! What the real service was sent, and what it answered: read and written here, every answer comes out the same, but for
//! the differences that are listed.

mod common;

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::{env, fs};

use model::{
    Collection, CollectionPath, CollectionState, HistoryEntry, HistoryStatus, Job, Plans, Timestamp,
};
use serde_json::Value;
use wire::dialect::Dialect;
use wire::version::Version;

/// An answer that is knowingly another one here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Difference {
    /// The body is refused: client certificates are not read yet.
    ClientCertificate,
    /// `Occurrence` comes back as it was sent; the service answered `occurrence`.
    CapitalOccurrence,
    /// The service gave away `sasToken` and `sasKey` of error actions until December 2015.
    LeakedSecret,
}

/// How often each occurs in the recordings.
const EXPECTED: [(Difference, usize); 3] =
    [(Difference::ClientCertificate, 4), (Difference::CapitalOccurrence, 16), (Difference::LeakedSecret, 33)];

fn recordings() -> Option<Vec<PathBuf>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/recordings");
    let files = |folder: PathBuf| {
        let files = fs::read_dir(folder).ok()?.filter_map(|file| Some(file.ok()?.path()));
        Some(files.filter(|file| file.extension().is_some_and(|end| end == "json")).collect::<Vec<_>>())
    };
    let mut all = files(root.clone())?;
    all.extend(files(root.join("older"))?);
    let name = |file: &PathBuf| file.file_name().unwrap_or_default().to_string_lossy().into_owned();
    // The old API of another shape, and a table.
    all.retain(|file| !name(file).starts_with("rdfe") && !name(file).starts_with('_'));
    all.sort();
    Some(all)
}

#[derive(Default)]
struct Session {
    collections: HashMap<String, Collection>,
    jobs: HashMap<String, Job>,
    compared: usize,
    histories: usize,
    ignored: usize,
    differences: BTreeMap<Difference, usize>,
}

#[test]
fn answers_are_those_of_the_service() {
    let Some(files) = recordings() else {
        println!("skipped: the recordings are not here");
        return;
    };
    let (mut compared, mut histories, mut ignored) = (0, 0, 0);
    let mut differences = BTreeMap::new();
    for file in files {
        let text = fs::read_to_string(&file).expect("a recording");
        let recording: Value = serde_json::from_str(&text).expect("JSON");
        let mut session = Session::default();
        for call in recording["calls"].as_array().expect("calls") {
            session.call(call, &file);
        }
        compared += session.compared;
        histories += session.histories;
        ignored += session.ignored;
        for (difference, count) in session.differences {
            *differences.entry(difference).or_insert(0) += count;
        }
    }
    println!("{compared} answers compared, {histories} of them of histories; {differences:?}");
    assert!(compared - histories > 250 && histories > 50, "{compared} {histories}");
    assert_eq!(ignored, 12);
    assert_eq!(differences, EXPECTED.into_iter().collect());
}

impl Session {
    fn call(&mut self, call: &Value, file: &Path) {
        let url = call["path"].as_str().unwrap_or_default().split('?').next().unwrap_or_default();
        let segments: Vec<&str> = url.trim_matches('/').split('/').collect();
        let ["subscriptions", subscription, group_word, group, "providers", provider, collections, rest @ ..] =
            &segments[..]
        else {
            return;
        };
        let is = |text: &str, word: &str| text.eq_ignore_ascii_case(word);
        if !(is(group_word, "resourceGroups")
            && is(provider, "Microsoft.Scheduler")
            && is(collections, "jobCollections"))
        {
            return;
        }
        let owned = |text: &str| text.to_owned();
        let path = |name: &str| CollectionPath {
            subscription: owned(subscription),
            group: owned(group),
            name: owned(name),
        };
        let answer = &call["responseBody"];
        let version = call["path"].as_str().and_then(|path| path.split_once("api-version="));
        let version = version.and_then(|(_, version)| version.split('&').next()).and_then(Version::read);
        let dialect = Dialect { version: version.expect("a version"), ..Dialect::default() };
        let method = call["method"].as_str().unwrap_or_default();
        if let ("POST", [name, switch @ ("disable" | "enable")]) = (method, rest)
            && let Some(collection) = self.collections.get_mut(*name)
        {
            let off = *switch == "disable";
            collection.state = if off { CollectionState::Disabled } else { CollectionState::Enabled };
        }
        if call["status"].as_u64().is_none_or(|status| status >= 300) || !answer.is_object() {
            return;
        }
        let body = &call["requestBody"];
        let context = format!("{} {method} {url}", file.display());
        match (method, rest) {
            ("PUT" | "PATCH", [name]) => {
                let plans = Plans::default();
                let request = match self.collections.get(*name) {
                    Some(stored) if method == "PATCH" => wire::collection::patch(stored, body, &plans),
                    _ => wire::collection::read(body, None, &plans),
                };
                let request = request.unwrap_or_else(|faults| panic!("{context}: {faults}"));
                assert_eq!(request.ignored, [""; 0], "{context}");
                let collection = request.collection(path(name));
                self.compare(&wire::collection::write(&collection, dialect), answer, &context);
                self.collections.insert(owned(name), collection);
            }
            ("PUT" | "PATCH", [collection, "jobs", name]) => {
                let now = date(call);
                let request = match self.jobs.get(url) {
                    Some(job) if method == "PATCH" => {
                        wire::job::patch(&job.definition, job.state, body, now).map(|patched| patched.request)
                    }
                    _ => wire::job::read(body, now),
                };
                let authentication = body.pointer("/properties/action/request/authentication/type");
                if authentication.is_some_and(|kind| kind == "ClientCertificate") {
                    // The files were taken out of the recordings, so there is nothing to open.
                    let faults = request.expect_err("a text that is no file");
                    let fields: Vec<_> = faults.iter().map(|fault| fault.field.as_str()).collect();
                    assert_eq!(fields, ["properties.action.request.authentication.pfx"], "{context}");
                    self.differs(Difference::ClientCertificate);
                    return;
                }
                let request = request.unwrap_or_else(|faults| panic!("{context}: {faults}"));
                if !request.ignored.is_empty() {
                    // Early clients sent a member that the service did not know, and it ignored it too.
                    assert_eq!(
                        request.ignored,
                        ["properties.action.request.httpAuthentication"],
                        "{context}"
                    );
                    self.ignored += 1;
                }
                let job = common::job(name, &request);
                self.compare(&wire::job::write(&path(collection), &job, dialect), answer, &context);
                self.jobs.insert(url.to_owned(), job);
            }
            ("GET", [name]) => {
                if let Some(collection) = self.collections.get(*name) {
                    self.compare(&wire::collection::write(collection, dialect), answer, &context);
                }
            }
            ("GET", [collection, "jobs", _]) => {
                if let Some(job) = self.jobs.get(url) {
                    self.compare(&wire::job::write(&path(collection), job, dialect), answer, &context);
                }
            }
            ("GET", []) => {
                for entry in entries(answer) {
                    let name = entry["name"].as_str().unwrap_or_default();
                    if let Some(collection) = self.collections.get(name) {
                        self.compare(&wire::collection::write(collection, dialect), entry, &context);
                    }
                }
            }
            ("GET", [collection, "jobs"]) => {
                for entry in entries(answer) {
                    if let Some(job) = entry["id"].as_str().and_then(|id| self.jobs.get(id)) {
                        self.compare(&wire::job::write(&path(collection), job, dialect), entry, &context);
                    }
                }
            }
            ("GET", [collection, "jobs", job, "history"]) => {
                for recorded in entries(answer) {
                    let (serial, entry) = history_entry(recorded);
                    let written = wire::history::write(&path(collection), job, serial, &entry, dialect);
                    self.compare(&written, recorded, &context);
                    self.histories += 1;
                }
            }
            _ => {}
        }
    }

    fn differs(&mut self, difference: Difference) {
        *self.differences.entry(difference).or_insert(0) += 1;
    }

    /// Order and all. When a job is due next is the engine's matter and tested there; that it is said at all is not.
    #[track_caller]
    fn compare(&mut self, ours: &Value, recorded: &Value, context: &str) {
        let (mut ours, mut recorded) = (ours.clone(), recorded.clone());
        for answer in [&mut ours, &mut recorded] {
            if let Some(next) = answer.pointer_mut("/properties/status/nextExecutionTime") {
                *next = "a time".into();
            }
        }
        let mut known = ours.to_string();
        if known.contains("\"Occurrence\"") {
            self.differs(Difference::CapitalOccurrence);
            known = known.replace("\"Occurrence\"", "\"occurrence\"");
        }
        if remove_leaks(&mut recorded) {
            self.differs(Difference::LeakedSecret);
        }
        assert_eq!(known, recorded.to_string(), "{context}");
        self.compared += 1;
    }
}

fn entries(list: &Value) -> &[Value] {
    assert!(list["nextLink"].is_null());
    list["value"].as_array().expect("a list")
}

/// An entry as our store would have it.
fn history_entry(recorded: &Value) -> (i64, HistoryEntry) {
    let properties = &recorded["properties"];
    let text = |name: &str| properties[name].as_str().unwrap_or_default();
    let at = |name: &str| text(name).parse().expect("a timestamp");
    let number =
        |name: &str| u32::try_from(properties[name].as_u64().expect("a number")).expect("a small one");
    let counter = recorded["name"].as_str().and_then(|name| name.rsplit(':').next()).expect("a name");
    let entry = HistoryEntry {
        started_at: at("startTime"),
        ended_at: at("endTime"),
        expected_at: at("expectedExecutionTime"),
        depth: u8::from(text("actionName") == "ErrorAction"),
        status: HistoryStatus::ALL
            .into_iter()
            .find(|status| status.name() == text("status"))
            .unwrap_or(HistoryStatus::Completed),
        message: text("message").to_owned(),
        retry_count: number("retryCount"),
        repeat_count: number("repeatCount"),
    };
    (i64::MAX - counter.parse::<i64>().expect("a number"), entry)
}

/// Removes what the service should not have answered; whether there was any.
fn remove_leaks(answer: &mut Value) -> bool {
    match answer {
        Value::Object(members) => {
            let before = members.len();
            members.retain(|name, _| name != "sasToken" && name != "sasKey");
            let leaked = before != members.len();
            members.values_mut().fold(leaked, |leaked, member| remove_leaks(member) || leaked)
        }
        _ => false,
    }
}

/// `Wed, 30 Mar 2016 19:35:32 GMT`.
fn date(call: &Value) -> Timestamp {
    let text = call["date"].as_str().expect("a date");
    let [_, day, month, year, time, "GMT"] = text.split(' ').collect::<Vec<_>>()[..] else {
        panic!("{text}")
    };
    let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let month = months.iter().position(|name| *name == month).expect("a month") + 1;
    format!("{year}-{month:02}-{day}T{time}Z").parse().expect("a timestamp")
}
