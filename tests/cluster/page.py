"""The page of a cluster: `/` for people, which loads itself again, and `/status.json` for programs."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from html import escape
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import msgspec

from tests.cluster.load import PAUSE_S
from tests.cluster.status import ClusterStatus, NodeState, StatusBoard

HOST = "127.0.0.1"
REFRESH_S = 1

BAD = ' class="bad"'

STYLE = """
body { font: 16px/1.5 sans-serif; margin: 2em; color: #222; background: #fff }
table { border-collapse: collapse; margin: 1em 0 }
th, td { border: 1px solid #bbb; padding: .3em .7em; text-align: left }
th { background: #eee }
.bad { background: #fdd }
"""


@contextmanager
def serving_page(board: StatusBoard, port: int) -> Iterator[str]:
    """Serve the page on loopback; the value is its address. Errors: OSError, if the port is taken."""

    class PageHandler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.path == "/":
                self._answer(page(board.newest()).encode(), "text/html; charset=utf-8")
            elif self.path == "/status.json":
                self._answer(msgspec.json.encode(board.newest()), "application/json")
            else:
                self.send_error(404)

        def _answer(self, body: bytes, media: str) -> None:
            self.send_response(200)
            self.send_header("content-type", media)
            self.send_header("content-length", str(len(body)))
            self.send_header("cache-control", "no-store")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name of the base class
            """Print nothing for a request."""

    with ThreadingHTTPServer((HOST, port), PageHandler) as server:
        thread = threading.Thread(target=server.serve_forever, name="page", daemon=True)
        thread.start()
        try:
            yield f"http://{HOST}:{server.server_port}/"
        finally:
            server.shutdown()
            thread.join()


def page(status: ClusterStatus) -> str:
    """The page as HTML."""
    load = status.load
    leader = f"{escape(status.leader)} leads" if status.leader else "No node leads"
    pauses = "".join(
        f"<tr><td>{pause.began:%H:%M:%S}</td><td>{pause.lasted_s} s</td></tr>" for pause in reversed(load.pauses)
    )
    silence = f", none for {load.silent_s} s" if load.silent_s >= PAUSE_S else ""
    return f"""<!DOCTYPE html>
<html lang="en">
<head><meta charset="utf-8"><meta http-equiv="refresh" content="{REFRESH_S}">
<title>{leader}</title><style>{STYLE}</style></head>
<body>
<h1>{leader}</h1>
<p>{load.appended:,} events appended, {load.appends_per_s} a second{silence}.
{f"{load.given_up} requests were given up." if load.given_up else ""}
State of {status.at:%H:%M:%S} UTC; <a href="/status.json">as JSON</a>.</p>
<table>
<tr><th>node</th><th>PostgreSQL</th><th>state</th><th>timeline</th><th>lag, bytes</th><th>server</th><th>ready</th>
<th>newest position</th></tr>
{"".join(map(_row, status.nodes))}
</table>
<h2>Newest pauses</h2>
<table><tr><th>began</th><th>lasted</th></tr>{pauses}</table>
</body>
</html>
"""


def _row(node: NodeState) -> str:
    database = node.database
    state = database.state if database else "unknown"
    healthy = node.answers and state in {"running", "streaming"}
    cells = [
        (node.name, True),
        (database.role.replace("_", " ") if database else "unknown", healthy),
        (state if node.answers else f"{state}; Patroni does not answer", healthy),
        (database.timeline if database else None, True),
        (database.lag if database else None, True),
        (node.url, True),
        ("yes" if node.ready else f"no: {node.reason or 'it does not say why'}", node.ready),
        (node.position, True),
    ]
    shown = "".join(
        f"<td{'' if good else BAD}>{'' if value is None else escape(str(value))}</td>" for value, good in cells
    )
    return f"<tr>{shown}</tr>\n"
