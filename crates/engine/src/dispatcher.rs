//! The dispatcher: holds what is claimed until its instant, then fires it.
//!
//! It sleeps until the soonest claim, at most a short nap at a time: clocks are set and machines are suspended, and whoever
//! sleeps an hour in one piece wakes up wrong. An [`Alarm`] ends them on the instant. What is due goes to [`Calls`].

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use actions::Target;
use model::{Clock, Timestamp};
use store::{Claim, ExecutionId, Store};
use tokio::sync::mpsc;
use tokio::task::yield_now;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use tracing::{debug, error};

use crate::alarm::Alarm;
use crate::calls::{Call, Caller, Calls, call_of, collection_key, until};
use crate::lanes::{Bounds, Place};
use crate::numbers::ByName;
use crate::pulse::Beat;
use crate::queues::Queues;

/// What the dispatcher needs.
pub(crate) struct Dispatcher {
    pub(crate) caller: Caller,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) bounds: Bounds,
    pub(crate) queues: Queues,
    /// No sleep is longer than this, so that a clock that was set is noticed.
    pub(crate) longest_nap: Duration,
    pub(crate) claims: mpsc::Receiver<Claim>,
    pub(crate) beat: Beat,
    /// Begin nothing new.
    pub(crate) stop: CancellationToken,
}

/// So many that are due are lined up before the first of them goes: a herd shall not wait until all of it stands in line.
const AT_ONCE: usize = 256;

/// So many claims are taken before the clock is looked at: what is due while a thousand arrive shall not wait until all of
/// them have their places.
const IN_A_ROW: usize = 16;

impl Dispatcher {
    /// Fires until told to stop, then hands back what has not begun and waits for what has.
    pub(crate) async fn run(self) {
        let Self { caller, clock, store, bounds, queues, longest_nap, mut claims, beat, stop } = self;
        let numbers = Arc::clone(&caller.numbers);
        let runner = Arc::clone(&caller.runner);
        let calls = Calls::new(caller, bounds);
        queues.show(&calls);
        let mut by_name = ByName::default();
        // A claim that waits for its instant. What can be found out before is: at the instant there may be thousands.
        let mut wait = |claim: Claim, timer: &mut Timer| {
            let collection = collection_key(&claim.job.collection);
            // Where there is nothing to call, the attempt fails, and is accounted for.
            let call = call_of(&claim.job, &claim.execution);
            let target = call.map_or_else(Target::invalid, |call| runner.target(call));
            let place = calls.take_place(&claim.job.collection.subscription, &collection, &target);
            let numbers = by_name.of(&numbers, &collection, &claim.job.collection);
            timer.add(place, calls.call(claim, numbers));
        };
        let mut timer = Timer::default();
        let mut alarm = if clock.is_of_the_machine() { Alarm::start() } else { None };
        loop {
            beat.beat();
            let now = clock.now();
            while timer.next_at().is_some_and(|at| at <= now) {
                calls.line_up(timer.take(now, AT_ONCE));
            }
            numbers.waiting.set(timer.count);
            let nap = timer.next_at().map_or(longest_nap, |at| until(now, at).min(longest_nap));
            let time_is_up = async {
                match &mut alarm {
                    Some(alarm) if alarm.set(nap) => alarm.rung().await,
                    _ => sleep(nap).await,
                }
            };
            tokio::select! {
                () = stop.cancelled() => break,
                () = time_is_up => {}
                claim = claims.recv() => match claim {
                    Some(claim) => wait(claim, &mut timer),
                    None => break,
                },
            }
            // Take more of what is there before looking at the clock again: one pass for many, but not for all.
            let more = std::iter::from_fn(|| claims.try_recv().ok()).take(IN_A_ROW);
            more.for_each(|claim| wait(claim, &mut timer));
            if !claims.is_empty() {
                // What was lined up meanwhile may be in line behind this.
                yield_now().await;
            }
        }
        claims.close();
        while let Some(claim) = claims.recv().await {
            wait(claim, &mut timer);
        }
        let unused = timer.into_calls().chain(calls.take_back());
        let unused: Vec<ExecutionId> =
            unused.filter(|call| call.ticket.cancel()).map(|call| call.id).collect();
        debug!(handed_back = unused.len(), in_flight = calls.in_flight(), "stopping");
        if let Err(error) = store.release(unused).await {
            // They are claimed in the store, and the next start hands them out again.
            error!(%error, "could not hand back claims");
        }
        calls.end().await;
    }
}

/// What waits for its instant, by instant: many are due at the same.
#[derive(Default)]
struct Timer {
    calls: BTreeMap<Timestamp, VecDeque<(Place, Call)>>,
    count: usize,
}

impl Timer {
    fn add(&mut self, place: Place, call: Call) {
        self.calls.entry(call.due_at()).or_default().push_back((place, call));
        self.count += 1;
    }

    /// When the soonest is due.
    fn next_at(&self) -> Option<Timestamp> {
        self.calls.first_key_value().map(|(at, _)| *at)
    }

    /// Takes out what is due now, the soonest first, at most so many.
    fn take(&mut self, now: Timestamp, most: usize) -> impl Iterator<Item = (Place, Call)> {
        std::iter::from_fn(move || {
            let mut first = self.calls.first_entry().filter(|first| *first.key() <= now)?;
            let call = first.get_mut().pop_front();
            if first.get().is_empty() {
                first.remove();
            }
            self.count -= 1;
            call
        })
        .take(most)
    }

    /// All that waits. Places are not given back: nothing is lined up any more.
    fn into_calls(self) -> impl Iterator<Item = Call> {
        self.calls.into_values().flatten().map(|(_, call)| call)
    }
}

#[cfg(test)]
mod tests {
    use actions::scripted::{Scripted, Step};
    use store::conformance::World;

    use super::*;
    use crate::Pulse;
    use crate::embedded::Embedded;
    use crate::numbers::Numbers;

    /// An execution whose job has no such action is an attempt that fails, and not one that nobody hears of.
    #[tokio::test]
    async fn what_has_no_action_is_told_as_failed() {
        let backend = Embedded::new();
        let world = World::new(&backend).await;
        world.put("a", world.minutely()).await;
        let mut claim = world.claim(0).await.remove(0);
        claim.execution.depth = 7;
        claim.execution.wake_at = Some(Timestamp::UNIX_EPOCH);
        let (claims, claimed) = mpsc::channel(1);
        let (attempts, mut attempted) = mpsc::unbounded_channel();
        let clock: Arc<dyn Clock> = Arc::new(crate::SystemClock);
        let dispatcher = Dispatcher {
            caller: Caller {
                runner: Arc::new(Scripted::new(|_, _| Step::success())),
                clock: clock.clone(),
                traces: None,
                attempts,
                under_way: Arc::default(),
                numbers: Arc::<Numbers>::default(),
                late_after: Duration::from_secs(10),
            },
            clock,
            store: world.store().clone(),
            bounds: Bounds { overall: 1, per_collection: 1, per_target: 1 },
            queues: Queues::default(),
            longest_nap: Duration::from_secs(1),
            claims: claimed,
            beat: Pulse::default().part("dispatcher", Duration::ZERO),
            stop: CancellationToken::new(),
        };
        let dispatcher = tokio::spawn(dispatcher.run());
        let id = claim.id;
        claims.send(claim).await.expect("it listens");
        let ended = attempted.recv().await.expect("an attempt");
        assert_eq!(ended.attempted.id, id);
        assert!(!ended.attempted.attempt.outcome.success);
        drop(claims);
        dispatcher.await.expect("it ends");
    }
}
