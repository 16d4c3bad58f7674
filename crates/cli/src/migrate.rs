//! `punctual migrate`: moves a server's store from SQLite to PostgreSQL.

use std::io::{self, IsTerminal as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context as _;
use clap::Args;
use engine::SystemClock;
use serde_json::{Value, json};
use server::config::{Config, Flags, load_here};
use server::keys::{self, Source};
use store::{
    Compared, Error, MoveEnd, MoveFault, MoveKeys, MovePlan, MoveSettings, MoveStep, plan_move, run_move,
    undo_move,
};

use crate::client;
use crate::confirm::confirm;
use crate::ending::Ended;
use crate::output::{Format, Output};
use crate::progress::Progress;
use crate::refused::Refused;
use crate::style;

/// The options of `migrate`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Options {
    /// What to move: sqlite: and a server's data folder, or the file in it
    #[arg(long, value_name = "sqlite:PATH")]
    from: String,
    /// Where to: the URL of an empty PostgreSQL database; without it, the setting `database`
    #[arg(long, value_name = "URL")]
    to: Option<String>,
    /// A file of settings, as for `serve`: the keys are looked for there, too
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Where a server uses the store, wait until it is stopped
    #[arg(long)]
    wait: bool,
    /// Check everything that can be checked, say what would be moved, and change nothing
    #[arg(long, conflicts_with = "wait")]
    dry_run: bool,
    /// Let servers start on a store again that was moved away; with --to, none on that database any more
    #[arg(long, conflicts_with_all = ["wait", "dry_run"])]
    undo: bool,
    /// Do not ask
    #[arg(long, requires = "undo")]
    yes: bool,
    #[command(flatten)]
    format: Format,
}

const EXAMPLES: &str = "History and ledger are copied while the server runs; for the rest it has to be stopped. Where it runs, this
copies what it can and ends with status 6: stop the server and run the same command again, or use --wait.
It can be stopped at any moment, and the same command goes on. At the end both sides are compared; then no
server starts on the old store any more, and servers can start on the database.
The database's servers need keys: PUNCTUAL_SECRETS_KEY or secrets.key-file. Secrets that other keys have sealed
are sealed anew. PUNCTUAL_DATABASE keeps the password out of the command line.

Examples:
  punctual migrate --from sqlite:data --to postgres://punctual@db.example/punctual --dry-run
  punctual migrate --from sqlite:data --to postgres://punctual@db.example/punctual --wait";

const HEADINGS: &[&str] = &["KIND", "SOURCE", "DESTINATION", "SUM", "SAME"];

pub(crate) fn run(options: &Options) -> anyhow::Result<()> {
    let file = source_file(&options.from)?;
    if options.undo {
        return undo(options, &file);
    }
    let config = config(options, &file)?;
    let database = config.database.clone();
    let Some(database) = database else {
        return Err(Refused::new("--to is missing: the URL of the database, or set PUNCTUAL_DATABASE").into());
    };
    let (keys, managed) = move_keys(&config)?;
    let settings = MoveSettings { from: file, to: database.reveal().to_owned(), keys, wait: options.wait };
    if options.dry_run {
        let plan = client::wait(async { plan_move(&settings).await.map_err(ended) })?;
        return print_plan(options.format, &settings, &plan);
    }
    let mut progress = Steps::default();
    let end = client::wait(async {
        let mut watch = |step| progress.show(step);
        let moving = run_move(&settings, Arc::new(SystemClock), &mut watch);
        tokio::select! {
            end = moving => match end {
                Err(MoveFault::Differs(compared)) => {
                    print_compared(options.format, &compared)?;
                    Err(ended(MoveFault::Differs(compared)))
                }
                other => other.map_err(ended),
            },
            _ = tokio::signal::ctrl_c() => {
                Err(Ended::unfinished("stopped; what is copied stays, and the same command goes on").into())
            }
        }
    })?;
    drop(progress);
    print_end(options.format, &settings, &end, managed.as_deref())
}

/// The file that `--from` names.
fn source_file(from: &str) -> anyhow::Result<PathBuf> {
    let Some(path) = from.strip_prefix("sqlite:").filter(|path| !path.is_empty()) else {
        return Err(Refused::new(format!(
            "--from {from}: expected sqlite: and a path, such as sqlite:punctual-data or sqlite:punctual-data/punctual.db"
        ))
        .into());
    };
    let path = PathBuf::from(path);
    let file = if path.is_dir() { path.join("punctual.db") } else { path };
    if !file.is_file() {
        let message =
            format!("{}: there is no such file. --from names a server's data folder", file.display());
        return Err(Ended::absent(message).into());
    }
    // It is written down where it went: from wherever this is run.
    file.canonicalize().with_context(|| format!("{}: it cannot be opened", file.display()))
}

