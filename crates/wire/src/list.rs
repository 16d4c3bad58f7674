//! Lists: which entries are asked for, and how they are answered.
//!
//! Filters are the few of OData that clients use: `state eq Enabled` for jobs, and for histories `status`, `actionName`
//! and spans of `startTime` and `endTime`, joined by `and`; parentheses may stand around any of it. The SDKs write values without quotes
//! (Scenario_JobList, Scenario_JobHistoryList), OData wants quotes: both are read, in any case.
//!
//! ```
//! use wire::list::HistoryFilter;
//!
//! let filter = HistoryFilter::read("status eq 'failed' and startTime ge 2027-01-01")?;
//! assert_eq!(filter.status, Some(model::HistoryStatus::Failed));
//! let fault = HistoryFilter::read("status eq Broken").unwrap_err();
//! assert_eq!(fault.to_string(), r#"$filter: "Broken" is not allowed here; allowed: Completed, Failed or Postponed"#);
//! # Ok::<(), recurrence::Faults>(())
//! ```

mod clauses;

use ::recurrence::{DATE_TIME_FORMS, Faults, read_date_time};
use model::{Collection, HistoryStatus, JobState, Timestamp};
use serde_json::{Value, json};

use crate::regions;
use clauses::{clauses, once, refused};

/// A list as the API answers it; where there is no next page, `nextLink` is null and not absent (Scenario_JobList).
///
/// ```
/// assert_eq!(wire::list::write(vec![], None).to_string(), r#"{"value":[],"nextLink":null}"#);
/// ```
pub fn write(entries: Vec<Value>, next_link: Option<&str>) -> Value {
    json!({"value": entries, "nextLink": next_link})
}

/// Which jobs of a collection.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct JobFilter {
    /// Only those in this state.
    pub state: Option<JobState>,
}

impl JobFilter {
    /// Reads a `$filter`.
    pub fn read(filter: &str) -> Result<Self, Faults> {
        let mut read = Self::default();
        for clause in clauses(filter, "state eq Enabled")? {
            if !clause.is("state", "eq") {
                return Err(clause.fault("state eq …"));
            }
            let states = JobState::ALL.map(|state| (state.name(), state));
            once(&mut read.state, clause.word(&states, "Enabled, Disabled, Completed or Faulted")?, &clause)?;
        }
        Ok(read)
    }
}

/// Which entries of a history.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct HistoryFilter {
    /// Only these.
    pub status: Option<HistoryStatus>,
    /// Only the action's (`Some(false)`) or only error actions' (`Some(true)`).
    pub error_action: Option<bool>,
    /// Only attempts that began at this instant or later.
    pub started_from: Option<Timestamp>,
    /// Only attempts that began at this instant or earlier.
    pub started_to: Option<Timestamp>,
    /// Only attempts that ended at this instant or later.
    pub ended_from: Option<Timestamp>,
    /// Only attempts that ended at this instant or earlier.
    pub ended_to: Option<Timestamp>,
}

impl HistoryFilter {
    /// Reads a `$filter`.
    pub fn read(filter: &str) -> Result<Self, Faults> {
        let mut read = Self::default();
        for clause in clauses(filter, "status eq Failed")? {
            // The documents filter a history by "state and status", and an entry has only one of them.
            if clause.is("status", "eq") || clause.is("state", "eq") {
                let words = HistoryStatus::ALL.map(|status| (status.name(), status));
                once(&mut read.status, clause.word(&words, "Completed, Failed or Postponed")?, &clause)?;
            } else if clause.is("actionName", "eq") {
                let words = [("MainAction", false), ("ErrorAction", true)];
                once(&mut read.error_action, clause.word(&words, "MainAction or ErrorAction")?, &clause)?;
            } else {
                let instant = match &clause {
                    clause if clause.is("startTime", "ge") => &mut read.started_from,
                    clause if clause.is("startTime", "le") => &mut read.started_to,
                    clause if clause.is("endTime", "ge") => &mut read.ended_from,
                    clause if clause.is("endTime", "le") => &mut read.ended_to,
                    clause => {
                        let allowed = "status eq …, actionName eq …, startTime ge …, startTime le …, \
                                       endTime ge … or endTime le …";
                        return Err(clause.fault(allowed));
                    }
                };
                let at =
                    read_date_time(&clause.value).ok_or_else(|| refused(&clause.value, DATE_TIME_FORMS))?;
                once(instant, at, &clause)?;
            }
        }
        Ok(read)
    }
}

/// Which resource groups of a subscription.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GroupFilter {
    /// Only those with a tag of this name.
    pub tag_name: Option<String>,
    /// Only those where it has this value.
    pub tag_value: Option<String>,
}

