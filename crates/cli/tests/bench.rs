//! `punctual bench`, with so few calls that nothing is measured: it must reach its ends, and say all that it promises.

use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::Value;

/// What a benchmark tells.
fn told(arguments: &[&str]) -> Value {
    let ended = Command::new(env!("CARGO_BIN_EXE_punctual"))
        .arg("bench")
        .args(arguments)
        .arg("--json")
        // The settings of whoever measures are not those of what is measured.
        .env("PUNCTUAL_LISTEN", "nonsense")
        .output()
        .expect("run");
    assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
    serde_json::from_slice(&ended.stdout).expect("JSON")
}

#[test]
fn bench_asks_for_everything_of_the_api() {
    // More than a collection may have, and more than a page.
    let told = told(&["api", "--jobs", "1100", "--connections", "8", "--calls", "50", "--pages", "2"]);
    assert_eq!((&told["jobs stored"], &told["connections"]), (&1100.0.into(), &8.0.into()), "{told}");
    let of_calls = ["PUT of a new job", "PUT of a job that is there", "GET of a job", "GET /healthz"];
    let of_pages = [
        "page of a collection",
        "page of all jobs by name",
        "page of all jobs by next run",
        "page of all jobs by last run",
        "page of a search for 5 digits",
    ];
    let rates = of_calls.map(|name| format!("{name} (1/s)"));
    let times = of_calls.iter().chain(&of_pages);
    let times = times.flat_map(|name| ["p50", "p99"].map(|part| format!("{name} {part} (ms)")));
    for name in rates.into_iter().chain(times) {
        assert!(told[&name].as_f64().is_some_and(|value| value > 0.0), "{name}: {told}");
    }
}

#[test]
fn bench_calls_every_kind_of_action() {
    let told = told(&["actions", "--calls", "40", "--concurrency", "4", "--rounds", "2"]);
    for kind in ["HTTP", "HTTPS", "storage queue", "Service Bus, REST", "Service Bus, AMQP"] {
        for what in ["bare client (1/s)", "action (1/s)", "action of bare (%)"] {
            let value = told[format!("{kind}, {what}")].as_f64();
            assert!(value.is_some_and(|value| value > 0.0), "{kind}, {what}: {told}");
        }
        // Counted in hundredths of a second, of which so few calls may use none.
        for what in ["CPU of a bare call (µs)", "CPU of an action (µs)"] {
            let value = told[format!("{kind}, {what}")].as_f64();
            assert!(value.is_some_and(|value| value >= 0.0), "{kind}, {what}: {told}");
        }
    }
}

#[test]
fn bench_calls_only_what_is_asked_for() {
    let ended = Command::new(env!("CARGO_BIN_EXE_punctual"))
        .args(["bench", "actions", "--calls", "40", "--concurrency", "4", "--rounds", "1", "--json"])
        .args(["--only", "storage-queue", "--only", "service-bus-amqp"])
        .output()
        .expect("run");
    assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
    let told: Value = serde_json::from_slice(&ended.stdout).expect("JSON");
    let lines: Vec<_> = told.as_object().expect("an object").keys().collect();
    assert_eq!(lines.len(), 10, "{told}");
    for line in lines {
        assert!(line.starts_with("storage queue, ") || line.starts_with("Service Bus, AMQP, "), "{line}");
    }
}

#[test]
fn bench_asks_the_api_on_a_database() {
    let Ok(database) = std::env::var("PUNCTUAL_TEST_POSTGRES") else {
        eprintln!("left out: PUNCTUAL_TEST_POSTGRES names no server; see scripts/with-postgres");
        return;
    };
    let told = told(&[
        "api",
        "--database",
        &database,
        "--jobs",
        "120",
        "--connections",
        "8",
        "--calls",
        "50",
        "--pages",
        "2",
    ]);
    for name in
        ["PUT of a new job (1/s)", "PUT of a job that is there p99 (ms)", "page of all jobs by name p50 (ms)"]
    {
        assert!(told[name].as_f64().is_some_and(|value| value > 0.0), "{name}: {told}");
    }
}

/// What `bench neighbours` must say.
fn assert_neighbours(told: &Value) {
    let hanging = ["calls that hang", "collections that they are of", "targets that they go to"];
    assert_eq!(hanging.map(|name| told[name].as_f64()), [Some(40.0), Some(5.0), Some(4.0)], "{told}");
    let late = ["alone", "beside them"]
        .into_iter()
        .flat_map(|part| ["p50", "p99", "max"].map(|at| format!("lateness {part} {at} (ms)")));
    let ratios = ["p50", "p99", "max"].map(|at| format!("lateness {at}, beside them of alone (×)"));
    let seen = "calls under way at a time, most".to_owned();
    for name in late.chain(ratios).chain([seen]) {
        assert!(told[&name].as_f64().is_some_and(|value| value > 0.0), "{name}: {told}");
    }
}

