//! Settlements: what attempts led to, however many, in a handful of statements.
//!
//! A settlement is guarded by the claim: only what is still held by the epoch that began it is settled. What a node
//! brings that has lost its lease meanwhile is dropped: whoever took over has begun it anew.

use std::collections::HashMap;

use jiff::Timestamp;
use model::Execution;
use model::transition::{self, Then};

use super::columns::code;
use super::fault::{Fault, Outcome};
use super::work::Work;
use super::{definitions, executions, jobs};
use crate::codec::ticks;
use crate::rows::{ExecutionRow, JobRow};
use crate::{Attempted, Settlement, decisions, seal};

/// What is to be written.
#[derive(Default)]
struct Settlements {
    done: Vec<i64>,
    again: Vec<(i64, Execution)>,
    /// How many entries were added to the history of each job.
    entries: HashMap<i64, i64>,
    /// When the last execution ended of each job that may come to rest.
    ended: HashMap<i64, Timestamp>,
}

/// See [`Store::settle`](crate::Store::settle).
pub(super) async fn settle(work: &mut Work<'_>, attempts: &[Attempted]) -> Outcome<Vec<Settlement>> {
    let ((), (mut jobs, mut held)) = tokio::try_join!(work.by_index(), load(work, attempts))?;
    let texts = definitions::fetch(
        work,
        held.values().filter(|(_, own)| own.is_none()).filter_map(|(row, _)| jobs.get(&row.job_id)),
    )
    .await?;
    let mut settlements = Settlements::default();
    let mut told = vec![Settlement::Nothing; attempts.len()];
    for (attempted, told) in attempts.iter().zip(&mut told) {
        let id = attempted.id.0;
        // A settlement that was committed, of which we did not hear, comes a second time; its retry may be claimed by now.
        let is_replaced = work.shared.tickets.is_replaced(id, &attempted.ticket);
        let epoch = attempted.ticket.epoch().filter(|_| !is_replaced);
        let mine = epoch.and_then(|epoch| held.remove(&(id, epoch)));
        let Some((row, own)) = mine else {
            if attempted.ticket.epoch() == Some(work.epoch) {
                // Its job was deleted, which the ledger knows already; or this was settled before.
                tracing::debug!(execution = id, "an attempt is settled already");
            } else {
                tracing::warn!(
                    execution = id,
                    "an attempt is not settled: its lease was lost, its successor counts"
                );
            }
            continue;
        };
        let Some(job) = jobs.get_mut(&row.job_id) else { continue };
        let settings = &work.shared.settings;
        let default_retry = settings.plans.limits(job.collection.plan).default_retry;
        let attempt = &attempted.attempt;
        let (entry, then) = match own {
            // What follows from an attempt does not depend on secrets: they stay sealed.
            Some(text) => {
                let own = seal::closed(&text)
                    .map_err(|fault| Fault::unreadable("executions.definition", id, fault))?;
                decisions::settle(job, &row, &own, default_retry, attempt, &settings.patience)
            }
            None => {
                let definition = texts.with(work, job, |known| known.job.definition.clone())?;
                decisions::settle(job, &row, &definition, default_retry, attempt, &settings.patience)
            }
        };
        work.history.push((job.id, entry));
        let entries = settlements.entries.entry(job.id).or_default();
        *entries += 1;
        work.shared.sweeper().grown(job.id, job.history_total + *entries);
        match then {
            Then::Again(next) => {
                *told = Settlement::Again;
                settlements.again.push((id, next));
            }
            Then::Done(entry) => {
                *told = Settlement::Done(entry.fate);
                work.ledger.push((job.collection_id, entry));
                settlements.done.push(id);
                settlements.ended.insert(job.id, attempt.ended_at);
            }
        }
    }
    settlements.write(work, &jobs).await?;
    Ok(told)
}

/// Executions with their own definitions, by number and by the epoch that holds them: a node that lost its lease and has
/// claimed the same again may bring both outcomes at once.
type Holdings = HashMap<(i64, i64), (ExecutionRow, Option<String>)>;

/// The executions and their jobs. All of it held on to.
async fn load(work: &Work<'_>, attempts: &[Attempted]) -> Outcome<(HashMap<i64, JobRow>, Holdings)> {
    let ids: Vec<i64> = attempts.iter().map(|attempted| attempted.id.0).collect();
    let (_, executions, jobs) = tokio::try_join!(
        jobs::lock_of_executions(work, &ids),
        executions::lock_these(work, &ids),
        jobs::of_executions(work, &ids),
    )?;
    let held =
        executions.into_iter().filter_map(|(held, own)| Some(((held.row.id, held.holder?), (held.row, own))));
    Ok((jobs, held.collect()))
}