impl GroupFilter {
    /// Reads a `$filter`.
    pub fn read(filter: &str) -> Result<Self, Faults> {
        let allowed = "tagName eq …, or tagName eq … and tagValue eq …";
        let mut read = Self::default();
        for clause in clauses(filter, "tagName eq 'team'")? {
            let place = match &clause {
                clause if clause.is("tagName", "eq") => &mut read.tag_name,
                clause if clause.is("tagValue", "eq") => &mut read.tag_value,
                clause => return Err(clause.fault(allowed)),
            };
            once(place, clause.value.clone(), &clause)?;
        }
        if read.tag_name.is_none() {
            return Err(refused(filter, allowed));
        }
        Ok(read)
    }
}

/// Which resources of a subscription or a group.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ResourceFilter {
    /// Only those of this type.
    pub resource_type: Option<String>,
    /// Only those in this group.
    pub group: Option<String>,
    /// Only those with this name.
    pub name: Option<String>,
    /// Only those in this region.
    pub location: Option<String>,
    /// Only those with a tag of this name.
    pub tag_name: Option<String>,
    /// Only those where it has this value.
    pub tag_value: Option<String>,
}

impl ResourceFilter {
    /// Reads a `$filter`.
    pub fn read(filter: &str) -> Result<Self, Faults> {
        let allowed = "resourceType eq …, resourceGroup eq …, name eq …, location eq …, or tagName eq … and tagValue eq …";
        let mut read = Self::default();
        for clause in clauses(filter, "resourceType eq 'Microsoft.Scheduler/jobCollections'")? {
            let place = match &clause {
                clause if clause.is("resourceType", "eq") => &mut read.resource_type,
                clause if clause.is("resourceGroup", "eq") => &mut read.group,
                clause if clause.is("name", "eq") => &mut read.name,
                clause if clause.is("location", "eq") => &mut read.location,
                clause if clause.is("tagName", "eq") => &mut read.tag_name,
                clause if clause.is("tagValue", "eq") => &mut read.tag_value,
                clause => return Err(clause.fault(allowed)),
            };
            once(place, clause.value.clone(), &clause)?;
        }
        if read.tag_value.is_some() && read.tag_name.is_none() {
            return Err(refused(filter, allowed));
        }
        Ok(read)
    }

    /// Whether a job collection is one of those that are asked for; they are the only resources there are.
    pub fn lets_through(&self, collection: &Collection) -> bool {
        let is = |asked: &Option<String>, name: &str| {
            asked.as_ref().is_none_or(|asked| asked.to_lowercase() == name.to_lowercase())
        };
        let is_tag = |(name, value): &(String, String)| {
            is(&self.tag_name, name) && self.tag_value.as_ref().is_none_or(|asked| asked == value)
        };
        let location = self.location.as_deref().map(regions::display_name);
        is(&self.resource_type, crate::path::COLLECTION_TYPE)
            && is(&self.group, &collection.path.group)
            && is(&self.name, &collection.path.name)
            && is(&location, &collection.location)
            && (self.tag_name.is_none() || collection.tags.iter().flatten().any(is_tag))
    }
}

#[cfg(test)]
mod tests {
    use model::{CollectionPath, Plans};

    use super::*;

    fn at(text: &str) -> Option<Timestamp> {
        Some(text.parse().expect("a timestamp"))
    }

    #[test]
    fn filters_that_are_read() {
        for (filter, state) in [
            ("state eq Enabled", JobState::Enabled),
            ("state eq 'Disabled'", JobState::Disabled),
            ("  State  EQ  completed ", JobState::Completed),
            ("STATE eq 'FAULTED'", JobState::Faulted),
            ("(state eq Enabled)", JobState::Enabled),
            ("( ( state eq 'Enabled' ) )", JobState::Enabled),
        ] {
            assert_eq!(JobFilter::read(filter), Ok(JobFilter { state: Some(state) }), "{filter}");
        }
        let none = HistoryFilter::default();
        for (filter, expected) in [
            ("status eq Failed", HistoryFilter { status: Some(HistoryStatus::Failed), ..none }),
            ("status eq 'completed'", HistoryFilter { status: Some(HistoryStatus::Completed), ..none }),
            ("Status Eq postponed", HistoryFilter { status: Some(HistoryStatus::Postponed), ..none }),
            ("actionName eq mainaction", HistoryFilter { error_action: Some(false), ..none }),
            (
                "status eq Failed and actionName eq 'ErrorAction'",
                HistoryFilter { status: Some(HistoryStatus::Failed), error_action: Some(true), ..none },
            ),
            (
                "(status eq 'Failed') and ((actionName eq ErrorAction))",
                HistoryFilter { status: Some(HistoryStatus::Failed), error_action: Some(true), ..none },
            ),
            (
                "startTime ge 2027-01-01 AND startTime le datetime'2027-01-02T00:00:00' \
                 and endtime GE '2027-01-01 05:00:00' and endTime le 2027-01-03T00:00:00Z",
                HistoryFilter {
                    started_from: at("2027-01-01T00:00:00Z"),
                    started_to: at("2027-01-02T00:00:00Z"),
                    ended_from: at("2027-01-01T05:00:00Z"),
                    ended_to: at("2027-01-03T00:00:00Z"),
                    ..none
                },
            ),
        ] {
            assert_eq!(HistoryFilter::read(filter), Ok(expected), "{filter}");
        }
    }

