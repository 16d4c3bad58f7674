//! The data folder: may we write there, is there room, who holds it, is it whole.

use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};

use recurrence::Timestamp;
use server::config::Config;

use super::Finding;

/// Below so many bytes a disk is about to be full.
const LITTLE: u64 = 256 << 20;

pub(super) fn look(config: &Config, now: Timestamp) -> Vec<Finding> {
    let folder = &config.data;
    if !folder.is_dir() {
        return vec![absent(folder)];
    }
    let mut findings = vec![rights("data.rights", folder), space(folder)];
    let database = config.store_file();
    findings.push(lock(folder, &database));
    findings.extend(private(config));
    if let Err(error) = examine(config) {
        let fix = "`punctual serve` does not start with it, and says the same; nothing is changed until then";
        findings.push(Finding::wrong("data.store", error.to_string(), fix));
    } else if database.exists() {
        findings.push(store(&database));
        findings.extend(past(&database, now));
    } else {
        findings.push(Finding::ok(
            "data.store",
            format!("{} is not there yet; `serve` makes it", database.display()),
        ));
    }
    findings
}

fn examine(config: &Config) -> store::Result<()> {
    store::examine_unused(&config.store_file(), Some(&server::keys::managed(config)))
}

/// Whether the store may be opened: where it is not whole, that alone could change it.
pub(super) fn is_whole(config: &Config) -> bool {
    examine(config).is_ok()
}

fn absent(folder: &Path) -> Finding {
    if folder.exists() {
        let says = format!("{} is no folder", folder.display());
        return Finding::wrong("data.rights", says, "--data or the setting data names another");
    }
    let parent = folder.ancestors().skip(1).find(|parent| parent.is_dir() || parent.as_os_str().is_empty());
    let parent = parent.filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let found = rights("data.rights", parent);
    if found.verdict == super::Verdict::Ok {
        let says = format!("{} is not there yet; `serve` makes it", folder.display());
        return Finding::ok("data.rights", says);
    }
    found
}

/// Whether a file can be made there.
fn rights(check: &'static str, folder: &Path) -> Finding {
    match tempfile::tempfile_in(folder) {
        Ok(_) => Finding::ok(check, format!("{} can be written", folder.display())),
        Err(error) => Finding::wrong(
            check,
            format!("nothing can be written to {}: {error}", folder.display()),
            format!("give the user that serves the right: chown USER '{}'", folder.display()),
        ),
    }
}

fn space(folder: &Path) -> Finding {
    const CHECK: &str = "data.space";
    match rustix::fs::statvfs(folder) {
        Ok(disk) => {
            let free = disk.f_bavail.saturating_mul(disk.f_frsize);
            let says = format!("{} MiB are free on the disk of {}", free >> 20, folder.display());
            if free < LITTLE {
                let fix = "make room: when the disk is full, changes are refused and runs are not recorded";
                return Finding::wrong(CHECK, says, fix);
            }
            Finding::ok(CHECK, says)
        }
        Err(error) => Finding::unknown(CHECK, format!("how much is free is not known: {error}")),
    }
}

/// Whether a server is using it. Nothing is made to find out.
fn lock(folder: &Path, database: &Path) -> Finding {
    const CHECK: &str = "data.lock";
    let path = PathBuf::from(format!("{}.lock", database.display()));
    let Ok(file) = File::open(&path) else { return Finding::ok(CHECK, "no server has used the folder yet") };
    // A network drive that cannot lock folders locks files, which is what counts.
    let is_folder_held = File::open(folder)
        .is_ok_and(|folder| matches!(folder.try_lock_shared(), Err(TryLockError::WouldBlock)));
    match file.try_lock_shared() {
        Ok(()) if !is_folder_held => Finding::ok(CHECK, "no server is using the folder"),
        Ok(()) | Err(TryLockError::WouldBlock) => Finding::ok(CHECK, "a running server is using the folder"),
        Err(TryLockError::Error(error)) => Finding::wrong(
            CHECK,
            format!("{} cannot be locked: {error}", path.display()),
            "put the data folder on a disk of this machine: not every network drive can lock",
        ),
    }
}

/// Whether others than the owner may look into it.
fn private(config: &Config) -> Vec<Finding> {
    const CHECK: &str = "data.private";
    let open = server::open_to_others(config);
    if open.is_empty() {
        return vec![Finding::ok(CHECK, "only its owner may use what is in it")];
    }
    let finding = |(path, mode): (PathBuf, u32)| {
        let says = format!("others than the owner may use {} (mode {mode:o})", path.display());
        Finding::warning(CHECK, says, format!("chmod 700 '{}'", config.data.display()))
    };
    open.into_iter().map(finding).collect()
}

fn store(database: &Path) -> Finding {
    const CHECK: &str = "data.store";
    let restore = "stop the server and restore a backup: see `punctual restore --help`";
    match store::inspect(database) {
        Err(error) => Finding::wrong(CHECK, error.to_string(), restore),
        Ok(found) if !found.faults.is_empty() => {
            let says = format!("{} is damaged: {}", database.display(), found.faults.join("; "));
            Finding::wrong(CHECK, says, restore)
        }
        Ok(found) => {
            let newer = (found.schema < found.newest_schema)
                .then(|| format!(", which `serve` brings to {}", found.newest_schema));
            let copied =
                found.copied_at.map(|at| format!("; a copy, with all that was committed before {at}"));
            let [newer, copied] = [newer, copied].map(Option::unwrap_or_default);
            Finding::ok(CHECK, format!("whole; schema {}{newer}{copied}", found.schema))
        }
    }
}

/// A file that was changed in the future says that the clock has been set back.
fn past(database: &Path, now: Timestamp) -> Option<Finding> {
    const CHECK: &str = "clock.past";
    let changed = database.metadata().ok()?.modified().ok()?;
    let changed = Timestamp::try_from(changed).ok()?;
    let ahead = changed.duration_since(now).as_secs();
    if ahead > 1 {
        return Some(Finding::wrong(
            CHECK,
            format!("the store was changed {ahead} seconds from now: the clock has been set back"),
            "set the clock; what was due in between waits until then",
        ));
    }
    Some(Finding::ok(CHECK, "the clock is past the last change of the store"))
}
