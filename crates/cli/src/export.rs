//! `punctual export`: what a server holds, as a deployment template that imports back identically.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Args;
use http::Method;
use http_body_util::BodyExt;
use hyper::body::Incoming;

use crate::client;
use crate::outfile;
use crate::target::{self, Place};

/// The options of `export`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Options {
    /// Where the template goes; by default standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Only this job collection of the group
    #[arg(long, value_name = "NAME", requires = "group")]
    collection: Option<String>,
    #[command(flatten)]
    place: Place,
}

const EXAMPLES: &str =
    "Secrets are not exported: each becomes a parameter of the template, named after where it stands.
Jobs that have come to their end are left out; the template's metadata names them.
Without --group, each group of the subscription is a deployment within the template.

Examples:
  punctual export --group default -o copy.json
  punctual export > everything.json
  punctual export --group default | punctual import - --group copy --dry-run";

pub(crate) fn run(options: &Options) -> anyhow::Result<()> {
    let target = options.place.resolve()?;
    // Without a group of its own choice, the caller wants all of them.
    let group = options.place.names_group().then_some(target.group.as_str());
    let narrowed = [
        ("subscription", Some(target.subscription.as_str())),
        ("group", group),
        ("collection", options.collection.as_deref()),
    ];
    let path = target::query("/api/export", &narrowed);
    client::wait(async {
        let answer = target.client.send(Method::GET, &path, None).await?.into_body();
        let Some(file) = options.output.as_deref().filter(|file| *file != Path::new("-")) else {
            return save(answer, &mut io::stdout().lock()).await;
        };
        let saved = outfile::write(file, 0o666, async |to| save(answer, to).await).await;
        saved.with_context(|| format!("{} cannot be written", file.display()))
    })
}

async fn save(mut body: Incoming, to: &mut impl Write) -> anyhow::Result<()> {
    while let Some(frame) = body.frame().await {
        let frame = frame.context("the export broke off")?;
        if let Some(bytes) = frame.data_ref() {
            to.write_all(bytes)?;
        }
    }
    Ok(to.flush()?)
}
