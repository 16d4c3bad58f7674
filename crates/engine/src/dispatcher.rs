//! The dispatcher: holds what is claimed until its instant, then fires it.
//!
//! One task owns all of this, so there is nothing to lock. It sleeps until the soonest claim, at most a short nap at a
//! time: clocks are set and machines are suspended, and whoever sleeps an hour in one piece wakes up wrong. What is
//! due moves into [`Lanes`]; what may go is fired in a task of its own, which reports to the settler and comes back
//! here to free its place.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use actions::{Order, Runner, Sampling, Target, TraceContext};
use futures_util::FutureExt;
use model::{Attempt, Clock, Outcome, Timestamp};
use store::{Attempted, Claim, ExecutionId, Store};
use tokio::sync::mpsc;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::{debug, error};
use uuid::Uuid;

use crate::lanes::{Bounds, Lane, Lanes};
use crate::numbers::{ByName, CollectionNumbers, Numbers};
use crate::pulse::Beat;
use crate::settler::Ended;
use crate::under_way::{Begun, UnderWay};

type CallLane = Lane<Arc<str>, Target>;

/// What the dispatcher needs.
pub(crate) struct Dispatcher {
    pub(crate) runner: Arc<dyn Runner>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) bounds: Bounds,
    /// No sleep is longer than this, so that a clock that was set is noticed.
    pub(crate) longest_nap: Duration,
    /// Which occurrences are traced.
    pub(crate) traces: Option<Sampling>,
    pub(crate) claims: mpsc::Receiver<Claim>,
    pub(crate) attempts: mpsc::UnboundedSender<Ended>,
    pub(crate) under_way: Arc<UnderWay>,
    pub(crate) numbers: Arc<Numbers>,
    pub(crate) beat: Beat,
    /// Begin nothing new.
    pub(crate) stop: CancellationToken,
}

impl Dispatcher {
    /// Fires until told to stop, then hands back what has not begun and waits for what has.
    pub(crate) async fn run(mut self) {
        let mut timer: BinaryHeap<Waiting> = BinaryHeap::new();
        let mut lanes: Lanes<Arc<str>, Target, Counted> = Lanes::new(self.bounds);
        let mut by_name = ByName::default();
        let calls = TaskTracker::new();
        let (ended, mut endings) = mpsc::unbounded_channel::<CallLane>();
        loop {
            self.beat.beat();
            let now = self.clock.now();
            while let Some(waiting) = timer.peek()
                && waiting.at <= now
            {
                let Some(Waiting { lane, counted, .. }) = timer.pop() else { break };
                lanes.push(lane, counted);
            }
            while let Some((lane, counted)) = lanes.pop() {
                if counted.claim.ticket.begin() {
                    calls.spawn(self.call(counted, lane, ended.clone()));
                } else {
                    self.numbers.revoked.count();
                    lanes.done(&lane);
                }
            }
            self.numbers.waiting.set(timer.len());
            self.numbers.in_lanes.set(lanes.waiting());
            let longest = self.longest_nap;
            let nap = timer.peek().map_or(longest, |waiting| until(now, waiting.at).min(longest));
            tokio::select! {
                () = self.stop.cancelled() => break,
                claim = self.claims.recv() => match claim {
                    Some(claim) => timer.extend(self.wait(claim, &mut by_name)),
                    None => break,
                },
                Some(lane) = endings.recv() => lanes.done(&lane),
                () = sleep(nap) => {}
            }
            // Take what else is there before looking at the clock again: one pass for many.
            while let Ok(claim) = self.claims.try_recv() {
                timer.extend(self.wait(claim, &mut by_name));
            }
            while let Ok(lane) = endings.try_recv() {
                lanes.done(&lane);
            }
        }
        self.claims.close();
        while let Some(claim) = self.claims.recv().await {
            timer.extend(self.wait(claim, &mut by_name));
        }
        let unused = timer.into_iter().map(|waiting| waiting.counted).chain(lanes.drain());
        let unused = unused.map(|counted| counted.claim);
        let unused: Vec<ExecutionId> =
            unused.filter(|claim| claim.ticket.cancel()).map(|claim| claim.id).collect();
        debug!(handed_back = unused.len(), in_flight = calls.len(), "stopping");
        if let Err(error) = self.store.release(unused).await {
            // They are claimed in the store, and the next start hands them out again.
            error!(%error, "could not hand back claims");
        }
        calls.close();
        calls.wait().await;
    }

