"""azure-mgmt-scheduler 2.0.0, which speaks through msrest."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "python"))

from azure.mgmt.scheduler import models
from msrest.exceptions import DeserializationError
from msrestazure.azure_exceptions import CloudError

import conformance
import example


class Python2(conformance.Api):
    models = models
    # One type for every status.
    errors = {404: CloudError, 409: CloudError, 400: CloudError, 412: CloudError}
    example = example
    # It writes durations as TimeSpan, and reads them so everywhere but in lists, where it reads ISO 8601. Nothing that a
    # server answers suits both; Azure answered TimeSpan.
    cannot_list_durations = DeserializationError
    finish_names = {"delete": "delete", "enable": "enable", "disable": "disable"}

    def job_arguments(self, job):
        return {"properties": job.properties}

    def options(self, headers):
        return {"custom_headers": headers}

    def problem(self, error):
        return error.status_code, error.error.error, error.error.message

    def etag(self, get, *names):
        return get(*names, raw=True).response.headers["ETag"]


if __name__ == "__main__":
    conformance.run(Python2)
