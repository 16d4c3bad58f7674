//! Settlements: what attempts led to, however many, in a handful of statements.
//!
//! A settlement is guarded by the claim: only what is still held by the epoch that began it is settled. What a node
//! brings that has lost its lease meanwhile is dropped: whoever took over has begun it anew.
//!
//! What follows from an attempt that went well depends on nothing but what was claimed, and that is at hand. So it is
//! written without a look, on the condition that the claim still holds and that the job is of the same generation: of its
//! row, which lies where nobody has been for seconds, one visit and not three. Where the condition does not hold for one
//! of them all is taken back, and the next round reads the rows first. So it is with attempts that failed: what follows
//! from them stands in the job.

use std::collections::{BTreeMap, HashMap, HashSet};

use jiff::Timestamp;
use model::transition::{self, Then};
use model::{Execution, JobState};
use tokio_postgres::Row;

use super::columns::{code, coded, instant_or_none};
use super::fault::{Fault, Outcome};
use super::tickets::AtHand;
use super::work::Work;
use super::{definitions, executions, jobs};
use crate::codec::ticks;
use crate::decisions::{self, Gain, Settled};
use crate::rows::{ExecutionRow, JobRow};
use crate::{Attempted, Settlement, seal};

/// See [`Store::settle`](crate::Store::settle).
pub(super) async fn settle(work: &mut Work<'_>, attempts: &[Attempted]) -> Outcome<Vec<Settlement>> {
    let mut settlements = Settlements::default();
    let mut told = vec![Settlement::Nothing; attempts.len()];
    let mut unsure = Vec::new();
    for (place, what) in work.shared.tickets.at_hand(attempts).into_iter().enumerate() {
        let attempted = &attempts[place];
        let is_ours = attempted.ticket.epoch() == Some(work.epoch);
        match what.filter(|_| is_ours && attempted.attempt.outcome.success && !attempted.too_late) {
            Some(what) => told[place] = settlements.trust(work, attempted, &what),
            None => unsure.push(place),
        }
    }
    if unsure.is_empty() {
        work.by_index().await?;
    } else {
        let read: Vec<Attempted> = unsure.iter().map(|place| attempts[*place].clone()).collect();
        for (place, settlement) in unsure.into_iter().zip(settlements.read(work, &read).await?) {
            told[place] = settlement;
        }
    }
    if settlements.write(work).await? {
        return Ok(told);
    }
    work.shared.tickets.doubt(attempts);
    Err(Fault::Overtaken("a claim or its job is not what it was when it was made"))
}

/// What is to be written.
#[derive(Default)]
struct Settlements {
    /// Executions that are decided about.
    decided: HashSet<i64>,
    /// Those of them that are done, if they are still ours.
    trusted: Vec<i64>,
    /// Those that are done and held on to.
    done: Vec<i64>,
    again: Vec<(i64, Execution)>,
    /// Their jobs, as they lie: what is on one page is written there one after the other.
    jobs: BTreeMap<i64, Touched>,
}

/// A job whose attempts have ended.
struct Touched {
    /// Of which generation it has to be; `None`, which it never is, where attempts contradict each other.
    generation: Option<i64>,
    gain: Gain,
    /// How many entries its history gets.
    entries: i64,
    /// When the last of its executions was done with, if one was.
    done_at: Option<Timestamp>,
}

/// Executions with their own definitions, by number and by the epoch that holds them: a node that lost its lease and has
/// claimed the same again may bring both outcomes at once.
type Holdings = HashMap<(i64, i64), (ExecutionRow, Option<String>)>;

impl Settlements {
    /// Decides about an attempt that went well by what is at hand.
    fn trust(&mut self, work: &mut Work<'_>, attempted: &Attempted, what: &AtHand) -> Settlement {
        let id = attempted.id.0;
        if !self.decided.insert(id) {
            return Settlement::Nothing;
        }
        let AtHand { execution, collection } = what;
        let settled = decisions::succeed(execution, &attempted.attempt, &work.shared.settings.patience);
        self.trusted.push(id);
        self.take(work, (execution.job.0, execution.generation, *collection), id, settled)
    }

