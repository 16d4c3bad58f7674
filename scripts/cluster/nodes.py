"""Nodes of the scheduler as processes, and calls to whichever of them answers."""

import json
import os
import random
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request

VERSION = "api-version=2016-03-01"
GROUP = "/subscriptions/s/resourceGroups/chaos"
COLLECTION = f"{GROUP}/providers/Microsoft.Scheduler/jobCollections/c"


# Any will do: what is sealed with it goes with the database.
KEY = "punctual1_" + "A" * 43


def free_port():
    """A port that nobody uses, below those that the machine gives to connections: those may be gone a moment later."""
    while True:
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", random.SystemRandom().randrange(15_000, 32_000)))
            except OSError:
                continue
            return probe.getsockname()[1]


class Node:
    """One node. Its name, port and user stay when it is started again.

    The user, a number that nobody else has, is how the target and the packet filter know it; `None` without root.
    `clock` has the variables that shift its clock.
    """

    def __init__(self, binary, name, folder, database, user=None, clock=None):
        self.binary, self.name, self.folder, self.database = binary, name, folder, database
        self.user, self.clock = user, clock or {}
        self.port = free_port()
        self.process = None

    def start(self):
        environment = {name: value for name, value in os.environ.items() if not name.startswith("PUNCTUAL_")}
        environment |= {
            "PUNCTUAL_SECRETS_KEY": KEY,
            "PUNCTUAL_PLANS_P20PREMIUM_JOBS": "1000000",
            "PUNCTUAL_PLANS_P20PREMIUM_SHORTEST_RETRY": "1s",
            "PUNCTUAL_LOG_LEVEL": "info,store::postgres=debug",
            "NO_COLOR": "1",
        } | self.place() | self.clock
        log = open(f"{self.folder}/{self.name}.log", "a")
        self.process = subprocess.Popen(
            [self.binary, "serve", "--listen", f"127.0.0.1:{self.port}"],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            cwd="/",
            **({} if self.user is None else {"user": self.user, "group": self.user, "extra_groups": []}),
        )
        line = self.process.stdout.readline()
        if "serves" not in line:
            raise SystemExit(f"{self.name} does not start: {open(log.name).read()}")

    def place(self):
        """Where its jobs are."""
        return {"PUNCTUAL_DATABASE": self.database, "PUNCTUAL_NODE": self.name}

    def send(self, number):
        self.process.send_signal(number)

    def kill(self):
        self.send(signal.SIGKILL)
        self.process.wait()

    def end(self):
        """Whatever state it is in."""
        if self.process and self.process.poll() is None:
            self.send(signal.SIGCONT)
            self.kill()

    def call(self, method, path, body=None, patience=10):
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}{path}",
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=patience) as answer:
            text = answer.read()
            return json.loads(text) if text else None


def call_any(nodes, method, path, body=None, patience=10, until=60):
    """Calls one node after the other until one answers; what is refused is raised."""
    end = time.monotonic() + until
    while True:
        for node in nodes:
            try:
                return node.call(method, path, body, patience)
            except urllib.error.HTTPError as error:
                if error.code != 503:
                    raise RuntimeError(f"{method} {path}: {error.code} {error.read()}") from error
            except (OSError, ValueError):
                pass
        if time.monotonic() > end:
            raise RuntimeError(f"{method} {path}: no node answers")
        time.sleep(0.05)
