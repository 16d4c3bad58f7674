//! `punctual nodes`: who shares the store of a server.

use std::io::{self, Write};

use anyhow::Context;
use clap::Args;
use http::Method;
use http_body_util::BodyExt;
use serde_json::Value;

use crate::client::{Client, Server};
use crate::style;

/// The options of `nodes`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Options {
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    server: Server,
}

const EXAMPLES: &str = "Nodes share a store where they are started with the same --database.
A node whose lease has run out is lost; the others take over what it had claimed.

Examples:
  punctual nodes
  punctual nodes --json --server http://127.0.0.1:9000";

pub(crate) fn run(options: &Options) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let body = runtime.block_on(async {
        let answer = Client::new(&options.server)?.send(Method::GET, "/api/nodes", None).await?;
        anyhow::Ok(answer.into_body().collect().await.context("the answer broke off")?.to_bytes())
    })?;
    let body: Value = serde_json::from_slice(&body).context("the answer is no JSON")?;
    let mut out = io::stdout().lock();
    if options.json {
        return Ok(writeln!(out, "{:#}", body["value"])?);
    }
    let nodes = body["value"].as_array().map_or(&[][..], Vec::as_slice);
    if nodes.is_empty() {
        return Ok(writeln!(
            out,
            "The server keeps its jobs in the embedded store, which no other can share."
        )?);
    }
    write(&mut out, nodes)
}

const HEADING: [&str; 7] = ["name", "state", "lease", "claims", "clock", "version", "since"];

fn write(out: &mut impl Write, nodes: &[Value]) -> anyhow::Result<()> {
    let rows: Vec<[String; 7]> = nodes.iter().map(row).collect();
    let width = |column: usize| {
        let cells = rows.iter().map(|row| row[column].chars().count());
        cells.chain([HEADING[column].len()]).max().unwrap_or_default()
    };
    let widths: Vec<usize> = (0..HEADING.len()).map(width).collect();
    let line = |cells: &[String; 7]| {
        let cells = cells.iter().zip(&widths).map(|(cell, &width)| format!("{cell:<width$}"));
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    let style::Style { bold, plain, .. } = style::of(&io::stdout());
    writeln!(out, "{bold}{}{plain}", line(&HEADING.map(str::to_owned)))?;
    for row in &rows {
        writeln!(out, "{}", line(row))?;
    }
    Ok(())
}

fn row(node: &Value) -> [String; 7] {
    let text = |name: &str| node[name].as_str().unwrap_or_default().to_owned();
    let number = |name: &str| node[name].as_i64().unwrap_or_default();
    let mark = if node["answers"] == true { "*" } else { "" };
    [
        format!("{}{mark}", text("name")),
        text("state"),
        format!("{:.1} s", number("leaseMilliseconds") as f64 / 1000.0),
        number("claims").to_string(),
        format!("{:+} ms", number("clockOffsetMilliseconds")),
        text("version"),
        text("startedAt"),
    ]
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_line_for_each_node() {
        let node = |name: &str, state: &str, lease: i64, answers: bool| {
            json!({"name": name, "epoch": 3, "version": "0.1.0", "startedAt": "2027-01-01T00:00:00Z",
                   "state": state, "leaseMilliseconds": lease, "clockOffsetMilliseconds": -12, "claims": 40,
                   "answers": answers})
        };
        let mut out = Vec::new();
        write(&mut out, &[node("a", "alive", 2950, true), node("node-b", "lost", -100, false)])
            .expect("written");
        let out = String::from_utf8(out).expect("text");
        let lines: Vec<&str> = out.lines().skip(1).collect();
        assert_eq!(
            lines,
            [
                "a*      alive  3.0 s   40      -12 ms  0.1.0    2027-01-01T00:00:00Z",
                "node-b  lost   -0.1 s  40      -12 ms  0.1.0    2027-01-01T00:00:00Z",
            ]
        );
    }
}
