//! A store that was damaged is served complete or not at all.
//!
//! Files of a store that was stopped, and of one that was killed, are cut, mixed, lost and damaged at random; then the
//! store is opened, and where it opens everything has to be there. `DAMAGES` and `SEED` ask for more or for others:
//! `DAMAGES=2000 cargo nextest run -p store --test sqlite_damages --no-capture`.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use model::Timestamp;
use store::conformance::{Backend, World, action, keyring, path};
use store::{Durability, Keyring, SqliteFile, SqliteSettings, SqliteStore, Store};
use tempfile::TempDir;

const DB: &str = "punctual.db";
const LOG: &str = "punctual.db-wal";
const INDEX: &str = "punctual.db-shm";
const WITNESS: &str = "punctual.db.witness";

struct Sqlite<'p>(&'p Path);

#[async_trait]
impl Backend for Sqlite<'_> {
    async fn open_with(&self, keyring: Keyring, now: Timestamp) -> store::Result<Arc<dyn Store>> {
        Ok(Arc::new(SqliteStore::open(self.0.join(DB), SqliteSettings::new(keyring), now)?))
    }
}

fn now() -> Timestamp {
    "2027-01-01T00:00:00Z".parse().expect("a date")
}

/// Everything that is in a store, as text.
type Contents = Vec<String>;

async fn contents(store: &dyn Store) -> store::Result<Contents> {
    let mut all: Contents = Vec::new();
    for job in store.all_jobs(&path()).await? {
        all.push(format!("{job:?}"));
    }
    all.push(format!("{:?}", store.collection(&path()).await?));
    all.push(format!("{:?}", store.ledger(&store::LedgerQuery::default(), 500).await?));
    Ok(all)
}

/// Folders as they were left, each with its contents.
struct Left {
    folder: TempDir,
    now: Contents,
}

impl Left {
    fn of(&self, state: &str) -> PathBuf {
        self.folder.path().join(state)
    }
}

/// Makes a store with some jobs in its file and some in its log.
async fn make(name: &str) -> Left {
    let folder = tempfile::tempdir().expect("a folder");
    let data = folder.path().join("data");
    fs::create_dir(&data).expect("made");
    let keep = |state: &str| copy(&data, &folder.path().join(state));
    let backend = Sqlite(&data);
    let put = async |world: &World<'_>, round: &str| {
        for i in 0..30 {
            let mut definition = world.minutely_in(60 + i);
            definition.action = action(&format!("http://{name}.example/{round}/{i}"));
            world.put(&format!("{name}-{round}-{i}"), definition).await;
        }
    };
    let world = World::resume(&backend, now()).await;
    drop(world);
    let mut world = World::new(&backend).await;
    put(&world, "a").await;
    world.store().close().await.expect("closed");
    keep("older stopped");
    world.restart().await;
    put(&world, "b").await;
    keep("older killed");
    put(&world, "c").await;
    keep("killed");
    let now = contents(&**world.store()).await.expect("read");
    world.store().close().await.expect("closed");
    keep("stopped");
    drop(world);
    Left { folder, now }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("made");
    for file in fs::read_dir(from).expect("read").flatten() {
        fs::copy(file.path(), to.join(file.file_name())).expect("copied");
    }
    fs::write(to.join("keys"), "keys").expect("written");
}

/// A generator of numbers that are the same for the same seed (SplitMix64).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, end: usize) -> usize {
        (self.next() % end.max(1) as u64) as usize
    }
}

const KINDS: [&str; 8] = ["bit", "cut", "emptied", "missing", "garbage", "sector", "older", "other store's"];

