"""A server that records what is sent to it, and the comparison of two clients of Service Bus's REST endpoint."""

import base64
import hashlib
import hmac
import http.server
import json
import re
import threading
import urllib.parse

from counterparts import Trouble

# What the transport of either client adds.
MARK = "x-punctual-hops"
OF_THE_TRANSPORT = {"host", "user-agent", "accept", "accept-encoding", "connection", "content-length"}
BROKER = {
    "MessageId": "m-1",
    "Label": "nightly",
    "CorrelationId": "c-1",
    "SessionId": "s-1",
    "ReplyTo": "answers",
    "ReplyToSessionId": "rs-1",
    "To": "somewhere",
    "TimeToLive": 5400,
    "ScheduledEnqueueTimeUtc": "Thu, 01 Mar 2035 12:30:00 GMT",
    "PartitionKey": "s-1",
    "ViaPartitionKey": "v-1",
    "ForcePersistence": True,
}


class Recorder:
    def __enter__(self):
        self.requests = []
        recorder = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                headers = {name.lower(): value for name, value in self.headers.items()}
                recorder.requests.append((self.path, headers, body.decode()))
                self.send_response(201)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self.server.server_port
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()

    def last(self):
        if not self.requests:
            raise Trouble("nothing was recorded")
        return self.requests.pop()


def compare(recorder, clients, kind, key_name, key, message, custom):
    """What we sent last, and what the client sends now."""
    path, ours, body = recorder.last()
    given = {"body": message, "type": "text/plain", "custom": custom, "broker": BROKER}
    host = f"127.0.0.1:{recorder.port}"
    clients.old("rest_client.py", host, key_name, key, kind, "orders", text=json.dumps(given))
    their_path, theirs, their_body = recorder.last()

    def same(what, one, other):
        if one != other:
            raise Trouble(f"REST, {kind}: {what} is {one!r}, the client sends {other!r}")

    same("the path", path, their_path)
    same("the body", body, their_body)
    # Every call of ours has the mark, so that the scheduler is no target of its own jobs; the service ignores it.
    same("the mark", ours.pop(MARK, None), "1")
    names = [set(headers) - OF_THE_TRANSPORT for headers in (ours, theirs)]
    same("the set of headers", sorted(names[0]), sorted(names[1]))
    for name in names[0] - {"brokerproperties", "authorization"}:
        same(f"the header {name}", ours[name], theirs[name])
    # The client writes numbers and truths as texts; the service's documentation does not.
    as_texts = lambda header: {
        name: value if isinstance(value, str) else str(value).lower() for name, value in json.loads(header).items()
    }
    same("BrokerProperties", as_texts(ours["brokerproperties"]), as_texts(theirs["brokerproperties"]))
    same("the token", resource(ours["authorization"], key), resource(theirs["authorization"], key))


def resource(token, key):
    """The key's name and the path that a token is for, if it is signed with the key."""
    fields = dict(pair.split("=", 1) for pair in token.removeprefix("SharedAccessSignature ").split("&"))
    if sorted(fields) != ["se", "sig", "skn", "sr"] or not token.startswith("SharedAccessSignature "):
        raise Trouble(f"not a token: {sorted(fields)}")
    expected = hmac.new(key.encode(), f"{fields['sr']}\n{fields['se']}".encode(), hashlib.sha256).digest()
    if urllib.parse.unquote(fields["sig"]) != base64.b64encode(expected).decode():
        raise Trouble("a token is not signed with the key")
    return fields["skn"], re.sub(r"^https?://[^/]*", "", urllib.parse.unquote(fields["sr"]))
