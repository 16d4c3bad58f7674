//! `punctual waiting`: who waits for whom.

use clap::Args;
use http::Method;
use serde_json::Value;

use crate::client::{self, Condition};
use crate::output::{Format, Output, many, text, time};
use crate::style;
use crate::target::Server;

/// The options of `waiting`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Options {
    #[command(flatten)]
    server: Server,
    #[command(flatten)]
    format: Format,
}

const EXAMPLES: &str = "A call that is due waits when too many others run. FOR says what it waits for:

  target      all places at the target are taken (engine.calls-per-target)
  collection  all places of its collection are taken (engine.calls-per-collection)
  share       few places are left, and its collection has its share of them
  pool        all places are taken (engine.calls)

HELD BY says whose calls have those places. With many nodes it is about the one that answers.

Examples:
  punctual waiting
  punctual waiting --json";

const HEADINGS: &[&str] = &["COLLECTION", "TARGET", "WAITING", "RUNNING", "SINCE", "FOR", "HELD BY"];

pub(crate) fn run(options: &Options) -> anyhow::Result<()> {
    client::wait(async {
        let client = options.server.client()?;
        let answer = client.ask(Method::GET, "/api/waiting", None, &Condition::Always).await?.body;
        let mut list = Output::new(options.format).list(HEADINGS);
        for queue in answer["queues"].as_array().into_iter().flatten() {
            list.add(queue, row(queue))?;
        }
        let shown = list.end(&none(&answer))?;
        if shown > 0 && !options.format.json && !options.format.quiet {
            hidden(&answer).iter().for_each(|hidden| style::say("note", hidden));
        }
        Ok(())
    })
}

/// What is said where no queue can be shown.
fn none(answer: &Value) -> String {
    let number = |value: &Value| value.as_u64().unwrap_or_default();
    match number(&answer["waiting"]) {
        0 => format!(
            "no call waits; {} of at most {} run",
            number(&answer["running"]),
            number(&answer["limits"]["calls"])
        ),
        others => format!("{} of other collections, which you may not see", waits(others)),
    }
}

/// What is left out of the list.
fn hidden(answer: &Value) -> Vec<String> {
    let more = answer["moreQueues"].as_u64().filter(|more| *more > 0);
    let others = answer["others"]["waiting"].as_u64().filter(|others| *others > 0);
    let more = more.map(|more| format!("{} not shown", many(more, "more queue")));
    let others =
        others.map(|others| format!("{} of other collections, which you may not see", waits(others)));
    more.into_iter().chain(others).collect()
}

fn waits(number: u64) -> String {
    if number == 1 { "1 call waits".to_owned() } else { format!("{number} calls wait") }
}

fn row(queue: &Value) -> Vec<String> {
    let held_by = queue["heldBy"].as_array().into_iter().flatten();
    let held_by: Vec<String> = held_by
        .map(|held| format!("{} ({})", collection(&held["collection"]), text(&held["calls"])))
        .collect();
    vec![
        collection(&queue["collection"]),
        text(&queue["target"]),
        text(&queue["waiting"]),
        text(&queue["running"]),
        time(&queue["since"]),
        text(&queue["waitsFor"]),
        held_by.join(", "),
    ]
}

/// The name of a collection with its resource group.
fn collection(id: &Value) -> String {
    let Some(id) = id.as_str() else { return "others".to_owned() };
    match id.split('/').collect::<Vec<_>>()[..] {
        [_, _, _, _, group, _, _, _, name] => format!("{group}/{name}"),
        _ => id.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_row_for_each_queue() {
        let id = |name: &str| {
            format!("/subscriptions/s/resourceGroups/g/providers/Microsoft.Scheduler/jobCollections/{name}")
        };
        let queue = json!({
            "collection": id("mine"), "target": "example.com:443", "running": 3, "waiting": 12,
            "since": "2027-01-01T00:00:00Z", "waitsFor": "target", "heldBy": [
                {"collection": id("theirs"), "target": "example.com:443", "calls": 80},
                {"collection": null, "target": "example.com:443", "calls": 7},
            ],
        });
        let cells = ["g/mine", "example.com:443", "12", "3", "2027-01-01 00:00:00Z", "target"];
        assert_eq!(row(&queue)[..6], cells);
        assert_eq!(row(&queue)[6], "g/theirs (80), others (7)");
    }

    #[test]
    fn what_is_not_shown_is_counted() {
        let answer = json!({
            "running": 5, "waiting": 1, "limits": {"calls": 1000}, "moreQueues": 2, "others": {"running": 1, "waiting": 1},
        });
        assert_eq!(none(&answer), "1 call waits of other collections, which you may not see");
        assert_eq!(
            hidden(&answer),
            ["2 more queues not shown", "1 call waits of other collections, which you may not see"]
        );
        let nothing = json!({"running": 5, "waiting": 0, "limits": {"calls": 1000}});
        assert_eq!(none(&nothing), "no call waits; 5 of at most 1000 run");
    }
}
