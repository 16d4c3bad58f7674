//! Reads a write-ahead log as SQLite would, and further: what lies behind a frame that is damaged.
//!
//! SQLite ends at the first frame that does not fit and says nothing: after a crash that is right, because what was being
//! written then was never acknowledged. But it is also what happens when the log is damaged in its middle. So here all
//! frames are looked at. A transaction is on the disk before the next one is written; so a whole transaction behind a
//! damaged frame, with another frame behind it, says that something was lost that had been there.
//!
//! The format is that of <https://www.sqlite.org/fileformat2.html#walformat>.

use std::fs::File;
use std::io::{self, BufReader, ErrorKind, Read};
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use super::standing::Standing;

const HEADER: usize = 32;
const FRAME_HEADER: usize = 24;

/// The first four bytes; the last bit says whether checksums are made of big-endian words.
const MAGIC: u32 = 0x377f_0682;

/// What a log tells.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Log {
    /// Its length in bytes; 0 where there is none.
    pub(super) bytes: u64,
    /// Whole transactions up to the first frame that does not fit.
    pub(super) transactions: u64,
    /// How the store stood after the first of these that says so.
    pub(super) first: Option<Standing>,
    /// And after the last.
    pub(super) last: Option<Standing>,
    /// Whether transactions that were on the disk lie behind a damaged frame, where they cannot be used.
    pub(super) is_broken: bool,
    /// The most commits that a whole frame behind a damaged one tells of.
    pub(super) beyond: Option<i64>,
}

/// The checksum of SQLite's logs, over eight bytes at a time; what is missing at the end counts as zeros.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Checksum(u32, u32);

impl Checksum {
    pub(super) fn add(self, bytes: &[u8], big_endian: bool) -> Self {
        let word = |bytes: [u8; 4]| {
            if big_endian { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) }
        };
        let Self(mut one, mut two) = self;
        let (eights, rest) = bytes.as_chunks::<8>();
        let mut last = [0; 8];
        last[..rest.len()].copy_from_slice(rest);
        let last = Some(&last).filter(|_| !rest.is_empty());
        for eight in eights.iter().chain(last) {
            let [a, b, c, d, e, f, g, h] = *eight;
            one = one.wrapping_add(word([a, b, c, d])).wrapping_add(two);
            two = two.wrapping_add(word([e, f, g, h])).wrapping_add(one);
        }
        Self(one, two)
    }

    /// Both halves in one number.
    pub(super) fn value(self) -> u64 {
        u64::from(self.0) << 32 | u64::from(self.1)
    }

    fn stored(bytes: &[u8], at: usize) -> Self {
        Self(word(bytes, at), word(bytes, at + 4))
    }
}

/// Reads a log. `page` is the number of the page that says how the store stands, where that is known.
pub(super) fn read(path: &Path, page: Option<u32>) -> io::Result<Log> {
    match File::open(path) {
        Ok(file) => {
            let bytes = file.metadata()?.len();
            Ok(Log { bytes, ..scan(&mut BufReader::with_capacity(1 << 20, file), page)? })
        }
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Log::default()),
        Err(error) => Err(error),
    }
}

fn scan(log: &mut impl Read, page: Option<u32>) -> io::Result<Log> {
    let mut told = Log::default();
    let mut header = [0; HEADER];
    if !fill(log, &mut header)? {
        return Ok(told);
    }
    let magic = word(&header, 0);
    let big_endian = magic == MAGIC | 1;
    let mut before = Checksum::stored(&header, 24);
    let mut fits = magic | 1 == MAGIC | 1 && Checksum::default().add(&header[..24], big_endian) == before;
    let size = match word(&header, 8) {
        size if fits && size.is_power_of_two() && (512..=65_536).contains(&size) => size as usize,
        // What follows can be looked at all the same: ours have pages of this size.
        _ => 4096,
    };
    // What was left there by a round of the log before this one has other salts, and counts for nothing.
    let mut salts = fits.then(|| [word(&header, 16), word(&header, 20)]);
    let mut frame = vec![0; FRAME_HEADER + size];
    let mut in_transaction: Option<Standing> = None;
    // Of those behind a damaged frame.
    let mut is_complete = false;
    while fill(log, &mut frame)? {
        let (head, content) = frame.split_at(FRAME_HEADER);
        let sum = Checksum::stored(head, 16);
        let number = word(head, 0);
        let is_whole = number != 0 && before.add(&head[..8], big_endian).add(content, big_endian) == sum;
        before = sum;
        let ours = [word(head, 8), word(head, 12)];
        fits &= is_whole && salts == Some(ours);
        if !is_whole || *salts.get_or_insert(ours) != ours {
            continue;
        }
        let standing = page.filter(|page| *page == number).and_then(|_| Standing::of_page(content));
        let ends = word(head, 4) != 0;
        if fits {
            in_transaction = standing.or(in_transaction);
            if ends {
                told.transactions += 1;
                let standing = in_transaction.take();
                told.first = told.first.or_else(|| standing.clone());
                told.last = standing.or(told.last);
            }
        } else {
            told.is_broken |= is_complete;
            is_complete |= ends;
            told.beyond = told.beyond.max(standing.map(|standing| standing.commits));
        }
    }
    Ok(told)
}

/// The length and the checksum of a whole file.
pub(super) fn sum(file: &File) -> io::Result<(u64, u64)> {
    let mut piece = vec![0; 1 << 20];
    let (mut length, mut sum) = (0, Checksum::default());
    loop {
        let mut filled = 0;
        while filled < piece.len()
            && let read @ 1.. = file.read_at(&mut piece[filled..], length + filled as u64)?
        {
            filled += read;
        }
        sum = sum.add(&piece[..filled], false);
        length += filled as u64;
        if filled < piece.len() {
            return Ok((length, sum.value()));
        }
    }
}

/// Fills all of it, or says that there is not so much left.
fn fill(from: &mut impl Read, bytes: &mut [u8]) -> io::Result<bool> {
    match from.read_exact(bytes) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => Ok(false),
        Err(error) => Err(error),
    }
}

fn word(bytes: &[u8], at: usize) -> u32 {
    let four = bytes.get(at..at + 4).and_then(|bytes| bytes.try_into().ok());
    u32::from_be_bytes(four.unwrap_or_default())
}