    /// Decides about attempts by the rows of their executions and jobs. All of it is held on to, and so are the jobs of
    /// what is decided already: everybody takes jobs in their order.
    async fn read(&mut self, work: &mut Work<'_>, attempts: &[Attempted]) -> Outcome<Vec<Settlement>> {
        let ids: Vec<i64> = attempts.iter().map(|attempted| attempted.id.0).collect();
        let trusted: Vec<i64> = self.jobs.keys().copied().collect();
        let ((), (), executions, jobs) = tokio::try_join!(
            work.by_index(),
            jobs::lock_with_those_of(work, &trusted, &ids),
            executions::lock_these(work, &ids),
            jobs::of_executions(work, &ids),
        )?;
        let held = executions
            .into_iter()
            .filter_map(|(held, own)| Some(((held.row.id, held.holder?), (held.row, own))));
        let mut held: Holdings = held.collect();
        let texts = definitions::fetch(
            work,
            held.values().filter(|(_, own)| own.is_none()).filter_map(|(row, _)| jobs.get(&row.job_id)),
        )
        .await?;
        let mut told = Vec::with_capacity(attempts.len());
        for attempted in attempts {
            let id = attempted.id.0;
            // A settlement that was committed, of which we did not hear, comes a second time; its retry may be claimed by now.
            let is_replaced = work.shared.tickets.is_replaced(id, &attempted.ticket);
            let epoch = attempted.ticket.epoch().filter(|_| !is_replaced);
            let mine = epoch.and_then(|epoch| held.remove(&(id, epoch)));
            let mine = mine.and_then(|(row, own)| Some((jobs.get(&row.job_id)?, row, own)));
            let Some((job, row, own)) = mine.filter(|_| self.decided.insert(id)) else {
                if attempted.ticket.epoch() == Some(work.epoch) {
                    tracing::debug!(execution = id, "an attempt is settled already");
                } else {
                    tracing::warn!(
                        execution = id,
                        "an attempt is not settled: its lease was lost, its successor counts"
                    );
                }
                told.push(Settlement::Nothing);
                continue;
            };
            let mut settled = decide(work, &texts, job, &row, own, attempted)?;
            if row.generation != job.generation {
                settled.gain = Gain::default();
            }
            if matches!(settled.then, Then::Done(_)) {
                self.done.push(id);
            }
            told.push(self.take(work, (job.id, job.generation, job.collection_id), id, settled));
        }
        Ok(told)
    }

    /// Takes what follows from an attempt of a job, which has a generation and a collection.
    fn take(
        &mut self,
        work: &mut Work<'_>,
        (job, generation, collection): (i64, i64, i64),
        id: i64,
        Settled { history, then, gain }: Settled,
    ) -> Settlement {
        let new =
            || Touched { generation: Some(generation), gain: Gain::default(), entries: 0, done_at: None };
        let touched = self.jobs.entry(job).or_insert_with(new);
        touched.generation = touched.generation.filter(|other| *other == generation);
        touched.gain = touched.gain.and(gain);
        touched.entries += i64::from(history.is_some());
        work.history.extend(history.map(|entry| (job, entry)));
        match then {
            Then::Again(next) => {
                self.again.push((id, next));
                Settlement::Again
            }
            Then::Done(entry) => {
                touched.done_at = touched.done_at.max(Some(entry.ended_at));
                let fate = entry.fate;
                work.ledger.push((collection, entry));
                Settlement::Done(fate)
            }
        }
    }

    /// Writes all of it; whether everything was as it has to be. If not, none of it may be committed.
    async fn write(self, work: &mut Work<'_>) -> Outcome<bool> {
        if self.jobs.is_empty() {
            return Ok(true);
        }
        // Jobs first, as everybody does. Whether anything of a job is left is known when what is done is gone.
        let (found, trusted, (), (), woken) = tokio::try_join!(
            self.count(work),
            self.delete_trusted(work),
            self.delete(work),
            self.again(work),
            self.wake_queued(work),
        )?;
        if found.len() != self.jobs.len() || trusted != self.trusted.len() as u64 {
            return Ok(false);
        }
        let mut resting = Vec::new();
        {
            let mut sweeper = work.shared.sweeper();
            for job in found {
                let Some(touched) = self.jobs.get(&job.id) else { continue };
                (1..=touched.entries)
                    .for_each(|entry| sweeper.grown(job.id, job.history_total - touched.entries + entry));
                if let Some(done_at) = touched.done_at {
                    resting.extend(job.at_rest(done_at));
                }
            }
        }
        come_to_rest(work, &resting).await?;
        work.ring |= woken || !self.again.is_empty();
        Ok(true)
    }

