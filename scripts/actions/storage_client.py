"""Makes queues and reads them with Azure's own client. The answer is a line of JSON.

storage_client.py make ENDPOINT QUEUE...    makes queues; a token that may add messages
storage_client.py read ENDPOINT QUEUE       the texts that lie in a queue, as they lie there
"""

import datetime
import json
import sys

from azure.storage.queue import AccountSasPermissions, QueueServiceClient, ResourceTypes, generate_account_sas

ACCOUNT = "devstoreaccount1"
# The one that every emulator has, and its documentation names.
KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="

command, endpoint, *queues = sys.argv[1:]
service = QueueServiceClient(endpoint, credential={"account_name": ACCOUNT, "account_key": KEY})
if command == "make":
    for queue in queues:
        service.create_queue(queue)
    token = generate_account_sas(
        ACCOUNT,
        KEY,
        ResourceTypes(object=True),
        AccountSasPermissions(add=True),
        datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(hours=1),
    )
    print(json.dumps(token))
else:
    client = service.get_queue_client(queues[0])
    print(json.dumps([message.content for message in client.receive_messages(messages_per_page=32)]))
