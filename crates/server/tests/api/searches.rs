//! The list of all jobs.

use serde_json::{Value, json};

use super::door::{Door, collection, job, with};

/// Jobs of every kind, with secrets in every place that a job has for them.
async fn filled() -> Door {
    let door = Door::open(&[]);
    door.collection("reports", "Standard").await;
    door.collection("mail", "Standard").await;
    let uri = |uri: &str| ("/action/request/uri", json!(uri));
    let basic = json!({"type": "Basic", "username": "u", "password": "s3cret"});
    let once = ("/recurrence", Value::Null);
    let queue = json!({"type": "StorageQueue", "queueMessage":
        {"storageAccount": "account", "queueName": "queue", "sasToken": "s3cret", "message": "m"}});
    for (collection, name, body) in [
        (
            "reports",
            "Nightly",
            with(&[
                uri("https://u:s3cret@example.org/run?sig=s3cret"),
                ("/action/request/authentication", basic),
            ]),
        ),
        (
            "reports",
            "hourly",
            with(&[("/recurrence/frequency", json!("hour")), ("/state", json!("Disabled"))]),
        ),
        ("mail", "night-mail", with(&[("/action", queue), once])),
    ] {
        door.accepts("PUT", &job(collection, name), &body).await;
    }
    door
}

fn names(body: &Value) -> Vec<&str> {
    body["value"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|line| line["name"].as_str().expect("a name"))
        .collect()
}

#[tokio::test(start_paused = true)]
async fn a_line_tells_what_a_job_does_and_no_secret() {
    let door = filled().await;
    let found = door.get("/api/jobs").await;
    assert_eq!(names(&found), ["hourly", "night-mail", "Nightly"]);
    assert_eq!(found["total"], 3);
    assert!(found.get("nextLink").is_none());
    assert!(!found.to_string().contains("s3cret"), "{found}");
    let line = &found["value"][2];
    let id =
        "/subscriptions/s/resourceGroups/g/providers/Microsoft.Scheduler/jobCollections/reports/jobs/Nightly";
    assert_eq!(line["id"], id);
    assert_eq!(line["collection"], "reports");
    assert_eq!(line["state"], "enabled");
    assert_eq!((&line["action"], &line["target"]), (&json!("Http"), &json!("POST https://example.org/run")));
    assert_eq!(line["recurrence"], "Every day at 00:00 UTC, from 1 February 2027");
    assert_eq!(line["nextExecutionTime"], "2027-02-01T00:00:00Z");
    assert_eq!(line["lastExecutionTime"], Value::Null);
    assert_eq!(line["executionCount"], 0);
    assert_eq!(found["value"][0]["nextExecutionTime"], Value::Null, "it is switched off");
    let queue = &found["value"][1];
    assert_eq!((&queue["action"], &queue["target"]), (&json!("StorageQueue"), &json!("queue@account")));
    assert_eq!(queue["recurrence"], Value::Null);
}

#[tokio::test(start_paused = true)]
async fn jobs_are_searched_sorted_and_paged() {
    let door = filled().await;
    let reports = collection("reports").replace("?api-version=2016-03-01", "");
    for (query, expected) in [
        ("search=NIGHT".to_owned(), &["night-mail", "Nightly"][..]),
        ("search=report".to_owned(), &["hourly", "Nightly"]),
        ("search=%25".to_owned(), &[]),
        ("state=Disabled".to_owned(), &["hourly"]),
        (format!("collection={reports}&order=desc"), &["Nightly", "hourly"]),
        ("subscription=S".to_owned(), &["hourly", "night-mail", "Nightly"]),
        ("sort=next&order=desc&api-version=2016-03-01".to_owned(), &["night-mail", "Nightly", "hourly"]),
        ("sort=state&order=DESC".to_owned(), &["hourly", "night-mail", "Nightly"]),
    ] {
        let found = door.get(&format!("/api/jobs?{query}")).await;
        assert_eq!(names(&found), expected, "{query}");
        assert_eq!(found["total"], expected.len(), "{query}");
    }
    let mut next = "/api/jobs?top=2&sort=failures".to_owned();
    let mut seen = Vec::new();
    loop {
        let page = door.get(&next).await;
        seen.extend(names(&page).into_iter().map(str::to_owned));
        assert_eq!(page["total"], 3);
        let Some(link) = page["nextLink"].as_str() else { break };
        next = link.split_once("127.0.0.1").expect("a link to here").1.to_owned();
    }
    assert_eq!(seen, ["hourly", "night-mail", "Nightly"]);
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_searched_for_is_refused() {
    let door = filled().await;
    for (query, status, says) in [
        ("top=0", 400, "from 1 to 1000"),
        ("top=1001", 400, "from 1 to 1000"),
        ("skip=-1", 400, "skip: '-1'"),
        ("state=running", 400, "allowed: enabled, disabled, completed, faulted"),
        ("sort=size", 400, "allowed: name, next, last, state, failures"),
        ("order=up", 400, "allowed: asc, desc"),
        ("collection=reports", 400, "allowed: the id of a job collection"),
        ("serach=x", 400, "'serach' means nothing here"),
        ("search=%FF", 400, "UTF-8"),
    ] {
        let answer = door.call("GET", &format!("/api/jobs?{query}"), None).await;
        assert_eq!(answer.status, status, "{query}: {}", answer.body);
        let message = answer.body["error"]["message"].as_str().expect("a message");
        assert!(message.contains(says), "{query}: {message}");
    }
    let long = door.call("GET", &format!("/api/jobs?search={}", "x".repeat(201)), None).await;
    assert_eq!(long.status, 400);
    let nowhere = collection("nowhere").replace("?api-version=2016-03-01", "");
    let answer = door.call("GET", &format!("/api/jobs?collection={nowhere}"), None).await;
    assert_eq!(answer.status, 404);
}

/// A misspelt parameter would be a question that was not asked, and a misspelt `dryRun` a change that was not wanted.
#[tokio::test(start_paused = true)]
async fn parameters_that_mean_nothing_are_refused_everywhere() {
    let door = filled().await;
    let document = door.get("/api/openapi.json").await;
    // They take anything, or what an issuer adds.
    let free = ["/api/echo", "/api/session/oidc/callback", "/api/openapi.json", "/api/session"];
    let mut asked = 0;
    for (path, item) in document["paths"].as_object().expect("paths") {
        if !path.starts_with("/api/") || free.contains(&path.as_str()) {
            continue;
        }
        let methods =
            ["get", "post", "put", "delete"].into_iter().filter(|method| item.get(*method).is_some());
        for method in methods {
            let path = path.replace("{name}", "n").replace("{id}", "pt_x");
            let body = (method == "post" || method == "put").then(|| json!({}));
            let uri = format!("{path}?nosuch=1");
            let answer = door.call(&method.to_uppercase(), &uri, body.as_ref()).await;
            let message = answer.body["error"]["message"].as_str().unwrap_or_default();
            assert!(
                answer.status == 400 && message.contains("'nosuch' means nothing here"),
                "{method} {uri}: {} {message}",
                answer.status
            );
            asked += 1;
        }
    }
    assert!(asked > 20, "{asked}");
    let twice = door.call("GET", "/api/jobs?top=1&TOP=2", None).await;
    assert_eq!(twice.body["error"]["message"], "The parameter 'TOP' is given twice; allowed: once.");
}
