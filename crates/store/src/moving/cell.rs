//! Cells: what stands in the columns of either database, decoded, and what a row of them sums up to.

use model::Uuid;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

/// What a column holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// A number.
    Number,
    /// A number with few digits.
    Small,
    /// Yes or no.
    Flag,
    /// A text.
    Text,
    /// A UUID.
    Id,
    /// Bytes, such as a hash.
    Bytes,
}

/// A value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Cell {
    /// None.
    Null,
    /// See [`Form::Number`] and [`Form::Small`].
    Number(i64),
    /// See [`Form::Flag`].
    Flag(bool),
    /// See [`Form::Text`].
    Text(String),
    /// See [`Form::Id`].
    Id(#[serde(with = "id")] Uuid),
    /// See [`Form::Bytes`].
    Bytes(Vec<u8>),
}

/// Keys are written down as JSON; none of them is a UUID, but a cell can be.
mod id {
    use model::Uuid;
    use serde::{Deserialize as _, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(id: &Uuid, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(id)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Uuid, D::Error> {
        let text = String::deserialize(from)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

/// The cells of a row, in the order of its kind's columns.
pub(crate) type Row = Vec<Cell>;

impl Cell {
    /// The number in it, if it is one.
    pub(crate) fn number(&self) -> Option<i64> {
        match self {
            Self::Number(number) => Some(*number),
            _ => None,
        }
    }

    /// The text in it, if it is one.
    pub(crate) fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// About how many bytes it takes.
    pub(crate) fn size(&self) -> usize {
        match self {
            Self::Text(text) => text.len() + 32,
            Self::Bytes(bytes) => bytes.len() + 32,
            _ => 32,
        }
    }

    /// Each value has one spelling, and no two rows the same.
    fn digest(&self, hash: &mut Sha256) {
        match self {
            Self::Null => hash.update([0]),
            Self::Number(number) => {
                hash.update([1]);
                hash.update(number.to_le_bytes());
            }
            Self::Flag(flag) => hash.update([2, u8::from(*flag)]),
            Self::Text(text) => {
                hash.update([3]);
                hash.update((text.len() as u64).to_le_bytes());
                hash.update(text);
            }
            Self::Id(id) => {
                hash.update([4]);
                hash.update(id.as_bytes());
            }
            Self::Bytes(bytes) => {
                hash.update([5]);
                hash.update((bytes.len() as u64).to_le_bytes());
                hash.update(bytes);
            }
        }
    }
}

/// How many rows, and a sum over them that does not depend on their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Sum {
    /// How many.
    pub rows: u64,
    /// The sum of their hashes.
    pub sum: u128,
}

impl Sum {
    /// Counts a row.
    pub(crate) fn add(&mut self, row: &[Cell]) {
        let mut hash = Sha256::new();
        row.iter().for_each(|cell| cell.digest(&mut hash));
        let bytes: [u8; 32] = hash.finalize().into();
        let half = bytes.first_chunk::<16>().copied().unwrap_or_default();
        self.rows += 1;
        self.sum = self.sum.wrapping_add(u128::from_le_bytes(half));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sum(rows: &[Row]) -> Sum {
        let mut sum = Sum::default();
        rows.iter().for_each(|row| sum.add(row));
        sum
    }

    #[test]
    fn a_sum_knows_every_value_and_no_order() {
        let text = |text: &str| Cell::Text(text.to_owned());
        let (a, b) = (vec![Cell::Number(1), text("ab")], vec![Cell::Null, text("c")]);
        assert_eq!(sum(&[a.clone(), b.clone()]), sum(&[b.clone(), a.clone()]));
        for other in [
            vec![Cell::Number(2), text("ab")],
            vec![Cell::Number(1), text("abc")],
            vec![Cell::Flag(true), text("ab")],
            vec![Cell::Number(1), text("a"), text("b")],
        ] {
            assert_ne!(sum(&[a.clone(), b.clone()]), sum(&[other.clone(), b.clone()]), "{other:?}");
        }
        // A row that is there twice does not make up for one that is missing.
        assert_ne!(sum(&[a.clone(), a.clone()]), sum(&[a, b]));
    }

    #[test]
    fn keys_are_written_down_and_read_again() {
        let key = vec![Cell::Text("ä\"".into()), Cell::Number(-7), Cell::Id(Uuid::from_u128(5)), Cell::Null];
        let text = serde_json::to_string(&key).unwrap();
        assert_eq!(serde_json::from_str::<Row>(&text).unwrap(), key);
    }
}
