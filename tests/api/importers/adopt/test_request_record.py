"""Pull requests in a ledger: what is recorded of lists that grow, lack requests, or are one page of several."""

import asyncio
import json
from pathlib import Path

import pytest

from api.client.open_store import open_store
from api.importers.adopt.change_record import record_changes
from api.importers.adopt.git_changes import FoundRepositories, GitOptions, GitPreview
from api.importers.adopt.pull_requests import FoundRequests, RecordedRequests, preview_requests
from api.importers.adopt.request_record import check_repository, record_requests
from api.parameters import parse_instant
from api.progress import no_progress
from events.registry import VOCABULARY
from ledger.errors import InvalidQuery
from projections.changes.change_index import ChangeIndex
from projections.changes.recorded_requests import check_digest
from tallystick.shapes.changes import ChangesAnswer
from tests.api.cli.command import done
from tests.api.importers.adopt.test_change_record import CHANGES, history, read, shown
from tests.api.importers.adopt.test_pull_requests import listed, request
from tests.instruments.git.made_repository import MadeRepository

CLAUDE, ANN = "app/claude", "ann"
CHECKS = [
    {"name": name, "conclusion": conclusion, "completedAt": "2026-01-01T01:00:00Z"}
    for name, conclusion in (("test", "SUCCESS"), ("lint", "FAILURE"), ("docs", "SKIPPED"))
]


def found_in(tmp_path: Path, *requests: dict[str, object], through: str | None = None) -> FoundRequests:
    """Read a list of requests, as of a repository whose history is made."""
    seen = None if through is None else parse_instant("seen_through", through)
    found = preview_requests([listed(tmp_path, *requests)], GitOptions(), no_progress, seen_through=seen)
    return found._replace(repositories=[read(history(CHANGES))])


def record(ledger: Path, found: FoundRequests) -> RecordedRequests:
    async def run() -> RecordedRequests:
        async with open_store(ledger, None, None) as store:
            await record_requests(found, check_repository(found), store)
        assert found.preview.recorded is not None
        return found.preview.recorded

    return asyncio.run(run())


def log_of(ledger: Path) -> str:
    async def run() -> str:
        async with open_store(ledger, None, None, writable=False) as store:
            return "".join([page.decode() async for page in store.pages(())])

    return asyncio.run(run())


def requests_in(answer: ChangesAnswer) -> object:
    return [one.agents for one in answer.requests]


FIRST = request(1, CLAUDE, merged=None)
SECOND = request(2, ANN, merged="2026-01-03T00:00:00Z", sha=CHANGES[3].sha)
MERGED = request(1, CLAUDE, merged="2026-01-09T00:00:00Z") | {
    "headRefOid": "c" * 40, "reviewDecision": "APPROVED", "statusCheckRollup": CHECKS,
}  # fmt: skip


def test_figures_are_those_of_the_list_and_recorded_once(tmp_path: Path) -> None:
    ledger = tmp_path / "t.db"
    for requests, number, outcomes in (((FIRST, SECOND), 2, 1), ((FIRST, SECOND), 0, 0), ((MERGED, SECOND), 0, 1)):
        found = found_in(tmp_path, *requests)
        recorded = record(ledger, found)
        assert (recorded.requests, recorded.outcomes, recorded.is_whole) == (number, outcomes, True)
        assert requests_in(shown(ledger)) == [found.preview.agents]
    size = log_of(ledger)
    record(ledger, found_in(tmp_path, MERGED, SECOND))
    assert log_of(ledger) == size
    assert [one.agent for one in shown(ledger, agent="claude").requests[0].agents] == ["claude"]
    assert shown(ledger, since=parse_instant("since", "2026-02-01")).requests[0].requests == 0


def test_a_request_that_is_opened_again_is_open(tmp_path: Path) -> None:
    ledger = tmp_path / "t.db"
    closed = FIRST | {"closedAt": "2026-01-05T00:00:00Z"}
    for requests in (
        closed,
        FIRST | {"updatedAt": "2026-01-06T00:00:00Z"},
        closed | {"closedAt": "2026-01-07T00:00:00Z"},
    ):
        found = found_in(tmp_path, requests)
        record(ledger, found)
        assert requests_in(shown(ledger)) == [found.preview.agents]


