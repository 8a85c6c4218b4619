"""A battery: one prompt with several probes, one answer with a part for each, one score for each."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from events.discovery import DiscoveryAttempted, DiscoveryStarted
from events.probe import ProbeScored
from instruments.discovery import Session, analyze, build_prompt, make_battery
from instruments.stored_text import sha256_hex
from tests.instruments.discovery.answers import CODE, identity, says
from tests.instruments.questions import GO, PYTHON, TEXT

BATTERY = make_battery([GO, TEXT])
ESSAY = "It ran out of memory.\n\nThe limit is the cause."
FENCED = f"```go\n{CODE}```"
FULL = f"{identity('nova-1')}\n\n=== PART 1 ===\n\n{FENCED}\n\n=== PART 2 ===\n\n{ESSAY}\n"


def codes(text: str) -> list[str | None]:
    return [part.code for part in analyze(text, BATTERY).parts]  # type: ignore[union-attr]


def test_a_single_probe_is_no_battery() -> None:
    assert make_battery([GO]) is GO


def test_the_prompt_has_every_task_once_and_names_no_model() -> None:
    prompt = build_prompt(BATTERY.prompt)
    assert prompt.count(GO.prompt) == prompt.count(TEXT.prompt) == 1
    assert "=== PART 1 ===" in prompt
    assert prompt.index(GO.prompt) < prompt.index(TEXT.prompt)


def test_each_part_is_scored_by_its_own_probe() -> None:
    found = analyze(FULL, BATTERY)
    assert (found.verdict, found.key, found.code) == ("identified", "nova-1", CODE)
    assert [part.probe_id for part in found.parts] == [GO.id, TEXT.id]  # type: ignore[union-attr]
    assert codes(FULL) == [CODE, ESSAY]
    assert [part.score for part in found.parts] == [GO.scorer.score(CODE), TEXT.scorer.score(ESSAY)]  # type: ignore[union-attr]
    assert found.score == GO.scorer.score(CODE)


@pytest.mark.parametrize(
    "text",
    [
        FULL.replace("=== PART 2 ===", "== part 2 ==".upper()),
        FULL.replace("=== PART 1 ===", "## Part 1: the function").replace("=== PART 2 ===", "**Part 2**"),
        f"{FULL.partition('=== PART 1')[0]}=== PART 2 ===\n{ESSAY}\n\n=== PART 1 ===\n{FENCED}\n",
        f"=== PART 1 ===\n{FENCED}\n\n=== PART 2 ===\n{ESSAY}\n\n{identity('nova-1')}\n",
        FULL.replace(FENCED, FENCED.removesuffix("```")),
    ],
    ids=["shorter", "headings", "other order", "identity last", "open fence"],
)
def test_parts_are_found_as_models_write_them(text: str) -> None:
    found = analyze(text, BATTERY)
    assert (found.verdict, found.key) == ("identified", "nova-1")
    assert codes(text) == [CODE, ESSAY]


def test_a_comment_in_code_begins_no_part() -> None:
    battery = make_battery([PYTHON, TEXT])
    code = "# Part 2 of the sum\ndef total(values):\n    return sum(values)\n"
    text = f"{identity('nova-1')}\n## Part 1\n```python\n{code}```\n## Part 2\n{ESSAY}\n"
    assert [part.code for part in analyze(text, battery).parts] == [code, ESSAY]  # type: ignore[union-attr]


@pytest.mark.parametrize("missing", [0, 1])
def test_a_missing_part_is_a_declined_answer(missing: int) -> None:
    answers = [f"=== PART 1 ===\n{FENCED}", f"=== PART 2 ===\n{ESSAY}"]
    text = f"{identity('nova-1')}\n{answers[1 - missing]}\n"
    batch = Session(started=DiscoveryStarted(run_id="r")).decide(says(text), BATTERY)
    attempt, *scores = batch
    assert isinstance(attempt, DiscoveryAttempted)
    assert attempt.outcome == "accepted"
    assert attempt.output_digest == sha256_hex("" if missing == 0 else CODE)
    assert all(isinstance(score, ProbeScored) for score in scores)
    declined = scores[missing]
    assert isinstance(declined, ProbeScored)
    assert (declined.total_score, declined.output_digest) == (None, None)
    assert not declined.valid


def test_no_part_at_all_is_unparsable() -> None:
    found = analyze(f"{identity('nova-1')}\nI cannot help.\n", BATTERY)
    assert (found.verdict, found.reason) == ("unparsable", "no part of the task is in the answer")


@pytest.mark.parametrize("text", ["EXCLUDED", f"{identity('nova-1')}\n\nEXCLUDED"])
def test_a_refusal_is_one(text: str) -> None:
    assert analyze(text, BATTERY).verdict == "refused"


def test_scores_of_an_attempt_have_an_id_for_each_scorer_and_the_digest_of_their_part() -> None:
    _, *scores = Session(started=DiscoveryStarted(run_id="r")).decide(says(FULL), BATTERY)
    found = [score for score in scores if isinstance(score, ProbeScored)]
    assert [score.probe_id for score in found] == [GO.id, TEXT.id]
    assert [score.output_digest for score in found] == [sha256_hex(CODE), sha256_hex(ESSAY)]


@given(
    st.lists(st.sampled_from(["=== PART 1 ===", "=== PART 2 ===", "## Part 1", "```", "```go", CODE, ESSAY, "{", ""]))
)
def test_any_answer_is_analysed(lines: list[str]) -> None:
    text = "\n".join([identity("nova-1"), *lines])
    found = analyze(text, BATTERY)
    assert found.verdict in {"identified", "unparsable", "empty", "refused"}
    assert found == analyze(text, BATTERY)
