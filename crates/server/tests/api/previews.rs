//! When jobs would run, and when they run next.

use serde_json::{Value, json};

use super::door::{Door, Refusal, collection, id, job, plain, with};

fn daily(more: Value) -> Value {
    let mut recurrence =
        json!({"frequency": "day", "timeZone": "Europe/Berlin", "schedule": {"hours": [2], "minutes": [30]}});
    for (name, value) in more.as_object().into_iter().flatten() {
        recurrence[name] = value.clone();
    }
    json!({"properties": {"startTime": "2027-03-27", "action": plain()["properties"]["action"], "recurrence": recurrence}})
}

#[tokio::test(start_paused = true)]
async fn a_preview_tells_occurrences_days_and_clock_changes() {
    let door = Door::open(&[]);
    let answer = door.call("POST", "/api/preview?count=2", Some(&daily(json!({})))).await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    let body = &answer.body;
    assert_eq!(body["timeZone"], "Europe/Berlin");
    let sentence = body["sentence"].as_str().expect("a text");
    assert!(sentence.starts_with("Every day at 02:30"), "{sentence}");
    assert_eq!(
        body["occurrences"],
        json!([
            {"at": "2027-03-27T01:30:00Z", "local": "2027-03-27 02:30", "offset": "+01:00", "clockChange": null},
            {"at": "2027-03-28T01:30:00Z", "local": "2027-03-28 03:30", "offset": "+02:00", "clockChange": "forward"},
        ])
    );
    // Now is 31 January: the year ends with the last of January of the next.
    let days = body["days"].as_array().expect("a list");
    assert_eq!(days.len(), 366 - 55, "without the days before the start");
    assert_eq!(days[0], json!({"date": "2027-03-27", "count": 1}));
    assert_eq!(
        body["clockChanges"],
        json!([{"date": "2027-03-28", "kind": "forward"}, {"date": "2027-10-31", "kind": "back"}])
    );
    assert_eq!(body["ends"], Value::Null);
}

#[tokio::test(start_paused = true)]
async fn a_preview_takes_parts_of_a_job_and_another_now() {
    let door = Door::open(&[]);
    let recurrence = json!({"frequency": "minute", "count": 100_000, "minuets": 1});
    for body in [
        json!({"properties": {"recurrence": recurrence}}),
        json!({"recurrence": recurrence}),
        recurrence.clone(),
    ] {
        let answer = door.call("POST", "/api/preview?now=2030-01-01T00:00:30Z&count=1000", Some(&body)).await;
        assert_eq!(answer.status, 200, "{}", answer.body);
        assert_eq!(answer.body["occurrences"].as_array().map(Vec::len), Some(1000));
        assert_eq!(answer.body["occurrences"][0]["local"], "2030-01-01 00:00:30");
        assert_eq!(answer.body["days"][0], json!({"date": "2030-01-01", "count": 1440}));
        assert_eq!(answer.body["days"][69], json!({"date": "2030-03-11", "count": 640}), "100 000 in all");
        assert_eq!(answer.body["ends"], "2030-03-11T10:39:30Z");
        let ignored = answer.headers["x-punctual-ignored"].to_str().expect("a text");
        assert!(ignored.ends_with("minuets"), "{ignored}");
    }
    let once = door
        .call("POST", "/api/preview", Some(&json!({"startTime": "2027-05-01", "state": "Disabled"})))
        .await;
    assert_eq!(once.body["ends"], "2027-05-01T00:00:00Z");
    assert!(once.body["remarks"].to_string().contains("The job is disabled"), "{}", once.body);
}

