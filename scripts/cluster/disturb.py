"""Runs jobs on three nodes and disturbs them. Called by scripts/chaos.

Usage: disturb.py BINARY FOLDER FORM, where the form is short, long or patroni.
"""

import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
import urllib.error

import jobs
from nodes import COLLECTION, GROUP, VERSION, Node, call_any
from trouble import Clocks, Cuts, Server, Troubles, say

HERE = os.path.dirname(os.path.abspath(__file__))

# How long things go wrong, in seconds, and how many occurrences fall into that time.
FORMS = {"short": (74, 1_500), "long": (360, 20_000), "patroni": (50, 1_000)}

# How many jobs are changed shortly before they are due.
EDITED = 40

# How long before its time a job is written that is written while things go wrong, and how long an answer is waited for.
AHEAD = 22
PATIENCE = 20

# Seconds. Twice a lease, and a bit more.
LONG_ENOUGH = 7


def look(nodes):
    """What the nodes say of themselves before anything happens to them."""
    for node in nodes:
        ready = node.call("GET", "/readyz")
        assert ready["node"]["name"] == node.name and ready["node"]["state"] == "alive", ready
        listed = [other["name"] for other in node.call("GET", "/api/nodes")["value"]]
        assert listed == [other.name for other in nodes], listed
    try:
        nodes[0].call("POST", "/api/backup")
        raise AssertionError("a database was copied")
    except urllib.error.HTTPError as error:
        text = error.read().decode()
        assert error.code == 409 and "pg_dump" in text, (error.code, text)


def look_at_clocks(nodes, shifts):
    """Each node tells how far the database's clock is ahead of its machine's."""
    end = time.monotonic() + 60
    while True:
        told = {node["name"]: node["clockOffsetMilliseconds"] for node in call_any(nodes, "GET", "/api/nodes")["value"]}
        wrong = {name: told.get(name) for name, shift in shifts.items() if abs(told.get(name, 0) + 1000 * shift) > 3_000}
        if not wrong:
            say(f"clocks are off by, in ms: {told}")
            return
        if time.monotonic() > end:
            raise SystemExit(f"the nodes tell other shifts than they have ({shifts} s): {wrong} ms")
        time.sleep(0.2)


class Editor(threading.Thread):
    """Changes jobs shortly before they are due, each through whichever node is at hand."""

    def __init__(self, nodes, port, folder, edits):
        super().__init__(daemon=True)
        self.nodes, self.port, self.edits = nodes, port, edits
        self.log = open(f"{folder}/edits", "w", buffering=1)

    def run(self):
        for name, due in self.edits:
            time.sleep(max(0, due - 1.0 - time.time()))
            action = jobs.properties(self.port, "new", name, due)["action"]
            shuffled = random.sample(self.nodes, len(self.nodes))
            line = {"job": name, "due": due}
            try:
                call_any(shuffled, "PATCH", jobs.path_of(name), {"properties": {"action": action}}, patience=1, until=5)
                line["changed"] = time.time()
            except RuntimeError as error:
                # Too late: it has run and is completed, which is a conflict.
                line["refused"] = str(error)[:200]
            self.log.write(json.dumps(line) + "\n")


class Writer(threading.Thread):
    """Writes jobs through one node while things go wrong, and notes what was answered."""

    def __init__(self, node, port, folder, until):
        super().__init__(daemon=True)
        self.node, self.port, self.until = node, port, until
        self.log = open(f"{folder}/answers", "a", buffering=1)
        self.promised, self.unsure = [], []

    def run(self):
        i = 0
        while time.time() < self.until:
            i += 1
            name, asked = f"{self.node.name}-w{i}", time.time()
            due = round(asked + AHEAD, 3)
            body = {"properties": jobs.properties(self.port, "run", name, due)}
            status, retry_after = 200, None
            try:
                self.node.call("PUT", jobs.path_of(name), body, patience=PATIENCE)
                self.promised.append({"job": name, "kind": "run", "due": due})
            except urllib.error.HTTPError as error:
                status, retry_after = error.code, error.headers.get("Retry-After")
                # A commit may have been under way: "look whether it is there".
                self.unsure.append(name)
            except OSError as error:
                if isinstance(getattr(error, "reason", error), ConnectionRefusedError):
                    status = None
                else:
                    status = 0
                    self.unsure.append(name)
            if status:
                line = {"node": self.node.name, "asked": asked, "at": time.time(), "status": status}
                self.log.write(json.dumps(line | {"retryAfter": retry_after}) + "\n")
            time.sleep(0.25)


