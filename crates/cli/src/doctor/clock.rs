//! The clock: does it agree with the server's, and does anybody keep it right.

use std::path::Path;

use recurrence::Timestamp;

use super::Finding;
use crate::target::Server;

/// In seconds. A `Date` header tells whole seconds, and the answer takes its time.
const TOLERANCE: i64 = 2;

/// What keeps a clock right, and the file by which it says so.
const KEEPERS: [(&str, &str, bool); 3] = [
    ("/run/systemd/timesync/synchronized", "systemd-timesyncd", true),
    ("/run/chrony/chronyd.pid", "chronyd", false),
    ("/run/ntpd.pid", "ntpd", false),
];

pub(super) async fn look(server: &Server) -> Vec<Finding> {
    let mut findings = vec![against_server(server).await, kept()];
    findings.extend(warned(server).await);
    findings
}

/// What the server itself says of its clock; nothing where none answers.
async fn warned(server: &Server) -> Option<Finding> {
    const CHECK: &str = "clock.store";
    let ready = server.client().ok()?.get("/readyz").await.ok()?.body;
    let Some(warning) = ready["warnings"].as_array().and_then(|warnings| warnings.first()) else {
        return (ready["status"] == "ready")
            .then(|| Finding::ok(CHECK, "fits what the server's store knows of the time"));
    };
    // Without the right to see all of the server there is only the code.
    let says = warning["message"].as_str().or(warning.as_str()).unwrap_or("the server warns of its clock");
    Some(Finding::warning(
        CHECK,
        says,
        "set the clock of the server; if it is right, see \"Clocks\" in the guide to operating",
    ))
}

async fn against_server(server: &Server) -> Finding {
    const CHECK: &str = "clock.server";
    let client = match server.client() {
        Ok(client) => client,
        Err(error) => return Finding::wrong(CHECK, error.to_string(), "correct the address"),
    };
    let asked = crate::now();
    let Ok(answer) = client.get("/healthz").await else {
        return Finding::unknown(CHECK, format!("no server answers at {}", client.address()));
    };
    let date = answer.header("date").and_then(|date| jiff::fmt::rfc2822::parse(date).ok());
    let Some(theirs) = date.map(|date| date.timestamp()) else {
        return Finding::unknown(CHECK, format!("{} does not say what time it is", client.address()));
    };
    let ours = crate::now();
    let apart = apart(theirs, asked, ours);
    let says = format!("the clock of {} is {apart} seconds from ours", client.address());
    if apart > TOLERANCE {
        return Finding::wrong(
            CHECK,
            says,
            "let both machines keep their time, such as by systemd-timesyncd or chrony",
        );
    }
    Finding::ok(CHECK, format!("agrees with that of {}, to {TOLERANCE} seconds", client.address()))
}

/// How far their time is outside of the moments between which they told it.
fn apart(theirs: Timestamp, asked: Timestamp, answered: Timestamp) -> i64 {
    let before = asked.duration_since(theirs).as_secs();
    let after = theirs.duration_since(answered).as_secs();
    before.max(after).max(0)
}

fn kept() -> Finding {
    const CHECK: &str = "clock.kept";
    match KEEPERS.iter().find(|(file, ..)| Path::new(file).exists()) {
        Some((_, keeper, true)) => Finding::ok(CHECK, format!("{keeper} has set it")),
        Some((_, keeper, false)) => {
            Finding::unknown(CHECK, format!("{keeper} runs; whether it has set it, it alone knows"))
        }
        None => Finding::unknown(CHECK, "nothing says whether anybody keeps it right"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_are_as_far_apart_as_they_must_be() {
        let at = |text: &str| text.parse::<Timestamp>().unwrap();
        let (asked, answered) = (at("2027-01-01T00:00:10Z"), at("2027-01-01T00:00:12Z"));
        for (theirs, expected) in [
            ("2027-01-01T00:00:10Z", 0),
            ("2027-01-01T00:00:12Z", 0),
            ("2027-01-01T00:00:07Z", 3),
            ("2027-01-01T00:01:12Z", 60),
        ] {
            assert_eq!(apart(at(theirs), asked, answered), expected, "{theirs}");
        }
    }
}
