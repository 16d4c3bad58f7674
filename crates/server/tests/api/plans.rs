//! Plans and quotas: how many, how fast, with what credentials, and what a change of plan asks.

use serde_json::{Value, json};

use super::door::{Door, Refusal, collection, job, plain, with};

fn conflict<'a>(target: &'a str, says: &'a [&'a str]) -> Refusal<'a> {
    Refusal { status: 409, code: "Conflict", target, says }
}

fn bad<'a>(target: &'a str, says: &'a [&'a str]) -> Refusal<'a> {
    Refusal { status: 400, code: "BadRequest", target, says }
}

fn sku(plan: &str) -> Value {
    json!({"location": "Local", "properties": {"sku": {"name": plan}}})
}

fn quota(plan: &str, quota: &Value) -> Value {
    json!({"location": "Local", "properties": {"sku": {"name": plan}, "quota": quota}})
}

fn every(recurrence: Value) -> Value {
    with(&[("/recurrence", recurrence)])
}

#[tokio::test(start_paused = true)]
async fn jobs_in_a_collection() {
    for (plan, most) in [("Free", 5), ("Standard", 50), ("P10Premium", 50), ("P20Premium", 1000)] {
        let door = Door::open(&[]);
        door.collection("c", plan).await;
        for n in 0..most {
            door.accepts("PUT", &job("c", &format!("j{n}")), &plain()).await;
        }
        let says = &[&*format!("'{most}' jobs"), "Delete jobs"];
        door.refuses("PUT", &job("c", "more"), &plain(), conflict("", says)).await;
        door.refuses("POST", &job("c", "").replace("/?", "?"), &plain(), conflict("", says)).await;
        // What is there may still be changed, and one that goes makes room.
        door.accepts("PUT", &job("c", "J0"), &plain()).await;
        assert_eq!(door.call("DELETE", &job("c", "j1"), None).await.status, 200);
        door.accepts("PUT", &job("c", "more"), &plain()).await;
        door.refuses("PUT", &job("c", "j1"), &plain(), conflict("", says)).await;
    }
}

#[tokio::test(start_paused = true)]
async fn collections_in_a_subscription() {
    let door = Door::open(&[
        ("PUNCTUAL_PLANS_P10PREMIUM_COLLECTIONS", "3"),
        ("PUNCTUAL_PLANS_P20PREMIUM_COLLECTIONS", "2"),
    ]);
    let free = &["already has a free job collection", "Only one"][..];
    let rows = [
        ("Free", 1, free),
        ("Standard", 100, &["100 job collections", "Standard"]),
        ("P10Premium", 3, &["3 job collections", "P10Premium"]),
        ("P20Premium", 2, &["2 job collections", "P20Premium"]),
    ];
    for (plan, most, says) in rows {
        for n in 0..most {
            door.collection(&format!("{plan}-{n}"), plan).await;
        }
        door.refuses("PUT", &collection("more"), &sku(plan), conflict("", says)).await;
        // What is there stays, and the limit is that of one subscription.
        door.accepts("PUT", &collection(&format!("{plan}-0")), &sku(plan)).await;
        let elsewhere = collection("more").replace("/s/", "/other/");
        door.accepts("PUT", &elsewhere, &sku(plan)).await;
        assert_eq!(door.call("DELETE", &elsewhere, None).await.status, 200);
    }
    // Whoever changes over joins, too.
    door.refuses("PUT", &collection("Standard-0"), &sku("Free"), conflict("", free)).await;
    door.refuses("PATCH", &collection("Standard-0"), &sku("Free"), conflict("", free)).await;
}

#[tokio::test(start_paused = true)]
async fn more_than_a_hundred_collections_on_premium() {
    let door = Door::open(&[]);
    for n in 0..101 {
        door.collection(&format!("c{n}"), if n % 2 == 0 { "P10Premium" } else { "P20Premium" }).await;
    }
}

