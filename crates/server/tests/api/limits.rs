//! The limits of a job, below, at and above.

use serde_json::{Value, json};

use super::door::{Door, Refusal, collection, job, plain, with};

/// A change of the plain job; and if it is refused, where and in which words.
type Row<'a> = (&'a str, Value, Option<(&'a str, &'a [&'a str])>);

fn row<'a>(place: &'a str, value: impl Into<Value>) -> Row<'a> {
    (place, value.into(), None)
}

fn bad<'a>(place: &'a str, value: impl Into<Value>, target: &'a str, says: &'a [&'a str]) -> Row<'a> {
    (place, value.into(), Some((target, says)))
}

/// Every row by PUT of a new job, by PUT of one that is there, by POST, and by PATCH.
async fn go_through(door: &Door, plan: &str, rows: &[Row<'_>]) {
    door.collection(plan, plan).await;
    door.accepts("PUT", &job(plan, "there"), &plain()).await;
    for (place, value, refused) in rows {
        let body = with(&[(place, value.clone())]);
        let patch = {
            let mut part = json!({"properties": {}});
            let name = place.split('/').nth(1).expect("a place");
            part["properties"][name] = body["properties"][name].clone();
            part
        };
        let calls = [
            ("PUT", job(plan, "new"), &body),
            ("PUT", job(plan, "there"), &body),
            ("POST", job(plan, "").replace("/?", "?"), &body),
            ("PATCH", job(plan, "there"), &patch),
        ];
        for (method, path, body) in calls {
            match refused {
                None => {
                    let written = door.accepts(method, &path, body).await;
                    let name = written.body["name"].as_str().and_then(|name| name.split_once('/'));
                    let path = job(plan, name.expect("a name").1);
                    assert_eq!(door.get(&path).await, written.body, "{method} {path}");
                    if !path.contains("/there") {
                        assert_eq!(door.call("DELETE", &path, None).await.status, 200);
                    }
                }
                Some((target, says)) => {
                    let refusal = Refusal { status: 400, code: "BadRequest", target, says };
                    door.refuses(method, &path, body, refusal).await;
                }
            }
        }
        door.accepts("PUT", &job(plan, "there"), &plain()).await;
    }
}

const URI: &str = "properties.action.request.uri";
const HEADERS: &str = "properties.action.request.headers";
const BODY: &str = "properties.action.request.body";

fn uri(length: usize) -> String {
    format!("{:é<length$}", "http://example.org/")
}

fn headers(count: usize) -> Value {
    (0..count).map(|n| (format!("x-{n}"), json!("y"))).collect::<serde_json::Map<_, _>>().into()
}

/// Names and values of so many characters in all.
fn header_characters(count: usize) -> Value {
    json!({"a": "x".repeat(99), "b": "é".repeat(count - 101)})
}

#[tokio::test(start_paused = true)]
async fn requests() {
    let door = Door::open(&[]);
    let rows = [
        row("/action/request/uri", uri(2047)),
        row("/action/request/uri", uri(2048)),
        bad("/action/request/uri", uri(2049), URI, &["2049 characters", "at most 2048 characters"]),
        row("/action/request/headers", headers(49)),
        row("/action/request/headers", headers(50)),
        bad("/action/request/headers", headers(51), HEADERS, &["51 headers", "at most 50 headers"]),
        row("/action/request/headers", header_characters(4095)),
        row("/action/request/headers", header_characters(4096)),
        bad(
            "/action/request/headers",
            header_characters(4097),
            HEADERS,
            &["4097 characters", "at most 4096"],
        ),
        row("/action/request/body", "x".repeat(8191)),
        row("/action/request/body", "x".repeat(8192)),
        bad("/action/request/body", "x".repeat(8193), BODY, &["8193 characters", "at most 8192 characters"]),
    ];
    go_through(&door, "Standard", &rows).await;
}

/// Characters, not bytes: the limit is of what a person writes. Bytes are what the limit of the whole job counts.
#[tokio::test(start_paused = true)]
async fn a_body_is_counted_in_characters() {
    let door = Door::open(&[("PUNCTUAL_LIMITS_JOB", "100000")]);
    let rows = [
        row("/action/request/body", "€".repeat(8192)),
        row("/action/request/body", "😀".repeat(8192)),
        bad("/action/request/body", "😀".repeat(8193), BODY, &["8193 characters"]),
    ];
    go_through(&door, "Standard", &rows).await;
}

#[tokio::test(start_paused = true)]
async fn starts_and_recurrences() {
    let door = Door::open(&[]);
    let start = "properties.startTime";
    let interval = "properties.recurrence.interval";
    let count = "properties.recurrence.count";
    let mut rows = vec![
        // 18 months after the clock's moment.
        row("/startTime", "2028-07-31T11:59:59Z"),
        row("/startTime", "2028-07-31T12:00:00Z"),
        row("/startTime", "2028-07-31T14:00:00+02:00"),
        bad("/startTime", "2028-07-31T12:00:01Z", start, &["18 months", "2028-07-31T12:00:00Z"]),
        bad("/startTime", "9999-01-01", start, &["18 months"]),
        row("/startTime", "1999-01-01"),
        row("/recurrence/count", 1),
        row("/recurrence/count", 2_147_483_647_i64),
        bad("/recurrence/count", 0, count, &["from 1 to 2147483647"]),
        bad("/recurrence/count", -1, count, &["from 1 to 2147483647"]),
        bad("/recurrence/count", 2_147_483_648_i64, count, &["from 1 to 2147483647"]),
        bad("/recurrence/count", 1.5, count, &["1.5", "from 1 to 2147483647"]),
        row("/catchUp", json!({"policy": "all", "max": 999})),
        row("/catchUp", json!({"policy": "all", "max": 1000})),
        bad("/catchUp", json!({"policy": "all", "max": 1001}), "properties.catchUp.max", &["1001", "1000"]),
        bad("/catchUp", json!({"policy": "all", "max": 0}), "properties.catchUp.max", &["from 1"]),
    ];
    for (frequency, longest) in
        [("minute", 1000), ("hour", 1000), ("day", 548), ("week", 78), ("month", 18), ("year", 1)]
    {
        let every = |interval: i64| json!({"frequency": frequency, "interval": interval});
        rows.push(row("/recurrence", every(1)));
        rows.push(row("/recurrence", every(longest)));
        for wrong in [longest + 1, 0, -1, i64::MAX] {
            rows.push(bad("/recurrence", every(wrong), interval, &["with frequency", "a whole number"]));
        }
    }
    go_through(&door, "Standard", &rows).await;
}

fn retries(interval: &str) -> Value {
    json!({"retryType": "fixed", "retryInterval": interval, "retryCount": 1})
}

const INTERVAL: &str = "properties.action.retryPolicy.retryInterval";

#[tokio::test(start_paused = true)]
async fn retries_on_standard() {
    let door = Door::open(&[]);
    let count = |number: Value| json!({"retryType": "fixed", "retryCount": number});
    let counts = "properties.action.retryPolicy.retryCount";
    let place = "/action/retryPolicy";
    let in_error = "properties.action.errorAction.retryPolicy.retryInterval";
    let error = |interval: &str| {
        let request = json!({"uri": "http://example.org/", "method": "GET"});
        json!({"type": "Http", "request": request, "retryPolicy": retries(interval)})
    };
    let least = &["14 seconds", "from 15 seconds", "to 548 days"][..];
    let most = &["from 15 seconds", "to 548 days"][..];
    let rows = [
        row(place, count(0.into())),
        row(place, count(19.into())),
        row(place, count(20.into())),
        bad(place, count(21.into()), counts, &["21", "from 0 to 20"]),
        bad(place, count((-1).into()), counts, &["-1", "a whole number"]),
        bad(place, count("x".into()), counts, &["\"x\"", "a whole number"]),
        bad(place, count(1.5.into()), counts, &["1.5", "a whole number"]),
        row(place, retries("PT15S")),
        row(place, retries("00:00:15")),
        bad(place, retries("PT14S"), INTERVAL, least),
        bad(place, retries("00:00:14"), INTERVAL, least),
        row(place, retries("P548D")),
        row(place, retries("548.00:00:00")),
        bad(place, retries("P548DT1S"), INTERVAL, most),
        bad(place, retries("548.00:00:01"), INTERVAL, most),
        bad(place, retries("soon"), INTERVAL, &["soon", "PT1M", "00:01:00"]),
        row("/action/errorAction", error("PT15S")),
        bad("/action/errorAction", error("PT14S"), in_error, least),
        bad("/action/errorAction", error("00:00:14"), in_error, least),
    ];
    go_through(&door, "Standard", &rows).await;
}

#[tokio::test(start_paused = true)]
async fn retries_on_free() {
    let door = Door::open(&[]);
    let place = "/action/retryPolicy";
    let rows = [
        row(place, retries("PT1H")),
        row(place, retries("01:00:00")),
        bad(place, retries("PT59M59S"), INTERVAL, &["3599 seconds", "from 1 hour"]),
        bad(place, retries("00:59:59"), INTERVAL, &["3599 seconds", "from 1 hour"]),
        row(place, json!({"retryType": "none"})),
    ];
    go_through(&door, "Free", &rows).await;
}

#[tokio::test(start_paused = true)]
async fn error_actions_in_error_actions() {
    let nested = |depth: usize| {
        let call = json!({"type": "Http", "request": {"uri": "http://example.org/", "method": "GET"}});
        (1..depth).fold(call.clone(), |inner, _| {
            let mut outer = call.clone();
            outer["errorAction"] = inner;
            outer
        })
    };
    let door = Door::open(&[]);
    let fourth = "properties.action.errorAction.errorAction.errorAction.errorAction";
    let rows = [
        row("/action/errorAction", nested(2)),
        row("/action/errorAction", nested(3)),
        bad("/action/errorAction", nested(4), fourth, &["an error action", "at most 3 deep"]),
        bad("/action/errorAction", nested(30), fourth, &["at most 3 deep"]),
    ];
    go_through(&door, "Standard", &rows).await;
}

#[tokio::test(start_paused = true)]
async fn names() {
    let door = Door::open(&[]);
    door.collection("c", "Standard").await;
    let longest = "x".repeat(100);
    let made = json!({"location": "Local"});
    for name in ["a", "9", "My-name_1.2", &longest] {
        door.accepts("PUT", &job("c", name), &plain()).await;
        door.accepts("PUT", &collection(name), &made).await;
        assert_eq!(door.get(&collection(&name.to_uppercase())).await["name"], name, "in any case");
    }
    let too_long = "x".repeat(101);
    for name in ["-a", ".a", "_a", "a%20b", "a%2Fb", "%C3%A4", "a%3F", "a%00", "%F0%9F%98%80", &too_long] {
        let says = |what: &'static str| Refusal {
            status: 400,
            code: "BadRequest",
            target: "",
            says: match what {
                "job" => &["The name of the job is", "1 to 100 letters"],
                _ => &["The name of the job collection is", "1 to 100 letters"],
            },
        };
        door.refuses("PUT", &job("c", name), &plain(), says("job")).await;
        door.refuses("PUT", &collection(name), &made, says("collection")).await;
    }
    for (group, says) in [("a%2Fb", "'a/b'"), ("", "''"), ("g.", "not ending")] {
        let path = collection("c").replace("/g/", &format!("/{group}/"));
        let says = &["The name of the resource group", says];
        let refusal = Refusal { status: 400, code: "BadRequest", target: "", says };
        door.refuses("PUT", &path, &made, refusal).await;
    }
}

/// How many bytes a job is, from what is answered.
fn size(answer: &Value) -> usize {
    let mut properties = answer["properties"].clone();
    properties.as_object_mut().expect("an object").remove("status");
    properties.to_string().len()
}

#[tokio::test(start_paused = true)]
async fn a_job_has_at_most_16_kib() {
    const MOST: usize = 16 * 1024;
    let door = Door::open(&[]);
    door.collection("c", "Standard").await;
    let place = "/action/request/body";
    let small = door.accepts("PUT", &job("c", "j"), &with(&[(place, "".into())])).await;
    let rest = MOST - size(&small.body);
    // Two bytes a character, so that characters and bytes are not the same.
    let text = |bytes: usize| "é".repeat(bytes / 2) + if bytes % 2 == 1 { "x" } else { "" };

    for bytes in [rest - 1, rest] {
        let written = door.accepts("PUT", &job("c", "j"), &with(&[(place, text(bytes).into())])).await;
        assert_eq!(size(&written.body), MOST - rest + bytes);
        // What was answered is larger than the job, and comes back all the same.
        assert!(written.body.to_string().len() > MOST);
        let again = door.accepts("PUT", &job("c", "j"), &written.body).await;
        assert_eq!(again.body, written.body);
        door.accepts("PATCH", &job("c", "j"), &json!({"properties": {"state": "Enabled"}})).await;
    }
    let over = with(&[(place, text(rest + 1).into())]);
    let refusal = Refusal {
        status: 400,
        code: "BadRequest",
        target: "properties",
        says: &["16385 bytes", "at most 16384 bytes"],
    };
    door.refuses("PUT", &job("c", "j"), &over, refusal).await;
    door.refuses("PUT", &job("c", "new"), &over, refusal).await;
    // A part that is small makes a whole that is not.
    let part = json!({"properties": {"action": {"request": {"headers": {"x": ""}}}}});
    let bytes = r#","headers":{"x":""}"#.len();
    let refusal = Refusal { says: &[&format!("{} bytes", MOST + bytes)], ..refusal };
    door.refuses("PATCH", &job("c", "j"), &part, refusal).await;
}

#[tokio::test(start_paused = true)]
async fn the_way_a_job_is_written_does_not_count_but_has_an_end() {
    let door = Door::open(&[]);
    door.collection("c", "Standard").await;
    let send = |bytes: String| {
        let request = axum::http::Request::builder().method("PUT").uri(job("c", "j"));
        request.body(axum::body::Body::from(bytes)).expect("a request")
    };
    let spaced = |length: usize| {
        let text = plain().to_string();
        text.clone() + &" ".repeat(length - text.len())
    };
    assert_eq!(door.send(send(spaced(4 * 16384))).await.status, 201);
    let answer = door.send(send(spaced(4 * 16384 + 1))).await;
    assert_eq!((answer.status, &answer.body["error"]["code"]), (400, &json!("BadRequest")));
    assert_eq!(answer.body["error"]["message"], "The body has 65537 bytes; allowed: 65536.");
    let answer = door.send(send(spaced((1 << 20) + 1))).await;
    assert_eq!((answer.status, &answer.body["error"]["code"]), (413, &json!("PayloadTooLarge")));
    assert!(answer.body.to_string().contains("1048576"), "{}", answer.body);
}

/// A number that an operator changes changes the answer and the message.
#[tokio::test(start_paused = true)]
async fn an_operator_may_change_every_number() {
    let rows: [(&str, &str, Row<'_>, Row<'_>); 9] = [
        (
            "URI",
            "30",
            row("/action/request/uri", uri(30)),
            bad("/action/request/uri", uri(31), URI, &["at most 30 characters"]),
        ),
        (
            "HEADERS",
            "60",
            row("/action/request/headers", headers(60)),
            bad("/action/request/headers", headers(61), HEADERS, &["at most 60 headers"]),
        ),
        (
            "HEADER_CHARACTERS",
            "200",
            row("/action/request/headers", header_characters(200)),
            bad("/action/request/headers", header_characters(201), HEADERS, &["at most 200 characters"]),
        ),
        (
            "BODY",
            "9000",
            row("/action/request/body", "x".repeat(9000)),
            bad("/action/request/body", "x".repeat(9001), BODY, &["at most 9000 characters"]),
        ),
        (
            "START_MONTHS",
            "1",
            row("/startTime", "2027-02-28T12:00:00Z"),
            bad("/startTime", "2027-02-28T12:00:01Z", "properties.startTime", &["at most 1 months ahead"]),
        ),
        (
            "RETRY_COUNT",
            "3",
            row("/action/retryPolicy", json!({"retryType": "fixed", "retryCount": 3})),
            bad(
                "/action/retryPolicy",
                json!({"retryType": "fixed", "retryCount": 4}),
                "properties.action.retryPolicy.retryCount",
                &["from 0 to 3"],
            ),
        ),
        (
            "RETRY_INTERVAL",
            "2h",
            row("/action/retryPolicy", retries("PT2H")),
            bad("/action/retryPolicy", retries("PT2H1S"), INTERVAL, &["to 2 hours"]),
        ),
        (
            "CATCH_UP",
            "7",
            row("/catchUp", json!({"max": 7})),
            bad("/catchUp", json!({"max": 8}), "properties.catchUp.max", &["at most 7"]),
        ),
        (
            "JOB",
            "400",
            row("/action/request/body", "x".repeat(100)),
            bad("/action/request/body", "x".repeat(400), "properties", &["at most 400 bytes"]),
        ),
    ];
    for (name, value, good, bad) in rows {
        let door = Door::open(&[(&format!("PUNCTUAL_LIMITS_{name}"), value)]);
        go_through(&door, "Standard", &[good, bad]).await;
    }
    let door = Door::open(&[("PUNCTUAL_LIMITS_NAME", "3")]);
    door.collection("abc", "Standard").await;
    let says = &["1 to 3 letters"];
    let refusal = Refusal { status: 400, code: "BadRequest", target: "", says };
    door.refuses("PUT", &job("abc", "abcd"), &plain(), refusal).await;
    door.refuses("PUT", &collection("abcd"), &json!({"location": "Local"}), refusal).await;
}

#[tokio::test(start_paused = true)]
async fn an_operator_may_change_every_number_of_a_plan() {
    let door = Door::open(&[
        ("PUNCTUAL_PLANS_FREE_SHORTEST_RETRY", "7s"),
        ("PUNCTUAL_PLANS_FREE_AUTHENTICATION", "true"),
    ]);
    let basic = json!({"type": "Basic", "username": "u", "password": "p"});
    let rows = [
        row("/action/retryPolicy", retries("PT7S")),
        bad("/action/retryPolicy", retries("PT6S"), INTERVAL, &["6 seconds", "from 7 seconds"]),
        row("/action/request/authentication", basic),
    ];
    go_through(&door, "Free", &rows).await;
}

/// Clients on .NET write the last moment that they know for an end that never comes.
#[tokio::test(start_paused = true)]
async fn an_end_that_never_comes_is_taken_and_answered_as_written() {
    let door = Door::open(&[]);
    door.collection("c", "Standard").await;
    for end in ["9999-12-31T23:59:59Z", "9999-12-31T23:59:59.9999999Z"] {
        let body = with(&[("/recurrence/endTime", json!(end))]);
        let answer = door.accepts("PUT", &job("c", "j"), &body).await;
        assert_eq!(answer.body["properties"]["recurrence"]["endTime"], end);
        assert_eq!(door.get(&job("c", "j")).await, answer.body);
        assert_eq!(answer.body["properties"]["status"]["nextExecutionTime"], "2027-02-01T00:00:00Z");
        let preview = door.call("POST", "/api/preview", Some(&body)).await;
        assert_eq!((preview.status, &preview.body["ends"]), (200, &serde_json::Value::Null));
    }
}

/// An export holds the memory of a collection until its reader has taken it.
#[tokio::test(start_paused = true)]
async fn exports_that_nobody_reads_take_no_more_than_their_places() {
    let door = Door::open(&[]);
    for name in ["a", "b", "c"] {
        door.collection(name, "Standard").await;
    }
    let path = "/api/export?subscription=s";
    let mut unread = Vec::new();
    for _ in 0..4 {
        let (status, _, body) = door.open_stream(path).await;
        assert_eq!(status, 200);
        unread.push(body);
    }
    let refused = door.call("GET", path, None).await;
    assert_eq!(refused.status, 503, "{}", refused.body);
    assert!(refused.headers.contains_key("retry-after"));
    // A place is free again as soon as one of them is gone.
    unread.pop();
    assert_eq!(door.call("GET", path, None).await.status, 200);
    // And when nobody has taken anything for a minute.
    tokio::time::sleep(std::time::Duration::from_secs(61)).await;
    for _ in 0..5 {
        assert_eq!(door.call("GET", path, None).await.status, 200);
    }
}
