"""Runs jobs on three nodes and disturbs them. Called by scripts/chaos."""

import datetime
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
import urllib.error
from concurrent.futures import ThreadPoolExecutor

from nodes import COLLECTION, GROUP, VERSION, Node, call_any
from target import Target

# Occurrences per second, and how many jobs are changed shortly before they are due.
RATE = 15
EDITED = 40


def say(text):
    print(f"{time.strftime('%H:%M:%S')} {text}", flush=True)


def instant(at):
    return datetime.datetime.fromtimestamp(at, datetime.UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def job(port, path, due):
    request = {"uri": f"http://127.0.0.1:{port}/{path}", "method": "POST", "body": "x"}
    action = {"type": "Http", "request": request, "retryPolicy": {"retryType": "none"}}
    return {"properties": {"startTime": instant(due), "action": action}}


def restart_database():
    command = [f"{os.environ['TEST_POSTGRES_BIN']}/pg_ctl", "-D", os.environ["TEST_POSTGRES_DATA"]]
    command += ["-l", os.environ["TEST_POSTGRES_DATA"] + "/server.log", "-m", "fast", "-w", "restart"]
    if os.geteuid() == 0:
        command = ["runuser", "-u", "postgres", "--"] + command
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def edit(nodes, port, folder, edits):
    """Changes jobs shortly before they are due, each through whichever node is at hand."""
    log = open(f"{folder}/edits", "w", buffering=1)
    for name, due in edits:
        time.sleep(max(0, due - 1.0 - time.time()))
        body = job(port, f"new/{name}", due)
        del body["properties"]["startTime"]
        shuffled = random.sample(nodes, len(nodes))
        path = f"{COLLECTION}/jobs/{name}?{VERSION}"
        try:
            call_any(shuffled, "PATCH", path, body, patience=1, until=5)
        except RuntimeError as error:
            # Too late: it has run and is completed, which is a conflict.
            log.write(json.dumps({"job": name, "refused": str(error)[:200]}) + "\n")
            continue
        log.write(json.dumps({"job": name, "changed": time.time(), "due": due}) + "\n")


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


def disturb(nodes, seconds):
    """What goes wrong, minute by minute. A step that takes long moves all later ones."""
    last = 0

    def wait(at):
        nonlocal last
        time.sleep(max(0, at - last))
        last = at

    for start in range(0, seconds, 60):
        first, second, third = random.sample(nodes, 3)
        wait(start + 6)
        say(f"kill -9 {first.name}")
        first.kill()
        wait(start + 13)
        say(f"start {first.name}")
        first.start()
        wait(start + 18)
        say(f"stop {second.name} for 6 seconds, twice its lease")
        second.send(signal.SIGSTOP)
        wait(start + 24)
        second.send(signal.SIGCONT)
        wait(start + 30)
        say("restart the database")
        restart_database()
        wait(start + 40)
        say(f"kill -9 {third.name}, stop {first.name} for 5 seconds: one node is left")
        third.kill()
        first.send(signal.SIGSTOP)
        wait(start + 45)
        first.send(signal.SIGCONT)
        wait(start + 48)
        say(f"start {third.name}")
        third.start()
        wait(start + 52)
        say(f"SIGTERM {second.name}, and start it again")
        second.send(signal.SIGTERM)
        second.process.wait()
        second.start()


def main():
    binary, folder, minutes, checker = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4]
    random.seed(20270101)
    target = Target(f"{folder}/calls")
    nodes = [Node(binary, f"node-{i}", folder) for i in (1, 2, 3)]
    try:
        for node in nodes:
            node.start()
        look(nodes)
        seconds = 60 * minutes
        call_any(nodes, "PUT", f"{GROUP}?{VERSION}", {"location": "local"})
        premium = {"location": "local", "properties": {"sku": {"name": "P20Premium"}}}
        call_any(nodes, "PUT", f"{COLLECTION}?{VERSION}", premium)
        count = RATE * seconds
        # Writing them takes a while; they begin when all are there.
        began = time.time() + 15 + count / 20
        jobs = {f"j{i}": began + random.random() * (seconds - 2) for i in range(count)}
        edits = [(f"e{i}", began + 4 + i * (seconds - 8) / EDITED) for i in range(EDITED)]
        say(f"writing {len(jobs) + len(edits)} jobs through three nodes")

        def write(numbered):
            i, (name, due) = numbered
            turn = nodes[i % 3 :] + nodes[: i % 3]
            kind = "old" if name.startswith("e") else "run"
            call_any(turn, "PUT", f"{COLLECTION}/jobs/{name}?{VERSION}", job(target.port, f"{kind}/{name}", due))

        with ThreadPoolExecutor(6) as writers:
            list(writers.map(write, enumerate([*jobs.items(), *edits])))
        with open(f"{folder}/accepted", "w") as accepted:
            json.dump({**jobs, **dict(edits)}, accepted)
        left = began - time.time()
        say(f"all are accepted, the first is due in {left:.1f} s")
        if left < 0:
            raise SystemExit("writing took longer than planned; this machine is too busy to tell anything")
        editor = threading.Thread(target=edit, args=(nodes, target.port, folder, edits), daemon=True)
        editor.start()
        time.sleep(left)
        disturb(nodes, seconds)
        editor.join()
        for node in call_any(nodes, "GET", "/api/nodes")["value"]:
            say(f"{node['name']}: {node['state']}, epoch {node['epoch']}, {node['claims']} claims")
        ports = [str(node.port) for node in nodes]
        sys.exit(subprocess.run([sys.executable, checker, folder, *ports]).returncode)
    finally:
        for node in nodes:
            if node.process and node.process.poll() is None:
                node.send(signal.SIGCONT)
                node.kill()
        keep = os.environ.get("CHAOS_LOGS")
        if keep:
            subprocess.run(["cp", "-r", f"{folder}/.", keep], check=False)


main()
