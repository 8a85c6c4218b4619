"""The suite versions that runs used, one version, and one of its scenarios with the files as they were."""

from typing import NamedTuple

from api.http.pages.content import Content, address_of, list_links
from api.http.pages.evaluations.run_list import ROWS, RUNS, SCENARIOS
from api.http.pages.page import page, query_of
from api.http.path_parameters import SCENARIO
from api.http.request import Call
from api.parameters import named
from api.reports.escape import cut, escape_html
from api.service.evaluation.suite_queries import (
    KeptFileText,
    KeptScenarioAnswer,
    SuiteVersionAnswer,
    get_kept_scenario,
    get_suite_version,
    get_suite_versions,
)
from api.service.event_params import AS_OF
from api.service.run_params import KeptScenarioQuery, SuiteVersionQuery, SuiteVersionsQuery
from ledger.errors import Damaged, Gone, NotFound

PATH = f"{RUNS}/suites"
VERSION = named(SuiteVersionQuery)["version"]

TEXT_BYTES_MAX = 60_000
"""The most bytes of a file on a page, escaped."""


class ShortFile(NamedTuple):
    """A file with the beginning of its text, and whether there is more."""

    file: KeptFileText
    text: str | None
    shortened: bool


@page("evaluations/suites", query=query_of(SuiteVersionsQuery, "limit"), heavy=True)
async def show_suites(call: Call) -> Content:
    """List suite versions, the last used first."""
    parameters = {**call.parameters, "limit": str(ROWS)}
    query = call.asked(SuiteVersionsQuery, limit=ROWS)
    found = await get_suite_versions(await call.view(), query, call.caller)
    variables = {
        "found": found,
        "rows_shown": list_links(PATH, call.parameters, query.offset, ROWS, len(found.versions), found.total),
    }
    return Content("Suite versions", variables, address_of("/suites", parameters))


@page("evaluations/suite_version", query=query_of(SuiteVersionQuery, "limit"), heavy=True)
async def show_version(call: Call) -> Content:
    """Show a suite version, named by a run or a digest."""
    query = call.asked(SuiteVersionQuery, limit=SCENARIOS)
    name, offset = query.version, query.offset
    found = await get_suite_version(await call.view(), query, call.caller)
    address = f"{PATH}/{name}"
    variables = {
        "found": found,
        "address": address,
        "rows_shown": list_links(address, call.parameters, offset, SCENARIOS, len(found.scenarios), found.total),
    }
    json = address_of(f"/suites/{name}", call.parameters, limit=SCENARIOS)
    return Content(f"Suite version {found.version.suite_digest[:12]}", variables, json)


@page("evaluations/kept_scenario", query=(AS_OF,), heavy=True)
async def show_scenario_files(call: Call) -> Content:
    """Show the files of a scenario, as a run kept them; if no run kept them, say so."""
    name, scenario_id = call.path(VERSION), call.path(SCENARIO)
    found = await _find_scenario(call, name, scenario_id)
    variables = {
        "version": found.version,
        "found": found if isinstance(found, KeptScenarioAnswer) else None,
        "files": list(map(_shorten, found.files)) if isinstance(found, KeptScenarioAnswer) else [],
        "scenario_id": scenario_id,
        "address": f"{PATH}/{name}",
        "download": f"/suites/{name}/file",
    }
    json = address_of(f"/suites/{name}/scenarios/{scenario_id}", call.parameters)
    return Content(f"{scenario_id} as it was", variables, json)


async def _find_scenario(call: Call, name: str, scenario_id: str) -> KeptScenarioAnswer | SuiteVersionAnswer:
    """Return the scenario; the version alone if its files were not kept, or their list was erased."""
    view = await call.view()
    try:
        return await get_kept_scenario(view, KeptScenarioQuery(version=name, scenario_id=scenario_id), call.caller)
    except (NotFound, Gone, Damaged):
        version = await get_suite_version(view, SuiteVersionQuery(version=name, limit=1), call.caller)
        if version.version.state in {"not_kept", "erased", "missing"}:
            return version
        raise


def _shorten(file: KeptFileText) -> ShortFile:
    if file.text is None:
        return ShortFile(file, None, shortened=False)
    text = cut(file.text, TEXT_BYTES_MAX)
    while len(escape_html(text).encode(errors="replace")) > TEXT_BYTES_MAX:
        text = cut(text, len(text) // 2)
    return ShortFile(file, text, shortened=text != file.text)
