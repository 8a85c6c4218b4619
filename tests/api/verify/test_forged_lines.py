"""Lines by someone who holds the file and the key: verification names each, and views answer without them."""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

from api.importers.ledger_rebuild import rebuild_ledger
from api.verify import verify_ledger, verify_package
from events.envelope import Draft, encode_draft
from events.registry import VOCABULARY
from events.thought import ThoughtAdopted, ThoughtRecorded
from ledger.log import Query
from ledger.sqlite.log import SqliteLog
from tests.api.cli.command import tally
from tests.api.verify.exported import export_all
from tests.api.verify.forged_ledger import SIGNER, forge_ledger
from tests.support.drafts import draft_of, recorded, reviewed, thought
from tests.support.server import serving

Lines = list[bytes]
Forgery = Callable[[Lines], Lines]

EVENTS = 300
FORGED = 9
"""The position that most forgeries change: it records the decision d-2."""


@pytest.fixture(scope="module")
def honest(tmp_path_factory: pytest.TempPathFactory) -> Lines:
    """A hundred decisions, each recorded, thought about and reviewed; the one at FORGED is recorded there."""
    path = tmp_path_factory.mktemp("honest") / "t.db"
    drafts = [
        draft
        for number in range(EVENTS // 3)
        for draft in (
            recorded(f"d-{number}", "Keep the queue bounded"),
            thought(f"d-{number}"),
            reviewed(f"d-{number}"),
        )
    ]
    drafts = [*drafts[:6], drafts[9], drafts[10], drafts[6], *drafts[7:9], *drafts[11:]]

    async def made() -> Lines:
        log = await SqliteLog.open(path)
        await log.append(drafts[:-1])
        await log.append([VOCABULARY.draft(_with_extensions(drafts[-1]))])
        lines = (await log.read(Query(limit=EVENTS))).lines
        await log.close()
        return lines

    return asyncio.run(made())


def _with_extensions(draft: Draft) -> bytes:
    added = {"dataschema": "https://example.org/review", "partitionkey": "d", "sampled": True}
    return encode_draft(draft)[:-1] + b"," + json.dumps(added).encode()[1:]


def put(position: int, old: bytes, new: bytes) -> Forgery:
    def forgery(lines: Lines) -> Lines:
        assert old in lines[position - 1], lines[position - 1]
        return [*lines[: position - 1], lines[position - 1].replace(old, new, 1), *lines[position:]]

    return forgery


def reordered(lines: Lines) -> Lines:
    event = json.loads(lines[FORGED - 1])
    first = {"subject": event.pop("subject"), **event}
    return put(FORGED, lines[FORGED - 1], json.dumps(first, separators=(",", ":"), ensure_ascii=False).encode())(lines)


def swapped(lines: Lines) -> Lines:
    """The review of d-2 before its decision, each with the position and version of its place."""
    at = next(index for index, line in enumerate(lines) if b'"decision.reviewed.v1","subject":"decision/d-2"' in line)
    decision, review = json.loads(lines[FORGED - 1]), json.loads(lines[at])
    places = [(decision["position"], 1), (review["position"], review["streamversion"])]
    times = [decision["recordedtime"], review["recordedtime"]]
    forged = []
    for event, (position, version), time in zip((review, decision), places, times, strict=True):
        event |= {"position": position, "streamversion": version, "recordedtime": time}
        forged.append(json.dumps(event, separators=(",", ":"), ensure_ascii=False).encode())
    return [*lines[: FORGED - 1], forged[0], *lines[FORGED:at], forged[1], *lines[at + 1 :]]


FORGERIES: dict[str, tuple[Forgery, str]] = {
    "a key twice": (put(FORGED, b'"confidence":', b'"confidence":0.99,"confidence":'), "occurs twice"),
    "an attribute twice": (put(FORGED, b'"specversion"', b'"specversion":"1.0","specversion"'), "occurs twice"),
    "an unknown field": (put(FORGED, b'"data":{', b'"data":{"sure":true,'), "sure is not a field"),
    "an unknown attribute": (put(FORGED, b'"data":{', b'"Verdict":"right","data":{'), "neither an attribute"),
    "an extension in another place": (put(FORGED, b'"id":', b'"verdict":"right","id":'), "in that order"),
    "a value out of range": (put(FORGED, b'"confidence":0.7', b'"confidence":5.0'), "confidence"),
    "a decision by a rule": (put(FORGED, b"/agents/", b"/resolvers/"), "does not name an agent"),
    "an unknown type": (put(FORGED, b"decision.recorded.v1", b"decision.recorded.v9"), "not in the vocabulary"),
    "another subject": (put(FORGED, b'"decision_id":"d-2"', b'"decision_id":"d-x"'), "not the stream of its payload"),
    "another order": (reordered, "in that order"),
    "spaces": (put(FORGED, b'"data":{', b'"data": {'), "not encoded as the log"),
    "escapes": (put(FORGED, b"Keep the", b"Keep\\u0020the"), "not encoded as the log"),
    "a null": (put(FORGED, b'"data":{', b'"data":{"category":null,'), "in that order"),
    "a review before its decision": (swapped, "not open before it"),
    "a time of another form": (put(FORGED, b'Z","recordedtime', b'+00:00","recordedtime'), "is not a time"),
}


@pytest.mark.slow
@pytest.mark.trial("C12")
@pytest.mark.parametrize("name", FORGERIES)
def test_a_forged_line_is_named_by_its_position(honest: Lines, tmp_path: Path, name: str) -> None:
    forgery, said = FORGERIES[name]
    path = forge_ledger(tmp_path / "t.db", forgery(honest))
    report = verify_ledger(path, str(SIGNER.verifier), None, quick=True)
    assert not report.right
    assert report.first is not None
    assert report.first.position == FORGED
    details = [fault.detail for check in report.checks for fault in check.faults]
    assert any(detail.startswith(f"position {FORGED}: ") and said in detail for detail in details), details
    ended = tally(path, "verify", "--quick")
    assert ended.code == 1
    assert f"First at position {FORGED}: " in ended.text


@pytest.mark.trial("C12")
@pytest.mark.parametrize("name", FORGERIES)
def test_an_export_with_a_forged_line_is_found_and_not_imported(honest: Lines, tmp_path: Path, name: str) -> None:
    forgery, said = FORGERIES[name]
    path = forge_ledger(tmp_path / "t.db", forgery(honest))
    export_all(path, {tmp_path / "whole": {}, tmp_path / "chosen": {"subject": "decision/d-1,decision/d-2"}})
    report = verify_package(tmp_path / "whole", str(SIGNER.verifier), None)
    assert not report.right
    assert any(fault.position == FORGED and said in fault.detail for check in report.checks for fault in check.faults)
    result = rebuild_ledger(tmp_path / "whole", tmp_path / "new.db", None)
    assert (result.placed, result.report.right) == (False, False)
    assert not (tmp_path / "new.db").exists()
    assert not verify_package(tmp_path / "chosen", str(SIGNER.verifier), None).right


@pytest.mark.slow
@pytest.mark.trial("C12")
@pytest.mark.parametrize("name", FORGERIES)
def test_views_answer_without_a_forged_line_and_say_so(honest: Lines, tmp_path: Path, name: str) -> None:
    path = forge_ledger(tmp_path / "t.db", FORGERIES[name][0](honest))
    verbs = (("calibration",), ("decisions",), ("decision", "d-2"), ("decisions", "--search", "queue"), ("status",))
    with serving(path) as url, httpx.Client(base_url=url) as http:
        for route in ("/calibration", "/decisions", "/decisions?search=queue", "/decisions/d-4", "/projections",
                      "/projections/calibration?as_of=200", "/decisions/d-2"):  # fmt: skip
            answer = http.get(route)
            assert answer.status_code in (200, 404), (route, answer.text)
            assert (answer.status_code == 200) or route == "/decisions/d-2"
        left_out = http.get("/projections").headers.get("tallystick-left-out")
        total = http.get("/decisions").json()["total"]
        listed = http.get("/projections").json()["projections"][0].get("left_out")
        assert http.get("/readyz").status_code == 200
    for verb in verbs:
        ended = tally(path, *verb)
        assert "Traceback" not in ended.err
        assert ended.code in (0, 1, 2) if verb[0] == "decision" else ended.code == 0, (verb, ended.err)
        if left_out is not None and verb[0] != "status":
            assert "left out of every view" in ended.err
            assert "tallystick verify" in ended.err
    if left_out is None:
        assert total == EVENTS // 3
        assert listed is None
    else:
        assert left_out.endswith(f"; first={FORGED}")
        assert listed["first"] == FORGED
        assert total == EVENTS // 3 - (name != "a review before its decision")


def follow(lines: Lines) -> Lines:
    """Put a second event after the end of the stream of a thought."""
    event = json.loads(lines[-1])
    event |= {"id": "again", "position": len(lines) + 1, "streamversion": event["streamversion"] + 1}
    return [*lines, json.dumps(event, separators=(",", ":"), ensure_ascii=False).encode()]


@pytest.mark.trial("C12")
def test_nothing_may_follow_the_end_of_a_stream(tmp_path: Path) -> None:
    drafts = [
        recorded("d-1"),
        draft_of(ThoughtRecorded(thought_id="t-1", text="hm")),
        draft_of(ThoughtAdopted(thought_id="t-1", decision_id="d-1")),
    ]

    async def made() -> Lines:
        log = await SqliteLog.open(tmp_path / "honest.db")
        await log.append(drafts)
        lines = (await log.read(Query())).lines
        await log.close()
        return lines

    path = forge_ledger(tmp_path / "t.db", follow(asyncio.run(made())))
    report = verify_ledger(path, None, None, quick=True)
    assert report.first is not None
    assert (report.right, report.first.position) == (False, 4)
    assert "thought/t-1 was closed before" in report.first.detail


@pytest.mark.slow
@pytest.mark.trial("C12")
def test_a_server_goes_on_beside_a_forged_stream(honest: Lines, tmp_path: Path) -> None:
    last = put(EVENTS, b"decision.reviewed.v1", b"decision.reviewed.v9")(honest)
    path = forge_ledger(tmp_path / "t.db", last)
    review = {"decision_id": f"d-{EVENTS // 3 - 1}", "outcome": "success"}
    call = {"jsonrpc": "2.0", "id": 1, "method": "cstp.queryDecisions", "params": {"query": "queue"}}
    with serving(path) as url, httpx.Client(base_url=url) as http:
        refused = http.post("/events", json={"type": "decision.reviewed.v1", "data": review})
        assert refused.status_code == 409, refused.text
        assert "which is not in the vocabulary" in refused.json()["detail"]
        added = http.post("/events", json={"type": "decision.recorded.v1", "data": {"decision": "go on"}})
        assert added.status_code == 201, added.text
        answer = http.post("/cstp", json=call)
        assert (answer.status_code, answer.headers["tallystick-left-out"]) == (200, f"1; first={EVENTS}")
    assert tally(path, "replay", "--check").code == 0
    assert "is damaged: position 300: " in tally(path, "backup", tmp_path / "copy.db").err
