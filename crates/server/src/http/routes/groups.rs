//! Resource groups, and resources of any kind.

use axum::http::{Method, header};
use model::GroupPath;
use store::{Page, StoredGroup, TagQuery};
use wire::list::{GroupFilter, ResourceFilter};

use super::{Answered, Call, filter, is_there, list, page, tagged};
use crate::app::{App, etag};
use crate::http::answer::Answer;

/// The most and the usual entries of a page.
const LARGEST_PAGE: u64 = 1000;

pub(super) async fn groups(app: &App, call: &Call, subscription: &str) -> Answered {
    let GroupFilter { tag_name, tag_value } = filter(call, GroupFilter::read)?;
    let tag = tag_name.map(|name| TagQuery { name, value: tag_value });
    let (top, skip) = page(call, LARGEST_PAGE, LARGEST_PAGE)?;
    let found = app.store.groups(subscription, tag.as_ref(), Page { skip, top: top as u32 + 1 }).await?;
    Ok(list(call, found, top, skip, |stored| wire::group::write(&stored.group)))
}

pub(super) async fn group(app: &App, call: &Call, path: &GroupPath) -> Answered {
    let preconditions = call.preconditions();
    match call.method {
        Method::GET => {
            let stored = app.group(path).await?;
            if preconditions.is_known(stored.revision) {
                return Ok(Answer::empty(304).with(header::ETAG, etag(stored.revision)));
            }
            Ok(answer(200, &stored))
        }
        Method::HEAD => Ok(is_there(app.group(path).await?.revision)),
        Method::DELETE => {
            app.delete_group(path, &preconditions).await?;
            Ok(Answer::empty(200))
        }
        Method::PATCH => {
            let body = call.json(crate::http::LARGEST_BODY)?;
            let written = app.patch_group(path, &body, &preconditions).await?;
            Ok(answer(200, &written.stored).ignoring(&written.ignored))
        }
        _ => {
            let body = call.json(crate::http::LARGEST_BODY)?;
            let written = app.put_group(path, &body, &preconditions).await?;
            let status = if written.created { 201 } else { 200 };
            Ok(answer(status, &written.stored).ignoring(&written.ignored))
        }
    }
}

fn answer(status: u16, stored: &StoredGroup) -> Answer {
    tagged(status, wire::group::write(&stored.group), stored.revision)
}

pub(super) async fn resources(app: &App, call: &Call, subscription: &str, group: Option<&str>) -> Answered {
    let filter = filter(call, ResourceFilter::read)?;
    let (top, skip) = page(call, LARGEST_PAGE, LARGEST_PAGE)?;
    let whole = Page { skip, top: top as u32 + 1 };
    let found = if filter == ResourceFilter::default() {
        app.collections(subscription, group, whole).await?
    } else {
        let all = Page { skip: 0, top: u32::MAX };
        let mut found = app.collections(subscription, group.or(filter.group.as_deref()), all).await?;
        found.retain(|stored| filter.lets_through(&stored.collection));
        found.into_iter().skip(usize::try_from(skip).unwrap_or(usize::MAX)).take(whole.top as usize).collect()
    };
    Ok(list(call, found, top, skip, |stored| wire::surroundings::resource(&stored.collection)))
}