/// The settings of a server that had this file and of one that has the database.
fn config(options: &Options, file: &Path) -> anyhow::Result<Config> {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let flags = Flags {
        config: options.config.clone(),
        data: Some(folder.to_owned()),
        database: options.to.clone(),
        ..Flags::default()
    };
    Ok(load_here(&flags).map_err(|fault| Refused::new(fault.to_string()))?)
}

/// The keys of both sides, and the file of the server's own where the database's servers have to be given it.
fn move_keys(config: &Config) -> anyhow::Result<(MoveKeys, Option<PathBuf>)> {
    let (given, source) = keys::at_hand(config)?;
    let mut own = config.clone();
    own.secrets.key = None;
    own.secrets.key_file = PathBuf::new();
    let (managed, managed_source) = keys::at_hand(&own)?;
    match (given, managed) {
        (Some(given), managed) if !matches!(source, Source::Managed(_)) => {
            Ok((MoveKeys { source: managed.unwrap_or_else(|| given.clone()), destination: given }, None))
        }
        (_, Some(managed)) => {
            let keys = MoveKeys { source: managed.clone(), destination: managed };
            Ok((keys, managed_source.file().map(Path::to_owned)))
        }
        _ => Err(Refused::new(
            "there is no key: set PUNCTUAL_SECRETS_KEY or secrets.key-file to the keys that the servers of the database \
             will have; `punctual keys generate` prints one",
        )
        .into()),
    }
}

fn undo(options: &Options, file: &Path) -> anyhow::Result<()> {
    let question = format!(
        "Servers will start on {} again. Whatever the database did since the move is not in it, and the database must not \
         be served any more. Go on?",
        file.display()
    );
    confirm(&question, options.yes)?;
    client::wait(async { undo_move(file, options.to.as_deref(), &SystemClock).await.map_err(ended) })?;
    let text = match options.to {
        Some(_) => format!("servers can start on {} again, and none on the database", file.display()),
        None => format!(
            "servers can start on {} again; --to was not given, so nothing keeps servers from the database",
            file.display()
        ),
    };
    let value = json!({"result": "undone", "from": file.display().to_string()});
    Ok(Output::new(options.format).done(&text, &value)?)
}

/// The status that goes with a fault.
fn ended(fault: MoveFault) -> anyhow::Error {
    match fault {
        MoveFault::Refused(why) => Ended::conflict(why).into(),
        MoveFault::Store(error @ Error::Unavailable(_)) => Ended::away(error.to_string()).into(),
        MoveFault::Store(Error::Keys(why)) => Refused::new(format!(
            "{why}. Keys are looked for in PUNCTUAL_SECRETS_KEY, secrets.key-file, and the file keys of the data folder"
        ))
        .into(),
        other => other.into(),
    }
}

fn print_plan(format: Format, settings: &MoveSettings, plan: &MovePlan) -> anyhow::Result<()> {
    let from = settings.from.display();
    if format.json {
        let kinds: Vec<Value> = plan
            .kinds
            .iter()
            .map(|(kind, rows, copied)| json!({"kind": kind, "rows": rows, "copied": copied}))
            .collect();
        let anew: Vec<&str> = plan.sealed_anew.iter().map(store::KeyId::as_str).collect();
        let value = json!({
            "result": if plan.was_moved { "wasMoved" } else { "checked" }, "from": from.to_string(), "to": plan.to,
            "served": plan.served, "schema": plan.schema.0, "sealedAnew": anew, "kinds": kinds,
        });
        return Ok(Output::new(format).thing(&value, "", |_| Ok(()))?);
    }
    let mut list = Output::new(format).list(&["KIND", "ROWS", "COPIED"]);
    for (kind, rows, copied) in &plan.kinds {
        list.add(&Value::Null, vec![kind.clone(), rows.to_string(), copied.to_string()])?;
    }
    list.end("")?;
    let mut notes = Vec::new();
    if plan.schema.0 < plan.schema.1 {
        notes.push(format!("its schema is {}; it is brought to {} first", plan.schema.0, plan.schema.1));
    }
    if plan.served {
        notes.push(
            "a server uses it: history and ledger are copied beside it, the rest when it is stopped".into(),
        );
    }
    for id in &plan.sealed_anew {
        notes.push(format!("the database's servers are not given the key {id}: its secrets are sealed anew"));
    }
    if plan.was_moved {
        notes.push(format!("it was moved to {} already", plan.to));
    }
    notes.iter().for_each(|note| style::say("note", note));
    let text = format!("{from} can be moved to {}; nothing was changed", plan.to);
    Ok(Output::new(format).done(&text, &Value::Null)?)
}

