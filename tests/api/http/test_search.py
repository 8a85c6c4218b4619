"""Searching the texts of decisions: over HTTP, on the command line beside the server, and while others append."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import httpx
import msgspec
import pytest

from tests.api.cli.command import done
from tests.api.http.posts import (
    LINES,
    fresh,
    get,
    ndjson,
    post,
    recorded,
    reviewed,
    thought,
)
from tests.support.server import Served, served


def found(client: httpx.Client, search: str, **parameters: str | int) -> list[str]:
    page = get(client, "/decisions", search=search, **parameters)
    assert page["total"] >= len(page["decisions"])
    return [decision["decision_id"] for decision in page["decisions"]]


def amended(decision_id: str, **fields: object) -> dict[str, object]:
    return {"type": "decision.amended.v1", "data": {"decision_id": decision_id, **fields}}


TEXTS: dict[str, dict[str, object]] = {
    "decision": {"decision": "Adopt WORD"},
    "context": {"context": "because of word."},
    "reasons": {"reasons": [{"type": "analysis", "text": "(word)"}]},
    "pattern": {"pattern": "word-first"},
    "tags": {"tags": ["a", "WORD"]},
    "category": {"category": "word"},
    "project": {"project": "word"},
    "feature": {"feature": "the word"},
    "bridge": {"bridge": {"structure": "word"}},
    "function of the bridge": {"bridge": {"function": "word"}},
    "tolerance of the bridge": {"bridge": {"tolerance": ["word"]}},
    "deliberation": {"deliberation": {"steps": [{"thought": "word?"}]}},
    "inputs of the deliberation": {"deliberation": {"inputs": [{"id": "i", "text": "word"}]}},
    "trace": {"trace": [{"output": "word"}]},
}


@pytest.mark.parametrize("name", TEXTS)
def test_every_text_is_searched(client: httpx.Client, name: str) -> None:
    word, decision_id = fresh(), fresh()
    stated = msgspec.json.encode(TEXTS[name]).decode()
    fields = msgspec.json.decode(stated.replace("word", word).replace("WORD", word.upper()))
    post(client, [recorded(decision_id, **fields), recorded(context=f"{word}s {word}ed")])
    assert found(client, word) == [decision_id]


@pytest.mark.parametrize("name", ["actual_result", "lessons", "notes"])
def test_what_a_review_says_is_searched(client: httpx.Client, name: str) -> None:
    word, decision_id = fresh(), fresh()
    post(client, [recorded(decision_id), reviewed(decision_id, **{name: word})])
    assert found(client, word) == [decision_id]


def test_every_word_must_be_there_wherever_it_stands(client: httpx.Client) -> None:
    first, second, third = fresh(), fresh(), fresh()
    both, other = fresh(), fresh()
    events = [recorded(both, context=first), thought(both, second), reviewed(both, lessons=third)]
    post(client, [*events, recorded(other, context=f"{first} {third}")])
    assert found(client, f"{third} {first} {second}") == [both]
    assert found(client, f"{first}, {third}") == [other, both]
    assert found(client, f"{first} {third}", order="asc", limit=1) == [both]
    assert found(client, f"{first} {third}", status="pending") == [other]
    assert get(client, "/decisions", search=first, limit=1)["total"] == 2


def test_a_search_follows_what_changes_and_knows_what_was(client: httpx.Client) -> None:
    before, after, decision_id = fresh(), fresh(), fresh()
    was = post(client, recorded(decision_id, context=before, tags=[f"tag-{before}"]))["position"]
    assert found(client, before) == [decision_id]
    changed = post(client, amended(decision_id, context=after, tags=[]))["position"]
    assert (found(client, before), found(client, after)) == ([], [decision_id])
    assert found(client, before, as_of=was) == [decision_id]
    assert found(client, after, as_of=was) == []
    assert found(client, before, as_of=changed) == []
    assert found(client, before, as_of=was - 1) == []


def test_what_a_new_review_leaves_out_is_still_found(client: httpx.Client) -> None:
    lesson, result, other, decision_id = fresh(), fresh(), fresh(), fresh()
    said = reviewed(decision_id, lessons=lesson, actual_result=result)
    post(client, [recorded(decision_id), said, reviewed(decision_id, "failure", lessons=other)])
    assert (found(client, lesson), found(client, f"{result} {other}")) == ([], [decision_id])


def test_case_and_accents_do_not_matter(client: httpx.Client) -> None:
    word, decision_id = fresh(), fresh()
    post(client, recorded(decision_id, context=f"Café{word} Straße 🚀"))
    for search in (f"CAFE{word}", f"cafe\u0301{word.upper()} STRASSE", f"🚀 café{word}"):
        assert found(client, search) == [decision_id], search
    assert found(client, f"🛑 café{word}") == []


@pytest.mark.parametrize(
    "given",
    [
        'WORD"', "WORD OR nothing", "NOT WORD", "WORD*", "NEAR(WORD nothing, 5)", "text:WORD", "-WORD", "(WORD",
        "WORD)", "^WORD", "WORD + nothing", "{WORD} : nothing", "'WORD'; DROP TABLE words; --", "WORD\0", "\\WORD",
        "WORD AND nothing",
    ],
)  # fmt: skip
def test_any_input_is_just_words(client: httpx.Client, given: str) -> None:
    word, decision_id = fresh(), fresh()
    post(client, recorded(decision_id, context=f"{word} and"))
    names = {"or", "not", "near", "text", "nothing", "drop", "table", "words", "5"}
    others = set(given.lower().replace("(", " ").replace(":", " ").split()) & names
    assert found(client, given.replace("WORD", word)) == ([] if others else [decision_id])


@pytest.mark.parametrize("given", ["", "   ", '"', "*", "()", "\0", "…—!", '""""', "'", "+-^:"])
def test_a_search_without_a_word_narrows_nothing(client: httpx.Client, given: str) -> None:
    project = fresh()
    post(client, [recorded(project=project), recorded(project=project)])
    assert len(found(client, given, project=project)) == 2


