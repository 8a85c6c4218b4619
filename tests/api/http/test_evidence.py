"""Evidence over HTTP: store, read and erase; and what a stored page may not do in a browser."""

import asyncio
import random
import threading
from base64 import b64encode
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from uuid import uuid4

import httpx
import msgspec
import pytest

from api.client.open_store import open_store
from api.principal import OWNER
from api.service.evidence import Blob
from api.service.evidence_list import EvidenceQuery, list_evidence
from api.service.ledger import LedgerService
from api.token_store import TokenStore
from events.limits import EVIDENCE_BYTES_MAX
from events.registry import VOCABULARY
from ledger.clock import system_clock
from ledger.errors import Gone
from tests.api.http.posts import (
    Json,
    get,
    head,
    post,
    recorded,
    reviewed,
)
from tests.faults.full import Disk, small_disk, unfit
from tests.support.event_loop import run
from tests.support.server import served

TEXT = {"content-type": "text/plain"}


def digest_of(data: bytes) -> str:
    return sha256(data).hexdigest()


def fresh_bytes() -> bytes:
    """Bytes that no other test puts."""
    return f"answer {uuid4()}".encode() * 3


def refused(response: httpx.Response, status: int, kind: str) -> Json:
    assert response.status_code == status, response.text
    problem: Json = response.json()
    assert (problem["type"], problem["status"]) == (f"urn:tallystick:problem:{kind}", status)
    assert problem["detail"]
    assert problem["advice"]
    return problem


@pytest.mark.trial("N15")
def test_a_body_is_compared_with_its_content_digest(client: httpx.Client) -> None:
    data = fresh_bytes()
    right = f"sha-256=:{b64encode(sha256(data).digest()).decode()}:"
    wrong = f"sha-256=:{b64encode(sha256(b'x').digest()).decode()}:"
    for header in (wrong, f"md5=:AAAA:, {wrong}", "sha-512=:AAAA:", f"{right}, {wrong}", "sha-256", "SHA-256=5"):
        before = head(client)
        problem = refused(
            client.put("/evidence", content=data, headers={"content-digest": header}), 400, "malformed-input"
        )
        assert problem["detail"].startswith("Content-Digest: ")
        refused(client.post("/events", content=b"[]", headers={"content-digest": header}), 400, "malformed-input")
        assert head(client) == before
    for header in (right, f"md5=:AAAA:, {right};a=1", "md5=:AAAA:", ""):
        assert client.put("/evidence", content=data, headers={"content-digest": header}).is_success


def test_bytes_are_put_and_got(client: httpx.Client) -> None:
    data = fresh_bytes()
    response = client.put("/evidence", content=data, headers=TEXT, params={"note": "what it said"})
    digest = digest_of(data)
    assert response.status_code == 201
    assert response.json() == {
        "digest": digest, "size_bytes": len(data), "media_type": "text/plain", "position": head(client),
        "duplicate": False,
    }  # fmt: skip
    assert (response.headers["location"], response.headers["etag"]) == (f"/evidence/{digest}", f'"{digest}"')
    again = client.put("/evidence", content=data, headers={"content-type": "text/html"})
    assert (again.status_code, again.json()) == (200, response.json() | {"duplicate": True})

    got = client.get(response.headers["location"])
    assert (got.status_code, got.content, got.headers["etag"]) == (200, data, f'"{digest}"')
    asked = client.head(f"/evidence/{digest}")
    assert (asked.status_code, asked.content, asked.headers["content-length"]) == (200, b"", str(len(data)))
    event = get(client, f"/streams/evidence/{digest}")["events"][0]
    assert event["data"] == {
        "digest": digest, "size_bytes": len(data), "media_type": "text/plain", "note": "what it said",
    }  # fmt: skip


@pytest.mark.slow
def test_a_stored_page_runs_nowhere(served_client: httpx.Client) -> None:
    page = b"<script>alert(document.cookie)</script>" + fresh_bytes()
    digest = served_client.put("/evidence", content=page, headers={"content-type": "text/html"}).json()["digest"]
    headers = served_client.get(f"/evidence/{digest}").headers
    assert headers["content-type"] == "text/html"
    assert headers["content-disposition"] == f'attachment; filename="{digest}"'
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["content-security-policy"] == "default-src 'none'; frame-ancestors 'none'; sandbox"
    assert headers["cache-control"] == "private, no-store"


@pytest.mark.parametrize("data", [b"", b"\x00\xff" * 3, b"x" * EVIDENCE_BYTES_MAX])
def test_any_bytes_are_taken_up_to_the_limit(client: httpx.Client, data: bytes) -> None:
    answer = client.put("/evidence", content=data).json()
    assert (answer["size_bytes"], answer["media_type"]) == (len(data), None)
    got = client.get(f"/evidence/{answer['digest']}")
    assert got.content == data
    assert got.headers["content-type"] == "application/octet-stream"


