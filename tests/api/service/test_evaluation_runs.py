"""Scores added to a run by several at once, under ids that others took, of answers that were erased."""

import asyncio
from pathlib import Path

import msgspec
import pytest
from msgspec import structs

from api.errors import RunEnded
from api.service.evaluation.attempt_workers import score_attempts
from api.service.evaluation.cost_budget import check_budget
from api.service.evaluation.eval_run_command import EvalRunCommand
from api.service.evaluation.options import EvalOptions, JudgeOptions
from api.service.evaluation.run_operations import (
    EvalRun,
    GradedAttempt,
    add_scores,
    begin_run,
    find_run,
    find_unfinished,
    finish_run,
)
from api.service.evidence import Blob
from api.service.ledger import LedgerService
from api.service.store import LocalStore
from events.errors import InvalidEvent, MalformedInput
from events.evaluation import EvalFinished, EvalScored, EvalStarted
from events.registry import VOCABULARY
from instruments.evals.scoring.semantic_matcher import SemanticMatcher
from ledger.errors import InvalidQuery, LedgerUnavailable, LifecycleViolation
from tests.api.service.ledgers import (
    digest_of,
    head,
    refusal,
    within,
)


@pytest.mark.parametrize("amount", [0, -1, 2_000_000_000, float("nan"), float("inf")])
def test_a_budget_outside_of_its_limits_is_refused_with_the_limits(amount: float) -> None:
    with pytest.raises(InvalidQuery, match="not an amount above 0 and up to 1,000,000,000 US dollars"):
        check_budget(amount, "agent")
    check_budget(1_000_000_000, "agent")


def test_retries_are_refused_where_nobody_is_asked() -> None:
    with pytest.raises(InvalidQuery, match="and none is asked"):
        EvalRunCommand(EvalOptions(suite_of="one", retries=3), None)
    EvalRunCommand(EvalOptions(suite_of="one", retries=0), None)
    EvalRunCommand(EvalOptions(suite_of="one", retries=3), SemanticMatcher("none"))
    EvalRunCommand(EvalOptions(suite_of="one", retries=3, agent="true"), None)
    EvalRunCommand(EvalOptions(suite_of="one", retries=3, judge=JudgeOptions(spec="command:true")), None)


STARTED = EvalStarted(run_id="one", suite="kube", scenarios=3, attempts=1)
_scored = VOCABULARY.event_types["eval.scored.v1"].draft


def graded(scenario: str, attempt: int = 1, total: float = 100.0, **more: object) -> GradedAttempt:
    score = EvalScored(
        run_id="one", scenario_id=scenario, attempt=attempt, state="scored", total_score=total, passed=total >= 70
    )
    return GradedAttempt(structs.replace(score, **more))


async def scores(store: LocalStore) -> list[tuple[str, int, float | None]]:
    events = VOCABULARY.events(await store.streams(["evaluation/one"]))
    found = [event.data for event in events if isinstance(event.data, EvalScored)]
    return [(data.scenario_id, data.attempt, data.total_score) for data in found]


def test_of_two_who_go_on_at_once_each_attempt_is_of_one(tmp_path: Path) -> None:
    @within(tmp_path / "ledger.db")
    async def found(ledger: LedgerService) -> list[tuple[str, int, float | None]]:
        store = LocalStore(ledger)
        one = await begin_run(store, STARTED)
        other = await find_unfinished(store, "one")
        await add_scores(store, one, [graded("a"), graded("b")])
        await add_scores(store, other, [graded("b", total=0.0), graded("c", total=0.0)])
        assert other.version == 4
        await asyncio.gather(
            add_scores(store, one, [graded("d")]), add_scores(store, other, [graded("d", total=0.0), graded("e")])
        )
        await asyncio.gather(finish_run(store, one, 7), finish_run(store, other, 8))
        assert one.finished
        assert other.finished
        await add_scores(store, one, [graded("a", total=0.0)])
        with pytest.raises(RunEnded):
            await add_scores(store, one, [graded("f")])
        with pytest.raises(RunEnded):
            await find_unfinished(store, "one")
        return await scores(store)

    # 'b' of the other process took as long as the recorded one, and counts as the same answer
    assert found[:3] == [("a", 1, 100.0), ("b", 1, 100.0), ("c", 1, 0.0)]
    assert sorted(place for place, *_ in found[3:]) == ["d", "e"]


