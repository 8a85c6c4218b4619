"""The errors of the client: each problem of the server has a class, and printing one shows all of it."""

import pickle
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

import tallystick
from api.errors import ERROR_TABLE, Problem, problem_name
from tallystick import (
    Busy,
    Client,
    Conflict,
    ConnectionFailed,
    Erased,
    InvalidEvent,
    InvalidQuery,
    NotAllowed,
    NotFound,
    Refused,
    ServerFault,
    TallystickError,
    TooLarge,
    UnexpectedAnswer,
)
from tallystick.errors import error_of
from tests.api.cli.command import done
from tests.support.server import serving
from tests.tallystick.proxy import proxying

EXPECTED: dict[type[TallystickError], set[str]] = {
    InvalidEvent: {"invalid-event", "malformed-input", "line-too-long", "bad-fixtures", "no-scenarios",
                   "unusable-export", "bad-note", "source-unreadable"},
    InvalidQuery: {"invalid-query", "bad-expression"},
    Conflict: {"stream-conflict", "lifecycle-violation", "identity-conflict", "run-ended", "attempt-taken", "occupied",
               "fixture-exists"},
    NotFound: {"not-found"},
    Erased: {"gone"},
    NotAllowed: {"unauthenticated", "forbidden", "cross-site", "foreign-host", "foreign-stream", "server-only"},
    TooLarge: {"body-too-large", "head-too-large", "address-too-long"},
    Busy: {"ledger-busy", "ledger-unavailable", "ledger-locked", "rate-limited", "too-many-connections", "too-slow",
           "stalled-reader", "tokens-unreadable", "query-timeout", "server-limit-reached", "server-stops",
           "token-limit-reached", "too-many-refusals", "view-damaged"},
    ServerFault: {"ledger-full", "ledger-damaged", "damaged", "internal-fault", "forked", "unwitnessed",
                  "ledger-unusable", "unexpected-answer", "file-unusable", "extra-missing"},
    Refused: {"no-route", "wrong-method", "unsupported-media"},
}  # fmt: skip


def test_every_problem_of_the_server_has_its_class() -> None:
    found: dict[type[TallystickError], set[str]] = {}
    for kind, row in ERROR_TABLE.items():
        name = problem_name(kind.__name__)
        problem = Problem(type=f"urn:tallystick:problem:{name}", title=row.title, status=row.status, detail="So.")
        error = error_of(row.status, {}, msgspec.json.encode(problem), "http://h/events")
        assert error.code == name
        found.setdefault(type(error), set()).add(name)
    assert found == EXPECTED


def test_every_error_is_public_and_documented() -> None:
    tree = tallystick.errors.__doc__ or ""
    kinds = {name for name in tallystick.__all__ if isinstance(kind := getattr(tallystick, name), type)
             and issubclass(kind, TallystickError)}  # fmt: skip
    assert {kind.__name__ for kind in EXPECTED} <= kinds
    assert {name for name in kinds if name not in tree} == set()


@pytest.mark.slow
def test_an_error_has_all_fields_of_the_problem_and_prints_them(client: Client) -> None:
    with pytest.raises(InvalidEvent) as refused:
        client.append([{"type": "decision.recorded.v1", "data": {"decision": "x", "confidence": "much"}}])
    error = refused.value
    assert (error.status, error.field, error.index, error.code) == (422, "data.confidence", 0, "invalid-event")
    assert error.title
    assert error.advice
    assert error.request_id
    for part in (error.detail, error.advice, error.title, "422", "data.confidence", "event 0", error.request_id):
        assert part in str(error)


def test_an_error_survives_pickling(client: Client) -> None:
    client.record("First", decision_id="pickled")
    with pytest.raises(Conflict) as refused:
        client.record("Second", decision_id="pickled")
    again = pickle.loads(pickle.dumps(refused.value))
    assert type(again) is Conflict
    assert str(again) == str(refused.value)
    assert again.__dict__ == refused.value.__dict__


def test_conflicts_say_what_is_in_the_way(client: Client) -> None:
    decision_id = f"c-{client.agent}"
    client.record("One", decision_id=decision_id)
    attempts: list[Callable[[], object]] = [
        lambda: client.record("Two", decision_id=decision_id),
        lambda: client.record("Two", decision_id=decision_id, event_id=f"{decision_id}-other"),
        lambda: client.review(f"{decision_id}-nowhere", "success"),
        lambda: client.review(decision_id, "success", expectedversion=7),
    ]
    codes = []
    for attempt in attempts:
        with pytest.raises(Conflict) as refused:
            attempt()
        assert refused.value.status == 409
        codes.append(refused.value.code)
    assert codes == ["identity-conflict", "lifecycle-violation", "lifecycle-violation", "stream-conflict"]
    assert client.get_decision(decision_id).streamversion == 1


@pytest.mark.slow
def test_tokens_name_the_agent_and_its_scopes(tmp_path: Path) -> None:
    ledger = tmp_path / "t.db"
    scout = done(ledger, "token", "add", "scout").text.strip()
    writer = done(ledger, "token", "add", "writer", "--scope", "append").text.strip()
    importer = done(ledger, "token", "add", "importer", "--scope", "append", "--scope", "import").text.strip()
    with serving(ledger) as url:
        with Client(url, token=scout) as client:
            client.record("Speak by the token", confidence=0.9)
            assert client.decisions().decisions[0].agent == "scout", "the token names the agent"
            assert client.calibration().coverage.total == 1
        with Client(url, token=scout, agent="scout") as client:
            client.record("Name it as well")
        with Client(url, token=scout, agent="another") as client, pytest.raises(NotAllowed, match="another"):
            client.record("Speak for another")
        with Client(url, token=writer) as client:
            with client.decision("Write without reading", decision_id="w1"):
                pass
            with pytest.raises(NotAllowed, match="'read'") as refused:
                client.decisions()
            assert refused.value.status == 403
        with Client(url, token=importer, agent="somebody") as client:
            client.record("Speak for somebody")
        with Client(url) as client, pytest.raises(NotAllowed) as refused:
            client.record("No token")
        assert refused.value.status == 401
        with Client(url, token=scout, agent="somebody") as client:
            assert client.decisions().total == 1


@pytest.mark.slow
def test_a_server_that_is_away_is_named_with_the_number_of_tries() -> None:
    with (
        Client("http://127.0.0.1:9", retry_s=0) as client,
        pytest.raises(ConnectionFailed, match=r"127.0.0.1:9 .*1 try"),
    ):
        client.decisions()
    with Client("http://127.0.0.1:9", retry_s=0.5) as client, pytest.raises(ConnectionFailed, match=r"\d tr(y|ies)"):
        client.record("Nobody listens")


@pytest.mark.slow
def test_an_answer_of_another_program_has_its_own_error(url: str) -> None:
    with proxying(url, ["html", "nonsense"]) as proxy, Client(proxy.url) as client:
        for _ in range(2):
            with pytest.raises(UnexpectedAnswer, match=r"127\.0\.0\.1"):
                client.advice()
    with Client(f"{url}/nowhere") as client, pytest.raises(Refused, match="nowhere") as refused:
        client.get_decision("d1")
    assert type(refused.value) is Refused, "a wrong address must not look like a decision that is not there"
