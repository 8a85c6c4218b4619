"""The encoding of a state: each saved attribute is declared once, with the form that it has in the encoding."""

from array import array
from collections.abc import Callable, Iterable, Mapping
from operator import attrgetter
from types import GenericAlias
from typing import Any, ClassVar, NamedTuple, Self, TypeVar

import msgspec

Key = TypeVar("Key")


class Part(NamedTuple):
    """A saved attribute, perhaps one of an attribute (`a.b`).

    `encode` makes its form of its value, and `decode` its value of the value in a new state and the form.
    """

    attribute: str
    form: Any
    encode: Callable[[Any], object]
    decode: Callable[[Any, Any], object]


class SavedState:
    """A state that is saved as canonical MessagePack: a map of its parts, in the order in which they are declared."""

    parts: ClassVar[Mapping[str, Part]]
    """The saved attributes by their names in the encoding."""

    def encode(self) -> bytes:
        """Return the state but for its tables as canonical bytes: equal states give equal bytes."""
        return msgspec.msgpack.encode(
            {name: part.encode(attrgetter(part.attribute)(self)) for name, part in self.parts.items()}
        )

    @classmethod
    def decode(cls, state: bytes) -> Self:
        """Return the state that `encode` wrote, with empty tables, which are then restored.

        For other bytes it may raise any error; the engine then folds again.
        """
        new, saved = cls(), msgspec.msgpack.decode(state, type=dict[str, msgspec.Raw])
        for name, part in cls.parts.items():
            *path, attribute = part.attribute.split(".")
            owner = attrgetter(".".join(path))(new) if path else new
            form = msgspec.msgpack.decode(saved[name], type=part.form)
            setattr(owner, attribute, part.decode(getattr(owner, attribute), form))
        new.complete()
        return new

    def complete(self) -> None:
        """Compute what is not saved of a decoded state, and check it."""


def saved_value(attribute: str, form: object) -> Part:
    """Declare a value that is saved as it is."""
    return Part(attribute, form, lambda saved: saved, lambda _, form: form)


def saved_column(attribute: str) -> Part:
    """Declare an array, saved as its little-endian bytes."""
    return Part(attribute, bytes, bytes, _filled)


def saved_columns(attribute: str) -> Part:
    """Declare arrays by name."""
    return Part(
        attribute,
        dict[str, bytes],
        lambda arrays: {name: bytes(one) for name, one in arrays.items()},
        lambda empty, saved: {name: _filled(one, saved[name]) for name, one in empty.items()},
    )


def rebuilt(attribute: str, form: object, encode: Callable[[Any], object], decode: Callable[[Any], object]) -> Part:
    """Declare a value that functions turn into its form and back."""
    return Part(attribute, form, encode, lambda _, saved: decode(saved))


def saved_names(attribute: str) -> Part:
    """Declare an index of names without line breaks, which have the numbers 0..n-1 in their order."""
    return rebuilt(
        attribute,
        bytes,
        lambda index: "\n".join(index).encode(),
        lambda joined: number_keys(joined.decode().split("\n")) if joined else {},
    )


def numbered(attribute: str, form: object, first: int = 0) -> Part:
    """Declare an index of keys of a form, which are numbered from `first` in their order."""
    return rebuilt(attribute, GenericAlias(list, form), list, lambda keys: number_keys(keys, first))


def ordered_set(attribute: str) -> Part:
    """Declare texts that are the keys of a dict of None."""
    return rebuilt(attribute, list[str], list, dict.fromkeys)


def keyed(attribute: str, form: object, key: str) -> Part:
    """Declare a mapping of which each value has its key in an attribute."""
    get = attrgetter(key)
    return rebuilt(
        attribute,
        GenericAlias(list, form),
        lambda mapping: list(mapping.values()),
        lambda saved: {get(one): one for one in saved},
    )


def saved_pairs(attribute: str, key: object, form: object) -> Part:
    """Declare a mapping that is saved as pairs of key and value."""
    return rebuilt(
        attribute, GenericAlias(list, GenericAlias(tuple, (key, form))), lambda mapping: list(mapping.items()), dict
    )


def nested(attribute: str, kind: type[SavedState]) -> Part:
    """Declare a part that is a state itself."""
    return rebuilt(attribute, bytes, kind.encode, kind.decode)


def number_keys(keys: Iterable[Key], first: int = 0) -> dict[Key, int]:
    """Return the numbers of different keys, from `first` in their order."""
    return {key: number for number, key in enumerate(keys, first)}


def _filled(empty: "array[Any]", saved: bytes) -> "array[Any]":
    empty.frombytes(saved)
    return empty
