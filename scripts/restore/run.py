"""Backups under load, restored and served. Called by scripts/check-restore.

Usage: run.py FORM BINARY FOLDER, where the form is backup or postgres.
"""

import datetime
import os
import shutil
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(f"{HERE}/../cluster")

import check
import contents
import load
from nodes import Node, free_port
from trouble import say

SECONDS = int(os.environ.get("RESTORE_SECONDS", "24"))

# How long everything that is due may take after a restore.
PATIENCE = 180

# The most faults that are told.
SHOWN = 12


class Server(Node):
    """A server of the embedded store."""

    def __init__(self, binary, name, folder, data):
        super().__init__(binary, name, folder, "")
        self.data = data

    def place(self):
        return {"PUNCTUAL_DATA": self.data}


class Run:
    """What was promised, and what happened until the kill."""

    def __init__(self, jobs, load, calls, final):
        self.jobs, self.changes, self.seen = jobs, load.changes(), load.reader.seen
        self.calls, self.final = calls, final


def start_target(folder):
    log = f"{folder}/calls"
    open(log, "w").close()
    target = subprocess.Popen(
        [sys.executable, f"{HERE}/../cluster/target.py", log], stdout=subprocess.PIPE, text=True
    )
    return target, int(target.stdout.readline()), log


def tell(what, faults):
    for fault in faults[:SHOWN]:
        print(f"  {fault}")
    if faults:
        raise SystemExit(f"{what}: {len(faults)} faults")


def serve(name, nodes, read, store, run, log):
    """Serves a restored store until nothing that is due is left, and judges it."""
    earlier = len(load.calls(log))
    started = time.time()
    for node in nodes:
        node.start()
    until = time.time()
    end = time.monotonic() + PATIENCE
    while left := check.pending(served := read(), run, until):
        if time.monotonic() > end:
            raise SystemExit(f"{name}: these were due and are in no ledger: {left[:SHOWN]}")
        time.sleep(0.3)
    for node in nodes:
        node.kill()
    calls = load.calls(log)[earlier:]
    tell(f"{name}, served", check.after_serving(store, served, run, calls, started, until))
    again = {call["tag"] for call in calls} & {call["tag"] for call in run.calls}
    known = {entry["tag"] for entry in store.ledger}
    say(f"{name}: served; {len(served.ledger) - len(known)} entries more, {len(again)} calls repeated with their tags")


def look(name, store, earliest, latest, run, in_order):
    tell(name, check.before_serving(store, earliest, latest, run, in_order))
    # Under so much load a wrong instant is noticed, or the checker sees nothing.
    for off in (-1, 1) if earliest == latest else ():
        if not check.before_serving(store, earliest + off, latest + off, run, in_order):
            raise SystemExit(f"{name}: it would as well be of {off} s later")
    lost = sum(call["at"] > earliest for call in run.calls)
    say(f"{name}: {len(store.jobs)} jobs, {len(store.ledger)} entries, {len(store.running)} under way; {lost} calls came later")


def bring_up(node, port):
    """A node with its jobs, just before the first is due."""
    node.start()
    began = time.time()
    trial = [load.Job(f"trial-{i}", "run", round(began) + 86_400) for i in range(load.BATCH)]
    load.store(node, port, trial)
    for_one = (time.time() - began) / len(trial)
    jobs = load.planned(0, SECONDS)
    # Twice as long as it will take, as far as anybody knows.
    jobs = load.planned(round(time.time() + 2 * for_one * len(jobs) + 3), SECONDS)
    load.store(node, port, jobs)
    if time.time() > jobs[0].due:
        raise SystemExit("this machine is too busy: the first jobs were due before all were stored")
    return jobs


def under_load(nodes, port, jobs, moments):
    """Loads nodes, does something at each of the moments, and kills them."""
    began = min(job.due for job in jobs)
    time.sleep(max(0, began - time.time()))
    at_work = load.Load(nodes, port)
    at_work.start()
    for share, moment in moments:
        time.sleep(max(0, began + share * SECONDS - time.time()))
        moment()
    time.sleep(max(0, began + SECONDS - time.time()))
    for node in nodes:
        node.kill()
    at_work.end()
    return at_work


def backup(binary, folder, port, log):
    """`punctual backup`, three times."""
    server = Server(binary, "server", folder, f"{folder}/data")
    jobs = bring_up(server, port)
    taken = []

    def take():
        i = len(taken)
        before = time.time()
        said = subprocess.run(
            [binary, "backup", f"{folder}/{i}.db", "--server", f"http://127.0.0.1:{server.port}"],
            check=True, capture_output=True, text=True,
        ).stdout
        taken.append((before, time.time(), said))

    at_work = under_load([server], port, jobs, [(0.25, take), (0.5, take), (0.75, take)])
    run = Run(jobs, at_work, load.calls(log), contents.of_file(f"{folder}/data/punctual.db"))
    say(f"killed: {len(run.changes)} changes, {len(run.calls)} calls, {len(run.final.ledger)} entries")
    for i, (before, after, said) in enumerate(taken):
        store = contents.of_file(f"{folder}/{i}.db")
        # Noughts at the end of an instant are left out.
        told = datetime.datetime.fromisoformat(said.split(" as it was at ")[1].split(",")[0]).timestamp()
        assert before <= store.at <= after and abs(told - store.at) < 2e-6, (before, said, store.at, after)
        look(f"backup {i}", store, store.at, store.at, run, in_order=True)
        data = f"{folder}/restored-{i}"
        os.mkdir(data)
        shutil.copy(f"{folder}/{i}.db", f"{data}/punctual.db")
        restored = Server(binary, f"restored-{i}", folder, data)
        serve(f"backup {i}", [restored], lambda: contents.of_file(f"{data}/punctual.db"), store, run, log)


