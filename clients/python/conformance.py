"""Everything that a Python client can do, done against a server, and compared.

Both versions of azure-mgmt-scheduler have the same operations; what differs between them is an `Api`. The report is one
line of JSON for every check; `scripts/check-clients` reads it.
"""

import contextlib
import json
import logging
import sys
import time
import traceback

from builder import Builder
from cases import Cases, differences, merged, without

GROUP = "Group"
# The collections of jobs: of those without durations, and of those with them.
HOMES = ("jobs", "durations")
# Seconds. A run by hand begins at once; a machine may be busy.
LONGEST_RUN = 120
# Fields that no operation takes or gives: the pages of a list, which the clients keep to themselves; descriptions of
# filters, which are texts; what is answered of a client certificate, which is refused.
NOBODY_USES = {
    "JobCollectionListResult.value",
    "JobCollectionListResult.next_link",
    "JobListResult.value",
    "JobListResult.next_link",
    "JobHistoryListResult.value",
    "JobHistoryListResult.next_link",
    "JobHistoryFilter.status",
    "JobStateFilter.state",
    "ClientCertAuthentication.certificate_thumbprint",
    "ClientCertAuthentication.certificate_expiration_date",
    "ClientCertAuthentication.certificate_subject_name",
}


class Api:
    """What one version calls its operations and their arguments."""

    # What is raised by lists of jobs with durations, if the client cannot read them.
    cannot_list_durations = None

    def __init__(self, url, subscription):
        self.client = self.example.connect(url, subscription)
        self.collections, self.jobs = self.client.job_collections, self.client.jobs

    def collection(self, operation, *names, body=None, headers=None):
        arguments = {} if body is None else {"job_collection": body}
        return getattr(self.collections, operation)(*names, **arguments, **self.options(headers))

    def finish(self, operation, name):
        """Does what may take long, and waits until it is done."""
        poller = getattr(self.collections, self.finish_names[operation])(GROUP, name, **self.options(None))
        poller.wait(LONGEST_RUN)
        assert poller.done(), f"{operation} does not come to an end"

    def job(self, operation, *names, body=None, headers=None, **query):
        arguments = {} if body is None else self.job_arguments(body)
        return getattr(self.jobs, operation)(GROUP, *names, **arguments, **query, **self.options(headers))


