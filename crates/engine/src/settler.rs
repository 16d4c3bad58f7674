//! The settler: writes what attempts led to, as many at a time as have ended meanwhile.
//!
//! A commit costs the same whether it carries one attempt or a hundred, and nobody is late for one that comes a moment
//! later. So an attempt waits a little for others, unless the next run of its job waits for it, or no other is to come. The
//! fewer there are, the longer: what a crash repeats is bounded by their number as much as by the time.

use std::sync::Arc;
use std::time::Duration;

use model::{Attempt, Fate, Overlap};
use store::{Attempted, Settlement, Store};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, sleep_until};
use tracing::{error, info};

use crate::numbers::{CollectionNumbers, Numbers};
use crate::pulse::Beat;
use crate::under_way::{Begun, UnderWay};

/// An attempt that has ended.
pub(crate) struct Ended {
    pub(crate) attempted: Attempted,
    pub(crate) begun: Arc<Begun>,
    pub(crate) collection: Arc<CollectionNumbers>,
}

/// What the settler needs.
pub(crate) struct Settler {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) attempts: mpsc::UnboundedReceiver<Ended>,
    /// The most attempts of one write.
    pub(crate) batch: usize,
    /// How long an attempt may wait for others that are written with it.
    pub(crate) within: Duration,
    pub(crate) under_way: Arc<UnderWay>,
    pub(crate) numbers: Arc<Numbers>,
    pub(crate) beat: Beat,
}

/// So many attempts wait for no others: more would hardly make each of them cheaper.
const ENOUGH: usize = 512;

/// Fewer attempts than these wait as long as they may, because each would pay for a good part of a commit. More of them
/// wait for a fraction of that.
const FEW: usize = 20;
const SOONER: u32 = 10;

/// How long a store that failed is left alone.
const BREATHER: Duration = Duration::from_millis(500);

impl Settler {
    /// Settles until all who make attempts are gone, and all attempts are written.
    pub(crate) async fn run(mut self) {
        let mut ended = Vec::with_capacity(self.batch);
        loop {
            self.beat.idle();
            if self.attempts.recv_many(&mut ended, self.batch).await == 0 {
                break;
            }
            self.beat.beat();
            self.gather(&mut ended).await;
            let mut troubled = false;
            let attempts = || ended.iter().map(|ended: &Ended| ended.attempted.clone()).collect();
            // What was called must be written down, however long the store is away.
            let began = Instant::now();
            let settlements = loop {
                self.beat.beat();
                let error = match self.store.settle(attempts()).await {
                    Ok(settlements) => break settlements,
                    Err(error) => error,
                };
                self.numbers.failed_settlements.count();
                if !std::mem::replace(&mut troubled, true) {
                    error!(%error, attempts = ended.len(), "cannot settle; trying again");
                }
                sleep(BREATHER).await;
            };
            self.numbers.settlements.time(began.elapsed());
            self.numbers.settled.add(ended.len() as u64);
            if troubled {
                info!(attempts = ended.len(), "settled after all");
            }
            // Only now: whoever hears of it and asks shall find it.
            for (Ended { attempted, begun, collection }, settlement) in ended.drain(..).zip(settlements) {
                if let Settlement::Done(fate) = settlement {
                    collection.settle(fate);
                }
                // Where no call was made there is none to tell of.
                if attempted.too_late {
                    continue;
                }
                if let Settlement::Done(fate) = settlement {
                    log(&begun, &attempted.attempt, fate);
                }
                self.under_way.tell_end(&begun, &attempted.attempt, settlement);
            }
        }
    }

    /// Waits for more to write, as long as more is to come, it is worth it, and nobody waits for what is there.
    async fn gather(&mut self, ended: &mut Vec<Ended>) {
        if self.within.is_zero() {
            return;
        }
        let began = Instant::now();
        let (some, at_last) = (began + self.within / SOONER, began + self.within);
        let mut looked_at = 0;
        while ended.len() < ENOUGH.min(self.batch)
            && !ended[looked_at..].iter().any(Ended::is_waited_for)
            && self.more_is_to_come()
        {
            looked_at = ended.len();
            let room = self.batch - ended.len();
            let until = if ended.len() < FEW { at_last } else { some };
            tokio::select! {
                biased;
                // Nobody is left who makes attempts: the engine stops.
                more = self.attempts.recv_many(ended, room) => if more == 0 { break },
                () = sleep_until(until) => break,
            }
        }
    }

    /// Whether a call is under way or claimed, which may end soon.
    fn more_is_to_come(&self) -> bool {
        let numbers = &self.numbers;
        self.under_way.count() > 0
            || numbers.waiting.get() > 0
            || numbers.in_lanes().any(|(_, count)| count > 0)
    }
}

impl Ended {
    /// Whether the next run of its job may wait for it to be written, or is left out until it is.
    fn is_waited_for(&self) -> bool {
        self.begun.job.definition.overlap != Overlap::Allow
    }
}

/// One line for every occurrence that is done with. Its target is a name of its own, so that a filter can leave it out
/// or pick it alone.
fn log(begun: &Begun, attempt: &Attempt, fate: Fate) {
    let (collection, execution) = (&begun.job.collection, &begun.execution);
    let started_at = execution.started_at.unwrap_or(begun.started_at);
    info!(
        target: "occurrence",
        subscription = collection.subscription,
        resource_group = collection.group,
        collection = collection.name,
        job = begun.job.name,
        execution = %execution.tag.simple(),
        cause = execution.cause.name(),
        scheduled = %execution.occurrence.at,
        lateness_ms = execution.occurrence.at.duration_until(started_at).as_millis() as i64,
        duration_ms = started_at.duration_until(attempt.ended_at).as_millis() as i64,
        attempts = execution.attempt + 1,
        error_action = execution.depth > 0,
        outcome = if attempt.outcome.success { "succeeded" } else { "failed" },
        status = fate.name(),
        message = attempt.outcome.message,
    );
}

