"""A server whose files fail: what it answers then, what it says of itself, and what is there when it starts again."""

import random
from pathlib import Path
from typing import NamedTuple

from tests.faults.disk import memory
from tests.faults.lines import stored
from tests.faults.posting import Answer, Poster, event, text_of
from tests.faults.served import WAL_PAGES
from tests.faults.shim import FOR_EVER, Call, Shim
from tests.faults.soundness import ids_of
from tests.support.server import Served, serving

POSTS = 700
POSTS_AFTER = 10
"""How much is tried after a call has failed."""

PAGES = 40

READS = ("/events?limit=20&order=desc", "/calibration", "/decisions?limit=5", "/readyz")
"""The requests between posts."""


class Outage(NamedTuple):
    """The result of one fault under a server."""

    stopped: bool
    acknowledged: int
    wrong: list[str]


class Asking:
    """One client of the server, and the answers it got."""

    def __init__(self, poster: Poster, shim: Shim, rng: random.Random) -> None:
        self.poster, self.shim, self.rng = poster, shim, rng
        self.acknowledged: dict[str, int] = {}
        self.posted: list[list[str]] = []
        self.wrong: list[str] = []

    def play(self, call: Call) -> None:
        """Post and read until a call has failed, and somewhat longer; or to the end."""
        left = POSTS_AFTER
        for number in range(POSTS):
            self.post([f"{number}-{place}" for place in range(self.rng.choice((1, 1, 3, 20)))])
            self.read(self.rng.choice(READS))
            left -= self.shim.failed(call) > 0
            if left == 0:
                break

    def post(self, names: list[str]) -> None:
        self.posted.append(names)
        answer = self.poster.post(*[event(name, text_of(name)) for name in names])
        if answer.status == 201:
            self.acknowledged |= positions(answer)
        elif answer.status != 503 or not refused(answer):
            self.wrong.append(f"a post was answered {answer.status} {answer.body[:200]!r}")

    def read(self, path: str) -> None:
        answer = self.poster.ask("GET", path)
        if answer.status != 200 and (answer.status != 503 or not (refused(answer) or path == "/readyz")):
            self.wrong.append(f"{path} was answered {answer.status} {answer.body[:200]!r}")
        if answer.status == 200 and path.startswith("/events"):
            found = {one["id"]: one["position"] for one in answer.json()["events"]}
            if any(self.acknowledged.get(name, place) != place for name, place in found.items()):
                self.wrong.append(f"{path} gave other positions than were acknowledged: {found}")
            if self.acknowledged and max(self.acknowledged.values()) > max(found.values(), default=0):
                self.wrong.append(f"{path} ends before what was acknowledged")

    def ask_how_it_is(self, call: Call) -> bool:
        """Whether the server says that it accepts nothing more, and is right."""
        stopped = self.poster.ask("GET", "/readyz").status == 503
        if self.poster.ask("GET", "/healthz").status != 200:
            self.wrong.append("the server no longer said that it lives")
        failed = {record.names[0] for record in self.shim.trace() if record.kind == "F"}
        if call == "sync" and failed & {"ledger.db", "ledger.db-wal"} and not stopped:
            self.wrong.append("a sync failed, and the server still says that it is ready")
        if stopped and self.poster.post(event("too-late")).status != 503:
            self.wrong.append("a server that is not ready acknowledged a post")
        return stopped


def outage(folder: Path, call: Call, number: int, rng: random.Random) -> Outage:
    """Let the n-th call of a server fail that is ready, stop it, start it again, and retry all that was posted."""
    with memory(folder) as place:
        ledger = place / "disk" / "ledger.db"
        shim = Shim(place / "disk", folder, traced=True)
        server = Served(ledger, module="tests.faults.served", environment={**shim.environment, WAL_PAGES: str(PAGES)})
        try:
            shim.fail(call, number, rng.choice((1, 3, FOR_EVER)), torn=rng.random() < 0.5)
            with Poster(server.url) as poster:
                asking = Asking(poster, shim, rng)
                asking.play(call)
                stopped = asking.ask_how_it_is(call)
            if rng.random() < 0.5:
                server.process.kill()
            elif (ended := server.stop()) < 0:
                asking.wrong.append(f"the server did not stop by itself: {ended}")
        finally:
            server.stop()
        shim.heal()
        wrong = asking.wrong + again(ledger, asking)
    return Outage(stopped, len(asking.acknowledged), [f"served, {call} {number}: {text}" for text in wrong])


def again(ledger: Path, asking: Asking) -> list[str]:
    """What is wrong when the server has started again and all is retried."""
    held = {name: place for place, name in enumerate(ids_of(list(stored(ledger))), 1)}
    wrong = [f"{name} was acknowledged, and lost" for name, at in asking.acknowledged.items() if held.get(name) != at]
    with serving(ledger) as url, Poster(url) as poster:
        for names in asking.posted:
            answer = poster.post(*[event(name, text_of(name)) for name in names])
            new = [name for name in names if name not in held]
            if answer.status != (201 if new else 200) or (new and len(new) < len(names)):
                wrong.append(f"{names}, of which {new} were new, were answered {answer.status} {answer.body[:200]!r}")
    return wrong


def positions(answer: Answer) -> dict[str, int]:
    """Return the position of each event, from the answer to a post."""
    reported = answer.json()
    return {placed["id"]: placed["position"] for placed in reported.get("events", [reported])}


def refused(answer: Answer) -> bool:
    """Whether an answer is a problem document that says what to do."""
    if answer.headers.get("content-type") != "application/problem+json":
        return False
    return bool(answer.json().get("advice"))
