//! The PostgreSQL store does what every store must do: the same suite, against a real server.
//!
//! The server is named by `PUNCTUAL_TEST_POSTGRES`; `scripts/with-postgres` starts one for a command. Without it, these
//! tests say that they were left out, and pass.

mod postgres;

use postgres::Postgres;

store::conformance!(where Some(backend) = crate::Postgres::fresh().await);

store::accounting!(every_instant_is_accounted_for, 12, where Some(backend) = Postgres::fresh().await);
