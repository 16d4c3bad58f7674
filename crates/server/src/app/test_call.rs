//! One call, now, outside of any job: to see whether it works before it is kept.

use std::sync::Arc;
use std::time::Duration;

use access::{Act, Decision, Permission, Scope};
use actions::{Order, Runner};
use model::{Outcome, Plan, Timestamp, Uuid};
use recurrence::{Fault, Faults};
use serde_json::{Value, json};

use super::{App, Result};
use crate::http::job_of_id;
use crate::problem::Problem;
use crate::shares::{Shares, Taken};

/// How many such calls may be under way.
const MOST: usize = 16;

/// Who makes calls to try out.
pub struct Trials {
    runner: Arc<dyn Runner>,
    places: Arc<Shares>,
}

/// A call that was made.
#[derive(Debug)]
pub struct Called {
    /// When it began.
    pub started_at: Timestamp,
    /// How long it took.
    pub took: Duration,
    /// How it went.
    pub outcome: Outcome,
    /// The paths of members of the request that mean nothing.
    pub ignored: Vec<String>,
}

impl Trials {
    /// With the runner that jobs have, so that what works here works there.
    pub fn new(runner: Arc<dyn Runner>) -> Self {
        Self { runner, places: Shares::new(MOST) }
    }
}

impl App {
    /// Makes one call. The limits of jobs hold, and with a job those of its plan; nothing is kept but the audit: where
    /// the call goes, before it begins, and how it went, after it ended.
    pub async fn test_call(&self, body: &Value) -> Result<Called> {
        let stored = match wire::job::job_of_test_call(body) {
            None => None,
            Some(id) => {
                let allowed = "the id of a job";
                let (path, name) = job_of_id(id)
                    .ok_or_else(|| Problem::faulty(Fault::new("job", format!("'{id}'"), allowed).into()))?;
                // Its secrets are used, so that whoever could not write them may not send them anywhere either.
                self.require(Permission::Write, &Scope::Collection(path.clone()), Act::TestCall)?;
                let collection = self.collection(&path).await?.collection;
                Some((collection, self.job(&path, &name).await?.job))
            }
        };
        let definition = stored.as_ref().map(|(_, job)| &job.definition);
        let call = wire::job::test_call(body, definition).map_err(Problem::faulty)?;
        let plan = stored.as_ref().map_or(Plan::Standard, |(collection, _)| collection.plan);
        let mut faults = model::admission::check_action(&call.action, self.plans.limits(plan), &self.limits);
        let now = self.clock.now();
        faults.extend(model::admission::expired(&call.action, None, now));
        Faults::check(faults).map_err(Problem::faulty)?;

        let trials = self.trials.as_ref().ok_or_else(|| Problem::busy("This server makes no calls."))?;
        let _place = trials.places.take(self.caller_name()).map_err(|taken| match taken {
            Taken::All => {
                Problem::busy(format!("{MOST} test calls are under way already; try again when one has ended."))
            }
            Taken::Share(mine) => Problem::too_many_at_once(format!(
                "{mine} test calls of yours are under way already, which is your share of the {MOST} that this server makes \
                 at a time. Try again when one has ended."
            )),
        })?;
        let target = wire::job::job_of_test_call(body).unwrap_or_default();
        let destination = call.action.call.destination().to_string();
        self.note(Act::TestCall, target, &json!({"destination": destination})).await?;
        let order = Order {
            call: &call.action.call,
            collection: stored.as_ref().map_or("test", |(collection, _)| &collection.path.name),
            job: stored.as_ref().map_or("test", |(_, job)| &job.name),
            location: stored.as_ref().map_or("Local", |(collection, _)| &collection.location),
            expected_at: now,
            tag: self.fresh_tag(),
            request_id: Uuid::new_v4(),
            trace: None,
        };
        let outcome = trials.runner.run(order).await;
        let went = if outcome.success { "succeeded" } else { "failed" };
        let told = json!({"destination": destination, "outcome": went});
        if let Err(problem) = self.note(Act::TestCall, target, &told).await {
            // The call was made, and that it began is noted: the caller gets the answer.
            tracing::error!(?problem, target, "the outcome of a test call is not noted");
        }
        let took = Duration::try_from(now.duration_until(self.clock.now())).unwrap_or_default();
        Ok(Called { started_at: now, took, outcome, ignored: call.ignored })
    }

    /// What the audit tells of a test call that asks for the secrets of a job that its caller may not write, or may not
    /// even see; `None` for any other.
    pub(crate) fn denied_test_call(&self, body: &[u8]) -> Option<Value> {
        let body: Value = serde_json::from_slice(body).ok()?;
        let id = wire::job::job_of_test_call(&body)?;
        let (path, _) = job_of_id(id)?;
        if self.caller.grants.decide(Permission::Write, &Scope::Collection(path)) == Decision::Allowed {
            return None;
        }
        let destination =
            wire::job::destination_of_test_call(&body).map(|destination| destination.to_string());
        Some(json!({"job": id, "destination": destination}))
    }
}