#[tokio::test(start_paused = true)]
async fn speed_of_a_plan() {
    let door = Door::open(&[("PUNCTUAL_PLANS_P20PREMIUM_FASTEST", "5m")]);
    let schedule = |minutes: &[u8]| json!({"frequency": "month", "schedule": {"minutes": minutes}});
    let rows: [(&str, Value, Option<&[&str]>); 15] = [
        ("Free", json!({"frequency": "hour"}), None),
        ("Free", json!({"frequency": "minute", "interval": 60}), None),
        ("Free", json!({"frequency": "minute", "interval": 59}), Some(&["every 59 minutes", "1 hour"])),
        ("Free", json!({"frequency": "minute"}), Some(&["every 1 minute", "1 hour"])),
        ("Free", schedule(&[0]), None),
        ("Free", schedule(&[0, 1]), Some(&["every 1 minute", "1 hour"])),
        (
            "Free",
            json!({"frequency": "month", "schedule": {"hours": [5], "minutes": [0, 59]}}),
            Some(&["every 59 minutes", "1 hour"]),
        ),
        ("Free", json!({"cron": "*/30 * * * *"}), Some(&["every 30 minutes", "1 hour"])),
        ("Free", json!({"cron": "0 * * * *"}), None),
        ("Standard", json!({"frequency": "minute"}), None),
        ("Standard", schedule(&[0, 1]), None),
        ("P10Premium", json!({"frequency": "minute"}), None),
        (
            "P20Premium",
            json!({"frequency": "minute", "interval": 4}),
            Some(&["every 4 minutes", "5 minutes"]),
        ),
        ("P20Premium", json!({"frequency": "minute", "interval": 5}), None),
        ("P20Premium", schedule(&[1, 5]), Some(&["every 4 minutes", "5 minutes"])),
    ];
    for plan in ["Free", "Standard", "P10Premium", "P20Premium"] {
        door.collection(plan, plan).await;
        door.accepts("PUT", &job(plan, "there"), &plain()).await;
    }
    for (plan, recurrence, refused) in rows {
        let body = every(recurrence);
        for (method, name) in [("PUT", "new"), ("PUT", "there"), ("PATCH", "there")] {
            match refused {
                None => {
                    door.accepts(method, &job(plan, name), &body).await;
                }
                Some(says) => {
                    let refusal = conflict("properties.recurrence", says);
                    door.refuses(method, &job(plan, name), &body, refusal).await;
                }
            }
        }
        door.accepts("PUT", &job(plan, "there"), &plain()).await;
        door.call("DELETE", &job(plan, "new"), None).await;
    }
}

