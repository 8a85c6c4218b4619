"""The model registry: register models, give them aliases, state which names are hosts', build such commands."""

import re
import shlex
from collections.abc import Callable

import msgspec

from api.service.store import EventStore
from api.service.stored_model_names import load_model_names
from api.text_format import one_line
from events.agent_name import is_valid_agent
from events.envelope import source_of
from events.host_names import host_key, is_wrapper
from events.limits import LABEL_CHARS_MAX, STREAM_ID_CHARS_MAX
from events.model import ModelIdentity
from events.model_names import canonical_name, is_unresolved
from events.payload import STREAM_ID_PATTERN, STREAM_ID_SHAPE
from events.registry import VOCABULARY
from ledger.errors import InvalidQuery, LifecycleViolation
from projections.discovery.model_names import ModelNames
from tallystick.shapes.appended import AppendResult

_key = re.compile(STREAM_ID_PATTERN)


async def register(
    target: EventStore,
    key: str,
    *,
    provider: str | None = None,
    name: str | None = None,
    version: str | None = None,
    note: str | None = None,
    agent: str | None = None,
) -> AppendResult:
    """Register a model. Errors: InvalidQuery, LifecycleViolation if it exists, and those of `EventStore.append`."""
    await _check_new_key(target, key)
    type_ = "model.registered.v1" if version is None else "model.registered.v2"
    try:
        return await _append(target, type_, agent, key=key, provider=provider, name=name, version=version, note=note)
    except LifecycleViolation:
        raise LifecycleViolation(
            f"model {key} is registered already.",
            f"Give it another name with: {_command('alias', key, 'NAME')}",
            subject=f"model/{key}",
            index=0,
        ) from None


async def alias(target: EventStore, key: str, name: str, *, agent: str | None = None) -> AppendResult:
    """Give a registered model another name. Errors: InvalidQuery, LifecycleViolation if it is not registered."""
    _check_shape(key)
    if not name.strip():
        raise InvalidQuery("alias", "is empty.", "Write the name as answers claim it.")
    try:
        return await _append(target, "model.aliased.v1", agent, key=key, alias=name)
    except LifecycleViolation:
        raise LifecycleViolation(
            f"model {key} is not registered.",
            f"Register it first: {_command('register', key)}",
            subject=f"model/{key}",
            index=0,
        ) from None


def registration_command(claimed: ModelIdentity, is_wrapper: Callable[[str], bool] = is_wrapper) -> str | None:
    """Return the command that registers a claimed model; None for the name of a wrapper or of no model."""
    if is_wrapper(claimed.model_name) or is_unresolved(claimed.model_name):
        return None
    words = [canonical_name(claimed.model_name)]
    if provider := one_line(claimed.provider or "").strip("- "):
        words += ["--provider", provider]
    words += ["--name", one_line(claimed.model_name).strip()]
    if version := one_line(claimed.version or "").strip("- "):
        words += ["--version", version]
    return _command("register", *words)


def find_registration(claimed: ModelIdentity, names: ModelNames) -> str | None:
    """Return the command that registers a claimed model; None if it is known, or as `registration_command`."""
    return None if names.known(claimed.model_name) else registration_command(claimed, names.is_wrapper)


async def add_wrapper(
    target: EventStore, name: str, *, note: str | None = None, agent: str | None = None
) -> AppendResult:
    """Declare that a name is a host's. Errors: InvalidQuery, LifecycleViolation if it is one already."""
    key = check_host_name(name)
    if (await load_model_names(target)).is_wrapper(name):
        raise _wrapper_error(key, f"{name!r} is a host's name already.")
    return await _append(target, "wrapper.declared.v1", agent, key=key, name=name.strip(), note=note)


async def remove_wrapper(
    target: EventStore, name: str, *, note: str | None = None, agent: str | None = None
) -> AppendResult:
    """State that a name is not a host's. Errors: InvalidQuery, LifecycleViolation if it is none."""
    key = check_host_name(name)
    if not (await load_model_names(target)).is_wrapper(name):
        raise _wrapper_error(key, f"{name!r} is not a host's name.")
    return await _append(target, "wrapper.withdrawn.v1", agent, key=key, note=note)


def check_host_name(name: str) -> str:
    """Return the key of a host's name. Errors: InvalidQuery."""
    key = host_key(name)
    if not key or len(name.strip()) > LABEL_CHARS_MAX:
        detail = f"a name has 1..{LABEL_CHARS_MAX} characters, and a letter of a..z or a digit."
        raise InvalidQuery("name", detail, "Write the name as answers claim it.")
    return key


def _wrapper_error(key: str, detail: str) -> LifecycleViolation:
    advice = f"See the names: {_command('wrapper', 'list')}"
    return LifecycleViolation(detail, advice, subject=f"wrapper/{key}", index=0)


async def _append(target: EventStore, type_: str, agent: str | None, **data: str | None) -> AppendResult:
    event: dict[str, object] = {"type": type_, "data": {name: text for name, text in data.items() if text is not None}}
    if agent is not None:
        if not is_valid_agent(agent):
            raise InvalidQuery("agent", f"{agent!r} is not an agent's name.", "Use 1..64 letters, digits and ._:@/+-.")
        event["source"] = source_of(agent)
    return await target.append([VOCABULARY.draft(msgspec.json.encode(event))])


async def _check_new_key(target: EventStore, key: str) -> None:
    """Check the key of a new model. Errors: InvalidQuery, for one that names no model or cannot name a stream."""
    if (await load_model_names(target)).is_wrapper(key):
        advice = f"If you know which model answers there: {_command('alias', 'KEY', key)}. "
        advice += f"If it is a model's name: {_command('wrapper', 'remove', key)}"
        raise InvalidQuery("key", f"{key!r} is a host's own name, not a model's.", advice)
    if is_unresolved(key):
        raise InvalidQuery("key", f"{key!r} names no model.", "Write the name that its dated names share.")
    _check_shape(key)


def _check_shape(key: str) -> None:
    if _key.fullmatch(key) is None or len(key) > STREAM_ID_CHARS_MAX:
        suggestion = canonical_name(key)
        advice = f"Write {suggestion}, which its other names come to, too." if suggestion else "Write its plain name."
        raise InvalidQuery("key", f"{key!r} is not {STREAM_ID_SHAPE}.", advice)


def _command(verb: str, *words: str) -> str:
    return shlex.join(["tallystick", "model", verb, *words])
