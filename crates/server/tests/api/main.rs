//! The API as clients meet it: whole requests to the real router, on the real store.

mod enum_case;
mod groups;
mod paging;
mod races;
mod rates;
mod surroundings;
mod versions;
mod world;
