"""S8: nodes sign with the key that the database names, and adopt a new one if it replaced theirs."""

import asyncio
from pathlib import Path

import pytest

from ledger.errors import BadNote, Forked, InvalidQuery, LedgerUnavailable, LedgerUnusable
from ledger.transparency import key_replacement
from ledger.transparency.checkpoints import checkpoint_path, read_checkpoint
from ledger.transparency.key_replacement import replace_shared_key
from ledger.transparency.keys import key_path, make_key, read_key
from ledger.transparency.shared_checkpoints import NEWEST, WITNESSED, SharedCheckpointStore, store_shared_witnessed
from ledger.transparency.shared_keys import KEY, read_earlier, read_shared_verifier, replacement_path
from ledger.transparency.signed_note import SignedCheckpoint
from ledger.transparency.tree import LogTree
from tests.ledger.postgres.places import new_ledger
from tests.ledger.postgres.test_shared_checkpoints import copy_key, nodes
from tests.support.drafts import recorded
from tests.support.event_loop import run
from tests.support.postgres import Primary

pytestmark = pytest.mark.slow


def test_nodes_adopt_a_key_that_replaced_theirs(postgres: Primary, tmp_path: Path) -> None:
    async def scenario() -> None:
        place = await new_ledger(postgres)
        async with nodes(place, tmp_path / "a", tmp_path / "b", tmp_path / "c") as (first, second, command):
            await first.log.append([recorded("a")])
            one = await first.signing()
            copy_key(first, second)
            two = await second.signing()
            old = await one.checkpoint(at_once=True)
            await store_shared_witnessed(first.notes, old)
            assert (await two.checkpoint()) == old

            verifier = await replace_shared_key(command.ledger, command.notes, "new.example/log")
            assert await read_earlier(first.notes) == [one.verifier]
            kept = {name for (name,) in await first.log.run(lambda sql: sql.fetch("SELECT name FROM notes"))}
            assert len({name for name in kept if name.startswith((f"{NEWEST}.", f"{WITNESSED}."))}) == 2
            signed = await one.checkpoint(at_once=True)
            assert (signed.checkpoint.origin, signed.size) == (verifier.name, 1)
            assert signed.checkpoint.root == old.checkpoint.root
            assert verifier.verifies(signed.note)
            assert one.verifier == two.verifier == verifier or (await two.checkpoint(at_once=True)) == signed
            assert one.unsigned is not None
            assert f"is that of {old.checkpoint.origin}, which was replaced" in one.unsigned.detail
            (aside,) = (tmp_path / "a").glob("acme.checkpoint.*")
            assert SignedCheckpoint.parse(aside.read_bytes()) == old

            await first.log.append([recorded("b")])
            assert (await one.checkpoint(at_once=True)).size == 1, "no node has the new key"
            copy_key(command, second)
            grown = await two.checkpoint(2, at_once=True)
            assert (grown.size, grown.checkpoint.origin) == (2, verifier.name)
            assert (await one.checkpoint(2, at_once=True)) == grown
        async with nodes(place, tmp_path / "a", tmp_path / "d") as (again, other):
            assert (await (await again.signing()).checkpoint()) == grown, "it opens with the key that was replaced"
            make_key(other.ledger)
            with pytest.raises(BadNote, match="and the ledger has that of"):
                await other.signing()

    run(scenario())


def test_a_node_that_was_down_forgets_the_checkpoints_of_the_old_key(postgres: Primary, tmp_path: Path) -> None:
    async def scenario() -> None:
        place = await new_ledger(postgres)
        async with nodes(place, tmp_path / "a", tmp_path / "c") as (first, command):
            await first.log.append([recorded("a")])
            old = await (await first.signing()).checkpoint(at_once=True)
            await replace_shared_key(command.ledger, command.notes)
            verifier = await replace_shared_key(command.ledger, command.notes)
        async with nodes(place, tmp_path / "a") as (again,):
            copy_key(command, again)
            store = await again.signing()
            assert store.unsigned is None
            assert (await store.checkpoint()).checkpoint.origin == verifier.name
            seen = read_checkpoint(checkpoint_path(again.ledger))
            assert seen is not None
            assert seen.checkpoint.origin == verifier.name != old.checkpoint.origin

    run(scenario())


