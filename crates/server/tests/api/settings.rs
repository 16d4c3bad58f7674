//! How a server is set.

use model::action::{Call, HttpAuthentication};
use model::{CollectionPath, Secret, transition};
use serde_json::{Value, json};
use store::{ExpectedJob, JobWrite, Written};

use super::door::{Door, id, job, with};

#[tokio::test(start_paused = true)]
async fn settings_are_told_and_secrets_are_not() {
    let door = Door::open(&[
        ("PUNCTUAL_ENGINE_CALLS", "77"),
        ("PUNCTUAL_HTTP_TIMEOUT", "1500ms"),
        ("PUNCTUAL_PLANS_FREE_JOBS", "3"),
        ("PUNCTUAL_EGRESS_DENY", "private"),
    ]);
    door.collection("c", "Standard").await;
    door.accepts("PUT", &job("c", "j"), &with(&[])).await;
    certify(&door).await;
    let found = door.get("/api/settings").await;
    assert!(!found.to_string().contains("s3cret"), "{found}");
    assert_eq!(found["version"], server::VERSION);
    assert_eq!(found["egress"], json!({"allow": [], "deny": ["private"], "lift": []}));
    assert_eq!(found["listen"], door.config.listen.to_string());
    assert_eq!((&found["engine"]["calls"], &found["engine"]["drain"]), (&json!(77), &json!("25s")));
    assert_eq!(found["http"]["timeout"], "1500ms");
    assert_eq!(found["retention"]["keep"], "60d");
    assert_eq!(found["limits"]["uri"], 2048);
    let names: Vec<&Value> =
        found["plans"].as_array().expect("a list").iter().map(|plan| &plan["name"]).collect();
    assert_eq!(names, ["Free", "Standard", "P10Premium", "P20Premium"]);
    assert_eq!(
        (&found["plans"][0]["jobs"], &found["plans"][0]["authentication"]),
        (&json!(3), &json!(false))
    );
    let certificate = json!({"id": id("c", "j"), "subject": "CN=us", "thumbprint": "AB", "expiration": "2028-01-01T00:00:00Z"});
    assert_eq!(found["certificates"], json!([certificate]));
    let refused = door.call("GET", "/api/settings?all=1", None).await;
    assert_eq!(refused.status, 400);
}

#[tokio::test(start_paused = true)]
async fn where_the_jobs_are_is_told_without_the_password() {
    let found = Door::open(&[]).get("/api/settings").await;
    assert_eq!(
        (&found["data"], found.get("database"), found.get("node")),
        (&json!("punctual-data"), None, None)
    );
    let database = [("PUNCTUAL_DATABASE", "postgres://clerk:s3cret@db/jobs"), ("PUNCTUAL_NODE", "a")];
    let found = Door::open(&database).get("/api/settings").await;
    assert_eq!(found.get("data"), None, "no folder is used");
    assert_eq!((&found["database"], &found["node"]), (&json!("postgres://clerk@db/jobs"), &json!("a")));
}

/// Gives the job a certificate. Only what is in it counts here, so nobody has to make a real one.
async fn certify(door: &Door) {
    let path = CollectionPath { subscription: "s".into(), group: "g".into(), name: "c".into() };
    let stored = door.app.store.job(&path, "j").await.expect("read").expect("there");
    let mut definition = stored.job.definition.clone();
    let Call::Http { request, .. } = &mut definition.action.call else { panic!("an HTTP call") };
    request.authentication = Some(HttpAuthentication::ClientCertificate {
        pfx: Secret::new("s3cret"),
        password: Secret::new("s3cret"),
        thumbprint: "AB".into(),
        expiration: "2028-01-01T00:00:00Z".parse().expect("a time"),
        subject: "CN=us".into(),
    });
    let write = JobWrite {
        collection: path,
        name: "j".into(),
        standing: transition::begin(&stored.job.rule, stored.job.state),
        definition,
        expected: ExpectedJob::Standing {
            revision: stored.revision,
            next_number: stored.job.next_number,
            next_at: stored.job.next_at,
        },
        replace: false,
        seed: stored.job.seed,
        most: None,
        now: door.now(),
    };
    assert!(matches!(door.app.store.put_job(write).await, Ok(Written::Done(_))));
}
