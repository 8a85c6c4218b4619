"""S1 to S4: what is signed is kept first, continues what was signed, and is signed by the writer, at a pace."""

import asyncio
import shutil
import stat
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from ledger.errors import BadNote, Forked, InvalidQuery, LedgerUnavailable, TallystickError
from ledger.sqlite.log import SqliteLog
from ledger.transparency.checkpoints import (
    SIGNING_INTERVAL_S,
    CheckpointStore,
    checkpoint_path,
    read_checkpoint,
    replace_key,
    witnessed_path,
)
from ledger.transparency.keys import key_path, make_key, others_may_read, read_key
from ledger.transparency.merkle import EMPTY_ROOT
from tests.ledger import signing_process
from tests.support.drafts import batch_of, recorded
from tests.support.event_loop import run
from tests.support.paths import ROOT

KILLS = 3


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    return tmp_path / "ledger.db"


@asynccontextmanager
async def opened(ledger: Path) -> AsyncIterator[tuple[SqliteLog, CheckpointStore]]:
    log = await SqliteLog.open(ledger)
    try:
        yield log, await CheckpointStore.open(ledger, log)
    finally:
        await log.close()


def grown(ledger: Path, events: int, name: str = "") -> bytes:
    """Append and sign; the note."""

    async def scenario() -> bytes:
        async with opened(ledger) as (log, signing):
            await log.append(batch_of(events, name))
            return (await signing.checkpoint()).note.encode()

    return run(scenario())


def refused(ledger: Path, kind: type[TallystickError]) -> str:
    """What opening says that must be refused; nothing is signed then, and what was signed stays."""
    kept = checkpoint_path(ledger).read_bytes()

    async def scenario() -> None:
        async with opened(ledger):
            pass

    with pytest.raises(kind) as caught:
        run(scenario())
    assert caught.value.advice
    assert checkpoint_path(ledger).read_bytes() == kept
    return str(caught.value)


def test_s1_what_is_given_is_what_is_kept(ledger: Path) -> None:
    given = grown(ledger, 3)
    signed = read_checkpoint(checkpoint_path(ledger))
    signer = read_key(ledger)
    assert signed is not None
    assert signer is not None
    assert signed.note.encode() == given
    assert signer.verifier.verifies(signed.note)
    assert signed.checkpoint.origin == signer.verifier.name
    assert signed.size == 3


def test_an_empty_log_is_signed_too(ledger: Path) -> None:
    async def scenario() -> None:
        async with opened(ledger) as (log, signing):
            assert (await signing.checkpoint()).checkpoint[1:] == (0, EMPTY_ROOT)
            await log.append([recorded()])
            assert (await signing.checkpoint(at_once=True)).size == 1

    run(scenario())


def test_s1_a_checkpoint_that_cannot_be_kept_is_not_given(ledger: Path) -> None:
    async def scenario() -> None:
        async with opened(ledger) as (log, signing):
            before = await signing.checkpoint()
            (place := checkpoint_path(ledger)).unlink()
            place.mkdir()
            await log.append([recorded()])
            with pytest.raises(LedgerUnavailable):
                await signing.checkpoint(at_once=True)
            assert signing.newest == before
            place.rmdir()
            assert (await signing.checkpoint(at_once=True)).size == 1

    run(scenario())


@pytest.mark.slow
def test_s1_kill_9_while_signing_leaves_a_checkpoint_no_older_than_what_was_published(ledger: Path) -> None:
    published = 0
    for kill in range(KILLS):
        command = [sys.executable, "-m", signing_process.__name__, str(ledger)]
        with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            for _ in range(1 + 9 * kill):
                published = int(process.stdout.readline())
            process.kill()
            published = max([published, *map(int, process.stdout.read().splitlines())])
        signed, signer = read_checkpoint(checkpoint_path(ledger)), read_key(ledger)
        assert signed is not None
        assert signer is not None
        assert signed.size >= published
        assert signer.verifier.verifies(signed.note)
    assert published > KILLS
    grown(ledger, 1)


@pytest.mark.parametrize("more", [0, 1, 300])
def test_s2_an_older_copy_is_found_out(ledger: Path, tmp_path: Path, more: int) -> None:
    grown(ledger, 300, "a")
    shutil.copy(ledger, tmp_path / "copy.db")
    grown(ledger, 20, "b")
    shutil.copy(tmp_path / "copy.db", ledger)
    if more:

        async def append() -> None:
            log = await SqliteLog.open(ledger)
            await log.append(batch_of(more, "c"))
            await log.close()

        run(append())
    said = refused(ledger, Forked)
    assert ("320 events were signed" if more < 20 else "The first 320 of its 600 events are not those") in said
    assert "tallystick key make --replace" in said


def test_s2_another_history_of_the_same_size_is_found_out(ledger: Path, tmp_path: Path) -> None:
    grown(ledger, 5, "a")
    grown(tmp_path / "other.db", 5, "b")
    shutil.copy(tmp_path / "other.db", ledger)
    assert "The first 5 of its 5 events are not those that were signed" in refused(ledger, Forked)


