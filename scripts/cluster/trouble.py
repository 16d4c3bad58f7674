"""What can go wrong, and the log of it: who, what, from when until when. The checker goes by that log."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import time


def say(text):
    print(f"{time.strftime('%H:%M:%S')} {text}", flush=True)


class Troubles:
    """The log. A trouble is written down when it is over."""

    def __init__(self, folder):
        self.log = open(f"{folder}/troubles", "w", buffering=1)

    @contextlib.contextmanager
    def of(self, what, node=None):
        say(what if node is None else f"{node.name}: {what}")
        began = time.time()
        try:
            yield
        finally:
            line = {"what": what, "node": node and node.name, "from": began, "until": time.time()}
            self.log.write(json.dumps(line) + "\n")


class Cuts:
    """Takes packets away between nodes and ports of this machine, each node known by its user.

    What a node sends is marked once, with its connection; so both directions can be told apart afterwards. No packet is
    refused: each simply does not arrive.
    """

    def __init__(self, nodes):
        self.table = f"punctual_chaos_{os.getpid()}"
        marks = "\n".join(f"meta skuid {node.user} meta l4proto tcp ct mark set {node.user}" for node in nodes)
        self.feed(
            f"table inet {self.table} {{\n"
            f"chain marking {{ type filter hook output priority -150\n{marks}\n}}\n"
            f"chain cutting {{ type filter hook output priority 0\n}}\n}}\n"
        )

    @staticmethod
    def are_possible(nodes):
        return all(node.user is not None for node in nodes) and shutil.which("nft") is not None

    @staticmethod
    def feed(rules):
        subprocess.run(["nft", "-f", "-"], input=rules, text=True, check=True)

    @contextlib.contextmanager
    def between(self, node, ports, directions=("dport", "sport")):
        """`dport` is what the node sends, `sport` what it is answered."""
        ports = "{ " + ", ".join(map(str, ports)) + " }"
        rules = [f"ct mark {node.user} tcp {direction} {ports} drop" for direction in directions]
        self.feed("\n".join(f"add rule inet {self.table} cutting {rule}" for rule in rules))
        try:
            yield
        finally:
            self.feed(f"flush chain inet {self.table} cutting")

    def end(self):
        subprocess.run(["nft", "delete", "table", "inet", self.table], check=False)


class Clocks:
    """Clocks of nodes, shifted by libfaketime."""

    LIBRARY = "/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1"

    def __init__(self, folder):
        self.folder = folder

    @classmethod
    def library(cls):
        paths = [cls.LIBRARY, "/usr/lib/aarch64-linux-gnu/faketime/libfaketimeMT.so.1"]
        return next((path for path in paths if os.path.exists(path)), None)

    def settable(self, name, monotonic, shift):
        """A clock that can be set while the node runs; with `monotonic`, the monotonic clock goes with it."""
        self.set(name, shift)
        return {
            "LD_PRELOAD": self.library(),
            "FAKETIME_TIMESTAMP_FILE": f"{self.folder}/{name}.clock",
            "FAKETIME_NO_CACHE": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "0" if monotonic else "1",
            "DONT_FAKE_MONOTONIC": "0" if monotonic else "1",
        }

    def running(self, shift, rate):
        """Clocks, both of them, that run at another rate."""
        return {"LD_PRELOAD": self.library(), "FAKETIME": f"{shift:+d} x{rate}"}

    def set(self, name, shift):
        path = f"{self.folder}/{name}.clock"
        with open(path + ".new", "w") as file:
            file.write(f"{shift:+d}\n")
        os.chmod(path + ".new", 0o644)
        os.replace(path + ".new", path)


class Server:
    """A PostgreSQL server of scripts/with-postgres."""

    def __init__(self):
        self.url = os.environ["PUNCTUAL_TEST_POSTGRES"]
        self.ports = [int(self.url.rsplit(":", 1)[1].split("/")[0])]
        self.data = os.environ["TEST_POSTGRES_DATA"]

    def control(self, *words):
        command = [f"{os.environ['TEST_POSTGRES_BIN']}/pg_ctl", "-D", self.data, "-l", f"{self.data}/server.log", "-w"]
        if os.geteuid() == 0:
            command = ["runuser", "-u", "postgres", "--"] + command
        subprocess.run([*command, *words], check=True, stdout=subprocess.DEVNULL)

    def restart(self):
        self.control("-m", "fast", "restart")

    def crash(self):
        self.control("-m", "immediate", "stop")

    def start(self):
        self.control("start")

    def end(self):
        """scripts/with-postgres stops it."""

    @contextlib.contextmanager
    def frozen(self):
        """All of its processes stand still: connections live, and nothing is answered."""
        with open(f"{self.data}/postmaster.pid") as file:
            postmaster = int(file.readline())
        stopped = []
        # The one that makes others first.
        for process in [postmaster, *children(postmaster)]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGSTOP)
                stopped.append(process)
        try:
            yield
        finally:
            for process in stopped:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(process, signal.SIGCONT)


def children(parent):
    with open(f"/proc/{parent}/task/{parent}/children") as file:
        return [int(number) for number in file.read().split()]