/// Damages one file of a folder; what was done.
fn damage(folder: &Path, kind: &str, left: &Left, other: &Left, state: &str, random: &mut Random) -> String {
    let there: Vec<&str> =
        [DB, LOG, WITNESS, INDEX].into_iter().filter(|name| folder.join(name).exists()).collect();
    // The file and its log matter more than the others.
    let name = there[random.below(there.len() + 2) % there.len()];
    let file = folder.join(name);
    let mut bytes = fs::read(&file).expect("read");
    let length = bytes.len();
    let mut at = 0;
    match kind {
        "bit" if length > 0 => {
            at = random.below(length);
            bytes[at] ^= 1 << random.below(8);
        }
        "cut" => {
            at = random.below(length);
            bytes.truncate(at);
        }
        "emptied" => bytes.clear(),
        "garbage" => bytes.iter_mut().for_each(|byte| *byte = random.next() as u8),
        "sector" if length > 0 => {
            at = random.below(length) / 512 * 512;
            let end = (at + 512).min(length);
            bytes[at..end].fill(if random.below(2) == 0 { 0 } else { 0xff });
        }
        "older" | "other store's" => {
            let from = if kind == "older" { left.of(&format!("older {state}")) } else { other.of(state) };
            match fs::read(from.join(name)) {
                Ok(found) => bytes = found,
                Err(_) => bytes.clear(),
            }
        }
        _ => {}
    }
    if kind == "missing" {
        fs::remove_file(&file).expect("removed");
    } else {
        fs::write(&file, bytes).expect("written");
    }
    format!("{state}: {kind}, {name} of {length} bytes at {at}")
}

/// Opens a folder as a server does; everything in it, or why it is refused.
async fn open(folder: &Path) -> store::Result<Contents> {
    let file = SqliteFile::take(folder.join(DB), Some(&folder.join("keys")))?;
    let settings = SqliteSettings { durability: Durability::ProcessDeath, ..SqliteSettings::new(keyring()) };
    let store = SqliteStore::open_file(file, settings, now())?;
    contents(&store).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_store_is_served_complete_or_refused() {
    let asked = |name: &str| std::env::var(name).ok().and_then(|text| text.parse().ok());
    let damages = asked("DAMAGES").unwrap_or(200);
    let mut random = Random(asked("SEED").unwrap_or(2027));
    let (left, other) = (make("mine").await, make("other").await);
    assert!(fs::metadata(left.of("killed").join(LOG)).expect("a log").len() > 100_000);
    assert!(!left.of("stopped").join(LOG).exists(), "a store that was stopped has no log");

    let mut counts: BTreeMap<(&str, &str), [u32; 2]> = BTreeMap::new();
    for state in ["stopped", "killed"] {
        for number in 0..damages as usize {
            let kind = KINDS[number % KINDS.len()];
            let folder = tempfile::tempdir().expect("a folder");
            copy(&left.of(state), folder.path());
            let what = damage(folder.path(), kind, &left, &other, state, &mut random);
            let is_refused = match open(folder.path()).await {
                Ok(found) => {
                    assert!(found == left.now, "{what}: served, but not complete");
                    false
                }
                Err(error) => {
                    assert!(error.to_string().contains(DB), "{what}: {error}");
                    true
                }
            };
            counts.entry((state, kind)).or_default()[usize::from(is_refused)] += 1;
        }
    }
    println!("| store | damage | refused | served complete |\n|---|---|--:|--:|");
    for ((state, kind), [served, refused]) in &counts {
        println!("| {state} | {kind} | {refused} | {served} |");
    }
    for state in ["stopped", "killed"] {
        let of_state = counts.iter().filter(|((of, _), _)| *of == state);
        let [served, refused] = of_state.fold([0, 0], |sum, (_, [a, b])| [sum[0] + a, sum[1] + b]);
        println!("| {state} | all | {refused} | {served} |");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_left_is_served_complete() {
    let left = make("mine").await;
    for state in ["stopped", "killed"] {
        assert!(open(&left.of(state)).await.expect("served") == left.now, "{state}");
        // Again, by the next server.
        assert!(open(&left.of(state)).await.expect("served") == left.now, "{state}");
    }
}

/// A process that is killed while it commits leaves half a transaction, which nobody was told of.
#[tokio::test(flavor = "multi_thread")]
async fn a_torn_end_of_the_log_is_normal() {
    let left = make("mine").await;
    let folder = left.of("killed");
    let mut log = fs::read(folder.join(LOG)).expect("read");
    // The frames of a transaction without its end: as those of the last one, with nothing said of an end.
    let half = log[log.len() - 2 * 4120..log.len() - 1000].to_vec();
    log.extend(half);
    fs::write(folder.join(LOG), log).expect("written");
    assert!(open(&folder).await.expect("served") == left.now);
}
