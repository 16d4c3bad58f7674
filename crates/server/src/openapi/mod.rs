//! The description of the API that is served, in OpenAPI 3.1.
//!
//! `openapi.json` is written by hand. The tests here hold its paths against the routes, both ways; those in `tests/api`
//! hold its statuses, headers and schemas against real answers.

use serde_json::Value;

use crate::VERSION;

const DOCUMENT: &str = include_str!("openapi.json");

/// The document.
pub(crate) fn document() -> Value {
    let mut document: Value =
        serde_json::from_str(DOCUMENT).expect("JSON: it is compiled in, and a test reads it");
    document["info"]["version"] = VERSION.into();
    document
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::http::{Resource, Versions};

    /// From each kind of resource to its path in the document, and the list of them. The compiler sees to it that no
    /// kind is forgotten.
    macro_rules! templates {
        ($($resource:pat => $below:expr,)*) => {
            fn template(resource: &Resource) -> &'static str {
                match resource { $($resource => $below,)* }
            }
            const TEMPLATES: &[&str] = &[$($below),*];
        };
    }

    macro_rules! below {
        ($rest:literal) => {
            concat!(
                "/subscriptions/{subscription}/resourceGroups/{group}/providers/Microsoft.Scheduler/jobCollections",
                $rest
            )
        };
    }

    templates! {
        Resource::Collections { group: None, .. } =>
            "/subscriptions/{subscription}/providers/Microsoft.Scheduler/jobCollections",
        Resource::Collections { group: Some(_), .. } => below!(""),
        Resource::Collection(_) => below!("/{collection}"),
        Resource::Switch(_, true) => below!("/{collection}/enable"),
        Resource::Switch(_, false) => below!("/{collection}/disable"),
        Resource::Jobs(_) => below!("/{collection}/jobs"),
        Resource::Job(..) => below!("/{collection}/jobs/{job}"),
        Resource::Run(..) => below!("/{collection}/jobs/{job}/run"),
        Resource::History(..) => below!("/{collection}/jobs/{job}/history"),
        Resource::Subscriptions => "/subscriptions",
        Resource::Subscription(_) => "/subscriptions/{subscription}",
        Resource::Locations(_) => "/subscriptions/{subscription}/locations",
        Resource::Providers(_) => "/subscriptions/{subscription}/providers",
        Resource::Provider { change: false, .. } => "/subscriptions/{subscription}/providers/{provider}",
        Resource::Provider { change: true, .. } =>
            "/subscriptions/{subscription}/providers/{provider}/register",
        Resource::Groups(_) => "/subscriptions/{subscription}/resourceGroups",
        Resource::Group(_) => "/subscriptions/{subscription}/resourceGroups/{group}",
        Resource::Resources { group: None, .. } => "/subscriptions/{subscription}/resources",
        Resource::Resources { group: Some(_), .. } =>
            "/subscriptions/{subscription}/resourceGroups/{group}/resources",
        Resource::Operations => "/providers/Microsoft.Scheduler/operations",
        Resource::Endpoints => "/metadata/endpoints",
        Resource::Overview => "/api/overview",
        Resource::Search => "/api/jobs",
        Resource::Events => "/api/events",
        Resource::Preview => "/api/preview",
        Resource::Upcoming => "/api/upcoming",
        Resource::Nodes => "/api/nodes",
        Resource::Waiting => "/api/waiting",
        Resource::TestCall => "/api/test-call",
        Resource::Settings => "/api/settings",
        Resource::Backup => "/api/backup",
        Resource::Keys => "/api/keys",
        Resource::RotateKeys => "/api/keys/rotate",
        Resource::Import => "/api/import",
        Resource::Export => "/api/export",
        Resource::Ledger => "/api/ledger",
        Resource::Notifications => "/api/notifications",
        Resource::Notification(_) => "/api/notifications/{notification}",
        Resource::Notices => "/api/notices",
        Resource::Audit => "/api/audit",
        Resource::AuditVerify => "/api/audit/verify",
        Resource::Tokens => "/api/tokens",
        Resource::Token(_) => "/api/tokens/{token}",
        Resource::Session => "/api/session",
        Resource::Refer => "/api/session/oidc",
        Resource::Referred => "/api/session/oidc/callback",
        Resource::Roles => "/api/roles",
        Resource::AssignRole => "/api/roles/assign",
        Resource::RemoveRole => "/api/roles/remove",
        Resource::OpenApi => "/api/openapi.json",
        Resource::Echo => "/api/echo",
        Resource::Health => "/healthz",
        Resource::Ready => "/readyz",
        Resource::Metrics => "/metrics",
    }

    #[test]
    fn every_route_is_described_and_every_description_has_a_route() {
        let document = document();
        let paths = document["paths"].as_object().expect("paths");
        let described: BTreeSet<&str> = paths.keys().map(String::as_str).collect();
        assert_eq!(described, TEMPLATES.iter().copied().collect());
        for (path, item) in paths {
            let resource = Resource::of(&path.replace(['{', '}'], "")).expect(path);
            assert_eq!(template(&resource), path);
            let verbs = ["get", "head", "put", "post", "patch", "delete"];
            let described: BTreeSet<String> = verbs
                .iter()
                .filter(|verb| item.get(**verb).is_some())
                .map(|verb| verb.to_uppercase())
                .collect();
            let served: BTreeSet<String> = resource.methods().split(", ").map(str::to_owned).collect();
            assert_eq!(described, served, "{path}");
            let version = match resource.versions() {
                Versions::None => None,
                Versions::Scheduler => Some("version"),
                Versions::ResourceManager => Some("managerVersion"),
                Versions::Any => Some("anyVersion"),
            };
            let parameters = item["parameters"].to_string();
            let described = ["version", "managerVersion", "anyVersion"]
                .into_iter()
                .find(|name| parameters.contains(&format!("#/components/parameters/{name}\"")));
            assert_eq!(described, version, "{path}");
        }
    }
}