#[tokio::test(start_paused = true)]
async fn a_wrong_preview_names_every_fault_and_its_place() {
    let door = Door::open(&[]);
    let wrong = daily(json!({"interval": "x", "schedule": {"minutes": [60], "hours": [1]}}));
    let answer = door.call("POST", "/api/preview", Some(&wrong)).await;
    assert_eq!(answer.status, 400);
    let details = answer.body["error"]["details"].as_array().expect("details");
    let targets: Vec<&str> = details.iter().filter_map(|detail| detail["target"].as_str()).collect();
    assert_eq!(targets, ["properties.recurrence.interval", "properties.recurrence.schedule.minutes[0]"]);

    for (path, body, says) in [
        ("/api/preview?count=0", "{}", "count: '0'"),
        ("/api/preview?count=1001", "{}", "from 1 to 1000"),
        ("/api/preview?now=soon", "{}", "now: 'soon'"),
        ("/api/preview?cuont=1", "{}", "'cuont' means nothing here; allowed: count, now"),
        ("/api/preview", "{}", "a job (an object with properties)"),
        ("/api/preview", "[1]", "a job (an object with properties)"),
        ("/api/preview", "{\"recurrence\": {", "not JSON"),
        ("/api/preview", "", "not JSON"),
    ] {
        let request = axum::http::Request::builder().method("POST").uri(path);
        let answer = door.send(request.body(body.to_owned().into()).expect("a request")).await;
        assert_eq!(answer.status, 400, "{path} {body}: {}", answer.body);
        let message = answer.body["error"]["message"].as_str().expect("a message");
        assert!(message.contains(says), "{path} {body}: {message}");
    }
    door.refuses(
        "GET",
        "/api/preview",
        &json!(null),
        Refusal { status: 405, code: "MethodNotAllowed", target: "", says: &["POST"] },
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn upcoming_is_what_is_left_of_a_job_that_runs() {
    let door = Door::open(&[]);
    door.collection("c", "Standard").await;
    let counted = with(&[
        ("/startTime", json!("2027-01-31T12:10:00Z")),
        ("/recurrence", json!({"frequency": "day", "count": 3})),
    ]);
    door.accepts("PUT", &job("c", "j"), &counted).await;
    let upcoming = |count: u32| format!("/api/upcoming?job={}&count={count}", id("C", "J"));
    let found = door.get(&upcoming(10)).await;
    let times = |found: &Value| -> Vec<String> {
        let occurrences = found["occurrences"].as_array().expect("a list");
        occurrences.iter().map(|one| one["local"].as_str().expect("a text").to_owned()).collect()
    };
    assert_eq!(times(&found), ["2027-01-31 12:10", "2027-02-01 12:10", "2027-02-02 12:10"]);
    assert_eq!(found["timeZone"], "UTC");
    assert_eq!(times(&door.get(&upcoming(1)).await), ["2027-01-31 12:10"]);

    let engine = door.start(std::sync::Arc::new(actions::scripted::Scripted::new(|_, _| {
        actions::scripted::Step::success()
    })));
    tokio::time::sleep(std::time::Duration::from_secs(20 * 60)).await;
    assert!(engine.stop().await);
    assert_eq!(times(&door.get(&upcoming(10)).await), ["2027-02-01 12:10", "2027-02-02 12:10"]);

    let state = |state: &str| json!({"properties": {"state": state}});
    door.accepts("PATCH", &collection("c"), &state("Disabled")).await;
    assert_eq!(times(&door.get(&upcoming(10)).await), [""; 0], "its collection is switched off");
    door.accepts("PATCH", &collection("c"), &state("Enabled")).await;
    door.accepts("PATCH", &job("c", "j"), &state("Disabled")).await;
    assert_eq!(times(&door.get(&upcoming(10)).await), [""; 0], "it is switched off itself");
}

#[tokio::test(start_paused = true)]
async fn upcoming_wants_the_id_of_a_job() {
    let door = Door::open(&[]);
    door.collection("c", "Standard").await;
    for (query, status, says) in [
        (String::new(), 400, "job: missing"),
        ("job=j".to_owned(), 400, "allowed: the id of a job"),
        (format!("job={}", id("c", "j").replace("/jobs/j", "")), 400, "allowed: the id of a job"),
        (format!("job={}", id("c", "j")), 404, "Job 'j' cannot be found"),
        (format!("job={}", id("other", "j")), 404, "was not found"),
        (format!("job={}&count=-1", id("c", "j")), 400, "from 1 to 1000"),
        (format!("job={}&top=1", id("c", "j")), 400, "'top' means nothing here"),
    ] {
        let answer = door.call("GET", &format!("/api/upcoming?{query}"), None).await;
        assert_eq!(answer.status, status, "{query}: {}", answer.body);
        let message = answer.body["error"]["message"].as_str().expect("a message");
        assert!(message.contains(says), "{query}: {message}");
    }
}