const NEIGHBOURS: [&str; 11] = [
    "neighbours",
    "--calls",
    "40",
    "--collections",
    "5",
    "--targets",
    "4",
    "--timeout",
    "2",
    "--seconds",
    "1",
];

#[test]
fn bench_sets_neighbours_beside_a_job() {
    assert_neighbours(&told(&NEIGHBOURS));
    let ended = Command::new(env!("CARGO_BIN_EXE_punctual"))
        .args(["bench", "neighbours", "--calls", "5001", "--collections", "5"])
        .output()
        .expect("run");
    let said = String::from_utf8_lossy(&ended.stderr);
    assert!(!ended.status.success() && said.contains("allowed: --calls from 5 to 5000"), "{said}");
}

#[test]
fn bench_sets_neighbours_beside_a_job_on_a_database() {
    let Ok(database) = std::env::var("PUNCTUAL_TEST_POSTGRES") else {
        eprintln!("left out: PUNCTUAL_TEST_POSTGRES names no server; see scripts/with-postgres");
        return;
    };
    assert_neighbours(&told(&[&NEIGHBOURS[..], &["--once", "--database", &database]].concat()));
}

#[test]
fn bench_lets_nodes_share_a_database() {
    let Ok(database) = std::env::var("PUNCTUAL_TEST_POSTGRES") else {
        eprintln!("left out: PUNCTUAL_TEST_POSTGRES names no server; see scripts/with-postgres");
        return;
    };
    let told = told(&[
        "cluster",
        "--database",
        &database,
        "--nodes",
        "2",
        "--stored",
        "300,100",
        "--herd",
        "60",
        "--rate",
        "30",
        "--seconds",
        "1",
    ]);
    const LYING: [&str; 2] = ["side by side", "apart"];
    let rates = [
        "2 nodes, herd after a checkpoint, settled (1/s)",
        "2 nodes, herd between checkpoints, bare client (1/s)",
        "alone after a checkpoint, claimed (1/s)",
        "alone between checkpoints, settled (1/s)",
    ];
    let others =
        ["2 nodes, lateness p99 at 30 a second (ms)", "2 nodes, herd between checkpoints, WAL (bytes)"];
    for stored in [100, 300] {
        for (lying, name) in
            LYING.iter().flat_map(|lying| rates.iter().chain(&others).map(move |name| (lying, name)))
        {
            let value = told[format!("{stored} stored, {lying}, {name}")].as_f64();
            assert!(value.is_some_and(|value| value > 0.0), "{lying}, {name}: {told}");
        }
    }
    let compared = ["2 nodes, steady", "alone between checkpoints", "2 nodes, herd after a checkpoint"];
    for (lying, what) in LYING.iter().flat_map(|lying| compared.iter().map(move |what| (lying, what))) {
        let name = format!("{lying}, {what}, WAL, 300 of 100 stored (%)");
        assert!(told[&name].as_f64().is_some_and(|growth| growth > 0.0), "{name}: {told}");
    }
    // Where the log can be read: what was changed before is not written as a whole again.
    let whole = |stored: u32, when: &str| {
        told[format!("{stored} stored, apart, alone {when}, WAL, whole pages (bytes)")].as_f64()
    };
    for stored in [100, 300] {
        if let Some((after, between)) =
            whole(stored, "after a checkpoint").zip(whole(stored, "between checkpoints"))
        {
            assert!(between < after, "{between} and {after}: {told}");
        }
    }
    // A part of it may be gone by a checkpoint of somebody else; all of it is for none of them alone.
    let read = |stored: &str| {
        let names = told.as_object().into_iter().flat_map(|told| told.keys());
        names.filter(|name| name.starts_with(stored)).any(|name| name.contains("whole pages"))
    };
    assert_eq!(read("100 stored"), read("300 stored"), "they read the same log: {told}");
}

