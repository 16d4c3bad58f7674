//! Keys: what is sealed with one is sealed with another in the end, and a key that is missing is missed at once.

use model::action::{Call, HttpAuthentication};
use model::{Definition, JobState, Secret};

use super::{Backend, World, action, keyring};
use crate::{Error, Key, KeyUse, Keyring};

fn with_password(mut definition: Definition, password: &str) -> Definition {
    if let Call::Http { request, .. } = &mut definition.action.call {
        let password = Secret::new(password);
        request.authentication = Some(HttpAuthentication::Basic { username: "clerk".into(), password });
    }
    definition
}

fn new_key() -> Key {
    Key::generate().expect("a key")
}

/// What the store says of its keys: the definitions that each has sealed, the one that seals first.
async fn counts(world: &World<'_>) -> Vec<u64> {
    let uses: Vec<KeyUse> = world.store().keys().await.expect("keys");
    assert!(uses[0].seals && uses[1..].iter().all(|other| !other.seals), "{uses:?}");
    uses.iter().map(|one| one.definitions).collect()
}

/// Everything is sealed anew in steps; nothing that a client sees changes; then the old key is let go.
pub async fn another_key_seals_everything_in_the_end(backend: &dyn Backend) {
    let world = World::new(backend).await;
    for n in 0..5 {
        world.put(&format!("job-{n}"), with_password(world.minutely_in(60), &format!("p{n}"))).await;
    }
    world.put("open", world.minutely_in(60)).await;
    assert_eq!(counts(&world).await, [5], "a job without secrets is sealed with nothing");
    let before = world.job("job-3").await;

    let key = new_key();
    world.store().add_key(key.clone()).await.unwrap();
    world.put("new", with_password(world.minutely_in(60), "p")).await;
    assert_eq!(counts(&world).await, [1, 5]);
    assert_eq!(world.store().reseal(3).await.unwrap(), 3);
    assert_eq!(world.store().retire_keys().await.unwrap(), [], "it is still needed");
    assert_eq!(counts(&world).await, [4, 2]);
    assert_eq!(world.job("job-3").await.job.definition, before.job.definition);
    assert_eq!(world.store().reseal(3).await.unwrap(), 2);
    assert_eq!(world.store().reseal(3).await.unwrap(), 0);
    let after = world.job("job-3").await;
    assert_eq!((after.job.definition, after.revision), (before.job.definition, before.revision));
    assert_eq!(world.store().retire_keys().await.unwrap(), [keyring().first().id().clone()]);
    let now = world.now;
    drop(world);

    let store = backend.open_with(Keyring::new(key, []), now).await.expect("the new key alone will do");
    let job = store.job(&super::path(), "new").await.unwrap().expect("there");
    assert_eq!(job.job.definition, with_password(job.job.definition.clone(), "p"));
}

/// An execution that goes on with the definition it began with keeps its secrets through a change of keys.
pub async fn what_executions_keep_is_sealed_anew_too(backend: &dyn Backend) {
    let mut world = World::new(backend).await;
    world.put("job", with_password(world.minutely(), "of before")).await;
    let claims = world.claim(0).await;
    assert!(claims[0].ticket.begin());
    world
        .patch("job", JobState::Enabled, |definition| definition.action = action("http://example.com/2"))
        .await;
    world.store().add_key(new_key()).await.unwrap();
    assert_eq!(counts(&world).await, [0, 1], "the job itself has no secret any more");
    assert_eq!(world.store().reseal(100).await.unwrap(), 1);
    assert_eq!(world.store().retire_keys().await.unwrap().len(), 1);
    world.settle(&claims[0], false).await;
    world.now = world.after(3600);
    let again = world.claim(0).await;
    let again = again.iter().find(|claim| claim.execution.tag == claims[0].execution.tag).expect("a retry");
    assert_eq!(again.job.definition, with_password(again.job.definition.clone(), "of before"));
}

/// Even where nothing is sealed yet, other keys do not open the store; and whoever gives both may go on.
pub async fn a_key_that_is_needed_is_asked_for(backend: &dyn Backend) {
    let world = World::new(backend).await;
    let now = world.now;
    drop(world);
    let (stranger, own) = (new_key(), keyring());
    let refused = backend.open_with(Keyring::new(stranger.clone(), []), now).await.err().expect("refused");
    assert!(matches!(refused, Error::Keys(_)), "{refused}");
    for id in [own.first().id(), stranger.id()] {
        assert!(refused.to_string().contains(id.as_str()), "{refused}");
    }
    let both = Keyring::new(stranger, [own.first().clone()]);
    let store = backend.open_with(both, now).await.expect("both are given");
    assert_eq!(store.keys().await.unwrap().iter().filter(|key| key.needed).count(), 2);
}
