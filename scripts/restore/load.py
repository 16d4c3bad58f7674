"""The load under which backups are taken, and the logs of what was promised.

Jobs by name: `m…` run every minute, `j…` once at a time of their own, `w…` once, as soon as they are written, and `e…` are
written, changed and deleted again and again and never run. Every version of an `e…` has a number of its own.
"""

import itertools
import json
import random
import threading
import time
import urllib.error

from jobs import instant
from nodes import COLLECTION, GROUP, VERSION

# Jobs that run every minute, and occurrences of jobs that run once, a second.
RECURRING = 240
ONCE_A_SECOND = 25

# Of jobs that run, how their target answers.
KINDS = ["run"] * 7 + ["slow", "flaky", "fail"]

POLICIES = ["last", "none", {"policy": "all", "max": 10}]

WRITERS = 3
EDITED = 8

# Jobs of one import.
BATCH = 200


def path_of(name):
    return f"{COLLECTION}/jobs/{name}?{VERSION}"


def properties(port, kind, name, due=None, version=0, policy=None):
    retries = {"retryType": "fixed", "retryInterval": "PT1S", "retryCount": 2}
    body = {
        "action": {
            "type": "Http",
            "request": {"uri": f"http://127.0.0.1:{port}/{kind}/{name}?version={version}", "method": "POST", "body": "x"},
            "retryPolicy": retries if kind == "flaky" else {"retryType": "none"},
        }
    }
    if due is not None:
        body["startTime"] = instant(due)
    if policy is not None:
        body |= {"recurrence": {"frequency": "minute", "interval": 1}, "catchUp": policy}
    return body


class Job:
    """A job that runs, as it was promised."""

    def __init__(self, name, kind, due=None, policy=None):
        self.name, self.kind, self.due, self.policy = name, kind, due, policy


def planned(began, seconds):
    """The jobs that are there before anything happens. Whole milliseconds, which all formats keep."""
    jobs = [
        Job(f"m{i}", KINDS[i % len(KINDS)], round(began + 60 * i / RECURRING, 3), POLICIES[i % len(POLICIES)])
        for i in range(RECURRING)
    ]
    # Some are due after the load has ended: nobody ever claimed those.
    for i in range(int((seconds + 4) * ONCE_A_SECOND)):
        jobs.append(Job(f"j{i}", KINDS[i % len(KINDS)], round(began + i / ONCE_A_SECOND, 3)))
    return jobs


def store(node, port, jobs):
    node.call("PUT", f"{COLLECTION}?{VERSION}", {"location": "Local", "properties": {"sku": {"name": "P20Premium"}}})
    for start in range(0, len(jobs), BATCH):
        resources = [
            {
                "type": "Microsoft.Scheduler/jobCollections/jobs",
                "name": f"c/{job.name}",
                "apiVersion": "2016-03-01",
                "properties": properties(port, job.kind, job.name, job.due, policy=job.policy),
            }
            for job in jobs[start : start + BATCH]
        ]
        template = {
            "$schema": "https://schema.management.azure.com/schemas/2015-01-01/deploymentTemplate.json#",
            "contentVersion": "1.0.0.0",
            "resources": resources,
        }
        group = GROUP.rsplit("/", 1)[1]
        node.call("POST", f"/api/import?subscription=s&group={group}", template, patience=120)


class Writer(threading.Thread):
    """Writes, changes and deletes, one after the other, and notes when it asked and when it was answered."""

    def __init__(self, number, nodes, port):
        super().__init__(daemon=True)
        self.number, self.nodes, self.port = number, nodes, port
        self.changes, self.over = [], False

    def run(self):
        edited, there = 0, set()
        for i in itertools.count():
            if self.over:
                return
            name = f"e{self.number}-{edited % EDITED}"
            if i % 3 == 0:
                # A new one, that runs at once.
                self.change("PUT", f"w{self.number}-{i}", "run")
            elif name in there and random.random() < 0.3:
                self.change("DELETE", name)
                there.discard(name)
                edited += 1
            else:
                self.change("PUT", name, "old", time.time() + 30 * 86_400, version=i)
                there.add(name)
                edited += 1

    def change(self, method, name, kind=None, due=None, version=0):
        body = {"properties": properties(self.port, kind, name, due, version)} if method == "PUT" else None
        change = {"name": name, "version": version if body else None, "asked": time.time(), "answered": None}
        self.changes.append(change)
        node = self.nodes[len(self.changes) % len(self.nodes)]
        try:
            node.call(method, path_of(name), body)
            change["answered"] = time.time()
        except urllib.error.HTTPError as error:
            raise SystemExit(f"{method} {name}: {error.code} {error.read()}") from error
        except (OSError, ValueError):
            # It was killed before it answered: nobody knows.
            self.over = True


class Reader(threading.Thread):
    """Reads the newest of the ledger again and again; `seen` has when an entry was seen first, by its tag."""

    def __init__(self, node):
        super().__init__(daemon=True)
        self.node, self.seen, self.over = node, {}, False

    def run(self):
        while not self.over:
            try:
                entries = self.node.call("GET", "/api/ledger?top=300")["value"]
            except (OSError, ValueError):
                return
            answered = time.time()
            for entry in entries:
                if "executionTag" in entry:
                    self.seen.setdefault(entry["executionTag"], answered)
            time.sleep(0.1)


class Load:
    """All of it, while it lasts."""

    def __init__(self, nodes, port):
        self.writers = [Writer(i, nodes, port) for i in range(WRITERS)]
        self.reader = Reader(nodes[0])

    def start(self):
        for thread in [*self.writers, self.reader]:
            thread.start()

    def end(self):
        """After the nodes were killed."""
        for thread in [*self.writers, self.reader]:
            thread.over = True
            thread.join()

    def changes(self):
        return [change for writer in self.writers for change in writer.changes]


def calls(path):
    with open(path) as log:
        return [json.loads(line) for line in log]
