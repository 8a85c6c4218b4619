"""The call of a tool: check its arguments and its caller, answer as of one position, shorten the answer."""

import base64
import hashlib
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import msgspec
from msgspec import inspect, structs

from api.mcp.refusal import Refusal, refusal_of_error, refusal_of_params
from api.mcp.text_arguments import convert_arguments
from api.mcp.tool import Answer, Tool, ToolCall
from api.principal import Principal
from api.service.agent_calls.decision_json import without_defaults
from api.service.agent_calls.tracked_calls import deliberates, track_answered
from api.service.ledger import LedgerService
from api.service.server_log import log
from api.text_format import to_json
from events.agent_name import is_valid_agent
from events.allowed_values import members_of
from events.envelope import ANONYMOUS, source_of, timestamp
from events.errors import TallystickError
from events.json_check import DEPTH_MAX, TooDeep, count_keys
from ledger.transparency.signed_note import encode_base64
from projections.engine import Progress

_DIGEST_BYTES = 6
_PAGE_PARAMETERS = frozenset({"cursor", "limit", "as_of"})

ANSWER_BYTES = 2_000

_STEPS = ((400, 10), (200, 5), (100, 3), (80, 2), (80, 1), (40, 1))
"""Characters of a text and items of a list, tried in this order until the answer fits."""

TRIES = 3
"""How often an answer is computed again because events were appended between two of its views."""

_BASIS_BYTES = 260
"""What an answer may need for its position, root and cursor, and for the input that its call became."""

_OTHER_NAMES = {
    "decision_id": ("id", "node_id"), "id": ("node_id",), "node_id": ("id",), "agent": ("agent_id",),
    "agent_id": ("agent",), "session_id": ("run_id",),
}  # fmt: skip
"""What an argument is another name of, if the tool has no parameter of its name. But where `filters` select an agent
and `agent_id` is the caller, `agent` could mean both, and is refused."""

_PAST_OR_LATER_PAGE = ("as_of", "cursor")
"""Parameters of a call that is not tracked: it reads the past, or goes on with a list."""


class CursorPlace(NamedTuple):
    """The position that all pages of a list rest on, and the offset of one page."""

    position: int
    offset: int


def encode_cursor(place: CursorPlace, tool: str, arguments: Mapping[str, Any]) -> str:
    """Return the cursor of a place in the list of a call."""
    text = f"{place.position}.{place.offset}.{tool}.{_digest(arguments)}"
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def decode_cursor(cursor: str, tool: str, arguments: Mapping[str, Any]) -> CursorPlace:
    """Return the place of a cursor. Errors: Refusal, for one of another tool or list, or another text."""
    try:
        text = base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)).decode()
        position, offset, made_by, digest = text.split(".")
        place = CursorPlace(int(position), int(offset))
    except ValueError:
        raise Refusal(
            "cursor: it is not one that this tool returned.", "cursor", "Leave cursor out to begin with the first page."
        ) from None
    if made_by != tool:
        detail = f"cursor: it is one of {made_by}, and this tool is {tool}."
        raise Refusal(detail, "cursor", "Leave cursor out to begin with the first page.")
    if digest != _digest(arguments):
        raise Refusal(
            "cursor: it belongs to a call with other arguments.",
            "cursor",
            "Leave cursor out, or repeat the arguments of the call that returned it.",
        )
    return place


def _digest(arguments: Mapping[str, Any]) -> str:
    selected = {name: value for name, value in arguments.items() if name not in _PAGE_PARAMETERS and value is not None}
    return hashlib.sha256(msgspec.json.encode(selected, order="deterministic")).hexdigest()[: 2 * _DIGEST_BYTES]


Work = Callable[[], Awaitable[Answer]]


async def _run_now(work: Work) -> Answer:
    return await work()


@dataclass(frozen=True)
class Access:
    """Who calls, on which ledger; how a heavy view is computed, and who is shown how far the views are folded."""

    ledger: LedgerService
    caller: Principal
    run_view: Callable[[Work], Awaitable[Answer]] = _run_now
    report: Progress | None = None


