//! The client certificates of jobs.

use model::action::{Call, HttpAuthentication};
use model::{Action, Definition, JobState, Secret, Timestamp};

use super::Backend;
use super::world::{World, action, path};

/// An action with a certificate that expires at an instant.
fn certified(name: &str, expiration: Timestamp) -> Action {
    let mut action = action("https://example.com/");
    if let Call::Http { request, .. } = &mut action.call {
        request.authentication = Some(HttpAuthentication::ClientCertificate {
            pfx: Secret::new("pfx"),
            password: Secret::new("password"),
            thumbprint: format!("{name}-print"),
            expiration,
            subject: format!("CN={name}"),
        });
    }
    action
}

/// Those of actions and error actions, the first to expire first; as long as their jobs have them.
#[allow(clippy::unwrap_used, reason = "a test that cannot go on shall stop")]
pub async fn certificates_are_listed_by_their_end(backend: &dyn Backend) {
    let mut world = World::new(backend).await;
    let listed = async |world: &World<'_>, top| -> Vec<(String, String)> {
        let found = world.store().certificates(top).await.unwrap();
        found.into_iter().map(|one| (one.job, one.subject)).collect()
    };
    let pair = |job: &str, name: &str| (job.to_owned(), format!("CN={name}"));
    assert_eq!(listed(&world, 10).await, []);
    let with = |action: Action| Definition { action, ..world.once_in(100) };
    let late = with(certified("late", world.after(300)));
    let mut both = with(certified("last", world.after(400)));
    both.action.on_error = Some(Box::new(certified("first", world.after(100))));
    world.put("plain", world.once_in(100)).await;
    world.put("Late", late).await;
    world.put_as("both", both, JobState::Disabled).await;
    let all = [pair("both", "first"), pair("Late", "late"), pair("both", "last")];
    assert_eq!(listed(&world, 10).await, all);
    assert_eq!(listed(&world, 2).await, all[..2]);
    world.restart().await;
    let first = world.store().certificates(1).await.unwrap().remove(0);
    assert_eq!(
        (first.collection, first.expiration, first.thumbprint),
        (path(), world.after(100), "first-print".to_owned())
    );

    let renewed = certified("new", world.after(500));
    world.patch("Late", JobState::Enabled, move |definition| definition.action = renewed.clone()).await;
    world.store().delete_job(&path(), "both", None, world.now).await.unwrap();
    assert_eq!(listed(&world, 10).await, [pair("Late", "new")]);
    world.store().delete_collection(&path(), None, world.now).await.unwrap();
    assert_eq!(listed(&world, 10).await, []);
}