#[test]
fn bench_takes_its_jobs_out_of_a_database_when_it_is_interrupted() {
    let Ok(server) = std::env::var("PUNCTUAL_TEST_POSTGRES") else {
        eprintln!("left out: PUNCTUAL_TEST_POSTGRES names no server; see scripts/with-postgres");
        return;
    };
    // By a user of its own: other tests make such schemas, too.
    let name = format!("interrupted_{}", std::process::id());
    ask(&server, &format!("CREATE ROLE {name} LOGIN PASSWORD '{name}'"));
    ask(
        &server,
        &format!(
            "DO $$ BEGIN EXECUTE format('GRANT CREATE ON DATABASE %I TO {name}', current_database()); END $$"
        ),
    );
    let place = server.rsplit_once('@').map(|(_, place)| place).expect("a URL with a user");
    let database = format!("postgres://{name}:{name}@{place}");
    let schemas = |that: &str| {
        let owned =
            format!("SELECT nspname FROM pg_namespace n WHERE nspowner = '{name}'::regrole AND {that}");
        ask(&server, &owned)
    };
    let with_jobs = "EXISTS (SELECT FROM pg_class c
                             WHERE c.relnamespace = n.oid AND relname = 'jobs' AND pg_relation_size(c.oid) > 0)";
    for arguments in [
        &["cluster", "--stored", "500000"][..],
        &["api", "--jobs", "100000"],
        &["neighbours", "--calls", "20000"],
    ] {
        let mut bench = Command::new(env!("CARGO_BIN_EXE_punctual"))
            .arg("bench")
            .args(arguments)
            .args(["--database", &database])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("run");
        // Into the midst of writing jobs.
        while schemas(with_jobs).is_empty() && bench.try_wait().expect("a process").is_none() {
            std::thread::sleep(Duration::from_millis(50));
        }
        let told = Command::new("kill").args(["-INT", &bench.id().to_string()]).status().expect("run");
        assert!(told.success());
        let ended = bench.wait_with_output().expect("it ends");
        let said = String::from_utf8_lossy(&ended.stderr);
        assert!(!ended.status.success() && said.contains("interrupted"), "{arguments:?}: {said}");
        assert_eq!(schemas("true"), [""; 0], "{arguments:?}: {said}");
    }
    ask(&server, &format!("DROP OWNED BY {name}"));
    ask(&server, &format!("DROP ROLE {name}"));
}

/// The first column of what a database answers.
fn ask(database: &str, sql: &str) -> Vec<String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let (client, connection) =
            tokio_postgres::connect(database, tokio_postgres::NoTls).await.expect("a server");
        let driver = tokio::spawn(connection);
        let rows = client.query(sql, &[]).await.expect("it is run");
        drop(client);
        let _ = driver.await;
        rows.iter().map(|row| row.get(0)).collect()
    })
}

#[test]
fn bench_says_what_is_wrong_with_a_cluster() {
    let ended = Command::new(env!("CARGO_BIN_EXE_punctual"))
        .args(["bench", "cluster", "--database", "postgres://127.0.0.1:1/none", "--stored", "100"])
        .output()
        .expect("run");
    assert!(!ended.status.success());
    let said = String::from_utf8_lossy(&ended.stderr);
    assert!(said.contains("10000 jobs shall run and only 100 are stored"), "{said}");
}

#[test]
fn bench_sets_the_ceiling_beside_what_was_reached() {
    let scheduled = [
        "settled a second (1/s)",
        "ceiling: calls a second of the bare client (1/s)",
        "settled of the ceiling (%)",
        "CPU per occurrence, target included (µs)",
        "bytes written per occurrence (B)",
    ];
    let late =
        ["lateness max (ms)", "ceiling: lateness max (ms)", "CPU of a bare call, target included (µs)"];
    for (arguments, names) in [
        (&["herd", "--jobs", "40", "--rounds", "2"][..], [&scheduled[..], &late[..]].concat()),
        (
            &["steady", "--rate", "40", "--seconds", "1", "--stored", "10"],
            [&scheduled[..], &late[..]].concat(),
        ),
        (&["recover", "--jobs", "40", "--rounds", "1"], scheduled.to_vec()),
    ] {
        let told = told(arguments);
        for name in names {
            assert!(told[name].as_f64().is_some_and(|value| value > 0.0), "{name}: {told}");
        }
        if arguments[0] == "herd" {
            let rounds = told["rounds"]["settled a second (1/s)"].as_array();
            assert_eq!(rounds.map(Vec::len), Some(2), "{told}");
        }
    }
}

#[test]
fn bench_counts_what_it_is_asked_for() {
    let told = told(&["counted", "--jobs", "30", "--occurrences", "20"]);
    assert_eq!(told["jobs written"].as_f64(), Some(30.0), "{told}");
    assert_eq!(told["occurrences settled"].as_f64(), Some(20.0), "{told}");
}
