//! The crate azure_mgmt_scheduler 0.21: everything that it can do, done against a server, and compared.
//!
//! `conformance URL CASES SUBSCRIPTION MANY VERSION`: `MANY` is the number of collections in the subscription `many`, and
//! `VERSION` one of the crate's three. The report is one line of JSON for every check; `scripts/check-clients` reads it.

mod api;
mod cases;
mod collections;
mod example;
mod jobs;
mod refusals;

use api::{Answer, Api, Asked, Deed, Place, Refusal};
use cases::{Cases, differences};
use serde_json::{Value, json};

const GROUP: &str = "Group";

type Checked = Result<(), String>;

struct Conformance {
    api: Box<dyn Api>,
    cases: Cases,
    place: Place,
    version: String,
    many: usize,
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let [url, path, subscription, many, version] = arguments.as_slice() else {
        panic!("conformance URL CASES SUBSCRIPTION MANY VERSION");
    };
    let place = Place {
        url: url.clone(),
        subscription: subscription.clone(),
        group: GROUP.to_owned(),
        headers: vec![("x-punctual-enum-case", "pascal".to_owned())],
    };
    let conformance = Conformance {
        api: api::version(version, &place),
        cases: Cases::read(path, version != "2016-03"),
        place,
        version: version.clone(),
        many: many.parse().expect("a number"),
    };
    conformance.write_collections().await;
    conformance.patch_collection().await;
    conformance.list_collections().await;
    conformance.switch_collection().await;
    conformance.write_jobs().await;
    conformance.rewrite_jobs().await;
    conformance.list_jobs().await;
    conformance.run_jobs().await;
    conformance.read_history().await;
    conformance.refuse().await;
    conformance.delete_all().await;
    conformance.see_the_example().await;
    conformance.say_what_it_cannot().await;
}

/// Reports how a check ended.
async fn check(operation: &str, name: &str, outcome: impl Future<Output = Checked>) {
    let fault = outcome.await.err();
    println!("{}", json!({"operation": operation, "check": name, "fault": fault}));
}

fn cannot(operation: &str, why: &str) {
    println!("{}", json!({"operation": operation, "cannot": why}));
}

fn same(expected: &Value, found: &Value) -> Checked {
    let differences = differences(expected, found, "");
    if differences.is_empty() { Ok(()) } else { Err(differences.join("; ")) }
}

fn ensure(is_so: bool, otherwise: impl Into<String>) -> Checked {
    if is_so { Ok(()) } else { Err(otherwise.into()) }
}

fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value[name].as_str().unwrap_or_default()
}

/// The client's error, with the status, the code and the message of the answer.
fn refused<T>(answer: Answer<T>, expected: u16, expected_code: &str, says: &str) -> Checked {
    match answer {
        Ok(_) => Err("nothing was refused".into()),
        Err(Refusal::Status { status, code, message })
            if (status, code.as_str()) == (expected, expected_code) && message.contains(says) =>
        {
            Ok(())
        }
        Err(other) => Err(format!("expected {expected} {expected_code}, found {other:?}")),
    }
}

impl Conformance {
    /// An answer, apart from what the server alone says.
    fn read(&self, answer: &Value) -> Value {
        let mut found = self.cases.plain(answer);
        let members = found.as_object_mut().expect("an object");
        for name in ["id", "type", "name"] {
            members.remove(name);
        }
        if let Some(properties) = members.get_mut("properties").and_then(Value::as_object_mut) {
            properties.remove("status");
        }
        found
    }

    /// A body that the client's type says without loss.
    fn said(&self, body: &Value, model: Answer) -> Checked {
        same(&self.cases.plain(body), &self.cases.plain(&model?))
    }

    async fn delete_all(&self) {
        let jobs = self.cases.bodies("jobs").into_iter().chain(self.cases.bodies("runs"));
        for (name, _) in jobs {
            check("job delete", &name, async {
                self.api.do_job("jobs", &name, Deed::Delete).await?;
                refused(self.api.job("jobs", &name).await, 404, "NotFound", &name)
            })
            .await;
        }
        check("jobs", "none", async {
            let found = self.names(Asked::default()).await?;
            ensure(found.is_empty(), format!("{found:?}"))
        })
        .await;
        let collections = self.cases.bodies("collections").into_iter().map(|(name, _)| name);
        for name in collections.chain(["jobs".to_owned()]) {
            check("collection delete", &name, async {
                self.api.do_collection(&name, Deed::Delete).await?;
                refused(self.api.collection(&name).await, 404, "ResourceNotFound", &name)
            })
            .await;
        }
    }

    async fn see_the_example(&self) {
        check("example", "first job", async {
            let client = example::connect(&self.place.url).map_err(|error| error.to_string())?;
            let target = format!("{}/api/echo", self.place.url);
            let job = example::first_job(&client, &self.place.subscription, &target).await;
            let name = job.map_err(|error| error.to_string())?.name;
            ensure(name.as_deref() == Some("first/hello"), format!("{name:?}"))
        })
        .await;
    }

    /// What the types of the older versions have no place for; and that it is really so.
    async fn say_what_it_cannot(&self) {
        cannot("every field", "its types do not list their fields; those of the other clients do");
        if self.version == "2016-03" {
            return;
        }
        for (name, why) in [
            ("http-basic", "HTTP authentication: the type has no member but `type`"),
            ("service-bus-queue", "timeToLive: the type is a date-time"),
        ] {
            check("job put", why, async {
                let body = self.cases.sayable_by_the_newest(&self.cases.part("jobs")[name]["body"]);
                ensure(
                    self.said(&body, self.api.job_model(&body)).is_err(),
                    "nothing need be left out for it",
                )
            })
            .await;
            cannot("job put", why);
        }
    }
}
