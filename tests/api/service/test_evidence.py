"""Store and erase evidence: the log stays true despite concurrent callers and failures."""

import asyncio
import errno
import os
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import pytest

from api.errors import BodyTooLarge
from api.principal import OWNER, Forbidden, Principal
from api.service.evidence import Blob
from api.service.evidence_list import EvidenceQuery, list_evidence
from api.service.ledger import LedgerService
from api.service.projections import ProjectionQuery, get_projection, get_projections, replay_projections
from events.envelope import Draft
from events.errors import InvalidEvent, TallystickError
from events.evidence import EvidenceErased, EvidenceStored
from events.limits import EVIDENCE_BYTES_MAX
from ledger.errors import Damaged, Gone, InvalidQuery, LedgerFull, LedgerUnavailable, LifecycleViolation, NotFound
from ledger.log import Query
from ledger.sqlite.log import SqliteLog
from projections.shared_params import NoParams
from tests.api.service.ledgers import (
    bytes_beside,
    digest_of,
    head,
    refusal,
    within,
)
from tests.support.drafts import draft_of, recorded, reviewed

READER = Principal("r", "/agents/r", frozenset({"read"}))
WRITER = Principal("w", "/agents/w", frozenset({"append"}))


async def fill(service: LedgerService, words: int) -> None:
    """Record texts of so many characters until no space is left."""
    while True:
        await service.record([recorded(text="w" * words)], OWNER)


def test_the_same_bytes_are_recorded_once(tmp_path: Path) -> None:
    @within(tmp_path / "ledger.db")
    async def _(service: LedgerService) -> None:
        first = await service.evidence.put(Blob(b"answer", "text/plain", "what it said"), OWNER)
        again = await service.evidence.put(Blob(b"answer", "text/html"), WRITER)
        assert (first.digest, first.size_bytes, first.media_type, first.position, first.duplicate) == (
            digest_of(b"answer"), 6, "text/plain", 1, False,
        )  # fmt: skip
        assert (again.media_type, again.position, again.duplicate) == ("text/plain", 1, True)
        assert await head(service) == 1
        piece = await service.evidence.get(first.digest, READER)
        assert (piece.data, piece.media_type) == (b"answer", "text/plain")


def test_twenty_at_once_are_one_event(tmp_path: Path) -> None:
    @within(tmp_path / "ledger.db")
    async def _(service: LedgerService) -> None:
        blobs = [Blob(b"same" * 50_000), Blob(b"other")] * 20
        kept = await asyncio.gather(*(service.evidence.put(blob, OWNER) for blob in blobs))
        assert await head(service) == 2
        assert sum(not one.duplicate for one in kept) == 2
        assert len({one.position for one in kept}) == 2


def test_puts_and_erasures_at_once_end_as_the_log_says(tmp_path: Path) -> None:
    @within(tmp_path / "ledger.db")
    async def _(service: LedgerService) -> None:
        digest = (await service.evidence.put(Blob(b"contested"), OWNER)).digest
        asked: list[Coroutine[Any, Any, object]] = []
        for _round in range(10):
            asked += [service.evidence.put(Blob(b"contested"), OWNER), service.evidence.get(digest, OWNER)]
            asked += [service.evidence.erase(digest, None, OWNER)]
        answers = await asyncio.gather(*asked, return_exceptions=True)
        assert {type(one) for one in answers if isinstance(one, BaseException)} == {Gone}
        assert await head(service) == 2
        assert await refusal(service.evidence.get(digest, OWNER)) is Gone

    assert bytes_beside(tmp_path / "ledger.db") == {}


def test_an_erasure_is_for_good(tmp_path: Path) -> None:
    @within(tmp_path / "ledger.db")
    async def _(service: LedgerService) -> None:
        digest = (await service.evidence.put(Blob(b"a name" * 100), OWNER)).digest
        first = await service.evidence.erase(digest, "it names a person", OWNER)
        again = await service.evidence.erase(digest, "another reason", OWNER)
        assert (first.position, first.reason, first.duplicate) == (2, "it names a person", False)
        assert (again.position, again.reason, again.duplicate) == (2, "it names a person", True)
        assert await refusal(service.evidence.get(digest, OWNER)) is Gone
        assert await refusal(service.evidence.put(Blob(b"a name" * 100), OWNER)) is Gone
        assert await head(service) == 2
        with pytest.raises(Gone, match="was erased at position 2: it names a person"):
            await service.evidence.get(digest, OWNER)

    assert bytes_beside(tmp_path / "ledger.db") == {}


