//! All at a glance.

use std::sync::Arc;
use std::time::Duration;

use access::{Grants, Role, Scope};
use actions::scripted::{Scripted, Step};
use model::Tally;
use serde_json::{Value, json};
use server::app::App;
use server::app::overview::{COUNTED, Lookback, Overview};
use tokio::time::sleep;

use super::door::{Door, id, job, with};

fn every(frequency: &str, name: &str) -> Value {
    with(&[
        ("/startTime", json!("2027-01-31T12:00:30Z")),
        ("/recurrence", json!({"frequency": frequency})),
        ("/action/request/uri", json!(format!("http://{name}.test/"))),
        ("/action/retryPolicy", json!({"retryType": "none"})),
    ])
}

#[tokio::test(start_paused = true)]
async fn an_empty_store_has_an_overview_too() {
    let door = Door::open(&[]);
    for (span, seconds, count) in [("hour", 60, 60), ("DAY", 900, 96), ("week", 7200, 84)] {
        let found = door.get(&format!("/api/overview?span={span}")).await;
        assert_eq!(found["span"], span.to_lowercase());
        assert_eq!((&found["bucketSeconds"], &found["collections"]), (&json!(seconds), &json!(0)));
        let buckets = found["buckets"].as_array().expect("a list");
        assert_eq!(buckets.len(), count);
        let last = json!({"at": "2027-01-31T12:00:00Z", "ran": 0, "ranLate": 0, "faulted": 0, "skipped": 0, "missed": 0,
            "failedAttempts": 0, "latenessP50": null, "latenessP99": null, "latenessMax": null});
        assert_eq!(buckets[count - 1], last);
        let times: Vec<model::Timestamp> = buckets
            .iter()
            .map(|bucket| bucket["at"].as_str().expect("a text").parse().expect("a time"))
            .collect();
        assert!(times.windows(2).all(|pair| pair[1].as_second() - pair[0].as_second() == seconds), "no gap");
    }
    let usual = door.get("/api/overview").await;
    assert_eq!((&usual["span"], &usual["version"]), (&json!("hour"), &json!(server::VERSION)));
    assert_eq!(usual["startedAt"], super::door::NOW);
}

#[tokio::test(start_paused = true)]
async fn an_overview_tells_what_ran_what_runs_and_what_is_next() {
    let door = Door::open(&[]);
    door.collection("c", "Standard").await;
    door.accepts("PUT", &job("c", "good"), &every("minute", "good")).await;
    door.accepts("PUT", &job("c", "bad"), &every("hour", "bad")).await;
    let mut slow = every("day", "slow");
    slow["properties"]["state"] = json!("Enabled");
    door.accepts("PUT", &job("c", "slow"), &slow).await;
    let mut off = every("day", "off");
    off["properties"]["state"] = json!("Disabled");
    door.accepts("PUT", &job("c", "off"), &off).await;
    let runner = Scripted::new(|order, _| match order.job {
        "bad" => Step::failure("no"),
        "slow" => Step::never(),
        _ => Step::success().after(Duration::from_millis(20)),
    });
    let engine = door.start(Arc::new(runner));
    sleep(Duration::from_secs(3 * 60)).await;

    let found = door.get("/api/overview").await;
    assert_eq!(found["now"], "2027-01-31T12:03:00Z");
    assert_eq!(found["jobs"], json!({"enabled": 3, "disabled": 1, "completed": 0, "faulted": 0}));
    assert_eq!((&found["running"], &found["collections"]), (&json!(1), &json!(1)));
    let running = &found["runningNow"];
    assert_eq!(running.as_array().map(Vec::len), Some(1));
    assert_eq!((&running[0]["id"], &running[0]["attempt"]), (&json!(id("c", "slow")), &json!(1)));
    assert_eq!(
        (&running[0]["job"], &running[0]["expectedAt"]),
        (&json!("slow"), &json!("2027-01-31T12:00:30Z"))
    );
    let totals = &found["totals"];
    assert_eq!(
        (&totals["ran"], &totals["faulted"], &totals["failedAttempts"]),
        (&json!(3), &json!(1), &json!(1))
    );
    assert!(totals["latenessMax"].as_u64().is_some_and(|late| late < 1000), "{totals}");
    let buckets = found["buckets"].as_array().expect("a list");
    let ran: Vec<&Value> = buckets[56..].iter().map(|bucket| &bucket["ran"]).collect();
    assert_eq!(ran, [1, 1, 1, 0]);
    assert_eq!(buckets[56]["at"], "2027-01-31T12:00:00Z");
    let next: Vec<&Value> =
        found["next"].as_array().expect("a list").iter().map(|next| &next["job"]).collect();
    assert_eq!(next, ["good", "bad", "slow"]);
    assert_eq!(found["next"][0]["at"], "2027-01-31T12:03:30Z");
    let not_run = found["notRun"].as_array().expect("a list");
    let states: Vec<_> = not_run.iter().map(|entry| (&entry["job"], &entry["state"])).collect();
    let [off, bad] = ["off", "bad"].map(|name| json!(id("c", name)));
    assert_eq!(states, [(&off, &json!("skipped")), (&bad, &json!("faulted"))]);

    let day = door.get("/api/overview?span=day").await;
    assert_eq!(day["totals"], *totals, "the same, in wider parts");
    assert_eq!(day["buckets"][95]["ran"], 3);
    // It never ends by itself, so neither does the engine in good time.
    assert!(!engine.stop().await);
}