class Postgres:
    """The server of scripts/with-postgres, and others that are restored from it."""

    def __init__(self, folder):
        # Where pg_ctl is a link, the other programs may be beside what it leads to only.
        self.folder, self.bin = folder, os.path.dirname(os.path.realpath(f"{os.environ['TEST_POSTGRES_BIN']}/pg_ctl"))
        self.url = os.environ["PUNCTUAL_TEST_POSTGRES"]
        self.port = self.url.rsplit(":", 1)[1].split("/")[0]

    def run(self, command, *arguments):
        user = ["runuser", "-u", "postgres", "--"] if os.getuid() == 0 else []
        subprocess.run([*user, f"{self.bin}/{command}", *arguments], check=True, stdout=subprocess.DEVNULL)

    def at(self, port, database):
        return f"postgres://punctual@127.0.0.1:{port}/{database}"

    def base_backup(self):
        self.run("pg_basebackup", "-h", "127.0.0.1", "-p", self.port, "-U", "punctual", "-D", f"{self.folder}/base", "-c", "fast")

    def archive(self):
        """Until all that was written is in the archive."""
        file = contents.query(self.bin, self.url, "SELECT pg_walfile_name(pg_switch_wal())")
        end = time.monotonic() + PATIENCE
        while not os.path.exists(f"{self.folder}/archive/{file}"):
            if time.monotonic() > end:
                raise SystemExit(f"{file} is not archived")
            time.sleep(0.1)

    def restore(self, instant):
        """Starts the base backup, with what was archived until an instant."""
        port = free_port()
        settings = (
            f"port = {port}\narchive_mode = off\n"
            f"restore_command = 'cp {self.folder}/archive/%f %p'\n"
            f"recovery_target_time = '{instant}'\nrecovery_target_action = 'promote'\n"
        )
        for name, text in [("recovery.signal", ""), ("postgresql.auto.conf", settings)]:
            with open(f"{self.folder}/base/{name}", "a") as file:
                file.write(text)
        self.run("pg_ctl", "-D", f"{self.folder}/base", "-l", f"{self.folder}/base/server.log", "-w", "start")
        url = self.at(port, "postgres")
        end = time.monotonic() + PATIENCE
        while contents.query(self.bin, url, "SELECT pg_is_in_recovery()") != "f":
            if time.monotonic() > end:
                raise SystemExit(open(f"{self.folder}/base/server.log").read())
            time.sleep(0.1)
        return url

    def end(self):
        if os.path.exists(f"{self.folder}/base/postmaster.pid"):
            self.run("pg_ctl", "-D", f"{self.folder}/base", "-m", "immediate", "stop")


def postgres(binary, folder, port, log):
    """A base backup and what was archived since, restored to an instant; and a dump."""
    server = Postgres(folder)
    nodes = [Node(binary, name, folder, server.url) for name in ("a", "b")]
    jobs = bring_up(nodes[0], port)
    nodes[1].start()
    noted = {}

    def note():
        noted["instant"] = contents.query(server.bin, server.url, "SELECT clock_timestamp() AT TIME ZONE 'UTC'")

    def dump():
        noted["before"] = time.time()
        subprocess.run([f"{server.bin}/pg_dump", "-Fc", "-f", f"{folder}/dump", server.url], check=True)
        noted["after"] = time.time()

    try:
        moments = [(0.15, server.base_backup), (0.5, note), (0.7, dump)]
        at_work = under_load(nodes, port, jobs, moments)
        final = contents.of_database(server.bin, server.url, committed=True)
        run = Run(jobs, at_work, load.calls(log), final)
        say(f"killed: {len(run.changes)} changes, {len(run.calls)} calls, {len(final.ledger)} entries")
        server.archive()
        restored = server.restore(f"{noted['instant']}+00")
        dumped = f"{server.url.rsplit('/', 1)[0]}/dumped"
        contents.query(server.bin, server.url, "CREATE DATABASE dumped")
        subprocess.run([f"{server.bin}/pg_restore", "-d", dumped, "--exit-on-error", f"{folder}/dump"], check=True)
        instant = datetime.datetime.fromisoformat(f"{noted['instant']}+00:00").timestamp()
        for name, url, earliest, latest in [
            ("restored to an instant", restored, instant, instant),
            ("dump", dumped, noted["before"], noted["after"]),
        ]:
            store = contents.of_database(server.bin, url)
            look(name, store, earliest, latest, run, in_order=False)
            again = [Node(binary, node.name, folder, url) for node in nodes]
            serve(name, again, lambda url=url: contents.of_database(server.bin, url), store, run, log)
    finally:
        for node in nodes:
            node.end()
        server.end()


def main():
    form, binary, folder = sys.argv[1:]
    target, port, log = start_target(folder)
    try:
        {"backup": backup, "postgres": postgres}[form](binary, folder, port, log)
    finally:
        target.kill()


main()
