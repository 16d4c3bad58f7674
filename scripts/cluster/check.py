"""Judges a run of scripts/chaos by what the target was called with and what the ledger says.

Every occurrence that was accepted is in the ledger once. What the ledger says was run, the target was called for; it was
called again only with the same tag, and only where something had happened to the node that called first; and then the
settlement that counts is that of the last call. A node that had lost its lease called nothing. What was changed in time
was not called with its old definition. Nothing came early. While the database was away, the API said so.

Bounds of time are those of the protocol. What the machine itself kept its programs waiting meanwhile is measured by
stalls.py, and does not count.

Usage: check.py FOLDER PORT...
"""

import datetime
import json
import sys
import time
import urllib.request
from collections import Counter, defaultdict

from stalls import Stalls

LEDGER = "/api/ledger?subscription=s&resourceGroup=chaos&jobCollection=c&top=500"

# How long a lease holds without a heartbeat, and how long after its beginning a call may reach the target.
LEASE = 3.0
ON_THE_WAY = 0.5

# How long after a trouble its consequences last: a lease, a heartbeat, and calls that wait for their turn.
AFTERMATH = 8.0

# The added lateness of what a lost node had, in seconds without stalls of the machine: 99 of 100.
TAKE_OVER = 5.0

# How early a call may be. A clock that runs one percent fast gains thirty milliseconds within a lease.
EARLY = 0.001
EARLY_FAST = 0.03


class Run:
    """What is known of a run."""

    def __init__(self, promised, calls, entries, edits=(), troubles=(), answers=(), nodes=(), unsure=(), stalls=()):
        self.promised = promised
        self.calls = sorted(calls, key=lambda call: call["at"])
        self.entries = entries
        self.edits = list(edits)
        self.troubles = list(troubles)
        self.answers = list(answers)
        self.nodes = {node["user"]: node for node in nodes if node["user"] is not None}
        self.unsure = set(unsure)
        self.stalls = Stalls(stalls)

    def node_of(self, call):
        node = self.nodes.get(call.get("user"))
        return node and node["name"]

    def troubles_of(self, node):
        """What happened to a node, or to all. Whose call came from a socket without owner, it is dead."""
        return [trouble for trouble in self.troubles if node is None or trouble["node"] in (node, None)]


def job_of(entry):
    return entry["job"].rsplit("/", 1)[1]


def kind_of(call):
    return call["path"].split("/")[1]


def seconds(text):
    """An instant of the API, of which the last of seven digits means nothing here."""
    whole, _, fraction = text.rstrip("Z").partition(".")
    at = datetime.datetime.fromisoformat(whole).replace(tzinfo=datetime.UTC).timestamp()
    return at + float(f"0.{fraction or 0}")


def percentile(values, share):
    values = sorted(values)
    return values[min(len(values) - 1, int(share * len(values)))] if values else 0.0


