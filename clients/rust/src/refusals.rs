//! What is refused, and how the client says so.

use super::{Conformance, check, ensure, refused, text};
use crate::api::{self, Asked, Deed};

impl Conformance {
    pub(super) async fn refuse(&self) {
        let api = &self.api;
        let job = self.cases.sayable(&self.cases.part("jobs")["http-get"]["body"]);
        let collection = &self.cases.part("collectionPatch")["body"];
        let (missing, no_job) = (("ResourceNotFound", "nowhere"), ("NotFound", "nobody"));
        for (what, (code, says), answer) in [
            ("collection get", missing, api.collection("nowhere").await.map(drop)),
            ("collection patch", missing, api.patch_collection("nowhere", collection).await.map(drop)),
            ("collection enable", missing, api.do_collection("nowhere", Deed::Enable).await),
            ("collection disable", missing, api.do_collection("nowhere", Deed::Disable).await),
            ("collection delete", missing, api.do_collection("nowhere", Deed::Delete).await),
            ("jobs", missing, api.jobs("nowhere", Asked::default()).await.map(drop)),
            ("job put", missing, api.put_job("nowhere", "nobody", &job).await.map(drop)),
            ("job get", no_job, api.job("jobs", "nobody").await.map(drop)),
            ("job patch", no_job, api.patch_job("jobs", "nobody", &job).await.map(drop)),
            ("job run", no_job, api.do_job("jobs", "nobody", Deed::Run).await),
            ("job delete", no_job, api.do_job("jobs", "nobody", Deed::Delete).await),
            ("history", no_job, api.history("jobs", "nobody", Asked::default()).await.map(drop)),
        ] {
            check("404", what, async { refused(answer, 404, code, says) }).await;
        }

        for (name, body) in self.cases.bodies("refused") {
            let case = &self.cases.part("refused")[&name];
            if body != self.cases.sayable_by_the_newest(&case["body"]) {
                continue;
            }
            check("400", &name, async {
                refused(api.put_job("jobs", &name, &body).await, 400, "BadRequest", text(case, "says"))
            })
            .await;
        }
        check("400", "an unknown filter", async {
            let asked = Asked { filter: Some("name eq x".to_owned()), ..Asked::default() };
            refused(api.jobs("jobs", asked).await, 400, "BadRequest", "$filter")
        })
        .await;

        check("409", "a recurrence that is too fast", async {
            let body = self.cases.sayable(&self.cases.part("tooFast")["body"]);
            refused(api.put_job("standard", "fast", &body).await, 409, "Conflict", "3 minutes")
        })
        .await;
        check("409", "a second job where one is allowed", async {
            api.put_job("for-one-job", "first", &job).await?;
            refused(api.put_job("for-one-job", "second", &job).await, 409, "Conflict", "quota")
        })
        .await;
        check("409", "a second free collection", async {
            let free = &self.cases.part("collections")["free"]["body"];
            refused(api.put_collection("free-2", free).await, 409, "Conflict", "free")
        })
        .await;

        // The crate takes no headers for a call; a client can have some for all of its calls.
        check("412", "a job that somebody changed", async {
            let known = api.job_etag("jobs", "http-get").await?;
            let mut place = self.place.clone();
            place.headers.push(("if-match", known.clone()));
            let careful = api::version(&self.version, &place);
            careful.put_job("jobs", "http-get", &job).await?;
            ensure(api.job_etag("jobs", "http-get").await? != known, "the ETag is the same")?;
            refused(careful.put_job("jobs", "http-get", &job).await, 412, "PreconditionFailed", "")
        })
        .await;
    }
}
