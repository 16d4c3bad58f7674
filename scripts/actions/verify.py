import base64
import hashlib
import hmac
import time


def is_genuine(secret, headers, body):
    """Whether a call was signed with the secret within the last five minutes. `body` is the bytes as they came."""
    message, sent = headers["webhook-id"], headers["webhook-timestamp"]
    key = base64.b64decode(secret.removeprefix("whsec_"))
    digest = hmac.new(key, f"{message}.{sent}.".encode() + body, hashlib.sha256).digest()
    expected = "v1," + base64.b64encode(digest).decode()
    signatures = headers["webhook-signature"].split(" ")
    return abs(time.time() - int(sent)) < 300 and any(hmac.compare_digest(expected, one) for one in signatures)
