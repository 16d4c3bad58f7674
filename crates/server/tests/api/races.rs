//! Two clients at once, on a real socket: with the same If-Match one wins, and nothing is mixed.

use std::net::SocketAddr;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;

use crate::world::{World, collection, within};

const ROUNDS: usize = 60;

/// One exchange on a connection of its own: status, ETag, body.
async fn call(
    address: SocketAddr,
    method: &str,
    path: &str,
    tag: Option<&str>,
    body: &Value,
) -> (u16, String, Value) {
    let body = body.to_string();
    let condition = tag.map(|tag| format!("if-match: {tag}\r\n")).unwrap_or_default();
    let request = format!(
        "{method} {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\ncontent-type: application/json\r\n\
         {condition}content-length: {}\r\n\r\n{body}",
        body.len()
    );
    let exchange = async {
        let mut stream = TcpStream::connect(address).await.expect("connected");
        stream.write_all(request.as_bytes()).await.expect("written");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.expect("an answer");
        answer
    };
    let answer = timeout(Duration::from_secs(60), exchange).await.expect("an answer in time");
    let (head, body) = answer.split_once("\r\n\r\n").expect("an answer");
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
    let etag = head.lines().filter_map(|line| line.split_once(": ")).find(|(name, _)| *name == "etag");
    let etag = etag.map(|(_, etag)| etag.to_owned()).unwrap_or_default();
    (status, etag, serde_json::from_str(body).unwrap_or(Value::Null))
}

/// A job all of whose parts name its writer.
fn job(writer: &str) -> Value {
    json!({"properties": {
        "startTime": "2027-06-01T00:00:00Z",
        "action": {"type": "Http", "request": {
            "uri": format!("http://{writer}.example.org/"),
            "method": "POST",
            "headers": {"x-writer": writer},
            "body": writer,
        }},
    }})
}

/// Who wrote the job; that it is one and the same in all its parts is checked on the way.
fn writer(job: &Value) -> String {
    let request = &job["properties"]["action"]["request"];
    let writer = request["body"].as_str().expect("a body").to_owned();
    assert_eq!(request["uri"], format!("http://{writer}.example.org/"), "nothing is mixed");
    assert_eq!(request["headers"], json!({"x-writer": writer}), "nothing is mixed");
    writer
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_wins_and_the_other_is_told() {
    let world = World::new();
    world.put(&collection("c"), &json!({})).await.expect(201);
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("bound");
    let address = listener.local_addr().expect("bound");
    let server = tokio::spawn(axum::serve(listener, world.router.clone()).into_future());

    let path = within("c", "jobs/j");
    let (status, mut tag, _) = call(address, "PUT", &path, None, &job("nobody")).await;
    assert_eq!(status, 201);
    let mut winners = [0, 0];
    for round in 0..ROUNDS {
        // Both PUT, both PATCH, and one of each.
        let methods = [["PUT", "PUT"], ["PATCH", "PATCH"], ["PUT", "PATCH"]][round % 3];
        let names = [format!("a{round}"), format!("b{round}")];
        let bodies = names.clone().map(|name| job(&name));
        let (first, second) = tokio::join!(
            call(address, methods[0], &path, Some(&tag), &bodies[0]),
            call(address, methods[1], &path, Some(&tag), &bodies[1]),
        );
        let winner = match (first.0, second.0) {
            (200, 412) => 0,
            (412, 200) => 1,
            statuses => panic!("{statuses:?} in round {round}: {} {}", first.2, second.2),
        };
        winners[winner] += 1;
        let [won, lost] = if winner == 0 { [first, second] } else { [second, first] };
        assert_eq!(lost.2["error"]["code"], "PreconditionFailed");
        let (_, now, stored) = call(address, "GET", &path, None, &Value::Null).await;
        assert_eq!(writer(&stored), names[winner], "what is stored is the winner's");
        assert_eq!((&now, &stored), (&won.1, &won.2), "as the winner was told");
        tag = now;
    }
    println!("{winners:?}");

    // The same for collections and groups.
    let group = "/subscriptions/s/resourceGroups/g?api-version=2021-04-01";
    for path in [collection("c").as_str(), group] {
        let (_, mut tag, _) = call(address, "GET", path, None, &Value::Null).await;
        for round in 0..ROUNDS / 3 {
            let tags = ["a", "b"].map(|writer| json!({"tags": {"writer": format!("{writer}{round}")}}));
            let (first, second) = tokio::join!(
                call(address, "PATCH", path, Some(&tag), &tags[0]),
                call(address, "PUT", path, Some(&tag), &tags[1]),
            );
            let won = |status: u16| status == 200 || status == 201;
            assert!(won(first.0) && second.0 == 412 || first.0 == 412 && won(second.0));
            let told = if won(first.0) { first } else { second };
            let (_, now, stored) = call(address, "GET", path, None, &Value::Null).await;
            assert_eq!((&now, &stored), (&told.1, &told.2));
            tag = now;
        }
    }
    server.abort();
}
