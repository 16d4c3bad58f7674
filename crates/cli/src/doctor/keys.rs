//! The keys of secrets: whether those are at hand without which the store cannot be opened.

use server::config::Config;
use server::keys;
use store::{KeyId, SqliteStore};

use super::Finding;

const CHECK: &str = "keys.secrets";

pub(super) fn look(config: &Config) -> Finding {
    if config.database.is_some() {
        return Finding::unknown(
            CHECK,
            "the store is a database, which is not asked; each node is given the keys",
        );
    }
    let database = config.store_file();
    let needed = match SqliteStore::keys_of(&database) {
        Ok(needed) => needed,
        Err(error) => return Finding::unknown(CHECK, error.to_string()),
    };
    let (keyring, source) = match keys::at_hand(config) {
        Ok(found) => found,
        Err(error) => {
            let fix = "give PUNCTUAL_SECRETS_KEY or secrets.key-file what `punctual keys generate` prints";
            return Finding::wrong(CHECK, format!("the keys cannot be read: {error:#}"), fix);
        }
    };
    if !database.exists() {
        return Finding::ok(CHECK, "there is no store yet, and so no secret");
    }
    if needed.is_empty() {
        let says = format!("the secrets in {} are not sealed yet", database.display());
        return Finding::warning(CHECK, says, "`punctual serve` seals them when it starts");
    }
    let is_missing = |id: &&KeyId| keyring.as_ref().is_none_or(|keyring| keyring.get(id).is_none());
    let missing: Vec<&KeyId> = needed.iter().filter(is_missing).collect();
    let place = source.place();
    if missing.is_empty() {
        return Finding::ok(
            CHECK,
            format!("secrets are sealed with the key {}, which {place} has", named(&needed)),
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
