"""Changes of repositories in a ledger: what is recorded of histories that grow, are rewritten, or are read again."""

import asyncio
import json
import subprocess
from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest
from msgspec import structs

from api.client.open_store import open_store
from api.importers.adopt.change_record import record_changes, repository_id
from api.importers.adopt.git_changes import FoundRepositories, GitPreview, ReadRepository, RecordedChanges, change_facts
from api.importers.batch_append import FileFault
from api.progress import no_progress
from api.service.changes import ChangesQuery, get_changes
from api.service.ledger import open_for_reading
from events.observation import ObservationRecorded
from events.registry import VOCABULARY
from instruments.git.agents import Mark
from instruments.git.history import ChangeReverted, History, LandedChange, LinesEnded
from projections.changes.change_index import ChangeIndex
from projections.changes.outcomes import outcomes_by_agent
from tallystick.shapes.changes import ChangesAnswer, RepositoryOutcomes
from tests.api.cli.command import done
from tests.instruments.git.made_repository import DAY_S, START_S, MadeRepository
from tests.support.paths import SHARED

CLAUDE = (Mark("claude", "trailer", "Claude Opus 4.6"),)


def change(number: int, *, marks: Sequence[Mark] = CLAUDE, fixes: bool = False) -> LandedChange:
    """A change that lands on the day of its number, with ten lines."""
    return LandedChange(
        sha=f"{number:040x}", landed_s=START_S + number * DAY_S, marks=tuple(marks), number=None, commits=1, files=1,
        code_files=1, is_fix=fixes, born=10,
    )  # fmt: skip


def history(changes: Sequence[LandedChange], *, is_shallow: bool = False) -> History:
    """A history in which change 3 repairs change 1, and change 5 takes back change 2, as far as they have landed."""
    numbers = {one.sha: place for place, one in enumerate(changes)}
    found = list(changes)
    for of, by in ((1, 3), (2, 5)):
        place, later = (numbers.get(f"{number:040x}") for number in (of, by))
        if place is not None and later is not None:
            reverted = (ChangeReverted(later, "sha"),) if of == 2 else ()
            found[place] = structs.replace(found[place], ended=(LinesEnded(later, 4),), reverted=reverted)
    return History(
        root="f" * 40, head=found[-1].sha, changes=found, unresolved_reverts=0, resolved_reverts={}, main_merged=0,
        is_shallow=is_shallow,
    )  # fmt: skip


CHANGES = [change(number, marks=CLAUDE if number % 2 else (), fixes=number == 3) for number in range(60)]


def read(found: History, branch: str = "main") -> ReadRepository:
    return ReadRepository(Path("here"), branch, found)


def record(ledger: Path, *repositories: ReadRepository) -> tuple[RecordedChanges, list[FileFault]]:
    async def run() -> tuple[RecordedChanges, list[FileFault]]:
        found = FoundRepositories(list(repositories), GitPreview())
        async with open_store(ledger, None, None) as store:
            await record_changes(found, store, no_progress)
        assert found.preview.recorded is not None
        return found.preview.recorded, found.preview.faults

    return asyncio.run(run())


def shown(ledger: Path, **query: object) -> ChangesAnswer:
    async def run() -> ChangesAnswer:
        async with open_for_reading(ledger) as service:
            return await get_changes(service, ChangesQuery(**query))  # type: ignore[arg-type]

    return asyncio.run(run())


def only(ledger: Path) -> RepositoryOutcomes:
    (found,) = shown(ledger).repositories
    return found


def expected(found: History) -> object:
    return list(outcomes_by_agent(change_facts(found), found.watermark_s))


def test_figures_are_those_of_the_history_and_recorded_once(tmp_path: Path) -> None:
    ledger, whole = tmp_path / "t.db", history(CHANGES)
    recorded, _ = record(ledger, read(whole))
    assert (recorded.repositories, recorded.changes, recorded.gone) == (1, 60, 0)
    assert only(ledger).agents == expected(whole)
    assert only(ledger).head == whole.head
    assert record(ledger, read(whole)) == (RecordedChanges(unchanged=1), [])
    claude = shown(ledger, agent="claude").repositories[0].agents
    assert [figures.agent for figures in claude] == ["claude"]
    assert [name.nearest for name in shown(ledger, agent="claud").unknown_names] == ["claude"]
    assert claude[0].matured is not None
    assert (claude[0].matured.fixed.count, claude[0].matured.reverted.count) == (1, 0)


def test_a_history_that_grows_adds_what_is_new(tmp_path: Path) -> None:
    ledger = tmp_path / "t.db"
    for end in (2, 4, 20, 21, 60):
        record(ledger, read(history(CHANGES[:end])))
        assert only(ledger).agents == expected(history(CHANGES[:end]))
    recorded, _ = record(tmp_path / "whole.db", read(history(CHANGES)))
    assert only(ledger) == only(tmp_path / "whole.db")
    assert recorded.outcomes == 1 + 1 + 46  # a repair, a revert, and the lines of those that are old enough


