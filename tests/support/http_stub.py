"""A simulated server on a real socket, for as long as a test needs it."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


def bind(handler: type[BaseHTTPRequestHandler]) -> ThreadingHTTPServer:
    """A server at a free port of loopback, whose requests never outlive the process."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    return server


@contextmanager
def listening(server: ThreadingHTTPServer, closing: threading.Event) -> Iterator[None]:
    """Serve. At the end set `closing`, which releases stalled requests."""
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield
    finally:
        closing.set()
        server.shutdown()
        thread.join()
        server.server_close()