def test_an_answer_to_an_attempt_that_another_process_has_recorded_is_marked(tmp_path: Path) -> None:
    @within(tmp_path / "ledger.db")
    async def found(ledger: LedgerService) -> list[bool]:
        store = LocalStore(ledger)
        one = await begin_run(store, STARTED)
        other = await find_unfinished(store, "one")
        assert not any(each.superseded for each in await add_scores(store, one, [graded("a", elapsed_ns=7)]))
        again = await add_scores(store, one, [graded("a", elapsed_ns=7)])
        late = await add_scores(store, other, [graded("a", elapsed_ns=8), graded("b", elapsed_ns=8)])
        return [each.superseded for each in (*again, *late)]

    assert found == [False, True, False]


def test_an_id_that_somebody_took_keeps_no_score_out(tmp_path: Path) -> None:
    @within(tmp_path / "ledger.db")
    async def found(ledger: LedgerService) -> list[tuple[str, int, float | None]]:
        store = LocalStore(ledger)
        run = await begin_run(store, STARTED)
        squatter = VOCABULARY.event_types["decision.recorded.v1"].draft
        data = VOCABULARY.draft(b'{"type": "decision.recorded.v1", "data": {"decision": "mine"}}').data
        await store.append([squatter(id="eval:one:b:1", data=data)])
        await add_scores(store, run, [graded("a"), graded("b")])
        await add_scores(store, run, [graded("c")])
        return await scores(store)

    assert [place for place, *_ in found] == ["a", "b", "c"]


def test_ids_of_any_length_are_ids_of_events(tmp_path: Path) -> None:
    run_id, scenario = "r" * 64, "s" * 64

    @within(tmp_path / "ledger.db")
    async def ids(ledger: LedgerService) -> list[str]:
        store = LocalStore(ledger)
        run = await begin_run(store, structs.replace(STARTED, run_id=run_id))
        await add_scores(store, run, [graded(scenario, attempt) for attempt in (1, 2)])
        events = VOCABULARY.events(await store.streams([f"evaluation/{run_id}"]))
        return [event.id for event in events]

    assert ids[0] == f"eval:{run_id}:started"
    assert len(set(ids)) == 3
    assert all(one.startswith("eval:") for one in ids)


def test_an_id_is_made_where_none_is_given(tmp_path: Path) -> None:
    @within(tmp_path / "ledger.db")
    async def _(ledger: LedgerService) -> None:
        store = LocalStore(ledger)
        run = await begin_run(store, structs.replace(STARTED, run_id=None))
        assert len(run.run_id) == 8
        assert await find_run(store, run.run_id) == run
        with pytest.raises(LifecycleViolation):
            await begin_run(store, run.started)


def test_what_was_erased_is_not_kept_again(tmp_path: Path) -> None:
    blob = Blob(b'{"rca": {}}', "application/json")
    digest = digest_of(blob.data)

    @within(tmp_path / "ledger.db")
    async def _(ledger: LedgerService) -> None:
        store = LocalStore(ledger)
        run = await begin_run(store, STARTED)
        reported = structs.replace(graded("a", analysis_digest=digest), blobs=(blob,))
        await add_scores(store, run, [reported])
        await store.erase(digest, None)
        await add_scores(store, run, [structs.replace(reported, score=structs.replace(reported.score, attempt=2))])
        assert [attempt for _, attempt, _ in await scores(store)] == [1, 2]


def test_what_no_post_may_say_is_not_written(tmp_path: Path) -> None:
    @within(tmp_path / "ledger.db")
    async def _(ledger: LedgerService) -> None:
        store = LocalStore(ledger)
        for wrong in ({"suite": ""}, {"agent": "a" * 257}, {"selection": ""}, {"meta": {"key": "\ud800"}}):
            assert await refusal(begin_run(store, structs.replace(STARTED, **wrong))) in {InvalidEvent, MalformedInput}
        assert await head(ledger) == 0
        run = await begin_run(store, STARTED)
        assert await refusal(add_scores(store, run, [graded("a"), graded("b", detail="")])) is InvalidEvent
        assert await head(ledger) == 1


