"""A scheduler of our own to be tested: starts the binary, and speaks its API."""

import datetime
import json
import os
import re
import signal
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request

from counterparts import Trouble, stop, within

COLLECTION = "/subscriptions/s/resourceGroups/g/providers/Microsoft.Scheduler/jobCollections/checks"
# Seconds; a job that has not come to its end by then never will.
PATIENCE = 120


class Scheduler:
    def __init__(self, binary, folder, settings, variables):
        self.binary, self.folder, self.settings, self.variables = binary, folder, settings, variables

    def __enter__(self):
        self.folder.mkdir()
        config = self.folder / "punctual.toml"
        config.write_text(self.settings)
        self.log = self.folder / "log"
        command = [self.binary, "serve", "--config", config, "--listen", "127.0.0.1:0", "--data", self.folder / "data"]
        environment = {**os.environ, **self.variables, "PUNCTUAL_LOG_LEVEL": "debug"}
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=self.log.open("w"), text=True, env=environment)
        ready = re.search(r" serves (\S+)$", self.process.stdout.readline().strip())
        if not ready:
            raise Trouble(f"the scheduler does not start:\n{self.log.read_text()}")
        self.url = ready[1]
        self.call("PUT", COLLECTION, {"location": "West Europe", "properties": {"sku": {"name": "Standard"}}})
        return self

    def __exit__(self, *_):
        stop(self.process, signal.SIGTERM)

    def call(self, method, path, body=None, **query):
        if path.startswith("/subscriptions"):
            query["api-version"] = "2016-03-01"
        url = f"{self.url}{path}?{urllib.parse.urlencode(query)}"
        data = json.dumps(body).encode() if body is not None else None
        request = urllib.request.Request(url, data, {"Content-Type": "application/json"}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                text = answer.read()
                return json.loads(text) if text else None
        except urllib.error.HTTPError as error:
            raise Trouble(f"{method} {path}: {error.code} {error.read().decode()}") from None

    def run(self, name, action, fate="ran"):
        """Runs a job once, now, and waits until all of it is over; one try, unless the action says otherwise."""
        action.setdefault("retryPolicy", {"retryType": "none"})
        self.call("PUT", f"{COLLECTION}/jobs/{name}", {"properties": {"action": action}})
        (entry,) = self.settled([name])
        if entry["state"] != fate:
            told = self.history(name)[0]["message"]
            raise Trouble(f"{name}: {entry['state']} instead of {fate}: {told}")
        if fate == "faulted" and "errorAction" in action:
            done = lambda: any(entry["actionName"] == "ErrorAction" for entry in self.history(name))
            if not within(PATIENCE, done):
                raise Trouble(f"{name}: the error action did not run")

    def spread(self, names, action, rate=25):
        """Makes jobs that run once, so many in a second, beginning when all are made."""
        def make(start, state):
            # All in one request: one by one they take longer than they last, on a busy machine.
            jobs = [{"type": "Microsoft.Scheduler/jobCollections/jobs", "name": f"checks/{name}",
                     "properties": {"startTime": written(start + number / rate), "state": state, "action": action}}
                    for number, name in enumerate(names)]
            self.call("POST", "/api/import", jobs, subscription="s", group="g")

        # Made once to see how long it takes here and now.
        began = time.time()
        make(began + 3600, "Disabled")
        start = time.time() + 3 + 3 * (time.time() - began)
        make(start, "Enabled")
        if time.time() > start:
            raise Trouble(f"{len(names)} jobs were not made in time: the machine is too busy")

    def settled(self, names):
        """The entries of the ledger of these jobs, when each has one."""
        if not within(PATIENCE, lambda: self.is_settled(names)):
            raise Trouble(f"not in the ledger: {', '.join(set(names) - set(self.entries()))}")
        entries = self.entries()
        return [entries[name] for name in names]

    def has_begun(self, name):
        return self.call("GET", f"{COLLECTION}/jobs/{name}")["properties"]["status"]["executionCount"] > 0

    def is_settled(self, names):
        return set(names) <= set(self.entries())

    def entries(self):
        """The ledger by the names of jobs."""
        return {entry["job"].rsplit("/", 1)[1]: entry for entry in self.ledger()}

    def ledger(self):
        page = self.call("GET", "/api/ledger", subscription="s", resourceGroup="g", jobCollection="checks", top=500)
        while page:
            yield from page["value"]
            link = page.get("nextLink")
            if not link:
                return
            with urllib.request.urlopen(urllib.parse.urljoin(self.url, link), timeout=60) as answer:
                page = json.loads(answer.read())

    def history(self, name):
        """What the job did, newest first."""
        listed = self.call("GET", f"{COLLECTION}/jobs/{name}/history")["value"]
        return [entry["properties"] for entry in listed]

    def failures(self, names):
        """How many attempts of each job failed."""
        return [
            self.call("GET", f"{COLLECTION}/jobs/{name}")["properties"]["status"]["failureCount"] for name in names
        ]

    def without_secrets(self, secrets):
        """Fails when a secret is in the log."""
        log = self.log.read_text()
        for secret in [*secrets, "sig="]:
            if secret in log:
                raise Trouble(f"a secret is in the log ({secret[:4]}…)")


def written(at):
    """Seconds since 1970 as the API has them."""
    return datetime.datetime.fromtimestamp(at, datetime.timezone.utc).isoformat().replace("+00:00", "Z")