def test_s2_what_a_witness_has_cosigned_counts_where_the_checkpoint_is_older(ledger: Path, tmp_path: Path) -> None:
    grown(ledger, 5)
    shutil.copytree(tmp_path, tmp_path / "copy", ignore=shutil.ignore_patterns("copy"))
    grown(ledger, 2, "b")
    copy = tmp_path / "copy" / ledger.name
    shutil.copy(checkpoint_path(ledger), witnessed_path(copy))
    assert "7 events were signed, and the ledger has 5" in refused(copy, Forked)


def test_s2_a_log_that_forks_while_it_is_served_is_not_signed(ledger: Path) -> None:
    async def scenario() -> None:
        async with opened(ledger) as (log, signing):
            await log.append(batch_of(3))
            await signing.checkpoint(3)
            newest, signer = signing.newest, read_key(ledger)
            assert newest is not None
            assert signer is not None
            other = newest._replace(checkpoint=newest.checkpoint._replace(root=bytes(32)))
            forked = CheckpointStore(ledger, signer, {checkpoint_path(ledger): other}, log)
            await log.append(batch_of(1, "more"))
            with pytest.raises(Forked):
                await forked.checkpoint(4)

    run(scenario())


def test_s4_nothing_is_signed_where_the_log_has_not_grown(ledger: Path) -> None:
    given = grown(ledger, 3)
    stamp = checkpoint_path(ledger).stat().st_mtime_ns

    async def scenario() -> None:
        async with opened(ledger) as (_, signing):
            for _ in range(3):
                assert (await signing.checkpoint(at_once=True)).note.encode() == given

    run(scenario())
    assert checkpoint_path(ledger).stat().st_mtime_ns == stamp


@pytest.mark.slow
def test_s4_under_load_a_second_has_one_signature_and_who_needs_more_waits(ledger: Path) -> None:
    async def scenario() -> None:
        async with opened(ledger) as (log, signing):
            await log.append(batch_of(2))
            assert (await signing.checkpoint()).size == 2
            began = time.monotonic()
            await log.append([recorded()])
            assert (await signing.checkpoint()).size == 2
            found = await asyncio.gather(*(signing.checkpoint(size) for size in (1, 3, 3, 2)))
            assert [signed.size for signed in found] == [2, 3, 3, 3]
            assert time.monotonic() - began > SIGNING_INTERVAL_S / 2

    run(scenario())


def test_s4_whoever_gives_up_waiting_stops_no_signature(ledger: Path) -> None:
    async def scenario() -> None:
        async with opened(ledger) as (log, signing):
            await log.append(batch_of(2))
            waiting = asyncio.create_task(signing.checkpoint(at_once=True))
            await asyncio.sleep(0)
            waiting.cancel()
            assert (await signing.checkpoint(2)).size == 2

    run(scenario())


def test_a_key_is_made_for_its_owner_alone_and_kept(ledger: Path) -> None:
    grown(ledger, 1)
    text = key_path(ledger).read_bytes()
    assert stat.S_IMODE(key_path(ledger).stat().st_mode) == 0o600
    assert not others_may_read(ledger)
    assert text.startswith(b"PRIVATE+KEY+tallystick/")
    grown(ledger, 1)
    assert key_path(ledger).read_bytes() == text
    key_path(ledger).chmod(0o640)
    assert others_may_read(ledger)


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        (lambda ledger: key_path(ledger).unlink(), "is missing"),
        (make_key, "is not signed with"),
        (lambda ledger: key_path(ledger).write_bytes(b"PRIVATE+KEY+a+b\n"), "ledger.db.key"),
        (lambda ledger: checkpoint_path(ledger).write_bytes(b""), "is damaged"),
        (
            lambda ledger: checkpoint_path(ledger).write_bytes(
                checkpoint_path(ledger).read_bytes().replace(b"\n3\n", b"\n2\n")
            ),
            "is not signed with",
        ),
    ],
)
def test_a_key_or_a_checkpoint_that_is_another_s_is_refused(
    ledger: Path, spoil: Callable[[Path], object], says: str
) -> None:
    grown(ledger, 3)
    spoil(ledger)
    assert says in refused(ledger, BadNote)


def test_a_new_identity_begins_another_log_and_keeps_what_was_signed(ledger: Path) -> None:
    given = grown(ledger, 3)
    old = read_key(ledger)
    assert old is not None
    with pytest.raises(InvalidQuery):
        replace_key(ledger, old.verifier.name)
    new = replace_key(ledger, "ledger.example/two")
    assert not checkpoint_path(ledger).exists()
    assert [path.read_bytes() for path in ledger.parent.glob("ledger.db.checkpoint.*")] == [given]
    note = grown(ledger, 1, "more")
    assert note.startswith(b"ledger.example/two\n4\n")
    signed = read_checkpoint(checkpoint_path(ledger))
    assert signed is not None
    assert new.verifier.verifies(signed.note)
    assert not old.verifier.verifies(signed.note)