class Shaky(LocalStore):
    """A ledger whose answers are lost on the way now and then: written or not, who asked does not know."""

    def __init__(self, ledger: LedgerService) -> None:
        super().__init__(ledger)
        self.asked = 0

    async def append(self, drafts):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201 - as its parent's
        self.asked += 1
        if self.asked % 3 == 1:
            raise LedgerUnavailable("It is away.", "Ask again.")
        answer = await super().append(drafts)
        if self.asked % 3 == 2:
            raise LedgerUnavailable("The answer was lost.", "Ask again.")
        return answer


def test_whatever_is_lost_on_the_way_stands_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("api.service.retry.UNAVAILABLE_WAITS_S", (0.0, 0.0, 0.0, 0.0))

    @within(tmp_path / "ledger.db")
    async def _(ledger: LedgerService) -> None:
        store = Shaky(ledger)
        run = await begin_run(store, STARTED)
        for scenario in ("a", "b", "c", "d"):
            await add_scores(store, run, [graded(scenario), graded(scenario, 2)])
        await finish_run(store, run, 7)
        assert [place[:2] for place in await scores(store)] == [(name, number) for name in "abcd" for number in (1, 2)]
        events = VOCABULARY.events(await store.streams(["evaluation/one"]))
        assert [event.streamversion for event in events] == list(range(1, 11))
        assert isinstance(events[-1].data, EvalFinished)
        assert run.finished
        assert run.version == 10


def line(version: int, recorded: str, kind: str, data: object) -> bytes:
    """A stored event of the run `one`."""
    reported = {
        "specversion": "1.0", "id": str(version), "source": "/agents/owner", "type": kind, "subject": "evaluation/one",
        "time": recorded, "recordedtime": recorded, "position": version, "streamversion": version, "data": data,
    }  # fmt: skip
    return msgspec.json.encode(reported)


def test_interruptions_are_no_time_that_was_worked() -> None:
    def at(second: int) -> str:
        return f"2026-11-21T10:{second // 60:02}:{second % 60:02}.000000Z"

    def score(version: int, second: int, elapsed_s: int | None) -> bytes:
        data: dict[str, object] = {"run_id": "one", "scenario_id": f"s{version}", "attempt": 1, "state": "error"}
        if elapsed_s is not None:
            data["elapsed_ns"] = elapsed_s * 10**9
        return line(version, at(second), "eval.scored.v1", data)

    started = line(1, at(0), "eval.started.v1", {"run_id": "one", "suite": "kube"})
    reported = [started, score(2, 10, 10), score(3, 12, 5), score(4, 15, 1), score(5, 600, 20), score(6, 610, None)]
    run = EvalRun.of(VOCABULARY.events(b"\n".join(reported)))
    assert run.worked_ns == (12 + 1 + 20) * 10**9
    assert (run.version, len(run.scored), run.finished) == (6, 5, False)


def test_who_is_asked_next_is_asked_after_what_was_answered_is_written(tmp_path: Path) -> None:
    @within(tmp_path / "ledger.db")
    async def _(ledger: LedgerService) -> None:
        store = LocalStore(ledger)
        run = await begin_run(store, STARTED)
        began: list[int] = []

        async def answer(place: tuple[str, int]) -> GradedAttempt:
            began.append(len(await scores(store)))
            return graded(*place)

        places = [(name, 1) for name in "abcdef"]
        await score_attempts(store, run, places, answer, 1, asyncio.Event(), lambda one: None)
        assert began == list(range(6))
        assert run.scored.keys() == set(places)


def test_what_breaks_in_the_middle_is_raised_and_what_was_answered_stays(tmp_path: Path) -> None:
    @within(tmp_path / "ledger.db")
    async def _(ledger: LedgerService) -> None:
        store = LocalStore(ledger)
        run = await begin_run(store, STARTED)

        async def answer(place: tuple[str, int]) -> GradedAttempt:
            if place[0] == "c":
                raise ZeroDivisionError
            return graded(*place)

        with pytest.raises(ZeroDivisionError):
            await score_attempts(
                store, run, [(name, 1) for name in "abcde"], answer, 2, asyncio.Event(), lambda one: None
            )
        assert {"a", "b"} <= {place for place, *_ in await scores(store)}
