//! Holds the walls of the house: which crate may use which, and what every crate root must say.
//!
//! `ROOMS` is the law and `judge` applies it to what `cargo metadata` declares. A new crate or a new arrow
//! needs a row here and a line in `docs/ARCHITECTURE.md`. Dev-dependencies are free: a test may reach across walls.

use std::{fs, path::Path};

use cargo_metadata::{DependencyKind, Metadata, MetadataCommand};

/// One crate of the workspace and what it may use.
struct Room {
    name: &'static str,
    /// Below `crates/`.
    folder: &'static str,
    /// Other rooms it may use, each with the reason.
    may_use: &'static [(&'static str, &'static str)],
    outside: Outside,
}

/// What a room may take from other people's crates.
enum Outside {
    /// These and nothing else.
    Only(&'static [&'static str]),
    /// Anything but these.
    AllBut(&'static [&'static [&'static str]]),
}

use Outside::{AllBut, Only};

const ASYNC: &[&str] = &["tokio", "tokio-util", "futures", "async-trait"];
const HTTP: &[&str] = &["axum", "hyper", "hyper-util", "reqwest", "tower-http"];
const HTTP_SERVER: &[&str] = &["axum", "tower-http"];
const SQL: &[&str] = &["rusqlite", "tokio-postgres", "deadpool-postgres", "refinery"];
const JSON: &[&str] = &["serde_json"];

/// From the ground up: a room may only use rooms above its own row.
const ROOMS: &[Room] = &[
    // Pure arithmetic of dates: whoever reads it needs to know jiff and nothing else. (serde is a feature, so that the
    // model can store drafts without a second set of the same types.)
    Room { name: "recurrence", folder: "recurrence", may_use: &[], outside: Only(&["jiff", "serde"]) },
    // Counts; what is counted is told by whoever counts.
    Room { name: "measure", folder: "measure", may_use: &[], outside: Only(&[]) },
    // Decisions take what they need as values: nothing to wait for, nothing to parse.
    Room {
        name: "model",
        folder: "model",
        may_use: &[("recurrence", "a job has a rule")],
        outside: AllBut(&[ASYNC, HTTP, SQL, JSON]),
    },
    // Reads and writes JSON; somebody else moves the bytes.
    Room {
        name: "wire",
        folder: "wire",
        may_use: &[
            ("model", "the bridges to and from it are here"),
            ("recurrence", "JSON becomes a draft of a rule"),
        ],
        outside: AllBut(&[ASYNC, HTTP, SQL]),
    },
    // The language of templates; what is in them is for others to judge.
    Room { name: "template", folder: "template", may_use: &[], outside: AllBut(&[ASYNC, HTTP, SQL]) },
    // Decides who may, and chains what was done; neither asks nor keeps anything.
    Room {
        name: "access",
        folder: "access",
        may_use: &[("model", "scopes are parts of the tree of resources")],
        outside: AllBut(&[ASYNC, HTTP, SQL]),
    },
    // Keeps what it is given; does not know where it came from.
    Room {
        name: "store",
        folder: "store",
        may_use: &[
            ("access", "tokens, roles and notes are kept too"),
            ("model", "what is kept"),
            ("recurrence", "rules are part of what is kept"),
            ("measure", "commits and reads are timed"),
        ],
        outside: AllBut(&[HTTP]),
    },
    // Carries out one action and says how it went; remembers nothing.
    Room {
        name: "actions",
        folder: "actions",
        may_use: &[("model", "actions and outcomes"), ("recurrence", "retries have a rule too")],
        outside: AllBut(&[SQL, HTTP_SERVER]),
    },
    // Watches the clock; speaks neither HTTP nor SQL.
    Room {
        name: "engine",
        folder: "engine",
        may_use: &[
            ("actions", "what is due is carried out"),
            ("store", "what is due is claimed and settled"),
            ("model", "the decisions"),
            ("recurrence", "when a job is due next"),
            ("measure", "lateness and calls are counted"),
        ],
        outside: AllBut(&[HTTP, SQL]),
    },
    // Answers requests; SQL stays behind the store.
    Room {
        name: "server",
        folder: "server",
        may_use: &[
            ("engine", "the engine runs inside the server"),
            ("actions", "start-up builds the real actions"),
            ("store", "use-cases load and store"),
            ("access", "who may ask for what"),
            ("wire", "requests and answers are JSON"),
            ("template", "import"),
            ("model", "the decisions"),
            ("recurrence", "previews of a rule"),
            ("measure", "what was counted is told"),
        ],
        outside: AllBut(&[SQL]),
    },
    // The door: it may open any room.
    Room {
        name: "punctual",
        folder: "cli",
        may_use: &[
            ("server", "serve"),
            ("engine", "bench"),
            ("actions", "bench"),
            ("store", "migrate, export and import"),
            ("access", "the first token"),
            ("wire", "files of jobs are JSON"),
            ("template", "import"),
            ("model", "what import and export carry"),
            ("recurrence", "preview"),
        ],
        outside: AllBut(&[]),
    },
];

/// Crates that only some rooms may use, and why.
const ONLY_IN: &[(&str, &[&str], &str)] = &[(
    "anyhow",
    &["server", "punctual"],
    "a room's errors are types; only start-up may give up with a text",
)];

/// Names that say nothing about what a crate is for, and so collect everything.
const EMPTY_NAMES: &[&str] = &["common", "util", "utils", "helpers", "shared", "misc", "core"];

/// A crate as its manifest declares it.
struct Crate {
    name: String,
    /// From the workspace's root.
    folder: String,
    dependencies: Vec<(String, DependencyKind)>,
}

/// Everything the crates do that `ROOMS` does not allow, one sentence each.
fn judge(crates: &[Crate]) -> Vec<String> {
    let mut faults = Vec::new();
    for krate in crates {
        let Crate { name, folder, .. } = krate;
        if EMPTY_NAMES.contains(&name.as_str()) {
            faults.push(format!("`{name}` is no name for a crate: name it after the question it answers"));
            continue;
        }
        let Some(room) = ROOMS.iter().find(|room| room.name == name) else {
            faults.push(format!(
                "crate `{name}` is not on the map: add it to docs/ARCHITECTURE.md and to ROOMS in {}",
                file!()
            ));
            continue;
        };
        if *folder != format!("crates/{}", room.folder) {
            faults.push(format!("crate `{name}` is in {folder}, but belongs in crates/{}", room.folder));
        }
        // `Normal` and `Build` (and any kind cargo invents) bind; only tests are free.
        let bound = krate.dependencies.iter().filter(|(_, kind)| *kind != DependencyKind::Development);
        for (used, _) in bound {
            let inside = crates.iter().any(|other| other.name == *used)
                || ROOMS.iter().any(|other| other.name == used);
            faults.extend(if inside { arrow(room, used) } else { outsider(room, used) });
        }
    }
    faults
}

/// What is wrong with `room` using the room `used`.
fn arrow(room: &Room, used: &str) -> Option<String> {
    if room.may_use.iter().any(|(allowed, _)| *allowed == used) {
        return None;
    }
    let allowed: Vec<_> = room.may_use.iter().map(|(allowed, why)| format!("`{allowed}` ({why})")).collect();
    let allowed = if allowed.is_empty() { "no other room".to_owned() } else { allowed.join(", ") };
    Some(format!("`{}` must not use `{used}`: it may use {allowed}", room.name))
}

/// What is wrong with `room` using `used`, a crate from outside.
fn outsider(room: &Room, used: &str) -> Option<String> {
    if let Some((_, rooms, why)) = ONLY_IN.iter().find(|(name, ..)| *name == used)
        && !rooms.contains(&room.name)
    {
        return Some(format!(
            "`{}` must not use `{used}`, which is for {}: {why}",
            room.name,
            rooms.join(", ")
        ));
    }
    match room.outside {
        Only(allowed) if !allowed.contains(&used) => {
            Some(format!("`{}` must not use `{used}`: it may use only {}", room.name, allowed.join(", ")))
        }
        AllBut(refused) if refused.iter().any(|group| group.contains(&used)) => {
            Some(format!("`{}` must not use `{used}`: that belongs in another room", room.name))
        }
        _ => None,
    }
}

/// Whether a line below `[header]` says `entry`, spaces and comments aside.
fn says(manifest: &str, header: &str, entry: &str) -> bool {
    let mut lines = manifest.lines().map(|line| line.split('#').next().unwrap_or_default().replace(' ', ""));
    lines.by_ref().any(|line| line == format!("[{header}]"))
        && lines.take_while(|line| !line.starts_with('[')).any(|line| line == entry)
}

/// Whether the root of a crate forbids `unsafe` for itself, whatever its manifest says.
fn forbids_unsafe(source: &str) -> bool {
    source.lines().any(|line| line.trim() == "#![forbid(unsafe_code)]")
}

fn workspace() -> Metadata {
    MetadataCommand::new()
        .manifest_path(concat!(env!("CARGO_MANIFEST_DIR"), "/../../Cargo.toml"))
        // What the manifests declare is enough, and needs no network.
        .no_deps()
        .other_options(["--offline".to_owned(), "--locked".to_owned()])
        .exec()
        .expect("cargo metadata answers")
}

fn read(path: impl AsRef<Path>) -> String {
    let path = path.as_ref();
    fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

#[test]
fn arrows_point_down() {
    let workspace = workspace();
    let crates: Vec<Crate> = workspace
        .workspace_packages()
        .iter()
        .map(|package| {
            let folder = package.manifest_path.parent().expect("a manifest is in a folder");
            let folder = folder.strip_prefix(&workspace.workspace_root).unwrap_or(folder);
            Crate {
                name: package.name.to_string(),
                folder: folder.as_str().replace('\\', "/"),
                dependencies: package.dependencies.iter().map(|d| (d.name.clone(), d.kind)).collect(),
            }
        })
        .collect();
    assert!(crates.iter().any(|krate| krate.name == "punctual"), "the workspace was read");
    assert_eq!(judge(&crates), Vec::<String>::new());
}

#[test]
fn no_crate_lets_unsafe_in() {
    let workspace = workspace();
    let manifest = read(workspace.workspace_root.join("Cargo.toml"));
    assert!(
        says(&manifest, "workspace.lints.rust", r#"unsafe_code="forbid""#),
        "the workspace's Cargo.toml must forbid unsafe_code"
    );
    for package in workspace.workspace_packages() {
        let path = &package.manifest_path;
        assert!(says(&read(path), "lints", "workspace=true"), "{path}: needs `[lints] workspace = true`");
        let mut roots =
            package.targets.iter().filter(|t| t.is_lib() || t.is_bin() || t.is_proc_macro()).peekable();
        assert!(roots.peek().is_some(), "{path}: has neither a library nor a binary");
        for root in roots {
            let path = &root.src_path;
            assert!(forbids_unsafe(&read(path)), "{path}: needs `#![forbid(unsafe_code)]`");
        }
    }
}

/// The judge itself, on houses that stand and houses that fall.
mod judging {
    use super::*;

    fn krate(name: &str, uses: &[&str]) -> Crate {
        let folder = if name == "punctual" { "cli" } else { name };
        let dependencies = uses.iter().map(|used| ((*used).to_owned(), DependencyKind::Normal)).collect();
        Crate { name: name.to_owned(), folder: format!("crates/{folder}"), dependencies }
    }

    #[track_caller]
    fn refuses(krate: Crate, words: &str) {
        match judge(&[krate]).as_slice() {
            [fault] => assert!(fault.contains(words), "{fault:?} does not say {words:?}"),
            faults => panic!("one fault expected: {faults:?}"),
        }
    }

    #[test]
    fn the_house_as_planned_stands() {
        let house: Vec<_> = ROOMS
            .iter()
            .map(|room| krate(room.name, &room.may_use.iter().map(|(used, _)| *used).collect::<Vec<_>>()))
            .collect();
        assert_eq!(judge(&house), Vec::<String>::new());
    }

    #[test]
    fn the_table_itself_points_down() {
        for (i, room) in ROOMS.iter().enumerate() {
            for (used, _) in room.may_use {
                let lower = ROOMS[..i].iter().any(|lower| lower.name == *used);
                assert!(lower, "`{}` may use `{used}`, which is not a row above it", room.name);
            }
        }
    }

    #[test]
    fn only_server_and_cli_speak_wire() {
        let speakers: Vec<_> = ROOMS
            .iter()
            .filter(|room| room.may_use.iter().any(|(used, _)| *used == "wire"))
            .map(|room| room.name)
            .collect();
        assert_eq!(speakers, ["server", "punctual"]);
    }

    #[test]
    fn upward_arrows_fall() {
        refuses(krate("recurrence", &["jiff", "model"]), "`recurrence` must not use `model`");
        refuses(krate("model", &["wire"]), "`model` must not use `wire`");
        refuses(krate("engine", &["server"]), "`engine` must not use `server`");
        refuses(krate("wire", &["punctual"]), "`wire` must not use `punctual`");
    }

    #[test]
    fn sideways_arrows_fall() {
        refuses(krate("store", &["actions"]), "`store` must not use `actions`");
        refuses(krate("actions", &["store"]), "`actions` must not use `store`");
        refuses(krate("engine", &["wire"]), "`engine` must not use `wire`");
    }

    #[test]
    fn what_belongs_elsewhere_falls() {
        refuses(krate("recurrence", &["jiff", "chrono"]), "may use only jiff");
        for used in ["tokio", "axum", "rusqlite", "serde_json"] {
            refuses(krate("model", &["serde", used]), used);
        }
        refuses(krate("wire", &["serde_json", "reqwest"]), "reqwest");
        refuses(krate("server", &["axum", "rusqlite"]), "rusqlite");
    }

    #[test]
    fn anyhow_is_for_the_door() {
        refuses(krate("wire", &["anyhow"]), "which is for server, punctual");
        assert_eq!(
            judge(&[krate("server", &["anyhow"]), krate("punctual", &["anyhow"])]),
            Vec::<String>::new()
        );
    }

    #[test]
    fn strangers_fall() {
        refuses(krate("metrics", &[]), "add it to docs/ARCHITECTURE.md and to ROOMS in");
        refuses(krate("util", &[]), "no name for a crate");
        // The binary's crate has a folder of another name, and no other crate has.
        refuses(
            Crate { folder: "crates/rules".to_owned(), ..krate("recurrence", &[]) },
            "belongs in crates/recurrence",
        );
        refuses(
            Crate { folder: "crates/punctual".to_owned(), ..krate("punctual", &[]) },
            "belongs in crates/cli",
        );
    }

    #[test]
    fn an_arrow_to_a_stranger_is_an_arrow() {
        let faults = judge(&[krate("wire", &["metrics"]), krate("metrics", &[])]);
        assert!(faults.iter().any(|fault| fault.starts_with("`wire` must not use `metrics`")), "{faults:?}");
    }

    #[test]
    fn tests_are_free_and_build_scripts_are_not() {
        let with = |kind| Crate {
            dependencies: vec![("wire".to_owned(), kind), ("serde_json".to_owned(), kind)],
            ..krate("recurrence", &[])
        };
        assert_eq!(judge(&[with(DependencyKind::Development)]), Vec::<String>::new());
        assert_eq!(judge(&[with(DependencyKind::Build)]).len(), 2);
    }

    #[test]
    fn manifests_are_read() {
        let lints = |manifest| says(manifest, "lints", "workspace=true");
        assert!(lints("[package]\nname = \"a\"\n\n[lints]\nworkspace = true # all of them\n"));
        assert!(!lints("[package]\nworkspace = true\n"));
        assert!(!lints("[lints]\nworkspace = false\n"));
        assert!(!lints("[lints]\n# workspace = true\n"));
        assert!(!lints("[lints]\n[dependencies]\nworkspace = true\n"));
    }

    #[test]
    fn roots_are_read() {
        assert!(forbids_unsafe("//! A room.\n#![forbid(unsafe_code)]\n"));
        assert!(!forbids_unsafe("//! A room.\n// #![forbid(unsafe_code)]\n"));
        assert!(!forbids_unsafe("#![deny(unsafe_code)]\n"));
    }
}
