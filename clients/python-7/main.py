"""azure-mgmt-scheduler 7.0.0, which speaks through azure-core."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "python"))

from azure.core.exceptions import HttpResponseError, ResourceExistsError, ResourceNotFoundError
from azure.mgmt.scheduler import models

import conformance
import example


class Python7(conformance.Api):
    models = models
    # What raises for a status; for the others azure-core has no type of its own.
    errors = {404: ResourceNotFoundError, 409: ResourceExistsError, 400: HttpResponseError, 412: HttpResponseError}
    example = example
    finish_names = {"delete": "begin_delete", "enable": "begin_enable", "disable": "begin_disable"}

    def job_arguments(self, job):
        return {"job": job}

    def options(self, headers):
        return {"enforce_https": False, "headers": headers or {}}

    def problem(self, error):
        return error.status_code, error.error.code, error.error.message

    def etag(self, get, *names):
        return get(*names, cls=lambda raw, _body, _headers: raw.http_response.headers["ETag"], **self.options(None))


if __name__ == "__main__":
    conformance.run(Python7)