def test_a_checkpoint_of_the_old_key_never_follows_one_of_the_new(postgres: Primary, tmp_path: Path) -> None:
    async def scenario() -> None:
        place = await new_ledger(postgres)
        async with nodes(place, tmp_path / "a", tmp_path / "b", tmp_path / "c") as (first, second, command):
            one = await first.signing()
            copy_key(first, second)
            two = await second.signing()
            found = [await one.checkpoint(at_once=True)]
            done = asyncio.Event()

            async def signs(store: SharedCheckpointStore, name: str) -> None:
                number = 0
                while not done.is_set() or number < 3:
                    number += 1
                    await first.log.append([recorded(f"{name}-{number}")])
                    found.append(await store.checkpoint(at_once=True))

            signing = [asyncio.create_task(signs(one, "a")), asyncio.create_task(signs(two, "b"))]
            for _ in range(5):
                await replace_shared_key(command.ledger, command.notes)
                for node in (first, second):
                    copy_key(command, node)
            done.set()
            await asyncio.gather(*signing)
            final = await one.checkpoint(at_once=True)
            origins = [key.name for key in await read_earlier(first.notes)] + [final.checkpoint.origin]
            assert len(origins) == 6
            tree = LogTree(first.log)
            for signed in (*found, final):
                assert await tree.root(signed.size) == signed.checkpoint.root
            rows = await first.log.run(lambda sql: sql.fetch("SELECT name, content FROM notes"))
            stored = [SignedCheckpoint.parse(row[1]) for row in rows if row[0].startswith(NEWEST)]
            assert len(stored) == 6, "the last checkpoint of each key is kept"
            sizes = {one.checkpoint.origin: one.size for one in stored}
            assert all(signed.size <= sizes[signed.checkpoint.origin] for signed in found)
            ends = [sizes[origin] for origin in origins]
            assert ends == sorted(ends)

    run(scenario())


def test_a_key_that_did_not_replace_ours_is_refused(postgres: Primary, tmp_path: Path) -> None:
    async def scenario() -> None:
        place = await new_ledger(postgres)
        async with nodes(place, tmp_path / "a") as (node,):
            await node.log.append([recorded("a")])
            store = await node.signing()
            await store.checkpoint(at_once=True)
            row = await node.notes.read(KEY)
            assert row is not None
            other = make_key(tmp_path / "other").verifier
            assert await node.notes.compare_and_set(KEY, row.version, str(other).encode())
            with pytest.raises(BadNote, match="the database has the key of"):
                await store.checkpoint(at_once=True)
            await node.log.run(lambda sql: sql.execute("DELETE FROM notes WHERE name = 'key'"))
            with pytest.raises(Forked, match="the database has no key"):
                await store.checkpoint(at_once=True)

    run(scenario())


def test_a_replacement_that_was_killed_is_completed(
    postgres: Primary, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class KilledError(Exception):
        pass

    def killed(*_: object) -> None:
        raise KilledError

    async def scenario() -> None:
        place = await new_ledger(postgres)
        async with nodes(place, tmp_path / "a") as (node,):
            store = await node.signing()
            await store.checkpoint(at_once=True)
            old = key_path(node.ledger).read_bytes()
            with monkeypatch.context() as patched:
                patched.setattr(key_replacement, "_rename", killed)
                with pytest.raises(KilledError):
                    await replace_shared_key(node.ledger, node.notes)
            verifier = await read_shared_verifier(node.notes)
            assert key_path(node.ledger).read_bytes() == old
            assert replacement_path(node.ledger, verifier).exists()
            assert (await store.checkpoint(at_once=True)).checkpoint.origin == verifier.name
            assert store.unsigned is None, "it found the new key"
            found = read_key(node.ledger)
            assert found is not None
            assert found.verifier == verifier
            assert not replacement_path(node.ledger, verifier).exists()
            with pytest.raises(InvalidQuery, match="is this log already"):
                await replace_shared_key(node.ledger, node.notes, verifier.name)
            monkeypatch.setattr(key_replacement, "TRIES", 0)
            with pytest.raises(LedgerUnavailable, match="at each try"):
                await replace_shared_key(node.ledger, node.notes)
            assert sorted(path.name for path in tmp_path.joinpath("a").glob("acme.key*")) == ["acme.key"]

    run(scenario())


def test_a_key_may_be_in_another_file(postgres: Primary, tmp_path: Path) -> None:
    async def scenario() -> None:
        place = await new_ledger(postgres)
        secret = key_path(tmp_path / "secret")
        made = make_key(tmp_path / "secret")
        link = tmp_path / "mounted.key"
        link.symlink_to(secret)
        async with nodes(place, tmp_path / "a", tmp_path / "b") as (first, second):
            for node in (first, second):
                store = await SharedCheckpointStore.open(node.ledger, node.log, node.notes, link)
                await node.log.append([recorded(node.ledger.parent.name)])
                signed = await store.checkpoint(at_once=True)
                assert made.verifier.verifies(signed.note)
                assert not key_path(node.ledger).exists()
            with pytest.raises(LedgerUnusable, match="There is no key"):
                await SharedCheckpointStore.open(first.ledger, first.log, first.notes, tmp_path / "none")

    run(scenario())
