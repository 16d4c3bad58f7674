//! Claims: what is due becomes durable, is handed out, and is given back.
//!
//! A claim takes what nobody else is holding on to and waits for nobody. It locks rows first and reads them afterwards:
//! what it reads is the latest that is committed, and stays so until it commits. It also holds on to this node's own row,
//! so that no claim can be made once the lease is lost.

use std::collections::HashMap;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use model::transition::{self, Busy, Due};
use model::{Execution, Overlap};

use super::columns::{instant_or_none, number};
use super::executions::{self, Held, New};
use super::fault::{Fault, Outcome};
use super::settle::Resting;
use super::tickets::{self, AtHand, TakenBack};
use super::work::Work;
use super::{definitions, due, jobs, keys, settle, shards};
use crate::codec::{open_definition, ticks};
use crate::decisions::{self, Soonest};
use crate::lease::Lease;
use crate::rows::JobRow;
use crate::{Claim, Claimed, ClaimedJob, Error, ExecutionId};

/// What is late by so much anybody claims, whoever prefers it. Claims are made ahead, so this is a sign that the node
/// which should have is in trouble.
const OVERDUE: SignedDuration = SignedDuration::from_millis(500);

/// What one claim looks for.
#[derive(Debug, Clone, Copy)]
struct Reach<'s> {
    shards: &'s [i16],
    /// What is claimed when it is due.
    now: Timestamp,
    /// What may be claimed ahead.
    until: Timestamp,
}

impl Reach<'_> {
    /// Until when jobs are looked for.
    fn end(&self, ahead: bool) -> Timestamp {
        if ahead { self.until } else { self.now }
    }
}

/// See [`Store::claim_due`](crate::Store::claim_due). `handed_out` gets the numbers of what there are tickets for.
pub(super) async fn claim_due(
    work: &mut Work<'_>,
    now: Timestamp,
    until: Timestamp,
    most: usize,
    handed_out: &mut Vec<i64>,
) -> Outcome<Claimed> {
    let ((), lease) = tokio::try_join!(work.by_index(), hold_seat(work))?;
    let own = work.shared.seat.shards();
    let all: Vec<i16> = (0..shards::SHARDS).collect();
    let late = now.checked_sub(OVERDUE).unwrap_or(Timestamp::MIN);
    let mut claiming = Claiming { lease, now, until, most, claims: Vec::new(), handed_out };
    let mut reaches = vec![Reach { shards: &own, now, until }];
    if own.len() < all.len() {
        reaches.push(Reach { shards: &all, now: late, until: late });
    }
    for reach in reaches {
        claiming.waiting(work, reach).await?;
        // A job that is due may bring no execution, so jobs are counted too: one claim takes a bounded time even when
        // a million jobs were missed.
        let mut jobs_left = most;
        while claiming.room() > 0 && jobs_left > 0 {
            let asked = jobs_left.min(claiming.room());
            let rows = due_jobs(work, reach, asked).await?;
            if rows.is_empty() {
                break;
            }
            let was_all = rows.len() < asked;
            jobs_left = jobs_left.saturating_sub(rows.len());
            let comes_again = claiming.advance(work, reach, rows).await?;
            if was_all && !comes_again {
                break;
            }
        }
    }
    let mut claims = claiming.claims;
    claims.sort_by_key(|claim: &Claim| claim.execution.wake_at);
    let soonest = soonest(work, &own).await?;
    // Where there was room, whatever is left is in another node's hands at this moment.
    let more = claims.len() >= most && soonest.is_near(now, until);
    Ok(Claimed { claims, more, next_at: soonest.next_at() })
}

/// Holds on to this node's row: nobody can take its claims away until we are done. Looks at the keys that others have on
/// the way: claims are made all the time, and a question is a question.
async fn hold_seat(work: &Work<'_>) -> Outcome<Arc<Lease>> {
    let lease = work.shared.seat.lease().filter(|lease| lease.epoch() == work.epoch && lease.holds());
    let sql = "SELECT ARRAY(SELECT id FROM keys) FROM nodes
               WHERE epoch = $1 AND lease_until > clock_timestamp() FOR KEY SHARE";
    if let Some(lease) = lease
        && let Some(row) = work.query_opt(sql, &[&work.epoch]).await?
    {
        keys::all_are_held(work, row.try_get::<_, Vec<&str>>(0)?)?;
        return Ok(lease);
    }
    Err(Fault::Told(Error::Unavailable(match work.shared.seat.refusal() {
        Some(why) => why,
        None => format!(
            "{}: this node has no lease at the moment, and claims nothing until it has one again",
            work.shared.address.place
        ),
    })))
}

