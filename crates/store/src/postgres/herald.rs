//! The herald: tells other nodes that something is due, after it is committed.
//!
//! A transaction that says `NOTIFY` by itself lets all others of the database that do so wait until it is on the disk:
//! PostgreSQL keeps their order with one lock for all. So nobody does. What was committed is noted here, and the pulse says it
//! on its own connection, once for all that has gathered. What is lost with a node the others find by looking.

use std::sync::{Mutex, PoisonError};

use jiff::Timestamp;
use tokio::sync::Notify;

use crate::codec::{instant, ticks};

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Herald {
    /// What is to be said: the soonest instant. [`Timestamp::MIN`] where others have to look in any case.
    word: Mutex<Option<Timestamp>>,
    gathered: Notify,
}

impl Herald {
    /// Something is due then; `None`: others have to look in any case.
    pub(super) fn tell(&self, at: Option<Timestamp>) {
        let at = at.unwrap_or(Timestamp::MIN);
        let mut word = self.word.lock().unwrap_or_else(PoisonError::into_inner);
        *word = Some(word.map_or(at, |word| word.min(at)));
        self.gathered.notify_one();
    }

    /// Waits until there is something to say.
    pub(super) async fn wait(&self) {
        self.gathered.notified().await;
    }

    /// What there is to say, in the name of an epoch.
    pub(super) fn words(&self, epoch: i64) -> Option<String> {
        let at = self.word.lock().unwrap_or_else(PoisonError::into_inner).take()?;
        Some(if at == Timestamp::MIN { format!("due {epoch}") } else { format!("due {epoch} {}", ticks(at)) })
    }
}

/// Who says that something is due, and when. Nodes of earlier versions do not say when.
pub(super) fn heard(word: &str) -> Option<(&str, Option<Timestamp>)> {
    let said = word.strip_prefix("due ")?;
    Some(match said.split_once(' ') {
        Some((teller, at)) => (teller, at.parse().ok().map(instant)),
        None => (said, None),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_soonest_is_said_once() {
        let at = |second: i64| Timestamp::from_second(second).expect("an instant");
        let herald = Herald::default();
        assert_eq!(herald.words(7), None);
        herald.tell(Some(at(20)));
        herald.tell(Some(at(10)));
        herald.tell(Some(at(30)));
        let said = herald.words(7).expect("something");
        assert_eq!(heard(&said), Some(("7", Some(at(10)))));
        assert_eq!(herald.words(7), None, "once");
        herald.tell(None);
        herald.tell(Some(at(10)));
        assert_eq!(herald.words(7).as_deref(), Some("due 7"));
        assert_eq!(heard("due 7"), Some(("7", None)));
        assert_eq!(heard("revoked 7"), None);
    }
}
