//! Where a call stands in a trace, as W3C Trace Context writes it; and which traces are kept.
//!
//! ```
//! use actions::TraceContext;
//!
//! let text = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
//! let context = TraceContext::parse(text).expect("well formed");
//! assert!(context.sampled);
//! assert_eq!(context.to_string(), text);
//! ```

use std::fmt;

/// A span of a trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TraceContext {
    /// The trace; never 0.
    pub trace: u128,
    /// The span; never 0.
    pub span: u64,
    /// Whether whoever began it keeps it.
    pub sampled: bool,
}

impl TraceContext {
    /// Reads a `traceparent`. `None` where it is not well formed, which the standard treats as absent.
    pub fn parse(text: &str) -> Option<Self> {
        let mut parts = text.trim().split('-');
        let version = hex(parts.next()?, 2)?;
        let (trace, span) = (hex(parts.next()?, 32)?, hex(parts.next()?, 16)?);
        let flags = hex(parts.next()?, 2)?;
        // Version 00 ends here; later ones may say more, and ff is none.
        if version == 0xff || (version == 0 && parts.next().is_some()) || trace == 0 || span == 0 {
            return None;
        }
        Some(Self { trace, span: u64::try_from(span).ok()?, sampled: flags & 1 == 1 })
    }
}

/// A number of so many digits, in lower case.
fn hex(text: &str, digits: usize) -> Option<u128> {
    let is_hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    (text.len() == digits && text.bytes().all(is_hex)).then(|| u128::from_str_radix(text, 16).ok())?
}

impl fmt::Display for TraceContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "00-{:032x}-{:016x}-{:02x}", self.trace, self.span, u8::from(self.sampled))
    }
}

/// Which traces are kept: a part of them, by their numbers, so that all who see a trace decide alike.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sampling(f64);

impl Sampling {
    /// A part from 0 to 1.
    pub fn new(part: f64) -> Self {
        Self(part.clamp(0.0, 1.0))
    }

    /// Whether a trace is kept.
    pub fn keeps(self, trace: u128) -> bool {
        /// The bits that decide: the last, which are random in every kind of trace id.
        const BITS: u32 = 48;
        let number = (trace & ((1 << BITS) - 1)) as f64;
        number < self.0 * (1_u64 << BITS) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_well_formed_is_absent() {
        let good = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00";
        assert_eq!(TraceContext::parse(good).map(|context| context.sampled), Some(false));
        let later = "cc-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-what-the-future-brings";
        assert!(TraceContext::parse(later).is_some());
        for text in [
            "",
            "00",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more",
            "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            "00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01",
            "00-00000000000000000000000000000000-b7ad6b7169203331-01",
            "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
            "00-0af7651916cd43dd8448eb211c80319-b7ad6b7169203331-01",
            "00-+af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
        ] {
            assert_eq!(TraceContext::parse(text), None, "{text}");
        }
    }

    #[test]
    fn a_part_of_all_traces_is_kept() {
        // Numbers spread as those of real traces are.
        let traces = (0..10_000_u128).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835));
        let kept = |part| traces.clone().filter(|trace| Sampling::new(part).keeps(*trace)).count();
        assert_eq!((kept(0.0), kept(1.0), kept(7.0)), (0, 10_000, 10_000));
        let tenth = kept(0.1);
        assert!((900..1100).contains(&tenth), "{tenth}");
    }
}
