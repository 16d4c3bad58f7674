//! The promise of the ledger under random steps: every instant of a rule that has passed is in it exactly once, whatever
//! became of the job meanwhile.
//!
//! [`accounting!`](crate::accounting) makes a test of it: random steps ([`Step::from_bytes`] makes one of any three bytes)
//! with jobs of every policy. [`holds`] walks them, lets everything end, and counts.

use jiff::SignedDuration;
use model::action::RetryPolicy;
use model::transition;
use model::{CatchUp, Cause, Definition, JobState, Overlap, Timestamp};
use recurrence::Rule;

use super::Backend;
use super::world::{World, action, path};
use crate::{Claim, Written};

/// What may happen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Time passes, in seconds.
    Pass(u8),
    /// The engine claims so many seconds ahead, at most so many.
    Claim(u8, u8),
    /// A claim is begun, if its time has come.
    Begin(u8),
    /// An attempt ends.
    Settle(u8, bool),
    /// A claim is given back.
    Release(u8),
    /// The job is changed, but not its timing.
    Edit,
    /// A change that was decided on before the last claim is refused or carried out.
    LateEdit(u8),
    /// The job is switched off or on.
    Switch(bool),
    /// It gets other times, every so many minutes, and is off or on from then on.
    Retime(u8, bool),
    /// It is replaced by one that is off or on.
    Replace(bool),
    /// It is deleted, and another one takes its name.
    Delete,
    /// The collection is switched off or on.
    SwitchCollection(bool),
    /// Somebody asks for a run.
    Run,
    /// The process dies and is started again.
    Restart,
}

impl Step {
    /// A step of any three bytes.
    pub fn from_bytes([kind, a, b]: [u8; 3]) -> Self {
        match kind % 19 {
            0..=2 => Self::Pass(a % 100),
            3..=5 => Self::Claim(a % 130, 1 + b % 4),
            6 | 7 => Self::Begin(a),
            8 | 9 => Self::Settle(a, b.is_multiple_of(2)),
            10 => Self::Release(a),
            11 => {
                if b.is_multiple_of(2) {
                    Self::Edit
                } else {
                    Self::LateEdit(a % 130)
                }
            }
            12 => Self::Switch(a.is_multiple_of(2)),
            13 => Self::SwitchCollection(a.is_multiple_of(2)),
            14 => Self::Run,
            15 => Self::Retime(1 + a % 3, b.is_multiple_of(2)),
            16 => Self::Replace(a.is_multiple_of(2)),
            17 => Self::Delete,
            _ => Self::Restart,
        }
    }
}

/// Walks the steps with one job of each policy, and counts in the end.
pub async fn holds(backend: &dyn Backend, overlap: Overlap, catch_up: CatchUp, steps: &[Step]) {
    let mut world = World::new(backend).await;
    let mut definition = Definition { overlap, catch_up, ..world.minutely() };
    if let Some(RetryPolicy::Fixed { count, .. }) = &mut definition.action.retry {
        *count = Some(1);
    }
    let stored = world.put("job", definition.clone()).await;
    let eras = vec![Era { rule: stored.job.rule, ended_at: None }];
    let mut hands = Hands { definition, claims: Vec::new(), begun: Vec::new(), asked: 0, eras };
    for step in steps {
        hands.take(&mut world, *step).await;
    }
    world.switch_collection(true).await;
    world.patch("job", JobState::Enabled, |_| ()).await;
    hands.finish(&mut world).await;

    let ledger = world.ledger().await;
    let scheduled: Vec<_> = ledger.iter().filter(|entry| entry.cause != Cause::Run).collect();
    let passed: Vec<Timestamp> = hands.eras.iter().flat_map(|era| era.passed(world.now)).collect();
    for at in &passed {
        // Where one era ends and the next begins, each may have an occurrence of its own.
        let expected = passed.iter().filter(|other| *other == at).count();
        let entries: Vec<_> =
            scheduled.iter().filter(|entry| entry.due_at <= *at && *at <= entry.due_until).collect();
        assert_eq!(entries.len(), expected, "{at} is accounted for {} times: {entries:#?}", entries.len());
    }
    let counted: u64 = scheduled.iter().map(|entry| entry.occurrences).sum();
    assert_eq!(counted, passed.len() as u64, "{scheduled:#?}");
    let asked = ledger.iter().filter(|entry| entry.cause == Cause::Run).count() as u64;
    assert_eq!(asked, hands.asked);
    let mut tags: Vec<_> = ledger.iter().filter_map(|entry| entry.tag).collect();
    tags.sort();
    tags.dedup();
    assert_eq!(tags.len(), ledger.iter().filter(|entry| entry.tag.is_some()).count(), "a tag came twice");
    assert_eq!(world.store().census().await.unwrap().executions, 0);
}

