//! The API through its front door: the real router, on the real store, without a socket.
//!
//! `limits`, `plans` and `lists` go through every limit at its edge. `mutated` sends what nobody would send on purpose.
//! `switched` is about the state of collections; `enum_case`, `versions`, `paging`, `races`, `rates`, `groups` and `surroundings`
//! are about what clients of different kinds and ages take for granted. `imports` writes many resources at once.

mod door;
mod enum_case;
mod groups;
mod imports;
mod limits;
mod lists;
mod mutated;
mod paging;
mod plans;
mod races;
mod rates;
mod surroundings;
mod switched;
mod versions;
mod world;
