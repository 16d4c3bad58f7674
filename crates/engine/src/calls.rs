//! Calls: makes what is due, as many at once as the bounds allow.
//!
//! What may go is made in a task of its own, which reports to the settler. A task that is done with its call looks itself
//! for the next one that may go, so that a thousand in a row wake nobody up and need no task each.

use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use actions::{Order, Runner, Sampling, Target, TraceContext};
use futures_util::FutureExt;
use model::{Attempt, CatchUp, Clock, CollectionPath, Execution, Outcome, Timestamp, transition};
use store::{Attempted, Claim, ClaimedJob, ExecutionId, Ticket};
use tokio::sync::mpsc;
use tokio::task::coop;
use tokio_util::task::TaskTracker;
use tracing::trace;
use uuid::Uuid;

use crate::lanes::{Bounds, Lanes, Place};
use crate::numbers::{CollectionNumbers, Numbers};
use crate::queues::Queue;
use crate::settler::Ended;
use crate::shares::QUICK;
use crate::under_way::{Begun, UnderWay};

/// A claim whose call can be made. It is small, for it moves from hand to hand at an instant at which thousands do.
pub(crate) struct Call {
    pub(crate) id: ExecutionId,
    pub(crate) ticket: Ticket,
    /// What will have begun. It is made when the claim arrives: at the instant there is no time for it.
    begun: Arc<Begun>,
    /// The numbers of its collection.
    numbers: Arc<CollectionNumbers>,
    /// Whether it was in time when it was claimed. What was not is left from before a crash, and is repeated however late.
    in_time: bool,
}

impl Call {
    fn new(claim: Claim, numbers: Arc<CollectionNumbers>, in_time: bool) -> Self {
        let Claim { id, execution, job, ticket } = claim;
        // As long as it has not begun, when it is due stands for when it began.
        let started_at = due_at(&execution);
        Self {
            id,
            ticket,
            begun: Arc::new(Begun { job, execution, started_at, trace: None }),
            numbers,
            in_time,
        }
    }

    /// When it is due.
    pub(crate) fn due_at(&self) -> Timestamp {
        due_at(&self.begun.execution)
    }
}

/// The name of a collection's lanes.
pub(crate) fn collection_key(path: &CollectionPath) -> Arc<str> {
    format!("{}/{}/{}", path.subscription, path.group, path.name).into()
}

/// The collection of such a name; no part of it has a slash.
fn collection_path(key: &str) -> Option<CollectionPath> {
    let [subscription, group, name] =
        key.split('/').map(str::to_owned).collect::<Vec<_>>().try_into().ok()?;
    Some(CollectionPath { subscription, group, name })
}

fn due_at(execution: &Execution) -> Timestamp {
    execution.wake_at.unwrap_or(execution.occurrence.at)
}

/// Makes calls, and whom it tells.
pub(crate) struct Caller {
    pub(crate) runner: Arc<dyn Runner>,
    pub(crate) clock: Arc<dyn Clock>,
    /// Which occurrences are traced.
    pub(crate) traces: Option<Sampling>,
    pub(crate) attempts: mpsc::UnboundedSender<Ended>,
    pub(crate) under_way: Arc<UnderWay>,
    pub(crate) numbers: Arc<Numbers>,
    /// Later than this is too late for jobs that do not want to be late.
    pub(crate) late_after: Duration,
}

/// See the module.
pub(crate) struct Calls {
    caller: Caller,
    lanes: Mutex<CallLanes>,
    tasks: TaskTracker,
}

/// Calls by their collection and their target.
type CallLanes = Lanes<Arc<str>, Target, Call>;

impl Calls {
    pub(crate) fn new(caller: Caller, bounds: Bounds) -> Arc<Self> {
        Arc::new(Self { caller, lanes: Mutex::new(Lanes::new(bounds)), tasks: TaskTracker::new() })
    }

    /// Returns the call that a claim is for.
    pub(crate) fn call(&self, claim: Claim, numbers: Arc<CollectionNumbers>) -> Call {
        let in_time = !self.caller.is_too_late(&claim.job, &claim.execution, || self.caller.clock.now());
        Call::new(claim, numbers, in_time)
    }

    /// Takes a place for a call that will be due.
    pub(crate) fn take_place(&self, subscription: &str, collection: &Arc<str>, target: &Target) -> Place {
        self.lanes().take_place(subscription, collection, target)
    }

    /// Lines up calls that are due, and begins those that may go.
    pub(crate) fn line_up(self: &Arc<Self>, due: impl Iterator<Item = (Place, Call)>) {
        let mut lanes = self.lanes();
        for (place, call) in due {
            lanes.push(place, call);
        }
        self.begin_all(&mut lanes);
    }

