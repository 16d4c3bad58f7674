//! Shards: which node looks for which jobs first.
//!
//! Every job has a shard, by its name. Every node knows who else lives and finds for itself which shards it prefers, by
//! rendezvous hashing: the node with the highest score for a shard prefers it. So nodes seldom reach for the same rows,
//! and a node that comes or goes moves only its own share. Nothing depends on it: what is overdue anybody claims.

use model::CollectionPath;

use crate::codec::key;

/// How many there are: enough for an even share of a few dozen nodes. Rows name their shard, so it never changes.
pub(super) const SHARDS: i16 = 64;

/// The shard of a job.
pub(crate) fn of_job(collection: &CollectionPath, name: &str) -> i16 {
    let names = [&collection.subscription, &collection.group, &collection.name, name];
    let mut hash = FNV;
    for name in names {
        hash = mix(mix(hash, key(name).as_bytes()), b"/");
    }
    (spread(hash) % SHARDS as u64) as i16
}

/// The shards that one of the living nodes prefers. One that is not among them prefers all.
pub(super) fn preferred(epoch: i64, living: &[i64]) -> Vec<i16> {
    let score =
        |shard: i16, epoch: i64| (spread(mix(mix(FNV, &shard.to_le_bytes()), &epoch.to_le_bytes())), epoch);
    let is_ours = |shard: &i16| living.iter().all(|other| score(*shard, *other) <= score(*shard, epoch));
    (0..SHARDS).filter(|shard| !living.contains(&epoch) || is_ours(shard)).collect()
}

/// The start of an FNV-1a hash: rows name shards, so it must be the same in every version.
const FNV: u64 = 0xcbf2_9ce4_8422_2325;

fn mix(hash: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(hash, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3))
}

/// Lets every bit of a hash count.
fn spread(mut hash: u64) -> u64 {
    hash ^= hash >> 33;
    hash = hash.wrapping_mul(0xff51_afd7_ed55_8ccd);
    hash ^ (hash >> 33)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shard_has_one_node_and_every_node_a_share() {
        for living in [vec![1], vec![1, 2], vec![3, 8, 9], (1..=10).collect::<Vec<i64>>()] {
            let mut all = Vec::new();
            for node in &living {
                let share = preferred(*node, &living);
                assert!(!share.is_empty(), "{node} of {living:?}");
                all.extend(share);
            }
            all.sort_unstable();
            assert_eq!(all, (0..SHARDS).collect::<Vec<_>>());
        }
        assert_eq!(preferred(5, &[]).len(), SHARDS as usize);
    }

    #[test]
    fn who_leaves_moves_only_its_own() {
        let (before, after) = ([1, 2, 3], [1, 3]);
        for node in after {
            let kept = preferred(node, &before);
            let now = preferred(node, &after);
            assert!(kept.iter().all(|shard| now.contains(shard)), "{node}");
        }
    }

    #[test]
    fn a_job_has_the_same_shard_in_any_case() {
        let path =
            |name: &str| CollectionPath { subscription: "S".into(), group: "g".into(), name: name.into() };
        let shard = of_job(&path("Team"), "Job");
        assert_eq!(shard, of_job(&path("team"), "jOB"));
        // Written down: rows carry it, so another version must find the same.
        assert_eq!(shard, 33);
        let used: std::collections::BTreeSet<i16> =
            (0..1000).map(|i| of_job(&path("team"), &format!("job{i}"))).collect();
        assert!(used.len() > 60, "{}", used.len());
    }
}
