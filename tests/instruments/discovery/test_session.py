"""A run's decider: each row of the loop, its bounds, and that it is a fold of its own events."""

from collections.abc import Sequence
from typing import TypeVar

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from events.discovery import DiscoveryAttempted, DiscoveryFinished, DiscoverySignalled, DiscoveryStarted, Ending
from events.payload import Payload
from events.probe import ProbeScored, score_id_of
from instruments.answer import RouterAnswer
from instruments.discovery import Session
from instruments.stored_text import sha256_hex
from tests.instruments.discovery.answers import CODE, EMPTY, FAILED, GARBAGE, REFUSED, TIMEOUT, identity, model, says
from tests.instruments.questions import GO, TEXT, Sandboxed

P = TypeVar("P", bound=Payload)
START = DiscoveryStarted(run_id="r", probe_id=GO.id, max_iterations=15, max_attempts=40, terminate_on_repeat=True)


def run(answers: Sequence[RouterAnswer], started: DiscoveryStarted = START) -> tuple[Session, list[list[Payload]]]:
    """A run that is answered so, to its end or theirs; and what each answer brought."""
    session, made = Session(started=started), []
    for answer in answers:
        if session.ending is not None:
            break
        made.append(session.decide(answer, GO))
        session = session.then(made[-1])
    return session, made


def end(*answers: RouterAnswer, started: DiscoveryStarted = START) -> tuple[Ending | None, str | None]:
    session, _ = run(answers, started)
    return session.ending, None if session.finished is None else session.finished.reason


def kept_going(**limits: int) -> DiscoveryStarted:
    return msgspec.structs.replace(START, keep_going=True, terminate_on_repeat=False, **limits)


def outcomes(made: list[list[Payload]]) -> list[str]:
    return [payload.outcome for batch in made for payload in batch if isinstance(payload, DiscoveryAttempted)]


def of(kind: type[P], batch: list[Payload]) -> P:
    found = [payload for payload in batch if isinstance(payload, kind)]
    assert len(found) == 1
    return found[0]


def test_a_new_model_is_recorded_and_joins_the_exclusion_list() -> None:
    session, [batch] = run([model("Nova-1")])
    attempt, score = of(DiscoveryAttempted, batch), of(ProbeScored, batch)
    assert (attempt.outcome, attempt.attempt, attempt.iteration, attempt.exclusion_prompt) == ("accepted", 1, 0, "")
    assert attempt.claimed is not None
    assert (attempt.claimed.model_name, attempt.claimed.provider) == ("Nova-1", "Acme")
    assert attempt.output == CODE
    assert attempt.output_digest == score.output_digest == sha256_hex(CODE)
    assert (score.score_id, score.run_id, score.attempt) == (score_id_of("r", 1, "words", "3"), "r", 1)
    assert (score.probe_id, score.probe_version, score.scorer_id, score.scorer_version) == (
        "tidy-go",
        "1",
        "words",
        "3",
    )
    assert (score.model_name, score.valid, score.total_score) == ("Nova-1", True, 0.8)
    assert session.ending is None
    asked = session.prompt(GO)
    assert asked.attempt == 2
    assert "- Nova-1 (Acme, version 1)\n" in asked.exclusion
    assert asked.text.startswith(asked.exclusion)
    assert asked.text.endswith(GO.prompt)


def test_the_first_prompt_excludes_nobody() -> None:
    asked = Session(started=START).prompt(GO)
    assert asked.exclusion == ""
    assert "EXCLUDED" not in asked.text


def test_a_repeat_ends_the_run() -> None:
    assert end(model("a-1"), model("b-1"), model("A-1")) == (
        "repeat", "repeat at iteration 2: model a-1 seen at iteration 0",
    )  # fmt: skip


def test_a_model_that_comes_back_under_its_dated_name_is_a_repeat() -> None:
    assert end(model("nova-4"), model("acme/nova-4-20250514")) == (
        "repeat", "repeat at iteration 1: model acme/nova-4-20250514 seen at iteration 0 as nova-4",
    )  # fmt: skip


def test_a_repeat_may_go_on_and_is_excluded_by_each_of_its_names() -> None:
    session, made = run(
        [model("nova-4"), model("Nova 4"), model("b")], msgspec.structs.replace(START, terminate_on_repeat=False)
    )
    assert outcomes(made) == ["accepted", "repeat", "accepted"]
    assert of(ProbeScored, made[1]).attempt == 2
    assert session.ending is None
    assert [identity.model_name for identity in session.excluded] == ["nova-4", "Nova 4", "b"]


