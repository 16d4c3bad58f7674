"""The counterparts of HTTP actions: a certificate authority, targets that it vouches for, and an authority of tokens."""

import base64
import json
import signal
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler

import authority
from counterparts import PARTS, START, Trouble, answers, free_port, stop, within
from tls_server import TlsServer

TENANT, AUDIENCE, CLIENT = "example.onmicrosoft.com", "https://api.example/", "client-1"
# With what a form, a URI and JSON write otherwise.
SECRET = "cl1ent&s3cret+of=checks"
PFX_WORD = "w0rd-of-the-file"
TOKEN_KEY = "the key of tokens"
# Seconds; short enough that tokens end in the middle of a check.
LIFETIME = 4


class Certificates:
    """A certificate authority, a server's certificate and a caller's."""

    def __init__(self, folder):
        folder.mkdir()
        self.folder, self.ca = folder, folder / "ca.pem"
        self._openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
                      "-subj", "/CN=checks", "-keyout", "ca.key", "-out", "ca.pem",
                      "-addext", "basicConstraints=critical,CA:TRUE", "-addext", "keyUsage=critical,keyCertSign")
        self._issue("server", "localhost", "subjectAltName=DNS:localhost")
        self._issue("caller", "the caller", "extendedKeyUsage=clientAuth")
        self._openssl("pkcs12", "-export", "-inkey", "caller.key", "-in", "caller.pem", "-passout", f"pass:{PFX_WORD}",
                      "-out", "caller.pfx")
        self.pfx = base64.b64encode((folder / "caller.pfx").read_bytes()).decode()

    def _issue(self, name, subject, extension):
        (self.folder / f"{name}.ext").write_text(extension)
        self._openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                      "-subj", f"/CN={subject}", "-keyout", f"{name}.key", "-out", f"{name}.csr")
        self._openssl("x509", "-req", "-in", f"{name}.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial",
                      "-days", "2", "-extfile", f"{name}.ext", "-out", f"{name}.pem")

    def _openssl(self, *arguments):
        done = subprocess.run(["openssl", *arguments], cwd=self.folder, capture_output=True, text=True)
        if done.returncode:
            raise Trouble(f"openssl {arguments[0]}: {done.stderr.strip()}")


class Target:
    """An HTTPS server that records the calls it accepts: anybody's, or only those of callers with a certificate.

    /fail accepts nobody, /token those with a good token.
    """

    def __init__(self, certificates, with_certificate=False):
        self.calls = []
        target = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                headers = {name.lower(): value for name, value in self.headers.items()}
                token = headers.get("authorization", "").removeprefix("Bearer ")
                status = 500 if self.path == "/fail" else 200
                if self.path == "/token" and not authority.is_good(token, TOKEN_KEY):
                    status = 401
                if status == 200:
                    caller = dict(pair for (pair,) in (self.connection.getpeercert() or {}).get("subject", ()))
                    target.calls.append((self.path, headers, body, caller.get("commonName")))
                # Some targets repeat what they were sent; it must not come into the history.
                told = headers.get("authorization", "").encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(told)))
                self.end_headers()
                self.wfile.write(told)

            def log_message(self, *_):
                pass

        folder = certificates.folder
        callers = certificates.ca if with_certificate else None
        self.server = TlsServer(0, Handler, folder / "server.pem", folder / "server.key", callers)

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()

    def url(self, path):
        return f"https://localhost:{self.server.server_port}{path}"

    def tags(self, path):
        """The execution tags of the accepted calls of a path, as they came."""
        return [headers["x-ms-execution-tag"] for at, headers, _, _ in list(self.calls) if at == path]


class TokenAuthority:
    """The process that gives out tokens."""

    def __init__(self, certificates, folder):
        self.folder, self.port, self.process = folder, free_port(), None
        own = certificates.folder
        self.options = {
            "port": self.port, "cert": str(own / "server.pem"), "key": str(own / "server.key"),
            "log": str(folder / "questions"), "tenant": TENANT, "audience": AUDIENCE, "client": CLIENT,
            "secret": SECRET, "lifetime": LIFETIME, "signing": TOKEN_KEY,
        }

    def __enter__(self):
        self.folder.mkdir()
        self.start()
        return self

    def __exit__(self, *_):
        self.kill()

    def start(self):
        self.process = subprocess.Popen([sys.executable, PARTS / "authority.py", json.dumps(self.options)])
        if not within(START, lambda: answers(self.port)):
            raise Trouble("the authority of tokens does not start")

    def kill(self):
        stop(self.process, signal.SIGKILL)

    def questions(self):
        """How many questions were answered well, and how many not."""
        log = self.folder / "questions"
        lines = [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
        good = sum(1 for line in lines if line["good"])
        return good, len(lines) - good


def http(uri, authentication=None, body="{\"r\u00e9port\": 1}"):
    request = {"uri": uri, "method": "POST", "body": body}
    if authentication:
        request["authentication"] = authentication
    return {"type": "Https", "request": request}


def oauth(secret=SECRET):
    return {"type": "ActiveDirectoryOAuth", "tenant": TENANT, "audience": AUDIENCE, "clientId": CLIENT,
            "secret": secret}


def certificate(certificates):
    return {"type": "ClientCertificate", "pfx": certificates.pfx, "password": PFX_WORD}