async def call_tool(tool: Tool, access: Access, arguments: Mapping[str, Any]) -> Answer:
    """Return the answer of a tool. Errors: Refusal."""
    arguments = _with_own_names(tool.params, arguments)
    try:
        count_keys(arguments, DEPTH_MAX)
    except TooDeep:
        raise Refusal(f"The arguments nest more than {DEPTH_MAX} deep.", None, "Write them flatter.") from None
    try:
        params, arguments = convert_arguments(arguments, tool.params)
    except msgspec.ValidationError as error:
        raise refusal_of_params(error, tool.params) from None
    try:
        caller = _speaker(access.caller, getattr(params, "agent_id", None))
        caller.require(tool.scope)
        if tool.writes:
            call = ToolCall(access.ledger, caller)
            answer = _plain(await tool.answer(call, params))
            answer |= await _tracked(tool, call, arguments, answer)
            return _shortened(tool, params, answer, ANSWER_BYTES)
        await _catch_up(access)
        work = partial(_read, tool, ToolCall(access.ledger, caller), params, arguments)
        is_heavy = tool.heavy or getattr(params, "as_of", None) is not None
        return await (access.run_view(work) if is_heavy else work())
    except TallystickError as error:
        raise refusal_of_error(error, tool.params, arguments) from error
    except Refusal:
        raise
    except Exception:
        log.exception("fault", tool=tool.name)
        raise


async def _catch_up(access: Access) -> None:
    """Fold every committed event into all views, since a session asks several; the caller is shown how far that is."""
    from projections.registry import PROJECTIONS  # noqa: PLC0415 - all views; a session starts without them

    access.ledger.engine.add(PROJECTIONS)
    await access.ledger.engine.catch_up(access.report)


