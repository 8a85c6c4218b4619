"""S5 to S8: the nodes of a ledger sign one sequence of checkpoints, and each refuses what does not continue it."""

import asyncio
import shutil
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import NamedTuple

import pytest

from ledger.errors import BadNote, Forked, LedgerUnavailable, NotFound
from ledger.log import Query
from ledger.place import DatabasePlace
from ledger.postgres.log import PostgresLog
from ledger.postgres.notes import SharedNotes
from ledger.transparency.checkpoints import checkpoint_path, read_checkpoint
from ledger.transparency.keys import key_path, make_key, read_key
from ledger.transparency.shared_checkpoints import (
    NEWEST,
    SharedCheckpointStore,
    read_shared,
)
from ledger.transparency.shared_keys import read_shared_verifier
from ledger.transparency.signed_note import SignedCheckpoint
from tests.ledger.postgres.places import LEDGER, copy_database, new_ledger, replace_database
from tests.support.drafts import batch_of, recorded
from tests.support.event_loop import run
from tests.support.postgres import PostgresServer

pytestmark = pytest.mark.slow


class Node(NamedTuple):
    """A node of a ledger: its files, its log, and the notes that it shares with others."""

    ledger: Path
    log: PostgresLog
    notes: SharedNotes

    async def signing(self) -> SharedCheckpointStore:
        return await SharedCheckpointStore.open(self.ledger, self.log, self.notes)

    async def stored(self) -> SignedCheckpoint:
        shared = await read_shared(self.notes, NEWEST)
        assert shared is not None
        return shared


@asynccontextmanager
async def nodes(place: DatabasePlace, *folders: Path) -> AsyncIterator[list[Node]]:
    """Nodes with these folders."""
    async with AsyncExitStack() as opened:
        found = []
        for folder in folders:
            folder.mkdir(exist_ok=True)
            log = await PostgresLog.open(place, durability="local")
            opened.push_async_callback(log.close)
            notes = await SharedNotes.open(place)
            opened.push_async_callback(notes.close)
            found.append(Node(folder / LEDGER, log, notes))
        yield found


def copy_key(source: Node, target: Node) -> None:
    """Mount the same key at another node."""
    shutil.copy(key_path(source.ledger), key_path(target.ledger))


def test_s6_two_nodes_sign_one_sequence_and_both_keep_it(postgres: PostgresServer, tmp_path: Path) -> None:
    async def scenario() -> None:
        async with nodes(await new_ledger(postgres), tmp_path / "a", tmp_path / "b") as (first, second):
            one = await first.signing()
            copy_key(first, second)
            two = await second.signing()
            sizes, versions = [], []
            for turn, (node, store) in enumerate([(first, one), (second, two)] * 3):
                await node.log.append(batch_of(3, f"turn{turn}"))
                signed = await store.checkpoint(at_once=True)
                stored = await node.stored()
                assert stored.note.encode() == signed.note.encode()
                assert one.verifier.verifies(stored.note)
                assert read_checkpoint(checkpoint_path(node.ledger)) == stored
                sizes.append(signed.size)
                row = await node.notes.read(NEWEST)
                assert row is not None
                versions.append(row.version)
            assert sizes == [3, 6, 9, 12, 15, 18]
            assert versions == [1, 2, 3, 4, 5, 6]

    run(scenario())


def test_s6_of_many_nodes_that_sign_at_once_one_has_signed_and_the_others_adopt(
    postgres: PostgresServer, tmp_path: Path
) -> None:
    async def scenario() -> None:
        folders = [tmp_path / name for name in "abcd"]
        async with nodes(await new_ledger(postgres), *folders) as (first, *others):
            stores = [await first.signing()]
            for node in others:
                copy_key(first, node)
                stores.append(await node.signing())
            for size in (1, 2, 3):
                await first.log.append([recorded()])
                signed = await asyncio.gather(*(store.checkpoint(size, at_once=True) for store in stores))
                assert {each.note.encode() for each in signed} == {(await first.stored()).note.encode()}
            row = await first.notes.read(NEWEST)
            assert row is not None
            assert row.version == 3

    run(scenario())


def test_s6_within_a_second_no_second_node_signs(postgres: PostgresServer, tmp_path: Path) -> None:
    async def scenario() -> None:
        async with nodes(await new_ledger(postgres), tmp_path / "a", tmp_path / "b") as (first, second):
            one = await first.signing()
            copy_key(first, second)
            two = await second.signing()
            for store in (one, two):  # whatever each has signed is a moment ago
                await first.log.append([recorded()])
                await store.checkpoint(at_once=True)
            await asyncio.sleep(1.1)
            signing = True

            async def sign(node: Node, store: SharedCheckpointStore) -> None:
                while signing:
                    await node.log.append([recorded()])
                    await store.checkpoint()
                    await asyncio.sleep(0.05)

            before = await first.notes.read(NEWEST)
            start_s = asyncio.get_running_loop().time()
            running = [asyncio.create_task(sign(first, one)), asyncio.create_task(sign(second, two))]
            await asyncio.sleep(4)
            signing = False
            await asyncio.gather(*running)
            after = await first.notes.read(NEWEST)
            assert before is not None
            assert after is not None
            assert 1 <= after.version - before.version <= asyncio.get_running_loop().time() - start_s + 1

    run(scenario())


def test_s8_nodes_that_start_at_once_have_one_key(postgres: PostgresServer, tmp_path: Path) -> None:
    async def scenario() -> None:
        async with nodes(await new_ledger(postgres), *(tmp_path / name for name in "abc")) as found:
            stores = await asyncio.gather(*(node.signing() for node in found))
            assert len({store.verifier for store in stores}) == 1
            signers = [key for node in found if (key := read_key(node.ledger)) is not None]
            assert [key.verifier for key in signers] == [stores[0].verifier]
            assert sorted(store.unsigned is None for store in stores) == [False, False, True]

    run(scenario())


