"""Resolution of model names: find the model that a claimed name means, by registered aliases, then by rules.

What an owner says takes precedence over the rules of `events.model_names` and `events.host_names`: that a name is an
alias of a model, that it is a host's (a wrapper), or that it is not. A later event takes precedence over an earlier.
Names are resolved when a view is computed, so such an event also applies to attempts before it.
"""

from collections.abc import Mapping
from typing import Literal, NamedTuple

import msgspec

from events.host_names import host_key, is_wrapper
from events.model import ModelAliased, ModelRegistered, WrapperDeclared, WrapperWithdrawn
from events.model_names import (
    canonical_name,
    claim_key,
    is_unresolved,
    split_names,
)
from events.payload import Payload

Kind = Literal["model", "wrapper", "unresolved"]

OWNER_EVENTS: frozenset[type[Payload]] = frozenset({ModelRegistered, ModelAliased, WrapperDeclared, WrapperWithdrawn})
"""What owners say about names."""


class ResolvedName(NamedTuple):
    """A resolved name: the key of a model, or the name itself if it is a wrapper or cannot be resolved."""

    kind: Kind
    key: str


class RegisteredModel(msgspec.Struct, frozen=True, array_like=True):
    """A model as an owner registered it."""

    key: str
    provider: str | None
    name: str | None
    note: str | None
    version: str | None = None


class StatedWrapper(msgspec.Struct, frozen=True, array_like=True):
    """What an owner said last about a name: whether it is a host's."""

    key: str
    is_wrapper: bool
    name: str | None
    note: str | None


class ModelNames:
    """The registered models and their aliases, and the names that owners declared to be hosts' or not."""

    def __init__(
        self,
        models: Mapping[str, RegisteredModel] | None = None,
        aliases: Mapping[str, tuple[str, str]] | None = None,
        wrappers: Mapping[str, StatedWrapper] | None = None,
    ) -> None:
        self.wrappers = dict(wrappers or {})
        """By key of the host's name."""
        self.models = dict(models or {})
        self.by_claim = dict(aliases or {})
        """By normalized name: the name as an owner wrote it, and the model's key. A key is an alias of itself."""
        self._by_canonical = {canonical_name(key): key for key in self.models}
        """The key by canonical name. Dated and prefixed names of a model have the same canonical name."""

    def fold(self, data: Payload) -> None:
        """Apply an event of one of OWNER_EVENTS."""
        if isinstance(data, ModelRegistered):
            self.register(data)
        elif isinstance(data, ModelAliased):
            self.alias(data)
        elif isinstance(data, WrapperDeclared):
            self._state(StatedWrapper(host_key(data.key), True, data.name, data.note))
        elif isinstance(data, WrapperWithdrawn):
            self._state(StatedWrapper(host_key(data.key), False, None, data.note))

    def register(self, event: ModelRegistered) -> None:
        """Add a registered model."""
        assert event.key is not None, "a stored registration has its key"
        self.models[event.key] = RegisteredModel(event.key, event.provider, event.name, event.note, event.version)
        self._by_canonical[canonical_name(event.key)] = event.key
        self._add(event.key, event.key)

    def alias(self, event: ModelAliased) -> None:
        """Add an alias of a model."""
        self._add(event.alias, event.key)

    def _add(self, name: str, key: str) -> None:
        self.by_claim[claim_key(name)] = name, key
        stated = self.wrappers.get(host_key(name))
        if stated is not None and stated.is_wrapper:
            del self.wrappers[stated.key]

    def _state(self, stated: StatedWrapper) -> None:
        self.wrappers[stated.key] = stated
        if stated.is_wrapper:
            self.by_claim = {claim: alias for claim, alias in self.by_claim.items() if host_key(claim) != stated.key}

    def copy(self) -> "ModelNames":
        """Return a copy that later events do not change."""
        return ModelNames(self.models, self.by_claim, self.wrappers)

    def aliases(self, key: str) -> list[str]:
        """Return the current aliases of a model other than its key, as owners wrote them, sorted."""
        return sorted(
            name for name, model_key in self.by_claim.values() if model_key == key and claim_key(name) != claim_key(key)
        )

    def resolve(self, name: str) -> ResolvedName:
        """Resolve a claimed name."""
        key, canonical = claim_key(name), canonical_name(name)
        alias = self.by_claim.get(key)
        if alias is not None:
            return ResolvedName("model", alias[1])
        stated = self.wrappers.get(host_key(name)) or self.wrappers.get(host_key(canonical))
        if stated is not None and stated.is_wrapper:
            return ResolvedName("wrapper", key)
        if (alias := self.by_claim.get(canonical)) is not None:
            return ResolvedName("model", alias[1])
        if stated is None and is_wrapper(name):
            return ResolvedName("wrapper", key)
        if is_unresolved(name):
            return ResolvedName("unresolved", key)
        return ResolvedName("model", self._by_canonical.get(canonical, canonical))

    def is_wrapper(self, name: str) -> bool:
        """Tell whether a claimed name is a host's."""
        return self.resolve(name).kind == "wrapper"

    def resolve_joined(self, names: str) -> ResolvedName | None:
        """Resolve the names that `events.model_names.join_names` joined. The claim is used, as in the inventory.

        If it means no model (a wrapper, an unresolved name, or none), the name that the endpoint reported is used if
        that means one. None without any name.
        """
        claimed, reported = split_names(names)
        claim = self.resolve(claimed) if claimed else None
        if reported and (claim is None or claim.kind != "model"):
            report = self.resolve(reported)
            return report if claim is None or report.kind == "model" else claim
        return claim

    def known(self, name: str) -> bool:
        """Tell whether a name resolves to a registered model."""
        resolved = self.resolve(name)
        return resolved.kind == "model" and resolved.key in self.models
