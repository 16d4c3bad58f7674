"""What a store holds, read with SQL from outside: before anybody serves it, nothing in it has changed."""

import json
import re
import sqlite3
import subprocess

# 100-nanosecond ticks since 1970, as both stores keep instants.
TICKS = 10_000_000

# The numbers of fates.
FATES = ["ran", "ranLate", "faulted", "skipped", "missed"]
FAILED = 1

JOBS = "SELECT id, name, executions, failures, definition FROM jobs LEFT JOIN definitions ON job_id = id WHERE deleted_at IS NULL"
EVER = "SELECT id, name FROM jobs"
LEDGER = (
    "SELECT serial, job_id, due_at, due_until, occurrences, fate, started_at, ended_at, {tag} AS tag{committed} FROM ledger "
    "ORDER BY serial"
)
RUNNING = "SELECT job_id, {tag} AS tag, due_at, attempt, depth FROM executions"
HISTORY = "SELECT job_id, depth, status, count(*) AS count FROM history GROUP BY 1, 2, 3"
TALLIES = "SELECT sum(ran) AS ran, sum(ran_late) AS late, sum(faulted) AS faulted, sum(skipped) AS skipped, sum(missed) AS missed FROM tallies"


class Contents:
    """Jobs by name, the ledger, what is under way, and what was counted."""

    def __init__(self, rows, tag, committed=""):
        names = {row["id"]: row["name"] for row in rows(EVER)}
        self.jobs = {row["name"]: row for row in rows(JOBS)}
        for job in self.jobs.values():
            version = re.search(r"version=(\d+)", job["definition"])
            job["version"] = int(version[1])
        self.ledger = rows(LEDGER.format(tag=tag, committed=committed))
        self.running = rows(RUNNING.format(tag=tag))
        for row in [*self.ledger, *self.running]:
            row["job"] = names[row["job_id"]]
        for row in self.ledger:
            row["fate"] = FATES[row["fate"]]
        self.failures = {
            row["job_id"]: row["count"] for row in rows(HISTORY) if row["status"] == FAILED and row["depth"] == 0
        }
        [tallies] = rows(TALLIES)
        self.tallies = {fate: int(count or 0) for fate, count in zip(FATES, tallies.values(), strict=True)}


def of_file(path):
    """What a SQLite file holds."""
    with sqlite3.connect(path) as db:
        db.row_factory = sqlite3.Row
        contents = Contents(lambda sql: [dict(row) for row in db.execute(sql)], "lower(hex(tag))")
        copied_at = db.execute("SELECT copied_at FROM moves").fetchone()[0]
        contents.at = None if copied_at is None else copied_at / TICKS
        [checked] = db.execute("PRAGMA integrity_check").fetchone()
        assert checked == "ok", checked
    db.close()
    return contents


def query(bin, url, sql):
    """One text."""
    done = subprocess.run([f"{bin}/psql", "-XAtq", "-v", "ON_ERROR_STOP=1", url, "-c", sql], capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{sql}: {done.stderr}")
    return done.stdout.strip()


def of_database(bin, url, committed=False):
    """What a PostgreSQL database holds; with when each entry of the ledger was committed, where the server knows."""

    def rows(sql):
        return json.loads(query(bin, url, f"SELECT coalesce(json_agg(t), '[]') FROM ({sql}) t"))

    when = ", extract(epoch FROM pg_xact_commit_timestamp(xmin))::float8 AS committed" if committed else ""
    return Contents(rows, "replace(tag::text, '-', '')", when)
