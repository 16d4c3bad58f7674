//! Denials: what is noted of callers who ask for what they may not, so that nobody can fill the audit by asking.
//!
//! The first denial of a caller and an operation in a minute is noted as it is. Those that follow are counted, and noted
//! as one when the minute is over.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use access::{Act, Note};
use model::Timestamp;
use serde_json::json;

/// The most callers and operations that are told apart in a minute. The others are only logged.
const MOST: usize = 200;

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Denials(Mutex<Counted>);

#[derive(Debug, Default)]
struct Counted {
    minute: i64,
    /// By caller and operation: the last that was not noted, and how many were not.
    further: HashMap<(String, Act), Option<(Note, u64)>>,
    /// How many were left out altogether.
    left_out: u64,
}

impl Denials {
    fn counted(&self) -> MutexGuard<'_, Counted> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One more denial; what is to be noted now.
    pub(super) fn count(&self, note: Note) -> Vec<Note> {
        let mut counted = self.counted();
        let mut due = counted.turn(note.at);
        let key = (note.who.clone(), note.act);
        if let Some(further) = counted.further.get_mut(&key) {
            let count = further.take().map_or(0, |(_, count)| count);
            *further = Some((note, count + 1));
        } else if counted.further.len() < MOST {
            counted.further.insert(key, None);
            due.push(note);
        } else {
            counted.left_out += 1;
        }
        due
    }

    /// What is to be noted now because its minute is over.
    pub(super) fn over(&self, now: Timestamp) -> Vec<Note> {
        self.counted().turn(now)
    }

    /// What is to be noted because nobody counts any further.
    pub(super) fn end(&self) -> Vec<Note> {
        self.counted().take()
    }
}

impl Counted {
    /// Begins another minute, if it is another.
    fn turn(&mut self, now: Timestamp) -> Vec<Note> {
        let minute = now.as_second().div_euclid(60);
        if minute == self.minute {
            return Vec::new();
        }
        self.minute = minute;
        self.take()
    }

    fn take(&mut self) -> Vec<Note> {
        let left_out = std::mem::take(&mut self.left_out);
        if left_out > 0 {
            tracing::warn!(left_out, "more callers were denied something in a minute than are noted");
        }
        let further = std::mem::take(&mut self.further).into_values().flatten();
        further.map(|(note, count)| Note { detail: json!({"times": count}).to_string(), ..note }).collect()
    }
}

#[cfg(test)]
mod tests {
    use access::Verdict;

    use super::*;

    fn denied(who: &str, act: Act, second: i64) -> Note {
        Note {
            at: Timestamp::from_second(second).unwrap(),
            who: who.into(),
            name: who.into(),
            from: "127.0.0.1".into(),
            act,
            target: format!("/t/{second}"),
            verdict: Verdict::Denied,
            detail: String::new(),
        }
    }

    #[test]
    fn what_is_repeated_becomes_one_note() {
        let denials = Denials::default();
        let first = denied("token:1", Act::WriteJob, 60);
        assert_eq!(denials.count(first.clone()), [first]);
        for _ in 0..999_999 {
            assert_eq!(denials.count(denied("token:1", Act::WriteJob, 61)), []);
        }
        let (other, another) = (denied("token:2", Act::WriteJob, 62), denied("token:1", Act::RunJob, 62));
        assert_eq!(denials.count(other.clone()), [other]);
        assert_eq!(denials.count(another.clone()), [another]);
        let at = |second| Timestamp::from_second(second).unwrap();
        assert_eq!(denials.over(at(119)), []);
        let repeated = Note { detail: r#"{"times":999999}"#.into(), ..denied("token:1", Act::WriteJob, 61) };
        assert_eq!(denials.over(at(120)), [repeated]);
        assert_eq!(denials.over(at(180)), []);
        // Without anybody who looks, the next denial tells.
        let again = denied("token:1", Act::WriteJob, 181);
        assert_eq!(denials.count(again.clone()), [again]);
        denials.count(denied("token:1", Act::WriteJob, 182));
        let last = denied("token:1", Act::WriteJob, 300);
        let told = denials.count(last.clone());
        assert_eq!((told.len(), &told[1]), (2, &last));
        assert_eq!(told[0].detail, r#"{"times":1}"#);
        denials.count(denied("token:1", Act::WriteJob, 301));
        assert_eq!(denials.end().len(), 1);
    }

    #[test]
    fn many_callers_are_bounded() {
        let denials = Denials::default();
        let noted: usize =
            (0..10_000).map(|i| denials.count(denied(&format!("token:{i}"), Act::Read, 60)).len()).sum();
        assert_eq!(noted, MOST);
        assert_eq!(denials.count(denied("token:0", Act::Read, 120)).len(), 1);
    }
}
