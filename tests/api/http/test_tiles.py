"""Tiles, entries and proofs over HTTP, on a small ledger; a large one is in test_tiles.py."""

import gzip
from base64 import b64decode
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from ledger.sqlite.log import SqliteLog
from ledger.transparency.merkle import (
    EMPTY_ROOT,
    leaf_hash,
    verify_consistency,
    verify_inclusion,
)
from ledger.transparency.tiles import TileAddress, entry_bundle
from tests.support.drafts import batch_of
from tests.support.event_loop import run
from tests.support.in_process import application

SIZE = 300


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    ledger = tmp_path_factory.mktemp("tree") / "ledger.db"
    run(filled(ledger))
    with application(ledger) as connected:
        yield connected


async def filled(ledger: Path) -> None:
    log = await SqliteLog.open(ledger)
    await log.append(batch_of(SIZE))
    await log.close()


def refused(response: httpx.Response, status: int, field: str | None = None) -> str:
    """What a problem document says, which must have this status and name this parameter."""
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "application/problem+json"
    problem = response.json()
    assert problem.get("field") == field, problem
    assert "cache-control" not in response.headers or "immutable" not in response.headers["cache-control"]
    return str(problem["detail"])


def test_a_tile_is_kept_for_long_but_by_no_cache_that_others_share(client: httpx.Client) -> None:
    for path in ("/tile/0/000", "/tile/0/001.p/44", "/tile/1/000.p/1", "/tile/entries/001.p/44"):
        answer = client.get(path)
        assert answer.status_code == 200, path
        assert answer.headers["content-type"] == "application/octet-stream"
        assert answer.headers["cache-control"] == "private, max-age=31536000, immutable"
        assert "authorization" in answer.headers["vary"]
    assert client.head("/tile/0/000").headers["content-length"] == "8192"


def test_a_tile_that_has_become_full_is_still_served_in_part(client: httpx.Client) -> None:
    whole = client.get("/tile/0/000").content
    assert [client.get(f"/tile/0/000.p/{width}").content for width in (1, 100, 255)] == [
        whole[: width * 32] for width in (1, 100, 255)
    ]
    bundled = client.get("/tile/entries/000").content
    assert bundled.startswith(client.get("/tile/entries/000.p/255").content)


def test_entries_are_the_lines_behind_their_lengths(client: httpx.Client) -> None:
    lines = client.get("/events", headers={"accept": "application/x-ndjson"}).content.splitlines()
    assert client.get("/tile/entries/000").content == entry_bundle(lines[:256])
    assert client.get("/tile/entries/001.p/44").content == entry_bundle(lines[256:])
    assert client.get("/tile/0/001.p/44").content == b"".join(leaf_hash(line) for line in lines[256:])


@pytest.mark.parametrize(
    ("accepted", "encoding"),
    [
        ("gzip", "gzip"), ("br, gzip;q=0.5", "gzip"), ("GZIP ; q=1.0,identity", "gzip"), ("", None), ("br", None),
        ("gzip;q=0", None), ("gzip;q=0.0, br", None), ("notgzip", None),
    ],
)  # fmt: skip
def test_entries_are_compressed_where_that_is_taken(client: httpx.Client, accepted: str, encoding: str | None) -> None:
    whole = client.get("/tile/entries/000", headers={"accept-encoding": "identity"}).content
    request = client.build_request("GET", "/tile/entries/000", headers={"accept-encoding": accepted})
    answer = client.send(request, stream=True)
    raw = b"".join(answer.iter_raw())
    assert answer.headers.get("content-encoding") == encoding
    assert (gzip.decompress(raw) if encoding else raw) == whole
    assert "accept-encoding" in answer.headers["vary"]


def test_hashes_are_never_compressed(client: httpx.Client) -> None:
    assert "content-encoding" not in client.get("/tile/0/000", headers={"accept-encoding": "gzip"}).headers


@pytest.mark.parametrize(
    "path",
    [
        "/tile/0/001", "/tile/0/001.p/45", "/tile/0/002.p/1", "/tile/0/x001/000", "/tile/1/000", "/tile/1/000.p/2",
        "/tile/2/000.p/1", "/tile/63/000.p/1", "/tile/0/x999/x999/x999/x999/x999/x999/999", "/tile/entries/001",
        "/tile/entries/001.p/45", "/tile/entries/x001/000",
    ],
)  # fmt: skip
def test_a_tile_that_is_not_there_is_not_found(client: httpx.Client, path: str) -> None:
    assert "in the tree of 300" in refused(client.get(path), 404)


