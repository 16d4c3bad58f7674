//! The keys of secrets: whether those are at hand without which the store cannot be opened.

use server::config::Config;
use server::keys;
use store::{DatabaseInspection, DatabaseSchema, KeyId, SqliteStore};

use super::{Finding, data};

const CHECK: &str = "keys.secrets";

/// Of the embedded store.
pub(super) fn look(config: &Config) -> Finding {
    let database = config.store_file();
    if !data::is_whole(config) {
        return Finding::unknown(CHECK, "a store that is not whole is not asked which keys it needs");
    }
    let needed = match SqliteStore::keys_of(&database) {
        Ok(needed) => needed,
        Err(error) => return Finding::unknown(CHECK, error.to_string()),
    };
    let is_there = database.exists();
    judge(config, &needed, is_there, || {
        let says = format!("the secrets in {} are not sealed yet", database.display());
        Finding::warning(CHECK, says, "`punctual serve` seals them when it starts")
    })
}

/// Of a database, as it was found. Its nodes are given their keys: none makes one for itself.
pub(super) fn look_shared(config: &Config, found: Option<&DatabaseInspection>) -> Finding {
    if config.secrets.key.is_none() && config.secrets.key_file.as_os_str().is_empty() {
        let fix = "give every node the same, in PUNCTUAL_SECRETS_KEY or secrets.key-file: `punctual keys generate` \
                   prints one";
        return Finding::wrong(CHECK, "no key is given, and with a database no node makes one", fix);
    }
    let Some(found) = found else {
        return Finding::unknown(CHECK, "the database cannot be asked which keys it needs");
    };
    let is_there = matches!(found.schema, DatabaseSchema::Ours { .. });
    judge(config, &found.keys, is_there, || {
        Finding::unknown(CHECK, "the database does not say which keys it needs")
    })
}

/// Whether the keys at hand are those that are needed; `unsealed` is what it means that none is.
fn judge(config: &Config, needed: &[KeyId], is_there: bool, unsealed: impl FnOnce() -> Finding) -> Finding {
    let (keyring, source) = match keys::at_hand(config) {
        Ok(found) => found,
        Err(error) => {
            let fix = "give PUNCTUAL_SECRETS_KEY or secrets.key-file what `punctual keys generate` prints";
            return Finding::wrong(CHECK, format!("the keys cannot be read: {error:#}"), fix);
        }
    };
    if !is_there {
        return Finding::ok(CHECK, "there is no store yet, and so no secret");
    }
    if needed.is_empty() {
        return unsealed();
    }
    let is_missing = |id: &&KeyId| keyring.as_ref().is_none_or(|keyring| keyring.get(id).is_none());
    let missing: Vec<&KeyId> = needed.iter().filter(is_missing).collect();
    let place = source.place();
    if missing.is_empty() {
        return Finding::ok(
            CHECK,
            format!("secrets are sealed with the key {}, which {place} has", named(needed)),
        );
    }
    Finding::wrong(
        CHECK,
        format!("secrets are sealed with the key {}, and {place} does not have it", named(missing)),
        "put it back from where you keep it apart from the data; without it `punctual serve` does not start",
    )
}

fn named<'a>(ids: impl IntoIterator<Item = &'a KeyId>) -> String {
    ids.into_iter().map(KeyId::as_str).collect::<Vec<_>>().join(" and ")
}