def test_a_list_that_lacks_requests_or_may_be_one_page_is_no_scan(tmp_path: Path) -> None:
    ledger = tmp_path / "t.db"
    page = [request(number, ANN, merged=None) for number in range(30)]
    assert not record(ledger, found_in(tmp_path, *page)).is_whole
    assert shown(ledger).requests == []  # how they ended is not known
    assert record(ledger, found_in(tmp_path, *page, through="2026-01-02")).is_whole
    assert shown(ledger).requests[0].requests == 30
    part = record(ledger, found_in(tmp_path, *page[1:], through="2026-01-09"))
    assert (part.missing, part.is_whole) == (1, False)
    assert shown(ledger).requests[0].seen_through == parse_instant("seen_through", "2026-01-02")


def test_a_request_that_is_newer_than_a_list_is_not_missing(tmp_path: Path) -> None:
    ledger = tmp_path / "t.db"
    newer = request(3, ANN, merged=None) | {"createdAt": "2026-01-08T00:00:00Z"}
    record(ledger, found_in(tmp_path, FIRST, newer, through="2026-01-09"))
    older = record(ledger, found_in(tmp_path, FIRST, through="2026-01-07"))
    assert (older.missing, older.is_whole) == (0, True)
    assert shown(ledger).requests[0].seen_through == parse_instant("seen_through", "2026-01-09")


def test_a_request_marks_the_change_that_it_landed(tmp_path: Path) -> None:
    """Change 2 is unmarked: the request says whose it is. A robot's request for change 3 leaves it its agent's."""
    ledger = tmp_path / "t.db"
    robot = request(4, "app/dependabot", merged="2026-01-05T00:00:00Z", sha=CHANGES[3].sha)
    claudes = request(2, CLAUDE, merged="2026-01-03T00:00:00Z", sha=CHANGES[2].sha)
    record(ledger, found_in(tmp_path, claudes, robot))

    async def record_git() -> None:
        async with open_store(ledger, None, None) as store:
            await record_changes(FoundRepositories([read(history(CHANGES))], GitPreview()), store, no_progress)

    asyncio.run(record_git())
    by_agent = {figures.agent: figures for figures in shown(ledger).repositories[0].agents}
    assert by_agent["claude"].recognised_by == {"trailer": 30, "request": 2}
    assert (by_agent["claude"].landed, by_agent["unmarked"].landed) == (31, 29)


def test_no_event_has_the_name_of_a_check_or_a_branch(tmp_path: Path) -> None:
    ledger = tmp_path / "t.db"
    record(ledger, found_in(tmp_path, MERGED | {"headRefName": "claude/secret-branch"}))
    log = log_of(ledger)
    for text in ("secret", "lint", "docs", "app/claude"):
        assert text not in log
    (state,) = indexed(log).repositories()
    (known,) = state.requests.values()
    assert (known.succeeded, known.failed, known.checks) == ((check_digest("test"),), (check_digest("lint"),), "red")
    assert (known.review, known.head) == ("approved", "c" * 40)


def indexed(log: str) -> ChangeIndex:
    index = ChangeIndex()
    index.fold(VOCABULARY.facts(log.encode()))
    return index


@pytest.mark.parametrize(("number", "message"), [(0, "it is not stated"), (2, "it names 2, and")])
def test_requests_need_the_repository_by_which_they_are_known(tmp_path: Path, number: int, message: str) -> None:
    found = found_in(tmp_path, FIRST)
    with pytest.raises(InvalidQuery, match=message):
        check_repository(found._replace(repositories=[*found.repositories] * number))
    shallow = read(history(CHANGES, is_shallow=True))
    with pytest.raises(InvalidQuery, match="shallow clone"):
        check_repository(found._replace(repositories=[shallow]))


def test_requests_without_a_number_are_not_recorded(tmp_path: Path) -> None:
    ledger, found = tmp_path / "t.db", found_in(tmp_path, {"createdAt": "2026-01-01T00:00:00Z"})
    recorded = record(ledger, found)
    assert (recorded.requests, recorded.without_number, recorded.is_whole) == (0, 1, False)
    assert log_of(ledger) == ""


@pytest.mark.slow
def test_the_command_records_and_shows_requests(tmp_path: Path) -> None:
    ledger, made = tmp_path / "t.db", MadeRepository(tmp_path / "made")
    sha = made.change({"a.py": "one"}, "One", day=0)
    file = listed(tmp_path, request(7, CLAUDE, merged="2026-01-01T00:00:00Z", sha=sha), FIRST)
    run = ("adopt", "pulls", file, "--repository", made.path, "--record")
    assert "Recorded: 2 requests, 1 outcome." in done(ledger, *run).text
    assert "Recorded: 0 requests, 0 outcomes." in done(ledger, *run).text
    assert "2 pull requests" in done(ledger, "changes").text
    assert json.loads(done(ledger, "changes", "--json").out)["requests"][0]["requests"] == 2