def test_what_is_wrong_is_refused_and_writes_nothing(tmp_path: Path) -> None:
    @within(tmp_path / "ledger.db")
    async def _(service: LedgerService) -> None:
        evidence_ = service.evidence
        wrong: dict[Coroutine[Any, Any, object], type[TallystickError]] = {
            evidence_.get("0" * 64, OWNER): NotFound,
            evidence_.erase("0" * 64, None, OWNER): NotFound,
            evidence_.get("0" * 63, OWNER): InvalidQuery,
            evidence_.get("A" * 64, OWNER): InvalidQuery,
            evidence_.erase("../../x", None, OWNER): InvalidQuery,
            evidence_.get("0" * 64, WRITER): Forbidden,
            evidence_.put(Blob(b"x"), READER): Forbidden,
            evidence_.erase("0" * 64, None, WRITER): Forbidden,
            evidence_.put(Blob(bytes(EVIDENCE_BYTES_MAX + 1)), OWNER): BodyTooLarge,
            evidence_.put(Blob(b"x", "text"), OWNER): InvalidQuery,
            evidence_.put(Blob(b"x", "text/plain\r\nx-evil: 1"), OWNER): InvalidQuery,
            evidence_.put(Blob(b"x", "text/" + "x" * 300), OWNER): InvalidQuery,
            evidence_.put(Blob(b"x", note=""), OWNER): InvalidQuery,
            evidence_.put(Blob(b"x", note="n" * 1_001), OWNER): InvalidQuery,
        }
        for asked, kind in wrong.items():
            assert await refusal(asked) is kind
        assert await head(service) == 0

    assert bytes_beside(tmp_path / "ledger.db") == {}


@pytest.mark.parametrize("payload", [EvidenceStored(digest="0" * 64, size_bytes=1), EvidenceErased(digest="0" * 64)])
def test_events_of_evidence_come_with_their_bytes_alone(tmp_path: Path, payload: EvidenceStored) -> None:
    @within(tmp_path / "ledger.db")
    async def _(service: LedgerService) -> None:
        with pytest.raises(InvalidEvent, match="appended by the ledger") as caught:
            await service.record([recorded("d"), draft_of(payload)], OWNER)
        assert (caught.value.field, caught.value.index) == ("type", 1)
        async with service.evidence.keep([Blob(b"mine")]):
            assert await refusal(service.record([draft_of(payload)], OWNER)) is InvalidEvent
        assert await head(service) == 0


def test_bytes_and_what_names_them_are_one_batch(tmp_path: Path) -> None:
    @within(tmp_path / "ledger.db")
    async def _(service: LedgerService) -> None:
        await service.evidence.put(Blob(b"known"), OWNER)
        blobs = [Blob(b"known"), Blob(b"new", "text/plain"), Blob(b"new")]
        async with service.evidence.keep(blobs) as drafts:
            placed = await service.record([*drafts, recorded("d", source=OWNER.source)], OWNER)
        assert [one.subject for one in placed] == [f"evidence/{digest_of(b'new')}", "decision/d"]
        assert (await service.evidence.get(digest_of(b"new"), OWNER)).data == b"new"

    assert bytes_beside(tmp_path / "ledger.db").keys() == {digest_of(b"known"), digest_of(b"new")}


def test_a_batch_that_is_refused_keeps_no_bytes(tmp_path: Path) -> None:
    @within(tmp_path / "ledger.db")
    async def _(service: LedgerService) -> None:
        with pytest.raises(LifecycleViolation):
            async with service.evidence.keep([Blob(b"in vain")]) as drafts:
                await service.record([*drafts, reviewed("nowhere")], OWNER)
        async with service.evidence.keep([Blob(b"left out")]) as drafts:
            assert len(drafts) == 1
        assert await head(service) == 0
        async with service.evidence.keep([Blob(b"appended")]) as drafts:
            await service.record(drafts, OWNER)
            with pytest.raises(LifecycleViolation):
                await service.record([reviewed("nowhere")], OWNER)
        assert (await service.evidence.get(digest_of(b"appended"), OWNER)).data == b"appended"

    assert bytes_beside(tmp_path / "ledger.db").keys() == {digest_of(b"appended")}


@pytest.mark.slow
def test_who_gives_up_waiting_does_no_harm(tmp_path: Path) -> None:
    """The append may be on its way: the bytes stay, the next put finds them, and nothing is recorded twice."""

    @within(tmp_path / "ledger.db")
    async def _(service: LedgerService) -> None:
        for number in range(60):
            data = b"%d" % number
            task = asyncio.ensure_future(service.evidence.put(Blob(data), OWNER))
            for _turn in range(number):
                await asyncio.sleep(0.0002)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            assert (await service.evidence.put(Blob(data), OWNER)).digest == digest_of(data)
            assert (await service.evidence.get(digest_of(data), OWNER)).data == data
        assert await head(service) == 60


