//! How far a store has come: the row that each commit writes, and how it is read where SQLite cannot be asked.

use std::path::Path;

use rusqlite::{Connection, OpenFlags, params};

use super::fault::Outcome;

/// The row of `revisions`, without the revision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Standing {
    /// How many commits there were.
    pub(super) commits: i64,
    /// The opening that it is of.
    pub(super) opening: String,
    /// The one before.
    pub(super) before: String,
    /// Whether the file was complete without a log.
    pub(super) closed: bool,
}

const COLUMNS: &str = "commits, opening, opening_before, closed";

impl Standing {
    /// As the store has it; `None` where it was not opened since there is such a thing.
    pub(super) fn read(db: &Connection) -> Outcome<Option<Self>> {
        if !is_marked(db)? {
            return Ok(None);
        }
        let standing = db.query_row(&format!("SELECT {COLUMNS} FROM revisions"), [], |row| {
            Ok(Self { commits: row.get(0)?, opening: row.get(1)?, before: row.get(2)?, closed: row.get(3)? })
        })?;
        Ok(Some(standing).filter(|standing| !standing.opening.is_empty()))
    }

    /// Begins an opening: from here on the file may need its log.
    pub(super) fn open(db: &Connection) -> Outcome<()> {
        db.execute(
            "UPDATE revisions SET commits = commits + 1, opening_before = opening, closed = 0,
             opening = lower(hex(randomblob(16)))",
            [],
        )?;
        Ok(())
    }

    /// Ends an opening: everything is about to be in the file.
    pub(super) fn close(db: &Connection) -> Outcome<()> {
        db.execute("UPDATE revisions SET commits = commits + 1, closed = 1", [])?;
        Ok(())
    }

    /// Makes a copy a store of its own, complete as it is, to which no log belongs.
    pub(super) fn part(copy: &Connection) -> Outcome<()> {
        Self::open(copy)?;
        copy.execute("UPDATE revisions SET opening_before = '', closed = 1", params![])?;
        Ok(())
    }

    /// Reads it out of the page of a table with one row; `None` where it is none.
    pub(super) fn of_page(page: &[u8]) -> Option<Self> {
        const LEAF_OF_TABLE: u8 = 0x0d;
        let two = |at: usize| Some(usize::from(u16::from_be_bytes(page.get(at..at + 2)?.try_into().ok()?)));
        if *page.first()? != LEAF_OF_TABLE || two(3)? != 1 {
            return None;
        }
        let mut cell = Cell(page.get(two(8)?..)?);
        let (_length, _row) = (cell.varint()?, cell.varint()?);
        let record = cell.0;
        let mut head = Cell(record);
        let length = usize::try_from(head.varint()?).ok()?;
        let mut head = Cell(head.0.get(..length.checked_sub(record.len() - head.0.len())?)?);
        let mut values = Cell(record.get(length..)?);
        let mut next = || values.value(head.varint()?);
        let (_revision, commits) = (next()?.number()?, next()?.number()?);
        let (opening, before) = (next()?.text()?, next()?.text()?);
        let closed = next()?.number()? != 0;
        Some(Self { commits, opening, before, closed })
    }
}

fn is_marked(db: &Connection) -> Outcome<bool> {
    let sql = "SELECT EXISTS (SELECT 1 FROM pragma_table_info('revisions') WHERE name = 'opening')";
    Ok(db.query_row(sql, [], |row| row.get(0))?)
}

/// What a file alone says, whatever log lies beside it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Alone {
    /// How it stands; `None` where it does not say.
    pub(super) standing: Option<Standing>,
    /// The page that says so.
    pub(super) page: Option<u32>,
    /// Whether it is a copy that nobody has served yet.
    pub(super) is_copy: bool,
}