@pytest.mark.parametrize(
    "number",
    [
        "0", "00", "0000", "x000", "x000/001", "1/000", "x1/000", "000/001", "x001/x002", "000.p", "000.p/", "000.p/0",
        "000.p/00", "000.p/01", "000.p/256", "000.p/1000", "000.p/-1", "000.p/1/", "000/", "-01", "+01", " 000",
        "\u0660\u0660\u0660", "x001" * 2, "/".join(["x001"] * 7 + ["000"]), "000.P/1",
    ],
)  # fmt: skip
def test_a_number_is_written_in_one_way(client: httpx.Client, number: str) -> None:
    for level in ("0", "entries"):
        assert "is not the number of a tile" in refused(client.get(f"/tile/{level}/{number}"), 400, "tile")


@pytest.mark.parametrize("level", ["00", "01", "64", "-1", "+1", "8 ", "data", "Entries", "1000"])
def test_a_level_is_written_in_one_way(client: httpx.Client, level: str) -> None:
    assert "is not a level" in refused(client.get(f"/tile/{level}/000"), 400, "level")


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0, "000"),
        (999, "999"),
        (1_000, "x001/000"),
        (1_234_067, "x001/x234/067"),
        (10**20, "x100/x000/x000/x000/x000/x000/000"),
    ],
)
def test_an_address_is_read_as_it_is_written(number: int, text: str) -> None:
    assert str(TileAddress(number)) == text
    assert TileAddress.parse(text) == (number, 256)
    assert TileAddress.parse(f"{text}.p/5") == (number, 5) == TileAddress.parse(str(TileAddress(number, 5)))


def test_nothing_else_is_asked_of_a_tile(client: httpx.Client) -> None:
    refused(client.get("/tile/0/000?size=1"), 400, "size")


@pytest.mark.parametrize("size", [None, 1, 255, 256, 257, 299])
def test_a_proof_of_inclusion_holds(client: httpx.Client, size: int | None) -> None:
    for position in (1, size or SIZE):
        asked = {"position": position} | ({"size": size} if size else {})
        proof = client.get("/proofs/inclusion", params=asked).json()
        assert list(proof) == ["position", "size", "leaf", "root", "hashes"]
        assert (proof["position"], proof["size"]) == (position, size or SIZE)
        leaf, hashes = b64decode(proof["leaf"]), [*map(b64decode, proof["hashes"])]
        assert leaf == leaf_hash(client.get(f"/events/{position}").content)
        assert verify_inclusion(leaf, position - 1, proof["size"], hashes, b64decode(proof["root"]))


@pytest.mark.parametrize(("older", "newer"), [(0, 0), (0, 300), (1, 300), (256, None), (299, 300), (300, 300)])
def test_a_proof_of_consistency_holds(client: httpx.Client, older: int, newer: int | None) -> None:
    asked = {"from": older} | ({} if newer is None else {"to": newer})
    proof = client.get("/proofs/consistency", params=asked).json()
    assert list(proof) == ["from", "from_root", "to", "to_root", "hashes"]
    assert (proof["from"], proof["to"]) == (older, SIZE if newer is None else newer)
    roots = b64decode(proof["from_root"]), b64decode(proof["to_root"])
    assert verify_consistency(older, proof["to"], [*map(b64decode, proof["hashes"])], *roots)
    assert (roots[0] == EMPTY_ROOT) == (older == 0)


@pytest.mark.parametrize(
    ("path", "field"),
    [
        ("inclusion", "position"), ("inclusion?size=3", "position"), ("inclusion?position=0", "position"),
        ("inclusion?position=4&size=3", "position"), ("inclusion?position=301", "position"),
        ("inclusion?position=1&size=0", "size"), ("inclusion?position=1&size=301", "size"),
        ("inclusion?position=1&position=2", "position"), ("inclusion?position=1&to=2", "to"),
        ("consistency", "from"), ("consistency?to=1", "from"), ("consistency?from=-1", "from"),
        ("consistency?from=4&to=3", "from"), ("consistency?from=301", "from"), ("consistency?from=1&to=301", "to"),
        ("consistency?from=1&to=x", "to"), ("consistency?from=1&size=2", "size"),
    ],
)  # fmt: skip
def test_a_proof_that_cannot_be_given_names_its_parameter(client: httpx.Client, path: str, field: str) -> None:
    refused(client.get(f"/proofs/{path}"), 400, field)
