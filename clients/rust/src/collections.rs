//! Job collections: written, read, changed, listed, switched.

use serde_json::Value;

use super::{Conformance, GROUP, check, ensure, same, text};
use crate::api::{self, Deed, Place};
use crate::cases::merge;

impl Conformance {
    pub(super) async fn write_collections(&self) {
        for (name, body) in self.cases.bodies("collections") {
            let expected = self.cases.expected(&self.cases.part("collections")[&name]);
            check("collection put", &name, async {
                self.said(&body, self.api.collection_model(&body))?;
                let put = self.api.put_collection(&name, &body).await?;
                same(&expected, &self.read(&put))?;
                ensure(
                    put["name"] == *name && put["type"] == "Microsoft.Scheduler/jobCollections",
                    put.to_string(),
                )
            })
            .await;
            check("collection get", &name, async {
                same(&expected, &self.read(&self.api.collection(&name).await?))
            })
            .await;
        }
    }

    pub(super) async fn patch_collection(&self) {
        let patch = self.cases.part("collectionPatch");
        let name = text(patch, "of");
        check("collection patch", name, async {
            let mut expected = self.cases.expected(&self.cases.part("collections")[name]);
            merge(&mut expected, &self.cases.expected(patch));
            self.said(&patch["body"], self.api.collection_model(&patch["body"]))?;
            same(&expected, &self.read(&self.api.patch_collection(name, &patch["body"]).await?))?;
            same(&expected, &self.read(&self.api.collection(name).await?))
        })
        .await;
    }

    pub(super) async fn list_collections(&self) {
        let names =
            |found: &[Value]| found.iter().map(|one| text(one, "name").to_owned()).collect::<Vec<_>>();
        let many = api::version(&self.version, &Place { subscription: "many".into(), ..self.place.clone() });
        for (operation, group, group_of_many) in [
            ("collections of a group", Some(GROUP), Some("many")),
            ("collections of a subscription", None, None),
        ] {
            check(operation, "those written", async {
                let found = self.api.collections(group).await?;
                let mut written: Vec<_> =
                    self.cases.bodies("collections").into_iter().map(|(name, _)| name).collect();
                written.sort();
                ensure(names(&found) == written, format!("{:?}", names(&found)))?;
                for one in &found {
                    same(&self.read(&self.api.collection(text(one, "name")).await?), &self.read(one))?;
                }
                Ok(())
            })
            .await;
            check(operation, "of more than one page", async {
                let found = names(&many.collections(group_of_many).await?);
                let written: Vec<_> = (0..self.many).map(|number| format!("c{number:04}")).collect();
                ensure(found == written, format!("{} of {}", found.len(), written.len()))
            })
            .await;
        }
    }

    pub(super) async fn switch_collection(&self) {
        for (operation, deed, state) in [
            ("collection disable", Deed::Disable, "Disabled"),
            ("collection enable", Deed::Enable, "Enabled"),
        ] {
            check(operation, "standard", async {
                self.api.do_collection("standard", deed).await?;
                let found = self.api.collection("standard").await?;
                ensure(found["properties"]["state"] == state, found.to_string())
            })
            .await;
        }
    }
}
