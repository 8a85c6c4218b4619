"""The page of recorded changes and sessions shows the figures of the JSON routes."""

import httpx

from tests.api.http.posts import get
from tests.api.pages.page_requests import read_page
from tests.api.pages.shown_ledgers import adopted, append


def test_without_records_it_says_how_to_make_some(empty_client: httpx.Client) -> None:
    page = read_page(empty_client, "/ui/models/adopted")
    for command in ("tallystick adopt git --record", "tallystick adopt sessions --record"):
        assert command in page.text


def test_it_shows_changes_by_agent_and_sessions_by_program(empty_client: httpx.Client) -> None:
    append(empty_client, adopted())
    (repository,) = get(empty_client, "/changes")["repositories"]
    (program,) = get(empty_client, "/sessions")["programs"]
    page = read_page(empty_client, "/ui/models/adopted")
    rows = page.rows(f"Changes of repository {repository['repository']} by agent")
    assert [row[:3] for row in rows] == [["claude", "2", "2"], ["unmarked", "2", "2"]]
    kept = repository["agents"][0]["matured"]["kept"]
    assert f"{kept['count']} of {kept['n']}" in rows[0][3]
    requests = page.rows(f"Pull requests of repository {repository['repository']} by agent")
    assert requests == [["claude", "3", "1", "1", "1", "33% 1 of 3, 6% to 79%"]]
    models = page.rows("Models of claude-code")
    assert [row[0][:40] for row in models] == [model["served"][:40] for model in program["models"]]
    assert [row[2] for row in models] == [str(model["answers"]) for model in program["models"]]
    assert page.rows("Tools of claude-code") == [["Bash", "1", "0", "1", "0", "0"]]
    assert "Denied by person 1 (recorded)." in page.text
    assert "unexplained" in page.text
    later = read_page(empty_client, "/ui/models/adopted", since="2026-03-01")
    assert "No session of a coding agent is recorded." in later.text
