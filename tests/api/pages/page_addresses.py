"""An address of every page: a new page without one fails the test of every page."""

from collections.abc import Mapping, Sequence

import httpx

from api.http.pages.page_table import PAGES

DISCOVERY = "{first discovery run}"

ADDRESSES: Mapping[str, Sequence[str]] = {
    "/ui": ["/ui", "/ui?window=30d"],
    "/ui/decisions": [
        "/ui/decisions",
        "/ui/decisions?search=question&limit=10",
        "/ui/decisions?search=nothing+such",
    ],
    "/ui/decisions/{decision_id}": ["/ui/decisions/rich"],
    "/ui/reviews": ["/ui/reviews"],
    "/ui/tests": ["/ui/tests", "/ui/tests?state=overdue", "/ui/tests?rule=git.kep"],
    "/ui/calibration": ["/ui/calibration", "/ui/calibration?agent=scout", "/ui/calibration?as_of=1"],
    "/ui/calibration/compare": ["/ui/calibration/compare"],
    "/ui/models": ["/ui/models"],
    "/ui/models/runs": ["/ui/models/runs"],
    "/ui/models/runs/{run_id}": [f"/ui/models/runs/{DISCOVERY}"],
    "/ui/models/runs/{run_id}/attempts/{attempt}": [f"/ui/models/runs/{DISCOVERY}/attempts/1"],
    "/ui/models/probes": ["/ui/models/probes"],
    "/ui/models/adopted": ["/ui/models/adopted", "/ui/models/adopted?since=2026-01-01"],
    "/ui/evaluations": ["/ui/evaluations"],
    "/ui/evaluations/compare": ["/ui/evaluations/compare", "/ui/evaluations/compare?candidate=next&baseline=base"],
    "/ui/evaluations/scoreboard": ["/ui/evaluations/scoreboard"],
    "/ui/evaluations/judges": ["/ui/evaluations/judges"],
    "/ui/evaluations/suites": ["/ui/evaluations/suites"],
    "/ui/evaluations/suites/{version}": ["/ui/evaluations/suites/next"],
    "/ui/evaluations/suites/{version}/scenarios/{scenario_id}": [
        "/ui/evaluations/suites/next/scenarios/dns-blocked-by-policy"
    ],
    "/ui/labels": ["/ui/labels"],
    "/ui/evaluations/scenarios/{scenario_id}": ["/ui/evaluations/scenarios/dns-blocked-by-policy"],
    "/ui/evaluations/{run}": ["/ui/evaluations/next"],
    "/ui/evaluations/{run}/scenarios/{scenario_id}": ["/ui/evaluations/next/scenarios/dns-blocked-by-policy"],
    "/ui/log": ["/ui/log", "/ui/log?type=decision.reviewed.v1"],
    "/ui/log/related": ["/ui/log/related", "/ui/log/related?correlationid=order-7"],
    "/ui/log/{position}": ["/ui/log/1"],
    "/ui/proof": ["/ui/proof", "/ui/proof?position=1"],
    "/ui/operate": ["/ui/operate"],
    "/ui/programs": ["/ui/programs"],
    "/ui/sign-in": ["/ui/sign-in"],
    "/ui/{rest:path}": ["/ui/nosuch"],
}
"""The addresses by the path of the page. A ledger without what an address names has a page that says so."""

FILES = frozenset(
    row.path for row in PAGES if row.method == "GET" and (row.path.endswith(".svg") or "/assets/" in row.path)
)
"""Drawings and assets, which are not pages; pages show or link them."""


def addresses_of(client: httpx.Client) -> list[str]:
    """Every address, for one ledger."""
    runs = client.get("/runs", params={"limit": 1}).json()["runs"]
    first = runs[0]["run_id"] if runs else "none"
    return [address.replace(DISCOVERY, first) for addresses in ADDRESSES.values() for address in addresses]