def test_too_many_words_are_refused(server: Served, served_client: httpx.Client) -> None:
    response = served_client.get("/decisions", params={"search": " ".join(f"w{number}" for number in range(1001))})
    assert response.status_code == 400
    assert response.json()["field"] == "search"
    assert "1001 different words are more than 1000" in response.json()["detail"]


@pytest.fixture(scope="module")
def twenty_thousand(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, httpx.Client]]:
    """A server over 20,000 decisions, half of which failed; its ledger."""
    ledger = tmp_path_factory.mktemp("many") / "ledger.db"
    with served(ledger) as server, httpx.Client(base_url=server.url, timeout=None) as client:
        for start in range(0, 20_000, 1_000):
            names = [f"many{number:05}" for number in range(start, start + 1_000)]
            events = [
                recorded(name, context=f"common parity{number % 2} number{start + number}")
                for number, name in enumerate(names)
            ]
            reviews = [reviewed(name, "failure" if number % 2 else "success") for number, name in enumerate(names)]
            response = client.post("/events", content=ndjson([*events, *reviews]), headers=LINES)
            assert response.status_code == 201
        yield ledger, client


@pytest.mark.slow
def test_row_6_no_search_is_cut_short(twenty_thousand: tuple[Path, httpx.Client]) -> None:
    _, client = twenty_thousand
    assert get(client, "/decisions", search="common", limit=1)["total"] == 20_000
    assert get(client, "/decisions", search="parity1 common", outcome="failure", limit=1)["total"] == 10_000
    assert found(client, "number7") == ["many00007"]
    assert found(client, "common", offset=19_999) == ["many00000"]


def test_the_command_line_searches_beside_the_server(twenty_thousand: tuple[Path, httpx.Client]) -> None:
    ledger, client = twenty_thousand
    said = msgspec.json.decode(done(ledger, "decisions", "--search", "NUMBER19999", "--json").out)
    assert (said["total"], said["decisions"][0]["decision_id"]) == (1, "many19999")
    assert found(client, "number19999") == ["many19999"]


@pytest.mark.slow
def test_a_search_sees_every_acknowledged_decision(tmp_path: Path) -> None:
    """Many append and search at once; each finds at once what the server acknowledged."""

    async def scenario(url: str) -> None:
        async with httpx.AsyncClient(base_url=url, timeout=None) as client:

            async def take_part(number: int) -> None:
                for turn in range(12):
                    word = f"agent{number}turn{turn}"
                    body = msgspec.json.encode(recorded(word, context=f"shared {word}"))
                    headers = {"content-type": "application/json"}
                    assert (await client.post("/events", content=body, headers=headers)).status_code == 201
                    page = (await client.get("/decisions", params={"search": word})).json()
                    assert [decision["decision_id"] for decision in page["decisions"]] == [word]
                    page = (await client.get("/decisions", params={"search": f"shared agent{number}turn0"})).json()
                    assert page["total"] == 1

            await asyncio.gather(*(take_part(number) for number in range(16)))
            page = (await client.get("/decisions", params={"search": "shared"})).json()
            assert page["total"] == 16 * 12

    with served(tmp_path / "ledger.db") as server:
        asyncio.run(scenario(server.url))
