"""Every route of the web pages. The descriptions of the HTTP interface list none of them: pages are for people."""

from collections.abc import Sequence

from api.http.lazy_route import Row

PACKAGE = "api.http.pages"


def _get(path: str, function: str) -> Row:
    return Row("GET", path, function, PACKAGE)


def _post(path: str, function: str) -> Row:
    return Row("POST", path, function, PACKAGE)


PAGES: Sequence[Row] = (
    _get("/ui", "overview:show_overview"),
    # decisions and reviews
    _get("/ui/decisions", "decisions.decision_list:show_decisions"),
    _get("/ui/decisions/{decision_id}", "decisions.decision_page:show_decision"),
    _get("/ui/decisions/{decision_id}/figures/links.svg", "decisions.link_rows:get_links_drawing"),
    _post("/ui/decisions/{decision_id}/review", "decisions.decision_page:record_review"),
    _get("/ui/reviews", "decisions.review_queue:show_queue"),
    _post("/ui/reviews", "decisions.review_queue:record_next_review"),
    _get("/ui/tests", "decisions.tested_decisions:show_tests"),
    # calibration
    _get("/ui/calibration", "calibration.calibration_page:show_calibration"),
    _get("/ui/calibration/compare", "calibration.calibration_page:show_comparison"),
    _get("/ui/calibration/figures/{name}.svg", "calibration.figure_files:get_calibration_figure"),
    # models
    _get("/ui/models", "models.inventory:show_models"),
    _get("/ui/models/runs", "models.run_list:show_runs"),
    _get("/ui/models/runs/{run_id}", "models.one_run:show_run"),
    _get("/ui/models/runs/{run_id}/attempts/{attempt}", "models.one_run:show_attempt"),
    _get("/ui/models/adopted", "models.adopted:show_adopted"),
    _get("/ui/models/probes", "models.probes:show_probes"),
    _get("/ui/models/probes/figures/scores.svg", "models.probes:get_scores_drawing"),
    # evaluations
    _get("/ui/evaluations", "evaluations.run_list:show_runs"),
    _get("/ui/evaluations/compare", "evaluations.comparison:show_comparison"),
    _get("/ui/evaluations/scoreboard", "evaluations.scoreboard:show_board"),
    _get("/ui/evaluations/scoreboard/figures/means.svg", "evaluations.scoreboard:get_means"),
    _get("/ui/evaluations/scenarios/{scenario_id}", "evaluations.scenario:show_scenario"),
    _get("/ui/evaluations/scenarios/{scenario_id}/figures/pass-rates.svg", "evaluations.scenario:get_pass_rates"),
    _get("/ui/evaluations/judges", "evaluations.judges:show_judges"),
    _get("/ui/evaluations/suites", "evaluations.suite_pages:show_suites"),
    _get("/ui/evaluations/suites/{version}", "evaluations.suite_pages:show_version"),
    _get("/ui/evaluations/suites/{version}/scenarios/{scenario_id}", "evaluations.suite_pages:show_scenario_files"),
    _get("/ui/labels", "evaluations.label_queue:show_label_queue"),
    _post("/ui/labels", "evaluations.label_queue:record_label"),
    _get("/ui/evaluations/{run}", "evaluations.one_run:show_run"),
    _get("/ui/evaluations/{run}/scenarios/{scenario_id}", "evaluations.run_scenario:show_run_scenario"),
    # log and proof
    _get("/ui/log", "log.event_list:show_log"),
    _get("/ui/log/related", "log.related:show_related"),
    _get("/ui/log/related/figures/causes.svg", "log.related:get_causes"),
    _get("/ui/log/{position}", "log.event:show_event"),
    _get("/ui/proof", "proof.checkpoint:show_proof"),
    # the server
    _get("/ui/operate", "server.operate:show_operate"),
    _get("/ui/programs", "programs:show_programs"),
    _get("/ui/sign-in", "sign_in:show_sign_in"),
    _post("/ui/sign-in", "sign_in:sign_in"),
    _post("/ui/sign-out", "sign_in:sign_out"),
    _get("/ui/assets/{name}", "assets:get_asset"),
    _get("/ui/{rest:path}", "page:show_unknown_page"),
)
"""Starlette uses the first route that matches, so a fixed path is before one with a parameter in the same position."""
