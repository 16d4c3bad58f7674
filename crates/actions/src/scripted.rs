//! A runner for tests: outcomes and delays by script, and a record of what was ordered.
//!
//! Delays are waited for on tokio's clock, so under paused time they cost nothing.
//!
//! ```
//! use actions::scripted::{Scripted, Step};
//! use std::time::Duration;
//!
//! // Every job fails at its first attempt and succeeds later, slowly.
//! let runner = Scripted::new(|order, nth| match nth {
//!     0 => Step::failure(format!("{} is not ready", order.job)),
//!     _ => Step::success().after(Duration::from_secs(3)),
//! });
//! assert!(runner.seen().is_empty());
//! ```

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use model::{Outcome, Timestamp, Uuid, action::Call};
use tokio::{sync::Notify, time::Instant};

use crate::{Order, Runner};

/// What one attempt shall come to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// How long it takes; `None` for ever.
    pub delay: Option<Duration>,
    /// How it ends.
    pub outcome: Outcome,
}

impl Step {
    /// Success, at once.
    pub fn success() -> Self {
        Self {
            delay: Some(Duration::ZERO),
            outcome: Outcome { success: true, message: "scripted".to_owned() },
        }
    }

    /// Failure, at once.
    pub fn failure(message: impl Into<String>) -> Self {
        Self { delay: Some(Duration::ZERO), outcome: Outcome { success: false, message: message.into() } }
    }

    /// An attempt that does not end until somebody gives it up.
    pub fn never() -> Self {
        Self { delay: None, ..Self::success() }
    }

    /// The same, after a delay.
    #[must_use]
    pub fn after(self, delay: Duration) -> Self {
        Self { delay: Some(delay), ..self }
    }
}

/// An order that was given.
#[derive(Debug, Clone)]
pub struct Seen {
    /// When, on tokio's clock.
    pub started: Instant,
    /// What was to be called.
    pub call: Call,
    /// The job collection.
    pub collection: String,
    /// The job.
    pub job: String,
    /// Where the collection lives.
    pub location: String,
    /// When the occurrence was due.
    pub expected_at: Timestamp,
    /// The tag of the occurrence.
    pub tag: Uuid,
    /// The id of the attempt.
    pub request_id: Uuid,
}

type Script = dyn Fn(&Order<'_>, usize) -> Step + Send + Sync;

/// The runner.
pub struct Scripted {
    script: Box<Script>,
    state: Mutex<State>,
    news: Notify,
}

#[derive(Default)]
struct State {
    seen: Vec<Seen>,
    /// Orders so far, by collection and job.
    orders: HashMap<(String, String), usize>,
    running: usize,
    most_running: usize,
}

impl Scripted {
    /// A runner that asks `script` about every order; the number says how many the same job had before.
    pub fn new(script: impl Fn(&Order<'_>, usize) -> Step + Send + Sync + 'static) -> Self {
        Self { script: Box::new(script), state: Mutex::default(), news: Notify::new() }
    }

    /// A runner that always succeeds, at once.
    pub fn succeeding() -> Self {
        Self::new(|_, _| Step::success())
    }

    /// All orders, in the order in which they came.
    pub fn seen(&self) -> Vec<Seen> {
        self.state().seen.clone()
    }

    /// Waits until there were so many orders, and returns them.
    pub async fn seen_at_least(&self, count: usize) -> Vec<Seen> {
        loop {
            // Listen first, look then: an order in between is not missed.
            let news = self.news.notified();
            let seen = self.seen();
            if seen.len() >= count {
                return seen;
            }
            news.await;
        }
    }

    /// How many attempts are under way.
    pub fn running(&self) -> usize {
        self.state().running
    }

    /// How many attempts were under way at once at the most.
    pub fn most_running(&self) -> usize {
        self.state().most_running
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records an order, and says how many the job had before.
    fn record(&self, order: &Order<'_>) -> usize {
        let mut state = self.state();
        state.seen.push(Seen {
            started: Instant::now(),
            call: order.call.clone(),
            collection: order.collection.to_owned(),
            job: order.job.to_owned(),
            location: order.location.to_owned(),
            expected_at: order.expected_at,
            tag: order.tag,
            request_id: order.request_id,
        });
        state.running += 1;
        state.most_running = state.most_running.max(state.running);
        let orders = state.orders.entry((order.collection.to_owned(), order.job.to_owned())).or_default();
        *orders += 1;
        *orders - 1
    }
}

/// An attempt under way; it also ends by being given up.
struct Running<'a>(&'a Scripted);

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.0.state().running -= 1;
    }
}

#[async_trait]
impl Runner for Scripted {
    async fn run(&self, order: Order<'_>) -> Outcome {
        let nth = self.record(&order);
        let _running = Running(self);
        self.news.notify_waiters();
        let step = (self.script)(&order, nth);
        match step.delay {
            Some(Duration::ZERO) => {}
            Some(delay) => tokio::time::sleep(delay).await,
            None => std::future::pending().await,
        }
        step.outcome
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use model::action::HttpRequest;

    use super::*;

    fn call() -> Call {
        let request = HttpRequest {
            uri: "http://example.com/".into(),
            method: "GET".into(),
            headers: None,
            body: None,
            authentication: None,
        };
        Call::Http { https: false, request }
    }

    async fn run(runner: &Scripted, job: &str) -> Outcome {
        let order = Order {
            call: &call(),
            collection: "c",
            job,
            location: "West US",
            expected_at: Timestamp::UNIX_EPOCH,
            tag: Uuid::nil(),
            request_id: Uuid::nil(),
            trace: None,
        };
        runner.run(order).await
    }

    #[tokio::test(start_paused = true)]
    async fn the_script_decides_by_job_and_number() {
        let runner = Scripted::new(|order, nth| match (order.job, nth) {
            ("a", 0) => Step::failure("no"),
            _ => Step::success().after(Duration::from_secs(3600)),
        });
        assert_eq!(run(&runner, "a").await, Step::failure("no").outcome);
        let start = Instant::now();
        assert!(run(&runner, "a").await.success);
        assert!(run(&runner, "b").await.success);
        assert_eq!(start.elapsed(), Duration::from_secs(7200));
        let jobs: Vec<_> = runner.seen().into_iter().map(|seen| seen.job).collect();
        assert_eq!(jobs, ["a", "a", "b"]);
    }

    #[tokio::test(start_paused = true)]
    async fn attempts_under_way_are_counted_until_they_are_given_up() {
        let runner = Arc::new(Scripted::new(|_, _| Step::never()));
        let attempts: Vec<_> = ["a", "b"]
            .map(|job| {
                let runner = Arc::clone(&runner);
                tokio::spawn(async move { run(&runner, job).await })
            })
            .into();
        assert_eq!(runner.seen_at_least(2).await.len(), 2);
        assert_eq!(runner.running(), 2);
        for attempt in attempts {
            attempt.abort();
            let _ = attempt.await;
        }
        assert_eq!((runner.running(), runner.most_running()), (0, 2));
    }
}
