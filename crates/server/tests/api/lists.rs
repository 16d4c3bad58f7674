//! Lists and what is kept: pages, the history of a job and its end, jobs that are done.

use std::sync::Arc;
use std::time::Duration;

use actions::scripted::{Scripted, Step};
use actions::{ActionSettings, Actions};
use engine::SystemClock;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::time::sleep;

use super::door::{Door, collection, job, plain, with};

fn entries(list: &Value) -> Vec<Value> {
    list["value"].as_array().expect("a list").clone()
}

async fn refuses(door: &Door, list: &str, name: &str, value: &str, allowed: &str) {
    let answer = door.call("GET", &format!("{list}&{name}={value}"), None).await;
    let message = answer.body["error"]["message"].as_str().unwrap_or_default();
    assert_eq!((answer.status, &answer.body["error"]["code"]), (400, &json!("BadRequest")), "{message}");
    assert!(message.starts_with(&format!("{name}: '{value}' ")) && message.contains(allowed), "{message}");
}

#[tokio::test(start_paused = true)]
async fn pages() {
    let door = Door::open(&[("PUNCTUAL_PLANS_STANDARD_JOBS", "200")]);
    door.collection("c", "Standard").await;
    for n in 0..102 {
        door.accepts("PUT", &job("c", &format!("j{n:03}")), &plain()).await;
    }
    let jobs = job("c", "").replace("/?", "?");
    let history = job("c", "j000/history");
    let collections = "/subscriptions/s/providers/Microsoft.Scheduler/jobCollections?api-version=2016-03-01";
    for (list, top, count) in [
        (&jobs, "1", 1),
        (&jobs, "99", 99),
        (&jobs, "100", 100),
        (&history, "1", 0),
        (&history, "500", 0),
        (&collections.to_owned(), "1000", 1),
    ] {
        let page = door.get(&format!("{list}&$top={top}")).await;
        assert_eq!(entries(&page).len(), count, "{list} {top}");
    }
    for (skip, count, first) in [
        ("0", 100, json!("c/j000")),
        ("101", 1, json!("c/j101")),
        ("102", 0, Value::Null),
        ("9223372036854775807", 0, Value::Null),
    ] {
        let page = door.get(&format!("{jobs}&$skip={skip}")).await;
        assert_eq!((entries(&page).len(), &page["value"][0]["name"]), (count, &first), "{skip}");
    }
    for (list, most) in [(jobs.clone(), 100), (history, 500), (collections.to_owned(), 1000)] {
        for top in ["0", "-1", "x", "", "1.5", "99999999999999999999", &(most + 1).to_string()] {
            let allowed = format!("allowed: a whole number from 1 to {most}.");
            refuses(&door, &list, "$top", top, &allowed).await;
        }
        for skip in ["-1", "x", "9223372036854775808"] {
            refuses(&door, &list, "$skip", skip, "allowed: a whole number from 0 to").await;
        }
    }
    // Every page once, by the links.
    let mut names = Vec::new();
    let mut next = Some(format!("{jobs}&%24top=40"));
    while let Some(link) = next {
        let page = door.get(link.strip_prefix("http://127.0.0.1").unwrap_or(&link)).await;
        names.extend(entries(&page).iter().map(|job| job["name"].to_string()));
        next = page["nextLink"].as_str().map(str::to_owned);
    }
    assert_eq!(names.len(), 102);
    assert!(names.is_sorted());
}

fn done() -> Arc<Scripted> {
    Arc::new(Scripted::new(|_, _| Step::success()))
}

async fn history(door: &Door, name: &str) -> Vec<Value> {
    let mut all = Vec::new();
    for skip in (0..).step_by(500) {
        let page =
            entries(&door.get(&format!("{}&$skip={skip}", job("c", &format!("{name}/history")))).await);
        all.extend(page.iter().cloned());
        if page.len() < 500 {
            return all;
        }
    }
    all
}

/// Time goes on until something is so; simulated, so it costs little.
async fn until<F: Future<Output = bool>>(what: &str, step: Duration, mut so: impl FnMut() -> F) {
    for _ in 0..5000 {
        if so().await {
            return;
        }
        sleep(step).await;
    }
    panic!("this never came: {what}");
}

