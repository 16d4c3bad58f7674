//! `punctual export`: what a server holds, as a deployment template that imports back identically.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Args;
use http::Method;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use url::form_urlencoded::Serializer;

use crate::client::{Client, Server};

/// The options of `export`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Options {
    /// The subscription to export
    #[arg(long)]
    subscription: String,
    /// Only this resource group; without it, each group is a deployment within the template
    #[arg(long)]
    group: Option<String>,
    /// Only this job collection of the group
    #[arg(long, requires = "group")]
    collection: Option<String>,
    /// Where the template goes; by default standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    server: Server,
}

const EXAMPLES: &str =
    "Secrets are not exported: each becomes a parameter of the template, named after where it stands.
Jobs that have come to their end are left out; the template's metadata names them.

Examples:
  punctual export --subscription s --group g -o template.json
  punctual export --subscription s > everything.json
  punctual export --subscription s --group g | punctual import - --subscription s --group copy --dry-run";

pub(crate) fn run(options: &Options) -> anyhow::Result<()> {
    let mut query = Serializer::new(String::new());
    query.append_pair("subscription", &options.subscription);
    for (name, value) in [("group", &options.group), ("collection", &options.collection)] {
        if let Some(value) = value {
            query.append_pair(name, value);
        }
    }
    let path = format!("/api/export?{}", query.finish());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let answer = Client::new(&options.server)?.send(Method::GET, &path, None).await?.into_body();
        let Some(file) = options.output.as_deref().filter(|file| *file != Path::new("-")) else {
            return save(answer, &mut io::stdout().lock()).await;
        };
        // It gets its name when it is complete, so that half a template never looks like one.
        let partial = PathBuf::from(format!("{}.partial", file.display()));
        let saved = match File::create(&partial) {
            Ok(mut partial) => save(answer, &mut partial).await,
            Err(error) => Err(error.into()),
        };
        let saved = saved.and_then(|()| Ok(fs::rename(&partial, file)?));
        if saved.is_err() {
            // Only tidying up; the first error says what is wrong.
            let _ = fs::remove_file(&partial);
        }
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
