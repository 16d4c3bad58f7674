"""The checker can fail: logs with one thing wrong in each. Run by scripts/test: python3 scripts/cluster/test_check.py."""

import unittest

from check import Run, judge
from jobs import instant

TAG = "0123456789abcdef0123456789abcdef"
OTHER = "fedcba9876543210fedcba9876543210"
NODES = [
    {"name": "one", "user": 1, "clock": "right"},
    {"name": "two", "user": 2, "clock": "right"},
    {"name": "fast", "user": 3, "clock": "fast"},
]
DUE = 1_800_000_000.0


def promise(job="j", kind="run", due=DUE):
    return {"job": job, "kind": kind, "due": due}


def call(after=0.01, user=1, path="/run/j", tag=TAG, status=200):
    return {"at": DUE + after, "user": user, "path": path, "tag": tag, "status": status}


def entry(state="ran", job="j", due=DUE, tag=TAG, started=0.005):
    return {
        "job": f"/c/jobs/{job}",
        "dueTime": instant(due),
        "state": state,
        "startTime": instant(DUE + started),
        "endTime": instant(DUE + started + 1),
        "executionTag": tag,
    }


def trouble(what, node, begins, ends):
    return {"what": what, "node": node, "from": DUE + begins, "until": DUE + ends}


def stall(begins, lost):
    """A second of which so much was lost."""
    return {"from": DUE + begins, "until": DUE + begins + 1, "lost": lost}


KILLED = trouble("is killed", "one", 0.1, 6)