def test_a_client_that_has_the_bytes_gets_none(client: httpx.Client) -> None:
    digest = client.put("/evidence", content=fresh_bytes()).json()["digest"]
    for tag in (f'"{digest}"', f'W/"{digest}"', f'"other", "{digest}"', "*"):
        spared = client.get(f"/evidence/{digest}", headers={"if-none-match": tag})
        assert (spared.status_code, spared.content, spared.headers["etag"]) == (304, b"", f'"{digest}"')
    assert client.get(f"/evidence/{digest}", headers={"if-none-match": '"other"'}).status_code == 200


def test_an_erasure_over_http_is_for_good(client: httpx.Client) -> None:
    data = fresh_bytes()
    digest = client.put("/evidence", content=data).json()["digest"]
    erased = client.delete(f"/evidence/{digest}", params={"reason": "it names a person"})
    assert (erased.status_code, erased.json()) == (
        200,
        {
            "digest": digest, "size_bytes": len(data), "reason": "it names a person", "position": head(client),
            "duplicate": False,
        },
    )  # fmt: skip
    assert client.delete(f"/evidence/{digest}").json() == erased.json() | {"duplicate": True}
    assert "it names a person" in refused(client.get(f"/evidence/{digest}"), 410, "gone")["detail"]
    refused(client.get(f"/evidence/{digest}", headers={"if-none-match": "*"}), 410, "gone")
    refused(client.put("/evidence", content=data), 410, "gone")
    assert client.head(f"/evidence/{digest}").status_code == 410
    assert [event["type"] for event in get(client, f"/streams/evidence/{digest}")["events"]] == [
        "evidence.stored.v1", "evidence.erased.v1",
    ]  # fmt: skip


def test_what_is_wrong_is_refused_and_writes_nothing(client: httpx.Client) -> None:
    before, none = head(client), "0" * 64
    wrong = digest_of(b"other")
    assert digest_of(b"x") in refused(
        client.put("/evidence", content=b"x", params={"digest": wrong}), 400, "invalid-query"
    )["detail"]  # fmt: skip
    refused(client.put("/evidence", content=b"x", params={"digets": wrong}), 400, "invalid-query")
    refused(client.put("/evidence", content=b"x", params={"note": ""}), 400, "invalid-query")
    refused(client.put("/evidence", content=b"x", params={"note": "n" * 1_001}), 400, "invalid-query")
    refused(client.put("/evidence", content=b"x", headers={"content-type": "text"}), 400, "invalid-query")
    gzip = {"content-encoding": "gzip"}
    refused(client.put("/evidence", content=b"x", headers=gzip), 415, "unsupported-media")
    refused(client.put("/evidence", content=bytes(EVIDENCE_BYTES_MAX + 1)), 413, "body-too-large")
    refused(client.get(f"/evidence/{none}"), 404, "not-found")
    refused(client.delete(f"/evidence/{none}"), 404, "not-found")
    refused(client.get(f"/evidence/{none[1:]}"), 400, "invalid-query")
    refused(client.get(f"/evidence/{'A' * 64}"), 400, "invalid-query")
    refused(client.get("/evidence/..%2f..%2fetc"), 404, "no-route")
    refused(client.post("/evidence", content=b"x"), 405, "wrong-method")
    refused(client.get("/evidence", params={"limit": 0}), 400, "invalid-query")
    events = [
        {"type": "evidence.stored.v1", "data": {"digest": none, "size_bytes": 1}},
        {"type": "evidence.erased.v1", "data": {"digest": none}},
    ]
    for event in events:
        body = msgspec.json.encode([recorded(), event])
        problem = refused(
            client.post("/events", content=body, headers={"content-type": "application/json"}), 422, "invalid-event"
        )
        assert (problem["field"], problem["index"]) == ("type", 1)
    assert head(client) == before


