//! Jobs: whether each of them can be read as it is stored.

use server::config::{Config, DatabaseUrl};
use server::keys;
use store::{DatabaseInspection, DatabaseSchema, Keyring, UnreadableJob};

use super::{Finding, data};

/// The most jobs that are named.
const MOST: usize = 20;

/// Those of the embedded store.
pub(super) fn look(config: &Config) -> Option<Finding> {
    const CHECK: &str = "data.jobs";
    let database = config.store_file();
    if !database.exists() {
        return None;
    }
    if !data::is_whole(config) {
        return Some(Finding::unknown(CHECK, "the jobs of a store that is not whole are not looked through"));
    }
    Some(match store::unreadable_jobs(&database, keyring(config).as_ref()) {
        Ok(Some(found)) => judge(CHECK, &found),
        Ok(None) => {
            Finding::unknown(CHECK, "the store is of an earlier version; `serve` brings it up to date")
        }
        Err(error) => Finding::unknown(CHECK, error.to_string()),
    })
}

/// Those of a database, as it was found.
pub(super) async fn look_shared(config: &Config, url: &DatabaseUrl, found: &DatabaseInspection) -> Finding {
    const CHECK: &str = "database.jobs";
    match found.schema {
        DatabaseSchema::Ours { number, oldest }
            if number >= found.newest_schema && oldest <= found.newest_schema => {}
        DatabaseSchema::None => return Finding::ok(CHECK, "there is no job yet"),
        _ => return Finding::unknown(CHECK, "the tables are not those of this version"),
    }
    match store::unreadable_jobs_of_database(url.reveal(), keyring(config).as_ref()).await {
        Ok(found) => judge(CHECK, &found),
        Err(fault) => Finding::unknown(CHECK, format!("the jobs cannot be read: {fault:?}")),
    }
}

fn keyring(config: &Config) -> Option<Keyring> {
    keys::at_hand(config).ok().and_then(|(keyring, _)| keyring)
}

fn judge(check: &'static str, found: &[UnreadableJob]) -> Finding {
    if found.is_empty() {
        return Finding::ok(check, "every job can be read as it is stored");
    }
    let named = found.iter().take(MOST).map(|job| {
        let UnreadableJob { collection, name, why } = job;
        format!("{}/{}/{}/{name} ({why})", collection.subscription, collection.group, collection.name)
    });
    let named = named.collect::<Vec<_>>().join("; ");
    let others = found.len().saturating_sub(MOST);
    let others = if others > 0 { format!("; and {others} more") } else { String::new() };
    let jobs = if found.len() == 1 { "job" } else { "jobs" };
    Finding::wrong(
        check,
        format!("{} {jobs} cannot be read as stored, and will not run: {named}{others}", found.len()),
        "write each anew with `punctual job create --replace` or PUT, or delete it; if a newer version of Punctual wrote \
         it, use that version",
    )
}