def test_a_full_disk_is_reported_and_the_ledger_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = tmp_path / "ledger.db"

    def full(path: Path, data: bytes) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    @within(ledger)
    async def _(service: LedgerService) -> None:
        await service.evidence.put(Blob(b"before"), OWNER)
        with monkeypatch.context() as disk:
            disk.setattr("ledger.evidence_store.write_whole", full)
            assert await refusal(service.evidence.put(Blob(b"next"), OWNER)) is LedgerFull
        assert await head(service) == 1
        assert (await service.evidence.put(Blob(b"next"), OWNER)).position == 2


def test_a_full_ledger_leaves_the_evidence_as_it_was(tmp_path: Path) -> None:
    ledger = tmp_path / "ledger.db"

    @within(ledger)
    async def _(service: LedgerService) -> None:
        digest = (await service.evidence.put(Blob(b"there"), OWNER)).digest
        assert isinstance(service.log, SqliteLog)
        ((pages,),) = await service.log._writer.connection.execute_fetchall("PRAGMA page_count")
        await service.log._writer.connection.execute_fetchall(f"PRAGMA max_page_count = {pages}")
        for words in (1_000, 100, 1):
            with pytest.raises(LedgerFull):
                await fill(service, words)
        full, reason = await head(service), "r" * 1_000
        assert await refusal(service.evidence.erase(digest, reason, OWNER)) is LedgerFull
        assert await refusal(service.evidence.put(Blob(b"more", note="n" * 1_000), OWNER)) is LedgerFull
        assert (await service.evidence.get(digest, OWNER)).data == b"there"
        assert bytes_beside(ledger).keys() == {digest}
        await service.log._writer.connection.execute_fetchall("PRAGMA max_page_count = 1000000")
        assert (await service.evidence.erase(digest, reason, OWNER)).position == full + 1


def test_a_damaged_file_is_reported_and_the_same_bytes_mend_it(tmp_path: Path) -> None:
    ledger = tmp_path / "ledger.db"

    @within(ledger)
    async def _(service: LedgerService) -> None:
        digest = (await service.evidence.put(Blob(b"precious"), OWNER)).digest
        (file,) = ledger.with_name("ledger.db.evidence").glob("??/*")
        for harm in (lambda: file.write_bytes(b"rubbish"), file.unlink):
            harm()
            assert await refusal(service.evidence.get(digest, OWNER)) is Damaged
            assert (await service.evidence.put(Blob(b"precious"), OWNER)).duplicate
            assert (await service.evidence.get(digest, OWNER)).data == b"precious"
        file.write_bytes(b"rubbish")
        await service.evidence.erase(digest, None, OWNER)
        assert await head(service) == 2

    assert bytes_beside(ledger) == {}


def test_a_reader_reads_and_writes_nothing(tmp_path: Path) -> None:
    ledger = tmp_path / "ledger.db"

    @within(ledger)
    async def digest(service: LedgerService) -> str:
        return (await service.evidence.put(Blob(b"shared"), OWNER)).digest

    @within(ledger, writable=False)
    async def _(service: LedgerService) -> None:
        assert (await service.evidence.get(digest, OWNER)).data == b"shared"
        assert await refusal(service.evidence.put(Blob(b"x"), OWNER)) is LedgerUnavailable
        assert await refusal(service.evidence.erase(digest, None, OWNER)) is LedgerUnavailable
        assert (await service.evidence.get(digest, OWNER)).data == b"shared"

    assert bytes_beside(ledger).keys() == {digest}


def test_erasing_changes_no_figure_and_no_line(tmp_path: Path) -> None:
    @within(tmp_path / "ledger.db")
    async def _(service: LedgerService) -> None:
        async with service.evidence.keep([Blob(b"an answer")]) as kept:
            drafts: list[Draft] = [*kept, *(recorded(f"d{n}") for n in range(5)), *(reviewed(f"d{n}") for n in (1, 2))]
            for draft in drafts:
                draft.source = None
            await service.record(drafts, OWNER)
        names = [info.name for info in (await get_projections(service, NoParams())).projections]
        lines = (await service.read(Query(limit=1000))).lines
        digests = {name: (await get_projection(service, ProjectionQuery(name=name))).digest for name in names}
        await service.evidence.erase(digest_of(b"an answer"), None, OWNER)
        assert (await service.read(Query(limit=1000))).lines[:-1] == lines
        assert {
            name: (await get_projection(await service.past(8), ProjectionQuery(name=name))).digest for name in names
        } == digests
        changed = {
            name
            for name in names
            if (await get_projection(service, ProjectionQuery(name=name))).digest != digests[name]
        }
        assert changed == {"evidence", "events"}, "one counts what is erased, one the new event"
        assert all(replayed.same for replayed in await replay_projections(service, check=True))

        (kept_then,) = (await list_evidence(await service.past(8), EvidenceQuery())).evidence
        (kept_now,) = (await list_evidence(await service.past(9), EvidenceQuery())).evidence
        assert kept_then.erased is None
        assert kept_now.erased is not None
        assert kept_now.erased.position == 9
