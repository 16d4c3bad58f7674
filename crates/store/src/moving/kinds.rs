//! Kinds: what a store holds, table by table and column by column, and what becomes of each on the way.
//!
//! Rows keep their numbers: what is sealed is bound to its job, and ETags, serials and execution tags stay what they
//! were. A column that is new in the schema of the SQLite store joins a kind here, or the list of those that stay, in
//! `tests.rs`, with the reason why; until then a test fails.

use super::cell::Form;
use Form::{Bytes, Flag, Id, Number, Small, Text};
use Origin::{Always, Same, Shard};

/// Where a column's value comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Origin {
    /// The column of the same name.
    Same,
    /// It is always this.
    Always(&'static str),
    /// The shard of the row's job, whose names the row is read with.
    Shard,
}

/// A column of the destination.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Column {
    pub(crate) name: &'static str,
    pub(crate) form: Form,
    pub(crate) origin: Origin,
}

const fn same(name: &'static str, form: Form) -> Column {
    Column { name, form, origin: Same }
}

/// Rows of a table.
#[derive(Debug)]
pub(crate) struct Kind {
    /// The table, in both databases.
    pub(crate) table: &'static str,
    /// By which its rows are walked; in both databases these are an index, and sort alike.
    pub(crate) key: &'static [&'static str],
    /// Whether rows are only added, in the order of their key, and removed: then they can be copied while others are
    /// being written.
    pub(crate) grows: bool,
    pub(crate) columns: &'static [Column],
    /// What the table is read together with, as `t`, in the SQLite store.
    pub(crate) with: &'static str,
}

impl Kind {
    /// As people call it.
    pub(crate) fn name(&self) -> String {
        self.table.replace('_', " ")
    }

    /// The place of a column.
    pub(crate) fn place(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| column.name == name)
    }

    /// The key of a row.
    pub(crate) fn key_of(&self, row: &[super::cell::Cell]) -> super::cell::Row {
        let places = self.key.iter().filter_map(|name| self.place(name));
        places.filter_map(|place| row.get(place).cloned()).collect()
    }
}

