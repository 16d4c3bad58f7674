//! Notices as somebody reads them: what was told of which job, to whom, and whether it arrived.

use access::Scope;
use axum::http::Uri;
use model::{CollectionPath, JobState, Timestamp, action::Call};
use serde_json::Value;
use store::{JobRecord, Page};

use super::{Phase, collection};
use crate::app::{App, Result};
use crate::http::job_of_id;

/// Notices that are read at a time.
const PAGE: u32 = 100;

/// A notice, as its job has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// The name of its own job.
    pub name: String,
    /// The name of the rule.
    pub rule: String,
    /// Which trouble, by its name.
    pub when: String,
    /// Whether the trouble has begun or is over.
    pub phase: Phase,
    /// Of which job: its collection,
    pub collection: CollectionPath,
    /// and its name.
    pub job: String,
    /// When it was found out.
    pub at: Timestamp,
    /// What is wrong, or why no longer.
    pub message: String,
    /// Whom it is told: scheme and host. What else is in an address may be a key.
    pub to: String,
    /// Whether it arrived.
    pub delivery: Delivery,
    /// When that was last tried.
    pub tried_at: Option<Timestamp>,
    /// How often it was tried in vain.
    pub failures: u64,
}

/// How far a notice got.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delivery {
    /// It is on its way, perhaps again.
    Pending,
    /// It was taken.
    Delivered,
    /// It was not, and is not tried again.
    Failed,
    /// Somebody has switched it off.
    Off,
}

impl Delivery {
    /// As in the API.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Delivered => "delivered",
            Self::Failed => "failed",
            Self::Off => "off",
        }
    }
}

impl Notice {
    /// What a job of the collection of notices tells; `None` of one that is no notice.
    pub(super) fn read(notice: &JobRecord) -> Option<Self> {
        let Call::Http { request, .. } = &notice.definition.as_ref()?.action.call else { return None };
        let told: Value = serde_json::from_str(request.body.as_deref()?).ok()?;
        let text = |name: &str| told[name].as_str();
        let (collection, job) = job_of_id(text("job")?)?;
        let phases = [Phase::Raised, Phase::Recovered];
        let delivery = match notice.state? {
            JobState::Enabled => Delivery::Pending,
            JobState::Completed => Delivery::Delivered,
            JobState::Faulted => Delivery::Failed,
            JobState::Disabled => Delivery::Off,
        };
        Some(Self {
            name: notice.name.clone(),
            rule: text("notification")?.to_owned(),
            when: text("when")?.to_owned(),
            phase: phases.into_iter().find(|phase| text("state") == Some(phase.name()))?,
            collection,
            job,
            at: recurrence::read_date_time(text("time")?)?,
            message: text("message").unwrap_or_default().to_owned(),
            to: place(&request.uri),
            delivery,
            tried_at: notice.counters.last_execution,
            failures: notice.counters.failures,
        })
    }
}

impl App {
    /// The notices of jobs that whoever asks sees, the latest first.
    pub async fn notices(&self) -> Result<Vec<Notice>> {
        let sight = self.caller.grants.sight();
        let mut notices: Vec<Notice> = all(self).await?.iter().filter_map(Notice::read).collect();
        notices.retain(|notice| sight.covers(&Scope::Collection(notice.collection.clone())));
        notices.sort_by(|one, other| (other.at, &other.name).cmp(&(one.at, &one.name)));
        Ok(notices)
    }
}

/// All notices. There are no more than the plan of their collection has room for.
pub(super) async fn all(app: &App) -> Result<Vec<JobRecord>> {
    let mut page = Page { skip: 0, top: PAGE };
    let mut all = Vec::new();
    while let Some(notices) = app.store.jobs(&collection(), None, page).await? {
        let is_last = notices.len() < PAGE as usize;
        all.extend(notices);
        page.skip += u64::from(PAGE);
        if is_last {
            break;
        }
    }
    Ok(all)
}

/// Scheme and host of an address.
pub(crate) fn place(uri: &str) -> String {
    let Ok(uri) = uri.parse::<Uri>() else { return String::new() };
    let port = uri.port().map(|port| format!(":{port}")).unwrap_or_default();
    format!("{}://{}{port}", uri.scheme_str().unwrap_or("http"), uri.host().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::place;

    #[test]
    fn a_place_tells_no_key() {
        for (uri, expected) in [
            ("https://hooks.example.com/services/T0/B0/secret?key=1", "https://hooks.example.com"),
            ("http://user:secret@h.test:8080/x", "http://h.test:8080"),
            ("http://[::1]:9/", "http://[::1]:9"),
            ("nothing at all", ""),
        ] {
            assert_eq!(place(uri), expected);
        }
    }
}