#[cfg(test)]
mod tests {
    use model::Definition;
    use store::Claim;
    use store::conformance::World;
    use tokio::time::Instant;

    use super::*;
    use crate::embedded::Embedded;
    use crate::under_way::Word;

    /// The attempt of a claim, which has succeeded.
    fn ended(world: &World<'_>, claim: &Claim) -> Ended {
        assert!(claim.ticket.begin());
        let begun = Begun {
            job: claim.job.clone(),
            execution: claim.execution.clone(),
            started_at: world.now,
            trace: None,
        };
        Ended { attempted: world.attempted(claim, true), begun: Arc::new(begun), collection: Arc::default() }
    }

    /// Attempts end, 4 ms after each other, while so many more are to come: how long after the first each was written, on
    /// simulated time.
    async fn written_after(
        overlap: Overlap,
        within: Duration,
        count: usize,
        to_come: usize,
    ) -> Vec<Duration> {
        let backend = Embedded::new();
        let world = World::new(&backend).await;
        for number in 0..count {
            world.put(&number.to_string(), Definition { overlap, ..world.minutely() }).await;
        }
        let claims = world.claim(0).await;
        let under_way = Arc::new(UnderWay::default());
        let numbers = Arc::new(Numbers::default());
        numbers.waiting.set(to_come);
        let mut word = under_way.listen();
        let (attempts, attempted) = mpsc::unbounded_channel();
        let settler = Settler {
            store: world.store().clone(),
            attempts: attempted,
            batch: 1000,
            within,
            under_way: under_way.clone(),
            numbers,
            beat: crate::Pulse::default().part("settler", Duration::ZERO),
        };
        tokio::time::pause();
        let settler = tokio::spawn(settler.run());
        let start = Instant::now();
        let send = |claim: &Claim| assert!(attempts.send(ended(&world, claim)).is_ok());
        let sending = async {
            for claim in &claims {
                send(claim);
                sleep(Duration::from_millis(4)).await;
            }
        };
        let written = async {
            let mut written = Vec::new();
            while written.len() < count {
                if let Word::Ended(..) = word.recv().await.unwrap() {
                    written.push(start.elapsed());
                }
            }
            written
        };
        let ((), written) = tokio::join!(sending, written);
        drop(attempts);
        settler.await.unwrap();
        // The next one stops it again.
        tokio::time::resume();
        written
    }

    const MS: Duration = Duration::from_millis(1);

    #[tokio::test]
    async fn what_ends_close_together_is_written_together() {
        let written = written_after(Overlap::Allow, 100 * MS, 2, 1).await;
        assert_eq!(written[0], written[1]);
        assert!(written[0] >= 100 * MS && written[0] < 110 * MS, "{written:?}");
    }

    /// With 4 ms and a bit between them, twenty are there after 76 ms and a bit.
    #[tokio::test]
    async fn what_is_not_few_waits_no_longer() {
        let written = written_after(Overlap::Allow, 100 * MS, FEW + 1, 1).await;
        assert!(written[..FEW].iter().all(|at| *at >= 76 * MS && *at < 100 * MS), "{written:?}");
        // Where they come more quickly than that, each still waits for those that come with it.
        let written = written_after(Overlap::Allow, 2000 * MS, FEW + 1, 1).await;
        assert!(written.iter().all(|at| *at >= 200 * MS && *at < 210 * MS), "{written:?}");
    }

    #[tokio::test]
    async fn what_nothing_follows_is_written_at_once() {
        let written = written_after(Overlap::Allow, 100 * MS, 2, 0).await;
        assert!(written[0] < 4 * MS && written[1] < 8 * MS, "{written:?}");
    }

    #[tokio::test]
    async fn what_the_next_run_waits_for_is_written_at_once() {
        for (overlap, within) in [(Overlap::Queue, 10), (Overlap::Skip, 10), (Overlap::Allow, 0)] {
            let written = written_after(overlap, within * MS, 2, 1).await;
            assert!(written[0] < 4 * MS, "{overlap:?} {written:?}");
        }
    }

    /// Nobody who stops a server has to wait for more that will not come.
    #[tokio::test]
    async fn the_last_attempts_wait_for_nothing() {
        let backend = Embedded::new();
        let world = World::new(&backend).await;
        world.put("a", world.minutely()).await;
        let claims = world.claim(0).await;
        let (attempts, attempted) = mpsc::unbounded_channel();
        assert!(attempts.send(ended(&world, &claims[0])).is_ok());
        drop(attempts);
        let hour = Duration::from_secs(3600);
        let settler = Settler {
            store: world.store().clone(),
            attempts: attempted,
            batch: 1000,
            within: hour,
            under_way: Arc::default(),
            numbers: Arc::default(),
            beat: crate::Pulse::default().part("settler", Duration::ZERO),
        };
        tokio::time::pause();
        let start = Instant::now();
        settler.run().await;
        assert!(start.elapsed() < hour);
        assert_eq!(world.ledger().await.len(), 1);
    }
}
