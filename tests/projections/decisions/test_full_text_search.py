"""The index of words against reading everything: in one go, bit by bit, as of any position, on any file there is."""

import asyncio
import json
import shutil
import sqlite3
import threading
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager, closing
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from events.envelope import Draft
from ledger.errors import LedgerUnavailable
from projections import slice_reader
from projections.decisions import full_text_search as search_module
from projections.decisions.decision_index import DecisionIndex
from projections.decisions.decision_selection import DecisionSelection
from projections.decisions.full_text_search import FullTextSearch
from projections.decisions.index_seal import IndexSeal
from projections.decisions.tokenizer import split_words
from tests.projections.drafts import amend, record, review, think
from tests.projections.open_ledgers import SECRET, Opened, engine, write
from tests.projections.random_histories import histories, lines_of
from tests.support.event_loop import run

ASKED = ("ship", "wait", "later", "cafe", "🚀", "a", "because", "nothing", "ledger", "lot")


def held(lines: Iterable[bytes]) -> dict[str, set[str]]:
    """The words of each decision as some stored lines leave it, read as JSON."""
    stated: dict[str, dict[str, object]] = {}
    said: dict[str, dict[str, object]] = {}
    thoughts: dict[str, list[object]] = {}
    for line in lines:
        event = json.loads(line)
        subject, data = event["subject"], event["data"]
        match event["type"]:
            case "decision.reviewed.v1":
                said.setdefault(subject, {}).update(data)
            case "decision.thought.v1":
                thoughts.setdefault(subject, []).append(data["text"])
            case "decision.recorded.v1" | "decision.amended.v1":
                stated.setdefault(subject, {}).update(data)
    return {
        subject: split_words(" ".join([*texts(data), *texts(said.get(subject, {})), *texts(thoughts.get(subject, []))]))
        for subject, data in stated.items()
    }


def texts(value: object) -> list[str]:
    """Every text within some JSON that is searched."""
    if isinstance(value, dict):
        unsearched = ("decision_id", "stakes", "outcome", "type")
        return [text for name, inner in value.items() if name not in unsearched for text in texts(inner)]
    if isinstance(value, list):
        return [text for inner in value for text in texts(inner)]
    return [value] if isinstance(value, str) else []


def file_of(path: Path) -> Path:
    return path.with_name(f"{path.name}.search.db")


@asynccontextmanager
async def searching(opened: Opened, path: Path) -> AsyncIterator[FullTextSearch]:
    search = FullTextSearch(file_of(path), opened.engine, SECRET)
    try:
        yield search
    finally:
        await search.close()


async def found(opened: Opened, search: FullTextSearch, words: Sequence[str], as_of: int | None = None) -> set[str]:
    """The decisions that hold all of some words."""
    index, position = await opened.engine.at(DecisionIndex, as_of)
    hits = await search.find(words, position, index.numbers)
    ranked = await search.find(words, position, index.numbers, rank=True, side="function")
    assert (hits.places.tolist(), hits.words_found.tolist()) == (ranked.places.tolist(), ranked.words_found.tolist())
    assert (ranked.scores > 0).all()
    kept = hits.with_words(len(set(words)))
    return set(await opened.engine.names.subjects(index.positions(kept)))


def expected(lines: Sequence[bytes], words: Sequence[str]) -> set[str]:
    return {subject for subject, holds in held(lines).items() if set(words) <= holds}


asked = st.lists(st.sampled_from(ASKED), min_size=1, max_size=3)


@pytest.mark.slow
@given(
    drafts=histories(25),
    cuts=st.sets(st.integers(1, 24), max_size=4),
    sizes=st.tuples(st.integers(1, 6), st.integers(1, 9)),
    queries=st.lists(asked, min_size=1, max_size=3),
)
@settings(max_examples=60)
def test_what_is_found_is_what_reading_everything_finds(
    drafts: list[Draft], cuts: set[int], sizes: tuple[int, int], queries: list[list[str]]
) -> None:
    """Incrementally, rebuilt, and as of every position, however the history is cut into runs and transactions."""
    lines = lines_of(drafts)

    async def scenario(path: Path) -> None:
        async with engine(path) as opened, searching(opened, path) as search:
            for begin, end in zip([0, *sorted(cuts)], [*sorted(cuts), len(drafts)], strict=True):
                for draft in drafts[begin:end]:
                    await opened.log.append([draft])
                for words in queries:
                    assert await found(opened, search, words) == expected(lines[:end], words)
            async with searching(opened, path.with_name("rebuilt.db")) as rebuilt:
                for words in queries:
                    for position in range(len(drafts) + 1):
                        right = expected(lines[:position], words)
                        assert await found(opened, search, words, position) == right
                        assert await found(opened, rebuilt, words, position) == right

    with (
        TemporaryDirectory() as folder,
        patch.object(slice_reader, "SLICE_EVENTS", sizes[0]),
        patch.object(search_module, "_COMMIT_EVENTS", sizes[1]),
    ):
        run(scenario(Path(folder) / "ledger.db"))