impl Alone {
    /// Reads a file as if there were no log. Nothing is written, and nobody else may be writing.
    pub(super) fn read(path: &Path) -> Outcome<Self> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
        let db = Connection::open_with_flags(format!("file:{}?immutable=1", escaped(path)), flags)?;
        super::migrations::check(&db)?;
        let standing = Standing::read(&db)?;
        let page = if is_marked(&db)? {
            let sql = "SELECT rootpage FROM sqlite_schema WHERE name = 'revisions'";
            Some(db.query_row(sql, [], |row| row.get(0))?)
        } else {
            None
        };
        Ok(Self { standing, page, is_copy: super::moves::copied_at(&db)?.is_some() })
    }
}

/// A path as part of a URI.
fn escaped(path: &Path) -> String {
    use std::os::unix::ffi::OsStrExt as _;
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let bytes = path.as_os_str().as_bytes().iter();
    bytes
        .map(|byte| match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'-' | b'_' => {
                char::from(*byte).to_string()
            }
            other => format!("%{other:02X}"),
        })
        .collect()
}

/// What is left of a record, as <https://www.sqlite.org/fileformat2.html#record_format> has it.
struct Cell<'a>(&'a [u8]);

enum Value {
    Number(i64),
    Text(String),
}

impl Value {
    fn number(self) -> Option<i64> {
        match self {
            Self::Number(number) => Some(number),
            Self::Text(_) => None,
        }
    }

    fn text(self) -> Option<String> {
        match self {
            Self::Text(text) => Some(text),
            Self::Number(_) => None,
        }
    }
}

impl<'a> Cell<'a> {
    fn take(&mut self, bytes: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(bytes)?;
        self.0 = rest;
        Some(taken)
    }

    fn varint(&mut self) -> Option<u64> {
        let mut number = 0;
        for place in 0..9 {
            let byte = *self.take(1)?.first()?;
            if place == 8 {
                return Some(number << 8 | u64::from(byte));
            }
            number = number << 7 | u64::from(byte & 0x7f);
            if byte & 0x80 == 0 {
                break;
            }
        }
        Some(number)
    }

    fn value(&mut self, kind: u64) -> Option<Value> {
        let bytes = match kind {
            1..=4 => usize::try_from(kind).ok()?,
            5 => 6,
            6 => 8,
            8 => return Some(Value::Number(0)),
            9 => return Some(Value::Number(1)),
            13.. if kind % 2 == 1 => {
                let text = self.take(usize::try_from((kind - 13) / 2).ok()?)?;
                return Some(Value::Text(String::from_utf8(text.to_vec()).ok()?));
            }
            _ => return None,
        };
        let bytes = self.take(bytes)?;
        // The sign is that of the first byte.
        let sign = if bytes.first()? & 0x80 == 0 { 0 } else { -1 };
        Some(Value::Number(bytes.iter().fold(sign, |number, byte| number << 8 | i64::from(*byte))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_says_what_sqlite_says() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a name with % and ?.db");
        let mut db = Connection::open(&path).unwrap();
        super::super::migrations::run(&mut db).unwrap();
        assert_eq!(Standing::read(&db).unwrap(), None, "nobody has opened it");
        for commits in [0, 1, 2, 126, 127, 128, 40_000, 8_388_607, 2_147_483_647, 1 << 40, i64::MAX - 2] {
            db.execute("UPDATE revisions SET commits = ?1, last = ?1 % 70000", params![commits]).unwrap();
            Standing::open(&db).unwrap();
            let standing = Standing::read(&db).unwrap().unwrap();
            assert_eq!(standing.commits, commits + 1);
            assert_eq!((standing.opening.len(), standing.closed), (32, false));
            let alone = Alone::read(&path).unwrap();
            assert_eq!((alone.standing.as_ref(), alone.is_copy), (Some(&standing), false));
            let bytes = std::fs::read(&path).unwrap();
            let page = bytes.chunks(4096).nth(alone.page.unwrap() as usize - 1).unwrap();
            assert_eq!(Standing::of_page(page), Some(standing.clone()));
            Standing::close(&db).unwrap();
            assert!(Alone::read(&path).unwrap().standing.unwrap().closed);
        }
        assert_eq!(Standing::of_page(&[]), None);
        assert_eq!(Standing::of_page(&[0x0d, 0, 0, 0, 1, 0, 0, 0, 0xff, 0xff]), None);
    }
}