class Story:
    """What goes wrong, step by step. A step that takes long moves all later ones."""

    def __init__(self, nodes, server, target, folder):
        self.nodes, self.server, self.target = nodes, server, target
        self.troubles = Troubles(folder)
        self.clocks = Clocks(folder)
        self.cuts = Cuts(nodes) if Cuts.are_possible(nodes) else None

    def end(self):
        if self.cuts:
            self.cuts.end()

    def killed(self, node, seconds=LONG_ENOUGH):
        with self.troubles.of("is killed", node):
            node.kill()
            time.sleep(seconds)
            node.start()

    def stopped(self, node, seconds=LONG_ENOUGH):
        with self.troubles.of(f"stands still for {seconds} s", node):
            node.send(signal.SIGSTOP)
            time.sleep(seconds)
            node.send(signal.SIGCONT)

    def cut_off(self, node, seconds=LONG_ENOUGH):
        if self.cuts:
            with self.troubles.of("is cut off from the database", node), self.cuts.between(node, self.server.ports):
                time.sleep(seconds)

    def unheard(self, node, seconds=LONG_ENOUGH):
        """Half open: the database hears the node, and answers, and the answers vanish."""
        if self.cuts:
            what = "is cut off from the database: only answers vanish"
            with self.troubles.of(what, node), self.cuts.between(node, self.server.ports, ["sport"]):
                time.sleep(seconds)

    def cut_off_from_target(self, node, seconds=5):
        if self.cuts:
            with self.troubles.of("is cut off from the target", node), self.cuts.between(node, [self.target]):
                time.sleep(seconds)

    def jumps(self, node, shift):
        """The machine's clock is set; the monotonic one goes on."""
        if node.clock:
            say(f"{node.name}: its clock is set to {shift:+d} s")
            self.clocks.set(node.name, shift)
            look_at_clocks(self.nodes, {node.name: shift})

    def suspended(self, node, seconds=LONG_ENOUGH):
        """As a virtual machine is: it stands still, and its clocks, but the one since boot, do not know."""
        if node.clock:
            with self.troubles.of(f"is suspended, and stands still for {seconds} s", node):
                node.send(signal.SIGSTOP)
                time.sleep(seconds)
                self.clocks.set(node.name, -seconds)
                node.send(signal.SIGCONT)

    def restarted(self, node):
        with self.troubles.of("gets SIGTERM, and is started again", node):
            node.send(signal.SIGTERM)
            node.process.wait()
            node.start()

    def database_away(self, seconds=LONG_ENOUGH):
        with self.troubles.of("the database is away: it crashed"):
            self.server.crash()
            time.sleep(seconds)
            self.server.start()

    def database_restarts(self):
        with self.troubles.of("the database is restarted"):
            self.server.restart()

    def database_frozen(self, seconds=LONG_ENOUGH):
        with self.troubles.of("the database is frozen"), self.server.frozen():
            time.sleep(seconds)

    def two_lost(self, one, other):
        with self.troubles.of("is killed", one), self.troubles.of("stands still for 5 s", other):
            one.kill()
            other.send(signal.SIGSTOP)
            time.sleep(5)
            other.send(signal.SIGCONT)
            one.start()

    def killed_while_database_is_away(self, node):
        with self.troubles.of("the database is away: it crashed, and a node is killed meanwhile"):
            self.server.crash()
            time.sleep(3)
            with self.troubles.of("is killed", node):
                node.kill()
                time.sleep(4)
                self.server.start()
                time.sleep(5)
            node.start()


def short(story, wait):
    """The clocks of the three: see `clocks_of`."""
    suspended, jumping, fast = story.nodes
    wait(2)
    story.killed(fast, 6)
    wait(10)
    story.stopped(jumping, 6)
    wait(18)
    story.cut_off(fast, 6)
    wait(26)
    story.jumps(jumping, +420)
    story.unheard(jumping, 6)
    wait(35)
    story.database_away(6)
    wait(52)
    story.suspended(suspended, 6)
    story.jumps(jumping, -180)
    wait(62)
    story.restarted(fast)
    wait(74)


