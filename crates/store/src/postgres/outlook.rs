//! The outlook: what the claimer knows already, so that it is not woken for nothing.
//!
//! A claim tells what is due next, and whoever claims looks again before that. A job that is due later changes nothing, so
//! the bell stays silent: many jobs that are written at a time would otherwise bring as many claims. In doubt it rings.

use std::sync::{Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Outlook(Mutex<View>);

#[derive(Debug, Default)]
struct View {
    /// How many claims look at this moment. What is committed meanwhile they may have missed.
    looking: u32,
    /// What is due next, of what lies beyond the reach of the last claim.
    next_at: Option<Timestamp>,
}

/// A claim that looks. Unless it says what it has seen, nothing is known.
pub(super) struct Look<'o> {
    outlook: &'o Outlook,
    seen: Option<Timestamp>,
}

impl Outlook {
    fn view(&self) -> MutexGuard<'_, View> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A claim begins.
    pub(super) fn look(&self) -> Look<'_> {
        self.view().looking += 1;
        Look { outlook: self, seen: None }
    }

    /// Whether the claimer has to know of something that is due then.
    pub(super) fn is_news(&self, at: Timestamp) -> bool {
        let view = self.view();
        view.looking > 0 || view.next_at.is_none_or(|next_at| at < next_at)
    }
}

impl Look<'_> {
    /// It has claimed what is due until an instant, and seen what is due next.
    pub(super) fn saw(mut self, until: Timestamp, next_at: Option<Timestamp>) {
        // What is near and was not claimed is waited for to the instant: then anything may be in time before it.
        self.seen = next_at.filter(|next_at| *next_at > until);
    }
}

impl Drop for Look<'_> {
    fn drop(&mut self) {
        let mut view = self.outlook.view();
        view.looking -= 1;
        view.next_at = self.seen;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_changes_the_next_look_is_news() {
        let at = |second: i64| Timestamp::from_second(second).expect("an instant");
        let outlook = Outlook::default();
        assert!(outlook.is_news(at(1000)), "nobody has looked");
        let look = outlook.look();
        assert!(outlook.is_news(at(1000)), "somebody looks, perhaps too early");
        look.saw(at(2), Some(at(500)));
        assert!(!outlook.is_news(at(500)) && !outlook.is_news(at(1000)));
        assert!(outlook.is_news(at(499)));
        outlook.look().saw(at(2), Some(at(2)));
        assert!(outlook.is_news(at(1000)), "what is near may not be what it waits for");
        outlook.look().saw(at(2), None);
        assert!(outlook.is_news(at(1000)), "nothing was due");
        outlook.look().saw(at(2), Some(at(500)));
        drop(outlook.look());
        assert!(outlook.is_news(at(1000)), "a claim failed");
    }
}
