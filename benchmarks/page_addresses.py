"""Addresses of every web page, for the ledger of `benchmarks/pages.py`: first view, filters, deep pages, the past."""

from collections.abc import Iterator, Mapping, Sequence

from api.http.pages.assets import asset_address
from api.http.pages.page_table import PAGES

CORRELATION_ID = "incident-7"
"""The correlation id of the last events of the ledger."""

PAST = "{past}"
"""In an address: another earlier position in each request, so that nothing is kept for it."""

_DECISION = "/ui/decisions/{decision}"
_SAMPLE = "sample=true&size=100&seed=7&drawn_at={middle}"
_COMPARED = "baseline=run-0&candidate={last_evaluation}"

ADDRESSES: Mapping[str, Sequence[str]] = {
    "/ui": ("/ui", "/ui?window=30d", "/ui?window=90d"),
    "/ui/decisions": (
        "/ui/decisions",
        "/ui/decisions?agent=agent-3&category=security",
        "/ui/decisions?tag=legacy&outcome=failure&limit=100",
        "/ui/decisions?offset={deep}",
        "/ui/decisions?sort=confidence&order=asc",
        "/ui/decisions?sort=confidence&offset={deep}",
        "/ui/decisions?as_of={middle}",
        "/ui/decisions?as_of={middle}&agent=agent-3&sort=confidence",
        "/ui/decisions?as_of={past}",
        "/ui/decisions?as_of={past}&agent=agent-3&sort=confidence",
        "/ui/decisions?search=gateway",
        "/ui/decisions?search=service+777",
        "/ui/decisions?search=gateway+service&retrieval_mode=hybrid",
        "/ui/decisions?search=connection+gateway+service+777&retrieval_mode=keyword",
        "/ui/decisions?agent=agent-33",
    ),
    "/ui/decisions/{decision_id}": (
        _DECISION,
        "/ui/decisions/00000000",
        f"{_DECISION}?as_of={{middle}}",
        "/ui/decisions/00000000?as_of={past}",
    ),
    "/ui/decisions/{decision_id}/figures/links.svg": (f"{_DECISION}/figures/links.svg",),
    "/ui/reviews": (
        "/ui/reviews",
        "/ui/reviews?agent=agent-3&offset=5",
        f"/ui/reviews?{_SAMPLE}",
        f"/ui/reviews?{_SAMPLE}&category=security",
    ),
    "/ui/tests": ("/ui/tests",),
    "/ui/calibration": (
        "/ui/calibration",
        "/ui/calibration?agent=agent-3",
        "/ui/calibration?window=90d",
        "/ui/calibration?as_of={middle}",
        "/ui/calibration?as_of={past}",
        "/ui/calibration?part=groups",
        "/ui/calibration?part=groups&group_by=project&offset=1",
        "/ui/calibration?part=time",
        "/ui/calibration?part=drift",
        "/ui/calibration?part=threshold",
        "/ui/calibration?part=recalibration",
        "/ui/calibration?part=missing",
        "/ui/calibration?part=drift&as_of={middle}",
        "/ui/calibration?part=time&agent=agent-3&category=security",
    ),
    "/ui/calibration/compare": ("/ui/calibration/compare", "/ui/calibration/compare?group_by=model"),
    "/ui/calibration/figures/{name}.svg": (
        "/ui/calibration/figures/curve.svg",
        "/ui/calibration/figures/murphy.svg?part=threshold",
    ),
    "/ui/models": ("/ui/models", "/ui/models?model=model-7-1", "/ui/models?as_of={past}"),
    "/ui/models/runs": ("/ui/models/runs", "/ui/models/runs?offset={deep_runs}", "/ui/models/runs?as_of={past}"),
    "/ui/models/runs/{run_id}": ("/ui/models/runs/run-000007", "/ui/models/runs/run-000007?order=desc"),
    "/ui/models/runs/{run_id}/attempts/{attempt}": ("/ui/models/runs/run-000007/attempts/3",),
    "/ui/models/adopted": ("/ui/models/adopted",),
    "/ui/models/probes": ("/ui/models/probes", "/ui/models/probes?model=model-7-1"),
    "/ui/models/probes/figures/scores.svg": ("/ui/models/probes/figures/scores.svg?probe=refactor-v1",),
    "/ui/evaluations": ("/ui/evaluations", "/ui/evaluations?offset={deep_evaluations}", "/ui/evaluations?as_of={past}"),
    "/ui/evaluations/compare": ("/ui/evaluations/compare", f"/ui/evaluations/compare?{_COMPARED}"),
    "/ui/evaluations/scoreboard": ("/ui/evaluations/scoreboard", "/ui/evaluations/scoreboard?versions=1000"),
    "/ui/evaluations/scoreboard/figures/means.svg": ("/ui/evaluations/scoreboard/figures/means.svg",),
    "/ui/evaluations/scenarios/{scenario_id}": (
        "/ui/evaluations/scenarios/scenario-7",
        "/ui/evaluations/scenarios/scenario-7?offset={deep_evaluations}",
    ),
    "/ui/evaluations/scenarios/{scenario_id}/figures/pass-rates.svg": (
        "/ui/evaluations/scenarios/scenario-7/figures/pass-rates.svg",
    ),
    "/ui/evaluations/judges": ("/ui/evaluations/judges", "/ui/evaluations/judges?as_of={past}"),
    "/ui/evaluations/suites": ("/ui/evaluations/suites", "/ui/evaluations/suites?as_of={past}"),
    "/ui/evaluations/suites/{version}": ("/ui/evaluations/suites/run-0",),
    "/ui/evaluations/suites/{version}/scenarios/{scenario_id}": ("/ui/evaluations/suites/run-0/scenarios/scenario-7",),
    "/ui/labels": ("/ui/labels",),
    "/ui/evaluations/{run}": ("/ui/evaluations/run-0", "/ui/evaluations/{last_evaluation}"),
    "/ui/evaluations/{run}/scenarios/{scenario_id}": ("/ui/evaluations/run-0/scenarios/scenario-7",),
    "/ui/log": (
        "/ui/log",
        "/ui/log?before={middle}",
        "/ui/log?type=decision.reviewed.v1",
        "/ui/log?subject=decision%2F00000000",
        "/ui/log?source=agent-3&before={middle}",
        "/ui/log?source=nobody",
        "/ui/log?since=2025-06-01&until=2025-06-02",
        f"/ui/log?correlationid={CORRELATION_ID}&before={{middle}}",
    ),
    "/ui/log/related": (
        f"/ui/log/related?correlationid={CORRELATION_ID}",
        f"/ui/log/related?correlationid={CORRELATION_ID}&after={{related}}",
    ),
    "/ui/log/related/figures/causes.svg": (
        f"/ui/log/related/figures/causes.svg?correlationid={CORRELATION_ID}&after={{related}}",
    ),
    "/ui/log/{position}": ("/ui/log/1", "/ui/log/{middle}"),
    "/ui/proof": ("/ui/proof", "/ui/proof?position={middle}"),
    "/ui/operate": ("/ui/operate",),
    "/ui/programs": ("/ui/programs",),
    "/ui/sign-in": ("/ui/sign-in",),
    "/ui/assets/{name}": (asset_address("pages.css"), asset_address("pages.js")),
    "/ui/{rest:path}": ("/ui/nowhere",),
}
"""Addresses by the path of the page. Names in braces are positions and ids of the ledger; PAST is another each time."""


def addresses(places: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    """Yield the path of each page with each of its addresses. Errors: SystemExit, for a page without an address."""
    paths = [row.path for row in PAGES if row.method == "GET"]
    if missing := [path for path in paths if not ADDRESSES.get(path)]:
        raise SystemExit(f"No address of {', '.join(missing)} is measured. Add one to {__name__}.ADDRESSES.")
    for path in paths:
        for address in ADDRESSES[path]:
            yield path, address.format_map({"past": PAST, **places})
