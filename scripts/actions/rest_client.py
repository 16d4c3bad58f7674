"""Sends one message with the last REST client of Service Bus.

rest_client.py HOST:PORT KEY_NAME KEY queue|topic ENTITY, and the message as JSON on standard input
"""

import json
import sys

from azure.servicebus import ServiceBusService
from azure.servicebus.models import Message

host, name, key, kind, entity = sys.argv[1:]
given = json.load(sys.stdin)
service = ServiceBusService("namespace", shared_access_key_name=name, shared_access_key_value=key)
# It knows hosts of Azure and https only; what it is compared with listens on the loopback without TLS.
service._get_host = lambda: host
service._httpclient.protocol = "http"
message = Message(
    given["body"].encode(),
    type=given["type"],
    custom_properties=given["custom"],
    broker_properties=given["broker"],
)
send = service.send_queue_message if kind == "queue" else service.send_topic_message
send(entity, message)