    /// Writes what jobs have gained; how those stand that are what they have to be.
    async fn count(&self, work: &Work<'_>) -> Outcome<Vec<Standing>> {
        let ids: Vec<i64> = self.jobs.keys().copied().collect();
        let of = |value: fn(&Touched) -> i64| self.jobs.values().map(value).collect::<Vec<i64>>();
        let generations: Vec<Option<i64>> = self.jobs.values().map(|touched| touched.generation).collect();
        let last: Vec<Option<i64>> =
            self.jobs.values().map(|touched| touched.gain.counters.last_execution.map(ticks)).collect();
        let faulted: Vec<Option<bool>> =
            self.jobs.values().map(|touched| touched.gain.last_faulted).collect();
        let rows = work
            .query(
                "UPDATE jobs j SET executions = j.executions + new.executions, failures = j.failures + new.failures, \
                 faulted = j.faulted + new.faulted, last_execution = GREATEST(j.last_execution, new.last), \
                 last_faulted = COALESCE(new.last_faulted, j.last_faulted), \
                 history_total = j.history_total + new.entries,
                 -- The history of a deleted job goes in the background, and so does what is added to it.
                 sweep = j.sweep OR j.deleted_at IS NOT NULL
                 FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[],
                             $7::boolean[], $8::bigint[])
                   AS new (id, generation, executions, failures, faulted, last, last_faulted, entries)
                 WHERE j.id = new.id AND j.generation = new.generation
                 RETURNING j.id, j.state, j.next_at, j.last_faulted, j.history_total, j.deleted_at IS NOT NULL",
                &[
                    &ids,
                    &generations,
                    &of(|touched| touched.gain.counters.executions as i64),
                    &of(|touched| touched.gain.counters.failures as i64),
                    &of(|touched| touched.gain.counters.faulted as i64),
                    &last,
                    &faulted,
                    &of(|touched| touched.entries),
                ],
            )
            .await?;
        rows.iter().map(Standing::read).collect()
    }

    /// Removes what is done and was not looked at; how many of them are still ours.
    async fn delete_trusted(&self, work: &Work<'_>) -> Outcome<u64> {
        if self.trusted.is_empty() {
            return Ok(0);
        }
        work.execute(
            // No index leads to what is not distinct: by their holder all executions of a node are equal.
            "DELETE FROM executions WHERE id = ANY($1::bigint[]) AND claimed_by IS NOT DISTINCT FROM $2",
            &[&self.trusted, &work.epoch],
        )
        .await
    }

    /// Removes what is done and held on to.
    async fn delete(&self, work: &Work<'_>) -> Outcome<()> {
        if self.done.is_empty() {
            return Ok(());
        }
        // Not in the words of `executions::delete`: a plan is kept by its text, and that one's may be made for few.
        work.execute("DELETE FROM executions WHERE id = ANY($1::bigint[])", &[&self.done]).await?;
        Ok(())
    }

    /// Lets executions wait for their next attempts.
    async fn again(&self, work: &Work<'_>) -> Outcome<()> {
        if self.again.is_empty() {
            return Ok(());
        }
        let ids: Vec<i64> = self.again.iter().map(|(id, _)| *id).collect();
        let maybe = |value: fn(&Execution) -> Option<i64>| {
            self.again.iter().map(|(_, next)| value(next)).collect::<Vec<Option<i64>>>()
        };
        let depths: Vec<i16> = self.again.iter().map(|(_, next)| i16::from(next.depth)).collect();
        work.execute(
            // Without a join, which could be made from either side.
            "UPDATE executions SET claimed_by = NULL, revoked = false, begun = false, ahead = false,
               wake_at = ($2::bigint[])[array_position($1::bigint[], id)],
               attempt = ($3::bigint[])[array_position($1::bigint[], id)],
               depth = ($4::smallint[])[array_position($1::bigint[], id)],
               started_at = ($5::bigint[])[array_position($1::bigint[], id)]
             WHERE id = ANY($1::bigint[])",
            &[
                &ids,
                &maybe(|next| next.wake_at.map(ticks)),
                &maybe(|next| Some(i64::from(next.attempt))),
                &depths,
                &maybe(|next| next.started_at.map(ticks)),
            ],
        )
        .await?;
        Ok(())
    }

    /// Lets the next execution of each job go that waited for all others; whether there was any.
    async fn wake_queued(&self, work: &Work<'_>) -> Outcome<bool> {
        let done = self.jobs.iter().filter_map(|(id, touched)| Some((*id, ticks(touched.done_at?))));
        let (ids, at): (Vec<i64>, Vec<i64>) = done.unzip();
        if ids.is_empty() {
            return Ok(false);
        }
        let woken = work
            .execute(
                // Job by job along an index, never all executions at once; first along that of what waits, where there
                // is mostly nothing.
                "UPDATE executions SET wake_at = ($2::bigint[])[array_position($1::bigint[], job_id)]
                 WHERE id = ANY(ARRAY(
                   SELECT queued.id FROM (
                     SELECT job.id AS job_id,
                       (SELECT q.id FROM executions q WHERE q.job_id = job.id AND q.wake_at IS NULL
                        ORDER BY q.number LIMIT 1) AS id
                     FROM unnest($1::bigint[]) AS job (id) OFFSET 0) queued
                   WHERE queued.id IS NOT NULL AND
                     (SELECT a.id FROM executions a WHERE a.job_id = queued.job_id AND a.wake_at IS NOT NULL LIMIT 1)
                     IS NULL))",
                &[&ids, &at],
            )
            .await?;
        Ok(woken > 0)
    }
}

