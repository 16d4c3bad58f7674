//! What clients ask before they ask for anything else.

use store::Page;
use wire::surroundings;

use super::{Answered, Call, list, page};
use crate::app::App;
use crate::http::answer::Answer;
use crate::problem::Problem;

/// The most and the usual entries of a page.
const LARGEST_PAGE: u64 = 1000;

pub(super) async fn subscriptions(app: &App, call: &Call) -> Answered {
    let (top, skip) = page(call, LARGEST_PAGE, LARGEST_PAGE)?;
    let found = app.store.subscriptions(Page { skip, top: top as u32 + 1 }).await?;
    Ok(list(call, found, top, skip, |id| surroundings::subscription(id)))
}

/// To read the provider, to register it and to unregister it all end the same way: it is there, and registered.
pub(super) fn provider(subscription: &str, namespace: &str) -> Answered {
    if !namespace.eq_ignore_ascii_case(surroundings::NAMESPACE) {
        return Err(Problem::no_provider(namespace));
    }
    Ok(Answer::json(200, surroundings::provider(subscription)))
}

pub(super) fn endpoints(call: &Call) -> Answer {
    let version = call.query.get("api-version").unwrap_or_default();
    Answer::json(200, surroundings::endpoints(&call.base(), version))
}
