//! What was read of tokens and roles a moment ago.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use access::{Assignment, TokenId, TokenRecord};
use model::Timestamp;
use store::Store;

use crate::problem::Problem;

/// How long something counts without a look at the store, in seconds: how long a token that was revoked through
/// another node may still be used.
const FRESH: i64 = 2;

/// How long after a use the next is written down, in seconds.
const USE_EVERY: i64 = 60;

/// The most tokens that are remembered.
const MOST: usize = 10_000;

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Directory(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    /// Raised when something is forgotten, so that what was read before is not kept after.
    generation: u64,
    tokens: HashMap<TokenId, (TokenRecord, Timestamp)>,
    roles: Option<(Arc<Vec<Assignment>>, Timestamp)>,
    /// When uses were last written down.
    used: HashMap<TokenId, Timestamp>,
}

fn is_fresh(read_at: Timestamp, now: Timestamp) -> bool {
    // A clock that was set back makes nothing fresh for longer.
    (0..FRESH).contains(&(now.as_second() - read_at.as_second()))
}

impl Directory {
    fn known(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Forgets everything but uses.
    pub(super) fn forget(&self) {
        let mut known = self.known();
        known.generation += 1;
        known.tokens.clear();
        known.roles = None;
    }

    /// A token.
    pub(super) async fn token(
        &self,
        store: &Arc<dyn Store>,
        id: &TokenId,
        now: Timestamp,
    ) -> Result<Option<TokenRecord>, Problem> {
        let generation = {
            let known = self.known();
            if let Some((record, _)) = known.tokens.get(id).filter(|(_, read_at)| is_fresh(*read_at, now)) {
                return Ok(Some(record.clone()));
            }
            known.generation
        };
        let found = store.token(id).await?;
        let mut known = self.known();
        if let Some(record) = found.as_ref().filter(|_| known.generation == generation) {
            if known.tokens.len() >= MOST {
                known.tokens.clear();
            }
            known.tokens.insert(id.clone(), (record.clone(), now));
        }
        Ok(found)
    }

    /// All roles.
    pub(super) async fn assignments(
        &self,
        store: &Arc<dyn Store>,
        now: Timestamp,
    ) -> Result<Arc<Vec<Assignment>>, Problem> {
        let generation = {
            let known = self.known();
            if let Some((roles, _)) = known.roles.as_ref().filter(|(_, read_at)| is_fresh(*read_at, now)) {
                return Ok(Arc::clone(roles));
            }
            known.generation
        };
        let found = Arc::new(store.assignments().await?);
        let mut known = self.known();
        if known.generation == generation {
            known.roles = Some((Arc::clone(&found), now));
        }
        Ok(found)
    }

    /// Writes down that a token is in use, in the background, where that was not done lately.
    pub(super) fn used(&self, store: &Arc<dyn Store>, record: &TokenRecord, now: Timestamp) {
        let is_late = |last: Timestamp| now.as_second().saturating_sub(last.as_second()) < USE_EVERY;
        {
            let mut known = self.known();
            if known.used.get(&record.id).copied().or(record.used_at).is_some_and(is_late) {
                return;
            }
            if known.used.len() >= MOST {
                known.used.clear();
            }
            known.used.insert(record.id.clone(), now);
        }
        let (store, id) = (Arc::clone(store), record.id.clone());
        tokio::spawn(async move {
            if let Err(error) = store.use_token(&id, now).await {
                // It is told again in a minute, if the token is still in use.
                tracing::debug!(%error, token = %id, "the use of a token is not written down");
            }
        });
    }
}