    /// A claim that waits for its instant. What can be found out before is: at the instant there may be thousands.
    fn wait(&self, claim: Claim, by_name: &mut ByName) -> Option<Waiting> {
        let target = self.runner.target(call_of(&claim)?);
        let lane = Lane { collection: collection_key(&claim), target };
        let numbers = by_name.of(&self.numbers, &lane.collection, &claim.job.collection);
        let execution = &claim.execution;
        let at = execution.wake_at.unwrap_or(execution.occurrence.at);
        Some(Waiting { at, lane, counted: Counted { claim, numbers } })
    }

    fn call(
        &self,
        Counted { claim, numbers: collection }: Counted,
        lane: CallLane,
        ended: mpsc::UnboundedSender<CallLane>,
    ) -> impl Future<Output = ()> + Send + use<> {
        let (runner, clock, attempts) = (self.runner.clone(), self.clock.clone(), self.attempts.clone());
        let (under_way, numbers, traces) = (self.under_way.clone(), self.numbers.clone(), self.traces);
        async move {
            let started_at = clock.now();
            let request_id = Uuid::new_v4();
            let (job, execution) = (claim.job.clone(), claim.execution.clone());
            let trace = traces.map(|traces| call_span(traces, execution.tag, request_id));
            let entered = under_way.begin(Begun { job, execution, started_at, trace });
            numbers.begin(&collection, &entered.begun);
            // A call that panics is a failed attempt, not a lost one.
            let outcome =
                match AssertUnwindSafe(carry_out(&*runner, &claim, request_id, trace)).catch_unwind().await {
                    Ok(outcome) => outcome,
                    Err(_) => Outcome {
                        success: false,
                        message: "The call failed inside the scheduler.".to_owned(),
                    },
                };
            let attempt = Attempt { started_at, ended_at: clock.now().max(started_at), outcome };
            let took = until(started_at, attempt.ended_at);
            numbers.end(&collection, call_of(&claim), took, &attempt.outcome);
            // Both receivers outlive the calls; if not, the process is ending and the next start repeats the attempt.
            let begun = entered.begun.clone();
            drop(entered);
            let _ = attempts.send(Ended {
                attempted: Attempted { id: claim.id, attempt, ticket: claim.ticket.clone() },
                begun,
                collection,
            });
            let _ = ended.send(lane);
        }
    }
}

async fn carry_out(
    runner: &dyn Runner,
    claim: &Claim,
    request_id: Uuid,
    trace: Option<TraceContext>,
) -> Outcome {
    let Some(call) = call_of(claim) else {
        return Outcome { success: false, message: "The job has no such action any more.".to_owned() };
    };
    let order = Order {
        call,
        collection: &claim.job.collection.name,
        job: &claim.job.name,
        location: &claim.job.location,
        expected_at: claim.execution.occurrence.at,
        tag: claim.execution.tag,
        request_id,
        trace,
    };
    runner.run(order).await
}

/// The span of an occurrence, in the trace that has its tag as number: the same on every node and after every start, so that
/// all attempts find their way to it.
pub fn occurrence_span(tag: Uuid) -> u64 {
    // Never 0: the upper half of a UUID holds its version.
    (tag.as_u128() >> 64) as u64
}

/// The span of one call.
fn call_span(traces: Sampling, tag: Uuid, request_id: Uuid) -> TraceContext {
    let trace = tag.as_u128();
    // Never 0: the lower half of a UUID holds its variant.
    TraceContext { trace, span: request_id.as_u128() as u64, sampled: traces.keeps(trace) }
}

fn call_of(claim: &Claim) -> Option<&model::action::Call> {
    claim.job.definition.action.at_depth(claim.execution.depth).map(|action| &action.call)
}

fn collection_key(claim: &Claim) -> Arc<str> {
    let path = &claim.job.collection;
    format!("{}/{}/{}", path.subscription, path.group, path.name).into()
}

fn until(now: Timestamp, at: Timestamp) -> Duration {
    Duration::try_from(now.duration_until(at)).unwrap_or_default()
}

/// A claim in the timer; the soonest is the greatest, as the heap wants it.
struct Waiting {
    at: Timestamp,
    lane: CallLane,
    counted: Counted,
}

/// A claim, and what its collection's numbers are.
struct Counted {
    claim: Claim,
    numbers: Arc<CollectionNumbers>,
}

impl Ord for Waiting {
    fn cmp(&self, other: &Self) -> Ordering {
        other.at.cmp(&self.at).then_with(|| other.counted.claim.id.cmp(&self.counted.claim.id))
    }
}

impl PartialOrd for Waiting {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Waiting {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Waiting {}
