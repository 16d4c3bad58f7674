//! Functions that name what is around: the deployment, its group, its loops, other resources.

use serde_json::{Value, json};
use uuid::Uuid;

use super::{Answer, Arguments};
use crate::evaluate::{Evaluation, Frame};
use crate::fault::Raised;
use crate::scope::Place;

/// Where a resource group is: Punctual has one place.
const LOCATION: &str = "Local";

pub(super) fn call(
    evaluation: &mut Evaluation,
    frame: Frame<'_, '_>,
    name: &str,
    arguments: &Arguments<'_>,
) -> Answer {
    let place = &frame.scope.place;
    Some(match name {
        "resourceid" => resource_id(place, arguments),
        "subscription" => arguments.count(0, 0).map(|()| {
            let Place { subscription, .. } = place;
            json!({
                "id": format!("/subscriptions/{subscription}"),
                "subscriptionId": subscription,
                "displayName": subscription,
            })
        }),
        "resourcegroup" => arguments.count(0, 0).map(|()| {
            let Place { subscription, group, .. } = place;
            json!({
                "id": format!("/subscriptions/{subscription}/resourceGroups/{group}"),
                "name": group,
                "type": "Microsoft.Resources/resourceGroups",
                "location": LOCATION,
                "tags": {},
                "properties": {"provisioningState": "Succeeded"},
            })
        }),
        "deployment" => arguments
            .count(0, 0)
            .map(|()| json!({"name": place.deployment, "properties": {"mode": "Incremental"}})),
        "copyindex" => copy_index(frame, arguments),
        "newguid" => arguments.count(0, 0).map(|()| {
            evaluation.guids += 1;
            Uuid::new_v5(&evaluation.seed, &evaluation.guids.to_be_bytes()).to_string().into()
        }),
        _ => return None,
    })
}

/// `resourceId([subscription], [group], type, name, …)`
fn resource_id(place: &Place, arguments: &Arguments<'_>) -> Result<Value, Raised> {
    arguments.count(2, usize::MAX)?;
    let texts: Vec<&str> =
        (0..arguments.len()).map(|place| arguments.text(place)).collect::<Result<_, _>>()?;
    // Only a type has a slash among what comes before the names.
    let Some(at) = texts.iter().take(3).position(|text| text.contains('/')) else {
        return Err(
            arguments.raised(0, "there is no resource type such as Microsoft.Scheduler/jobCollections")
        );
    };
    let (subscription, group) = match texts[..at] {
        [subscription, group] => (subscription, group),
        [group] => (place.subscription.as_str(), group),
        _ => (place.subscription.as_str(), place.group.as_str()),
    };
    let mut types = texts[at].split('/');
    let namespace = types.next().unwrap_or_default();
    let (types, names): (Vec<&str>, &[&str]) = (types.collect(), &texts[at + 1..]);
    if types.len() != names.len() {
        let problem =
            format!("{} has {} names to be given; there are {}", texts[at], types.len(), names.len());
        return Err(arguments.raised(at, problem));
    }
    let mut id = format!("/subscriptions/{subscription}/resourceGroups/{group}/providers/{namespace}");
    for (kind, name) in types.iter().zip(names) {
        id += &format!("/{kind}/{name}");
    }
    Ok(id.into())
}

/// `copyIndex()`, `copyIndex(1)`, `copyIndex('name')`, `copyIndex('name', 1)`
fn copy_index(frame: Frame<'_, '_>, arguments: &Arguments<'_>) -> Result<Value, Raised> {
    arguments.count(0, 2)?;
    let name = match arguments.values.first() {
        Some((_, value)) => value.as_str(),
        None => None,
    };
    let offset = match (arguments.len(), name) {
        (0, _) | (1, Some(_)) => 0,
        (1, None) => arguments.number(0)?,
        _ => arguments.number(1)?,
    };
    let mut inner = frame.loops.iter().rev();
    let found = match name {
        Some(name) => inner.find(|each| each.name.eq_ignore_ascii_case(name)),
        None if arguments.len() == 2 => return Err(arguments.wrong(0, "the name of a loop, a string")),
        // Without a name it means the loop of the resource, where there is one.
        None => inner.clone().find(|each| each.of_resources).or_else(|| inner.next()),
    };
    let Some(found) = found else {
        let around: Vec<&str> = frame.loops.iter().map(|each| each.name.as_str()).collect();
        let has = if around.is_empty() { "there is none".to_owned() } else { around.join(", ") };
        return Err(arguments.raised(0, format!("copyIndex stands in no such loop; around it: {has}")));
    };
    Ok(found.index.saturating_add(offset).into())
}