/// What follows from an attempt, by the rows of its execution and its job.
fn decide(
    work: &Work<'_>,
    texts: &definitions::Texts,
    job: &JobRow,
    row: &ExecutionRow,
    own: Option<String>,
    attempted: &Attempted,
) -> Outcome<Settled> {
    let settings = &work.shared.settings;
    let default_retry = settings.plans.limits(job.collection.plan).default_retry;
    let (attempt, patience) = (&attempted.attempt, &settings.patience);
    if attempted.too_late {
        return Ok(decisions::too_late(row, attempt));
    }
    if job.deleted {
        return Ok(decisions::settle_deleted(row, attempt, patience));
    }
    match own {
        // What follows from an attempt does not depend on secrets: they stay sealed.
        Some(text) => {
            let own = seal::closed(&text)
                .map_err(|fault| Fault::unreadable("executions.definition", row.id, fault))?;
            Ok(decisions::settle(job, row, &own, default_retry, attempt, patience))
        }
        None => texts.with(work, job, |known| {
            decisions::settle(job, row, &known.job.definition, default_retry, attempt, patience)
        }),
    }
}

/// How a job stands that may come to rest.
struct Standing {
    id: i64,
    state: JobState,
    next_at: Option<Timestamp>,
    last_faulted: bool,
    history_total: i64,
    deleted: bool,
}

impl Standing {
    fn read(row: &Row) -> Outcome<Self> {
        let id = row.try_get(0)?;
        Ok(Self {
            id,
            state: coded(row, 1, id)?,
            next_at: instant_or_none(row, 2)?,
            last_faulted: row.try_get(3)?,
            history_total: row.try_get(4)?,
            deleted: row.try_get(5)?,
        })
    }

    fn at_rest(&self, at: Timestamp) -> Option<Resting> {
        Resting::of(self.id, self.state, self.next_at, self.last_faulted, at).filter(|_| !self.deleted)
    }
}

/// A job that ends at an instant if none of its executions is left.
pub(super) struct Resting {
    id: i64,
    state: JobState,
    at: Timestamp,
}

impl Resting {
    /// `None` where it goes on.
    pub(super) fn of(
        id: i64,
        state: JobState,
        next_at: Option<Timestamp>,
        last_faulted: bool,
        at: Timestamp,
    ) -> Option<Self> {
        let at_rest = transition::at_rest(state, next_at, last_faulted);
        (at_rest != state).then_some(Self { id, state: at_rest, at })
    }
}

/// Ends jobs that have no executions left.
///
/// The state is part of what a client sees and decides by, so it gets a new revision.
///
/// This has to be a statement after the one that took hold of the jobs: that one may have waited for somebody who gave a job
/// an execution meanwhile, and what is looked up in it is as it was before the wait.
pub(super) async fn come_to_rest(work: &Work<'_>, jobs: &[Resting]) -> Outcome<()> {
    if jobs.is_empty() {
        return Ok(());
    }
    let ids: Vec<i64> = jobs.iter().map(|job| job.id).collect();
    let states: Vec<i16> = jobs.iter().map(|job| code(job.state)).collect();
    let ended: Vec<i64> = jobs.iter().map(|job| ticks(job.at)).collect();
    work.execute(
        "UPDATE jobs j SET state = new.state, ended_at = new.at, revision = nextval('revisions')
         FROM unnest($1::bigint[], $2::smallint[], $3::bigint[]) AS new (id, state, at)
         WHERE j.id = new.id AND (SELECT e.id FROM executions e WHERE e.job_id = new.id LIMIT 1) IS NULL",
        &[&ids, &states, &ended],
    )
    .await?;
    Ok(())
}
