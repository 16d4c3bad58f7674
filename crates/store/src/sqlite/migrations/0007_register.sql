-- Who may do what, and who did what.

-- Tokens: of the secret only its hash.
CREATE TABLE tokens (
    id         TEXT    PRIMARY KEY,
    hash       BLOB    NOT NULL,
    name       TEXT    NOT NULL,
    created_at INTEGER NOT NULL,
    created_by TEXT    NOT NULL,
    expires_at INTEGER NOT NULL,
    used_at    INTEGER,
    revoked_at INTEGER
) STRICT, WITHOUT ROWID;

-- Roles. A scope is written as people write it; its key is what it is found by.
CREATE TABLE assignments (
    scope_key  TEXT    NOT NULL,
    principal  TEXT    NOT NULL,
    role       TEXT    NOT NULL,
    scope      TEXT    NOT NULL,
    created_at INTEGER NOT NULL,
    created_by TEXT    NOT NULL,
    PRIMARY KEY (scope_key, principal, role)
) STRICT, WITHOUT ROWID;

-- Sign-ins to the portal: of what their holders have only its hash.
CREATE TABLE sessions (
    hash       BLOB    PRIMARY KEY,
    who        TEXT    NOT NULL,
    created_at INTEGER NOT NULL,
    used_at    INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- The ends of the audit's chains: what was written last, and what retention removed last. This store has one.
CREATE TABLE audit_chains (
    chain         INTEGER PRIMARY KEY,
    serial        INTEGER NOT NULL,
    hash          BLOB    NOT NULL,
    before_serial INTEGER NOT NULL,
    before_hash   BLOB    NOT NULL
) STRICT;
INSERT INTO audit_chains VALUES (0, 0, zeroblob(32), 0, zeroblob(32));

-- One row for each note. The keys repeat of the target what is needed to find it by scope.
CREATE TABLE audit (
    chain            INTEGER NOT NULL,
    serial           INTEGER NOT NULL,
    at               INTEGER NOT NULL,
    who              TEXT    NOT NULL,
    name             TEXT    NOT NULL,
    source           TEXT    NOT NULL,
    act              TEXT    NOT NULL,
    target           TEXT    NOT NULL,
    verdict          TEXT    NOT NULL,
    detail           TEXT    NOT NULL,
    hash             BLOB    NOT NULL,
    subscription_key TEXT,
    group_key        TEXT,
    name_key         TEXT,
    PRIMARY KEY (chain, serial)
) STRICT, WITHOUT ROWID;
CREATE INDEX audit_by_time ON audit (at, chain, serial);