impl Settlements {
    async fn write(self, work: &mut Work<'_>, jobs: &HashMap<i64, JobRow>) -> Outcome<()> {
        if self.entries.is_empty() {
            return Ok(());
        }
        let ended = self.ended.iter().filter_map(|(id, ended_at)| Some((jobs.get(id)?, *ended_at)));
        // In this order: whether anything of a job is left is known when what is done is gone.
        let (_, _, _, woken, _) = tokio::try_join!(
            self.count(work, jobs),
            self.delete(work),
            self.again(work),
            self.wake_queued(work),
            come_to_rest(work, ended)
        )?;
        work.ring |= woken || !self.again.is_empty();
        Ok(())
    }

    /// Writes the counters of jobs.
    async fn count(&self, work: &Work<'_>, jobs: &HashMap<i64, JobRow>) -> Outcome<()> {
        let mut counted: Vec<(&JobRow, i64)> =
            self.entries.iter().filter_map(|(id, entries)| Some((jobs.get(id)?, *entries))).collect();
        // As they lie: what is on one page is written there one after the other.
        counted.sort_unstable_by_key(|(job, _)| job.id);
        let of = |value: fn(&JobRow) -> i64| counted.iter().map(|(job, _)| value(job)).collect::<Vec<i64>>();
        let last: Vec<Option<i64>> =
            counted.iter().map(|(job, _)| job.counters.last_execution.map(ticks)).collect();
        let faulted: Vec<bool> = counted.iter().map(|(job, _)| job.last_faulted).collect();
        let entries: Vec<i64> = counted.iter().map(|(_, entries)| *entries).collect();
        work.execute(
            "UPDATE jobs j SET executions = new.executions, failures = new.failures, faulted = new.faulted, \
             last_execution = new.last, last_faulted = new.last_faulted, history_total = j.history_total + new.entries
             FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::boolean[],
                         $7::bigint[]) AS new (id, executions, failures, faulted, last, last_faulted, entries)
             WHERE j.id = new.id",
            &[
                &of(|job| job.id),
                &of(|job| job.counters.executions as i64),
                &of(|job| job.counters.failures as i64),
                &of(|job| job.counters.faulted as i64),
                &last,
                &faulted,
                &entries,
            ],
        )
        .await?;
        Ok(())
    }

    /// Removes what is done.
    async fn delete(&self, work: &Work<'_>) -> Outcome<()> {
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
        if self.ended.is_empty() {
            return Ok(false);
        }
        let (ids, at): (Vec<i64>, Vec<i64>) =
            self.ended.iter().map(|(id, ended_at)| (*id, ticks(*ended_at))).unzip();
        let woken = work
            .execute(
                // Job by job along an index, never all executions at once.
                "UPDATE executions SET wake_at = ($2::bigint[])[array_position($1::bigint[], job_id)]
                 WHERE id = ANY(ARRAY(
                   SELECT (SELECT q.id FROM executions q WHERE q.job_id = job.id AND q.wake_at IS NULL
                           ORDER BY q.number LIMIT 1)
                   FROM unnest($1::bigint[]) AS job (id)
                   WHERE (SELECT a.id FROM executions a WHERE a.job_id = job.id AND a.wake_at IS NOT NULL LIMIT 1) IS NULL))",
                &[&ids, &at],
            )
            .await?;
        Ok(woken > 0)
    }
}

/// Ends jobs that have neither occurrences nor executions left, each at an instant.
///
/// The state is part of what a client sees and decides by, so it gets a new revision.
pub(super) async fn come_to_rest<'j>(
    work: &Work<'_>,
    jobs: impl Iterator<Item = (&'j JobRow, Timestamp)>,
) -> Outcome<()> {
    let (mut ids, mut states, mut ended) = (Vec::new(), Vec::new(), Vec::new());
    for (job, now) in jobs {
        let at_rest = transition::at_rest(job.state, job.next_at, job.last_faulted);
        if at_rest != job.state {
            ids.push(job.id);
            states.push(code(at_rest));
            ended.push(ticks(now));
        }
    }
    if !ids.is_empty() {
        work.execute(
            "UPDATE jobs j SET state = new.state, ended_at = new.at, revision = nextval('revisions')
             FROM unnest($1::bigint[], $2::smallint[], $3::bigint[]) AS new (id, state, at)
             WHERE j.id = new.id AND (SELECT e.id FROM executions e WHERE e.job_id = new.id LIMIT 1) IS NULL",
            &[&ids, &states, &ended],
        )
        .await?;
    }
    Ok(())
}
