"""A small embeddings endpoint as a process of its own: `python -m tests.support.embeddings_endpoint --log FILE`.

A vector counts the words of a text in NUMBERS buckets, by their SHA-256; words of one group in SYNONYMS share a bucket,
so that texts can be near without a common word. Each request is a line in the log.
"""

import argparse
import hashlib
import json
import math
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from tests.support.paths import ROOT

NUMBERS = 64
SYNONYMS = ({"car", "automobile", "vehicle"}, {"doctor", "physician"}, {"happy", "glad"})


def vector_of(text: str, numbers: int = NUMBERS) -> list[float]:
    """The vector of a text, of length 1."""
    counts = [0.0] * numbers
    for word in re.findall(r"\w+", text.lower()):
        group = next((min(words) for words in SYNONYMS if word in words), word)
        counts[int.from_bytes(hashlib.sha256(group.encode()).digest()[:4]) % numbers] += 1
    length = math.hypot(*counts) or 1.0
    return [count / length for count in counts] if any(counts) else [1.0] + [0.0] * (numbers - 1)


def main() -> None:
    """Serve until killed. The first line of standard output is the address."""
    options = argparse.ArgumentParser()
    options.add_argument("--log", type=Path, required=True)
    options.add_argument("--numbers", type=int, default=NUMBERS)
    options.add_argument("--delay-s", type=float, default=0.0)
    options.add_argument("--key", default="")
    chosen = options.parse_args()

    class Handler(BaseHTTPRequestHandler):
        """Answers POST /v1/embeddings."""

        def do_POST(self) -> None:
            """Answer a request with a vector for each text."""
            asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
            with chosen.log.open("a", encoding="utf-8") as file:
                file.write(json.dumps(asked) + "\n")
            time.sleep(chosen.delay_s)
            allowed = self.headers.get("authorization", "") == (f"Bearer {chosen.key}" if chosen.key else "")
            vectors = [vector_of(text, chosen.numbers) for text in asked["input"]]
            data = [{"index": index, "embedding": vector} for index, vector in enumerate(vectors)]
            body = json.dumps({"data": data} if allowed else {"error": {"message": "no such key"}}).encode()
            self.send_response(200 if allowed else 401)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name in the base class
            """Say nothing."""

    class Server(ThreadingHTTPServer):
        """Says nothing of a client that was killed."""

        def handle_error(self, request: object, client_address: object) -> None:
            """Say nothing."""

    server = Server(("127.0.0.1", 0), Handler)
    print(f"http://127.0.0.1:{server.server_address[1]}/v1", flush=True)
    server.serve_forever()


class Endpoint:
    """A running endpoint: its address, and the texts that it was sent."""

    def __init__(self, log: Path, *options: str) -> None:
        self._log = log
        command = [sys.executable, "-m", "tests.support.embeddings_endpoint", "--log", str(log), *options]
        self.process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        self.address = self.process.stdout.readline().strip()

    def texts(self) -> list[str]:
        """Every text that it was sent."""
        if not self._log.exists():
            return []
        return [
            text for line in self._log.read_text(encoding="utf-8").splitlines() for text in json.loads(line)["input"]
        ]

    def stop(self) -> None:
        """End the process."""
        self.process.kill()
        self.process.wait()
        assert self.process.stdout is not None
        self.process.stdout.close()


@contextmanager
def embedding(log: Path, *options: str) -> Iterator[Endpoint]:
    """Run an endpoint."""
    endpoint = Endpoint(log, *options)
    try:
        yield endpoint
    finally:
        endpoint.stop()


if __name__ == "__main__":
    main()
