"""Which tests cannot have an outcome yet: what was read does not cover their windows, whatever happened in them.

That is known for a tenth of the work of a rule. A server with many open tests looks at the others only.
"""

from projections.resolve.evidence import Evidence
from projections.resolve.states import StatedTest


def may_be_final(test: StatedTest, evidence: Evidence) -> bool:
    """Return False only if the rule of a test finds no outcome by now."""
    match test.rule:
        case "git.kept" | "git.lines_alive" if test.start_s is None:
            subject = test.subject
            changes = evidence.naming(test.decision_id) if subject is None else evidence.changes(subject)
            return any(one.repository.through_s >= one.change.landed_s + test.window_s for one in changes)
        case "forge.merged" if test.start_s is None:
            requests = evidence.requests(test.subject or "")
            return any(one.repository.requests_through_s >= one.request.created_s + test.window_s for one in requests)
        case "junit.passed" | "http.status" | "alert.silent":
            return evidence.now_s >= test.due_s
        case "no_event":
            return evidence.through(test.subject or "") >= test.due_s
    return True
