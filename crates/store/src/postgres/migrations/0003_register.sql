-- Who may do what, and who did what.

-- Tokens: of the secret only its hash.
CREATE TABLE tokens (
    id         text    COLLATE "C" PRIMARY KEY,
    hash       bytea   NOT NULL,
    name       text    NOT NULL,
    created_at bigint  NOT NULL,
    created_by text    NOT NULL,
    expires_at bigint  NOT NULL,
    used_at    bigint,
    revoked_at bigint
);

-- Roles. A scope is written as people write it; its key is what it is found by.
CREATE TABLE assignments (
    scope_key  text    COLLATE "C" NOT NULL,
    principal  text    COLLATE "C" NOT NULL,
    role       text    COLLATE "C" NOT NULL,
    scope      text    NOT NULL,
    created_at bigint  NOT NULL,
    created_by text    NOT NULL,
    PRIMARY KEY (scope_key, principal, role)
);

-- Sign-ins to the portal: of what their holders have only its hash.
CREATE TABLE sessions (
    hash       bytea   PRIMARY KEY,
    who        text    NOT NULL,
    created_at bigint  NOT NULL,
    used_at    bigint  NOT NULL
);

-- The ends of the audit's chains: what was written last, and what retention removed last. An entry needs the hash of the
-- one before it, so whoever writes one holds on to its chain until the commit. There are as many chains as changes may be
-- committed at a time; each takes one that is free.
CREATE TABLE audit_chains (
    chain         bigint  PRIMARY KEY,
    serial        bigint  NOT NULL,
    hash          bytea   NOT NULL,
    before_serial bigint  NOT NULL,
    before_hash   bytea   NOT NULL
);
INSERT INTO audit_chains
    SELECT chain, 0, decode(repeat('00', 32), 'hex'), 0, decode(repeat('00', 32), 'hex') FROM generate_series(0, 63) AS chain;

-- One row for each note. The keys repeat of the target what is needed to find it by scope.
CREATE TABLE audit (
    chain            bigint  NOT NULL,
    serial           bigint  NOT NULL,
    at               bigint  NOT NULL,
    who              text    NOT NULL,
    name             text    NOT NULL,
    source           text    NOT NULL,
    act              text    NOT NULL,
    target           text    NOT NULL,
    verdict          text    NOT NULL,
    detail           text    NOT NULL,
    hash             bytea   NOT NULL,
    subscription_key text,
    group_key        text,
    name_key         text,
    PRIMARY KEY (chain, serial)
);
CREATE INDEX audit_by_time ON audit (at, chain, serial);
