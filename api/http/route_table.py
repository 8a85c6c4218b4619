"""Every route of the HTTP interface, and the operations that the routes' modules declare."""

from collections.abc import Sequence
from functools import cache

from api.http.lazy_route import Row
from api.http.operation import HttpOperation

OPERATIONS = "api.service"
"""The package of the operations that a route is made from."""

ROWS: Sequence[Row] = (
    Row("POST", "/events", "events:post_events"),
    Row("GET", "/healthz", "health:get_healthz"),
    Row("POST", "/cstp", "cstp:post_cstp"),
    Row("POST", "/mcp", "mcp:post_mcp"),
    Row("GET", "/calibration", "calibration:get_calibration", OPERATIONS),
    Row("GET", "/events", "events:get_events"),
    Row("GET", "/events/{position}", "events:get_event"),
    Row("GET", "/streams/{subject:path}", "events:get_stream"),
    Row("GET", "/decisions", "decision_search:get_decisions", OPERATIONS),
    Row("GET", "/decisions/{decision_id}", "decisions:get_decision", OPERATIONS),
    Row("POST", "/decisions", "decisions:post_decision"),
    Row("POST", "/reviews", "decisions:post_review"),
    Row("GET", "/reviews/sample", "review_sample:get_review_sample", OPERATIONS),
    Row("POST", "/retractions", "decisions:post_retraction"),
    Row("POST", "/links", "links:post_link"),
    Row("GET", "/decisions/{decision_id}/neighbors", "decision_links:get_neighbors", OPERATIONS),
    Row("GET", "/decisions/{decision_id}/graph", "decision_links:get_graph", OPERATIONS),
    Row("GET", "/calibration/advice", "advice:get_advice", OPERATIONS),
    Row("GET", "/health", "cstp:get_health"),
    Row("GET", "/.well-known/agent.json", "cstp:get_agent_card"),
    Row("POST", "/discovery", "discovery:post_discovery"),
    Row("GET", "/discovery/{run}/prompt", "discovery:get_prompt"),
    Row("POST", "/discovery/{run}/responses", "discovery:post_response"),
    Row("POST", "/discovery/{run}/signals", "discovery:post_signal"),
    Row("GET", "/discovery/{run}/signals", "discovery:get_signals"),
    Row("GET", "/discovery/{run}/golden", "discovery:get_golden"),
    Row("POST", "/discovery/{run}/finish", "discovery:post_finish"),
    Row("GET", "/runs", "discovery.queries:get_runs", OPERATIONS),
    Row("GET", "/runs/{run_id}", "discovery.queries:get_run", OPERATIONS),
    Row("GET", "/changes", "changes:get_changes", OPERATIONS),
    Row("GET", "/sessions", "sessions:get_sessions", OPERATIONS),
    Row("GET", "/tests", "decision_tests:get_tests", OPERATIONS),
    Row("GET", "/tests/audit", "rule_audit:get_rule_audit", OPERATIONS),
    Row("POST", "/tests/resolve", "decision_tests:post_resolve"),
    Row("GET", "/related", "related_events:get_related", OPERATIONS),
    Row("GET", "/inventory", "model_queries:get_inventory", OPERATIONS),
    Row("GET", "/probes", "model_queries:get_probes", OPERATIONS),
    Row("GET", "/wrappers", "wrappers:get_wrappers", OPERATIONS),
    Row("GET", "/profiles", "model_profiles:get_profiles", OPERATIONS),
    Row("GET", "/scoreboard", "evaluation.queries:get_scoreboard", OPERATIONS),
    Row("GET", "/evaluations", "evaluation.queries:get_evaluations", OPERATIONS),
    Row("GET", "/evaluations/compare", "evaluation.queries:get_comparison", OPERATIONS),
    Row("GET", "/evaluations/{run}/gate", "evaluation.gate:get_gate", OPERATIONS),
    Row("GET", "/evaluations/{run}", "evaluation.queries:get_evaluation", OPERATIONS),
    Row("GET", "/scenarios/{scenario_id}", "evaluation.scenario_queries:get_scenario", OPERATIONS),
    Row("GET", "/suites", "evaluation.suite_queries:get_suite_versions", OPERATIONS),
    Row("GET", "/suites/compare", "evaluation.suite_comparison:get_suite_comparison", OPERATIONS),
    Row("GET", "/suites/{version}/scenarios/{scenario_id}", "evaluation.suite_queries:get_kept_scenario", OPERATIONS),
    Row("GET", "/suites/{version}/file", "suites:get_suite_file"),
    Row("GET", "/suites/{version}", "evaluation.suite_queries:get_suite_version", OPERATIONS),
    Row("GET", "/judges", "evaluation.judge_queries:get_judges", OPERATIONS),
    Row("GET", "/labels/queue", "evaluation.judge_queries:get_label_queue", OPERATIONS),
    Row("POST", "/labels", "judges:post_label"),
    Row("POST", "/alertmanager", "alertmanager:post_alertmanager"),
    Row("POST", "/observe/alertmanager", "observed:post_observed_alerts"),
    Row("POST", "/observe/forge/{name}", "observed:post_forge_webhook"),
    Row("POST", "/v1/logs", "otlp:post_logs"),
    Row("POST", "/v1/traces", "otlp:post_traces"),
    Row("GET", "/guardrails", "guardrails.rule_set:get_guardrails", OPERATIONS),
    Row("POST", "/guardrails", "guardrails:post_guardrails"),
    Row("POST", "/guardrails/check", "guardrails:post_guardrail_check"),
    Row("GET", "/guardrails/{guardrail_id}", "guardrails.rule_set:get_guardrail", OPERATIONS),
    Row("DELETE", "/guardrails/{guardrail_id}", "guardrails:delete_guardrail"),
    Row("PUT", "/evidence", "evidence:put_evidence"),
    Row("GET", "/evidence", "evidence_list:list_evidence", OPERATIONS),
    Row("GET", "/evidence/{digest}", "evidence:get_evidence"),
    Row("DELETE", "/evidence/{digest}", "evidence:delete_evidence"),
    Row("GET", "/checkpoint", "checkpoints:get_checkpoint"),
    Row("GET", "/checkpoint/witnessed", "checkpoints:get_witnessed"),
    Row("GET", "/events/{position}/receipt", "checkpoints:get_receipt"),
    Row("GET", "/tile/entries/{tile:path}", "tiles:get_entries"),
    Row("GET", "/tile/{level}/{tile:path}", "tiles:get_tile"),
    Row("GET", "/proofs/inclusion", "tiles:get_inclusion"),
    Row("GET", "/proofs/consistency", "tiles:get_consistency"),
    Row("GET", "/export", "export:get_export"),
    Row("GET", "/projections", "projections:get_projections", OPERATIONS),
    Row("GET", "/projections/{name}", "projections:get_projection", OPERATIONS),
    Row("GET", "/breakers", "breakers:get_breakers", OPERATIONS),
    Row("GET", "/", "home:get_home"),
    Row("GET", "/readyz", "health:get_readyz"),
    Row("GET", "/status", "status:get_status", OPERATIONS),
    Row("GET", "/metrics", "health:get_metrics"),
    Row("GET", "/openapi.json", "health:get_openapi"),
)
"""Starlette uses the first route that matches. Therefore the busiest routes are first, and a fixed path is before one
with a parameter in the same position: `/evaluations/{run}` also matches `/evaluations/compare`, and would look for a
run named `compare`."""

WITH_SLASH: Sequence[Row] = tuple(
    row._replace(path=f"{row.path}/") for row in ROWS if row.function in {"cstp:post_cstp", "mcp:post_mcp"}
)
"""The routes of JSON-RPC again with a slash at the end of the path, which some clients call."""


@cache
def operations() -> Sequence[HttpOperation]:
    """Return every operation. This imports the module of every route."""
    return tuple(row.operation() for row in ROWS)
