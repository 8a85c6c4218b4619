"""Resolution of model names: find the model that a claimed name means, by registered aliases, then by rules.

An alias of an owner takes precedence over the rules of `events.model_names`, and a later event over an earlier one.
Names are resolved when a view is computed, so an alias also applies to attempts before it.
"""

from collections.abc import Mapping
from typing import Literal, NamedTuple

import msgspec

from events.model import ModelAliased, ModelRegistered
from events.model_names import (
    canonical_name,
    claim_key,
    is_unresolved,
    is_wrapper,
    split_names,
)

Kind = Literal["model", "wrapper", "unresolved"]
KINDS: tuple[Kind, ...] = ("model", "wrapper", "unresolved")


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


class ModelNames:
    """The registered models and their aliases."""

    def __init__(
        self, models: Mapping[str, RegisteredModel] | None = None, aliases: Mapping[str, tuple[str, str]] | None = None
    ) -> None:
        self._models = dict(models or {})
        self._aliases = dict(aliases or {})
        """By normalized name: the name as an owner wrote it, and the model's key. A key is an alias of itself."""
        self._by_canonical = {canonical_name(key): key for key in self._models}
        """The key by canonical name. Dated and prefixed names of a model have the same canonical name."""

    def register(self, event: ModelRegistered) -> None:
        """Add a registered model."""
        assert event.key is not None, "a stored registration has its key"
        self._models[event.key] = RegisteredModel(event.key, event.provider, event.name, event.note)
        self._by_canonical[canonical_name(event.key)] = event.key
        self._add(event.key, event.key)

    def alias(self, event: ModelAliased) -> None:
        """Add an alias of a model."""
        self._add(event.alias, event.key)

    def _add(self, name: str, key: str) -> None:
        self._aliases[claim_key(name)] = name, key

    def parts(self) -> tuple[list[RegisteredModel], list[tuple[str, str]]]:
        """Return the models and aliases, from which `from_parts` makes an equal object."""
        return list(self._models.values()), list(self._aliases.values())

    @classmethod
    def from_parts(cls, models: list[RegisteredModel], aliases: list[tuple[str, str]]) -> "ModelNames":
        """Make the object from the models and aliases that `parts` returned."""
        return cls({model.key: model for model in models}, {claim_key(name): (name, key) for name, key in aliases})

    def copy(self) -> "ModelNames":
        """Return a copy that later events do not change."""
        return ModelNames(self._models, self._aliases)

    @property
    def models(self) -> Mapping[str, RegisteredModel]:
        """Every registered model by its key."""
        return self._models

    def aliases(self, key: str) -> list[str]:
        """Return the current aliases of a model other than its key, as owners wrote them, sorted."""
        return sorted(
            name for name, model_key in self._aliases.values() if model_key == key and claim_key(name) != claim_key(key)
        )

    def resolve(self, name: str) -> ResolvedName:
        """Resolve a claimed name."""
        alias = self._aliases.get(claim_key(name))
        if alias is not None:
            return ResolvedName("model", alias[1])
        if is_wrapper(name):
            return ResolvedName("wrapper", claim_key(name))
        if is_unresolved(name):
            return ResolvedName("unresolved", claim_key(name))
        canonical = canonical_name(name)
        if (alias := self._aliases.get(canonical)) is not None:
            return ResolvedName("model", alias[1])
        return ResolvedName("model", self._by_canonical.get(canonical, canonical))

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
        return resolved.kind == "model" and resolved.key in self._models
