"""That the checker of restores sees what is wrong: stores that are right, and the same with one thing doctored."""

import copy
import os
import sys
import types
import unittest

sys.path.append(f"{os.path.dirname(os.path.abspath(__file__))}/../cluster")

import check
from contents import FATES, TICKS
from load import Job

# The instant of the store, and when it was served.
AT = 1000.0
SERVED = 1090.0


def entry(serial, job, due, fate="ran", occurrences=1, took=0.05):
    tag = None if fate == "missed" else f"tag-{job}-{due}"
    return {
        "serial": serial, "job": job, "job_id": job, "due_at": int(due * TICKS), "due_until": int(due * TICKS),
        "occurrences": occurrences, "fate": fate, "started_at": int(due * TICKS), "ended_at": int((due + took) * TICKS),
        "tag": tag,
    }


def call(job, due, status=200, kind="run"):
    return {"at": due + 0.01, "path": f"/{kind}/{job}?version=0", "tag": f"tag-{job}-{due}", "status": status}


def store(ledger, running=(), versions=()):
    """A store whose counters are right."""
    made = types.SimpleNamespace(ledger=ledger, running=list(running), failures={})
    made.tallies = {fate: sum(e["occurrences"] for e in ledger if e["fate"] == fate) for fate in FATES}
    names = {"a", "b", "m"}
    made.jobs = {
        name: {"id": name, "version": 0, "failures": 0, "executions": sum(e["job"] == name and e["fate"] in check.DONE for e in ledger)}
        for name in names
    } | {name: {"id": name, "version": version, "failures": 0, "executions": 0} for name, version in versions}
    return made


class Restored(unittest.TestCase):
    def setUp(self):
        # `a` ran before the instant, `b` after it; `m` runs every minute and was called once before and once after.
        before = [entry(1, "a", 990.0), entry(2, "m", 985.0)]
        final = [*before, entry(3, "b", 1005.0), entry(4, "m", 1045.0)]
        self.store = store(before, versions=[("e", 2)])
        self.run_ = types.SimpleNamespace(
            jobs=[Job("a", "run", 990.0), Job("b", "run", 1005.0), Job("m", "run", 985.0, "last")],
            changes=[
                {"name": "e", "version": 1, "asked": 980.0, "answered": 980.1},
                {"name": "e", "version": 2, "asked": 999.0, "answered": 999.1},
                {"name": "e", "version": 3, "asked": 1000.5, "answered": 1000.6},
            ],
            seen={"tag-a-990.0": 995.0, "tag-b-1005.0": 1006.0},
            calls=[call("m", 985.0), call("a", 990.0), call("b", 1005.0), call("m", 1045.0)],
            final=types.SimpleNamespace(ledger=final),
        )
        self.served = store([*before, entry(3, "b", 1005.0, "ranLate"), entry(4, "m", 1045.0, "ranLate")])
        self.calls = [call("b", 1005.0), call("m", 1045.0)]

    def before(self):
        return check.before_serving(self.store, AT, AT, self.run_, in_order=True)

    def after(self):
        return check.after_serving(self.store, self.served, self.run_, self.calls, SERVED, SERVED)

    def test_what_is_right_has_no_faults(self):
        self.assertEqual(self.before() + self.after(), [])
        self.assertEqual(check.pending(self.served, self.run_, SERVED), [])

    def test_a_change_that_was_answered_is_missed(self):
        self.store.jobs["e"]["version"] = 1
        self.assertTrue(self.before())

    def test_a_change_from_after_is_noticed(self):
        self.store.jobs["e"]["version"] = 3
        self.assertTrue(self.before())

    def test_a_lost_entry_is_noticed(self):
        del self.store.ledger[0]
        self.assertTrue(self.before())

    def test_an_entry_from_after_is_noticed(self):
        self.store.ledger.append(entry(3, "b", 1005.0))
        self.assertTrue(self.before())

    def test_an_outcome_that_the_target_did_not_give_is_noticed(self):
        self.run_.calls[1]["status"] = 500
        self.assertTrue(self.before())

    def test_a_call_that_nobody_knows_of_is_noticed(self):
        self.run_.calls.append(call("b", 999.0))
        self.assertTrue(self.before())

    def test_counters_that_differ_are_noticed(self):
        for doctor in (lambda: self.store.jobs["a"].update(executions=2), lambda: self.store.tallies.update(ran=7)):
            kept = copy.deepcopy(self.store)
            doctor()
            self.assertTrue(self.before())
            self.store = kept

    def test_what_is_never_made_up_for_is_noticed(self):
        del self.served.ledger[2]
        self.assertEqual(check.pending(self.served, self.run_, SERVED), ["b"])

    def test_an_occurrence_that_should_have_run_and_was_missed_is_noticed(self):
        self.served.ledger[3]["fate"] = "missed"
        self.assertTrue(self.after())

    def test_an_occurrence_that_is_entered_twice_is_noticed(self):
        self.served.ledger.append(entry(5, "b", 1005.0))
        self.assertTrue(self.after())

    def test_another_tag_is_noticed(self):
        self.served.ledger[2]["tag"] = "another"
        self.assertTrue(self.after())

    def test_a_settled_occurrence_that_is_called_again_is_noticed(self):
        self.calls.append(call("a", 990.0))
        self.assertTrue(self.after())


if __name__ == "__main__":
    unittest.main()
