//! `/healthz`, which means that the engine works, and `/readyz`, which costs little.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use actions::scripted::Scripted;
use model::{Clock, Timestamp};

use super::door::{Door, NOW};

/// A clock that breaks: whoever asks it then ends by a panic, as a mistake in the engine would end it.
struct Fragile {
    is_broken: AtomicBool,
}

impl Clock for Fragile {
    fn now(&self) -> Timestamp {
        assert!(!self.is_broken.load(Ordering::SeqCst), "the clock is broken");
        NOW.parse().expect("a time")
    }
}

#[tokio::test]
async fn an_engine_that_has_ended_is_told_part_by_part() {
    let door = Door::open(&[]);
    assert_eq!(
        door.call("GET", "/healthz", None).await.status,
        200,
        "nobody runs jobs here, so nobody is missed"
    );
    let clock = Arc::new(Fragile { is_broken: AtomicBool::new(false) });
    let (store, watched) = (door.app.store.clone(), door.app.live.watched.clone());
    let runner = Arc::new(Scripted::succeeding());
    let engine = engine::Engine::start_watched(store, runner, clock.clone(), door.config.engine(), watched);
    let well = door.call("GET", "/healthz", None).await;
    assert_eq!((well.status, &well.body["status"]), (200, &"ok".into()));

    clock.is_broken.store(true, Ordering::SeqCst);
    let told = loop {
        let answer = door.call("GET", "/healthz", None).await;
        let told = answer.body["error"]["message"].as_str().unwrap_or_default().to_owned();
        // One after the other, as each looks at the clock.
        if told.contains("the claimer has ended") && told.contains("the dispatcher has ended") {
            assert_eq!(answer.status, 503);
            break told;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    };
    // Nobody can give it attempts any more.
    assert!(told.contains("the settler has ended") || !told.contains("settler"), "{told}");
    assert_eq!(door.call("GET", "/readyz", None).await.status, 200, "the store is well");
    drop(engine);
}

#[tokio::test]
async fn an_engine_that_was_stopped_is_not_missed() {
    let door = Door::open(&[]);
    let engine = door.start(Arc::new(Scripted::succeeding()));
    assert!(engine.stop().await);
    assert_eq!(door.call("GET", "/healthz", None).await.status, 200);
}

#[tokio::test(start_paused = true)]
async fn many_probes_are_one_commit() {
    let door = Door::open(&[]);
    let commits = || door.app.store.numbers().commits.read().counts.iter().sum::<u64>();
    let before = commits();
    for _ in 0..20 {
        assert_eq!(door.call("GET", "/readyz", None).await.status, 200);
    }
    assert_eq!(commits() - before, 1);
    tokio::time::advance(Duration::from_secs(1)).await;
    assert_eq!(door.call("GET", "/readyz", None).await.status, 200);
    assert_eq!(commits() - before, 2, "after a second the store is tried again");
}