def long(story, wait):
    for minute in range(6):
        suspended, jumping, fast = story.nodes
        one, other, third = random.sample(story.nodes, 3)
        start = 60 * minute
        wait(start + 3)
        if minute % 2 == 0:
            story.killed(one)
            wait(start + 14)
            story.stopped(other)
            wait(start + 25)
            story.cut_off(third)
            wait(start + 36)
            story.unheard(one)
            wait(start + 46)
            [story.cut_off_from_target, story.database_frozen, story.two_lost][minute // 2](
                *[[other], [], [other, third]][minute // 2]
            )
        else:
            story.jumps(jumping, random.choice([-1, 1]) * 120)
            [story.database_away, story.database_restarts, story.killed_while_database_is_away][minute // 2](
                *[[10], [], [fast]][minute // 2]
            )
            wait(start + 24)
            story.suspended(suspended)
            story.jumps(jumping, random.choice([-1, 1]) * 300)
            wait(start + 36)
            story.killed(fast)
            wait(start + 46)
            story.restarted(one)
    wait(360)


def patroni(story, wait):
    """With a server that is three, one of which leads."""
    one = story.nodes[0]
    wait(3)
    with story.troubles.of("the database's leader is killed"):
        story.server.kill_leader()
    wait(26)
    with story.troubles.of("the database's leader changes"):
        story.server.switch_over()
    wait(38)
    story.killed(one)
    wait(50)


def clocks_of(folder):
    """The clock of each node, and what the checker has to know of it."""
    if os.geteuid() != 0 or Clocks.library() is None:
        say("faketime is missing, or root: clocks are left alone")
        return [({}, "right")] * 3
    clocks = Clocks(folder)
    return [
        (clocks.settable("node-1", monotonic=True, shift=0), "shifted"),
        (clocks.settable("node-2", monotonic=False, shift=180), "shifted"),
        (clocks.running(-240, 1.01), "fast"),
    ]


def main():
    binary, folder, form = sys.argv[1:]
    seconds, occurrences = FORMS[form]
    seed = int(os.environ.get("CHAOS_SEED", time.time()))
    random.seed(seed)
    say(f"CHAOS_SEED={seed}")
    if form == "patroni":
        from patroni import Patroni

        server = Patroni(folder)
    else:
        server = Server()
    target = subprocess.Popen([sys.executable, f"{HERE}/target.py", f"{folder}/calls"], stdout=subprocess.PIPE, text=True)
    port = int(target.stdout.readline())
    stalls = subprocess.Popen([sys.executable, f"{HERE}/stalls.py", f"{folder}/stalls"])
    first_user = random.randrange(100_000, 1_000_000, 10) if os.geteuid() == 0 else None
    nodes, known = [], []
    for i, (clock, kind) in enumerate(clocks_of(folder) if form != "patroni" else [({}, "right")] * 3, 1):
        user = first_user and first_user + i
        nodes.append(Node(binary, f"node-{i}", folder, server.url, user, clock))
        known.append({"name": f"node-{i}", "user": user, "clock": kind})
    story = Story(nodes, server, port, folder)
    if not story.cuts:
        say("root or nft is missing: no connection is cut")
    try:
        for node in nodes:
            node.start()
        look(nodes)
        if nodes[0].clock:
            look_at_clocks(nodes, {"node-1": 0, "node-2": 180, "node-3": -240})
        call_any(nodes, "PUT", f"{GROUP}?{VERSION}", {"location": "local"})
        premium = {"location": "local", "properties": {"sku": {"name": "P20Premium"}}}
        call_any(nodes, "PUT", f"{COLLECTION}?{VERSION}", premium)

        # They begin when all are there.
        count = len(jobs.planned(0, seconds, occurrences)) + EDITED
        began = time.time() + 8 + 2 * count * jobs.time_for_one(nodes, port)
        planned = jobs.planned(began, seconds, occurrences)
        edits = [(f"e{i}", round(began + 4 + i * (seconds - 8) / EDITED, 3)) for i in range(EDITED)]
        planned += [(name, "old", due, 1) for name, due in edits]
        say(f"importing {count} jobs through three nodes; the first is due in {began - time.time():.0f} s")
        jobs.store(nodes, port, planned)
        left = began - time.time()
        say(f"all are accepted, the first is due in {left:.1f} s")
        if left < 0:
            raise SystemExit("writing took longer than planned; this machine is too busy to tell anything")
        time.sleep(left)

        editor = Editor(nodes, port, folder, edits)
        writers = [Writer(node, port, folder, began + seconds - AHEAD - 3) for node in nodes]
        for thread in [editor, *writers]:
            thread.start()
        tell(form, story, began)
        for thread in [editor, *writers]:
            thread.join()
        for node in call_any(nodes, "GET", "/api/nodes")["value"]:
            say(f"{node['name']}: {node['state']}, epoch {node['epoch']}, {node['claims']} claims")
        promised = jobs.promised(planned) + [promise for writer in writers for promise in writer.promised]
        unsure = [name for writer in writers for name in writer.unsure]
        with open(f"{folder}/promised", "w") as file:
            json.dump({"promised": promised, "unsure": unsure, "nodes": known}, file)
        stalls.terminate()
        stalls.wait()
        ports = [str(node.port) for node in nodes]
        sys.exit(subprocess.run([sys.executable, f"{HERE}/check.py", folder, *ports]).returncode)
    finally:
        story.end()
        for node in nodes:
            node.end()
        target.kill()
        stalls.kill()
        server.end()
        keep = os.environ.get("CHAOS_LOGS")
        if keep:
            subprocess.run(["cp", "-r", folder, keep], check=False)


def tell(form, story, began):
    def wait(until):
        time.sleep(max(0, began + until - time.time()))

    {"short": short, "long": long, "patroni": patroni}[form](story, wait)


if __name__ == "__main__":
    main()
