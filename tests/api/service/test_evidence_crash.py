"""Evidence when its process ends anywhere: what the log says holds, and what was done can be done again."""

import signal
import subprocess
import sys
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from api.principal import OWNER
from api.service.evidence import Blob
from api.service.evidence_list import EvidenceQuery, list_evidence
from api.service.ledger import LedgerService
from ledger.errors import Gone, NotFound
from tests.api.service.ledgers import (
    bytes_beside,
    digest_of,
    head,
    refusal,
    within,
)
from tests.support.event_loop import run
from tests.support.paths import ROOT

pytestmark = pytest.mark.slow

CRASH = """
import asyncio, os, signal, sys
from pathlib import Path
from api.principal import OWNER
from api.service.evidence import Blob
from api.service.ledger import LedgerService
from ledger.evidence_store import EvidenceStore

ledger, verb, point = Path(sys.argv[1]), sys.argv[2], sys.argv[3]

async def main():
    service = await LedgerService.open(ledger, writable=True)
    await service.evidence.put(Blob(b"there before"), OWNER)
    real = getattr(EvidenceStore, point.removeprefix("after "))
    def die(self, *given):
        if point.startswith("after "):
            real(self, *given)
        os.kill(os.getpid(), signal.SIGKILL)
    setattr(EvidenceStore, point.removeprefix("after "), die)
    if verb == "put":
        await service.evidence.put(Blob(b"secret " * 1000), OWNER)
    else:
        digest = (await service.evidence.put(Blob(b"there before"), OWNER)).digest
        await service.evidence.erase(digest, "why", OWNER)

asyncio.run(main())
"""


@pytest.mark.parametrize(
    ("verb", "point", "recorded_events", "left"),
    [
        ("put", "write_pending", 1, {b"there before"}),
        ("put", "after write_pending", 1, {b"there before"}),
        ("put", "publish", 2, {b"there before", b"secret " * 1000}),
        ("put", "after publish", 2, {b"there before", b"secret " * 1000}),
        ("erase", "unpublish", 1, {b"there before"}),
        ("erase", "after unpublish", 1, {b"there before"}),
        ("erase", "remove", 2, set()),
        ("erase", "after remove", 2, set()),
    ],
)
def test_a_crash_at_any_point_ends_as_the_log_says(
    tmp_path: Path, verb: str, point: str, recorded_events: int, left: set[bytes]
) -> None:
    ledger = tmp_path / "ledger.db"
    done = subprocess.run(
        [sys.executable, "-c", CRASH, str(ledger), verb, point], cwd=ROOT, capture_output=True, check=False
    )
    assert done.returncode == -signal.SIGKILL, done.stderr

    @within(ledger, writable=False)
    async def _(service: LedgerService) -> None:
        assert await head(service) == recorded_events
        for data in left:
            assert (await service.evidence.get(digest_of(data), OWNER)).data == data, "a reader needs no repair"
        if not left:
            assert await refusal(service.evidence.get(digest_of(b"there before"), OWNER)) is Gone

    @within(ledger)
    async def _again(service: LedgerService) -> None:
        assert await head(service) == recorded_events

    assert bytes_beside(ledger).keys() == {digest_of(data) for data in left}

    @within(ledger)
    async def _retry(service: LedgerService) -> None:
        if verb == "put":
            kept = await service.evidence.put(Blob(b"secret " * 1000), OWNER)
            assert (kept.position, kept.duplicate) == (2, recorded_events == 2)
        else:
            erased = await service.evidence.erase(digest_of(b"there before"), "why", OWNER)
            assert (erased.position, erased.duplicate) == (2, recorded_events == 2)


STEPS = st.lists(st.tuples(st.sampled_from(["put", "erase", "get", "reopen"]), st.integers(0, 3)), max_size=14)


@given(steps=STEPS)
@settings(max_examples=40, deadline=None)
def test_it_is_what_a_plain_dictionary_says(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, int]]
) -> None:
    ledger = tmp_path_factory.mktemp("house") / "ledger.db"
    state: dict[int, str] = {}
    events = 0

    async def step(service: LedgerService, verb: str, number: int) -> None:
        nonlocal events
        data, was = b"piece %d" % number * 20, state.get(number)
        digest = digest_of(data)
        wanted: Coroutine[Any, Any, object]
        if was == "erased" and verb != "erase":
            wanted = service.evidence.put(Blob(data), OWNER) if verb == "put" else service.evidence.get(digest, OWNER)
            assert await refusal(wanted) is Gone
        elif verb == "put":
            assert (await service.evidence.put(Blob(data), OWNER)).duplicate == (was == "kept")
            state[number], events = "kept", events + (was is None)
        elif was is None:
            wanted = (
                service.evidence.erase(digest, None, OWNER) if verb == "erase" else service.evidence.get(digest, OWNER)
            )
            assert await refusal(wanted) is NotFound
        elif verb == "erase":
            assert (await service.evidence.erase(digest, None, OWNER)).duplicate == (was == "erased")
            state[number], events = "erased", events + (was == "kept")
        else:
            assert (await service.evidence.get(digest, OWNER)).data == data

    async def scenario() -> None:
        service = await LedgerService.open(ledger, writable=True)
        try:
            for verb, number in steps:
                if verb == "reopen":
                    await service.close()
                    service = await LedgerService.open(ledger, writable=True)
                else:
                    await step(service, verb, number)
            assert await head(service) == events
            page = await list_evidence(service, EvidenceQuery())
            assert len(page.evidence) == page.total == len(state)
        finally:
            await service.close()

    run(scenario())
    kept = {digest_of(b"piece %d" % number * 20) for number, was in state.items() if was == "kept"}
    assert bytes_beside(ledger).keys() == kept