def test_a_wrapper_ends_the_run_with_a_signal_and_keeps_what_was_found() -> None:
    session, made = run([model("a"), model("Cursor Agent")])
    assert (session.ending, session.iterations) == ("wrapper", 1)
    assert session.finished is not None
    assert session.finished.reason == "wrapper at iteration 1: 'Cursor Agent' is a host's name, not a model's"
    signal = of(DiscoverySignalled, made[1])
    assert signal.event == "ORANGE"
    assert signal.meta is not None
    assert signal.meta["outcome"] == "wrapper"
    assert [type(payload) for payload in made[1]] == [
        DiscoveryAttempted, ProbeScored, DiscoverySignalled, DiscoveryFinished,
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("answer", "ending", "reason"),
    [
        (EMPTY, "empty", "empty answer at iteration 1"),
        (says(None), "empty", "empty answer at iteration 1"),
        (FAILED, "failed", "router failed at iteration 1: connection refused"),
        (RouterAnswer(failure="failed"), "failed", "router failed at iteration 1: it does not say why"),
    ],
)
def test_no_answer_ends_the_run_with_a_signal_and_keeps_what_was_found(
    answer: RouterAnswer, ending: Ending, reason: str
) -> None:
    assert end(model("a"), answer) == (ending, reason)
    session, made = run([model("a"), answer])
    assert session.iterations == 1
    assert [type(payload) for payload in made[1]] == [DiscoveryAttempted, DiscoverySignalled, DiscoveryFinished]
    signal = of(DiscoverySignalled, made[1])
    assert signal.event == "ORANGE"
    assert signal.meta is not None
    assert (signal.meta["attempt"], signal.meta["outcome"]) == ("2", ending)
    assert ("length" in signal.meta) == (answer.failure is None)


def test_a_refusal_ends_the_run_with_a_signal() -> None:
    assert end(model("a"), REFUSED) == ("refused", "refused at iteration 1: the answer begins with EXCLUDED")
    _, made = run([model("a"), REFUSED])
    assert [type(payload) for payload in made[1]] == [DiscoveryAttempted, DiscoverySignalled, DiscoveryFinished]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (GARBAGE.text, "no identity is in the answer"),
        (identity("a"), "no Go function is in the answer"),
        (f"{identity('unknown')}\n```go\n{CODE}```", "its identity names no model: 'unknown'"),
    ],
)
def test_no_identity_or_no_code_ends_the_run_with_a_signal(text: str, reason: str) -> None:
    session, [batch] = run([says(text)])
    assert session.finished is not None
    assert (session.ending, session.finished.reason) == ("unparsable", f"unparsable answer at iteration 0: {reason}")
    assert of(DiscoverySignalled, batch).meta == {
        "attempt": "1", "outcome": "unparsable", "reason": reason, "length": str(len(text)), "first": text[:200],
    }  # fmt: skip
    attempt = of(DiscoveryAttempted, batch)
    assert (attempt.response, attempt.response_digest) == (text, sha256_hex(text))


def test_a_timeout_is_retried_once_with_the_same_prompt() -> None:
    before, _ = run([model("a")])
    after, made = run([model("a"), TIMEOUT])
    assert after.ending is None
    assert after.prompt(GO) == (*before.prompt(GO)[:2], 3)
    assert made[1] == [
        DiscoveryAttempted(
            run_id="r", attempt=2, outcome="timeout", exclusion_prompt=before.prompt(GO).exclusion,
            elapsed_ns=5_000_000_000, detail="no answer within 5 s",
        ),
        DiscoverySignalled(
            run_id="r", event="ORANGE", meta={"attempt": "2", "outcome": "timeout", "reason": "no answer within 5 s"}
        ),
    ]  # fmt: skip
    assert end(model("a"), TIMEOUT, TIMEOUT) == (
        "timeout",
        "timeout at iteration 1: no answer, twice, to the same prompt",
    )
    assert end(TIMEOUT, model("a"), TIMEOUT, model("b")) == (None, None)


def test_limits_end_the_run() -> None:
    few = msgspec.structs.replace(START, max_iterations=2)
    assert end(model("a"), TIMEOUT, model("b"), model("c"), started=few) == ("max_iterations", "max iterations reached")
    assert end(*[REFUSED] * 9, started=kept_going(max_attempts=5)) == ("max_attempts", "max attempts reached")
    assert end(*[model("a")] * 99, started=DiscoveryStarted(run_id="r", keep_going=True))[0] == "max_attempts"
    assert end(*[model(f"m{n}") for n in range(99)], started=DiscoveryStarted(run_id="r"))[0] == "max_iterations"


def test_names_that_would_fill_a_line_end_the_run() -> None:
    endless = kept_going(max_iterations=900, max_attempts=900)
    session, made = run([model(f"{n}{'é' * 250}") for n in range(900)], endless)
    assert session.ending == "failed"
    assert all(len(msgspec.json.encode(payload)) < 40_000 for batch in made for payload in batch)


def test_keep_going_goes_on_whatever_is_answered() -> None:
    answers = [model("a"), model("a"), model("auto"), REFUSED, EMPTY, GARBAGE, TIMEOUT, TIMEOUT, FAILED, model("b")]
    session, made = run(answers, kept_going())
    assert session.ending is None
    assert outcomes(made) == [
        "accepted", "repeat", "wrapper", "refused", "empty", "unparsable", "timeout", "timeout", "failed", "accepted",
    ]  # fmt: skip
    assert [each.model_name for each in session.excluded] == ["a", "b"]


