//! The API through its front door: the real router, on the real store, without a socket.
//!
//! `limits`, `plans` and `lists` go through every limit at its edge. `mutated` sends what nobody would send on purpose.
//! `switched` is about the state of collections.

mod door;
mod limits;
mod lists;
mod mutated;
mod plans;
mod switched;