def ledger_of(folder: Path, *more: Draft, name: str = "ledger.db") -> Path:
    path = folder / name
    drafts = [record("one", tags=("alpha", "beta")), record("two", context="beta"), think("two", "gamma"), *more]
    run(write(path, drafts))
    return path


async def look(path: Path, *words: str) -> set[str]:
    """What a fresh process finds."""
    async with engine(path) as opened, searching(opened, path) as search:
        return {name.removeprefix("decision/") for name in await found(opened, search, words)}


def position_kept(path: Path) -> int:
    with closing(sqlite3.connect(file_of(path))) as connection:
        position: int = connection.execute("SELECT position FROM state").fetchone()[0]
        return position


def test_what_is_restated_is_no_longer_found(tmp_path: Path) -> None:
    path = ledger_of(
        tmp_path,
        review("one", lessons="delta", notes="kept"),
        review("one", lessons="epsilon"),
        amend("two", context="zeta"),
    )
    for word, names in (
        ("delta", set()),
        ("epsilon", {"one"}),
        ("kept", {"one"}),
        ("beta", {"one"}),
        ("zeta", {"two"}),
    ):
        assert run(look(path, word)) == names, word
    assert run(look(path, "zeta", "gamma", "ship")) == {"two"}, "words from several events of one decision"


def test_an_index_is_made_when_somebody_searches_and_kept(tmp_path: Path) -> None:
    path = ledger_of(tmp_path)

    async def only_open() -> None:
        async with engine(path) as opened, searching(opened, path):
            pass

    run(only_open())
    assert not file_of(path).exists()
    assert run(look(path, "beta")) == {"one", "two"}
    assert position_kept(path) == 3
    before = file_of(path).stat().st_mtime_ns
    assert run(look(path, "gamma")) == {"two"}
    assert file_of(path).stat().st_mtime_ns == before


def garbage(file: Path) -> None:
    file.write_bytes(b"no index here " * 500)


def empty(file: Path) -> None:
    file.write_bytes(b"")


def cut_short(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:9_000])


def riddled(file: Path) -> None:
    whole = file.read_bytes()
    file.write_bytes(whole[:4096] + b"\xa5" * (len(whole) - 4096))


def gone(file: Path) -> None:
    file.unlink()


def of_another_shape(file: Path) -> None:
    file.unlink()
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("CREATE TABLE words (body BLOB)")


def emptied(file: Path) -> None:
    change(file, "DELETE FROM state")


def of_another_version(file: Path) -> None:
    change(file, "UPDATE state SET version = version + 1")
    change(file, "INSERT INTO words (rowid, text) VALUES (99, 'beta')")


def ahead(file: Path) -> None:
    change(file, "UPDATE state SET position = 99")


def of_other_lines(file: Path) -> None:
    change(file, "UPDATE state SET root = x'00'")
    change(file, "UPDATE pieces SET place = 0")


def change(file: Path, statement: str) -> None:
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute(statement)


@pytest.mark.parametrize(
    "damage",
    [
        garbage, empty, cut_short, riddled, gone, of_another_shape, emptied, of_another_version, ahead, of_other_lines,
    ],
)  # fmt: skip
def test_an_index_that_does_not_fit_is_made_anew(tmp_path: Path, damage: Callable[[Path], None]) -> None:
    path = ledger_of(tmp_path)
    assert run(look(path, "beta")) == {"one", "two"}
    damage(file_of(path))
    assert run(look(path, "beta")) == {"one", "two"}
    assert run(look(path, "gamma")) == {"two"}
    assert position_kept(path) == 3


def test_a_file_that_is_damaged_while_it_is_used_is_made_anew(tmp_path: Path) -> None:
    path = ledger_of(tmp_path)

    async def scenario() -> None:
        async with engine(path) as opened, searching(opened, path) as search:
            assert await found(opened, search, ["gamma"]) == {"decision/two"}
            change(file_of(path), "DROP TABLE pieces")
            assert await found(opened, search, ["gamma"]) == {"decision/two"}

    run(scenario())


def test_the_index_of_another_ledger_is_not_believed(tmp_path: Path) -> None:
    path = ledger_of(tmp_path)
    other = tmp_path / "other.db"
    run(write(other, [record("x"), record("y"), record("z", context="beta"), record("last")]))
    run(look(path, "beta"))
    shutil.copy(file_of(path), file_of(other))
    assert run(look(other, "beta")) == {"z"}


def folder_in_its_place(path: Path) -> None:
    file_of(path).mkdir()