class Conformance:
    def __init__(self, api, cases):
        self.api, self.cases = api, cases
        self.builder = Builder(api.models)

    @contextlib.contextmanager
    def check(self, operation, name):
        fault = None
        try:
            yield
        except Exception as error:
            fault = f"{type(error).__name__}: {error}"
            if not isinstance(error, AssertionError):
                fault += "\n" + traceback.format_exc()
        print(json.dumps({"operation": operation, "check": name, "fault": fault}), flush=True)

    def built(self, kind, body):
        """A model that says what the body says, and nothing else."""
        model = self.builder.build(kind, body)
        self.compare(self.cases.plain(body), self.cases.plain(model.serialize()))
        return model

    def compare(self, expected, found):
        faults = list(differences(expected, found))
        assert not faults, "; ".join(faults)

    def read(self, model):
        """A model as JSON, apart from what the server alone says."""
        self.builder.count(model)
        found = model.serialize(keep_readonly=True)
        for name in ("id", "type", "name"):
            found.pop(name)
        found.get("properties", {}).pop("status", None)
        return self.cases.plain(found)

    def raises(self, status, code, says, call):
        """The error that this client has for a status, with the code and the message of the answer."""
        try:
            call()
        except self.api.errors[status] as error:
            assert type(error) is self.api.errors[status], f"raised as {type(error).__name__}"
            found_status, found_code, message = self.api.problem(error)
            assert (found_status, found_code) == (status, code), f"{found_status} {found_code}: {message}"
            assert says in message, f"the message does not say {says!r}: {message}"
        else:
            raise AssertionError("nothing was raised")

    # Collections.

    def write_collections(self):
        api = self.api
        for name, case in self.cases["collections"].items():
            expected = self.cases.expected(case)
            with self.check("collection put", name):
                body = self.built("JobCollectionDefinition", case["body"])
                put = api.collection("create_or_update", GROUP, name, body=body)
                self.compare(expected, self.read(put))
                assert put.name == name and put.type == "Microsoft.Scheduler/jobCollections", put
                assert put.id.endswith(f"/resourceGroups/{GROUP}/providers/{put.type}/{name}"), put.id
            with self.check("collection get", name):
                self.compare(expected, self.read(api.collection("get", GROUP, name)))

    def patch_collection(self):
        patch = self.cases["collectionPatch"]
        stored = self.cases.expected(self.cases["collections"][patch["of"]])
        # Tags that a patch does not speak of stay, too.
        expected = merged(stored, self.cases.expected(patch))
        with self.check("collection patch", patch["of"]):
            body = self.built("JobCollectionDefinition", patch["body"])
            patched = self.api.collection("patch", GROUP, patch["of"], body=body)
            self.compare(expected, self.read(patched))
            self.compare(expected, self.read(self.api.collection("get", GROUP, patch["of"])))

    def list_collections(self, many):
        written = sorted(self.cases["collections"])
        for operation, call, arguments in (
            ("collections of a group", "list_by_resource_group", [GROUP]),
            ("collections of a subscription", "list_by_subscription", []),
        ):
            with self.check(operation, "those written"):
                found = list(self.api.collection(call, *arguments))
                assert [one.name for one in found] == written, [one.name for one in found]
                for one in found:
                    self.compare(self.read(self.api.collection("get", GROUP, one.name)), self.read(one))
            with self.check(operation, "of more than one page"):
                names = [one.name for one in many.api.collection(call, *(["many"] if arguments else []))]
                assert names == many.names, f"{len(names)} of {len(many.names)}"

    def switch_collection(self):
        for operation, state in (("disable", "disabled"), ("enable", "enabled")):
            with self.check(f"collection {operation}", "standard"):
                self.api.finish(operation, "standard")
                found = self.read(self.api.collection("get", GROUP, "standard"))
                assert found["properties"]["state"] == state, found

    def delete_collections(self):
        for name in [*self.cases["collections"], *HOMES]:
            with self.check("collection delete", name):
                self.api.finish("delete", name)
                self.raises(404, "ResourceNotFound", name, lambda: self.api.collection("get", GROUP, name))

    # Jobs.

    def write_jobs(self):
        api = self.api
        home = self.builder.build(
            "JobCollectionDefinition", {"location": "West US", "properties": {"sku": {"name": "P20Premium"}}}
        )
        for name in HOMES:
            api.collection("create_or_update", GROUP, name, body=home)
        for name, case in self.cases["jobs"].items():
            home, expected = self.home(name), self.cases.expected(case)
            with self.check("job put", name):
                put = api.job("create_or_update", home, name, body=self.built("JobDefinition", case["body"]))
                self.compare(expected, self.read(put))
                assert put.name == f"{home}/{name}" and put.type == "Microsoft.Scheduler/jobCollections/jobs", put
                assert put.id.endswith(f"/jobCollections/{home}/jobs/{name}"), put.id
                assert (put.properties.status is None) == (expected["properties"]["state"] == "disabled"), put
            with self.check("job get", name):
                self.compare(expected, self.read(api.job("get", home, name)))

    def home(self, name):
        """The collection of a job. Those with durations are apart, since not every client can list them."""
        text = json.dumps(self.cases["jobs"][name]["body"])
        return HOMES[any(f'"{member}"' in text for member in self.cases["durations"])]

    def rewrite_jobs(self):
        again, patch = self.cases["jobAgain"], self.cases["jobPatch"]
        with self.check("job put again", again["of"]):
            home, body = self.home(again["of"]), self.built("JobDefinition", again["body"])
            put = self.api.job("create_or_update", home, again["of"], body=body)
            self.compare(self.cases.expected(again), self.read(put))
            self.compare(self.cases.expected(again), self.read(self.api.job("get", home, again["of"])))
        with self.check("job patch", patch["of"]):
            stored = self.cases.expected(self.cases["jobs"][patch["of"]])
            expected = merged(stored, self.cases.expected(patch))
            home, body = self.home(patch["of"]), self.built("JobDefinition", patch["body"])
            self.compare(expected, self.read(self.api.job("patch", home, patch["of"], body=body)))
            self.compare(expected, self.read(self.api.job("get", home, patch["of"])))

    def list_jobs(self):
        def names(home="jobs", **query):
            return [one.name.removeprefix(f"{home}/") for one in self.api.job("list", home, **query)]

        def written_to(home):
            return sorted(name for name in self.cases["jobs"] if self.home(name) == home)

        for home in HOMES:
            with self.check("jobs", f"all {home}"):
                if home == "durations" and self.api.cannot_list_durations:
                    try:
                        names(home)
                    except self.api.cannot_list_durations:
                        continue
                    raise AssertionError("this client lists durations: nothing need be set apart for it")
                assert names(home) == written_to(home), names(home)
                for one in self.api.job("list", home):
                    got = self.api.job("get", home, one.name.removeprefix(f"{home}/"))
                    self.compare(self.read(got), self.read(one))
        written = written_to("jobs")
        with self.check("jobs", "in pages of 3"):
            assert names(top=3) == written, names(top=3)
        with self.check("jobs", "without the first 5"):
            assert names(skip=5) == written[5:], names(skip=5)
        with self.check("jobs", "disabled ones"):
            disabled = sorted(["http-disabled", self.cases["jobPatch"]["of"]])
            assert names(filter="state eq Disabled") == disabled, names(filter="state eq Disabled")
            assert names(filter="state eq 'disabled'", top=1) == disabled

    def run_jobs(self):
        for name, case in self.cases["runs"].items():
            entries = {"completes": 1, "fails": 2}[name]
            with self.check("job run", name):
                body = self.built("JobDefinition", case["body"])
                self.api.job("create_or_update", "jobs", name, body=body)
                for runs in (1, 2):
                    self.api.job("run", "jobs", name)
                    self.wait_for_history(name, runs * entries)
                job = self.api.job("get", "jobs", name)
                self.builder.count(job)
                status = job.properties.status
                failures = 2 if name == "fails" else 0
                counts = (status.execution_count, status.failure_count, status.faulted_count)
                assert counts == (2, failures, failures), counts
                assert status.last_execution_time is not None and status.next_execution_time is not None, status

    def wait_for_history(self, name, entries):
        deadline = time.monotonic() + LONGEST_RUN
        while len(found := list(self.api.job("list_job_history", "jobs", name))) < entries:
            assert time.monotonic() < deadline, f"{len(found)} of {entries} entries after {LONGEST_RUN} s"
            time.sleep(0.05)

    def read_history(self):
        def history(name, **query):
            found = list(self.api.job("list_job_history", "jobs", name, **query))
            for one in found:
                self.builder.count(one)
            return found

        def said(entries):
            word = lambda value: getattr(value, "value", value)
            # An entry without a status completed.
            return [
                (word(one.properties.action_name), (word(one.properties.status) or "completed").lower())
                for one in entries
            ]

        completed, failed, handled = (
            ("MainAction", "completed"),
            ("MainAction", "failed"),
            ("ErrorAction", "completed"),
        )
        with self.check("history", "of a job that completes"):
            entries = history("completes")
            assert said(entries) == [completed] * 2, said(entries)
            newest = entries[0].properties
            assert (newest.repeat_count, newest.retry_count) == (2, 0), newest
            assert newest.expected_execution_time <= newest.start_time <= newest.end_time, newest
            assert "hello" in newest.message, newest.message
            assert entries[0].name.startswith("jobs/completes/"), entries[0].name
        with self.check("history", "of a job that fails"):
            assert said(history("fails")) == [handled, failed] * 2, said(history("fails"))
        with self.check("history", "in pages of 1"):
            ids = [one.id for one in history("fails")]
            assert [one.id for one in history("fails", top=1)] == ids
            assert [one.id for one in history("fails", skip=3)] == ids[3:]
        with self.check("history", "filtered"):
            assert said(history("fails", filter="status eq Failed")) == [failed] * 2
            assert said(history("fails", filter="status eq 'Completed'")) == [handled] * 2
            both = "actionName eq ErrorAction and status eq Completed"
            assert said(history("fails", filter=both)) == [handled] * 2
            assert said(history("fails", filter="status eq Failed and actionName eq ErrorAction")) == []
            since = history("fails")[1].properties.start_time.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
            assert said(history("fails", filter=f"startTime ge {since}")) == [handled, failed]

    def delete_jobs(self):
        names = [(self.home(name), name) for name in self.cases["jobs"]]
        for home, name in [*names, *(("jobs", name) for name in self.cases["runs"])]:
            with self.check("job delete", name):
                self.api.job("delete", home, name)
                self.raises(404, "NotFound", name, lambda: self.api.job("get", home, name))
        with self.check("jobs", "none"):
            assert [list(self.api.job("list", home)) for home in HOMES] == [[], []]

    # What is refused.

    def refuse(self):
        api, cases = self.api, self.cases
        missing = (404, "ResourceNotFound", "nowhere")
        no_job = (404, "NotFound", "nobody")
        any_job = self.builder.build("JobDefinition", cases["jobs"]["http-get"]["body"])
        any_collection = self.builder.build("JobCollectionDefinition", cases["collectionPatch"]["body"])
        for what, expected, call in (
            ("collection get", missing, lambda: api.collection("get", GROUP, "nowhere")),
            ("collection patch", missing, lambda: api.collection("patch", GROUP, "nowhere", body=any_collection)),
            ("collection enable", missing, lambda: api.finish("enable", "nowhere")),
            ("collection disable", missing, lambda: api.finish("disable", "nowhere")),
            ("collection delete", missing, lambda: api.finish("delete", "nowhere")),
            ("jobs", missing, lambda: list(api.job("list", "nowhere"))),
            ("job put", missing, lambda: api.job("create_or_update", "nowhere", "nobody", body=any_job)),
            ("job get", no_job, lambda: api.job("get", "jobs", "nobody")),
            ("job patch", no_job, lambda: api.job("patch", "jobs", "nobody", body=any_job)),
            ("job run", no_job, lambda: api.job("run", "jobs", "nobody")),
            ("job delete", no_job, lambda: api.job("delete", "jobs", "nobody")),
            ("history", no_job, lambda: list(api.job("list_job_history", "jobs", "nobody"))),
        ):
            with self.check("404", what):
                self.raises(*expected, call)

        for name, case in cases["refused"].items():
            with self.check("400", name):
                body = self.built("JobDefinition", case["body"])
                call = lambda: api.job("create_or_update", "jobs", name, body=body)
                self.raises(400, "BadRequest", case["says"], call)
        with self.check("400", "an unknown filter"):
            self.raises(400, "BadRequest", "$filter", lambda: list(api.job("list", "jobs", filter="name eq x")))

        with self.check("409", "a recurrence that is too fast"):
            body = self.built("JobDefinition", cases["tooFast"]["body"])
            call = lambda: api.job("create_or_update", "standard", "fast", body=body)
            self.raises(409, "Conflict", "3 minutes", call)
        with self.check("409", "a second job where one is allowed"):
            api.job("create_or_update", "for-one-job", "first", body=any_job)
            call = lambda: api.job("create_or_update", "for-one-job", "second", body=any_job)
            self.raises(409, "Conflict", "quota", call)
        with self.check("409", "a second free collection"):
            body = self.built("JobCollectionDefinition", cases["collections"]["free"]["body"])
            call = lambda: api.collection("create_or_update", GROUP, "free-2", body=body)
            self.raises(409, "Conflict", "free", call)

        for what, get, put in (
            (
                "job",
                (api.jobs.get, GROUP, "jobs", "http-get"),
                lambda headers: api.job("create_or_update", "jobs", "http-get", body=any_job, headers=headers),
            ),
            (
                "collection",
                (api.collections.get, GROUP, "standard"),
                lambda headers: api.collection("patch", GROUP, "standard", body=any_collection, headers=headers),
            ),
        ):
            with self.check("412", f"a {what} that somebody changed"):
                known = api.etag(*get)
                put({"If-Match": known})
                assert api.etag(*get) != known
                self.raises(412, "PreconditionFailed", "", lambda: put({"If-Match": known}))

    def see_the_example(self, target):
        with self.check("example", "first job"):
            job = self.api.example.first_job(self.api.client, target)
            assert job.name == "first/hello", job.name

    def see_every_field(self):
        """No member of a model was left out: a field that nobody wrote or read was not compared either."""
        with self.check("every field", "of every model"):
            left = [field for field in self.builder.unused() if field not in NOBODY_USES]
            assert not left, ", ".join(left)


class Many:
    """A subscription with more collections than a page has."""

    def __init__(self, api, names):
        self.api, self.names = api, names


def run(kind):
    """`main.py URL CASES SUBSCRIPTION MANY`: `MANY` is the number of collections in the subscription `many`."""
    url, path, subscription, many = sys.argv[1:]
    # It warns of times without a zone, which are there on purpose.
    logging.getLogger("msrest").setLevel(logging.ERROR)
    cases = Cases(path)
    conformance = Conformance(kind(url, subscription), cases)
    names = [f"c{number:04}" for number in range(int(many))]
    conformance.write_collections()
    conformance.patch_collection()
    conformance.list_collections(Many(kind(url, "many"), names))
    conformance.switch_collection()
    conformance.write_jobs()
    conformance.rewrite_jobs()
    conformance.list_jobs()
    conformance.run_jobs()
    conformance.read_history()
    conformance.refuse()
    conformance.delete_jobs()
    conformance.delete_collections()
    conformance.see_the_example(f"{url}/api/echo")
    conformance.see_every_field()