def test_a_run_is_ended_on_request_and_nothing_follows() -> None:
    session, _ = run([model("a")])
    finished = session.finish("requested", "report requested")
    ended = session.then([finished])
    assert (ended.ending, ended.finished) == ("requested", finished)
    assert ended.decide(model("b"), GO) == []


def test_an_answer_of_text_that_is_all_output_is_stored_once() -> None:
    answer = says(f"{identity('a')}\nIt ran out of memory.")
    attempt = of(DiscoveryAttempted, Session(started=START).decide(answer, TEXT))
    assert attempt.output == "It ran out of memory."


def test_a_model_that_names_itself_and_declines_has_an_invalid_score() -> None:
    attempt, score, *_ = Session(started=START).decide(says(f"{identity('a')}\nI would rather not."), GO)
    assert isinstance(attempt, DiscoveryAttempted)
    assert isinstance(score, ProbeScored)
    assert attempt.outcome == "unparsable"
    assert (score.model_name, score.valid, score.total_score, score.output_digest) == ("a", False, None, None)
    unknown = Session(started=START).decide(says(f"{identity('unknown')}\nI would rather not."), GO)
    assert not any(isinstance(payload, ProbeScored) for payload in unknown)
    assert not any(isinstance(payload, ProbeScored) for payload in Session(started=START).decide(REFUSED, GO))


def test_an_answer_that_cannot_be_scored_here_has_no_score_and_says_why() -> None:
    probe = msgspec.structs.replace(GO, scorer=Sandboxed())
    session = Session(started=START)
    attempt, *others = session.decide(model("a"), probe)
    assert isinstance(attempt, DiscoveryAttempted)
    assert (attempt.outcome, attempt.detail) == ("accepted", f"not scored: no sandbox for {len(CODE)} characters")
    assert others == []
    assert of(ProbeScored, session.decide(model("a"), GO)).valid is True


def test_what_a_router_says_besides_is_kept_within_its_bounds() -> None:
    answer = RouterAnswer(text="x", reported_model="m" * 999, tokens_used=-3, elapsed_ns=2**60)
    attempt = of(DiscoveryAttempted, Session(started=START).decide(answer, GO))
    assert (attempt.reported_model, attempt.tokens_used, attempt.elapsed_ns) == ("m" * 256, None, None)


ANSWERS = st.one_of(
    st.sampled_from([model(name) for name in ("a", "b", "c-20250101", "c", "unknown", "auto")]),
    st.sampled_from([REFUSED, EMPTY, GARBAGE, TIMEOUT, FAILED, says(identity("d"))]),
    st.builds(
        RouterAnswer, text=st.text(), reported_model=st.text(), elapsed_ns=st.integers(), tokens_used=st.integers()
    ),
    st.text().map(lambda text: says(f"{identity('e')}\n```go\n{text}")),
)
LIMIT = st.none() | st.integers(0, 6)
STARTS = st.builds(
    DiscoveryStarted,
    run_id=st.just("r"),
    max_iterations=LIMIT,
    max_attempts=LIMIT,
    terminate_on_repeat=st.none() | st.booleans(),
    keep_going=st.none() | st.booleans(),
)


@given(STARTS, st.lists(ANSWERS, min_size=41, max_size=41))
def test_every_run_ends_within_its_attempts(started: DiscoveryStarted, answers: list[RouterAnswer]) -> None:
    session, made = run(answers, started)
    assert session.ending is not None
    assert len(made) <= max(1, 40 if started.max_attempts is None else started.max_attempts)
    attempts = [of(DiscoveryAttempted, batch) for batch in made]
    assert [attempt.attempt for attempt in attempts] == list(range(1, len(made) + 1))
    accepted = [attempt.iteration for attempt in attempts if attempt.iteration is not None]
    assert accepted == list(range(session.iterations))
    assert [attempt.outcome for attempt in attempts].count("accepted") == session.iterations
    assert [isinstance(payload, DiscoveryFinished) for batch in made for payload in batch].index(True) == sum(
        map(len, made)
    ) - 1


@given(STARTS, st.lists(ANSWERS, max_size=8))
def test_a_run_resumed_anywhere_is_the_run_that_went_on(started: DiscoveryStarted, answers: list[RouterAnswer]) -> None:
    session, history = Session(started=started), []
    for answer in answers:
        made = session.decide(answer, GO)
        assert made == session.decide(answer, GO)
        history += made
        session = session.then(made)
        resumed = Session(started=started).then(stored(history))
        assert resumed == session
        assert resumed.prompt(GO) == session.prompt(GO)


def stored(payloads: list[Payload]) -> list[Payload]:
    """Payloads as the log gives them back: what cannot be encoded, or does not fit the vocabulary, fails."""
    return [msgspec.json.decode(msgspec.json.encode(payload), type=type(payload)) for payload in payloads]