struct Claiming<'h> {
    lease: Arc<Lease>,
    now: Timestamp,
    until: Timestamp,
    most: usize,
    claims: Vec<Claim>,
    /// For whom there is a ticket, whatever becomes of the transaction.
    handed_out: &'h mut Vec<i64>,
}

impl Claiming<'_> {
    fn room(&self) -> usize {
        self.most.saturating_sub(self.claims.len())
    }

    fn hand_out(
        &mut self,
        work: &Work<'_>,
        id: i64,
        execution: Execution,
        collection: i64,
        job: Arc<ClaimedJob>,
    ) {
        self.handed_out.push(id);
        let what = AtHand { execution: execution.clone(), collection };
        let ticket = work.shared.tickets.hand_out(id, what, &self.lease);
        self.claims.push(Claim { id: ExecutionId(id), execution, job, ticket });
    }

    /// Executions whose time has come: retries, error actions, what was asked for, what a lost node left behind.
    async fn waiting(&mut self, work: &mut Work<'_>, reach: Reach<'_>) -> Outcome<()> {
        let ids = work
            .ids(
                "SELECT id FROM executions
                 WHERE claimed_by IS NULL AND wake_at IS NOT NULL AND wake_at <= $1 AND shard = ANY($2)
                   AND (kept_until IS NULL OR kept_until < clock_timestamp())
                 ORDER BY wake_at LIMIT $3 FOR UPDATE SKIP LOCKED",
                &[&ticks(reach.until), &reach.shards, &(self.room() as i64)],
            )
            .await?;
        if ids.is_empty() {
            return Ok(());
        }
        let (mut waiting, jobs) =
            tokio::try_join!(executions::lock_these(work, &ids), jobs::of_executions(work, &ids))?;
        waiting.sort_by_key(|(held, _)| held.row.wake_at);
        let of = |held: &Held| jobs.get(&held.row.job_id);
        let without_own = waiting.iter().filter(|(_, own)| own.is_none());
        let texts = definitions::fetch(work, without_own.filter_map(|(held, _)| of(held))).await?;
        let with_own = waiting.iter().filter(|(_, own)| own.is_some());
        let collections =
            definitions::documents(work, with_own.filter_map(|(held, _)| Some(of(held)?.collection_id)))
                .await?;
        let (mut claimed, mut aside, mut gone) = (Vec::new(), Vec::new(), Vec::new());
        for (held, own) in &waiting {
            let (execution, Some(job)) = (&held.row, of(held)) else { continue };
            if job.deleted {
                work.ledger.push((job.collection_id, decisions::left_behind(execution, self.now)));
                gone.push(execution.id);
                continue;
            }
            let claimed_job = match own {
                Some(own) => own_job(work, &collections, job, own),
                None => texts.with(work, job, |known| known.claimed.clone()),
            };
            match claimed_job {
                Ok(claimed_job) => {
                    claimed.push(execution.id);
                    self.hand_out(work, execution.id, execution.execution(), job.collection_id, claimed_job);
                }
                Err(Fault::Unreadable(why)) => {
                    keys::none_is_lacking(work).await?;
                    tracing::error!(job = %job.name, why, "an execution is set aside: its definition is unreadable");
                    // It stays accounted for, and does not keep others waiting.
                    aside.push(execution.id);
                }
                Err(fault) => return Err(fault),
            }
        }
        work.execute("UPDATE executions SET claimed_by = $2 WHERE id = ANY($1)", &[&claimed, &work.epoch])
            .await?;
        if !aside.is_empty() {
            work.execute("UPDATE executions SET wake_at = NULL WHERE id = ANY($1)", &[&aside]).await?;
        }
        executions::delete(work, &gone).await?;
        Ok(())
    }

    /// Turns what is due of jobs into executions and ledger entries, and moves them on; whether one of them is due again
    /// within reach.
    async fn advance(&mut self, work: &mut Work<'_>, reach: Reach<'_>, rows: Vec<DueJob>) -> Outcome<bool> {
        let busy = busy(work, &rows).await?;
        let texts = definitions::fetch(work, rows.iter().map(|due| &due.row)).await?;
        let mut moved = Moved::default();
        let (mut new, mut claimed_jobs) = (Vec::new(), Vec::new());
        let (mut planned, mut comes_again) = (self.claims.len(), false);
        for (at, DueJob { row, shard, ahead, due_at }) in rows.iter().enumerate() {
            breathe(at).await;
            let decided = texts.with(work, row, |known| {
                let busy = match known.job.definition.overlap {
                    Overlap::Allow => Busy::default(),
                    Overlap::Skip | Overlap::Queue => busy.get(&row.id).copied().unwrap_or_default(),
                };
                let patience = &work.shared.settings.patience;
                let due = transition::due(&known.job, row.collection.resumed_at, busy, self.now, patience);
                (due, known.claimed.clone())
            });
            let (due, claimed_job) = match decided {
                Err(Fault::Unreadable(why)) => {
                    keys::none_is_lacking(work).await?;
                    tracing::error!(job = %row.name, why, "a job is set aside: its definition is unreadable");
                    moved.set_aside(row.id, *shard, *ahead, *due_at);
                    continue;
                }
                other => other?,
            };
            if (due.next_number, due.next_at) == (row.next_number, row.next_at) {
                tracing::error!(job = %row.name, "a job is set aside: it is due, and nothing follows from it");
                moved.set_aside(row.id, *shard, *ahead, *due_at);
                continue;
            }
            moved.note(row, &due);
            comes_again |= due.next_at.is_some_and(|next_at| next_at <= reach.end(*ahead));
            moved.due.note(row.id, *shard, *ahead, *due_at, due.next_at.map(ticks));
            work.ledger.extend(due.ledger.into_iter().map(|entry| (row.collection_id, entry)));
            if !due.history.is_empty() {
                let total = row.history_total + due.history.len() as i64;
                work.shared.sweeper().grown(row.id, total);
            }
            work.history.extend(due.history.into_iter().map(|entry| (row.id, entry)));
            for execution in due.executions {
                let claimed =
                    planned < self.most && execution.wake_at.is_some_and(|wake_at| wake_at <= self.until);
                planned += usize::from(claimed);
                let ahead = execution.occurrence.at > self.now;
                new.push(New { execution, shard: *shard, ahead, claimed });
                claimed_jobs.push((row.collection_id, claimed_job.clone()));
            }
        }
        // None of them waits for what another says, so they go together.
        let (ids, ()) = tokio::try_join!(executions::insert(work, &new), moved.write(work))?;
        for ((id, new), (collection, job)) in ids.into_iter().zip(new).zip(claimed_jobs) {
            if new.claimed {
                self.hand_out(work, id, new.execution, collection, job);
            }
        }
        let resting = moved.resting.iter();
        let resting =
            resting.filter_map(|row| Resting::of(row.id, row.state, None, row.last_faulted, self.now));
        settle::come_to_rest(work, &resting.collect::<Vec<_>>()).await?;
        Ok(comes_again)
    }
}

