"""Every operation of the HTTP interface."""

from collections.abc import Sequence
from functools import cache
from typing import Any

import msgspec

from api.http.compressed_document import CompressedDocument, compress_document
from api.http.openapi.document import make_document
from api.http.operation import Operation
from api.http.routes import (
    calibration,
    checkpoints,
    cstp,
    decisions,
    discovery,
    evaluations,
    events,
    evidence,
    export,
    health,
    home,
    mcp,
    merkle_tree,
    models,
    projections,
    related,
    runs,
)

OPERATIONS: Sequence[Operation] = (
    events.post_events,
    health.get_healthz,
    cstp.post_cstp,
    mcp.post_mcp,
    calibration.get_calibration,
    events.get_events,
    events.get_event,
    events.get_stream,
    decisions.get_decisions,
    decisions.get_decision,
    decisions.post_decision,
    decisions.post_review,
    decisions.get_review_sample,
    decisions.post_retraction,
    calibration.get_advice,
    cstp.get_health,
    cstp.get_agent_card,
    discovery.post_discovery,
    discovery.get_prompt,
    discovery.post_response,
    discovery.post_signal,
    discovery.get_signals,
    discovery.post_finish,
    runs.get_runs,
    runs.get_run,
    related.get_related,
    models.get_inventory,
    models.get_probes,
    evaluations.get_scoreboard,
    evaluations.get_evaluations,
    evaluations.get_comparison,
    evaluations.get_gate,
    evaluations.get_evaluation,
    evidence.put_evidence,
    evidence.list_evidence,
    evidence.get_evidence,
    evidence.delete_evidence,
    checkpoints.get_checkpoint,
    checkpoints.get_witnessed,
    checkpoints.get_receipt,
    merkle_tree.get_entries,
    merkle_tree.get_tile,
    merkle_tree.get_inclusion,
    merkle_tree.get_consistency,
    export.get_export,
    projections.get_projections,
    projections.get_projection,
    home.get_home,
    health.get_readyz,
    health.get_status,
    health.get_metrics,
    health.get_openapi,
)
"""Starlette uses the first route that matches. Therefore the busiest routes are first, and a fixed path is before one
with a parameter in the same position: `/evaluations/{run}` also matches `/evaluations/compare`, and would look for a
run named `compare`."""


@cache
def openapi_document() -> dict[str, Any]:
    """Return the OpenAPI document of every operation."""
    return make_document(OPERATIONS)


@cache
def compressed_openapi() -> CompressedDocument:
    """Return the OpenAPI document as JSON."""
    return compress_document(msgspec.json.encode(openapi_document()))
