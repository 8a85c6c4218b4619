"""Who may append events of guardrails: an owner sets and retires rules, and only the ledger records evaluations."""

from collections.abc import Iterator
from contextlib import contextmanager

from api.principal import Principal
from events.envelope import Draft
from events.errors import InvalidEvent
from events.guardrail import GuardrailEvaluated, GuardrailRetired, GuardrailSet

GUARDRAIL_EVENTS = frozenset({GuardrailSet, GuardrailRetired, GuardrailEvaluated})


class GuardrailPermission:
    """Checks the drafts of guardrail events; knows the evaluations that this process made."""

    def __init__(self) -> None:
        self.ever_set: bool | None = None
        """Whether a rule was ever set, or perhaps is about to be; None: not known yet."""
        self._evaluations: set[int] = set()

    def note(self, *, found: bool) -> None:
        """Note whether the log has a rule. One that was set meanwhile stays known."""
        self.ever_set = self.ever_set or found

    @contextmanager
    def accept(self, draft: Draft) -> Iterator[None]:
        """Accept a draft of an evaluation while the context is open."""
        self._evaluations.add(id(draft))
        try:
            yield
        finally:
            self._evaluations.discard(id(draft))

    def check(self, draft: Draft, caller: Principal, index: int) -> None:
        """Refuse a rule of a caller without the scope `admin`, and an evaluation that this process did not make.

        A caller with the scope `import` may append evaluations of another ledger.
        Errors: Forbidden; InvalidEvent.
        """
        if type(draft.data) is not GuardrailEvaluated:
            caller.require("admin")
            if type(draft.data) is GuardrailSet:
                self.ever_set = True
        elif id(draft) not in self._evaluations and caller.scopes.isdisjoint({"import", "admin"}):
            raise InvalidEvent(
                f"{draft.name} is appended by the ledger, as it evaluates an action.",
                "POST /guardrails/check, cstp.checkGuardrails or tallystick guardrail check.",
                field="type",
                index=index,
            )
