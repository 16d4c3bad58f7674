"""Judges a run of scripts/chaos by what the target was called with and what the ledger says.

Every occurrence that was accepted is in the ledger once. What the ledger says was run, the target was called for; it was
called more than once only with the same tag. What was changed in time was not called with its old definition.
"""

import json
import sys
import time
import urllib.parse
import urllib.request
from collections import Counter, defaultdict

COLLECTION = "/subscriptions/s/resourceGroups/chaos/providers/Microsoft.Scheduler/jobCollections/c"


def ledger(ports):
    """All entries, from whichever node answers."""
    for port in ports:
        try:
            entries, link = [], f"/api/ledger?{urllib.parse.urlencode({'collection': COLLECTION, 'top': 500})}"
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


def percentile(values, share):
    values = sorted(values)
    return values[min(len(values) - 1, int(share * len(values)))] if values else 0.0


def main():
    folder, ports = sys.argv[1], sys.argv[2:]
    accepted = json.load(open(f"{folder}/accepted"))
    # Whatever is still on its way; not a wait for the sake of waiting: it ends when nothing changes any more.
    seen, still = -1, 0
    while still < 20:
        entries = ledger(ports)
        if len(entries) >= len(accepted):
            break
        still = still + 1 if len(entries) == seen else 0
        seen = len(entries)
        time.sleep(0.5)
    calls = [json.loads(line) for line in open(f"{folder}/calls")]
    edits = {edit["job"]: edit for edit in map(json.loads, open(f"{folder}/edits"))}

    faults = []
    by_job = defaultdict(list)
    for entry in entries:
        by_job[entry["job"].rsplit("/", 1)[1]].append(entry)
    called = defaultdict(list)
    for call in calls:
        called[call["path"].rsplit("/", 1)[1]].append(call)

    for name in accepted:
        found = by_job.pop(name, [])
        if len(found) != 1:
            faults.append(f"{name}: {len(found)} entries in the ledger: {found}")
            continue
        entry, got = found[0], called[name]
        tags = {call["tag"].replace("-", "") for call in got}
        if len(tags) > 1:
            faults.append(f"{name}: called with different tags: {tags}")
        if entry["state"] in ("ran", "ranLate"):
            if not got:
                faults.append(f"{name}: the ledger says {entry['state']}, and it was never called")
            elif tags != {entry["executionTag"].replace("-", "")}:
                faults.append(f"{name}: called with {tags}, entered with {entry['executionTag']}")
        elif entry["state"] != "faulted":
            faults.append(f"{name}: {entry}")
    for name, found in by_job.items():
        faults.append(f"{name}: in the ledger, but never accepted: {found}")

    changed = [edit for edit in edits.values() if "changed" in edit and edit["changed"] < edit["due"]]
    for edit in changed:
        for call in called[edit["job"]]:
            if call["path"].startswith("/old/"):
                late = call["at"] - edit["changed"]
                faults.append(f"{edit['job']}: its old definition was called {late:.3f} s after it was changed")

    late = [min(call["at"] for call in got) - accepted[name] for name, got in called.items() if name in accepted]
    early = [seconds for seconds in late if seconds < -0.001]
    if early:
        faults.append(f"{len(early)} calls came too early, by up to {-min(early):.3f} s")
    overdue = [seconds for seconds in late if seconds > 0.5]
    repeated = sum(len(got) > 1 for got in called.values())
    states = Counter(entry["state"] for found in [entries] for entry in found)
    print(f"occurrences accepted      {len(accepted)}")
    print(f"entries in the ledger     {len(entries)}: {dict(states)}")
    print(f"calls                     {len(calls)}, {repeated} occurrences more than once, with equal tags")
    print(f"changed before due        {len(changed)} of {len(edits)}")
    print(f"lateness                  p50 {percentile(late, 0.5) * 1000:.1f} ms, p99 {percentile(late, 0.99):.2f} s")
    if overdue:
        print(f"taken over ({len(overdue)})          p50 {percentile(overdue, 0.5):.2f} s, "
              f"p99 {percentile(overdue, 0.99):.2f} s, max {max(overdue):.2f} s")
    if faults:
        print(f"{len(faults)} FAULTS:")
        print("\n".join(faults[:50]))
        return 1
    print("every occurrence is accounted for, once")
    return 0


sys.exit(main())
