//! What every backend of [`Store`](crate::Store) must do: one suite, run against each of them.
//!
//! A backend says how it is opened ([`Backend`]) and calls [`conformance!`](crate::conformance) in a test of its own,
//! which makes one test of each behaviour; [`accounting!`](crate::accounting) makes one of the random walk.
//!
//! A new behaviour is a function in the module of its subject and a name in the list below.

pub mod accounting;
pub mod certificates;
pub mod changes;
pub mod claims;
pub mod groups;
pub mod pauses;
pub mod records;
pub mod register;
pub mod resources;
pub mod sealing;
pub mod search;
pub mod settling;
pub mod tallies;
mod world;

use std::sync::Arc;

use async_trait::async_trait;
use model::Timestamp;

use crate::{Keyring, Result, Store};

pub use world::{World, action, path};

/// How a backend is opened.
#[async_trait]
pub trait Backend: Send + Sync {
    /// Opens the one store of this backend with these keys; what was written before is there. The suite drops a store
    /// before it opens it again, and takes that for a restart of the process: nobody who held a claim is left.
    async fn open_with(&self, keyring: Keyring, now: Timestamp) -> Result<Arc<dyn Store>>;

    /// The same, with the keys of [`keyring`].
    async fn open(&self, now: Timestamp) -> Arc<dyn Store> {
        self.open_with(keyring(), now).await.expect("the store opens")
    }
}

/// The keys of a test: the same in every process.
pub fn keyring() -> Keyring {
    Keyring::read(&format!("punctual1_{}", "A".repeat(43))).expect("a key")
}

/// Makes a test of each behaviour. The backend is an expression that is evaluated anew for each, in a module of its
/// own: name things by their full path. It must have the default plans and patience, and be empty. Where it may not be
/// there, a pattern says so; then the test is left out.
///
/// ```ignore
/// store::conformance!(crate::fresh());
/// store::conformance!(where Some(backend) = crate::fresh_if_any().await);
/// ```
#[macro_export]
macro_rules! conformance {
    ($backend:expr) => {
        $crate::conformance!(where Some(backend) = Some($backend));
    };
    (where Some($name:ident) = $backend:expr) => {
        $crate::conformance! { $name, Some($name) = $backend;
            resources:
                collections_are_found_in_any_case,
                collections_are_sorted_and_paged,
                collections_expect_a_revision,
                collections_of_a_plan_are_limited,
                jobs_are_found_in_any_case,
                jobs_are_sorted_filtered_and_paged,
                jobs_of_a_collection_are_limited,
                finished_jobs_leave_their_place,
                jobs_that_come_at_once_are_counted,
                jobs_expect_a_standing,
                jobs_need_a_collection,
                deleted_names_can_be_used_again,
                definitions_come_back_as_they_were_written,
                a_census_counts;
            search:
                jobs_are_searched_in_all_collections,
                found_jobs_are_sorted_and_paged,
                the_soonest_jobs_come_first,
                jobs_are_counted_by_state;
            certificates:
                certificates_are_listed_by_their_end;
            groups:
                groups_are_found_in_any_case,
                groups_are_sorted_filtered_and_paged,
                groups_expect_a_revision,
                a_collection_brings_its_group_along,
                a_deleted_group_takes_everything_along,
                groups_survive_a_restart,
                subscriptions_are_those_with_groups;
            claims:
                what_is_due_is_claimed_once,
                what_is_ahead_is_claimed_in_time,
                claims_are_limited_and_say_that_there_is_more,
                what_is_not_begun_is_still_to_come,
                what_is_released_is_handed_out_again,
                a_claim_that_nobody_heard_is_handed_out_again,
                a_restart_hands_out_again_with_the_same_tag,
                the_bell_rings_for_what_is_new,
                runs_that_do_not_overlap_are_skipped,
                runs_that_wait_follow_each_other,
                an_outage_is_made_up_by_the_policy,
                what_somebody_asked_for_is_claimed;
            changes:
                a_change_takes_back_what_is_not_begun,
                a_change_leaves_what_is_begun,
                a_refused_change_takes_nothing_away,
                a_change_of_the_timing_accounts_for_what_was_due,
                disabling_stops_retries,
                disabling_and_enabling_accounts_for_the_pause,
                a_replaced_job_counts_anew,
                deleting_accounts_for_what_was_in_flight,
                what_a_deleted_job_had_begun_ends_as_it_ends,
                a_disabled_collection_runs_nothing,
                a_disabled_collection_stops_retries,
                a_deleted_collection_takes_its_jobs_along;
            pauses:
                a_pause_is_accounted_for_however_it_ends,
                a_job_that_was_never_on_is_accounted_for,
                a_disabled_collection_is_the_reason,
                a_job_that_runs_once_runs_after_a_pause,
                what_is_off_has_skipped_what_is_entered_later,
                what_is_off_is_found_by_name_and_time;
            settling:
                success_counts_and_completes,
                failures_are_repeated_then_fault,
                error_actions_follow,
                an_asked_run_leaves_the_schedule_alone,
                what_is_settled_twice_counts_once,
                the_last_occurrence_decides_the_final_state,
                batches_are_settled_together,
                what_went_well_counts_beside_what_did_not,
                a_settlement_tells_what_it_wrote,
                what_was_too_late_is_missed;
            sealing:
                another_key_seals_everything_in_the_end,
                what_executions_keep_is_sealed_anew_too,
                a_key_that_is_needed_is_asked_for;
            register:
                tokens_are_kept_revoked_and_removed_with_their_roles,
                roles_are_given_in_what_is_there,
                roles_are_given_once_in_any_case,
                roles_end_with_their_scope,
                sessions_begin_are_used_and_end,
                a_change_is_noted_with_it_or_not_at_all,
                changes_that_come_at_once_are_all_noted,
                what_was_changed_breaks_the_chain,
                the_audit_is_filtered_and_paged,
                old_notes_are_pruned_and_the_rest_is_a_chain,
                lists_have_only_what_is_seen;
            tallies:
                minutes_are_tallied,
                tallies_add_up,
                old_tallies_are_pruned;
            records:
                the_history_is_filtered_and_paged,
                the_ledger_is_filtered,
                the_ledger_is_paged,
                old_records_are_pruned,
                history_is_cut_to_its_limit,
                ended_jobs_are_removed,
                deleted_jobs_leave_in_the_end,
                marks_of_the_clock_are_kept;
        }
    };
    ($name:ident, $there:pat = $backend:expr; $($subject:ident: $($behaviour:ident),+;)+) => {
        $(mod $subject {
            $(#[tokio::test]
            async fn $behaviour() {
                if let $there = $backend {
                    $crate::conformance::$subject::$behaviour(&$name).await;
                }
            })+
        })+
    };
}