def judge(run):
    """The faults, and the lines of the table."""
    faults = []
    by_occurrence = defaultdict(list)
    for entry in run.entries:
        by_occurrence[job_of(entry), round(seconds(entry["dueTime"]), 3)].append(entry)
    called = defaultdict(list)
    for call in run.calls:
        called[call["path"].rsplit("/", 1)[1], call["tag"]].append(call)

    lost, late, early = 0, [], []
    repeated, taken_over = [], []
    for promise in run.promised:
        name, due = promise["job"], promise["due"]
        found = by_occurrence.pop((name, due), [])
        if len(found) != 1:
            lost += not found
            faults.append(f"{name}, due {due:.3f}: {len(found)} entries in the ledger: {found}")
            continue
        entry = found[0]
        got = called.pop((name, entry.get("executionTag")), [])
        faults += fate(promise, entry, got)
        if not got:
            continue
        if is_early(run, got[0], due):
            early.append(due - got[0]["at"])
            faults.append(f"{name}: called {due - got[0]['at']:.4f} s early by {run.node_of(got[0])}")
        lateness = got[0]["at"] - due
        late.append(lateness)
        if lateness > 0.5 and is_lost_node(run, due):
            taken_over.append((due, got[0]["at"]))
        again = repetitions(in_order(run, promise, got))
        if again:
            repeated.append(name)
        for first, second in again:
            cause = explanation(run, first, second)
            if cause is None:
                faults.append(f"{name}: called twice, and nothing had happened to {run.node_of(first)}: {first}, {second}")
            elif not is_of_all(cause):
                taken_over.append((max(due, cause["from"]), second["at"]))
        faults += settled_by_successor(run, promise, entry, again)
        faults += woken(run, promise, again)
    for (name, due), found in by_occurrence.items():
        if name not in run.unsure:
            faults.append(f"{name}, due {due:.3f}: in the ledger, but never accepted: {found}")
        for entry in found:
            called.pop((name, entry.get("executionTag")), None)
    for (name, tag), got in called.items():
        faults.append(f"{name}: called with the tag {tag}, which the ledger does not have: {got}")
    faults += [*fenced(run), *overtaken_edits(run), *answers(run)]
    took = [until - since for since, until in taken_over]
    by_protocol = [until - since - run.stalls.within(since, until) for since, until in taken_over]
    if percentile(by_protocol, 0.99) >= TAKE_OVER:
        faults.append(
            f"take-over took {percentile(took, 0.99):.2f} s (p99), {percentile(by_protocol, 0.99):.2f} s of it without "
            f"stalls of the machine; {TAKE_OVER:.0f} s are allowed"
        )

    states = Counter(entry["state"] for entry in run.entries)
    away = [answer for answer in run.answers if answer["status"] == 503]
    changed = [edit for edit in run.edits if edit.get("changed", edit["due"]) < edit["due"]]
    table = [
        ("occurrences", f"{len(run.promised)}"),
        ("entries in the ledger", ", ".join(f"{count} {state}" for state, count in sorted(states.items()))),
        ("calls", f"{len(run.calls)}"),
        ("repeated in flight", f"{len(repeated)}, with equal tags"),
        ("changed before due", f"{len(changed)} of {len(run.edits)}"),
        ("answers while the database was away", f"{len(away)} with 503 and Retry-After"),
        ("lateness", f"p50 {percentile(late, 0.5) * 1000:.1f} ms, p99 {percentile(late, 0.99):.2f} s"),
        (
            "take-over",
            f"{len(took)}: p50 {percentile(took, 0.5):.2f} s, p99 {percentile(took, 0.99):.2f} s, "
            f"max {max(took, default=0):.2f} s; without stalls p99 {percentile(by_protocol, 0.99):.2f} s",
        ),
        ("stalls of the machine", f"{sum(tick['lost'] for tick in run.stalls.ticks):.2f} s, {run.stalls.worst():.2f} s at once"),
        ("early", f"{len(early)}"),
        ("lost", f"{lost}"),
    ]
    return faults, table


def fate(promise, entry, got):
    """What the ledger says, and what the target knows of it."""
    name, kind, state = promise["job"], promise["kind"], entry["state"]
    if state in ("ran", "ranLate"):
        if kind == "fail":
            yield f"{name}: its target fails always, and the ledger says {state}"
        elif not got:
            yield f"{name}: the ledger says {state}, and it was never called"
        elif all(call["status"] != 200 for call in got):
            yield f"{name}: the ledger says {state}, and no call of it went well"
    elif state == "faulted" and kind == "fail":
        for path in ("fail", "mend"):
            if not any(kind_of(call) == path for call in got):
                yield f"{name}: the ledger says {state}, and {path} was never called"
    else:
        yield f"{name}: {entry}"


def is_early(run, call, due):
    node = run.nodes.get(call.get("user"), {})
    allowed = EARLY_FAST if node.get("clock") == "fast" else EARLY
    return call["at"] < due - allowed


def in_order(run, promise, got):
    """Calls in the order in which they were begun, as far as that is known.

    What was due before a node stood still may have been begun before, and reached the target after another node had taken
    it over and called.
    """

    def begun(call):
        for trouble in run.troubles:
            woke = "stands still" in trouble["what"] and trouble["node"] == run.node_of(call)
            arrived = 1 + run.stalls.within(trouble["until"], call["at"])
            if woke and promise["due"] <= trouble["from"] < trouble["until"] <= call["at"] < trouble["until"] + arrived:
                return trouble["from"]
        return call["at"]

    return sorted((call | {"begun": begun(call)} for call in got), key=lambda call: call["begun"])


def repetitions(got):
    """Pairs of calls of which the second was not asked for by the outcome of the first."""
    pairs = []
    for kind in {kind_of(call) for call in got}:
        same = [call for call in got if kind_of(call) == kind]
        pairs += [(first, second) for first, second in zip(same, same[1:]) if first["status"] == 200 or kind in ("fail", "mend")]
    return pairs


def is_of_all(trouble):
    return trouble["node"] is None


def explanation(run, first, second):
    """What happened to the node that called first, between its call and the second; what happened to all before all."""
    causes = [
        trouble
        for trouble in run.troubles_of(run.node_of(first))
        if trouble["from"] < second["at"]
        and first["at"] < trouble["until"] + AFTERMATH + run.stalls.within(trouble["until"], first["at"])
    ]
    return min(causes, key=lambda trouble: not is_of_all(trouble), default=None)


def is_lost_node(run, due):
    """Whether an occurrence was due when some node was lost, and nothing had happened to all."""
    near = [trouble for trouble in run.troubles if trouble["from"] - 1 < due < trouble["until"] + AFTERMATH]
    return bool(near) and not any(is_of_all(trouble) or "target" in trouble["what"] for trouble in near)


