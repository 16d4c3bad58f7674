"""A target that writes down every call it gets: when, which path, which tag."""

import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

# Long enough for calls to be under way when something happens.
PAUSE = 0.03


class Target:
    def __init__(self, path):
        self.log = open(path, "a", buffering=1)
        self.lock = threading.Lock()
        target = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                arrived = time.time()
                self.rfile.read(int(self.headers.get("Content-Length") or 0))
                line = {"at": arrived, "path": self.path, "tag": self.headers["x-ms-execution-tag"]}
                with target.lock:
                    target.log.write(json.dumps(line) + "\n")
                time.sleep(PAUSE)
                self.send_response(200)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_):
                pass

        class Server(ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 256

            def handle_error(self, *_):
                """A node that is killed breaks its calls off; that is the point."""

        self.server = Server(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
