"""Fields of answers that clients of CSTP's MCP server read, beside those of its tables.

Its demo agent reads them. A figure that is not known is left out.
"""

from typing import Any

from api.mcp.tool import Answer

Row = dict[str, Any]


def with_guardrails(answer: Answer) -> Answer:
    """Return the answer of pre_action with `guardrails` and `similar_decisions`."""
    blocking = [row for row in answer["guardrailResults"] if row["severity"] == "block"]
    violations = [{name: row[name] for name in ("name", "message")} for row in blocking]
    return {
        **answer,
        "guardrails": {"allowed": answer["allowed"], "violations": violations},
        "similar_decisions": titles(answer["relevantDecisions"]),
    }


def titles(rows: list[Row]) -> list[Row]:
    """Return decisions with their ids and titles alone."""
    return [{"id": row["id"], "title": row["title"]} for row in rows]


def figures_of(coverage: Row, overall: Row | None) -> Answer:
    """Return the first figures of the calibration beside each other."""
    figures = {"total_decisions": coverage["total"], "reviewed_decisions": coverage["reviewed"]}
    if overall is None:
        return figures
    return {**figures, "accuracy": overall["accuracy"], "brier_score": overall["brierScore"]}


def profile_figures(profile: Row) -> Answer:
    """Return the figures of a profile as `calibration`, if decisions of the agent were reviewed."""
    if "brierScore" not in profile:
        return {}
    return {"calibration": {"accuracy": profile["overallAccuracy"], "brier_score": profile["brierScore"]}}


def with_description(action: Row) -> Row:
    """Return an open action with `description`: its decision in words, or why it is open."""
    return {**action, "description": action.get("title") or action["reason"]}


def with_reviewed(row: Row) -> Row:
    """Return a decision with `reviewed`, whether its outcome is known."""
    return {**row, "reviewed": row["status"] == "reviewed"}
