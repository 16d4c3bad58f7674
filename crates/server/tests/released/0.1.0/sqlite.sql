PRAGMA application_id = 1347767875;
PRAGMA user_version = 10;
CREATE TABLE revisions (last INTEGER NOT NULL) STRICT;
INSERT INTO revisions (last) VALUES (18);
CREATE TABLE collections (
    id               INTEGER PRIMARY KEY AUTOINCREMENT,
    subscription_key TEXT    NOT NULL,
    group_key        TEXT    NOT NULL,
    name_key         TEXT    NOT NULL,
    -- The collection as JSON. The columns below repeat of it what queries need.
    document         TEXT    NOT NULL,
    plan             TEXT    NOT NULL,
    enabled          INTEGER NOT NULL,
    resumed_at       INTEGER,
    -- How many jobs it has: counting a million of them for every new one would take its time.
    jobs             INTEGER NOT NULL DEFAULT 0,
    revision         INTEGER NOT NULL,
    -- Deleted collections stay as long as the ledger speaks of them.
    deleted_at       INTEGER
) STRICT;
INSERT INTO collections (id, subscription_key, group_key, name_key, document, plan, enabled, resumed_at, jobs, revision, deleted_at) VALUES (1, 's', 'g', 'team', '{"path":{"subscription":"s","group":"g","name":"team"},"location":"Local","tags":[["a","b"]],"plan":"P20Premium","state":"Enabled","quota":{"max_job_count":20,"max_recurrence":{"frequency":"minute","interval":1}}}', 'P20Premium', 1, NULL, 9, 2, NULL);
INSERT INTO collections (id, subscription_key, group_key, name_key, document, plan, enabled, resumed_at, jobs, revision, deleted_at) VALUES (2, 's', 'g', 'off', '{"path":{"subscription":"s","group":"g","name":"off"},"location":"Local","tags":[["a","b"]],"plan":"Standard","state":"Disabled","quota":{"max_job_count":20,"max_recurrence":{"frequency":"minute","interval":1}}}', 'Standard', 0, NULL, 1, 3, NULL);
INSERT INTO collections (id, subscription_key, group_key, name_key, document, plan, enabled, resumed_at, jobs, revision, deleted_at) VALUES (3, 'punctual', 'notifications', 'rules', '{"path":{"subscription":"punctual","group":"notifications","name":"rules"},"location":"Local","plan":"P20Premium","state":"Enabled","quota":{"max_job_count":100}}', 'P20Premium', 1, NULL, 1, 15, NULL);
INSERT INTO sqlite_sequence (name, seq) VALUES ('collections', 3);
INSERT INTO sqlite_sequence (name, seq) VALUES ('jobs', 12);
INSERT INTO sqlite_sequence (name, seq) VALUES ('executions', 17);
INSERT INTO sqlite_sequence (name, seq) VALUES ('history', 35);
INSERT INTO sqlite_sequence (name, seq) VALUES ('ledger', 14);
CREATE TABLE jobs (
    id             INTEGER PRIMARY KEY AUTOINCREMENT,
    collection_id  INTEGER NOT NULL REFERENCES collections (id),
    name           TEXT    NOT NULL,
    name_key       TEXT    NOT NULL,
    seed           BLOB    NOT NULL,
    state          INTEGER NOT NULL,
    -- Whether its occurrences may be claimed ahead of time: they may where runs do not wait for each other.
    ahead          INTEGER NOT NULL,
    executions     INTEGER NOT NULL,
    failures       INTEGER NOT NULL,
    faulted        INTEGER NOT NULL,
    last_execution INTEGER,
    next_number    INTEGER NOT NULL,
    next_at        INTEGER,
    -- `next_at`, but only while the collection is enabled too: what a claim looks for. A disabled collection with
    -- overdue jobs costs a claim nothing.
    due_at         INTEGER,
    paused_at      INTEGER,
    last_faulted   INTEGER NOT NULL,
    generation     INTEGER NOT NULL,
    revision       INTEGER NOT NULL,
    -- How many history entries were ever written: tells when it is worth looking for too many.
    history_total  INTEGER NOT NULL DEFAULT 0,
    -- When it came to its final state.
    ended_at       INTEGER,
    -- Deleted jobs stay, without definition, as long as the ledger speaks of them.
    deleted_at     INTEGER,
    -- Whether it is deleted and its history is not yet.
    sweep          INTEGER NOT NULL DEFAULT 0
) STRICT;
INSERT INTO jobs (id, collection_id, name, name_key, seed, state, ahead, executions, failures, faulted, last_execution, next_number, next_at, due_at, paused_at, last_faulted, generation, revision, history_total, ended_at, deleted_at, sweep) VALUES (1, 1, 'once', 'once', X'229C1D3487944487A51C67B0B3E31A44', 2, 1, 1, 0, 0, 18013968300000000, 2, NULL, NULL, NULL, 0, 1, 18, 1, 18013968300000000, NULL, 0);
INSERT INTO jobs (id, collection_id, name, name_key, seed, state, ahead, executions, failures, faulted, last_execution, next_number, next_at, due_at, paused_at, last_faulted, generation, revision, history_total, ended_at, deleted_at, sweep) VALUES (2, 1, 'minutely', 'minutely', X'005DF17A75CB4B2E80C966A16B3DACB4', 0, 1, 4, 0, 0, 18013969500000000, 4, 18013970100000000, 18013970100000000, NULL, 0, 1, 5, 4, NULL, NULL, 0);
INSERT INTO jobs (id, collection_id, name, name_key, seed, state, ahead, executions, failures, faulted, last_execution, next_number, next_at, due_at, paused_at, last_faulted, generation, revision, history_total, ended_at, deleted_at, sweep) VALUES (3, 1, 'oauth', 'oauth', X'B15381DBBEEA4C9A94BB69A5BF5C508C', 0, 1, 0, 0, 0, NULL, 1, 18060489000000000, 18060489000000000, NULL, 0, 1, 6, 0, NULL, NULL, 0);
INSERT INTO jobs (id, collection_id, name, name_key, seed, state, ahead, executions, failures, faulted, last_execution, next_number, next_at, due_at, paused_at, last_faulted, generation, revision, history_total, ended_at, deleted_at, sweep) VALUES (4, 1, 'hmac', 'hmac', X'ED4BE8A0772D48DC93CB02A28689DAA9', 0, 0, 0, 0, 0, NULL, 1, 18014652000000000, 18014652000000000, NULL, 0, 1, 7, 0, NULL, NULL, 0);
INSERT INTO jobs (id, collection_id, name, name_key, seed, state, ahead, executions, failures, faulted, last_execution, next_number, next_at, due_at, paused_at, last_faulted, generation, revision, history_total, ended_at, deleted_at, sweep) VALUES (5, 1, 'queue', 'queue', X'FE7BB029F8774A23A8FDCCE6C6DB6FD4', 0, 1, 3, 11, 1, 18013969800000000, 4, 18013970100000000, 18013970100000000, NULL, 1, 1, 8, 11, NULL, NULL, 0);
INSERT INTO jobs (id, collection_id, name, name_key, seed, state, ahead, executions, failures, faulted, last_execution, next_number, next_at, due_at, paused_at, last_faulted, generation, revision, history_total, ended_at, deleted_at, sweep) VALUES (6, 1, 'bus-queue', 'bus-queue', X'56060FCF141F4AD78B6481BDC09E49D7', 0, 1, 3, 0, 0, 18013969500000000, 4, 18013970100000000, 18013970100000000, NULL, 0, 1, 9, 3, NULL, NULL, 0);
INSERT INTO jobs (id, collection_id, name, name_key, seed, state, ahead, executions, failures, faulted, last_execution, next_number, next_at, due_at, paused_at, last_faulted, generation, revision, history_total, ended_at, deleted_at, sweep) VALUES (7, 1, 'bus-topic', 'bus-topic', X'C5EB839A839C4D8FBBA9411E63C56E72', 0, 1, 3, 0, 0, 18013969500000000, 4, 18013970100000000, 18013970100000000, NULL, 0, 1, 10, 3, NULL, NULL, 0);
INSERT INTO jobs (id, collection_id, name, name_key, seed, state, ahead, executions, failures, faulted, last_execution, next_number, next_at, due_at, paused_at, last_faulted, generation, revision, history_total, ended_at, deleted_at, sweep) VALUES (8, 1, 'retried', 'retried', X'01D03048F7444C77A9324F01A1E41432', 0, 1, 3, 8, 2, 18013969800000000, 4, 18013970100000000, 18013970100000000, NULL, 1, 1, 11, 13, NULL, NULL, 0);
INSERT INTO jobs (id, collection_id, name, name_key, seed, state, ahead, executions, failures, faulted, last_execution, next_number, next_at, due_at, paused_at, last_faulted, generation, revision, history_total, ended_at, deleted_at, sweep) VALUES (9, 1, 'off', 'off', X'2D6F69DCD2704EAE90D2E5D0B5B3E74A', 1, 1, 0, 0, 0, NULL, 1, NULL, NULL, NULL, 0, 1, 12, 0, NULL, NULL, 0);
INSERT INTO jobs (id, collection_id, name, name_key, seed, state, ahead, executions, failures, faulted, last_execution, next_number, next_at, due_at, paused_at, last_faulted, generation, revision, history_total, ended_at, deleted_at, sweep) VALUES (10, 2, 'held', 'held', X'93CA13D83C2546E489E357A2AA73EFCE', 0, 1, 0, 0, 0, NULL, 1, 18013968300000000, NULL, NULL, 0, 1, 13, 0, NULL, NULL, 0);
INSERT INTO jobs (id, collection_id, name, name_key, seed, state, ahead, executions, failures, faulted, last_execution, next_number, next_at, due_at, paused_at, last_faulted, generation, revision, history_total, ended_at, deleted_at, sweep) VALUES (11, 2, 'gone', 'gone', X'00000000000000000000000000000000', 0, 1, 0, 0, 0, NULL, 1, NULL, NULL, NULL, 0, 1, 14, 0, NULL, 18013969500000000, 0);
INSERT INTO jobs (id, collection_id, name, name_key, seed, state, ahead, executions, failures, faulted, last_execution, next_number, next_at, due_at, paused_at, last_faulted, generation, revision, history_total, ended_at, deleted_at, sweep) VALUES (12, 3, 'ops', 'ops', X'8734EE14E70A406E85009B976E923351', 1, 1, 0, 0, 0, NULL, 1, NULL, NULL, NULL, 0, 1, 17, 0, NULL, NULL, 0);
CREATE TABLE definitions (
    job_id     INTEGER PRIMARY KEY REFERENCES jobs (id) ON DELETE CASCADE,
    -- JSON.
    definition TEXT    NOT NULL
, sealed_by TEXT DEFAULT 'plain') STRICT;
INSERT INTO definitions (job_id, definition, sealed_by) VALUES (1, '{"timing":{"start_time":"2027-01-31T12:00:30Z","recurrence":null},"accepted_at":"2027-01-31T12:00:00Z","action":{"call":{"Http":{"https":false,"request":{"uri":"http://example.org/","method":"GET"}}}},"catch_up":"Last","overlap":"Allow","extensions_given":false,"capital_occurrence":false}', NULL);
INSERT INTO definitions (job_id, definition, sealed_by) VALUES (2, '{"timing":{"start_time":"2027-01-31T12:00:30Z","recurrence":{"frequency":"minute","interval":null,"count":null,"end_time":null,"schedule":null,"cron":null,"time_zone":null,"dst":null}},"accepted_at":"2027-01-31T12:00:00Z","action":{"call":{"Http":{"https":false,"request":{"uri":"http://example.org/a?b=c","method":"POST","headers":[["X-Own","1"]],"body":"text","authentication":{"Basic":{"username":"clerk","password":"sealed1.11b13527180e9032.UgPEAtXhOe1RcA6qtdu7Gg09JplsbUQZpljGxFrxUpze9CnGMkDaFKusNzsqdQ"}}}}}},"catch_up":"Last","overlap":"Allow","extensions_given":false,"capital_occurrence":false}', '11b13527180e9032');
INSERT INTO definitions (job_id, definition, sealed_by) VALUES (3, '{"timing":{"start_time":"2027-01-31T12:00:30Z","recurrence":{"frequency":"month","interval":2,"count":5,"end_time":"2028-01-01T00:00:00Z","schedule":{"minutes":[15],"hours":[9],"week_days":null,"month_days":null,"monthly_occurrences":[{"day":"friday","occurrence":-1}],"months":null},"cron":null,"time_zone":"Europe/Berlin","dst":null}},"accepted_at":"2027-01-31T12:00:00Z","action":{"call":{"Http":{"https":false,"request":{"uri":"http://example.org/a?b=c","method":"POST","headers":[["X-Own","1"]],"body":"text","authentication":{"ActiveDirectoryOAuth":{"tenant":"t","audience":"a","client_id":"c","secret":"sealed1.11b13527180e9032.xzXQf_MZEIBTJlOun-OGgq_ToXSVeboGPWBTYmou4lOILs1oPYixX_PrYl8c5A"}}}}}},"catch_up":"Last","overlap":"Allow","extensions_given":false,"capital_occurrence":false}', '11b13527180e9032');
INSERT INTO definitions (job_id, definition, sealed_by) VALUES (4, '{"timing":{"start_time":"2027-01-31T12:00:30Z","recurrence":{"frequency":null,"interval":null,"count":null,"end_time":null,"schedule":null,"cron":"*/5 8-18 * * MON-FRI","time_zone":"Europe/Paris","dst":null}},"accepted_at":"2027-01-31T12:00:00Z","action":{"call":{"Http":{"https":false,"request":{"uri":"http://example.org/a?b=c","method":"POST","headers":[["X-Own","1"]],"body":"text","authentication":{"Hmac":{"secrets":["sealed1.11b13527180e9032.3kDBYE0xb9un8cw8nbllWxflvebRgBw56PhfOqYvNs4gA_4WY83roxxjJOfck4UIXlHG7bt3oU3RKVfrqQ6QiQ6x7-Gd1w8uVZxsfIg9","sealed1.11b13527180e9032.6A6KjnJlTSIQaWhbDdV3RUVHKaR_SeHZyhFeF2BF79rbWJx0omUV-haPU7x6NzVEJ74S65jUdmUfNhc4skNKundl5zAetwt-_JHGp85v"]}}}}}},"catch_up":{"All":{"max":3}},"overlap":"Queue","extensions_given":true,"capital_occurrence":false}', '11b13527180e9032');
INSERT INTO definitions (job_id, definition, sealed_by) VALUES (5, '{"timing":{"start_time":"2027-01-31T12:00:30Z","recurrence":{"frequency":"minute","interval":null,"count":null,"end_time":null,"schedule":null,"cron":null,"time_zone":null,"dst":null}},"accepted_at":"2027-01-31T12:00:00Z","action":{"call":{"StorageQueue":{"account":"account","queue":"queue","sas_token":"sealed1.11b13527180e9032.Shik7R6fkPSPfdMtCNvrssEuTFJOzydV8Ry_8ZhN_96CbUs60AR7h5IbBTjsq4gFlsM","message":"text"}}},"catch_up":"Last","overlap":"Allow","extensions_given":false,"capital_occurrence":false}', '11b13527180e9032');
INSERT INTO definitions (job_id, definition, sealed_by) VALUES (6, '{"timing":{"start_time":"2027-01-31T12:00:30Z","recurrence":{"frequency":"minute","interval":null,"count":null,"end_time":null,"schedule":null,"cron":null,"time_zone":null,"dst":null}},"accepted_at":"2027-01-31T12:00:00Z","action":{"call":{"ServiceBusQueue":{"namespace":"namespace","entity":"entity","transport":"Amqp","authentication":{"name":"key","key":"sealed1.11b13527180e9032.gAKHGT5OSNcEDRL6sRhdocYzoj9IxFNknc8WHYa4FlI9gl82EUwz1ZYHqJQZNw"},"message":"text","brokered_properties":[["label","\"a\""]],"custom_properties":[["Own","1"]]}}},"catch_up":"Last","overlap":"Allow","extensions_given":false,"capital_occurrence":false}', '11b13527180e9032');
INSERT INTO definitions (job_id, definition, sealed_by) VALUES (7, '{"timing":{"start_time":"2027-01-31T12:00:30Z","recurrence":{"frequency":"minute","interval":null,"count":null,"end_time":null,"schedule":null,"cron":null,"time_zone":null,"dst":null}},"accepted_at":"2027-01-31T12:00:00Z","action":{"call":{"ServiceBusTopic":{"namespace":"namespace","entity":"entity","transport":"Amqp","authentication":{"name":"key","key":"sealed1.11b13527180e9032.4WTblQQpaetigRBRVuHlwmkH2Aiv2TAcRl-3AvbxjnIS2MknF-b6nNKx0cT5FQ"},"message":"text","brokered_properties":[["label","\"a\""]],"custom_properties":[["Own","1"]]}}},"catch_up":"Last","overlap":"Allow","extensions_given":false,"capital_occurrence":false}', '11b13527180e9032');
INSERT INTO definitions (job_id, definition, sealed_by) VALUES (8, '{"timing":{"start_time":"2027-01-31T12:00:30Z","recurrence":{"frequency":"minute","interval":null,"count":null,"end_time":null,"schedule":null,"cron":null,"time_zone":null,"dst":null}},"accepted_at":"2027-01-31T12:00:00Z","action":{"call":{"Http":{"https":false,"request":{"uri":"http://example.org/","method":"GET"}}},"retry":{"Fixed":{"interval":{"seconds":30,"form":"Iso"},"count":2}},"on_error":{"call":{"StorageQueue":{"account":"account","queue":"queue","sas_token":"sealed1.11b13527180e9032.KIqg_J6SwrWc8ABKuw3LI0PSkDfiNRUIe7hiRQAh1xGPlFVEEiWXc5Xj4Gjtdk3B-XQ","message":"text"}}}},"catch_up":"Last","overlap":"Allow","extensions_given":false,"capital_occurrence":false}', '11b13527180e9032');
INSERT INTO definitions (job_id, definition, sealed_by) VALUES (9, '{"timing":{"start_time":"2027-01-31T12:00:30Z","recurrence":{"frequency":"hour","interval":null,"count":null,"end_time":null,"schedule":null,"cron":null,"time_zone":null,"dst":null}},"accepted_at":"2027-01-31T12:00:00Z","action":{"call":{"Http":{"https":false,"request":{"uri":"http://example.org/","method":"GET"}}}},"catch_up":"Last","overlap":"Allow","extensions_given":false,"capital_occurrence":false}', NULL);
INSERT INTO definitions (job_id, definition, sealed_by) VALUES (10, '{"timing":{"start_time":"2027-01-31T12:00:30Z","recurrence":{"frequency":"minute","interval":null,"count":null,"end_time":null,"schedule":null,"cron":null,"time_zone":null,"dst":null}},"accepted_at":"2027-01-31T12:00:00Z","action":{"call":{"Http":{"https":false,"request":{"uri":"http://example.org/a?b=c","method":"POST","headers":[["X-Own","1"]],"body":"text","authentication":{"Basic":{"username":"clerk","password":"sealed1.11b13527180e9032.REULHZ991lIPjIPCuF83bIJqcwwQHjhY4XN9YHMl84R5E6mrtURQjyFCicxwlQ"}}}}}},"catch_up":"Last","overlap":"Allow","extensions_given":false,"capital_occurrence":false}', '11b13527180e9032');
INSERT INTO definitions (job_id, definition, sealed_by) VALUES (12, '{"timing":{"start_time":null,"recurrence":null},"accepted_at":"2027-01-31T12:00:00Z","action":{"call":{"Http":{"https":true,"request":{"uri":"https://hooks.example.org/x","method":"POST","headers":[["Content-Type","application/json"]],"body":"{\"when\":\"faulted\",\"after\":null,\"subscription\":\"s\",\"resourceGroup\":null,\"collection\":null,\"job\":null,\"headers\":{}}"}}}},"catch_up":"Last","overlap":"Allow","extensions_given":false,"capital_occurrence":false}', NULL);
CREATE TABLE executions (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    job_id     INTEGER NOT NULL REFERENCES jobs (id),
    generation INTEGER NOT NULL,
    tag        BLOB    NOT NULL,
    number     INTEGER NOT NULL,
    due_at     INTEGER NOT NULL,
    cause      INTEGER NOT NULL,
    -- Whether it was claimed before it was due: then it can be taken back until it is begun.
    ahead      INTEGER NOT NULL,
    depth      INTEGER NOT NULL,
    attempt    INTEGER NOT NULL,
    -- NULL while it waits for an earlier execution of the job.
    wake_at    INTEGER,
    started_at INTEGER,
    -- Whether this process has handed it out. Claims die with the process: opening the store sets it to 0.
    claimed    INTEGER NOT NULL,
    -- NULL means the job's own; an execution that is under way while its job is changed gets a copy.
    definition TEXT
, sealed_by TEXT) STRICT;
INSERT INTO executions (id, job_id, generation, tag, number, due_at, cause, ahead, depth, attempt, wake_at, started_at, claimed, definition, sealed_by) VALUES (8, 5, 1, X'3BB742837E585A32BFE2D58D1390CF47', 2, 18013968900000000, 0, 0, 0, 4, 18013970100000000, 18013968900000000, 0, NULL, NULL);
INSERT INTO executions (id, job_id, generation, tag, number, due_at, cause, ahead, depth, attempt, wake_at, started_at, claimed, definition, sealed_by) VALUES (11, 8, 1, X'64203C2D30E459008ACA047EFF3047A0', 2, 18013968900000000, 0, 0, 1, 2, 18013970100000000, 18013968900000000, 0, NULL, NULL);
INSERT INTO executions (id, job_id, generation, tag, number, due_at, cause, ahead, depth, attempt, wake_at, started_at, claimed, definition, sealed_by) VALUES (13, 5, 1, X'83EE8682377C536CB421B38D0312AD9A', 3, 18013969500000000, 0, 0, 0, 2, 18013970100000000, 18013969500000000, 0, NULL, NULL);
INSERT INTO executions (id, job_id, generation, tag, number, due_at, cause, ahead, depth, attempt, wake_at, started_at, claimed, definition, sealed_by) VALUES (16, 8, 1, X'381C9AE4C23B5358A025510A9E653C04', 3, 18013969500000000, 0, 0, 0, 2, 18013970100000000, 18013969500000000, 0, NULL, NULL);
CREATE TABLE resource_groups (
    subscription_key TEXT    NOT NULL,
    name_key         TEXT    NOT NULL,
    -- The group as JSON.
    document         TEXT    NOT NULL,
    revision         INTEGER NOT NULL,
    PRIMARY KEY (subscription_key, name_key)
) STRICT, WITHOUT ROWID;
INSERT INTO resource_groups (subscription_key, name_key, document, revision) VALUES ('punctual', 'notifications', '{"path":{"subscription":"punctual","name":"notifications"},"location":"Local"}', 16);
INSERT INTO resource_groups (subscription_key, name_key, document, revision) VALUES ('s', 'g', '{"path":{"subscription":"s","name":"g"},"location":"West Europe","tags":[["env","prod"]]}', 1);
CREATE TABLE history_filed (
    job_id INTEGER NOT NULL,
    -- When the entry started.
    at     INTEGER NOT NULL,
    serial INTEGER NOT NULL,
    PRIMARY KEY (job_id, at, serial)
) STRICT, WITHOUT ROWID;
CREATE TABLE ledger_filed (
    job_id INTEGER NOT NULL,
    -- When the entry was due.
    at     INTEGER NOT NULL,
    serial INTEGER NOT NULL,
    PRIMARY KEY (job_id, at, serial)
) STRICT, WITHOUT ROWID;
CREATE TABLE history (
    serial       INTEGER PRIMARY KEY AUTOINCREMENT,
    job_id       INTEGER NOT NULL,
    started_at   INTEGER NOT NULL,
    ended_at     INTEGER NOT NULL,
    expected_at  INTEGER NOT NULL,
    depth        INTEGER NOT NULL,
    status       INTEGER NOT NULL,
    retry_count  INTEGER NOT NULL,
    repeat_count INTEGER NOT NULL,
    message      TEXT    NOT NULL
) STRICT;
INSERT INTO history (serial, job_id, started_at, ended_at, expected_at, depth, status, retry_count, repeat_count, message) VALUES (1, 1, 18013968300000000, 18013968300000000, 18013968300000000, 0, 0, 0, 1, 'scripted');
INSERT INTO history (serial, job_id, started_at, ended_at, expected_at, depth, status, retry_count, repeat_count, message) VALUES (2, 5, 18013968300000000, 18013968300000000, 18013968300000000, 0, 1, 0, 1, '503');
INSERT INTO history (serial, job_id, started_at, ended_at, expected_at, depth, status, retry_count, repeat_count, message) VALUES (3, 6, 18013968300000000, 18013968300000000, 18013968300000000, 0, 0, 0, 1, 'scripted');
INSERT INTO history (serial, job_id, started_at, ended_at, expected_at, depth, status, retry_count, repeat_count, message) VALUES (4, 2, 18013968300000000, 18013968300000000, 18013968300000000, 0, 0, 0, 1, 'scripted');
INSERT INTO history (serial, job_id, started_at, ended_at, expected_at, depth, status, retry_count, repeat_count, message) VALUES (5, 7, 18013968300000000, 18013968300000000, 18013968300000000, 0, 0, 0, 1, 'scripted');
INSERT INTO history (serial, job_id, started_at, ended_at, expected_at, depth, status, retry_count, repeat_count, message) VALUES (6, 8, 18013968300000000, 18013968300000000, 18013968300000000, 0, 1, 0, 1, '503');
INSERT INTO history (serial, job_id, started_at, ended_at, expected_at, depth, status, retry_count, repeat_count, message) VALUES (7, 5, 18013968600000000, 18013968600000000, 18013968300000000, 0, 1, 1, 1, '503');
INSERT INTO history (serial, job_id, started_at, ended_at, expected_at, depth, status, retry_count, repeat_count, message) VALUES (8, 8, 18013968600000000, 18013968600000000, 18013968300000000, 0, 1, 1, 1, '503');
INSERT INTO history (serial, job_id, started_at, ended_at, expected_at, depth, status, retry_count, repeat_count, message) VALUES (9, 5, 18013968900000000, 18013968900000000, 18013968300000000, 0, 1, 2, 1, '503');
INSERT INTO history (serial, job_id, started_at, ended_at, expected_at, depth, status, retry_count, repeat_count, message) VALUES (10, 8, 18013968900000000, 18013968900000000, 18013968300000000, 0, 1, 2, 1, '503');
INSERT INTO history (serial, job_id, started_at, ended_at, expected_at, depth, status, retry_count, repeat_count, message) VALUES (11, 6, 18013968900000000, 18013968900000000, 18013968900000000, 0, 0, 0, 2, 'scripted');
INSERT INTO history (serial, job_id, started_at, ended_at, expected_at, depth, status, retry_count, repeat_count, message) VALUES (12, 5, 18013968900000000, 18013968900000000, 18013968900000000, 0, 1, 0, 2, '503');
INSERT INTO history (serial, job_id, started_at, ended_at, expected_at, depth, status, retry_count, repeat_count, message) VALUES (13, 2, 18013968900000000, 18013968900000000, 18013968900000000, 0, 0, 0, 2, 'scripted');
INSERT INTO history (serial, job_id, started_at, ended_at, expected_at, depth, status, retry_count, repeat_count, message) VALUES (14, 7, 18013968900000000, 18013968900000000, 18013968900000000, 0, 0, 0, 2, 'scripted');
INSERT INTO history (serial, job_id, started_at, ended_at, expected_at, depth, status, retry_count, repeat_count, message) VALUES (15, 8, 18013968900000000, 18013968900000000, 18013968900000000, 0, 1, 0, 2, '503');
INSERT INTO history (serial, job_id, started_at, ended_at, expected_at, depth, status, retry_count, repeat_count, message) VALUES (16, 8, 18013968900000000, 18013968900000000, 18013968300000000, 1, 1, 0, 1, '503');
INSERT INTO history (serial, job_id, started_at, ended_at, expected_at, depth, status, retry_count, repeat_count, message) VALUES (17, 5, 18013969200000000, 18013969200000000, 18013968300000000, 0, 1, 3, 1, '503');
INSERT INTO history (serial, job_id, started_at, ended_at, expected_at, depth, status, retry_count, repeat_count, message) VALUES (18, 8, 18013969200000000, 18013969200000000, 18013968900000000, 0, 1, 1, 2, '503');
INSERT INTO history (serial, job_id, started_at, ended_at, expected_at, depth, status, retry_count, repeat_count, message) VALUES (19, 8, 18013969200000000, 18013969200000000, 18013968300000000, 1, 1, 1, 1, '503');
INSERT INTO history (serial, job_id, started_at, ended_at, expected_at, depth, status, retry_count, repeat_count, message) VALUES (20, 5, 18013969200000000, 18013969200000000, 18013968900000000, 0, 1, 1, 2, '503');
INSERT INTO history (serial, job_id, started_at, ended_at, expected_at, depth, status, retry_count, repeat_count, message) VALUES (21, 5, 18013969500000000, 18013969500000000, 18013968300000000, 0, 1, 4, 1, '503');
INSERT INTO history (serial, job_id, started_at, ended_at, expected_at, depth, status, retry_count, repeat_count, message) VALUES (22, 8, 18013969500000000, 18013969500000000, 18013968900000000, 0, 1, 2, 2, '503');
INSERT INTO history (serial, job_id, started_at, ended_at, expected_at, depth, status, retry_count, repeat_count, message) VALUES (23, 6, 18013969500000000, 18013969500000000, 18013969500000000, 0, 0, 0, 3, 'scripted');
INSERT INTO history (serial, job_id, started_at, ended_at, expected_at, depth, status, retry_count, repeat_count, message) VALUES (24, 8, 18013969500000000, 18013969500000000, 18013968300000000, 1, 1, 2, 1, '503');
INSERT INTO history (serial, job_id, started_at, ended_at, expected_at, depth, status, retry_count, repeat_count, message) VALUES (25, 2, 18013969500000000, 18013969500000000, 18013969500000000, 0, 0, 0, 3, 'scripted');
INSERT INTO history (serial, job_id, started_at, ended_at, expected_at, depth, status, retry_count, repeat_count, message) VALUES (26, 7, 18013969500000000, 18013969500000000, 18013969500000000, 0, 0, 0, 3, 'scripted');
INSERT INTO history (serial, job_id, started_at, ended_at, expected_at, depth, status, retry_count, repeat_count, message) VALUES (27, 5, 18013969500000000, 18013969500000000, 18013968900000000, 0, 1, 2, 2, '503');
INSERT INTO history (serial, job_id, started_at, ended_at, expected_at, depth, status, retry_count, repeat_count, message) VALUES (28, 8, 18013969500000000, 18013969500000000, 18013969500000000, 0, 1, 0, 3, '503');
INSERT INTO history (serial, job_id, started_at, ended_at, expected_at, depth, status, retry_count, repeat_count, message) VALUES (29, 5, 18013969500000000, 18013969500000000, 18013969500000000, 0, 1, 0, 3, '503');
INSERT INTO history (serial, job_id, started_at, ended_at, expected_at, depth, status, retry_count, repeat_count, message) VALUES (30, 8, 18013969500000000, 18013969500000000, 18013968900000000, 1, 1, 0, 2, '503');
INSERT INTO history (serial, job_id, started_at, ended_at, expected_at, depth, status, retry_count, repeat_count, message) VALUES (31, 2, 18013969500000000, 18013969500000000, 18013969500000000, 0, 0, 0, 4, 'scripted');
INSERT INTO history (serial, job_id, started_at, ended_at, expected_at, depth, status, retry_count, repeat_count, message) VALUES (32, 5, 18013969800000000, 18013969800000000, 18013968900000000, 0, 1, 3, 2, '503');
INSERT INTO history (serial, job_id, started_at, ended_at, expected_at, depth, status, retry_count, repeat_count, message) VALUES (33, 8, 18013969800000000, 18013969800000000, 18013969500000000, 0, 1, 1, 3, '503');
INSERT INTO history (serial, job_id, started_at, ended_at, expected_at, depth, status, retry_count, repeat_count, message) VALUES (34, 8, 18013969800000000, 18013969800000000, 18013968900000000, 1, 1, 1, 2, '503');
INSERT INTO history (serial, job_id, started_at, ended_at, expected_at, depth, status, retry_count, repeat_count, message) VALUES (35, 5, 18013969800000000, 18013969800000000, 18013969500000000, 0, 1, 1, 3, '503');
CREATE TABLE ledger (
    serial        INTEGER PRIMARY KEY AUTOINCREMENT,
    job_id        INTEGER NOT NULL,
    collection_id INTEGER NOT NULL,
    due_at        INTEGER NOT NULL,
    due_until     INTEGER NOT NULL,
    occurrences   INTEGER NOT NULL,
    number        INTEGER NOT NULL,
    cause         INTEGER NOT NULL,
    fate          INTEGER NOT NULL,
    reason        INTEGER,
    started_at    INTEGER,
    ended_at      INTEGER NOT NULL,
    tag           BLOB
) STRICT;
INSERT INTO ledger (serial, job_id, collection_id, due_at, due_until, occurrences, number, cause, fate, reason, started_at, ended_at, tag) VALUES (1, 1, 1, 18013968300000000, 18013968300000000, 1, 1, 0, 0, NULL, 18013968300000000, 18013968300000000, X'C75487DE07E958D6BE4EA4AFABF7A240');
INSERT INTO ledger (serial, job_id, collection_id, due_at, due_until, occurrences, number, cause, fate, reason, started_at, ended_at, tag) VALUES (2, 6, 1, 18013968300000000, 18013968300000000, 1, 1, 0, 0, NULL, 18013968300000000, 18013968300000000, X'9679BF5703C35BBDB3DB735ED11BA60F');
INSERT INTO ledger (serial, job_id, collection_id, due_at, due_until, occurrences, number, cause, fate, reason, started_at, ended_at, tag) VALUES (3, 2, 1, 18013968300000000, 18013968300000000, 1, 1, 0, 0, NULL, 18013968300000000, 18013968300000000, X'AA7468AE445751F8877D507264031CB5');
INSERT INTO ledger (serial, job_id, collection_id, due_at, due_until, occurrences, number, cause, fate, reason, started_at, ended_at, tag) VALUES (4, 7, 1, 18013968300000000, 18013968300000000, 1, 1, 0, 0, NULL, 18013968300000000, 18013968300000000, X'C4D38707CEEF56CC9FE80BE6C841DD8E');
INSERT INTO ledger (serial, job_id, collection_id, due_at, due_until, occurrences, number, cause, fate, reason, started_at, ended_at, tag) VALUES (5, 6, 1, 18013968900000000, 18013968900000000, 1, 2, 0, 0, NULL, 18013968900000000, 18013968900000000, X'363396A733FA59F593AA2D2A0BBE2EEB');
INSERT INTO ledger (serial, job_id, collection_id, due_at, due_until, occurrences, number, cause, fate, reason, started_at, ended_at, tag) VALUES (6, 2, 1, 18013968900000000, 18013968900000000, 1, 2, 0, 0, NULL, 18013968900000000, 18013968900000000, X'7BE4B02028465627ABAA82563E6EC420');
INSERT INTO ledger (serial, job_id, collection_id, due_at, due_until, occurrences, number, cause, fate, reason, started_at, ended_at, tag) VALUES (7, 7, 1, 18013968900000000, 18013968900000000, 1, 2, 0, 0, NULL, 18013968900000000, 18013968900000000, X'803B256FE44E5FC2A4F118467CCD1C43');
INSERT INTO ledger (serial, job_id, collection_id, due_at, due_until, occurrences, number, cause, fate, reason, started_at, ended_at, tag) VALUES (8, 5, 1, 18013968300000000, 18013968300000000, 1, 1, 0, 2, 0, 18013968300000000, 18013969500000000, X'D2977D436D29595AA6A680571403A69E');
INSERT INTO ledger (serial, job_id, collection_id, due_at, due_until, occurrences, number, cause, fate, reason, started_at, ended_at, tag) VALUES (9, 6, 1, 18013969500000000, 18013969500000000, 1, 3, 0, 0, NULL, 18013969500000000, 18013969500000000, X'848FA3BB979A50B0BFB4A0CD11832820');
INSERT INTO ledger (serial, job_id, collection_id, due_at, due_until, occurrences, number, cause, fate, reason, started_at, ended_at, tag) VALUES (10, 8, 1, 18013968300000000, 18013968300000000, 1, 1, 0, 2, 0, 18013968300000000, 18013969500000000, X'572C1E2FCDE55F88AC7FFB11A2247F7C');
INSERT INTO ledger (serial, job_id, collection_id, due_at, due_until, occurrences, number, cause, fate, reason, started_at, ended_at, tag) VALUES (11, 2, 1, 18013969500000000, 18013969500000000, 1, 3, 0, 0, NULL, 18013969500000000, 18013969500000000, X'2812534A506059B691AF65AED7CCE6C2');
INSERT INTO ledger (serial, job_id, collection_id, due_at, due_until, occurrences, number, cause, fate, reason, started_at, ended_at, tag) VALUES (12, 7, 1, 18013969500000000, 18013969500000000, 1, 3, 0, 0, NULL, 18013969500000000, 18013969500000000, X'6B9FEA241AC05D8599F6C708179D2986');
INSERT INTO ledger (serial, job_id, collection_id, due_at, due_until, occurrences, number, cause, fate, reason, started_at, ended_at, tag) VALUES (13, 11, 2, 18013968300000000, 18013969500000000, 3, 1, 0, 3, 2, NULL, 18013969500000000, NULL);
INSERT INTO ledger (serial, job_id, collection_id, due_at, due_until, occurrences, number, cause, fate, reason, started_at, ended_at, tag) VALUES (14, 2, 1, 18013969500000000, 18013969500000000, 1, 4, 2, 0, NULL, 18013969500000000, 18013969500000000, X'D5715A36DB9649F7A20D08E1DCA744A8');
CREATE TABLE keys (
    id    TEXT PRIMARY KEY,
    proof TEXT NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO keys (id, proof) VALUES ('11b13527180e9032', 'sealed1.11b13527180e9032.YWAJ2726HTGZXX4cdliS3zf6ZQ-ln2i_zuzEiw6jI3zGjS99HpYGGmaksLSQF1AxRZbU5JH0Nt0');
CREATE TABLE traces (linger INTEGER NOT NULL) STRICT;
INSERT INTO traces (linger) VALUES (0);
CREATE TABLE tallies (
    minute          INTEGER PRIMARY KEY,
    ran             INTEGER NOT NULL,
    ran_late        INTEGER NOT NULL,
    faulted         INTEGER NOT NULL,
    skipped         INTEGER NOT NULL,
    missed          INTEGER NOT NULL,
    failed_attempts INTEGER NOT NULL,
    -- In milliseconds.
    lateness_max    INTEGER
) STRICT;
INSERT INTO tallies (minute, ran, ran_late, faulted, skipped, missed, failed_attempts, lateness_max) VALUES (30023280, 4, 0, 0, 0, 0, 2, 0);
INSERT INTO tallies (minute, ran, ran_late, faulted, skipped, missed, failed_attempts, lateness_max) VALUES (30023281, 3, 0, 0, 0, 0, 7, 0);
INSERT INTO tallies (minute, ran, ran_late, faulted, skipped, missed, failed_attempts, lateness_max) VALUES (30023282, 4, 0, 2, 3, 0, 11, 0);
INSERT INTO tallies (minute, ran, ran_late, faulted, skipped, missed, failed_attempts, lateness_max) VALUES (30023283, 0, 0, 0, 0, 0, 4, NULL);
CREATE TABLE tallies_lateness (
    minute INTEGER NOT NULL,
    step   INTEGER NOT NULL,
    count  INTEGER NOT NULL,
    PRIMARY KEY (minute, step)
) STRICT, WITHOUT ROWID;
INSERT INTO tallies_lateness (minute, step, count) VALUES (30023280, 0, 4);
INSERT INTO tallies_lateness (minute, step, count) VALUES (30023281, 0, 3);
INSERT INTO tallies_lateness (minute, step, count) VALUES (30023282, 0, 6);
CREATE TABLE certificates (
    job_id     INTEGER NOT NULL REFERENCES definitions (job_id) ON DELETE CASCADE,
    -- 0 for the action, 1 for its error action, and so on.
    depth      INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    subject    TEXT    NOT NULL,
    thumbprint TEXT    NOT NULL,
    PRIMARY KEY (job_id, depth)
) STRICT, WITHOUT ROWID;
CREATE TABLE moves (
    -- Which store this is. A copy of the file is the same store.
    store    TEXT NOT NULL,
    -- The move that copied from here last, with no server beside it. While this stands, everything is as it was then: a
    -- server that starts takes it away.
    still    TEXT,
    -- The move that took everything away, where to (without a password), and when. Then no server starts here.
    moved_by TEXT,
    moved_to TEXT,
    moved_at INTEGER
, copied_at INTEGER) STRICT;
INSERT INTO moves (store, still, moved_by, moved_to, moved_at, copied_at) VALUES ('3cbc8bb202de9cd75ef4552ff65d63f1', NULL, NULL, NULL, NULL, NULL);
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
INSERT INTO tokens (id, hash, name, created_at, created_by, expires_at, used_at, revoked_at) VALUES ('d844fc2b0e9cfea2', X'B8051E88BFD0F25876681E6E4C54C97F0D9E47EBD96DF27CD29E0F40B2FF7DCF', 'robot', 18013968000000000, 'local', 18091728000000000, NULL, NULL);
CREATE TABLE assignments (
    scope_key  TEXT    NOT NULL,
    principal  TEXT    NOT NULL,
    role       TEXT    NOT NULL,
    scope      TEXT    NOT NULL,
    created_at INTEGER NOT NULL,
    created_by TEXT    NOT NULL,
    PRIMARY KEY (scope_key, principal, role)
) STRICT, WITHOUT ROWID;
INSERT INTO assignments (scope_key, principal, role, scope, created_at, created_by) VALUES ('/', 'user:someone@example.org', 'Reader', '/', 18013968000000000, 'local');
INSERT INTO assignments (scope_key, principal, role, scope, created_at, created_by) VALUES ('/subscriptions/s', 'token:d844fc2b0e9cfea2', 'Operator', '/subscriptions/s', 18013968000000000, 'local');
CREATE TABLE sessions (
    hash       BLOB    PRIMARY KEY,
    who        TEXT    NOT NULL,
    created_at INTEGER NOT NULL,
    used_at    INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE audit_chains (
    chain         INTEGER PRIMARY KEY,
    serial        INTEGER NOT NULL,
    hash          BLOB    NOT NULL,
    before_serial INTEGER NOT NULL,
    before_hash   BLOB    NOT NULL
) STRICT;
INSERT INTO audit_chains (chain, serial, hash, before_serial, before_hash) VALUES (0, 20, X'A157C12BA3311B8F9031F4F244EE347AB0F5A516C8F1E13C64C0CAFAFFA6C5A5', 0, X'0000000000000000000000000000000000000000000000000000000000000000');
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
INSERT INTO audit (chain, serial, at, who, name, source, act, target, verdict, detail, hash, subscription_key, group_key, name_key) VALUES (0, 1, 18013968000000000, 'local', 'local', '', 'resourceGroups/write', '/subscriptions/s/resourceGroups/g', 'done', '{"created":true}', X'F23AE2B131F23A815C83AC784A1E87CB0D71D4CC4CCDB6AD4BFF57E8DCBF6DDA', 's', 'g', NULL);
INSERT INTO audit (chain, serial, at, who, name, source, act, target, verdict, detail, hash, subscription_key, group_key, name_key) VALUES (0, 2, 18013968000000000, 'local', 'local', '', 'jobCollections/write', '/subscriptions/s/resourceGroups/g/providers/Microsoft.Scheduler/jobCollections/team', 'done', '{"created":true}', X'5FD386A80D19EA1F061E3EDAFE45C993E09B222F3E0B950E869D6ADC87BCC317', 's', 'g', 'team');
INSERT INTO audit (chain, serial, at, who, name, source, act, target, verdict, detail, hash, subscription_key, group_key, name_key) VALUES (0, 3, 18013968000000000, 'local', 'local', '', 'jobCollections/write', '/subscriptions/s/resourceGroups/g/providers/Microsoft.Scheduler/jobCollections/off', 'done', '{"created":true}', X'50F20D62A3C241079E58C14A8E46009F609251BB07F76BBDF6647E80365C219A', 's', 'g', 'off');
INSERT INTO audit (chain, serial, at, who, name, source, act, target, verdict, detail, hash, subscription_key, group_key, name_key) VALUES (0, 4, 18013968000000000, 'local', 'local', '', 'jobs/write', '/subscriptions/s/resourceGroups/g/providers/Microsoft.Scheduler/jobCollections/team/jobs/once', 'done', '{"created":true}', X'599D2E75470E8AEC846E33800EC90CEBB1F92A895EFE560CBE5C701E100F0C0F', 's', 'g', 'team');
INSERT INTO audit (chain, serial, at, who, name, source, act, target, verdict, detail, hash, subscription_key, group_key, name_key) VALUES (0, 5, 18013968000000000, 'local', 'local', '', 'jobs/write', '/subscriptions/s/resourceGroups/g/providers/Microsoft.Scheduler/jobCollections/team/jobs/minutely', 'done', '{"created":true}', X'38EF2B811F4D8B66094E406DA07F9045F4102062F9D2642C032C105417A39AA1', 's', 'g', 'team');
INSERT INTO audit (chain, serial, at, who, name, source, act, target, verdict, detail, hash, subscription_key, group_key, name_key) VALUES (0, 6, 18013968000000000, 'local', 'local', '', 'jobs/write', '/subscriptions/s/resourceGroups/g/providers/Microsoft.Scheduler/jobCollections/team/jobs/oauth', 'done', '{"created":true}', X'358F4A200D36037792408BBE779C2FF2AAC0264583E9D732005AEBBDBFE73DEC', 's', 'g', 'team');
INSERT INTO audit (chain, serial, at, who, name, source, act, target, verdict, detail, hash, subscription_key, group_key, name_key) VALUES (0, 7, 18013968000000000, 'local', 'local', '', 'jobs/write', '/subscriptions/s/resourceGroups/g/providers/Microsoft.Scheduler/jobCollections/team/jobs/hmac', 'done', '{"created":true}', X'FEC2EA75057C279CDFB93F621696EFF4A7A31D25234DBC71929057CDBF489C8F', 's', 'g', 'team');
INSERT INTO audit (chain, serial, at, who, name, source, act, target, verdict, detail, hash, subscription_key, group_key, name_key) VALUES (0, 8, 18013968000000000, 'local', 'local', '', 'jobs/write', '/subscriptions/s/resourceGroups/g/providers/Microsoft.Scheduler/jobCollections/team/jobs/queue', 'done', '{"created":true}', X'23561FFF251E328E0E9584BA1AFD0F0629A68F01AA65CBB8990BFFC763F6097E', 's', 'g', 'team');
INSERT INTO audit (chain, serial, at, who, name, source, act, target, verdict, detail, hash, subscription_key, group_key, name_key) VALUES (0, 9, 18013968000000000, 'local', 'local', '', 'jobs/write', '/subscriptions/s/resourceGroups/g/providers/Microsoft.Scheduler/jobCollections/team/jobs/bus-queue', 'done', '{"created":true}', X'BEB01847ED1B16EDF1F7E277B2B36D1E9CAA0DD3F10BE1FAADECFE3B0A0834E6', 's', 'g', 'team');
INSERT INTO audit (chain, serial, at, who, name, source, act, target, verdict, detail, hash, subscription_key, group_key, name_key) VALUES (0, 10, 18013968000000000, 'local', 'local', '', 'jobs/write', '/subscriptions/s/resourceGroups/g/providers/Microsoft.Scheduler/jobCollections/team/jobs/bus-topic', 'done', '{"created":true}', X'06A529B38615936248E363DE9C3592B055ED2B2F1FF4B5A16F33F112F1374A54', 's', 'g', 'team');
INSERT INTO audit (chain, serial, at, who, name, source, act, target, verdict, detail, hash, subscription_key, group_key, name_key) VALUES (0, 11, 18013968000000000, 'local', 'local', '', 'jobs/write', '/subscriptions/s/resourceGroups/g/providers/Microsoft.Scheduler/jobCollections/team/jobs/retried', 'done', '{"created":true}', X'022F73B0F9C37517F33143744039E0F7FA865BE1BA76706AE47FF69331197C3F', 's', 'g', 'team');
INSERT INTO audit (chain, serial, at, who, name, source, act, target, verdict, detail, hash, subscription_key, group_key, name_key) VALUES (0, 12, 18013968000000000, 'local', 'local', '', 'jobs/write', '/subscriptions/s/resourceGroups/g/providers/Microsoft.Scheduler/jobCollections/team/jobs/off', 'done', '{"created":true}', X'FD7D939E8B125C7AF8FA8A2BEB4A91DC77F82F045A8D83C2C9F7DF16CFEDC325', 's', 'g', 'team');
INSERT INTO audit (chain, serial, at, who, name, source, act, target, verdict, detail, hash, subscription_key, group_key, name_key) VALUES (0, 13, 18013968000000000, 'local', 'local', '', 'jobs/write', '/subscriptions/s/resourceGroups/g/providers/Microsoft.Scheduler/jobCollections/off/jobs/held', 'done', '{"created":true}', X'42A7810E8D70094E078712C3CD53B1AF937810E00BB97B7E9D6E0EF804304D6B', 's', 'g', 'off');
INSERT INTO audit (chain, serial, at, who, name, source, act, target, verdict, detail, hash, subscription_key, group_key, name_key) VALUES (0, 14, 18013968000000000, 'local', 'local', '', 'jobs/write', '/subscriptions/s/resourceGroups/g/providers/Microsoft.Scheduler/jobCollections/off/jobs/gone', 'done', '{"created":true}', X'362A3B398793AA6414D896B841E9D8D70D1F2207794EE023B1F4AF2B6673E209', 's', 'g', 'off');
INSERT INTO audit (chain, serial, at, who, name, source, act, target, verdict, detail, hash, subscription_key, group_key, name_key) VALUES (0, 15, 18013968000000000, 'local', 'local', '', 'jobCollections/write', '/subscriptions/punctual/resourceGroups/notifications/providers/Microsoft.Scheduler/jobCollections/rules', 'done', '{"created":true}', X'6AE0797F2CFB58DEA3FB84A6D313A26D388002927D5D2BD8B10B97059B5600CE', 'punctual', 'notifications', 'rules');
INSERT INTO audit (chain, serial, at, who, name, source, act, target, verdict, detail, hash, subscription_key, group_key, name_key) VALUES (0, 16, 18013968000000000, 'local', 'local', '', 'jobs/write', '/subscriptions/punctual/resourceGroups/notifications/providers/Microsoft.Scheduler/jobCollections/rules/jobs/ops', 'done', '{"created":true}', X'114E7C41F1ED6302C13B9075782E4D213181FFB796FBAB5B54058A6F4A82E109', 'punctual', 'notifications', 'rules');
INSERT INTO audit (chain, serial, at, who, name, source, act, target, verdict, detail, hash, subscription_key, group_key, name_key) VALUES (0, 17, 18013968000000000, 'local', 'local', '', 'tokens/create', '/api/tokens/d844fc2b0e9cfea2', 'done', '{"name":"robot","expiresAt":"2027-05-01T12:00:00Z","roles":[{"role":"Operator","scope":"/subscriptions/s"}]}', X'35CF7E7C51072D04BB5F23A128B321CE9BECA283DA364582F728EC1B6B97E848', NULL, NULL, NULL);
INSERT INTO audit (chain, serial, at, who, name, source, act, target, verdict, detail, hash, subscription_key, group_key, name_key) VALUES (0, 18, 18013968000000000, 'local', 'local', '', 'roles/assign', '/', 'done', '{"principal":"user:someone@example.org","role":"Reader"}', X'0A59463EC4B9931BBF1D790FBD3E2E3AA1DF8918CF641B3FDB94C3ED7F1EEF10', NULL, NULL, NULL);
INSERT INTO audit (chain, serial, at, who, name, source, act, target, verdict, detail, hash, subscription_key, group_key, name_key) VALUES (0, 19, 18013969500000000, 'local', 'local', '', 'jobs/delete', '/subscriptions/s/resourceGroups/g/providers/Microsoft.Scheduler/jobCollections/off/jobs/gone', 'done', '{"deleted":{"properties":{"startTime":"2027-01-31T12:00:30Z","action":{"request":{"uri":"http://example.org/a?b=c","method":"POST","headers":{"X-Own":"1"},"body":"text","authentication":{"username":"clerk","password":"(secret)","type":"Basic"}},"type":"Http"},"recurrence":{"frequency":"minute"},"state":"enabled"}}}', X'8CAE50AF3B73BA0558DE1B53A020BB518C517A84FAC85B26814A32BEBF50D03D', 's', 'g', 'off');
INSERT INTO audit (chain, serial, at, who, name, source, act, target, verdict, detail, hash, subscription_key, group_key, name_key) VALUES (0, 20, 18013969500000000, 'local', 'local', '', 'jobs/run', '/subscriptions/s/resourceGroups/g/providers/Microsoft.Scheduler/jobCollections/team/jobs/minutely', 'done', '{"executionTag":"d5715a36db9649f7a20d08e1dca744a8"}', X'A157C12BA3311B8F9031F4F244EE347AB0F5A516C8F1E13C64C0CAFAFFA6C5A5', 's', 'g', 'team');
CREATE TABLE filed (
    history INTEGER NOT NULL,
    ledger  INTEGER NOT NULL
) STRICT;
INSERT INTO filed (history, ledger) VALUES (0, 0);
CREATE UNIQUE INDEX collections_by_path ON collections (subscription_key, group_key, name_key)
    WHERE deleted_at IS NULL;
CREATE INDEX collections_ever ON collections (subscription_key, group_key, name_key);
CREATE UNIQUE INDEX jobs_by_name ON jobs (collection_id, name_key) WHERE deleted_at IS NULL;
CREATE INDEX jobs_ever ON jobs (collection_id, name_key) WHERE deleted_at IS NOT NULL;
CREATE INDEX jobs_due ON jobs (ahead, due_at) WHERE due_at IS NOT NULL;
CREATE INDEX jobs_ended ON jobs (ended_at) WHERE ended_at IS NOT NULL AND deleted_at IS NULL;
CREATE INDEX jobs_to_sweep ON jobs (id) WHERE sweep = 1;
CREATE INDEX executions_waiting ON executions (wake_at) WHERE claimed = 0 AND wake_at IS NOT NULL;
CREATE INDEX executions_queued ON executions (job_id, number) WHERE wake_at IS NULL;
CREATE INDEX executions_by_job ON executions (job_id, number);
CREATE INDEX ledger_by_due ON ledger (due_at);
CREATE INDEX ledger_by_collection ON ledger (collection_id, due_at);
CREATE INDEX ledger_trouble_by_due ON ledger (due_at) WHERE fate > 0;
CREATE INDEX ledger_trouble_by_collection ON ledger (collection_id, due_at) WHERE fate > 0;
CREATE INDEX ledger_trouble_by_job ON ledger (job_id, due_at) WHERE fate > 0;
CREATE INDEX definitions_sealed ON definitions (sealed_by) WHERE sealed_by IS NOT NULL;
CREATE INDEX executions_sealed ON executions (sealed_by) WHERE sealed_by IS NOT NULL;
CREATE INDEX certificates_by_end ON certificates (expires_at);
CREATE INDEX audit_by_time ON audit (at, chain, serial);
CREATE INDEX jobs_in_state ON jobs (state, collection_id, name_key, deleted_at) WHERE deleted_at IS NULL;
CREATE INDEX jobs_named ON jobs (name_key, collection_id, deleted_at) WHERE deleted_at IS NULL;
