from azure.core.credentials import AccessToken
from azure.mgmt.scheduler import SchedulerManagementClient
from azure.mgmt.scheduler.models import HttpRequest, JobAction, JobCollectionDefinition, JobDefinition, JobProperties


class AnyToken:
    def get_token(self, *scopes, **options):
        return AccessToken("any", 2**31)


def connect(url, subscription):
    return SchedulerManagementClient(AnyToken(), subscription, base_url=url)


def first_job(client, target):
    plain = {"enforce_https": False}  # with every call, where the URL is one of plain HTTP
    client.job_collections.create_or_update("group", "first", JobCollectionDefinition(location="westus"), **plain)
    action = JobAction(type="Http", request=HttpRequest(method="GET", uri=target))
    job = JobDefinition(properties=JobProperties(action=action))
    return client.jobs.create_or_update("group", "first", "hello", job, **plain)