#[tokio::test(start_paused = true)]
async fn another_span_is_refused() {
    let door = Door::open(&[]);
    for (query, says) in
        [("span=month", "allowed: hour, day, week"), ("spam=hour", "'spam' means nothing here")]
    {
        let answer = door.call("GET", &format!("/api/overview?{query}"), None).await;
        assert_eq!(answer.status, 400);
        assert!(
            answer.body["error"]["message"].as_str().is_some_and(|message| message.contains(says)),
            "{}",
            answer.body
        );
    }
}

/// An hour, as a reader of one collection sees it.
async fn seen_by_reader_of(door: &Door, collection: &str) -> Overview {
    let scope: Scope = id(collection, "").trim_end_matches("/jobs/").parse().expect("a scope");
    let mut app: App = door.app.clone();
    app.caller.grants = Grants::new([(Role::Reader, scope)]);
    app.store = app.store.seen_by(&app.caller.grants.sight());
    app.overview(Lookback::Hour).await.expect("an overview")
}

fn total(overview: &Overview) -> Tally {
    overview.parts.iter().fold(Tally::default(), |mut total, part| {
        total.add(&part.tally);
        total
    })
}

#[tokio::test(start_paused = true)]
async fn who_sees_a_part_gets_the_numbers_of_that_part() {
    let door = Door::open(&[]);
    for name in ["c", "d"] {
        door.collection(name, "Standard").await;
    }
    door.accepts("PUT", &job("c", "good"), &every("minute", "good")).await;
    door.accepts("PUT", &job("d", "good"), &every("minute", "good")).await;
    door.accepts("PUT", &job("d", "bad"), &every("hour", "bad")).await;
    let runner = Scripted::new(|order, _| match order.job {
        "bad" => Step::failure("no"),
        _ => Step::success().after(Duration::from_millis(20)),
    });
    let engine = door.start(Arc::new(runner));
    sleep(Duration::from_secs(3 * 60)).await;
    let (c, d) = (seen_by_reader_of(&door, "c").await, seen_by_reader_of(&door, "d").await);
    let all = door.app.overview(Lookback::Hour).await.expect("an overview");
    assert_eq!((total(&c).ran, total(&c).faulted), (3, 0));
    assert_eq!((total(&d).ran, total(&d).faulted), (3, 1));
    let lateness = |tally: &Tally| tally.lateness.quantile(0.99);
    assert!(lateness(&total(&c)).is_some());
    for (part, (c, d)) in all.parts.iter().zip(c.parts.iter().zip(&d.parts)) {
        assert_eq!((part.at, part.at), (c.at, d.at));
        assert_eq!(part.tally.ran, c.tally.ran + d.tally.ran, "{}", part.at);
        assert_eq!(part.tally.faulted, c.tally.faulted + d.tally.faulted, "{}", part.at);
    }
    assert_eq!((c.parts.len(), c.counted_since, all.counted_since), (60, None, None));
    assert!(engine.stop().await);
}

/// Counting has a bound, and what is beyond it is said and not made up.
#[tokio::test(start_paused = true)]
async fn who_sees_a_large_part_is_told_since_when_it_is_counted() {
    let door = Door::open(&[]);
    door.collection("c", "Standard").await;
    let jobs = 50;
    for n in 0..jobs {
        door.accepts("PUT", &job("c", &format!("j{n}")), &every("minute", "good")).await;
    }
    let engine = door.start(Arc::new(Scripted::succeeding()));
    sleep(Duration::from_secs(45 * 60)).await;
    let seen = seen_by_reader_of(&door, "c").await;
    assert!(45 * jobs > u64::from(COUNTED), "there is more than is counted");
    // The present minute has just begun.
    let whole = u64::from(COUNTED) / jobs;
    assert_eq!(seen.parts.len() as u64, whole + 1);
    assert_eq!(seen.counted_since, Some(seen.parts[0].at));
    let ran: Vec<u64> = seen.parts.iter().map(|part| part.tally.ran).collect();
    assert_eq!(ran[..whole as usize], vec![jobs; whole as usize], "each is whole");
    let all = door.app.overview(Lookback::Hour).await.expect("an overview");
    assert_eq!(total(&all).ran, 45 * jobs);
    assert!(engine.stop().await);
}