fn print_end(
    format: Format,
    settings: &MoveSettings,
    end: &MoveEnd,
    managed: Option<&Path>,
) -> anyhow::Result<()> {
    let from = settings.from.display().to_string();
    match end {
        MoveEnd::Moved(compared) => {
            print_compared(format, compared)?;
            if !format.json {
                let text =
                    format!("everything in {from} is in the database; no server starts on the file any more");
                Output::new(format).done(&text, &Value::Null)?;
            }
            if let Some(file) = managed {
                let file = file.display();
                let note =
                    format!("the database's servers need the keys in {file}: name it in secrets.key-file");
                style::say("note", &note);
            }
            Ok(())
        }
        MoveEnd::WasMoved => {
            let value = json!({"result": "wasMoved", "from": from});
            Ok(Output::new(format)
                .done(&format!("{from} was moved before; there is nothing to do"), &value)?)
        }
        MoveEnd::Served(rows) => {
            if format.json {
                let value = json!({"result": "served", "from": from, "rows": rows});
                Output::new(format).done("", &value)?;
            }
            let message = format!(
                "a server uses {from}; {rows} rows of history and ledger are copied. Stop the server and run the same command \
                 again: the rest does not take long"
            );
            Err(Ended::unfinished(message).into())
        }
    }
}

fn print_compared(format: Format, compared: &[Compared]) -> anyhow::Result<()> {
    let same = |compared: &Compared| compared.source == compared.destination;
    if format.json {
        let kinds: Vec<Value> = compared
            .iter()
            .map(|compared| {
                json!({
                    "kind": compared.kind, "source": compared.source.rows, "destination": compared.destination.rows,
                    "sum": format!("{:032x}", compared.destination.sum), "same": same(compared),
                })
            })
            .collect();
        let result = if compared.iter().all(same) { "moved" } else { "differs" };
        return Ok(Output::new(format).thing(&json!({"result": result, "kinds": kinds}), "", |_| Ok(()))?);
    }
    let mut list = Output::new(format).list(HEADINGS);
    for kind in compared {
        let cells = vec![
            kind.kind.clone(),
            kind.source.rows.to_string(),
            kind.destination.rows.to_string(),
            format!("{:032x}", kind.destination.sum),
            if same(kind) { "yes" } else { "no" }.to_owned(),
        ];
        list.add(&Value::Null, cells)?;
    }
    list.end("").context("the table cannot be written")?;
    Ok(())
}

/// How far it is: a bar on terminals, a line now and then elsewhere.
#[derive(Default)]
struct Steps {
    /// What is being shown, and the bar of it.
    shown: Option<(String, u64, Progress)>,
    /// How many were done when the last line was written.
    told: u64,
}

/// After how many rows another line is worth it.
const LINE: u64 = 100_000;

impl Steps {
    fn show(&mut self, step: MoveStep) {
        let (doing, done, of) = match step {
            MoveStep::Waiting => ("waiting".to_owned(), 0, 0),
            MoveStep::Copying { kind, done, of } => (format!("copying {kind}"), done, of),
            MoveStep::Comparing { kind, done, of } => (format!("comparing {kind}"), done, of),
        };
        let is_new = self.shown.as_ref().is_none_or(|(shown, length, _)| *shown != doing || *length != of);
        if !io::stderr().is_terminal() {
            let waits = is_new && doing == "waiting";
            if waits {
                style::say(&doing, "for the server to be stopped");
            } else if (done == of && done > 0) || done >= self.told + LINE {
                style::say(&doing, &format!("{done} of {of}"));
                self.told = done;
            }
        }
        if is_new {
            self.told = done;
            self.shown = Some((doing.clone(), of, Progress::of(&doing, of)));
        }
        if let Some((.., progress)) = &self.shown {
            progress.at(done);
        }
    }
}
