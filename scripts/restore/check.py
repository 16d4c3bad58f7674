"""Judges a restored store: first as it is before anybody serves it, then after it was served.

A store is of an instant, or of one between two where nobody says which. What was answered before is in it; what was asked
for later is not. Its ledger is the part of the killed server's ledger that was written by then.
"""

from collections import defaultdict

from contents import TICKS

# What of an occurrence may be off by: the target has another clock reading than the scheduler, and ticks are rounded.
ROUNDING = 0.001
ON_THE_WAY = 1.0

# PostgreSQL notes when a transaction is committed a little before it is: so much of the order is not certain.
UNORDERED = 0.1

DONE = ("ran", "ranLate", "faulted")

# From when a server says that it serves to its first claim; what becomes due meanwhile may be on either side.
STARTING = 5
# `engine.late-after`
LATE_AFTER = 10


def before_serving(store, earliest, latest, run, in_order):
    """The faults of a store that is of an instant within `earliest` and `latest`.

    `run` has what was promised and what happened; `in_order` says that the serials of the ledger are in the order of commits.
    """
    faults = changes(store, earliest, latest, run.changes)
    faults += entries(store, earliest, latest, run, in_order)
    faults += called(store, earliest, run)
    faults += counted(store)
    return faults


def changes(store, earliest, latest, made):
    """Each job stands as one of the changes left it that may be the last one of before."""
    faults, by_name = [], defaultdict(list)
    for change in made:
        by_name[change["name"]].append(change)
    for name, changes in by_name.items():
        least = sum(change["answered"] is not None and change["answered"] < earliest for change in changes)
        most = sum(change["asked"] <= latest for change in changes)
        possible = {None if k == 0 else changes[k - 1]["version"] for k in range(least, most + 1)}
        found = store.jobs[name]["version"] if name in store.jobs else None
        if found not in possible:
            faults.append(f"{name}: {found} is stored, and not one of {possible}")
    return faults


def entries(store, earliest, latest, run, in_order):
    """The ledger against that of the server that was killed, and against what was seen of it."""
    faults = []
    final = {entry["serial"]: entry for entry in run.final.ledger}
    there = {entry["serial"] for entry in store.ledger}
    for entry in store.ledger:
        same = final.get(entry["serial"])
        if same is None or any(entry[key] != same[key] for key in entry):
            faults.append(f"{entry}: the server had {same}")
        if entry["ended_at"] / TICKS > latest + ROUNDING:
            faults.append(f"{entry}: it ended after {latest}")
    for serial, entry in final.items():
        if in_order:
            missing = serial not in there and serial <= max(there, default=0)
        else:
            missing = serial not in there and entry["committed"] < earliest - UNORDERED
            if serial in there and entry["committed"] > latest:
                faults.append(f"{entry}: it was committed after {latest}")
        if missing:
            faults.append(f"{entry}: it is not there, though it was written by {earliest}")
    tags = {entry["tag"] for entry in store.ledger}
    for tag, at in run.seen.items():
        if at < earliest and tag not in tags:
            faults.append(f"{tag}: it was seen in the ledger at {at}, and is not there")
    return faults


def called(store, earliest, run):
    """Every call of before is accounted for, and every entry tells what the target answered."""
    faults, by_tag = [], defaultdict(list)
    for call in run.calls:
        by_tag[call["tag"]].append(call)
    tags = {entry["tag"] for entry in store.ledger}
    running = {row["tag"] for row in store.running}
    faults += [f"{tag}: it has an entry, and is under way" for tag in tags & running]
    for call in run.calls:
        if call["at"] < earliest and call["tag"] not in tags | running:
            faults.append(f"{call}: it was called, and the store knows nothing of it")
    for entry in store.ledger:
        if entry["fate"] not in DONE:
            continue
        got = by_tag[entry["tag"]]
        statuses = [call["status"] for call in got]
        expected = [500] if entry["fate"] == "faulted" else [503, 200] if len(got) > 1 else [200]
        kind = got[0]["path"].split("/")[1] if got else None
        if statuses != expected or (len(got) > 1) != (kind == "flaky"):
            faults.append(f"{entry}: the target answered {statuses}")
            continue
        began, ended = entry["started_at"] / TICKS, entry["ended_at"] / TICKS
        if not began - ROUNDING <= got[0]["at"] or not got[-1]["at"] <= ended + ON_THE_WAY:
            faults.append(f"{entry}: the calls were {got}")
        if got[0]["path"].split("/")[2].split("?")[0] != entry["job"]:
            faults.append(f"{entry}: the call was {got[0]}")
    return faults


