"""What a malicious server sends is bounded, and what is not an answer of Tallystick is refused with exit code 1."""

import asyncio
import base64
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest

from api.client.open_store import open_remote_store
from api.errors import UnexpectedAnswer
from ledger.transparency.signed_note import Checkpoint, Signer
from ledger.transparency.tiles import entry_bundle
from tests.api.cli.command import done, refused, tally
from tests.hostile.malicious_server import Response, bomb, flood, flood_error, malicious, reply, rubbish
from tests.hostile.memory import MB, measured

pytestmark = pytest.mark.slow

DIGEST = "0" * 64
EVENT = b'{"type":"decision.recorded.v1","data":{"decision_id":"d1","decision":"ship it","confidence":0.7}}\n'
VERBS: dict[str, tuple[str, ...]] = {
    "checkpoint": ("checkpoint",),
    "receipt": ("receipt", "1"),
    "verify": ("verify",),
    "evidence": ("evidence", "get", DIGEST),
    "append": ("append", "-"),
    "status": ("status",),
    "record": ("record", "ship it", "--confidence", "0.7"),
}
GROWTH_BYTES_MAX = 60 * MB
"""Below the flood and above what a limit of 16 MB for evidence needs twice."""


@pytest.fixture(scope="module")
def resident_bytes(tmp_path_factory: pytest.TempPathFactory) -> int:
    """What a verb takes that an honest refusal answers."""
    with malicious(rubbish) as url:
        return measured("--url", url, "status").resident_bytes


@pytest.mark.trial("C6")
@pytest.mark.parametrize("attack", [flood, flood_error, bomb], ids=lambda attack: attack.__name__)
@pytest.mark.parametrize("verb", ["checkpoint", "receipt", "verify", "evidence", "append"])
def test_an_answer_without_end_is_cut_off(verb: str, attack: Response, resident_bytes: int) -> None:
    with malicious(attack) as url:
        ended = measured("--url", url, *VERBS[verb], given=EVENT)
    assert ended.code == 1, ended
    assert ended.out == b""
    assert "bytes, the most that Tallystick answers there" in ended.err or "encoding 'gzip'" in ended.err
    assert ended.resident_bytes < resident_bytes + GROWTH_BYTES_MAX, f"{ended.resident_bytes:,}"


@pytest.mark.trial("C6")
@pytest.mark.parametrize("verb", sorted(VERBS.keys() - {"verify"}))
def test_rubbish_is_refused(tmp_path: Path, verb: str) -> None:
    with malicious(rubbish) as url:
        said = refused(tmp_path / "t.db", "--url", url, *VERBS[verb], given=EVENT, code=1)
    assert "answered 200, but not as Tallystick does" in said


@pytest.mark.trial("C6")
def test_rubbish_is_found_wrong(tmp_path: Path) -> None:
    with malicious(rubbish) as url:
        ended = tally(tmp_path / "t.db", "verify", "--url", url)
    assert (ended.code, ended.err) == (1, "")
    assert "the server's checkpoint" in ended.text


@pytest.mark.trial("C6")
def test_a_receipt_of_another_position_is_refused(tmp_path: Path) -> None:
    ledger = tmp_path / "t.db"
    done(ledger, "append", "-", given=EVENT)
    true = done(ledger, "receipt", "1").out
    with malicious(lambda handler: reply(handler, true)) as url:
        assert done(ledger, "--url", url, "receipt", "1").out == true
        assert "not as Tallystick does" in refused(ledger, "--url", url, "receipt", "2", code=1)
    line = base64.b64encode(b'{"position":1}')
    forged = b"\n".join(b"extra " + line if row.startswith(b"extra ") else row for row in true.split(b"\n"))
    with malicious(lambda handler: reply(handler, forged)) as url:
        assert "not as Tallystick does" in refused(ledger, "--url", url, "receipt", "1", code=1)


def claims_2_to_the_62(entries: list[bytes]) -> Response:
    """A server that claims 2^62 events, and answers with the same full tile at each place."""
    note = Signer.make("rogue").sign(Checkpoint("rogue", 2**62, bytes(32)).text()).encode()

    def respond(handler: BaseHTTPRequestHandler) -> None:
        if handler.path == "/checkpoint":
            reply(handler, note)
        elif handler.path.startswith("/tile/entries/"):
            reply(handler, entry_bundle(entries))
        else:
            reply(handler, bytes(32 * 256))

    return respond


@pytest.mark.trial("C18")
@pytest.mark.parametrize("entry", [b"", b"{}", b'{"position":1}'], ids=["empty", "object", "position"])
def test_a_claim_of_2_to_the_62_events_ends(tmp_path: Path, entry: bytes) -> None:
    with malicious(claims_2_to_the_62([entry] * 256)) as url:
        ended = measured("verify", "--url", url)
    assert ended.code == 1, ended.err
    assert b"Stopped after" in ended.out
    assert b"4,611,686,018,427,387,904 claimed events" in ended.out


@pytest.mark.trial("C18")
def test_honest_lines_served_again_and_again_end_too(tmp_path: Path) -> None:
    ledger = tmp_path / "t.db"
    done(ledger, "append", "-", given=EVENT)
    line = done(ledger, "log", "--json").out.rstrip(b"\n")
    with malicious(claims_2_to_the_62([line] * 256)) as url:
        ended = measured("verify", "--url", url)
    assert ended.code == 1, ended.err
    assert b"Stopped after" in ended.out


@pytest.mark.trial("C6")
@pytest.mark.parametrize("wait", ["rubbish", "-5", "nan", "1e9"])
def test_a_wait_that_is_no_number_is_a_second(tmp_path: Path, wait: str) -> None:
    asked: list[str] = []

    def busy_once(handler: BaseHTTPRequestHandler) -> None:
        asked.append(handler.path)
        if len(asked) == 1:
            problem = b'{"type":"urn:tallystick:problem:ledger-busy","title":"x","status":503,"detail":"busy"}'
            reply(handler, problem, 503, retry_after=wait)
        else:
            rubbish(handler)

    with malicious(busy_once) as url:
        refused(tmp_path / "t.db", "--url", url, "checkpoint", code=1)
    assert len(asked) == 2


@pytest.mark.trial("C6")
def test_a_page_that_does_not_go_on_is_refused() -> None:
    """Otherwise a server could repeat one page without end."""

    async def read(url: str) -> int:
        async with open_remote_store(url, None) as store:
            return len([page async for page in store.pages(("decision.recorded.v1",))])

    with (
        malicious(lambda handler: reply(handler, b'{"events":[{"position":1}],"next":1,"head":9}')) as url,
        pytest.raises(UnexpectedAnswer, match="not as Tallystick does"),
    ):
        asyncio.run(read(url))