def _with_own_names(params: type[msgspec.Struct], arguments: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the arguments, and those in `filters`, under the tool's names. Errors: Refusal, for two names of one."""
    known = {field.encode_name: field.type for field in structs.fields(params)}
    renamed = dict(arguments)
    for other in [name for name in renamed if name not in known]:
        name = next((name for name in _OTHER_NAMES.get(other, ()) if name in known), None)
        if name is None or (name == "agent_id" and "filters" in known):
            continue
        value = renamed.pop(other)
        if renamed.setdefault(name, value) != value:
            raise Refusal(f"{other}: it is another name of {name}, which is different.", other, f"Leave {other} out.")
    if isinstance(filters := renamed.get("filters"), dict) and "filters" in known:
        shapes = (getattr(member, "cls", None) for member in members_of(inspect.type_info(known["filters"])))
        renamed["filters"] = _with_own_names(next(filter(None, shapes)), filters)
    return renamed


async def _tracked(tool: Tool, call: ToolCall, arguments: Mapping[str, Any], answer: Answer) -> Answer:
    """Track an answered call for automatic deliberation, if the agent asked for that; return what to add to it."""
    if tool.tracked_as is None or any(arguments.get(name) is not None for name in _PAST_OR_LATER_PAGE):
        return {}
    if not deliberates(call.caller, arguments.get("deliberation")):
        return {}
    given = {name: value for name, value in arguments.items() if name != "agent_id"}  # the caller speaks for it
    stated = {"query": "", "action": given, **given}
    return await track_answered(call.ledger, call.caller, tool.tracked_as, stated, {**stated, **answer})


def _speaker(caller: Principal, agent_id: str | None) -> Principal:
    """Return the author: the agent of the token, or in a ledger without tokens the agent that is named."""
    if agent_id is None or agent_id == caller.agent:
        return caller
    if caller.token_id is not None or caller.agent != ANONYMOUS:
        raise Refusal(
            f"agent_id: the token of this call is of {caller.agent}, and speaks for no other agent.",
            "agent_id",
            f'Leave agent_id out, or send {{"agent_id": "{caller.agent}"}}.',
        )
    if not is_valid_agent(agent_id):
        raise Refusal(
            f"agent_id: {agent_id!r} is not the name of an agent.",
            "agent_id",
            'Use 1..64 letters, digits and ._:@/+-, such as {"agent_id": "scout"}.',
        )
    return structs.replace(caller, agent=agent_id, source=source_of(agent_id))


async def _read(tool: Tool, call: ToolCall, params: msgspec.Struct, arguments: Mapping[str, Any]) -> Answer:
    """Return an answer that rests on one position, which it ends with."""
    cursor: str | None = getattr(params, "cursor", None)
    as_of: int | str | None = getattr(params, "as_of", None)
    place = None if cursor is None else decode_cursor(cursor, tool.name, arguments)
    position = place.position if place is not None else await call.ledger.resolve(None if as_of is None else str(as_of))
    limit: int | None = getattr(params, "limit", None)
    answer, position = await _answer_at(tool, call, params, position, 0 if place is None else place.offset, limit)
    following = answer.pop("next", None)
    size = ANSWER_BYTES - _BASIS_BYTES
    if tool.rows is None:
        answer = _shortened(tool, params, answer, size)
    else:
        rows = len(answer[tool.rows])
        if limit is None:
            answer = fit_rows(answer, tool.rows, size, tool.beside_rows)
        begun = 0 if place is None else place.offset
        kept = len(answer[tool.rows])
        following = begun + kept if kept < rows else following
        place = None if following is None else CursorPlace(position, following)
        answer["next"] = place and encode_cursor(place, tool.name, arguments)
    tracked = await _tracked(tool, call, arguments, answer)
    return {**answer, **tracked, "as_of": await _basis(call.ledger, position)}


async def _answer_at(
    tool: Tool, call: ToolCall, params: msgspec.Struct, position: int | None, offset: int, limit: int | None
) -> tuple[Answer, int]:
    """Compute an answer until all its views were read at one position; return it with that position."""
    used: set[int] = set()
    for _ in range(TRIES):
        view = call.ledger.now() if position is None else await call.ledger.past(position)
        answer = _plain(await tool.answer(ToolCall(view, call.caller, offset, limit), params))
        used = view.used or {await view.head_position()}
        if len(used) == 1 or position is not None:
            return answer, min(used) if position is None else position
    return await _answer_at(tool, call, params, max(used), offset, limit)


async def _basis(ledger: LedgerService, position: int) -> Answer:
    time = (await ledger.dated(position)).time
    root = encode_base64(await ledger.proving.tree.root(position))
    return {"position": position, "time": None if time is None else timestamp(time), "root": root}


def _plain(answer: Answer) -> Answer:
    """Return an answer as a client decodes it: objects, lists, texts and numbers, without CSTP's defaults."""
    plain: Answer = without_defaults(msgspec.to_builtins(answer))
    return plain


def _shortened(tool: Tool, params: msgspec.Struct, answer: Answer, size: int) -> Answer:
    chose = getattr(params, "detail", None) not in (None, "short")
    return answer if tool.whole or chose else fit(answer, size)


def fit(answer: dict[str, Any], size: int) -> dict[str, Any]:
    """Return an answer of at most a size: long texts and lists are cut, and `cut` names the fields."""
    if len(to_json(answer)) <= size:
        return answer
    shortened = answer
    for chars, items in _STEPS:
        shortened = {name: _cut(value, chars, items) for name, value in answer.items()}
        shortened["cut"] = list(_differences(answer, shortened))
        if len(to_json(shortened)) <= size:
            break
    return shortened


def fit_rows(
    answer: dict[str, Any], rows: str, size: int, beside: Callable[[dict[str, Any]], dict[str, Any]] | None = None
) -> dict[str, Any]:
    """Return an answer whose list has as many of its first rows as fit into a size, and at least one.

    `beside` adapts the rest of an answer to the rows that it keeps.
    """
    shortened = answer
    while len(shortened[rows]) > 1 and len(to_json(shortened)) > size:
        shortened = {**shortened, rows: shortened[rows][:-1]}
        shortened = shortened if beside is None else beside(shortened)
    return fit(shortened, size)


def _differences(whole: dict[str, Any], shortened: dict[str, Any]) -> Iterator[str]:
    """Yield the names of the fields that were cut; those inside an object with its name before them."""
    for name, value in whole.items():
        if shortened[name] != value:
            inner = [f"{name}.{it}" for it in _differences(value, shortened[name])] if isinstance(value, dict) else []
            yield from inner or [name]


def _cut(value: Any, chars: int, items: int) -> Any:  # noqa: ANN401 - any JSON
    if isinstance(value, str):
        return value if len(value) <= chars else f"{value[: chars - 1]}…"
    if isinstance(value, list):
        return [_cut(item, chars, items) for item in value[:items]]
    if isinstance(value, dict):
        return {name: _cut(inner, chars, items) for name, inner in value.items()}
    return value
