"""Measures how much this machine keeps its programs waiting: bounds of time are judged beside it.

A tick sleeps and then works for a moment. What the sleep was longer than asked for, and the share of the work in which the
processor was somebody else's, are time in which a program that wants to run does not.

Started by scripts/cluster/disturb.py as a process of its own, since threads of one Python wait for each other:
stalls.py FILE. Each line of the file is a tick: from when until when, and how much of that was lost, in seconds.
"""

import bisect
import json
import sys
import time

# The rest between two looks, and the work of one, in seconds.
REST = 0.1
WORK = 0.004


def tick():
    """One look: when it began and ended, and the seconds lost."""
    began, slept = time.time(), time.monotonic()
    time.sleep(REST)
    late = time.monotonic() - slept - REST
    worked, used = time.monotonic(), time.thread_time()
    while time.thread_time() - used < WORK:
        pass
    took = time.monotonic() - worked
    # As much of the rest as of the work.
    lost = late + (1 - WORK / took) * (REST + took)
    return {"from": began, "until": time.time(), "lost": round(lost, 4)}


class Stalls:
    """What was measured, to be asked for any span."""

    def __init__(self, ticks=()):
        self.ticks = sorted(ticks, key=lambda tick: tick["from"])
        self.begins = [tick["from"] for tick in self.ticks]

    def within(self, begin, end):
        """The seconds that were lost between two instants; never more than there are."""
        lost, place = 0.0, max(0, bisect.bisect_right(self.begins, begin) - 1)
        for tick in self.ticks[place:]:
            if tick["from"] >= end:
                break
            length = max(tick["until"] - tick["from"], 1e-9)
            common = min(end, tick["until"]) - max(begin, tick["from"])
            lost += tick["lost"] * max(0.0, common) / length
        return min(lost, max(0.0, end - begin))

    def worst(self):
        """The most that one look lost."""
        return max((tick["lost"] for tick in self.ticks), default=0.0)


def main():
    with open(sys.argv[1], "w", buffering=1) as file:
        while True:
            file.write(json.dumps(tick()) + "\n")


if __name__ == "__main__":
    main()
