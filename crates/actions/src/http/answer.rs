//! Answers: reading a body of any length in a memory of fixed size.

use super::{Limits, Progress, link::Body};
use crate::fault::{Fault, Kind};

/// Reads a body to its end and returns as much of its beginning as is kept.
///
/// The end matters although it is not kept: an answer that breaks off is a failure, one that never ends is too, and
/// only a connection that was read to the end can be used again.
pub(crate) async fn read(mut body: Body, limits: &Limits, progress: &mut Progress) -> Result<Vec<u8>, Fault> {
    // A declared length is believed, if only to fail sooner.
    if body.declared() > limits.body {
        return Err(too_large(limits.body));
    }
    let mut kept = Kept { beginning: Vec::new(), most: limits.kept };
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| Fault::of_body(&error, &progress.so_far()))?;
        let Some(data) = frame.data_ref() else { continue };
        progress.body += data.len() as u64;
        if progress.body > limits.body {
            return Err(too_large(limits.body));
        }
        kept.take(data);
    }
    Ok(kept.beginning)
}

/// The beginning of a body, up to so many bytes.
struct Kept {
    beginning: Vec<u8>,
    most: usize,
}

impl Kept {
    /// Takes of the next piece what there is room for.
    fn take(&mut self, piece: &[u8]) {
        let room = self.most - self.beginning.len();
        self.beginning.extend_from_slice(&piece[..piece.len().min(room)]);
    }
}

/// Reads a body that nobody wants, if it is short: then its connection can be used again. Whether it works does not
/// matter.
pub(crate) async fn drain(mut body: Body, limit: u64) {
    let mut read = 0;
    if body.declared() > limit {
        return;
    }
    while let Some(Ok(frame)) = body.frame().await {
        read += frame.data_ref().map_or(0, |data| data.len() as u64);
        if read > limit {
            return;
        }
    }
}

fn too_large(limit: u64) -> Fault {
    Fault::new(
        Kind::MessageLengthLimitExceeded,
        format!("the body of the answer is larger than {limit} bytes"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_beginning_is_kept_however_long_the_body() {
        let mut kept = Kept { beginning: Vec::new(), most: 4099 };
        for number in 0..100_u8 {
            kept.take(&[number; 1000]);
        }
        let expected: Vec<u8> = (0..100).flat_map(|number| [number; 1000]).take(4099).collect();
        assert_eq!(kept.beginning, expected);
    }
}
