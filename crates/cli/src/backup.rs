//! `punctual backup`: a copy of a running server's store.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::Args;
use http::{Method, header};
use http_body_util::BodyExt;
use hyper::body::Incoming;

use crate::client;
use crate::outfile;
use crate::progress::Progress;
use crate::refused::Refused;
use crate::target::Server;

/// The options of `backup`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Options {
    /// Where the copy goes; `-` is standard output
    file: PathBuf,
    /// Replace the file if it is there
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    server: Server,
}

const EXAMPLES: &str = "The server goes on working. The copy says of when it is: every change answered before that instant is in it,
none that was asked for later, and the outcome of every call that was written down by then.
It is one SQLite file, with secrets sealed; keep the server's keys too, in another place.
To restore it, stop the server: see `punctual restore --help`.

Examples:
  punctual backup punctual-monday.db
  punctual backup - --server http://127.0.0.1:8042 | gzip > punctual.db.gz";

pub(crate) fn run(options: &Options) -> anyhow::Result<()> {
    let file = &options.file;
    let stdout = file == Path::new("-");
    if !stdout && file.exists() && !options.force {
        let file = file.display();
        return Err(Refused::new(format!("{file} is there already; --force replaces it")).into());
    }
    client::wait(async {
        let answer = options.server.client()?.send(Method::POST, "/api/backup", None).await?;
        let length = answer.headers().get(header::CONTENT_LENGTH);
        let length = length.and_then(|length| length.to_str().ok()?.parse().ok());
        let length: u64 = length.context("the server does not say how large the copy is")?;
        let at = answer.headers().get("x-punctual-backup-instant").and_then(|at| at.to_str().ok());
        let at = at.context("the server does not say of when the copy is")?.to_owned();
        if stdout {
            return save(answer.into_body(), length, &mut io::stdout().lock()).await;
        }
        // What the store holds is for its owner's eyes.
        let saved = outfile::write(file, 0o600, async |to| save(answer.into_body(), length, to).await);
        saved.await.with_context(|| format!("{} cannot be written", file.display()))?;
        writeln!(io::stdout(), "{} holds the store as it was at {at}, {length} bytes", file.display())?;
        Ok(())
    })
}

async fn save(mut body: Incoming, length: u64, to: &mut impl Write) -> anyhow::Result<()> {
    let progress = Progress::bytes(length);
    let mut saved = 0;
    while let Some(frame) = body.frame().await {
        let frame = frame.with_context(|| format!("the copy broke off after {saved} of {length} bytes"))?;
        let Some(bytes) = frame.data_ref() else { continue };
        to.write_all(bytes)?;
        saved += bytes.len() as u64;
        progress.at(saved);
    }
    if saved != length {
        bail!("the copy broke off after {saved} of {length} bytes");
    }
    Ok(to.flush()?)
}