def test_where_no_file_can_be_written_a_private_one_does(tmp_path: Path) -> None:
    path = ledger_of(tmp_path)
    folder_in_its_place(path)
    assert run(look(path, "beta")) == {"one", "two"}
    assert not file_of(path).is_file()


def test_a_file_that_another_holds_is_done_without(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = ledger_of(tmp_path)
    monkeypatch.setattr(search_module, "_BUSY_S", 0.01)
    run(look(path, "beta"))
    run(write(path, [record("three", context="beta")]))
    with closing(sqlite3.connect(file_of(path), isolation_level=None)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        assert run(look(path, "beta")) == {"one", "two", "three"}
        connection.execute("ROLLBACK")
    assert position_kept(path) == 3
    assert run(look(path, "beta")) == {"one", "two", "three"}
    assert position_kept(path) == 4


def test_where_there_is_no_space_at_all_the_search_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = ledger_of(tmp_path)
    monkeypatch.setattr(search_module, "_CREATE", "no statement")
    with pytest.raises(LedgerUnavailable, match="cannot be searched"):
        run(look(path, "beta"))


def test_searches_at_once_and_two_processes_on_one_file(tmp_path: Path) -> None:
    """Appends go on meanwhile; each search finds what was there when it was asked, and the file is shared."""
    path = ledger_of(tmp_path)

    async def scenario() -> None:
        async with engine(path) as opened, searching(opened, path) as one, searching(opened, path) as other:

            async def ask(search: FullTextSearch, number: int) -> None:
                await opened.log.append([record(f"n{number}", context=f"beta word{number}")])
                assert await found(opened, search, [f"word{number}"]) == {f"decision/n{number}"}
                assert len(await found(opened, search, ["beta"])) >= 3

            await asyncio.gather(*(ask((one, other)[number % 2], number) for number in range(60)))
            assert len(await found(opened, one, ["beta"])) == len(await found(opened, other, ["beta"])) == 62

    run(scenario())


def test_a_search_that_is_given_up_leaves_the_index_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = ledger_of(tmp_path, *(record(f"n{number}", context="beta") for number in range(300)))
    monkeypatch.setattr(slice_reader, "SLICE_EVENTS", 10)

    async def scenario() -> None:
        async with engine(path) as opened, searching(opened, path) as search:
            for turns in range(0, 120, 7):
                asked_for = asyncio.create_task(found(opened, search, ["beta"]))
                for _ in range(turns):
                    await asyncio.sleep(0)
                asked_for.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await asked_for
            assert len(await found(opened, search, ["beta"])) == 302

    run(scenario())


def test_a_search_that_is_given_up_waits_until_its_thread_is_done_with_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = ledger_of(tmp_path)
    begun, go_on, in_use = threading.Event(), threading.Event(), []
    remove_unsealed = IndexSeal.remove_unsealed

    def remove_when_released(seal: IndexSeal) -> None:
        in_use.append("begun")
        begun.set()
        assert go_on.wait(60)
        remove_unsealed(seal)
        in_use.append("done")

    monkeypatch.setattr(IndexSeal, "remove_unsealed", remove_when_released)

    async def scenario() -> None:
        async with engine(path) as opened, searching(opened, path) as search:
            given_up = asyncio.create_task(found(opened, search, ["beta"]))
            await asyncio.to_thread(begun.wait, 60)
            given_up.cancel()
            again = asyncio.create_task(found(opened, search, ["beta"]))
            for _ in range(100):
                await asyncio.sleep(0)
            assert in_use == ["begun"]
            go_on.set()
            with pytest.raises(asyncio.CancelledError):
                await given_up
            await again
            assert in_use == ["begun", "done"] * 2

    run(scenario())


def test_the_better_fit_comes_first_and_the_newer_of_those_alike(tmp_path: Path) -> None:
    path = ledger_of(
        tmp_path,
        record("rare", context="omega alpha"),
        record("both", context="alpha omega omega"),
        record("late", context="omega alpha"),
        *(record(f"n{number}") for number in range(20)),
    )

    async def scenario() -> None:
        async with engine(path) as opened, searching(opened, path) as search:
            index, position = await opened.engine.at(DecisionIndex)
            hits = await search.find(["alpha", "omega"], position, index.numbers, rank=True)
            every = index.find(DecisionSelection())
            ranked = hits.ranked(every)
            names = await opened.engine.names.subjects(index.positions(ranked.places))
            assert names == [f"decision/{name}" for name in ("both", "late", "rare", "one")]
            assert ranked.words_found.tolist() == [2, 2, 2, 1]
            assert (ranked.scores[:-1] >= ranked.scores[1:]).all()
            names = await opened.engine.names.subjects(index.positions(hits.ranked(every[:3]).places))
            assert names == ["decision/rare", "decision/one"]

    run(scenario())
