from azure.mgmt.scheduler import SchedulerManagementClient
from azure.mgmt.scheduler.models import HttpRequest, JobAction, JobCollectionDefinition, JobProperties
from msrest.authentication import BasicTokenAuthentication


def connect(url, subscription):
    return SchedulerManagementClient(BasicTokenAuthentication({"access_token": "any"}), subscription, base_url=url)


def first_job(client, target):
    client.job_collections.create_or_update("group", "first", JobCollectionDefinition(location="westus"))
    action = JobAction(type="Http", request=HttpRequest(method="GET", uri=target))
    return client.jobs.create_or_update("group", "first", "hello", properties=JobProperties(action=action))