/// A rule, and the instant at which another took its place.
struct Era {
    rule: Rule,
    ended_at: Option<Timestamp>,
}

impl Era {
    fn passed(&self, now: Timestamp) -> impl Iterator<Item = Timestamp> {
        let until = self.ended_at.unwrap_or(now);
        self.rule.occurrences().map(|occurrence| occurrence.at).take_while(move |at| *at <= until)
    }
}

/// What the engine holds, and what has happened so far.
struct Hands {
    /// What the job is made from, and made again.
    definition: Definition,
    eras: Vec<Era>,
    claims: Vec<Claim>,
    begun: Vec<Claim>,
    asked: u64,
}

impl Hands {
    async fn take(&mut self, world: &mut World<'_>, step: Step) {
        let pick = |len: usize, i: u8| (len > 0).then(|| usize::from(i) % len.max(1));
        match step {
            Step::Pass(seconds) => world.pass(i64::from(seconds)),
            Step::Claim(seconds, most) => {
                let claimed = world.claimed(i64::from(seconds), u32::from(most)).await;
                assert!(claimed.claims.len() <= usize::from(most));
                self.claims.extend(claimed.claims);
            }
            Step::Begin(i) => {
                if let Some(i) = pick(self.claims.len(), i)
                    && self.claims[i].execution.wake_at.is_some_and(|wake_at| wake_at <= world.now)
                {
                    let claim = self.claims.swap_remove(i);
                    if claim.ticket.begin() {
                        self.begun.push(claim);
                    }
                }
            }
            Step::Settle(i, success) => {
                if let Some(i) = pick(self.begun.len(), i) {
                    let claim = self.begun.swap_remove(i);
                    world.settle(&claim, success).await;
                }
            }
            Step::Release(i) => {
                if let Some(i) = pick(self.claims.len(), i) {
                    let claim = self.claims.swap_remove(i);
                    world.store().release(vec![claim.id]).await.unwrap();
                }
            }
            Step::Edit => {
                let state = world.job("job").await.job.state;
                world
                    .patch("job", state, |definition| definition.action = action("http://example.com/e"))
                    .await;
            }
            Step::LateEdit(seconds) => {
                let stored = world.job("job").await;
                let write = world.patched(&stored, stored.job.state, |_| ());
                let claims = world.claim(i64::from(seconds)).await;
                if let Some(claim) =
                    claims.iter().find(|claim| claim.execution.wake_at.is_some_and(|at| at <= world.now))
                {
                    assert!(claim.ticket.begin());
                    self.begun.push(claim.clone());
                }
                let written = world.store().put_job(write).await.unwrap();
                assert!(matches!(written, Written::Done(_) | Written::Changed), "{written:?}");
                self.claims.extend(claims);
            }
            Step::Switch(on) => {
                world.patch("job", state(on), |_| ()).await;
            }
            Step::Retime(minutes, on) => {
                let before = world.job("job").await.job.definition.timing;
                let start = world.after(i64::from(minutes) * 20).to_string();
                let change = |definition: &mut Definition| {
                    definition.timing.start_time = Some(start.clone());
                    if let Some(recurrence) = &mut definition.timing.recurrence {
                        recurrence.interval = Some(minutes.into());
                    }
                };
                let job = world.patch("job", state(on), change).await.job;
                if job.definition.timing != before {
                    self.begin_era(job.rule, world.now);
                }
            }
            Step::Replace(on) => self.put_anew(world, state(on)).await,
            Step::Delete => {
                world.store().delete_job(&path(), "job", None, world.now).await.unwrap();
                self.put_anew(world, JobState::Enabled).await;
            }
            Step::SwitchCollection(on) => {
                let there = world.store().collection(&path()).await.unwrap().unwrap();
                if on != (there.collection.state == model::CollectionState::Enabled) {
                    world.switch_collection(on).await;
                }
            }
            Step::Run => {
                let job = world.job("job").await.job;
                // A run while nothing runs would be refused above; whether it is does not matter here.
                self.asked += 1;
                let run = transition::run_now(&job, world.seed(), world.now);
                world.store().add_execution(run).await.unwrap();
            }
            Step::Restart => {
                self.claims.clear();
                self.begun.clear();
                world.restart().await;
            }
        }
    }