def test_twenty_clients_put_the_same_at_once(client: httpx.Client) -> None:
    data, before = fresh_bytes() * 10_000, head(client)
    answers: list[httpx.Response] = []

    def ask() -> None:
        answers.append(client.put("/evidence", content=data))

    threads = [threading.Thread(target=ask) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(answer.status_code for answer in answers) == [200] * 19 + [201]
    assert {answer.json()["position"] for answer in answers} == {before + 1}
    assert head(client) == before + 1


def test_the_list_tells_what_was_and_what_is(client: httpx.Client) -> None:
    start = get(client, "/evidence")["total"]
    digests = [client.put("/evidence", content=fresh_bytes()).json()["digest"] for _ in range(3)]
    then = head(client)
    client.delete(f"/evidence/{digests[1]}", params={"reason": "why"})
    page = get(client, "/evidence", offset=start, limit=2)
    assert [one["digest"] for one in page["evidence"]] == digests[:2]
    assert (page["total"], page["next"], page["as_of"]["position"]) == (start + 3, start + 2, then + 1)
    assert [one["erased"] and one["erased"]["reason"] for one in page["evidence"]] == [None, "why"]
    before = get(client, "/evidence", offset=start, as_of=then)
    assert [one["erased"] for one in before["evidence"]] == [None, None, None]
    assert get(client, "/projections/evidence")["view"]["erased"] >= 1


def test_an_erasure_changes_no_figure(client: httpx.Client) -> None:
    post(client, [recorded("figure-1"), reviewed("figure-1", "failure")])
    digest = client.put("/evidence", content=fresh_bytes()).json()["digest"]
    names = [one["name"] for one in get(client, "/projections")["projections"]]
    before = {name: get(client, f"/projections/{name}")["digest"] for name in names}
    figures, at = get(client, "/calibration", agent="anonymous"), head(client)
    client.delete(f"/evidence/{digest}")
    after = {name: get(client, f"/projections/{name}")["digest"] for name in names}
    assert {name for name in names if before[name] != after[name]} == {"evidence", "events"}
    assert get(client, "/projections/evidence", as_of=at)["digest"] == before["evidence"]
    assert get(client, "/calibration", agent="anonymous")["overall"] == figures["overall"]


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[httpx.Client, dict[str, str]]]:
    ledger = tmp_path_factory.mktemp("guarded") / "ledger.db"
    tokens, clock = TokenStore(ledger), system_clock()
    secrets = {scope: f"Bearer {tokens.add(scope, (scope,), clock)[1]}" for scope in ("append", "read", "admin")}
    with served(ledger) as server, httpx.Client(base_url=server.url, timeout=None) as client:
        yield client, secrets


def test_each_verb_has_its_scope(guarded: tuple[httpx.Client, dict[str, str]]) -> None:
    client, secrets = guarded
    path = f"/evidence/{digest_of(b'x')}"
    asked = {
        ("PUT", "/evidence"): "append",
        ("GET", path): "read",
        ("GET", "/evidence"): "read",
        ("DELETE", path): "admin",
    }
    for (method, where), needed in asked.items():
        refused(client.request(method, where, content=b"x"), 401, "unauthenticated")
        for scope, secret in secrets.items():
            response = client.request(method, where, content=b"x", headers={"authorization": secret})
            if scope in (needed, "admin"):
                assert response.status_code in (200, 201), response.text
            else:
                assert f"'{needed}'" in refused(response, 403, "forbidden")["detail"]
    event = client.get(f"/streams{path}", headers={"authorization": secrets["read"]}).json()["events"][0]
    assert event["source"] == "/agents/append"


def test_a_reader_beside_the_server_and_both_stores_give_the_same(tmp_path: Path) -> None:
    ledger = tmp_path / "ledger.db"
    with served(ledger) as server, httpx.Client(base_url=server.url, timeout=None) as client:
        data = fresh_bytes()
        digest = client.put("/evidence", content=data, headers=TEXT).json()["digest"]

        async def beside() -> None:
            service = await LedgerService.open(ledger, writable=False)
            try:
                assert (await service.evidence.get(digest, OWNER)).data == data
                await asyncio.to_thread(client.delete, f"/evidence/{digest}")
                with pytest.raises(Gone):
                    await service.evidence.get(digest, OWNER)
                page = await list_evidence(service, EvidenceQuery())
                assert [one.erased is None for one in page.evidence] == [False]
            finally:
                await service.close()

        async def through(url: str | None) -> list[object]:
            async with open_store(tmp_path / "other.db", url, None) as target:
                blob = Blob(b"through a sink", "text/plain", "a note")
                async with target.keep([blob]) as drafts:
                    await target.append([*drafts, VOCABULARY.draft(msgspec.json.encode(recorded("kept")))])
                kept = await target.put(blob)
                piece = await target.evidence(kept.digest)
                erased = await target.erase(kept.digest, "done")
                with pytest.raises(Gone) as gone:
                    await target.evidence(kept.digest)
                with pytest.raises(Gone):
                    await target.put(blob)
                return [
                    kept.digest, kept.size_bytes, kept.media_type, kept.duplicate, piece, erased.reason,
                    gone.value.advice,
                ]  # fmt: skip

        run(beside())
        assert run(through(server.url)) == run(through(None))


@pytest.mark.slow
def test_a_full_disk_is_507(tmp_path: Path) -> None:
    if (reason := unfit()) is not None:
        pytest.skip(reason)
    second = random.Random(1).randbytes(1_000_000)
    with (
        small_disk(tmp_path) as place,
        served(place / "ledger.db", logs=tmp_path) as server,
        httpx.Client(base_url=server.url, timeout=None) as client,
    ):
        client.put("/evidence", content=b"first")
        Disk(place).leave(100_000)
        assert "disk is full" in refused(client.put("/evidence", content=second), 507, "ledger-full")["detail"]
        assert head(client) == 1
        Disk(place).leave(10_000_000)
        assert client.put("/evidence", content=second).status_code == 201
        (file,) = (place / "ledger.db.evidence").glob(f"??/{digest_of(b'first')}")
        file.write_bytes(b"rubbish")
        refused(client.get(f"/evidence/{digest_of(b'first')}"), 500, "damaged")
