//! `punctual nodes`: who shares the store of a server.

use clap::Args;
use serde_json::Value;

use crate::client;
use crate::output::{Format, Output, text, time};
use crate::target::Server;

/// The options of `nodes`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Options {
    #[command(flatten)]
    server: Server,
    #[command(flatten)]
    format: Format,
}

const EXAMPLES: &str = "Servers that are started with the same --database are nodes of it. The one that answers has a star. One whose
lease has run out is lost; the others take over what it had claimed.

Examples:
  punctual nodes
  punctual nodes --json";

const HEADINGS: &[&str] = &["NAME", "STATE", "LEASE", "CLAIMS", "CLOCK", "VERSION", "SINCE"];

pub(crate) fn run(options: &Options) -> anyhow::Result<()> {
    client::wait(async {
        let client = options.server.client()?;
        let nodes = client.list("/api/nodes").await?;
        let mut list = Output::new(options.format).list(HEADINGS);
        for node in &nodes {
            list.add(node, row(node))?;
        }
        list.end("the server keeps its jobs in the embedded store, which no other can share")?;
        Ok(())
    })
}

fn row(node: &Value) -> Vec<String> {
    let number = |name: &str| node[name].as_i64().unwrap_or_default();
    let star = if node["answers"] == true { "*" } else { "" };
    vec![
        format!("{}{star}", text(&node["name"])),
        text(&node["state"]),
        format!("{:.1} s", number("leaseMilliseconds") as f64 / 1000.0),
        number("claims").to_string(),
        format!("{:+} ms", number("clockOffsetMilliseconds")),
        text(&node["version"]),
        time(&node["startedAt"]),
    ]
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_row_for_each_node() {
        let node = json!({
            "name": "a", "epoch": 3, "version": "0.1.0", "startedAt": "2027-01-01T00:00:00Z", "state": "alive",
            "leaseMilliseconds": 2950, "clockOffsetMilliseconds": -12, "claims": 40, "answers": true,
        });
        let cells = ["a*", "alive", "3.0 s", "40", "-12 ms", "0.1.0", "2027-01-01 00:00:00Z"];
        assert_eq!(row(&node), cells);
    }
}
