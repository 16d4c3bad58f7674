//! Resource groups: requests read into the model, groups written from it.
//!
//! The old service had no say in them; their shape is that of the resource manager's own API, which clients call before
//! they make a collection and after they are done.
//!
//! ```
//! use model::GroupPath;
//!
//! let request = wire::group::read(&serde_json::json!({"location": "westus", "tags": {"team": "billing"}}))?;
//! let path = GroupPath { subscription: "s".into(), name: "g".into() };
//! assert_eq!(
//!     wire::group::write(&request.group(path)).to_string(),
//!     r#"{"id":"/subscriptions/s/resourceGroups/g","name":"g","type":"Microsoft.Resources/resourceGroups","location":"West US","tags":{"team":"billing"},"properties":{"provisioningState":"Succeeded"}}"#,
//! );
//! # Ok::<(), recurrence::Faults>(())
//! ```

use ::recurrence::{Fault, Faults};
use model::{Group, GroupPath};
use serde_json::{Map, Value, json};

use crate::members::{self, Given, Names, Reader};
use crate::merge::{self, Merge};
use crate::recurrence::{DOCUMENT, PROPERTIES};
use crate::{path, regions};

/// A group as it was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupRequest {
    /// A region's display name, or whatever else was given.
    pub location: Option<String>,
    /// In the order given; `None` where there are none.
    pub tags: Option<Vec<(String, String)>>,
    /// The paths of members that mean nothing, in the order of the document's objects.
    pub ignored: Vec<String>,
}

impl GroupRequest {
    /// The group that a PUT makes.
    pub fn group(&self, path: GroupPath) -> Group {
        let location = self.location.clone().unwrap_or_else(|| regions::NOWHERE.to_owned());
        Group { path, location, tags: self.tags.clone() }
    }
}

const LOCATION: Names = &["location"];
const TAGS: Names = &["tags"];
/// Of these, what an answer has may stay in a body and means nothing there.
const OF_GROUP: &[Names] = &[LOCATION, TAGS, PROPERTIES, &["id"], &["name"], &["type"]];

/// Reads the body of a PUT; or says all that is wrong with it.
pub fn read(body: &Value) -> Result<GroupRequest, Faults> {
    let mut reader = Reader::default();
    let allowed = "an object such as {\"location\": \"West US\"}";
    let Some(group) = reader.object(Given::root(body, ""), OF_GROUP, allowed) else {
        return Err(Fault::new(DOCUMENT, members::shown(body), allowed).into());
    };
    let location = reader.optional_text(&group, LOCATION, "the name of a region, a text");
    let tags = reader.member(&group, TAGS).and_then(|given| reader.tags(given));
    Faults::check(reader.faults())?;
    Ok(GroupRequest {
        location: location.filter(|name| !name.is_empty()).map(|name| regions::display_name(&name)),
        tags: tags.filter(|tags| !tags.is_empty()),
        ignored: reader.ignored().to_vec(),
    })
}

/// Reads the body of a PATCH for a group that is stored so. As with collections, what the body does not speak of stays,
/// and `null` removes.
pub fn patch(stored: &Group, body: &Value) -> Result<GroupRequest, Faults> {
    struct Plain;
    impl Merge for Plain {}

    if !body.is_object() {
        let allowed = "an object such as {\"tags\": {\"department\": \"marketing\"}}";
        return Err(Fault::new(DOCUMENT, members::shown(body), allowed).into());
    }
    let mut whole = write(stored);
    merge::into_value(&mut whole, body, "", &Plain);
    read(&whole)
}

/// The group as the API answers it.
pub fn write(group: &Group) -> Value {
    let mut answer = Map::new();
    let mut put = |name: &str, value: Value| answer.insert(name.to_owned(), value);
    put("id", path::group_id(&group.path).into());
    put("name", group.path.name.as_str().into());
    put("type", path::GROUP_TYPE.into());
    put("location", group.location.as_str().into());
    if let Some(tags) = &group.tags {
        put("tags", members::object_of(tags));
    }
    put("properties", json!({"provisioningState": "Succeeded"}));
    answer.into()
}