/// Fewer than by default, because a thousand runs take long; that a thousand is the default is in the configuration.
#[tokio::test(start_paused = true)]
async fn a_history_has_an_end() {
    let door =
        Door::open(&[("PUNCTUAL_RETENTION_HISTORY_PER_JOB", "20"), ("PUNCTUAL_ENGINE_LONGEST_NAP", "1h")]);
    assert_eq!(Door::open(&[]).config.retention.history_per_job, 1000);
    door.collection("c", "Standard").await;
    let minutely = json!({"frequency": "minute"});
    let body = with(&[("/startTime", "2027-01-31T12:00:01Z".into()), ("/recurrence", minutely)]);
    door.accepts("PUT", &job("c", "j"), &body).await;
    let engine = door.start(done());
    // Half a minute after the last of so many runs, so that nothing runs meanwhile.
    sleep(Duration::from_secs(19 * 60 + 30)).await;
    let oldest =
        |entries: &[Value]| entries.last().expect("an entry")["properties"]["expectedExecutionTime"].clone();
    let all = history(&door, "j").await;
    assert_eq!((all.len(), oldest(&all)), (20, json!("2027-01-31T12:00:01Z")), "nothing is cut before");
    sleep(Duration::from_secs(5 * 60)).await;
    let count = door.get(&job("c", "j")).await["properties"]["status"]["executionCount"].clone();
    assert_eq!(count, 25, "counters go on");
    door.accepts("PATCH", &job("c", "j"), &json!({"properties": {"state": "Disabled"}})).await;
    until("the cut", Duration::from_secs(60 * 10), async || history(&door, "j").await.len() <= 20).await;
    let kept = history(&door, "j").await;
    assert_eq!((kept.len(), oldest(&kept)), (20, json!("2027-01-31T12:05:01Z")), "the oldest go");
    assert!(engine.stop().await);
}

#[tokio::test(start_paused = true)]
async fn what_is_done_is_kept_for_sixty_days() {
    const DAY: Duration = Duration::from_secs(24 * 60 * 60);
    let door = Door::open(&[("PUNCTUAL_ENGINE_LONGEST_NAP", "1h")]);
    door.collection("c", "Standard").await;
    let begin = door.now();
    let once = json!({"properties": {"action": plain()["properties"]["action"]}});
    door.accepts("PUT", &job("c", "once"), &once).await;
    let daily = with(&[("/startTime", "2027-01-31T12:00:01Z".into())]);
    door.accepts("PUT", &job("c", "daily"), &daily).await;
    let engine = door.start(done());
    until("the end of the job", Duration::from_secs(1), async || {
        door.get(&job("c", "once")).await["properties"]["state"] == "completed"
    })
    .await;

    // Half a day after the last of so many runs, so that nothing runs meanwhile.
    sleep(DAY * 59 + DAY / 2).await;
    assert_eq!(door.call("GET", &job("c", "once"), None).await.status, 200, "on the 60th day");
    assert_eq!(history(&door, "once").await.len(), 1);
    assert_eq!(history(&door, "daily").await.len(), 60, "from the first day on");
    until("the removal", Duration::from_secs(3600), async || {
        door.call("GET", &job("c", "once"), None).await.status == 404
    })
    .await;
    let passed = begin.duration_until(door.now());
    assert!(passed.as_hours() >= 60 * 24, "not before its time: {passed}");
    assert!(passed.as_hours() <= 60 * 24 + 3, "and not long after: {passed}");
    let names = entries(&door.get(&job("c", "").replace("/?", "?")).await);
    assert_eq!(names.len(), 1, "the other job is still there");

    sleep(DAY * 10).await;
    let oldest = history(&door, "daily").await.last().cloned().expect("an entry");
    let oldest = oldest["properties"]["startTime"].as_str().expect("a time").parse().expect("a time");
    let age = door.now().duration_since(oldest);
    assert!((59 * 24..=60 * 24 + 2).contains(&age.as_hours()), "{age}");
    assert_eq!(door.get(&collection("c")).await["name"], "c", "a collection is for ever");
    assert!(engine.stop().await);
}

/// A target that says more than is kept.
async fn talkative() -> std::net::SocketAddr {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("bound");
    let address = listener.local_addr().expect("bound");
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                head.push(stream.read_u8().await.expect("a head"));
            }
            let length: usize = String::from_utf8_lossy(&head)
                .split(['/', ' '])
                .nth(2)
                .and_then(|n| n.parse().ok())
                .expect("a number");
            let body = "é".repeat(length);
            let head = "HTTP/1.1 200 OK\r\ncontent-type: text/plain; charset=utf-8\r\nconnection: close\r\n";
            let answer = format!("{head}content-length: {}\r\n\r\n{body}", body.len());
            stream.write_all(answer.as_bytes()).await.expect("sent");
        }
    });
    address
}

#[tokio::test]
async fn an_answer_is_kept_up_to_1024_characters() {
    let door = Door::with_clock(&[], Arc::new(SystemClock));
    door.collection("c", "Standard").await;
    let target = talkative().await;
    let engine =
        door.start(Arc::new(Actions::new(ActionSettings::default(), door.app.clock.clone()).expect("valid")));
    for (length, kept) in [(1023, 1023), (1024, 1024), (1025, 1024), (4000, 1024)] {
        let request = json!({"uri": format!("http://{target}/{length}"), "method": "GET"});
        let body = json!({"properties": {"action": {"type": "Http", "request": request}}});
        let name = format!("j{length}");
        door.accepts("PUT", &job("c", &name), &body).await;
        until("its run", Duration::from_millis(5), async || !history(&door, &name).await.is_empty()).await;
        let message = history(&door, &name).await[0]["properties"]["message"].clone();
        let (_, told) = message.as_str().expect("a text").split_once(" Body: ").expect("a body");
        assert_eq!(told, "é".repeat(kept), "of {length}");
    }
    assert!(engine.stop().await);
}