def test_what_history_no_longer_has_counts_nowhere(tmp_path: Path) -> None:
    ledger, rewritten = tmp_path / "t.db", history([*CHANGES[:10], change(90), change(91)])
    record(ledger, read(history(CHANGES)))
    recorded, _ = record(ledger, read(rewritten))
    assert (recorded.changes, recorded.gone) == (2, 50)
    assert (only(ledger).landed, only(ledger).gone) == (12, 50)
    assert record(ledger, read(rewritten))[0].unchanged == 1
    back, _ = record(ledger, read(history(CHANGES)))
    assert (back.changes, back.gone, only(ledger).landed, only(ledger).gone) == (50, 2, 60, 2)
    again, _ = record(ledger, read(rewritten))
    assert (again.gone, only(ledger).landed) == (50, 12)


def test_outcomes_that_history_no_longer_has_are_withdrawn(tmp_path: Path) -> None:
    """Change 5 takes back change 2, and change 3 repairs change 1: without these two, both are kept."""
    ledger, whole = tmp_path / "t.db", history(CHANGES)
    without = history([*CHANGES[:3], *(change(number) for number in range(100, 130))])
    for found in (whole, without, whole, without, whole):
        record(ledger, read(found))
        assert only(ledger).agents == expected(found)
        assert record(ledger, read(found))[0] == RecordedChanges(unchanged=1)


def test_other_marks_replace_those_before(tmp_path: Path) -> None:
    ledger = tmp_path / "t.db"
    record(ledger, read(history(CHANGES)))
    marked = [structs.replace(one, marks=(Mark("mine", "owner"),)) for one in CHANGES]
    recorded, _ = record(ledger, read(history(marked)))
    assert (recorded.changes, recorded.outcomes) == (60, 0)
    assert [figures.agent for figures in only(ledger).agents] == ["mine"]
    record(ledger, read(history(CHANGES)))
    assert only(ledger).agents == expected(history(CHANGES))
    assert record(ledger, read(history(CHANGES)))[0].unchanged == 1


def test_a_main_line_is_a_repository_and_a_branch(tmp_path: Path) -> None:
    ledger, main, side = tmp_path / "t.db", read(history(CHANGES)), read(history(CHANGES[:9]), "side")
    assert repository_id(main) != repository_id(side)
    record(ledger, main, side)
    assert [one.landed for one in shown(ledger).repositories] == [60, 9]
    late = shown(ledger)
    assert late.as_of.position > 60


def test_a_shallow_clone_is_refused(tmp_path: Path) -> None:
    recorded, faults = record(tmp_path / "t.db", read(history(CHANGES, is_shallow=True)))
    assert recorded == RecordedChanges()
    assert [fault.detail for fault in faults] == [
        "here is a shallow clone: its first commit, by which it is known, is missing."
    ]


def test_an_observation_of_others_about_no_change_is_no_error() -> None:
    index = ChangeIndex()
    wrong: dict[str, str | int | tuple[str, ...]] = {"born": "ten", "agents": "claude"}
    for subject, occurred, facts in (
        (None, "2026-01-01T00:00:00Z", None),
        ("git:r", "2026-01-01T00:00:00Z", None),
        ("git:r:c", None, None),
        ("git:r:c", "yesterday", wrong),
        ("pr:r:c", "2026-01-01T00:00:00Z", None),
    ):
        index.add(
            ObservationRecorded(
                observation_id="o",
                event_type="git.landed",
                source="git",
                subject=subject,
                occurred=occurred,
                facts=facts,
            ),
            1,
        )
    (repository,) = index.repositories()
    (facts_of,) = repository.facts()
    assert (facts_of.agents, facts_of.born, facts_of.landed_s) == ((), 0, 0)
    assert index.copy().encode() == index.encode()


def test_no_event_has_a_text_of_the_repository(tmp_path: Path) -> None:
    ledger = tmp_path / "t.db"
    record(ledger, read(history(CHANGES), "secret-branch"))

    async def events() -> str:
        async with open_store(ledger, None, None, writable=False) as store:
            return "".join([page.decode() async for page in store.pages(())])

    log = asyncio.run(events())
    assert "secret" not in log
    assert "here" not in log
    draft = VOCABULARY.event_types["observation.recorded.v2"]
    assert draft.name in log


@pytest.mark.slow
@pytest.mark.skipif(not (SHARED / "git").exists(), reason="needs the shared data")
def test_the_commands_record_and_show_a_real_repository(tmp_path: Path) -> None:
    ledger, clone = tmp_path / "t.db", tmp_path / "superpowers"
    subprocess.run(["git", "clone", "-q", str(SHARED / "git" / "superpowers.bundle"), str(clone)], check=True)
    preview = json.loads(done(ledger, "adopt", "git", clone, "--record", "--json").out)
    recorded = json.loads(done(ledger, "changes", "--json").out)
    assert recorded["repositories"][0]["agents"] == preview["repositories"][0]["agents"]
    assert "1 unchanged" in done(ledger, "adopt", "git", clone, "--record").text
    assert "claude: recognised by" in done(ledger, "changes", COLUMNS="80").text
    assert msgspec.json.decode(done(ledger, "adopt", clone, "--sessions", tmp_path, "--record", "--json").out)["git"]
    MadeRepository(tmp_path / "other")  # without a commit
    ended = done(tmp_path / "none.db", "adopt", "git", clone)
    assert "Recorded" not in ended.text
    assert not (tmp_path / "none.db").exists()