/// Everything, in the order in which it is copied: first what can be copied beside a server.
pub(crate) const KINDS: &[Kind] = &[
    Kind {
        table: "history",
        key: &["serial"],
        grows: true,
        columns: &[
            same("serial", Number),
            same("job_id", Number),
            same("started_at", Number),
            same("ended_at", Number),
            same("expected_at", Number),
            same("depth", Small),
            same("status", Small),
            same("retry_count", Number),
            same("repeat_count", Number),
            same("message", Text),
        ],
        with: "",
    },
    Kind {
        table: "ledger",
        key: &["serial"],
        grows: true,
        columns: &[
            same("serial", Number),
            same("job_id", Number),
            same("collection_id", Number),
            same("due_at", Number),
            same("due_until", Number),
            same("occurrences", Number),
            same("number", Number),
            same("cause", Small),
            same("fate", Small),
            same("reason", Small),
            same("started_at", Number),
            same("ended_at", Number),
            same("tag", Id),
        ],
        with: "",
    },
    Kind {
        table: "resource_groups",
        key: &["subscription_key", "name_key"],
        grows: false,
        columns: &[
            same("subscription_key", Text),
            same("name_key", Text),
            same("document", Text),
            same("revision", Number),
        ],
        with: "",
    },
    Kind {
        table: "collections",
        key: &["id"],
        grows: false,
        columns: &[
            same("id", Number),
            same("subscription_key", Text),
            same("group_key", Text),
            same("name_key", Text),
            same("document", Text),
            same("plan", Text),
            same("enabled", Flag),
            same("resumed_at", Number),
            same("jobs", Number),
            same("revision", Number),
            same("deleted_at", Number),
        ],
        with: "",
    },
    Kind {
        table: "jobs",
        key: &["id"],
        grows: false,
        columns: &[
            same("id", Number),
            same("collection_id", Number),
            Column { name: "shard", form: Small, origin: Shard },
            same("name", Text),
            same("name_key", Text),
            same("seed", Id),
            same("state", Small),
            same("ahead", Flag),
            same("executions", Number),
            same("failures", Number),
            same("faulted", Number),
            same("last_execution", Number),
            same("next_number", Number),
            same("next_at", Number),
            same("due_at", Number),
            same("paused_at", Number),
            same("last_faulted", Flag),
            same("generation", Number),
            same("revision", Number),
            same("history_total", Number),
            same("ended_at", Number),
            same("deleted_at", Number),
            same("sweep", Flag),
        ],
        // Outer joins: a row whose collection is missing shall be seen, not left out.
        with: "LEFT JOIN jobs j ON j.id = t.id LEFT JOIN collections c ON c.id = t.collection_id",
    },
    Kind {
        table: "definitions",
        key: &["job_id"],
        grows: false,
        columns: &[same("job_id", Number), same("definition", Text), same("sealed_by", Text)],
        with: "",
    },
    Kind {
        table: "certificates",
        key: &["job_id", "depth"],
        grows: false,
        columns: &[
            same("job_id", Number),
            same("depth", Small),
            same("expires_at", Number),
            same("subject", Text),
            same("thumbprint", Text),
        ],
        with: "",
    },
    Kind {
        table: "executions",
        key: &["id"],
        grows: false,
        columns: &[
            same("id", Number),
            same("job_id", Number),
            Column { name: "shard", form: Small, origin: Shard },
            same("generation", Number),
            same("tag", Id),
            same("number", Number),
            same("due_at", Number),
            same("cause", Small),
            same("ahead", Flag),
            same("depth", Small),
            same("attempt", Number),
            same("wake_at", Number),
            same("started_at", Number),
            same("definition", Text),
            same("sealed_by", Text),
        ],
        with: "LEFT JOIN jobs j ON j.id = t.job_id LEFT JOIN collections c ON c.id = j.collection_id",
    },
    Kind {
        table: "tallies",
        key: &["minute"],
        grows: false,
        columns: &[
            same("minute", Number),
            // Each node counts in rows of its own; these are nobody's.
            Column { name: "epoch", form: Number, origin: Always("0") },
            same("ran", Number),
            same("ran_late", Number),
            same("faulted", Number),
            same("skipped", Number),
            same("missed", Number),
            same("failed_attempts", Number),
            same("lateness_max", Number),
        ],
        with: "",
    },
    Kind {
        table: "tallies_lateness",
        key: &["minute", "step"],
        grows: false,
        columns: &[
            same("minute", Number),
            Column { name: "epoch", form: Number, origin: Always("0") },
            same("step", Small),
            same("count", Number),
        ],
        with: "",
    },
    Kind {
        table: "tokens",
        key: &["id"],
        grows: false,
        columns: &[
            same("id", Text),
            same("hash", Bytes),
            same("name", Text),
            same("created_at", Number),
            same("created_by", Text),
            same("expires_at", Number),
            same("used_at", Number),
            same("revoked_at", Number),
        ],
        with: "",
    },
    Kind {
        table: "assignments",
        key: &["scope_key", "principal", "role"],
        grows: false,
        columns: &[
            same("scope_key", Text),
            same("principal", Text),
            same("role", Text),
            same("scope", Text),
            same("created_at", Number),
            same("created_by", Text),
        ],
        with: "",
    },
    Kind {
        table: "audit",
        key: &["chain", "serial"],
        grows: false,
        columns: &[
            same("chain", Number),
            same("serial", Number),
            same("at", Number),
            same("who", Text),
            same("name", Text),
            same("source", Text),
            same("act", Text),
            same("target", Text),
            same("verdict", Text),
            same("detail", Text),
            same("hash", Bytes),
            same("subscription_key", Text),
            same("group_key", Text),
            same("name_key", Text),
        ],
        with: "",
    },
    Kind {
        table: AUDIT_CHAINS,
        key: &["chain"],
        grows: false,
        columns: &[
            same("chain", Number),
            same("serial", Number),
            same("hash", Bytes),
            same("before_serial", Number),
            same("before_hash", Bytes),
            same("unmarked_serial", Number),
        ],
        with: "",
    },
];

/// The ends of the audit's chains. An empty destination has those that it needs, and gets them again when everything
/// else is there.
pub(crate) const AUDIT_CHAINS: &str = "audit_chains";
