"""A target that writes down every call it gets: when, from which node, which path, which tag, and how it answered.

Started by scripts/cluster/disturb.py as a process of its own; prints its port. The first part of the path says how it
answers:

  run, new, old   soon
  slow            after half a second to three seconds, so that calls are under way whatever happens
  flaky           with a failure the first time an execution calls, and well afterwards
  fail            with a failure, always
"""

import hashlib
import json
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PAUSE = 0.03
PATIENT = 60


def owner(client, port):
    """The user whose socket a call comes from; every node has its own."""
    theirs = f"0100007F:{client:04X}"
    ours = f"0100007F:{port:04X}"
    with open("/proc/net/tcp") as sockets:
        for line in sockets:
            fields = line.split()
            if fields[1] == theirs and fields[2] == ours:
                return int(fields[7])
    return None


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = PATIENT

    def setup(self):
        super().setup()
        self.user = owner(self.client_address[1], self.server.server_address[1])

    def do_POST(self):
        arrived = time.time()
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        kind, tag = self.path.split("/")[1], self.headers["x-ms-execution-tag"].replace("-", "")
        status = self.server.status_for(kind, tag)
        self.server.note({"at": arrived, "user": self.user, "path": self.path, "tag": tag, "status": status})
        pause = PAUSE
        if kind == "slow":
            # The same for each call of an execution, and different for different ones.
            pause = 0.5 + 2.5 * hashlib.sha256(tag.encode()).digest()[0] / 255
        time.sleep(pause)
        self.send_response(status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


class Target(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 1024

    def __init__(self, path):
        super().__init__(("127.0.0.1", 0), Handler)
        self.log = open(path, "a", buffering=1)
        self.lock = threading.Lock()
        self.failed = set()

    def status_for(self, kind, tag):
        if kind == "fail":
            return 500
        with self.lock:
            if kind == "flaky" and tag not in self.failed:
                self.failed.add(tag)
                return 503
        return 200

    def note(self, line):
        with self.lock:
            self.log.write(json.dumps(line) + "\n")

    def handle_error(self, *_):
        """A node that is killed breaks its calls off; that is the point."""


if __name__ == "__main__":
    target = Target(sys.argv[1])
    print(target.server_address[1], flush=True)
    target.serve_forever()
