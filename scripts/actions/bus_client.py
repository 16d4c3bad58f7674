"""Reads what lies in a queue of a Service Bus namespace, with Azure's own client. The answer is a line of JSON.

bus_client.py PORT KEY_NAME KEY QUEUE COUNT
"""

import json
import sys

from azure.servicebus import ServiceBusClient, ServiceBusReceiveMode

port, name, key, queue, count = sys.argv[1:]
connection = (
    f"Endpoint=sb://127.0.0.1:{port};SharedAccessKeyName={name};SharedAccessKey={key};UseDevelopmentEmulator=true"
)
text = lambda value: value.decode() if isinstance(value, bytes) else value
found = []
with ServiceBusClient.from_connection_string(connection, retry_total=0) as client:
    mode = ServiceBusReceiveMode.RECEIVE_AND_DELETE
    with client.get_queue_receiver(queue, receive_mode=mode, max_wait_time=30) as receiver:
        for message in receiver:
            found.append(
                {
                    "body": b"".join(message.body).decode(),
                    "message_id": message.message_id,
                    "subject": message.subject,
                    "correlation_id": message.correlation_id,
                    "content_type": message.content_type,
                    "time_to_live": message.time_to_live and message.time_to_live.total_seconds(),
                    "session_id": message.session_id,
                    "reply_to": message.reply_to,
                    "reply_to_session_id": message.reply_to_session_id,
                    "to": message.to,
                    "partition_key": message.partition_key,
                    "via_partition_key": text(
                        (message.raw_amqp_message.annotations or {}).get(b"x-opt-via-partition-key")
                    ),
                    "scheduled": message.scheduled_enqueue_time_utc
                    and message.scheduled_enqueue_time_utc.isoformat(),
                    "durable": message.raw_amqp_message.header.durable,
                    "custom": {text(k): text(v) for k, v in (message.application_properties or {}).items()},
                }
            )
            if len(found) == int(count):
                break
print(json.dumps(found))