def counted(store):
    """What is counted by job and by minute, against the entries."""
    faults, ran, begun = [], defaultdict(int), defaultdict(int)
    fates = dict.fromkeys(store.tallies, 0)
    for entry in store.ledger:
        ran[entry["job_id"]] += entry["fate"] in DONE
        fates[entry["fate"]] += entry["occurrences"]
    for row in store.running:
        begun[row["job_id"]] += row["attempt"] > 0 or row["depth"] > 0
    for name, job in store.jobs.items():
        # What is replaced counts anew.
        if name.startswith("e"):
            continue
        executions = ran[job["id"]] + begun[job["id"]]
        if job["executions"] != executions:
            faults.append(f"{name}: it has counted {job['executions']} executions; entries and retries say {executions}")
        failures = store.failures.get(job["id"], 0)
        if job["failures"] != failures:
            faults.append(f"{name}: it has counted {job['failures']} failures; its history says {failures}")
    if fates != store.tallies:
        faults.append(f"the minutes have counted {store.tallies}; the ledger says {fates}")
    return faults


def dues(entry):
    """The instants of an entry; those of several are minutes apart."""
    return [round(entry["due_at"] / TICKS + 60 * i, 3) for i in range(entry["occurrences"])]


def by_due(entries):
    found = defaultdict(list)
    for entry in entries:
        for due in dues(entry):
            found[entry["job"], due].append(entry)
    return found


def due_until(job, until):
    """The instants at which a job was due."""
    if job.policy is None:
        return [job.due] if job.due <= until else []
    return [round(job.due + 60 * i, 3) for i in range(int((until - job.due) // 60) + 1)] if job.due <= until else []


def pending(served, run, until):
    """What was due and has no entry yet."""
    found = by_due(served.ledger)
    there = {entry["job"] for entry in served.ledger}
    left = [job.name for job in run.jobs for due in due_until(job, until) if (job.name, due) not in found]
    return left + [name for name in served.jobs if name.startswith("w") and name not in there]


def after_serving(store, served, run, calls, started, until):
    """The faults of a store that was served from `started` on, where all that was due by `until` has its entry."""
    faults = []
    before, after = by_due(store.ledger), by_due(served.ledger)
    original = {key: found[0]["tag"] for key, found in by_due(run.final.ledger).items()}
    running = {(row["job"], round(row["due_at"] / TICKS, 3)) for row in store.running}
    for (name, due), found in after.items():
        if len(found) != 1:
            faults.append(f"{name}, due {due}: {len(found)} entries: {found}")
        tag, was = found[0]["tag"], original.get((name, due))
        if found[0]["fate"] in DONE and was is not None and tag != was:
            faults.append(f"{name}, due {due}: its tag was {was}, and is {tag}")
    for key, found in before.items():
        if after.get(key) != found:
            faults.append(f"{key}: its entry was {found}, and is {after.get(key)}")
    settled = {entry["tag"] for entry in store.ledger}
    for call in calls:
        if call["tag"] in settled:
            faults.append(f"{call}: it was called again, though the store had its entry")
    for job in run.jobs:
        wanted = {"fail": ("faulted",)}.get(job.kind, ("ran", "ranLate"))
        missed = missable(job, set(before) | running, started, until)
        for due in due_until(job, until):
            fates = {entry["fate"] for entry in after.get((job.name, due), [])}
            allowed = missed.get(due, wanted)
            if allowed and not fates <= set(allowed):
                faults.append(f"{job.name}, due {due}, catchUp {job.policy}: {fates}, not one of {allowed}")
    return faults


def missable(job, known, started, serving):
    """What has to become of instants that were due before the start and not known to the store; `None` where it depends."""
    overdue = [due for due in due_until(job, started) if (job.name, due) not in known]
    # With nothing else said, the latest runs; so does that of a job that runs once.
    if job.policy in (None, "last"):
        unsure = any(started <= due <= serving + STARTING for due in due_until(job, serving + STARTING))
        return {due: None if unsure else ("missed",) for due in overdue[:-1]} | (
            {overdue[-1]: None} if overdue and unsure else {}
        )
    if job.policy == "none":
        return {
            due: ("missed",) if due < started - LATE_AFTER else None
            for due in overdue
            if due < serving - LATE_AFTER + STARTING
        }
    return {}