def settled_by_successor(run, promise, entry, again):
    """Where calls were repeated, the last one counts: whoever called before had lost its lease."""
    if promise["kind"] in ("flaky", "fail") or not again or "startTime" not in entry:
        return
    first, second = max(again, key=lambda pair: pair[1]["begun"])
    if seconds(entry["startTime"]) < first["begun"] and run.node_of(first) != run.node_of(second):
        yield (
            f"{promise['job']}: settled by {run.node_of(first)}, which had lost its lease, "
            f"and not by {run.node_of(second)}"
        )


def woken(run, promise, again):
    """A node that stood still beyond its lease begins nothing that another has called meanwhile."""
    for trouble in run.troubles:
        if not trouble.get("node") or "stands still" not in trouble["what"]:
            continue
        if trouble["until"] - trouble["from"] < LEASE:
            continue
        for first, second in again:
            woke = run.node_of(second) == trouble["node"] and 0 < second["at"] - trouble["until"] < 1
            other = run.node_of(first) != trouble["node"] and trouble["from"] < first["at"]
            # What was due before was perhaps begun before, and on its way.
            if woke and other and promise["due"] > trouble["from"]:
                yield f"{promise['job']}: {trouble['node']} woke without a lease, and called what another had called"


def fenced(run):
    """A node that is cut off from the database calls nothing once its lease has ended."""
    for trouble in run.troubles:
        if "cut off from the database" not in trouble["what"]:
            continue
        for call in run.calls:
            ended = trouble["from"] + LEASE
            # A call that was begun in time may be on its way.
            allowed = ended + ON_THE_WAY + run.stalls.within(ended, call["at"])
            if run.node_of(call) == trouble["node"] and allowed < call["at"] < trouble["until"]:
                yield f"{call['path']}: called by {trouble['node']} {call['at'] - ended:.2f} s after its lease"


def overtaken_edits(run):
    for edit in run.edits:
        if edit.get("changed", edit["due"]) >= edit["due"]:
            continue
        for call in run.calls:
            if call["path"] == f"/old/{edit['job']}":
                after = call["at"] - edit["changed"]
                yield f"{edit['job']}: its old definition was called {after:.3f} s after it was changed"


def answers(run):
    """The API never fails; while the database is away it says so, and when to come back."""
    for answer in run.answers:
        if answer["status"] == 503 and not answer.get("retryAfter"):
            yield f"a 503 without Retry-After: {answer}"
        if answer["status"] >= 500 and answer["status"] != 503:
            yield f"the API failed: {answer}"
    for trouble in run.troubles:
        if not trouble["what"].startswith("the database is away"):
            continue
        asked = [answer for answer in run.answers if trouble["from"] + 1 < answer["asked"] < trouble["until"] - 3]
        if not any(answer["status"] == 503 for answer in asked):
            yield f"{trouble['what']}: nobody said so, of {len(asked)} answers"


def ledger(ports):
    """All entries, from whichever node answers."""
    for port in ports:
        try:
            entries, link = [], LEDGER
            while link:
                path = link.split("/api/", 1)[1]
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/api/{path}", timeout=30) as answer:
                    page = json.load(answer)
                entries += page["value"]
                link = page.get("nextLink")
            return entries
        except OSError as error:
            print(f"the node on port {port} does not answer ({error})")
    raise SystemExit("no node answers")


def lines(path):
    with open(path) as file:
        return [json.loads(line) for line in file]


def main():
    folder, ports = sys.argv[1], sys.argv[2:]
    written = json.load(open(f"{folder}/promised"))
    # Whatever is still on its way; not a wait for the sake of waiting: it ends when nothing changes any more.
    seen, still = -1, 0
    while still < 15:
        entries = ledger(ports)
        unsure = set(written["unsure"])
        if sum(job_of(entry) not in unsure for entry in entries) >= len(written["promised"]):
            break
        still = still + 1 if len(entries) == seen else 0
        seen = len(entries)
        time.sleep(1)
    with open(f"{folder}/ledger", "w") as file:
        json.dump(entries, file)
    run = Run(
        promised=written["promised"],
        unsure=written["unsure"],
        nodes=written["nodes"],
        calls=lines(f"{folder}/calls"),
        entries=entries,
        edits=lines(f"{folder}/edits"),
        troubles=lines(f"{folder}/troubles"),
        answers=lines(f"{folder}/answers"),
        stalls=lines(f"{folder}/stalls"),
    )
    faults, table = judge(run)
    for name, value in table:
        print(f"{name:37} {value}")
    if faults:
        print(f"{len(faults)} FAULTS:")
        print("\n".join(faults[:50]))
        return 1
    print("every occurrence is accounted for, once")
    return 0


if __name__ == "__main__":
    sys.exit(main())
