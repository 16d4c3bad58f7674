"""Verifies a signed call with the library of Standard Webhooks. The answer is true or false.

webhook_client.py SECRET HEADERS BODY
"""

import json
import sys

from standardwebhooks.webhooks import Webhook, WebhookVerificationError

secret, headers, body = sys.argv[1:]
try:
    Webhook(secret).verify(body, json.loads(headers))
    print("true")
except WebhookVerificationError:
    print("false")
