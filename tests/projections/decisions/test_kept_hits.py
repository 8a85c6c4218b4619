"""Hits of earlier ranked searches: what is kept gives the same scores as the index, and only while it is the same."""

import asyncio
from pathlib import Path

import numpy as np

from projections.decisions import kept_hits
from projections.decisions.decision_index import DecisionIndex
from projections.decisions.full_text_search import FullTextSearch
from projections.decisions.kept_hits import KeptHits, ScoredWord
from projections.decisions.search_hits import SearchHits
from tests.projections.drafts import record
from tests.projections.open_ledgers import SECRET, Opened, engine

WORDS = ("alpha", "omega")


async def ask(opened: Opened, search: FullTextSearch, as_of: int | None = None) -> SearchHits:
    index, position = await opened.engine.at(DecisionIndex, as_of)
    return await search.find(WORDS, position, index.numbers, rank=True)


def equal(one: SearchHits, other: SearchHits) -> bool:
    return all(np.array_equal(mine, theirs) for mine, theirs in zip(one, other, strict=True))


def test_a_repeated_search_answers_as_the_index_does(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with engine(tmp_path / "ledger.db") as opened:
            await opened.log.append([record(f"d{n}", 0.5, context="alpha " * (n + 1) + "omega") for n in range(5)])
            kept = FullTextSearch(tmp_path / "kept.search.db", opened.engine, SECRET)
            for text in ("alpha beta", "omega", "gamma"):
                first = await ask(opened, kept)
                assert equal(await ask(opened, kept), first)
                before = await ask(opened, kept, 3)
                await opened.log.append([record(text.replace(" ", "-"), 0.5, context=text)])
                after = await ask(opened, kept)
                new = FullTextSearch(tmp_path / f"{len(text)}.search.db", opened.engine, SECRET)
                assert equal(after, await ask(opened, new)), "a new event changes the scores of every decision"
                assert equal(await ask(opened, kept, 3), await ask(opened, new, 3))
                assert not equal(await ask(opened, kept, 3), before)
                await new.close()
            await kept.close()

    asyncio.run(scenario())


def test_only_so_many_bytes_are_kept() -> None:
    kept, hits = KeptHits(), np.zeros(kept_hits.BYTES_MAX // 20, np.int64)
    asked = [ScoredWord("statement", word, 9) for word in ("a", "b", "c")]
    for one in asked[:2]:
        kept.keep(one, hits)
    assert kept.find(asked[0]) is hits
    kept.keep(asked[2], hits)
    assert [kept.find(one) is hits for one in asked] == [True, False, True], "the one asked for longest ago goes"
    kept.follow(7)
    assert kept.find(asked[0]) is None
