"""Pages of searches from kept rows against searches of the whole index: any filter, order and page, as of any time."""

import asyncio
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from events.envelope import Draft
from projections import column_table, slice_reader
from projections.decisions import full_text_search, index_rows, time_blocks, value_counts, word_rows
from projections.decisions.decision_index import DecisionIndex
from projections.decisions.decision_lists import Order
from projections.decisions.decision_selection import DecisionSelection
from projections.decisions.full_text_search import FullTextSearch
from projections.decisions.word_rows import KeptWords, WordRows
from tests.projections.decisions.test_decision_lists import Query, queries
from tests.projections.decisions.test_full_text_search import ASKED, expected, ledger_of, searching
from tests.projections.drafts import amend, record, review
from tests.projections.open_ledgers import Opened, engine
from tests.projections.random_histories import histories, lines_of
from tests.support.event_loop import run

EVERY = Query(DecisionSelection(status=("pending", "reviewed", "retracted")), Order(), 0, 1_000)


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Four rows in a group, three events read at a time, and many turns for one search."""
    monkeypatch.setattr(column_table, "GROUP_ROWS", 4)
    monkeypatch.setattr(time_blocks, "BLOCK_ROWS", 2)
    monkeypatch.setattr(value_counts, "KEPT_SELECTIONS_MAX", 5)
    monkeypatch.setattr(index_rows, "_EVENTS_READ", 3)
    monkeypatch.setattr(full_text_search, "_TURN_S", 0.0)


asked = st.lists(st.sampled_from((*ASKED, "b")), min_size=1, max_size=3).map(frozenset[str])


async def kept_page(
    opened: Opened, search: FullTextSearch, words: frozenset[str], query: Query, as_of: int | None = None
) -> tuple[int, list[int]]:
    """A page from kept rows."""
    pinned = None if as_of is None else (await opened.engine.at(DecisionIndex, as_of))[0].frozen()

    async def at() -> tuple[DecisionIndex, int]:
        if pinned is not None and as_of is not None:
            return pinned, as_of
        index, position = await opened.engine.at(DecisionIndex)
        return index.frozen(), position

    index, _, among = await search.find_rows(words, at)
    page = index.page(*query, among)
    return page.total, page.rows.tolist()


async def read_page(
    opened: Opened, search: FullTextSearch, words: frozenset[str], query: Query, as_of: int | None = None
) -> tuple[int, list[int]]:
    """The same page, of the decisions that a search of the whole index finds."""
    index, position = await opened.engine.at(DecisionIndex, as_of)
    hits = await search.find(words, position, index.numbers)
    page = index.page_among(hits.with_words(len(words)), *query)
    return page.total, page.rows.tolist()


async def subjects(opened: Opened, rows: Sequence[int]) -> set[str]:
    index, _ = await opened.engine.at(DecisionIndex)
    return set(await opened.engine.names.subjects(index.positions(np.array(rows, dtype=np.intp))))


@pytest.mark.slow
@given(
    drafts=histories(40),
    cuts=st.sets(st.integers(1, 39), max_size=6),
    searches=st.lists(st.tuples(asked, queries), min_size=1, max_size=4),
    kept_bytes=st.sampled_from((0, 300, 1_000_000)),
    commit_events=st.integers(1, 9),
    data=st.data(),
)
@settings(max_examples=60, deadline=None)
def test_a_page_of_a_search_is_that_of_reading_everything(
    drafts: list[Draft],
    cuts: set[int],
    searches: list[tuple[frozenset[str], Query]],
    kept_bytes: int,
    commit_events: int,
    data: st.DataObject,
) -> None:
    """Searches are repeated while the log grows by amendments and reviews of old decisions, too."""
    lines = lines_of(drafts)

    async def scenario(path: Path) -> None:
        async with (
            engine(path) as opened,
            searching(opened, path) as search,
            searching(opened, path.with_name("other.db")) as other,
        ):
            for begin, end in zip([0, *sorted(cuts)], [*sorted(cuts), len(drafts)], strict=True):
                for draft in drafts[begin:end]:
                    await opened.log.append([draft])
                for words, query in searches:
                    as_of = data.draw(st.none() | st.integers(0, min(end, len(drafts))))
                    for moment in (None, as_of, None):
                        right = await read_page(opened, other, words, query, moment)
                        assert await kept_page(opened, search, words, query, moment) == right
                    _, rows = await kept_page(opened, search, words, EVERY)
                    assert await subjects(opened, rows) == expected(lines[:end], sorted(words))

    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patched:
        patched.setattr(word_rows, "KEPT_BYTES_MAX", kept_bytes)
        patched.setattr(full_text_search, "_COMMIT_EVENTS", commit_events)
        patched.setattr(slice_reader, "SLICE_EVENTS", 2)
        run(scenario(Path(folder) / "ledger.db"))


def test_a_new_text_changes_the_stamp_of_its_group_alone(tmp_path: Path) -> None:
    path = ledger_of(tmp_path, *(record(f"n{number}", context="omega") for number in range(30)))

    async def scenario() -> None:
        async with engine(path) as opened, searching(opened, path) as search:

            async def stamps() -> list[tuple[int, ...]]:
                async def at() -> tuple[DecisionIndex, int]:
                    index, position = await opened.engine.at(DecisionIndex)
                    return index.frozen(), position

                _, _, among = await search.find_rows(frozenset({"omega"}), at)
                return [among.stamps(group) for group in range(9)]

            async def changed(*drafts: Draft) -> list[int]:
                before = await stamps()
                await opened.log.append(drafts)
                after = await stamps()
                return [group for group in range(9) if before[group] != after[group]]

            assert await changed(review("n3", lessons="omega too")) == [], "it had the word already"
            assert await changed(review("one", lessons="omega")) == [0]
            assert await changed(review("one", lessons="nothing")) == [0]
            assert await changed(amend("n9", context="nothing"), amend("n25", context="omega")) == [2]
            assert await changed(record("last", context="omega")) == [8]

    run(scenario())


def test_a_repeated_search_reads_no_index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = ledger_of(tmp_path)

    async def scenario() -> None:
        async with engine(path) as opened, searching(opened, path) as search:
            words = frozenset({"beta"})
            assert await kept_page(opened, search, words, EVERY) == (2, [1, 0])
            monkeypatch.setattr(FullTextSearch, "_read", None)
            assert await kept_page(opened, search, words, EVERY) == (2, [1, 0])
            assert await kept_page(opened, search, words, EVERY._replace(offset=1, limit=1)) == (2, [0])

    run(scenario())


def test_a_long_search_lets_others_go_first(tmp_path: Path) -> None:
    path = ledger_of(tmp_path, *(record(f"n{number}", context="omega") for number in range(60)))

    async def scenario() -> None:
        async with engine(path) as opened, searching(opened, path) as search:
            assert await kept_page(opened, search, frozenset({"nothing"}), EVERY) == (0, [])
            ended: list[str] = []

            async def ask(word: str) -> None:
                await kept_page(opened, search, frozenset({word}), EVERY)
                ended.append(word)

            await asyncio.gather(ask("omega"), ask("nothing"))
            assert ended == ["nothing", "omega"]

    run(scenario())


def test_a_search_that_is_given_up_goes_on_where_it_was(tmp_path: Path) -> None:
    """Also while the index catches up with replaced texts."""
    path = ledger_of(tmp_path, *(record(f"n{number}", context="omega") for number in range(40)))

    async def scenario() -> None:
        async with engine(path) as opened, searching(opened, path) as search:
            words, left = frozenset({"omega"}), 40
            for turns in range(0, 160, 5):
                given_up = asyncio.create_task(kept_page(opened, search, words, EVERY))
                for _ in range(turns):
                    await asyncio.sleep(0)
                given_up.cancel()
                await asyncio.gather(given_up, return_exceptions=True)
                if turns % 4 == 0:
                    left -= 1
                    await opened.log.append([amend(f"n{left}", context="nothing")])
            total, _ = await kept_page(opened, search, words, EVERY)
            assert total == left

    run(scenario())


def test_searches_at_once_while_decisions_are_amended(tmp_path: Path) -> None:
    path = ledger_of(tmp_path, *(record(f"n{number}", context="omega") for number in range(40)))

    async def scenario() -> None:
        async with engine(path) as opened, searching(opened, path) as search:

            async def ask(number: int) -> None:
                await opened.log.append([amend(f"n{number}", context="alpha")])
                _, rows = await kept_page(opened, search, frozenset({"alpha"}), EVERY)
                assert f"decision/n{number}" in await subjects(opened, rows)
                _, rows = await kept_page(opened, search, frozenset({"omega"}), EVERY)
                assert f"decision/n{number}" not in await subjects(opened, rows)

            await asyncio.gather(*(ask(number) for number in range(40)))
            assert (await kept_page(opened, search, frozenset({"omega"}), EVERY))[0] == 0

    run(scenario())


def test_a_search_of_many_words_is_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(word_rows, "KEPT_WORDS_MAX", 1)
    path = ledger_of(tmp_path)

    async def scenario() -> None:
        async with engine(path) as opened, searching(opened, path) as search:
            assert await kept_page(opened, search, frozenset({"beta", "gamma"}), EVERY) == (1, [1])
            assert not search._kept.have(frozenset({"beta"}), 3)

    run(scenario())


def masks(kept: WordRows) -> Iterator[int]:
    yield from (id(one.bits) for one in kept.groups.values())


def test_the_words_asked_for_the_longest_ago_are_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(word_rows, "KEPT_BYTES_MAX", 1_000)
    words = KeptWords()
    words.follow(10)
    for number in range(20):
        kept = words.rows(f"word{number}", 10, 4)
        kept.put(np.array([number]), having=True)
        kept.position = 10
        words.rows("word0", 10, 4)
        words.trim()
    assert words.have(frozenset({"word0", "word19"}), 10)
    assert not words.have(frozenset({"word1"}), 10)


def test_groups_whose_decisions_all_have_a_word_share_a_mask() -> None:
    kept = WordRows(8)
    kept.put(np.arange(24), having=True)
    assert len(set(masks(kept))) == 1
    kept.put(np.array([9]), having=False)
    assert len(set(masks(kept))) == 2
