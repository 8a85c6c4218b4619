"""The same history through two real servers, one over a file and one over PostgreSQL: their answers are equal.

Left out are what only one server knows: the times and ids that it drew itself, and what follows from these bytes.
"""

import asyncio
import re
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from typing import NamedTuple

import httpx
import msgspec
import pytest
from hypothesis import Phase, example, given, settings

from api.client.open_store import open_remote_store
from api.http.route_table import operations
from events.decision import DecisionRecorded
from ledger.place import DatabasePlace
from tests.api.histories import NAMES, SOURCES, Records, Step, answered, histories, misfit
from tests.ledger.postgres.places import new_ledger
from tests.support.event_loop import run
from tests.support.postgres import Primary
from tests.support.server import Served, served

pytestmark = pytest.mark.slow

OWN = {
    "/checkpoint",
    "/checkpoint/witnessed",
    "/export",
    "/health",
    "/healthz",
    "/metrics",
    "/openapi.json",
    "/readyz",
    "/status",
}
"""Routes whose answers are about the server, its files, or all bytes of the log."""

MOMENT = re.compile(rb"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z")
DRAWN = re.compile(rb"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}")
DRAWN_CHECK = re.compile(rb'(?<="subject":"check/)[0-9a-f]{8}|(?<="check_id":")[0-9a-f]{8}')
"""The id that a server draws for the evaluation of an action, such as one that follows a recorded decision."""
DRAWN_FIELD = re.compile(rb'"request_id":"[^"]*"')
STATE_DIGEST = re.compile(rb'"digest":"[^"]*"')
"""In the answer of `/projections/NAME`, the digest of a state that contains the times."""


class Both(NamedTuple):
    """A server over a file, a server over PostgreSQL, and when they were started."""

    file: Served
    database: Served
    began: bytes

    def general(self, body: bytes) -> bytes:
        """A body without times since the start, and without ids that a server drew."""
        timeless = MOMENT.sub(lambda found: b"NOW" if found[0] >= self.began else found[0], body)
        return DRAWN_FIELD.sub(b"", DRAWN_CHECK.sub(b"DRAWN", DRAWN.sub(b"DRAWN", timeless)))

    def check(self, what: object, first: bytes, second: bytes) -> None:
        assert self.general(first) == self.general(second), what


@pytest.fixture(scope="module")
def both(postgres: Primary, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Both]:
    place: DatabasePlace = run(new_ledger(postgres))
    folder = tmp_path_factory.mktemp("both")
    began = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S").encode()
    with ExitStack() as stack:
        file = stack.enter_context(served(folder / "t.db"))
        options = ("--durability", "local", "--state", str(folder / "state"))
        database = stack.enter_context(served(str(place), *options, logs=folder))
        yield Both(file, database, began)


async def _answers(server: Served, steps: Sequence[Step]) -> list[bytes]:
    async with open_remote_store(server.url, None) as store:
        return [msgspec.json.encode(await answered(step, store)) for step in steps]


def _paths() -> list[str]:
    """Every route that needs no parameter, and those of some streams."""
    linkable = [operation.path for operation in operations() if operation.is_linkable]
    paths = [path for path in linkable if path not in OWN and "." not in path]
    paths[paths.index("/reviews/sample")] += "?seed=7"
    for name in NAMES:
        paths += [f"/decisions/{name}", f"/decisions/{name}/graph", f"/decisions/{name}/neighbors"]
        paths += [f"/streams/decision/{name}", f"/runs/{name}", f"/evaluations/{name}", f"/scenarios/{name}"]
    return paths


def _check_history(both: Both, steps: Sequence[Step]) -> None:
    first, second = (asyncio.run(_answers(server, steps)) for server in (both.file, both.database))
    for step, *answers in zip(steps, first, second, strict=True):
        both.check(step, *answers)


CHECKED: list[Step] = [
    misfit("guardrail.set.v1", "r1", SOURCES[0], None, None),
    Records(DecisionRecorded(decision_id="d0", decision="x", confidence=0.5), "own-1", SOURCES[0], None),
]
"""A decision that is recorded while a guardrail is in force: its evaluation is an event, too."""


@given(steps=histories(local=False, max_events=20))
@example(steps=CHECKED)
@settings(max_examples=8, deadline=None, phases=(Phase.explicit, Phase.reuse, Phase.generate))
def test_both_servers_answer_the_same(both: Both, steps: list[Step]) -> None:
    _check_history(both, steps)
    _compare_views(both)


@given(steps=histories(local=False, max_events=60))
@settings(max_examples=40, deadline=None, phases=(Phase.reuse, Phase.generate))
def test_many_histories_are_the_same_through_both_servers(both: Both, steps: list[Step]) -> None:
    _check_history(both, steps)
    _compare_views(both)


def _compare_views(both: Both) -> None:
    """Compare what both servers show of everything that was posted, byte for byte."""
    with httpx.Client(base_url=both.file.url) as file, httpx.Client(base_url=both.database.url) as database:
        projections = [one["name"] for one in file.get("/projections").json()["projections"]]
        for path in [*_paths(), *(f"/projections/{name}" for name in projections)]:
            shown = [client.get(path) for client in (file, database)]
            assert shown[0].status_code == shown[1].status_code, path
            bodies = [answer.content for answer in shown]
            if path.startswith("/projections/"):
                bodies = [STATE_DIGEST.sub(b"", body) for body in bodies]
            both.check(path, *bodies)
        lines = {"accept": "application/x-ndjson"}
        pages = [client.get("/events", params={"limit": "1000"}, headers=lines).content for client in (file, database)]
        both.check("the lines", *pages)