class Checker(unittest.TestCase):
    def judged(self, **run):
        values = {"promised": [promise()], "calls": [call()], "entries": [entry()], "nodes": NODES} | run
        return judge(Run(**values))[0]

    def blames(self, words, **run):
        faults = self.judged(**run)
        self.assertEqual(len(faults), 1, faults)
        self.assertIn(words, faults[0])

    def test_a_run_without_fault(self):
        self.assertEqual(self.judged(), [])
        fast = call(-0.02, user=3)
        self.assertEqual(self.judged(calls=[fast]), [], "a fast clock is early within what is stated")
        failing = [call(path="/fail/j", status=500), call(0.1, path="/mend/j")]
        self.assertEqual(self.judged(promised=[promise(kind="fail")], calls=failing, entries=[entry("faulted")]), [])
        retried = [call(path="/flaky/j", status=503), call(1.1, path="/flaky/j")]
        self.assertEqual(self.judged(promised=[promise(kind="flaky")], calls=retried), [])

    def test_a_lost_occurrence(self):
        self.blames("0 entries in the ledger", entries=[], calls=[])

    def test_an_occurrence_that_is_entered_twice(self):
        second = entry(tag=OTHER)
        faults = self.judged(entries=[entry(), second], calls=[call(), call(0.2, tag=OTHER)])
        self.assertTrue(any("2 entries in the ledger" in fault for fault in faults), faults)

    def test_an_occurrence_of_many_that_is_lost(self):
        promised = [promise(), promise(due=DUE + 60)]
        self.blames("0 entries in the ledger", promised=promised)

    def test_an_entry_without_a_call(self):
        self.blames("never called", calls=[])

    def test_an_entry_whose_calls_all_failed(self):
        self.blames("no call of it went well", promised=[promise(kind="flaky")], calls=[call(path="/flaky/j", status=503)])

    def test_an_error_action_that_was_left_out(self):
        failing = [call(path="/fail/j", status=500)]
        self.blames("mend was never called", promised=[promise(kind="fail")], calls=failing, entries=[entry("faulted")])

    def test_an_occurrence_that_was_missed(self):
        self.blames("missed", entries=[entry("missed", tag=None)], calls=[])

    def test_what_nobody_asked_for(self):
        stranger = [call(), call(path="/run/s", tag=OTHER)]
        self.blames("never accepted", entries=[entry(), entry(job="s", tag=OTHER)], calls=stranger)
        unsure = self.judged(entries=[entry(), entry(job="s", tag=OTHER)], calls=stranger, unsure=["s"])
        self.assertEqual(unsure, [], "whoever got no answer may have been heard")

    def test_a_repetition_with_another_tag(self):
        self.blames("which the ledger does not have", calls=[call(), call(4, user=2, tag=OTHER)], troubles=[KILLED])

    def test_a_repetition_without_a_reason(self):
        again = {"calls": [call(), call(4, user=2)], "entries": [entry(started=3.99)]}
        self.assertEqual(self.judged(**again, troubles=[KILLED]), [])
        self.blames("nothing had happened to one", **again)
        self.blames("nothing had happened to one", **again, troubles=[KILLED | {"node": "two"}])

    def test_a_settlement_by_a_node_without_a_lease(self):
        stopped = trouble("stands still for 6 s", "one", 0.1, 6)
        calls = [call(), call(4, user=2)]
        self.assertEqual(self.judged(calls=calls, entries=[entry(started=3.99)], troubles=[stopped]), [])
        self.blames("settled by one, which had lost its lease", calls=calls, troubles=[stopped])

    def test_a_call_by_a_node_that_woke_without_a_lease(self):
        stopped = trouble("stands still for 6 s", "one", -1, 5)
        calls, entries = [call(3, user=2), call(5.1)], [entry(started=5.05)]
        faults = self.judged(calls=calls, entries=entries, troubles=[stopped, KILLED | {"node": "two"}])
        self.assertTrue(any("one woke without a lease" in fault for fault in faults), faults)

    def test_a_call_that_was_on_its_way_when_its_node_stood_still(self):
        stopped = trouble("stands still for 6 s", "one", 0.001, 6)
        calls = [call(4, user=2), call(6.01)]
        self.assertEqual(self.judged(calls=calls, entries=[entry(started=3.99)], troubles=[stopped]), [])
        self.blames("settled by one", calls=calls, troubles=[stopped], entries=[entry(started=0.0005)])

    def test_a_call_by_a_node_that_is_cut_off(self):
        cut = trouble("is cut off from the database", "one", -4, 3)
        self.blames("called by one", troubles=[cut])
        self.assertEqual(self.judged(troubles=[cut | {"from": DUE - 2}]), [], "within its lease it calls")
        self.assertEqual(self.judged(troubles=[cut], stalls=[stall(-0.9, 0.9)]), [], "it could not be sooner")
        self.blames("called by one", troubles=[cut], stalls=[stall(-3, 0.9)])

    def test_an_early_call(self):
        self.blames("early", calls=[call(-0.01)])
        self.blames("early", calls=[call(-0.1, user=3)])

    def test_an_old_definition(self):
        edit = {"job": "j", "due": DUE, "changed": DUE - 0.5}
        self.blames("its old definition was called", promised=[promise(kind="old")], calls=[call(path="/old/j")], edits=[edit])
        self.assertEqual(self.judged(calls=[call(path="/new/j")], edits=[edit]), [])
        late = edit | {"changed": DUE + 0.5}
        self.assertEqual(self.judged(calls=[call(path="/old/j")], edits=[late]), [], "too late is too late")

    def test_a_slow_take_over(self):
        self.blames("take-over took 5.50 s", calls=[call(5.5, user=2)], troubles=[KILLED])
        away = trouble("the database is restarted", None, 0, 5)
        self.assertEqual(self.judged(calls=[call(5.5, user=2)], troubles=[KILLED, away]), [])

    def test_a_take_over_that_is_slow_because_the_machine_stalled(self):
        late, troubles = [call(5.5, user=2)], [KILLED]
        self.assertEqual(self.judged(calls=late, troubles=troubles, stalls=[stall(2, 1)]), [])
        self.blames("5.40 s of it without stalls", calls=late, troubles=troubles, stalls=[stall(2, 0.1)])
        self.blames("take-over took 5.50 s", calls=late, troubles=troubles, stalls=[stall(-2, 1), stall(6, 1)])

    def test_an_api_that_does_not_say_that_the_database_is_away(self):
        away = trouble("the database is away: it crashed", None, 10, 20)
        said = {"asked": DUE + 12, "at": DUE + 13, "status": 503, "retryAfter": "5", "node": "one"}
        self.assertEqual(self.judged(troubles=[away], answers=[said]), [])
        self.blames("nobody said so", troubles=[away], answers=[])
        self.blames("without Retry-After", troubles=[away], answers=[said | {"retryAfter": None}])
        self.blames("the API failed", answers=[said | {"status": 500}])


if __name__ == "__main__":
    unittest.main()
