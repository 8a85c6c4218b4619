"""What a person sees of a run."""

from msgspec import structs

from events.discovery import DiscoveryAttempted
from events.model import ModelIdentity
from instruments.answer import RouterAnswer
from instruments.discovery import Session, render_events, render_summary
from tests.instruments.discovery.answers import EMPTY, FAILED, GARBAGE, REFUSED, TIMEOUT, identity, model, says
from tests.instruments.discovery.test_session import START, kept_going, run
from tests.instruments.questions import GO


def lines(*answers: RouterAnswer) -> list[str]:
    _, made = run(answers, kept_going())
    return [line for batch in made for line in render_events(batch)]


def test_an_accepted_answer_is_an_iteration() -> None:
    assert lines(model("Nova-1"), model("b")) == [
        "iteration 0: Nova-1 (score=0.80) [1ms]",
        "iteration 1: b (score=0.80) [1ms]",
    ]


def test_an_answer_without_a_score_says_why() -> None:
    cut = structs.replace(model("Nova-1"), cut_off=True)
    assert lines(cut) == ["iteration 0: Nova-1 (score=0.80; cut off at the endpoint's limit of tokens) [1ms]"]
    cut = structs.replace(says(identity("Nova-1")), cut_off=True)
    assert lines(cut)[0] == (
        "attempt 1: unparsable: cut off at the endpoint's limit of tokens; no Go function is in the answer [1ms]"
    )
    attempt = DiscoveryAttempted(
        run_id="r", attempt=1, outcome="accepted", iteration=0, claimed=ModelIdentity(model_name="b")
    )
    assert render_events([attempt]) == ["iteration 0: b (invalid) [-]"]
    why = structs.replace(attempt, detail="not scored: there is no go")
    assert render_events([why]) == ["iteration 0: b (not scored: there is no go) [-]"]


def test_what_is_no_iteration_is_an_attempt() -> None:
    wrong = f"{identity('unknown')}\n```go\nfunc f() {{}}\n```"
    auto = f"{identity('auto')}\n```go\nfunc f() {{}}\n```"
    assert lines(model("a"), model("a"), REFUSED, EMPTY, TIMEOUT, FAILED, says(auto), says(wrong))[1:] == [
        "attempt 2: a again (score=0.80) [1ms]",
        "attempt 3: refused: the answer begins with EXCLUDED [1ms]",
        "ORANGE: 8 characters, beginning 'EXCLUDED'",
        "attempt 4: empty: the answer is empty [1ms]",
        "ORANGE: 2 characters, beginning ' \\n'",
        "attempt 5: timeout: no answer within 5 s [5000ms]",
        "ORANGE: no answer",
        "attempt 6: failed: connection refused [0ms]",
        "ORANGE: no answer",
        "attempt 7: wrapper: 'auto' is a host's name, not a model's [1ms]",
        f"ORANGE: {len(auto)} characters, beginning {auto!r}",
        "attempt 8: unparsable: its identity names no model: 'unknown' [1ms]",
        f"ORANGE: {len(wrong)} characters, beginning {wrong!r}",
    ]


def test_an_end_is_reported_with_its_reason() -> None:
    session = Session(started=START)
    assert render_events(session.decide(GARBAGE, GO))[-1] == (
        "ended: unparsable answer at iteration 0: no identity is in the answer"
    )


def test_the_last_line_counts() -> None:
    assert render_summary(3, 4, 1_234_567_890) == "discovery complete: 3 unique models in 4 iterations [1235ms]"
