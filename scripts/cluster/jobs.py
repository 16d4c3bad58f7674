"""The jobs of a run: what is written, and which occurrences that promises.

An occurrence is promised from the moment at which the API has said yes. Where nobody knows what it would have said,
because the answer got lost, it may come or not.
"""

import datetime
import random
import time
from concurrent.futures import ThreadPoolExecutor

from nodes import COLLECTION, VERSION, call_any

# Jobs of one import.
BATCH = 250

# Of one hundred jobs that run once, so many are of each kind.
KINDS = ["slow"] * 15 + ["flaky"] * 5 + ["fail"] * 5 + ["run"] * 75


def instant(at):
    return datetime.datetime.fromtimestamp(at, datetime.UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def properties(port, kind, name, due, repeats=1):
    """What a job says. `repeats` is how many minutes it comes again."""
    url = f"http://127.0.0.1:{port}"

    def call(path, retries):
        policy = {"retryType": "fixed", "retryInterval": "PT1S", "retryCount": 3} if retries else {"retryType": "none"}
        return {
            "type": "Http",
            "request": {"uri": f"{url}/{path}/{name}", "method": "POST", "body": "x"},
            "retryPolicy": policy,
        }

    action = call(kind, kind == "flaky")
    if kind == "fail":
        action["errorAction"] = call("mend", False)
    properties = {"startTime": instant(due), "action": action}
    if repeats > 1:
        properties["recurrence"] = {"frequency": "minute", "interval": 1, "count": repeats}
    return properties


def planned(began, seconds, occurrences):
    """Jobs for so many occurrences: name, kind, first due, repeats. Most are of jobs that recur, where there is time."""
    repeats = seconds // 60
    recurring = 9 * occurrences // 10 // repeats if repeats > 1 else 0
    jobs = []
    for i in range(recurring):
        due = began + random.random() * 58
        jobs.append((f"m{i}", random.choice(["run", "run", "slow"]), due, repeats))
    for i in range(occurrences - recurring * repeats):
        jobs.append((f"j{i}", KINDS[i % 100], began + random.random() * (seconds - 2), 1))
    # Whole milliseconds, which all formats keep.
    return [(name, kind, round(due, 3), repeats) for name, kind, due, repeats in jobs]


def promised(jobs):
    return [
        {"job": name, "kind": kind, "due": round(due + 60 * i, 3)}
        for name, kind, due, repeats in jobs
        for i in range(repeats)
    ]


def time_for_one(nodes, port):
    """How long this machine takes for one job of an import; with jobs that have no part in the run."""
    began = time.time()
    trial = [(f"trial-{i}", "run", began + 86_400, 1) for i in range(150)]
    store(nodes, port, trial, 50)
    return (time.time() - began) / len(trial)


def store(nodes, port, jobs, batch=BATCH):
    """Imports all of them, through all nodes at once."""
    batches = [jobs[i : i + batch] for i in range(0, len(jobs), batch)]

    def write(numbered):
        i, batch = numbered
        resources = [
            {
                "type": "Microsoft.Scheduler/jobCollections/jobs",
                "name": f"c/{name}",
                "apiVersion": "2016-03-01",
                "properties": properties(port, kind, name, due, repeats),
            }
            for name, kind, due, repeats in batch
        ]
        template = {
            "$schema": "https://schema.management.azure.com/schemas/2015-01-01/deploymentTemplate.json#",
            "contentVersion": "1.0.0.0",
            "resources": resources,
        }
        turn = nodes[i % len(nodes) :] + nodes[: i % len(nodes)]
        call_any(turn, "POST", "/api/import?subscription=s&group=chaos", template, patience=120, until=240)

    with ThreadPoolExecutor(len(nodes)) as writers:
        list(writers.map(write, enumerate(batches)))


def path_of(name):
    return f"{COLLECTION}/jobs/{name}?{VERSION}"
