//! Files of keys: for their owner's eyes, and never half written.

use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use store::Keyring;

/// The most bytes of a file of keys: more than anybody has, less than would hurt.
const LARGEST: u64 = 64 * 1024;

const HEAD: &str = "# The keys of this server's secrets: the first seals, all of them open. Keep a copy apart from the data.\n";

/// What a file holds.
pub(super) fn read(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    File::open(path)?.take(LARGEST + 1).read_to_string(&mut text)?;
    if text.len() as u64 > LARGEST {
        return Err(io::Error::other(format!("it has more than {LARGEST} bytes: this is no file of keys")));
    }
    Ok(text)
}

/// Puts keys in the place of those that a file holds. They are durable when this returns.
pub(super) fn write(path: &Path, keyring: &Keyring) -> io::Result<()> {
    let partial = write_beside(path, keyring)?;
    fs::rename(&partial, path)?;
    sync_folder(path)
}

/// Makes a file of keys, and leaves one that is there alone; whether there was none.
pub(super) fn create(path: &Path, keyring: &Keyring) -> io::Result<bool> {
    let partial = write_beside(path, keyring)?;
    let linked = fs::hard_link(&partial, path);
    fs::remove_file(&partial)?;
    match linked {
        Ok(()) => sync_folder(path).map(|()| true),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(error),
    }
}

/// A durable file that has not its name yet.
fn write_beside(path: &Path, keyring: &Keyring) -> io::Result<PathBuf> {
    let partial = PathBuf::from(format!("{}.{}.partial", path.display(), std::process::id()));
    let written = write_durably(&partial, keyring);
    if written.is_err() {
        // Only tidying up; the error says what is wrong.
        let _ = fs::remove_file(&partial);
    }
    written.map(|()| partial)
}

fn write_durably(path: &Path, keyring: &Keyring) -> io::Result<()> {
    let mut file = File::options().write(true).create(true).truncate(true).mode(0o600).open(path)?;
    // One that was left behind keeps the mode it had.
    file.set_permissions(fs::Permissions::from_mode(0o600))?;
    file.write_all(HEAD.as_bytes())?;
    file.write_all(keyring.text().as_bytes())?;
    file.sync_all()
}

fn sync_folder(path: &Path) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    File::open(folder)?.sync_all()
}

/// Says so where others than the owner may read a file of keys.
pub(super) fn warn_if_open(path: &Path) {
    let Ok(metadata) = fs::metadata(path) else { return };
    let mode = metadata.permissions().mode() & 0o777;
    if mode & 0o077 != 0 {
        tracing::warn!(
            file = %path.display(),
            mode = format!("{mode:o}"),
            "others than the owner may use this file of keys; chmod 600 keeps them away"
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_and_is_the_owners() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("keys");
        let keyring = store::conformance::keyring();
        for made in [true, false] {
            assert_eq!(create(&path, &keyring).expect("written"), made);
            write(&path, &keyring).expect("written");
            let again = Keyring::read(&read(&path).expect("read")).expect("keys");
            assert_eq!(again.first().id(), keyring.first().id());
        }
        assert_eq!(fs::metadata(&path).expect("there").permissions().mode() & 0o777, 0o600);
        assert_eq!(fs::read_dir(folder.path()).expect("read").count(), 1, "nothing unfinished stays");
        fs::write(&path, vec![b'x'; LARGEST as usize + 1]).expect("written");
        assert!(read(&path).is_err());
    }
}
