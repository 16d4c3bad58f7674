"""An HTTP server over TLS, a thread for each connection, handshake included."""

import http.server
import ssl
import sys


class TlsServer(http.server.ThreadingHTTPServer):
    request_queue_size = 128

    def __init__(self, port, handler, certificate, key, callers=None):
        """`callers` is the certificate of who vouches for callers; without it anybody may come."""
        super().__init__(("127.0.0.1", port), handler)
        self.context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=callers)
        self.context.load_cert_chain(certificate, key)
        if callers:
            self.context.verify_mode = ssl.CERT_REQUIRED

    def get_request(self):
        connection, address = super().get_request()
        connection = self.context.wrap_socket(connection, server_side=True, do_handshake_on_connect=False)
        return connection, address

    def handle_error(self, request, client_address):
        # Callers that are refused or hang up are part of the checks.
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, client_address)
