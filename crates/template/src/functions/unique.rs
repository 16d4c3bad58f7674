//! Names that are made from other names: `uniqueString` and `guid`.
//!
//! Azure does not describe its algorithms. `uniqueString` gives what Azure gave wherever a value of it is known (see
//! the test): a hash of 64 bits in the manner of MurmurHash3 with two lanes of 32 bits, written in 13 letters. `guid` is
//! a name-based UUID (RFC 9562, version 5) in the namespace that Azure is said to use; no value of it was compared.

use uuid::Uuid;

const NAMESPACE: Uuid = Uuid::from_u128(0x11fb06fb_712d_4ddd_98c7_e71bbd588830);

pub(super) fn guid(text: &str) -> String {
    Uuid::new_v5(&NAMESPACE, text.as_bytes()).to_string()
}

pub(super) fn string(text: &str) -> String {
    const LETTERS: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";
    const LENGTH: u32 = 13;
    let hash = hash(text.as_bytes());
    // Five bits for each letter, from the left.
    (0..LENGTH).map(|place| char::from(LETTERS[((hash << (5 * place)) >> 59) as usize])).collect()
}

const ONE: u32 = 0x239b_961b;
const TWO: u32 = 0xab0e_9789;

fn hash(bytes: &[u8]) -> u64 {
    let mix_one = |word: u32| word.wrapping_mul(ONE).rotate_left(15).wrapping_mul(TWO);
    let mix_two = |word: u32| word.wrapping_mul(TWO).rotate_left(17).wrapping_mul(ONE);
    // The bytes of a word that is not whole count as if zeros followed.
    let word = |bytes: &[u8]| bytes.iter().rev().fold(0, |word: u32, byte| word << 8 | u32::from(*byte));
    let (mut one, mut two) = (0_u32, 0_u32);
    let mut blocks = bytes.chunks_exact(8);
    for block in &mut blocks {
        one = (one ^ mix_one(word(&block[..4]))).rotate_left(19).wrapping_add(two);
        one = one.wrapping_mul(5).wrapping_add(0x561c_cd1b);
        two = (two ^ mix_two(word(&block[4..]))).rotate_left(13).wrapping_add(one);
        two = two.wrapping_mul(5).wrapping_add(0x0bca_a747);
    }
    let rest = blocks.remainder();
    if rest.len() > 4 {
        two ^= mix_two(word(&rest[4..]));
    }
    one ^= mix_one(word(&rest[..rest.len().min(4)]));
    let length = bytes.len() as u32;
    one ^= length;
    two ^= length;
    one = one.wrapping_add(two);
    two = two.wrapping_add(one);
    one = finish(one);
    two = finish(two);
    one = one.wrapping_add(two);
    two = two.wrapping_add(one);
    u64::from(two) << 32 | u64::from(one)
}

fn finish(mut word: u32) -> u32 {
    word = (word ^ word >> 16).wrapping_mul(0x85eb_ca6b);
    word = (word ^ word >> 13).wrapping_mul(0xc2b2_ae35);
    word ^ word >> 16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_that_azure_gave() {
        assert_eq!(string("tyeth"), "zcztcwvu6iyg6");
        assert_eq!(hash(b"hello-world"), 571_013_382_255_652_050);
        assert_eq!(string("hello-world"), "a7wkljktk6wne");
    }
}
