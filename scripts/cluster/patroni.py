"""Three PostgreSQL servers under Patroni, with synchronous replication, as one database."""

import contextlib
import glob
import json
import os
import pwd
import signal
import subprocess
import time
import urllib.request

from nodes import free_port
from trouble import children, say

# How long a leader is believed in without a sign of life, in seconds; the least that Patroni takes seriously.
TTL = 10

CONFIGURATION = """
scope: chaos
name: {name}
etcd3: {{host: '127.0.0.1:{etcd}'}}
restapi: {{listen: '127.0.0.1:{rest}', connect_address: '127.0.0.1:{rest}'}}
bootstrap:
  dcs:
    ttl: {ttl}
    loop_wait: 1
    retry_timeout: 3
    synchronous_mode: true
    postgresql:
      use_pg_rewind: true
      parameters: {{max_connections: 200, wal_log_hints: 'on', shared_buffers: 64MB}}
  initdb: [{{encoding: UTF8}}, {{locale: C}}]
  pg_hba: ['local all all trust', 'host all all 127.0.0.1/32 trust', 'host replication all 127.0.0.1/32 trust']
postgresql:
  listen: '127.0.0.1:{port}'
  connect_address: '127.0.0.1:{port}'
  data_dir: {folder}/{name}
  bin_dir: {bin}
  pgpass: {folder}/{name}.pgpass
  authentication:
    superuser: {{username: punctual, password: any}}
    replication: {{username: replicator, password: any}}
  parameters: {{unix_socket_directories: {folder}, fsync: 'off'}}
"""


class Patroni:
    """The servers, and etcd, which they agree by. `with-postgres` has no part in this."""

    def __init__(self, folder):
        self.folder = f"{folder}/patroni"
        os.mkdir(self.folder)
        self.processes = {}
        bin = sorted(glob.glob("/usr/lib/postgresql/*/bin"))[-1]
        etcd, peer = free_port(), free_port()
        if os.geteuid() == 0:
            os.chown(self.folder, pwd.getpwnam("postgres").pw_uid, -1)
        own, others = f"http://127.0.0.1:{etcd}", f"http://127.0.0.1:{peer}"
        self.launch(
            "etcd",
            ["etcd", "--data-dir", f"{self.folder}/etcd", "--unsafe-no-fsync", "--listen-client-urls", own]
            + ["--advertise-client-urls", own, "--listen-peer-urls", others]
            + ["--initial-advertise-peer-urls", others, "--initial-cluster", f"default={others}"],
        )
        self.rest, self.ports = {}, []
        for name in ("db1", "db2", "db3"):
            rest, port = free_port(), free_port()
            self.rest[name] = rest
            self.ports.append(port)
            with open(f"{self.folder}/{name}.yaml", "w") as file:
                values = {"name": name, "etcd": etcd, "rest": rest, "port": port, "ttl": TTL}
                file.write(CONFIGURATION.format(folder=self.folder, bin=bin, **values))
            self.start(name)
        hosts = ",".join(f"127.0.0.1:{port}" for port in self.ports)
        self.url = f"postgres://punctual@{hosts}/postgres"
        self.wait_for(lambda roles: sorted(roles.values()) == ["leader", "replica", "sync_standby"], 60)
        say(f"the database: {self.roles()}")

    def launch(self, name, command):
        if os.geteuid() == 0:
            command = ["runuser", "-u", "postgres", "--", *command]
        log = open(f"{self.folder}/{name}.log", "a")
        # In a session of its own, so that all of it can be ended.
        self.processes[name] = subprocess.Popen(
            command, stdout=log, stderr=log, cwd="/", start_new_session=True, env={"PATH": os.environ["PATH"] + ":/usr/bin"}
        )

    def start(self, name):
        self.launch(name, ["/usr/bin/patroni", f"{self.folder}/{name}.yaml"])

    def roles(self):
        """What each server that streams or leads is, as one of them sees it."""
        for rest in self.rest.values():
            with contextlib.suppress(OSError, ValueError):
                with urllib.request.urlopen(f"http://127.0.0.1:{rest}/cluster", timeout=2) as answer:
                    members = json.load(answer)["members"]
                return {it["name"]: it["role"] for it in members if it.get("state") in ("running", "streaming")}
        return {}

    def wait_for(self, condition, seconds):
        end = time.monotonic() + seconds
        while not condition(self.roles()):
            if time.monotonic() > end:
                raise SystemExit(f"the database does not come: {self.roles()}; see {self.folder}")
            time.sleep(0.2)

    def leader(self):
        return next((name for name, role in self.roles().items() if role == "leader"), None)

    def kill_leader(self):
        """Kills Patroni and PostgreSQL of the leader, waits until another one leads, and starts it again."""
        leader = self.leader()
        say(f"kill -9 {leader}")
        self.kill(leader)
        self.wait_for(lambda roles: "leader" in roles.values() and roles.get(leader) is None and self.leader() != leader, 60)
        say(f"{self.leader()} leads")
        self.start(leader)

    def kill(self, name):
        with open(f"{self.folder}/{name}/postmaster.pid") as file:
            postmaster = int(file.readline())
        # Patroni first: it would start PostgreSQL again.
        os.killpg(self.processes[name].pid, signal.SIGKILL)
        for process in [postmaster, *children(postmaster)]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        self.processes.pop(name).wait()

    def switch_over(self):
        """Lets the synchronous standby lead, in good order."""
        self.wait_for(lambda roles: "sync_standby" in roles.values(), 30)
        roles = self.roles()
        leader, candidate = (next(name for name in roles if roles[name] == role) for role in ("leader", "sync_standby"))
        say(f"{candidate} shall lead, not {leader}")
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.rest[leader]}/switchover",
            data=json.dumps({"leader": leader, "candidate": candidate}).encode(),
            headers={"Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=60) as answer:
            say(answer.read().decode())
        self.wait_for(lambda roles: roles.get(candidate) == "leader", 30)

    def end(self):
        for name in [name for name in self.processes if name != "etcd"]:
            with contextlib.suppress(OSError, ValueError):
                self.kill(name)
        for process in self.processes.values():
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