/// Lets others go first now and then: to read the definitions of a thousand jobs takes ten milliseconds, and settlements
/// are made by the same thread.
async fn breathe(at: usize) {
    if at % 8 == 7 {
        tokio::task::yield_now().await;
    }
}

/// A job as an execution has it that began before the job was changed.
fn own_job(
    work: &Work<'_>,
    collections: &HashMap<i64, String>,
    job: &JobRow,
    own: &str,
) -> Outcome<Arc<ClaimedJob>> {
    let keyring = work.shared.sealer.keyring();
    let definition = open_definition(&keyring, own, "executions.definition", job.id)?;
    let missing = || Fault::unreadable("collections", job.collection_id, "there is none");
    let collection = collections.get(&job.collection_id).ok_or_else(missing)?;
    Ok(job.claimed(collection, definition)?)
}

/// Where jobs stand after what is due of them is claimed.
#[derive(Default)]
struct Moved {
    ids: Vec<i64>,
    numbers: Vec<i64>,
    next: Vec<Option<i64>>,
    history: Vec<i64>,
    due: due::Moves,
    /// Set aside.
    aside: Vec<i64>,
    /// Without a further occurrence, and with nothing to carry out from this one.
    resting: Vec<JobRow>,
}

impl Moved {
    fn note(&mut self, row: &JobRow, due: &Due) {
        self.ids.push(row.id);
        self.numbers.push(i64::from(due.next_number));
        self.next.push(due.next_at.map(ticks));
        self.history.push(due.history.len() as i64);
        if due.next_at.is_none() && due.executions.is_empty() {
            self.resting.push(row.clone());
        }
    }

    fn set_aside(&mut self, job: i64, shard: i16, ahead: bool, due_at: i64) {
        self.aside.push(job);
        self.due.note(job, shard, ahead, due_at, None);
    }

    async fn write(&self, work: &Work<'_>) -> Outcome<()> {
        tokio::try_join!(self.write_jobs(work), self.due.write(work)).map(drop)
    }

    async fn write_jobs(&self, work: &Work<'_>) -> Outcome<()> {
        work.execute(
            // No column of an index: the new row stays on its page where there is room, and no index is touched.
            "UPDATE jobs j SET next_number = new.number, next_at = new.at, due_at = new.at, \
             history_total = j.history_total + new.history
             FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[]) AS new (id, number, at, history)
             WHERE j.id = new.id",
            &[&self.ids, &self.numbers, &self.next, &self.history],
        )
        .await?;
        if !self.aside.is_empty() {
            work.execute("UPDATE jobs SET due_at = NULL WHERE id = ANY($1)", &[&self.aside]).await?;
        }
        Ok(())
    }
}

