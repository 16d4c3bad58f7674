//! The database that nodes share: can it be reached and trusted, is it ours, may we write, who is there.

use jiff::SignedDuration;
use server::config::DatabaseUrl;
use store::{DatabaseFault, DatabaseInspection, DatabaseSchema, inspect_database};

use super::Finding;

/// Nodes warn beyond this.
const APART: SignedDuration = SignedDuration::from_millis(500);

/// The oldest PostgreSQL whose SQL is enough.
const OLDEST: u64 = 120_000;

/// Looks at it; what was found is for the keys too.
pub(super) async fn look(database: &DatabaseUrl) -> (Vec<Finding>, Option<DatabaseInspection>) {
    let shown = database.shown();
    match inspect_database(database.reveal(), &engine::SystemClock).await {
        Err(fault) => (vec![unreached(&shown, &fault)], None),
        Ok(found) => {
            let says = format!("{shown} answers: PostgreSQL {}", found.version);
            let findings = vec![
                Finding::ok("database.reach", says),
                encryption(&found),
                version(&found),
                schema(&found),
                rights(&found),
                clock(&found),
                nodes(&found),
            ];
            (findings, Some(found))
        }
    }
}

fn unreached(shown: &str, fault: &DatabaseFault) -> Finding {
    let (why, fix) = match fault {
        DatabaseFault::Url(why) => (why, "correct the setting database, --database or PUNCTUAL_DATABASE"),
        DatabaseFault::Away(why) => (
            why,
            "see that PostgreSQL runs there and listens on that address and port, and that no firewall is in between",
        ),
        DatabaseFault::Encryption(why) => (
            why,
            "let PostgreSQL offer TLS with a certificate for that name; sslrootcert=FILE names who signed it, and \
             sslmode=disable goes without on a network that nobody else can listen to",
        ),
        DatabaseFault::Login(why) => (
            why,
            "correct the user and the password in the URL, or what pg_hba.conf of the database allows them",
        ),
        DatabaseFault::Absent(why) => {
            (why, "make it, such as by `createdb --owner=USER NAME`, or correct the name in the URL")
        }
        DatabaseFault::Pooled(why) => (
            why,
            "let the pooler keep a session for each connection (PgBouncer: pool_mode = session), or name PostgreSQL itself \
             in the URL",
        ),
        DatabaseFault::Other(why) => (why, "the log of PostgreSQL tells more"),
    };
    Finding::wrong("database.reach", format!("{shown} cannot be used: {why}"), fix)
}

fn encryption(found: &DatabaseInspection) -> Finding {
    const CHECK: &str = "database.tls";
    match (found.is_encrypted, found.is_local) {
        (true, _) => {
            Finding::ok(CHECK, "what is sent is encrypted; the certificate and the name were checked")
        }
        (false, true) => Finding::ok(CHECK, "nothing is encrypted, and nothing leaves this machine"),
        (false, false) => Finding::warning(
            CHECK,
            "jobs and the password travel to another machine in the clear",
            "leave sslmode=disable out of the URL; sslrootcert=FILE names who signed the certificate",
        ),
    }
}

fn version(found: &DatabaseInspection) -> Finding {
    const CHECK: &str = "database.version";
    if found.version_number < OLDEST {
        let says = format!("PostgreSQL {} is too old", found.version);
        return Finding::wrong(CHECK, says, format!("PostgreSQL {} or newer is needed", OLDEST / 10_000));
    }
    Finding::ok(CHECK, format!("PostgreSQL {} is new enough", found.version))
}

fn schema(found: &DatabaseInspection) -> Finding {
    const CHECK: &str = "database.schema";
    let newest = found.newest_schema;
    match found.schema {
        DatabaseSchema::Nowhere => Finding::wrong(
            CHECK,
            "the search_path of this user names no schema that is there",
            "make the schema (CREATE SCHEMA …), or correct the search_path in the options of the URL",
        ),
        DatabaseSchema::None => Finding::ok(CHECK, "there are no tables yet; `serve` makes them"),
        DatabaseSchema::OfOthers => Finding::wrong(
            CHECK,
            "another program has its tables here",
            "give Punctual a database of its own, or a schema: ?options=-c%20search_path%3Dpunctual",
        ),
        DatabaseSchema::Closed => Finding::wrong(
            CHECK,
            "the tables are there, but this user may not read them",
            "connect as the user who made them",
        ),
        DatabaseSchema::Ours { number, oldest } if oldest > newest => Finding::wrong(
            CHECK,
            format!(
                "schema {number} is of a newer version and needs one that knows schema {oldest}; this one knows up to {newest}"
            ),
            "install the version that the other nodes run, or restore a backup made before the upgrade",
        ),
        DatabaseSchema::Ours { number, .. } if number > newest => {
            Finding::ok(CHECK, format!("schema {number} is of a newer version; this one can use it"))
        }
        DatabaseSchema::Ours { number, .. } if number < newest => {
            Finding::ok(CHECK, format!("schema {number}, which `serve` brings to {newest}"))
        }
        DatabaseSchema::Ours { number, .. } => Finding::ok(CHECK, format!("schema {number}")),
    }
}

fn rights(found: &DatabaseInspection) -> Finding {
    const CHECK: &str = "database.rights";
    if found.is_read_only {
        return Finding::wrong(
            CHECK,
            "the database can only be read: it is a standby, or default_transaction_read_only is on",
            "name all hosts in the URL, postgres://user@one,two/db: nodes use the one that can be written",
        );
    }
    if found.lacking.is_empty() {
        return Finding::ok(CHECK, "this user may do all that a node does");
    }
    Finding::wrong(
        CHECK,
        format!("this user lacks the right {}", found.lacking.join(", ")),
        "connect as the user who owns the tables, or grant it: GRANT CREATE ON SCHEMA …, GRANT OWNER TO USER",
    )
}

fn clock(found: &DatabaseInspection) -> Finding {
    const CHECK: &str = "database.clock";
    let apart = found.clock_offset;
    let milliseconds = apart.abs().as_millis();
    let way = if apart.is_negative() { "behind" } else { "ahead of" };
    if apart.abs() > APART {
        return Finding::warning(
            CHECK,
            format!(
                "its clock is {milliseconds} ms {way} ours; nodes correct themselves, other programs do not"
            ),
            "let both machines keep their time, such as by systemd-timesyncd or chrony",
        );
    }
    Finding::ok(CHECK, format!("agrees with ours, to {} ms", APART.as_millis()))
}

fn nodes(found: &DatabaseInspection) -> Finding {
    const CHECK: &str = "database.nodes";
    let names = |lost: bool| -> Vec<&str> {
        let nodes = found.nodes.iter().filter(|node| node.lease_left.is_negative() == lost);
        nodes.map(|node| node.name.as_str()).collect()
    };
    let (alive, lost) = (names(false), names(true));
    let says = match alive.len() {
        0 => "no node is alive".to_owned(),
        1 => format!("one node is alive: {}", alive[0]),
        many => format!("{many} nodes are alive: {}", alive.join(", ")),
    };
    if lost.is_empty() {
        return Finding::ok(CHECK, says);
    }
    Finding::warning(
        CHECK,
        format!("{says}; lost: {}", lost.join(", ")),
        "start it again, or another; whoever is alive takes over what it had claimed",
    )
}
