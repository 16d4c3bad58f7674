//! `punctual bench actions`, with so few calls that nothing is measured: it must reach its end, and say all that it promises.

use std::process::Command;

use serde_json::Value;

#[test]
fn bench_calls_every_kind_of_action() {
    let ended = Command::new(env!("CARGO_BIN_EXE_punctual"))
        .args(["bench", "actions", "--calls", "40", "--concurrency", "4", "--rounds", "2", "--json"])
        .output()
        .expect("run");
    assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
    let told: Value = serde_json::from_slice(&ended.stdout).expect("JSON");
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
