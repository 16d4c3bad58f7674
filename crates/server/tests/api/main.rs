//! The API through its front door: the real router, on the real store, without a socket.
//!
//! `limits`, `plans` and `lists` go through every limit at its edge. `mutated` sends what nobody would send on purpose.
//! `described` holds the API's own description against what is answered. `switched` is about the state of
//! collections, `headers` about headers.

mod described;
mod door;
mod headers;
mod limits;
mod lists;
mod mutated;
mod plans;
mod switched;
