"""Names of models: which model a claimed name is of, by what owners said and, where they said nothing, by its letters.

Owners win over the rules of `events.model_names`, the later event over the earlier, and it makes no difference
whether a
name was given before a model was sighted or after: names are looked up when a view is asked for.
"""

from collections.abc import Mapping
from typing import Literal, NamedTuple

import msgspec

from events.model import ModelAliased, ModelRegistered
from events.model_names import canonical, is_unresolved, is_wrapper, key_of

Kind = Literal["model", "wrapper", "unresolved"]
KINDS: tuple[Kind, ...] = ("model", "wrapper", "unresolved")


class ResolvedName(NamedTuple):
    """What a name comes to: the key of a model; of a wrapper, or of a name that names nothing, the name itself."""

    kind: Kind
    key: str


class RegisteredModel(msgspec.Struct, frozen=True, array_like=True):
    """A model as its owner registered it."""

    key: str
    provider: str | None
    name: str | None
    note: str | None


class ModelNames:
    """The registered models and the names that owners gave them."""

    def __init__(
        self, models: Mapping[str, RegisteredModel] | None = None, said: Mapping[str, tuple[str, str]] | None = None
    ) -> None:
        self._models = dict(models or {})
        self._said = dict(said or {})
        """Lower-case name to the name as an owner wrote it and the key it is of; a model's key is one of its names."""
        self._shared = {canonical(key): key for key in self._models}
        """What the dated and prefixed names of a registered model share, to its key."""

    def register(self, said: ModelRegistered) -> None:
        """A model that an owner knows."""
        assert said.key is not None, "a stored registration has its key"
        self._models[said.key] = RegisteredModel(said.key, said.provider, said.name, said.note)
        self._shared[canonical(said.key)] = said.key
        self._say(said.key, said.key)

    def alias(self, said: ModelAliased) -> None:
        """Another name of a model."""
        self._say(said.alias, said.key)

    def _say(self, name: str, key: str) -> None:
        self._said[key_of(name)] = name, key

    def parts(self) -> tuple[list[RegisteredModel], list[tuple[str, str]]]:
        """What `ModelNames.of` makes it from again."""
        return list(self._models.values()), list(self._said.values())

    @classmethod
    def of(cls, models: list[RegisteredModel], said: list[tuple[str, str]]) -> "ModelNames":
        """The inverse of `parts`."""
        return cls({model.key: model for model in models}, {key_of(name): (name, key) for name, key in said})

    def copy(self) -> "ModelNames":
        """The same names, whatever is said later."""
        return ModelNames(self._models, self._said)

    @property
    def models(self) -> Mapping[str, RegisteredModel]:
        """Every registered model by its key."""
        return self._models

    def aliases(self, key: str) -> list[str]:
        """The other names that owners gave a model and that are still its own, as they wrote them, sorted."""
        return sorted(name for name, of in self._said.values() if of == key and key_of(name) != key_of(key))

    def resolve(self, name: str) -> ResolvedName:
        """What a claimed name comes to."""
        said = self._said.get(key_of(name))
        if said is not None:
            return ResolvedName("model", said[1])
        if is_wrapper(name):
            return ResolvedName("wrapper", key_of(name))
        if is_unresolved(name):
            return ResolvedName("unresolved", key_of(name))
        shared = canonical(name)
        if (said := self._said.get(shared)) is not None:
            return ResolvedName("model", said[1])
        return ResolvedName("model", self._shared.get(shared, shared))

    def known(self, name: str) -> bool:
        """Whether a name is of a registered model."""
        found = self.resolve(name)
        return found.kind == "model" and found.key in self._models
