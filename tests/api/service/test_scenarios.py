"""Recording scenarios: each once, again where it changed, through the file and through a server alike."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import pytest
from msgspec.structs import asdict, replace

from api.client.open_store import open_store
from api.errors import BodyTooLarge
from api.service.evaluation.scenario_recorder import SCENARIOS_PER_BATCH, RecordedScenarios, record_scenarios
from api.service.store import EventStore, LocalStore
from events.envelope import Event
from events.errors import InvalidEvent
from events.evaluation import EvalScenarioCaptured, EvalScenarioRevised
from events.limits import EVIDENCE_BYTES_MAX
from events.registry import VOCABULARY
from instruments.evals.scenario import Scenario
from ledger.errors import InvalidQuery
from tests.api.service.ledgers import digest_of
from tests.instruments.evals.scenarios import scenario
from tests.support.event_loop import run
from tests.support.server import serving

Opened = Callable[[Path], AbstractAsyncContextManager[EventStore]]


@asynccontextmanager
async def through_the_file(ledger: Path) -> AsyncIterator[EventStore]:
    async with open_store(ledger, None, None) as target:
        yield target


@asynccontextmanager
async def through_a_server(ledger: Path) -> AsyncIterator[EventStore]:
    with serving(ledger) as url:
        async with open_store(ledger, url, None) as target:
            yield target


either = pytest.mark.parametrize("opened", [through_the_file, pytest.param(through_a_server, marks=pytest.mark.slow)])


async def history(target: EventStore, title: str) -> list[Event]:
    return VOCABULARY.events(await target.streams([f"scenario/{title}"]))


@either
def test_a_scenario_is_captured_once_and_revised_where_it_changed(tmp_path: Path, opened: Opened) -> None:
    async def reported() -> None:
        first = scenario(tmp_path, "image/llm", description="The tag is gone.", captured_at="2026-11-20T10:00:00Z")
        other = scenario(tmp_path, "memory", data=b"{}")
        async with opened(tmp_path / "a.db") as target:
            assert await record_scenarios(target, [first, other], source="investigation") == RecordedScenarios(
                captured=2
            )
            assert await record_scenarios(target, [first, other]) == RecordedScenarios(unchanged=2)
            (event,) = await history(target, "image.llm")
            assert event.data == EvalScenarioCaptured(
                scenario_id="image.llm",
                name="Image pull",
                family="image-pull",
                failure_type="ImagePullBackOff",
                mode="llm",
                description="The tag is gone.",
                fixture_digest=first.fixture_digest,
                expectation_digest=first.expectation_digest,
                investigation_digest=first.investigation_digest,
                source="investigation",
                fingerprint="c0ffee",
                captured_at="2026-11-20T10:00:00Z",
            )
            changed = scenario(tmp_path, "memory", data=b'{"evidence": {}}')
            assert await record_scenarios(target, [first, changed]) == RecordedScenarios(revised=1, unchanged=1)
            assert await record_scenarios(target, [changed]) == RecordedScenarios(unchanged=1)
            assert await record_scenarios(target, [scenario(tmp_path, "memory", data=b"{}")]) == RecordedScenarios(
                revised=1
            )
            kinds = [type(event.data) for event in await history(target, "memory")]
            assert kinds == [EvalScenarioCaptured, EvalScenarioRevised, EvalScenarioRevised]
            kept = await target.evidence(digest_of(b'{"evidence": {}}'))
            assert (kept.data, kept.media_type) == (b'{"evidence": {}}', "application/json")

    run(reported())


@pytest.mark.slow
@either
def test_many_are_recorded_in_batches(tmp_path: Path, opened: Opened) -> None:
    names = [f"case-{number:03}-{'x' * 55}" for number in range(2 * SCENARIOS_PER_BATCH + 7)]

    async def reported() -> None:
        many = [scenario(tmp_path, name, data=b"%d" % number) for number, name in enumerate(names)]
        async with opened(tmp_path / "a.db") as target:
            assert await record_scenarios(target, many) == RecordedScenarios(captured=len(names))
            changed = [scenario(tmp_path, name, data=b"[%d]" % number) for number, name in enumerate(names[:3])]
            assert await record_scenarios(target, [*changed, *many[3:]]) == RecordedScenarios(
                revised=3, unchanged=len(names) - 3
            )
            assert await record_scenarios(target, []) == RecordedScenarios()

    run(reported())


def test_what_an_evaluation_makes_known_is_kept_later(tmp_path: Path) -> None:
    async def reported() -> None:
        one = scenario(tmp_path, "image")
        async with open_store(tmp_path / "a.db", None, None) as target:
            assert isinstance(target, LocalStore)
            assert await record_scenarios(target, [one], keep=False) == RecordedScenarios(captured=1)
            assert VOCABULARY.facts(await target.streams([f"evidence/{one.investigation_digest}"])) == []
            assert await record_scenarios(target, [one]) == RecordedScenarios(unchanged=1)
            assert (await target.evidence(one.investigation_digest)).data == (
                one.folder / "investigation.json"
            ).read_bytes()
            assert await record_scenarios(target, [one], keep=False) == RecordedScenarios(unchanged=1)
            assert (await target.ledger.reader.head()).position == 2

    run(reported())


@either
def test_what_was_erased_is_not_kept_again(tmp_path: Path, opened: Opened) -> None:
    async def reported() -> None:
        one = scenario(tmp_path, "image")
        async with opened(tmp_path / "a.db") as target:
            await record_scenarios(target, [one])
            await target.erase(one.investigation_digest, "names of customers")
            assert await record_scenarios(target, [one]) == RecordedScenarios(unchanged=1)
            assert await record_scenarios(target, [replace(one, id="image-2", title="image")]) == RecordedScenarios(
                captured=1
            )

    run(reported())


def test_who_captured_it_when_and_from_where_makes_it_no_other(tmp_path: Path) -> None:
    async def reported() -> None:
        async with open_store(tmp_path / "a.db", None, None) as target:
            await record_scenarios(target, [scenario(tmp_path, "image", captured_at="then", source="opsbench")])
            again = scenario(tmp_path, "image", captured_at="now", captured_by="ada")
            assert await record_scenarios(target, [again], source="alertmanager") == RecordedScenarios(unchanged=1)
            renamed = replace(again, about=replace(again.about, family="images"))
            assert await record_scenarios(target, [renamed]) == RecordedScenarios(revised=1)

    run(reported())


@either
def test_two_at_once_write_each_change_once(tmp_path: Path, opened: Opened) -> None:
    async def reported() -> None:
        async with opened(tmp_path / "a.db") as target:

            async def both(scenarios: Sequence[Scenario]) -> None:
                found = await asyncio.gather(*(record_scenarios(target, scenarios) for _ in range(5)))
                new = [one.captured + one.revised for one in found]
                assert sum(new) == len(scenarios), found

            first = [scenario(tmp_path, f"case-{number}", data=b"%d" % number) for number in range(8)]
            await both(first)
            await both([scenario(tmp_path, one.title, data=b"[]") for one in first])
            for one in first:
                assert len(await history(target, one.id)) == 2

    run(reported())


def test_of_two_different_changes_each_follows_the_other(tmp_path: Path) -> None:
    async def reported() -> None:
        async with open_store(tmp_path / "a.db", None, None) as target:
            changes = [scenario(tmp_path, "image", about=f"Change {number}") for number in range(6)]
            await asyncio.gather(*(record_scenarios(target, [one]) for one in changes))
            events = await history(target, "image")
            assert [event.streamversion for event in events] == [1, 2, 3, 4, 5, 6]
            assert {asdict(event.data)["name"] for event in events} == {one.about.name for one in changes}

    run(reported())


def _too_large(root: Path) -> list[Scenario]:
    return [scenario(root, "small"), scenario(root, "large", data=b" " * (EVIDENCE_BYTES_MAX + 1))]


def _long_name(root: Path) -> list[Scenario]:
    return [scenario(root, "small"), scenario(root, "large", about="n" * 257)]


def _long_description(root: Path) -> list[Scenario]:
    return [scenario(root, "small"), scenario(root, "large", description="d" * 65_000)]


def _changed(root: Path) -> list[Scenario]:
    one = scenario(root, "large")
    (one.folder / "investigation.json").write_bytes(b"[]")
    return [one]


@pytest.mark.parametrize(
    ("made", "kind", "said"),
    [
        (_too_large, BodyTooLarge, "Scenario large: investigation.json has 16,777,217 bytes, and what is kept as"),
        (_long_name, InvalidEvent, "Scenario large: name: expected `string` of length <= 256."),
        (_long_description, InvalidEvent, "Scenario large: its texts take 65,"),
        (_changed, InvalidQuery, "scenario: large: investigation.json was changed after it was read."),
    ],
)
def test_what_cannot_be_recorded_is_named_and_nothing_is_written(
    tmp_path: Path, made: Callable[[Path], list[Scenario]], kind: type[Exception], said: str
) -> None:
    async def reported() -> None:
        async with open_store(tmp_path / "a.db", None, None) as target:
            assert isinstance(target, LocalStore)
            with pytest.raises(kind) as caught:
                await record_scenarios(target, made(tmp_path))
            assert str(caught.value).startswith(said)
            assert (await target.ledger.reader.head()).position == 0

    run(reported())
