"""Whether a caller may append an event: the rule of its type (`events.life.Author`).

Only the log knows who owns a stream and who was its first author: ledger/admission.py checks these two.
"""

from api.principal import Forbidden, Principal
from events.discovery import DiscoverySignalled
from events.envelope import Draft
from events.errors import InvalidEvent
from events.life import Author
from events.registry import VOCABULARY
from ledger.errors import ServerOnly

_INSTEAD = {
    "evidence": "PUT /evidence or DELETE /evidence/{digest}; tallystick evidence put or erase.",
    "check": "POST /guardrails/check, cstp.checkGuardrails or tallystick guardrail check.",
}
"""For streams whose events the ledger makes: what a caller does instead."""

_REVIEWS = {"decision": "review decisions", "label": "label answers"}
"""For streams with reviews: what a caller may not do whose policy is to review none."""


def check_author(draft: Draft, caller: Principal, index: int) -> None:
    """Check that a caller may append an event. Errors: Forbidden, InvalidEvent, ServerOnly."""
    kind = VOCABULARY.event_types[draft.name]
    may_import = not caller.scopes.isdisjoint({"import", "admin"})
    if kind.by is Author.SERVER:
        raise ServerOnly(kind.name, kind.stream, index)
    if kind.by is Author.ADMIN:
        caller.require("admin")
    if not draft.by_ledger and (kind.by is Author.LEDGER or (kind.by is Author.IMPORTER and not may_import)):
        detail = f"{draft.name} is appended by the ledger, and not by itself."
        raise InvalidEvent(detail, _INSTEAD[kind.stream], field="type", index=index)
    if kind.by in (Author.FIRST, Author.REVIEWER) and caller.review == "none":
        detail = f"The token of {caller.agent} may not {_REVIEWS[kind.stream]}."
        raise Forbidden(detail, "Use a token of a reviewer: its policy is `review: none`.", written=False)
    if isinstance(draft.data, DiscoverySignalled) and draft.data.agent not in (None, caller.agent) and not may_import:
        detail = f"{caller.agent} cannot signal as {draft.data.agent}."
        raise Forbidden(detail, "Omit agent, or use a token with the scope 'import'.", written=False)
