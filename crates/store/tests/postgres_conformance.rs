//! The PostgreSQL store does what every store must do: the same suite, against a real server.
//!
//! The server is named by `PUNCTUAL_TEST_POSTGRES`; `scripts/with-postgres` starts one for a command. Without it, these
//! tests say that they were left out, and pass.

mod postgres;

use model::{CatchUp, Overlap};
use postgres::Postgres;
use proptest::prelude::*;
use store::conformance::accounting::{self, Step};

store::conformance!(where Some(backend) = crate::Postgres::fresh().await);

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn every_instant_is_accounted_for(
        overlap in prop_oneof![Just(Overlap::Allow), Just(Overlap::Skip), Just(Overlap::Queue)],
        catch_up in prop_oneof![Just(CatchUp::Last), Just(CatchUp::None), Just(CatchUp::All { max: 3 })],
        steps in prop::collection::vec(any::<[u8; 3]>().prop_map(Step::from_bytes), 0..60),
    ) {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("a runtime");
        runtime.block_on(async {
            if let Some(backend) = Postgres::fresh().await {
                accounting::holds(&backend, overlap, catch_up, &steps).await;
            }
        });
    }
}