def test_s8_a_node_without_the_key_makes_none_and_serves_what_others_sign(
    postgres: PostgresServer, tmp_path: Path
) -> None:
    async def scenario() -> None:
        async with nodes(await new_ledger(postgres), tmp_path / "a", tmp_path / "b") as (first, second):
            one = await first.signing()
            await first.log.append(batch_of(2))
            signed = await one.checkpoint(at_once=True)
            two = await second.signing()
            assert (await two.checkpoint()).note.encode() == signed.note.encode()
            await second.log.append([recorded()])
            with pytest.raises(NotFound, match="has no key and signs nothing"):
                await two.checkpoint(3, at_once=True)
            assert (await second.stored()).size == 2
            assert not key_path(second.ledger).exists()
            newer = await one.checkpoint(3, at_once=True)
            assert (await two.checkpoint(3, at_once=True)).note.encode() == newer.note.encode()
            assert await read_shared_verifier(second.notes) == one.verifier

    run(scenario())


def test_s8_a_node_with_another_key_is_refused(postgres: PostgresServer, tmp_path: Path) -> None:
    async def scenario() -> None:
        async with nodes(await new_ledger(postgres), tmp_path / "a", tmp_path / "b") as (first, second):
            await (await first.signing()).checkpoint()
            make_key(second.ledger, "another")
            with pytest.raises(BadNote, match="is the key of another"):
                await second.signing()

    run(scenario())


def test_s7_an_older_copy_of_the_database_is_refused(postgres: PostgresServer, tmp_path: Path) -> None:
    """Also after it has grown again: the checkpoint in it is right, and not what this node saw."""

    async def scenario() -> None:
        place = await new_ledger(postgres)
        async with nodes(place, tmp_path / "a") as (node,):
            store = await node.signing()
            await node.log.append(batch_of(2))
            await store.checkpoint(at_once=True)
        older = copy_database(postgres, place)
        async with nodes(place, tmp_path / "a") as (node,):
            await node.log.append(batch_of(2, "newer"))
            seen = await (await node.signing()).checkpoint(at_once=True)
        for added in (0, 2, 3):
            async with nodes(older, tmp_path / "a") as (node,):
                if added:
                    await node.log.append(batch_of(added, f"other{added}"))
                with pytest.raises(Forked, match="Nothing is signed or appended"):
                    await node.signing()
                assert (await node.stored()).size == 2
                with pytest.raises(LedgerUnavailable, match="Nothing is signed or appended"):
                    await node.log.append([recorded("more")])
                assert read_checkpoint(checkpoint_path(node.ledger)) == seen
        async with nodes(place, tmp_path / "a") as (node,):
            assert (await (await node.signing()).checkpoint()).size == 4

    run(scenario())


@pytest.mark.parametrize("added", [0, 2, 5])
def test_s7_a_database_that_is_replaced_while_a_node_runs_is_refused(
    postgres: PostgresServer, tmp_path: Path, added: int
) -> None:
    async def scenario() -> None:
        place = await new_ledger(postgres)
        async with nodes(place, tmp_path / "a") as (node,):
            store = await node.signing()
            await node.log.append(batch_of(2))
            await store.checkpoint(at_once=True)
            await node.log.close()
            await node.notes.close()
        older = copy_database(postgres, place)
        async with nodes(place, tmp_path / "a") as (node,):
            store = await node.signing()
            await node.log.append(batch_of(2, "newer"))
            assert (await store.checkpoint(at_once=True)).size == 4
            await asyncio.to_thread(replace_database, postgres, place, older)
            if added:
                async with nodes(place, tmp_path / "b") as (other,):
                    await other.log.append(batch_of(added, "other"))
                    copy_key(node, other)
                    await (await other.signing()).checkpoint(at_once=True)
            before = await node.stored()
            with pytest.raises(Forked):
                await store.checkpoint(at_once=True)
            assert await node.stored() == before

    run(scenario())


def test_notes_change_only_from_the_version_that_was_seen(postgres: PostgresServer, tmp_path: Path) -> None:
    async def scenario() -> None:
        async with nodes(await new_ledger(postgres), tmp_path / "a", tmp_path / "b") as (first, second):
            assert await first.notes.read("x") is None
            results = await asyncio.gather(
                first.notes.compare_and_set("x", None, b"a"), second.notes.compare_and_set("x", None, b"b")
            )
            assert sorted(results) == [False, True]
            row = await second.notes.read("x")
            assert row is not None
            assert row == (1, b"a" if results[0] else b"b")
            assert await first.notes.read("x", row) is row
            assert await first.notes.compare_and_set("x", 1, b"c")
            assert not await second.notes.compare_and_set("x", 1, b"d")
            assert not await second.notes.compare_and_set("y", 1, b"d")
            assert await second.notes.read("x", row) == (2, b"c")
            assert await second.notes.read_durable("x") == (2, b"c")

    run(scenario())


def test_s5_nothing_is_signed_for_a_line_that_the_server_does_not_have(
    postgres: PostgresServer, tmp_path: Path
) -> None:
    async def scenario() -> None:
        async with nodes(await new_ledger(postgres), tmp_path / "a") as (node,):
            await node.log.append([recorded()])
            line = (await node.log.read(Query())).ndjson
            for last in ((1, line + b"?"), (2, line)):
                assert not await node.notes.compare_and_set("x", None, b"a", last=last)
            assert await node.notes.read("x") is None
            assert await node.notes.compare_and_set("x", None, b"a", last=(1, line))

    run(scenario())
