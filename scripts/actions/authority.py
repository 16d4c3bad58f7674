"""An authority that gives out tokens over TLS, as Azure's v1 endpoint does, and logs every question.

authority.py '{"port": …, "cert": …, "key": …, "log": …, "tenant": …, "audience": …, "client": …, "secret": …,
               "lifetime": …, "signing": …}'

A token is `tok.`, the second in which it ends, and a signature, so that whoever knows the key can tell a good one,
whichever life of this process it comes from.
"""

import hashlib
import hmac
import http.server
import json
import sys
import time
import urllib.parse

from tls_server import TlsServer


def signature(signing, end):
    return hmac.new(signing.encode(), end.encode(), hashlib.sha256).hexdigest()


def is_good(token, signing):
    word, end, given = (token.split(".") + ["", ""])[:3]
    good = word == "tok" and hmac.compare_digest(given, signature(signing, end))
    return good and int(end) > time.time()


def main(options):
    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self):
            form = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
            given = dict(urllib.parse.parse_qsl(form))
            expected = {"grant_type": "client_credentials", "client_id": options["client"],
                        "client_secret": options["secret"], "resource": options["audience"]}
            good = self.path == f"/{options['tenant']}/oauth2/token" and given == expected
            with open(options["log"], "a") as log:
                log.write(json.dumps({"good": good}) + "\n")
            if not good:
                told = {"error": "invalid_client", "error_description": f"AADSTS7000215: {given} is wrong.\r\nTrace"}
                self.answer(401, told)
                return
            end = str(int(time.time()) + options["lifetime"])
            token = f"tok.{end}.{signature(options['signing'], end)}"
            # As texts, like Azure.
            self.answer(200, {"token_type": "Bearer", "expires_in": str(options["lifetime"]), "access_token": token})

        def answer(self, status, document):
            body = json.dumps(document).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    TlsServer(options["port"], Handler, options["cert"], options["key"]).serve_forever()


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
