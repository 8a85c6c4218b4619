"""Set and retire guardrails, and check actions, in a ledger file or through a server."""

from urllib.parse import quote

from api.client.remote_store import RemoteStore
from api.service.decision_writer import act_as
from api.service.guardrails.action_check import CheckAnswer, PlannedAction, check_action
from api.service.guardrails.rule_set import RetiredRule, SetAnswer, retire_rule, set_rules
from api.service.store import EventStore, LocalStore
from events.errors import InvalidEvent


async def set_in_store(store: EventStore, body: bytes) -> SetAnswer:
    """Set the rules of a file. Errors: as `set_rules`."""
    if isinstance(store, RemoteStore):
        return await store.post("/guardrails", {"yaml": _text(body)}, SetAnswer)
    local = _local(store)
    return await set_rules(local.ledger, local.caller, body)


async def retire_in_store(store: EventStore, guardrail_id: str, reason: str | None) -> RetiredRule:
    """Retire a rule. Errors: as `retire_rule`."""
    if isinstance(store, RemoteStore):
        parameters = {} if reason is None else {"reason": reason}
        return await store.delete(f"/guardrails/{quote(guardrail_id, safe='')}", parameters, RetiredRule)
    local = _local(store)
    return await retire_rule(local.ledger, local.caller, guardrail_id, reason)


async def check_in_store(
    store: EventStore, action: PlannedAction, event_id: str | None, source: str | None
) -> CheckAnswer:
    """Evaluate an action, as the agent of a source. Errors: as `check_action`."""
    if isinstance(store, RemoteStore):
        body = {"action": action, "id": event_id, "source": source}
        return await store.post("/guardrails/check", body, CheckAnswer)
    local = _local(store)
    return await check_action(local.ledger, act_as(local.caller, source), action, event_id=event_id)


def _local(store: EventStore) -> LocalStore:
    assert isinstance(store, LocalStore), "a store that is open for writing"
    return store


def _text(body: bytes) -> str:
    """Return the text of a rule file. Errors: InvalidEvent, if it is not UTF-8."""
    try:
        return body.decode()
    except UnicodeDecodeError as error:
        detail = f"The rule file is not UTF-8: byte {error.start + 1} is 0x{body[error.start]:02x}."
        raise InvalidEvent(detail, "Save it as UTF-8. No rule was set.", field="yaml") from None