    /// Takes out all that has not begun.
    pub(crate) fn take_back(&self) -> Vec<Call> {
        self.lanes().drain()
    }

    /// Waits for all that has begun. Nothing more may be lined up.
    pub(crate) async fn end(&self) {
        self.tasks.close();
        self.tasks.wait().await;
    }

    /// How many tasks make calls.
    pub(crate) fn in_flight(&self) -> usize {
        self.tasks.len()
    }

    /// Returns the queues in which calls run or wait.
    pub(crate) fn queues(&self) -> Vec<Queue> {
        // Names are taken apart after the lock.
        let active: Vec<_> = {
            let lanes = self.lanes();
            let each = lanes.active().map(|lane| {
                let first = lane.first.map(|(call, wait)| (call.due_at(), wait));
                (Arc::clone(lane.collection), lane.target.clone(), lane.running, lane.waiting, first)
            });
            each.collect()
        };
        let queues = active.into_iter().filter_map(|(collection, target, running, waiting, first)| {
            Some(Queue { collection: collection_path(&collection)?, target, running, waiting, first })
        });
        queues.collect()
    }

    fn begin_all(self: &Arc<Self>, lanes: &mut CallLanes) {
        while let Some((place, call)) = lanes.pop() {
            self.tasks.spawn(Arc::clone(self).make(place, call));
        }
        self.caller.numbers.set_in_lanes(lanes.waiting());
    }

    /// Makes a call, unless it has been taken back, and then whatever may go in its place.
    async fn make(self: Arc<Self>, mut place: Place, mut call: Call) {
        loop {
            // Here and not in the lanes, which everybody waits for: nobody has touched it for seconds.
            let took = if call.ticket.begin() {
                self.caller.call(call).await
            } else {
                self.caller.numbers.revoked.count();
                None
            };
            let next = {
                let mut lanes = self.lanes();
                lanes.done(place, took.map(|took| took <= QUICK));
                let next = lanes.pop();
                // The room that is free now may be free for others as well: of another target, or another collection.
                self.begin_all(&mut lanes);
                next
            };
            let Some(next) = next else { return };
            (place, call) = next;
            // Calls that never wait must not keep others from running.
            coop::consume_budget().await;
        }
    }

    fn lanes(&self) -> MutexGuard<'_, CallLanes> {
        self.lanes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Caller {
    /// Whether a job does not want to be late, and an execution of it would be.
    fn is_too_late(&self, job: &ClaimedJob, execution: &Execution, now: impl FnOnce() -> Timestamp) -> bool {
        // Few jobs are so, and for the others the clock need not be read.
        job.definition.catch_up == CatchUp::None
            && transition::is_too_late(&job.definition, execution, now(), self.late_after)
    }

    /// Makes one call and tells how it went; how long it took. `None` where it is not made, because it is too late.
    async fn call(&self, call: Call) -> Option<Duration> {
        let started_at = self.clock.now();
        let Call { id, ticket, mut begun, numbers: collection, in_time } = call;
        if in_time && self.is_too_late(&begun.job, &begun.execution, || started_at) {
            let outcome = Outcome { success: false, message: String::new() };
            let attempt = Attempt { started_at, ended_at: started_at, outcome };
            let attempted = Attempted { id, attempt: Arc::new(attempt), ticket, too_late: true };
            let _ = self.attempts.send(Ended { attempted, begun, collection });
            return None;
        }
        let request_id = Uuid::new_v4();
        // Nobody else has it yet, so it is changed where it is.
        let beginning = Arc::make_mut(&mut begun);
        beginning.started_at = started_at;
        beginning.trace = self.traces.map(|traces| call_span(traces, beginning.execution.tag, request_id));
        trace!(job = begun.job.name, execution = %begun.execution.tag.simple(), "a call begins");
        let entered = self.under_way.begin(&begun);
        self.numbers.begin(&collection, &begun);
        // A call that panics is a failed attempt, not a lost one.
        let outcome = match AssertUnwindSafe(self.carry_out(&begun, request_id)).catch_unwind().await {
            Ok(outcome) => outcome,
            Err(_) => Outcome { success: false, message: "The call failed inside the scheduler.".to_owned() },
        };
        let attempt = Attempt { started_at, ended_at: self.clock.now().max(started_at), outcome };
        let took = until(started_at, attempt.ended_at);
        self.numbers.end(&collection, call_of(&begun.job, &begun.execution), took, &attempt.outcome);
        drop(entered);
        // The settler outlives the calls; if not, the process is ending and the next start repeats the attempt.
        let attempted = Attempted { id, attempt: Arc::new(attempt), ticket, too_late: false };
        let _ = self.attempts.send(Ended { attempted, begun, collection });
        Some(took)
    }

    async fn carry_out(&self, begun: &Begun, request_id: Uuid) -> Outcome {
        let Begun { job, execution, trace, .. } = begun;
        let Some(call) = call_of(job, execution) else {
            return Outcome { success: false, message: "The job has no such action any more.".to_owned() };
        };
        let order = Order {
            call,
            collection: &job.collection.name,
            job: &job.name,
            location: &job.location,
            expected_at: execution.occurrence.at,
            tag: execution.tag,
            request_id,
            trace: *trace,
        };
        self.runner.run(order).await
    }
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

/// What an execution calls.
pub(crate) fn call_of<'a>(job: &'a ClaimedJob, execution: &Execution) -> Option<&'a model::action::Call> {
    job.definition.action.at_depth(execution.depth).map(|action| &action.call)
}

