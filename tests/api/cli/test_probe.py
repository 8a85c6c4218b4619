"""probe prompt and probe analyze: discovery piece by piece, with no file written."""

from pathlib import Path

import msgspec
import pytest

from tests.api.cli.command import (
    done,
    refused,
    tally,
)
from tests.support.paths import SHARED

RESPONSES = SHARED / "metacal" / "responses"
IDENTITY = '{"model_name": "nova-4", "provider": "Acme", "version": "4.10"}'
ANSWER = f"{IDENTITY}\n\nThe pool ran dry: a worker leaks its connections.\n"


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    """A ledger that is not there."""
    return tmp_path / "none.db"


def analyzed(ledger: Path, answer: str, *, code: int, probe: str = "debugging") -> dict[str, object]:
    ended = tally(ledger, "probe", "analyze", "--response-file", "-", "--probe", probe, given=answer.encode())
    assert (ended.code, ended.err) == (code, "")
    assert ended.out.count(b"\n") == 1
    found: dict[str, object] = msgspec.json.decode(ended.out)
    return found


def test_a_prompt_asks_who_answers_and_gives_the_task(ledger: Path) -> None:
    said = done(ledger, "probe", "prompt", "--probe", "debugging").text
    assert said.startswith("First say who is answering.")
    assert "EXCLUDED" not in said
    assert "goroutine" in said or "The task:" in said
    assert list(ledger.parent.iterdir()) == []


@pytest.mark.parametrize(
    "names",
    [
        b'["nova-4", {"model_name": "b", "provider": "Acme", "version": "2"}]',
        b"nova-4\r\n\n  b (Acme, version 2)  \n",
        b"\xef\xbb\xbfnova-4\nb (Acme, version 2)",
    ],
)
def test_a_prompt_excludes_whom_a_file_names(ledger: Path, names: bytes) -> None:
    file = ledger.with_name("seen")
    file.write_bytes(names)
    said = done(ledger, "probe", "prompt", "--exclude-file", file).text
    assert "- nova-4\n- b (Acme, version 2)\n" in said
    assert said == done(ledger, "probe", "prompt", "--exclude-file", "-", given=names).text
    assert said.endswith(done(ledger, "probe", "prompt").text)


def test_no_names_exclude_nobody(ledger: Path) -> None:
    for nothing in (b"", b"\n\n", b"[]"):
        assert done(ledger, "probe", "prompt", "--exclude-file", "-", given=nothing) == done(ledger, "probe", "prompt")


@pytest.mark.parametrize(
    ("names", "complaint"),
    [
        (b'["a", 1]', "error: --exclude-file: it is not a JSON array of identities or names: "),
        (b'[{"name": "a"}]', "error: --exclude-file: it is not a JSON array of identities or names: "),
        (b'["a"', "error: --exclude-file: it is not a JSON array of identities or names: "),
        (b"[" * 100_000, "error: --exclude-file: it is not a JSON array of identities or names: "),
        (b'["a", " "]', "error: --exclude-file: item 2: a name has 1..256 characters."),
        (b"a\n" + b"b" * 257, "error: --exclude-file: line 2: a name has 1..256 characters."),
        (b"\xff\xfe", "error: --exclude-file: it is not UTF-8: "),
    ],
)
def test_names_that_cannot_be_read_are_refused(ledger: Path, names: bytes, complaint: str) -> None:
    assert refused(ledger, "probe", "prompt", "--exclude-file", "-", given=names).startswith(complaint)


def test_a_model_that_answers_is_identified(ledger: Path) -> None:
    found = analyzed(ledger, ANSWER, code=0)
    assert list(found) == ["identity", "key", "code", "score", "known", "wrapper", "verdict", "reason"]
    assert found["identity"] == {"model_name": "nova-4", "provider": "Acme", "version": "4.10"}
    assert (found["key"], found["known"], found["wrapper"]) == ("nova-4", False, False)
    assert (found["verdict"], found["reason"]) == ("identified", "it says it is 'nova-4'")
    assert found["code"] == "The pool ran dry: a worker leaks its connections."
    assert isinstance(found["score"], dict)
    assert {"valid", "total_score", "scorer"} <= set(found["score"])
    assert list(ledger.parent.iterdir()) == []


@pytest.mark.parametrize(
    ("answer", "verdict"),
    [
        ("EXCLUDED\n", "refused"),
        ("", "empty"),
        ("A poem.", "unparsable"),
        (ANSWER.replace("nova-4", "cursor"), "wrapper"),
        (ANSWER.replace("nova-4", "unknown"), "unparsable"),
    ],
)
def test_what_is_no_model_is_said_and_ends_with_1(ledger: Path, answer: str, verdict: str) -> None:
    found = analyzed(ledger, answer, code=1)
    assert (found["verdict"], found["wrapper"], found["known"]) == (verdict, verdict == "wrapper", False)


def test_an_answer_of_any_bytes_is_analyzed(ledger: Path) -> None:
    for answer in (b"\xff\x00\xfe", b"\xef\xbb\xbf", b"{" * 100_000):
        ended = tally(ledger, "probe", "analyze", "--response-file", "-", given=answer)
        assert (ended.code, ended.err) == (1, "")
        assert msgspec.json.decode(ended.out)["identity"] is None


def test_what_cannot_be_used_is_refused(ledger: Path) -> None:
    missing = ledger.with_name("missing")
    assert "missing: No such file" in refused(ledger, "probe", "analyze", "--response-file", missing)
    assert "Is a directory" in refused(ledger, "probe", "prompt", "--exclude-file", ledger.parent)
    wrong = refused(ledger, "probe", "prompt", "--probe", "tarot")
    assert wrong.startswith("error: --probe: there is no probe 'tarot'.")
    assert "debugging" in wrong
    refused(ledger, "probe", "analyze", "--response-file", "-", "--probe", "tarot")
    assert tally(ledger, "probe", "analyze").code == 2


def test_a_registered_model_is_known_by_each_of_its_names(ledger: Path) -> None:
    done(ledger, "append", given=b'{"type": "model.registered.v1", "data": {"key": "nova-4"}}')
    lines = done(ledger, "log").out
    assert analyzed(ledger, ANSWER, code=0)["known"] is True
    assert analyzed(ledger, ANSWER.replace("nova-4", "acme/Nova-4-20250514"), code=0)["known"] is True
    assert analyzed(ledger, ANSWER.replace("nova-4", "nova-5"), code=0)["known"] is False
    assert done(ledger, "log").out == lines


@pytest.mark.skipif(not RESPONSES.is_dir(), reason="the shared data is not here")
@pytest.mark.parametrize(
    ("name", "verdict", "code"),
    [
        ("combined", "identified", 0),
        ("foundation_gpt4o", "identified", 0),
        ("excluded", "refused", 1),
        ("no_identity", "unparsable", 1),
        ("wrapper_cursor", "wrapper", 1),
    ],
)
def test_stored_responses_are_what_their_names_say(ledger: Path, name: str, verdict: str, code: int) -> None:
    ended = tally(ledger, "probe", "analyze", "--response-file", RESPONSES / f"response_{name}.txt")
    assert ended.code == code
    assert msgspec.json.decode(ended.out)["verdict"] == verdict
