//! What clients ask the resource manager before they ask for anything else: subscriptions, places, providers, endpoints.
//!
//! The provider's shape is that of ProviderMicrosoftScheduler. The others were never recorded; they have the members that
//! generated clients read.

use model::Collection;
use serde_json::{Map, Value, json};

use crate::version::Version;
use crate::{members, path, regions};

/// The namespace of the one provider.
pub const NAMESPACE: &str = "Microsoft.Scheduler";

/// A subscription. Any id is one; nobody registers them.
pub fn subscription(id: &str) -> Value {
    json!({
        "id": format!("/subscriptions/{id}"),
        "subscriptionId": id,
        // There is one tenant, whoever runs the server, and it needs no name.
        "tenantId": "00000000-0000-0000-0000-000000000000",
        "displayName": id,
        "state": "Enabled",
        "authorizationSource": "RoleBased",
    })
}

/// Every place that a resource may name.
fn places() -> impl Iterator<Item = &'static str> {
    [regions::NOWHERE].into_iter().chain(regions::REGIONS)
}

/// The places of a subscription.
pub fn locations(subscription: &str) -> Vec<Value> {
    let location = |place: &str| {
        let name = regions::short_name(place);
        json!({
            "id": format!("/subscriptions/{subscription}/locations/{name}"),
            "name": name,
            "type": "Region",
            "displayName": place,
            "regionalDisplayName": place,
        })
    };
    places().map(location).collect()
}

/// The provider. It is registered, always: there is no state without it.
pub fn provider(subscription: &str) -> Value {
    let versions = Version::ALL.map(Version::name);
    let kind = |name: &str| json!({"resourceType": name, "locations": places().collect::<Vec<_>>(), "apiVersions": versions});
    json!({
        "id": format!("/subscriptions/{subscription}/providers/{NAMESPACE}"),
        "namespace": NAMESPACE,
        "resourceTypes": [kind("jobcollections"), kind("operations")],
        "registrationState": "Registered",
    })
}

/// What can be done with the provider's resources.
pub fn operations() -> Vec<Value> {
    let collections = ("jobCollections", "Job collection");
    let jobs = ("jobCollections/jobs", "Job");
    let operations = [
        (collections, "read", "Read job collections"),
        (collections, "write", "Create or change a job collection"),
        (collections, "delete", "Delete a job collection"),
        (collections, "enable/action", "Enable a job collection"),
        (collections, "disable/action", "Disable a job collection"),
        (jobs, "read", "Read jobs and their history"),
        (jobs, "write", "Create or change a job"),
        (jobs, "delete", "Delete a job"),
        (jobs, "run/action", "Run a job"),
    ];
    let operation = |((kind, resource), verb, says): ((&str, &str), &str, &str)| {
        json!({
            "name": format!("{NAMESPACE}/{kind}/{verb}"),
            "display": {"provider": NAMESPACE, "resource": resource, "operation": says, "description": says},
        })
    };
    operations.into_iter().map(operation).collect()
}

/// A resource as lists of resources have it.
pub fn resource(collection: &Collection) -> Value {
    let mut written = Map::new();
    let mut put = |name: &str, value: Value| written.insert(name.to_owned(), value);
    put("id", path::collection_id(&collection.path).into());
    put("name", collection.path.name.as_str().into());
    put("type", path::COLLECTION_TYPE.into());
    put("location", collection.location.as_str().into());
    if let Some(tags) = &collection.tags {
        put("tags", members::object_of(tags));
    }
    written.into()
}

/// Where everything is, for clients that are given one URL and find the rest: it is all here, at `base`.
///
/// The shape changed with the api-version that is asked for: an object with names ending in `Endpoint` until 2019, a list
/// of clouds from 2019-05-01 on, one cloud from 2022-09-01 on.
pub fn endpoints(base: &str, version: &str) -> Value {
    if version < "2019-05-01" {
        return json!({
            "galleryEndpoint": base,
            "graphEndpoint": base,
            "portalEndpoint": base,
            "authentication": {"loginEndpoint": base, "audiences": [base]},
        });
    }
    let cloud = json!({
        "name": "Punctual",
        "portal": base,
        "gallery": base,
        "graph": base,
        "graphAudience": base,
        "resourceManager": base,
        "authentication": {
            "loginEndpoint": base, "audiences": [base], "tenant": "common", "identityProvider": "AAD",
        },
        "suffixes": {},
    });
    if version < "2022-09-01" { json!([cloud]) } else { cloud }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_provider_has_the_shape_that_was_recorded() {
        let provider = provider("s");
        let kind = &provider["resourceTypes"][0];
        assert_eq!(kind["resourceType"], "jobcollections");
        assert_eq!(kind["apiVersions"], json!(["2016-03-01", "2016-01-01", "2014-08-01-preview"]));
        assert!(kind["locations"].as_array().expect("a list").contains(&json!("West US")));
        let members: Vec<_> = provider.as_object().expect("an object").keys().collect();
        assert_eq!(members, ["id", "namespace", "resourceTypes", "registrationState"]);
    }

    #[test]
    fn locations_have_the_names_that_resources_take() {
        let locations = locations("s");
        assert_eq!(locations[0]["name"], "local");
        let west = locations.iter().find(|location| location["displayName"] == "West US").expect("there");
        assert_eq!(west["id"], "/subscriptions/s/locations/westus");
    }

    #[test]
    fn endpoints_by_version() {
        for (version, pointer) in [
            ("1.0", "/authentication/loginEndpoint"),
            ("2015-01-01", "/portalEndpoint"),
            ("2019-05-01", "/0/resourceManager"),
            ("2020-06-01", "/0/authentication/loginEndpoint"),
            ("2022-09-01", "/resourceManager"),
            ("2023-11-01", "/authentication/audiences/0"),
        ] {
            let endpoints = endpoints("http://here", version);
            assert_eq!(endpoints.pointer(pointer), Some(&json!("http://here")), "{version}");
        }
    }
}