/// How long until an instant; nothing if it has passed.
pub(crate) fn until(now: Timestamp, at: Timestamp) -> Duration {
    Duration::try_from(now.duration_until(at)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use actions::scripted::{Scripted, Step};
    use model::{Cause, Definition};
    use store::conformance::World;
    use tokio::time::Instant;

    use super::*;
    use crate::embedded::Embedded;
    use crate::{SimulatedClock, SystemClock};

    struct Scene {
        calls: Arc<Calls>,
        runner: Arc<Scripted>,
        attempts: mpsc::UnboundedReceiver<Ended>,
    }

    impl Scene {
        fn go_by(&mut self, clock: Arc<dyn Clock>) {
            let calls = Arc::get_mut(&mut self.calls).expect("nothing has begun");
            calls.caller.clock = clock;
        }

        /// Calls that take a second each.
        fn new(bounds: Bounds) -> Self {
            let second = Duration::from_secs(1);
            let runner = Arc::new(Scripted::new(move |_, _| Step::success().after(second)));
            let (attempts, attempted) = mpsc::unbounded_channel();
            let caller = Caller {
                runner: runner.clone(),
                clock: Arc::new(SystemClock),
                traces: None,
                attempts,
                under_way: Arc::default(),
                numbers: Arc::default(),
                late_after: Duration::from_secs(10),
            };
            Self { calls: Calls::new(caller, bounds), runner, attempts: attempted }
        }

        fn line_up(&self, claims: &[Claim], lane: impl Fn(usize) -> (&'static str, &'static str)) {
            let calls = claims.iter().enumerate().map(|(at, claim)| {
                let (collection, target) = lane(at);
                let place = self.calls.take_place("s", &collection.into(), &Target::new(target, 80));
                (place, self.calls.call(claim.clone(), Arc::default()))
            });
            // Places are taken before.
            let calls: Vec<_> = calls.collect();
            self.calls.line_up(calls.into_iter());
        }

        /// How many calls wait for room.
        fn in_lanes(&self) -> i64 {
            self.calls.caller.numbers.in_lanes().map(|(_, count)| count).sum()
        }

        /// Waits for all that was lined up; how many attempts there were, and in which second each began.
        async fn ended(&mut self, start: Instant) -> (usize, Vec<u64>) {
            self.calls.end().await;
            let mut attempts = 0;
            while self.attempts.try_recv().is_ok() {
                attempts += 1;
            }
            let began = |seen: &actions::scripted::Seen| (seen.started - start).as_secs();
            (attempts, self.runner.seen().iter().map(began).collect())
        }
    }

    /// Claims of so many jobs, and paused time.
    async fn claims(count: usize) -> Vec<Claim> {
        let backend = Embedded::new();
        let world = World::new(&backend).await;
        for number in 0..count {
            world.put(&format!("job-{number}"), world.minutely()).await;
        }
        let claims = world.claim(0).await;
        assert_eq!(claims.len(), count);
        tokio::time::pause();
        claims
    }

    #[tokio::test]
    async fn what_waits_is_made_by_those_who_are_done() {
        let claims = claims(7).await;
        let mut scene = Scene::new(Bounds { overall: 3, per_collection: 100, per_target: 100 });
        let start = Instant::now();
        scene.line_up(&claims, |_| ("a", "x"));
        assert_eq!((scene.calls.in_flight(), scene.in_lanes()), (3, 4));
        assert_eq!(scene.ended(start).await, (7, vec![0, 0, 0, 1, 1, 1, 2]));
        assert_eq!((scene.runner.most_running(), scene.in_lanes()), (3, 0));
    }

    /// One call ends, and two may go: one of the same collection, and one to the same target.
    #[tokio::test]
    async fn a_call_that_ends_makes_room_in_its_collection_and_at_its_target() {
        let claims = claims(3).await;
        let mut scene = Scene::new(Bounds { overall: 10, per_collection: 1, per_target: 1 });
        let start = Instant::now();
        scene.line_up(&claims, |at| [("a", "x"), ("a", "y"), ("b", "x")][at]);
        assert_eq!(scene.ended(start).await, (3, vec![0, 1, 1]));
    }

    #[tokio::test]
    async fn what_was_taken_back_is_not_made_and_holds_up_nobody() {
        let claims = claims(4).await;
        let mut scene = Scene::new(Bounds { overall: 1, per_collection: 1, per_target: 1 });
        let start = Instant::now();
        scene.line_up(&claims, |_| ("a", "x"));
        assert!(claims[1].ticket.cancel() && claims[2].ticket.cancel());
        assert_eq!(scene.ended(start).await, (2, vec![0, 1]));
        assert_eq!(scene.calls.caller.numbers.revoked.get(), 2);
    }

    #[tokio::test]
    async fn queues_show_what_runs_and_what_waits_for_what() {
        let claims = claims(4).await;
        let scene = Scene::new(Bounds { overall: 10, per_collection: 2, per_target: 1 });
        let queues = crate::Queues::default();
        assert!(queues.look().is_empty());
        queues.show(&scene.calls);
        scene.line_up(&claims, |at| [("s/g/a", "x"), ("s/g/a", "x"), ("s/g/b", "x"), ("s/g/b", "y")][at]);
        let mut seen: Vec<_> = queues
            .look()
            .into_iter()
            .map(|queue| {
                let Queue { collection, target, running, waiting, first } = queue;
                (collection.name, target.to_string(), running, waiting, first.map(|(_, wait)| wait))
            })
            .collect();
        seen.sort_unstable_by(|a, b| (&a.0, &a.1).cmp(&(&b.0, &b.1)));
        let queue = |name: &str, target: &str, running, waiting, wait| {
            (name.to_owned(), target.to_owned(), running, waiting, wait)
        };
        assert_eq!(
            seen,
            [
                queue("a", "x:80", 1, 1, Some(crate::Wait::Target)),
                queue("b", "x:80", 0, 1, Some(crate::Wait::Target)),
                queue("b", "y:80", 1, 0, None),
            ]
        );
        let due = queues.look().into_iter().find_map(|queue| queue.first).map(|(at, _)| at);
        assert_eq!(due, claims[1].execution.wake_at);
        scene.calls.end().await;
        assert!(queues.look().is_empty(), "nothing runs any more");
    }

    #[tokio::test]
    async fn what_has_not_begun_can_be_taken_out() {
        let claims = claims(4).await;
        let mut scene = Scene::new(Bounds { overall: 1, per_collection: 1, per_target: 1 });
        let start = Instant::now();
        scene.line_up(&claims, |_| ("a", "x"));
        assert_eq!(scene.calls.take_back().len(), 3);
        assert_eq!(scene.ended(start).await, (1, vec![0]));
    }

    /// There is room for one call, which takes a second: what is due now begins second by second.
    #[tokio::test]
    async fn what_waits_too_long_for_room_is_missed_where_its_job_wants_that() {
        let backend = Embedded::new();
        let world = World::new(&backend).await;
        for number in 0..15 {
            let catch_up = if [10, 13].contains(&number) { CatchUp::Last } else { CatchUp::None };
            world.put(&format!("job-{number:02}"), Definition { catch_up, ..world.minutely() }).await;
        }
        let mut claims = world.claim(0).await;
        claims.sort_by(|one, other| one.job.name.cmp(&other.job.name));
        // Left from before a crash, asked for, and repeated: none of them is too late, ever.
        claims[0].execution.wake_at = Some(world.after(-3600));
        claims[11].execution.cause = Cause::Run;
        claims[12].execution.attempt = 1;
        tokio::time::pause();
        let mut scene = Scene::new(Bounds { overall: 1, per_collection: 1, per_target: 1 });
        scene.go_by(Arc::new(SimulatedClock::starting_at(world.now)));
        scene.line_up(&claims, |_| ("a", "x"));
        scene.calls.end().await;
        let mut missed = Vec::new();
        while let Ok(ended) = scene.attempts.try_recv() {
            if ended.attempted.too_late {
                missed.push(ended.begun.job.name.clone());
            }
        }
        assert_eq!((missed, scene.runner.seen().len()), (vec!["job-14".to_owned()], 14));
    }
}