    #[test]
    fn filters_that_are_refused() {
        for (filter, says) in [
            ("", "status eq Failed, joined by and"),
            ("status", "joined by and"),
            ("status eq", "joined by and"),
            ("status eq 'Failed", "joined by and"),
            ("status eq 'Failed'x", "joined by and"),
            ("status eq Failed and", "joined by and"),
            ("(status eq Failed", "joined by and"),
            ("status eq Failed)", "joined by and"),
            (")status eq Failed(", "joined by and"),
            ("()", "joined by and"),
            ("status (eq) Failed", "joined by and"),
            ("(status eq Failed) (actionName eq MainAction)", "joined by and"),
            ("and status eq Failed", "joined by and"),
            ("status eq Failed or actionName eq MainAction", "joined by and"),
            ("status eq Failed and and actionName eq MainAction", "joined by and"),
            ("status eq Failed status eq Failed", "joined by and"),
            ("status eq Broken", "Completed, Failed or Postponed"),
            ("status eq 'Fai''led'", "\"Fai'led\""),
            ("status ne Failed", "status eq …"),
            ("state eq Enabled", "Completed, Failed or Postponed"),
            ("status eq Failed and status eq Completed", "each condition once"),
            ("startTime gt 2027-01-01", "startTime ge …"),
            ("startTime ge yesterday", "ISO 8601"),
            ("actionName eq Main", "MainAction or ErrorAction"),
            ("é eq é", "status eq …"),
        ] {
            let fault = HistoryFilter::read(filter).expect_err(filter).to_string();
            assert!(fault.starts_with("$filter: ") && fault.contains(says), "{filter}: {fault}");
        }
        assert_eq!(HistoryFilter::read("state eq failed"), HistoryFilter::read("status eq Failed"));
        assert!(HistoryFilter::read("state eq failed and status eq failed").is_err(), "each condition once");
        for filter in ["status eq Failed", "state eq Paused", "state eq Enabled and state eq Enabled"] {
            assert!(JobFilter::read(filter).is_err(), "{filter}");
        }
    }

    #[test]
    fn filters_of_groups_and_resources() {
        let text = |text: &str| Some(text.to_owned());
        for (filter, tag_name, tag_value) in [
            ("tagName eq 'team'", text("team"), None),
            ("tagname eq 'team' and tagvalue eq 'a b'", text("team"), text("a b")),
            ("(tagValue eq x) and (tagName eq it)", text("it"), text("x")),
        ] {
            assert_eq!(GroupFilter::read(filter), Ok(GroupFilter { tag_name, tag_value }), "{filter}");
        }
        for filter in ["", "tagValue eq x", "name eq g", "tagName eq a and tagName eq b", "tagName ne a"] {
            assert!(GroupFilter::read(filter).is_err(), "{filter}");
        }
        let body = json!({"location": "westus", "tags": {"Team": "a b"}});
        let path = CollectionPath { subscription: "s".into(), group: "G".into(), name: "Mail".into() };
        let request = crate::collection::read(&body, None, &Plans::default()).expect("a collection");
        let collection = request.collection(path);
        for (filter, lets_through) in [
            ("resourceType eq 'microsoft.scheduler/JOBCOLLECTIONS'", true),
            ("resourceType eq Microsoft.Web/sites", false),
            ("resourceGroup eq 'g' and name eq 'mail'", true),
            ("resourceGroup eq 'other'", false),
            ("name eq 'mai'", false),
            ("location eq 'West US'", true),
            ("location eq 'westus' and name eq 'mail'", true),
            ("location eq 'eastus'", false),
            ("tagname eq 'team'", true),
            ("tagname eq 'team' and tagvalue eq 'a b'", true),
            ("tagName eq 'team' and tagValue eq 'A b'", false),
            ("tagName eq 'floor'", false),
        ] {
            let read = ResourceFilter::read(filter).expect(filter);
            assert_eq!(read.lets_through(&collection), lets_through, "{filter}");
        }
        assert!(ResourceFilter::default().lets_through(&collection));
        for filter in
            ["plan eq 'x'", "resourceType", "resourceType eq a and resourceType eq b", "tagValue eq a"]
        {
            assert!(ResourceFilter::read(filter).is_err(), "{filter}");
        }
    }

    #[test]
    fn a_filter_of_parentheses_alone_ends() {
        let deep = "(".repeat(100_000);
        assert!(JobFilter::read(&deep).is_err());
        assert!(JobFilter::read(&format!("{deep}state eq Enabled{}", ")".repeat(100_000))).is_ok());
    }
}