/// A job to ask.
struct DueJob {
    row: JobRow,
    shard: i16,
    /// Whether its occurrences overlap, and so can be claimed ahead.
    ahead: bool,
    due_at: i64,
}

/// Jobs to ask, soonest first, held on to: those that may be claimed ahead until an instant, the others when they are
/// due.
async fn due_jobs(work: &Work<'_>, reach: Reach<'_>, most: usize) -> Outcome<Vec<DueJob>> {
    // The job is locked where it is found, and then has to say what was found of it: whoever changed it in between has
    // written another due time. What somebody holds on to is left out, and the limit counts what is left.
    let sql = format!(
        "SELECT {}, j.shard, j.ahead, j.due_at
         FROM due d
         CROSS JOIN LATERAL (
           SELECT * FROM jobs WHERE id = d.job_id AND ahead = d.ahead AND due_at = d.due_at
           FOR UPDATE SKIP LOCKED) j
         JOIN collections c ON c.id = j.collection_id
         WHERE d.ahead = $1 AND d.due_at <= $2 AND d.shard = ANY($3)
         ORDER BY d.due_at LIMIT $4",
        jobs::COLUMNS
    );
    let mut due = Vec::new();
    for ahead in [true, false] {
        let room = most.saturating_sub(due.len()) as i64;
        if room == 0 {
            break;
        }
        let rows = work.query(&sql, &[&ahead, &ticks(reach.end(ahead)), &reach.shards, &room]).await?;
        for (at, row) in rows.into_iter().enumerate() {
            breathe(at).await;
            due.push(DueJob {
                row: jobs::read(&row)?,
                shard: row.try_get(jobs::WIDTH)?,
                ahead: row.try_get(jobs::WIDTH + 1)?,
                due_at: row.try_get(jobs::WIDTH + 2)?,
            });
        }
    }
    Ok(due)
}

/// How many executions those jobs have already that must not overlap.
async fn busy(work: &Work<'_>, rows: &[DueJob]) -> Outcome<HashMap<i64, Busy>> {
    let ids: Vec<i64> = rows.iter().filter(|due| !due.ahead).map(|due| due.row.id).collect();
    if ids.is_empty() {
        return Ok(HashMap::new());
    }
    let rows = work
        .query(
            "SELECT job_id, count(wake_at), count(*) - count(wake_at) FROM executions
             WHERE job_id = ANY($1) GROUP BY job_id",
            &[&ids],
        )
        .await?;
    rows.iter()
        .map(|row| Ok((row.try_get(0)?, Busy { active: number(row, 1)?, queued: number(row, 2)? })))
        .collect()
}

/// What becomes due next of what this node prefers.
async fn soonest(work: &Work<'_>, shards: &[i16]) -> Outcome<Soonest> {
    let row = work
        .query_opt(
            "SELECT (SELECT min(wake_at) FROM executions
                     WHERE claimed_by IS NULL AND wake_at IS NOT NULL AND shard = ANY($1)
                       AND (kept_until IS NULL OR kept_until < clock_timestamp())),
                    (SELECT min(due_at) FROM due WHERE ahead AND shard = ANY($1)),
                    (SELECT min(due_at) FROM due WHERE NOT ahead AND shard = ANY($1))",
            &[&shards],
        )
        .await?;
    let Some(row) = row else { return Ok(Soonest { waiting: None, ahead: None, on_time: None }) };
    Ok(Soonest {
        waiting: instant_or_none(&row, 0)?,
        ahead: instant_or_none(&row, 1)?,
        on_time: instant_or_none(&row, 2)?,
    })
}

/// See [`Store::release`](crate::Store::release).
pub(super) async fn release(work: &mut Work<'_>, ids: &[ExecutionId]) -> Outcome<Vec<TakenBack>> {
    let free: Vec<TakenBack> = ids.iter().filter_map(|id| work.shared.tickets.take_back(id.0)).collect();
    let freed = work
        .execute(
            "UPDATE executions SET claimed_by = NULL, revoked = false
             WHERE id = ANY(ARRAY(SELECT id FROM executions WHERE id = ANY($1) AND claimed_by = $2 ORDER BY id FOR UPDATE))",
            &[&tickets::ids(&free), &work.epoch],
        )
        .await?;
    work.ring |= freed > 0;
    work.tell |= freed > 0;
    Ok(free)
}