    async fn put_anew(&mut self, world: &World<'_>, state: JobState) {
        let definition = Definition { accepted_at: world.now, ..self.definition.clone() };
        let job = world.put_as("job", definition, state).await.job;
        self.begin_era(job.rule, world.now);
    }

    fn begin_era(&mut self, rule: Rule, now: Timestamp) {
        if let Some(last) = self.eras.last_mut() {
            last.ended_at = Some(now);
        }
        self.eras.push(Era { rule, ended_at: None });
    }

    /// Lets everything end well.
    async fn finish(&mut self, world: &mut World<'_>) {
        for claim in self.begun.drain(..) {
            world.settle(&claim, true).await;
        }
        let ids = self.claims.drain(..).map(|claim| claim.id).collect();
        world.store().release(ids).await.unwrap();
        // Retries and paced replays are over by then.
        let end = world.now.checked_add(SignedDuration::from_mins(10)).unwrap();
        while world.now <= end {
            loop {
                let claims = world.claim(0).await;
                if claims.is_empty() {
                    break;
                }
                for claim in claims {
                    assert!(claim.ticket.begin());
                    world.settle(&claim, true).await;
                }
            }
            world.pass(15);
        }
        world.pass(-15);
    }
}

fn state(on: bool) -> JobState {
    if on { JobState::Enabled } else { JobState::Disabled }
}

/// Makes a test that walks so many times at random. The backend is an expression as for
/// [`conformance!`](crate::conformance). Whoever uses this has proptest.
///
/// ```ignore
/// store::accounting!(every_instant_is_accounted_for, 48, where Some(backend) = Some(crate::fresh()));
/// ```
#[macro_export]
macro_rules! accounting {
    ($test:ident, $cases:literal, where Some($name:ident) = $backend:expr) => {
        ::proptest::proptest! {
            #![proptest_config(::proptest::prelude::ProptestConfig::with_cases($cases))]

            #[test]
            fn $test(
                overlap in ::proptest::sample::select(
                    vec![::model::Overlap::Allow, ::model::Overlap::Skip, ::model::Overlap::Queue]
                ),
                catch_up in ::proptest::sample::select(
                    vec![::model::CatchUp::Last, ::model::CatchUp::None, ::model::CatchUp::All { max: 3 }]
                ),
                bytes in ::proptest::collection::vec(::proptest::prelude::any::<[u8; 3]>(), 0..60),
            ) {
                let steps: Vec<_> =
                    bytes.into_iter().map($crate::conformance::accounting::Step::from_bytes).collect();
                let runtime = ::tokio::runtime::Builder::new_multi_thread()
                    .worker_threads(1)
                    .enable_all()
                    .build()
                    .expect("a runtime");
                runtime.block_on(async {
                    if let Some($name) = $backend {
                        $crate::conformance::accounting::holds(&$name, overlap, catch_up, &steps).await;
                    }
                });
            }
        }
    };
}