/// A plan and a quota; and if it is refused, where and in which words.
type Row<'a> = (&'a str, Value, Option<(&'a str, &'a [&'a str])>);

#[tokio::test(start_paused = true)]
async fn a_quota_lowers_and_does_not_raise() {
    let door = Door::open(&[]);
    let count = "properties.quota.maxJobCount";
    let recurrence = "properties.quota.maxRecurrence";
    let fastest = |frequency: &str, interval: u32| json!({"maxRecurrence": {"frequency": frequency, "interval": interval}});
    let rows: Vec<Row<'_>> = vec![
        ("Standard", json!({"maxJobCount": 1}), None),
        ("Standard", json!({"maxJobCount": 50}), None),
        ("Standard", json!({"maxJobCount": 51}), Some((count, &["51", "from 1 to 50", "Standard"]))),
        ("Standard", json!({"maxJobCount": 0}), Some((count, &["0", "from 1 to 50"]))),
        ("Standard", json!({"maxJobCount": -1}), Some((count, &["-1", "from 1 to 50"]))),
        ("Standard", json!({"maxJobCount": 5_000_000_000_u64}), Some((count, &["from 1 to 50"]))),
        ("P10Premium", json!({"maxJobCount": 51}), Some((count, &["P10Premium"]))),
        ("P20Premium", json!({"maxJobCount": 1000}), None),
        ("P20Premium", json!({"maxJobCount": 1001}), Some((count, &["from 1 to 1000"]))),
        ("Free", json!({"maxJobCount": 5}), None),
        ("Free", json!({"maxJobCount": 6}), Some((count, &["from 1 to 5"]))),
        ("Standard", fastest("minute", 1), None),
        ("Standard", fastest("week", 2), None),
        ("Free", fastest("hour", 1), None),
        ("Free", fastest("minute", 60), None),
        ("Free", fastest("minute", 59), Some((recurrence, &["59 minute", "3600 seconds", "Free"]))),
        (
            "Standard",
            fastest("minute", 0),
            Some(("properties.quota.maxRecurrence.interval", &["from 1 to 1000"])),
        ),
        (
            "Standard",
            fastest("day", 549),
            Some(("properties.quota.maxRecurrence.interval", &["from 1 to 548"])),
        ),
        (
            "Standard",
            fastest("second", 60),
            Some(("properties.quota.maxRecurrence.frequency", &["second", "minute, hour"])),
        ),
    ];
    for (plan, quotas, refused) in rows {
        let body = quota(plan, &quotas);
        for method in ["PUT", "PATCH"] {
            door.accepts("PUT", &collection("c"), &sku(plan)).await;
            match refused {
                None => {
                    let written = door.accepts(method, &collection("c"), &body).await;
                    assert_eq!(written.body["properties"]["quota"], quotas, "{plan}");
                    assert_eq!(door.get(&collection("c")).await, written.body);
                }
                Some((target, says)) => {
                    door.refuses(method, &collection("c"), &body, bad(target, says)).await;
                }
            }
        }
        assert_eq!(door.call("DELETE", &collection("c"), None).await.status, 200);
    }
}

#[tokio::test(start_paused = true)]
async fn a_quota_is_kept() {
    let door = Door::open(&[]);
    let limits = json!({"maxJobCount": 2, "maxRecurrence": {"frequency": "hour", "interval": 2}});
    door.accepts("PUT", &collection("c"), &quota("Standard", &limits)).await;
    let slow = every(json!({"frequency": "hour", "interval": 2}));
    let fast = every(json!({"frequency": "minute", "interval": 119}));
    let too_fast = conflict("properties.recurrence", &["every 119 minutes", "2 hours"]);
    door.accepts("PUT", &job("c", "a"), &slow).await;
    door.refuses("PUT", &job("c", "b"), &fast, too_fast).await;
    door.refuses("PATCH", &job("c", "a"), &fast, too_fast).await;
    door.accepts("PUT", &job("c", "b"), &slow).await;
    door.refuses("PUT", &job("c", "c"), &slow, conflict("", &["'2' jobs"])).await;

    // A quota below what is there is refused by name.
    let fewer = quota("Standard", &json!({"maxJobCount": 1}));
    let says = &["it holds 2 jobs where 1 are allowed"];
    door.refuses("PUT", &collection("c"), &fewer, conflict("", says)).await;
    door.refuses("PATCH", &collection("c"), &fewer, conflict("", says)).await;
    let slower = quota("Standard", &json!({"maxRecurrence": {"frequency": "hour", "interval": 3}}));
    let says = &["job 'a'", "job 'b'", "every 2 hours", "3 hours"];
    door.refuses("PUT", &collection("c"), &slower, conflict("", says)).await;
    // Without a quota the plan's own limits are back.
    door.accepts("PATCH", &collection("c"), &json!({"properties": {"quota": null}})).await;
    door.accepts("PUT", &job("c", "c"), &fast).await;
}

/// Calls that were made once and are over leave their place to others, in every way that jobs come.
#[tokio::test(start_paused = true)]
async fn finished_jobs_do_not_count() {
    let door = Door::open(&[]);
    door.collection("c", "Standard").await;
    let engine = door.start(std::sync::Arc::new(actions::scripted::Scripted::succeeding()));
    let once = with(&[("/startTime", Value::Null), ("/recurrence", Value::Null)]);
    for i in 0..60 {
        door.accepts("PUT", &job("c", &format!("once-{i}")), &once).await;
        tokio::time::sleep(std::time::Duration::from_secs(1)).await;
    }
    assert!(engine.stop().await);
    assert_eq!(door.get("/api/overview").await["jobs"]["completed"], 60);
    for i in 0..50 {
        door.accepts("PUT", &job("c", &format!("later-{i}")), &plain()).await;
    }
    let full = &["quota of '50' jobs", "In use: 50 of 50; 60 finished jobs do not count."];
    door.refuses("PUT", &job("c", "more"), &plain(), conflict("", full)).await;
    let document = |name: &str| {
        let mut resource = plain();
        resource["type"] = json!("Microsoft.Scheduler/jobCollections/jobs");
        resource["name"] = json!(format!("c/{name}"));
        json!([resource])
    };
    let import = "/api/import?subscription=s&group=g";
    let answer = door.call("POST", import, Some(&document("more"))).await;
    assert_eq!(answer.status, 409, "{}", answer.body);
    // A lower quota is about those that count, too.
    let fewer = quota("Standard", &json!({"maxJobCount": 49}));
    let says = &["it holds 50 jobs where 49 are allowed (60 finished ones do not count)"];
    door.refuses("PUT", &collection("c"), &fewer, conflict("", says)).await;
    let gone = door.call("DELETE", &job("c", "later-0"), None).await;
    assert_eq!(gone.status, 200);
    door.accepts("PUT", &collection("c"), &fewer).await;
    let roomy = json!({"properties": {"quota": null}});
    door.accepts("PATCH", &collection("c"), &roomy).await;
    let answer = door.call("POST", import, Some(&document("more"))).await;
    assert_eq!(answer.status, 200, "{}", answer.body);
}

#[tokio::test(start_paused = true)]
async fn up_always_down_only_with_what_fits() {
    let door = Door::open(&[]);
    let change = |plan: &str| json!({"properties": {"sku": {"name": plan}}});
    door.collection("c", "Free").await;
    door.accepts("PUT", &job("c", "a"), &every(json!({"frequency": "hour"}))).await;
    for plan in ["Standard", "P10Premium", "P20Premium", "Standard", "Free", "P20Premium"] {
        door.accepts("PATCH", &collection("c"), &change(plan)).await;
    }
    let basic = json!({"type": "Basic", "username": "u", "password": "p"});
    let retries = json!({"retryType": "fixed", "retryInterval": "PT15S"});
    let rows: [(Value, &[&str]); 3] = [
        (every(json!({"frequency": "minute"})), &["job 'fast'", "every 1 minute", "1 hour"]),
        (
            with(&[("/action/request/authentication", basic)]),
            &["job 'fast'", "action.request.authentication"],
        ),
        (
            with(&[("/action/retryPolicy", retries)]),
            &["job 'fast'", "retryInterval", "15 seconds", "from 1 hour"],
        ),
    ];
    for (body, says) in rows {
        door.accepts("PUT", &job("c", "fast"), &body).await;
        door.refuses("PUT", &collection("c"), &sku("Free"), conflict("", says)).await;
        door.refuses("PATCH", &collection("c"), &change("Free"), conflict("", says)).await;
        door.accepts("PATCH", &collection("c"), &change("Standard")).await;
        door.accepts("PATCH", &collection("c"), &change("P20Premium")).await;
    }
    door.accepts("PUT", &job("c", "fast"), &plain()).await;
    for n in 0..4 {
        door.accepts("PUT", &job("c", &format!("j{n}")), &plain()).await;
    }
    let says = &["it holds 6 jobs where 5 are allowed"];
    door.refuses("PUT", &collection("c"), &sku("Free"), conflict("", says)).await;
    assert_eq!(door.call("DELETE", &job("c", "j0"), None).await.status, 200);
    door.accepts("PUT", &collection("c"), &sku("Free")).await;

    // A thousand reasons are not a message.
    door.accepts("PUT", &collection("c"), &sku("P20Premium")).await;
    for n in 0..102 {
        door.accepts("PUT", &job("c", &format!("fast{n}")), &every(json!({"frequency": "minute"}))).await;
    }
    let says = &["it holds 107 jobs", "and 3 more"];
    door.refuses("PUT", &collection("c"), &sku("Free"), conflict("", says)).await;
}

/// A limit that was lowered since is no reason to stay on a plan.
#[tokio::test(start_paused = true)]
async fn a_job_beyond_a_newer_limit_may_move_up() {
    let mut door = Door::open(&[]);
    door.collection("c", "Free").await;
    door.accepts("PUT", &job("c", "j"), &with(&[("/action/request/body", "x".repeat(100).into())])).await;
    door.app.limits.body = 50;
    let door = door.reopened();
    door.accepts("PUT", &collection("c"), &sku("Standard")).await;
    let says = &["100 characters", "at most 50"];
    let part = json!({"properties": {"state": "Disabled"}});
    door.refuses("PATCH", &job("c", "j"), &part, bad("properties.action.request.body", says)).await;
}

#[tokio::test(start_paused = true)]
async fn free_has_no_outbound_authentication() {
    let door = Door::open(&[]);
    door.collection("free", "Free").await;
    door.collection("standard", "Standard").await;
    door.accepts("PUT", &job("free", "there"), &plain()).await;
    let kinds = [
        json!({"type": "Basic", "username": "u", "password": "hunter2"}),
        json!({"type": "ActiveDirectoryOAuth", "tenant": "t", "audience": "a", "clientId": "c", "secret": "hunter2"}),
        json!({"type": "Hmac", "secret": "whsec_aHVudGVyMmh1bnRlcjJodW50ZXIyaHVudGVyMg=="}),
    ];
    for kind in kinds {
        for depth in 0..=3 {
            let call = json!({"type": "Http", "request": {"uri": "http://example.org/", "method": "GET"}});
            let mut guarded = call.clone();
            guarded["request"]["authentication"] = kind.clone();
            let action = (0..depth).fold(guarded, |inner, _| {
                let mut outer = call.clone();
                outer["errorAction"] = inner;
                outer
            });
            let body = with(&[("/action", action)]);
            let target = format!("properties.action{}.request.authentication", ".errorAction".repeat(depth));
            let refusal = bad(&target, &["no authentication on this plan"]);
            door.refuses("PUT", &job("free", "new"), &body, refusal).await;
            door.refuses("PUT", &job("free", "there"), &body, refusal).await;
            door.refuses("PATCH", &job("free", "there"), &body, refusal).await;
            let answer = door.call("PUT", &job("free", "new"), Some(&body)).await;
            assert!(!answer.body.to_string().contains("hunter2"), "{}", answer.body);
            assert!(!answer.body.to_string().contains("aHVudGVy"), "{}", answer.body);
            door.accepts("PUT", &job("standard", "new"), &body).await;
        }
    }
}
